//! Banning networks and e-mail domains, and whom a ban would stop.

use super::{ModerationRequest, moderate};
use crate::accounts::{origin_bans, origins};
use crate::values::{
    BanScope, BannedOrigin, Deed, Hours, ModerationId, Moment, OriginBan, OriginBanId, Reason, STAFF_CHUNK,
    Thing, Timestamp, UserId,
};
use crate::{Result, Site, User, draws, fields, keys};
use std::net::Ipv4Addr;
use tidings_keyspace::{Fetch, read};

/// A ban to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOriginBan {
    /// The network or the domain.
    pub origin: BannedOrigin,
    /// The actions that people from there cannot take.
    pub scope: BanScope,
    /// Why. Those whom it stops read it.
    pub reason: Reason,
    /// For how long.
    pub hours: Hours,
}

/// A ban with what it has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBan {
    /// The ban.
    pub ban: OriginBan,
    /// The sign-ups and posts that it has stopped.
    pub stopped: u64,
}

/// Bans an origin. Returns the number of the ban, and that of the line in the log.
///
/// # Errors
/// [`crate::Refusal::AdministratorsOnly`], [`crate::Refusal::TooManyOriginBans`], those of [`moderate`], or the
/// store's.
pub async fn add(
    site: &Site,
    now: Moment,
    administrator: &User,
    ban: &NewOriginBan,
) -> Result<(OriginBanId, ModerationId)> {
    administrator.require_admin()?;
    administrator.demand_may_moderate(now)?;
    let id: OriginBanId = draws::next_id(site, keys::ORIGIN_BANS_COUNT).await?;
    let deed = Deed::Bar(ban.origin.clone(), ban.scope, ban.hours);
    let request = ModerationRequest::new(deed, Thing::Origin(id), ban.reason.clone());
    Ok((id, moderate(site, now, administrator, &request).await?))
}

/// All bans that have not ended, by number. Rounds: 1, and those of `origin_bans::of_site`.
///
/// # Errors
/// [`crate::Refusal::AdministratorsOnly`], or the store's.
pub async fn all(site: &Site, now: Timestamp, viewer: &User) -> Result<Vec<ListedBan>> {
    viewer.require_admin()?;
    let bans = origin_bans::of_site(site, now).await?;
    let stopped = site.store.fetch(read::hash(keys::ORIGIN_BANS_STOPPED).or_absent()).await?;
    let in_force = bans.iter().filter(|ban| ban.is_in_force(now));
    let listed = in_force.map(|ban| {
        let id = ban.id.to_string();
        let key = || keys::ORIGIN_BANS_STOPPED.to_owned();
        let stopped = fields::read::<u64>(stopped.get(&id), key, &id).unwrap_or(0);
        ListedBan { ban: ban.clone(), stopped }
    });
    Ok(listed.collect())
}

/// How many members who were active in the last week a ban of an origin would stop: who have posted from a
/// network, or visited with an address of a domain. `None` if that cannot be counted: the network is too wide, the
/// site keeps no addresses, or it has more than `COUNTED_ACCOUNTS`. Rounds: see `origins::posted_from`; for
/// a domain at most 41.
///
/// # Errors
/// [`crate::Refusal::AdministratorsOnly`], or the store's.
pub async fn stops(site: &Site, now: Timestamp, viewer: &User, origin: &BannedOrigin) -> Result<Option<u64>> {
    viewer.require_admin()?;
    match origin {
        BannedOrigin::Network(network) => origins::posted_from(site, now, *network).await,
        BannedOrigin::Domain(_) => visited_with(site, now, origin).await,
    }
}

/// The most accounts whose e-mail addresses are compared with a domain.
const COUNTED_ACCOUNTS: u64 = 20_000;
/// The seconds in which a member was active.
const ACTIVE_SECONDS: u64 = 7 * 86_400;

/// How many members of the last week have an e-mail address of a domain. Addresses are not indexed, so
/// all accounts are looked at, 500 in a round.
async fn visited_with(site: &Site, now: Timestamp, origin: &BannedOrigin) -> Result<Option<u64>> {
    let last = site.store.fetch(fields::counter(keys::USERS_COUNT)).await?;
    if last > COUNTED_ACCOUNTS {
        return Ok(None);
    }
    let mut found = 0;
    for first in (1..=last).step_by(usize::try_from(STAFF_CHUNK).unwrap_or(1)) {
        let ids = first..=last.min(first + STAFF_CHUNK - 1);
        let fields = |id| read::fields(keys::user(UserId(id)), ["email", "seen_time"]).or_absent();
        for [email, seen] in site.store.fetch(ids.map(fields).collect::<Vec<_>>()).await? {
            let seen = seen.and_then(|seen| seen.parse().ok()).map_or(0, |seen: u64| seen);
            let is_active = now.0.saturating_sub(seen) <= ACTIVE_SECONDS;
            let is_of = email.is_some_and(|email| origin.is_of(Ipv4Addr::UNSPECIFIED.into(), &email));
            found += u64::from(is_active && is_of);
        }
    }
    Ok(Some(found))
}
