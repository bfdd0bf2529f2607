//! Read sets: what was read to make a value, so that the value can be cached until any of
//! it is written.
//!
//! Keys are divided into *stripes*, each with a version. A commit raises the versions of
//! its keys after its writes become readable and before it is acknowledged. A query notes
//! the version of each key before it reads the key. While these versions are unchanged,
//! reading again would give the same answers. So a caller whose write was acknowledged
//! never gets a cached value from before it.
//!
//! If only some fields of a hash were read, only writes to these fields count. When two
//! keys share a stripe, a write to one also ends the read sets of the other: early, but
//! never late.

use super::batch::{Batch, Write};
use super::query::{Query, Read};
use crate::limits::{MAX_TRACKED_FIELDS, STRIPES};
use std::cell::RefCell;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How keys are hashed to stripes.
enum Hashing {
    /// At random, so that an attacker cannot choose keys that share a stripe.
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

/// What has a version: that of its stripe.
#[derive(Hash)]
enum VersionedItem<'a> {
    /// Raised by every write to the key.
    Key(&'a str),
    /// Raised by every write to the field of the hash.
    Field(&'a str, &'a str),
    /// Raised by every write to the key that can change any of its fields.
    AllFields(&'a str),
}

tokio::task_local! {
    /// What the recording in progress has read so far.
    static RECORDING: RefCell<Reads>;
}

/// The versions of all keys.
pub(super) struct Versions {
    stripes: Box<[AtomicU32]>,
    /// How many times any version was raised. While it is unchanged, so are all versions.
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

    /// Notes the versions of what a query is about to read, for the recording in progress
    /// and for each tracked read. Returns the latter, in their order.
    pub(super) fn note_query(&self, query: &Query) -> Vec<Reads> {
        let raised = self.raised.load(Ordering::Acquire);
        // This fails if there is no recording.
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

    /// Ends the read sets that contain a key that a batch writes. Call it after the writes
    /// become readable and before they are acknowledged.
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
                // These keys are not hashes and have no fields.
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

    /// Ends the read sets that contain a key or any of its fields.
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

/// Collects what is read while a value is made from it: see [`Tracked`].
#[derive(Debug, Clone)]
pub struct Reads {
    /// Stripes with their versions before their keys were read.
    stripes: Vec<(Stripe, u32)>,
    /// The lowest value of `Versions::raised` at which any of them was noted.
    checked: u64,
}

impl Default for Reads {
    /// Nothing has been read so far.
    fn default() -> Self {
        Self { stripes: Vec::new(), checked: u64::MAX }
    }
}

impl Reads {
    /// Adds the read set of another value that is used too.
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

/// A value with what was read to make it.
///
/// A value made from tracked values is tracked too: its reads are collected from theirs, so
/// that no caller lists keys by hand.
#[derive(Debug, Clone)]
pub struct Tracked<T> {
    value: T,
    reads: Reads,
}

impl<T> Tracked<T> {
    /// A value that was made from what `reads` has collected.
    pub const fn new(value: T, reads: Reads) -> Self {
        Self { value, reads }
    }

    /// A value that was made while `reads` was recorded: see
    /// [`Store::record_reads`](crate::Store::record_reads).
    pub fn recorded(value: T, reads: &ReadSet) -> Self {
        let mut recorded = Reads::default();
        recorded.add(reads);
        Self { value, reads: recorded }
    }

    /// The value, for decisions that no cached value depends on. To make another value
    /// from it, use [`Tracked::map`] or [`Tracked::collect_into`].
    pub const fn peek(&self) -> &T {
        &self.value
    }

    /// Returns the value, and adds what was read for it to `reads`.
    pub fn collect_into(self, reads: &mut Reads) -> T {
        reads.append(self.reads);
        self.value
    }

    /// Makes another value from this one alone.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Tracked<U> {
        Tracked { value: make(self.value), reads: self.reads }
    }

    /// The value and its read set.
    pub fn into_parts(self) -> (T, ReadSet) {
        (self.value, self.reads.into())
    }

    /// The value alone, if it is not going to be cached.
    pub fn into_value(self) -> T {
        self.value
    }
}

impl<T> Tracked<Option<T>> {
    /// The value with its reads, if there is one. Otherwise the reads are lost, so an absent
    /// value cannot be cached this way.
    pub fn transpose(self) -> Option<Tracked<T>> {
        let Self { value, reads } = self;
        Some(Tracked { value: value?, reads })
    }
}

/// What was read to make a value: see [`Store::is_unchanged`](crate::Store::is_unchanged).
///
/// Keys are divided at random into 262,144 *stripes*. A write ends every read set that
/// contains a key of the same stripe.
#[derive(Debug)]
pub struct ReadSet {
    /// Stripes with their versions before their keys were read, in order, each once.
    reads: Box<[(Stripe, u32)]>,
    /// The value of `Versions::raised` at which `reads` were last found unchanged.
    checked: AtomicU64,
}

impl From<Reads> for ReadSet {
    fn from(reads: Reads) -> Self {
        let Reads { stripes: mut reads, checked } = reads;
        // If a stripe was read twice, the older version counts.
        reads.sort_unstable();
        reads.dedup_by_key(|(stripe, _)| *stripe);
        Self { reads: reads.into_boxed_slice(), checked: AtomicU64::new(checked) }
    }
}

impl ReadSet {
    /// Runs a future and records every read that it makes.
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

    /// Whether nothing in the set has been written.
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

    /// Adds the set to the recording in progress, if there is one. Call it when a cached
    /// value with this read set is used.
    pub fn note_use(&self) {
        let _ = RECORDING.try_with(|recording| recording.borrow_mut().add(self));
    }

    /// The approximate memory of the set, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.reads)
    }
}
