//! The size of a page: it is one document, one style sheet and one script, and all of it is
//! small as the server sends it.

use std::collections::BTreeSet;

use reqwest::StatusCode;

use crate::bench_dataset::{Random, words};
use crate::client::{Client, ok};
use crate::community::{Community, PAGES};
use crate::html::Page;
use crate::server::{Engine, Server, in_memory};

/// The most bytes of a page with its style sheet, script and images, compressed.
const BUDGET: usize = 60_000;

const STORIES: u64 = 30;
const COMMENTS: u64 = 50;

/// The bytes of an answer as it is sent to a browser.
async fn sent(client: &Client, path: &str) -> usize {
    let answer = client.clone().with_header("accept-encoding", "gzip").get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}");
    answer.body.len()
}

/// The files that a browser loads for a page, beside the page itself.
fn parts(page: &Page) -> BTreeSet<String> {
    let address = |element: &crate::html::Element, name: &str| element.attribute(name).unwrap().to_owned();
    let sheets = page.find("link", &[("rel", "stylesheet")]);
    let scripts: Vec<_> = page.all("script").collect();
    assert_eq!((sheets.len(), scripts.len()), (1, 1), "one style sheet and one script");
    let rels = ["icon", "alternate icon", "apple-touch-icon", "manifest"];
    let icons = page.all("link").filter(|link| link.attribute("rel").is_some_and(|rel| rels.contains(&rel)));
    let linked = sheets.into_iter().chain(icons).map(|link| address(link, "href"));
    let sources = scripts.into_iter().chain(page.all("img")).map(|element| address(element, "src"));
    linked.chain(sources).collect()
}

/// Checks a page against the budget, and returns what it weighs.
async fn check_weight(client: &Client, path: &str) -> usize {
    let answer = client.get(path).await;
    let mut bytes = sent(client, path).await;
    for part in parts(&Page::of(&answer)) {
        bytes += sent(client, &part).await;
    }
    assert!(bytes < BUDGET, "{path}: {bytes} bytes");
    bytes
}

#[tokio::test]
async fn every_page_is_one_document_one_style_sheet_and_one_script() {
    let community = Community::new(Engine::Memory, &[]).await;
    for (path, _) in PAGES.iter().copied() {
        check_weight(&community.alice, path).await;
    }
}

#[in_memory]
async fn a_full_front_page_and_a_thread_stay_within_the_budget(server: Server) {
    let mut random = Random::of("page budget", 1);
    let members = server.members(10).await;
    for member in &members {
        server.set_karma(member, 1_000).await;
    }
    for story in 0..STORIES {
        let author = &members[usize::try_from(story).unwrap() % members.len()];
        let url =
            format!("https://{}.example.com/{story}/{}", words::noun(&mut random), words::noun(&mut random));
        let (title, topics) = (words::title(&mut random), words::noun(&mut random).to_lowercase());
        ok(author
            .call(&format!("/api/submit?news_id=-1&title={title}&url={url}&text=&topics={topics}"))
            .await);
    }
    for comment in 0..COMMENTS {
        let author = &members[usize::try_from(comment * 7).unwrap() % members.len()];
        let text = words::body(&mut random, 100 + comment * 13 % 600);
        match comment % 3 {
            0 => author.comment(1, &text).await,
            _ => author.reply(1, comment, &text).await,
        };
    }
    for viewer in [&server.visitor(), &members[3]] {
        let front = server.visitor().get("/").await;
        assert_eq!(Page::of(&front).all("h2").count() as u64, STORIES);
        let empty = sent(viewer, "/about").await;
        for page in ["/", "/news/1"] {
            check_weight(viewer, page).await;
            assert!(sent(viewer, page).await > empty, "{page} has content");
        }
    }
}
