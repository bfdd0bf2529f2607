//! The latest news for feed readers: RSS 2.0 and Atom.
//!
//! Both are the same for everybody, so caches on the way may keep them.

use super::App;
use super::error::Failure;
use super::pages::parts::{moment, news_address};
use crate::config;
use crate::domain::clock::Timestamp;
use crate::domain::news::{self, NewsLine};
use crate::domain::visit::Visit;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use std::fmt::Write;

/// Items in a feed.
const ITEMS: u64 = 30;

const fn headers(content_type: &'static str) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ]
}

/// GET /rss.
pub async fn rss(State(app): State<App>) -> Result<impl IntoResponse, Failure> {
    let lines = latest(&app).await?;
    Ok((headers("application/rss+xml; charset=utf-8"), rss_document(&app.config.site, &lines)))
}

/// GET /atom.
pub async fn atom(State(app): State<App>) -> Result<impl IntoResponse, Failure> {
    let lines = latest(&app).await?;
    Ok((headers("application/atom+xml; charset=utf-8"), atom_document(&app.config.site, &lines)))
}

/// The latest items, seen by nobody in particular.
async fn latest(app: &App) -> Result<Vec<NewsLine>, Failure> {
    let mut visit = Visit::new(app.site.clone(), app.now(), None);
    let mut lines = news::latest(&mut visit, 0, ITEMS).await?.lines;
    lines.retain(|line| !line.news.deleted);
    Ok(lines)
}

/// XML that is being written: elements without surprises in their text.
struct Xml(String);

impl Xml {
    fn new() -> Self {
        Self("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n".to_owned())
    }

    /// Markup of our own, as it is.
    fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    fn element(&mut self, name: &str, text: &str) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "<{name}>{}</{name}>", escaped(text));
    }

    /// An element that only has attributes.
    fn empty<const N: usize>(&mut self, name: &str, attributes: [(&str, &str); N]) {
        let _ = write!(self.0, "<{name}");
        for (attribute, value) in attributes {
            let _ = write!(self.0, " {attribute}=\"{}\"", escaped(value));
        }
        self.raw("/>");
    }
}

/// Text for an element or an attribute; characters that XML 1.0 does not
/// allow, not even escaped, are left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars().filter(|character| is_xml(*character)) {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            _ => safe.push(character),
        }
    }
    safe
}

const fn is_xml(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

/// Where an item leads to: its link in plain ASCII, or its thread.
fn target(line: &NewsLine, thread: &str) -> String {
    line.news
        .link()
        .and_then(|(url, _)| url::Url::parse(url).ok())
        .map_or_else(|| thread.to_owned(), String::from)
}

fn author(line: &NewsLine) -> &str {
    line.username.as_deref().unwrap_or("[deleted user]")
}

/// RFC 822 with a year of four digits.
fn rss_date(time: Timestamp) -> String {
    moment(time).strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

fn newest(lines: &[NewsLine]) -> Timestamp {
    lines.iter().map(|line| line.news.ctime).max().unwrap_or_default()
}

fn rss_document(site: &config::Site, lines: &[NewsLine]) -> String {
    let mut xml = Xml::new();
    xml.raw(
        "<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><channel>\n",
    );
    xml.element("title", &site.name);
    xml.element("link", &site.link("/"));
    xml.element("description", &site.description);
    let own = site.link("/rss");
    xml.empty("atom:link", [("href", &own), ("rel", "self"), ("type", "application/rss+xml")]);
    if !lines.is_empty() {
        xml.element("lastBuildDate", &rss_date(newest(lines)));
    }
    for line in lines {
        let thread = site.link(&news_address(line.news.id));
        xml.raw("\n<item>");
        xml.element("title", &line.news.title);
        xml.element("link", &target(line, &thread));
        xml.element("guid", &thread);
        xml.element("comments", &thread);
        xml.element("pubDate", &rss_date(line.news.ctime));
        xml.element("dc:creator", author(line));
        // The description is HTML: text is escaped once for HTML and once for XML.
        let comments = format!("<p><a href=\"{}\">Comments</a></p>", escaped(&thread));
        let text = line.news.text().map(|text| format!("<p>{}</p>", escaped(text).replace('\n', "<br>")));
        xml.element("description", &format!("{}{comments}", text.unwrap_or_default()));
        xml.raw("</item>");
    }
    xml.raw("\n</channel></rss>\n");
    xml.0
}

fn atom_document(site: &config::Site, lines: &[NewsLine]) -> String {
    let mut xml = Xml::new();
    xml.raw("<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    xml.element("title", &site.name);
    if !site.description.is_empty() {
        xml.element("subtitle", &site.description);
    }
    let home = site.link("/");
    xml.element("id", &home);
    xml.element("updated", &moment(newest(lines)).to_string());
    xml.empty("link", [("rel", "alternate"), ("type", "text/html"), ("href", &home)]);
    let own = site.link("/atom");
    xml.empty("link", [("rel", "self"), ("type", "application/atom+xml"), ("href", &own)]);
    for line in lines {
        let thread = site.link(&news_address(line.news.id));
        let time = moment(line.news.ctime).to_string();
        xml.raw("\n<entry>");
        xml.element("title", &line.news.title);
        xml.element("id", &thread);
        xml.element("published", &time);
        xml.element("updated", &time);
        xml.raw("<author>");
        xml.element("name", author(line));
        xml.raw("</author>");
        xml.empty("link", [("rel", "alternate"), ("href", &target(line, &thread))]);
        xml.empty("link", [("rel", "replies"), ("type", "text/html"), ("href", &thread)]);
        match line.news.text() {
            Some(text) => xml.element("content", text),
            None => xml.element("summary", &format!("Comments: {thread}")),
        }
        xml.raw("</entry>");
    }
    xml.raw("\n</feed>\n");
    xml.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::pages::test_support::{config, line, news};

    fn both(title: &str, url: &str) -> [String; 2] {
        let lines = [line(news(title, url, false), None)];
        let site = config().site;
        [rss_document(&site, &lines), atom_document(&site, &lines)]
    }

    #[test]
    fn text_is_escaped_and_what_xml_forbids_is_left_out() {
        for feed in both("<a> & \"b\" ]]> \u{0}\u{b}\u{fffe}c", "http://a.com/?x=1&y=<\u{1}>") {
            assert!(feed.contains("&lt;a&gt; &amp; &quot;b&quot; ]]&gt; c</title>"), "{feed}");
            assert!(feed.chars().all(is_xml), "{feed}");
            assert!(!feed.contains("&y"), "{feed}");
        }
    }

    #[test]
    fn entries_have_absolute_links_and_right_dates() {
        let [rss, atom] = both("t", "https://a.com/ü");
        for part in [
            "<link>https://a.com/%C3%BC</link>",
            "<guid>http://localhost:8080/news/5</guid>",
            "<comments>http://localhost:8080/news/5</comments>",
            "<pubDate>Mon, 12 Jan 1970 13:46:40 +0000</pubDate>",
            "<dc:creator>alice</dc:creator>",
        ] {
            assert!(rss.contains(part), "{part} in {rss}");
        }
        for part in [
            "<id>http://localhost:8080/news/5</id>",
            "<updated>1970-01-12T13:46:40Z</updated>",
            "<author><name>alice</name></author>",
            "href=\"https://a.com/%C3%BC\"",
        ] {
            assert!(atom.contains(part), "{part} in {atom}");
        }
    }

    #[test]
    fn a_text_leads_to_its_thread_and_never_to_a_script() {
        for url in ["text://hello <b>", "javascript:alert(1)"] {
            for feed in both("t", url) {
                assert!(feed.contains("http://localhost:8080/news/5"), "{feed}");
                assert!(!feed.contains("javascript:") && !feed.contains("<b>"), "{feed}");
            }
        }
    }
}
