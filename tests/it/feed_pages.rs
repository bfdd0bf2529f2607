//! Every list is a feed in two formats, with pages; it is the same for everyone, and is found from its page.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::StatusCode;
use roxmltree::{Document, Node};
use serde_json::Value;
use tidings::backup::{restore, take};
use tidings_keyspace::{Store, StoreOptions};

use crate::client::{Client, HttpResponse, ok};
use crate::community::Community;
use crate::feeds::children;
use crate::pages::page;
use crate::redis_server::RedisServer;
use crate::server::{Engine, Server, in_memory};

const SITE: (&str, &str) = ("site.url", "https://news.example.com");
const HERE: &str = "https://news.example.com";
/// How ids begin.
const TAG: &str = "tag:news.example.com,2027-01-15:";

/// The feeds of the community: the page with the same list, and the two formats.
const FEEDS: [(&str, &str, &str); 15] = [
    ("/", "/top/atom", "/top/json"),
    ("/latest", "/atom", "/json"),
    ("/best", "/best/atom", "/best/json"),
    ("/best/new", "/best/new/atom", "/best/new/json"),
    ("/topic/links", "/topic/links/atom", "/topic/links/json"),
    ("/topic/examples,links/new", "/topic/examples,links/new/atom", "/topic/examples,links/new/json"),
    ("/comments", "/comments/atom", "/comments/json"),
    ("/news/1", "/news/1/atom", "/news/1/json"),
    ("/@bob", "/@bob/feed", "/@bob/feed/json"),
    ("/@bob", "/user/bob/atom", "/user/bob/json"),
    ("/usernews/bob/0", "/user/bob/stories/atom", "/user/bob/stories/json"),
    ("/usercomments/bob/0", "/user/bob/comments/atom", "/user/bob/comments/json"),
    ("/site/example.com", "/site/example.com/atom", "/site/example.com/json"),
    ("/moderations", "/moderations/atom", "/moderations/json"),
    ("/site/example.com/stories/0", "/site/example.com/atom", "/site/example.com/json"),
];

/// The parts that a reader uses of an entry: its id, title, page, author, time and number of comments.
type Entry = (String, String, String, String, String, Option<u64>);

/// The entries of a page of a feed, and the address of the next page.
struct FeedPage {
    entries: Vec<Entry>,
    next: Option<String>,
    version: String,
}

async fn read(client: &Client, path: &str) -> FeedPage {
    let answer = client.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}");
    let version = answer.headers["etag"].to_str().unwrap().to_owned();
    let text = answer.text();
    let (entries, next) = match answer.headers["content-type"].to_str().unwrap() {
        "application/feed+json" => of_json(&text),
        "application/atom+xml; charset=utf-8" => of_atom(&text),
        other => panic!("{path} is {other}"),
    };
    let next = next.map(|next| next.strip_prefix(HERE).unwrap_or(&next).to_owned());
    FeedPage { entries, next, version }
}

fn of_json(text: &str) -> (Vec<Entry>, Option<String>) {
    let feed: Value = serde_json::from_str(text).unwrap();
    assert_eq!(feed["version"], "https://jsonfeed.org/version/1.1");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |item: &Value| {
        assert!(item["content_html"].is_string() != item["content_text"].is_string(), "{item}");
        let author = if item["authors"].is_array() { &item["authors"] } else { &feed["authors"] };
        let comments = item["_discussion"]["comments"].as_u64();
        let (id, title, url) = (text(&item["id"]), text(&item["title"]), text(&item["url"]));
        (id, title, url, text(&author[0]["name"]), text(&item["date_published"]), comments)
    };
    let entries = feed["items"].as_array().unwrap().iter().map(entry).collect();
    (entries, feed["next_url"].as_str().map(str::to_owned))
}

fn child<'a>(node: Node<'a, 'a>, name: &'a str) -> Option<Node<'a, 'a>> {
    children(node, name).next()
}

fn link<'a>(node: Node<'a, 'a>, relation: &str) -> Option<Node<'a, 'a>> {
    children(node, "link").find(|link| link.attribute("rel") == Some(relation))
}

fn of_atom(text: &str) -> (Vec<Entry>, Option<String>) {
    let document = Document::parse(text).unwrap();
    let feed = document.root_element();
    let text = |node: Node<'_, '_>, name: &str| {
        child(node, name).and_then(|child| child.text()).unwrap_or_default().to_owned()
    };
    let entry = |entry: Node<'_, '_>| {
        let author = child(entry, "author").or_else(|| child(feed, "author")).unwrap();
        let replies = link(entry, "replies");
        let count = replies
            .and_then(|link| link.attribute(("http://purl.org/syndication/thread/1.0", "count")))
            .map(|count| count.parse().unwrap());
        let alternate = link(entry, "alternate").unwrap();
        let own = |link: Node<'_, '_>| link.attribute("href").unwrap().to_owned();
        // The page on the site: a link elsewhere has no type.
        let page = if alternate.attribute("type").is_some() { own(alternate) } else { own(replies.unwrap()) };
        (text(entry, "id"), text(entry, "title"), page, text(author, "name"), text(entry, "published"), count)
    };
    let entries = feed.children().filter(|child| child.tag_name().name() == "entry").map(entry).collect();
    let next = link(feed, "next").and_then(|link| link.attribute("href")).map(str::to_owned);
    (entries, next)
}

#[tokio::test]
async fn every_list_is_the_same_feed_in_both_formats_and_found_from_its_page() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[SITE]).await;
    bob.tweet("Hello @alice").await;
    bob.submit_link("Something of bob's", "http://example.com/bob").await;
    ok(alice.moderate("lock", ("story", "2"), &[("reason", "r")]).await);
    let visitor = server.visitor();
    for (path, atom, json) in FEEDS {
        let (of_atom, of_json) = (read(&visitor, atom).await, read(&visitor, json).await);
        assert_eq!(of_atom.entries, of_json.entries, "{atom}");
        assert!(!of_atom.entries.is_empty(), "{atom}");
        let ids: BTreeSet<&String> = of_atom.entries.iter().map(|entry| &entry.0).collect();
        assert_eq!(ids.len(), of_atom.entries.len(), "{atom}");
        for (id, title, _, author, ..) in &of_atom.entries {
            assert!(id.starts_with(TAG), "{id}");
            assert!(!title.is_empty() && !author.is_empty(), "{atom}: {id}");
        }
        for client in [&visitor, &alice] {
            let page = page(client, path).await;
            for (kind, address) in [("application/atom+xml", atom), ("application/feed+json", json)] {
                page.one("link", &[("rel", "alternate"), ("type", kind), ("href", address)]);
            }
        }
    }
    let top = read(&visitor, "/top/json").await.entries;
    assert!(top.iter().any(|entry| entry.0 == format!("{TAG}story/1") && entry.5 > Some(0)), "{top:?}");
    let ids = |page: FeedPage| page.entries.into_iter().map(|entry| entry.0).collect::<Vec<_>>();
    assert!(ids(read(&visitor, "/atom").await).contains(&format!("{TAG}story/1")));
    assert!(ids(read(&visitor, "/comments/json").await).contains(&format!("{TAG}comment/1-1")));
}

/// Every id in an answer, of the feed and of its entries.
fn ids_in(text: &str) -> BTreeSet<String> {
    let ends = |rest: &str| rest.split(['<', '"']).next().unwrap().to_owned();
    text.split("tag:").skip(1).map(|rest| format!("tag:{}", ends(rest))).collect()
}

#[tokio::test]
async fn a_thing_has_one_id_in_every_feed_and_format_and_keeps_it_when_the_site_moves() {
    let redis = RedisServer::start();
    let mut before = BTreeMap::new();
    let folder = tempfile::tempdir().unwrap();
    let file = format!("redb:{}", folder.path().join("restored.redb").display());
    for (site_url, days) in [
        ("http://first.example", 0),
        ("https://first.example", 40),
        ("https://new.example:8443", 400),
        // Restored into the other engine.
        ("https://newest.example", 500),
    ] {
        let settings = [("site.url", site_url), ("server.old_hosts", "")];
        let url = if days == 500 { &file } else { &redis.url() };
        let server = Server::at(url, &settings).await;
        server.advance(days * 86_400);
        if days == 0 {
            let Community { alice, bob, .. } =
                &Community::on(Server::at(&redis.url(), &settings).await).await;
            bob.tweet("Hello @alice").await;
            ok(alice.moderate("lock", ("story", "2"), &[("reason", "r")]).await);
            alice.post("/inbox/feed", &[("feed", "new")]).await;
        }
        let secret = server.field("user:1", "inbox_feed").await.unwrap();
        let inbox = [format!("/inbox/feed/1-{secret}"), format!("/inbox/feed/1-{secret}/json")];
        let feeds = FEEDS.iter().flat_map(|(_, atom, json)| [(*atom).to_owned(), (*json).to_owned()]);
        for feed in feeds.chain(inbox).chain(["/rss".to_owned()]) {
            let answer = server.visitor().get(&feed).await;
            let ids = ids_in(&answer.text());
            assert!(ids.len() > 1 || feed.ends_with("json") && !ids.is_empty(), "{feed}: {ids:?}");
            assert!(ids.iter().all(|id| id.starts_with("tag:first.example,2027-01-15:")), "{feed}: {ids:?}");
            let known = before.entry(feed.clone()).or_insert_with(|| ids.clone());
            assert_eq!(*known, ids, "{feed} {site_url}");
        }
        if days == 400 {
            let backup = folder.path().join("site.backup");
            take::to_file(server.store(), backup.clone(), Box::new(|_, _| {})).await.unwrap();
            let restored = Store::open(&file, &StoreOptions::default()).await.unwrap();
            restore::write_unverified(&restored, &backup, 0, |_, _| {}).await.unwrap();
            restored.close().await;
        }
    }
    let stories = |feed: &str| -> BTreeSet<String> {
        before[feed].iter().filter(|id| id.contains(":story/")).cloned().collect()
    };
    assert_eq!(stories("/rss"), stories("/atom"));
    assert_eq!(stories("/rss"), stories("/json"));
    assert!(before["/moderations/json"].contains("tag:first.example,2027-01-15:log/1"));
}

/// The seconds of a date in a header.
fn seconds(answer: &HttpResponse) -> i64 {
    let date = answer.headers["last-modified"].to_str().unwrap();
    let date = jiff::civil::DateTime::strptime("%a, %d %b %Y %H:%M:%S GMT", date).unwrap();
    date.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second()
}

#[tokio::test]
async fn edits_and_removals_are_changes_of_the_entry_and_of_its_feeds() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[SITE]).await;
    let visitor = server.visitor();
    let feeds = ["/atom", "/json", "/rss", "/user/bob/atom", "/user/bob/json"];
    let comments = ["/comments/atom", "/news/1/json", "/user/bob/comments/atom"];
    let mut known = BTreeMap::new();
    for (step, changed) in
        [("nothing", &feeds[..0]), ("story", &feeds), ("comment", &comments), ("removal", &feeds)]
    {
        let paths = || feeds.iter().chain(&comments);
        for path in paths() {
            known.insert(*path, visitor.get(path).await);
        }
        server.advance(100);
        match step {
            "story" => _ = ok(bob.edit(2, "An edited title", "", "Some text").await),
            "comment" => _ = ok(bob.edit_comment(1, 1, "An edited comment").await),
            "removal" => _ = ok(alice.moderate("remove", ("story", "2"), &[]).await),
            _ => {}
        }
        for path in paths() {
            let before = &known[path];
            let time = before.headers["last-modified"].to_str().unwrap();
            let is_changed = changed.contains(path);
            let expected = if is_changed { StatusCode::OK } else { StatusCode::NOT_MODIFIED };
            let is_of_person = path.starts_with("/user/bob/") && step == "comment";
            let now = visitor.get(path).await;
            assert!(seconds(&now) >= seconds(before), "{step} {path}");
            let again = asked_again(&visitor, path, "if-modified-since", time).await;
            assert!(again.status == expected || is_of_person, "{step} {path} {}", again.status);
            let text = now.text();
            if step != "removal" && is_changed && !path.ends_with("rss") {
                let updated =
                    jiff::Timestamp::from_second(i64::try_from(server.now()).unwrap()).unwrap().to_string();
                let members =
                    [format!("<updated>{updated}</updated>"), format!("\"date_modified\":\"{updated}\"")];
                assert!(members.iter().any(|member| text.contains(member)), "{path} {updated}: {text}");
                let published = [format!("<published>{updated}"), format!("\"date_published\":\"{updated}")];
                assert!(!published.iter().any(|member| text.contains(member)), "{path}: {text}");
            }
        }
    }
}

#[in_memory(&[SITE])]
async fn the_pages_of_a_feed_have_each_entry_once(server: Server) {
    let alice = server.member("alice").await;
    for number in 0..130 {
        alice.submit_text(&format!("Story {number}"), "text").await;
        alice.comment(1, &format!("Comment {number}")).await;
        alice.tweet(&format!("Post {number}")).await;
    }
    let visitor = server.visitor();
    for (feed, expected) in [
        ("/atom", 130),
        ("/rss", 0),
        ("/top/json", 130),
        ("/best/new/atom", 130),
        ("/comments/json", 130),
        ("/news/1/atom", 130),
        // With the stories that were announced.
        ("/@alice/feed", 260),
        ("/user/alice/json", 390),
        ("/user/alice/stories/atom", 130),
        ("/user/alice/comments/json", 130),
    ] {
        if expected == 0 {
            let text = visitor.text(feed).await;
            assert!(text.contains("href=\"https://news.example.com/rss?start=30\" rel=\"next\""), "{text}");
            continue;
        }
        let (mut ids, mut pages, mut next) = (BTreeSet::new(), 0, Some(feed.to_owned()));
        while let Some(address) = next {
            let page = read(&visitor, &address).await;
            for entry in page.entries {
                assert!(ids.insert(entry.0.clone()), "{address}: {entry:?}");
            }
            next = page.next;
            pages += 1;
        }
        assert!(pages >= 5, "{feed} has {pages} pages");
        assert_eq!(ids.len(), expected, "{feed}");
    }
    for wrong in
        ["/atom?start=x", "/top/json?start=1000000001", "/comments/atom?before=x", "/@alice/feed?before=1"]
    {
        assert_eq!(visitor.get(wrong).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

/// Asks for a feed with a condition.
async fn asked_again(client: &Client, path: &str, name: &'static str, value: &str) -> HttpResponse {
    client.clone().with_header(name, value).get(path).await
}

#[tokio::test]
async fn a_reader_that_has_the_newest_version_is_sent_nothing_whoever_it_is() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[SITE]).await;
    bob.tweet("Hello").await;
    let visitor = server.visitor();
    for (_, atom, json) in FEEDS {
        for path in [atom, json] {
            let known = visitor.get(path).await;
            let of_member = alice.get(path).await;
            assert_eq!(
                (&known.body, &known.headers["etag"]),
                (&of_member.body, &of_member.headers["etag"]),
                "{path}"
            );
            assert_eq!(of_member.headers["cache-control"], "public, max-age=60");
            assert!(!of_member.headers.contains_key("set-cookie"));
            let version = known.headers["etag"].to_str().unwrap();
            for client in [&visitor, &alice] {
                let again = asked_again(client, path, "if-none-match", version).await;
                assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0), "{path}");
            }
            if let Some(time) = known.headers.get("last-modified") {
                let time = time.to_str().unwrap();
                let again = asked_again(&visitor, path, "if-modified-since", time).await;
                assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{path} {time}");
                let earlier = "Fri, 01 Jan 2027 00:00:00 GMT";
                let again = asked_again(&visitor, path, "if-modified-since", earlier).await;
                assert_eq!(again.status, StatusCode::OK, "{path}");
            } else {
                assert!(read(&visitor, path).await.entries.is_empty(), "{path}");
            }
        }
    }
    let before = read(&visitor, "/atom").await;
    let time = visitor.get("/atom").await.headers["last-modified"].to_str().unwrap().to_owned();
    server.advance(5);
    bob.submit_text("Something new", "text").await;
    assert_ne!(read(&visitor, "/atom").await.version, before.version);
    assert_eq!(asked_again(&visitor, "/atom", "if-none-match", &before.version).await.status, StatusCode::OK);
    assert_eq!(asked_again(&visitor, "/atom", "if-modified-since", &time).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_a_visitor_may_not_read_has_no_feed() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let visitor = server.visitor();
    for withheld in ["flagged:", "held:the reason", "removed:the reason"] {
        server.set_field("news:2", "withheld", withheld).await;
        for client in [&visitor, &alice] {
            for path in ["/news/2/atom", "/news/2/json"] {
                assert_eq!(client.get(path).await.status, StatusCode::NOT_FOUND, "{withheld} {path}");
            }
        }
    }
    for path in ["/news/3/atom", "/news/99/atom", "/user/nobody/atom", "/topic/none/json", "/site/-/atom"] {
        assert_eq!(visitor.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    ok(alice.moderate("ban", ("user", "bob"), &[("reason", "r")]).await);
    for path in ["/@bob/feed", "/user/bob/json"] {
        assert_eq!(visitor.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}

/// The feeds in a list in OPML, by their texts.
fn outlines(text: &str) -> BTreeMap<String, String> {
    let document = Document::parse(text).unwrap();
    assert_eq!(document.root_element().attribute("version"), Some("2.0"));
    let feeds = document.descendants().filter(|node| node.has_tag_name("outline"));
    let feed =
        |node: Node<'_, '_>| Some((node.attribute("text")?.to_owned(), node.attribute("xmlUrl")?.to_owned()));
    feeds.filter_map(feed).collect()
}

#[in_memory(&[SITE])]
async fn all_feeds_are_listed_for_people_and_for_their_readers(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&alice, 100).await;
    alice.submit_on("rust", "A story").await;
    let visitor = server.visitor();
    let opml = visitor.get("/feeds.opml").await;
    assert_eq!(opml.headers["content-type"], "text/x-opml; charset=utf-8");
    let listed = outlines(&opml.text());
    assert_eq!(listed["New in rust - Tidings"], format!("{HERE}/topic/rust/new/atom"));
    assert_eq!(listed["Top stories - Tidings"], format!("{HERE}/top/atom"));
    for address in listed.values() {
        let path = address.strip_prefix(HERE).unwrap();
        assert_eq!(visitor.get(path).await.status, StatusCode::OK, "{path}");
    }
    let shown = page(&visitor, "/feeds").await;
    for address in
        ["/top/atom", "/atom", "/rss", "/json", "/comments/json", "/moderations/atom", "/feeds.opml"]
    {
        assert!(shown.links_to(address), "{address}");
    }
    assert!(!shown.links_to("/feeds/following.opml"));

    bob.follow("alice").await;
    ok(bob.api_post("/api/followtopic", &[("topic", "rust")]).await);
    assert!(page(&bob, "/feeds").await.links_to("/feeds/following.opml"));
    let followed = bob.get("/feeds/following.opml").await;
    assert_eq!(followed.headers["cache-control"], "private, no-store");
    let followed = outlines(&followed.text());
    let expected = [("New in rust - Tidings", "/topic/rust/new/atom"), ("alice", "/user/alice/atom")];
    let expected = expected.map(|(name, path)| (name.to_owned(), format!("{HERE}{path}")));
    assert_eq!(followed, BTreeMap::from(expected));
    assert!(crate::pages::redirects_to(&visitor.get("/feeds/following.opml").await).starts_with("/login"));
}

#[in_memory(&[SITE])]
async fn the_inbox_is_a_private_json_feed_whose_next_page_does_not_tell_its_address(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    for number in 0..35 {
        bob.comment(news, &format!("Comment {number}")).await;
    }
    alice.post("/inbox/feed", &[("feed", "new")]).await;
    let secret = server.field(&format!("user:{}", alice.user_id), "inbox_feed").await.unwrap();
    let atom = format!("/inbox/feed/{}-{secret}", alice.user_id);
    let visitor = server.visitor();
    for path in [atom.clone(), format!("{atom}/json")] {
        let answer = visitor.get(&path).await;
        assert_eq!(answer.headers["cache-control"], "private, no-store");
        assert!(!answer.text().contains(&secret));
        let version = answer.headers["etag"].to_str().unwrap().to_owned();
        assert_eq!(
            asked_again(&visitor, &path, "if-none-match", &version).await.status,
            StatusCode::NOT_MODIFIED
        );
        let first = read(&visitor, &path).await;
        assert_eq!(first.entries.len(), 30);
        let next = first.next.unwrap();
        assert!(next.starts_with("?before="), "{next}");
        let second = read(&visitor, &format!("{path}{next}")).await;
        assert_eq!((second.entries.len(), second.next), (5, None));
    }
    let head = page(&alice, "/inbox").await;
    head.one("link", &[("rel", "alternate"), ("type", "application/atom+xml"), ("href", &*atom)]);
    let wrong = format!("{}x/json", &atom[..atom.len() - 1]);
    assert_eq!(visitor.get(&wrong).await.status, StatusCode::NOT_FOUND);
}
