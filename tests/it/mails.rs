//! Mails that people subscribe to: entries of their inbox, digests, and switching both off.

use reqwest::StatusCode;
use tidings_domain::accounts::outbox::{begin, claim};
use tidings_domain::administration::Queues;
use tidings_domain::digests::last_due;
use tidings_domain::queue::LaneFigures;
use tidings_domain::values::Timestamp;

use crate::client::{Client, PASSWORD, ok};
use crate::pages::page;
use crate::server::{Engine, Server, in_memory};
use crate::signups::sign_up;
use crate::smtp_server::{ReceivedMessage, SmtpServer};

const SITE: &str = "https://news.example.com";
/// From the start of the clock, a Friday at 8:00, to the next day at 6:00.
const TO_SATURDAY: u64 = 22 * 3_600;
const DAY: u64 = 86_400;

/// A site with a relay.
async fn with_mail() -> (Server, SmtpServer) {
    with_mail_on(Engine::Memory).await
}

async fn with_mail_on(engine: Engine) -> (Server, SmtpServer) {
    let relay = SmtpServer::start().await;
    (Server::start(engine, &settings(&relay.relay())).await, relay)
}

fn settings(relay: &str) -> [(&str, &str); 3] {
    [("mail.relay", relay), ("mail.from", "news@example.com"), ("site.url", SITE)]
}

fn address_of(user: &Client) -> String {
    format!("{}@example.org", user.username)
}

/// Gives a user a confirmed e-mail address and preferences.
pub async fn prefer(server: &Server, user: &Client, preferences: &[(&str, &str)]) {
    for field in ["email", "confirmed_email"] {
        server.set_field(&format!("user:{}", user.user_id), field, &address_of(user)).await;
    }
    let email = address_of(user);
    let mut fields = vec![("about", ""), ("email", email.as_str()), ("password", "")];
    fields.extend(preferences);
    ok(user.api_post("/api/updateprofile", &fields).await);
}

/// Sends everything that is due; returns when no server is sending any more.
pub async fn send_all(server: &Server) {
    loop {
        tidings_web::features::inbox::outbox::send_due(&server.app).await.unwrap();
        let is_sending = server.field("queue:leases", "mails").await.is_some();
        let now = Timestamp(server.now()).as_score() + 1.0;
        let is_due = server.sorted("mail:outbox").await.iter().any(|(_, due)| *due <= now);
        if !is_sending && !is_due {
            return;
        }
        tidings_testing::pause().await;
    }
}

/// The mails that wait.
async fn waiting(server: &Server) -> LaneFigures {
    Queues::read(&server.app.site, &server.app.site.store).await.unwrap().mails
}

/// The first account, with a password.
async fn registered(server: &Server) -> Client {
    let mut alice = server.register("alice").await;
    alice.user_id = 1;
    alice
}

/// Two members, of whom the first wants mail about replies, and a story of the first.
async fn story_of_alice(server: &Server) -> (Client, Client, u64) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    prefer(server, &alice, &[("mail_replies", "1")]).await;
    prefer(server, &bob, &[]).await;
    let news = alice.submit_text("A story", "text").await;
    (alice, bob, news)
}

/// The same, and a mail about a comment that the relay has refused.
async fn with_refused_mail() -> (Server, SmtpServer, Client) {
    let (server, relay) = with_mail().await;
    let (alice, bob, news) = story_of_alice(&server).await;
    relay.refuse(true);
    bob.comment(news, "Text").await;
    send_all(&server).await;
    (server, relay, alice)
}

/// The path of the address with which a mail is unsubscribed from.
fn unsubscribe_path(mail: &ReceivedMessage) -> String {
    assert_eq!(mail.header("List-Unsubscribe-Post"), Some("List-Unsubscribe=One-Click"));
    let header = mail.header("List-Unsubscribe").unwrap();
    let address = header.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap();
    assert!(mail.text().contains(address), "{}", mail.text());
    address.strip_prefix(SITE).unwrap().to_owned()
}

/// Unsubscribes as a mail program does for its user.
async fn unsubscribe(server: &Server, path: &str) -> StatusCode {
    let program = server.visitor().with_header("sec-fetch-site", "cross-site");
    let program = program.with_header("origin", "https://mail.example");
    program.post(path, &[("List-Unsubscribe", "One-Click")]).await.status
}

#[tokio::test]
async fn a_reply_is_mailed_once_with_its_text_its_link_and_how_to_switch_it_off() {
    for engine in [Engine::Memory, Engine::Redis] {
        let (server, mut relay) = with_mail_on(engine).await;
        let (alice, bob, news) = story_of_alice(&server).await;
        let first = bob.comment(news, "Grüße an *alice*\n.\n<b>the end</b>").await;
        let mail = relay.next_message().await;
        assert_eq!(mail.to, ["alice@example.org"]);
        assert_eq!(mail.header("Subject"), Some("bob commented on your story A story (Tidings)"));
        assert_eq!(mail.header("Auto-Submitted"), Some("auto-generated"));
        assert_eq!(mail.header("Message-ID"), Some("<replies.1.reply.1-1@news.example.com>"));
        assert_eq!(mail.header("References"), Some("<story.1@news.example.com>"));
        let text = mail.text();
        assert!(text.contains("Grüße an *alice*\n.\n<b>the end</b>\n"), "{text}");
        assert!(text.contains(&format!("{SITE}/news/1?at=1#comment-1\n")), "{text}");
        assert!(!mail.data.contains("bob@example.org"));

        // Bob wants no mail, followers are not mailed, and own comments concern nobody.
        alice.reply(news, first, "An answer").await;
        bob.follow("alice").await;
        alice.comment(news, "Mine").await;
        bob.tweet("Hello @alice").await;
        let mail = relay.next_message().await;
        assert_eq!(mail.header("Subject"), Some("bob mentioned you in a post (Tidings)"));
        send_all(&server).await;
        // Another start, or another server on the same store.
        if let Some(redis) = &server.redis {
            let second = Server::beside_with(&redis.url(), &server, &settings(&relay.relay())).await;
            bob.comment(news, "Once").await;
            tokio::join!(send_all(&server), send_all(&second));
            assert!(relay.next_message().await.text().contains("Once"));
        }
        server.advance(DAY);
        send_all(&server).await;
        assert_eq!(relay.waiting(), 0);
        assert!(server.dump().await.keys().all(|key| !key.starts_with("mail:")));
    }
}

#[tokio::test]
async fn what_is_read_or_deleted_before_the_relay_takes_it_is_not_mailed() {
    let (server, mut relay) = with_mail().await;
    let (alice, bob, news) = story_of_alice(&server).await;
    relay.refuse(true);
    for text in ["Read", "Deleted", "Still there"] {
        bob.comment(news, text).await;
    }
    send_all(&server).await;
    assert!(relay.refused() >= 3);
    ok(alice.api_post("/api/readinbox", &[("id", "reply:1-1")]).await);
    ok(bob.edit_comment(news, 2, "").await);
    relay.refuse(false);
    send_all(&server).await;
    assert_eq!(relay.waiting(), 0);
    server.advance(60);
    send_all(&server).await;
    assert!(relay.next_message().await.text().contains("Still there"));
    assert_eq!(relay.waiting(), 0);
}

#[tokio::test]
async fn a_mail_that_the_relay_refuses_for_a_day_is_given_up() {
    let (server, relay, _) = with_refused_mail().await;
    assert_eq!(relay.refused(), 1);
    for _ in 0..DAY / 600 + 1 {
        server.advance(600);
        send_all(&server).await;
    }
    assert!((20..=32).contains(&relay.refused()), "{}", relay.refused());
    assert!(server.sorted("mail:outbox").await.is_empty());
    // It was not sent, so it is not counted.
    assert!(server.string("limit:mailed_entries:1").await.is_none_or(|count| count == "0"));
}

#[tokio::test]
async fn the_oldest_mail_is_as_old_as_since_it_was_written_however_often_it_was_tried() {
    let (server, mut relay, alice) = with_refused_mail().await;
    let written = server.now();
    for _ in 0..36 {
        send_all(&server).await;
        server.advance(600);
    }
    let status = waiting(&server).await;
    assert_eq!((status.count, status.oldest.map(|oldest| oldest.timestamp().0)), (1, Some(written)));
    server.set_field("user:1", "flags", "a").await;
    let notices = page(&alice, "/admin").await;
    let notices = notices.text();
    assert!(notices.contains("1 mail is waiting, the oldest for 6 hours"), "{notices}");
    relay.refuse(false);
    // Within an hour, however long the relay was away.
    server.advance(3_600);
    send_all(&server).await;
    assert!(relay.next_message().await.text().contains("Text"));
    send_all(&server).await;
    assert_eq!(waiting(&server).await, LaneFigures::default());
}

#[tokio::test]
async fn an_address_that_does_not_exist_gets_three_mails_and_then_none_until_it_is_changed() {
    for engine in [Engine::Memory, Engine::Redis] {
        let (server, mut relay) = with_mail_on(engine).await;
        let alice = registered(&server).await;
        let bob = server.member("bob").await;
        prefer(&server, &alice, &[("mail_replies", "1")]).await;
        let news = alice.submit_text("A story", "text").await;
        relay.refuse_with("550 5.1.1 no such user");
        for number in 0..5 {
            bob.comment(news, &format!("Number {number}")).await;
            send_all(&server).await;
        }
        // Each was tried once.
        assert_eq!(relay.refused(), 3);
        assert!(
            server.sorted("mail:outbox").await.is_empty() && server.sorted("mail:written").await.is_empty()
        );
        let settings = page(&alice, "/settings/mail").await;
        let shown = settings.text();
        assert!(shown.contains("The mailbox alice@example.org"), "{shown}");
        relay.refuse(false);
        bob.comment(news, "Stopped").await;
        send_all(&server).await;
        assert_eq!(relay.waiting(), 0);
        ok(alice.update_profile("", "alice@new.example", "").await);
        let mail = relay.next_message().await;
        assert_eq!(mail.to, ["alice@new.example"]);
        let text = mail.text();
        let link = text.lines().find_map(|line| line.strip_prefix(SITE)).unwrap();
        assert!(
            page(&alice, "/settings/mail")
                .await
                .text()
                .contains("You won't get any mail until you open the link")
        );
        bob.comment(news, "Not yet").await;
        send_all(&server).await;
        assert_eq!(server.visitor().post(link, &[]).await.status, StatusCode::OK);
        assert!(!page(&alice, "/settings/mail").await.text().contains("The mailbox"));
        bob.comment(news, "Again").await;
        let mail = relay.next_message().await;
        assert!(mail.to == ["alice@new.example"] && mail.text().contains("Again"), "{mail:?}");
        send_all(&server).await;
        assert_eq!(relay.waiting(), 0);
    }
}

#[tokio::test]
async fn mails_go_to_confirmed_addresses_only_and_a_new_one_waits_for_its_link() {
    let (server, mut relay) = with_mail().await;
    let alice = registered(&server).await;
    let bob = server.member("bob").await;
    let news = alice.submit_text("A story", "text").await;
    let link_to = async |relay: &mut SmtpServer, address: &str| loop {
        let mail = relay.next_message().await;
        let text = mail.text();
        if let Some(token) =
            text.lines().find_map(|line| line.strip_prefix(&format!("{SITE}/confirm-email/")))
        {
            assert_eq!(mail.to, [address]);
            return format!("/confirm-email/{token}");
        }
    };
    let change = async |email: &str| {
        let wanted = "mail_replies=1&digest=daily";
        ok(alice
            .call(&format!(
                "/api/updateprofile?about=&email={email}&password=&current_password={PASSWORD}&{wanted}"
            ))
            .await);
    };
    // Anybody's address may be typed.
    change("victim@example.org").await;
    let first = link_to(&mut relay, "victim@example.org").await;
    bob.comment(news, "Not mailed").await;
    bob.submit_text("Another", "text").await;
    server.advance(TO_SATURDAY);
    send_all(&server).await;
    assert_eq!(relay.waiting(), 0);
    assert!(page(&alice, "/settings/mail").await.text().contains("until you open the link"));
    // The owner corrects it: nothing counted before, so the new one is there at once.
    change("alice@example.org").await;
    let link = link_to(&mut relay, "alice@example.org").await;
    assert_eq!(server.visitor().post(&first, &[]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(server.visitor().post(&link, &[]).await.status, StatusCode::OK);
    send_all(&server).await;
    bob.comment(news, "To alice").await;
    assert_eq!(relay.next_message().await.to, ["alice@example.org"]);
    // Another address waits for its link; until then the old one counts, also for a reset.
    change("new@example.org").await;
    assert_eq!(relay.next_message().await.to, ["alice@example.org"]);
    let link = link_to(&mut relay, "new@example.org").await;
    bob.comment(news, "Still to alice").await;
    let mail = relay.next_message().await;
    assert!(mail.to == ["alice@example.org"] && mail.text().contains("Still to alice"), "{mail:?}");
    ok(server.visitor().call("/api/reset-password?username=alice&email=alice@example.org").await);
    assert_eq!(relay.next_message().await.to, ["alice@example.org"]);
    assert_eq!(server.visitor().post(&link, &[]).await.status, StatusCode::OK);
    assert_eq!(relay.next_message().await.to, ["alice@example.org"]);
    bob.comment(news, "To the new one").await;
    let mail = relay.next_message().await;
    assert!(mail.to == ["new@example.org"] && mail.text().contains("To the new one"), "{mail:?}");
}

#[tokio::test]
async fn what_strangers_write_makes_no_links_in_mails() {
    let (server, mut relay) = with_mail().await;
    let (alice, bob, _) = story_of_alice(&server).await;
    let news = alice.submit_text("Read evil.example", "text").await;
    bob.comment(news, "See https://evil.example/a and www.evil.example, or bob@evil.example").await;
    let mail = relay.next_message().await;
    for link in ["https://evil", "evil.example", "bob@evil"] {
        assert!(!mail.text().contains(link) && !mail.data.contains(link), "{link} in {}", mail.text());
    }
    assert!(mail.text().contains("https[:]//evil[.]example/a"), "{}", mail.text());
    let note = "(Links that people typed are shown but not active.)";
    assert_eq!(mail.text().matches(note).count(), 1, "{}", mail.text());
    assert!(mail.text().contains(&format!("{SITE}/news/2?at=1")));
}

#[tokio::test]
async fn a_mail_of_a_server_that_was_killed_is_sent_by_another() {
    let (server, mut relay, _) = with_refused_mail().await;
    server.advance(60);
    let now = Timestamp(server.now());
    let site = &server.app.site;
    relay.refuse(false);
    // The server's own worker may be faster.
    if let Some(taken) = begin(site, now, last_due(now, 6)).await.unwrap()
        && let Some(mail) = taken.mails.first()
    {
        claim(site, &taken.turn, mail).await.unwrap().unwrap();
        tidings_web::features::inbox::outbox::send_due(&server.app).await.unwrap();
        assert_eq!(relay.waiting(), 0);
        assert!(begin(site, now, last_due(now, 6)).await.unwrap().is_none());
    }
    server.advance(61);
    send_all(&server).await;
    assert!(relay.next_message().await.text().contains("Text"));
    assert_eq!(relay.waiting(), 0);
}

#[tokio::test]
async fn somebody_gets_so_many_mails_a_day_and_one_that_says_that_there_is_more() {
    let (server, mut relay) = with_mail().await;
    let (_, bob, news) = story_of_alice(&server).await;
    for number in 0..53 {
        bob.comment(news, &format!("Number {number}")).await;
    }
    send_all(&server).await;
    assert_eq!(relay.waiting(), 51);
    let mut last = Vec::new();
    for _ in 0..51 {
        let text = relay.next_message().await.text();
        if !text.contains("Number") {
            last.push(text);
        }
    }
    assert!(last.len() == 1 && last[0].contains("There is more in your inbox"), "{last:?}");
    server.advance(DAY);
    bob.comment(news, "Tomorrow").await;
    assert!(relay.next_message().await.text().contains("Tomorrow"));
}

#[tokio::test]
async fn one_request_without_a_session_switches_off_the_mails_that_its_token_names() {
    let (server, mut relay) = with_mail().await;
    let alice = registered(&server).await;
    let bob = server.member("bob").await;
    prefer(&server, &alice, &[("mail_replies", "1"), ("digest", "daily")]).await;
    let news = alice.submit_text("A story", "text").await;
    bob.comment(news, "Text").await;
    bob.submit_text("Another", "text").await;
    let path = unsubscribe_path(&relay.next_message().await);
    server.advance(TO_SATURDAY);
    let of_digest = unsubscribe_path(&relay.next_message().await);

    // Looking at the link changes nothing.
    let answer = server.visitor().get(&path).await;
    assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let shown = page(&server.visitor(), &path).await;
    assert!(shown.text().contains("Stop getting mail about replies"), "{}", shown.text());
    assert_eq!(server.field("user:1", "mail_replies").await.as_deref(), Some("1"));

    let (start, digits) = path.rsplit_once('-').unwrap();
    let other = of_digest.rsplit_once('-').unwrap().1;
    for bad in [
        start.to_owned(),
        format!("{start}-"),
        format!("{start}-{}", &digits[1..]),
        format!("{start}-{other}"),
        format!("/unsubscribe/replies-2-{digits}"),
        format!("/unsubscribe/replies-99-{digits}"),
        format!("/unsubscribe/other-1-{digits}"),
    ] {
        assert_eq!(unsubscribe(&server, &bad).await, StatusCode::NOT_FOUND, "{bad}");
        assert_eq!(server.visitor().get(&bad).await.status, StatusCode::NOT_FOUND, "{bad}");
    }
    for _ in 0..2 {
        assert_eq!(unsubscribe(&server, &path).await, StatusCode::OK);
    }
    assert_eq!(server.field("user:1", "mail_replies").await.as_deref(), Some("0"));
    assert_eq!(server.field("user:1", "digest").await.as_deref(), Some("daily"));
    bob.comment(news, "Not mailed").await;
    send_all(&server).await;

    assert_eq!(unsubscribe(&server, &of_digest).await, StatusCode::OK);
    assert_eq!(server.field("user:1", "digest").await.as_deref(), Some("off"));
    assert!(server.sorted("mail:digest:daily").await.is_empty());
    bob.submit_text("A third", "text").await;
    server.advance(DAY);
    send_all(&server).await;
    assert_eq!(relay.waiting(), 0);

    // The settings show it.
    let form = page(&alice, "/settings/mail").await.form("/settings/mail");
    assert_eq!(form.value("digest"), Some("off"));
    server.set_field("user:1", "flags", "").await;
    let leave = page(&alice, "/settings/deactivate").await.form("/settings/deactivate");
    leave.with("password", PASSWORD).send(&alice).await;
    assert_eq!(unsubscribe(&server, &path).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_digest_has_the_best_of_ones_topics_and_people_once_a_day_or_week() {
    for engine in [Engine::Memory, Engine::Redis] {
        let (server, mut relay) = with_mail_on(engine).await;
        let [alice, bob, carol, dave] = server.people(["alice", "bob", "carol", "dave"]).await;
        prefer(&server, &alice, &[("digest", "daily")]).await;
        prefer(&server, &carol, &[("digest", "weekly")]).await;
        prefer(&server, &bob, &[]).await;
        server.set_karma(&bob, 100).await;
        bob.submit_on("rust", "Plain rust").await;
        let better = bob.submit_on("rust", "Better rust").await;
        let hidden = bob.submit_on("rust", "Hidden rust").await;
        bob.submit_on("rust,sport", "Muted rust").await;
        bob.submit_on("cooking", "Cooking").await;
        dave.submit_on("cooking", "From dave").await;
        alice.submit_on("rust", "My own").await;
        ok(carol.vote(better, "up").await);
        for (path, field, value) in [
            ("/api/followtopic", "topic", "rust"),
            ("/api/mutetopic", "topic", "sport"),
            ("/api/hide", "news_id", &hidden.to_string()),
        ] {
            ok(alice.api_post(path, &[(field, value)]).await);
        }
        alice.follow("dave").await;

        // Not before the hour.
        server.advance(TO_SATURDAY - 1);
        send_all(&server).await;
        assert_eq!(relay.waiting(), 0);
        server.advance(1);
        let mail = relay.next_message().await;
        assert_eq!((mail.to[0].as_str(), mail.header("References")), ("alice@example.org", None));
        assert_eq!(mail.header("Subject"), Some("The best stories today (Tidings)"));
        let text = mail.text();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(at("Better rust") < at("Plain rust") && at("Plain rust") < at("From people you follow"));
        assert!(at("From people you follow") < at("From dave"));
        assert!(at("2 votes, 0 comments, by bob") < at(&format!("{SITE}/news/{better}")));
        for absent in ["Hidden", "Muted", "Cooking", "My own", "@example.org"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }

        // Not twice, and nothing when there is nothing new.
        send_all(&server).await;
        server.advance(DAY);
        send_all(&server).await;
        assert_eq!(relay.waiting(), 0);
        server.advance(DAY);
        let mail = relay.next_message().await;
        assert_eq!(mail.to, ["carol@example.org"]);
        assert_eq!(mail.header("Subject"), Some("The best stories this week (Tidings)"));
        assert!(mail.text().contains("Hidden rust") && mail.text().contains("My own"), "{}", mail.text());
        if let Some(redis) = &server.redis {
            let second = Server::beside_with(&redis.url(), &server, &settings(&relay.relay())).await;
            bob.submit_on("rust", "For all servers").await;
            server.advance(DAY);
            tokio::join!(send_all(&server), send_all(&second));
            assert!(relay.next_message().await.text().contains("For all servers"));
        }
        send_all(&server).await;
        assert_eq!(relay.waiting(), 0);
    }
}

#[tokio::test]
async fn who_gets_digests_is_stored_with_the_preference() {
    let (server, _relay) = with_mail().await;
    let alice = registered(&server).await;
    for (digest, daily, weekly) in [
        ("daily", &[1][..], &[][..]),
        ("weekly", &[], &[1]),
        ("weekly", &[], &[1]),
        ("off", &[], &[]),
        ("daily", &[1], &[]),
    ] {
        prefer(&server, &alice, &[("digest", digest)]).await;
        assert_eq!(server.ids("mail:digest:daily").await, daily, "{digest}");
        assert_eq!(server.ids("mail:digest:weekly").await, weekly, "{digest}");
    }
    server.set_field("user:1", "flags", "").await;
    let leave = page(&alice, "/settings/deactivate").await.form("/settings/deactivate");
    leave.with("password", PASSWORD).send(&alice).await;
    assert!(server.ids("mail:digest:daily").await.is_empty());
}

#[in_memory]
async fn without_a_relay_an_address_counts_at_once_and_nothing_waits(server: Server) {
    let alice = registered(&server).await;
    for email in ["alice@example.org", "new@example.org", ""] {
        ok(alice.update_profile("", email, "").await);
        assert_eq!(server.field("user:1", "email").await.as_deref(), Some(email));
        let confirmed = server.field("user:1", "confirmed_email").await;
        assert_eq!(confirmed.unwrap_or_default(), email);
    }
    ok(sign_up(&server.visitor(), "bob", &[("email", "bob@example.org")]).await);
    assert_eq!(server.field("user:2", "confirmed_email").await.as_deref(), Some("bob@example.org"));
    prefer(&server, &alice, &[("mail_replies", "1")]).await;
    let news = alice.submit_text("A story", "text").await;
    server.client_of(2).await.comment(news, "Text").await;
    assert_eq!(server.number("user:1", "replies").await, 1);
    assert!(server.sorted("mail:outbox").await.is_empty());
    assert!(!page(&alice, "/settings/mail").await.text().contains("Digest"));
}

#[tokio::test]
async fn a_reset_goes_to_an_address_that_nobody_has_confirmed() {
    let (server, mut relay) = with_mail().await;
    ok(sign_up(&server.visitor(), "alice", &[("email", "alice@example.org")]).await);
    ok(server.visitor().call("/api/reset-password?username=alice&email=alice@example.org").await);
    let mail = relay.next_message().await;
    assert!(mail.to == ["alice@example.org"] && mail.text().contains("/reset-password/"), "{mail:?}");
    assert_eq!(server.field("user:1", "confirmed_email").await, None);
}
