//! Ids as types, so that one cannot be used for another.

use crate::values::text_forms::{codec_of, read_text, record_text, shown};
use serde::Serialize;
use serde_with::DeserializeFromStr;

/// The text is not an id: a positive whole decimal number without leading zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a whole positive number")]
pub struct NotAnId;

/// The largest id: what a counter of the keyspace can reach.
const LARGEST_ID: u64 = tidings_keyspace::COUNTER_LIMIT.unsigned_abs();

fn parse(text: &str) -> Result<u64, NotAnId> {
    let canonical =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(number) if canonical && number <= LARGEST_ID => Ok(number),
        _ => Err(NotAnId),
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, DeserializeFromStr)]
        #[serde(into = "u64")]
        pub struct $name(pub u64);

        read_text!($name or NotAnId: |text| parse(text).ok().map(Self));

        impl From<$name> for u64 {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        shown!($name: |id| id.0);

        impl TryFrom<i64> for $name {
            type Error = NotAnId;

            fn try_from(number: i64) -> Result<Self, NotAnId> {
                match u64::try_from(number) {
                    Ok(number) if (1..=LARGEST_ID).contains(&number) => Ok(Self(number)),
                    _ => Err(NotAnId),
                }
            }
        }
    )+};
}

ids! {
    /// A user: the number in `user:<id>`.
    UserId;
    /// A news item: the number in `news:<id>`.
    NewsId;
    /// A tweet: the number in `tweet:<id>`.
    TweetId;
    /// A comment within its thread: the field in `thread:comment:<news id>`.
    CommentId;
    /// A story or a comment in the order of posting: a score in `items`.
    ItemNumber;
    /// A line of the moderation log: the number in `moderation:<id>`.
    ModerationId;
    /// A rule that new posts are checked with: the number in `rules:<id>`.
    RuleId;
    /// A ban of a network or an e-mail domain: the field of `bans:origins`.
    OriginBanId;
    /// A webhook: the field of `hooks:all`.
    HookId;
    /// A thread of messages between a member and the moderators: the number in `messages:<id>`.
    MessageThreadId;
}

/// A message to or from the moderators, written `<thread>-<number>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageAddress {
    /// The thread.
    pub thread: MessageThreadId,
    /// Its number in the thread, from 1.
    pub message: u64,
}

codec_of! {
    /// A number that is written as an id is.
    pub(crate) Positive for u64: |number| *number,
        |text| parse(text).ok()
}

record_text!(MessageAddress or NotAnId: {thread} "-" {message Positive});

/// A comment anywhere on the site, written `<news id>-<comment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommentAddress {
    /// The item that the thread belongs to.
    pub news: NewsId,
    /// The comment in that thread.
    pub comment: CommentId,
}

record_text!(CommentAddress or NotAnId: {news} "-" {comment});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shortest_whole_positive_numbers_are_ids() {
        for good in ["1", "42", "1000000000000000"] {
            assert_eq!(good.parse::<NewsId>().map(|id| id.to_string()), Ok(good.to_owned()));
        }
        let invalid = "|0|-1|+1|01|1.0|1 | 1|1e3|١|1000000000000001|99999999999999999999999";
        for bad in invalid.split('|') {
            assert_eq!(bad.parse::<NewsId>(), Err(NotAnId), "{bad:?}");
        }
    }

    #[test]
    fn a_comment_address_is_two_ids() {
        let address = "882-15".parse::<CommentAddress>();
        assert_eq!(address, Ok(CommentAddress { news: NewsId(882), comment: CommentId(15) }));
        for bad in ["882", "882-", "-15", "882-15-1", "882--15", "a-1", "882-nextid"] {
            assert_eq!(bad.parse::<CommentAddress>(), Err(NotAnId), "{bad:?}");
        }
    }
}
