//! Home timelines apart from the store, on a server or a cluster of their own.
//!
//! No batch includes them: each write is of one timeline and safe to repeat, and comes before the batch of the job
//! that makes it. So a timeline may have too much for a time, and readers leave that out.
//!
//! - Each has a *mark* besides its tweets: a random text that is drawn when the timeline is made. The store says which one
//!   it has (`home_at` of the user). A timeline without it is absent, whatever else is there: the server has lost it, or
//!   it is one of an earlier time.
//! - A full timeline is complete down to its end: the last of the entries that it keeps. Lower ones may be there, and
//!   others may have been dropped. Before entries are taken from it, the score of its end is noted as its floor.
//!
//! The author's own tweets are not in it; they are merged when the author reads.

use crate::home_servers::HomeServer;
use crate::values::{TweetId, UserId};
use crate::{Result, Site, keys};
use std::sync::Arc;
use tidings_keyspace::{Addition, SetPart, SetRead};

const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
/// Marks that are read of a timeline: two servers may make it at the same time.
const MARKS: u64 = 4;

/// Where this server keeps home timelines apart from the store.
#[derive(Clone)]
pub(crate) struct Apart {
    server: Arc<HomeServer>,
    /// How many tweets a timeline has at most. One of another size tells nothing about its end.
    size: u64,
}

/// A page of a home timeline apart from the store.
pub(crate) enum HomePart {
    /// Entries, and where the timeline ends because it is full.
    Read(Vec<(String, f64)>, Option<f64>),
    /// The timeline is absent.
    Absent,
    /// The server cannot be reached.
    Away,
}

impl Apart {
    /// Where this server keeps home timelines; `None` in the store.
    pub(crate) fn of(site: &Site) -> Option<Self> {
        let server = site.home_server()?.clone();
        Some(Self { server, size: site.rules.timelines.home_size })
    }

    /// The value of `home_at` for a timeline here that has a mark.
    pub(crate) fn at(&self, mark: &str) -> String {
        format!("{} {} {mark}", self.server.name, self.size)
    }

    /// The mark of a timeline that is here, by the value of `home_at`.
    pub(crate) fn mark<'a>(&self, home_at: Option<&'a str>) -> Option<&'a str> {
        let (place, mark) = home_at?.rsplit_once(' ')?;
        (place == format!("{} {}", self.server.name, self.size)).then_some(mark)
    }

    /// The entries that are kept: the tweets and the mark.
    const fn keep(&self) -> u64 {
        self.size.saturating_add(1)
    }

    fn read(&self, reader: UserId, bounds: (f64, f64), limit: u64) -> SetRead {
        SetRead { key: keys::home_timeline(reader), bounds, limit, keep: self.keep() }
    }

    /// Makes a timeline with nothing but a mark.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn begin(&self, reader: UserId, mark: &str) -> Result<()> {
        self.delete(&[reader]).await?;
        let members = vec![(mark.to_owned(), f64::INFINITY)];
        let mark = Addition { key: keys::home_timeline(reader), members };
        Ok(self.server.note(self.server.sets.add(vec![mark], self.keep()).await)?)
    }

    /// Adds tweets to the home timelines of readers.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn add(&self, additions: Vec<(UserId, Vec<(TweetId, f64)>)>) -> Result<()> {
        let addition = |(reader, tweets): (UserId, Vec<(TweetId, f64)>)| Addition {
            key: keys::home_timeline(reader),
            members: tweets.into_iter().map(|(tweet, score)| (tweet.to_string(), score)).collect(),
        };
        let added = self.server.sets.add(additions.into_iter().map(addition).collect(), self.keep()).await;
        Ok(self.server.note(added)?)
    }

    /// Reads a home timeline that has this mark, whole, and where it ends because it is full. `None` if it is absent.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn read_whole(&self, reader: UserId, mark: &str) -> Result<Option<SetPart>> {
        let parts = self.server.sets.read(vec![self.read(reader, ALL, u64::MAX)]).await;
        let part = self.server.note(parts)?.into_iter().next();
        Ok(part.filter(|part| part.entries.iter().any(|(member, _)| member == mark)))
    }

    /// Reads the newest entries of a home timeline within bounds, if it has this mark.
    pub(crate) async fn read_part(
        &self,
        (reader, mark): (UserId, &str),
        (least, most): (f64, f64),
        limit: u64,
    ) -> HomePart {
        if self.server.is_away() {
            return HomePart::Away;
        }
        let marks = self.read(reader, (f64::INFINITY, f64::INFINITY), MARKS);
        let part = self.read(reader, (least, most.min(f64::MAX)), limit);
        match self.server.note(self.server.sets.read(vec![marks, part]).await).as_deref() {
            Ok([marks, part]) if marks.entries.iter().any(|(member, _)| member == mark) => {
                HomePart::Read(part.entries.clone(), part.end)
            }
            Ok(_) => HomePart::Absent,
            Err(_) => HomePart::Away,
        }
    }

    /// Deletes the home timelines of readers.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn delete(&self, readers: &[UserId]) -> Result<()> {
        let deleted =
            self.server.sets.delete(readers.iter().map(|reader| keys::home_timeline(*reader)).collect());
        Ok(self.server.note(deleted.await)?)
    }
}
