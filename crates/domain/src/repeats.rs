//! Requests that are safe to repeat. A client names a request; the same request with the same name
//! again, within an hour, is answered as the first was, and nothing is done. With other contents it is
//! another request: a person who goes back to a page and writes something else in the form, which
//! still has the old name, is not answered as before.
//!
//! Keys: `request:<user id>:<hash>`, the answer to a request that was acted on.
//!
//! `once` runs an action for a request. The action notes its answer in the batch that does
//! what was asked for (`Decision::once` or `note`), with a check that the request is new. So
//! both happen or neither does, and of two equal requests at the same time one acts. An action that has noted nothing, because it is many batches or did
//! nothing, is noted after its end: such actions can be done twice without harm.
//!
//! A request that is new costs no round more than one without a name, unless it is noted after
//! its end. A repeat costs one round if this server did the first; else it fails like a second
//! action, at the latest at the check of its batch, and one round more finds the answer.
//!
//! A request that sets a state (`NamedRequest::setting_a_state`) keeps no answer. It acts whenever there is
//! something to do, and what is so already is not refused (`Decision::done_already`). So a page that the browser
//! keeps, and with it the name, can be used for one choice, for the other, and for the first again.
//!
//! The answer may be of a write that is not sure: it is on the primary, but not on the replicas that it
//! must be on (`StoreOptions::replicas`), and may be lost. So before an answer is given that this server has
//! not acknowledged itself, replicas must have it, which takes another round on such a store. The batch of that round
//! checks the answer itself: it may have been read on a primary that another has replaced meanwhile, and the
//! replicas of the other say nothing about it. For the same reason, what is so already is confirmed by the
//! server that has said so (`Store::history`).

mod answer;

pub use answer::KeptAnswer;

use crate::site::apply_in;
use crate::values::{RequestHash, RequestName, UserId};
use crate::{Applied, Error, Result, Site, keys};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidings_keyspace::{Batch, CheckId, CommitError, Committed, History, KeyspaceError, Store, read};

/// How long the answer to a request is kept.
pub const KEPT: Duration = Duration::from_secs(3_600);
/// The most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 2_048;
/// Requests that a server remembers to have answered.
const REMEMBERED: usize = 4_096;

/// A request of an account that has a name.
#[derive(Debug, Clone)]
pub struct NamedRequest {
    user: UserId,
    key: String,
    name: RequestName,
    /// Whether it acts again, and keeps no answer.
    pub(crate) sets_state: bool,
    /// Whether a batch that was to be committed notes the answer or sets the state, or the action has waited for
    /// replicas itself.
    is_noted: Arc<AtomicBool>,
}

impl PartialEq for NamedRequest {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for NamedRequest {}

impl NamedRequest {
    /// A request of an account, with the address that it was sent to and all its fields that matter.
    pub fn new(user: UserId, name: RequestName, address: &str, fields: &[(&str, &str)]) -> Self {
        let hash = RequestHash::of(&name, address, fields);
        Self { user, key: keys::request(user, &hash), name, sets_state: false, is_noted: Arc::default() }
    }

    /// The same request, of a form that sets a state: a vote, a follow, a setting. Sent twice it is as once, and
    /// sent again after a change it sets the state again.
    #[must_use]
    pub fn setting_a_state(mut self) -> Self {
        self.sets_state = true;
        self
    }

    /// A part of the request, which does several things one after the other: each is done once, also if a repeat
    /// follows a failure half-way.
    #[must_use]
    pub fn part(&self, name: &str) -> Self {
        let hash = RequestHash::of(&self.name, &self.key, &[("part", name)]);
        Self { key: keys::request(self.user, &hash), is_noted: Arc::default(), ..self.clone() }
    }

    /// The client's name for the request.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Adds the answer to a batch, which then fails if the request was answered already. To the batch that
    /// sets a state, nothing.
    pub(crate) fn write<A: KeptAnswer>(&self, batch: &mut Batch, answer: &A) -> Result<Option<CheckId>> {
        self.is_noted.store(true, Ordering::Relaxed);
        if self.sets_state {
            return Ok(None);
        }
        let record = answer.to_text();
        if record.len() > MAX_ANSWER_BYTES {
            return Err(Error::Internal(format!("the answer to a request has {} bytes", record.len())));
        }
        let is_new = batch.key_absent(&self.key);
        batch.set_expiring(&self.key, record, KEPT);
        Ok(Some(is_new))
    }

    /// Says that the batch of an attempt was not applied: what the action answers after all is noted, or
    /// confirmed, after its end.
    pub(crate) fn withdraw_note(&self) {
        self.is_noted.store(false, Ordering::Relaxed);
    }

    /// Says that an action that finds nothing to do waits for replicas itself.
    pub(crate) fn confirmed_with_the_action(&self) {
        self.is_noted.store(true, Ordering::Relaxed);
    }

    /// The answer, if the request was answered. Rounds: 1, and 1 on a store that waits for replicas, unless
    /// this server knows that they have it.
    async fn answer<A: KeptAnswer>(&self, site: &Site) -> Result<Option<A>> {
        let Some(record) = site.store.fetch(read::string(&self.key)).await? else { return Ok(None) };
        if site.store.waits_for_replicas() && !site.of::<AnsweredNames>().knows(&self.key) {
            let batch = Batch::of(|batch| batch.string_equals(&self.key, &*record));
            unsure_unless_confirmed(site.store.commit(batch).await)?;
        }
        site.of::<AnsweredNames>().remember(&self.key);
        let unreadable = || Error::Internal(format!("{} holds no answer of the action", self.key));
        A::from_text(&record).map(Some).ok_or_else(unreadable)
    }

    /// Notes the answer to an action that has not done so itself, and was done in this history. Returns false if
    /// an equal request was faster. Rounds: 1.
    async fn note_after<A: KeptAnswer>(&self, site: &Site, history: &History, answer: &A) -> Result<bool> {
        let mut batch = Batch::new();
        self.write(&mut batch, answer)?;
        Ok(matches!(apply_in(&site.store, history, batch).await?, Applied::Yes(_)))
    }
}

/// Adds the answer to a request with a name to a batch. The batch then fails if the request
/// was answered already, and [`once`] finds the answer.
///
/// # Errors
/// [`Error::Internal`] if the answer is too large, which no action's is.
pub(crate) fn note<A: KeptAnswer>(
    request: Option<&NamedRequest>,
    batch: &mut Batch,
    answer: &A,
) -> Result<()> {
    if let Some(request) = request {
        request.write(batch, answer)?;
    }
    Ok(())
}

/// Runs an action, unless the request was acted on within the last hour: then it gives the
/// answer of that time. An action that fails is not noted, so that a repeat tries again.
///
/// # Errors
/// Those of the action, or the store's.
pub(crate) async fn once<T, E>(
    site: &Site,
    request: Option<&NamedRequest>,
    action: impl Future<Output = Result<T, E>>,
) -> Result<T, E>
where
    T: KeptAnswer,
    E: From<Error>,
{
    let Some(request) = request else { return action.await };
    let history = site.store.history().await.map_err(Error::from)?;
    if request.sets_state {
        let answer = action.await?;
        if !request.is_noted.load(Ordering::Relaxed) {
            confirm(&site.store, &history).await?;
        }
        return Ok(answer);
    }
    if site.of::<AnsweredNames>().knows(&request.key)
        && let Some(answer) = request.answer(site).await?
    {
        return Ok(answer);
    }
    let failure = match action.await {
        Ok(answer) => {
            if request.is_noted.load(Ordering::Relaxed) || request.note_after(site, &history, &answer).await?
            {
                site.of::<AnsweredNames>().remember(&request.key);
                return Ok(answer);
            }
            Error::Busy.into()
        }
        Err(failure) => failure,
    };
    // A repeat fails in many ways: the vote is cast already, the rate is used up. So does an
    // action whose commit was not answered, and then it may have been done.
    match request.answer(site).await {
        Ok(Some(answer)) => Ok(answer),
        // The outcome is unsure, whatever else the action may have said.
        Err(error @ Error::Store(KeyspaceError::Unsure(_))) => Err(error.into()),
        Ok(None) | Err(Error::Store(_)) => Err(failure),
        Err(error) => Err(error.into()),
    }
}

/// Waits until replicas have what was read in this history, whoever has written it. Rounds: 1 on a store that
/// waits for them.
///
/// # Errors
/// [`KeyspaceError::Unsure`].
pub(crate) async fn confirm(store: &Store, history: &History) -> Result<()> {
    if store.waits_for_replicas() {
        // There is nothing in it to be applied, only to wait for.
        unsure_unless_confirmed(store.commit_in(history, Batch::new()).await)?;
    }
    Ok(())
}

/// Fails unless a batch that checks the values that were read was applied: otherwise they may be lost.
fn unsure_unless_confirmed(confirmed: Result<Committed, CommitError>) -> Result<()> {
    match confirmed {
        Ok(_) => Ok(()),
        Err(CommitError::Keyspace(error @ KeyspaceError::Unsure(_))) => Err(error.into()),
        Err(CommitError::Keyspace(error)) => Err(KeyspaceError::Unsure(error.to_string()).into()),
        Err(CommitError::Rejected(_)) => {
            let reason = "the primary was replaced by one that does not have it".to_owned();
            Err(KeyspaceError::Unsure(reason).into())
        }
    }
}

/// The latest requests that this server has answered, so that a repeat is recognised before
/// it does anything. They are hashes of keys: one that is the same by chance costs a round.
#[derive(Default)]
pub(crate) struct AnsweredNames(Mutex<VecDeque<u64>>);

crate::process_state::process_state!(AnsweredNames);

impl AnsweredNames {
    fn knows(&self, key: &str) -> bool {
        self.0.lock().contains(&hash(key))
    }

    fn remember(&self, key: &str) {
        let mut answered = self.0.lock();
        let hash = hash(key);
        if !answered.contains(&hash) {
            answered.truncate(REMEMBERED - 1);
            answered.push_front(hash);
        }
    }
}

fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decision, Refusal};
    use std::sync::atomic::AtomicU64;
    use tidings_keyspace::{EngineClock, Store, StoreOptions};

    /// Unix milliseconds.
    const START: u64 = 1_800_000_000_000;

    /// A site on a store whose keys expire by this clock.
    async fn site(clock: &Arc<AtomicU64>) -> Site {
        let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..StoreOptions::default() };
        let store = Store::open("redb::memory:", &options).await.unwrap();
        Site::on(store)
    }

    fn named(user: u64, name: &str, address: &str) -> Option<NamedRequest> {
        let name = RequestName::parse(name).unwrap();
        Some(NamedRequest::new(UserId(user), name, address, &[("field", "value")]))
    }

    /// Adds 1 to a counter, which it answers.
    async fn count(site: &Site, request: Option<NamedRequest>) -> Result<u64> {
        let action = site.act("count", || async {
            let count = site.store.fetch(read::string("count")).await?;
            let next: u64 = count.as_deref().map_or(0, |count| count.parse().unwrap()) + 1;
            let mut batch = Batch::new();
            match count {
                Some(count) => batch.string_equals("count", count),
                None => batch.key_absent("count"),
            };
            batch.set("count", next.to_string());
            Decision::commit(batch, next).once(request.as_ref(), &next)
        });
        once(site, request.as_ref(), action).await
    }

    #[tokio::test]
    async fn a_repeat_is_answered_as_the_first_and_does_nothing_on_another_server_too() {
        let site = site(&Arc::new(START.into())).await;
        assert_eq!(count(&site, named(1, "a", "/count")).await.unwrap(), 1);
        assert_eq!(count(&site, named(1, "a", "/count")).await.unwrap(), 1);
        assert_eq!(count(&site, named(1, "b", "/count")).await.unwrap(), 2, "another name");
        assert_eq!(count(&site, named(2, "a", "/count")).await.unwrap(), 3, "another account");
        assert_eq!(count(&site, None).await.unwrap(), 4, "no name");
        assert_eq!(count(&site, named(1, "a", "/count")).await.unwrap(), 1);
        let other = Site::on(site.store.clone());
        assert_eq!(count(&other, named(1, "a", "/count")).await.unwrap(), 1);
        assert_eq!(count(&other, None).await.unwrap(), 5);
    }

    #[tokio::test]
    async fn of_equal_requests_at_the_same_time_one_acts() {
        let site = site(&Arc::new(START.into())).await;
        let requests = (0..50).map(|_| count(&site, named(1, "a", "/count")));
        for answered in futures_util::future::join_all(requests).await {
            assert_eq!(answered.unwrap(), 1);
        }
        assert_eq!(count(&site, None).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_name_is_forgotten_after_an_hour() {
        let clock = Arc::new(AtomicU64::new(START));
        let site = site(&clock).await;
        assert_eq!(count(&site, named(1, "a", "/count")).await.unwrap(), 1);
        clock.fetch_add(3_599_000, Ordering::SeqCst);
        assert_eq!(count(&site, named(1, "a", "/count")).await.unwrap(), 1);
        clock.fetch_add(2_000, Ordering::SeqCst);
        assert_eq!(count(&site, named(1, "a", "/count")).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn the_same_name_for_something_else_is_another_request() {
        let site = site(&Arc::new(START.into())).await;
        let asking = |address: &str, fields: &[(&str, &str)]| {
            let name = RequestName::parse("a").unwrap();
            Some(NamedRequest::new(UserId(1), name, address, fields))
        };
        assert_eq!(count(&site, asking("/count", &[("by", "1"), ("to", "2")])).await.unwrap(), 1);
        assert_eq!(count(&site, asking("/other", &[("by", "1"), ("to", "2")])).await.unwrap(), 2);
        assert_eq!(count(&site, asking("/count", &[("by", "1"), ("to", "3")])).await.unwrap(), 3);
        // The order of the fields does not matter.
        assert_eq!(count(&site, asking("/count", &[("to", "2"), ("by", "1")])).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn an_action_that_fails_is_tried_again() {
        let site = site(&Arc::new(START.into())).await;
        let request = named(1, "a", "/count");
        let failed: Result<u64> = once(&site, request.as_ref(), async { Err(Error::Busy) }).await;
        assert!(matches!(failed, Err(Error::Busy)));
        assert_eq!(count(&site, named(1, "a", "/count")).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_request_that_sets_a_state_acts_again_and_keeps_no_answer() {
        let site = site(&Arc::new(START.into())).await;
        let request = || named(1, "a", "/count").map(NamedRequest::setting_a_state);
        assert_eq!(count(&site, request()).await.unwrap(), 1);
        assert_eq!(count(&site, request()).await.unwrap(), 2);
        let failed: Result<u64> = once(&site, request().as_ref(), async { Err(Error::Busy) }).await;
        assert!(matches!(failed, Err(Error::Busy)));
    }

    #[tokio::test]
    async fn what_is_so_already_is_refused_unless_a_form_sets_a_state() {
        let already =
            |request: Option<&NamedRequest>| Decision::done_already(request, 1, Refusal::VotedAlready(None));
        let request = named(1, "a", "/x");
        assert!(already(None).is_err() && already(request.as_ref()).is_err());
        assert!(matches!(
            already(request.map(NamedRequest::setting_a_state).as_ref()),
            Ok(Decision::Confirm(1))
        ));
    }

    #[tokio::test]
    async fn an_action_that_notes_nothing_or_writes_nothing_is_noted_too() {
        let site = site(&Arc::new(START.into())).await;
        let done = once(&site, named(1, "a", "/x").as_ref(), async { Ok::<u64, Error>(1) }).await;
        assert_eq!(done.unwrap(), 1);
        let again = once(&site, named(1, "a", "/x").as_ref(), async { Ok::<u64, Error>(2) }).await;
        assert_eq!(again.unwrap(), 1);
        let decide = async |answer: u64| {
            let request = named(1, "b", "/x");
            let action =
                site.act("home", || async { Decision::Done(answer).once(request.as_ref(), &answer) });
            once(&site, request.as_ref(), action).await
        };
        assert_eq!(decide(1).await.unwrap(), 1);
        assert_eq!(decide(2).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_request_with_a_name_takes_no_round_more() {
        let site = site(&Arc::new(START.into())).await;
        let rounds = async |request| {
            let before = site.store.rounds();
            count(&site, request).await.unwrap();
            site.store.rounds() - before
        };
        assert_eq!(rounds(None).await, 2);
        assert_eq!(rounds(named(1, "a", "/count")).await, 2);
        assert_eq!(rounds(named(1, "a", "/count")).await, 1, "a repeat only reads");
    }
}
