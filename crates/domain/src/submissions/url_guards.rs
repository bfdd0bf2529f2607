//! The keys that guard against reposts of a URL: they hold the story that has it, until they expire.
//!
//! A guard gives way where the person may not read the story. So removing a story and putting it back touch no guard.

use crate::values::{Closed, NewsId, NewsUrl, Timestamp};
use crate::{News, Refusal, Result, Site, User, fields, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// The keys of a URL: ours, and that of the original. None when that limit is off.
pub(crate) fn keys_of(site: &Site, url: &NewsUrl) -> Vec<String> {
    if site.rules.limits.repost_seconds == 0 { Vec::new() } else { keys::urls(url) }
}

/// Adds to a batch that a story holds a URL for some time, and all that is likely the same address.
pub(crate) fn hold(batch: &mut Batch, url: &NewsUrl, id: NewsId, life: Duration) {
    for key in [keys::url(&url.normalised()), keys::likely_url(url)] {
        batch.set_expiring(key, id.to_string(), life);
    }
}

/// All keys that can hold the URL of a story; none for a text.
fn keys_of_story(news: &News) -> Vec<String> {
    let Ok(url) = NewsUrl::parse_imported(&news.url) else { return Vec::new() };
    let mut keys = keys::urls(&url);
    keys.push(keys::likely_url(&url));
    keys
}

/// Adds to a batch that nothing names the URL of a story any more. Rounds: 1, none for a text.
pub(crate) async fn forget(site: &Site, batch: &mut Batch, news: &News) -> Result<()> {
    let own = news.id.to_string();
    let holders = holders(site, &keys_of_story(news)).await?;
    for (key, _) in holders.into_iter().filter(|(_, holder)| *holder == own) {
        batch.string_equals(&key, &own);
        batch.delete(key);
    }
    Ok(())
}

/// The stories that hold the keys of a URL, as somebody who posts it sees them.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    /// The story that has the URL already.
    pub(crate) earlier: Option<NewsId>,
    /// The keys that give way, with what they hold.
    giving_way: Vec<(String, String)>,
}

impl Holders {
    /// Looks at what holds some keys. Those of the story `own` give way. Rounds: 1, none without any.
    pub(crate) async fn read(
        site: &Site,
        viewer: &User,
        own: Option<NewsId>,
        held: Vec<(String, String)>,
    ) -> Result<Self> {
        if held.is_empty() {
            return Ok(Self::default());
        }
        let holder = |(key, holder): &(String, String)| {
            let id: Option<NewsId> = fields::read_string(Some(holder), || key.clone());
            let id = id.filter(|id| Some(*id) != own);
            id.map(News::by_id)
        };
        let stories = site.store.fetch(held.iter().map(holder).collect::<Vec<_>>()).await?;
        let mut holders = Self::default();
        for ((key, holder), news) in held.into_iter().zip(stories) {
            match news.flatten().filter(|news| shows_text(news, viewer)) {
                Some(news) => holders.earlier = holders.earlier.or(Some(news.id)),
                None => holders.giving_way.push((key, holder)),
            }
        }
        Ok(holders)
    }

    /// Makes a batch fail if another story takes a key.
    pub(crate) fn demand_free(&self, batch: &mut Batch, key: &str) {
        let holder = self.giving_way.iter().find(|(held, _)| held == key);
        batch.string_unchanged(key, holder.map(|(_, holder)| holder));
    }
}

/// Whether somebody who posts the URL of a story may read that.
fn shows_text(news: &News, viewer: &User) -> bool {
    match news.state().closed() {
        Some(Closed::Held) => viewer.is_insider(news.user_id),
        // Its author would be sent to what was rejected.
        Some(Closed::Removed) => news.unseen && viewer.is_insider(news.user_id),
        Some(Closed::Erased) => false,
        Some(Closed::Merged(_) | Closed::Deleted) | None => true,
    }
}

/// Adds to a batch that a story holds another URL instead of its own. A URL that comes back is held as long as one that the
/// story has had from the beginning, unless another story has taken it. Rounds: at most 3.
///
/// # Errors
/// [`Refusal::UrlPostedRecently`] for a new URL that another story has, if the person may read that one; or the store's.
pub(crate) async fn move_to(
    (site, now): (&Site, Timestamp),
    (viewer, news): (&User, &News),
    (url, comes_back): (&str, bool),
    batch: &mut Batch,
) -> Result<()> {
    let url = NewsUrl::parse_imported(url).ok();
    let new = url.as_ref().map(|url| keys_of(site, url)).unwrap_or_default();
    let held = Holders::read(site, viewer, Some(news.id), holders(site, &new).await?).await?;
    Refusal::UrlPostedRecently.when(held.earlier.is_some() && !comes_back)?;
    forget(site, batch, news).await?;
    let age = if comes_back { now.seconds_since(news.ctime) } else { 0 };
    let life = Duration::from_secs(site.rules.limits.repost_seconds.saturating_sub(age));
    if let Some(url) = url.filter(|_| held.earlier.is_none() && !life.is_zero()) {
        new.iter().for_each(|key| held.demand_free(batch, key));
        hold(batch, &url, news.id, life);
    }
    Ok(())
}

/// Those of the keys that are present, with the item that each holds. Rounds: 1, none without
/// keys.
async fn holders(site: &Site, keys: &[String]) -> Result<Vec<(String, String)>> {
    let found = site.store.fetch(keys.iter().map(read::string).collect::<Vec<_>>()).await?;
    Ok(keys.iter().zip(found).filter_map(|(key, holder)| Some((key.clone(), holder?))).collect())
}
