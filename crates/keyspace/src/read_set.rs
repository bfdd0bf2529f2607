//! What a piece of work has read, so that its outcome can be cached until any of that
//! is written.
//!
//! Everything that can be read has a *subject*: a key, or a field of a hash. Each commit
//! takes a number, and notes it for the subjects that it writes, once its writes can be
//! read and before it is acknowledged. A query notes the latest number before it reads.
//! While no subject that was read has a higher number, reading again would give the same
//! answers. So whoever has been told that a write was done sees it, whatever is cached.
//!
//! Where only some fields of a hash were read, only writes to these fields count.
//!
//! The numbers of the latest writes are kept by subject. A table of fewer places, which
//! subjects share, answers nearly all questions without them: a place with a low number
//! says that none of its subjects was written lately.

use super::batch::{Batch, Write};
use super::query::{Query, Read};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// Places of the shared table: 2 MiB of them.
const PLACES: u64 = 1 << 18;

/// Subjects whose latest writes are kept before those from the last time are dropped:
/// some 4 MiB. A busy site writes thousands in a second. A value that is used at least
/// every 20 seconds then never depends on what was dropped.
const LATEST_WRITES: usize = 1 << 16;

/// A read of more fields than this counts as a read of the whole hash, which keeps the
/// read set short.
const MOST_FIELDS: usize = 4;

/// Seeded at random, so that nobody can choose keys that share a place.
#[cfg(not(test))]
type Hashing = std::hash::RandomState;
/// Whether keys of tests share a place is the same in each run.
#[cfg(test)]
type Hashing = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// The hash of a subject.
type SubjectHash = u64;

/// What can be written.
#[derive(Hash)]
enum Subject<'a> {
    /// Written by every write to the key.
    Key(&'a str),
    /// Written by every write to the field of the hash.
    Field(&'a str, &'a str),
    /// Written by every write to the key that may be to any field of it.
    AllFields(&'a str),
}

tokio::task_local! {
    /// What the work in progress has read so far.
    static RECORDING: RefCell<Reads>;
}

/// When what was written last.
pub(super) struct Versions {
    /// The highest number of the subjects that share a place.
    places: Box<[AtomicU64]>,
    /// The number of the latest commit whose subjects are all noted.
    latest: AtomicU64,
    writes: RwLock<LatestWrites>,
    hasher: Hashing,
}

/// The numbers of the latest writes, by subject.
#[derive(Default)]
struct LatestWrites {
    current: HashMap<SubjectHash, u64>,
    /// Those before, until as many have come again.
    previous: HashMap<SubjectHash, u64>,
    /// Writes up to this number may have been dropped.
    dropped: u64,
    /// Those of `current` have this number or a higher one.
    began: u64,
}

impl LatestWrites {
    fn note(&mut self, subject: SubjectHash, number: u64) {
        if self.current.len() >= LATEST_WRITES {
            self.previous = std::mem::take(&mut self.current);
            self.dropped = self.began;
            self.began = number;
        }
        self.current.insert(subject, number);
    }

    /// Whether a subject may have been written after a number.
    fn may_be_after(&self, subject: SubjectHash, number: u64) -> bool {
        let written = self.current.get(&subject).or_else(|| self.previous.get(&subject));
        number < self.dropped || written.is_some_and(|written| *written > number)
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            latest: AtomicU64::new(0),
            writes: RwLock::default(),
            hasher: Hashing::default(),
        }
    }
}

impl Versions {
    fn place(&self, subject: SubjectHash) -> Option<&AtomicU64> {
        self.places.get(usize::try_from(subject % PLACES).ok()?)
    }

    fn note_read(&self, read: &Read, reads: &mut Reads) {
        let mut note = |subject: &Subject<'_>| reads.subjects.push(self.hasher.hash_one(subject));
        match read {
            Read::HashFields(key, fields) if fields.len() <= MOST_FIELDS => {
                note(&Subject::AllFields(key));
                fields.iter().for_each(|field| note(&Subject::Field(key, field)));
            }
            other => note(&Subject::Key(other.key())),
        }
    }

    /// Notes what a query is about to read: for the work in progress, and for each of
    /// its tracked reads, in their order.
    pub(super) fn note_query(&self, query: &Query) -> Vec<Reads> {
        let latest = self.latest.load(Ordering::Acquire);
        // Without a recording nobody wants to know.
        let _ = RECORDING.try_with(|recording| {
            let mut recording = recording.borrow_mut();
            recording.as_of = recording.as_of.min(latest);
            query.recorded_reads().for_each(|read| self.note_read(read, &mut recording));
        });
        let noted = |read| {
            let mut reads = Reads { subjects: Vec::new(), as_of: latest };
            self.note_read(read, &mut reads);
            reads
        };
        query.tracked_reads().map(noted).collect()
    }

    /// Notes the writes of a batch, which ends the read sets that have any of them. Called
    /// between the moment when the writes can be read and their acknowledgement.
    pub(super) fn raise_written(&self, batch: &Batch) {
        let mut subjects = Vec::new();
        let mut note = |subject: &Subject<'_>| subjects.push(self.hasher.hash_one(subject));
        for write in batch.writes() {
            write.written_keys().for_each(|key| note(&Subject::Key(key)));
            match write {
                Write::SetFields(key, fields) => {
                    fields.iter().for_each(|(field, _)| note(&Subject::Field(key, field)));
                }
                Write::DeleteField(key, field) | Write::IncrementField(key, field, _) => {
                    note(&Subject::Field(key, field));
                }
                Write::Set(key, ..)
                | Write::Delete(key)
                | Write::Expire(key, _)
                | Write::SortedStore(key, _) => note(&Subject::AllFields(key)),
                // Never a hash: it has no fields to read.
                Write::Increment(..)
                | Write::AddMember(..)
                | Write::RemoveMember(..)
                | Write::SortedAdd(..)
                | Write::SortedAddBounded(..)
                | Write::SortedRaise(..)
                | Write::SortedAddIfPresent(..)
                | Write::SortedIncrement(..)
                | Write::SortedRemove(..)
                | Write::SortedTrim(..)
                | Write::Publish(..) => {}
            }
        }
        self.raise(&subjects);
    }

    /// Ends the read sets that have a key or any field of it.
    pub(super) fn raise_key(&self, key: &str) {
        let subjects = [Subject::Key(key), Subject::AllFields(key)];
        self.raise(&subjects.map(|subject| self.hasher.hash_one(&subject)));
    }

    fn raise(&self, subjects: &[SubjectHash]) {
        // One at a time: who sees a number as the latest sees all that it was noted for.
        let mut writes = self.writes.write().unwrap_or_else(PoisonError::into_inner);
        let number = self.latest.load(Ordering::Relaxed) + 1;
        for subject in subjects {
            writes.note(*subject, number);
            if let Some(place) = self.place(*subject) {
                place.store(number, Ordering::Release);
            }
        }
        self.latest.store(number, Ordering::Release);
    }

    /// Ends all read sets.
    pub(super) fn raise_all(&self) {
        let mut writes = self.writes.write().unwrap_or_else(PoisonError::into_inner);
        let number = self.latest.load(Ordering::Relaxed) + 1;
        *writes = LatestWrites { dropped: number, began: number, ..LatestWrites::default() };
        self.places.iter().for_each(|place| place.store(number, Ordering::Release));
        self.latest.store(number, Ordering::Release);
    }
}

/// What is being read, while a value is made of it: see [`Tracked`].
#[derive(Debug, Clone)]
pub struct Reads {
    subjects: Vec<SubjectHash>,
    /// The lowest of the numbers that were the latest when any of them was noted.
    as_of: u64,
}

impl Default for Reads {
    /// Nothing has been read.
    fn default() -> Self {
        Self { subjects: Vec::new(), as_of: u64::MAX }
    }
}

impl Reads {
    /// Adds what was read for something else that is used as well.
    pub fn add(&mut self, other: &ReadSet) {
        // Before the subjects: it only ever rises, and never above what holds for them.
        self.as_of = self.as_of.min(other.as_of.load(Ordering::Relaxed));
        self.subjects.extend_from_slice(&other.subjects);
    }

    fn append(&mut self, other: Self) {
        if self.subjects.is_empty() {
            self.subjects = other.subjects;
        } else {
            self.subjects.extend(other.subjects);
        }
        self.as_of = self.as_of.min(other.as_of);
    }
}

/// A value, and what was read to make it. What is made of tracked values is tracked
/// itself: the reads go along, and nobody lists keys by hand.
#[derive(Debug, Clone)]
pub struct Tracked<T> {
    value: T,
    reads: Reads,
}

impl<T> Tracked<T> {
    /// A value that was made of what `reads` has collected.
    pub const fn new(value: T, reads: Reads) -> Self {
        Self { value, reads }
    }

    /// A value that was made while `reads` was recorded.
    pub fn recorded(value: T, reads: &ReadSet) -> Self {
        let mut recorded = Reads::default();
        recorded.add(reads);
        Self { value, reads: recorded }
    }

    /// The value, for a look at it. What is made of it must come by
    /// [`Tracked::map`] or [`Tracked::collect_into`].
    pub const fn peek(&self) -> &T {
        &self.value
    }

    /// The value; what was read for it is added to `reads`.
    pub fn collect_into(self, reads: &mut Reads) -> T {
        reads.append(self.reads);
        self.value
    }

    /// Another value that is made of this one alone.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Tracked<U> {
        Tracked { value: make(self.value), reads: self.reads }
    }

    /// The value, which is not going to be cached, and what was read for it.
    pub fn into_parts(self) -> (T, ReadSet) {
        (self.value, self.reads.into())
    }

    /// The value alone, for work that caches nothing.
    pub fn into_value(self) -> T {
        self.value
    }
}

impl<T> Tracked<Option<T>> {
    /// The value, if there is one.
    pub fn transpose(self) -> Option<Tracked<T>> {
        let Self { value, reads } = self;
        Some(Tracked { value: value?, reads })
    }
}

/// What was read to make a value.
#[derive(Debug)]
pub struct ReadSet {
    subjects: Box<[SubjectHash]>,
    /// None of them has been written since this was the latest number, or before.
    as_of: AtomicU64,
}

impl From<Reads> for ReadSet {
    fn from(reads: Reads) -> Self {
        let Reads { mut subjects, as_of } = reads;
        subjects.sort_unstable();
        subjects.dedup();
        Self { subjects: subjects.into_boxed_slice(), as_of: AtomicU64::new(as_of) }
    }
}

impl ReadSet {
    /// Does a piece of work and records all that it reads.
    pub(super) async fn record<T>(work: impl Future<Output = T>) -> (T, Self) {
        let (outcome, reads) = RECORDING
            .scope(RefCell::default(), async {
                let outcome = work.await;
                (outcome, RECORDING.with(RefCell::take))
            })
            .await;
        let reads = Self::from(reads);
        reads.note_use();
        (outcome, reads)
    }

    /// Whether nothing has been written that is in the set.
    pub(super) fn is_unchanged(&self, versions: &Versions) -> bool {
        let latest = versions.latest.load(Ordering::Acquire);
        let as_of = self.as_of.load(Ordering::Relaxed);
        if as_of == latest {
            return true;
        }
        let is_later = |subject: &&SubjectHash| {
            versions.place(**subject).is_some_and(|place| place.load(Ordering::Acquire) > as_of)
        };
        let mut suspects = self.subjects.iter().filter(is_later).peekable();
        if suspects.peek().is_some() {
            let writes = versions.writes.read().unwrap_or_else(PoisonError::into_inner);
            if suspects.any(|subject| writes.may_be_after(*subject, as_of)) {
                return false;
            }
        }
        // All writes up to the latest were noted before it became the latest.
        self.as_of.fetch_max(latest, Ordering::Relaxed);
        true
    }

    /// Adds the set to the recording in progress, if there is one: the value that was
    /// made from it is being used.
    pub fn note_use(&self) {
        let _ = RECORDING.try_with(|recording| recording.borrow_mut().add(self));
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.subjects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(keys: impl IntoIterator<Item = String>) -> Batch {
        let mut batch = Batch::new();
        keys.into_iter().for_each(|key| batch.increment(key, 1));
        batch
    }

    fn read(versions: &Versions, key: &str) -> ReadSet {
        let mut query = Query::new();
        let handle = query.string(key);
        let _ = query.track(handle);
        let mut reads = Reads::default();
        versions.note_query(&query).into_iter().for_each(|noted| reads.append(noted));
        reads.into()
    }

    fn write(versions: &Versions, key: &str) {
        versions.raise_written(&batch([key.to_owned()]));
    }

    /// A key that shares its place with another.
    fn neighbour(versions: &Versions, key: &str) -> String {
        let place = |key: &str| versions.hasher.hash_one(Subject::Key(key)) % PLACES;
        let (wanted, mut keys) = (place(key), (0..).map(|number| format!("other:{number}")));
        keys.find(|key| place(key) == wanted).unwrap_or_default()
    }

    #[test]
    fn a_write_to_a_key_with_the_same_place_changes_nothing() {
        let versions = Versions::default();
        let reads = read(&versions, "key");
        write(&versions, &neighbour(&versions, "key"));
        assert!(reads.is_unchanged(&versions));
        write(&versions, "key");
        assert!(!reads.is_unchanged(&versions));
    }

    #[test]
    fn what_is_not_known_any_more_counts_as_written() {
        let versions = Versions::default();
        let neighbour = neighbour(&versions, "key");
        let others = |from: usize, count: usize| batch((from..from + count).map(|n| format!("filler:{n}")));
        // Used now and then, it lives on, however much is written.
        let (used, unused) = (read(&versions, "key"), read(&versions, "key"));
        for round in 0..4 {
            write(&versions, &neighbour);
            assert!(used.is_unchanged(&versions), "{round}");
            versions.raise_written(&others(round * LATEST_WRITES, LATEST_WRITES - 1));
        }
        assert!(used.is_unchanged(&versions));
        // What was written since it was read has been dropped.
        assert!(!unused.is_unchanged(&versions));
        // What was written is never taken for unchanged, known or dropped.
        for count in [0, LATEST_WRITES - 2, 2 * LATEST_WRITES + 2] {
            let reads = read(&versions, "key");
            write(&versions, "key");
            versions.raise_written(&others(0, count));
            assert!(!reads.is_unchanged(&versions), "{count}");
        }
    }

    #[test]
    fn a_batch_that_is_larger_than_what_is_kept_ends_what_it_writes() {
        let versions = Versions::default();
        let keys = || (0..2 * LATEST_WRITES + 10).map(|number| format!("key:{number}"));
        let reads: Vec<ReadSet> =
            [0, LATEST_WRITES, 2 * LATEST_WRITES].map(|n| read(&versions, &format!("key:{n}"))).into();
        versions.raise_written(&batch(keys()));
        assert!(reads.iter().all(|reads| !reads.is_unchanged(&versions)));
        let fresh = read(&versions, "key:0");
        assert!(fresh.is_unchanged(&versions));
        versions.raise_all();
        assert!(!fresh.is_unchanged(&versions));
        assert!(read(&versions, "key:0").is_unchanged(&versions));
    }
}
