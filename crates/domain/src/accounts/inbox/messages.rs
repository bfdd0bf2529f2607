//! Messages of moderators: the only entries with a text of their own.

use super::{Delivery, EntryId};
use crate::values::{Moment, UserId};
use crate::{Decision, Refusal, Result, Site, fields, keys};
use tidings_keyspace::{Batch, Fetch, read};
use tidings_language::t;

/// The field with the number of the last message.
const LAST: &str = "last";

/// Adds a message of a moderator to the inbox of a user. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's.
pub async fn send_message(site: &Site, now: Moment, user: UserId, text: &str) -> Result<()> {
    site.act(&keys::user_messages(user), || async {
        let message = Message::read(site, user).await?;
        Refusal::NoSuchUser.when(message.delivery.is_empty())?;
        let mut batch = Batch::new();
        message.write(&mut batch, now, text);
        Ok(Decision::commit(batch, ()))
    })
    .await
}

/// A new message to a user, with what was read for it.
pub(crate) struct Message {
    user: UserId,
    last: Option<String>,
    number: u64,
    delivery: Delivery,
}

impl Message {
    /// Reads what is needed to add a message. Rounds: 2.
    pub(crate) async fn read(site: &Site, user: UserId) -> Result<Self> {
        let key = keys::user_messages(user);
        let last = site.store.fetch(read::field(&key, LAST)).await?;
        let number = fields::count(last.as_deref(), || key.clone(), LAST) + 1;
        let delivery = Delivery::read(site, None, &[(user, EntryId::Moderation(number))]).await?;
        Ok(Self { user, last, number, delivery })
    }

    /// Adds the message to a batch, unless the account does not exist any more.
    pub(crate) fn write(&self, batch: &mut Batch, now: Moment, text: &str) {
        if self.delivery.is_empty() {
            return;
        }
        let (key, number) = (keys::user_messages(self.user), self.number.to_string());
        batch.field_unchanged(&key, LAST, self.last.as_deref());
        batch.set_fields(&key, [(LAST, number.as_str()), (number.as_str(), text)]);
        self.delivery.write(batch, now.as_score());
    }
}

/// The text of a message to a user.
pub(crate) fn message(user: UserId, number: u64) -> impl Fetch<Value = Option<String>> {
    read::field(keys::user_messages(user), number.to_string())
}

/// Adds to a batch that the texts of entries that leave an inbox are deleted.
pub(crate) fn forget_messages(batch: &mut Batch, user: UserId, members: &[String]) {
    for member in members {
        if let Ok(EntryId::Moderation(number)) = member.parse() {
            batch.delete_field(keys::user_messages(user), number.to_string());
        }
    }
}

/// Adds to a batch that the messages to a user that quote something say no more than that. Rounds: 1.
pub(crate) async fn erase_messages(
    site: &Site,
    batch: &mut Batch,
    user: UserId,
    quotes: impl Fn(&str) -> bool,
) -> Result<()> {
    let key = keys::user_messages(user);
    let erased = t!("This was about something that has been erased since.");
    let messages = site.store.fetch(read::hash(&key)).await?;
    for (number, text) in messages.0 {
        if number != LAST && text != erased && quotes(&text) {
            batch.field_equals(&key, &number, text);
            batch.set_field(&key, number, erased);
        }
    }
    Ok(())
}
