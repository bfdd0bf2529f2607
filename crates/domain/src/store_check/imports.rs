//! Rules of what was imported: that it is there, so that it is not imported once more.

use super::claims::{Claims, Fault, Mend};
use super::subject::Subject;
use super::{Check, Rule};
use crate::keys::{self, families};
use crate::values::ids::UserId;
use crate::values::voter_id::VoterId;
use tidings_keyspace::{Answer, Order, Read};

pub(super) static RULES: &[Rule] = &[
    Rule { of: &families::IMPORTED_VOTERS, sentence: IMPORTED, check: Check::Claims(imported_voters) },
    Rule { of: &families::IMPORTED_LINKS, sentence: IMPORTED, check: Check::Claims(imported_stories) },
    Rule { of: &families::IMPORTED_ACCOUNTS, sentence: IMPORTED, check: Check::Claims(imported_accounts) },
    Rule { of: &families::IMPORTED, sentence: IMPORTED, check: Check::Claims(imported_item) },
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

fn imported_item(subject: &Subject, claims: &mut Claims) {
    let Some((member, number)) = subject.member() else { return };
    let key = subject.key.clone();
    if member.parse::<u64>().is_err() {
        return claims.malformed(&key, format!("the member {member:?}"), "numbers of items");
    }
    let found = format!("the item {member} there, imported as {number}");
    let (order, least, most) = (Order::Ascending, number, number);
    let item = Read::SortedByScore { key: keys::ITEMS.to_owned(), order, least, most, count: 1 };
    claims.add(vec![item], move |answers| {
        let is_there = matches!(answers, [Answer::Scored(items)] if !items.is_empty());
        (!is_there).then(|| Fault {
            key: key.clone(),
            found: found.clone(),
            expected: format!("an item with that number in {}", keys::ITEMS),
            mend: Mend::Person("restore it from a backup, or remove the member to import it again"),
        })
    });
}
