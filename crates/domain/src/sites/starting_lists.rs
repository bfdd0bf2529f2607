//! Starting lists: sites that begin with votes, from a list made elsewhere.
//!
//! The votes are those of made-up voters, the same for every list and every
//! site: the first, the second, and so on. So a list can be imported again, in
//! the same or in a newer version: what is stored is brought to what it says.
//! Their UUIDs are drawn at random, since whoever knows one can vote with it.

use super::cast_vote::read_vote;
use super::tally::Tally;
use super::voting::{IS_BANNED, write_vote, write_voter};
use super::{CastVote, Verdict};
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use crate::values::hostname::Hostname;
use crate::values::limits::MAX_IMPORTED_SITE_VOTES;
use crate::values::voter_id::VoterId;
use tidings_keyspace::{Batch, Query};

/// A line of a starting list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The site.
    pub host: Hostname,
    /// Its votes: all good, or, below 0, all bad.
    pub votes: i64,
}

impl Listed {
    /// How many made-up voters vote on it.
    fn voters(&self) -> u64 {
        self.votes.unsigned_abs().min(MAX_IMPORTED_SITE_VOTES)
    }
}

/// The made-up voters of a site, from the first on.
pub struct StartingVoters(Vec<VoterId>);

impl StartingVoters {
    /// Finds or makes as many voters as the longest line of a list needs; those
    /// of earlier lists are found too. Rounds: 2.
    ///
    /// # Errors
    /// [`Error::Busy`] when another import runs at the same time, or the store's.
    pub async fn prepare(site: &Site, now: Timestamp, list: &[Listed]) -> Result<Self, Error> {
        let wanted = list.iter().map(Listed::voters).max().unwrap_or(0);
        let mut query = Query::new();
        let known = query.hash_fields(
            keys::IMPORTED_VOTERS,
            (1..=MAX_IMPORTED_SITE_VOTES).map(|number| number.to_string()),
        );
        let known = site.store.query(query).await?.take(known);
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

    /// Brings the votes of these voters on one site to what a list says, in one
    /// batch; votes of others stay, and those of voters that are banned. Returns
    /// how many votes changed. Rounds: 2.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn import(&self, site: &Site, time: Timestamp, listed: &Listed) -> Result<u64, Error> {
        site.act(&keys::link_votes(&listed.host), || async {
            let (batch, changed) = self.decide(site, time, listed).await?;
            if changed == 0 {
                return Ok(Decision::Done(0));
            }
            Ok(Decision::commit(batch, changed))
        })
        .await
    }

    async fn decide(&self, site: &Site, time: Timestamp, listed: &Listed) -> Result<(Batch, u64), Error> {
        let votes = keys::link_votes(&listed.host);
        let mut query = Query::new();
        let stored = query.hash_fields(&votes, self.0.iter().map(ToString::to_string));
        let banned: Vec<_> =
            self.0.iter().map(|voter| query.hash_fields(keys::voter(*voter), [IS_BANNED])).collect();
        let mut answers = site.store.query(query).await?;
        let stored = answers.take(stored);
        let verdict = if listed.votes < 0 { Verdict::Bad } else { Verdict::Good };
        let mut batch = Batch::new();
        let mut tally = Tally::default();
        let mut changed = 0;
        for (((number, voter), stored), banned) in (1_u64..).zip(&self.0).zip(stored).zip(banned) {
            let old = read_vote(&listed.host, stored.as_deref());
            let wanted = (number <= listed.voters()).then_some(verdict);
            let is_banned = answers.take(banned) != [Some("0".to_owned())];
            if is_banned || old.map(|vote| vote.verdict) == wanted {
                continue;
            }
            changed += 1;
            batch.field_unchanged(&votes, voter.to_string(), stored.as_deref());
            batch.field_equals(keys::voter(*voter), IS_BANNED, "0");
            if let Some(old) = old {
                tally.undo(&listed.host, *voter, old);
                batch.delete_field(&votes, voter.to_string());
                batch.sorted_remove(keys::voter_votes(*voter), listed.host.as_str());
            }
            if let Some(verdict) = wanted {
                let vote = CastVote { verdict, time };
                tally.add(&listed.host, *voter, vote);
                write_vote(&mut batch, &listed.host, *voter, vote);
            }
        }
        tally.write(&mut batch);
        Ok((batch, changed))
    }
}
