//! Taking the tweets of somebody who is not followed any more out of a reader's
//! home timeline.

use super::{Current, Outcome};
use crate::error::Error;
use crate::keys;
use crate::timelines::follows::FOLLOWINGS_VERSION;
use crate::timelines::homes::read_home;
use crate::values::ids::UserId;
use tidings_keyspace::Query;

/// The only step: a home timeline is small.
pub(super) async fn step(current: &Current<'_>, reader: UserId, author: UserId) -> Result<Outcome, Error> {
    let store = &current.site.store;
    let mut query = Query::new();
    // Before everything else: whoever is followed or left after that is noticed.
    let version = query.hash_fields(keys::user(reader), [FOLLOWINGS_VERSION]);
    let followed = query.scores(keys::followings(reader), [author.to_string()]);
    let mut answers = store.query(query).await?;
    let version = answers.take(version).into_iter().next().flatten();
    let is_followed = answers.take(followed).into_iter().flatten().next().is_some();

    let mut batch = current.batch();
    batch.field_unchanged(keys::user(reader), FOLLOWINGS_VERSION, version);
    let entries = read_home(current.site, reader).await?;
    let mut query = Query::new();
    let authors: Vec<_> =
        entries.iter().map(|(tweet, _)| query.hash_fields(keys::tweet(*tweet), ["user_id"])).collect();
    let mut answers = store.query(query).await?;
    for ((tweet, _), handle) in entries.iter().zip(authors) {
        let user_id = answers.take(handle).into_iter().next().flatten();
        // What was deleted goes as well: the sweep has not come by here. Of who is
        // followed again everything else belongs there.
        if user_id.is_none_or(|id| id == author.to_string() && !is_followed) {
            batch.sorted_remove(keys::home_timeline(reader), tweet.to_string());
        }
    }
    current.finish(batch).await
}
