//! Rules for posts, and posts that wait for a moderator.

use serde_json::{Value, json};

use crate::client::{Client, each, has_members, line_of, ok, refused, refused_saying};
use crate::server::{Server, each_engine, in_memory};

/// Adds a rule and returns its number.
async fn add(moderator: &Client, what: &str, pattern: &str, effect: &str) -> u64 {
    let request = format!("/api/moderate/rule?what={what}&pattern={pattern}&effect={effect}&reason=no shops");
    ok(moderator.call(&request).await)["rule_id"].as_u64().unwrap()
}

async fn decide(moderator: &Client, action: &str, kind: &str, id: &str) -> Value {
    moderator.moderate(action, (kind, id), &[]).await
}

async fn people(server: &Server) -> [Client; 3] {
    let alice = server.register("alice").await;
    let [bob, carol] = server.people(["bob", "carol"]).await;
    [alice, bob, carol]
}

/// The rows of the review queue, sorted.
async fn queue(server: &Server) -> Vec<String> {
    let mut rows: Vec<String> = server.sorted("review:queue").await.into_iter().map(|(row, _)| row).collect();
    rows.sort_unstable();
    rows
}

#[in_memory]
async fn what_a_rule_refuses_is_refused_everywhere_with_the_reason(server: Server) {
    let [alice, bob, _] = people(&server).await;
    let story = bob.submit_text("Fine", "text").await;
    bob.comment(story, "fine").await;
    add(&alice, "domain", "shop.example", "refuse").await;
    add(&alice, "phrase", "cheap pills", "refuse").await;
    let says_why = |answer: Value| assert_eq!(refused(answer), "This is not accepted here: no shops.");
    says_why(bob.submit("Look", "https://www.shop.example/1", "").await);
    says_why(bob.submit("Cheap  PILLS!", "", "text").await);
    says_why(bob.submit("Look", "https://fine.example", "see http://a.shop.example").await);
    says_why(bob.try_comment(story, None, "buy cheap pills").await);
    says_why(bob.edit_comment(story, 1, "at shop.example/x").await);
    says_why(bob.edit(story, "Cheap pills", "", "text").await);
    says_why(bob.try_tweet("cheap\npills").await);
    says_why(bob.update_profile("cheap pills", "", "").await);
    // Administrators and moderators are trusted.
    alice.submit_text("Cheap pills are refused here", "text").await;
    bob.submit_text("Pills that are cheap", "text").await;
}

#[in_memory]
async fn a_lifted_rule_no_longer_matches_and_an_undo_brings_it_back(server: Server) {
    let [alice, bob, _] = people(&server).await;
    let id = add(&alice, "regex", "(?i)v[i1]agra", "refuse").await.to_string();
    refused_saying(bob.try_tweet("V1agra").await, "no shops");
    let lift = [("rule_id", id.as_str()), ("reason", "a mistake")];
    ok(alice.api_post("/api/moderate/unrule", &lift).await);
    ok(bob.try_tweet("V1agra").await);
    refused_saying(alice.api_post("/api/moderate/unrule", &lift).await, "no such rule");
    ok(alice.api_post("/api/moderate/undo", &[("moderation_id", "2"), ("reason", "needed")]).await);
    // For the reason that it had.
    refused_saying(bob.try_tweet("Viagra").await, "no shops");
    assert_eq!(each(&bob.log("").await.into(), "action"), ["rule", "unrule", "rule"]);
    // It does not come back once others have taken its room.
    ok(alice.api_post("/api/moderate/unrule", &lift).await);
    for number in 10..210 {
        let rule = r#"{"what":"phrase","pattern":"x","effect":"hold","reason":"r"}"#;
        server.set_field("rules:all", &number.to_string(), rule).await;
    }
    refused_saying(alice.call("/api/moderate/undo?moderation_id=4&reason=needed").await, "200 rules");
}

#[in_memory]
async fn only_moderators_add_rules_and_patterns_are_checked(server: Server) {
    let [alice, bob, _] = people(&server).await;
    let before = server.dump().await;
    for (client, what, pattern, effect, expected) in [
        (&bob, "domain", "a.example", "refuse", "Only moderators"),
        (&alice, "domain", "nothing", "refuse", "Enter a domain"),
        (&alice, "url", "a.example", "refuse", "Enter a host and a path"),
        (&alice, "regex", "(", "refuse", "regular expression is not accepted"),
        (&alice, "regex", ".*", "hold", "matches empty text"),
        (&alice, "phrase", "", "hold", "Enter some text"),
        (&alice, "name", "x", "hold", "The field what"),
        (&alice, "phrase", "x", "delete", "The field effect"),
    ] {
        let fields = [("what", what), ("pattern", pattern), ("effect", effect), ("reason", "r")];
        let error = refused(client.api_post("/api/moderate/rule", &fields).await);
        assert!(error.contains(expected), "{what} {pattern}: {error}");
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn a_dry_run_says_what_would_have_been_caught_and_adds_nothing(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    bob.submit_link("A shop", "https://shop.example/old").await;
    server.advance(31 * 86_400);
    let story = bob.submit_link("A shop", "https://www.shop.example/new").await;
    carol.submit_text("Nothing", "but text").await;
    carol.comment(story, "another at shop.example").await;
    carol.comment(story, "none").await;
    let tweet = carol.tweet("https://a.shop.example/").await;
    // A first visit after a month earns karma, and has the home timeline made anew.
    alice.get("/").await;
    server.finish_jobs().await;
    let before = server.dump().await;
    let fields =
        [("what", "domain"), ("pattern", "shop.example"), ("effect", "refuse"), ("reason", "no shops")];
    let fields = [&fields[..], &[("dry_run", "1")]].concat();
    let answer = ok(alice.api_post("/api/moderate/rule", &fields).await);
    let expected = json!([
        {"kind": "story", "id": story.to_string()},
        {"kind": "comment", "id": format!("{story}-1")},
        {"kind": "tweet", "id": tweet.to_string()},
    ]);
    has_members(&answer, json!({"count": 3, "matches": expected, "finished": true}));
    assert_eq!(server.dump().await, before);
    assert!(alice.post("/moderate/rules", &fields).await.text().contains("3 texts"));
    refused_saying(bob.api_post("/api/moderate/rule", &fields).await, "Only moderators");
}

#[each_engine("one of its kind")]
async fn a_held_story_is_nowhere_until_it_is_approved_and_then_it_is_new(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    ok(carol.api_post("/api/follow", &[("username", "bob")]).await);
    server.set_karma(&bob, 1_000).await;
    add(&alice, "phrase", "pills", "hold").await;
    let story = "/api/submit?news_id=-1&title=Pills&url=https://p.example/&text=Hello @carol&topics=health";
    let answer = ok(bob.call(story).await);
    assert_eq!(answer["held"], true);
    let id = answer["news_id"].as_u64().unwrap();
    assert_eq!(queue(&server).await, [format!("story:{id}")]);
    for list in ["news.top", "news.cron", "time:", "score:", "host.news:p.example", "user.posted:2", "topics"]
    {
        assert_eq!(server.sorted(list).await, [], "{list}");
    }
    assert_eq!(carol.listed("latest").await, Vec::<u64>::new());
    assert_eq!(ok(carol.api_get("/api/timeline/home").await)["tweets"], json!([]));
    server.advance(3_600);
    ok(decide(&alice, "approve", "story", &id.to_string()).await);
    server.finish_jobs().await;
    assert_eq!(queue(&server).await, Vec::<String>::new());
    assert_eq!(carol.listed("latest").await, [id]);
    assert_eq!(carol.listed("top").await, [id]);
    let news = carol.news(id).await;
    assert_eq!((&news["ctime"], &news["comments"]), (&json!(server.now()), &json!(1)));
    assert_eq!(ok(carol.api_get("/api/timeline/home").await)["tweets"][0]["news_id"], id);
    assert!(carol.inbox().await.iter().any(|entry| entry["kind"] == "mention"));
    refused_saying(decide(&alice, "approve", "story", &id.to_string()).await, "is not waiting");
    ok(carol.vote(id, "up").await);
}

#[in_memory]
async fn held_comments_and_tweets_reach_nobody_until_they_are_approved(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    let story = carol.submit_text("A story", "text").await;
    ok(decide(&alice, "hold", "user", "bob").await);
    let answer =
        ok(bob.call("/api/postcomment?news_id=1&comment_id=-1&parent_id=-1&comment=Hello @alice").await);
    assert_eq!(answer["held"], true);
    let tweeted = ok(bob.try_tweet("Hello @carol").await);
    assert_eq!(tweeted["held"], true);
    let (comment, tweet) = (format!("{story}-1"), tweeted["tweet_id"].to_string());
    assert_eq!(queue(&server).await, [format!("comment:{comment}"), format!("tweet:{tweet}")]);
    assert_eq!(carol.news(story).await["comments"], 0);
    assert_eq!(server.number("user:3", "replies").await, 0);
    assert_eq!(ok(carol.api_get("/api/timeline/everyone").await)["tweets"].as_array().unwrap().len(), 1);
    // The author may still change it.
    ok(bob.edit_comment(story, 1, "Hello again @alice").await);
    ok(decide(&alice, "approve", "comment", &comment).await);
    ok(decide(&alice, "approve", "tweet", &tweet).await);
    assert_eq!(carol.news(story).await["comments"], 1);
    assert_eq!(server.number("user:3", "replies").await, 2);
    assert_eq!(carol.thread(story).await[0]["body"], "Hello again @alice");
    assert_eq!(ok(carol.api_get("/api/timeline/everyone").await)["tweets"][0]["username"], "bob");
    assert_eq!(queue(&server).await, Vec::<String>::new());
}

#[in_memory]
async fn what_is_rejected_stays_unseen_and_its_author_is_told_why(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    carol.submit_text("A story", "text").await;
    add(&alice, "phrase", "pills", "hold").await;
    let story = ok(bob.submit("Pills", "https://p.example/", "").await)["news_id"].to_string();
    ok(bob.try_comment(1, None, "pills").await);
    let tweet = ok(bob.try_tweet("pills").await)["tweet_id"].to_string();
    let before = server.dump().await;
    let posts = [("story", story.as_str()), ("comment", "1-1"), ("tweet", tweet.as_str())];
    for (number, (kind, id)) in (2..).step_by(3).zip(posts) {
        ok(decide(&alice, "reject", kind, id).await);
        ok(alice.undo(number).await);
        assert_eq!(queue(&server).await.len() as u64, 3 - (number - 2) / 3);
        ok(decide(&alice, "reject", kind, id).await);
    }
    assert_eq!(queue(&server).await, Vec::<String>::new());
    for key in ["news.top", "news.cron", "user.comments:2", "global_timeline"] {
        assert_eq!(server.dump().await.get(key), before.get(key), "{key}");
    }
    let told = bob.last_message().await;
    let parts = ["Your post “", "was rejected", "a reason"];
    assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    refused_saying(decide(&alice, "approve", "tweet", &tweet).await, "is not waiting");
}

#[in_memory]
async fn a_public_post_cannot_be_edited_into_one_that_would_wait(server: Server) {
    let [alice, bob, _] = people(&server).await;
    let story = bob.submit_text("Fine", "text").await;
    bob.comment(story, "fine").await;
    add(&alice, "phrase", "pills", "hold").await;
    for answer in [bob.edit(story, "Pills", "", "text").await, bob.edit_comment(story, 1, "pills").await] {
        refused_saying(answer, "needs a moderator's approval: no shops");
    }
    // A held story may be deleted by its author, and leaves the queue.
    let held = ok(bob.submit("Pills", "", "text").await)["news_id"].as_u64().unwrap();
    ok(bob.delete(held).await);
    assert_eq!(queue(&server).await, Vec::<String>::new());
}

/// Deactivates an account.
async fn leave(person: &Client) {
    let answer = person.post("/settings/deactivate", &[("password", crate::client::PASSWORD)]).await;
    assert_eq!(answer.status, reqwest::StatusCode::SEE_OTHER, "{answer:?}");
}

/// Lets bob's posts wait: a story, a comment on the first story, and a tweet. Returns their ids.
async fn held_posts(alice: &Client, bob: &Client) -> [(&'static str, String); 3] {
    ok(decide(alice, "hold", "user", "bob").await);
    let story = ok(bob.submit("A held story", "https://held.example/", "").await)["news_id"].to_string();
    ok(bob.try_comment(1, None, "A held comment").await);
    let tweet = ok(bob.try_tweet("A held tweet").await)["tweet_id"].to_string();
    [("story", story), ("comment", "1-1".to_owned()), ("tweet", tweet)]
}

#[in_memory]
async fn a_held_story_that_is_locked_waits_on(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    carol.submit_text("A story", "text").await;
    let [(_, story), ..] = held_posts(&alice, &bob).await;
    let waiting = queue(&server).await;
    assert_eq!(waiting.len(), 3);
    let lock = line_of(decide(&alice, "lock", "story", &story).await);
    assert_eq!(queue(&server).await, waiting);
    ok(decide(&alice, "approve", "story", &story).await);
    let waiting = queue(&server).await;
    assert_eq!(waiting.len(), 2);
    ok(alice.undo(lock).await);
    assert_eq!(queue(&server).await, waiting);
}

#[in_memory]
async fn posts_of_somebody_who_has_left_meanwhile_are_published_without_the_name_or_rejected(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    let carol = server.member("carol").await;
    carol.submit_text("A story", "text").await;
    let posts = held_posts(&alice, &bob).await;
    let rejected = bob.submit_text("Another held story", "text").await.to_string();
    ok(bob.try_comment(1, None, "Another held comment").await);
    leave(&bob).await;
    server.advance(60);
    server.finish_jobs().await;
    // A tweet goes with its author, whether it waits or not.
    assert_eq!(queue(&server).await.len(), 4);
    for (kind, id) in [("story", &*rejected), ("comment", "1-2")] {
        ok(decide(&alice, "reject", kind, id).await);
    }
    let [stays @ .., (_, tweet)] = &posts;
    for (kind, id) in stays {
        ok(decide(&alice, "approve", kind, id).await);
    }
    server.finish_jobs().await;
    assert_eq!(queue(&server).await, Vec::<String>::new());
    let [(_, story), _] = stays;
    let story = story.parse().unwrap();
    assert_eq!(carol.news(story).await["username"], "[deleted user]");
    assert_eq!(carol.listed("latest").await, [story, 1]);
    assert_eq!(carol.thread(1).await[0]["username"], "[deleted user]");
    refused_saying(decide(&alice, "approve", "tweet", tweet).await, "no such post");
    let page = crate::pages::page(&carol, "/latest/0").await;
    assert!(page.content().contains("[deleted user]"));
    crate::store_check::demand_clean(&server).await;
}

#[in_memory]
async fn a_rejection_with_a_reason_of_several_lines_can_be_undone(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    carol.submit_text("A story", "text").await;
    for (kind, id) in held_posts(&alice, &bob).await {
        let (row, reason) = (format!("{kind}:{id}"), "No shops.\n\nNor\tpills.");
        let fields = [("action", "reject"), ("kind", kind), ("id", &*id), ("reason", reason)];
        let line = line_of(alice.api_post("/api/moderate", &fields).await);
        assert!(!queue(&server).await.contains(&row));
        ok(alice.undo(line).await);
        assert!(queue(&server).await.contains(&row), "{row}");
        ok(decide(&alice, "approve", kind, &id).await);
    }
}

#[in_memory]
async fn a_story_that_a_submitter_may_not_see_is_no_earlier_story(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    ok(decide(&alice, "hold", "user", "bob").await);
    let url = "https://held.example/";
    let held = bob.submit_link("Held", url).await;
    assert_eq!(bob.submit_link("Again", url).await, held, "the author sees it");
    assert_eq!(alice.submit_link("Again", url).await, held, "moderators see it");
    let answer = ok(carol.submit("Another", url, "").await);
    assert_eq!(answer.get("held"), None);
    let other = answer["news_id"].as_u64().unwrap();
    assert_eq!(carol.listed("latest").await, [other]);
    assert_eq!(bob.submit_link("Again", url).await, other, "the one that all see is the earlier one");

    let url = "https://rejected.example/";
    let rejected = bob.submit_link("Rejected", url).await;
    ok(decide(&alice, "reject", "story", &rejected.to_string()).await);
    assert_eq!(bob.submit_link("Again", url).await, rejected);
    let accepted = carol.submit_link("Accepted", url).await;
    assert_ne!(accepted, rejected);

    let url = "https://edited.example/";
    bob.submit_link("Held too", url).await;
    ok(carol.edit(other, "Another", url, "").await);
    assert_eq!(carol.submit_link("Once more", url).await, other);
}

#[in_memory]
async fn to_every_action_of_a_reader_a_held_post_is_one_that_does_not_exist(server: Server) {
    let [alice, bob, carol] = people(&server).await;
    carol.submit_text("A story", "text").await;
    let [(_, story), _, (_, tweet)] = held_posts(&alice, &bob).await;
    server.set_karma(&carol, 100).await;
    let before = server.dump().await;
    type Action<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);
    let actions: [Action<'_>; 16] = [
        ("/api/save", "news_id", &[]),
        ("/api/unsave", "news_id", &[]),
        ("/api/hide", "news_id", &[]),
        ("/api/unhide", "news_id", &[]),
        ("/api/subscribe", "news_id", &[]),
        ("/api/unsubscribe", "news_id", &[]),
        ("/api/votenews", "news_id", &[("vote_type", "up")]),
        ("/api/votenews", "news_id", &[("vote_type", "down")]),
        ("/api/votenews", "news_id", &[("vote_type", "none")]),
        ("/api/postcomment", "news_id", &[("comment_id", "-1"), ("parent_id", "-1"), ("comment", "c")]),
        ("/api/postcomment", "news_id", &[("comment_id", "1"), ("comment", "c")]),
        ("/api/submit", "news_id", &[("title", "t"), ("url", ""), ("text", "t")]),
        ("/api/delnews", "news_id", &[]),
        ("/api/flag", "id", &[("kind", "story"), ("reason", "spam")]),
        ("/api/flag", "note", &[("kind", "story"), ("id", "1"), ("reason", "duplicate")]),
        ("/api/unflag", "id", &[("kind", "story")]),
    ];
    for (path, name, more) in actions {
        let send = async |id: &str| {
            let fields: Vec<_> = [(name, id)].into_iter().chain(more.iter().copied()).collect();
            refused(carol.api_post(path, &fields).await)
        };
        let told = send(&story).await;
        assert_eq!(told, send("999").await, "{path} {more:?}");
        let is_by_story = !matches!((path, name), ("/api/flag", "note") | ("/api/unflag", _));
        assert!(!is_by_story || told == "There is no such story.", "{path}: {told}");
    }
    for (path, id, missing, name, more) in [
        ("/api/votecomment", "1-1", "1-9", "comment_id", [("vote_type", "up"), ("x", "")]),
        ("/api/flag", "1-1", "1-9", "id", [("kind", "comment"), ("reason", "spam")]),
        ("/api/flag", &*tweet, "999", "id", [("kind", "tweet"), ("reason", "spam")]),
        ("/api/deltweet", &*tweet, "999", "tweet_id", [("x", ""), ("y", "")]),
    ] {
        let send = async |id: &str| refused(carol.api_post(path, &[(name, id), more[0], more[1]]).await);
        assert_eq!(send(id).await, send(missing).await, "{path} {id}");
    }
    for answer in [carol.edit_comment(1, 1, "mine").await, carol.edit_comment(1, 1, "").await] {
        assert_eq!(refused(answer), "There is no such comment.");
    }
    assert_eq!(server.dump().await, before);
    refused_saying(bob.vote(story.parse().unwrap(), "up").await, "waiting for");
}
