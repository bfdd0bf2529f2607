//! The limits of signing up: the modes of the site, and how many accounts are created from one
//! network and in one hour.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use tidings_keyspace::Expiry;

use crate::client::{Client, Fields, PASSWORD, ok, refused, refused_saying};
use crate::consistency;
use crate::html::Page;
use crate::pages::{page, redirects_to};
use crate::server::{Engine, Server, Settings, in_memory};
use crate::smtp_server::SmtpServer;

const PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.0/8");
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

/// Signs up, with further fields.
pub async fn sign_up(client: &Client, username: &str, further: Fields<'_>) -> Value {
    let mut fields = vec![("username", username), ("password", PASSWORD)];
    fields.extend(further);
    client.api_post("/api/create_account", &fields).await
}

/// An invitation by a member.
pub async fn invitation(member: &Client) -> String {
    ok(member.api_post("/api/invite", &[]).await)["invitation"].as_str().unwrap().to_owned()
}

/// A site on which alice, the administrator, has signed up.
async fn site(engine: Engine, settings: Settings<'_>) -> (Server, Client) {
    let server = Server::start(engine, settings).await;
    let alice = server.register("alice").await;
    (server, alice)
}

/// A visitor from somewhere.
fn from(server: &Server, address: &str) -> Client {
    server.visitor().forwarded_for(address)
}

#[tokio::test]
async fn each_mode_lets_in_whom_it_says() {
    for (mode, missing) in [
        ("open", None),
        ("invite", Some("Enter your invitation. You can sign up here only if a member invites you.")),
        ("apply", Some("Write why you would like to join.")),
        ("closed", Some("Sign-up is closed on this site.")),
    ] {
        // The first account ever is let in always.
        let (server, _) = site(Engine::Memory, &[("accounts.signup", mode)]).await;
        assert_eq!(server.field("user:1", "flags").await.as_deref(), Some("a"));
        let before = server.dump().await;
        let answer = sign_up(&server.visitor(), "bob", &[]).await;
        match missing {
            None => assert_eq!(ok(answer).as_object().unwrap().len(), 3),
            Some(message) => {
                assert_eq!(refused(answer), message);
                assert_eq!(server.dump().await, before, "{mode}");
            }
        }
        let page = page(&server.visitor(), "/register").await;
        assert_eq!(page.find("form", &[("action", "/register")]).is_empty(), mode == "closed");
        consistency::check_site(&server).await;
    }
}

#[tokio::test]
async fn an_invitation_opens_every_mode_but_a_closed_one() {
    for mode in ["open", "invite", "apply"] {
        let (server, alice) = site(Engine::Memory, &[("accounts.signup", mode)]).await;
        let code = invitation(&alice).await;
        let answer = ok(sign_up(&server.visitor(), "bob", &[("invitation", &code)]).await);
        assert!(answer["auth"].is_string() && answer.get("pending").is_none(), "{mode}: {answer}");
        assert_eq!(server.field("user:2", "invited_by").await.as_deref(), Some("1"));
    }
    let (_server, alice) = site(Engine::Memory, &[("accounts.signup", "closed")]).await;
    assert_eq!(refused(alice.api_post("/api/invite", &[]).await), "Sign-up is closed on this site.");
}

#[tokio::test]
async fn the_page_asks_for_what_the_mode_needs_and_shows_mistakes_beside_their_fields() {
    for (mode, field) in [("invite", "invitation"), ("apply", "application")] {
        let (server, _) = site(Engine::Memory, &[("accounts.signup", mode)]).await;
        let form = page(&server.visitor(), "/register").await.form("/register");
        let form = form.with("username", "bob").with("password", PASSWORD);
        let answer = form.with(field, " ").send(&server.visitor()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let shown = Page::of(&answer);
        assert_eq!(shown.find("p", &[("id", &format!("error-{field}"))]).len(), 1, "{mode}");
        assert_eq!(shown.form("/register").value("username"), Some("bob"));
    }
    // Before the first account, the form is that of an open site.
    let server = Server::start(Engine::Memory, &[("accounts.signup", "closed")]).await;
    let form = page(&server.visitor(), "/register").await.form("/register");
    let form = form.with("username", "alice").with("password", PASSWORD);
    assert_eq!(redirects_to(&form.send(&server.visitor()).await), "/welcome");
}

#[tokio::test]
async fn strangers_answer_the_question_of_the_site() {
    let question = ("accounts.signup_question", "Which sea is this about?");
    let answers = ("accounts.signup_answers", "The North Sea, North Sea");
    let (server, alice) = site(Engine::Memory, &[question, answers]).await;
    for wrong in ["Baltic Sea", "north"] {
        let error = refused(sign_up(&server.visitor(), "bob", &[("answer", wrong)]).await);
        assert_eq!(error, "This is not the answer to the site's question.", "{wrong}");
    }
    // A program has not seen the question.
    for missing in [&[][..], &[("answer", "")], &[("answer", " ")]] {
        let error = refused(sign_up(&server.visitor(), "bob", missing).await);
        assert_eq!(error, "Answer the site's question: Which sea is this about?");
    }
    let form = page(&server.visitor(), "/register").await.form("/register");
    let form = form.with("username", "bob").with("password", PASSWORD).with("answer", "<b>");
    let refused = form.send(&server.visitor()).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let shown = Page::of(&refused);
    assert_eq!(shown.find("p", &[("id", "error-answer")]).len(), 1);
    assert!(shown.content().contains("Which sea is this about?"));
    assert_eq!(shown.form("/register").value("answer"), Some("<b>"));
    ok(sign_up(&server.visitor(), "bob", &[("answer", " north  SEA")]).await);
    // A member vouches for whom they invite.
    let code = invitation(&alice).await;
    ok(sign_up(&server.visitor(), "carol", &[("invitation", &code)]).await);
}

#[tokio::test]
async fn the_site_says_who_can_sign_up() {
    for (mode, said) in [
        ("open", "Anyone can sign up"),
        ("invite", "People can sign up if a member invites them"),
        ("apply", "or apply and wait for a moderator"),
        ("closed", "Nobody can sign up at the moment."),
    ] {
        let (server, alice) = site(Engine::Memory, &[("accounts.signup", mode)]).await;
        assert!(page(&server.visitor(), "/about").await.content().contains(said), "{mode}");
        assert!(page(&alice, "/admin/site").await.content().contains(said), "{mode}");
        assert!(page(&alice, "/welcome").await.content().contains(said), "{mode}");
    }
}

#[tokio::test]
async fn a_network_creates_so_many_accounts_in_a_day() {
    for engine in [Engine::Memory, Engine::Redis] {
        let (server, _) = site(engine, &[PROXY, ("limits.signups_per_network", "3")]).await;
        for (name, address) in
            [("bob", "192.0.2.1"), ("carol", "192.0.2.2"), ("dave", "192.0.2.3"), ("erin", "2001:db8:1::1")]
        {
            ok(sign_up(&from(&server, address), name, &[]).await);
        }
        let key = "limit:signups:192.0.2.0/24";
        assert_eq!(server.string(key).await.as_deref(), Some("3"));
        let before = server.dump().await;
        let error = refused(sign_up(&from(&server, "192.0.2.200"), "frank", &[]).await);
        assert!(error.starts_with("Too many accounts were created from your network in a day."), "{error}");
        assert!(error.contains("Try again in 1 day,") || error.contains("24 hours"), "{error}");
        assert!(error.ends_with(", or ask the administrator for an invitation."), "{error}");
        assert_eq!(server.dump().await, before);
        // The page says the same, with the status and the time.
        let form = page(&from(&server, "192.0.2.9"), "/register").await.form("/register");
        let form = form.with("username", "frank").with("password", PASSWORD);
        let answer = form.send(&from(&server, "192.0.2.9")).await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(answer.headers.contains_key("retry-after"));
        // Neighbours in an IPv6 /48 are one network too, and others are not concerned.
        ok(sign_up(&from(&server, "2001:db8:1:ffff::1"), "frank", &[]).await);
        assert_eq!(server.string("limit:signups:2001:db8:1::/48").await.as_deref(), Some("2"));
        ok(sign_up(&from(&server, "192.0.3.1"), "grace", &[]).await);
    }
}

#[tokio::test]
async fn the_next_of_an_address_waits_ten_seconds_and_the_invited_do_not_wait() {
    let defaults = [("limits.account_creation_seconds", "10"), ("limits.signups_per_network", "20")];
    let (server, alice) = site(Engine::Memory, &defaults).await;
    // The owner reads of both limits.
    let welcome = page(&alice, "/welcome").await;
    let limits = ["address can create one account every 10 seconds.", "can create 20 accounts a day."];
    for limit in limits {
        let sentence = format!("Each network {limit}");
        assert!(welcome.content().contains(&sentence), "{sentence}: {}", welcome.content());
    }
    server.advance(10);
    ok(sign_up(&server.visitor(), "bob", &[]).await);
    let refusal = sign_up(&server.visitor(), "carol", &[]).await;
    refused_saying(refusal, "1 minute, or ask the administrator for an invitation.");
    ok(sign_up(&server.visitor(), "carol", &[("invitation", &invitation(&alice).await)]).await);
    refused(sign_up(&server.visitor(), "dave", &[]).await);
    for number in 0..17 {
        server.advance(10);
        ok(sign_up(&server.visitor(), &format!("member-{number}"), &[]).await);
    }
    server.advance(10);
    refused_saying(sign_up(&server.visitor(), "dave", &[]).await, "your network");
    ok(sign_up(&server.visitor(), "dave", &[("invitation", &invitation(&alice).await)]).await);
}

#[tokio::test]
async fn the_count_of_a_network_ends_a_day_after_its_first_account() {
    let settings = [PROXY, ("limits.signups_per_network", "2")];
    let (server, _) = site(Engine::Memory, &settings).await;
    let bob = from(&server, "192.0.2.1");
    ok(sign_up(&bob, "bob", &[]).await);
    server.advance(DAY - 1);
    ok(sign_up(&bob, "carol", &[]).await);
    refused_saying(sign_up(&bob, "dave", &[]).await, "Try again in 1 minute,");
    server.advance(1);
    ok(sign_up(&bob, "dave", &[]).await);
}

/// Whether a new account waits for approval.
fn waits(answer: &Value) -> bool {
    assert_eq!(answer["status"], "ok", "{answer}");
    assert_eq!(answer["pending"] == true, answer.get("auth").is_none(), "{answer}");
    answer["pending"] == true
}

#[in_memory(&[PROXY, ("limits.signup_burst", "4")])]
async fn after_too_many_accounts_in_an_hour_new_ones_wait_for_approval(server: Server) {
    let alice = server.register("alice").await;
    let (crowd, other) = (from(&server, "192.0.2.1"), from(&server, "198.51.100.1"));
    for name in ["bob", "carol", "dave"] {
        assert!(!waits(&sign_up(&crowd, name, &[]).await), "{name}");
    }
    let expiry = server.expiry("limit:signup_paused").await;
    assert!(matches!(expiry, Expiry::In(left) if left <= Duration::from_secs(HOUR)), "{expiry:?}");
    assert_eq!(server.string("limit:signup_burst").await, None);
    assert!(waits(&sign_up(&crowd, "erin", &[]).await));
    let queue = ok(alice.api_get("/api/moderate/queue").await);
    let row = &queue["items"][0];
    assert_eq!(row["id"], "erin", "{queue}");
    let shown = page(&alice, "/moderate").await;
    assert!(shown.text().contains("many accounts were created at the same time"), "{}", shown.text());
    let error = refused(server.visitor().try_log_in("erin", PASSWORD).await);
    assert!(error.starts_with("Your application has not been answered yet."), "{error}");
    ok(alice.call("/api/moderate?action=approve&kind=application&id=erin").await);
    ok(server.visitor().try_log_in("erin", PASSWORD).await);
    // The first of a network is let in, and the second waits; so does nobody who is invited.
    assert!(!waits(&sign_up(&other, "frank", &[]).await));
    assert!(waits(&sign_up(&from(&server, "198.51.100.2"), "grace", &[]).await));
    assert!(!waits(&sign_up(&crowd, "heidi", &[("invitation", &invitation(&alice).await)]).await));
    // The page says that it was sent to the moderators.
    let form = page(&crowd, "/register").await.form("/register");
    let form = form.with("username", "ivan").with("password", PASSWORD);
    let sent = form.send(&crowd).await;
    assert!(crate::html::Page::of(&sent).content().contains("has been sent to the moderators"));
    consistency::check_site(&server).await;
}

#[tokio::test]
async fn accounts_wait_for_an_hour_and_are_counted_anew_then() {
    let (server, _) = site(Engine::Memory, &[("limits.signup_burst", "2")]).await;
    server.advance(HOUR - 1);
    assert!(!waits(&sign_up(&server.visitor(), "bob", &[]).await));
    server.advance(HOUR - 1);
    assert!(waits(&sign_up(&server.visitor(), "carol", &[]).await));
    server.advance(1);
    assert!(!waits(&sign_up(&server.visitor(), "dave", &[]).await));
    // Two accounts an hour apart are no burst.
    server.advance(HOUR);
    assert!(!waits(&sign_up(&server.visitor(), "erin", &[]).await));
    assert_eq!(server.string("limit:signup_burst").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn administrators_are_told_when_new_accounts_wait() {
    let mut relay = SmtpServer::start().await;
    let settings = [("mail.relay", &*relay.relay()), ("limits.signup_burst", "3")];
    let server = Server::start(Engine::Memory, &settings).await;
    let mut alice = server.register("alice").await;
    alice.user_id = 1;
    // Only administrators are told, and those without an address only in their inbox.
    let [bob, carol] = server.people(["bob", "carol"]).await;
    server.set_field(&format!("user:{}", carol.user_id), "flags", "a").await;
    for user in [1, bob.user_id] {
        server.set_field(&format!("user:{user}"), "email", "a@example.org").await;
    }
    for name in ["dave", "erin"] {
        ok(sign_up(&server.visitor(), name, &[]).await);
    }
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["a@example.org"]);
    assert_eq!(mail.header("Subject"), Some("New accounts need approval at Tidings"));
    assert!(mail.text().contains("3 accounts were created within 1 hour"), "{}", mail.text());
    // The mails are sent after all inboxes have the message.
    for (user, messages) in [(&alice, 1), (&carol, 1), (&bob, 0)] {
        assert_eq!(user.inbox().await.len(), messages, "{}", user.username);
    }
    assert_eq!(relay.waiting(), 0);
}

#[tokio::test]
async fn a_client_of_lamer_news_gets_what_it_always_got_and_limits_that_are_off_write_no_keys() {
    let (server, _) = site(Engine::Memory, &[]).await;
    let answer = ok(sign_up(&server.visitor(), "bob", &[]).await);
    // Limits that are off write nothing.
    assert!(server.dump().await.keys().all(|key| !key.starts_with("limit:")));
    assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["status", "auth", "apisecret"]);
    let user = server.hash("user:2").await;
    assert_eq!(user["email"], "");
    for field in ["invited_by", "application", "pending", "unconfirmed", "deactivated"] {
        assert_eq!(user.get(field), None, "{field}");
    }
}
