//! Where sign-ups and posts come from, for moderators: who else has come from the same network.
//!
//! Keys: `network:<tag>:<date>` (who has posted from a network), `user:<id>:addresses:<date>`
//! (from which addresses a user has posted) and `networks:secret`.
//!
//! A network (the /24 of an IPv4 address, the /48 of an IPv6 address) has a tag: a keyed hash,
//! whose secret stays in the store. So a moderator sees that two people share a network, and not
//! which. Administrators see the addresses. Each key is of one day and expires when the day is too
//! old, so the store itself forgets all of it, even if no server runs.

use crate::values::{
    ADDRESSES_OF_A_DAY, Day, MAX_NEIGHBOURS, NEIGHBOUR_DAYS, NETWORKS_LOOKED_AT, Network, NetworkTag,
    PEOPLE_OF_A_NETWORK_AND_DAY, Timestamp, UserId,
};
use crate::{Result, Site, draws, fields, keys};
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Order, read};
use tokio::sync::OnceCell;

const SECONDS_A_DAY: u64 = 86_400;
/// The days in which people are counted whom a ban would stop.
const COUNTED_DAYS: u64 = 7;
/// The most networks with tags in a network whose people are counted.
const COUNTED_NETWORKS: usize = 256;

/// Where a sign-up or a post comes from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    address: IpAddr,
    tag: NetworkTag,
    /// How long it is kept, in days.
    days: u64,
}

impl Origin {
    /// The origin of what comes from an address; `None` if the site keeps none. Rounds: none,
    /// except once for each server, which then reads the secret.
    pub(crate) async fn of(site: &Site, address: IpAddr) -> Result<Option<Self>> {
        let days = site.rules.moderation.keep_addresses_days;
        if days == 0 {
            return Ok(None);
        }
        Ok(Some(Self { address, tag: tag_of(site, address).await?, days }))
    }
}

/// Adds to the batch of what a user does that it came from an origin, if that is kept.
pub(crate) fn write(origin: Option<&Origin>, batch: &mut Batch, now: Timestamp, user: UserId) {
    let Some(Origin { address, tag, days }) = origin else { return };
    let today = Day::of(now);
    // Counted from the beginning of the day, so that nothing is kept longer than is said.
    let kept = (days * SECONDS_A_DAY).saturating_sub(now.seconds_since(today.start()));
    let kept = Duration::from_secs(kept.max(1));
    for (list, member, most) in [
        (keys::network_people(tag, today), user.to_string(), PEOPLE_OF_A_NETWORK_AND_DAY),
        (keys::user_addresses(user, today), address.to_string(), ADDRESSES_OF_A_DAY),
    ] {
        batch.sorted_add(&list, member, now.as_score());
        batch.sorted_trim(&list, most);
        batch.expire(list, kept);
    }
}

/// The tag of the network of an address. Rounds: as [`network_secret`].
pub(crate) async fn tag_of(site: &Site, address: IpAddr) -> Result<NetworkTag> {
    Ok(NetworkTag::of(Network::of(address), network_secret(site).await?))
}

/// The secret, once this server has read it.
#[derive(Default)]
struct KnownSecret(OnceCell<String>);

crate::process_state::process_state!(KnownSecret);

/// The secret of the tags, and of the hashes of typed names. Rounds: none, except once for each
/// server.
pub(crate) async fn network_secret(site: &Site) -> Result<&str> {
    Ok(site.of::<KnownSecret>().0.get_or_try_init(|| draws::drawn_once(site, keys::NETWORKS_SECRET)).await?)
}

/// Where a user has posted from lately, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// The tag of the newest network; `None` if nothing is known.
    pub tag: Option<NetworkTag>,
    /// The others who have posted from the user's newest networks, by number.
    pub others: Vec<UserId>,
    /// The addresses, and when each was used last.
    pub addresses: Vec<(IpAddr, Timestamp)>,
}

/// Where a user has posted from. It looks at the five newest networks. Rounds: 2, 1 if nothing is
/// known.
pub(crate) async fn origins_of(site: &Site, now: Timestamp, user: UserId) -> Result<Origins> {
    let days = site.rules.moderation.keep_addresses_days;
    if days == 0 {
        return Ok(Origins::default());
    }
    let secret = network_secret(site).await?;
    let kept: Vec<Day> = Day::of(now).last(days).collect();
    let lists: Vec<String> = kept.iter().map(|day| keys::user_addresses(user, *day)).collect();
    let members = lists.iter().map(|key| read::sorted_range(key, Order::Descending, 0, u64::MAX));
    let members = site.store.fetch(members.collect::<Vec<_>>()).await?;
    let mut seen: BTreeMap<IpAddr, Timestamp> = BTreeMap::new();
    for (key, members) in lists.iter().zip(members) {
        let found = fields::members(members, key, |(address, score)| {
            Some((address.parse::<IpAddr>().ok()?, Timestamp::from_score(score)))
        });
        for (address, time) in found {
            let last = seen.entry(address).or_insert(time);
            *last = time.max(*last);
        }
    }
    let mut addresses: Vec<_> = seen.into_iter().collect();
    addresses.sort_by_key(|(address, time)| (std::cmp::Reverse(*time), *address));
    let mut tags: Vec<NetworkTag> = Vec::new();
    for (address, _) in &addresses {
        let tag = NetworkTag::of(Network::of(*address), secret);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags.truncate(NETWORKS_LOOKED_AT);
    // Addresses may be kept for longer than others are named.
    let named: Vec<Day> = Day::of(now).last(days.min(NEIGHBOUR_DAYS)).collect();
    let mut others = people_of(site, &tags, &named).await?;
    others.retain(|other| *other != user);
    others.truncate(MAX_NEIGHBOURS);
    Ok(Origins { tag: tags.into_iter().next(), others, addresses })
}

/// How many people have signed up or posted from a network in the last week; `None` if that cannot be
/// counted, because it has more than [`COUNTED_NETWORKS`] of the networks that have tags, or because the
/// site keeps no addresses. Rounds: 1, or 2 for a network that is narrower than those.
pub(crate) async fn posted_from(site: &Site, now: Timestamp, network: IpNet) -> Result<Option<u64>> {
    let days = site.rules.moderation.keep_addresses_days.min(COUNTED_DAYS);
    let parts: Vec<Network> = Network::parts_of(network).take(COUNTED_NETWORKS + 1).collect();
    if days == 0 || parts.len() > COUNTED_NETWORKS {
        return Ok(None);
    }
    let secret = network_secret(site).await?;
    let tags: Vec<NetworkTag> = parts.into_iter().map(|part| NetworkTag::of(part, secret)).collect();
    let days: Vec<Day> = Day::of(now).last(days).collect();
    let mut people = people_of(site, &tags, &days).await?;
    if !Network::is_wide(network) {
        let reads = people.iter().map(|user| {
            let keys = days.iter().map(|day| keys::user_addresses(*user, *day));
            keys.map(|key| read::sorted_range(key, Order::Descending, 0, u64::MAX)).collect::<Vec<_>>()
        });
        let addresses = site.store.fetch(reads.collect::<Vec<_>>()).await?;
        let is_inside = |(address, _): &(String, f64)| {
            address.parse().is_ok_and(|address: IpAddr| network.contains(&address.to_canonical()))
        };
        let mut addresses = addresses.into_iter();
        people.retain(|_| addresses.next().is_some_and(|of_days| of_days.iter().flatten().any(is_inside)));
    }
    Ok(Some(people.len() as u64))
}

/// The people who have posted from some networks on some days, by number. Rounds: 1.
pub(crate) async fn people_of(site: &Site, tags: &[NetworkTag], days: &[Day]) -> Result<Vec<UserId>> {
    let keys = tags.iter().flat_map(|tag| days.iter().map(move |day| keys::network_people(tag, *day)));
    let people = |key: String| {
        let people = read::sorted_range(&key, Order::Descending, 0, PEOPLE_OF_A_NETWORK_AND_DAY);
        people.map(move |people| fields::members(people, &key, |(user, _)| user.parse::<UserId>().ok()))
    };
    let mut people = site.store.fetch(keys.map(people).collect::<Vec<_>>()).await?.concat();
    people.sort_unstable();
    people.dedup();
    Ok(people)
}
