//! The sessions of an account: listed, ended, prolonged, expired, limited in number; the cookie
//! that carries them; sessions of Lamer News.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{COOKIE, SET_COOKIE};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tidings_keyspace::Expiry;

use crate::client::{Client, PASSWORD, ok, refused, refused_saying};
use crate::concurrency::at_once;
use crate::original::{self, ACCOUNTS, APISECRET, AUTH, LEGACY_SALT};
use crate::pages::{error_message, page, redirects_saying};
use crate::server::{Engine, Server, each_engine, in_memory};

const HTTPS: (&str, &str) = ("site.url", "https://news.example.com");
const DAY: u64 = 86_400;

/// The sessions that a client is shown.
async fn sessions(client: &Client) -> Vec<Value> {
    ok(client.api_get("/api/sessions").await)["sessions"].as_array().unwrap().clone()
}

/// Whether a client is logged in.
async fn has_session(client: &Client) -> bool {
    client.api_get("/api/sessions").await["status"] == "ok"
}

fn hash(client: &Client) -> String {
    hex::encode(Sha256::digest(client.auth.as_deref().unwrap()))
}

/// The id of a client's session.
fn id(client: &Client) -> String {
    hash(client)[..16].to_owned()
}

async fn end(client: &Client, session: &str) -> Value {
    client.call(&format!("/api/endsession?session={session}")).await
}

#[in_memory]
async fn sessions_are_listed_with_what_the_owner_needs_to_recognise_them(server: Server) {
    let first = server.visitor().with_header("user-agent", "Tool/1.0").register("alice").await;
    server.advance(10);
    let agent = format!("{}\t{}", "x".repeat(200), "y".repeat(200));
    let second = server.visitor().with_header("user-agent", &agent).log_in("alice", PASSWORD).await;
    let now = server.now();
    let expected = |current: &str| {
        let session = |client: &Client, since: u64, agent: &str| {
            json!({
                "id": id(client), "since": since, "last_seen": since, "agent": agent,
                "address": "127.0.0.1", "current": id(client) == current,
            })
        };
        let agent = agent.replace('\t', "");
        [session(&second, now, &agent[..256]), session(&first, now - 10, "Tool/1.0")]
    };
    assert_eq!(sessions(&first).await, expected(&id(&first)));
    assert_eq!(sessions(&second).await, expected(&id(&second)));
    assert_eq!(refused(server.visitor().api_get("/api/sessions").await), "You must be logged in.");
    let shown = page(&first, "/settings/sessions").await;
    assert!(shown.content().contains("Tool (this one)") && shown.content().contains("127.0.0.1"));
    // Neither page nor list contains what would let somebody use the other session.
    for path in ["/settings/sessions", "/api/sessions"] {
        let text = first.text(path).await;
        assert!(!text.contains(&hash(&second)) && !text.contains(second.auth.as_deref().unwrap()));
    }
    assert!(!has_session(&second.with_secrets(Some(&id(&second)), None)).await);
}

#[in_memory]
async fn ending_one_session_leaves_the_others_and_their_forms(server: Server) {
    let first = server.register("alice").await;
    let second = server.visitor().log_in("alice", PASSWORD).await;
    let third = server.visitor().log_in("alice", PASSWORD).await;
    let bob = server.member("bob").await;
    assert_ne!(first.auth, second.auth);
    assert!(second.is_logged_in().await);

    // Nobody ends the sessions of others, nor without the secret of forms.
    refused_saying(end(&bob, &id(&second)).await, "no such session");
    let without_secret = first.with_secrets(first.auth.as_deref(), Some("wrong"));
    refused_saying(end(&without_secret, &id(&second)).await, "apisecret");
    for wrong in ["", "0000000000000000", "earlier", &hash(&second), second.auth.as_deref().unwrap()] {
        assert!(refused(end(&first, wrong).await).contains("no such session"), "{wrong}");
    }
    assert!(second.is_logged_in().await);

    assert_eq!(end(&first, &id(&second)).await, json!({"status": "ok"}));
    assert!(!has_session(&second).await);
    assert_eq!(server.expiry(&format!("session:{}", hash(&second))).await, Expiry::Absent);
    assert_eq!(sessions(&first).await.len(), 2);
    ok(third.api_post("/api/logout", &[]).await);
    assert!(!has_session(&third).await);
    assert!(first.is_logged_in().await && bob.is_logged_in().await);
    // One's own session may be ended, too.
    ok(end(&first, &id(&first)).await);
    assert!(!has_session(&first).await);
    assert!(server.sorted("user:1:sessions").await.is_empty());
}

#[in_memory]
async fn ending_all_others_replaces_the_secret_and_keeps_the_open_forms_of_this_session(server: Server) {
    let first = server.register("alice").await;
    let second = server.visitor().log_in("alice", PASSWORD).await;
    let before = page(&first, "/settings/sessions").await;
    let form = before.forms().into_iter().find(|form| form.value("session") == Some("others")).unwrap();
    redirects_saying(&form.send(&first).await, "/settings/sessions", "sessions_ended");
    assert!(!has_session(&second).await && has_session(&first).await);
    assert_eq!(sessions(&first).await.len(), 1);
    let secret = server.field("user:1", "apisecret").await.unwrap();
    assert_ne!(Some(&secret), first.apisecret.as_ref());
    // Forms from before, plain and masked, and from now on.
    assert!(first.is_logged_in().await);
    redirects_saying(&form.send(&first).await, "/settings/sessions", "sessions_ended");
    assert!(first.with_secrets(first.auth.as_deref(), Some(&secret)).is_logged_in().await);
    // In another session the former secret is worth nothing.
    let third = server.visitor().log_in("alice", PASSWORD).await;
    assert!(!third.with_secrets(third.auth.as_deref(), first.apisecret.as_deref()).is_logged_in().await);
    assert!(third.is_logged_in().await);
}

#[in_memory]
async fn the_page_ends_one_session(server: Server) {
    let first = server.register("alice").await;
    let second = server.visitor().log_in("alice", PASSWORD).await;
    let shown = page(&first, "/settings/sessions").await;
    let ending = |id: &str| shown.forms().into_iter().find(|form| form.value("session") == Some(id));
    assert!(ending(&id(&first)).is_none());
    let form = ending(&id(&second)).unwrap();
    assert!(ending("others").is_some());
    redirects_saying(&form.send(&first).await, "/settings/sessions", "sessions_ended");
    assert!(!has_session(&second).await);
    let forms = page(&first, "/settings/sessions").await.forms();
    assert!(forms.iter().all(|form| form.value("session") != Some("others")));
    let again = form.without("request").send(&first).await;
    assert!(error_message(&again, StatusCode::NOT_FOUND).contains("no such session"));
}

#[tokio::test]
async fn a_session_ends_60_days_after_the_last_visit() {
    // Redis expires keys by its own clock, so this is for the embedded engine.
    for is_cached in [true, false] {
        let server = Server::start(Engine::Memory, &[]).await;
        let alice = server.register("alice").await;
        server.advance(60 * DAY - 1);
        assert!(has_session(&alice).await);
        // That visit counts from now on.
        server.advance(60 * DAY - 1);
        assert!(has_session(&alice).await);
        // A visit within the hour is not written.
        assert!(has_session(&alice).await);
        server.advance(60 * DAY);
        if !is_cached {
            server.clear_caches().await;
        }
        assert!(!has_session(&alice).await);
        let again = server.visitor().log_in("alice", PASSWORD).await;
        assert_eq!(sessions(&again).await.len(), 1);
    }
}

#[in_memory(&[HTTPS])]
async fn a_visit_is_written_and_the_cookie_renewed_once_an_hour(server: Server) {
    let alice = server.register("alice").await;
    let key = format!("session:{}", hash(&alice));
    let life = Expiry::In(Duration::from_secs(60 * DAY));
    let start = server.now();
    assert_eq!(server.expiry(&key).await, life);
    for (seconds, is_written) in
        [(0, false), (3_599, false), (1, true), (0, false), (3_599, false), (1, true)]
    {
        server.advance(seconds);
        let answer = alice.get("/settings").await;
        assert_eq!(answer.status, StatusCode::OK);
        let cookie = answer.headers.get(SET_COOKIE).map(|cookie| cookie.to_str().unwrap().to_owned());
        let token = format!("__Host-auth={}; ", alice.auth.as_deref().unwrap());
        assert_eq!(cookie.as_deref().is_some_and(|cookie| cookie.starts_with(&token)), is_written);
        assert!(cookie.is_none_or(|cookie| cookie.contains("Max-Age=5184000")));
        if is_written {
            assert_eq!(server.field(&key, "last_seen").await, Some(server.now().to_string()));
            assert_eq!(server.expiry(&key).await, life);
            assert_eq!(server.expiry("user:1:sessions").await, life);
        }
    }
    assert_eq!(server.field(&key, "since").await, Some(start.to_string()));
    // A logout deletes the cookie, even when the same request would renew it.
    server.advance(3_600);
    let answer = alice.post("/logout", &[]).await;
    let cookies: Vec<_> = answer.headers.get_all(SET_COOKIE).iter().collect();
    assert_eq!(cookies.len(), 1);
    assert!(cookies[0].to_str().unwrap().starts_with("__Host-auth=; "), "{cookies:?}");
}

#[in_memory]
async fn an_account_has_20_sessions_and_one_more_login_ends_the_oldest(server: Server) {
    let mut clients = vec![server.register("alice").await];
    for _ in 1..20 {
        clients.push(server.visitor().log_in("alice", PASSWORD).await);
    }
    assert_eq!(sessions(&clients[0]).await.len(), 20);
    for (ended, _) in (0..2).zip(0..) {
        let newest = server.visitor().log_in("alice", PASSWORD).await;
        for (number, client) in clients.iter().enumerate() {
            assert_eq!(has_session(client).await, number > ended, "number {number}");
        }
        assert_eq!(sessions(&newest).await.len(), 20);
    }
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_at_the_same_time_leave_20_sessions_at_most(server: Server) {
    server.register("alice").await;
    let logins = (0..30).map(|_| {
        let visitor = server.visitor();
        async move { visitor.log_in("alice", PASSWORD).await }
    });
    let clients = at_once(logins).await;
    let listed = server.sorted("user:1:sessions").await.len();
    assert_eq!(listed, 20);
    let mut live = 0;
    for client in clients {
        live += usize::from(has_session(&client).await);
    }
    assert_eq!(live, 20);
}

#[in_memory]
async fn sessions_that_have_expired_do_not_count_among_the_20(server: Server) {
    server.register("alice").await;
    for _ in 0..10 {
        server.visitor().log_in("alice", PASSWORD).await;
    }
    server.advance(30 * DAY);
    let mut clients = Vec::new();
    for _ in 0..9 {
        clients.push(server.visitor().log_in("alice", PASSWORD).await);
    }
    // The first eleven expire.
    server.advance(30 * DAY);
    assert_eq!(sessions(&clients[0]).await.len(), 9);
    for _ in 0..11 {
        clients.push(server.visitor().log_in("alice", PASSWORD).await);
    }
    for client in &clients {
        assert!(has_session(client).await);
    }
    assert_eq!(server.sorted("user:1:sessions").await.len(), 20);
}

/// Whether a request with these cookies and headers is logged in.
async fn counts(server: &Server, cookies: &[&str], headers: &[(&'static str, &str)]) -> bool {
    let mut client = server.visitor();
    for (name, value) in headers {
        client = client.with_header(name, value);
    }
    let mut request = client.request(reqwest::Method::GET, "/api/sessions");
    for cookie in cookies {
        request = request.header(COOKIE, *cookie);
    }
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    answer["status"] == "ok"
}

#[tokio::test]
async fn which_cookies_count() {
    const BROWSER: &[(&str, &str)] = &[("sec-fetch-site", "same-origin")];
    for https in [true, false] {
        let settings: &[(&str, &str)] = if https { &[HTTPS] } else { &[] };
        let server = Server::start(Engine::Memory, settings).await;
        let alice = server.register("alice").await.auth.unwrap();
        let mallory = server.register("mallory").await.auth.unwrap();
        let host = |token: &str| format!("__Host-auth={token}");
        let plain = |token: &str| format!("auth={token}");
        let both = |one: &str, other: &str| format!("{one}; {other}");
        // The cookies, and whether they count under https (from a browser, from a program) and
        // under http.
        for (cookies, in_browser, in_program, under_http) in [
            (vec![], false, false, false),
            (vec![host(&alice)], true, true, false),
            (vec![plain(&alice)], false, true, true),
            (vec![both(&host(&alice), &plain(&mallory))], true, true, true),
            (vec![both(&host(&alice), &host(&alice))], false, false, false),
            (vec![host(&alice), host(&mallory)], false, false, false),
            (vec![both(&plain(&alice), &plain(&mallory))], false, false, false),
            (vec![plain(&alice), plain(&alice)], false, false, false),
            // Two of one name are not made good by one of the other.
            (vec![both(&host(&alice), &host(&mallory)), plain(&alice)], false, false, true),
            (vec![both(&host("x"), &plain(&alice))], false, false, true),
            (vec![format!("theme=dark; {}", host(&alice))], true, true, false),
            (vec![format!("__host-auth={alice}")], false, false, false),
        ] {
            let sent: Vec<&str> = cookies.iter().map(String::as_str).collect();
            let expected = if https { (in_browser, in_program) } else { (under_http, under_http) };
            let found = (counts(&server, &sent, BROWSER).await, counts(&server, &sent, &[]).await);
            assert_eq!(found, expected, "{cookies:?}, https {https}");
        }
    }
}

#[tokio::test]
async fn a_login_over_the_api_sets_no_cookie_and_a_login_on_the_page_sets_the_right_one() {
    for (settings, name) in [(&[HTTPS][..], "__Host-auth="), (&[], "auth=")] {
        let server = Server::start(Engine::Memory, settings).await;
        let alice = server.register("alice").await;
        let fields = [("username", "alice"), ("password", PASSWORD)];
        // Even when the caller has a session that is due to be prolonged.
        server.advance(DAY);
        for client in [&server.visitor(), &alice] {
            let path = format!("/api/login?{}", crate::client::encoded(&fields));
            for answer in [client.get(&path).await, client.post("/api/login", &fields).await] {
                assert_eq!(ok(answer.json())["auth"].as_str().unwrap().len(), 40);
                assert!(!answer.headers.contains_key(SET_COOKIE));
            }
        }
        let answer = server.visitor().post("/login", &fields).await;
        assert_eq!(answer.headers.get_all(SET_COOKIE).iter().count(), 1);
        assert!(answer.headers[SET_COOKIE].to_str().unwrap().starts_with(name), "{:?}", answer.headers);
    }
}

/// A site on a database of Lamer News, and its administrator's session of that time.
async fn site_beside_lamer_news() -> (Server, Client) {
    let redis = original::database().await;
    let server = Server::on_redis(redis, &[("accounts.legacy_salt", LEGACY_SALT)]).await;
    let antirez = server.visitor().with_secrets(Some(AUTH), Some(APISECRET));
    assert!(antirez.is_logged_in().await);
    (server, antirez)
}

/// Whether nothing is left of the session of Lamer News.
async fn is_gone(server: &Server) -> bool {
    server.string(&format!("auth:{AUTH}")).await.is_none()
        && server.field("user:1", "auth").await.as_deref() == Some("")
        && !has_session(&server.visitor().with_secrets(Some(AUTH), Some(APISECRET))).await
}

#[tokio::test]
async fn a_session_of_lamer_news_is_accepted_and_listed_until_it_is_ended() {
    let (server, antirez) = site_beside_lamer_news().await;
    let (username, password) = ACCOUNTS[0];
    let ours = server.visitor().log_in(username, password).await;
    // A login here neither uses nor ends it, and writes none.
    assert_ne!(ours.auth.as_deref(), Some(AUTH));
    assert_eq!(server.field("user:1", "auth").await.as_deref(), Some(AUTH));
    assert_eq!(server.string(&format!("auth:{}", ours.auth.as_deref().unwrap())).await, None);
    let earlier = json!({
        "id": "earlier", "since": null, "last_seen": null, "agent": "", "address": "", "current": true,
    });
    assert_eq!(sessions(&antirez).await[1], earlier);
    assert!(page(&antirez, "/settings/sessions").await.content().contains("An earlier session (this one)"));
    server.advance(365 * DAY);
    assert!(antirez.is_logged_in().await);
    let ours = server.visitor().log_in(username, password).await;
    ok(end(&ours, "earlier").await);
    assert!(is_gone(&server).await && has_session(&ours).await);
}

#[tokio::test]
async fn a_session_of_lamer_news_ends_with_its_logout_and_with_the_password() {
    let (username, password) = ACCOUNTS[0];
    let changed = "battery staple";
    let change = format!("/api/updateprofile?about=&email=&password={changed}&current_password={password}");
    for (call, password_after) in [("/api/logout", password), (&change, changed)] {
        let (server, antirez) = site_beside_lamer_news().await;
        let ours = server.visitor().log_in(username, password).await;
        ok(antirez.call(call).await);
        assert!(is_gone(&server).await, "{call}");
        // A new password ends all sessions.
        assert_eq!(has_session(&ours).await, password_after == password, "{call}");
        server.visitor().log_in(username, password_after).await;
    }
}

#[tokio::test]
async fn a_session_of_lamer_news_ends_with_the_others_and_may_end_the_others() {
    let (server, antirez) = site_beside_lamer_news().await;
    let ours = server.visitor().log_in(ACCOUNTS[0].0, ACCOUNTS[0].1).await;
    ok(end(&antirez, "others").await);
    assert!(!has_session(&ours).await && has_session(&antirez).await);
    let ours = server.visitor().log_in(ACCOUNTS[0].0, ACCOUNTS[0].1).await;
    ok(end(&ours, "others").await);
    assert!(is_gone(&server).await && has_session(&ours).await);
}

#[each_engine("other versions")]
async fn a_token_of_lamer_news_counts_only_while_it_is_the_users(server: Server) {
    let alice = server.register("alice").await;
    let stray = "9".repeat(40);
    server.write(|batch| batch.set(format!("auth:{stray}"), "1")).await;
    let with_stray = server.visitor().with_secrets(Some(&stray), alice.apisecret.as_deref());
    assert!(has_session(&with_stray).await);
    server.write(|batch| batch.set_field("user:1", "auth", "8".repeat(40))).await;
    assert!(!has_session(&with_stray).await);
    server.write(|batch| batch.set_field("user:1", "auth", &stray)).await;
    assert!(has_session(&with_stray).await);
    ok(alice.update_profile("", "", "battery staple").await);
    assert!(!has_session(&with_stray).await);
    server.write(|batch| batch.set(format!("auth:{stray}"), "1")).await;
    assert!(!has_session(&with_stray).await);
}

#[each_engine("races")]
async fn a_login_that_overlaps_with_a_new_password_has_no_session_afterwards(server: Server) {
    let alice = server.register("alice").await;
    for round in 0..5 {
        let (old, new) = (format!("{PASSWORD} {round}"), format!("{PASSWORD} {}", round + 1));
        if round == 0 {
            ok(alice.update_profile("", "", &old).await);
        }
        let mut owner = server.visitor().log_in("alice", &old).await;
        owner.user_id = 1;
        let fields = [("about", ""), ("email", ""), ("password", &*new), ("current_password", &*old)];
        let visitor = server.visitor();
        let (changed, login) =
            tokio::join!(owner.api_post("/api/updateprofile", &fields), visitor.try_log_in("alice", &old));
        ok(changed);
        if login["status"] == "ok" {
            let auth = login["auth"].as_str();
            assert!(!has_session(&server.visitor().with_secrets(auth, None)).await, "round {round}");
        }
    }
}
