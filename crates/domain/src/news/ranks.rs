//! Stored ranks: refreshed by readers, set by writers, recomputed by administrators.

use crate::accounts::users;
use crate::news::item::Direction;
use crate::news::{by_votes, past};
use crate::values::{NewsId, RankingRules, Timestamp, limits, ranking};
use crate::{AUDIT, Applied, News, Result, Site, keys};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tidings_keyspace::{Batch, Order, read};

/// Seconds between two refreshes of the ranks of the first page, and between two refreshes
/// of the ranks further down.
const RANK_REFRESH_SECONDS: u64 = 5;
/// Ranks that differ by less than this fraction count as fresh.
const RANK_TOLERANCE: f64 = 0.001;

/// Adds the score and the rank of an item with more votes up and down, or fewer, to a batch, also in the lists that have it.
fn write_rank(batch: &mut Batch, news: &News, by: [i64; 2], (now, rules): (Timestamp, &RankingRules)) {
    let (id, posted, score) = (news.id, news.ctime, news.score_with(by, rules));
    let rank = ranking::rank(score, posted, now, rules);
    batch.set_fields(keys::news(id), [("score", score.to_string()), ("rank", rank.to_string())]);
    if news.state().is_listed() {
        batch.sorted_add(keys::NEWS_TOP, id.to_string(), rank);
        past::note_score(batch, (id, posted), score);
        by_votes::place(batch, (id, posted), now, news.points().saturating_add(by[0]).saturating_sub(by[1]));
    }
}

/// Adds `by` to the votes of one direction, and stores score and rank accordingly. Returns the counters up and down that it
/// leaves, if nobody else votes at the same time.
pub(crate) fn count_vote(
    batch: &mut Batch,
    news: &News,
    (direction, by): (Direction, i64),
    (now, rules): (Timestamp, &RankingRules),
) -> [i64; 2] {
    let key = keys::news(news.id);
    let by = if direction == Direction::Up { [by, 0] } else { [0, by] };
    // Both, so that the commit returns the new values of both.
    batch.increment_field(&key, "up", by[0]);
    batch.increment_field(key, "down", by[1]);
    write_rank(batch, news, by, (now, rules));
    [news.up + by[0], news.down + by[1]]
}

/// An item in `news.top`, with its stored rank.
pub(crate) type RankEntry = (NewsId, f64);

/// The order of `news.top`: the highest rank first; ties by the member as text, the greater
/// first.
fn stored_order((left, left_rank): &RankEntry, (right, right_rank): &RankEntry) -> Ordering {
    right_rank.total_cmp(left_rank).then_with(|| right.to_string().cmp(&left.to_string()))
}

/// A part of `news.top` as read: the items of a page, and some below.
pub(crate) struct RankWindow {
    /// The position of the first.
    pub(crate) start: u64,
    /// How many of them are on the page.
    pub(crate) shown: usize,
    /// The items in the stored order.
    pub(crate) entries: Vec<RankEntry>,
    /// Whether the list ends with them.
    pub(crate) is_last: bool,
}

impl RankWindow {
    /// The items in their order once some of them have these ranks.
    fn reordered(&self, ranks: &HashMap<NewsId, f64>) -> Vec<RankEntry> {
        let rank = |(id, stored): &RankEntry| (*id, ranks.get(id).copied().unwrap_or(*stored));
        let mut entries: Vec<RankEntry> = self.entries.iter().map(rank).collect();
        entries.sort_by(stored_order);
        entries
    }

    /// The ids on the page, in no particular order.
    fn page(&self, entries: &[RankEntry]) -> BTreeSet<NewsId> {
        entries.iter().take(self.shown).map(|(id, _)| *id).collect()
    }
}

/// When ranks were refreshed last, in Unix seconds, at the beginning of the list and further down.
#[derive(Default)]
struct Refreshed {
    beginning: AtomicU64,
    below: AtomicU64,
}

crate::process_state::process_state!(Refreshed);

/// Whether the caller should refresh ranks: at most one caller in five seconds for the first
/// page, and one for all other pages together.
pub(crate) fn is_due(site: &Site, now: Timestamp, start: u64) -> bool {
    let Refreshed { beginning, below } = site.of();
    let refreshed = if start == 0 { beginning } else { below };
    let last = refreshed.load(Relaxed);
    now.0.abs_diff(last) >= RANK_REFRESH_SECONDS
        && refreshed.compare_exchange(last, now.0, Relaxed, Relaxed).is_ok()
}

/// Stores the ranks of a window that have become stale, or all of them if an item below the
/// page now ranks above one on it. `items` are the items of the window that are not
/// deleted. Returns the ids that are on the page afterwards, or `None` if an item on it may
/// now rank below items that were not read.
///
/// No item moves above the window. So a reader who goes from page to page sees every item
/// once, even if each of these pages is refreshed meanwhile. An item that has risen above
/// the window moves when the page before is refreshed.
///
/// A failure is logged; a reader some seconds later tries again. Rounds: at most 1.
pub(crate) async fn refresh<'a>(
    site: &Site,
    now: Timestamp,
    window: &RankWindow,
    items: impl Iterator<Item = &'a News>,
) -> Option<BTreeSet<NewsId>> {
    let rules = &site.rules.ranking;
    let first = window.entries.first().filter(|_| window.start > 0);
    let rises_above = |place: &RankEntry| first.is_some_and(|first| stored_order(place, first).is_lt());
    let items: Vec<(&News, f64)> = items
        .map(|news| (news, news.rank(now, rules)))
        .filter(|(news, rank)| !rises_above(&(news.id, *rank)))
        .collect();
    let before = window.page(&window.entries);
    let present = items.iter().map(|(news, rank)| (news.id, *rank)).collect();
    let page_changes = window.page(&window.reordered(&present)) != before;
    let stale = items.iter().map(|(news, _)| *news);
    let stale: Vec<&News> = stale.filter(|news| page_changes || is_stale(news, now, rules)).collect();
    match store_ranks(site, now, stale.iter().copied()).await {
        Ok(true) => {}
        // On a conflict, votes at the same time have stored the ranks of their items.
        Ok(false) => return Some(before),
        Err(error) => {
            tracing::warn!(%error, "ranks not refreshed");
            return Some(before);
        }
    }
    let after = window.reordered(&stale.iter().map(|news| (news.id, news.rank(now, rules))).collect());
    let lowest_shown = after.iter().take(window.shown).next_back();
    let lowest_read = window.entries.last();
    let is_known = window.is_last
        || lowest_shown.zip(lowest_read).is_none_or(|(shown, read)| stored_order(shown, read).is_le());
    is_known.then(|| window.page(&after))
}

fn is_stale(news: &News, now: Timestamp, rules: &RankingRules) -> bool {
    let rank = news.rank(now, rules);
    news.stored_rank.is_none_or(|stored| (stored - rank).abs() > rank.abs() * RANK_TOLERANCE)
}

/// Stores score and rank of items as read, unless one of them was voted on or deleted
/// meanwhile. Returns whether they are stored.
async fn store_ranks<'a>(site: &Site, now: Timestamp, items: impl Iterator<Item = &'a News>) -> Result<bool> {
    let rules = &site.rules.ranking;
    let mut batch = Batch::new();
    for news in items.filter(|news| news.state().is_listed()) {
        news.check_state(&mut batch);
        news.check_votes(&mut batch);
        write_rank(&mut batch, news, [0, 0], (now, rules));
    }
    if batch.writes().is_empty() {
        return Ok(true);
    }
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}

/// Stores score and rank of one item from its current counters. On a conflict nothing is
/// stored: the other writer does it. Rounds: 2.
pub(crate) async fn refresh_rank(site: &Site, now: Timestamp, id: NewsId) -> Result<()> {
    let news = site.store.fetch(News::by_id(id)).await?;
    store_ranks(site, now, news.iter()).await?;
    Ok(())
}

/// Recomputes score and rank of every item, for an administrator. Returns the number of
/// items. Rounds: 3 for each 200 items, more on conflicts.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`](crate::Refusal::AdministratorsOnly), or the store's.
pub async fn recompute_ranks(site: &Site, now: Timestamp, viewer: &users::User) -> Result<u64> {
    viewer.require_admin()?;
    tracing::info!(target: AUDIT, by = viewer.username, "recomputes all ranks");
    let mut stored = 0;
    let mut start = 0;
    loop {
        let reads = read::sorted_range(keys::NEWS_CRON, Order::Ascending, start, limits::RECOMPUTE_CHUNK);
        let ids = site.store.fetch(reads).await?;
        if ids.is_empty() {
            return Ok(stored);
        }
        start += limits::RECOMPUTE_CHUNK;
        let items = ids.iter().filter_map(|(id, _)| id.parse().ok()).map(News::by_id);
        let items = site.store.fetch(items.collect::<Vec<_>>()).await?;
        let items: Vec<News> = items.into_iter().flatten().collect();
        if !store_ranks(site, now, items.iter()).await? {
            // One of them has changed: store them one by one.
            for news in &items {
                refresh_rank(site, now, news.id).await?;
            }
        }
        stored += u64::try_from(items.len()).unwrap_or(0);
    }
}
