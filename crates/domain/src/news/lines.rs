//! Items as they are listed: with the author's name, the score of the site, and
//! the viewer's own vote.

use crate::accounts::users::{self, UsernameReads};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::news::item::{Direction, News};
use crate::news::voters::OwnVotesRead;
use crate::shown::Shown;
use crate::sites::{Score, TOTALS, TotalsRead};
use crate::values::hostname::Hostname;
use crate::values::ids::NewsId;
use std::collections::HashMap;
use std::sync::Arc;
use tidings_keyspace::{Answers, Footprint, Handle, Part, Query};

/// Bytes of an item as it is shown, without its texts and with what is escaped in them.
const SHOWN: usize = 800;

/// An item as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewsLine {
    /// The item.
    pub news: Arc<News>,
    /// The author's name; `None` when the account is gone.
    pub username: Option<Arc<str>>,
    /// The viewer's own vote.
    pub my_vote: Option<Direction>,
    /// The score of the site that it links to.
    pub site_score: Score,
    /// What is shown of it to everybody alike.
    pub shown: Arc<Shown>,
}

impl NewsLine {
    /// The same as nobody in particular sees it.
    pub(crate) fn of_nobody(&self) -> Self {
        Self { my_vote: None, ..self.clone() }
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.news.size() + room(&self.news)
    }
}

/// Bytes for an item as it is shown.
fn room(news: &News) -> usize {
    SHOWN + news.listed_len()
}

/// An item, with what belongs to it or yet without.
pub(crate) enum Item {
    Kept(NewsLine),
    Read(Arc<News>, Footprint),
}

impl Item {
    pub(crate) fn news(&self) -> &News {
        match self {
            Self::Kept(line) => &line.news,
            Self::Read(news, _) => news,
        }
    }
}

/// Items on their way: those that are not kept.
pub(crate) struct ItemsRead(Vec<ItemRead>);

enum ItemRead {
    Kept(NewsLine),
    Asked(Handle<Vec<Option<String>>>, Footprint),
}

impl ItemsRead {
    pub(crate) fn ask(visit: &Visit, query: &mut Query, ids: &[NewsId]) -> Self {
        let site = visit.site();
        let mut read = |id: &NewsId| match site.kept.news.get(visit, id) {
            Some(line) => ItemRead::Kept(line),
            None => {
                let key = keys::news(*id);
                let footprint = site.store.footprint_of([Part::Key(&key)]);
                ItemRead::Asked(query.hash_fields(key, News::FIELDS), footprint)
            }
        };
        Self(ids.iter().map(&mut read).collect())
    }

    /// The items in the order asked; `None` stands for one that does not exist.
    pub(crate) fn take(self, answers: &mut Answers) -> Vec<Option<Item>> {
        let mut item = |read| match read {
            ItemRead::Kept(line) => Some(Item::Kept(line)),
            ItemRead::Asked(fields, footprint) => {
                Some(Item::Read(News::from_fields(answers.take(fields))?.into(), footprint))
            }
        };
        self.0.into_iter().map(&mut item).collect()
    }
}

/// What belongs to items on its way, and the viewer's own votes.
pub(crate) struct LinesRead {
    items: Vec<Item>,
    names: UsernameReads,
    scores: SiteScoresRead,
    own: OwnVotesRead,
}

impl LinesRead {
    pub(crate) fn ask(visit: &Visit, query: &mut Query, items: Vec<Item>) -> Self {
        let site = visit.site();
        let note = |item| match item {
            Item::Kept(line) => Item::Kept(line),
            Item::Read(news, footprint) => {
                // Noted before names and scores are read, or found kept.
                let (author, link) = (keys::user(news.user_id), news.site().map(keys::link));
                let link = link.as_deref().map(|link| Part::Fields(link, &TOTALS));
                let parts = [Some(Part::Fields(&author, &users::NAMES)), link].into_iter().flatten();
                let footprint = footprint.and(site.store.footprint_of(parts));
                Item::Read(news, footprint)
            }
        };
        let items: Vec<Item> = items.into_iter().map(note).collect();
        let read = || items.iter().filter(|item| matches!(item, Item::Read(..))).map(Item::news);
        let names = users::read_usernames(visit, query, read().map(|news| news.user_id));
        let scores = SiteScoresRead::ask(query, read());
        let own = OwnVotesRead::ask(visit, query, items.iter().map(|item| item.news().id));
        Self { items, names, scores, own }
    }

    /// The items as they are listed. Rounds: none, or 1 for own votes where an
    /// item turned out to have very many.
    pub(crate) async fn take(self, visit: &mut Visit, answers: &mut Answers) -> Result<Vec<NewsLine>, Error> {
        let Self { items, names, scores, own } = self;
        let (names, scores) = (names.take(visit, answers), scores.take(answers));
        let own = own.take(visit, answers).await?;
        let site = visit.site();
        let line = |item| match item {
            Item::Kept(line) => line,
            Item::Read(news, footprint) => {
                let line = NewsLine {
                    username: names.get(&news.user_id).cloned(),
                    site_score: scores.get(&news.id).copied().unwrap_or_default(),
                    shown: Arc::new(Shown::with_room(room(&news))),
                    news,
                    my_vote: None,
                };
                site.kept.news.put(visit, line.news.id, line.clone(), footprint, None);
                line
            }
        };
        let lines = items.into_iter().map(line).zip(own);
        Ok(lines.map(|(line, my_vote)| NewsLine { my_vote, ..line }).collect())
    }
}

/// Reads what belongs to items. Rounds: 1.
pub(crate) async fn complete(visit: &mut Visit, items: Vec<Item>) -> Result<Vec<NewsLine>, Error> {
    let mut query = Query::new();
    let lines = LinesRead::ask(visit, &mut query, items);
    let mut answers = visit.run(query).await?;
    lines.take(visit, &mut answers).await
}

/// Reads items, without those that do not exist. Rounds: 1.
pub(crate) async fn find(visit: &mut Visit, ids: &[NewsId]) -> Result<Vec<Item>, Error> {
    let mut query = Query::new();
    let items = ItemsRead::ask(visit, &mut query, ids);
    let mut answers = visit.run(query).await?;
    Ok(items.take(&mut answers).into_iter().flatten().collect())
}

/// The scores of the sites that items link to on their way, one read for each
/// different site.
struct SiteScoresRead(HashMap<Hostname, (TotalsRead, Vec<NewsId>)>);

impl SiteScoresRead {
    fn ask<'a>(query: &mut Query, items: impl Iterator<Item = &'a News>) -> Self {
        let mut reads: HashMap<Hostname, (TotalsRead, Vec<NewsId>)> = HashMap::new();
        for news in items.filter(|news| !news.deleted) {
            if let Some(host) = news.site() {
                let read = reads.entry(host.clone());
                let (_, items) = read.or_insert_with(|| (TotalsRead::ask(query, host), Vec::new()));
                items.push(news.id);
            }
        }
        Self(reads)
    }

    fn take(self, answers: &mut Answers) -> HashMap<NewsId, Score> {
        let mut scores = HashMap::new();
        for (host, (read, items)) in self.0 {
            let score = Score::of(read.take(answers, &host));
            scores.extend(items.into_iter().map(|news| (news, score)));
        }
        scores
    }
}
