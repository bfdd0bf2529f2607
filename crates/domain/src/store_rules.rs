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

use crate::error::Error;
use crate::keys::families::Family;
use crate::site::Site;
use crate::values::clock::Moment;
use claims::{Claim, Claims, Found};
use existing::Existing;
use forms::Form;
use futures_util::future::BoxFuture;
use references::Reference;
use subject::Subject;

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
    /// By several rounds about many things together.
    Rounds(CheckRounds),
}

pub(crate) type CheckRounds =
    for<'a> fn(&'a Site, Moment, &'a [&'a Subject]) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>>;

/// A check by reads that follow from the value.
pub(crate) const fn claims(claim: fn(&Subject, &mut Claims)) -> Check {
    Check { how: How::Claims(claim), looks: 1 }
}

/// A check that the value names something that is there: see [`Reference`].
pub(crate) const fn refers(reference: Reference) -> Check {
    Check { how: How::Refers(reference), looks: 1 }
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

    /// What is claimed about something. Nothing has to be claimed of keys that are known to exist.
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
    ($(#[$doc:meta])* $visibility:vis $RULES:ident: $($sentence:literal { $($($family:ident),+: $check:expr;)+ })+) => {
        $(#[$doc])*
        $visibility static $RULES: &[$crate::store_rules::Rule] = &[$($($(
            $crate::store_rules::Rule { of: &families::$family, sentence: $sentence, check: $check },
        )+)+)+];
    };
}
pub(crate) use rules;
