//! Logging in with a second factor: authenticator apps and recovery codes.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use tidings_domain::accounts::two_factor::setup;
use tidings_domain::values::{AccountRules, Rules, UserId};
use tidings_keyspace::Expiry;

use crate::authenticator::code;
use crate::client::{Client, HttpResponse, PASSWORD, ok, refused, refused_saying};
use crate::concurrency::at_once;
use crate::forms::site_with_mail;
use crate::html::{Form, Page};
use crate::pages::{page, redirects_saying, redirects_to, shown};
use crate::server::{Engine, Server, each_engine, in_memory};

const WRONG_CODE: &str = "This code is wrong or has already been used. Wait for the next one.";
const MEMBER: &str = "alice";
const BEHIND_A_PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.0/8");

/// An account with an authenticator app.
pub struct Protected {
    /// Its session from before.
    pub client: Client,
    /// The secret of the app.
    pub secret: String,
    /// The recovery codes.
    pub recovery_codes: Vec<String>,
}

impl Protected {
    /// Registers an account and sets up an app.
    pub async fn register(server: &Server, username: &str) -> Self {
        Self::set_up(server, server.register(username).await).await
    }

    /// Sets up an app.
    pub async fn set_up(server: &Server, client: Client) -> Self {
        let secret = begin(&client).await["secret"].as_str().unwrap().to_owned();
        let confirmed = ok(confirm(&client, &code(&secret, server.now())).await);
        let recovery_codes = serde_json::from_value(confirmed["recovery_codes"].clone()).unwrap();
        Self { client, secret, recovery_codes }
    }
}

/// What an app needs to be set up.
async fn begin(client: &Client) -> Value {
    ok(client.api_post("/api/totp/begin", &[("current_password", PASSWORD)]).await)
}

async fn confirm(client: &Client, code: &str) -> Value {
    client.api_post("/api/totp/confirm", &[("code", code)]).await
}

async fn end(client: &Client, password: &str, code: &str) -> Value {
    client.call(&format!("/api/totp/end?current_password={password}&code={code}")).await
}

async fn answer_to(client: &Client, code: &str) -> HttpResponse {
    client.answer_to(&format!("/api/login?username={MEMBER}&password={PASSWORD}&code={code}")).await
}

async fn log_in(client: &Client, code: &str) -> Value {
    answer_to(client, code).await.json()
}

#[track_caller]
fn check_code_required(answer: &HttpResponse) {
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let answer = answer.json();
    assert_eq!(answer["status"], "err");
    assert_eq!(answer["code_required"], true);
    assert!(answer["error"].as_str().unwrap().contains("code"), "{answer}");
}

/// The answer to a login with the password alone.
async fn password_alone(server: &Server) -> HttpResponse {
    server.visitor().post("/api/login", &[("username", MEMBER), ("password", PASSWORD)]).await
}

#[each_engine("one of its kind")]
async fn an_app_is_set_up_and_from_then_on_a_login_needs_its_code(server: Server) {
    let alice = server.register(MEMBER).await;
    let wrong = alice.api_post("/api/totp/begin", &[("current_password", "wrong horse")]).await;
    refused_saying(wrong, "password");
    let begun = begin(&alice).await;
    let secret = begun["secret"].as_str().unwrap();
    let uri = begun["uri"].as_str().unwrap();
    assert!(uri.starts_with("otpauth://totp/") && uri.contains(secret) && uri.contains(MEMBER), "{uri}");
    // Nothing is on yet.
    ok(server.visitor().try_log_in(MEMBER, PASSWORD).await);
    assert_eq!(refused(confirm(&alice, "000000").await), WRONG_CODE);
    let codes = ok(confirm(&alice, &code(secret, server.now())).await)["recovery_codes"].clone();
    assert_eq!(codes.as_array().unwrap().len(), 10);

    let visitor = server.visitor();
    check_code_required(&password_alone(&server).await);
    check_code_required(&answer_to(&visitor, "").await);
    let query = format!("/api/login?username=alice&password={}", PASSWORD.replace(' ', "+"));
    check_code_required(&visitor.get(&query).await);
    assert_eq!(refused(log_in(&visitor, "12").await), WRONG_CODE);
    let entered = ok(log_in(&visitor, &code(secret, server.now())).await);
    let entered = visitor.with_secrets(entered["auth"].as_str(), entered["apisecret"].as_str());
    assert!(entered.is_logged_in().await && alice.is_logged_in().await);

    // The stored secrets are those of the app and hashes of the recovery codes.
    let dump = format!("{:?}", server.dump().await);
    let code = codes[0].as_str().unwrap();
    assert!(!dump.contains(code) && !dump.contains(&code.replace('-', "")));
}

#[in_memory]
async fn a_code_works_once_and_for_the_steps_beside_its_own(server: Server) {
    let Protected { secret, .. } = Protected::register(&server, MEMBER).await;
    let visitor = server.visitor();
    server.advance(90);
    let now = server.now();
    let tried = async |seconds: u64| log_in(&visitor, &code(&secret, seconds)).await;
    assert_eq!(refused(tried(now - 60).await), WRONG_CODE, "two steps late");
    assert_eq!(refused(tried(now + 60).await), WRONG_CODE, "two steps early");
    ok(tried(now - 30).await);
    assert_eq!(refused(tried(now - 30).await), WRONG_CODE, "used");
    ok(tried(now + 30).await);
    assert_eq!(refused(tried(now).await), WRONG_CODE, "before the last that was used");
    server.advance(30);
    assert_eq!(refused(tried(now + 30).await), WRONG_CODE, "used");
    ok(tried(now + 60).await);
}

#[each_engine("races")]
async fn of_concurrent_logins_with_one_code_one_succeeds(server: Server) {
    let Protected { secret, recovery_codes, .. } = Protected::register(&server, MEMBER).await;
    for code in [code(&secret, server.now()), recovery_codes[3].clone()] {
        let answers = at_once((0..5).map(|_| {
            let (visitor, code) = (server.visitor(), code.clone());
            async move { log_in(&visitor, &code).await }
        }));
        let answers = answers.await;
        assert_eq!(answers.iter().filter(|answer| answer["status"] == "ok").count(), 1, "{answers:?}");
    }
}

#[in_memory]
async fn a_recovery_code_works_once_however_it_is_typed(server: Server) {
    let Protected { client, recovery_codes, .. } = Protected::register(&server, MEMBER).await;
    let visitor = server.visitor();
    let [first, second] = [&recovery_codes[0], &recovery_codes[1]];
    ok(log_in(&visitor, first).await);
    assert_eq!(refused(log_in(&visitor, first).await), WRONG_CODE);
    ok(log_in(&visitor, &second.replace('-', " ").to_uppercase()).await);
    assert!(page(&client, "/settings/two-factor").await.text().contains("8 of 10"));
    let sessions = page(&client, "/settings/sessions").await;
    assert!(sessions.text().contains("with a recovery code"), "{}", sessions.text());

    // New ones end the others.
    let form = page(&client, "/settings/two-factor/codes").await.form("/settings/two-factor/codes");
    let refusal = Page::of(&form.clone().with("current_password", "wrong horse").send(&client).await);
    assert!(refusal.alert().unwrap().contains("wrong"));
    let renewed = shown(&form.with("current_password", PASSWORD).send(&client).await);
    let renewed: Vec<&str> = renewed.all("code").map(|code| code.text()).collect();
    assert_eq!(renewed.len(), 10);
    assert_eq!(refused(log_in(&visitor, &recovery_codes[2]).await), WRONG_CODE);
    ok(log_in(&visitor, renewed[9]).await);
}

#[in_memory]
async fn an_app_is_removed_with_password_and_code(server: Server) {
    let Protected { client, secret, recovery_codes } = Protected::register(&server, MEMBER).await;
    let again = client.api_post("/api/totp/begin", &[("current_password", PASSWORD)]).await;
    refused_saying(again, "already");
    let right = code(&secret, server.now());
    refused_saying(end(&client, "wrong horse", &right).await, "password");
    assert_eq!(refused(end(&client, PASSWORD, "000000").await), WRONG_CODE);
    check_code_required(&password_alone(&server).await);
    ok(end(&client, PASSWORD, &right).await);
    ok(server.visitor().try_log_in(MEMBER, PASSWORD).await);
    refused_saying(end(&client, PASSWORD, &recovery_codes[0]).await, "no authenticator app");
    assert!(server.hash("user:1:two_factor").await.is_empty());
    assert_eq!(server.field("user:1", "two_factor").await, None);
    // It can be set up again.
    Protected::set_up(&server, client.clone()).await;
}

#[in_memory]
async fn a_setup_must_be_confirmed_within_a_quarter_of_an_hour(server: Server) {
    let alice = server.register(MEMBER).await;
    let begun = begin(&alice).await;
    let secret = begun["secret"].as_str().unwrap();
    assert_eq!(server.expiry("user:1:new_totp").await, Expiry::In(Duration::from_secs(900)));
    server.advance(900);
    refused_saying(confirm(&alice, &code(secret, server.now())).await, "took too long");
    ok(server.visitor().try_log_in(MEMBER, PASSWORD).await);
}

#[in_memory]
async fn who_does_not_know_the_password_learns_nothing_about_the_second_factor(server: Server) {
    let Protected { secret, recovery_codes, .. } = Protected::register(&server, MEMBER).await;
    for code in [code(&secret, server.now()), recovery_codes[0].clone(), String::new()] {
        let fields = [("username", MEMBER), ("password", "wrong horse"), ("code", &code)];
        let answer = server.visitor().api_post("/api/login", &fields).await;
        assert_eq!(refused(answer), "Wrong username or password.");
    }
    // None of them was used up.
    ok(log_in(&server.visitor(), &recovery_codes[0]).await);
}

/// The answer must be to wait.
#[track_caller]
fn check_slowed_down(answer: &HttpResponse) {
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused(answer.json()).starts_with("Too many failed logins."));
}

#[tokio::test]
async fn wrong_codes_count_as_failed_logins() {
    let settings = [("rates.failed_login_per_address", "30/10m"), BEHIND_A_PROXY];
    let server = Server::start(Engine::Memory, &settings).await;
    let Protected { recovery_codes, .. } = Protected::register(&server, MEMBER).await;
    let from = |address: usize| server.visitor().forwarded_for(&format!("203.0.113.{address}"));
    for wrong in ["000000", "no code", "aaaa-aaaa-aaaa-aaaa"].iter().cycle().take(10) {
        assert_eq!(refused(log_in(&from(1), wrong).await), WRONG_CODE);
    }
    check_slowed_down(&answer_to(&from(1), &recovery_codes[0]).await);
    ok(log_in(&from(2), &recovery_codes[0]).await);
}

#[tokio::test]
async fn codes_of_one_account_are_limited_whatever_addresses_they_come_from() {
    for engine in [Engine::Memory, Engine::Redis] {
        let server = Server::start(engine, &[BEHIND_A_PROXY]).await;
        let Protected { secret, recovery_codes, .. } = Protected::register(&server, MEMBER).await;
        server.register("bob").await;
        let from = |address: usize| server.visitor().forwarded_for(&format!("203.0.113.{address}"));
        let answers = at_once((0..40).map(|address| {
            let visitor = from(address);
            async move { answer_to(&visitor, "000000").await }
        }));
        let compared = answers.await.iter().filter(|answer| answer.status == StatusCode::OK).count();
        assert_eq!(compared, 20);
        check_slowed_down(&answer_to(&from(50), &code(&secret, server.now())).await);
        // Neither the other ways of the owner nor other accounts are slowed down.
        ok(log_in(&from(50), &recovery_codes[0]).await);
        ok(from(51).try_log_in("bob", PASSWORD).await);
        if engine == Engine::Memory {
            // Three minutes later there is one more, and the right one ends the count.
            server.advance(180);
            ok(log_in(&from(52), &code(&secret, server.now())).await);
            assert_eq!(server.expiry("limit:wrong_codes:1").await, Expiry::Absent);
        }
    }
}

/// The first step on the page.
async fn first_step(visitor: &Client) -> Form {
    let form = page(visitor, "/login?next=%2Flatest%2F0&reason=vote").await.form("/login");
    let answer = form.with("username", MEMBER).with("password", PASSWORD).send(visitor).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(!answer.headers.contains_key("set-cookie"));
    let text = answer.text();
    assert!(!text.contains(PASSWORD), "{text}");
    Page::of(&answer).form("/login/code")
}

#[in_memory]
async fn the_page_asks_for_the_code_in_a_second_step(server: Server) {
    let Protected { secret, .. } = Protected::register(&server, MEMBER).await;
    let visitor = server.visitor();
    let form = first_step(&visitor).await;
    assert_eq!(form.value("next"), Some("/latest/0"));
    let wrong = form.with("code", "000000").send(&visitor).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let again = Page::of(&wrong);
    assert_eq!(again.alert(), Some(WRONG_CODE));
    let form = again.form("/login/code");
    let done = form.with("code", &code(&secret, server.now())).send(&visitor).await;
    assert_eq!(redirects_to(&done), "/latest/0");
    assert!(done.headers.contains_key("set-cookie"));
    // A reload of the second step has nothing to go on with.
    assert!(redirects_to(&visitor.get("/login/code").await).starts_with("/login?next="));
}

#[tokio::test]
async fn the_first_step_holds_for_five_minutes_at_one_address_and_for_one_password() {
    let server = Server::start(Engine::Memory, &[BEHIND_A_PROXY]).await;
    let Protected { client, secret, .. } = Protected::register(&server, MEMBER).await;
    let here = server.visitor().forwarded_for("203.0.113.1");
    let elsewhere = server.visitor().forwarded_for("203.0.113.2");
    let dump = server.dump().await;
    let form = first_step(&here).await;
    let tried = async |form: &Form, visitor: &Client| {
        let form = form.clone().with("code", &code(&secret, server.now()));
        form.send(visitor).await
    };
    // The site stores nothing between the steps.
    assert_eq!(server.dump().await, dump);
    let check_again = |answer: &HttpResponse| {
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let again = Page::of(answer);
        assert_eq!(again.alert(), Some("Your login took too long. Log in again."));
        assert_eq!(again.form("/login").value("next"), Some("/latest/0"));
    };
    check_again(&tried(&form, &elsewhere).await);
    let ticket = form.value("ticket").unwrap().to_owned();
    for forged in
        ["", "1", "1.2.3", &ticket.replacen('1', "2", 1), &ticket[..ticket.len() - 2], &format!("{ticket}00")]
    {
        check_again(&tried(&form.clone().with("ticket", forged), &here).await);
    }
    server.advance(301);
    check_again(&tried(&form, &here).await);
    let form = first_step(&here).await;
    ok(client.update_profile("", "", "battery staple").await);
    check_again(&tried(&form, &here).await);
}

#[in_memory(&[("site.name", "News: & <more>")])]
async fn the_settings_lead_through_the_setup_without_a_script(server: Server) {
    let alice = server.register(MEMBER).await;
    assert!(page(&alice, "/settings/account").await.links_to("/settings/two-factor"));
    let overview = page(&alice, "/settings/two-factor").await;
    assert!(overview.links_to("/settings/two-factor/app") && !overview.text().contains("Recovery codes"));
    let form = page(&alice, "/settings/two-factor/app").await.form("/settings/two-factor/app");
    let refusal = Page::of(&form.clone().with("current_password", "wrong horse").send(&alice).await);
    assert!(refusal.alert().unwrap().contains("wrong"));
    let begun = shown(&form.with("current_password", PASSWORD).send(&alice).await);
    assert_eq!(begun.find("svg", &[("role", "img")]).len(), 1);
    let secret = begun.all("code").next().unwrap().text().replace(' ', "");
    let form = begun.form("/settings/two-factor/app/confirm");
    let again = Page::of(&form.with("code", "000000").send(&alice).await);
    assert_eq!(again.alert(), Some(WRONG_CODE));
    // The same secret is shown again.
    assert_eq!(again.all("code").next().unwrap().text().replace(' ', ""), secret);
    let form = again.form("/settings/two-factor/app/confirm");
    let codes = shown(&form.with("code", &code(&secret, server.now())).send(&alice).await);
    assert_eq!(codes.all("code").count(), 10);
    check_code_required(&password_alone(&server).await);

    let form = page(&alice, "/settings/two-factor/app").await.form("/settings/two-factor/app/remove");
    let form = form.with("current_password", PASSWORD).with("code", codes.all("code").next().unwrap().text());
    redirects_saying(&form.send(&alice).await, "/settings/two-factor", "factors_changed");
    ok(server.visitor().try_log_in(MEMBER, PASSWORD).await);
}

#[in_memory(&[("accounts.staff_two_factor", "true")])]
async fn on_a_site_that_wants_it_roles_count_with_a_second_factor_only(server: Server) {
    // The first account is the administrator.
    let admin = server.register("admin").await;
    let news = admin.submit_text("Hello", "world").await;
    let bob = server.register("bob").await;
    let calls: [(&str, &[(&str, &str)]); 3] = [
        ("/api/renametopic", &[("topic", "rust"), ("name", "crab")]),
        ("/api/describetopic", &[("topic", "rust"), ("about", "A sentence")]),
        ("/api/sites/admin/ban", &[("user_id", "00000000-0000-4000-8000-000000000000")]),
    ];
    for (path, fields) in calls {
        let message = refused(admin.api_post(path, fields).await);
        assert!(message.contains("/settings/two-factor"), "{path}: {message}");
        assert_eq!(refused(bob.api_post(path, fields).await), "Only administrators can do this.", "{path}");
    }
    // A moderator's role waits, too.
    let carol = server.moderator("carol").await;
    let lock = async |by: &Client| refused(by.moderate("lock", ("story", "1"), &[]).await);
    let message = lock(&carol).await;
    assert!(message.contains("/settings/two-factor"), "{message}");
    assert_eq!(lock(&bob).await, "Only moderators can do this.");
    for path in ["/admin", "/admin/site", "/admin/sites"] {
        let answer = admin.get(path).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        let page = Page::of(&answer);
        assert!(page.alert().unwrap().contains("/settings/two-factor"), "{path}");
        assert!(page.links_to("/settings/two-factor"));
    }
    // They may still do what everybody may do, and every page has a notice.
    ok(admin.call(&format!("/api/postcomment?news_id={news}&comment_id=-1&parent_id=-1&comment=text")).await);
    let notice = page(&admin, "/").await;
    assert!(notice.links_to("/settings/two-factor") && !notice.links_to("/admin"));
    assert!(!page(&bob, "/").await.links_to("/settings/two-factor"));

    let Protected { client: admin, secret, .. } = Protected::set_up(&server, admin).await;
    assert_eq!(admin.get("/admin").await.status, StatusCode::OK);
    assert!(!page(&admin, "/").await.links_to("/settings/two-factor"));
    ok(end(&admin, PASSWORD, &code(&secret, server.now())).await);
    assert_eq!(admin.get("/admin").await.status, StatusCode::FORBIDDEN);
}

/// The roles of people whom the server has cached follow a reload of the settings at once.
#[in_memory]
async fn whether_a_role_counts_follows_a_reload_both_ways(server: Server) {
    let admin = server.register("admin").await;
    let moderator = server.moderator("mod").await;
    let author = server.member("bob").await;
    let story = author.submit_text("Hello", "world").await;
    let comment = author.comment(story, "a removed text").await;
    let id = format!("{story}-{comment}");
    ok(admin.moderate("remove", ("comment", &*id), &[("reason", "spam")]).await);
    let require = |staff_two_factor| {
        let rules = &server.app.site.rules;
        let accounts = AccountRules { staff_two_factor, ..rules.accounts.clone() };
        rules.replace(Rules { accounts, ..Rules::clone(rules) });
    };
    for is_required in [false, true, false, true] {
        require(is_required);
        let status = if is_required { StatusCode::FORBIDDEN } else { StatusCode::OK };
        assert_eq!(admin.get("/admin").await.status, status, "{is_required}");
        for path in ["/moderate", "/api/moderate/queue", "/api/moderate/network/bob"] {
            let answer = moderator.get(path).await;
            let said = answer.text();
            assert_eq!(said.contains("/settings/two-factor"), is_required, "{path}: {said}");
            assert!(!said.contains("Only moderators"), "{path}: {said}");
            let refused = author.any_text(path).await;
            assert!(refused.contains("Only moderators can do this."), "{path}: {refused}");
        }
        let shown = page(&moderator, &format!("/news/{story}")).await;
        let shown = shown.content();
        assert_eq!(shown.contains("a removed text"), !is_required, "{shown}");
    }
    // Others still see what somebody was given, and a role that does not count still protects.
    assert!(page(&author, "/@admin").await.content().contains("administrator"));
    require(false);
    let ban = moderator.moderate("ban", ("user", "admin"), &[("reason", "no")]).await;
    refused_saying(ban, "with a higher role");
}

#[in_memory]
async fn nothing_is_changed_without_the_secret_of_the_session(server: Server) {
    let alice = server.register(MEMBER).await;
    let before = server.dump().await;
    let fields = [("current_password", PASSWORD), ("code", "000000"), ("name", "x"), ("passkey", "{}")];
    let paths = "/api/totp/begin /api/totp/confirm /api/totp/end /settings/two-factor/app \
        /settings/two-factor/app/confirm /settings/two-factor/app/remove /settings/two-factor/codes \
        /settings/two-factor/passkeys /settings/two-factor/passkeys/confirm \
        /settings/two-factor/passkeys/remove";
    for path in paths.split(' ') {
        let told = alice.with_secrets(alice.auth.as_deref(), None).post(path, &fields).await.text();
        assert!(told.contains("earlier session"), "{path}: {told}");
        let nobody = alice.with_secrets(None, alice.apisecret.as_deref()).post(path, &fields).await;
        let is_sent_to_log_in = nobody.status == StatusCode::SEE_OTHER;
        assert!(is_sent_to_log_in || refused(nobody.json()).contains("logged in"), "{path}");
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn the_operator_removes_a_lost_second_factor(server: Server) {
    let Protected { client, .. } = Protected::register(&server, MEMBER).await;
    assert!(setup::remove_all(&server.app.site, UserId(1)).await.unwrap());
    assert!(!setup::remove_all(&server.app.site, UserId(1)).await.unwrap());
    ok(server.visitor().try_log_in(MEMBER, PASSWORD).await);
    assert!(client.is_logged_in().await);
    assert!(server.hash("user:1:two_factor").await.is_empty());
}

#[tokio::test]
async fn a_new_password_by_mail_does_not_remove_the_second_factor() {
    let (server, mut relay, alice) = site_with_mail().await;
    let Protected { secret, .. } = Protected::set_up(&server, alice).await;
    assert!(relay.next_message().await.text().contains("authenticator app"));
    let token = crate::forms::ask_for_link(&server, &mut relay).await;
    let path = format!("/reset-password/{token}");
    let visitor = server.visitor();
    let answer = visitor.post(&path, &[("password", "battery staple")]).await;
    shown(&answer);
    assert!(!answer.headers.contains_key("set-cookie"));
    let log_in = format!("/api/login?username={MEMBER}&password=battery staple");
    check_code_required(&visitor.answer_to(&log_in).await);
    ok(visitor.call(&format!("{log_in}&code={}", code(&secret, server.now()))).await);
}

#[tokio::test]
async fn the_owner_hears_of_every_change() {
    let (server, mut relay, alice) = site_with_mail().await;
    let Protected { client, secret, .. } = Protected::set_up(&server, alice).await;
    let mut told = async || {
        let mail = relay.next_message().await;
        assert_eq!(mail.to, ["alice@example.org"]);
        assert!(mail.header("Subject").unwrap().contains("two-step login"), "{mail:?}");
        let text = mail.text();
        assert!(text.contains("/settings/two-factor") && !text.contains(&secret), "{text}");
        text
    };
    assert!(told().await.contains("An authenticator app was added"));
    let form = page(&client, "/settings/two-factor/codes").await.form("/settings/two-factor/codes");
    shown(&form.with("current_password", PASSWORD).send(&client).await);
    assert!(told().await.contains("New recovery codes were made"));
    ok(end(&client, PASSWORD, &code(&secret, server.now())).await);
    assert!(told().await.contains("The authenticator app was removed"));
}

#[in_memory]
async fn a_deactivated_account_leaves_no_second_factor(server: Server) {
    server.register("admin").await;
    let Protected { client, .. } = Protected::register(&server, MEMBER).await;
    let form = page(&client, "/settings/deactivate").await.form("/settings/deactivate");
    redirects_to(&form.with("password", PASSWORD).send(&client).await);
    assert!(server.hash("user:2:two_factor").await.is_empty());
    assert_eq!(server.field("user:2", "two_factor").await, None);
}

#[each_engine("rounds")]
async fn a_login_without_a_second_factor_costs_no_round_more(server: Server) {
    server.register("bob").await;
    let Protected { recovery_codes, .. } = Protected::register(&server, MEMBER).await;
    let visitor = server.visitor();
    let without = server.least_rounds_during(async || ok(visitor.try_log_in("bob", PASSWORD).await)).await;
    let used = std::cell::Cell::new(0);
    let with = server.least_rounds_during(async || {
        used.set(used.get() + 1);
        ok(log_in(&visitor, &recovery_codes[used.get()]).await)
    });
    // Name, account, newest session, commit, surplus sessions; and one for the second factors.
    assert_eq!((without, with.await), (5, 6));
}

#[in_memory]
async fn sessions_say_with_what_they_were_opened(server: Server) {
    let Protected { client, secret, .. } = Protected::register(&server, MEMBER).await;
    ok(log_in(&server.visitor(), &code(&secret, server.now())).await);
    let text = page(&client, "/settings/sessions").await.text().to_owned();
    assert_eq!(text.matches("with a code").count(), 1, "{text}");
    // The API says what it has always said.
    let sessions = ok(client.api_get("/api/sessions").await);
    let mut names: Vec<&String> = sessions["sessions"][0].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["address", "agent", "current", "id", "last_seen", "since"]);
}
