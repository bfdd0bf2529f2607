//! Mails that tell the owner of an account about a change of it. They wait in the outbox
//! ([`crate::accounts::outbox`]), where the batch of the change puts them.

use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::site::Site;
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// How long mails are counted, from the first one.
const WINDOW: Duration = Duration::from_secs(86_400);

/// A message to the owner of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The password was changed.
    PasswordChanged,
    /// The account is to have another e-mail address, once that is confirmed: to the present one.
    EmailChanging,
    /// The account has another e-mail address now: to the one before.
    EmailLeft,
    /// An authenticator app was set up.
    TotpAdded,
    /// The authenticator app was removed.
    TotpRemoved,
    /// A passkey was added.
    PasskeyAdded,
    /// A passkey was removed.
    PasskeyRemoved,
    /// The recovery codes were replaced.
    RecoveryCodesReplaced,
}

impl Notice {
    /// All notices with their names in the store.
    const ALL: [(Self, &'static str); 8] = [
        (Self::PasswordChanged, "password"),
        (Self::EmailChanging, "email_changing"),
        (Self::EmailLeft, "email_left"),
        (Self::TotpAdded, "totp_added"),
        (Self::TotpRemoved, "totp_removed"),
        (Self::PasskeyAdded, "passkey_added"),
        (Self::PasskeyRemoved, "passkey_removed"),
        (Self::RecoveryCodesReplaced, "recovery_codes"),
    ];

    /// The name in the store.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(notice, _)| *notice == self).map_or("", |(_, name)| name)
    }

    /// The notice with a name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(notice, _)| *notice)
    }
}

/// Whether one more mail of a kind may be sent today, of which `key` counts the mails. Counts
/// it. Rounds: 2.
pub(crate) async fn may_send_today(site: &Site, key: &str, most: u64) -> Result<bool, Error> {
    site.act(key, || async {
        let sent = site.store.fetch(read::string(key)).await?;
        let mut batch = Batch::new();
        if count_sent(&mut batch, key, sent.as_deref()) >= most {
            return Ok(Decision::Done(false));
        }
        Ok(Decision::commit(batch, true))
    })
    .await
}

/// Adds to a batch that one more mail is counted at a key, which held this. Returns how many were
/// counted before.
pub(crate) fn count_sent(batch: &mut Batch, key: &str, sent: Option<&str>) -> u64 {
    match sent {
        // The count expires a day after the first mail.
        None => {
            batch.key_absent(key);
            batch.set_expiring(key, "1", WINDOW);
        }
        Some(sent) => {
            batch.string_equals(key, sent);
            batch.increment(key, 1);
        }
    }
    fields::read_string(sent, || key.to_owned()).unwrap_or(0)
}
