//! What a piece of work has read, so that its outcome can be cached until any of that
//! is written.
//!
//! Keys are spread over *stripes*, each with a version. A commit raises the versions of
//! its keys once its writes can be read and before it is acknowledged. A query notes the
//! version of each key before it reads the key. While these versions are unchanged,
//! reading again would give the same answers. So whoever has been told that a write was
//! done sees it, whatever is cached.
//!
//! Where only some fields of a hash were read, only writes to these fields count. Two
//! keys that share a stripe make a cached value end early, never late.

use super::batch::{Batch, Write};
use super::query::{Query, Read};
use crate::limits::{MAX_TRACKED_FIELDS, STRIPES};
use std::cell::RefCell;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How keys are assigned to stripes.
enum Hashing {
    /// At random, so that nobody can choose keys that share a stripe.
    Random(RandomState),
    /// The same in each run, for tests.
    Seeded(u64),
}

impl Hashing {
    fn hash(&self, item: &VersionedItem<'_>) -> u64 {
        match self {
            Self::Random(state) => state.hash_one(item),
            Self::Seeded(seed) => BuildHasherDefault::<DefaultHasher>::new().hash_one((seed, item)),
        }
    }
}

/// The number of a stripe.
type Stripe = u32;

/// What has a version, by its stripe.
#[derive(Hash)]
enum VersionedItem<'a> {
    /// Raised by every write to the key.
    Key(&'a str),
    /// Raised by every write to the field of the hash.
    Field(&'a str, &'a str),
    /// Raised by every write to the key that may be to any field of it.
    AllFields(&'a str),
}

tokio::task_local! {
    /// What the work in progress has read so far.
    static RECORDING: RefCell<Reads>;
}

/// The versions of all keys.
pub(super) struct Versions {
    stripes: Box<[AtomicU32]>,
    /// How many times versions were raised.
    raised: AtomicU64,
    hashing: Hashing,
}

/// With the same stripes in each run.
#[cfg(test)]
impl Default for Versions {
    fn default() -> Self {
        Self::new(Some(1))
    }
}

impl Versions {
    /// New versions. Without a seed, keys are assigned to stripes at random.
    pub(super) fn new(seed: Option<u64>) -> Self {
        Self {
            stripes: (0..STRIPES).map(|_| AtomicU32::new(0)).collect(),
            raised: AtomicU64::new(0),
            hashing: seed.map_or_else(|| Hashing::Random(RandomState::new()), Hashing::Seeded),
        }
    }

    fn stripe(&self, item: &VersionedItem<'_>) -> Stripe {
        let [.., a, b, c, d] = self.hashing.hash(item).to_be_bytes();
        Stripe::from_be_bytes([a, b, c, d]) % STRIPES
    }

    fn version(&self, stripe: Stripe) -> u32 {
        self.at(stripe).map_or(0, |version| version.load(Ordering::Acquire))
    }

    fn at(&self, stripe: Stripe) -> Option<&AtomicU32> {
        self.stripes.get(usize::try_from(stripe).ok()?)
    }

    fn note(&self, item: &VersionedItem<'_>, reads: &mut Reads) {
        let stripe = self.stripe(item);
        reads.stripes.push((stripe, self.version(stripe)));
    }

    fn note_read(&self, read: &Read, reads: &mut Reads) {
        match read {
            Read::HashFields(key, fields) if fields.len() <= MAX_TRACKED_FIELDS => {
                self.note(&VersionedItem::AllFields(key), reads);
                fields.iter().for_each(|field| self.note(&VersionedItem::Field(key, field), reads));
            }
            other => self.note(&VersionedItem::Key(other.key()), reads),
        }
    }

    fn raise(&self, item: &VersionedItem<'_>) {
        if let Some(version) = self.at(self.stripe(item)) {
            version.fetch_add(1, Ordering::Release);
        }
    }

    /// Notes what a query is about to read: for the work in progress, and for each of
    /// its tracked reads, in their order.
    pub(super) fn note_query(&self, query: &Query) -> Vec<Reads> {
        let raised = self.raised.load(Ordering::Acquire);
        // Without a recording nobody wants to know.
        let _ = RECORDING.try_with(|recording| {
            let mut recording = recording.borrow_mut();
            recording.checked = recording.checked.min(raised);
            query.recorded_reads().for_each(|read| self.note_read(read, &mut recording));
        });
        let noted = |read| {
            let mut reads = Reads { stripes: Vec::new(), checked: raised };
            self.note_read(read, &mut reads);
            reads
        };
        query.tracked_reads().map(noted).collect()
    }

    /// Ends the read sets that have any key that a batch writes. Called between the
    /// moment when the writes can be read and their acknowledgement.
    pub(super) fn raise_written(&self, batch: &Batch) {
        for write in batch.writes() {
            write.written_keys().for_each(|key| self.raise(&VersionedItem::Key(key)));
            match write {
                Write::SetFields(key, fields) => {
                    fields.iter().for_each(|(field, _)| self.raise(&VersionedItem::Field(key, field)));
                }
                Write::DeleteField(key, field) | Write::IncrementField(key, field, _) => {
                    self.raise(&VersionedItem::Field(key, field));
                }
                Write::Set(key, ..)
                | Write::Delete(key)
                | Write::Expire(key, _)
                | Write::SortedStore(key, _) => self.raise(&VersionedItem::AllFields(key)),
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
        self.raised.fetch_add(1, Ordering::Release);
    }

    /// Ends the read sets that have a key or any field of it.
    pub(super) fn raise_key(&self, key: &str) {
        self.raise(&VersionedItem::Key(key));
        self.raise(&VersionedItem::AllFields(key));
        self.raised.fetch_add(1, Ordering::Release);
    }

    /// Ends all read sets.
    pub(super) fn raise_all(&self) {
        for version in &self.stripes {
            version.fetch_add(1, Ordering::Release);
        }
        self.raised.fetch_add(1, Ordering::Release);
    }
}

/// What is being read, while a value is made of it: see [`Tracked`].
#[derive(Debug, Clone)]
pub struct Reads {
    /// Stripes with their versions before they were read.
    stripes: Vec<(Stripe, u32)>,
    /// The lowest count of raises at which any of them was noted.
    checked: u64,
}

impl Default for Reads {
    /// Nothing has been read.
    fn default() -> Self {
        Self { stripes: Vec::new(), checked: u64::MAX }
    }
}

impl Reads {
    /// Adds what was read for something else that is used as well.
    pub fn add(&mut self, other: &ReadSet) {
        self.stripes.extend_from_slice(&other.reads);
        self.checked = self.checked.min(other.checked.load(Ordering::Relaxed));
    }

    fn append(&mut self, other: Self) {
        if self.stripes.is_empty() {
            self.stripes = other.stripes;
        } else {
            self.stripes.extend(other.stripes);
        }
        self.checked = self.checked.min(other.checked);
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
    /// Stripes with their versions before they were read, the lowest first.
    reads: Box<[(Stripe, u32)]>,
    /// The count of raises at which `reads` were last found unchanged.
    checked: AtomicU64,
}

impl From<Reads> for ReadSet {
    fn from(reads: Reads) -> Self {
        let Reads { stripes: mut reads, checked } = reads;
        // Of what was read twice the older version counts.
        reads.sort_unstable();
        reads.dedup_by_key(|(stripe, _)| *stripe);
        Self { reads: reads.into_boxed_slice(), checked: AtomicU64::new(checked) }
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
        let raised = versions.raised.load(Ordering::Acquire);
        if self.checked.load(Ordering::Relaxed) == raised {
            return true;
        }
        let is_unchanged = self.reads.iter().all(|(stripe, version)| versions.version(*stripe) == *version);
        if is_unchanged {
            self.checked.store(raised, Ordering::Relaxed);
        }
        is_unchanged
    }

    /// Adds the set to the recording in progress, if there is one: the value that was
    /// made from it is being used.
    pub fn note_use(&self) {
        let _ = RECORDING.try_with(|recording| recording.borrow_mut().add(self));
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.reads)
    }
}
