//! The part of a text that shows why it was found, and the words in it that were looked for.

use crate::index::{View, stem};
use crate::language::{Search, What};
use std::collections::HashSet;
use std::ops::Range;
use tantivy::tokenizer::TextAnalyzer;
use tidings_text::words::words;

/// The characters of an excerpt, at most.
const LENGTH: usize = 200;
/// The characters before the first word that was looked for, at most.
const BEFORE: usize = 60;
/// The part of a text in which an excerpt is looked for, in bytes.
const LOOKED_AT: usize = 16_384;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The text, in one line.
    pub text: String,
    /// The words in it that were looked for, in bytes.
    pub marks: Vec<Range<usize>>,
}

/// Recognises the words that a search looks for.
pub struct Matcher {
    words: HashSet<String>,
    stems: HashSet<String>,
    prefixes: Vec<String>,
    analyzer: Option<TextAnalyzer>,
}

impl View {
    /// The matcher that recognises the words of a search.
    pub fn matcher(&self, search: &Search) -> Matcher {
        let mut matcher = Matcher {
            words: HashSet::new(),
            stems: HashSet::new(),
            prefixes: Vec::new(),
            analyzer: self.stems(),
        };
        for term in search.terms().filter(|term| !term.is_excluded) {
            match &term.what {
                What::Prefix(prefix) => matcher.prefixes.push(prefix.clone()),
                What::Words(words) => {
                    matcher.stems.extend(words.iter().map(|word| stem(&mut matcher.analyzer, word)));
                }
                _ => {}
            }
            matcher.words.extend(term.words().iter().cloned());
        }
        matcher
    }
}

impl Matcher {
    fn is_looked_for(&mut self, word: &str) -> bool {
        self.words.contains(word)
            || self.prefixes.iter().any(|prefix| word.starts_with(prefix))
            || !self.stems.is_empty() && self.stems.contains(&stem(&mut self.analyzer, word))
    }

    /// The words of a text that were looked for, in bytes.
    pub fn marks(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut marks: Vec<Range<usize>> = Vec::new();
        for word in words(text) {
            if self.is_looked_for(&word.text) {
                match marks.last_mut() {
                    // The same word with its signs.
                    Some(last) if word.start < last.end || word.start == last.start => {
                        *last = last.start.min(word.start)..last.end.max(word.end);
                    }
                    _ => marks.push(word.start..word.end),
                }
            }
        }
        marks
    }

    /// The part of a text around the first word that was looked for; `None` if it has none.
    pub fn excerpt(&mut self, text: &str) -> Option<Excerpt> {
        let line = in_one_line(text);
        let first = self.marks(&line).into_iter().next()?;
        Some(self.around(&line, first.start))
    }

    /// The same, or the beginning of a text that has none.
    pub fn excerpt_or_beginning(&mut self, text: &str) -> Excerpt {
        self.excerpt(text).unwrap_or_else(|| self.around(&in_one_line(text), 0))
    }

    /// The part of a line around a place.
    fn around(&mut self, line: &str, first: usize) -> Excerpt {
        let before = line[..first].char_indices().rev().nth(BEFORE - 1).map_or(0, |(start, _)| start);
        // Not in the middle of a word.
        let start = match line[before..first].find(' ') {
            Some(blank) if before > 0 => before + blank + 1,
            _ if before > 0 => first,
            _ => 0,
        };
        let rest = &line[start..];
        let end = rest.char_indices().nth(LENGTH).map_or(rest.len(), |(end, _)| end);
        let end = if end < rest.len() { rest[..end].rfind(' ').unwrap_or(end) } else { end };
        let mut shown = String::new();
        if start > 0 {
            shown.push('…');
        }
        shown.push_str(&rest[..end]);
        if end < rest.len() {
            shown.push('…');
        }
        let marks = self.marks(&shown);
        Excerpt { text: shown, marks }
    }
}

/// The part of a text that is looked at, without its line breaks.
fn in_one_line(text: &str) -> String {
    let looked_at = &text[..text.floor_char_boundary(LOOKED_AT)];
    looked_at.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Index, Language};

    fn excerpt(typed: &str, text: &str) -> Option<(String, Vec<String>)> {
        let index = Index::open(None, Some(Language::English)).unwrap();
        let found = index.view.matcher(&Search::parse(typed, 0).unwrap()).excerpt(text)?;
        let marks = found.marks.iter().map(|mark| found.text[mark.clone()].to_owned()).collect();
        Some((found.text, marks))
    }

    #[test]
    fn words_and_their_stems_are_marked() {
        let (text, marks) = excerpt("parse C++", "He parsed\n the C++ code, in C.").unwrap();
        assert_eq!(text, "He parsed the C++ code, in C.");
        assert_eq!(marks, ["parsed", "C++"]);
        assert_eq!(excerpt("data*", "Dataset and big-DATA").unwrap().1, ["Dataset", "DATA"]);
        assert_eq!(excerpt("-rust", "rust"), None);
        let index = Index::open(None, None).unwrap();
        let mut matcher = index.view.matcher(&Search::parse("by:alice", 0).unwrap());
        assert_eq!(matcher.excerpt_or_beginning("a\nb").text, "a b");
        assert!(matcher.excerpt_or_beginning(&"word ".repeat(100)).text.len() <= LENGTH + 3);
    }

    #[test]
    fn an_excerpt_is_short_and_has_the_word() {
        let text = format!("{} needle {}", "é".repeat(3).repeat(200), "many words ".repeat(100));
        let (found, marks) = excerpt("needle", &text).unwrap();
        assert!(found.starts_with("…needle many") && found.ends_with("…"), "{found}");
        assert!(found.chars().count() <= LENGTH + 2);
        assert_eq!(marks, ["needle"]);
    }
}
