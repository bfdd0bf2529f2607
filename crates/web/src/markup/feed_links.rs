//! Every feed of the site, in one list: its title, the page with the same list, and its addresses. The links in the
//! heads of pages, the page about feeds and the documents for feed readers are made from it.

use super::addresses::{described, list_address, news_address, profile_address, site_address, user_address};
use crate::request::local_path::add_parameter;
use crate::server::headers::KEY_PARAMETER;
use crate::settings::SiteSettings;
use crate::site_lists::{ListFacts, SiteList, Source};
use maud::{Markup, html};
use strum::{Display, IntoEnumIterator, IntoStaticStr};
use tidings_domain::accounts::reading_key::ReadingKey;
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::values::{Hostname, NewsId, TopicChoice, UserId};
use tidings_language::t;

/// The format of a feed. Its name is the end of the addresses of feeds in this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FeedFormat {
    /// Atom (RFC 4287).
    Atom,
    /// JSON Feed 1.1.
    Json,
    /// RSS 2.0.
    Rss,
}

impl FeedFormat {
    /// Its name in words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Atom => "Atom",
            Self::Json => "JSON",
            Self::Rss => "RSS",
        }
    }

    /// The type of such a document in a link, without parameters.
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
    /// A list of all stories.
    Stories(SiteList),
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

/// An address with a key, if there is one.
pub fn with_key(mut address: String, key: Option<&ReadingKey>) -> String {
    key.into_iter().for_each(|key| add_parameter(&mut address, KEY_PARAMETER, &key.expose()));
    address
}

/// The name of a feed, and where it is.
struct FeedFacts {
    heading: String,
    page: String,
    /// Its address, to which the name of the format is added.
    feed: String,
}

impl FeedKind {
    /// The newest stories, which is the feed of the site.
    pub const LATEST: Self = Self::Stories(SiteList::Latest);

    /// The feeds of the site as a whole, in the order of the navigation. The newest articles are the newest stories.
    pub fn of_site() -> impl Iterator<Item = Self> {
        let lists = SiteList::iter().map(Self::Stories);
        lists.chain([Self::Articles(None, ArticleOrder::Score), Self::Comments, Self::Log])
    }

    /// The feeds of lists that change with their stories only, if the hub is told of them.
    pub fn of_stored_lists() -> impl Iterator<Item = Self> {
        let lists = SiteList::iter().filter(|list| matches!(list.facts().source, Source::Stored(_)));
        lists.map(Self::Stories).filter(Self::is_announced)
    }

    /// All feeds of a person's own writing; without posts on a site without timelines.
    pub fn of_person(username: &str, has_posts: bool) -> Vec<Self> {
        let kinds = [Written::All, Written::Posts, Written::Stories, Written::Comments];
        let kinds = kinds.into_iter().filter(|written| has_posts || *written != Written::Posts);
        kinds.map(|written| Self::Person(written, username.to_owned())).collect()
    }

    /// The table of all feeds.
    fn facts(&self) -> FeedFacts {
        let facts = |heading: String, page: String, feed: String| FeedFacts { heading, page, feed };
        let at_page = |heading: String, page: String| facts(heading, page.clone(), format!("{page}/"));
        match self {
            Self::Stories(list) => {
                let ListFacts { feed_title, feed_page, feed, .. } = *list.facts();
                facts(feed_title.to_owned(), feed_page.to_owned(), feed.to_owned())
            }
            Self::Articles(topics, order) => {
                let heading = match (topics, order) {
                    (None, ArticleOrder::Score) => t!("stories" => "Best").to_owned(),
                    (None, ArticleOrder::Time) => t!("New stories").to_owned(),
                    (Some(topics), ArticleOrder::Score) => {
                        t!("Best in {topics}", topics = described(topics)).to_string()
                    }
                    (Some(topics), ArticleOrder::Time) => {
                        t!("New in {topics}", topics = described(topics)).to_string()
                    }
                };
                at_page(heading, list_address(topics.as_ref(), *order))
            }
            Self::Comments => at_page(t!("Comments").to_owned(), "/comments".to_owned()),
            Self::Person(written, name) => {
                let user = |rest: &str| user_address("user", name, rest);
                let profile = |rest: &str| profile_address(name, rest);
                let (heading, page, feed) = match written {
                    Written::All => (t!("Everything by {name}", name), profile(""), user("/")),
                    Written::Posts => (t!("Posts by {name}", name), profile(""), profile("/feed")),
                    Written::Stories => {
                        let page = user_address("usernews", name, "/0");
                        (t!("Stories by {name}", name), page, user("/stories/"))
                    }
                    Written::Comments => {
                        let page = user_address("usercomments", name, "/0");
                        (t!("Comments by {name}", name), page, user("/comments/"))
                    }
                };
                facts(heading.to_string(), page, feed)
            }
            Self::Story(id, title) => {
                at_page(t!("Comments on {title}", title).to_string(), news_address(*id))
            }
            Self::Site(host) => at_page(
                t!("Stories from {site}", site = host.bare().to_string()).to_string(),
                site_address(host),
            ),
            Self::Search { heading, query } => {
                facts(heading.clone(), format!("/search{query}"), "/search.".to_owned())
            }
            Self::Log => at_page(t!("Moderation log").to_owned(), "/moderations".to_owned()),
            Self::Inbox { name, secret, .. } => facts(
                t!("Inbox of {name}", name).to_string(),
                "/inbox".to_owned(),
                format!("/inbox/feed/{secret}"),
            ),
        }
    }

    /// Its content in words, without the name of the site; empty for the newest stories.
    pub fn heading(&self) -> String {
        self.facts().heading
    }

    /// Its title.
    pub fn title(&self, site: &SiteSettings) -> String {
        let heading = self.heading();
        if heading.is_empty() { site.name.clone() } else { format!("{heading} - {}", site.name) }
    }

    /// The address of the page with the same list.
    pub fn page(&self) -> String {
        self.facts().page
    }

    /// Its formats.
    pub const fn formats(&self) -> &'static [FeedFormat] {
        match self {
            &Self::LATEST => &[FeedFormat::Rss, FeedFormat::Atom, FeedFormat::Json],
            _ => &[FeedFormat::Atom, FeedFormat::Json],
        }
    }

    /// The path of its address. Where that does not say that it is a feed, Atom is the format without a name.
    pub fn path(&self, format: FeedFormat) -> String {
        let FeedFacts { feed, .. } = self.facts();
        match (self, format) {
            (Self::Person(Written::Posts, _) | Self::Inbox { .. }, FeedFormat::Json) => {
                format!("{feed}/json")
            }
            (Self::Person(Written::Posts, _) | Self::Inbox { .. }, _) => feed,
            _ => format!("{feed}{format}"),
        }
    }

    /// Its address.
    pub fn address(&self, format: FeedFormat) -> String {
        let path = self.path(format);
        if let Self::Search { query, .. } = self { format!("{path}{query}") } else { path }
    }

    /// Whether only whoever has its address may read it.
    pub const fn is_private(&self) -> bool {
        matches!(self, Self::Inbox { .. })
    }

    /// Whether the hub is told when it changes. Lists by score change all the time, and nothing says which searches and
    /// which lists of several topics a change is in.
    pub fn is_announced(&self) -> bool {
        match self {
            Self::Articles(topics, ArticleOrder::Time) => {
                topics.as_ref().is_none_or(|topics| topics.single().is_some())
            }
            Self::Stories(list) => list.facts().is_announced,
            Self::Comments | Self::Person(..) | Self::Story(..) | Self::Site(_) => true,
            Self::Articles(..) | Self::Search { .. } | Self::Log | Self::Inbox { .. } => false,
        }
    }

    /// The links to it in the head of a page with the same list.
    pub fn head_links(&self, site: &SiteSettings) -> Markup {
        let title = self.title(site);
        html! {
            @for format in self.formats() {
                @let address = self.address(*format);
                @if *self == Self::LATEST {
                    link rel="alternate" type=(format.media_type()) title={ (title) " (" (format.title()) ")" } href=(address);
                } @else {
                    link rel="alternate" type=(format.media_type()) title=(title) href=(address);
                }
            }
        }
    }

    /// The address for a program that reads a site for members with the key of one.
    pub fn address_with(&self, format: FeedFormat, key: Option<&ReadingKey>) -> String {
        with_key(self.address(format), key.filter(|_| !self.is_private()))
    }

    /// The links to it on a page, with the key of a member or without.
    pub fn links(&self, key: Option<&ReadingKey>) -> Markup {
        html! {
            @for (index, format) in self.formats().iter().enumerate() {
                @if index > 0 { " · " }
                a href=(self.address_with(*format, key)) type=(format.media_type()) { (format.title()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_feeds_follow_one_pattern_and_the_first_ones_stay() {
        let topics: TopicChoice = "rust".parse().unwrap();
        let person = |written| FeedKind::Person(written, "a/b".to_owned());
        for (kind, atom, json) in [
            (FeedKind::Stories(SiteList::Top), "/top/atom", "/top/json"),
            (FeedKind::LATEST, "/atom", "/json"),
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
        assert_eq!(FeedKind::LATEST.address(FeedFormat::Rss), "/rss");
    }
}
