//! Values that cannot be read, in the log.

use crate::KeyspaceError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How long a key that cannot be read is not logged again. A list may try it at each request.
const REPORT_INTERVAL: Duration = Duration::from_secs(300);
/// The most keys whose reports are remembered.
const MAX_REPORTED_KEYS: usize = 1_000;

/// Logs that the value of one key cannot be read: once in five minutes for each key. Errors
/// that are not about one key are not logged.
#[cold]
pub fn report_unreadable(error: &KeyspaceError) {
    static REPORTED: LazyLock<Mutex<HashMap<String, Instant>>> = LazyLock::new(Mutex::default);
    let Some(key) = error.unreadable_key() else { return };
    let mut reported = REPORTED.lock();
    let now = Instant::now();
    if reported.get(key).is_some_and(|last| now.duration_since(*last) < REPORT_INTERVAL) {
        return;
    }
    if reported.len() >= MAX_REPORTED_KEYS {
        reported.clear();
    }
    reported.insert(key.to_owned(), now);
    drop(reported);
    if matches!(error, KeyspaceError::Damaged(_)) {
        tracing::error!(
            key,
            "the store is damaged: this value cannot be read; `tidings check store` says what else, \
             and a backup may have it"
        );
    } else {
        tracing::error!(key, %error, "this stored value cannot be read");
    }
}
