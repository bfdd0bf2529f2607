//! Rules of item numbers.

use crate::comments::store_rules::comments_of;
use crate::items::Item as SiteItem;
use crate::keys::{self, families};
use crate::store_rules::{
    Claims, Fault, Location, Mend, NameIn, Noun, Person, Subject, claims, refers, rules,
};
use crate::values::NewsId;
use tidings_keyspace::{Order, read};

rules! { pub(crate) RULES:
    "a story has an item number" => NEWS: claims(story);
    "a comment has an item number" => THREAD_COMMENT: claims(comments);
    "an item number is that of a story or a comment that exists" =>
        ITEMS: refers(NameIn::Member, "the number of", Noun("stories and comments", item),
            Person("restore it from a backup; a number without its item does no harm"));
    "no two items have one number" => ITEMS: claims(alone);
}

fn story(subject: &Subject, claims: &mut Claims) {
    if let (Some(id), Some(_)) = (subject.id::<NewsId>(), subject.hash()) {
        numbered(claims.of("id"), SiteItem::Story(id));
    }
}

fn comments(subject: &Subject, claims: &mut Claims) {
    for comment in comments_of(subject).0 {
        numbered(claims.of(comment.id), SiteItem::Comment(comment.address()));
    }
}

/// Claims that a story or a comment has an item number.
fn numbered(claims: &mut Claims, item: SiteItem) {
    claims.add(read::score(keys::ITEMS, item.to_string()), move |number| {
        number.is_none().then(|| Fault::lacks(keys::ITEMS, item, Mend::Number(item)))
    });
    claims.place_at(keys::ITEMS.to_owned(), item);
}

/// The place of an item.
fn item(_: &Subject, member: &str) -> Option<Location> {
    Some(match member.parse().ok()? {
        SiteItem::Story(id) => Location::Field(keys::news(id), "id".to_owned()),
        SiteItem::Comment(address) => {
            Location::Field(keys::thread(address.news), address.comment.to_string())
        }
    })
}

/// Claims that no other item has the number of this one.
fn alone(subject: &Subject, claims: &mut Claims) {
    let Some((member, number)) = subject.member() else { return };
    let Ok(item) = member.parse::<SiteItem>() else { return };
    let same = read::sorted_by_score(keys::ITEMS, Order::Ascending, (number, number), 2);
    let member = member.to_owned();
    claims.expects("a number of its own", same, move |same| {
        let (other, _) = same.iter().find(|(other, _)| *other != member)?;
        let found = format!("the member {member} with the number {number}, which {other} has too");
        Some((found, Mend::NumberAnew(item)))
    });
}
