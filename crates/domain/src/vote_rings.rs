//! Groups of accounts that vote for each other far more than would be likely by chance.
//!
//! A search reads the votes of the last 90 days on stories and comments, some at a time, and
//! compares them with what chance would make of them (`tidings_vote_rings`). It explains and
//! proposes; only a person acts.
//!
//! It has no keys of its own, and writes nothing.

mod reading;

use crate::accounts::{People, origins};
use crate::report::{BackgroundCheck, VoteRing, VoteRingReport};
use crate::values::{Timestamp, UserId};
use crate::{Error, Refusal, Result, Site, User};
use std::collections::HashSet;
use std::sync::Arc;
use tidings_vote_rings::{Found, SMALLEST, search};

/// Looks for vote rings. Rounds: one for 250 stories, and one for 250 of their comments.
/// Memory: about 60 MiB for a million votes, which is the most that is read.
pub async fn check(site: &Site, now: Timestamp) -> Result<VoteRingReport> {
    let reading::Read { ballots, stories, is_cut } = reading::read(site, now).await?;
    let votes = u64::try_from(ballots.len()).unwrap_or(u64::MAX);
    // Other requests go on meanwhile.
    let searched = tokio::task::spawn_blocking(move || search(&ballots)).await;
    let found = searched.map_err(|error| Error::Internal(format!("cannot look for vote rings: {error}")))?;
    let mut groups = Vec::with_capacity(found.len());
    for found in found {
        groups.extend(named(site, found).await?);
    }
    Ok(VoteRingReport { groups, stories, votes, is_cut })
}

/// Starts a search in the background, for a moderator. If one runs already, there is
/// nothing to do. The site keeps the result (`BackgroundCheck`) once it is there.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`].
pub fn start(site: &Arc<Site>, now: Timestamp, viewer: &User) -> Result<(), Refusal> {
    viewer.require_moderator()?;
    let site = site.clone();
    tokio::spawn(async move {
        let Some(running) = site.of::<BackgroundCheck<VoteRingReport>>().begin() else { return };
        match check_with_networks(&site, now).await {
            Ok(report) => running.keep(now, report),
            Err(error) => tracing::warn!(%error, "the search for vote rings has failed"),
        }
    });
    Ok(())
}

/// [`check`], which also says whether accounts of a ring came from the same network lately. Rounds: up to 3 more
/// for each of these accounts.
async fn check_with_networks(site: &Site, now: Timestamp) -> Result<VoteRingReport> {
    let mut report = check(site, now).await?;
    for ring in &mut report.groups {
        let mut tags = HashSet::new();
        for id in &ring.ids {
            let tag = origins::origins_of(site, now, *id).await?.tag;
            ring.same_network |= tag.is_some_and(|tag| !tags.insert(tag));
        }
    }
    Ok(report)
}

/// A group with names; `None` if too few of its accounts are left. Rounds: 1.
async fn named(site: &Site, found: Found) -> Result<Option<VoteRing>> {
    let Found { accounts, shared_votes, expected_votes, share, median_seconds } = found;
    let ids: Vec<UserId> = accounts.into_iter().map(UserId).collect();
    let people = site.store.fetch(People::of(ids.iter().copied())).await?;
    // Accounts that are deactivated have no names, and vote no more.
    let known = ids.into_iter().filter_map(|id| Some((people.get(id)?.username.clone(), id)));
    let (accounts, ids): (Vec<String>, Vec<_>) = known.unzip();
    Ok((ids.len() >= SMALLEST).then_some(VoteRing {
        accounts,
        ids,
        shared_votes,
        expected_votes,
        share,
        median_seconds,
        same_network: false,
    }))
}
