//! A vote on a site as stored.

use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::values::clock::Timestamp;
use crate::values::day::{parse_moment, written};
use crate::values::hostname::Hostname;
use crate::values::voter_id::VoterId;
use std::fmt;
use std::str::FromStr;
use tidings_keyspace::Query;

/// A vote on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// +1.
    Good,
    /// -1.
    Bad,
}

impl Verdict {
    /// What it adds to the sum.
    #[must_use]
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

impl fmt::Display for CastVote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:+} {}", self.verdict.value(), written(self.time))
    }
}

/// The stored text is not a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAVote;

impl FromStr for CastVote {
    type Err = NotAVote;

    fn from_str(text: &str) -> Result<Self, NotAVote> {
        let (verdict, time) = text.split_once(' ').ok_or(NotAVote)?;
        let verdict = match verdict {
            "+1" => Verdict::Good,
            "-1" => Verdict::Bad,
            _ => return Err(NotAVote),
        };
        Ok(Self { verdict, time: parse_moment(time).map_err(|_| NotAVote)? })
    }
}

/// A voter's own votes on some hosts, in the order asked. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn own_votes(
    visit: &mut Visit,
    voter: VoterId,
    hosts: &[Hostname],
) -> Result<Vec<Option<CastVote>>, Error> {
    let mut query = Query::new();
    let voter = voter.to_string();
    let reads: Vec<_> =
        hosts.iter().map(|host| query.hash_fields(keys::link_votes(host), [voter.as_str()])).collect();
    let mut answers = visit.run(query).await?;
    let vote = |(read, host)| read_vote(host, fields::only(answers.take(read)).as_deref());
    Ok(reads.into_iter().zip(hosts).map(vote).collect())
}

/// A stored vote on a host; one that cannot be read counts as none. The log does not name
/// the field: it is the voter, who is a secret.
pub(super) fn read_vote(host: &Hostname, stored: Option<&str>) -> Option<CastVote> {
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
            assert_eq!(bad.parse::<CastVote>(), Err(NotAVote), "{bad:?}");
        }
    }
}
