//! The words that were looked for, marked in the attributes of a hit.

use crate::limits::MARKED_BYTES;
use serde_json::{Value, json};
use tidings_search::excerpts::Matcher;
use tidings_search::index::View;
use tidings_search::language::{Search, Term, What};

/// Marks the words of one search.
pub(super) struct Highlighter {
    all: Matcher,
    /// Each word, with what recognises it alone.
    words: Vec<(String, Matcher)>,
}

/// A text with its marks.
struct Marked {
    value: String,
    /// The marked words.
    found: String,
    /// Whether every word is marked.
    is_whole: bool,
}

impl Highlighter {
    pub(super) fn new(index: &View, search: &Search, words: Vec<String>) -> Self {
        let alone = |word: String| {
            let what = [What::Words(vec![word.clone()]), What::Prefix(word.clone())];
            let groups = vec![what.into_iter().map(Term::of).collect()];
            (word, index.matcher(&Search { groups, ignored: Vec::new() }))
        };
        Self { all: index.matcher(search), words: words.into_iter().map(alone).collect() }
    }

    /// A plain text, which is escaped.
    pub(super) fn plain(&mut self, text: &str) -> Value {
        let mut marked = Marked { value: String::new(), found: String::new(), is_whole: true };
        self.mark(text, &mut marked, escaped);
        self.level(marked)
    }

    /// A text as HTML, whose tags stay as they are.
    pub(super) fn html(&mut self, html: &str) -> Value {
        let mut marked = Marked { value: String::new(), found: String::new(), is_whole: true };
        let mut rest = html;
        while let Some((text, tagged)) = rest.split_once('<') {
            self.mark(text, &mut marked, str::to_owned);
            let (tag, after) = tagged.split_once('>').unwrap_or((tagged, ""));
            marked.value.push_str(&format!("<{tag}>"));
            rest = after;
        }
        self.mark(rest, &mut marked, str::to_owned);
        self.level(marked)
    }

    fn mark(&mut self, text: &str, marked: &mut Marked, written: fn(&str) -> String) {
        let (looked_at, rest) = match self.words.is_empty() || marked.value.len() > MARKED_BYTES {
            true => ("", text),
            false => text.split_at(text.floor_char_boundary(MARKED_BYTES)),
        };
        let mut end = 0;
        for mark in self.all.marks(looked_at) {
            let (before, word) = (&looked_at[end..mark.start], &looked_at[mark.clone()]);
            marked.is_whole &= !before.contains(char::is_alphanumeric);
            marked.value.push_str(&written(before));
            marked.value.push_str(&format!("<em>{}</em>", written(word)));
            marked.found.push_str(word);
            marked.found.push(' ');
            end = mark.end;
        }
        for after in [&looked_at[end..], rest] {
            marked.is_whole &= !after.contains(char::is_alphanumeric);
            marked.value.push_str(&written(after));
        }
    }

    fn level(&mut self, Marked { value, found, is_whole }: Marked) -> Value {
        let is_in = |(word, matcher): &mut (String, Matcher)| {
            (!matcher.marks(&found).is_empty()).then(|| word.clone())
        };
        let matched: Vec<String> =
            if found.is_empty() { Vec::new() } else { self.words.iter_mut().filter_map(is_in).collect() };
        if matched.is_empty() {
            return json!({ "value": value, "matchLevel": "none", "matchedWords": [] });
        }
        let level = if matched.len() == self.words.len() { "full" } else { "partial" };
        json!({ "value": value, "matchLevel": level, "fullyHighlighted": is_whole, "matchedWords": matched })
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_search::index::{Index, Language};

    #[test]
    fn words_are_marked_outside_of_tags() {
        let index = Index::open(None, Some(Language::English)).unwrap();
        let words = ["em", "rust"].map(str::to_owned);
        let groups = words.clone().map(|word| vec![Term::of(What::Words(vec![word]))]);
        let search = Search { groups: groups.into(), ignored: Vec::new() };
        let mut highlighter = Highlighter::new(&index.view, &search, words.into());
        assert_eq!(
            highlighter.plain("Rust <em> & co"),
            json!({"value": "<em>Rust</em> &lt;<em>em</em>&gt; &amp; co", "matchLevel": "full", "fullyHighlighted": false, "matchedWords": ["em", "rust"]})
        );
        assert_eq!(
            highlighter.html("<a href=\"rust\">Rust</a>"),
            json!({"value": "<a href=\"rust\"><em>Rust</em></a>", "matchLevel": "partial", "fullyHighlighted": true, "matchedWords": ["rust"]})
        );
        assert_eq!(
            highlighter.plain("nothing"),
            json!({"value": "nothing", "matchLevel": "none", "matchedWords": []})
        );
    }
}
