//! By which decision of moderators a post was removed.

use crate::values::text_forms::{read_text, shown};
use crate::values::{ModerationId, Withheld};
use serde::Deserialize;

/// The stored field of a post with its [`RemovedBy`].
pub(crate) const REMOVED: &str = "removed";

/// The decision that removed a post, and its state before, which putting it back restores. As a text it is `<line of
/// the log>`, or `<line> <state>` if the post was withheld before.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct RemovedBy {
    /// The line of the log.
    pub(crate) line: ModerationId,
    /// Why it was withheld before, if it was.
    pub(crate) earlier: Option<Withheld>,
}

/// A stored text that names no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a decision that removed a post")]
pub(crate) struct NotRemovedBy;

shown!(RemovedBy: |removed| match &removed.earlier {
    None => removed.line.to_string(),
    Some(state) => format!("{} {state}", removed.line),
});

read_text!(RemovedBy or NotRemovedBy: |text| {
    let (line, earlier) = text.split_once(' ').map_or((text, None), |(line, state)| (line, Some(state)));
    Some(Self { line: line.parse().ok()?, earlier: earlier.map(Withheld::stored) })
});

impl TryFrom<String> for RemovedBy {
    type Error = NotRemovedBy;

    fn try_from(text: String) -> Result<Self, NotRemovedBy> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_stored_and_read_back() {
        for stored in ["7", "7 flagged:", "7 held:the first post"] {
            assert_eq!(stored.parse::<RemovedBy>().unwrap().to_string(), stored);
        }
        for bad in ["", "x", "held:a", " 7"] {
            assert_eq!(bad.parse::<RemovedBy>(), Err(NotRemovedBy), "{bad}");
        }
    }
}
