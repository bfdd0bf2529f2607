//! Reading a thread: its story, where its comments are, and the comments that a page shows.
//!
//! A thread is one hash, which is read whole when the thread is not cached. Threads of more
//! than `WHOLE_THREAD_BYTES` are cached without their texts; a page of such a thread reads
//! the comments that it shows. So only the first reader after a write reads everything, and
//! nobody holds it for longer than it takes to put it in order.

use super::orders::Reordered;
use super::outline::{Arranged, ThreadLine, ThreadLines, ThreadPlace};
use crate::accounts::{CacheResult, OnPage, Perspective, Reader, ShownIn, Sight, UserNames, Viewed};
use crate::cache::{Flight, MEBIBYTE, Shared};
use crate::marks::{PageRead, PendingMarks, ThreadMark};
use crate::news::lines::{self, ListedItem, NewsLine, OwnRead};
use crate::news::subscriptions::{self, Subscription};
use crate::values::{
    CommentAddress, CommentId, CommentOrder, LARGE_THREADS_AT_ONCE, NewsId, SMALL_THREAD_BYTES,
    SMALL_THREAD_COMMENTS, Timestamp, UserId,
};
use crate::{Comment, Error, Refusal, Result, Site, User, Visit, keys};
use std::collections::HashMap;
use tidings_keyspace::{Fetch, Hash, Reads, Tracked, read};
use tokio::sync::{Semaphore, SemaphorePermit};

crate::cache_kind! {
    /// Threads as all viewers see them.
    pub(super) struct Threads: NewsId => ThreadLines, "threads", 16 * MEBIBYTE, |_, lines| lines.size();
}

/// An item with its comments, as the viewer sees them.
pub struct Thread {
    /// The item.
    pub news: NewsLine,
    /// The thread by score, the same for all viewers.
    pub lines: Shared<ThreadLines>,
    /// The viewer's choice for the thread.
    pub subscription: Subscription,
    /// The order that the viewer sees.
    pub order: CommentOrder,
    /// The same thread in that order, if it is another.
    reordered: Option<Reordered>,
    /// The wanted comments of a thread that is cached without them, by their positions in the
    /// thread by score.
    read: HashMap<usize, Comment>,
    /// The viewer, and how far they had read the thread before this visit.
    reader: Option<(UserId, Option<ThreadMark>)>,
    /// The viewer's choices about what they see.
    choices: Option<Shared<Reader>>,
    /// Whether the viewer has asked for what is hidden.
    shows_all: bool,
}

impl Thread {
    /// A whole thread, by score.
    pub fn whole(news: NewsLine, lines: ThreadLines) -> Self {
        let order = CommentOrder::Score;
        let subscription = Subscription::default();
        let (reordered, read, reader, choices) = (None, HashMap::new(), None, None);
        let lines = lines.into();
        Self { news, lines, subscription, order, reordered, read, reader, choices, shows_all: false }
    }

    /// The viewer's perspective.
    pub fn perspective(&self) -> Perspective<'_> {
        Perspective { reader: self.choices.as_deref(), shows_all: self.shows_all }
    }

    /// The line at a position of the outline, as the viewer sees it.
    pub fn view(&self, position: usize) -> Viewed<ThreadLine<'_>> {
        let place = ShownIn::Thread { has_replies: self.has_replies(position) };
        self.line(position).map_or(Viewed::Nothing, |line| self.perspective().view(line, place))
    }

    fn has_replies(&self, position: usize) -> bool {
        let places = self.outline().places();
        let depth = |position: usize| places.get(position).map(|place| place.depth);
        depth(position + 1) > depth(position)
    }

    /// The places of the comments, in the order that the viewer sees.
    pub fn outline(&self) -> &ThreadLines {
        self.reordered.as_ref().map_or(&*self.lines, |reordered| &reordered.outline)
    }

    /// The line at a position of the outline. `None` for a comment that was not wanted.
    pub fn line(&self, position: usize) -> Option<ThreadLine<'_>> {
        let position = match &self.reordered {
            Some(reordered) => reordered.source(position)?,
            None => position,
        };
        self.lines.line(position).or_else(|| self.lines.line_with(position, self.read.get(&position)?))
    }

    /// The line of a wanted comment.
    pub fn line_of(&self, id: CommentId) -> Option<ThreadLine<'_>> {
        self.line(self.outline().position(id)?)
    }

    /// The comments that the first page of the thread, or another, marks as new, without a visit of it (see [`ThreadMark`]);
    /// `None` for a visitor without a session, and if there was no visit.
    pub fn new_comments(&self, now: Timestamp, is_first_page: bool) -> Option<NewComments> {
        let (reader, mark) = self.reader?;
        let mark = ThreadMark::after(Some(mark?), self.page_read(now, is_first_page));
        Some(NewComments { reader, after: mark.new_after })
    }

    /// The same, and notes the visit. It is stored later.
    pub fn note_visit(&self, site: &Site, now: Timestamp, is_first_page: bool) -> Option<NewComments> {
        let (reader, mark) = self.reader?;
        let page = self.page_read(now, is_first_page);
        let mark = ThreadMark::after(mark, page);
        site.of::<PendingMarks>().note_read(reader, self.news.news.id, mark);
        Some(NewComments { reader, after: mark.new_after })
    }

    fn page_read(&self, now: Timestamp, is_first: bool) -> PageRead {
        let newest = self.lines.places().iter().map(|place| place.id.0).max().unwrap_or(0);
        PageRead { now, newest, comments: self.news.news.comments, is_first }
    }
}

/// Which comments of a thread are new for its reader: those of others after a certain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewComments {
    reader: UserId,
    after: u64,
}

impl NewComments {
    /// Whether a comment is new.
    pub fn has(&self, place: &ThreadPlace) -> bool {
        place.id.0 > self.after && place.user_id != self.reader && !place.deleted
    }
}

/// How a thread is arranged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrangement {
    /// The order; by default the viewer's own.
    pub order: Option<CommentOrder>,
    /// The comment that is first among its siblings, because the viewer has just posted it.
    pub posted: Option<CommentId>,
}

impl From<CommentOrder> for Arrangement {
    fn from(order: CommentOrder) -> Self {
        Self { order: Some(order), posted: None }
    }
}

/// An item, the places of all its comments, and the comments at the positions that `wanted`
/// chooses. Notes that the viewer has seen these comments. Rounds: 2, and at most 1 more
/// for a large thread whose order depends on a viewer who is not cached.
///
/// It reads the wanted comments alone if the thread is cached without them, and all comments
/// if it is not cached; at most [`LARGE_THREADS_AT_ONCE`] threads that may be large are read
/// at once. A large thread is read and put in order off the async threads.
///
/// # Errors
/// [`Refusal::NoSuchNews`], also for a story that waits for approval and is not the viewer's,
/// or the store's.
pub async fn get(
    visit: &mut Visit,
    id: NewsId,
    arrangement: Arrangement,
    wanted: impl Fn(&ThreadLines) -> Vec<usize>,
) -> Result<Thread> {
    let site = visit.site_too();
    let (lines, read, found) = match visit.look_up(site.caches.of::<Threads>(), &id).await? {
        CacheResult::Hit(lines) => {
            // A large thread is cached without its comments: the order decides which are read.
            let positions = if lines.is_whole() {
                Vec::new()
            } else {
                wanted_by_score(&lines, known(visit, arrangement).await?, &wanted)
            };
            let news = ListedItem::with_id(&visit.shared(), id);
            let (news, read) = visit.fetch((news, wanted_comments(&lines, positions))).await?;
            let (found, ()) = read_item(visit, found(news)?, read::known(())).await?;
            (lines, read, found)
        }
        CacheResult::Miss(flight) => make(visit, id, flight, (arrangement, &wanted)).await?,
    };
    let (order, posted) = known(visit, arrangement).await?;
    let reordered = Reordered::of(&lines, order, posted);
    let ReadItem { news, mark, subscription, .. } = found;
    Refusal::NoSuchNews.when(news.marks.sight == Sight::LeftOut)?;
    let reader = visit.viewer_id().map(|viewer| (viewer, mark));
    let (choices, shows_all) = (visit.reader().await?, visit.shows_hidden());
    let thread = Thread { news, lines, subscription, order, reordered, read, reader, choices, shows_all };
    let seen = |_: &User| {
        let shown =
            wanted(thread.outline()).into_iter().filter(|position| thread.view(*position).whole().is_some());
        let places = shown.filter_map(|position| thread.outline().places().get(position));
        places
            .map(|place| OnPage::Comment(CommentAddress { news: id, comment: place.id }))
            .collect::<Vec<_>>()
    };
    visit.note_seen(seen).await?;
    Ok(thread)
}

/// The order of a thread, which may be the one that the viewer has chosen, and the comment that was
/// posted. Rounds: those that identify the viewer, if none has done so.
async fn known(
    visit: &mut Visit,
    Arrangement { order, posted }: Arrangement,
) -> Result<(CommentOrder, Option<CommentId>)> {
    let order = match order {
        Some(order) => order,
        None => visit.recognise().await?.map(|user| user.preferences.sort_comments).unwrap_or_default(),
    };
    Ok((order, posted))
}

/// The wanted positions of a thread in another order, as positions in the thread by score.
fn wanted_by_score(
    lines: &ThreadLines,
    (order, posted): (CommentOrder, Option<CommentId>),
    wanted: impl Fn(&ThreadLines) -> Vec<usize>,
) -> Vec<usize> {
    match Reordered::of(lines, order, posted) {
        None => wanted(lines),
        Some(reordered) => {
            let positions = wanted(&reordered.outline).into_iter();
            positions.filter_map(|position| reordered.source(position)).collect()
        }
    }
}

/// Makes a thread that is not cached.
async fn make<W: Fn(&ThreadLines) -> Vec<usize>>(
    visit: &mut Visit,
    id: NewsId,
    flight: Flight<'_, Threads>,
    (arrangement, wanted): (Arrangement, W),
) -> Result<(Shared<ThreadLines>, HashMap<usize, Comment>, ReadItem)> {
    let news = ListedItem::with_id(&visit.shared(), id);
    let is_small = matches!(news.known(), Some(Ok(news)) if news.news().comments <= SMALL_THREAD_COMMENTS);
    let comments = read::hash(keys::thread(id)).tracked().large_if(!is_small);
    let place = if is_small { None } else { Some(place_for_large().await) };
    let (news, comments) = visit.fetch((news, comments)).await?;
    let news = found(news)?;
    let mut reads = Reads::default();
    let hash = comments.collect_into(&mut reads);
    let Arranged { places, comments, deleted, is_large } = arrange_elsewhere(id, hash).await?;
    let mut lines = ThreadLines::outline(id, places).with_deleted(deleted);

    let names = UserNames::of(&visit.shared(), lines.authors().collect());
    let (item, names) = read_item(visit, news, names).await?;
    // Which comments are on a page depends on the names, too.
    lines.take_names(&names, &mut reads);
    let mut read = HashMap::new();
    if is_large {
        let arranged = known(visit, arrangement).await?;
        let mut comments: Vec<Option<Comment>> = comments.into_iter().map(Some).collect();
        let mut take = |position: usize| Some((position, comments.get_mut(position)?.take()?));
        read.extend(wanted_by_score(&lines, arranged, wanted).into_iter().filter_map(&mut take));
    } else {
        lines.keep_whole(comments);
    }
    drop(place);
    Ok((flight.finish(visit.view(), Tracked::new(lines, reads), None), read, item))
}

/// The item that was read.
fn found(news: Result<ListedItem, Reads>) -> Result<ListedItem> {
    Ok(news.map_err(|_| Refusal::NoSuchNews)?)
}

/// An item as the viewer sees it.
struct ReadItem {
    news: NewsLine,
    /// How far the viewer has read its thread.
    mark: Option<ThreadMark>,
    /// The viewer's choice for the thread.
    subscription: Subscription,
}

/// Completes an item, and fetches something else in the same round.
async fn read_item<F: Fetch>(visit: &mut Visit, news: ListedItem, also: F) -> Result<(ReadItem, F::Value)> {
    let (site, id) = (visit.site_too(), news.news().id);
    let summary = lines::summaries(&visit.shared(), vec![news]);
    let own = OwnRead::of(&site, visit, [id].into_iter());
    let subscription = subscriptions::of_viewer(visit, id);
    let (summary, own, subscription, also) = visit.fetch((summary, own, subscription, also)).await?;
    let own = own.finish(visit).await?;
    let mark = own.marks.of(id);
    let news = lines::mark(summary, own).into_iter().next().ok_or(Refusal::NoSuchNews)?;
    Ok((ReadItem { news, mark, subscription }, also))
}

/// Waits until few enough large threads are being read.
pub(super) async fn place_for_large() -> Option<SemaphorePermit<'static>> {
    static PLACES: Semaphore = Semaphore::const_new(LARGE_THREADS_AT_ONCE);
    // It is never closed.
    PLACES.acquire().await.ok()
}

/// Puts the comments of a thread in order, off the async threads if there is much of them.
pub(super) async fn arrange_elsewhere(id: NewsId, hash: Hash) -> Result<Arranged> {
    let bytes: usize = hash.0.iter().map(|(_, json)| json.len()).sum();
    if bytes <= SMALL_THREAD_BYTES {
        return Ok(Arranged::of(id, hash));
    }
    let arranging = tokio::task::spawn_blocking(move || Arranged::of(id, hash));
    arranging.await.map_err(|error| Error::Internal(error.to_string()))
}

/// The wanted comments by position, if the thread is cached without its comments. One that has disappeared is left
/// out.
pub(super) fn wanted_comments(
    lines: &ThreadLines,
    positions: Vec<usize>,
) -> impl Fetch<Value = HashMap<usize, Comment>> + use<> {
    let news = lines.news();
    let place = |position: usize| Some((position, lines.places().get(position)?.id));
    let places: Vec<(usize, CommentId)> =
        positions.into_iter().filter(|_| !lines.is_whole()).filter_map(place).collect();
    let ids: Vec<String> = places.iter().map(|(_, id)| id.to_string()).collect();
    let texts = (!ids.is_empty()).then(|| read::hash_fields(keys::thread(news), ids));
    Fetch::map(texts, move |texts| {
        let read = places.into_iter().zip(texts.unwrap_or_default());
        read.filter_map(|((position, id), json)| {
            Some((position, Comment::read(news, &id.to_string(), &json?)?))
        })
        .collect()
    })
}
