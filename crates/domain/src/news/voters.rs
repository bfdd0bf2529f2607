//! The voters of items, cached once for all viewers: each viewer's own vote is found in
//! them.

use super::item::{Direction, vote_of};
use crate::cache::{Lookup, MEBIBYTE, PendingValue, Shared, View};
use crate::values::{MAX_CACHED_VOTERS, NewsId, UserId};
use crate::{Result, Site, Visit, keys};
use std::sync::Arc;
use tidings_keyspace::{Fetch, Order, Tracked, read};

crate::cache_kind! {
    /// The voters of news.
    pub(crate) struct VotersOfNews: NewsId => Voters, "voters", 2 * MEBIBYTE, |_, voters| voters.size();
}

/// The votes on an item.
#[derive(Debug, Clone)]
pub(crate) enum Voters {
    /// All of them, by the voter.
    Few(Arc<[(UserId, Direction)]>),
    /// More than are cached.
    Many,
}

impl Voters {
    /// The vote of a user; `None` if it must be looked up.
    fn vote_of(&self, viewer: UserId) -> Option<Option<Direction>> {
        match self {
            Self::Few(votes) => {
                let found = votes.binary_search_by_key(&viewer, |(voter, _)| *voter);
                Some(found.ok().and_then(|at| votes.get(at)).map(|(_, vote)| *vote))
            }
            Self::Many => None,
        }
    }

    /// The approximate size in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Few(votes) => size_of_val(&**votes),
            Self::Many => 0,
        }
    }

    /// The votes on an item.
    fn on(id: NewsId) -> impl Fetch<Value = Tracked<Self>> {
        let lists = [(Direction::Up, keys::news_up(id)), (Direction::Down, keys::news_down(id))];
        let lists = lists.map(|(vote, key)| {
            read::sorted_range(key, Order::Descending, 0, MAX_CACHED_VOTERS + 1)
                .map(move |voters| (vote, voters))
        });
        lists.or_absent().tracked().map(|read| read.map(Self::from_lists))
    }

    fn from_lists(lists: [(Direction, Vec<(String, f64)>); 2]) -> Self {
        let is_short =
            |voters: &[_]| u64::try_from(voters.len()).is_ok_and(|count| count <= MAX_CACHED_VOTERS);
        if !lists.iter().all(|(_, voters)| is_short(voters)) {
            return Self::Many;
        }
        let votes = lists.into_iter().flat_map(|(vote, voters)| {
            voters.into_iter().filter_map(move |(voter, _)| Some((voter.parse().ok()?, vote)))
        });
        let mut votes: Vec<(UserId, Direction)> = votes.collect();
        // If a user is in both lists, the vote up comes first and counts.
        votes.sort_by_key(|(voter, _)| *voter);
        votes.dedup_by_key(|(voter, _)| *voter);
        Self::Few(votes.into())
    }
}

/// The viewer's own votes on items, as a round has read them.
pub(crate) struct OwnVotesRead(Vec<(NewsId, OwnVoteState)>);

impl OwnVotesRead {
    /// Reads what is not cached. The viewer must be identified already.
    pub(crate) fn of<'a, I: Iterator<Item = NewsId>>(
        site: &'a Site,
        visit: &Visit,
        ids: I,
    ) -> impl Fetch<Value = Self> + use<'a, I> {
        let view = View { store: &site.store, ..visit.view() };
        let viewer = visit.viewer_id();
        let find = |id| {
            let Some(viewer) = viewer else { return read::known(OwnVoteState::Read(Some(None))).boxed() };
            let known = move |voters: Shared<Voters>| OwnVoteState::Read(voters.vote_of(viewer));
            let own = || vote_of(id, viewer).map(|vote| OwnVoteState::Read(Some(vote.map(|(vote, _)| vote))));
            match site.caches.of::<VotersOfNews>().look_up(view, &id) {
                Lookup::Hit(voters) if matches!(*voters, Voters::Few(_)) => {
                    read::known(known(voters)).boxed()
                }
                Lookup::Make(flight) if site.store.tracks_writes() => {
                    Voters::on(id).map(move |voters| known(flight.finish(view, voters, None))).boxed()
                }
                // There are many, or nothing can be cached: read the one vote only.
                Lookup::Hit(_) | Lookup::Make(_) => own().boxed(),
                Lookup::Wait(waiting) => read::known(OwnVoteState::Waiting(waiting)).boxed(),
            }
        };
        let votes = ids.map(|id| find(id).map(move |vote| (id, vote)));
        votes.collect::<Vec<_>>().map(Self)
    }

    /// The votes, in the order asked. Rounds: at most 1, if an item turns out to have very
    /// many votes, or another request failed to read them.
    pub(crate) async fn finish(self, visit: &mut Visit) -> Result<Vec<Option<Direction>>> {
        let Some(viewer) = visit.viewer_id() else {
            return Ok(vec![None; self.0.len()]);
        };
        let (mut votes, mut late) = (Vec::with_capacity(self.0.len()), Vec::new());
        for (id, known) in self.0 {
            let vote = match known {
                OwnVoteState::Read(vote) => vote,
                OwnVoteState::Waiting(waiting) => {
                    waiting.value(visit.view()).await.and_then(|voters| voters.vote_of(viewer))
                }
            };
            if vote.is_none() {
                let at = votes.len();
                late.push(vote_of(id, viewer).map(move |vote| (at, vote.map(|(vote, _)| vote))));
            }
            votes.push(vote.flatten());
        }
        for (at, own) in visit.fetch_if_needed(late).await? {
            votes.get_mut(at).into_iter().for_each(|vote| *vote = own);
        }
        Ok(votes)
    }
}

/// The viewer's own vote after the round.
enum OwnVoteState {
    /// The vote; `None` if it must be looked up.
    Read(Option<Option<Direction>>),
    /// Another request is reading the voters.
    Waiting(PendingValue<Voters>),
}
