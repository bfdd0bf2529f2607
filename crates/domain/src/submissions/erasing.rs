//! Erasing a story: title, address and text are gone, and its thread stays.

use super::{read_announcement, url_guards};
use crate::articles::stories::StoredStory;
use crate::news::item::News;
use crate::timelines::stored as tweets;
use crate::values::{Moment, NewsId};
use crate::{Error, Refusal, Site};
use tidings_keyspace::Batch;

/// Adds to a batch that a story is erased, whatever its state. The tweet that announces it is deleted. Returns the story
/// as it was. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchNews`], [`Refusal::ErasedAlready`], or the store's.
pub(crate) async fn erase(site: &Site, now: Moment, id: NewsId, batch: &mut Batch) -> Result<News, Error> {
    let story = site.store.fetch(StoredStory::by_id(id)).await?.ok_or(Refusal::NoSuchNews)?;
    if story.is_erased() {
        return Err(Refusal::ErasedAlready.into());
    }
    url_guards::forget(site, batch, &story).await?;
    if let Some(tweet) = read_announcement(site, &story).await? {
        tweets::delete(batch, &tweet);
    }
    let mut news = News::clone(&story);
    news.erase();
    story.change(batch, site, now.timestamp(), news);
    Ok(News::clone(&story))
}
