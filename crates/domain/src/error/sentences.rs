//! Parts of the sentences of refusals.

use crate::values::words::{every, grouped_signed};
use crate::values::{BanScope, Closed, Lacking, ModerationId, OriginKind, PostKind, Restriction, day};

/// That something has changed since, and by which line of the log.
pub(super) fn changed_since(what: &str, by: Option<ModerationId>) -> String {
    match by {
        Some(by) => format!("{what} has changed since: see entry {by} of the moderation log"),
        None => format!("{what} has changed since"),
    }
}

/// Until when a restriction is in force, and why.
pub(super) fn told(Restriction { until, reason, .. }: &Restriction) -> String {
    let reason = reason.trim_end_matches(['.', ' ', '\n']);
    match until {
        Some(until) => format!("until {}: {reason}", day::to_the_minute(*until)),
        None => format!("until further notice: {reason}"),
    }
}

/// How to appeal against a restriction.
pub(super) fn how_to_appeal(restriction: &Restriction) -> String {
    format!("You can appeal against this decision, entry {} of the moderation log", restriction.moderation)
}

/// The name of a kind of thing with its article.
pub(super) fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// Why nobody takes part in something.
pub(super) fn closed(kind: PostKind, why: Closed) -> String {
    let kind = kind.name();
    match why {
        Closed::Deleted | Closed::Erased => format!("this {kind} has been deleted"),
        Closed::Removed => format!("a moderator has removed this {kind}"),
        Closed::Held => format!("this {kind} is waiting for a moderator's approval"),
        Closed::Merged(into) => {
            format!("this {kind} has been merged into story {into}. Please comment and vote there")
        }
    }
}

/// Why an account that is not trusted yet has less.
pub(super) fn because(lacking: Option<Lacking>) -> String {
    lacking.map(|lacking| format!(". Your limit is higher {lacking}")).unwrap_or_default()
}

/// Why somebody from a banned origin cannot do something.
pub(super) fn banned_origin(kind: OriginKind, scope: BanScope, reason: &str) -> String {
    let what = match (scope, kind) {
        (BanScope::Signup, OriginKind::Network) => "new accounts from your network",
        (BanScope::Signup, OriginKind::Domain) => "new accounts with an e-mail address of this domain",
        (_, OriginKind::Network) => "posts from your network",
        (_, OriginKind::Domain) => "posts by people with an e-mail address of this domain",
    };
    format!("{what} are not accepted here at the moment: {reason}")
}

/// Where too many requests came from.
pub(super) const fn from(by_address: bool) -> &'static str {
    if by_address { " from your address" } else { " in a short time" }
}

/// The karma that a vote needs, and how to earn it.
pub(super) fn needed_for_vote(needed: i64, visit_increment: i64, visit_seconds: u64) -> String {
    let missing = if needed <= 1 {
        "you have no karma left to vote with".to_owned()
    } else {
        format!("you need {} karma for this vote", grouped_signed(needed))
    };
    if visit_increment == 0 || visit_seconds == 0 {
        return missing;
    }
    format!("{missing}. You earn {} {} by visiting", grouped_signed(visit_increment), every(visit_seconds))
}
