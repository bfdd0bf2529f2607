//! People who guess passwords are slowed down, and nobody else is.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::StatusCode;
use tidings_domain::accounts::session_store::Device;
use tidings_domain::accounts::sessions;
use tidings_keyspace::Expiry;

use crate::client::{Client, HttpResponse, PASSWORD, ok, refused};
use crate::concurrency::at_once;
use crate::server::{Engine, START, Server, each_engine, in_memory};
use crate::smtp_server::SmtpServer;

const WRONG: &str = "Wrong username or password.";
/// The default, which the other tests switch off.
const DEFAULT_RATE: (&str, &str) = ("rates.failed_login_per_address", "30/10m");
const BEHIND_A_PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.0/8");
const SETTINGS: [(&str, &str); 2] = [DEFAULT_RATE, BEHIND_A_PROXY];

/// A visitor from one of many addresses.
fn from(server: &Server, address: usize) -> Client {
    server.visitor().forwarded_for(&format!("203.0.{}.{}", address / 250, address % 250 + 1))
}

async fn fail_times(client: &Client, username: &str, times: usize) {
    for _ in 0..times {
        assert_eq!(refused(client.try_log_in(username, "wrong horse").await), WRONG);
    }
}

async fn log_in(client: &Client, username: &str, password: &str) -> HttpResponse {
    client.post("/api/login", &[("username", username), ("password", password)]).await
}

/// The answer must be to wait for as long as said.
#[track_caller]
fn check_slowed_down(answer: &HttpResponse, seconds: u64, wait: &str) {
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers["retry-after"], seconds.to_string().as_str());
    assert_eq!(refused(answer.json()), format!("Too many failed logins. Try again in {wait}."));
}

#[in_memory(&SETTINGS)]
async fn ten_failed_logins_slow_the_pair_of_account_and_address_down_and_no_other(server: Server) {
    server.register("alice").await;
    server.register("bob").await;
    let here = from(&server, 1);
    fail_times(&here, "alice", 9).await;
    ok(here.try_log_in("alice", PASSWORD).await);
    fail_times(&here, "ALICE", 1).await;
    for (name, password) in [("alice", PASSWORD), ("Alice", "wrong horse")] {
        check_slowed_down(&log_in(&here, name, password).await, 60, "1 minute");
    }
    ok(here.try_log_in("bob", PASSWORD).await);
    ok(from(&server, 2).try_log_in("alice", PASSWORD).await);
    // One more a minute, and all ten after ten minutes.
    server.advance(59);
    check_slowed_down(&log_in(&here, "alice", PASSWORD).await, 1, "1 minute");
    server.advance(1);
    ok(here.try_log_in("alice", PASSWORD).await);
    fail_times(&here, "alice", 1).await;
    check_slowed_down(&log_in(&here, "alice", PASSWORD).await, 60, "1 minute");
    server.advance(600);
    fail_times(&here, "alice", 10).await;
    check_slowed_down(&log_in(&here, "alice", PASSWORD).await, 60, "1 minute");
}

#[in_memory(&SETTINGS)]
async fn thirty_failed_logins_slow_an_address_down_whoever_it_tries(server: Server) {
    server.register("alice").await;
    let (here, elsewhere) = (from(&server, 1), from(&server, 2));
    for number in 0..30 {
        fail_times(&here, &format!("user-{number}"), 1).await;
    }
    check_slowed_down(&log_in(&here, "alice", PASSWORD).await, 20, "1 minute");
    check_slowed_down(&log_in(&here, &"x".repeat(1_000), "").await, 20, "1 minute");
    ok(elsewhere.try_log_in("alice", PASSWORD).await);
    server.advance(20);
    ok(here.try_log_in("alice", PASSWORD).await);
    fail_times(&here, "alice", 1).await;
    check_slowed_down(&log_in(&here, "alice", PASSWORD).await, 20, "1 minute");
}

#[tokio::test]
async fn an_exempt_address_is_slowed_down_for_one_account_only() {
    let settings = [DEFAULT_RATE, BEHIND_A_PROXY, ("rates.exempt", "203.0.0.0/24")];
    let server = Server::start(Engine::Memory, &settings).await;
    server.register("alice").await;
    let here = from(&server, 1);
    for number in 0..31 {
        fail_times(&here, &format!("user-{number}"), 1).await;
    }
    fail_times(&here, "alice", 10).await;
    check_slowed_down(&log_in(&here, "alice", PASSWORD).await, 60, "1 minute");
}

#[in_memory(&SETTINGS)]
async fn strangers_cannot_lock_an_owner_out(server: Server) {
    server.register("alice").await;
    for address in 2..60 {
        fail_times(&from(&server, address), "alice", 2).await;
    }
    ok(from(&server, 1).try_log_in("alice", PASSWORD).await);
    // The set of addresses is bounded.
    assert_eq!(server.sorted("limit:failed_login:addresses:1").await.len(), 20);
    assert!(server.string("limit:failed_login:told:1").await.is_some());
}

#[each_engine("races", &[DEFAULT_RATE])]
async fn a_crowd_of_concurrent_guesses_gets_no_more_than_10_answers(server: Server) {
    server.register("alice").await;
    let answers = at_once((0..100).map(|number| {
        let visitor = server.visitor();
        async move { log_in(&visitor, "alice", &format!("guess number {number}")).await }
    }))
    .await;
    let answered: Vec<&HttpResponse> =
        answers.iter().filter(|answer| answer.status == StatusCode::OK).collect();
    assert_eq!(answered.len(), 10);
    assert!(answered.iter().all(|answer| refused(answer.json()) == WRONG));
    let others: Vec<&HttpResponse> =
        answers.iter().filter(|answer| answer.status == StatusCode::TOO_MANY_REQUESTS).collect();
    assert_eq!(others.len(), 90);
    assert!(others.iter().all(|answer| answer.headers.contains_key("retry-after")));
}

#[tokio::test]
async fn two_servers_of_one_redis_count_together() {
    let server = Server::start(Engine::Redis, &[DEFAULT_RATE]).await;
    let url = server.redis.as_ref().unwrap().url();
    let other = Server::beside_with(&url, &server, &[DEFAULT_RATE]).await;
    server.register("alice").await;
    for _ in 0..5 {
        fail_times(&server.visitor(), "alice", 1).await;
        fail_times(&other.visitor(), "alice", 1).await;
    }
    for server in [&server, &other] {
        let answer = log_in(&server.visitor(), "alice", PASSWORD).await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    }
    let key = pairs(&server).await.pop().unwrap();
    assert_eq!(server.string(&key).await.as_deref(), Some("10"));
    assert!(matches!(server.expiry(&key).await, Expiry::In(left) if left <= Duration::from_secs(600)));
}

#[in_memory(&[DEFAULT_RATE])]
async fn failed_logins_write_expiring_counters_and_nothing_else_not_even_what_was_typed_as_a_name(
    server: Server,
) {
    server.register("alice").await;
    let before = server.dump().await;
    let long = "x".repeat(5_000);
    for username in ["alice", "ALICE", "nobody", "a\0b", &long, ""] {
        refused(server.visitor().try_log_in(username, "wrong horse").await);
    }
    let after = server.dump().await;
    let new: BTreeSet<&str> =
        after.keys().filter(|key| !before.contains_key(*key)).map(String::as_str).collect();
    assert!(before.iter().all(|(key, value)| after.get(key) == Some(value)));
    let address = "limit:failed_login:address:127.0.0.1";
    let account = "limit:failed_login:account:1";
    let addresses = "limit:failed_login:addresses:1";
    let pairs = pairs(&server).await;
    assert_eq!(pairs.len(), 3, "alice, nobody and the empty name: {pairs:?}");
    let expected: BTreeSet<&str> =
        pairs.iter().map(String::as_str).chain([address, account, addresses]).collect();
    assert_eq!(new, expected);
    assert_eq!(server.string(address).await.as_deref(), Some("6"));
    assert_eq!(server.expiry(address).await, Expiry::In(Duration::from_secs(120)));
    let mut counts = Vec::new();
    for pair in &pairs {
        counts.push(server.string(pair).await.unwrap());
    }
    counts.sort();
    assert_eq!(counts, ["1", "1", "2"]);
    assert_eq!(server.string(account).await.as_deref(), Some("2"));
    assert_eq!(server.sorted(addresses).await, [("127.0.0.1".to_owned(), START as f64)]);
    server.advance(3_600);
    assert_eq!(server.dump().await, before);
    for typed in ["Hunter2-and-More", "alice hunter2-and-more"] {
        refused(server.visitor().try_log_in(typed, "wrong horse").await);
    }
    let dump = format!("{:?}", server.dump().await).to_lowercase();
    assert!(dump.contains("limit:failed_login:pair:"), "{dump}");
    assert!(!dump.contains("hunter2"), "{dump}");
}

/// The keys of failed logins by name and address.
async fn pairs(server: &Server) -> Vec<String> {
    let keys = server.dump().await.into_keys();
    keys.filter(|key| key.starts_with("limit:failed_login:pair:127.0.0.1:")).collect()
}

#[in_memory(&SETTINGS)]
async fn a_48_of_ipv6_has_four_times_the_failed_logins_of_an_address(server: Server) {
    for name in ["alice", "bob"] {
        server.register(name).await;
    }
    let from = |network: usize| server.visitor().forwarded_for(&format!("2001:db8:1:{network:x}::1"));
    for network in 0..40 {
        fail_times(&from(network), "alice", 1).await;
    }
    check_slowed_down(&log_in(&from(99), "alice", PASSWORD).await, 15, "1 minute");
    ok(from(99).try_log_in("bob", PASSWORD).await);
    for network in 40..120 {
        fail_times(&from(network), &format!("user-{network}"), 1).await;
    }
    check_slowed_down(&log_in(&from(200), "bob", PASSWORD).await, 5, "1 minute");
    // The next customer has its own.
    ok(server.visitor().forwarded_for("2001:db8:2::1").try_log_in("alice", PASSWORD).await);
}

#[in_memory(&SETTINGS)]
async fn the_networks_that_log_in_to_an_account_are_remembered_and_go_with_it(server: Server) {
    // The last administrator could not leave.
    server.register("root").await;
    let key = "user:2:networks";
    server.register("alice").await;
    assert_eq!(server.sorted(key).await.len(), 1, "sign-up is a login");
    for address in 0..30 {
        server.advance(1);
        let client = server.visitor().forwarded_for(&format!("198.51.{address}.7"));
        ok(client.try_log_in("alice", PASSWORD).await);
        let neighbour = server.visitor().forwarded_for(&format!("198.51.{address}.8"));
        ok(neighbour.try_log_in("alice", PASSWORD).await);
    }
    let known = server.sorted(key).await;
    assert_eq!(known.len(), 20);
    assert!(known.iter().all(|(tag, time)| tag.len() == 12 && *time > START as f64 + 10.0), "{known:?}");
    assert_eq!(server.expiry(key).await, Expiry::In(Duration::from_secs(60 * 86_400)));
    let alice = server.visitor().log_in("alice", PASSWORD).await;
    assert_eq!(alice.post("/settings/deactivate", &[("password", PASSWORD)]).await.status, 303);
    assert!(server.sorted(key).await.is_empty());
}

/// A site with a relay where alice has an address.
async fn attacked_site() -> (Server, SmtpServer) {
    let relay = SmtpServer::start().await;
    let settings = [
        DEFAULT_RATE,
        BEHIND_A_PROXY,
        ("mail.relay", &*relay.relay()),
        ("mail.from", "news@example.com"),
        ("site.url", "https://news.example.com"),
    ];
    let server = Server::start(Engine::Memory, &settings).await;
    server.register("alice").await;
    server.set_field("user:1", "email", "alice@example.org").await;
    (server, relay)
}

#[tokio::test]
async fn the_owner_is_told_when_20_addresses_have_failed_within_an_hour_once_a_day() {
    let (server, mut relay) = attacked_site().await;
    let told = || server.string("limit:failed_login:told:1");
    let attack = async |first: usize, count: usize| {
        for address in first..first + count {
            fail_times(&from(&server, address), "alice", 1).await;
        }
    };
    attack(0, 10).await;
    server.advance(3_600);
    // The ten of an hour ago do not count any more, nor does an address twice.
    attack(10, 19).await;
    attack(10, 19).await;
    assert_eq!(told().await, None);
    attack(29, 1).await;
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["alice@example.org"]);
    assert_eq!(mail.header("Subject"), Some("Failed logins to your account at Tidings"));
    assert!(mail.text().contains("20") && mail.text().contains("https://news.example.com/settings/account"));
    ok(from(&server, 99).try_log_in("alice", PASSWORD).await);
    attack(30, 25).await;
    server.advance(86_399);
    attack(60, 20).await;
    assert!(told().await.is_some() && relay.waiting() == 0);
    server.advance(1);
    attack(80, 1).await;
    assert_eq!(relay.next_message().await.to, ["alice@example.org"]);
    assert_eq!(relay.waiting(), 0);
}

#[in_memory(&[DEFAULT_RATE])]
async fn a_guess_counts_even_if_nobody_waits_for_the_answer(server: Server) {
    server.register("alice").await;
    let site = server.app.site.clone();
    let now = server.app.now();
    let guess = tokio::spawn(async move {
        let device = Device::new("", [203, 0, 113, 1].into());
        sessions::log_in(&site, now, "alice", "wrong horse", &device).await
    });
    // Given up as soon as it is being checked.
    while server.app.site.passwords.running() == 0 {
        tokio::task::yield_now().await;
    }
    guess.abort();
    while server.string("limit:failed_login:address:203.0.113.1").await.is_none() {
        tokio::task::yield_now().await;
    }
}
