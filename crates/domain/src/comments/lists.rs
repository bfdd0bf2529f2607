//! The comments of a user, on any story.

use super::comment::Comment;
use super::outline::ThreadLine;
use crate::accounts::reader::{Perspective, Sight, Written};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::values::ids::{CommentAddress, NewsId, UserId};
use crate::values::text::printable;
use crate::values::withheld::{WITHHELD, Withheld, is_deleted};
use std::sync::Arc;
use tidings_keyspace::{Order, Query, read};

/// One comment of a user, and the item that it is on.
#[derive(Debug, PartialEq)]
pub struct UserComment {
    /// The item's number.
    pub news_id: NewsId,
    /// The item's title; `None` when it is deleted or withheld from the viewer, or its hash is
    /// gone.
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
    /// The comments, newest first; without deleted ones, and those that the viewer does not see.
    pub comments: Vec<UserComment>,
    /// How many comments of the page the viewer does not see, because they are muted or flags
    /// have hidden them.
    pub unlisted: usize,
    /// The comments in the whole list, deleted ones included.
    pub total: u64,
}

/// The fields of an item that decide who sees its title.
pub(crate) const TITLE: [&str; 4] = ["title", "user_id", "del", WITHHELD];

/// Where [`TITLE`] has the author.
pub(crate) const STORY_AUTHOR: usize = 1;

/// The title of an item by its [`TITLE`], if somebody may see it: it is neither deleted nor
/// withheld from them.
pub(crate) fn title_of(perspective: Perspective<'_>, fields: Vec<Option<String>>) -> Option<String> {
    let [title, author, deleted, withheld] = fields::each(fields);
    let withheld: Option<Withheld> = withheld.map(|state| Withheld::stored(&state));
    let written = Written { author: author?.parse().ok()?, withheld: withheld.as_ref() };
    let is_shown =
        !is_deleted(deleted.is_some(), withheld.as_ref()) && perspective.of_withheld(written).is_shown();
    title.filter(|_| is_shown).map(printable)
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
    visit.want_reader();
    let (addresses, total) = read_addresses(visit, user, start, count).await?;
    let mut query = Query::new();
    let reads: Vec<_> = addresses
        .into_iter()
        .map(|address| {
            let title = query.hash_fields(keys::news(address.news), TITLE).or_absent(&mut query);
            (
                address,
                title,
                query
                    .hash_fields(keys::thread(address.news), [address.comment.to_string()])
                    .or_absent(&mut query),
            )
        })
        .collect();
    let mut answers = visit.run(query).await?;
    visit.reader().await?;
    let perspective = visit.perspective();
    let username: Arc<str> = username.into();
    let (mut comments, mut unlisted) = (Vec::with_capacity(reads.len()), 0);
    for (address, title, json) in reads {
        let (title, json) = (title_of(perspective, answers.take(title)), fields::only(answers.take(json)));
        let comment = json
            .and_then(|json| Comment::read(address.news, &address.comment.to_string(), &json))
            .filter(|comment| !comment.deleted);
        let Some(comment) = comment else { continue };
        match comment.sight(perspective) {
            Sight::Shown => {
                let username = username.clone();
                comments.push(UserComment { news_id: address.news, title, comment, username });
            }
            // What is removed or held is gone; the others are only hidden from this viewer.
            Sight::Collapsed(_) if !comment.is_gone() => unlisted += 1,
            Sight::Collapsed(_) | Sight::LeftOut => {}
        }
    }
    Ok(UserComments { comments, unlisted, total })
}

async fn read_addresses(
    visit: &mut Visit,
    user: UserId,
    start: u64,
    count: u64,
) -> Result<(Vec<CommentAddress>, u64), Error> {
    let key = keys::user_comments(user);
    let (list, total) = visit
        .fetch((read::sorted_range(&key, Order::Descending, start, count), read::sorted_count(&key)))
        .await?;
    let addresses = list.into_iter().filter_map(|(address, _)| address.parse().ok()).collect();
    Ok((addresses, total))
}
