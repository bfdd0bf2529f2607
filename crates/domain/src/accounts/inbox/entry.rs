//! The subject of an inbox entry.

use crate::keys;
use crate::values::{
    CommentAddress, Malformed, MessageAddress, PlainTime, TweetId, UserId, named, read_text, record_text,
};
use std::cmp::Ordering;
use std::fmt;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// Why something is in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// A comment on the user's story, a reply to the user's comment, or a comment in a thread
    /// to which the user has subscribed.
    Reply,
    /// An `@name` in a comment or a tweet.
    Mention,
    /// A new follower.
    Follow,
    /// A message of a moderator.
    Moderation,
}

named!(Kind);

/// An entry of an inbox: what it is about. As a text it is `reply:<news id>-<comment id>`,
/// `mention:<news id>-<comment id>`, `mention:tweet:<tweet id>`, `follow:<user id>`,
/// `moderation:<number>` or `moderation:message:<thread>-<number>`. Earlier versions stored `<news id>-<comment id>` for a reply and
/// `tweet:<tweet id>` for a mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryId {
    /// A comment that is a reply.
    Reply(CommentAddress),
    /// A comment that mentions the user.
    Mention(CommentAddress),
    /// A tweet that mentions the user.
    Tweet(TweetId),
    /// Somebody who follows the user.
    Follow(UserId),
    /// A message of a moderator, by its number among those to the user.
    Moderation(u64),
    /// An answer of the moderators to what the user has written to them.
    Answer(MessageAddress),
}

/// Precedes the address of an answer.
const ANSWER: &str = "message:";

impl EntryId {
    /// Why it is in the inbox.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Reply(_) => Kind::Reply,
            Self::Mention(_) | Self::Tweet(_) => Kind::Mention,
            Self::Follow(_) => Kind::Follow,
            Self::Moderation(_) | Self::Answer(_) => Kind::Moderation,
        }
    }

    /// The comment that it is about.
    pub const fn comment(self) -> Option<CommentAddress> {
        match self {
            Self::Reply(address) | Self::Mention(address) => Some(address),
            Self::Tweet(_) | Self::Follow(_) | Self::Moderation(_) | Self::Answer(_) => None,
        }
    }

    /// The order of entries of the same time: later comments and tweets have higher numbers.
    fn order(self) -> (u64, u64, &'static str) {
        let (first, second) = match self {
            Self::Reply(address) | Self::Mention(address) => (address.news.0, address.comment.0),
            Self::Tweet(id) => (0, id.0),
            Self::Follow(id) => (0, id.0),
            Self::Moderation(number) => (0, number),
            Self::Answer(address) => (address.thread.0, address.message),
        };
        (first, second, self.kind().name())
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().name();
        match self {
            Self::Reply(address) | Self::Mention(address) => write!(formatter, "{kind}:{address}"),
            Self::Tweet(id) => write!(formatter, "{kind}:{}", keys::tweet(*id)),
            Self::Follow(id) => write!(formatter, "{kind}:{id}"),
            Self::Moderation(number) => write!(formatter, "{kind}:{number}"),
            Self::Answer(address) => write!(formatter, "{kind}:{ANSWER}{address}"),
        }
    }
}

read_text!(EntryId or Malformed: |text| {
    let tweet = |text: &str| keys::id_of_tweet(text).map(Self::Tweet);
    match text.split_once(':') {
        None => text.parse().ok().map(Self::Reply),
        Some(("reply", address)) => address.parse().ok().map(Self::Reply),
        Some(("mention", about)) => about.parse().ok().map(Self::Mention).or_else(|| tweet(about)),
        Some(("follow", id)) => id.parse().ok().map(Self::Follow),
        Some(("moderation", about)) => match about.strip_prefix(ANSWER) {
            Some(address) => address.parse().ok().map(Self::Answer),
            None => about.parse::<TweetId>().ok().map(|id| Self::Moderation(id.0)),
        },
        Some(_) => tweet(text),
    }
});

/// The place of an entry in an inbox, as `<time>-<id>`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InboxCursor {
    /// The time: Unix seconds with a fraction.
    pub time: f64,
    /// The entry.
    pub id: EntryId,
}

impl InboxCursor {
    /// The order of entries, oldest first.
    pub fn order(&self, other: &Self) -> Ordering {
        self.time.total_cmp(&other.time).then_with(|| self.id.order().cmp(&other.id.order()))
    }
}

record_text!(InboxCursor or Malformed: {time PlainTime} "-" {id});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{CommentId, MessageThreadId, NewsId};

    const ANSWERED: MessageAddress = MessageAddress { thread: MessageThreadId(6), message: 2 };
    const ADDRESS: CommentAddress = CommentAddress { news: NewsId(3), comment: CommentId(14) };

    #[test]
    fn an_entry_is_its_text_and_the_names_of_earlier_versions_still_count() {
        for (entry, text, earlier) in [
            (EntryId::Reply(ADDRESS), "reply:3-14", Some("3-14")),
            (EntryId::Mention(ADDRESS), "mention:3-14", None),
            (EntryId::Tweet(TweetId(5)), "mention:tweet:5", Some("tweet:5")),
            (EntryId::Follow(UserId(7)), "follow:7", None),
            (EntryId::Moderation(2), "moderation:2", None),
            (EntryId::Answer(ANSWERED), "moderation:message:6-2", None),
        ] {
            assert_eq!(entry.to_string(), text);
            assert_eq!(text.parse(), Ok(entry));
            assert!(earlier.is_none_or(|earlier| earlier.parse() == Ok(entry)), "{earlier:?}");
        }
        let invalid = "|all|reply|reply:|reply:3|reply:3-0|mention:tweet:|follow:-1|moderation:message:6";
        for bad in invalid.split('|') {
            assert_eq!(bad.parse::<EntryId>(), Err(Malformed), "{bad}");
        }
    }

    #[test]
    fn entries_are_ordered_by_time_and_then_by_number() {
        let at = |time, id: &str| InboxCursor { time, id: id.parse().unwrap() };
        let ordered =
            [at(1.0, "reply:9-9"), at(2.0, "reply:3-9"), at(2.0, "mention:3-10"), at(2.5, "follow:1")];
        for pair in ordered.windows(2) {
            assert!(pair[0].order(&pair[1]).is_lt(), "{pair:?}");
        }
        for cursor in ordered {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for bad in ["", "1", "1-", "-reply:1-1", "1-reply:1", "x-reply:1-1", "1e9-reply:1-1", "1.-follow:1"] {
            assert_eq!(bad.parse::<InboxCursor>(), Err(Malformed), "{bad}");
        }
    }
}
