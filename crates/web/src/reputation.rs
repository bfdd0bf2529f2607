//! The calls for browser extensions: as they were once documented (`/scores`,
//! `/vote`), and as the original extension makes them (`/v1/...`). Existing clients
//! must not notice any difference.

use super::api::sites::{SCORE, SCORED};
use super::error::Failure;
use super::json::{self, hostname};
use super::openapi::{Answer, Call, Input, Method, Needs, Shape};
use super::viewer::ClientAddress;
use super::{App, actions};
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tidings_domain::Error;
use tidings_domain::Refusal;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::sites::{self, Ballot, Score};
use tidings_domain::values::hostname::Hostname;
use tidings_domain::values::limits::MAX_LINKS;

/// The calls in this file.
pub const CALLS: &[Call] = &[
    Call {
        method: Method::Get,
        path: "/scores",
        summary: "The scores of some sites.",
        needs: Needs::Nothing,
        inputs: &[Input::query("for", Shape::List(&Shape::Host, 100))],
        answer: Answer::Documented(Some(Shape::List(&SCORED, 100))),
    },
    Call {
        method: Method::Post,
        path: "/vote",
        summary: "Votes on a site, changes the vote, or takes it back with 0.",
        needs: Needs::Nothing,
        inputs: &[
            Input::json("link", Shape::Host),
            Input::json("vote", Shape::Whole(-1, 1)),
            Input::json("user_id", Shape::Uuid),
        ],
        answer: Answer::Documented(None),
    },
    Call {
        method: Method::Get,
        path: "/v1/scores",
        summary: "The scores of some sites, as the original extension asks.",
        needs: Needs::Nothing,
        inputs: &[Input::query("from", Shape::Object(&[("links", Shape::List(&LINK, 100), true)]))],
        answer: Answer::Deployed(Some(Shape::List(
            &Shape::Object(&[("link", LINK, true), ("score", SCORE, true)]),
            100,
        ))),
    },
    Call {
        method: Method::Post,
        path: "/v1/vote",
        summary: "Votes on a site, as the original extension does.",
        needs: Needs::Nothing,
        inputs: &[
            Input::json("link", LINK),
            Input::json("value", Shape::Whole(-1, 1)),
            Input::json("user_id", Shape::Uuid),
        ],
        answer: Answer::Deployed(None),
    },
];

const LINK: Shape = Shape::Object(&[("hostname", Shape::Host, true)]);

const NUMBER_OF_LINKS: &str = "it must name 1 to 100 hosts";

/// GET /scores: for, a JSON array of hosts, or hosts separated by commas;
/// may be repeated.
pub async fn scores(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Json<Value>, Failure> {
    let asked = parameters(query.as_deref(), "for")
        .map(|value| listed_hosts(&value))
        .collect::<Result<Vec<_>, Failure>>()?
        .concat();
    if asked.is_empty() || asked.len() > MAX_LINKS {
        return Err(Failure::Field { name: "for", expected: NUMBER_OF_LINKS });
    }
    let hosts: Vec<Hostname> = asked.iter().map(|host| hostname(host)).collect::<Result<_, _>>()?;
    let scores = sites::scores(&mut nobody(&app), &hosts).await?;
    let answer = hosts.iter().zip(scores);
    Ok(Json(answer.map(|(host, score)| json!({"link": host.as_str(), "score": score.name()})).collect()))
}

/// POST /vote: JSON with link, vote (1, -1 or 0) and user_id.
pub async fn vote(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    json::Json(body): json::Json,
) -> Result<StatusCode, Failure> {
    let host = hostname(json::text(&body, "link")?)?;
    let verdict = json::member(&body, "vote")?.as_i64();
    let verdict = verdict.map_or(Err(actions::WRONG_VOTE), actions::verdict)?;
    let voter = json::voter(&body, "user_id")?;
    sites::vote(&app.site, app.now(), address, voter, &Ballot { host, verdict }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// GET /v1/scores: from, JSON as `{"links": [{"hostname": "a.com"}]}`.
pub async fn deployed_scores(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Failure> {
    const LINKS: Failure = Failure::Field { name: "links", expected: NUMBER_OF_LINKS };
    let from = parameters(query.as_deref(), "from").next();
    let from = from.ok_or(Failure::Field { name: "from", expected: "it is missing" })?;
    let from: Value = serde_json::from_str(&from)
        .map_err(|_| Failure::Field { name: "from", expected: "it must be JSON" })?;
    let links = json::member(&from, "links")?.as_array().ok_or(LINKS)?;
    if links.is_empty() || links.len() > MAX_LINKS {
        return Err(LINKS);
    }
    let names: Vec<&str> =
        links.iter().map(|link| json::text(link, "hostname")).collect::<Result<_, Failure>>()?;
    let hosts: Vec<Option<Hostname>> = names.iter().map(|name| scorable(name)).collect::<Result<_, _>>()?;
    let asked: Vec<Hostname> = hosts.iter().flatten().cloned().collect();
    let mut scores = sites::scores(&mut nobody(&app), &asked).await?.into_iter();
    let answer = names.iter().zip(&hosts).map(|(name, host)| {
        let score = host.as_ref().and_then(|_| scores.next()).unwrap_or(Score::NoScore);
        json!({"link": {"hostname": name}, "score": score.name()})
    });
    Ok(Json(answer.collect()))
}

/// A host that can have a score. The result page of a search engine may also link to
/// `localhost` or to IP addresses: these have no score, but the original accepted
/// them.
fn scorable(name: &str) -> Result<Option<Hostname>, Failure> {
    match Hostname::parse(name) {
        Ok(host) => Ok(Some(host)),
        Err(error) if error.is_some_hostname() => Ok(None),
        Err(error) => Err(Error::from(error).into()),
    }
}

/// POST /v1/vote: JSON with link (an object with a hostname), value (1 or -1)
/// and user_id.
pub async fn deployed_vote(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    json::Json(body): json::Json,
) -> Result<Response, Failure> {
    const VALUE: Failure = Failure::Field { name: "value", expected: "it must be 1 or -1" };
    let host = hostname(json::text(json::member(&body, "link")?, "hostname")?)?;
    let value = json::member(&body, "value")?.as_i64().filter(|value| *value != 0);
    let verdict = value.map_or(Err(VALUE), |value| actions::verdict(value).map_err(|_| VALUE))?;
    let voter = json::voter(&body, "user_id")?;
    sites::vote(&app.site, app.now(), address, voter, &Ballot { host, verdict }).await?;
    Ok(([(header::CONTENT_TYPE, JSON)], "").into_response())
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A visit without a session: these calls ignore it.
fn nobody(app: &App) -> Visit {
    Visit::new(app.site.clone(), app.now(), None)
}

/// The values of a parameter, in their order.
fn parameters(query: Option<&str>, name: &'static str) -> impl Iterator<Item = String> {
    url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(move |(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// The hosts in one value of `for`.
fn listed_hosts(value: &str) -> Result<Vec<String>, Failure> {
    if value.trim_start().starts_with('[') {
        return serde_json::from_str(value)
            .map_err(|_| Failure::Field { name: "for", expected: "it must be a JSON array of strings" });
    }
    Ok(value.split(',').map(str::to_owned).collect())
}

/// How the documented calls report a failure: a code for programs and a message.
#[must_use]
pub fn documented_failure(failure: &Failure, message: &str) -> Response {
    let status = match failure.status() {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let code = match failure {
        Failure::Domain(error) => match &**error {
            Error::Refused(Refusal::VoterBanned) => "banned",
            Error::Refused(Refusal::VotingDisabled) => "voting_disabled",
            Error::Refused(Refusal::TooManyVotes { .. }) => "too_many_votes",
            Error::Refused(Refusal::TooManyVoters) => "too_many_voters",
            _ => code_of(status),
        },
        _ => code_of(status),
    };
    (status, Json(json!({"error": code, "message": message}))).into_response()
}

fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        status if status.is_client_error() => "invalid",
        _ => "internal",
    }
}

/// How the calls of the original extension report a failure: always 500, with the
/// texts that it knows.
#[must_use]
pub fn deployed_failure(failure: &Failure, message: &str) -> Response {
    let text = match failure {
        Failure::Domain(error) => match &**error {
            Error::Refused(Refusal::VoterBanned) => "User is banned",
            Error::Refused(Refusal::VotingDisabled) => "Voting is disabled",
            Error::Refused(Refusal::TooManyVotes { .. }) => "User has voted too many times today",
            _ => message,
        },
        _ => message,
    };
    (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({"error": text}))).into_response()
}
