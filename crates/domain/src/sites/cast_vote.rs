//! A vote on a site as stored, and where it came from.

use crate::values::{
    Hostname, Malformed, Network, Timestamp, VoterId, codec_of, parse_moment, read_text, record_text, shown,
    written,
};
use crate::{Result, Visit, fields, keys};
use tidings_keyspace::{Batch, Fetch, read};

/// A vote on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// +1.
    Good,
    /// -1.
    Bad,
}

impl Verdict {
    /// Its contribution to the sum.
    pub const fn value(self) -> i64 {
        match self {
            Self::Good => 1,
            Self::Bad => -1,
        }
    }
}

/// A vote as stored: `+1 2023-02-02T09:36:03Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CastVote {
    /// Good or bad.
    pub verdict: Verdict,
    /// When it was cast or changed last.
    pub time: Timestamp,
}

record_text!(CastVote or Malformed: {verdict Sign} " " {time Written});

codec_of! {
    /// `+1` or `-1`.
    Sign for Verdict: |verdict| format_args!("{:+}", verdict.value()),
        |text| match text {
            "+1" => Some(Verdict::Good),
            "-1" => Some(Verdict::Bad),
            _ => None,
        }
}

codec_of! {
    /// A moment as it is answered.
    Written for Timestamp: |time| written(*time),
        |text| parse_moment(text).ok()
}

/// Where a vote came from, as stored: `192.0.2.0/24`, or `192.0.2.0/24 account` for the vote
/// of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VoteOrigin {
    /// The network of the voter's address.
    pub(super) network: Network,
    /// Whether the voter belongs to an account.
    pub(super) is_account: bool,
}

/// The end of the origin of an account's vote, behind the network.
const ACCOUNT: &str = " account";

shown!(VoteOrigin: |origin| format_args!("{}{}", origin.network, if origin.is_account { ACCOUNT } else { "" }));

read_text!(VoteOrigin or Malformed: |text| {
    let network = text.strip_suffix(ACCOUNT);
    Some(Self { network: network.unwrap_or(text).parse().ok()?, is_account: network.is_some() })
});

/// A vote with all that the figures of its site depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TracedVote {
    pub(super) vote: CastVote,
    /// `None` for a vote that was stored without: it counts as a network of its own.
    pub(super) origin: Option<VoteOrigin>,
}

impl TracedVote {
    /// The network that the vote came from, if it is known.
    pub(super) fn network(&self) -> Option<Network> {
        self.origin.map(|origin| origin.network)
    }

    /// Adds the vote to a batch, without the totals.
    pub(super) fn write(&self, batch: &mut Batch, host: &Hostname, voter: VoterId) {
        let name = voter.to_string();
        batch.set_field(keys::link_votes(host), &name, self.vote.to_string());
        match self.origin {
            Some(origin) => batch.set_field(keys::link_origins(host), name, origin.to_string()),
            None => batch.delete_field(keys::link_origins(host), name),
        }
        batch.sorted_add(keys::voter_votes(voter), host.as_str(), self.vote.time.as_score());
        set_known(batch, host, true);
    }
}

/// Adds to a batch that a site is found by the beginning of its hash, or no longer.
pub(super) fn set_known(batch: &mut Batch, host: &Hostname, is_known: bool) {
    let key = keys::prefix(&host.hash());
    if is_known { batch.add_member(key, host.as_str()) } else { batch.remove_member(key, host.as_str()) }
}

/// Removes a vote in a batch, without the totals.
pub(super) fn delete_vote(batch: &mut Batch, host: &Hostname, voter: VoterId) {
    let name = voter.to_string();
    batch.delete_field(keys::link_votes(host), &name);
    batch.delete_field(keys::link_origins(host), name);
    batch.sorted_remove(keys::voter_votes(voter), host.as_str());
}

/// A vote on a host as stored, if there is one.
#[derive(Debug, Default)]
pub(super) struct StoredVote {
    pub(super) vote: Option<String>,
    pub(super) origin: Option<String>,
}

impl StoredVote {
    /// The votes of some voters on a host, in the order of the voters.
    pub(super) fn on(host: &Hostname, voters: &[VoterId]) -> impl Fetch<Value = Vec<Self>> + use<> {
        let names = || voters.iter().map(ToString::to_string);
        let votes = read::hash_fields(keys::link_votes(host), names());
        let origins = read::hash_fields(keys::link_origins(host), names());
        (votes, origins).map(|(votes, origins)| {
            votes.into_iter().zip(origins).map(|(vote, origin)| Self { vote, origin }).collect()
        })
    }

    /// The vote; one that cannot be read counts as none.
    pub(super) fn read(&self, host: &Hostname) -> Option<TracedVote> {
        let vote = read_vote(host, self.vote.as_deref())?;
        let origin = fields::read_string(self.origin.as_deref(), || keys::link_origins(host));
        Some(TracedVote { vote, origin })
    }

    /// Checks in a batch that the vote is still as it was read.
    pub(super) fn check_unchanged(&self, batch: &mut Batch, host: &Hostname, voter: VoterId) {
        batch.field_unchanged(keys::link_votes(host), voter.to_string(), self.vote.as_deref());
        batch.field_unchanged(keys::link_origins(host), voter.to_string(), self.origin.as_deref());
    }
}

/// A voter's own votes on some hosts, in the order asked. Rounds: 1.
pub async fn own_votes(
    visit: &mut Visit,
    voter: VoterId,
    hosts: &[Hostname],
) -> Result<Vec<Option<CastVote>>> {
    visit.fetch(votes_on(hosts, voter)).await
}

/// The read of a voter's votes on some hosts, in the order asked.
pub(crate) fn votes_on(hosts: &[Hostname], voter: VoterId) -> impl Fetch<Value = Vec<Option<CastVote>>> {
    let vote = |host: &Hostname| {
        let host = host.clone();
        let vote = read::field(keys::link_votes(&host), voter.to_string());
        vote.map(move |stored| read_vote(&host, stored.as_deref()))
    };
    hosts.iter().map(vote).collect::<Vec<_>>()
}

/// A stored vote on a host; one that cannot be read counts as none. The log does not name
/// the field: it is the voter, who is a secret.
fn read_vote(host: &Hostname, stored: Option<&str>) -> Option<CastVote> {
    fields::read_string(stored, || keys::link_votes(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_are_stored_with_sign_and_time() {
        let vote = CastVote { verdict: Verdict::Good, time: Timestamp(1_675_330_563) };
        assert_eq!(vote.to_string(), "+1 2023-02-02T09:36:03Z");
        assert_eq!("-1 2023-02-02T09:36:03Z".parse(), Ok(CastVote { verdict: Verdict::Bad, ..vote }));
        for bad in ["", "+1", "0 2023-02-02T09:36:03Z", "1 2023-02-02T09:36:03Z", "+1 yesterday"] {
            assert_eq!(bad.parse::<CastVote>(), Err(Malformed), "{bad:?}");
        }
    }

    #[test]
    fn origins_are_stored_with_the_network_and_the_kind_of_voter() {
        for (text, is_account) in [("192.0.2.0/24", false), ("2001:db8::/48 account", true)] {
            let origin: VoteOrigin = text.parse().unwrap();
            assert_eq!((origin.is_account, origin.to_string().as_str()), (is_account, text));
        }
        for bad in ["", "192.0.2.1", "192.0.2.0/24 ", "192.0.2.0/24 robot", "account"] {
            assert_eq!(bad.parse::<VoteOrigin>(), Err(Malformed), "{bad:?}");
        }
    }
}
