//! News as listed: with the author's name and the score of the site; and for the viewer the
//! own vote and the number of new comments.

use super::item::{Direction, News};
use super::listing::{self, Marks};
use super::visits::{MarksRead, ReaderMarks};
use super::voters::OwnVotesRead;
use crate::accounts::people::UserNamesRead;
use crate::accounts::reader::{Perspective, Reader};
use crate::accounts::visit::{SharedVisit, Visit};
use crate::cache::{MEBIBYTE, Shared};
use crate::error::Error;
use crate::keys;
use crate::site::Site;
use crate::sites::{Score, SiteVotesRead, TrackedSiteVotesRead};
use crate::values::hostname::Hostname;
use crate::values::ids::NewsId;
use crate::values::rules::LimitRules;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use tidings_keyspace::{Answers, Handle, Query, Reads, Tracked, TrackedHandle};

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
    /// The score of the site that it links to.
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
}

/// Pending reads of items: of those that are not cached.
pub(crate) struct ItemsRead(Vec<ItemRead>);

type FieldsHandle = Handle<Vec<Option<String>>>;

enum ItemRead {
    Cached(Shared<NewsSummary>),
    Asked(TrackedHandle<Vec<Option<String>>>),
}

impl ItemsRead {
    /// Asks for the items of a list. One that cannot be read counts as absent.
    pub(crate) fn ask(visit: &SharedVisit<'_>, query: &mut Query, ids: &[NewsId]) -> Self {
        let mut ask =
            |id: &NewsId| Self::ask_item(visit, query, *id, |fields, query| fields.or_absent(query));
        Self(ids.iter().map(&mut ask).collect())
    }

    /// Asks for the item that a page is about. The round fails if it cannot be read.
    pub(crate) fn ask_one(visit: &SharedVisit<'_>, query: &mut Query, id: NewsId) -> Self {
        Self(vec![Self::ask_item(visit, query, id, |fields, _| fields)])
    }

    fn ask_item(
        visit: &SharedVisit<'_>,
        query: &mut Query,
        id: NewsId,
        prepared: impl FnOnce(FieldsHandle, &mut Query) -> FieldsHandle,
    ) -> ItemRead {
        match visit.site().caches.of::<Summaries>().get(visit.view(), &id) {
            Some(summary) => ItemRead::Cached(summary),
            None => {
                let fields = query.hash_fields(keys::news(id), News::FIELDS);
                let fields = prepared(fields, query);
                ItemRead::Asked(query.track(fields))
            }
        }
    }

    /// The items that are cached.
    pub(crate) fn cached(&self) -> impl Iterator<Item = &News> {
        self.0.iter().filter_map(|read| match read {
            ItemRead::Cached(summary) => Some(&*summary.news),
            ItemRead::Asked(_) => None,
        })
    }

    /// The items in the order asked; `None` for one that does not exist. The reads that
    /// found nothing are added to `absent`.
    pub(crate) fn take(self, answers: &mut Answers, absent: &mut Reads) -> Vec<Option<ListedItem>> {
        let mut take = |read| match read {
            ItemRead::Cached(summary) => Some(ListedItem::Cached(summary)),
            ItemRead::Asked(fields) => {
                let news = answers.take_tracked(fields).map(News::from_fields);
                if news.peek().is_none() {
                    news.collect_into(absent);
                    return None;
                }
                Some(ListedItem::Read(news.transpose()?.map(Arc::new)))
            }
        };
        self.0.into_iter().map(&mut take).collect()
    }
}

/// Pending reads of the names and scores that summaries of items need.
pub(crate) struct SummariesRead {
    items: Vec<ListedItem>,
    names: UserNamesRead,
    scores: SiteScoresRead,
}

impl SummariesRead {
    pub(crate) fn ask(visit: &SharedVisit<'_>, query: &mut Query, items: Vec<ListedItem>) -> Self {
        let read = || items.iter().filter(|item| matches!(item, ListedItem::Read(_))).map(ListedItem::news);
        let names = UserNamesRead::ask(visit, query, read().map(|news| news.user_id));
        let scored = read().filter(|_| visit.site().rules.features.sites);
        let scores = SiteScoresRead::ask(query, scored);
        Self { items, names, scores }
    }

    /// The summaries of the items.
    pub(crate) fn take(self, visit: &SharedVisit<'_>, answers: &mut Answers) -> Vec<Shared<NewsSummary>> {
        let Self { items, names, scores } = self;
        let (names, scores) = (names.take(visit, answers), scores.take(answers, &visit.site().rules.limits));
        let cache = visit.site().caches.of::<Summaries>();
        let summary = |item| match item {
            ListedItem::Cached(summary) => summary,
            ListedItem::Read(news) => {
                let mut reads = Reads::default();
                let news = news.collect_into(&mut reads);
                let username = names.collect_into(news.user_id, &mut reads);
                let site_score = match scores.get(&news.id) {
                    Some(score) => score.clone().collect_into(&mut reads),
                    None => Score::default(),
                };
                let (id, summary) = (news.id, NewsSummary { news, username, site_score });
                cache.insert(visit.view(), id, Tracked::new(summary, reads), None)
            }
        };
        items.into_iter().map(summary).collect()
    }
}

/// Reads the summaries of items, and what only the viewer sees of them. Rounds: 1, and another
/// for own votes if an item turns out to have very many votes.
pub(crate) async fn complete(visit: &mut Visit, items: Vec<ListedItem>) -> Result<Vec<NewsLine>, Error> {
    let (summaries, own) = complete_shared(visit, items).await?;
    Ok(mark(summaries, own))
}

/// The same, with the summaries separate from what is the viewer's own.
pub(crate) async fn complete_shared(
    visit: &mut Visit,
    items: Vec<ListedItem>,
) -> Result<(Vec<Shared<NewsSummary>>, Own), Error> {
    let site = visit.site_too();
    let ids: Vec<NewsId> = items.iter().map(|item| item.news().id).collect();
    let mut query = Query::new();
    let summaries = SummariesRead::ask(&visit.shared(), &mut query, items);
    let own = OwnRead::ask(&site, visit, &mut query, ids.into_iter());
    let mut answers = visit.run(query).await?;
    let summaries = summaries.take(&visit.shared(), &mut answers);
    Ok((summaries, own.take(visit, &mut answers).await?))
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

/// Pending reads of what is the viewer's own.
pub(crate) struct OwnRead<'a> {
    votes: OwnVotesRead<'a>,
    marks: MarksRead,
}

impl<'a> OwnRead<'a> {
    /// Asks for what is not cached. The viewer must be identified already. The viewer's
    /// choices come with the round.
    pub(crate) fn ask(
        site: &'a Site,
        visit: &mut Visit,
        query: &mut Query,
        ids: impl Iterator<Item = NewsId>,
    ) -> Self {
        visit.want_reader();
        let marks = MarksRead::ask(visit, query);
        Self { votes: OwnVotesRead::ask(site.caches.of(), visit, query, ids), marks }
    }

    /// Takes the answers. Rounds: those of [`OwnVotesRead::take`].
    pub(crate) async fn take(self, visit: &mut Visit, answers: &mut Answers) -> Result<Own, Error> {
        let marks = self.marks.take(visit, answers);
        let votes = self.votes.take(visit, answers).await?;
        let reader = visit.reader().await?;
        Ok(Own { votes, reader, shows_all: visit.shows_hidden(), marks })
    }
}

/// Reads the viewer's own data about some items. Rounds: at most 3 for a viewer, none for others.
pub(crate) async fn own(visit: &mut Visit, ids: impl Iterator<Item = NewsId>) -> Result<Own, Error> {
    if visit.identify().await?.is_none() {
        return Ok(Own { votes: ids.map(|_| None).collect(), ..Own::default() });
    }
    let site = visit.site_too();
    let mut query = Query::new();
    let own = OwnRead::ask(&site, visit, &mut query, ids);
    let mut answers = visit.run(query).await?;
    own.take(visit, &mut answers).await
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
) -> Result<Vec<ListedItem>, Error> {
    let mut query = Query::new();
    let items = ItemsRead::ask(visit, &mut query, ids);
    let mut answers = visit.run(query).await?;
    Ok(items.take(&mut answers, reads).into_iter().flatten().collect())
}

/// Reads the item that a page is about, if it exists. Rounds: 1.
pub(crate) async fn find_one(visit: &mut SharedVisit<'_>, id: NewsId) -> Result<Option<ListedItem>, Error> {
    let mut query = Query::new();
    let item = ItemsRead::ask_one(visit, &mut query, id);
    let mut answers = visit.run(query).await?;
    Ok(item.take(&mut answers, &mut Reads::default()).into_iter().flatten().next())
}

/// Pending reads of the scores of the sites that items link to: one for each different
/// site.
struct SiteScoresRead(HashMap<Hostname, (TrackedSiteVotesRead, Vec<NewsId>)>);

impl SiteScoresRead {
    fn ask<'a>(query: &mut Query, items: impl Iterator<Item = &'a News>) -> Self {
        let mut reads: HashMap<Hostname, (TrackedSiteVotesRead, Vec<NewsId>)> = HashMap::new();
        for news in items.filter(|news| !news.is_gone()) {
            if let Some(host) = news.site() {
                let read = reads.entry(host.clone());
                let (_, items) = read.or_insert_with(|| {
                    (SiteVotesRead::of_site(query, host).or_absent(query).track(query), Vec::new())
                });
                items.push(news.id);
            }
        }
        Self(reads)
    }

    fn take(self, answers: &mut Answers, limits: &LimitRules) -> HashMap<NewsId, Tracked<Score>> {
        let mut scores = HashMap::new();
        for (host, (read, items)) in self.0 {
            let score = read.take(answers, host).map(|votes| votes.score(limits));
            scores.extend(items.into_iter().map(|news| (news, score.clone())));
        }
        scores
    }
}
