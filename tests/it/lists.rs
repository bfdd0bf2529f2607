//! The lists as one reader has them: hidden and saved stories, the past, followed and muted
//! topics.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::Value;
use tidings_domain::keys;
use tidings_web::route::{ErrorFormat, Facts, Listed};
use tidings_web::site_lists::SiteList;

use crate::client::{Client, ids, ok, refused, refused_saying};
use crate::html::Page;
use crate::pages::{error_message, page, redirects_to};
use crate::routes::shared_reads;
use crate::server::{Batch, Server, each_engine, in_memory};

const DAY: u64 = 86_400;

async fn mark(client: &Client, action: &str, news: u64) -> Value {
    client.api_post(&format!("/api/{action}"), &[("news_id", &news.to_string())]).await
}

async fn stand(client: &Client, action: &str, topic: &str) -> Value {
    client.api_post(&format!("/api/{action}"), &[("topic", topic)]).await
}

/// The stories on a page, in order.
fn stories(page: &Page) -> Vec<u64> {
    let items = page.all("li").filter_map(|item| item.attribute("id")?.strip_prefix("news-"));
    items.map(|id| id.parse().unwrap()).collect()
}

async fn listed(client: &Client, path: &str) -> Vec<u64> {
    stories(&page(client, path).await)
}

/// The stories that a call of the API returns, and the number of all.
async fn called(client: &Client, path: &str) -> (Vec<u64>, u64) {
    let answer = ok(client.api_get(path).await);
    let list = if answer["news"].is_array() { "news" } else { "articles" };
    (ids(&answer[list]), answer["count"].as_u64().unwrap())
}

/// The date of a time of the tests' clock.
fn date(seconds: u64) -> String {
    jiff::Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap().strftime("%Y-%m-%d").to_string()
}

/// All pages of a list, by their links "more".
async fn all_pages(client: &Client, first: &str) -> Vec<Vec<u64>> {
    let (mut address, mut pages) = (Some(first.to_owned()), Vec::new());
    while let Some(path) = address.take() {
        let page = page(client, &path).await;
        pages.push(stories(&page));
        let next = page.find("a", &[("rel", "next")]);
        address = next.first().map(|next| next.attribute("href").unwrap().to_owned());
        assert!(pages.len() < 20, "the list has no end");
    }
    pages
}

/// Every list of stories that leaves out what its viewer has hidden, as a page or as a call: all but that of an author.
fn lists(errors: ErrorFormat, now: u64) -> BTreeSet<String> {
    let is_list = |facts: &Facts| facts.listed == Some(Listed::Stories) && facts.errors == errors;
    let lists = shared_reads(|facts| is_list(facts) && !facts.is_for_everyone()).into_iter();
    let lists = lists.filter(|list| !list.contains("alice"));
    lists.map(|list| list.replace("links", "rust").replace("2027-01", &date(now))).collect()
}

/// Three stories about rust from one site, and their author. The second is about go too.
async fn three_stories(server: &Server) -> Client {
    let alice = server.member("alice").await;
    server.set_karma(&alice, 100).await;
    for (number, topics) in [(1, "rust"), (2, "rust,go"), (3, "rust")] {
        let url = format!("https://example.com/{number}");
        alice.submit_link_on(topics, &format!("Story {number}"), &url).await;
        server.advance(1);
    }
    alice
}

#[in_memory]
async fn a_hidden_story_leaves_the_lists_of_its_reader_only(server: Server) {
    let alice = three_stories(&server).await;
    let bob = server.member("bob").await;
    for _ in 0..2 {
        assert_eq!(mark(&bob, "hide", 2).await, serde_json::json!({"status": "ok"}));
    }
    let more = ["/topic/rust,go", "/site/example.com"].map(str::to_owned);
    for list in &lists(ErrorFormat::Page, server.now()).into_iter().chain(more).collect::<Vec<_>>() {
        for reader in [&alice, &server.visitor()] {
            assert_eq!(listed(reader, list).await, [3, 2, 1], "{list}");
        }
        // Made, and from the caches.
        for _ in 0..2 {
            let page = page(&bob, list).await;
            assert_eq!(stories(&page), [3, 1], "{list}");
            assert!(page.content().contains("1 story is hidden here."), "{list}");
            assert!(page.links_to(&format!("{list}?hidden=1")), "{list}");
        }
        assert_eq!(listed(&bob, &format!("{list}?hidden=1")).await, [3, 2, 1], "{list}");
    }
    let of_all = SiteList::names().map(|sort| format!("/api/getnews/{sort}/0/30"));
    for call in &lists(ErrorFormat::Api, server.now()).into_iter().chain(of_all).collect::<Vec<_>>() {
        assert_eq!(called(&bob, call).await, (vec![3, 1], 3), "{call}");
        assert_eq!(called(&alice, call).await, (vec![3, 2, 1], 3), "{call}");
        assert_eq!(called(&bob, &format!("{call}?hidden=1")).await, (vec![3, 2, 1], 3), "{call}");
    }
    // Its own page, the list of the hidden ones and that of its author have it.
    assert!(page(&bob, "/news/2").await.heading().starts_with("Story 2"));
    assert_eq!(listed(&bob, "/usernews/alice/0").await, [3, 2, 1]);
    assert_eq!(listed(&bob, "/hidden/0").await, [2]);
    assert!(listed(&alice, "/hidden/0").await.is_empty());
    for _ in 0..2 {
        ok(mark(&bob, "unhide", 2).await);
    }
    assert_eq!(listed(&bob, "/").await, [3, 2, 1]);
    assert!(listed(&bob, "/hidden/0").await.is_empty());
}

#[in_memory]
async fn stories_are_saved_without_a_vote_and_what_is_not_there_cannot_be_marked(server: Server) {
    let alice = three_stories(&server).await;
    let bob = server.member("bob").await;
    let karma = server.karma(&bob).await;
    ok(mark(&bob, "save", 1).await);
    server.advance(1);
    ok(mark(&bob, "save", 3).await);
    assert_eq!(listed(&bob, "/saved/0").await, [3, 1]);
    assert_eq!((bob.news(1).await["up"].clone(), server.karma(&bob).await), (1.into(), karma));
    let front = page(&bob, "/").await;
    let saved = front.find("button", &[("formaction", "/unsave")]);
    assert_eq!(saved.iter().map(|button| button.text()).collect::<Vec<_>>(), ["saved", "saved"]);
    assert_eq!(front.find("button", &[("formaction", "/save")]).len(), 1);
    ok(mark(&bob, "unsave", 3).await);
    // A vote is listed apart, and stays when the story is saved and removed.
    let of_lamer_news = format!("user.saved:{}", bob.user_id);
    assert_eq!(server.ids(&of_lamer_news).await, [1]);
    ok(bob.vote(2, "up").await);
    assert_eq!((listed(&bob, "/saved").await, listed(&bob, "/upvoted").await), (vec![1], vec![2]));
    ok(mark(&bob, "save", 2).await);
    assert_eq!((listed(&bob, "/saved").await, listed(&bob, "/upvoted/0").await), (vec![2, 1], vec![2]));
    ok(mark(&bob, "unsave", 2).await);
    assert_eq!((listed(&bob, "/saved").await, listed(&bob, "/upvoted").await), (vec![1], vec![2]));
    assert_eq!(server.ids(&of_lamer_news).await, [1, 2]);
    assert_eq!(server.ids("news.up:2").await, [alice.user_id, bob.user_id]);
    for reader in [&server.visitor(), &alice] {
        assert!(!page(reader, "/user/bob").await.links_to("/upvoted"));
    }
    // What is not there cannot be marked.
    ok(mark(&alice, "hide", 1).await);
    ok(alice.delete(1).await);
    for action in ["hide", "unhide", "save", "unsave"] {
        assert_eq!(refused(mark(&alice, action, 9).await), "There is no such story.");
    }
    for action in ["hide", "save"] {
        assert_eq!(refused(mark(&alice, action, 1).await), "This story has been deleted.");
    }
    let hidden = page(&alice, "/hidden/0").await;
    assert!(hidden.content().contains("[deleted story]"), "{}", hidden.content());
    ok(mark(&alice, "unhide", 1).await);
    assert!(listed(&alice, "/hidden/0").await.is_empty());
    let visitor = server.visitor();
    assert_eq!(refused(mark(&visitor, "hide", 2).await), "You must be logged in.");
    assert!(page(&visitor, "/").await.find("button", &[("name", "news_id")]).is_empty());
}

#[each_engine("other versions")]
async fn an_earlier_store_gets_the_list_of_what_was_saved_without_a_vote(server: Server) {
    three_stories(&server).await;
    let [bob, carol] = server.people(["bob", "carol"]).await;
    for story in [1, 2] {
        ok(mark(&bob, "save", story).await);
    }
    ok(bob.vote(2, "up").await);
    ok(carol.vote(3, "up").await);
    let dave = server.member("dave").await;
    ok(mark(&dave, "save", 1).await);
    server.set_field(&format!("user:{}", dave.user_id), "deactivated", "1").await;
    let [key, other] = [&bob, &carol].map(|user| format!("user:{}:saved", user.user_id));
    let mut batch = Batch::new();
    batch.delete(&key);
    batch.delete(format!("user:{}:saved", dave.user_id));
    batch.set(keys::LAYOUT_VERSION, "5");
    // Of a story that is gone.
    batch.sorted_add(format!("user.saved:{}", bob.user_id), "77", 1.0);
    server.commit(batch).await;
    server.migrate().await;
    assert_eq!((server.ids(&key).await, server.ids(&other).await), (vec![1], vec![]));
    assert_eq!(listed(&bob, "/saved").await, [1]);
    assert_eq!(server.ids(&format!("user:{}:saved", dave.user_id)).await, [0; 0], "dave has left");
}

#[in_memory]
async fn without_a_script_the_list_says_what_was_hidden_and_undoes_it(server: Server) {
    three_stories(&server).await;
    let bob = server.member("bob").await;
    let front = page(&bob, "/latest/0").await;
    let form = front.form("/hide");
    assert_eq!(redirects_to(&form.pressing("2").send(&bob).await), "/latest/0?hid=2");
    let list = page(&bob, "/latest/0?hid=2").await;
    assert_eq!(stories(&list), [3, 1]);
    assert!(list.one("div", &[("role", "status")]).text().contains("Hidden: Story 2."));
    let undo = list.form("/unhide").pressing("2");
    assert_eq!(redirects_to(&undo.send(&bob).await), "/latest/0#news-2");
    // Once it is undone, or for another reader, the address says nothing.
    for reader in [&bob, &server.member("carol").await, &server.visitor()] {
        let list = page(reader, "/latest/0?hid=2").await;
        assert!(list.find("div", &[("role", "status")]).is_empty());
        assert_eq!(stories(&list), [3, 2, 1]);
    }
    let saved = bob.post("/save", &[("news_id", "1"), ("next", "/best?page=1&x=y")]).await;
    assert_eq!(redirects_to(&saved), "/best?page=1#news-1");
    let own = bob.post("/hide", &[("news_id", "1"), ("next", "/news/1")]).await;
    assert_eq!(redirects_to(&own), "/news/1");
    page(&bob, "/news/1").await.one("button", &[("formaction", "/unhide"), ("value", "1")]);
    let elsewhere = bob.post("/hide", &[("news_id", "3"), ("next", "//evil.example/")]).await;
    assert_eq!(redirects_to(&elsewhere), "/?hid=3");
}

#[in_memory]
async fn only_the_latest_hidden_stories_are_kept(server: Server) {
    let bob = server.member("bob").await;
    let key = format!("user:{}:hidden", bob.user_id);
    bob.submit_text("One", "text").await;
    server
        .write(|batch| (10..2_010).for_each(|id| batch.sorted_add(&key, id.to_string(), f64::from(id))))
        .await;
    ok(mark(&bob, "hide", 1).await);
    let hidden = server.ids(&key).await;
    assert_eq!((hidden.len(), hidden.contains(&1), hidden.contains(&10)), (2_000, true, false));
    let key = format!("user:{}:saved", bob.user_id);
    server
        .write(|batch| (10..10_009).for_each(|id| batch.sorted_add(&key, id.to_string(), f64::from(id))))
        .await;
    ok(mark(&bob, "save", 1).await);
    ok(mark(&bob, "unsave", 1).await);
    server.write(|batch| batch.sorted_add(&key, "9", 1.0)).await;
    assert!(refused(mark(&bob, "save", 1).await).starts_with("You have saved 10,000 stories"));
}

#[in_memory]
async fn every_list_of_stories_has_an_end(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&alice, 100).await;
    for number in 1..=65 {
        alice.submit_link_on("rust", "A story", &format!("https://example.com/{number}")).await;
        ok(mark(&bob, if number % 2 == 0 { "save" } else { "hide" }, number).await);
    }
    let visitor = server.visitor();
    let month = date(server.now())[..7].to_owned();
    for (list, sizes) in [
        ("/", &[30, 30, 5][..]),
        ("/latest/0", &[30, 30, 5]),
        ("/best", &[30, 30, 5]),
        ("/topic/rust/new", &[30, 30, 5]),
        ("/site/example.com", &[30, 30, 5]),
        ("/site/example.com/stories/0", &[30, 30, 5]),
        (&format!("/past/{month}"), &[30, 30, 5]),
    ] {
        let pages = all_pages(&visitor, list).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "{list}");
        let mut seen = pages.concat();
        seen.sort_unstable();
        assert_eq!(seen, (1..=65).collect::<Vec<_>>(), "{list}");
        // A reader of them has each story that is not hidden once.
        let mut shown = all_pages(&bob, list).await.concat();
        shown.sort_unstable();
        assert_eq!(shown, (1..=65).filter(|id| id % 2 == 0).collect::<Vec<_>>(), "{list}");
    }
    for (list, sizes) in [("/saved/0", [30, 2]), ("/hidden/0", [30, 3])] {
        let pages = all_pages(&bob, list).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "{list}");
    }
    let second = page(&visitor, "/top/30").await;
    assert!(second.links_to("/") && second.links_to("/top/60"));
    let second = page(&bob, "/top/30?hidden=1").await;
    assert!(second.links_to("/?hidden=1") && second.links_to("/top/60?hidden=1"));
    assert!(page(&visitor, "/top/90").await.content().contains("No more stories."));
}

/// A site with stories of two months, and their author.
async fn two_months(server: &Server) -> Client {
    let alice = server.administrator("alice").await;
    // 30 December 2026, 31 December, 1 January, and on from there.
    for (id, days, up, down) in
        [(1, 0, 3, 0), (2, 1, 1, 0), (3, 1, 5, 0), (4, 1, 6, 1), (9, 1, 5, 0), (10, 1, 5, 0), (5, 2, 9, 0)]
    {
        let posted = 1_798_588_800 + days * DAY + id;
        let mut batch = Batch::new();
        let fields = [
            ("id", id.to_string()),
            ("title", format!("Story {id}")),
            ("url", format!("https://example.com/{id}")),
            ("user_id", "1".to_owned()),
            ("ctime", posted.to_string()),
            ("up", up.to_string()),
            ("down", down.to_string()),
        ];
        batch.set_fields(format!("news:{id}"), fields);
        #[allow(clippy::cast_precision_loss)]
        batch.sorted_add("news.cron", id.to_string(), posted as f64);
        batch.sorted_add("news.top", id.to_string(), 0.0);
        batch.set("news.count", "10");
        batch.set("article:", "10");
        server.commit(batch).await;
    }
    alice
}

#[in_memory]
async fn the_past_has_the_best_of_a_day_and_of_a_month(server: Server) {
    let alice = two_months(&server).await;
    let day = "/api/past/2026-12-31/0/30";
    let month = "/api/past/2026-12/0/30";
    for _ in 0..2 {
        assert_eq!(called(&alice, day).await, (vec![10, 9, 4, 3, 2], 5));
        assert_eq!(called(&alice, month).await, (vec![10, 9, 4, 3, 1, 2], 6));
    }
    assert_eq!(called(&alice, "/api/past/2026-12/1/2").await, (vec![9, 4], 6));
    assert_eq!(called(&alice, "/api/past/2027-01-01/0/30").await, (vec![5], 1));
    assert_eq!(called(&alice, "/api/past/1999-01/0/30").await, (vec![], 0));
    // Changes show at once while the list is stored.
    server.set_karma(&alice, 100).await;
    ok(alice.vote(3, "up").await);
    assert_eq!(called(&server.visitor(), day).await.0, [3, 10, 9, 4, 2]);
    ok(alice.delete(9).await);
    assert_eq!(called(&server.visitor(), day).await, (vec![3, 10, 4, 2], 4));
    assert_eq!(called(&server.visitor(), month).await, (vec![3, 10, 4, 1, 2], 5));
    let today = format!("/api/past/{}/0/30", date(server.now()));
    assert_eq!(called(&alice, &today).await, (vec![], 0));
    for (id, count) in [(11, 1), (12, 2)] {
        assert_eq!(alice.submit_text("Today", "text").await, id);
        assert_eq!(called(&alice, &today).await.1, count);
    }
    ok(alice.delete(11).await);
    ok(alice.delete(12).await);
    assert_eq!(called(&alice, &today).await, (vec![], 0));
    assert_eq!(alice.submit_text("Today again", "text").await, 13);
    assert_eq!(called(&alice, &today).await, (vec![13], 1));
}

/// Stories that are 10 and 2 days old and two of today, the second of today with a vote down.
async fn of_ten_days(server: &Server) -> [Client; 3] {
    let people = server.people(["alice", "bob", "carol"]).await;
    for (id, days) in [(1, 8), (2, 2), (3, 0), (4, 0)] {
        assert_eq!(people[0].submit_text(&format!("Story {id}"), "text").await, id);
        server.advance(days * DAY);
    }
    let [_, bob, carol] = &people;
    server.set_karma(bob, 100).await;
    server.set_karma(carol, 100).await;
    for (voter, story) in [(bob, 1), (carol, 1), (bob, 2), (bob, 3)] {
        ok(voter.vote(story, "up").await);
    }
    ok(carol.vote(4, "down").await);
    people
}

#[in_memory]
async fn the_front_page_has_a_tab_for_each_span_with_its_stories_by_votes(server: Server) {
    let [alice, bob, _] = of_ten_days(&server).await;
    let visitor = server.visitor();
    let tabs = ["/top/day", "/top/week", "/top/month", "/top/year", "/top/all"];
    let names = ["Now", "Day", "Week", "Month", "Year", "All"];
    for (here, name) in ["/"].iter().chain(&tabs).zip(names) {
        let shown = page(&visitor, here).await;
        for tab in tabs {
            assert_eq!(shown.links_to(tab), tab != *here, "{tab} on {here}");
        }
        assert_eq!(shown.find("a", &[("aria-current", "page")]).last().unwrap().text(), name);
    }
    page(&visitor, "/top/week").await.one("link", &[("href", "/top/week/atom")]);
    let feed = visitor.text("/top/week/atom").await;
    assert!(
        feed.contains("Top stories of the week") && feed.contains("Story 2") && !feed.contains("Story 1")
    );
    // Their former places have what left the menu.
    for path in ["/topics", "/ranking"] {
        let shown = page(&visitor, path).await;
        assert!(["/best", "/past", "/random"].iter().all(|list| shown.links_to(list)), "{path}");
    }
    let front = page(&visitor, "/").await;
    assert!(!["/best", "/past", "/random"].iter().any(|list| front.links_to(list)));
    let span = async |name: &str| called(&visitor, &format!("/api/getnews/top_{name}/0/30")).await.0;
    for _ in 0..2 {
        assert_eq!((span("day").await, span("week").await), (vec![3, 4], vec![3, 2, 4]));
        for name in ["month", "year", "all"] {
            assert_eq!(span(name).await, [1, 3, 2, 4], "{name}");
        }
    }
    assert_eq!(called(&visitor, "/api/getnews/top_all/1/2").await, (vec![3, 2], 4));
    // Changes show at once.
    ok(bob.vote(3, "none").await);
    assert_eq!((span("day").await, span("week").await), (vec![3, 4], vec![2, 3, 4]));
    ok(alice.delete(4).await);
    assert_eq!((span("day").await, span("all").await), (vec![3], vec![1, 2, 3]));
    assert_eq!(listed(&visitor, "/top/week").await, [2, 3]);
    assert_eq!(listed(&visitor, "/top/all/2").await, [3]);
    server.advance(DAY);
    assert_eq!((span("day").await, span("week").await), (vec![], vec![2, 3]));
    // A vote moves a story on; so does the server, every minute.
    ok(bob.vote(3, "up").await);
    assert_eq!((span("day").await, span("week").await), (vec![], vec![3, 2]));
}

#[each_engine("other versions")]
async fn a_store_of_an_earlier_version_gets_its_lists_by_votes(server: Server) {
    let [_, bob, _] = of_ten_days(&server).await;
    let mut batch = Batch::new();
    for age in ["day", "week", "month", "year", "all"] {
        batch.delete(format!("news.votes:{age}"));
    }
    batch.set(keys::LAYOUT_VERSION, "14");
    server.commit(batch).await;
    assert_eq!(called(&bob, "/api/getnews/top_all/0/30").await, (vec![], 0));
    server.migrate().await;
    assert_eq!(called(&bob, "/api/getnews/top_all/0/30").await, (vec![1, 3, 2, 4], 4));
    assert_eq!(called(&bob, "/api/getnews/top_day/0/30").await.0, [3, 4]);
}

#[in_memory]
async fn the_pages_of_the_past_link_to_days_and_months_around_and_show_what_another_program_does_once_built_again(
    server: Server,
) {
    let alice = two_months(&server).await;
    let visitor = server.visitor();
    let day = page(&visitor, "/past/2026-12-31").await;
    assert_eq!(day.heading(), "Best of 31 Dec 2026");
    assert_eq!(stories(&day), [10, 9, 4, 3, 2]);
    for link in ["/past/2026-12-30", "/past/2027-01-01", "/past/2026-12"] {
        assert!(day.links_to(link), "{link}");
    }
    let month = page(&visitor, "/past/2026-12").await;
    assert!(month.links_to("/past") && month.links_to("/past/2027-01") && month.links_to("/past/2026-12-30"));
    // Nothing is older than the first story, and nothing newer than today.
    assert!(!month.links_to("/past/2026-11") && !month.links_to("/past/2026-12-29"));
    let today = date(server.now());
    let tomorrow = date(server.now() + DAY);
    let index = page(&visitor, "/past").await;
    assert!(index.links_to(&format!("/past/{today}")) && index.links_to("/past/2026-12"));
    let today = page(&visitor, &format!("/past/{today}")).await;
    assert!(!today.links_to(&format!("/past/{tomorrow}")));
    assert!(today.content().contains("No stories were submitted then."));
    // A day or month that is none is an error.
    for bad in ["2026-02-30", "2026-13", "2026", "yesterday", "2026-1-1", tomorrow.as_str(), "9999-12"] {
        error_message(&alice.get(&format!("/past/{bad}")).await, StatusCode::NOT_FOUND);
        let error = refused(alice.api_get(&format!("/api/past/{bad}/0/30")).await);
        assert!(error.starts_with("The field day is wrong"), "{bad}: {error}");
    }
    for bad in ["/past/2026-12-31/x", "/past/2026-12-31/-1", "/past/2026-12-31/01"] {
        error_message(&alice.get(bad).await, StatusCode::NOT_FOUND);
    }
    for bad in ["a/30", "0/0", "0/33"] {
        refused(alice.api_get(&format!("/api/past/2026-12/{bad}")).await);
    }
    // What another program does shows when the list is built again.
    let day = "/api/past/2026-12-31/0/30";
    assert_eq!(called(&visitor, day).await.0, [10, 9, 4, 3, 2]);
    server.set_field("news:2", "up", "90").await;
    server.set_field("news:4", "del", "1").await;
    server.advance(599);
    assert_eq!(called(&visitor, day).await.0, [10, 9, 3, 2]);
    server.advance(2);
    assert_eq!(called(&visitor, day).await, (vec![2, 10, 9, 3], 4));
}

#[in_memory]
async fn a_muted_topic_leaves_the_lists_and_a_followed_one_has_a_list(server: Server) {
    let alice = three_stories(&server).await;
    let bob = server.member("bob").await;
    let other = alice.submit_link_on("databases", "Other", "https://example.org/").await;
    for topic in ["go", "databases"] {
        for _ in 0..2 {
            assert_eq!(stand(&bob, "followtopic", topic).await, serde_json::json!({"status": "ok"}));
        }
    }
    for list in ["/topics/followed", "/topics/followed/new"] {
        assert_eq!(listed(&bob, list).await, [other, 2], "{list}");
        assert!(listed(&alice, list).await.is_empty());
    }
    ok(stand(&bob, "mutetopic", "go").await);
    assert_eq!(listed(&bob, "/topics/followed").await, [other], "muting ends following");
    for (list, expected) in [("/", vec![other, 3, 1]), ("/topic/rust", vec![3, 1]), ("/topic/go", vec![])] {
        assert_eq!(listed(&bob, list).await, expected, "{list}");
    }
    assert_eq!(listed(&bob, "/topic/go?hidden=1").await, [2]);
    assert_eq!(called(&bob, "/api/getnews/top/0/30").await, (vec![other, 3, 1], 4));
    assert_eq!(listed(&server.visitor(), "/").await, [other, 3, 2, 1]);
    ok(stand(&bob, "unmutetopic", "go").await);
    assert_eq!(listed(&bob, "/").await, [other, 3, 2, 1]);
    ok(stand(&bob, "unfollowtopic", "databases").await);
    ok(stand(&bob, "unfollowtopic", "databases").await);
    assert!(page(&bob, "/topics/followed").await.links_to("/topics"));
    for action in ["followtopic", "unfollowtopic", "mutetopic", "unmutetopic"] {
        let answer = bob.post(&format!("/api/{action}"), &[("topic", "none")]).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{action}");
        refused(answer.json());
    }
}

#[in_memory(&[("rates.follow_per_account", "0")])]
async fn topics_are_followed_and_muted_by_forms_and_up_to_a_limit(server: Server) {
    three_stories(&server).await;
    let bob = server.member("bob").await;
    for (action, next, gone) in [
        ("/followtopic", "/unfollowtopic", "/followtopic"),
        ("/mutetopic", "/unmutetopic", "/unfollowtopic"),
        ("/unmutetopic", "/mutetopic", "/unmutetopic"),
    ] {
        let answer = page(&bob, "/topic/rust").await.form(action).send(&bob).await;
        assert_eq!(redirects_to(&answer), "/topic/rust");
        let topic = page(&bob, "/topic/rust").await;
        topic.form(next);
        assert!(topic.forms().iter().all(|form| form.action != gone), "{action}");
    }
    let topics: Vec<String> = (0..26).map(|number| format!("topic-{number}")).collect();
    server.write(|batch| topics.iter().for_each(|topic| batch.sorted_add("topics", topic, 0.0))).await;
    for topic in &topics[..25] {
        ok(stand(&bob, "followtopic", topic).await);
    }
    let error = refused(stand(&bob, "followtopic", &topics[25]).await);
    assert_eq!(error, "You already follow 25 topics, which is the limit. Unfollow one first.");
    // A topic that another program has removed is skipped, and can be left.
    server.write(|batch| batch.sorted_remove("topics", "topic-3")).await;
    ok(stand(&bob, "unfollowtopic", "topic-0").await);
    ok(stand(&bob, "followtopic", "rust").await);
    assert_eq!(listed(&bob, "/topics/followed").await, [3, 2, 1]);
    ok(stand(&bob, "unfollowtopic", "topic-3").await);
}

#[in_memory]
async fn topics_are_combined_by_following_links_and_administrators_describe_them_in_a_sentence(
    server: Server,
) {
    let alice = three_stories(&server).await;
    alice.submit_link_on("databases", "Other", "https://example.org/").await;
    let visitor = server.visitor();
    let topic = page(&visitor, "/topic/go").await;
    for link in ["/topic/go,rust", "/topic/go+rust", "/topic/databases,go"] {
        assert!(topic.links_to(link), "{link}");
    }
    let both = page(&visitor, "/topic/go+rust").await;
    assert_eq!(stories(&both), [2]);
    for link in ["/topic/go,rust", "/topic/go", "/topic/rust", "/topic/databases+go+rust"] {
        assert!(both.links_to(link), "{link}");
    }
    assert_eq!(listed(&visitor, "/topic/databases,go").await, [4, 2]);
    server.set_field("user:1", "flags", "a").await;
    let bob = server.member("bob").await;
    let describe = async |client: &Client, topic: &str, about: &str| {
        client.call(&format!("/api/describetopic?topic={topic}&about={about}")).await
    };
    assert_eq!(refused(describe(&bob, "rust", "x").await), "Only administrators can do this.");
    refused_saying(describe(&alice, "rust", &"x".repeat(201)).await, "too long");
    refused_saying(describe(&alice, "rust", "a\nb").await, "character");
    let form = page(&alice, "/topic/rust").await.form("/describetopic");
    let answer = form.with("about", " A <b> language. ").send(&alice).await;
    assert_eq!(redirects_to(&answer), "/topic/rust");
    for path in ["/topic/rust", "/topic/rust/new", "/topic/go,rust", "/topics"] {
        assert!(page(&bob, path).await.content().contains("A <b> language."), "{path}");
    }
    let feed = bob.text("/topic/rust/atom").await;
    assert!(feed.contains("<subtitle>A &lt;b&gt; language.</subtitle>"), "{feed}");
    let topics = ok(bob.api_get("/api/topics").await);
    assert_eq!(topics["topics"][0]["about"], "A <b> language.");
    assert!(topics["topics"][1].get("about").is_none(), "{topics}");
    // It moves with its topic.
    ok(alice.call("/api/renametopic?topic=rust&name=rustlang").await);
    assert_eq!(server.hash("topics.about").await["rustlang"], "A <b> language.");
    assert_eq!(server.hash("topics.about").await.len(), 1);
    ok(describe(&alice, "rustlang", " ").await);
    assert!(server.hash("topics.about").await.is_empty());
}
