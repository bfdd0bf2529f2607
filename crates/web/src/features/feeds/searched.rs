//! The feed of a search: the stories, comments and posts that it finds, the newest first.

use super::feed::{Entry, Feed, FeedSite};
use super::sources::{Asked, FeedPart, post_entry, site_comment, story_entry};
use crate::error::{RequestError, Result};
use crate::features::search::page::SearchQuery;
use crate::features::search::searching::{NoResults, find};
use crate::limits::{SEARCH_PAGES, SEARCH_RESULTS};
use crate::request::ClientAddress;
use axum::response::Response;
use tidings_domain::found::Finding;
use tidings_language::{Message, m};
use tidings_search::asking::Sort;

const TOO_LONG: &Message = m!("it must have at most 200 characters and 16 terms");
const NO_FEED: &Message = m!("a feed has stories, comments, posts or all");

impl FeedPart for SearchQuery {
    fn here(&self) -> String {
        if self.page > 1 { self.address("") } else { String::new() }
    }
}

/// GET /search.atom, /search.json.
pub async fn search(ClientAddress(from): ClientAddress, mut asked: Asked<SearchQuery>) -> Result<Response> {
    let query = asked.part.clone();
    let kind = query.feed().ok_or_else(|| RequestError::field("kind", NO_FEED))?;
    let newest = SearchQuery { sort: Sort::New, ..query.clone() };
    let results = match find(&asked.app, &mut asked.visit, &newest.asked(from)).await {
        Ok(results) => results,
        Err(NoResults::TooLong(_)) => return Err(RequestError::field("q", TOO_LONG)),
        Err(NoResults::Failed(error)) => return Err(error),
    };
    let until = u64::try_from(query.page.saturating_mul(SEARCH_RESULTS)).unwrap_or(u64::MAX);
    let has_more = results.total > until && query.page < SEARCH_PAGES;
    let fill = |site: &FeedSite, feed: &mut Feed| {
        feed.entries = results.found.iter().filter_map(|(_, finding)| entry(site, finding)).collect();
        feed.next = has_more.then(|| SearchQuery { page: query.page + 1, ..query }.address(""));
    };
    asked.answer(kind, fill).await
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
