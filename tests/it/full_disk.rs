//! A store whose disk is full, through the running program: what a reader sees, what a writer gets,
//! what the log says, and that nothing acknowledged is lost, not even if the program is killed
//! meanwhile.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Client, PASSWORD};
use crate::night::{BACK_WITHIN, assert_has_all, assert_nothing_is_lost, titles, url_of, wait_for_health};
use crate::program::Program;
use crate::skips::skip;

/// A file system of its own, which is unmounted when this is dropped.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None` where this user may not mount.
    pub fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m", "tidings-test"])
            .arg(folder.path())
            .output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(Self(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn filler(&self) -> PathBuf {
        self.0.path().join("filler")
    }

    /// Fills the disk to the last byte.
    pub fn fill(&self) {
        let mut file = File::options().append(true).create(true).open(self.filler()).unwrap();
        for size in [1 << 20, 4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    /// Gives the room back.
    pub fn free(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("--lazy").arg(self.0.path()).status().ok();
    }
}

/// Posts stories until one is refused. Returns the titles of the others, and the refusal.
pub async fn post_until_refused(client: &Client, round: usize) -> (Vec<String>, Value) {
    let mut posted = Vec::new();
    for number in 0..2_000 {
        let title = format!("Story {round}-{number}");
        let fields = [("news_id", "-1"), ("title", &*title), ("text", &"long ".repeat(800))];
        let answer = client.post("/api/submit", &fields).await.json();
        if answer["status"] != "ok" {
            return (posted, answer);
        }
        posted.push(title);
    }
    panic!("the disk is never full");
}

/// Reads as a visitor and as a member while nothing can be written.
pub async fn assert_reading_works(program: &Program, member: &Client, title: &str) {
    for client in [&program.visitor(), member] {
        for path in ["/", "/latest", "/news/1", "/user/alice", "/rss", "/api/getnews/latest/0/10"] {
            let page = client.get(path).await;
            assert_eq!(page.status, 200, "{path}: {}", page.text());
        }
        // Stories of one second are in the order of their ids as texts, so it may be on a later page.
        let mut is_listed = false;
        for start in (0..300).step_by(30) {
            let latest = client.get(&format!("/latest/{start}")).await;
            is_listed = is_listed || latest.text().contains(title);
        }
        assert!(is_listed, "{title} is missing");
    }
}

/// Asserts that a form and the API tell a member who writes why they refuse.
pub async fn assert_writing_says_why(member: &Client, refusal: &Value, cause: &str) {
    let error = refusal["error"].as_str().unwrap();
    assert!(error.contains("read only") && error.contains(cause), "{error}");
    let fields = [("news_id", "-1"), ("title", "What I typed"), ("text", "and more of it")];
    let answer = member.post("/api/submit", &fields).await;
    assert_eq!(answer.status, 503);
    let form = member.answer_to("/submit?news_id=-1&title=What I typed&url=&text=and more of it").await;
    assert_eq!(form.status, 503, "{}", form.text());
    for text in ["What I typed", "and more of it", "read only", cause] {
        assert!(form.text().contains(text), "{text:?} is missing: {}", form.text());
    }
    // Nobody is told that the password is wrong.
    let login = member.post("/api/login", &[("username", "alice"), ("password", PASSWORD)]).await;
    assert!(login.status == 200 || login.status == 503, "{}", login.text());
}

/// Waits until the site can be written again.
async fn wait_for_writing(program: &Program, member: &Client) {
    let freed = Instant::now();
    program.wait_for_log("the store can be written again");
    assert!(freed.elapsed() < BACK_WITHIN, "{:?}", freed.elapsed());
    crate::client::ok(member.submit("It works again", "", "text").await);
    wait_for_health(program, 200, "ok").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_reading_goes_on_and_writing_comes_back_with_room() {
    let Some(disk) = SmallDisk::mount() else {
        skip("mount");
        return;
    };
    let mut program = Program::start(&url_of(disk.0.path()));
    let alice = program.visitor().register("alice").await;
    let mut posted = vec!["The first".to_owned()];
    alice.submit_text("The first", "text").await;
    for round in 0..2 {
        disk.fill();
        let (more, refusal) = post_until_refused(&alice.at(program.address), round).await;
        posted.extend(more);
        let member = alice.at(program.address);
        program.wait_for_log("the store is read only");
        assert!(program.log().contains("the disk is full"), "{}", program.log());
        assert_reading_works(&program, &member, posted.last().unwrap()).await;
        assert_writing_says_why(&member, &refusal, "the disk is full").await;
        wait_for_health(&program, 503, "read_only").await;
        if round == 1 {
            // Killed while the disk is full, it reads again on the full disk.
            program.kill();
            program = Program::start(&url_of(disk.0.path()));
            assert_reading_works(&program, &member.at(program.address), posted.last().unwrap()).await;
            assert_has_all(&titles(&program).await, &posted);
        }
        disk.free();
        if round == 1 {
            // The program may have found enough room for what it needs at the start.
            wait_for_health(&program, 200, "ok").await;
        } else {
            wait_for_writing(&program, &member).await;
        }
    }
    crate::client::ok(alice.at(program.address).submit("The last", "", "text").await);
    posted.push("The last".to_owned());
    assert_has_all(&titles(&program).await, &posted);
    program.kill();
    let program = Program::start(&url_of(disk.0.path()));
    assert_nothing_is_lost(&program, &url_of(disk.0.path()), &posted).await;
}

/// The same with a limit on the size of files, which needs no rights.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_may_not_grow_is_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(&url_of(folder.path()));
    let alice = program.visitor().register("alice").await;
    alice.submit_text("The first", "text").await;
    let length = std::fs::metadata(folder.path().join("site.redb")).unwrap().len();
    let limit = |bytes| {
        let process = i32::try_from(program.id()).unwrap();
        let limits = Some((bytes, u64::MAX));
        rlimit::prlimit(process, rlimit::Resource::FSIZE, limits, None).unwrap();
    };
    limit(length);
    let (mut posted, refusal) = post_until_refused(&alice, 0).await;
    assert_reading_works(&program, &alice, posted.last().unwrap()).await;
    posted.push("The first".to_owned());
    assert_writing_says_why(&alice, &refusal, "the store file may not grow any further").await;
    wait_for_health(&program, 503, "read_only").await;
    limit(u64::MAX);
    wait_for_writing(&program, &alice).await;
    assert_nothing_is_lost(&program, &url_of(folder.path()), &posted).await;
}
