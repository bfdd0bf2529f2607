//! Writing with and without the script: replies in place, drafts, previews, sending with Ctrl-Enter,
//! and what happens when the connection or the session is lost.

use serde_json::{Value, json};

use crate::axe::{axe_source, check_page};
use crate::browser::{Browser, ESCAPE};
use crate::client::{Client, PASSWORD};
use crate::server::{Engine, Server};

const CONTROL_ENTER: &str = "\u{e009}\u{e007}";
const IN_PLACE: &str = ".form.in-place";
const TEXT: &str = ".form.in-place textarea";

/// A story with two comments of bob, and its thread in a browser of alice.
async fn thread() -> (Server, Client, Browser) {
    let server = Server::start(Engine::Memory, &[]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("The story", "its text").await;
    assert_eq!(news, 1);
    bob.comment(news, "the first comment").await;
    bob.comment(news, "the second comment").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/news/1").await;
    (server, alice, browser)
}

async fn reply_to(browser: &Browser, comment: u64) {
    browser.click(&format!("#comment-{comment} a[href='/reply/1/{comment}']")).await;
    browser.wait_for(&format!("#comment-{comment} {IN_PLACE}")).await;
    browser.wait_until("the text has the focus", async || focus(browser).await == "in-place-comment").await;
}

/// The id of the element with the focus.
async fn focus(browser: &Browser) -> String {
    browser.run("return document.activeElement.id").await.as_str().unwrap().to_owned()
}

async fn value(browser: &Browser, css: &str) -> String {
    browser.wait_for(css).await.prop("value").await.unwrap().unwrap()
}

/// The texts of all drafts in the browser.
async fn drafts(browser: &Browser) -> Vec<String> {
    let drafts = browser
        .run(
            "return Object.keys(localStorage).filter((key) => key.startsWith('draft:'))
                .map((key) => JSON.parse(localStorage[key]).text).sort()",
        )
        .await;
    serde_json::from_value(drafts).unwrap()
}

#[tokio::test]
async fn a_reply_is_written_below_the_comment() {
    let (_server, alice, browser) = thread().await;
    browser.mark_page().await;
    reply_to(&browser, 1).await;
    browser.type_text("Half a").await;
    // One at a time; what was typed stays.
    reply_to(&browser, 2).await;
    assert_eq!(browser.count(IN_PLACE).await, 1);
    assert_eq!(value(&browser, TEXT).await, "");
    browser.press_key(ESCAPE).await;
    browser.wait_until_gone(IN_PLACE).await;
    let href = browser.run("return document.activeElement.getAttribute('href')").await;
    assert_eq!(href, json!("/reply/1/2"), "the focus is where it was");
    reply_to(&browser, 1).await;
    assert_eq!(value(&browser, TEXT).await, "Half a");
    browser.press("Cancel").await;
    browser.wait_until_gone(IN_PLACE).await;
    assert!(browser.is_marked().await, "the page was not loaded again");

    reply_to(&browser, 1).await;
    browser.type_text(" thought").await;
    browser.type_text(CONTROL_ENTER).await;
    assert_eq!(browser.text("#comment-3.depth-1 .text").await, "Half a thought");
    browser.arrive("/news/1?posted=3#comment-3").await;
    browser.wait_until("the new comment has the focus", async || focus(&browser).await == "comment-3").await;
    assert_eq!(drafts(&browser).await, Vec::<String>::new());
    assert_eq!(alice.news(1).await["comments"], 3);
    assert_eq!(browser.console_messages().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_reply_survives_a_lost_connection() {
    let (_server, alice, browser) = thread().await;
    // By keyboard alone.
    browser.enter("#comment-2 a[href='/reply/1/2']").await;
    browser.wait_for(".in-place textarea:focus").await;
    browser.type_text("It must not be lost").await;
    browser.set_offline(true).await;
    browser.enter(".in-place button:not([name])").await;
    assert!(browser.text(".in-place [role=alert]").await.contains("can't be reached"));
    assert_eq!(value(&browser, TEXT).await, "It must not be lost");
    let described_by = browser.wait_for(TEXT).await.attr("aria-describedby").await.unwrap().unwrap();
    assert!(described_by.split(' ').any(|id| id == "error-in-place-comment"), "{described_by}");
    browser.click(".in-place [name=preview]").await;
    assert!(browser.text(".in-place [role=alert]").await.contains("can't be reached"));

    browser.press("Reply").await;
    browser.wait_for("[data-again]").await;
    browser.set_offline(false).await;
    browser.enter("[data-again]").await;
    assert_eq!(browser.text("#comment-3 .text").await, "It must not be lost");
    assert_eq!(alice.news(1).await["comments"], 3);
    assert_eq!(drafts(&browser).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_comment_is_changed_and_another_is_flagged_where_they_stand() {
    let (_server, alice, browser) = thread().await;
    alice.comment(1, "my own").await;
    browser.reload().await;
    browser.mark_page().await;
    browser.click("#comment-3 a[href='/editcomment/1/3']").await;
    browser.wait_for(&format!("#comment-3 {IN_PLACE}")).await;
    assert_eq!(value(&browser, TEXT).await, "my own");
    assert_eq!(browser.count("#comment-3 .text[hidden]").await, 1, "the form has the text");
    browser.press("Cancel").await;
    browser.wait_until_gone(IN_PLACE).await;
    assert_eq!(browser.text("#comment-3 .text").await, "my own");

    browser.click("#comment-1 a[href='/flag/comment/1-1']").await;
    browser
        .wait_until("a reason has the focus", async || browser.has_focus(".in-place [name=reason]").await)
        .await;
    browser.click(".in-place [value=offtopic]").await;
    check_page(&browser, &axe_source(), "a flag in place").await;
    browser.press("Flag this comment").await;
    browser.wait_for_text("#comment-1 .hint", "A moderator will look at it.").await;
    assert!(browser.is_marked().await, "the page was not loaded again");

    // Saved twice, it is shown each time, although the address is the same.
    for text in ["my second", "my third"] {
        browser.click("#comment-3 a[href='/editcomment/1/3']").await;
        let field = browser.wait_for(TEXT).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
        browser.press("Save").await;
        browser.wait_until_gone(IN_PLACE).await;
        browser.wait_for_text("#comment-3 .text", text).await;
        browser.arrive("/news/1?at=3#comment-3").await;
    }
    assert_eq!(drafts(&browser).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_reply_survives_a_lost_session() {
    let (server, alice, browser) = thread().await;
    reply_to(&browser, 1).await;
    browser.type_text("Still here").await;
    browser.cdp("Network.clearBrowserCookies", json!({})).await;
    browser.press("Reply").await;
    let told = browser.text(".in-place [role=alert]").await;
    assert_eq!(told, "You have been logged out. Log in in another tab, then send again.");
    assert_eq!(value(&browser, TEXT).await, "Still here");
    assert_eq!(drafts(&browser).await, ["Still here"]);

    // Somebody else on this browser does not see it.
    browser.log_in_as(&server.client_of(2).await).await;
    browser.go("/reply/1/1").await;
    assert_eq!(browser.field_value("Your reply").await, "");

    browser.log_in_as(&alice).await;
    browser.go("/reply/1/1").await;
    assert_eq!(browser.field_value("Your reply").await, "Still here");
    browser.wait_until("the text has the focus", async || focus(&browser).await == "comment").await;
    browser.press("Reply").await;
    assert_eq!(browser.text("#comment-3 .text").await, "Still here");
    browser.arrive("/news/1?posted=3#comment-3").await;
}

#[tokio::test]
async fn after_a_login_in_another_tab_the_reply_is_sent() {
    let (_server, alice, browser) = thread().await;
    reply_to(&browser, 1).await;
    browser.type_text("Sent later").await;
    browser.cdp("Network.clearBrowserCookies", json!({})).await;
    browser.press("Reply").await;
    browser.wait_for("[data-again]").await;
    browser.log_in_as(&alice).await;
    browser.press("Try again").await;
    assert_eq!(browser.text("#comment-3 .text").await, "Sent later");
}

#[tokio::test]
async fn drafts_survive_a_reload_and_an_error_and_end_when_the_text_has_arrived() {
    let (_server, _alice, browser) = thread().await;
    browser.fill("Your comment", "A draft").await;
    browser.reload().await;
    assert_eq!(browser.field_value("Your comment").await, "A draft");
    browser.press("Add comment").await;
    browser.wait_for("#comment-3").await;
    assert_eq!(browser.field_value("Your comment").await, "");
    browser.reload().await;
    assert_eq!(browser.field_value("Your comment").await, "");

    // The browser sends this form itself.
    browser.go("/submit").await;
    browser.fill("Title", "A title").await;
    browser.fill("Text", "A text").await;
    browser.reload().await;
    assert_eq!(browser.field_value("Title").await, "A title");
    browser.fill("URL", "javascript:alert(1)").await;
    browser.press("Submit").await;
    browser.wait_for("[aria-invalid=true]").await;
    browser.go("/submit").await;
    assert_eq!(browser.field_value("Title").await, "A title");
    assert_eq!(browser.field_value("URL").await, "javascript:alert(1)");
    browser.fill("URL", "").await;
    browser.press("Preview").await;
    browser.wait_for("section.preview").await;
    browser.go("/submit").await;
    assert_eq!(browser.field_value("Text").await, "A text");
    browser.press("Submit").await;
    browser.wait_for_text("h1", "A title").await;
    browser.go("/submit").await;
    assert_eq!(browser.field_value("Title").await, "");
    assert_eq!(drafts(&browser).await, Vec::<String>::new());

    // An edit starts from the text that is stored.
    browser.go("/editcomment/1/3").await;
    assert_eq!(browser.field_value("Your comment").await, "A draft");
    browser.fill("Your comment", "A draft, changed").await;
    browser.go("/editcomment/1/3").await;
    assert_eq!(browser.field_value("Your comment").await, "A draft, changed");
    browser.press("Save").await;
    assert_eq!(browser.text("#comment-3 .text").await, "A draft, changed");
    assert_eq!(drafts(&browser).await, Vec::<String>::new());
}

#[tokio::test]
async fn logging_out_and_leaving_take_the_drafts_along() {
    let (server, _alice, browser) = thread().await;
    let carol = server.register("carol").await;
    browser.log_in_as(&carol).await;
    let write = async || {
        browser.go("/news/1").await;
        browser.fill("Your comment", "A draft").await;
        browser.go("/moderators").await;
        browser.fill("Your message", "A secret").await;
        browser.go("/").await;
        assert_eq!(drafts(&browser).await, ["A draft", "A secret"]);
    };
    write().await;
    browser.log_out().await;
    browser.wait_until_logged_out().await;
    assert_eq!(drafts(&browser).await, Vec::<String>::new());

    browser.log_in_as(&carol.log_in("carol", PASSWORD).await).await;
    write().await;
    for (password, kept) in [("wrong horse", 2), (PASSWORD, 0)] {
        browser.go("/settings/deactivate").await;
        browser.fill("Your password", password).await;
        browser.press("Delete my account").await;
        browser
            .wait_for(if kept > 0 { "[aria-invalid=true]" } else { ".site-header a[href^='/login']" })
            .await;
        assert_eq!(drafts(&browser).await.len(), kept, "{password}");
    }
}

#[tokio::test]
async fn at_most_20_drafts_are_kept_for_at_most_30_days() {
    let (_server, _alice, browser) = thread().await;
    let fill = "for (let number = 0; number < 25; number++) {
            const time = Date.now() - number * 86_400_000;
            localStorage.setItem(`draft:1/reply/9/${number}`, JSON.stringify({ text: `${number}`, base: '', time }));
        }
        localStorage.setItem('draft:1/comment/1', JSON.stringify({ text: 'old', base: '', time: Date.now() - 31 * 86_400_000 }));
        localStorage.setItem('other', 'stays');";
    browser.run(fill).await;
    browser.reload().await;
    assert_eq!(browser.field_value("Your comment").await, "", "an old draft is not restored");
    let mut kept = drafts(&browser).await;
    kept.sort_by_key(|text| text.parse::<u32>().unwrap());
    assert_eq!(kept, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(browser.run("return localStorage.other").await, json!("stays"));
    browser.fill("Your comment", "new").await;
    browser.reload().await;
    let kept = drafts(&browser).await;
    assert!(kept.len() == 20 && kept.contains(&"new".to_owned()), "{kept:?}");
}

#[tokio::test]
async fn control_enter_sends_any_text() {
    let (_server, alice, browser) = thread().await;
    browser.go("/home").await;
    browser.fill("Your post", "From the keyboard").await;
    browser.wait_for("textarea").await.send_keys(CONTROL_ENTER).await.unwrap();
    browser.wait_for_text(".tweet .text", "From the keyboard").await;
    browser.go("/editcomment/1/1").await;
    browser.wait_for(".trouble").await;
    let comment = alice.comment(1, "to be changed").await;
    browser.go(&format!("/editcomment/1/{comment}")).await;
    let is_at_end = "return document.activeElement.selectionStart === 'to be changed'.length";
    browser
        .wait_until("the cursor is after the text", async || browser.run(is_at_end).await == json!(true))
        .await;
    browser.type_text("!").await;
    browser.type_text(CONTROL_ENTER).await;
    browser.wait_for_text(&format!("#comment-{comment} .text"), "to be changed!").await;
}

#[tokio::test]
async fn a_text_is_previewed() {
    let (_server, alice, browser) = thread().await;
    reply_to(&browser, 1).await;
    browser.type_text("See https://example.com/").await;
    browser.click(".in-place [name=preview]").await;
    browser.wait_for(".in-place .preview:not([hidden]) .text a[href='https://example.com/']").await;
    let text = "return document.querySelector('.preview:not([hidden])').closest('form').comment.value";
    assert_eq!(browser.run(text).await, json!("See https://example.com/"));
    assert_eq!(alice.news(1).await["comments"], 2);
    browser.press("Reply").await;
    browser.wait_for("#comment-3").await;
    assert_eq!(drafts(&browser).await, Vec::<String>::new());
}

#[tokio::test]
async fn writing_works_without_javascript() {
    let (_server, _alice, browser) = thread().await;
    browser.disable_javascript().await;
    browser.reload().await;
    browser.follow("reply").await;
    browser.wait_for_text("h1", "Reply").await;
    browser.fill("Your reply", "Without a script").await;
    browser.press("Preview").await;
    browser.wait_for_text(".preview .text", "Without a script").await;
    browser.press("Reply").await;
    browser.arrive("/news/1?posted=3#comment-3").await;
    assert_eq!(browser.text("#comment-3 .text").await, "Without a script");
    let long = "x".repeat(4_097);
    browser.go("/news/1").await;
    browser.run(&format!("document.querySelector('#comment').value = '{long}'")).await;
    browser.press("Add comment").await;
    browser.wait_for("#comment[aria-invalid=true]:focus").await;
    assert_eq!(browser.run("return document.querySelector('#comment').value").await, Value::from(long));
}
