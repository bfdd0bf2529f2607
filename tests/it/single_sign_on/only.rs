//! A site on which nobody has a password, links for administrators, and a site that only members read.

use reqwest::StatusCode;
use serde_json::json;
use tidings_domain::accounts::{account, login_link};
use tidings_domain::values::{NewPassword, UserId};

use super::{BEGIN, Place, alice, claims, demand_refused};
use crate::client::{PASSWORD, refused};
use crate::commands;
use crate::html::Page;
use crate::pages::{page, redirects_to};
use crate::program::{Program, Ran};
use crate::server::{Server, in_memory};

const ONLY: [(&str, &str); 1] = [("oidc.only", "true")];

#[tokio::test]
async fn without_passwords_the_provider_is_the_one_way_in() {
    let Some(place) = Place::start(&ONLY).await else { return };
    let visitor = place.server.visitor();
    let login = page(&visitor, "/login").await;
    assert!(login.find("input", &[("type", "password")]).is_empty(), "{}", login.text());
    assert!(!["Sign up", "Forgot"].iter().any(|word| login.content().contains(word)), "{}", login.content());
    let mut somebody = place.person();
    place.provider.set_account("alice", alice()).await;
    somebody.sign_up("alice").await;
    // Somebody has a password from before.
    let carol = UserId(place.server.member("carol").await.user_id);
    let password = NewPassword::parse(PASSWORD).unwrap();
    account::set_password(&place.server.app.site, place.server.app.now(), carol, &password).await.unwrap();
    for (path, fields) in [
        ("/api/login", &[("username", "carol"), ("password", PASSWORD)][..]),
        ("/api/create_account", &[("username", "dave"), ("password", PASSWORD)]),
        ("/api/reset-password", &[("username", "carol"), ("email", "carol@example.com")]),
    ] {
        let answer = visitor.post(path, fields).await;
        assert!(refused(answer.json()).len() > 10, "{path}");
        assert!(!answer.headers.contains_key("set-cookie"), "{path}");
        let page_path = path.replace("/api", "").replace("create_account", "register");
        let answer = visitor.post(&page_path, fields).await;
        let is_in = answer.headers.contains_key("set-cookie") || answer.status.is_redirection();
        assert!(!is_in, "{page_path}: {answer:?}");
    }
    assert_eq!(place.server.string("username.to.id:dave").await, None);
    // Nothing in the settings asks for a password, or offers one.
    let client = somebody.client().await;
    for path in ["/settings", "/settings/account", "/settings/sign-in"] {
        let shown = page(&client, path).await;
        assert!(shown.find("input", &[("type", "password")]).is_empty(), "{path}");
    }
}

#[tokio::test]
async fn a_site_that_only_members_read_lets_people_in_by_the_provider() {
    let Some(place) = Place::start(&[("site.readers", "members")]).await else { return };
    place.member("alice", alice()).await;
    let mut person = place.person();
    let led = person.get("/latest/0").await;
    let to = redirects_to(&led).to_owned();
    let button = person.page(&to).await;
    let link = button.all("a").find_map(|link| link.attribute("href").filter(|to| to.starts_with(BEGIN)));
    let address = redirects_to(&person.get(link.unwrap()).await).to_owned();
    let back = person.prove(&address, "alice").await;
    let done = person.get(&back).await;
    assert_eq!(redirects_to(&done), "/latest/0");
    assert!(person.get("/latest/0").await.status.is_success());
    // Whoever is new is told nothing of the community before there is an account.
    place.server.register("zoe-the-member").await;
    place.provider.set_account("bob", claims("bob", json!({}))).await;
    let form = place.person().first_page("bob").await;
    assert!(!form.text().contains("zoe-the-member") && !form.text().contains("alice"), "{}", form.text());
    for path in ["/oidc/login?next=/", "/oidc/callback"] {
        let answer = place.server.visitor().get(path).await;
        assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
        assert_eq!(answer.headers["x-robots-tag"], "noindex", "{path}");
    }
}

fn login_link(place: &commands::Place, name: &str) -> Ran {
    place.run(&["user", "login-link", name])
}

/// The path of a link that the command has printed.
fn path_of(ran: Ran) -> String {
    let said = ran.good();
    let (_, path) = said.split_once("/login/link/").unwrap_or_else(|| panic!("{said}"));
    format!("/login/link/{}", path.split_whitespace().next().unwrap())
}

#[tokio::test]
async fn a_link_logs_an_administrator_in_once() {
    for place in commands::Place::each() {
        let program: Program = commands::start(&place);
        let visitor = program.visitor();
        visitor.register("alice").await;
        visitor.register("bob").await;
        let path = path_of(login_link(&place, "alice"));
        // A look at it does nothing: mail programs and chats look at links.
        for _ in 0..2 {
            let shown = page(&visitor, &path).await;
            assert!(shown.all("button").any(|button| button.text() == "Log in as alice"), "{}", shown.text());
        }
        let form = page(&visitor, &path).await.form(&path);
        let done = form.send(&visitor).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{done:?}");
        assert!(done.headers["set-cookie"].to_str().unwrap().starts_with("auth="));
        let again = form.send(&visitor).await;
        assert!(again.status.is_client_error() && !again.headers.contains_key("set-cookie"), "{again:?}");
        let wrong = format!("{}x", &path[..path.len() - 1]);
        let answer = visitor.get(&wrong).await;
        demand_refused(&answer);
        Page::of(&answer);
        // Members and moderators have none, nor has nobody.
        assert!(login_link(&place, "bob").failed(1).contains("administrator"));
        login_link(&place, "nobody").failed(1);
        place.run(&["user", "moderator", "bob"]).good();
        login_link(&place, "bob").failed(1);
        // A role that is lost ends a link.
        place.run(&["user", "promote", "bob"]).good();
        let second = path_of(login_link(&place, "bob"));
        place.run(&["user", "demote", "bob"]).good();
        let answer = visitor.post(&second, &[]).await;
        assert!(answer.status.is_client_error() && !answer.headers.contains_key("set-cookie"), "{answer:?}");
        assert!(!program.log().contains(&second["/login/link/".len()..]), "{}", program.log());
    }
}

#[tokio::test]
async fn a_link_logs_in_where_the_provider_is_the_one_way_in_and_is_away() {
    let place = commands::Place::embedded();
    let program = commands::start(&place);
    program.visitor().register("alice").await;
    program.stop();
    let secret = place.file("secret", "a secret");
    let settings = [
        // Nobody listens there.
        ("TIDINGS_OIDC__ISSUER", "http://127.0.0.1:9"),
        ("TIDINGS_OIDC__CLIENT_ID", "tidings"),
        ("TIDINGS_OIDC__CLIENT_SECRET_FILE", secret.to_str().unwrap()),
        ("TIDINGS_OIDC__ONLY", "true"),
    ];
    let program = Program::start_with(&place.url, &settings);
    let visitor = program.visitor();
    refused(visitor.post("/api/login", &[("username", "alice"), ("password", PASSWORD)]).await.json());
    let path = path_of(place.run_with(&["user", "login-link", "alice"], "", &settings));
    let done = page(&visitor, &path).await.form(&path).send(&visitor).await;
    assert!(done.headers["set-cookie"].to_str().unwrap().starts_with("auth="), "{done:?}");
}

#[in_memory]
async fn a_link_is_good_for_ten_minutes(server: Server) {
    server.register("alice").await;
    let visitor = server.visitor();
    for (seconds, is_good) in [(600, true), (601, false)] {
        let token = login_link::make(&server.app.site, server.app.now(), UserId(1)).await.unwrap();
        let path = format!("/login/link/{token}");
        server.advance(seconds);
        for answer in [visitor.get(&path).await, visitor.post(&path, &[]).await] {
            assert_eq!(answer.status.is_client_error(), !is_good, "{seconds}: {answer:?}");
            assert!(is_good || !answer.headers.contains_key("set-cookie"), "{answer:?}");
        }
    }
}
