//! Groups of accounts that vote for each other far more than chance would have it.
//!
//! A search reads the votes of the last 90 days on stories and comments, some at a time, and
//! compares them with what chance would make of them (`null_model`, `ties`, `groups`). It
//! explains and proposes; only a person acts. `docs/vote-rings.md` describes the method, and the
//! simulation that measures it (`simulation`).
//!
//! It has no keys of its own, and writes nothing.

mod ballots;
mod chance;
mod groups;
mod null_model;
mod reading;
#[cfg(test)]
mod simulation;
mod ties;

use crate::accounts::users::{PeopleRead, User};
use crate::error::{Error, Refusal};
use crate::report::{BackgroundCheck, VoteRing, VoteRingReport};
use crate::site::Site;
use crate::values::clock::Timestamp;
use ballots::{Account, Ballots};
use std::collections::BTreeSet;
use std::sync::Arc;
use tidings_keyspace::Query;
use ties::{Tie, Ties};

/// A group as the statistics find it.
struct Found {
    group: Vec<Account>,
    tie: Tie,
    median_seconds: Option<u64>,
}

/// Looks for vote rings. Rounds: one for 250 stories, and one for 250 of their comments.
/// Memory: about 60 MiB for a million votes, which is the most that is read.
///
/// # Errors
/// When the store fails.
pub async fn check(site: &Site, now: Timestamp) -> Result<VoteRingReport, Error> {
    let reading::Read { ballots, stories, is_cut } = reading::read(site, now).await?;
    let votes = u64::try_from(ballots.votes.len()).unwrap_or(u64::MAX);
    // Other requests go on meanwhile.
    let searched = tokio::task::spawn_blocking(move || (search(&ballots), ballots)).await;
    let (found, ballots) =
        searched.map_err(|error| Error::Internal(format!("cannot look for vote rings: {error}")))?;
    let mut groups = Vec::with_capacity(found.len());
    for found in found {
        groups.extend(named(site, &ballots, found).await?);
    }
    Ok(VoteRingReport { groups, stories, votes, is_cut })
}

/// Starts a search in the background, for a moderator. If one runs already, there is
/// nothing to do. The result is in [`Site::vote_rings`] once it is there.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`].
pub fn start(site: &Arc<Site>, now: Timestamp, viewer: &User) -> Result<(), Refusal> {
    viewer.require_moderator()?;
    let site = site.clone();
    tokio::spawn(async move {
        let Some(running) = site.of::<BackgroundCheck<VoteRingReport>>().begin() else { return };
        match check(&site, now).await {
            Ok(report) => running.keep(now, report),
            Err(error) => tracing::warn!(%error, "the search for vote rings has failed"),
        }
    });
    Ok(())
}

/// The groups in some votes.
fn search(ballots: &Ballots) -> Vec<Found> {
    let groups = groups::find(&Ties::of(ballots));
    let found = groups.into_iter().map(|(group, tie)| {
        let median_seconds = median_seconds(ballots, &group);
        Found { group, tie, median_seconds }
    });
    found.collect()
}

/// The median time from posting to the votes of a group for each other.
fn median_seconds(ballots: &Ballots, group: &[Account]) -> Option<u64> {
    let members: BTreeSet<Account> = group.iter().copied().collect();
    let within = ballots
        .votes
        .iter()
        .filter(|vote| members.contains(&vote.voter) && members.contains(&ballots.item(**vote).author));
    let mut delays: Vec<u32> = within.filter_map(|vote| vote.delay).collect();
    delays.sort_unstable();
    delays.get(delays.len() / 2).map(|delay| u64::from(*delay))
}

/// A group with names; `None` if too few of its accounts are left. Rounds: 1.
async fn named(site: &Site, ballots: &Ballots, found: Found) -> Result<Option<VoteRing>, Error> {
    let Found { group, tie, median_seconds } = found;
    let mut ids: Vec<_> =
        group.iter().filter_map(|account| ballots.accounts.get(*account as usize).copied()).collect();
    ids.sort_unstable();
    let mut query = Query::new();
    let people = PeopleRead::ask(&mut query, ids.iter().copied());
    let people = people.take(&mut site.store.query(query).await?);
    // Accounts that are deactivated have no names, and vote no more.
    let known = ids.into_iter().filter_map(|id| Some((people.get(id)?.username.clone(), id)));
    let (accounts, ids): (Vec<String>, Vec<_>) = known.unzip();
    Ok((ids.len() >= groups::SMALLEST).then(|| VoteRing {
        accounts,
        ids,
        shared_votes: tie.all_votes(),
        expected_votes: (tie.expected * 100.0).round() / 100.0,
        share: tie.share(groups::plain_share),
        median_seconds,
        same_network: false,
    }))
}
