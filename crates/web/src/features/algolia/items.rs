//! An item with all comments below it.

use super::hits::date;
use crate::error::{RequestError, Result};
use crate::features::hacker_news::text::text_html;
use crate::limits::PAGE_LIST_BYTES;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;
use tidings_domain::accounts::seen::{Seen, ShownIn};
use tidings_domain::comments::outline::{PartBounds, ThreadLines};
use tidings_domain::comments::threads::Thread;
use tidings_domain::items::Item;
use tidings_domain::values::{CommentAddress, CommentId, ItemNumber, NewsId};
use tidings_domain::{News, Visit, numbered};

/// The most bytes of a comment without its text.
const COMMENT_BYTES: usize = 400;

/// The limits of an item with its comments.
const BOUNDS: PartBounds = PartBounds {
    comments: usize::MAX,
    bytes: PAGE_LIST_BYTES,
    comment_bytes: COMMENT_BYTES,
    names: 0,
    ids: 0,
};

/// The item with a number and the comments below it, as JSON. Rounds: 4.
///
/// # Errors
/// [`RequestError::NotFound`] for an item that is not there, or that visitors do not see; or the store's.
pub(super) async fn read(visit: &mut Visit, number: ItemNumber) -> Result<String> {
    let wanted = |lines: &ThreadLines, comment: Option<CommentId>| {
        branch(lines, comment).map(Iterator::collect).unwrap_or_default()
    };
    let found = numbered::thread_of(visit, number, wanted).await?;
    let (thread, comment) = found.ok_or(RequestError::NotFound)?;
    let story = Item::Story(thread.lines.news());
    let positions = branch(&thread.lines, comment).ok_or(RequestError::NotFound)?;
    let items = positions.clone().filter_map(|position| item_at(&thread.lines, position));
    let parents = positions.clone().filter_map(|position| parent_of(&thread.lines, position));
    let numbers = numbered::numbers(visit, items.chain(parents).chain([story])).await?;
    let tree = Tree { thread: &thread, numbers };
    let is_whole = positions.end == branch_end(&thread.lines, comment);
    match comment {
        None => tree.story(number, positions, is_whole),
        Some(_) => tree.branch(positions, is_whole),
    }
}

/// The positions of a comment and those below it, or of all, as far as they fit. `None` without the comment.
fn branch(lines: &ThreadLines, root: Option<CommentId>) -> Option<Range<usize>> {
    let end = branch_end(lines, root);
    let start = match root {
        None => 0,
        Some(root) => lines.position(root)?,
    };
    let before = start.checked_sub(1).and_then(|before| lines.places().get(before)).map(|place| place.id);
    let fitting = lines.part(before, BOUNDS)?;
    Some(start..fitting.end.min(end))
}

/// The position after a comment and those below it, or after all.
fn branch_end(lines: &ThreadLines, root: Option<CommentId>) -> usize {
    let places = lines.places();
    let Some(start) = root.and_then(|root| lines.position(root)) else { return places.len() };
    let depth = places.get(start).map_or(0, |place| place.depth);
    let below = places.iter().skip(start + 1).take_while(|place| place.depth > depth);
    start + 1 + below.count()
}

/// The comment at a position of a thread.
pub(super) fn item_at(lines: &ThreadLines, position: usize) -> Option<Item> {
    let comment = lines.places().get(position)?.id;
    Some(Item::Comment(CommentAddress { news: lines.news(), comment }))
}

fn parent_of(lines: &ThreadLines, position: usize) -> Option<Item> {
    Some(replied_to(lines.news(), lines.places().get(position)?.parent))
}

/// The item that a comment on a story replies to: another comment, if it names one.
pub(super) fn replied_to(news: NewsId, parent: Option<CommentId>) -> Item {
    parent.map_or(Item::Story(news), |comment| Item::Comment(CommentAddress { news, comment }))
}

struct Tree<'a> {
    thread: &'a Thread,
    numbers: HashMap<Item, ItemNumber>,
}

impl Tree<'_> {
    fn number(&self, item: Item) -> Option<u64> {
        self.numbers.get(&item).map(|number| number.0)
    }

    fn story(&self, number: ItemNumber, positions: Range<usize>, is_whole: bool) -> Result<String> {
        let line = Seen::by_visitors(&self.thread.news, ShownIn::List).ok_or(RequestError::NotFound)?;
        let news: &News = &line.news;
        let entry = json!({
            "author": line.username.as_deref(), "created_at": date(news.ctime), "created_at_i": news.ctime,
            "id": number, "parent_id": null, "points": news.points(),
            "story_id": number, "text": news.text().filter(|text| !text.is_empty()).map(text_html),
            "title": news.title, "type": "story", "url": news.link_address(),
        });
        Ok(self.with_children(&entry, positions, is_whole))
    }

    fn branch(&self, mut positions: Range<usize>, is_whole: bool) -> Result<String> {
        let root = positions.next().and_then(|root| self.comment(root)).ok_or(RequestError::NotFound)?;
        Ok(self.with_children(&root, positions, is_whole))
    }

    /// A comment without those below it; `None` if visitors do not see it.
    fn comment(&self, position: usize) -> Option<Value> {
        let line = self.thread.line(position).and_then(|line| Seen::by_visitors(line, ShownIn::List))?;
        let news: NewsId = self.thread.lines.news();
        let parent = parent_of(&self.thread.lines, position)?;
        Some(json!({
            "author": line.username, "created_at": date(line.comment.ctime),
            "created_at_i": line.comment.ctime, "id": self.number(item_at(&self.thread.lines, position)?)?,
            "parent_id": self.number(parent), "points": null, "story_id": self.number(Item::Story(news)),
            "text": text_html(line.body()), "title": null, "type": "comment", "url": null,
        }))
    }

    /// An entry with the comments below it, nested. Comments that visitors do not see are left out, and those
    /// below them are in their place. Written without recursion, because a thread may be deep.
    fn with_children(&self, root: &Value, positions: Range<usize>, mut is_whole: bool) -> String {
        let begun = |entry: &Value| {
            let text = entry.to_string();
            format!(r#"{},"children":["#, text.strip_suffix('}').unwrap_or(&text))
        };
        let mut json = begun(root);
        let room = json.len() + PAGE_LIST_BYTES;
        // The depths of the comments whose replies are being written.
        let mut open: Vec<usize> = Vec::new();
        for position in positions {
            let Some(place) = self.thread.lines.places().get(position) else { continue };
            while open.last().is_some_and(|depth| *depth >= place.depth) {
                open.pop();
                json.push_str("]}");
            }
            let Some(entry) = self.comment(position) else { continue };
            let entry = begun(&entry);
            if json.len() + entry.len() > room {
                is_whole = false;
                break;
            }
            if !json.ends_with('[') {
                json.push(',');
            }
            json.push_str(&entry);
            open.push(place.depth);
        }
        open.iter().for_each(|_| json.push_str("]}"));
        json.push_str(if is_whole { "]}" } else { r#"],"truncated":true}"# });
        json
    }
}
