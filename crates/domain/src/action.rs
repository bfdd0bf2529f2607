//! Actions under optimistic concurrency: read, decide, commit one batch, and start again
//! when a check of the batch failed.
//!
//! This is the only place with that loop. An action passes one attempt to [`Site::act`]: a
//! closure whose future reads what it needs and returns a [`Decision`]. It is written
//! `|| async { ... }` and not `async || { ... }`: the compiler cannot prove yet that the
//! future of a generic `AsyncFn` is `Send`, which handlers and spawned tasks need.

use crate::repeats::{self, KeptAnswer, NamedRequest};
use crate::site::apply_in;
use crate::{Applied, Error, Refusal, Result, Site};
use std::collections::hash_map::DefaultHasher;
use std::fmt::Display;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use tidings_keyspace::{Batch, CheckId, Committed, Store};
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

/// Attempts before an action gives up as [`Error::Busy`].
const ATTEMPTS: usize = 24;
/// Locks that are shared by the keys of contended actions.
const LOCKS: usize = 64;
/// The permits of this server: an attempt needs one, and an action that has only half of its attempts left needs all.
const PERMITS: u32 = 1 << 16;

/// A line of the moderation log on its way into a batch, from an action of a lower wing.
pub type Logging<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// The decision of one attempt of an action.
#[must_use]
pub(crate) enum Decision<T> {
    /// There is nothing to write; this is the answer.
    Done(T),
    /// The store has the requested state already. This is the answer, once replicas have the values that the
    /// attempt has read.
    Confirm(T),
    /// A batch is to be committed.
    Commit(Commit<T>),
}

/// A batch to commit, and what its outcome means.
pub(crate) struct Commit<T> {
    batch: Batch,
    answer: T,
    rejections: Vec<(CheckId, Rejection<T>)>,
    /// The request whose answer the batch notes.
    request: Option<NamedRequest>,
}

/// The meaning of the failure of a particular check. Any other failed check means that the
/// action lost a race.
enum Rejection<T> {
    /// The action is over, with this answer or error.
    Answer(Result<T>),
    /// The drawn id is in use because the counter is behind. The next attempt draws
    /// another id.
    IdInUse { counter: &'static str, id: String },
}

impl<T> Decision<T> {
    /// Commits a batch. `answer` is the action's result once the batch is applied.
    pub(crate) const fn commit(batch: Batch, answer: T) -> Self {
        Self::Commit(Commit { batch, answer, rejections: Vec::new(), request: None })
    }

    /// If `check` fails, the action ends with `answer` and nothing is written. `None`
    /// adds nothing.
    pub(crate) fn if_rejected_by(self, check: impl Into<Option<CheckId>>, answer: Result<T>) -> Self {
        self.with_rejection(check.into(), Rejection::Answer(answer))
    }

    /// `check` says that an id drawn from `counter` is free. Its failure is logged as an
    /// error, and the next attempt draws another id.
    pub(crate) fn draws_unused(
        self,
        check: impl Into<Option<CheckId>>,
        counter: &'static str,
        id: impl Display,
    ) -> Self {
        self.with_rejection(check.into(), Rejection::IdInUse { counter, id: id.to_string() })
    }

    /// The decision when what was asked for is so already: a form that sets a state is sent again and gets the
    /// answer, and any other request the refusal.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn done_already(request: Option<&NamedRequest>, answer: T, refusal: Refusal) -> Result<Self> {
        match request.filter(|request| request.sets_state) {
            Some(request) => Ok(Self::confirm(Some(request), answer)),
            None => Err(refusal.into()),
        }
    }

    /// Notes the answer to a request with a name in the batch; with nothing to write, in one of
    /// its own. See [`repeats`](crate::repeats). Without a name, what is so already is confirmed.
    ///
    /// # Errors
    /// As [`repeats::note`](crate::repeats::note).
    pub(crate) fn once<A: KeptAnswer>(self, request: Option<&NamedRequest>, answer: &A) -> Result<Self> {
        let mut commit = match self {
            Self::Commit(commit) => commit,
            Self::Done(answer) | Self::Confirm(answer) => {
                if request.is_none_or(|request| request.sets_state) {
                    return Ok(Self::confirm(request, answer));
                }
                Commit { batch: Batch::new(), answer, rejections: Vec::new(), request: None }
            }
        };
        let Some(request) = request else { return Ok(Self::Commit(commit)) };
        let is_new = request.write(&mut commit.batch, answer)?;
        commit.request = Some(request.clone());
        // The action ends, and what was answered is found.
        Ok(Self::Commit(commit).if_rejected_by(is_new, Err(Error::Busy)))
    }

    /// A request asks for what is so already, whatever an earlier attempt was to commit.
    fn confirm(request: Option<&NamedRequest>, answer: T) -> Self {
        request.into_iter().for_each(NamedRequest::confirmed_with_the_action);
        Self::Confirm(answer)
    }

    fn with_rejection(mut self, check: Option<CheckId>, rejection: Rejection<T>) -> Self {
        if let (Self::Commit(commit), Some(check)) = (&mut self, check) {
            commit.rejections.push((check, rejection));
        }
        self
    }
}

impl Site {
    /// Makes attempts until one of them is done or its batch is applied.
    ///
    /// `home` is the key that actions compete for. The first attempt is optimistic, unless
    /// other actions are taking turns already. After a conflict the actions of this server
    /// with the same home take turns. An action that goes on losing, to actions with other
    /// homes, makes its last attempts alone, so that none starves. An attempt must not call
    /// [`Site::act`] itself: it may hold the lock that the inner action waits for.
    ///
    /// An attempt and its batch are about one server: see [`Store::history`].
    ///
    /// Rounds: those of an attempt, and 1 for the commit; the same again for each conflict.
    ///
    /// # Errors
    /// Those of the attempt, [`Error::Busy`] after 24 conflicts, or the store's.
    pub(crate) async fn act<T, A>(&self, home: &str, attempt: impl Fn() -> A) -> Result<T>
    where
        A: Future<Output = Result<Decision<T>>>,
    {
        let (answer, _) = self.act_counting(home, attempt).await?;
        Ok(answer)
    }

    /// The same, and returns the new values of the batch's counters; none if nothing was written.
    ///
    /// # Errors
    /// As [`Site::act`].
    pub(crate) async fn act_counting<T, A>(
        &self,
        home: &str,
        attempt: impl Fn() -> A,
    ) -> Result<(T, Committed)>
    where
        A: Future<Output = Result<Decision<T>>>,
    {
        let attempts = Attempts { turns: Some((self.of::<Turns>(), home)), turn: None, left: ATTEMPTS };
        attempts.run(&self.store, attempt).await
    }

    /// The same with another bound and without taking turns: for actions that take too
    /// long for others to wait, or that rarely conflict.
    ///
    /// # Errors
    /// As [`Site::act`], but [`Error::Busy`] after `attempts` conflicts.
    pub(crate) async fn act_without_turns<T, A>(&self, attempts: usize, attempt: impl Fn() -> A) -> Result<T>
    where
        A: Future<Output = Result<Decision<T>>>,
    {
        act_on(&self.store, attempts, attempt).await
    }
}

/// [`Site::act_without_turns`] for a task that outlives its request and has a store of its
/// own.
///
/// # Errors
/// As [`Site::act_without_turns`].
pub(crate) async fn act_on<T, A>(store: &Store, attempts: usize, attempt: impl Fn() -> A) -> Result<T>
where
    A: Future<Output = Result<Decision<T>>>,
{
    let attempts = Attempts { turns: None, turn: None, left: attempts };
    let (answer, _) = attempts.run(store, attempt).await?;
    Ok(answer)
}

/// The attempts that an action may still make.
struct Attempts<'a> {
    /// Where the action takes turns, and its home.
    turns: Option<(&'a Turns, &'a str)>,
    turn: Option<MutexGuard<'a, ()>>,
    left: usize,
}

impl<'a> Attempts<'a> {
    async fn run<T, A>(mut self, store: &Store, attempt: impl Fn() -> A) -> Result<(T, Committed)>
    where
        A: Future<Output = Result<Decision<T>>>,
    {
        let mut has_lost = false;
        while self.left > 0 {
            self.wait_for_turn(has_lost).await;
            let _permits = self.permits().await;
            self.left -= 1;
            let history = store.history().await?;
            let commit = match attempt().await? {
                Decision::Done(answer) => return Ok((answer, Committed::default())),
                Decision::Confirm(answer) => {
                    repeats::confirm(store, &history).await?;
                    return Ok((answer, Committed::default()));
                }
                Decision::Commit(commit) => commit,
            };
            let check = match apply_in(store, &history, commit.batch).await? {
                Applied::Yes(committed) => return Ok((commit.answer, committed)),
                Applied::No(check) => check,
            };
            // The note was not written with the rest.
            commit.request.iter().for_each(NamedRequest::withdraw_note);
            match commit.rejections.into_iter().find(|(meant, _)| *meant == check) {
                Some((_, Rejection::Answer(answer))) => {
                    return answer.map(|answer| (answer, Committed::default()));
                }
                Some((_, Rejection::IdInUse { counter, id })) => {
                    tracing::error!(counter, id, "this id is in use: the counter is behind");
                }
                None => {}
            }
            has_lost = true;
        }
        Err(Error::Busy)
    }

    /// Takes the turn, if it is needed and not held yet.
    async fn wait_for_turn(&mut self, has_lost: bool) {
        if let Some(lock) = self.turns.and_then(|(turns, home)| turns.lock_of(home))
            && self.turn.is_none()
            && (has_lost || lock.try_lock().is_err())
        {
            self.turn = Some(lock.lock().await);
        }
    }

    /// The permits of the next attempt, which it needs beside its turn.
    async fn permits(&self) -> Option<SemaphorePermit<'a>> {
        let (turns, _) = self.turns?;
        let needed = if self.left > ATTEMPTS / 2 { 1 } else { PERMITS };
        turns.permits.acquire_many(needed).await.ok()
    }
}

/// Locks by which the actions of this server take turns at a key. Different keys may share
/// a lock, which costs a wait and nothing else.
pub(crate) struct Turns {
    locks: Vec<Mutex<()>>,
    permits: Semaphore,
}

crate::process_state::process_state!(Turns);

impl Default for Turns {
    fn default() -> Self {
        Self {
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            permits: Semaphore::new(PERMITS as usize),
        }
    }
}

impl Turns {
    fn lock_of(&self, key: &str) -> Option<&Mutex<()>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        self.locks.get(usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tidings_keyspace::read;

    /// A batch whose only check always fails.
    fn rejected_batch() -> (Batch, CheckId) {
        let mut batch = Batch::new();
        let check = batch.key_present("absent");
        (batch, check)
    }

    #[tokio::test]
    async fn an_action_that_always_loses_gives_up_as_busy() {
        let site = Site::in_memory().await;
        let made = Cell::new(0);
        let acted = site.act("home", || async {
            made.set(made.get() + 1);
            Ok(Decision::commit(rejected_batch().0, ()))
        });
        assert!(matches!(acted.await, Err(Error::Busy)));
        assert_eq!(made.get(), ATTEMPTS);

        let made = Cell::new(0);
        let acted = site.act_without_turns(3, || async {
            made.set(made.get() + 1);
            Ok(Decision::commit(rejected_batch().0, ()))
        });
        assert!(matches!(acted.await, Err(Error::Busy)));
        assert_eq!(made.get(), 3);
    }

    #[tokio::test]
    async fn a_check_with_its_own_answer_ends_the_action() {
        let site = Site::in_memory().await;
        let refused = site.act("home", || async {
            let (batch, check) = rejected_batch();
            Ok(Decision::commit(batch, 1).if_rejected_by(check, Err(Refusal::SessionEnded.into())))
        });
        assert!(matches!(refused.await, Err(Error::Refused(Refusal::SessionEnded))));
        let answered = site.act("home", || async {
            let (batch, check) = rejected_batch();
            Ok(Decision::commit(batch, 1).if_rejected_by(check, Ok(2)))
        });
        assert_eq!(answered.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn an_id_in_use_is_drawn_again() {
        let site = Site::in_memory().await;
        let last_id = Cell::new(0);
        let drawn = site.act("home", || async {
            let id = last_id.get() + 1;
            last_id.set(id);
            let (batch, check) = if id == 3 { (Batch::new(), None) } else { some(rejected_batch()) };
            Ok(Decision::commit(batch, id).draws_unused(check, "ids", id))
        });
        assert_eq!(drawn.await.unwrap(), 3);
    }

    fn some((batch, check): (Batch, CheckId)) -> (Batch, Option<CheckId>) {
        (batch, Some(check))
    }

    #[tokio::test]
    async fn actions_that_race_for_a_key_all_succeed() {
        let site = Site::in_memory().await;
        let increment = async |home: usize| {
            let home = home.to_string();
            let acted = site.act_counting(&home, || async {
                let count = site.store.fetch(read::string("count")).await?;
                let mut batch = Batch::new();
                match count {
                    Some(count) => batch.string_equals("count", count),
                    None => batch.key_absent("count"),
                };
                batch.increment("count", 1);
                Ok(Decision::commit(batch, ()))
            });
            acted.await.unwrap().1.counter("count").unwrap()
        };
        // Whether they have one home, or each its own.
        for (homes, last) in [(1, 100), (100, 200)] {
            let actions = (0..100).map(|action| increment(action % homes));
            let mut counts = futures_util::future::join_all(actions).await;
            counts.sort_unstable();
            assert_eq!(counts, (last - 99..=last).collect::<Vec<i64>>());
        }
    }

    #[tokio::test]
    async fn an_action_with_nothing_to_write_writes_nothing() {
        let site = Site::in_memory().await;
        let (answer, committed) =
            site.act_counting("home", || async { Ok(Decision::Done(7)) }).await.unwrap();
        assert_eq!((answer, committed), (7, Committed::default()));
    }
}
