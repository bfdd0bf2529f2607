//! The reputation of sites: votes, histories, leaderboards, the lookup by hash prefix, and
//! the calls for administrators.

use super::form::{HistoryQuery, OwnVotesQuestion, PeriodQuery};
use crate::App;
use crate::error::Result;
use crate::markup::{Member, Page};
use crate::request::form::parse;
use crate::request::json::{self, hostname};
use crate::request::response_cache::weak_entity_tag;
use crate::request::{Fields, Form, JSON, PathOf, Status, answer};
use crate::server::headers::cacheable;
use axum::Json;
use axum::http::header;
use axum::response::IntoResponse;
use tidings_domain::sites::{
    self, Board, CastVote, DailyVoter, DayOfVotes, History, Score, SiteLine, Span, VoterDetails, VoterVote,
};
use tidings_domain::values::day::written;
use tidings_domain::values::{Day, HashPrefix, Hostname, VoterId};
use tidings_domain::{Error, Visit};
use tidings_language::m;

answer! {
    /// A voter's own votes.
    pub struct OwnVotesResponse as OwnVotes {
        status;
        /// In the order of the hosts in the request.
        votes: Vec<OwnVote>;
    }

    /// A voter's own vote on a site.
    struct OwnVote from (own: (&Hostname, Option<CastVote>)) {
        link: String = own.0.as_str().to_owned(), values::Host;
        /// The vote; 0 if there is none.
        vote: i64 = own.1.map_or(0, |vote| vote.verdict.value()), values::VoteNumber;
        /// The time of the vote; null if there is none.
        time: Option<String> = own.1.map(|vote| written(vote.time)), Option<values::Time>;
    }

    /// A site's votes day by day.
    pub struct SiteHistoryResponse as SiteHistory from (of: (&Hostname, History)) {
        status;
        link: String = of.0.as_str().to_owned(), values::Host;
        score: &'static str = of.1.score.name(), values::ScoreName;
        /// The sum of all votes.
        sum: i64 = of.1.votes.totals.sum;
        /// The number of all votes.
        count: i64 = of.1.votes.totals.count;
        /// The days that have votes, earliest first.
        days: Vec<DayEntry> = of.1.days.iter().filter(|day| day.totals.count > 0).map(DayEntry::from).collect();
    }

    /// The votes of a day on a site.
    struct DayEntry from (day: &DayOfVotes) {
        day: String = day.day.to_string(), values::Date;
        sum: i64 = day.totals.sum;
        count: i64 = day.totals.count;
    }

    /// The sites of a leaderboard.
    pub struct LeaderboardResponse as Leaderboard from (lines: Vec<SiteLine>) {
        status;
        sites: Vec<LeaderboardEntry> = lines.iter().map(LeaderboardEntry::from).collect();
    }

    /// A site of a leaderboard.
    struct LeaderboardEntry from (line: &SiteLine) {
        link: String = line.host.as_str().to_owned(), values::Host;
        /// The score, computed from all votes.
        score: &'static str = line.score.name(), values::ScoreName;
        /// The sum of the votes within the span.
        sum: i64 = line.totals.sum;
        /// The number of votes within the span.
        count: i64 = line.totals.count;
    }

    /// The scores of the sites whose SHA-256 starts with the prefix.
    pub struct PrefixScoresResponse as PrefixScores {
        status;
        /// Sorted by name.
        sites: Vec<SiteScore>;
    }

    /// A site with its score.
    pub struct SiteScore {
        link: String, values::AskedHost;
        score: &'static str, values::ScoreName;
    }

    /// A voter, for administrators.
    pub struct VoterFoundResponse as VoterFound from (details: VoterDetails) {
        status;
        voter: VoterEntry = details.into();
    }

    /// A voter's details.
    struct VoterEntry as VoterDetails from (voter: VoterDetails) {
        user_id: String = voter.id.to_string(), values::Uuid;
        /// The time of the first vote.
        created_at: String = voter.created_at, values::Time;
        is_banned: bool = voter.is_banned;
        /// The number of votes, including those that do not count.
        count: u64 = voter.count;
    }

    /// A voter's votes, latest first.
    pub struct VoterVotesResponse as VoterVotes from (votes: Vec<VoterVote>) {
        status;
        votes: Vec<VoterVoteEntry> = votes.iter().map(VoterVoteEntry::from).collect();
    }

    /// A vote of a voter.
    struct VoterVoteEntry as VoterVote from (vote: &VoterVote) {
        link: String = vote.host.as_str().to_owned(), values::Host;
        vote: i64 = vote.vote.verdict.value(), values::VoteNumber;
        time: String = written(vote.vote.time), values::Time;
    }

    /// The voters with the most votes on a day.
    pub struct TopVotersResponse as TopVoters from (voters: Vec<DailyVoter>) {
        status;
        voters: Vec<TopVoter> = voters.iter().map(TopVoter::from).collect();
    }

    /// A voter with the votes of a day.
    struct TopVoter from (voter: &DailyVoter) {
        user_id: String = voter.id.to_string(), values::Uuid;
        count: i64 = voter.count;
        sum: i64 = voter.sum;
    }
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

/// How long clients may cache a lookup by prefix: scores change slowly.
const PREFIX_CACHING: &str = "public, max-age=300";

/// Get a voter's own votes on some sites.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/api/sites/own",
    request_body = OwnVotesQuestion,
    responses((status = 200, body = OwnVotesResponse)),
))]
pub async fn own(app: App, json::Json(body): json::Json) -> Result<Json<OwnVotesResponse>> {
    let question = OwnVotesQuestion::from_json(&body)?;
    let mut visit = app.visitor();
    let votes = sites::own_votes(&mut visit, question.user_id, &question.links).await?;
    let votes = question.links.iter().zip(votes).map(OwnVote::from);
    Ok(Json(OwnVotesResponse { status: Status::Ok, votes: votes.collect() }))
}

/// GET /api/sites/history/{host}.
pub async fn history(
    PathOf(host): PathOf<String>,
    mut visit: Visit,
    fields: Fields,
) -> Result<Json<SiteHistoryResponse>> {
    let host = hostname(&host)?;
    let HistoryQuery { days } = fields.read()?;
    let history = sites::history(&mut visit, &host, days).await?;
    Ok(Json((&host, history).into()))
}

/// GET /api/sites/leaderboard/{list}/{span}.
pub async fn leaderboard(
    PathOf((list, span)): PathOf<(String, String)>,
    mut visit: Visit,
) -> Result<Json<LeaderboardResponse>> {
    let board: Board = parse(&list, "list", m!("it must be best, worst, controversial or voted"))?;
    let span: Span = parse(&span, "span", m!("it must be day, week, month or all"))?;
    Ok(Json(sites::leaderboard(&mut visit, board, span).await?.into()))
}

/// GET /api/sites/prefix/{hex}.
pub async fn prefix(app: App, PathOf(prefix): PathOf<String>) -> Result<impl IntoResponse> {
    let prefix: HashPrefix = parse(&prefix, "hex", m!("it must be 4 to 8 hexadecimal digits"))?;
    // The same for everyone, so the session is not read.
    let mut visit = app.visitor();
    let scores = sites::scores_by_prefix(&mut visit, &prefix).await?;
    let sites = scores.iter().map(|(host, score)| SiteScore::new(host, *score));
    let response = PrefixScoresResponse { status: Status::Ok, sites: sites.collect() };
    let body = serde_json::to_string(&response).map_err(|error| Error::Internal(error.to_string()))?;
    // A weak tag, because it covers the compressed and the plain response.
    let tag = [(header::ETAG, weak_entity_tag(body.as_bytes()))];
    Ok((cacheable(JSON, PREFIX_CACHING), tag, body))
}

/// GET /api/sites/admin/voter/{uuid}.
pub async fn voter(
    PathOf(voter): PathOf<String>,
    Page { app, user, .. }: Page<Member>,
) -> Result<Json<VoterFoundResponse>> {
    Ok(Json(sites::voter_details(&app.site, &user, voter_id(&voter)?).await?.into()))
}

/// GET /api/sites/admin/voter/{uuid}/votes.
pub async fn voter_votes(
    PathOf(voter): PathOf<String>,
    Page { app, user, .. }: Page<Member>,
    Form(PeriodQuery { from, to }): Form<PeriodQuery>,
) -> Result<Json<VoterVotesResponse>> {
    Ok(Json(sites::voter_votes(&app.site, &user, voter_id(&voter)?, from, to).await?.into()))
}

/// GET /api/sites/admin/top_voters/{date}.
pub async fn top_voters(
    PathOf(date): PathOf<String>,
    Page { app, user, .. }: Page<Member>,
) -> Result<Json<TopVotersResponse>> {
    let day: Day = parse(&date, "date", m!("it must be a date like 2023-02-02"))?;
    Ok(Json(sites::top_voters(&app.site, &user, day).await?.into()))
}

fn voter_id(text: &str) -> Result<VoterId> {
    parse(text, "user_id", m!("it must be a UUID"))
}
