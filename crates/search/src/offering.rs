//! Offers: stories like a title, topics by their beginning, words by their spelling. They are made of what every visitor
//! finds, so a word that only hidden documents have is never offered and pushes out no other one.

use crate::asking::{Found, Hit, Question, Sort};
use crate::index::{IndexError, Kind, View};
use crate::language::{MAX_TERMS, Search};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Instant;
use strum::VariantArray as _;
use tantivy::postings::TermInfo;
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, FuzzyTermQuery, Occur};
use tantivy::schema::Field;
use tantivy::{TantivyError, Term};
use tidings_text::words;

/// A word that is in more than one of so many titles says little about what a title is about.
const FREQUENT_PART: u64 = 20;
/// A word in so many titles does say something, however few there are.
const FREQUENT_AT_LEAST: u64 = 10;
/// Words of a search that found nothing for which other spellings are looked for.
const SPELLED: usize = 3;
/// Spellings that are tried for each of them, and searches that are offered.
const SUGGESTIONS: usize = 3;

/// An offer when a search finds nothing.
#[derive(Debug, Default)]
pub struct Instead {
    /// How many documents of other kinds the same search finds.
    pub kinds: Vec<(Kind, u64)>,
    /// Searches with other words that find something.
    pub suggestions: Vec<String>,
    /// Documents that have some of the words.
    pub partial: Vec<Hit>,
}

impl View {
    /// Looks for something to offer when nothing was found, as far as the time goes. The page of the question says how many
    /// documents with some of the words are wanted.
    ///
    /// # Errors
    /// When the library fails.
    pub fn instead(&self, question: &Question<'_>) -> Result<Instead, IndexError> {
        let has_time = || Instant::now() < question.until;
        let mut instead = Instead::default();
        for kind in Kind::VARIANTS.iter().copied().filter(|kind| Some(*kind) != question.kind) {
            let total = self.count(&Question { kind: Some(kind), ..question.clone() }, u64::MAX)?;
            if total > 0 {
                instead.kinds.push((kind, total));
            }
        }
        if has_time() {
            instead.partial = self.find_partly(question)?.hits;
        }
        let mut others = Vec::new();
        for (place, word) in question.search.single_words().into_iter().take(SPELLED) {
            let spelled = self.spelled_like(word, SUGGESTIONS, question.until)?;
            others.extend(spelled.into_iter().map(|other| (place, other)));
        }
        let one = others.iter().map(|(place, other)| vec![(*place, other.as_str())]);
        // Two words may be wrong.
        let two = others.iter().enumerate().flat_map(|(number, (place, other))| {
            let second = others[number + 1..].iter().filter(move |(second, _)| second != place);
            second.map(move |(second, word)| vec![(*place, other.as_str()), (*second, word.as_str())])
        });
        for words in one.chain(two) {
            if instead.suggestions.len() >= SUGGESTIONS || !has_time() {
                break;
            }
            let typed = question.search.with_words(&words);
            let Ok(search) = Search::parse(&typed, question.now) else { continue };
            let question = Question { search: &search, ..question.clone() };
            if !instead.suggestions.contains(&typed) && self.count(&question, 1)? > 0 {
                instead.suggestions.push(typed);
            }
        }
        Ok(instead)
    }

    /// Finds documents whose titles have most of the words of a title, the most relevant first. Words that are
    /// in many titles do not count if there are others. The search of the question narrows it down.
    ///
    /// # Errors
    /// When the library fails.
    pub fn like(&self, title: &str, question: &Question<'_>) -> Result<Found, IndexError> {
        let searcher = self.reader.searcher();
        let seen = self.seen(&searcher, question.until)?;
        let mut words = words::asked(title);
        words.sort_unstable();
        words.dedup();
        let frequent = (seen.total_num_docs()? / FREQUENT_PART).max(FREQUENT_AT_LEAST);
        let mut by_frequency = Vec::new();
        for word in words {
            let stem = Term::from_field_text(self.fields.title_stems, &self.stem(&word));
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
        let query = BooleanQuery::intersection(vec![Box::new(self.query(question, None)), Box::new(most)]);
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
        self.seen_terms(self.fields.topics, WantedTerms::Beginning(prefix), until, &mut found)?;
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
        let mut found: HashMap<String, u64> = HashMap::new();
        let bodies = self.fields.bodies.iter().map(|body| body.words);
        for field in std::iter::once(self.fields.title).chain(bodies) {
            let like = FuzzyTermQuery::new(Term::from_field_text(field, word), distance, true);
            self.seen_terms(field, WantedTerms::Like(&like), until, &mut found)?;
        }
        found.remove(word);
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by_key(|(term, count)| {
            (strsim::osa_distance(term, word), Reverse(*count), term.clone())
        });
        Ok(found.into_iter().take(most).map(|(term, _)| term).collect())
    }

    /// Adds to `found` the terms of a field that are wanted, with the number of documents that every visitor finds and
    /// that have them. Terms that none of those has are passed over. Stops when time runs out.
    fn seen_terms(
        &self,
        field: Field,
        wanted: WantedTerms<'_>,
        until: Instant,
        found: &mut HashMap<String, u64>,
    ) -> Result<(), IndexError> {
        if Instant::now() > until {
            return Ok(());
        }
        let searcher = self.reader.searcher();
        let seen = self.seen(&searcher, until)?;
        for (number, segment) in searcher.segment_readers().iter().enumerate() {
            let index = segment.inverted_index(field)?;
            let mut count = |term: &[u8], info: &TermInfo| {
                let Ok(term) = std::str::from_utf8(term) else { return Ok(true) };
                let count = seen.count(number, &index, info)?;
                if count > 0 {
                    *found.entry(term.to_owned()).or_default() += count;
                }
                Ok::<_, TantivyError>(Instant::now() <= until)
            };
            match wanted {
                WantedTerms::Beginning(prefix) => {
                    // No term has this last character of all.
                    let end = format!("{prefix}{}", char::MAX);
                    let range = index.terms().range().ge(prefix).lt(end).into_stream();
                    let mut terms = range.map_err(TantivyError::from)?;
                    while terms.advance() && count(terms.key(), terms.value())? {}
                }
                WantedTerms::Like(like) => {
                    let search = index.terms().search(like.automaton()?).into_stream();
                    let mut terms = search.map_err(TantivyError::from)?;
                    while terms.advance() && count(terms.key(), terms.value())? {}
                }
            }
        }
        Ok(())
    }
}

/// The terms of a field that are wanted.
#[derive(Clone, Copy)]
enum WantedTerms<'a> {
    /// Those that begin with a text.
    Beginning(&'a str),
    /// Those that are spelled almost like a word.
    Like(&'a FuzzyTermQuery),
}
