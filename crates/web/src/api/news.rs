//! News: submitting, voting, listing.

use super::ok;
use crate::error::Failure;
use crate::openapi::{Answer, Call, Input, Method, Needs, Shape};
use crate::path::{PathOf, Start};
use crate::viewer::SignedForm;
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::news::item::Direction;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::news::lists;
use tidings_domain::submissions;
use tidings_domain::values::limits;

/// What this file answers.
pub const CALLS: &[Call] = &[
    Call {
        method: Method::Post,
        path: "/api/submit",
        summary: "Submits an item, or edits one.",
        needs: Needs::Secret,
        inputs: &[
            Input::form("news_id", ID_OR_NONE),
            Input::form("title", Shape::Text { least: 1, most: 80 }),
            Input::form("url", Shape::Text { least: 0, most: 2_048 }).optional(),
            Input::form("text", Shape::Text { least: 0, most: 4_096 }).optional(),
            Input::form("topics", Shape::Text { least: 0, most: 200 }).optional(),
        ],
        answer: Answer::Ours(&[("news_id", Shape::Number)]),
    },
    Call {
        method: Method::Post,
        path: "/api/delnews",
        summary: "Deletes an item.",
        needs: Needs::Secret,
        inputs: &[Input::form("news_id", ID)],
        answer: Answer::Ours(&[("news_id", Shape::Number)]),
    },
    Call {
        method: Method::Post,
        path: "/api/votenews",
        summary: "Votes on an item.",
        needs: Needs::Secret,
        inputs: &[Input::form("news_id", ID), Input::form("vote_type", VOTE)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Get,
        path: "/api/getnews/{sort}/{start}/{count}",
        summary: "Lists items.",
        needs: Needs::Nothing,
        inputs: &[
            Input::path("sort", Shape::Choice(&["latest", "top"])),
            Input::path("start", Shape::Whole(0, 1_000_000_000)),
            Input::path("count", Shape::Whole(1, 32)),
        ],
        answer: Answer::Ours(&[("news", Shape::List(&ITEM, limits::MAX_API_NEWS)), ("count", Shape::Number)]),
    },
];

/// An id as a field.
pub(super) const ID: Shape = Shape::Pattern("^[1-9][0-9]{0,14}$", "1");
/// An id as a field, or -1.
pub(super) const ID_OR_NONE: Shape = Shape::Pattern("^([1-9][0-9]{0,14}|-1)$", "-1");
/// A vote as a field.
pub(super) const VOTE: Shape = Shape::Choice(&["up", "down"]);
const ITEM: Shape = Shape::Object(&[
    ("id", Shape::Number, true),
    ("title", Shape::Text { least: 0, most: 300 }, true),
    ("url", Shape::Text { least: 0, most: 4_200 }, true),
    ("username", Shape::OrNull(&Shape::Text { least: 1, most: 64 }), true),
    ("ctime", Shape::Number, true),
    ("up", Shape::Number, true),
    ("down", Shape::Number, true),
    ("comments", Shape::Number, true),
    ("voted", VOTE, false),
]);

/// POST /api/submit: title, url, text, news_id (-1 = new), apisecret.
pub async fn submit(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let id = actions::submit_or_edit(&app, &form).await?;
    Ok(ok([("news_id", id.0.into())]))
}

/// POST /api/delnews: news_id, apisecret.
pub async fn delete(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    let id = actions::news_id(&form.fields)?;
    submissions::delete_news(&app.site, app.moment(), &form.user, id).await?;
    Ok(ok([("news_id", (-1).into())]))
}

/// POST /api/votenews: news_id, vote_type, apisecret.
pub async fn vote(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    actions::vote_news(&app, &form).await?;
    Ok(ok([]))
}

/// GET /api/getnews/:sort/:start/:count.
pub async fn list(
    PathOf((sort, start, count)): PathOf<(String, String, String)>,
    mut visit: Visit,
) -> Result<Json<Value>, Failure> {
    let start = Start::try_from(start)
        .map_err(|_| Failure::Field { name: "start", expected: "it must be a whole number from 0 on" })?;
    let count = count
        .parse()
        .ok()
        .filter(|count| (1..=limits::MAX_API_NEWS).contains(count))
        .ok_or(Failure::Field { name: "count", expected: "it must be a whole number from 1 to 32" })?;
    let page = match sort.as_str() {
        "latest" => lists::latest(&mut visit, start.0, count).await?,
        "top" => lists::top(&mut visit, start.0, count).await?,
        _ => return Err(Failure::Field { name: "sort", expected: "it must be latest or top" }),
    };
    let items: Vec<Value> = page.lines.iter().map(|line| item(line, visit.viewer_id().is_some())).collect();
    Ok(ok([("news", items.into()), ("count", page.total.into())]))
}

fn item(line: &NewsLine, with_vote: bool) -> Value {
    let (news, username, my_vote) = (&line.news, &line.username, &line.my_vote);
    let mut item = json!({
        "id": news.id,
        "title": news.title,
        "url": news.url,
        "ctime": news.ctime,
        "up": news.up,
        "down": news.down,
        "comments": news.comments,
        "username": username.as_deref(),
    });
    if with_vote && let Some(vote) = my_vote {
        item["voted"] = vote_name(*vote).into();
    }
    item
}

/// A vote as the API writes it.
pub(super) const fn vote_name(vote: Direction) -> &'static str {
    match vote {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}
