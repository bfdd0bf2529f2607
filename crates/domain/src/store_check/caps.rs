//! Rules of lists that are capped: none is longer than it may be.

use crate::accounts::inbox::forget_messages;
use crate::error::Error;
use crate::keys;
use crate::keys::families::{self, Cap, Full};
use crate::site::Site;
use crate::store_rules::claims::{Claims, Fault, Found, Mend, count_in};
use crate::store_rules::source::Source;
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::store_rules::{CHECKS_AT_ONCE, Rule};
use crate::values::clock::Moment;
use crate::values::ids::UserId;
use crate::values::limits::{INBOX_OVERFLOW, INBOX_SIZE};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use std::sync::LazyLock;
use tidings_keyspace::{Batch, Order, Read, read};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let capped = families::ALL.iter().copied().filter(|family| family.cap.is_some());
    let capped = capped.map(|family| Rule::claims(family, SENTENCE, capped_list));
    capped.chain([Rule::rounds(&families::USER_INBOX, SENTENCE, inboxes)]).collect()
});

const SENTENCE: &str = "a list is not longer than it may be";

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
            claims.fault(too_long(key, count, most, mend));
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
        (count > most).then(|| too_long(key.clone(), count, most, mend))
    });
}

fn too_long(key: String, count: u64, most: u64, mend: Mend) -> Fault {
    Fault { key, found: format!("{count} members"), expected: format!("at most {most}"), mend }
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

/// People who write to one inbox at the same time make it a little longer, until the next entry.
fn inboxes<'a>(
    site: &'a Site,
    _: Moment,
    subjects: &'a [&'a Subject],
) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>> {
    let found = stream::iter(subjects).map(|subject| inbox(site, subject));
    Box::pin(found.buffered(CHECKS_AT_ONCE).try_collect())
}

async fn inbox(site: &Site, subject: &Subject) -> Result<Option<Found>, Error> {
    let (SubjectItem::Whole, Some(user)) = (&subject.item, subject.id::<UserId>()) else { return Ok(None) };
    let (inbox, unread) = (&subject.key, keys::user_unread(user));
    let (count, oldest) = site
        .store
        .fetch((
            read::sorted_count(inbox),
            read::sorted_range(inbox, Order::Descending, INBOX_SIZE, u64::MAX),
        ))
        .await?;
    if count <= INBOX_SIZE + INBOX_OVERFLOW {
        return Ok(None);
    }
    let members: Vec<String> = oldest.into_iter().map(|(member, _)| member).collect();
    let scores = site.store.fetch(read::scores(&unread, members.clone())).await?;
    let mut batch = Batch::new();
    for (member, score) in members.iter().zip(scores) {
        batch.sorted_remove(inbox, member);
        if score.is_some() {
            batch.sorted_member_present(&unread, member);
            batch.sorted_remove(&unread, member);
            batch.increment_field(keys::user(user), "replies", -1);
        } else {
            batch.sorted_member_absent(&unread, member);
        }
    }
    forget_messages(&mut batch, user, &members);
    let mend = Mend::write(batch, "remove the oldest entries");
    let fault = too_long(inbox.clone(), count, INBOX_SIZE, mend);
    Ok(Some(Found::of(
        fault,
        vec![Source::all(inbox), Source::all(unread), Source::existence(keys::user(user))],
    )))
}
