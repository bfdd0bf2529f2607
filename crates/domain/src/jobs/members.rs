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
    chunk: usize,
    limit: u64,
}

/// The fields of a job that say which member it has processed last.
pub(crate) type Place = [(&'static str, String); 3];

/// Some members.
pub(crate) struct Members {
    pub(crate) ids: Vec<UserId>,
    /// The new fields of the job; `None` after the last members.
    pub(crate) next: Option<Place>,
}

/// The place before all members with at least this score.
pub(crate) fn before(score: f64) -> Place {
    place(score.next_down(), "", 0)
}

fn place(score: f64, member: &str, tied: u64) -> Place {
    [(AFTER_SCORE, format!("{score:?}")), (AFTER_MEMBER, member.to_owned()), (AFTER_TIED, tied.to_string())]
}

/// Asks for the members of a set after those that the job has processed.
pub(crate) fn ask(current: &Step<'_>, query: &mut Query, set: String) -> MembersRead {
    ask_some(current, query, set, (f64::INFINITY, DELIVERY_CHUNK))
}

/// The same, for at most so many members whose scores are at most `highest`.
pub(crate) fn ask_some(
    current: &Step<'_>,
    query: &mut Query,
    set: String,
    (highest, chunk): (f64, usize),
) -> MembersRead {
    let after = current
        .field(AFTER_SCORE)
        .map(|score: f64| (score, current.field::<String>(AFTER_MEMBER).unwrap_or_default()));
    let tied: u64 = current.field(AFTER_TIED).unwrap_or(0);
    let least = after.as_ref().map_or(f64::NEG_INFINITY, |(score, _)| *score);
    let limit = u64::try_from(chunk).unwrap_or(u64::MAX).saturating_add(tied);
    let bounds = (least, highest);
    let handle = query.sorted_by_score(set, Order::Ascending, bounds, limit);
    MembersRead { handle, after, tied, chunk, limit }
}

impl MembersRead {
    /// Takes the members.
    pub(crate) fn take(self, answers: &mut Answers) -> Members {
        let (found, next) = self.take_text(answers);
        Members { ids: found.iter().filter_map(|(member, _)| member.parse().ok()).collect(), next }
    }

    /// Takes the members as they are stored, with their scores.
    pub(crate) fn take_text(self, answers: &mut Answers) -> (Vec<(String, f64)>, Option<Place>) {
        let mut found = answers.take(self.handle);
        let is_last = u64::try_from(found.len()).is_ok_and(|length| length < self.limit);
        if let Some((score, member)) = &self.after {
            found.retain(|(other, other_score)| other_score > score || other > member);
        }
        // If members of the tie have left, there are more than a chunk: the rest is for
        // the next step.
        let is_last = is_last && found.len() <= self.chunk;
        found.truncate(self.chunk);
        let next = found.last().filter(|_| !is_last).map(|(member, score)| {
            let same = found.iter().filter(|(_, other)| other == score).count();
            let same = u64::try_from(same).unwrap_or(u64::MAX);
            let earlier = self.after.is_some_and(|(before, _)| before == *score);
            let tied = if earlier { self.tied.saturating_add(same) } else { same };
            place(*score, member, tied)
        });
        (found, next)
    }
}
