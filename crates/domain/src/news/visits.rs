//! Visits of threads: how many comments of a story are new for a viewer, and storing how far
//! people have read.
//!
//! The marks of a person are one hash, `user:<id>:visits`, and one cached value: a list of
//! stories reads them in a query that it makes anyway, and never anything for each story.

use super::item::News;
use crate::accounts::users::DEACTIVATED;
use crate::cache::{MEBIBYTE, Shared};
use crate::marks::{PendingMark, PendingMarks, ThreadMark, WhichMarks};
use crate::site::apply;
use crate::values::{MAX_VISITED_THREADS, NewsId, Timestamp, UserId};
use crate::{Applied, Error, Result, Site, Visit, fields, keys};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Hash, Store, read};

/// How often a server looks whether there are marks to store.
pub(crate) const EVERY: (Duration, Duration) = (Duration::ZERO, Duration::from_secs(1));

crate::cache_kind! {
    /// The stored marks of readers.
    struct MarksOfReaders: UserId => StoredMarks, "visits", 2 * MEBIBYTE,
        |_, marks| size_of_val(&*marks.0);
}

/// The stored marks of one reader, by the story.
#[derive(Debug)]
pub(crate) struct StoredMarks(Box<[(NewsId, ThreadMark)]>);

impl StoredMarks {
    /// The marks of a reader.
    fn read(reader: UserId) -> impl Fetch<Value = Self> {
        read::hash(keys::user_visits(reader)).or_absent().map(move |hash| Self::of(reader, &hash))
    }

    /// Reads marks; those that cannot be read are logged and left out.
    fn of(reader: UserId, hash: &Hash) -> Self {
        let read = |(news, mark): &(String, String)| {
            Some((news.parse().ok()?, fields::read(Some(mark), || keys::user_visits(reader), news)?))
        };
        let mut marks: Vec<(NewsId, ThreadMark)> = hash.0.iter().filter_map(read).collect();
        marks.sort_by_key(|(news, _)| *news);
        Self(marks.into())
    }

    fn of_news(&self, news: NewsId) -> Option<ThreadMark> {
        let at = self.0.binary_search_by_key(&news, |(known, _)| *known).ok()?;
        self.0.get(at).map(|(_, mark)| *mark)
    }
}

/// The marks of the viewer, as they are now.
#[derive(Default)]
pub(crate) struct ReaderMarks {
    stored: Option<Shared<StoredMarks>>,
    pending: HashMap<NewsId, PendingMark>,
}

impl ReaderMarks {
    /// Those of the viewer, who must be identified already.
    pub(crate) fn of_viewer(visit: &Visit) -> impl Fetch<Value = Self> + use<> {
        let marks = |viewer| {
            let site = visit.site_too();
            visit.cached::<MarksOfReaders, _>(viewer, |viewer| StoredMarks::read(*viewer).tracked()).map(
                move |stored| Self { stored: Some(stored), pending: site.of::<PendingMarks>().of(viewer) },
            )
        };
        Fetch::map(visit.viewer_id().map(marks), Option::unwrap_or_default)
    }

    /// The mark of a thread; `None` for a thread that the viewer has not read.
    pub(crate) fn of(&self, news: NewsId) -> Option<ThreadMark> {
        let stored = self.stored.as_ref().and_then(|stored| stored.of_news(news));
        self.pending.get(&news).map_or(stored, |pending| pending.over(stored))
    }

    /// How many comments on a story are new for the viewer. It is the difference of two
    /// counters, so deleted comments make it smaller.
    pub(crate) fn new_comments(&self, news: &News) -> u64 {
        self.of(news.id).map_or(0, |mark| news.comments.saturating_sub(mark.comments))
    }
}

/// Stores marks of readers: those that are due, or all of them when the server stops. Rounds: 2 for each group of marks, which
/// are counted separately.
pub(crate) async fn store_marks(site: &Site, now: Timestamp, which: WhichMarks) {
    let store = site.store.counted_apart();
    loop {
        let mut readers = NewMarks::new();
        for (reader, news, pending) in site.of::<PendingMarks>().take(now, which) {
            readers.entry(reader).or_default().push((news, pending));
        }
        if readers.is_empty() {
            return;
        }
        if let Err(error) = store_group(site, &store, &readers).await {
            tracing::debug!(%error, "cannot store how far threads were read");
            for (reader, marks) in &readers {
                marks.iter().for_each(|(news, _)| site.of::<PendingMarks>().note_failed(now, *reader, *news));
            }
            return;
        }
    }
}

/// New marks by their readers.
type NewMarks = BTreeMap<UserId, Vec<(NewsId, PendingMark)>>;

/// The batch that stores new marks.
struct StoredGroup {
    batch: Batch,
    /// The marks that are stored then; `None` for somebody who has left.
    marks: Vec<(UserId, NewsId, (PendingMark, Option<ThreadMark>))>,
}

/// Stores marks of some readers, and removes their oldest ones. Rounds: 2.
async fn store_group(site: &Site, store: &Store, readers: &NewMarks) -> Result<()> {
    let StoredGroup { batch, marks } = prepare_group(store, readers).await?;
    if let Applied::No(_) = apply(store, batch).await? {
        // Somebody has left between the two rounds.
        return Err(Error::Busy);
    }
    for (reader, news, mark) in marks {
        site.of::<PendingMarks>().note_stored(reader, news, mark);
    }
    Ok(())
}

/// Reads what storing marks needs. Rounds: 1.
async fn prepare_group(store: &Store, readers: &NewMarks) -> Result<StoredGroup> {
    let read = |reader: &UserId| {
        let account = read::fields(keys::user(*reader), ["id", DEACTIVATED]);
        (read::hash(keys::user_visits(*reader)), account)
    };
    let read = store.fetch(readers.keys().map(read).collect::<Vec<_>>()).await?;
    let (mut batch, mut stored) = (Batch::new(), Vec::new());
    for ((reader, changes), (hash, [id, deactivated])) in readers.iter().zip(read) {
        let key = keys::user_visits(*reader);
        let earlier = StoredMarks::of(*reader, &hash);
        let is_there = id.is_some() && deactivated.is_none();
        if is_there {
            // If a reader leaves meanwhile, their marks are deleted: nothing is written after that.
            batch.field_absent(keys::user(*reader), DEACTIVATED);
        }
        let mut marks: BTreeMap<NewsId, ThreadMark> = earlier.0.iter().copied().collect();
        for (news, pending) in changes {
            let mark = pending.over(earlier.of_news(*news)).filter(|_| is_there);
            stored.push((*reader, *news, (*pending, mark)));
            if let Some(mark) = mark {
                marks.insert(*news, mark);
                batch.set_field(&key, news.to_string(), mark.to_string());
            }
        }
        oldest(&marks).into_iter().for_each(|news| batch.delete_field(&key, news.to_string()));
    }
    Ok(StoredGroup { batch, marks: stored })
}

/// The threads beyond the bound, whose last visits are the longest ago.
fn oldest(marks: &BTreeMap<NewsId, ThreadMark>) -> Vec<NewsId> {
    let mut by_time: Vec<(Timestamp, NewsId)> = marks.iter().map(|(news, mark)| (mark.time, *news)).collect();
    by_time.sort_unstable();
    let surplus = by_time.len().saturating_sub(MAX_VISITED_THREADS);
    by_time.into_iter().take(surplus).map(|(_, news)| news).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_visits_are_written_for_an_account_that_is_deactivated_at_the_same_time() {
        let store = Store::in_memory().await.unwrap();
        let site = Site::on(store.clone());
        let (reader, news, now) = (UserId(7), NewsId(1), Timestamp(1_000_000));
        store.commit(Batch::of(|batch| batch.set_field(keys::user(reader), "id", "7"))).await.unwrap();
        site.of::<PendingMarks>().note_own(now, reader, news);
        let mut readers = NewMarks::new();
        for (reader, news, pending) in site.of::<PendingMarks>().take(now, WhichMarks::All) {
            readers.entry(reader).or_default().push((news, pending));
        }
        let group = prepare_group(&store, &readers).await.unwrap();
        let batch = Batch::of(|batch| batch.set_field(keys::user(reader), DEACTIVATED, "1000000"));
        store.commit(batch).await.unwrap();
        assert!(matches!(apply(&store, group.batch).await.unwrap(), Applied::No(_)));
        // The next attempt knows that the account is gone, and forgets the marks.
        store_group(&site, &store, &readers).await.unwrap();
        assert!(store.fetch(read::hash(keys::user_visits(reader))).await.unwrap().0.is_empty());
    }
}
