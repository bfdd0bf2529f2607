//! New voters and new hosts: how many there may be in 24 hours. A voter is only a UUID and a host
//! only a name, of which anyone can make any number, and the store keeps both.
//!
//! Each network of an address (`limits.new_voters_per_day`) brings only so many voters, and the
//! whole site gets only so many voters and hosts (`limits.new_voters_of_site_per_day`,
//! `limits.new_hosts_of_site_per_day`). When the site has got as many, voters with accounts and
//! networks that have brought nothing yet still vote.

use crate::rates::counted::{Counted, Limited};
use crate::values::{ClientNetworks, Network, Rules};
use crate::{Refusal, keys};
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, read};

/// How long a network counts as one that has brought somebody.
const WINDOW: Duration = Duration::from_secs(86_400);

/// The counts of newcomers from an address and on the whole site within 24 hours, as stored.
pub(super) struct Newcomers {
    network: Network,
    of_networks: Vec<Counted>,
    /// Whether the network has brought a voter or a host.
    has_brought: bool,
    voters: Counted,
    hosts: Counted,
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
    pub(super) fn of(rules: &Rules, address: IpAddr) -> impl Fetch<Value = Self> + use<> {
        let network = Network::of(address);
        let of_network = |of| Limited::NewVoters(of).counted(rules);
        let reads = (
            ClientNetworks::of(address).iter().map(of_network).collect::<Vec<_>>(),
            read::string(keys::brought_something(network)),
            Limited::NewVotersOfSite.counted(rules),
            Limited::NewHostsOfSite.counted(rules),
        );
        reads.map(move |(of_networks, has_brought, voters, hosts)| {
            let has_brought = has_brought.is_some();
            Self { network, of_networks, has_brought, voters, hosts }
        })
    }

    /// Counts what is new in the batch of a vote.
    ///
    /// # Errors
    /// [`Refusal::TooManyVoters`], [`Refusal::TooManyVotersOfSite`] or
    /// [`Refusal::TooManyHostsOfSite`].
    pub(super) fn write(&self, batch: &mut Batch, new: New) -> Result<(), Refusal> {
        for of_network in self.of_networks.iter().filter(|_| new.voter) {
            of_network.demand(|_| Refusal::TooManyVoters)?;
            of_network.add(batch);
        }
        if new.is_account {
            return Ok(());
        }
        let counts = [
            (new.voter, &self.voters, Refusal::TooManyVotersOfSite),
            (new.host, &self.hosts, Refusal::TooManyHostsOfSite),
        ];
        let (mut is_counted, mut is_reached) = (false, false);
        for (_, count, refusal) in counts.into_iter().filter(|(is_new, count, _)| *is_new && !count.is_off())
        {
            is_counted = true;
            if count.is_reached() {
                is_reached = true;
                if self.has_brought {
                    return Err(refusal);
                }
            }
            count.add_roughly(batch);
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
}
