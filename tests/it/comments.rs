//! Writing, answering, editing, deleting and voting on comments.

use serde_json::{Value, json};

use crate::client::{Client, ok, refused, refused_saying};
use crate::server::{Server, each_engine, in_memory};

/// One comment as it is stored.
async fn stored(server: &Server, news: u64, comment: u64) -> Value {
    let json = server.field(&format!("thread:comment:{news}"), &comment.to_string()).await.unwrap();
    serde_json::from_str(&json).unwrap()
}

/// A story by alice, and the users bob and carol. None is an administrator.
async fn item(server: &Server) -> (u64, Client, Client, Client) {
    server.member("first").await;
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    (alice.submit_text("One", "text").await, alice, bob, carol)
}

#[each_engine("keys")]
async fn a_comment_is_stored_as_json_in_its_thread_and_voted_up_by_its_author(server: Server) {
    let (news, _, bob, _) = item(&server).await;
    let answer = ok(bob.try_comment(news, None, " Hello\r\n<b>you</b> ").await);
    let expected = json!({"status": "ok", "op": "insert", "comment_id": 1, "parent_id": -1, "news_id": news});
    assert_eq!(answer, expected);
    let comment = stored(&server, news, 1).await;
    for (field, expected) in [
        ("body", json!(" Hello\n<b>you</b>")),
        ("ctime", json!(server.now())),
        ("user_id", json!(3)),
        ("parent_id", json!(-1)),
        ("score", json!(1)),
        ("up", json!([3])),
    ] {
        assert_eq!(comment[field], expected, "{field}");
    }
    assert_eq!(server.field("thread:comment:1", "nextid").await.as_deref(), Some("1"));
    #[allow(clippy::cast_precision_loss)]
    let listed = [("1-1".to_owned(), server.now() as f64)];
    assert_eq!(server.sorted("user.comments:3").await, listed);
    assert_eq!(server.number("news:1", "comments").await, 1);
    assert_eq!(server.karma(&bob).await, 1);
    assert_eq!(bob.comment(news, "Second").await, 2);
}

#[in_memory]
async fn a_comment_increments_the_badges_of_the_authors_of_its_parent_and_of_the_story(server: Server) {
    let (news, alice, bob, carol) = item(&server).await;
    let first = alice.comment(news, "First").await;
    bob.reply(news, first, "Answer").await;
    let own = alice.reply(news, first, "Own answer").await;
    carol.reply(news, own, "Answer to the answer").await;
    bob.comment(news, "On the item, no answer to a comment").await;
    // One entry for each comment of somebody else.
    assert_eq!(server.number("user:2", "replies").await, 3);
    assert_eq!(server.number("user:3", "replies").await, 0);
    assert_eq!(stored(&server, news, own).await["parent_id"], first);
    assert_eq!(server.number("news:1", "comments").await, 5);
}

#[in_memory]
async fn what_is_not_acceptable_as_a_comment_is_refused_and_writes_nothing(server: Server) {
    let (news, _, bob, _) = item(&server).await;
    let kept = bob.comment(news, &"é".repeat(4_096)).await;
    let before = server.dump().await;
    let too_long = "x".repeat(4_097);
    for text in ["", "  \r\n ", "\u{200b}", "nul \0", "bell \u{7}", &too_long] {
        refused_saying(bob.try_comment(news, None, text).await, " comment");
    }
    refused(bob.edit_comment(news, kept, &too_long).await);
    assert_eq!(
        refused(bob.try_comment(news, Some(9), "x").await),
        "The comment you are replying to does not exist."
    );
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn an_author_may_edit_a_comment_for_2_hours(server: Server) {
    server.member("first").await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let id = bob.comment(news, "Original").await;
    ok(alice.vote_comment(news, id, "up").await);
    server.advance(7_200);
    let answer = ok(bob.edit_comment(news, id, "Edited").await);
    assert_eq!((&answer["op"], &answer["comment_id"]), (&json!("update"), &json!(id)));
    let comment = stored(&server, news, id).await;
    assert_eq!((&comment["body"], &comment["up"]), (&json!("Edited"), &json!([3, 2])));
    assert_eq!(comment["ctime"], server.now() - 7_200);
    refused_saying(alice.edit_comment(news, id, "Not mine").await, "author");
    server.advance(1);
    refused_saying(bob.edit_comment(news, id, "Late").await, "2 hours");
    refused_saying(bob.edit_comment(news, id, "").await, "2 hours");
    assert_eq!(stored(&server, news, id).await, comment);
}

#[in_memory(&[("limits.comment_edit_seconds", "0")])]
async fn a_comment_edit_window_of_0_means_no_limit(server: Server) {
    let (news, _, bob, _) = item(&server).await;
    let id = bob.comment(news, "Original").await;
    server.advance(10_000_000);
    let bob = server.client_of(bob.user_id).await;
    ok(bob.edit_comment(news, id, "Edited").await);
    ok(bob.edit_comment(news, id, "").await);
}

#[in_memory]
async fn an_empty_text_deletes_a_comment_and_deleting_twice_changes_nothing(server: Server) {
    let (news, alice, bob, _) = item(&server).await;
    let id = bob.comment(news, "Secret body").await;
    bob.comment(news, "Another").await;
    let answer = ok(bob.edit_comment(news, id, " \r\n").await);
    assert_eq!((&answer["op"], &answer["comment_id"]), (&json!("delete"), &json!(id)));
    assert_eq!(stored(&server, news, id).await["del"], 1);
    assert_eq!(server.number("news:1", "comments").await, 1);

    let before = server.dump().await;
    ok(bob.edit_comment(news, id, "").await);
    assert_eq!(refused(bob.edit_comment(news, id, "Undelete").await), "This comment has been deleted.");
    assert_eq!(refused(alice.vote_comment(news, id, "up").await), "This comment has been deleted.");
    assert_eq!(refused(alice.try_comment(news, Some(id), "Re").await), "This comment has been deleted.");
    assert_eq!(server.dump().await, before);
    // The counter never goes below zero.
    server.set_field("news:1", "comments", "0").await;
    ok(bob.edit_comment(news, 2, "").await);
    assert_eq!(server.number("news:1", "comments").await, 0);
}

#[in_memory]
async fn others_may_not_delete_a_comment_administrators_may_at_any_time_and_on_deleted_news_its_author_may(
    server: Server,
) {
    let admin = server.register("admin").await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let id = bob.comment(news, "Bob's").await;
    refused_saying(alice.edit_comment(news, id, "").await, "author");
    server.advance(1_000_000);
    ok(admin.edit_comment(news, id, "").await);
    assert_eq!(server.number("news:1", "comments").await, 0);
    let news = alice.submit_text("Soon gone", "text").await;
    let comment = bob.comment(news, "before").await;
    ok(alice.delete(news).await);
    refused_saying(bob.edit_comment(news, comment, "after").await, "deleted");
    assert_eq!(bob.thread(news).await[0]["body"], "before");
    assert_eq!(ok(bob.edit_comment(news, comment, "").await)["op"], "delete");
    assert!(bob.thread(news).await.is_empty());
}

#[in_memory]
async fn a_deleted_comment_shows_only_above_answers_and_never_its_body(server: Server) {
    let (news, alice, bob, carol) = item(&server).await;
    let top = bob.comment(news, "secret top").await;
    let middle = carol.reply(news, top, "secret middle").await;
    let leaf = alice.reply(news, middle, "leaf").await;
    ok(bob.edit_comment(news, top, "").await);
    ok(carol.edit_comment(news, middle, "").await);
    let answer = bob.api_get(&format!("/api/getcomments/{news}")).await;
    assert!(!answer.to_string().contains("secret"), "{answer}");
    let thread = &answer["comments"];
    assert_eq!(thread[0]["body"], "");
    assert_eq!(thread[0]["replies"][0]["body"], "");
    assert_eq!(thread[0]["replies"][0]["replies"][0]["body"], "leaf");
    ok(alice.edit_comment(news, leaf, "").await);
    assert_eq!(bob.thread(news).await, [Value::Null; 0]);
}

#[in_memory]
async fn a_user_has_one_vote_on_a_comment_and_it_moves_no_karma(server: Server) {
    let (news, alice, bob, carol) = item(&server).await;
    let id = bob.comment(news, "One").await;
    let answer = ok(alice.vote_comment(news, id, "up").await);
    assert_eq!(answer, json!({"status": "ok", "comment_id": format!("{news}-{id}")}));
    ok(carol.vote_comment(news, id, "down").await);
    let before = server.dump().await;
    for client in [&alice, &bob, &carol] {
        for direction in ["up", "down"] {
            let error = refused(client.vote_comment(news, id, direction).await);
            assert_eq!(error, "You have already voted on this.");
        }
    }
    assert_eq!(server.dump().await, before);
    let comment = stored(&server, news, id).await;
    assert_eq!((&comment["up"], &comment["down"]), (&json!([3, 2]), &json!([4])));
    assert_eq!(comment["score"], 1);
    for user in [&alice, &bob, &carol] {
        assert_eq!(server.karma(user).await, 1);
    }
    assert_eq!(refused(alice.vote_comment(news, 9, "up").await), "There is no such comment.");
}

/// The ids of a thread as nested lists: `[[id, [answers]]]`.
fn shape(comments: &Value) -> Value {
    let comments = comments.as_array().unwrap();
    comments.iter().map(|comment| json!([comment["id"], shape(&comment["replies"])])).collect()
}

#[each_engine("one of its kind")]
async fn siblings_come_by_votes_up_minus_down_and_newer_first_on_a_tie(server: Server) {
    let (news, alice, bob, carol) = item(&server).await;
    for (number, text) in ["One", "Two", "Three", "Four"].into_iter().enumerate() {
        let comment = bob.comment(news, text).await;
        assert_eq!(comment, u64::try_from(number).unwrap() + 1);
        server.advance(1);
    }
    bob.reply(news, 1, "Older answer").await;
    server.advance(1);
    alice.reply(news, 1, "Newer answer").await;
    ok(alice.vote_comment(news, 2, "up").await);
    ok(carol.vote_comment(news, 4, "down").await);
    let answer = alice.api_get(&format!("/api/getcomments/{news}")).await;
    assert_eq!(shape(&answer["comments"]), json!([[2, []], [3, []], [1, [[6, []], [5, []]]], [4, []]]));
    ok(carol.vote_comment(news, 5, "up").await);
    let answer = alice.api_get(&format!("/api/getcomments/{news}")).await;
    assert_eq!(answer["comments"][2]["replies"][0]["id"], 5);
}

#[in_memory]
async fn a_thread_may_be_deeper_than_any_stack(server: Server) {
    let (news, _, bob, _) = item(&server).await;
    // More than a thread may have, so that a thread of another program is no danger either.
    let depth = 3_000_u64;
    let fields = (1..=depth).map(|id| {
        let parent = if id == 1 { -1 } else { i64::try_from(id).unwrap() - 1 };
        let comment = json!({"body": "x", "ctime": id, "user_id": 3, "parent_id": parent, "up": [3]});
        (id.to_string(), comment.to_string())
    });
    let fields: Vec<_> = fields.collect();
    server.write(|batch| batch.set_fields("thread:comment:1", fields)).await;
    let body = bob.get(&format!("/api/getcomments/{news}")).await.body;
    let body = String::from_utf8(body).unwrap();
    assert_eq!(body.matches(r#""replies":["#).count(), 500);
    let end = format!(r#"{}],"next":"500"}}"#, "]}".repeat(500));
    assert!(body.ends_with(&end), "{}", &body[body.len() - 100..]);
    let rest = ok(bob.api_get(&format!("/api/getcomments/{news}?after=2999")).await);
    assert_eq!((&rest["comments"][0]["id"], &rest["next"]), (&json!(3_000), &Value::Null));
}
