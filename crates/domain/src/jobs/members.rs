//! The people in a sorted set, such as the followers of an author, some at a time, the
//! earliest first.
//!
//! A job stores the last member that it has processed: the score, the member, and how many
//! members with that score it has processed. New members are at the end of the order, and
//! members who leave do not move others past the stored position.

use super::Step;
use crate::values::ids::UserId;
use crate::values::limits::DELIVERY_CHUNK;
use tidings_keyspace::{Answers, Handle, Order, Query};

const AFTER_SCORE: &str = "after_score";
const AFTER_MEMBER: &str = "after_member";
const AFTER_TIED: &str = "after_tied";

/// A pending read of some members.
pub(crate) struct MembersRead {
    handle: Handle<Vec<(String, f64)>>,
    after: Option<(f64, String)>,
    tied: u64,
    limit: u64,
}

/// Some members.
pub(crate) struct Members {
    pub(crate) ids: Vec<UserId>,
    /// The new fields of the job; `None` after the last members.
    pub(crate) next: Option<[(&'static str, String); 3]>,
}

/// Asks for the members of a set after those that the job has processed.
pub(crate) fn ask(current: &Step<'_>, query: &mut Query, set: String) -> MembersRead {
    let after = current
        .field(AFTER_SCORE)
        .map(|score: f64| (score, current.field::<String>(AFTER_MEMBER).unwrap_or_default()));
    let tied: u64 = current.field(AFTER_TIED).unwrap_or(0);
    let least = after.as_ref().map_or(f64::NEG_INFINITY, |(score, _)| *score);
    let limit = u64::try_from(DELIVERY_CHUNK).unwrap_or(u64::MAX).saturating_add(tied);
    let bounds = (least, f64::INFINITY);
    let handle = query.sorted_by_score(set, Order::Ascending, bounds, limit);
    MembersRead { handle, after, tied, limit }
}

impl MembersRead {
    /// Takes the members.
    pub(crate) fn take(self, answers: &mut Answers) -> Members {
        let mut found = answers.take(self.handle);
        let is_last = u64::try_from(found.len()).is_ok_and(|length| length < self.limit);
        if let Some((score, member)) = &self.after {
            found.retain(|(other, other_score)| other_score > score || other > member);
        }
        // If members of the tie have left, there are more than a chunk: the rest is for
        // the next step.
        let is_last = is_last && found.len() <= DELIVERY_CHUNK;
        found.truncate(DELIVERY_CHUNK);
        let next = found.last().filter(|_| !is_last).map(|(member, score)| {
            let same = found.iter().filter(|(_, other)| other == score).count();
            let same = u64::try_from(same).unwrap_or(u64::MAX);
            let earlier = self.after.is_some_and(|(before, _)| before == *score);
            let tied = if earlier { self.tied.saturating_add(same) } else { same };
            [
                (AFTER_SCORE, format!("{score:?}")),
                (AFTER_MEMBER, member.clone()),
                (AFTER_TIED, tied.to_string()),
            ]
        });
        Members { ids: found.iter().filter_map(|(member, _)| member.parse().ok()).collect(), next }
    }
}
