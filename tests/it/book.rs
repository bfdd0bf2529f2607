//! Programs written after the first chapter of "Redis in Action", beside the site on one
//! store: each lists what the other has posted, and neither overwrites anything.

use serde_json::{Value, json};
use tidings_domain::draws::raise_article_count;
use tidings_domain::store_check::Part;

use crate::articles::{listed, score};
use crate::client::{Client, ok};
use crate::pages::page;
use crate::redis_commands::RedisCommands;
use crate::server::{Batch, Engine, START, Server, each_engine, in_memory};
use crate::store_check::report_of;

const WEEK: u64 = 7 * 86_400;

/// The articles on the first page of the best or the newest.
async fn articles(client: &Client, order: &str) -> Vec<Value> {
    let answer = ok(client.api_get(&format!("/api/articles/{order}/1")).await);
    answer["articles"].as_array().unwrap().clone()
}

/// A program written after the book, which knows nothing of the site but the
/// keys: `article_vote` and `get_articles`.
mod program {
    use super::RedisCommands;
    use std::collections::BTreeMap;

    pub async fn article_vote(redis: &mut RedisCommands, now: u64, user: &str, article: &str) {
        let posted: f64 = redis.run(&["ZSCORE", "time:", article]).await;
        #[allow(clippy::cast_precision_loss)]
        if posted < now.saturating_sub(super::WEEK) as f64 {
            return;
        }
        let id = article.rsplit(':').next().unwrap();
        let added: i64 = redis.run(&["SADD", &format!("voted:{id}"), user]).await;
        if added == 1 {
            redis.write(&["ZINCRBY", "score:", "432", article]).await;
            redis.write(&["HINCRBY", article, "votes", "1"]).await;
        }
    }

    /// Returns the number of the new article. `now` is what `time.time()` returns.
    pub async fn post_article(
        redis: &mut RedisCommands,
        now: f64,
        user: &str,
        title: &str,
        link: &str,
    ) -> u64 {
        let id: u64 = redis.run(&["INCR", "article:"]).await;
        let voted = format!("voted:{id}");
        redis.write(&["SADD", &voted, user]).await;
        redis.write(&["EXPIRE", &voted, &super::WEEK.to_string()]).await;
        let (article, now, score) = (format!("article:{id}"), now.to_string(), (now + 432.0).to_string());
        let fields = ["title", title, "link", link, "poster", user, "time", &now, "votes", "1"];
        redis.write(&[&["HMSET", &article], &fields[..]].concat()).await;
        redis.write(&["ZADD", "score:", &score, &article]).await;
        redis.write(&["ZADD", "time:", &now, &article]).await;
        id
    }

    pub async fn get_articles(redis: &mut RedisCommands, page: u64) -> Vec<BTreeMap<String, String>> {
        let (first, last) = ((page - 1) * 25, page * 25 - 1);
        let ids: Vec<String> =
            redis.run(&["ZREVRANGE", "score:", &first.to_string(), &last.to_string()]).await;
        let mut articles = Vec::new();
        for id in ids {
            let mut article = redis.hash(&id).await;
            article.insert("id".to_owned(), id);
            articles.push(article);
        }
        articles
    }

    pub async fn get_group_articles(redis: &mut RedisCommands, group: &str) -> Vec<String> {
        let key = format!("score:{group}");
        let known: bool = redis.run(&["EXISTS", &key]).await;
        if !known {
            let group = format!("group:{group}");
            redis.write(&["ZINTERSTORE", &key, "2", &group, "score:", "AGGREGATE", "MAX"]).await;
            redis.write(&["EXPIRE", &key, "60"]).await;
        }
        redis.run(&["ZREVRANGE", &key, "0", "24"]).await
    }
}

#[tokio::test]
async fn a_program_after_the_book_works_beside_the_site() {
    let server = Server::start(Engine::Redis, &[]).await;
    let mut redis = RedisCommands::connect(server.redis.as_ref().unwrap()).await;
    let alice = server.administrator("alice").await;
    let [bob, carol] = server.people(["bob", "carol"]).await;
    let one = alice.submit_on("rust", "One").await;
    server.advance(60);
    let two = bob.submit_on("rust", "Two").await;
    ok(carol.vote(two, "up").await);

    // Its listing shows the site's articles as the site does.
    let seen = program::get_articles(&mut redis, 1).await;
    let site = ok(alice.api_get("/api/articles/score/1").await);
    for (book, site) in seen.iter().zip(site["articles"].as_array().unwrap()) {
        assert_eq!(book["id"], format!("article:{}", site["id"]));
        assert_eq!(book["title"], site["title"].as_str().unwrap());
        assert_eq!(book["link"], site["link"].as_str().unwrap());
        assert_eq!(book["poster"], site["poster"].as_str().unwrap());
        assert_eq!(book["votes"], site["votes"].to_string());
        assert_eq!(book["time"], site["time"].to_string());
    }
    assert_eq!(seen.len(), 2);
    assert_eq!(listed(&alice, "score", 1).await, [two, one]);

    // Its votes show on the site, once for each user.
    for user in ["user:2", "user:3", "user:7", "user:7", "user:1"] {
        program::article_vote(&mut redis, server.now(), user, "article:1").await;
    }
    assert_eq!(listed(&alice, "score", 1).await, [one, two]);
    let best = page(&alice, "/best").await;
    let line = best.one("li", &[("id", "news-1")]).text();
    assert!(line.contains("4 votes"), "{line}");
    // A vote there counts here; the vote on the story is independent.
    ok(bob.vote(one, "up").await);
    assert_eq!(server.number("article:1", "votes").await, 4);
    assert_eq!(server.number("news:1", "up").await, 2);
    assert_eq!(redis.run::<f64>(&["ZSCORE", "score:", "article:1"]).await, score(START, 4));

    // Each finds the list of a topic that the other has built.
    let listed = program::get_group_articles(&mut redis, "rust").await;
    assert_eq!(listed, ["article:1", "article:2"]);
    let topic = ok(alice.api_get("/api/topic/rust/score/1").await);
    assert_eq!((topic["articles"][0]["id"].as_u64(), topic["count"].as_u64()), (Some(one), Some(2)));
    redis.write(&["DEL", "score:rust"]).await;
    ok(alice.api_get("/api/topic/rust/score/1").await);
    redis.write(&["SREM", "group:rust", "article:2"]).await;
    assert_eq!(program::get_group_articles(&mut redis, "rust").await, ["article:1", "article:2"]);

    // After the week its own rule closes the article, and so does ours.
    server.advance(WEEK + 60);
    program::article_vote(&mut redis, server.now(), "user:8", "article:1").await;
    ok(carol.vote(one, "up").await);
    assert_eq!(server.number("article:1", "votes").await, 4);
    assert_eq!(server.number("news:1", "up").await, 3);
}

/// Writes the same keys as the book's `post_article`, on any engine.
async fn write_as_the_book(server: &Server, id: u64, time: &str, link: &str) {
    let (name, seconds) = (format!("article:{id}"), time.parse::<f64>().unwrap());
    let mut batch = Batch::new();
    batch.add_member(format!("voted:{id}"), "user:83271");
    let fields = [("title", "Go to statement considered harmful"), ("link", link), ("poster", "user:83271")];
    batch.set_fields(&name, fields);
    batch.set_fields(&name, [("time", time), ("votes", "1")]);
    batch.sorted_add("score:", &name, seconds + 432.0);
    batch.sorted_add("time:", &name, seconds);
    server.commit(batch).await;
}

#[each_engine("check")]
async fn an_article_without_a_story_is_listed_also_with_decimals(server: Server) {
    let alice = server.administrator("alice").await;
    let one = alice.submit_on("rust", "One").await;
    server.write(|batch| batch.increment("article:", 1)).await;
    let time = format!("{}.25", START + 10);
    write_as_the_book(&server, 2, &time, "http://goo.gl/kZUSu").await;
    server.write(|batch| batch.add_member("group:rust", "article:2")).await;
    server.advance(60);
    for order in ["score", "time"] {
        assert_eq!(listed(&alice, order, 1).await, [2, one]);
    }
    #[allow(clippy::cast_precision_loss)]
    let expected = json!({
        "id": 2, "title": "Go to statement considered harmful", "link": "http://goo.gl/kZUSu",
        "poster": "user:83271", "time": START + 10, "votes": 1, "score": (START + 10 + 432) as f64 + 0.25,
        "topics": [],
    });
    assert_eq!(articles(&alice, "score").await[0], expected);
    for path in ["/best", "/best/new", "/topic/rust", "/topic/rust/new"] {
        for client in [&alice, &server.visitor()] {
            let shown = page(client, path).await;
            assert!(shown.links_to("http://goo.gl/kZUSu"), "{path}");
            assert!(shown.content().contains("Go to statement considered harmful"), "{path}");
            assert!(!shown.links_to("/news/2"), "{path}");
        }
    }
    for path in ["/best/atom", "/topic/rust/atom"] {
        let feed = alice.text(path).await;
        assert!(feed.contains("<title>One</title>") && !feed.contains("considered harmful"), "{path}");
    }
    // A story of ours whose article got decimals from another program.
    let ours = format!("{}.5", START);
    server.write(|batch| batch.set_field("article:1", "time", &ours)).await;
    assert_eq!(listed(&alice, "score", 1).await, [2, one]);
}

#[tokio::test]
async fn articles_and_topics_of_equal_scores_are_listed_as_the_book_lists_them() {
    let server = Server::start(Engine::Redis, &[]).await;
    let mut redis = RedisCommands::connect(server.redis.as_ref().unwrap()).await;
    let alice = server.administrator("alice").await;
    // All at one second.
    for number in 1..=11 {
        alice.submit_on("rust,go,web", &format!("Story {number}")).await;
    }
    let book = program::get_group_articles(&mut redis, "rust").await;
    assert_eq!(book.iter().take(3).collect::<Vec<_>>(), ["article:9", "article:8", "article:7"]);
    assert_eq!(book.last().unwrap(), "article:1");
    let names = |answer: &Value| -> Vec<String> {
        let articles = answer["articles"].as_array().unwrap();
        articles.iter().map(|line| format!("article:{}", line["id"])).collect()
    };
    for path in ["/api/topic/rust/score/1", "/api/topic/rust,go/score/1", "/api/articles/score/1"] {
        assert_eq!(names(&ok(alice.api_get(path).await)), book, "{path}");
    }
    let topics: Vec<String> = redis.run(&["ZREVRANGE", "topics", "0", "-1"]).await;
    let answer = ok(alice.api_get("/api/topics").await);
    let listed = answer["topics"].as_array().unwrap().iter().map(|topic| topic["name"].as_str().unwrap());
    assert_eq!(listed.collect::<Vec<_>>(), topics);
}

#[in_memory]
async fn only_whole_articles_with_web_links_are_linked(server: Server) {
    let visitor = server.visitor();
    for (id, link) in [(1, "javascript:alert(1)"), (2, "http://a.example/x y<z"), (3, "http://b.example/")] {
        write_as_the_book(&server, id, "1795317575.25", link).await;
    }
    server.write(|batch| batch.set_field("article:3", "time", "soon")).await;
    assert_eq!(listed(&visitor, "time", 1).await, [2, 1]);
    let best = page(&visitor, "/best").await;
    assert!(best.links_to("http://a.example/x%20y%3Cz") && !best.links_to("javascript:alert(1)"));
    assert_eq!(best.find("li", &[("class", "item")]).len(), 2);
}

#[tokio::test]
async fn ids_of_stories_and_of_the_books_articles_are_one_sequence() {
    let server = Server::start(Engine::Redis, &[]).await;
    let mut redis = RedisCommands::connect(server.redis.as_ref().unwrap()).await;
    let alice = server.member("alice").await;
    assert_eq!(alice.submit_text("One", "text").await, 1);
    assert_eq!(alice.submit_text("Two", "text").await, 2);
    let link = "http://a.example/";
    for expected in [3, 4] {
        let id = program::post_article(&mut redis, 1_800_000_000.25, "user:1", "Its own", link).await;
        assert_eq!(id, expected);
    }
    assert_eq!(alice.submit_text("Five", "text").await, 5);
    assert_eq!(program::post_article(&mut redis, 1_800_000_000.5, "user:1", "Six", link).await, 6);
    assert_eq!(alice.submit_text("Seven", "text").await, 7);
    for (id, title) in
        [(1, "One"), (2, "Two"), (3, "Its own"), (4, "Its own"), (5, "Five"), (6, "Six"), (7, "Seven")]
    {
        assert_eq!(server.field(&format!("article:{id}"), "title").await.as_deref(), Some(title));
        let is_ours = ![3, 4, 6].contains(&id);
        assert_eq!(server.field(&format!("news:{id}"), "title").await.is_some(), is_ours, "{id}");
    }
    let mut ids = listed(&alice, "score", 1).await;
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7]);
}

#[each_engine("check")]
async fn no_counter_that_is_behind_costs_an_article(server: Server) {
    let alice = server.member("alice").await;
    for _ in 0..3 {
        alice.submit_text("A story", "text").await;
    }
    // A store of an older version, when the server starts.
    server.write(|batch| batch.delete("article:")).await;
    assert!(raise_article_count(&server.app.site).await.unwrap());
    assert_eq!(server.string("article:").await.as_deref(), Some("3"));
    // The same without a start, by the next story.
    server.write(|batch| batch.delete("article:")).await;
    assert_eq!(alice.submit_text("Four", "text").await, 4);
    assert_eq!(server.string("article:").await.as_deref(), Some("4"));
    // Another program wrote an article without drawing its number.
    write_as_the_book(&server, 5, "1795317575.25", "http://a.example/").await;
    assert_eq!(alice.submit_text("Six", "text").await, 6);
    assert_eq!(server.field("article:5", "link").await.as_deref(), Some("http://a.example/"));
}

#[each_engine("check")]
async fn the_repair_keeps_the_articles_of_other_programs(server: Server) {
    let alice = server.administrator("alice").await;
    alice.submit_on("rust", "One").await;
    server.write(|batch| batch.increment("article:", 1)).await;
    write_as_the_book(&server, 2, "1795317575.25", "http://a.example/").await;
    let mut batch = Batch::new();
    batch.add_member("group:rust", "article:2");
    batch.sorted_increment("topics", "rust", 1.0);
    server.commit(batch).await;
    let before = server.dump().await;
    assert_eq!(report_of(Part::Articles, &server, true).await.differences, []);
    assert_eq!(server.dump().await, before);
}
