//! `tidings check store` and the checksums of the store file: a byte that is flipped inside a text
//! is found, and a site in use has no false alarm.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::running::{Load, SETTINGS, check_store, demand_nothing_found, prepared};
use crate::client::{Client, ok};
use crate::program::Program;

/// The size of the pages of the store file.
const PAGE: usize = 4096;
/// The most checks until the site was served during three of them.
const CHECKS: usize = 100;
/// The text of the story repeats this, and fills a page of its own.
const MARKER: &str = "marked-for-damage ";

/// Changes one letter of the text, in each copy of its page.
fn change_a_letter(store: &Path) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(store).unwrap();
    let mut changed = 0;
    for (number, page) in std::fs::read(store).unwrap().chunks(PAGE).enumerate() {
        let Some(place) = page.windows(MARKER.len()).position(|window| window == MARKER.as_bytes()) else {
            continue;
        };
        file.write_all_at(b"n", u64::try_from(number * PAGE + place).unwrap()).unwrap();
        changed += 1;
    }
    assert!((1..10).contains(&changed), "{changed} pages");
}

/// A site with a story whose text is marked.
async fn marked(path: &Path) {
    let program = Program::start(&format!("redb:{}", path.display()));
    let alice = program.visitor().register("alice").await;
    ok(alice.submit("Marked", "", &MARKER.repeat(220)).await);
    program.stop();
}

/// Demands that a check finds the damage of the file and, if it is served, of the story.
#[track_caller]
fn demand_damage(output: &Output, of_story: bool) {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let differences = report["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1 + usize::from(of_story), "{report}");
    assert!(!of_story || differences[1]["key"] == "news:1", "{report}");
    let text = |field: &str| differences[0][field].as_str().unwrap();
    assert_eq!(text("key"), "(store file)");
    assert!(text("found").starts_with("a checksum does not match: "), "{report}");
    assert_eq!(text("expected"), "what was written to the file");
    let advice = "needs a person: restore a backup; see docs/troubleshooting.md, Checks";
    assert_eq!(text("repair"), advice);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_in_a_text_of_a_closed_file_is_found_and_no_repair_hides_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    marked(&path).await;
    demand_nothing_found(&check_store(&path, &["--json"]).await);
    change_a_letter(&path);
    for options in [&["--json"][..], &["--json", "--repair"], &["--json"]] {
        demand_damage(&check_store(&path, options).await, true);
    }
    let said = String::from_utf8(check_store(&path, &[]).await.stdout).unwrap();
    assert!(said.contains("(store file): every checksum in the file of the store matches"), "{said}");
    assert!(
        said.contains("2 differences, of which 0 will be mended with --repair, 2 need a person"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_byte_that_is_flipped_while_the_server_runs_is_found_through_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    marked(&path).await;
    let program = Program::start(&format!("redb:{}", path.display()));
    demand_nothing_found(&check_store(&path, &["--json"]).await);
    change_a_letter(&path);
    // The server has the page in memory.
    demand_damage(&check_store(&path, &["--json"]).await, false);
    program.stop();
}

/// Asserts that story 1 is refused, and everything else served.
async fn assert_the_story_is_refused(program: &Program, alice: &Client) {
    for (path, status) in [("/news/1", 503), ("/news/2", 200), ("/", 200), ("/latest", 200), ("/rss", 200)] {
        let page = alice.get(path).await;
        assert_eq!(page.status, status, "{path}");
        assert!(!page.text().contains("narked"), "{path} serves what has changed");
    }
    let vote = alice.post("/api/votenews", &[("news_id", "1"), ("vote_type", "up")]).await;
    assert_eq!(vote.status, 503);
    assert_eq!(program.visitor().get("/news/1").await.status, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_story_whose_text_has_a_changed_byte_is_refused_for_good_and_named_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let url = format!("redb:{}", path.display());
    let program = Program::start(&url);
    let alice = program.visitor().register("alice").await;
    // Shorter than a page, so that it shares one with others.
    ok(alice.submit("Marked", "", &MARKER.repeat(20)).await);
    ok(alice.submit("Beside it", "", "A text").await);
    program.stop();
    change_a_letter(&path);
    let mut alice = alice;
    for round in 0..3 {
        let program = Program::start(&url);
        alice = alice.at(program.address);
        assert_the_story_is_refused(&program, &alice).await;
        // Pages of the file that hold the story are written again, with good checksums.
        let text = format!("Text of round {round}");
        alice.comment(2, &text).await;
        assert_the_story_is_refused(&program, &alice).await;
        program.stop();
        let said = String::from_utf8(check_store(&path, &[]).await.stdout).unwrap();
        assert!(said.contains("news:1: each key holds a value of its type"), "{said}");
        assert!(!said.contains("news:2:"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_in_use_and_one_that_was_killed_have_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let people = prepared(&path).await;
    let mut program = Program::start_with(&format!("redb:{}", path.display()), SETTINGS);
    let load = Load::start(&program, people);
    // On a busy machine nothing may be done during a check that takes a moment.
    let mut served = 0;
    for _ in 0..CHECKS {
        let before = load.done();
        let output = check_store(&path, &["--json"]).await;
        demand_nothing_found(&output);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("not checked"), "{output:?}");
        served += u64::from(load.done() > before);
        if served == 3 {
            break;
        }
    }
    assert_eq!(served, 3, "the site was served during three checks");
    load.stop().await;
    program.kill();
    demand_nothing_found(&check_store(&path, &["--json"]).await);
}
