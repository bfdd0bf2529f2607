//! The file of the embedded store: whether it still holds what was written to it.

use super::report::{Difference, Outcome, StoreReport};
use tidings_keyspace::FileState;

/// The text that a difference of the file has in the place of a key.
const FILE: &str = "(store file)";

/// Adds what a check of the file has found to a report.
pub(super) fn add_state(report: &mut StoreReport, state: FileState) {
    match state {
        FileState::NoFile | FileState::Sound => {}
        FileState::Unchecked(reason) => report.unchecked_file = Some(reason),
        FileState::Damaged(what) => report.add_first(Difference {
            key: FILE.to_owned(),
            found: format!("a checksum does not match: {what}"),
            expected: "what was written to the file".to_owned(),
            advice: "restore a backup; see docs/troubleshooting.md, Checks".to_owned(),
            rule: "every checksum in the file of the store matches",
            outcome: Outcome::Person,
        }),
    }
}
