//! Stored home timelines: where they are, how they are written, and what they should be.
//!
//! A home timeline is derived from the lists of those whom its reader follows, and nothing else. One that is absent is
//! merged from these lists, stored, and from then on delivered to. It is absent where nobody has made it, where its
//! server has lost it, and when it is of no more use: the reader was passed over because of a long absence, or a server
//! with another `timelines.store` delivered.
//!
//! The field `home_at` of the reader says where it is: without the field in the store, else on a server of home
//! timelines ([`Apart`]), or nowhere. Whoever passes a reader over ends what is elsewhere, in the batch that passes
//! the reader over. So a timeline to which the store points lacks nothing, wherever the settings pointed meanwhile.

use crate::timelines::apart::Apart;
use crate::timelines::merge::Merge;
use crate::values::{TimelineRules, TweetId, UserId, WITHHELD, Window, Withheld, limits};
use crate::{Result, Site, keys};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, Bound, Fetch, Order, SetPart, read};

/// The field of a user that says where the home timeline is.
pub(crate) const HOME_AT: &str = "home_at";
/// Its value if the home timeline is nowhere.
const NOWHERE: &str = "nowhere";

/// Where a reader's home timeline is.
pub(crate) struct Home {
    reader: UserId,
    at: Option<String>,
    /// Whether the reader has an account.
    is_user: bool,
}

impl Home {
    /// The fields of the reader that say it.
    pub(crate) const FIELDS: [&str; 2] = ["username", HOME_AT];

    /// Where a reader's home timeline is.
    pub(crate) fn of(reader: UserId) -> impl Fetch<Value = Self> {
        read::fields(keys::user(reader), Self::FIELDS).map(move |fields| Self::of_fields(reader, fields))
    }

    /// The same, by [`Home::FIELDS`].
    pub(crate) fn of_fields(reader: UserId, [name, at]: [Option<String>; 2]) -> Self {
        Self { reader, at, is_user: name.is_some() }
    }

    /// Whether its reader has an account.
    pub(crate) const fn is_of_user(&self) -> bool {
        self.is_user
    }

    /// Whether it is in the store.
    pub(crate) const fn is_in_store(&self) -> bool {
        self.at.is_none()
    }

    /// The mark that it has, if it is apart from the store where this server keeps them.
    pub(crate) fn mark(&self, apart: &Apart) -> Option<&str> {
        apart.mark(self.at.as_deref())
    }

    /// Whether it is where this server keeps them.
    pub(crate) fn is_here(&self, apart: Option<&Apart>) -> bool {
        apart.map_or_else(|| self.is_in_store(), |apart| self.mark(apart).is_some())
    }

    /// Adds to a batch that it is nowhere.
    pub(crate) fn end(&self, batch: &mut Batch) {
        if self.is_user && self.at.as_deref() != Some(NOWHERE) {
            end(batch, self.reader);
        }
    }

    /// Adds the check that it is still where it was.
    pub(crate) fn guard(&self, batch: &mut Batch) {
        batch.field_unchanged(keys::user(self.reader), HOME_AT, self.at.as_deref());
    }

    /// Reads it whole. `None` if it is not where this server keeps them, or its server has lost it. Rounds: 1.
    pub(crate) async fn read(&self, site: &Site) -> Result<Option<StoredHome>> {
        match Apart::of(site) {
            Some(apart) => match self.mark(&apart) {
                Some(mark) => Ok(apart.read_whole(self.reader, mark).await?.map(StoredHome::of)),
                None => Ok(None),
            },
            None if self.is_in_store() => {
                let home = keys::home_timeline(self.reader);
                let entries =
                    site.store.fetch(read::sorted_range(home, Order::Descending, 0, u64::MAX)).await?;
                Ok(Some(StoredHome::of(SetPart { entries, end: None })))
            }
            None => Ok(None),
        }
    }
}

/// Adds to a batch that a user's home timeline is nowhere.
pub(crate) fn end(batch: &mut Batch, reader: UserId) {
    batch.set_field(keys::user(reader), HOME_AT, NOWHERE);
}

/// A stored home timeline.
#[derive(Default)]
pub(crate) struct StoredHome {
    /// The tweets with their scores, newest first.
    pub(crate) entries: Vec<(TweetId, f64)>,
    /// Where it ends because it is full, as far as its entries tell.
    pub(crate) end: Option<f64>,
}

impl StoredHome {
    fn of(part: SetPart) -> Self {
        let tweet = |(member, score): (String, f64)| Some((member.parse().ok()?, score));
        Self { entries: part.entries.into_iter().filter_map(tweet).collect(), end: part.end }
    }
}

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

/// Removes a tweet from a reader's home timeline in the store.
pub(crate) fn remove_from_home(batch: &mut Batch, reader: UserId, tweet: TweetId) {
    batch.sorted_remove(keys::home_timeline(reader), tweet.to_string());
}

/// Deletes a reader's home timeline in the store.
pub(crate) fn delete_home(batch: &mut Batch, reader: UserId) {
    batch.delete(keys::home_timeline(reader));
}

/// Adds to a batch that an author's tweets are not delivered, but merged when followers read; or that they are
/// delivered again.
pub(crate) fn set_pulled(batch: &mut Batch, author: UserId, is_pulled: bool) {
    if is_pulled {
        batch.add_member(keys::PULLED_AUTHORS, author.to_string());
    } else {
        batch.remove_member(keys::PULLED_AUTHORS, author.to_string());
    }
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
pub(crate) async fn recompute(site: &Site, reader: UserId, except: &HashSet<UserId>) -> Result<Whole> {
    let followings = site.store.fetch(followings(reader)).await?;
    let has_own = site.home_server().is_none();
    let is_stored = |author: UserId| if author == reader { has_own } else { !except.contains(&author) };
    let authors = authors(reader, &followings).filter(|author| is_stored(*author));
    let lists = authors.map(keys::user_timeline).collect();
    let size = usize::try_from(site.rules.timelines.home_size).unwrap_or(usize::MAX - 1);
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
                if !Withheld::stored(&state).is_listed() {
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
