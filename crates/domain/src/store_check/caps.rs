//! Rules of lists that are capped: none is longer than it may be.

use crate::keys;
use crate::keys::families::{self, Cap, Family, Full, Holds};
use crate::store_rules::{Claims, Fault, Mend, Rule, Source, Subject, SubjectItem, claims};
use crate::values::INBOX_OVERFLOW;
use std::sync::LazyLock;
use tidings_keyspace::{Batch, read};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let sentence = "a list is not longer than it may be";
    let capped = families::ALL.iter().copied().filter(|family| family.cap.is_some());
    capped.map(|of| Rule { of, sentence, check: claims(capped_list) }).collect()
});

/// For lists that people have chosen, or that moderators have written: only they know what can go.
const PERSON: Mend =
    Mend::Person("ask whose list it is to shorten it, or remove members by hand until it is short enough");

/// Members beyond the most that are no fault: people who write to one inbox at the same time make it a little longer,
/// until the next entry.
fn tolerated(family: &Family) -> u64 {
    if *family == families::USER_INBOX { INBOX_OVERFLOW } else { 0 }
}

fn capped_list(subject: &Subject, claims: &mut Claims) {
    let Some(Cap { most, full }) = subject.family.cap else { return };
    let (of, tolerated) = (subject.of.clone(), tolerated(subject.family));
    let fault = move |count: u64, mend| {
        Fault::new(&of.key, format_args!("{count} members"), format_args!("at most {most}"), mend)
    };
    if let Some(hash) = subject.hash() {
        // The field of flags that is none.
        let count = hash.0.iter().filter(|(field, _)| field != "waiting").count() as u64;
        if count > most {
            let mend = match full {
                Full::OldestLeaves => without_oldest(subject, count - most),
                Full::Refuses => PERSON,
            };
            claims.fault(fault(count, mend));
        }
    } else if subject.item == SubjectItem::Whole && subject.family.holds == Holds::SortedSet {
        let mend = match (full, subject.id()) {
            (Full::Refuses, _) => PERSON,
            // A login beyond the most ends the oldest sessions right after it.
            (_, Some(user)) if *subject.family == families::USER_SESSIONS => Mend::Sessions(user),
            (_, Some(user)) if *subject.family == families::USER_INBOX => Mend::Inbox(user),
            _ => {
                let mut batch = Batch::new();
                batch.sorted_trim(&subject.key, most);
                Mend::write(batch, "remove the oldest members")
            }
        };
        claims.add(read::sorted_count(&subject.key), move |count| {
            (count > most + tolerated).then(|| fault(count, mend))
        });
        if let Some(owner) = subject.id().filter(|_| subject.family.is_owned_by_user()) {
            claims.besides(Source::existence(keys::user(owner)));
        }
    }
}

/// Deletes the fields of a hash with the earliest times. The time is the first number of the value.
fn without_oldest(subject: &Subject, surplus: u64) -> Mend {
    let time = |value: &str| -> u64 {
        let digits = value.trim_start_matches(|character: char| !character.is_ascii_digit());
        let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().unwrap_or(0)
    };
    let mut fields: Vec<_> = subject.fields().map(|(field, value)| (time(value), field, value)).collect();
    fields.sort_unstable();
    let mut batch = Batch::new();
    for (_, field, value) in fields.into_iter().take(usize::try_from(surplus).unwrap_or(usize::MAX)) {
        batch.field_equals(&subject.key, field, value);
        batch.delete_field(&subject.key, field);
    }
    Mend::write(batch, "delete the oldest fields")
}
