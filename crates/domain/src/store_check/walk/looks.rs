//! Looks again at what seems to differ: what is reported has been seen several times, without a change in between.

use super::{READS_AT_ONCE, Suspect, Walk};
use crate::error::Error;
use crate::store_check::{MANY_AT_ONCE, readable};
use crate::store_rules::claims::{Claim, Found};
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::store_rules::{CheckRounds, Rule};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::time::Duration;
use tidings_keyspace::{Fetch, read};

/// Groups of such things that are checked at the same time.
const GROUPS_AT_ONCE: usize = 4;
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
    ) -> Result<Vec<(Subject, &'static Rule, Vec<Found>)>, Error> {
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
    async fn look_once(&self, looks: &[Look]) -> Result<Vec<(Option<SubjectItem>, Vec<Found>)>, Error> {
        let mut seen: Vec<(Option<SubjectItem>, Vec<Found>)> =
            looks.iter().map(|_| (None, Vec::new())).collect();
        let mut in_rounds = Vec::new();
        let mut next = looks.iter().enumerate().peekable();
        while next.peek().is_some() {
            let (mut asked, mut reads) = (Vec::new(), Vec::new());
            while reads.len() < READS_AT_ONCE
                && let Some((place, look)) = next.next()
            {
                if look.rule.check.rounds().is_some() {
                    in_rounds.push((place, look));
                    continue;
                }
                let claims = look.rule.check.claims(&look.subject, None);
                reads.push(look.subject.read());
                reads.extend(claims.iter().flat_map(Claim::reads).cloned());
                asked.push((place, &look.subject, claims));
            }
            let mut outcomes = self.site.store.fetch(read::outcomes(reads).large()).await?.into_iter();
            for (place, subject, claims) in asked {
                let item = outcomes.next().and_then(Result::ok).and_then(|answer| subject.item_in(answer));
                let mut found = Vec::new();
                for mut claim in claims {
                    let faults = claim.judge_next(&mut outcomes).into_iter();
                    found.extend(faults.map(|fault| claim.found(subject, fault)));
                }
                if let Some(place) = seen.get_mut(place) {
                    *place = (item, found);
                }
            }
        }
        let suspects: Vec<Suspect> =
            in_rounds.iter().map(|(_, look)| (look.subject.clone(), look.rule)).collect();
        for ((place, look), found) in in_rounds.iter().zip(self.check_in_rounds(&suspects).await?) {
            if let Some(place) = seen.get_mut(*place) {
                *place = (Some(look.subject.item.clone()), found.into_iter().collect());
            }
        }
        Ok(seen)
    }

    /// Runs the rules that take several rounds; returns their findings in the order of the suspects.
    pub(super) async fn check_in_rounds(&self, suspects: &[Suspect]) -> Result<Vec<Option<Found>>, Error> {
        let mut together: Vec<(&Rule, CheckRounds, Vec<usize>)> = Vec::new();
        for (place, (_, rule)) in suspects.iter().enumerate() {
            let Some(check) = rule.check.rounds() else { continue };
            match together.iter_mut().find(|(known, ..)| std::ptr::eq(*known, *rule)) {
                Some((.., places)) => places.push(place),
                None => together.push((rule, check, vec![place])),
            }
        }
        let groups = together.into_iter().flat_map(|(_, check, places)| {
            let groups = places.chunks(MANY_AT_ONCE).map(<[usize]>::to_vec);
            groups.map(|places| (check, places)).collect::<Vec<_>>()
        });
        let found: Vec<_> = stream::iter(groups)
            .map(|(check, places)| async move {
                let subjects = places.iter().filter_map(|place| suspects.get(*place));
                let subjects: Vec<&Subject> = subjects.map(|(subject, _)| subject).collect();
                let found = self.check_group(check, &subjects).await?;
                Ok::<_, Error>(places.into_iter().zip(found))
            })
            .buffer_unordered(GROUPS_AT_ONCE)
            .try_collect()
            .await?;
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        found.sort_unstable_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, found)| found).collect())
    }

    /// Runs a rule that takes several rounds. A value that cannot be read is reported for its own key.
    async fn check_group(
        &self,
        check: CheckRounds,
        subjects: &[&Subject],
    ) -> Result<Vec<Option<Found>>, Error> {
        if let Some(found) = readable(check(self.site, self.moment(), subjects).await)? {
            return Ok(found);
        }
        // One of them cannot be read.
        let mut all = Vec::with_capacity(subjects.len());
        for subject in subjects {
            let found = readable(check(self.site, self.moment(), std::slice::from_ref(subject)).await)?;
            all.push(found.and_then(|mut found| found.pop()).flatten());
        }
        Ok(all)
    }
}
