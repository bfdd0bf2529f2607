//! Listing the entries of an inbox.

use super::{EntryId, InboxCursor};
use crate::values::{INBOX_SIZE, MENTIONS_SIZE, UserId};
use crate::{fields, keys};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Fetch, Order, read};

/// An entry of an inbox as it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    /// Its subject and its time.
    pub(crate) place: InboxCursor,
    /// Whether it is read.
    pub(crate) read: bool,
}

/// The entries of an inbox, newest first; the newest [`INBOX_SIZE`]. Earlier versions stored only what
/// was unread, and the tweets that mention a user; these are entries as well.
pub(crate) fn entries_of(user: UserId) -> impl Fetch<Value = Vec<Entry>> {
    let newest = |key, count| read::sorted_range(key, Order::Descending, 0, count);
    let reads = (
        newest(keys::user_inbox(user), INBOX_SIZE),
        // Those of an earlier version, and those that are also in the inbox.
        newest(keys::user_unread(user), 2 * INBOX_SIZE),
        newest(keys::user_mentions(user), MENTIONS_SIZE),
    );
    reads.map(move |(inbox, unread, tweets)| {
        let mut places: HashMap<EntryId, f64> = HashMap::new();
        places.extend(fields::members(tweets, &keys::user_mentions(user), |(id, time)| {
            Some((EntryId::Tweet(id.parse().ok()?), time))
        }));
        let entry = |(member, time): (String, f64)| Some((member.parse::<EntryId>().ok()?, time));
        let unread = fields::members(unread, &keys::user_unread(user), entry);
        let is_unread: HashSet<EntryId> = unread.iter().map(|(id, _)| *id).collect();
        places.extend(unread);
        places.extend(fields::members(inbox, &keys::user_inbox(user), entry));
        let mut entries: Vec<Entry> = places
            .into_iter()
            .map(|(id, time)| Entry { place: InboxCursor { time, id }, read: !is_unread.contains(&id) })
            .collect();
        entries.sort_unstable_by(|one, other| other.place.order(&one.place));
        entries.truncate(usize::try_from(INBOX_SIZE).unwrap_or(usize::MAX));
        entries
    })
}
