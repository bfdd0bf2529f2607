//! Keeps the index of this server up with the store.
//!
//! The store says what has changed, in the order of commits: see [`tidings_domain::changes`]. The index notes with
//! each commit how far it has read, so after a crash it goes on there, and reads again at most what it had not
//! noted. A walk over everything makes the first index.
//!
//! Votes, counts, and what other programs write are not in the feed. Every 5 seconds, the keys that were
//! written are compared with the index; on Redis these are the keys that anybody wrote. After a start, and
//! whenever keys may have been missed, a slow walk compares everything.
//!
//! A ban that ends by itself changes no key. The index notes when that will be, and the account is read again then.

use super::searching::Searching;
use crate::App;
use crate::server::conditions;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::changes::{self, FeedPlace, Findable};
use tidings_domain::supervision::steps::step;
use tidings_domain::texts::{self, Text, TextWalk};
use tidings_domain::values::{NewsId, Timestamp};
use tidings_domain::{Error, Site};
use tidings_keyspace::{KeyspaceError, WrittenKeys};
use tidings_search::index::{Account, Audience, Document, IndexError, Kind, Progress};

/// How often the feed is read.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the keys that were written are compared with the index.
const COMPARE_EVERY: Duration = Duration::from_secs(5);
/// How many times it looks at the feed during a walk that compares everything: half an hour.
const LOOKS_OF_WALK: u64 = 3_600;
/// How long to wait before another attempt to open the index.
const OPEN_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// The shortest time from one damaged index to the next new one.
const MAKE_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Changes that are read at once, and keys that are compared at once.
const CHANGES_AT_ONCE: usize = 500;
/// Texts that are committed together while the first index is made.
const COMMIT_EVERY: usize = 20_000;
/// Changes that are read again after a start: the primary of before may have lost the last ones.
const READ_AGAIN: u64 = 1_000;

/// The index could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
    /// The index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl FollowError {
    /// The fault of the search itself. An unreachable store is a condition of its own.
    fn fault(&self) -> Option<String> {
        match self {
            Self::Store(Error::Store(KeyspaceError::Unavailable(_))) => None,
            error => Some(error.to_string()),
        }
    }
}

/// Follows the store until the future is dropped. Ends at once if search is off. Rounds: 2 a second, and those of
/// the changes and of the walk.
pub async fn run(app: App) {
    if !app.settings.search.is_on {
        return;
    }
    let written = app.site.store.watch_keys(texts::are_in);
    loop {
        let searching = open(&app).await;
        let opened = Instant::now();
        let follower = Follower {
            app: app.clone(),
            searching,
            written: written.clone(),
            compared: Instant::now(),
            at: None,
        };
        let damaged = follower.follow().await;
        app.search.close();
        discard(damaged).await;
        // A disk that damages every new index is not to be kept busy.
        tokio::time::sleep(MAKE_AGAIN_AFTER.saturating_sub(opened.elapsed())).await;
    }
}

/// Opens the index, as soon as that is possible.
async fn open(app: &App) -> Arc<Searching> {
    let mut looks = tokio::time::interval(OPEN_AGAIN_AFTER);
    loop {
        looks.tick().await;
        let settings = app.settings.search.clone();
        match blocking(move || Searching::open(&settings)).await {
            Ok(searching) if is_of_another_store(app, &searching).await => {
                discard(searching).await;
                looks.reset_immediately();
            }
            Ok(searching) => {
                app.search.set(searching.clone());
                return searching;
            }
            Err(error) => app.health.tell(conditions::SEARCH, Some(error.to_string())),
        }
    }
}

/// Whether an index has words of another store, which it would tell until the new one is made.
async fn is_of_another_store(app: &App, searching: &Searching) -> bool {
    let progress = searching.index.progress().unwrap_or_default();
    // While the store is unreachable, nothing is found anyway.
    let store = changes::store_number(&app.site).await.unwrap_or_else(|_| progress.store.clone());
    progress != Progress::default() && progress.store != store
}

/// Removes the files of a damaged index, once nobody reads them any more.
async fn discard(mut searching: Arc<Searching>) {
    let searching = loop {
        match Arc::try_unwrap(searching) {
            Ok(alone) => break alone,
            Err(shared) => searching = shared,
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    if let Err(error) = blocking(move || searching.index.remove_files()).await {
        tracing::error!(%error, "cannot remove the damaged search index");
    }
}

/// The index of this server on its way.
struct Follower {
    app: App,
    searching: Arc<Searching>,
    written: Arc<WrittenKeys>,
    /// When it last compared the keys that were written.
    compared: Instant,
    /// Where it is; `None` before the first look, and after a failure.
    at: Option<At>,
}

/// Where a follower is.
struct At {
    progress: Progress,
    /// The walk that compares everything, while it is under way.
    walk: Option<TextWalk>,
    /// Whether keys may have been missed since the walk began.
    has_gap: bool,
    /// Whether something was put into the index that is not committed.
    is_dirty: bool,
}

impl Follower {
    /// Follows until the index is damaged, and returns it.
    async fn follow(mut self) -> Arc<Searching> {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let failed = self.look().await.err();
            let fault = failed.as_ref().and_then(FollowError::fault);
            self.app.health.tell(conditions::SEARCH, fault);
            if let Some(error) = &failed {
                let is_damage =
                    matches!(error, FollowError::Index(error) if self.searching.note_failure(error));
                if !is_damage {
                    self.at = None;
                    if let Err(error) = self.searching.index.roll_back() {
                        self.searching.note_failure(&error);
                    }
                }
            }
            let looked = self.searching.clone();
            let is_damaged = blocking(move || Ok(looked.is_damaged())).await;
            if is_damaged.unwrap_or(false) {
                return self.searching;
            }
        }
    }

    async fn look(&mut self) -> Result<(), FollowError> {
        let mut at = match self.at.take() {
            Some(at) if !self.searching.wants_rebuild() => at,
            _ => self.begin().await?,
        };
        self.catch_up(&mut at).await?;
        self.follow_ends(&mut at).await?;
        self.searching.has_caught_up();
        self.walk_on(&mut at).await?;
        if self.compared.elapsed() >= COMPARE_EVERY {
            self.compared = Instant::now();
            self.compare_written(&mut at).await?;
        }
        self.at = Some(at);
        Ok(())
    }

    /// Where to go on; makes the whole index if there is none, if it is of another store, or if that is wanted.
    async fn begin(&self) -> Result<At, FollowError> {
        let site = &self.app.site;
        let progress = self.searching.index.progress()?;
        let store = changes::store_number(site).await?;
        let last = site.store.fetch(changes::last()).await.map_err(Error::from)?;
        let is_usable = progress.is_complete && progress.store == store && progress.place <= last.0;
        let (progress, walk) = if is_usable && !self.searching.wants_rebuild() {
            let place = progress.place.saturating_sub(READ_AGAIN);
            (Progress { place, ..progress }, Some(TextWalk::begin(site).await?))
        } else {
            let progress = make(site, &self.searching, self.now()).await?;
            merge_all(self.searching.clone());
            (progress, None)
        };
        Ok(At { progress, walk, has_gap: false, is_dirty: false })
    }

    fn now(&self) -> Timestamp {
        self.app.moment().timestamp()
    }

    /// Reads the accounts again of which a restriction has ended. Rounds: none, and 1 if there are some.
    async fn follow_ends(&self, at: &mut At) -> Result<(), FollowError> {
        let ended = self.searching.index.ended(signed(self.now().0))?;
        let things: Vec<Findable> = ended.iter().filter_map(|id| id.parse().ok()).collect();
        if things.is_empty() {
            return Ok(());
        }
        self.update(&things).await?;
        self.commit(at).await
    }

    /// Reads the feed to its end.
    async fn catch_up(&self, at: &mut At) -> Result<(), FollowError> {
        loop {
            let changes = self
                .app
                .site
                .store
                .counted_apart()
                .fetch(changes::after(FeedPlace(at.progress.place), CHANGES_AT_ONCE as u64))
                .await
                .map_err(Error::from)?;
            let Some((_, last)) = changes.last() else { return Ok(()) };
            let (is_all, last) = (changes.len() < CHANGES_AT_ONCE, *last);
            let things: Vec<Findable> = changes.into_iter().map(|(thing, _)| thing).collect();
            self.update(&things).await?;
            at.progress.place = last.0;
            self.commit(at).await?;
            if is_all {
                return Ok(());
            }
        }
    }

    /// Brings some things up to date.
    async fn update(&self, things: &[Findable]) -> Result<(), FollowError> {
        let index = &self.searching.index;
        let texts = texts::of(&self.app.site, self.now(), things).await?;
        for (thing, text) in things.iter().zip(&texts) {
            match (text, thing) {
                (Some(text), Findable::Story(id)) => {
                    index.put(&document(text))?;
                    // Its comments are found by its site and topics; and they come back with it.
                    if text.comments > 0 {
                        let comments = texts::of_thread(&self.app.site, *id).await?;
                        comments.iter().try_for_each(|text| index.put(&document(text)))?;
                    }
                }
                (Some(text), _) => index.put(&document(text))?,
                (None, Findable::Story(NewsId(id))) => index.remove_story(*id),
                (None, _) => index.remove(&thing.to_string()),
            }
        }
        Ok(())
    }

    /// Goes on with the walk that compares everything, if one is under way.
    async fn walk_on(&self, at: &mut At) -> Result<(), FollowError> {
        let Some(mut walk) = at.walk.take() else { return Ok(()) };
        for _ in 0..walk.rounds().div_ceil(LOOKS_OF_WALK) {
            let Some(texts) = walk.next(&self.app.site, self.now()).await? else { return Ok(()) };
            self.compare(at, &texts)?;
        }
        at.walk = Some(walk);
        Ok(())
    }

    /// Compares what was written since the last time. If not all of it is known, everything will be compared.
    async fn compare_written(&self, at: &mut At) -> Result<(), FollowError> {
        let (keys, has_gap) = self.written.take();
        at.has_gap |= has_gap || !self.app.site.store.tracks_writes();
        for keys in keys.into_iter().collect::<Vec<_>>().chunks(CHANGES_AT_ONCE) {
            self.compare(at, &texts::of_keys(&self.app.site, self.now(), keys).await?)?;
        }
        if at.has_gap && at.walk.is_none() {
            at.has_gap = false;
            at.walk = Some(TextWalk::begin(&self.app.site).await?);
        }
        if at.is_dirty { self.commit(at).await } else { Ok(()) }
    }

    /// Replaces what the index has with other counts, or does not have.
    fn compare(&self, at: &mut At, texts: &[Text]) -> Result<(), FollowError> {
        let index = &self.searching.index;
        for document in texts.iter().map(document) {
            if index.counts(&document.id)? != Some(document.counts()) {
                index.put(&document)?;
                at.is_dirty = true;
            }
        }
        Ok(())
    }

    async fn commit(&self, at: &mut At) -> Result<(), FollowError> {
        at.is_dirty = false;
        Ok(commit(&self.searching, at.progress.clone()).await?)
    }
}

/// Makes the index anew, and returns how far it has read. Changes made meanwhile are in the feed after that.
/// A complete index answers until the new one is complete; without one, what is there so far can be found.
///
/// # Errors
/// When the store or the index fails. The complete index stays.
pub async fn make(site: &Site, searching: &Arc<Searching>, now: Timestamp) -> Result<Progress, FollowError> {
    tracing::info!("making the search index");
    let store = changes::store_number(site).await?;
    let from = site.store.fetch(changes::last()).await.map_err(Error::from)?;
    let had_complete = searching.index.progress()?.is_complete;
    searching.index.clear()?;
    searching.is_made(0.0);
    let mut walk = TextWalk::begin(site).await?;
    let mut waiting = 0;
    while let Some(texts) = walk.next(site, now).await? {
        waiting += texts.len();
        let held = searching.clone();
        blocking(move || texts.iter().try_for_each(|text| put(&held, text))).await?;
        if waiting >= COMMIT_EVERY && !had_complete {
            waiting = 0;
            commit(searching, Progress { store: store.clone(), place: 0, is_complete: false }).await?;
        }
        searching.is_made(walk.done());
    }
    let progress = Progress { store, place: from.0, is_complete: true };
    commit(searching, progress.clone()).await?;
    searching.is_complete();
    tracing::info!(documents = searching.index.view.documents(), "the search index is complete");
    Ok(progress)
}

/// Merges the files of a new index on a thread of its own, so that nothing waits for it.
fn merge_all(searching: Arc<Searching>) {
    let merge = move || {
        if let Err(error) = searching.index.merge_all() {
            tracing::warn!(%error, "the search index stays in several parts, and searches take longer");
        }
    };
    if let Err(error) = std::thread::Builder::new().name("merge".to_owned()).spawn(merge) {
        tracing::warn!(%error, "cannot start a thread to merge the search index");
    }
}

/// Puts a text into an index that is being made.
fn put(searching: &Searching, text: &Text) -> Result<(), IndexError> {
    step();
    searching.index.put(&document(text))
}

async fn commit(searching: &Arc<Searching>, progress: Progress) -> Result<(), IndexError> {
    step();
    let searching = searching.clone();
    blocking(move || searching.index.commit(progress)).await
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

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
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
    Document {
        id: text.of.to_string(),
        kind,
        author: text.author.map(|author| author.0),
        story_author: text.story_author.map(|author| author.0),
        story,
        title: text.title.clone(),
        body: text.body.clone(),
        url: text.url.clone(),
        host: text.host.as_ref().map(ToString::to_string),
        topics: text.topics.clone(),
        time: signed(text.time.0),
        votes: text.votes,
        comments: signed(text.comments),
        audience: match text.audience {
            texts::TextAudience::Everybody => Audience::Everybody,
            texts::TextAudience::Only(person) => Audience::Only(person.0),
            texts::TextAudience::Insiders => Audience::Insiders,
        },
        account: text.account.as_ref().map(|account| Account {
            tags: account.tags.clone(),
            number: text.author.map_or(0, |author| signed(author.0)),
            is_hidden: account.is_hidden,
            karma: account.karma,
            seen: signed(account.seen),
            ends: account.ends.map(|ends| signed(ends.0)),
        }),
    }
}
