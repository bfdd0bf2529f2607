//! The sentences of refusals about rates, trust and karma.

use tidings_domain::values::{Lacking, RatedAction, day};
use tidings_language::spans::{every, wait};
use tidings_language::{Phrase, p};

/// That an action was done too often, by an account or from an address, and until when; with the missing condition of
/// trust, if the limit is lower for that reason.
pub fn too_many_requests(
    (action, by_address): (RatedAction, bool),
    seconds: u64,
    lacking: Option<Lacking>,
) -> Phrase<'static> {
    let refused = too_often(action, by_address, wait(seconds));
    let Some(Lacking { from, karma }) = lacking else { return refused };
    match (from.map(day::to_the_minute), karma) {
        (Some(time), Some(karma)) => p!(
            "{refused} Your limit is higher from {time} on, once you have {karma} karma.",
            refused,
            time,
            karma
        ),
        (Some(time), None) => p!("{refused} Your limit is higher from {time} on.", refused, time),
        (None, Some(karma)) => {
            p!("{refused} Your limit is higher once you have {karma} karma.", refused, karma)
        }
        (None, None) => refused,
    }
}

fn too_often(action: RatedAction, by_address: bool, time: Phrase<'static>) -> Phrase<'static> {
    match (action, by_address) {
        (RatedAction::Comment, true) => p!("Too many comments from your address. Try again in {time}.", time),
        (RatedAction::Tweet, true) => p!("Too many posts from your address. Try again in {time}.", time),
        (RatedAction::Vote, true) => p!("Too many votes from your address. Try again in {time}.", time),
        (RatedAction::Follow, true) => {
            p!("Too many follows and unfollows from your address. Try again in {time}.", time)
        }
        (RatedAction::Flag, true) => p!("Too many flags from your address. Try again in {time}.", time),
        (RatedAction::Reset, true) => {
            p!("Too many requests for a password reset from your address. Try again in {time}.", time)
        }
        (RatedAction::FetchTitle, true) => {
            p!("Too many fetched titles from your address. Try again in {time}.", time)
        }
        (RatedAction::Export, true) => p!("Too many exports from your address. Try again in {time}.", time),
        (RatedAction::Search, true) => p!("Too many searches from your address. Try again in {time}.", time),
        (RatedAction::Read | RatedAction::Post, true) => {
            p!("Too many requests from your address. Try again in {time}.", time)
        }
        (RatedAction::LargeRead, true) => {
            p!("Too many requests for large pages from your address. Try again in {time}.", time)
        }
        (RatedAction::FailedLogin, true) => {
            p!("Too many failed logins from your address. Try again in {time}.", time)
        }
        (RatedAction::Stream, true) => {
            p!("Too many open home pages from your address. Try again in {time}.", time)
        }
        (RatedAction::Comment, false) => p!("Too many comments in a short time. Try again in {time}.", time),
        (RatedAction::Tweet, false) => p!("Too many posts in a short time. Try again in {time}.", time),
        (RatedAction::Vote, false) => p!("Too many votes in a short time. Try again in {time}.", time),
        (RatedAction::Follow, false) => {
            p!("Too many follows and unfollows in a short time. Try again in {time}.", time)
        }
        (RatedAction::Flag, false) => p!("Too many flags in a short time. Try again in {time}.", time),
        (RatedAction::Reset, false) => {
            p!("Too many requests for a password reset in a short time. Try again in {time}.", time)
        }
        (RatedAction::FetchTitle, false) => {
            p!("Too many fetched titles in a short time. Try again in {time}.", time)
        }
        (RatedAction::Export, false) => p!("Too many exports in a short time. Try again in {time}.", time),
        (RatedAction::Search, false) => p!("Too many searches in a short time. Try again in {time}.", time),
        (RatedAction::Read | RatedAction::Post, false) => {
            p!("Too many requests in a short time. Try again in {time}.", time)
        }
        (RatedAction::LargeRead, false) => {
            p!("Too many requests for large pages in a short time. Try again in {time}.", time)
        }
        (RatedAction::FailedLogin, false) => {
            p!("Too many failed logins in a short time. Try again in {time}.", time)
        }
        (RatedAction::Stream, false) => {
            p!("Too many open home pages in a short time. Try again in {time}.", time)
        }
    }
}

/// When somebody can invite people.
pub fn inviting_needs_trust(Lacking { from, karma }: Lacking) -> Phrase<'static> {
    match (from.map(day::to_the_minute), karma) {
        (Some(time), Some(karma)) => {
            p!("You can invite people from {time} on, once you have {karma} karma.", time, karma)
        }
        (Some(time), None) => p!("You can invite people from {time} on.", time),
        (None, karma) => {
            p!("You can invite people once you have {karma} karma.", karma = karma.unwrap_or_default())
        }
    }
}

/// When somebody will be trusted.
pub fn trusted(Lacking { from, karma }: Lacking) -> Phrase<'static> {
    match (from.map(day::to_the_minute), karma) {
        (Some(time), Some(karma)) => {
            p!("You will be trusted from {time} on, once you have {karma} karma.", time, karma)
        }
        (Some(time), None) => p!("You will be trusted from {time} on.", time),
        (None, karma) => {
            p!("You will be trusted once you have {karma} karma.", karma = karma.unwrap_or_default())
        }
    }
}

/// The karma that a vote needs, and how to earn it.
pub fn not_enough_karma(needed: i64, increment: i64, seconds: u64) -> Phrase<'static> {
    let can_earn = increment != 0 && seconds != 0;
    match (needed <= 1, can_earn) {
        (true, false) => p!("You have no karma left to vote with."),
        (false, false) => p!("You need {karma} karma for this vote.", karma = needed),
        (true, true) => p!(
            "You have no karma left to vote with. You earn {earned} {often} by visiting.",
            earned = increment,
            often = every(seconds)
        ),
        (false, true) => p!(
            "You need {karma} karma for this vote. You earn {earned} {often} by visiting.",
            karma = needed,
            earned = increment,
            often = every(seconds)
        ),
    }
}
