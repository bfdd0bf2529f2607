//! The best stories up to now: those of the last day, week, month or year, and of all time, by votes up less votes down.
//!
//! Each story that is listed is in one list, that of its age (`news.votes:<age>`), so that a vote writes one member. The best within an
//! age are read from its list and those of the lesser ones. A story comes into its list with its record ([`News`]); votes move it there, and
//! `sweep` moves it on when it has become too old. Readers leave out what is still to be moved.

use super::lines;
use super::lists::{FoundItems, NewsPage, merged, shared_page};
use super::past::{member, read_member};
use crate::values::{Age, NewsId, Timestamp};
use crate::{Decision, News, Result, Site, Visit, keys};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use strum::IntoEnumIterator;
use tidings_keyspace::{Batch, Fetch, Order, Reads, Store, read};

/// How long after its start, and how often a server moves stories on.
pub(crate) const EVERY: (Duration, Duration) = (Duration::ZERO, Duration::from_secs(60));
/// Seconds in a day.
const DAY: u64 = 86_400;
/// Members that are looked at together.
const MEMBERS_AT_ONCE: u64 = 1_000;
/// Stories that are placed together.
const STORIES_AT_ONCE: usize = 200;

/// The stories within an age by votes, of equal ones the newest first. Rounds: 3.
pub async fn within(visit: &mut Visit, age: Age, start: u64, count: u64) -> Result<NewsPage> {
    let key = keys::news_by_votes(age);
    shared_page(visit, (&key, start, count), async |visit| {
        let (now, mut reads) = (visit.now(), Reads::default());
        let story = move |member: &str| read_member(member).filter(|(_, posted)| age.has(*posted, now));
        let lists = age.up_to().map(keys::news_by_votes);
        let part = merged(lists, (start, count), move |member| Some(story(member)?.0));
        let (ids, total) = visit.fetch(part.tracked()).await?.collect_into(&mut reads);
        let items = lines::find(visit, &ids, &mut reads).await?;
        Ok(FoundItems { items, total, reads })
    })
    .await
}

/// The lists that a story may be in, each with its age and with the member of the story there.
pub fn places(id: NewsId, posted: Timestamp) -> impl Iterator<Item = (Age, String, String)> {
    Age::iter().map(move |age| (age, keys::news_by_votes(age), member(id, posted)))
}

/// The story of a member of a list.
pub(crate) fn news_of(member: &str) -> Option<NewsId> {
    read_member(member).map(|(id, _)| id)
}

/// Adds to a batch that a listed story is in the list of its age with its votes, and in no younger one.
pub(crate) fn place(batch: &mut Batch, (id, posted): (NewsId, Timestamp), now: Timestamp, points: i64) {
    let own = Age::of(posted, now);
    for (age, list, member) in places(id, posted).take_while(|(age, ..)| *age <= own) {
        if age == own {
            batch.sorted_add(list, member, points as f64);
        } else {
            batch.sorted_remove(list, member);
        }
    }
}

/// When this server has swept last; 0 before the first time.
#[derive(Default)]
struct LastSweep(AtomicU64);

crate::process_state::process_state!(LastSweep);

/// Moves stories that have become too old for their list. The first time, and after a day without, it looks at all; later only
/// at those that have crossed an age since. The lists are read from `store`, which counts its rounds separately. Rounds: 1 for
/// each 1,000 stories that are looked at, and those of [`place_all`].
pub(crate) async fn sweep(site: &Site, store: &Store, now: Timestamp) -> Result<()> {
    let last = Timestamp(site.of::<LastSweep>().0.load(Ordering::Relaxed));
    let is_recent = (last.0..last.0.saturating_add(DAY)).contains(&now.0);
    for age in Age::iter() {
        let Some(span) = age.seconds() else { continue };
        if is_recent {
            sweep_crossed(site, store, now, (last, span)).await?;
        } else {
            sweep_list(site, store, now, age).await?;
        }
    }
    site.of::<LastSweep>().0.store(now.0, Ordering::Relaxed);
    Ok(())
}

/// Moves the stories that have become as old as this since the last sweep, with a minute for clocks that differ.
async fn sweep_crossed(
    site: &Site,
    store: &Store,
    now: Timestamp,
    (last, span): (Timestamp, u64),
) -> Result<()> {
    let mut least = last.0.saturating_sub(span).saturating_sub(EVERY.1.as_secs());
    let most = now.0.saturating_sub(span);
    loop {
        let posted = (least as f64, most as f64);
        let found = read::sorted_by_score(keys::NEWS_CRON, Order::Ascending, posted, MEMBERS_AT_ONCE);
        let found = store.fetch(found).await?;
        let stories: Vec<NewsId> = found.iter().filter_map(|(id, _)| id.parse().ok()).collect();
        place_all(site, now, &stories).await?;
        let Some((_, score)) = found.last().filter(|_| found.len() as u64 == MEMBERS_AT_ONCE) else {
            return Ok(());
        };
        // More than that in one second are left to the next start.
        least = Timestamp::from_score(*score).0.max(least + 1);
    }
}

/// Moves those of a list that have become too old for it.
async fn sweep_list(site: &Site, store: &Store, now: Timestamp, age: Age) -> Result<()> {
    let (list, mut start) = (keys::news_by_votes(age), 0);
    loop {
        let part = read::sorted_range(&list, Order::Ascending, start, MEMBERS_AT_ONCE);
        let part = store.fetch(part).await?;
        if part.is_empty() {
            return Ok(());
        }
        let stories = part.iter().filter_map(|(member, _)| read_member(member));
        let old = stories.filter(|(_, posted)| !age.has(*posted, now)).map(|(id, _)| id);
        let moved = place_all(site, now, &old.collect::<Vec<_>>()).await?;
        start += MEMBERS_AT_ONCE.saturating_sub(moved);
    }
}

/// Places some stories anew, if they are listed. Returns how many are. Rounds: 2 for each 200, more on conflicts.
pub(crate) async fn place_all(site: &Site, now: Timestamp, stories: &[NewsId]) -> Result<u64> {
    let mut placed = 0;
    for ids in stories.chunks(STORIES_AT_ONCE) {
        placed += site.act(keys::NEWS_CRON, || place_some(site, now, ids)).await?;
    }
    Ok(placed)
}

async fn place_some(site: &Site, now: Timestamp, ids: &[NewsId]) -> Result<Decision<u64>> {
    let stories = ids.iter().copied().map(News::listed_by_id).collect::<Vec<_>>();
    let stories = site.store.fetch(stories).await?.into_iter().flatten();
    let (mut batch, mut placed) = (Batch::new(), 0);
    for news in stories.filter(|news| news.state().is_listed()) {
        news.check_state(&mut batch);
        news.check_votes(&mut batch);
        // It may be in the list of an age that it has not reached by this time.
        places(news.id, news.ctime).for_each(|(_, list, member)| batch.sorted_remove(list, member));
        place(&mut batch, (news.id, news.ctime), now, news.points());
        placed += 1;
    }
    Ok(Decision::commit(batch, placed))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn listed(site: &Site) -> Vec<Vec<(u64, f64)>> {
        let mut found = Vec::new();
        for age in Age::iter() {
            let list = read::sorted_range(keys::news_by_votes(age), Order::Descending, 0, 9);
            let list = site.store.fetch(list).await.unwrap();
            found.push(list.iter().map(|(member, score)| (news_of(member).unwrap().0, *score)).collect());
        }
        found
    }

    #[tokio::test]
    async fn stories_move_on_with_their_age_and_their_votes() {
        let site = Site::in_memory().await;
        let (posted, mut batch) = (400 * DAY, Batch::new());
        for id in [1, 2] {
            let fields = [("ctime", posted + id), ("id", id), ("user_id", 1), ("up", 9 * id), ("down", 2)];
            batch.set_fields(keys::news(NewsId(id)), fields.map(|(name, value)| (name, value.to_string())));
            place(&mut batch, (NewsId(id), Timestamp(posted + id)), Timestamp(posted + 9), 1);
        }
        // Only the first is still listed.
        batch.set_field(keys::news(NewsId(2)), "del", "1");
        site.store.commit(batch).await.unwrap();
        assert_eq!(listed(&site).await[0], [(2, 1.0), (1, 1.0)], "the newest of equal ones first");
        // The second sweep looks only at what has become a day old since.
        for (seconds, place) in [(DAY - 30, 0), (DAY + 30, 1)] {
            let batch = Batch::of(|batch| batch.sorted_add(keys::NEWS_CRON, "1", (posted + 1) as f64));
            site.store.commit(batch).await.unwrap();
            sweep(&site, &site.store, Timestamp(posted + seconds)).await.unwrap();
            let found = listed(&site).await;
            assert!(found[place].iter().any(|(id, _)| *id == 1), "after {seconds} s: {found:?}");
        }
        for (days, place) in [(2, 1), (8, 2), (31, 3), (366, 4)] {
            sweep(&site, &site.store, Timestamp(posted + days * DAY + 9)).await.unwrap();
            let found = listed(&site).await;
            assert_eq!(found[place], [(1, 7.0)], "after {days} days: {found:?}");
            assert_eq!(found.iter().flatten().filter(|(id, _)| *id == 1).count(), 1, "{found:?}");
        }
    }
}
