//! Help for somebody who is writing a submission: an earlier story with the same URL, and
//! the permission to fetch the title of the page.

use super::url_guards;
use crate::accounts::trust;
use crate::rates::{self, RatedAccount};
use crate::values::{Moment, NewsId, NewsUrl, RatedAction};
use crate::{Actor, News, Result, Site, fields, keys};
use tidings_keyspace::read;

/// The story that a submission of this URL would lead to now; `None` if it would be new.
/// Rounds: 2; 1 if there is none.
pub async fn find_duplicate(site: &Site, url: &NewsUrl) -> Result<Option<News>> {
    let url_keys = url_guards::keys_of(site, url);
    let found = site.store.fetch(url_keys.into_iter().map(fields::string).collect::<Vec<_>>()).await?;
    shown(site, found.into_iter().flatten().next()).await
}

/// A story, if everybody sees it. Rounds: 1, none without an id.
async fn shown(site: &Site, id: Option<NewsId>) -> Result<Option<News>> {
    let news = site.store.fetch(id.map(News::by_id)).await?;
    Ok(news.flatten().filter(|news| news.state().is_public()))
}

/// A recent story whose address is likely the one of this URL, although a submission would make a new story;
/// `None` if there is none. Rounds: 2; 1 if there is none.
pub async fn find_likely_duplicate(site: &Site, url: &NewsUrl) -> Result<Option<News>> {
    let same = url_guards::keys_of(site, url);
    if same.is_empty() {
        return Ok(None);
    }
    let same = same.iter().map(read::string).collect::<Vec<_>>();
    let (same, likely) = site.store.fetch((same, fields::string(keys::likely_url(url)))).await?;
    shown(site, likely.filter(|_| same.iter().all(Option::is_none))).await
}

/// Takes a token for fetching a title from the account and from the address. Administrators
/// need one too: the fetch is at the cost of another site. Rounds: 2 on a shared store.
///
/// # Errors
/// [`Refusal::TooManyRequests`](crate::Refusal::TooManyRequests), or the store's.
pub async fn admit_title_fetch(site: &Site, now: Moment, actor: Actor<'_>) -> Result<()> {
    let lacking = trust::of_acting(site, now.timestamp(), actor.user).await?;
    let account = RatedAccount { id: actor.id, lacking };
    rates::spend_for(site, now, RatedAction::FetchTitle, Some(account), actor.address).await
}
