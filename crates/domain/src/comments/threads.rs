//! Threads: comments in the order in which they are read.

use crate::accounts::users;
use crate::accounts::visit::Visit;
use crate::comments::comment::Comment;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::lines::{ItemsRead, LinesRead, NewsLine};
use crate::shown::Shown;
use crate::site::Applied;
use crate::values::ids::{CommentAddress, CommentId, NewsId, UserId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tidings_keyspace::{Batch, Hash, Order, Part, Query};

/// Bytes of a comment as it is shown, without its text and with what is escaped in it.
const SHOWN: usize = 800;

/// A comment as it is listed in its thread.
#[derive(Debug, PartialEq)]
pub struct ThreadLine {
    /// The comment. One that is deleted is here only for the answers it has.
    pub comment: Comment,
    /// How many comments it is below: 0 answers the item.
    pub depth: usize,
    /// The author's name; `None` when the account is gone.
    pub username: Option<Arc<str>>,
    /// What is shown of it to everybody alike.
    pub shown: Shown,
}

/// An item with its comments.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// The item.
    pub news: NewsLine,
    /// The comments, each before its answers, siblings in their order.
    pub lines: Arc<[ThreadLine]>,
}

/// Orders comments for reading: each before its answers; siblings by votes up
/// minus down, newer first on a tie. A deleted comment stays only while
/// something below it does. A comment whose parent is missing answers the item.
///
/// Works without recursion: a thread may be as deep as it has comments.
#[must_use]
pub fn arrange(comments: Vec<Comment>) -> Vec<(usize, Comment)> {
    let ids: HashSet<CommentId> = comments.iter().map(|comment| comment.id).collect();
    let mut answers: HashMap<Option<CommentId>, Vec<Comment>> = HashMap::new();
    for comment in comments {
        // An answer is newer than what it answers: this also breaks circles.
        let parent = comment.parent_id.filter(|parent| ids.contains(parent) && *parent < comment.id);
        answers.entry(parent).or_default().push(comment);
    }
    for siblings in answers.values_mut() {
        // The best last: they are taken from the end.
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
    let mut kept: Vec<(usize, Comment)> = Vec::with_capacity(arranged.len());
    for (depth, comment) in arranged.into_iter().rev() {
        // Backwards, what was kept last comes next; below means deeper.
        let has_answers = kept.last().is_some_and(|(next, _)| *next > depth);
        if !comment.deleted || has_answers {
            kept.push((depth, comment));
        }
    }
    kept.reverse();
    kept
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
    let kept = site.kept.threads.look_up(visit, &id).await?;
    let mut query = Query::new();
    let comments = kept.is_none().then(|| {
        let key = keys::thread(id);
        (site.store.footprint_of([Part::Key(&key)]), query.hash(key))
    });
    let news = ItemsRead::ask(visit, &mut query, &[id]);
    let mut answers = visit.run(query).await?;

    let mut query = Query::new();
    let news = news.take(&mut answers).into_iter().flatten().next().ok_or(Refusal::NoSuchNews)?;
    let author = keys::user(news.news().user_id);
    let news = LinesRead::ask(visit, &mut query, vec![news]);
    let comments = comments.map(|(footprint, hash)| {
        let arranged = arrange(comments_of(id, &answers.take(hash)));
        let authors = arranged.iter().map(|(_, comment)| comment.user_id);
        // A name hardly ever changes: not each of perhaps hundreds is noted.
        let footprint = footprint.and(site.store.footprint_of([users::all_names(&author)]));
        let names = users::read_usernames(visit, &mut query, authors);
        (arranged, footprint, names)
    });
    let mut answers = visit.run(query).await?;
    let news = news.take(visit, &mut answers).await?.into_iter().next();
    let news = news.ok_or(Refusal::NoSuchNews)?;
    let mut lines = kept.unwrap_or_default();
    if let Some((arranged, footprint, names)) = comments {
        lines = name_lines(arranged, &names.take(visit, &mut answers)).into();
        site.kept.threads.put(visit, id, lines.clone(), footprint, None);
    }
    Ok(Thread { news, lines })
}

fn name_lines(arranged: Vec<(usize, Comment)>, names: &HashMap<UserId, Arc<str>>) -> Vec<ThreadLine> {
    arranged
        .into_iter()
        .map(|(depth, comment)| ThreadLine {
            depth,
            username: names.get(&comment.user_id).cloned(),
            shown: Shown::with_room(room(&comment)),
            comment,
        })
        .collect()
}

/// About how many bytes comments take.
pub(crate) fn size(lines: &[ThreadLine]) -> usize {
    lines.iter().map(|line| size_of_val(line) + line.comment.size() + room(&line.comment)).sum()
}

/// Bytes for a comment as it is shown.
const fn room(comment: &Comment) -> usize {
    SHOWN + comment.body.len()
}

impl Thread {
    /// The part of the thread that is one comment and what is below it.
    #[must_use]
    pub fn below(&self, id: CommentId) -> Option<&[ThreadLine]> {
        let start = self.lines.iter().position(|line| line.comment.id == id)?;
        let (_, rest) = self.lines.split_at_checked(start)?;
        let depth = rest.first()?.depth;
        let end =
            rest.iter().skip(1).position(|line| line.depth <= depth).map_or(rest.len(), |after| after + 1);
        rest.get(..end)
    }
}

/// One comment of a user, and what it is about.
#[derive(Debug, PartialEq)]
pub struct UserComment {
    /// The item's number.
    pub news_id: NewsId,
    /// The item's title; `None` when it is deleted or its hash is gone.
    pub title: Option<String>,
    /// The comment and, on the page of replies, its direct answers below it.
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

/// The fields of an item that tell its title, and that it has none any more.
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
    let names = HashMap::from([(user, username.into())]);
    let comments = reads
        .into_iter()
        .filter_map(|(address, title, json)| {
            let title = title_of(answers.take(title));
            let json = answers.take(json).into_iter().flatten().next()?;
            let comment = Comment::read(address.news, &address.comment.to_string(), &json)?;
            (!comment.deleted).then(|| UserComment {
                news_id: address.news,
                title,
                lines: name_lines(vec![(0, comment)], &names),
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

/// The viewer's latest comments, each with its answers; resets the badge of
/// unread replies. Rounds: 3, and one commit when there was a badge.
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
    let names = users::read_usernames(visit, &mut query, authors);
    let mut answers = visit.run(query).await?;
    let names = names.take(visit, &mut answers);
    reset_badge(visit, viewer).await?;
    Ok(chosen
        .into_iter()
        .filter(|(_, _, lines)| !lines.is_empty())
        .map(|(title, news_id, lines)| UserComment { news_id, title, lines: name_lines(lines, &names) })
        .collect())
}

/// Takes what the viewer has seen off the badge; an answer that came in
/// between stays on it.
async fn reset_badge(visit: &Visit, viewer: &users::User) -> Result<(), Error> {
    if viewer.replies == 0 {
        return Ok(());
    }
    let key = keys::user(viewer.id);
    let mut batch = Batch::new();
    batch.field_equals(&key, "replies", viewer.replies.to_string());
    batch.set_field(&key, "replies", "0");
    match visit.site().apply(batch).await? {
        // Counted up meanwhile: the badge stays until the next look.
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
    fn answers_follow_their_comment_and_siblings_are_ordered_by_votes_then_newest() {
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
    fn deleted_comments_stay_only_above_others() {
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
    fn orphans_and_circles_answer_the_item() {
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
