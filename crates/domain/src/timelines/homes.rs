//! Stored home timelines: how they are written, and what they should be.

use crate::error::Error;
use crate::keys;
use crate::site::Site;
use crate::timelines::merge::Merge;
use crate::timelines::place::{HomePlace, StoredHome};
use crate::values::cursor::Window;
use crate::values::ids::{TweetId, UserId};
use crate::values::limits;
use crate::values::rules::TimelineRules;
use crate::values::withheld::{WITHHELD, Withheld};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, Bound, Fetch, Order, read};

/// All people whom a reader follows.
pub(crate) fn followings(reader: UserId) -> impl Fetch<Value = Vec<(String, f64)>> {
    read::sorted_range(keys::followings(reader), Order::Descending, 0, limits::MAX_FOLLOWINGS)
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

/// The stored home timelines of readers. Rounds: 1.
pub(crate) async fn read_homes(
    site: &Site,
    place: &HomePlace,
    readers: &[UserId],
) -> Result<Vec<StoredHome>, Error> {
    if let Some(apart) = place.apart() {
        return apart.read_all(readers).await;
    }
    let home =
        |reader: &UserId| read::sorted_range(keys::home_timeline(*reader), Order::Descending, 0, u64::MAX);
    let homes = site.store.fetch(readers.iter().map(home).collect::<Vec<_>>()).await?;
    Ok(homes.into_iter().map(StoredHome::complete).collect())
}

/// A reader's stored home timeline. Rounds: 1.
pub(crate) async fn read_home(site: &Site, place: &HomePlace, reader: UserId) -> Result<StoredHome, Error> {
    Ok(read_homes(site, place, &[reader]).await?.pop().unwrap_or_default())
}

/// Removes tweets from the home timelines of readers: in a batch, or at once where they are apart
/// from the store.
pub(crate) async fn remove(
    site: &Site,
    place: &HomePlace,
    batch: &mut Batch,
    tweets: Vec<(UserId, Vec<TweetId>)>,
) -> Result<(), Error> {
    if let Some(apart) = place.apart() {
        return apart.remove(site, place, tweets).await;
    }
    for (reader, tweets) in tweets {
        for tweet in tweets {
            batch.sorted_remove(keys::home_timeline(reader), tweet.to_string());
        }
    }
    Ok(())
}

/// Those of some tweets in a reader's home timeline that do not belong there: they are gone or not
/// listed, or the reader does not follow the author. Rounds: 2.
pub(crate) async fn strangers(
    site: &Site,
    reader: UserId,
    tweets: &[TweetId],
) -> Result<Vec<TweetId>, Error> {
    let reads: Vec<_> =
        tweets.iter().map(|tweet| read::fields(keys::tweet(*tweet), ["user_id", WITHHELD])).collect();
    let author = |[author, state]: [Option<String>; 2]| {
        let is_unlisted = state.is_some_and(|state| Withheld::stored(&state).is_unlisted());
        author.filter(|_| !is_unlisted)
    };
    let authors: Vec<Option<String>> = site.store.fetch(reads).await?.into_iter().map(author).collect();
    let named: Vec<String> = authors.iter().map(|author| author.clone().unwrap_or_default()).collect();
    let followed = site.store.fetch(read::scores(keys::followings(reader), named)).await?;
    let belongs = |author: &Option<String>, followed: &Option<f64>| {
        author.as_ref().is_some_and(|author| followed.is_some() || *author == reader.to_string())
    };
    let each = tweets.iter().zip(authors.iter().zip(&followed));
    Ok(each.filter(|(_, (author, followed))| !belongs(author, followed)).map(|(tweet, _)| *tweet).collect())
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
/// Apart from the store, it is without the reader's own tweets.
pub(crate) async fn recompute(
    site: &Site,
    place: &HomePlace,
    reader: UserId,
    except: &HashSet<UserId>,
) -> Result<Whole, Error> {
    let followings = site.store.fetch(followings(reader)).await?;
    let has_own = place.apart().is_none();
    let is_stored = |author: UserId| if author == reader { has_own } else { !except.contains(&author) };
    let authors = authors(reader, &followings).filter(|author| is_stored(*author));
    let lists = authors.map(keys::user_timeline).collect();
    let size = usize::try_from(place.size(site)).unwrap_or(usize::MAX - 1);
    let mut merge = Merge::new(lists, Window::newest(size.saturating_add(1)), None, f64::INFINITY);
    while !merge.is_done() {
        merge.add(site.store.fetch(merge.next_round()).await?);
    }
    let entries = merge.into_entries();
    let there: Vec<_> = entries
        .iter()
        .map(|entry| read::fields(keys::tweet(TweetId(entry.id)), ["user_id", WITHHELD]))
        .collect();
    let there = site.store.fetch(there).await?;
    let mut withheld = HashMap::new();
    let mut entries: Vec<_> = entries
        .into_iter()
        .zip(there)
        .filter_map(|(entry, [author, state])| {
            let id = TweetId(entry.id);
            author?;
            if let Some(state) = state {
                if Withheld::stored(&state).is_unlisted() {
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
