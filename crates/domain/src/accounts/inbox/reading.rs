//! Listing the entries of an inbox, and marking them as read.

use super::{BADGE, Cursor, EntryId, Removal};
use crate::accounts::users::User;
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::ids::UserId;
use crate::values::limits::{INBOX_SIZE, MENTIONS_SIZE};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Answers, Batch, Handle, Order, Query};

/// An entry of an inbox as it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    /// What it is about, and when.
    pub(crate) place: Cursor,
    /// Whether it is read.
    pub(crate) read: bool,
}

/// A pending read of the entries of an inbox. Earlier versions stored only what was unread, and
/// the tweets that mention a user; these are entries as well.
pub(crate) struct EntriesRead {
    user: UserId,
    inbox: Handle<Vec<(String, f64)>>,
    unread: Handle<Vec<(String, f64)>>,
    tweets: Handle<Vec<(String, f64)>>,
}

impl EntriesRead {
    /// Asks for the entries of a user.
    pub(crate) fn ask(query: &mut Query, user: UserId) -> Self {
        let mut newest = |key, count| query.sorted_range(key, Order::Descending, 0, count);
        Self {
            user,
            inbox: newest(keys::user_inbox(user), INBOX_SIZE),
            // Those of an earlier version, and those that are also in the inbox.
            unread: newest(keys::user_unread(user), 2 * INBOX_SIZE),
            tweets: newest(keys::user_mentions(user), MENTIONS_SIZE),
        }
    }

    /// The entries, newest first; the newest [`INBOX_SIZE`].
    pub(crate) fn take(self, answers: &mut Answers) -> Vec<Entry> {
        let Self { user, inbox, unread, tweets } = self;
        let mut places: HashMap<EntryId, f64> = HashMap::new();
        let tweets = fields::members(answers.take(tweets), &keys::user_mentions(user), |(id, time)| {
            Some((EntryId::Tweet(id.parse().ok()?), time))
        });
        places.extend(tweets);
        let entry = |(member, time): (String, f64)| Some((member.parse::<EntryId>().ok()?, time));
        let unread = fields::members(answers.take(unread), &keys::user_unread(user), entry);
        let is_unread: HashSet<EntryId> = unread.iter().map(|(id, _)| *id).collect();
        places.extend(unread);
        places.extend(fields::members(answers.take(inbox), &keys::user_inbox(user), entry));
        let mut entries: Vec<Entry> = places
            .into_iter()
            .map(|(id, time)| Entry { place: Cursor { time, id }, read: !is_unread.contains(&id) })
            .collect();
        entries.sort_unstable_by(|one, other| newest_first(&one.place, &other.place));
        entries.truncate(usize::try_from(INBOX_SIZE).unwrap_or(usize::MAX));
        entries
    }
}

fn newest_first(one: &Cursor, other: &Cursor) -> Ordering {
    other.order(one)
}

/// What is marked as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marking {
    /// Everything.
    All,
    /// Everything up to an entry, which is the newest one that was shown. If that is not in the
    /// inbox any more, nothing.
    Until(EntryId),
    /// One entry.
    One(EntryId),
}

/// Marks entries of an inbox as read. What is read already, or is not in the inbox, changes
/// nothing. Rounds: 2.
///
/// # Errors
/// When the store fails.
pub async fn mark_read(site: &Site, user: &User, marking: Marking) -> Result<(), Error> {
    match marking {
        Marking::All => mark_many_read(site, user, None).await,
        Marking::Until(entry) => mark_many_read(site, user, Some(entry)).await,
        Marking::One(entry) => {
            site.act(&keys::user_unread(user.id), || async {
                let removal = Removal::read(site, [(user.id, entry)]).await?;
                if removal.is_read() {
                    return Decision::Done(()).once(user.request.as_ref(), &());
                }
                let mut batch = Batch::new();
                removal.write_read(&mut batch);
                Decision::commit(batch, ()).once(user.request.as_ref(), &())
            })
            .await
        }
    }
}

/// Marks as read what is not newer than an entry, or everything. Once nothing is unread, nor is
/// what another program has counted.
async fn mark_many_read(site: &Site, user: &User, until: Option<EntryId>) -> Result<(), Error> {
    let (key, unread) = (keys::user(user.id), keys::user_unread(user.id));
    site.act(&unread, || async {
        let mut query = Query::new();
        let badge = query.hash_fields(&key, [BADGE]);
        let members = query.sorted_range(&unread, Order::Descending, 0, u64::MAX);
        let entries = EntriesRead::ask(&mut query, user.id);
        let mut answers = site.store.query(query).await?;
        let badge = fields::only(answers.take(badge));
        let members = answers.take(members);
        let entries = entries.take(&mut answers);
        let place = |id| entries.iter().map(|entry| entry.place).find(|place| place.id == id);
        let until = until.map(place);
        let is_marked = |(member, time): &(String, f64)| match until {
            None => true,
            Some(None) => false,
            // What cannot be read was not shown, and would never go.
            Some(Some(until)) => {
                member.parse().map_or(true, |id| Cursor { time: *time, id }.order(&until).is_le())
            }
        };
        let (marked, left): (Vec<_>, Vec<_>) = members.into_iter().partition(is_marked);
        let is_known = !matches!(until, Some(None));
        let count = left.len().to_string();
        if marked.is_empty() && (!is_known || badge.as_deref().unwrap_or("0") == count) {
            return Decision::Done(()).once(user.request.as_ref(), &());
        }
        let mut batch = Batch::new();
        // A new entry changes the badge, unless an unread one leaves a full inbox at the same
        // time. That is the oldest, so it is one of those that are marked.
        batch.field_unchanged(&key, BADGE, badge);
        batch.set_field(&key, BADGE, count);
        for (member, _) in marked {
            batch.sorted_member_present(&unread, &member);
            batch.sorted_remove(&unread, member);
        }
        Decision::commit(batch, ()).once(user.request.as_ref(), &())
    })
    .await
}
