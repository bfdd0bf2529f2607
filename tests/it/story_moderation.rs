//! The actions of moderators on stories: removing, editing, merging, and the way back.

use reqwest::StatusCode;
use reqwest::header::LOCATION;
use serde_json::{Value, json};
use tidings_keyspace::Expiry;

use crate::client::{Client, line_of, ok, refused, refused_saying};
use crate::moderation::people;
use crate::pages::{page, redirects_to};
use crate::server::{Batch, Server, each_engine, in_memory};

/// Lets somebody act on a story, with more fields than a reason.
pub async fn act(moderator: &Client, action: &str, story: u64, more: &[(&str, &str)]) -> Value {
    moderator.moderate(action, ("story", &story.to_string()), more).await
}

/// The text of a page.
async fn content(reader: &Client, path: &str) -> String {
    page(reader, path).await.content().to_owned()
}

/// The keys of which the story is a member or which hold its number, except those that keep it
/// while it is removed.
async fn lists_with(server: &Server, story: u64, host: &str) -> Vec<&'static str> {
    let id = story.to_string();
    let article = format!("article:{story}");
    let mut found = Vec::new();
    for (name, key, member) in [
        ("top", "news.top".to_owned(), &id),
        ("cron", "news.cron".to_owned(), &id),
        ("host", format!("host.news:{host}"), &id),
        ("score", "score:".to_owned(), &article),
        ("time", "time:".to_owned(), &article),
    ] {
        if server.sorted(&key).await.iter().any(|(entry, _)| entry == member) {
            found.push(name);
        }
    }
    found
}

const ALL_LISTS: [&str; 5] = ["top", "cron", "host", "score", "time"];
const URL: &str = "http://example.com/a";

#[each_engine("one of its kind")]
async fn a_removed_story_is_in_no_list_and_comes_back_as_it_was(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    server.set_karma(&bob, 100).await;
    carol.follow("bob").await;
    let story = bob.submit_link_on("rust,web", "A story", URL).await;
    carol.comment(story, "a comment").await;
    server.finish_jobs().await;
    let before = server.dump().await;
    let removal = line_of(act(&moderator, "remove", story, &[]).await);
    server.finish_jobs().await;

    assert_eq!(lists_with(&server, story, "example.com").await, [""; 0]);
    assert_eq!(server.hash(&format!("news:{story}")).await["withheld"], "removed:a reason");
    assert_eq!(server.hash(&format!("article:{story}")).await["votes"], "1");
    for reader in [&server.visitor(), &bob, &carol] {
        assert_eq!(reader.listed("top").await, [0; 0]);
        for path in ["/", "/latest/0", "/best", "/topic/rust", "/site/example.com", "/rss", "/everyone"] {
            let body = reader.text(path).await;
            assert!(!body.contains("A story"), "{path}");
        }
    }
    assert_eq!(ok(carol.api_get("/api/timeline/home").await)["tweets"], json!([]));
    let told = bob.last_message().await;
    assert!(told.contains("your story was removed") && told.contains("a reason"), "{told}");
    for refusal in [
        carol.vote(story, "up").await,
        bob.vote(story, "none").await,
        carol.try_comment(story, None, "late").await,
        carol.vote_comment(story, 1, "down").await,
        bob.edit(story, "Another title", URL, "").await,
        bob.delete(story).await,
        act(&moderator, "edit", story, &[("title", "Another title")]).await,
    ] {
        refused_saying(refusal, "removed this story");
    }
    refused_saying(act(&moderator, "remove", story, &[]).await, "already been removed");

    line_of(moderator.undo(removal).await);
    server.finish_jobs().await;
    assert_eq!(lists_with(&server, story, "example.com").await, ALL_LISTS);
    let after = server.dump().await;
    for (key, value) in &before {
        let is_compared = ["news", "article", "score", "time", "topics", "group", "tweet", "url", "voted"]
            .iter()
            .any(|kind| key.starts_with(kind))
            || key.ends_with("timeline");
        assert!(!is_compared || after.get(key) == Some(value), "{key}: {value:?}, {:?}", after.get(key));
    }
    assert!(!after.keys().any(|key| key.starts_with("withdrawn:") || key.starts_with("group.withheld:")));
    ok(carol.vote(story, "up").await);
    refused_saying(moderator.undo(removal).await, "already been undone");
}

#[in_memory(&[("limits.repost_seconds", "1000")])]
async fn the_url_of_a_removed_story_is_guarded_as_long_as_it_would_have_been(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_link("A story", URL).await;
    let key = format!("url:{URL}");
    server.advance(100);
    line_of(act(&moderator, "remove", story, &[]).await);
    server.advance(300);
    line_of(act(&moderator, "restore", story, &[]).await);
    let Expiry::In(left) = server.expiry(&key).await else { panic!("the guard is gone") };
    assert_eq!(left.as_secs(), 600);
    assert_eq!(carol.submit_link("The same", URL).await, story);
    // Somebody else takes the URL while the story is away.
    line_of(act(&moderator, "remove", story, &[]).await);
    let other = carol.submit_link("Another story", URL).await;
    assert_ne!(other, story);
    line_of(act(&moderator, "restore", story, &[]).await);
    assert_eq!(server.string(&key).await, Some(other.to_string()));
    // It would have ended.
    line_of(act(&moderator, "remove", other, &[]).await);
    server.advance(1_001);
    line_of(act(&moderator, "restore", other, &[]).await);
    assert_eq!(server.expiry(&key).await, Expiry::Absent);
}

#[in_memory]
async fn a_topic_that_moves_takes_removed_stories_along(server: Server) {
    let [alice, moderator, bob, _] = people(&server).await;
    server.set_karma(&bob, 100).await;
    let removed = bob.submit_on("old", "Removed").await;
    bob.submit_on("old", "Stays").await;
    line_of(act(&moderator, "remove", removed, &[]).await);
    ok(alice.api_post("/api/renametopic", &[("topic", "old"), ("name", "new")]).await);
    line_of(act(&moderator, "restore", removed, &[]).await);
    assert_eq!(server.hash(&format!("news:{removed}")).await["topics"], "new");
    let listed = ok(alice.api_get("/api/topic/new/time/1").await);
    assert_eq!(listed["count"], 2, "{listed}");
    assert_eq!(server.sorted("topics").await, [("new".to_owned(), 2.0)]);
    assert!(!server.dump().await.keys().any(|key| key.starts_with("group.withheld:")));
}

#[in_memory]
async fn an_edit_leaves_a_note_and_can_be_undone_until_the_story_is_edited_again(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_link("A story", URL).await;
    let key = format!("news:{story}");
    let before = server.hash(&key).await;
    let new = [("title", "A better title"), ("topics", "")];
    let first = line_of(act(&moderator, "edit", story, &new).await);
    let shown = content(&carol, &format!("/news/{story}")).await;
    assert!(shown.contains("A better title"), "{shown}");
    assert!(shown.contains("Title edited by a moderator: a reason"), "{shown}");
    let moved = [("url", "http://example.org/b"), ("topics", "")];
    let second = line_of(act(&moderator, "edit", story, &moved).await);
    assert_eq!(lists_with(&server, story, "example.org").await, ALL_LISTS);
    // The last edit is undone first.
    let refusal = moderator.undo(first).await;
    refused_saying(refusal, &format!("has changed since: see entry {second} of the moderation log"));
    line_of(moderator.undo(second).await);
    assert_eq!(server.string(&format!("url:{URL}")).await, Some(story.to_string()));
    assert_eq!(server.string("url:http://example.org/b").await, None);
    line_of(moderator.undo(first).await);
    assert_eq!(server.hash(&key).await, before);
    // An undo is an edit, and can be undone too.
    let third = line_of(act(&moderator, "edit", story, &new).await);
    let undone = line_of(moderator.undo(third).await);
    line_of(moderator.undo(undone).await);
    assert_eq!(server.hash(&key).await["title"], "A better title");
    ok(bob.edit(story, "My own title", URL, "").await);
    assert_eq!(refused(moderator.undo(undone + 1).await), "The title has changed since.");
    let refusal = act(&moderator, "edit", story, &[("title", "My own title")]).await;
    refused_saying(refusal, "would not change the story");
    let text = bob.submit_text("A text", "text").await;
    let refusal = act(&moderator, "edit", text, &[("url", "http://example.org/b")]).await;
    refused_saying(refusal, "is a text");
}

#[in_memory]
async fn a_merged_story_leads_to_the_other_and_its_comments_are_there(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_link("The other one", URL).await;
    let target = carol.submit_text("The first one", "text").await;
    bob.comment(story, "said there").await;
    carol.comment(target, "said here").await;
    let into = target.to_string();
    let merge = line_of(act(&moderator, "merge", story, &[("into", &into)]).await);
    assert_eq!(lists_with(&server, story, "example.com").await, [""; 0]);
    for reader in [&server.visitor(), &bob] {
        let answer = reader.get(&format!("/news/{story}")).await;
        assert_eq!(answer.status, StatusCode::FOUND);
        assert_eq!(answer.headers[LOCATION], format!("/news/{target}#merged-{story}"));
        let shown = content(reader, &format!("/news/{target}")).await;
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text} in {shown}"));
        assert!(at("said here") < at("The other one") && at("The other one") < at("said there"));
        assert!(content(reader, &format!("/news/{story}?page=1")).await.contains("said there"));
    }
    let comments = ok(bob.api_get(&format!("/api/getcomments/{target}")).await);
    assert_eq!(comments["merged"], json!([story]));
    let comments = ok(bob.api_get(&format!("/api/getcomments/{story}")).await);
    assert_eq!(comments["merged_into"], json!(target));
    refused_saying(carol.try_comment(story, None, "late").await, "merged into story");
    refused_saying(carol.vote(story, "up").await, "merged into story");
    refused_saying(act(&moderator, "remove", story, &[]).await, "merged into story");
    let again = [("into", &*story.to_string())];
    refused_saying(act(&moderator, "merge", target, &again).await, "Split those off first");
    let third = bob.submit_text("The third one", "text").await;
    let refusal = act(&moderator, "merge", target, &[("into", &third.to_string())]).await;
    refused_saying(refusal, "Split those off first");
    let refusal = act(&moderator, "merge", third, &[("into", &third.to_string())]).await;
    refused_saying(refusal, "into itself");
    line_of(act(&moderator, "split", story, &[]).await);
    assert_eq!(lists_with(&server, story, "example.com").await, ALL_LISTS);
    assert!(!content(&bob, &format!("/news/{target}")).await.contains("said there"));
    assert!(content(&bob, &format!("/news/{story}")).await.contains("said there"));
    refused_saying(moderator.undo(merge).await, "already been undone");
}

#[in_memory]
async fn a_page_with_ten_merged_stories_takes_no_round_for_each_and_there_are_no_more(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let target = carol.submit_text("The first one", "text").await;
    let into = target.to_string();
    let mut rounds = Vec::new();
    for number in 0..11 {
        let story = bob.submit_text(&format!("Story {number}"), "text").await;
        bob.comment(story, &format!("said there {number}")).await;
        let answer = act(&moderator, "merge", story, &[("into", &into)]).await;
        if number == 10 {
            refused_saying(answer, "10 stories have been merged");
            break;
        }
        line_of(answer);
        server.clear_caches().await;
        let before = server.store().rounds();
        let shown = content(&server.visitor(), &format!("/news/{target}")).await;
        rounds.push(server.store().rounds() - before);
        assert!(shown.contains(&format!("said there {number}")), "{shown}");
    }
    assert!(rounds.iter().all(|count| count == &rounds[0]), "{rounds:?}");
}

#[in_memory]
async fn a_reason_of_several_lines_does_not_get_in_the_way_of_an_undo(server: Server) {
    let [_, moderator, bob, _] = people(&server).await;
    let story = bob.submit_link("A story", URL).await.to_string();
    for (action, more) in
        [("lock", ("hours", "0")), ("edit", ("title", "Better")), ("remove", ("hours", "0"))]
    {
        let done = moderator.moderate(action, ("story", &*story), &[("reason", "two\nlines"), more]).await;
        ok(moderator.undo(line_of(done)).await);
    }
}

#[each_engine("races")]
async fn two_moderators_who_remove_the_same_story_write_one_line(server: Server) {
    let [alice, moderator, bob, _] = people(&server).await;
    for action in ["lock", "remove", "merge"] {
        let story = bob.submit_text("A story", "text").await;
        let into = bob.submit_text("Another", "text").await.to_string();
        let more = [("into", into.as_str())];
        let (first, second) =
            tokio::join!(act(&alice, action, story, &more), act(&moderator, action, story, &more));
        let done: Vec<&Value> =
            [&first, &second].into_iter().filter(|answer| answer["status"] == "ok").collect();
        assert_eq!(done.len(), 1, "{first} {second}");
        let id = done[0]["moderation_id"].as_u64().unwrap();
        let (first, second) = tokio::join!(alice.undo(id), moderator.undo(id));
        let done = [&first, &second].into_iter().filter(|answer| answer["status"] == "ok").count();
        assert_eq!(done, 1, "{first} {second}");
        assert_eq!(server.string("moderation:count").await, Some((id + 1).to_string()));
    }
}

#[in_memory]
async fn the_forms_on_the_page_of_a_story_do_it_and_offer_to_undo_it(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_link("A story", URL).await;
    let path = format!("/news/{story}");
    for reader in [&server.visitor(), &bob, &carol] {
        let shown = page(reader, &format!("{path}?moderated=1")).await;
        assert!(!shown.forms().iter().any(|form| form.action.starts_with("/moderate")));
    }
    let shown = page(&moderator, &path).await;
    assert!(shown.links_to("/moderate/menu/story/1"));
    let id = story.to_string();
    let fields =
        [("action", "remove"), ("kind", "story"), ("id", &*id), ("reason", "spam"), ("next", &*path)];
    let answer = moderator.post("/moderate", &fields).await;
    let back = redirects_to(&answer).to_owned();
    assert_eq!(back, format!("{path}?moderated=2"));
    let shown = page(&moderator, &back).await;
    assert!(shown.content().contains("Done: removed “A story” by bob. See entry 2 of the log."));
    let form = shown.forms().into_iter().find(|form| form.action == "/moderate/undo").expect("a form");
    assert_eq!(form.value("moderation_id"), Some("2"));
    let undo = [("moderation_id", "2"), ("reason", "A mistake"), ("next", &*path)];
    let answer = moderator.post("/moderate/undo", &undo).await;
    assert_eq!(redirects_to(&answer), format!("{path}?moderated=3"));
    assert_eq!(lists_with(&server, story, "example.com").await, ALL_LISTS);
}

#[in_memory]
async fn a_removed_story_is_gone_for_readers_and_search_engines_and_its_page_says_why(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_link("A secret title", URL).await;
    carol.comment(story, "a comment").await;
    let path = format!("/news/{story}");
    let comments = carol.api_get(&format!("/api/getcomments/{story}")).await;
    let removal = line_of(act(&moderator, "remove", story, &[]).await);
    for reader in [&server.visitor(), &carol] {
        for path in [path.clone(), format!("{path}?page=1")] {
            let answer = reader.get(&path).await;
            assert_eq!(answer.status, StatusCode::GONE, "{path}");
            let body = answer.text();
            assert!(body.contains(r#"<meta name="robots" content="noindex">"#), "{body}");
            assert!(body.contains("removed by a moderator: a reason"), "{body}");
            assert!(body.contains("a comment"), "{body}");
            assert!(!body.contains("A secret title") && !body.contains("og:title"), "{body}");
        }
    }
    for insider in [&bob, &moderator] {
        let answer = insider.get(&path).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(!answer.text().contains("noindex"));
    }
    assert_eq!(carol.api_get(&format!("/api/getcomments/{story}")).await, comments);
    line_of(moderator.undo(removal).await);
    assert_eq!(server.visitor().get(&path).await.status, StatusCode::OK);
    ok(bob.delete(story).await);
    assert_eq!(server.visitor().get(&path).await.status, StatusCode::OK);
}

#[each_engine("other versions")]
async fn lamer_news_beside_us_is_told_by_del_what_is_removed(server: Server) {
    let [_, moderator, bob, _] = people(&server).await;
    let story = bob.submit_text("A story", "its text").await;
    bob.comment(story, "a comment").await;
    let (key, thread) = (format!("news:{story}"), format!("thread:comment:{story}"));
    let before = (server.hash(&key).await, server.field(&thread, "1").await.unwrap());
    let comment = crate::removals::act(&moderator, "remove", ("comment", &format!("{story}-1"))).await;
    let stored: Value = serde_json::from_str(&server.field(&thread, "1").await.unwrap()).unwrap();
    assert_eq!((&stored["del"], &stored["body"]), (&json!(1), &json!("a comment")));
    assert_eq!(stored["withheld"], "removed:a reason");
    let removal = line_of(act(&moderator, "remove", story, &[]).await);
    let stored = server.hash(&key).await;
    assert_eq!((&*stored["del"], &*stored["url"]), ("1", "text://its text"));
    assert_eq!(stored["withheld"], "removed:a reason");
    crate::store_check::demand_clean(&server).await;
    // It counts as removed, not as deleted.
    refused_saying(bob.delete(story).await, "removed this story");
    refused_saying(bob.edit_comment(story, 1, "").await, "removed this comment");
    line_of(act(&moderator, "lock", story, &[]).await);
    line_of(act(&moderator, "unlock", story, &[]).await);
    // Removals that were written by earlier versions lack the field.
    server.write(|batch| batch.delete_field(&key, "del")).await;
    line_of(moderator.undo(removal).await);
    line_of(moderator.undo(comment).await);
    let after = (server.hash(&key).await, server.field(&thread, "1").await.unwrap());
    assert_eq!(after.1, before.1);
    assert!(!after.0.contains_key("del") && !after.0.contains_key("withheld"), "{after:?}");
}

#[each_engine("check")]
async fn what_has_a_damaged_state_stays_hidden_and_a_check_names_it(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_link("A qdamaged story", URL).await;
    let other = bob.submit_text("A story", "text").await;
    bob.comment(other, "a qdamaged comment").await;
    let tweet = bob.tweet("a qdamaged tweet").await;
    ok(bob.update_profile("a qdamaged profile", "", "").await);
    let json = server.field(&format!("thread:comment:{other}"), "1").await.unwrap();
    let damaged = json.replacen('{', r#"{"withheld":"remvoed:spam","#, 1);
    let mut batch = Batch::new();
    batch.set_field(format!("news:{story}"), "withheld", "remvoed:spam");
    batch.set_field(format!("thread:comment:{other}"), "1", damaged);
    batch.set_field(format!("tweet:{tweet}"), "withheld", "damaged");
    batch.set_field("user:3", "withheld", "damaged");
    server.commit(batch).await;
    let before = server.dump().await;
    let thread = format!("/news/{other}");
    for reader in [&server.visitor(), &carol] {
        for path in ["/", "/latest/0", "/everyone", "/@bob", "/usercomments/bob/0", &*thread] {
            let body = reader.text(path).await;
            assert!(!body.contains("qdamaged"), "{path}: {body}");
        }
        assert_eq!(reader.get(&format!("/news/{story}")).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(refused(carol.vote(story, "up").await), "There is no such story.");
    assert!(content(&moderator, &format!("/news/{story}")).await.contains("A qdamaged story"));
    let found = crate::store_check::report(&server, true).await;
    for key in [format!("news:{story}"), format!("thread:comment:{other}"), format!("tweet:{tweet}")] {
        assert!(found.differences.iter().any(|difference| difference.key == key), "{key}: {found:#?}");
    }
    for key in [format!("news:{story}"), format!("news:{other}"), format!("thread:comment:{other}")] {
        assert_eq!(server.dump().await[&key], before[&key], "nothing is changed to match the damage");
    }
    assert_eq!(server.sorted("news.cron").await.len(), 2);
}

#[in_memory]
async fn a_locked_thread_says_so_and_has_neither_a_form_nor_reply_links(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_link("A story", URL).await;
    bob.comment(story, "a comment of bob").await;
    carol.reply(story, 1, "an answer to bob").await;
    let (thread, name) = (format!("/news/{story}"), "locked");
    let pages = [
        thread.clone(),
        format!("/news/{story}?page=1"),
        "/comments".to_owned(),
        "/usercomments/bob/0".to_owned(),
        "/inbox".to_owned(),
    ];
    let writes = |page: &crate::html::Page| {
        let links = page.all("a").filter_map(|link| link.attribute("href"));
        let is_of_writing = |link: &&str| link.starts_with("/reply/") || is_edit(link);
        let forms = page.forms().into_iter().filter(|form| form.action == "/postcomment");
        links.filter(is_of_writing).count() + forms.count()
    };
    for path in &pages {
        assert!(writes(&page(&bob, path).await) > 0, "{path}");
    }
    let marks = async |path: &str| {
        let shown = page(&server.visitor(), path).await;
        shown.find("span", &[("class", "tag")]).iter().filter(|tag| tag.text() == name).count()
    };
    assert_eq!(marks("/latest/0").await, 0);
    let lock = line_of(act(&moderator, "lock", story, &[]).await);
    for who in [&server.visitor(), &bob, &moderator] {
        let shown = page(who, &thread).await;
        assert!(shown.content().contains("Locked by a moderator: a reason."), "{}", shown.content());
    }
    for path in &pages {
        for who in [&bob, &moderator] {
            assert_eq!(writes(&page(who, path).await), 0, "{path}");
        }
    }
    for path in ["/latest/0", "/usernews/bob/0", "/site/example.com/stories/0"] {
        assert_eq!(marks(path).await, 1, "{path}");
    }
    // A text that somebody had begun to write is not lost.
    let before = server.dump().await;
    for (comment, parent) in [("-1", "-1"), ("-1", "1"), ("1", "-1")] {
        let story = story.to_string();
        let fields =
            [("news_id", &*story), ("comment_id", comment), ("parent_id", parent), ("comment", "@carol!")];
        let told = refused(bob.api_post("/api/postcomment", &fields).await);
        assert_eq!(told, "This thread is locked: a reason.");
        let back = bob.post("/postcomment", &fields).await;
        assert_eq!(back.status, StatusCode::FORBIDDEN);
        let back = crate::html::Page::of(&back);
        assert!(back.forms().iter().any(|form| form.value("comment") == Some("@carol!")), "{}", back.text());
    }
    assert_eq!(bob.get(&format!("/reply/{story}/1")).await.status, StatusCode::FORBIDDEN);
    let after = server.dump().await;
    for key in [format!("thread:comment:{story}"), format!("user:{}:mentions", carol.user_id)] {
        assert_eq!(after.get(&key), before.get(&key));
    }
    // Deleting one's own comment stays possible, and so does undoing the lock.
    let editing = page(&bob, &format!("/editcomment/{story}/1")).await;
    assert_eq!(editing.heading(), "Delete comment");
    line_of(moderator.undo(lock).await);
    ok(bob.edit_comment(story, 1, "edited again").await);
}

/// Whether a link leads to the form that edits a comment, and not to deleting it.
fn is_edit(link: &str) -> bool {
    link.starts_with("/editcomment/") && !link.ends_with("#delete")
}
