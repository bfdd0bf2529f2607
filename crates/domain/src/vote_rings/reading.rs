//! Reading the votes of the last 90 days, the newest stories first.

use crate::values::{
    NewsId, Timestamp, UserId, VOTE_RING_CHUNK, VOTE_RING_DAYS, VOTE_RING_STORIES, VOTE_RING_VOTES,
    VOTE_RING_VOTES_OF_STORY,
};
use crate::{Comment, Result, Site, fields, keys};
use tidings_keyspace::{Fetch, Order, read};
use tidings_vote_rings::{Ballots, Layer};

const SECONDS_A_DAY: u64 = 86_400;

/// The votes that were read.
pub(super) struct Read {
    pub(super) ballots: Ballots,
    /// The stories that were read.
    pub(super) stories: u64,
    /// Whether there were more than may be read.
    pub(super) is_cut: bool,
}

/// A thread that is still to be read.
struct PendingThread {
    news: NewsId,
    comments: u64,
}

/// Reads the votes.
pub(super) async fn read(site: &Site, now: Timestamp) -> Result<Read> {
    let oldest = Timestamp(now.0.saturating_sub(VOTE_RING_DAYS * SECONDS_A_DAY));
    let scores = (oldest.as_score(), f64::INFINITY);
    let news = read::sorted_by_score(keys::NEWS_CRON, Order::Descending, scores, VOTE_RING_STORIES + 1);
    let news = site.store.fetch(news.large()).await?;
    let mut ids: Vec<NewsId> = fields::members(news, keys::NEWS_CRON, |(id, _)| id.parse().ok());
    let most = usize::try_from(VOTE_RING_STORIES).unwrap_or(usize::MAX);
    let mut read = Read { ballots: Ballots::default(), stories: 0, is_cut: ids.len() > most };
    ids.truncate(most);
    for ids in ids.chunks(usize::try_from(VOTE_RING_CHUNK).unwrap_or(1)) {
        if read.ballots.len() >= VOTE_RING_VOTES {
            read.is_cut = true;
            break;
        }
        let threads = read_stories(site, ids, &mut read).await?;
        read_comments(site, threads, &mut read.ballots).await?;
    }
    Ok(read)
}

/// Reads stories with their votes. Returns their threads.
async fn read_stories(site: &Site, ids: &[NewsId], read: &mut Read) -> Result<Vec<PendingThread>> {
    let story = |id: &NewsId| {
        let story = read::fields(keys::news(*id), ["user_id", "ctime", "comments"]);
        (story, read::sorted_range(keys::news_up(*id), Order::Ascending, 0, VOTE_RING_VOTES_OF_STORY))
    };
    let reads: Vec<_> = ids.iter().map(story).collect();
    let stories = site.store.fetch(reads.or_absent().large()).await?;
    let mut threads = Vec::new();
    for (news, ([author, posted, comments], votes)) in ids.iter().copied().zip(stories) {
        let key = || keys::news(news);
        let votes = fields::members(votes, &keys::news_up(news), |(voter, time)| {
            Some((voter.parse::<UserId>().ok()?.0, Some(Timestamp::from_score(time).0)))
        });
        let author: Option<UserId> = fields::read(author.as_deref(), key, "user_id");
        let posted: Option<u64> = fields::read(posted.as_deref(), key, "ctime");
        let (Some(author), Some(posted)) = (author, posted) else { continue };
        read.stories += 1;
        read.ballots.add((author.0, posted), Layer::Stories, votes);
        let comments = fields::count(comments.as_deref(), key, "comments");
        if comments > 0 {
            threads.push(PendingThread { news, comments });
        }
    }
    Ok(threads)
}

/// Reads the comments of threads, in rounds of about [`VOTE_RING_CHUNK`] comments.
async fn read_comments(site: &Site, threads: Vec<PendingThread>, ballots: &mut Ballots) -> Result<()> {
    let mut threads = threads.into_iter().peekable();
    while threads.peek().is_some() {
        let mut room = VOTE_RING_CHUNK;
        let mut stories = Vec::new();
        while let Some(thread) = threads.next_if(|thread| stories.is_empty() || thread.comments <= room) {
            room = room.saturating_sub(thread.comments);
            stories.push(thread.news);
        }
        let reads = stories.into_iter().map(Comment::of_story).collect::<Vec<_>>();
        for comment in site.store.fetch(reads.large()).await?.iter().flatten() {
            // Most have no votes but the author's. So there are no more items than votes.
            if comment.up.iter().any(|voter| *voter != comment.user_id.0) {
                let votes = comment.up.iter().map(|voter| (*voter, None));
                ballots.add((comment.user_id.0, comment.ctime.0), Layer::Comments, votes);
            }
        }
    }
    Ok(())
}
