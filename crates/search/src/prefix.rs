//! The query for words that begin with some letters, in several fields together.
//!
//! One set of bits for all fields keeps a search with many prefixes small; a set for each field would take
//! megabytes.

use crate::dis_max::explained;
use std::time::Instant;
use tantivy::query::{BitSetDocSet, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, DocId, DocSet, Score, SegmentReader};

/// Finds the documents that have a word with a prefix in one of the fields. The score is the highest weight of the
/// fields that have one.
#[derive(Debug, Clone)]
pub(crate) struct PrefixQuery {
    /// The first letters of the words.
    pub(crate) prefix: String,
    /// The fields with their weights.
    pub(crate) fields: Vec<(Field, Score)>,
    /// When to stop looking for words, if it must.
    pub(crate) until: Option<Instant>,
}

impl PrefixQuery {
    /// Words of one field.
    pub(crate) fn of(field: Field, prefix: &str) -> Box<dyn Query> {
        Box::new(Self { prefix: prefix.to_owned(), fields: vec![(field, 0.0)], until: None })
    }
}

impl Query for PrefixQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for PrefixQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let least = self.fields.iter().map(|(_, weight)| *weight).fold(Score::INFINITY, Score::min);
        let mut all = BitSet::with_max_value(reader.max_doc());
        let mut heavier: Vec<(Score, Vec<DocId>)> = Vec::new();
        for (field, weight) in &self.fields {
            let mut found = Vec::new();
            let index = reader.inverted_index(*field)?;
            // No word has this last character of all.
            let end = format!("{}{}", self.prefix, char::MAX);
            let mut terms = index.terms().range().ge(&self.prefix).lt(&end).into_stream()?;
            while terms.advance() && self.until.is_none_or(|until| Instant::now() <= until) {
                let mut postings =
                    index.read_block_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
                while !postings.docs().is_empty() {
                    postings.docs().iter().for_each(|doc| _ = all.insert(*doc));
                    if *weight > least {
                        found.extend_from_slice(postings.docs());
                    }
                    postings.advance();
                }
            }
            if !found.is_empty() {
                found.sort_unstable();
                found.dedup();
                found.shrink_to_fit();
                heavier.push((*weight * boost, found));
            }
        }
        heavier.sort_unstable_by(|(left, _), (right, _)| right.total_cmp(left));
        Ok(Box::new(PrefixScorer { all: all.into(), heavier, least: least * boost }))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        explained("PrefixQuery", self.scorer(reader, 1.0)?, doc)
    }
}

struct PrefixScorer {
    all: BitSetDocSet,
    /// The documents of the fields that weigh more than the least, in order; the heaviest field first.
    heavier: Vec<(Score, Vec<DocId>)>,
    least: Score,
}

impl DocSet for PrefixScorer {
    fn advance(&mut self) -> DocId {
        self.all.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.all.seek(target)
    }

    fn doc(&self) -> DocId {
        self.all.doc()
    }

    fn size_hint(&self) -> u32 {
        self.all.size_hint()
    }
}

impl Scorer for PrefixScorer {
    fn score(&mut self) -> Score {
        let doc = self.all.doc();
        let found = self.heavier.iter().find(|(_, docs)| docs.binary_search(&doc).is_ok());
        found.map_or(self.least, |(score, _)| *score)
    }
}
