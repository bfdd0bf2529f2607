//! How far people have read threads, and what of that is not stored yet.
//!
//! Reading a thread must not wait for a write, so a server keeps the marks of its readers
//! in memory until `news::visits` stores them. The marks in memory are newer than the
//! stored ones; whoever reads marks looks here too.
//!
//! It has no keys of its own.

use crate::values::{
    MARK_DELAY_SECONDS, MARK_INTERVAL_SECONDS, MARKS_PER_BATCH, MAX_PENDING_MARKS, Malformed, NewsId,
    READING_SECONDS, Timestamp, UserId, record_text,
};
use parking_lot::Mutex;
use std::collections::HashMap;

/// How far somebody has read a thread. Stored as five numbers, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadMark {
    /// When it was read last.
    pub time: Timestamp,
    /// When the reading began for which [`ThreadMark::new_after`] holds.
    pub since: Timestamp,
    /// On pages, comments with higher ids are new. It stays the same for one reading, so
    /// that the second page of a thread still shows what was new when the first was opened.
    pub new_after: u64,
    /// The highest id of a comment when it was read last.
    pub newest: u64,
    /// The story's counter of comments when it was read last, and the reader's own comments
    /// since then.
    pub comments: u64,
}

/// A page of a thread that somebody reads.
#[derive(Debug, Clone, Copy)]
pub struct PageRead {
    /// When.
    pub now: Timestamp,
    /// The highest id of a comment in the thread.
    pub newest: u64,
    /// The story's counter of comments.
    pub comments: u64,
    /// Whether it is the first page.
    pub is_first: bool,
}

impl ThreadMark {
    /// The mark after reading a page. The first mark makes nothing new.
    ///
    /// A new reading begins after a break, and when the first page is opened some time after
    /// the last reading began.
    pub fn after(earlier: Option<Self>, page: PageRead) -> Self {
        let PageRead { now, newest, comments, is_first } = page;
        let Some(earlier) = earlier else {
            return Self { time: now, since: now, new_after: newest, newest, comments };
        };
        let is_long_ago = |time| !now.is_within(READING_SECONDS, time);
        let begins = is_long_ago(earlier.time) || (is_first && is_long_ago(earlier.since));
        let (since, new_after) =
            if begins { (now, earlier.newest) } else { (earlier.since, earlier.new_after) };
        Self { time: now, since, new_after, newest: newest.max(earlier.newest), comments }
    }

    /// The same, with comments that the reader has written since.
    #[must_use]
    const fn with_own(mut self, own: u64) -> Self {
        self.comments = self.comments.saturating_add(own);
        self
    }
}

record_text!(ThreadMark or Malformed: {time} " " {since} " " {new_after} " " {newest} " " {comments});

/// The state of somebody's mark of one thread on this server, beyond what is stored.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PendingMark {
    /// The newest mark; `None` if only own comments were written.
    mark: Option<ThreadMark>,
    /// Own comments since that mark, or since the stored one.
    own: u64,
    /// Since when it differs from what is stored.
    changed: Option<Timestamp>,
    /// When it was stored last.
    stored: Option<Timestamp>,
}

impl PendingMark {
    /// The mark as it is now, given the stored one.
    pub(crate) fn over(self, stored: Option<ThreadMark>) -> Option<ThreadMark> {
        Some(self.mark.or(stored)?.with_own(self.own))
    }

    /// Whether it is to be stored now.
    fn is_due(&self, now: Timestamp) -> bool {
        self.changed.is_some_and(|changed| !now.is_within(MARK_DELAY_SECONDS, changed))
            && !self.is_recent(now)
    }

    /// Whether it was stored a short time ago.
    fn is_recent(&self, now: Timestamp) -> bool {
        self.stored.is_some_and(|stored| now.is_within(MARK_INTERVAL_SECONDS, stored))
    }
}

/// Which marks are to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhichMarks {
    /// Those that have waited for long enough.
    Due,
    /// All, because the server stops.
    All,
}

/// The marks of this server that may not be stored yet: at most [`MAX_PENDING_MARKS`].
/// Further ones are dropped, and reading goes on.
#[derive(Default)]
pub(crate) struct PendingMarks(Mutex<HashMap<UserId, HashMap<NewsId, PendingMark>>>);

crate::process_state::process_state!(PendingMarks);

impl PendingMarks {
    /// The pending marks of a reader.
    pub(crate) fn of(&self, reader: UserId) -> HashMap<NewsId, PendingMark> {
        self.0.lock().get(&reader).cloned().unwrap_or_default()
    }

    /// Notes that somebody has read a page of a thread, and now has this mark.
    pub(crate) fn note_read(&self, reader: UserId, news: NewsId, mark: ThreadMark) {
        self.change(mark.time, reader, news, |pending| (pending.mark, pending.own) = (Some(mark), 0));
    }

    /// Notes that somebody has written a comment: it is not new for its author.
    pub(crate) fn note_own(&self, now: Timestamp, author: UserId, news: NewsId) {
        self.change(now, author, news, |pending| pending.own += 1);
    }

    fn change(&self, now: Timestamp, reader: UserId, news: NewsId, change: impl FnOnce(&mut PendingMark)) {
        let mut readers = self.0.lock();
        let is_known = readers.get(&reader).is_some_and(|marks| marks.contains_key(&news));
        if !is_known && readers.values().map(HashMap::len).sum::<usize>() >= MAX_PENDING_MARKS {
            tracing::debug!(user = %reader, "too many marks of threads wait to be stored");
            return;
        }
        let pending = readers.entry(reader).or_default().entry(news).or_default();
        change(pending);
        pending.changed.get_or_insert(now);
    }

    /// Some marks that are to be stored, as far as [`MARKS_PER_BATCH`] allows. Forgets those
    /// that were stored long enough ago.
    pub(crate) fn take(&self, now: Timestamp, which: WhichMarks) -> Vec<(UserId, NewsId, PendingMark)> {
        let mut readers = self.0.lock();
        let mut taken = Vec::new();
        for (reader, marks) in readers.iter_mut() {
            marks.retain(|_, pending| pending.changed.is_some() || pending.is_recent(now));
            for (news, pending) in marks.iter_mut() {
                let is_wanted =
                    if which == WhichMarks::All { pending.changed.is_some() } else { pending.is_due(now) };
                if is_wanted && taken.len() < MARKS_PER_BATCH {
                    taken.push((*reader, *news, *pending));
                    (pending.changed, pending.stored) = (None, Some(now));
                }
            }
        }
        readers.retain(|_, marks| !marks.is_empty());
        taken
    }

    /// A mark that was taken is stored; `None` if there was nothing to store.
    pub(crate) fn note_stored(
        &self,
        reader: UserId,
        news: NewsId,
        (taken, stored): (PendingMark, Option<ThreadMark>),
    ) {
        if let Some(pending) = self.0.lock().get_mut(&reader).and_then(|marks| marks.get_mut(&news))
            && pending.mark == taken.mark
        {
            pending.mark = stored;
            pending.own = pending.own.saturating_sub(taken.own);
        }
    }

    /// A mark that was taken could not be stored.
    pub(crate) fn note_failed(&self, now: Timestamp, reader: UserId, news: NewsId) {
        if let Some(pending) = self.0.lock().get_mut(&reader).and_then(|marks| marks.get_mut(&news)) {
            pending.changed.get_or_insert(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000_000;

    fn page(after: u64, newest: u64, is_first: bool) -> PageRead {
        PageRead { now: Timestamp(START + after), newest, comments: newest, is_first }
    }

    #[test]
    fn a_mark_is_stored_as_text() {
        let mark = ThreadMark::after(None, page(0, 7, true));
        assert_eq!(mark.to_string(), "1000000 1000000 7 7 7");
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for text in ["", "1", "1 2 3 4", "1 2 3 4 5 6", "1 2 3 4 x", "1 2 3 4 -5"] {
            assert_eq!(text.parse::<ThreadMark>(), Err(Malformed), "{text:?}");
        }
    }

    #[test]
    fn what_was_new_on_the_first_page_is_new_on_the_second() {
        let first = ThreadMark::after(None, page(0, 5, true));
        assert_eq!((first.new_after, first.newest), (5, 5), "nothing is new at first");
        let again = ThreadMark::after(Some(first), page(3_600, 9, true));
        assert_eq!((again.new_after, again.newest), (5, 9));
        let second_page = ThreadMark::after(Some(again), page(3_600 + 900, 10, false));
        assert_eq!((second_page.new_after, second_page.newest), (5, 10));
        // Somebody who reads slowly, page after page.
        let third_page = ThreadMark::after(Some(second_page), page(3_600 + 2_000, 10, false));
        assert_eq!(third_page.new_after, 5);
        let begun_again = ThreadMark::after(Some(third_page), page(3_600 + 2_001, 11, true));
        assert_eq!(begun_again.new_after, 10);
        let next_day = ThreadMark::after(Some(begun_again), page(90_000, 20, false));
        assert_eq!((next_day.new_after, next_day.newest), (11, 20));
    }

    #[test]
    fn a_mark_is_stored_once_a_minute_at_most() {
        let (pending, reader, news) = (PendingMarks::default(), UserId(1), NewsId(5));
        let read = |after: u64| {
            let mark = ThreadMark::after(None, page(after, 3, true));
            pending.note_read(reader, news, mark);
        };
        let taken = |after: u64| {
            let taken = pending.take(Timestamp(START + after), WhichMarks::Due);
            for (reader, news, mark) in &taken {
                pending.note_stored(*reader, *news, (*mark, mark.over(None)));
            }
            taken.len()
        };
        read(0);
        assert_eq!((taken(1), taken(MARK_DELAY_SECONDS), taken(20)), (0, 1, 0));
        read(21);
        assert_eq!((taken(59), taken(MARK_DELAY_SECONDS + 60)), (0, 1));
        read(70);
        assert_eq!(pending.take(Timestamp(START + 70), WhichMarks::All).len(), 1);
        assert_eq!(pending.of(reader).len(), 1);
        assert_eq!(taken(70 + 60), 0);
        assert!(pending.of(reader).is_empty(), "what is stored is forgotten");
    }

    #[test]
    fn own_comments_are_added_to_the_newest_mark() {
        let (pending, reader, news) = (PendingMarks::default(), UserId(1), NewsId(5));
        let of = |stored| pending.of(reader).get(&news).and_then(|pending| pending.over(stored));
        let stored = ThreadMark::after(None, page(0, 3, true));
        pending.note_own(Timestamp(START), reader, news);
        assert_eq!(of(None), None, "a thread that was never read has no mark");
        assert_eq!(of(Some(stored)).map(|mark| mark.comments), Some(4));
        let mark = ThreadMark::after(Some(stored), page(1, 8, true));
        pending.note_read(reader, news, mark);
        assert_eq!(of(Some(stored)), Some(mark));
        pending.note_own(Timestamp(START), reader, news);
        assert_eq!(of(Some(stored)).map(|mark| mark.comments), Some(9));
        let taken = pending.take(Timestamp(START), WhichMarks::All);
        pending.note_own(Timestamp(START), reader, news);
        for (reader, news, mark) in taken {
            pending.note_stored(reader, news, (mark, mark.over(Some(stored))));
        }
        assert_eq!(of(None).map(|mark| mark.comments), Some(10), "one was written meanwhile");
    }

    #[test]
    fn marks_beyond_the_bound_are_dropped() {
        let pending = PendingMarks::default();
        let most = u64::try_from(MAX_PENDING_MARKS).unwrap_or(u64::MAX);
        for id in 1..=most + 1 {
            pending.note_own(Timestamp(START), UserId(id), NewsId(1));
        }
        assert_eq!((pending.of(UserId(most)).len(), pending.of(UserId(most + 1)).len()), (1, 0));
        pending.note_own(Timestamp(START), UserId(1), NewsId(1));
        assert_eq!(pending.of(UserId(1)).get(&NewsId(1)).map(|pending| pending.own), Some(2));
    }
}
