//! The lists of story numbers: the best ranked, the newest, the best, and those that ask, show or offer a job.
//!
//! They are kept in memory until anything that decides about them is written.

use crate::accounts::{CacheResult, Perspective, ShownIn};
use crate::cache::{MEBIBYTE, Shared};
use crate::values::{CHOSEN_ITEMS, HackerNewsRules, ItemNumber, LISTED_ITEMS, LOOKED_AT_ITEMS, NewsId};
use crate::{Item, News, Result, Visit, fields, items, keys};
use std::cmp::Reverse;
use strum::EnumString;
use tidings_keyspace::{Fetch, Order, Tracked, read};

/// A list of stories, with the kind of stories that its name begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum ItemList {
    /// Those with the highest ranks, as on the front page.
    Top,
    /// The newest.
    New,
    /// Those with the highest article scores.
    Best,
    /// Those of the highest ranks whose titles ask.
    Ask,
    /// Those of the highest ranks whose titles show something.
    Show,
    /// The newest that offer a job.
    #[strum(serialize = "job")]
    Jobs,
}

impl ItemList {
    /// The list of all stories that it is taken from.
    const fn source(self) -> &'static str {
        match self {
            Self::Top | Self::Ask | Self::Show => keys::NEWS_TOP,
            Self::New | Self::Jobs => keys::NEWS_CRON,
            Self::Best => keys::ARTICLES_BY_SCORE,
        }
    }

    /// The kind of its stories; `None` for all.
    const fn kind(self) -> Option<StoryKind> {
        match self {
            Self::Top | Self::New | Self::Best => None,
            Self::Ask => Some(StoryKind::Ask),
            Self::Show => Some(StoryKind::Show),
            Self::Jobs => Some(StoryKind::Job),
        }
    }
}

/// A kind of story that has a list of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoryKind {
    /// It offers a job: it is about the topic of jobs.
    Job,
    /// Its title asks.
    Ask,
    /// Its title shows something.
    Show,
}

impl StoryKind {
    /// The kind of a story, if it has one.
    pub fn of(rules: &HackerNewsRules, news: &News) -> Option<Self> {
        if rules.jobs_topic.0.as_ref().is_some_and(|topic| news.topics.contains(topic)) {
            Some(Self::Job)
        } else if rules.ask_prefixes.begin(&news.title) {
            Some(Self::Ask)
        } else if rules.show_prefixes.begin(&news.title) {
            Some(Self::Show)
        } else {
            None
        }
    }
}

/// Seconds after which the ranks in a list are looked at again, because they sink with time.
const RANKS_LAST_SECONDS: u64 = 60;

crate::cache_kind! {
    /// The numbers in a list, and the time for which its ranks hold.
    struct ItemLists: (ItemList, u64) => Vec<ItemNumber>, "item_lists", MEBIBYTE,
        |_, numbers| size_of_val(&**numbers);
}

/// The numbers of the stories of a list that visitors see in lists, in its order: at most [`LISTED_ITEMS`];
/// of those that are chosen by their titles or topics, at most [`CHOSEN_ITEMS`] of the first
/// [`LOOKED_AT_ITEMS`]. Rounds: 2; none if it is in memory.
pub async fn list(visit: &mut Visit, list: ItemList) -> Result<Shared<Vec<ItemNumber>>> {
    let site = visit.site_too();
    let key = (list, visit.now().0 / RANKS_LAST_SECONDS);
    let flight = match visit.look_up(site.caches.of::<ItemLists>(), &key).await? {
        CacheResult::Hit(numbers) => return Ok(numbers),
        CacheResult::Miss(flight) => flight,
    };
    let (numbers, reads) = site.store.record_reads(read_list(visit, list)).await;
    Ok(flight.finish(visit.view(), Tracked::recorded(numbers?, &reads), None))
}

async fn read_list(visit: &mut Visit, list: ItemList) -> Result<Vec<ItemNumber>> {
    let site = visit.site_too();
    let rules = &site.rules.hacker_news;
    if list == ItemList::Jobs && rules.jobs_topic.0.is_none() {
        return Ok(Vec::new());
    }
    let (source, kind) = (list.source(), list.kind());
    // All that were looked at, or the first of a kind.
    let (looked_at, most) =
        if kind.is_some() { (LOOKED_AT_ITEMS, CHOSEN_ITEMS) } else { (LISTED_ITEMS, usize::MAX) };
    let places = visit.fetch(read::sorted_range(source, Order::Descending, 0, looked_at)).await?;
    let ids: Vec<NewsId> = fields::members(places, source, |(member, _)| match list {
        ItemList::Best => keys::news_of_article(&member),
        _ => member.parse().ok(),
    });
    let stories = ids.iter().copied().map(News::listed_by_id).collect::<Vec<_>>();
    let numbers = items::numbers_of(ids.into_iter().map(Item::Story).collect()).apart();
    let (stories, numbers) = visit.fetch_if_needed((stories, numbers)).await?;
    let nobody = Perspective::default();
    let is_of_kind = |news: &News| kind.is_none_or(|kind| StoryKind::of(rules, news) == Some(kind));
    let is_listed = |news: &News| nobody.sees(news, ShownIn::List) && is_of_kind(news);
    let mut stories: Vec<News> = stories.into_iter().flatten().filter(is_listed).collect();
    if source == keys::NEWS_TOP {
        let (now, ranking) = (visit.now(), &site.rules.ranking);
        stories.sort_by(|one, other| {
            let rank = other.rank(now, ranking).total_cmp(&one.rank(now, ranking));
            rank.then_with(|| Reverse(one.id).cmp(&Reverse(other.id)))
        });
    }
    let numbers = stories.iter().filter_map(|news| numbers.get(&Item::Story(news.id)).copied());
    Ok(numbers.take(most).collect())
}
