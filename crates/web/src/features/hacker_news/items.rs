//! Stories and comments as items.

use super::text::text_html;
use tidings_domain::imports::lines::{Id, WholeNumber, WrittenLine};
use tidings_domain::numbered::{ItemContent, ItemState, NumberedItem};

/// The replacement for a title or a text that flags have hidden.
const HIDDEN: &str = "[flagged]";

/// An item as it is written.
pub fn item_line(item: NumberedItem) -> WrittenLine {
    let NumberedItem { number, state, kids, content } = item;
    let (kind, time) = match &content {
        ItemContent::Story(story) => ("story", story.ctime),
        ItemContent::Comment(comment) => ("comment", comment.ctime),
    };
    let bare = WrittenLine {
        dead: (state == ItemState::Hidden).then_some(true),
        deleted: (state == ItemState::Gone).then_some(true),
        id: Id::Number(number.0.into()),
        kids: (!kids.is_empty()).then_some(kids),
        time: Some(time.0.into()),
        kind: Some(kind.to_owned()),
        ..WrittenLine::default()
    };
    match content {
        ItemContent::Story(_) if state == ItemState::Gone => bare,
        ItemContent::Story(story) => {
            let news = story.seen.as_ref().map(|seen| &seen.news);
            WrittenLine {
                by: story.username.as_deref().map(str::to_owned),
                descendants: Some(story.comments),
                score: Some(WholeNumber(story.points)),
                text: news.and_then(|news| news.text()).filter(|text| !text.is_empty()).map(text_html),
                title: Some(news.map_or(HIDDEN, |news| news.title.as_str()).to_owned()),
                url: news.and_then(|news| news.link_address()).map(str::to_owned),
                ..bare
            }
        }
        ItemContent::Comment(comment) => WrittenLine {
            by: comment.username.as_deref().map(str::to_owned),
            parent: comment.parent.map(|parent| parent.0.into()),
            text: match state {
                ItemState::Shown => Some(text_html(&comment.body)),
                ItemState::Hidden => Some(HIDDEN.to_owned()),
                ItemState::Gone => None,
            },
            ..bare
        },
    }
}
