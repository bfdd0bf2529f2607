//! Setting a new password with a link sent by mail.
//!
//! The link carries its own token, which works once, for an hour, and is not a session. It
//! ends when the password or the e-mail address changes that it was made for. The answers
//! do not reveal whether a user has an address.

use crate::accounts::users::CREDENTIALS_VERSION;
use crate::accounts::{Notice, Session, log_in, outbox, people, roles, sessions};
use crate::passwords::HashingSource;
use crate::values::{NewPassword, Timestamp, UserId, random_token};
use crate::{Decision, Refusal, Result, Site, User, fields, keys};
use sha2::{Digest, Sha256};
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// How long the link in the mail is valid.
const LINK_LIFE: Duration = Duration::from_secs(3_600);

/// The fields of a user that a link depends on.
const CREDENTIALS: [&str; 3] = ["password", "email", CREDENTIALS_VERSION];

/// A mail to be sent.
pub struct ResetMail {
    /// The address, as the user gave it.
    pub email: String,
    /// The user's name.
    pub username: String,
    /// The token that the link carries; a secret.
    pub token: String,
    user_id: UserId,
    requested: Timestamp,
}

/// Prepares a reset, if a user with this name has this address and has not
/// asked for one recently. The caller must give the same answer for `None`.
///
/// # Errors
/// [`Refusal::PasswordsAreOff`], or the store's.
pub async fn request_reset(
    site: &Site,
    now: Timestamp,
    username: &str,
    email: &str,
) -> Result<Option<ResetMail>> {
    log_in::demand_passwords(site)?;
    let id = site.store.fetch(people::holder(username)).await?;
    // An unknown user costs the same reads.
    let key = keys::user(id.unwrap_or(UserId(1)));
    site.act(&key, || async {
        let hash = site.store.fetch(read::hash(&key)).await?;
        let user = User::from_hash(&hash).filter(|user| Some(user.id) == id);
        let Some(user) =
            user.filter(|user| !user.email.is_empty() && user.email.eq_ignore_ascii_case(email.trim()))
        else {
            return Ok(Decision::Done(None));
        };
        let last = fields::read(hash.get("pwd_reset"), || key.clone(), "pwd_reset").unwrap_or(0);
        if last > 0 && now.is_within(site.rules.limits.password_reset_seconds, Timestamp(last)) {
            return Ok(Decision::Done(None));
        }
        let token = random_token()?;
        let mut batch = Batch::new();
        batch.field_unchanged(&key, "pwd_reset", hash.get("pwd_reset"));
        batch.set_field(&key, "pwd_reset", now.to_string());
        let link = format!("{} {}", user.id, fingerprint(CREDENTIALS.map(|field| hash.get(field))));
        batch.set_expiring(keys::password_reset(&token), link, LINK_LIFE);
        let mail =
            ResetMail { email: user.email, username: user.username, token, user_id: user.id, requested: now };
        Ok(Decision::commit(batch, Some(mail)))
    })
    .await
}

/// Withdraws a request whose mail could not be sent, so that the user may ask again at
/// once.
pub async fn withdraw_reset(site: &Site, mail: &ResetMail) -> Result<()> {
    let key = keys::user(mail.user_id);
    let mut batch = Batch::new();
    batch.field_equals(&key, "pwd_reset", mail.requested.to_string());
    batch.delete_field(&key, "pwd_reset");
    batch.delete(keys::password_reset(&mail.token));
    // If a later request has replaced this one, that one stays.
    site.apply(batch).await.map(drop)
}

/// The username of the account whose password a link may set.
///
/// # Errors
/// [`Refusal::ResetLinkInvalid`], or the store's.
pub async fn check_link(site: &Site, token: &str) -> Result<String> {
    read_link(site, token).await.map(|account| account.username)
}

/// An account as it was when a link was made for it.
struct LinkedAccount {
    user_id: UserId,
    username: String,
    email: Option<String>,
    password: Option<String>,
}

/// The account that a link is for. Its password and its e-mail address have not changed since
/// the link was made.
async fn read_link(site: &Site, token: &str) -> Result<LinkedAccount> {
    let link = site.store.fetch(read::string(keys::password_reset(token))).await?.unwrap_or_default();
    let (id, made_for) = link.split_once(' ').ok_or(Refusal::ResetLinkInvalid)?;
    let user_id: UserId = id.parse().map_err(|_| Refusal::ResetLinkInvalid)?;
    let user = keys::user(user_id);
    let reads = (read::field(&user, "username"), read::fields(&user, CREDENTIALS));
    let (username, [password, email, version]) = site.store.fetch(reads).await?;
    if fingerprint([&password, &email, &version].map(|field| field.as_deref())) != made_for {
        return Err(Refusal::ResetLinkInvalid.into());
    }
    Ok(LinkedAccount { user_id, username: username.unwrap_or_default(), email, password })
}

/// A fingerprint that distinguishes a stored password with an e-mail address from others, and
/// reveals nothing about them: a link is valid only while both stay the same. With the version,
/// a link stays invalid when one of them is changed back.
fn fingerprint(credentials: [Option<&str>; 3]) -> String {
    // None of them holds a zero byte.
    let digest = Sha256::digest(credentials.map(Option::unwrap_or_default).join("\0"));
    hex::encode(digest).chars().take(16).collect()
}

/// Sets the new password, ends the link and the user's sessions, and tells the owner by mail.
///
/// # Errors
/// [`Refusal::ResetLinkInvalid`], or the store's.
pub async fn set_new_password(
    site: &Site,
    now: Timestamp,
    token: &str,
    password: &NewPassword,
) -> Result<()> {
    let account = read_link(site, token).await?;
    roles::demand_password((site, now), account.user_id, password).await?;
    let hash = site.passwords.hash_for(HashingSource::Account(account.user_id), password).await?;
    let (reset, key) = (keys::password_reset(token), keys::user(account.user_id));
    let session = Session::new(account.user_id)?;
    let ended = sessions::end_all_sessions(site, &session, None, |batch| {
        let unused = [
            // Fails if another use of the link has changed the password.
            batch.field_unchanged(&key, "password", account.password.as_ref()),
            batch.field_unchanged(&key, "email", account.email.as_ref()),
            batch.key_present(&reset),
        ];
        batch.delete(&reset);
        sessions::choose_password(batch, account.user_id, &hash);
        let to = account.email.as_deref().unwrap_or_default();
        outbox::write_notices(batch, (site, now), (account.user_id, to), &[Notice::PasswordChanged]);
        unused.to_vec()
    });
    Refusal::ResetLinkInvalid.when(!ended.await?)?;
    Ok(())
}
