//! Tweets, timelines, followers and followings.

use super::form::TweetDeletion;
use super::tweets::delete_tweet;
use crate::App;
use crate::error::{RequestError, Result, unknown_name};
use crate::markup::Page;
use crate::markup::parts::DELETED_USER;
#[cfg(test)]
use crate::request::description::values;
use crate::request::{DONE, DoneResponse, Form, PathOf, SignedForm, WindowQuery, answer};
use axum::Json;
use tidings_domain::accounts::profiles;
use tidings_domain::accounts::seen::Seen;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::timelines::follows::{self, PeoplePage, Person, Side};
use tidings_domain::timelines::lines::TweetLine;
use tidings_domain::timelines::reading::{self, TweetPage};
use tidings_domain::timelines::tweets::PostedTweet;
use tidings_domain::values::{NewsId, TweetId};

answer! {
    /// The outcome of posting a tweet.
    pub struct TweetedResponse as Tweeted from (posted: PostedTweet) {
        status;
        /// The tweet.
        tweet_id: TweetId = posted.id, u64;
        /// True if it waits for a moderator; otherwise missing.
        held?: bool = posted.waits.then_some(true);
    }

    /// A part of a timeline, newest first.
    pub struct TimelineResponse as Timeline from (page: TweetPage) {
        status;
        tweets: Vec<TweetEntry> = page.lines.iter().map(TweetEntry::from).collect();
        /// The value of `before` for the next part; null at the end.
        next: Option<String> = page.next.map(|next| next.to_string()), Option<values::Cursor>;
    }

    /// A tweet in a timeline.
    pub struct TweetEntry from (line: &Seen<TweetLine>) {
        id: TweetId = line.tweet.id, u64;
        /// The text, or the title of the story that the tweet announces.
        text: String = line.text().to_owned(), values::StoredTweet;
        /// The time of posting in seconds, with up to three decimals.
        created_at: f64 = line.tweet.created_at;
        /// The author; `[deleted user]` if the account was deactivated before the tweet was approved.
        username: String = line.username.clone().unwrap_or_else(|| DELETED_USER.to_owned()), values::StoredUsername;
        /// The author's full name; may be empty.
        fullname: String = line.fullname.clone(), values::StoredFullName;
        /// The position in timelines.
        cursor: String = line.cursor.to_string(), values::Cursor;
        /// The story that the tweet announces; otherwise missing.
        news_id?: NewsId = line.tweet.news_id, u64;
    }

    /// A part of a list of users, latest first.
    pub struct PeopleResponse as People from (page: PeoplePage) {
        status;
        /// The number of users in the whole list.
        count: u64 = page.count;
        users: Vec<PersonEntry> = page.people.into_iter().map(PersonEntry::from).collect();
        /// The value of `before` for the next part; null at the end.
        next: Option<String> = page.next.map(|next| next.to_string()), Option<values::Cursor>;
    }

    /// A user in a list.
    struct PersonEntry from (person: Person) {
        username: String = person.username, values::StoredUsername;
        /// The full name; may be empty.
        fullname: String = person.fullname, values::StoredFullName;
    }
}

/// POST /api/deltweet.
pub async fn delete(
    app: App,
    SignedForm { user, form }: SignedForm<TweetDeletion>,
) -> Result<Json<DoneResponse>> {
    delete_tweet(&app, &user, form.tweet_id).await?;
    Ok(Json(DONE))
}

/// GET /api/timeline/home.
pub async fn home(
    Page { mut visit, .. }: Page,
    Form(query): Form<WindowQuery>,
) -> Result<Json<TimelineResponse>> {
    if !visit.has_token() {
        return Err(RequestError::LoginRequired);
    }
    let page = reading::home(&mut visit, &query.into()).await?.ok_or(RequestError::LoginRequired)?;
    Ok(Json(page.into()))
}

/// GET /api/timeline/everyone.
pub async fn everyone(
    Page { mut visit, .. }: Page,
    Form(query): Form<WindowQuery>,
) -> Result<Json<TimelineResponse>> {
    Ok(Json(reading::everyone(&mut visit, &query.into()).await?.into()))
}

/// GET /api/timeline/user/{name}.
pub async fn of_user(
    PathOf(name): PathOf<String>,
    Page { mut visit, .. }: Page,
    Form(query): Form<WindowQuery>,
) -> Result<Json<TimelineResponse>> {
    let user = profiles::profile(&mut visit, &name).await.map_err(unknown_name)?.user.clone();
    Ok(Json(reading::of_user(&mut visit, user.id, &query.into()).await?.into()))
}

/// GET /api/followers/{name} and /api/followings/{name}.
pub async fn people_of(
    side: Side,
    PathOf(name): PathOf<String>,
    mut visit: Visit,
    Form(query): Form<WindowQuery>,
) -> Result<Json<PeopleResponse>> {
    let people = follows::people(&mut visit, &name, side, &query.into()).await;
    Ok(Json(people.map_err(unknown_name)?.into()))
}
