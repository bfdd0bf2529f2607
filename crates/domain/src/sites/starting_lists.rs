//! Starting lists: sites that start with votes from an imported list.
//!
//! The votes belong to generated voters, the same for every list and every site: the
//! first, the second, and so on. So a list can be imported again, in the same or a newer
//! version, and the stored votes become those of the list. The UUIDs of these voters are
//! random, since anyone who knows one can vote with it.

use super::cast_vote::{StoredVote, TracedVote, delete_vote};
use super::tally::{NetworkVotes, Tally};
use super::voting::{IS_BANNED, forget_host, write_voter};
use super::{CastVote, Verdict};
use crate::values::{Hostname, MAX_IMPORTED_SITE_VOTES, Timestamp, VoterId};
use crate::{Applied, Decision, Error, Result, Site, fields, keys};
use tidings_keyspace::{Batch, read};

/// A line of a starting list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The site.
    pub host: Hostname,
    /// Good votes, of the first generated voters.
    pub good: u64,
    /// Bad votes, of those after them.
    pub bad: u64,
}

impl Listed {
    /// A site with votes that are all good, or, below 0, all bad.
    pub const fn of(host: Hostname, votes: i64) -> Self {
        let count = votes.unsigned_abs();
        let [good, bad] = if votes < 0 { [0, count] } else { [count, 0] };
        Self { host, good, bad }
    }

    /// How many generated voters vote on it.
    fn voters(&self) -> u64 {
        self.good.saturating_add(self.bad).min(MAX_IMPORTED_SITE_VOTES)
    }

    /// The vote of a generated voter, by the voter's number.
    fn vote_of(&self, number: u64) -> Option<Verdict> {
        let verdict = if number <= self.good { Verdict::Good } else { Verdict::Bad };
        (number <= self.voters()).then_some(verdict)
    }
}

/// The generated voters of a site, from the first on.
pub struct StartingVoters(Vec<VoterId>);

impl StartingVoters {
    /// Finds or creates as many voters as the largest number of votes in the list needs.
    /// Voters of earlier lists are included. Rounds: 2.
    ///
    /// # Errors
    /// [`Error::Busy`] when another import runs at the same time, or the store's.
    pub async fn prepare(site: &Site, now: Timestamp, list: &[Listed]) -> Result<Self> {
        let wanted = list.iter().map(Listed::voters).max().unwrap_or(0);
        let known = site
            .store
            .fetch(read::hash_fields(
                keys::IMPORTED_VOTERS,
                (1..=MAX_IMPORTED_SITE_VOTES).map(|number| number.to_string()),
            ))
            .await?;
        let voter = |(number, voter): (u64, Option<String>)| {
            fields::read(voter.as_deref(), || keys::IMPORTED_VOTERS.to_owned(), &number.to_string())
        };
        let mut voters: Vec<VoterId> = (1..).zip(known).map_while(voter).collect();
        let mut batch = Batch::new();
        for number in (1..=wanted).skip(voters.len()) {
            let voter = VoterId::random()?;
            batch.field_absent(keys::IMPORTED_VOTERS, number.to_string());
            batch.set_field(keys::IMPORTED_VOTERS, number.to_string(), voter.to_string());
            write_voter(&mut batch, voter, now);
            voters.push(voter);
        }
        match site.apply(batch).await? {
            Applied::Yes(_) => Ok(Self(voters)),
            Applied::No(_) => Err(Error::Busy),
        }
    }

    /// Makes the votes of these voters on one site those of the list, in one batch. Votes
    /// of other voters and of banned voters stay. Returns the number of changed votes.
    /// They have no network, so each counts as a network of its own. Rounds: 2, and 1 if
    /// no vote of the list is left.
    pub async fn import(&self, site: &Site, time: Timestamp, listed: &Listed) -> Result<u64> {
        let key = keys::link_votes(&listed.host);
        let importing = site.act(&key, || async {
            let (batch, changed) = self.decide(site, time, listed).await?;
            if changed == 0 {
                return Ok(Decision::Done(0));
            }
            Ok(Decision::commit(batch, changed))
        });
        let changed = importing.await?;
        if changed > 0 && listed.voters() == 0 {
            forget_host(site, &listed.host, None).await?;
        }
        Ok(changed)
    }

    async fn decide(&self, site: &Site, time: Timestamp, listed: &Listed) -> Result<(Batch, u64)> {
        let banned: Vec<_> = self.0.iter().map(|voter| read::field(keys::voter(*voter), IS_BANNED)).collect();
        let other = listed.host.other_form();
        let of_other = other.as_ref().map(|other| StoredVote::on(other, &self.0));
        let reads = (StoredVote::on(&listed.host, &self.0), banned, of_other);
        let (stored, banned, of_other) = site.store.fetch(reads).await?;
        let mut of_other = of_other.unwrap_or_default().into_iter();
        let mut batch = Batch::new();
        let mut tally = Tally::default();
        let mut changed = 0;
        for (((number, voter), stored), banned) in (1_u64..).zip(&self.0).zip(stored).zip(banned) {
            let old = stored.read(&listed.host);
            let of_other = other.as_ref().zip(of_other.next());
            let wanted = listed.vote_of(number);
            let is_banned = banned.as_deref() != Some("0");
            if is_banned || old.map(|old| old.vote.verdict) == wanted {
                continue;
            }
            changed += 1;
            stored.check_unchanged(&mut batch, &listed.host, *voter);
            batch.field_equals(keys::voter(*voter), IS_BANNED, "0");
            if let Some((other, stored)) = of_other {
                stored.check_unchanged(&mut batch, other, *voter);
                if let Some(vote) = stored.read(other) {
                    tally.keep(other, *voter, vote);
                }
            }
            if let Some(old) = old {
                tally.undo(&listed.host, *voter, old);
                delete_vote(&mut batch, &listed.host, *voter);
            }
            if let Some(verdict) = wanted {
                let vote = TracedVote { vote: CastVote { verdict, time }, origin: None };
                tally.add(&listed.host, *voter, vote);
                vote.write(&mut batch, &listed.host, *voter);
            }
        }
        let networks = tally.read_networks(site, NetworkVotes::default()).await?;
        tally.write(&mut batch, &networks);
        Ok((batch, changed))
    }
}
