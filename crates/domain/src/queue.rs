//! The queue: all that waits to be done or sent, by when it is due, and the servers that are at it.
//!
//! A `Lane` has what waits for one receiver or one kind of work: the background jobs, the mails, the messages to one
//! webhook. One lane does not hold up another. A server takes a `SendingTurn` before it sends something to a receiver, so that
//! other servers leave the receiver alone; `crate::jobs` has a lease on each job that is under way.
//!
//! Keys: `queue:leases`, and the lists of the lanes.
//!
//! Nothing is put off or left to a server for much longer than intended, even if the clock is set back meanwhile:
//! `Timestamp::has_come` is the one guard.

use crate::values::{
    HookId, LAST_WAIT_SECONDS, Malformed, Moment, Timestamp, random_token, record_text, wait_after,
};
use crate::{Applied, Result, Site, keys};
use std::borrow::Cow;
use std::time::{Duration, Instant};
use tidings_keyspace::{Batch, CheckId, Fetch, Order, read};

/// After how long a server ends its turn, with the next look as its next turn.
const TURN: Duration = Duration::from_secs(10);
/// How long other servers leave a receiver to the server that has the turn: longer than a turn takes.
const TURN_LEASE: Duration = Duration::from_secs(60);
/// How far the clock of another server may be ahead, so that a lease of it is not taken for one from before the clock was
/// set back.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);
/// The longest time for which a job is put off.
pub(crate) const LONGEST_JOB_DELAY: Duration = Duration::from_secs(60);
/// The distance between members that one batch adds to a lane, which keeps their order, in seconds: about a
/// microsecond, which a score can still hold.
pub(crate) const ORDER_STEP: f64 = 1.0 / 1_048_576.0;

/// Some of what waits.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    /// A sorted set of what waits, by when it is due.
    pub(crate) key: Cow<'static, str>,
    /// The same, by when it was written; `None` if the members or their scores say so.
    written: Option<&'static str>,
    /// The longest time for which something is put off, in seconds.
    longest: u64,
}

impl Lane {
    /// The background jobs.
    pub(crate) const JOBS: Self =
        Self { key: Cow::Borrowed(keys::TIMELINE_JOBS), written: None, longest: LONGEST_JOB_DELAY.as_secs() };
    /// The mails.
    pub(crate) const MAILS: Self = Self {
        key: Cow::Borrowed(keys::MAIL_OUTBOX),
        written: Some(keys::MAIL_WRITTEN),
        longest: LAST_WAIT_SECONDS,
    };

    /// The messages to a webhook.
    pub(crate) fn of_hook(hook: HookId) -> Self {
        Self { key: Cow::Owned(keys::hook_outbox(hook)), written: None, longest: LAST_WAIT_SECONDS }
    }

    /// Adds to a batch that something waits, from now on. Its score says when it is due, and in which order.
    pub(crate) fn write(&self, batch: &mut Batch, member: &str, due: f64) {
        batch.sorted_add(&*self.key, member, due);
        if let Some(written) = self.written {
            batch.sorted_add(written, member, due);
        }
    }

    /// Adds to a batch that something no longer waits.
    pub(crate) fn write_removal(&self, batch: &mut Batch, member: &str) {
        batch.sorted_remove(&*self.key, member);
        if let Some(written) = self.written {
            batch.sorted_remove(written, member);
        }
    }

    /// Adds to a batch what becomes of a member after an attempt.
    pub(crate) fn write_fate(&self, batch: &mut Batch, now: Timestamp, member: &str, fate: Fate) {
        match fate {
            Fate::After(seconds) => {
                let due = Timestamp(now.0.saturating_add(seconds)).as_score();
                batch.sorted_add_if_present(&*self.key, member, due);
            }
            Fate::Over | Fate::GivenUp => self.write_removal(batch, member),
        }
    }

    /// The members that are due, the oldest first; at most twice as many as asked for.
    pub(crate) fn due(&self, now: Timestamp, most: u64) -> impl Fetch<Value = Vec<(String, f64)>> + use<> {
        let of_scores = |scores| read::sorted_by_score(&*self.key, Order::Ascending, scores, most);
        let due = now.scores_that_have_come(self.longest).map(of_scores);
        Fetch::map(due, |[due, ahead]| due.into_iter().chain(ahead).collect())
    }

    /// How much waits.
    pub(crate) fn waiting(&self) -> impl Fetch<Value = LaneFigures> + use<> {
        let by_age = self.written.unwrap_or(&self.key);
        let oldest = read::sorted_range(by_age, Order::Ascending, 0, 1);
        (read::sorted_count(&*self.key), oldest).map(|(count, oldest)| LaneFigures {
            count,
            oldest: oldest.first().map(|(_, since)| Moment::from_score(*since)),
        })
    }
}

/// How much waits in a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneFigures {
    /// How many.
    pub count: u64,
    /// Since when the oldest waits.
    pub oldest: Option<Moment>,
}

impl LaneFigures {
    /// For how many seconds the oldest has waited; 0 if nothing waits.
    pub fn oldest_seconds(&self, now: Timestamp) -> u64 {
        self.oldest.map_or(0, |oldest| now.seconds_since(oldest.timestamp()))
    }
}

/// The fate of something after an attempt to send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It no longer waits: it was taken, or is refused for good.
    Over,
    /// It is tried again after so many seconds.
    After(u64),
    /// It was tried for a day, and is dropped.
    GivenUp,
}

impl Fate {
    /// The fate of something that is not taken and has waited since a time.
    pub fn after_failure(now: Timestamp, since: Timestamp) -> Self {
        wait_after(now.seconds_since(since)).map_or(Self::GivenUp, Self::After)
    }
}

/// The name of a server among those that use a store, for as long as it runs.
struct ServerName(String);

crate::process_state::process_state!(ServerName);

impl Default for ServerName {
    fn default() -> Self {
        Self(random_token().unwrap_or_else(|_| std::process::id().to_string()))
    }
}

/// A lease as it is stored.
pub(crate) struct StoredLease {
    /// Its end, in milliseconds.
    until: u64,
    /// How long it is, in milliseconds.
    length: u64,
    /// The server that has it; empty if nobody has, and what it is about rests.
    by: String,
}

record_text!(StoredLease or Malformed: {until} ":" {length} ":" {by});

/// Adds to a batch that others leave something alone: to a server, or to rest.
fn write_held(batch: &mut Batch, of: &str, by: &str, now: Moment, length: Duration) -> String {
    let until = now.after(length).0;
    let held = StoredLease { until, length: until.saturating_sub(now.0), by: by.to_owned() }.to_string();
    batch.set_field(keys::QUEUE_LEASES, of, &held);
    held
}

/// The lease on something: a server works on it, or it rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    of: String,
    stored: Option<String>,
}

impl Lease {
    /// The lease on something.
    pub(crate) fn of(of: &str) -> impl Fetch<Value = Self> + use<> {
        let name = of.to_owned();
        read::field(keys::QUEUE_LEASES, of).map(|stored| Self { of: name, stored })
    }

    /// Adds to a batch that this server works on something for so long.
    pub(crate) fn write(batch: &mut Batch, site: &Site, of: &str, now: Moment, length: Duration) {
        write_held(batch, of, &site.of::<ServerName>().0, now, length);
    }

    /// Adds to a batch that nobody works on something, and that it does not rest.
    pub(crate) fn write_end(batch: &mut Batch, of: &str) {
        batch.delete_field(keys::QUEUE_LEASES, of);
    }

    /// The server that works on it, an empty text while it rests; `None` if it is free. An embedded store has one
    /// server, so what another name has is left over from an earlier process.
    fn holder(&self, site: &Site, now: Moment) -> Option<String> {
        let StoredLease { until, length, by } = self.stored.as_deref()?.parse().ok()?;
        let is_left = !by.is_empty() && by != site.of::<ServerName>().0 && !site.store.is_shared();
        let longest = Duration::from_millis(length).saturating_add(CLOCK_DIFFERENCE);
        let is_over = is_left || now.has_come(Moment(until), longest);
        (!is_over).then_some(by)
    }

    /// Whether another server works on it.
    pub(crate) fn is_of_another(&self, site: &Site, now: Moment) -> bool {
        self.holder(site, now).is_some_and(|by| !by.is_empty() && by != site.of::<ServerName>().0)
    }

    /// Whether nobody works on it, and it does not rest.
    pub(crate) fn is_free(&self, site: &Site, now: Moment) -> bool {
        self.holder(site, now).is_none()
    }

    /// Takes it for a turn of this server. `None` if another was faster, or the batch is rejected: its checks say that
    /// there is still something to do. Rounds: 1.
    pub(crate) async fn take(
        &self,
        site: &Site,
        now: Moment,
        mut batch: Batch,
    ) -> Result<Option<SendingTurn>> {
        if !self.is_free(site, now) {
            return Ok(None);
        }
        batch.field_unchanged(keys::QUEUE_LEASES, &self.of, self.stored.as_deref());
        let held = write_held(&mut batch, &self.of, &site.of::<ServerName>().0, now, TURN_LEASE);
        let is_taken = matches!(site.apply(batch).await?, Applied::Yes(_));
        Ok(is_taken.then(|| SendingTurn { of: self.of.clone(), held, began: Instant::now() }))
    }
}

/// The turn of this server to send something to a receiver.
#[derive(Debug)]
pub struct SendingTurn {
    of: String,
    held: String,
    began: Instant,
}

impl SendingTurn {
    /// Makes a batch fail if the turn has ended.
    pub(crate) fn demand(&self, batch: &mut Batch) -> CheckId {
        batch.field_equals(keys::QUEUE_LEASES, &self.of, &self.held)
    }

    /// Whether there is time to send one more thing, after the outcome of the last one: `Some` if the receiver is to
    /// rest for so long.
    pub fn goes_on(&self, last: &Result<Option<Duration>>) -> bool {
        matches!(last, Ok(None)) && self.began.elapsed() < TURN
    }

    /// Ends the turn after the last outcome. Rounds: 1.
    ///
    /// # Errors
    /// That of the outcome, or the store's. If the turn cannot be ended, it ends a minute after it began.
    pub async fn end(self, site: &Site, now: Moment, last: Result<Option<Duration>>) -> Result<()> {
        let mut batch = Batch::new();
        self.demand(&mut batch);
        match last {
            Ok(Some(rest)) => _ = write_held(&mut batch, &self.of, "", now, rest),
            Ok(None) | Err(_) => Lease::write_end(&mut batch, &self.of),
        }
        site.apply(batch).await?;
        last.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment(1_800_000_000_000);
    const REST: Duration = Duration::from_secs(30);

    async fn lease(site: &Site) -> Lease {
        site.store.fetch(Lease::of("mails")).await.unwrap()
    }

    fn later(seconds: u64) -> Moment {
        NOW.after(Duration::from_secs(seconds))
    }

    #[tokio::test]
    async fn a_turn_is_of_one_server_until_it_ends_or_a_minute_has_passed() {
        let site = Site::in_memory().await;
        let before = lease(&site).await;
        let turn = before.take(&site, NOW, Batch::new()).await.unwrap().unwrap();
        // Somebody who has read the same is too late.
        assert!(before.take(&site, NOW, Batch::new()).await.unwrap().is_none());
        let taken = lease(&site).await;
        assert!(!taken.is_free(&site, later(59)) && taken.is_free(&site, later(60)));
        // The clock of another server is behind, or this one was set back by an hour.
        assert!(
            !taken.is_free(&site, Moment(NOW.0 - 60_000)) && taken.is_free(&site, Moment(NOW.0 - 3_600_000))
        );
        turn.end(&site, NOW, Ok(Some(REST))).await.unwrap();
        let resting = lease(&site).await;
        assert!(!resting.is_free(&site, later(29)) && resting.is_free(&site, later(30)));
        let next = resting.take(&site, later(30), Batch::new()).await.unwrap().unwrap();
        next.end(&site, later(30), Ok(None)).await.unwrap();
        assert_eq!(lease(&site).await, before);
    }

    #[tokio::test]
    async fn a_turn_that_was_lost_does_not_end_that_of_another() {
        let site = Site::in_memory().await;
        let lost = lease(&site).await.take(&site, NOW, Batch::new()).await.unwrap().unwrap();
        lease(&site).await.take(&site, later(61), Batch::new()).await.unwrap().unwrap();
        let taken = lease(&site).await;
        lost.end(&site, later(61), Ok(None)).await.unwrap();
        assert_eq!(lease(&site).await, taken);
    }

    #[tokio::test]
    async fn what_an_earlier_process_was_at_is_free() {
        let site = Site::in_memory().await;
        let until = later(50).0;
        for (held, is_free) in [
            (format!("{until}:60000:another"), true),
            (format!("{until}:60000:{}", site.of::<ServerName>().0), false),
            (format!("{until}:60000:"), false),
            ("unreadable".to_owned(), true),
        ] {
            let mut batch = Batch::new();
            batch.set_field(keys::QUEUE_LEASES, "mails", &held);
            site.store.commit(batch).await.unwrap();
            assert_eq!(lease(&site).await.is_free(&site, NOW), is_free, "{held}");
        }
    }

    #[tokio::test]
    async fn what_is_tried_in_vain_waits_longer_and_keeps_its_age() {
        let site = Site::in_memory().await;
        let now = NOW.timestamp();
        let mut batch = Batch::new();
        Lane::MAILS.write(&mut batch, "a", now.as_score());
        Lane::MAILS.write_fate(&mut batch, now, "a", Fate::after_failure(now, now));
        site.store.commit(batch).await.unwrap();
        let due = async |now: Moment| site.store.fetch(Lane::MAILS.due(now.timestamp(), 9)).await.unwrap();
        assert!(due(later(59)).await.is_empty());
        assert_eq!(due(later(60)).await, [("a".to_owned(), later(60).as_score())]);
        let waiting = site.store.fetch(Lane::MAILS.waiting()).await.unwrap();
        assert_eq!(waiting, LaneFigures { count: 1, oldest: Some(NOW) });
        let mut batch = Batch::new();
        let day_later = later(86_400).timestamp();
        Lane::MAILS.write_fate(&mut batch, day_later, "a", Fate::after_failure(day_later, now));
        site.store.commit(batch).await.unwrap();
        assert_eq!(site.store.fetch(Lane::MAILS.waiting()).await.unwrap(), LaneFigures::default());
    }
}
