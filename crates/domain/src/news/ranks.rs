//! Ranks as they are stored: refreshed by readers, set by writers, recomputed
//! by administrators.

use crate::accounts::users;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::item::News;
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use crate::values::ids::NewsId;
use crate::values::limits;
use crate::values::rules::RankingRules;
use std::sync::atomic::Ordering;
use tidings_keyspace::{Batch, Order, Query};

/// Seconds between two refreshes of the ranks of the front page.
const RANK_REFRESH_SECONDS: u64 = 5;
/// Ranks that differ by less than this fraction count as fresh.
const RANK_TOLERANCE: f64 = 0.001;

/// Stores the ranks of what was read, when they have changed and nobody has
/// done so in the last seconds. A failure costs little: a reader some seconds
/// later tries again.
pub(crate) async fn refresh_ranks<'a>(site: &Site, now: Timestamp, items: impl Iterator<Item = &'a News>) {
    let last = site.ranks_refreshed.load(Ordering::Relaxed);
    if now.0.abs_diff(last) < RANK_REFRESH_SECONDS
        || site.ranks_refreshed.compare_exchange(last, now.0, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return;
    }
    let stale = items.filter(|news| is_stale(news, now, &site.rules.ranking));
    match store_ranks(site, now, stale).await {
        // Votes in the same moment: they have stored the ranks of their items.
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "ranks not refreshed"),
    }
}

fn is_stale(news: &News, now: Timestamp, rules: &RankingRules) -> bool {
    let rank = news.rank(now, rules);
    news.stored_rank.is_none_or(|stored| (stored - rank).abs() > rank.abs() * RANK_TOLERANCE)
}

/// Stores score and rank of items as they were read, if nobody has voted on
/// any of them or deleted one meanwhile. Returns whether that was so.
async fn store_ranks<'a>(
    site: &Site,
    now: Timestamp,
    items: impl Iterator<Item = &'a News>,
) -> Result<bool, Error> {
    let rules = &site.rules.ranking;
    let mut batch = Batch::new();
    for news in items.filter(|news| !news.deleted) {
        let key = keys::news(news.id);
        batch.field_absent(&key, "del");
        for (field, count) in [("up", &news.stored_votes[0]), ("down", &news.stored_votes[1])] {
            batch.field_unchanged(&key, field, count.as_ref());
        }
        batch.key_present(&key);
        write_rank(&mut batch, news.id, news.score(rules), news.rank(now, rules));
    }
    if batch.writes().is_empty() {
        return Ok(true);
    }
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}

/// Stores score and rank of one item from its counters as they are now. When
/// they change meanwhile nothing is stored: whoever changed them does it.
pub(crate) async fn refresh_rank(site: &Site, now: Timestamp, id: NewsId) -> Result<(), Error> {
    let mut query = Query::new();
    let hash = query.hash(keys::news(id));
    let news = News::from_hash(&site.store.query(query).await?.take(hash));
    store_ranks(site, now, news.iter()).await?;
    Ok(())
}

/// Adds an item's score and rank to a batch.
pub(crate) fn write_rank(batch: &mut Batch, id: NewsId, score: f64, rank: f64) {
    batch.set_fields(keys::news(id), [("score", score.to_string()), ("rank", rank.to_string())]);
    batch.sorted_add(keys::NEWS_TOP, id.to_string(), rank);
}

/// Recomputes score and rank of every item, by an administrator. Returns how
/// many there are.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], or the store's.
pub async fn recompute_ranks(site: &Site, now: Timestamp, viewer: &users::User) -> Result<u64, Error> {
    if !viewer.flags.admin {
        return Err(Refusal::AdministratorsOnly.into());
    }
    let mut stored = 0;
    let mut start = 0;
    loop {
        let mut query = Query::new();
        let ids = query.sorted_range(keys::NEWS_CRON, Order::Ascending, start, limits::RECOMPUTE_CHUNK);
        let ids = site.store.query(query).await?.take(ids);
        if ids.is_empty() {
            return Ok(stored);
        }
        start += limits::RECOMPUTE_CHUNK;
        let mut query = Query::new();
        let hashes: Vec<_> =
            ids.iter().filter_map(|(id, _)| Some(query.hash(keys::news(id.parse().ok()?)))).collect();
        let mut answers = site.store.query(query).await?;
        let items: Vec<News> =
            hashes.into_iter().filter_map(|hash| News::from_hash(&answers.take(hash))).collect();
        if !store_ranks(site, now, items.iter()).await? {
            // Somebody was busy with one of them: one by one.
            for news in &items {
                refresh_rank(site, now, news.id).await?;
            }
        }
        stored += u64::try_from(items.len()).unwrap_or(0);
    }
}
