//! The stories that flags have hidden. They stay in the stored lists and in their numbers, so whoever tells a number of
//! stories takes those out that the asker does not see.

use super::item::News;
use super::listing;
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::values::limits::COUNTED_HIDDEN;
use crate::values::moderation::Thing;
use tidings_keyspace::{Fetch, Order, read};

/// The stories in lists that flags have hidden from the viewer. Each of them has a row in the review queue until a
/// moderator looks at it, where what is hidden comes first. Rounds: 1, and 1 if stories wait there.
pub(crate) async fn from_viewer(visit: &mut Visit) -> Result<Vec<News>, Error> {
    visit.want_reader();
    let rows = read::sorted_range(keys::REVIEW_QUEUE, Order::Descending, 0, COUNTED_HIDDEN).or_absent();
    let rows = visit.fetch(rows).await?;
    let waiting = rows.iter().filter_map(|(row, _)| match row.parse() {
        Ok(Thing::Story(id)) => Some(News::by_id(id).or_absent()),
        _ => None,
    });
    let waiting: Vec<_> = waiting.collect();
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let mut stories: Vec<News> = visit.fetch(waiting).await?.into_iter().flatten().collect();
    visit.reader().await?;
    let perspective = visit.perspective();
    stories.retain(|news| !news.is_gone() && !listing::sight_of(perspective, news).is_shown());
    Ok(stories)
}

/// How many stories there are that the viewer sees, of the number in the lists of all. Rounds: those of
/// `from_viewer`.
///
/// # Errors
/// The store's.
pub async fn count_seen(visit: &mut Visit, all: u64) -> Result<u64, Error> {
    let hidden = from_viewer(visit).await?.len();
    Ok(all.saturating_sub(u64::try_from(hidden).unwrap_or(u64::MAX)))
}
