//! Who has voted on an item: from it the viewers of a list learn their own
//! votes, all from the same.

use super::error::Error;
use super::ids::{NewsId, UserId};
use super::keys;
use super::news::{Direction, NewsLine, VoteRead};
use super::visit::Visit;
use crate::keyspace::{Answers, Footprint, Handle, Order, Query, Store};
use std::sync::Arc;

/// Of an item with more votes up, or down, than this each viewer's own is looked up.
const FEW: u64 = 1_000;

/// The votes on an item.
#[derive(Debug, Clone)]
pub(super) enum Voters {
    /// All of them, by the voter.
    Few(Arc<[(UserId, Direction)]>),
    /// More than are kept.
    Many,
}

impl Voters {
    /// The vote of a user, as far as it is known here.
    fn vote_of(&self, viewer: UserId) -> Option<Option<Direction>> {
        match self {
            Self::Few(votes) => {
                let found = votes.binary_search_by_key(&viewer, |(voter, _)| *voter);
                Some(found.ok().and_then(|at| votes.get(at)).map(|(_, vote)| *vote))
            }
            Self::Many => None,
        }
    }

    /// About how many bytes they take.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Few(votes) => size_of_val(&**votes),
            Self::Many => 0,
        }
    }
}

/// Voters, with the times of their votes, on their way.
type ListRead = Handle<Vec<(String, f64)>>;

/// The votes on an item on their way.
struct VotersRead {
    lists: [(Direction, ListRead); 2],
    footprint: Footprint,
}

impl VotersRead {
    fn ask(store: &Store, query: &mut Query, id: NewsId) -> Self {
        let lists = [(Direction::Up, keys::news_up(id)), (Direction::Down, keys::news_down(id))];
        let footprint = store.footprint_of(lists.iter().map(|(_, key)| key.as_str()));
        let lists = lists.map(|(vote, key)| (vote, query.sorted_range(key, Order::Descending, 0, FEW + 1)));
        Self { lists, footprint }
    }

    fn take(self, answers: &mut Answers) -> (Voters, Footprint) {
        let mut votes = Vec::new();
        let mut are_few = true;
        for (vote, list) in self.lists {
            let voters = answers.take(list);
            are_few &= u64::try_from(voters.len()).is_ok_and(|count| count <= FEW);
            votes.extend(voters.into_iter().filter_map(|(voter, _)| Some((voter.parse().ok()?, vote))));
        }
        // Should somebody be in both, up comes first and counts.
        votes.sort_by_key(|(voter, _)| *voter);
        votes.dedup_by_key(|(voter, _)| *voter);
        (if are_few { Voters::Few(votes.into()) } else { Voters::Many }, self.footprint)
    }
}

/// How the viewer's own vote on an item is found.
enum Found {
    Known(Option<Direction>),
    Own(VoteRead),
    All(NewsId, VotersRead),
}

/// Adds the viewer's own votes to what nobody in particular sees. Rounds: at
/// most 2 for a viewer, none for others.
pub(super) async fn mark_own_votes(visit: &mut Visit, lines: &mut [NewsLine]) -> Result<(), Error> {
    let Some(viewer) = visit.identify().await? else {
        return Ok(());
    };
    let (site, now) = (visit.site_too(), visit.now());
    let mut query = Query::new();
    let found: Vec<Found> = lines
        .iter()
        .map(|line| {
            let id = line.news.id;
            match site.kept.voters.get(&site.store, now, &id).map(|voters| voters.vote_of(viewer)) {
                Some(Some(vote)) => Found::Known(vote),
                None if !site.store.is_shared() => {
                    Found::All(id, VotersRead::ask(&site.store, &mut query, id))
                }
                Some(None) | None => Found::Own(VoteRead::ask(&mut query, id, viewer)),
            }
        })
        .collect();
    let mut answers = visit.run(query).await?;
    let mut unknown = Vec::new();
    for (line, found) in lines.iter_mut().zip(found) {
        line.my_vote = match found {
            Found::Known(vote) => vote,
            Found::Own(read) => read.take(&mut answers),
            Found::All(id, read) => {
                let (voters, footprint) = read.take(&mut answers);
                let vote = voters.vote_of(viewer);
                site.kept.voters.put(&site.store, id, voters, footprint, None);
                vote.unwrap_or_else(|| {
                    unknown.push(id);
                    None
                })
            }
        };
    }
    look_up(visit, viewer, lines, &unknown).await
}

/// The own votes on items that turned out to have very many. Rounds: 1, or none.
async fn look_up(
    visit: &mut Visit,
    viewer: UserId,
    lines: &mut [NewsLine],
    unknown: &[NewsId],
) -> Result<(), Error> {
    if unknown.is_empty() {
        return Ok(());
    }
    let mut query = Query::new();
    let lines: Vec<_> = lines
        .iter_mut()
        .filter(|line| unknown.contains(&line.news.id))
        .map(|line| (VoteRead::ask(&mut query, line.news.id, viewer), line))
        .collect();
    let mut answers = visit.run(query).await?;
    for (read, line) in lines {
        line.my_vote = read.take(&mut answers);
    }
    Ok(())
}
