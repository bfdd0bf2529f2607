//! The actions of moderators, and the things that they act on, as types.

use crate::values::announcement::Announcement;
use crate::values::clock::Timestamp;
use crate::values::ids::{
    CommentAddress, MessageThreadId, ModerationId, NewsId, OriginBanId, RuleId, TweetId,
};
use crate::values::limits::{LONGEST_NAMED_USERNAME, MAX_APPEAL, MAX_HOURS, MAX_REASON};
use crate::values::message::MessageText;
use crate::values::origin_ban::{BanScope, BannedOrigin};
use crate::values::post_rule::{Pattern, RuleEffect};
use crate::values::saved_reason::ReasonChange;
use crate::values::text::{Body, InputError, Title, is_visible, lines};
use crate::values::topic::Topics;
use crate::values::urls::NewsUrl;
use std::fmt;
use std::str::FromStr;
use strum::{EnumString, IntoStaticStr};

/// A thing that can be flagged, moderated, or wait for a moderator: a kind and an id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

    /// The name of its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Story(_) => "story",
            Self::Comment(_) => "comment",
            Self::Tweet(_) => "tweet",
            Self::User(_) => "user",
            Self::Application(_) => "application",
            Self::Appeal(_) => "appeal",
            Self::Message(_) => "message",
            Self::Rule(_) => "rule",
            Self::Origin(_) => "origin",
            Self::Site(_) => "site",
        }
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

impl fmt::Display for Thing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.kind(), self.id())
    }
}

impl FromStr for Thing {
    type Err = NotAThing;

    fn from_str(text: &str) -> Result<Self, NotAThing> {
        let (kind, id) = text.split_once(':').ok_or(NotAThing)?;
        Self::parse(kind, id)
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $Name:ident = $name:literal;)+) => {
        /// The action that a line of the moderation log records.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[$doc])* $Name,)+
        }

        impl Action {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Name),+];

            /// The name in calls and in the log.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Name => $name,)+
                }
            }
        }
    };
}

actions! {
    /// A story, a comment or a tweet was removed.
    Remove = "remove";
    /// A removed story, comment or tweet is back.
    Restore = "restore";
    /// A story, a comment or a tweet was erased for good.
    Erase = "erase";
    /// A story or the text of a comment was changed.
    Edit = "edit";
    /// A story was merged into another.
    Merge = "merge";
    /// A merged story is a story of its own again.
    Split = "split";
    /// The thread of a story was locked.
    Lock = "lock";
    /// The thread is open again.
    Unlock = "unlock";
    /// A person's posts wait for approval.
    Hold = "hold";
    /// A person's posts no longer wait.
    Unhold = "unhold";
    /// A person reads and votes only.
    Silence = "silence";
    /// The silence was lifted.
    Unsilence = "unsilence";
    /// A person cannot log in.
    Ban = "ban";
    /// The ban was lifted.
    Unban = "unban";
    /// All posts of a person of the last days were removed.
    RemoveAll = "remove_all";
    /// Something that waited was approved.
    Approve = "approve";
    /// Something that waited was rejected.
    Reject = "reject";
    /// Something that readers flagged stays.
    Keep = "keep";
    /// A person was warned.
    Warn = "warn";
    /// Moderators noted something about a person.
    Note = "note";
    /// The votes of a person do not count.
    Discount = "discount";
    /// The votes of a person count again.
    Recount = "recount";
    /// A person became a moderator.
    MakeModerator = "make_moderator";
    /// A person is no longer a moderator.
    UnmakeModerator = "unmake_moderator";
    /// A rule was added.
    Rule = "rule";
    /// A rule was removed.
    Unrule = "unrule";
    /// A note about a person was deleted.
    Unnote = "unnote";
    /// A decision of the queue was taken back: what it was about waits again.
    Reopen = "reopen";
    /// A moderator spoke as such.
    Speak = "speak";
    /// A network or an e-mail domain was banned.
    Bar = "bar";
    /// Such a ban was lifted.
    Unbar = "unbar";
    /// The announcement or the pinned stories were changed.
    Announce = "announce";
    /// The reasons that moderators have at hand were changed.
    SetReasons = "set_reasons";
    /// A webhook was added, changed or removed.
    SetHooks = "set_hooks";
    /// Nobody can sign up for some time.
    StopSignups = "stop_signups";
    /// People can sign up again.
    ResumeSignups = "resume_signups";
    /// The posts of young accounts wait for approval for some time.
    HoldYoung = "hold_young";
    /// They no longer wait.
    UnholdYoung = "unhold_young";
    /// A message to the moderators was answered.
    Answer = "answer";
    /// A message to the moderators was closed without an answer.
    Close = "close";
}

impl Action {
    /// The action with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How long something lasts: `None` is forever.
pub type Hours = Option<u64>;

/// An action with what it takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// [`Action::Remove`].
    Remove,
    /// [`Action::Restore`].
    Restore,
    /// [`Action::Erase`], confirmed with this id.
    Erase(Option<Box<str>>),
    /// [`Action::Edit`]; what is `None` stays.
    Edit {
        /// The new title.
        title: Option<Title>,
        /// The new topics.
        topics: Option<Topics>,
        /// The new URL of a story.
        url: Option<NewsUrl>,
        /// The new text of a story without a URL, or of a comment.
        text: Option<Body>,
    },
    /// [`Action::Merge`], into this story.
    Merge(NewsId),
    /// [`Action::Split`].
    Split,
    /// [`Action::Lock`].
    Lock,
    /// [`Action::Unlock`].
    Unlock,
    /// [`Action::Hold`].
    Hold(Hours),
    /// [`Action::Unhold`].
    Unhold,
    /// [`Action::Silence`].
    Silence(Hours),
    /// [`Action::Unsilence`].
    Unsilence,
    /// [`Action::Ban`].
    Ban(Hours),
    /// [`Action::Unban`].
    Unban,
    /// [`Action::RemoveAll`], of so many days.
    RemoveAll(u64),
    /// [`Action::Approve`].
    Approve,
    /// [`Action::Reject`].
    Reject,
    /// [`Action::Keep`].
    Keep,
    /// [`Action::Warn`].
    Warn,
    /// [`Action::Note`].
    Note,
    /// [`Action::Unnote`].
    Unnote,
    /// [`Action::Discount`].
    Discount(Hours),
    /// [`Action::Recount`].
    Recount,
    /// [`Action::MakeModerator`].
    MakeModerator,
    /// [`Action::UnmakeModerator`].
    UnmakeModerator,
    /// [`Action::Reopen`].
    Reopen,
    /// Puts back what a line changed, as this action. It only undoes.
    PutBack(Action),
    /// [`Action::Rule`].
    Rule(Pattern, RuleEffect),
    /// [`Action::Unrule`].
    Unrule,
    /// [`Action::Bar`].
    Bar(BannedOrigin, BanScope, Hours),
    /// [`Action::Unbar`].
    Unbar,
    /// [`Action::Announce`], if the last one is still the one that was made then.
    Announce(Announcement, Option<Timestamp>),
    /// [`Action::SetReasons`].
    SetReasons(ReasonChange),
    /// [`Action::StopSignups`], for so many hours.
    StopSignups(u64),
    /// [`Action::ResumeSignups`].
    ResumeSignups,
    /// [`Action::HoldYoung`].
    HoldYoung {
        /// The age below which an account is young, in hours.
        age: u64,
        /// For so many hours.
        hours: u64,
    },
    /// [`Action::UnholdYoung`].
    UnholdYoung,
    /// [`Action::Answer`], if the last message is still this one.
    Answer(MessageText, Option<u64>),
    /// [`Action::Close`].
    Close,
}

impl Deed {
    /// The action that the log records.
    pub const fn action(&self) -> Action {
        match self {
            Self::Remove => Action::Remove,
            Self::Restore => Action::Restore,
            Self::Erase(_) => Action::Erase,
            Self::Edit { .. } => Action::Edit,
            Self::Merge(_) => Action::Merge,
            Self::Split => Action::Split,
            Self::Lock => Action::Lock,
            Self::Unlock => Action::Unlock,
            Self::Hold(_) => Action::Hold,
            Self::Unhold => Action::Unhold,
            Self::Silence(_) => Action::Silence,
            Self::Unsilence => Action::Unsilence,
            Self::Ban(_) => Action::Ban,
            Self::Unban => Action::Unban,
            Self::RemoveAll(_) => Action::RemoveAll,
            Self::Approve => Action::Approve,
            Self::Reject => Action::Reject,
            Self::Keep => Action::Keep,
            Self::Warn => Action::Warn,
            Self::Note => Action::Note,
            Self::Unnote => Action::Unnote,
            Self::Discount(_) => Action::Discount,
            Self::Recount => Action::Recount,
            Self::MakeModerator => Action::MakeModerator,
            Self::UnmakeModerator => Action::UnmakeModerator,
            Self::Reopen => Action::Reopen,
            Self::PutBack(action) => *action,
            Self::Rule(..) => Action::Rule,
            Self::Unrule => Action::Unrule,
            Self::Bar(..) => Action::Bar,
            Self::Unbar => Action::Unbar,
            Self::Announce(..) => Action::Announce,
            Self::SetReasons(_) => Action::SetReasons,
            Self::StopSignups(_) => Action::StopSignups,
            Self::ResumeSignups => Action::ResumeSignups,
            Self::HoldYoung { .. } => Action::HoldYoung,
            Self::UnholdYoung => Action::UnholdYoung,
            Self::Answer(..) => Action::Answer,
            Self::Close => Action::Close,
        }
    }

    /// Whether it may be done without a reason: it takes nothing from anybody.
    pub const fn needs_no_reason(&self) -> bool {
        matches!(self, Self::Keep | Self::Approve | Self::Answer(..) | Self::SetReasons(_))
    }
}

impl Action {
    /// Whether only administrators may do it, and undo it.
    pub const fn is_of_administrators(self) -> bool {
        matches!(self, Self::MakeModerator | Self::UnmakeModerator | Self::Bar | Self::Unbar | Self::Announce)
    }

    /// Whether the person whom it concerns can appeal against it: it takes something from them,
    /// and it can be undone.
    pub const fn can_be_appealed(self) -> bool {
        matches!(
            self,
            Self::Remove
                | Self::RemoveAll
                | Self::Reject
                | Self::Edit
                | Self::Merge
                | Self::Lock
                | Self::Hold
                | Self::Silence
                | Self::Ban
                | Self::Discount
        )
    }
}

/// Hours as they are typed: 0 is forever.
///
/// # Errors
/// When it is not a whole number of at most [`MAX_HOURS`] hours.
pub fn parse_hours(text: &str) -> Result<Hours, NotHours> {
    let hours: u64 = text.trim().parse().map_err(|_| NotHours)?;
    if hours > MAX_HOURS { Err(NotHours) } else { Ok((hours > 0).then_some(hours)) }
}

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

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not a number of hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a number of hours")]
pub struct NotHours;

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
        let things = [
            "story:7",
            "comment:7-3",
            "tweet:9",
            "user:alice",
            "application:bob",
            "appeal:4",
            "message:6",
            "rule:2",
            "origin:5",
            "site:reasons",
        ];
        for (text, kind) in things.into_iter().zip(Thing::KINDS) {
            let thing: Thing = text.parse().unwrap();
            assert_eq!((thing.to_string().as_str(), thing.kind()), (text, kind));
        }
        for text in ["", "story", "story:", "story:0", "story:a", "comment:7", "user:", "site:a.b"] {
            assert_eq!(text.parse::<Thing>(), Err(NotAThing), "{text}");
        }
    }

    #[test]
    fn each_action_has_a_name_of_its_own() {
        for action in Action::ALL {
            assert_eq!(Action::named(action.name()), Some(*action));
        }
        assert_eq!(Action::named("delete"), None);
    }

    #[test]
    fn hours_are_bounded_and_0_is_forever() {
        assert_eq!(parse_hours("0"), Ok(None));
        assert_eq!(parse_hours(" 24 "), Ok(Some(24)));
        assert_eq!(parse_hours(&MAX_HOURS.to_string()), Ok(Some(MAX_HOURS)));
        for bad in ["", "-1", "1.5", "a day", &(MAX_HOURS + 1).to_string()] {
            assert_eq!(parse_hours(bad), Err(NotHours), "{bad}");
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
