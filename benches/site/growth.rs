//! The slowdown of the same pages with ten times the data.
//!
//! Measures the rows of the table under the same load, and first requests of pages one after
//! another.

use super::options::{Engine, Options};
use super::requests::{Request, write_list};
use super::rows::{self, MIX};
use super::run::{Pace, load};
use super::server;
use super::store::Filled;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tidings_testing::dataset::{self, Plan, people};
use tidings_testing::load::{Connection, fetch};
use tidings_testing::wrk::{Measured, median, medians};

/// Pages of each kind that are requested for the first time.
const DIFFERENT: u64 = 750;
/// Parts that are requested alternately on both sites. The first part is a warm-up.
const PARTS: usize = 4;
/// Threads of one size, so that only the rest of the site is larger.
const COMMENTS: std::ops::Range<u64> = 20..40;
/// Threads that are requested in turn under load.
const THREADS: usize = 300;
/// Pages of a list, each this many stories further: down to the middle of the smaller list,
/// equally deep in both.
const OF_A_LIST: u64 = DIFFERENT / 2;
const STEP: u64 = 26;
/// Responses of a row whose size is measured.
const WEIGHED: usize = 100;

/// The slowdown of a larger site.
#[derive(Default)]
pub struct Growth {
    pub pages: Vec<GrownPage>,
    pub first_views: Vec<GrownView>,
}

/// A page on both sites, under load.
pub struct GrownPage {
    pub name: &'static str,
    pub small: Measured,
    pub large: Measured,
    /// The size of a response of the larger site relative to the smaller.
    pub larger: f64,
}

impl GrownPage {
    /// The throughput of the smaller site relative to the larger.
    pub fn factor(&self) -> f64 {
        self.small.per_second / self.large.per_second
    }
}

/// Pages of a kind, each requested once: the median time.
pub struct GrownView {
    pub name: &'static str,
    pub small: Duration,
    pub large: Duration,
}

impl GrownView {
    /// The time on the larger site relative to the smaller.
    pub fn factor(&self) -> f64 {
        self.large.as_secs_f64() / self.small.as_secs_f64()
    }
}

/// The name of the row of [`threads`].
const SOME_THREADS: &str = "threads of 20 to 40, anonymous";

/// Threads of one size, spread over all.
fn threads(plan: &Plan, count: usize) -> Vec<Request> {
    let items = (1_u64..).zip(&plan.items).filter(|(_, item)| COMMENTS.contains(&item.comments));
    let ids: Vec<u64> = items.map(|(id, _)| id).collect();
    let step = (ids.len() / count).max(1);
    ids.into_iter().step_by(step).take(count).map(|id| Request::get(format!("/news/{id}"))).collect()
}

/// The rows that are measured under load: those of the table with a requirement, but threads
/// of one size in place of the mix.
fn loaded_rows(plan: &Plan) -> Vec<(&'static str, Vec<Request>)> {
    rows::rows(plan)
        .into_iter()
        .filter(|row| row.required.is_some() && row.name != MIX)
        .map(|row| (row.name, row.requests))
        .chain([(SOME_THREADS, threads(plan, THREADS))])
        .collect()
}

/// Different pages for each request. Users and hosts have the same relative positions on sites
/// of any size: equally busy, not the same.
fn first_views(plan: &Plan) -> Vec<(&'static str, Vec<Request>)> {
    let among = |count: u64, number: u64| 1 + number * count / DIFFERENT;
    let users: Vec<u64> = (0..DIFFERENT).map(|number| among(plan.size.active_users(), number)).collect();
    let each = |request: &dyn Fn(u64) -> Request| (0..DIFFERENT).map(request).collect::<Vec<_>>();
    let of_a_list = |request: &dyn Fn(u64) -> Request| (0..OF_A_LIST).map(request).collect::<Vec<_>>();
    let by_users = |path: &str| users.iter().map(|user| Request::get(path).by(*user)).collect::<Vec<_>>();
    vec![
        ("/ logged in", by_users("/")),
        ("/latest/:start", of_a_list(&|number| Request::get(format!("/latest/{}", number * STEP)))),
        ("/best?page=", of_a_list(&|number| Request::get(format!("/best?page={}", number + 1)))),
        (SOME_THREADS, threads(plan, usize::try_from(DIFFERENT).unwrap())),
        ("thread of 500, logged in", by_users(&format!("/news/{}", plan.long_thread()))),
        ("/@name", users.iter().map(|user| Request::get(format!("/@{}", people::username(*user)))).collect()),
        (
            "/site/:host",
            each(&|number| {
                Request::get(format!("/site/{}", dataset::site(among(plan.size.hosts, number) - 1)))
            }),
        ),
        ("/home logged in", by_users("/home")),
        (
            "/api/getnews/latest/:start",
            of_a_list(&|number| Request::get(format!("/api/getnews/latest/{}/30", number * STEP))),
        ),
        ("/scores of 100 hosts", each(&|number| rows::scores_request(plan, number))),
    ]
}

/// Measures an engine with and without the larger data.
pub async fn measure(engine: Engine, small: &Filled, options: &Options, times: u64) -> Growth {
    let large = Filled::new(engine, options, times).await;
    let small_server = server::start(&small.url, &small.folder.join("server.log")).await;
    let large_server = server::start(&large.url, &large.folder.join("large-server.log")).await;
    let small = Side { filled: small, address: small_server.address };
    let large = Side { filled: &large, address: large_server.address };
    let wanted = |name: &str| {
        let label = format!("{times}x {name}");
        let is_wanted = label.contains(&options.rows);
        if is_wanted {
            eprintln!("{}: {label}", engine.name());
        }
        is_wanted
    };
    let mut growth = Growth::default();
    // First requests come first, while the servers are new.
    for ((name, small_views), (_, large_views)) in
        first_views(&small.filled.plan).into_iter().zip(first_views(&large.filled.plan))
    {
        if wanted(&format!("first {name}")) {
            small.filled.read_through();
            large.filled.read_through();
            let [small, large] = times_alone([(&small, &small_views), (&large, &large_views)]).await;
            growth.first_views.push(GrownView { name, small, large });
        }
    }
    for ((name, small_requests), (_, large_requests)) in
        loaded_rows(&small.filled.plan).into_iter().zip(loaded_rows(&large.filled.plan))
    {
        if wanted(name) {
            let larger = bytes(&large, &large_requests).await / bytes(&small, &small_requests).await;
            let [small, large] =
                loaded([(&small, &small_requests), (&large, &large_requests)], options).await;
            growth.pages.push(GrownPage { name, small, large, larger });
        }
    }
    growth
}

/// One of the two sites.
struct Side<'a> {
    filled: &'a Filled,
    address: SocketAddr,
}

/// The average size of some of the responses, in bytes.
async fn bytes(side: &Side<'_>, requests: &[Request]) -> f64 {
    let asked = requests.len().min(WEIGHED);
    let mut bytes = 0;
    for request in &requests[..asked] {
        bytes += fetch(side.address, &request.text()).await.body.len();
    }
    bytes as f64 / asked as f64
}

/// The throughput of both sites under the load of the table, measured alternately.
async fn loaded(sides: [(&Side<'_>, &[Request]); 2], options: &Options) -> [Measured; 2] {
    let pace = Pace::of(options);
    let lists = [0, 1].map(|number| sides[number].0.filled.folder.join(format!("requests-{number}.txt")));
    for (list, (_, requests)) in lists.iter().zip(sides) {
        write_list(list, requests);
    }
    let mut runs = [Vec::new(), Vec::new()];
    for number in 0..=pace.runs {
        for ((list, (side, _)), runs) in lists.iter().zip(sides).zip(&mut runs) {
            side.filled.read_through();
            match (number, pace.warm_up) {
                (0, None) => {}
                (0, Some(warm_up)) => drop(load(side.address, list, 0, warm_up).await),
                _ => runs.push(load(side.address, list, 0, pace.run).await),
            }
        }
    }
    runs.map(|runs| medians(&runs))
}

/// The median response times of both sites on one connection, measured alternately.
async fn times_alone(sides: [(&Side<'_>, &[Request]); 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for part in 0..PARTS {
        for ((side, requests), times) in sides.into_iter().zip(&mut times) {
            let mut connection = Connection::open(side.address).await;
            for request in requests.iter().skip(part).step_by(PARTS) {
                let text = request.text();
                let began = Instant::now();
                connection.exchange(&text).await;
                if part > 0 {
                    times.push(began.elapsed());
                }
            }
        }
    }
    times.map(|times| median(times.into_iter()))
}
