//! The past: the best stories of a day or a month.
//!
//! The list of a period is derived from `news.cron` and the stories, which are read in steps of
//! [`PAST_CHUNK`]. It has at most [`MAX_PAST_STORIES`], the newest of the period, and expires
//! after [`PAST_LIST_SECONDS`]; the next reader builds it again. While it is stored, whoever
//! submits, votes or deletes keeps it exact. Only what other programs write is seen late.
//!
//! While a list is being built it has a member more (`UNFINISHED`), so that it is there for
//! others to keep exact, and no mark under `built:`.

use super::lines;
use super::lists::{FoundItems, NewsPage, shared_page};
use crate::accounts::SharedVisit;
use crate::news::item::{DEL, IMPORTED_VOTES};
use crate::values::{
    Day, ImportedVotes, MAX_PAST_STORIES, NewsId, PAST_CHUNK, PAST_LIST_SECONDS, Period, Timestamp, WITHHELD,
    Withheld, ranking,
};
use crate::{Decision, Result, Site, Visit, fields, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Order, Reads, read};
use tokio::sync::Mutex;

/// The member of a list that is being built.
const UNFINISHED: &str = "unfinished";

/// The stories of a day or a month, the best score first, of equal ones the newest. Rounds: 3
/// and, while the list is not stored, 3 and 2 for each [`PAST_CHUNK`] stories of the period.
pub async fn of_period(visit: &mut Visit, period: Period, start: u64, count: u64) -> Result<NewsPage> {
    let key = keys::past(period);
    shared_page(visit, (&key, start, count), async |visit| find(visit, period, start, count).await).await
}

/// The day of the first story; `None` on an empty site. Rounds: 1.
pub async fn first_day(visit: &mut Visit) -> Result<Option<Day>> {
    let first = visit.fetch(read::sorted_range(keys::NEWS_CRON, Order::Ascending, 0, 1)).await?;
    Ok(first.first().map(|(_, posted)| Day::of(Timestamp::from_score(*posted))))
}

/// The member of a list for a story: in the order of its bytes, the newer one is greater.
pub(super) fn member(id: NewsId, posted: Timestamp) -> String {
    format!("{posted:012}-{id:012}")
}

/// The story of a member of a list, and when it was posted.
pub(super) fn read_member(member: &str) -> Option<(NewsId, Timestamp)> {
    let (posted, id) = member.split_once('-')?;
    Some((id.trim_start_matches('0').parse().ok()?, Timestamp(posted.parse().ok()?)))
}

/// The lists of the day and the month of a story, each with its member there.
pub(crate) fn places(id: NewsId, posted: Timestamp) -> impl Iterator<Item = (String, String)> {
    Period::both_of(posted).into_iter().map(move |period| (keys::past(period), member(id, posted)))
}

/// Adds the score of a story to the lists of its day and its month, if they are stored.
pub(crate) fn note_score(batch: &mut Batch, (id, posted): (NewsId, Timestamp), score: f64) {
    places(id, posted).for_each(|(list, member)| batch.sorted_add_if_present(list, member, score));
}

/// Held while the list of a day or a month is built.
#[derive(Default)]
struct PastBuilding(Mutex<()>);

crate::process_state::process_state!(PastBuilding);

async fn find(visit: &mut SharedVisit<'_>, period: Period, start: u64, count: u64) -> Result<FoundItems> {
    let found = match read_stored(visit, period, start, count).await? {
        Some(found) => found,
        None => {
            let site = visit.site_too();
            let _turn = site.of::<PastBuilding>().0.lock().await;
            // Another reader may have built it meanwhile.
            if !is_built(&site, period).await? {
                build(&site, period, MAX_PAST_STORIES).await?;
            }
            read_stored(visit, period, start, count).await?.unwrap_or_default()
        }
    };
    let StoredPart { ids, total, mut reads } = found;
    let mut items = lines::find(visit, &ids, &mut reads).await?;
    items.retain(|item| item.news().state().is_listed());
    Ok(FoundItems { items, total, reads })
}

/// A part of a stored list.
#[derive(Default)]
struct StoredPart {
    ids: Vec<NewsId>,
    total: u64,
    reads: Reads,
}

/// Reads a part of a list; `None` if it must be built. Rounds: 1.
async fn read_stored(
    visit: &mut SharedVisit<'_>,
    period: Period,
    start: u64,
    count: u64,
) -> Result<Option<StoredPart>> {
    let key = keys::past(period);
    let span = (period.start().as_score(), period.end().as_score());
    let part = (
        read::sorted_range(&key, Order::Descending, start, count),
        read::sorted_count(&key),
        read::string(keys::built(&key)),
        read::sorted_by_score(keys::NEWS_CRON, Order::Descending, span, 1),
    );
    let mut reads = Reads::default();
    let (places, total, mark, any) = visit.fetch(part.tracked()).await?.collect_into(&mut reads);
    if any.is_empty() {
        return Ok(Some(StoredPart { reads, ..StoredPart::default() }));
    }
    if mark.is_none() || total == 0 {
        return Ok(None);
    }
    let ids = fields::members(places, &key, |(member, _)| read_member(&member).map(|(id, _)| id));
    Ok(Some(StoredPart { ids, total, reads }))
}

async fn is_built(site: &Site, period: Period) -> Result<bool> {
    let key = keys::past(period);
    let (total, mark) = site.store.fetch((read::sorted_count(&key), read::string(keys::built(&key)))).await?;
    Ok(total > 0 && mark.is_some())
}

/// Builds the list of a period from its `most` newest stories. Two servers may build it at the
/// same time: they add the same.
async fn build(site: &Site, period: Period, most: u64) -> Result<()> {
    let key = keys::past(period);
    let life = Duration::from_secs(PAST_LIST_SECONDS);
    let mut batch = Batch::new();
    batch.sorted_add(&key, UNFINISHED, f64::MIN);
    batch.expire(&key, life);
    site.store.commit(batch).await?;
    // Stories that are submitted from here on are added by those who submit them.
    let span = (period.start().as_score(), period.end().as_score());
    let ids = read::sorted_by_score(keys::NEWS_CRON, Order::Descending, span, most);
    let ids = site.store.fetch(ids.large_if(matches!(period, Period::Month(_)))).await?;
    let ids: Vec<NewsId> = fields::members(ids, keys::NEWS_CRON, |(id, _)| id.parse().ok());
    for chunk in ids.chunks(PAST_CHUNK) {
        add(site, &key, chunk).await?;
    }
    let mut batch = Batch::new();
    batch.sorted_remove(&key, UNFINISHED);
    batch.expire(&key, life);
    batch.set_expiring(keys::built(&key), "1", life);
    site.store.commit(batch).await?;
    Ok(())
}

/// Adds some stories to a list that is being built. Rounds: 2, more on conflicts.
async fn add(site: &Site, key: &str, ids: &[NewsId]) -> Result<()> {
    site.act(key, || async {
        let fields = ["ctime", "up", "down", IMPORTED_VOTES, DEL, WITHHELD];
        let reads: Vec<_> = ids.iter().map(|id| read::fields(keys::news(*id), fields)).collect();
        let stories = site.store.fetch(reads.or_absent()).await?;
        let mut batch = Batch::new();
        for (id, [posted, up, down, imported, deleted, withheld]) in ids.iter().copied().zip(stories) {
            let (news, key_of_story) = (keys::news(id), || keys::news(id));
            let Some(posted) = fields::read(posted.as_deref(), key_of_story, "ctime").map(Timestamp) else {
                continue;
            };
            let state = withheld.as_deref().map(Withheld::stored);
            if deleted.is_some() || state.is_some_and(|state| !state.is_listed()) {
                continue;
            }
            let votes = |stored: &Option<String>, field| {
                fields::read(stored.as_deref(), key_of_story, field).unwrap_or(0_i64)
            };
            let imported: ImportedVotes =
                fields::read(imported.as_deref(), key_of_story, IMPORTED_VOTES).unwrap_or_default();
            let [ups, downs] = imported.and(votes(&up, "up"), votes(&down, "down"));
            let score = ranking::score(ups, downs, &site.rules.ranking);
            batch.field_absent(&news, DEL);
            batch.field_unchanged(&news, WITHHELD, withheld.as_ref());
            batch.field_unchanged(&news, "up", up.as_ref());
            batch.field_unchanged(&news, "down", down.as_ref());
            batch.sorted_add(key, member(id, posted), score);
        }
        Ok(Decision::commit(batch, ()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn site_with(stories: &[(u64, u64, i64)]) -> Site {
        let site = Site::in_memory().await;
        let mut batch = Batch::new();
        for (id, posted, up) in stories {
            let fields = [("id", id.to_string()), ("ctime", posted.to_string()), ("up", up.to_string())];
            batch.set_fields(keys::news(NewsId(*id)), fields);
            batch.sorted_add(keys::NEWS_CRON, id.to_string(), Timestamp(*posted).as_score());
        }
        site.store.commit(batch).await.unwrap();
        site
    }

    async fn listed(site: &Site, period: Period) -> Vec<u64> {
        let list = read::sorted_range(keys::past(period), Order::Descending, 0, u64::MAX);
        let list = site.store.fetch(list).await.unwrap();
        list.iter().map(|(member, _)| read_member(member).unwrap().0.0).collect()
    }

    const DAY: u64 = 86_400;

    #[tokio::test]
    async fn a_list_has_the_newest_stories_of_its_period_the_best_first() {
        let stories = [
            (1, DAY - 1, 9),
            (2, DAY, 1),
            (9, DAY + 5, 3),
            (10, DAY + 6, 3),
            (3, 2 * DAY - 1, 2),
            (4, 2 * DAY, 9),
        ];
        for (most, expected) in [(100, &[10, 9, 3, 2][..]), (3, &[10, 9, 3]), (1, &[3])] {
            let site = site_with(&stories).await;
            build(&site, Period::Day("1970-01-02".parse().unwrap()), most).await.unwrap();
            assert_eq!(listed(&site, "1970-01-02".parse().unwrap()).await, expected, "{most}");
        }
        let site = site_with(&stories).await;
        build(&site, "1970-01".parse().unwrap(), 100).await.unwrap();
        assert_eq!(listed(&site, "1970-01".parse().unwrap()).await, [4, 1, 10, 9, 3, 2]);
        assert!(is_built(&site, "1970-01".parse().unwrap()).await.unwrap());
    }

    #[tokio::test]
    async fn a_story_whose_time_cannot_be_read_is_left_out() {
        let site = site_with(&[(1, DAY, 1), (2, DAY + 1, 2)]).await;
        let damage = Batch::of(|batch| batch.set_field(keys::news(NewsId(2)), "ctime", "soon"));
        site.store.commit(damage).await.unwrap();
        let day = "1970-01-02".parse().unwrap();
        build(&site, day, 10).await.unwrap();
        assert_eq!(listed(&site, day).await, [1]);
    }

    #[tokio::test]
    async fn a_list_is_built_in_steps_of_bounded_size() {
        let most = u64::try_from(2 * PAST_CHUNK + 1).unwrap();
        let stories: Vec<_> = (1..=most + 10).map(|id| (id, DAY + id, 1)).collect();
        let site = site_with(&stories).await;
        let before = site.store.rounds();
        build(&site, "1970-01-02".parse().unwrap(), most).await.unwrap();
        assert_eq!(site.store.rounds() - before, 3 + 2 * 3);
        let listed = listed(&site, "1970-01-02".parse().unwrap()).await;
        assert_eq!((listed.len() as u64, listed[0], *listed.last().unwrap()), (most, most + 10, 11));
    }

    #[tokio::test]
    async fn a_stored_list_follows_votes_submissions_and_deletions() {
        let site = site_with(&[(1, DAY, 1), (2, DAY + 1, 2)]).await;
        let day: Period = "1970-01-02".parse().unwrap();
        let mut batch = Batch::new();
        note_score(&mut batch, (NewsId(1), Timestamp(DAY)), 5.0);
        site.store.commit(batch).await.unwrap();
        assert!(listed(&site, day).await.is_empty(), "nothing is stored before somebody asks");
        build(&site, day, 10).await.unwrap();
        let mut batch = Batch::new();
        note_score(&mut batch, (NewsId(1), Timestamp(DAY)), 5.0);
        note_score(&mut batch, (NewsId(3), Timestamp(DAY + 9)), 3.0);
        for (list, member) in places(NewsId(2), Timestamp(DAY + 1)) {
            batch.sorted_remove(list, member);
        }
        site.store.commit(batch).await.unwrap();
        assert_eq!(listed(&site, day).await, [1, 3]);
    }
}
