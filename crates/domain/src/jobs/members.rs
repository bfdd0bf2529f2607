//! The people in a sorted set, such as the followers of an author, some at a time, the
//! earliest first.
//!
//! A job stores the last member that it has processed: the score, the member, and how many
//! members with that score it has processed. New members are at the end of the order, and
//! members who leave do not move others past the stored position.

use super::Step;
use crate::values::{DELIVERY_CHUNK, UserId};
use tidings_keyspace::{Fetch, Order, read};

const AFTER_SCORE: &str = "after_score";
const AFTER_MEMBER: &str = "after_member";
const AFTER_TIED: &str = "after_tied";

/// The fields of a job that say which member it has processed last.
pub(crate) type MemberPlace = [(&'static str, String); 3];

/// Some members.
pub(crate) struct Members {
    pub(crate) ids: Vec<UserId>,
    /// The new fields of the job; `None` after the last members.
    pub(crate) next: Option<MemberPlace>,
}

/// The place before all members with at least this score.
pub(crate) fn before(score: f64) -> MemberPlace {
    place(score.next_down(), "", 0)
}

fn place(score: f64, member: &str, tied: u64) -> MemberPlace {
    [(AFTER_SCORE, format!("{score:?}")), (AFTER_MEMBER, member.to_owned()), (AFTER_TIED, tied.to_string())]
}

/// The members of a set after those that the job has processed.
pub(crate) fn of(current: &Step<'_>, set: String) -> impl Fetch<Value = Members> + use<> {
    some_of(current, set, (f64::INFINITY, DELIVERY_CHUNK)).map(|(found, next)| Members {
        ids: found.iter().filter_map(|(member, _)| member.parse().ok()).collect(),
        next,
    })
}

/// The same, for at most so many members whose scores are at most `highest`; as they are stored, with their
/// scores.
pub(crate) fn some_of(
    current: &Step<'_>,
    set: String,
    (highest, chunk): (f64, usize),
) -> impl Fetch<Value = (Vec<(String, f64)>, Option<MemberPlace>)> + use<> {
    let after = current
        .field(AFTER_SCORE)
        .map(|score: f64| (score, current.field::<String>(AFTER_MEMBER).unwrap_or_default()));
    let tied: u64 = current.field(AFTER_TIED).unwrap_or(0);
    let least = after.as_ref().map_or(f64::NEG_INFINITY, |(score, _)| *score);
    let limit = u64::try_from(chunk).unwrap_or(u64::MAX).saturating_add(tied);
    read::sorted_by_score(set, Order::Ascending, (least, highest), limit).map(move |mut found| {
        let is_last = u64::try_from(found.len()).is_ok_and(|length| length < limit);
        if let Some((score, member)) = &after {
            found.retain(|(other, other_score)| other_score > score || other > member);
        }
        // If members of the tie have left, there are more than a chunk: the rest is for
        // the next step.
        let is_last = is_last && found.len() <= chunk;
        found.truncate(chunk);
        let next = found.last().filter(|_| !is_last).map(|(member, score)| {
            let same = found.iter().filter(|(_, other)| other == score).count();
            let same = u64::try_from(same).unwrap_or(u64::MAX);
            let earlier = after.is_some_and(|(before, _)| before == *score);
            let tied = if earlier { tied.saturating_add(same) } else { same };
            place(*score, member, tied)
        });
        (found, next)
    })
}
