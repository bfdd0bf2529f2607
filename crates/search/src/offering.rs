//! Offers: stories like a title, topics by their beginning, words by their spelling. They are made of what every visitor
//! finds, so a word that only hidden documents have is never offered and pushes out no other one.

use crate::asking::{Found, Question, Sort};
use crate::index::{IndexError, View};
use crate::language::MAX_TERMS;
use crate::seen::Seen;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Instant;
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, Occur};
use tantivy::schema::Field;
use tidings_text::words;

/// A word that is in more than one of so many titles says little about what a title is about.
const FREQUENT_PART: u64 = 20;
/// A word in so many titles does say something, however few there are.
const FREQUENT_AT_LEAST: u64 = 10;
/// Terms between two looks at the clock.
const LOOK_EVERY: u32 = 1_024;

impl View {
    /// Finds documents whose titles have most of the words of a title, the most relevant first. Words that are
    /// in many titles do not count if there are others. The search of the question narrows it down.
    ///
    /// # Errors
    /// When the library fails.
    pub fn like(&self, title: &str, question: &Question<'_>) -> Result<Found, IndexError> {
        let searcher = self.reader.searcher();
        let seen = Seen::of(self.fields, &searcher, question.until)?;
        let mut words = words::asked(title);
        words.sort_unstable();
        words.dedup();
        let frequent = (seen.total_num_docs()? / FREQUENT_PART).max(FREQUENT_AT_LEAST);
        let mut by_frequency = Vec::new();
        for word in words {
            let stem = tantivy::Term::from_field_text(self.fields.title_stems, &self.stem(&word));
            by_frequency.push((seen.doc_freq(&stem)?, word));
        }
        by_frequency.sort_unstable();
        let rare = by_frequency.iter().filter(|(count, _)| *count <= frequent).count();
        by_frequency.truncate(if rare > 0 { rare.min(MAX_TERMS) } else { MAX_TERMS });
        let clauses = by_frequency
            .iter()
            .map(|(_, word)| (Occur::Should, self.title(std::slice::from_ref(word), true)));
        let needed = (2 * by_frequency.len()).div_ceil(3).max(1);
        let most = BooleanQuery::with_minimum_required_clauses(clauses.collect(), needed);
        let query = BooleanQuery::intersection(vec![Box::new(self.query(question)), Box::new(most)]);
        self.best(&query, question, Sort::Relevance)
    }

    /// Topics that begin with a text, those of the most documents first; those that it comes upon until time runs out.
    ///
    /// # Errors
    /// When the library fails.
    pub fn topics_beginning(
        &self,
        prefix: &str,
        most: usize,
        until: Instant,
    ) -> Result<Vec<String>, IndexError> {
        let mut found = HashMap::new();
        // No topic has this last character of all.
        let range = (prefix, &*format!("{prefix}{}", char::MAX));
        self.seen_terms(self.fields.topics, range, |_| true, until, &mut found)?;
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by(|(one, count), (other, of_other)| of_other.cmp(count).then(one.cmp(other)));
        Ok(found.into_iter().take(most).map(|(topic, _)| topic).collect())
    }

    /// Words of the index that are spelled almost like a word, the most frequent first; those that it comes upon
    /// until time runs out.
    ///
    /// # Errors
    /// When the library fails.
    pub fn spelled_like(&self, word: &str, most: usize, until: Instant) -> Result<Vec<String>, IndexError> {
        let length = word.chars().count();
        let distance = if length < 5 { 1 } else { 2 };
        // Lengths first: they are cheap, and most words differ in them.
        let is_like = |term: &str| {
            term.len().abs_diff(word.len()) <= 2 * distance
                && term != word
                && strsim::osa_distance(term, word) <= distance
        };
        let mut found: HashMap<String, u64> = HashMap::new();
        let bodies = self.fields.bodies.iter().map(|body| body.words);
        for field in std::iter::once(self.fields.title).chain(bodies) {
            self.seen_terms(field, ("", ""), is_like, until, &mut found)?;
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by_key(|(term, count)| {
            (strsim::osa_distance(term, word), Reverse(*count), term.clone())
        });
        Ok(found.into_iter().take(most).map(|(term, _)| term).collect())
    }

    /// Adds to `found` the terms of a field that are wanted, from the first of the range to before the second (empty:
    /// all), with the number of documents that every visitor finds and that have them. Terms that none of those has are
    /// passed over. Stops when time runs out.
    fn seen_terms(
        &self,
        field: Field,
        (from, to): (&str, &str),
        is_wanted: impl Fn(&str) -> bool,
        until: Instant,
        found: &mut HashMap<String, u64>,
    ) -> Result<(), IndexError> {
        if Instant::now() > until {
            return Ok(());
        }
        let searcher = self.reader.searcher();
        let seen = Seen::of(self.fields, &searcher, until)?;
        for (number, segment) in searcher.segment_readers().iter().enumerate() {
            let index = segment.inverted_index(field)?;
            let mut range = index.terms().range().ge(from);
            if !to.is_empty() {
                range = range.lt(to);
            }
            let mut terms = range.into_stream().map_err(tantivy::TantivyError::from)?;
            let mut passed = 0_u32;
            while terms.advance() {
                let term = std::str::from_utf8(terms.key()).ok().filter(|term| is_wanted(term));
                passed += 1;
                if (term.is_some() || passed.is_multiple_of(LOOK_EVERY)) && Instant::now() > until {
                    return Ok(());
                }
                let Some(term) = term else { continue };
                let count = seen.count(number, &index, terms.value())?;
                if count > 0 {
                    *found.entry(term.to_owned()).or_default() += count;
                }
            }
        }
        Ok(())
    }
}
