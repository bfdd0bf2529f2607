//! The calls of browser extensions that the bench of the whole site does not
//! make: scores of one host, the lookup by prefix, histories, and votes, on each
//! engine, next to a bare axum route that returns the same bytes with the same
//! headers, in the same run.
//!
//! `cargo bench --bench sites` runs it. The load comes from this process over
//! loopback, so both cores are shared with it. Needs `redis-server`.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tidings::config::Config;
use tidings_domain::Site;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::sites::{self, Listed, SiteVote, StartingVoters, Verdict};
use tidings_domain::values::{Hostname, Timestamp, VoterId};
use tidings_keyspace::{EngineClock, Store, StoreOptions};
use tidings_testing::load::{Connection, fetch, load, serve_bare};
use tidings_testing::redis_server::RedisServer;
use tidings_testing::server::without_rates;
use tidings_web::App;
use tokio::net::TcpListener;

/// Connections that ask.
const CONNECTIONS: usize = 16;
/// Connections, each of another voter, that vote.
const VOTERS: u8 = 64;
/// Votes of each voter.
const VOTES: u64 = 50;
/// Sites with votes.
const SITES: u64 = 2_000;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = format!("redb:{}", folder.path().join("bench.redb").display());
    measure_engine("redb", &embedded).await;
    let server = RedisServer::start();
    measure_engine("redis", &server.url()).await;
}

fn host(number: u64) -> String {
    format!("www.example{number}.com")
}

async fn measure_engine(engine: &str, url: &str) {
    let store = Store::open(url, &StoreOptions::default()).await.unwrap();
    let config = config();
    let site = Arc::new(Site::new(store.clone(), config.rules.clone(), PasswordWorker::default()));
    fill(&site).await;
    let app = App::new(site, config.web_settings(), None, EngineClock::System);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(tidings_web::serve(app, listener, std::future::pending()));

    println!(
        "\n{engine:<28} {:>10} {:>10} {:>7} {:>9} {:>9} {:>7}",
        "per second", "bare", "ratio", "p50", "p99", "rounds"
    );
    let hash = Hostname::parse(&host(1)).unwrap().hash();
    for (what, path) in [
        ("/scores of 1", format!("/scores?for={}", host(1))),
        ("lookup by prefix", format!("/api/sites/prefix/{}", hash.shelf())),
        ("history of 30 days", format!("/api/sites/history/{}", host(1))),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let before = store.rounds();
        let sample = fetch(address, &request).await;
        let rounds = store.rounds() - before;
        let site = load(address, &request, CONNECTIONS).await;
        let bare = load(serve_bare(sample).await, &request, CONNECTIONS).await;
        println!(
            "{what:<28} {:>10.0} {:>10.0} {:>7.2} {:>9.2?} {:>9.2?} {rounds:>7}",
            site.per_second,
            bare.per_second,
            site.per_second / bare.per_second,
            site.p50,
            site.p99
        );
    }
    let seconds = vote(address).await;
    let votes = u64::from(VOTERS) * VOTES;
    println!("{:<28} {:>10.0}   ({votes} votes from {VOTERS} connections)", "votes", votes as f64 / seconds);
    store.close().await;
}

/// Settings that do not limit the load.
fn config() -> Config {
    let free = ["NEW_VOTERS_PER_DAY", "SITE_VOTES_PER_NETWORK", "SITE_SCORE_NETWORKS"]
        .map(|limit| (format!("TIDINGS_LIMITS__{limit}"), "0".to_owned()));
    let search_off = ("TIDINGS_SEARCH__ENABLED".to_owned(), "false".to_owned());
    let settings = free.into_iter().chain([search_off]).chain(without_rates());
    Config::from_variables(settings).unwrap()
}

/// Sites with votes of the last days.
async fn fill(site: &Arc<Site>) {
    let now = Timestamp::now(&EngineClock::System);
    let list: Vec<Listed> = (0..SITES)
        .map(|number| {
            let votes = i64::try_from(number % 40).unwrap() - 12;
            Listed::of(Hostname::parse(&host(number)).unwrap(), votes)
        })
        .collect();
    let voters = StartingVoters::prepare(site, now, &list).await.unwrap();
    for (number, listed) in (0..).zip(&list) {
        voters.import(site, Timestamp(now.0 - number % 30 * 86_400), listed).await.unwrap();
    }
    // Voters who are known, and may vote as often as the bench wants.
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    for number in 0..VOTERS {
        let host = Hostname::parse(&host(u64::from(number))).unwrap();
        let ballot = SiteVote { host, verdict: Some(Verdict::Good) };
        sites::vote(site, now, address, voter(number), &ballot).await.unwrap();
    }
}

fn voter(number: u8) -> VoterId {
    VoterId::from_bytes([number; 16])
}

/// Every voter changes the votes on a few sites over and over. Returns the seconds.
async fn vote(address: SocketAddr) -> f64 {
    let began = Instant::now();
    let tasks: Vec<_> = (0..VOTERS)
        .map(|number| {
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await;
                for round in 0..VOTES {
                    let vote = if round / 8 % 2 == 0 { 1 } else { -1 };
                    let link = host(round % 8);
                    let body = format!(r#"{{"link":"{link}","vote":{vote},"user_id":"{}"}}"#, voter(number));
                    let request = format!(
                        "POST /vote HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    let head = connection.exchange(&request).await;
                    assert!(head.starts_with("HTTP/1.1 204"), "a vote was refused: {head}");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    began.elapsed().as_secs_f64()
}
