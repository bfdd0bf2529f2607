//! Reading timelines: the tweets of a user, of everyone, mentions, and the home timeline with
//! the tweets of followed people.
//!
//! A home timeline is stored, so that reading it is cheap: tweets are delivered to it in
//! the background (`timelines::home_jobs`). It is not complete:
//!
//! - It has the newest tweets only. Its *floor* (in `timeline:floors`) is the score down to
//!   which it is complete. At the floor and below, the tweets are read from the authors' own
//!   timelines.
//! - Tweets of authors with very many followers are not delivered. These authors are in
//!   `timeline:pulled`, and their own timelines are merged when a follower reads.
//!
//! Tweets that the reader has muted, and withheld ones, are left out after the cache was read, so a
//! page may be shorter than others.
//!
//! It may be absent (`timelines::homes`), and it may be apart from the store; then pages of it are not cached, and its
//! server may be away. In both cases all is read from the authors' own timelines. One that is absent is made in the
//! background, once it was asked for.
//!
//! For a short time it may also have too much: deleted tweets, or tweets of people who are
//! no longer followed. These are not shown.

use crate::accounts::{CacheResult, Perspective, Reader, Seen, ShownIn, Viewed};
use crate::cache::MEBIBYTE;
use crate::timelines::apart::{Apart, HomePart};
use crate::timelines::floors;
use crate::timelines::home_jobs::rebuild;
use crate::timelines::homes::{Home, authors, followings};
use crate::timelines::lines::{TweetLine, hydrate};
use crate::timelines::merge::Merge;
use crate::values::{Cursor, MAX_PAGE, Moment, TIMELINE_REFILLS, Timestamp, TweetId, UserId, Window};
use crate::{Refusal, Result, Site, Visit, keys};
use std::sync::Arc;
use tidings_keyspace::{Fetch, Tracked, read};

/// A page of a timeline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TweetPage {
    /// The tweets, newest first.
    pub lines: Vec<Seen<TweetLine>>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Cursor>,
    /// How many tweets of the page are not among the lines, because the reader has muted them
    /// or flags have hidden them.
    pub unlisted: usize,
}

/// A page of everything that is in a timeline.
struct WholePage {
    lines: Vec<TweetLine>,
    next: Option<Cursor>,
}

impl WholePage {
    /// The page without what its reader does not want listed.
    fn listed(self, perspective: Perspective<'_>) -> TweetPage {
        let all = self.lines.len();
        let lines = self.lines.into_iter().filter_map(|line| perspective.see(line, ShownIn::List));
        let lines: Vec<_> = lines.collect();
        TweetPage { unlisted: all - lines.len(), lines, next: self.next }
    }
}

/// Which page of which timeline: the key of its list, the scores and ids of the
/// window's ends, and its size.
type PageKey = (String, [Option<(u64, u64)>; 2], usize);

crate::cache_kind! {
    /// Pages of timelines.
    struct TimelinePages: PageKey => TimelinePage, "timelines", 3 * MEBIBYTE,
        |(list, ..), page| list.len() + size_of_val(&*page.entries);
}

/// A page of a timeline as cached. Its tweets are cached separately, because they are on
/// many pages.
#[derive(Debug)]
struct TimelinePage {
    entries: Arc<[Cursor]>,
    next: Option<Cursor>,
}

/// The viewer's home timeline; `None` for a visitor who is not logged in. Rounds: 5, and one
/// each for followed authors that are pulled and for mentions; two more below the floor. Apart from
/// the store, two more, and one to the server of home timelines.
pub async fn home(visit: &mut Visit, window: &Window) -> Result<Option<TweetPage>> {
    let Some(reader) = visit.identify().await? else { return Ok(None) };
    let source = TimelineSource::Home(reader);
    let page = page_of(visit, &source, window).await?;
    if visit.viewer().await?.is_none() {
        return Ok(None);
    }
    Ok(Some(page))
}

/// The home timeline of any user, as that user sees it. Rounds: as [`home`].
pub(crate) async fn home_of(visit: &mut Visit, reader: UserId, window: &Window) -> Result<TweetPage> {
    let (page, _) = read_page(visit, &TimelineSource::Home(reader), window).await?;
    let chosen = Reader::of(visit, reader);
    let chosen = visit.fetch_if_needed(chosen).await?;
    Ok(page.listed(Perspective { reader: Some(&chosen), shows_all: false }))
}

/// A home timeline that is being read.
struct HomeReading {
    reader: UserId,
    /// The authors whose tweets are not delivered.
    pulled: Vec<UserId>,
    home: Home,
    apart: Option<Apart>,
    /// Whether it has turned out to be absent.
    is_absent: bool,
}

impl HomeReading {
    async fn begin(visit: &mut Visit, reader: UserId) -> Result<Self> {
        let apart = Apart::of(&visit.site_too());
        let reads = (read::members(keys::PULLED_AUTHORS).or_absent(), Home::of(reader).or_absent());
        let (pulled, home) = visit.fetch(reads).await?;
        let is_absent = !home.is_here(apart.as_ref());
        let pulled = pulled.iter().filter_map(|id| id.parse().ok()).collect();
        Ok(Self { reader, pulled, home, apart, is_absent })
    }

    /// Which of the pulled authors the reader follows.
    fn followed(&self) -> impl Fetch<Value = Vec<Option<f64>>> + use<> {
        read::scores(keys::followings(self.reader), self.pulled.iter().map(ToString::to_string))
    }

    /// The lists of the pulled authors whom the reader follows.
    fn merged(&self, followed: Vec<Option<f64>>) -> Vec<UserId> {
        let followed = self.pulled.iter().zip(followed).filter(|(_, since)| since.is_some());
        followed.map(|(author, _)| *author).collect()
    }

    /// One that is being made is absent, too: its job may have been lost.
    fn note_floors(&mut self, floors: [Option<f64>; 2]) {
        self.is_absent |= floors.contains(&Some(floors::ABOVE_ALL));
    }

    fn floor(&self) -> Option<f64> {
        self.is_absent.then_some(floors::ABOVE_ALL)
    }
}

/// The tweets of all users. Rounds: 3, and one for mentions.
pub async fn everyone(visit: &mut Visit, window: &Window) -> Result<TweetPage> {
    page_of(visit, &TimelineSource::List(keys::GLOBAL_TIMELINE.to_owned()), window).await
}

/// The tweets of a user. Rounds: 3, and one for mentions.
pub async fn of_user(visit: &mut Visit, user: UserId, window: &Window) -> Result<TweetPage> {
    page_of(visit, &TimelineSource::List(keys::user_timeline(user)), window).await
}

/// One tweet, also one that its reader only sees a line of. Rounds: 2, and one for mentions.
///
/// # Errors
/// [`Refusal::NoSuchTweet`], or the store's.
pub async fn tweet(visit: &mut Visit, id: TweetId) -> Result<Viewed<TweetLine>> {
    // The score is not known yet; a single tweet gets that of its own time below.
    let entry = Cursor { score: f64::NAN, id: id.0 };
    visit.want_reader();
    let Some(line) = hydrate(visit, &[entry], None).await?.pop() else {
        // Tells a tweet that cannot be read from one that does not exist.
        visit.fetch(read::hash(keys::tweet(id))).await?;
        return Err(Refusal::NoSuchTweet.into());
    };
    visit.reader().await?;
    let cursor = Cursor { score: line.tweet.created_at, id: id.0 };
    match visit.perspective().view(TweetLine { cursor, ..line }, ShownIn::Page) {
        Viewed::Nothing => Err(Refusal::NoSuchTweet.into()),
        view => Ok(view),
    }
}

/// Some tweets, in this order, without what the viewer does not see. Rounds: 2, and one for mentions.
pub async fn chosen(visit: &mut Visit, ids: &[TweetId]) -> Result<Vec<Seen<TweetLine>>> {
    let entries: Vec<Cursor> = ids.iter().map(|id| Cursor { score: f64::NAN, id: id.0 }).collect();
    visit.want_reader();
    let lines = hydrate(visit, &entries, None).await?;
    visit.reader().await?;
    let perspective = visit.perspective();
    let dated = |line: TweetLine| TweetLine {
        cursor: Cursor { score: line.tweet.created_at, ..line.cursor },
        ..line
    };
    Ok(lines.into_iter().filter_map(|line| perspective.see(dated(line), ShownIn::List)).collect())
}

/// Where the entries of a timeline come from.
enum TimelineSource {
    /// One sorted set.
    List(String),
    /// The home timeline of a reader.
    Home(UserId),
}

impl TimelineSource {
    /// The key of the sorted set.
    fn list(&self) -> String {
        match self {
            Self::List(key) => key.clone(),
            Self::Home(reader) => keys::home_timeline(*reader),
        }
    }
}

/// A page as its reader sees it.
async fn page_of(visit: &mut Visit, source: &TimelineSource, window: &Window) -> Result<TweetPage> {
    visit.want_reader();
    let page = whole_page(visit, source, window).await?;
    visit.reader().await?;
    Ok(page.listed(visit.perspective()))
}

/// A page from the cache, or read now.
async fn whole_page(visit: &mut Visit, source: &TimelineSource, window: &Window) -> Result<WholePage> {
    let site = visit.site_too();
    let place = |cursor: Option<Cursor>| cursor.map(|cursor| (cursor.score.to_bits(), cursor.id));
    let key = (source.list(), [place(window.before), place(window.since)], window.count);
    let cache = site.caches.of::<TimelinePages>();
    let flight = match visit.look_up(cache, &key).await? {
        CacheResult::Hit(page) => {
            let lines = hydrate(visit, &page.entries, None).await?;
            // If a tweet can no longer be shown, another one may have moved up.
            if lines.len() == page.entries.len() {
                return Ok(WholePage { lines, next: page.next });
            }
            cache.make_too(&key)
        }
        CacheResult::Miss(flight) => flight,
    };
    let (read, reads) = site.store.record_reads(read_page(visit, source, window)).await;
    let (page, is_apart) = read?;
    // A server apart from the store does not tell when its data changes.
    if !is_apart {
        let entries = page.lines.iter().map(|line| line.cursor).collect();
        let made = TimelinePage { entries, next: page.next };
        flight.finish(visit.view(), Tracked::recorded(made, &reads), None);
    }
    Ok(page)
}

/// Reads until the page is full or no more tweets can be shown, in a bounded number of
/// attempts. Returns also whether entries were read on the server of home timelines.
async fn read_page(visit: &mut Visit, source: &TimelineSource, window: &Window) -> Result<(WholePage, bool)> {
    let mut home = match source {
        TimelineSource::List(_) => None,
        TimelineSource::Home(reader) => Some(HomeReading::begin(visit, *reader).await?),
    };
    let page = read_entries(visit, source, home.as_mut(), window).await?;
    if let Some(home) = home.as_ref().filter(|home| home.is_absent) {
        let now = Moment(visit.now().0.saturating_mul(1_000));
        rebuild::make_soon(&visit.site_too(), home.reader, now).await;
    }
    Ok((page, home.is_some_and(|home| home.apart.is_some())))
}

async fn read_entries(
    visit: &mut Visit,
    source: &TimelineSource,
    mut home: Option<&mut HomeReading>,
    window: &Window,
) -> Result<WholePage> {
    let reader = home.as_ref().map(|home| home.reader);
    let mut lines: Vec<TweetLine> = Vec::new();
    let mut rest = *window;
    for attempt in 0..TIMELINE_REFILLS {
        // One more shows whether there is a next page. Where much cannot be shown, each attempt reads twice as many.
        rest.count = (window.count + 1 - lines.len()) << attempt;
        let entries = match &mut home {
            None => merged(visit, vec![source.list()], rest, None, f64::INFINITY).await?,
            Some(home) => match home.apart.clone() {
                Some(apart) => apart_entries(visit, home, &apart, rest).await?,
                None => home_entries(visit, home, rest).await?,
            },
        };
        lines.extend(hydrate(visit, &entries, reader).await?);
        let is_all = entries.len() < rest.count;
        if is_all || lines.len() > window.count {
            let is_more = lines.len() > window.count;
            lines.truncate(window.count);
            let next = lines.last().filter(|_| is_more).map(|line| line.cursor);
            return Ok(WholePage { lines, next });
        }
        rest.before = entries.last().copied();
    }
    // Very many tweets cannot be shown: the next page continues after them.
    lines.truncate(window.count);
    Ok(WholePage { lines, next: rest.before })
}

/// Reads the newest entries of some lists in the rounds of a visit.
async fn merged(
    visit: &mut Visit,
    lists: Vec<String>,
    window: Window,
    floor: Option<f64>,
    ceiling: f64,
) -> Result<Vec<Cursor>> {
    let mut merge = Merge::new(lists, window, floor, ceiling);
    while !merge.is_done() {
        merge.add(visit.fetch(merge.next_round()).await?);
    }
    Ok(merge.into_entries())
}

/// The entries of a home timeline: above the floor the stored entries, merged with the
/// timelines of pulled authors; at the floor and below, the authors' own timelines.
async fn home_entries(visit: &mut Visit, home: &mut HomeReading, window: Window) -> Result<Vec<Cursor>> {
    let mut stored = Merge::new(vec![keys::home_timeline(home.reader)], window, None, f64::INFINITY);
    let (mut followed_read, mut followed) = (Some(home.followed()), Vec::new());
    let mut floor = home.floor();
    while !stored.is_done() {
        // The floor is read before and after the entries, because a delivery may drop some
        // in between.
        let stored_floor = || read::score(keys::HOME_FLOORS, home.reader.to_string());
        let reads = (stored_floor(), stored.next_round(), stored_floor(), followed_read.take());
        let (before, entries, after, read) = visit.fetch(reads).await?;
        home.note_floors([before, after]);
        floor = higher(higher(floor, before), after);
        followed = read.unwrap_or(followed);
        stored.add(entries);
    }
    complete(visit, home.reader, (stored.into_entries(), floor), home.merged(followed), window).await
}

/// The same for a home timeline apart from the store, where the reader's own tweets are not in it.
async fn apart_entries(
    visit: &mut Visit,
    home: &mut HomeReading,
    apart: &Apart,
    window: Window,
) -> Result<Vec<Cursor>> {
    let reader = home.reader;
    let stored_floor = || read::score(keys::HOME_FLOORS, reader.to_string());
    let (followed, before) = visit.fetch((home.followed(), stored_floor())).await?;

    let mut stored = Merge::new(vec![keys::home_timeline(reader)], window, None, f64::INFINITY);
    let mut floor = higher(home.floor(), before);
    while let (Some((bounds, limit)), Some(mark)) = (stored.wanted(), home.home.mark(apart)) {
        match apart.read_part((reader, mark), bounds, limit).await {
            HomePart::Read(entries, end) => {
                floor = higher(floor, end);
                stored.take_only(entries);
                continue;
            }
            HomePart::Absent => home.is_absent = true,
            HomePart::Away => {}
        }
        floor = Some(floors::ABOVE_ALL);
        break;
    }
    // Before a removal from a full timeline the floor rises, and after a rebuild it falls: with the
    // higher one nothing is missed.
    let after = visit.fetch(stored_floor()).await?;
    home.note_floors([before, after]);
    let merged = home.merged(followed).into_iter().chain([reader]).collect();
    complete(visit, reader, (stored.into_entries(), higher(floor, after)), merged, window).await
}

/// The higher one of two floors, if there are any.
fn higher(floor: Option<f64>, other: Option<f64>) -> Option<f64> {
    floor.into_iter().chain(other).reduce(f64::max)
}

/// Completes the stored entries of a home timeline: with the tweets of authors who are not stored
/// there, and with those of all authors at the floor and below.
async fn complete(
    visit: &mut Visit,
    reader: UserId,
    (mut entries, floor): (Vec<Cursor>, Option<f64>),
    merged_authors: Vec<UserId>,
    window: Window,
) -> Result<Vec<Cursor>> {
    entries.retain(|entry| floor.is_none_or(|floor| entry.score > floor));
    let lists = merged_authors.into_iter().map(keys::user_timeline).collect();
    entries.extend(merged(visit, lists, window, floor, f64::INFINITY).await?);
    entries.sort_by(|entry, other| other.order(entry));
    entries.dedup_by_key(|entry| entry.id);
    entries.truncate(window.count);

    if let Some(floor) = floor.filter(|_| entries.len() < window.count) {
        let followings = visit.fetch(followings(reader)).await?;
        let lists = authors(reader, &followings).map(keys::user_timeline).collect();
        let window = Window { count: window.count - entries.len(), ..window };
        entries.extend(merged(visit, lists, window, None, floor).await?);
    }
    Ok(entries)
}

/// The number of tweets in a reader's home timeline that are newer than an entry, at most
/// [`MAX_PAGE`]. Rounds: as [`home`].
pub async fn count_newer(site: &Arc<Site>, reader: UserId, since: Cursor) -> Result<u64> {
    let window = Window { before: None, since: Some(since), count: MAX_PAGE };
    let mut visit = Visit::new(site.clone(), Timestamp::default(), None);
    let page = home_of(&mut visit, reader, &window).await?;
    Ok(u64::try_from(page.lines.len()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;
    use crate::timelines::lines::Tweets;
    use crate::values::Timestamp;
    use tidings_keyspace::{Batch, Store};

    #[tokio::test]
    async fn a_cached_page_reads_those_of_its_tweets_that_are_no_longer_cached() {
        let store = Store::in_memory().await.unwrap();
        let mut batch = Batch::new();
        batch.set_field(keys::user(UserId(1)), "username", "alice");
        for id in 1..=3 {
            let tweet = keys::tweet(TweetId(id));
            batch.set_field(&tweet, "text", format!("tweet {id}"));
            batch.set_field(&tweet, "user_id", "1");
            batch.sorted_add(keys::GLOBAL_TIMELINE, id.to_string(), 1_000.0);
        }
        store.commit(batch).await.unwrap();
        let site = Arc::new(Site::on(store.clone()));
        let page = async || {
            let mut visit = Visit::new(site.clone(), Timestamp(2_000), None);
            let before = store.rounds();
            let page = everyone(&mut visit, &Window::newest(2)).await.unwrap();
            let texts: Vec<String> = page.lines.iter().map(|line| line.tweet.text.clone()).collect();
            (texts, page.next.map(|next| next.id), store.rounds() - before)
        };
        let expected = |rounds| (vec!["tweet 3".to_owned(), "tweet 2".to_owned()], Some(2), rounds);
        assert_eq!(page().await, expected(3));
        assert_eq!(page().await, expected(0));
        site.caches.of::<Tweets>().clear();
        assert_eq!(page().await, expected(2), "the list is cached");
        assert_eq!(page().await, expected(0));
    }

    #[tokio::test]
    async fn a_cached_home_page_ends_when_an_author_is_pulled_or_the_timeline_ends() {
        let store = Store::in_memory().await.unwrap();
        let mut batch = Batch::new();
        for author in [2, 3] {
            let (id, tweet) = (UserId(author), keys::tweet(TweetId(author)));
            batch.set_field(keys::user(id), "username", format!("author-{author}"));
            batch.sorted_add(keys::followings(UserId(1)), author.to_string(), 1.0);
            batch.set_field(&tweet, "text", format!("tweet {author}"));
            batch.set_field(&tweet, "user_id", author.to_string());
            batch.sorted_add(keys::user_timeline(id), author.to_string(), 1_000.0);
        }
        store.commit(batch).await.unwrap();
        let site = Arc::new(Site::on(store.clone()));
        let page = async || {
            let mut visit = Visit::new(site.clone(), Timestamp(2_000), None);
            let before = store.rounds();
            let source = TimelineSource::Home(UserId(1));
            let page = page_of(&mut visit, &source, &Window::newest(5)).await.unwrap();
            let ids: Vec<u64> = page.lines.iter().map(|line| line.tweet.id.0).collect();
            (ids, store.rounds() - before)
        };
        let expect = async |expected: &[u64]| {
            let (ids, rounds) = page().await;
            assert!(rounds > 0 && ids == expected, "{ids:?} after {rounds} rounds, {expected:?} expected");
            assert_eq!(page().await, (expected.to_vec(), 0));
        };
        expect(&[]).await;
        store.commit(Batch::of(|batch| batch.add_member(keys::PULLED_AUTHORS, "2"))).await.unwrap();
        expect(&[2]).await;
        let mut batch = Batch::new();
        crate::timelines::homes::end(&mut batch, UserId(1));
        store.commit(batch).await.unwrap();
        expect(&[3, 2]).await;
    }
}
