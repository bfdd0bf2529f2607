//! Erasing a story: title, address and text are gone, and its thread stays.

use super::editing::{read_announcement, unchanged_since};
use super::url_guards;
use super::withdrawal::{ARTICLE, GUARDS};
use crate::accounts::inbox::Withdrawn;
use crate::articles::article::ArticleChange;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::entries::StoryEntries;
use crate::news::item::{EDITED, News, SOURCE, TEXT_SCHEME};
use crate::site::Site;
use crate::timelines::tweets;
use crate::unseen;
use crate::values::clock::Moment;
use crate::values::ids::NewsId;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use tidings_keyspace::Batch;

/// The title of a story that was erased.
pub(crate) const ERASED: &str = "[erased]";

/// Adds to a batch that a story is erased, whatever its state. The tweet that announces it is deleted. A story
/// that was merged into another stays so, for the comments in that thread. Returns the story as it was.
/// Rounds: at most 5.
///
/// # Errors
/// [`Refusal::NoSuchNews`], [`Refusal::ErasedAlready`], or the store's.
pub(crate) async fn erase(site: &Site, now: Moment, id: NewsId, batch: &mut Batch) -> Result<News, Error> {
    let reads = (News::by_id(id), ArticleChange::of(id), Withdrawn::of(Thing::Story(id)));
    let (news, article, record) = site.store.fetch(reads).await?;
    let news = news.ok_or(Refusal::NoSuchNews)?;
    if news.is_erased() || record.is_some_and(|record| record.earlier == Some(Withheld::Erased)) {
        return Err(Refusal::ErasedAlready.into());
    }
    let key = keys::news(id);
    unchanged_since(batch, &news);
    unseen::remove(batch, news.user_id, &Thing::Story(id));
    url_guards::own(site, now, &news).await?.lift(batch, id);
    if let Some(tweet) = read_announcement(site, &news).await? {
        tweets::delete(batch, &tweet);
    }
    batch.set_fields(&key, [("title", ERASED), ("url", TEXT_SCHEME)]);
    batch.delete_field(&key, EDITED);
    batch.delete_field(&key, SOURCE);
    batch.delete_field(&key, "topics");
    article.erase(batch, &news.topics);
    if !news.is_gone() {
        StoryEntries::of(&news).leave(batch);
    }
    if matches!(news.withheld, Some(Withheld::Merged(_))) && !news.deleted {
        // Its comments stay with the other story, and it stays erased when it is split off.
        Withdrawn::return_as(batch, &Thing::Story(id), &Withheld::Erased, &[ARTICLE, GUARDS]);
    } else {
        batch.delete(keys::withdrawn(&Thing::Story(id)));
        news.write_state(batch, Some(&Withheld::Erased));
    }
    Ok(news)
}
