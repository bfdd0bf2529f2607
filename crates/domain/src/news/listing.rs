//! Which stories lists show to their reader, and how a reader sees a story on its own page.
//!
//! `accounts::seen` decides it, from what a story says here and the reader has chosen. Lists are cached once for everyone and filtered here for
//! each reader, so a page may be shorter than others, and every story keeps its page.

use super::item::News;
use super::lines::{NewsLine, NewsSummary};
use crate::Visit;
use crate::accounts::{Collapsed, Perspective, Reader, ShownIn, Sight, Visible};
use crate::values::PostState;

/// The marks of a story for its reader, besides the vote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether it is among the newest saved stories.
    pub saved: bool,
    /// Whether the reader has hidden it.
    pub hidden: bool,
    /// How the reader sees it on its own page, which mutes do not change.
    pub sight: Sight,
}

impl Visible for News {
    fn state(&self) -> PostState<'_> {
        Self::state(self)
    }

    fn unwanted_by(&self, reader: &Reader, place: ShownIn) -> Option<Collapsed> {
        let is_hidden = place == ShownIn::List && reader.has_hidden(self.id);
        (is_hidden || is_muted(reader, self)).then_some(Collapsed::Unwanted)
    }
}

impl Visible for NewsSummary {
    fn state(&self) -> PostState<'_> {
        self.news.state()
    }

    fn unwanted_by(&self, reader: &Reader, place: ShownIn) -> Option<Collapsed> {
        self.news.unwanted_by(reader, place)
    }
}

/// The marks of a story for somebody.
pub fn marks(perspective: Perspective<'_>, news: &News) -> Marks {
    let sight = perspective.sight(news, ShownIn::Page);
    let Some(reader) = perspective.reader else { return Marks { sight, ..Marks::default() } };
    let (saved, hidden) = (reader.has_saved(news.id), reader.has_hidden(news.id));
    Marks { saved, hidden, sight }
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

/// Removes from a list what its reader does not see there. `line` is the story of an entry, if it has one. Returns how
/// many entries flags have hidden, or the reader has hidden or muted.
pub(crate) fn keep<T>(
    visit: &Visit,
    entries: &mut Vec<T>,
    line: impl Fn(&T) -> Option<&NewsLine>,
    place: ShownIn,
) -> usize {
    let (perspective, mut unlisted) = (visit.perspective(), 0);
    entries.retain(|entry| {
        let Some(line) = line(entry) else { return true };
        let sight = perspective.sight(line, place);
        unlisted += usize::from(matches!(sight, Sight::Collapsed(why) if why != Collapsed::Deleted));
        matches!(sight, Sight::Shown | Sight::Collapsed(Collapsed::Deleted))
    });
    unlisted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::reader::test_support::{marking, reader};
    use tidings_keyspace::Hash;

    fn news(fields: &[(&str, &str)]) -> News {
        let basic = [("id", "1"), ("title", "The title"), ("url", "text://t"), ("user_id", "7")];
        let fields =
            fields.iter().chain(&basic).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        News::from_hash(&Hash(fields.collect())).unwrap()
    }

    fn of(reader: &Reader) -> Perspective<'_> {
        Perspective { reader: Some(reader), shows_all: false }
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
            let news = news(&[("id", id), ("topics", topics)]);
            assert_eq!(marks(of(&reader), &news), Marks { saved, hidden, sight: Sight::Shown }, "{id}");
            assert_eq!(of(&reader).sees(&news, ShownIn::List), !hidden && !muted, "{id}");
            assert_eq!(of(&reader).sees(&news, ShownIn::Posted), !muted, "{id}");
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
            assert_eq!(of(&reader).sees(&news(fields), ShownIn::List), !muted, "{fields:?}");
        }
    }

    #[test]
    fn what_flags_have_hidden_is_not_listed_for_visitors() {
        let sight = Perspective::default().sight(&news(&[("withheld", "flagged:")]), ShownIn::List);
        assert_eq!(sight, Sight::Collapsed(Collapsed::Flagged));
    }
}
