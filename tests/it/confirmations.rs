//! Confirming e-mail addresses: what an account can do before, and the links.

use reqwest::StatusCode;

use crate::client::{Client, PASSWORD, ok, refused};
use crate::html::Page;
use crate::mails::send_all;
use crate::pages::{error_message, page, redirects_saying, redirects_to};
use crate::server::{Engine, Server, in_memory};
use crate::signups::sign_up;
use crate::smtp_server::SmtpServer;

const SITE: &str = "https://news.example.com";
const ADDRESS: &str = "bob@example.org";
const DAY: u64 = 86_400;

/// A site that confirms addresses, with its administrator, who needs no address.
async fn site() -> (Server, SmtpServer, Client) {
    let relay = SmtpServer::start().await;
    let settings = [("mail.relay", &*relay.relay()), ("site.url", SITE), ("accounts.confirm_email", "true")];
    let server = Server::start(Engine::Memory, &settings).await;
    let alice = server.register("alice").await;
    (server, relay, alice)
}

/// Signs up as bob, with an address. Returns the path of the link in the mail, too.
async fn bob(server: &Server, relay: &mut SmtpServer) -> (Client, String) {
    ok(sign_up(&server.visitor(), "bob", &[("email", ADDRESS)]).await);
    (server.client_of(2).await, mailed_link(relay, ADDRESS).await)
}

/// The path of the link in the next mail.
async fn mailed_link(relay: &mut SmtpServer, to: &str) -> String {
    let mail = relay.next_message().await;
    assert_eq!(mail.to, [to]);
    let text = mail.text();
    let link = text.lines().find(|line| line.starts_with(SITE)).expect("a line with the link");
    link[SITE.len()..].to_owned()
}

#[tokio::test]
async fn whoever_changes_a_confirmed_address_is_asked_again_until_the_change_is_taken_back() {
    let (server, mut relay, _) = site().await;
    let (bob, link) = bob(&server, &mut relay).await;
    confirm(&server, &link).await;
    bob.submit_text("A story", "text").await;
    ok(bob.update_profile("", "victim@example.org", "").await);
    let error = refused(bob.try_tweet("text").await);
    assert!(error.starts_with("Confirm your e-mail address first"), "{error}");
    // The address that was confirmed counts until then.
    assert_eq!(server.field("user:2", "email").await.as_deref(), Some(ADDRESS));
    ok(bob.update_profile("", ADDRESS, "").await);
    bob.tweet("text").await;
}

/// Presses the button on the page of a link.
async fn confirm(server: &Server, path: &str) {
    let visitor = server.visitor();
    let asked = page(&visitor, path).await;
    let [form] = &asked.forms()[..] else { panic!("one form: {}", asked.content()) };
    assert_eq!(form.action, "");
    let answer = visitor.post(path, &[]).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(Page::of(&answer).heading(), "Your e-mail address is confirmed");
}

#[tokio::test]
async fn a_new_account_can_read_only_until_its_address_is_confirmed() {
    let (server, mut relay, alice) = site().await;
    let news = alice.submit_text("A story", "text").await;
    alice.comment(news, "text").await;
    let missing = refused(sign_up(&server.visitor(), "bob", &[]).await);
    assert_eq!(missing, "Enter an e-mail address.");
    let (bob, link) = bob(&server, &mut relay).await;
    send_all(&server).await;
    let before = server.dump().await;
    for request in WRITES {
        let error = refused(bob.call(request).await);
        assert!(error.starts_with("Confirm your e-mail address first"), "{request}: {error}");
    }
    assert_eq!(server.dump().await, before);
    assert_eq!(bob.get("/").await.status, StatusCode::OK);
    assert!(page(&bob, "/welcome").await.content().contains(ADDRESS));
    // They may change things that only they see.
    ok(bob.api_post("/api/hide", &[("news_id", "1")]).await);

    confirm(&server, &link).await;
    assert_eq!(server.field("user:2", "unconfirmed").await, None);
    ok(bob.vote(news, "up").await);
    bob.comment(news, "text").await;
    assert!(!page(&bob, "/settings").await.content().contains("Confirm your e-mail address"));
}

/// Everything that others would see.
const WRITES: [&str; 9] = [
    "/api/submit?news_id=-1&title=A&url=&text=text",
    "/api/postcomment?news_id=1&comment_id=-1&parent_id=-1&comment=text",
    "/api/votenews?news_id=1&vote_type=up",
    "/api/votecomment?comment_id=1-1&vote_type=up",
    "/api/tweet?text=text",
    "/api/follow?username=alice",
    "/api/sites/vote?link=example.com&vote=1",
    "/api/invite",
    "/api/updateprofile?about=Buy this&email=bob@example.org&password=",
];

#[tokio::test]
async fn looking_at_a_link_confirms_nothing_and_opening_it_twice_is_no_mistake() {
    let (server, mut relay, _) = site().await;
    let (_, link) = bob(&server, &mut relay).await;
    send_all(&server).await;
    let before = server.dump().await;
    let answer = server.visitor().get(&link).await;
    assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert_eq!(server.dump().await, before);
    confirm(&server, &link).await;
    assert_eq!(page(&server.visitor(), &link).await.heading(), "Your e-mail address is confirmed");
    for path in ["/confirm-email/x", &format!("/confirm-email/{}", "0".repeat(40))] {
        error_message(&server.visitor().get(path).await, StatusCode::NOT_FOUND);
        error_message(&server.visitor().post(path, &[]).await, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn a_link_expires_after_three_days() {
    let (server, mut relay, _) = site().await;
    let (_, link) = bob(&server, &mut relay).await;
    server.advance(3 * DAY - 1);
    assert_eq!(server.visitor().get(&link).await.status, StatusCode::OK);
    server.advance(1);
    error_message(&server.visitor().get(&link).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_corrected_address_gets_a_link_and_the_former_link_ends() {
    let (server, mut relay, _) = site().await;
    let (bob, former) = bob(&server, &mut relay).await;
    ok(bob.update_profile("", "robert@example.org", "").await);
    // The former address is told, too.
    let mut link = None;
    for _ in 0..2 {
        let mail = relay.next_message().await;
        let found = mail.text().lines().find(|line| line.contains("/confirm-email/")).map(str::to_owned);
        if let Some(found) = found {
            assert_eq!(mail.to, ["robert@example.org"]);
            link = Some(found[SITE.len()..].to_owned());
        }
    }
    error_message(&server.visitor().post(&former, &[]).await, StatusCode::NOT_FOUND);
    confirm(&server, &link.expect("a link")).await;
    bob.submit_text("A story", "text").await;
}

#[tokio::test]
async fn the_link_is_sent_again_five_times_a_day_at_most() {
    let (server, mut relay, alice) = site().await;
    let (bob, _) = bob(&server, &mut relay).await;
    let form = page(&bob, "/settings").await.form("/settings/confirm-email");
    for _ in 0..4 {
        redirects_saying(&form.send(&bob).await, "/settings/mail", "link_sent");
        mailed_link(&mut relay, ADDRESS).await;
    }
    error_message(&form.send(&bob).await, StatusCode::TOO_MANY_REQUESTS);
    server.advance(DAY);
    redirects_saying(&form.send(&bob).await, "/settings/mail", "link_sent");
    let link = mailed_link(&mut relay, ADDRESS).await;
    confirm(&server, &link).await;
    // An account with nothing to confirm gets no mail.
    for client in [&bob, &alice] {
        assert_eq!(redirects_to(&client.post("/settings/confirm-email", &[]).await), "/settings/mail");
    }
    assert_eq!(relay.waiting(), 0);
}

#[in_memory]
async fn accounts_from_before_the_setting_and_sites_without_it_are_not_concerned(server: Server) {
    server.register("alice").await;
    let bob = server.member("bob").await;
    server.set_field("user:2", "unconfirmed", "1").await;
    bob.submit_text("A story", "text").await;
    // An address may be given all the same.
    ok(sign_up(&server.visitor(), "carol", &[("email", "carol@example.org")]).await);
    assert_eq!(server.field("user:3", "email").await.as_deref(), Some("carol@example.org"));
    assert_eq!(server.field("user:3", "unconfirmed").await, None);
    let refused = refused(sign_up(&server.visitor(), "dave", &[("email", "x")]).await);
    assert_eq!(refused, "Enter an e-mail address such as name@example.com.");

    let (server, _relay, _) = site().await;
    let old = server.member("old").await;
    old.submit_text("A story", "text").await;
    assert_eq!(server.visitor().try_log_in("alice", PASSWORD).await["status"], "ok");
}
