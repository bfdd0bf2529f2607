//! The query for something in one of several fields.
//!
//! It is the library's maximum of several queries, without its buffer of 48 KiB for each: a search with sixteen words
//! needs sixteen of them.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, Term};

/// Finds what any of some queries finds. The score is the highest of theirs, and a share of the others.
#[derive(Debug)]
pub(crate) struct DisMax {
    queries: Vec<Box<dyn Query>>,
    /// The share of all but the highest score.
    tie: Score,
}

impl DisMax {
    pub(crate) const fn new(queries: Vec<Box<dyn Query>>, tie: Score) -> Self {
        Self { queries, tie }
    }
}

impl Clone for DisMax {
    fn clone(&self) -> Self {
        Self { queries: self.queries.iter().map(|query| query.box_clone()).collect(), tie: self.tie }
    }
}

impl Query for DisMax {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let weights: tantivy::Result<_> = self.queries.iter().map(|query| query.weight(scoring)).collect();
        Ok(Box::new(DisMaxWeight { weights: weights?, tie: self.tie }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.queries.iter().for_each(|query| query.query_terms(visitor));
    }
}

struct DisMaxWeight {
    weights: Vec<Box<dyn Weight>>,
    tie: Score,
}

impl Weight for DisMaxWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let scorers: tantivy::Result<Vec<_>> =
            self.weights.iter().map(|weight| weight.scorer(reader, boost)).collect();
        let mut scorers = scorers?;
        scorers.retain(|scorer| scorer.doc() != TERMINATED);
        if scorers.len() == 1 {
            return Ok(scorers.remove(0));
        }
        let doc = least(&scorers);
        Ok(Box::new(DisMaxScorer { scorers, doc, tie: self.tie }))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        let score = if scorer.doc() <= doc && scorer.seek(doc) == doc { scorer.score() } else { 0.0 };
        Ok(Explanation::new("DisMax", score))
    }
}

/// Few scorers, so the next document is found by looking at each.
struct DisMaxScorer {
    scorers: Vec<Box<dyn Scorer>>,
    doc: DocId,
    tie: Score,
}

fn least(scorers: &[Box<dyn Scorer>]) -> DocId {
    scorers.iter().map(|scorer| scorer.doc()).min().unwrap_or(TERMINATED)
}

impl DocSet for DisMaxScorer {
    fn advance(&mut self) -> DocId {
        let mut next = TERMINATED;
        for scorer in &mut self.scorers {
            let doc = if scorer.doc() == self.doc { scorer.advance() } else { scorer.doc() };
            next = next.min(doc);
        }
        self.doc = next;
        next
    }

    fn seek(&mut self, target: DocId) -> DocId {
        let mut next = TERMINATED;
        for scorer in &mut self.scorers {
            let doc = if scorer.doc() < target { scorer.seek(target) } else { scorer.doc() };
            next = next.min(doc);
        }
        self.doc = next;
        next
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.scorers.iter().map(|scorer| scorer.size_hint()).max().unwrap_or(0)
    }
}

impl Scorer for DisMaxScorer {
    fn score(&mut self) -> Score {
        let (mut highest, mut sum) = (0.0_f32, 0.0);
        for scorer in self.scorers.iter_mut().filter(|scorer| scorer.doc() == self.doc) {
            let score = scorer.score();
            highest = highest.max(score);
            sum += score;
        }
        highest + (sum - highest) * self.tie
    }
}
