//! Who has voted on an item: from it the viewers of a list learn their own
//! votes, all from the same.

use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::news::item::{Direction, VoteRead};
use crate::news::lines::NewsLine;
use crate::values::ids::{NewsId, UserId};
use std::sync::Arc;
use tidings_keyspace::{Answers, Footprint, Handle, Order, Part, Query, Store};

/// Of an item with more votes up, or down, than this each viewer's own is looked up.
const FEW: u64 = 4_000;

/// The votes on an item.
#[derive(Debug, Clone)]
pub(crate) enum Voters {
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
    pub(crate) fn size(&self) -> usize {
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
        let footprint = store.footprint_of(lists.iter().map(|(_, key)| Part::Key(key)));
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

/// The viewer's own votes on items on their way.
pub(crate) struct OwnVotesRead(Vec<Found>);

impl OwnVotesRead {
    /// Asks for what is not kept. It must be known who visits.
    pub(crate) fn ask(visit: &Visit, query: &mut Query, ids: impl Iterator<Item = NewsId>) -> Self {
        let site = visit.site();
        let Some(viewer) = visit.viewer_id() else {
            return Self(ids.map(|_| Found::Known(None)).collect());
        };
        let find = |id| match site.kept.voters.get(visit, &id) {
            None if site.store.tells_of_writes() => Found::All(id, VotersRead::ask(&site.store, query, id)),
            kept => match kept.and_then(|voters| voters.vote_of(viewer)) {
                Some(vote) => Found::Known(vote),
                None => Found::Own(VoteRead::ask(query, id, viewer)),
            },
        };
        Self(ids.map(find).collect())
    }

    /// The votes, in the order asked. Rounds: none, or 1 where an item turned
    /// out to have very many.
    pub(crate) async fn take(
        self,
        visit: &mut Visit,
        answers: &mut Answers,
    ) -> Result<Vec<Option<Direction>>, Error> {
        let Some(viewer) = visit.viewer_id() else {
            return Ok(vec![None; self.0.len()]);
        };
        let site = visit.site_too();
        let (mut query, mut late) = (Query::new(), Vec::new());
        let mut votes = Vec::with_capacity(self.0.len());
        for found in self.0 {
            votes.push(match found {
                Found::Known(vote) => vote,
                Found::Own(read) => read.take(answers),
                Found::All(id, read) => {
                    let (voters, footprint) = read.take(answers);
                    let vote = voters.vote_of(viewer);
                    site.kept.voters.put(visit, id, voters, footprint, None);
                    if vote.is_none() {
                        late.push((votes.len(), VoteRead::ask(&mut query, id, viewer)));
                    }
                    vote.flatten()
                }
            });
        }
        if !late.is_empty() {
            let mut answers = visit.run(query).await?;
            for (at, read) in late {
                let own = read.take(&mut answers);
                votes.get_mut(at).into_iter().for_each(|vote| *vote = own);
            }
        }
        Ok(votes)
    }
}

/// Adds the viewer's own votes to what nobody in particular sees. Rounds: at
/// most 3 for a viewer, none for others.
pub(crate) async fn mark_own_votes(visit: &mut Visit, lines: &mut [NewsLine]) -> Result<(), Error> {
    if visit.identify().await?.is_none() {
        return Ok(());
    }
    let mut query = Query::new();
    let own = OwnVotesRead::ask(visit, &mut query, lines.iter().map(|line| line.news.id));
    let mut answers = visit.run(query).await?;
    let own = own.take(visit, &mut answers).await?;
    for (line, vote) in lines.iter_mut().zip(own) {
        line.my_vote = vote;
    }
    Ok(())
}
