//! The voters of items, cached once for all viewers: each viewer's own vote is found in
//! them.

use super::item::{Direction, vote_of};
use crate::accounts::visit::Visit;
use crate::cache::{Cache, Flight, Lookup, MEBIBYTE, PendingValue};
use crate::error::Error;
use crate::keys;
use crate::values::ids::{NewsId, UserId};
use crate::values::limits::MAX_CACHED_VOTERS;
use std::sync::Arc;
use tidings_keyspace::{Answers, Asked, Order, Query, Reads, Tracked, TrackedHandle};

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
}

/// A pending read of voters, with the times of their votes.
type VoterTimesRead = TrackedHandle<Vec<(String, f64)>>;

/// Pending reads of the votes on an item.
struct VotersRead([(Direction, VoterTimesRead); 2]);

impl VotersRead {
    fn ask(query: &mut Query, id: NewsId) -> Self {
        let lists = [(Direction::Up, keys::news_up(id)), (Direction::Down, keys::news_down(id))];
        Self(lists.map(|(vote, key)| {
            let list = query.sorted_range(key, Order::Descending, 0, MAX_CACHED_VOTERS + 1).or_absent(query);
            (vote, query.track(list))
        }))
    }

    fn take(self, answers: &mut Answers) -> Tracked<Voters> {
        let mut reads = Reads::default();
        let mut votes = Vec::new();
        let mut are_few = true;
        for (vote, list) in self.0 {
            let voters = answers.take_tracked(list).collect_into(&mut reads);
            are_few &= u64::try_from(voters.len()).is_ok_and(|count| count <= MAX_CACHED_VOTERS);
            votes.extend(voters.into_iter().filter_map(|(voter, _)| Some((voter.parse().ok()?, vote))));
        }
        // If a user is in both lists, the vote up comes first and counts.
        votes.sort_by_key(|(voter, _)| *voter);
        votes.dedup_by_key(|(voter, _)| *voter);
        Tracked::new(if are_few { Voters::Few(votes.into()) } else { Voters::Many }, reads)
    }
}

/// How the viewer's own vote on an item is found.
enum OwnVoteSource<'a> {
    Known(Option<Direction>),
    Own(Asked<'a, Option<(Direction, f64)>>),
    All(Flight<'a, VotersOfNews>, VotersRead),
    Elsewhere(PendingValue<Voters>),
}

/// Pending reads of the viewer's own votes on items.
pub(crate) struct OwnVotesRead<'a>(Vec<(NewsId, OwnVoteSource<'a>)>);

impl<'a> OwnVotesRead<'a> {
    /// Asks for what is not cached. The viewer must be identified already.
    pub(crate) fn ask(
        cache: &'a Cache<VotersOfNews>,
        visit: &Visit,
        query: &mut Query,
        ids: impl Iterator<Item = NewsId>,
    ) -> Self {
        let Some(viewer) = visit.viewer_id() else {
            return Self(ids.map(|id| (id, OwnVoteSource::Known(None))).collect());
        };
        let tracks_writes = visit.site().store.tracks_writes();
        let mut find = |id| match cache.look_up(visit.view(), &id) {
            Lookup::Hit(voters) => match voters.vote_of(viewer) {
                Some(vote) => OwnVoteSource::Known(vote),
                None => OwnVoteSource::Own(query.ask(vote_of(id, viewer))),
            },
            Lookup::Make(flight) if tracks_writes => OwnVoteSource::All(flight, VotersRead::ask(query, id)),
            // Nothing can be cached: read the one vote only.
            Lookup::Make(_) => OwnVoteSource::Own(query.ask(vote_of(id, viewer))),
            Lookup::Wait(waiting) => OwnVoteSource::Elsewhere(waiting),
        };
        Self(ids.map(|id| (id, find(id))).collect())
    }

    /// The votes, in the order asked. Rounds: at most 1, if an item turns out to have very
    /// many votes, or another request failed to read them.
    pub(crate) async fn take(
        self,
        visit: &mut Visit,
        answers: &mut Answers,
    ) -> Result<Vec<Option<Direction>>, Error> {
        let Some(viewer) = visit.viewer_id() else {
            return Ok(vec![None; self.0.len()]);
        };
        // First finish what other requests may be waiting for, then wait for theirs.
        let mut found: Vec<(NewsId, OwnVoteState)> = Vec::with_capacity(self.0.len());
        for (id, source) in self.0 {
            let known = match source {
                OwnVoteSource::Known(vote) => OwnVoteState::Read(Some(vote)),
                OwnVoteSource::Own(vote) => OwnVoteState::Read(Some(answers.of(vote).map(|(vote, _)| vote))),
                OwnVoteSource::All(flight, read) => {
                    let voters = flight.finish(visit.view(), read.take(answers), None);
                    OwnVoteState::Read(voters.vote_of(viewer))
                }
                OwnVoteSource::Elsewhere(waiting) => OwnVoteState::Waiting(waiting),
            };
            found.push((id, known));
        }
        let (mut query, mut late) = (Query::new(), Vec::new());
        let mut votes = Vec::with_capacity(found.len());
        for (id, known) in found {
            let vote = match known {
                OwnVoteState::Read(vote) => vote,
                OwnVoteState::Waiting(waiting) => {
                    waiting.value(visit.view()).await.and_then(|voters| voters.vote_of(viewer))
                }
            };
            if vote.is_none() {
                late.push((votes.len(), query.ask(vote_of(id, viewer))));
            }
            votes.push(vote.flatten());
        }
        if !late.is_empty() {
            let mut answers = visit.run(query).await?;
            for (at, read) in late {
                let own = answers.of(read).map(|(vote, _)| vote);
                votes.get_mut(at).into_iter().for_each(|vote| *vote = own);
            }
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
