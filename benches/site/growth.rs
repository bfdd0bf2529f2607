//! The same pages with ten times the data: how much slower they are.
//!
//! One connection asks, and never twice for the same, so that what is kept of
//! earlier answers hides nothing.

use super::dataset::{self, Plan, Random, people};
use super::load::Connection;
use super::options::{Engine, Options};
use super::requests::{Request, write_list};
use super::server::Server;
use super::store::Filled;
use super::wrk::{self, Load, median};
use std::time::{Duration, Instant};

/// Different requests of a row.
const DIFFERENT: u64 = 750;
/// So many parts of them are asked for in turn on both sites; the first part
/// only wakes them.
const PARTS: usize = 4;
/// Threads of one size, so that only the rest of the site is larger.
const COMMENTS: std::ops::Range<u64> = 20..40;
/// How long many connections ask.
const RUN: Duration = Duration::from_secs(2);

/// A page on both sites.
pub struct Growth {
    pub name: &'static str,
    /// The time of half of the answers, to one connection.
    pub small: Duration,
    pub large: Duration,
    /// Answers a second, to many connections.
    pub small_per_second: f64,
    pub large_per_second: f64,
}

impl Growth {
    /// How many times as long it takes on the larger site.
    pub fn factor(&self) -> f64 {
        self.large.as_secs_f64() / self.small.as_secs_f64()
    }
}

/// Pages that are different for everybody who asks. Users and hosts stand at
/// the same places among all on a site of any size: as busy, not the same.
fn rows(plan: &Plan) -> Vec<(&'static str, Vec<Request>)> {
    let among = |count: u64, number: u64| 1 + number * count / DIFFERENT;
    let users: Vec<u64> = (0..DIFFERENT).map(|number| among(plan.size.active_users(), number)).collect();
    let each = |request: &dyn Fn(u64) -> Request| (0..DIFFERENT).map(request).collect::<Vec<_>>();
    let by_users = |path: &str| users.iter().map(|user| Request::get(path).by(*user)).collect::<Vec<_>>();
    let threads = (1_u64..).zip(&plan.items).filter(|(_, item)| COMMENTS.contains(&item.comments));
    let threads: Vec<u64> = threads.map(|(id, _)| id).collect();
    let step = (threads.len() / usize::try_from(DIFFERENT).unwrap()).max(1);
    let threads = threads.into_iter().step_by(step);
    let hosts = |number: u64| {
        let mut random = Random::of("scores", number);
        let hosts: Vec<String> =
            (0..100).map(|_| dataset::host(random.skewed(plan.size.sites, 2.0))).collect();
        hosts.join(",")
    };
    vec![
        ("/ logged in", by_users("/")),
        ("/latest/:start", each(&|number| Request::get(format!("/latest/{}", number * 26)))),
        ("/best?page=", each(&|number| Request::get(format!("/best?page={}", number + 1)))),
        ("threads of 20 to 40", threads.map(|id| Request::get(format!("/news/{id}"))).collect()),
        ("thread of 500, logged in", by_users(&format!("/news/{}", plan.long_thread()))),
        ("/@name", users.iter().map(|user| Request::get(format!("/@{}", people::username(*user)))).collect()),
        (
            "/site/:host",
            each(&|number| {
                Request::get(format!("/site/{}", dataset::host(among(plan.size.hosts, number) - 1)))
            }),
        ),
        ("/home logged in", by_users("/home")),
        (
            "/api/getnews/latest/:start",
            each(&|number| Request::get(format!("/api/getnews/latest/{}/30", number * 26))),
        ),
        ("/scores of 100 hosts", each(&|number| Request::get(format!("/scores?for={}", hosts(number))))),
    ]
}

/// Measures an engine with and without so many times the data.
pub async fn measure(engine: Engine, small: &Filled, options: &Options, times: u64) -> Vec<Growth> {
    let large = Filled::new(engine, options, times).await;
    let small_server = Server::start(&small.url, &small.folder.join("server.log")).await;
    let large_server = Server::start(&large.url, &large.folder.join("large-server.log")).await;
    let mut measured = Vec::new();
    for ((name, small_requests), (_, large_requests)) in rows(&small.plan).into_iter().zip(rows(&large.plan))
    {
        let label = format!("{times}x {name}");
        if !label.contains(&options.rows) {
            continue;
        }
        eprintln!("{}: {label}", engine.name());
        let small = Side { server: &small_server, filled: small, requests: &small_requests };
        let large = Side { server: &large_server, filled: &large, requests: &large_requests };
        let [small_time, large_time] = times_alone([&small, &large]).await;
        measured.push(Growth {
            name,
            small: small_time,
            large: large_time,
            small_per_second: small.per_second().await,
            large_per_second: large.per_second().await,
        });
    }
    measured
}

/// A page on one of the two sites.
struct Side<'a> {
    server: &'a Server,
    filled: &'a Filled,
    requests: &'a [Request],
}

/// The median times of answers on both sites, asked in turn.
async fn times_alone(sides: [&Side<'_>; 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for part in 0..PARTS {
        for (side, times) in sides.into_iter().zip(&mut times) {
            let mut connection = Connection::open(side.server.address).await;
            for request in side.requests.iter().skip(part).step_by(PARTS) {
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

impl Side<'_> {
    /// Answers a second to many connections, which ask for the same again and again.
    async fn per_second(&self) -> f64 {
        let list = self.filled.folder.join("requests.txt");
        write_list(&list, self.requests);
        let load =
            Load { list: &list, first: 0, threads: 2, connections: 16, duration: RUN, checks_answers: false };
        match wrk::run(self.server.address, load).await {
            Ok(measured) => measured.per_second,
            Err(error) => panic!("{}: {error}", self.requests[0].path),
        }
    }
}
