//! Stories and comments as items.

use super::text::text_html;
use serde::Serialize;
use tidings_domain::numbered::{ItemContent, ItemState, NumberedComment, NumberedItem, NumberedStory};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::ItemNumber;

/// The replacement for a title or a text that flags have hidden.
const HIDDEN: &str = "[flagged]";

/// An item. Fields without a value are missing.
#[derive(Debug, Serialize)]
pub struct ItemEntry {
    /// The author's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// Whether flags have hidden it.
    #[serde(skip_serializing_if = "Option::is_none")]
    dead: Option<bool>,
    /// Whether it is deleted or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<bool>,
    /// All comments of a story.
    #[serde(skip_serializing_if = "Option::is_none")]
    descendants: Option<u64>,
    id: ItemNumber,
    /// The comments directly below it, in reading order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kids: Vec<ItemNumber>,
    /// The item that a comment replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ItemNumber>,
    /// Votes up minus votes down, of a story.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
    /// The text as HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The time of posting, in Unix seconds.
    time: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl ItemEntry {
    /// An item as its entry.
    pub fn of(item: NumberedItem) -> Self {
        let NumberedItem { number, state, kids, content } = item;
        let (kind, time) = match &content {
            ItemContent::Story(story) => ("story", story.ctime),
            ItemContent::Comment(comment) => ("comment", comment.ctime),
        };
        let bare = Self {
            by: None,
            dead: (state == ItemState::Hidden).then_some(true),
            deleted: (state == ItemState::Gone).then_some(true),
            descendants: None,
            id: number,
            kids,
            parent: None,
            score: None,
            text: None,
            time,
            title: None,
            kind,
            url: None,
        };
        match content {
            ItemContent::Story(story) => bare.story(state, story),
            ItemContent::Comment(comment) => bare.comment(state, comment),
        }
    }

    fn story(self, state: ItemState, story: NumberedStory) -> Self {
        if state == ItemState::Gone {
            return self;
        }
        let NumberedStory { username, comments, points, seen, .. } = story;
        let news = seen.as_ref().map(|seen| &seen.news);
        Self {
            by: username.as_deref().map(str::to_owned),
            descendants: Some(comments),
            score: Some(points),
            text: news.and_then(|news| news.text()).filter(|text| !text.is_empty()).map(text_html),
            title: Some(news.map_or(HIDDEN, |news| news.title.as_str()).to_owned()),
            url: news.and_then(|news| news.link_address()).map(str::to_owned),
            ..self
        }
    }

    fn comment(self, state: ItemState, comment: NumberedComment) -> Self {
        let NumberedComment { parent, username, body, .. } = comment;
        let text = match state {
            ItemState::Shown => Some(text_html(&body)),
            ItemState::Hidden => Some(HIDDEN.to_owned()),
            ItemState::Gone => None,
        };
        Self { by: username.as_deref().map(str::to_owned), parent, text, ..self }
    }
}
