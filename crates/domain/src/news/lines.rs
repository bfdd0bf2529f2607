//! News as listed: with the author's name and the score of the site; and for the viewer the
//! own vote and the number of new comments.

use super::item::{Direction, News};
use super::listing::{self, Marks};
use super::visits::ReaderMarks;
use super::voters::OwnVotesRead;
use crate::accounts::{Perspective, Reader, SharedVisit, UserNames};
use crate::cache::{MEBIBYTE, Shared};
use crate::sites::{Score, SiteVotes};
use crate::values::{Hostname, NewsId, SiteMarks};
use crate::{Result, Site, Visit};
use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;
use tidings_keyspace::{Fetch, KnownOr, Reads, Tracked};

crate::cache_kind! {
    /// News in lists, the same for all viewers.
    struct Summaries: NewsId => NewsSummary, "news", 2 * MEBIBYTE, |_, summary| summary.size();
}

/// An item in a list, the same for all viewers.
#[derive(Debug, Clone, PartialEq)]
pub struct NewsSummary {
    /// The item.
    pub news: Arc<News>,
    /// The author's name; `None` for a deactivated account.
    pub username: Option<Arc<str>>,
    /// The score of the site that it links to, if the site is marked.
    pub site_score: Score,
}

impl NewsSummary {
    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.news.size()
    }
}

/// An item as the viewer sees it in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct NewsLine {
    /// The summary, the same for all viewers.
    pub summary: Shared<NewsSummary>,
    /// The viewer's own vote.
    pub my_vote: Option<Direction>,
    /// The viewer's other marks on it.
    pub marks: Marks,
    /// How many comments are new since the viewer's last visit of the thread; 0 if there was
    /// none.
    pub new_comments: u64,
}

impl Deref for NewsLine {
    type Target = NewsSummary;

    fn deref(&self) -> &NewsSummary {
        &self.summary
    }
}

/// An item of a list: its summary is cached, or must be made from the news item.
pub(crate) enum ListedItem {
    Cached(Shared<NewsSummary>),
    Read(Tracked<Arc<News>>),
}

impl ListedItem {
    pub(crate) fn news(&self) -> &News {
        match self {
            Self::Cached(summary) => &summary.news,
            Self::Read(news) => news.peek(),
        }
    }

    /// The item with an id; if there is none, what was read to learn that.
    pub(crate) fn with_id(
        visit: &SharedVisit<'_>,
        id: NewsId,
    ) -> KnownOr<impl Fetch<Value = Result<Self, Reads>> + use<>> {
        match visit.site().caches.of::<Summaries>().get(visit.view(), &id) {
            Some(summary) => KnownOr::Known(Ok(Self::Cached(summary))),
            None => KnownOr::Read(News::by_id(id).tracked().map(|news| {
                let mut reads = Reads::default();
                if news.peek().is_none() {
                    news.collect_into(&mut reads);
                    return Err(reads);
                }
                news.transpose().map(|news| Self::Read(news.map(Arc::new))).ok_or(reads)
            })),
        }
    }

    /// The items of a list, each as [`ListedItem::with_id`]. One that cannot be read counts as absent.
    pub(crate) fn of_list(
        visit: &SharedVisit<'_>,
        ids: &[NewsId],
    ) -> impl Fetch<Value = Vec<Result<Self, Reads>>> + use<> {
        ids.iter().map(|id| Self::with_id(visit, *id).or_absent()).collect::<Vec<_>>()
    }
}

/// The summaries of items, with the names and scores that they need.
pub(crate) fn summaries(
    visit: &SharedVisit<'_>,
    items: Vec<ListedItem>,
) -> impl Fetch<Value = Vec<Shared<NewsSummary>>> + use<> {
    let missing = || items.iter().filter(|item| matches!(item, ListedItem::Read(_))).map(ListedItem::news);
    let names = UserNames::of(visit, missing().map(|news| news.user_id).collect());
    let site = visit.site_too();
    let marks = if site.rules.features.sites { site.rules.sites.marks } else { SiteMarks::None };
    let scored = missing().filter(|_| marks != SiteMarks::None).filter_map(scored_site);
    let scores = site_scores(&site, scored.cloned().collect());
    let keep = visit.keeper::<Summaries>();
    (names, scores).map(move |(names, scores)| {
        let summary = |item| match item {
            ListedItem::Cached(summary) => summary,
            ListedItem::Read(news) => {
                let mut reads = Reads::default();
                let news = news.collect_into(&mut reads);
                let username = names.collect_into(news.user_id, &mut reads);
                let site_score = match scored_site(&news).and_then(|site| scores.get(site)) {
                    Some(score) => score.clone().collect_into(&mut reads),
                    None => Score::default(),
                };
                let is_marked = site_score == Score::Bad || marks == SiteMarks::All;
                let site_score = if is_marked { site_score } else { Score::default() };
                let (id, summary) = (news.id, NewsSummary { news, username, site_score });
                keep(id, Tracked::new(summary, reads))
            }
        };
        items.into_iter().map(summary).collect()
    })
}

/// The site whose score an item shows.
fn scored_site(news: &News) -> Option<&Hostname> {
    news.site().filter(|_| news.state().is_open())
}

/// The scores of sites.
fn site_scores(
    site: &Arc<Site>,
    hosts: HashSet<Hostname>,
) -> impl Fetch<Value = HashMap<Hostname, Tracked<Score>>> + use<> {
    let score = |host: Hostname| {
        let site = site.clone();
        let votes = SiteVotes::of_site(&host).or_absent().tracked();
        votes.map(move |votes| (host, votes.map(|votes| votes.score(&site.rules.limits))))
    };
    hosts.into_iter().map(score).collect::<Vec<_>>().map(|scores| scores.into_iter().collect())
}

/// Reads the summaries of items, and what only the viewer sees of them. Rounds: 1, and another
/// for own votes if an item turns out to have very many votes.
pub(crate) async fn complete(visit: &mut Visit, items: Vec<ListedItem>) -> Result<Vec<NewsLine>> {
    let (summaries, own) = complete_shared(visit, items).await?;
    Ok(mark(summaries, own))
}

/// The same, with the summaries separate from what is the viewer's own.
pub(crate) async fn complete_shared(
    visit: &mut Visit,
    items: Vec<ListedItem>,
) -> Result<(Vec<Shared<NewsSummary>>, Own)> {
    let site = visit.site_too();
    let ids: Vec<NewsId> = items.iter().map(|item| item.news().id).collect();
    let own = OwnRead::of(&site, visit, ids.into_iter());
    let summaries = summaries(&visit.shared(), items);
    let (summaries, own) = visit.fetch((summaries, own)).await?;
    Ok((summaries, own.finish(visit).await?))
}

/// The viewer's own data about some items: the votes, in the order of the items, the choices that
/// decide the other marks, and how far the threads were read.
#[derive(Default)]
pub(crate) struct Own {
    votes: Vec<Option<Direction>>,
    reader: Option<Shared<Reader>>,
    /// Whether the visit asks for what is hidden.
    shows_all: bool,
    pub(crate) marks: ReaderMarks,
}

/// The viewer's own votes and marks, as they were read.
pub(crate) struct OwnRead {
    votes: OwnVotesRead,
    marks: ReaderMarks,
}

impl OwnRead {
    /// Reads what is not cached. The viewer must be identified already. The viewer's
    /// choices come with the round.
    pub(crate) fn of<'a, I: Iterator<Item = NewsId>>(
        site: &'a Site,
        visit: &mut Visit,
        ids: I,
    ) -> impl Fetch<Value = Self> + use<'a, I> {
        visit.want_reader();
        let own = (OwnVotesRead::of(site, visit, ids), ReaderMarks::of_viewer(visit));
        own.map(|(votes, marks)| Self { votes, marks })
    }

    /// The viewer's own data. Rounds: those of [`OwnVotesRead::finish`].
    pub(crate) async fn finish(self, visit: &mut Visit) -> Result<Own> {
        let votes = self.votes.finish(visit).await?;
        let reader = visit.reader().await?;
        Ok(Own { votes, reader, shows_all: visit.shows_hidden(), marks: self.marks })
    }
}

/// Reads the viewer's own data about some items. Rounds: at most 3 for a viewer, none for others.
pub(crate) async fn own(visit: &mut Visit, ids: impl Iterator<Item = NewsId>) -> Result<Own> {
    if visit.identify().await?.is_none() {
        return Ok(Own { votes: ids.map(|_| None).collect(), ..Own::default() });
    }
    let site = visit.site_too();
    let own = OwnRead::of(&site, visit, ids);
    visit.fetch(own).await?.finish(visit).await
}

/// Combines summaries with what is the viewer's own, in the same order.
pub(crate) fn mark(summaries: impl IntoIterator<Item = Shared<NewsSummary>>, own: Own) -> Vec<NewsLine> {
    let Own { votes, reader, shows_all, marks: read } = own;
    let perspective = Perspective { reader: reader.as_deref(), shows_all };
    let line = |(summary, my_vote): (Shared<NewsSummary>, _)| {
        let new_comments = read.new_comments(&summary.news);
        let marks = listing::marks(perspective, &summary.news);
        NewsLine { summary, my_vote, marks, new_comments }
    };
    summaries.into_iter().zip(votes).map(line).collect()
}

/// Reads items, without those that do not exist. Rounds: 1.
pub(crate) async fn find(
    visit: &mut SharedVisit<'_>,
    ids: &[NewsId],
    reads: &mut Reads,
) -> Result<Vec<ListedItem>> {
    let items = ListedItem::of_list(visit, ids);
    let found = |item: Result<_, _>| item.map_err(|absent| reads.append(absent)).ok();
    Ok(visit.fetch(items).await?.into_iter().filter_map(found).collect())
}

/// Reads the item that a page is about, if it exists. Rounds: 1.
pub(crate) async fn find_one(visit: &mut SharedVisit<'_>, id: NewsId) -> Result<Option<ListedItem>> {
    let item = ListedItem::with_id(visit, id);
    Ok(visit.fetch(item).await?.ok())
}
