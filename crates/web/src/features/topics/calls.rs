//! Articles and topics: listing, following, muting, describing, renaming, merging.

use crate::error::{RequestError, Result};
use crate::markup::Page;
use crate::request::form::parse;
use crate::request::{PathOf, Status, answer};
use axum::Json;
use serde::Serializer;
use tidings_domain::Visit;
use tidings_domain::articles::lists::{self, ArticleLine, ArticleOrder, ArticlePage, PageNumber};
use tidings_domain::articles::topics;
use tidings_domain::values::{ARTICLES_PER_PAGE, MAX_LISTED_TOPICS, NewsId, Timestamp, Topic, TopicChoice};
use tidings_language::m;

answer! {
    /// A page of a list of articles.
    pub struct ArticlesResponse as Articles from (page: ArticlePage) {
        status;
        articles: Vec<ArticleEntry> = page.lines.into_iter().map(ArticleEntry::from).collect();
        /// The number of articles in the whole list. A list of several topics has at most 2,000.
        count: u64 = page.total.saturating_sub(page.hidden);
    }

    /// An article in a list.
    struct ArticleEntry from (line: ArticleLine) {
        id: NewsId = line.id, u64;
        title: String = line.article.title, values::StoredTitle;
        /// The address of the article.
        link: String = line.article.link, values::StoredUrl;
        /// The author, as `user:<user id>`.
        poster: String = line.article.poster, values::Poster;
        /// The time of submission.
        time: Timestamp = line.article.time, u64;
        /// The number of votes that count towards the score.
        votes: i64 = line.article.votes;
        /// The score: the time of submission in seconds, plus 432 for each vote that counts.
        #[serde(serialize_with = "whole_if_possible")]
        score: f64 = line.score, f64;
        topics: Vec<String> = line.line.iter().flat_map(|line| line.news.topics.iter()).map(Topic::to_string).collect(),
            Vec<values::TopicName>;
    }

    /// All topics.
    pub struct TopicListResponse as TopicList {
        status;
        topics: Vec<TopicEntry>;
    }

    /// A topic in a list.
    struct TopicEntry from (line: &topics::TopicLine) {
        name: String = line.topic.to_string(), values::TopicName;
        /// The number of its articles.
        articles: u64 = line.articles;
        /// The sentence that describes it; missing if it has none.
        about?: String = Some(line.sentence.clone()).filter(|sentence| !sentence.is_empty()), values::TopicSentence;
    }

    /// The outcome of renaming or merging a topic.
    pub struct TopicMovedResponse as TopicMoved from (articles: Option<u64>) {
        status;
        /// Whether all articles have been moved. If not, the move continues in the background.
        finished: bool = articles.is_some();
        /// The number of articles moved. Missing until the move is finished.
        articles?: u64 = articles;
    }
}

/// GET /api/articles/{order}/{page}.
pub async fn all(
    PathOf((order, page)): PathOf<(String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<ArticlesResponse>> {
    let (order, page) = (order_of(&order)?, page_of(&page)?);
    Ok(Json(lists::all(&mut visit, order, page.of(ARTICLES_PER_PAGE)).await?.into()))
}

/// GET /api/topic/{name}/{order}/{page}.
pub async fn of_topics(
    PathOf((name, order, page)): PathOf<(String, String, String)>,
    Page { mut visit, .. }: Page,
) -> Result<Json<ArticlesResponse>> {
    let topics: TopicChoice = parse(
        &name,
        "name",
        m!("it must be a topic, or at most 5 joined by + (all of them) or by commas (any of them)"),
    )?;
    let (order, page) = (order_of(&order)?, page_of(&page)?);
    Ok(Json(lists::of_topics(&mut visit, &topics, order, page.of(ARTICLES_PER_PAGE)).await?.into()))
}

fn order_of(text: &str) -> Result<ArticleOrder> {
    match text {
        "score" => Ok(ArticleOrder::Score),
        "time" => Ok(ArticleOrder::Time),
        _ => Err(RequestError::field("order", m!("it must be score or time"))),
    }
}

fn page_of(text: &str) -> Result<PageNumber> {
    parse(text, "page", m!("it must be a whole number from 1 on"))
}

/// Writes a score as a whole number. Only a score that another program wrote can have a
/// fraction.
fn whole_if_possible<S: Serializer>(score: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match score.to_string().parse::<i64>() {
        Ok(whole) => serializer.serialize_i64(whole),
        Err(_) => serializer.serialize_f64(*score),
    }
}

/// GET /api/topics.
pub async fn topics(mut visit: Visit) -> Result<Json<TopicListResponse>> {
    let overview = topics::overview(&mut visit, MAX_LISTED_TOPICS).await?;
    let entries = overview.topics.iter().map(TopicEntry::from).collect();
    Ok(Json(TopicListResponse { status: Status::Ok, topics: entries }))
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
