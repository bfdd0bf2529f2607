//! The rows of the inbox: what reads an entry, answering in place, followers in one row, and undoing that all was
//! marked as read.

use reqwest::{Method, StatusCode};
use tidings_domain::accounts::inbox::send_message;
use tidings_domain::values::UserId;

use crate::client::{Client, ok};
use crate::html::{Form, Page};
use crate::pages::{error_message, page, redirects_to};
use crate::server::{Server, in_memory};

/// The ids of what is unread.
async fn unread(user: &Client) -> Vec<String> {
    let entries = user.inbox().await;
    let unread = entries.iter().filter(|entry| entry["read"] == false);
    unread.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

async fn badge(server: &Server, user: &Client) -> i64 {
    server.number(&format!("user:{}", user.user_id), "replies").await
}

/// Opens a page, and waits until only this is unread. The server marks what was seen right after.
async fn open(server: &Server, user: &Client, path: &str, left: &[&str]) {
    page(user, path).await;
    wait_until_unread(user, left).await;
    assert_eq!(badge(server, user).await, i64::try_from(left.len()).unwrap(), "{path}");
}

async fn wait_until_unread(user: &Client, left: &[&str]) {
    tidings_testing::until(async || unread(user).await == left).await;
}

fn form_of(page: &Page, action: &str, field: (&str, &str)) -> Form {
    let forms = page.forms().into_iter().filter(|form| form.action == action);
    forms.into_iter().find(|form| form.value(field.0) == Some(field.1)).unwrap()
}

/// The texts of the rows.
fn rows(page: &Page) -> Vec<String> {
    page.find("li", &[])
        .into_iter()
        .filter(|item| item.attribute("data-item").is_some())
        .map(|item| item.text().to_owned())
        .collect()
}

#[in_memory]
async fn the_page_that_a_row_leads_to_reads_its_entries(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let news = alice.submit_text("A story", "text").await;
    bob.comment(news, "First").await;
    bob.comment(news, "Second, @carol").await;
    bob.tweet("Hello @alice").await;
    bob.follow("alice").await;
    send_message(&server.app.site, server.app.moment(), UserId(1), "Thank you.").await.unwrap();
    let all = ["moderation:1", "follow:2", "mention:tweet:2", "reply:1-2", "reply:1-1"];
    assert_eq!(unread(&alice).await, all);
    let inbox = page(&alice, "/inbox").await;
    let links = inbox.find("a", &[("class", "entry-row")]);
    let links: Vec<&str> = links.iter().map(|link| link.attribute("href").unwrap()).collect();
    assert!(links[0].starts_with("/inbox?kind=moderation&before="), "{}", links[0]);
    assert_eq!(links[1..], ["/@bob", "/tweet/2", "/news/1?at=2#comment-2", "/news/1?at=1#comment-1"]);
    let message = links[0].to_owned();

    // Neither the inbox, a call of the API, a program that looks whether the page is there, a browser that asks
    // before anybody does, nor somebody else reads them.
    for path in ["/api/getcomments/1", "/api/timeline/user/bob"] {
        ok(alice.api_get(path).await);
    }
    for path in ["/news/1?at=1", "/tweet/2", "/@bob"] {
        let head = alice.request(Method::HEAD, path).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::OK);
        for (name, value) in [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch")] {
            assert_eq!(alice.clone().with_header(name, value).get(path).await.status, StatusCode::OK);
        }
        page(&server.visitor(), path).await;
        page(&bob, path).await;
    }
    open(&server, &carol, "/news/1?at=2", &[]).await;
    assert_eq!(unread(&alice).await, all);

    open(&server, &alice, "/tweet/2", &[all[0], all[1], all[3], all[4]]).await;
    open(&server, &alice, "/@bob", &[all[0], all[3], all[4]]).await;
    open(&server, &alice, &message, &[all[3], all[4]]).await;
    assert!(page(&alice, &message).await.content().contains("Thank you."));
    // The thread shows all of its comments.
    open(&server, &alice, "/news/1?at=1", &[]).await;
    bob.reply(news, 1, "Third").await;
    open(&server, &alice, "/news/1", &[]).await;
    assert_eq!(alice.inbox().await.len(), 6);
}

#[in_memory]
async fn an_entry_is_answered_where_it_is(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    let comment = bob.comment(news, "A *question*").await;
    bob.comment(news, "Gone later").await;
    let inbox = page(&alice, "/inbox").await;
    assert!(rows(&inbox)[1].contains("bob commented on your story A story"), "{:?}", rows(&inbox));
    assert!(rows(&inbox)[1].contains("A question"), "{:?}", rows(&inbox));
    let form = form_of(&inbox, "/postcomment", ("parent_id", &comment.to_string()));
    redirects_to(&form.with("comment", "An answer").send(&alice).await);
    let thread = alice.thread(news).await;
    let question = thread.iter().find(|found| found["id"] == comment).unwrap();
    assert_eq!(question["replies"][0]["body"], "An answer");
    // Nobody answers on a story that is gone.
    ok(alice.delete(news).await);
    assert!(page(&alice, "/inbox").await.forms().iter().all(|form| form.action != "/postcomment"));
}

#[in_memory]
async fn a_message_about_a_comment_begins_with_the_title_while_the_story_is_there(server: Server) {
    let [alice, bob] = [server.register("alice").await, server.member("bob").await];
    let news = alice.submit_text("A story about tides", "text").await;
    let comment = bob.comment(news, "Buy now").await;
    ok(alice.moderate("remove", ("comment", &format!("{news}-{comment}")), &[]).await);
    let first = async |path: &str| rows(&page(&bob, path).await)[0].clone();
    for path in ["/inbox", "/inbox?kind=moderation"] {
        let row = first(path).await;
        assert!(row.contains("“A story about tides”: your comment was removed"), "{row}");
    }
    ok(alice.delete(news).await);
    let row = first("/inbox").await;
    assert!(row.contains("Your comment was removed") && !row.contains("tides"), "{row}");
}

#[in_memory]
async fn followers_one_after_the_other_are_one_row(server: Server) {
    let alice = server.member("alice").await;
    let others = server.members(6).await;
    for follower in &others[..4] {
        follower.follow("alice").await;
        server.advance(1);
    }
    others[0].tweet("Hello @alice").await;
    server.advance(1);
    for follower in &others[4..] {
        follower.follow("alice").await;
        server.advance(1);
    }
    let inbox = page(&alice, "/inbox").await;
    let rows = rows(&inbox);
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert!(rows[0].contains("member-5 and member-4 follow you"), "{rows:?}");
    assert!(rows[2].contains("member-3, member-2 and 2 others follow you"), "{rows:?}");
    assert!(inbox.links_to("/@alice/followers"));
    // The API has them one by one.
    assert_eq!(alice.inbox().await.len(), 7);
    // The followers of somebody else say nothing about one's own.
    page(&alice, "/@member-0/followers").await;
    open(&server, &alice, "/@alice/followers", &["mention:tweet:1"]).await;
}

#[in_memory]
async fn marking_everything_as_read_can_be_undone_for_ten_minutes_for_what_was_not_read_otherwise(
    server: Server,
) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    for number in 1..=4 {
        bob.tweet(&format!("@alice {number}")).await;
        server.advance(1);
    }
    let id = |number: u64| format!("mention:tweet:{number}");
    let read = async |id: &str| ok(alice.api_post("/api/readinbox", &[("id", id)]).await);
    read(&id(1)).await;
    let all = form_of(&page(&alice, "/inbox").await, "/readinbox", ("id", "all"));
    let marked = redirects_to(&all.send(&alice).await).to_owned();
    assert_eq!(marked, "/inbox?marked=mention:tweet:4");
    assert_eq!(badge(&server, &alice).await, 0);
    let shown = page(&alice, &marked).await;
    assert!(shown.content().contains("Everything is marked as read."), "{}", shown.content());
    let undo = shown.form("/inbox/undo");
    // One was read before, one is read by its page, and one is gone.
    read(&id(2)).await;
    page(&alice, "/tweet/3").await;
    let record = format!("user:{}:marked_read", alice.user_id);
    tidings_testing::until(async || server.field(&record, &id(3)).await.is_none()).await;
    bob.tweet("@alice 5").await;
    assert_eq!(redirects_to(&undo.send(&alice).await), "/inbox");
    assert_eq!(unread(&alice).await, [id(5), id(4)]);
    assert_eq!(badge(&server, &alice).await, 2);

    // It is undone once, and only the last time is.
    let again = undo.clone().with("request", "another").send(&alice).await;
    assert!(error_message(&again, StatusCode::FORBIDDEN).contains("no longer"));
    let first = form_of(&page(&alice, "/inbox").await, "/readinbox", ("id", "all"));
    let undo = page(&alice, redirects_to(&first.send(&alice).await)).await.form("/inbox/undo");
    bob.tweet("@alice 6").await;
    let second = form_of(&page(&alice, "/inbox").await, "/readinbox", ("id", "all"));
    second.send(&alice).await;
    assert_eq!(undo.send(&alice).await.status, StatusCode::FORBIDDEN);
    assert_eq!(badge(&server, &alice).await, 0);
    // It can be undone for ten minutes.
    for seconds in [599, 601] {
        bob.tweet("Hello @alice").await;
        let all = form_of(&page(&alice, "/inbox").await, "/readinbox", ("id", "all"));
        let undo = page(&alice, redirects_to(&all.send(&alice).await)).await.form("/inbox/undo");
        server.advance(seconds);
        let undone = undo.send(&alice).await;
        let expected = if seconds < 600 { StatusCode::SEE_OTHER } else { StatusCode::FORBIDDEN };
        assert_eq!(undone.status, expected, "{seconds}");
        ok(alice.api_post("/api/readinbox", &[("id", "all")]).await);
    }
}
