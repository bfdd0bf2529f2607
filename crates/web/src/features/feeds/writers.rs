//! Feeds as documents: Atom (RFC 4287, with the pages of RFC 5005 and the replies of RFC 4685), JSON Feed 1.1 and
//! RSS 2.0.
//!
//! A document has at most [`PAGE_BYTES`]. Where the texts would not fit, the last entries are without theirs, so
//! that each entry is on exactly one page of the feed.

use super::feed::{Author, Entry, Feed, Text};
use crate::limits::{FEED_ENTRY_BYTES, PAGE_BYTES};
use crate::markup::FeedFormat;
use crate::markup::dates::moment;
use crate::settings::SiteSettings;
use maud::html;
use serde_json::{Value, json};
use std::fmt::Write;
use tidings_domain::values::Timestamp;
use tidings_domain::values::text::printable_lines;
use tidings_language::{t, tag};
use url::Url;

/// The most bytes after the last entry of a feed.
const FEED_END_BYTES: usize = 1_024;

/// The document of a feed, and its hub if it has one.
pub(super) fn document(site: &SiteSettings, feed: &Feed, format: FeedFormat, hub: Option<&Url>) -> String {
    match format {
        FeedFormat::Atom => atom(site, feed, hub),
        FeedFormat::Json => json_feed(site, feed, hub),
        FeedFormat::Rss => rss(site, feed, hub),
    }
}

impl Feed {
    /// The whole address of this page; `None` for a private feed. It does not contain its own address, so that a
    /// reader that shows or shares entries does not tell it.
    pub(super) fn own(&self, site: &SiteSettings, format: FeedFormat) -> Option<String> {
        (!self.kind.is_private()).then(|| self.at(site, format, &self.here))
    }

    /// The address of the next page. That of a private feed is relative.
    fn next(&self, site: &SiteSettings, format: FeedFormat) -> Option<String> {
        let next = self.next.as_ref()?;
        Some(if self.kind.is_private() { next.clone() } else { self.at(site, format, next) })
    }

    /// The whole address of a page of a public feed.
    fn at(&self, site: &SiteSettings, format: FeedFormat, query: &str) -> String {
        if query.is_empty() {
            return site.link(&self.kind.address(format));
        }
        site.link(&format!("{}{query}", self.kind.path(format)))
    }

    /// Writes the entries that fit, each after what `document` has so far: with its text as long as there is room for
    /// that, and without it after that.
    fn write_entries(&self, document: &mut String, write: impl Fn(&mut String, &Entry, Option<&Text>)) {
        let mut left = self.entries.len();
        for entry in &self.entries {
            let end = document.len();
            left -= 1;
            write(document, entry, entry.text.as_ref());
            if document.len() + FEED_END_BYTES + left * FEED_ENTRY_BYTES > PAGE_BYTES {
                document.truncate(end);
                write(document, entry, None);
            }
            if document.len() + FEED_END_BYTES > PAGE_BYTES {
                document.truncate(end);
                return;
            }
        }
    }
}

/// Adds an element with a text.
fn element(xml: &mut String, name: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = write!(xml, "<{name}>{}</{name}>", escaped(text));
}

/// Adds an element that only has attributes.
fn empty<const N: usize>(xml: &mut String, name: &str, attributes: [(&str, &str); N]) {
    let _ = write!(xml, "<{name}");
    for (attribute, value) in attributes {
        let _ = write!(xml, " {attribute}=\"{}\"", escaped(value));
    }
    xml.push_str("/>");
}

/// Escapes text for an element or an attribute, and removes characters that no document may
/// have. XML 1.0 does not allow most of them even when escaped.
pub(super) fn escaped(text: &str) -> String {
    html! { (printable_lines(text)) }.into_string()
}

fn atom_date(time: Timestamp) -> String {
    moment(time).to_string()
}

/// RFC 822 with a year of four digits.
fn rss_date(time: Timestamp) -> String {
    moment(time).strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

/// The link to a discussion, as a paragraph for readers that show no such links.
fn comments_paragraph(page: &str) -> String {
    format!("<p><a href=\"{}\">{}</a></p>", escaped(page), escaped(t!("Comments")))
}

fn atom(site: &SiteSettings, feed: &Feed, hub: Option<&Url>) -> String {
    const HTML: (&str, &str) = ("type", "text/html");
    const ATOM: (&str, &str) = ("type", FeedFormat::Atom.media_type());
    let mut xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:thr=\"http://purl.org/syndication/thread/1.0\""
        .to_owned();
    let _ = writeln!(xml, " xml:lang=\"{}\">", tag());
    element(&mut xml, "title", &feed.kind.title(site));
    element(&mut xml, "id", &feed.id);
    element(&mut xml, "updated", &atom_date(feed.updated()));
    if !feed.subtitle.is_empty() {
        element(&mut xml, "subtitle", &feed.subtitle);
    }
    let page = site.link(&feed.kind.page());
    empty(&mut xml, "link", [("rel", "alternate"), HTML, ("href", &page)]);
    let format = FeedFormat::Atom;
    if let Some(own) = feed.own(site, format) {
        empty(&mut xml, "link", [("rel", "self"), ATOM, ("href", &own)]);
    }
    if let Some(next) = feed.next(site, format) {
        empty(&mut xml, "link", [("rel", "next"), ATOM, ("href", &next)]);
    }
    if let Some(hub) = hub {
        empty(&mut xml, "link", [("rel", "hub"), ("href", hub.as_str())]);
    }
    if let Some(author) = &feed.author {
        atom_author(&mut xml, author);
    }
    feed.write_entries(&mut xml, atom_entry);
    xml.push_str("\n</feed>\n");
    xml
}

fn atom_author(xml: &mut String, author: &Author) {
    xml.push_str("<author>");
    element(xml, "name", &author.name);
    if let Some(page) = &author.page {
        element(xml, "uri", page);
    }
    xml.push_str("</author>");
}

fn atom_entry(xml: &mut String, entry: &Entry, text: Option<&Text>) {
    const HTML: (&str, &str) = ("type", "text/html");
    xml.push_str("\n<entry>");
    element(xml, "title", &entry.title);
    element(xml, "id", &entry.id);
    element(xml, "published", &atom_date(entry.published));
    element(xml, "updated", &atom_date(entry.updated));
    if let Some(author) = &entry.author {
        atom_author(xml, author);
    }
    match &entry.link {
        Some(link) => empty(xml, "link", [("rel", "alternate"), ("href", link)]),
        None => empty(xml, "link", [("rel", "alternate"), HTML, ("href", &entry.page)]),
    }
    if let Some(discussion) = &entry.discussion {
        let link = [("rel", "replies"), HTML, ("href", discussion.page.as_str())];
        match discussion.comments.map(|comments| comments.to_string()) {
            Some(comments) => {
                let [rel, kind, page] = link;
                empty(xml, "link", [rel, kind, page, ("thr:count", &comments)]);
            }
            None => empty(xml, "link", link),
        }
    }
    if let Some(related) = &entry.related {
        empty(xml, "link", [("rel", "related"), HTML, ("href", related)]);
    }
    if let Some((id, page)) = &entry.in_reply_to {
        empty(xml, "thr:in-reply-to", [("ref", id), HTML, ("href", page)]);
    }
    for topic in &entry.topics {
        empty(xml, "category", [("term", topic)]);
    }
    match (text, &entry.discussion) {
        (Some(Text::Html(html)), _) => {
            let _ = write!(xml, "<content type=\"html\">{}</content>", escaped(html));
        }
        (Some(Text::Plain(text)), _) => {
            let _ = write!(xml, "<content type=\"text\">{}</content>", escaped(text));
        }
        (None, Some(discussion)) => {
            element(xml, "summary", &t!("Comments: {address}", address = &discussion.page).to_string());
        }
        (None, None) => {}
    }
    xml.push_str("</entry>");
}

fn rss(site: &SiteSettings, feed: &Feed, hub: Option<&Url>) -> String {
    let mut xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rss version=\"2.0\" \
         xmlns:atom=\"http://www.w3.org/2005/Atom\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><channel>\n"
        .to_owned();
    let format = FeedFormat::Rss;
    element(&mut xml, "title", &feed.kind.title(site));
    element(&mut xml, "link", &site.link(&feed.kind.page()));
    element(&mut xml, "description", &feed.subtitle);
    element(&mut xml, "language", tag().as_str());
    for (rel, address) in [("self", feed.own(site, format)), ("next", feed.next(site, format))] {
        if let Some(address) = address {
            let link = [("href", address.as_str()), ("rel", rel), ("type", format.media_type())];
            empty(&mut xml, "atom:link", link);
        }
    }
    if let Some(hub) = hub {
        empty(&mut xml, "atom:link", [("href", hub.as_str()), ("rel", "hub")]);
    }
    if !feed.entries.is_empty() {
        element(&mut xml, "lastBuildDate", &rss_date(feed.updated()));
    }
    feed.write_entries(&mut xml, rss_item);
    xml.push_str("\n</channel></rss>\n");
    xml
}

fn rss_item(xml: &mut String, entry: &Entry, text: Option<&Text>) {
    xml.push_str("\n<item>");
    element(xml, "title", &entry.title);
    element(xml, "link", entry.link.as_ref().unwrap_or(&entry.page));
    // An id is no address that a reader could open.
    let _ = write!(xml, "<guid isPermaLink=\"false\">{}</guid>", escaped(&entry.id));
    element(xml, "pubDate", &rss_date(entry.published));
    if let Some(author) = &entry.author {
        element(xml, "dc:creator", &author.name);
    }
    for topic in &entry.topics {
        element(xml, "category", topic);
    }
    // The description is HTML: text is escaped once for HTML and once for XML.
    let mut description = text.map(html_of).unwrap_or_default();
    if let Some(discussion) = &entry.discussion {
        element(xml, "comments", &discussion.page);
        description.push_str(&comments_paragraph(&discussion.page));
    }
    element(xml, "description", &description);
    xml.push_str("</item>");
}

/// A text as HTML.
fn html_of(text: &Text) -> String {
    match text {
        Text::Html(html) => html.clone(),
        Text::Plain(text) => format!("<p>{}</p>", escaped(text)),
    }
}

fn json_feed(site: &SiteSettings, feed: &Feed, hub: Option<&Url>) -> String {
    let format = FeedFormat::Json;
    let mut head = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": printable_lines(&feed.kind.title(site)),
        "home_page_url": site.link(&feed.kind.page()),
    });
    let mut set = |name: &str, value: Value| head[name] = value;
    set("language", tag().as_str().into());
    if let Some(own) = feed.own(site, format) {
        set("feed_url", own.into());
    }
    if let Some(next) = feed.next(site, format) {
        set("next_url", next.into());
    }
    if let Some(hub) = hub {
        set("hubs", json!([{ "type": "WebSub", "url": hub.as_str() }]));
    }
    if !feed.subtitle.is_empty() {
        set("description", printable_lines(&feed.subtitle).into());
    }
    if let Some(author) = &feed.author {
        set("authors", json!([json_author(author)]));
    }
    let mut document = head.to_string();
    // The entries are the last member, and are written as long as there is room.
    document.pop();
    document.push_str(",\"items\":[");
    let first = document.len();
    feed.write_entries(&mut document, |document, entry, text| {
        document.push_str(if document.len() == first { "\n" } else { ",\n" });
        document.push_str(&json_item(entry, text).to_string());
    });
    document.push_str("]}\n");
    document
}

fn json_author(author: &Author) -> Value {
    let mut json = json!({ "name": printable_lines(&author.name) });
    if let Some(page) = &author.page {
        json["url"] = page.as_str().into();
    }
    json
}

fn json_item(entry: &Entry, text: Option<&Text>) -> Value {
    let mut item = json!({
        "id": entry.id,
        "url": entry.page,
        "title": printable_lines(&entry.title),
        "date_published": atom_date(entry.published),
        "date_modified": atom_date(entry.updated),
    });
    let mut set = |name: &str, value: Value| item[name] = value;
    if let Some(link) = &entry.link {
        set("external_url", link.as_str().into());
    }
    match (text, &entry.discussion) {
        (Some(Text::Html(html)), _) => set("content_html", printable_lines(html).into()),
        (Some(Text::Plain(text)), _) => set("content_text", printable_lines(text).into()),
        (None, Some(discussion)) => set("content_html", comments_paragraph(&discussion.page).into()),
        (None, None) => set("content_text", "".into()),
    }
    if let Some(author) = &entry.author {
        set("authors", json!([json_author(author)]));
    }
    if !entry.topics.is_empty() {
        set("tags", json!(entry.topics));
    }
    // The name of an extension begins with `_`.
    if let Some(discussion) = &entry.discussion {
        let mut own = json!({ "url": discussion.page });
        if let Some(comments) = discussion.comments {
            own["comments"] = comments.into();
        }
        set("_discussion", own);
    }
    item
}

#[cfg(test)]
mod tests {
    use super::super::feed::FeedSite;
    use super::*;
    use crate::markup::feed_links::FeedKind;
    use crate::markup::test_support::settings;
    use crate::site_lists::SiteList;

    #[test]
    fn texts_that_do_not_fit_are_left_out_but_no_entry_is() {
        let site = FeedSite::of_settings(&settings().site);
        let mut feed = Feed::new(&site, FeedKind::Stories(SiteList::Top));
        let entry = |number: u64| {
            let id = format!("tag:{number}");
            let text = Some(Text::Html("&".repeat(20_000)));
            Entry { text, ..Entry::new(id, "t".to_owned(), "http://a.com/".to_owned(), Timestamp(number)) }
        };
        feed.entries = (0..30).map(entry).collect();
        for format in [FeedFormat::Rss, FeedFormat::Atom, FeedFormat::Json] {
            let document = document(&site, &feed, format, None);
            assert!(document.len() <= PAGE_BYTES && document.len() > PAGE_BYTES / 2, "{}", document.len());
            assert!((0..30).all(|number| document.contains(&format!("tag:{number}"))));
        }
    }
}
