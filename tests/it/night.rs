//! A night in ten incidents, through the running program. Each test asserts what readers and writers
//! see, what the log says, what `/health/ready` says, and that nothing acknowledged is lost; and after
//! it `tidings check store` finds nothing.
//!
//! | incident | embedded store | Redis |
//! | --- | --- | --- |
//! | disk full and free | `full_disk.rs` | `night/redis_refuses.rs`, memory too |
//! | kill -9 on a large store | here; at any moment: `crash.rs` | here |
//! | Redis gone at start | | `absent_store.rs` |
//! | Redis gone and back | | here; under load: `outage.rs` |
//! | read-only file | here | `night/redis_refuses.rs`: a replica |
//! | damaged page | `night/damaged_page.rs`; in the engine: its `redb/tests/damage.rs` | none: it has no pages |
//! | panic in the writer | `night/planted_panic.rs` | there: what accepts connections |
//! | clock back by a day | `night/clock_set_back.rs`; each limit: `clock.rs` | there too |
//! | too many files | `open_files.rs` | there too |
//! | backup target full | here | here |

mod clock_set_back;
mod damaged_page;
mod planted_panic;
mod redis_refuses;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tidings_keyspace::{Batch, Store, StoreOptions};

use crate::client::{Client, ok, refused_saying};
use crate::full_disk::SmallDisk;
use crate::program::{Program, open_again, succeed, wait_until};
use crate::redis_server::RedisServer;
use crate::skips::skip;

/// How long the site may take to work again once it can.
pub const BACK_WITHIN: Duration = Duration::from_secs(10);

/// The store in a folder.
pub fn url_of(folder: &Path) -> String {
    format!("redb:{}", folder.join("site.redb").display())
}

/// Waits until `/health/ready` says what it must: it may be a second old.
pub async fn wait_for_health(program: &Program, status: u16, word: &str) {
    let deadline = Instant::now() + BACK_WITHIN;
    loop {
        let health = program.visitor().get("/health/ready").await;
        if health.status == status && health.json()["status"] == word {
            return;
        }
        assert!(Instant::now() < deadline, "{}", health.text());
    }
}

/// All stories of a site.
pub async fn titles(program: &Program) -> Vec<String> {
    let mut titles = Vec::new();
    loop {
        let page = program.visitor().api_get(&format!("/api/getnews/latest/{}/30", titles.len())).await;
        let news = page["news"].as_array().unwrap();
        if news.is_empty() {
            return titles;
        }
        titles.extend(news.iter().map(|story| story["title"].as_str().unwrap().to_owned()));
    }
}

/// Asserts that everything that was acknowledged is there.
pub fn assert_has_all(found: &[String], posted: &[String]) {
    let missing: Vec<_> = posted.iter().filter(|title| !found.contains(title)).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
}

/// A Redis server that keeps everything that it has acknowledged.
pub fn lasting_redis() -> RedisServer {
    RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"])
}

/// Posts a story, which must be acknowledged, and notes its title.
pub async fn post(member: &Client, posted: &mut Vec<String>, title: &str) {
    ok(member.submit(title, "", "text").await);
    posted.push(title.to_owned());
}

/// Asserts that readers notice nothing.
pub async fn assert_readers_see(program: &Program, title: &str) {
    let page = program.visitor().get("/latest").await;
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains(title), "{}", page.text());
}

/// Asserts that a writer gets a 503 with these words.
pub async fn assert_writer_is_told(member: &Client, words: &str) {
    let answer = member.answer_to("/api/submit?news_id=-1&title=Refused&text=text").await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    refused_saying(answer.json(), words);
}

/// Asserts that nothing that was acknowledged is lost, and that all that is stored fits together.
pub async fn assert_nothing_is_lost(program: &Program, store: &str, posted: &[String]) {
    assert_has_all(&titles(program).await, posted);
    succeed(&["check", "store", "--store", store]);
}

/// Makes a store of some 40 MB.
async fn enlarge(store: &Store) {
    for chunk in 0..20 {
        let mut batch = Batch::new();
        for number in 0..1_000 {
            batch.set(format!("large{}", chunk * 1_000 + number), "y".repeat(2_000));
        }
        store.commit(batch).await.unwrap();
    }
    store.close().await;
}

/// Kills the program several times while it is used. Returns all that it has logged.
async fn check_kills(url: &str) -> String {
    let mut program = Program::start(url);
    let alice = program.visitor().register("alice").await;
    let (mut posted, mut log) = (Vec::new(), String::new());
    for round in 0..5 {
        let member = alice.at(program.address);
        for number in 0..5 {
            post(&member, &mut posted, &format!("Story {round}-{number}")).await;
        }
        program.kill();
        log += &program.log();
        assert!(member.try_post("/api/submit", &[("news_id", "-1")]).await.is_none());
        program = Program::start(url);
        wait_for_health(&program, 200, "ok").await;
        assert_readers_see(&program, posted.last().unwrap()).await;
        assert_has_all(&titles(&program).await, &posted);
    }
    assert_nothing_is_lost(&program, url, &posted).await;
    log + &program.log()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_on_a_large_store() {
    let folder = tempfile::tempdir().unwrap();
    enlarge(&open_again(&folder.path().join("site.redb")).await).await;
    let log = check_kills(&url_of(folder.path())).await;
    // Not at each start: everything may have been flushed just before a kill.
    assert!(log.contains("its last writes are recovered from the journal"), "{log}");
    let redis = lasting_redis();
    enlarge(&Store::open(&redis.url(), &StoreOptions::default()).await.unwrap()).await;
    let log = check_kills(&redis.url()).await;
    assert!(!log.contains("recovered") && !log.contains(" ERROR "), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_gone_and_back() {
    let mut redis = lasting_redis();
    let program = Program::start(&redis.url());
    let alice = program.visitor().register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    wait_for_health(&program, 200, "ok").await;
    redis.stop();
    wait_for_health(&program, 503, "unavailable").await;
    assert_writer_is_told(&alice, "cannot reach its database").await;
    let page = program.visitor().get("/news/1").await;
    assert_eq!(page.status, 503, "{}", page.text());
    assert!(page.text().contains("cannot reach its database"), "{}", page.text());
    let lost = program.wait_for_log("health: the store cannot be reached");
    assert!(lost.contains("cause="), "{lost}");
    redis.start_again();
    wait_for_health(&program, 200, "ok").await;
    program.wait_for_log("the store is back");
    post(&alice, &mut posted, "After").await;
    assert_nothing_is_lost(&program, &redis.url(), &posted).await;
}

/// Makes all files of a folder immutable, or ends that. `false` where that is not possible.
fn set_immutable(folder: &Path, flag: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let changed = Command::new("chattr").arg(flag).args(files.filter(|path| path.is_file())).output();
    changed.is_ok_and(|changed| changed.status.success())
}

/// Ends what [`set_immutable`] began, so that the folder can be removed.
struct Immutable<'a>(&'a Path);

impl Drop for Immutable<'_> {
    fn drop(&mut self) {
        set_immutable(self.0, "-i");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(&url_of(folder.path()));
    let alice = program.visitor().register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    let immutable = Immutable(folder.path());
    if !set_immutable(folder.path(), "+i") {
        skip("immutable-files");
        return;
    }
    let cause = "the store file may not be written";
    assert_writer_is_told(&alice, cause).await;
    let line = program.wait_for_log("health: the store is read only");
    assert!(line.contains(cause), "{line}");
    wait_for_health(&program, 503, "read_only").await;
    assert_eq!(program.visitor().get("/health/ready").await.json()["store"], cause);
    assert_readers_see(&program, "Before").await;
    drop(immutable);
    program.wait_for_log("the store can be written again");
    for change in ["the store is read only;", "the store can be written again"] {
        assert_eq!(program.log().matches(change).count(), 1, "{}", program.log());
    }
    wait_for_health(&program, 200, "ok").await;
    post(&alice, &mut posted, "After").await;
    assert_has_all(&titles(&program).await, &posted);
    program.stop();
    let program = Program::start(&url_of(folder.path()));
    assert_nothing_is_lost(&program, &url_of(folder.path()), &posted).await;
}

/// The site goes on while backups fail, and the first one with room has everything.
async fn check_backup_target_full(url: &str) {
    let Some(disk) = SmallDisk::mount() else {
        skip("mount");
        return;
    };
    disk.fill();
    let target = disk.path().to_str().unwrap();
    let settings = [("TIDINGS_BACKUP__FOLDER", target), ("TIDINGS_BACKUP__EVERY", "1s")];
    let program = Program::start_with(url, &settings);
    let line = program.wait_for_log("the backup failed");
    assert!(line.contains("No space left on device") && line.contains(target), "{line}");
    let alice = program.visitor().register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "While it is full").await;
    assert_readers_see(&program, "While it is full").await;
    wait_for_health(&program, 200, "ok").await;
    disk.free();
    // The first may have begun before the story was there.
    wait_until("two backups", || (program.log().matches("made a backup").count() > 1).then_some(()));
    wait_for_health(&program, 200, "ok").await;
    assert_nothing_is_lost(&program, url, &posted).await;
    program.stop();
    let backup = wait_until("a backup", || {
        let files = std::fs::read_dir(disk.path()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "backup")).max()
    });
    let folder = tempfile::tempdir().unwrap();
    let copy = url_of(folder.path());
    succeed(&["restore", backup.to_str().unwrap(), "--store", &copy]);
    assert_nothing_is_lost(&Program::start(&copy), &copy, &posted).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_target_full() {
    let folder = tempfile::tempdir().unwrap();
    check_backup_target_full(&url_of(folder.path())).await;
    let redis = lasting_redis();
    check_backup_target_full(&redis.url()).await;
}
