//! Rules of lists that are capped: none is longer than it may be.

use crate::keys::families::{self, Cap, Full};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Fault, Mend, count_in};
use crate::store_rules::subject::{Subject, SubjectItem};
use std::sync::LazyLock;
use tidings_keyspace::{Batch, Read};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let capped = families::ALL.iter().copied().filter(|family| family.cap.is_some());
    capped.map(|family| Rule::claims(family, "a list is not longer than it may be", capped_list)).collect()
});

/// For lists that people have chosen, or that moderators have written: only they know what can go.
const PERSON: Mend =
    Mend::Person("ask whose list it is to shorten it, or remove members by hand until it is short enough");

fn capped_list(subject: &Subject, claims: &mut Claims) {
    let Some(Cap { most, full }) = subject.family.cap else { return };
    let key = subject.key.clone();
    if let Some(hash) = subject.hash() {
        // The field of flags that is none.
        let count = hash.0.iter().filter(|(field, _)| field != "waiting").count() as u64;
        if count > most {
            let mend = match full {
                Full::OldestLeaves => without_oldest(subject, count - most),
                Full::Refuses => PERSON,
            };
            claims.fault(Fault::too_long(key, count, most, mend));
        }
        return;
    }
    if subject.item != SubjectItem::Whole || subject.family.holds != families::Holds::SortedSet {
        return;
    }
    // A login beyond the most ends the oldest sessions right after it.
    let of_sessions = subject.id().filter(|_| *subject.family == families::USER_SESSIONS);
    claims.add(vec![Read::SortedCount(key.clone())], move |answers| {
        let count = u64::try_from(count_in(answers, 0)).unwrap_or(0);
        let mend = match full {
            Full::OldestLeaves if let Some(user) = of_sessions => Mend::Sessions(user),
            Full::OldestLeaves => {
                let mut batch = Batch::new();
                batch.sorted_trim(&key, most);
                Mend::write(batch, "remove the oldest members")
            }
            Full::Refuses => PERSON,
        };
        (count > most).then(|| Fault::too_long(key.clone(), count, most, mend))
    });
}

/// Deletes the fields of a hash with the earliest times. The time is the first number of the value.
fn without_oldest(subject: &Subject, surplus: u64) -> Mend {
    let time = |value: &str| -> u64 {
        let digits = value.trim_start_matches(|character: char| !character.is_ascii_digit());
        let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().unwrap_or(0)
    };
    let mut fields: Vec<(u64, &str, &str)> = subject
        .hash()
        .into_iter()
        .flat_map(|hash| &hash.0)
        .map(|(field, value)| (time(value), field.as_str(), value.as_str()))
        .collect();
    fields.sort_unstable();
    let mut batch = Batch::new();
    for (_, field, value) in fields.into_iter().take(usize::try_from(surplus).unwrap_or(usize::MAX)) {
        batch.field_equals(&subject.key, field, value);
        batch.delete_field(&subject.key, field);
    }
    Mend::write(batch, "delete the oldest fields")
}
