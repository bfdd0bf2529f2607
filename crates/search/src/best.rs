//! Collecting the best of the documents that a query finds, until time runs out.

use crate::Clock;
use crate::asking::{AGE_HALF_DAYS, AGE_WEIGHT, Relevance, Sort, TITLE, VOTES_WEIGHT};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::ColumnValues;
use tantivy::query::Weight;
use tantivy::{DocAddress, DocId, DocSet, Score, SegmentReader, TERMINATED};

/// The documents that are the best.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) sort: Sort,
    pub(crate) now: i64,
    pub(crate) most: usize,
}

/// Whether a document that a query finds in a segment is there and not left out.
pub(crate) fn is_found<'a>(
    segment: &'a SegmentReader,
    left_out: &'a HashSet<u64>,
) -> tantivy::Result<impl Fn(DocId) -> bool + use<'a>> {
    let alive = segment.alive_bitset();
    let stories = if left_out.is_empty() { None } else { Some(segment.fast_fields().u64("story")?) };
    Ok(move |doc| {
        let story = stories.as_ref().and_then(|stories| stories.first(doc));
        alive.is_none_or(|alive| alive.is_alive(doc)) && !story.is_some_and(|story| left_out.contains(&story))
    })
}

/// Collects the best documents, until time runs out.
pub(crate) struct Best {
    pub(crate) wanted: Wanted,
    pub(crate) until: Instant,
    /// Stories whose comments are left out.
    pub(crate) left_out: HashSet<u64>,
}

/// A document with its place. The greater one comes first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    key: (bool, f64),
    time: i64,
    pub(crate) address: DocAddress,
    pub(crate) relevance: Relevance,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key
            .0
            .cmp(&other.key.0)
            .then(self.key.1.total_cmp(&other.key.1))
            .then(self.time.cmp(&other.time))
            .then(other.address.cmp(&self.address))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

/// The best documents of a segment, or of all. The worst of them is on top of the heap.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) best: BinaryHeap<Reverse<Ranked>>,
    pub(crate) total: u64,
    pub(crate) is_cut: bool,
}

impl Collected {
    fn add(&mut self, ranked: Ranked, most: usize) {
        if self.best.len() < most {
            self.best.push(Reverse(ranked));
        } else if let Some(mut worst) = self.best.peek_mut()
            && worst.0 < ranked
        {
            *worst = Reverse(ranked);
        }
    }

    /// Whether so many better ones are there that one with this key at most cannot be among them.
    fn is_too_low(&self, key: (bool, f64), most: usize) -> bool {
        self.best.len() >= most && self.best.peek().is_none_or(|Reverse(worst)| worst.key > key)
    }
}

pub(crate) struct SegmentBest {
    segment: u32,
    wanted: Wanted,
    times: Arc<dyn ColumnValues<i64>>,
    votes: Arc<dyn ColumnValues<i64>>,
    comments: Arc<dyn ColumnValues<i64>>,
    /// The greatest factor of votes.
    votes_at_most: f64,
    collected: Collected,
}

impl SegmentBest {
    /// Most documents are not among the best: little is computed for them.
    #[allow(clippy::cast_precision_loss)]
    fn add(&mut self, doc: DocId, score: impl FnOnce() -> Score) {
        self.collected.total += 1;
        let Wanted { sort, now, most } = self.wanted;
        let sorted_by = match sort {
            Sort::Relevance => None,
            Sort::New => Some(&self.times),
            Sort::Votes => Some(&self.votes),
            Sort::Comments => Some(&self.comments),
        };
        let sorted_by = sorted_by.map(|column| (false, column.get_val(doc) as f64));
        if sorted_by.is_some_and(|key| self.collected.is_too_low(key, most)) {
            return;
        }
        let score = score();
        let is_title = score >= TITLE;
        let text = f64::from(if is_title { score - TITLE } else { score });
        let at_most = (is_title, text * self.votes_at_most);
        if sorted_by.is_none() && self.collected.is_too_low(at_most, most) {
            return;
        }
        let time = self.times.get_val(doc);
        let days = now.saturating_sub(time).max(0) as f64 / 86_400.0;
        let age = 1.0 - AGE_WEIGHT * (1.0 - (-days / AGE_HALF_DAYS).exp2());
        let relevance = Relevance { text, is_title, votes: votes_factor(self.votes.get_val(doc)), age };
        let key = sorted_by.unwrap_or((is_title, relevance.score()));
        let address = DocAddress { segment_ord: self.segment, doc_id: doc };
        self.collected.add(Ranked { key, time, address, relevance }, most);
    }
}

#[allow(clippy::cast_precision_loss)]
fn votes_factor(votes: i64) -> f64 {
    1.0 + VOTES_WEIGHT * (votes.max(0) as f64).ln_1p()
}

impl SegmentCollector for SegmentBest {
    type Fruit = Collected;

    fn collect(&mut self, doc: DocId, score: Score) {
        self.add(doc, || score);
    }

    fn harvest(self) -> Collected {
        self.collected
    }
}

impl Collector for Best {
    type Fruit = Collected;
    type Child = SegmentBest;

    fn for_segment(&self, segment: u32, reader: &SegmentReader) -> tantivy::Result<SegmentBest> {
        let columns = reader.fast_fields();
        let votes = columns.i64("votes")?.first_or_default_col(0);
        Ok(SegmentBest {
            segment,
            wanted: self.wanted,
            times: columns.i64("time")?.first_or_default_col(0),
            votes_at_most: votes_factor(votes.max_value()),
            votes,
            comments: columns.i64("comments")?.first_or_default_col(0),
            collected: Collected::default(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: u32,
        reader: &SegmentReader,
    ) -> tantivy::Result<Collected> {
        let mut collector = self.for_segment(segment, reader)?;
        let is_in_time = || Instant::now() <= self.until;
        let documents = if is_in_time() { Some(weight.scorer(reader, 1.0)?) } else { None };
        // The scorer may have stopped halfway.
        let Some(mut documents) = documents.filter(|_| is_in_time()) else {
            collector.collected.is_cut = true;
            return Ok(collector.harvest());
        };
        let is_found = is_found(reader, &self.left_out)?;
        let mut clock = Clock::until(self.until);
        while documents.doc() != TERMINATED {
            let doc = documents.doc();
            if is_found(doc) {
                collector.add(doc, || documents.score());
            }
            if clock.has_run_out(false) {
                collector.collected.is_cut = true;
                break;
            }
            documents.advance();
        }
        Ok(collector.harvest())
    }

    fn merge_fruits(&self, segments: Vec<Collected>) -> tantivy::Result<Collected> {
        let mut all = Collected::default();
        for segment in segments {
            all.total += segment.total;
            all.is_cut |= segment.is_cut;
            segment.best.into_iter().for_each(|Reverse(ranked)| all.add(ranked, self.wanted.most));
        }
        Ok(all)
    }
}
