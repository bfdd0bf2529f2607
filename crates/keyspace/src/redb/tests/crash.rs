//! Power cuts and disk errors at any moment: acknowledged batches survive, and no batch is
//! applied in part.

use super::disk::Disk;
use super::rig::{Rig, State};
use super::*;
use crate::strategies;
use proptest::prelude::*;

const CASES: u32 = 300;

#[derive(Debug, Clone)]
enum Step {
    /// Batches that are committed together.
    Commit(Vec<Batch>),
    /// The writer's work of once a second.
    Tidy,
    /// This many milliseconds pass.
    Pass(u64),
    /// The store is closed and reopened.
    Restart,
    /// Batches are committed while the journal cannot be flushed.
    FailingFlush(Vec<Batch>),
    /// Batches are committed while the disk is full.
    FullDisk(Vec<Batch>),
    /// A power cut after one of the events since the last cut.
    Cut(prop::sample::Index, u64),
}

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let batch = prop::collection::vec(strategies::write(), 1..4).prop_map(|writes| {
        let mut batch = Batch::new();
        for write in writes {
            batch.write(write);
        }
        batch
    });
    let sound = batch.prop_filter("a sound batch", |batch| batch.validate().is_ok());
    // Too long for the journal of the disk.
    let long =
        (0_u8..3).prop_map(|byte| setting("long", &char::from(b'a' + byte).to_string().repeat(15_000)));
    prop::collection::vec(prop_oneof![15 => sound, 1 => long], 1..4)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => batches().prop_map(Step::Commit),
        2 => Just(Step::Tidy),
        1 => (0_u64..3).prop_map(Step::Pass),
        1 => Just(Step::Restart),
        1 => batches().prop_map(Step::FailingFlush),
        1 => batches().prop_map(Step::FullDisk),
        4 => (any::<prop::sample::Index>(), 1..u64::MAX).prop_map(|(moment, seed)| Step::Cut(moment, seed)),
    ]
}

/// A store on a simulated disk, and a model of the states that it may be in.
struct Story {
    clock: Arc<AtomicU64>,
    disk: Disk,
    /// `None` only while the store is reopened.
    rig: Option<Rig>,
    /// The batches that the store has, with the times of their commits.
    history: Vec<(u64, Batch)>,
    /// The state before the first batch, and after each.
    states: Vec<State>,
    /// The number of batches that were acknowledged by each number of events.
    acknowledged: Vec<(usize, usize)>,
    /// The same batches on a store in memory, which has no journal.
    model: Rig,
    model_clock: Arc<AtomicU64>,
}

impl Story {
    fn new() -> Self {
        let disk = Disk::default();
        let (clock, model_clock) = (clock(), clock());
        let rig = Rig::open(disk.opener(), &clock).unwrap();
        let acknowledged = vec![(disk.events(), 0)];
        let model = Rig::in_memory(&model_clock);
        let states = vec![State::default()];
        Self { clock, disk, rig: Some(rig), history: Vec::new(), states, acknowledged, model, model_clock }
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    fn rig(&mut self) -> &mut Rig {
        self.rig.as_mut().unwrap()
    }

    /// Adds batches to the model. Returns their outcomes.
    fn expect(&mut self, batches: &[Batch]) -> Vec<String> {
        let now = self.now();
        self.model_clock.store(now, Ordering::SeqCst);
        let mut outcomes = Vec::new();
        for batch in batches {
            outcomes.extend(self.model.commit([batch.clone()]));
            self.states.push(self.model.state());
            self.history.push((now, batch.clone()));
        }
        outcomes.into_iter().map(|outcome| format!("{outcome:?}")).collect()
    }

    fn acknowledge(&mut self) {
        self.acknowledged.push((self.disk.events(), self.history.len()));
    }

    /// Finds out which expected state the store is in, with at least `least` batches, and
    /// removes the batches from the model that it does not have.
    fn settle(&mut self, least: usize) {
        let now = self.now();
        let found = self.rig().state();
        let matching =
            (least..self.states.len()).find(|batches| self.states[*batches].at(now) == found.at(now));
        let Some(batches) = matching else {
            panic!(
                "the store is in none of the states from {least} on: {found:?}; {:?}",
                &self.states[least..]
            );
        };
        if batches < self.history.len() {
            self.history.truncate(batches);
            self.states.truncate(batches + 1);
            if let Some((first, _)) = self.history.first() {
                // A store goes on when its clock is set back, so that this is before it is opened.
                self.model_clock.store(*first, Ordering::SeqCst);
            }
            self.model = Rig::in_memory(&self.model_clock);
            for (now, batch) in &self.history {
                self.model_clock.store(*now, Ordering::SeqCst);
                self.model.commit([batch.clone()]);
            }
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Commit(batches) => {
                let expected = self.expect(&batches);
                let outcomes = self.rig().commit(batches);
                let outcomes: Vec<_> = outcomes.iter().map(|outcome| format!("{outcome:?}")).collect();
                assert_eq!(outcomes, expected);
                self.acknowledge();
            }
            Step::Tidy => {
                self.rig().writer.tidy();
            }
            Step::Pass(milliseconds) => {
                self.clock.fetch_add(milliseconds, Ordering::SeqCst);
            }
            Step::Restart => {
                self.rig.take().unwrap().writer.close();
                assert_eq!(self.disk.journal(), None);
                self.reopen();
            }
            Step::FailingFlush(batches) => {
                self.disk.set_journal_fails(true);
                self.fail(batches, true);
            }
            Step::FullDisk(batches) => {
                self.disk.set_full(true);
                self.fail(batches, false);
            }
            Step::Cut(moment, mut seed) => {
                let first = self.acknowledged[0].0;
                let cut = first + moment.index(self.disk.events() - first + 1);
                let promised = self.acknowledged.iter().rev().find(|(events, _)| *events <= cut);
                let least = promised.unwrap().1;
                self.disk = self.disk.cut_after(cut, &mut || bits(&mut seed));
                self.reopen();
                self.settle(least);
                // The next power cut may happen while this store is being opened.
                self.acknowledged = vec![(0, self.history.len())];
            }
        }
        let least = self.history.len();
        self.settle(least);
    }

    /// Commits batches on a disk that fails, and then works again.
    fn fail(&mut self, batches: Vec<Batch>, lasts: bool) {
        let before = self.history.len();
        self.expect(&batches);
        let outcomes = self.rig().commit(batches);
        self.rig().writer.tidy();
        let refused = outcomes.iter().all(is_read_only);
        let failed = outcomes.iter().any(|outcome| is_read_only(outcome) || is_unavailable(outcome));
        if refused {
            // Nothing has happened, and readers go on.
            let found = self.rig().state();
            assert_eq!(found.at(self.now()), self.states[before].at(self.now()));
        }
        self.disk.set_full(false);
        self.disk.set_journal_fails(false);
        self.rig().writer.tidy();
        if failed && lasts {
            assert!(self.rig().commit([increment("refused")]).iter().all(is_read_only));
            self.reopen();
        }
        assert_eq!(self.rig().redb.health(), StoreHealth::Works);
        self.settle(if failed { before } else { self.history.len() });
        self.acknowledge();
    }

    fn reopen(&mut self) {
        self.rig = None;
        self.rig = Some(Rig::open(self.disk.opener(), &self.clock).unwrap());
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_kept_in_part() {
    let config = ProptestConfig { cases: CASES, max_shrink_iters: 2000, ..ProptestConfig::default() };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..30))| {
        let mut story = Story::new();
        for step in steps {
            story.run(step);
        }
    });
}

#[test]
fn the_power_can_be_cut_at_every_moment_of_a_day() {
    let increments = || Step::Commit(vec![increment("counter"), increment("other")]);
    let long = Step::Commit(vec![setting("long", &"v".repeat(15_000))]);
    let mut day: Vec<Step> = (0..3).map(|_| increments()).collect();
    day.extend([Step::Tidy, increments(), long, increments(), Step::Restart, increments(), Step::Tidy]);
    let mut whole = Story::new();
    for step in &day {
        whole.run(step.clone());
    }
    let first = whole.acknowledged[0].0;
    let moments = whole.disk.events() - first + 1;
    for moment in 0..moments {
        let cut = first + moment;
        let least = whole.acknowledged.iter().rev().find(|(events, _)| *events <= cut).unwrap().1;
        let mut seed = u64::try_from(moment).unwrap() + 1;
        let disk = whole.disk.cut_after(cut, &mut || bits(&mut seed));
        let opened = state_on(&disk, &whole.clock);
        assert!(whole.states[least..].contains(&opened), "cut at {moment}: {opened:?}");
        // And once more while it is opened after that, at every third moment.
        for again in (moment % 3..=disk.events()).step_by(3) {
            let disk = disk.cut_after(again, &mut || bits(&mut seed));
            assert_eq!(state_on(&disk, &whole.clock), opened, "cut at {moment} and {again}");
        }
    }
}

/// The state of the store on a disk that was not closed.
fn state_on(disk: &Disk, clock: &Arc<AtomicU64>) -> State {
    Rig::open(disk.opener(), clock).unwrap().state()
}
