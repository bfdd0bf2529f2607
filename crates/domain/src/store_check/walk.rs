//! One walk over all keys: it finds what differs and, if it mends, mends what rests on nothing
//! that is called wrong.

use super::claims::{Claim, Claims, Fault, Found, Mend};
use super::counters::{self, Highest};
use super::report::{Difference, Outcome, StoreReport};
use super::subject::{self, Item, Subject};
use super::wrong::{Source, Wrong};
use super::{Check, CheckRounds, RULES, Rule, articles, timelines};
use crate::accounts::session_store;
use crate::error::Error;
use crate::keys::families::{self, Family, Holds};
use crate::site::{Applied, Site};
use crate::values::clock::Moment;
use futures_util::{StreamExt, TryStreamExt, stream};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tidings_keyspace::{Answer, Batch, Expiry, KeyspaceError, Order, Query, Read};

/// Keys whose values are read together.
const KEYS_AT_ONCE: usize = 250;
/// A value that may be large counts as many: a thread has up to 2,000 comments.
const LARGE_VALUE: usize = 25;
/// Members of a large sorted set that are read together.
const MEMBERS_AT_ONCE: u64 = 1_000;
/// Reads of other keys that travel together.
const READS_AT_ONCE: usize = 2_000;
/// Checks in several rounds that run at the same time.
const CHECKS_AT_ONCE: usize = 32;
/// How often something that differs must be seen unchanged before it is reported.
const AGREEING_LOOKS: usize = 2;
/// As many times as often where a look is not one round, but several.
const ROUNDS_LOOKS: usize = 2;
/// How often something is looked at that changes all the time.
const MOST_LOOKS: usize = 20;
/// The pause between two looks, for what is written in several batches.
const PAUSE: Duration = Duration::from_millis(20);

/// Claims about something that are not judged yet.
type Pending = (Subject, &'static Rule, Vec<Claim>);

/// Checks of something in several rounds that did not run yet.
type PendingRounds = (Subject, &'static Rule, CheckRounds);

/// One walk over all keys.
pub(super) struct Walk<'a> {
    site: &'a Site,
    now: Moment,
    mends: bool,
    /// What was called wrong so far, in earlier walks too.
    wrong: &'a mut Wrong,
    rules: HashMap<&'static str, Vec<&'static Rule>>,
    report: StoreReport,
    highest: Highest,
    pending: Vec<Pending>,
    pending_rounds: Vec<PendingRounds>,
    /// The reads of both.
    pending_reads: usize,
    /// What seems to differ.
    suspects: VecDeque<(Subject, &'static Rule)>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(site: &'a Site, now: Moment, mends: bool, wrong: &'a mut Wrong) -> Self {
        let mut rules: HashMap<_, Vec<_>> = HashMap::new();
        for rule in RULES.iter().copied().flatten() {
            rules.entry(rule.of.name).or_default().push(rule);
        }
        Self {
            site,
            now,
            mends,
            wrong,
            rules,
            report: StoreReport::default(),
            highest: Highest::default(),
            pending: Vec::new(),
            pending_rounds: Vec::new(),
            pending_reads: 0,
            suspects: VecDeque::new(),
        }
    }

    pub(super) async fn run(mut self, progress: &mut (impl FnMut(u64) + Send)) -> Result<StoreReport, Error> {
        let mut cursor = None;
        loop {
            let page = self.site.store.scan_keys(cursor, KEYS_AT_ONCE).await?;
            if let Some((before, after)) = &page.damaged {
                self.add_damage(before, after).await?;
            }
            for name in &page.not_text {
                self.report.add_stranger(name);
            }
            let count = u64::try_from(page.keys.len()).unwrap_or(0);
            let mut keys = page.keys.as_slice();
            while !keys.is_empty() {
                let (now, later) = keys.split_at(read_together(keys));
                self.check_keys(now).await?;
                keys = later;
            }
            self.settle_suspects().await?;
            self.report.keys += count;
            progress(count);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        self.judge_pending().await?;
        self.settle_suspects().await?;
        for found in std::mem::take(&mut self.highest).faults(self.site).await? {
            self.add(found, counters::SENTENCE, None).await?;
        }
        Ok(self.report)
    }

    /// Reads the values of some keys and asks for what the rules demand.
    async fn check_keys(&mut self, keys: &[String]) -> Result<(), Error> {
        let mut query = Query::new();
        query.expect_large();
        let mut known = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(subject) = Subject::of_key(key, self.now) else {
                self.report.add_stranger(key);
                continue;
            };
            query.read(value_read(&subject, 0));
            query.read(Read::Expiry(key.clone()));
            known.push(subject);
        }
        query.tolerate_all();
        let mut outcomes = self.site.store.query(query).await?.into_outcomes().into_iter();
        for subject in known {
            let (value, expiry) = (outcomes.next(), outcomes.next());
            let (Some(value), Some(expiry)) = (value, expiry) else { break };
            match (value, expiry) {
                (_, Ok(Answer::Expiry(Expiry::Absent))) => {}
                (Err(error), _) | (_, Err(error)) => self.add_unreadable(&subject, &error).await?,
                (Ok(value), Ok(expiry)) => self.check_value(subject, value, &expiry).await?,
            }
        }
        Ok(())
    }

    /// A part of the file, between two keys, in which nothing can be read.
    async fn add_damage(&mut self, before: &str, after: &str) -> Result<(), Error> {
        self.wrong.add_damage(before, after);
        let name = |key: &str, end: &str| if key.is_empty() { end.to_owned() } else { format!("{key:?}") };
        let (before_name, after_name) = (name(before, "the beginning"), name(after, "the end"));
        let fault = Fault {
            key: before.to_owned(),
            found: format!("damage between {before_name} and {after_name}"),
            expected: "keys that can be read".to_owned(),
            mend: Mend::Person("restore the store from a backup"),
        };
        // The key before the damage is good.
        let found = Found { part: Some("what follows".to_owned()), ..Found::of(fault, Vec::new()) };
        self.add(found, "the file of the store can be read", None).await
    }

    async fn add_unreadable(&mut self, subject: &Subject, error: &KeyspaceError) -> Result<(), Error> {
        let found = match error {
            KeyspaceError::WrongType(_) => "a value of another type".to_owned(),
            error => error.to_string(),
        };
        let expected = format!("a {}", subject.family.holds.name());
        let advice = "look at the key; restore it from a backup, or delete it";
        let fault = Fault { key: subject.key.clone(), found, expected, mend: Mend::Person(advice) };
        self.add(Found::of(fault, Vec::new()), "each key holds a value of its type", None).await
    }

    async fn check_value(&mut self, subject: Subject, value: Answer, expiry: &Answer) -> Result<(), Error> {
        self.highest.note(&subject, &value);
        if let Some(fault) = expiry_fault(&subject, expiry) {
            // The value itself is good.
            let found = Found { part: Some("the expiry".to_owned()), ..Found::of(fault, Vec::new()) };
            self.add(found, "limits, sessions and links expire, and nothing else does", None).await?;
        }
        self.add_item(subject.with(Item::Whole)).await?;
        let mut value = value;
        let mut offset = 0;
        loop {
            let items = subject::items_of(value);
            let count = items.len();
            for item in items {
                self.add_item(subject.with(item)).await?;
            }
            let is_last = subject.family.holds != Holds::SortedSet || count < whole(MEMBERS_AT_ONCE);
            if is_last {
                return Ok(());
            }
            offset += MEMBERS_AT_ONCE;
            let mut query = Query::new();
            query.read(value_read(&subject, offset));
            query.tolerate_all();
            value = match self.site.store.query(query).await?.into_outcomes().pop() {
                Some(Ok(value)) => value,
                _ => return Ok(()),
            };
        }
    }

    /// Asks for what the rules demand of a key or a member.
    async fn add_item(&mut self, subject: Subject) -> Result<(), Error> {
        let Some(rules) = self.rules.get(subject.family.name).cloned() else {
            return Ok(());
        };
        for rule in rules {
            match rule.check {
                Check::Claims(claim) => {
                    let claims = claims_of(claim, &subject);
                    if !claims.is_empty() {
                        self.pending_reads += claims.iter().map(|claim| claim.reads.len()).sum::<usize>();
                        self.pending.push((subject.clone(), rule, claims));
                    }
                }
                Check::Rounds(check) => {
                    self.pending_rounds.push((subject.clone(), rule, check));
                    self.pending_reads += 1;
                }
            }
        }
        if self.pending_reads >= READS_AT_ONCE { self.judge_pending().await } else { Ok(()) }
    }

    /// Runs the pending checks that take several rounds, some at a time, and notes what seems to
    /// differ.
    async fn run_rounds(&mut self) -> Result<(), Error> {
        let (site, now) = (self.site, self.now);
        let checks = stream::iter(std::mem::take(&mut self.pending_rounds))
            .map(|(subject, rule, check)| async move {
                let differs = readable(check(site, now, &subject).await)?.flatten().is_some();
                Ok::<_, Error>(differs.then_some((subject, rule)))
            })
            .buffer_unordered(CHECKS_AT_ONCE);
        let found: Vec<_> = checks.try_collect().await?;
        self.suspects.extend(found.into_iter().flatten());
        Ok(())
    }

    /// Reads what the pending claims need, and notes what seems to differ.
    async fn judge_pending(&mut self) -> Result<(), Error> {
        self.run_rounds().await?;
        let pending = std::mem::take(&mut self.pending);
        self.pending_reads = 0;
        let mut query = Query::new();
        query.expect_large();
        for read in pending.iter().flat_map(|(.., claims)| claims).flat_map(|claim| &claim.reads) {
            query.read(read.clone());
        }
        query.tolerate_all();
        let mut outcomes = self.site.store.query(query).await?.into_outcomes().into_iter();
        for (subject, rule, claims) in pending {
            let mut differs = false;
            for claim in &claims {
                differs |= !claim.judge_next(&mut outcomes).is_empty();
            }
            if differs {
                self.suspects.push_back((subject, rule));
            }
        }
        Ok(())
    }

    /// Looks again at what seems to differ, reports it, and mends it.
    async fn settle_suspects(&mut self) -> Result<(), Error> {
        self.judge_pending().await?;
        while let Some((subject, rule)) = self.suspects.pop_front() {
            for found in self.look(&subject, rule, AGREEING_LOOKS).await? {
                self.add(found, rule.sentence, Some((&subject, rule))).await?;
            }
        }
        Ok(())
    }

    /// Decides what becomes of a fault, and reports it. `again` is what can be looked at again
    /// after it was mended.
    async fn add(
        &mut self,
        found: Found,
        sentence: &'static str,
        again: Option<(&Subject, &'static Rule)>,
    ) -> Result<(), Error> {
        let Found { fault, part, missing, sources } = found;
        let cause = self.wrong.cause(&sources).map(str::to_owned);
        let mut advice = fault.mend.in_words().to_owned();
        let outcome = if let Mend::Person(_) = fault.mend {
            self.wrong.add(&fault.key, part.as_deref(), &fault.key);
            if let Some(missing) = &missing {
                self.wrong.add(missing, None, &fault.key);
            }
            Outcome::Person
        } else if let Some(cause) = cause {
            // What follows from this difference follows from its cause.
            self.wrong.add(&fault.key, part.as_deref(), &cause);
            advice = format!("correct {cause} first");
            Outcome::Person
        } else if !self.mends {
            Outcome::Mendable
        } else if self.mend(&fault).await? && !self.is_left(&fault, again).await? {
            Outcome::Mended
        } else {
            Outcome::Changed
        };
        let Fault { key, found, expected, .. } = fault;
        self.report.add(Difference { key, found, expected, advice, rule: sentence, outcome });
        Ok(())
    }

    /// Whether a fault that was mended is found again.
    async fn is_left(
        &mut self,
        fault: &Fault,
        again: Option<(&Subject, &'static Rule)>,
    ) -> Result<bool, Error> {
        let Some((subject, rule)) = again else { return Ok(false) };
        let left = self.look(subject, rule, 1).await?;
        Ok(left.iter().any(|other| other.fault.key == fault.key && other.fault.expected == fault.expected))
    }

    /// What differs of a key or a member, seen `agreeing` times without a change in between.
    async fn look(
        &mut self,
        subject: &Subject,
        rule: &'static Rule,
        agreeing: usize,
    ) -> Result<Vec<Found>, Error> {
        let mut subject = subject.clone();
        let (mut agreed, mut last) = (0, Vec::new());
        let agreeing = match rule.check {
            Check::Claims(_) => agreeing,
            Check::Rounds(_) => agreeing * ROUNDS_LOOKS,
        };
        for _ in 0..MOST_LOOKS {
            if agreed > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let (item, found) = match rule.check {
                Check::Claims(claim) => self.look_once(&subject, claim).await?,
                Check::Rounds(check) => {
                    let found = readable(check(self.site, self.now, &subject).await)?.flatten();
                    (Some(subject.item.clone()), found.into_iter().collect())
                }
            };
            let Some(item) = item else { return Ok(Vec::new()) };
            if item != subject.item {
                subject.item = item;
                agreed = 0;
                continue;
            }
            // What differs in another way each time is being written.
            let differences: Vec<_> = found.iter().map(Found::difference).collect();
            agreed = if differences == last { agreed + 1 } else { 1 };
            last = differences;
            if found.is_empty() || agreed >= agreeing {
                return Ok(found);
            }
        }
        self.report.unsettled += 1;
        Ok(Vec::new())
    }

    /// The item as it is now, and what differs of it as it was, in one round.
    async fn look_once(
        &self,
        subject: &Subject,
        claim: fn(&Subject, &mut Claims),
    ) -> Result<(Option<Item>, Vec<Found>), Error> {
        let claims = claims_of(claim, subject);
        let mut query = Query::new();
        query.read(subject.read());
        for read in claims.iter().flat_map(|claim| &claim.reads) {
            query.read(read.clone());
        }
        query.tolerate_all();
        let mut outcomes = self.site.store.query(query).await?.into_outcomes().into_iter();
        let item = outcomes.next().and_then(Result::ok).and_then(|answer| subject.item_in(answer));
        Ok((item, claims.iter().flat_map(|claim| claim.judge_next(&mut outcomes)).collect()))
    }

    /// Mends one fault; whether it could be.
    async fn mend(&self, fault: &Fault) -> Result<bool, Error> {
        let mended = match &fault.mend {
            Mend::Write(batch, _) => {
                self.site.apply((**batch).clone()).await.map(|applied| matches!(applied, Applied::Yes(_)))
            }
            Mend::Article(id) => articles::mend(self.site, self.now, *id).await,
            Mend::Home(id) => timelines::mend(self.site, self.now, *id).await,
            Mend::Sessions(id) => session_store::end_surplus(self.site, *id).await.map(|()| true),
            Mend::Person(_) => Ok(false),
        };
        Ok(readable(mended)?.unwrap_or(false))
    }
}

impl Found {
    /// A fault of a whole key.
    pub(super) const fn of(fault: Fault, sources: Vec<Source>) -> Self {
        Self { fault, part: None, missing: None, sources }
    }

    /// What differs, in words.
    fn difference(&self) -> (String, String, String) {
        let Fault { key, found, expected, .. } = &self.fault;
        (key.clone(), found.clone(), expected.clone())
    }
}

/// `None` if a value could not be read: that is reported for its own key.
fn readable<T>(outcome: Result<T, Error>) -> Result<Option<T>, Error> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Error::Store(error)) if error.unreadable_key().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn claims_of(claim: fn(&Subject, &mut Claims), subject: &Subject) -> Vec<Claim> {
    let mut claims = Claims::about(subject);
    claim(subject, &mut claims);
    claims.all
}

/// How many of these keys are read together.
fn read_together(keys: &[String]) -> usize {
    let weight = |key: &String| match Family::of(key) {
        Some((family, _)) if LARGE.contains(&family) => LARGE_VALUE,
        _ => 1,
    };
    let weights = keys.iter().scan(0, |sum, key| {
        *sum += weight(key);
        Some(*sum)
    });
    weights.take_while(|sum| *sum <= KEYS_AT_ONCE).count().max(1)
}

/// The families whose values are read whole and may be large. Sorted sets are read in parts.
const LARGE: [&Family; 6] = [
    &families::GROUP,
    &families::IMPORT_LINKS,
    &families::LINK_ORIGINS,
    &families::LINK_VOTES,
    &families::NEWS_DISCOUNTED,
    &families::THREAD_COMMENT,
];

/// The read of a value; of a sorted set, the members from `offset` on.
fn value_read(subject: &Subject, offset: u64) -> Read {
    let key = subject.key.clone();
    match subject.family.holds {
        Holds::String => Read::String(key),
        Holds::Hash => Read::Hash(key),
        Holds::Set => Read::Members(key),
        Holds::SortedSet => {
            Read::SortedRange { key, order: Order::Ascending, offset, count: MEMBERS_AT_ONCE }
        }
    }
}

/// What is wrong with the expiry of a key.
fn expiry_fault(subject: &Subject, expiry: &Answer) -> Option<Fault> {
    let Answer::Expiry(expiry) = expiry else { return None };
    let (found, expected, mend) = match (expiry, subject.family.seconds) {
        (Expiry::Never, seconds) if seconds > 0 => {
            let mut batch = Batch::new();
            batch.expire(&subject.key, Duration::from_secs(seconds));
            ("no expiry", "an expiry", Mend::write(batch, "let it expire as usual"))
        }
        (Expiry::In(_), 0) => {
            ("an expiry", "no expiry", Mend::Person("take the expiry away, with PERSIST on Redis"))
        }
        _ => return None,
    };
    Some(Fault { key: subject.key.clone(), found: found.to_owned(), expected: expected.to_owned(), mend })
}
