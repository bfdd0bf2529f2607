//! Read sets: what was read to make a value, so that the value can be cached until any of
//! it is written.
//!
//! An *item* is the unit of reads and writes: a key, or a field of a hash. Each commit takes
//! the next number and notes it for the items that it writes, after its writes become
//! readable and before it is acknowledged. A query notes the number of the latest commit
//! before it reads. While no item that was read has a later number, reading again would give
//! the same answers. So a caller whose write was acknowledged never gets a cached value from
//! before it.
//!
//! If only some fields of a hash were read, only writes to these fields count.
//!
//! The numbers of the latest writes are remembered for each item. A table in which items
//! share places is asked first, because it is faster: if a place has an early number, none of
//! its items was written since.
//!
//! A Redis server reports the keys that others write, and not the fields: see `reports.rs`.

mod known_fields;
mod reports;
#[cfg(test)]
mod tests;

pub(crate) use reports::Doubt;

use super::batch::{Batch, WrittenFields};
use super::query::{Query, Read};
use super::written_keys::Watchers;
use crate::limits::{MAX_LATEST_WRITES, MAX_TRACKED_FIELDS, VERSION_PLACES};
use known_fields::KnownFields;
use parking_lot::RwLock;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The hash of an item.
type ItemHash = u64;

/// An item that can be read and written.
#[derive(Hash)]
enum VersionedItem<'a> {
    /// Written by every write to the key.
    Key(&'a str),
    /// Written by every write to the field of the hash.
    Field(&'a str, &'a str),
    /// Written by every write to the key that may be to any field of it.
    AllFields(&'a str),
}

tokio::task_local! {
    /// The items that the recording in progress has read so far.
    static RECORDING: RefCell<Reads>;
}

/// How recently each item was written.
pub(super) struct Versions {
    /// The latest number of the items that share a place.
    places: Box<[AtomicU64]>,
    /// The number of the latest commit, once all its items have been noted.
    latest: AtomicU64,
    writes: RwLock<LatestWrites>,
    hasher: RandomState,
    /// Whether keys are reported, so that the values of fields must be known.
    has_reports: bool,
    /// Whether any key is in doubt.
    has_doubts: AtomicBool,
    /// Those who follow what is written.
    pub(super) watchers: Watchers,
}

/// The numbers of the latest writes, by item.
#[derive(Default)]
struct LatestWrites {
    current: HashMap<ItemHash, u64>,
    /// The writes before those of `current`; dropped when `current` is full.
    previous: HashMap<ItemHash, u64>,
    /// Writes up to this number may have been dropped.
    dropped: u64,
    /// The writes in `current` have this number or a later one.
    began: u64,
    /// The fields that were read, if keys are reported.
    known: KnownFields,
    /// The keys in doubt, by the item of all fields of the key.
    doubts: HashMap<ItemHash, Doubt>,
}

impl LatestWrites {
    fn note(&mut self, item: ItemHash, number: u64) {
        if self.current.len() >= MAX_LATEST_WRITES {
            self.previous = std::mem::take(&mut self.current);
            self.dropped = self.began;
            self.began = number;
        }
        self.current.insert(item, number);
    }

    /// Whether an item may have been written after a commit.
    fn may_be_after(&self, item: ItemHash, number: u64) -> bool {
        let written = self.current.get(&item).or_else(|| self.previous.get(&item));
        number < self.dropped
            || written.is_some_and(|written| *written > number)
            || self.doubts.get(&item).is_some_and(|doubt| doubt.number > number)
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            places: (0..VERSION_PLACES).map(|_| AtomicU64::new(0)).collect(),
            latest: AtomicU64::new(0),
            writes: RwLock::default(),
            hasher: RandomState::new(),
            has_reports: false,
            has_doubts: AtomicBool::new(false),
            watchers: Watchers::default(),
        }
    }
}

impl Versions {
    /// Those of a server that reports the keys that others write.
    pub(super) fn with_reports() -> Self {
        Self { has_reports: true, ..Self::default() }
    }

    fn place(&self, item: ItemHash) -> Option<&AtomicU64> {
        self.places.get(usize::try_from(item % VERSION_PLACES).ok()?)
    }

    fn note_read(&self, read: &Read, reads: &mut Reads) {
        let mut note = |item: &VersionedItem<'_>| reads.items.push(self.hasher.hash_one(item));
        match tracked_fields(read) {
            Some((key, fields)) => {
                note(&VersionedItem::AllFields(key));
                fields.iter().for_each(|field| note(&VersionedItem::Field(key, field)));
            }
            None => note(&VersionedItem::Key(read.key())),
        }
    }

    /// Notes what a query is about to read: for the work in progress, and for each of
    /// its tracked reads, in their order.
    pub(super) fn note_query(&self, query: &Query) -> Vec<Reads> {
        let latest = self.latest.load(Ordering::Acquire);
        // This fails if there is no recording.
        let recorded = RECORDING.try_with(|recording| {
            let mut recording = recording.borrow_mut();
            recording.as_of = recording.as_of.min(latest);
            query.recorded_reads().for_each(|read| self.note_read(read, &mut recording));
        });
        if self.has_reports {
            let recorded = recorded.is_ok().then(|| query.recorded_reads());
            self.expect_fields(recorded.into_iter().flatten().chain(query.tracked_reads()));
        }
        let noted = |read| {
            let mut reads = Reads { items: Vec::new(), as_of: latest };
            self.note_read(read, &mut reads);
            reads
        };
        query.tracked_reads().map(noted).collect()
    }

    /// Notes the writes of a batch, which ends the read sets that have any of them. Called
    /// between the moment when the writes can be read and their acknowledgement.
    pub(super) fn note_written(&self, batch: &Batch) {
        let mut items = Vec::new();
        let mut note = |item: &VersionedItem<'_>| items.push(self.hasher.hash_one(item));
        for write in batch.writes() {
            for key in write.written_keys() {
                note(&VersionedItem::Key(key));
                self.watchers.note(key);
            }
            match write.written_fields() {
                WrittenFields::All => note(&VersionedItem::AllFields(write.key())),
                WrittenFields::These(fields) => {
                    fields.iter().for_each(|field| note(&VersionedItem::Field(write.key(), field)));
                }
            }
        }
        let mut writes = self.writes.write();
        if self.has_reports {
            reports::forget_written(&mut writes.known, batch);
        }
        self.note_in(&mut writes, &items);
    }

    /// Notes items for the next number.
    fn note_in(&self, writes: &mut LatestWrites, items: &[ItemHash]) {
        // One commit at a time: when a number is the latest, it has been noted for all items.
        let number = self.latest.load(Ordering::Relaxed) + 1;
        for item in items {
            writes.note(*item, number);
            if let Some(place) = self.place(*item) {
                place.store(number, Ordering::Release);
            }
        }
        self.latest.store(number, Ordering::Release);
    }

    /// Ends all read sets.
    pub(super) fn note_all_written(&self) {
        self.watchers.note_gap();
        let mut writes = self.writes.write();
        let number = self.latest.load(Ordering::Relaxed) + 1;
        *writes = LatestWrites { dropped: number, began: number, ..LatestWrites::default() };
        self.places.iter().for_each(|place| place.store(number, Ordering::Release));
        self.has_doubts.store(false, Ordering::Release);
        self.latest.store(number, Ordering::Release);
    }
}

/// The fields of a read that are tracked one by one.
fn tracked_fields(read: &Read) -> Option<(&str, &[String])> {
    match read {
        Read::HashFields(key, fields) if fields.len() <= MAX_TRACKED_FIELDS => Some((key, fields)),
        _ => None,
    }
}

/// Collects what is read while a value is made from it: see [`Tracked`].
#[derive(Debug, Clone)]
pub struct Reads {
    items: Vec<ItemHash>,
    /// The lowest of the numbers that were the latest when any of them was noted.
    as_of: u64,
}

impl Default for Reads {
    /// Nothing has been read so far.
    fn default() -> Self {
        Self { items: Vec::new(), as_of: u64::MAX }
    }
}

impl Reads {
    /// Adds the read set of another value that is used too.
    pub fn add(&mut self, other: &ReadSet) {
        self.as_of = self.as_of.min(other.as_of.load(Ordering::Relaxed));
        self.items.extend_from_slice(&other.items);
    }

    /// Adds what was read for another value.
    pub fn append(&mut self, other: Self) {
        if self.items.is_empty() {
            self.items = other.items;
        } else {
            self.items.extend(other.items);
        }
        self.as_of = self.as_of.min(other.as_of);
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

/// The items that were read to make a value: see [`Store::is_unchanged`](crate::Store::is_unchanged).
///
/// Keys and fields are remembered by a hash of 64 bits, seeded at random. A set that is not
/// checked for a long time may end although nothing in it was written.
#[derive(Debug)]
pub struct ReadSet {
    /// In order, each once.
    items: Box<[ItemHash]>,
    /// No item has been written since this was the number of the latest commit.
    as_of: AtomicU64,
}

impl From<Reads> for ReadSet {
    fn from(reads: Reads) -> Self {
        let Reads { mut items, as_of } = reads;
        items.sort_unstable();
        items.dedup();
        Self { items: items.into_boxed_slice(), as_of: AtomicU64::new(as_of) }
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
        let latest = versions.latest.load(Ordering::Acquire);
        let as_of = self.as_of.load(Ordering::Relaxed);
        if as_of == latest {
            return true;
        }
        let is_suspect = |item: &&ItemHash| {
            versions.place(**item).is_some_and(|place| place.load(Ordering::Acquire) > as_of)
        };
        let mut suspects = self.items.iter().filter(is_suspect).peekable();
        if suspects.peek().is_some() {
            let writes = versions.writes.read();
            if suspects.any(|item| writes.may_be_after(*item, as_of)) {
                return false;
            }
        }
        // All writes up to the latest commit were noted before it became the latest.
        self.as_of.fetch_max(latest, Ordering::Relaxed);
        true
    }

    /// Adds the set to the recording in progress, if there is one. Call it when a cached
    /// value with this read set is used.
    pub fn note_use(&self) {
        let _ = RECORDING.try_with(|recording| recording.borrow_mut().add(self));
    }

    /// The approximate memory of the set, in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.items)
    }
}
