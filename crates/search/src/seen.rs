//! How many documents every visitor finds, as the numbers that relevance and offers are made of.
//!
//! The numbers of the library also count what is hidden, and what has been removed until its files are written anew. With
//! those, the score of one's own text would tell which words a hidden one has.

use crate::index::{Fields, HIDDEN, IndexError, View};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tantivy::postings::TermInfo;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, InvertedIndexReader, Searcher, SegmentReader, Term};

/// The length of a title, and of a host with its path and topics, in words, as relevance takes it.
const TITLE_WORDS: u64 = 8;
/// The same for a text. The true lengths would tell how long hidden texts are.
const TEXT_WORDS: u64 = 50;

/// The most terms whose numbers are remembered until the next commit.
const MOST_COUNTED: usize = 4_096;

/// The documents that every visitor finds, and how many have a term, as of one commit. They are counted once.
pub(crate) struct SeenCounts {
    /// The number of the commit, as this process counts them.
    generation: u64,
    /// The hidden documents of each segment, if it has any.
    hidden: Vec<Option<BitSet>>,
    documents: u64,
    /// How many documents have a term.
    frequencies: Mutex<HashMap<Term, u64>>,
}

/// The counts of the documents that every visitor finds, for one search.
pub(crate) struct Seen<'a> {
    fields: Fields,
    searcher: &'a Searcher,
    counts: Arc<SeenCounts>,
    /// When to stop counting.
    until: Instant,
}

impl SeenCounts {
    fn of(fields: Fields, searcher: &Searcher) -> Result<Self, IndexError> {
        let generation = searcher.generation().generation_id();
        let mut seen = Self { generation, hidden: Vec::new(), documents: 0, frequencies: Mutex::default() };
        for segment in searcher.segment_readers() {
            let index = segment.inverted_index(fields.hidden)?;
            let term = Term::from_field_text(fields.hidden, HIDDEN);
            let info = index.get_term_info(&term).map_err(tantivy::TantivyError::from)?;
            let hidden = info.map(|info| hidden(&index, &info, segment)).transpose()?;
            let is_seen = |doc: &u32| segment.alive_bitset().is_none_or(|alive| alive.is_alive(*doc));
            let count = hidden.as_ref().map_or(0, |hidden| {
                (0..hidden.max_value()).filter(|doc| hidden.contains(*doc)).filter(is_seen).count()
            });
            seen.documents += u64::from(segment.num_docs()).saturating_sub(count as u64);
            seen.hidden.push(hidden);
        }
        Ok(seen)
    }
}

impl View {
    /// The counts of the documents that every visitor finds, as a searcher reads the index.
    pub(crate) fn seen<'a>(&self, searcher: &'a Searcher, until: Instant) -> Result<Seen<'a>, IndexError> {
        let mut last = self.seen.lock();
        let known = last.as_ref().filter(|seen| seen.generation == searcher.generation().generation_id());
        let counts = match known {
            Some(known) => known.clone(),
            None => last.insert(Arc::new(SeenCounts::of(self.fields, searcher)?)).clone(),
        };
        Ok(Seen { fields: self.fields, searcher, counts, until })
    }
}

impl Seen<'_> {
    /// How many documents of a segment that every visitor finds have a term. Once time runs out, those counted so far.
    pub(crate) fn count(
        &self,
        number: usize,
        index: &InvertedIndexReader,
        info: &TermInfo,
    ) -> tantivy::Result<u64> {
        let (Some(segment), Some(hidden)) =
            (self.searcher.segment_readers().get(number), self.counts.hidden.get(number))
        else {
            return Ok(0);
        };
        let alive = segment.alive_bitset();
        if alive.is_none() && hidden.is_none() {
            return Ok(u64::from(info.doc_freq));
        }
        let is_seen = |doc: &&u32| {
            alive.is_none_or(|alive| alive.is_alive(**doc))
                && hidden.as_ref().is_none_or(|hidden| !hidden.contains(**doc))
        };
        let mut postings = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
        let mut count = 0;
        let mut blocks = 0_u32;
        while !postings.docs().is_empty() {
            count += postings.docs().iter().filter(is_seen).count() as u64;
            blocks += 1;
            // A block has 128 documents.
            if blocks.is_multiple_of(64) && Instant::now() > self.until {
                break;
            }
            postings.advance();
        }
        Ok(count)
    }
}

/// The documents of a segment that are hidden.
fn hidden(index: &InvertedIndexReader, info: &TermInfo, segment: &SegmentReader) -> tantivy::Result<BitSet> {
    let mut hidden = BitSet::with_max_value(segment.max_doc());
    let mut postings = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    while !postings.docs().is_empty() {
        postings.docs().iter().for_each(|doc| _ = hidden.insert(*doc));
        postings.advance();
    }
    Ok(hidden)
}

impl Bm25StatisticsProvider for Seen<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let Fields { title, title_stems, place, .. } = self.fields;
        let words = if [title, title_stems, place].contains(&field) { TITLE_WORDS } else { TEXT_WORDS };
        Ok(self.total_num_docs()?.saturating_mul(words))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.counts.documents.max(1))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        if let Some(count) = self.counts.frequencies.lock().get(term) {
            return Ok(*count);
        }
        let mut count = 0;
        for (number, segment) in self.searcher.segment_readers().iter().enumerate() {
            let index = segment.inverted_index(term.field())?;
            if let Some(info) = index.get_term_info(term)? {
                count += self.count(number, &index, &info)?;
            }
            if Instant::now() > self.until {
                return Ok(count);
            }
        }
        let mut frequencies = self.counts.frequencies.lock();
        if frequencies.len() < MOST_COUNTED {
            frequencies.insert(term.clone(), count);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use crate::asker::Asker;
    use crate::asking::{Found, Question};
    use crate::index::{Audience, Document, Index, IndexError, Kind, Language, Progress};
    use crate::language::Search;
    use std::time::{Duration, Instant};

    const NOW: i64 = 1_800_000_000;
    const AUTHOR: u64 = 7;

    fn document(kind: Kind, id: u64, text: &str, audience: Audience) -> Document {
        Document {
            id: id.to_string(),
            kind,
            author: Some(AUTHOR),
            story: Some(id),
            title: if kind == Kind::Comment { String::new() } else { text.to_owned() },
            body: text.to_owned(),
            topics: vec![text.split(' ').next().unwrap().to_owned()],
            time: NOW,
            votes: 1,
            audience,
            ..Document::default()
        }
    }

    /// An index with the same texts for everybody, and a hidden and a removed text.
    fn index(secret: &str) -> Index {
        let index = Index::open(None, Some(Language::English)).unwrap();
        let texts = ["needles and hay", "a haystack", "hay for horses", "nothing of the kind"];
        for (id, text) in (1..).zip(texts) {
            index.put(&document(Kind::Story, id, text, Audience::Everybody)).unwrap();
            index.put(&document(Kind::Comment, 10 + id, text, Audience::Everybody)).unwrap();
        }
        index.put(&document(Kind::Story, 20, secret, Audience::Only(AUTHOR))).unwrap();
        index.put(&document(Kind::Comment, 21, secret, Audience::Insiders)).unwrap();
        index.put(&document(Kind::Post, 22, secret, Audience::Everybody)).unwrap();
        index.commit(Progress::default()).unwrap();
        index.remove("22");
        index.commit(Progress::default()).unwrap();
        index
    }

    /// The answer to a search that must end at a time.
    fn ask<T>(
        (typed, asker, until): (&str, &Asker, Instant),
        answer: impl Fn(&Question<'_>) -> Result<T, IndexError>,
    ) -> T {
        let search = Search::parse(typed, NOW).unwrap();
        answer(&Question { asker, ..Question::of(&search, NOW, until) }).unwrap()
    }

    fn find(index: &Index, typed: &str, asker: &Asker, partly: bool) -> Found {
        let until = Instant::now() + Duration::from_secs(60);
        ask((typed, asker, until), |question| {
            if partly { index.view.find_partly(question) } else { index.view.find(question) }
        })
    }

    /// All that an index says to a visitor about a word.
    fn said(index: &Index, word: &str) -> String {
        let visitor = Asker::default();
        let found: Vec<Found> = [word.to_owned(), format!("{}*", &word[..3]), format!("\"{word} hay\"")]
            .iter()
            .map(|typed| find(index, typed, &visitor, false))
            .collect();
        let until = Instant::now() + Duration::from_secs(60);
        let misspelled = format!("{word}x");
        let offered = (
            index.view.spelled_like(&misspelled, 3, until).unwrap(),
            index.view.topics_beginning(&word[..2], 3, until).unwrap(),
            ask((&format!("{misspelled} hay"), &visitor, until), |question| index.view.instead(question)),
        );
        format!("{found:?} {:?} {offered:?}", find(index, &format!("{word} hay unknown"), &visitor, true))
    }

    #[test]
    fn nothing_that_is_said_to_a_visitor_depends_on_hidden_and_removed_texts() {
        let (one, other) = (index("secrets of the needles"), index("horses of the haystacks"));
        for word in ["secrets", "needles", "horses", "haystacks", "haystack", "hay", "nothing"] {
            assert_eq!(said(&one, word), said(&other, word), "{word}");
        }
        let ids = |asker: &Asker| {
            let hits = find(&one, "secrets", asker, false).hits;
            let mut ids: Vec<String> = hits.into_iter().map(|hit| hit.id).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(&Asker::default()), [""; 0]);
        assert_eq!(ids(&Asker { id: Some(8), ..Asker::default() }), [""; 0]);
        assert_eq!(ids(&Asker { id: Some(AUTHOR), ..Asker::default() }), ["20"]);
        assert_eq!(ids(&Asker { sees_hidden: true, ..Asker::default() }), ["20", "21"]);
    }

    #[test]
    fn muted_phrases_hold_in_every_kind_and_for_comments_on_stories_that_have_them() {
        let index = index("secrets");
        for (number, kind) in (30..).zip([Kind::Post, Kind::Person, Kind::Site]) {
            index.put(&document(kind, number, "a haystack of hay", Audience::Everybody)).unwrap();
        }
        let comment =
            Document { story: Some(2), ..document(Kind::Comment, 40, "of hay", Audience::Everybody) };
        index.put(&comment).unwrap();
        index.commit(Progress::default()).unwrap();
        let found = |phrases: &[&[&str]]| {
            let phrase = |words: &&[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let phrases = phrases.iter().map(phrase).collect();
            let found = find(&index, "of", &Asker { phrases, ..Asker::default() }, false);
            assert_eq!(found.total, found.hits.len() as u64);
            let mut ids: Vec<String> = found.hits.into_iter().map(|hit| hit.id).collect();
            ids.sort();
            ids
        };
        assert_eq!(found(&[]), ["14", "30", "31", "32", "4", "40"]);
        assert_eq!(found(&[&["haystack"]]), ["14", "4"], "40 is on the story 2");
        assert_eq!(found(&[&["haystack", "of"], &["the", "kind"]]), ["40"]);
    }

    #[test]
    fn what_lacks_one_word_is_found_partly_before_what_lacks_more() {
        let index = index("secrets");
        let ids = |typed: &str| {
            let mut ids: Vec<String> =
                find(&index, typed, &Asker::default(), true).hits.into_iter().map(|hit| hit.id).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids("needles hay cows"), ["1", "11"]);
        assert_eq!(ids("needles cows sheep"), ["1", "11"]);
        assert_eq!(ids("needles cows -and"), [""; 0]);
        assert_eq!(ids("needles"), [""; 0], "a single word has no parts");
    }

    #[test]
    fn nothing_is_looked_for_once_time_has_run_out() {
        let index = index("secrets");
        let past = Instant::now();
        assert_eq!(index.view.spelled_like("needels", 3, past).unwrap(), [""; 0]);
        assert_eq!(index.view.topics_beginning("n", 3, past).unwrap(), [""; 0]);
        let instead = ask(("hay", &Asker::default(), past), |question| index.view.instead(question));
        assert_eq!((instead.kinds, instead.suggestions), (vec![], vec![]));
        assert!(instead.partial.is_empty());
    }
}
