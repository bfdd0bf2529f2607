//! The result of a check of derived values.

/// How much was checked, and how much of it was wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Values that were checked.
    pub checked: u64,
    /// Values that differ from what they should be.
    pub different: u64,
    /// Different values that were repaired.
    pub repaired: u64,
}

impl CheckReport {
    /// Counts one value.
    pub(crate) fn count(&mut self, different: bool, repaired: bool) {
        self.checked += 1;
        self.different += u64::from(different);
        self.repaired += u64::from(repaired);
    }

    /// The sum of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            checked: self.checked + other.checked,
            different: self.different + other.different,
            repaired: self.repaired + other.repaired,
        }
    }
}
