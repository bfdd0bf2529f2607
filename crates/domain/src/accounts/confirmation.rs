//! Confirming e-mail addresses, where the operator asks for that.
//!
//! A new account has the field `unconfirmed` until its owner opens the link that was mailed to
//! its address. Until then it can read and change its settings, and write nothing. An address
//! can be corrected in the settings; a link is only good for the address that it was sent to.

use crate::accounts::notices;
use crate::accounts::users::User;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::ids::UserId;
use crate::values::limits::{CONFIRMATION_SECONDS, MAX_DAILY_CONFIRMATIONS};
use crate::values::secrets::random_token;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// The field of a user whose e-mail address is not confirmed: `1`, or absent.
pub(crate) const UNCONFIRMED: &str = "unconfirmed";

/// A mail with a link to be sent.
pub struct ConfirmationMail {
    /// The address.
    pub email: String,
    /// The user's name.
    pub username: String,
    /// The token that the link carries; a secret.
    pub token: String,
}

impl User {
    /// Refuses who has not confirmed their e-mail address, where that is asked for.
    ///
    /// # Errors
    /// [`Refusal::EmailNotConfirmed`].
    pub(crate) fn demand_confirmed(&self, site: &Site) -> Result<(), Refusal> {
        if self.must_confirm(site) { Err(Refusal::EmailNotConfirmed) } else { Ok(()) }
    }

    /// Whether the user can only read until their e-mail address is confirmed.
    #[must_use]
    pub fn must_confirm(&self, site: &Site) -> bool {
        self.unconfirmed && site.rules.accounts.confirm_email
    }
}

/// Makes a link for an account whose address is not confirmed; `None` if it has no address or
/// is confirmed already. Rounds: at most 4.
///
/// # Errors
/// [`Refusal::TooManyConfirmations`] after five in a day, or the store's.
pub async fn make_link(site: &Site, user_id: UserId) -> Result<Option<ConfirmationMail>, Error> {
    let (username, email, unconfirmed) = account(site, user_id).await?;
    if !unconfirmed || email.is_empty() {
        return Ok(None);
    }
    if !notices::may_send_today(site, &keys::confirmation_mails(user_id), MAX_DAILY_CONFIRMATIONS).await? {
        return Err(Refusal::TooManyConfirmations.into());
    }
    let token = random_token()?;
    let mut batch = Batch::new();
    let link = format!("{user_id} {}", fingerprint(&email));
    batch.set_expiring(keys::email_confirmation(&token), link, Duration::from_secs(CONFIRMATION_SECONDS));
    site.apply(batch).await?;
    Ok(Some(ConfirmationMail { email, username, token }))
}

/// What a link is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmationLink {
    /// The name of the account.
    pub username: String,
    /// The address that it confirms.
    pub email: String,
    /// Whether it is confirmed already.
    pub is_confirmed: bool,
    user_id: UserId,
}

/// What a link is for. Rounds: 2.
///
/// # Errors
/// [`Refusal::ConfirmationInvalid`] for a link that is unknown, expired, or for an address that
/// the account no longer has; or the store's.
pub async fn check_link(site: &Site, token: &str) -> Result<ConfirmationLink, Error> {
    let link = site.store.fetch(read::string(keys::email_confirmation(token))).await?.unwrap_or_default();
    let (id, made_for) = link.split_once(' ').ok_or(Refusal::ConfirmationInvalid)?;
    let user_id: UserId = id.parse().map_err(|_| Refusal::ConfirmationInvalid)?;
    let (username, email, unconfirmed) = account(site, user_id).await?;
    if fingerprint(&email) != made_for {
        return Err(Refusal::ConfirmationInvalid.into());
    }
    Ok(ConfirmationLink { username, email, is_confirmed: !unconfirmed, user_id })
}

/// Confirms the address that a link is for. The link stays valid until it expires, so that
/// opening it twice is no mistake. Rounds: 3.
///
/// # Errors
/// As [`check_link`].
pub async fn confirm(site: &Site, token: &str) -> Result<ConfirmationLink, Error> {
    let link = check_link(site, token).await?;
    let key = keys::user(link.user_id);
    let mut batch = Batch::new();
    batch.field_equals(&key, "email", &link.email);
    batch.delete_field(&key, UNCONFIRMED);
    match site.apply(batch).await? {
        Applied::Yes(_) => Ok(ConfirmationLink { is_confirmed: true, ..link }),
        Applied::No(_) => Err(Refusal::ConfirmationInvalid.into()),
    }
}

/// The name and the address of an account, and whether that is unconfirmed. An application may
/// wait meanwhile. Rounds: 1.
async fn account(site: &Site, user_id: UserId) -> Result<(String, String, bool), Error> {
    let [username, email, unconfirmed] =
        site.store.fetch(read::fields(keys::user(user_id), ["username", "email", UNCONFIRMED])).await?;
    Ok((username.unwrap_or_default(), email.unwrap_or_default(), unconfirmed.is_some()))
}

/// What distinguishes an address from others, and reveals nothing about it.
fn fingerprint(email: &str) -> String {
    hex::encode(Sha256::digest(email)).chars().take(16).collect()
}
