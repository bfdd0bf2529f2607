//! The moments at which tests end a process, as a power cut or a kill would.
//!
//! Code that writes for good calls [`step`] before each write. In a build without debug assertions that does
//! nothing.

/// The variable with the number of the step before which the process ends.
#[cfg(debug_assertions)]
pub const ENDS_BEFORE: &str = "ENDS_BEFORE_STEP";

/// Ends the process if a test has asked for its end before this step.
#[cfg(debug_assertions)]
pub fn step() {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: LazyLock<Option<u64>> = LazyLock::new(|| std::env::var(ENDS_BEFORE).ok()?.parse().ok());
    static DONE: AtomicU64 = AtomicU64::new(0);
    if let Some(last) = *LAST
        && DONE.fetch_add(1, Ordering::SeqCst) + 1 >= last
    {
        std::process::abort();
    }
}

/// Does nothing: only tests end processes.
#[cfg(not(debug_assertions))]
#[inline]
pub const fn step() {}
