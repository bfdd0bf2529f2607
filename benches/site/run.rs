//! One engine from the filling of its store to the last figure.

use super::bare::Bare;
use super::load::fetch;
use super::options::{Engine, Options};
use super::requests::{Request, write_list};
use super::rounds;
use super::rows::{MIX, Row, rows};
use super::server::{Memory, Server};
use super::store::Filled;
use super::votes::{self, Votes};
use super::wrk::{self, Load, Measured, median, medians};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// How often a server is started, to see how long that takes.
const STARTS: usize = 3;

/// How long pages are measured.
struct Pace {
    warm_up: Option<Duration>,
    run: Duration,
    runs: usize,
}

const PACE: Pace = Pace { warm_up: Some(Duration::from_secs(2)), run: Duration::from_secs(3), runs: 3 };
const QUICK: Pace = Pace { warm_up: None, run: Duration::from_secs(1), runs: 1 };

/// What was measured of a page.
pub struct PageFigures {
    pub name: &'static str,
    pub site: Measured,
    pub bare: Measured,
    pub rounds: u64,
    pub required: Option<f64>,
}

/// What was measured of an engine.
pub struct Figures {
    pub engine: Engine,
    pub filling: Option<Duration>,
    pub start: Duration,
    pub pages: Vec<PageFigures>,
    /// Memory of the server, and after what.
    pub memory: Vec<(&'static str, Memory)>,
    pub votes: Option<Votes>,
}

/// Measures an engine.
pub async fn measure(engine: Engine, options: &Options) -> Figures {
    let filled = Filled::new(engine, options, 1).await;
    let rows: Vec<Row> =
        rows(&filled.plan).into_iter().filter(|row| row.name.contains(&options.rows)).collect();
    let first: Vec<&Request> = rows.iter().map(|row| &row.requests[0]).collect();
    let rounds = rounds::count(&filled.url, &first).await;

    let log = filled.folder.join("server.log");
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(Server::start(&filled.url, &log).await.start);
    }
    let server = Server::start(&filled.url, &log).await;
    let mut memory = vec![("after the start", server.memory())];
    let pace = if options.quick { &QUICK } else { &PACE };
    let mut pages = Vec::new();
    for (row, rounds) in rows.iter().zip(rounds) {
        if row.name == MIX {
            memory.push(("after the pages", server.memory()));
        }
        eprintln!("{}: {}", engine.name(), row.name);
        let (site, bare) = measure_row(&server, row, pace, &filled.folder).await;
        pages.push(PageFigures { name: row.name, site, bare, rounds, required: row.required });
    }
    memory.push(("after all rows", server.memory()));
    let votes = match "votes".contains(&options.rows) {
        true => Some(votes::measure(&filled, &server, options.quick).await),
        false => None,
    };
    let start = median(starts.into_iter());
    Figures { engine, filling: filled.filling, start, pages, memory, votes }
}

/// Measures a page and the bare route in turn.
async fn measure_row(server: &Server, row: &Row, pace: &Pace, folder: &Path) -> (Measured, Measured) {
    let list = folder.join("requests.txt");
    write_list(&list, &row.requests);
    let bare = Bare::serve(samples(server.address, row).await).await;
    let load = |first, duration| Load {
        list: &list,
        first,
        threads: 2,
        connections: 16,
        duration,
        checks_answers: false,
    };
    let one = async |address, first, duration| -> Measured {
        match wrk::run(address, load(first, duration)).await {
            Ok(measured) => measured,
            Err(error) => panic!("{}: {error}", row.name),
        }
    };
    // The mix goes on where it was: nobody votes twice.
    let mut first = 0;
    if let Some(warm_up) = pace.warm_up {
        first += one(server.address, first, warm_up).await.requests;
        one(bare.address, first, warm_up).await;
    }
    let (mut site_runs, mut bare_runs) = (Vec::new(), Vec::new());
    for _ in 0..pace.runs {
        let run = one(server.address, first, pace.run).await;
        bare_runs.push(one(bare.address, first, pace.run).await);
        first += run.requests;
        site_runs.push(run);
    }
    (medians(&site_runs), medians(&bare_runs))
}

/// Answers to some of the requests of a row. They must be what they ought to be.
async fn samples(address: SocketAddr, row: &Row) -> Vec<(&Request, super::load::Sample)> {
    let mut samples = Vec::new();
    for request in row.requests.iter().take(row.samples) {
        let sample = fetch(address, &request.text()).await;
        if request.form.is_some() {
            let body = String::from_utf8_lossy(&sample.body);
            let is_ok = body.contains(r#""status":"ok""#) || body.contains("already voted");
            assert!(is_ok, "{} was refused: {body}", request.path);
        }
        samples.push((request, sample));
    }
    samples
}
