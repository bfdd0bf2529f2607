//! The outline of a thread: its comments in reading order, and which of them are on which
//! page.
//!
//! The pages of a thread (or of a branch of it) are a partition: each comment that they show
//! is on exactly one. A comment below more than [`THREAD_LEVELS`] levels is on none of them,
//! but on the pages of the branch above it.

use super::comment::Comment;
use crate::accounts::{Collapsed, Perspective, Reader, Seen, ShownIn, Sight, UserNames, Visible};
use crate::values::{
    CommentId, NewsId, PostState, THREAD_LEVELS, Timestamp, UserId, WHOLE_THREAD_BYTES, Withheld,
    first_words, size,
};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use tidings_keyspace::{Hash, Reads};

/// A comment in its thread, the same for all viewers.
#[derive(Debug, Clone, Copy)]
pub struct ThreadLine<'a> {
    /// The comment. A deleted one is listed only if it has replies.
    pub comment: &'a Comment,
    /// Its depth: 0 for a comment on the item itself.
    pub depth: usize,
    /// The author's name; `None` for a deactivated account.
    pub username: Option<&'a str>,
}

impl Visible for ThreadLine<'_> {
    fn state(&self) -> PostState<'_> {
        self.comment.state()
    }

    fn unwanted_by(&self, reader: &Reader, place: ShownIn) -> Option<Collapsed> {
        self.comment.unwanted_by(reader, place)
    }
}

impl<'a> Seen<ThreadLine<'a>> {
    /// The text of the comment.
    pub fn body(&self) -> &'a str {
        &self.comment.body
    }
}

/// Something that has one comment.
pub trait OneComment {
    /// The comment as a line.
    fn as_line(&self) -> ThreadLine<'_>;
}

impl OneComment for Comment {
    fn as_line(&self) -> ThreadLine<'_> {
        ThreadLine { comment: self, depth: 0, username: None }
    }
}

impl<T: OneComment> OneComment for &T {
    fn as_line(&self) -> ThreadLine<'_> {
        T::as_line(self)
    }
}

impl<T: OneComment> Seen<T> {
    /// The comment as a line.
    pub fn line(&self) -> Seen<ThreadLine<'_>> {
        self.part(T::as_line)
    }
}

/// Where a comment is in its thread, and how much room it takes in a response.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadPlace {
    /// The comment.
    pub id: CommentId,
    /// The comment that it replies to, if that is in the thread.
    pub parent: Option<CommentId>,
    /// Its depth: 0 for a comment on the item itself.
    pub depth: usize,
    /// The author's name; `None` for a deactivated account.
    pub username: Option<Arc<str>>,
    /// Whether it was deleted: then it is listed because of its replies.
    pub deleted: bool,
    /// How a visitor without a session sees it.
    pub sight: Sight,
    pub(super) user_id: UserId,
    pub(super) score: i64,
    pub(super) ctime: Timestamp,
    page_bytes: usize,
    json_bytes: usize,
    name_bytes: usize,
}

impl ThreadPlace {
    fn new(depth: usize, comment: &Comment) -> Self {
        let text = if comment.deleted { "" } else { size::shown(&comment.body) };
        let reason = comment.withheld.as_ref().and_then(Withheld::reason).unwrap_or_default();
        Self {
            id: comment.id,
            parent: comment.parent_id.filter(|_| depth > 0),
            depth,
            username: None,
            deleted: comment.deleted,
            sight: Perspective::default().sight(comment, ShownIn::Thread { has_replies: false }),
            user_id: comment.user_id,
            score: comment.score(),
            ctime: comment.ctime,
            page_bytes: size::marked_bytes(text)
                + size::escaped_bytes(&first_words(text))
                + size::escaped_bytes(reason),
            json_bytes: size::json_bytes(text) + size::marked_bytes(text) + size::json_bytes(reason),
            name_bytes: size::name_bytes(None),
        }
    }
}

/// A deleted comment, which may be in no place of its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletedComment {
    /// The comment.
    pub id: CommentId,
    /// The comment that it replied to, if that is in the thread.
    pub parent: Option<CommentId>,
    /// When it was written.
    pub ctime: Timestamp,
}

/// The limits of a page or another part of a thread.
#[derive(Debug, Clone, Copy)]
pub struct PartBounds {
    /// The most comments.
    pub comments: usize,
    /// The most bytes. A single comment is a part even if it has more.
    pub bytes: usize,
    /// The most bytes of a comment without its text, names and ids.
    pub comment_bytes: usize,
    /// How often the author's name may be there.
    pub names: usize,
    /// How often an id of the thread may be there.
    pub ids: usize,
}

/// The comments of a thread in reading order: each before its replies.
#[derive(Debug, PartialEq)]
pub struct ThreadLines {
    news: NewsId,
    places: Box<[ThreadPlace]>,
    /// The deleted comments, also those without a place.
    deleted: Box<[DeletedComment]>,
    /// The most digits of an id: of the item, or of a comment.
    id_digits: usize,
    /// The comments in the same order; `None` if they are too large to be cached.
    comments: Option<Box<[Comment]>>,
}

impl ThreadLines {
    /// A thread without its comments.
    pub(super) fn outline(news: NewsId, places: Vec<ThreadPlace>) -> Self {
        let longest = places.iter().map(|place| place.id.0).chain([news.0]).max().unwrap_or(0);
        let id_digits = longest.to_string().len();
        Self { news, places: places.into(), deleted: Box::default(), id_digits, comments: None }
    }

    /// The same with its deleted comments.
    pub(super) fn with_deleted(self, deleted: Vec<DeletedComment>) -> Self {
        Self { deleted: deleted.into(), ..self }
    }

    /// A whole thread: comments in the order of [`arrange`], each with its depth, and the
    /// names of their authors.
    pub fn new(
        news: NewsId,
        arranged: Vec<(usize, Comment)>,
        name: impl Fn(UserId) -> Option<Arc<str>>,
    ) -> Self {
        let places = arranged.iter().map(|(depth, comment)| ThreadPlace::new(*depth, comment)).collect();
        let mut lines = Self::outline(news, places);
        lines.name_all(name);
        lines.keep_whole(arranged.into_iter().map(|(_, comment)| comment).collect());
        lines
    }

    /// Adds the comments, in the order of the places.
    pub(super) fn keep_whole(&mut self, comments: Vec<Comment>) {
        self.comments = Some(comments.into());
    }

    /// Adds the names of the authors.
    fn name_all(&mut self, name: impl Fn(UserId) -> Option<Arc<str>>) {
        for place in &mut self.places {
            place.username = name(place.user_id);
            place.name_bytes = size::name_bytes(place.username.as_deref());
        }
    }

    /// Adds the names of the authors, and what was read for them to `reads`.
    pub(super) fn take_names(&mut self, names: &UserNames, reads: &mut Reads) {
        let mut found: HashMap<UserId, Option<Arc<str>>> = HashMap::new();
        for author in self.authors() {
            found.entry(author).or_insert_with_key(|id| names.collect_into(*id, reads));
        }
        self.name_all(|id| found.get(&id).cloned().flatten());
    }

    /// The author of each comment.
    pub(super) fn authors(&self) -> impl Iterator<Item = UserId> {
        self.places.iter().map(|place| place.user_id)
    }

    /// The item that the comments are on.
    pub const fn news(&self) -> NewsId {
        self.news
    }

    /// Where the comments are.
    pub const fn places(&self) -> &[ThreadPlace] {
        &self.places
    }

    /// The position of a comment; `None` if it is not listed.
    pub fn position(&self, id: CommentId) -> Option<usize> {
        self.places.iter().position(|place| place.id == id)
    }

    /// A deleted comment.
    pub fn deleted(&self, id: CommentId) -> Option<&DeletedComment> {
        self.deleted.iter().find(|deleted| deleted.id == id)
    }

    /// The positions of the comments below a position, or of those on the item itself, of which a visitor
    /// without a session is told: not of those that wait for approval, and of deleted and removed ones only
    /// while there is such a comment below them.
    pub fn told_below(&self, parent: Option<usize>) -> Vec<usize> {
        let top = parent.and_then(|parent| self.places.get(parent)).map_or(0, |place| place.depth + 1);
        let first = parent.map_or(0, |parent| parent + 1);
        let length = self.places.iter().skip(first).take_while(|place| place.depth >= top).count();
        let told = self.told_in(first, length, false).into_iter();
        told.filter(|(_, depth)| *depth == top).map(|(position, _)| position).collect()
    }

    /// The positions of all comments that pages have for a visitor without a session: of deleted and removed ones, and
    /// of those that wait for approval, only while there is such a comment below them.
    pub fn told(&self) -> Vec<usize> {
        self.told_in(0, self.places.len(), true).into_iter().map(|(position, _)| position).collect()
    }

    /// The positions in a branch, with their depths, of what a visitor without a session is told. `tells_held` says
    /// whether that is also what waits for approval, while there is such a comment below it.
    fn told_in(&self, first: usize, length: usize, tells_held: bool) -> Vec<(usize, usize)> {
        // From the end: whether there is such a comment at each depth below the one that is looked at.
        let (mut depths, mut told) = (Vec::<bool>::new(), Vec::new());
        for (position, place) in self.places.iter().enumerate().skip(first).take(length).rev() {
            let has_replies = depths.get(place.depth + 1).copied().unwrap_or(false);
            depths.truncate(place.depth + 1);
            depths.resize(place.depth + 1, false);
            let is_told = match place.sight {
                Sight::LeftOut => tells_held && has_replies,
                Sight::Collapsed(Collapsed::Removed | Collapsed::Deleted) => has_replies,
                Sight::Collapsed(_) | Sight::Shown => true,
            };
            if let Some(depth) = depths.last_mut() {
                *depth |= is_told;
            }
            if is_told {
                told.push((position, place.depth));
            }
        }
        told.reverse();
        told
    }

    /// Whether it has the comments and not only their places.
    pub const fn is_whole(&self) -> bool {
        self.comments.is_some()
    }

    /// The line at a position of a whole thread.
    pub fn line(&self, position: usize) -> Option<ThreadLine<'_>> {
        self.line_with(position, self.comments.as_ref()?.get(position)?)
    }

    /// The line at a position, with its comment.
    pub(super) fn line_with<'a>(&'a self, position: usize, comment: &'a Comment) -> Option<ThreadLine<'a>> {
        let place = self.places.get(position)?;
        Some(ThreadLine { comment, depth: place.depth, username: place.username.as_deref() })
    }

    /// The most bytes of a comment on a page.
    fn page_bytes(&self, place: &ThreadPlace, bounds: &PartBounds) -> usize {
        let PartBounds { comment_bytes, names, ids, .. } = bounds;
        place.page_bytes + comment_bytes + names * place.name_bytes + ids * self.id_digits
    }

    /// The approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        let comments = self.comments.iter().flat_map(|comments| comments.iter());
        size_of_val(&*self.places)
            + size_of_val(&*self.deleted)
            + comments.map(|comment| size_of_val(comment) + comment.size()).sum::<usize>()
    }

    /// The position of the comment at the top of the branch whose pages show a comment. `None` if the pages
    /// of the whole thread show it.
    ///
    /// A branch begins with the last level that the pages above it show, so that all but the comments of
    /// its first level have their parents above them.
    pub fn branch_of(&self, position: usize) -> Option<usize> {
        let levels_below = THREAD_LEVELS - 1;
        let depth = self.places.get(position)?.depth;
        let top = depth.checked_sub(1)? / levels_below * levels_below;
        let is_top = |position: &usize| self.places.get(*position).is_some_and(|place| place.depth == top);
        (0..position).rev().find(is_top).filter(|_| top > 0)
    }

    /// The pages of the thread, or of a comment with all comments below it. `None` if there
    /// is no such comment.
    pub fn pages(&self, root: Option<CommentId>, bounds: PartBounds) -> Option<ThreadPages<'_>> {
        let (start, depth) = match root {
            None => (0, 0),
            Some(root) => {
                let start = self.position(root)?;
                (start, self.places.get(start)?.depth)
            }
        };
        let is_below = |place: &&ThreadPlace| root.is_none() || place.depth > depth;
        let rest = self.places.iter().skip(start + usize::from(root.is_some()));
        let end = start + usize::from(root.is_some()) + rest.take_while(is_below).count();
        let mut pages = ThreadPages { places: self.places.get(..end)?, depth, pages: Vec::new() };
        let mut at = start;
        while at < end || pages.pages.is_empty() {
            let cost = |place: &ThreadPlace| {
                (place.depth - depth < THREAD_LEVELS).then(|| self.page_bytes(place, &bounds))
            };
            let page = at..part_end(pages.places, at, bounds, cost);
            at = page.end;
            pages.pages.push(page);
        }
        Some(pages)
    }

    /// The part of the thread after a comment, or its beginning. `None` if there is no such
    /// comment. Room is counted as in JSON.
    pub fn part(&self, after: Option<CommentId>, bounds: PartBounds) -> Option<Range<usize>> {
        let start = match after {
            None => 0,
            Some(after) => self.position(after)? + 1,
        };
        let cost = |place: &ThreadPlace| Some(place.json_bytes + bounds.comment_bytes);
        Some(start..part_end(&self.places, start, bounds, cost))
    }

    /// How many comments, from the first one on, fit into what is left of the room of a page.
    /// They take their part of it.
    pub(super) fn fitting(&self, room: &mut PartBounds) -> usize {
        let fits = |place: &&ThreadPlace| room.take(self.page_bytes(place, room));
        self.places.iter().take_while(fits).count()
    }

    /// Leaves the room of a page that comments at some positions do not take.
    pub fn leave_room(&self, shown: &[usize], room: &mut PartBounds) {
        for place in shown.iter().filter_map(|position| self.places.get(*position)) {
            if !room.take(self.page_bytes(place, room)) {
                room.comments = 0;
            }
        }
    }
}

impl PartBounds {
    /// Takes the room of a comment of some bytes. Returns whether there was room.
    const fn take(&mut self, bytes: usize) -> bool {
        if self.comments == 0 || bytes > self.bytes {
            return false;
        }
        self.comments -= 1;
        self.bytes -= bytes;
        true
    }
}

/// The end of the part that begins at `start`. A comment without a cost is not shown.
fn part_end(
    places: &[ThreadPlace],
    start: usize,
    bounds: PartBounds,
    cost: impl Fn(&ThreadPlace) -> Option<usize>,
) -> usize {
    let (mut comments, mut bytes) = (0, 0);
    for (position, place) in places.iter().enumerate().skip(start) {
        let Some(cost) = cost(place) else { continue };
        if comments > 0 && (comments == bounds.comments || bytes + cost > bounds.bytes) {
            return position;
        }
        comments += 1;
        bytes += cost;
    }
    places.len()
}

/// The pages of a thread, or of a branch of it.
#[derive(Debug)]
pub struct ThreadPages<'a> {
    /// The places up to the end of the branch.
    places: &'a [ThreadPlace],
    /// The depth of the first level.
    depth: usize,
    pages: Vec<Range<usize>>,
}

impl ThreadPages<'_> {
    /// How many pages there are, at least one.
    pub const fn count(&self) -> usize {
        self.pages.len()
    }

    /// The positions of the comments on a page, by its number from 1 on. `None` for a page
    /// that does not exist.
    pub fn shown(&self, number: u64) -> Option<Vec<usize>> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        Some(self.pages.get(index)?.clone().filter(|position| self.has_level(*position)).collect())
    }

    /// The level of a comment, from 0 on.
    pub fn level(&self, position: usize) -> usize {
        self.places.get(position).map_or(0, |place| place.depth.saturating_sub(self.depth))
    }

    /// Whether a comment has replies that are too deep to be shown.
    pub fn has_hidden_replies(&self, position: usize) -> bool {
        position + 1 < self.places.len()
            && self.has_level(position)
            && self.level(position + 1) == THREAD_LEVELS
    }

    /// The first and the last comment of a page, counted from 1 on, and how many all pages have. They
    /// count what is too deep to be shown.
    pub fn span(&self, number: u64) -> Option<[usize; 3]> {
        let page = self.pages.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
        let before = self.pages.first()?.start;
        Some([page.start - before + 1, page.end - before, self.places.len() - before])
    }

    /// The number of the page with the comment at a position. `None` if no page shows it.
    pub fn page_of(&self, position: usize) -> Option<usize> {
        let index = self.pages.partition_point(|page| page.end <= position);
        let is_there = self.pages.get(index)?.contains(&position) && self.has_level(position);
        is_there.then_some(index + 1)
    }

    /// Whether all comments are on one page.
    pub fn is_complete(&self) -> bool {
        let first = self.pages.first().cloned().unwrap_or_default();
        self.pages.len() <= 1 && first.into_iter().all(|position| self.has_level(position))
    }

    /// Whether it is not too deep for the page.
    fn has_level(&self, position: usize) -> bool {
        self.level(position) < THREAD_LEVELS
    }
}

/// The comments of a stored thread in reading order, with their places.
pub(super) struct Arranged {
    pub(super) places: Vec<ThreadPlace>,
    pub(super) comments: Vec<Comment>,
    /// The deleted comments, also those without a place.
    pub(super) deleted: Vec<DeletedComment>,
    /// Whether the comments are too large to be cached.
    pub(super) is_large: bool,
}

impl Arranged {
    /// Reads the comments of an item, and drops each stored text when it is read.
    pub(super) fn of(news: NewsId, hash: Hash) -> Self {
        let stored = hash.0.into_iter();
        let comments: Vec<Comment> =
            stored.filter_map(|(field, json)| Comment::read(news, &field, &json)).collect();
        let deleted = deleted_of(&comments);
        let arranged = arrange(comments);
        let place = |(depth, comment): (usize, Comment)| (ThreadPlace::new(depth, &comment), comment);
        let (places, comments): (Vec<_>, Vec<Comment>) = arranged.into_iter().map(place).unzip();
        let is_large = comments.iter().map(Comment::size).sum::<usize>() > WHOLE_THREAD_BYTES;
        Self { places, comments, deleted, is_large }
    }
}

/// The comments of a thread that are deleted, without those that readers never saw.
fn deleted_of(comments: &[Comment]) -> Vec<DeletedComment> {
    let ids: HashSet<CommentId> = comments.iter().map(|comment| comment.id).collect();
    let deleted =
        comments.iter().filter(|comment| comment.deleted && !comment.state().is_secret()).map(|comment| {
            DeletedComment {
                id: comment.id,
                parent: comment.parent_id.filter(|parent| ids.contains(parent)),
                ctime: comment.ctime,
            }
        });
    deleted.collect()
}

/// Puts comments into reading order: each before its replies; siblings by votes up minus
/// votes down, newer first on a tie. A deleted comment is listed only if a comment below it
/// is. A comment whose parent is missing counts as a comment on the item.
///
/// There is no recursion: a thread may be as deep as it has comments.
pub fn arrange(comments: Vec<Comment>) -> Vec<(usize, Comment)> {
    let ids: HashSet<CommentId> = comments.iter().map(|comment| comment.id).collect();
    let mut answers: HashMap<Option<CommentId>, Vec<Comment>> = HashMap::new();
    for comment in comments {
        // A reply is newer than its parent: this also breaks cycles.
        let parent = comment.parent_id.filter(|parent| ids.contains(parent) && *parent < comment.id);
        answers.entry(parent).or_default().push(comment);
    }
    for siblings in answers.values_mut() {
        // The best last, because they are taken from the end.
        siblings.sort_by_key(|comment| (comment.score(), comment.ctime, comment.id));
    }
    let mut waiting: Vec<(usize, Comment)> =
        answers.remove(&None).unwrap_or_default().into_iter().map(|comment| (0, comment)).collect();
    let mut arranged = Vec::with_capacity(ids.len());
    while let Some((depth, comment)) = waiting.pop() {
        let below = answers.remove(&Some(comment.id)).unwrap_or_default();
        waiting.extend(below.into_iter().map(|answer| (depth + 1, answer)));
        arranged.push((depth, comment));
    }
    without_bare_deleted(arranged)
}

/// Drops deleted comments that have nothing below them.
fn without_bare_deleted(arranged: Vec<(usize, Comment)>) -> Vec<(usize, Comment)> {
    let mut shown: Vec<(usize, Comment)> = Vec::with_capacity(arranged.len());
    for (depth, comment) in arranged.into_iter().rev() {
        // In this direction, the comment pushed last follows this one. If it is deeper,
        // it is a reply.
        let has_answers = shown.last().is_some_and(|(next, _)| *next > depth);
        if !comment.deleted || has_answers {
            shown.push((depth, comment));
        }
    }
    shown.reverse();
    shown
}

#[cfg(test)]
pub(super) mod test_support {
    use super::*;

    /// A comment from `id`, `parent` (0 = none), votes up and down, deleted.
    pub fn comment(id: u64, parent: u64, up: u64, down: u64, deleted: bool) -> Comment {
        let parent = if parent == 0 { -1 } else { i64::try_from(parent).unwrap() };
        let votes = |count: u64| (100..100 + count).collect::<Vec<_>>();
        let json = serde_json::json!({
            "body": "", "ctime": 1_000, "user_id": 1, "parent_id": parent,
            "up": votes(up), "down": votes(down), "del": i64::from(deleted),
        });
        Comment::from_field(NewsId(1), &id.to_string(), &json.to_string()).unwrap()
    }

    /// A thread with these depths; each text has ten bytes.
    pub fn thread(depths: &[usize]) -> ThreadLines {
        let comments = (1..).zip(depths).map(|(id, depth)| {
            let mut comment = comment(id, id - 1, 0, 0, false);
            comment.body = "ten bytes.".to_owned();
            (*depth, comment)
        });
        ThreadLines::new(NewsId(1), comments.collect(), |_| None)
    }
}

#[cfg(test)]
mod tests {
    use super::test_support::{comment, thread};
    use super::*;

    fn check(comments: Vec<Comment>, expected: &[(usize, u64)]) {
        let arranged: Vec<_> =
            arrange(comments).into_iter().map(|(depth, comment)| (depth, comment.id.0)).collect();
        assert_eq!(arranged, expected);
    }

    #[test]
    fn replies_follow_their_comment_and_siblings_are_ordered_by_votes_then_newest() {
        check(
            vec![
                comment(1, 0, 1, 0, false),
                comment(2, 1, 1, 0, false),
                comment(3, 0, 5, 0, false),
                comment(4, 1, 3, 1, false),
                comment(5, 0, 1, 0, false),
            ],
            &[(0, 3), (0, 5), (0, 1), (1, 4), (1, 2)],
        );
    }

    #[test]
    fn deleted_comments_are_listed_only_above_others() {
        check(
            vec![
                comment(1, 0, 9, 0, true),
                comment(2, 1, 1, 0, false),
                comment(3, 0, 8, 0, true),
                comment(4, 0, 7, 0, true),
                comment(5, 4, 1, 0, true),
                comment(6, 5, 1, 0, true),
                comment(7, 0, 6, 0, false),
            ],
            &[(0, 1), (1, 2), (0, 7)],
        );
    }

    #[test]
    fn a_visitor_is_told_of_what_is_gone_only_while_something_is_below_it() {
        let state = |id, parent, state: &str| {
            let mut comment = comment(id, parent, 1, 0, state == "deleted");
            comment.withheld = match state {
                "removed" => Some(Withheld::Removed("spam".into())),
                "held" => Some(Withheld::Held(String::new().into())),
                "flagged" => Some(Withheld::Flagged),
                _ => None,
            };
            comment
        };
        // The parent of each, and its state.
        let states = "0 deleted, 1 held, 0 removed, 3 shown, 0 removed, 5 deleted, 6 removed, 0 held, 8 shown, \
            0 flagged, 0 deleted, 11 deleted, 12 shown";
        let states = (1..).zip(states.split(", ").map(|state| state.split_once(' ').unwrap()));
        let comments = states.map(|(id, (parent, said))| state(id, parent.parse().unwrap(), said)).collect();
        let lines = ThreadLines::new(NewsId(1), arrange(comments), |_| None);
        let told = |parent: Option<u64>| -> Vec<u64> {
            let parent = parent.map(|id| lines.position(CommentId(id)).unwrap());
            lines.told_below(parent).into_iter().map(|position| lines.places()[position].id.0).collect()
        };
        assert_eq!(told(None), [11, 10, 3]);
        assert_eq!(told(Some(3)), [4]);
        assert_eq!(told(Some(8)), [9]);
        assert_eq!(told(Some(11)), [12]);
        assert_eq!(told(Some(12)), [13]);
        assert!(told(Some(13)).is_empty() && told(Some(5)).is_empty());
    }

    #[test]
    fn orphans_and_cycles_are_comments_on_the_item() {
        check(
            vec![
                comment(1, 2, 1, 0, false),
                comment(2, 1, 1, 0, false),
                comment(3, 99, 2, 0, false),
                comment(4, 4, 5, 0, false),
            ],
            &[(0, 4), (0, 3), (0, 1), (1, 2)],
        );
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_does_not_overflow() {
        let chain: Vec<Comment> = (1..=100_000).map(|id| comment(id, id - 1, 0, 0, false)).collect();
        let arranged = arrange(chain);
        assert_eq!(arranged.len(), 100_000);
        assert_eq!(arranged.last().unwrap().0, 99_999);
    }

    fn shown(lines: &ThreadLines, root: Option<u64>, bounds: (usize, usize)) -> Vec<Vec<usize>> {
        let bounds = PartBounds { comments: bounds.0, bytes: bounds.1, comment_bytes: 5, names: 0, ids: 0 };
        let pages = lines.pages(root.map(CommentId), bounds).unwrap();
        let page = |number: usize| pages.shown(u64::try_from(number).unwrap());
        assert_eq!((page(0), page(pages.count() + 1)), (None, None));
        (1..=pages.count()).map(|number| page(number).unwrap()).collect()
    }

    #[test]
    fn a_page_ends_at_the_bound_on_comments_or_on_bytes() {
        let flat = thread(&[0; 7]);
        assert_eq!(shown(&flat, None, (7, 1_000)), [[0, 1, 2, 3, 4, 5, 6]]);
        assert_eq!(shown(&flat, None, (6, 1_000)), [vec![0, 1, 2, 3, 4, 5], vec![6]]);
        let all = 7 * (size::marked_bytes("ten bytes.") + "ten bytes.".len() + 5);
        assert_eq!(shown(&flat, None, (7, all)), [[0, 1, 2, 3, 4, 5, 6]]);
        assert_eq!(shown(&flat, None, (7, all - 1)), [vec![0, 1, 2, 3, 4, 5], vec![6]]);
        // One comment is a page, however large it is.
        assert_eq!(shown(&thread(&[0, 0]), None, (7, 1)), [[0], [1]]);
        assert_eq!(shown(&thread(&[]), None, (7, 1_000)), [[0; 0]]);
    }

    #[test]
    fn what_is_deeper_than_eight_levels_is_on_the_pages_of_its_branch() {
        let chain = thread(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 0]);
        assert_eq!(shown(&chain, None, (8, 1_000)), [vec![0, 1, 2, 3, 4, 5, 6, 7], vec![11]]);
        assert_eq!(shown(&chain, Some(8), (8, 1_000)), [[7, 8, 9, 10]]);
        assert_eq!(shown(&chain, Some(12), (8, 1_000)), [[11]]);
        let bounds = PartBounds { comments: 8, bytes: 1_000, comment_bytes: 5, names: 0, ids: 0 };
        let pages = chain.pages(None, bounds).unwrap();
        assert!(pages.has_hidden_replies(7) && !pages.has_hidden_replies(6) && !pages.is_complete());
        assert_eq!(pages.page_of(8), None);
        assert_eq!(chain.pages(Some(CommentId(8)), bounds).unwrap().page_of(0), None);
        assert_eq!(pages.page_of(11), Some(2));
        assert_eq!(
            (pages.span(1), pages.span(2), pages.span(3)),
            (Some([1, 11, 12]), Some([12, 12, 12]), None)
        );
        assert!(!thread(&[0, 1, 2, 3, 4, 5, 6, 7]).pages(None, bounds).unwrap().has_hidden_replies(7));
        assert!(chain.pages(Some(CommentId(99)), bounds).is_none());
    }

    #[test]
    fn a_comment_that_is_too_deep_is_in_a_branch_with_its_parents() {
        let chain = thread(&(0..20).chain([8, 1]).collect::<Vec<_>>());
        let branches: Vec<_> = (0..22).map(|position| chain.branch_of(position)).collect();
        let expected = [(None, 8), (Some(7), 7), (Some(14), 5), (Some(7), 1), (None, 1)];
        assert_eq!(branches, expected.map(|(branch, count)| vec![branch; count]).concat());
        for (position, branch) in branches.into_iter().enumerate() {
            let root = branch.map(|branch| chain.places()[branch].id);
            let bounds = PartBounds { comments: 3, bytes: 1_000, comment_bytes: 5, names: 0, ids: 0 };
            assert!(chain.pages(root, bounds).unwrap().page_of(position).is_some(), "{position}");
        }
        assert_eq!(chain.branch_of(22), None);
    }

    #[test]
    fn parts_follow_each_other() {
        let chain = thread(&[0, 1, 2, 9, 9]);
        let bounds = PartBounds { comments: 2, bytes: 1_000, comment_bytes: 5, names: 0, ids: 0 };
        let part = |after: Option<u64>| chain.part(after.map(CommentId), bounds);
        assert_eq!(part(None), Some(0..2));
        assert_eq!(part(Some(2)), Some(2..4));
        assert_eq!(part(Some(4)), Some(4..5));
        assert_eq!(part(Some(5)), Some(5..5));
        assert_eq!(part(Some(6)), None);
    }
}
