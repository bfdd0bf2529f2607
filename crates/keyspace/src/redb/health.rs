//! The health of the store, as its writer last said.

use crate::StoreHealth;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whether the store can be read and written, as its writer last said.
#[derive(Debug, Clone)]
pub(super) struct Health(Arc<Mutex<WriterState>>);

/// The health as the writer last said it, and its work, with its beginning.
#[derive(Debug)]
struct WriterState {
    health: StoreHealth,
    busy: Option<(Instant, &'static str)>,
}

impl Health {
    /// The health, for callers who wait no longer than this.
    pub(super) fn get(&self, patience: Duration) -> StoreHealth {
        let state = self.0.lock();
        match state.busy {
            Some((since, cause)) if state.health == StoreHealth::Works && since.elapsed() > patience => {
                StoreHealth::ReadOnly(cause.to_owned())
            }
            _ => state.health.clone(),
        }
    }

    /// Why the writer has not answered for longer than a caller waits, if so.
    pub(super) fn hangs(&self, patience: Duration) -> Option<&'static str> {
        self.0.lock().busy.filter(|(since, _)| since.elapsed() > patience).map(|(_, cause)| cause)
    }

    /// Does some work, at which callers may have to wait for this reason.
    pub(super) fn during<T>(&self, cause: &'static str, work: impl FnOnce() -> T) -> T {
        self.0.lock().busy = Some((Instant::now(), cause));
        let done = work();
        self.0.lock().busy = None;
        done
    }

    /// Says that the writer has ended by a panic.
    pub(super) fn fail(&self) {
        self.set(StoreHealth::Unavailable("the writer has failed".to_owned()));
    }

    /// Says that the store was closed.
    pub(super) fn close(&self) {
        self.set(StoreHealth::Unavailable("the store is closed".to_owned()));
    }

    /// Sets the health. The code that asks for the health logs its changes.
    pub(super) fn set(&self, health: StoreHealth) {
        self.0.lock().health = health;
    }
}

impl Default for Health {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(WriterState { health: StoreHealth::Works, busy: None })))
    }
}
