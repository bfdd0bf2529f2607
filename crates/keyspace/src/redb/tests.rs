//! Rules of the embedded engine alone: durability, recovery, the queue, and errors on
//! opening.

mod compaction;
mod crash;
mod damage;
mod disk;
mod file_check;
mod journal;
mod power;
mod rig;
mod snapshot;
mod trouble;

use super::tables::{LAYOUT_VERSION, META, META_LAYOUT};
use super::*;
use crate::batch::Write;
use crate::query::{Answer, Expiry, Order};
use crate::{EngineClock, Store, Value, read};
use disk::Disk;
use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// How long to poll for something that must happen.
const PATIENCE: Duration = Duration::from_secs(10);

fn options() -> StoreOptions {
    StoreOptions { timeout: Duration::from_secs(20), ..StoreOptions::default() }
}

/// The reason why a URL cannot be opened.
async fn refusal(url: &str) -> String {
    match Store::open(url, &options()).await {
        Err(OpenError::Engine { url: shown, reason } | OpenError::Locked { url: shown, reason }) => {
            assert_eq!(shown, url);
            reason
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{url} opens"),
    }
}

/// A clock that stands still at a time long ago.
fn clock() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(1_600_000_000_000))
}

fn setting(key: &str, value: &str) -> Batch {
    Batch::of(|batch| batch.set(key, value))
}

fn increment(key: &str) -> Batch {
    Batch::of(|batch| batch.increment(key, 1))
}

fn string(redb: &Redb, key: &str) -> Result<Option<String>, KeyspaceError> {
    match redb.read_all(&[Read::String(key.to_owned())])?.pop().transpose()? {
        Some(Answer::Text(text)) => Ok(text),
        other => panic!("{other:?}"),
    }
}

/// Whether the store has failed; the batch may have been applied.
fn is_unavailable<T: std::fmt::Debug>(outcome: impl Borrow<Result<T, CommitError>>) -> bool {
    let failed = outcome.borrow();
    matches!(failed, Err(CommitError::Keyspace(KeyspaceError::Unavailable(_) | KeyspaceError::Unsure(_))))
}

fn is_read_only<T: std::fmt::Debug>(outcome: impl Borrow<Result<T, CommitError>>) -> bool {
    matches!(outcome.borrow(), Err(CommitError::Keyspace(KeyspaceError::ReadOnly(_))))
}

thread_local! {
    /// How often a store file was read whole by this thread when it was opened.
    pub(super) static REPAIRS: Cell<usize> = const { Cell::new(0) };
}

#[tokio::test]
async fn a_file_that_is_opened_again_has_everything() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redb:{}", folder.path().join("a.redb").display());
    let mut dumps = Vec::new();
    for close in [true, false, true] {
        let store = Store::open(&url, &options()).await.unwrap();
        dumps.push(store.scan(None, 100).await.unwrap().entries);
        let mut batch = Batch::new();
        batch.increment("opened", 1);
        batch.set_field("hash", dumps.len().to_string(), "v".repeat(1500));
        batch.add_member("set", dumps.len().to_string());
        batch.sorted_add("sorted", dumps.len().to_string(), -0.5);
        batch.expire("sorted", Duration::from_secs(3600));
        store.commit(batch).await.unwrap();
        if close {
            store.close().await;
        }
    }
    let store = Store::open(&url, &options()).await.unwrap();
    let found = store.scan(None, 100).await.unwrap().entries;
    assert_eq!(dumps.iter().map(Vec::len).collect::<Vec<_>>(), [0, 4, 4]);
    let values: HashMap<&str, &Value> =
        found.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect();
    assert_eq!(values["opened"], &Value::String("3".to_owned()));
    assert!(matches!(values["hash"], Value::Hash(fields) if fields.len() == 3));
    assert!(matches!(values["set"], Value::Set(members) if members.len() == 3));
    assert!(matches!(values["sorted"], Value::SortedSet(members) if members.len() == 3));
}

#[tokio::test]
async fn one_process_opens_a_file_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redb:{}", folder.path().join("a.redb").display());
    let store = Store::open(&url, &options()).await.unwrap();
    let clone = store.clone();
    assert!(refusal(&url).await.contains("another process has it open"));
    drop(store);
    assert!(refusal(&url).await.contains("another process has it open"));
    // The runtime has one thread, and the last drop blocks it.
    drop(clone);
    let store = Store::open(&url, &options()).await.unwrap();
    store.close().await;
    // The store is closed even though clones of it exist.
    Store::open(&url, &options()).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_opened_tells_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("redb:{}", folder.path().join(name).display());
    assert!(refusal("redb:").await.contains("the path is missing"));
    assert!(refusal(&url("")).await.contains("it is a folder"));
    assert!(refusal(&url("no/a.redb")).await.contains("its folder does not exist"));

    let path = folder.path().join("text");
    std::fs::write(&path, "id,title,url\n".repeat(1000)).unwrap();
    assert!(refusal(&url("text")).await.contains("damaged or is not a store"));
    std::fs::write(&path, "short").unwrap();
    assert!(refusal(&url("text")).await.contains("damaged or is not a store"));

    let foreign = redb::Database::create(folder.path().join("foreign")).unwrap();
    let transaction = foreign.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<u64, u64>::new("other")).unwrap();
    transaction.commit().unwrap();
    drop(foreign);
    assert!(refusal(&url("foreign")).await.contains("another program"));

    drop(Store::open(&url("newer"), &options()).await.unwrap());
    let newer = redb::Database::create(folder.path().join("newer")).unwrap();
    let transaction = newer.begin_write().unwrap();
    transaction.open_table(META).unwrap().insert(META_LAYOUT, LAYOUT_VERSION + 1).unwrap();
    transaction.commit().unwrap();
    drop(newer);
    assert!(refusal(&url("newer")).await.contains(&format!("it has layout {}", LAYOUT_VERSION + 1)));
}

#[tokio::test]
async fn a_cut_off_file_is_an_error_and_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.redb");
    let url = format!("redb:{}", path.display());
    let store = Store::open(&url, &options()).await.unwrap();
    let entries = (0..2000).map(|number| Entry {
        key: format!("key{number}"),
        value: Value::String("v".repeat(200)),
        time_to_live: None,
    });
    store.restore(entries.collect()).await.unwrap();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for part in [1, 50, 90, 99] {
        std::fs::write(&path, &whole[..whole.len() * part / 100]).unwrap();
        assert!(refusal(&url).await.contains("damaged"), "{part} %");
    }
    // An empty file, as `touch` makes it, is a new store.
    std::fs::write(&path, "").unwrap();
    assert_eq!(Store::open(&url, &options()).await.unwrap().count_keys().await.unwrap(), 0);
}

#[tokio::test]
async fn restored_keys_come_between_others_and_the_last_of_several_counts() {
    let store = Store::in_memory().await.unwrap();
    let set = |key: &str, members: &[(&str, f64)]| Entry {
        key: key.to_owned(),
        value: Value::SortedSet(
            members.iter().map(|(member, score)| ((*member).to_owned(), *score)).collect(),
        ),
        time_to_live: None,
    };
    store.restore(vec![set("c", &[("m", 1.0)]), set("a", &[("m", 1.0), ("n", 2.0)])]).await.unwrap();
    let repeated = set("a", &[("m", 5.0), ("p", 3.0), ("m", 4.0)]);
    store.restore(vec![set("a", &[("q", 9.0)]), set("b", &[("m", -0.0)]), repeated]).await.unwrap();
    let ranges = ["a", "b", "c"].map(|key| read::sorted_range(key, Order::Ascending, 0, u64::MAX));
    let ([a, b, c], counts) = store.fetch((ranges, ["a", "b", "c"].map(read::sorted_count))).await.unwrap();
    assert_eq!(a, [("p".to_owned(), 3.0), ("m".to_owned(), 4.0)]);
    assert_eq!((b, c), (vec![("m".to_owned(), 0.0)], vec![("m".to_owned(), 1.0)]));
    assert_eq!(counts, [2, 1, 1]);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.redb");
    let _store = Store::open(&format!("redb:{}", path.display()), &options()).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
}

#[tokio::test]
async fn a_commit_is_flushed_before_it_is_acknowledged() {
    let disk = Disk::default();
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    for _ in 0..5 {
        let before = disk.flushes();
        redb.commit(increment("counter")).await.unwrap();
        assert!(disk.flushes() > before);
    }
    // A batch without writes does not flush.
    let before = disk.flushes();
    let mut batch = Batch::new();
    batch.key_absent("counter");
    batch.set("other", "text");
    assert!(matches!(redb.commit(batch).await, Err(CommitError::Rejected(_))));
    redb.commit(Batch::of(|batch| batch.key_present("counter"))).await.unwrap();
    assert_eq!(disk.flushes(), before);
}

#[tokio::test]
async fn waiting_batches_share_one_flush() {
    let disk = Disk::default();
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    redb.commit(increment("counter")).await.unwrap();
    let one = {
        let before = disk.flushes();
        redb.commit(increment("counter")).await.unwrap();
        disk.flushes() - before
    };
    let before = disk.flushes();
    let mut tasks = JoinSet::new();
    for _ in 0..200 {
        let redb = redb.clone();
        tasks.spawn(async move { redb.commit(increment("counter")).await.unwrap()[0] });
    }
    let mut numbers = tasks.join_all().await;
    numbers.sort_unstable();
    assert_eq!(numbers, (3..=202).collect::<Vec<_>>());
    assert!(disk.flushes() - before < 100 * one, "{} flushes", disk.flushes() - before);
}

/// A generator of pseudo-random bits, so that a failure can be reproduced.
fn bits(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[tokio::test]
async fn a_power_cut_at_any_point_loses_nothing_that_was_acknowledged() {
    let disk = Disk::default();
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    // The number of events before each acknowledgement.
    let mut acknowledged = Vec::new();
    for _ in 0..12 {
        redb.commit(increment("drawn").flushed_later()).await.unwrap();
        let mut batch = increment("counter");
        batch.increment_field("hash", "same", 1);
        batch.set_field("wide", format!("{}", acknowledged.len()), "v".repeat(900));
        redb.commit(batch).await.unwrap();
        acknowledged.push(disk.events());
    }
    let laid_out = acknowledged[0];
    let mut state = 1;
    for cut in laid_out..=disk.events() {
        let disk = disk.cut_after(cut, &mut || bits(&mut state));
        let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
        let count: usize = string(&redb, "counter").unwrap().unwrap().parse().unwrap();
        let reads =
            [Read::HashFields("hash".to_owned(), vec!["same".to_owned()]), Read::Hash("wide".to_owned())];
        let [same, wide] = redb.read_all(&reads).unwrap().try_into().unwrap();
        assert_eq!(
            same.unwrap(),
            Answer::Texts(vec![Some(count.to_string())]),
            "half a batch at event {cut}"
        );
        assert!(matches!(wide, Ok(Answer::Hash(hash)) if hash.0.len() == count), "at event {cut}");
        let promised = acknowledged.iter().filter(|events| **events <= cut).count();
        assert!(count >= promised, "at event {cut}: {count} of {promised}");
        // A batch that was flushed later is there with those after it.
        let drawn: usize = string(&redb, "drawn").unwrap().unwrap().parse().unwrap();
        assert!(drawn >= count, "at event {cut}: {drawn} for {count}");
    }
}

#[tokio::test]
async fn a_batch_that_may_be_flushed_later_takes_no_flush() {
    let disk = Disk::default();
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    let mut flushes = Vec::new();
    // The writer flushes the file once a second, too.
    for number in 1..10 {
        let before = disk.flushes();
        assert_eq!(redb.commit(increment("drawn").flushed_later()).await.unwrap(), [number]);
        assert_eq!(string(&redb, "drawn").unwrap(), Some(number.to_string()));
        flushes.push(disk.flushes() - before);
    }
    assert!(flushes.contains(&0), "{flushes:?}");
    redb.close().await;
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    assert_eq!(string(&redb, "drawn").unwrap().as_deref(), Some("9"));
}

#[tokio::test]
async fn a_full_disk_refuses_commits_and_the_engine_works_on() {
    let disk = Disk::default();
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    redb.commit(setting("key", "before")).await.unwrap();
    for round in 0..2 {
        disk.set_full(true);
        let mut tasks = JoinSet::new();
        for _ in 0..10 {
            let redb = redb.clone();
            tasks.spawn(async move { redb.commit(setting("key", "lost")).await });
        }
        for outcome in tasks.join_all().await {
            assert!(is_read_only(outcome), "round {round}");
        }
        assert_eq!(redb.health(), StoreHealth::ReadOnly("the disk is full".to_owned()));
        assert_eq!(string(&redb, "key").unwrap().as_deref(), Some("before"), "round {round}");
        disk.set_full(false);
        // The writer tries the disk by itself.
        wait_for(|| redb.health() == StoreHealth::Works).await;
        redb.commit(increment("recovered")).await.unwrap();
    }
    assert_eq!(string(&redb, "recovered").unwrap().as_deref(), Some("2"));
}

#[tokio::test]
#[allow(clippy::await_holding_lock)]
async fn while_the_disk_hangs_writes_are_refused_at_once_and_nothing_of_them_is_done() {
    let disk = Disk::default();
    let options = StoreOptions { timeout: Duration::from_millis(500), ..options() };
    let redb = Redb::open_with(disk.opener(), &options, Arc::default()).unwrap();
    redb.commit(setting("key", "before")).await.unwrap();
    let hanging = disk.hang();
    let unsure = redb.commit(setting("key", "unsure")).await;
    assert!(matches!(unsure, Err(CommitError::Keyspace(KeyspaceError::Unsure(_)))), "{unsure:?}");
    let hangs = StoreHealth::ReadOnly("the disk does not answer".to_owned());
    wait_for(|| redb.health() == hangs).await;
    let began = Instant::now();
    assert!(is_read_only(redb.commit(setting("refused", "text")).await));
    assert!(began.elapsed() < options.timeout, "{:?}", began.elapsed());
    // Readers notice nothing.
    assert_eq!(string(&redb, "key").unwrap().as_deref(), Some("before"));
    drop(hanging);
    wait_for(|| redb.health() == StoreHealth::Works).await;
    redb.commit(setting("key", "after")).await.unwrap();
    assert_eq!(string(&redb, "refused").unwrap(), None);
}

/// Waits for something that another thread does.
async fn wait_for(done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_panic_of_the_writer_reopens_the_store_and_loses_nothing() {
    let disk = Disk::default();
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    redb.commit(setting("key", "text")).await.unwrap();
    for round in 1..=3 {
        disk.die();
        assert!(is_unavailable(redb.commit(setting("key", &format!("lost {round}"))).await));
        assert_eq!(redb.health(), StoreHealth::Works);
        let committed = redb.commit(increment("counter")).await.unwrap();
        assert_eq!(committed, [round]);
    }
    redb.close().await;
    assert!(is_unavailable(redb.commit(setting("key", "lost")).await));
}

#[tokio::test]
async fn a_writer_that_cannot_go_on_says_so() {
    let disk = Disk::default();
    let opened = std::sync::atomic::AtomicBool::new(false);
    let open = disk.opener();
    let opener: Opener = Box::new(move || {
        assert!(!opened.swap(true, Ordering::SeqCst), "opening it again panics, as the test wants it");
        open()
    });
    let redb = Redb::open_with(opener, &options(), Arc::default()).unwrap();
    redb.commit(setting("key", "text")).await.unwrap();
    disk.die();
    assert!(is_unavailable(redb.commit(setting("key", "lost")).await));
    wait_for(|| redb.health() == StoreHealth::Unavailable("the writer has failed".to_owned())).await;
    assert!(is_unavailable(redb.commit(setting("key", "lost")).await));
}

#[tokio::test]
async fn close_answers_what_is_queued_and_refuses_the_rest() {
    let redb = Redb::open(":memory:", &options(), Arc::default()).unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let redb = redb.clone();
        tasks.spawn(async move { redb.commit(increment("counter")).await });
    }
    tokio::task::yield_now().await;
    redb.close().await;
    for outcome in tasks.join_all().await {
        assert!(outcome.is_ok() || is_unavailable(outcome));
    }
    assert!(is_unavailable(redb.commit(increment("counter")).await));
    assert!(matches!(string(&redb, "counter"), Err(KeyspaceError::Unavailable(_))));
    redb.close().await;
}

#[tokio::test]
async fn a_disk_that_hangs_is_reported_in_time() {
    let redb = Redb::open(
        ":memory:",
        &StoreOptions { timeout: Duration::from_millis(50), ..options() },
        Arc::default(),
    )
    .unwrap();
    // The test holds the one write transaction, as a hanging flush would.
    let blocker = redb.shared.database.begin_write().unwrap();
    let start = Instant::now();
    assert!(is_unavailable(redb.commit(setting("key", "late")).await));
    assert!(start.elapsed() < PATIENCE);
    // Reads do not wait for the writer.
    assert_eq!(string(&redb, "key").unwrap(), None);
    drop(blocker);
    redb.close().await;
}

/// The rows of all tables: expired keys must not stay on the disk.
fn rows(redb: &Redb) -> u64 {
    let tables = redb.read().unwrap();
    [&tables.keys, &tables.fields, &tables.members, &tables.scores, &tables.order, &tables.expiries]
        .map(|table| table.len().unwrap())
        .iter()
        .sum()
}

#[tokio::test]
async fn expired_keys_are_swept_away_while_idle() {
    let clock = Arc::new(AtomicU64::new(1_000_000));
    let disk = Disk::default();
    let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..options() };
    let redb = Redb::open_with(disk.opener(), &options, Arc::default()).unwrap();
    let mut batch = Batch::new();
    batch.set("stays", "text");
    for number in 0..500 {
        let (string, set) = (format!("string{number}"), format!("set{number}"));
        batch.set_expiring(string, "text", Duration::from_millis(10));
        for member in 0..10 {
            batch.add_member(set.as_str(), member.to_string());
            batch.sorted_add(format!("sorted{number}"), member.to_string(), 1.0);
        }
        batch.set_field(format!("hash{number}"), "field", "v".repeat(3000));
        batch.expire(set, Duration::from_millis(10));
        batch.expire(format!("sorted{number}"), Duration::from_millis(10));
        batch.expire(format!("hash{number}"), Duration::from_millis(10));
    }
    redb.commit(batch).await.unwrap();
    assert_eq!(rows(&redb), 1 + 500 * (4 + 10 + 20 + 1 + 4));
    clock.fetch_add(9, Ordering::SeqCst);
    assert_eq!(redb.count_keys().unwrap(), 2001);
    clock.fetch_add(1, Ordering::SeqCst);
    assert_eq!(redb.count_keys().unwrap(), 1);
    let deadline = Instant::now() + PATIENCE;
    while rows(&redb) > 1 {
        assert!(Instant::now() < deadline, "{} rows are left", rows(&redb));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(string(&redb, "stays").unwrap().as_deref(), Some("text"));
    // A sweep that finds nothing does not write.
    let flushes = disk.flushes();
    let mut idle = WriterThread::new(
        redb.shared.database.clone(),
        None,
        Arc::new(SteadyClock::new(EngineClock::Manual(clock), 0)),
        broadcast::Sender::new(1),
        Arc::default(),
    );
    assert!(!idle.sweep().unwrap());
    assert_eq!(disk.flushes(), flushes);
}

/// Whether a key is there, and for how many milliseconds it stays.
fn stays(redb: &Redb, key: &str) -> Expiry {
    match redb.read_all(&[Read::Expiry(key.to_owned())]).unwrap().pop() {
        Some(Ok(Answer::Expiry(expiry))) => expiry,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_key_stays_no_longer_when_the_clock_is_set_back() {
    const DAY: u64 = 86_400_000;
    let clock = Arc::new(AtomicU64::new(20_000 * DAY));
    let disk = Disk::default();
    let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..options() };
    let redb = Redb::open_with(disk.opener(), &options, Arc::default()).unwrap();
    for round in 0..3 {
        redb.commit(Batch::of(|batch| batch.set_expiring("limit", "1", Duration::from_secs(2))))
            .await
            .unwrap();
        clock.fetch_sub(DAY, Ordering::SeqCst);
        assert_eq!(stays(&redb, "limit"), Expiry::In(Duration::from_secs(2)), "{round}");
        clock.fetch_add(1_999, Ordering::SeqCst);
        assert_eq!(stays(&redb, "limit"), Expiry::In(Duration::from_millis(1)), "{round}");
        clock.fetch_add(1, Ordering::SeqCst);
        assert_eq!(stays(&redb, "limit"), Expiry::Absent, "{round}");
    }
    redb.commit(Batch::of(|batch| batch.set_expiring("limit", "1", Duration::from_secs(2)))).await.unwrap();
    redb.close().await;
    drop(redb);
    // The same while the server does not run.
    clock.fetch_sub(DAY, Ordering::SeqCst);
    let redb = Redb::open_with(disk.opener(), &options, Arc::default()).unwrap();
    assert_eq!(stays(&redb, "limit"), Expiry::In(Duration::from_secs(2)));
    clock.fetch_add(2_000, Ordering::SeqCst);
    assert_eq!(stays(&redb, "limit"), Expiry::Absent);
}

#[tokio::test]
async fn rows_are_removed_with_their_keys() {
    let redb = Redb::open(":memory:", &options(), Arc::default()).unwrap();
    let mut batch = Batch::new();
    for number in 0..20 {
        batch.set_field("hash", number.to_string(), "v".repeat(300));
        batch.add_member("set", number.to_string());
        batch.sorted_add("sorted", number.to_string(), f64::from(number));
        batch.sorted_add("sorted", number.to_string(), f64::from(-number));
    }
    batch.set_expiring("string", "text", Duration::from_secs(60));
    batch.expire("hash", Duration::from_secs(60));
    batch.expire("hash", Duration::from_secs(90));
    redb.commit(batch).await.unwrap();
    assert_eq!(rows(&redb), 4 + 20 + 20 + 40 + 2);
    let mut batch = Batch::new();
    for key in ["hash", "set", "string"] {
        batch.delete(key);
    }
    batch.sorted_trim("sorted", 5);
    redb.commit(batch).await.unwrap();
    assert_eq!(rows(&redb), 1 + 10);
    redb.commit(Batch::of(|batch| batch.set("sorted", "replaced"))).await.unwrap();
    assert_eq!(rows(&redb), 1);
}
