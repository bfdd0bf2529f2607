//! Sessions: logging in and out, and the secrets that belong to a session.
//!
//! A user has one session token (`auth`) at a time, shared by all browsers that
//! are logged in, and one secret (`apisecret`) that every form must carry.
//! Logging out and changing the password replace both.

use crate::accounts::account::seconds_left;
use crate::action::Decision;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::passwords::{StoredPassword, Verification};
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use crate::values::limits;
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, CheckId, Expiry, Hash, Query};

/// How long failed logins are counted, from the first one.
const FAILED_LOGIN_WINDOW: Duration = Duration::from_secs(60);
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
/// [`Refusal::WrongCredentials`] for an unknown user or a wrong password, after the same
/// time; [`Refusal::TooManyFailedLogins`], even for the right
/// password; or the store's.
pub async fn log_in(
    site: &Site,
    now: Timestamp,
    username: &str,
    password: &str,
    address: IpAddr,
) -> Result<Session, Error> {
    let counted_by = failure_keys(username, address);
    // A conflict means that the account has changed meanwhile, for example by another
    // first login of an imported user.
    site.act_without_turns(LOGIN_ATTEMPTS, || async {
        let (user, stored, verification) = verify(site, username, password, &counted_by).await?;
        let upgraded = match verification {
            Verification::RightButOld => Some(site.passwords.hash(password.to_owned()).await?),
            _ => None,
        };
        open_session(now, &user, &stored, upgraded)
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
    let (_, stored, _) = verify(site, username, password, &failure_keys(username, address)).await?;
    Ok(stored)
}

/// Finds the user with a name and compares the password; counts a wrong one.
async fn verify(
    site: &Site,
    username: &str,
    password: &str,
    counted_by: &[String],
) -> Result<(Hash, StoredPassword, Verification), Error> {
    let _turns = match site.rules.limits.failed_logins_per_minute {
        0 => Vec::new(),
        _ => site.login_turns(counted_by).await,
    };
    let user = find_unless_slowed_down(site, username, counted_by).await?;
    let stored = user.as_ref().map(|user| StoredPassword {
        hash: user.get("password").unwrap_or_default().to_owned(),
        salt: user.get("salt").filter(|salt| !salt.is_empty()).map(str::to_owned),
    });
    let verification = match &stored {
        Some(stored) => {
            site.passwords
                .verify(stored.clone(), site.rules.accounts.legacy_salt.clone(), password.to_owned())
                .await?
        }
        None => {
            site.passwords.spend(password.to_owned()).await?;
            Verification::Wrong
        }
    };
    match (user, stored, verification) {
        (Some(user), Some(stored), Verification::Right | Verification::RightButOld) => {
            Ok((user, stored, verification))
        }
        _ => {
            count_failed_login(site, counted_by).await?;
            Err(Refusal::WrongCredentials.into())
        }
    }
}

/// Reads the user with a name, unless too many logins have failed recently.
async fn find_unless_slowed_down(
    site: &Site,
    username: &str,
    counted_by: &[String],
) -> Result<Option<Hash>, Error> {
    let limit = site.rules.limits.failed_logins_per_minute;
    let mut query = Query::new();
    let id = query.string(keys::username_to_id(username));
    let failures: Vec<_> = counted_by.iter().map(|key| (query.string(key), query.expiry(key))).collect();
    let mut answers = site.store.query(query).await?;
    for (count, expiry) in failures {
        let count = answers.take(count);
        // The key holds what was typed as a name: it is not logged.
        let count = fields::read_string(count.as_deref(), || "failed logins".to_owned()).unwrap_or(0);
        let expiry: Expiry = answers.take(expiry);
        if limit > 0 && count >= limit {
            return Err(Refusal::TooManyFailedLogins { seconds: seconds_left(expiry) }.into());
        }
    }
    let id = answers.take(id);
    let id = fields::read_string::<UserId>(id.as_deref(), || keys::username_to_id(username));
    let mut query = Query::new();
    // An unknown user costs the same reads.
    let user = query.hash(keys::user(id.unwrap_or(UserId(1))));
    let user = site.store.query(query).await?.take(user);
    Ok((id.is_some() && !user.is_empty()).then_some(user))
}

/// The keys that count failed logins. A text that cannot be a username counts for the
/// address only: it must not become a key.
fn failure_keys(username: &str, address: IpAddr) -> Vec<String> {
    let mut keys = vec![keys::failed_logins_of_address(address)];
    if username.chars().count() <= limits::LONGEST_STORED_USERNAME && !username.chars().any(char::is_control)
    {
        keys.push(keys::failed_logins_of_account(username));
    }
    keys
}

async fn count_failed_login(site: &Site, counted_by: &[String]) -> Result<(), Error> {
    if site.rules.limits.failed_logins_per_minute == 0 {
        return Ok(());
    }
    site.act(counted_by.first().map_or("", String::as_str), || async {
        let mut query = Query::new();
        let counts: Vec<_> = counted_by.iter().map(|key| (key, query.string(key))).collect();
        let mut answers = site.store.query(query).await?;
        let mut batch = Batch::new();
        for (key, count) in counts {
            // The window starts at the first failure; the count expires with it.
            if answers.take(count).is_none() {
                batch.key_absent(key);
                batch.set_expiring(key, "1", FAILED_LOGIN_WINDOW);
            } else {
                batch.key_present(key);
                batch.increment(key, 1);
            }
        }
        Ok(Decision::commit(batch, ()))
    })
    .await
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

/// Adds a new password hash to a batch, and removes what an older hash needed.
pub(crate) fn set_password(batch: &mut Batch, id: UserId, hash: &str) {
    batch.set_field(keys::user(id), "password", hash);
    batch.delete_field(keys::user(id), "salt");
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
        // A deactivated account has no name any more.
        let fields = query.hash_fields(&key, ["username", "auth"]);
        let [Some(_), old] = fields::each(site.store.query(query).await?.take(fields)) else {
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
