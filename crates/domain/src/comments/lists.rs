//! Lists of comments on several items: a user's comments, and replies to them.

use super::comment::{Comment, NEXT_ID};
use super::outline::{Arranged, ThreadLine, ThreadLines};
use super::threads::{self, CommentsRead, Threads};
use crate::accounts::unread;
use crate::accounts::users::{self, UserNamesRead};
use crate::accounts::visit::Visit;
use crate::cache::Shared;
use crate::error::Error;
use crate::keys;
use crate::site::Applied;
use crate::values::ids::{CommentAddress, CommentId, NewsId, UserId};
use crate::values::limits::{MAX_COMMENTS_PER_THREAD, MAX_SHOWN_REPLIES, REPLIES_ROUND_COMMENTS};
use crate::values::size;
use crate::values::text::printable;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use tidings_keyspace::{Batch, Order, Query};

/// One comment of a user, and the item that it is on.
#[derive(Debug, PartialEq)]
pub struct UserComment {
    /// The item's number.
    pub news_id: NewsId,
    /// The item's title; `None` when it is deleted or its hash is gone.
    pub title: Option<String>,
    /// The comment and, on the page of replies, the newest of its direct replies.
    pub lines: Vec<ListedComment>,
    /// Whether it has more replies than these.
    pub has_more: bool,
}

/// A comment in a list.
#[derive(Debug, PartialEq)]
pub struct ListedComment {
    comment: Comment,
    depth: usize,
    username: Option<Arc<str>>,
}

impl ListedComment {
    /// The comment as a line.
    #[must_use]
    pub fn line(&self) -> ThreadLine<'_> {
        ThreadLine { comment: &self.comment, depth: self.depth, username: self.username.as_deref() }
    }

    /// The most bytes of its text on a page.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        size::marked_bytes(size::shown(&self.comment.body))
    }
}

fn name_lines(
    comments: Vec<(usize, Comment)>,
    name: impl Fn(UserId) -> Option<Arc<str>>,
) -> Vec<ListedComment> {
    let line = |(depth, comment): (usize, Comment)| {
        let username = name(comment.user_id);
        ListedComment { comment, depth, username }
    };
    comments.into_iter().map(line).collect()
}

/// One page of a user's comments.
#[derive(Debug, PartialEq)]
pub struct UserComments {
    /// The comments, newest first; deleted ones are left out.
    pub comments: Vec<UserComment>,
    /// The comments in the whole list, deleted ones included.
    pub total: u64,
}

/// The fields of an item with its title, and whether it is deleted.
const TITLE: [&str; 2] = ["title", "del"];

fn title_of(fields: Vec<Option<String>>) -> Option<String> {
    match <[Option<String>; 2]>::try_from(fields) {
        Ok([title, None]) => title.map(printable),
        _ => None,
    }
}

/// A user's comments, newest first. Rounds: 2.
///
/// # Errors
/// When the store fails.
pub async fn of_user(
    visit: &mut Visit,
    user: UserId,
    username: &str,
    start: u64,
    count: u64,
) -> Result<UserComments, Error> {
    let (addresses, total) = read_addresses(visit, user, start, count).await?;
    let mut query = Query::new();
    let reads: Vec<_> = addresses
        .into_iter()
        .map(|address| {
            let title = query.hash_fields(keys::news(address.news), TITLE);
            (address, title, query.hash_fields(keys::thread(address.news), [address.comment.to_string()]))
        })
        .collect();
    let mut answers = visit.run(query).await?;
    let username: Arc<str> = username.into();
    let comments = reads
        .into_iter()
        .filter_map(|(address, title, json)| {
            let title = title_of(answers.take(title));
            let json = answers.take(json).into_iter().flatten().next()?;
            let comment = Comment::read(address.news, &address.comment.to_string(), &json)?;
            (!comment.deleted).then(|| UserComment {
                news_id: address.news,
                title,
                lines: name_lines(vec![(0, comment)], |id| (id == user).then(|| username.clone())),
                has_more: false,
            })
        })
        .collect();
    Ok(UserComments { comments, total })
}

async fn read_addresses(
    visit: &mut Visit,
    user: UserId,
    start: u64,
    count: u64,
) -> Result<(Vec<CommentAddress>, u64), Error> {
    let key = keys::user_comments(user);
    let mut query = Query::new();
    let list = query.sorted_range(&key, Order::Descending, start, count);
    let total = query.sorted_count(&key);
    let mut answers = visit.run(query).await?;
    let addresses = answers.take(list).into_iter().filter_map(|(address, _)| address.parse().ok()).collect();
    Ok((addresses, answers.take(total)))
}

/// A comment with the newest of its direct replies, before their authors' names are read.
struct Replied {
    comments: Vec<(usize, Comment)>,
    has_more: bool,
}

/// The comments of one thread that were asked for, by id.
type Found = HashMap<CommentId, Replied>;

/// The viewer's latest comments, each with its newest replies. Resets the badge of unread
/// replies. Rounds: 3, and one commit if there was a badge. Threads that are not cached are
/// read whole: one more round for every [`REPLIES_ROUND_COMMENTS`] comments in them, at most
/// `count`, and only what is shown of one round is held during the next.
///
/// # Errors
/// When the store fails.
pub async fn replies(visit: &mut Visit, viewer: &users::User, count: u64) -> Result<Vec<UserComment>, Error> {
    let (addresses, _) = read_addresses(visit, viewer.id, 0, count).await?;
    let mut wanted: BTreeMap<NewsId, BTreeSet<CommentId>> = BTreeMap::new();
    for address in &addresses {
        wanted.entry(address.news).or_default().insert(address.comment);
    }
    let (titles, mut found, missing) = read_cached(visit, &wanted).await?;
    for group in groups(missing) {
        read_group(visit, &group, &wanted, &mut found).await?;
    }
    let mut chosen = Vec::new();
    for address in addresses {
        let replied = found.get_mut(&address.news).and_then(|found| found.remove(&address.comment));
        chosen.extend(replied.map(|replied| (address.news, replied)));
    }
    let mut query = Query::new();
    let authors =
        chosen.iter().flat_map(|(_, replied)| replied.comments.iter().map(|(_, comment)| comment.user_id));
    let names = UserNamesRead::ask(&visit.shared(), &mut query, authors);
    let mut answers = visit.run(query).await?;
    let names = names.take(&visit.shared(), &mut answers);
    reset_badge(visit, viewer).await?;
    let line = |(news_id, replied): (NewsId, Replied)| UserComment {
        news_id,
        title: titles.get(&news_id).cloned().flatten(),
        lines: name_lines(replied.comments, |id| names.get(id)),
        has_more: replied.has_more,
    };
    Ok(chosen.into_iter().map(line).collect())
}

/// Reads the titles of items, and the wanted comments of those whose threads are cached.
/// Returns the others with the number of their comments. Rounds: 1.
#[allow(clippy::type_complexity)]
async fn read_cached(
    visit: &mut Visit,
    wanted: &BTreeMap<NewsId, BTreeSet<CommentId>>,
) -> Result<(HashMap<NewsId, Option<String>>, HashMap<NewsId, Found>, Vec<(NewsId, u64)>), Error> {
    let site = visit.site_too();
    let mut query = Query::new();
    let mut reads = Vec::new();
    for (news, comments) in wanted {
        let title = query.hash_fields(keys::news(*news), TITLE);
        let lines = site.caches.of::<Threads>().get(visit.view(), news);
        let texts = lines.map(|lines| {
            let texts = CommentsRead::ask(&mut query, &lines, |lines| positions(lines, comments));
            (lines, texts)
        });
        let drawn = query.hash_fields(keys::thread(*news), [NEXT_ID]);
        reads.push((*news, comments, title, texts, drawn));
    }
    let mut answers = visit.run(query).await?;
    let (mut titles, mut found, mut missing) = (HashMap::new(), HashMap::new(), Vec::new());
    for (news, comments, title, texts, drawn) in reads {
        titles.insert(news, title_of(answers.take(title)));
        let drawn = answers.take(drawn).into_iter().flatten().next().and_then(|drawn| drawn.parse().ok());
        match texts {
            Some((lines, texts)) => {
                let read = texts.take(&lines, &mut answers);
                let of = |position| comment_at(&lines, &read, position);
                found.insert(news, choose(&lines, comments, of));
            }
            None => missing.push((news, drawn.unwrap_or(MAX_COMMENTS_PER_THREAD))),
        }
    }
    Ok((titles, found, missing))
}

/// Divides threads into groups that are read in a round each.
fn groups(threads: Vec<(NewsId, u64)>) -> Vec<Vec<NewsId>> {
    let mut groups: Vec<Vec<NewsId>> = Vec::new();
    let mut room = 0;
    for (news, comments) in threads {
        match groups.last_mut().filter(|_| comments <= room) {
            Some(group) => group.push(news),
            None => {
                groups.push(vec![news]);
                room = REPLIES_ROUND_COMMENTS;
            }
        }
        room = room.saturating_sub(comments);
    }
    groups
}

/// Reads whole threads, and keeps the wanted comments. Rounds: 1.
async fn read_group(
    visit: &mut Visit,
    group: &[NewsId],
    wanted: &BTreeMap<NewsId, BTreeSet<CommentId>>,
    found: &mut HashMap<NewsId, Found>,
) -> Result<(), Error> {
    let mut query = Query::new();
    let reads: Vec<_> = group.iter().map(|news| (*news, query.hash(keys::thread(*news)))).collect();
    let _place = threads::expect_large(&mut query).await;
    let mut answers = visit.run(query).await?;
    for (news, hash) in reads {
        let Arranged { places, comments, .. } = threads::arrange_elsewhere(news, answers.take(hash)).await?;
        let lines = ThreadLines::outline(news, places);
        let none = BTreeSet::new();
        let of = |position: usize| comments.get(position).cloned();
        found.insert(news, choose(&lines, wanted.get(&news).unwrap_or(&none), of));
    }
    Ok(())
}

/// A comment of a cached thread.
fn comment_at(
    lines: &Shared<ThreadLines>,
    read: &HashMap<usize, Comment>,
    position: usize,
) -> Option<Comment> {
    lines.line(position).map(|line| line.comment.clone()).or_else(|| read.get(&position).cloned())
}

/// The positions of comments and of the replies to them that are shown.
fn positions(lines: &ThreadLines, comments: &BTreeSet<CommentId>) -> Vec<usize> {
    let with_replies = |id: &CommentId| {
        lines.position(*id).into_iter().chain(newest_replies(lines, *id).0).collect::<Vec<_>>()
    };
    comments.iter().flat_map(with_replies).collect()
}

/// The positions of the newest replies to a comment in reading order, and whether there are
/// more.
fn newest_replies(lines: &ThreadLines, id: CommentId) -> (Vec<usize>, bool) {
    let mut replies: Vec<usize> = lines.replies(id).collect();
    let newest_first =
        |position: &usize| std::cmp::Reverse(lines.places().get(*position).map(|place| place.id));
    replies.sort_by_key(newest_first);
    let has_more = replies.len() > MAX_SHOWN_REPLIES;
    replies.truncate(MAX_SHOWN_REPLIES);
    replies.sort_unstable();
    (replies, has_more)
}

/// The wanted comments of a thread with their replies. Deleted replies are left out.
fn choose(
    lines: &ThreadLines,
    wanted: &BTreeSet<CommentId>,
    comment: impl Fn(usize) -> Option<Comment>,
) -> Found {
    let replied = |id: &CommentId| {
        let own = comment(lines.position(*id)?)?;
        let (replies, has_more) = newest_replies(lines, *id);
        let replies = replies.into_iter().filter_map(&comment).filter(|reply| !reply.deleted);
        let comments = std::iter::once((0, own)).chain(replies.map(|reply| (1, reply))).collect();
        Some((*id, Replied { comments, has_more }))
    };
    wanted.iter().filter_map(replied).collect()
}

/// Resets the badge, unless a reply has arrived meanwhile.
async fn reset_badge(visit: &Visit, viewer: &users::User) -> Result<(), Error> {
    if viewer.replies == 0 {
        return Ok(());
    }
    let mut batch = Batch::new();
    unread::see_all(&mut batch, viewer.id, viewer.replies);
    match visit.site().apply(batch).await? {
        // On a conflict a reply has arrived: the badge stays until the next visit.
        Applied::Yes(_) | Applied::No(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_reads_one_large_thread_or_several_small_ones() {
        let grouped = |sizes: &[u64]| {
            let threads = (1..).map(NewsId).zip(sizes.iter().copied()).collect();
            groups(threads).into_iter().map(|group| group.len()).collect::<Vec<_>>()
        };
        assert_eq!(grouped(&[]), [0; 0]);
        assert_eq!(grouped(&[1_000, 1_000]), [2]);
        assert_eq!(grouped(&[1_000, 1_001]), [1, 1]);
        assert_eq!(grouped(&[3_000, 10, 1_990, 1]), [1, 2, 1]);
    }
}
