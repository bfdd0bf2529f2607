//! A query that is only moved forward by `advance` and `seek`.
//!
//! When tantivy (0.27) leaves out what another query finds, it moves the other one by `seek_danger`, also after its
//! end, where that of a phrase panics if assertions are on. That of this query, which is the library's own default,
//! may be called there.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, Term};

/// Another query, whose documents are to be left out.
#[derive(Debug)]
pub(crate) struct Plain(pub(crate) Box<dyn Query>);

impl Clone for Plain {
    fn clone(&self) -> Self {
        Self(self.0.box_clone())
    }
}

impl Query for Plain {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(PlainWeight(self.0.weight(scoring)?)))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.0.query_terms(visitor);
    }
}

struct PlainWeight(Box<dyn Weight>);

impl Weight for PlainWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(PlainScorer(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, doc)
    }
}

struct PlainScorer(Box<dyn Scorer>);

impl DocSet for PlainScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }
}

impl Scorer for PlainScorer {
    fn score(&mut self) -> Score {
        self.0.score()
    }
}
