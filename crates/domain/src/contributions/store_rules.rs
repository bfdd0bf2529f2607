//! The rule of the lists of unseen posts.

use crate::comments::store_rules as comments;
use crate::keys::{self, families};
use crate::news::item::News;
use crate::store_rules::entries::is_entry;
use crate::store_rules::{Claims, Subject, claims, rules};
use crate::timelines::tweets::Tweet;
use crate::values::Thing;
use tidings_keyspace::Hash;

rules! { pub(crate) RULES:
    "the list of a user's unseen posts has only posts of that user that wait, were rejected or were removed" =>
        USER_UNSEEN: claims(unseen);
}

fn unseen(subject: &Subject, claims: &mut Claims) {
    let expected = "posts of the user that wait, were rejected or were removed";
    match subject.member_id() {
        Some(Thing::Story(id)) => {
            is_entry(subject, claims, expected, Some((keys::news(id), News::from_hash)))
        }
        Some(Thing::Tweet(id)) => {
            let tweet = move |hash: &Hash| Tweet::from_hash(id, hash);
            is_entry(subject, claims, expected, Some((keys::tweet(id), tweet)));
        }
        Some(Thing::Comment(address)) => comments::is_entry(subject, claims, expected, Some(address)),
        _ => claims.unreadable(expected),
    }
}
