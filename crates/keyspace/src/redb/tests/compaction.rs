//! Writing the store file anew: nothing of what was deleted is left, and everything else is.

use super::*;

const WORD: &str = "quizzaciously";

/// Whether a file has the word.
fn has_word(path: &std::path::Path) -> bool {
    std::fs::read(path).unwrap().windows(WORD.len()).any(|bytes| bytes == WORD.as_bytes())
}

#[tokio::test]
async fn a_compacted_file_and_its_journal_have_nothing_of_what_was_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let journal = folder.path().join("store.redb-journal");
    let url = format!("redb:{}", path.display());
    let store = Store::open(&url, &options()).await.unwrap();
    for number in 0..500 {
        store.commit(setting(&format!("key:{number}"), &format!("{WORD} {number}"))).await.unwrap();
    }
    store.commit(increment("count")).await.unwrap();
    let mut batch = Batch::new();
    for number in 0..500 {
        batch.set(format!("key:{number}"), "kept");
    }
    batch.set_expiring("expiring", "kept", Duration::from_secs(3_600));
    store.commit(batch).await.unwrap();
    assert!(has_word(&path) || has_word(&journal));

    assert!(store.compact().await.unwrap());
    assert!(!has_word(&path) && !has_word(&journal));
    // It goes on, and so does the journal.
    store.commit(increment("count")).await.unwrap();
    let reads = (read::string("key:7"), read::string("count"), read::expiry("expiring"));
    let (kept, count, expiry) = store.fetch(reads).await.unwrap();
    assert_eq!((kept.as_deref(), count.as_deref()), (Some("kept"), Some("2")));
    assert!(matches!(expiry, crate::Expiry::In(_)));
    store.close().await;

    let store = Store::open(&url, &options()).await.unwrap();
    assert_eq!(store.count_keys().await.unwrap(), 502);
    store.close().await;
    assert!(!folder.path().join("store.redb-compact").exists());
}

#[tokio::test]
async fn what_is_left_of_a_compaction_that_was_cut_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let rest = folder.path().join("store.redb-compact");
    let url = format!("redb:{}", folder.path().join("store.redb").display());
    std::fs::write(&rest, WORD).unwrap();
    Store::open(&url, &options()).await.unwrap().close().await;
    assert!(!rest.exists());
    // A store in memory has no file.
    assert!(Store::in_memory().await.unwrap().compact().await.unwrap());
}
