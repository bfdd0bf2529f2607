//! The feed of changes: everything that can be found, in the order in which it last changed.
//!
//! `changes` has each story, comment, tweet, person and site that has changed since the feed began, with the
//! place of its last change as the score. Every batch that changes one moves it to the end, in the batch itself:
//! the engine takes the next place when it applies the batch, so places follow the order of commits, whatever
//! clocks say and however late a batch is. A reader that has read up to a place misses nothing if it goes on after
//! it. The feed holds each thing once, so it needs no trimming.
//!
//! `note` looks at each batch just before it is committed, so actions that write a title, a text or a state need not
//! know about the feed. Votes, counts and ranks are not in it.

use crate::values::{CommentAddress, Hostname, NewsId, NotAnId, TweetId, UserId, WITHHELD, read_text, shown};
use crate::{Result, Site, draws, fields, keys};
use serde_json::{Map, Value};
use std::collections::HashSet;
use tidings_keyspace::{Batch, Check, Fetch, Order, Write, read};

/// Something that can be found. Written `news:<news id>`, `comment:<news id>:<comment id>`, `tweet:<tweet id>`,
/// `user:<user id>` or `site:<host>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Findable {
    /// A story.
    Story(NewsId),
    /// A comment.
    Comment(CommentAddress),
    /// A tweet.
    Tweet(TweetId),
    /// A person.
    Person(UserId),
    /// A site that was voted on.
    Site(Hostname),
}

shown!(Findable: |found| match found {
    Findable::Story(id) => keys::news(*id),
    Findable::Comment(CommentAddress { news, comment }) => format!("comment:{news}:{comment}"),
    Findable::Tweet(id) => keys::tweet(*id),
    Findable::Person(id) => keys::user(*id),
    Findable::Site(host) => format!("site:{host}"),
});

read_text!(Findable or NotAnId: |member| {
    let (kind, id) = member.split_once(':')?;
    match kind {
        "news" => id.parse().ok().map(Self::Story),
        "comment" => {
            let (news, comment) = id.split_once(':')?;
            let address = CommentAddress { news: news.parse().ok()?, comment: comment.parse().ok()? };
            Some(Self::Comment(address))
        }
        "tweet" => id.parse().ok().map(Self::Tweet),
        "user" => id.parse().ok().map(Self::Person),
        "site" => Hostname::parse(id).ok().map(Self::Site),
        _ => None,
    }
});

/// The fields of a story, a tweet or a user that change what is found, and by whom.
const TOLD: [&str; 19] = [
    "title",
    "url",
    "topics",
    "del",
    "merged",
    "text",
    "news_id",
    "username",
    "about",
    "fullname",
    "email",
    "flags",
    "established",
    "invited_by",
    "banned",
    "silenced",
    "held",
    "deactivated",
    WITHHELD,
];
/// The members of a comment's JSON that change with votes.
const VOTES: [&str; 3] = ["up", "down", "score"];

/// Adds to a batch the places of what it changes.
pub(crate) fn note(batch: &mut Batch) {
    let mut changed = HashSet::new();
    for write in batch.writes() {
        let is_told = match write {
            Write::SetFields(_, fields) => fields.iter().any(|(field, _)| TOLD.contains(&field.as_str())),
            Write::DeleteField(_, field) => TOLD.contains(&field.as_str()),
            Write::Delete(_) => true,
            _ => continue,
        };
        if is_told {
            // A story, a tweet and a user are written as their keys.
            changed.extend(write.key().parse::<Findable>());
        }
        if let Write::SetFields(key, fields) = write
            && let Some(news) = keys::news_of_thread(key)
        {
            let told = fields.iter().filter(|(field, json)| !is_vote(batch, key, field, json));
            let ids = told.filter_map(|(field, _)| field.parse().ok());
            changed.extend(ids.map(|comment| Findable::Comment(CommentAddress { news, comment })));
        }
    }
    changed.into_iter().for_each(|found| batch.sorted_append(keys::CHANGES, found.to_string()));
}

/// Whether a batch changes nothing of a comment but its votes: the comment as it was read is in a check.
fn is_vote(batch: &Batch, key: &str, field: &str, new: &str) -> bool {
    let without_votes = |json: &str| {
        let mut comment: Map<String, Value> = serde_json::from_str(json).ok()?;
        VOTES.iter().for_each(|member| drop(comment.remove(*member)));
        Some(comment)
    };
    batch.checks().iter().any(|check| match check {
        Check::FieldEquals(checked, its_field, old)
            if (checked.as_str(), its_field.as_str()) == (key, field) =>
        {
            matches!((without_votes(old), without_votes(new)), (Some(old), Some(new)) if old == new)
        }
        _ => false,
    })
}

/// A place in the feed; 0 is before the first change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FeedPlace(pub u64);

impl FeedPlace {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    const fn of(score: f64) -> Self {
        Self(score as u64)
    }

    const fn score(self) -> f64 {
        self.0 as f64
    }
}

/// At most `count` changes after a place, the oldest first.
pub fn after(place: FeedPlace, count: u64) -> impl Fetch<Value = Vec<(Findable, FeedPlace)>> {
    let scores = (place.score() + 1.0, f64::INFINITY);
    read::sorted_by_score(keys::CHANGES, Order::Ascending, scores, count).map(|found| {
        fields::members(found, keys::CHANGES, |(member, score)| {
            Some((member.parse().ok()?, FeedPlace::of(score)))
        })
    })
}

/// The place of the last change.
pub fn last() -> impl Fetch<Value = FeedPlace> {
    read::sorted_by_score(keys::CHANGES, Order::Descending, (f64::NEG_INFINITY, f64::INFINITY), 1)
        .map(|found| found.first().map_or(FeedPlace(0), |(_, score)| FeedPlace::of(*score)))
}

/// The number of the store, which tells an index whether it is of this one. The first server that asks draws it.
/// Backups have none, so a restored store gets another. Rounds: 2.
pub async fn store_number(site: &Site) -> Result<String> {
    draws::drawn_once(site, keys::STORE_NUMBER).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The members that a batch appends to the feed.
    fn noted(write: impl FnOnce(&mut Batch)) -> Vec<String> {
        let mut batch = Batch::new();
        write(&mut batch);
        note(&mut batch);
        let appended = batch.writes().iter().filter_map(|write| match write {
            Write::SortedAppend(key, member) if key == keys::CHANGES => Some(member.clone()),
            _ => None,
        });
        appended.collect()
    }

    #[test]
    fn what_can_be_found_is_its_member() {
        for member in ["news:7", "comment:7:12", "tweet:1", "user:3", "site:lwn.net"] {
            assert_eq!(member.parse::<Findable>().unwrap().to_string(), member);
        }
        for bad in ["", "7", "news:0", "comment:7", "user:", "site:", "host:lwn.net"] {
            assert_eq!(bad.parse::<Findable>(), Err(NotAnId), "{bad}");
        }
    }

    #[test]
    fn texts_and_states_are_changes_and_counts_are_not() {
        assert_eq!(noted(|batch| batch.set_field("news:7", "title", "x")), ["news:7"]);
        assert_eq!(noted(|batch| batch.delete_field("news:7", WITHHELD)), ["news:7"]);
        assert_eq!(noted(|batch| batch.set_field("user:7", "about", "x")), ["user:7"]);
        assert_eq!(noted(|batch| batch.delete("tweet:7")), ["tweet:7"]);
        for field in ["score", "rank", "up", "comments", "locked"] {
            assert!(noted(|batch| batch.set_field("news:7", field, "1")).is_empty(), "{field}");
        }
        assert!(noted(|batch| batch.increment_field("news:7", "up", 1)).is_empty());
        assert!(noted(|batch| batch.set_field("user:7:mutes", "title", "1")).is_empty());
        for field in ["banned", "silenced", "held", "flags", "email"] {
            assert_eq!(noted(|batch| batch.delete_field("user:7", field)), ["user:7"], "{field}");
        }
        assert!(noted(|batch| batch.set_field("user:7", "seen_time", "1")).is_empty());
    }

    #[test]
    fn a_comment_changes_with_its_text_and_not_with_its_votes() {
        let change = |old: &str, new: &str| {
            noted(|batch| {
                batch.field_equals("thread:comment:7", "12", old);
                batch.set_field("thread:comment:7", "12", new);
            })
        };
        let old = r#"{"body":"a","up":[1],"score":1}"#;
        assert!(change(old, r#"{"body":"a","up":[1,2],"down":[],"score":2}"#).is_empty());
        assert_eq!(change(old, r#"{"body":"b","up":[1],"score":1}"#), ["comment:7:12"]);
        assert_eq!(change(old, r#"{"body":"a","up":[1],"score":1,"del":1}"#), ["comment:7:12"]);
        assert_eq!(noted(|batch| batch.set_field("thread:comment:7", "12", old)), ["comment:7:12"]);
        assert!(noted(|batch| batch.set_field("thread:comment:7", "nextid", "3")).is_empty());
    }
}
