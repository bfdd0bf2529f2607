//! The threads of stories that were merged into another, for the page of that story.

use super::outline::{Arranged, PartBounds, ThreadLine, ThreadLines};
use super::threads::{Threads, arrange_elsewhere, place_for_large, wanted_comments};
use crate::accounts::{CacheResult, UserNames};
use crate::cache::{Flight, Shared};
use crate::news::lines::{self, ListedItem, NewsSummary};
use crate::values::{NewsId, UserId};
use crate::{Comment, Result, Visit, keys};
use std::collections::HashMap;
use tidings_keyspace::{Fetch, Hash, Reads, Tracked, read};

/// The thread of a merged story, with the first of its comments.
pub struct MergedThread {
    /// The story.
    pub news: Shared<NewsSummary>,
    /// Where its comments are.
    pub lines: Shared<ThreadLines>,
    /// How many comments are shown, from the first one on.
    pub shown: usize,
    /// The shown comments of a thread that is cached without them.
    read: HashMap<usize, Comment>,
}

impl MergedThread {
    /// The comments that are shown.
    pub fn shown(&self) -> impl Iterator<Item = ThreadLine<'_>> {
        let line = |position| {
            self.lines.line(position).or_else(|| self.lines.line_with(position, self.read.get(&position)?))
        };
        (0..self.shown).filter_map(line)
    }
}

/// A thread that is being found: it is cached, or must be made.
enum FoundThread<'a> {
    Cached(Shared<ThreadLines>, usize, HashMap<usize, Comment>),
    Read(Flight<'a, Threads>, Tracked<Hash>),
}

/// The threads of merged stories, in the order of the stories, with as many comments as fit into
/// the room of a page that is left. Stories that are gone are left out. Rounds: 2, whatever their
/// number, none without stories.
pub async fn of_stories(
    visit: &mut Visit,
    ids: &[NewsId],
    mut room: PartBounds,
) -> Result<Vec<MergedThread>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let site = visit.site_too();
    // In the order of their numbers, so that two visits never wait for each other.
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let mut looked_up = Vec::with_capacity(ids.len());
    for id in &ids {
        looked_up.push((*id, visit.look_up(site.caches.of::<Threads>(), id).await?));
    }
    let reads_whole = looked_up.iter().any(|(_, found)| matches!(found, CacheResult::Miss(_)));
    let mut threads = Vec::with_capacity(ids.len());
    for (id, found) in looked_up {
        threads.push(match found {
            CacheResult::Hit(lines) => {
                let shown = lines.fitting(&mut room);
                let read = wanted_comments(&lines, (0..shown).collect());
                read.map(move |read| FoundThread::Cached(lines, shown, read)).boxed()
            }
            CacheResult::Miss(flight) => {
                let comments = read::hash(keys::thread(id)).or_absent().tracked();
                comments.map(|comments| FoundThread::Read(flight, comments)).boxed()
            }
        });
    }
    let items = ListedItem::of_list(&visit.shared(), &ids);
    let place = if reads_whole { place_for_large().await } else { None };
    let (items, threads) = visit.fetch((items, threads.large_if(reads_whole))).await?;
    let made = arrange(&ids, threads).await?;
    drop(place);
    let names = UserNames::of(&visit.shared(), made.iter().flat_map(Made::authors).collect());
    let there: Vec<bool> = items.iter().map(Result::is_ok).collect();
    let summaries = lines::summaries(&visit.shared(), items.into_iter().flatten().collect());
    let (names, summaries) = visit.fetch((names, summaries)).await?;
    let mut summaries = summaries.into_iter();
    let mut threads = Vec::with_capacity(made.len());
    for (made, is_there) in made.into_iter().zip(there) {
        let (lines, shown, read) = match made {
            Made::Cached(lines, shown, read) => (lines, shown, read),
            Made::New { flight, mut lines, comments, is_large, mut reads } => {
                lines.take_names(&names, &mut reads);
                let shown = lines.fitting(&mut room);
                let mut read = HashMap::new();
                if is_large {
                    read.extend(comments.into_iter().take(shown).enumerate());
                } else {
                    lines.keep_whole(comments);
                }
                (flight.finish(visit.view(), Tracked::new(lines, reads), None), shown, read)
            }
        };
        if let Some(news) = is_there.then(|| summaries.next()).flatten() {
            threads.push(MergedThread { news, lines, shown, read });
        }
    }
    Ok(threads)
}

/// A thread in order, still without the names of a new one.
enum Made<'a> {
    Cached(Shared<ThreadLines>, usize, HashMap<usize, Comment>),
    New {
        flight: Flight<'a, Threads>,
        lines: ThreadLines,
        comments: Vec<Comment>,
        is_large: bool,
        reads: Reads,
    },
}

impl Made<'_> {
    /// The authors whose names are needed.
    fn authors(&self) -> impl Iterator<Item = UserId> {
        let lines = match self {
            Self::Cached(..) => None,
            Self::New { lines, .. } => Some(lines),
        };
        lines.into_iter().flat_map(ThreadLines::authors)
    }
}

/// Puts the threads that were read in order.
async fn arrange<'a>(ids: &[NewsId], threads: Vec<FoundThread<'a>>) -> Result<Vec<Made<'a>>> {
    let mut made = Vec::with_capacity(threads.len());
    for (id, found) in ids.iter().zip(threads) {
        made.push(match found {
            FoundThread::Cached(lines, shown, read) => Made::Cached(lines, shown, read),
            FoundThread::Read(flight, hash) => {
                let mut reads = Reads::default();
                let hash = hash.collect_into(&mut reads);
                let Arranged { places, comments, deleted, is_large } = arrange_elsewhere(*id, hash).await?;
                let lines = ThreadLines::outline(*id, places).with_deleted(deleted);
                Made::New { flight, lines, comments, is_large, reads }
            }
        });
    }
    Ok(made)
}
