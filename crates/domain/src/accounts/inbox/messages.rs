//! Messages of moderators: the only entries with a text of their own.

use super::{Delivery, EntryId};
use crate::action::Decision;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::UserId;
use tidings_keyspace::{Answers, Batch, Handle, Query};

/// The field with the number of the last message.
const LAST: &str = "last";

/// Adds a message of a moderator to the inbox of a user. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's.
pub async fn send_message(site: &Site, now: Moment, user: UserId, text: &str) -> Result<(), Error> {
    let key = keys::user_messages(user);
    site.act(&key, || async {
        let mut query = Query::new();
        let last = query.hash_fields(&key, [LAST]);
        let last = fields::only(site.store.query(query).await?.take(last));
        let number = fields::count(last.as_deref(), || key.clone(), LAST) + 1;
        let delivery = Delivery::read(site, None, &[(user, EntryId::Moderation(number))]).await?;
        if delivery.is_empty() {
            return Err(Refusal::NoSuchUser.into());
        }
        let mut batch = Batch::new();
        batch.field_unchanged(&key, LAST, last.as_deref());
        batch.set_fields(&key, [(LAST, number.to_string().as_str()), (number.to_string().as_str(), text)]);
        delivery.write(&mut batch, now.as_score());
        Ok(Decision::commit(batch, ()))
    })
    .await
}

/// A pending read of the text of a message.
pub(crate) struct MessageRead(Handle<Vec<Option<String>>>);

impl MessageRead {
    /// Asks for a message to a user.
    pub(crate) fn ask(query: &mut Query, user: UserId, number: u64) -> Self {
        Self(query.hash_fields(keys::user_messages(user), [number.to_string()]))
    }

    /// The text.
    pub(crate) fn take(self, answers: &mut Answers) -> Option<String> {
        fields::only(answers.take(self.0))
    }
}

/// Adds to a batch that the texts of entries that leave an inbox are deleted.
pub(crate) fn forget_messages(batch: &mut Batch, user: UserId, members: &[String]) {
    for member in members {
        if let Ok(EntryId::Moderation(number)) = member.parse() {
            batch.delete_field(keys::user_messages(user), number.to_string());
        }
    }
}
