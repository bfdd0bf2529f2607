//! Snapshots of the embedded engine alone: what ends them.

use super::*;

/// A store whose snapshot has more pages than wait to be taken.
async fn large_store(url: &str) -> Store {
    let store = Store::open(url, &options()).await.unwrap();
    let entry = |number: usize| Entry {
        key: format!("key{number:02}"),
        value: Value::String("x".repeat(crate::limits::MAX_SNAPSHOT_PAGE_BYTES)),
        time_to_live: None,
    };
    store.restore((0..10).map(entry).collect()).await.unwrap();
    store
}

#[tokio::test]
async fn a_store_that_is_closed_during_a_snapshot_mixes_nothing_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redb:{}", folder.path().join("a.redb").display());
    let store = large_store(&url).await;
    let mut snapshot = store.snapshot().await.unwrap();
    assert_eq!(snapshot.next_page().await.unwrap().unwrap().len(), 1);
    store.close().await;
    let again = Store::open(&url, &options()).await.unwrap();
    again.commit(setting("key00", "new")).await.unwrap();
    let mut keys = 1;
    let outcome = loop {
        match snapshot.next_page().await {
            Ok(Some(page)) => {
                assert!(page.iter().all(|entry| entry.key != "key00"), "a key came twice");
                assert!(page.iter().all(|entry| entry.bytes() > crate::limits::MAX_SNAPSHOT_PAGE_BYTES));
                keys += page.len();
            }
            other => break other,
        }
    };
    // Either the cache had all keys, or the snapshot ends with an error.
    assert!(keys == 10 || matches!(outcome, Err(KeyspaceError::Unavailable(_))), "{keys} {outcome:?}");
    assert!(snapshot.next_page().await.unwrap().is_none());
    assert_eq!(again.count_keys().await.unwrap(), 10);
}

#[tokio::test]
async fn a_snapshot_that_is_dropped_frees_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.redb");
    let store = large_store(&format!("redb:{}", path.display())).await;
    let mut snapshot = store.snapshot().await.unwrap();
    snapshot.next_page().await.unwrap();
    drop(snapshot);
    // Its thread gives way to all others, and so may notice it late.
    while has_thread("keyspace-snap") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let before = std::fs::metadata(&path).unwrap().len();
    for _ in 0..20 {
        let value = Value::String("y".repeat(crate::limits::MAX_SNAPSHOT_PAGE_BYTES));
        let entries = vec![Entry { key: "key00".to_owned(), value, time_to_live: None }];
        store.restore(entries).await.unwrap();
    }
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after <= before + (12 << 20), "the file grew from {before} to {after} bytes");
}

/// Whether a thread of this process has a name that begins like this.
fn has_thread(beginning: &str) -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let mut names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.any(|name| name.starts_with(beginning))
}
