//! The things that moderators act on, and the texts that go with their actions.

use crate::values::text::{is_visible, lines};
use crate::values::text_forms::{read_text, shown};
use crate::values::{
    CommentAddress, InputError, LONGEST_NAMED_USERNAME, MAX_APPEAL, MAX_REASON, MessageThreadId,
    ModerationId, NewsId, OriginBanId, RuleId, TweetId,
};
use std::str::FromStr;
use strum::{EnumString, IntoStaticStr};

/// A thing that can be flagged, moderated, or wait for a moderator: a kind and an id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Thing {
    /// A story.
    Story(NewsId),
    /// A comment.
    Comment(CommentAddress),
    /// A tweet.
    Tweet(TweetId),
    /// A person, by username.
    User(Box<str>),
    /// An application for an account, by username.
    Application(Box<str>),
    /// An appeal against a decision.
    Appeal(ModerationId),
    /// A thread of messages between a member and the moderators.
    Message(MessageThreadId),
    /// A rule that new posts are checked with.
    Rule(RuleId),
    /// A ban of a network or an e-mail domain.
    Origin(OriginBanId),
    /// A part of how the site presents itself.
    Site(SitePart),
}

/// A part of how the site presents itself that moderation changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SitePart {
    /// The announcement and the pinned stories.
    Announcement,
    /// The reasons that moderators have at hand.
    Reasons,
    /// The webhooks.
    Hooks,
    /// The people who may read the site.
    Readers,
    /// Whether people can sign up.
    Signups,
    /// Whether the posts of young accounts wait for approval.
    YoungPosts,
    /// Several people at once: the line of a batch.
    People,
}

impl From<MessageThreadId> for Thing {
    fn from(id: MessageThreadId) -> Self {
        Self::Message(id)
    }
}

/// A kind and an id that name nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this names nothing that can be moderated")]
pub struct NotAThing;

impl Thing {
    /// The names of all kinds.
    pub const KINDS: [&'static str; 10] =
        ["story", "comment", "tweet", "user", "application", "appeal", "message", "rule", "origin", "site"];

    /// A thing from its kind and its id.
    ///
    /// # Errors
    /// [`NotAThing`] for an unknown kind, or an id that this kind cannot have.
    pub fn parse(kind: &str, id: &str) -> Result<Self, NotAThing> {
        fn number<T: FromStr>(id: &str) -> Result<T, NotAThing> {
            id.parse().map_err(|_| NotAThing)
        }
        // Of any account that there may be: Lamer News allows other names than we do.
        let username = || {
            let is_name = !id.is_empty() && id.chars().count() <= LONGEST_NAMED_USERNAME;
            if is_name { Ok(id.into()) } else { Err(NotAThing) }
        };
        match kind {
            "story" => Ok(Self::Story(number(id)?)),
            "comment" => Ok(Self::Comment(number(id)?)),
            "tweet" => Ok(Self::Tweet(number(id)?)),
            "user" => Ok(Self::User(username()?)),
            "application" => Ok(Self::Application(username()?)),
            "appeal" => Ok(Self::Appeal(number(id)?)),
            "message" => Ok(Self::Message(number(id)?)),
            "rule" => Ok(Self::Rule(number(id)?)),
            "origin" => Ok(Self::Origin(number(id)?)),
            "site" => Ok(Self::Site(number(id)?)),
            _ => Err(NotAThing),
        }
    }

    /// Whether it is a story, a comment or a tweet.
    pub const fn is_post(&self) -> bool {
        matches!(self, Self::Story(_) | Self::Comment(_) | Self::Tweet(_))
    }

    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Its id, without the kind.
    pub fn id(&self) -> String {
        match self {
            Self::Story(id) => id.to_string(),
            Self::Comment(address) => address.to_string(),
            Self::Tweet(id) => id.to_string(),
            Self::User(name) | Self::Application(name) => name.to_string(),
            Self::Appeal(id) => id.to_string(),
            Self::Message(id) => id.to_string(),
            Self::Rule(id) => id.to_string(),
            Self::Origin(id) => id.to_string(),
            Self::Site(part) => <&str>::from(*part).to_owned(),
        }
    }

    /// The text that stands for it in keys and sets: names in lower case, since they are the
    /// same in any case.
    pub fn key(&self) -> String {
        match self {
            Self::User(name) | Self::Application(name) => format!("{}:{}", self.kind(), name.to_lowercase()),
            _ => self.to_string(),
        }
    }
}

shown!(Thing: |thing| format_args!("{}:{}", thing.kind(), thing.id()));

read_text!(Thing or NotAThing: |text| {
    let (kind, id) = text.split_once(':')?;
    Self::parse(kind, id).ok()
});

/// The text of an appeal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppealText(Box<str>);

impl AppealText {
    /// Trims and checks a text.
    ///
    /// # Errors
    /// When it is empty, has more than [`MAX_APPEAL`] characters, or control characters other than
    /// line breaks.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        Ok(Self(lines("text", input.trim(), MAX_APPEAL, 1)?.into()))
    }
}

text_values!(AppealText);

/// Why a moderator did something; also the text of a note or of a warning. May be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reason(Box<str>);

impl Reason {
    /// Trims and checks a reason.
    ///
    /// # Errors
    /// When it has more than [`MAX_REASON`] characters, or control characters other than line
    /// breaks.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        let text = lines("reason", input.trim(), MAX_REASON, 0)?;
        Ok(if text.chars().any(is_visible) { Self(text.into()) } else { Self::default() })
    }

    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

text_values!(Reason);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_a_kind_and_an_id() {
        let things = "story:7 comment:7-3 tweet:9 user:alice application:bob appeal:4 message:6 rule:2 \
            origin:5 site:reasons";
        for (text, kind) in things.split(' ').zip(Thing::KINDS) {
            let thing: Thing = text.parse().unwrap();
            assert_eq!((thing.to_string().as_str(), thing.kind()), (text, kind));
        }
        for text in ["", "story", "story:", "story:0", "story:a", "comment:7", "user:", "site:a.b"] {
            assert_eq!(text.parse::<Thing>(), Err(NotAThing), "{text}");
        }
    }

    #[test]
    fn a_reason_is_text_of_some_length() {
        assert_eq!(Reason::parse("  spam \n").unwrap().as_str(), "spam");
        assert!(Reason::parse(" \u{200b} ").unwrap().is_empty());
        assert!(Reason::parse(&"x".repeat(MAX_REASON)).is_ok());
        assert!(Reason::parse(&"x".repeat(MAX_REASON + 1)).is_err());
        assert!(Reason::parse("a\u{1b}").is_err());
    }
}
