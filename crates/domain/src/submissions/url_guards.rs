//! The keys that guard against reposts of a URL: they hold the story that has it.

use crate::accounts::users::User;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::news::item::News;
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::NewsId;
use crate::values::text_forms::{list_text, record_text};
use crate::values::urls::NewsUrl;
use crate::values::withheld::Withheld;
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Fetch, read};

/// The guards that hold a certain story, and when they end. Stored as `<end> <key>`, a line for
/// each; the end in milliseconds since 1970, 0 for never.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UrlGuards(Vec<UrlGuard>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct UrlGuard {
    key: String,
    until: u64,
}

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

/// The guards that hold a story now. Rounds: 1, none for a text.
pub(crate) async fn own(site: &Site, now: Moment, news: &News) -> Result<UrlGuards, Error> {
    let Ok(url) = NewsUrl::parse_imported(&news.url) else {
        return Ok(UrlGuards::default());
    };
    let own = news.id.to_string();
    let mut keys = keys::urls(&url);
    keys.push(keys::likely_url(&url));
    let reads: Vec<_> = keys.iter().map(|key| (read::string(key), read::expiry(key))).collect();
    let mut guards = Vec::new();
    for (key, (holder, expiry)) in keys.into_iter().zip(site.store.fetch(reads).await?) {
        if holder.as_ref() == Some(&own) {
            guards.push(UrlGuard { key, until: end_of(now, expiry) });
        }
    }
    Ok(UrlGuards(guards))
}

fn end_of(now: Moment, expiry: Expiry) -> u64 {
    match expiry {
        Expiry::In(left) => now.0.saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        Expiry::Absent | Expiry::Never => 0,
    }
}

impl UrlGuards {
    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is at a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|guard| guard.key == key)
    }

    /// Adds to a batch that they no longer hold the story.
    pub(crate) fn lift(&self, batch: &mut Batch, id: NewsId) {
        for UrlGuard { key, .. } in &self.0 {
            batch.string_equals(key, id.to_string());
            batch.delete(key);
        }
    }

    /// Those that have not ended since, and that no other story has taken. Rounds: 1.
    pub(crate) async fn free(self, site: &Site, now: Moment, id: NewsId) -> Result<Self, Error> {
        let keys: Vec<String> = self.0.iter().map(|guard| guard.key.clone()).collect();
        let (holders, own) = (holders(site, &keys).await?, id.to_string());
        let is_taken = |key: &str| holders.iter().any(|(held, holder)| held == key && *holder != own);
        let is_free = |guard: &UrlGuard| (guard.until == 0 || guard.until > now.0) && !is_taken(&guard.key);
        Ok(Self(self.0.into_iter().filter(is_free).collect()))
    }

    /// Makes a batch fail if somebody takes one of their keys, except for those that hold the
    /// story already.
    pub(crate) fn demand_free(&self, batch: &mut Batch, own: &Self) {
        for guard in self.0.iter().filter(|guard| !own.has(&guard.key)) {
            batch.key_absent(&guard.key);
        }
    }

    /// Adds to a batch that they hold the story again, for as long as they would have.
    pub(crate) fn put_back(&self, batch: &mut Batch, now: Moment, id: NewsId) {
        for UrlGuard { key, until } in &self.0 {
            match until.saturating_sub(now.0) {
                _ if *until == 0 => batch.set(key, id.to_string()),
                left => batch.set_expiring(key, id.to_string(), Duration::from_millis(left)),
            }
        }
    }
}

/// The stories that hold the keys of a URL, as somebody who posts it sees them.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    /// The story that has the URL already.
    pub(crate) earlier: Option<NewsId>,
    /// The keys of stories whose text the person may not see, as they are stored. They give way.
    hidden: Vec<(String, String)>,
}

impl Holders {
    /// Looks at what holds some keys. Rounds: 1, none without any.
    pub(crate) async fn read(site: &Site, viewer: &User, held: Vec<(String, String)>) -> Result<Self, Error> {
        if held.is_empty() {
            return Ok(Self::default());
        }
        let holder = |(key, holder): &(String, String)| {
            let id: Option<NewsId> = fields::read_string(Some(holder), || key.clone());
            id.map(|id| read::hash_fields(keys::news(id), News::FIELDS).map(News::from_fields))
        };
        let stories = site.store.fetch(held.iter().map(holder).collect::<Vec<_>>()).await?;
        let mut holders = Self::default();
        for ((key, holder), news) in held.into_iter().zip(stories) {
            match news.flatten().filter(|news| shows_text(news, viewer)) {
                Some(news) => holders.earlier = holders.earlier.or(Some(news.id)),
                None => holders.hidden.push((key, holder)),
            }
        }
        Ok(holders)
    }

    /// Makes a batch fail if another story takes a key.
    pub(crate) fn demand_free(&self, batch: &mut Batch, key: &str) {
        match self.hidden.iter().find(|(hidden, _)| hidden == key) {
            Some((_, holder)) => batch.string_equals(key, holder),
            None => batch.key_absent(key),
        };
    }
}

/// Whether somebody may read a story.
fn shows_text(news: &News, viewer: &User) -> bool {
    match news.withheld {
        Some(Withheld::Removed(_) | Withheld::Held(_) | Withheld::Unreadable(_)) => {
            viewer.is_insider(news.user_id)
        }
        Some(Withheld::Erased) => false,
        Some(Withheld::Flagged | Withheld::Merged(_)) | None => true,
    }
}

/// Refuses a URL that another story has, if the person may read that one. Rounds: 2; 1 if nothing
/// holds it.
pub(crate) async fn refuse_url_of_others(
    site: &Site,
    viewer: &User,
    new_keys: &[String],
    own: &UrlGuards,
) -> Result<Holders, Error> {
    let mut held = holders(site, new_keys).await?;
    held.retain(|(key, _)| !own.has(key));
    let holders = Holders::read(site, viewer, held).await?;
    if holders.earlier.is_some() {
        return Err(Refusal::UrlPostedRecently.into());
    }
    Ok(holders)
}

/// Those of the keys that are present, with the item that each holds. Rounds: 1, none without
/// keys.
async fn holders(site: &Site, keys: &[String]) -> Result<Vec<(String, String)>, Error> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let found = site.store.fetch(keys.iter().map(read::string).collect::<Vec<_>>()).await?;
    Ok(keys.iter().zip(found).filter_map(|(key, holder)| Some((key.clone(), holder?))).collect())
}

/// A stored text that is no list of guards.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotGuards;

record_text!(UrlGuard or NotGuards: {until} " " {key});

list_text!(UrlGuards or NotGuards: "\n" lines());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_stored_and_read_back() {
        let guard = |key: &str, until| UrlGuard { key: key.to_owned(), until };
        let guards = UrlGuards(vec![guard("url:http://a.com/ b", 7), guard("url:x", 0)]);
        assert_eq!(guards.to_string(), "7 url:http://a.com/ b\n0 url:x");
        assert_eq!(guards.to_string().parse(), Ok(guards));
        assert_eq!("x url:x".parse::<UrlGuards>(), Err(NotGuards));
    }
}
