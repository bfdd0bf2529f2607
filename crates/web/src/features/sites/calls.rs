//! The reputation of sites: votes, histories, leaderboards, the lookup by hash prefix, and
//! the calls for administrators.

use super::form::{HistoryQuery, OwnVotesQuestion, PeriodQuery};
use crate::App;
use crate::error::RequestError;
use crate::markup::page::{Member, Page};
use crate::request::answers::Status;
use crate::request::form::{Fields, Form, parse};
use crate::request::json::{self, hostname};
use crate::request::path::PathOf;
use crate::request::response_cache::has_current_version;
use crate::request::values;
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tidings_domain::Error;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::sites::{self, Board, Score, Span};
use tidings_domain::values::day::{Day, written};
use tidings_domain::values::hostname::{HashPrefix, Hostname};
use tidings_domain::values::voter_id::VoterId;
use utoipa::ToSchema;

/// A voter's own votes.
#[derive(Serialize, ToSchema)]
#[schema(as = OwnVotes)]
pub struct OwnVotesResponse {
    status: Status,
    /// In the order of the hosts in the request.
    votes: Vec<OwnVote>,
}

/// A voter's own vote on a site.
#[derive(Serialize, ToSchema)]
struct OwnVote {
    #[schema(value_type = values::Host)]
    link: String,
    /// The vote; 0 if there is none.
    #[schema(value_type = values::VoteNumber)]
    vote: i64,
    /// The time of the vote; null if there is none.
    #[schema(value_type = Option<values::Time>, required = true)]
    time: Option<String>,
}

/// A site's votes day by day.
#[derive(Serialize, ToSchema)]
#[schema(as = SiteHistory)]
pub struct SiteHistoryResponse {
    status: Status,
    #[schema(value_type = values::Host)]
    link: String,
    #[schema(value_type = values::ScoreName)]
    score: &'static str,
    /// The sum of all votes.
    sum: i64,
    /// The number of all votes.
    count: i64,
    /// The days that have votes, earliest first.
    days: Vec<DayEntry>,
}

/// The votes of a day on a site.
#[derive(Serialize, ToSchema)]
struct DayEntry {
    #[schema(value_type = values::Date)]
    day: String,
    sum: i64,
    count: i64,
}

/// The sites of a leaderboard.
#[derive(Serialize, ToSchema)]
#[schema(as = Leaderboard)]
pub struct LeaderboardResponse {
    status: Status,
    sites: Vec<LeaderboardEntry>,
}

/// A site of a leaderboard.
#[derive(Serialize, ToSchema)]
struct LeaderboardEntry {
    #[schema(value_type = values::Host)]
    link: String,
    /// The score, computed from all votes.
    #[schema(value_type = values::ScoreName)]
    score: &'static str,
    /// The sum of the votes within the span.
    sum: i64,
    /// The number of votes within the span.
    count: i64,
}

/// The scores of the sites whose SHA-256 starts with the prefix.
#[derive(Serialize, ToSchema)]
#[schema(as = PrefixScores)]
pub struct PrefixScoresResponse {
    status: Status,
    /// Sorted by name.
    sites: Vec<SiteScore>,
}

/// A site with its score.
#[derive(Serialize, ToSchema)]
pub struct SiteScore {
    #[schema(value_type = values::AskedHost)]
    link: String,
    #[schema(value_type = values::ScoreName)]
    score: &'static str,
}

impl SiteScore {
    /// The score of a site.
    pub fn new(host: &Hostname, score: Score) -> Self {
        Self { link: host.as_str().to_owned(), score: score.name() }
    }

    /// A host that nobody can vote on, by the name that a browser has for it.
    pub fn without_votes(name: &str) -> Self {
        Self { link: name.to_ascii_lowercase(), score: Score::NoScore.name() }
    }
}

/// A voter, for administrators.
#[derive(Serialize, ToSchema)]
#[schema(as = VoterFound)]
pub struct VoterFoundResponse {
    status: Status,
    voter: VoterEntry,
}

/// A voter's details.
#[derive(Serialize, ToSchema)]
#[schema(as = VoterDetails)]
struct VoterEntry {
    #[schema(value_type = values::Uuid)]
    user_id: String,
    /// The time of the first vote.
    #[schema(value_type = values::Time)]
    created_at: String,
    is_banned: bool,
    /// The number of votes, including those that do not count.
    count: u64,
}

/// A voter's votes, latest first.
#[derive(Serialize, ToSchema)]
#[schema(as = VoterVotes)]
pub struct VoterVotesResponse {
    status: Status,
    votes: Vec<VoterVoteEntry>,
}

/// A vote of a voter.
#[derive(Serialize, ToSchema)]
#[schema(as = VoterVote)]
struct VoterVoteEntry {
    #[schema(value_type = values::Host)]
    link: String,
    #[schema(value_type = values::VoteNumber)]
    vote: i64,
    #[schema(value_type = values::Time)]
    time: String,
}

/// The voters with the most votes on a day.
#[derive(Serialize, ToSchema)]
#[schema(as = TopVoters)]
pub struct TopVotersResponse {
    status: Status,
    voters: Vec<TopVoter>,
}

/// A voter with the votes of a day.
#[derive(Serialize, ToSchema)]
struct TopVoter {
    #[schema(value_type = values::Uuid)]
    user_id: String,
    count: i64,
    sum: i64,
}

/// How long clients may cache a lookup by prefix: scores change slowly.
const PREFIX_CACHING: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Get a voter's own votes on some sites.
#[utoipa::path(
    post,
    path = "/api/sites/own",
    request_body = OwnVotesQuestion,
    responses((status = 200, body = OwnVotesResponse)),
)]
pub async fn own(app: App, json::Json(body): json::Json) -> Result<Json<OwnVotesResponse>, RequestError> {
    let question = OwnVotesQuestion::from_json(&body)?;
    let mut visit = app.visitor();
    let votes = sites::own_votes(&mut visit, question.user_id, &question.links).await?;
    let votes = question.links.iter().zip(votes).map(|(host, vote)| OwnVote {
        link: host.as_str().to_owned(),
        vote: vote.map_or(0, |vote| vote.verdict.value()),
        time: vote.map(|vote| written(vote.time)),
    });
    Ok(Json(OwnVotesResponse { status: Status::Ok, votes: votes.collect() }))
}

/// Get the votes on a site for each of the last days.
#[utoipa::path(
    get,
    path = "/api/sites/history/{host}",
    params(("host" = inline(values::Host), Path), HistoryQuery),
    responses((status = 200, body = SiteHistoryResponse)),
)]
pub async fn history(
    PathOf(host): PathOf<String>,
    mut visit: Visit,
    fields: Fields,
) -> Result<Json<SiteHistoryResponse>, RequestError> {
    let host = hostname(&host)?;
    let HistoryQuery { days } = fields.read()?;
    let history = sites::history(&mut visit, &host, days).await?;
    let voted = history.days.iter().filter(|day| day.totals.count > 0);
    let days =
        voted.map(|day| DayEntry { day: day.day.to_string(), sum: day.totals.sum, count: day.totals.count });
    Ok(Json(SiteHistoryResponse {
        status: Status::Ok,
        link: host.as_str().to_owned(),
        score: history.score.name(),
        sum: history.votes.totals.sum,
        count: history.votes.totals.count,
        days: days.collect(),
    }))
}

/// List the best, worst, controversial or most voted sites.
#[utoipa::path(
    get,
    path = "/api/sites/leaderboard/{list}/{span}",
    params(("list" = inline(values::BoardName), Path), ("span" = inline(values::SpanName), Path)),
    responses((status = 200, body = LeaderboardResponse)),
)]
pub async fn leaderboard(
    PathOf((list, span)): PathOf<(String, String)>,
    mut visit: Visit,
) -> Result<Json<LeaderboardResponse>, RequestError> {
    let board: Board = parse(&list, "list", "it must be best, worst, controversial or voted")?;
    let span: Span = parse(&span, "span", "it must be day, week, month or all")?;
    let lines = sites::leaderboard(&mut visit, board, span).await?;
    let sites = lines.iter().map(|line| LeaderboardEntry {
        link: line.host.as_str().to_owned(),
        score: line.score.name(),
        sum: line.totals.sum,
        count: line.totals.count,
    });
    Ok(Json(LeaderboardResponse { status: Status::Ok, sites: sites.collect() }))
}

/// Get the scores of all sites whose SHA-256 starts with a prefix.
///
/// The server does not learn which of these sites is looked up.
#[utoipa::path(
    get,
    path = "/api/sites/prefix/{hex}",
    params(("hex" = inline(values::HashPrefix), Path)),
    responses((status = 200, body = PrefixScoresResponse)),
)]
pub async fn prefix(
    app: App,
    PathOf(prefix): PathOf<String>,
    headers: HeaderMap,
) -> Result<Response, RequestError> {
    let prefix: HashPrefix = parse(&prefix, "hex", "it must be 4 to 8 hexadecimal digits")?;
    // The same for everyone, so the session is not read.
    let mut visit = app.visitor();
    let scores = sites::scores_by_prefix(&mut visit, &prefix).await?;
    let sites = scores.iter().map(|(host, score)| SiteScore::new(host, *score));
    let response = PrefixScoresResponse { status: Status::Ok, sites: sites.collect() };
    let body = serde_json::to_string(&response).map_err(|error| Error::Internal(error.to_string()))?;
    let digest = hex::encode(Sha256::digest(&body));
    // A weak tag, because it covers the compressed and the plain response.
    let tag = format!("W/\"{}\"", digest.get(..16).unwrap_or(&digest));
    let caching = [
        (header::CACHE_CONTROL, PREFIX_CACHING),
        (header::ETAG, HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("W/\"0\""))),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    Ok(if has_current_version(&headers, HeaderValue::from_str(&tag).ok().as_ref()) {
        (StatusCode::NOT_MODIFIED, caching).into_response()
    } else {
        let json = HeaderValue::from_static("application/json");
        (caching, [(header::CONTENT_TYPE, json)], body).into_response()
    })
}

/// Get a voter's details (administrators only).
#[utoipa::path(
    get,
    path = "/api/sites/admin/voter/{uuid}",
    params(("uuid" = inline(values::Uuid), Path)),
    responses((status = 200, body = VoterFoundResponse)),
    security(("session" = [])),
)]
pub async fn voter(
    PathOf(voter): PathOf<String>,
    Page { app, user, .. }: Page<Member>,
) -> Result<Json<VoterFoundResponse>, RequestError> {
    let details = sites::voter_details(&app.site, &user, voter_id(&voter)?).await?;
    let voter = VoterEntry {
        user_id: details.id.to_string(),
        created_at: details.created_at,
        is_banned: details.is_banned,
        count: details.count,
    };
    Ok(Json(VoterFoundResponse { status: Status::Ok, voter }))
}

/// List a voter's votes within a period (administrators only).
#[utoipa::path(
    get,
    path = "/api/sites/admin/voter/{uuid}/votes",
    params(("uuid" = inline(values::Uuid), Path), PeriodQuery),
    responses((status = 200, body = VoterVotesResponse)),
    security(("session" = [])),
)]
pub async fn voter_votes(
    PathOf(voter): PathOf<String>,
    Page { app, user, .. }: Page<Member>,
    Form(PeriodQuery { from, to }): Form<PeriodQuery>,
) -> Result<Json<VoterVotesResponse>, RequestError> {
    let votes = sites::voter_votes(&app.site, &user, voter_id(&voter)?, from, to).await?;
    let votes = votes.iter().map(|vote| VoterVoteEntry {
        link: vote.host.as_str().to_owned(),
        vote: vote.vote.verdict.value(),
        time: written(vote.vote.time),
    });
    Ok(Json(VoterVotesResponse { status: Status::Ok, votes: votes.collect() }))
}

/// List the voters with the most votes on a day (administrators only).
#[utoipa::path(
    get,
    path = "/api/sites/admin/top_voters/{date}",
    params(("date" = inline(values::Date), Path)),
    responses((status = 200, body = TopVotersResponse)),
    security(("session" = [])),
)]
pub async fn top_voters(
    PathOf(date): PathOf<String>,
    Page { app, user, .. }: Page<Member>,
) -> Result<Json<TopVotersResponse>, RequestError> {
    let day: Day = parse(&date, "date", "it must be a date like 2023-02-02")?;
    let voters = sites::top_voters(&app.site, &user, day).await?;
    let voters = voters.iter().map(|voter| TopVoter {
        user_id: voter.id.to_string(),
        count: voter.count,
        sum: voter.sum,
    });
    Ok(Json(TopVotersResponse { status: Status::Ok, voters: voters.collect() }))
}

fn voter_id(text: &str) -> Result<VoterId, RequestError> {
    parse(text, "user_id", "it must be a UUID")
}
