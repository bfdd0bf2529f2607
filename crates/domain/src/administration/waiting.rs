//! Work that waits for somebody, read for the page of administrators.

use crate::hooks::of_hash;
use crate::jobs::JobStatus;
use crate::queue::{Lane, LaneFigures};
use crate::{Result, Site, Visit, keys};
use tidings_keyspace::{Expiry, Store, read};

/// Work that waits for somebody, or that is held up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Rows of the review queue: flags, held posts, applications and appeals.
    pub reviews: u64,
    /// Seconds for which new accounts still wait for approval, because too many were created.
    pub signup_burst_seconds: Option<u64>,
}

/// Reads what waits. Rounds: 1.
pub async fn waiting(visit: &mut Visit) -> Result<Backlog> {
    let paused = read::expiry(keys::SIGNUP_PAUSED);
    let (reviews, paused) = visit.fetch((read::sorted_count(keys::REVIEW_QUEUE), paused)).await?;
    let signup_burst_seconds = match paused {
        Expiry::In(time) => Some(time.as_secs().max(1)),
        Expiry::Absent | Expiry::Never => None,
    };
    Ok(Backlog { reviews, signup_burst_seconds })
}

/// The work that waits for the servers of the site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queues {
    /// Background jobs.
    pub jobs: JobStatus,
    /// Mails.
    pub mails: LaneFigures,
    /// Messages to all webhooks.
    pub messages: u64,
    /// Feeds of which the hub is to be told.
    pub feeds: u64,
}

impl Queues {
    /// Reads it from the store of a site, counted in its place. Rounds: 1, and 1 with webhooks.
    ///
    /// # Errors
    /// The store's.
    pub async fn read(site: &Site, store: &Store) -> Result<Self> {
        let others = (read::field_count(keys::HUB_FEEDS), read::hash(keys::HOOKS));
        let (jobs, mails, (feeds, hooks)) =
            store.fetch((JobStatus::read(site), Lane::MAILS.waiting(), others)).await?;
        let lanes: Vec<_> = of_hash(&hooks).keys().map(|hook| Lane::of_hook(*hook).waiting()).collect();
        let lanes = if lanes.is_empty() { Vec::new() } else { store.fetch(lanes).await? };
        Ok(Self { jobs, mails, messages: lanes.iter().map(|lane| lane.count).sum(), feeds })
    }
}
