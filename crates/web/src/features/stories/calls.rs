//! News: submitting, deleting, voting, listing; and what helps to write a story: the title of a page, and an earlier story with
//! the same URL.

use super::form::NewsIdForm;
use super::sending::{self, delete_news, submit_or_edit};
use crate::markup::parts::DELETED_USER;
use crate::markup::{Member, Page};
use crate::request::answers::voted;
use crate::request::form::{checked, form, parse, valid};
use crate::request::{Form, PathOf, SignedFields, SignedForm, Start, Status, answer};
use crate::site_lists::SiteList;
use crate::{App, RequestError, Result};
use axum::Json;
use tidings_domain::accounts::recent_votes::VotedOn;
use tidings_domain::news::item::Direction;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::news::lists::NewsPage;
use tidings_domain::news::{hidden, past};
use tidings_domain::submissions::{Submitted, preparing};
use tidings_domain::values::urls::completed;
use tidings_domain::values::{NewsId, NewsUrl, Period, Timestamp, VoteState, limits};
use tidings_domain::{Visit, votes};
use tidings_language::{Message, m};

answer! {
    /// The outcome of submitting or editing a story.
    pub struct SubmittedResponse as Submitted from (submitted: Submitted) {
        status;
        /// The story.
        news_id: NewsId = submitted.id(), u64;
        /// True if it waits for a moderator; otherwise missing.
        held?: bool = matches!(submitted, Submitted::Held(_)).then_some(true);
    }

    /// The outcome of deleting a story.
    pub struct NewsDeletedResponse as NewsDeleted {
        status;
        /// Always -1.
        news_id: i64;
    }

    /// A part of a list of stories.
    pub struct NewsListResponse as NewsList {
        status;
        news: Vec<NewsEntry>;
        /// The number of stories in the whole list that you may see.
        count: u64;
    }

    /// A story in a list.
    pub struct NewsEntry from (line: (&NewsLine, bool)) {
        id: NewsId = line.0.news.id, u64;
        title: String = line.0.news.title.clone(), values::StoredTitle;
        /// The link, or `text://` and the text.
        url: String = line.0.news.url.clone(), values::StoredUrl;
        /// The time of submission.
        ctime: Timestamp = line.0.news.ctime, u64;
        /// The number of votes up.
        up: i64 = line.0.news.votes()[0];
        /// The number of votes down.
        down: i64 = line.0.news.votes()[1];
        /// The number of comments.
        comments: u64 = line.0.news.comments;
        /// The author; `[deleted user]` if the account no longer exists.
        username: String = line.0.username.as_deref().unwrap_or(DELETED_USER).to_owned(), values::StoredUsername;
        /// The caller's own vote; missing if there is none.
        voted?: Direction = line.0.my_vote.filter(|_| line.1), values::Vote;
        /// The comments that are new since the caller last visited a page of the thread, 0 if there
        /// was no visit; missing without a session.
        new_comments?: u64 = line.1.then_some(line.0.new_comments);
    }

    /// The votes on some stories and comments.
    pub struct VotesListResponse as ItemVotesList from (states: Vec<(VotedOn, VoteState)>) {
        status;
        /// Without those that the caller cannot vote on.
        votes: Vec<VotesOnResponse> = states.into_iter().map(VotesOnResponse::from).collect();
    }

    /// The votes on a story or a comment that were asked for.
    struct VotesOnResponse as ItemVotesOn from (on: (VotedOn, VoteState)) {
        /// The number of the story; `7-3` for comment 3 of story 7.
        of: String = on.0.to_string(), values::VotedOnId;
        /// The caller's vote: `up`, `down` or `none`.
        voted: &'static str = voted(on.1), values::VoteOfCaller;
        up: i64 = on.1.up;
        down: i64 = on.1.down;
    }

    /// The title of a page.
    pub struct TitleResponse as FetchedTitle {
        status;
        /// The title, cut to the length that titles of stories may have.
        title: String, values::Title;
    }

    /// The story that a URL leads to when it is submitted.
    pub struct DuplicateResponse as Duplicate {
        status;
        /// The URL as a form stores it.
        url: String, values::Url;
        /// The story; missing if the URL would make a new one.
        news_id?: NewsId, u64;
        /// Its title.
        title?: String, values::StoredTitle;
        /// When it was submitted, in Unix seconds.
        ctime?: u64;
    }
}

/// POST /api/submit.
pub async fn submit(app: App, form: SignedFields) -> Result<Json<SubmittedResponse>> {
    Ok(Json(submit_or_edit(&app, form.actor(), form.fields.read()?).await?.into()))
}

/// POST /api/delnews.
pub async fn delete(app: App, sent: SignedForm<NewsIdForm>) -> Result<Json<NewsDeletedResponse>> {
    delete_news(&app, &sent.user, sent.form.news_id).await?;
    Ok(Json(NewsDeletedResponse { status: Status::Ok, news_id: -1 }))
}

/// GET /api/getnews/{sort}/{start}/{count}.
pub async fn list(
    PathOf((sort, start, count)): PathOf<(String, String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<NewsListResponse>> {
    let (start, count) = part(start, &count)?;
    let list: SiteList = parse(&sort, "sort", SiteList::EXPECTED)?;
    let mut page = list.read(&mut visit, start, count).await?;
    page.total = hidden::count_seen(&mut visit, page.total, |_| true).await?;
    Ok(answer(&visit, &page))
}

/// GET /api/past/{day}/{start}/{count}.
pub async fn past(
    PathOf((day, start, count)): PathOf<(String, String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<NewsListResponse>> {
    let period: Period =
        parse(&day, "day", m!("it must be a day such as 2026-11-21, or a month such as 2026-11"))?;
    let (start, count) = part(start, &count)?;
    RequestError::field("day", m!("it is in the future")).when(period.start() > visit.now())?;
    let mut page = past::of_period(&mut visit, period, start, count).await?;
    page.total = hidden::count_seen(&mut visit, page.total, |news| period.has(news.ctime)).await?;
    Ok(answer(&visit, &page))
}

/// The start and the number of stories to return.
fn part(start: String, count: &str) -> Result<(u64, u64)> {
    let Start(start) = Start::try_from(start)
        .map_err(|_| RequestError::field("start", m!("it must be a whole number from 0 on")))?;
    let count = count
        .parse()
        .ok()
        .filter(|count| (1..=limits::MAX_API_NEWS).contains(count))
        .ok_or(RequestError::field("count", m!("it must be a whole number from 1 to 32")))?;
    Ok((start, count))
}

fn answer(visit: &Visit, page: &NewsPage) -> Json<NewsListResponse> {
    let has_viewer = visit.viewer_id().is_some();
    let news = page.lines.iter().map(|line| NewsEntry::from((line, has_viewer))).collect();
    Json(NewsListResponse { status: Status::Ok, news, count: page.total })
}

form! {
    /// The stories and comments whose votes are asked for.
    pub struct VotesQuery {
        /// Numbers of stories, and comments such as `7-3`, with commas between them; at most 300.
        pub of: Vec<VotedOn> = checked(VOTED_ON, voted_on), values::VotesAsked;
    }

    /// A page whose title is wanted.
    pub struct FetchTitleForm {
        /// The address of the page.
        pub url: NewsUrl = valid(NewsUrl::parse), values::Url;
    }

    /// A URL that somebody is about to submit.
    pub struct DuplicateQuery {
        /// The URL, with or without `https://`.
        pub url: NewsUrl = valid(|url: &str| NewsUrl::parse(&completed(url))), values::Url;
    }
}

const VOTED_ON: &Message =
    m!("it must be up to 300 numbers of stories, or comments such as 7-3, with commas between them");

fn voted_on(text: &str) -> Option<Vec<VotedOn>> {
    let of: Result<Vec<VotedOn>, _> = text.split(',').map(str::parse).collect();
    of.ok().filter(|of| of.len() <= limits::MAX_VOTES_ASKED)
}

/// GET /api/votes.
pub async fn votes(page: Page<Member>, Form(query): Form<VotesQuery>) -> Result<Json<VotesListResponse>> {
    Ok(Json(votes::states(&page.app.site, page.app.now(), &page.user, &query.of).await?.into()))
}

/// POST /api/fetchtitle.
pub async fn fetch_title(app: App, form: SignedFields) -> Result<Json<TitleResponse>> {
    let page: FetchTitleForm = form.fields.read()?;
    let title = sending::fetch_title(&app, form.actor(), &page.url).await?;
    Ok(Json(TitleResponse { status: Status::Ok, title: title.to_string() }))
}

/// GET /api/duplicate.
pub async fn duplicate(app: App, Form(query): Form<DuplicateQuery>) -> Result<Json<DuplicateResponse>> {
    let earlier = preparing::find_duplicate(&app.site, &query.url).await?;
    let ctime = earlier.as_ref().map(|news| news.ctime.0);
    let (news_id, title) = earlier.map(|news| (news.id, news.title)).unzip();
    Ok(Json(DuplicateResponse { status: Status::Ok, url: query.url.to_string(), news_id, title, ctime }))
}
