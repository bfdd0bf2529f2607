//! `tidings backup` and `tidings restore`, as an operator runs them; backups that the server
//! makes; stores of other layouts.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tidings::backup::{restore, take};
use tidings_domain::values::Timestamp;
use tidings_domain::{keys, migrations};
use tidings_keyspace::{Batch, Entry, Store, StoreOptions, Value};

use crate::community::Community;
use crate::original;
use crate::program::{Program, Ran, open_again, succeed, tidings};
use crate::redis_server::RedisServer;
use crate::server::{Engine, Server, dump};

/// Asserts that a command is refused, and that the message has these words.
fn refused(arguments: &[&str], words: &str) {
    let ran = tidings(arguments);
    assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
    assert!(ran.said().contains(words), "{arguments:?}: {ran:?}");
}

/// A folder with a store file of one key of each type and some more.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    async fn with_store() -> Self {
        let folder = Self { folder: tempfile::tempdir().unwrap() };
        let store = folder.open("store.redb").await;
        fill(&store).await;
        store.close().await;
        folder
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn url(&self, name: &str) -> String {
        format!("redb:{}", self.path(name))
    }

    async fn open(&self, name: &str) -> Store {
        Store::open(&self.url(name), &StoreOptions::default()).await.unwrap()
    }

    async fn dump(&self, name: &str) -> BTreeMap<String, Value> {
        let store = self.open(name).await;
        let dump = dump(&store).await;
        store.close().await;
        dump
    }

    /// A backup of the store.
    fn backup(&self) -> String {
        let file = self.path("a.backup");
        succeed(&["backup", &file, "--store", &self.url("store.redb")]);
        file
    }
}

async fn fill(store: &Store) {
    let mut batch = Batch::new();
    batch.set("string", "a \"text\"\n日本語");
    batch.set_fields("hash", [("field", "value"), ("other", "")]);
    batch.add_member("set", "member");
    batch.sorted_add("sorted", "low", -1.5);
    batch.sorted_add("sorted", "high", 1e15);
    batch.set_expiring("expiring", "text", Duration::from_secs(86_400));
    batch.set_expiring("gone", "text", Duration::from_millis(1));
    // A database of Redis without a key of the layout is taken for no site.
    batch.set("users.count", "1");
    for number in 1..3_000 {
        batch.set(format!("key{number}"), "x".repeat(1_000));
    }
    store.commit(batch).await.unwrap();
}

#[tokio::test]
async fn a_backup_can_be_restored_into_every_engine() {
    let folder = Folder::with_store().await;
    let original = folder.dump("store.redb").await;
    assert_eq!(original.len(), 3_005);
    let file = folder.backup();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(!Path::new(&format!("{file}.partial")).exists());
    let redis = RedisServer::start();
    let text = succeed(&["restore", &file, "--store", &redis.url()]);
    assert!(text.contains("restored 3,005 keys"), "{text}");
    let second = folder.path("second.backup");
    succeed(&["backup", &second, "--store", &redis.url()]);
    succeed(&["restore", &second, "--store", &folder.url("copy.redb")]);
    assert_eq!(folder.dump("copy.redb").await, original);
    let copy = folder.open("copy.redb").await;
    let entries = copy.scan(None, 10_000).await.unwrap().entries;
    let expiring: Vec<_> =
        entries.iter().filter_map(|entry| Some((&entry.key, entry.time_to_live?))).collect();
    let [(key, left)] = expiring[..] else { panic!("{expiring:?}") };
    assert_eq!(key, "expiring");
    assert!(left > Duration::from_secs(86_000) && left <= Duration::from_secs(86_400), "{left:?}");
}

#[tokio::test]
async fn a_backup_leaves_out_who_tried_what_from_where_and_links_that_end_within_a_day() {
    let folder = Folder::with_store().await;
    let store = folder.open("store.redb").await;
    let mut batch = Batch::new();
    let hour = Duration::from_secs(3_600);
    let left_out = [
        "limit:failed_login:address:192.0.2.1",
        "limit:failed_login:pair:192.0.2.1:0123456789abcdef0123456789abcdef",
        "password_reset:0123456789012345678901234567890123456789",
        "rate:vote:address:2001:db8:1::/48",
        "user:1:new_totp",
    ];
    let written = ["request:1:abc", "user:1:networks"];
    for key in left_out.into_iter().chain(written) {
        batch.set_expiring(key, "1", hour);
    }
    store.commit(batch).await.unwrap();
    store.close().await;
    drop(store);
    let before = folder.dump("store.redb").await;
    succeed(&["restore", &folder.backup(), "--store", &folder.url("copy.redb")]);
    let after = folder.dump("copy.redb").await;
    let missing: Vec<&str> =
        before.keys().filter(|key| !after.contains_key(*key)).map(String::as_str).collect();
    assert_eq!(missing, left_out);
}

#[tokio::test]
async fn the_program_in_the_documentation_reads_a_backup() {
    let folder = Folder::with_store().await;
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/backup-format.md")).unwrap();
    let (_, program) = text.split_once("```python\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    assert!(program.lines().count() <= 52, "it is not short any more");
    let script = folder.path("read.py");
    std::fs::write(&script, program).unwrap();
    let run = |file: &str| Ran::from(Command::new("python3").args([&script, file]).output().unwrap());

    let text = run(&folder.backup()).good();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3_005);
    let line = |key: &str| lines.iter().find(|line| line["key"] == key).unwrap();
    let expected = |kind: &str, key: &str, value: Json| {
        assert_eq!(line(key), &json!({"type": kind, "expires_at_ms": null, "key": key, "value": value}));
    };
    expected("string", "string", json!("a \"text\"\n日本語"));
    expected("hash", "hash", json!({"field": "value", "other": ""}));
    expected("set", "set", json!(["member"]));
    expected("sorted set", "sorted", json!({"low": -1.5, "high": 1e15}));
    assert!(line("expiring")["expires_at_ms"].as_u64().unwrap() > 1_700_000_000_000);

    let whole = std::fs::read(folder.path("a.backup")).unwrap();
    let changed = folder.path("changed.backup");
    std::fs::write(&changed, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(run(&changed).code, Some(1));
    // zstd reads it too.
    let file = std::fs::File::open(folder.path("a.backup")).unwrap();
    assert!(Command::new("zstd").args(["-q", "-t"]).stdin(file).status().unwrap().success());
}

#[tokio::test]
async fn what_cannot_be_right_is_refused_and_changes_nothing() {
    let folder = Folder::with_store().await;
    let (store, file) = (folder.url("store.redb"), folder.backup());
    let target = folder.url("target.redb");
    refused(&["backup", &file, "--store", &store], "exists already");
    refused(&["backup", &folder.path("no/folder/a.backup"), "--store", &store], "cannot create");
    refused(
        &["backup", &folder.path("b.backup"), "--store", &folder.url("missing.redb")],
        "there is no store",
    );
    refused(&["restore", &file, "--store", &store], "not empty (3,005 keys)");
    refused(&["restore", &folder.path("missing"), "--store", &target], "cannot restore");
    refused(&["restore", &folder.path(""), "--store", &target], "is not a file");

    let whole = std::fs::read(&file).unwrap();
    let bad = folder.path("bad.backup");
    let half = whole.len() / 2;
    let mut changed = whole.clone();
    changed[half] ^= 1;
    for (content, words) in [
        (&whole[..half], "it is cut off at byte"),
        (&changed[..], "it is damaged at byte"),
        (b"not a backup at all", "it is not a backup of tidings"),
    ] {
        std::fs::write(&bad, content).unwrap();
        refused(&["restore", &bad, "--store", &target], words);
        assert!(!Path::new(&folder.path("target.redb")).exists(), "{words}");
    }
    let redis = RedisServer::start();
    refused(&["restore", &bad, "--store", &redis.url()], "not a backup");
    assert!(redis.send(b"DBSIZE").starts_with(":0"));

    for wrong in [&["restore", &file][..], &["restore"], &["backup"], &["backup", &file, "--every", "1d"]] {
        let ran = tidings(wrong);
        assert_eq!(ran.code, Some(2), "{wrong:?}: {ran:?}");
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".partial")), "{left:?}");
}

#[tokio::test]
async fn a_full_disk_is_told_and_leaves_no_file() {
    let folder = Folder::with_store().await;
    let file = folder.path("a.backup");
    // Everything that is written to this device fails as on a full disk.
    std::os::unix::fs::symlink("/dev/full", format!("{file}.partial")).unwrap();
    refused(&["backup", &file, "--store", &folder.url("store.redb")], "No space left on device");
    assert!(!Path::new(&file).exists());
    assert!(std::fs::symlink_metadata(format!("{file}.partial")).is_err());
}

#[tokio::test]
async fn a_backup_goes_to_standard_output() {
    let folder = Folder::with_store().await;
    let output = Command::new(env!("CARGO_BIN_EXE_tidings"))
        .args(["backup", "-", "--store", &folder.url("store.redb")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(folder.path("piped"), &output.stdout).unwrap();
    succeed(&["restore", &folder.path("piped"), "--store", &folder.url("copy.redb")]);
    assert_eq!(folder.dump("copy.redb").await, folder.dump("store.redb").await);
}

#[tokio::test]
async fn a_store_that_is_served_is_backed_up_by_way_of_its_server() {
    let folder = Folder::with_store().await;
    let before = folder.dump("store.redb").await;
    let mut program = Program::start(&folder.url("store.redb"));
    let file = folder.backup();
    // The server has the file open, so nobody restores into it.
    refused(&["restore", &file, "--store", &folder.url("store.redb")], "another process has it open");
    program.kill();
    succeed(&["restore", &file, "--store", &folder.url("copy.redb")]);
    let copy = folder.dump("copy.redb").await;
    assert!(before.iter().all(|(key, value)| copy.get(key) == Some(value)));
    assert!(copy.contains_key(keys::LAYOUT_VERSION));
}

/// Leaves the store as an interrupted restore of a file does: with a mark and some keys.
async fn interrupt_restore(store: &Store, file: &str) {
    let summary = tidings::backup::restore::verify(Path::new(file), |_| {}).unwrap();
    let filling = tidings::backup::restore::filling(&summary, Timestamp(7));
    tidings::backup::restore::begin(store, &filling).await.unwrap();
    let mut batch = Batch::new();
    batch.set("key1", "half");
    batch.add_member("set", "left over");
    store.commit(batch).await.unwrap();
}

#[tokio::test]
async fn an_interrupted_restore_is_not_served_and_starts_over() {
    let folder = Folder::with_store().await;
    let file = folder.backup();
    let other = folder.path("other.backup");
    succeed(&["backup", &other, "--store", &folder.url("store.redb")]);
    let redis = RedisServer::start();
    for store in [folder.url("target.redb"), redis.url()] {
        let open = Store::open(&store, &StoreOptions::default()).await.unwrap();
        interrupt_restore(&open, &file).await;
        open.close().await;
        drop(open);
        let said = "a restore into the store is not finished";
        refused(&["serve", "--listen", "127.0.0.1:0", "--store", &store], said);
        refused(&["backup", &folder.path("half.backup"), "--store", &store], said);
        refused(&["user", "add", "alice", "--store", &store], said);
        refused(&["restore", &other, "--store", &store], "`tidings restore FILE` with the same file");
        succeed(&["restore", &file, "--store", &store]);
        let restored = Store::open(&store, &StoreOptions::default()).await.unwrap();
        assert_eq!(dump(&restored).await, folder.dump("store.redb").await);
        restored.close().await;
    }
}

/// Waits until a program serves, which is after it has prepared its store.
fn wait_until_served(program: &Program) {
    let mut stream = TcpStream::connect(program.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// The backups of the server in a folder, the oldest first.
fn backups(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "backup"))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn the_server_makes_backups_and_keeps_the_newest() {
    let folder = Folder::with_store().await;
    let backup_folder = PathBuf::from(folder.path("backups"));
    let settings = [
        ("TIDINGS_BACKUP__FOLDER", backup_folder.to_str().unwrap()),
        ("TIDINGS_BACKUP__EVERY", "1s"),
        ("TIDINGS_BACKUP__KEEP", "2"),
    ];
    let mut program = Program::start_with(&folder.url("store.redb"), &settings);
    let mut seen = std::collections::BTreeSet::new();
    let is_scheduled = |path: &PathBuf| !path.to_string_lossy().contains("before-layout");
    tidings_testing::until_ok(async || {
        let found: Vec<PathBuf> = backups(&backup_folder).into_iter().filter(is_scheduled).collect();
        // One more while the oldest is about to be removed.
        assert!(found.len() <= 3, "{found:?}");
        seen.extend(found);
        if seen.len() < 4 { Err(seen.len()) } else { Ok(()) }
    })
    .await;
    let status = tidings(&["status", "--json", "--store", &folder.url("store.redb")]);
    let status: Json = serde_json::from_str(status.out.lines().next().unwrap()).unwrap();
    assert!(status["last_backup"].as_str().is_some_and(|time| time.ends_with('Z')), "{status}");
    program.kill();
    let newest = backups(&backup_folder).into_iter().rfind(is_scheduled).unwrap();
    succeed(&["restore", newest.to_str().unwrap(), "--store", &folder.url("copy.redb")]);
    let copy = folder.dump("copy.redb").await;
    assert_eq!(copy["string"], Value::String("a \"text\"\n日本語".to_owned()));
}

#[tokio::test]
async fn a_store_of_a_newer_layout_is_refused_on_every_engine() {
    let folder = Folder::with_store().await;
    let redis = RedisServer::start();
    for store in [folder.url("store.redb"), redis.url()] {
        let open = Store::open(&store, &StoreOptions::default()).await.unwrap();
        let mut batch = Batch::new();
        batch.set(keys::LAYOUT_VERSION, (migrations::LAYOUT_VERSION + 1).to_string());
        open.commit(batch).await.unwrap();
        open.close().await;
        drop(open);
        let said = "this version of tidings knows only layout";
        refused(&["serve", "--listen", "127.0.0.1:0", "--store", &store], said);
        refused(&["backup", &folder.path("newer.backup"), "--store", &store], said);
        refused(&["user", "add", "alice", "--store", &store], said);
        refused(&["check", "articles", "--store", &store], said);
    }
}

#[tokio::test]
async fn an_older_store_is_migrated_after_a_backup() {
    let folder = Folder::with_store().await;
    let before = folder.dump("store.redb").await;
    let mut program = Program::start(&folder.url("store.redb"));
    wait_until_served(&program);
    program.kill();
    let store = open_again(Path::new(&folder.path("store.redb"))).await;
    let state = migrations::state_of(&store).await.unwrap();
    assert_eq!(state.layout, migrations::LAYOUT_VERSION);
    store.close().await;
    let [file] = &backups(folder.folder.path())[..] else { panic!() };
    let ending = format!("-before-layout-{}.backup", migrations::LAYOUT_VERSION);
    assert!(file.to_string_lossy().ends_with(&ending), "{file:?}");
    succeed(&["restore", file.to_str().unwrap(), "--store", &folder.url("before.redb")]);
    assert_eq!(folder.dump("before.redb").await, before);
    // It is migrated once.
    let mut program = Program::start(&folder.url("store.redb"));
    wait_until_served(&program);
    program.kill();
    assert_eq!(backups(folder.folder.path()).len(), 1);
}

#[tokio::test]
async fn a_database_of_lamer_news_opens_and_gets_its_version() {
    let database = original::database().await;
    let mut program = Program::start(&database.url());
    wait_until_served(&program);
    program.kill();
    let store = Store::open(&database.url(), &StoreOptions::default()).await.unwrap();
    assert_eq!(migrations::state_of(&store).await.unwrap().layout, migrations::LAYOUT_VERSION);
}

#[tokio::test]
async fn a_large_key_is_restored_whole_on_every_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.backup");
    let store = Store::in_memory().await.unwrap();
    let large = |key: &str, value| Entry { key: key.to_owned(), value, time_to_live: None };
    let names = || (0..60_000).map(|number| format!("the member with the number {number}"));
    let entries = vec![
        large("a", Value::String("before".to_owned())),
        large("hash", Value::Hash(names().map(|name| (name.clone(), name)).collect())),
        large("set", Value::Set(names().collect())),
        large("sorted", Value::SortedSet(names().zip(0_u32..).map(|(name, at)| (name, at.into())).collect())),
        large("z", Value::String("after".to_owned())),
    ];
    store.restore(entries).await.unwrap();
    take::to_file(&store, path.clone(), Box::new(|_, _| {})).await.unwrap();
    let redis = RedisServer::start();
    for target in [
        Store::in_memory().await.unwrap(),
        Store::open(&redis.url(), &StoreOptions::default()).await.unwrap(),
    ] {
        restore::write_unverified(&target, &path, 0, |_, _| {}).await.unwrap();
        assert!(dump(&target).await == dump(&store).await);
    }
}

#[tokio::test]
async fn a_backup_is_checked_without_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let server = Server::start(Engine::Memory, &[]).await;
    let Community { server, alice, .. } = Community::on(server).await;
    alice.get("/").await;
    server.finish_jobs().await;
    let back_up = async |name: &str| {
        take::to_file(server.store(), path(name).into(), Box::new(|_, _| {})).await.unwrap();
    };
    back_up("good.backup").await;
    let said = succeed(&["check", "backup", &path("good.backup")]);
    assert!(said.contains(", whole\n") && said.contains("no differences"), "{said}");
    let json = succeed(&["check", "backup", &path("good.backup"), "--json"]);
    let report: Json = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(report["differences"], json!([]), "{report}");
    // The content of the backup does not fit together.
    server.set_field("news:1", "up", "99").await;
    back_up("wrong.backup").await;
    refused(&["check", "backup", &path("wrong.backup")], "news:1");
    // It is cut off.
    let whole = std::fs::read(path("good.backup")).unwrap();
    std::fs::write(path("cut.backup"), &whole[..whole.len() - 10]).unwrap();
    refused(&["check", "backup", &path("cut.backup")], "cut off");
    refused(&["check", "backup", &path("none.backup")], "none.backup is no good backup");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 3, "nothing else");
}
