//! A feed as a model, before it is written in one of the formats.

use crate::App;
use crate::error::Result;
use crate::markup::addresses::{comment_address, news_address, profile_address, tweet_address};
use crate::markup::brand::Brand;
use crate::markup::fragments::LinkTarget;
use crate::markup::markdown::markdown_at;
use crate::markup::parts::deleted_user;
use crate::markup::{FeedFormat, FeedKind};
use crate::settings::SiteSettings;
use std::fmt::{self, Display};
use std::ops::Deref;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::cache::Shared;
use tidings_domain::values::{CommentAddress, NewsId, TagOrigin, Timestamp, TweetId};

/// The site as its feeds describe it.
pub(super) struct FeedSite {
    brand: Shared<Brand>,
    tag: TagOrigin,
}

impl FeedSite {
    /// The site as a visit sees it. Call it after the page's own reads.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn of(app: &App, visit: &mut Visit) -> Result<Self> {
        let tag = visit.tag_origin(app.settings.site.first_host()).await;
        Ok(Self { brand: app.brand_for(visit).await, tag })
    }

    /// The id of something: a `tag:` URI (RFC 4151). It is the same in all formats, and stays the same when the site moves.
    pub(super) fn id(&self, what: impl Display) -> String {
        format!("tag:{}:{what}", self.tag)
    }

    /// The site of settings that a test has.
    #[cfg(test)]
    pub(super) fn of_settings(site: &SiteSettings) -> Self {
        let brand = Brand::new(site, &Default::default(), &Default::default()).into();
        Self { brand, tag: TagOrigin::new(site.first_host(), Timestamp(1_000_000)) }
    }
}

impl Deref for FeedSite {
    type Target = SiteSettings;

    fn deref(&self) -> &SiteSettings {
        &self.brand.site
    }
}

/// One page of a feed.
pub(super) struct Feed {
    /// Which feed it is.
    pub(super) kind: FeedKind,
    /// The id of the feed, which is the same on all its pages.
    pub(super) id: String,
    /// Its description; may be empty.
    pub(super) subtitle: String,
    /// The author of all entries that name none.
    pub(super) author: Option<Author>,
    /// The entries, in the order of the list.
    pub(super) entries: Vec<Entry>,
    /// The query string of this page, from its `?` on; empty for the first page.
    pub(super) here: String,
    /// The query string of the next page; `None` on the last.
    pub(super) next: Option<String>,
    /// The time of a feed without entries.
    pub(super) began: Timestamp,
}

impl Feed {
    /// The first page of a feed without entries.
    pub(super) fn new(site: &FeedSite, kind: FeedKind) -> Self {
        let id = match &kind {
            // Its address is a secret, and the same person may get another one.
            FeedKind::Inbox { owner, .. } => site.id(format_args!("feed/inbox/{owner}")),
            kind => site.id(format_args!("feed{}", kind.address(FeedFormat::Atom))),
        };
        Self {
            kind,
            id,
            subtitle: String::new(),
            author: None,
            entries: Vec::new(),
            here: String::new(),
            next: None,
            began: Timestamp::default(),
        }
    }

    /// The time of the last change of an entry.
    pub(super) fn updated(&self) -> Timestamp {
        self.entries.iter().map(|entry| entry.updated).max().unwrap_or(self.began)
    }
}

/// The author of a feed or an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Author {
    /// The name.
    pub(super) name: String,
    /// The whole address of the person's page, if there is one.
    pub(super) page: Option<String>,
}

impl Author {
    /// The person with a name; `None` for a deactivated account.
    pub(super) fn of(site: &SiteSettings, username: Option<&str>) -> Self {
        Self {
            name: username.unwrap_or(deleted_user()).to_owned(),
            page: username.map(|name| site.link(&profile_address(name, ""))),
        }
    }

    /// Somebody without a page.
    pub(super) fn unlinked(name: &str) -> Self {
        Self { name: name.to_owned(), page: None }
    }
}

/// An entry of a feed.
pub(super) struct Entry {
    /// Its id, which never changes.
    pub(super) id: String,
    /// Its title in plain text.
    pub(super) title: String,
    /// The whole address of its page on this site.
    pub(super) page: String,
    /// Where it links to, if it is about something elsewhere.
    pub(super) link: Option<String>,
    /// Where it is discussed.
    pub(super) discussion: Option<Discussion>,
    /// The whole address of the story that it announces.
    pub(super) related: Option<String>,
    /// The id and the page of what it replies to.
    pub(super) in_reply_to: Option<(String, String)>,
    /// Its author; `None` is that of the feed.
    pub(super) author: Option<Author>,
    /// The names of its topics.
    pub(super) topics: Vec<String>,
    /// Its text.
    pub(super) text: Option<Text>,
    /// When it was written.
    pub(super) published: Timestamp,
    /// When it was last edited; when it was written, if it never was.
    pub(super) updated: Timestamp,
}

impl Entry {
    /// An entry without a text.
    pub(super) const fn new(id: String, title: String, page: String, published: Timestamp) -> Self {
        Self {
            id,
            title,
            page,
            link: None,
            discussion: None,
            related: None,
            in_reply_to: None,
            author: None,
            topics: Vec::new(),
            text: None,
            published,
            updated: published,
        }
    }
}

/// Where something is discussed.
pub(super) struct Discussion {
    /// The whole address of the page.
    pub(super) page: String,
    /// How many comments there are, if that is known.
    pub(super) comments: Option<u64>,
}

/// The text of an entry.
pub(super) enum Text {
    /// HTML in the few tags of the site, with whole addresses.
    Html(String),
    /// Plain text.
    Plain(String),
}

impl Text {
    /// The text of a story or a comment.
    pub(super) fn marked(site: &SiteSettings, text: &str) -> Self {
        let text = site.with_moved_links(text);
        Self::Html(markdown_at(&site.link(""), &text, LinkTarget::Same).into_string())
    }
}

/// The subject of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    Story(NewsId),
    Comment(CommentAddress),
    Post(TweetId),
}

impl Item {
    /// The whole address of its page.
    pub(super) fn page(self, site: &SiteSettings) -> String {
        site.link(&match self {
            Self::Story(id) => news_address(id),
            Self::Comment(address) => comment_address(address),
            Self::Post(id) => tweet_address(id),
        })
    }

    /// The id of its entry in every feed.
    pub(super) fn id(self, site: &FeedSite) -> String {
        site.id(self)
    }
}

/// As in its id.
impl Display for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Story(id) => write!(formatter, "story/{id}"),
            Self::Comment(address) => write!(formatter, "comment/{address}"),
            Self::Post(id) => write!(formatter, "post/{id}"),
        }
    }
}
