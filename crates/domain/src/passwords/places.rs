//! The places in a queue for hashing, shared out by network (IPv4 /24, IPv6 /48): whoever has
//! many addresses of one network takes no place from others.
//!
//! A network may have any number of places as long as nobody else wants one. While others wait,
//! it has at most a sixteenth: it gets no more, and those of its requests that came last and still
//! wait lose theirs. Some places are kept for addresses whose last login was right.

use crate::passwords::{HashingSource, PasswordError};
use crate::values::{KEPT_SHARE_OF_PASSWORDS, NETWORK_SHARE_OF_PASSWORDS, Network, UserId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The holder of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PlaceOwner {
    Network(Network),
    Account(UserId),
    Operator,
}

/// An applicant for a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    holder: PlaceOwner,
    /// Whether the last login from the same address was right.
    is_known: bool,
}

impl Asker {
    pub(super) const fn new(source: HashingSource, is_known: bool) -> Self {
        let holder = match source {
            HashingSource::Address(address) => PlaceOwner::Network(Network::of(address)),
            HashingSource::Account(user) => PlaceOwner::Account(user),
            HashingSource::Operator => PlaceOwner::Operator,
        };
        Self { holder, is_known }
    }
}

/// The places of one queue.
#[derive(Clone, Debug)]
pub(super) struct Places {
    most: usize,
    taken: Arc<Mutex<TakenPlaces>>,
}

/// The places of each holder, the oldest first.
#[derive(Debug, Default)]
struct TakenPlaces(HashMap<PlaceOwner, Vec<Held>>);

/// A place that is taken. Its `lost` tells it from others.
#[derive(Debug)]
struct Held {
    is_running: bool,
    lost: Arc<Notify>,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// Takes a place.
    ///
    /// # Errors
    /// [`PasswordError::Crowded`] if the network has its share already and others wait;
    /// [`PasswordError::Busy`] if there is none left.
    pub(super) fn take(&self, applicant: Asker) -> Result<Place, PasswordError> {
        let Asker { holder, is_known } = applicant;
        let share = (self.most / NETWORK_SHARE_OF_PASSWORDS).max(1);
        let kept = if is_known { 0 } else { self.most / KEPT_SHARE_OF_PASSWORDS };
        let mut taken = self.taken.lock();
        let own = taken.0.get(&holder).map_or(0, Vec::len);
        let others_wait = taken.0.keys().any(|other| *other != holder);
        if others_wait && own >= share && holder != PlaceOwner::Operator {
            return Err(PasswordError::Crowded);
        }
        taken.cut_others(holder, share);
        if taken.count() + kept >= self.most {
            return Err(PasswordError::Busy);
        }
        let lost = Arc::new(Notify::new());
        taken.0.entry(holder).or_default().push(Held { is_running: false, lost: lost.clone() });
        Ok(Place { places: self.clone(), holder, lost })
    }

    /// The places that nobody has.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.most - self.taken.lock().count()
    }
}

impl TakenPlaces {
    fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Takes from every other holder but the operator the places above its share. Running work goes on.
    fn cut_others(&mut self, holder: PlaceOwner, share: usize) {
        for (other, places) in &mut self.0 {
            if *other == holder || *other == PlaceOwner::Operator {
                continue;
            }
            while places.len() > share
                && let Some(newest) = places.iter().rposition(|held| !held.is_running)
            {
                places.remove(newest).lost.notify_one();
            }
        }
    }
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    holder: PlaceOwner,
    lost: Arc<Notify>,
}

impl Place {
    /// Waits for something in this place. After that, it cannot be lost.
    ///
    /// # Errors
    /// [`PasswordError::Crowded`] when the place is lost meanwhile.
    pub(super) async fn wait_for<T>(&self, waiting: impl Future<Output = T>) -> Result<T, PasswordError> {
        tokio::select! {
            biased;
            () = self.lost.notified() => Err(PasswordError::Crowded),
            done = waiting => if self.begin() { Ok(done) } else { Err(PasswordError::Crowded) },
        }
    }

    fn begin(&self) -> bool {
        let mut taken = self.places.taken.lock();
        let mut places = taken.0.get_mut(&self.holder).into_iter().flatten();
        let held = places.find(|held| Arc::ptr_eq(&held.lost, &self.lost));
        held.map(|held| held.is_running = true).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let TakenPlaces(taken) = &mut *self.places.taken.lock();
        if let Some(places) = taken.get_mut(&self.holder) {
            places.retain(|held| !Arc::ptr_eq(&held.lost, &self.lost));
            if places.is_empty() {
                taken.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::future::{pending, ready};

    fn applicant(address: &str, is_known: bool) -> Asker {
        Asker::new(HashingSource::Address(address.parse().unwrap()), is_known)
    }

    fn from(places: &Places, network: u8, last: u8) -> Result<Place, PasswordError> {
        places.take(applicant(&format!("203.0.{network}.{last}"), false))
    }

    #[test]
    fn a_network_has_a_sixteenth_of_the_places_while_others_wait() {
        let places = Places::new(64);
        let alone: Vec<Place> = (0..56).map(|last| from(&places, 1, last).unwrap()).collect();
        // One of them runs and goes on.
        assert!(alone[55].wait_for(ready(())).now_or_never().unwrap().is_ok());
        let other = from(&places, 2, 1).unwrap();
        assert_eq!(places.free(), 64 - 4 - 1);
        let lost = |place: &Place| place.wait_for(pending::<()>()).now_or_never().is_some();
        let kept: Vec<usize> = (0..56).filter(|number| !lost(&alone[*number])).collect();
        assert_eq!(kept, [0, 1, 2, 55]);
        assert!(matches!(from(&places, 1, 99), Err(PasswordError::Crowded)));
        drop(other);
        assert!(from(&places, 1, 99).is_ok(), "nobody else waits");
        drop(alone);
        assert_eq!(places.free(), 64);
        assert!(places.taken.lock().0.is_empty());
    }

    #[test]
    fn some_places_are_kept_for_addresses_whose_last_login_was_right() {
        let places = Places::new(64);
        let strangers: Vec<Place> = (0..14)
            .flat_map(|network| (0..4).map(move |last| (network, last)))
            .map(|(network, last)| from(&places, network, last).unwrap())
            .collect();
        assert_eq!(strangers.len(), 56);
        assert!(matches!(from(&places, 99, 1), Err(PasswordError::Busy)));
        let known: Vec<Place> =
            (0..8).map(|last| places.take(applicant(&format!("198.51.{last}.1"), true)).unwrap()).collect();
        assert!(matches!(places.take(applicant("192.0.2.1", true)), Err(PasswordError::Busy)));
        drop(known);
        assert!(matches!(from(&places, 99, 1), Err(PasswordError::Busy)));
        drop(strangers);
        assert!(from(&places, 99, 1).is_ok());
    }
}
