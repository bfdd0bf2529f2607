//! Tweets, timelines, and who follows whom.

use super::accounts::NAME;
use super::news::ID;
use super::ok;
use crate::error::Failure;
use crate::form::Fields;
use crate::openapi::{Answer, Call, Input, Method, Needs, Shape};
use crate::paging::window;
use crate::path::PathOf;
use crate::viewer::SignedForm;
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use tidings_domain::accounts::users;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::timelines::follows::{self, PeoplePage, Side};
use tidings_domain::timelines::lines::TweetLine;
use tidings_domain::timelines::reading::{self, TweetPage};
use tidings_domain::timelines::tweets;
use tidings_domain::values::ids::TweetId;

/// What this file answers.
pub const CALLS: &[Call] = &[
    Call {
        method: Method::Post,
        path: "/api/tweet",
        summary: "Posts a tweet.",
        needs: Needs::Secret,
        inputs: &[Input::form("text", Shape::Text { least: 1, most: 4_096 })],
        answer: Answer::Ours(&[("tweet_id", Shape::Number)]),
    },
    Call {
        method: Method::Post,
        path: "/api/deltweet",
        summary: "Deletes a tweet.",
        needs: Needs::Secret,
        inputs: &[Input::form("tweet_id", ID)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Post,
        path: "/api/follow",
        summary: "Follows a user.",
        needs: Needs::Secret,
        inputs: &[Input::form("username", NAME)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Post,
        path: "/api/unfollow",
        summary: "Follows a user no more.",
        needs: Needs::Secret,
        inputs: &[Input::form("username", NAME)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Get,
        path: "/api/timeline/home",
        summary: "Tweets of those whom the caller follows, and the caller's own.",
        needs: Needs::Session,
        inputs: &[COUNT, BEFORE, SINCE],
        answer: TWEETS,
    },
    Call {
        method: Method::Get,
        path: "/api/timeline/everyone",
        summary: "The newest tweets of all users.",
        needs: Needs::Nothing,
        inputs: &[COUNT, BEFORE, SINCE],
        answer: TWEETS,
    },
    Call {
        method: Method::Get,
        path: "/api/timeline/user/{name}",
        summary: "A user's tweets.",
        needs: Needs::Nothing,
        inputs: &[Input::path("name", NAME), COUNT, BEFORE, SINCE],
        answer: TWEETS,
    },
    Call {
        method: Method::Get,
        path: "/api/followers/{name}",
        summary: "Who follows a user.",
        needs: Needs::Nothing,
        inputs: &[Input::path("name", NAME), COUNT, BEFORE],
        answer: PEOPLE,
    },
    Call {
        method: Method::Get,
        path: "/api/followings/{name}",
        summary: "Whom a user follows.",
        needs: Needs::Nothing,
        inputs: &[Input::path("name", NAME), COUNT, BEFORE],
        answer: PEOPLE,
    },
];

const COUNT: Input = Input::query("count", Shape::Whole(1, 100)).optional();
const BEFORE: Input = Input::query("before", CURSOR).optional();
const SINCE: Input = Input::query("since", CURSOR).optional();
const CURSOR: Shape = Shape::Pattern("^[0-9]{1,12}(\\.[0-9]{1,3})?-[1-9][0-9]{0,14}$", "1401267618.123-45");
const TEXT: Shape = Shape::Text { least: 0, most: 4_096 };
const TWEETS: Answer = Answer::Ours(&[
    (
        "tweets",
        Shape::List(
            &Shape::Object(&[
                ("id", Shape::Number, true),
                ("text", TEXT, true),
                ("created_at", Shape::Decimal, true),
                ("username", TEXT, true),
                ("fullname", TEXT, true),
                ("cursor", CURSOR, true),
                ("news_id", Shape::Number, false),
            ]),
            100,
        ),
    ),
    ("next", Shape::OrNull(&CURSOR)),
]);
const PEOPLE: Answer = Answer::Ours(&[
    ("count", Shape::Number),
    ("users", Shape::List(&Shape::Object(&[("username", TEXT, true), ("fullname", TEXT, true)]), 100)),
    ("next", Shape::OrNull(&CURSOR)),
]);

/// POST /api/tweet: text, apisecret.
pub async fn tweet(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let id = actions::post_tweet(&app, &form).await?;
    Ok(ok([("tweet_id", id.0.into())]))
}

/// POST /api/deltweet: tweet_id, apisecret.
pub async fn delete(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let id: TweetId = form.fields.parsed("tweet_id", "it must be the number of a tweet")?;
    tweets::delete_tweet(&app.site, app.moment(), &form.user, id).await?;
    Ok(ok([]))
}

/// POST /api/follow: username, apisecret.
pub async fn follow(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    actions::follow(&app, &form).await?;
    Ok(ok([]))
}

/// POST /api/unfollow: username, apisecret.
pub async fn unfollow(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    actions::unfollow(&app, &form).await?;
    Ok(ok([]))
}

/// GET /api/timeline/home: count, before, since.
pub async fn home(mut visit: Visit, fields: Fields) -> Result<Json<Value>, Failure> {
    let window = window(&fields)?;
    if !visit.has_token() {
        return Err(Failure::LoginRequired);
    }
    let page = reading::home(&mut visit, &window).await?.ok_or(Failure::LoginRequired)?;
    Ok(timeline(&page))
}

/// GET /api/timeline/everyone: count, before, since.
pub async fn everyone(mut visit: Visit, fields: Fields) -> Result<Json<Value>, Failure> {
    Ok(timeline(&reading::everyone(&mut visit, &window(&fields)?).await?))
}

/// GET /api/timeline/user/:name: count, before, since.
pub async fn of_user(
    PathOf(name): PathOf<String>,
    mut visit: Visit,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    let window = window(&fields)?;
    let user = users::profile(&mut visit, &name).await.map_err(actions::unknown_name)?.user.clone();
    Ok(timeline(&reading::of_user(&mut visit, user.id, &window).await?))
}

/// GET /api/followers/:name: count, before.
pub async fn followers(
    PathOf(name): PathOf<String>,
    mut visit: Visit,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    people_on(Side::Followers, &name, &mut visit, &fields).await
}

/// GET /api/followings/:name: count, before.
pub async fn followings(
    PathOf(name): PathOf<String>,
    mut visit: Visit,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    people_on(Side::Followings, &name, &mut visit, &fields).await
}

async fn people_on(
    side: Side,
    name: &str,
    visit: &mut Visit,
    fields: &Fields,
) -> Result<Json<Value>, Failure> {
    let window = window(fields)?;
    Ok(people(&follows::people(visit, name, side, &window).await.map_err(actions::unknown_name)?))
}

fn timeline(page: &TweetPage) -> Json<Value> {
    let tweets: Vec<Value> = page.lines.iter().map(item).collect();
    let next = page.next.map(|next| next.to_string());
    ok([("tweets", tweets.into()), ("next", next.into())])
}

fn item(line: &TweetLine) -> Value {
    let (tweet, cursor, username, fullname) = (&line.tweet, &line.cursor, &line.username, &line.fullname);
    let mut item = json!({
        "id": tweet.id,
        "text": tweet.text,
        "created_at": tweet.created_at,
        "username": &**username,
        "fullname": &**fullname,
        "cursor": cursor.to_string(),
    });
    if let Some(news) = tweet.news_id {
        item["news_id"] = news.0.into();
    }
    item
}

fn people(page: &PeoplePage) -> Json<Value> {
    let users: Vec<Value> = page
        .people
        .iter()
        .map(|person| json!({"username": person.username, "fullname": person.fullname}))
        .collect();
    let next = page.next.map(|next| next.to_string());
    ok([("count", page.count.into()), ("users", users.into()), ("next", next.into())])
}
