//! Which stories lists show to their reader, and how a reader sees a story on its own page.
//!
//! This is the one place that decides it ([`marks`], `keep_listed`), from what the reader
//! has chosen (`accounts::reader`). Lists are cached once for everyone and filtered here for
//! each reader, so a page may be shorter than others, and every story keeps its page.

use super::item::News;
use super::lines::{NewsLine, NewsSummary};
use crate::accounts::reader::{Perspective, Reader, Sight, Written};
use crate::accounts::seen::Visible;
use crate::accounts::visit::Visit;

/// The marks of a story for its reader, besides the vote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether it is among the newest saved stories.
    pub saved: bool,
    /// Whether the reader has hidden it.
    pub hidden: bool,
    /// Whether the reader has muted its author, its site, one of its topics, or a word in it.
    pub muted: bool,
    /// How the reader sees it on its own page, which mutes do not change.
    pub sight: Sight,
}

impl Marks {
    /// Whether lists show the story to the reader.
    pub fn is_listed(self) -> bool {
        !self.hidden && self.is_listed_among_posted()
    }

    /// Whether the list of what somebody posted shows the story to the reader: there, hidden
    /// stories stay.
    pub fn is_listed_among_posted(self) -> bool {
        !self.muted && self.sight.is_shown()
    }
}

/// How somebody sees a story on its own page.
pub fn sight_of(perspective: Perspective<'_>, news: &News) -> Sight {
    let (author, unseen) = (news.user_id, news.unseen);
    perspective.of_withheld(Written { author, withheld: news.withheld.as_ref(), unseen })
}

impl Visible for News {
    fn is_gone(&self) -> bool {
        Self::is_gone(self)
    }

    fn sight(&self, perspective: Perspective<'_>) -> Sight {
        sight_of(perspective, self)
    }
}

impl Visible for NewsSummary {
    fn is_gone(&self) -> bool {
        self.news.is_gone()
    }

    fn sight(&self, perspective: Perspective<'_>) -> Sight {
        sight_of(perspective, &self.news)
    }
}

impl Visible for NewsLine {
    fn is_gone(&self) -> bool {
        self.summary.is_gone()
    }

    fn sight(&self, perspective: Perspective<'_>) -> Sight {
        self.summary.sight(perspective)
    }
}

/// The marks of a story for somebody.
pub fn marks(perspective: Perspective<'_>, news: &News) -> Marks {
    let sight = sight_of(perspective, news);
    let Some(reader) = perspective.reader else {
        return Marks { sight, ..Marks::default() };
    };
    let (saved, hidden) = (reader.has_saved(news.id), reader.has_hidden(news.id));
    Marks { saved, hidden, muted: is_muted(reader, news), sight }
}

/// Whether a reader has muted a story: its author, its site, one of its topics, or a word of
/// its title or text.
fn is_muted(reader: &Reader, news: &News) -> bool {
    reader.avoids(news.user_id)
        || news.topics.iter().any(|topic| reader.has_muted_topic(topic))
        || (reader.has_muted_sites() && news.site().is_some_and(|site| reader.has_muted_site(site)))
        || (!reader.words().is_empty() && has_word(reader, news))
}

fn has_word(reader: &Reader, news: &News) -> bool {
    let words = reader.words();
    words.are_in_tokens(news.title_tokens()) || news.text().is_some_and(|text| words.are_in(text))
}

/// Removes from a list what its reader does not want listed, unless the visit asks for that
/// too, and for everybody what is removed or waits for approval. `line` is the story of an
/// entry, if it has one. Returns how many entries are hidden or muted.
pub(crate) fn keep_listed<T>(
    visit: &Visit,
    entries: &mut Vec<T>,
    line: impl Fn(&T) -> Option<&NewsLine>,
) -> usize {
    keep(visit, entries, line, Marks::is_listed)
}

/// The same for the list of what somebody posted.
pub(crate) fn keep_posted(visit: &Visit, entries: &mut Vec<NewsLine>) -> usize {
    keep(visit, entries, |line| Some(line), Marks::is_listed_among_posted)
}

fn keep<T>(
    visit: &Visit,
    entries: &mut Vec<T>,
    line: impl Fn(&T) -> Option<&NewsLine>,
    is_wanted: fn(Marks) -> bool,
) -> usize {
    entries.retain(|entry| line(entry).is_none_or(|line| !line.news.is_unlisted()));
    let is_listed = |entry: &T| line(entry).is_none_or(|line| is_wanted(line.marks));
    let unlisted = entries.iter().filter(|entry| !is_listed(entry)).count();
    if unlisted > 0 && !visit.shows_hidden() {
        entries.retain(is_listed);
    }
    unlisted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::reader::Collapsed;
    use crate::accounts::reader::test_support::{marking, reader};
    use tidings_keyspace::Hash;

    fn news(fields: &[(&str, &str)]) -> News {
        let basic = [("id", "1"), ("title", "The title"), ("url", "text://t"), ("user_id", "7")];
        let fields =
            fields.iter().chain(&basic).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        News::from_hash(&Hash(fields.collect())).unwrap()
    }

    fn seen_by(reader: &Reader, news: &News) -> Marks {
        marks(Perspective { reader: Some(reader), shows_all: false }, news)
    }

    #[test]
    fn a_story_is_listed_unless_it_or_one_of_its_topics_is_unwanted() {
        let reader = marking(&[2, 5], &[1, 5], &["sport"]);
        for (id, topics, saved, hidden, muted) in [
            ("1", "rust", true, false, false),
            ("2", "", false, true, false),
            ("3", "rust,sport", false, false, true),
            ("4", "", false, false, false),
            ("5", "sport", true, true, true),
        ] {
            let marks = seen_by(&reader, &news(&[("id", id), ("topics", topics)]));
            assert_eq!(marks, Marks { saved, hidden, muted, sight: Sight::Shown }, "{id}");
            assert_eq!(marks.is_listed(), !hidden && !muted, "{id}");
        }
    }

    #[test]
    fn authors_sites_and_words_are_muted() {
        let reader = reader(1, &["user:8", "domain:example.com", "word:two words"], &["9"]);
        for (fields, muted) in [
            (&[][..], false),
            (&[("user_id", "8")], true),
            (&[("user_id", "9")], true),
            (&[("url", "http://a.example.com/x")], true),
            (&[("url", "http://example.org/example.com")], false),
            (&[("title", "One, Two Words!")], true),
            (&[("title", "Two. Words")], true),
            (&[("title", "Two other words")], false),
            (&[("url", "text://these are two\nwords")], true),
        ] {
            assert_eq!(seen_by(&reader, &news(fields)).muted, muted, "{fields:?}");
        }
    }

    #[test]
    fn what_flags_have_hidden_is_not_listed_for_visitors() {
        let marks = marks(Perspective::default(), &news(&[("withheld", "flagged:")]));
        assert_eq!(marks.sight, Sight::Collapsed(Collapsed::Flagged));
        assert!(!marks.is_listed());
    }
}
