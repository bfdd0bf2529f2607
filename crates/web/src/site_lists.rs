//! The lists of all stories of the site. Each is a page, a feed, an order of the call `/api/getnews`, an entry of the
//! menu and one of the sitemap: the router, the menu, the list of feeds and the description of the calls read this table.

use std::sync::LazyLock;
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};
use tidings_domain::Error;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::news::lists::{self, NewsPage};

/// A list of all stories. Its name is the order of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SiteList {
    /// By rank.
    Top,
    /// By time.
    Latest,
}

/// Where a list is, and how it is called.
pub struct ListFacts {
    /// The title of its page.
    pub title: &'static str,
    /// Its name in the menu.
    pub menu: &'static str,
    /// Its name among the feeds of the site.
    pub feed_name: &'static str,
    /// The title of its feed, before the name of the site; empty if that is all.
    pub feed_title: &'static str,
    /// The page that its feed is about.
    pub feed_page: &'static str,
    /// The address of its feed, without the format.
    pub feed: &'static str,
    /// The address of the page without a position.
    pub path: &'static str,
    /// The address of the page to which a position is added.
    pub more: &'static str,
    /// The address that links to the first page have.
    pub first: &'static str,
}

impl SiteList {
    /// The table.
    pub const fn facts(self) -> &'static ListFacts {
        match self {
            Self::Top => &ListFacts {
                title: "Top stories",
                menu: "Top",
                feed_name: "The front page",
                feed_title: "Top stories",
                feed_page: "/",
                feed: "/top/",
                path: "/",
                more: "/top/",
                first: "/",
            },
            Self::Latest => &ListFacts {
                title: "New stories",
                menu: "New",
                feed_name: "New stories",
                feed_title: "",
                feed_page: "/",
                feed: "/",
                path: "/latest",
                more: "/latest/",
                first: "/latest/0",
            },
        }
    }

    /// A part of the list. Rounds: 3, or as [`lists::top`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(self, visit: &mut Visit, start: u64, count: u64) -> Result<NewsPage, Error> {
        match self {
            Self::Top => lists::top(visit, start, count).await,
            Self::Latest => lists::latest(visit, start, count).await,
        }
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::iter().rev().map(Into::into)
    }

    /// The error message for another name.
    pub fn expected() -> &'static str {
        static EXPECTED: LazyLock<String> =
            LazyLock::new(|| format!("it must be {}", SiteList::names().collect::<Vec<_>>().join(" or ")));
        &EXPECTED
    }
}
