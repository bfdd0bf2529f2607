//! Rules of lists that are capped: none is longer than it may be.

use super::claims::{Claims, Fault, Found, Mend, count_in};
use super::subject::{Item, Subject};
use super::wrong::Source;
use super::{CHECKS_AT_ONCE, Check, Rule};
use crate::accounts::inbox::forget_messages;
use crate::error::Error;
use crate::keys::{self, families};
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::UserId;
use crate::values::limits::{
    self, ADDRESSES_OF_A_DAY, FAILED_ADDRESSES, GLOBAL_TIMELINE_SIZE, INBOX_OVERFLOW, INBOX_SIZE,
    KNOWN_NETWORKS, LISTED_FLAGS, MAX_BLOCKS, MAX_FLAGS, MAX_FOLLOWED_TOPICS, MAX_FOLLOWINGS, MAX_HIDDEN,
    MAX_HOOK_EVENTS, MAX_HOOKS, MAX_MUTED_TOPICS, MAX_MUTES, MAX_NOTES, MAX_OPEN_INVITATIONS,
    MAX_ORIGIN_BANS, MAX_RECENT_VOTES, MAX_RULES, MAX_SAVED, MAX_SESSIONS, MAX_SUBSCRIPTIONS,
    MAX_TOPIC_SENTENCES, MAX_VISITED_THREADS, MENTIONS_SIZE, MESSAGE_THREADS, MESSAGES_IN_THREAD,
    PEOPLE_OF_A_NETWORK_AND_DAY, STORED_OUTCOMES,
};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use tidings_keyspace::{Batch, Order, Read, read};

/// What a list that is full does with one more.
#[derive(Clone, Copy)]
enum Full {
    /// The oldest member leaves it.
    OldestLeaves,
    /// It is refused.
    Refuses,
}

macro_rules! caps {
    ($($family:ident = $most:expr, $full:ident;)*) => {
        /// The capped lists, with the most members. Inboxes and sessions are below.
        const CAPS: &[(&families::Family, u64, Full)] =
            &[$((&families::$family, $most, Full::$full)),*];

        pub(super) static RULES: &[Rule] = &[
            $(rule(&families::$family, Check::Claims(capped)),)*
            rule(&families::USER_SESSIONS, Check::Claims(sessions)),
            rule(&families::USER_INBOX, Check::Rounds(inboxes)),
        ];
    };
}

caps! {
    GLOBAL_TIMELINE = GLOBAL_TIMELINE_SIZE, OldestLeaves;
    LIMIT_FAILED_LOGIN_ADDRESSES = FAILED_ADDRESSES as u64, OldestLeaves;
    NETWORK = PEOPLE_OF_A_NETWORK_AND_DAY, OldestLeaves;
    USER_ADDRESSES = ADDRESSES_OF_A_DAY, OldestLeaves;
    USER_FLAGS = LISTED_FLAGS, OldestLeaves;
    USER_FLAG_OUTCOMES = STORED_OUTCOMES, OldestLeaves;
    USER_HIDDEN = MAX_HIDDEN, OldestLeaves;
    // All of a full inbox, and the field that names the newest.
    USER_MARKED_READ = INBOX_SIZE + INBOX_OVERFLOW + 1, OldestLeaves;
    USER_MENTIONS = MENTIONS_SIZE, OldestLeaves;
    USER_NETWORKS = KNOWN_NETWORKS, OldestLeaves;
    USER_RECENT_VOTES = MAX_RECENT_VOTES, OldestLeaves;
    USER_SUBSCRIPTIONS = MAX_SUBSCRIPTIONS, OldestLeaves;
    USER_UNSUBSCRIBED = MAX_SUBSCRIPTIONS, OldestLeaves;
    USER_VISITS = MAX_VISITED_THREADS as u64, OldestLeaves;
    HOOK_EVENTS = MAX_HOOK_EVENTS, OldestLeaves;
    HOOK_RESULTS = limits::HOOK_RESULTS, OldestLeaves;
    FLAGS = MAX_FLAGS as u64, Refuses;
    HOOKS = MAX_HOOKS as u64, Refuses;
    INVITES_OPEN = MAX_OPEN_INVITATIONS, Refuses;
    ORIGIN_BANS = MAX_ORIGIN_BANS as u64, Refuses;
    RULES = MAX_RULES as u64, Refuses;
    TOPIC_SENTENCES = MAX_TOPIC_SENTENCES as u64, Refuses;
    MESSAGES_TEXTS = MESSAGES_IN_THREAD, Refuses;
    USER_BLOCKS = MAX_BLOCKS, Refuses;
    USER_FOLLOWINGS = MAX_FOLLOWINGS, Refuses;
    USER_MESSAGE_THREADS = MESSAGE_THREADS, Refuses;
    USER_MUTES = MAX_MUTES as u64, Refuses;
    USER_NOTES = MAX_NOTES as u64, Refuses;
    USER_SAVED = MAX_SAVED, Refuses;
    USER_TOPICS_FOLLOWED = MAX_FOLLOWED_TOPICS, Refuses;
    USER_TOPICS_MUTED = MAX_MUTED_TOPICS, Refuses;
}

const fn rule(of: &'static families::Family, check: Check) -> Rule {
    Rule { of, sentence: "a list is not longer than it may be", check }
}

/// What people have chosen, or moderators have written: only they know what can go.
const PERSON: Mend =
    Mend::Person("ask whose list it is to shorten it, or remove members by hand until it is short enough");

fn capped(subject: &Subject, claims: &mut Claims) {
    let cap = CAPS.iter().find(|(family, ..)| *family == subject.family);
    let Some((_, most, full)) = cap.copied() else { return };
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
    if subject.item != Item::Whole || subject.family.holds != families::Holds::SortedSet {
        return;
    }
    claims.add(vec![Read::SortedCount(key.clone())], move |answers| {
        let count = u64::try_from(count_in(answers, 0)).unwrap_or(0);
        let mend = match full {
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

/// A login beyond the most ends the oldest sessions right after it.
fn sessions(subject: &Subject, claims: &mut Claims) {
    let (Item::Whole, Some(user)) = (&subject.item, subject.id::<UserId>()) else { return };
    let key = subject.key.clone();
    claims.add(vec![Read::SortedCount(key.clone())], move |answers| {
        let (count, most) = (u64::try_from(count_in(answers, 0)).unwrap_or(0), MAX_SESSIONS as u64);
        (count > most).then(|| too_long(key.clone(), count, most, Mend::Sessions(user)))
    });
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
    let (Item::Whole, Some(user)) = (&subject.item, subject.id::<UserId>()) else { return Ok(None) };
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
