//! The worker that hashes and verifies passwords off the async threads.

use super::lines::{HashingSource, Lines, Turn};
use super::places::{Asker, Places};
use super::{PasswordError, StoredPassword, Verification, failed};
use super::{hash_password, spend_a_verification, verify_password, wrap_digest};
use crate::values::{
    MAX_RIGHT_ADDRESSES, MAX_WAITING_PASSWORDS, NEW_PASSWORDS_SHARE, NewPassword, subscriber,
};
use quick_cache::sync::Cache;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::available_parallelism;
use tokio::sync::{AcquireError, Semaphore};

/// Hashes and verifies passwords off the async threads, on at most half of the processors,
/// with a bounded queue. Clones share both.
///
/// Most places are for logins. New passwords (sign-ups, changes, hardening) have a few of
/// their own, and take turns for all but one of the processors. So do suspect logins: a login
/// that is not is second to one of them at most, however many there are. All places are shared out
/// by network (`Places`).
#[derive(Clone, Debug)]
pub struct PasswordWorker {
    running: Arc<Semaphore>,
    most_running: usize,
    logins: HashingLane,
    suspect_logins: HashingLane,
    new_passwords: HashingLane,
    lines: Lines,
    right: RightAddresses,
}

/// The addresses whose last login was right.
#[derive(Clone, Debug)]
struct RightAddresses(Arc<Cache<IpAddr, ()>>);

impl RightAddresses {
    fn note(&self, source: HashingSource, verification: Verification) {
        let HashingSource::Address(address) = source else { return };
        match verification {
            Verification::Wrong => _ = self.0.remove(&subscriber(address)),
            Verification::Right | Verification::RightButOld => self.0.insert(subscriber(address), ()),
        }
    }

    fn applicant(&self, source: HashingSource) -> Asker {
        let is_known = match source {
            HashingSource::Address(address) => self.0.get(&subscriber(address)).is_some(),
            HashingSource::Account(_) => false,
            HashingSource::Operator => true,
        };
        Asker::new(source, is_known)
    }
}

/// The places for one kind of work.
#[derive(Clone, Debug)]
struct HashingLane {
    admitted: Places,
    /// Taken before it runs by work that must not keep other logins waiting: there is one less than the worker runs.
    slow: Option<Arc<Semaphore>>,
}

/// A password to compare with the stored one.
pub(crate) struct Comparison {
    /// The stored password; `None` for a user that does not exist.
    pub(crate) stored: Option<StoredPassword>,
    /// The salt of the passwords of an older site.
    pub(crate) legacy_salt: String,
    /// The typed password.
    pub(crate) password: String,
    /// Whether it may be a guess, by what has failed recently.
    pub(crate) is_suspect: bool,
}

impl Default for PasswordWorker {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, std::num::NonZero::get);
        Self::new((processors / 2).max(1), MAX_WAITING_PASSWORDS)
    }
}

impl PasswordWorker {
    /// A worker that runs at most `running` at once, while `waiting` logins queue, as many
    /// suspect ones, and a quarter as many new passwords.
    pub fn new(running: usize, waiting: usize) -> Self {
        let lane = |waiting: usize, slow: Option<Semaphore>| HashingLane {
            admitted: Places::new(running.saturating_add(waiting)),
            slow: slow.map(Arc::new),
        };
        let slow = || Some(Semaphore::new(running.saturating_sub(1).max(1)));
        Self {
            running: Arc::new(Semaphore::new(running)),
            most_running: running,
            logins: lane(waiting, None),
            suspect_logins: lane(waiting, slow()),
            new_passwords: lane(waiting / NEW_PASSWORDS_SHARE, slow()),
            lines: Lines::default(),
            right: RightAddresses(Arc::new(Cache::new(MAX_RIGHT_ADDRESSES))),
        }
    }

    /// How many passwords are being hashed or verified now.
    pub fn running(&self) -> usize {
        self.most_running.saturating_sub(self.running.available_permits())
    }

    /// Waits until it is the turn of this address or account: each has one job at a time.
    ///
    /// # Errors
    /// [`PasswordError::Crowded`] at once, when too many of it wait already.
    pub(crate) async fn turn(&self, source: HashingSource) -> Result<Arc<Turn>, PasswordError> {
        self.lines.turn(source).await
    }

    /// [`hash_password`] for a new password, off the async threads, in the turn of its source.
    ///
    /// # Errors
    /// [`PasswordError::Crowded`] or [`PasswordError::Busy`] when
    /// the queue of the source, or that of new passwords, is full; otherwise as [`hash_password`].
    pub(crate) async fn hash_for(
        &self,
        source: HashingSource,
        password: &NewPassword,
    ) -> Result<String, PasswordError> {
        let turn = self.turn(source).await?;
        let password = password.clear_text().to_owned();
        let applicant = self.right.applicant(source);
        self.run(&self.new_passwords, applicant, turn, move || hash_password(&password)).await?
    }

    /// [`wrap_digest`] for the operator, off the async threads.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when the queue is full; otherwise as [`wrap_digest`].
    pub(crate) async fn wrap(&self, digest: String) -> Result<String, PasswordError> {
        let applicant = self.right.applicant(HashingSource::Operator);
        self.run(&self.new_passwords, applicant, (), move || wrap_digest(&digest)).await?
    }

    /// [`verify_password`], off the async threads; for a user that does not exist, the same
    /// work without a result.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when the queue is full.
    pub(crate) async fn verify(
        &self,
        turn: Arc<Turn>,
        comparison: Comparison,
    ) -> Result<Verification, PasswordError> {
        let Comparison { stored, legacy_salt, password, is_suspect } = comparison;
        let work = move || match &stored {
            Some(stored) => verify_password(stored, &legacy_salt, &password),
            None => {
                spend_a_verification(&password);
                Verification::Wrong
            }
        };
        let source = turn.source;
        let applicant = self.right.applicant(source);
        let lane = if is_suspect { &self.suspect_logins } else { &self.logins };
        let verification = self.run(lane, applicant, turn, work).await?;
        self.right.note(source, verification);
        Ok(verification)
    }

    /// [`hash_password`] in place of an older hash that was just verified: part of a login.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when the queue is full; otherwise as [`hash_password`].
    pub(crate) async fn hash_again(
        &self,
        turn: Arc<Turn>,
        password: String,
    ) -> Result<String, PasswordError> {
        let applicant = self.right.applicant(turn.source);
        self.run(&self.logins, applicant, turn, move || hash_password(&password)).await?
    }

    /// Runs work in its lane, off the async threads. It holds its places, because it continues when the caller is cancelled
    /// and must be counted until it is done. Then `held` is dropped, too.
    async fn run<T: Send + 'static>(
        &self,
        lane: &HashingLane,
        applicant: Asker,
        held: impl Send + 'static,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PasswordError> {
        let place = lane.admitted.take(applicant)?;
        let running = place.wait_for(async {
            let turn = match &lane.slow {
                Some(slow) => Some(slow.clone().acquire_owned().await?),
                None => None,
            };
            Ok((turn, self.running.clone().acquire_owned().await?))
        });
        let running = running.await?.map_err(|error: AcquireError| failed(error))?;
        let task = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop((held, place, running));
            outcome
        });
        task.await.map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::MAX_WAITING_OF_ONE_SOURCE;
    use futures_util::FutureExt;
    use std::net::Ipv4Addr;
    use std::sync::mpsc;
    use tokio::task::JoinHandle;

    const STRANGER: Asker =
        Asker::new(HashingSource::Address(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 99))), false);

    fn address(last: u8) -> HashingSource {
        HashingSource::Address(IpAddr::V4(Ipv4Addr::new(203, 0, 113, last)))
    }

    impl PasswordWorker {
        async fn login<T: Send + 'static>(
            &self,
            work: impl FnOnce() -> T + Send + 'static,
        ) -> Result<T, PasswordError> {
            self.run(&self.logins, STRANGER, (), work).await
        }
    }

    fn comparison(stored: Option<StoredPassword>, password: &str) -> Comparison {
        Comparison { stored, legacy_salt: String::new(), password: password.to_owned(), is_suspect: false }
    }

    #[tokio::test]
    async fn logins_of_addresses_that_failed_leave_places_for_others() {
        let worker = PasswordWorker::new(1, 4);
        let busy = Blocker::start(&worker).await;
        let mut suspects = Vec::new();
        for last in 1..=6 {
            let turn = worker.turn(address(last)).await.unwrap();
            let suspect = Comparison { is_suspect: true, ..comparison(None, "guess") };
            let mut waiting = worker.verify(turn, suspect).boxed();
            match waiting.as_mut().now_or_never() {
                None => suspects.push(waiting),
                Some(outcome) => assert!(matches!(outcome, Err(PasswordError::Busy))),
            }
        }
        assert_eq!(suspects.len(), 5);
        // One of them is in the queue, and a login from another address is next.
        let turn = worker.turn(address(7)).await.unwrap();
        let mut login = worker.verify(turn, comparison(None, "right")).boxed();
        assert!(login.as_mut().now_or_never().is_none());
        assert_eq!(worker.logins.admitted.free(), 5 - 2);
        busy.finish().await;
        let first = suspects.swap_remove(0);
        first.await.unwrap();
        assert_eq!(login.await.unwrap(), Verification::Wrong);
        futures_util::future::join_all(suspects).await;
    }

    /// Login work that runs until it is released.
    struct Blocker {
        task: JoinHandle<Result<(), PasswordError>>,
        release: mpsc::Sender<()>,
    }

    impl Blocker {
        async fn start(worker: &PasswordWorker) -> Self {
            let (started, is_started) = tokio::sync::oneshot::channel::<()>();
            let (release, released) = mpsc::channel::<()>();
            let worker = worker.clone();
            let task = tokio::spawn(async move {
                let work = move || {
                    started.send(()).unwrap();
                    released.recv().unwrap();
                };
                worker.login(work).await
            });
            is_started.await.unwrap();
            Self { task, release }
        }

        async fn finish(self) {
            self.release.send(()).unwrap();
            self.task.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn the_worker_hashes_verifies_and_spends() {
        let worker = PasswordWorker::default();
        let turn = || worker.turn(address(1));
        let password = NewPassword::parse("correct horse").unwrap();
        let hash = worker.hash_for(address(1), &password).await.unwrap();
        let stored = Some(StoredPassword { hash, salt: None, trimmed: false });
        for (stored, password, expected) in [
            (stored.clone(), "correct horse", Verification::Right),
            (stored, "wrong", Verification::Wrong),
            (None, "correct horse", Verification::Wrong),
        ] {
            let turn = turn().await.unwrap();
            let verified = worker.verify(turn, comparison(stored, password)).await;
            assert_eq!(verified.unwrap(), expected);
        }
        worker.hash_again(turn().await.unwrap(), "correct horse".to_owned()).await.unwrap();
        assert!(worker.wrap("x".to_owned()).await.is_err());
    }

    #[tokio::test]
    async fn the_worker_rejects_logins_when_its_queue_is_full() {
        let worker = PasswordWorker::new(1, 1);
        let first = Blocker::start(&worker).await;
        let mut second = worker.login(|| 2).boxed();
        assert!(second.as_mut().now_or_never().is_none());
        assert!(matches!(worker.login(|| 3).await, Err(PasswordError::Busy)));
        first.finish().await;
        assert_eq!(second.await.unwrap(), 2);
        assert_eq!(worker.login(|| 4).await.unwrap(), 4);
    }

    #[tokio::test]
    async fn new_passwords_leave_places_for_logins() {
        let worker = PasswordWorker::new(2, 8);
        let (one, two) = (Blocker::start(&worker).await, Blocker::start(&worker).await);
        let mut new = Vec::new();
        // Two that could run, and a quarter of eight.
        for number in 0..4 {
            let mut waiting = worker.run(&worker.new_passwords, STRANGER, (), move || number).boxed();
            assert!(waiting.as_mut().now_or_never().is_none());
            new.push(waiting);
        }
        let refused = worker.run(&worker.new_passwords, STRANGER, (), || 9).await;
        assert!(matches!(refused, Err(PasswordError::Busy)));
        assert_eq!(worker.logins.admitted.free(), 8);
        // Only one of them queues for the processors, so a login is second at most.
        let mut login = worker.login(|| 5).boxed();
        assert!(login.as_mut().now_or_never().is_none());
        assert_eq!(worker.new_passwords.slow.as_ref().unwrap().available_permits(), 0);
        one.finish().await;
        two.finish().await;
        assert_eq!(login.await.unwrap(), 5);
        assert_eq!(futures_util::future::join_all(new).await.len(), 4);
    }

    #[tokio::test]
    async fn a_convoy_of_one_address_takes_no_place_of_others() {
        let worker = PasswordWorker::new(1, 4);
        let busy = Blocker::start(&worker).await;
        let attempt = async || {
            let turn = worker.turn(address(1)).await?;
            worker.verify(turn, comparison(None, "guess")).await
        };
        let mut waiting = Vec::new();
        let mut refused = 0;
        for _ in 0..600 {
            let mut attempt = Box::pin(attempt());
            match attempt.as_mut().now_or_never() {
                None => waiting.push(attempt),
                Some(outcome) => {
                    assert!(matches!(outcome, Err(PasswordError::Crowded)));
                    refused += 1;
                }
            }
        }
        assert_eq!(
            (waiting.len(), refused),
            (MAX_WAITING_OF_ONE_SOURCE + 1, 599 - MAX_WAITING_OF_ONE_SOURCE)
        );
        // Of all of them one is in the queue, beside the work that runs.
        assert_eq!(worker.logins.admitted.free(), 5 - 2);
        let turn = worker.turn(address(2)).now_or_never().expect("a turn at once").unwrap();
        let mut login = worker.verify(turn, comparison(None, "guess")).boxed();
        assert!(login.as_mut().now_or_never().is_none());
        assert_eq!(worker.logins.admitted.free(), 5 - 3);
        busy.finish().await;
        drop(waiting);
        assert_eq!(login.await.unwrap(), Verification::Wrong);
    }

    #[tokio::test]
    async fn work_is_counted_until_it_is_done_even_if_its_caller_is_cancelled() {
        let worker = PasswordWorker::new(1, 0);
        let Blocker { task, release } = Blocker::start(&worker).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(matches!(worker.login(|| 1).await, Err(PasswordError::Busy)));
        release.send(()).unwrap();
        while worker.logins.admitted.free() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(worker.login(|| 2).await.unwrap(), 2);
    }
}
