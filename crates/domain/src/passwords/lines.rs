//! Lines: who asks for passwords to be hashed waits behind others of the same address or
//! account only.
//!
//! Whoever waits here holds nothing else: no place in the worker's queue and no lock. So a
//! flood from one address fills its own line, and the rest of the flood is refused at once.

use crate::passwords::PasswordError;
use crate::values::ids::UserId;
use crate::values::limits::MAX_WAITING_OF_ONE_SOURCE;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Who asks for hashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// A client that is not logged in, by its address.
    Address(IpAddr),
    /// A user.
    Account(UserId),
}

/// The lines of all sources that have somebody in them. Its memory is bounded by the
/// number of requests under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Arc<Mutex<HashMap<Source, Line>>>);

/// The line of one source: one has its turn, the others wait.
#[derive(Debug)]
struct Line {
    turn: Arc<Semaphore>,
    members: usize,
}

/// The turn of a source. The next of the same source has its turn when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
    _membership: Membership,
}

impl Lines {
    /// Waits for the turn of a source.
    ///
    /// # Errors
    /// [`PasswordError::Crowded`] at once, when [`MAX_WAITING_OF_ONE_SOURCE`] wait already.
    pub(crate) async fn turn(&self, source: Source) -> Result<Arc<Turn>, PasswordError> {
        let (membership, turn) = self.join(source).ok_or(PasswordError::Crowded)?;
        let permit = turn.acquire_owned().await.map_err(super::failed)?;
        Ok(Arc::new(Turn { _permit: permit, _membership: membership }))
    }

    fn join(&self, source: Source) -> Option<(Membership, Arc<Semaphore>)> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line =
            lines.entry(source).or_insert_with(|| Line { turn: Arc::new(Semaphore::new(1)), members: 0 });
        if line.members > MAX_WAITING_OF_ONE_SOURCE {
            return None;
        }
        line.members += 1;
        Some((Membership { lines: self.clone(), source }, line.turn.clone()))
    }
}

/// A member of a line, who leaves it when this is dropped.
#[derive(Debug)]
struct Membership {
    lines: Lines,
    source: Source,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut lines = self.lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get_mut(&self.source) {
            line.members -= 1;
            if line.members == 0 {
                lines.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::{BoxFuture, join_all};

    const HERE: Source = Source::Address(IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1)));
    const ELSEWHERE: Source = Source::Address(IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 2)));

    impl Lines {
        fn members(&self, source: Source) -> usize {
            self.0.lock().unwrap().get(&source).map_or(0, |line| line.members)
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
        let account = lines.turn(Source::Account(UserId(1))).now_or_never().unwrap().unwrap();
        drop((turn, other, account));
        assert_eq!(lines.members(ELSEWHERE), 0);
        // Each has its turn once the one before has left, in whatever order they are polled.
        let turns = join_all(waiting.into_iter().map(|next| next.map(|turn| drop(turn.unwrap())))).await;
        assert_eq!(turns.len(), MAX_WAITING_OF_ONE_SOURCE);
        assert!(lines.0.lock().unwrap().is_empty());
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
        assert!(lines.0.lock().unwrap().is_empty());
    }
}
