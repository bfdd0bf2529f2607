//! What a reader has done to the lists: stories hidden and saved, topics followed and muted.
//!
//! This is the one place that decides whether a list shows a story to its viewer
//! (`keep_listed`). Lists are cached once for everyone and filtered here for each viewer, so
//! a page may be shorter than others, and every story keeps its page.
//!
//! All of it is one small value per reader, cached until one of the four keys that it was read
//! from is written. So it costs a page no round, and no read per story.

use super::item::News;
use super::lines::NewsLine;
use crate::accounts::visit::Visit;
use crate::cache::{MEBIBYTE, Shared};
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::values::ids::{NewsId, UserId};
use crate::values::limits::{MARKED_SAVED, MAX_FOLLOWED_TOPICS, MAX_HIDDEN, MAX_MUTED_TOPICS};
use crate::values::topic::Topic;
use tidings_keyspace::{Answers, Order, Query, Reads, Tracked, TrackedHandle};

crate::cache_kind! {
    /// Readers.
    struct Readers: UserId => Reader, "readers", MEBIBYTE, |_, reader| reader.size();
}

/// What a reader has chosen.
#[derive(Debug, Default)]
pub struct Reader {
    /// The hidden stories, by number.
    hidden: Box<[NewsId]>,
    /// The newest saved stories, by number.
    saved: Box<[NewsId]>,
    /// The followed topics, the latest first.
    pub followed: Box<[Topic]>,
    /// The muted topics, the latest first.
    pub muted: Box<[Topic]>,
}

/// What a story is to its viewer, besides the vote. Nothing to a visitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether it is among the newest saved stories.
    pub saved: bool,
    /// Whether the viewer has hidden it.
    pub hidden: bool,
    /// Whether the viewer has muted one of its topics.
    pub muted: bool,
}

impl Marks {
    /// Whether lists show the story to the viewer.
    #[must_use]
    pub const fn is_listed(self) -> bool {
        !self.hidden && !self.muted
    }
}

impl Reader {
    /// What a story is to the reader.
    #[must_use]
    pub fn marks(&self, news: &News) -> Marks {
        Marks {
            saved: self.saved.binary_search(&news.id).is_ok(),
            hidden: self.has_hidden(news.id),
            muted: !self.muted.is_empty() && news.topics.iter().any(|topic| self.muted.contains(topic)),
        }
    }

    /// Whether the reader has hidden a story.
    #[must_use]
    pub fn has_hidden(&self, id: NewsId) -> bool {
        self.hidden.binary_search(&id).is_ok()
    }

    /// The approximate size in bytes.
    fn size(&self) -> usize {
        let topics: usize = self.followed.iter().chain(&self.muted).map(|topic| topic.as_str().len()).sum();
        let lists = size_of_val(&*self.hidden) + size_of_val(&*self.saved);
        lists + topics + size_of_val(&*self.followed) + size_of_val(&*self.muted)
    }
}

/// A pending read of one of the lists of a reader: its key, and the members.
type ListRead = (String, TrackedHandle<Vec<(String, f64)>>);

/// A pending read of the viewer's choices.
pub(crate) enum ReaderRead {
    /// There is no viewer.
    Nobody,
    Cached(Shared<Reader>),
    /// The hidden and the saved stories; the followed and the muted topics.
    Asked(UserId, [ListRead; 4]),
}

impl ReaderRead {
    /// Asks for what is not cached. The viewer must be identified already.
    pub(crate) fn ask(visit: &Visit, query: &mut Query) -> Self {
        visit.viewer_id().map_or(Self::Nobody, |id| Self::of(visit, query, id))
    }

    /// The same for any user.
    pub(crate) fn of(visit: &Visit, query: &mut Query, id: UserId) -> Self {
        if let Some(reader) = visit.site().caches.of::<Readers>().get(visit.view(), &id) {
            return Self::Cached(reader);
        }
        let lists = [
            (keys::user_hidden(id), MAX_HIDDEN),
            (keys::user_saved(id), MARKED_SAVED),
            (keys::topics_followed(id), MAX_FOLLOWED_TOPICS),
            (keys::topics_muted(id), MAX_MUTED_TOPICS),
        ];
        let read = lists.map(|(key, most)| {
            let list = query.sorted_range(&key, Order::Descending, 0, most);
            (key, query.track(list))
        });
        Self::Asked(id, read)
    }

    /// The viewer's choices; `None` without a viewer.
    pub(crate) fn take(self, visit: &Visit, answers: &mut Answers) -> Option<Shared<Reader>> {
        let (id, [hidden, saved, followed, muted]) = match self {
            Self::Nobody => return None,
            Self::Cached(reader) => return Some(reader),
            Self::Asked(id, lists) => (id, lists),
        };
        let mut reads = Reads::default();
        let mut stories = |(key, list): ListRead| {
            let list = answers.take_tracked(list).collect_into(&mut reads);
            let mut ids: Vec<NewsId> = fields::members(list, &key, |(id, _)| id.parse().ok());
            ids.sort_unstable();
            ids.into_boxed_slice()
        };
        let (hidden, saved) = (stories(hidden), stories(saved));
        let mut topics = |(key, list): ListRead| {
            let list = answers.take_tracked(list).collect_into(&mut reads);
            let topics = fields::members(list, &key, |(name, _)| Topic::parse("topic", &name).ok());
            topics.into_boxed_slice()
        };
        let reader = Reader { hidden, saved, followed: topics(followed), muted: topics(muted) };
        let cache = visit.site().caches.of::<Readers>();
        Some(cache.insert(visit.view(), id, Tracked::new(reader, reads), None))
    }
}

/// The viewer's choices; `None` without a viewer. Rounds: at most 2; none once a list of the
/// page has read them, if the store allows caching.
///
/// # Errors
/// When the store fails.
pub async fn of_viewer(visit: &mut Visit) -> Result<Option<Shared<Reader>>, Error> {
    visit.identify().await?;
    let mut query = Query::new();
    let reader = ReaderRead::ask(visit, &mut query);
    let mut answers = visit.run_if_asked(query).await?;
    Ok(reader.take(visit, &mut answers))
}

/// Removes from a list what its viewer does not want listed, unless the visit asks for that
/// too. `line` is the story of an entry, if it has one. Returns how many entries are hidden or
/// muted.
pub(crate) fn keep_listed<T>(
    visit: &Visit,
    entries: &mut Vec<T>,
    line: impl Fn(&T) -> Option<&NewsLine>,
) -> usize {
    let is_listed = |entry: &T| line(entry).is_none_or(|line| line.marks.is_listed());
    let unlisted = entries.iter().filter(|entry| !is_listed(entry)).count();
    if unlisted > 0 && !visit.shows_hidden() {
        entries.retain(is_listed);
    }
    unlisted
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tidings_keyspace::Hash;

    fn news(id: &str, topics: &str) -> News {
        let fields = [("id", id), ("title", "t"), ("url", "text://t"), ("user_id", "1"), ("topics", topics)];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        News::from_hash(&Hash(fields.into())).unwrap()
    }

    #[test]
    fn a_story_is_listed_unless_it_or_one_of_its_topics_is_unwanted() {
        let reader = Reader {
            hidden: [NewsId(2), NewsId(5)].into(),
            saved: [NewsId(1), NewsId(5)].into(),
            muted: [Topic::parse("topic", "sport").unwrap()].into(),
            ..Reader::default()
        };
        for (id, topics, saved, hidden, muted) in [
            ("1", "rust", true, false, false),
            ("2", "", false, true, false),
            ("3", "rust,sport", false, false, true),
            ("4", "", false, false, false),
            ("5", "sport", true, true, true),
        ] {
            let marks = reader.marks(&news(id, topics));
            assert_eq!(marks, Marks { saved, hidden, muted }, "{id}");
            assert_eq!(marks.is_listed(), !hidden && !muted, "{id}");
        }
    }
}
