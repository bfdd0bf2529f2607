//! Addresses in mails with which somebody unsubscribes without a session.
//!
//! Keys: the field `mail_secret` of a user, from which the addresses are made.

use crate::accounts::outbox::{MailKind, write_digest_choice};
use crate::values::{Digest, Timestamp, UserId, same_secret};
use crate::{Result, Site, keys};
use sha2::{Digest as _, Sha256};
use tidings_keyspace::{Batch, read};

/// The field of a user with the secret that addresses for unsubscribing are made from.
pub(crate) const MAIL_SECRET: &str = "mail_secret";
/// The digits of a token after the kind and the user.
const TOKEN_DIGITS: usize = 40;

/// The end of the address for unsubscribing from a kind of mails.
pub(crate) fn token_for(kind: MailKind, user: UserId, secret: &str) -> String {
    let kind = kind.name();
    let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(secret).finalize();
    let digits: String = hex::encode(digest).chars().take(TOKEN_DIGITS).collect();
    format!("{kind}-{user}-{digits}")
}

/// Somebody who may unsubscribe from a kind of mails.
#[derive(Debug)]
pub struct Subscriber {
    /// From which mails.
    pub kind: MailKind,
    user: UserId,
    secret: String,
}

/// The subscriber whom a token of a mail names. Rounds: 1, none for a text that cannot be a token.
pub async fn subscriber(site: &Site, token: &str) -> Result<Option<Subscriber>> {
    let mut parts = token.splitn(3, '-');
    let kind = parts.next().and_then(|kind| kind.parse::<MailKind>().ok());
    let user = parts.next().and_then(|user| user.parse::<UserId>().ok());
    let (Some(kind), Some(user)) = (kind, user) else { return Ok(None) };
    let secret = site.store.fetch(read::field(keys::user(user), MAIL_SECRET)).await?.unwrap_or_default();
    // An empty secret matches nothing.
    let is_theirs = !secret.is_empty() && same_secret(&token_for(kind, user, &secret), token);
    Ok(is_theirs.then_some(Subscriber { kind, user, secret }))
}

/// Switches a kind of mails off. Rounds: 1.
pub async fn unsubscribe(site: &Site, now: Timestamp, subscriber: &Subscriber) -> Result<()> {
    let key = keys::user(subscriber.user);
    let mut batch = Batch::new();
    // Fails if the account has been deactivated meanwhile; then there are no mails either.
    batch.field_equals(&key, MAIL_SECRET, &subscriber.secret);
    match subscriber.kind {
        MailKind::Replies => batch.set_field(&key, "mail_replies", "0"),
        MailKind::Digest => {
            batch.set_field(&key, "digest", "off");
            write_digest_choice(&mut batch, subscriber.user, Digest::Off, now);
        }
    }
    site.apply(batch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_one_user_and_one_kind() {
        let secret = "0123456789";
        let tokens = [
            token_for(MailKind::Replies, UserId(1), secret),
            token_for(MailKind::Digest, UserId(1), secret),
            token_for(MailKind::Replies, UserId(1), "another"),
        ];
        let ends = tokens.map(|token| token.rsplit('-').next().map(str::to_owned));
        assert!(ends[0] != ends[1] && ends[0] != ends[2] && ends[1] != ends[2], "{ends:?}");
    }
}
