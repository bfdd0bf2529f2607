//! The actions of moderators on people: bans with their page and appeals, warnings, notes, roles.

use std::collections::BTreeMap;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tidings_domain::accounts::roles::{self, GivenRole};
use tidings_domain::values::UserId;
use tidings_keyspace::Expiry;
use tidings_web::error::in_english;

use crate::authenticator::code;
use crate::client::{Client, PASSWORD, each, has_members, line_of, ok, refused, refused_saying};
use crate::html::Page;
use crate::pages::{error_message, page, redirects_to};
use crate::program::succeed;
use crate::redis_server::RedisServer;
use crate::server::{Batch, Engine, Server, each_engine, in_memory};
use crate::smtp_server::SmtpServer;
use crate::two_factor::Protected;

/// Lets somebody act on a person.
async fn act(moderator: &Client, action: &str, name: &str, hours: &str) -> Value {
    decide(moderator, action, ("user", name), hours).await
}

async fn decide(moderator: &Client, action: &str, (kind, id): (&str, &str), hours: &str) -> Value {
    moderator.moderate(action, (kind, id), &[("hours", hours)]).await
}

async fn appeal(who: &Client, id: u64, text: &str) -> Value {
    let id = id.to_string();
    who.call(&format!("/api/appeal?moderation_id={id}&text={text}")).await
}

/// An administrator, a moderator, and bob, who has a password.
async fn people(server: &Server) -> [Client; 3] {
    let alice = server.register("alice").await;
    let moderator = server.member("mod").await;
    server.member("bob").await;
    // Hashing is slow, and two accounts may have the same password.
    let password = server.field("user:1", "password").await.unwrap();
    server.set_field("user:3", "password", &password).await;
    ok(act(&alice, "make_moderator", "mod", "").await);
    [alice, moderator, server.visitor().log_in("bob", PASSWORD).await]
}

#[each_engine("expiry")]
async fn a_ban_ends_the_sessions_and_refuses_logins_until_its_end(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    let other = server.visitor().log_in("bob", PASSWORD).await;
    let story = bob.submit_text("Of bob", "text").await;
    // The sessions are cached now.
    assert!(bob.is_logged_in().await && other.is_logged_in().await);
    ok(act(&moderator, "ban", "bob", "2").await);
    assert!(!bob.is_logged_in().await && !other.is_logged_in().await);
    assert_eq!(refused(bob.try_tweet("Still here").await), "You must be logged in.");
    let told = refused(bob.try_log_in("bob", PASSWORD).await);
    let expected = "You are banned until 15 Jan 2027, 10:00 UTC: a reason. \
                        You can appeal against this decision, entry 2 of the moderation log.";
    assert_eq!(told, expected);
    // A person who does not know the password learns nothing.
    let told = refused(bob.try_log_in("bob", "a wrong password").await);
    assert_eq!(told, "Wrong username or password.");
    // Bob's posts stay.
    assert_eq!(server.visitor().news(story).await["username"], "bob");
    server.advance(7_199);
    refused(bob.try_log_in("bob", PASSWORD).await);
    server.advance(1);
    assert!(bob.log_in("bob", PASSWORD).await.is_logged_in().await);
    // The old sessions stay ended.
    assert!(!bob.is_logged_in().await && !other.is_logged_in().await);
}

#[in_memory]
async fn the_feed_of_an_inbox_does_not_answer_while_its_owner_is_banned(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    ok(act(&moderator, "warn", "bob", "").await);
    page(&bob, "/inbox").await.form("/inbox/feed").send(&bob).await;
    let secret = server.field("user:3", "inbox_feed").await.unwrap();
    let address = format!("/inbox/feed/3-{secret}");
    let entries = |text: &str| text.matches("<entry>").count();
    let answer = server.visitor().get(&address).await;
    let text = answer.text();
    assert_eq!((answer.status, entries(&text)), (StatusCode::OK, 1), "{text}");
    assert!(text.contains("<content type=\"text\">"), "{text}");
    ok(act(&moderator, "ban", "bob", "1").await);
    assert_eq!(server.visitor().get(&address).await.status, StatusCode::NOT_FOUND);
    server.advance(3_600);
    assert_eq!(server.visitor().get(&address).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_session_counts_for_nothing_while_its_owner_is_banned() {
    // As after a login at the same moment, or by a program that writes sessions itself.
    let server = Server::start(Engine::Memory, &[]).await;
    let [_, moderator, _] = people(&server).await;
    ok(act(&moderator, "ban", "bob", "1").await);
    let session = server.client_of(3).await;
    assert!(!session.is_logged_in().await);
    server.advance(3_600);
    assert!(session.is_logged_in().await);
}

#[in_memory]
async fn a_ban_is_lifted_and_the_lift_is_undone(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    ok(act(&moderator, "ban", "bob", "0").await);
    refused_saying(bob.try_log_in("bob", PASSWORD).await, "until further notice: a reason");
    ok(act(&alice, "unban", "bob", "").await);
    ok(bob.try_log_in("bob", PASSWORD).await);
    refused_saying(moderator.undo(3).await, "Only an administrator can undo it");
    ok(alice.undo(3).await);
    refused_saying(bob.try_log_in("bob", PASSWORD).await, "a reason");
    ok(alice.undo(4).await);
    let bob = bob.log_in("bob", PASSWORD).await;
    assert!(bob.is_logged_in().await);
    // A later ban replaces the earlier one, which is back when the later is undone.
    ok(act(&moderator, "ban", "bob", "10").await);
    ok(act(&moderator, "ban", "bob", "1").await);
    refused_saying(moderator.undo(6).await, "see entry 7");
    ok(moderator.undo(7).await);
    server.advance(3_600);
    refused_saying(bob.try_log_in("bob", PASSWORD).await, "until 15 Jan 2027, 18:00 UTC");
}

#[in_memory]
async fn the_last_administrator_cannot_leave(server: Server) {
    let [alice, _, bob] = people(&server).await;
    let leave = async || alice.post("/settings/deactivate", &[("password", PASSWORD)]).await;
    let before = server.hash("user:1").await;
    let told = error_message(&leave().await, StatusCode::FORBIDDEN);
    let sentence = "This is the last administrator. Make someone else an administrator first.";
    assert!(told.contains(sentence), "{told}");
    assert_eq!(server.hash("user:1").await, before);
    // Somebody who is banned does not count.
    let (site, now) = (&server.app.site, server.app.now());
    roles::set_role(site, now, UserId(3), (GivenRole::Administrator, true)).await.unwrap();
    server.set_field("user:3", "banned", "0:1:spam").await;
    assert_eq!(leave().await.status, StatusCode::FORBIDDEN);
    server.write(|batch| batch.delete_field("user:3", "banned")).await;
    assert_eq!(redirects_to(&leave().await), "/settings/deactivated");
    assert!(bob.is_logged_in().await);
}

#[in_memory]
async fn the_login_page_says_why_and_takes_the_appeal(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    ok(act(&moderator, "ban", "bob", "2").await);
    let visitor = server.visitor();
    let answer = visitor.answer_to(&format!("/login?username=bob&password={PASSWORD}")).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    let shown = Page::of(&answer);
    assert!(shown.alert().unwrap().starts_with("You are banned until 15 Jan 2027, 10:00 UTC: a reason."));
    let form = shown.form("/appeal");
    let wrong =
        form.clone().with("text", "It was <b>not</b> me").with("password", "wrong").send(&visitor).await;
    let again = Page::of(&wrong);
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.text().contains("Wrong username or password."), "{}", again.text());
    let sent = again.form("/appeal").with("password", PASSWORD).send(&visitor).await;
    assert_eq!(sent.status, StatusCode::OK);
    assert!(Page::of(&sent).text().contains("Your appeal has been sent"));
    assert_eq!(server.hash("appeal:2").await["text"], "It was <b>not</b> me");
    assert_eq!(server.sorted("review:queue").await[0].0, "appeal:2");
    let again = form.with("text", "Again").with("password", PASSWORD).send(&visitor).await;
    assert!(Page::of(&again).alert().unwrap().contains("already appealed"));
    // Granted by another moderator.
    ok(decide(&alice, "approve", ("appeal", "2"), "").await);
    assert!(bob.log_in("bob", PASSWORD).await.is_logged_in().await);
}

#[in_memory]
async fn votes_on_sites_leave_with_a_ban_and_come_back_with_its_end(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    let sum = async || server.number("link:good.com", "sum_of_votes").await;
    let vote = [("link", "good.com"), ("vote", "1")];
    ok(alice.api_post("/api/sites/vote", &vote).await);
    ok(bob.api_post("/api/sites/vote", &vote).await);
    assert_eq!(sum().await, 2);
    ok(act(&moderator, "ban", "bob", "1").await);
    server.finish_jobs().await;
    assert_eq!(sum().await, 1);
    server.finish_jobs().await;
    server.advance(3_599);
    server.finish_jobs().await;
    assert_eq!(sum().await, 1);
    server.advance(1);
    server.finish_jobs().await;
    // The server may be ending the ban at the same time.
    tidings_testing::until(async || server.sorted("bans:ending").await.is_empty()).await;
    assert_eq!(sum().await, 2);

    // Lifting puts them back as well; a ban by an administrator of the sites stays.
    ok(act(&moderator, "ban", "bob", "0").await);
    server.finish_jobs().await;
    let voter = server.field("user:3", "voter").await.unwrap();
    ok(alice.api_post("/api/sites/admin/ban", &[("user_id", &voter)]).await);
    ok(act(&moderator, "unban", "bob", "").await);
    server.finish_jobs().await;
    assert_eq!(sum().await, 1);
    ok(alice.api_post("/api/sites/admin/unban", &[("user_id", &voter)]).await);
    assert_eq!(sum().await, 2);
    crate::consistency::check_site(&server).await;
}

#[in_memory]
async fn the_first_vote_on_a_site_after_a_ban_does_not_wait_for_the_worker(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    ok(bob.api_post("/api/sites/vote", &[("link", "good.com"), ("vote", "1")]).await);
    ok(act(&moderator, "ban", "bob", "1").await);
    server.finish_jobs().await;
    server.advance(3_600);
    let bob = bob.log_in("bob", PASSWORD).await;
    ok(bob.api_post("/api/sites/vote", &[("link", "other.com"), ("vote", "-1")]).await);
    assert_eq!(server.number("link:good.com", "sum_of_votes").await, 1);
    assert_eq!(server.number("link:other.com", "sum_of_votes").await, -1);
}

#[in_memory]
async fn an_appeal_is_sent_once_and_answered_by_somebody_else(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    let carol = server.member("carol").await;
    ok(act(&moderator, "silence", "bob", "0").await);
    for (who, id, text, expected) in [
        (&carol, 2, "For bob", "only against decisions about you"),
        (&bob, 1, "Not mine", "only against decisions about you"),
        (&bob, 99, "None", "no such entry"),
        (&bob, 2, " ", "enter"),
        (&server.visitor(), 2, "Who?", "must be logged in"),
    ] {
        let told = refused(appeal(who, id, text).await);
        assert!(told.to_lowercase().contains(expected), "{told}");
    }
    refused_saying(appeal(&bob, 2, &"x".repeat(2_001)).await, "too long");
    ok(appeal(&bob, 2, "I did not shout").await);
    refused_saying(appeal(&bob, 2, "Really").await, "already appealed");
    let shown = page(&bob, "/appeal/2").await;
    assert!(shown.text().contains("I did not shout") && shown.text().contains("is waiting for a moderator"));
    assert_eq!(carol.get("/appeal/2").await.status, StatusCode::FORBIDDEN);

    refused_saying(decide(&moderator, "reject", ("appeal", "2"), "").await, "ou can't decide an appeal");
    refused_saying(decide(&carol, "approve", ("appeal", "2"), "").await, "Only moderators");
    ok(decide(&alice, "approve", ("appeal", "2"), "").await);
    bob.tweet("Quietly").await;
    assert!(bob.last_message().await.contains("was granted: the decision has been undone. a reason"));
    let log = bob.log("").await;
    has_members(&log[0], json!({"action": "approve", "kind": "appeal", "undoes": 2}));
    assert_eq!(log[1]["undone_by"], 3);
    assert!(server.sorted("review:queue").await.is_empty());
    refused_saying(decide(&alice, "reject", ("appeal", "2"), "").await, "already been decided");
    assert!(page(&bob, "/appeal/2").await.text().contains("It was granted."));
    refused_saying(alice.undo(3).await, "can't be undone");
}

#[in_memory]
async fn a_rejected_appeal_can_be_reopened(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    ok(act(&moderator, "silence", "bob", "0").await);
    ok(appeal(&bob, 2, "I did not shout").await);
    let waiting = server.sorted("review:queue").await;
    let answer = line_of(decide(&alice, "reject", ("appeal", "2"), "").await);
    let told = bob.last_message().await;
    assert!(told.contains("was rejected. a reason") && !told.contains("/appeal/"), "{told}");
    // The answer is the last word.
    refused_saying(appeal(&bob, answer, "please").await, "decision");
    refused(bob.try_tweet("Still").await);
    ok(alice.undo(3).await);
    assert_eq!(server.sorted("review:queue").await, waiting);
    ok(decide(&alice, "approve", ("appeal", "2"), "").await);
    bob.tweet("Quietly").await;
}

#[in_memory]
async fn an_administrator_who_is_alone_answers_appeals_against_their_own_decisions(server: Server) {
    let [alice, _, bob] = people(&server).await;
    ok(act(&alice, "silence", "bob", "0").await);
    ok(appeal(&bob, 2, "I did not shout").await);
    refused_saying(decide(&alice, "approve", ("appeal", "2"), "").await, "ou can't decide an appeal");
    // A moderator who is banned cannot answer it.
    ok(act(&alice, "ban", "mod", "0").await);
    ok(decide(&alice, "approve", ("appeal", "2"), "").await);
    bob.tweet("Quietly").await;
}

#[each_engine("races")]
async fn two_moderators_answer_an_appeal_once(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    let second = server.member("second").await;
    ok(act(&alice, "make_moderator", "second", "").await);
    ok(act(&moderator, "silence", "bob", "0").await);
    ok(appeal(&bob, 3, "I did not shout").await);
    let (first, other) = tokio::join!(
        decide(&alice, "approve", ("appeal", "3"), ""),
        decide(&second, "reject", ("appeal", "3"), "")
    );
    let done = [&first, &other].into_iter().filter(|answer| answer["status"] == "ok").count();
    assert_eq!(done, 1, "{first} {other}");
}

#[tokio::test]
async fn the_answer_is_mailed_to_who_cannot_read_it() {
    let mut relay = SmtpServer::start().await;
    let server = Server::start(Engine::Memory, &[("mail.relay", &relay.relay())]).await;
    let [alice, moderator, _] = people(&server).await;
    server.set_field("user:3", "email", "bob@example.org").await;
    ok(act(&moderator, "ban", "bob", "0").await);
    let fields = [("moderation_id", "2"), ("text", "Why?"), ("username", "bob"), ("password", PASSWORD)];
    ok(server.visitor().api_post("/api/appeal", &fields).await);
    ok(decide(&alice, "reject", ("appeal", "2"), "").await);
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["bob@example.org"]);
    assert!(mail.text().contains("was rejected") && mail.text().contains("a reason"), "{}", mail.text());
}

#[in_memory(&[("rates.failed_login_per_address", "30/10m")])]
async fn a_wrong_password_in_an_appeal_counts_as_a_failed_login(server: Server) {
    let [_, moderator, _] = people(&server).await;
    ok(act(&moderator, "ban", "bob", "0").await);
    let request = "/api/appeal?moderation_id=2&text=Why?&username=bob&password=wrong";
    assert_eq!(refused(server.visitor().call(request).await), "Wrong username or password.");
    assert!(server.dump().await.keys().any(|key| key.starts_with("limit:failed_login:pair:")));
    assert!(server.hash("appeal:2").await.is_empty());
}

#[in_memory]
async fn without_a_session_an_appeal_and_a_message_take_the_second_factor_too(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    let Protected { secret, recovery_codes, .. } = Protected::set_up(&server, bob).await;
    ok(act(&moderator, "ban", "bob", "0").await);
    let visitor = server.visitor();
    for (call, recovery) in ["/api/appeal", "/api/messages"].into_iter().zip(&recovery_codes) {
        let send = async |code: Option<&str>, line: &str| {
            let known = [("username", "bob"), ("password", PASSWORD), ("moderation_id", line)];
            let fields: Vec<_> =
                known.into_iter().chain([("text", "Why?")]).chain(code.map(|code| ("code", code))).collect();
            visitor.post(call, &fields).await
        };
        let before = server.dump().await;
        for no_code in [None, Some("")] {
            let answer = send(no_code, "2").await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{call}");
            assert_eq!(answer.json()["code_required"], true, "{call}");
        }
        assert!(refused(send(Some("000000"), "2").await.json()).contains("code is wrong"), "{call}");
        let written = |dump: &BTreeMap<String, _>| {
            dump.keys().filter(|key| key.starts_with("appeal:") || key.starts_with("messages:")).count()
        };
        assert_eq!(written(&server.dump().await), written(&before), "{call}");
        server.advance(90);
        let now = code(&secret, server.now());
        ok(send(Some(&now), "2").await.json());
        // The code was used up.
        assert!(refused(send(Some(&now), "2").await.json()).contains("code is wrong"), "{call}");
        // A recovery code stands in for it; one of a refused action is not used up.
        let again = send(Some(recovery), "9").await.json();
        assert!(refused(again).contains("no such"), "{call}");
        assert!(send(Some(recovery), "2").await.status.is_success(), "{call}");
    }
    assert_eq!(server.hash("appeal:2").await["text"], "Why?");
}

#[in_memory]
async fn with_a_second_factor_the_page_of_a_ban_comes_after_it_and_asks_for_a_code(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    let Protected { secret, .. } = Protected::set_up(&server, bob).await;
    ok(act(&moderator, "ban", "bob", "0").await);
    let visitor = server.visitor();
    let step = visitor.post("/login", &[("username", "bob"), ("password", PASSWORD)]).await;
    let step = Page::of(&step);
    assert!(!step.text().contains("banned"), "{}", step.text());
    server.advance(90);
    let now = code(&secret, server.now());
    let answer = step.form("/login/code").with("code", &now).send(&visitor).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    let shown = Page::of(&answer);
    assert!(shown.alert().unwrap().starts_with("You are banned"), "{}", shown.text());
    assert_eq!(shown.form("/messages").value("code"), Some(""));
    let form = shown.form("/appeal").with("text", "It was not me").with("password", PASSWORD);
    let refusal = form.send(&visitor).await;
    assert!(!refusal.status.is_success());
    let form = Page::of(&refusal).form("/appeal").with("password", PASSWORD).with("code", &now);
    let sent = form.send(&visitor).await;
    assert!(Page::of(&sent).text().contains("Your appeal has been sent"), "{}", Page::of(&sent).text());
    assert_eq!(server.hash("appeal:2").await["text"], "It was not me");
}

#[in_memory]
async fn a_warning_arrives_and_stays(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    ok(act(&moderator, "warn", "bob", "").await);
    assert!(bob.last_message().await.contains("A moderator has warned you: a reason\n\nYou can answer: "));
    refused_saying(moderator.undo(2).await, "can't be undone");
    refused_saying(appeal(&bob, 2, "No").await, "You can appeal only");
}

#[in_memory]
async fn a_note_is_for_moderators_and_its_undo_deletes_it(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    let note = [("action", "note"), ("kind", "user"), ("id", "bob"), ("reason", "argues <b>a lot</b>")];
    ok(moderator.api_post("/api/moderate", &note).await);
    let log = server.visitor().get("/api/moderations").await;
    assert!(!log.text().contains("argues"));
    for reader in [&moderator, &alice] {
        assert!(page(reader, "/@bob").await.text().contains("argues <b>a lot</b>"));
    }
    for reader in [&bob, &server.visitor()] {
        let shown = reader.text("/@bob").await;
        assert!(!shown.contains("argues") && !shown.contains("Notes"), "{shown}");
    }
    assert!(bob.inbox().await.is_empty());
    ok(alice.undo(2).await);
    assert!(server.hash("user:3:notes").await.is_empty());
    assert!(!page(&moderator, "/@bob").await.text().contains("argues"));
    for _ in 0..100 {
        ok(moderator.api_post("/api/moderate", &note).await);
    }
    refused_saying(moderator.api_post("/api/moderate", &note).await, "100 notes");
}

#[in_memory]
async fn an_administrator_remains(server: Server) {
    let alice = server.register("alice").await;
    let site = &server.app.site;
    let admin = GivenRole::Administrator;
    let now = server.app.now();
    let last = roles::set_role(site, now, UserId(1), (admin, false)).await.unwrap_err();
    assert!(in_english(&last).contains("last administrator"), "{last}");
    let bob = server.member("bob").await;
    assert!(roles::set_role(site, now, UserId(2), (admin, true)).await.unwrap());
    // Both ban each other at once: one remains.
    let (first, second) = tokio::join!(act(&alice, "ban", "bob", "0"), act(&bob, "ban", "alice", "0"));
    let done = [&first, &second].into_iter().filter(|answer| answer["status"] == "ok").count();
    assert_eq!(done, 1, "{first} {second}");
    // An administrator who is banned does not count.
    let banned = if first["status"] == "ok" { 2 } else { 1 };
    let last = roles::set_role(site, now, UserId(3 - banned), (admin, false)).await.unwrap_err();
    assert!(in_english(&last).contains("last administrator"), "{last}");
    assert!(roles::set_role(site, now, UserId(banned), (admin, false)).await.unwrap());
    assert!(refused(act(&alice, "ban", "alice", "0").await).len() > 10);
}

#[in_memory]
async fn operators_make_moderators(server: Server) {
    let [_, _, bob] = people(&server).await;
    let (site, now) = (&server.app.site, server.app.now());
    let role = GivenRole::Moderator;
    assert!(roles::set_role(site, now, UserId(3), (role, true)).await.unwrap());
    assert!(!roles::set_role(site, now, UserId(3), (role, true)).await.unwrap());
    ok(act(&bob, "warn", "mod", "").await);
    assert!(page(&bob, "/@bob").await.text().contains("moderator"));
    assert!(roles::set_role(site, now, UserId(3), (role, false)).await.unwrap());
    refused_saying(act(&bob, "warn", "mod", "").await, "Only moderators");
    assert!(roles::set_role(site, now, UserId(99), (role, true)).await.is_err());
}

#[in_memory]
async fn a_moderator_who_is_silenced_or_banned_does_not_moderate(server: Server) {
    let [alice, moderator, _] = people(&server).await;
    ok(act(&alice, "silence", "mod", "0").await);
    refused_saying(act(&moderator, "warn", "bob", "").await, "You are silenced");
    ok(act(&alice, "unsilence", "mod", "").await);
    ok(act(&moderator, "warn", "bob", "").await);
    ok(act(&alice, "unmake_moderator", "mod", "").await);
    refused_saying(act(&moderator, "warn", "bob", "").await, "Only moderators");
}

#[in_memory]
async fn the_page_of_an_appeal_sends_it(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    ok(act(&moderator, "hold", "bob", "5").await);
    assert!(bob.last_message().await.contains("/appeal/2"));
    let asked = page(&bob, "/appeal/2").await;
    assert!(asked.text().contains("It ends 15 Jan 2027, 13:00 UTC."), "{}", asked.text());
    let form = asked.form("/appeal");
    assert_eq!(form.value("password"), None);
    let refused = form.clone().with("text", "").send(&bob).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let sent = form.with("text", "Let me post").send(&bob).await;
    assert_eq!(redirects_to(&sent), "/appeal/2");
    let waiting = page(&bob, "/appeal/2").await;
    assert!(waiting.text().contains("Let me post"));
    assert!(waiting.forms().iter().all(|form| form.action != "/appeal"));
}

#[in_memory(&[("web.trusted_proxies", "127.0.0.0/8")])]
async fn moderators_see_who_shares_a_network_and_administrators_the_addresses(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    let [carol, dave] = server.people(["carol", "dave"]).await;
    bob.clone().forwarded_for("203.0.113.7").tweet("One").await;
    carol.clone().forwarded_for("203.0.113.200").submit_text("Two", "text").await;
    dave.forwarded_for("198.51.100.1").comment(1, "Three").await;
    let path = "/api/moderate/network/bob";
    let seen = ok(moderator.api_get(path).await);
    assert_eq!(seen["others"], json!(["carol"]), "{seen}");
    assert!(seen.get("addresses").is_none() && !seen.to_string().contains("203.0"), "{seen}");
    let of_carol = ok(moderator.api_get("/api/moderate/network/CAROL").await);
    assert_eq!((&of_carol["tag"], &of_carol["others"]), (&seen["tag"], &json!(["bob"])));
    let of_dave = ok(moderator.api_get("/api/moderate/network/dave").await);
    assert!(of_dave["tag"] != seen["tag"] && of_dave["others"] == json!([]), "{of_dave}");
    let seen = ok(alice.api_get(path).await);
    let expected = json!([{"address": "203.0.113.7", "last_used": server.now()}]);
    assert_eq!(seen["addresses"][0], expected[0], "{seen}");
    refused_saying(bob.api_get(path).await, "Only moderators");
    assert_eq!(moderator.get("/api/moderate/network/nobody").await.status, StatusCode::NOT_FOUND);
    // The page says the same.
    let shown = page(&moderator, "/@bob").await;
    assert!(shown.text().contains("carol") && !shown.text().contains("203.0.113"));
    assert!(page(&alice, "/@bob").await.text().contains("203.0.113.7"));
    // The store itself forgets, no later than after 30 days.
    for key in
        server.dump().await.keys().filter(|key| key.contains("network:") || key.contains(":addresses:"))
    {
        let Expiry::In(left) = server.expiry(key).await else { panic!("{key} stays for ever") };
        assert!(left.as_secs() <= 30 * 86_400 && left.as_secs() > 28 * 86_400, "{key} {left:?}");
    }
    server.advance(30 * 86_400);
    assert_eq!(ok(alice.api_get(path).await)["tag"], Value::Null);
    for key in server.dump().await.into_keys().filter(|key| key.contains(":addresses:")) {
        assert_eq!(server.expiry(&key).await, Expiry::Absent, "{key}");
    }
}

#[tokio::test]
async fn a_post_costs_no_round_more_for_its_network() {
    let mut rounds = Vec::new();
    for days in ["0", "30"] {
        let server = Server::start(Engine::Memory, &[("moderation.keep_addresses_days", days)]).await;
        let alice = server.register("alice").await;
        let story = alice.submit_text("A story", "text").await;
        alice.tweet("Hello").await;
        let before = server.store().rounds();
        alice.submit_text("Another", "text").await;
        alice.comment(story, "text").await;
        alice.tweet("Hello again").await;
        rounds.push(server.store().rounds() - before);
        let kept = server.dump().await.keys().any(|key| key.contains(":addresses:"));
        assert_eq!(kept, days != "0");
    }
    assert_eq!(rounds[0], rounds[1]);
}

#[tokio::test]
async fn visitors_are_told_what_is_kept() {
    for (days, expected) in
        [("29", "for 29 days and then forget it"), ("0", "We don’t store your IP address")]
    {
        let server = Server::start(Engine::Memory, &[("moderation.keep_addresses_days", days)]).await;
        let shown = page(&server.visitor(), "/about").await;
        assert!(shown.text().contains(expected), "{}", shown.text());
    }
}

#[in_memory]
async fn moderators_act_on_the_page_of_a_person(server: Server) {
    let [_, moderator, bob] = people(&server).await;
    let shown = page(&moderator, "/@bob").await;
    let form = shown.forms().into_iter().find(|form| form.has_button("silence")).unwrap();
    assert_eq!(form.value("hours"), Some("24"));
    let form = form.with("reason", "shouting").with("hours", "168").pressing("silence");
    let sent = form.send(&moderator).await;
    assert!(redirects_to(&sent).starts_with("/@bob"));
    assert!(page(&moderator, redirects_to(&sent)).await.content().contains("Done: silenced bob"));
    refused_saying(bob.try_tweet("Hello").await, "until 22 Jan 2027, 08:00 UTC: shouting");
    let shown = page(&moderator, "/@bob").await;
    assert!(shown.text().contains("Silenced until 22 Jan 2027, 08:00 UTC (entry 2): shouting"));
    for reader in [&bob, &server.visitor()] {
        assert!(!page(reader, "/@bob").await.text().contains("For moderators"));
    }
}

#[in_memory]
async fn one_form_removes_posts_and_profile_and_bans_and_each_is_undone(server: Server) {
    let [alice, moderator, bob] = people(&server).await;
    let reader = server.member("reader").await;
    reader.follow("bob").await;
    bob.follow("reader").await;
    ok(bob.call("/api/updateprofile?about=Buy pills&email=&fullname=Pill Shop").await);
    for user in ["user:3", "user:4"] {
        // To have new topics.
        server.set_field(user, "karma", "100").await;
    }
    let story = bob.submit_on("pillshop", "Spam").await;
    reader.submit_on("rust", "A story").await;
    let topics = async || page(&reader, "/topics").await.content().contains("pillshop");
    assert!(topics().await);
    let shown = page(&moderator, "/@bob").await;
    let form = shown.forms().into_iter().find(|form| form.value("boxes").is_some()).unwrap();
    assert_eq!((form.value("posts"), form.value("hours")), (Some("1"), Some("24")));
    for name in ["profile", "ban"] {
        shown.one("input", &[("name", name), ("type", "checkbox")]);
    }
    let whole = [("boxes", "1"), ("posts", "1"), ("days", "3650"), ("profile", "1"), ("ban", "1")];
    let all = [("action", "remove_all"), ("kind", "user"), ("id", "bob"), ("reason", "spam")];
    let fields = [&all[..], &whole, &[("hours", "0"), ("next", "/@bob")]].concat();
    redirects_to(&moderator.post("/moderate", &fields).await);
    server.finish_jobs().await;
    let actions = each(&alice.log("").await.into(), "action");
    assert_eq!(actions, ["remove", "remove_all", "ban", "make_moderator"]);
    assert!(!topics().await);
    for visitor in [&server.visitor(), &reader] {
        let answer = visitor.get("/@bob").await;
        let shown = Page::of(&answer);
        let html = answer.text();
        assert!(html.contains("This account is banned.") && html.contains("noindex"), "{html}");
        for gone in ["Pill", "pills", "karma", "stories"] {
            assert!(!shown.content().contains(gone), "{gone}: {html}");
        }
        let followers = page(visitor, "/@reader/followers").await;
        assert!(!followers.content().contains("Pill"), "{}", followers.content());
    }
    assert!(page(&moderator, "/@bob").await.content().contains("karma"));
    for line in [4, 3, 2] {
        ok(moderator.undo(line).await);
    }
    server.finish_jobs().await;
    let shown = page(&reader, "/@bob?show=about").await;
    assert!(shown.content().contains("Pill Shop") && shown.content().contains("Buy pills"));
    assert_eq!(reader.get(&format!("/news/{story}")).await.status, StatusCode::OK);
    assert!(topics().await);
    // Programs leave out what they do not want.
    let all = async |more: &[(&str, &str)]| {
        let more = [&[("reason", "spam")], more].concat();
        moderator.moderate("remove_all", ("user", "bob"), &more).await
    };
    refused_saying(all(&[("posts", "0")]).await, "posts");
    refused_saying(all(&[("ban", "1")]).await, "days");
    // A ban for good takes the full name out of the lists of others.
    let followers = async || page(&reader, "/@reader/followers").await.content().contains("Pill");
    ok(all(&[("posts", "0"), ("ban", "1"), ("hours", "0")]).await);
    assert!(!followers().await);
    ok(moderator.undo(8).await);
    assert!(followers().await);
    ok(all(&[("posts", "0"), ("ban", "1"), ("hours", "1")]).await);
    refused_saying(bob.try_log_in("bob", PASSWORD).await, "spam");
}

/// Lamer News has no bound for names, and its pattern looks at the first line only.
#[in_memory]
async fn whoever_can_be_shown_can_be_named_everywhere(server: Server) {
    let [alice, moderator, _] = people(&server).await;
    let long = "x".repeat(300);
    for (id, name) in [(4_u64, &*long), (5, "al ice/\u{fc}?#"), (6, "carol\nsecond")] {
        server
            .write(|batch| {
                batch.set("users.count", id.to_string());
                let fields = [("id", id.to_string()), ("username", name.to_owned())];
                batch.set_fields(format!("user:{id}"), fields);
                batch.set_field(format!("user:{id}"), "ctime", "1");
                batch.set(format!("username.to.id:{name}"), id.to_string());
            })
            .await;
        for action in ["warn", "silence", "unsilence", "ban", "unban", "make_moderator"] {
            ok(act(&alice, action, name, "").await);
        }
        ok(act(&alice, "unmake_moderator", name, "").await);
        let encoded: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let encoded = encoded.replace('+', "%20");
        let shown = page(&moderator, &format!("/@{encoded}")).await;
        assert!(!shown.forms().is_empty(), "{name:?}");
        ok(moderator.api_get(&format!("/api/moderate/network/{encoded}")).await);
        let log = page(&moderator, "/moderations?kind=user").await;
        assert!(log.content().contains(name.lines().next().unwrap()), "{name:?}");
        for (path, fields) in [
            ("/api/flag", [("kind", "user"), ("id", name), ("reason", "spam")].as_slice()),
            ("/api/follow", &[("username", name)]),
            ("/api/mute", &[("what", "user"), ("value", name)]),
            ("/api/block", &[("username", name)]),
        ] {
            let answer = moderator.api_post(path, fields).await;
            assert_eq!(answer["status"], "ok", "{path} {name:?}: {answer}");
        }
        assert!(ok(alice.api_get("/api/moderate/queue").await).to_string().contains("spam"));
    }
}

#[test]
fn the_operator_gives_a_password_to_an_account_that_only_lamer_news_could_make() {
    let redis = RedisServer::start();
    let run = |words: &[&str]| succeed(&[words, &["--store", &redis.url()]].concat());
    run(&["user", "add", "alice", "--create"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let name = format!("al ice/{}", "x".repeat(100));
    runtime.block_on(async {
        let server = Server::at(&redis.url(), &[]).await;
        let mut batch = Batch::new();
        batch.set("users.count", "2");
        batch.set_fields("user:2", [("id", "2"), ("username", &*name)]);
        batch.set(format!("username.to.id:{name}"), "2");
        server.commit(batch).await;
    });
    run(&["user", "password", &name]);
    run(&["moderate", "ban", "user", &name, "--as", "alice", "--reason", "spam"]);
    run(&["user", "moderator", &name]);
    runtime.block_on(async {
        let server = Server::at(&redis.url(), &[]).await;
        assert!(server.field("user:2", "password").await.unwrap().starts_with("$argon2id$"));
        assert!(server.field("user:2", "banned").await.is_some());
        assert_eq!(server.field("user:2", "flags").await.as_deref(), Some("m"));
    });
}
