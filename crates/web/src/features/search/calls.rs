//! The calls of search.

use super::page::{SearchQuery, Wanted};
use super::searching::{NoResults, Results, find};
use super::suggesting::{SUGGESTED, stories_like, suggestions};
use crate::error::RequestError;
use crate::features::comments::calls::FoundComment;
use crate::features::stories::calls::{NewsEntry, entry};
use crate::features::timelines::calls::TweetEntry;
use crate::markup::page::Page;
use crate::request::answers::Status;
use crate::request::form::{Fields, Form};
use crate::request::viewer::ClientAddress;
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use tidings_domain::found::Finding;
use tidings_domain::values::limits::MAX_TITLE;
use tidings_search::asking::Hit;
use tidings_search::excerpts::Matcher;
use utoipa::ToSchema;

/// The results of a search.
#[derive(Serialize, ToSchema)]
#[schema(as = SearchResults)]
pub struct SearchResponse {
    status: Status,
    /// The search as it was sent.
    query: String,
    /// The terms that were understood.
    understood: Vec<UnderstoodTerm>,
    /// The parts that were left out.
    ignored: Vec<String>,
    /// The kind that was searched for.
    kind: &'static str,
    /// The order.
    sort: &'static str,
    /// How many results there are.
    total: u64,
    /// Whether that is exact.
    total_is_exact: bool,
    /// The page.
    page: usize,
    /// How many pages there are.
    pages: u64,
    /// How many results there are of each other kind; empty unless nothing was found.
    kinds: BTreeMap<&'static str, u64>,
    /// Searches that were perhaps meant; empty unless nothing was found.
    suggestions: Vec<String>,
    /// Results that have some of the words; empty unless no result has all of them.
    partial: Vec<SearchResult>,
    results: Vec<SearchResult>,
}

/// A term of a search.
#[derive(Serialize, ToSchema)]
struct UnderstoodTerm {
    term: String,
    /// The field that it is about; null for any text.
    #[schema(required = true)]
    field: Option<&'static str>,
    /// Whether it must not match.
    excluded: bool,
}

/// A result of a search: the object of its kind, and why it was found.
#[derive(Serialize, ToSchema)]
struct SearchResult {
    /// `story`, `comment`, `post`, `person` or `site`: the name of the object.
    kind: &'static str,
    /// The relevance.
    score: f64,
    why: Why,
    /// The part of the text that matches, without formatting; may be empty.
    excerpt: String,
    /// The words in it that were looked for: pairs of start and length, in characters.
    #[schema(value_type = Vec<Vec<usize>>)]
    marks: Vec<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    story: Option<NewsEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    comment: Option<FoundComment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    post: Option<TweetEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    person: Option<FoundPerson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    site: Option<FoundSite>,
}

/// The parts of the relevance.
#[derive(Serialize, ToSchema)]
struct Why {
    /// How well the text matches.
    text: f64,
    /// Whether the title has every word; such results come first.
    title: bool,
    /// The factor of the votes.
    votes: f64,
    /// The factor of the age.
    age: f64,
}

/// A person who was found.
#[derive(Serialize, ToSchema)]
struct FoundPerson {
    username: String,
    /// The full name; may be empty.
    fullname: String,
}

/// A site that was found.
#[derive(Serialize, ToSchema)]
struct FoundSite {
    host: String,
}

/// Search.
#[utoipa::path(
    get,
    path = "/api/search",
    params(SearchQuery),
    responses((status = 200, body = SearchResponse)),
)]
pub async fn search(
    Page { app, mut visit, .. }: Page,
    ClientAddress(from): ClientAddress,
    Form(query): Form<SearchQuery>,
) -> Result<Response, RequestError> {
    let searching = app.searching()?;
    let results = match find(&app, &mut visit, &query.asked(from)).await {
        Ok(results) => results,
        Err(NoResults::TooLong(error)) => {
            let refused = serde_json::json!({ "status": "err", "error": error.to_string() });
            return Ok((StatusCode::BAD_REQUEST, Json(refused)).into_response());
        }
        Err(NoResults::Failed(error)) => return Err(error),
    };
    let has_viewer = visit.viewer_id().is_some();
    let mut matcher = searching.answering().matcher(&results.search);
    Ok(Json(answer(&query, results, &mut matcher, has_viewer)).into_response())
}

fn answer(query: &SearchQuery, results: Results, matcher: &mut Matcher, has_viewer: bool) -> SearchResponse {
    let terms = results.search.terms().map(|term| UnderstoodTerm {
        term: term.text.clone(),
        field: term.field,
        excluded: term.is_excluded,
    });
    let size = crate::limits::SEARCH_RESULTS as u64;
    let mut all = |found: Vec<(Hit, Finding)>| -> Vec<SearchResult> {
        found.into_iter().map(|(hit, finding)| result(&hit, &finding, matcher, has_viewer)).collect()
    };
    SearchResponse {
        status: Status::Ok,
        query: query.typed.clone(),
        understood: terms.collect(),
        ignored: results.search.ignored.iter().map(|ignored| ignored.part.clone()).collect(),
        kind: query.wanted.name(),
        sort: query.sort.into(),
        total: results.total,
        total_is_exact: results.is_exact,
        page: query.page,
        pages: results.total.div_ceil(size).min(crate::limits::SEARCH_PAGES as u64),
        kinds: results.kinds.iter().map(|(kind, count)| (Wanted::of(*kind).name(), *count)).collect(),
        suggestions: results.suggestions,
        partial: all(results.partial),
        results: all(results.found),
    }
}

fn result(hit: &Hit, finding: &Finding, matcher: &mut Matcher, has_viewer: bool) -> SearchResult {
    let (kind, text) = match finding {
        Finding::Story(line) => ("story", line.news.text().unwrap_or(&line.news.title)),
        Finding::Comment(comment) => ("comment", comment.line().body()),
        Finding::Tweet(line) => ("post", line.text()),
        Finding::Person(user) => ("person", &*user.about),
        Finding::Site(_) => ("site", ""),
    };
    let excerpt = matcher.excerpt(text);
    let relevance = hit.relevance;
    let mut result = SearchResult {
        kind,
        score: relevance.score(),
        why: Why {
            text: relevance.text,
            title: relevance.is_title,
            votes: relevance.votes,
            age: relevance.age,
        },
        marks: excerpt.iter().flat_map(|found| in_characters(&found.text, &found.marks)).collect(),
        excerpt: excerpt.map(|found| found.text).unwrap_or_default(),
        story: None,
        comment: None,
        post: None,
        person: None,
        site: None,
    };
    match finding {
        Finding::Story(line) => result.story = Some(entry(line, has_viewer)),
        Finding::Comment(comment) => result.comment = Some(FoundComment::of(comment)),
        Finding::Tweet(line) => result.post = Some(TweetEntry::from(line)),
        Finding::Person(user) => {
            result.person =
                Some(FoundPerson { username: user.username.clone(), fullname: user.fullname.clone() });
        }
        Finding::Site(host) => result.site = Some(FoundSite { host: host.to_string() }),
    }
    result
}

/// Ranges of bytes as starts and lengths in characters.
fn in_characters(text: &str, marks: &[Range<usize>]) -> Vec<[usize; 2]> {
    let count = |range: Range<usize>| text[range].chars().count();
    marks.iter().map(|mark| [count(0..mark.start), count(mark.clone())]).collect()
}

/// The most suggestions.
const SUGGESTIONS: usize = 8;

/// Get topics, people and titles for what is being typed, in the form of OpenSearch.
#[utoipa::path(
    get,
    path = "/api/search/suggest",
    params(("q" = String, Query)),
    responses((status = 200, description = "What was typed, and at most 8 suggestions", content_type = SUGGESTED)),
)]
pub async fn suggest(
    Page { app, mut visit, .. }: Page,
    ClientAddress(from): ClientAddress,
    fields: Fields,
) -> Result<Response, RequestError> {
    let typed = fields.text("q").trim();
    let found = suggestions(&app, &mut visit, (typed, from), SUGGESTIONS).await?;
    Ok(([(header::CONTENT_TYPE, SUGGESTED)], Json((typed, found))).into_response())
}

/// Stories.
#[derive(Serialize, ToSchema)]
#[schema(as = SimilarStories)]
pub struct SimilarResponse {
    status: Status,
    stories: Vec<NewsEntry>,
}

/// Get stories with a title like this one: at most 5.
#[utoipa::path(
    get,
    path = "/api/search/similar",
    params(("title" = String, Query, max_length = 80)),
    responses((status = 200, body = SimilarResponse)),
)]
pub async fn similar(
    Page { app, mut visit, .. }: Page,
    ClientAddress(from): ClientAddress,
    fields: Fields,
) -> Result<Json<SimilarResponse>, RequestError> {
    let title = fields.text("title").trim();
    if title.chars().count() > MAX_TITLE {
        return Err(RequestError::field("title", "it must have at most 80 characters"));
    }
    let found = stories_like(&app, &mut visit, title, from).await?;
    let has_viewer = visit.viewer_id().is_some();
    let stories = found.iter().filter_map(|finding| match finding {
        Finding::Story(line) => Some(entry(line, has_viewer)),
        _ => None,
    });
    Ok(Json(SimilarResponse { status: Status::Ok, stories: stories.collect() }))
}
