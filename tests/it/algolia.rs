//! The API of the search of Hacker News: what programs search that were made for it.

use reqwest::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::client::{Client, ok};
use crate::server::{START, Server, in_memory};

const ON: [(&str, &str); 2] = [("search.enabled", "true"), ("hacker_news.jobs_topic", "jobs")];

async fn search(client: &Client, parameters: &str) -> Value {
    let answer = client.get(&format!("/api/v1/search?{parameters}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{parameters}");
    answer.json()
}

/// The numbers of the hits.
fn numbers(answer: &Value) -> Vec<u64> {
    let number = |hit: &Value| hit["objectID"].as_str().unwrap().parse().unwrap();
    answer["hits"].as_array().unwrap().iter().map(number).collect()
}

/// Waits until a search has so many hits.
async fn finds(client: &Client, parameters: &str, count: usize) {
    tidings_testing::until_ok(async || {
        // Until the index is open, the status is 503.
        let answer = client.get(&format!("/api/v1/search?{parameters}")).await;
        let is_so = answer.status == StatusCode::OK && numbers(&answer.json()).len() == count;
        if is_so { Ok(()) } else { Err((parameters, answer.json())) }
    })
    .await;
}

/// A site with items 1 to 6: a link, a question with a text, two comments, something shown, and a job.
async fn community(server: &Server) -> (Client, Client) {
    let (alice, bob) = (server.register("alice").await, server.member("bob").await);
    let link = alice.submit_link("Parsers in Rust & C", "http://blog.example.org/rust?a=1").await;
    server.advance(10);
    bob.submit_text("Ask HN: which parser?", "I *like* parsers.\n\nIt's 1/2").await;
    server.advance(10);
    let first = bob.comment(link, "A parser is a *fine* thing").await;
    server.advance(10);
    alice.reply(link, first, "Rusty words").await;
    server.advance(10);
    bob.submit_link("Show: my crab", "http://crab.example/").await;
    server.advance(10);
    alice.submit_on("jobs", "We hire parser writers").await;
    finds(&server.visitor(), "", 6).await;
    // The figures of a story follow its comments.
    finds(&server.visitor(), "numericFilters=num_comments>1", 1).await;
    (alice, bob)
}

#[in_memory(&ON)]
async fn hits_have_the_fields_of_that_api(server: Server) {
    let visitor = server.visitor();
    community(&server).await;
    let found = search(&visitor, "query=rust+parser&tags=story&advancedSyntax=true").await;
    let keys: BTreeSet<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "hits nbHits page nbPages hitsPerPage exhaustiveNbHits query params processingTimeMS";
    assert_eq!(keys, expected.split(' ').collect());
    for (name, value) in [
        ("nbHits", json!(1)),
        ("page", json!(0)),
        ("nbPages", json!(1)),
        ("hitsPerPage", json!(20)),
        ("exhaustiveNbHits", json!(true)),
        ("query", json!("rust parser")),
        ("params", json!("query=rust+parser&tags=story&advancedSyntax=true")),
    ] {
        assert_eq!(found[name], value, "{name}");
    }
    assert!(found["processingTimeMS"].is_u64());
    let none = |value: &str| json!({"value": value, "matchLevel": "none", "matchedWords": []});
    assert_eq!(
        found["hits"][0],
        json!({
            "_highlightResult": {
                "author": none("alice"),
                "title": {
                    "value": "<em>Parsers</em> in <em>Rust</em> &amp; C", "matchLevel": "full",
                    "fullyHighlighted": false, "matchedWords": ["rust", "parser"],
                },
                "url": {
                    "value": "http://blog.example.org/<em>rust</em>?a=1", "matchLevel": "partial",
                    "fullyHighlighted": false, "matchedWords": ["rust"],
                },
            },
            "_tags": ["story", "author_alice", "story_1", "front_page"],
            "author": "alice", "children": [3], "created_at": "2027-01-15T08:00:00Z",
            "created_at_i": START, "num_comments": 2, "objectID": "1", "points": 1, "story_id": 1,
            "title": "Parsers in Rust & C", "updated_at": "2027-01-15T08:00:00Z",
            "url": "http://blog.example.org/rust?a=1",
        })
    );
    let found = search(&visitor, "query=fine&tags=comment").await;
    assert_eq!(
        found["hits"][0],
        json!({
            "_highlightResult": {
                "author": none("bob"),
                "comment_text": {
                    "value": "A parser is a <i><em>fine</em></i> thing", "matchLevel": "full",
                    "fullyHighlighted": false, "matchedWords": ["fine"],
                },
                "story_title": none("Parsers in Rust &amp; C"),
                "story_url": none("http://blog.example.org/rust?a=1"),
            },
            "_tags": ["comment", "author_bob", "story_1"],
            "author": "bob", "children": [4], "comment_text": "A parser is a <i>fine</i> thing",
            "created_at": "2027-01-15T08:00:20Z", "created_at_i": START + 20, "objectID": "3",
            "parent_id": 1, "story_id": 1, "story_title": "Parsers in Rust & C",
            "story_url": "http://blog.example.org/rust?a=1", "updated_at": "2027-01-15T08:00:20Z",
        })
    );
    let text =
        search(&visitor, "query=like&attributesToHighlight=title&attributesToRetrieve=story_text,points")
            .await;
    assert_eq!(
        text["hits"][0],
        json!({
            "_highlightResult": {"title": none("Ask HN: which parser?")},
            "objectID": "2", "points": 1, "story_text": "I <i>like</i> parsers.<p>It&#x27;s 1&#x2F;2",
        })
    );
}

#[in_memory(&ON)]
async fn tags_filters_and_pages_choose_hits(server: Server) {
    let visitor = server.visitor();
    let (alice, _) = community(&server).await;
    let by_date = async |parameters: &str| {
        let answer = visitor.get(&format!("/api/v1/search_by_date?{parameters}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{parameters}");
        numbers(&answer.json())
    };
    for (parameters, expected) in [
        ("", vec![6, 5, 4, 3, 2, 1]),
        ("tags=story", vec![6, 5, 2, 1]),
        ("tags=comment", vec![4, 3]),
        ("tags=poll", vec![]),
        ("tags=ask_hn", vec![2]),
        ("tags=show_hn", vec![5]),
        ("tags=job", vec![6]),
        ("tags=front_page", vec![6, 5, 2, 1]),
        ("tags=author_BOB", vec![5, 3, 2]),
        ("tags=author_nobody", vec![]),
        ("tags=story_1", vec![4, 3, 1]),
        ("tags=story_3", vec![]),
        ("tags=story_99", vec![]),
        ("tags=story,author_bob", vec![5, 2]),
        ("tags=author_bob,(ask_hn,comment)", vec![3, 2]),
        ("tags=(story,poll),(author_alice,show_hn)", vec![6, 5, 1]),
        ("query=parser", vec![6, 3, 2, 1]),
        ("query=pars", vec![6, 3, 2, 1]),
        ("query=parser&restrictSearchableAttributes=title", vec![6, 2, 1]),
        ("query=crab.example&restrictSearchableAttributes=url", vec![5]),
        ("query=http://crab.example/&restrictSearchableAttributes=url", vec![5]),
        ("query=bob&restrictSearchableAttributes=author", vec![5, 3, 2]),
        ("query=%22which+parser%22&advancedSyntax=true", vec![2]),
        ("query=parser+-rust&advancedSyntax=true&typoTolerance=false", vec![6, 3, 2]),
        (&format!("numericFilters=created_at_i>={},created_at_i<{}", START + 10, START + 40), vec![4, 3, 2]),
        ("numericFilters=num_comments>1", vec![1]),
        ("numericFilters=num_comments=0,points>=1", vec![6, 5, 2]),
        ("hitsPerPage=2", vec![6, 5]),
        ("hitsPerPage=2&page=2", vec![2, 1]),
        ("hitsPerPage=2&page=3", vec![]),
        ("hitsPerPage=0", vec![]),
    ] {
        assert_eq!(by_date(parameters).await, expected, "{parameters}");
    }
    let page = search(&visitor, "hitsPerPage=4&page=1").await;
    assert_eq!((&page["nbHits"], &page["nbPages"], &page["page"]), (&json!(6), &json!(2), &json!(1)));
    assert_eq!(search(&visitor, "hitsPerPage=5000").await["hitsPerPage"], 1_000);
    assert!(numbers(&search(&visitor, "page=1000&hitsPerPage=1000").await).is_empty());
    let invalid = "numericFilters=points numericFilters=votes>3 tags=(story page=-1 page=x hitsPerPage=-1";
    for wrong in invalid.split(' ').chain([&*format!("query={}", "x".repeat(513))]) {
        let answer = visitor.get(&format!("/api/v1/search?{wrong}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{wrong}");
        let answer = answer.json();
        assert_eq!(answer["status"], 400, "{wrong}");
        assert!(answer["error"].is_string(), "{wrong}");
    }
    // Deleted and withheld items are no hits.
    ok(alice.delete(1).await);
    finds(&visitor, "tags=story", 3).await;
    assert_eq!(by_date("tags=comment").await, Vec::<u64>::new());
    server.set_field("news:2", "withheld", "flagged:").await;
    assert_eq!(by_date("tags=ask_hn").await, Vec::<u64>::new());
}

#[in_memory]
async fn an_item_has_all_comments_below_it(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.member("bob").await);
    let story = alice.submit_link("A link", "http://example.com/").await;
    let first = bob.comment(story, "First").await;
    let deleted = bob.reply(story, first, "Deleted").await;
    alice.reply(story, deleted, "Below it's 1/2").await;
    alice.comment(story, "Last").await;
    ok(bob.edit_comment(story, deleted, "").await);
    let visitor = server.visitor();
    let get = async |number: u64| visitor.get(&format!("/api/v1/items/{number}")).await.json();
    let date = "2027-01-15T08:00:00Z";
    let comment = |id: u64, author: &str, parent: u64, text: &str, children: Value| {
        json!({
            "author": author, "children": children, "created_at": date, "created_at_i": START, "id": id,
            "parent_id": parent, "points": null, "story_id": 1, "text": text, "title": null,
            "type": "comment", "url": null,
        })
    };
    let below = comment(4, "alice", 3, "Below it&#x27;s 1&#x2F;2", json!([]));
    let first = comment(2, "bob", 1, "First", json!([below]));
    let last = comment(5, "alice", 1, "Last", json!([]));
    assert_eq!(
        get(1).await,
        json!({
            "author": "alice", "children": [last, first], "created_at": date, "created_at_i": START,
            "id": 1, "parent_id": null, "points": 1, "story_id": 1, "text": null, "title": "A link",
            "type": "story", "url": "http://example.com/",
        })
    );
    assert_eq!(get(2).await, first);
    for nothing in ["3", "6", "0", "x", "-1"] {
        let answer = visitor.get(&format!("/api/v1/items/{nothing}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{nothing}");
        assert_eq!(answer.json(), json!({"status": 404, "error": "Not Found"}), "{nothing}");
    }
    let user = visitor.get("/api/v1/users/bob").await;
    assert_eq!(user.headers["access-control-allow-origin"], "*");
    let karma = server.field("user:2", "karma").await.unwrap().parse::<i64>().unwrap();
    assert_eq!(user.json(), json!({"about": null, "karma": karma, "username": "bob"}));
    for nothing in ["/api/v1/users/nobody", "/api/v1/nothing", "/api/v1/search"] {
        let answer = visitor.get(nothing).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{nothing}");
        assert_eq!(answer.json(), json!({"status": 404, "error": "Not Found"}), "{nothing}");
    }
}

#[in_memory]
async fn a_large_item_is_cut_at_its_end(server: Server) {
    let members = server.members(10).await;
    members[0].submit_text("A story", "text").await;
    for number in 0..300 {
        members[number % 10].comment(1, &format!("{number} {}", "'/".repeat(1_900))).await;
    }
    let answer = server.visitor().get("/api/v1/items/1").await;
    assert!(answer.body.len() < tidings_web::limits::PAGE_BYTES, "{}", answer.body.len());
    let item = answer.json();
    let children = item["children"].as_array().unwrap();
    assert_eq!(item["truncated"], true);
    assert!(children.len() > 10 && children.len() < 300, "{}", children.len());
    assert!(children[0]["text"].as_str().unwrap().starts_with("299 "));
    let branch = server.visitor().get("/api/v1/items/2").await.json();
    assert_eq!((&branch["truncated"], &branch["children"]), (&Value::Null, &json!([])));
}
