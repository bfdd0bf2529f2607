//! Lists of articles: the best, the newest, and by topic.
//!
//! The two lists of all articles are always exact. A list of topics is derived
//! from the groups of its topics and one of the two. It expires after
//! [`TOPIC_LIST_SECONDS`]; the next reader builds it again.

use crate::accounts::visit::Visit;
use crate::articles::article::Article;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::lines::{self, ItemsRead, ListedItem, NewsLine};
use crate::site::Site;
use crate::values::ids::NewsId;
use crate::values::limits::{ARTICLES_PER_PAGE, MAX_PAGE_NUMBER, TOPIC_LIST_SECONDS};
use crate::values::topic::{Topic, TopicChoice};
use std::time::Duration;
use tidings_keyspace::{Batch, Order, Query, Reads, Selection};

/// What a list of articles is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArticleOrder {
    /// By article score, the best first.
    Score,
    /// By time, the newest first.
    Time,
}

impl ArticleOrder {
    /// The list of all articles in this order.
    const fn all(self) -> &'static str {
        match self {
            Self::Score => keys::ARTICLES_BY_SCORE,
            Self::Time => keys::ARTICLES_BY_TIME,
        }
    }

    /// The list of some topics in this order.
    fn of(self, topics: &TopicChoice) -> String {
        match self {
            Self::Score => keys::articles_of_topics_by_score(&topics.to_string()),
            Self::Time => keys::articles_of_topics_by_time(&topics.to_string()),
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
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How many articles come before the page.
    #[must_use]
    pub const fn start(self) -> u64 {
        (self.0 - 1) * ARTICLES_PER_PAGE
    }
}

/// The text is not a page number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the number of a page")]
pub struct NotAPage;

impl std::str::FromStr for PageNumber {
    type Err = NotAPage;

    fn from_str(text: &str) -> Result<Self, NotAPage> {
        match text.parse() {
            Ok(number)
                if (1..=MAX_PAGE_NUMBER).contains(&number) && text.bytes().all(|b| b.is_ascii_digit()) =>
            {
                Ok(Self(number))
            }
            _ => Err(NotAPage),
        }
    }
}

/// An article as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct ArticleLine {
    /// Its news item.
    pub line: NewsLine,
    /// The article.
    pub article: Article,
    /// Its score now.
    pub score: f64,
}

/// One page of a list of articles.
#[derive(Debug, Default, PartialEq)]
pub struct ArticlePage {
    /// The lines, in order.
    pub lines: Vec<ArticleLine>,
    /// The articles in the whole list.
    pub total: u64,
}

/// A page of all articles. Rounds: 3.
///
/// # Errors
/// When the store fails.
pub async fn all(visit: &mut Visit, order: ArticleOrder, page: PageNumber) -> Result<ArticlePage, Error> {
    let mut query = Query::new();
    let range = query.sorted_range(order.all(), Order::Descending, page.start(), ARTICLES_PER_PAGE);
    let total = query.sorted_count(order.all());
    let mut answers = visit.run(query).await?;
    let names = answers.take(range).into_iter().map(|(name, _)| name).collect();
    let total = answers.take(total);
    Ok(ArticlePage { lines: read_lines(visit, names).await?, total })
}

/// A page of the articles of some topics. Rounds: 3; 5 where the list has to
/// be built.
///
/// # Errors
/// [`Refusal::NoSuchTopic`], or the store's.
pub async fn of_topics(
    visit: &mut Visit,
    topics: &TopicChoice,
    order: ArticleOrder,
    page: PageNumber,
) -> Result<ArticlePage, Error> {
    let mut list = read_list(visit, topics, order, page).await?;
    if !list.is_built {
        build(visit.site(), topics, order).await?;
        list = read_list(visit, topics, order, page).await?;
    }
    let mut lines = read_lines(visit, list.names).await?;
    if order == ArticleOrder::Score {
        // The stored order may be a little old, but the scores are current.
        lines.sort_by(|left, right| {
            right.score.total_cmp(&left.score).then_with(|| right.line.news.id.cmp(&left.line.news.id))
        });
    }
    Ok(ArticlePage { lines, total: list.total })
}

/// A page of a list of topics as stored.
struct TopicListPage {
    names: Vec<String>,
    total: u64,
    is_built: bool,
}

async fn read_list(
    visit: &mut Visit,
    topics: &TopicChoice,
    order: ArticleOrder,
    page: PageNumber,
) -> Result<TopicListPage, Error> {
    let key = order.of(topics);
    let mut query = Query::new();
    let known = query.scores(keys::TOPICS, topics.topics().iter().map(Topic::as_str));
    let range = query.sorted_range(&key, Order::Descending, page.start(), ARTICLES_PER_PAGE);
    let total = query.sorted_count(&key);
    let built = query.string(keys::built(&key));
    let mut answers = visit.run(query).await?;
    let known = answers.take(known);
    if let Some((unknown, _)) = topics.topics().iter().zip(known).find(|(_, articles)| articles.is_none()) {
        return Err(Refusal::NoSuchTopic(unknown.to_string()).into());
    }
    let total = answers.take(total);
    Ok(TopicListPage {
        names: answers.take(range).into_iter().map(|(name, _)| name).collect(),
        total,
        // A program written for the book builds lists without our mark.
        is_built: total > 0 || answers.take(built).is_some(),
    })
}

/// Builds a list of topics, unless another reader has just done so. Lists are built one at a
/// time, so that other actions come in between. Rounds: 1.
async fn build(site: &Site, topics: &TopicChoice, order: ArticleOrder) -> Result<(), Error> {
    let key = order.of(topics);
    let built = keys::built(&key);
    let life = Duration::from_secs(TOPIC_LIST_SECONDS);
    let mut batch = Batch::new();
    batch.key_absent(&key);
    batch.key_absent(&built);
    let selection = Selection {
        scores: order.all().to_owned(),
        sets: topics.topics().iter().map(keys::group).collect(),
        within: topics.within(),
    };
    batch.sorted_store(&key, selection);
    batch.expire(key, life);
    batch.set_expiring(built, "1", life);
    let _turn = site.building.lock().await;
    site.apply(batch).await?;
    Ok(())
}

/// Reads articles by their names, in the order given, without those that are missing or
/// deleted. Rounds: 2.
async fn read_lines(visit: &mut Visit, names: Vec<String>) -> Result<Vec<ArticleLine>, Error> {
    let mut query = Query::new();
    let ids: Vec<NewsId> = names.iter().filter_map(|name| keys::news_of_article(name)).collect();
    let scores = query.scores(keys::ARTICLES_BY_SCORE, ids.iter().map(|id| keys::article(*id)));
    let articles: Vec<_> = ids.iter().map(|id| query.hash(keys::article(*id))).collect();
    let items = ItemsRead::ask(&visit.shared(), &mut query, &ids);
    let mut answers = visit.run(query).await?;
    let scores = answers.take(scores);
    let article = |(id, hash): (&NewsId, _)| Article::from_hash(*id, &answers.take(hash));
    let articles: Vec<_> = ids.iter().zip(articles).map(article).collect();
    let listed = items.take(&mut answers, &mut Reads::default()).into_iter().zip(articles).zip(scores);
    let listed = listed.filter_map(|((item, article), score)| {
        let (item, article) = (item.filter(|item| !item.news().deleted)?, article?);
        let score = score.unwrap_or_else(|| article.score());
        Some((item, (article, score)))
    });
    let (items, articles): (Vec<ListedItem>, Vec<_>) = listed.unzip();
    let lines = lines::complete(visit, items).await?.into_iter().zip(articles);
    Ok(lines.map(|(line, (article, score))| ArticleLine { line, article, score }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_count_from_one() {
        for (text, start) in [("1", 0), ("2", 25), ("41", 1000)] {
            assert_eq!(text.parse().map(PageNumber::start), Ok(start));
        }
        for text in ["", "0", "-1", "+1", "1.0", "1 ", "x", "1000000001", "99999999999999999999"] {
            assert_eq!(text.parse::<PageNumber>(), Err(NotAPage), "{text:?}");
        }
    }
}
