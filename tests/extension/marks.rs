//! Marks on result pages.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::extension::{Extension, server_with_scores};
use crate::result_pages::ONION;

/// The labels of all marks, each with the title that it is in front of.
async fn marks(browser: &Browser) -> Value {
    let script = "return [...document.querySelectorAll('.tidings-mark')].map((mark) => \
        [mark.getAttribute('aria-label'), mark.parentElement.textContent.replace(mark.textContent, '').trim()])";
    browser.run(script).await
}

fn expected() -> Value {
    json!([
        ["Good site", "A guide to tides"],
        ["Bad site", "Cheap tide tables"],
        ["Controversial site", "Tides explained, perhaps"],
    ])
}

async fn check_marks(browser: &Browser, what: &str, expected: &Value) {
    let wanted = format!("the marks of {what} are {expected}");
    browser.wait_until(&wanted, async || marks(browser).await == *expected).await;
}

#[tokio::test]
async fn results_of_all_engines_are_marked() {
    let server = server_with_scores(&[]).await;
    let extension = Extension::start_with(&server).await;
    let engines = [
        "https://www.google.com/search?q=tides".to_owned(),
        "https://www.google.co.uk/search?q=tides".to_owned(),
        "https://www.google.com/search?q=tides&gbv=1".to_owned(),
        "https://www.bing.com/search?q=tides".to_owned(),
        "https://duckduckgo.com/?q=tides".to_owned(),
        "https://html.duckduckgo.com/html/?q=tides".to_owned(),
        "https://lite.duckduckgo.com/lite/?q=tides".to_owned(),
        format!("https://{ONION}/?q=tides"),
        format!("https://{ONION}/html/?q=tides"),
        "https://search.brave.com/search?q=tides".to_owned(),
        "https://www.startpage.com/sp/search?query=tides".to_owned(),
        "https://www.ecosia.org/search?q=tides".to_owned(),
        "https://www.qwant.com/?q=tides".to_owned(),
        "https://www.mojeek.com/search?q=tides".to_owned(),
        "https://search.yahoo.com/search?p=tides".to_owned(),
    ];
    for engine in engines {
        extension.browser.go_to_url(&engine).await;
        check_marks(&extension.browser, &engine, &expected()).await;
    }
    // Pages of other sites are never marked.
    extension.browser.go_to_url("https://good.example/").await;
    assert_eq!(extension.browser.count(".tidings-mark").await, 0);
}

#[tokio::test]
async fn results_that_load_later_and_links_that_change_are_marked() {
    let server = server_with_scores(&[]).await;
    let extension = Extension::start_with(&server).await;
    let browser = &extension.browser;
    browser.go_to_url("https://www.google.com/search?q=tides").await;
    check_marks(browser, "the page", &expected()).await;

    browser.press("More results").await;
    let mut all = expected();
    let later: Vec<Value> = expected()
        .as_array()
        .unwrap()
        .iter()
        .map(|mark| json!([mark[0], format!("Later: {}", mark[1].as_str().unwrap())]))
        .collect();
    all.as_array_mut().unwrap().extend(later);
    check_marks(browser, "the longer page", &all).await;

    // The page rewrites a title without its mark, and changes the target of another link.
    browser.run("document.querySelector('h3').textContent = 'Rewritten'").await;
    browser.run("document.querySelector('#botstuff a[href*=good]').href = 'https://quiet.example/'").await;
    all[0][1] = json!("Rewritten");
    all.as_array_mut().unwrap().remove(3);
    check_marks(browser, "the changed page", &all).await;
}
