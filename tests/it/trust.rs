//! When accounts are trusted, and what they cannot do before.

use crate::client::{ok, refused_saying};
use crate::html::Page;
use crate::pages::page;
use crate::server::{Engine, Server, in_memory};

const DAY: u64 = 86_400;
const LINKS: &str = "https://a.example https://b.example c.example";
const RULE: &[(&str, &str)] = &[("trust.days", "7"), ("trust.karma", "10"), ("moderation.hide_at", "1")];

#[in_memory(RULE)]
async fn an_account_is_trusted_once_it_has_age_and_karma_and_stays_so(server: Server) {
    let alice = server.register("alice").await;
    // The first administrator is trusted.
    let story = alice.submit_on("rust", "A story").await;
    alice.comment(story, LINKS).await;
    let bob = server.member("bob").await;
    server.set_karma(&bob, 1_000).await;
    let no_links = "at most 2 links";
    let told = async || page(&bob, "/about/trust").await.content().to_owned();
    assert!(told().await.contains("You will be trusted from 22 Jan 2027, 08:00 UTC on."));
    refused_saying(bob.try_comment(story, None, LINKS).await, no_links);
    // The form says so before, and the refusal explains it.
    let form = page(&bob, &format!("/news/{story}")).await;
    assert_eq!(form.one("a", &[("href", "/about/trust")]).text(), "New members can add 2 links");
    assert!(!page(&alice, &format!("/news/{story}")).await.links_to("/about/trust"));
    let refusal = form.form("/postcomment").with("comment", LINKS).send(&bob).await;
    assert_eq!(Page::of(&refusal).find("a", &[("href", "/about/trust")]).len(), 2);
    // So do those of a story.
    let submit = page(&bob, "/submit").await;
    assert_eq!(submit.one("a", &[("href", "/about/trust")]).text(), "New members can add 2 links");
    assert!(submit.content().contains("New members can’t create topics."));
    assert!(!page(&alice, "/submit").await.links_to("/about/trust"));
    for (url, text, topics) in [("", LINKS, "rust"), ("https://d.example", LINKS, "rust"), ("", "text", "go")]
    {
        let form = submit.form("/submit").with("title", "A title").with("url", url);
        let refused = form.with("text", text).with("topics", topics).send(&bob).await;
        assert_eq!(Page::of(&refused).find("a", &[("href", "/about/trust")]).len(), 2, "{text}");
    }
    let submission = format!("/api/submit?news_id=-1&title=A title&url=&text={LINKS}&topics=rust");
    assert_eq!(bob.call(&submission).await["about"], "/about/trust");
    bob.comment(story, "https://a.example https://b.example").await;
    refused_saying(bob.edit_comment(story, 2, LINKS).await, no_links);
    refused_saying(bob.try_submit_on("rust, go", "Go").await, "New members can't create topics");
    bob.submit_on("rust", "Rust").await;
    // Old enough, but with too little karma.
    server.advance(7 * DAY);
    bob.get("/").await;
    server.set_karma(&bob, 9).await;
    assert!(told().await.contains("You will be trusted once you have 10 karma."));
    refused_saying(bob.try_comment(story, None, LINKS).await, no_links);
    server.set_karma(&bob, 10).await;
    bob.comment(story, LINKS).await;
    assert_eq!(server.field("user:2", "established").await.as_deref(), Some("1"));
    // An account that has spent its karma since stays trusted.
    server.set_karma(&bob, 1).await;
    bob.comment(story, LINKS).await;
    assert!(told().await.contains("You are trusted."));
    server.set_karma(&bob, 1_000).await;
    bob.submit_on("rust, go", "Go").await;
}

#[in_memory(RULE)]
async fn flags_count_half_before_an_account_is_trusted(server: Server) {
    let alice = server.register("alice").await;
    let story = alice.submit_text("A story", "text").await;
    let readers = server.members(3).await;
    let flag = format!("/api/flag?kind=story&id={story}&reason=spam&note=");
    let withheld = async || server.field(&format!("news:{story}"), "withheld").await;
    ok(readers[0].call(&flag).await);
    assert_eq!(withheld().await, None, "half a flag");
    ok(readers[1].call(&flag).await);
    assert_eq!(withheld().await.as_deref(), Some("flagged:"), "two halves");
}

#[tokio::test]
async fn each_half_can_be_switched_off() {
    for (days, karma, free) in [("3", "0", false), ("0", "10", false), ("0", "0", true)] {
        let settings = [("trust.days", days), ("trust.karma", karma)];
        let server = Server::start(Engine::Memory, &settings).await;
        server.register("alice").await.submit_text("A story", "text").await;
        let bob = server.member("bob").await;
        let answer = bob.try_comment(1, None, LINKS).await;
        assert_eq!(answer["status"] == "ok", free, "{days} {karma}: {answer}");
    }
}
