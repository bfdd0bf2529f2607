//! How the site presents itself: what administrators change at `/admin/site` shows at once to
//! everybody, costs no round of its own, and is checked.

use crate::client::{Client, HttpResponse, PASSWORD, ok, refused, refused_saying};
use crate::html::{Form, Page};
use crate::pages::{error_message, page, redirects_saying, redirects_to, shown};
use crate::server::{Engine, Server, each_engine, in_memory};
use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

/// The form as it is on the page.
async fn form(admin: &Client) -> Form {
    page(admin, "/admin/site").await.form("/admin/site")
}

/// Saves the form, and checks that the next page confirms it.
async fn save(admin: &Client, form: Form) {
    let next = redirects_to(&form.send(admin).await).to_owned();
    let confirmed = page(admin, &next).await;
    assert!(confirmed.content().contains("Your changes have been saved."), "{}", confirmed.content());
}

/// The name of the site in the header of a page.
fn brand(page: &Page) -> &str {
    // The front page does not link to itself.
    ["a", "span"].into_iter().flat_map(|name| page.find(name, &[("class", "brand")])).next().unwrap().text()
}

/// The address of the style sheet of a page.
fn style(page: &Page) -> String {
    page.one("link", &[("rel", "stylesheet")]).attribute("href").unwrap().to_owned()
}

/// A whole PNG of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\x0aIDATx\x9cc\0\x01\0\0\x05\0\x01\x0d\x0a-\xb4\0\0\0\0IEND\xaeB`\x82";

/// Sends a file to the form for the logo.
async fn send_logo(client: &Client, secret: &str, file: &[u8]) -> HttpResponse {
    let mut body = Vec::new();
    body.extend(
        format!("--x\r\nContent-Disposition: form-data; name=\"apisecret\"\r\n\r\n{secret}\r\n").bytes(),
    );
    body.extend(b"--x\r\nContent-Disposition: form-data; name=\"logo\"; filename=\"logo.png\"\r\n");
    body.extend(b"Content-Type: image/png\r\n\r\n");
    body.extend(file);
    body.extend(b"\r\n--x--\r\n");
    client.post_bytes("/admin/site/logo", "multipart/form-data; boundary=x", body).await
}

#[in_memory]
async fn a_new_name_shows_at_once_to_everybody_and_everywhere(server: Server) {
    let alice = server.administrator("alice").await;
    let (bob, visitor) = (server.member("bob").await, server.visitor());
    alice.submit_text("A story", "text").await;
    let pages = ["/", "/latest/0", "/about", "/login", "/news/1", "/@alice", "/topics", "/welcome"];
    for path in pages {
        assert_eq!(brand(&page(&visitor, path).await), "Tidings", "{path}");
        assert_eq!(brand(&page(&bob, path).await), "Tidings", "{path}");
    }
    let changed = form(&alice).await.with("name", "The <Gazette>").with("description", "News of the valley");
    save(&alice, changed).await;
    for path in pages {
        for client in [&visitor, &bob, &alice] {
            let page = page(client, path).await;
            assert_eq!(brand(&page), "The <Gazette>", "{path}");
            assert!(page.one("title", &[]).text().ends_with("The <Gazette>"), "{path}");
        }
    }
    for path in ["/settings", "/submit", "/home"] {
        assert_eq!(brand(&page(&bob, path).await), "The <Gazette>", "{path}");
    }
    for feed in ["/rss", "/atom", "/best/atom", "/@alice/feed"] {
        assert!(visitor.text(feed).await.contains("The &lt;Gazette&gt;"), "{feed}");
    }
    assert!(visitor.text("/rss").await.contains("News of the valley"));
    for client in [&visitor, &bob] {
        let missing = client.get("/nothing").await;
        error_message(&missing, StatusCode::NOT_FOUND);
        assert_eq!(brand(&Page::of(&missing)), "The <Gazette>");
    }
    assert_eq!(form(&alice).await.value("name"), Some("The <Gazette>"));
    // Empty fields come from the configuration again.
    save(&alice, form(&alice).await.with("name", " ").with("description", "")).await;
    assert_eq!(brand(&page(&visitor, "/").await), "Tidings");
    assert!(server.hash("site").await.is_empty());
}

#[tokio::test]
async fn a_change_on_one_server_shows_on_the_other() {
    let server = Server::start(Engine::Redis, &[]).await;
    let alice = server.administrator("alice").await;
    let other = Server::beside(&server.redis.as_ref().unwrap().url(), &server).await;
    let elsewhere = alice.at(other.address);
    for name in ["One", "Two"] {
        save(&alice, form(&alice).await.with("name", name)).await;
        // Pages without a session may be as old as a second.
        server.advance(1);
        for path in ["/about", "/", "/settings"] {
            assert_eq!(brand(&page(&elsewhere, path).await), name, "{path}");
        }
        assert_eq!(brand(&page(&other.visitor(), "/about").await), name);
    }
    // Also who may sign up, and the question.
    save(&alice, form(&alice).await.with("signup", "closed")).await;
    server.advance(1);
    for visitor in [server.visitor(), other.visitor()] {
        assert!(page(&visitor, "/register").await.content().contains("Sign-up is closed."));
        let fields = [("username", "bob"), ("password", PASSWORD)];
        refused_saying(visitor.api_post("/api/create_account", &fields).await, "closed");
    }
    let asking = form(&alice).await.with("signup", "open").with("signup_question", "Which sea?");
    let wrong = Page::of(&asking.clone().send(&alice).await);
    let told = wrong.one("p", &[("id", "error-signup_answers")]).text();
    assert_eq!(told, "Enter at least one right answer to the question.");
    save(&alice, asking.with("signup_answers", "North Sea")).await;
    server.advance(1);
    let visitor = other.visitor();
    assert!(page(&visitor, "/register").await.content().contains("Which sea?"));
    let answered = async |answer: &str| {
        visitor.call(&format!("/api/create_account?username=bob&password={PASSWORD}&answer={answer}")).await
    };
    refused(answered("Baltic").await);
    ok(answered("north sea").await);
    // What is as by default is not stored.
    assert_eq!(server.hash("site").await.get("signup"), None);
}

#[each_engine("rounds")]
async fn the_identity_is_read_in_the_first_round_of_a_page_and_then_cached(server: Server) {
    let alice = server.administrator("alice").await;
    alice.submit_text("A story", "text").await;
    save(&alice, form(&alice).await.with("name", "Gazette")).await;
    let cold = server.cold_rounds_of(&alice, "/latest/0").await;
    let again = server.rounds_of(&alice, "/latest/0").await;
    assert!((1..=3).contains(&cold), "{cold}");
    assert!(again < cold, "{again} {cold}");
    assert_eq!(brand(&page(&alice, "/latest/0").await), "Gazette");
}

#[in_memory]
async fn mistakes_are_told_beside_their_fields_and_nothing_is_saved(server: Server) {
    let alice = server.administrator("alice").await;
    let before = server.dump().await;
    let wrong = form(&alice)
        .await
        .with("name", &"x".repeat(41))
        .with("accent", "teal")
        .with("rules", "Be kind.\nSleep.")
        .with("link1_label", "Privacy")
        .with("link2_label", "Evil")
        .with("link2_address", "javascript:alert(1)");
    let answer = wrong.send(&alice).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    let page = Page::of(&answer);
    for (field, message) in [
        ("name", "Your site name is too long (40 characters at most)."),
        ("accent", "Enter a colour as # and six hexadecimal digits, such as #0b6e6a."),
        ("link1_address", "A link needs both a label and an address."),
        ("link2_address", "Enter a full address"),
    ] {
        let input = page.one("input", &[("id", field), ("aria-invalid", "true")]);
        let described = input.attribute("aria-describedby").unwrap();
        assert!(described.starts_with(&format!("error-{field}")), "{described}");
        assert!(page.one("p", &[("id", &format!("error-{field}"))]).text().starts_with(message), "{field}");
    }
    assert_eq!(page.form("/admin/site").value("rules"), Some("Be kind.\nSleep."));
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn only_administrators_see_and_change_it(server: Server) {
    let alice = server.administrator("alice").await;
    let (bob, visitor) = (server.member("bob").await, server.visitor());
    let before = server.dump().await;
    error_message(&bob.get("/admin/site").await, StatusCode::FORBIDDEN);
    error_message(&bob.post("/admin/site", &[("name", "Bob's")]).await, StatusCode::FORBIDDEN);
    error_message(&bob.post("/admin/site/removelogo", &[]).await, StatusCode::FORBIDDEN);
    let secret = bob.apisecret.clone().unwrap();
    error_message(&send_logo(&bob, &secret, PNG).await, StatusCode::FORBIDDEN);
    assert!(redirects_to(&visitor.get("/admin/site").await).starts_with("/login"));
    assert!(redirects_to(&send_logo(&visitor, "", PNG).await).starts_with("/login"));
    // A form without the secret of the administrator's session, and a body that is no form.
    error_message(&send_logo(&alice, "wrong", PNG).await, StatusCode::FORBIDDEN);
    let not_a_form = alice.post_bytes("/admin/site/logo", "multipart/form-data; boundary=x", b"--y".to_vec());
    error_message(&not_a_form.await, StatusCode::BAD_REQUEST);
    error_message(&alice.post("/admin/site/logo", &[]).await, StatusCode::BAD_REQUEST);
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn an_accent_colour_is_part_of_the_one_style_sheet(server: Server) {
    let (alice, visitor) = (server.administrator("alice").await, server.visitor());
    let first = style(&page(&visitor, "/").await);
    save(&alice, form(&alice).await.with("accent", "#FFEE00")).await;
    let second = style(&page(&visitor, "/").await);
    assert_ne!(first, second);
    let sheet = visitor.get(&second).await;
    assert_eq!(sheet.headers[CONTENT_TYPE], "text/css; charset=utf-8");
    assert!(sheet.headers[CACHE_CONTROL].to_str().unwrap().contains("immutable"));
    // The colour is too light for text on white: the style sheet has a darker shade of it.
    let sheet = sheet.text();
    let base = visitor.text(&first).await;
    let added = sheet.strip_prefix(&base).expect("the style sheet with more at its end");
    let is_readable = added.contains("--accent:#") && !added.contains("--accent:#ffee00;--on-accent:#ffffff");
    assert!(is_readable, "{added}");
    assert!(added.contains("prefers-color-scheme: dark"), "{added}");
    for unknown in ["/assets/app-000000000000.css", "/assets/app-.css", "/assets/logo-000000000000.png"] {
        error_message(&visitor.get(unknown).await, StatusCode::NOT_FOUND);
    }
    save(&alice, form(&alice).await.with("accent", "")).await;
    assert_eq!(style(&page(&visitor, "/").await), first);
}

#[in_memory]
async fn a_logo_is_checked_by_its_bytes_served_and_removed(server: Server) {
    let (alice, visitor) = (server.administrator("alice").await, server.visitor());
    let secret = alice.apisecret.clone().unwrap();
    assert!(page(&visitor, "/").await.find("img", &[]).is_empty());
    redirects_saying(&send_logo(&alice, &secret, PNG).await, "/admin/site", "site_saved");
    let front = page(&visitor, "/").await;
    let logo = front.one("img", &[("alt", "")]);
    assert_eq!((logo.attribute("width"), logo.attribute("height")), (Some("1"), Some("1")));
    let address = logo.attribute("src").unwrap();
    let file = visitor.get(address).await;
    assert_eq!((file.status, &*file.body), (StatusCode::OK, PNG));
    assert_eq!(file.headers[CONTENT_TYPE], "image/png");
    assert_eq!(file.headers[X_CONTENT_TYPE_OPTIONS], "nosniff");

    let before = server.dump().await;
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    for (bytes, message) in [
        (&svg[..], "SVG files are not accepted, because they can contain scripts."),
        (b"hello", "The file is not a PNG, JPEG, WebP or GIF picture."),
        (b"", "Choose a file."),
        (&[PNG, &[0; 40 * 1024]].concat(), "The file is too large (40 KB at most)."),
    ] {
        let answer = send_logo(&alice, &secret, bytes).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let told = Page::of(&answer).one("p", &[("id", "error-logo")]).text().to_owned();
        assert!(told.starts_with(message), "{told}");
    }
    let flood = send_logo(&alice, &secret, &[0; 100 * 1024]).await;
    assert_eq!(flood.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(server.dump().await, before);

    let remove = page(&alice, "/admin/site").await.form("/admin/site/removelogo");
    redirects_saying(&remove.send(&alice).await, "/admin/site", "site_saved");
    assert!(page(&visitor, "/").await.find("img", &[]).is_empty());
    server.advance(1);
    error_message(&visitor.get(address).await, StatusCode::NOT_FOUND);
    assert!(server.hash("site").await.is_empty() && server.string("site.logo").await.is_none());
}

#[in_memory]
async fn about_text_rules_and_links_are_shown_and_escaped(server: Server) {
    let (alice, visitor) = (server.administrator("alice").await, server.visitor());
    let changed = form(&alice)
        .await
        .with("about", "We are <b>birds</b>.\n\nAll of us.")
        .with("rules", "Sing & eat.")
        .with("link1_label", "Privacy <3")
        .with("link1_address", "https://example.com/privacy")
        .with("link2_label", "The best")
        .with("link2_address", "/best");
    save(&alice, changed).await;
    let about = shown(&visitor.get("/about").await);
    assert!(about.content().contains("We are <b>birds</b>."), "{}", about.content());
    assert!(about.content().contains("Sing & eat."));
    about.one("h2", &[("id", "rules")]);
    let link = about.one("a", &[("href", "https://example.com/privacy")]);
    assert_eq!((link.text(), link.attribute("rel")), ("Privacy <3", Some("nofollow ugc noopener")));
    assert!(about.one("footer", &[]).text().contains("The best"));
    // The second link moves up when the first is removed.
    let fewer = form(&alice).await.with("link1_label", "").with("link1_address", "");
    save(&alice, fewer).await;
    assert_eq!(form(&alice).await.value("link1_address"), Some("/best"));
}

#[in_memory]
async fn what_another_program_has_stored_is_checked_again(server: Server) {
    let alice = server.member("alice").await;
    for (field, value) in [
        ("name", "two\nlines"),
        ("accent", "red;}body{display:none"),
        ("links", r#"[{"label":"x","address":"javascript:alert(1)"}]"#),
        ("logo", "../../etc/passwd 1x1"),
    ] {
        server.set_field("site", field, value).await;
    }
    for client in [&alice, &server.visitor()] {
        let front = page(client, "/").await;
        assert_eq!(brand(&front), "Tidings");
        assert!(front.find("img", &[]).is_empty());
        assert!(!front.one("footer", &[]).text().contains('x'));
    }
}

#[in_memory(&[("site.name", "Given"), ("accounts.signup", "open")])]
async fn a_setting_of_the_configuration_wins_and_cannot_be_changed(server: Server) {
    let alice = server.administrator("alice").await;
    server.set_field("site", "name", "Stored").await;
    let shown = page(&alice, "/admin/site").await;
    assert_eq!((brand(&shown), shown.form("/admin/site").value("name")), ("Given", None));
    assert_eq!(shown.form("/admin/site").value("signup"), None);
    for part in ["Set by variable TIDINGS_SITE__NAME as site.name", "Stored, is not used"] {
        assert!(shown.content().contains(part), "{part} in {}", shown.content());
    }
    // A form of another version of the page changes nothing of it.
    let form = form(&alice).await.with("contact", "us@example.org");
    let sent: Vec<_> = form.fields().chain([("name", "Other"), ("signup", "closed")]).collect();
    redirects_saying(&alice.post("/admin/site", &sent).await, "/admin/site", "site_saved");
    let stored = server.hash("site").await;
    assert_eq!((stored.get("name").map(String::as_str), stored.get("signup")), (Some("Stored"), None));
    assert!(page(&server.visitor(), "/about").await.links_to("mailto:us@example.org"));
}

#[in_memory]
async fn a_colour_is_shown_with_its_contrast_and_the_usual_one_is_not_stored(server: Server) {
    let alice = server.administrator("alice").await;
    let contrasts = async || {
        let shown = page(&alice, "/admin/site").await;
        let found = shown.find("span", &[("data-contrast", "")]);
        found.iter().map(|one| one.text().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(form(&alice).await.value("accent"), Some("#0b6e6a"));
    let before = contrasts().await;
    save(&alice, form(&alice).await).await;
    assert!(server.hash("site").await.is_empty());
    save(&alice, form(&alice).await.with("accent", "#ffff00")).await;
    assert_eq!(form(&alice).await.value("accent"), Some("#ffff00"));
    assert_ne!(contrasts().await, before);
}
