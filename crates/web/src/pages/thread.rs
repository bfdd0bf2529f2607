//! A story with its comments, and one comment with its replies.

use super::comments::CommentEditor;
use super::fragments::{ContentPlaceholder, DerivedKey, Fragment, LinkTarget, Slots, placeholders, written};
use super::layout::Frame;
use super::login_address;
use super::parts::{
    age_as, ago, author, counted, leading_story, news_address, news_anchor, news_buttons, number, vote_counts,
};
use super::vote_buttons::{NO_BUTTONS, VoteTarget, vote_buttons};
use crate::App;
use crate::autolink::autolink;
use crate::error::RequestError;
use crate::limits::{COMMENT_CACHE_BYTES, INDENTED_LEVELS};
use crate::local_path::LocalPath;
use crate::path::PathOf;
use axum::extract::State;
use maud::{Markup, Render, html};
use std::ops::Range;
use std::sync::LazyLock;
use tidings_domain::Refusal;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::cache::Shared;
use tidings_domain::comments::comment::Comment;
use tidings_domain::comments::threads::{self, Thread, ThreadLine, ThreadLines};
use tidings_domain::news::item::News;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId};

/// The approximate size of a comment's markup without its text, in bytes.
const COMMENT_MARKUP_BYTES: usize = 1_100;

/// A whole thread, or one comment with its replies.
struct ThreadPage<'a> {
    news: &'a NewsLine,
    lines: &'a Shared<ThreadLines>,
    /// Which of the lines are shown.
    shown: Range<usize>,
    /// The comment that is shown with its replies; `None` for the whole thread.
    only: Option<CommentId>,
}

impl ThreadPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.news.news;
        let title = if news.deleted { "[deleted story]" } else { &news.title };
        let content = written(|html| {
            self.head(frame).render_to(html);
            self.comments(frame).render_to(html);
        });
        let title = match self.only {
            None => title.to_owned(),
            Some(_) => format!("Comment on {title}"),
        };
        frame.page(&title, &content)
    }

    /// What is above the comments.
    fn head(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.news.news;
        html! {
            @match self.only {
                None => {
                    (news_head(frame, self.news))
                    div.under { (self.comment_form(frame)) }
                    h2.hidden { (counted(news.comments, "comment", "comments")) }
                }
                Some(_) => {
                    h1 { "Comment and replies" }
                    p.about-what { "On " (thread_link(news)) }
                }
            }
        }
    }

    fn comment_form(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.news.news;
        html! {
            @if news.deleted {
                p.empty { "This story has been deleted. Its comments can still be read." }
            } @else if frame.viewer.is_some() {
                (CommentEditor::new(news.id, None, "Your comment", "Add comment").render(frame, true))
            } @else {
                p { a.action href=(login_address(frame.here.as_str())) { "Log in to comment" } }
            }
        }
    }

    fn comments(&self, frame: &Frame<'_>) -> impl Render {
        static LIST: LazyLock<Fragment<ContentPlaceholder>> = LazyLock::new(|| {
            Fragment::new(|slots| html! { ol.thread role="list" { (slots.at(ContentPlaceholder::Content)) } })
        });
        let place = CommentContext::alone(&self.news.news);
        let fragments = frame.derived::<ThreadFragments, _>(self.lines, thread_fragments);
        let lines = self.lines.get(self.shown.clone()).unwrap_or_default();
        // In a part of a thread, the depth is relative to its first comment.
        let above = lines.first().map_or(0, |line| line.depth);
        written(move |html| {
            let fragments = fragments.as_ref().and_then(|fragments| fragments.get(self.shown.clone()));
            html.reserve(lines.iter().map(|line| line.comment.body.len() + COMMENT_MARKUP_BYTES).sum());
            LIST.fill(html, |ContentPlaceholder::Content, html| {
                for (position, line) in lines.iter().enumerate() {
                    let fragment = fragments.and_then(|fragments| fragments.get(position));
                    let depth = line.depth.saturating_sub(above);
                    write_comment(html, frame, place, line, (depth, fragment));
                }
            });
        })
    }
}

placeholders! {
    /// The parts of a comment that depend on the viewer or the time.
    enum CommentPlaceholder {
        Age,
        Links,
    }
}

tidings_domain::cache_kind! {
    /// The markup of the comments of threads.
    struct ThreadFragments: DerivedKey => Box<[Fragment<CommentPlaceholder>]>, "thread_fragments",
        COMMENT_CACHE_BYTES, |_, fragments| fragments.iter().map(Fragment::size).sum();
}

fn thread_fragments(lines: &ThreadLines, links: LinkTarget) -> Box<[Fragment<CommentPlaceholder>]> {
    let fragment = |line| Fragment::new(|slots| comment_markup(lines.news(), line, links, slots));
    lines.iter().map(fragment).collect()
}

/// A story at the head of its thread.
#[must_use]
pub fn news_head(frame: &Frame<'_>, line: &NewsLine) -> Markup {
    let news = &line.news;
    let anchor = news_anchor(news.id);
    html! {
        article.item.lead #(anchor) data-item {
            (news_buttons(frame, line, anchor))
            div.story {
                (leading_story(frame, line))
                @if let (false, Some(text)) = (news.deleted, news.text()) {
                    div.text dir="auto" { (autolink(text, frame.link_target())) }
                }
            }
        }
    }
}

/// A story's title as a link to its thread.
#[must_use]
pub fn thread_link(news: &News) -> Markup {
    title_link(news.id, Some(news.title.as_str()).filter(|_| !news.deleted))
}

/// Like [`thread_link`]; `None` for a deleted story.
#[must_use]
pub fn title_link(news: NewsId, title: Option<&str>) -> Markup {
    html! { a href=(news_address(news)) dir="auto" { (title.unwrap_or("[deleted story]")) } }
}

/// A comment's own page.
#[must_use]
pub fn comment_address(address: CommentAddress) -> String {
    format!("/comment/{}/{}", address.news, address.comment)
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

/// A comment in a list, indented by `depth`.
pub fn comment_item(
    frame: &Frame<'_>,
    place: CommentContext,
    line: &ThreadLine,
    depth: usize,
) -> impl Render {
    written(move |html| write_comment(html, frame, place, line, (depth, None)))
}

/// Writes a comment, with the cached fragment of its shared markup if there is one.
fn write_comment(
    html: &mut String,
    frame: &Frame<'_>,
    place: CommentContext,
    line: &ThreadLine,
    (depth, fragment): (usize, Option<&Fragment<CommentPlaceholder>>),
) {
    placeholders! {
        enum CommentItemPart {
            Depth,
            Anchor,
            Buttons,
            Comment,
        }
    }
    static ITEM: LazyLock<Fragment<CommentItemPart>> = LazyLock::new(|| {
        Fragment::new(|slots| {
            html! {
                li class={ "item comment depth-" (slots.at(CommentItemPart::Depth)) } id=(slots.at(CommentItemPart::Anchor)) data-item {
                    (slots.at(CommentItemPart::Buttons))
                    (slots.at(CommentItemPart::Comment))
                }
            }
        })
    });
    let comment = &line.comment;
    let CommentContext { news, news_deleted, .. } = place;
    let anchor = place.anchor(comment.id);
    let fill = |placeholder, html: &mut String| match placeholder {
        CommentPlaceholder::Age => ago(frame.now.seconds_since(comment.ctime)).render_to(html),
        CommentPlaceholder::Links => comment_links(frame, place, comment).render_to(html),
    };
    ITEM.fill(html, |placeholder, html| match placeholder {
        CommentItemPart::Depth => depth.min(INDENTED_LEVELS).render_to(html),
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
fn comment_markup(
    news: NewsId,
    ThreadLine { comment, username, .. }: &ThreadLine,
    links: LinkTarget,
    slots: &Slots<'_, CommentPlaceholder>,
) -> Markup {
    let address = CommentAddress { news, comment: comment.id };
    let age = age_as(comment.ctime, slots.at(CommentPlaceholder::Age));
    html! {
        div {
            @if comment.deleted {
                div.meta {
                    a href=(comment_address(address)) data-open { (age) }
                    (slots.at(CommentPlaceholder::Links))
                }
                p.gone { "[deleted comment]" }
            } @else {
                div.meta {
                    (author(username.as_deref())) " "
                    a href=(comment_address(address)) data-open { (age) } " "
                    (vote_counts(number(comment.up.len()), number(comment.down.len())))
                    @if let Some(parent) = comment.parent_id {
                        " " a href={ "/comment/" (news.0) "/" (parent.0) } { "parent" }
                    }
                    (slots.at(CommentPlaceholder::Links))
                }
                div.text dir="auto" { (autolink(&comment.body, links)) }
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

/// GET /news/:id.
pub async fn thread(
    PathOf(id): PathOf<NewsId>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let Thread { news, lines } = threads::get(&mut visit, id).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(ThreadPage { news: &news, lines: &lines, shown: 0..lines.len(), only: None }.render(&frame))
}

/// GET /comment/:news/:comment.
pub async fn one_comment(
    PathOf((news, comment)): PathOf<(NewsId, CommentId)>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let thread = threads::get(&mut visit, news).await?;
    let shown = thread.below(comment).ok_or(Refusal::NoSuchComment)?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(ThreadPage { news: &thread.news, lines: &thread.lines, shown, only: Some(comment) }.render(&frame))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::test_support::{framed, line, news, user};
    use super::*;

    fn thread_line(depth: usize, deleted: bool, username: Option<&str>) -> ThreadLine {
        let json = serde_json::json!({
            "body": "see http://a.com/ <script>", "ctime": 999_000, "user_id": 2,
            "parent_id": -1, "up": [2, 3], "down": [4], "del": i64::from(deleted),
        });
        ThreadLine {
            comment: Comment::from_field("7", &json.to_string()).unwrap(),
            depth,
            username: username.map(Into::into),
        }
    }

    fn page(viewer: Option<(&str, &str)>, deleted_news: bool, lines: Vec<ThreadLine>) -> String {
        let viewer = viewer.map(|(id, flags)| user(id, "viewer", flags));
        let news = line(news("The title", "text://the <i>text</i>", deleted_news), None);
        let shown = 0..lines.len();
        let lines = ThreadLines::new(NewsId(5), lines).into();
        let page = ThreadPage { news: &news, lines: &lines, shown, only: None };
        framed(viewer.as_ref(), |frame| page.render(frame)).into_string()
    }

    #[test]
    fn a_thread_shows_its_text_and_comments_escaped_and_linked() {
        let html = page(Some(("3", "")), false, vec![thread_line(0, false, Some("bob"))]);
        for part in [
            "the &lt;i&gt;text&lt;/i&gt;",
            r#"<a href="http://a.com/" rel="nofollow ugc noopener">"#,
            "&lt;script&gt;",
            r#"action="/postcomment""#,
            r#"href="/comment/5/7""#,
            r#"href="/reply/5/7""#,
            r#"href="/@bob""#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(html.matches("<h1").count(), 1);
        assert!(!html.contains("/editcomment/"), "{html}");
    }

    #[test]
    fn comments_are_indented_up_to_a_depth() {
        let html = page(None, false, vec![thread_line(0, false, None), thread_line(40, false, None)]);
        assert!(html.contains("depth-0") && html.contains("depth-12") && !html.contains("depth-40"));
        assert!(html.contains("[deleted user]"), "{html}");
    }

    #[test]
    fn a_deleted_comment_shows_neither_body_nor_author_nor_buttons() {
        let html = page(Some(("2", "")), true, vec![thread_line(0, true, Some("bob"))]);
        assert!(html.contains("[deleted comment]"), "{html}");
        for part in ["a.com", "bob", ">up<", "/reply/", "/editcomment/"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn the_thread_of_a_deleted_story_is_read_only() {
        let html = page(Some(("9", "")), true, vec![thread_line(0, false, Some("bob"))]);
        assert!(html.contains("[deleted story]") && html.contains("http://a.com/"), "{html}");
        for part in ["The title", "the &lt;i&gt;", "<button class=\"up\"", "/postcomment", "/reply/"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn authors_may_edit_and_administrators_may_delete() {
        let lines = || vec![thread_line(0, false, Some("bob"))];
        let links = |viewer| {
            let html = page(Some(viewer), false, lines());
            (
                html.contains(r#"href="/editcomment/5/7""#),
                html.contains(r##"href="/editcomment/5/7#delete""##),
            )
        };
        assert_eq!(links(("2", "")), (true, true));
        assert_eq!(links(("1", "a")), (false, true));
        assert_eq!(links(("3", "")), (false, false));
    }
}
