//! Lines: a request for hashing a password waits behind others of the same address or
//! account only.
//!
//! A request that waits here holds nothing else: no place in the worker's queue and no lock. So a
//! flood from one address fills its own line, and the rest of the flood is refused at once. An
//! IPv6 address waits in two lines, that of its /64 and that of its /48 ([`ClientNetworks`]).

use crate::passwords::PasswordError;
use crate::values::{ClientNetworks, CountedNetwork, MAX_WAITING_OF_ONE_SOURCE, UserId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The source of a request for hashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HashingSource {
    /// A client that is not logged in, by its address.
    Address(IpAddr),
    /// A user.
    Account(UserId),
    /// The operator of the site, on the command line.
    Operator,
}

/// The owner of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum QueueOwner {
    Network(CountedNetwork),
    Account(UserId),
}

impl QueueOwner {
    /// How many of its line have their turn at once, and how many times as many as usual may wait.
    const fn factor(self) -> usize {
        match self {
            Self::Network(network) => network.factor() as usize,
            Self::Account(_) => 1,
        }
    }
}

/// The lines of all sources that have somebody in them. Its memory is bounded by the
/// number of requests under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Arc<Mutex<HashMap<QueueOwner, TurnQueue>>>);

/// A line: some have their turn, the others wait.
#[derive(Debug)]
struct TurnQueue {
    turns: Arc<Semaphore>,
    members: usize,
}

/// The turn of a source. The next of the same source has its turn when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The source that has it.
    pub(super) source: HashingSource,
    _lines: Vec<(OwnedSemaphorePermit, Membership)>,
}

impl Lines {
    /// Waits for the turn of a source.
    ///
    /// # Errors
    /// [`PasswordError::Crowded`] at once, when [`MAX_WAITING_OF_ONE_SOURCE`] wait already.
    pub(crate) async fn turn(&self, source: HashingSource) -> Result<Arc<Turn>, PasswordError> {
        let owners = match source {
            HashingSource::Account(user) => vec![QueueOwner::Account(user)],
            HashingSource::Address(address) => {
                ClientNetworks::of(address).iter().map(QueueOwner::Network).collect()
            }
            HashingSource::Operator => Vec::new(),
        };
        // A place in all lines or in none.
        let joined: Option<Vec<_>> = owners.into_iter().map(|owner| self.join(owner)).collect();
        let mut lines = Vec::new();
        for (membership, turns) in joined.ok_or(PasswordError::Crowded)? {
            lines.push((turns.acquire_owned().await.map_err(super::failed)?, membership));
        }
        Ok(Arc::new(Turn { source, _lines: lines }))
    }

    fn join(&self, owner: QueueOwner) -> Option<(Membership, Arc<Semaphore>)> {
        let factor = owner.factor();
        let mut lines = self.0.lock();
        let line = lines
            .entry(owner)
            .or_insert_with(|| TurnQueue { turns: Arc::new(Semaphore::new(factor)), members: 0 });
        if line.members >= factor * (MAX_WAITING_OF_ONE_SOURCE + 1) {
            return None;
        }
        line.members += 1;
        Some((Membership { lines: self.clone(), owner }, line.turns.clone()))
    }
}

/// A member of a line, who leaves it when this is dropped.
#[derive(Debug)]
struct Membership {
    lines: Lines,
    owner: QueueOwner,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut lines = self.lines.0.lock();
        if let Some(line) = lines.get_mut(&self.owner) {
            line.members -= 1;
            if line.members == 0 {
                lines.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::{BoxFuture, join_all};

    const HERE: HashingSource = HashingSource::Address(IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1)));
    const ELSEWHERE: HashingSource =
        HashingSource::Address(IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 2)));

    impl Lines {
        fn members(&self, source: HashingSource) -> usize {
            let owner = match source {
                HashingSource::Address(address) => {
                    QueueOwner::Network(ClientNetworks::of(address).narrowest())
                }
                HashingSource::Account(user) => QueueOwner::Account(user),
                HashingSource::Operator => return 0,
            };
            self.0.lock().get(&owner).map_or(0, |line| line.members)
        }
    }

    #[tokio::test]
    async fn one_of_a_source_has_its_turn_some_wait_and_the_rest_is_refused_at_once() {
        let lines = Lines::default();
        let turn = lines.turn(HERE).await.unwrap();
        let mut waiting: Vec<BoxFuture<'_, _>> = Vec::new();
        for _ in 0..MAX_WAITING_OF_ONE_SOURCE {
            let mut next = lines.turn(HERE).boxed();
            assert!(next.as_mut().now_or_never().is_none());
            waiting.push(next);
        }
        for _ in 0..600 {
            let refused = lines.turn(HERE).now_or_never().expect("an answer at once");
            assert!(matches!(refused, Err(PasswordError::Crowded)));
        }
        assert_eq!(lines.members(HERE), MAX_WAITING_OF_ONE_SOURCE + 1);
        let other = lines.turn(ELSEWHERE).now_or_never().expect("a turn at once").unwrap();
        let account = lines.turn(HashingSource::Account(UserId(1))).now_or_never().unwrap().unwrap();
        drop((turn, other, account));
        assert_eq!(lines.members(ELSEWHERE), 0);
        // Each has its turn once the one before has left, in whatever order they are polled.
        let turns = join_all(waiting.into_iter().map(|next| next.map(|turn| drop(turn.unwrap())))).await;
        assert_eq!(turns.len(), MAX_WAITING_OF_ONE_SOURCE);
        assert!(lines.0.lock().is_empty());
    }

    #[tokio::test]
    async fn a_48_has_four_turns_at_once_and_four_lines_of_waiting() {
        let lines = Lines::default();
        let source = |network: usize| {
            HashingSource::Address(format!("2001:db8:1:{network:x}::1").parse::<IpAddr>().unwrap())
        };
        let mut turns = Vec::new();
        let mut waiting: Vec<BoxFuture<'_, _>> = Vec::new();
        let mut refused = 0;
        for network in 0..1_000 {
            let mut next = lines.turn(source(network)).boxed();
            match next.as_mut().now_or_never() {
                Some(Ok(turn)) => turns.push(turn),
                Some(Err(error)) => {
                    assert!(matches!(error, PasswordError::Crowded));
                    refused += 1;
                }
                None => waiting.push(next),
            }
        }
        let most = 4 * (MAX_WAITING_OF_ONE_SOURCE + 1);
        assert_eq!((turns.len(), waiting.len(), refused), (4, most - 4, 1_000 - most));
        // A new budget for what is done at once.
        tokio::task::yield_now().await;
        let other = HashingSource::Address("2001:db8:2::1".parse().unwrap());
        assert!(lines.turn(other).now_or_never().expect("a turn at once").is_ok());
        drop((turns, waiting));
        assert!(lines.0.lock().is_empty());
    }

    #[tokio::test]
    async fn who_gives_up_leaves_the_line() {
        let lines = Lines::default();
        let turn = lines.turn(HERE).await.unwrap();
        let mut next = lines.turn(HERE).boxed();
        assert!(next.as_mut().now_or_never().is_none());
        assert_eq!(lines.members(HERE), 2);
        drop(next);
        assert_eq!(lines.members(HERE), 1);
        drop(turn);
        assert!(lines.0.lock().is_empty());
    }
}
