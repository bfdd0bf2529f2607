//! An error in a form is shown beside the field that it is about.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::{Client, HttpResponse, PASSWORD, ok};
use crate::community::Community;
use crate::forms::{ask_for_link, site_with_mail};
use crate::html::{Element, Form, Page};
use crate::pages::{local_links, page};
use crate::server::{Engine, Server, in_memory};

/// All controls of a page that people type into, or in which they choose.
fn controls(page: &Page) -> Vec<&Element> {
    ["input", "textarea", "select"].into_iter().flat_map(|name| page.all(name)).collect()
}

/// Checks that this field, and no other, is marked as wrong and has the focus, and returns the
/// message beside it, which is the only one.
#[track_caller]
fn wrong(page: &Page, name: &str) -> String {
    let wrong: Vec<_> =
        controls(page).into_iter().filter(|field| field.attribute("aria-invalid") == Some("true")).collect();
    assert_eq!(wrong.len(), 1, "{}", page.text());
    assert_eq!(wrong[0].attribute("name"), Some(name));
    assert_eq!(wrong[0].attribute("autofocus"), Some(""));
    let focused = controls(page).into_iter().filter(|field| field.attribute("autofocus").is_some());
    assert_eq!(focused.count(), 1);
    let id = wrong[0].attribute("id").unwrap();
    let described_by = wrong[0].attribute("aria-describedby").unwrap();
    let error = described_by.split(' ').next().unwrap();
    assert_eq!(error, format!("error-{id}"));
    let hint = format!("hint-{id}");
    let has_hint = !page.find("p", &[("id", &hint)]).is_empty();
    assert_eq!(described_by.contains(&hint), has_hint, "{described_by}");
    assert_eq!(page.find("p", &[("role", "alert")]).len(), 1);
    page.one("p", &[("id", error), ("role", "alert")]).text().to_owned()
}

/// Sends a form, which must be refused because of this field. Returns the page.
async fn refused_for(client: &Client, form: Form, address: &str, name: &str, message: &str) -> Page {
    let back = Page::of(&form.send_to(client, address).await);
    let told = wrong(&back, name);
    assert!(told.contains(message), "{told}");
    back
}

/// No form starts with an error.
#[track_caller]
fn not_wrong(page: &Page) {
    assert!(controls(page).iter().all(|field| field.attribute("aria-invalid").is_none()));
    assert_eq!(page.alert(), None);
}

#[in_memory(&[("rates.failed_login_per_address", "2/2m"), ("limits.account_creation_seconds", "54000")])]
async fn signing_up_and_logging_in(server: Server) {
    server.member("taken").await;
    let visitor = server.visitor();
    for (path, autocomplete) in [("/register", "new-password"), ("/login", "current-password")] {
        let form = page(&visitor, path).await;
        not_wrong(&form);
        form.one("input", &[("name", "username"), ("autocomplete", "username")]);
        form.one("input", &[("name", "password"), ("autocomplete", autocomplete)]);
    }
    let before = server.dump().await;
    let sign_up = page(&visitor, "/register?next=%2Fnews%2F1").await.form("/register");
    for (username, password, status, name, message) in [
        ("1x", PASSWORD, 422, "username", "Usernames must start with a letter (a-z)."),
        ("", PASSWORD, 422, "username", "Enter a username."),
        ("a\"><b>", PASSWORD, 422, "username", "Usernames can contain"),
        ("taken", PASSWORD, 409, "username", "is taken"),
        ("alice", "short", 422, "password", "too short"),
    ] {
        let answer =
            sign_up.clone().with("username", username).with("password", password).send(&visitor).await;
        assert_eq!(answer.status, status, "{username:?}");
        let back = Page::of(&answer);
        let told = wrong(&back, name);
        assert!(told.contains(message), "{told}");
        let back = back.form("/register");
        assert_eq!((back.value("username"), back.value("password")), (Some(username), Some("")));
        assert_eq!(back.value("next"), Some("/news/1"));
    }
    assert_eq!(server.dump().await, before);
    let sign_up = sign_up.with("password", PASSWORD);
    assert!(sign_up.clone().with("username", "alice").send(&visitor).await.status.is_redirection());
    let again = sign_up.with("username", "bob").send(&visitor).await;
    let back = Page::of(&again);
    assert_eq!((again.status.as_u16(), back.form("/register").value("username")), (429, Some("bob")));
    assert!(back.alert().unwrap().contains("recently"), "{:?}", back.alert());

    let log_in =
        page(&visitor, "/login?next=%2Fnews%2F1").await.form("/login").with("password", "wrong horse");
    let mut bodies = Vec::new();
    // The answer does not tell whether the user exists.
    for username in ["taken", "nobod"] {
        let answer = log_in.clone().with("username", username).send(&visitor).await;
        assert_eq!(answer.status, 422);
        let back = Page::of(&answer);
        assert_eq!(wrong(&back, "password"), "Wrong username or password.");
        let back = back.form("/login");
        assert_eq!((back.value("username"), back.value("password")), (Some(username), Some("")));
        assert_eq!(back.value("next"), Some("/news/1"));
        bodies.push(answer.text().replace(username, ""));
    }
    assert_eq!(bodies[0], bodies[1]);
    // This is about no field.
    let answer = log_in.with("username", "taken").send(&visitor).await;
    assert_eq!((answer.status.as_u16(), answer.headers["retry-after"].as_bytes()), (429, &b"60"[..]));
    let limited = Page::of(&answer);
    assert!(controls(&limited).iter().all(|field| field.attribute("aria-invalid").is_none()));
    let told = limited.one("p", &[("class", "alert"), ("role", "alert")]).text();
    assert!(told.contains("Try again in 1 minute"), "{told}");
    assert_eq!(limited.form("/login").value("username"), Some("taken"));
}

#[in_memory]
async fn the_settings_and_the_old_profile(server: Server) {
    let alice = server.register("alice").await;
    server.register("bob").await;
    let pages: [(&str, &str, &[&str]); 4] = [
        ("/settings", "/settings", &["about"]),
        ("/settings/mail", "/settings/mail", &["email", "current_password"]),
        ("/settings/account", "/settings/account", &["password", "current_password"]),
        ("/user/alice", "/profile", &["about", "email", "password", "current_password"]),
    ];
    for (path, action, names) in pages {
        let shown = page(&alice, path).await;
        not_wrong(&shown);
        for (name, autocomplete) in
            [("email", "email"), ("password", "new-password"), ("current_password", "current-password")]
        {
            let found = shown.find("input", &[("name", name), ("autocomplete", autocomplete)]).len();
            assert_eq!(found, usize::from(names.contains(&name)), "{path}: {name}");
        }
        let form = shown.form(action);
        let long = "x".repeat(5_000);
        for (name, value, message) in [
            ("about", &*long, "profile text is too long"),
            ("email", "nonsense", "Enter an e-mail address"),
            ("password", "short", "too short"),
        ] {
            if names.contains(&name) {
                let back = refused_for(&alice, form.clone().with(name, value), action, name, message).await;
                let kept = if name == "password" { "" } else { value };
                assert_eq!(back.form(action).value(name), Some(kept));
            }
        }
        if names.contains(&"email") {
            let changed = form.clone().with("email", "alice@example.org");
            for (password, message) in [("", "Enter your current password"), ("wrong horse", "is wrong")] {
                let typed = changed.clone().with("current_password", password);
                let back = refused_for(&alice, typed, action, "current_password", message).await.form(action);
                assert_eq!(back.value("email"), Some("alice@example.org"));
                assert_eq!(back.value("current_password"), Some(""));
            }
        }
    }
    let form = page(&alice, "/settings").await.form("/settings").with("fullname", "b\u{43e}b");
    refused_for(&alice, form, "/settings", "fullname", "").await;
}

#[tokio::test]
async fn deactivating_and_a_new_password() {
    let (server, mut relay, _) = site_with_mail().await;
    let link = format!("/reset-password/{}", ask_for_link(&server, &mut relay).await);
    let visitor = server.visitor();
    let form = page(&visitor, &link).await.form("").with("password", "short");
    refused_for(&visitor, form, &link, "password", "too short").await;
    let shown = page(&visitor, "/reset-password").await;
    not_wrong(&shown);
    for name in ["username", "email"] {
        shown.one("input", &[("name", name), ("autocomplete", name)]);
        let form = shown.form("/reset-password").without(name);
        refused_for(&visitor, form, "/reset-password", name, "missing").await;
    }

    let alice = visitor.log_in("alice", PASSWORD).await;
    let path = "/settings/deactivate";
    let form = page(&alice, path).await.form(path).with("password", "wrong horse");
    refused_for(&alice, form, path, "password", "password").await;
}

#[tokio::test]
async fn submitting_a_story() {
    let Community { server: _server, bob, .. } = Community::new(Engine::Memory, &[]).await;
    let shown = page(&bob, "/submit").await;
    not_wrong(&shown);
    let form = shown.form("/submit").with("title", "A title");
    for (name, value, wrong, message) in [
        ("title", "", "title", "Enter a title"),
        ("url", "javascript:alert(1)", "url", "full address"),
        ("text", "", "url", "URL or some text"),
        ("topics", "C++", "topics", "not a topic"),
    ] {
        let back = refused_for(&bob, form.clone().with(name, value), "/submit", wrong, message).await;
        assert_eq!(back.form("/submit").value(name), Some(value));
    }
    let edit = page(&bob, "/editnews/2").await.form("/editnews/2");
    let both = edit.with("url", "http://example.com/two");
    refused_for(&bob, both, "/editnews/2", "url", "either a URL or text").await;
}

#[in_memory]
async fn looking_up_a_site(server: Server) {
    let visitor = server.visitor();
    not_wrong(&page(&visitor, "/sites").await);
    let back: HttpResponse = visitor.get("/sites?host=not+a+host").await;
    assert_eq!(back.status, 422);
    let back = Page::of(&back);
    assert!(wrong(&back, "host").contains("is not a site name"));
    back.one("input", &[("name", "host"), ("value", "not a host")]);
}

#[tokio::test]
async fn the_name_of_the_site() {
    let Community { server: _server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let form = page(&alice, "/admin/site").await.form("/admin/site");
    let long = "x".repeat(1_000);
    let back = Page::of(&form.with("accent", "red").with("name", &long).send(&alice).await);
    let wrong = |field: &&Element| field.attribute("aria-invalid") == Some("true");
    assert_eq!(controls(&back).iter().filter(|field| wrong(field)).count(), 2);
    let focused: Vec<_> =
        controls(&back).into_iter().filter(|field| field.attribute("autofocus").is_some()).collect();
    assert_eq!(focused.len(), 1);
    assert_eq!(focused[0].attribute("name"), Some("name"));
    assert_eq!(back.form("/admin/site").value("accent"), Some("red"));
}

#[tokio::test]
async fn administration() {
    let Community { server: _server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    alice.submit_on("rust", "On rust").await;
    alice.submit_on("go", "On go").await;
    for (action, name, value, message) in [
        ("/renametopic", "name", "C++", "not a topic"),
        ("/renametopic", "name", "go", "already exists"),
        ("/mergetopic", "into", "none", "no topic"),
        ("/mergetopic", "into", "rust", "same topic"),
    ] {
        let form = page(&alice, "/topic/rust").await.form(action).with(name, value);
        let back = refused_for(&alice, form, action, name, message).await;
        let again = back.form(action);
        assert_eq!((again.value("topic"), again.value(name)), (Some("rust"), Some(value)));
        let of_bob = bob.post(action, &[("topic", "rust"), (name, value)]).await;
        assert!(
            !of_bob.status.is_success() && Page::of(&of_bob).forms().iter().all(|form| form.action != action)
        );
    }
    for (query, name, message) in [
        ("voter=x", "voter", "It must be a UUID."),
        ("voter=beda0000-0822-4342-0990-b92d94d9489a", "voter", "There is no such voter."),
        ("from=yesterday", "from", "It must be a time"),
        ("to=tomorrow", "to", "It must be a time"),
        ("day=someday", "day", "It must be a date"),
    ] {
        let back = Page::of(&alice.get(&format!("/admin/sites?{query}")).await);
        let told = wrong(&back, name);
        assert!(told.contains(message), "{told}");
    }
    not_wrong(&page(&alice, "/admin/sites").await);
    let name = "maximum_votes_per_user_per_day";
    let back = alice.post("/admin/sites/settings", &[(name, "many")]).await;
    assert_eq!(back.status, 400);
    let back = Page::of(&back);
    assert_eq!(wrong(&back, name), "It must be a whole number from 0 to 1000000.");
    back.one("input", &[("name", name), ("value", "many")]);
}

/// Makes what has forms that the community's own pages do not have.
async fn make_more(Community { server, alice, bob }: &Community) {
    let carol = server.member("carol").await;
    for (kind, id) in [("story", "2"), ("comment", "1-1")] {
        ok(carol.call(&format!("/api/flag?kind={kind}&id={id}&reason=spam")).await);
    }
    ok(carol.api_post("/api/messages", &[("text", "A question")]).await);
    bob.tweet("A post").await;
    for made in [
        "rule?what=phrase&pattern=casino&effect=hold&reason=spam&dry_run=0",
        "bans?what=network&value=192.0.2.0/24&scope=both&reason=a raid&dry_run=0",
        "reasons?title=Spam&text=This is spam.&rule=",
    ] {
        ok(alice.call(&format!("/api/moderate/{made}")).await);
    }
    alice.call("/api/admin/hooks?url=https://hooks.example/x&events=queue&format=json").await;
    ok(alice.moderate("note", ("user", "bob"), &[("reason", "Odd")]).await);
}

/// The forms that change something, with their pages, as somebody finds them who follows links. Of addresses that
/// differ in numbers and values only, two are followed.
async fn forms_found(client: &Client) -> Vec<(String, Form)> {
    let mut shapes = BTreeMap::<String, usize>::new();
    let (mut waiting, mut known) = (vec!["/".to_owned()], BTreeSet::new());
    let (mut found, mut tried) = (Vec::new(), BTreeSet::new());
    while let Some(path) = waiting.pop() {
        let (address, query) = path.split_once('?').unwrap_or((&path, ""));
        let parameters: Vec<_> = query.split('&').filter_map(|pair| pair.split('=').next()).collect();
        let shape = format!("{}?{parameters:?}", address.replace(|letter: char| letter.is_ascii_digit(), ""));
        let followed = shapes.entry(shape).or_default();
        *followed += 1;
        if *followed > 2 || path.starts_with("/api/") {
            continue;
        }
        let answer = client.get(&path).await;
        let is_page =
            answer.headers.get("content-type").is_some_and(|kind| kind == "text/html; charset=utf-8");
        if !answer.status.is_success() || !is_page {
            continue;
        }
        let page = Page::of(&answer);
        let forms = page.forms().into_iter().filter(|form| form.is_post && !form.controls().is_empty());
        for form in forms {
            if tried.insert((form.action.clone(), form.controls().to_vec())) {
                found.push((path.clone(), form));
            }
        }
        waiting.extend(local_links(&page).into_iter().filter(|link| known.insert(link.clone())));
    }
    found
}

/// Sends a form with each of its fields wrong in each way that its kind allows. Returns how often it was refused, and
/// what is wrong with the answers.
async fn check_comes_back(client: &Client, path: &str, form: &Form) -> (usize, Vec<String>) {
    let (mut refusals, mut faults) = (0, Vec::new());
    let is_secret = |name: &str, kind: &str| name == "code" || kind == "password";
    for wrong in form.controls() {
        for (value, comes_back) in wrong.wrong_values() {
            let mut sent = form.clone().with(&wrong.name, &value);
            let others = form.controls().iter().filter(|other| other.name != wrong.name);
            for other in others.filter(|other| !is_secret(&other.name, &other.kind)) {
                if sent.value(&other.name) == Some("") && other.kind != "select" {
                    sent = sent.with(&other.name, other.good_value());
                }
            }
            let buttons = form.buttons("action");
            let sent = if buttons.is_empty() { sent } else { sent.pressing(buttons[0]) };
            let answer = sent.send(client).await;
            if answer.status.is_success() || answer.status.is_redirection() {
                continue;
            }
            refusals += 1;
            let back = Page::of(&answer);
            let is_kept = |again: &Form| {
                form.controls().iter().all(|control| {
                    let is_other = control.name != wrong.name && !is_secret(&control.name, &control.kind);
                    let is_shown = is_other || control.name == wrong.name && comes_back;
                    !is_shown || again.value(&control.name) == sent.value(&control.name)
                })
            };
            let again = back
                .forms()
                .into_iter()
                .filter(|again| again.action == form.action)
                .any(|again| is_kept(&again));
            let marked =
                controls(&back).into_iter().filter(|field| field.attribute("aria-invalid") == Some("true"));
            let marked: Vec<_> = marked.filter_map(|field| field.attribute("name")).collect();
            let focused =
                controls(&back).into_iter().filter(|field| field.attribute("autofocus").is_some()).count();
            let is_told = back.alert().is_some_and(|alert| alert.len() > 5);
            // Where the form had nothing, the value that the sweep has filled in may be wrong too.
            let has_none = |name: &str| form.value(name).is_none_or(str::is_empty);
            let is_marked = marked.iter().all(|name| *name == wrong.name || has_none(name))
                && (!marked.is_empty() || form.has_choices());
            if !again || !is_told || focused > 1 || !is_marked {
                let value = value.chars().take(12).collect::<String>();
                faults.push(format!(
                    "{path}: {}={value:?} of {} ({}): kept {again}, marked {marked:?}, {:?}",
                    wrong.name,
                    form.action,
                    answer.status,
                    back.alert()
                ));
            }
        }
    }
    (refusals, faults)
}

#[tokio::test]
async fn every_refused_form_of_the_site_comes_back_filled_with_its_error() {
    let community = Community::new(Engine::Memory, &[]).await;
    make_more(&community).await;
    let Community { server, alice, bob } = &community;
    let (mut refused, mut faults) = (BTreeMap::<String, usize>::new(), Vec::new());
    for client in [&server.visitor(), bob, alice] {
        for (path, form) in forms_found(client).await {
            let (refusals, found) = check_comes_back(client, &path, &form).await;
            faults.extend(found);
            // A secret or a choice alone may be taken as it is.
            let mut kinds = form.controls().iter().map(|control| control.kind.as_str());
            if kinds.any(|kind| !["password", "select"].contains(&kind)) {
                *refused.entry(form.action.clone()).or_default() += refusals;
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    let never: Vec<_> = refused.iter().filter(|(_, refusals)| **refusals == 0).collect();
    assert!(never.is_empty(), "{never:?}");
    assert!(refused.len() > 25, "{refused:?}");
}

#[tokio::test]
async fn a_refused_button_shows_its_page_with_the_reason() {
    let Community { server: _server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let none = [("maximum_votes_per_user_per_day", "0")];
    assert!(alice.post("/admin/sites/settings", &none).await.status.is_redirection());
    let form = page(&bob, "/site/example.com").await.form("/votesite");
    let answer = form.pressing("1").send(&bob).await;
    assert!(answer.status.is_client_error(), "{}", answer.status);
    let back = Page::of(&answer);
    assert_eq!(back.heading(), page(&bob, "/site/example.com").await.heading());
    assert!(back.form("/votesite").has_button("1") && back.alert().is_some(), "{}", back.content());
    // A form that is on no page gets the page of its error.
    let answer = bob.post("/votesite", &[("link", "other.example"), ("vote", "9"), ("next", "/about")]).await;
    assert_eq!((answer.status.as_u16(), Page::of(&answer).heading()), (400, "Couldn't vote on a site"));
}

#[in_memory]
async fn the_announcement(server: Server) {
    let alice = server.register("alice").await;
    alice.submit_text("A story", "text").await;
    let form = page(&alice, "/admin/site").await.form("/admin/announcement").with("text", "We move");
    let long = "x".repeat(1_000);
    for (name, value, message) in [
        ("text", &*long, "too long"),
        ("url", "javascript:alert(1)", "full address"),
        ("hours", "soon", "whole number of hours"),
        ("pinned", "1, 1, 1", "at most two stories"),
        ("pinned", "99", "stories that are shown"),
        ("pinned_hours", "soon", "whole number of hours"),
    ] {
        let wrong = form.clone().with(name, value);
        let back = refused_for(&alice, wrong, "/admin/announcement", name, message).await;
        assert_eq!(back.form("/admin/announcement").value(name), Some(value));
    }
}
