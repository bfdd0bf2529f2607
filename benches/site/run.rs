//! Measures one engine, from filling its store to the last figure.

use super::bare::Bare;
use super::elsewhere::{self, Elsewhere};
use super::options::{Engine, Options};
use super::requests::{Request, write_list};
use super::rounds;
use super::rows::{MIX, Row, rows};
use super::server::{self, Memory, Server};
use super::store::Filled;
use super::votes::{self, Votes};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tidings_testing::load::fetch;
use tidings_testing::program::processor_time;
use tidings_testing::wrk::{self, Load, Measured, median, medians};

/// Starts of a server, to measure the time of a start.
const STARTS: usize = 3;

/// Responses of a row that are checked before it is measured, because `wrk` only counts
/// errors.
const CHECKED: usize = 500;
/// Votes of the mix that are checked after it.
const CHECKED_VOTES: usize = 100;
/// The API's message for a repeated vote.
const VOTED_ALREADY: &str = "You have already voted on this.";

/// The times of a measurement.
pub struct Pace {
    pub warm_up: Option<Duration>,
    pub run: Duration,
    pub runs: usize,
}

const PACE: Pace = Pace { warm_up: Some(Duration::from_secs(2)), run: Duration::from_secs(3), runs: 3 };
const QUICK: Pace = Pace { warm_up: None, run: Duration::from_secs(1), runs: 1 };

impl Pace {
    pub const fn of(options: &Options) -> &'static Self {
        if options.quick { &QUICK } else { &PACE }
    }
}

/// Loads a server with 16 connections, from a position in a list of requests.
pub async fn load(address: SocketAddr, list: &Path, first: u64, duration: Duration) -> Measured {
    measured(address, Load { list, first, threads: 2, connections: 16, duration, checks_answers: false })
        .await
}

/// What `wrk` measures. Panics if an answer was not as it must be.
pub async fn measured(address: SocketAddr, load: Load<'_>) -> Measured {
    wrk::run(address, load).await.unwrap_or_else(|error| panic!("{}: {error}", load.list.display()))
}

/// The measurements of a page.
pub struct PageFigures {
    pub name: &'static str,
    pub site: Measured,
    pub bare: Measured,
    /// The ratio of each run of the site to the next bare run.
    pub ratios: Vec<f64>,
    pub rounds: u64,
    pub required: Option<f64>,
    /// The mean size of the responses.
    pub bytes: usize,
    /// The processor time of the program for one response, in microseconds: the median of the runs.
    pub site_time: f64,
    /// The same of the bare route.
    pub bare_time: f64,
    /// The most of the former, as a multiple of the latter.
    pub most: Option<f64>,
}

/// A run, and the processor time of the server for one response, in microseconds.
pub struct Timed {
    measured: Measured,
    pub time: f64,
}

impl Timed {
    /// Loads the program.
    pub async fn of(server: &Server, list: &Path, duration: Duration) -> Self {
        Self::load(server.id(), server.address, list, 0, duration).await
    }

    /// Loads the server that a process is.
    async fn load(process: u32, address: SocketAddr, list: &Path, first: u64, duration: Duration) -> Self {
        let before = processor_time(process);
        let measured = load(address, list, first, duration).await;
        let took = processor_time(process).saturating_sub(before);
        Self { measured, time: took.as_secs_f64() * 1e6 / measured.requests as f64 }
    }
}

impl PageFigures {
    /// The site's figure over that of the bare route.
    pub fn ratio(&self) -> f64 {
        self.site.per_second / self.bare.per_second
    }

    /// The range of the ratios of the runs. A requirement within it is neither clearly met nor
    /// clearly missed.
    pub fn spread(&self) -> String {
        let least = self.ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.ratios.iter().copied().fold(0.0, f64::max);
        format!("{least:.2}-{most:.2}")
    }
}

/// The measurements of an engine.
pub struct Figures {
    pub start: Duration,
    pub pages: Vec<PageFigures>,
    /// Memory of the server, and when it was measured.
    pub memory: Vec<(&'static str, Memory)>,
    pub votes: Option<Votes>,
    /// A long thread beside votes on other stories.
    pub elsewhere: Option<Elsewhere>,
}

/// Measures pages and votes on an engine; `None` if none of them is selected.
pub async fn measure(engine: Engine, filled: &Filled, options: &Options) -> Option<Figures> {
    let rows: Vec<Row> =
        rows(&filled.plan).into_iter().filter(|row| row.name.contains(&options.rows)).collect();
    let with_votes = "votes".contains(&options.rows);
    if rows.is_empty() && !with_votes {
        return None;
    }
    let first: Vec<&Request> = rows.iter().map(|row| &row.requests[0]).collect();
    let rounds = rounds::count(&filled.url, &first).await;
    let log = filled.folder.join("server.log");
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(server::start(&filled.url, &log).await.start);
    }
    let server = server::start(&filled.url, &log).await;
    let mut memory = vec![("after the start", server.memory())];
    let pace = Pace::of(options);
    let mut pages = Vec::new();
    for (row, rounds) in rows.iter().zip(rounds) {
        if row.name == MIX {
            memory.push(("after the pages", server.memory()));
        }
        eprintln!("{}: {}", engine.name(), row.name);
        pages.push(measure_row(&server, row, rounds, pace, filled).await);
    }
    memory.push(("after all rows", server.memory()));
    let votes = match with_votes {
        true => Some(votes::measure(filled, &server, options.quick).await),
        false => None,
    };
    let elsewhere = match with_votes {
        true => Some(elsewhere::measure(filled, &server, options.quick).await),
        false => None,
    };
    Some(Figures { start: median(starts.into_iter()), pages, memory, votes, elsewhere })
}

/// Measures a page and the bare route alternately.
async fn measure_row(server: &Server, row: &Row, rounds: u64, pace: &Pace, filled: &Filled) -> PageFigures {
    let list = filled.folder.join("requests.txt");
    write_list(&list, &row.requests);
    let samples = samples(server.address, row).await;
    let bytes = samples.iter().map(|(_, sample)| sample.body.len()).sum::<usize>() / samples.len();
    let bare = Bare::serve(samples).await;
    // The mix continues at its last position, so that no vote is repeated.
    let mut first = 0;
    let mut first_run = None;
    if let Some(warm_up) = pace.warm_up {
        filled.read_through();
        let run = load(server.address, &list, first, warm_up).await;
        load(bare.address, &list, first, warm_up).await;
        first += run.requests;
        first_run = Some(run);
    }
    let (mut site_runs, mut bare_runs) = (Vec::new(), Vec::new());
    for _ in 0..pace.runs {
        filled.read_through();
        let run = Timed::load(server.id(), server.address, &list, first, pace.run).await;
        // The load is made by another program.
        bare_runs.push(Timed::load(std::process::id(), bare.address, &list, first, pace.run).await);
        first += run.measured.requests;
        first_run.get_or_insert(run.measured);
        site_runs.push(run);
    }
    if let Some(run) = first_run {
        check_votes(server.address, &row.requests, run.requests).await;
    }
    let measured = |runs: &[Timed]| medians(&runs.iter().map(|run| run.measured).collect::<Vec<_>>());
    let time = |runs: &[Timed]| median(runs.iter().map(|run| run.time));
    let per_second = |run: &Timed| run.measured.per_second;
    let pairs = site_runs.iter().zip(&bare_runs);
    PageFigures {
        name: row.name,
        site: measured(&site_runs),
        bare: measured(&bare_runs),
        ratios: pairs.map(|(site, bare)| per_second(site) / per_second(bare)).collect(),
        rounds,
        required: row.required,
        bytes,
        site_time: time(&site_runs),
        bare_time: time(&bare_runs),
        most: row.most,
    }
}

/// Checks that the site has executed the requests of `wrk`, whose responses are not read:
/// voting again on the same story must be refused.
///
/// `sent` is the number of requests in the first run of a list. Each thread of `wrk` sends
/// every second one, and one thread may be slower, so only the first half is certain to be
/// sent. Later runs start at the total of the earlier ones, which a slow thread has not
/// reached, so only the first run is checked. Requests that [`samples`] sent are left out.
pub async fn check_votes(address: SocketAddr, requests: &[Request], sent: u64) {
    let sent = usize::try_from(sent / 2).unwrap().min(requests.len());
    let votes = requests[..sent].iter().skip(CHECKED).filter(|request| request.path == "/api/votenews");
    for vote in votes.take(CHECKED_VOTES) {
        let sample = fetch(address, &vote.text()).await;
        let body = String::from_utf8_lossy(&sample.body);
        assert!(body.contains(VOTED_ALREADY), "a vote was not counted: {:?}: {body}", vote.form);
    }
}

/// The responses to some of the requests of a row, checked.
async fn samples(address: SocketAddr, row: &Row) -> Vec<(&Request, tidings_testing::load::Sample)> {
    let mut samples = Vec::new();
    for (number, request) in row.requests.iter().take(row.samples.max(CHECKED)).enumerate() {
        let sample = fetch(address, &request.text()).await;
        if request.form.is_some() {
            let body = String::from_utf8_lossy(&sample.body);
            let is_ok = body.contains(r#""status":"ok""#) || body.contains(VOTED_ALREADY);
            assert!(is_ok, "{} was refused: {body}", request.path);
        }
        if number < row.samples {
            samples.push((request, sample));
        }
    }
    samples
}
