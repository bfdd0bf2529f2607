//! The lists of tweets, by rules of their own: the program derives them from each tweet, and so does its check of a store,
//! which cannot see what that forgets.

use std::collections::BTreeMap;

use super::stories::check_removal;
use super::{Dump, hash, members, scores};

/// The tweets that the timeline of everyone has at most.
const EVERYONES: usize = 800;

/// Checks a tweet, with the lists that it is in.
pub fn check_tweet(dump: &Dump, id: u64, tweet: &BTreeMap<String, String>) {
    let Some(author) = tweet.get("user_id") else { panic!("tweet {id} has no author") };
    let posted: f64 = tweet["created_at"].parse().unwrap();
    let state = tweet.get("withheld").map_or("", String::as_str);
    let is_shown = state.is_empty() || state == "flagged:";
    let place = |list: &str, member: &str| scores(dump, list).get(member).copied();
    let own = place(&format!("user:{author}:user_timeline"), &id.to_string());
    assert_eq!(own, is_shown.then_some(posted), "tweet {id} in its author's timeline: {tweet:?}");
    let unseen = place(&format!("unseen:{author}"), &format!("tweet:{id}"));
    assert_eq!(unseen, (!is_shown).then_some(posted), "tweet {id} among unseen posts: {tweet:?}");
    let everyones = members(dump, "global_timeline");
    if !is_shown || everyones.len() < EVERYONES {
        assert_eq!(everyones.contains(&id.to_string()), is_shown, "tweet {id} in the timeline of everyone");
    }
    check_removal(dump, &format!("tweet {id}"), tweet);
}

/// Checks that the lists of tweets have only tweets, of this user where they are of one.
pub fn check_lists(dump: &Dump) {
    let own = dump.keys().filter_map(|key| {
        let user = key.strip_prefix("user:")?.strip_suffix(":user_timeline")?;
        Some((key.as_str(), Some(user)))
    });
    for (list, author) in own.chain([("global_timeline", None)]) {
        for id in members(dump, list) {
            let tweet = hash(dump, &format!("tweet:{id}"));
            let by = tweet.get("user_id").map(String::as_str);
            assert!(
                by.is_some() && (author.is_none() || author == by),
                "{list} has the tweet {id}: {tweet:?}"
            );
        }
    }
}
