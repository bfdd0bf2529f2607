//! A database that has lost its data is not used as an empty one.
//!
//! A server in use once had a key that its data always has. If that key is gone, the database was emptied,
//! or a server without the data has taken the address. The watch looks for it once a second, on each new
//! connection, and when the server reports that the database was emptied. Each batch looks for it as well, so
//! that nothing is written in the meantime: a sign-up would begin a site in the empty database.

use super::RedisShared;
use super::connection::WriteObserver;
use crate::read_set::Versions;
use parking_lot::Mutex;
use redis::{Pipeline, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

/// The keys by which it can be told whether a database has its data.
#[derive(Debug, Clone)]
pub(crate) struct GuardedKeys {
    /// There as long as the data is.
    pub(crate) present: String,
    /// Its text as long as this program may write.
    pub(crate) text: String,
    /// There while the data is not complete.
    pub(crate) absent: String,
}

/// The keys that show that the database still has the data.
#[derive(Default)]
pub(super) struct Guard {
    keys: Mutex<Option<GuardedKeys>>,
    /// How the text of the first key was changed, while it is another one.
    changed: Mutex<Option<String>>,
    /// Wakes the watch.
    doubt: Notify,
}

impl Guard {
    pub(super) fn set(&self, keys: GuardedKeys) {
        *self.keys.lock() = Some(keys);
    }

    pub(super) fn keys(&self) -> Option<GuardedKeys> {
        self.keys.lock().clone()
    }

    /// Why nothing may be written: another program has changed the text of the first key.
    pub(super) fn changed(&self) -> Option<String> {
        self.changed.lock().clone()
    }

    /// Returns when the data may be gone.
    pub(super) async fn wait_for_doubt(&self) {
        self.doubt.notified().await;
    }
}

impl GuardedKeys {
    /// Asks for the keys.
    pub(super) fn ask(&self, pipeline: &mut Pipeline) {
        pipeline.cmd("GET").arg(&self.present);
        pipeline.cmd("EXISTS").arg(&self.absent);
    }

    /// Decides by the answers whether the database may be used, and written to. Answers that are errors decide
    /// nothing.
    pub(super) fn decide(&self, answers: &[Value], shared: &RedisShared) {
        let [present, Value::Int(absent)] = answers else { return };
        let found = match present {
            Value::Nil => None,
            Value::BulkString(text) => Some(String::from_utf8_lossy(text)),
            _ => return,
        };
        *shared.guard.changed.lock() = found
            .as_deref()
            .filter(|text| *text != self.text)
            .map(|text| format!("the key {} was changed from {} to {text:.20}", self.present, self.text));
        let absence = match (found.is_some(), *absent > 0) {
            (true, false) => None,
            (false, false) => Some(format!(
                "the database has lost its data: the key {} is gone. It was emptied, or another server \
                 has its address. Bring the data back, or restart the server",
                self.present
            )),
            (_, true) => Some(format!("the data is being restored: the key {} is there", self.absent)),
        };
        match absence {
            Some(reason) => {
                let reported = shared.note_absence(&reason);
                if shared.is_admitted.swap(false, Ordering::AcqRel) || reported {
                    tracing::error!(reason, "the store is unavailable");
                }
            }
            None if !shared.is_admitted.load(Ordering::Acquire) => {
                // It may be other data than before.
                shared.versions.note_all_written();
                shared.is_admitted.store(true, Ordering::Release);
                tracing::info!("the database has its data again");
            }
            None => {}
        }
    }
}

/// Learns of writes for what is cached, and of a database that was emptied for the guard.
pub(super) struct Observer {
    pub(super) versions: Arc<Versions>,
    pub(super) guard: Arc<Guard>,
}

impl WriteObserver for Observer {
    fn note_key(&self, key: &[u8]) {
        self.versions.note_reported_key(&String::from_utf8_lossy(key));
    }

    fn note_all(&self) {
        self.versions.note_all_written();
        self.guard.doubt.notify_one();
    }
}
