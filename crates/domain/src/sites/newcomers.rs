//! New voters and new hosts: how many there may be in 24 hours. A voter is only a UUID and a host
//! only a name, of which anyone can make any number, and the store keeps both.
//!
//! Each network of an address (`limits.new_voters_per_day`) brings only so many voters, and the
//! whole site gets only so many voters and hosts (`limits.new_voters_of_site_per_day`,
//! `limits.new_hosts_of_site_per_day`). When the site has got as many, voters with accounts and
//! networks that have brought nothing yet still vote. Each count is one key that expires.

use crate::error::Refusal;
use crate::keys;
use crate::values::network::{ClientNetworks, CountedNetwork, Network};
use crate::values::rules::LimitRules;
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, read};

/// How long newcomers are counted.
const WINDOW: Duration = Duration::from_secs(86_400);

/// The counts of newcomers from an address and on the whole site within 24 hours, as stored.
pub(super) struct Newcomers {
    network: Network,
    of_networks: Vec<(CountedNetwork, Option<String>)>,
    /// Whether the network has brought a voter or a host.
    has_brought: bool,
    voters: Option<String>,
    hosts: Option<String>,
}

/// The parts of a vote that are new.
#[derive(Debug, Clone, Copy)]
pub(super) struct New {
    pub(super) voter: bool,
    pub(super) host: bool,
    /// Whether the voter belongs to an account.
    pub(super) is_account: bool,
}

impl Newcomers {
    /// The counts of an address and of the whole site.
    pub(super) fn of(address: IpAddr) -> impl Fetch<Value = Self> {
        let network = Network::of(address);
        let of_network = |of| read::string(keys::new_voters(of)).map(move |count| (of, count));
        let reads = (
            ClientNetworks::of(address).iter().map(of_network).collect::<Vec<_>>(),
            read::string(keys::brought_something(network)),
            [keys::NEW_VOTERS_OF_SITE, keys::NEW_HOSTS_OF_SITE].map(read::string),
        );
        reads.map(move |(of_networks, has_brought, [voters, hosts])| {
            let has_brought = has_brought.is_some();
            Self { network, of_networks, has_brought, voters, hosts }
        })
    }

    /// Counts what is new in the batch of a vote.
    ///
    /// # Errors
    /// [`Refusal::TooManyVoters`], [`Refusal::TooManyVotersOfSite`] or
    /// [`Refusal::TooManyHostsOfSite`].
    pub(super) fn write(&self, batch: &mut Batch, rules: &LimitRules, new: New) -> Result<(), Refusal> {
        if new.voter {
            self.count_for_networks(batch, rules.new_voters_per_day)?;
        }
        if new.is_account {
            return Ok(());
        }
        let counts = [
            (
                new.voter,
                rules.new_voters_of_site_per_day,
                (keys::NEW_VOTERS_OF_SITE, &self.voters),
                Refusal::TooManyVotersOfSite,
            ),
            (
                new.host,
                rules.new_hosts_of_site_per_day,
                (keys::NEW_HOSTS_OF_SITE, &self.hosts),
                Refusal::TooManyHostsOfSite,
            ),
        ];
        let mut is_counted = false;
        let mut is_reached = false;
        for (is_new, most, (key, stored), refusal) in counts {
            if !is_new || most == 0 {
                continue;
            }
            is_counted = true;
            if number(stored.as_deref()) >= most {
                is_reached = true;
                if self.has_brought {
                    return Err(refusal);
                }
            }
            // The count itself is not checked: all new voters would compete for it, and a few too
            // many do no harm.
            match stored {
                Some(_) => {
                    batch.key_present(key);
                    batch.increment(key, 1);
                }
                None => begin(batch, key),
            }
        }
        if is_counted {
            let brought = keys::brought_something(self.network);
            if is_reached {
                batch.key_absent(&brought);
            }
            batch.set_expiring(brought, "1", WINDOW);
        }
        Ok(())
    }

    fn count_for_networks(&self, batch: &mut Batch, most: u64) -> Result<(), Refusal> {
        if most == 0 {
            return Ok(());
        }
        for (network, stored) in &self.of_networks {
            if number(stored.as_deref()) >= most.saturating_mul(network.factor().into()) {
                return Err(Refusal::TooManyVoters);
            }
            let key = keys::new_voters(*network);
            match stored {
                Some(stored) => {
                    batch.string_equals(&key, stored);
                    batch.increment(key, 1);
                }
                None => begin(batch, &key),
            }
        }
        Ok(())
    }
}

/// The first that is counted in 24 hours.
fn begin(batch: &mut Batch, key: &str) {
    batch.key_absent(key);
    batch.set_expiring(key, "1", WINDOW);
}

/// A stored count. One that cannot be read counts as over every limit.
fn number(stored: Option<&str>) -> u64 {
    stored.map_or(0, |stored| stored.parse().unwrap_or(u64::MAX))
}
