//! The first administrator: on a loopback address, the person who signs up first on this
//! machine; everywhere else, the person who opens the link in the log.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use reqwest::StatusCode;
use tidings_domain::accounts::first_administrator;
use tidings_domain::accounts::roles::{self, GivenRole};
use tidings_domain::values::UserId;

use crate::client::{Client, PASSWORD, ok, refused};
use crate::html::Page;
use crate::pages::{error_message, page, redirects_to};
use crate::server::{Engine, Server, each_engine, in_memory};
use crate::signups::sign_up;

/// A server that everybody can reach.
const PUBLIC: (&str, &str) = ("server.listen", "0.0.0.0:8080");
const PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.0/8");
const INVALID: &str = "This link is not valid: it has been used or is incomplete. While the site has no \
    administrator, the server logs the link each time it starts.";
/// A token of the right form.
const WRONG: &str = "0c1b7a9d3e2486f0c1b7a9d3e24865f0c1b7a95f";

/// The link of a server's log, without the site's address.
async fn link(server: &Server) -> Option<String> {
    let link = first_administrator::link(&server.app.site, server.app.now()).await.unwrap()?;
    let path = link.strip_prefix("http://localhost:8080").unwrap();
    assert!(path.starts_with("/welcome?token="), "{path}");
    Some(path.to_owned())
}

/// The token of that link.
async fn token(server: &Server) -> String {
    let link = link(server).await.expect("a link");
    link.strip_prefix("/welcome?token=").unwrap().to_owned()
}

async fn is_administrator(server: &Server, user: u64) -> bool {
    server.field(&format!("user:{user}"), "flags").await.unwrap_or_default().contains('a')
}

#[tokio::test]
async fn on_a_loopback_address_the_first_account_of_this_machine_is_the_administrator() {
    for (settings, forwarded, is_administrator_then) in [
        (&[][..], None, true),
        (&[PROXY], None, true),
        (&[PROXY], Some("127.0.0.1"), true),
        // A proxy that is not trusted: it could be anybody.
        (&[], Some("127.0.0.1"), false),
        (&[PROXY], Some("203.0.113.9"), false),
        (&[PUBLIC], None, false),
        (&[PUBLIC, PROXY], Some("127.0.0.1"), false),
    ] {
        let server = Server::start(Engine::Memory, settings).await;
        let client = match forwarded {
            None => server.visitor(),
            Some(address) => server.visitor().forwarded_for(address),
        };
        client.register("alice").await;
        assert_eq!(is_administrator(&server, 1).await, is_administrator_then, "{settings:?} {forwarded:?}");
        assert_eq!(link(&server).await.is_some(), !is_administrator_then, "{settings:?} {forwarded:?}");
    }
}

#[in_memory(&[PUBLIC])]
async fn the_link_stays_valid_until_it_is_used(server: Server) {
    let first = token(&server).await;
    server.register("bob").await;
    server.register("carol").await;
    // The same for every server of the store, and after a restart.
    assert_eq!(token(&server).await, first);
    if let Some(redis) = &server.redis {
        let other = Server::beside_with(&redis.url(), &server, &[PUBLIC]).await;
        assert_eq!(token(&other).await, first);
    }
    let before = server.dump().await;
    for wrong in [WRONG, &first[1..], "x", &format!("{first}0")] {
        assert_eq!(refused(sign_up(&server.visitor(), "mallory", &[("token", wrong)]).await), INVALID);
        let answer = server.visitor().get(&format!("/welcome?token={wrong}")).await;
        assert_eq!(error_message(&answer, StatusCode::NOT_FOUND), INVALID);
    }
    assert_eq!(server.dump().await, before);
    ok(sign_up(&server.visitor(), "alice", &[("token", &first)]).await);
    assert!(is_administrator(&server, 3).await);
    assert!(!is_administrator(&server, 1).await);
    assert_eq!(link(&server).await, None);
    assert_eq!(refused(sign_up(&server.visitor(), "mallory", &[("token", &first)]).await), INVALID);
    let answer = server.visitor().get(&format!("/welcome?token={first}")).await;
    assert_eq!(error_message(&answer, StatusCode::NOT_FOUND), INVALID);
}

#[tokio::test]
async fn a_visitor_follows_the_link_to_the_sign_up() {
    for mode in ["open", "invite", "apply", "closed"] {
        let settings = [PUBLIC, ("accounts.signup", mode), ("accounts.confirm_email", "false")];
        let server = Server::start(Engine::Memory, &settings).await;
        let link = link(&server).await.unwrap();
        let visitor = server.visitor();
        let before = server.dump().await;
        let answer = visitor.get(&link).await;
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
        assert_eq!(answer.headers["cache-control"], "no-store");
        let welcome = Page::of(&answer);
        assert_eq!(welcome.heading(), "Become the administrator");
        let register = link.replacen("/welcome", "/register", 1);
        assert!(welcome.links_to(&register), "{}", welcome.text());
        let form = page(&visitor, &register).await.form("/register");
        // No GET changes anything.
        assert_eq!(server.dump().await, before);
        let form = form.with("username", "alice").with("password", "short");
        let again = Page::of(&form.send(&visitor).await).form("/register");
        let answer = again.with("password", PASSWORD).send(&visitor).await;
        assert_eq!(redirects_to(&answer), "/welcome", "{mode}");
        assert!(is_administrator(&server, 1).await, "{mode}");
    }
}

#[in_memory(&[PUBLIC])]
async fn a_member_confirms_and_is_the_administrator(server: Server) {
    let link = link(&server).await.unwrap();
    let (bob, carol) = (server.register("bob").await, server.register("carol").await);
    let before = server.dump().await;
    let form = page(&bob, &link).await.form("/welcome");
    let late = page(&carol, &link).await.form("/welcome");
    assert_eq!(server.dump().await, before);
    let forged = form.clone().with("token", WRONG).send(&bob).await;
    assert_eq!(error_message(&forged, StatusCode::NOT_FOUND), INVALID);
    // Without the form's secret nothing happens.
    form.clone().without("apisecret").send(&bob).await;
    assert!(!is_administrator(&server, 1).await);
    assert_eq!(redirects_to(&form.send(&bob).await), "/welcome");
    assert!(is_administrator(&server, 1).await);
    assert!(page(&bob, "/welcome").await.content().contains("You are the administrator"));
    assert_eq!(error_message(&late.send(&carol).await, StatusCode::NOT_FOUND), INVALID);
    assert!(!is_administrator(&server, 2).await);
}

#[each_engine("races", &[PUBLIC])]
async fn of_many_who_use_the_link_at_once_one_becomes_the_administrator(server: Server) {
    let token = token(&server).await;
    let names: Vec<String> = (0..8).map(|number| format!("member-{number}")).collect();
    let clients: Vec<Client> = names.iter().map(|_| server.visitor()).collect();
    let fields = [("token", &*token)];
    let answers = names.iter().zip(&clients).map(|(name, client)| sign_up(client, name, &fields));
    let answers = futures_util::future::join_all(answers).await;
    assert_eq!(answers.iter().filter(|answer| answer["status"] == "ok").count(), 1, "{answers:?}");
    assert!(is_administrator(&server, 1).await);
    assert_eq!(server.string("users.count").await.as_deref(), Some("1"));
}

#[in_memory(&[PUBLIC])]
async fn an_administrator_by_command_ends_the_link(server: Server) {
    let token = token(&server).await;
    server.register("bob").await;
    let promoted =
        roles::set_role(&server.app.site, server.app.now(), UserId(1), (GivenRole::Administrator, true));
    assert!(promoted.await.unwrap());
    assert_eq!(link(&server).await, None);
    assert_eq!(refused(sign_up(&server.visitor(), "mallory", &[("token", &token)]).await), INVALID);
}

#[test]
fn the_log_shows_the_link_at_every_start_until_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command
            .args(arguments)
            .env("TIDINGS_SITE__URL", "https://tidings.example")
            .current_dir(folder.path());
        command.stdin(Stdio::null());
        command
    };
    let lines = [0, 1].map(|_| {
        let mut process = command(&["serve", "--listen", "0.0.0.0:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(process.stderr.take().unwrap());
        let line = log.lines().map(Result::unwrap).find(|line| line.contains("/welcome?token="));
        process.kill().unwrap();
        process.wait().unwrap();
        let line = line.expect("a line with the link");
        let begin = line.find("this site is new").expect("the words of the front page");
        line[begin..].trim_end().to_owned()
    });
    let (words, token) = lines[0].split_once("https://tidings.example/welcome?token=").unwrap();
    assert_eq!(words, "this site is new: create the administrator's account at ");
    assert!(token.len() == 40 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    assert_eq!(lines[0], lines[1]);
    let links =
        "id,title,url,num_points,author,created_at\n1,A story,https://example.com/1,2,jo,1470000000\n";
    std::fs::write(folder.path().join("links.csv"), links).unwrap();
    let imported = command(&["import", "links", "links.csv"]).output().unwrap();
    let said = String::from_utf8(imported.stdout).unwrap();
    assert_eq!(said.lines().last(), Some(&*lines[0]), "{said}");
}

#[tokio::test]
async fn an_empty_site_greets_its_owner() {
    const OWN: &str = "This site is new. Create the administrator’s account.";
    const PUBLISHED: &str = "This site is new. Its owner finds the link in the log.";
    for (settings, greeting) in [(&[][..], OWN), (&[PUBLIC], PUBLISHED)] {
        let server = Server::start(Engine::Memory, settings).await;
        let visitor = server.visitor();
        let greeted = page(&visitor, "/").await;
        assert!(greeted.content().contains(greeting), "{}", greeted.content());
        assert_eq!(greeted.find("a", &[("href", "/register")]).len(), if greeting == OWN { 2 } else { 1 });
        let alice = server.register("alice").await;
        if greeting == PUBLISHED {
            assert!(page(&visitor, "/").await.content().contains(PUBLISHED));
            let path = format!("/welcome?token={}", token(&server).await);
            redirects_to(&page(&alice, &path).await.form("/welcome").send(&alice).await);
        }
        assert!(!page(&visitor, "/").await.content().contains("new."), "{greeting}");
    }
}
