//! Taking a deleted tweet out of the home timelines of its author's followers.
//!
//! Readers pass over it already: what has no tweet is not shown.

use super::{Current, Outcome, followers};
use crate::error::Error;
use crate::keys;
use crate::values::ids::TweetId;
use tidings_keyspace::Query;

/// One step: some followers.
pub(super) async fn step(current: &Current<'_>, tweet: TweetId) -> Result<Outcome, Error> {
    let Some(author) = current.author() else {
        return current.finish(current.batch()).await;
    };
    let mut query = Query::new();
    let read = followers::ask(current, &mut query, author);
    let mut answers = current.site.store.query(query).await?;
    let chunk = read.take(&mut answers);
    let mut batch = current.batch();
    for reader in chunk.ids {
        batch.sorted_remove(keys::home_timeline(reader), tweet.to_string());
    }
    match chunk.next {
        Some(next) => current.advance(batch, &next).await,
        None => current.finish(batch).await,
    }
}
