//! Servers of one store: what is written on one is seen on the others, also when the way to the
//! store is bad. That every action invalidates what it changes is checked in `cache.rs`, shared rates
//! in `rates.rs`, shared login limits in `logins.rs`, and mails that are sent once in `mails.rs`.

use std::time::{Duration, Instant};

use reqwest::StatusCode;

use crate::client::{Client, PASSWORD, ok};
use crate::link::Link;
use crate::live::Events;
use crate::pages::source;
use crate::redis_server::RedisServer;
use crate::server::{Engine, Server};

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a cache may be used after the stream of writes was last confirmed.
const CONFIRMED_FOR: Duration = Duration::from_secs(2);

/// Three servers of one store.
async fn three() -> [Server; 3] {
    let first = Server::start(Engine::Redis, &[]).await;
    let url = first.redis.as_ref().unwrap().url();
    let (second, third) = (Server::beside(&url, &first).await, Server::beside(&url, &first).await);
    [first, second, third]
}

async fn is_logged_in(client: &Client) -> bool {
    source(client, "/").await.contains("/logout")
}

#[tokio::test]
async fn a_session_begins_and_ends_on_all_servers_with_the_next_request() {
    let servers = three().await;
    servers[0].register("alice").await;
    for (number, here) in servers.iter().enumerate() {
        let alice = here.visitor().log_in("alice", PASSWORD).await;
        let everywhere = servers.each_ref().map(|server| alice.at(server.address));
        for elsewhere in &everywhere {
            // The second request finds the session in the cache.
            assert!(is_logged_in(elsewhere).await && is_logged_in(elsewhere).await);
        }
        ok(everywhere[(number + 1) % 3].api_post("/api/logout", &[]).await);
        for elsewhere in &everywhere {
            assert!(!is_logged_in(elsewhere).await);
            let refused = elsewhere.api_post("/api/tweet", &[("text", "Still here")]).await;
            assert_eq!(refused["status"], "err", "{refused}");
        }
    }
}

#[tokio::test]
async fn what_moderators_do_on_one_server_holds_on_the_others_with_the_next_request() {
    let servers = three().await;
    let [here, ..] = &servers;
    let [admin, bob] = here.people(["alice", "bob"]).await;
    here.set_field("user:1", "flags", "a").await;
    let story = bob.submit_text("A dubious story", "text").await;
    let readers = servers.each_ref().map(|server| bob.at(server.address));
    let moderate = async |action: &str, kind: &str, id: &str| {
        ok(admin.moderate(action, (kind, id), &[("hours", "24")]).await)
    };
    for elsewhere in &readers {
        assert!(source(elsewhere, "/latest/0").await.contains("A dubious story"));
    }
    moderate("remove", "story", &story.to_string()).await;
    for elsewhere in &readers {
        assert!(!source(elsewhere, "/latest/0").await.contains("A dubious story"));
    }
    moderate("silence", "user", "bob").await;
    for elsewhere in &readers {
        assert_eq!(elsewhere.try_tweet("Still talking").await["status"], "err");
    }
}

#[tokio::test]
async fn a_tweet_on_one_server_is_announced_on_home_pages_that_are_open_on_another() {
    let [here, there, _] = three().await;
    let [alice, bob] = here.people(["alice", "bob"]).await;
    bob.tweet("Before").await;
    alice.follow("bob").await;
    let mut events = Events::of_home(&alice.at(there.address)).await;
    events.until(0).await;
    for number in 1..=3 {
        bob.tweet(&format!("Number {number}")).await;
        events.until(number).await;
        // Its page is there when it is announced.
        let home = source(&alice.at(there.address), "/home").await;
        assert!(home.contains(&format!("Number {number}")), "{home}");
        here.advance(1);
    }
}

#[tokio::test]
async fn visitors_see_a_write_of_another_server_without_the_clock_going_on() {
    let [here, there, _] = three().await;
    let alice = here.member("alice").await;
    let story = alice.submit_text("A story", "text").await;
    let (visitor, path) = (there.visitor(), format!("/news/{story}"));
    for number in 0..20 {
        // It is cached now.
        let comment = format!("Comment {number}.");
        assert!(!source(&visitor, &path).await.contains(&comment));
        alice.comment(story, &comment).await;
        // Visitors cost no question to the store: the report of the write is on its way.
        tidings_testing::until(async || source(&visitor, &path).await.contains(&comment)).await;
    }
}

/// Two servers, of which the second reaches the store over a link, with a story that is cached there.
struct Linked {
    here: Server,
    there: Server,
    link: Link,
    alice: Client,
    story: u64,
    path: String,
}

impl Linked {
    async fn start() -> Self {
        let redis = RedisServer::start();
        let link = Link::to(([127, 0, 0, 1], redis.port()).into()).await;
        let settings = [("server.store_timeout_seconds", "1")];
        let here = Server::on_redis(redis, &settings).await;
        let there = Server::beside_with(&format!("redis://{}", link.address), &here, &settings).await;
        let alice = here.member("alice").await;
        let story = alice.submit_text("A story", "text").await;
        let linked = Self { path: format!("/news/{story}"), here, there, link, alice, story };
        for _ in 0..2 {
            source(&linked.there.visitor(), &linked.path).await;
            source(&linked.member_there(), &linked.path).await;
        }
        linked
    }

    fn member_there(&self) -> Client {
        self.alice.at(self.there.address)
    }

    /// Writes on the server that has no link.
    async fn write(&self, comment: &str) {
        source(&self.here.visitor(), &self.path).await;
        self.alice.comment(self.story, comment).await;
    }

    /// Reads on the other one: whether the comment is there; `None` when the store cannot be asked.
    async fn has(&self, client: &Client, comment: &str) -> Option<bool> {
        let answer = client.get(&self.path).await;
        let text = answer.text();
        match answer.status {
            StatusCode::OK => Some(text.contains(comment)),
            StatusCode::SERVICE_UNAVAILABLE => None,
            status => panic!("{status}: {text}"),
        }
    }

    /// Reads until the store can be asked. The answer to a visitor must not be stale then.
    async fn wait_until_fresh(&self, comment: &str) {
        let (visitor, deadline) = (self.there.visitor(), Instant::now() + TIMEOUT);
        loop {
            match self.has(&visitor, comment).await {
                Some(true) => return,
                Some(false) => panic!("a visitor gets what is old"),
                None => assert!(Instant::now() < deadline, "the store does not come back"),
            }
        }
    }
}

#[tokio::test]
async fn nothing_comes_from_a_cache_whose_stream_of_writes_is_not_confirmed() {
    let linked = Linked::start().await;
    linked.link.freeze();
    let frozen = Instant::now();
    linked.write("Behind the link.").await;
    // For two seconds visitors may get what is old: the link could be slow.
    let visitor = linked.there.visitor();
    let unsure = loop {
        let asked = Instant::now();
        match linked.has(&visitor, "Behind the link.").await {
            Some(is_there) => assert!(!is_there && asked < frozen + CONFIRMED_FOR),
            None => break asked,
        }
        tidings_testing::pause().await;
    };
    println!("not confirmed after {:?}", unsure - frozen);
    // Members cost a question to the store, which cannot be asked.
    assert_eq!(linked.has(&linked.member_there(), "Behind the link.").await, None);
    linked.link.thaw();
    linked.wait_until_fresh("Behind the link.").await;
    assert_eq!(linked.has(&linked.member_there(), "Behind the link.").await, Some(true));
}

#[tokio::test]
async fn a_lost_stream_of_writes_empties_the_caches_before_anything_old_is_served() {
    let linked = Linked::start().await;
    for round in 0..3 {
        let comment = format!("In round {round}.");
        let (visitor, member) = (linked.there.visitor(), linked.member_there());
        assert_eq!(linked.has(&visitor, &comment).await, Some(false));
        // The report of this write never arrives.
        linked.link.freeze();
        linked.write(&comment).await;
        linked.link.cut();
        linked.link.thaw();
        // Members are asked for first: their request goes over the new connection or fails.
        loop {
            match linked.has(&member, &comment).await {
                Some(is_there) => break assert!(is_there, "a member gets what is old"),
                None => tidings_testing::pause().await,
            }
        }
        linked.wait_until_fresh(&comment).await;
    }
}
