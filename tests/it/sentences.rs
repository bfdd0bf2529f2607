//! Pages say what is so: about later pages, refused buttons, passwords, pinned stories and what is deleted.

use reqwest::StatusCode;

use crate::client::{PASSWORD, ok, refused, refused_saying};
use crate::community::Community;
use crate::html::Page;
use crate::pages::{page, redirects_to};
use crate::routes::get_routes;
use crate::server::{Engine, Server, in_memory};

#[tokio::test]
async fn a_page_after_the_last_one_does_not_say_that_there_is_nothing() {
    let Community { server: _server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let paths = "/comments?before=1 /everyone?before=1-1 /home?before=1-1 /@bob?before=1-1 \
        /@bob/followers?before=1-1 /@alice/followings?before=1-1 /latest/9000 /top/9000 \
        /usernews/alice/9000 /usercomments/bob/9000 /saved/9000 /upvoted/9000 /hidden/9000 \
        /site/example.com/stories/9000 /best?page=300 /topic/links?page=300 /messages?start=9000";
    for path in paths.split(' ') {
        let shown = page(&alice, path).await;
        let content = shown.content();
        let untrue = " yet|Write the|Write your|Submit the|Submit a story|No posts here|No messages here";
        for untrue in untrue.split('|') {
            assert!(!content.contains(untrue), "{path}: {untrue}: {content}");
        }
        let is_told = content.contains("No more ") && content.contains("Go to the first page");
        assert!(is_told, "{path}: {content}");
    }
}

#[in_memory]
async fn no_visitor_is_told_that_an_account_was_deactivated(server: Server) {
    let shown = page(&server.visitor(), "/settings/deactivated").await;
    let content = shown.content();
    assert!(content.contains("If you have deleted your account"), "{content}");
    assert!(!shown.heading().contains("Account deleted") && !content.contains("your profile is gone"));
    let alice = server.register("alice").await;
    assert_eq!(page(&alice, "/settings/deactivated").await.heading(), "Your account is active");
}

#[in_memory]
async fn a_refused_button_is_no_missing_page(server: Server) {
    let alice = server.register("alice").await;
    for (path, fields, heading) in [
        ("/votenews", &[("news_id", "99"), ("vote_type", "up")][..], "Couldn't vote on a story"),
        ("/follow", &[("username", "nobody")], "Couldn't follow a person"),
        ("/save", &[("news_id", "99")], "Couldn't save a story without voting"),
    ] {
        let answer = alice.post(path, fields).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(Page::of(&answer).heading(), heading, "{path}");
    }
    for answer in [alice.post("/nosuch", &[]).await, alice.get("/news/99").await] {
        assert_eq!(Page::of(&answer).heading(), "Page not found");
    }
    // A damaged address names no fields.
    for path in ["/everyone?before=x", "/inbox?before=x"] {
        let answer = alice.get(path).await;
        let shown = Page::of(&answer);
        assert_eq!((answer.status.as_u16(), shown.heading()), (400, "This link is damaged"), "{path}");
        let (page, content) = (path.split('?').next().unwrap(), shown.content());
        assert!(content.contains("Go to the first page") && shown.links_to(page), "{content}");
    }
}

#[tokio::test]
async fn every_bad_path_answers_a_page_of_the_site() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let mut tried = 0;
    for route in get_routes().into_iter().filter(|route| route.contains('{')) {
        let is_page = !["/api/", "/v0/", "/v1/", "/assets/"].iter().any(|start| route.starts_with(start));
        if !is_page {
            continue;
        }
        let bad: Vec<&str> =
            route.split('/').map(|part| if part.contains('{') { "%FF" } else { part }).collect();
        for client in [&alice, &server.visitor()] {
            let answer = client.get(&bad.join("/")).await;
            if answer.status == StatusCode::SEE_OTHER {
                // To the login page.
                continue;
            }
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{route}");
            let kind = answer.headers.get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
            assert!(kind.is_some_and(|kind| kind.starts_with("text/html")), "{route}");
            assert_eq!(Page::of(&answer).heading(), "Page not found", "{route}");
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
}

#[in_memory]
async fn the_first_administrator_is_told_of_the_longer_password(server: Server) {
    let visitor = server.visitor();
    let form = page(&visitor, "/register").await;
    assert!(form.content().contains("At least 12 characters."), "{}", form.content());
    let form = form.form("/register").with("username", "alice").with("password", "short one");
    let refused = Page::of(&form.send(&visitor).await);
    assert!(refused.content().contains("12 characters at least"), "{}", refused.content());
    assert!(!refused.content().contains(" 8 characters") && !refused.content().contains("At least 12"));
    server.register("alice").await;
    assert!(page(&server.visitor(), "/register").await.content().contains("At least 8 characters."));
}

#[in_memory(&[("site.name", "Garden Talk"), ("site.url", "https://garden.example")])]
async fn a_password_is_no_name_and_no_common_one_with_digits(server: Server) {
    let visitor = server.visitor();
    let sign_up = async |name: &str, password: &str| {
        visitor.call(&format!("/api/create_account?username={name}&password={password}")).await
    };
    for (name, password, why) in [
        ("gardener", "gardener", "your username"),
        ("gardener", "Gardener2026", "your username"),
        ("gardener", "gardentalk1", "the name of this site"),
        ("gardener", "Garden Talk", "the name of this site"),
        ("gardener", "garden.example", "the name of this site"),
        ("gardener", "password1234", "most common"),
    ] {
        let told = refused(sign_up(name, password).await);
        assert!(told.contains(why), "{password}: {told}");
    }
    ok(sign_up("gardener", PASSWORD).await);
    let gardener = server.visitor().log_in("gardener", PASSWORD).await;
    refused_saying(gardener.update_profile("", "", "gardener1234").await, "your username");
}

#[in_memory]
async fn pages_say_that_stories_can_be_pinned_and_that_deleted_texts_are_kept(server: Server) {
    let alice = server.register("alice").await;
    let news = alice.submit_text("A story", "text").await;
    let comment = alice.comment(news, "words").await;
    for path in ["/about", "/ranking"] {
        let content = page(&alice, path).await.content().to_owned();
        assert!(content.contains("up to 2 stories") && content.contains("pin"), "{path}");
        assert!(!content.contains("Nobody moves") && !content.contains("Only votes and time"), "{path}");
    }
    let kept = "It is kept until you leave and have erased what you wrote, or an administrator erases it.";
    for path in [format!("/editcomment/{news}/{comment}"), format!("/delnews/{news}")] {
        assert!(page(&alice, &path).await.content().contains(kept), "{path}");
    }
    assert_eq!(redirects_to(&alice.post(&format!("/delnews/{news}"), &[]).await), "/");
}
