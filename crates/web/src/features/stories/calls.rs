//! News: submitting, deleting, voting, listing.

use super::form::{NewsIdForm, SubmissionForm, VoteType};
use super::sending::{delete_news, submit_or_edit};
use crate::App;
use crate::error::RequestError;
use crate::markup::page::{Member, Page};
use crate::markup::parts::DELETED_USER;
use crate::request::answers::{Status, VotesOnResponse, is_false};
use crate::request::description::FORM;
use crate::request::form::{Form, checked, form, parse};
use crate::request::path::{PathOf, Start};
use crate::request::values;
use crate::request::viewer::{SignedFields, SignedForm};
use axum::Json;
use serde::Serialize;
use tidings_domain::accounts::recent_votes::VotedOn;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::news::hidden;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::news::lists::{self, NewsPage};
use tidings_domain::news::past;
use tidings_domain::submissions::Submitted;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::NewsId;
use tidings_domain::values::limits;
use tidings_domain::values::period::Period;
use tidings_domain::values::vote_state::VoteState;
use tidings_domain::votes;
use utoipa::ToSchema;

/// The outcome of submitting or editing a story.
#[derive(Serialize, ToSchema)]
#[schema(as = Submitted)]
pub struct SubmittedResponse {
    status: Status,
    /// The story.
    #[schema(value_type = u64)]
    news_id: NewsId,
    /// True if it waits for a moderator; otherwise missing.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    held: bool,
}

/// The outcome of deleting a story.
#[derive(Serialize, ToSchema)]
#[schema(as = NewsDeleted)]
pub struct NewsDeletedResponse {
    status: Status,
    /// Always -1.
    news_id: i64,
}

/// A part of a list of stories.
#[derive(Serialize, ToSchema)]
#[schema(as = NewsList)]
pub struct NewsListResponse {
    status: Status,
    news: Vec<NewsEntry>,
    /// The number of stories in the whole list that you may see.
    count: u64,
}

/// A story in a list.
#[derive(Serialize, ToSchema)]
pub struct NewsEntry {
    #[schema(value_type = u64)]
    id: NewsId,
    #[schema(value_type = values::StoredTitle)]
    title: String,
    /// The link, or `text://` and the text.
    #[schema(value_type = values::StoredUrl)]
    url: String,
    /// The time of submission.
    #[schema(value_type = u64)]
    ctime: Timestamp,
    /// The number of votes up.
    up: i64,
    /// The number of votes down.
    down: i64,
    /// The number of comments.
    comments: u64,
    /// The author; `[deleted user]` if the account no longer exists.
    #[schema(value_type = values::StoredUsername)]
    username: String,
    /// The caller's own vote; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = VoteType, required = false)]
    voted: Option<VoteType>,
    /// The comments that are new since the caller last visited a page of the thread, 0 if there
    /// was no visit; missing without a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    new_comments: Option<u64>,
}

/// Submit or edit a story.
#[utoipa::path(
    post,
    path = "/api/submit",
    request_body(content = inline(SubmissionForm), content_type = FORM),
    responses((status = 200, body = SubmittedResponse)),
    security(("session" = [])),
)]
pub async fn submit(app: App, form: SignedFields) -> Result<Json<SubmittedResponse>, RequestError> {
    let submitted = submit_or_edit(&app, form.actor(), form.fields.read()?).await?;
    let held = matches!(submitted, Submitted::Held(_));
    Ok(Json(SubmittedResponse { status: Status::Ok, news_id: submitted.id(), held }))
}

/// Delete a story.
#[utoipa::path(
    post,
    path = "/api/delnews",
    request_body(content = inline(NewsIdForm), content_type = FORM),
    responses((status = 200, body = NewsDeletedResponse)),
    security(("session" = [])),
)]
pub async fn delete(
    app: App,
    SignedForm { user, form }: SignedForm<NewsIdForm>,
) -> Result<Json<NewsDeletedResponse>, RequestError> {
    delete_news(&app, &user, form.news_id).await?;
    Ok(Json(NewsDeletedResponse { status: Status::Ok, news_id: -1 }))
}

/// List stories.
#[utoipa::path(
    get,
    path = "/api/getnews/{sort}/{start}/{count}",
    params(
        ("sort" = inline(values::NewsOrder), Path),
        ("start" = inline(values::Start), Path),
        ("count" = inline(values::NewsCount), Path),
    ),
    responses((status = 200, body = NewsListResponse)),
)]
pub async fn list(
    PathOf((sort, start, count)): PathOf<(String, String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<NewsListResponse>, RequestError> {
    let (start, count) = part(start, &count)?;
    let mut page = match sort.as_str() {
        "latest" => lists::latest(&mut visit, start, count).await?,
        "top" => lists::top(&mut visit, start, count).await?,
        _ => return Err(RequestError::field("sort", "it must be latest or top")),
    };
    page.total = hidden::count_seen(&mut visit, page.total, |_| true).await?;
    Ok(answer(&visit, &page))
}

/// List the best stories of a day or a month.
#[utoipa::path(
    get,
    path = "/api/past/{day}/{start}/{count}",
    params(
        ("day" = inline(values::Period), Path),
        ("start" = inline(values::Start), Path),
        ("count" = inline(values::NewsCount), Path),
    ),
    responses((status = 200, body = NewsListResponse)),
)]
pub async fn past(
    PathOf((day, start, count)): PathOf<(String, String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<NewsListResponse>, RequestError> {
    let period: Period =
        parse(&day, "day", "it must be a day such as 2026-11-21, or a month such as 2026-11")?;
    let (start, count) = part(start, &count)?;
    if period.start() > visit.now() {
        return Err(RequestError::field("day", "it is in the future"));
    }
    let mut page = past::of_period(&mut visit, period, start, count).await?;
    page.total = hidden::count_seen(&mut visit, page.total, |news| period.has(news.ctime)).await?;
    Ok(answer(&visit, &page))
}

/// The start and the number of stories to return.
fn part(start: String, count: &str) -> Result<(u64, u64), RequestError> {
    let Start(start) = Start::try_from(start)
        .map_err(|_| RequestError::field("start", "it must be a whole number from 0 on"))?;
    let count = count
        .parse()
        .ok()
        .filter(|count| (1..=limits::MAX_API_NEWS).contains(count))
        .ok_or(RequestError::field("count", "it must be a whole number from 1 to 32"))?;
    Ok((start, count))
}

fn answer(visit: &Visit, page: &NewsPage) -> Json<NewsListResponse> {
    let has_viewer = visit.viewer_id().is_some();
    let news = page.lines.iter().map(|line| entry(line, has_viewer)).collect();
    Json(NewsListResponse { status: Status::Ok, news, count: page.total })
}

/// A story as calls show it.
#[must_use]
pub fn entry(line: &NewsLine, has_viewer: bool) -> NewsEntry {
    let (news, username) = (&line.news, &line.username);
    let [up, down] = news.votes();
    NewsEntry {
        id: news.id,
        title: news.title.clone(),
        url: news.url.clone(),
        ctime: news.ctime,
        up,
        down,
        comments: news.comments,
        username: username.as_deref().unwrap_or(DELETED_USER).to_owned(),
        voted: line.my_vote.filter(|_| has_viewer).map(VoteType::from),
        new_comments: has_viewer.then_some(line.new_comments),
    }
}

form! {
    /// The stories and comments whose votes are asked for.
    pub query VotesQuery {
        /// Numbers of stories, and comments such as `7-3`, with commas between them; at most 300.
        pub of: Vec<VotedOn> = checked(VOTED_ON, voted_on), values::VotesAsked;
    }
}

const VOTED_ON: &str =
    "it must be up to 300 numbers of stories, or comments such as 7-3, with commas between them";

fn voted_on(text: &str) -> Option<Vec<VotedOn>> {
    let of: Result<Vec<VotedOn>, _> = text.split(',').map(str::parse).collect();
    of.ok().filter(|of| of.len() <= limits::MAX_VOTES_ASKED)
}

/// The votes on some stories and comments.
#[derive(Serialize, ToSchema)]
#[schema(as = ItemVotesList)]
pub struct VotesListResponse {
    status: Status,
    /// Without those that the caller cannot vote on.
    votes: Vec<VotesOnResponse>,
}

/// See the votes on stories and comments, with your own, for a page that was kept.
#[utoipa::path(
    get,
    path = "/api/votes",
    params(VotesQuery),
    responses((status = 200, body = VotesListResponse)),
    security(("session" = [])),
)]
pub async fn votes(
    Page { app, user, .. }: Page<Member>,
    Form(query): Form<VotesQuery>,
) -> Result<Json<VotesListResponse>, RequestError> {
    let states = votes::states(&app.site, app.now(), &user, &query.of).await?;
    let on = |(of, state): (VotedOn, VoteState)| VotesOnResponse::new(of.to_string(), state);
    Ok(Json(VotesListResponse { status: Status::Ok, votes: states.into_iter().map(on).collect() }))
}
