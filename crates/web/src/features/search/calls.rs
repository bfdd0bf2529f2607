//! The calls of search.

use super::page::{SearchQuery, Wanted};
use super::searching::{NoResults, Results, find};
use super::suggesting::{SUGGESTED, stories_like, suggestions};
use crate::error::{RequestError, Result, inputs};
use crate::features::comments::calls::FoundComment;
use crate::features::stories::calls::NewsEntry;
use crate::features::timelines::calls::TweetEntry;
use crate::markup::Page;
use crate::request::{ClientAddress, ErrorResponse, Fields, Form, Status, answer};
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;
use std::ops::Range;
use tidings_domain::accounts::users::User;
use tidings_domain::found::Finding;
use tidings_domain::values::MAX_TITLE;
use tidings_language::m;
use tidings_search::asking::{Hit, Relevance};
use tidings_search::excerpts::Matcher;
use tidings_search::language::Term;

answer! {
    /// The results of a search.
    pub struct SearchResponse as SearchResults {
        status;
        /// The search as it was sent.
        query: String;
        /// The terms that were understood.
        understood: Vec<UnderstoodTerm>;
        /// The parts that were left out.
        ignored: Vec<String>;
        /// The kind that was searched for.
        kind: &'static str;
        /// The order.
        sort: &'static str;
        /// How many results there are.
        total: u64;
        /// Whether that is exact.
        total_is_exact: bool;
        /// The page.
        page: usize;
        /// How many pages there are.
        pages: u64;
        /// How many results there are of each other kind; empty unless nothing was found.
        kinds: BTreeMap<&'static str, u64>;
        /// Searches that were perhaps meant; empty unless nothing was found.
        suggestions: Vec<String>;
        /// Results that have some of the words; empty unless no result has all of them.
        partial: Vec<SearchResult>;
        results: Vec<SearchResult>;
    }

    /// A term of a search.
    struct UnderstoodTerm from (term: &Term) {
        term: String = term.text.clone();
        /// The field that it is about; null for any text.
        field: Option<&'static str> = term.field;
        /// Whether it must not match.
        excluded: bool = term.is_excluded;
    }

    /// A result of a search: the object of its kind, and why it was found.
    struct SearchResult {
        /// `story`, `comment`, `post`, `person` or `site`: the name of the object.
        kind: &'static str;
        /// The relevance.
        score: f64;
        why: Why;
        /// The part of the text that matches, without formatting; may be empty.
        excerpt: String;
        /// The words in it that were looked for: pairs of start and length, in characters.
        marks: Vec<[usize; 2]>, Vec<Vec<usize>>;
        story?: NewsEntry;
        comment?: FoundComment;
        post?: TweetEntry;
        person?: FoundPerson;
        site?: FoundSite;
    }

    /// The parts of the relevance.
    struct Why from (relevance: Relevance) {
        /// How well the text matches.
        text: f64 = relevance.text;
        /// Whether the title has every word; such results come first.
        title: bool = relevance.is_title;
        /// The factor of the votes.
        votes: f64 = relevance.votes;
        /// The factor of the age.
        age: f64 = relevance.age;
    }

    /// A person who was found.
    struct FoundPerson from (user: &User) {
        username: String = user.username.clone();
        /// The full name; may be empty.
        fullname: String = user.fullname.clone();
    }

    /// A site that was found.
    struct FoundSite {
        host: String;
    }
}

/// GET /api/search.
pub async fn search(
    Page { app, mut visit, .. }: Page,
    ClientAddress(from): ClientAddress,
    Form(query): Form<SearchQuery>,
) -> Result<Response> {
    let searching = app.searching()?;
    let results = match find(&app, &mut visit, &query.asked(from)).await {
        Ok(results) => results,
        Err(NoResults::TooLong(error)) => {
            let told = inputs::search(error);
            let refused = ErrorResponse::of(told.in_english(), told.to_string());
            return Ok((StatusCode::BAD_REQUEST, Json(refused)).into_response());
        }
        Err(NoResults::Failed(error)) => return Err(error),
    };
    let has_viewer = visit.viewer_id().is_some();
    let mut matcher = searching.answering().matcher(&results.search);
    Ok(Json(answer(&query, results, &mut matcher, has_viewer)).into_response())
}

fn answer(query: &SearchQuery, results: Results, matcher: &mut Matcher, has_viewer: bool) -> SearchResponse {
    let size = crate::limits::SEARCH_RESULTS as u64;
    let mut all = |found: Vec<(Hit, Finding)>| -> Vec<SearchResult> {
        found.into_iter().map(|(hit, finding)| result(&hit, &finding, matcher, has_viewer)).collect()
    };
    SearchResponse {
        status: Status::Ok,
        query: query.typed.clone(),
        understood: results.search.terms().map(UnderstoodTerm::from).collect(),
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
    let mut result = SearchResult {
        kind,
        score: hit.relevance.score(),
        why: hit.relevance.into(),
        marks: excerpt.iter().flat_map(|found| in_characters(&found.text, &found.marks)).collect(),
        excerpt: excerpt.map(|found| found.text).unwrap_or_default(),
        story: None,
        comment: None,
        post: None,
        person: None,
        site: None,
    };
    match finding {
        Finding::Story(line) => result.story = Some((&**line, has_viewer).into()),
        Finding::Comment(comment) => result.comment = Some(FoundComment::from(&**comment)),
        Finding::Tweet(line) => result.post = Some(TweetEntry::from(line)),
        Finding::Person(user) => result.person = Some(FoundPerson::from(&***user)),
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
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/search/suggest",
    params(("q" = String, Query)),
    responses((status = 200, description = "What was typed, and at most 8 suggestions", content_type = SUGGESTED)),
))]
pub async fn suggest(
    Page { app, mut visit, .. }: Page,
    ClientAddress(from): ClientAddress,
    fields: Fields,
) -> Result<Response> {
    let typed = fields.text("q").trim();
    let found = suggestions(&app, &mut visit, (typed, from), SUGGESTIONS).await?;
    Ok(([(header::CONTENT_TYPE, SUGGESTED)], Json((typed, found))).into_response())
}

answer! {
    /// Stories.
    pub struct SimilarResponse as SimilarStories {
        status;
        stories: Vec<NewsEntry>;
    }
}

/// Get stories with a title like this one: at most 5.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/search/similar",
    params(("title" = String, Query, max_length = 80)),
    responses((status = 200, body = SimilarResponse)),
))]
pub async fn similar(
    Page { app, mut visit, .. }: Page,
    ClientAddress(from): ClientAddress,
    fields: Fields,
) -> Result<Json<SimilarResponse>> {
    let title = fields.text("title").trim();
    if title.chars().count() > MAX_TITLE {
        return Err(RequestError::field("title", m!("it must have at most 80 characters")));
    }
    let found = stories_like(&app, &mut visit, title, from).await?;
    let has_viewer = visit.viewer_id().is_some();
    let stories = found.iter().filter_map(|finding| match finding {
        Finding::Story(line) => Some((&**line, has_viewer).into()),
        _ => None,
    });
    Ok(Json(SimilarResponse { status: Status::Ok, stories: stories.collect() }))
}
