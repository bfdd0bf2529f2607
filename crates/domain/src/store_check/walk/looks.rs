//! Looks again at what seems to differ: what is reported has been seen several times, without a change in between.

use super::{READS_AT_ONCE, Suspect, Walk};
use crate::Result;
use crate::store_check::readable;
use crate::store_rules::claims::Claim;
use crate::store_rules::{Found, Rule, Subject, SubjectItem};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use std::future::ready;
use std::time::Duration;
use tidings_keyspace::{Fetch, read};

/// Rules of several rounds that are checked at the same time.
const CHECKS_AT_ONCE: usize = 64;
/// How often something is looked at that changes all the time.
const MOST_LOOKS: usize = 20;
/// The pause between two looks, for what is written in several batches.
const PAUSE: Duration = Duration::from_millis(20);

/// A suspect that is being looked at.
struct Look {
    /// Its place among the others.
    place: usize,
    subject: Subject,
    rule: &'static Rule,
    /// How often it was seen unchanged.
    agreed: usize,
    /// The differences at the last look.
    last: Vec<(String, String, String)>,
}

impl Walk<'_> {
    /// The differences of some keys and members, seen `agreeing` times without a change in between, in
    /// their order; without those that have no difference.
    pub(super) async fn look(
        &mut self,
        suspects: Vec<Suspect>,
        agreeing: usize,
    ) -> Result<Vec<(Subject, &'static Rule, Vec<Found>)>> {
        let look = |(place, (subject, rule))| Look { place, subject, rule, agreed: 0, last: Vec::new() };
        let mut open: Vec<Look> = suspects.into_iter().enumerate().map(look).collect();
        let mut done = Vec::new();
        for number in 0..MOST_LOOKS {
            if open.is_empty() {
                break;
            }
            if number > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let seen = self.look_once(&open).await?;
            for (mut look, (item, found)) in std::mem::take(&mut open).into_iter().zip(seen) {
                let Some(item) = item else { continue };
                if item != look.subject.item {
                    look.subject.item = item;
                    look.agreed = 0;
                    open.push(look);
                    continue;
                }
                // If the differences change between two looks, the thing is being written.
                let differences: Vec<_> = found.iter().map(Found::difference).collect();
                look.agreed = if differences == look.last { look.agreed + 1 } else { 1 };
                look.last = differences;
                if found.is_empty() {
                    continue;
                }
                if look.agreed >= agreeing * look.rule.check.looks {
                    done.push((look.place, look.subject, look.rule, found));
                } else {
                    open.push(look);
                }
            }
        }
        self.report.unsettled += u64::try_from(open.len()).unwrap_or(0);
        done.sort_unstable_by_key(|(place, ..)| *place);
        Ok(done.into_iter().map(|(_, subject, rule, found)| (subject, rule, found)).collect())
    }

    /// The items as they are now, and the differences of the items as they were. The reads of a claim are
    /// in the same round as the read of its subject.
    async fn look_once(&self, looks: &[Look]) -> Result<Vec<(Option<SubjectItem>, Vec<Found>)>> {
        let mut seen = Vec::with_capacity(looks.len());
        let mut looks = looks.iter().peekable();
        while looks.peek().is_some() {
            let (mut asked, mut reads) = (Vec::new(), Vec::new());
            while reads.len() < READS_AT_ONCE
                && let Some(look) = looks.next()
            {
                let claims = look.rule.check.claims(&look.subject, None);
                reads.push(look.subject.read());
                reads.extend(claims.iter().flat_map(Claim::reads).cloned());
                asked.push((look, claims));
            }
            let mut outcomes = self.site.store.fetch(read::outcomes(reads).large()).await?.into_iter();
            let by_rounds: Vec<_> = asked.iter().map(|(look, _)| (&look.subject, look.rule)).collect();
            let by_rounds = self.check_in_rounds(&by_rounds).await?;
            for ((Look { subject, rule, .. }, claims), by_rounds) in asked.into_iter().zip(by_rounds) {
                let item = outcomes.next().and_then(Result::ok).and_then(|answer| subject.item_in(answer));
                let mut found: Vec<Found> = by_rounds.into_iter().collect();
                for mut claim in claims {
                    let faults = claim.judge_next(&mut outcomes).into_iter();
                    found.extend(faults.map(|fault| claim.found(subject, fault)));
                }
                // Several rounds read more than the item, which may change without an effect on them.
                let is_of_rounds = rule.check.rounds().is_some();
                seen.push((if is_of_rounds { Some(subject.item.clone()) } else { item }, found));
            }
        }
        Ok(seen)
    }

    /// Runs the rules that take several rounds; returns a finding for each suspect, in their order. A value that cannot be
    /// read is reported for its own key.
    pub(super) async fn check_in_rounds(
        &self,
        suspects: &[(&Subject, &'static Rule)],
    ) -> Result<Vec<Option<Found>>> {
        let mut checks: Vec<BoxFuture<'_, _>> = Vec::with_capacity(suspects.len());
        for (subject, rule) in suspects {
            checks.push(match rule.check.rounds() {
                Some(check) => check(self.site, subject),
                None => Box::pin(ready(Ok(None))),
            });
        }
        let found: Vec<_> = stream::iter(checks).buffered(CHECKS_AT_ONCE).collect().await;
        found.into_iter().map(|found| Ok(readable(found)?.flatten())).collect()
    }
}
