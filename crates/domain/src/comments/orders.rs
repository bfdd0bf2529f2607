//! Threads in other orders than that of the score, and with the comment first that was just posted. A
//! thread is cached once, by score; what a page in another order needs besides is made of it in memory.

use super::outline::{ThreadLine, ThreadLines, ThreadPlace};
use crate::values::{CommentId, CommentOrder};
use std::cmp::Reverse;

/// A whole thread in some order.
#[derive(Debug)]
pub struct OrderedLines<'a> {
    lines: &'a ThreadLines,
    reordered: Option<Reordered>,
}

impl<'a> OrderedLines<'a> {
    /// A thread by score in another order.
    pub fn new(lines: &'a ThreadLines, order: CommentOrder) -> Self {
        Self { lines, reordered: Reordered::of(lines, order, None) }
    }

    /// The places of the comments, in this order.
    pub fn outline(&self) -> &ThreadLines {
        self.reordered.as_ref().map_or(self.lines, |reordered| &reordered.outline)
    }

    /// The line at a position of the outline.
    pub fn line(&self, position: usize) -> Option<ThreadLine<'a>> {
        match &self.reordered {
            Some(reordered) => self.lines.line(reordered.source(position)?),
            None => self.lines.line(position),
        }
    }
}

/// A thread in another order: its places, and where each comment is in the thread by score.
#[derive(Debug)]
pub(super) struct Reordered {
    pub(super) outline: ThreadLines,
    source: Vec<usize>,
}

impl Reordered {
    /// A thread in an order, with a comment first among its siblings; `None` if that is its own order.
    pub(super) fn of(lines: &ThreadLines, order: CommentOrder, first: Option<CommentId>) -> Option<Self> {
        let first = first.and_then(|id| lines.position(id));
        if order == CommentOrder::Score && first.is_none() {
            return None;
        }
        let source = arrange(lines.places(), order, first);
        let places = source.iter().filter_map(|position| lines.places().get(*position).cloned());
        Some(Self { outline: ThreadLines::outline(lines.news(), places.collect()), source })
    }

    /// The position in the thread by score.
    pub(super) fn source(&self, position: usize) -> Option<usize> {
        self.source.get(position).copied()
    }
}

/// The positions of the comments in another order: each before its replies.
fn arrange(places: &[ThreadPlace], order: CommentOrder, posted: Option<usize>) -> Vec<usize> {
    // The replies to each comment, and those to the story.
    let mut replies: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    let (mut first, mut above) = (Vec::new(), Vec::<usize>::new());
    for (position, place) in places.iter().enumerate() {
        above.truncate(place.depth);
        match above.last().and_then(|parent| replies.get_mut(*parent)) {
            Some(replies) => replies.push(position),
            None => first.push(position),
        }
        above.push(position);
    }
    let mut arranged = Vec::with_capacity(places.len());
    // The next one last, because they are taken from the end.
    let mut waiting = first;
    sort_for_taking(&mut waiting, places, (order, posted));
    while let Some(position) = waiting.pop() {
        arranged.push(position);
        if let Some(mut below) = replies.get_mut(position).map(std::mem::take) {
            sort_for_taking(&mut below, places, (order, posted));
            waiting.append(&mut below);
        }
    }
    arranged
}

/// Sorts comments so that the first one of an order is the last, and a posted one after it.
fn sort_for_taking(
    positions: &mut [usize],
    places: &[ThreadPlace],
    (order, posted): (CommentOrder, Option<usize>),
) {
    let of = |position: &usize| places.get(*position).map(|place| (place.ctime, place.id));
    match order {
        CommentOrder::Score => positions.sort_by_key(|position| Reverse(*position)),
        CommentOrder::Newest => positions.sort_by_key(of),
        CommentOrder::Oldest => positions.sort_by_key(|position| Reverse(of(position))),
    }
    let posted = positions.iter().position(|position| Some(*position) == posted);
    if let Some(following) = posted.and_then(|posted| positions.get_mut(posted..)) {
        following.rotate_left(1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::test_support::thread;
    use super::*;

    fn ids(order: CommentOrder) -> Vec<u64> {
        // The ids are 1 to 6, and each comment is a second younger than the one before.
        let lines = thread(&[0, 1, 1, 2, 0, 1]);
        let reordered = Reordered::of(&lines, order, None);
        let places = reordered.as_ref().map_or(lines.places(), |reordered| reordered.outline.places());
        for (position, place) in places.iter().enumerate() {
            let source = reordered.as_ref().map_or(Some(position), |reordered| reordered.source(position));
            assert_eq!(source.and_then(|source| lines.places().get(source)), Some(place));
        }
        places.iter().map(|place| place.id.0).collect()
    }

    #[test]
    fn siblings_are_ordered_and_replies_stay_below_their_comment() {
        assert_eq!(ids(CommentOrder::Score), [1, 2, 3, 4, 5, 6]);
        assert_eq!(ids(CommentOrder::Newest), [5, 6, 1, 3, 4, 2]);
        assert_eq!(ids(CommentOrder::Oldest), [1, 2, 3, 4, 5, 6]);
        let lines = thread(&[0, 1, 1]);
        let reordered = Reordered::of(&lines, CommentOrder::Newest, None);
        let outline = reordered.as_ref().map_or(&lines, |reordered| &reordered.outline);
        assert_eq!(outline.position(CommentId(3)), Some(1));
    }

    #[test]
    fn a_posted_comment_is_first_among_its_siblings() {
        let lines = thread(&[0, 1, 1, 2, 0, 1]);
        for (posted, order, expected) in [
            (5, CommentOrder::Score, [5, 6, 1, 2, 3, 4]),
            (3, CommentOrder::Score, [1, 3, 4, 2, 5, 6]),
            (2, CommentOrder::Newest, [5, 6, 1, 2, 3, 4]),
            (1, CommentOrder::Score, [1, 2, 3, 4, 5, 6]),
        ] {
            let reordered = Reordered::of(&lines, order, Some(CommentId(posted))).unwrap();
            let ids = reordered.outline.places().iter().map(|place| place.id.0);
            assert_eq!(ids.collect::<Vec<_>>(), expected, "{posted}");
        }
        assert!(Reordered::of(&lines, CommentOrder::Score, Some(CommentId(9))).is_none());
    }
}
