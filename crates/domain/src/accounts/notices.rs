//! Mails that tell the owner of an account about a change of it: how many may be sent.

use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::ids::UserId;
use crate::values::limits::MAX_DAILY_NOTICES;
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// How long mails are counted, from the first one.
const WINDOW: Duration = Duration::from_secs(86_400);

/// Somebody to write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correspondent {
    /// The account.
    pub user_id: UserId,
    /// The username.
    pub username: String,
    /// The e-mail address; may be empty.
    pub email: String,
}

/// Whether one more mail may tell about changes of this account today. Counts it. Rounds: 2.
///
/// # Errors
/// When the store fails.
pub async fn may_send(site: &Site, user_id: UserId) -> Result<bool, Error> {
    may_send_today(site, &keys::account_notices(user_id), MAX_DAILY_NOTICES).await
}

/// Whether one more mail of a kind may be sent today, of which `key` counts the mails. Counts
/// it. Rounds: 2.
///
/// # Errors
/// When the store fails.
pub(crate) async fn may_send_today(site: &Site, key: &str, most: i64) -> Result<bool, Error> {
    site.act(key, || async {
        let sent = site.store.fetch(read::string(key)).await?;
        let mut batch = Batch::new();
        match &sent {
            // The count expires a day after the first mail.
            None => {
                batch.key_absent(key);
                batch.set_expiring(key, "1", WINDOW);
            }
            Some(sent) => {
                if fields::read_string::<i64>(Some(sent), || key.to_owned()).unwrap_or(0) >= most {
                    return Ok(Decision::Done(false));
                }
                batch.string_equals(key, sent);
                batch.increment(key, 1);
            }
        }
        Ok(Decision::commit(batch, true))
    })
    .await
}
