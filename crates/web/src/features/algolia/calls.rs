//! The calls.

use super::highlights::Highlighter;
use super::hits::{Around, FoundItem, answer, hit, tags};
use super::items;
use super::query::{HitsQuery, Known};
use crate::App;
use crate::error::{RequestError, Result};
use crate::features::hacker_news::text::plain_html;
use crate::features::search::searching::{Given, MOST_EXACT, find_given};
use crate::limits::{API_LIST_BYTES, HIT_PAGES_AT_ONCE, HITS_AT_ONCE, PAGE_ROWS};
#[cfg(test)]
use crate::request::description::values;
use crate::request::{ClientAddress, Form, JSON, PathOf, answer};
use axum::extract::RawQuery;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tidings_domain::changes::Findable;
use tidings_domain::news::lists;
use tidings_domain::values::{ItemNumber, NewsId};
use tidings_domain::{found, numbered};
use tidings_search::asking::{Found, Sort};
use tokio::sync::Semaphore;

/// How long an answer may be used.
const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (header::CONTENT_TYPE, HeaderValue::from_static(JSON)),
    (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=5")),
];

answer! {
    /// A failure of these calls.
    pub struct HitsError {
        /// The HTTP status.
        status: u16;
        /// The error message.
        error: String, values::Message;
    }
}

impl HitsError {
    /// The failure with a status.
    pub fn of(status: StatusCode, message: String) -> Self {
        let error = if status == StatusCode::NOT_FOUND { "Not Found".to_owned() } else { message };
        Self { status: status.as_u16(), error }
    }
}

/// GET /api/v1/search.
pub async fn search(
    app: App,
    ClientAddress(from): ClientAddress,
    RawQuery(params): RawQuery,
    Form(query): Form<HitsQuery>,
) -> Result<Response> {
    let sort = if query.has_words() { Sort::Relevance } else { Sort::Votes };
    find(&app, query, params.unwrap_or_default(), sort, from).await
}

/// GET /api/v1/search_by_date.
pub async fn search_by_date(
    app: App,
    ClientAddress(from): ClientAddress,
    RawQuery(params): RawQuery,
    Form(query): Form<HitsQuery>,
) -> Result<Response> {
    find(&app, query, params.unwrap_or_default(), Sort::New, from).await
}

/// The turns to make a page of hits. Each may have [`API_LIST_BYTES`] of texts, and twice that until it is an answer,
/// which counts in the memory of all answers; so few are made at once, and the others wait.
static MAKING: Semaphore = Semaphore::const_new(HIT_PAGES_AT_ONCE);

/// Rounds: at most 8, and 7 for each [`HITS_AT_ONCE`] hits.
async fn find(app: &App, query: HitsQuery, params: String, sort: Sort, from: IpAddr) -> Result<Response> {
    let began = Instant::now();
    let mut visit = app.visitor();
    let rules = app.site.rules.hacker_news.clone();
    let front_page = lists::top(&mut visit, 0, PAGE_ROWS).await?.lines;
    let front_page: Vec<NewsId> = front_page.iter().map(|line| line.news.id).collect();
    let stories = numbered::stories(&mut visit, &query.stories()).await?;
    let search = query.search(&Known { rules: &rules, front_page: &front_page, stories: &stories });
    let places = query.places();
    let page = (places.start, places.len());
    let given = Given { search: search.clone(), kind: query.kind(), sort, page, from };
    let Found { hits, total, is_cut } = find_given(app, &mut visit, given).await?;
    let things: Vec<Findable> = hits.iter().filter_map(|hit| hit.id.parse().ok()).collect();
    let with_replies =
        query.retrieved.as_ref().is_none_or(|names| names.iter().any(|name| name == "children"));
    let index = app.searching()?.answering();
    let _turn = MAKING.acquire().await.map_err(|_| RequestError::TooManySearches)?;
    let (mut written, mut bytes, mut missing) = (Vec::new(), 0, 0);
    // Dropped with the request, whose client may go.
    let asker = Arc::new(());
    for things in things.chunks(HITS_AT_ONCE) {
        let mut seen = found::read(&mut visit, things).await?;
        let found: Vec<FoundItem> =
            things.iter().filter_map(|thing| FoundItem::of(seen.remove(thing)?)).collect();
        let count = found.len();
        missing += things.len() - count;
        let around = Around::read(&mut visit, &found, &front_page, with_replies).await?;
        let (asked, search, rules, index) = (query.clone(), search.clone(), rules.clone(), index.clone());
        let waiting = Arc::downgrade(&asker);
        let made = tokio::task::spawn_blocking(move || {
            let found = found.iter().take_while(|_| waiting.strong_count() > 0);
            let mut highlighter = Highlighter::new(&index, &search, asked.looked_for());
            let tagged = found.map(|found| (found, tags(found, &around, &rules)));
            let fitting = tagged.filter(|(_, tags)| asked.fits(tags));
            let hits =
                fitting.filter_map(|(found, tags)| hit(found, &tags, &around, &asked, &mut highlighter));
            hits.map(|hit| hit.to_string()).collect::<Vec<String>>()
        });
        let made = made.await.map_err(|_| RequestError::Panic)?;
        missing += count - made.len();
        for hit in made {
            bytes += hit.len() + 1;
            if bytes > API_LIST_BYTES {
                break;
            }
            written.push(hit);
        }
        if bytes > API_LIST_BYTES {
            break;
        }
    }
    let total = total.saturating_sub(u64::try_from(missing).unwrap_or(u64::MAX));
    let is_exact = missing == 0 && total <= MOST_EXACT && !is_cut;
    let body = answer(&query, &params, &written, (total, is_exact), began.elapsed().as_millis());
    Ok((HEADERS, body).into_response())
}

/// GET /api/v1/items/{number}.
pub async fn item(app: App, PathOf(number): PathOf<String>) -> Result<Response> {
    let number: ItemNumber = number.parse().map_err(|_| RequestError::NotFound)?;
    let mut visit = app.visitor();
    Ok((HEADERS, items::read(&mut visit, number).await?).into_response())
}

/// GET /api/v1/users/{name}.
pub async fn user(app: App, PathOf(name): PathOf<String>) -> Result<Response> {
    let mut visit = app.visitor();
    let person = numbered::person(&mut visit, &name).await?.ok_or(RequestError::NotFound)?;
    let about = (!person.about.trim().is_empty()).then(|| plain_html(&person.about));
    let user = json!({ "about": about, "karma": person.karma, "username": person.username });
    Ok((HEADERS, user.to_string()).into_response())
}
