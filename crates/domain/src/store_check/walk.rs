//! One walk over all keys: it finds what differs and, if it mends, mends what rests on nothing
//! that is called wrong. The next values, and what the last ones are compared with, are read meanwhile.

mod looks;

use super::Part;
use super::counters::{self, Highest};
use super::mending::mend_faults;
use super::pages::{MEMBERS_AT_ONCE, ReadPage, read_all, value_read, weight};
use super::report::{Difference, Outcome, StoreReport};
use super::wrong::Wrong;
use crate::error::Error;
use crate::keys::families::Holds;
use crate::site::Site;
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claim, Fault, Found, Mend};
use crate::store_rules::existing::Existing;
use crate::store_rules::subject::{self, Subject, SubjectItem};
use crate::values::clock::Moment;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_keyspace::{Answer, Batch, Expiry, Fetch, KeyspaceError, Store, Write, read};
use tokio::task::{JoinError, JoinHandle};

/// Subjects that are judged together; a large value counts as many.
const PENDING_AT_ONCE: usize = 500;
/// How many such groups are being judged at the same time, at most.
const JUDGING_AT_ONCE: usize = 4;
/// Reads of other keys that travel together.
const READS_AT_ONCE: usize = 2_000;
/// Subjects that seem to differ and are looked at again together; a large value counts as many.
const SUSPECTS_AT_ONCE: usize = 2_000;
/// How often something that differs must be seen unchanged before it is reported.
const AGREEING_LOOKS: usize = 2;

/// Something, with a rule about it.
type Suspect = (Subject, &'static Rule);

/// A difference, decided together with the others that were found.
struct Ready {
    found: Found,
    sentence: &'static str,
    /// The suspect to look at again after the mend, if that is possible.
    again: Option<Suspect>,
}

/// One walk over all keys.
pub(super) struct Walk<'a> {
    site: &'a Site,
    part: Part,
    now: Moment,
    mends: bool,
    /// Everything that was called wrong so far, in earlier walks too.
    wrong: &'a mut Wrong,
    rules: HashMap<&'static str, Arc<[&'static Rule]>>,
    report: StoreReport,
    highest: Highest,
    /// Subjects whose claims are not judged yet.
    pending: Vec<Suspect>,
    /// How much that is: a large value counts as many.
    pending_weight: usize,
    /// Checks in several rounds that did not run yet.
    pending_rounds: Vec<Suspect>,
    /// Claims that are being judged, in their order; each returns what seems to differ.
    judging: VecDeque<JoinHandle<Result<Vec<Suspect>, KeyspaceError>>>,
    /// Keys that were found.
    existing: Arc<Existing>,
    /// Subjects that seem to differ.
    suspects: Vec<Suspect>,
    /// How much that is: a large value counts as many.
    suspects_weight: usize,
    /// Differences that need no second look.
    ready: Vec<Ready>,
    /// When the walk began.
    began: Instant,
}

impl<'a> Walk<'a> {
    pub(super) fn new(site: &'a Site, part: Part, now: Moment, mends: bool, wrong: &'a mut Wrong) -> Self {
        let mut rules: HashMap<_, Vec<_>> = HashMap::new();
        for rule in part.rules() {
            rules.entry(rule.of.name).or_default().push(rule);
        }
        Self {
            site,
            part,
            now,
            mends,
            wrong,
            rules: rules.into_iter().map(|(family, rules)| (family, rules.into())).collect(),
            report: StoreReport::default(),
            highest: Highest::default(),
            pending: Vec::new(),
            pending_weight: 0,
            pending_rounds: Vec::new(),
            judging: VecDeque::new(),
            existing: Arc::default(),
            suspects: Vec::new(),
            suspects_weight: 0,
            ready: Vec::new(),
            began: Instant::now(),
        }
    }

    /// The time now: a value may expire during the walk, and an expiry is relative to when it is written.
    fn moment(&self) -> Moment {
        self.now.after(self.began.elapsed())
    }

    pub(super) async fn run(mut self, progress: &mut (impl FnMut(u64) + Send)) -> Result<StoreReport, Error> {
        let (mut values, reading) = read_all(self.site.store.clone(), self.part, self.now);
        while let Some(page) = values.recv().await {
            self.check_page(page?, progress).await?;
        }
        joined(reading.await)?;
        if self.part.is_all() {
            for found in std::mem::take(&mut self.highest).faults(self.site).await? {
                self.add(found, counters::SENTENCE);
            }
        }
        self.settle_suspects().await?;
        Ok(self.report)
    }

    /// Asks for what the rules demand of some keys.
    async fn check_page(
        &mut self,
        page: ReadPage,
        progress: &mut (impl FnMut(u64) + Send),
    ) -> Result<(), Error> {
        if let Some((before, after)) = &page.damaged {
            self.add_damage(before, after);
        }
        page.strangers.iter().for_each(|name| self.report.add_stranger(name));
        for (subject, value, expiry) in page.values {
            match (value, expiry) {
                (_, Ok(Answer::Expiry(Expiry::Absent))) => {}
                (Err(error), _) | (_, Err(error)) => self.add_unreadable(&subject, &error),
                (Ok(value), Ok(expiry)) => self.check_value(subject, value, &expiry).await?,
            }
        }
        if self.suspects_weight + self.ready.len() >= SUSPECTS_AT_ONCE {
            self.settle_suspects().await?;
        }
        self.report.keys += page.keys - page.passed_over;
        progress(page.keys);
        Ok(())
    }

    /// A part of the file, between two keys, in which nothing can be read.
    fn add_damage(&mut self, before: &str, after: &str) {
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
        self.add(found, "the file of the store can be read");
    }

    fn add_unreadable(&mut self, subject: &Subject, error: &KeyspaceError) {
        let found = match error {
            KeyspaceError::WrongType(_) => "a value of another type".to_owned(),
            error => error.to_string(),
        };
        let expected = format!("a {}", subject.family.holds.name());
        let advice = "look at the key; restore it from a backup, or delete it";
        let fault = Fault { key: subject.key.clone(), found, expected, mend: Mend::Person(advice) };
        self.add(Found::of(fault, Vec::new()), "each key holds a value of its type");
    }

    async fn check_value(&mut self, subject: Subject, value: Answer, expiry: &Answer) -> Result<(), Error> {
        self.highest.note(&subject, &value);
        let fault = expiry_fault(&subject, expiry).filter(|_| self.part.is_all());
        if let Some(fault) = fault {
            // The value itself is good.
            let found = Found { part: Some("the expiry".to_owned()), ..Found::of(fault, Vec::new()) };
            self.add(found, "limits, sessions and links expire, and nothing else does");
        }
        let Some(rules) = self.rules.get(subject.family.name).cloned() else { return Ok(()) };
        self.add_item(subject.with(SubjectItem::Whole), &rules).await?;
        let mut value = value;
        let mut offset = 0;
        loop {
            let items = subject::items_of(value);
            let count = items.len();
            for item in items {
                self.add_item(subject.with(item), &rules).await?;
            }
            let is_last = subject.family.holds != Holds::SortedSet || count < whole(MEMBERS_AT_ONCE);
            if is_last {
                return Ok(());
            }
            offset += MEMBERS_AT_ONCE;
            let read = read::any(value_read(&subject, offset)).if_readable();
            value = match self.site.store.fetch(read).await? {
                Some(value) => value,
                None => return Ok(()),
            };
        }
    }

    /// Asks for what the rules of its family demand of a key or a member.
    async fn add_item(&mut self, subject: Subject, rules: &[&'static Rule]) -> Result<(), Error> {
        // Members are small, whatever the family.
        let weight = if let SubjectItem::Hash(_) = subject.item { weight(subject.family) } else { 1 };
        self.pending_weight += weight * rules.len();
        for (rule, subject) in rules.iter().zip(std::iter::repeat_n(subject, rules.len())) {
            let is_in_rounds = rule.check.rounds().is_some();
            let pending = if is_in_rounds { &mut self.pending_rounds } else { &mut self.pending };
            pending.push((subject, *rule));
        }
        if self.pending_weight >= PENDING_AT_ONCE { self.judge_pending().await } else { Ok(()) }
    }

    /// Runs the pending checks that take several rounds, some at a time, and notes what seems to
    /// differ.
    async fn run_rounds(&mut self) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending_rounds);
        let found = self.check_in_rounds(&pending).await?;
        for ((subject, rule), found) in pending.into_iter().zip(found) {
            if found.is_some() {
                self.suspect(subject, rule);
            }
        }
        Ok(())
    }

    /// Notes what seems to differ.
    fn suspect(&mut self, subject: Subject, rule: &'static Rule) {
        self.suspects_weight += weight(subject.family);
        self.suspects.push((subject, rule));
    }

    /// Begins to judge the pending claims, on another thread. Waits for the first if many are being judged.
    async fn judge_pending(&mut self) -> Result<(), Error> {
        self.pending_weight = 0;
        let pending = std::mem::take(&mut self.pending);
        let judging = judged(self.site.store.clone(), self.existing.clone(), pending);
        self.judging.push_back(tokio::spawn(judging));
        self.run_rounds().await?;
        if self.judging.len() > JUDGING_AT_ONCE { self.note_judged().await } else { Ok(()) }
    }

    /// Judges all claims that are not judged yet.
    async fn judge_all(&mut self) -> Result<(), Error> {
        self.judge_pending().await?;
        while !self.judging.is_empty() {
            self.note_judged().await?;
        }
        Ok(())
    }

    /// Notes what seems to differ by the claims that were begun first.
    async fn note_judged(&mut self) -> Result<(), Error> {
        if let Some(judging) = self.judging.pop_front() {
            for (subject, rule) in joined(judging.await)?? {
                self.suspect(subject, rule);
            }
        }
        Ok(())
    }

    /// Looks again at what seems to differ, reports it, and mends it.
    async fn settle_suspects(&mut self) -> Result<(), Error> {
        self.judge_all().await?;
        let ready = std::mem::take(&mut self.ready);
        self.decide(ready).await?;
        while !self.suspects.is_empty() {
            let now: Vec<_> = self.suspects.drain(..self.suspects.len().min(SUSPECTS_AT_ONCE)).collect();
            let mut corrected = HashSet::new();
            let mut ready = Vec::new();
            for (subject, rule, all) in self.look(now, AGREEING_LOOKS).await? {
                // Another rule may have found that the same counter is wrong, and by how much. Once that is
                // corrected, this one finds it right.
                let corrections: Vec<_> =
                    all.iter().filter_map(|found| correction(&found.fault.mend)).collect();
                if self.mends && corrections.iter().any(|one| corrected.contains(one)) {
                    self.suspects.push((subject, rule));
                    continue;
                }
                corrected.extend(corrections);
                let again = Some((subject, rule));
                let sentence = rule.sentence;
                ready.extend(all.into_iter().map(|found| Ready { found, sentence, again: again.clone() }));
            }
            self.decide(ready).await?;
        }
        self.suspects_weight = 0;
        Ok(())
    }

    /// Notes something that differs and needs no second look.
    fn add(&mut self, found: Found, sentence: &'static str) {
        self.ready.push(Ready { found, sentence, again: None });
    }

    /// Decides what becomes of faults, mends those that can be mended, all at the same time, and
    /// reports them.
    async fn decide(&mut self, ready: Vec<Ready>) -> Result<(), Error> {
        let mut decided: Vec<(Ready, String, Outcome)> = Vec::with_capacity(ready.len());
        for one in ready {
            let Found { fault, part, missing, sources } = &one.found;
            let cause = self.wrong.cause(sources).map(str::to_owned);
            let mut advice = fault.mend.in_words().to_owned();
            let outcome = if let Mend::Person(_) = fault.mend {
                self.wrong.add(&fault.key, part.as_deref(), &fault.key);
                if let Some(missing) = missing {
                    self.wrong.add(missing, None, &fault.key);
                }
                Outcome::Person
            } else if let Some(cause) = cause {
                // Everything that follows from this difference follows from its cause.
                self.wrong.add(&fault.key, part.as_deref(), &cause);
                advice = format!("correct {cause} first");
                Outcome::Person
            } else {
                Outcome::Mendable
            };
            decided.push((one, advice, outcome));
        }
        if self.mends {
            self.mend_all(&mut decided).await?;
        }
        for (Ready { found, sentence, .. }, advice, outcome) in decided {
            let Fault { key, found, expected, .. } = found.fault;
            self.report.add(Difference { key, found, expected, advice, rule: sentence, outcome });
        }
        Ok(())
    }

    /// Mends what can be mended, and looks once more whether it is.
    async fn mend_all(&mut self, decided: &mut [(Ready, String, Outcome)]) -> Result<(), Error> {
        let mendable = decided.iter().filter(|(.., outcome)| *outcome == Outcome::Mendable);
        let faults: Vec<&Fault> = mendable.map(|(one, ..)| &one.found.fault).collect();
        let mut applied = mend_faults(self.site, self.moment(), &faults).await?.into_iter();
        let mut is_applied = |outcome| outcome == Outcome::Mendable && applied.next().unwrap_or(false);
        let applied: Vec<bool> = decided.iter().map(|(.., outcome)| is_applied(*outcome)).collect();
        let again = decided.iter().zip(&applied).filter(|(_, is_applied)| **is_applied);
        let again: Vec<Suspect> = again.filter_map(|((one, ..), _)| one.again.clone()).collect();
        let mut left = HashSet::new();
        for again in again.chunks(SUSPECTS_AT_ONCE) {
            for (.., all) in self.look(again.to_vec(), 1).await? {
                left.extend(all.into_iter().map(|found| (found.fault.key, found.fault.expected)));
            }
        }
        for ((one, _, outcome), is_applied) in decided.iter_mut().zip(applied) {
            if *outcome == Outcome::Mendable {
                let fault = &one.found.fault;
                let is_left =
                    one.again.is_some() && left.contains(&(fault.key.clone(), fault.expected.clone()));
                *outcome = if is_applied && !is_left { Outcome::Mended } else { Outcome::Changed };
            }
        }
        Ok(())
    }
}

/// Reads what the claims of some rules need; returns what seems to differ.
async fn judged(
    store: Store,
    existing: Arc<Existing>,
    pending: Vec<Suspect>,
) -> Result<Vec<Suspect>, KeyspaceError> {
    let mut differing = Vec::new();
    let mut pending = pending.into_iter().peekable();
    while pending.peek().is_some() {
        // The answers are large. But this thread does nothing else, and memory from another thread takes longer to
        // free.
        let (mut asked, mut reads) = (Vec::new(), Vec::new());
        while reads.len() < READS_AT_ONCE
            && let Some((subject, rule)) = pending.next()
        {
            let claims = rule.check.claims(&subject, Some(&existing));
            reads.extend(claims.iter().flat_map(Claim::reads).cloned());
            asked.push((subject, rule, claims));
        }
        let mut outcomes = store.fetch(read::outcomes(reads)).await?.into_iter();
        let mut right = Vec::new();
        for (subject, rule, claims) in asked {
            let before = right.len() + claims.len();
            let mut is_right = |claim: &mut Claim| claim.judge_next(&mut outcomes).is_empty();
            right.extend(claims.into_iter().filter_map(|mut claim| is_right(&mut claim).then_some(claim)));
            if right.len() < before {
                differing.push((subject, rule));
            }
        }
        existing.note(right.iter().filter_map(Claim::target));
    }
    Ok(differing)
}

/// The result of a task of the walk.
fn joined<T>(outcome: Result<T, JoinError>) -> Result<T, Error> {
    outcome.map_err(|error| Error::Internal(format!("a read of the check has failed: {error}")))
}

/// The counters that a mend corrects by a difference, each a key and a field or member; `None` if the
/// mend does anything else.
fn correction(mend: &Mend) -> Option<Vec<(String, String)>> {
    let Mend::Write(batch, _) = mend else { return None };
    let counter = |write: &Write| match write {
        Write::Increment(key, _) => Some((key.clone(), String::new())),
        Write::IncrementField(key, field, _) | Write::LowerField(key, field, _) => {
            Some((key.clone(), field.clone()))
        }
        Write::SortedIncrement(key, member, _) => Some((key.clone(), member.clone())),
        _ => None,
    };
    batch.writes().iter().map(counter).collect()
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The fault in the expiry of a key, if there is one.
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
