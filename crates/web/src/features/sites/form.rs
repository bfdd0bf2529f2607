//! Votes on sites, and the administration of voters.

use crate::error::RequestError;
use crate::limits::SITE_DAYS;
use crate::request::form::{Fields, FromFields, form, parsed};
use crate::request::json::{self, hostname};
use crate::request::values;
use serde_json::Value;
use tidings_domain::sites::{SettingsChange, Verdict};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::day::parse_moment;
use tidings_domain::values::hostname::Hostname;
use tidings_domain::values::limits::{MAX_DAILY_VOTES, MAX_HISTORY_DAYS, MAX_LINKS};
use tidings_domain::values::voter_id::VoterId;
use utoipa::{IntoParams, ToSchema};

/// A vote on a site.
#[derive(ToSchema)]
pub struct SiteVoteForm {
    /// The site.
    #[schema(value_type = values::Host)]
    pub link: Hostname,
    /// The vote; `0` takes it back.
    #[schema(value_type = values::SiteVote, required = true)]
    pub vote: Option<Verdict>,
}

impl FromFields for SiteVoteForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let link = hostname(fields.required("link")?)?;
        let vote = fields.required("vote")?.parse().map_or(Err(WRONG_VOTE), verdict)?;
        Ok(Self { link, vote })
    }
}

/// The error for an invalid vote.
pub const WRONG_VOTE: RequestError = RequestError::field("vote", "it must be 1, -1 or 0");

/// A vote on a site from its number; 0 takes an earlier one back.
///
/// # Errors
/// [`WRONG_VOTE`] for any other number.
pub const fn verdict(number: i64) -> Result<Option<Verdict>, RequestError> {
    match number {
        1 => Ok(Some(Verdict::Good)),
        -1 => Ok(Some(Verdict::Bad)),
        0 => Ok(None),
        _ => Err(WRONG_VOTE),
    }
}

/// A request for a voter's own votes, as a JSON body.
#[derive(ToSchema)]
pub struct OwnVotesQuestion {
    /// The voter.
    #[schema(value_type = values::Uuid)]
    pub user_id: VoterId,
    /// The sites.
    #[schema(value_type = Vec<values::Host>)]
    pub links: Vec<Hostname>,
}

impl OwnVotesQuestion {
    /// Reads the members of a JSON object.
    ///
    /// # Errors
    /// A failure that names the member that is missing or wrong.
    pub fn from_json(body: &Value) -> Result<Self, RequestError> {
        const LINKS: RequestError = RequestError::field("links", "it must be an array of 1 to 100 hosts");
        let user_id = json::voter(body, "user_id")?;
        let links = json::member(body, "links")?.as_array().ok_or(LINKS)?;
        if links.is_empty() || links.len() > MAX_LINKS {
            return Err(LINKS);
        }
        let read = |link: &Value| hostname(link.as_str().ok_or(LINKS)?);
        Ok(Self { user_id, links: links.iter().map(read).collect::<Result<_, _>>()? })
    }
}

/// The requested length of a history.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// The number of days up to today; 30 by default.
    #[param(value_type = values::HistoryDays, required = false)]
    pub days: u64,
}

impl FromFields for HistoryQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        const EXPECTED: RequestError = RequestError::field("days", "it must be a whole number from 1 to 365");
        let days = match fields.get("days") {
            None => SITE_DAYS,
            Some(text) => {
                text.parse().ok().filter(|days| (1..=MAX_HISTORY_DAYS).contains(days)).ok_or(EXPECTED)?
            }
        };
        Ok(Self { days })
    }
}

/// A period of time.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PeriodQuery {
    /// The start of the period; missing for no limit.
    #[param(value_type = values::Time, required = false)]
    pub from: Timestamp,
    /// The end of the period (exclusive); missing for no limit.
    #[param(value_type = values::Time, required = false)]
    pub to: Timestamp,
}

impl FromFields for PeriodQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self {
            from: moment(fields, "from")?.unwrap_or_default(),
            to: moment(fields, "to")?.unwrap_or(Timestamp(u64::MAX)),
        })
    }
}

/// The time in a field; `None` if the field is missing or empty.
fn moment(fields: &Fields, name: &'static str) -> Result<Option<Timestamp>, RequestError> {
    const EXPECTED: &str = "it must be a time like 2023-02-02T09:36:03Z";
    match fields.text(name) {
        "" => Ok(None),
        text => parse_moment(text).map(Some).map_err(|_| RequestError::field(name, EXPECTED)),
    }
}

form! {
    /// A voter to ban or unban.
    pub struct VoterForm {
        /// The voter.
        pub user_id: VoterId = parsed("it must be a UUID"), values::Uuid;
    }
}

/// New settings for votes on sites. Missing fields keep their values.
#[derive(ToSchema)]
pub struct VotingSettingsForm {
    /// Whether voting on sites is disabled.
    #[schema(value_type = values::Switch, required = false)]
    pub voting_is_disabled: Option<bool>,
    /// How many sites a voter may vote on for the first time in a day.
    #[schema(value_type = values::DailyVotes, required = false)]
    pub maximum_votes_per_user_per_day: Option<u64>,
}

impl FromFields for VotingSettingsForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        const SWITCH: RequestError = RequestError::field("voting_is_disabled", "it must be 1 or 0");
        const NUMBER: RequestError = RequestError::field(
            "maximum_votes_per_user_per_day",
            "it must be a whole number from 0 to 1000000",
        );
        let voting_is_disabled = match fields.get("voting_is_disabled") {
            None => None,
            Some("1" | "true") => Some(true),
            Some("0" | "false") => Some(false),
            Some(_) => return Err(SWITCH),
        };
        let maximum_votes_per_user_per_day = match fields.get("maximum_votes_per_user_per_day") {
            None => None,
            Some(text) => Some(text.parse().ok().filter(|most| *most <= MAX_DAILY_VOTES).ok_or(NUMBER)?),
        };
        Ok(Self { voting_is_disabled, maximum_votes_per_user_per_day })
    }
}

impl From<&VotingSettingsForm> for SettingsChange {
    fn from(form: &VotingSettingsForm) -> Self {
        Self { is_disabled: form.voting_is_disabled, maximum: form.maximum_votes_per_user_per_day }
    }
}
