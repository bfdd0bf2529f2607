//! Reading a thread: its story, where its comments are, and the comments that a page shows.
//!
//! A thread is one hash, which is read whole when the thread is not cached. Threads of more
//! than `WHOLE_THREAD_BYTES` are cached without their texts; a page of such a thread reads
//! the comments that it shows. So only the first reader after a write reads everything, and
//! nobody holds it for longer than it takes to put it in order.

use super::comment::Comment;
use super::outline::{Arranged, ThreadLine, ThreadLines};
use crate::accounts::users::UserNamesRead;
use crate::accounts::visit::{CacheResult, Visit};
use crate::cache::{Flight, MEBIBYTE, Shared};
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::lines::{self, ItemsRead, ListedItem, NewsLine, SummariesRead};
use crate::news::subscriptions::{Subscription, SubscriptionRead};
use crate::news::voters::OwnVotesRead;
use crate::values::ids::{CommentId, NewsId, UserId};
use crate::values::limits::{LARGE_THREADS_AT_ONCE, SMALL_THREAD_BYTES, SMALL_THREAD_COMMENTS};
use std::collections::HashMap;
use std::sync::Arc;
use tidings_keyspace::{Answers, Handle, Hash, Query, Reads, Tracked};
use tokio::sync::{Semaphore, SemaphorePermit};

crate::cache_kind! {
    /// Threads as all viewers see them.
    struct Threads: NewsId => ThreadLines, "threads", 9 * MEBIBYTE, |_, lines| lines.size();
}

/// An item with its comments.
pub struct Thread {
    /// The item.
    pub news: NewsLine,
    /// Where the comments are.
    pub lines: Shared<ThreadLines>,
    /// What the viewer has chosen for the thread.
    pub subscription: Subscription,
    /// The wanted comments of a thread that is cached without them.
    read: HashMap<usize, Comment>,
}

impl Thread {
    /// A whole thread.
    #[must_use]
    pub fn whole(news: NewsLine, lines: ThreadLines) -> Self {
        let subscription = Subscription::default();
        Self { news, lines: lines.into(), subscription, read: HashMap::new() }
    }

    /// The line at a position. `None` for a comment that was not wanted.
    #[must_use]
    pub fn line(&self, position: usize) -> Option<ThreadLine<'_>> {
        self.lines.line(position).or_else(|| self.lines.line_with(position, self.read.get(&position)?))
    }

    /// The line of a wanted comment.
    #[must_use]
    pub fn line_of(&self, id: CommentId) -> Option<ThreadLine<'_>> {
        self.line(self.lines.position(id)?)
    }
}

/// An item, the places of all its comments, and the comments at the positions that `wanted`
/// chooses. Rounds: 2.
///
/// It reads the wanted comments alone if the thread is cached without them, and all comments
/// if it is not cached; at most [`LARGE_THREADS_AT_ONCE`] threads that may be large are read
/// at once. A large thread is read and put in order off the async threads.
///
/// # Errors
/// [`Refusal::NoSuchNews`], or the store's.
pub async fn get(
    visit: &mut Visit,
    id: NewsId,
    wanted: impl Fn(&ThreadLines) -> Vec<usize>,
) -> Result<Thread, Error> {
    let site = visit.site_too();
    let lines = match visit.look_up(site.caches.of::<Threads>(), &id).await? {
        CacheResult::Hit(lines) => lines,
        CacheResult::Miss(flight) => return make(visit, id, flight, wanted).await,
    };
    let mut query = Query::new();
    let news = ItemsRead::ask(&visit.shared(), &mut query, &[id]);
    let texts = CommentsRead::ask(&mut query, &lines, wanted);
    let mut answers = visit.run(query).await?;
    let read = texts.take(&lines, &mut answers);
    let (news, subscription, _) = read_item(visit, Query::new(), found(news, &mut answers)?).await?;
    Ok(Thread { news, lines, subscription, read })
}

/// Makes a thread that is not cached.
async fn make(
    visit: &mut Visit,
    id: NewsId,
    flight: Flight<'_, Threads>,
    wanted: impl Fn(&ThreadLines) -> Vec<usize>,
) -> Result<Thread, Error> {
    let mut query = Query::new();
    let news = ItemsRead::ask(&visit.shared(), &mut query, &[id]);
    let is_small = news.cached().any(|news| news.comments <= SMALL_THREAD_COMMENTS);
    let comments = query.hash(keys::thread(id));
    let comments = query.track(comments);
    let place = if is_small { None } else { Some(expect_large(&mut query).await) };
    let mut answers = visit.run(query).await?;
    let news = found(news, &mut answers)?;
    let mut reads = Reads::default();
    let hash = answers.take_tracked(comments).collect_into(&mut reads);
    let Arranged { places, comments, is_large } = arrange_elsewhere(id, hash).await?;
    let mut lines = ThreadLines::outline(id, places);
    let mut read = HashMap::new();
    if is_large {
        let mut comments: Vec<Option<Comment>> = comments.into_iter().map(Some).collect();
        let mut take = |position: usize| Some((position, comments.get_mut(position)?.take()?));
        read.extend(wanted(&lines).into_iter().filter_map(&mut take));
    } else {
        lines.keep_whole(comments);
    }
    drop(place);

    let mut query = Query::new();
    let authors = lines.places().iter().map(|place| place.user_id);
    let names = UserNamesRead::ask(&visit.shared(), &mut query, authors);
    let (news, subscription, mut answers) = read_item(visit, query, news).await?;
    let names = names.take(&visit.shared(), &mut answers);
    let mut found: HashMap<UserId, Option<Arc<str>>> = HashMap::new();
    for place in lines.places() {
        found.entry(place.user_id).or_insert_with_key(|id| names.collect_into(*id, &mut reads));
    }
    lines.name_all(|id| found.get(&id).cloned().flatten());
    let lines = flight.finish(visit.view(), Tracked::new(lines, reads), None);
    Ok(Thread { news, lines, subscription, read })
}

/// The item that was read.
fn found(news: ItemsRead, answers: &mut Answers) -> Result<ListedItem, Error> {
    let news = news.take(answers, &mut Reads::default()).into_iter().flatten().next();
    Ok(news.ok_or(Refusal::NoSuchNews)?)
}

/// Completes an item, with another query in the same round.
async fn read_item(
    visit: &mut Visit,
    mut query: Query,
    news: ListedItem,
) -> Result<(NewsLine, Subscription, Answers), Error> {
    let (site, id) = (visit.site_too(), news.news().id);
    let summary = SummariesRead::ask(&visit.shared(), &mut query, vec![news]);
    let own = OwnVotesRead::ask(site.caches.of(), visit, &mut query, [id].into_iter());
    let subscription = SubscriptionRead::ask(visit, &mut query, id);
    let mut answers = visit.run(query).await?;
    let summary = summary.take(&visit.shared(), &mut answers);
    let subscription = subscription.take(visit, &mut answers, id);
    let own = own.take(visit, &mut answers).await?;
    let news = lines::mark(summary, own).into_iter().next().ok_or(Refusal::NoSuchNews)?;
    Ok((news, subscription, answers))
}

/// Waits until few enough large threads are being read, and has the query read elsewhere.
async fn expect_large(query: &mut Query) -> Option<SemaphorePermit<'static>> {
    static PLACES: Semaphore = Semaphore::const_new(LARGE_THREADS_AT_ONCE);
    query.expect_large();
    // It is never closed.
    PLACES.acquire().await.ok()
}

/// Puts the comments of a thread in order, off the async threads if there is much of them.
async fn arrange_elsewhere(id: NewsId, hash: Hash) -> Result<Arranged, Error> {
    let bytes: usize = hash.0.iter().map(|(_, json)| json.len()).sum();
    if bytes <= SMALL_THREAD_BYTES {
        return Ok(Arranged::of(id, hash));
    }
    let arranging = tokio::task::spawn_blocking(move || Arranged::of(id, hash));
    arranging.await.map_err(|error| Error::Internal(error.to_string()))
}

/// Pending reads of the wanted comments, if the thread is cached without its comments.
struct CommentsRead {
    positions: Vec<usize>,
    texts: Option<Handle<Vec<Option<String>>>>,
}

impl CommentsRead {
    fn ask(query: &mut Query, lines: &ThreadLines, wanted: impl Fn(&ThreadLines) -> Vec<usize>) -> Self {
        if lines.is_whole() {
            return Self { positions: Vec::new(), texts: None };
        }
        let positions = wanted(lines);
        let ids: Vec<String> = positions
            .iter()
            .filter_map(|position| lines.places().get(*position))
            .map(|place| place.id.to_string())
            .collect();
        let texts = (!ids.is_empty()).then(|| query.hash_fields(keys::thread(lines.news()), ids));
        Self { positions, texts }
    }

    /// The comments by position. One that has disappeared is left out.
    fn take(self, lines: &ThreadLines, answers: &mut Answers) -> HashMap<usize, Comment> {
        let texts = self.texts.map(|texts| answers.take(texts)).unwrap_or_default();
        let read = self.positions.into_iter().zip(texts).filter_map(|(position, json)| {
            let id = lines.places().get(position)?.id;
            Some((position, Comment::read(lines.news(), &id.to_string(), &json?)?))
        });
        read.collect()
    }
}
