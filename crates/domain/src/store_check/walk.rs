//! One walk over all keys: it finds what differs and, if it mends, mends what rests on nothing
//! that is called wrong. The next values, and what the last ones are compared with, are read meanwhile.

mod looks;

use super::Part;
use super::counters::{self, Highest};
use super::mending::mend_faults;
use super::pages::{ReadKey, ReadPage, read_all, weight};
use super::report::{Difference, Outcome, StoreReport};
use super::wrong::Wrong;
use crate::store_rules::claims::Claim;
use crate::store_rules::existing::Existing;
use crate::store_rules::{Fault, Found, Mend, Rule, Subject, SubjectItem, subject};
use crate::values::Moment;
use crate::{Error, Result, Site};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_keyspace::{Answer, Batch, Expiry, KeyspaceError, Store, Write, read};
use tokio::task::{JoinError, JoinHandle};

/// How many pages are being judged at the same time, at most.
const JUDGING_AT_ONCE: usize = 4;
/// Reads of other keys that travel together.
const READS_AT_ONCE: usize = 2_000;
/// Subjects that seem to differ and are looked at again together; a large value counts as many.
const SUSPECTS_AT_ONCE: usize = 2_000;
/// How often something that differs must be seen unchanged before it is reported.
const AGREEING_LOOKS: usize = 2;

/// Something, with a rule about it.
type Suspect = (Subject, &'static Rule);

/// Something, with the rules about it.
type Ruled = (Subject, Arc<[&'static Rule]>);

/// A difference, decided together with the others that were found.
struct Ready {
    found: Found,
    sentence: &'static str,
    /// The suspect to look at again after the mend, if that is possible.
    again: Option<Suspect>,
    outcome: Outcome,
    advice: String,
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
        for rule in part.rules(site) {
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

    pub(super) async fn run(mut self, progress: &mut (impl FnMut(u64) + Send)) -> Result<StoreReport> {
        let families = (!self.part.is_all()).then(|| self.rules.keys().copied().collect());
        let (mut values, reading) = read_all(self.site, families, self.now);
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
    async fn check_page(&mut self, page: ReadPage, progress: &mut (impl FnMut(u64) + Send)) -> Result<()> {
        if let Some((before, after)) = &page.damaged {
            self.add_damage(before, after);
        }
        page.strangers.iter().for_each(|name| self.report.add_stranger(name));
        let (mut ruled, mut in_rounds) = (Vec::new(), Vec::new());
        for ReadKey { subject, value, expiry } in page.values {
            let (value, expiry) = match (value, expiry) {
                (_, Some(Ok(Answer::Expiry(Expiry::Absent)))) => continue,
                (Err(error), _) | (_, Some(Err(error))) => {
                    self.add_unreadable(&subject, &error);
                    continue;
                }
                (Ok(value), expiry) => (value, expiry.and_then(Result::ok)),
            };
            let whole = expiry.is_some().then_some(SubjectItem::Whole);
            self.highest.note(&subject, &value);
            expiry.iter().for_each(|expiry| self.check_expiry(&subject, expiry));
            let Some(rules) = self.rules.get(subject.family.name) else { continue };
            for item in whole.into_iter().chain(subject::items_of(value)) {
                let subject = subject.with(item);
                let rounds = rules.iter().filter(|rule| rule.check.rounds().is_some());
                in_rounds.extend(rounds.map(|rule| (subject.clone(), *rule)));
                ruled.push((subject, rules.clone()));
            }
        }
        // On another thread.
        self.judging.push_back(tokio::spawn(judged(self.site.store.clone(), self.existing.clone(), ruled)));
        let asked: Vec<_> = in_rounds.iter().map(|(subject, rule)| (subject, *rule)).collect();
        let found = self.check_in_rounds(&asked).await?;
        for ((subject, rule), _) in in_rounds.into_iter().zip(found).filter(|(_, found)| found.is_some()) {
            self.suspect(subject, rule);
        }
        if self.judging.len() > JUDGING_AT_ONCE {
            self.note_judged().await?;
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
        let found = format!("damage between {before_name} and {after_name}");
        let mend = Mend::Person("restore the store from a backup");
        let fault = Fault::new(before, found, "keys that can be read", mend);
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
        let mend = Mend::Person("look at the key; restore it from a backup, or delete it");
        let fault = Fault::new(&subject.key, found, expected, mend);
        self.add(Found::of(fault, Vec::new()), "each key holds a value of its type");
    }

    /// Compares the expiry of a key with that of its family.
    fn check_expiry(&mut self, subject: &Subject, expiry: &Answer) {
        let (found, expected, mend) = match (expiry, subject.family.seconds) {
            _ if !self.part.is_all() => return,
            (Answer::Expiry(Expiry::Never), seconds) if seconds > 0 => {
                let mut batch = Batch::new();
                batch.expire(&subject.key, Duration::from_secs(seconds));
                ("no expiry", "an expiry", Mend::write(batch, "let it expire as usual"))
            }
            (Answer::Expiry(Expiry::In(_)), 0) => {
                ("an expiry", "no expiry", Mend::Person("take the expiry away, with PERSIST on Redis"))
            }
            _ => return,
        };
        let fault = Fault::new(&subject.key, found, expected, mend);
        // The value itself is good.
        let found = Found { part: Some("the expiry".to_owned()), ..Found::of(fault, Vec::new()) };
        self.add(found, "limits, sessions and links expire, and nothing else does");
    }

    /// Notes what seems to differ.
    fn suspect(&mut self, subject: Subject, rule: &'static Rule) {
        self.suspects_weight += weight(subject.family);
        self.suspects.push((subject, rule));
    }

    /// Notes what seems to differ by the claims that were begun first.
    async fn note_judged(&mut self) -> Result<()> {
        if let Some(judging) = self.judging.pop_front() {
            for (subject, rule) in joined(judging.await)?? {
                self.suspect(subject, rule);
            }
        }
        Ok(())
    }

    /// Looks again at what seems to differ, reports it, and mends it.
    async fn settle_suspects(&mut self) -> Result<()> {
        while !self.judging.is_empty() {
            self.note_judged().await?;
        }
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
                ready.extend(all.into_iter().map(|found| Ready::new(found, rule.sentence, again.clone())));
            }
            self.decide(ready).await?;
        }
        self.suspects_weight = 0;
        Ok(())
    }

    /// Notes something that differs and needs no second look.
    fn add(&mut self, found: Found, sentence: &'static str) {
        self.ready.push(Ready::new(found, sentence, None));
    }

    /// Decides what becomes of faults, mends those that can be mended, all at the same time, and
    /// reports them.
    async fn decide(&mut self, mut ready: Vec<Ready>) -> Result<()> {
        for one in &mut ready {
            let Found { fault, part, missing, sources } = &one.found;
            if one.outcome == Outcome::Person {
                self.wrong.add(&fault.key, part.as_deref(), &fault.key);
                if let Some(missing) = missing {
                    self.wrong.add(missing, None, &fault.key);
                }
            } else if let Some(cause) = self.wrong.cause(sources).map(str::to_owned) {
                // Everything that follows from this difference follows from its cause.
                self.wrong.add(&fault.key, part.as_deref(), &cause);
                one.advice = format!("correct {cause} first");
                one.outcome = Outcome::Person;
            }
        }
        if self.mends {
            self.mend_all(&mut ready).await?;
        }
        for Ready { found, sentence, outcome, advice, .. } in ready {
            let Fault { key, found, expected, .. } = found.fault;
            self.report.add(Difference { key, found, expected, advice, rule: sentence, outcome });
        }
        Ok(())
    }

    /// Mends what can be mended, and looks once more whether it is.
    async fn mend_all(&mut self, ready: &mut [Ready]) -> Result<()> {
        let mut mendable: Vec<&mut Ready> =
            ready.iter_mut().filter(|one| one.outcome == Outcome::Mendable).collect();
        let faults: Vec<&Fault> = mendable.iter().map(|one| &one.found.fault).collect();
        let applied = mend_faults(self.site, self.moment(), &faults).await?;
        for (one, is_applied) in mendable.iter_mut().zip(applied) {
            one.outcome = if is_applied { Outcome::Mended } else { Outcome::Changed };
        }
        let mended = || mendable.iter().filter(|one| one.outcome == Outcome::Mended);
        let again: Vec<Suspect> = mended().filter_map(|one| one.again.clone()).collect();
        let mut left = HashSet::new();
        for again in again.chunks(SUSPECTS_AT_ONCE) {
            for (.., all) in self.look(again.to_vec(), 1).await? {
                left.extend(all.into_iter().map(|found| (found.fault.key, found.fault.expected)));
            }
        }
        for one in mendable {
            let Fault { key, expected, .. } = &one.found.fault;
            if one.again.is_some() && left.contains(&(key.clone(), expected.clone())) {
                one.outcome = Outcome::Changed;
            }
        }
        Ok(())
    }
}

impl Ready {
    fn new(found: Found, sentence: &'static str, again: Option<Suspect>) -> Self {
        let is_for_person = matches!(found.fault.mend, Mend::Person(_));
        let outcome = if is_for_person { Outcome::Person } else { Outcome::Mendable };
        Self { advice: found.fault.mend.in_words().to_owned(), found, sentence, again, outcome }
    }
}

/// Reads what the claims of some rules need; returns what seems to differ.
async fn judged(
    store: Store,
    existing: Arc<Existing>,
    ruled: Vec<Ruled>,
) -> Result<Vec<Suspect>, KeyspaceError> {
    let mut differing = Vec::new();
    let suspects = ruled.iter().flat_map(|(subject, rules)| rules.iter().map(move |rule| (subject, *rule)));
    let mut suspects = suspects.collect::<Vec<(&Subject, &Rule)>>().into_iter().peekable();
    while suspects.peek().is_some() {
        // The answers are large. But this thread does nothing else, and memory from another thread takes longer to
        // free.
        let (mut asked, mut reads) = (Vec::new(), Vec::new());
        while reads.len() < READS_AT_ONCE
            && let Some((subject, rule)) = suspects.next()
        {
            let claims = rule.check.claims(subject, Some(&existing));
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
                differing.push((subject.clone(), rule));
            }
        }
        existing.note(right.iter().filter_map(Claim::target));
    }
    Ok(differing)
}

/// The result of a task of the walk.
fn joined<T>(outcome: Result<T, JoinError>) -> Result<T> {
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
