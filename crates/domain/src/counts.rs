//! The counters for `/metrics`: actions, logins, refusals, deliveries.
//!
//! A counter has a fixed name and, as its label, one of few words. Its handle is made once.
//! Without a recorder, as in commands and tests, counting does nothing.

use crate::values::{RatedAction, named};
use crate::{Error, Refusal, Result};
use metrics::Counter;
use std::sync::OnceLock;
use strum::{EnumCount, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// An action that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumCount, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CountedAction {
    /// Created an account, or applied for one.
    Signup,
    /// Submitted a story.
    Story,
    /// Posted a comment.
    Comment,
    /// Posted a tweet.
    Tweet,
    /// Voted on a story.
    Vote,
    /// Voted on a comment.
    CommentVote,
    /// Voted on a web site, also from a browser extension.
    SiteVote,
    /// Followed somebody.
    Follow,
    /// Flagged something.
    Flag,
    /// Deleted a story, a comment or a tweet.
    Deletion,
    /// Acted as a moderator.
    Moderation,
}

named!(CountedAction);

/// How a login ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum LoginResult {
    /// With a session.
    Ok,
    /// The password was right, and a second step follows.
    SecondStep,
    /// Something was wrong.
    Failed,
    /// It was not looked at: too many have failed, or too many wait.
    Refused,
}

impl LoginResult {
    /// How a login ended that was not successful; `None` if the site is at fault.
    const fn of_error(error: &Error) -> Option<Self> {
        match error {
            Error::Refused(Refusal::TooManyFailedLogins { .. } | Refusal::TooManyAtOnce { .. })
            | Error::Busy => Some(Self::Refused),
            Error::Refused(_) | Error::Input(_) => Some(Self::Failed),
            _ => None,
        }
    }
}

/// Counts something that somebody has done.
pub(crate) fn count(action: CountedAction) {
    static COUNTERS: [OnceLock<Counter>; CountedAction::COUNT] =
        [const { OnceLock::new() }; CountedAction::COUNT];
    let make = || metrics::counter!("tidings_actions_total", "action" => action.name());
    if let Some(counter) = COUNTERS.get(action as usize) {
        counter.get_or_init(make).increment(1);
    }
}

/// Counts a login.
pub(crate) fn count_login<T>(ended: &Result<T>, needs_second_step: impl Fn(&T) -> bool) {
    let result = match ended {
        Ok(entered) if needs_second_step(entered) => LoginResult::SecondStep,
        Ok(_) => LoginResult::Ok,
        Err(error) => match LoginResult::of_error(error) {
            Some(result) => result,
            None => return,
        },
    };
    let name: &str = result.into();
    // Logins are rare.
    metrics::counter!("tidings_logins_total", "result" => name).increment(1);
}

/// Counts a request that was refused because of a rate.
pub(crate) fn count_rate_limited(action: RatedAction) {
    static COUNTERS: [OnceLock<Counter>; RatedAction::COUNT] =
        [const { OnceLock::new() }; RatedAction::COUNT];
    let make = || metrics::counter!("tidings_rate_limited_total", "action" => action.name());
    if let Some(counter) = COUNTERS.get(action as usize) {
        counter.get_or_init(make).increment(1);
    }
}

/// Counts tweets that were added to home timelines.
pub(crate) fn count_deliveries(deliveries: u64) {
    static COUNTER: OnceLock<Counter> = OnceLock::new();
    COUNTER.get_or_init(|| metrics::counter!("tidings_deliveries_total")).increment(deliveries);
}

/// Makes every counter of this file, so that `/metrics` has it, at zero, from the start.
pub fn begin() {
    for action in CountedAction::iter() {
        metrics::counter!("tidings_actions_total", "action" => action.name()).increment(0);
    }
    for result in LoginResult::iter().map(<&str>::from) {
        metrics::counter!("tidings_logins_total", "result" => result).increment(0);
    }
    for action in RatedAction::iter() {
        metrics::counter!("tidings_rate_limited_total", "action" => action.name()).increment(0);
    }
    count_deliveries(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_a_place_of_its_own() {
        for (place, action) in CountedAction::iter().enumerate() {
            assert_eq!(action as usize, place, "{}", action.name());
        }
        for (place, action) in RatedAction::iter().enumerate() {
            assert_eq!(action as usize, place, "{}", action.name());
        }
    }

    #[test]
    fn logins_that_were_not_looked_at_are_not_failed_ones() {
        let result = |error: Error| LoginResult::of_error(&error);
        assert_eq!(result(Refusal::WrongCredentials.into()), Some(LoginResult::Failed));
        assert_eq!(result(Refusal::WrongCode.into()), Some(LoginResult::Failed));
        assert_eq!(result(Refusal::TooManyFailedLogins { seconds: 9 }.into()), Some(LoginResult::Refused));
        assert_eq!(result(Error::Busy), Some(LoginResult::Refused));
        assert_eq!(result(Error::Internal(String::new())), None);
    }
}
