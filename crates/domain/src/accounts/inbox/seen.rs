//! The subjects of inbox entries that people have seen on pages: a person who opens the page of a comment,
//! a post, a follower or a message has read the entries about it.
//!
//! A page must not wait for a write, so a server keeps in memory what was seen, and [`run`] marks the entries
//! as read right after. Entries that are not marked when the server is killed stay unread.

use super::EntryId;
use super::marking::Unread;
use crate::site::apply;
use crate::values::{
    CommentAddress, MAX_PENDING_SIGHTS, MessageThreadId, READERS_PER_ROUND, TweetId, UserId,
};
use crate::{Applied, Result, Site};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tidings_keyspace::Store;
use tokio::sync::Notify;

/// How long it takes until entries are marked again after that has failed.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Something on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnPage {
    /// A comment.
    Comment(CommentAddress),
    /// A tweet.
    Tweet(TweetId),
    /// A person.
    Person(UserId),
    /// The list of the reader's own followers.
    Followers,
    /// A message of a moderator, by its number.
    Message(u64),
    /// A thread of messages with the moderators.
    MessageThread(MessageThreadId),
}

/// Whether somebody who has seen this has read an entry.
fn is_read(seen: &HashSet<OnPage>, entry: EntryId) -> bool {
    match entry {
        EntryId::Reply(address) | EntryId::Mention(address) => seen.contains(&OnPage::Comment(address)),
        EntryId::Tweet(id) => seen.contains(&OnPage::Tweet(id)),
        EntryId::Follow(id) => seen.contains(&OnPage::Person(id)) || seen.contains(&OnPage::Followers),
        EntryId::Moderation(number) => seen.contains(&OnPage::Message(number)),
        EntryId::Answer(address) => seen.contains(&OnPage::MessageThread(address.thread)),
    }
}

/// The things that readers have seen and whose entries are not marked yet: at most [`MAX_PENDING_SIGHTS`].
/// Beyond that, entries stay unread.
#[derive(Default)]
pub(crate) struct PendingSights {
    readers: Mutex<BTreeMap<UserId, HashSet<OnPage>>>,
    noted: Notify,
}

crate::process_state::process_state!(PendingSights);

impl PendingSights {
    /// Notes what somebody has seen.
    pub(crate) fn note(&self, reader: UserId, seen: impl IntoIterator<Item = OnPage>) {
        let mut readers = self.readers.lock();
        let room = MAX_PENDING_SIGHTS.saturating_sub(readers.values().map(HashSet::len).sum());
        let mut seen = seen.into_iter().take(room).peekable();
        if seen.peek().is_some() {
            readers.entry(reader).or_default().extend(seen);
            self.noted.notify_one();
        }
    }

    /// Some readers with what they have seen.
    fn take(&self) -> Vec<(UserId, HashSet<OnPage>)> {
        let mut readers = self.readers.lock();
        std::iter::from_fn(|| readers.pop_first()).take(READERS_PER_ROUND).collect()
    }
}

/// Marks what was seen as read until the future is dropped. Rounds: 1 for some readers, and 1 for each of
/// them who has something unread of it; they are counted separately.
pub(crate) async fn run(site: &Site) {
    let pending = site.of::<PendingSights>();
    loop {
        pending.noted.notified().await;
        if !mark_all(site).await {
            tokio::time::sleep(RETRY_AFTER).await;
            pending.noted.notify_one();
        }
    }
}

/// Marks as read everything that was seen. Returns false if that failed, and is to be done again.
pub(crate) async fn mark_all(site: &Site) -> bool {
    let (pending, store) = (site.of::<PendingSights>(), site.store.counted_apart());
    loop {
        let readers = pending.take();
        if readers.is_empty() {
            return true;
        }
        let failed = mark_group(&store, &readers).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot mark entries of inboxes as read");
            readers.iter().map(|(reader, _)| *reader).collect()
        });
        if !failed.is_empty() {
            let again = readers.into_iter().filter(|(reader, _)| failed.contains(reader));
            again.for_each(|(reader, seen)| pending.note(reader, seen));
            return false;
        }
    }
}

/// Marks entries of some readers. Returns those whose inboxes changed at the same time.
async fn mark_group(store: &Store, readers: &[(UserId, HashSet<OnPage>)]) -> Result<Vec<UserId>> {
    let unread: Vec<_> = readers.iter().map(|(reader, _)| Unread::of(*reader)).collect();
    let mut failed = Vec::new();
    for ((reader, seen), unread) in readers.iter().zip(store.fetch(unread).await?) {
        if let Some(batch) = unread.mark(|entry| is_read(seen, entry))
            && let Applied::No(_) = apply(store, batch).await?
        {
            failed.push(*reader);
        }
    }
    Ok(failed)
}
