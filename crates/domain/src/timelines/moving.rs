//! Moving home timelines to another place while the site runs.
//!
//! Nothing is copied. From the first batch on, all servers deliver to the new place, and the
//! timelines of readers that are not made there yet are read from the authors' own timelines. Then
//! one reader after the other gets a timeline that is made anew, and loses the old one.

use crate::accounts::users::DEACTIVATED;
use crate::audit::{AUDIT, COMMAND_LINE};
use crate::error::Error;
use crate::fields;
use crate::home_servers;
use crate::home_servers::HomeServers;
use crate::jobs;
use crate::keys;
use crate::site::{Applied, Site};
use crate::timelines::home_jobs::rebuild;
use crate::timelines::place::{FILLED, MOVE, OLD_URL, SIZE, URL};
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::UserId;
use crate::values::secrets::random_token;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::time::Duration;
use tidings_keyspace::{
    Batch, EngineClock, KeyspaceError, OpenError, SetRead, ShardedSets, Store, read, without_password,
};

/// Readers whose timelines are made between two notes of how far the move is.
const CHUNK: u64 = 64;
/// Timelines that are made at the same time.
const AT_ONCE: usize = 4;
/// How often a timeline is tried that others write at the same time, and how long is waited between.
const ATTEMPTS: usize = 60;
const PAUSE: Duration = Duration::from_millis(500);

/// Where home timelines can be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Into the store, with everything else.
    Store,
    /// To the server or cluster of this URL.
    Apart(String),
}

impl Destination {
    /// The URL; `None` for the store.
    fn url(&self) -> Option<&str> {
        match self {
            Self::Store => None,
            Self::Apart(url) => Some(url),
        }
    }

    /// Looks whether home timelines can be there. In the store of a site they could not be told from
    /// its own: a move would delete what it has made.
    ///
    /// # Errors
    /// The reason why the server cannot be used. An absent server is no error.
    pub async fn look(&self) -> Result<(), OpenError> {
        let Self::Apart(url) = self else { return Ok(()) };
        let sets = ShardedSets::open(url, home_servers::TIMEOUT).await?;
        let version = SetRead {
            key: keys::LAYOUT_VERSION.to_owned(),
            bounds: (f64::NEG_INFINITY, f64::INFINITY),
            limit: 1,
            keep: 1,
        };
        // It is a text, and only there if a store is.
        match sets.read(vec![version]).await {
            Err(KeyspaceError::WrongType(_)) => Err(OpenError::Engine {
                url: without_password(url),
                reason: "this database is the store of a site; name a server of its own, or another \
                         database by /NUMBER"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The place in words, without a password.
    pub fn shown(&self) -> String {
        self.url().map_or_else(|| "the store".to_owned(), without_password)
    }
}

/// The outcome for the home timelines at an old place apart from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTimelines {
    /// They are deleted.
    Deleted,
    /// They are left, because another site goes on to use them: this one is a copy of it.
    Left,
}

/// A move under way.
pub struct TimelineMove<'a> {
    site: &'a Site,
    /// Tells this move from others.
    id: String,
    filled: u64,
    users: u64,
    /// The server that they leave.
    old: Option<ShardedSets>,
    /// Whether they leave the store, or have left it with an earlier move that did not end.
    leaves_store: bool,
}

/// The stored facts about the place of home timelines.
struct StoredPlace {
    url: Option<String>,
    last_move: Option<String>,
    filled: Option<u64>,
    old_url: Option<String>,
    users: u64,
    tweets: u64,
}

async fn read_stored(site: &Site) -> Result<StoredPlace, Error> {
    let place = read::fields(keys::TIMELINE_PLACE, [URL, MOVE, FILLED, OLD_URL]);
    let counters = [keys::USERS_COUNT, keys::TWEET_IDS].map(fields::counter);
    let ([url, last_move, filled, old_url], [users, tweets]) = site.store.fetch((place, counters)).await?;
    let filled = fields::read(filled.as_deref(), || keys::TIMELINE_PLACE.to_owned(), FILLED);
    Ok(StoredPlace { url, last_move, filled, old_url, users, tweets })
}

/// Where the home timelines of a store are, without a password; `None` if they are in it. Rounds: 1.
pub async fn place_apart(store: &Store) -> Result<Option<String>, KeyspaceError> {
    let url: Option<String> = store.fetch(read::field(keys::TIMELINE_PLACE, URL)).await?;
    Ok(url.as_deref().map(without_password))
}

/// Puts the home timelines of a new site at the place that its settings name. Where there are tweets
/// already, it only logs that the timelines are elsewhere. Rounds: 2.
pub async fn begin_new_site(site: &Site, to: &Destination) -> Result<(), Error> {
    let stored = read_stored(site).await?;
    if stored.url.as_deref() == to.url() {
        return Ok(());
    }
    if stored.last_move.is_some() || stored.tweets > 0 {
        if let Destination::Apart(_) = to {
            let at = stored.url.map_or(Destination::Store, Destination::Apart).shown();
            tracing::warn!(
                at,
                setting = to.shown(),
                "home timelines are not where timelines.store says; tidings move timelines moves them"
            );
        }
        return Ok(());
    }
    if let Err(error) = to.look().await {
        tracing::error!(%error, "timelines.store cannot have the home timelines; they stay in the store");
        return Ok(());
    }
    let mut batch = Batch::new();
    batch.key_absent(keys::TIMELINE_PLACE);
    batch.key_absent(keys::TWEET_IDS);
    write_place(&mut batch, site, to, &random_token()?);
    // If another server of the site was first, it has the same settings.
    site.apply(batch).await?;
    Ok(())
}

fn write_place(batch: &mut Batch, site: &Site, to: &Destination, id: &str) {
    batch.set_field(keys::TIMELINE_PLACE, MOVE, id);
    match to.url() {
        Some(url) => {
            batch.set_field(keys::TIMELINE_PLACE, URL, url);
            batch.set_field(keys::TIMELINE_PLACE, SIZE, site.rules.timelines.home_size.to_string());
        }
        None => {
            batch.delete_field(keys::TIMELINE_PLACE, URL);
            batch.delete_field(keys::TIMELINE_PLACE, SIZE);
        }
    }
}

impl<'a> TimelineMove<'a> {
    /// Begins a move, or goes on with one to the same place that was interrupted. It takes the place
    /// of a move to elsewhere. `None` if home timelines are there already.
    ///
    /// # Errors
    /// [`Error::Busy`] if another move begins at the same time; when the new server or the store fails.
    /// Then nothing has changed.
    pub async fn begin(site: &'a Site, to: &Destination, old: OldTimelines) -> Result<Option<Self>, Error> {
        if let Some(url) = to.url() {
            site.of::<HomeServers>().at(url)?.demand_usable().await?;
        }
        let stored = read_stored(site).await?;
        let is_there = stored.url.as_deref() == to.url();
        let (id, filled, old_url) = match (is_there, stored.filled, stored.last_move) {
            (true, Some(filled), Some(id)) => (id, filled, stored.old_url),
            (true, ..) => return Ok(None),
            (false, _, last_move) => {
                let id = random_token()?;
                let mut batch = Batch::new();
                batch.field_unchanged(keys::TIMELINE_PLACE, MOVE, last_move);
                write_place(&mut batch, site, to, &id);
                batch.set_field(keys::TIMELINE_PLACE, FILLED, "0");
                let old_url = stored.url.filter(|_| old == OldTimelines::Deleted);
                match &old_url {
                    Some(url) => batch.set_field(keys::TIMELINE_PLACE, OLD_URL, url),
                    None => batch.delete_field(keys::TIMELINE_PLACE, OLD_URL),
                }
                if let Applied::No(_) = site.apply(batch).await? {
                    return Err(Error::Busy);
                }
                let (by, to) = (COMMAND_LINE, to.shown());
                tracing::info!(target: AUDIT, by, to, "began to move home timelines");
                (id, 0, old_url)
            }
        };
        let old = old_url.and_then(|url| home_servers::open(&url).ok());
        Ok(Some(Self { site, id, filled, users: stored.users, old, leaves_store: to.url().is_some() }))
    }

    /// How many readers are done, and how many there are.
    pub const fn progress(&self) -> (u64, u64) {
        (self.filled, self.users)
    }

    /// Moves the timelines of some more readers. Returns whether there are more.
    ///
    /// # Errors
    /// [`Error::Busy`] if others keep writing the same timelines; when a server or the store fails.
    /// Timelines that were moved stay moved, and the move can go on.
    pub async fn next(&mut self) -> Result<bool, Error> {
        if self.filled >= self.users {
            return Ok(!self.finish().await?);
        }
        let last = self.users.min(self.filled + CHUNK);
        let readers: Vec<UserId> = (self.filled + 1..=last).map(UserId).collect();
        let active = self.active(&readers).await?;
        let this = &*self;
        stream::iter(active)
            .map(|reader| this.fill(reader))
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<()>>()
            .await?;
        let mut batch = Batch::new();
        batch.field_equals(keys::TIMELINE_PLACE, MOVE, &self.id);
        batch.set_field(keys::TIMELINE_PLACE, FILLED, last.to_string());
        self.apply(batch).await?;
        self.filled = last;
        self.delete_old(&readers).await?;
        Ok(true)
    }

    /// Ends the move, unless there are new users. Returns whether it has ended.
    async fn finish(&mut self) -> Result<bool, Error> {
        let users = read_stored(self.site).await?.users;
        if users > self.users {
            self.users = users;
            return Ok(false);
        }
        let mut batch = Batch::new();
        batch.field_equals(keys::TIMELINE_PLACE, MOVE, &self.id);
        match users {
            0 => _ = batch.key_absent(keys::USERS_COUNT),
            users => _ = batch.string_equals(keys::USERS_COUNT, users.to_string()),
        }
        batch.delete_field(keys::TIMELINE_PLACE, FILLED);
        batch.delete_field(keys::TIMELINE_PLACE, OLD_URL);
        Ok(matches!(self.site.apply(batch).await?, Applied::Yes(_)))
    }

    /// Those of some readers who get deliveries. Rounds: 1.
    async fn active(&self, readers: &[UserId]) -> Result<Vec<UserId>, Error> {
        let fields = |reader| read::fields(keys::user(reader), ["username", "seen_time", DEACTIVATED]);
        let reads: Vec<_> = readers.iter().copied().map(fields).collect();
        let stored = self.site.store.fetch(reads).await?;
        let now = Moment::now(&EngineClock::System).timestamp();
        let rules = &self.site.rules.timelines;
        let active = |(reader, [name, seen, deactivated]): (UserId, [Option<String>; 3])| {
            let seen = fields::read(seen.as_deref(), || keys::user(reader), "seen_time").map(Timestamp);
            let is_away = seen.is_some_and(|seen| rules.is_inactive(seen, now));
            (name.is_some() && deactivated.is_none() && !is_away).then_some(reader)
        };
        Ok(readers.iter().copied().zip(stored).filter_map(active).collect())
    }

    /// Makes the timeline of a reader at the new place.
    async fn fill(&self, reader: UserId) -> Result<(), Error> {
        let job = rebuild::job(reader);
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let now = Moment::now(&EngineClock::System);
            let mut batch = Batch::new();
            batch.field_equals(keys::TIMELINE_PLACE, MOVE, &self.id);
            jobs::add(&mut batch, &job, now, reader);
            self.apply(batch).await?;
            match jobs::work_on(self.site, now, &rebuild::KIND, &job).await {
                Ok(true) => return Ok(()),
                // A server of the site may be doing it.
                Ok(false) | Err(Error::Busy) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Busy)
    }

    /// Deletes what readers had at the old place.
    async fn delete_old(&self, readers: &[UserId]) -> Result<(), Error> {
        let homes: Vec<String> = readers.iter().map(|reader| keys::home_timeline(*reader)).collect();
        if self.leaves_store {
            let mut batch = Batch::new();
            homes.iter().for_each(|home| batch.delete(home));
            self.site.store.commit(batch).await?;
        }
        if let Some(old) = &self.old
            && let Err(error) = old.delete(homes).await
        {
            // They are left because it may not work any more.
            tracing::warn!(%error, "old home timelines are not deleted");
        }
        Ok(())
    }

    async fn apply(&self, batch: Batch) -> Result<(), Error> {
        match self.site.apply(batch).await? {
            Applied::Yes(_) => Ok(()),
            Applied::No(_) => Err(Error::Busy),
        }
    }
}

/// Where home timelines are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomesStatus {
    /// The place.
    pub at: Destination,
    /// While they are being moved there: of how many users, and of how many in all.
    pub moved: Option<(u64, u64)>,
    /// Why their server cannot be used now.
    pub trouble: Option<String>,
}

/// Where home timelines are, and whether their server works. Rounds: 1.
pub async fn status(site: &Site) -> Result<HomesStatus, Error> {
    let stored = read_stored(site).await?;
    let moved = stored.filled.map(|filled| (filled, stored.users));
    let trouble = match &stored.url {
        Some(url) => {
            site.of::<HomeServers>().at(url)?.demand_usable().await.err().map(|error| error.to_string())
        }
        None => None,
    };
    Ok(HomesStatus { at: stored.url.map_or(Destination::Store, Destination::Apart), moved, trouble })
}
