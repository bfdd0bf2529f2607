//! Threads of messages between a member and the moderators, as they are stored. The actions on them are in
//! `moderation::messages`.
//!
//! Keys: `messages:all`, `messages:<id>`, `messages:<id>:texts` and `user:<id>:message_threads`.

use crate::fields::{self, StoredFields};
use crate::values::{
    MESSAGE_THREADS, MessageAddress, MessageThreadId, ModerationId, Moment, StoredMessage, Thing, Timestamp,
    UserId,
};
use crate::{Result, Site, keys, review};
use std::ops::RangeInclusive;
use tidings_keyspace::{Batch, Fetch, Hash, Order, read};

/// The field with the number of the last message.
const COUNT: &str = "count";
/// The field that says since when the member waits for an answer.
pub(crate) const WAITING: &str = "waiting";
/// The field with the line of the log that has closed it without an answer.
pub(crate) const CLOSED_BY: &str = "closed_by";
/// The field of a line of the log with the thread about it.
pub(crate) const THREAD: &str = "messages";

/// A thread of messages between a member and the moderators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageThread {
    /// Its number.
    pub id: MessageThreadId,
    /// The member.
    pub user_id: UserId,
    /// The decision that it is about, by its line in the log.
    pub about: Option<ModerationId>,
    /// When it began.
    pub time: Timestamp,
    /// When the last message was written.
    pub changed: Timestamp,
    /// How many messages it has.
    pub count: u64,
    /// Since when the member waits for an answer.
    pub waiting: Option<Timestamp>,
    /// The line of the log that has closed it without an answer.
    pub closed_by: Option<ModerationId>,
}

impl MessageThread {
    /// A thread that is about to begin.
    pub(crate) const fn new(
        id: MessageThreadId,
        (user_id, about): (UserId, Option<ModerationId>),
        time: Timestamp,
    ) -> Self {
        Self { id, user_id, about, time, changed: time, count: 0, waiting: None, closed_by: None }
    }

    /// Reads a thread; `None` when there is none.
    pub fn from_hash(id: MessageThreadId, hash: &Hash) -> Option<Self> {
        if hash.is_empty() {
            return None;
        }
        let fields = StoredFields::new(hash, || keys::message_thread(id));
        Some(Self {
            id,
            user_id: fields.read("user_id")?,
            about: fields.read("about"),
            time: Timestamp(fields.read("time")?),
            changed: Timestamp(fields.read("changed")?),
            count: fields.count(COUNT),
            waiting: fields.read(WAITING).map(Timestamp),
            closed_by: fields.read(CLOSED_BY),
        })
    }

    /// The thread with a number.
    pub(crate) fn by_id(id: MessageThreadId) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::message_thread(id)).map(move |hash| Self::from_hash(id, &hash))
    }

    /// Where the next message will be.
    pub(crate) const fn next(&self) -> MessageAddress {
        MessageAddress { thread: self.id, message: self.count + 1 }
    }

    /// Adds a message to a batch, which fails if another one was written meanwhile. A message of the member waits
    /// for an answer; one of a moderator is the answer.
    pub(crate) fn write(&self, batch: &mut Batch, now: Moment, message: &StoredMessage) {
        let (key, number) = (keys::message_thread(self.id), self.next().message);
        if self.count == 0 {
            batch.key_absent(&key);
            let fields = [("user_id", self.user_id.to_string()), ("time", self.time.to_string())];
            batch.set_fields(&key, fields);
            if let Some(about) = self.about {
                batch.field_absent(keys::moderation(about), THREAD);
                batch.set_field(keys::moderation(about), THREAD, self.id.to_string());
                batch.set_field(&key, "about", about.to_string());
            }
        } else {
            batch.field_equals(&key, COUNT, self.count.to_string());
        }
        batch.set_fields(&key, [(COUNT, number.to_string()), ("changed", message.time.to_string())]);
        batch.set_field(keys::message_texts(self.id), number.to_string(), message.to_string());
        for list in [keys::MESSAGES_ALL.to_owned(), keys::user_message_threads(self.user_id)] {
            batch.sorted_add(list, self.id.to_string(), now.as_score());
        }
        batch.delete_field(&key, CLOSED_BY);
        let thing = Thing::Message(self.id);
        if message.line.is_none() {
            batch.set_field(&key, WAITING, message.time.to_string());
            review::enqueue(batch, &thing, message.time);
        } else {
            batch.delete_field(&key, WAITING);
            review::settle(batch, &thing);
        }
    }
}

/// Some messages of a thread, without those that cannot be read.
pub(crate) fn texts(
    id: MessageThreadId,
    numbers: RangeInclusive<u64>,
) -> impl Fetch<Value = Vec<(u64, StoredMessage)>> {
    let fields: Vec<u64> = numbers.collect();
    let stored = read::hash_fields(keys::message_texts(id), fields.iter().map(u64::to_string));
    stored.map(move |texts| {
        let message = |(number, text): (u64, Option<String>)| {
            let message = fields::read(text.as_deref(), || keys::message_texts(id), &number.to_string())?;
            Some((number, message))
        };
        fields.into_iter().zip(texts).filter_map(message).collect()
    })
}

/// One message.
pub(crate) fn message_at(address: MessageAddress) -> impl Fetch<Value = Option<StoredMessage>> {
    let MessageAddress { thread, message } = address;
    texts(thread, message..=message).map(|mut texts| texts.pop().map(|(_, message)| message))
}

/// Adds to the batch that removes an account from everything that its messages are deleted. Rounds: 2.
pub(crate) async fn forget_all(site: &Site, batch: &mut Batch, user: UserId) -> Result<()> {
    let list = keys::user_message_threads(user);
    let ids = site.store.fetch(read::sorted_range(&list, Order::Ascending, 0, 2 * MESSAGE_THREADS)).await?;
    let ids: Vec<MessageThreadId> = fields::members(ids, &list, |(id, _)| id.parse().ok());
    let threads: Vec<_> = ids.iter().map(|id| MessageThread::by_id(*id)).collect();
    let threads = site.store.fetch(threads).await?;
    for id in ids {
        batch.delete(keys::message_thread(id));
        batch.delete(keys::message_texts(id));
        batch.sorted_remove(keys::MESSAGES_ALL, id.to_string());
        review::settle(batch, &Thing::Message(id));
    }
    for about in threads.into_iter().flatten().filter_map(|thread| thread.about) {
        batch.delete_field(keys::moderation(about), THREAD);
    }
    batch.delete(list);
    Ok(())
}
