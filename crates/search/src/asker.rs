//! The person who asks: what they do not find, because they may not see it or do not want to.
//!
//! All of it is part of the query, so that totals, pages and offers tell nothing of what is left out.

use crate::Clock;
use crate::asking::{any_of, constant, exactly, having, one_after_the_other};
use crate::dis_max::plain;
use crate::index::{Body, HIDDEN, IndexError, Kind, View};
use std::collections::HashSet;
use std::time::Instant;
use tantivy::query::{BooleanQuery, EnableScoring, Occur, Query};
use tantivy::{DocSet, TERMINATED, Term};

/// Somebody who asks. The default is a visitor.
#[derive(Debug, Clone, Default)]
pub struct Asker {
    /// Whether they find what is hidden from most people.
    pub sees_hidden: bool,
    /// Their number, to find what is hidden from all others.
    pub id: Option<u64>,
    /// They find nothing that these people wrote, and nothing that belongs to their stories.
    pub authors: Vec<u64>,
    /// Nor these stories and what belongs to them.
    pub stories: Vec<u64>,
    /// Nor stories that link to these hosts, with their comments.
    pub hosts: Vec<String>,
    /// Nor stories about these topics, with their comments.
    pub topics: Vec<String>,
    /// Nor what has one of these phrases, and no comments on stories that have one.
    pub phrases: Vec<Vec<String>>,
}

impl View {
    /// The parts of a query for documents of a kind, or of all, that leave out what somebody does not find.
    pub(crate) fn left_out(&self, asker: &Asker, kind: Option<Kind>) -> Vec<(Occur, Box<dyn Query>)> {
        let fields = &self.fields;
        let mut left_out: Vec<Box<dyn Query>> = Vec::new();
        if kind.is_none_or(|kind| kind == Kind::Person) {
            left_out.push(exactly(fields.tags, HIDDEN));
        }
        if !asker.sees_hidden {
            let hidden = exactly(fields.hidden, HIDDEN);
            left_out.push(match asker.id {
                None => hidden,
                Some(id) => {
                    let own = having(Term::from_field_u64(fields.seer, id));
                    plain(Box::new(BooleanQuery::new(vec![(Occur::Must, hidden), (Occur::MustNot, own)])))
                }
            });
        }
        let numbers = |field, numbers: &[u64]| -> Vec<Term> {
            numbers.iter().map(|number| Term::from_field_u64(field, *number)).collect()
        };
        let texts = |field, texts: &[String]| -> Vec<Term> {
            texts.iter().map(|text| Term::from_field_text(field, text)).collect()
        };
        for terms in [
            numbers(fields.author, &asker.authors),
            numbers(fields.story_author, &asker.authors),
            numbers(fields.story, &asker.stories),
            texts(fields.hosts, &asker.hosts),
            texts(fields.topics, &asker.topics),
        ] {
            if !terms.is_empty() {
                left_out.push(any_of(terms));
            }
        }
        left_out.extend(self.with_phrases(&asker.phrases, kind));
        left_out.into_iter().map(|query| (Occur::MustNot, query)).collect()
    }

    /// Queries for what has one of some phrases in its title or text.
    fn with_phrases(&self, phrases: &[Vec<String>], kind: Option<Kind>) -> Vec<Box<dyn Query>> {
        let titles = kind.is_none_or(Kind::has_title).then(|| self.fields.titles());
        let bodies = self.fields.bodies_of(kind).iter().copied().chain(titles);
        let mut single = Vec::new();
        let mut queries: Vec<Box<dyn Query>> = Vec::new();
        for Body { words, .. } in bodies {
            for phrase in phrases {
                match &phrase[..] {
                    [] => {}
                    [word] => single.push(Term::from_field_text(words, word)),
                    several => queries.push(plain(one_after_the_other(words, several))),
                }
            }
        }
        if !single.is_empty() {
            queries.push(any_of(single));
        }
        queries
    }

    /// The stories that have one of the phrases that somebody does not want to read: as far as the time goes.
    pub(crate) fn stories_with_phrases(
        &self,
        asker: &Asker,
        until: Instant,
    ) -> Result<HashSet<u64>, IndexError> {
        let mut stories = HashSet::new();
        let any = self.with_phrases(&asker.phrases, Some(Kind::Story));
        if any.is_empty() {
            return Ok(stories);
        }
        let of_kind = constant(exactly(self.fields.kind, Kind::Story.name()), 0.0);
        let query = BooleanQuery::intersection(vec![of_kind, Box::new(BooleanQuery::union(any))]);
        let searcher = self.reader.searcher();
        let weight = query.weight(EnableScoring::disabled_from_searcher(&searcher))?;
        for segment in searcher.segment_readers() {
            let numbers = segment.fast_fields().u64("story")?;
            let mut found = weight.scorer(segment, 1.0)?;
            let mut clock = Clock::until(until);
            while found.doc() != TERMINATED {
                stories.extend(numbers.first(found.doc()));
                if clock.has_run_out(false) {
                    return Ok(stories);
                }
                found.advance();
            }
        }
        Ok(stories)
    }
}
