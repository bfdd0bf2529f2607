//! Rules of what was imported: that it is there, so that it is not imported once more.

use super::claims::{Claims, Mend};
use super::subject::Subject;
use super::{Check, Rule};
use crate::keys::{self, families};
use crate::values::ids::UserId;
use crate::values::voter_id::VoterId;

pub(super) static RULES: &[Rule] = &[
    Rule { of: &families::IMPORTED_VOTERS, sentence: IMPORTED, check: Check::Claims(imported_voters) },
    Rule { of: &families::IMPORTED_LINKS, sentence: IMPORTED, check: Check::Claims(imported_stories) },
    Rule { of: &families::IMPORTED_ACCOUNTS, sentence: IMPORTED, check: Check::Claims(imported_accounts) },
];

const IMPORTED: &str = "what was imported is there";
const FORGOTTEN: Mend = Mend::Person("restore it from a backup, or delete the field to import it again");

/// Claims that each value of a hash names something that is there.
fn imported(subject: &Subject, claims: &mut Claims, target: impl Fn(&str) -> Option<String>) {
    for (field, value) in subject.hash().into_iter().flat_map(|hash| &hash.0) {
        match target(value) {
            Some(target) => {
                claims.of(field).refers(
                    &subject.key,
                    format!("{field}, imported as {value}"),
                    target,
                    FORGOTTEN,
                );
            }
            None => claims.of(field).malformed(&subject.key, format!("{field} {value:?}"), "an id"),
        }
    }
}

fn imported_voters(subject: &Subject, claims: &mut Claims) {
    imported(subject, claims, |value| value.parse::<VoterId>().ok().map(keys::voter));
}

fn imported_stories(subject: &Subject, claims: &mut Claims) {
    imported(subject, claims, |value| value.parse().ok().map(keys::news));
}

fn imported_accounts(subject: &Subject, claims: &mut Claims) {
    imported(subject, claims, |value| value.parse::<UserId>().ok().map(keys::user));
}
