//! What new accounts may not do yet.

use serde_json::json;

use crate::client::{ok, refused};
use crate::server::{Server, each_engine};

const DAY: u64 = 86_400;
const LINKS: &str = "https://a.example https://b.example c.example";

#[tokio::test]
async fn an_account_is_new_until_it_has_age_and_posts() {
    each_engine(&[("accounts.new_days", "3"), ("accounts.new_posts", "3")], async |server| {
        let alice = server.register("alice").await;
        // The first administrator is not new.
        let story = alice.submit_on("rust", "A story").await;
        alice.comment(story, LINKS).await;
        let bob = server.member("bob").await;
        server.set_karma(&bob, 1_000).await;
        let no_links = "at most 2 links";
        assert!(refused(bob.try_comment(story, None, LINKS).await).contains(no_links));
        bob.comment(story, "https://a.example https://b.example").await;
        assert!(refused(bob.edit_comment(story, 2, LINKS).await).contains(no_links));
        assert!(
            refused(bob.try_submit_on("rust, go", "Go").await).contains("New accounts can't create topics")
        );
        bob.submit_on("rust", "Rust").await;
        // Old enough, but with too few posts: a comment and a story, which is announced by a tweet.
        server.advance(3 * DAY);
        ok(bob.api_post("/api/deltweet", &[("tweet_id", "2")]).await);
        assert!(refused(bob.try_comment(story, None, LINKS).await).contains(no_links));
        bob.tweet("the third").await;
        bob.comment(story, LINKS).await;
        bob.submit_on("rust, go", "Go").await;
        assert_eq!(server.field("user:2", "established").await.as_deref(), Some("1"));
    })
    .await;
}

#[tokio::test]
async fn each_half_can_be_switched_off() {
    let rules = [(("3", "0"), false), (("0", "1"), false), (("0", "0"), true)];
    for ((days, posts), free) in rules {
        let settings = [("accounts.new_days", days), ("accounts.new_posts", posts)];
        let server = Server::start(crate::server::Engine::Memory, &settings).await;
        server.register("alice").await.submit_text("A story", "text").await;
        let bob = server.member("bob").await;
        let answer = bob.try_comment(1, None, LINKS).await;
        assert_eq!(answer["status"] == json!("ok"), free, "{days} {posts}: {answer}");
    }
}
