//! A page of the store file is damaged while the program is stopped.

use std::path::Path;

use super::{assert_has_all, assert_readers_see, post, titles, url_of, wait_for_health};
use crate::client::{Client, ok, refused_saying};
use crate::program::{Program, tidings};

/// The size of the pages of the store file.
const PAGE: usize = 4096;
/// The text of the story whose page is damaged repeats this, and fills a page of its own.
const MARKER: &str = "marked-for-damage ";

/// Inverts each bit of the pages that have the marker.
fn damage(store: &Path) {
    let mut bytes = std::fs::read(store).unwrap();
    let mut damaged = 0;
    for page in bytes.chunks_mut(PAGE) {
        if page.windows(MARKER.len()).any(|window| window == MARKER.as_bytes()) {
            page.iter_mut().for_each(|byte| *byte = !*byte);
            damaged += 1;
        }
    }
    assert!((1..10).contains(&damaged), "{damaged} pages");
    std::fs::write(store, bytes).unwrap();
}

/// Asserts that story 2 cannot be read or voted on, and that everything else works.
async fn assert_one_story_is_lost(program: &Program, member: &Client, posted: &mut Vec<String>) {
    for client in [&program.visitor(), member] {
        let page = client.get("/news/2").await;
        assert_eq!(page.status, 503, "{}", page.text());
        assert!(page.text().contains("cannot be read"), "{}", page.text());
        for path in ["/", "/news/1", "/news/3", "/user/alice", "/rss", "/api/getnews/top/0/10"] {
            let page = client.get(path).await;
            assert_eq!(page.status, 200, "{path}: {}", page.text());
        }
    }
    let vote = member.post("/api/votenews", &[("news_id", "2"), ("vote_type", "up")]).await;
    assert_eq!(vote.status, 503, "{}", vote.text());
    refused_saying(vote.json(), "cannot be read");
    let number = posted.len();
    post(member, posted, &format!("Story {number}")).await;
    assert_readers_see(program, posted.last().unwrap()).await;
    assert_has_all(&titles(program).await, posted);
    wait_for_health(program, 200, "ok").await;
    let line = program.wait_for_log("the store is damaged");
    assert!(line.contains("news:2") && line.contains("tidings check store"), "{line}");
    // It is not a mistake of the program.
    assert!(!program.log().contains("panic"), "{}", program.log());
}

/// Asserts that the check names the story, and nothing of the others.
fn assert_check_names_the_story(store: &str) {
    let ran = tidings(&["check", "store", "--store", store]);
    let said = ran.said();
    assert_eq!(ran.code, Some(1), "{said}");
    assert!(said.contains("news:2: each key holds a value of its type"), "{said}");
    assert!(!said.contains("news:1:") && !said.contains("news:3:"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_page() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_of(folder.path());
    let program = Program::start_with(&url, &[("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0")]);
    let alice = program.visitor().register("alice").await;
    let bob = program.visitor().register("bob").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "The first").await;
    ok(alice.submit("Damaged", "", &MARKER.repeat(220)).await);
    post(&alice, &mut posted, "The third").await;
    program.stop();
    damage(&folder.path().join("site.redb"));

    let mut program = Program::start(&url);
    assert_one_story_is_lost(&program, &bob.at(program.address), &mut posted).await;
    assert_check_names_the_story(&url);
    let backup = folder.path().join("a.backup");
    let ran = tidings(&["backup", backup.to_str().unwrap(), "--store", &url]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.said().contains("damaged") && !backup.exists(), "{ran:?}");
    // The damage does not keep the journal from being read.
    program.kill();
    let program = Program::start(&url);
    assert_one_story_is_lost(&program, &bob.at(program.address), &mut posted).await;
    program.stop();
    assert_check_names_the_story(&url);
}
