//! Workers that must not die silently.
//!
//! A panic in a task ends that task, and nobody notices until what it does is missed. So each
//! worker of the program is started here: [`supervise`] says what happens when it panics or
//! ends. Panics of any thread or task are logged and counted by [`panics`].
//!
//! This crate is below all others, because each of them has workers.

pub mod panics;
pub mod places;
pub mod steps;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::fmt::Display;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;
use tracing::Instrument;

/// The exit status of a process whose vital worker has failed: `EX_SOFTWARE` of `sysexits.h`.
pub const FAILED: i32 = 70;

/// The pause before a worker starts again, the first time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause; each is twice as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A worker that has run for so long has recovered: the next pause is the first again.
const RECOVERED_AFTER: Duration = Duration::from_secs(60);

/// The consequence when a worker panics or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// It works as long as the process: it starts again when it panics, and when it ends.
    Forever,
    /// It starts again when it panics. It may end, because its work can be done.
    UntilDone,
    /// The process is of no use without it: when it panics or ends, the process ends.
    Vital,
}

/// Whether vital workers that fail end the process.
static ENDS_PROCESS: AtomicBool = AtomicBool::new(false);

/// From now on, a vital worker that fails ends the process with the status [`FAILED`]. The
/// program calls this; a test does not, and lives on.
pub fn end_process_on_failure() {
    ENDS_PROCESS.store(true, Ordering::SeqCst);
}

/// Ends the process, because a vital worker has failed. Nothing that was acknowledged is lost:
/// it was written before. Does nothing but log until [`end_process_on_failure`] was called.
///
/// Threads that are no tasks call this themselves.
#[allow(clippy::disallowed_methods)] // The store may hang on its worker, so it cannot be closed.
pub fn fail(worker: &str) {
    tracing::error!(worker, status = FAILED, "a worker has failed that the server cannot do without");
    if ENDS_PROCESS.load(Ordering::SeqCst) {
        std::process::exit(FAILED);
    }
}

/// Runs a worker, made anew each time that it starts, until its policy says that it is done or
/// the future is dropped, and the worker with it.
///
/// A worker from `make` must be able to start anew: state that it must not lose when it panics
/// belongs outside. The log lines of the worker have its name.
pub fn supervise<'a, Worker: Future<Output = ()> + Send + 'a>(
    name: &'static str,
    policy: Policy,
    mut make: impl FnMut() -> Worker + Send + 'a,
) -> BoxFuture<'a, ()> {
    Box::pin(run(name, policy, Box::new(move || Box::pin(make()))))
}

/// Runs a worker that does the same again and again until the future is dropped: the first time after a pause, later when so
/// long has passed since the time before.
pub fn repeat<'a, Work: Future<Output = ()> + Send + 'a>(
    name: &'static str,
    (first, every): (Duration, Duration),
    work: impl Fn() -> Work + Send + Sync + 'a,
) -> BoxFuture<'a, ()> {
    let work = Arc::new(work);
    supervise(name, Policy::Forever, move || {
        let work = work.clone();
        async move {
            let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + first, every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                work().await;
            }
        }
    })
}

/// [`repeat`] for work that can fail, and is tried again then.
pub fn retry<'a, Work, Done, Failure>(
    name: &'static str,
    times: (Duration, Duration),
    work: impl Fn() -> Work + Send + Sync + 'a,
) -> BoxFuture<'a, ()>
where
    Work: Future<Output = Result<Done, Failure>> + Send + 'a,
    Done: Send + 'a,
    Failure: Display + Send + 'a,
{
    repeat(name, times, move || {
        let working = work();
        async move {
            if let Err(error) = working.await {
                // Requests report what is wrong with the store.
                tracing::debug!(%error, "background work failed; it will be tried again");
            }
        }
    })
}

/// Makes a worker.
type Make<'a> = Box<dyn FnMut() -> BoxFuture<'a, ()> + Send + 'a>;

/// The same for all kinds of workers, so that it is compiled once.
async fn run(name: &'static str, policy: Policy, mut make: Make<'_>) {
    let mut pauses = Pauses::default();
    loop {
        let began = Instant::now();
        // The work of `make` belongs to the worker too.
        let ended = catch(name, async { make().await }).await;
        match (policy, ended) {
            (Policy::UntilDone, Some(())) => return,
            (Policy::Vital, _) => return fail(name),
            (Policy::Forever | Policy::UntilDone, _) => {}
        }
        let pause = pauses.after(began.elapsed());
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let panicked = ended.is_none();
        tracing::error!(
            worker = name,
            panicked,
            pause_ms,
            "a background worker has stopped; it starts again"
        );
        tokio::time::sleep(pause).await;
    }
}

/// The pauses before a worker starts again.
#[derive(Debug)]
pub struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST_PAUSE }
    }
}

impl Pauses {
    /// The pause after a worker that has lived for so long.
    pub fn after(&mut self, lived: Duration) -> Duration {
        let pause = if lived >= RECOVERED_AFTER { FIRST_PAUSE } else { self.next };
        self.next = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// Runs a part of a worker. Returns `None` if it panics, so that the worker can go on with the
/// next part. The panic is logged and counted.
pub async fn catch<Output>(name: &'static str, work: impl Future<Output = Output>) -> Option<Output> {
    AssertUnwindSafe(work.instrument(tracing::info_span!("background", worker = name)))
        .catch_unwind()
        .await
        .ok()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn pauses_double_up_to_half_a_minute_until_the_worker_has_recovered() {
        let mut pauses = Pauses::default();
        let mut after = |lived| pauses.after(Duration::from_secs(lived)).as_millis();
        let first: Vec<u128> = (0..11).map(|_| after(1)).collect();
        assert_eq!(first[..4], [100, 200, 400, 800]);
        assert_eq!(first[8..], [25_600, 30_000, 30_000]);
        assert_eq!([after(59), after(60), after(0)], [30_000, 100, 200]);
    }

    #[tokio::test]
    async fn a_worker_that_panics_starts_again_until_it_is_done() {
        let runs = AtomicU32::new(0);
        supervise("test", Policy::UntilDone, || async {
            assert!(runs.fetch_add(1, Ordering::SeqCst) >= 2, "planted");
        })
        .await;
        assert_eq!(runs.into_inner(), 3);
    }

    #[tokio::test]
    async fn a_worker_that_must_not_end_starts_again_when_it_ends() {
        let (starts, mut started) = tokio::sync::mpsc::unbounded_channel();
        let mut seen = 0;
        let forever = supervise("test", Policy::Forever, || async { starts.send(()).unwrap() });
        tokio::pin!(forever);
        while seen < 2 {
            tokio::select! {
                () = &mut forever => panic!("it ended"),
                Some(()) = started.recv() => seen += 1,
            }
        }
    }

    #[tokio::test]
    async fn a_panic_where_the_worker_is_made_is_one_of_the_worker() {
        let runs = AtomicU32::new(0);
        supervise("test", Policy::UntilDone, || {
            assert!(runs.fetch_add(1, Ordering::SeqCst) >= 1, "planted");
            async {}
        })
        .await;
        assert_eq!(runs.into_inner(), 2);
    }

    /// The name of a test below, which starts itself in a process of its own.
    const VICTIM: &str = "tests::a_process_whose_vital_worker_fails";

    #[test]
    fn a_vital_worker_that_fails_ends_the_process_at_once() {
        for how in ["panics", "ends", "thread"] {
            let began = std::time::Instant::now();
            let ended = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", VICTIM, "--nocapture"])
                .env("TIDINGS_VICTIM", how)
                .output()
                .unwrap();
            assert_eq!(ended.status.code(), Some(FAILED), "{how}: {ended:?}");
            assert!(began.elapsed() < Duration::from_secs(5), "{how}");
        }
    }

    #[test]
    fn a_process_whose_vital_worker_fails() {
        let Ok(how) = std::env::var("TIDINGS_VICTIM") else { return };
        end_process_on_failure();
        if how == "thread" {
            std::thread::spawn(|| fail("test")).join().ok();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let worker = tokio::spawn(supervise("test", Policy::Vital, move || {
                let how = how.clone();
                async move { assert_eq!(how, "ends", "planted") }
            }));
            worker.await.ok();
            // Not reached.
            std::process::exit(1);
        });
    }
}
