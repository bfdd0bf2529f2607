//! Bans of networks and of e-mail domains, from which nobody signs up or posts. Administrators make them
//! (`moderation/origins.rs`); signing up and every action that posts ask here.
//!
//! All bans together are one cached value, so a check costs no round. The store counts the refusals of
//! each ban, with one write per refusal; the rates bound how often somebody can be refused.
//!
//! Keys: `bans:origins`, `bans:origins:count` and `bans:origins:stopped`.

use crate::cache::{MEBIBYTE, Shared, View};
use crate::values::{BanScope, OriginBan, OriginKind, Timestamp};
use crate::{Actor, Refusal, Result, Role, Site, User, fields, keys};
use std::net::{IpAddr, Ipv4Addr};
use tidings_keyspace::{Batch, Fetch, read};

crate::cache_kind! {
    /// The bans of the site.
    struct Banned: () => Vec<OriginBan>, "origin_bans", MEBIBYTE,
        |(), bans| bans.iter().map(|ban| size_of::<OriginBan>() + ban.reason.as_str().len()).sum::<usize>();
}

/// The bans of the site, also those that have ended. Rounds: 1; none once they are cached.
pub(crate) async fn of_site(site: &Site, now: Timestamp) -> Result<Shared<Vec<OriginBan>>> {
    let cache = site.caches.of::<Banned>();
    let view = View { store: &site.store, now, is_current: true };
    if let Some(bans) = cache.get(view, &()) {
        return Ok(bans);
    }
    let stored = site.store.fetch(read::hash(keys::ORIGIN_BANS).or_absent().tracked()).await?;
    let read = |(id, json): (String, String)| {
        let read = |json: &str| OriginBan::from_json(id.parse().ok()?, json);
        fields::parsed(Some(&*json), || keys::ORIGIN_BANS.to_owned(), &id, read)
    };
    let bans = stored.map(|stored| {
        let mut bans: Vec<OriginBan> = stored.0.into_iter().filter_map(read).collect();
        bans.sort_by_key(|ban| ban.id);
        bans
    });
    Ok(cache.insert(view, (), bans, None))
}

/// Refuses a member's new e-mail address whose domain is banned for signing up. Moderators and administrators may
/// have it. Rounds: those of [`of_site`], and a commit for a refusal.
///
/// # Errors
/// [`Refusal::OriginBanned`], or the store's.
pub(crate) async fn demand_may_have_email(
    site: &Site,
    now: Timestamp,
    user: &User,
    email: &str,
) -> Result<()> {
    if user.role() > Role::Member {
        return Ok(());
    }
    demand(site, now, BanScope::Signup, (None, email)).await
}

/// Refuses somebody who posts from a banned origin. Moderators and administrators may. Rounds: those of
/// [`of_site`], and a commit for a refusal.
///
/// # Errors
/// [`Refusal::OriginBanned`], or the store's.
pub(crate) async fn demand_may_post(site: &Site, now: Timestamp, author: &Actor<'_>) -> Result<()> {
    if author.user.role() > Role::Member {
        return Ok(());
    }
    demand(site, now, BanScope::Post, (Some(author.address), &author.user.email)).await
}

/// Refuses somebody who acts from a banned origin: an address, if it is known, or the domain of an e-mail address. Rounds:
/// those of [`of_site`], and a commit for a refusal.
///
/// # Errors
/// [`Refusal::OriginBanned`], or the store's.
pub(crate) async fn demand(
    site: &Site,
    now: Timestamp,
    scope: BanScope,
    (address, email): (Option<IpAddr>, &str),
) -> Result<()> {
    let bans = of_site(site, now).await?;
    let is_of = |ban: &OriginBan| match address {
        None if ban.origin.kind() == OriginKind::Network => false,
        address => ban.origin.is_of(address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), email),
    };
    let stops = |ban: &&OriginBan| ban.scope.covers(scope) && ban.is_in_force(now) && is_of(ban);
    let Some(ban) = bans.iter().find(stops) else { return Ok(()) };
    let mut batch = Batch::new();
    batch.increment_field(keys::ORIGIN_BANS_STOPPED, ban.id.to_string(), 1);
    site.store.commit(batch).await?;
    Err(Refusal::OriginBanned { kind: ban.origin.kind(), scope, reason: ban.reason.as_str().into() }.into())
}
