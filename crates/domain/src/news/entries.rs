//! The lists that a story is in. They follow from the story alone, and only this file writes them: a story enters
//! all lists of shown stories, leaves them, or moves between them. The check of a store asks the same rows.
//!
//! `user.posted:` is not among them: it keeps what its author has ever shown.

use crate::keys;
use crate::news::item::News;
use crate::news::past;
use crate::values::clock::Timestamp;
use crate::values::hostname::Hostname;
use crate::values::ids::{NewsId, UserId};
use tidings_keyspace::Batch;

/// A story, as far as its lists depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoryEntries<'a> {
    pub(crate) id: NewsId,
    pub(crate) posted: Timestamp,
    /// The site that it links to.
    pub(crate) host: Option<&'a Hostname>,
}

impl<'a> StoryEntries<'a> {
    /// The entries of a stored story.
    pub(crate) fn of(news: &'a News) -> Self {
        Self { id: news.id, posted: news.ctime, host: news.site() }
    }

    /// The lists of shown stories that it belongs to, beside the list by rank, each with its score there.
    pub(crate) fn lists(self) -> impl Iterator<Item = (String, f64)> {
        let host = self.host.map(keys::host_news);
        [keys::NEWS_CRON.to_owned()].into_iter().chain(host).map(move |list| (list, self.posted.as_score()))
    }

    /// Adds the story to all lists of shown stories, with its score and its rank.
    pub(crate) fn enter(self, batch: &mut Batch, (score, rank): (f64, f64)) {
        write_rank(batch, (self.id, self.posted), score, rank);
        for (list, posted) in self.lists() {
            batch.sorted_add(list, self.id.to_string(), posted);
        }
    }

    /// The same for a story that is shown for the first time: its author has posted it, too.
    pub(crate) fn enter_first(self, batch: &mut Batch, author: UserId, rank: (f64, f64)) {
        self.enter(batch, rank);
        batch.sorted_add(keys::user_posted(author), self.id.to_string(), self.posted.as_score());
    }

    /// Removes the story from all lists of shown stories.
    pub(crate) fn leave(self, batch: &mut Batch) {
        batch.sorted_remove(keys::NEWS_TOP, self.id.to_string());
        past::forget(batch, self.id, self.posted);
        for (list, _) in self.lists() {
            batch.sorted_remove(list, self.id.to_string());
        }
    }

    /// Moves a shown story to the lists that it belongs to after an edit. An entry that another program left out is
    /// there afterwards.
    pub(crate) fn move_to(self, batch: &mut Batch, after: StoryEntries<'_>) {
        let after: Vec<_> = after.lists().collect();
        for (list, _) in self.lists().filter(|entry| !after.contains(entry)) {
            batch.sorted_remove(list, self.id.to_string());
        }
        for (list, posted) in after {
            batch.sorted_add(list, self.id.to_string(), posted);
        }
    }
}

/// Adds the score and the rank of an item to a batch. The item is given by its id and the time
/// of its submission.
pub(crate) fn write_rank(batch: &mut Batch, (id, posted): (NewsId, Timestamp), score: f64, rank: f64) {
    batch.set_fields(keys::news(id), [("score", score.to_string()), ("rank", rank.to_string())]);
    batch.sorted_add(keys::NEWS_TOP, id.to_string(), rank);
    past::note_score(batch, (id, posted), score);
}
