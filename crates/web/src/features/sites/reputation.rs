//! The calls for browser extensions: as they were once documented (`/scores`,
//! `/vote`), and as the original extension makes them (`/v1/...`). Existing clients
//! must not notice any difference.

use super::calls::SiteScore;
use super::form::{WRONG_VOTE, verdict};
use crate::App;
use crate::error::{RequestError, Result};
#[cfg(test)]
use crate::request::description::values;
use crate::request::json::{self, hostname};
use crate::request::{ClientAddress, answer};
use axum::Json;
use axum::extract::RawQuery;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use tidings_domain::sites::{self, Score, SiteVote, Verdict};
use tidings_domain::values::{Hostname, MAX_LINKS, VoterId};
use tidings_domain::{Error, Refusal};
use tidings_language::{Message, m};

/// A vote in the documented call.
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct VoteBody {
    /// The site.
    #[cfg_attr(test, schema(value_type = values::Host))]
    link: Hostname,
    /// The vote; 0 takes it back.
    #[cfg_attr(test, schema(value_type = values::VoteNumber, required = true))]
    vote: Option<Verdict>,
    /// The voter.
    #[cfg_attr(test, schema(value_type = values::Uuid))]
    user_id: VoterId,
}

/// A request of the original extension, as JSON in a query string.
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct DeployedQuestion {
    /// The sites.
    links: Vec<DeployedLink>,
}

answer! {
    /// A site in the calls of the original extension.
    struct DeployedLink {
        /// The name, as in the request.
        hostname: String, values::AskedHost;
    }

    /// A site with its score, for the original extension.
    pub struct DeployedScore {
        link: DeployedLink;
        score: &'static str, values::ScoreName;
    }
}

/// A vote of the original extension.
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct DeployedVoteBody {
    /// The site.
    #[cfg_attr(test, schema(value_type = DeployedLink))]
    link: Hostname,
    /// The vote: 1 or -1.
    #[cfg_attr(test, schema(value_type = values::VoteNumber))]
    value: Verdict,
    /// The voter.
    #[cfg_attr(test, schema(value_type = values::Uuid))]
    user_id: VoterId,
}

answer! {
    /// A failure of a documented call.
    pub struct CodedError {
        error: ErrorCode;
        /// A sentence to show to a person.
        message: String, values::Message;
    }
}

/// The kinds of failures of documented calls.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ErrorCode {
    Invalid,
    Banned,
    LoginRequired,
    VotingDisabled,
    TooManyVotes,
    TooManyVoters,
    TooManyRequests,
    MethodNotAllowed,
    Internal,
    Unavailable,
}

answer! {
    /// A failure of a call of the original extension.
    pub struct DeployedError {
        /// A sentence. Clients recognize three fixed ones.
        error: String, values::Message;
    }
}

const NUMBER_OF_LINKS: &Message = m!("it must name 1 to 100 hosts");

/// Get the scores of some sites.
///
/// `for` is a JSON array of hosts, or hosts separated by commas; it may be repeated.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/scores",
    params(("for" = Vec<values::Host>, Query, style = Form, explode = false)),
    responses((status = 200, body = Vec<SiteScore>)),
))]
pub async fn scores(app: App, RawQuery(query): RawQuery) -> Result<Json<Vec<SiteScore>>> {
    let asked = parameters(query.as_deref(), "for")
        .map(|value| listed_hosts(&value))
        .collect::<Result<Vec<_>>>()?
        .concat();
    if asked.is_empty() || asked.len() > MAX_LINKS {
        return Err(RequestError::field("for", NUMBER_OF_LINKS));
    }
    let scores = scores_of(&app, asked.iter().map(String::as_str)).await?;
    let scores = asked.iter().zip(scores).map(|(name, (host, score))| match host {
        Some(host) => SiteScore::new(&host, score),
        None => SiteScore::without_votes(name),
    });
    Ok(Json(scores.collect()))
}

/// Vote on a site, change the vote, or take it back with 0.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/vote",
    request_body = inline(VoteBody),
    responses((status = 204, description = "Success")),
))]
pub async fn vote(
    app: App,
    ClientAddress(address): ClientAddress,
    json::Json(body): json::Json,
) -> Result<StatusCode> {
    let VoteBody { link: host, vote: verdict, user_id: voter } = VoteBody::from_json(&body)?;
    sites::vote(&app.site, app.now(), address, voter, &SiteVote { host, verdict }).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl VoteBody {
    fn from_json(body: &Value) -> Result<Self> {
        let link = hostname(json::text(body, "link")?)?;
        let vote = json::whole_number(json::member(body, "vote")?).map_or(Err(WRONG_VOTE), verdict)?;
        Ok(Self { link, vote, user_id: json::voter(body, "user_id")? })
    }
}

/// Get the scores of some sites, as the original extension does.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/scores",
    params(("from" = inline(DeployedQuestion), Query)),
    responses((status = 200, body = Vec<DeployedScore>)),
))]
pub async fn deployed_scores(app: App, RawQuery(query): RawQuery) -> Result<Json<Vec<DeployedScore>>> {
    let DeployedQuestion { links } = DeployedQuestion::from_query(query.as_deref())?;
    let scores = scores_of(&app, links.iter().map(|link| link.hostname.as_str())).await?;
    let scores = links.into_iter().zip(scores);
    Ok(Json(scores.map(|(link, (_, score))| DeployedScore { link, score: score.name() }).collect()))
}

impl DeployedQuestion {
    fn from_query(query: Option<&str>) -> Result<Self> {
        const LINKS: RequestError = RequestError::field("links", NUMBER_OF_LINKS);
        let from = parameters(query, "from").next().ok_or(RequestError::missing("from"))?;
        let from: Value =
            serde_json::from_str(&from).map_err(|_| RequestError::field("from", m!("it must be JSON")))?;
        let links = json::member(&from, "links")?.as_array().ok_or(LINKS)?;
        if links.is_empty() || links.len() > MAX_LINKS {
            return Err(LINKS);
        }
        let read = |link: &Value| Ok(DeployedLink { hostname: json::text(link, "hostname")?.to_owned() });
        Ok(Self { links: links.iter().map(read).collect::<Result<_>>()? })
    }
}

/// The hosts with these names and their scores, in the same order. Rounds: 1.
async fn scores_of(app: &App, names: impl Iterator<Item = &str>) -> Result<Vec<(Option<Hostname>, Score)>> {
    let hosts: Vec<Option<Hostname>> = names.map(scorable).collect::<Result<_, _>>()?;
    let asked: Vec<Hostname> = hosts.iter().flatten().cloned().collect();
    let mut found = sites::scores(&mut app.visitor(), &asked).await?.into_iter();
    let score = |host: Option<Hostname>| {
        let score = host.as_ref().and_then(|_| found.next()).unwrap_or(Score::NoScore);
        (host, score)
    };
    Ok(hosts.into_iter().map(score).collect())
}

/// The host with this name; `None` for one that nobody can vote on. The result page of a
/// search engine may link to any host that a browser knows, such as `localhost`, an IP
/// address or `a_b.example.com`: one of these must not fail the scores of the others.
fn scorable(name: &str) -> Result<Option<Hostname>> {
    match Hostname::parse(name) {
        Ok(host) => Ok(Some(host)),
        Err(error) if error.is_some_hostname() => Ok(None),
        Err(error) => Err(Error::from(error).into()),
    }
}

/// Vote on a site, as the original extension does.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/vote",
    request_body = inline(DeployedVoteBody),
    responses((status = 200, description = "Success, with an empty body")),
))]
pub async fn deployed_vote(
    app: App,
    ClientAddress(address): ClientAddress,
    json::Json(body): json::Json,
) -> Result<Response> {
    let DeployedVoteBody { link: host, value, user_id: voter } = DeployedVoteBody::from_json(&body)?;
    let ballot = SiteVote { host, verdict: Some(value) };
    sites::vote(&app.site, app.now(), address, voter, &ballot).await?;
    Ok(([(header::CONTENT_TYPE, JSON)], "").into_response())
}

impl DeployedVoteBody {
    fn from_json(body: &Value) -> Result<Self> {
        const VALUE: RequestError = RequestError::field("value", m!("it must be 1 or -1"));
        let link = hostname(json::text(json::member(body, "link")?, "hostname")?)?;
        let value = json::whole_number(json::member(body, "value")?);
        let value = value.and_then(|value| verdict(value).ok().flatten());
        Ok(Self { link, value: value.ok_or(VALUE)?, user_id: json::voter(body, "user_id")? })
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The values of a parameter, in their order.
fn parameters(query: Option<&str>, name: &'static str) -> impl Iterator<Item = String> {
    url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(move |(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// The hosts in one value of `for`.
fn listed_hosts(value: &str) -> Result<Vec<String>> {
    let list = || value.split(',').map(str::to_owned).collect();
    if !value.trim_start().starts_with('[') {
        return Ok(list());
    }
    // An IPv6 address begins like an array.
    let is_list = || value.split(',').all(|name| scorable(name).is_ok());
    match serde_json::from_str(value) {
        Ok(hosts) => Ok(hosts),
        Err(_) if is_list() => Ok(list()),
        Err(_) => Err(RequestError::field("for", m!("it must be a JSON array of strings"))),
    }
}

/// How the documented calls report a failure: a code for programs and a message.
pub fn documented_failure(failure: &RequestError, message: &str) -> Response {
    let status = match failure.status() {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let code = match failure.refusal() {
        Some(Refusal::VoterBanned) => ErrorCode::Banned,
        Some(Refusal::MembersOnly) => ErrorCode::LoginRequired,
        Some(Refusal::VotingDisabled) => ErrorCode::VotingDisabled,
        Some(Refusal::TooManyVotes { .. } | Refusal::TooManyVotesFromNetwork { .. }) => {
            ErrorCode::TooManyVotes
        }
        Some(Refusal::TooManyVoters | Refusal::TooManyVotersOfSite) => ErrorCode::TooManyVoters,
        _ => code_of(status),
    };
    (status, Json(CodedError { error: code, message: message.to_owned() })).into_response()
}

fn code_of(status: StatusCode) -> ErrorCode {
    match status {
        StatusCode::METHOD_NOT_ALLOWED => ErrorCode::MethodNotAllowed,
        StatusCode::TOO_MANY_REQUESTS => ErrorCode::TooManyRequests,
        StatusCode::SERVICE_UNAVAILABLE => ErrorCode::Unavailable,
        status if status.is_client_error() => ErrorCode::Invalid,
        _ => ErrorCode::Internal,
    }
}

/// How the calls of the original extension report a failure: always 500, with the
/// texts that it knows.
pub fn deployed_failure(failure: &RequestError, message: &str) -> Response {
    let text = match failure.refusal() {
        Some(Refusal::VoterBanned) => "User is banned",
        Some(Refusal::VotingDisabled) => "Voting is disabled",
        Some(Refusal::TooManyVotes { .. } | Refusal::TooManyVotesFromNetwork { .. }) => {
            "User has voted too many times today"
        }
        _ => message,
    };
    let status = match failure {
        RequestError::NotFound => StatusCode::NOT_FOUND,
        _ if matches!(failure.refusal(), Some(Refusal::MembersOnly)) => failure.status(),
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, Json(DeployedError { error: text.to_owned() })).into_response()
}
