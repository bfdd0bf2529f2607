//! Finding documents, and their order.
//!
//! The relevance of a document is the product of three factors, in the order of their weight: how well its text
//! matches (BM25, in which the title counts most, then host and topics, then the text, and an exact word more than
//! its stem), its votes, and its age. A document whose title has every word of the search comes before all that have
//! not.

use crate::Clock;
use crate::asker::Asker;
use crate::best::{Best, Wanted, is_found};
use crate::dis_max::{dis_max, plain};
use crate::index::{Body, IndexError, Kind, View};
use crate::language::{Bounds, Search, Term, What};
use crate::prefix::PrefixQuery;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::RangeBounds;
use std::sync::LazyLock;
use std::time::Instant;
use strum::{EnumString, IntoStaticStr};
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, EnableScoring, Occur, PhraseQuery,
    Query, RangeQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Score, TERMINATED};

/// Weights of matches: the words in the title, their stems there, in host and topics, in the text, their stems there.
pub const WEIGHTS: [f32; 5] = [4.0, 3.0, 2.0, 1.2, 1.0];
/// How much the second best place of a word counts beside the best.
const TIE: f32 = 0.2;
/// An addition for a title that has every word: more than any match of texts.
pub(crate) const TITLE: f32 = 4_096.0;
/// How much votes count: the factor is 1 + this × ln(1 + votes).
pub const VOTES_WEIGHT: f64 = 0.12;
/// How much age counts: the factor falls from 1 by at most this.
pub const AGE_WEIGHT: f64 = 0.15;
/// After so many days, age has taken half of its weight.
pub const AGE_HALF_DAYS: f64 = 180.0;
/// The most words of which each is left out in turn.
const MOST_LEFT_OUT: usize = 5;

/// An order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Sort {
    /// The most relevant first.
    #[default]
    Relevance,
    /// The newest first.
    New,
    /// The most votes first.
    Votes,
    /// The most comments first.
    Comments,
}

/// A question to an index.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The search.
    pub search: &'a Search,
    /// The only kind to find.
    pub kind: Option<Kind>,
    /// The order.
    pub sort: Sort,
    /// How many results to skip, and how many to find.
    pub page: (usize, usize),
    /// The time, in Unix seconds.
    pub now: i64,
    /// When it must end; then the results so far are the answer.
    pub until: Instant,
    /// The numbers of the people whom the search names, by name.
    pub authors: &'a HashMap<String, u64>,
    /// The URLs that the search names, in the form in which URLs are compared.
    pub urls: &'a HashMap<String, String>,
    /// The person who asks.
    pub asker: &'a Asker,
}

impl<'a> Question<'a> {
    /// That of a visitor who names nobody and no URL: for the first results of all kinds, the most relevant first.
    pub fn of(search: &'a Search, now: i64, until: Instant) -> Self {
        static NOBODY: LazyLock<Asker> = LazyLock::new(Asker::default);
        static AUTHORS: LazyLock<HashMap<String, u64>> = LazyLock::new(HashMap::new);
        static URLS: LazyLock<HashMap<String, String>> = LazyLock::new(HashMap::new);
        let (kind, sort, page) = (None, Sort::Relevance, (0, 30));
        Self { search, kind, sort, page, now, until, authors: &AUTHORS, urls: &URLS, asker: &NOBODY }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The results of the page.
    pub hits: Vec<Hit>,
    /// How many there are.
    pub total: u64,
    /// Whether time ran out, so that there may be more and better ones.
    pub is_cut: bool,
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The id of the document.
    pub id: String,
    /// Why it is where it is.
    pub relevance: Relevance,
}

/// The parts of the relevance of a document.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Relevance {
    /// How well the text matches.
    pub text: f64,
    /// Whether the title has every word.
    pub is_title: bool,
    /// The factor of the votes.
    pub votes: f64,
    /// The factor of the age.
    pub age: f64,
}

impl Relevance {
    /// The relevance: the product of its parts. Documents with every word in their titles come first whatever it is.
    pub fn score(&self) -> f64 {
        self.text * self.votes * self.age
    }
}

impl View {
    /// Finds documents.
    ///
    /// # Errors
    /// When the library fails.
    pub fn find(&self, question: &Question<'_>) -> Result<Found, IndexError> {
        self.best(&self.query(question, None), question, question.effective_sort())
    }

    /// Finds documents that have some of the words that a search asks for together, the most relevant first: those that
    /// lack one word, or, if there are none, those that lack more. Nothing for a search with fewer than two words.
    ///
    /// # Errors
    /// When the library fails.
    pub fn find_partly(&self, question: &Question<'_>) -> Result<Found, IndexError> {
        let words = question.search.groups.iter().filter(|group| has_words(group)).count();
        let mut found = Found::default();
        for needed in [words.saturating_sub(1), 1] {
            if words < 2 || found.total > 0 || Instant::now() > question.until {
                break;
            }
            let query = self.query(question, Some(needed));
            found = self.best(&query, question, question.effective_sort())?;
        }
        Ok(found)
    }

    /// How many documents there are, up to a number; once time runs out, those counted so far. Nothing is ranked, so this
    /// takes less than [`View::find`].
    ///
    /// # Errors
    /// When the library fails.
    pub fn count(&self, question: &Question<'_>, most: u64) -> Result<u64, IndexError> {
        let searcher = self.reader.searcher();
        let left_out = self.stories_left_out(question)?;
        let weight = self.query(question, None).weight(EnableScoring::disabled_from_searcher(&searcher))?;
        let (mut count, mut clock) = (0, Clock::until(question.until));
        for segment in searcher.segment_readers() {
            // The scorer of a segment may take long to make.
            if clock.has_run_out(true) {
                return Ok(count);
            }
            let is_found = is_found(segment, &left_out)?;
            let mut documents = weight.scorer(segment, 1.0)?;
            while documents.doc() != TERMINATED && count < most {
                count += u64::from(is_found(documents.doc()));
                if clock.has_run_out(false) {
                    return Ok(count);
                }
                documents.advance();
            }
        }
        Ok(count)
    }

    /// The stories whose comments are left out of an answer.
    fn stories_left_out(&self, question: &Question<'_>) -> Result<HashSet<u64>, IndexError> {
        match question.kind {
            None | Some(Kind::Comment) => self.stories_with_phrases(question.asker, question.until),
            Some(_) => Ok(HashSet::new()),
        }
    }

    pub(crate) fn best(
        &self,
        query: &dyn Query,
        question: &Question<'_>,
        sort: Sort,
    ) -> Result<Found, IndexError> {
        let searcher = self.reader.searcher();
        let (skipped, count) = question.page;
        let until = question.until;
        let left_out = self.stories_left_out(question)?;
        let wanted = Wanted { sort, now: question.now, most: skipped + count };
        let collector = Best { wanted, until, left_out };
        let seen = self.seen(&searcher, until)?;
        let found = searcher.search_with_statistics_provider(query, &collector, &seen)?;
        let mut best = found.best.into_vec();
        best.sort_unstable();
        let hits = best.into_iter().skip(skipped).take(count).map(|Reverse(ranked)| {
            Ok(Hit { id: self.id_of(&searcher, ranked.address)?, relevance: ranked.relevance })
        });
        Ok(Found { hits: hits.collect::<Result<_, IndexError>>()?, total: found.total, is_cut: found.is_cut })
    }

    /// The query of a question. If a number is given, so many of the groups with words are enough.
    pub(crate) fn query(&self, question: &Question<'_>, needed: Option<usize>) -> BooleanQuery {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut some: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for group in &question.search.groups {
            let clauses = if needed.is_some() && has_words(group) { &mut some } else { &mut clauses };
            let occur = if needed.is_some() && has_words(group) { Occur::Should } else { Occur::Must };
            match &group[..] {
                [term] if term.is_excluded => clauses.push((Occur::MustNot, plain(self.of(term, question)))),
                [term] => clauses.push((occur, self.of(term, question))),
                terms => {
                    let any = terms.iter().map(|term| {
                        let query = self.of(term, question);
                        if !term.is_excluded {
                            return query;
                        }
                        let all = constant(Box::new(AllQuery), 0.0);
                        let clauses = vec![(Occur::Must, all), (Occur::MustNot, plain(query))];
                        Box::new(BooleanQuery::new(clauses))
                    });
                    clauses.push((occur, Box::new(BooleanQuery::union(any.collect()))));
                }
            }
        }
        if let Some(needed) = needed {
            clauses.push((Occur::Must, Box::new(some_of(some, needed))));
        }
        if needed.is_none()
            && question.kind.is_none_or(Kind::has_title)
            && let Some(titled) = self.titled(question.search)
        {
            clauses.push((Occur::Should, constant(titled, TITLE)));
        }
        if let Some(kind) = question.kind
            && !question.search.groups.iter().any(|group| finds_only(kind, group))
        {
            clauses.push((Occur::Must, constant(exactly(self.fields.kind, kind.name()), 0.0)));
        }
        // Something must be there to exclude from.
        if !clauses.iter().any(|(occur, _)| *occur == Occur::Must) {
            clauses.push((Occur::Must, constant(Box::new(AllQuery), 0.0)));
        }
        clauses.extend(self.left_out(question.asker, question.kind));
        BooleanQuery::new(clauses)
    }

    /// The query for a term.
    fn of(&self, term: &Term, question: &Question<'_>) -> Box<dyn Query> {
        let fields = &self.fields;
        match &term.what {
            What::Words(words) => {
                let is_exact = question.search.is_exact();
                self.texts(question.kind, words, |body, weights| self.by_stem(body, words, weights, is_exact))
            }
            What::Phrase(words) => self.texts(question.kind, words, |body, [exact, _]| {
                boosted(one_after_the_other(body.words, words), exact)
            }),
            What::Title(words) => self.title(words, question.search.is_exact()),
            What::Prefix(prefix) => {
                let bodies = fields.bodies_of(question.kind).iter().map(|body| (body.words, WEIGHTS[3]));
                let title = question.kind.is_none_or(Kind::has_title).then_some((fields.title, WEIGHTS[0]));
                let place = question.kind.is_none_or(Kind::has_place).then_some((fields.place, WEIGHTS[2]));
                let fields = title.into_iter().chain(place).chain(bodies).collect();
                Box::new(PrefixQuery { prefix: prefix.clone(), fields, until: Some(question.until) })
            }
            What::By(name) => match question.authors.get(name) {
                Some(author) => numbered(fields.author, *author),
                None => Box::new(EmptyQuery),
            },
            What::Site(host) => constant(exactly(fields.hosts, host), 0.0),
            What::Topic(topic) => constant(exactly(fields.topics, topic), 0.0),
            What::Votes(bounds) => between(fields.votes, *bounds),
            What::Comments(bounds) => between(fields.comments, *bounds),
            What::Time(bounds) => between(fields.time, *bounds),
            What::Is(kind) => constant(exactly(fields.is, kind.name()), 0.0),
            What::Of(kind) => constant(exactly(fields.kind, kind.name()), 0.0),
            What::In(story) => numbered(fields.story, *story),
            What::Ids(ids) => constant(any_text(fields.id, ids), 0.0),
            What::Url(url) => match question.urls.get(url) {
                Some(url) => constant(exactly(fields.url, url), 1.0),
                None => Box::new(EmptyQuery),
            },
        }
    }

    /// Words one after the other, in any text of a kind. `find` looks in one; it gets the weights of a word as it was
    /// typed and of its stem.
    fn texts(
        &self,
        kind: Option<Kind>,
        words: &[String],
        find: impl Fn(Body, [f32; 2]) -> Box<dyn Query>,
    ) -> Box<dyn Query> {
        let fields = &self.fields;
        let [title, title_stems, place, text, text_stems] = WEIGHTS;
        let mut queries: Vec<Box<dyn Query>> =
            fields.bodies_of(kind).iter().map(|body| find(*body, [text, text_stems])).collect();
        if kind.is_none_or(Kind::has_title) {
            queries.push(find(fields.titles(), [title, title_stems]));
        }
        if kind.is_none_or(Kind::has_place) {
            queries.push(boosted(one_after_the_other(fields.place, words), place));
        }
        dis_max(queries, TIE)
    }

    /// The stems of words one after the other. Where the words are, their stems are too, so only these are looked for
    /// everywhere; the words as they were typed add to the score.
    fn by_stem(
        &self,
        field: Body,
        words: &[String],
        [exact, stem]: [f32; 2],
        is_exact: bool,
    ) -> Box<dyn Query> {
        let by_stem = boosted(self.stems_one_after_the_other(field, words), stem);
        if !is_exact {
            return by_stem;
        }
        let addition = boosted(one_after_the_other(field.words, words), exact - (1.0 - TIE) * stem);
        Box::new(BooleanQuery::new(vec![(Occur::Must, by_stem), (Occur::Should, addition)]))
    }

    fn stems_one_after_the_other(&self, field: Body, words: &[String]) -> Box<dyn Query> {
        let stems: Vec<String> = words.iter().map(|word| self.stem(word)).collect();
        one_after_the_other(field.stems, &stems)
    }

    /// Words one after the other in the title, or their stems.
    pub(crate) fn title(&self, words: &[String], is_exact: bool) -> Box<dyn Query> {
        self.by_stem(self.fields.titles(), words, [WEIGHTS[0], WEIGHTS[1]], is_exact)
    }

    /// The titles with every word of a search; `None` if it has none.
    fn titled(&self, search: &Search) -> Option<Box<dyn Query>> {
        let mut all: Vec<Box<dyn Query>> = Vec::new();
        for group in &search.groups {
            let words = group.iter().filter(|term| !term.is_excluded && !term.words().is_empty());
            let any: Vec<Box<dyn Query>> = words
                .map(|term| match &term.what {
                    What::Prefix(prefix) => PrefixQuery::of(self.fields.title, prefix),
                    _ => self.stems_one_after_the_other(self.fields.titles(), term.words()),
                })
                .collect();
            if !any.is_empty() {
                all.push(Box::new(BooleanQuery::union(any)));
            }
        }
        if all.is_empty() { None } else { Some(Box::new(BooleanQuery::intersection(all))) }
    }
}

impl Question<'_> {
    /// Without words there is nothing to be relevant to.
    fn effective_sort(&self) -> Sort {
        if self.sort == Sort::Relevance && !self.search.has_words() { Sort::New } else { self.sort }
    }
}

/// Finds what some of the queries find together. All but one of a few are looked for without each of them in turn: a word
/// that is rare keeps the others from being read.
fn some_of(queries: Vec<(Occur, Box<dyn Query>)>, needed: usize) -> BooleanQuery {
    if needed < 2 || needed + 1 != queries.len() || queries.len() > MOST_LEFT_OUT {
        return BooleanQuery::with_minimum_required_clauses(queries, needed);
    }
    let without = |left_out: usize| {
        let others = queries.iter().enumerate().filter(|(place, _)| *place != left_out);
        let others = others.map(|(_, (_, query))| query.box_clone()).collect();
        Box::new(BooleanQuery::intersection(others)) as Box<dyn Query>
    };
    BooleanQuery::union((0..queries.len()).map(without).collect())
}

/// Whether a group of terms asks for words.
fn has_words(group: &[Term]) -> bool {
    group.iter().any(|term| !term.is_excluded && !term.words().is_empty())
}

/// Whether a group of terms of a search for a kind finds no other kinds, because it reads only fields of that kind.
fn finds_only(kind: Kind, group: &[Term]) -> bool {
    let reads_text = |term: &Term| {
        matches!(term.what, What::Words(_) | What::Phrase(_) | What::Prefix(_)) && !term.is_excluded
    };
    !kind.has_title() && !kind.has_place() && group.iter().all(reads_text)
}

fn boosted(query: Box<dyn Query>, weight: f32) -> Box<dyn Query> {
    Box::new(BoostQuery::new(query, weight))
}

pub(crate) fn constant(query: Box<dyn Query>, score: Score) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, score))
}

pub(crate) fn having(term: tantivy::Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

pub(crate) fn exactly(field: Field, text: &str) -> Box<dyn Query> {
    having(tantivy::Term::from_field_text(field, text))
}

fn numbered(field: Field, number: u64) -> Box<dyn Query> {
    constant(having(tantivy::Term::from_field_u64(field, number)), 0.0)
}

pub(crate) fn any_of(terms: Vec<tantivy::Term>) -> Box<dyn Query> {
    Box::new(TermSetQuery::new(terms))
}

pub(crate) fn any_text(field: Field, texts: &[String]) -> Box<dyn Query> {
    any_of(texts.iter().map(|text| tantivy::Term::from_field_text(field, text)).collect())
}

pub(crate) fn one_after_the_other(field: Field, words: &[String]) -> Box<dyn Query> {
    let mut terms: Vec<_> = words.iter().map(|word| tantivy::Term::from_field_text(field, word)).collect();
    if terms.len() == 1 {
        return Box::new(TermQuery::new(terms.remove(0), IndexRecordOption::WithFreqs));
    }
    Box::new(PhraseQuery::new(terms))
}

fn between(field: Field, bounds: Bounds) -> Box<dyn Query> {
    constant(range(field, bounds.least..=bounds.most), 0.0)
}

pub(crate) fn range(field: Field, numbers: impl RangeBounds<i64>) -> Box<dyn Query> {
    let term = |number: &i64| tantivy::Term::from_field_i64(field, *number);
    Box::new(RangeQuery::new(numbers.start_bound().map(term), numbers.end_bound().map(term)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Document, Index, Language, Progress};
    use std::time::Duration;

    const NOW: i64 = 1_800_000_000;
    const DAY: i64 = 86_400;

    fn story(id: &str, title: &str, body: &str) -> Document {
        Document {
            id: id.to_owned(),
            author: Some(1),
            title: title.to_owned(),
            body: body.to_owned(),
            time: NOW,
            votes: 1,
            ..Document::default()
        }
    }

    fn index(documents: &[Document]) -> Index {
        let index = Index::open(None, Some(Language::English)).unwrap();
        documents.iter().for_each(|document| index.put(document).unwrap());
        index.commit(Progress::default()).unwrap();
        index
    }

    fn found(index: &Index, typed: &str, sort: Sort) -> Vec<String> {
        let search = Search::parse(typed, NOW).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        let question = Question { sort, ..Question::of(&search, NOW, until) };
        let found = index.view.find(&question).unwrap();
        assert_eq!(usize::try_from(found.total).unwrap(), found.hits.len());
        found.hits.into_iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn a_title_with_every_word_comes_first() {
        let index = index(&[
            Document {
                votes: 5_000,
                ..story("text", "Databases", "rust and index, rust and index, rust index")
            },
            Document { time: NOW - 3_000 * DAY, ..story("title", "An index in Rust", "") },
            story("half", "Rust", "index"),
        ]);
        assert_eq!(found(&index, "rust index", Sort::Relevance)[0], "title");
    }

    #[test]
    fn votes_and_age_decide_between_equal_texts() {
        let index = index(&[
            Document { time: NOW - 400 * DAY, ..story("old", "Rust", "") },
            story("plain", "Rust", ""),
            Document { votes: 50, ..story("liked", "Rust", "") },
        ]);
        assert_eq!(found(&index, "rust", Sort::Relevance), ["liked", "plain", "old"]);
        assert_eq!(found(&index, "rust", Sort::Votes)[0], "liked");
        assert_eq!(found(&index, "rust", Sort::New)[2], "old");
        assert_eq!(found(&index, "is:text", Sort::Relevance)[2], "old");
    }

    #[test]
    fn an_exact_word_counts_more_than_its_stem() {
        let index = index(&[story("stem", "Parsing", ""), story("exact", "Parsed", "")]);
        assert_eq!(found(&index, "parsed", Sort::Relevance), ["exact", "stem"]);
    }

    #[test]
    fn all_sets_of_files_are_merged_into_one_that_finds_the_same() {
        let index = index(&[story("1", "first", "text")]);
        index.put(&story("2", "second", "text")).unwrap();
        index.commit(Progress::default()).unwrap();
        let sets = || index.view.reader.searcher().segment_readers().len();
        let before = (sets(), found(&index, "text", Sort::New));
        index.merge_all().unwrap();
        assert_eq!((before.0, sets()), (2, 1));
        assert_eq!(found(&index, "text", Sort::New), before.1);
    }

    #[test]
    fn what_is_replaced_or_removed_is_not_found() {
        let index = index(&[story("one", "Rust", ""), story("two", "Rust", "")]);
        index.put(&story("one", "Go", "")).unwrap();
        index.remove("two");
        assert_eq!(found(&index, "rust", Sort::New).len(), 2, "not before the commit");
        let progress = Progress { store: "a".to_owned(), place: 7, is_complete: true };
        index.commit(progress.clone()).unwrap();
        assert!(found(&index, "rust", Sort::New).is_empty());
        assert_eq!(index.progress().unwrap(), progress);
    }

    #[test]
    fn a_search_that_takes_too_long_is_cut() {
        let documents: Vec<Document> = (0..3_000).map(|id| story(&id.to_string(), "Rust", "")).collect();
        let index = index(&documents);
        let search = Search::parse("rust", NOW).unwrap();
        let question = Question { sort: Sort::New, ..Question::of(&search, NOW, Instant::now()) };
        assert!(index.view.find(&question).unwrap().is_cut);
    }

    /// A plain scan: what a search finds among short texts, without ranking.
    fn scan(documents: &[Document], search: &Search, index: &Index) -> Vec<String> {
        use tidings_text::words::words;
        let texts = |document: &Document| [document.title.clone(), document.body.clone()];
        let has = |text: &str, term: &Term| {
            let found: Vec<String> = words(text).into_iter().map(|word| word.text).collect();
            match &term.what {
                What::Words(wanted) => {
                    let stem = |word: &String| index.view.stem(word);
                    let (found, wanted): (Vec<_>, Vec<_>) =
                        (found.iter().map(stem).collect(), wanted.iter().map(stem).collect());
                    found.windows(wanted.len()).any(|window| window == &wanted[..])
                }
                What::Phrase(wanted) => found.windows(wanted.len()).any(|window| window == &wanted[..]),
                What::Prefix(prefix) => found.iter().any(|word| word.starts_with(prefix)),
                _ => false,
            }
        };
        let matches = |document: &Document, term: &Term| {
            let found = match &term.what {
                What::Title(wanted) => {
                    let plain = Term { what: What::Words(wanted.clone()), ..term.clone() };
                    has(&document.title, &plain)
                }
                What::Votes(bounds) => (bounds.least..=bounds.most).contains(&document.votes),
                _ => texts(document).iter().any(|text| has(text, term)),
            };
            found != term.is_excluded
        };
        let all = |document: &&Document| {
            search.groups.iter().all(|group| group.iter().any(|term| matches(document, term)))
        };
        documents.iter().filter(all).map(|document| document.id.clone()).collect()
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_found_is_what_a_plain_scan_finds(
            texts in proptest::collection::vec(("([a-c]{1,4}( |-)){0,4}", "([a-c]{1,4} ){0,5}", 0_i64..4), 1..12),
            searches in proptest::collection::vec("-?([a-c]{1,4}|\"[a-c]{1,2} [a-c]{1,2}\"|[a-c]{3}\\*|title:[a-c]{1,3}|votes:[0-3])( OR [a-c]{1,3})?( -?[a-c]{1,2})?", 1..8),
        ) {
            let documents: Vec<Document> = texts
                .iter()
                .enumerate()
                .map(|(id, (title, body, votes))| Document { votes: *votes, ..story(&id.to_string(), title, body) })
                .collect();
            let index = index(&documents);
            for typed in searches {
                let search = Search::parse(&typed, NOW).unwrap();
                let mut expected = scan(&documents, &search, &index);
                let mut seen = found(&index, &typed, Sort::New);
                expected.sort();
                seen.sort();
                proptest::prop_assert_eq!(seen, expected, "{}", typed);
            }
        }
    }
}
