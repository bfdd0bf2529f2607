//! The actions of moderators: each is declared once, with the fields that it takes and all facts that follow from it.

use crate::values::text_forms::shown;
use crate::values::{Closed, FlagVerdict, MAX_HOURS, PostKind, PostState, ReadBy, RestrictionKind, Thing};
use tidings_language::{Argument, Message, Phrase};

/// How long something lasts: `None` is forever.
pub type Hours = Option<u64>;

/// The facts that follow from an action.
#[derive(Debug, Clone, Copy)]
pub struct ActionFacts {
    /// The name in calls and in the log.
    pub name: &'static str,
    /// The action in words that tell it from all others.
    pub words: &'static Message,
    /// Its sentence in the past tense about a `thing`, without the moderator.
    pub past: &'static Message,
    /// The same with the `moderator`.
    pub by: &'static Message,
    /// The words on its button; `None` if no menu offers it.
    pub button: Option<&'static Message>,
    /// Whether it can be done to something. Menus offer what can.
    pub fits: fn(&ActionSubject<'_>) -> bool,
    /// A sentence to the person whom it concerns; `None` if they are not told, or the message has no title.
    pub told: fn(&Thing) -> Option<&'static str>,
    /// The longer sentence to the author of a post about it, with its `title` or an `excerpt`, and its `place`. Without one, the
    /// reason alone follows what they are told, unless the effect has a message of its own.
    pub about: fn(&Thing) -> Option<&'static Message>,
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
const fn plain(name: &'static str, [words, past, by]: [&'static Message; 3]) -> ActionFacts {
    ActionFacts {
        name,
        words,
        past,
        by,
        button: None,
        fits: |_| false,
        told: |_| None,
        about: |_| None,
        can_be_appealed: false,
        verdict: None,
        undo: Undo::Never,
        restriction: None,
        needs_no_reason: false,
        is_private: false,
        is_of_administrators: false,
        has_own_call: false,
    }
}
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
        = $name:literal, {
            words: $words:expr, past: $past:expr, by: $by:expr $(, $fact:ident: $value:expr)* $(,)?
        };
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
                    $(Self::$Name => ActionFacts { $($fact: $value,)* ..plain($name, [$words, $past, $by]) },)+
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

mod declared;

pub use self::declared::{Action, Deed};

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
    pub fn words(self) -> &'static str {
        self.facts().words.text()
    }

    /// The words on its button.
    pub fn button(self) -> &'static str {
        self.facts().button.map_or("", Message::text)
    }

    /// Its sentence about a thing, with the name of the moderator if there is one.
    pub fn sentence<'a>(
        self,
        moderator: Option<impl Into<Argument<'a>>>,
        thing: impl Into<Argument<'a>>,
    ) -> Phrase<'a> {
        let ActionFacts { past, by, .. } = self.facts();
        match moderator {
            Some(moderator) => Phrase::new(by).with("moderator", moderator).with("thing", thing),
            None => Phrase::new(past).with("thing", thing),
        }
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
        let words: HashSet<&str> = Action::ALL.iter().map(|action| action.facts().words.english).collect();
        assert_eq!(words.len(), Action::ALL.len(), "{words:?}");
        for action in Action::ALL {
            let by = action.sentence(Some("alice"), "something").in_english();
            assert!(by.contains("something") && by.contains("alice"), "{action}: {by}");
            assert!(by.contains(&action.sentence(None::<&str>, "something").in_english()), "{action}: {by}");
        }
    }

    #[test]
    fn a_sentence_about_a_post_names_its_place_and_follows_words_that_tell_its_author() {
        for (kind, id) in [("story", "1"), ("comment", "1-2"), ("tweet", "3")] {
            let thing = Thing::parse(kind, id).unwrap();
            for ActionFacts { name, about, told, .. } in Action::ALL.iter().map(|action| action.facts()) {
                let Some(about) = about(&thing) else { continue };
                assert!(about.english.contains("{place}") && told(&thing).is_some(), "{name} {thing}");
            }
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
