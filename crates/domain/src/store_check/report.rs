//! What a check of the store has found.

use serde::Serialize;

/// Differences that the report has one by one; further ones are counted.
const MAX_DIFFERENCES: usize = 10_000;
/// Keys of other programs that the report names.
const MAX_NAMED_STRANGERS: usize = 10;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// What is stored.
    pub found: String,
    /// What should be.
    pub expected: String,
    /// What a repair does, or what a person can do.
    pub repair: String,
    /// What must hold.
    #[serde(skip)]
    pub rule: &'static str,
    /// Whether it was repaired.
    #[serde(skip)]
    pub repaired: bool,
}

/// What a check has found.
#[derive(Debug, Default, Serialize)]
pub struct StoreReport {
    /// What differs; the first of it, if it is very much.
    pub differences: Vec<Difference>,
    /// Further differences.
    #[serde(skip)]
    pub further: u64,
    /// All differences that were repaired.
    #[serde(skip)]
    pub repaired: u64,
    /// Keys that were checked.
    #[serde(skip)]
    pub keys: u64,
    /// Keys that are none of ours. Other programs may share a Redis server.
    #[serde(skip)]
    pub strangers: u64,
    /// Some of them.
    #[serde(skip)]
    pub named_strangers: Vec<String>,
    /// What changed so often that it could not be judged.
    #[serde(skip)]
    pub unsettled: u64,
}

impl StoreReport {
    /// The number of differences that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        let all = u64::try_from(self.differences.len()).unwrap_or(u64::MAX).saturating_add(self.further);
        all.saturating_sub(self.repaired)
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
        self.repaired += u64::from(difference.repaired);
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(difference);
        } else {
            self.further += 1;
        }
    }

    /// Adds what a further walk has repaired, in the place of what was left before.
    pub(super) fn follow(&mut self, later: Self) {
        self.differences.retain(|difference| difference.repaired);
        self.further = 0;
        for difference in later.differences {
            self.add(difference);
        }
        self.further += later.further;
        self.unsettled = later.unsettled;
    }
}
