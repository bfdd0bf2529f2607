//! `GET /health/live` and `GET /health/ready`.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Watched;
use crate::client::{Client, HttpResponse};
use crate::redis_server::RedisServer;
use crate::server::{Engine, Server, each_engine, in_memory};

const LIVE: &str = "/health/live";
const READY: &str = "/health/ready";

/// Waits until the site says that this is its state, and returns what it says.
async fn wait_for_status(client: &Client, status: &str) -> Value {
    tidings_testing::until_ok(async || {
        let answer = client.get(READY).await;
        let said = answer.json();
        assert_eq!(answer.status == StatusCode::OK, said["status"] == "ok", "{said}");
        if said["status"] == status { Ok(said) } else { Err(said) }
    })
    .await
}

/// The lines about changes of the store, and whatever else calls them by these names.
fn changes(watched: &Watched) -> Vec<String> {
    let is_change = |line: &String| {
        let words = ["is not there", "is there", "unavailable", "not available", "is back", "written again"];
        line.contains("health: ") || words.iter().any(|words| line.contains(words))
    };
    watched.lines().into_iter().filter(is_change).collect()
}

fn is_not_stored(answer: &HttpResponse) -> bool {
    answer.headers["cache-control"] == "no-store"
}

#[each_engine("one of its kind")]
async fn a_site_that_works_is_live_and_ready(server: Server) {
    let visitor = server.visitor();
    let live = visitor.get(LIVE).await;
    assert_eq!((live.status, live.json()), (StatusCode::OK, json!({"status": "ok"})));
    let ready = visitor.get(READY).await;
    let expected = json!({"status": "ok", "store": "ok", "writer": "ok", "disk": "ok", "conditions": []});
    assert_eq!((ready.status, ready.json()), (StatusCode::OK, expected));
    assert!(is_not_stored(&live) && is_not_stored(&ready));
    let head = visitor.request(Method::HEAD, READY).send().await.unwrap();
    assert_eq!(head.status(), StatusCode::OK);
}

#[tokio::test]
async fn monitors_know_the_server_by_any_name_and_are_not_counted() {
    let settings = [("rates.read_per_address", "2/1h")];
    let server = Server::start(Engine::Memory, &settings).await;
    let visitor = server.visitor();
    for _ in 0..5 {
        for path in [LIVE, READY] {
            let answer = visitor.clone().with_header("host", "monitor.example").get(path).await;
            assert_eq!(answer.status, StatusCode::OK, "{path}");
        }
    }
    // No token was taken, and other addresses still need a name of the site.
    assert_eq!(visitor.get("/login").await.status, StatusCode::OK);
    let other = visitor.clone().with_header("host", "monitor.example").get("/login").await;
    assert_eq!(other.status, StatusCode::BAD_REQUEST);
}

#[in_memory(&[("rates.read_per_address", "2/1h")])]
async fn other_addresses_below_health_have_the_rule_of_hosts_and_the_rates(server: Server) {
    let visitor = server.visitor();
    for path in ["/health/", "/health/x", "/health/live/", "/health/live/x"] {
        let other = visitor.clone().with_header("host", "monitor.example").get(path).await;
        assert_eq!(other.status, StatusCode::BAD_REQUEST, "{path}");
    }
    let statuses = [visitor.get("/health/x").await.status, visitor.get("/health/y").await.status];
    assert_eq!(statuses, [StatusCode::NOT_FOUND; 2]);
    assert_eq!(visitor.get("/health/z").await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[in_memory]
async fn asking_writes_nothing_and_makes_no_round(server: Server) {
    let rounds = server.store().rounds();
    for _ in 0..20 {
        server.visitor().get(READY).await;
    }
    assert_eq!(server.store().rounds(), rounds);
}

#[in_memory]
async fn a_server_that_stops_is_live_but_not_ready(server: Server) {
    server.app.health.stop();
    let ready = server.visitor().get(READY).await;
    assert_eq!((ready.status.as_u16(), &ready.json()["status"]), (503, &"stopping".into()));
    assert_eq!(server.visitor().get(LIVE).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_lost_store_is_told_and_that_it_is_back() {
    let mut redis = RedisServer::start();
    let watched = Watched::start(&redis.url(), &[]);
    let client = watched.client();
    wait_for_status(&client, "ok").await;
    redis.save();
    redis.stop();
    let said = wait_for_status(&client, "unavailable").await;
    assert_ne!(said["store"], "ok");
    assert_eq!((&said["writer"], &said["disk"]), (&"ok".into(), &"ok".into()));
    assert_eq!(client.get(LIVE).await.status, StatusCode::OK);
    assert!(watched.line("health: the store cannot be reached").await.contains("cause="));
    assert!(watched.lines_with("the store is back").is_empty());
    redis.start_again();
    wait_for_status(&client, "ok").await;
    watched.line("the store is back").await;
    let [lost, back] = <[String; 2]>::try_from(changes(&watched)).unwrap();
    assert!(lost.contains("ERROR") && lost.contains("the store cannot be reached"), "{lost}");
    assert!(back.contains("INFO") && back.contains("seconds="), "{back}");
}
