//! The lists of all stories of the site. Each is a page, a feed, an order of the call `/api/getnews`, an entry of the
//! menu or a tab of the front page, and an entry of the sitemap: the router, the menu, the list of feeds and the
//! description of the calls read this table.

use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};
use tidings_domain::news::by_votes;
use tidings_domain::news::lists::{self, NewsPage};
use tidings_domain::values::Age;
use tidings_domain::{Error, Visit, keys};
use tidings_language::{Message, PerLanguage, m, t};

/// A list of all stories. Its name is the order of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SiteList {
    /// By rank.
    Top,
    /// By time.
    Latest,
    /// Those of the last 24 hours by votes.
    TopDay,
    /// Those of the last 7 days by votes.
    TopWeek,
    /// Those of the last 30 days by votes.
    TopMonth,
    /// Those of the last 365 days by votes.
    TopYear,
    /// All by votes.
    TopAll,
}

/// Where the stories of a list come from.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// The ranks, which sink with time.
    Ranked,
    /// The votes on those within an age.
    ByVotes(Age),
    /// The list at a key, which changes with its stories only.
    Stored(&'static str),
}

/// Where a list is, and how it is called.
pub struct ListFacts {
    /// The title of its page.
    pub title: &'static str,
    /// Its name in the menu; empty if it is not there.
    pub menu: &'static str,
    /// Its name among the tabs of the front page; empty if it is not there.
    pub tab: &'static str,
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
    /// Where its stories come from.
    pub source: Source,
    /// Whether the hub is told when its feed changes.
    pub is_announced: bool,
}

impl ListFacts {
    /// The stories within an age, by votes.
    const fn by_votes(age: Age, [tab, title]: [&'static str; 2], [path, more]: [&'static str; 2]) -> Self {
        let (feed_title, feed_page, feed, first) = (title, path, more, path);
        let (source, is_announced) = (Source::ByVotes(age), false);
        Self { title, menu: "", tab, feed_title, feed_page, feed, path, more, first, source, is_announced }
    }

    fn of(list: SiteList) -> Self {
        match list {
            SiteList::Top => Self {
                title: t!("Top stories"),
                menu: t!("stories" => "Top"),
                tab: t!("stories" => "Now"),
                feed_title: t!("Top stories"),
                feed_page: "/",
                feed: "/top/",
                path: "/",
                more: "/top/",
                first: "/",
                source: Source::Ranked,
                is_announced: true,
            },
            SiteList::Latest => Self {
                title: t!("New stories"),
                menu: t!("stories" => "New"),
                tab: "",
                feed_title: "",
                feed_page: "/",
                feed: "/",
                path: "/latest",
                more: "/latest/",
                first: "/latest/0",
                source: Source::Stored(keys::NEWS_CRON),
                is_announced: true,
            },
            SiteList::TopDay => Self::by_votes(
                Age::Day,
                [t!("stories" => "Day"), t!("Top stories of the day")],
                ["/top/day", "/top/day/"],
            ),
            SiteList::TopWeek => Self::by_votes(
                Age::Week,
                [t!("stories" => "Week"), t!("Top stories of the week")],
                ["/top/week", "/top/week/"],
            ),
            SiteList::TopMonth => Self::by_votes(
                Age::Month,
                [t!("stories" => "Month"), t!("Top stories of the month")],
                ["/top/month", "/top/month/"],
            ),
            SiteList::TopYear => Self::by_votes(
                Age::Year,
                [t!("stories" => "Year"), t!("Top stories of the year")],
                ["/top/year", "/top/year/"],
            ),
            SiteList::TopAll => Self::by_votes(
                Age::All,
                [t!("stories" => "All"), t!("Top stories of all time")],
                ["/top/all", "/top/all/"],
            ),
        }
    }
}

impl SiteList {
    /// The table.
    pub fn facts(self) -> &'static ListFacts {
        static FACTS: PerLanguage<Vec<ListFacts>> =
            PerLanguage::new(|| SiteList::iter().map(ListFacts::of).collect());
        // The table has a place for each, in their order.
        &FACTS[self as usize]
    }

    /// A part of the list. Rounds: 3, or as [`lists::top`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(self, visit: &mut Visit, start: u64, count: u64) -> Result<NewsPage, Error> {
        match self.facts().source {
            Source::Ranked => lists::top(visit, start, count).await,
            Source::ByVotes(age) => by_votes::within(visit, age, start, count).await,
            Source::Stored(key) => lists::stored(visit, key, start, count).await,
        }
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::iter().map(Into::into)
    }

    /// The error message for another name.
    pub const EXPECTED: &Message =
        m!("it must be top, latest, top_day, top_week, top_month, top_year, top_all");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_message_names_all_lists() {
        let names: Vec<&str> = SiteList::names().collect();
        assert_eq!(SiteList::EXPECTED.english, format!("it must be {}", names.join(", ")));
    }
}
