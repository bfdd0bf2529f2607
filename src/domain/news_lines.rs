//! Items as they are listed: with the author's name, the score of the site, and
//! the viewer's own vote.

use super::error::Error;
use super::ids::NewsId;
use super::kept::Shown;
use super::keys;
use super::news::{Direction, News};
use super::sites::{Hostname, Score, TOTALS, TotalsRead};
use super::users::{self, UsernameReads};
use super::visit::Visit;
use super::voters::OwnVotesRead;
use crate::keyspace::{Answers, Footprint, Handle, Hash, Part, Query};
use std::collections::HashMap;
use std::sync::Arc;

/// About how many bytes an item takes as it is shown, without its texts.
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
    pub(super) fn of_nobody(&self) -> Self {
        Self { my_vote: None, ..self.clone() }
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        // The texts are here once more as they are shown.
        size_of::<Self>() + size_of::<News>() + SHOWN + 3 * (self.news.title.len() + self.news.url.len())
    }
}

/// Items on their way: those that are not kept, and the viewer's own votes.
pub(super) struct NewsLinesRead {
    items: Vec<(NewsId, ItemRead)>,
    own: OwnVotesRead,
}

enum ItemRead {
    Kept(NewsLine),
    Asked(Handle<Hash>, Footprint),
}

impl NewsLinesRead {
    /// Asks for items, and for own votes if it is known who visits.
    pub(super) fn ask(visit: &Visit, query: &mut Query, ids: &[NewsId]) -> Self {
        let (site, now) = (visit.site(), visit.now());
        let own = OwnVotesRead::ask(visit, query, ids);
        let mut read = |id: &NewsId| match site.kept.news.get(&site.store, now, id) {
            Some(line) => ItemRead::Kept(line),
            None => {
                let key = keys::news(*id);
                let footprint = site.store.footprint_of([Part::Key(&key)]);
                ItemRead::Asked(query.hash(key), footprint)
            }
        };
        Self { items: ids.iter().map(|id| (*id, read(id))).collect(), own }
    }

    /// Takes the items and asks for what belongs to them; for own votes too, if
    /// it is only now known who visits.
    pub(super) fn go_on(self, visit: &Visit, answers: &mut Answers, query: &mut Query) -> NewsLinesRest {
        let site = visit.site();
        let ids: Vec<NewsId> = self.items.iter().map(|(id, _)| *id).collect();
        let own = self.own.go_on(visit, answers, query, &ids);
        let (mut lines, mut found) = (HashMap::new(), Vec::new());
        for (id, item) in self.items {
            match item {
                ItemRead::Kept(line) => {
                    lines.insert(id, line);
                }
                ItemRead::Asked(hash, footprint) => {
                    let Some(news) = News::from_hash(&answers.take(hash)) else { continue };
                    // Noted before names and scores are read, or found kept.
                    let (author, link) = (keys::user(news.user_id), news.site().map(keys::link));
                    let link = link.as_deref().map(|link| Part::Fields(link, &TOTALS));
                    let parts = [Some(Part::Fields(&author, &users::NAMES)), link].into_iter().flatten();
                    found.push((news, footprint.and(site.store.footprint_of(parts))));
                }
            }
        }
        let names = users::read_usernames(visit, query, found.iter().map(|(news, _)| news.user_id));
        let scores = SiteScoresRead::ask(query, found.iter().map(|(news, _)| news));
        NewsLinesRest { ids, own, lines, found, names, scores }
    }
}

/// What belongs to items on its way.
pub(super) struct NewsLinesRest {
    ids: Vec<NewsId>,
    own: OwnVotesRead,
    lines: HashMap<NewsId, NewsLine>,
    found: Vec<(News, Footprint)>,
    names: UsernameReads,
    scores: SiteScoresRead,
}

impl NewsLinesRest {
    /// The items in the order asked; `None` stands for one that does not exist.
    /// Rounds: none, or 1 for own votes where an item turned out to have very many.
    pub(super) async fn take(
        self,
        visit: &mut Visit,
        answers: &mut Answers,
    ) -> Result<Vec<Option<NewsLine>>, Error> {
        let Self { ids, own, mut lines, found, names, scores } = self;
        let (names, scores) = (names.take(answers), scores.take(answers));
        let site = visit.site();
        for (news, footprint) in found {
            let id = news.id;
            let line = NewsLine {
                username: names.get(&news.user_id).cloned(),
                site_score: scores.get(&id).copied().unwrap_or_default(),
                news: Arc::new(news),
                my_vote: None,
                shown: Arc::default(),
            };
            site.kept.news.put(&site.store, id, line.clone(), footprint, None);
            lines.insert(id, line);
        }
        let own = own.take(visit, answers).await?;
        let line = |(id, my_vote): (&NewsId, _)| Some(NewsLine { my_vote, ..lines.get(id)?.clone() });
        Ok(ids.iter().zip(own).map(line).collect())
    }
}

/// Reads items, in the order asked, after what a query asks for besides, which
/// `besides` takes. `None` stands for an item that does not exist. Rounds: 2.
pub(super) async fn read<T>(
    visit: &mut Visit,
    ids: &[NewsId],
    mut query: Query,
    besides: impl FnOnce(&mut Answers) -> T,
) -> Result<(Vec<Option<NewsLine>>, T), Error> {
    let lines = NewsLinesRead::ask(visit, &mut query, ids);
    let mut answers = visit.run(query).await?;
    let taken = besides(&mut answers);
    let mut query = Query::new();
    let lines = lines.go_on(visit, &mut answers, &mut query);
    let mut answers = visit.run(query).await?;
    Ok((lines.take(visit, &mut answers).await?, taken))
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
        for (read, items) in self.0.into_values() {
            let score = Score::of(read.take(answers));
            scores.extend(items.into_iter().map(|news| (news, score)));
        }
        scores
    }
}
