//! What a check of derived values found.

/// How much was looked at, and how much of it was not as it must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// How many were looked at.
    pub checked: u64,
    /// How many differ from what they must be.
    pub different: u64,
    /// How many of these were mended.
    pub mended: u64,
}

impl CheckReport {
    /// Counts one more.
    pub(crate) fn count(&mut self, different: bool, mended: bool) {
        self.checked += 1;
        self.different += u64::from(different);
        self.mended += u64::from(mended);
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            checked: self.checked + other.checked,
            different: self.different + other.different,
            mended: self.mended + other.mended,
        }
    }
}
