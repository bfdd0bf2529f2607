//! The search of this server: its index, and finding in it for one viewer.

use crate::App;
use crate::error::{RequestError, Result};
use crate::limits::{SEARCH_QUEUE, SEARCH_RESULTS};
use crate::settings::SearchSettings;
use parking_lot::{Mutex, RwLock};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::accounts::{mutes, people};
use tidings_domain::changes::Findable;
use tidings_domain::found::{self, Finding};
use tidings_domain::values::NewsUrl;
use tidings_domain::{Error, rates};
use tidings_search::asker::Asker;
use tidings_search::asking::{Found, Hit, Question, Sort};
use tidings_search::index::{Index, IndexError, Kind, View};
use tidings_search::language::{Search, TooLong, What};
use tidings_search::offering::Instead;
use tidings_text::words::asked;
use tokio::sync::{Semaphore, oneshot};

/// The parts of a whole in [`Searching::made`].
const WHOLE: u64 = 10_000;

/// The search of this server.
pub struct Searching {
    /// The index that is kept up with the store.
    pub index: Index,
    /// The index that answers until that one is complete.
    previous: Mutex<Option<Arc<View>>>,
    /// Whether the index has everything that was there when it was made.
    has_all: AtomicBool,
    /// How much of the index is made, in parts of [`WHOLE`].
    made: AtomicU64,
    /// Whether an operator wants a new index.
    is_rebuild_wanted: AtomicBool,
    /// Whether its files are damaged.
    is_damaged: AtomicBool,
    /// Whether a search has panicked, as damaged files can make it.
    is_suspected: AtomicBool,
    /// When it last had everything.
    caught_up: Mutex<Instant>,
    threads: ThreadPool,
    /// How long a search may take.
    patience: Duration,
    /// Searches that run or wait.
    places: Arc<Semaphore>,
}

/// Where the search of this server is, while it is open.
#[derive(Default)]
pub struct SearchPlace {
    open: RwLock<Option<Arc<Searching>>>,
    /// Whether the index was damaged, and is not open again.
    is_made_anew: AtomicBool,
}

impl SearchPlace {
    /// The search, if it is open.
    pub fn get(&self) -> Option<Arc<Searching>> {
        self.open.read().clone()
    }

    /// Opens the search for everybody.
    pub(super) fn set(&self, searching: Arc<Searching>) {
        *self.open.write() = Some(searching);
        self.is_made_anew.store(false, Ordering::Relaxed);
    }

    /// Takes the search away, because its index is made anew.
    pub(super) fn close(&self) {
        self.is_made_anew.store(true, Ordering::Relaxed);
        *self.open.write() = None;
    }
}

/// How the search of a server is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchState {
    /// The documents in the index.
    pub documents: u64,
    /// The size of the index.
    pub bytes: u64,
    /// How much of an index is made, from 0 to 1; `None` when none is being made.
    pub made: Option<f64>,
    /// How long ago the index had everything.
    pub behind_seconds: u64,
}

impl App {
    /// The search of this server.
    ///
    /// # Errors
    /// [`RequestError::SearchUnavailable`] while its index cannot be used, and
    /// [`RequestError::SearchIndexDamaged`] while a damaged one is made anew.
    pub fn searching(&self) -> Result<Arc<Searching>> {
        self.search.get().ok_or_else(|| match self.search.is_made_anew.load(Ordering::Relaxed) {
            true => RequestError::SearchIndexDamaged,
            false => RequestError::SearchUnavailable,
        })
    }
}

impl Searching {
    /// Opens the index.
    ///
    /// # Errors
    /// When its folder cannot be used.
    pub fn open(settings: &SearchSettings) -> Result<Arc<Self>, IndexError> {
        let index = Index::open(settings.folder.as_deref(), settings.language)?;
        let is_complete = index.progress()?.is_complete;
        let previous = if is_complete { None } else { index.previous().map(Arc::new) };
        if is_complete {
            index.remove_others();
        }
        let has_all = is_complete || previous.is_some();
        Ok(Arc::new(Self {
            index,
            previous: Mutex::new(previous),
            has_all: AtomicBool::new(has_all),
            made: AtomicU64::new(if is_complete { WHOLE } else { 0 }),
            is_rebuild_wanted: AtomicBool::new(false),
            is_damaged: AtomicBool::new(false),
            is_suspected: AtomicBool::new(false),
            caught_up: Mutex::new(Instant::now()),
            threads: pool(settings.threads)?,
            patience: settings.patience,
            places: Arc::new(Semaphore::new(settings.threads + SEARCH_QUEUE)),
        }))
    }

    /// The index that answers.
    pub fn answering(&self) -> Arc<View> {
        let previous = self.previous.lock();
        previous.as_ref().unwrap_or(&self.index.view).clone()
    }

    /// How the search is.
    pub fn state(&self) -> SearchState {
        SearchState {
            documents: self.index.view.documents(),
            bytes: self.index.view.bytes(),
            made: self.made(),
            behind_seconds: self.caught_up.lock().elapsed().as_secs(),
        }
    }

    /// How much of the first index is made, from 0 to 1; `None` once there is a complete one.
    pub fn preparing(&self) -> Option<f64> {
        if self.has_all.load(Ordering::Relaxed) { None } else { Some(self.made().unwrap_or(1.0)) }
    }

    #[allow(clippy::cast_precision_loss)]
    fn made(&self) -> Option<f64> {
        let made = self.made.load(Ordering::Relaxed);
        (made < WHOLE).then(|| made as f64 / WHOLE as f64)
    }

    /// Notes how much of an index is made.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub(super) fn is_made(&self, part: f64) {
        self.made.store(((part * WHOLE as f64) as u64).min(WHOLE - 1), Ordering::Relaxed);
    }

    /// Notes that the index has everything.
    pub(super) fn is_complete(&self) {
        *self.previous.lock() = None;
        self.index.remove_others();
        self.has_all.store(true, Ordering::Relaxed);
        self.made.store(WHOLE, Ordering::Relaxed);
        self.is_rebuild_wanted.store(false, Ordering::Relaxed);
    }

    /// Asks for a new index.
    pub fn rebuild(&self) {
        self.is_made(0.0);
        self.is_rebuild_wanted.store(true, Ordering::Relaxed);
    }

    pub(super) fn wants_rebuild(&self) -> bool {
        self.is_rebuild_wanted.load(Ordering::Relaxed)
    }

    /// Notes an error of the index. If its files are damaged, the follower makes it anew. Returns whether they are.
    pub(super) fn note_failure(&self, error: &IndexError) -> bool {
        let is_damage = error.is_damage();
        if is_damage && !self.is_damaged.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "the search index is damaged; it is made anew");
            metrics::counter!("tidings_search_rebuilds_total").increment(1);
        }
        is_damage
    }

    /// Whether the files of the index are damaged. After a search has panicked, their checksums say so.
    pub(super) fn is_damaged(&self) -> bool {
        if self.is_suspected.swap(false, Ordering::Relaxed)
            && let Err(error) = self.index.check_files()
        {
            self.note_failure(&error);
        }
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Notes that the index has all changes.
    pub(super) fn has_caught_up(&self) {
        *self.caught_up.lock() = Instant::now();
    }

    /// Runs a search on a thread of the pool, when one is free. It gets the time at which it must end.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&View, Instant) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| RequestError::TooManySearches)?;
        let (answer, answered) = oneshot::channel();
        let searching = self.clone();
        self.threads.spawn(move || {
            let _place = place;
            // The client may have gone.
            if answer.is_closed() {
                return;
            }
            answer.send(work(&searching.answering(), Instant::now() + searching.patience)).ok();
        });
        // A search that panics drops its end.
        let answer = answered.await.map_err(|_| {
            self.is_suspected.store(true, Ordering::Relaxed);
            RequestError::Panic
        })?;
        answer.map_err(|error| {
            if self.note_failure(&error) {
                return RequestError::SearchIndexDamaged;
            }
            tracing::error!(%error, "search failed");
            RequestError::SearchUnavailable
        })
    }
}

/// The threads that search.
fn pool(threads: usize) -> Result<ThreadPool, IndexError> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("search-{number}"))
        .panic_handler(|_| tracing::error!("a search has panicked"));
    pool.build().map_err(|error| IndexError::Threads(error.to_string()))
}

/// A search, and where it is from.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The search as it was typed.
    pub typed: String,
    /// The only kind to find; `None` for all.
    pub kind: Option<Kind>,
    /// The order.
    pub sort: Sort,
    /// The page, from 1.
    pub page: usize,
    /// The address of the client.
    pub from: IpAddr,
}

/// The results.
#[derive(Default)]
pub struct Results {
    /// How the search was understood.
    pub search: Search,
    /// The results of the page that the viewer may see.
    pub found: Vec<(Hit, Finding)>,
    /// How many there are.
    pub total: u64,
    /// Whether that is exact.
    pub is_exact: bool,
    /// Whether time ran out.
    pub is_cut: bool,
    /// How many there are of each kind; empty unless nothing was found.
    pub kinds: Vec<(Kind, u64)>,
    /// Words that were perhaps meant; empty unless nothing was found.
    pub suggestions: Vec<String>,
    /// Results that have some of the words; empty unless nothing has all of them.
    pub partial: Vec<(Hit, Finding)>,
}

/// Why there are no results.
pub enum NoResults {
    /// Too much was typed.
    TooLong(TooLong),
    /// Anything else.
    Failed(RequestError),
}

impl<E: Into<RequestError>> From<E> for NoResults {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The last total that is exact.
pub const MOST_EXACT: u64 = 1_000;
/// The most results that have only some of the words.
const PARTIAL: usize = 10;
/// How searches end, as the metric says it.
pub const SEARCH_OUTCOMES: [&str; 4] = ["found", "nothing", "refused", "failed"];

/// A search that nobody typed.
#[derive(Debug, Clone)]
pub struct Given {
    /// The search.
    pub search: Search,
    /// The only kind to find; `None` for all.
    pub kind: Option<Kind>,
    /// The order.
    pub sort: Sort,
    /// How many results to skip, and how many to find.
    pub page: (usize, usize),
    /// The address of the client.
    pub from: IpAddr,
}

/// Finds for a visitor without a session, and counts and times the search. Results may be gone meanwhile.
/// Rounds: at most 1.
///
/// # Errors
/// When the index or the store fails, or the client searches too often.
pub async fn find_given(app: &App, visit: &mut Visit, given: Given) -> Result<Found> {
    let Given { search, kind, sort, page, from } = given;
    let finding = async {
        let searching = app.searching()?;
        let job = Job::begin(app, visit, (search, sort), from).await?;
        searching.run(move |index, until| index.find(&job.question(kind, page, until))).await
    };
    measured(finding, |found| found.total, |_| false).await
}

/// Finds for a viewer, and counts and times the search. Rounds: at most 5, and 2 for each kind of result.
///
/// # Errors
/// When too much was typed, or the index or the store fails.
pub async fn find(app: &App, visit: &mut Visit, asked: &Asked) -> Result<Results, NoResults> {
    let is_refusal = |error: &NoResults| matches!(error, NoResults::TooLong(_));
    measured(look_up(app, visit, asked), |results| results.total, is_refusal).await
}

/// Counts and times a search.
async fn measured<T, E>(
    finding: impl Future<Output = Result<T, E>>,
    total: fn(&T) -> u64,
    is_refusal: fn(&E) -> bool,
) -> Result<T, E> {
    let began = Instant::now();
    let outcome = finding.await;
    let [found, nothing, refused, failed] = SEARCH_OUTCOMES;
    let result = match &outcome {
        Ok(results) if total(results) > 0 => found,
        Ok(_) => nothing,
        Err(error) if is_refusal(error) => refused,
        Err(_) => failed,
    };
    metrics::counter!("tidings_search_queries_total", "result" => result).increment(1);
    metrics::histogram!("tidings_search_seconds").record(began.elapsed());
    outcome
}

async fn look_up(app: &App, visit: &mut Visit, asked: &Asked) -> Result<Results, NoResults> {
    let searching = app.searching()?;
    visit.recognise().await?;
    let search = Search::parse(&asked.typed, now_of(visit)).map_err(NoResults::TooLong)?;
    if search.is_empty() {
        return Ok(Results { search, is_exact: true, ..Results::default() });
    }
    let job = Job::begin(app, visit, (search, asked.sort), asked.from).await?;
    let (skipped, wanted) = ((asked.page - 1) * SEARCH_RESULTS, SEARCH_RESULTS);
    let (page, kind, is_first) = ((skipped, wanted), asked.kind, asked.page == 1);
    let (search, found, instead) = searching
        .run(move |index, until| {
            let found = index.find(&job.question(kind, page, until))?;
            let is_nothing = found.total == 0 && is_first;
            let instead = is_nothing.then(|| index.instead(&job.question(kind, (0, PARTIAL), until)));
            let instead = instead.transpose()?.unwrap_or_default();
            Ok((job.search, found, instead))
        })
        .await?;
    let Instead { kinds, suggestions, partial } = instead;
    // A change of the last second leaves its row out here. The page is shorter then: filled from the next one, it would
    // have rows that are there too.
    let hits = found.hits.len();
    let results = seen(visit, found.hits).await?;
    let missing = (hits - results.len()) as u64;
    let total = found.total.saturating_sub(missing);
    Ok(Results {
        search,
        found: results,
        total,
        is_exact: missing == 0 && total <= MOST_EXACT && !found.is_cut,
        is_cut: found.is_cut,
        kinds,
        suggestions,
        partial: seen(visit, partial).await?,
    })
}

/// Those of the results that the viewer may see now, in their order. Rounds: at most 2 for each kind.
pub(super) async fn seen(visit: &mut Visit, hits: Vec<Hit>) -> Result<Vec<(Hit, Finding)>> {
    let things: Vec<Findable> = hits.iter().filter_map(|hit| hit.id.parse().ok()).collect();
    let mut seen = found::read(visit, &things).await?;
    let finding = |hit: Hit| {
        let finding = seen.remove(&hit.id.parse::<Findable>().ok()?)?;
        Some((hit, finding))
    };
    Ok(hits.into_iter().filter_map(finding).collect())
}

fn now_of(visit: &Visit) -> i64 {
    i64::try_from(visit.now().0).unwrap_or(i64::MAX)
}

/// Facts about the viewer and the names in a search.
#[derive(Debug, Default)]
struct ForViewer {
    authors: HashMap<String, u64>,
    urls: HashMap<String, String>,
    asker: Asker,
}

impl ForViewer {
    /// Rounds: at most 3.
    async fn read(visit: &mut Visit, search: &Search) -> Result<Self> {
        let mut for_viewer = Self::default();
        let mut names = Vec::new();
        for term in search.terms() {
            match &term.what {
                What::By(name) => names.push(name.clone()),
                What::Url(url) => {
                    if let Ok(parsed) = NewsUrl::parse_imported(url) {
                        for_viewer.urls.insert(url.clone(), parsed.normalised());
                    }
                }
                _ => {}
            }
        }
        if !names.is_empty() {
            let ids = people::ids_of(visit, &names).await?;
            for_viewer.authors = ids.into_iter().map(|(name, id)| (name, id.0)).collect();
        }
        let mut with_mutes = None;
        let shows_hidden = visit.shows_hidden();
        if let Some(reader) = visit.reader().await? {
            with_mutes = (reader.has_muted_sites() || !reader.words().is_empty()).then_some(reader.id);
            for_viewer.asker = Asker {
                sees_hidden: reader.is_moderator || reader.shows_flagged || shows_hidden,
                id: Some(reader.id.0),
                authors: reader.avoided().map(|id| id.0).collect(),
                stories: reader.hidden().map(|id| id.0).collect(),
                topics: reader.muted_topics.iter().map(|topic| topic.as_str().to_owned()).collect(),
                ..Asker::default()
            };
        }
        if let Some(id) = with_mutes {
            let (hosts, words) = mutes::muted_sites_and_words(visit, id).await?;
            for_viewer.asker.hosts = hosts;
            for_viewer.asker.phrases = words.iter().map(|phrase| asked(phrase)).collect();
        }
        Ok(for_viewer)
    }
}

/// A search on its way to a thread.
pub(super) struct Job {
    search: Search,
    for_viewer: Arc<ForViewer>,
    sort: Sort,
    pub(super) now: i64,
}

impl Job {
    /// Begins a search of a viewer from an address, which may not search too often. Rounds: at most 3, besides those of
    /// the session.
    pub(super) async fn begin(
        app: &App,
        visit: &mut Visit,
        (search, sort): (Search, Sort),
        from: IpAddr,
    ) -> Result<Self> {
        visit.recognise().await?;
        rates::spend_search(&app.site, app.moment(), visit.viewer_id(), from).map_err(Error::from)?;
        let for_viewer = Arc::new(ForViewer::read(visit, &search).await?);
        Ok(Self { search, for_viewer, sort, now: now_of(visit) })
    }

    /// Another search for the same viewer.
    pub(super) fn with(&self, search: Search) -> Self {
        Self { search, for_viewer: self.for_viewer.clone(), ..*self }
    }

    pub(super) fn question(&self, kind: Option<Kind>, page: (usize, usize), until: Instant) -> Question<'_> {
        Question {
            search: &self.search,
            kind,
            sort: self.sort,
            page,
            now: self.now,
            until,
            authors: &self.for_viewer.authors,
            urls: &self.for_viewer.urls,
            asker: &self.for_viewer.asker,
        }
    }
}
