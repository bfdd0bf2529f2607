//! All stories in the order of their submission, for the sitemap.

use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::values::ids::NewsId;
use crate::values::withheld::WITHHELD;
use tidings_keyspace::{Order, Query, read};

/// How many stories are listed. Rounds: 1.
pub async fn story_count(visit: &mut Visit) -> Result<u64, Error> {
    visit.fetch(read::sorted_count(keys::NEWS_CRON)).await
}

/// Stories from the oldest on, without those that are withheld from readers. Rounds: 2.
pub async fn stories(visit: &mut Visit, start: u64, count: u64) -> Result<Vec<NewsId>, Error> {
    let stories = visit.fetch(read::sorted_range(keys::NEWS_CRON, Order::Ascending, start, count)).await?;
    let stories: Vec<NewsId> = fields::members(stories, keys::NEWS_CRON, |(id, _)| id.parse().ok());
    let mut query = Query::new();
    let ask = |id: NewsId| (id, query.hash_fields(keys::news(id), [WITHHELD]).or_absent(&mut query));
    let states: Vec<_> = stories.into_iter().map(ask).collect();
    let mut answers = visit.run_if_asked(query).await?;
    let listed = states.into_iter().filter_map(|(id, read)| {
        let is_readable = answers.failure(&read).is_none();
        (is_readable && fields::only(answers.take(read)).is_none()).then_some(id)
    });
    Ok(listed.collect())
}
