//! The size of every answer is bounded, whatever is stored and however long the request is.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;
use tidings_domain::migrations;
use tidings_web::route::{ErrorFormat, Facts};

use crate::client::Client;
use crate::community::{Access, Community, PAGES};
use crate::routes::{filled, routes_where};
use crate::server::{Batch, Engine, Server, in_memory};

/// The most bytes of a page or a feed.
const PAGE_BYTES: usize = 1024 * 1024;
/// The most bytes of a response of the API.
const API_BYTES: usize = 2 * PAGE_BYTES;
/// The longest path and query of a request that the site repeats.
const ADDRESS_BYTES: usize = 8_192;

/// Stories, tweets and people: more than any page has.
const STORIES: u64 = 110;
const TWEETS: usize = 101;
const PEOPLE: usize = 101;

/// The longest texts, each of characters that take the most bytes in some answer.
fn texts(characters: usize) -> [String; 8] {
    let repeated = |text: &str| text.chars().cycle().take(characters).collect::<String>();
    [
        repeated("\""),
        repeated("http://a.b "),
        repeated("www.a.b "),
        format!("http://a.b/?{}", "&".repeat(characters - 12)),
        repeated("🦀"),
        repeated("> - a\n\n"),
        repeated("[](http://a.b)"),
        repeated("@ab *a* `a`\n1. "),
    ]
}

/// Writes the longest name that an account of an older site may have, and the longest of what
/// people say about themselves.
async fn lengthen_account(server: &Server, user: u64, name: &str) {
    let key = format!("user:{user}");
    server
        .write(|batch| {
            for (field, value) in [
                ("username", name.to_owned()),
                ("fullname", "\"".repeat(4_096)),
                ("about", texts(4_096)[3].clone()),
                ("email", format!("{}@example.com", "\"".repeat(240))),
            ] {
                batch.set_field(&key, field, value);
            }
            batch.set(format!("username.to.id:{}", name.to_lowercase()), user.to_string());
        })
        .await;
}

/// A site with the longest of everything. Returns an administrator whose name is the longest.
async fn full_site(server: &Server) -> Client {
    let mut alice = server.administrator("alice").await;
    server.set_karma(&alice, 1_000_000).await;
    let people = server.members(PEOPLE).await;
    let topics: Vec<String> = (0..5).map(|number| format!("{}-{number}", "t".repeat(28))).collect();
    for news in 1..=STORIES {
        alice.submit_on(&topics.join(","), &format!("Story {news}")).await;
        alice.comment(news, &texts(4_096)[usize::try_from(news % 8).unwrap()]).await;
        server.advance(1);
    }
    // As imported: the longest titles, and a link or a text.
    let host = format!("{}.example", vec!["h".repeat(60); 4].join("."));
    let title = "\"".repeat(300);
    for news in 1..=STORIES {
        let url = match news % 4 {
            0 => format!("text://{}", texts(4_096)[0]),
            _ => format!("http://{host}/?{}", "&".repeat(2_048 - host.len() - 9)),
        };
        let mut batch = Batch::new();
        for (key, address) in [(format!("news:{news}"), "url"), (format!("article:{news}"), "link")] {
            batch.set_field(&key, "title", &title);
            batch.set_field(&key, address, &url);
        }
        server.commit(batch).await;
    }
    for number in 0..TWEETS {
        alice.tweet(&texts(280)[number % 8]).await;
        server.advance(1);
    }
    let name = "🦀".repeat(64);
    for (person, number) in people.iter().zip(100_u64..) {
        person.follow("alice").await;
        alice.follow(&person.username).await;
        person.tweet("Hello @alice").await;
        let long: String = "🦀".repeat(60) + &number.to_string();
        lengthen_account(server, person.user_id, &long).await;
    }
    store_replies(server).await;
    let site = &server.app.site;
    migrations::number_items(site, &|_, _| {}).await.unwrap();
    lengthen_account(server, 1, &name).await;
    alice.username = name;
    alice
}

/// A thread of the most and longest comments, all of them replies to the first one.
async fn store_replies(server: &Server) {
    let fields = (1..=2_000_u64).map(|id| {
        let parent = if id == 1 { -1 } else { 1 };
        let body = &texts(4_096)[usize::try_from(id % 8).unwrap()];
        let comment =
            json!({"body": body, "ctime": id, "user_id": 1, "parent_id": parent, "up": [1], "down": []});
        (id.to_string(), comment.to_string())
    });
    let fields: Vec<_> = fields.collect();
    server.write(|batch| batch.set_fields("thread:comment:1", fields)).await;
}

/// Waits until a search finds so many.
async fn wait_for_results(client: &Client, parameters: &str, count: u64) {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let found = client.get(&format!("/api/search?{parameters}")).await.json();
        if found["total"].as_u64().is_some_and(|total| total >= count) {
            return;
        }
        assert!(Instant::now() < deadline, "{parameters}: {}", found["total"]);
        tidings_testing::pause().await;
    }
}

async fn check_size(client: &Client, path: &str, most: usize) -> (usize, String) {
    let answer = client.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}");
    assert!(answer.body.len() <= most, "{path}: {}", answer.body.len());
    (answer.body.len(), path.to_owned())
}

#[in_memory(&[("search.enabled", "true")])]
async fn every_answer_is_bounded_whatever_is_stored(server: Server) {
    let alice = full_site(&server).await;
    // Everything is found by a number of votes.
    wait_for_results(&alice, "q=votes:%3E0", STORIES).await;
    wait_for_results(&alice, "q=votes:%3E0&kind=comments", 2_000).await;
    let name: String = url::form_urlencoded::byte_serialize(alice.username.as_bytes()).collect();
    let follower: String =
        url::form_urlencoded::byte_serialize(format!("{}100", "🦀".repeat(60)).as_bytes()).collect();
    let topic = format!("{}-0", "t".repeat(28));

    let pages = PAGES.iter().map(|(path, _)| (*path).to_owned()).filter(|path| {
        // Those of the people and topics of the small community follow below.
        !["alice", "bob", "BOB", "topic/", "latest/1"].iter().any(|name| path.contains(name))
            && !path.ends_with("/3/1")
            && !path.contains("moving")
    });
    // Every public address, about what there is most of.
    let of_table = |errors: ErrorFormat| {
        let is_public = move |facts: &Facts| facts.errors == errors && facts.parameters().is_some();
        let routes = routes_where(|route| route.get.filter(is_public));
        let at_name = format!("@{name}");
        let values = [
            ("/topic/{name}", "/topic/{topics}"),
            ("{name}", &*name),
            ("{at_name}", &*at_name),
            ("{topics}", &*topic),
        ];
        let about = |route: String| {
            filled(&values.iter().fold(route, |route, (part, value)| route.replace(part, value)))
        };
        // Without pages that are not there, and those that lead elsewhere.
        let is_shown = |path: &String| !["/assets/app.css", "/comment/1/1", "/item"].contains(&path.as_str());
        routes.into_iter().map(about).filter(is_shown).collect::<Vec<_>>()
    };
    let more = "/latest/10 /news/1?page=2 /news/1?page=40 /news/1?at=1&page=3 /reply/1/2 /news/2/json \
        /feeds/following.opml /comments?before=90 /search?q=votes:%3E0 /search?q=http&kind=comments \
        /search?q=http&kind=all&page=3 /search?q=hello&kind=posts /search?q=http&kind=people \
        /search.atom?q=http&kind=all /search.json?q=http&kind=comments";
    let more = more.split(' ').map(str::to_owned).chain([format!("/@{follower}")]);
    let mut sizes = Vec::new();
    for path in pages.chain(more).chain(of_table(ErrorFormat::Page)) {
        sizes.push(check_size(&alice, &path, PAGE_BYTES).await);
    }
    let more = "/api/getnews/top/0/32 /api/getcomments/2 /api/articles/time/1 \
        /api/timeline/home?count=100 /api/timeline/everyone?count=100 /api/search?q=http&kind=comments \
        /api/search?q=votes:%3E0&kind=all /api/search/suggest?q=t \
        /api/v1/search?hitsPerPage=1000&query=http /api/v1/search_by_date?hitsPerPage=1000 \
        /api/v1/items/2 /v0/item/2.json /v0/updates.json";
    let of_people = ["timeline/user", "followers", "followings"];
    let of_people = of_people.map(|list| format!("/api/{list}/{name}?count=100"));
    let more = more.split(' ').map(str::to_owned).chain(of_people).chain([format!("/v0/user/{name}.json")]);
    let calls = [ErrorFormat::Api, ErrorFormat::HackerNews, ErrorFormat::Algolia].map(of_table);
    for path in more.chain(calls.concat()) {
        sizes.push(check_size(&alice, &path, API_BYTES).await);
    }
    sizes.sort();
    println!("the largest: {:?}", sizes.iter().rev().take(12).collect::<Vec<_>>());
}

#[in_memory]
async fn what_does_not_fit_on_a_page_is_on_the_next(server: Server) {
    full_site(&server).await;
    let (mut start, mut shown, mut pages) = (0, Vec::new(), 0);
    loop {
        pages += 1;
        let answer = server.visitor().get(&format!("/latest/{start}")).await;
        let page = crate::html::Page::of(&answer);
        let stories = page.all("li").filter_map(|item| item.attribute("id")?.strip_prefix("news-"));
        shown.extend(stories.map(|id| id.parse::<u64>().unwrap()));
        match page.find("a", &[("rel", "next")]).first() {
            Some(next) => {
                let next = next.attribute("href").unwrap().strip_prefix("/latest/").unwrap();
                start = next.parse().unwrap();
            }
            None => break,
        }
        assert_eq!(shown.len(), start, "the next page goes on where this one ends");
    }
    assert_eq!(shown, (1..=STORIES).rev().collect::<Vec<_>>());
    assert!(pages > 2, "fewer than 100 stories fit");
}

#[tokio::test]
async fn the_longest_address_adds_little_to_a_page() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    for number in 4..=60 {
        alice.submit_text(&format!("Story {number}"), "text").await;
        alice.comment(1, "One of many").await;
        server.member(&format!("member-{number}")).await.follow("alice").await;
    }
    for (path, access) in PAGES.iter().copied() {
        let separator = if path.contains('?') { '&' } else { '?' };
        let query = "=".repeat(ADDRESS_BYTES - path.len() - 3);
        let long = format!("{path}{separator}q={query}");
        for client in [&alice, &server.visitor()] {
            if client.auth.is_none() && matches!(access, Access::Members | Access::Alice) {
                let answer = client.get(&long).await;
                assert!(answer.headers["location"].len() <= 4 * ADDRESS_BYTES, "{path}");
                continue;
            }
            let (plain, long) = (client.get(path).await, client.get(&long).await);
            assert_eq!(plain.status, long.status, "{path}");
            assert!(long.body.len() <= plain.body.len() + 4 * ADDRESS_BYTES, "{path}: {}", long.body.len());
        }
    }
    // Nor does a path that says the same with more characters.
    for path in [format!("/latest/{}", "0".repeat(800)), format!("/usernews/alice/{}", "0".repeat(800))] {
        assert_eq!(alice.get(&path).await.status, StatusCode::NOT_FOUND);
    }
}
