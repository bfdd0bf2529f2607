//! The stories that flags have hidden. They stay in the stored lists and in their numbers, so whoever tells a number of
//! stories takes those out that the asker does not see.

use super::item::News;
use crate::accounts::ShownIn;
use crate::values::{COUNTED_HIDDEN, NewsId, Thing};
use crate::{Result, Visit, keys};
use tidings_keyspace::{Fetch, Order, read};

/// The stories of the review queue. Those that flags have hidden are there until a moderator looks at them, and come first.
pub(crate) fn waiting() -> impl Fetch<Value = Vec<NewsId>> {
    let rows = read::sorted_range(keys::REVIEW_QUEUE, Order::Descending, 0, COUNTED_HIDDEN).or_absent();
    rows.map(|rows| {
        let story = |(row, _): &(String, f64)| match row.parse() {
            Ok(Thing::Story(id)) => Some(id),
            _ => None,
        };
        rows.iter().filter_map(story).collect()
    })
}

/// Those of the waiting stories that are in lists, and that flags have hidden from the viewer. Rounds: 1 if there are
/// some.
pub(crate) async fn among(visit: &mut Visit, waiting: Vec<NewsId>) -> Result<Vec<News>> {
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    visit.want_reader();
    let waiting: Vec<_> = waiting.into_iter().map(|id| News::by_id(id).or_absent()).collect();
    let mut stories: Vec<News> = visit.fetch(waiting).await?.into_iter().flatten().collect();
    visit.reader().await?;
    let perspective = visit.perspective();
    stories.retain(|news| news.state().is_listed() && !perspective.sees(news, ShownIn::Page));
    Ok(stories)
}

/// The stories in lists that flags have hidden from the viewer. Rounds: 1, and 1 if stories wait for a moderator.
pub(crate) async fn from_viewer(visit: &mut Visit) -> Result<Vec<News>> {
    visit.want_reader();
    let waiting = visit.fetch(waiting()).await?;
    among(visit, waiting).await
}

/// How many stories of a list the viewer sees, of the number of all. `has` tells which stories are in the list. Rounds:
/// those of `from_viewer`.
///
/// # Errors
/// The store's.
pub async fn count_seen(visit: &mut Visit, all: u64, has: impl Fn(&News) -> bool) -> Result<u64> {
    let hidden = from_viewer(visit).await?.iter().filter(|news| has(news)).count();
    Ok(all.saturating_sub(u64::try_from(hidden).unwrap_or(u64::MAX)))
}
