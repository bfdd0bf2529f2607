//! The flags of one thing, and its row in the review queue.

use crate::review::{self, QueuePlace};
use crate::values::{
    Flag, FlagReason, FlagVerdict, ModerationId, QUEUE_FLAGS, QUEUE_NOTES, STORED_OUTCOMES, Thing, Timestamp,
    UserId, Weight,
};
use crate::{fields, hooks, keys};
use std::collections::BTreeMap;
use tidings_keyspace::{Batch, Fetch, read};

/// The field of a hash of flags with the weight and the time of the last change of those that
/// wait, `<hundredths>:<time>`. Every change of the flags checks that it is as it was read.
const WAITING: &str = "waiting";
/// The weight of the row of something that flags have hidden when all of them are taken back: less than
/// that of any flag.
pub(crate) const LEFT_HIDDEN: u64 = 1;
/// Precedes what a person was right to flag.
pub(super) const UPHELD: char = '+';
/// Precedes what a person was wrong to flag.
pub(super) const REJECTED: char = '-';

/// The flags of one thing, as they were read and then changed.
#[derive(Debug, Clone)]
pub(crate) struct ThingFlags {
    thing: Thing,
    flags: BTreeMap<UserId, Flag>,
    waiting: Option<String>,
    place: Option<QueuePlace>,
}

impl ThingFlags {
    /// The flags of a thing.
    pub(crate) fn on(thing: Thing) -> impl Fetch<Value = Self> {
        let reads = (read::hash(keys::flags(&thing)), read::score(keys::REVIEW_QUEUE, thing.key()));
        reads.map(move |(hash, place)| {
            let waiting = hash.get(WAITING).map(str::to_owned);
            let mut flags = BTreeMap::new();
            for (field, stored) in hash.0.iter().filter(|(field, _)| field != WAITING) {
                match (field.parse(), stored.parse::<Flag>()) {
                    (Ok(user), Ok(flag)) => _ = flags.insert(user, flag),
                    _ => fields::report(&keys::flags(&thing), Some(field)),
                }
            }
            Self { thing, flags, waiting, place: place.and_then(QueuePlace::from_score) }
        })
    }

    /// The place of its row in the queue, if it has one.
    pub(crate) const fn place(&self) -> Option<QueuePlace> {
        self.place
    }

    /// The flag of a person.
    pub(crate) fn of(&self, person: UserId) -> Option<&Flag> {
        self.flags.get(&person)
    }

    /// How many there are, decided or not.
    pub(crate) fn count(&self) -> usize {
        self.flags.len()
    }

    /// The flags that no moderator has decided yet.
    fn waiting(&self) -> impl Iterator<Item = (&UserId, &Flag)> {
        self.flags.iter().filter(|(_, flag)| flag.waits())
    }

    /// The weight of those that wait.
    pub(crate) fn weight(&self) -> u64 {
        self.waiting().map(|(_, flag)| flag.weight.0).sum()
    }

    /// How often each reason is given by those that wait, the most frequent first.
    pub(crate) fn reasons(&self) -> Vec<(FlagReason, u64)> {
        let mut counts: BTreeMap<FlagReason, u64> = BTreeMap::new();
        self.waiting().for_each(|(_, flag)| *counts.entry(flag.reason).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        counts
    }

    /// Those that wait, the earliest first, and not too many.
    pub(crate) fn earliest(&self) -> Vec<(UserId, Flag)> {
        let mut waiting: Vec<_> = self.waiting().map(|(person, flag)| (*person, flag.clone())).collect();
        waiting.sort_by_key(|(person, flag)| (flag.time, *person));
        waiting.truncate(QUEUE_FLAGS);
        waiting
    }

    /// When those that wait came to weigh so many flags that they hide the thing; `None` if they weigh less.
    pub(crate) fn heavy_since(&self, hide_at: u64) -> Option<Timestamp> {
        let mut waiting: Vec<(Timestamp, u64)> =
            self.waiting().map(|(_, flag)| (flag.time, flag.weight.0)).collect();
        waiting.sort_unstable();
        let mut weight = 0;
        let hides = |(_, more): &(Timestamp, u64)| {
            weight += more;
            weight >= hide_at * Weight::ONE.0
        };
        waiting.into_iter().find(hides).map(|(time, _)| time)
    }

    /// The notes of those that wait, each once, and not too many.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.waiting().map(|(_, flag)| flag.note.to_string()).filter(|note| !note.is_empty()).collect();
        notes.sort_unstable();
        notes.dedup();
        notes.truncate(QUEUE_NOTES);
        notes
    }

    /// Adds a flag, and the row in the queue.
    pub(super) fn add(&mut self, batch: &mut Batch, (person, flag): (UserId, Flag), now: Timestamp) {
        batch.field_absent(keys::flags(&self.thing), person.to_string());
        self.write(batch, person, flag);
        self.write_place(batch, now);
        hooks::write(batch, &hooks::Event::Flag(self.thing.clone()));
    }

    /// Removes a flag, and the row if none is left, unless flags have hidden the thing: then it waits for
    /// a moderator.
    pub(super) fn remove(&mut self, batch: &mut Batch, person: UserId, now: Timestamp, is_hidden: bool) {
        self.flags.remove(&person);
        if is_hidden && self.waiting().next().is_none() {
            self.write_this_place(batch, QueuePlace { weight: LEFT_HIDDEN, since: self.next_time(now) });
        } else {
            self.write_place(batch, now);
        }
        batch.delete_field(keys::flags(&self.thing), person.to_string());
    }

    /// Decides the flags that wait, by a line of the log, and takes the row out of the queue. The
    /// batch fails if they or the row have changed since they were read.
    pub(crate) fn decide(&self, batch: &mut Batch, verdict: FlagVerdict, by: ModerationId) {
        let key = keys::flags(&self.thing);
        batch.field_unchanged(&key, WAITING, self.waiting.as_deref());
        for (person, flag) in self.waiting() {
            has_its_note(batch, &key, *person, flag);
            let decided = Flag { decided: Some(by), ..flag.clone() };
            batch.set_field(&key, person.to_string(), decided.to_string());
            let sign = match verdict {
                FlagVerdict::Upheld => UPHELD,
                FlagVerdict::Rejected => REJECTED,
                FlagVerdict::Closed => continue,
            };
            let outcomes = keys::user_flag_outcomes(*person);
            batch.sorted_add(&outcomes, format!("{sign}{}", self.thing.key()), by.0 as f64);
            batch.sorted_trim(&outcomes, STORED_OUTCOMES);
        }
        if self.waiting.is_some() {
            batch.delete_field(&key, WAITING);
        }
        review::settle(batch, &self.thing);
    }

    /// Takes back what the action of a line of the log decided: its flags wait again, as if it had
    /// not been done. `before` is the place of the row at that time.
    pub(crate) fn reopen(
        &mut self,
        batch: &mut Batch,
        by: ModerationId,
        before: Option<QueuePlace>,
        now: Timestamp,
    ) {
        let key = keys::flags(&self.thing);
        let was_quiet = self.place.is_none();
        let decided: Vec<(UserId, Flag)> = self
            .flags
            .iter()
            .filter(|(_, flag)| flag.decided == Some(by))
            .map(|(person, flag)| (*person, Flag { decided: None, ..flag.clone() }))
            .collect();
        for (person, flag) in decided {
            has_its_note(batch, &key, person, &Flag { decided: Some(by), ..flag.clone() });
            for sign in [UPHELD, REJECTED] {
                let member = format!("{sign}{}", self.thing.key());
                batch.sorted_remove(keys::user_flag_outcomes(person), member);
            }
            batch.set_field(&key, person.to_string(), flag.to_string());
            self.flags.insert(person, flag);
        }
        match before {
            // Nothing has happened since: the row is exactly what it was.
            Some(before) if was_quiet => self.write_this_place(batch, before),
            _ if self.waiting().next().is_some() => self.write_place(batch, now),
            _ => {}
        }
    }

    /// Marks the row as changed, so that a decision about what it was before is refused.
    pub(crate) fn touch(&mut self, batch: &mut Batch, now: Timestamp) {
        if let Some(place) = self.place {
            self.write_this_place(batch, QueuePlace { since: self.next_time(now), ..place });
        }
    }

    fn write(&mut self, batch: &mut Batch, person: UserId, flag: Flag) {
        batch.set_field(keys::flags(&self.thing), person.to_string(), flag.to_string());
        self.flags.insert(person, flag);
    }

    /// The time of a change now: later than that of the last one.
    fn next_time(&self, now: Timestamp) -> Timestamp {
        self.place.map_or(now, |place| now.max(Timestamp(place.since.0.saturating_add(1))))
    }

    /// Moves the row to where the flags that wait place it, or removes it if there are none.
    fn write_place(&mut self, batch: &mut Batch, now: Timestamp) {
        if self.waiting().next().is_some() {
            self.write_this_place(batch, QueuePlace { weight: self.weight(), since: self.next_time(now) });
            return;
        }
        let key = keys::flags(&self.thing);
        batch.field_unchanged(&key, WAITING, self.waiting.as_deref());
        if self.waiting.take().is_some() {
            batch.delete_field(&key, WAITING);
            review::settle(batch, &self.thing);
        }
        self.place = None;
    }

    fn write_this_place(&mut self, batch: &mut Batch, place: QueuePlace) {
        let key = keys::flags(&self.thing);
        batch.field_unchanged(&key, WAITING, self.waiting.as_deref());
        if self.waiting().next().is_some() || place.weight == LEFT_HIDDEN {
            let waiting = format!("{}:{}", place.weight, place.since);
            batch.set_field(&key, WAITING, waiting.as_str());
            self.waiting = Some(waiting);
        }
        review::place(batch, &self.thing, place);
        if self.place.is_none() {
            hooks::write(batch, &hooks::Event::Queue(self.thing.clone()));
        }
        self.place = Some(place);
    }
}

/// Makes a batch fail if the note of a flag has been erased since it was read.
fn has_its_note(batch: &mut Batch, key: &str, person: UserId, flag: &Flag) {
    if !flag.note.is_empty() {
        batch.field_equals(key, person.to_string(), flag.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Weight;
    use tidings_keyspace::Store;

    const NOW: Timestamp = Timestamp(1_700_000_000);

    fn thing() -> Thing {
        "story:7".parse().unwrap()
    }

    fn flag(reason: FlagReason, weight: u64) -> Flag {
        Flag { reason, time: NOW, weight: Weight(weight), decided: None, note: "".into() }
    }

    async fn read(store: &Store) -> ThingFlags {
        store.fetch(ThingFlags::on(thing())).await.unwrap()
    }

    async fn change(store: &Store, change: impl FnOnce(&mut ThingFlags, &mut Batch)) {
        let mut flags = read(store).await;
        let mut batch = Batch::new();
        change(&mut flags, &mut batch);
        store.commit(batch).await.unwrap();
    }

    /// Everything that is stored about the flags of users 1 and 2.
    async fn stored(store: &Store) -> (Vec<(String, String)>, [Vec<(String, f64)>; 3]) {
        use tidings_keyspace::{Order, read};
        let [one, other] = [UserId(1), UserId(2)].map(keys::user_flag_outcomes);
        let lists = [keys::REVIEW_QUEUE.to_owned(), one, other];
        let lists = lists.map(|key| read::sorted_range(key, Order::Ascending, 0, 100));
        let (mut flags, lists) = store.fetch((read::hash(keys::flags(&thing())), lists)).await.unwrap();
        // They have no order.
        flags.0.sort();
        (flags.0, lists)
    }

    #[tokio::test]
    async fn flags_place_the_row_and_each_change_has_a_time_of_its_own() {
        let store = Store::in_memory().await.unwrap();
        change(&store, |flags, batch| flags.add(batch, (UserId(1), flag(FlagReason::Spam, 100)), NOW)).await;
        let first = read(&store).await.place().unwrap();
        assert_eq!(first, QueuePlace { weight: 100, since: NOW });
        change(&store, |flags, batch| flags.add(batch, (UserId(2), flag(FlagReason::Harmful, 50)), NOW))
            .await;
        let flags = read(&store).await;
        assert_eq!(flags.place().unwrap(), QueuePlace { weight: 150, since: Timestamp(NOW.0 + 1) });
        assert_eq!(flags.reasons(), [(FlagReason::Spam, 1), (FlagReason::Harmful, 1)]);
        for user in [1, 2] {
            change(&store, |flags, batch| flags.remove(batch, UserId(user), NOW, false)).await;
        }
        assert_eq!(read(&store).await.place(), None);
        assert_eq!(read(&store).await.count(), 0);
    }

    #[tokio::test]
    async fn reopening_takes_a_decision_back_exactly() {
        for verdict in [FlagVerdict::Upheld, FlagVerdict::Rejected, FlagVerdict::Closed] {
            let store = Store::in_memory().await.unwrap();
            for user in [1, 2] {
                let flag = flag(FlagReason::Spam, 100);
                change(&store, |flags, batch| flags.add(batch, (UserId(user), flag), NOW)).await;
            }
            let before = stored(&store).await;
            let place = read(&store).await.place();
            let line = ModerationId(3);
            change(&store, |flags, batch| flags.decide(batch, verdict, line)).await;
            let decided = read(&store).await;
            assert_eq!((decided.place(), decided.weight(), decided.count()), (None, 0, 2));
            assert_ne!(stored(&store).await, before);
            let later = Timestamp(NOW.0 + 500);
            change(&store, |flags, batch| flags.reopen(batch, line, place, later)).await;
            assert_eq!(stored(&store).await, before, "{verdict:?}");
        }
    }

    #[tokio::test]
    async fn a_decision_about_flags_that_have_changed_is_rejected() {
        let store = Store::in_memory().await.unwrap();
        change(&store, |flags, batch| flags.add(batch, (UserId(1), flag(FlagReason::Spam, 100)), NOW)).await;
        let seen = read(&store).await;
        change(&store, |flags, batch| flags.add(batch, (UserId(2), flag(FlagReason::Spam, 100)), NOW)).await;
        let mut batch = Batch::new();
        seen.decide(&mut batch, FlagVerdict::Rejected, ModerationId(1));
        assert!(store.commit(batch).await.is_err());
        assert_eq!(read(&store).await.weight(), 200);
    }
}
