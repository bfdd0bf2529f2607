//! For feed readers: the latest stories as RSS 2.0 and Atom, the lists of articles
//! and a user's tweets as Atom, and the moderation log as Atom.
//!
//! Feeds are the same for everyone, so shared caches may store them; but not that of an inbox,
//! which is for whoever has its private address.

mod moderation;
pub mod sitemap;

pub use moderation::log_feed;

use super::inbox::rows::{description, destination};
use super::timelines::tweets::posted_at;
use crate::App;
use crate::error::RequestError;
use crate::limits::{
    FEED_STORIES, FEED_TITLE_CHARACTERS, FEED_TWEETS, INBOX_ENTRIES, PAGE_BYTES, SITE_COMMENTS,
};
use crate::markup::addresses::{
    comment_address, described, feed_address, list_address, news_address, profile_address, tweet_address,
};
use crate::markup::brand::Brand;
use crate::markup::fragments::LinkTarget;
use crate::markup::markdown::markdown_at;
use crate::markup::parts::{DELETED_USER, moment};
use crate::request::path::{AtName, PathOf};
use crate::settings::SiteSettings;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use std::fmt::Write;
use tidings_domain::accounts::inbox::{Kind, feed};
use tidings_domain::accounts::profiles;
use tidings_domain::accounts::users::User;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::lists::{self, ArticleOrder, PageNumber};
use tidings_domain::cache::Shared;
use tidings_domain::comments::lists::{SiteComment, newest as newest_comments};
use tidings_domain::inbox::{InboxEntry, InboxWindow};
use tidings_domain::news;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::timelines::lines::TweetLine;
use tidings_domain::timelines::reading;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::cursor::Window;
use tidings_domain::values::ids::{CommentAddress, ItemNumber};
use tidings_domain::values::limits::ARTICLES_PER_PAGE;
use tidings_domain::values::text::printable_lines;
use tidings_domain::values::topic::TopicChoice;
use tidings_domain::values::urls::NewsUrl;

/// The type of Atom feeds.
pub const ATOM: &str = "application/atom+xml; charset=utf-8";

/// The headers of a public document of this type.
#[must_use]
pub const fn headers(content_type: &'static str) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ]
}

/// GET /rss.
pub async fn rss(State(app): State<App>) -> Result<impl IntoResponse, RequestError> {
    let (lines, brand) = latest(&app).await?;
    Ok((headers("application/rss+xml; charset=utf-8"), rss_document(&brand.site, &lines)))
}

/// GET /atom.
pub async fn atom(State(app): State<App>) -> Result<impl IntoResponse, RequestError> {
    let (lines, brand) = latest(&app).await?;
    let site = &brand.site;
    let feed = AtomFeed { title: &site.name, page: "/", own: "/atom", subtitle: &site.description };
    Ok((headers(ATOM), feed.document(site, &lines)))
}

/// GET /best/atom.
pub async fn best(State(app): State<App>) -> Result<impl IntoResponse, RequestError> {
    articles(&app, None, ArticleOrder::Score).await
}

/// GET /best/new/atom.
pub async fn newest(State(app): State<App>) -> Result<impl IntoResponse, RequestError> {
    articles(&app, None, ArticleOrder::Time).await
}

/// GET /topic/:name/atom.
pub async fn best_of_topics(
    PathOf(topics): PathOf<TopicChoice>,
    State(app): State<App>,
) -> Result<impl IntoResponse, RequestError> {
    articles(&app, Some(topics), ArticleOrder::Score).await
}

/// GET /topic/:name/new/atom.
pub async fn newest_of_topics(
    PathOf(topics): PathOf<TopicChoice>,
    State(app): State<App>,
) -> Result<impl IntoResponse, RequestError> {
    articles(&app, Some(topics), ArticleOrder::Time).await
}

/// The first page of a list of articles, without a viewer. Articles without a story have no
/// thread that an entry could lead to, and are left out.
async fn articles(
    app: &App,
    topics: Option<TopicChoice>,
    order: ArticleOrder,
) -> Result<impl IntoResponse + use<>, RequestError> {
    let mut visit = Visit::new(app.site.clone(), app.now(), None).of_public_list();
    let page = match &topics {
        Some(topics) => {
            lists::of_topics(&mut visit, topics, order, PageNumber::FIRST.of(ARTICLES_PER_PAGE)).await?
        }
        None => lists::all(&mut visit, order, PageNumber::FIRST.of(ARTICLES_PER_PAGE)).await?,
    };
    let sentence = match page.about.sentences.as_slice() {
        [sentence] if !sentence.is_empty() => Some(sentence.clone()),
        _ => None,
    };
    let lines: Vec<NewsLine> = page.lines.into_iter().filter_map(|article| article.line).collect();
    let brand = app.brand_for(&mut visit).await;
    let site = &brand.site;
    let what = match order {
        ArticleOrder::Score => "best stories",
        ArticleOrder::Time => "new stories",
    };
    let topics = topics.as_ref();
    let within = topics.map(|topics| format!(" in {}", described(topics))).unwrap_or_default();
    let feed = AtomFeed {
        title: &format!("{}: {what}{within}", site.name),
        page: &list_address(topics, order),
        own: &feed_address(topics, order),
        subtitle: sentence.as_deref().unwrap_or(&site.description),
    };
    Ok((headers(ATOM), feed.document(site, &lines)))
}

/// GET /@:name/feed: the newest tweets of a user.
pub async fn of_user(
    PathOf(AtName(name)): PathOf<AtName>,
    State(app): State<App>,
) -> Result<impl IntoResponse, RequestError> {
    let mut visit = Visit::new(app.site.clone(), app.now(), None);
    let user = profiles::profile(&mut visit, &name).await?.user.clone();
    let lines = reading::of_user(&mut visit, user.id, &Window::newest(FEED_TWEETS)).await?.lines;
    let brand = app.brand_for(&mut visit).await;
    let document = tweets_document(&brand.site, &user.username, user.ctime, &lines);
    Ok((headers(ATOM), document))
}

/// GET /comments/atom: the newest comments of the site.
pub async fn comments(State(app): State<App>) -> Result<impl IntoResponse, RequestError> {
    let mut visit = Visit::new(app.site.clone(), app.now(), None).of_public_list();
    let page = newest_comments(&mut visit, None, SITE_COMMENTS).await?;
    let brand = app.brand_for(&mut visit).await;
    Ok((headers(ATOM), comments_document(&brand.site, &page.comments)))
}

/// GET /inbox/feed/:secret: the inbox of whoever has this address.
pub async fn inbox(
    PathOf(secret): PathOf<String>,
    State(app): State<App>,
) -> Result<impl IntoResponse, RequestError> {
    const HEADERS: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(ATOM)),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        (HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow")),
    ];
    let mut visit = Visit::new(app.site.clone(), app.now(), None);
    let owner = feed::owner_of(&mut visit, &secret).await?.ok_or(RequestError::NotFound)?;
    let window = InboxWindow::newest(INBOX_ENTRIES);
    let entries = tidings_domain::inbox::page(&mut visit, owner.id, &window).await?.entries;
    let brand = app.brand_for(&mut visit).await;
    Ok((HEADERS, inbox_document(&brand.site, &owner, &entries)))
}

/// The latest stories, without a viewer, and the site.
async fn latest(app: &App) -> Result<(Vec<NewsLine>, Shared<Brand>), RequestError> {
    let mut visit = Visit::new(app.site.clone(), app.now(), None).of_public_list();
    let mut lines = news::lists::latest(&mut visit, 0, FEED_STORIES).await?.lines;
    lines.retain(|line| !line.news.deleted);
    Ok((lines, app.brand_for(&mut visit).await))
}

/// The most bytes after the last item of a feed.
const FEED_END_BYTES: usize = 1_024;

/// XML being written, with all text escaped.
struct Xml(String);

impl Xml {
    fn new() -> Self {
        Self("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n".to_owned())
    }

    /// Trusted markup, not escaped.
    fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    fn element(&mut self, name: &str, text: &str) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "<{name}>{}</{name}>", escaped(text));
    }

    /// The beginning of an Atom feed: its title and identity, when it changed last, the address of the page with
    /// the same list, and its own unless that is a secret.
    fn begin_atom(&mut self, (title, id): (&str, &str), updated: Timestamp, page: &str, own: Option<&str>) {
        self.raw("<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
        self.element("title", title);
        self.element("id", id);
        self.element("updated", &moment(updated).to_string());
        self.empty("link", [("rel", "alternate"), ("type", "text/html"), ("href", page)]);
        if let Some(own) = own {
            self.empty("link", [("rel", "self"), ("type", "application/atom+xml"), ("href", own)]);
        }
    }

    /// The plain text of an entry of an Atom feed.
    fn content(&mut self, text: &str) {
        self.raw("<content type=\"text\">");
        self.text(text);
        self.raw("</content>");
    }

    /// Text within an element.
    fn text(&mut self, text: &str) {
        self.raw(&escaped(text));
    }

    /// The items of a feed, from the first on, that fit into what a feed may have.
    fn items<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        for item in items {
            let end = self.0.len();
            write(self, item);
            if self.0.len() > PAGE_BYTES - FEED_END_BYTES {
                self.0.truncate(end);
                return;
            }
        }
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

/// Escapes text for an element or an attribute, and removes characters that no document may
/// have. XML 1.0 does not allow most of them even when escaped.
fn escaped(text: &str) -> String {
    let text = printable_lines(text);
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
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

/// The text of a story or comment as HTML, with the whole addresses of profiles.
fn html_of(site: &SiteSettings, text: &str) -> String {
    markdown_at(&site.link(""), text, LinkTarget::Same).into_string()
}

/// The link of a story in plain ASCII, or the address of its thread.
fn target(line: &NewsLine, thread: &str) -> String {
    NewsUrl::parse_imported(&line.news.url).map_or_else(|_| thread.to_owned(), |url| url.ascii())
}

fn author(line: &NewsLine) -> &str {
    line.username.as_deref().unwrap_or(DELETED_USER)
}

/// RFC 822 with a year of four digits.
fn rss_date(time: Timestamp) -> String {
    moment(time).strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()
}

fn latest_time(lines: &[NewsLine]) -> Timestamp {
    lines.iter().map(|line| line.news.ctime).max().unwrap_or_default()
}

fn rss_document(site: &SiteSettings, lines: &[NewsLine]) -> String {
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
        xml.element("lastBuildDate", &rss_date(latest_time(lines)));
    }
    xml.items(lines, |xml, line| {
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
        let text = line.news.text().map(|text| html_of(site, text));
        xml.element("description", &format!("{}{comments}", text.unwrap_or_default()));
        xml.raw("</item>");
    });
    xml.raw("\n</channel></rss>\n");
    xml.0
}

/// What identifies an Atom feed.
pub struct AtomFeed<'a> {
    /// The title.
    pub title: &'a str,
    /// The address of the page with the same list.
    pub page: &'a str,
    /// The feed's own address.
    pub own: &'a str,
    /// What the feed is about; may be empty.
    pub subtitle: &'a str,
}

impl AtomFeed<'_> {
    /// The feed of some stories.
    #[must_use]
    pub fn document(&self, site: &SiteSettings, lines: &[NewsLine]) -> String {
        let mut xml = Xml::new();
        let (page, own) = (site.link(self.page), site.link(self.own));
        xml.begin_atom((self.title, &page), latest_time(lines), &page, Some(&own));
        if !self.subtitle.is_empty() {
            xml.element("subtitle", self.subtitle);
        }
        xml.items(lines, |xml, line| {
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
                Some(text) => {
                    xml.raw("<content type=\"html\">");
                    xml.text(&html_of(site, text));
                    xml.raw("</content>");
                }
                None => xml.element("summary", &format!("Comments: {thread}")),
            }
            xml.raw("</entry>");
        });
        xml.raw("\n</feed>\n");
        xml.0
    }
}

/// The title of a tweet's entry: its first line, shortened.
fn title_of(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(FEED_TITLE_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// The tweets of a user who joined at `joined`.
fn tweets_document(site: &SiteSettings, username: &str, joined: Timestamp, lines: &[TweetLine]) -> String {
    let mut xml = Xml::new();
    let profile = site.link(&profile_address(username, ""));
    let own = site.link(&profile_address(username, "/feed"));
    let title = format!("Posts by {username} - {}", site.name);
    let updated = lines.iter().map(|line| posted_at(line)).max().unwrap_or(joined);
    xml.begin_atom((&title, &profile), updated, &profile, Some(&own));
    xml.raw("<author>");
    xml.element("name", username);
    xml.element("uri", &profile);
    xml.raw("</author>");
    xml.items(lines, |xml, line| {
        let address = site.link(&tweet_address(line.tweet.id));
        let time = moment(posted_at(line)).to_string();
        xml.raw("\n<entry>");
        xml.element("title", &title_of(&line.tweet.text));
        xml.element("id", &address);
        xml.element("published", &time);
        xml.element("updated", &time);
        xml.empty("link", [("rel", "alternate"), ("type", "text/html"), ("href", &address)]);
        if let Some(news) = &line.news {
            let thread = site.link(&news_address(news.id));
            xml.empty("link", [("rel", "related"), ("type", "text/html"), ("href", &thread)]);
        }
        xml.content(&line.tweet.text);
        xml.raw("</entry>");
    });
    xml.raw("\n</feed>\n");
    xml.0
}

fn comments_document(site: &SiteSettings, comments: &[(ItemNumber, SiteComment)]) -> String {
    let mut xml = Xml::new();
    let (page, own) = (site.link("/comments"), site.link("/comments/atom"));
    let updated = comments.iter().map(|(_, comment)| comment.line().comment.ctime).max().unwrap_or_default();
    xml.begin_atom((&format!("Comments - {}", site.name), &page), updated, &page, Some(&own));
    xml.items(comments, |xml, (_, comment)| {
        let line = comment.line();
        let address =
            site.link(&comment_address(CommentAddress { news: comment.news.id, comment: line.comment.id }));
        let time = moment(line.comment.ctime).to_string();
        let author = line.username.unwrap_or(DELETED_USER);
        xml.raw("\n<entry>");
        xml.element("title", &format!("{author} on {}", comment.news.title));
        xml.element("id", &address);
        xml.element("published", &time);
        xml.element("updated", &time);
        xml.raw("<author>");
        xml.element("name", author);
        xml.raw("</author>");
        xml.empty("link", [("rel", "alternate"), ("type", "text/html"), ("href", &address)]);
        xml.raw("<content type=\"html\">");
        xml.text(&html_of(site, &line.comment.body));
        xml.raw("</content></entry>");
    });
    xml.raw("\n</feed>\n");
    xml.0
}

/// The inbox of a user. It does not contain its own address, so that a reader that shows or
/// shares entries does not tell it.
fn inbox_document(site: &SiteSettings, owner: &User, entries: &[InboxEntry]) -> String {
    let mut xml = Xml::new();
    let page = site.link("/inbox");
    let title = format!("Inbox of {} - {}", owner.username, site.name);
    let updated = entries.iter().map(InboxEntry::time).max().unwrap_or(owner.ctime);
    // All inboxes have the same page.
    xml.begin_atom((&title, &format!("{page}#{}", owner.id)), updated, &page, None);
    xml.items(entries, |xml, entry| {
        let time = moment(entry.time()).to_string();
        xml.raw("\n<entry>");
        xml.element("title", &description(entry));
        xml.element("id", &format!("{page}#{}-{}", owner.id, entry.place.id));
        xml.element("published", &time);
        xml.element("updated", &time);
        xml.raw("<author>");
        let moderator = entry.place.id.kind() == Kind::Moderation;
        let author = if moderator { &site.name } else { entry.username.as_deref().unwrap_or(DELETED_USER) };
        xml.element("name", author);
        xml.raw("</author>");
        let target = destination(entry).map_or_else(|| page.clone(), |address| site.link(&address));
        xml.empty("link", [("rel", "alternate"), ("type", "text/html"), ("href", &target)]);
        match entry.text() {
            Some(text) if entry.place.id.comment().is_some() => {
                xml.raw("<content type=\"html\">");
                xml.text(&html_of(site, text));
                xml.raw("</content>");
            }
            Some(text) => xml.content(text),
            None => {}
        }
        xml.raw("</entry>");
    });
    xml.raw("\n</feed>\n");
    xml.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{line, news, settings};

    fn both(title: &str, url: &str) -> [String; 2] {
        let lines = [line(news(title, url, false), None)];
        let site = settings().site;
        let atom = AtomFeed { title: &site.name, page: "/", own: "/atom", subtitle: "About <b>" };
        [rss_document(&site, &lines), atom.document(&site, &lines)]
    }

    #[test]
    fn text_is_escaped_and_forbidden_characters_are_removed() {
        for feed in both("<a> & \"b\" ]]> \u{0}\u{b}\u{fffe}c", "http://a.com/?x=1&y=<\u{1}>") {
            assert!(feed.contains("&lt;a&gt; &amp; &quot;b&quot; ]]&gt; c</title>"), "{feed}");
            assert!(matches!(printable_lines(&feed), std::borrow::Cow::Borrowed(_)), "{feed}");
            assert!(!feed.contains("&y"), "{feed}");
        }
    }

    #[test]
    fn entries_have_absolute_links_and_correct_dates() {
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
            "<subtitle>About &lt;b&gt;</subtitle>",
            "<id>http://localhost:8080/news/5</id>",
            "<updated>1970-01-12T13:46:40Z</updated>",
            "<author><name>alice</name></author>",
            "href=\"https://a.com/%C3%BC\"",
        ] {
            assert!(atom.contains(part), "{part} in {atom}");
        }
    }

    #[test]
    fn a_story_without_a_web_link_links_to_its_thread() {
        for url in ["text://hello <b>", "javascript:alert(1)"] {
            for feed in both("t", url) {
                assert!(feed.contains("http://localhost:8080/news/5"), "{feed}");
                assert!(!feed.contains("javascript:") && !feed.contains("<b>"), "{feed}");
            }
        }
    }
}
