//! An item with its comments, and one comment with its answers.

use super::comments::CommentForm;
use super::holes::{HOLE, filled};
use super::layout::Frame;
use super::login_address;
use super::parts::{
    Ballot, age_as, age_text, author, counted, news_address, news_anchor, news_story, vote_buttons,
    vote_counts,
};
use crate::domain::Refusal;
use crate::domain::comments::Comment;
use crate::domain::ids::{CommentAddress, CommentId, NewsId};
use crate::domain::news::{News, NewsLine};
use crate::domain::threads::{self, Thread, ThreadLine};
use crate::domain::visit::Visit;
use crate::web::App;
use crate::web::autolink::autolink;
use crate::web::error::Failure;
use crate::web::local_path::LocalPath;
use crate::web::path::PathOf;
use axum::extract::State;
use maud::{Markup, PreEscaped, html};

/// The depth from which on comments are no longer indented further.
const DEEPEST_INDENT: usize = 12;

/// A thread, whole or one comment of it and what is below.
struct ThreadPage<'a> {
    news: &'a NewsLine,
    lines: &'a [ThreadLine],
    /// The comment that is shown with its answers; `None` for the whole thread.
    only: Option<CommentId>,
}

impl ThreadPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.news.news;
        let title = if news.deleted { "[deleted news]" } else { &news.title };
        let content = html! {
            @match self.only {
                None => {
                    (news_head(frame, self.news))
                    div.under { (self.comment_form(frame)) }
                    h2.hidden { (counted(news.comments, "comment", "comments")) }
                }
                Some(_) => {
                    h1 { "A comment and its answers" }
                    p.about-what { "On " (thread_link(news)) }
                }
            }
            (self.comments(frame))
        };
        let title = match self.only {
            None => title.to_owned(),
            Some(_) => format!("Comment on {title}"),
        };
        frame.page(&title, &content)
    }

    fn comment_form(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.news.news;
        html! {
            @if news.deleted {
                p.empty { "This item was deleted; its comments stay readable." }
            } @else if frame.viewer.is_some() {
                (CommentForm::new(news.id, None, "Your comment", "Add comment").render(frame, true))
            } @else {
                p { a.action href=(login_address(frame.here.as_str())) { "Log in to comment" } }
            }
        }
    }

    fn comments(&self, frame: &Frame<'_>) -> Markup {
        let place = Place::alone(&self.news.news);
        // Of a part of a thread the depth counts from its first comment.
        let above = self.lines.first().map_or(0, |line| line.depth);
        html! {
            ol.thread role="list" {
                @for line in self.lines {
                    @let indent = line.depth.saturating_sub(above).min(DEEPEST_INDENT);
                    li class={ "item comment depth-" (indent) } id=(place.anchor(line.comment.id)) data-item {
                        (comment(frame, place, line))
                    }
                }
            }
        }
    }
}

/// An item at the head of its thread.
#[must_use]
pub fn news_head(frame: &Frame<'_>, line: &NewsLine) -> Markup {
    let news = &line.news;
    let anchor = news_anchor(news.id);
    html! {
        article.item.lead #(anchor) data-item {
            @if news.deleted {
                span {}
            } @else {
                (vote_buttons(frame, Ballot::News(news.id), line.my_vote, &anchor))
            }
            div.story {
                (news_story(frame, line, None, |title| html! { h1 dir="auto" { (title) } }))
                @if let (false, Some(text)) = (news.deleted, news.text()) {
                    div.text dir="auto" { (autolink(text, frame.new_windows())) }
                }
            }
        }
    }
}

/// An item's title as a link to its thread.
#[must_use]
pub fn thread_link(news: &News) -> Markup {
    html! {
        a href=(news_address(news.id)) dir="auto" {
            @if news.deleted { "[deleted news]" } @else { (news.title) }
        }
    }
}

/// A comment's own page.
#[must_use]
pub fn comment_address(address: CommentAddress) -> String {
    format!("/comment/{}/{}", address.news, address.comment)
}

/// Where a page shows comments on an item.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The item.
    pub news: NewsId,
    /// Whether it is deleted: then its comments are only read.
    pub news_deleted: bool,
    /// Whether the page shows comments on other items too, so that their
    /// numbers alone may repeat.
    pub among_others: bool,
}

impl Place {
    /// On a page about one item.
    #[must_use]
    pub fn alone(news: &News) -> Self {
        Self { news: news.id, news_deleted: news.deleted, among_others: false }
    }

    /// The id of the element that shows a comment.
    #[must_use]
    pub fn anchor(self, comment: CommentId) -> String {
        if self.among_others {
            format!("comment-{}-{comment}", self.news)
        } else {
            format!("comment-{comment}")
        }
    }
}

/// What is in a comment's place in its thread.
#[must_use]
pub fn comment(frame: &Frame<'_>, place: Place, line: &ThreadLine) -> Markup {
    let ThreadLine { comment, my_vote, shown, .. } = line;
    let Place { news, news_deleted, .. } = place;
    let address = CommentAddress { news, comment: comment.id };
    let age = age_text(frame.now.seconds_since(comment.ctime));
    let links = if comment.deleted {
        html! {}
    } else {
        comment_changes(frame, address, comment)
    };
    html! {
        @if comment.deleted || news_deleted {
            span {}
        } @else {
            (vote_buttons(frame, Ballot::Comment(address), *my_vote, &place.anchor(comment.id)))
        }
        (filled(frame, shown, [&age, &links.0], || comment_itself(frame, address, news_deleted, line)))
    }
}

/// What everybody sees of a comment alike: a hole for its age, and one for
/// what the viewer may change.
fn comment_itself(
    frame: &Frame<'_>,
    address: CommentAddress,
    news_deleted: bool,
    ThreadLine { comment, username, .. }: &ThreadLine,
) -> Markup {
    let CommentAddress { news, comment: id } = address;
    html! {
        div {
            @if comment.deleted {
                div.meta {
                    a href=(comment_address(address)) data-open { (age_as(comment.ctime, HOLE)) }
                    (HOLE)
                }
                p.gone { "[comment deleted]" }
            } @else {
                div.meta {
                    (author(username.as_deref())) " "
                    a href=(comment_address(address)) data-open { (age_as(comment.ctime, HOLE)) } " "
                    (vote_counts(comment.up.len(), comment.down.len()))
                    @if let Some(parent) = comment.parent_id {
                        " " a href={ "/comment/" (news) "/" (parent) } { "parent" }
                    }
                    @if !news_deleted {
                        " " a href={ "/reply/" (news) "/" (id) } rel="nofollow" { "reply" }
                    }
                    (HOLE)
                }
                div.text dir="auto" { (autolink(&comment.body, frame.new_windows())) }
            }
        }
    }
}

/// What the viewer may change of a comment.
fn comment_changes(
    frame: &Frame<'_>,
    CommentAddress { news, comment: id }: CommentAddress,
    comment: &Comment,
) -> Markup {
    let window = frame.config.rules.limits.comment_edit_seconds;
    let may_edit = frame.viewer.is_some_and(|viewer| comment.may_edit(viewer, frame.now, window).is_ok());
    let may_delete = frame.viewer.is_some_and(|viewer| comment.may_delete(viewer, frame.now, window).is_ok());
    if !may_edit && !may_delete {
        return PreEscaped(String::new());
    }
    html! {
        @if may_edit {
            " " a href={ "/editcomment/" (news) "/" (id) } { "edit" }
        }
        @if may_delete {
            " " a href={ "/editcomment/" (news) "/" (id) "#delete" } { "delete" }
        }
    }
}

/// GET /news/:id.
pub async fn thread(
    PathOf(id): PathOf<NewsId>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, Failure> {
    let Thread { news, lines } = threads::get(&mut visit, id).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(ThreadPage { news: &news, lines: &lines, only: None }.render(&frame))
}

/// GET /comment/:news/:comment.
pub async fn one_comment(
    PathOf((news, comment)): PathOf<(NewsId, CommentId)>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, Failure> {
    let thread = threads::get(&mut visit, news).await?;
    let lines = thread.below(comment).ok_or(Refusal::NoSuchComment)?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(ThreadPage { news: &thread.news, lines, only: Some(comment) }.render(&frame))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::test_support::{framed, line, news, user};
    use super::*;
    use std::sync::Arc;

    fn thread_line(depth: usize, deleted: bool, username: Option<&str>) -> ThreadLine {
        let json = serde_json::json!({
            "body": "see http://a.com/ <script>", "ctime": 999_000, "user_id": 2,
            "parent_id": -1, "up": [2, 3], "down": [4], "del": i64::from(deleted),
        });
        ThreadLine {
            comment: Comment::from_field("7", &json.to_string()).unwrap().into(),
            depth,
            username: username.map(Into::into),
            shown: Arc::default(),
            my_vote: None,
        }
    }

    fn page(viewer: Option<(&str, &str)>, deleted_news: bool, lines: &[ThreadLine]) -> String {
        let viewer = viewer.map(|(id, flags)| user(id, "viewer", flags));
        let news = line(news("The title", "text://the <i>text</i>", deleted_news), None);
        let page = ThreadPage { news: &news, lines, only: None };
        framed(viewer.as_ref(), |frame| page.render(frame)).into_string()
    }

    #[test]
    fn a_thread_shows_its_text_and_comments_escaped_and_linked() {
        let html = page(Some(("3", "")), false, &[thread_line(0, false, Some("bob"))]);
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
        let html = page(None, false, &[thread_line(0, false, None), thread_line(40, false, None)]);
        assert!(html.contains("depth-0") && html.contains("depth-12") && !html.contains("depth-40"));
        assert!(html.contains("[deleted user]"), "{html}");
    }

    #[test]
    fn a_deleted_comment_shows_neither_body_nor_author_nor_buttons() {
        let html = page(Some(("2", "")), true, &[thread_line(0, true, Some("bob"))]);
        assert!(html.contains("[comment deleted]"), "{html}");
        for part in ["a.com", "bob", ">up<", "/reply/", "/editcomment/"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn the_thread_of_a_deleted_item_is_only_read() {
        let html = page(Some(("9", "")), true, &[thread_line(0, false, Some("bob"))]);
        assert!(html.contains("[deleted news]") && html.contains("http://a.com/"), "{html}");
        for part in ["The title", "the &lt;i&gt;", "<button class=\"up\"", "/postcomment", "/reply/"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn authors_may_edit_and_administrators_may_delete() {
        let lines = [thread_line(0, false, Some("bob"))];
        let links = |viewer| {
            let html = page(Some(viewer), false, &lines);
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
