//! Search: a full-text index in a folder, and the language of its searches.
//!
//! - [`language`] reads what a person typed.
//! - [`index`] holds the texts, on tantivy.
//! - [`asker`] says what one person does not find, and `seen` what every visitor finds.
//! - [`asking`] finds texts, the most relevant first, with two queries of its own: `prefix` and `dis_max`.
//! - [`offering`] finds topics, stories and words that are like what was typed.
//! - [`accounts`] is an index of accounts, for who moderates.
//! - [`excerpts`] shows why they were found.
//!
//! Words are those of `tidings_text::words`, for texts and for searches.
//!
//! The crate knows nothing of stores, pages or people. A document has an id, which means something to the caller.

pub mod accounts;
pub mod asker;
pub mod asking;
mod best;
mod dis_max;
pub mod excerpts;
pub mod index;
pub mod language;
pub mod offering;
mod prefix;
mod seen;

use std::time::Instant;

/// The documents, or terms, between two looks at the clock.
const LOOK_EVERY: u32 = 1_024;

/// Tells a loop over documents or terms when to stop.
struct Clock {
    until: Instant,
    passed: u32,
}

impl Clock {
    const fn until(until: Instant) -> Self {
        Self { until, passed: 0 }
    }

    /// Whether time has run out. It looks at the clock now and then, and each time if it must.
    fn has_run_out(&mut self, must_look: bool) -> bool {
        self.passed += 1;
        (must_look || self.passed.is_multiple_of(LOOK_EVERY)) && Instant::now() > self.until
    }
}
