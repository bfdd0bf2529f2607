//! The answers of the API, member by member, as existing clients expect them.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tidings_web::site_lists::SiteList;

use crate::client::{PASSWORD, has_members, ok, refused};
use crate::server::{Server, each_engine, in_memory};

#[track_caller]
fn check_members(answer: &Value, expected: &[&str]) {
    let members: BTreeSet<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, expected.iter().copied().collect(), "{answer}");
}

#[each_engine("one of its kind")]
async fn every_call_answers_its_documented_members(server: Server) {
    let account = [("username", "alice"), ("password", PASSWORD)];
    let visitor = server.visitor();
    for path in ["/api/create_account", "/api/login"] {
        check_members(&ok(visitor.api_post(path, &account).await), &["status", "auth", "apisecret"]);
    }
    let alice = visitor.log_in("alice", PASSWORD).await;
    let bob = server.member("bob").await;
    assert_eq!(alice.submit("One", "", "text").await, json!({"status": "ok", "news_id": 1}));
    assert_eq!(alice.edit(1, "Two", "", "text").await, json!({"status": "ok", "news_id": 1}));
    assert_eq!(bob.vote(1, "up").await, json!({"status": "ok"}));
    for (parent, id) in [(None, 1), (Some(1), 2)] {
        let expected = json!({
            "status": "ok", "op": "insert", "news_id": 1, "comment_id": id,
            "parent_id": parent.map_or(-1, |parent| i64::try_from(parent).unwrap()),
        });
        assert_eq!(bob.try_comment(1, parent, "text").await, expected);
    }
    for (text, op) in [("new text", "update"), ("", "delete")] {
        let expected = json!({"status": "ok", "op": op, "news_id": 1, "comment_id": 2, "parent_id": 1});
        assert_eq!(bob.edit_comment(1, 2, text).await, expected);
    }
    let expected = json!({"status": "ok", "comment_id": "1-1"});
    assert_eq!(alice.vote_comment(1, 1, "up").await, expected);
    assert_eq!(alice.update_profile("", "", "").await, json!({"status": "ok"}));
    assert_eq!(alice.delete(1).await, json!({"status": "ok", "news_id": -1}));
    assert_eq!(alice.api_post("/api/logout", &[]).await, json!({"status": "ok"}));
}

#[in_memory]
async fn a_listed_item_has_no_rank_score_and_user_id_but_a_username(server: Server) {
    let [alice, bob] = server.people(["alice", "Bob"]).await;
    alice.submit_text("Text", "the text").await;
    ok(bob.submit("Link", "http://example.com/", "a comment").await);
    let mut expected = json!({
        "id": 2, "title": "Link", "url": "http://example.com/", "ctime": server.now(),
        "up": 1, "down": 0, "comments": 1, "username": "Bob",
    });
    for sort in SiteList::names() {
        let answer = ok(server.visitor().api_get(&format!("/api/getnews/{sort}/0/1")).await);
        check_members(&answer, &["status", "news", "count"]);
        assert_eq!((&answer["news"], &answer["count"]), (&json!([expected]), &json!(2)), "{sort}");
    }
    ok(alice.vote(2, "up").await);
    expected["up"] = 2.into();
    expected["voted"] = "up".into();
    expected["new_comments"] = 0.into();
    assert_eq!(alice.list("latest").await[0], expected);
}

#[in_memory]
async fn a_comment_has_counts_of_votes_the_viewers_own_vote_and_its_replies(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("One", "text").await;
    alice.comment(1, "Top").await;
    bob.reply(1, 1, "Reply").await;
    ok(bob.vote_comment(1, 1, "down").await);
    let thread = |top: Option<&str>, reply: Option<&str>| {
        let mut thread = json!({"status": "ok", "next": null, "comments": [{
            "id": 1, "body": "Top", "html": "<p>Top</p>", "ctime": server.now(), "username": "alice", "up": 1, "down": 1,
            "replies": [{
                "id": 2, "body": "Reply", "html": "<p>Reply</p>", "ctime": server.now(), "username": "bob",
                "up": 1, "down": 0, "replies": [],
            }],
        }]});
        for (comment, vote) in [("/comments/0", top), ("/comments/0/replies/0", reply)] {
            if let Some(vote) = vote {
                thread.pointer_mut(comment).unwrap()["voted"] = vote.into();
            }
        }
        thread
    };
    let path = "/api/getcomments/1";
    assert_eq!(server.visitor().api_get(path).await, thread(None, None));
    assert_eq!(alice.api_get(path).await, thread(Some("up"), None));
    assert_eq!(bob.api_get(path).await, thread(Some("down"), Some("up")));
}

#[each_engine("other versions")]
async fn a_deleted_comment_has_the_keys_of_the_original_beside_ours(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("One", "text").await;
    alice.comment(1, "Gone").await;
    bob.reply(1, 1, "Reply").await;
    ok(alice.edit_comment(1, 1, "").await);
    let comment = &server.visitor().thread(1).await[0];
    check_members(
        comment,
        &["id", "ctime", "username", "up", "down", "body", "html", "deleted", "del", "replies"],
    );
    has_members(comment, json!({"body": "", "html": "", "del": 1, "deleted": true}));
}

#[in_memory]
async fn texts_come_back_as_they_were_sent_and_the_name_of_an_account_that_is_gone_is_a_string(
    server: Server,
) {
    let alice = server.member("alice").await;
    let odd = "<script>alert('x')</script> & \"quotes\" \\ \u{2028} 日本 🦀 </textarea>\n\ttab";
    alice.submit_text("A <b>title</b> & \"more\"", odd).await;
    alice.comment(1, odd).await;
    assert_eq!(alice.news(1).await["title"], "A <b>title</b> & \"more\"");
    assert_eq!(alice.news(1).await["url"], format!("text://{odd}"));
    assert_eq!(alice.thread(1).await[0]["body"], odd);
    let bob = server.member("bob").await;
    bob.submit_text("One", "text").await;
    bob.comment(2, "Comment").await;
    server.write(|batch| batch.delete("user:2")).await;
    assert_eq!(alice.list("latest").await[0]["username"], "[deleted user]");
    assert_eq!(alice.thread(2).await[0]["username"], "[deleted user]");
}

#[in_memory]
async fn getnews_gives_1_to_32_items_and_never_the_whole_site(server: Server) {
    let alice = server.member("alice").await;
    let parts = "0/0 0/33 0/-1 0/100 -1/30 -10/5 0/1.5 a/30 0/a +1/30 0x1/30 99999999999999999999/30 \
        0/99999999999999999999 1e3/30 %20/30 0/%00";
    for part in parts.split(' ') {
        for sort in SiteList::names() {
            let error = refused(alice.api_get(&format!("/api/getnews/{sort}/{part}")).await);
            assert!(error.starts_with("The field "), "{part}: {error}");
        }
    }
    for sort in ["hot", "LATEST", "top%00", "random"] {
        let error = refused(alice.api_get(&format!("/api/getnews/{sort}/0/30")).await);
        assert!(error.starts_with("The field sort"), "{sort}: {error}");
    }
    let visitor = server.visitor();
    let paths = "/api /api/ /api/nothing /api/getnews /api/getnews/top /api/getcomments/ /api/getcomments/0 \
        /api/getcomments/-1 /api/getcomments/nextid /api/getcomments/1.0 /api/getcomments/%FF \
        /api/getcomments/99999999999999999999 /api/getcomments/1%0A";
    for path in paths.split(' ') {
        let answer = visitor.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        if path != "/api" {
            refused(answer.json());
        }
    }
}
