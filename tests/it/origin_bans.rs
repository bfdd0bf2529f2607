//! Bans of networks and of domains of e-mail addresses.

use serde_json::{Value, json};

use crate::client::{Client, PASSWORD, each, line_of, ok, refused, refused_saying};
use crate::pages::page;
use crate::server::{Server, in_memory};
use crate::signups::sign_up;

const PROXY: &[(&str, &str)] = &[("web.trusted_proxies", "127.0.0.1")];

/// A client whose requests come from an address.
fn from(client: &Client, address: &str) -> Client {
    client.clone().forwarded_for(address)
}

/// Bans what the fields say: `what=network&value=192.0.2.7&scope=both&reason=spam`.
async fn ban(by: &Client, fields: &str) -> Value {
    by.call(&format!("/api/moderate/bans?{fields}")).await
}

#[in_memory(PROXY)]
async fn nobody_signs_up_or_posts_from_a_banned_network(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    let story = bob.submit_text("A story", "text").await;
    for (value, inside, outside) in [
        ("192.0.2.0/24", "192.0.2.77", "192.0.3.1"),
        ("2001:db8:1::/48", "2001:db8:1:2::3", "2001:db8:2::1"),
        ("198.51.100.7", "198.51.100.7", "198.51.100.8"),
    ] {
        let request = format!("what=network&value={value}&scope=both&reason=a flood");
        let made = line_of(ban(&alice, &request).await);
        let stranger = from(&server.visitor(), inside);
        let error = refused(sign_up(&stranger, "mallory", &[]).await);
        assert_eq!(error, "New accounts from your network are not accepted here at the moment: a flood.");
        let inside = from(&bob, inside);
        for refusal in [
            inside.try_submit_on("rust", "Another").await,
            inside.try_comment(story, None, "a comment").await,
            inside.try_tweet("a post").await,
        ] {
            let error = "Posts from your network are not accepted here at the moment: a flood.";
            assert_eq!(refused(refusal), error, "{value}");
        }
        ok(from(&bob, outside).try_comment(story, None, "a comment").await);
        // Staff is never locked out.
        ok(from(&alice, "192.0.2.77").try_comment(story, None, "a comment").await);
        let list = ok(alice.api_get("/api/moderate/bans").await);
        assert_eq!(list["bans"][0]["stopped"], 4, "{list}");
        ok(alice.undo(made).await);
        ok(inside.try_comment(story, None, "again").await);
        assert_eq!(ok(alice.api_get("/api/moderate/bans").await)["bans"], json!([]));
    }
    crate::store_check::demand_clean(&server).await;
}

#[in_memory(PROXY)]
async fn a_ban_covers_what_it_says_and_ends(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    let story = bob.submit_text("A story", "text").await;
    server.set_field("user:2", "email", "bob@mail.spam.example").await;
    bob.get("/").await;
    let thrown_away = "what=domain&value=spam.example&scope=signup&reason=throw-away";
    let tried = ok(ban(&alice, &format!("{thrown_away}&dry_run=1")).await);
    assert_eq!(tried["stops"], 1, "{tried}");
    ok(ban(&alice, &format!("{thrown_away}&hours=1")).await);
    ok(bob.try_comment(story, None, "a comment").await);
    let address = [("email", "eve@spam.example")];
    let error = refused(sign_up(&server.visitor(), "eve", &address).await);
    assert!(error.starts_with("New accounts with an e-mail address of this domain"), "{error}");
    ok(sign_up(&server.visitor(), "frank", &[("email", "frank@notspam.example")]).await);
    // Nor does a member change to such an address; those who have one keep it.
    let carol = server.register("carol").await;
    let change = async |email: &str| {
        carol.call(&format!("/api/updateprofile?about=x&email={email}&current_password={PASSWORD}")).await
    };
    let before = server.dump().await;
    refused_saying(change("carol@mail.spam.example").await, "with an e-mail address of this domain");
    let mail =
        page(&carol, "/settings/mail").await.form("/settings/mail").with("email", "carol@spam.example");
    let answer = mail.with("current_password", PASSWORD).send(&carol).await;
    assert_eq!(answer.status, 403);
    let back = crate::html::Page::of(&answer);
    assert_eq!(back.find("p", &[("id", "error-email")]).len(), 1, "{}", back.text());
    assert_eq!(server.dump().await.get("user:5"), before.get("user:5"));
    ok(change("carol@mail.example").await);
    ok(alice.update_profile("", "alice@spam.example", "").await);
    server.advance(3_600);
    ok(sign_up(&server.visitor(), "eve", &address).await);
    ok(ban(&alice, "what=domain&value=spam.example&scope=post&reason=spam").await);
    refused_saying(bob.try_comment(story, None, "another").await, "Posts by people with");
    // The one that has ended is gone.
    let list = ok(alice.api_get("/api/moderate/bans").await);
    assert_eq!(each(&list["bans"], "ban_id"), [2], "{list}");
}

#[in_memory(PROXY)]
async fn a_domain_of_another_script_is_banned_however_it_is_written(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    let story = bob.submit_text("A story", "text").await;
    let visitor = server.visitor();
    // Typed before domains were stored in one form.
    server.set_field("user:2", "email", "bob@Mail.Bücher.example").await;
    bob.get("/").await;
    let umlaut = "what=domain&value=bücher.example&scope=both&reason=spam";
    let tried = ok(ban(&alice, &format!("{umlaut}&dry_run=1")).await);
    assert_eq!(tried["stops"], 1, "{tried}");
    ok(ban(&alice, umlaut).await);
    refused_saying(bob.try_comment(story, None, "a comment").await, "Posts by people with");
    for address in ["e@bücher.example", "e@BÜCHER.example", "e@xn--bcher-kva.example", "e@ｂücher。example"]
    {
        let error = refused(sign_up(&visitor, "eve", &[("email", address)]).await);
        assert!(error.starts_with("New accounts with an e-mail"), "{address}: {error}");
    }
    for undecodable in ["e@xn--a.example", "e@xn--bücher.example"] {
        let error = refused(sign_up(&visitor, "eve", &[("email", undecodable)]).await);
        assert!(error.contains("is not the name of a host"), "{undecodable}: {error}");
    }
    ok(sign_up(&visitor, "frank", &[("email", "Frank@Müller.example")]).await);
    assert_eq!(server.field("user:3", "email").await.as_deref(), Some("Frank@xn--mller-kva.example"));
}

#[in_memory(PROXY)]
async fn a_trial_counts_those_whom_a_ban_would_stop(server: Server) {
    let alice = server.register("alice").await;
    let people = server.members(4).await;
    let addresses = ["192.0.2.1", "192.0.2.2", "192.0.3.1", "2001:db8:1::1"];
    for (person, address) in people.iter().zip(addresses) {
        from(person, address).submit_text("A story", "text").await;
    }
    let stops = async |value: &str| {
        let request = format!("what=network&value={value}&scope=both&reason=r&dry_run=1");
        ok(ban(&alice, &request).await)["stops"].clone()
    };
    for (value, count) in [
        ("192.0.2.0/24", json!(2)),
        ("192.0.2.1", json!(1)),
        ("192.0.2.128/25", json!(0)),
        ("192.0.0.0/16", json!(3)),
        ("2001:db8:1::/48", json!(1)),
        ("2001:db8::/40", json!(1)),
        ("2001:db8::/32", Value::Null),
    ] {
        assert_eq!(stops(value).await, count, "{value}");
    }
    assert_eq!(server.hash("bans:origins").await.len(), 0);
    let request = "/moderate/bans?what=network&value=192.0.2.0/24&scope=both&reason=r&dry_run=1";
    let tried = alice.answer_to(request).await;
    assert!(tried.text().contains("This ban stops 2 members"), "{}", tried.text());
    server.advance(8 * 86_400);
    assert_eq!(stops("192.0.2.0/24").await, json!(0));
}

#[in_memory(PROXY)]
async fn only_administrators_ban_and_the_log_does_not_say_what(server: Server) {
    let alice = server.register("alice").await;
    let moderator = server.moderator("moderator").await;
    let network = "what=network&value=192.0.2.0/24&scope=both&reason=a flood";
    refused_saying(ban(&moderator, network).await, "Only administrators");
    assert_eq!(moderator.get("/moderate/bans").await.status, 403);
    let made = line_of(ban(&alice, network).await);
    refused_saying(moderator.undo(made).await, "dministrator");
    let log = server.visitor().text("/moderations").await;
    assert!(log.contains("ban 1 of a network or a domain") && log.contains("a flood"), "{log}");
    assert!(!log.contains("192.0.2"), "{log}");
    for (value, expected) in [("10.0.0.0/8", "at most a /16"), ("example", "nter an address or a network")] {
        let request = format!("what=network&value={value}&scope=both&reason=a flood");
        refused_saying(ban(&alice, &request).await, expected);
    }
    // By pages alone.
    let form = page(&alice, "/moderate/bans").await.form("/moderate/bans/lift");
    assert_eq!(form.with("reason", "over").send(&alice).await.status, 303);
    assert!(page(&alice, "/moderate/bans").await.content().contains("Nothing is banned."));
}

#[in_memory(PROXY)]
async fn the_same_origin_is_banned_once(server: Server) {
    let alice = server.register("alice").await;
    for (what, value, again) in
        [("domain", "spam.example", "@Spam.Example"), ("network", "192.0.2.0/24", "192.0.2.77/24")]
    {
        let made = format!("what={what}&value={value}&scope=both&reason=a flood&hours=1");
        let made = ok(ban(&alice, &made).await);
        let other = format!("what={what}&value={again}&scope=signup&reason=again");
        let why = refused(ban(&alice, &other).await);
        assert_eq!(why, format!("This is already banned: see ban {} in the list.", made["ban_id"]));
        // A lifted ban does not come back beside another, and keeps its reason and its end.
        let before = server.hash("bans:origins").await;
        let lift = format!("/api/moderate/unban?ban_id={}&reason=over", made["ban_id"]);
        let lifted = line_of(alice.call(&lift).await);
        let second = line_of(ban(&alice, &other).await);
        refused_saying(alice.undo(lifted).await, "already banned");
        ok(alice.undo(second).await);
        server.advance(60);
        ok(alice.undo(lifted).await);
        assert_eq!(server.hash("bans:origins").await, before);
        let line = &alice.log("").await[0];
        assert!(line["action"] == "bar" && line["until"].is_u64(), "{line}");
        // One that has ended makes room.
        server.advance(3_600);
        ok(ban(&alice, &other).await);
    }
}
