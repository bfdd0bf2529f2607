//! Articles and topics: listing, renaming, merging.

use super::ok;
use crate::error::Failure;
use crate::openapi::{Answer, Call, Input, Method, Needs, Shape};
use crate::path::PathOf;
use crate::viewer::SignedForm;
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::lists::{self, ArticleLine, ArticleOrder, ArticlePage, PageNumber};
use tidings_domain::articles::topic_moves::Move;
use tidings_domain::articles::topics;
use tidings_domain::values::topic::Topic;
use tidings_domain::values::topic::TopicChoice;

/// What this file answers.
pub const CALLS: &[Call] = &[
    Call {
        method: Method::Get,
        path: "/api/articles/{order}/{page}",
        summary: "Articles, the best or the newest first.",
        needs: Needs::Nothing,
        inputs: &[Input::path("order", ORDER), Input::path("page", PAGE)],
        answer: ARTICLES,
    },
    Call {
        method: Method::Get,
        path: "/api/topic/{name}/{order}/{page}",
        summary: "Articles of a topic, or of several.",
        needs: Needs::Nothing,
        inputs: &[
            Input::path("name", Shape::Pattern("^[a-z0-9-]{2,30}([+,][a-z0-9-]{2,30}){0,4}$", "rust")),
            Input::path("order", ORDER),
            Input::path("page", PAGE),
        ],
        answer: ARTICLES,
    },
    Call {
        method: Method::Get,
        path: "/api/topics",
        summary: "All topics, those with the most articles first.",
        needs: Needs::Nothing,
        inputs: &[],
        answer: Answer::Ours(&[(
            "topics",
            Shape::List(
                &Shape::Object(&[("name", TOPIC, true), ("articles", Shape::Number, true)]),
                1_000_000,
            ),
        )]),
    },
    Call {
        method: Method::Post,
        path: "/api/renametopic",
        summary: "Renames a topic, for administrators.",
        needs: Needs::Secret,
        inputs: &[Input::form("topic", TOPIC), Input::form("name", TOPIC)],
        answer: MOVED,
    },
    Call {
        method: Method::Post,
        path: "/api/mergetopic",
        summary: "Merges a topic into another, for administrators.",
        needs: Needs::Secret,
        inputs: &[Input::form("topic", TOPIC), Input::form("into", TOPIC)],
        answer: MOVED,
    },
];

const ORDER: Shape = Shape::Choice(&["score", "time"]);
const PAGE: Shape = Shape::Whole(1, 1_000_000);
const TOPIC: Shape = Shape::Pattern("^[a-z0-9-]{2,30}$", "rust");
const MOVED: Answer = Answer::Partly(&[("finished", Shape::Flag)], &[("articles", Shape::Number)]);
const ARTICLES: Answer = Answer::Ours(&[
    (
        "articles",
        Shape::List(
            &Shape::Object(&[
                ("id", Shape::Number, true),
                ("title", Shape::Text { least: 0, most: 300 }, true),
                ("link", Shape::Text { least: 0, most: 4_200 }, true),
                ("poster", Shape::Text { least: 1, most: 30 }, true),
                ("time", Shape::Number, true),
                ("votes", Shape::Number, true),
                ("score", Shape::Decimal, true),
                ("topics", Shape::List(&TOPIC, 5), true),
            ]),
            25,
        ),
    ),
    ("count", Shape::Number),
]);

/// GET /api/articles/:order/:page.
pub async fn all(
    PathOf((order, page)): PathOf<(String, String)>,
    mut visit: Visit,
) -> Result<Json<Value>, Failure> {
    let (order, page) = (order_of(&order)?, page_of(&page)?);
    Ok(answer(&lists::all(&mut visit, order, page).await?))
}

/// GET /api/topic/:name/:order/:page.
pub async fn of_topics(
    PathOf((name, order, page)): PathOf<(String, String, String)>,
    mut visit: Visit,
) -> Result<Json<Value>, Failure> {
    let topics: TopicChoice = name.parse().map_err(|_| Failure::Field {
        name: "name",
        expected: "it must be a topic, or at most 5 joined by + (all of them) or by commas (any of them)",
    })?;
    let (order, page) = (order_of(&order)?, page_of(&page)?);
    Ok(answer(&lists::of_topics(&mut visit, &topics, order, page).await?))
}

fn order_of(text: &str) -> Result<ArticleOrder, Failure> {
    match text {
        "score" => Ok(ArticleOrder::Score),
        "time" => Ok(ArticleOrder::Time),
        _ => Err(Failure::Field { name: "order", expected: "it must be score or time" }),
    }
}

fn page_of(text: &str) -> Result<PageNumber, Failure> {
    text.parse().map_err(|_| Failure::Field { name: "page", expected: "it must be a whole number from 1 on" })
}

fn answer(page: &ArticlePage) -> Json<Value> {
    let articles: Vec<Value> = page.lines.iter().map(article).collect();
    ok([("articles", articles.into()), ("count", page.total.into())])
}

fn article(line: &ArticleLine) -> Value {
    let ArticleLine { line, article, score } = line;
    let topics: Vec<&str> = line.news.topics.iter().map(Topic::as_str).collect();
    json!({
        "id": line.news.id,
        "title": article.title,
        "link": article.link,
        "poster": article.poster,
        "time": article.time,
        "votes": article.votes,
        "score": score_value(*score),
        "topics": topics,
    })
}

/// A score as a number without a fraction, which it has none of unless another
/// program gave it one.
fn score_value(score: f64) -> Value {
    score.to_string().parse::<i64>().map_or_else(|_| score.into(), Value::from)
}

/// GET /api/topics.
pub async fn topics(mut visit: Visit) -> Result<Json<Value>, Failure> {
    let overview = topics::all(&mut visit).await?;
    let lines: Vec<Value> = overview
        .topics
        .iter()
        .map(|line| json!({ "name": line.topic.as_str(), "articles": line.articles }))
        .collect();
    Ok(ok([("topics", lines.into())]))
}

/// POST /api/renametopic: topic, name, apisecret.
pub async fn rename(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    moved(&app, form, Move::Rename).await
}

/// POST /api/mergetopic: topic, into, apisecret.
pub async fn merge(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    moved(&app, form, Move::Merge).await
}

async fn moved(app: &App, form: SignedForm, kind: Move) -> Result<Json<Value>, Failure> {
    let moved = actions::move_topic(app, form, kind).await?;
    Ok(match moved.articles {
        Some(articles) => ok([("finished", true.into()), ("articles", articles.into())]),
        None => ok([("finished", false.into())]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_whole_numbers_where_they_can_be() {
        assert_eq!(score_value(1_800_000_432.0).to_string(), "1800000432");
        assert_eq!(score_value(0.5).to_string(), "0.5");
        assert_eq!(score_value(1e300), json!(1e300));
    }
}
