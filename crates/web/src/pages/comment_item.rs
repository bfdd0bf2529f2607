//! A comment as a page shows it.

use super::fragments::{Fragment, LinkTarget, Slots, placeholders, written};
use super::layout::Frame;
use super::parts::{age_as, ago, author, number, vote_counts};
use super::vote_buttons::{NO_BUTTONS, VoteTarget, vote_buttons};
use crate::markdown::markdown;
use maud::{Markup, Render, html};
use std::sync::LazyLock;
use tidings_domain::comments::comment::Comment;
use tidings_domain::comments::outline::ThreadLine;
use tidings_domain::news::item::News;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId};

/// A comment's own page.
#[must_use]
pub fn comment_address(address: CommentAddress) -> String {
    format!("/comment/{}/{}", address.news, address.comment)
}

placeholders! {
    /// The parts of a comment that depend on the viewer or the time.
    pub enum CommentPlaceholder {
        /// How old it is.
        Age,
        /// Links to the actions that the viewer may take.
        Links,
    }
}

/// Where a comment is shown: its story, and whether the page has others.
#[derive(Debug, Clone, Copy)]
pub struct CommentContext {
    /// The story.
    pub news: NewsId,
    /// Whether the story is deleted: then its comments are read-only.
    pub news_deleted: bool,
    /// Whether the page also shows comments on other stories, so that the ids of comments
    /// alone are not unique.
    pub among_others: bool,
}

impl CommentContext {
    /// For a page about one story.
    #[must_use]
    pub fn alone(news: &News) -> Self {
        Self { news: news.id, news_deleted: news.deleted, among_others: false }
    }

    /// The id of the element that shows a comment.
    fn anchor(self, comment: CommentId) -> impl Render + Copy {
        written(move |html| {
            html.push_str("comment-");
            if self.among_others {
                self.news.0.render_to(html);
                html.push('-');
            }
            comment.0.render_to(html);
        })
    }
}

/// A comment in a list, indented by `level`.
pub fn comment_item(
    frame: &Frame<'_>,
    place: CommentContext,
    line: ThreadLine<'_>,
    level: usize,
) -> impl Render {
    written(move |html| write_comment(html, frame, place, line, (level, None)))
}

/// Writes a comment, with the cached fragment of its shared markup if there is one.
pub fn write_comment(
    html: &mut String,
    frame: &Frame<'_>,
    place: CommentContext,
    line: ThreadLine<'_>,
    (level, fragment): (usize, Option<&Fragment<CommentPlaceholder>>),
) {
    placeholders! {
        enum CommentItemPart {
            Level,
            Anchor,
            Buttons,
            Comment,
        }
    }
    static ITEM: LazyLock<Fragment<CommentItemPart>> = LazyLock::new(|| {
        Fragment::new(|slots| {
            html! {
                li class={ "item comment depth-" (slots.at(CommentItemPart::Level)) } id=(slots.at(CommentItemPart::Anchor)) data-item {
                    (slots.at(CommentItemPart::Buttons))
                    (slots.at(CommentItemPart::Comment))
                }
            }
        })
    });
    let comment = line.comment;
    let CommentContext { news, news_deleted, .. } = place;
    let anchor = place.anchor(comment.id);
    let fill = |placeholder, html: &mut String| match placeholder {
        CommentPlaceholder::Age => ago(frame.now.seconds_since(comment.ctime)).render_to(html),
        CommentPlaceholder::Links => comment_links(frame, place, comment).render_to(html),
    };
    ITEM.fill(html, |placeholder, html| match placeholder {
        CommentItemPart::Level => level.render_to(html),
        CommentItemPart::Anchor => anchor.render_to(html),
        CommentItemPart::Buttons if comment.deleted || news_deleted => NO_BUTTONS.render_to(html),
        CommentItemPart::Buttons => {
            let target = VoteTarget::Comment(CommentAddress { news, comment: comment.id });
            let my_vote = frame.viewer.and_then(|viewer| comment.vote_of(viewer.id));
            vote_buttons(frame, target, my_vote, anchor).render_to(html);
        }
        CommentItemPart::Comment => match fragment {
            Some(fragment) => fragment.fill(html, fill),
            None => {
                comment_markup(news, line, frame.link_target(), &Slots::filled_by(&fill)).render_to(html);
            }
        },
    });
}

/// The markup of a comment that is the same for all viewers.
pub fn comment_markup(
    news: NewsId,
    ThreadLine { comment, username, .. }: ThreadLine<'_>,
    links: LinkTarget,
    slots: &Slots<'_, CommentPlaceholder>,
) -> Markup {
    let address = CommentAddress { news, comment: comment.id };
    let age = age_as(comment.ctime, slots.at(CommentPlaceholder::Age));
    html! {
        // The original's id of a comment, so that links to it find it here.
        div #{ (news.0) "-" (comment.id.0) } {
            @if comment.deleted {
                div.meta {
                    a href=(comment_address(address)) data-open { (age) }
                    (slots.at(CommentPlaceholder::Links))
                }
                p.gone { "[deleted comment]" }
            } @else {
                div.meta {
                    (author(username)) " "
                    a href=(comment_address(address)) data-open { (age) } " "
                    (vote_counts(number(comment.up.len()), number(comment.down.len())))
                    @if let Some(parent) = comment.parent_id {
                        " " a href={ "/comment/" (news.0) "/" (parent.0) } { "parent" }
                    }
                    (slots.at(CommentPlaceholder::Links))
                }
                div.text.formatted dir="auto" { (markdown(&comment.body, links)) }
            }
        }
    }
}

/// The links to reply to a comment, and to edit and delete it if the viewer may.
fn comment_links(frame: &Frame<'_>, place: CommentContext, comment: &Comment) -> impl Render {
    placeholders! {
        enum ReplyLinkPart {
            News,
            Comment,
        }
    }
    static REPLY: LazyLock<Fragment<ReplyLinkPart>> = LazyLock::new(|| {
        Fragment::new(|slots| {
            let (news, comment) = (slots.at(ReplyLinkPart::News), slots.at(ReplyLinkPart::Comment));
            html! { " " a href={ "/reply/" (news) "/" (comment) } rel="nofollow" { "reply" } }
        })
    });
    let (news, id) = (place.news, comment.id);
    let may_reply = !comment.deleted && !place.news_deleted;
    let window = frame.rules.limits.comment_edit_seconds;
    let viewer = frame.viewer.filter(|_| !comment.deleted);
    let may_edit = viewer.is_some_and(|viewer| comment.may_edit(viewer, frame.now, window).is_ok());
    let may_delete = viewer.is_some_and(|viewer| comment.may_delete(viewer, frame.now, window).is_ok());
    written(move |html| {
        if may_reply {
            REPLY.fill(html, |placeholder, html| match placeholder {
                ReplyLinkPart::News => news.0.render_to(html),
                ReplyLinkPart::Comment => id.0.render_to(html),
            });
        }
        if may_edit {
            html! { " " a href={ "/editcomment/" (news) "/" (id) } { "edit" } }.render_to(html);
        }
        if may_delete {
            html! { " " a href={ "/editcomment/" (news) "/" (id) "#delete" } { "delete" } }.render_to(html);
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::test_support::{NOW, framed, user};
    use super::*;
    use crate::limits::COMMENT_MARKUP_BYTES;
    use tidings_domain::values::limits::LONGEST_STORED_USERNAME;

    #[test]
    fn a_comment_takes_no_more_than_pages_reckon_with() {
        let id = "99999999999999";
        let json = serde_json::json!({
            "body": "", "ctime": NOW.0, "user_id": 1, "parent_id": 99_999_999_999_999_u64,
            "up": vec![1; 10_000], "down": vec![1; 10_000],
        });
        let comment = Comment::from_field(id, &json.to_string()).unwrap();
        let news = NewsId(id.parse().unwrap());
        let place = CommentContext { news, news_deleted: false, among_others: true };
        let admin = user("1", "admin", "a");
        for character in ["🦀", "\""] {
            let name = character.repeat(LONGEST_STORED_USERNAME);
            let line = ThreadLine { comment: &comment, depth: 7, username: Some(&name) };
            let html =
                framed(Some(&admin), |frame| comment_item(frame, place, line, 7).render()).into_string();
            // The way back of the test is shorter than that of a page of a thread may be.
            let way_back = 60;
            assert!(html.len() + way_back <= COMMENT_MARKUP_BYTES, "{}", html.len());
        }
    }
}
