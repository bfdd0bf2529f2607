//! The comments of a user, on any story.

use super::comment::Comment;
use super::outline::ThreadLine;
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::values::ids::{CommentAddress, NewsId, UserId};
use crate::values::text::printable;
use std::sync::Arc;
use tidings_keyspace::{Order, Query};

/// One comment of a user, and the item that it is on.
#[derive(Debug, PartialEq)]
pub struct UserComment {
    /// The item's number.
    pub news_id: NewsId,
    /// The item's title; `None` when it is deleted or its hash is gone.
    pub title: Option<String>,
    comment: Comment,
    username: Arc<str>,
}

impl UserComment {
    /// The comment as a line.
    #[must_use]
    pub fn line(&self) -> ThreadLine<'_> {
        ThreadLine { comment: &self.comment, depth: 0, username: Some(&self.username) }
    }
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
                comment,
                username: username.clone(),
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
