//! Marking entries of an inbox as read, and undoing that for everything that was marked at once.
//!
//! The hash `user:<id>:marked_read` has what was marked at once the last time, as long as that can be
//! undone. Marking one of these entries as read in another way takes it out, so that it stays read.

use super::{BADGE, EntryId, InboxCursor, entries_of};
use crate::values::{UNDO_MARKING_SECONDS, UserId};
use crate::{Decision, Refusal, Result, Site, User, fields, keys};
use std::collections::HashSet;
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Hash, Order, read};

/// The field of the record that says up to which entry everything was marked.
pub(crate) const UNTIL: &str = "until";

/// The entries to mark as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marking {
    /// Everything.
    All,
    /// Everything up to an entry, which is the newest one that was shown. If that is not in the
    /// inbox any more, nothing. It can be undone for ten minutes.
    Until(EntryId),
    /// One entry.
    One(EntryId),
}

/// Marks entries of an inbox as read; of many those that are not `hidden` from the user. An entry that is read already,
/// or is not in the inbox, changes nothing. Rounds: 2.
pub(crate) async fn mark_read(
    site: &Site,
    user: &User,
    marking: Marking,
    hidden: &HashSet<EntryId>,
) -> Result<()> {
    match marking {
        Marking::All => mark_many_read(site, user, None, hidden).await,
        Marking::Until(entry) => mark_many_read(site, user, Some(entry), hidden).await,
        Marking::One(entry) => {
            site.act(&keys::user_unread(user.id), || async {
                let unread = site.store.fetch(Unread::of(user.id)).await?;
                let batch = unread.mark(|id| id == entry);
                let decided = batch.map_or(Decision::Done(()), |batch| Decision::commit(batch, ()));
                decided.once(user.request.as_ref(), &())
            })
            .await
        }
    }
}

/// The unread part of an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewestUnread {
    /// The number of all unread entries.
    pub(crate) count: u64,
    /// The newest of them.
    pub(crate) entries: Box<[EntryId]>,
}

impl NewestUnread {
    /// That of a user, with at most so many entries.
    pub(crate) fn of(user: UserId, most: u64) -> impl Fetch<Value = Self> {
        let key = keys::user_unread(user);
        let newest = read::sorted_range(&key, Order::Descending, 0, most);
        (read::sorted_count(&key), newest).map(move |(count, newest)| {
            let entries = fields::members(newest, &key, |(member, _)| member.parse().ok()).into();
            Self { count, entries }
        })
    }
}

/// The unread entries of an inbox.
pub(super) struct Unread {
    user: UserId,
    /// The badge, as it is stored.
    badge: Option<String>,
    members: Vec<(String, f64)>,
    /// The record of the entries that were marked at once, which can be undone.
    record: Hash,
}

impl Unread {
    /// The unread entries of a user, with the badge.
    pub(super) fn of(user: UserId) -> impl Fetch<Value = Self> {
        let reads = (
            read::field(keys::user(user), BADGE),
            read::sorted_range(keys::user_unread(user), Order::Descending, 0, u64::MAX),
            read::hash(keys::user_marked_read(user)),
        );
        reads.map(move |(badge, members, record)| Self { user, badge, members, record })
    }

    /// The batch that marks some entries as read; `None` if nothing is to be done. It is rejected if one of
    /// them has been marked meanwhile.
    pub(super) fn mark(&self, is_read: impl Fn(EntryId) -> bool) -> Option<Batch> {
        let is_marked = |member: &str| member.parse().is_ok_and(&is_read);
        let unread = keys::user_unread(self.user);
        let (mut batch, mut count) = (Batch::new(), 0_u64);
        for (member, _) in self.members.iter().filter(|(member, _)| is_marked(member)) {
            batch.sorted_member_present(&unread, member);
            batch.sorted_remove(&unread, member);
            count += 1;
        }
        if count > 0 {
            // Another program may have reset the badge.
            batch.lower_field(keys::user(self.user), BADGE, count);
        }
        for (member, _) in self.record.0.iter().filter(|(member, _)| is_marked(member)) {
            batch.delete_field(keys::user_marked_read(self.user), member);
        }
        (!batch.writes().is_empty()).then_some(batch)
    }
}

/// Marks as read what is not newer than an entry, or everything, but for what is hidden from the user. Once nothing is
/// unread, nor is what another program has counted.
async fn mark_many_read(
    site: &Site,
    user: &User,
    until: Option<EntryId>,
    hidden: &HashSet<EntryId>,
) -> Result<()> {
    let (key, unread) = (keys::user(user.id), keys::user_unread(user.id));
    site.act(&unread, || async {
        let reads = (Unread::of(user.id), entries_of(user.id));
        let (Unread { badge, members, .. }, entries) = site.store.fetch(reads).await?;
        let place = |id| entries.iter().map(|entry| entry.place).find(|place| place.id == id);
        let place = until.map(place);
        let is_marked = |(member, time): &(String, f64)| {
            // A member that cannot be parsed was not shown, and would never go.
            let id = member.parse().ok();
            let is_hidden = id.is_some_and(|id| hidden.contains(&id));
            !is_hidden
                && place.is_none_or(|place| {
                    let is_reached =
                        |place| id.is_none_or(|id| InboxCursor { time: *time, id }.order(&place).is_le());
                    place.is_some_and(is_reached)
                })
        };
        let (marked, left): (Vec<_>, Vec<_>) = members.into_iter().partition(is_marked);
        let is_known = !matches!(place, Some(None));
        let count = left.len().to_string();
        if marked.is_empty() && (!is_known || badge.as_deref().unwrap_or("0") == count) {
            return Decision::Done(()).once(user.request.as_ref(), &());
        }
        let mut batch = Batch::new();
        // A new entry changes the badge, unless an unread one leaves a full inbox at the same
        // time. That is the oldest, so it is one of those that are marked.
        batch.field_unchanged(&key, BADGE, badge);
        batch.set_field(&key, BADGE, count);
        for (member, _) in &marked {
            batch.sorted_member_present(&unread, member);
            batch.sorted_remove(&unread, member);
        }
        write_record(&mut batch, user.id, until, &marked);
        Decision::commit(batch, ()).once(user.request.as_ref(), &())
    })
    .await
}

/// Adds to a batch what is needed to undo that it marks entries as read. Without `until`, and for entries
/// of earlier versions, it cannot be undone.
fn write_record(batch: &mut Batch, user: UserId, until: Option<EntryId>, marked: &[(String, f64)]) {
    let key = keys::user_marked_read(user);
    batch.delete(&key);
    let Some(until) = until else { return };
    let is_entry = |member: &str| member.parse::<EntryId>().is_ok_and(|id| id.to_string() == member);
    let entries = marked.iter().filter(|(member, _)| is_entry(member));
    let entries = entries.map(|(member, time)| (member.clone(), time.to_string()));
    batch.set_fields(&key, entries.chain([(UNTIL.to_owned(), until.to_string())]));
    batch.expire(&key, Duration::from_secs(UNDO_MARKING_SECONDS));
}

/// Undoes [`Marking::Until`] for what has not been read otherwise since, and is still in the inbox. Rounds: 3.
///
/// # Errors
/// [`Refusal::TooLateToUndoMarking`], or the store's.
pub async fn undo_marking(site: &Site, user: &User, until: EntryId) -> Result<()> {
    let (record, inbox, unread) =
        (keys::user_marked_read(user.id), keys::user_inbox(user.id), keys::user_unread(user.id));
    site.act(&record, || async {
        let Hash(mut marked) = site.store.fetch(read::hash(&record)).await?;
        marked.sort_unstable();
        if !marked.iter().any(|(field, value)| field == UNTIL && *value == until.to_string()) {
            return Err(Refusal::TooLateToUndoMarking.into());
        }
        marked.retain(|(field, _)| field != UNTIL);
        let members: Vec<String> = marked.iter().map(|(member, _)| member.clone()).collect();
        let scores = read::scores(&inbox, members.clone());
        let (times, unread_times) = site.store.fetch((scores, read::scores(&unread, members))).await?;
        let mut batch = Batch::new();
        batch.field_equals(&record, UNTIL, until.to_string());
        let mut count = 0;
        for ((member, value), (time, unread_time)) in marked.iter().zip(times.into_iter().zip(unread_times)) {
            let (Some(time), None) = (time, unread_time) else { continue };
            batch.field_equals(&record, member, value);
            batch.sorted_member_present(&inbox, member);
            batch.sorted_member_absent(&unread, member);
            batch.sorted_add(&unread, member, time);
            count += 1;
        }
        if count > 0 {
            batch.increment_field(keys::user(user.id), BADGE, count);
        }
        batch.delete(&record);
        Decision::commit(batch, ()).once(user.request.as_ref(), &())
    })
    .await
}
