//! The forms of the pages: filled in as a browser would, sent, and followed.

use reqwest::StatusCode;
use reqwest::header::SET_COOKIE;

use crate::addresses;
use crate::client::{Client, HttpResponse, PASSWORD, ok};
use crate::community::Community;
use crate::html::{Form, Page};
use crate::pages::{error_message, page, redirects_saying, redirects_to, shown};
use crate::server::{Engine, Server, in_memory};
use crate::smtp_server::SmtpServer;

const NEW_PASSWORD: &str = "battery staple";

/// The page of a refused form: the message must be this.
#[track_caller]
fn refused_page(answer: &HttpResponse, status: StatusCode, message: &str) -> Page {
    assert!(error_message(answer, status).contains(message), "{}", answer.text());
    assert!(!answer.headers.contains_key(SET_COOKIE));
    Page::of(answer)
}

/// The session that an answer gives to the browser.
#[track_caller]
fn given_session(server: &Server, answer: &HttpResponse) -> Client {
    let cookie = answer.headers[SET_COOKIE].to_str().unwrap();
    let (session, attributes) = cookie.split_once("; ").unwrap();
    let token = session.strip_prefix("auth=").unwrap();
    assert_eq!(token.len(), 40, "{cookie}");
    let mut attributes: Vec<&str> = attributes.split("; ").collect();
    attributes.sort_unstable();
    assert_eq!(attributes, ["HttpOnly", "Max-Age=5184000", "Path=/", "SameSite=Lax"]);
    server.visitor().with_secrets(Some(token), None)
}

/// A form for a name and a password, filled in.
async fn credentials(client: &Client, path: &str, username: &str, password: &str) -> Form {
    let action = path.split('?').next().unwrap();
    page(client, path).await.form(action).with("username", username).with("password", password)
}

#[in_memory]
async fn registering_and_logging_in_redirect_to_next_and_logging_out_ends_the_session(server: Server) {
    let visitor = server.visitor();
    let answer =
        credentials(&visitor, "/register?next=%2Fsubmit", "alice", PASSWORD).await.send(&visitor).await;
    assert_eq!(redirects_to(&answer), "/submit");
    let alice = given_session(&server, &answer);
    assert!(page(&alice, "/submit").await.one("nav", &[("aria-label", "Main")]).text().contains("alice"));
    server.visitor().log_in("alice", PASSWORD).await;
    let form = credentials(&visitor, "/login?next=%2Flatest%2F0%3Fa%3Db", "ALICE", PASSWORD).await;
    let answer = form.send(&visitor).await;
    assert_eq!(redirects_to(&answer), "/latest/0?a=b");
    let alice = given_session(&server, &answer);

    let form = page(&alice, "/").await.form("/logout");
    let other = form.clone().with("apisecret", "0000000000000000000000000000000000000000");
    error_message(&other.send(&alice).await, StatusCode::FORBIDDEN);
    assert!(page(&alice, "/").await.text().contains("Log out"));
    let answer = form.send(&alice).await;
    assert_eq!(redirects_to(&answer), "/");
    let cookie = answer.headers[SET_COOKIE].to_str().unwrap();
    assert!(cookie.starts_with("auth=; ") && cookie.contains("Max-Age=0"), "{cookie}");
    assert!(page(&alice, "/").await.text().contains("Sign up"));
    assert_eq!(redirects_to(&form.send(&alice).await), "/login?next=%2F");
    // The bookmarklet survives a login.
    let asked = "/submit?u=https%3A%2F%2Fexample.com%2F%3Fa%3D1%26b%3D%2525&t=A%20%26%20%22b%22%20%C3%BC";
    let login = redirects_to(&visitor.get(asked).await).to_owned();
    let answer = credentials(&visitor, &login, "alice", PASSWORD).await.send(&visitor).await;
    assert_eq!(redirects_to(&answer), asked);
    let form = page(&given_session(&server, &answer), asked).await.form("/submit");
    assert_eq!(form.value("url"), Some("https://example.com/?a=1&b=%25"));
    assert_eq!(form.value("title"), Some("A & \"b\" ü"));
}

#[tokio::test]
async fn who_logs_out_or_leaves_takes_pages_and_drafts_along() {
    for (url, forgets) in
        [("https://news.example.com", Some("\"cache\", \"storage\"")), ("http://127.0.0.1:8080", None)]
    {
        let server = Server::start(Engine::Memory, &[("site.url", url)]).await;
        server.register("admin").await;
        let (alice, bob) = (server.register("alice").await, server.register("bob").await);
        let sent = async |client: &Client, form: Form| {
            let answer = form.send(client).await;
            answer.headers.get("clear-site-data").map(|value| value.to_str().unwrap().to_owned())
        };
        let leaving = page(&bob, "/settings/deactivate").await.form("/settings/deactivate");
        assert_eq!(sent(&bob, leaving.clone().with("password", "wrong horse")).await, None);
        assert_eq!(sent(&bob, leaving.with("password", PASSWORD)).await.as_deref(), forgets, "{url}");
        let form = page(&alice, "/").await.form("/logout");
        assert_eq!(sent(&alice, form).await.as_deref(), forgets, "{url}");
    }
}

#[tokio::test]
async fn the_cookie_is_secure_when_the_site_is() {
    for (url, secure) in [("https://news.example.com", true), ("http://news.example.com", false)] {
        let server = Server::start(Engine::Memory, &[("site.url", url)]).await;
        let visitor = server.visitor();
        let answer = credentials(&visitor, "/register", "alice", PASSWORD).await.send(&visitor).await;
        let cookie = answer.headers[SET_COOKIE].to_str().unwrap();
        assert_eq!(cookie.split("; ").any(|attribute| attribute == "Secure"), secure, "{cookie}");
    }
}

/// Addresses that lead away from the site, or would if they were not checked closely.
const AWAY: [&str; 12] = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example/",
    "evil.example",
    "javascript:alert(1)",
    "/\t/evil.example",
    "/\r\nSet-Cookie: auth=x",
    " //evil.example",
    "/<script>\u{fc}",
    "",
];

#[tokio::test]
async fn no_form_redirects_to_another_site() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    server.register("carol").await;
    let fields = [("username", "carol"), ("password", PASSWORD)];
    for away in AWAY {
        let visitor = server.visitor();
        let asked = crate::client::encoded(&[("next", away)]);
        for path in ["/login", "/register"] {
            assert_eq!(page(&visitor, &format!("{path}?{asked}")).await.form(path).value("next"), Some("/"));
        }
        let logged_in = visitor.post("/login", &[fields[0], fields[1], ("next", away)]).await;
        assert_eq!(redirects_to(&logged_in), "/", "{away:?}");
        let fields = [("username", "carol"), ("password", "wrong horse"), ("next", away)];
        let back = visitor.post("/login", &fields).await;
        let back = refused_page(&back, StatusCode::UNPROCESSABLE_ENTITY, "Wrong username");
        assert_eq!(back.form("/login").value("next"), Some("/"), "{away:?}");
    }
    for (number, away) in AWAY.iter().enumerate() {
        let id = bob.submit_text(&format!("Number {number}"), "text").await.to_string();
        let fields = [("news_id", &*id), ("vote_type", "up"), ("next", away)];
        server.set_karma(&alice, 10).await;
        let back = format!("/#news-{id}");
        assert_eq!(redirects_to(&alice.post("/votenews", &fields).await), back, "{away:?}");
        let comment = format!("{id}-{}", bob.comment(id.parse().unwrap(), "text").await);
        let fields = [("comment_id", &*comment), ("vote_type", "up"), ("next", away)];
        let back = format!("/#{comment}");
        assert_eq!(redirects_to(&alice.post("/votecomment", &fields).await), back, "{away:?}");
    }
}

#[tokio::test]
async fn submitting_redirects_to_the_story_and_a_repost_leads_to_the_earlier_one() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let form = page(&bob, "/submit").await.form("/submit").with("title", "News & more");
    // Each is sent as if the form was opened anew.
    let form = form.without("request");
    let link = form.clone().with("url", "http://example.com/new").with("text", "My first comment");
    assert_eq!(redirects_to(&link.send(&bob).await), "/news/4");
    let thread = page(&bob, "/news/4").await;
    assert_eq!(thread.heading().split(" (example").next(), Some("News & more"));
    assert!(thread.content().contains("My first comment"));
    let text = form.clone().with("text", "Line one\r\nLine two");
    assert_eq!(redirects_to(&text.send(&bob).await), "/news/5");
    assert!(page(&server.visitor(), "/news/5").await.content().contains("Line one"));
    let again = page(&alice, "/submit")
        .await
        .form("/submit")
        .with("title", "x")
        .with("url", "HTTP://Example.com/new");
    assert!(shown(&again.send(&alice).await).links_to("/news/4"));
    assert_eq!(alice.listed("latest").await, [5, 4, 2, 1]);
}

#[in_memory(&[("limits.submission_seconds", "900")])]
async fn a_refused_submission_comes_back_filled_in(server: Server) {
    let bob = server.member("bob").await;
    bob.submit_text("One", "text").await;
    let before = server.dump().await;
    let form = page(&bob, "/submit").await.form("/submit");
    let long = "x".repeat(81);
    for (title, url, text, status, message) in [
        ("", "http://example.com/", "", StatusCode::UNPROCESSABLE_ENTITY, "title"),
        (&*long, "", "text", StatusCode::UNPROCESSABLE_ENTITY, "title"),
        ("A \"title\"", "", "", StatusCode::UNPROCESSABLE_ENTITY, "URL or some text"),
        ("<b>", "javascript:alert(1)", "</textarea>", StatusCode::UNPROCESSABLE_ENTITY, "full address"),
        (
            "A title",
            "http://example.com/x",
            "\na\n\n&lt;",
            StatusCode::TOO_MANY_REQUESTS,
            "submitted a story recently",
        ),
    ] {
        let filled = form.clone().with("title", title).with("url", url).with("text", text);
        let back = refused_page(&filled.send(&bob).await, status, message).form("/submit");
        for (name, value) in [("title", title), ("url", url), ("text", text), ("news_id", "-1")] {
            assert_eq!(back.value(name), Some(value));
        }
    }
    assert_eq!(server.dump().await, before);
}

#[tokio::test]
async fn an_edit_redirects_to_the_story_and_a_refused_one_shows_the_form_again() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let form = page(&bob, "/editnews/2").await.form("/editnews/2");
    for (name, value) in [("title", "A text"), ("url", ""), ("text", "Some text"), ("news_id", "2")] {
        assert_eq!(form.value(name), Some(value));
    }
    let changed = form.clone().with("title", "Another title").with("text", "Other text");
    assert_eq!(redirects_to(&changed.send(&bob).await), "/news/2");
    assert!(page(&alice, "/news/2").await.content().contains("Other text"));

    let before = server.dump().await;
    let both = form.clone().with("url", "http://example.com/two");
    let answer = both.send(&bob).await;
    let back =
        refused_page(&answer, StatusCode::UNPROCESSABLE_ENTITY, "either a URL or text").form("/editnews/2");
    assert_eq!(back.value("url"), Some("http://example.com/two"));
    let taken = form.clone().with("text", "").with("url", "http://example.com/one");
    refused_page(&taken.send(&bob).await, StatusCode::CONFLICT, "submitted recently").form("/editnews/2");
    error_message(&form.send_to(&bob, "/editnews/1").await, StatusCode::BAD_REQUEST);
    let of_alice = form.clone().with("news_id", "1");
    refused_page(&of_alice.send_to(&bob, "/editnews/1").await, StatusCode::FORBIDDEN, "Only the author");
    server.advance(15 * 60 + 1);
    let late = changed.send(&bob).await;
    let told = "You can no longer change this. The limit is 15 minutes after posting.";
    refused_page(&late, StatusCode::FORBIDDEN, told);
    error_message(&bob.get("/editnews/2").await, StatusCode::FORBIDDEN);
    let mut after = server.dump().await;
    // Time alone earns karma and changes ranks.
    after.retain(|key, _| before.contains_key(key));
    assert_eq!(crate::consistency::hash(&after, "news:2")["title"], "Another title");
    error_message(&alice.get("/editnews/2").await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_deletion_asks_for_confirmation_and_redirects_to_the_front_page() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let form = page(&bob, "/delnews/2").await.form("/delnews/2");
    assert!(page(&bob, "/delnews/2").await.links_to("/news/2"));
    assert_eq!(bob.listed("latest").await, [2, 1]);
    error_message(&form.send_to(&bob, "/delnews/1").await, StatusCode::FORBIDDEN);
    assert_eq!(redirects_to(&form.send(&bob).await), "/");
    assert_eq!(page(&alice, "/news/2").await.heading(), "[deleted story]");
    let again = form.clone().without("request").send(&bob).await;
    assert_eq!(error_message(&again, StatusCode::FORBIDDEN), "This story has been deleted.");
    error_message(&form.send_to(&alice, "/delnews/999").await, StatusCode::FORBIDDEN);
    assert_eq!(server.field("news:1", "del").await, None);
}

#[tokio::test]
async fn votes_lead_back_to_where_the_button_was() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let list = page(&alice, "/latest/0").await;
    // The fields of the session stand once for all stories, and once for the way out.
    assert_eq!(list.find("input", &[("name", "apisecret")]).len(), 2);
    // Only forms of pages may name the story in the address.
    let refusal = alice.api_post("/api/votenews?news_id=2", &[("vote_type", "up")]).await;
    assert_eq!(refusal["error"], "The field news_id is wrong: it is missing.");
    let vote = list.form("/votenews").pressing("up");
    assert_eq!(redirects_to(&vote.send(&alice).await), "/latest/0#news-2");
    list.one("li", &[("id", "news-2")]);
    assert_eq!(alice.news(2).await["up"], 2);
    let again = vote.without("request").send(&alice).await;
    assert_eq!(error_message(&again, StatusCode::CONFLICT), "You have already voted on this.");
    server.set_karma(&bob, 30).await;
    let down = page(&bob, "/").await.form("/votenews").pressing("down");
    server.set_karma(&bob, 29).await;
    assert!(error_message(&down.send(&bob).await, StatusCode::FORBIDDEN).contains("need 30 karma"));

    let vote = page(&alice, "/news/1?at=1").await;
    let vote = vote.forms().into_iter().find(|form| form.value("comment_id") == Some("1-1")).unwrap();
    let vote = vote.pressing("down");
    assert_eq!(redirects_to(&vote.send(&alice).await), "/news/1?at=1#comment-1");
    assert_eq!(alice.thread(1).await.iter().find(|line| line["id"] == 1).unwrap()["down"], 1);
    error_message(&vote.without("request").send(&alice).await, StatusCode::CONFLICT);
}

#[tokio::test]
async fn comments_and_replies_lead_to_where_they_stand() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    // Each is sent as if the form was opened anew.
    let form = page(&alice, "/news/2").await.form("/postcomment").without("request");
    let comment = form.clone().with("comment", "One\r\ntwo & <three>");
    assert_eq!(redirects_to(&comment.send(&alice).await), "/news/2?posted=1#comment-1");
    let reply = page(&bob, "/reply/2/1").await.form("/postcomment").with("comment", "Four");
    assert_eq!(redirects_to(&reply.send(&bob).await), "/news/2?posted=2#comment-2");
    let thread = page(&server.visitor(), "/news/2").await;
    assert!(thread.one("li", &[("id", "comment-1")]).text().contains("two & <three>"));
    assert_eq!(thread.one("li", &[("id", "comment-2")]).attribute("class"), Some("depth-1"));

    let before = server.dump().await;
    let long = "x".repeat(4_097);
    for (path, text) in [("/news/2", ""), ("/news/2", &long), ("/reply/2/1", " \n"), ("/reply/2/1", &long)] {
        let answer = page(&bob, path).await.form("/postcomment").with("comment", text).send(&bob).await;
        let page = refused_page(&answer, StatusCode::UNPROCESSABLE_ENTITY, "comment");
        let back = page.form("/postcomment");
        // A browser sends line ends as it likes; the text is what was written.
        assert_eq!(back.value("comment").map(str::trim), Some(text.trim()));
        assert_eq!(back.value("parent_id"), Some(if path == "/news/2" { "-1" } else { "1" }));
    }
    let deleted = form.clone().with("news_id", "3").with("comment", "Too late");
    refused_page(&deleted.send(&alice).await, StatusCode::FORBIDDEN, "This story has been deleted.");
    let absent = form.clone().with("news_id", "999").with("comment", "Nowhere");
    error_message(&absent.send(&alice).await, StatusCode::NOT_FOUND);
    let orphan = form.with("parent_id", "999").with("comment", "Nothing above");
    error_message(&orphan.send(&alice).await, StatusCode::FORBIDDEN);
    assert_eq!(server.dump().await, before);
}

#[tokio::test]
async fn a_preview_posts_nothing_and_a_refused_reply_leaves_the_buttons_of_the_comment_above_in_order() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    // Opening the pages reads nothing more.
    ok(bob.api_post("/api/readinbox", &[("id", "all")]).await);
    let before = server.dump().await;
    for (path, label) in [("/news/1", "Your comment"), ("/reply/1/1", "Your reply"), ("/editcomment/1/1", "")]
    {
        let opened = page(&bob, path).await;
        opened.one("div", &[("data-preview-place", ""), ("hidden", "")]);
        // The form that deletes a comment has no such button.
        let form = opened.forms().into_iter().find(|form| form.has_button("yes")).unwrap();
        let text = "See <this> https://example.com/";
        let typed = form.with("comment", text).pressing("yes");
        let shown = shown(&typed.send(&bob).await);
        let place = shown.one("div", &[("data-preview-place", "")]);
        assert_eq!(place.attribute("hidden"), None);
        assert!(place.text().contains("<this>"), "{}", place.text());
        assert!(shown.links_to("https://example.com/"));
        assert!(shown.text().contains(label));
        let forms = shown.forms();
        assert!(forms.iter().any(|form| form.value("comment") == Some(text)), "{forms:?}");

        let long = typed.with("comment", &"x".repeat(4_097));
        refused_page(&long.send(&bob).await, StatusCode::UNPROCESSABLE_ENTITY, "too long");
    }
    assert_eq!(server.dump().await, before);
    // The addresses that a refused page leads to must be there for a browser.
    let answer =
        page(&alice, "/reply/1/1").await.form("/postcomment").with("comment", " ").send(&alice).await;
    let back = refused_page(&answer, StatusCode::UNPROCESSABLE_ENTITY, "comment");
    let voted = back.form("/votecomment").pressing("up").send(&alice).await;
    assert_eq!(redirects_to(&voted), "/reply/1/1#1-1");
}

#[tokio::test]
async fn a_comment_is_changed_and_deleted_on_its_page() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let forms = async |client: &Client, path: &str| {
        let forms = page(client, path).await.forms();
        forms.into_iter().filter(|form| form.action == "/postcomment").collect::<Vec<Form>>()
    };
    let [change, delete] = <[Form; 2]>::try_from(forms(&bob, "/editcomment/1/1").await).unwrap();
    assert_eq!(change.value("comment"), Some("A first comment"));
    let changed = change.clone().with("comment", "Changed");
    assert_eq!(redirects_to(&changed.send(&bob).await), "/news/1?at=1#comment-1");
    assert!(page(&alice, "/news/1?at=1").await.content().contains("Changed"));
    let long = change.clone().with("comment", &"x".repeat(4_097));
    let back = refused_page(&long.send(&bob).await, StatusCode::UNPROCESSABLE_ENTITY, "comment");
    assert!(back.forms().iter().any(|form| form.value("comment") == long.value("comment")));

    // An administrator moderates others' comments, and neither changes nor deletes them here.
    error_message(&alice.get("/editcomment/1/1").await, StatusCode::FORBIDDEN);
    error_message(&bob.get("/editcomment/1/2").await, StatusCode::FORBIDDEN);
    error_message(&delete.clone().with("comment_id", "2").send(&bob).await, StatusCode::FORBIDDEN);
    assert_eq!(redirects_to(&delete.send(&bob).await), "/news/1#comment-1");
    assert!(page(&bob, "/news/1?at=1").await.content().contains("[deleted comment]"));
    assert_eq!(
        error_message(&change.send(&bob).await, StatusCode::FORBIDDEN),
        "This comment has been deleted."
    );
    crate::consistency::check_site(&server).await;
}

#[in_memory]
async fn a_changed_profile_is_shown_and_a_new_password_ends_all_sessions_but_this_browsers(server: Server) {
    let alice = server.register("alice").await;
    let form = page(&alice, "/user/alice").await.form("/profile");
    let changed = form.with("about", "About\nme").with("email", "alice@example.org");
    let changed = changed.with("current_password", PASSWORD);
    let answer = changed.send(&alice).await;
    let told = redirects_saying(&answer, "/user/alice", "profile_saved");
    assert!(!answer.headers.contains_key(SET_COOKIE));
    let profile = page(&alice, told).await;
    assert!(profile.one("p", &[("role", "status")]).text().contains("saved"));
    assert_eq!(profile.form("/profile").value("about"), Some("About\nme"));
    assert!(page(&server.visitor(), told).await.find("p", &[("role", "status")]).is_empty());
    let form = page(&alice, "/user/alice").await.form("/profile").with("password", NEW_PASSWORD);
    let form = form.with("current_password", PASSWORD);
    let answer = form.send(&alice).await;
    redirects_saying(&answer, "/user/alice", "profile_saved");
    let here = given_session(&server, &answer);
    assert!(page(&here, "/").await.text().contains("Log out"));
    assert!(page(&alice, "/").await.text().contains("Sign up"));
    server.visitor().log_in("alice", NEW_PASSWORD).await;
}

#[tokio::test]
async fn without_the_secret_of_the_session_nothing_is_written_and_ranks_are_recomputed_by_the_administrator()
{
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let before = server.dump().await;
    let bobs = bob.apisecret.as_deref().unwrap();
    let auth = alice.auth.as_deref().unwrap();
    let half = &alice.apisecret.as_deref().unwrap()[..20];
    for form in addresses::forms().filter(|form| form.signed) {
        let (path, fields) = (form.path, form.fields.iter().map(|(name, value, _)| (*name, *value)));
        let fields: Vec<_> = fields.collect();
        for secret in [None, Some(""), Some(bobs), Some(auth), Some(half), Some("\0")] {
            let answer = alice.with_secrets(Some(auth), secret).post(path, &fields).await;
            assert!(error_message(&answer, StatusCode::FORBIDDEN).contains("session"), "{path} {secret:?}");
        }
        let nobody = alice.with_secrets(None, alice.apisecret.as_deref());
        assert!(redirects_to(&nobody.post(path, &fields).await).starts_with("/login?next=%2F"), "{path}");
        let gone = alice.with_secrets(Some(&"0".repeat(40)), alice.apisecret.as_deref());
        assert!(redirects_to(&gone.post(path, &fields).await).starts_with("/login?next=%2F"), "{path}");
    }
    assert_eq!(server.dump().await, before);
    let form = page(&alice, "/admin?tab=server").await.form("/admin/recompute");
    server.set_field("news:1", "rank", "4711").await;
    let secret = bob.apisecret.clone().unwrap();
    error_message(&form.clone().with("apisecret", &secret).send(&bob).await, StatusCode::FORBIDDEN);
    assert_eq!(server.field("news:1", "rank").await.as_deref(), Some("4711"));
    let done = redirects_to(&form.send(&alice).await).to_owned();
    assert_ne!(server.field("news:1", "rank").await.as_deref(), Some("4711"));
    let shown = page(&alice, &done).await;
    assert!(shown.find("p", &[("role", "status")])[0].text().contains("Recomputed"));
}

/// A site with a mail relay, and an account `alice` with an address.
pub async fn site_with_mail() -> (Server, SmtpServer, Client) {
    site_with_mail_on(Engine::Memory).await
}

/// The same on an engine.
pub async fn site_with_mail_on(engine: Engine) -> (Server, SmtpServer, Client) {
    let mut relay = SmtpServer::start().await;
    let server = Server::start(engine, &[("mail.relay", &relay.relay())]).await;
    let alice = server.register("alice").await;
    ok(alice.update_profile("", "alice@example.org", "").await);
    // It tells of the new address.
    assert_eq!(relay.next_message().await.to, ["alice@example.org"]);
    (server, relay, alice)
}

/// Asks for a mail with the form.
async fn ask(server: &Server, username: &str, email: &str) -> HttpResponse {
    let visitor = server.visitor();
    let form = page(&visitor, "/reset-password").await.form("/reset-password");
    form.with("username", username).with("email", email).send(&visitor).await
}

/// The token that alice is sent.
pub async fn ask_for_link(server: &Server, relay: &mut SmtpServer) -> String {
    shown(&ask(server, "alice", "alice@example.org").await);
    let text = relay.next_message().await.text();
    let (_, rest) = text.split_once("/reset-password/").expect("a link");
    rest.lines().next().unwrap().to_owned()
}

#[tokio::test]
async fn a_refused_new_password_does_not_use_the_link_up_and_a_good_one_does() {
    let (server, mut relay, _) = site_with_mail().await;
    let token = ask_for_link(&server, &mut relay).await;
    let link = format!("/reset-password/{token}");
    let visitor = server.visitor();
    // The pages of a link neither repeat it nor are cached.
    let answer = visitor.get(&link).await;
    assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert!(!answer.text().contains(&token));
    let before = server.dump().await;
    for refused in ["short", "", &"x".repeat(1_025)] {
        let answer =
            page(&visitor, &link).await.form("").with("password", refused).send_to(&visitor, &link).await;
        let back = refused_page(&answer, StatusCode::UNPROCESSABLE_ENTITY, "password").form("");
        assert_eq!(back.value("password"), Some(""));
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    }
    let missing = page(&visitor, &link).await.form("").without("password");
    refused_page(&missing.send_to(&visitor, &link).await, StatusCode::BAD_REQUEST, "It is missing.");
    assert_eq!(server.dump().await, before);

    let form = page(&visitor, &link).await.form("").with("password", NEW_PASSWORD);
    let done = form.send_to(&visitor, &link).await;
    assert!(shown(&done).links_to("/login"));
    assert!(!done.headers.contains_key(SET_COOKIE));
    server.visitor().log_in("alice", NEW_PASSWORD).await;
    let message = "no longer valid";
    assert!(error_message(&form.send_to(&visitor, &link).await, StatusCode::NOT_FOUND).contains(message));
    assert!(error_message(&visitor.get(&link).await, StatusCode::NOT_FOUND).contains(message));
    server.visitor().log_in("alice", NEW_PASSWORD).await;
}
