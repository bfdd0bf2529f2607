//! Links that lead to the page that they are on. They become plain text.
//!
//! This works on the finished page, so that no row, menu or text has to know where it is shown, and cached rows are the
//! same everywhere.

use crate::request::LocalPath;
use maud::html;
use memchr::memmem;

/// The classes of names in rows. These lead to a topic, a site or a person, of which the page may show a later part.
const NAMES: [&str; 3] = [r#" class="topic""#, r#" class="host""#, r#" class="author""#];

/// The attribute of a link to the page itself in a menu.
const CURRENT: &str = " aria-current=";

/// The attributes that only links have.
const OF_LINKS: [&str; 4] = [" href=\"", " rel=\"", " target=\"", " hreflang=\""];

/// A page whose links do not lead to its own address. The page is one of ours: its attributes are in double quotes, and its
/// text is escaped.
pub fn without_own_links(page: String, here: &LocalPath) -> String {
    let [here, path] = [here.as_str(), here.path()].map(|address| html! { (address) }.into_string());
    // Without a query, the whole attribute is looked for: nearly every link begins with the address of the front page.
    let (query, end) = (here.get(path.len()..).unwrap_or_default(), "\"");
    let href = format!(" href=\"{path}{}", if query.is_empty() { end } else { "" });
    let goes_on =
        if query.is_empty() { vec![String::new()] } else { vec![end.to_owned(), format!("{query}{end}")] };
    let leads_here = |at: &usize| {
        page.get(at + href.len()..)
            .is_some_and(|rest| goes_on.iter().any(|end| rest.starts_with(end.as_str())))
    };
    let (mut plain, mut written) = (String::new(), 0);
    for at in memmem::find_iter(page.as_bytes(), &href).filter(leads_here) {
        let Some((start, end)) = tag_around(&page, at).filter(|(start, _)| *start >= written) else {
            continue;
        };
        let (Some(tag), Some(address)) = (page.get(start..end), address_at(&page, at)) else { continue };
        let is_name = || NAMES.iter().any(|class| tag.contains(class));
        if tag.starts_with("<a ") && (address == here || address == path && is_name()) {
            let tag = OF_LINKS.iter().fold(tag.to_owned(), |tag, attribute| without(tag, attribute));
            plain.push_str(page.get(written..start).unwrap_or_default());
            written = match end_of_link(&page, end).filter(|_| !tag.contains(CURRENT)) {
                Some((content, after)) => {
                    plain.push_str(&format!("<span{}{content}</span>", tag.trim_start_matches("<a")));
                    after
                }
                // It says itself that it leads nowhere.
                None => {
                    plain.push_str(&tag);
                    end
                }
            };
        }
    }
    if written == 0 {
        return page;
    }
    plain.push_str(page.get(written..).unwrap_or_default());
    plain
}

/// The end of a start tag with the content up to the end of the link, and where that is.
fn end_of_link(page: &str, end: usize) -> Option<(&str, usize)> {
    let after = end + page.get(end..)?.find("</a>")?;
    Some((page.get(end..after)?, after + "</a>".len()))
}

/// Where the tag with an attribute begins and ends.
fn tag_around(page: &str, attribute: usize) -> Option<(usize, usize)> {
    let start = page.get(..attribute)?.rfind('<')?;
    let end = attribute + page.get(attribute..)?.find('>')?;
    Some((start, end))
}

/// The address in an attribute `href`.
fn address_at(page: &str, attribute: usize) -> Option<&str> {
    page.get(attribute..)?.split('"').nth(1)
}

/// A tag without an attribute.
fn without(tag: String, attribute: &str) -> String {
    let Some((before, rest)) = tag.split_once(attribute) else { return tag };
    let after = rest.split_once('"').map_or("", |(_, after)| after);
    format!("{before}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::FromRequestParts;
    use axum::http::Request;

    async fn plain(here: &str, page: &str) -> String {
        let (mut parts, ()) = Request::get(here).body(()).unwrap().into_parts();
        let Ok(here) = LocalPath::from_request_parts(&mut parts, &()).await;
        without_own_links(page.to_owned(), &here)
    }

    #[tokio::test]
    async fn a_link_to_the_page_itself_is_plain_text() {
        let page = r#"<a class="topic" href="/topic/rust" rel="tag">rust</a> <a href="/topic/rusty">x</a>"#;
        let expected = r#"<span class="topic">rust</span> <a href="/topic/rusty">x</a>"#;
        assert_eq!(plain("/topic/rust", page).await, expected);
        // Names are plain on every part of their page, and other links lead to its first part.
        let page = format!(r#"{page} <a href="/topic/rust">first page</a>"#);
        let expected = format!(r#"{expected} <a href="/topic/rust">first page</a>"#);
        assert_eq!(plain("/topic/rust?page=2", &page).await, expected);
        assert_eq!(plain("/topic/go", &page).await, page);
    }

    #[tokio::test]
    async fn addresses_are_compared_as_they_are_written_in_the_page() {
        let page = r#"<form action="/past?a=1&amp;b=2"></form><a href="/past?a=1&amp;b=2" aria-current="page">x</a>"#;
        let expected = r#"<form action="/past?a=1&amp;b=2"></form><a aria-current="page">x</a>"#;
        assert_eq!(plain("/past?a=1&b=2", page).await, expected);
        let head = r#"<link rel="canonical" href="/past"><p>href="/past"</p>"#;
        assert_eq!(plain("/past", head).await, head);
    }
}
