//! The feed of a search: the stories, comments and posts that it finds, the newest first.

use super::answer;
use super::feed::{Entry, Feed, FeedSite};
use super::sources::{post_entry, site_comment, story_entry};
use crate::App;
use crate::error::RequestError;
use crate::features::search::page::SearchQuery;
use crate::features::search::searching::{NoResults, find};
use crate::limits::{SEARCH_PAGES, SEARCH_RESULTS};
use crate::markup::feed_links::FeedFormat;
use crate::request::form::Form;
use crate::request::viewer::ClientAddress;
use axum::response::Response;
use tidings_domain::found::Finding;
use tidings_search::asking::Sort;

const TOO_LONG: &str = "it must have at most 200 characters and 16 terms";
const NO_FEED: &str = "a feed has stories, comments, posts or all";

/// GET /search.atom, /search.json.
pub async fn search(
    app: App,
    format: FeedFormat,
    ClientAddress(from): ClientAddress,
    Form(query): Form<SearchQuery>,
) -> Result<Response, RequestError> {
    let kind = query.feed().ok_or_else(|| RequestError::field("kind", NO_FEED))?;
    let mut visit = app.visitor();
    let asked = SearchQuery { sort: Sort::New, ..query.clone() };
    let results = match find(&app, &mut visit, &asked.asked(from)).await {
        Ok(results) => results,
        Err(NoResults::TooLong(_)) => return Err(RequestError::field("q", TOO_LONG)),
        Err(NoResults::Failed(error)) => return Err(error),
    };
    let site = &FeedSite::of(&app, &mut visit).await?;
    let mut feed = Feed::new(site, kind);
    feed.entries = results.found.iter().filter_map(|(_, finding)| entry(site, finding)).collect();
    if query.page > 1 {
        feed.here = query.address("");
    }
    let until = u64::try_from(query.page.saturating_mul(SEARCH_RESULTS)).unwrap_or(u64::MAX);
    if results.total > until && query.page < SEARCH_PAGES {
        feed.next = Some(SearchQuery { page: query.page + 1, ..query }.address(""));
    }
    Ok(answer(&app, site, format, &feed))
}

/// The entry of something that was found; `None` for people and sites.
fn entry(site: &FeedSite, finding: &Finding) -> Option<Entry> {
    match finding {
        Finding::Story(line) => Some(story_entry(site, &line.by_ref())),
        Finding::Comment(comment) => Some(site_comment(site, &comment.by_ref())),
        Finding::Tweet(line) => Some(post_entry(site, &line.by_ref())),
        Finding::Person(_) | Finding::Site(_) => None,
    }
}
