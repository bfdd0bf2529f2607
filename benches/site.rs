//! The site under load: requests per second of the pages that matter and of
//! votes, on each engine, next to a bare axum route that returns the same bytes
//! with the same headers, measured in the same run.
//!
//! `cargo bench --bench site` runs it. The load comes from this process over
//! loopback, so both cores are shared with it. Needs `redis-server`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod load;
#[path = "../src/keyspace/redis_server.rs"]
mod redis_server;

use load::{Connection, fetch, load, serve_bare};
use redis_server::RedisServer;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tidings::config::{Config, Flags};
use tidings::domain::clock::{Moment, Timestamp};
use tidings::domain::ids::{CommentId, NewsId};
use tidings::domain::passwords::PasswordWorker;
use tidings::domain::sessions::Session;
use tidings::domain::site::Site;
use tidings::domain::submissions::{Submission, submit_news};
use tidings::domain::text::{Body, NewPassword, Username};
use tidings::domain::users::User;
use tidings::domain::visit::Visit;
use tidings::domain::{accounts, comments};
use tidings::keyspace::{EngineClock, Store, StoreOptions};
use tidings::web::{self, App};
use tokio::net::TcpListener;

/// Connections that load a page.
const PAGE_CONNECTIONS: usize = 16;
/// Connections, each of another user, that vote.
const VOTE_CONNECTIONS: usize = 64;
/// News items; each voter votes on all of them.
const NEWS: u64 = 200;
const COMMENTS: u64 = 500;
const DEPTH: u64 = 12;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = format!("redb:{}", folder.path().join("bench.redb").display());
    measure_engine("redb", &embedded).await;
    let server = RedisServer::start();
    measure_engine("redis", &server.url()).await;
}

async fn measure_engine(engine: &str, url: &str) {
    let store = Store::open(url, &StoreOptions::default()).await.unwrap();
    let config = config();
    let site = Arc::new(Site::new(store.clone(), config.rules.clone(), PasswordWorker::default()));
    let voters = fill(&site).await;
    let app = App {
        site,
        config: Arc::new(config),
        mailer: None,
        clock: EngineClock::System,
        live: Arc::default(),
    };
    let address = serve_site(app).await;

    println!(
        "\n{engine:<28} {:>10} {:>10} {:>7} {:>9} {:>9} {:>7}",
        "per second", "bare", "ratio", "p50", "p99", "rounds"
    );
    let session = format!("cookie: auth={}\r\n", voters[0].auth);
    for (what, path, cookie) in [
        ("/ anonymous", "/", ""),
        ("/ logged in", "/", session.as_str()),
        ("/latest/0 anonymous", "/latest/0", ""),
        ("thread of 500, anonymous", "/news/1", ""),
        ("thread of 500, logged in", "/news/1", session.as_str()),
        ("/api/getnews/top/0/30", "/api/getnews/top/0/30", ""),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\n{cookie}\r\n");
        let before = store.rounds();
        let sample = fetch(address, &request).await;
        let rounds = store.rounds() - before;
        let page = load(address, &request, PAGE_CONNECTIONS).await;
        let bare = load(serve_bare(sample).await, &request, PAGE_CONNECTIONS).await;
        println!(
            "{what:<28} {:>10.0} {:>10.0} {:>7.2} {:>9.2?} {:>9.2?} {rounds:>7}",
            page.per_second,
            bare.per_second,
            page.per_second / bare.per_second,
            page.p50,
            page.p99
        );
    }
    let (votes, seconds) = vote(address, &voters).await;
    println!(
        "{:<28} {:>10.0}   ({votes} votes from {VOTE_CONNECTIONS} connections)",
        "votes",
        votes as f64 / seconds
    );
    store.close().await;
}

/// Settings that do not limit the load.
fn config() -> Config {
    let free = ["ACCOUNT_CREATION_SECONDS", "SUBMISSION_SECONDS"]
        .map(|name| (format!("TIDINGS_LIMITS__{name}"), "0".to_owned()));
    let karma =
        ["UPVOTE_MINIMUM", "UPVOTE_COST"].map(|name| (format!("TIDINGS_KARMA__{name}"), "0".to_owned()));
    Config::load(None, free.into_iter().chain(karma), &Flags::default()).unwrap()
}

/// Users, news, and one long thread. Returns the voters.
async fn fill(site: &Arc<Site>) -> Vec<Session> {
    let now = Timestamp::now(&EngineClock::System);
    let password = NewPassword::parse("a long password").unwrap();
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut sessions = Vec::new();
    for number in 0..=VOTE_CONNECTIONS {
        let name = Username::parse(&format!("user{number}")).unwrap();
        sessions.push(accounts::create_account(site, now, &name, &password, address).await.unwrap());
    }
    let author = user(site, now, &sessions.pop().unwrap()).await;
    for number in 0..NEWS {
        let title = format!("A story about the number {number} and its friends");
        let url = format!("https://www.example{number}.com/stories/{number}.html");
        let submission = Submission::parse(&title, &url, "").unwrap();
        submit_news(site, Moment(now.0 * 1_000), &author, &submission).await.unwrap();
    }
    let body =
        Body::parse_comment(&"What a thoughtful remark about https://example.com/ this is. ".repeat(5))
            .unwrap();
    for number in 1..=COMMENTS {
        let parent = (number % DEPTH != 1).then(|| CommentId(number - 1));
        comments::post_comment(site, now, &author, NewsId(1), parent, &body).await.unwrap();
    }
    sessions
}

async fn user(site: &Arc<Site>, now: Timestamp, session: &Session) -> User {
    let mut visit = Visit::new(site.clone(), now, Some(&session.auth));
    visit.viewer().await.unwrap().unwrap().clone()
}

async fn serve_site(app: App) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(web::serve(app, listener, std::future::pending()));
    address
}

/// Every voter votes on every item. Returns the votes and the seconds.
async fn vote(address: SocketAddr, voters: &[Session]) -> (u64, f64) {
    let began = Instant::now();
    let tasks: Vec<_> = voters
        .iter()
        .cloned()
        .map(|session| {
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await;
                for id in 1..=NEWS {
                    let form = format!("news_id={id}&vote_type=up&apisecret={}", session.apisecret);
                    let request = format!(
                        "POST /api/votenews HTTP/1.1\r\nhost: bench\r\ncookie: auth={}\r\n\
                         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
                        session.auth,
                        form.len()
                    );
                    connection.exchange(&request).await;
                    assert_eq!(connection.body, br#"{"status":"ok"}"#, "a vote was refused");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    (voters.len() as u64 * NEWS, began.elapsed().as_secs_f64())
}
