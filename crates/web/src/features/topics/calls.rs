//! Articles and topics: listing, following, muting, describing, renaming, merging.

use crate::error::RequestError;
use crate::markup::page::Page;
use crate::request::answers::Status;
use crate::request::form::parse;
use crate::request::path::PathOf;
use crate::request::values;
use axum::Json;
use serde::{Serialize, Serializer};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::lists::{self, ArticleLine, ArticleOrder, ArticlePage, PageNumber};
use tidings_domain::articles::topics;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::NewsId;
use tidings_domain::values::limits::ARTICLES_PER_PAGE;
use tidings_domain::values::topic::Topic;
use tidings_domain::values::topic::TopicChoice;
use utoipa::ToSchema;

/// A page of a list of articles.
#[derive(Serialize, ToSchema)]
#[schema(as = Articles)]
pub struct ArticlesResponse {
    status: Status,
    articles: Vec<ArticleEntry>,
    /// The number of articles in the whole list. A list of several topics has at most 2,000.
    count: u64,
}

/// An article in a list.
#[derive(Serialize, ToSchema)]
struct ArticleEntry {
    #[schema(value_type = u64)]
    id: NewsId,
    #[schema(value_type = values::StoredTitle)]
    title: String,
    /// The address of the article.
    #[schema(value_type = values::StoredUrl)]
    link: String,
    /// The author, as `user:<user id>`.
    #[schema(value_type = values::Poster)]
    poster: String,
    /// The time of submission.
    #[schema(value_type = u64)]
    time: Timestamp,
    /// The number of votes that count towards the score.
    votes: i64,
    /// The score: the time of submission in seconds, plus 432 for each vote that counts.
    #[schema(value_type = f64)]
    #[serde(serialize_with = "whole_if_possible")]
    score: f64,
    #[schema(value_type = Vec<values::TopicName>)]
    topics: Vec<String>,
}

/// All topics.
#[derive(Serialize, ToSchema)]
#[schema(as = TopicList)]
pub struct TopicListResponse {
    status: Status,
    topics: Vec<TopicEntry>,
}

/// A topic in a list.
#[derive(Serialize, ToSchema)]
struct TopicEntry {
    #[schema(value_type = values::TopicName)]
    name: String,
    /// The number of its articles.
    articles: u64,
    /// The sentence that describes it; missing if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::TopicSentence, required = false)]
    about: Option<String>,
}

/// The outcome of renaming or merging a topic.
#[derive(Serialize, ToSchema)]
#[schema(as = TopicMoved)]
pub struct TopicMovedResponse {
    status: Status,
    /// Whether all articles have been moved. If not, the move continues in the background.
    finished: bool,
    /// The number of articles moved. Missing until the move is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    articles: Option<u64>,
}

/// List articles, best or newest first.
#[utoipa::path(
    get,
    path = "/api/articles/{order}/{page}",
    params(("order" = inline(values::ArticleOrder), Path), ("page" = inline(values::PageNumber), Path)),
    responses((status = 200, body = ArticlesResponse)),
)]
pub async fn all(
    PathOf((order, page)): PathOf<(String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<ArticlesResponse>, RequestError> {
    let (order, page) = (order_of(&order)?, page_of(&page)?);
    Ok(Json(lists::all(&mut visit, order, page.of(ARTICLES_PER_PAGE)).await?.into()))
}

/// List the articles of one or more topics.
#[utoipa::path(
    get,
    path = "/api/topic/{name}/{order}/{page}",
    params(
        ("name" = inline(values::TopicChoice), Path),
        ("order" = inline(values::ArticleOrder), Path),
        ("page" = inline(values::PageNumber), Path),
    ),
    responses((status = 200, body = ArticlesResponse)),
)]
pub async fn of_topics(
    PathOf((name, order, page)): PathOf<(String, String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<ArticlesResponse>, RequestError> {
    let topics: TopicChoice = parse(
        &name,
        "name",
        "it must be a topic, or at most 5 joined by + (all of them) or by commas (any of them)",
    )?;
    let (order, page) = (order_of(&order)?, page_of(&page)?);
    Ok(Json(lists::of_topics(&mut visit, &topics, order, page.of(ARTICLES_PER_PAGE)).await?.into()))
}

fn order_of(text: &str) -> Result<ArticleOrder, RequestError> {
    match text {
        "score" => Ok(ArticleOrder::Score),
        "time" => Ok(ArticleOrder::Time),
        _ => Err(RequestError::field("order", "it must be score or time")),
    }
}

fn page_of(text: &str) -> Result<PageNumber, RequestError> {
    parse(text, "page", "it must be a whole number from 1 on")
}

impl From<ArticlePage> for ArticlesResponse {
    fn from(page: ArticlePage) -> Self {
        let articles = page.lines.into_iter().map(ArticleEntry::from).collect();
        Self { status: Status::Ok, articles, count: page.total.saturating_sub(page.hidden) }
    }
}

impl From<ArticleLine> for ArticleEntry {
    fn from(ArticleLine { id, line, article, score }: ArticleLine) -> Self {
        let topics = line.as_ref().map(|line| line.news.topics.iter().map(Topic::to_string).collect());
        Self {
            id,
            title: article.title,
            link: article.link,
            poster: article.poster,
            time: article.time,
            votes: article.votes,
            score,
            topics: topics.unwrap_or_default(),
        }
    }
}

/// Writes a score as a whole number. Only a score that another program wrote can have a
/// fraction.
fn whole_if_possible<S: Serializer>(score: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match score.to_string().parse::<i64>() {
        Ok(whole) => serializer.serialize_i64(whole),
        Err(_) => serializer.serialize_f64(*score),
    }
}

/// List all topics, those with the most articles first.
#[utoipa::path(get, path = "/api/topics", responses((status = 200, body = TopicListResponse)))]
pub async fn topics(mut visit: Visit) -> Result<Json<TopicListResponse>, RequestError> {
    let overview = topics::all(&mut visit).await?;
    let entry = |line: &topics::TopicLine| TopicEntry {
        name: line.topic.to_string(),
        articles: line.articles,
        about: Some(line.sentence.clone()).filter(|sentence| !sentence.is_empty()),
    };
    Ok(Json(TopicListResponse { status: Status::Ok, topics: overview.topics.iter().map(entry).collect() }))
}

impl From<Option<u64>> for TopicMovedResponse {
    fn from(articles: Option<u64>) -> Self {
        Self { status: Status::Ok, finished: articles.is_some(), articles }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, value};

    #[test]
    fn scores_without_a_fraction_are_written_as_whole_numbers() {
        let written = |score: f64| whole_if_possible(&score, value::Serializer).ok();
        assert_eq!(written(1_800_000_432.0), Some(json!(1_800_000_432)));
        assert_eq!(written(0.5), Some(json!(0.5)));
        assert_eq!(written(1e300), Some(json!(1e300)));
    }
}
