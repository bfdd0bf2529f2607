//! Confirming e-mail addresses.
//!
//! Mails that people subscribe to go to addresses that their owners have confirmed
//! (`confirmed_email`), by opening the link that was mailed to them. A new address takes the place of
//! a confirmed one when it is confirmed too, and waits until then (`new_email`). A site that sends no
//! mail cannot ask, so an address counts there at once.
//!
//! Where the operator asks for that, a new account has the field `unconfirmed` until its owner opens
//! the link, and gets it again with each change of the address. Until then it can read and change its
//! settings, and write nothing. A link is only good for the address that it was sent to.

use crate::accounts::users::{
    CONFIRMED_EMAIL, CREDENTIALS_VERSION, MAIL_REFUSED, NEW_EMAIL, UNCONFIRMED, account_chunks,
};
use crate::accounts::{Notice, outbox};
use crate::rates::counted::Limited;
use crate::values::{
    CONFIRMATION_SECONDS, Email, MAX_REFUSED_MAILS, STAFF_CHUNK, Timestamp, UserId, random_token,
};
use crate::{Advance, Refusal, Result, Site, User, keys};
use sha2::{Digest, Sha256};
use std::ops::RangeInclusive;
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, read};

impl User {
    /// Refuses who has not confirmed their e-mail address, where that is asked for.
    ///
    /// # Errors
    /// [`Refusal::EmailNotConfirmed`].
    pub(crate) fn demand_confirmed(&self, site: &Site) -> Result<(), Refusal> {
        if self.must_confirm(site) { Err(Refusal::EmailNotConfirmed) } else { Ok(()) }
    }

    /// Whether the user can only read until their e-mail address is confirmed.
    pub fn must_confirm(&self, site: &Site) -> bool {
        self.unconfirmed && site.rules.accounts.confirm_email
    }

    /// Whether the e-mail address of the account is confirmed.
    pub fn is_email_confirmed(&self) -> bool {
        !self.email.is_empty() && self.confirmed_email == self.email
    }

    /// The address that the owner has typed last, which may wait to be confirmed.
    pub fn typed_email(&self) -> &str {
        if self.new_email.is_empty() { &self.email } else { &self.new_email }
    }

    /// The address that a link would confirm. `None` also if that refuses mails.
    pub fn email_to_confirm(&self) -> Option<&str> {
        let typed = self.typed_email();
        let is_stopped = self.new_email.is_empty() && self.is_mail_stopped();
        (!typed.is_empty() && typed != self.confirmed_email && !is_stopped).then_some(typed)
    }

    /// The address that must be confirmed.
    fn unconfirmed_email(&self) -> Option<&str> {
        if !self.new_email.is_empty() {
            return Some(&self.new_email);
        }
        self.notice_address().filter(|email| *email != self.confirmed_email || self.unconfirmed)
    }

    /// Whether the address has refused so many mails that it gets no more.
    pub const fn is_mail_stopped(&self) -> bool {
        self.mail_refused >= MAX_REFUSED_MAILS
    }

    /// Where the owner is told of what concerns the account.
    pub fn notice_address(&self) -> Option<&str> {
        (!self.email.is_empty() && !self.is_mail_stopped()).then_some(&self.email)
    }

    /// Where mails go that the user subscribes to.
    pub fn letter_address(&self) -> Option<&str> {
        self.notice_address().filter(|_| self.is_email_confirmed())
    }

    /// Whether what arrives in the inbox is also mailed.
    pub fn gets_replies_by_mail(&self) -> bool {
        self.preferences.mail_replies && self.letter_address().is_some()
    }
}

/// Adds to a batch that the owner of an account gives it another e-mail address, or takes a change
/// back that waits. The batch is rejected if the address was changed meanwhile. Returns what the
/// present address is told.
pub(crate) fn write_email(
    batch: &mut Batch,
    (site, now): (&Site, Timestamp),
    user: &User,
    typed: &str,
) -> Option<Notice> {
    let key = keys::user(user.id);
    for (field, value) in
        [("email", &user.email), (CONFIRMED_EMAIL, &user.confirmed_email), (NEW_EMAIL, &user.new_email)]
    {
        // An empty one may be absent.
        if !value.is_empty() {
            batch.field_equals(&key, field, value);
        }
    }
    if typed == user.email {
        batch.delete_field(&key, NEW_EMAIL);
        if user.is_email_confirmed() {
            batch.delete_field(&key, UNCONFIRMED);
        }
        return None;
    }
    let notice = if site.sends_mail && !typed.is_empty() && user.is_email_confirmed() {
        batch.set_field(&key, NEW_EMAIL, typed);
        Notice::EmailChanging
    } else {
        let confirmed = if site.sends_mail { "" } else { typed };
        write_address(batch, user.id, typed, confirmed);
        Notice::EmailLeft
    };
    if site.rules.accounts.confirm_email {
        batch.set_field(&key, UNCONFIRMED, "1");
    }
    if site.sends_mail && !typed.is_empty() {
        outbox::write_confirmation(batch, now, user.id);
    }
    Some(notice)
}

/// Adds to a batch that an account has an address now, confirmed or not.
fn write_address(batch: &mut Batch, user_id: UserId, email: &str, confirmed: &str) {
    let key = keys::user(user_id);
    batch.set_field(&key, "email", email);
    batch.delete_field(&key, NEW_EMAIL);
    batch.delete_field(&key, MAIL_REFUSED);
    if confirmed.is_empty() {
        batch.delete_field(&key, CONFIRMED_EMAIL);
    } else {
        batch.set_field(&key, CONFIRMED_EMAIL, confirmed);
    }
    batch.increment_field(&key, CREDENTIALS_VERSION, 1);
}

/// Takes the address of an account as confirmed, because the OpenID provider has verified the same one. Rounds: 1, and 1
/// more if it was not.
pub(crate) async fn take_verified(site: &Site, user_id: UserId, verified: &Email) -> Result<()> {
    let Some(user) = site.store.fetch(User::by_id(user_id)).await? else { return Ok(()) };
    let is_new = user.unconfirmed || user.confirmed_email != user.email;
    if user.email != verified.as_str() || !user.new_email.is_empty() || !is_new {
        return Ok(());
    }
    let key = keys::user(user_id);
    let mut batch = Batch::new();
    batch.field_equals(&key, "email", &user.email);
    batch.field_absent(&key, NEW_EMAIL);
    batch.set_field(&key, CONFIRMED_EMAIL, verified.as_str());
    batch.delete_field(&key, UNCONFIRMED);
    // If the address has changed meanwhile, it is another one.
    site.apply(batch).await.map(drop)
}

/// A mail with a link to be sent.
pub struct ConfirmationMail {
    /// The address.
    pub email: String,
    /// The user's name.
    pub username: String,
    /// The token that the link carries; a secret.
    pub token: String,
}

/// Makes a link because the owner of an account asks for it; `None` if it has no address that must
/// be confirmed. Rounds: at most 4.
///
/// # Errors
/// [`Refusal::TooManyConfirmations`] after five in a day, or the store's.
pub async fn make_link(site: &Site, user_id: UserId) -> Result<Option<ConfirmationMail>> {
    if account(site, user_id).await?.is_none_or(|user| user.unconfirmed_email().is_none()) {
        return Ok(None);
    }
    Limited::ConfirmationMails(user_id).count(site, |_| Refusal::TooManyConfirmations).await?;
    make_counted_link(site, user_id).await
}

/// The same for a mail that is counted already. Rounds: 2.
pub async fn make_counted_link(site: &Site, user_id: UserId) -> Result<Option<ConfirmationMail>> {
    let Some(user) = account(site, user_id).await? else { return Ok(None) };
    let Some(email) = user.unconfirmed_email().map(str::to_owned) else { return Ok(None) };
    let token = random_token()?;
    let mut batch = Batch::new();
    let link = format!("{user_id} {}", fingerprint(&email));
    batch.set_expiring(keys::email_confirmation(&token), link, Duration::from_secs(CONFIRMATION_SECONDS));
    site.apply(batch).await?;
    Ok(Some(ConfirmationMail { email, username: user.username, token }))
}

/// The account and the address that a link is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmationLink {
    /// The account.
    pub user: User,
    /// The address that it confirms.
    pub email: String,
    /// Whether it is confirmed already.
    pub is_confirmed: bool,
}

/// Finds the account and the address that a link is for. Rounds: 2.
///
/// # Errors
/// [`Refusal::ConfirmationInvalid`] for a link that is unknown, expired, or for an address that
/// the account no longer has; or the store's.
pub async fn check_link(site: &Site, token: &str) -> Result<ConfirmationLink> {
    let link = site.store.fetch(read::string(keys::email_confirmation(token))).await?.unwrap_or_default();
    let (id, made_for) = link.split_once(' ').ok_or(Refusal::ConfirmationInvalid)?;
    let user_id: UserId = id.parse().map_err(|_| Refusal::ConfirmationInvalid)?;
    let user = account(site, user_id).await?.ok_or(Refusal::ConfirmationInvalid)?;
    let is_of = |email: &str| !email.is_empty() && fingerprint(email) == made_for;
    if is_of(&user.new_email) {
        return Ok(ConfirmationLink { email: user.new_email.clone(), user, is_confirmed: false });
    }
    Refusal::ConfirmationInvalid.when(!is_of(&user.email))?;
    // If another address waits, `unconfirmed` refers to that one.
    let is_confirmed = user.is_email_confirmed() && (!user.unconfirmed || !user.new_email.is_empty());
    Ok(ConfirmationLink { email: user.email.clone(), user, is_confirmed })
}

/// Confirms the address that a link is for. The link stays valid until it expires, so that
/// opening it twice is no mistake. Rounds: 3.
///
/// # Errors
/// As [`check_link`].
pub async fn confirm(site: &Site, now: Timestamp, token: &str) -> Result<ConfirmationLink> {
    let link = check_link(site, token).await?;
    if link.is_confirmed {
        return Ok(link);
    }
    let (user, key) = (&link.user, keys::user(link.user.id));
    let mut batch = Batch::new();
    batch.field_equals(&key, "email", &user.email);
    if link.email == user.new_email {
        batch.field_equals(&key, NEW_EMAIL, &link.email);
        write_address(&mut batch, user.id, &link.email, &link.email);
        let told = user.notice_address().unwrap_or_default();
        outbox::write_notices(&mut batch, (site, now), (user.id, told), &[Notice::EmailLeft]);
    } else {
        batch.set_field(&key, CONFIRMED_EMAIL, &link.email);
    }
    batch.delete_field(&key, UNCONFIRMED);
    site.apply(batch).await?.or(Refusal::ConfirmationInvalid)?;
    Ok(ConfirmationLink { is_confirmed: true, ..link })
}

/// Counts the addresses as confirmed that get mails which their owners have switched on, for a store
/// of an earlier version. `advance` hears how far it is. Rounds: 1, and 2 for each 500 accounts.
pub(crate) async fn confirm_known_addresses(site: &Site, advance: Advance<'_>) -> Result<()> {
    let chunks: Vec<_> = account_chunks(site, STAFF_CHUNK).await?.collect();
    let count = chunks.last().map_or(0, |users| *users.end());
    for users in chunks {
        let last = *users.end();
        confirm_known_addresses_of(site, users).await?;
        advance(last, count);
    }
    Ok(())
}

async fn confirm_known_addresses_of(site: &Site, users: RangeInclusive<u64>) -> Result<()> {
    let ids = users.map(UserId);
    let fields = |id| read::fields(keys::user(id), ["email", "mail_replies", "digest", UNCONFIRMED]);
    let accounts = site.store.fetch(ids.clone().map(fields).collect::<Vec<_>>().or_absent()).await?;
    let mut batch = Batch::new();
    for (id, [email, replies, digest, unconfirmed]) in ids.zip(accounts) {
        let gets_mail = replies.as_deref() == Some("1") || digest.is_some_and(|digest| digest != "off");
        let email = email.filter(|email| !email.is_empty() && gets_mail && unconfirmed.is_none());
        if let Some(email) = email {
            batch.set_field(keys::user(id), CONFIRMED_EMAIL, email);
        }
    }
    if !batch.writes().is_empty() {
        // An address that another program changes meanwhile is not the confirmed one.
        site.apply(batch).await?;
    }
    Ok(())
}

/// An account, also one whose application waits. Rounds: 1.
async fn account(site: &Site, id: UserId) -> Result<Option<User>> {
    let hash = site.store.fetch(read::hash(keys::user(id))).await?;
    Ok(User::or_applicant(&hash))
}

/// A short hash that distinguishes an address from others and does not contain it.
fn fingerprint(email: &str) -> String {
    hex::encode(Sha256::digest(email)).chars().take(16).collect()
}
