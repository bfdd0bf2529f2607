//! Rules of what is stored: what must hold of each key, and what mends it.
//!
//! A [`Rule`] says what must hold of the keys of a family, or of each member of a list, as
//! [`Claims`]: reads of other keys, and what they must answer. Rules stand beside the code that
//! writes the keys, in the `store_rules` of each wing; those that are alike for many families are
//! tables in `store_check/`.

pub(crate) mod claims;
pub(crate) mod entries;
pub(crate) mod existing;
pub(crate) mod source;
pub(crate) mod subject;

use crate::error::Error;
use crate::keys::families::Family;
use crate::site::Site;
use crate::values::clock::Moment;
use claims::{Claims, Found};
use futures_util::future::BoxFuture;
use subject::Subject;

/// Things of a group that are checked at the same time, where each takes several rounds.
pub(crate) const CHECKS_AT_ONCE: usize = 32;

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
pub(crate) enum Check {
    /// By reads that follow from the value.
    Claims(fn(&Subject, &mut Claims)),
    /// In the same way, of what a later batch removes: it may be seen before it is gone.
    Leftovers(fn(&Subject, &mut Claims)),
    /// By several rounds about many things together.
    Rounds(CheckRounds),
}

pub(crate) type CheckRounds =
    for<'a> fn(&'a Site, Moment, &'a [&'a Subject]) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>>;

impl Rule {
    /// A rule that is checked by reads that follow from the value.
    pub(crate) const fn claims(
        of: &'static Family,
        sentence: &'static str,
        claim: fn(&Subject, &mut Claims),
    ) -> Self {
        Self { of, sentence, check: Check::Claims(claim) }
    }

    /// A rule of what a later batch removes.
    pub(crate) const fn leftovers(
        of: &'static Family,
        sentence: &'static str,
        claim: fn(&Subject, &mut Claims),
    ) -> Self {
        Self { of, sentence, check: Check::Leftovers(claim) }
    }

    /// A rule that is checked by several rounds.
    pub(crate) const fn rounds(of: &'static Family, sentence: &'static str, check: CheckRounds) -> Self {
        Self { of, sentence, check: Check::Rounds(check) }
    }
}
