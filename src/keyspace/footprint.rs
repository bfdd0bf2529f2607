//! What a piece of work has read, so that its outcome can be kept until any of
//! that is written.
//!
//! Keys are spread over *stripes*, each with a version. A commit raises the
//! versions of its keys when its writes can be read, and before it is
//! acknowledged. A footprint notes the version of each key before the key is
//! read. While these versions stand, reading again would give the same: whoever
//! has been told that a write was done sees it, whatever is kept.
//!
//! Keys that share a stripe only make a footprint end early.

use super::batch::{Batch, Write};
use super::query::Query;
use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many versions there are: 256 KiB of them.
const STRIPES: usize = 1 << 16;

/// One of them.
type Stripe = u16;

tokio::task_local! {
    /// What the work in progress has read so far.
    static TRAIL: RefCell<Vec<(Stripe, u32)>>;
}

/// The versions of all keys.
pub(super) struct Versions {
    stripes: Box<[AtomicU32]>,
    /// How many times versions were raised.
    raised: AtomicU64,
    hasher: RandomState,
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            stripes: (0..STRIPES).map(|_| AtomicU32::new(0)).collect(),
            raised: AtomicU64::new(0),
            hasher: RandomState::new(),
        }
    }
}

impl Versions {
    fn stripe(&self, key: &str) -> Stripe {
        let [.., high, low] = self.hasher.hash_one(key).to_be_bytes();
        Stripe::from_be_bytes([high, low])
    }

    fn version(&self, stripe: Stripe) -> u32 {
        self.stripes.get(usize::from(stripe)).map_or(0, |version| version.load(Ordering::Acquire))
    }

    /// Notes, for the work in progress, what is about to be read.
    pub(super) fn note_reads(&self, query: &Query) {
        // Outside of a footprint nobody wants to know.
        let _ = TRAIL.try_with(|trail| {
            let mut trail = trail.borrow_mut();
            for read in query.reads() {
                let stripe = self.stripe(read.key());
                trail.push((stripe, self.version(stripe)));
            }
        });
    }

    /// Ends the footprints that have any key that a batch writes. Called between
    /// the moment when the writes can be read and their acknowledgement.
    pub(super) fn raise_written(&self, batch: &Batch) {
        for key in batch.writes().iter().flat_map(Write::written_keys) {
            if let Some(version) = self.stripes.get(usize::from(self.stripe(key))) {
                version.fetch_add(1, Ordering::Release);
            }
        }
        self.raised.fetch_add(1, Ordering::Release);
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

    /// Notes keys that are about to be read, whoever reads them.
    pub(super) fn of_keys<'a>(versions: &Versions, keys: impl Iterator<Item = &'a str>) -> Self {
        let checked = versions.raised.load(Ordering::Acquire);
        let reads = keys.map(|key| versions.stripe(key)).map(|stripe| (stripe, versions.version(stripe)));
        Self::new(reads.collect(), checked)
    }

    fn new(mut reads: Vec<(Stripe, u32)>, checked: u64) -> Self {
        // Of what was read twice the older version counts.
        reads.sort_unstable();
        reads.dedup_by_key(|(stripe, _)| *stripe);
        Self { reads: reads.into_boxed_slice(), checked: AtomicU64::new(checked) }
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
