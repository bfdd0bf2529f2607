//! The pages of threads, links to comments on them, and the parts of a thread in the API.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::client::{Client, HttpResponse, ok, refused, refused_saying};
use crate::html::Page;
use crate::pages::{page, redirects_to};
use crate::server::{Batch, Server, each_engine, in_memory};

/// A page, before compression.
const PAGE_BYTES: usize = 1024 * 1024;

/// Stores comments on item 1 by user 1: the first has the id 1, and each answers another one,
/// or the item (0).
async fn store_thread(server: &Server, parents: &[u64], body: &str) {
    let fields = (1_u64..).zip(parents).map(|(id, parent)| {
        let parent = if *parent == 0 { -1 } else { i64::try_from(*parent).unwrap() };
        let comment =
            json!({"body": body, "ctime": id, "user_id": 1, "parent_id": parent, "up": [1], "down": []});
        (id.to_string(), comment.to_string())
    });
    let count = parents.len().to_string();
    let fields: Vec<_> = fields.chain([("nextid".to_owned(), count.clone())]).collect();
    let mut batch = Batch::new();
    batch.delete("thread:comment:1");
    batch.set_fields("thread:comment:1", fields);
    batch.set_field("news:1", "comments", count);
    server.commit(batch).await;
}

/// A site with item 1 by alice.
async fn site(server: &Server) -> Client {
    let alice = server.member("alice").await;
    alice.submit_text("The story", "text").await;
    alice
}

/// A thread of branches of five comments, four levels deep.
fn branches(comments: u64) -> Vec<u64> {
    (1..=comments)
        .map(|id| match id % 5 {
            1 => 0,
            0 => id - 3,
            _ => id - 1,
        })
        .collect()
}

async fn found(client: &Client, path: &str) -> HttpResponse {
    let answer = client.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}");
    answer
}

/// The comments on a page, in order.
pub fn comments(page: &Page) -> Vec<u64> {
    let ids = page.all("li").filter_map(|item| item.attribute("id")?.strip_prefix("comment-"));
    ids.map(|id| id.parse().unwrap()).collect()
}

/// The comments on all pages that follow each other.
async fn all_pages(client: &Client, first: &str) -> Vec<Vec<u64>> {
    let (mut pages, mut next) = (Vec::new(), Some(first.to_owned()));
    while let Some(path) = next {
        let answer = found(client, &path).await;
        assert!(answer.body.len() <= PAGE_BYTES, "{path}: {}", answer.body.len());
        let page = Page::of(&answer);
        pages.push(comments(&page));
        let links = page.find("a", &[("rel", "next")]);
        assert!(links.is_empty() || links.len() == 2, "above and below");
        next = links.first().map(|link| link.attribute("href").unwrap().to_owned());
    }
    pages
}

#[track_caller]
fn check_partition(pages: &[Vec<u64>], comments: u64) {
    let all: Vec<u64> = pages.concat();
    assert_eq!(all.len() as u64, comments, "each comment once");
    assert_eq!(all.iter().collect::<BTreeSet<_>>(), (1..=comments).collect::<Vec<_>>().iter().collect());
}

async fn check_missing(client: &Client, path: &str) {
    assert_eq!(client.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
}

#[each_engine("one of its kind")]
async fn the_pages_of_a_thread_are_a_partition(server: Server) {
    let alice = site(&server).await;
    store_thread(&server, &branches(450), "A comment").await;
    for client in [&server.visitor(), &alice] {
        let pages = all_pages(client, "/news/1").await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [200, 200, 50]);
        check_partition(&pages, 450);
    }
    // A page that is cached is the same.
    assert_eq!(all_pages(&alice, "/news/1").await, all_pages(&alice, "/news/1?page=1").await);
    for number in ["0", "4", "-1", "", "x", "1.0", "%2B1", "99999999999999999999"] {
        check_missing(&alice, &format!("/news/1?page={number}")).await;
    }
    check_missing(&alice, "/news/1?page=1000000000").await;
    check_missing(&alice, "/news/2?page=1").await;
}

#[in_memory]
async fn a_page_has_200_comments_at_most(server: Server) {
    let alice = site(&server).await;
    for (count, sizes) in [(0, vec![0]), (199, vec![199]), (200, vec![200]), (201, vec![200, 1])] {
        store_thread(&server, &vec![0; count], "A comment").await;
        let pages = all_pages(&alice, "/news/1").await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
    }
}

#[in_memory]
async fn comments_count_with_the_room_that_they_take(server: Server) {
    let alice = site(&server).await;
    let words = |letters: usize| "eight letters ".chars().cycle().take(letters).collect::<String>();
    // Two hundred fit, with a link in each.
    for text in [words(1_000), format!("{} see http://a.example/b?c=d", words(1_000))] {
        store_thread(&server, &vec![0; 250], &text).await;
        let pages = all_pages(&alice, "/news/1").await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [200, 50]);
    }
    store_thread(&server, &vec![0; 250], &words(4_000)).await;
    let pages = all_pages(&alice, "/news/1").await;
    check_partition(&pages, 250);
    assert!(pages[0].len() >= 135, "{}", pages[0].len());
}

#[in_memory]
async fn long_comments_make_shorter_pages(server: Server) {
    let alice = site(&server).await;
    for text in ["\"".repeat(4_096), "http://a.b ".repeat(372), "www.a.b ".repeat(512)] {
        store_thread(&server, &vec![0; 120], &text).await;
        let pages = all_pages(&alice, "/news/1").await;
        check_partition(&pages, 120);
        assert!((4..=16).contains(&pages.len()), "{}", pages.len());
    }
    // A text that no person could write here is cut.
    store_thread(&server, &[0, 0], &"\"".repeat(3_000_000)).await;
    check_partition(&all_pages(&alice, "/news/1").await, 2);
    let answer = found(&alice, "/api/getcomments/1").await;
    assert!(answer.body.len() < 300_000, "{}", answer.body.len());
}

#[in_memory]
async fn each_page_has_one_address_and_says_what_its_first_comment_answers(server: Server) {
    let alice = site(&server).await;
    // The page ends within the branch of comment 1.
    let parents: Vec<u64> = (0..250).map(|id| u64::from(id > 0)).collect();
    store_thread(&server, &parents, "A comment").await;
    let on_second = format!("/news/1?at={}", comments(&page(&alice, "/news/1?page=2").await)[0]);
    for (asked, canonical) in [
        ("/news/1", "/news/1"),
        ("/news/1?page=1&utm_source=x", "/news/1"),
        ("/news/1?page=2", "/news/1?page=2"),
        (&on_second, "/news/1?page=2"),
        ("/news/1?at=1&sort=oldest", "/news/1"),
    ] {
        let page = page(&alice, asked).await;
        let whole = format!("http://localhost:8080{canonical}");
        assert_eq!(page.one("link", &[("rel", "canonical")]).attribute("href"), Some(&*whole));
        let continues = page.content().contains("Continues the replies to the comment by alice");
        assert_eq!(continues, canonical.contains('?'), "{asked}");
        assert!(!continues || page.links_to("/news/1?at=1#comment-1"), "{asked}");
        assert_eq!(page.heading().contains("page 2 of 2"), continues, "{}", page.heading());
    }
    assert!(page(&alice, "/news/1").await.forms().iter().any(|form| form.action == "/postcomment"));
    let second = page(&alice, "/news/1?page=2").await;
    assert!(second.content().contains("201–250 of 250 · pages 1 2"), "{}", second.content());
    assert!(second.links_to("/news/1") && second.find("a", &[("rel", "prev")]).len() == 2);
}

#[in_memory]
async fn a_branch_deeper_than_8_levels_continues_on_a_page_of_its_own(server: Server) {
    let alice = site(&server).await;
    let continued = |page: &Page| {
        let links = page.all("a").filter(|link| link.text() == "continue this thread");
        links.map(|link| link.attribute("href").unwrap().to_owned()).collect::<Vec<_>>()
    };
    store_thread(&server, &(0..8).collect::<Vec<_>>(), "A comment").await;
    let first = page(&alice, "/news/1").await;
    assert_eq!((comments(&first), continued(&first)), ((1..=8).collect(), Vec::new()));
    assert!(first.find("ol", &[("data-incomplete", "")]).is_empty());

    store_thread(&server, &(0..20).collect::<Vec<_>>(), "A comment").await;
    let (mut path, mut shown) = ("/news/1".to_owned(), Vec::new());
    loop {
        let part = page(&alice, &path).await;
        assert_eq!(part.find("ol", &[("data-incomplete", "")]).len(), 1, "{path}");
        shown.push(comments(&part));
        let links = continued(&part);
        let Some(next) = links.first() else { break };
        assert_eq!(links.len(), 1);
        next.split('#').next().unwrap().clone_into(&mut path);
    }
    assert_eq!(shown, [(1..=8).collect::<Vec<_>>(), (8..=15).collect(), (15..=20).collect()]);
}

#[in_memory]
async fn the_link_of_a_comment_opens_its_thread_there(server: Server) {
    let alice = site(&server).await;
    // Newer comments come first: 400 to 2, then 1 with its answers 401 to 650.
    let parents: Vec<u64> = (1..=650).map(|id| u64::from(id > 400)).collect();
    store_thread(&server, &parents, "A comment").await;
    server.set_field("thread:comment:1", "1", &stored(1, 0, 0)).await;
    let pages = all_pages(&alice, "/news/1").await;
    for comment in [400, 150, 1, 401, 650] {
        let shown = comments(&page(&alice, &format!("/news/1?at={comment}")).await);
        assert!(shown.contains(&comment) && pages.contains(&shown), "{comment}");
        let answer = alice.get(&format!("/comment/1/{comment}?sort=oldest")).await;
        assert_eq!(redirects_to(&answer), format!("/news/1?at={comment}&sort=oldest#comment-{comment}"));
    }
    assert_eq!(comments(&page(&alice, "/news/1?at=1&page=2").await), pages[1], "a page is asked for");
    for path in ["/news/1?at=999", "/news/1?at=1&page=99", "/news/1?posted=999"] {
        check_missing(&alice, path).await;
    }
}

#[in_memory]
async fn a_branch_that_is_too_deep_has_pages_with_the_parents_above(server: Server) {
    let alice = site(&server).await;
    // A chain of eight, and three hundred answers to the last of them.
    let parents: Vec<u64> = (0..8).chain(vec![8; 300]).collect();
    store_thread(&server, &parents, "A comment").await;
    let branch = all_pages(&alice, "/news/1?at=9&page=1").await;
    assert_eq!(branch.iter().map(Vec::len).collect::<Vec<_>>(), [200, 101]);
    assert_eq!(branch.concat(), [vec![8], (9..=308).rev().collect()].concat());
    for comment in [9, 100, 308] {
        let part = page(&alice, &format!("/news/1?at={comment}")).await;
        assert!(branch.contains(&comments(&part)), "{comment}");
        assert!(part.links_to("/news/1?at=8#comment-8"), "where the branch begins");
    }
    check_missing(&alice, "/news/1?at=9&page=3").await;
}

#[in_memory]
async fn a_posted_comment_is_first_among_its_siblings_at_one_address(server: Server) {
    let alice = site(&server).await;
    store_thread(&server, &vec![0; 300], "A comment").await;
    let first = comments(&page(&alice, "/news/1").await);
    for posted in [1, 300] {
        for _ in 0..2 {
            let shown = comments(&page(&alice, &format!("/news/1?posted={posted}#comment-{posted}")).await);
            assert_eq!((shown[0], shown.len()), (posted, 200));
        }
    }
    assert_eq!(comments(&page(&alice, "/news/1").await), first, "nothing is stored");
    let answer = alice.answer_to("/postcomment?news_id=1&comment_id=-1&parent_id=1&comment=Text").await;
    assert_eq!(redirects_to(&answer), "/news/1?posted=301#comment-301");
    store_thread(&server, &(0..8).chain(vec![8; 300]).collect::<Vec<_>>(), "A comment").await;
    assert_eq!(comments(&page(&alice, "/news/1?posted=9").await)[..2], [8, 9]);
}

/// A comment by user 1 as it is stored.
fn stored(ctime: u64, parent: u64, up: u64) -> String {
    let parent = if parent == 0 { -1 } else { i64::try_from(parent).unwrap() };
    let up: Vec<u64> = (2..2 + up).collect();
    json!({"body": "A comment", "ctime": ctime, "user_id": 1, "parent_id": parent, "up": up, "down": []})
        .to_string()
}

/// Checks that an address leads to a comment, and returns it.
async fn check_leads_to(client: &Client, answer: &HttpResponse, comment: u64) -> String {
    let address = redirects_to(answer);
    let (path, anchor) = address.split_once('#').unwrap();
    assert_eq!(anchor, format!("comment-{comment}"));
    assert!(comments(&page(client, path).await).contains(&comment), "{address}");
    path.to_owned()
}

#[in_memory]
async fn posting_voting_and_editing_lead_to_the_page_with_the_comment(server: Server) {
    let alice = site(&server).await;
    let bob = server.member("bob").await;
    store_thread(&server, &vec![0; 300], "A comment").await;
    let post = async |client: &Client, comment: &str, parent: &str| {
        let fields = [("news_id", "1"), ("comment_id", comment), ("parent_id", parent), ("comment", "Text")];
        client.post("/postcomment", &fields).await
    };
    let answer = post(&bob, "-1", "-1").await;
    assert_eq!(check_leads_to(&bob, &answer, 301).await, "/news/1?posted=301");
    let answer = post(&bob, "-1", "1").await;
    assert_eq!(check_leads_to(&bob, &answer, 302).await, "/news/1?posted=302");
    let answer = post(&bob, "302", "-1").await;
    assert_eq!(check_leads_to(&bob, &answer, 302).await, "/news/1?at=302");

    // The vote brings comment 5 to the top, which is on the first page.
    let second = page(&bob, "/news/1?page=2").await;
    let form = second.forms().into_iter().find(|form| form.value("comment_id") == Some("1-5")).unwrap();
    assert_eq!(form.value("next"), Some("/news/1?page=2"));
    let answer = form.pressing("up").send(&bob).await;
    assert_eq!(check_leads_to(&bob, &answer, 5).await, "/news/1?at=5");
    let there = page(&alice, "/news/1?at=302").await;
    let form = there.forms().into_iter().find(|form| form.value("comment_id") == Some("1-302")).unwrap();
    let answer = form.pressing("up").send(&alice).await;
    assert_eq!(check_leads_to(&alice, &answer, 302).await, "/news/1?at=302");

    // An answer that is too deep for the pages of the thread has a page of its own.
    store_thread(&server, &(0..8).collect::<Vec<_>>(), "A comment").await;
    let answer = post(&bob, "-1", "8").await;
    assert_eq!(check_leads_to(&bob, &answer, 9).await, "/news/1?posted=9");
}

#[in_memory]
async fn a_comment_has_the_ids_of_its_links_and_of_the_originals(server: Server) {
    let alice = site(&server).await;
    alice.comment(1, "The comment").await;
    for path in ["/news/1", "/news/1?at=1", "/usercomments/alice/0"] {
        let shown = page(&alice, path).await;
        assert!(shown.one("div", &[("id", "1-1")]).text().contains("The comment"), "{path}");
    }
}

/// The ids of nested comments in reading order, and those that say what they answer.
fn flatten(comments: &Value, ids: &mut Vec<u64>, answers: &mut Vec<(u64, u64)>) {
    for comment in comments.as_array().unwrap() {
        let id = comment["id"].as_u64().unwrap();
        ids.push(id);
        answers.extend(comment.get("parent_id").map(|parent| (id, parent.as_u64().unwrap())));
        flatten(&comment["replies"], ids, answers);
    }
}

/// All parts of the thread, and what the first comments of later parts answer.
async fn all_parts(client: &Client, query: &str) -> (Vec<Vec<u64>>, Vec<(u64, u64)>) {
    let (mut parts, mut answers, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let answer = found(client, &format!("/api/getcomments/1?{query}{after}")).await;
        assert!(answer.body.len() <= 2 * PAGE_BYTES, "{}", answer.body.len());
        let answer = ok(answer.json());
        let mut ids = Vec::new();
        flatten(&answer["comments"], &mut ids, &mut answers);
        parts.push(ids);
        match &answer["next"] {
            Value::Null => return (parts, answers),
            next => after = format!("&after={}", next.as_str().unwrap()),
        }
    }
}

#[in_memory]
async fn the_api_gives_500_comments_at_once_and_the_rest_in_parts(server: Server) {
    let alice = site(&server).await;
    for (count, sizes) in [(500, vec![500]), (501, vec![500, 1]), (1_200, vec![500, 500, 200])] {
        store_thread(&server, &branches(count), "A comment").await;
        let (parts, _) = all_parts(&alice, "").await;
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
        check_partition(&parts, count);
    }
    store_thread(&server, &branches(40), "A comment").await;
    for count in [1, 3, 7, 40, 500] {
        let (parts, answers) = all_parts(&alice, &format!("count={count}")).await;
        check_partition(&parts, 40);
        assert!(parts.iter().all(|part| part.len() <= count), "{parts:?}");
        assert_eq!(parts.concat(), all_parts(&alice, "").await.0.concat());
        for (id, parent) in answers {
            assert_eq!(branches(40)[usize::try_from(id).unwrap() - 1], parent);
        }
    }
}

#[in_memory]
async fn a_deep_thread_in_parts_keeps_its_nesting(server: Server) {
    let alice = site(&server).await;
    store_thread(&server, &[0, 1, 2, 2, 1, 5, 0], "A comment").await;
    let answer = alice.api_get("/api/getcomments/1?count=3").await;
    let ids = |comments: &Value| {
        let (mut ids, mut answers) = (Vec::new(), Vec::new());
        flatten(comments, &mut ids, &mut answers);
        (ids, answers)
    };
    // Newer ones first: 7, 1 with 5 (6) and 2 (4 and 3).
    assert_eq!(ids(&answer["comments"]), (vec![7, 1, 5], vec![]));
    let rest = alice.api_get(&format!("/api/getcomments/1?after={}", answer["next"].as_str().unwrap())).await;
    assert_eq!(ids(&rest["comments"]), (vec![6, 2, 4, 3], vec![(6, 5), (2, 1)]));
    assert_eq!(rest["comments"][1]["replies"].as_array().unwrap().len(), 2);
}

#[in_memory]
async fn a_wrong_cursor_or_count_is_refused_by_its_name(server: Server) {
    let alice = site(&server).await;
    alice.comment(1, "The comment").await;
    for (query, field) in [
        ("count=0", "count"),
        ("count=501", "count"),
        ("count=", "count"),
        ("count=-1", "count"),
        ("count=05", "count"),
        ("count=x", "count"),
        ("after=", "after"),
        ("after=0", "after"),
        ("after=2", "after"),
        ("after=x", "after"),
    ] {
        let error = refused(alice.api_get(&format!("/api/getcomments/1?{query}")).await);
        assert!(error.starts_with(&format!("The field {field} is wrong")), "{query}: {error}");
    }
    let answer = ok(alice.api_get("/api/getcomments/1?after=1&count=500").await);
    assert_eq!((&answer["comments"], &answer["next"]), (&json!([]), &Value::Null));
}

/// Threads of more than a mebibyte are cached without their texts.
#[each_engine("rounds", &[("limits.comment_edit_seconds", "0")])]
async fn a_large_thread_is_shown_as_it_is_stored_at_the_same_cost(server: Server) {
    let alice = site(&server).await;
    let bob = server.member("bob").await;
    store_thread(&server, &branches(2_000), &"x".repeat(4_096)).await;
    check_partition(&all_pages(&alice, "/news/1").await, 2_000);
    let (parts, _) = all_parts(&alice, "").await;
    check_partition(&parts, 2_000);
    assert_eq!(parts[0].len(), 231, "2 MiB of comments, each of them twice");

    let warm = server.rounds_of(&alice, "/news/1?page=2").await;
    assert!(warm <= 2, "{warm}");
    assert_eq!(server.cold_rounds_of(&server.visitor(), "/news/1?page=2").await, 2);

    ok(bob.vote_comment(1, 2_000, "up").await);
    let voted = page(&bob, "/news/1").await;
    assert!(voted.one("li", &[("id", "comment-2000")]).text().contains("2 votes"));
    ok(alice.edit_comment(1, 2_000, "Edited").await);
    for path in ["/news/1", "/news/1?at=2000", "/editcomment/1/2000"] {
        assert!(page(&alice, path).await.content().contains("Edited"), "{path}");
    }
    assert!(page(&bob, "/reply/1/2000").await.content().contains("Edited"));
    ok(alice.edit_comment(1, 2_000, "").await);
    assert!(!page(&bob, "/news/1").await.content().contains("Edited"));
}

#[in_memory]
async fn eight_readers_of_pages_of_one_large_thread_make_it_once(server: Server) {
    let alice = site(&server).await;
    store_thread(&server, &vec![0; 2_000], &"x".repeat(4_096)).await;
    let makers = async || {
        let caches = server.app.site.caches.status();
        caches.iter().find(|cache| cache.name == "threads").map_or(0, |cache| cache.misses)
    };
    let before = makers().await;
    let readers = (1..=8).map(|number| {
        let alice = alice.clone();
        tokio::spawn(async move { alice.get(&format!("/news/1?page={number}")).await.status })
    });
    for reader in readers.collect::<Vec<_>>() {
        assert_eq!(reader.await.unwrap(), StatusCode::OK);
    }
    // Each reader missed at most once; now the outline is there for all.
    let after = makers().await;
    assert!(after - before <= 8);
    found(&alice, "/news/1?page=9").await;
    assert_eq!(makers().await, after);
}

#[each_engine("races")]
async fn racing_comments_never_pass_the_limit_of_a_thread(server: Server) {
    let alice = site(&server).await;
    server.set_field("thread:comment:1", "nextid", "1995").await;
    let posts = (0..10).map(|_| {
        let alice = alice.clone();
        tokio::spawn(async move { alice.try_comment(1, None, "A comment").await })
    });
    let mut posted = BTreeSet::new();
    for post in posts.collect::<Vec<_>>() {
        let answer = post.await.unwrap();
        if answer["status"] == "ok" {
            posted.insert(answer["comment_id"].as_u64().unwrap());
        } else {
            refused_saying(answer, "2,000");
        }
    }
    assert_eq!(posted, (1_996..=2_000).collect());
    assert_eq!(server.number("news:1", "comments").await, 5);
}
