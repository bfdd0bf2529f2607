//! Keeps the index of this server up with the store.
//!
//! The store says what has changed, in the order of commits: see [`tidings_domain::changes`]. The index notes with
//! each commit how far it has read, so after a crash it goes on there, and reads again at most what it had not
//! noted. A walk over everything makes the first index, and then goes on slowly all the time, for what the feed
//! does not tell: votes, counts, and what other programs write.

use super::searching::Searching;
use crate::App;
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::changes::{self, Findable, Place};
use tidings_domain::error::Error;
use tidings_domain::texts::{self, Text, Walk};
use tidings_domain::values::ids::NewsId;
use tidings_search::index::{Document, IndexError, Kind, Progress};

/// How often the feed is read.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long to wait before another attempt to open the index.
const OPEN_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Changes that are read at once.
const CHANGES_AT_ONCE: usize = 500;
/// Texts that are committed together while the first index is made.
const COMMIT_EVERY: usize = 20_000;
/// Changes that are read again after a start: the primary of before may have lost the last ones.
const READ_AGAIN: u64 = 1_000;

/// The index could not be brought up to date.
#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error(transparent)]
    Store(#[from] Error),
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// Follows the store until the future is dropped. Ends at once if search is off. Rounds: 2 a second, and those of the
/// changes.
pub async fn run(app: App) {
    if !app.settings.search.is_on {
        return;
    }
    let Some(searching) = open(&app).await else { return };
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut follower = Follower { app, searching, progress: None };
    loop {
        looks.tick().await;
        if let Err(error) = follower.catch_up().await {
            tracing::warn!(%error, "the search index is not up to date");
            follower.progress = None;
            follower.searching.index.roll_back().ok();
        }
    }
}

/// Opens the index, as soon as that is possible.
async fn open(app: &App) -> Option<Arc<Searching>> {
    let mut looks = tokio::time::interval(OPEN_AGAIN_AFTER);
    loop {
        looks.tick().await;
        let settings = app.settings.search.clone();
        match blocking(move || Searching::open(&settings)).await {
            Ok(searching) => {
                app.search.set(searching).ok();
                return app.search.get().cloned();
            }
            Err(error) => tracing::error!(%error, "there is no search"),
        }
    }
}

/// The index of this server on its way.
struct Follower {
    app: App,
    searching: Arc<Searching>,
    /// How far it is; `None` before the first look, and after a failure.
    progress: Option<Progress>,
}

impl Follower {
    async fn catch_up(&mut self) -> Result<(), FollowError> {
        let mut progress = match self.progress {
            Some(progress) => progress,
            None => self.begin().await?,
        };
        loop {
            let changes = self
                .app
                .site
                .store
                .counted_apart()
                .fetch(changes::after(Place(progress.place), CHANGES_AT_ONCE as u64))
                .await
                .map_err(Error::from)?;
            let Some((_, last)) = changes.last() else { break };
            let (is_all, last) = (changes.len() < CHANGES_AT_ONCE, *last);
            let things: Vec<Findable> = changes.into_iter().map(|(thing, _)| thing).collect();
            self.update(&things).await?;
            progress.place = last.0;
            self.commit(progress).await?;
            if is_all {
                break;
            }
        }
        self.progress = Some(progress);
        self.searching.has_caught_up();
        Ok(())
    }

    /// Where to go on; makes the whole index if there is none, or if it is of another store.
    async fn begin(&self) -> Result<Progress, FollowError> {
        let progress = self.searching.index.progress()?;
        let last = self.app.site.store.fetch(changes::last()).await.map_err(Error::from)?;
        if !progress.is_complete || progress.place > last.0 {
            return self.make(last).await;
        }
        Ok(Progress { place: progress.place.saturating_sub(READ_AGAIN), ..progress })
    }

    /// Reads everything. What changes meanwhile is in the feed after the place at which it began.
    async fn make(&self, from: Place) -> Result<Progress, FollowError> {
        tracing::info!("making the search index");
        let (index, site) = (&self.searching.index, &self.app.site);
        index.clear()?;
        self.searching.is_done(0.0);
        let mut walk = Walk::begin(site).await?;
        let mut waiting = 0;
        while let Some(texts) = walk.next(site).await? {
            waiting += texts.len();
            let searching = self.searching.clone();
            blocking(move || texts.iter().try_for_each(|text| searching.index.put(&document(text)))).await?;
            if waiting >= COMMIT_EVERY {
                waiting = 0;
                self.commit(Progress { place: 0, is_complete: false }).await?;
            }
            self.searching.is_done(walk.done().min(0.999));
        }
        let progress = Progress { place: from.0, is_complete: true };
        self.commit(progress).await?;
        self.searching.is_done(1.0);
        tracing::info!(documents = index.documents(), "the search index is complete");
        Ok(progress)
    }

    /// Brings some things up to date.
    async fn update(&self, things: &[Findable]) -> Result<(), FollowError> {
        let texts = texts::of(&self.app.site, things).await?;
        let mut threads = Vec::new();
        for (thing, text) in things.iter().zip(&texts) {
            // A story that can be found again brings back its comments.
            if let (Findable::Story(id), Some(_)) = (thing, text)
                && !self.searching.index.has(&thing.to_string())?
            {
                threads.push(*id);
            }
        }
        for id in threads {
            let comments = texts::of_thread(&self.app.site, id).await?;
            comments.iter().try_for_each(|text| self.searching.index.put(&document(text)))?;
        }
        for (thing, text) in things.iter().zip(&texts) {
            match (text, thing) {
                (Some(text), _) => self.searching.index.put(&document(text))?,
                (None, Findable::Story(NewsId(id))) => self.searching.index.remove_story(*id),
                (None, _) => self.searching.index.remove(&thing.to_string()),
            }
        }
        Ok(())
    }

    async fn commit(&self, progress: Progress) -> Result<(), FollowError> {
        let searching = self.searching.clone();
        Ok(blocking(move || searching.index.commit(progress)).await?)
    }
}

/// Work that waits for a disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, IndexError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

/// A text as the index takes it.
fn document(text: &Text) -> Document {
    let (kind, story) = match &text.of {
        Findable::Story(id) => (Kind::Story, Some(id.0)),
        Findable::Comment(address) => (Kind::Comment, Some(address.news.0)),
        Findable::Tweet(_) => (Kind::Post, None),
        Findable::Person(_) => (Kind::Person, None),
        Findable::Site(_) => (Kind::Site, None),
    };
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    Document {
        id: text.of.to_string(),
        kind,
        author: text.author.map(|author| author.0),
        story,
        title: text.title.clone(),
        body: text.body.clone(),
        url: text.url.clone(),
        host: text.host.as_ref().map(ToString::to_string),
        topics: text.topics.clone(),
        time: signed(text.time.0),
        votes: text.votes,
        comments: signed(text.comments),
    }
}
