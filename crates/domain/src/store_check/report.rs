//! The results of a check of the store.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::collections::HashSet;

/// Differences that the report has one by one; further ones are counted.
const MAX_DIFFERENCES: usize = 10_000;
/// Keys of other programs that the report names.
const MAX_NAMED_STRANGERS: usize = 10;

/// The outcome for a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A repair would mend it.
    Mendable,
    /// The repair has mended it.
    Mended,
    /// A person has to do something; no repair touches it.
    Person,
    /// The repair has not mended it, because it was changed meanwhile.
    Changed,
}

impl Outcome {
    /// The words of the report for it, before the advice.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Mendable => "will be mended with --repair",
            Self::Mended => "mended",
            Self::Person => "needs a person",
            Self::Changed => "changed meanwhile, run the command again",
        }
    }
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// The stored value.
    pub found: String,
    /// The expected value.
    pub expected: String,
    /// The way to mend it, or the advice to a person.
    pub advice: String,
    /// The rule that must hold.
    pub rule: &'static str,
    /// Its outcome.
    pub outcome: Outcome,
}

impl Difference {
    /// The parts that tell two differences apart.
    fn identity(&self) -> (&str, &'static str, &str) {
        (&self.key, self.rule, &self.found)
    }

    /// Its outcome and the advice, in words.
    pub fn repair(&self) -> String {
        format!("{}: {}", self.outcome.in_words(), self.advice)
    }
}

impl Serialize for Difference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Difference", 4)?;
        object.serialize_field("key", &self.key)?;
        object.serialize_field("found", &self.found)?;
        object.serialize_field("expected", &self.expected)?;
        object.serialize_field("repair", &self.repair())?;
        object.end()
    }
}

/// Numbers of differences, by what becomes of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Those that a repair would mend.
    pub mendable: u64,
    /// Those that were mended.
    pub mended: u64,
    /// Those that need a person.
    pub person: u64,
    /// Those that were changed meanwhile.
    pub changed: u64,
}

impl Totals {
    /// All differences.
    pub const fn all(self) -> u64 {
        self.mended + self.left()
    }

    /// Those that are there after the check.
    pub const fn left(self) -> u64 {
        self.mendable + self.person + self.changed
    }

    const fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Mendable => self.mendable += 1,
            Outcome::Mended => self.mended += 1,
            Outcome::Person => self.person += 1,
            Outcome::Changed => self.changed += 1,
        }
    }
}

/// The results of a check.
#[derive(Debug, Default, Serialize)]
pub struct StoreReport {
    /// The differences; only the first ones, if there are very many.
    pub differences: Vec<Difference>,
    /// The numbers of all differences.
    #[serde(skip)]
    pub totals: Totals,
    /// Keys that were checked.
    #[serde(skip)]
    pub keys: u64,
    /// Keys that are none of ours. Other programs may share a Redis server.
    #[serde(skip)]
    pub strangers: u64,
    /// Some of them.
    #[serde(skip)]
    pub named_strangers: Vec<String>,
    /// Why the file of the store was not checked, if it should have been.
    #[serde(skip)]
    pub unchecked_file: Option<String>,
    /// The number of things that changed so often that they could not be judged.
    #[serde(skip)]
    pub unsettled: u64,
}

impl StoreReport {
    /// The number of differences that are left.
    pub const fn left(&self) -> u64 {
        self.totals.left()
    }

    /// The number of differences that are not in the list, because it is full.
    pub fn further(&self) -> u64 {
        let listed = u64::try_from(self.differences.len()).unwrap_or(u64::MAX);
        self.totals.all().saturating_sub(listed)
    }

    /// Adds a key that is none of ours.
    pub(super) fn add_stranger(&mut self, key: &str) {
        self.strangers += 1;
        if self.named_strangers.len() < MAX_NAMED_STRANGERS {
            self.named_strangers.push(key.to_owned());
        }
    }

    /// Adds a difference.
    pub(super) fn add(&mut self, difference: Difference) {
        self.totals.count(difference.outcome);
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(difference);
        }
    }

    /// Adds a difference before all others.
    pub(super) fn add_first(&mut self, difference: Difference) {
        self.totals.count(difference.outcome);
        self.differences.truncate(MAX_DIFFERENCES - 1);
        self.differences.insert(0, difference);
    }

    /// The report of what was found before, once a further walk has mended some of it. A difference that
    /// the later walk no longer finds was mended too: with another difference, or in an earlier walk.
    pub(super) fn followed_by(self, later: Self) -> Self {
        let is_whole = self.further() == 0 && later.further() == 0;
        let totals = Totals {
            mended: self.totals.all().max(self.totals.mended + later.totals.all()) - later.left(),
            ..later.totals
        };
        let known: HashSet<_> = later.differences.iter().map(Difference::identity).collect();
        let has_gone = |difference: &Difference| {
            let is_mended = match difference.outcome {
                Outcome::Mended => true,
                Outcome::Mendable | Outcome::Changed => is_whole,
                Outcome::Person => false,
            };
            is_mended && !known.contains(&difference.identity())
        };
        let gone: Vec<Difference> = self
            .differences
            .into_iter()
            .filter(has_gone)
            .map(|difference| Difference { outcome: Outcome::Mended, ..difference })
            .collect();
        let mut report = Self { differences: Vec::new(), totals: Totals::default(), ..later };
        gone.into_iter().chain(later.differences).for_each(|difference| report.add(difference));
        if !is_whole {
            report.totals = totals;
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(differences: &[(&str, Outcome)]) -> StoreReport {
        let mut report = StoreReport::default();
        for (key, outcome) in differences {
            report.add(Difference {
                key: (*key).to_owned(),
                found: "1".to_owned(),
                expected: "2".to_owned(),
                advice: "write 2".to_owned(),
                rule: "it is 2",
                outcome: *outcome,
            });
        }
        report
    }

    fn totals(mendable: u64, mended: u64, person: u64, changed: u64) -> Totals {
        Totals { mendable, mended, person, changed }
    }

    #[test]
    fn each_difference_is_counted_once_whatever_became_of_it() {
        let looked = report(&[
            ("a", Outcome::Mendable),
            ("b", Outcome::Mendable),
            ("c", Outcome::Person),
            ("d", Outcome::Mendable),
        ]);
        assert_eq!(looked.totals, totals(3, 0, 1, 0));
        let mending = report(&[("a", Outcome::Mended), ("c", Outcome::Person), ("d", Outcome::Changed)]);
        let after = looked.followed_by(mending);
        assert_eq!((after.totals, after.differences.len()), (totals(0, 2, 1, 1), 4));
        let last = report(&[("c", Outcome::Person), ("e", Outcome::Mended)]);
        let after = after.followed_by(last);
        assert_eq!((after.totals, after.left()), (totals(0, 4, 1, 0), 1));
        assert_eq!(after.totals.all(), after.totals.mended + after.left());
    }

    #[test]
    fn differences_beyond_the_list_are_counted() {
        let names: Vec<String> = (0..MAX_DIFFERENCES + 5).map(|number| number.to_string()).collect();
        let all = |outcome| names.iter().map(|name| (name.as_str(), outcome)).collect::<Vec<_>>();
        let looked = report(&all(Outcome::Mendable));
        assert_eq!((looked.further(), looked.left()), (5, 10_005));
        let after = looked.followed_by(report(&all(Outcome::Mended))).followed_by(StoreReport::default());
        assert_eq!((after.totals, after.further()), (totals(0, 10_005, 0, 0), 5));
    }

    #[test]
    fn programs_are_told_in_the_same_words_as_people() {
        let json = serde_json::to_value(report(&[("a", Outcome::Person)])).unwrap_or_default();
        let expected = serde_json::json!({"differences": [
            {"key": "a", "found": "1", "expected": "2", "repair": "needs a person: write 2"},
        ]});
        assert_eq!(json, expected);
    }
}
