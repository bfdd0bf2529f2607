//! The move of a site to another host name: redirects, links in texts, ids of feeds, and the owners of passkeys.

use reqwest::{Method, StatusCode};
use tidings_domain::accounts::two_factor::{HostMove, visit_owners};
use tidings_domain::values::Hostname;

use crate::commands::Place;
use crate::mails::send_all;
use crate::server::{Engine, Server, in_memory};
use crate::smtp_server::SmtpServer;

const MOVED: [(&str, &str); 2] =
    [("site.url", "https://new.example.org"), ("server.old_hosts", "first.example,old.example.com")];

#[in_memory(&MOVED)]
async fn old_hosts_redirect_and_links_in_texts_follow(server: Server) {
    let alice = server.register("alice").await;
    let text = "See https://old.example.com/news/1?at=2 and `http://first.example` or https://example.com/.";
    let news = alice.submit_text("A story", text).await;
    alice.comment(news, "[there](http://old.example.com/news/1#comment-1)").await;
    alice.tweet("as said at https://old.example.com/tweet/1").await;
    let visitor = server.visitor();
    for (method, path, location) in [
        (Method::GET, "/latest/0?a=1&b=%20", Some("https://new.example.org/latest/0?a=1&b=%20")),
        (Method::POST, "/api/login", Some("https://new.example.org/api/login")),
        (Method::HEAD, "/rss?x=1", Some("https://new.example.org/rss?x=1")),
        (Method::GET, "/v0/item/1.json", Some("https://new.example.org/v0/item/1.json")),
        (Method::GET, "/nothing", Some("https://new.example.org/nothing")),
        (Method::GET, "/health/live", None),
    ] {
        let sent =
            visitor.request(method.clone(), path).header("Host", "old.example.com").send().await.unwrap();
        let expected = if location.is_some() { StatusCode::PERMANENT_REDIRECT } else { StatusCode::OK };
        assert_eq!(sent.status(), expected, "{method} {path}");
        let found = sent.headers().get("location").map(|location| location.to_str().unwrap());
        assert_eq!(found, location, "{method} {path}");
    }
    let stranger = visitor.request(Method::GET, "/").header("Host", "evil.example").send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::BAD_REQUEST);

    // Twice, the second time from the cache.
    for _ in 0..2 {
        let page = visitor.text(&format!("/news/{news}")).await;
        for shown in [
            "href=\"https://new.example.org/news/1?at=2\"",
            ">https://new.example.org/news/1?at=2</a>",
            "href=\"https://new.example.org/news/1#comment-1\"",
            "https://example.com/",
        ] {
            assert!(page.contains(shown), "{shown} in {page}");
        }
        assert!(!page.contains("href=\"https://old.example.com"), "{page}");
    }
    let posts = visitor.text("/@alice?show=posts").await;
    assert!(posts.contains("href=\"https://new.example.org/tweet/1\""), "{posts}");
    let feed = visitor.text(&format!("/news/{news}/atom")).await;
    assert!(feed.contains("tag:first.example,") && feed.contains("https://new.example.org/news/1#comment-1"));
    assert!(!feed.contains("old.example.com"), "{feed}");
    // As typed, for who edits it and for programs.
    let edited = alice.text(&format!("/editnews/{news}")).await;
    assert!(edited.contains("https://old.example.com/news/1?at=2"), "{edited}");
}

#[tokio::test]
async fn owners_of_passkeys_are_told_by_mail() {
    for engine in [Engine::Memory, Engine::Redis] {
        let mut relay = SmtpServer::start().await;
        let settings = [("mail.relay", &*relay.relay()), ("site.url", "https://old.example.com")];
        let server = Server::start(engine, &settings).await;
        for (id, name, factors, email) in [
            (1, "alice", "totp passkeys", "alice@example.org"),
            (2, "bob", "totp", "bob@example.org"),
            (3, "carol", "passkeys", ""),
        ] {
            server.member(name).await;
            let user = format!("user:{id}");
            server.set_field(&user, "two_factor", factors).await;
            for field in ["email", "confirmed_email"] {
                server.set_field(&user, field, email).await;
            }
        }
        let hosts = HostMove {
            from: Hostname::parse("old.example.com").unwrap(),
            to: Hostname::parse("new.example.org").unwrap(),
        };
        let told = (&hosts, server.app.now());
        for (told, mails) in [(None, 0), (Some(told), 1)] {
            let found = visit_owners(&server.app.site, told, |_| {}).await.unwrap();
            assert_eq!((found.checked, found.owners, found.reachable), (3, 2, 1));
            assert_eq!(server.sorted("mail:outbox").await.len(), mails);
        }
        send_all(&server).await;
        let mail = relay.next_message().await;
        assert_eq!(mail.header("To"), Some("alice@example.org"));
        let text = mail.text();
        assert!(text.contains("is moving from old.example.com to new.example.org"), "{text}");
        assert!(text.contains("https://old.example.com/settings/two-factor"), "{text}");
        assert_eq!(relay.waiting(), 0);
    }
}

#[test]
fn the_command_says_what_to_do_and_refuses_what_does_not_fit() {
    for place in Place::each() {
        place.run_with(&["user", "add", "alice", "--create"], "swordfish 12\n", &[]).good();
        let url = [("TIDINGS_SITE__URL", "https://old.example.com")];
        let said = place.run_with(&["site", "move", "old.example.com", "new.example.org"], "", &url).good();
        for words in [
            "0 members have some",
            "tidings site move old.example.com new.example.org --yes",
            "url = \"https://new.example.org\"",
            "old_hosts = \"old.example.com\"",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let run = |arguments: &[&str]| place.run_with(&[&["site", "move"], arguments].concat(), "", &url);
        let refused = run(&["a.example", "b.example"]).failed(1);
        assert!(refused.contains("site.url has the host name old.example.com"), "{refused}");
        let refused = run(&["old.example.com", "new.example.org", "--yes"]).failed(1);
        assert!(refused.contains("mail.relay is not set"), "{refused}");
        for wrong in
            [&["old.example.com", "old.example.com"][..], &["https://a.example", "b.example"], &["a.example"]]
        {
            run(wrong).failed(2);
        }
    }
}
