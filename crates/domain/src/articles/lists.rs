//! Lists of articles: the best, the newest, and by topic.
//!
//! They are without what the viewer has hidden or muted; see
//! [`listing`]. The two lists of all articles are always exact. The list of a topic is stored for a
//! minute (`topic_lists`), and lists of several topics are made of those of the single
//! topics (`combinations`).

use super::topics::{self, TopicFacts};
use super::{combinations, topic_lists};
use crate::accounts::ShownIn;
use crate::articles::article::Article;
use crate::news::lines::{self, ListedItem, NewsLine};
use crate::news::{hidden, listing};
use crate::values::{MAX_PAGE_NUMBER, Malformed, NewsId, Topic, TopicChoice, read_text};
use crate::{Result, Visit, fields, keys};
use tidings_keyspace::{Fetch, Order, read};

/// The order of a list of articles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArticleOrder {
    /// By article score, the best first.
    Score,
    /// By time, the newest first.
    Time,
}

impl ArticleOrder {
    /// The list of all articles in this order.
    pub(super) const fn all(self) -> &'static str {
        match self {
            Self::Score => keys::ARTICLES_BY_SCORE,
            Self::Time => keys::ARTICLES_BY_TIME,
        }
    }

    /// The list of a topic in this order.
    pub(super) fn of(self, topic: &Topic) -> String {
        match self {
            Self::Score => keys::articles_of_topic_by_score(topic),
            Self::Time => keys::articles_of_topic_by_time(topic),
        }
    }
}

/// A page of a list, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageNumber(u64);

impl PageNumber {
    /// The first page.
    pub const FIRST: Self = Self(1);

    /// The number itself, at least 1.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The part of a list on this page, if each page has `count` articles.
    pub const fn of(self, count: u64) -> ArticlePart {
        ArticlePart { start: (self.0 - 1) * count, count }
    }
}

read_text!(PageNumber or Malformed: |text| {
    let number = text.parse().ok().filter(|number| (1..=MAX_PAGE_NUMBER).contains(number))?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then_some(Self(number))
});

/// An article as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct ArticleLine {
    /// Its number, and that of its news item.
    pub id: NewsId,
    /// Its news item; `None` for an article that a program written for the book has posted.
    pub line: Option<NewsLine>,
    /// The article.
    pub article: Article,
    /// Its score now.
    pub score: f64,
}

/// A part of a list of articles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArticlePart {
    /// The articles before it.
    pub start: u64,
    /// The most articles in it.
    pub count: u64,
}

/// One page of a list of articles.
#[derive(Debug, Default, PartialEq)]
pub struct ArticlePage {
    /// The lines, in order.
    pub lines: Vec<ArticleLine>,
    /// The articles in the whole list.
    pub total: u64,
    /// How many of them flags have hidden from the viewer.
    pub hidden: u64,
    /// How many articles of the page the viewer has hidden or muted. They are not among the
    /// lines, unless the visit asked for them.
    pub unlisted: usize,
    /// The facts on the page of topics; empty for other lists.
    pub about: TopicFacts,
}

/// A page of all articles. Rounds: 3, and 1 if stories wait for a moderator.
pub async fn all(visit: &mut Visit, order: ArticleOrder, part: ArticlePart) -> Result<ArticlePage> {
    let (range, total, waiting) = visit
        .fetch((
            read::sorted_range(order.all(), Order::Descending, part.start, part.count),
            read::sorted_count(order.all()),
            hidden::waiting(),
        ))
        .await?;
    let ids = ids(range.iter(), order.all());
    let (lines, ()) = read_lines(visit, ids, read::known(())).await?;
    let hidden = hidden::among(visit, waiting).await?;
    Ok(ArticlePage { hidden: hidden.len() as u64, ..page_of(visit, lines, total) })
}

/// A page of the articles of some topics. The list of several topics has an end: see
/// `combinations`. Rounds: 3, 1 if stories wait for a moderator, and 1 for all of several large topics; 2 more where the
/// list of a topic has to be built, and 1 for each further one.
///
/// Votes change the order of articles while a list is stored. The stored order decides which
/// articles are on a page; the current scores decide their order there. So until a list is
/// built again, every article is on exactly one page.
///
/// # Errors
/// [`Refusal::NoSuchTopic`](crate::error::Refusal::NoSuchTopic), or the store's.
pub async fn of_topics(
    visit: &mut Visit,
    topics: &TopicChoice,
    order: ArticleOrder,
    part: ArticlePart,
) -> Result<ArticlePage> {
    let (ids, total) = if topics.single().is_some() {
        let lists = topic_lists::read(visit, topics.topics(), order, (part.start, part.count)).await?;
        let names = lists.iter().flat_map(|list| &list.entries);
        (ids(names, order.all()), lists.iter().map(|list| list.total).sum())
    } else {
        part_of(&combinations::list(visit, topics, order).await?, part)
    };
    let also = (TopicFacts::of(topics), hidden::waiting());
    let (mut lines, (about, waiting)) = read_lines(visit, ids, also).await?;
    sort(&mut lines, order);
    let hidden = hidden::among(visit, waiting).await?;
    let of_topics = hidden.iter().filter(|news| topics.has(&news.topics)).count();
    Ok(ArticlePage { about: about(&hidden), hidden: of_topics as u64, ..page_of(visit, lines, total) })
}

/// A page of the articles of the topics that the viewer follows. `None` if there are none, and
/// without a viewer. The list has an end: see `combinations`. Rounds: at most 7; 1 more where
/// the list of a topic has to be built, and 1 for each further one.
pub async fn of_followed(
    visit: &mut Visit,
    order: ArticleOrder,
    part: ArticlePart,
) -> Result<Option<ArticlePage>> {
    let Some(reader) = visit.reader().await? else { return Ok(None) };
    // A followed topic may have been merged into another.
    let topics = topics::existing(visit, &reader.followed).await?;
    if topics.is_empty() {
        return Ok(None);
    }
    let (ids, total) = part_of(&combinations::of_any(visit, &topics, order).await?, part);
    let (mut lines, ()) = read_lines(visit, ids, read::known(())).await?;
    sort(&mut lines, order);
    Ok(Some(page_of(visit, lines, total)))
}

/// A page of a whole list, and the length of the list.
fn part_of(list: &[NewsId], part: ArticlePart) -> (Vec<NewsId>, u64) {
    let [start, count] = [part.start, part.count].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let total = u64::try_from(list.len()).unwrap_or(u64::MAX);
    (list.iter().skip(start).take(count).copied().collect(), total)
}

/// Puts the articles of a page in the order of their current scores, ties as Redis lists them from the
/// highest: `article:9` before `article:10`.
fn sort(lines: &mut [ArticleLine], order: ArticleOrder) {
    if order == ArticleOrder::Score {
        let name = |line: &ArticleLine| keys::article(line.id);
        lines.sort_by(|left, right| {
            right.score.total_cmp(&left.score).then_with(|| name(right).cmp(&name(left)))
        });
    }
}

/// A page without what its viewer does not want listed.
fn page_of(visit: &Visit, mut lines: Vec<ArticleLine>, total: u64) -> ArticlePage {
    let unlisted = listing::keep(visit, &mut lines, |line| line.line.as_ref(), ShownIn::List);
    ArticlePage { lines, total, hidden: 0, unlisted, about: TopicFacts::default() }
}

/// The numbers of the articles in a list of names and scores, which was made of `key`.
fn ids<'a>(entries: impl Iterator<Item = &'a (String, f64)>, key: &str) -> Vec<NewsId> {
    fields::members(entries, key, |(name, _)| keys::news_of_article(name))
}

/// Reads articles in the order given, without those that are missing or whose news are
/// deleted. An article without a news item is another program's. The first round also fetches something else.
/// Rounds: 2.
async fn read_lines<F: Fetch>(
    visit: &mut Visit,
    ids: Vec<NewsId>,
    also: F,
) -> Result<(Vec<ArticleLine>, F::Value)> {
    let scores = read::scores(keys::ARTICLES_BY_SCORE, ids.iter().map(|id| keys::article(*id)));
    let article = |id: &NewsId| {
        let id = *id;
        read::hash(keys::article(id)).or_absent().map(move |hash| Article::from_hash(id, &hash))
    };
    let articles = ids.iter().map(article).collect::<Vec<_>>();
    let items = ListedItem::of_list(&visit.shared(), &ids);
    let (scores, articles, found, also) = visit.fetch((scores, articles, items, also)).await?;
    let found = found.into_iter().map(Result::ok);
    let (mut lines, mut items) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
    for (((id, item), article), score) in ids.into_iter().zip(found).zip(articles).zip(scores) {
        let Some(article) = article else { continue };
        if item.as_ref().is_some_and(|item| !item.news().state().is_listed()) {
            continue;
        }
        let score = score.unwrap_or_else(|| article.score());
        lines.push((item.is_some(), ArticleLine { id, line: None, article, score }));
        items.extend(item);
    }
    let mut completed = lines::complete(visit, items).await?.into_iter();
    let complete = |(has_news, line): (bool, ArticleLine)| {
        let news = if has_news { completed.next() } else { None };
        ArticleLine { line: news, ..line }
    };
    Ok((lines.into_iter().map(complete).collect(), also))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_count_from_one() {
        for (text, start) in [("1", 0), ("2", 25), ("41", 1000)] {
            let part = text.parse().map(|page: PageNumber| page.of(25));
            assert_eq!(part, Ok(ArticlePart { start, count: 25 }));
        }
        for text in ["", "0", "-1", "+1", "1.0", "1 ", "x", "1000000001", "99999999999999999999"] {
            assert_eq!(text.parse::<PageNumber>(), Err(Malformed), "{text:?}");
        }
    }
}
