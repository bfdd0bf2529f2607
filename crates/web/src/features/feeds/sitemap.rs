//! The sitemap, which tells crawlers the addresses of all stories.
//!
//! It has parts of a fixed number of stories, the oldest first, so that a part that is full
//! hardly changes.

use crate::App;
use crate::error::{RequestError, Result};
use crate::limits::{SITEMAP_PARTS, SITEMAP_STORIES};
use crate::markup::addresses::news_address;
use crate::request::{PathOf, Start};
use crate::route::Wings;
use crate::server::headers::cacheable;
use axum::http::{HeaderName, HeaderValue};
use axum::response::IntoResponse;
use maud::{Render, html};
use tidings_domain::news::sitemap;

const HEADERS: [(HeaderName, HeaderValue); 3] =
    cacheable("application/xml; charset=utf-8", "public, max-age=3600");

/// A document of the sitemap protocol.
fn document(root: &str, entries: &impl Render) -> String {
    const SCHEMA: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
    let mut xml = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"{SCHEMA}\">");
    entries.render_to(&mut xml);
    xml.push_str(&format!("</{root}>\n"));
    xml
}

/// GET /sitemap.xml: the parts, the newest first.
pub async fn index(app: App) -> Result<impl IntoResponse> {
    let mut visit = app.visitor();
    let last = sitemap::story_count(&mut visit).await?.div_ceil(SITEMAP_STORIES).max(1);
    let parts = (1..=last).rev().take(usize::try_from(SITEMAP_PARTS).unwrap_or(usize::MAX));
    let entries = html! {
        @for part in parts {
            sitemap { loc { (app.settings.site.link(&format!("/sitemap/{part}"))) } }
        }
    };
    Ok((HEADERS, document("sitemapindex", &entries)))
}

/// GET /sitemap/:page: a part, from 1 on.
pub async fn part(PathOf(Start(number)): PathOf<Start>, app: App) -> Result<impl IntoResponse> {
    let before = number.checked_sub(1).ok_or(RequestError::NotFound)? * SITEMAP_STORIES;
    let mut visit = app.visitor();
    let stories = sitemap::stories(&mut visit, before, SITEMAP_STORIES).await?;
    if stories.is_empty() && number > 1 {
        return Err(RequestError::NotFound);
    }
    let site = &app.settings.site;
    // The first part names the pages, too.
    let pages = app.routes.in_sitemap(Wings::of(&app)).filter(|_| number == 1).map(|path| site.link(&path));
    let addresses = pages.chain(stories.into_iter().map(|id| site.link(&news_address(id))));
    Ok((HEADERS, document("urlset", &html! { @for address in addresses { url { loc { (address) } } } })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PAGE_BYTES;

    #[test]
    fn a_part_and_the_index_are_smaller_than_a_page_may_be() {
        const ENTRY: usize = "<sitemap><loc></loc></sitemap>".len();
        // The longest host with its scheme and port, and the longest path.
        let longest = ENTRY + "https://:65535/sitemap/999999999999999".len() + 253;
        for entries in [SITEMAP_STORIES, SITEMAP_PARTS] {
            assert!(usize::try_from(entries).is_ok_and(|entries| (entries + 8) * longest < PAGE_BYTES));
        }
    }
}
