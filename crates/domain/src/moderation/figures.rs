//! The numbers of things that wait for moderators, and of their latest actions.

use super::log::{self, ShownModerator};
use crate::values::{Action, FIGURES_DAYS, FIGURES_LINES, Timestamp};
use crate::{Result, Visit, review};
use std::collections::BTreeMap;

/// The queue, and the decisions of the last [`FIGURES_DAYS`] days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueFigures {
    /// How many rows wait.
    pub waiting: u64,
    /// Since when the oldest of them waits.
    pub oldest: Option<Timestamp>,
    /// Half of the rows that were decided had waited at most so long, in seconds; `None` if none was.
    pub median_seconds: Option<u64>,
    /// How often each moderator did what, as the viewer may know it: the most usual first.
    pub deeds: Vec<(ShownModerator, Action, u64)>,
    /// Whether there were more lines than are counted.
    pub is_cut: bool,
}

/// The figures. Rounds: at most 26.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`](crate::Refusal::ModeratorsOnly), or the store's.
pub async fn figures(visit: &mut Visit) -> Result<QueueFigures> {
    visit.demand_moderator().await?;
    let since = Timestamp(visit.now().0.saturating_sub(FIGURES_DAYS * 86_400));
    let waiting = review::status(&visit.site_too()).await?;
    let lines = log::since(visit, since, FIGURES_LINES).await?;
    let is_cut = lines.len() >= FIGURES_LINES;
    let mut waits: Vec<u64> =
        lines.iter().filter_map(|line| Some(line.time.seconds_since(line.row?.place.since))).collect();
    waits.sort_unstable();
    let mut counts: BTreeMap<(String, &str), (ShownModerator, Action, u64)> = BTreeMap::new();
    for (moderator, action) in log::moderators_of(visit, lines).await? {
        let key = (format!("{moderator:?}"), action.name());
        counts.entry(key).or_insert((moderator, action, 0)).2 += 1;
    }
    let mut deeds: Vec<_> = counts.into_values().collect();
    deeds.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    Ok(QueueFigures {
        waiting: waiting.rows,
        oldest: waiting.oldest,
        median_seconds: waits.get(waits.len() / 2).copied(),
        deeds,
        is_cut,
    })
}
