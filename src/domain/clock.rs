//! Time as the domain knows it: whole Unix seconds, given by the caller.

use crate::keyspace::EngineClock;
use std::fmt;
use std::str::FromStr;

/// A point in time, in whole seconds since 1970 (UTC).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time now by a clock.
    #[must_use]
    pub fn now(clock: &EngineClock) -> Self {
        Self(clock.now_ms() / 1000)
    }

    /// Seconds since an earlier time; 0 when that is in the future.
    #[must_use]
    pub const fn seconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time as the score of a sorted set; exact for any real date.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub const fn as_score(self) -> f64 {
        self.0 as f64
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Timestamp {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}
