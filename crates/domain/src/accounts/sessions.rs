//! Sessions: logging in and out, and the secrets of an account.
//!
//! Each login opens a session with a token of its own (`auth`). An account has up to 20 of
//! them, and one secret (`apisecret`) that all its forms carry. Logging out ends one
//! session. A change of the password ends all of them and replaces the secret.

use crate::accounts::account::seconds_left;
use crate::accounts::session_store::{
    self, AllSessions, Device, EARLIER_ID, OpenSession, Opening, SessionKey, VisitSession,
};
use crate::accounts::users::User;
use crate::action::Decision;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::passwords::{StoredPassword, Verification};
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use crate::values::limits;
use crate::values::secrets::random_token;
use crate::values::session_token::SessionToken;
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, CheckId, Expiry, Hash, Order, Query};

/// How long failed logins are counted, from the first one.
const FAILED_LOGIN_WINDOW: Duration = Duration::from_secs(60);
/// Attempts at a login while the account changes.
const LOGIN_ATTEMPTS: usize = 4;

/// A user's session: what a browser or a client needs to act as the user.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    /// The user.
    pub user_id: UserId,
    /// The session token, for the cookie.
    pub auth: SessionToken,
    /// The secret that every form carries.
    pub apisecret: String,
}

impl Session {
    /// A session with fresh secrets; not stored yet.
    pub(crate) fn new(user_id: UserId) -> Result<Self, Error> {
        Ok(Self { user_id, auth: SessionToken::random()?, apisecret: random_token()? })
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("user_id", &self.user_id).finish_non_exhaustive()
    }
}

/// Logs a user in: opens a session. The user's other sessions stay, except for the oldest
/// when there are more than 20. A password stored in an older form is replaced by a current
/// hash.
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
    device: &Device,
) -> Result<Session, Error> {
    let counted_by = failure_keys(username, device.address);
    // A conflict means that the account has changed meanwhile, for example by another
    // first login of an imported user.
    let session = site.act_without_turns(LOGIN_ATTEMPTS, || async {
        let (user, stored, verification) = verify(site, username, password, &counted_by).await?;
        let upgraded = match verification {
            Verification::RightButOld => Some(site.passwords.hash(password.to_owned()).await?),
            _ => None,
        };
        open_session(site, now, (&user, &stored, upgraded), device).await
    });
    let session = session.await?;
    if let Err(error) = session_store::end_surplus(site, session.user_id).await {
        // The session is open. The next login tries again.
        tracing::warn!(user = %session.user_id, %error, "surplus sessions not ended");
    }
    Ok(session)
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

/// Adds what an imported account may lack, and opens a session if the account has not
/// changed since it was read.
async fn open_session(
    site: &Site,
    now: Timestamp,
    (user, stored, upgraded): (&Hash, &StoredPassword, Option<String>),
    device: &Device,
) -> Result<Decision<Session>, Error> {
    let id = fields::read::<UserId>(user.get("id"), || "a user".to_owned(), "id");
    let id = id.ok_or(Refusal::WrongCredentials)?;
    let key = keys::user(id);
    let mut query = Query::new();
    let newest = query.sorted_range(keys::user_sessions(id), Order::Descending, 0, 1);
    let newest = site.store.query(query).await?.take(newest).first().map(|(_, score)| *score);
    let fresh = Session::new(id)?;
    let apisecret = user.get("apisecret").filter(|secret| !secret.is_empty());
    let session =
        Session { apisecret: apisecret.map_or_else(|| fresh.apisecret.clone(), str::to_owned), ..fresh };
    let mut batch = Batch::new();
    // Fails if the password has changed meanwhile: this login used the old one.
    batch.field_equals(&key, "password", &stored.hash);
    batch.field_unchanged(&key, "apisecret", user.get("apisecret"));
    if apisecret.is_none() {
        batch.set_field(&key, "apisecret", &session.apisecret);
    }
    if let Some(hash) = &upgraded {
        set_password(&mut batch, id, hash);
    }
    if user.get("seen_time").is_none() {
        batch.set_field(&key, "seen_time", now.to_string());
    }
    session_store::write_new(&mut batch, now, &session, &Opening { device, newest });
    Ok(Decision::commit(batch, session))
}

/// Logs a user out: ends this session. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn log_out(site: &Site, session: &VisitSession) -> Result<(), Error> {
    let mut batch = Batch::new();
    session_store::end_one(&mut batch, session.user_id, &session.key);
    site.apply(batch).await?;
    Ok(())
}

/// The sessions of the user whose session this is, the newest first. Rounds: 2.
///
/// # Errors
/// When the store fails.
pub async fn list(site: &Site, session: &VisitSession) -> Result<Vec<OpenSession>, Error> {
    session_store::list(site, session).await
}

/// Ends one session of the user whose session this is.
///
/// # Errors
/// [`Refusal::NoSuchSession`], or the store's.
pub async fn end_session(site: &Site, session: &VisitSession, id: &str) -> Result<(), Error> {
    let user_id = session.user_id;
    let all = AllSessions::read(site, user_id).await?;
    let key = match id {
        EARLIER_ID => all.earlier().map(SessionKey::Earlier),
        id => all.find(id).map(SessionKey::Session),
    };
    let mut batch = Batch::new();
    // Whoever asks must still have a session when the other one ends.
    let still = session.key.check(&mut batch, user_id);
    session_store::end_one(&mut batch, user_id, &key.ok_or(Refusal::NoSuchSession)?);
    match site.apply(batch).await? {
        Applied::No(check) if check == still => Err(Refusal::SessionEnded.into()),
        Applied::Yes(_) | Applied::No(_) => Ok(()),
    }
}

/// Ends all sessions of a user but this one, and replaces the secret of forms, which the
/// other sessions knew. Forms that are open in this session keep working.
///
/// # Errors
/// [`Refusal::SessionEnded`], or the store's.
pub async fn end_other_sessions(site: &Site, user: &User, session: &VisitSession) -> Result<(), Error> {
    let key = keys::user(user.id);
    site.act(&key, || async {
        let all = AllSessions::read(site, user.id).await?;
        let mut batch = Batch::new();
        let still = session.key.check(&mut batch, user.id);
        all.end(&mut batch, Some(&session.key));
        let secret = random_token()?;
        batch.set_field(&key, "apisecret", &secret);
        session_store::replace_secret(&mut batch, &session.key, &user.apisecret, &secret);
        Ok(Decision::commit(batch, ()).if_rejected_by(still, Err(Refusal::SessionEnded.into())))
    })
    .await
}

/// Adds a new password hash to a batch, and removes what an older hash needed.
pub(crate) fn set_password(batch: &mut Batch, id: UserId, hash: &str) {
    batch.set_field(keys::user(id), "password", hash);
    batch.delete_field(keys::user(id), "salt");
}

/// What takes the place of all sessions of an account.
pub(crate) struct Replacement<'a> {
    /// The new secrets.
    pub(crate) session: Session,
    /// What the new session is opened from; `None` opens none, so that only the secret of
    /// forms is used.
    pub(crate) device: Option<&'a Device>,
    /// The time.
    pub(crate) now: Timestamp,
}

/// Ends all sessions of an account and replaces the secret of forms, with further writes in
/// the same batch.
///
/// `further` may add checks that decide whether the caller may do this. If one of them fails,
/// nothing is written and the result is `false`.
pub(crate) async fn end_all_sessions(
    site: &Site,
    replacement: &Replacement<'_>,
    further: impl Fn(&mut Batch) -> Vec<CheckId>,
) -> Result<bool, Error> {
    let Replacement { session, device, now } = replacement;
    let user_id = session.user_id;
    let key = keys::user(user_id);
    site.act(&key, || async {
        let all = AllSessions::read(site, user_id).await?;
        if !all.has_owner {
            return Err(Refusal::NoSuchUser.into());
        }
        let mut batch = Batch::new();
        let demanded = further(&mut batch);
        all.end(&mut batch, None);
        batch.set_field(&key, "apisecret", &session.apisecret);
        if let Some(device) = device {
            session_store::write_new(&mut batch, *now, session, &Opening { device, newest: all.newest });
        }
        let decided = Decision::commit(batch, true);
        Ok(demanded.into_iter().fold(decided, |decided, check| decided.if_rejected_by(check, Ok(false))))
    })
    .await
}
