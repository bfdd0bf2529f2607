//! The query for something in one of several fields.
//!
//! It is the library's maximum of several queries, without its buffer of 48 KiB for each: a search with sixteen words
//! needs sixteen of them.
//!
//! It is only moved forward by `advance` and `seek`. When tantivy (0.27) leaves out what another query finds, it moves
//! the other one by `seek_danger`, also after its end, where that of a phrase panics if assertions are on. That of this
//! query, which is the library's own default, may be called there.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, Term};

/// Finds what any of some queries finds. The score is the highest of theirs, and a share of the others.
#[derive(Debug)]
struct DisMax {
    queries: Vec<Box<dyn Query>>,
    /// The share of all but the highest score.
    tie: Score,
}

/// Finds what any of some queries finds.
pub(crate) fn dis_max(queries: Vec<Box<dyn Query>>, tie: Score) -> Box<dyn Query> {
    Box::new(DisMax { queries, tie })
}

/// A query whose documents are to be left out.
pub(crate) fn plain(query: Box<dyn Query>) -> Box<dyn Query> {
    dis_max(vec![query], 0.0)
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
        if scorers.len() == 1 && self.weights.len() > 1 {
            return Ok(scorers.remove(0));
        }
        let doc = scorers.iter().map(|scorer| scorer.doc()).min().unwrap_or(TERMINATED);
        Ok(Box::new(DisMaxScorer { scorers, doc, tie: self.tie }))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        explained("DisMax", self.scorer(reader, 1.0)?, doc)
    }
}

/// The score of a document by itself.
pub(crate) fn explained(
    name: &'static str,
    mut scorer: Box<dyn Scorer>,
    doc: DocId,
) -> tantivy::Result<Explanation> {
    let score = if scorer.doc() <= doc && scorer.seek(doc) == doc { scorer.score() } else { 0.0 };
    Ok(Explanation::new(name, score))
}

/// Few scorers, so the next document is found by looking at each.
struct DisMaxScorer {
    scorers: Vec<Box<dyn Scorer>>,
    doc: DocId,
    tie: Score,
}

impl DocSet for DisMaxScorer {
    fn advance(&mut self) -> DocId {
        let last = self.doc;
        let next = self.scorers.iter_mut();
        let next = next.map(|scorer| if scorer.doc() == last { scorer.advance() } else { scorer.doc() });
        self.doc = next.min().unwrap_or(TERMINATED);
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        let next = self.scorers.iter_mut();
        let next = next.map(|scorer| if scorer.doc() < target { scorer.seek(target) } else { scorer.doc() });
        self.doc = next.min().unwrap_or(TERMINATED);
        self.doc
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
