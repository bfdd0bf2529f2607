//! The choice of the first administrator of a site.
//!
//! On a server that only its own machine can reach, it is the first account that is created on
//! that machine. Everywhere else it is the person who opens the link in the server's log. The token
//! of the link is derived from the site's signing key, so that it stays the same over restarts, is
//! the same for all servers of a store, and is stored nowhere. It holds until somebody has become
//! an administrator, in any way: from then on `administrator.first` is stored.

use crate::accounts::roles;
use crate::accounts::two_factor::signing_key::{signing_key, signing_key_for_strangers};
use crate::accounts::users::ADMINISTRATOR_FLAG;
use crate::values::{Purpose, SigningKey, Timestamp, UserId, WelcomeToken};
use crate::{Decision, Refusal, Result, Role, Site, User, Visit, keys};
use tidings_keyspace::{Batch, Fetch, read};

/// Notes in a batch that a user becomes an administrator: the link ends.
pub(crate) fn write(batch: &mut Batch, id: UserId) {
    batch.set(keys::FIRST_ADMINISTRATOR, id.to_string());
}

fn token_of(key: &SigningKey) -> WelcomeToken {
    WelcomeToken::derived(&key.sign(Purpose::FirstAdministrator, &[]))
}

/// The user of the link, for [`demand_good`].
pub(crate) fn holder() -> impl Fetch<Value = Option<String>> {
    read::string(keys::FIRST_ADMINISTRATOR)
}

/// Refuses a token that is not good. Rounds: none once this server knows its key, else 1.
///
/// # Errors
/// [`Refusal::WelcomeLinkInvalid`], or the store's.
pub(crate) async fn demand_good(site: &Site, token: &WelcomeToken, holder: Option<String>) -> Result<()> {
    let right = token_of(&signing_key_for_strangers(site).await?);
    Refusal::WelcomeLinkInvalid.when(!right.matches(token) || holder.is_some())?;
    Ok(())
}

/// Refuses the token of a link that does not make anybody the first administrator. Rounds: 1, and
/// 1 more until this server knows its key.
///
/// # Errors
/// [`Refusal::WelcomeLinkInvalid`], or the store's.
pub async fn demand_token(visit: &mut Visit, token: &WelcomeToken) -> Result<()> {
    let holder = visit.fetch(holder()).await?;
    demand_good(visit.site(), token, holder).await
}

/// Makes a user with the token of the link the first administrator. Rounds: 2.
///
/// # Errors
/// [`Refusal::WelcomeLinkInvalid`], [`Refusal::NoSuchUser`], or the store's.
pub async fn become_administrator(site: &Site, viewer: &User, token: &WelcomeToken) -> Result<()> {
    let key = keys::user(viewer.id);
    site.act(keys::FIRST_ADMINISTRATOR, || async {
        let (holder, flags) = site.store.fetch((holder(), read::field(&key, "flags"))).await?;
        demand_good(site, token, holder).await?;
        let mut batch = Batch::new();
        batch.key_absent(keys::FIRST_ADMINISTRATOR);
        batch.key_present(&key);
        batch.field_unchanged(&key, "flags", flags.as_deref());
        let flags = flags.unwrap_or_default();
        if !flags.contains(ADMINISTRATOR_FLAG) {
            let new = format!("{ADMINISTRATOR_FLAG}{flags}");
            roles::write_role_password(&mut batch, viewer.id, [&flags, &new]);
            batch.set_field(&key, "flags", new);
        }
        write(&mut batch, viewer.id);
        Ok(Decision::commit(batch, ()))
    })
    .await?;
    tracing::info!(by = viewer.username, "the first administrator was made with the link in the log");
    Ok(())
}

/// How a new site gets its first administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacancy {
    /// The first account that is created on this machine.
    FirstAccount,
    /// The link in the server's log.
    LinkInLog,
}

/// The keys that say whether there was an administrator, and whether there are accounts.
const HOLDER_AND_COUNT: [&str; 2] = [keys::FIRST_ADMINISTRATOR, keys::USERS_COUNT];

/// How the site gets its first administrator; `None` if it has had one. Rounds: 1.
pub async fn vacancy(visit: &mut Visit) -> Result<Option<Vacancy>> {
    let [holder, count] = visit.fetch(HOLDER_AND_COUNT.map(read::string)).await?;
    let vacancy = if is_first_account_chosen(visit.site(), count.is_some()) {
        Vacancy::FirstAccount
    } else {
        Vacancy::LinkInLog
    };
    Ok(holder.is_none().then_some(vacancy))
}

/// Whether the first account that is created on this machine becomes the administrator.
fn is_first_account_chosen(site: &Site, is_used: bool) -> bool {
    !is_used && site.is_local && is_address_local(&site.address)
}

/// Logs the link for the first administrator at the start if it is needed. Rounds: those of
/// [`link`].
pub async fn announce(site: &Site, now: Timestamp) -> Result<()> {
    if let Some(link) = link(site, now).await? {
        tracing::warn!("{}", announcement(&link));
    }
    Ok(())
}

/// The link for the first administrator, unless there is an administrator, or the first account on
/// this machine will be it. It is a secret. Rounds: 1 once somebody was an administrator; else 4,
/// and 1 for each 500 accounts.
pub async fn link(site: &Site, now: Timestamp) -> Result<Option<String>> {
    let [holder, count] = site.store.fetch(HOLDER_AND_COUNT.map(read::string)).await?;
    if holder.is_some() {
        return Ok(None);
    }
    if let Some(found) = roles::somebody_else(site, now, Role::Administrator, &[]).await? {
        // A store of an earlier version, or of Lamer News.
        let mut batch = Batch::new();
        write(&mut batch, found.id);
        site.store.commit(batch).await?;
        return Ok(None);
    }
    match is_first_account_chosen(site, count.is_some()) {
        true => Ok(None),
        false => Ok(Some(make_link(site).await?)),
    }
}

/// Logs the link if nobody has become an administrator. Rounds: at most 4.
pub(crate) async fn announce_if_missing(site: &Site) -> Result<()> {
    if site.store.fetch(read::string(keys::FIRST_ADMINISTRATOR)).await?.is_none() {
        tracing::warn!("{}", announcement(&make_link(site).await?));
    }
    Ok(())
}

async fn make_link(site: &Site) -> Result<String> {
    let token = token_of(signing_key(site).await?);
    Ok(format!("{}/welcome?token={}", site.address, token.expose()))
}

/// The sentence about the link in the server's log and after an import, in the words of the front page. The link is the
/// only secret that is logged on purpose: whoever reads the log runs the server.
#[must_use]
pub fn announcement(link: &str) -> String {
    format!("this site is new: create the administrator's account at {link}")
}

/// Whether the address of a site is one that only its own machine can mean.
fn is_address_local(address: &str) -> bool {
    let host = url::Url::parse(address).ok();
    match host.as_ref().and_then(url::Url::host) {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
