//! The events that an open home page gets about new tweets.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode};

use crate::client::{Client, PASSWORD, ok};
use crate::pages::{error_message, page};
use crate::server::{Engine, Server, each_engine, in_memory};

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An open stream of events.
pub struct Events {
    response: Response,
    received: String,
    /// After how many milliseconds the page is to come back, once it was told.
    retry: Option<u64>,
}

impl Events {
    /// Opens the stream of the home page as it is now.
    pub async fn of_home(client: &Client) -> Self {
        let home = page(client, "/home").await;
        let live = home.one("div", &[("class", "live")]).attribute("data-live").unwrap().to_owned();
        Self::open(client, &live).await
    }

    pub async fn open(client: &Client, path: &str) -> Self {
        Self::asked(client.request(Method::GET, path).header("accept-encoding", "gzip, br")).await
    }

    /// Opens the stream that a request asks for.
    pub async fn asked(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{response:?}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, received: String::new(), retry: None }
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.received.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.received = rest;
                if let Some(pause) = event.strip_prefix("retry: ") {
                    self.retry = pause.parse().ok();
                    continue;
                }
                return Some(event);
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await.expect("an event in time");
            self.received.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }

    /// The number in the next event.
    pub async fn count(&mut self) -> u64 {
        let event = self.next().await.expect("an event");
        let number = event.strip_prefix("event: new\ndata: ");
        number.unwrap_or_else(|| panic!("{event:?}")).parse().unwrap()
    }

    /// Waits for the event with this number.
    pub async fn until(&mut self, number: u64) {
        loop {
            let count = self.count().await;
            assert!(count <= number, "{count} before {number}");
            if count == number {
                return;
            }
        }
    }
}

#[each_engine("change feed")]
async fn new_tweets_of_those_one_follows_are_counted_as_they_come(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let carol = server.member("carol").await;
    bob.tweet("Before").await;
    alice.follow("bob").await;
    let mut events = Events::of_home(&alice).await;
    let headers = events.response.headers().clone();
    assert_eq!(headers["cache-control"], "no-cache");
    assert!(!headers.contains_key("content-encoding"), "{headers:?}");
    assert_eq!(events.count().await, 0);
    carol.tweet("Of nobody she follows").await;
    for number in 1..=3 {
        // The first at the second of the counting, the others later.
        bob.tweet(&format!("Number {number}")).await;
        events.until(number).await;
        server.advance(1);
    }
    alice.tweet("Her own").await;
    events.until(4).await;

    // A page that was opened earlier learns at once what it has missed.
    let mut late = Events::open(&alice, "/home/events?since=1-1").await;
    assert_eq!(late.count().await, 5);
    let mut fresh = Events::of_home(&alice).await;
    assert_eq!(fresh.count().await, 0);
}

#[in_memory]
async fn a_page_without_tweets_hears_of_the_first_and_streams_end_at_once_when_the_server_stops(
    server: Server,
) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let mut events = Events::of_home(&alice).await;
    assert_eq!(events.count().await, 0);
    server.advance(1);
    alice.follow("bob").await;
    bob.tweet("The first").await;
    events.until(1).await;
    drop(server);
    assert_eq!(events.next().await, None);
    // The page comes back, and not all pages at the same moment.
    let retry = events.retry.expect("a time");
    assert!((2_000..4_000).contains(&retry), "{retry}");
}

#[in_memory]
async fn without_a_session_there_is_no_stream(server: Server) {
    let alice = server.member("alice").await;
    for client in [server.visitor(), alice.with_secrets(Some(&"0".repeat(40)), None)] {
        let answer = client.get("/home/events").await;
        assert_eq!((answer.status, answer.body.len()), (StatusCode::NO_CONTENT, 0));
    }
    for bad in ["", "x", "1-0", "NaN-1"] {
        let answer = alice.get(&format!("/home/events?since={bad}")).await;
        assert_eq!(error_message(&answer, StatusCode::BAD_REQUEST), "Go to the first page.", "{bad}");
    }
}

#[in_memory(&[("rates.streams_per_account", "5")])]
async fn an_account_has_five_streams_and_others_have_theirs(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(Events::of_home(&alice).await);
    }
    let refused = alice.get("/home/events").await;
    error_message(&refused, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(Events::of_home(&bob).await.count().await, 0);
    // A closed stream makes room for another one.
    open.pop();
    tidings_testing::until(async || {
        alice.request(Method::GET, "/home/events").send().await.unwrap().status() == StatusCode::OK
    })
    .await;
}

#[tokio::test]
async fn an_address_has_twenty_streams_and_zero_is_no_limit() {
    let behind_a_proxy = ("web.trusted_proxies", "127.0.0.0/8");
    let limit = ("rates.streams_per_address", "20");
    let server = Server::start(Engine::Memory, &[behind_a_proxy, limit]).await;
    let members = server.members(5).await;
    let mut open = Vec::new();
    for number in 0..20 {
        let client = members[number % 5].clone().forwarded_for("192.0.2.1");
        open.push(Events::open(&client, "/home/events").await);
    }
    let other = server.member("other").await;
    let refused = other.clone().forwarded_for("192.0.2.1").get("/home/events").await;
    error_message(&refused, StatusCode::TOO_MANY_REQUESTS);
    open.push(Events::open(&other.forwarded_for("192.0.2.2"), "/home/events").await);

    let zero = [("rates.streams_per_account", "0"), ("rates.streams_per_address", "0")];
    let unlimited = Server::start(Engine::Memory, &zero).await;
    let alice = unlimited.member("alice").await;
    for _ in 0..30 {
        open.push(Events::open(&alice, "/home/events").await);
    }
}

#[each_engine("change feed")]
async fn a_stream_ends_with_its_session(server: Server) {
    let bob = server.member("bob").await;
    let mut of_bob = Events::of_home(&bob).await;
    assert_eq!(of_bob.count().await, 0);
    let new_password =
        [("about", ""), ("email", ""), ("password", "another horse"), ("current_password", PASSWORD)];
    for (name, path, fields) in [
        ("leaver", "/api/logout", [].as_slice()),
        ("changer", "/api/updateprofile", &new_password),
        ("quitter", "/settings/deactivate", &[("password", PASSWORD)]),
    ] {
        let user = server.register(name).await;
        let mut events = Events::of_home(&user).await;
        assert_eq!(events.count().await, 0);
        let answer = user.post(path, fields).await;
        assert!(answer.status.is_success() || answer.status.is_redirection(), "{path} {answer:?}");
        assert_eq!(events.next().await, None, "{path}");
    }
    // Those of others go on.
    server.advance(1);
    bob.tweet("Still here").await;
    of_bob.until(1).await;
}

#[tokio::test]
async fn a_stream_ends_when_its_session_ends_on_another_server() {
    let server = Server::start(Engine::Redis, &[]).await;
    let other = Server::beside(&server.redis.as_ref().unwrap().url(), &server).await;
    let alice = server.member("alice").await;
    let mut events = Events::of_home(&alice).await;
    assert_eq!(events.count().await, 0);
    ok(alice.at(other.address).api_post("/api/logout", &[]).await);
    assert_eq!(events.next().await, None);
}
