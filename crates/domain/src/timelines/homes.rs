//! Stored home timelines: how they are written, and what they should be.

use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::timelines::merge::Merge;
use crate::values::cursor::Window;
use crate::values::ids::{TweetId, UserId};
use crate::values::limits;
use crate::values::rules::TimelineRules;
use crate::values::withheld::{WITHHELD, Withheld};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, Bound, Handle, Order, Query};

/// Asks for all people whom a reader follows.
pub(crate) fn ask_followings(query: &mut Query, reader: UserId) -> Handle<Vec<(String, f64)>> {
    query.sorted_range(keys::followings(reader), Order::Descending, 0, limits::MAX_FOLLOWINGS)
}

/// The authors of a reader's home timeline: the followed people and the reader.
pub(crate) fn authors(reader: UserId, followings: &[(String, f64)]) -> impl Iterator<Item = UserId> {
    let followed = followings.iter().filter_map(|(id, _)| id.parse().ok());
    followed.chain([reader])
}

/// Adds a tweet to a reader's stored home timeline.
pub(crate) fn add_to_home(
    batch: &mut Batch,
    rules: &TimelineRules,
    reader: UserId,
    tweet: TweetId,
    score: f64,
) {
    let bound =
        Bound { keep: rules.home_size, floors: keys::HOME_FLOORS.to_owned(), member: reader.to_string() };
    batch.sorted_add_bounded(keys::home_timeline(reader), tweet.to_string(), score, bound);
}

/// Sets the score down to which a reader's home timeline is complete.
pub(crate) fn set_floor(batch: &mut Batch, reader: UserId, floor: Option<f64>) {
    match floor {
        Some(floor) => batch.sorted_add(keys::HOME_FLOORS, reader.to_string(), floor),
        None => batch.sorted_remove(keys::HOME_FLOORS, reader.to_string()),
    }
}

/// A reader's stored home timeline, newest first. Rounds: 1.
pub(crate) async fn read_home(site: &Site, reader: UserId) -> Result<Vec<(TweetId, f64)>, Error> {
    let mut query = Query::new();
    let home = query.sorted_range(keys::home_timeline(reader), Order::Descending, 0, u64::MAX);
    let home = site.store.query(query).await?.take(home);
    Ok(home.into_iter().filter_map(|(member, score)| Some((member.parse().ok()?, score))).collect())
}

/// A home timeline as it should be stored.
pub(crate) struct Whole {
    /// The newest tweets, newest first.
    pub(crate) entries: Vec<(TweetId, f64)>,
    /// The field `withheld` of those of them that have it.
    pub(crate) withheld: HashMap<TweetId, String>,
    /// The first tweet for which there is no room.
    pub(crate) left_out: Option<(TweetId, f64)>,
}

/// Makes a reader's home timeline from the authors' own timelines, except those of some
/// authors. Ids without a tweet are left out, and tweets that are removed or wait for approval.
pub(crate) async fn recompute(site: &Site, reader: UserId, except: &HashSet<UserId>) -> Result<Whole, Error> {
    let mut query = Query::new();
    let followings = ask_followings(&mut query, reader);
    let followings = site.store.query(query).await?.take(followings);
    let authors = authors(reader, &followings).filter(|author| *author == reader || !except.contains(author));
    let lists = authors.map(keys::user_timeline).collect();
    let size = usize::try_from(site.rules.timelines.home_size).unwrap_or(usize::MAX - 1);
    let mut merge = Merge::new(lists, Window::newest(size.saturating_add(1)), None, f64::INFINITY);
    while !merge.is_done() {
        let mut query = Query::new();
        let asked = merge.ask(&mut query);
        merge.take(asked, &mut site.store.query(query).await?);
    }
    let entries = merge.into_entries();
    let mut query = Query::new();
    let there: Vec<_> = entries
        .iter()
        .map(|entry| query.hash_fields(keys::tweet(TweetId(entry.id)), ["user_id", WITHHELD]))
        .collect();
    let mut answers = site.store.query(query).await?;
    let mut withheld = HashMap::new();
    let mut entries: Vec<_> = entries
        .into_iter()
        .zip(there)
        .filter_map(|(entry, there)| {
            let (id, [author, state]) = (TweetId(entry.id), fields::each(answers.take(there)));
            author?;
            if let Some(state) = state {
                if state.parse().is_ok_and(|state: Withheld| state.is_unlisted()) {
                    return None;
                }
                withheld.insert(id, state);
            }
            Some((id, entry.score))
        })
        .collect();
    let left_out = entries.get(size).copied();
    entries.truncate(size);
    Ok(Whole { entries, withheld, left_out })
}
