//! Rules of what was imported: that it is there, so that it is not imported once more.

use crate::keys::{self, families};
use crate::store_rules::{
    Claims, Form, Mend, NameIn, Person, STORY, Subject, USER, VOTER, claims, form, is, refers, rules,
};
use tidings_keyspace::{Order, read};

rules! { pub(crate) RULES:
    "what was imported is there" =>
        IMPORTED_VOTERS: refers(NameIn::Values, "imported as", VOTER, Person(FORGOTTEN));
        IMPORTED_LINKS: refers(NameIn::Values, "imported as", STORY, Person(FORGOTTEN));
        IMPORTED_ACCOUNTS: refers(NameIn::Values, "imported as", USER, Person(FORGOTTEN));
        IMPORTED: form(Form::Member(is::<u64>), "numbers of items");
        IMPORTED: claims(imported_item);
}

const FORGOTTEN: &str = "restore it from a backup, or delete the field to import it again";

fn imported_item(subject: &Subject, claims: &mut Claims) {
    let (Some((_, number)), Some(member)) = (subject.member(), subject.member_id::<u64>()) else { return };
    let item = read::sorted_by_score(keys::ITEMS, Order::Ascending, (number, number), 1);
    claims.expects(format_args!("an item with that number in {}", keys::ITEMS), item, move |items| {
        let advice = "restore it from a backup, or remove the member to import it again";
        let found = || (format!("the item {member} there, imported as {number}"), Mend::Person(advice));
        items.is_empty().then(found)
    });
}
