//! A night in ten incidents: what readers and writers see, what the log and `/health/ready` say,
//! and that nothing acknowledged is lost. Where each incident is:
//!
//! 1. disk full and free: `full_disk.rs`; on Redis, memory that is full: `outage.rs`
//! 2. kill -9 on a large store: here; kills at any moment: `crash.rs`
//! 3. Redis gone at start: `absent_store.rs`
//! 4. Redis gone and back: here; under load: `outage.rs`
//! 5. read-only file: here; on Redis, a replica: `outage.rs` and `seeing/health.rs`
//! 6. damaged page: in the engine only, `redb/tests/damage.rs` of `crates/keyspace`, because a debug
//!    build of redb reads all pages when it opens a file; over HTTP, values that cannot be read:
//!    `unreadable.rs`
//! 7. panic in the writer: in the engine only, `redb/tests.rs` of `crates/keyspace`
//! 8. clock back by a day: in this process, `clock.rs`, because a program's clock cannot be set
//! 9. too many files: `open_files.rs`
//! 10. backup target full: here

use std::path::Path;
use std::process::Command;

use tidings_keyspace::Batch;

use crate::client::{Client, ok, refused};
use crate::full_disk::{SmallDisk, assert_has_all, text_of, titles, url_of, visitor, wait_for_health};
use crate::program::{Program, open_again, wait_until};
use crate::redis_server::RedisServer;

/// A Redis server that keeps everything that it has acknowledged.
fn lasting_redis() -> RedisServer {
    RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"])
}

/// Posts a story, which must be acknowledged, and notes its title.
async fn post(member: &Client, posted: &mut Vec<String>, title: &str) {
    ok(member.submit(title, "", "text").await);
    posted.push(title.to_owned());
}

/// Asserts that readers notice nothing.
async fn assert_readers_see(program: &Program, title: &str) {
    let page = visitor(program).get("/latest").await;
    assert_eq!(page.status, 200, "{}", text_of(&page));
    assert!(text_of(&page).contains(title), "{}", text_of(&page));
}

/// Asserts that a writer gets a 503 with these words.
async fn assert_writer_is_told(member: &Client, words: &str) {
    let fields = [("news_id", "-1"), ("title", "Refused"), ("text", "text")];
    let answer = member.post("/api/submit", &fields).await;
    assert_eq!(answer.status, 503, "{}", text_of(&answer));
    let said = refused(answer.json());
    assert!(said.contains(words), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_on_a_large_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_again(&folder.path().join("site.redb")).await;
    for chunk in 0..20 {
        let mut batch = Batch::new();
        for number in 0..1_000 {
            batch.set(format!("large{}", chunk * 1_000 + number), "y".repeat(2_000));
        }
        store.commit(batch).await.unwrap();
    }
    store.close().await;
    drop(store);
    let url = url_of(folder.path());
    let mut program = Program::start(&url);
    let alice = visitor(&program).register("alice").await;
    let (mut posted, mut is_recovered) = (Vec::new(), false);
    for round in 0..5 {
        let member = alice.at(program.address);
        for number in 0..5 {
            post(&member, &mut posted, &format!("Story {round}-{number}")).await;
        }
        program.kill();
        assert!(member.try_post("/api/submit", &[("news_id", "-1")]).await.is_none());
        program = Program::start(&url);
        wait_for_health(&program, 200, "ok").await;
        assert_readers_see(&program, posted.last().unwrap()).await;
        assert_has_all(&titles(&program).await, &posted);
        // Unless everything was flushed just before the kill.
        is_recovered |= program.log().contains("its last writes are recovered from the journal");
    }
    assert!(is_recovered, "{}", program.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_gone_and_back() {
    let mut redis = lasting_redis();
    let program = Program::start(&redis.url());
    let alice = visitor(&program).register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    wait_for_health(&program, 200, "ok").await;
    redis.stop();
    wait_for_health(&program, 503, "unavailable").await;
    assert_writer_is_told(&alice, "cannot reach its database").await;
    let page = visitor(&program).get("/news/1").await;
    assert_eq!(page.status, 503, "{}", text_of(&page));
    assert!(text_of(&page).contains("cannot reach its database"), "{}", text_of(&page));
    let lost = program.wait_for_log("health: the store cannot be reached");
    assert!(lost.contains("cause="), "{lost}");
    redis.start_again();
    wait_for_health(&program, 200, "ok").await;
    program.wait_for_log("the store is back");
    post(&alice, &mut posted, "After").await;
    assert_has_all(&titles(&program).await, &posted);
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
    let alice = visitor(&program).register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    let immutable = Immutable(folder.path());
    if !set_immutable(folder.path(), "+i") {
        eprintln!("skipped: this file system has no immutable files, or this user may not make them");
        return;
    }
    let cause = "the store file may not be written";
    assert_writer_is_told(&alice, cause).await;
    let line = program.wait_for_log("health: the store is read only");
    assert!(line.contains(cause), "{line}");
    wait_for_health(&program, 503, "read_only").await;
    assert_eq!(visitor(&program).get("/health/ready").await.json()["store"], cause);
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
    assert_has_all(&titles(&program).await, &posted);
}

/// The site goes on while backups fail, and the first one with room has everything.
async fn check_backup_target_full(url: &str) {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: this user may not mount a file system");
        return;
    };
    disk.fill();
    let target = disk.path().to_str().unwrap();
    let settings = [("TIDINGS_BACKUP__FOLDER", target), ("TIDINGS_BACKUP__EVERY", "1s")];
    let program = Program::start_with(url, &settings);
    let line = program.wait_for_log("the backup failed");
    assert!(line.contains("No space left on device") && line.contains(target), "{line}");
    let alice = visitor(&program).register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "While it is full").await;
    assert_readers_see(&program, "While it is full").await;
    wait_for_health(&program, 200, "ok").await;
    disk.free();
    // The first may have begun before the story was there.
    wait_until("two backups", || (program.log().matches("made a backup").count() > 1).then_some(()));
    wait_for_health(&program, 200, "ok").await;
    assert_has_all(&titles(&program).await, &posted);
    program.stop();
    let backup = wait_until("a backup", || {
        let files = std::fs::read_dir(disk.path()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "backup")).max()
    });
    let folder = tempfile::tempdir().unwrap();
    let copy = url_of(folder.path());
    let restored = Command::new(env!("CARGO_BIN_EXE_tidings"))
        .args(["restore", backup.to_str().unwrap(), "--store", &copy])
        .output()
        .unwrap();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert_has_all(&titles(&Program::start(&copy)).await, &posted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_target_full() {
    let folder = tempfile::tempdir().unwrap();
    check_backup_target_full(&url_of(folder.path())).await;
    let redis = lasting_redis();
    check_backup_target_full(&redis.url()).await;
}
