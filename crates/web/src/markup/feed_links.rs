//! Every feed of the site, in one list: its title, the page with the same list, and its addresses. The links in the
//! heads of pages, the page about feeds and the documents for feed readers are made from it.

use super::addresses::{described, list_address, news_address, profile_address, site_address, user_address};
use crate::settings::SiteSettings;
use maud::{Markup, html};
use std::borrow::Cow;
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::values::hostname::Hostname;
use tidings_domain::values::ids::{NewsId, UserId};
use tidings_domain::values::topic::TopicChoice;

/// The format of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedFormat {
    /// Atom (RFC 4287).
    Atom,
    /// JSON Feed 1.1.
    Json,
    /// RSS 2.0.
    Rss,
}

impl FeedFormat {
    /// The end of the addresses of feeds in this format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Atom => "atom",
            Self::Json => "json",
            Self::Rss => "rss",
        }
    }

    /// Its name in words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Atom => "Atom",
            Self::Json => "JSON",
            Self::Rss => "RSS",
        }
    }

    /// The type of such a document in a link, without parameters.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Atom => "application/atom+xml",
            Self::Json => "application/feed+json",
            Self::Rss => "application/rss+xml",
        }
    }
}

/// The content of a feed of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Stories, comments and posts.
    All,
    /// Stories.
    Stories,
    /// Comments.
    Comments,
    /// Posts.
    Posts,
}

/// A feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedKind {
    /// The stories of the front page.
    Top,
    /// The newest stories.
    Latest,
    /// Articles, all or those of some topics, in one of two orders.
    Articles(Option<TopicChoice>, ArticleOrder),
    /// The newest comments of the site.
    Comments,
    /// The stories, comments or posts of a person, by name.
    Person(Written, String),
    /// The comments on a story, with its title.
    Story(NewsId, String),
    /// The stories of a site.
    Site(Hostname),
    /// The results of a search.
    Search {
        /// Its content in words.
        heading: String,
        /// The query string of the search, from its `?` on.
        query: String,
    },
    /// The moderation log.
    Log,
    /// The inbox of a person.
    Inbox {
        /// The person.
        owner: UserId,
        /// Their name.
        name: String,
        /// The secret of its address.
        secret: String,
    },
}

impl FeedKind {
    /// The feeds of the site as a whole, in the order of the navigation. The newest articles are the newest stories.
    pub const OF_SITE: [Self; 5] =
        [Self::Top, Self::Latest, Self::Articles(None, ArticleOrder::Score), Self::Comments, Self::Log];

    /// All feeds of a person's own writing; without posts on a site without timelines.
    #[must_use]
    pub fn of_person(username: &str, has_posts: bool) -> Vec<Self> {
        let kinds = [Written::All, Written::Posts, Written::Stories, Written::Comments];
        let kinds = kinds.into_iter().filter(|written| has_posts || *written != Written::Posts);
        kinds.map(|written| Self::Person(written, username.to_owned())).collect()
    }

    /// Its content in words, without the name of the site; empty for the newest stories.
    #[must_use]
    pub fn heading(&self) -> Cow<'static, str> {
        match self {
            Self::Top => "Top stories".into(),
            Self::Latest => "".into(),
            Self::Articles(None, ArticleOrder::Score) => "Best".into(),
            Self::Articles(None, ArticleOrder::Time) => "New stories".into(),
            Self::Articles(Some(topics), ArticleOrder::Score) => {
                format!("Best in {}", described(topics)).into()
            }
            Self::Articles(Some(topics), ArticleOrder::Time) => {
                format!("New in {}", described(topics)).into()
            }
            Self::Comments => "Comments".into(),
            Self::Person(Written::All, name) => format!("Everything by {name}").into(),
            Self::Person(Written::Stories, name) => format!("Stories by {name}").into(),
            Self::Person(Written::Comments, name) => format!("Comments by {name}").into(),
            Self::Person(Written::Posts, name) => format!("Posts by {name}").into(),
            Self::Story(_, title) => format!("Comments on {title}").into(),
            Self::Site(host) => format!("Stories from {}", host.bare()).into(),
            Self::Search { heading, .. } => heading.clone().into(),
            Self::Log => "Moderation log".into(),
            Self::Inbox { name, .. } => format!("Inbox of {name}").into(),
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(&self, site: &SiteSettings) -> String {
        let heading = self.heading();
        if heading.is_empty() { site.name.clone() } else { format!("{heading} - {}", site.name) }
    }

    /// The address of the page with the same list.
    #[must_use]
    pub fn page(&self) -> String {
        match self {
            Self::Top | Self::Latest => "/".to_owned(),
            Self::Articles(topics, order) => list_address(topics.as_ref(), *order),
            Self::Comments => "/comments".to_owned(),
            Self::Person(Written::All | Written::Posts, name) => profile_address(name, ""),
            Self::Person(Written::Stories, name) => user_address("usernews", name, "/0"),
            Self::Person(Written::Comments, name) => user_address("usercomments", name, "/0"),
            Self::Story(id, _) => news_address(*id),
            Self::Site(host) => site_address(host),
            Self::Search { query, .. } => format!("/search{query}"),
            Self::Log => "/moderations".to_owned(),
            Self::Inbox { .. } => "/inbox".to_owned(),
        }
    }

    /// Its formats.
    #[must_use]
    pub const fn formats(&self) -> &'static [FeedFormat] {
        match self {
            Self::Latest => &[FeedFormat::Rss, FeedFormat::Atom, FeedFormat::Json],
            _ => &[FeedFormat::Atom, FeedFormat::Json],
        }
    }

    /// The path of its address.
    #[must_use]
    pub fn path(&self, format: FeedFormat) -> String {
        let name = format.name();
        match self {
            Self::Top => format!("/top/{name}"),
            Self::Latest => format!("/{name}"),
            // These two have had only one format.
            Self::Person(Written::Posts, username) if format == FeedFormat::Json => {
                profile_address(username, "/feed/json")
            }
            Self::Person(Written::Posts, username) => profile_address(username, "/feed"),
            Self::Person(Written::All, username) => user_address("user", username, &format!("/{name}")),
            Self::Person(Written::Stories, username) => {
                user_address("user", username, &format!("/stories/{name}"))
            }
            Self::Person(Written::Comments, username) => {
                user_address("user", username, &format!("/comments/{name}"))
            }
            Self::Search { .. } => format!("/search.{name}"),
            Self::Inbox { secret, .. } if format == FeedFormat::Json => format!("/inbox/feed/{secret}/json"),
            Self::Inbox { secret, .. } => format!("/inbox/feed/{secret}"),
            Self::Articles(..) | Self::Comments | Self::Story(..) | Self::Site(_) | Self::Log => {
                format!("{}/{name}", self.page())
            }
        }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self, format: FeedFormat) -> String {
        let path = self.path(format);
        if let Self::Search { query, .. } = self { format!("{path}{query}") } else { path }
    }

    /// Whether only whoever has its address may read it.
    #[must_use]
    pub const fn is_private(&self) -> bool {
        matches!(self, Self::Inbox { .. })
    }

    /// Whether the hub is told when it changes. Lists by score change all the time, and nothing says which searches and
    /// which lists of several topics a change is in.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        match self {
            Self::Articles(topics, ArticleOrder::Time) => {
                topics.as_ref().is_none_or(|topics| topics.single().is_some())
            }
            Self::Top
            | Self::Latest
            | Self::Comments
            | Self::Person(..)
            | Self::Story(..)
            | Self::Site(_) => true,
            Self::Articles(..) | Self::Search { .. } | Self::Log | Self::Inbox { .. } => false,
        }
    }

    /// The links to it in the head of a page with the same list.
    #[must_use]
    pub fn head_links(&self, site: &SiteSettings) -> Markup {
        let title = self.title(site);
        html! {
            @for format in self.formats() {
                @let address = self.address(*format);
                @if matches!(self, Self::Latest) {
                    link rel="alternate" type=(format.media_type()) title={ (title) " (" (format.title()) ")" } href=(address);
                } @else {
                    link rel="alternate" type=(format.media_type()) title=(title) href=(address);
                }
            }
        }
    }

    /// The links to it on a page.
    #[must_use]
    pub fn links(&self) -> Markup {
        html! {
            @for (index, format) in self.formats().iter().enumerate() {
                @if index > 0 { " · " }
                a href=(self.address(*format)) type=(format.media_type()) { (format.title()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;

    #[test]
    fn the_addresses_of_feeds_follow_one_pattern_and_the_first_ones_stay() {
        let topics: TopicChoice = "rust".parse().unwrap();
        let person = |written| FeedKind::Person(written, "a/b".to_owned());
        for (kind, atom, json) in [
            (FeedKind::Top, "/top/atom", "/top/json"),
            (FeedKind::Latest, "/atom", "/json"),
            (FeedKind::Articles(None, ArticleOrder::Score), "/best/atom", "/best/json"),
            (FeedKind::Articles(None, ArticleOrder::Time), "/best/new/atom", "/best/new/json"),
            (
                FeedKind::Articles(Some(topics), ArticleOrder::Time),
                "/topic/rust/new/atom",
                "/topic/rust/new/json",
            ),
            (FeedKind::Comments, "/comments/atom", "/comments/json"),
            (person(Written::All), "/user/a%2Fb/atom", "/user/a%2Fb/json"),
            (person(Written::Stories), "/user/a%2Fb/stories/atom", "/user/a%2Fb/stories/json"),
            (person(Written::Comments), "/user/a%2Fb/comments/atom", "/user/a%2Fb/comments/json"),
            (person(Written::Posts), "/@a%2Fb/feed", "/@a%2Fb/feed/json"),
            (FeedKind::Story(NewsId(7), "A title".to_owned()), "/news/7/atom", "/news/7/json"),
            (FeedKind::Site(Hostname::parse("www.a.com").unwrap()), "/site/a.com/atom", "/site/a.com/json"),
            (
                FeedKind::Search { heading: "a".to_owned(), query: "?q=a".to_owned() },
                "/search.atom?q=a",
                "/search.json?q=a",
            ),
            (FeedKind::Log, "/moderations/atom", "/moderations/json"),
            (
                FeedKind::Inbox { owner: UserId(1), name: "alice".to_owned(), secret: "1-aa".to_owned() },
                "/inbox/feed/1-aa",
                "/inbox/feed/1-aa/json",
            ),
        ] {
            assert_eq!(kind.address(FeedFormat::Atom), atom);
            assert_eq!(kind.address(FeedFormat::Json), json);
        }
        assert_eq!(FeedKind::Latest.address(FeedFormat::Rss), "/rss");
    }

    #[test]
    fn a_head_has_a_link_for_each_format() {
        let site = settings().site;
        let best = FeedKind::Articles(None, ArticleOrder::Score).head_links(&site).into_string();
        for part in [
            r#"<link rel="alternate" type="application/atom+xml" title="Best - Tidings" href="/best/atom">"#,
            r#"<link rel="alternate" type="application/feed+json" title="Best - Tidings" href="/best/json">"#,
        ] {
            assert!(best.contains(part), "{part} in {best}");
        }
        let latest = FeedKind::Latest.head_links(&site).into_string();
        assert!(
            latest.contains(r#"type="application/rss+xml" title="Tidings (RSS)" href="/rss""#),
            "{latest}"
        );
    }
}
