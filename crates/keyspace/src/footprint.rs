//! What a piece of work has read, so that its outcome can be kept until any of
//! that is written.
//!
//! Keys are spread over *stripes*, each with a version. A commit raises the
//! versions of its keys when its writes can be read, and before it is
//! acknowledged. A footprint notes the version of each key before the key is
//! read. While these versions stand, reading again would give the same: whoever
//! has been told that a write was done sees it, whatever is kept.
//!
//! Of a hash the fields that were read count, where only some were: a write to
//! other fields leaves the footprint as it is. What shares a stripe only makes a
//! footprint end early.

use super::batch::{Batch, Write};
use super::query::{Query, Read};
use std::cell::RefCell;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many versions there are: 1 MiB of them. A busy site raises thousands in a
/// second, and a footprint of a hundred stripes should live for longer than that.
const STRIPES: u32 = 1 << 18;

/// Who reads more fields of a hash is taken to read all: the footprint stays short.
const MOST_FIELDS: usize = 4;

/// Nobody can choose keys that share a stripe.
#[cfg(not(test))]
type Hashing = std::hash::RandomState;
/// Whether keys of tests share a stripe is the same in each run.
#[cfg(test)]
type Hashing = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// The number of a stripe.
type Stripe = u32;

/// What has a version, by its stripe.
#[derive(Hash)]
enum Subject<'a> {
    /// Raised by every write to the key.
    Key(&'a str),
    /// Raised by every write to the field of the hash.
    Field(&'a str, &'a str),
    /// Raised by every write to the field of any hash of the family.
    FieldOfAll(&'a str, &'a str),
    /// Raised by every write to the key, if it may be a hash, that is not known to
    /// be to a field.
    Whole(&'a str),
    /// Raised by every such write to any key of the family.
    WholeOfAll(&'a str),
}

/// Keys that differ only in what follows the last colon.
fn family(key: &str) -> &str {
    key.rsplit_once(':').map_or(key, |(family, _)| family)
}

/// Something that is read.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A key with all that it holds.
    Key(&'a str),
    /// Some fields of a hash.
    Fields(&'a str, &'a [&'a str]),
    /// A field of many hashes whose keys differ only in what follows the last
    /// colon, of which `key` is one: for a field that is hardly ever written, in
    /// place of noting each of them.
    FieldOfAll {
        /// One of the keys.
        key: &'a str,
        /// The field.
        field: &'a str,
    },
}

tokio::task_local! {
    /// What the work in progress has read so far.
    static TRAIL: RefCell<Vec<(Stripe, u32)>>;
}

/// The versions of all keys.
pub(super) struct Versions {
    stripes: Box<[AtomicU32]>,
    /// How many times versions were raised.
    raised: AtomicU64,
    hasher: Hashing,
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            stripes: (0..STRIPES).map(|_| AtomicU32::new(0)).collect(),
            raised: AtomicU64::new(0),
            hasher: Hashing::default(),
        }
    }
}

impl Versions {
    fn stripe(&self, subject: &Subject<'_>) -> Stripe {
        let [.., a, b, c, d] = self.hasher.hash_one(subject).to_be_bytes();
        Stripe::from_be_bytes([a, b, c, d]) % STRIPES
    }

    fn version(&self, stripe: Stripe) -> u32 {
        self.at(stripe).map_or(0, |version| version.load(Ordering::Acquire))
    }

    fn at(&self, stripe: Stripe) -> Option<&AtomicU32> {
        self.stripes.get(usize::try_from(stripe).ok()?)
    }

    fn note(&self, subject: &Subject<'_>) -> (Stripe, u32) {
        let stripe = self.stripe(subject);
        (stripe, self.version(stripe))
    }

    fn note_fields<S: AsRef<str>>(&self, key: &str, fields: &[S], noted: &mut Vec<(Stripe, u32)>) {
        noted.push(self.note(&Subject::Whole(key)));
        noted.extend(fields.iter().map(|field| self.note(&Subject::Field(key, field.as_ref()))));
    }

    fn raise(&self, subject: &Subject<'_>) {
        if let Some(version) = self.at(self.stripe(subject)) {
            version.fetch_add(1, Ordering::Release);
        }
    }

    /// Notes, for the work in progress, what is about to be read.
    pub(super) fn note_reads(&self, query: &Query) {
        // Outside of a footprint nobody wants to know.
        let _ = TRAIL.try_with(|trail| {
            let mut trail = trail.borrow_mut();
            for read in query.reads() {
                match read {
                    Read::HashFields(key, fields) if fields.len() <= MOST_FIELDS => {
                        self.note_fields(key, fields, &mut trail);
                    }
                    other => trail.push(self.note(&Subject::Key(other.key()))),
                }
            }
        });
    }

    /// Ends the footprints that have any key that a batch writes. Called between
    /// the moment when the writes can be read and their acknowledgement.
    pub(super) fn raise_written(&self, batch: &Batch) {
        for write in batch.writes() {
            write.written_keys().for_each(|key| self.raise(&Subject::Key(key)));
            let raise_field = |key: &str, field: &str| {
                self.raise(&Subject::Field(key, field));
                self.raise(&Subject::FieldOfAll(family(key), field));
            };
            match write {
                Write::SetFields(key, fields) => {
                    fields.iter().for_each(|(field, _)| raise_field(key, field));
                }
                Write::DeleteField(key, field) | Write::IncrementField(key, field, _) => {
                    raise_field(key, field);
                }
                Write::Set(key, ..)
                | Write::Delete(key)
                | Write::Expire(key, _)
                | Write::SortedStore(key, _) => {
                    self.raise_whole(key);
                }
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

    /// Ends the footprints that have a key or anything of it.
    pub(super) fn raise_key(&self, key: &str) {
        self.raise(&Subject::Key(key));
        self.raise_whole(key);
        self.raised.fetch_add(1, Ordering::Release);
    }

    fn raise_whole(&self, key: &str) {
        self.raise(&Subject::Whole(key));
        self.raise(&Subject::WholeOfAll(family(key)));
    }

    /// Ends all footprints.
    pub(super) fn raise_all(&self) {
        for version in &self.stripes {
            version.fetch_add(1, Ordering::Release);
        }
        self.raised.fetch_add(1, Ordering::Release);
    }
}

/// What a piece of work has read.
#[derive(Debug)]
pub struct Footprint {
    /// Stripes with their versions before they were read, the lowest first.
    reads: Box<[(Stripe, u32)]>,
    /// The count of raises at which `reads` were last found to stand.
    checked: AtomicU64,
}

impl Footprint {
    /// Does a piece of work and notes what it reads.
    pub(super) async fn of<T>(versions: &Versions, work: impl Future<Output = T>) -> (T, Self) {
        let checked = versions.raised.load(Ordering::Acquire);
        let (outcome, reads) = TRAIL
            .scope(RefCell::default(), async {
                let outcome = work.await;
                (outcome, TRAIL.with(RefCell::take))
            })
            .await;
        let footprint = Self::new(reads, checked);
        footprint.note_again();
        (outcome, footprint)
    }

    /// Notes what is about to be read, whoever reads it.
    pub(super) fn of_parts<'a>(versions: &Versions, parts: impl IntoIterator<Item = Part<'a>>) -> Self {
        let checked = versions.raised.load(Ordering::Acquire);
        let mut reads = Vec::new();
        for part in parts {
            match part {
                Part::Key(key) => reads.push(versions.note(&Subject::Key(key))),
                Part::FieldOfAll { key, field } => {
                    reads.push(versions.note(&Subject::WholeOfAll(family(key))));
                    reads.push(versions.note(&Subject::FieldOfAll(family(key), field)));
                }
                Part::Fields(key, fields) => versions.note_fields(key, fields, &mut reads),
            }
        }
        Self::new(reads, checked)
    }

    fn new(mut reads: Vec<(Stripe, u32)>, checked: u64) -> Self {
        // Of what was read twice the older version counts.
        reads.sort_unstable();
        reads.dedup_by_key(|(stripe, _)| *stripe);
        Self { reads: reads.into_boxed_slice(), checked: AtomicU64::new(checked) }
    }

    /// What both pieces of work have read, as it was noted first.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let checked = self.checked.into_inner().min(other.checked.into_inner());
        Self::new([self.reads, other.reads].concat(), checked)
    }

    /// Whether nothing has been written that the work has read.
    pub(super) fn stands(&self, versions: &Versions) -> bool {
        let raised = versions.raised.load(Ordering::Acquire);
        if self.checked.load(Ordering::Relaxed) == raised {
            return true;
        }
        let stands = self.reads.iter().all(|(stripe, version)| versions.version(*stripe) == *version);
        if stands {
            self.checked.store(raised, Ordering::Relaxed);
        }
        stands
    }

    /// Notes for the work in progress all that this work has read: its
    /// outcome is being used.
    pub fn note_again(&self) {
        let _ = TRAIL.try_with(|trail| trail.borrow_mut().extend_from_slice(&self.reads));
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.reads)
    }
}
