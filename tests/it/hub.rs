//! The hub of the feeds is told what has changed, soon, together, and again if it has failed.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use crate::client::ok;
use crate::page_server::{PageServer, Reply};
use crate::server::{Batch, Engine, Server};

const HERE: &str = "https://news.example.com";

/// A hub at an address of this machine.
struct Hub {
    url: String,
    server: PageServer,
    /// The status of its answers.
    status: Arc<AtomicU16>,
}

impl Hub {
    async fn start() -> Self {
        let status = Arc::new(AtomicU16::new(204));
        let answered = status.clone();
        let server = PageServer::start(move |_| {
            Reply::with(&format!("{} X", answered.load(Ordering::Relaxed)), "connection: close", b"")
        })
        .await;
        Self { url: format!("http://{}/hub?key=1", server.address), server, status }
    }

    /// The feeds that it was told of.
    fn told(&self) -> Vec<String> {
        let feed = |request: String| {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("POST /hub?key=1 HTTP/1.1\r\n"), "{head}");
            let fields: BTreeMap<_, _> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
            assert_eq!((&*fields["hub.mode"], &fields["hub.topic"]), ("publish", &fields["hub.url"]));
            fields["hub.url"].clone()
        };
        self.server.requests().into_iter().map(feed).collect()
    }

    /// Waits until a condition holds, and returns how long that was.
    async fn wait(&self, is_so: impl Fn(&BTreeSet<String>) -> bool) -> Duration {
        let began = Instant::now();
        tidings_testing::until(async || is_so(&self.told().into_iter().collect())).await;
        began.elapsed()
    }
}

/// Waits until a feed waits, or until none does: each leaves when the hub has been told of it.
async fn wait_for_feed(server: &Server, feed: &str, waits: bool) {
    let is_so = async || match waits {
        true => server.field("hub:feeds", feed).await.is_some(),
        false => server.hash("hub:feeds").await.is_empty(),
    };
    tidings_testing::until(is_so).await;
}

/// A site that has begun to follow what changes.
async fn site(engine: Engine, hub: &Hub) -> Server {
    let server = Server::start(engine, &[("site.url", HERE), ("feeds.hub", &hub.url)]).await;
    tidings_testing::until(async || server.field("hub:state", "place").await.is_some()).await;
    server
}

#[tokio::test]
async fn a_hub_is_told_of_the_feeds_that_have_changed() {
    for engine in [Engine::Memory, Engine::Redis] {
        let hub = Hub::start().await;
        let server = site(engine, &hub).await;
        let alice = server.member("alice").await;
        server.set_karma(&alice, 100).await;
        let news = alice.submit_on("rust", "A story").await;
        alice.comment(news, "A comment").await;
        alice.tweet("A post").await;
        let expected = "/top/atom /atom /json /rss /best/new/atom /topic/rust/new/json /user/alice/atom \
            /user/alice/stories/json /user/alice/comments/atom /comments/atom /news/1/json /@alice/feed \
            /@alice/feed/json";
        let took =
            hub.wait(|told| expected.split(' ').all(|feed| told.contains(&format!("{HERE}{feed}")))).await;
        assert!(took < Duration::from_secs(5), "{took:?}");
        wait_for_feed(&server, "/atom", false).await;
        // Votes change no feed.
        let count = hub.told().len();
        let bob = server.member("bob").await;
        server.set_karma(&bob, 100).await;
        ok(bob.vote(news, "up").await);
        bob.comment(news, "Another").await;
        hub.wait(|told| told.contains(&format!("{HERE}/user/bob/comments/atom"))).await;
        wait_for_feed(&server, "/news/1/atom", false).await;
        let later = &hub.told()[count..];
        assert!(!later.contains(&format!("{HERE}/atom")), "{later:?}");
    }
}

#[tokio::test]
async fn a_hub_that_fails_is_told_later_and_one_that_refuses_is_not_asked_again() {
    let hub = Hub::start().await;
    let server = site(Engine::Memory, &hub).await;
    hub.status.store(503, Ordering::Relaxed);
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    hub.wait(|told| !told.is_empty()).await;
    wait_for_feed(&server, "/atom", true).await;
    let failing = async || server.field("hub:state", "failing").await;
    tidings_testing::until(async || failing().await.is_some()).await;
    let resting = async || server.field("queue:leases", "hub").await.filter(|held| held.ends_with(':'));
    tidings_testing::until(async || resting().await.is_some()).await;
    assert_eq!(resting().await, Some(format!("{}:60000:", (server.now() + 60) * 1_000)));
    // One failure was enough.
    assert_eq!(hub.told().len(), 1, "{:?}", hub.told());
    hub.status.store(202, Ordering::Relaxed);
    server.advance(61);
    hub.wait(|told| told.contains(&format!("{HERE}/user/alice/atom"))).await;
    wait_for_feed(&server, "/atom", false).await;
    // A change that the hub refuses is not sent again. A time from before the clock was set back holds nothing up.
    let ahead = format!("{}:60000:", (server.now() + 86_400) * 1_000);
    server.set_field("queue:leases", "hub", &ahead).await;
    hub.status.store(404, Ordering::Relaxed);
    alice.submit_text("Another story", "text").await;
    let count = hub.told().len();
    tidings_testing::until(async || {
        hub.told().len() != count && server.field("hub:feeds", "/atom").await.is_none()
    })
    .await;
    assert_eq!(failing().await, None);
}

#[tokio::test]
async fn feeds_name_their_hub_if_there_is_one() {
    let hub = Hub::start().await;
    let server = site(Engine::Memory, &hub).await;
    let visitor = server.visitor();
    for feed in ["/top/atom", "/atom", "/json", "/rss", "/comments/atom"] {
        let answer = visitor.get(feed).await;
        let expected = format!("<{}>; rel=\"hub\", <{HERE}{feed}>; rel=\"self\"", hub.url);
        assert_eq!(answer.headers["link"].to_str().unwrap(), expected);
        assert!(answer.text().contains(&hub.url), "{feed}");
    }
    for feed in ["/best/atom", "/moderations/json"] {
        let answer = visitor.get(feed).await;
        assert!(!answer.headers.contains_key("link") && !answer.text().contains("/hub?"));
    }
    let without = Server::start(Engine::Memory, &[]).await;
    without.member("alice").await.submit_text("A story", "text").await;
    assert!(!without.visitor().get("/atom").await.headers.contains_key("link"));
    assert_eq!(without.field("hub:state", "place").await, None);
}

#[tokio::test]
async fn a_hub_is_told_nothing_of_what_visitors_never_see() {
    let hub = Hub::start().await;
    let server = site(Engine::Memory, &hub).await;
    let (alice, bob, carol) =
        (server.register("alice").await, server.member("bob").await, server.member("carol").await);
    let moderate = async |action: &str, kind: &str, id: &str| {
        ok(alice.moderate(action, (kind, id), &[("reason", "why")]).await);
    };
    let shown = carol.submit_text("A story that is shown", "text").await;
    // The last of what has changed before.
    carol.tweet("A post").await;
    hub.wait(|told| told.contains(&format!("{HERE}/@carol/feed"))).await;
    wait_for_feed(&server, "/@carol/feed", false).await;
    let count = hub.told().len();

    moderate("hold", "user", "bob").await;
    let stories = [bob.submit_text("Held", "text").await, bob.submit_text("Dropped", "text").await];
    let comments = [bob.comment(shown, "Held").await, bob.comment(shown, "Dropped").await];
    ok(bob.edit(stories[0], "Held and edited", "", "text").await);
    ok(bob.delete(stories[1]).await);
    ok(bob.edit_comment(shown, comments[1], "").await);
    moderate("reject", "story", &stories[0].to_string()).await;
    moderate("reject", "comment", &format!("{shown}-{}", comments[0])).await;
    carol.tweet("Another post").await;
    hub.wait(|_| hub.told()[count..].contains(&format!("{HERE}/@carol/feed"))).await;
    wait_for_feed(&server, "/@carol/feed", false).await;
    let told = &hub.told()[count..];
    assert!(told.iter().all(|feed| feed.contains("carol")), "{told:?}");
}

#[tokio::test]
async fn a_hub_is_told_when_flags_hide_something_and_not_when_it_is_edited_then() {
    let hub = Hub::start().await;
    let server = site(Engine::Memory, &hub).await;
    let [bob, carol] = server.people(["bob", "carol"]).await;
    let seen = Cell::new(0);
    let newly_told = async || {
        let count = seen.get();
        // The last of what has changed.
        carol.tweet("A post").await;
        hub.wait(|_| hub.told()[count..].contains(&format!("{HERE}/@carol/feed"))).await;
        wait_for_feed(&server, "/@carol/feed", false).await;
        let mut all = hub.told();
        seen.set(all.len());
        let told: BTreeSet<String> = all.drain(count..).collect();
        told.into_iter().filter(|feed| !feed.contains("carol")).collect::<Vec<_>>()
    };
    let story = bob.submit_text("A story", "text").await;
    let comment = bob.comment(story, "A comment").await;
    assert!(newly_told().await.contains(&format!("{HERE}/comments/atom")));

    let key = format!("news:{story}");
    let mut batch = Batch::new();
    batch.set_field(&key, "withheld", "flagged:");
    batch.sorted_append("changes", &key);
    server.commit(batch).await;
    assert!(newly_told().await.contains(&format!("{HERE}/atom")));
    ok(bob.edit(story, "Another title", "", "text").await);
    ok(bob.edit_comment(story, comment, "Another text").await);
    // Of the comment, feeds have not been told that it went with its story.
    let told = newly_told().await;
    assert!(told.iter().all(|feed| feed.contains("/comments/") || feed.contains("/news/")), "{told:?}");
    ok(bob.edit_comment(story, comment, "Yet another text").await);
    ok(bob.edit(story, "Yet another title", "", "text").await);
    assert_eq!(newly_told().await, Vec::<String>::new());
    // Until it is there again.
    let mut batch = Batch::new();
    batch.delete_field(&key, "withheld");
    batch.sorted_append("changes", &key);
    server.commit(batch).await;
    assert!(newly_told().await.contains(&format!("{HERE}/atom")));
    ok(bob.edit(story, "The last title", "", "text").await);
    assert!(newly_told().await.contains(&format!("{HERE}/atom")));
    // Nor does it learn that a hidden story is among the first.
    let fields = [("id", "900"), ("title", "Hidden"), ("url", "text://x"), ("user_id", "2"), ("ctime", "1")];
    let mut batch = Batch::new();
    batch.set_fields("news:900", fields);
    batch.set_field("news:900", "withheld", "flagged:");
    batch.sorted_add("news.top", "900", 9e9);
    server.commit(batch).await;
    assert_eq!(newly_told().await, Vec::<String>::new());
}
