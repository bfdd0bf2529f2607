//! Counts of people's activity on this server, in memory: for `/metrics`, and for the charts of
//! administrators until [`crate::statistics`] stores them.
//!
//! It has no keys of its own.

use crate::Site;
use crate::values::{Hour, MAX_UNKEPT_HOURS, Timestamp};
use crate::{CountedAction, counts};
use parking_lot::Mutex;
use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use strum::{EnumCount, IntoEnumIterator};

/// How often each action has happened on this server since it started.
#[derive(Debug, Default)]
pub struct ActionCounters {
    totals: [AtomicU64; CountedAction::COUNT],
    /// Accounts that were the first time in an hour here, and in a day.
    people: [AtomicU64; 2],
    /// The totals at the last call of [`ActionCounters::take`].
    taken: Mutex<TakenFigures>,
}

crate::process_state::process_state!(ActionCounters);

#[derive(Debug, Default)]
struct TakenFigures {
    actions: [u64; CountedAction::COUNT],
    people: [u64; 2],
}

impl Site {
    /// Counts an action that was done: its batch is applied. Metrics count it too.
    pub fn count(&self, action: CountedAction) {
        counts::count(action);
        self.of::<ActionCounters>().totals[action as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl ActionCounters {
    /// Counts an account that is here after `before`, if it was not here in this hour.
    pub(crate) fn count_visit(&self, before: Option<Timestamp>, now: Timestamp) {
        let differs = |same: fn(Timestamp) -> u64| before.is_none_or(|before| same(before) != same(now));
        let [hours, days] = &self.people;
        if differs(|time| Hour::of(time).number()) {
            hours.fetch_add(1, Ordering::Relaxed);
        }
        if differs(|time| time.0 / 86_400) {
            days.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The figures since the last call.
    fn take(&self) -> Figures {
        let mut taken = self.taken.lock();
        let since = |total: &AtomicU64, taken: &mut u64| {
            let total = total.load(Ordering::Relaxed);
            total.saturating_sub(std::mem::replace(taken, total))
        };
        let TakenFigures { actions, people } = &mut *taken;
        let actions = array::from_fn(|at| since(&self.totals[at], &mut actions[at]));
        let [people, people_of_day] = array::from_fn(|at| since(&self.people[at], &mut people[at]));
        Figures { actions, people, people_of_day, ..Figures::default() }
    }
}

/// The bins of a small histogram of the times that answers took.
pub const TIME_BINS: usize = 32;

/// Figures about the answers of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answered {
    /// Requests.
    pub requests: u64,
    /// Of these, answers with a status of 500 and above.
    pub errors: u64,
    /// Of these, answers with the status 429.
    pub refused: u64,
    /// How many took how long. The caller decides which time a bin stands for.
    pub times: [u64; TIME_BINS],
}

/// The figures of an hour or a day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// The answers.
    pub answered: Answered,
    actions: [u64; CountedAction::COUNT],
    /// Accounts that were here.
    pub people: u64,
    /// In the figures of an hour: the accounts whose first visit of the day was in it.
    pub(crate) people_of_day: u64,
}

impl Figures {
    /// How often an action was done.
    pub const fn of(&self, action: CountedAction) -> u64 {
        self.actions[action as usize]
    }

    /// The place for a number by the name of its field; `None` for an unknown name.
    pub(crate) fn field(&mut self, name: &str) -> Option<&mut u64> {
        let answered = &mut self.answered;
        match name {
            "requests" => Some(&mut answered.requests),
            "errors" => Some(&mut answered.errors),
            "refused" => Some(&mut answered.refused),
            "people" => Some(&mut self.people),
            _ => match name.parse::<CountedAction>() {
                Ok(action) => self.actions.get_mut(action as usize),
                Err(_) => answered.times.get_mut(name.strip_prefix('t')?.parse::<usize>().ok()?),
            },
        }
    }

    /// The numbers that are not 0, by the names of their fields.
    pub(crate) fn fields(&self) -> Vec<(String, u64)> {
        let Answered { requests, errors, refused, times } = &self.answered;
        let named =
            [("requests", *requests), ("errors", *errors), ("refused", *refused), ("people", self.people)];
        let actions = CountedAction::iter().map(|action| (action.name(), self.of(action)));
        let named = named.into_iter().chain(actions).map(|(name, number)| (name.to_owned(), number));
        let times = times.iter().enumerate().map(|(bin, count)| (format!("t{bin}"), *count));
        named.chain(times).filter(|(_, number)| *number > 0).collect()
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: &Self) {
        for (name, number) in other.fields() {
            if let Some(own) = self.field(&name) {
                *own = own.saturating_add(number);
            }
        }
        self.people_of_day = self.people_of_day.saturating_add(other.people_of_day);
    }

    /// The same for the day of the hour.
    pub(crate) fn for_day(&self) -> Self {
        Self { people: self.people_of_day, ..self.clone() }
    }
}

/// The figures that this server has counted and not stored yet, by the hour.
#[derive(Debug, Default)]
pub(crate) struct Unkept(Mutex<Vec<(Hour, Figures)>>);

crate::process_state::process_state!(Unkept);

impl Unkept {
    /// Adds what happened since the last call.
    pub(crate) fn absorb(&self, now: Timestamp, answered: Answered, actions: &ActionCounters) {
        let figures = Figures { answered, ..actions.take() };
        self.put(Hour::of(now), &figures);
    }

    /// Adds the figures of an hour. When the store has been away for too many hours, the
    /// oldest are forgotten.
    pub(crate) fn put(&self, hour: Hour, figures: &Figures) {
        let mut unkept = self.0.lock();
        match unkept.iter_mut().find(|(known, _)| *known == hour) {
            Some((_, known)) => known.add(figures),
            None => unkept.push((hour, figures.clone())),
        }
        if unkept.len() > MAX_UNKEPT_HOURS {
            unkept.remove(0);
        }
    }

    /// Takes everything.
    pub(crate) fn take(&self) -> Vec<(Hour, Figures)> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Everything, without taking it.
    pub(crate) fn all(&self) -> Vec<(Hour, Figures)> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000);

    #[test]
    fn every_number_has_a_field() {
        let mut figures = Figures::default();
        assert_eq!(figures.fields(), []);
        let names =
            ["requests", "errors", "refused", "people", "signup", "story", "comment", "tweet", "vote"];
        for (at, name) in (1..).zip(names) {
            *figures.field(name).expect(name) = at;
        }
        *figures.field("t31").expect("a bin") = 10;
        for unknown in ["", "x", "t", "t32", "tx"] {
            assert_eq!(figures.field(unknown), None, "{unknown}");
        }
        assert_eq!(figures.of(CountedAction::Vote), 9);
        assert_eq!(figures.fields().len(), 10);
        let mut sum = figures.clone();
        sum.add(&figures);
        assert_eq!(sum.fields().iter().map(|(_, number)| number).sum::<u64>(), 2 * 55);
    }

    #[test]
    fn what_was_taken_is_not_taken_again() {
        let (counters, unkept) = (ActionCounters::default(), Unkept::default());
        let vote = || counters.totals[CountedAction::Vote as usize].fetch_add(1, Ordering::Relaxed);
        vote();
        vote();
        let answered = Answered { requests: 3, ..Answered::default() };
        unkept.absorb(NOW, answered, &counters);
        unkept.absorb(NOW, Answered::default(), &counters);
        vote();
        let taken = unkept.take();
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].1.of(CountedAction::Vote), taken[0].1.answered.requests), (2, 3));
        unkept.absorb(NOW, Answered::default(), &counters);
        unkept.put(Hour::of(NOW), &taken[0].1);
        assert_eq!(unkept.all()[0].1.of(CountedAction::Vote), 3);
    }

    #[test]
    fn a_person_counts_once_an_hour_and_once_a_day() {
        let counters = ActionCounters::default();
        // 08:00 of a day.
        counters.count_visit(None, NOW);
        counters.count_visit(Some(NOW), Timestamp(NOW.0 + 3_599));
        counters.count_visit(Some(NOW), Timestamp(NOW.0 + 3_600));
        counters.count_visit(Some(NOW), Timestamp(NOW.0 + 86_400));
        let figures = counters.take();
        assert_eq!((figures.people, figures.for_day().people), (3, 2));
    }

    #[test]
    fn only_some_hours_are_remembered() {
        let unkept = Unkept::default();
        for hour in 0..100 {
            unkept.put(Hour::of(Timestamp(NOW.0 + hour * 3_600)), &Figures::default());
        }
        let all = unkept.all();
        assert_eq!(all.len(), MAX_UNKEPT_HOURS);
        assert_eq!(all.last().map(|(hour, _)| *hour), Some(Hour::of(Timestamp(NOW.0 + 99 * 3_600))));
    }
}
