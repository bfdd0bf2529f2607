//! The keys that guard against reposts of a URL: they hold the story that has it.

use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::item::News;
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::NewsId;
use crate::values::urls::NewsUrl;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Query};

/// A guard that holds a certain story, and when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UrlGuard {
    key: String,
    /// In milliseconds since 1970; `None` for never.
    until: Option<u64>,
}

/// The keys of a URL: ours, and that of the original. None when that limit is off.
pub(crate) fn keys_of(site: &Site, url: &NewsUrl) -> Vec<String> {
    if site.rules.limits.repost_seconds == 0 { Vec::new() } else { keys::urls(url) }
}

/// The guards that hold a story, before it loses them. Rounds: 1, none for a text.
pub(crate) async fn own(site: &Site, now: Moment, news: &News) -> Result<Vec<UrlGuard>, Error> {
    let Ok(url) = NewsUrl::parse_imported(&news.url) else {
        return Ok(Vec::new());
    };
    let own = news.id.to_string();
    let mut query = Query::new();
    let reads: Vec<_> = keys::urls(&url)
        .into_iter()
        .map(|key| {
            let (holder, expiry) = (query.string(&key), query.expiry(&key));
            (key, holder, expiry)
        })
        .collect();
    let mut answers = site.store.query(query).await?;
    let mut guards = Vec::new();
    for (key, holder, expiry) in reads {
        let (holder, expiry) = (answers.take(holder), answers.take(expiry));
        if holder.as_ref() == Some(&own) {
            guards.push(UrlGuard { key, until: until(now, expiry) });
        }
    }
    Ok(guards)
}

fn until(now: Moment, expiry: Expiry) -> Option<u64> {
    match expiry {
        Expiry::In(left) => Some(now.0.saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))),
        Expiry::Absent | Expiry::Never => None,
    }
}

/// Adds to a batch that the guards no longer hold the story.
pub(crate) fn lift(batch: &mut Batch, id: NewsId, guards: &[UrlGuard]) {
    for guard in guards {
        batch.string_equals(&guard.key, id.to_string());
        batch.delete(&guard.key);
    }
}

/// Those of some former guards that are still to end, and that no other story has taken.
/// Rounds: 1.
pub(crate) async fn free(
    site: &Site,
    now: Moment,
    former: &[UrlGuard],
    id: NewsId,
) -> Result<Vec<UrlGuard>, Error> {
    let keys: Vec<String> = former.iter().map(|guard| guard.key.clone()).collect();
    let holders = holders(site, &keys).await?;
    let own = id.to_string();
    let is_free = |guard: &&UrlGuard| {
        let taken = holders.iter().any(|(key, holder)| *key == guard.key && *holder != own);
        !taken && guard.until.is_none_or(|until| until > now.0)
    };
    Ok(former.iter().filter(is_free).cloned().collect())
}

/// Adds to a batch that guards hold the story again, for as long as they would have.
pub(crate) fn put_back(batch: &mut Batch, now: Moment, id: NewsId, guards: &[UrlGuard]) {
    for guard in guards {
        match guard.until {
            Some(until) => {
                let left = Duration::from_millis(until.saturating_sub(now.0));
                batch.set_expiring(&guard.key, id.to_string(), left);
            }
            None => batch.set(&guard.key, id.to_string()),
        }
    }
}

/// Adds to a batch that nobody has taken some keys meanwhile.
pub(crate) fn demand_free<'a>(batch: &mut Batch, keys: impl Iterator<Item = &'a UrlGuard>) {
    for guard in keys {
        batch.key_absent(&guard.key);
    }
}

/// Refuses a URL that another story has.
pub(crate) async fn refuse_url_of_others(
    site: &Site,
    new_keys: &[String],
    own: &[UrlGuard],
) -> Result<(), Error> {
    let holders = holders(site, new_keys).await?;
    if holders.iter().any(|(key, _)| !own.iter().any(|guard| guard.key == *key)) {
        return Err(Refusal::UrlPostedRecently.into());
    }
    Ok(())
}

/// Those of the keys that are present, with the item that each holds. Rounds: 1.
async fn holders(site: &Site, keys: &[String]) -> Result<Vec<(String, String)>, Error> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = Query::new();
    let reads: Vec<_> = keys.iter().map(|key| (key, query.string(key))).collect();
    let mut answers = site.store.query(query).await?;
    Ok(reads.into_iter().filter_map(|(key, read)| Some((key.clone(), answers.take(read)?))).collect())
}

impl UrlGuard {
    /// Whether it is at this key.
    pub(crate) fn is_at(&self, key: &str) -> bool {
        self.key == key
    }

    /// The key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}
