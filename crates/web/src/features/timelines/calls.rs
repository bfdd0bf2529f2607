//! Tweets, timelines, followers and followings.

use super::form::TweetDeletion;
use super::tweets::delete_tweet;
use crate::App;
use crate::error::{RequestError, unknown_name};
use crate::markup::page::Page;
use crate::markup::parts::DELETED_USER;
use crate::request::answers::{DONE, DoneResponse, Status, is_false};
use crate::request::description::FORM;
use crate::request::form::Form;
use crate::request::paging::WindowQuery;
use crate::request::path::PathOf;
use crate::request::values;
use crate::request::viewer::SignedForm;
use axum::Json;
use serde::Serialize;
use tidings_domain::accounts::profiles;
use tidings_domain::accounts::seen::Seen;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::timelines::follows::{self, PeoplePage, Person, Side};
use tidings_domain::timelines::lines::TweetLine;
use tidings_domain::timelines::reading::{self, TweetPage};
use tidings_domain::timelines::tweets::PostedTweet;
use tidings_domain::values::ids::{NewsId, TweetId};
use utoipa::ToSchema;

/// The outcome of posting a tweet.
#[derive(Serialize, ToSchema)]
#[schema(as = Tweeted)]
pub struct TweetedResponse {
    status: Status,
    /// The tweet.
    #[schema(value_type = u64)]
    tweet_id: TweetId,
    /// True if it waits for a moderator; otherwise missing.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    held: bool,
}

/// A part of a timeline, newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = Timeline)]
pub struct TimelineResponse {
    status: Status,
    tweets: Vec<TweetEntry>,
    /// The value of `before` for the next part; null at the end.
    #[schema(value_type = Option<values::Cursor>, required = true)]
    next: Option<String>,
}

/// A tweet in a timeline.
#[derive(Serialize, ToSchema)]
pub struct TweetEntry {
    #[schema(value_type = u64)]
    id: TweetId,
    /// The text, or the title of the story that the tweet announces.
    #[schema(value_type = values::StoredTweet)]
    text: String,
    /// The time of posting in seconds, with up to three decimals.
    created_at: f64,
    /// The author; `[deleted user]` if the account was deactivated before the tweet was approved.
    #[schema(value_type = values::StoredUsername)]
    username: String,
    /// The author's full name; may be empty.
    #[schema(value_type = values::StoredFullName)]
    fullname: String,
    /// The position in timelines.
    #[schema(value_type = values::Cursor)]
    cursor: String,
    /// The story that the tweet announces; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    news_id: Option<NewsId>,
}

/// A part of a list of users, latest first.
#[derive(Serialize, ToSchema)]
#[schema(as = People)]
pub struct PeopleResponse {
    status: Status,
    /// The number of users in the whole list.
    count: u64,
    users: Vec<PersonEntry>,
    /// The value of `before` for the next part; null at the end.
    #[schema(value_type = Option<values::Cursor>, required = true)]
    next: Option<String>,
}

/// A user in a list.
#[derive(Serialize, ToSchema)]
struct PersonEntry {
    #[schema(value_type = values::StoredUsername)]
    username: String,
    /// The full name; may be empty.
    #[schema(value_type = values::StoredFullName)]
    fullname: String,
}

impl From<PostedTweet> for TweetedResponse {
    fn from(PostedTweet { id, waits }: PostedTweet) -> Self {
        Self { status: Status::Ok, tweet_id: id, held: waits }
    }
}

/// Delete a tweet.
#[utoipa::path(
    post,
    path = "/api/deltweet",
    request_body(content = inline(TweetDeletion), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
    security(("session" = [])),
)]
pub async fn delete(
    app: App,
    SignedForm { user, form }: SignedForm<TweetDeletion>,
) -> Result<Json<DoneResponse>, RequestError> {
    delete_tweet(&app, &user, form.tweet_id).await?;
    Ok(Json(DONE))
}

/// List the caller's own tweets and those of the users the caller follows.
#[utoipa::path(
    get,
    path = "/api/timeline/home",
    params(WindowQuery),
    responses((status = 200, body = TimelineResponse)),
    security(("session" = [])),
)]
pub async fn home(
    Page { mut visit, .. }: Page,
    Form(query): Form<WindowQuery>,
) -> Result<Json<TimelineResponse>, RequestError> {
    if !visit.has_token() {
        return Err(RequestError::LoginRequired);
    }
    let page = reading::home(&mut visit, &query.into()).await?.ok_or(RequestError::LoginRequired)?;
    Ok(Json(page.into()))
}

/// List the newest tweets of all users.
#[utoipa::path(
    get,
    path = "/api/timeline/everyone",
    params(WindowQuery),
    responses((status = 200, body = TimelineResponse)),
)]
pub async fn everyone(
    Page { mut visit, .. }: Page,
    Form(query): Form<WindowQuery>,
) -> Result<Json<TimelineResponse>, RequestError> {
    Ok(Json(reading::everyone(&mut visit, &query.into()).await?.into()))
}

/// List a user's tweets.
#[utoipa::path(
    get,
    path = "/api/timeline/user/{name}",
    params(("name" = inline(values::Username), Path), WindowQuery),
    responses((status = 200, body = TimelineResponse)),
)]
pub async fn of_user(
    PathOf(name): PathOf<String>,
    Page { mut visit, .. }: Page,
    Form(query): Form<WindowQuery>,
) -> Result<Json<TimelineResponse>, RequestError> {
    let user = profiles::profile(&mut visit, &name).await.map_err(unknown_name)?.user.clone();
    Ok(Json(reading::of_user(&mut visit, user.id, &query.into()).await?.into()))
}

/// List a user's followers.
#[utoipa::path(
    get,
    path = "/api/followers/{name}",
    params(("name" = inline(values::Username), Path), WindowQuery),
    responses((status = 200, body = PeopleResponse)),
)]
pub async fn followers(
    PathOf(name): PathOf<String>,
    mut visit: Visit,
    Form(query): Form<WindowQuery>,
) -> Result<Json<PeopleResponse>, RequestError> {
    let people = follows::people(&mut visit, &name, Side::Followers, &query.into()).await;
    Ok(Json(people.map_err(unknown_name)?.into()))
}

/// List the users that a user follows.
#[utoipa::path(
    get,
    path = "/api/followings/{name}",
    params(("name" = inline(values::Username), Path), WindowQuery),
    responses((status = 200, body = PeopleResponse)),
)]
pub async fn followings(
    PathOf(name): PathOf<String>,
    mut visit: Visit,
    Form(query): Form<WindowQuery>,
) -> Result<Json<PeopleResponse>, RequestError> {
    let people = follows::people(&mut visit, &name, Side::Followings, &query.into()).await;
    Ok(Json(people.map_err(unknown_name)?.into()))
}

impl From<TweetPage> for TimelineResponse {
    fn from(page: TweetPage) -> Self {
        let next = page.next.map(|next| next.to_string());
        Self { status: Status::Ok, tweets: page.lines.iter().map(TweetEntry::from).collect(), next }
    }
}

impl From<&Seen<TweetLine>> for TweetEntry {
    fn from(line: &Seen<TweetLine>) -> Self {
        let tweet = &line.tweet;
        Self {
            id: tweet.id,
            text: line.text().to_owned(),
            created_at: tweet.created_at,
            username: line.username.clone().unwrap_or_else(|| DELETED_USER.to_owned()),
            fullname: line.fullname.clone(),
            cursor: line.cursor.to_string(),
            news_id: tweet.news_id,
        }
    }
}

impl From<PeoplePage> for PeopleResponse {
    fn from(page: PeoplePage) -> Self {
        let users = page.people.into_iter().map(PersonEntry::from).collect();
        Self { status: Status::Ok, count: page.count, users, next: page.next.map(|next| next.to_string()) }
    }
}

impl From<Person> for PersonEntry {
    fn from(Person { username, fullname, .. }: Person) -> Self {
        Self { username, fullname }
    }
}
