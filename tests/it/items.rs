//! Item numbers, and the newest comments of the site.

use tidings_domain::{keys, migrations};

use crate::client::{Client, ok};
use crate::html::Page;
use crate::pages::{page, redirects_to};
use crate::server::{Batch, Server, each_engine, in_memory};

/// The items of a store with their numbers, in the order of the numbers.
async fn items(server: &Server) -> Vec<(String, u64)> {
    let mut items = server.sorted(keys::ITEMS).await;
    items.sort_by(|left, right| left.1.total_cmp(&right.1));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    items.into_iter().map(|(member, score)| (member, score as u64)).collect()
}

fn numbered(items: &[(&str, u64)]) -> Vec<(String, u64)> {
    items.iter().map(|(member, number)| ((*member).to_owned(), *number)).collect()
}

/// The comments on a page of the list, as `<story>-<comment>`.
fn listed(page: &Page) -> Vec<String> {
    let items = page.all("li").filter_map(|item| item.attribute("id")?.strip_prefix("comment-"));
    items.map(str::to_owned).collect()
}

async fn comments(client: &Client, path: &str) -> Vec<String> {
    listed(&page(client, path).await)
}

#[in_memory]
async fn stories_and_comments_have_one_sequence_of_numbers(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let story = alice.submit_text("First", "text").await;
    let comment = bob.comment(story, "A comment").await;
    let second = bob.submit_text("Second", "text").await;
    let reply = alice.reply(story, comment, "A reply").await;
    let expected = [
        (format!("news:{story}"), 1),
        (format!("comment:{story}:{comment}"), 2),
        (format!("news:{second}"), 3),
        (format!("comment:{story}:{reply}"), 4),
    ];
    assert_eq!(items(&server).await, expected);
    let visitor = server.visitor();
    for (number, address) in [
        (1, format!("/news/{story}")),
        (2, format!("/news/{story}?at={comment}#comment-{comment}")),
        (4, format!("/news/{story}?at={reply}#comment-{reply}")),
    ] {
        assert_eq!(redirects_to(&visitor.get(&format!("/item?id={number}")).await), address);
    }
    for (query, status) in [("?id=5", 404), ("?id=0", 400), ("?id=x", 400), ("", 400)] {
        assert_eq!(visitor.get(&format!("/item{query}")).await.status, status, "{query}");
    }
}

#[each_engine("other versions")]
async fn a_store_from_before_gets_its_numbers_in_the_order_of_time(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let story = alice.submit_text("First", "text").await;
    server.advance(10);
    let second = bob.submit_text("Second", "text").await;
    server.advance(10);
    bob.comment(story, "A comment").await;
    server.advance(10);
    bob.submit_text("Third", "text").await;
    let expected = numbered(&[
        (&format!("news:{story}"), 1),
        (&format!("news:{second}"), 2),
        ("comment:1:1", 3),
        ("news:3", 4),
    ]);
    let forget = async || {
        let mut batch = Batch::new();
        batch.delete(keys::ITEMS);
        batch.delete(keys::ITEMS_COUNT);
        batch.set(keys::LAYOUT_VERSION, "4");
        server.commit(batch).await;
    };
    forget().await;
    let site = &server.app.site;
    server.migrate().await;
    assert_eq!(items(&server).await, expected);
    // A story that another program has posted is numbered at the next start, and by a repair.
    server.write(|batch| batch.sorted_remove(keys::ITEMS, "news:3")).await;
    migrations::complete_lamer_news(site, &|_, _| {}).await.unwrap();
    assert_eq!(items(&server).await.pop(), Some(("news:3".to_owned(), 5)));
}

#[in_memory]
async fn the_newest_comments_of_the_site_are_listed_as_their_reader_may_see_them(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let story = alice.submit_text("A story", "text").await;
    let parent = bob.comment(story, "The parent\n\nsays more").await;
    let reply = alice.reply(story, parent, "A reply").await;
    let other = alice.submit_text("Another story", "text").await;
    let last = bob.comment(other, "The last").await;
    let all = [format!("{other}-{last}"), format!("{story}-{reply}"), format!("{story}-{parent}")];
    let visitor = server.visitor();
    assert_eq!(comments(&visitor, "/comments").await, all);
    let shown = page(&visitor, "/comments").await;
    for part in ["Another story", "in reply to", "The parent"] {
        assert!(shown.content().contains(part), "{part}");
    }
    assert_eq!(comments(&visitor, "/comments?before=5").await, all[1..]);
    let feed = visitor.text("/comments/atom").await;
    assert!(feed.contains("bob on Another story") && feed.contains("The parent"), "{feed}");
    // Comments that a reader has hidden or muted are left out, and deleted ones are nowhere.
    ok(alice.api_post("/api/hide", &[("news_id", &other.to_string())]).await);
    assert_eq!(comments(&alice, "/comments").await, all[1..]);
    ok(alice.api_post("/api/mute", &[("what", "user"), ("value", "bob")]).await);
    assert_eq!(comments(&alice, "/comments").await, all[1..2]);
    assert!(!page(&alice, "/comments").await.content().contains("The parent"));
    ok(bob.edit_comment(other, last, "").await);
    assert_eq!(comments(&visitor, "/comments").await, all[1..]);
    let answer = visitor.get("/comments?before=x").await;
    assert_eq!(answer.status, 400);
}

#[in_memory]
async fn a_long_list_of_comments_has_pages(server: Server) {
    let alice = server.member("alice").await;
    let story = alice.submit_text("A story", "text").await;
    for number in 0..35 {
        alice.comment(story, &format!("Comment {number}")).await;
    }
    let visitor = server.visitor();
    let first = page(&visitor, "/comments").await;
    assert_eq!(listed(&first).len(), 30);
    let next = first.one("a", &[("rel", "next")]).attribute("href").unwrap().to_owned();
    let second = page(&visitor, &next).await;
    assert_eq!(listed(&second), ["1-5", "1-4", "1-3", "1-2", "1-1"]);
    assert!(second.find("a", &[("rel", "next")]).is_empty());
}
