//! All stories in the order of their submission, for the sitemap.

use crate::values::{NewsId, WITHHELD};
use crate::{Result, Visit, fields, keys};
use tidings_keyspace::{Fetch, Order, read};

/// How many stories are listed. Rounds: 1.
pub async fn story_count(visit: &mut Visit) -> Result<u64> {
    visit.fetch(read::sorted_count(keys::NEWS_CRON)).await
}

/// Stories from the oldest on, without those that are withheld from readers. Rounds: 2.
pub async fn stories(visit: &mut Visit, start: u64, count: u64) -> Result<Vec<NewsId>> {
    let stories = visit.fetch(read::sorted_range(keys::NEWS_CRON, Order::Ascending, start, count)).await?;
    let stories: Vec<NewsId> = fields::members(stories, keys::NEWS_CRON, |(id, _)| id.parse().ok());
    let state =
        |id: NewsId| read::field(keys::news(id), WITHHELD).if_readable().map(move |state| (id, state));
    let states = visit.fetch_if_needed(stories.into_iter().map(state).collect::<Vec<_>>()).await?;
    let listed = states.into_iter().filter_map(|(id, state)| state?.is_none().then_some(id));
    Ok(listed.collect())
}
