//! The votes on a story or a comment as a voter sees them.

/// The votes, with that of the voter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoteState {
    /// Whether the vote of the voter is up; `None` without one.
    pub is_up: Option<bool>,
    /// The votes up.
    pub up: i64,
    /// The votes down.
    pub down: i64,
}
