//! Rules of what is stored: what must hold of each key, and what mends it.
//!
//! A [`Rule`] says what must hold of the keys of a family, or of each member of a list. Most are rows of tables: the value
//! has a [form](forms), or [names](references) something that must be there. The others are functions that make
//! [`Claims`]: reads of other keys, and what they must answer. Rules stand beside the code that writes the keys, in the
//! `store_rules` of each wing; those that are alike for many families are tables in `store_check/`.

pub(crate) mod claims;
pub(crate) mod entries;
pub(crate) mod existing;
pub(crate) mod forms;
pub(crate) mod references;
pub(crate) mod source;
pub(crate) mod subject;

use crate::keys::families::Family;
use crate::{Result, Site};
pub(crate) use claims::{Claims, Fault, Found, Mend};
pub(crate) use forms::{Form, STATE, is};
pub(crate) use references::Remedy::{Person, Remove, RemoveAny, RemoveAs};
pub(crate) use references::{LINE, Location, NameIn, Noun, STORY, USER, VOTER};
pub(crate) use source::Source;
pub(crate) use subject::{Subject, SubjectItem};

use claims::Claim;
use existing::Existing;
use futures_util::future::BoxFuture;
use references::{Reference, Remedy};

/// Something that must hold of each key of a family, or of each member.
pub(crate) struct Rule {
    /// The family.
    pub(crate) of: &'static Family,
    /// The condition that must hold, as people read it.
    pub(crate) sentence: &'static str,
    /// How that is found out.
    pub(crate) check: Check,
}

/// How a rule is checked.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    how: How,
    /// How many times as often as others a difference is looked at, before it is reported.
    pub(crate) looks: usize,
}

#[derive(Clone, Copy)]
enum How {
    /// By reads that follow from the value.
    Claims(fn(&Subject, &mut Claims)),
    /// The value names something that must be there.
    Refers(Reference),
    /// The value has a form, which is called so.
    Form(Form, &'static str),
    /// By several rounds.
    Rounds(CheckRounds),
}

pub(crate) type CheckRounds = for<'a> fn(&'a Site, &'a Subject) -> BoxFuture<'a, Result<Option<Found>>>;

/// A check by reads that follow from the value.
pub(crate) const fn claims(claim: fn(&Subject, &mut Claims)) -> Check {
    Check { how: How::Claims(claim), looks: 1 }
}

/// A check that the names at a place are those of something that is there. The text says what is found otherwise, with `{}`
/// for the name; one without says only how it is called.
pub(crate) const fn refers(place: NameIn, what: &'static str, noun: Noun, remedy: Remedy) -> Check {
    Check { how: How::Refers(Reference { place, what, noun, remedy }), looks: 1 }
}

/// A check that the value has a form, which is called so.
pub(crate) const fn form(form: Form, expected: &'static str) -> Check {
    Check { how: How::Form(form, expected), looks: 1 }
}

/// A check by several rounds. While it looks, more may change.
pub(crate) const fn rounds(check: CheckRounds) -> Check {
    Check { how: How::Rounds(check), looks: 2 }
}

impl Check {
    /// The same of what a later batch removes: each vote that is taken back leaves it for a moment.
    pub(crate) const fn of_leftovers(self) -> Self {
        Self { looks: 4, ..self }
    }

    /// How it is checked, if by several rounds.
    pub(crate) const fn rounds(&self) -> Option<CheckRounds> {
        match self.how {
            How::Rounds(check) => Some(check),
            _ => None,
        }
    }

    /// The claims about something. Nothing has to be claimed of keys that are known to exist.
    pub(crate) fn claims(&self, subject: &Subject, existing: Option<&Existing>) -> Vec<Claim> {
        let mut claims = Claims::about(subject, existing);
        match &self.how {
            How::Claims(claim) => claim(subject, &mut claims),
            How::Refers(reference) => reference.claim(subject, &mut claims),
            How::Form(form, expected) => form.claim(expected, subject, &mut claims),
            How::Rounds(_) => {}
        }
        claims.all
    }
}

/// Declares rules: a sentence, then families with how they are checked.
macro_rules! rules {
    ($(#[$doc:meta])* $visibility:vis $RULES:ident: $($sentence:literal => $($($family:ident),+: $check:expr;)+)+) => {
        $(#[$doc])*
        $visibility static $RULES: &[$crate::store_rules::Rule] = &[$($($(
            $crate::store_rules::Rule { of: &families::$family, sentence: $sentence, check: $check },
        )+)+)+];
    };
}
pub(crate) use rules;
