//! The newest comments of the whole site, and the addresses of items by their numbers.

use super::comment_item::{CommentContext, comment_item};
use super::thread::title_link;
use crate::error::{RequestError, Result};
use crate::limits::{LISTED_COMMENT_BYTES, PAGE_LIST_BYTES, SITE_COMMENTS};
use crate::markup::addresses::{comment_address, news_address};
use crate::markup::parts::{empty_page, fitting, more_link};
use crate::markup::{FeedKind, Frame, Page, PageHead};
use crate::request::Fields;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::seen::{Seen, Viewed};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::comments::lists::{self, SiteComment};
use tidings_domain::items::Item;
use tidings_domain::values::{CommentAddress, size};
use tidings_language::{Message, m, t};

/// The error message for an invalid item number.
const ITEM_NUMBER: &Message = m!("it must be an item number, such as 17");

/// GET /comments: before, which leaves only comments with lower item numbers.
pub async fn page(Page { app, mut visit, here, .. }: Page, fields: Fields) -> Result<Markup> {
    let before = fields.parsed_optional("before", ITEM_NUMBER)?;
    let page = lists::newest(&mut visit, before, SITE_COMMENTS).await?;
    let (shown, rest) = page
        .comments
        .split_at(fitting(&page.comments, PAGE_LIST_BYTES, |(_, comment)| listed_bytes(comment)));
    let last = shown.last().map(|(number, _)| *number);
    let next = if rest.is_empty() { page.next } else { last };
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { (t!("New comments")) }
        @if shown.is_empty() && next.is_none() {
            @let later = before.map(|_| (t!("No more comments."), "/comments"));
            (empty_page(later, t!("No comments here yet."), ("/latest/0", t!("Find a story to discuss"))))
        }
        @for (_, comment) in shown { (listed(&frame, comment)) }
        (more_link(next.map(|next| format!("/comments?before={next}"))))
    };
    Ok(frame.page_with(t!("New comments"), &PageHead::of("/comments").feeds([FeedKind::Comments]), &content))
}

/// The most bytes of a comment in the list.
fn listed_bytes(comment: &Seen<SiteComment>) -> usize {
    let parent = comment.parent.as_ref().map_or(0, |(_, line)| size::escaped_bytes(line));
    LISTED_COMMENT_BYTES
        + size::marked_bytes(size::shown(comment.line().body()))
        + size::escaped_bytes(&comment.news.title)
        + parent
}

/// A comment with its story and the beginning of what it replies to.
fn listed(frame: &Frame<'_>, comment: &Seen<SiteComment>) -> Markup {
    let news = &comment.news;
    let place = CommentContext::among_others(news);
    let story = title_link(&news_address(news.id), Some(&news.title));
    html! {
        h2.about-what {
            @match &comment.parent {
                Some((id, line)) => {
                    @let address = comment_address(CommentAddress { news: news.id, comment: *id });
                    @let comment = html! { a.parent-line href=(address) { (line) } };
                    (t!("On {story}, in reply to {comment}", story, comment))
                }
                None => { (t!("On {story}", story)) }
            }
        }
        ol.thread role="list" { (comment_item(frame, place, Viewed::Whole(comment.line()), 0)) }
    }
}

/// GET /item?id=: leads to the story or the comment with an item number.
pub async fn item(mut visit: Visit, fields: Fields) -> Result<Redirect> {
    match lists::item(&mut visit, fields.parsed("id", ITEM_NUMBER)?).await? {
        Some(Item::Story(news)) => Ok(Redirect::to(&news_address(news))),
        Some(Item::Comment(address)) => Ok(Redirect::to(&comment_address(address))),
        None => Err(RequestError::NotFound),
    }
}
