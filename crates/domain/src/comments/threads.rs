//! Threads: comments in reading order, a user's comments, and replies.

use super::comment::Comment;
use crate::accounts::unread;
use crate::accounts::users::{self, UserNames, UserNamesRead};
use crate::accounts::visit::{CacheResult, Visit};
use crate::cache::{MEBIBYTE, Shared};
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::lines::{self, ItemsRead, NewsLine, SummariesRead};
use crate::news::voters::OwnVotesRead;
use crate::site::Applied;
use crate::values::ids::{CommentAddress, CommentId, NewsId, UserId};
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, Range};
use std::sync::Arc;
use tidings_keyspace::{Batch, Hash, Order, Query, Reads, Tracked};

crate::cache_kind! {
    /// Threads as all viewers see them.
    struct Threads: NewsId => ThreadLines, "threads", 9 * MEBIBYTE, |_, lines| lines.size();
}

/// A comment in its thread, the same for all viewers.
#[derive(Debug, PartialEq)]
pub struct ThreadLine {
    /// The comment. A deleted one is listed only if it has replies.
    pub comment: Comment,
    /// Its depth: 0 for a comment on the item itself.
    pub depth: usize,
    /// The author's name; `None` for a deactivated account.
    pub username: Option<Arc<str>>,
}

/// The comments of a thread in reading order: each before its replies.
#[derive(Debug, PartialEq)]
pub struct ThreadLines {
    news: NewsId,
    lines: Box<[ThreadLine]>,
}

impl ThreadLines {
    /// The comments on an item, already in the order of [`arrange`].
    #[must_use]
    pub fn new(news: NewsId, lines: Vec<ThreadLine>) -> Self {
        Self { news, lines: lines.into() }
    }

    /// The item that the comments are on.
    #[must_use]
    pub const fn news(&self) -> NewsId {
        self.news
    }

    /// The approximate size in bytes.
    fn size(&self) -> usize {
        self.lines.iter().map(|line| size_of_val(line) + line.comment.size()).sum()
    }
}

impl Deref for ThreadLines {
    type Target = [ThreadLine];

    fn deref(&self) -> &[ThreadLine] {
        &self.lines
    }
}

/// An item with its comments.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// The item.
    pub news: NewsLine,
    /// The comments.
    pub lines: Shared<ThreadLines>,
}

/// Puts comments into reading order: each before its replies; siblings by votes up minus
/// votes down, newer first on a tie. A deleted comment is listed only if a comment below it
/// is. A comment whose parent is missing counts as a comment on the item.
///
/// There is no recursion: a thread may be as deep as it has comments.
#[must_use]
pub fn arrange(comments: Vec<Comment>) -> Vec<(usize, Comment)> {
    let ids: HashSet<CommentId> = comments.iter().map(|comment| comment.id).collect();
    let mut answers: HashMap<Option<CommentId>, Vec<Comment>> = HashMap::new();
    for comment in comments {
        // A reply is newer than its parent: this also breaks cycles.
        let parent = comment.parent_id.filter(|parent| ids.contains(parent) && *parent < comment.id);
        answers.entry(parent).or_default().push(comment);
    }
    for siblings in answers.values_mut() {
        // The best last, because they are taken from the end.
        siblings.sort_by_key(|comment| (comment.score(), comment.ctime, comment.id));
    }
    let mut waiting: Vec<(usize, Comment)> =
        answers.remove(&None).unwrap_or_default().into_iter().map(|comment| (0, comment)).collect();
    let mut arranged = Vec::with_capacity(ids.len());
    while let Some((depth, comment)) = waiting.pop() {
        let below = answers.remove(&Some(comment.id)).unwrap_or_default();
        waiting.extend(below.into_iter().map(|answer| (depth + 1, answer)));
        arranged.push((depth, comment));
    }
    without_bare_deleted(arranged)
}

/// Drops deleted comments that have nothing below them.
fn without_bare_deleted(arranged: Vec<(usize, Comment)>) -> Vec<(usize, Comment)> {
    let mut shown: Vec<(usize, Comment)> = Vec::with_capacity(arranged.len());
    for (depth, comment) in arranged.into_iter().rev() {
        // In this direction, the comment pushed last follows this one. If it is deeper,
        // it is a reply.
        let has_answers = shown.last().is_some_and(|(next, _)| *next > depth);
        if !comment.deleted || has_answers {
            shown.push((depth, comment));
        }
    }
    shown.reverse();
    shown
}

fn comments_of(news: NewsId, hash: &Hash) -> Vec<Comment> {
    hash.0.iter().filter_map(|(field, json)| Comment::read(news, field, json)).collect()
}

/// An item with all its comments. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchNews`], or the store's.
pub async fn get(visit: &mut Visit, id: NewsId) -> Result<Thread, Error> {
    let site = visit.site_too();
    let (mut lines, mut flight) = (None, None);
    match visit.look_up(site.caches.of::<Threads>(), &id).await? {
        CacheResult::Hit(found) => lines = Some(found),
        CacheResult::Miss(missing) => flight = Some(missing),
    }
    let mut query = Query::new();
    let comments = flight.as_ref().map(|_| {
        let hash = query.hash(keys::thread(id));
        query.track(hash)
    });
    let news = ItemsRead::ask(&visit.shared(), &mut query, &[id]);
    let mut answers = visit.run(query).await?;

    let mut query = Query::new();
    let news = news.take(&mut answers, &mut Reads::default()).into_iter().flatten().next();
    let news = vec![news.ok_or(Refusal::NoSuchNews)?];
    let summary = SummariesRead::ask(&visit.shared(), &mut query, news);
    let own = OwnVotesRead::ask(site.caches.of(), visit, &mut query, [id].into_iter());
    let comments = comments.map(|hash| {
        let arranged = answers.take_tracked(hash).map(|hash| arrange(comments_of(id, &hash)));
        let authors = arranged.peek().iter().map(|(_, comment)| comment.user_id);
        let names = UserNamesRead::ask(&visit.shared(), &mut query, authors);
        (arranged, names)
    });
    let mut answers = visit.run(query).await?;
    let summary = summary.take(&visit.shared(), &mut answers);
    if let (Some(flight), Some((arranged, names))) = (flight, comments) {
        let names = names.take(&visit.shared(), &mut answers);
        lines = Some(flight.finish(visit.view(), name_all(id, arranged, &names), None));
    }
    let own = own.take(visit, &mut answers).await?;
    let news = lines::mark(summary, own).into_iter().next().ok_or(Refusal::NoSuchNews)?;
    Ok(Thread { news, lines: lines.unwrap_or_else(|| ThreadLines::new(id, Vec::new()).into()) })
}

/// Adds the authors' names to the comments of a thread.
fn name_all(
    news: NewsId,
    arranged: Tracked<Vec<(usize, Comment)>>,
    names: &UserNames,
) -> Tracked<ThreadLines> {
    let mut reads = Reads::default();
    let arranged = arranged.collect_into(&mut reads);
    let mut found: HashMap<UserId, Option<Arc<str>>> = HashMap::new();
    for (_, comment) in &arranged {
        found.entry(comment.user_id).or_insert_with_key(|id| names.collect_into(*id, &mut reads));
    }
    let name = |id: UserId| found.get(&id).cloned().flatten();
    Tracked::new(ThreadLines::new(news, name_lines(arranged, name)), reads)
}

fn name_lines(arranged: Vec<(usize, Comment)>, name: impl Fn(UserId) -> Option<Arc<str>>) -> Vec<ThreadLine> {
    let line = |(depth, comment): (usize, Comment)| {
        let username = name(comment.user_id);
        ThreadLine { comment, depth, username }
    };
    arranged.into_iter().map(line).collect()
}

impl Thread {
    /// The range of lines with a comment and all comments below it.
    #[must_use]
    pub fn below(&self, id: CommentId) -> Option<Range<usize>> {
        let start = self.lines.iter().position(|line| line.comment.id == id)?;
        let (_, rest) = self.lines.split_at_checked(start)?;
        let depth = rest.first()?.depth;
        let end =
            rest.iter().skip(1).position(|line| line.depth <= depth).map_or(rest.len(), |after| after + 1);
        Some(start..start + end)
    }
}

/// One comment of a user, and the item that it is on.
#[derive(Debug, PartialEq)]
pub struct UserComment {
    /// The item's number.
    pub news_id: NewsId,
    /// The item's title; `None` when it is deleted or its hash is gone.
    pub title: Option<String>,
    /// The comment and, on the page of replies, its direct replies.
    pub lines: Vec<ThreadLine>,
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
        Ok([title, None]) => title,
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

/// The viewer's latest comments, each with its replies. Resets the badge of unread replies.
/// Rounds: 3, and one commit if there was a badge. It reads whole threads: at most `count`.
///
/// # Errors
/// When the store fails.
pub async fn replies(visit: &mut Visit, viewer: &users::User, count: u64) -> Result<Vec<UserComment>, Error> {
    let (addresses, _) = read_addresses(visit, viewer.id, 0, count).await?;
    let mut query = Query::new();
    let mut wanted: Vec<NewsId> = addresses.iter().map(|address| address.news).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let reads: Vec<_> = wanted
        .into_iter()
        .map(|id| (id, query.hash_fields(keys::news(id), TITLE), query.hash(keys::thread(id))))
        .collect();
    let mut answers = visit.run(query).await?;
    let threads: HashMap<NewsId, _> = reads
        .into_iter()
        .map(|(id, title, thread)| {
            let arranged = arrange(comments_of(id, &answers.take(thread)));
            (id, (title_of(answers.take(title)), arranged))
        })
        .collect();

    let mut chosen = Vec::new();
    for address in addresses {
        let Some((title, arranged)) = threads.get(&address.news) else { continue };
        let lines: Vec<(usize, Comment)> = arranged
            .iter()
            .filter_map(|(_, comment)| match comment {
                own if own.id == address.comment => Some((0, own.clone())),
                answer if answer.parent_id == Some(address.comment) => Some((1, answer.clone())),
                _ => None,
            })
            .filter(|(_, comment)| !comment.deleted || comment.id == address.comment)
            .collect();
        chosen.push((title.clone(), address.news, lines));
    }
    let mut query = Query::new();
    let authors = chosen.iter().flat_map(|(_, _, lines)| lines.iter().map(|(_, comment)| comment.user_id));
    let names = UserNamesRead::ask(&visit.shared(), &mut query, authors);
    let mut answers = visit.run(query).await?;
    let names = names.take(&visit.shared(), &mut answers);
    reset_badge(visit, viewer).await?;
    Ok(chosen
        .into_iter()
        .filter(|(_, _, lines)| !lines.is_empty())
        .map(|(title, news_id, lines)| UserComment {
            news_id,
            title,
            lines: name_lines(lines, |id| names.get(id)),
        })
        .collect())
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A comment from `id`, `parent` (0 = none), votes up and down, deleted.
    fn comment(id: u64, parent: u64, up: u64, down: u64, deleted: bool) -> Comment {
        let parent = if parent == 0 { -1 } else { i64::try_from(parent).unwrap() };
        let votes = |count: u64| (100..100 + count).collect::<Vec<_>>();
        let json = serde_json::json!({
            "body": "", "ctime": 1_000, "user_id": 1, "parent_id": parent,
            "up": votes(up), "down": votes(down), "del": i64::from(deleted),
        });
        Comment::from_field(&id.to_string(), &json.to_string()).unwrap()
    }

    fn check(comments: Vec<Comment>, expected: &[(usize, u64)]) {
        let arranged: Vec<_> =
            arrange(comments).into_iter().map(|(depth, comment)| (depth, comment.id.0)).collect();
        assert_eq!(arranged, expected);
    }

    #[test]
    fn replies_follow_their_comment_and_siblings_are_ordered_by_votes_then_newest() {
        check(
            vec![
                comment(1, 0, 1, 0, false),
                comment(2, 1, 1, 0, false),
                comment(3, 0, 5, 0, false),
                comment(4, 1, 3, 1, false),
                comment(5, 0, 1, 0, false),
            ],
            &[(0, 3), (0, 5), (0, 1), (1, 4), (1, 2)],
        );
    }

    #[test]
    fn deleted_comments_are_listed_only_above_others() {
        check(
            vec![
                comment(1, 0, 9, 0, true),
                comment(2, 1, 1, 0, false),
                comment(3, 0, 8, 0, true),
                comment(4, 0, 7, 0, true),
                comment(5, 4, 1, 0, true),
                comment(6, 5, 1, 0, true),
                comment(7, 0, 6, 0, false),
            ],
            &[(0, 1), (1, 2), (0, 7)],
        );
    }

    #[test]
    fn orphans_and_cycles_are_comments_on_the_item() {
        check(
            vec![
                comment(1, 2, 1, 0, false),
                comment(2, 1, 1, 0, false),
                comment(3, 99, 2, 0, false),
                comment(4, 4, 5, 0, false),
            ],
            &[(0, 4), (0, 3), (0, 1), (1, 2)],
        );
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_does_not_overflow() {
        let chain: Vec<Comment> = (1..=100_000).map(|id| comment(id, id - 1, 0, 0, false)).collect();
        let arranged = arrange(chain);
        assert_eq!(arranged.len(), 100_000);
        assert_eq!(arranged.last().unwrap().0, 99_999);
    }
}
