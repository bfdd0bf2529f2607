//! Sessions: logging in and out, and the secrets that belong to a session.
//!
//! A user has one session token (`auth`) at a time, shared by all browsers that
//! are logged in, and one secret (`apisecret`) that every form must carry.
//! Logging out and changing the password replace both.

use crate::accounts::login::{self, Attempt, TRIMMED};
use crate::accounts::users::DEACTIVATED;
use crate::action::Decision;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::passwords::{StoredPassword, salt_beside};
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use std::net::IpAddr;
use tidings_keyspace::{Batch, CheckId, Hash, Query};

/// Attempts at a login while the account changes.
const LOGIN_ATTEMPTS: usize = 4;

/// A user's session: what a browser or a client needs to act as the user.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    /// The user.
    pub user_id: UserId,
    /// The session token, for the cookie `auth`.
    pub auth: String,
    /// The secret that every form carries.
    pub apisecret: String,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("user_id", &self.user_id).finish_non_exhaustive()
    }
}

/// Logs a user in. Other browsers of the user stay logged in. A password stored in
/// an older form is replaced by a current hash.
///
/// # Errors
/// Those of `login::verify`: [`Refusal::WrongCredentials`] for an unknown user or a wrong
/// password, after the same time; [`Refusal::TooManyFailedLogins`], even for the right
/// password; or the store's.
pub async fn log_in(
    site: &Site,
    now: Timestamp,
    username: &str,
    password: &str,
    address: IpAddr,
) -> Result<Session, Error> {
    // A conflict means that the account has changed meanwhile, for example by another
    // first login of an imported user.
    site.act_without_turns(LOGIN_ATTEMPTS, || async {
        let attempt = Attempt { username, password, address, now: Some(now) };
        let verified = login::verify(site, &attempt).await?;
        let upgraded = verified.new_hash(site, password).await?;
        open_session(now, &verified.user, &verified.stored, upgraded)
    })
    .await
}

/// Asks a user who is logged in for the password again. A wrong one counts as a failed
/// login.
///
/// # Errors
/// As [`log_in`].
pub(crate) async fn confirm_password(
    site: &Site,
    username: &str,
    password: &str,
    address: IpAddr,
) -> Result<StoredPassword, Error> {
    let attempt = Attempt { username, password, address, now: None };
    Ok(login::verify(site, &attempt).await?.stored)
}

/// Adds what an imported account may lack, and opens its session if the account has not
/// changed since it was read.
fn open_session(
    now: Timestamp,
    user: &Hash,
    stored: &StoredPassword,
    upgraded: Option<String>,
) -> Result<Decision<Session>, Error> {
    let id = fields::read::<UserId>(user.get("id"), || "a user".to_owned(), "id");
    let id = id.ok_or(Refusal::WrongCredentials)?;
    let key = keys::user(id);
    let auth = user.get("auth").filter(|auth| !auth.is_empty());
    let apisecret = user.get("apisecret").filter(|secret| !secret.is_empty());
    let fresh = Session::new(id)?;
    let session = Session {
        user_id: id,
        auth: auth.map_or_else(|| fresh.auth.clone(), str::to_owned),
        apisecret: apisecret.map_or_else(|| fresh.apisecret.clone(), str::to_owned),
    };
    let mut batch = Batch::new();
    // Fails if the password has changed meanwhile: this login used the old one.
    batch.field_equals(&key, "password", &stored.hash);
    for (field, secret) in [("auth", &session.auth), ("apisecret", &session.apisecret)] {
        batch.field_unchanged(&key, field, user.get(field));
        if user.get(field) != Some(secret) {
            batch.set_field(&key, field, secret);
        }
    }
    if let Some(hash) = &upgraded {
        set_password(&mut batch, id, hash);
        if stored.ignores_blanks() {
            batch.set_field(&key, TRIMMED, "1");
        }
    }
    if user.get("seen_time").is_none() {
        batch.set_field(&key, "seen_time", now.to_string());
    }
    batch.set(keys::auth(&session.auth), id.to_string());
    Ok(Decision::commit(batch, session))
}

/// Logs a user out everywhere.
///
/// # Errors
/// When the store fails.
pub async fn log_out(site: &Site, id: UserId) -> Result<(), Error> {
    rotate(site, id, |_| None).await?;
    Ok(())
}

/// Adds a new password hash to a batch, and replaces the salt of an older hash.
pub(crate) fn set_password(batch: &mut Batch, id: UserId, hash: &str) {
    batch.set_fields(keys::user(id), [("password", hash), ("salt", &salt_beside(hash))]);
    batch.delete_field(keys::user(id), TRIMMED);
}

/// Replaces a user's session token and secret, with further writes in the same batch.
/// The old token becomes invalid.
///
/// `further` may add a check that decides whether the caller may do this. If that check
/// fails, nothing is written and the result is `None`.
pub(crate) async fn rotate(
    site: &Site,
    id: UserId,
    further: impl Fn(&mut Batch) -> Option<CheckId>,
) -> Result<Option<Session>, Error> {
    let key = keys::user(id);
    site.act(&key, || async {
        let mut query = Query::new();
        let fields = query.hash_fields(&key, ["username", DEACTIVATED, "auth"]);
        let [Some(_), None, old] = fields::each(site.store.query(query).await?.take(fields)) else {
            return Err(Refusal::NoSuchUser.into());
        };
        let session = Session::new(id)?;
        let mut batch = Batch::new();
        batch.field_unchanged(&key, "auth", old.as_ref());
        if let Some(old) = old.filter(|old| !old.is_empty()) {
            batch.delete(keys::auth(&old));
        }
        batch.set_fields(&key, [("auth", session.auth.as_str()), ("apisecret", session.apisecret.as_str())]);
        batch.set(keys::auth(&session.auth), id.to_string());
        let right = further(&mut batch);
        Ok(Decision::commit(batch, Some(session)).if_rejected_by(right, Ok(None)))
    })
    .await
}
