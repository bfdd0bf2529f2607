//! Rules of what was imported: that it is there, so that it is not imported once more.

use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Mend};
use crate::store_rules::subject::Subject;
use crate::values::ids::UserId;
use crate::values::voter_id::VoterId;
use tidings_keyspace::{Answer, Order, Read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::IMPORTED_VOTERS, IMPORTED, imported_voters),
    Rule::claims(&families::IMPORTED_LINKS, IMPORTED, imported_stories),
    Rule::claims(&families::IMPORTED_ACCOUNTS, IMPORTED, imported_accounts),
    Rule::claims(&families::IMPORTED, IMPORTED, imported_item),
];

const IMPORTED: &str = "what was imported is there";
const FORGOTTEN: Mend = Mend::Person("restore it from a backup, or delete the field to import it again");

/// Claims that each value of a hash names something that is there.
fn imported(subject: &Subject, claims: &mut Claims, target: impl Fn(&str) -> Option<String>) {
    for (field, value) in subject.fields() {
        match target(value) {
            Some(target) => {
                claims.of(field).refers(format!("{field}, imported as {value}"), target, FORGOTTEN);
            }
            None => claims.of(field).malformed(format_args!("{field} {value:?}"), "an id"),
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
    if claims.member::<u64>("numbers of items").is_none() {
        return;
    }
    let found = format!("the item {member} there, imported as {number}");
    let (order, least, most) = (Order::Ascending, number, number);
    let item = Read::SortedByScore { key: keys::ITEMS.to_owned(), order, least, most, count: 1 };
    let expected = format!("an item with that number in {}", keys::ITEMS);
    claims.expects(expected, vec![item], move |answers| {
        let is_there = matches!(answers, [Answer::Scored(items)] if !items.is_empty());
        let advice = "restore it from a backup, or remove the member to import it again";
        (!is_there).then(|| (found.clone(), Mend::Person(advice)))
    });
}
