//! The link with which an administrator logs in when the provider does not work. The operator makes it on the command
//! line. It is good once and for ten minutes.

use crate::accounts::log_in::{self, Entered, LoginGrant};
use crate::accounts::two_factor::second_step::Proof;
use crate::accounts::users::CREDENTIALS_VERSION;
use crate::accounts::{Device, Session, sealed};
use crate::audit::{AUDIT, COMMAND_LINE};
use crate::values::{Purpose, Timestamp, UserId, random_token};
use crate::{Error, Refusal, Result, Role, Site, User, keys};
use tidings_keyspace::{Hash, read};

/// The token of a link for an administrator.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::NotAnAdministrator`], or the store's.
pub async fn make(site: &Site, now: Timestamp, id: UserId) -> Result<String> {
    let hash = site.store.fetch(read::hash(keys::user(id))).await?;
    let user = User::from_hash(&hash).ok_or(Refusal::NoSuchUser)?;
    Refusal::NotAnAdministrator.when(user.given_role() != Role::Administrator)?;
    let text = format!("{id} {} {}", version(&hash), random_token()?);
    let token = sealed::seal((site, now), Purpose::LoginLink, (&text, "")).await?;
    tracing::info!(target: AUDIT, by = COMMAND_LINE, account = user.username, user = id.0, "made a login link");
    Ok(token)
}

/// The administrator whom a link logs in. Rounds: 1.
///
/// # Errors
/// [`Refusal::LoginLinkInvalid`], or the store's.
pub async fn owner(site: &Site, now: Timestamp, token: &str) -> Result<User> {
    let hash = stored(site, now, token).await?;
    Ok(User::from_hash(&hash).ok_or(Refusal::LoginLinkInvalid)?)
}

/// Logs an administrator in.
///
/// # Errors
/// [`Refusal::LoginLinkInvalid`]; [`Refusal::Banned`]; or the store's.
pub async fn log_in((site, now): (&Site, Timestamp), token: &str, device: &Device) -> Result<Session> {
    let opened = log_in::open(site, now, device, || async {
        let user = stored(site, now, token).await?;
        let proof = Proof::Link(token.to_owned());
        Ok(Entered::Session(LoginGrant { user, upgraded: None, proof }))
    });
    Ok(opened.await?.done().map_err(|_| Refusal::LoginLinkInvalid)?)
}

/// The administrator of a token, as stored. A link ends when the password changes.
async fn stored(site: &Site, now: Timestamp, token: &str) -> Result<Hash> {
    let invalid = || Error::from(Refusal::LoginLinkInvalid);
    let text = sealed::open((site, now), Purpose::LoginLink, (token, "")).await;
    let text = text.map_err(|error| if matches!(error, Error::Refused(_)) { invalid() } else { error })?;
    let (id, rest) = text.split_once(' ').ok_or_else(invalid)?;
    let id: UserId = id.parse().map_err(|_| invalid())?;
    let user = site.store.fetch(read::hash(keys::user(id))).await?;
    let is_administrator =
        User::from_hash(&user).is_some_and(|user| user.given_role() == Role::Administrator);
    let is_same = rest.split_once(' ').is_some_and(|(made_for, _)| made_for == version(&user));
    if is_administrator && is_same { Ok(user) } else { Err(invalid()) }
}

fn version(user: &Hash) -> &str {
    user.get(CREDENTIALS_VERSION).unwrap_or("0")
}
