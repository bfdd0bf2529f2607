//! Where home timelines are stored: with everything else, or apart on a server or a cluster of
//! their own.
//!
//! Apart, no batch includes them: each write is of one timeline and safe to repeat, and comes
//! before the batch of the job that makes it. So a timeline may have too much for a time (readers
//! leave that out), and what must keep that short is here and in [`super::home_jobs`]:
//!
//! - A write begins at most [`WRITE_WITHIN`] after the reads that it rests on, and ends within the
//!   time-out of the server. [`SETTLE`] is longer than both: a job that removes waits for so long, and
//!   then nothing comes after it that was decided before.
//! - Each batch of such a job is rejected if the timelines have moved meanwhile.
//! - A full timeline is complete down to its end: the last of the entries that it keeps. Lower ones may be
//!   there, and others may have been dropped. Before entries are taken from it, the score of its end is
//!   noted as its floor.
//!
//! The author's own tweets are not in it; they are merged when the author reads.

use crate::error::Error;
use crate::fields;
use crate::home_servers::{HomeServer, HomeServers};
use crate::keys;
use crate::site::{Applied, Site};
use crate::timelines::floors;
use crate::timelines::versions::note_followings_change;
use crate::values::ids::{TweetId, UserId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_keyspace::{Addition, Batch, Fetch, Removal, Removed, SetPart, SetRead, read};

/// How long after its reads a write may begin.
const WRITE_WITHIN: Duration = Duration::from_secs(2);
/// How long a removal waits for what was decided before it: longer than both together.
pub(crate) const SETTLE: Duration = Duration::from_secs(5);

/// The fields of `timeline:place`.
pub(crate) const URL: &str = "url";
pub(crate) const SIZE: &str = "size";
pub(crate) const MOVE: &str = "move";
pub(crate) const FILLED: &str = "filled";
pub(crate) const OLD_URL: &str = "old_url";

/// Whether home timelines are in the store. Rounds: 1.
pub(crate) async fn is_store(site: &Site) -> Result<bool, Error> {
    Ok(site.store.fetch(read::field(keys::TIMELINE_PLACE, URL)).await?.is_none())
}

/// Where home timelines are.
#[derive(Clone)]
pub(crate) struct HomePlace {
    /// Tells this place from all earlier ones.
    last_move: Option<String>,
    /// While they are being moved here: the timelines of users up to this one are complete.
    filled: Option<UserId>,
    /// Apart from the store.
    apart: Option<Apart>,
}

impl HomePlace {
    /// Where they are now, or why the stored URL is none.
    pub(crate) fn of(site: &Site) -> impl Fetch<Value = Result<Self, Error>> {
        let asked_at = Instant::now();
        let fields = read::fields(keys::TIMELINE_PLACE, [URL, SIZE, MOVE, FILLED]);
        fields.map(move |[url, size, last_move, filled]| {
            let key = || keys::TIMELINE_PLACE.to_owned();
            let apart = |url: String| {
                let size = fields::read(size.as_deref(), key, SIZE);
                let keep = size.unwrap_or(site.rules.timelines.home_size);
                Ok::<_, Error>(Apart { server: site.of::<HomeServers>().at(&url)?, keep, asked_at })
            };
            let filled = fields::read(filled.as_deref(), key, FILLED).map(UserId);
            Ok(Self { last_move, filled, apart: url.map(apart).transpose()? })
        })
    }

    /// The server on which they are, if they are apart from the store.
    pub(crate) const fn apart(&self) -> Option<&Apart> {
        self.apart.as_ref()
    }

    /// Adds the check that they have not moved.
    pub(crate) fn guard(&self, batch: &mut Batch) {
        batch.field_unchanged(keys::TIMELINE_PLACE, MOVE, self.last_move.as_ref());
    }

    /// Whether the timeline of a reader has not been made here yet.
    pub(crate) fn awaits(&self, reader: UserId) -> bool {
        self.filled.is_some_and(|filled| reader.0 > filled.0)
    }

    /// How many tweets a timeline has at most.
    pub(crate) fn size(&self, site: &Site) -> u64 {
        self.apart.as_ref().map_or(site.rules.timelines.home_size, |apart| apart.keep)
    }
}

/// Home timelines apart from the store, as far as one decision uses them.
#[derive(Clone)]
pub(crate) struct Apart {
    server: Arc<HomeServer>,
    keep: u64,
    /// When it was asked where they are, and with it what the decision rests on.
    asked_at: Instant,
}

impl Apart {
    /// Adds tweets to the home timelines of readers.
    ///
    /// # Errors
    /// [`Error::Busy`] when the decision is too old, or the server's.
    pub(crate) async fn add(&self, additions: Vec<(UserId, Vec<(TweetId, f64)>)>) -> Result<(), Error> {
        self.demand_recent()?;
        let addition = |(reader, tweets): (UserId, Vec<(TweetId, f64)>)| Addition {
            key: keys::home_timeline(reader),
            members: tweets.into_iter().map(|(tweet, score)| (tweet.to_string(), score)).collect(),
        };
        let added = self.server.sets.add(additions.into_iter().map(addition).collect(), self.keep).await;
        Ok(self.server.note(added)?)
    }

    /// Removes tweets from home timelines. Where a full timeline loses some, its floor is noted
    /// first.
    ///
    /// # Errors
    /// [`Error::Busy`] when the decision is too old, the timelines have moved, or they keep filling
    /// up; or those of the server or the store.
    pub(crate) async fn remove(
        &self,
        site: &Site,
        place: &HomePlace,
        tweets: Vec<(UserId, Vec<TweetId>)>,
    ) -> Result<(), Error> {
        let removals: Vec<(UserId, Removal)> = tweets
            .into_iter()
            .filter(|(_, tweets)| !tweets.is_empty())
            .map(|(reader, tweets)| {
                let members = tweets.iter().map(ToString::to_string).collect();
                (reader, Removal { key: keys::home_timeline(reader), members, floor: None })
            })
            .collect();
        let full = self.remove_unless_full(removals).await?;
        if full.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        place.guard(&mut batch);
        for (reader, removal) in &full {
            if let Some(floor) = removal.floor {
                floors::raise_floor(&mut batch, *reader, floor);
                // A rebuild that is under way must not lower the floor again.
                note_followings_change(&mut batch, *reader);
            }
        }
        if let Applied::No(_) = site.apply(batch).await? {
            return Err(Error::Busy);
        }
        // If tweets have arrived meanwhile, it is for the next attempt of the job.
        if self.remove_unless_full(full).await?.is_empty() { Ok(()) } else { Err(Error::Busy) }
    }

    /// Returns the removals that full timelines have refused, each with the floor to note.
    async fn remove_unless_full(
        &self,
        removals: Vec<(UserId, Removal)>,
    ) -> Result<Vec<(UserId, Removal)>, Error> {
        self.demand_recent()?;
        let asked = removals.iter().map(|(_, removal)| removal.clone()).collect();
        let removed = self.server.note(self.server.sets.remove(asked, self.keep).await)?;
        let refused = |((reader, removal), removed)| match removed {
            Removed::Done => None,
            Removed::IsFull { end } => Some((reader, Removal { floor: Some(end), ..removal })),
        };
        Ok(removals.into_iter().zip(removed).filter_map(refused).collect())
    }

    /// Reads home timelines, whole.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn read_all(&self, readers: &[UserId]) -> Result<Vec<StoredHome>, Error> {
        let bounds = (f64::NEG_INFINITY, f64::INFINITY);
        let (limit, keep) = (u64::MAX, self.keep);
        let read = |reader: &UserId| SetRead { key: keys::home_timeline(*reader), bounds, limit, keep };
        let parts = self.server.sets.read(readers.iter().map(read).collect()).await;
        Ok(self.server.note(parts)?.into_iter().map(StoredHome::of).collect())
    }

    /// Reads the newest entries of a home timeline within bounds. `None` if the server is away: then
    /// the page is made without it.
    pub(crate) async fn read_part(
        &self,
        reader: UserId,
        bounds: (f64, f64),
        limit: u64,
    ) -> Option<(Vec<(String, f64)>, Option<f64>)> {
        if self.server.is_away() {
            return None;
        }
        let read = SetRead { key: keys::home_timeline(reader), bounds, limit, keep: self.keep };
        let part = self.server.note(self.server.sets.read(vec![read]).await).ok()?.into_iter().next()?;
        Some((part.entries, part.end))
    }

    /// Deletes the home timelines of readers.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn delete(&self, readers: &[UserId]) -> Result<(), Error> {
        let deleted =
            self.server.sets.delete(readers.iter().map(|reader| keys::home_timeline(*reader)).collect());
        Ok(self.server.note(deleted.await)?)
    }

    fn demand_recent(&self) -> Result<(), Error> {
        if self.asked_at.elapsed() > WRITE_WITHIN { Err(Error::Busy) } else { Ok(()) }
    }
}

/// A stored home timeline.
#[derive(Default)]
pub(crate) struct StoredHome {
    /// The tweets with their scores, newest first.
    pub(crate) entries: Vec<(TweetId, f64)>,
    /// Where it ends because it is full.
    pub(crate) end: Option<f64>,
}

impl StoredHome {
    fn of(part: SetPart) -> Self {
        Self { end: part.end, ..Self::complete(part.entries) }
    }

    /// One that does not end because it is full, as far as its entries tell.
    pub(crate) fn complete(entries: Vec<(String, f64)>) -> Self {
        let tweet = |(member, score): (String, f64)| Some((member.parse().ok()?, score));
        Self { entries: entries.into_iter().filter_map(tweet).collect(), end: None }
    }
}
