//! The inbox: what gets into it, in the API, on its page and in its feed; subscriptions.

use reqwest::StatusCode;
use roxmltree::Document;
use serde_json::Value;
use tidings_domain::accounts::inbox::send_message;
use tidings_domain::values::UserId;

use crate::badges::badge;
use crate::client::{Client, HttpResponse, PASSWORD, ok, refused, refused_saying};
use crate::html::Form;
use crate::pages::{page, redirects_to};
use crate::server::{Batch, Server, each_engine, in_memory};

/// The whole inbox of a user.
async fn inbox(user: &Client) -> Vec<Value> {
    let mut entries = Vec::new();
    let mut address = "/api/inbox?count=100".to_owned();
    loop {
        let part = ok(user.api_get(&address).await);
        entries.extend(part["entries"].as_array().unwrap().iter().cloned());
        let Some(next) = part["next"].as_str() else { return entries };
        address = format!("/api/inbox?count=100&before={next}");
    }
}

/// The ids of the entries of an inbox; unread ones have a star.
async fn ids(user: &Client) -> Vec<String> {
    let mark = |entry: &Value| if entry["read"] == false { "*" } else { "" };
    inbox(user)
        .await
        .iter()
        .map(|entry| format!("{}{}", entry["id"].as_str().unwrap(), mark(entry)))
        .collect()
}

async fn mark(user: &Client, id: &str) {
    ok(user.api_post("/api/readinbox", &[("id", id)]).await);
}

async fn subscribe(user: &Client, news: u64) {
    ok(user.api_post("/api/subscribe", &[("news_id", &news.to_string())]).await);
}

async fn unsubscribe(user: &Client, news: u64) {
    ok(user.api_post("/api/unsubscribe", &[("news_id", &news.to_string())]).await);
}

/// The form that marks everything as read that its page has shown.
async fn all_read(user: &Client) -> Form {
    let forms = page(user, "/inbox").await.forms();
    forms.into_iter().find(|form| form.value("id") == Some("all")).unwrap()
}

/// Deactivates an account that has registered.
pub async fn deactivate(user: &Client) {
    let form = page(user, "/settings/deactivate").await.form("/settings/deactivate");
    let answer = form.with("password", PASSWORD).send(user).await;
    assert!(answer.status.is_success() || answer.status.is_redirection(), "{answer:?}");
}

#[in_memory]
async fn marking_all_as_read_stops_at_the_newest_entry_that_was_shown(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    for number in 1..=3 {
        bob.tweet(&format!("@alice {number}")).await;
    }
    let form = all_read(&alice).await;
    assert_eq!(form.value("until"), Some("mention:tweet:3"));
    // It arrives after the page was made.
    bob.tweet("@alice 4").await;
    redirects_to(&form.send(&alice).await);
    let read = ["mention:tweet:4*", "mention:tweet:3", "mention:tweet:2", "mention:tweet:1"];
    assert_eq!(ids(&alice).await, read);
    assert_eq!(badge(&alice).await, 1);
    // An entry that is not in the inbox marks nothing, and without `until` everything is read.
    let until = |entry: &'static str| [("id", "all"), ("until", entry)];
    ok(alice.api_post("/api/readinbox", &until("mention:tweet:9")).await);
    assert_eq!(badge(&alice).await, 1);
    refused_saying(alice.api_post("/api/readinbox", &until("newest")).await, "until");
    ok(alice.api_post("/api/readinbox", &[("all", "1"), ("until", "mention:tweet:4")]).await);
    assert_eq!(badge(&alice).await, 0);
    bob.tweet("@alice 5").await;
    mark(&alice, "all").await;
    assert_eq!(badge(&alice).await, 0);
}

/// The badge stays the same when an unread entry leaves a full inbox for a new one.
#[in_memory]
async fn an_entry_that_arrives_in_a_full_inbox_stays_unread_when_older_ones_are_marked(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let user = alice.user_id;
    let mut batch = Batch::new();
    for number in 1..=1_000_u32 {
        let entry = format!("moderation:{number}");
        batch.sorted_add(format!("user:{user}:inbox"), &entry, f64::from(number));
        batch.sorted_add(format!("user:{user}:unread"), &entry, f64::from(number));
        batch.set_field(format!("user:{user}:messages"), number.to_string(), "text");
    }
    batch.set_field(format!("user:{user}"), "replies", "1000");
    server.commit(batch).await;
    let form = all_read(&alice).await;
    bob.tweet("@alice").await;
    assert_eq!(server.number("user:1", "replies").await, 1_000);
    redirects_to(&form.send(&alice).await);
    assert_eq!(badge(&alice).await, 1);
    assert_eq!(server.sorted(&format!("user:{user}:unread")).await.len(), 1);
}

#[each_engine("one of its kind")]
async fn an_inbox_has_replies_mentions_and_followers_with_what_they_are_about(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let news = alice.submit_text("A story", "text").await;
    let first = bob.comment(news, "On the story").await;
    server.advance(1);
    carol.reply(news, first, "To bob, on alice's story, @alice").await;
    server.advance(1);
    alice.reply(news, first, "An answer").await;
    bob.reply(news, first, "To himself").await;
    server.advance(1);
    let tweet = bob.tweet("Hello @alice").await;
    server.advance(1);
    carol.follow("alice").await;

    let expected = ["follow:3*", "mention:tweet:2*", "reply:1-4*", "reply:1-2*", "reply:1-1*"];
    assert_eq!(ids(&alice).await, expected);
    assert_eq!(ids(&bob).await, ["reply:1-3*", "reply:1-2*"]);
    assert_eq!(ids(&carol).await, Vec::<String>::new());
    let entries = inbox(&alice).await;
    let shape = |entry: &Value| -> Vec<String> {
        let mut names: Vec<String> = entry.as_object().unwrap().keys().cloned().collect();
        names.sort_unstable();
        names
    };
    assert_eq!(shape(&entries[0]), ["id", "kind", "read", "time", "username"]);
    assert_eq!(shape(&entries[1]), ["id", "kind", "read", "text", "time", "tweet_id", "username"]);
    let of_comment = ["comment_id", "id", "kind", "news_id", "read", "text", "time", "username"];
    assert_eq!(shape(&entries[2]), of_comment);
    assert_eq!((&entries[0]["kind"], &entries[0]["username"]), (&"follow".into(), &"carol".into()));
    assert_eq!((&entries[1]["kind"], &entries[1]["tweet_id"]), (&"mention".into(), &tweet.into()));
    assert_eq!((&entries[3]["news_id"], &entries[3]["comment_id"]), (&news.into(), &2.into()));
    assert_eq!(entries[3]["text"], "To bob, on alice's story, @alice");
    assert_eq!(entries[3]["time"], server.now() - 3);
    assert_eq!(ok(alice.api_get("/api/inbox?count=2").await)["unread"], 5);

    // One is marked as read, and again; then the rest.
    for _ in 0..2 {
        mark(&alice, "reply:1-2").await;
        assert_eq!(badge(&alice).await, 4);
    }
    let expected = ["follow:3*", "mention:tweet:2*", "reply:1-4*", "reply:1-2", "reply:1-1*"];
    assert_eq!(ids(&alice).await, expected);
    mark(&alice, "all").await;
    assert!(ids(&alice).await.iter().all(|entry| !entry.ends_with('*')));
    let answer = ok(alice.api_get("/api/inbox").await);
    assert_eq!((&answer["unread"], &answer["next"]), (&0.into(), &Value::Null));
    ok(bob.api_post("/api/readinbox", &[("all", "1")]).await);
    assert_eq!(badge(&bob).await, 0);
    assert_eq!(refused(server.visitor().api_get("/api/inbox").await), "You must be logged in.");
}

#[in_memory]
async fn a_subscriber_is_told_of_each_comment_once_and_whoever_leaves_of_none(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let news = alice.submit_text("A story", "text").await;
    let first = carol.comment(news, "The first").await;
    for _ in 0..2 {
        subscribe(&bob, news).await;
        subscribe(&alice, news).await;
    }
    carol.comment(news, "For @bob and @alice").await;
    bob.comment(news, "My own").await;
    assert_eq!(ids(&bob).await, ["reply:1-2*"]);
    assert_eq!(ids(&alice).await, ["reply:1-3*", "reply:1-2*", "reply:1-1*"]);
    // Mentions still arrive: neither her own story nor answers to her comments do.
    unsubscribe(&alice, news).await;
    unsubscribe(&bob, news).await;
    let own = alice.comment(news, "By alice").await;
    carol.reply(news, own, "To alice").await;
    carol.comment(news, "And @alice").await;
    assert_eq!(ids(&bob).await, ["reply:1-2*"]);
    assert_eq!(ids(&alice).await, ["mention:1-6*", "reply:1-3*", "reply:1-2*", "reply:1-1*"]);
    // The author of a comment can leave too, without having subscribed.
    bob.reply(news, first, "To carol").await;
    assert_eq!(ids(&carol).await, ["reply:1-7*"]);
    unsubscribe(&carol, news).await;
    bob.reply(news, first, "To carol again").await;
    assert_eq!(ids(&carol).await, ["reply:1-7*"]);
    subscribe(&alice, news).await;
    bob.comment(news, "Again").await;
    assert_eq!(ids(&alice).await[0], "reply:1-9*");

    let missing = [("news_id", "99")];
    for path in ["/api/subscribe", "/api/unsubscribe"] {
        assert_eq!(refused(bob.api_post(path, &missing).await), "There is no such story.");
    }
    ok(alice.delete(news).await);
    refused_saying(bob.api_post("/api/subscribe", &[("news_id", "1")]).await, "deleted");
    unsubscribe(&alice, news).await;
}

#[in_memory(&[("limits.mentions_per_day", "3")])]
async fn mentions_in_comments_notify_on_posting_and_editing_so_many_people_a_day(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let members = server.members(2).await;
    ok(alice.submit("A link", "http://example.com/", "See what @bob wrote, and @alice").await);
    assert_eq!((ids(&bob).await, ids(&alice).await.len()), (vec!["mention:1-1*".to_owned()], 0));
    let comment = alice.comment(1, "@bob @BOB @nobody").await;
    assert_eq!(ids(&bob).await, ["mention:1-2*", "mention:1-1*"]);
    // An edit tells the new ones, and hides the entries of the others.
    ok(alice.edit_comment(1, comment, "@carol").await);
    assert_eq!((ids(&bob).await.len(), badge(&bob).await), (1, 1));
    assert_eq!(ids(&carol).await, ["mention:1-2*"]);
    ok(alice.edit_comment(1, comment, "@carol again").await);
    assert_eq!(badge(&carol).await, 1);
    // Bob and carol are two of three.
    alice.comment(1, "@member-0 @member-1 @carol").await;
    let badges = [badge(&members[0]).await, badge(&members[1]).await];
    assert_eq!((badges, badge(&carol).await), ([1, 0], 2));
    // Those whom the page does not link are not told.
    alice.comment(1, "`@bob` [@bob](http://example.com/) \\@bob\n\n    @bob").await;
    assert_eq!(badge(&bob).await, 1);
    alice.tweet("@member-1 and @bob").await;
    assert_eq!((badge(&members[1]).await, badge(&bob).await), (0, 2));
    ok(alice.edit_comment(1, comment, "").await);
    assert_eq!(ids(&carol).await, ["mention:1-3*"]);
    assert_eq!(badge(&carol).await, 1);
}

#[in_memory(&[ ("rates.comment_per_account", "3/10m"), ("rates.comment_per_address", "100/10m"), ("rates.new_account_share", "1"), ])]
async fn telling_more_people_by_edits_counts_as_commenting(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("A story", "text").await;
    let comment = alice.comment(1, "Hello").await;
    for text in ["Hello @bob", "Hello", "Hello there", "Hello @bob", "@bob hello", "Hello"] {
        ok(alice.edit_comment(1, comment, text).await);
    }
    let edit = format!("news_id=1&comment_id={comment}&parent_id=-1&comment=Hello again, @bob");
    let refused = alice.answer_to(&format!("/api/postcomment?{edit}")).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(badge(&bob).await, 0);
    ok(alice.edit_comment(1, comment, "Hello again").await);
}

#[in_memory]
async fn a_follower_is_told_once_a_day_and_leaves_with_the_follow(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let unfollow = async || ok(bob.api_post("/api/unfollow", &[("username", "alice")]).await);
    bob.follow("alice").await;
    bob.follow("alice").await;
    assert_eq!(ids(&alice).await, ["follow:2*"]);
    unfollow().await;
    assert_eq!((ids(&alice).await.len(), badge(&alice).await), (0, 0));
    // She has not read it yet.
    bob.follow("alice").await;
    assert_eq!((ids(&alice).await.len(), badge(&alice).await), (1, 1));
    mark(&alice, "follow:2").await;
    unfollow().await;
    bob.follow("alice").await;
    assert_eq!((ids(&alice).await, badge(&alice).await), (vec!["follow:2".to_owned()], 0));
    unfollow().await;
    server.advance(86_401);
    if server.store().is_shared() {
        // Redis has a clock of its own.
        server.write(|batch| batch.delete("limit:follow_notice:1:2")).await;
    }
    bob.follow("alice").await;
    assert_eq!(ids(&alice).await, ["follow:2*"]);
    mark(&alice, "follow:2").await;
    unfollow().await;
    assert_eq!((ids(&alice).await.len(), badge(&alice).await), (0, 0));
    // The follows of a deactivated account end.
    let dave = server.register("dave").await;
    dave.follow("alice").await;
    assert_eq!(ids(&alice).await, ["follow:3*"]);
    deactivate(&dave).await;
    server.finish_jobs().await;
    assert_eq!((ids(&alice).await.len(), badge(&alice).await), (0, 0));
}

#[in_memory]
async fn an_inbox_keeps_the_newest_1000_entries_and_an_exact_badge(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    let comment = bob.comment(news, "A comment").await;
    mark(&alice, "all").await;
    // 999 older ones: the two oldest are read.
    let json = server.field("thread:comment:1", &comment.to_string()).await.unwrap();
    let mut batch = Batch::new();
    for id in 100..1_099_u64 {
        batch.set_field("thread:comment:1", id.to_string(), &json);
        let time = f64::from(u32::try_from(id).unwrap());
        batch.sorted_add("user:1:inbox", format!("reply:1-{id}"), time);
        if id > 101 {
            batch.sorted_add("user:1:unread", format!("reply:1-{id}"), time);
        }
    }
    batch.set_field("user:1", "replies", "997");
    server.commit(batch).await;
    assert_eq!(inbox(&alice).await.len(), 1_000);
    for (number, expected) in [(1, 998), (2, 999), (3, 999), (4, 999)] {
        bob.comment(news, "One more").await;
        assert_eq!(server.number("user:1", "replies").await, expected, "{number}");
        assert_eq!(server.sorted("user:1:inbox").await.len(), 1_000);
        let unread = server.sorted("user:1:unread").await.len();
        assert_eq!(i64::try_from(unread).unwrap(), expected, "{number}");
    }
    let last = inbox(&alice).await;
    assert_eq!((last.len(), &last[999]["id"]), (1_000, &"reply:1-104".into()));
}

#[each_engine("other versions")]
async fn what_earlier_versions_and_lamer_news_have_counted_can_be_read(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    let comment = alice.comment(news, "A comment").await;
    let reply = bob.reply(news, comment, "A reply").await;
    let tweets = [bob.tweet("Hello @alice").await, bob.tweet("Again @alice").await];
    // As an earlier version has stored it: the second tweet has been seen.
    let now = server.sorted("user:1:inbox").await[0].1;
    let mut batch = Batch::new();
    batch.delete("user:1:inbox");
    batch.delete("user:1:unread");
    batch.sorted_add("user:1:unread", format!("1-{reply}"), now);
    batch.sorted_add("user:1:unread", format!("tweet:{}", tweets[0]), now);
    batch.set_field("user:1", "replies", "2");
    server.commit(batch).await;
    let mut entries = ids(&alice).await;
    entries.sort_unstable();
    assert_eq!(entries, ["mention:tweet:2*", "mention:tweet:3", "reply:1-2*"]);
    mark(&alice, "mention:tweet:2").await;
    assert_eq!(badge(&alice).await, 1);
    ok(bob.edit_comment(news, reply, "").await);
    assert_eq!(badge(&alice).await, 0);
    // Lamer News counts without entries.
    server.set_field("user:1", "replies", "7").await;
    mark(&alice, "all").await;
    assert_eq!(badge(&alice).await, 0);
    bob.reply(news, comment, "Another").await;
    assert_eq!(badge(&alice).await, 1);
}

#[in_memory]
async fn many_subscribers_are_told_in_the_background_and_forget_what_is_deleted(server: Server) {
    let author = server.member("author").await;
    let members = server.members(60).await;
    let news = author.submit_text("A story", "text").await;
    for member in &members {
        subscribe(member, news).await;
    }
    unsubscribe(&members[59], news).await;
    let own = members[0].comment(news, "By a subscriber").await;
    let comment = members[1].reply(news, own, "To @member-59").await;
    server.finish_jobs().await;
    for (number, member) in members.iter().enumerate() {
        let expected = match number {
            0 => vec!["reply:1-2*"],
            1 => vec!["reply:1-1*"],
            59 => vec!["mention:1-2*"],
            _ => vec!["reply:1-2*", "reply:1-1*"],
        };
        assert_eq!(ids(member).await, expected, "{number}");
        assert_eq!(badge(member).await, i64::try_from(expected.len()).unwrap());
    }
    // A member who has left meanwhile, or has read the entry, loses it too.
    unsubscribe(&members[2], news).await;
    mark(&members[3], "all").await;
    ok(members[1].edit_comment(news, comment, "").await);
    server.finish_jobs().await;
    for (number, member) in members.iter().enumerate() {
        let kept = !matches!(number, 0 | 59);
        assert_eq!(ids(member).await.len(), usize::from(kept), "{number}");
        let unread = kept && number != 3;
        assert_eq!(badge(member).await, i64::from(unread), "{number}");
    }
}

#[in_memory]
async fn more_subscriptions_than_allowed_end_the_oldest(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = [alice.submit_text("One", "text").await, alice.submit_text("Two", "text").await];
    subscribe(&bob, news[0]).await;
    let mut batch = Batch::new();
    for id in 100..1_099_u64 {
        let time = 2e9 + f64::from(u32::try_from(id).unwrap());
        batch.sorted_add("user:2:subscriptions", id.to_string(), time);
    }
    server.commit(batch).await;
    subscribe(&bob, news[1]).await;
    assert_eq!(server.sorted("user:2:subscriptions").await.len(), 1_000);
    assert!(server.sorted("news.subscribers:1").await.is_empty());
    alice.comment(news[0], "No longer").await;
    alice.comment(news[1], "From now on").await;
    assert_eq!(ids(&bob).await, ["reply:2-1*"]);
}

#[in_memory]
async fn a_message_of_a_moderator_has_a_text_of_its_own(server: Server) {
    let [alice, ..] = server.people(["alice", "bob", "carol"]).await;
    for text in ["Please use a title that says more.", "Thank you."] {
        send_message(&server.app.site, server.app.moment(), UserId(1), text).await.unwrap();
    }
    let nobody = send_message(&server.app.site, server.app.moment(), UserId(99), "text").await;
    assert!(nobody.is_err());
    let entries = inbox(&alice).await;
    assert_eq!(ids(&alice).await, ["moderation:2*", "moderation:1*"]);
    assert_eq!((&entries[0]["kind"], &entries[0]["text"]), (&"moderation".into(), &"Thank you.".into()));
    assert!(entries[0].get("username").is_none());
    let shown = page(&alice, "/inbox?kind=moderation").await;
    assert!(shown.content().contains("Message from a moderator") && shown.content().contains("Thank you."));
}

#[in_memory]
async fn the_page_shows_30_entries_at_a_time_and_marks_them_without_script(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    assert!(page(&alice, "/inbox").await.content().contains("subscribe on its page"));
    let news = alice.submit_text("A <story>", "text").await;
    for number in 0..35 {
        bob.comment(news, &format!("Number {number} <b> {}", "é".repeat(600))).await;
        server.advance(1);
    }
    bob.follow("alice").await;
    let first = page(&alice, "/inbox").await;
    let entries = |page: &crate::html::Page| {
        page.all("li").filter(|item| item.attribute("data-item").is_some()).count()
    };
    assert_eq!(entries(&first), 30);
    assert!(first.content().contains("bob commented on your story A <story>"), "{}", first.content());
    assert!(first.content().contains("Number 34 <b>") && first.content().contains('…'));
    assert!(first.links_to("/news/1?at=35#comment-35"));
    let more = first.all("a").find(|link| link.attribute("rel") == Some("next")).unwrap();
    let second = page(&alice, more.attribute("href").unwrap()).await;
    assert_eq!(entries(&second), 6);
    assert!(second.content().contains("Number 0") && !second.content().contains("Number 34"));

    assert_eq!(entries(&page(&alice, "/inbox?kind=follow").await), 1);
    assert_eq!(entries(&page(&alice, "/inbox?kind=mention").await), 0);
    assert_eq!(alice.get("/inbox?kind=nothing").await.status, StatusCode::BAD_REQUEST);
    let all = first.forms().into_iter().find(|form| form.value("id") == Some("all")).unwrap();
    all.send(&alice).await;
    assert!(page(&alice, "/inbox?kind=unread").await.content().contains("You have read everything."));

    let moved = alice.get("/replies").await;
    assert_eq!(
        (moved.status, &moved.headers["location"]),
        (StatusCode::PERMANENT_REDIRECT, &"/inbox".parse().unwrap())
    );
}

#[in_memory]
async fn the_page_of_a_story_subscribes_and_unsubscribes(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    let actions = async |client: &Client| -> Vec<String> {
        let page = page(client, "/news/1").await;
        let actions = page.all("button").filter_map(|button| button.attribute("formaction"));
        actions.filter(|action| action.ends_with("subscribe")).map(str::to_owned).collect()
    };
    let press = async |client: &Client, action: &str| {
        let answer = client.post(action, &[("news_id", "1"), ("next", "/news/1")]).await;
        assert_eq!(redirects_to(&answer), "/news/1");
    };
    // The author is told anyway.
    assert_eq!(actions(&alice).await, ["/unsubscribe"]);
    assert_eq!(actions(&bob).await, ["/subscribe"]);
    assert!(actions(&server.visitor()).await.is_empty());
    for action in ["/subscribe", "/unsubscribe"] {
        press(&bob, action).await;
    }
    assert_eq!(actions(&bob).await, ["/subscribe"]);
    press(&alice, "/unsubscribe").await;
    assert_eq!(actions(&alice).await, ["/subscribe"]);
    bob.comment(news, "She does not hear this").await;
    assert_eq!(badge(&alice).await, 0);
    ok(alice.delete(news).await);
    assert!(actions(&bob).await.is_empty());
}

/// The address of the feed that the inbox shows.
async fn feed_address(client: &Client) -> Option<String> {
    let inbox = page(client, "/inbox").await;
    inbox
        .all("a")
        .filter_map(|link| link.attribute("href"))
        .find(|address| address.starts_with("/inbox/feed/"))
        .map(str::to_owned)
}

async fn change_feed(client: &Client, feed: &str) {
    let forms = page(client, "/inbox").await.forms();
    let form = forms.into_iter().find(|form| form.value("feed") == Some(feed)).unwrap();
    assert_eq!(redirects_to(&form.send(client).await), "/inbox#feed");
}

fn check_gone(answer: &HttpResponse) {
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

#[in_memory(&[("site.url", "https://news.example.com")])]
async fn the_feed_of_an_inbox_has_a_private_address_that_can_be_replaced(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story & more", "text").await;
    bob.comment(news, "A <comment>").await;
    bob.follow("alice").await;
    let visitor = server.visitor();
    assert_eq!(feed_address(&alice).await, None);
    change_feed(&alice, "new").await;
    let address = feed_address(&alice).await.unwrap();
    assert_eq!(address.len(), "/inbox/feed/1-".len() + 40);
    assert_eq!(feed_address(&alice).await.as_ref(), Some(&address));

    let answer = visitor.get(&address).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], "application/atom+xml; charset=utf-8");
    assert_eq!(answer.headers["cache-control"], "private, no-store");
    assert!(answer.headers["x-robots-tag"].to_str().unwrap().contains("noindex"));
    let text = answer.text();
    let document = Document::parse(&text).unwrap();
    let texts = |name: &str| -> Vec<String> {
        let named = document.descendants().filter(|node| node.tag_name().name() == name);
        named.filter_map(|node| node.text().map(str::to_owned)).collect()
    };
    assert!(texts("title").contains(&"bob commented on your story A story & more".to_owned()), "{text}");
    assert!(texts("title").contains(&"bob follows you".to_owned()), "{text}");
    assert_eq!(texts("content"), ["<p>A &lt;comment&gt;</p>"]);
    assert!(text.contains("https://news.example.com/news/1?at=1#comment-1"), "{text}");
    assert!(!text.contains(address.split_once('-').unwrap().1), "{text}");
    // Reading it marks nothing as read.
    assert_eq!(badge(&alice).await, 2);

    for wrong in ["/inbox/feed/1-", "/inbox/feed/1", "/inbox/feed/x", "/inbox/feed/99-aa", "/inbox/feed/2-"] {
        check_gone(&visitor.get(wrong).await);
    }
    check_gone(&visitor.get(&address.replace("/1-", "/2-")).await);
    check_gone(&visitor.get(&address[..address.len() - 1]).await);
    change_feed(&alice, "new").await;
    check_gone(&visitor.get(&address).await);
    let address = feed_address(&alice).await.unwrap();
    assert_eq!(visitor.get(&address).await.status, StatusCode::OK);
    change_feed(&alice, "off").await;
    check_gone(&visitor.get(&address).await);
    let dave = server.register("dave").await;
    change_feed(&dave, "new").await;
    let address = feed_address(&dave).await.unwrap();
    assert_eq!(visitor.get(&address).await.status, StatusCode::OK);
    deactivate(&dave).await;
    check_gone(&visitor.get(&address).await);
}

#[each_engine("rounds")]
async fn an_inbox_takes_the_same_few_rounds_however_full_it_is(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", "text").await;
    bob.comment(news, "One").await;
    let rounds = async |path: &str| server.cold_rounds_of(&alice, path).await;
    let few = [rounds("/inbox").await, rounds("/api/inbox").await];
    for number in 0..40 {
        bob.comment(news, &format!("Number {number}")).await;
        bob.tweet("Hello @alice").await;
    }
    assert_eq!([rounds("/inbox").await, rounds("/api/inbox").await], few);
    assert!(few.iter().all(|rounds| *rounds <= 6), "{few:?}");
}
