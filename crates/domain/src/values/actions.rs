//! The actions of moderators: each is declared once, with the fields that it takes and all facts that follow from it.

use crate::values::text_forms::shown;
use crate::values::{
    Announcement, BanScope, BannedOrigin, Body, Closed, FlagVerdict, MAX_HOURS, MessageText, NewsId, NewsUrl,
    Pattern, PostKind, PostState, ReadBy, ReasonChange, RestrictionKind, RuleEffect, Thing, Timestamp, Title,
    Topics,
};

/// How long something lasts: `None` is forever.
pub type Hours = Option<u64>;

/// The facts that follow from an action.
#[derive(Debug, Clone, Copy)]
pub struct ActionFacts {
    /// The name in calls and in the log.
    pub name: &'static str,
    /// The words on its button; empty if no menu offers it.
    pub button: &'static str,
    /// Whether it can be done to something. Menus offer what can.
    pub fits: fn(&ActionSubject<'_>) -> bool,
    /// Its sentence in the past tense, after the name of the moderator, unless it begins with `{}`, which stands for the
    /// thing.
    pub past: &'static str,
    /// Its thing in words, for a list of actions.
    pub object: &'static str,
    /// A sentence about it to the person whom it concerns; `{}` stands for the thing. Empty if they are not told, or the
    /// message has no title.
    pub told: &'static str,
    /// Whether that person can appeal: it takes something from them, and it can be undone.
    pub can_be_appealed: bool,
    /// Its verdict on the flags of its thing. `None` leaves the row in the queue.
    pub verdict: Option<FlagVerdict>,
    /// How it is undone.
    pub undo: Undo,
    /// The restriction that it puts on a person, or lifts.
    pub restriction: Option<RestrictionKind>,
    /// Whether it may be done without a reason: it takes nothing from anybody.
    pub needs_no_reason: bool,
    /// Whether its reason is for moderators only, so that the log does not have it.
    pub is_private: bool,
    /// Whether only administrators may do it, and undo it.
    pub is_of_administrators: bool,
    /// Whether it has a call of its own, or none at all, and so cannot be asked for by the call for all others.
    pub has_own_call: bool,
}

/// The facts that decide which actions can be done to a post or a person.
#[derive(Debug, Clone, Copy)]
pub struct ActionSubject<'a> {
    /// Its state.
    pub state: PostState<'a>,
    /// Whether its thread is locked.
    pub is_locked: bool,
    /// Whether it is pinned to the top of the front page.
    pub is_pinned: bool,
    /// Whether the person is a moderator.
    pub is_moderator: bool,
    /// The restrictions of the person that are in force.
    pub in_force: &'a [RestrictionKind],
}

impl ActionSubject<'_> {
    const fn is_person(&self) -> bool {
        matches!(self.state.kind, PostKind::Profile)
    }

    const fn is_story(&self) -> bool {
        matches!(self.state.kind, PostKind::Story)
    }

    /// Whether it is a story, a comment or a tweet in which people take part.
    const fn is_open_post(&self) -> bool {
        !self.is_person() && self.state.is_open()
    }

    /// Whether it is a post that waits for approval.
    const fn waits(&self) -> bool {
        matches!(self.state.closed(), Some(Closed::Held))
    }

    /// Whether flags hide it.
    const fn is_hidden(&self) -> bool {
        matches!(self.state.readers(), ReadBy::Curious)
    }

    fn is_under(&self, kind: RestrictionKind) -> bool {
        self.is_person() && self.in_force.contains(&kind)
    }

    fn is_free_of(&self, kind: RestrictionKind) -> bool {
        self.is_person() && !self.in_force.contains(&kind)
    }
}

/// How an action is undone.
#[derive(Debug, Clone, Copy)]
pub enum Undo {
    /// It is not.
    Never,
    /// By this action on the same thing, if there is one.
    Deed(fn(&Thing) -> Option<Deed>),
    /// By putting back the facts that it changed, which is recorded as this action.
    Facts(Action),
}

/// An action of which nothing follows.
const PLAIN: ActionFacts = ActionFacts {
    name: "",
    button: "",
    fits: |_| false,
    past: "",
    object: "a story, a comment or a post",
    told: "",
    can_be_appealed: false,
    verdict: None,
    undo: Undo::Never,
    restriction: None,
    needs_no_reason: false,
    is_private: false,
    is_of_administrators: false,
    has_own_call: false,
};
/// An action by which flags were right.
const UPHELD: Option<FlagVerdict> = Some(FlagVerdict::Upheld);
/// One by which they were wrong.
const REJECTED: Option<FlagVerdict> = Some(FlagVerdict::Rejected);
/// One that settles them without saying.
const CLOSED: Option<FlagVerdict> = Some(FlagVerdict::Closed);

/// Declares `Action`, `Deed`, and what follows from each: its documentation, its name, what it takes, and its
/// facts.
macro_rules! actions {
    (@plain $Name:ident) => { Some(Deed::$Name) };
    (@plain $Name:ident $($given:tt)+) => { None };
    ($(
        $(#[$doc:meta])*
        $Name:ident $(($($given:ty),+))? $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ })?
        = $name:literal, $past:literal, { $($fact:ident: $value:expr),* $(,)? };
    )+) => {
        /// The action that a line of the moderation log records.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[$doc])* $Name,)+
        }

        /// An action with what it takes.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Deed {
            $(
                #[doc = concat!("[`Action::", stringify!($Name), "`].")]
                $Name $(($($given),+))? $({ $($(#[$field_doc])* $field: $type,)+ })?,
            )+
            /// Puts back what a line changed, as this action. It only undoes.
            PutBack(Action),
        }

        impl Action {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Name),+];

            /// The deed of an action that takes nothing.
            pub const fn plain(self) -> Option<Deed> {
                match self {
                    $(Self::$Name => actions!(@plain $Name $(($($given),+))? $({ $($field)+ })?),)+
                }
            }

            /// The facts that follow from it.
            pub const fn facts(self) -> ActionFacts {
                match self {
                    $(Self::$Name => ActionFacts { name: $name, past: $past, $($fact: $value,)* ..PLAIN },)+
                }
            }
        }

        impl Deed {
            /// The action that the log records.
            pub const fn action(&self) -> Action {
                match self {
                    $(Self::$Name { .. } => Action::$Name,)+
                    Self::PutBack(action) => *action,
                }
            }
        }
    };
}

actions! {
    /// A story, a comment or a tweet was removed.
    Remove = "remove", "removed {}", {
        button: "Remove",
        fits: |it| it.is_open_post(),
        told: "Your {} was removed",
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Restore)),
    };
    /// A removed story, comment or tweet is back.
    Restore = "restore", "restored {}", {
        told: "Your {} is back",
        button: "Put back",
        fits: |it| !it.is_person() && matches!(it.state.closed(), Some(Closed::Removed)) && !it.state.unseen,
        undo: Undo::Deed(|_| Some(Deed::Remove)),
    };
    /// A story, a comment or a tweet was erased for good. The deed is confirmed with this id.
    Erase(Option<Box<str>>) = "erase", "erased {}", {
        told: "Your {} was erased",
        button: "Erase for good",
        fits: |it| !it.is_person() && !matches!(it.state.closed(), Some(Closed::Erased)),
        verdict: UPHELD,
        is_of_administrators: true,
    };
    /// A story or the text of a comment was changed; what is `None` stays.
    Edit {
        /// The new title.
        title: Option<Title>,
        /// The new topics.
        topics: Option<Topics>,
        /// The new URL of a story.
        url: Option<NewsUrl>,
        /// The new text of a story without a URL, or of a comment.
        text: Option<Body>,
    } = "edit", "edited {}", {
        object: "a story or a comment",
        button: "Edit",
        fits: |it| matches!(it.state.kind, PostKind::Story | PostKind::Comment) && it.is_open_post(),
        told: "Your {} was edited",
        can_be_appealed: true,
        verdict: CLOSED,
        undo: Undo::Deed(|_| Some(Deed::Edit { title: None, topics: None, url: None, text: None })),
    };
    /// A story was merged into another.
    Merge(NewsId) = "merge", "merged {}", {
        object: "a story",
        button: "Merge into another story",
        fits: |it| it.is_story() && it.is_open_post(),
        told: "Your {} was merged into another",
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Split)),
    };
    /// A merged story is a story of its own again.
    Split = "split", "split off {}", {
        told: "Your {} is a story of its own again",
        object: "a story",
        button: "Split off again",
        fits: |it| matches!(it.state.closed(), Some(Closed::Merged(_))),
    };
    /// The thread of a story was locked.
    Lock = "lock", "locked the thread of {}", {
        button: "Lock the thread",
        fits: |it| it.is_story() && it.is_open_post() && !it.is_locked,
        object: "a story",
        told: "The thread of your {} was locked",
        can_be_appealed: true,
        verdict: CLOSED,
        undo: Undo::Deed(|_| Some(Deed::Unlock)),
    };
    /// The thread is open again.
    Unlock = "unlock", "unlocked the thread of {}", {
        told: "The thread of your {} is open again",
        button: "Unlock the thread",
        fits: |it| it.is_story() && it.is_open_post() && it.is_locked,
        object: "a story",
        undo: Undo::Deed(|_| Some(Deed::Lock)),
    };
    /// A person's posts wait for approval.
    Hold(Hours) = "hold", "now holds the posts of {}", {
        button: "Hold their posts for approval",
        fits: |it| it.is_free_of(RestrictionKind::Hold),
        object: "a person",
        told: "Your posts now wait for approval",
        can_be_appealed: true,
        verdict: UPHELD,
        restriction: Some(RestrictionKind::Hold),
        undo: Undo::Deed(|_| Some(Deed::Unhold)),
    };
    /// A person's posts no longer wait.
    Unhold = "unhold", "no longer holds the posts of {}", {
        told: "Your posts no longer wait for approval",
        button: "Stop holding what they write",
        fits: |it| it.is_under(RestrictionKind::Hold),
        object: "a person",
        restriction: Some(RestrictionKind::Hold),
        undo: Undo::Deed(|_| Some(Deed::Hold(None))),
    };
    /// A person reads and votes only.
    Silence(Hours) = "silence", "silenced {}", {
        object: "a person",
        button: "Silence",
        fits: |it| it.is_free_of(RestrictionKind::Silence),
        told: "You were silenced",
        can_be_appealed: true,
        verdict: UPHELD,
        restriction: Some(RestrictionKind::Silence),
        undo: Undo::Deed(|_| Some(Deed::Unsilence)),
    };
    /// The silence was lifted.
    Unsilence = "unsilence", "lifted the silence of {}", {
        told: "Your silence was lifted",
        button: "Lift the silence",
        fits: |it| it.is_under(RestrictionKind::Silence),
        object: "a person",
        restriction: Some(RestrictionKind::Silence),
        undo: Undo::Deed(|_| Some(Deed::Silence(None))),
    };
    /// A person cannot log in.
    Ban(Hours) = "ban", "banned {}", {
        object: "a person",
        button: "Ban",
        fits: |it| it.is_free_of(RestrictionKind::Ban),
        told: "You were banned",
        can_be_appealed: true,
        verdict: UPHELD,
        restriction: Some(RestrictionKind::Ban),
        undo: Undo::Deed(|_| Some(Deed::Unban)),
    };
    /// The ban was lifted.
    Unban = "unban", "lifted the ban of {}", {
        told: "Your ban was lifted",
        button: "Lift the ban",
        fits: |it| it.is_under(RestrictionKind::Ban),
        object: "a person",
        restriction: Some(RestrictionKind::Ban),
        undo: Undo::Deed(|_| Some(Deed::Ban(None))),
    };
    /// All posts of a person of the last days, so many, were removed.
    RemoveAll(u64) = "remove_all", "removed the recent posts of {}", {
        button: "Remove everything",
        fits: |it| it.is_person(),
        object: "a person",
        told: "Your recent posts were removed",
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Restore)),
    };
    /// Something that waited was approved.
    Approve = "approve", "approved {}", {
        told: "Your {} was approved",
        object: "something",
        button: "Approve",
        fits: |it| it.waits(),
        verdict: REJECTED,
        needs_no_reason: true,
        undo: Undo::Deed(|thing| match thing {
            // An approved post is published as of its approval; removing it hides it again.
            Thing::Story(_) | Thing::Comment(_) | Thing::Tweet(_) => Some(Deed::Remove),
            // The decision was undone; it can be made anew.
            Thing::Appeal(_) => None,
            _ => Some(Deed::Reopen),
        }),
    };
    /// Something that waited was rejected.
    Reject = "reject", "rejected {}", {
        object: "something",
        button: "Reject",
        fits: |it| it.waits(),
        told: "Your {} was rejected",
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Reopen)),
    };
    /// Something that readers flagged stays.
    Keep = "keep", "kept {}", {
        object: "something",
        button: "Keep",
        fits: |it| it.is_open_post() && it.is_hidden(),
        verdict: REJECTED,
        needs_no_reason: true,
        undo: Undo::Deed(|_| Some(Deed::Reopen)),
    };
    /// A person was warned.
    Warn = "warn", "warned {}", {
        told: "A moderator warned you",
        object: "a person",
        button: "Warn",
        fits: |it| it.is_person(),
        verdict: UPHELD,
    };
    /// Moderators noted something about a person.
    Note = "note", "wrote a note about {}", {
        button: "Write a note",
        fits: |it| it.is_person(),
        is_private: true,
        object: "a person",
        undo: Undo::Deed(|_| Some(Deed::Unnote)),
    };
    /// The votes of a person do not count.
    Discount(Hours) = "discount", "stopped counting the votes of {}", {
        button: "Stop counting their votes",
        fits: |it| it.is_free_of(RestrictionKind::Discount),
        object: "a person",
        told: "Your votes do not count",
        can_be_appealed: true,
        restriction: Some(RestrictionKind::Discount),
        undo: Undo::Deed(|_| Some(Deed::Recount)),
    };
    /// The votes of a person count again.
    Recount = "recount", "resumed counting the votes of {}", {
        told: "Your votes count again",
        button: "Count their votes again",
        fits: |it| it.is_under(RestrictionKind::Discount),
        object: "a person",
        restriction: Some(RestrictionKind::Discount),
        undo: Undo::Deed(|_| Some(Deed::Discount(None))),
    };
    /// A person became a moderator.
    MakeModerator = "make_moderator", "{} is now a moderator", {
        told: "You are now a moderator",
        button: "Make a moderator",
        fits: |it| it.is_person() && !it.is_moderator,
        object: "a person",
        is_of_administrators: true,
        undo: Undo::Deed(|_| Some(Deed::UnmakeModerator)),
    };
    /// A person is no longer a moderator.
    UnmakeModerator = "unmake_moderator", "{} is no longer a moderator", {
        told: "You are no longer a moderator",
        button: "Remove the moderator role",
        fits: |it| it.is_person() && it.is_moderator,
        object: "a person",
        is_of_administrators: true,
        undo: Undo::Deed(|_| Some(Deed::MakeModerator)),
    };
    /// A person became an administrator, by their groups at the provider.
    MakeAdministrator = "make_administrator", "{} is now an administrator", {
        object: "a person",
        has_own_call: true,
    };
    /// A person is no longer an administrator, by their groups at the provider.
    UnmakeAdministrator = "unmake_administrator", "{} is no longer an administrator", {
        object: "a person",
        has_own_call: true,
    };
    /// A rule was added.
    Rule(Pattern, RuleEffect) = "rule", "added {}", { object: "a rule", has_own_call: true, undo: Undo::Facts(Action::Unrule) };
    /// A rule was removed.
    Unrule = "unrule", "removed {}", { object: "a rule", has_own_call: true, undo: Undo::Facts(Action::Rule) };
    /// A note about a person was deleted.
    Unnote = "unnote", "deleted a note about {}", {
        is_private: true,
        object: "a person",
        has_own_call: true,
    };
    /// A decision of the queue was taken back: what it was about waits again.
    Reopen = "reopen", "reopened the case of {}", { object: "something", has_own_call: true };
    /// A moderator spoke as such.
    Speak = "speak", "spoke as a moderator in {}", { object: "a comment", has_own_call: true };
    /// A network or an e-mail domain was banned.
    Bar(BannedOrigin, BanScope, Hours) = "bar", "banned {}", {
        object: "a network or domain",
        is_of_administrators: true,
        has_own_call: true,
        undo: Undo::Facts(Action::Unbar),
    };
    /// Such a ban was lifted.
    Unbar = "unbar", "lifted {}", {
        object: "the ban of a network or domain",
        is_of_administrators: true,
        has_own_call: true,
        undo: Undo::Facts(Action::Bar),
    };
    /// The announcement or the pinned stories were changed, if the last one was still the one of this time.
    Announce(Announcement, Option<Timestamp>) = "announce", "changed {}", {
        object: "the announcement",
        is_of_administrators: true,
        has_own_call: true,
        undo: Undo::Facts(Action::Announce),
    };
    /// A story was pinned to the top of the front page, for so many days.
    Pin(u64) = "pin", "pinned {}", {
        button: "Pin to the front page",
        fits: |it| it.is_story() && it.state.is_listed() && !it.is_pinned,
        object: "a story",
        is_of_administrators: true,
        needs_no_reason: true,
        undo: Undo::Facts(Action::Unpin),
    };
    /// It is no longer pinned.
    Unpin = "unpin", "unpinned {}", {
        button: "Unpin",
        fits: |it| it.is_story() && it.is_pinned,
        object: "a story",
        is_of_administrators: true,
        needs_no_reason: true,
        undo: Undo::Facts(Action::Pin),
    };
    /// The reasons that moderators have at hand were changed.
    SetReasons(ReasonChange) = "set_reasons", "changed {}", {
        object: "the saved reasons",
        needs_no_reason: true,
        has_own_call: true,
        undo: Undo::Facts(Action::SetReasons),
    };
    /// A webhook was added, changed or removed. The line does not know the address, which is a secret.
    SetHooks = "set_hooks", "changed {}", { object: "the webhooks", has_own_call: true };
    /// Another choice of who may read the site. The reason says which.
    SetReaders = "set_readers", "changed {}", { object: "who can read the site", has_own_call: true };
    /// Nobody can sign up for so many hours.
    StopSignups(u64) = "stop_signups", "stopped {}", { object: "sign-ups", undo: Undo::Facts(Action::ResumeSignups) };
    /// People can sign up again.
    ResumeSignups = "resume_signups", "resumed {}", { object: "sign-ups", undo: Undo::Facts(Action::StopSignups) };
    /// The posts of young accounts wait for approval for some time.
    HoldYoung {
        /// The age below which an account is young, in hours.
        age: u64,
        /// For so many hours.
        hours: u64,
    } = "hold_young", "now holds {}", { object: "the posts of young accounts", undo: Undo::Facts(Action::UnholdYoung) };
    /// They no longer wait.
    UnholdYoung = "unhold_young", "no longer holds {}", { object: "the posts of young accounts", undo: Undo::Facts(Action::HoldYoung) };
    /// A message to the moderators was answered, if the last one was still this. The member may have read the answer.
    Answer(MessageText, Option<u64>) = "answer", "answered {}", {
        object: "a message",
        verdict: CLOSED,
        needs_no_reason: true,
        has_own_call: true,
    };
    /// A message to the moderators was closed without an answer.
    Close = "close", "closed {} without an answer", {
        told: "Your {} was closed without an answer",
        object: "a message",
        button: "Close without an answer",
        verdict: CLOSED,
        undo: Undo::Deed(|_| Some(Deed::Reopen)),
    };
}

impl Action {
    /// The name in calls and in the log.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether the person whom it concerns can appeal against it, done to this thing. The answer to an appeal is
    /// the last word.
    pub const fn can_be_appealed(self, thing: &Thing) -> bool {
        self.facts().can_be_appealed && !matches!(thing, Thing::Appeal(_))
    }

    /// The action in words that tell it from all others.
    pub fn words(self) -> String {
        let ActionFacts { past, object, .. } = self.facts();
        past.replace("{}", object)
    }

    /// Those that can be done to something by an administrator, or by another moderator.
    pub fn fitting(subject: &ActionSubject<'_>, is_administrator: bool) -> Vec<Self> {
        let fits = |action: &Self| {
            let ActionFacts { fits, is_of_administrators, .. } = action.facts();
            fits(subject) && (is_administrator || !is_of_administrators)
        };
        Self::ALL.iter().copied().filter(fits).collect()
    }

    /// The action with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }
}

shown!(Action: |action| action.name());

/// The text is not a number of hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a number of hours")]
pub struct NotHours;

/// Hours as they are typed: 0 is forever.
///
/// # Errors
/// When it is not a whole number of at most [`MAX_HOURS`] hours.
pub fn parse_hours(text: &str) -> Result<Hours, NotHours> {
    let hours: u64 = text.trim().parse().map_err(|_| NotHours)?;
    if hours > MAX_HOURS { Err(NotHours) } else { Ok((hours > 0).then_some(hours)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_action_has_a_name_of_its_own() {
        for action in Action::ALL {
            assert_eq!(Action::named(action.name()), Some(*action));
        }
        assert_eq!(Action::named("delete"), None);
    }

    #[test]
    fn each_action_has_words_of_its_own() {
        let words: HashSet<String> = Action::ALL.iter().map(|action| action.words()).collect();
        assert_eq!(words.len(), Action::ALL.len(), "{words:?}");
        for action in Action::ALL {
            assert!(action.facts().past.contains("{}"), "{action}");
        }
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
}
