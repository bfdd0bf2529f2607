//! Votes on sites, and the administration of voters.

use crate::error::{RequestError, Result};
use crate::limits::SITE_DAYS;
use crate::request::Fields;
#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{checked, filled, form, optional, parsed};
use crate::request::json::{self, hostname};
use serde_json::Value;
use tidings_domain::sites::{SettingsChange, Verdict};
use tidings_domain::values::day::parse_moment;
use tidings_domain::values::{Hostname, MAX_DAILY_VOTES, MAX_HISTORY_DAYS, MAX_LINKS, Timestamp, VoterId};
use tidings_language::m;

form! {
    /// A vote on a site.
    pub struct SiteVoteForm {
        /// The site.
        pub link: Hostname = |fields: &Fields, name| hostname(fields.required(name)?), values::Host;
        /// The vote; `0` takes it back.
        pub vote: Option<Verdict> = |fields: &Fields, name| fields.required(name)?.parse().map_or(Err(WRONG_VOTE), verdict), values::SiteVote, required = true;
    }

    /// The requested length of a history.
    pub struct HistoryQuery {
        /// The number of days up to today; 30 by default.
        pub days: u64 = days, values::HistoryDays, required = false;
    }

    /// A period of time.
    pub struct PeriodQuery {
        /// The start of the period; missing for no limit.
        pub from: Timestamp = |fields: &Fields, name| Ok(moment(fields, name)?.unwrap_or_default()), values::Time, required = false;
        /// The end of the period (exclusive); missing for no limit.
        pub to: Timestamp = |fields: &Fields, name| Ok(moment(fields, name)?.unwrap_or(Timestamp(u64::MAX))), values::Time, required = false;
    }

    /// A voter to ban or unban.
    pub struct VoterForm {
        /// The voter.
        pub user_id: VoterId = parsed(m!("it must be a UUID")), values::Uuid;
    }

    /// New settings for votes on sites. Missing fields keep their values.
    pub struct VotingSettingsForm {
        /// Whether voting on sites is disabled.
        pub voting_is_disabled: Option<bool> = optional(checked(m!("it must be 1 or 0"), is_on)), values::Switch, required = false;
        /// How many sites a voter may vote on for the first time in a day.
        pub maximum_votes_per_user_per_day: Option<u64> = optional(checked(m!("it must be a whole number from 0 to 1000000"), most)), values::DailyVotes, required = false;
    }
}

/// The error for an invalid vote.
pub const WRONG_VOTE: RequestError = RequestError::field("vote", m!("it must be 1, -1 or 0"));

/// A vote on a site from its number; 0 takes an earlier one back.
///
/// # Errors
/// [`WRONG_VOTE`] for any other number.
pub const fn verdict(number: i64) -> Result<Option<Verdict>> {
    match number {
        1 => Ok(Some(Verdict::Good)),
        -1 => Ok(Some(Verdict::Bad)),
        0 => Ok(None),
        _ => Err(WRONG_VOTE),
    }
}

/// A request for a voter's own votes, as a JSON body.
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct OwnVotesQuestion {
    /// The voter.
    #[cfg_attr(test, schema(value_type = values::Uuid))]
    pub user_id: VoterId,
    /// The sites.
    #[cfg_attr(test, schema(value_type = Vec<values::Host>))]
    pub links: Vec<Hostname>,
}

impl OwnVotesQuestion {
    /// Reads the members of a JSON object.
    ///
    /// # Errors
    /// A failure that names the member that is missing or wrong.
    pub fn from_json(body: &Value) -> Result<Self> {
        const LINKS: RequestError = RequestError::field("links", m!("it must be an array of 1 to 100 hosts"));
        let user_id = json::voter(body, "user_id")?;
        let links = json::member(body, "links")?.as_array().ok_or(LINKS)?;
        if links.is_empty() || links.len() > MAX_LINKS {
            return Err(LINKS);
        }
        let read = |link: &Value| hostname(link.as_str().ok_or(LINKS)?);
        Ok(Self { user_id, links: links.iter().map(read).collect::<Result<_, _>>()? })
    }
}

fn days(fields: &Fields, name: &'static str) -> Result<u64> {
    let days = |text: &str| text.parse().ok().filter(|days| (1..=MAX_HISTORY_DAYS).contains(days));
    let days = optional(checked(m!("it must be a whole number from 1 to 365"), days))(fields, name)?;
    Ok(days.unwrap_or(SITE_DAYS))
}

/// The time in a field; `None` if the field is missing or empty.
fn moment(fields: &Fields, name: &'static str) -> Result<Option<Timestamp>> {
    let moment = |text: &str| parse_moment(text).ok();
    filled(checked(m!("it must be a time like 2023-02-02T09:36:03Z"), moment))(fields, name)
}

fn is_on(text: &str) -> Option<bool> {
    match text {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

fn most(text: &str) -> Option<u64> {
    text.parse().ok().filter(|most| *most <= MAX_DAILY_VOTES)
}

impl From<&VotingSettingsForm> for SettingsChange {
    fn from(form: &VotingSettingsForm) -> Self {
        Self { is_disabled: form.voting_is_disabled, maximum: form.maximum_votes_per_user_per_day }
    }
}
