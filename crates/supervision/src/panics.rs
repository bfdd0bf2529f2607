//! Panics of any thread or task are logged and counted.
//!
//! A panic in a request becomes a response; one in a background task would otherwise only end
//! that task.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread runs what may panic because of what it reads.
    static READS_DAMAGE: Cell<bool> = const { Cell::new(false) };
}

/// Logs and counts the panics of this process from now on.
pub fn watch() {
    std::panic::set_hook(Box::new(note));
}

/// How many panics there have been since [`watch`] was called.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Runs something that panics if what it reads makes no sense, such as a library that reads a
/// damaged file. Returns the message of such a panic, which is no mistake of the program: it is
/// neither logged nor counted, and the caller says what is damaged.
///
/// # Errors
/// The message of the panic.
pub fn catch_damage<Output>(read: impl FnOnce() -> Output) -> Result<Output, String> {
    let before = READS_DAMAGE.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    READS_DAMAGE.set(before);
    outcome.map_err(|payload| message(&*payload).to_owned())
}

fn note(panic: &PanicHookInfo<'_>) {
    if READS_DAMAGE.get() {
        return;
    }
    COUNT.fetch_add(1, Ordering::Relaxed);
    metrics::counter!("tidings_panics_total").increment(1);
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let reason = message(panic.payload());
    // The variables of the environment do not matter: without a backtrace, nobody can find the mistake.
    let backtrace = Backtrace::force_capture();
    tracing::error!(thread, place, reason, %backtrace, "a panic: this is a mistake in the program");
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_whether_they_are_formatted_or_not() {
        for (panic, expected) in [
            (std::panic::catch_unwind(|| panic!("plain")), "plain"),
            (std::panic::catch_unwind(|| panic!("with {}", 1)), "with 1"),
            (std::panic::catch_unwind(|| std::panic::panic_any(5)), ""),
        ] {
            assert_eq!(message(&*panic.unwrap_err()), expected);
        }
    }

    #[test]
    fn a_panic_at_what_is_damaged_is_caught_and_not_counted() {
        watch();
        assert_eq!(catch_damage(|| 3), Ok(3));
        let inner = catch_damage(|| {
            assert_eq!(catch_damage(|| panic!("inner")), Err::<(), _>("inner".to_owned()));
            panic!("outer {}", 1)
        });
        assert_eq!(inner, Err::<(), _>("outer 1".to_owned()));
        assert_eq!(count(), 0);
        // Those after it are.
        std::thread::spawn(|| panic!("of a thread")).join().unwrap_err();
        catch_unwind(|| panic!("of this thread")).unwrap_err();
        assert_eq!(count(), 2);
    }
}
