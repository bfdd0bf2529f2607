//! The pages of a thread: a story with its comments, or one comment with those below it.

use super::articles::PageNumberQuery;
use super::comment_item::{
    CommentContext, CommentPlaceholder, comment_address, comment_markup, write_comment,
};
use super::comments::CommentEditor;
use super::fragments::{ContentPlaceholder, Fragment, LinkTarget, PartKey, written};
use super::inbox::subscription_button;
use super::layout::Frame;
use super::login_address;
use super::parts::{DELETED_USER, counted, leading_story, news_address, news_anchor, news_buttons};
use crate::App;
use crate::autolink::autolink;
use crate::error::RequestError;
use crate::form::Form;
use crate::limits::{COMMENT_CACHE_BYTES, THREAD_PAGE};
use crate::local_path::LocalPath;
use crate::path::PathOf;
use axum::extract::State;
use maud::{Markup, Render, html};
use std::sync::LazyLock;
use tidings_domain::Refusal;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::cache::Shared;
use tidings_domain::comments::outline::{ThreadLine, ThreadLines, ThreadPages};
use tidings_domain::comments::threads::{self, Thread};
use tidings_domain::news::item::News;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId};
use tidings_domain::values::size;

/// The usual size of a comment's markup without its text, in bytes.
const USUAL_MARKUP_BYTES: usize = 1_100;

/// Which page of a thread is asked for.
#[derive(Debug, Clone, Copy)]
struct ThreadPart {
    news: NewsId,
    /// The comment that is shown with those below it; `None` for the whole thread.
    root: Option<CommentId>,
    /// The number of the page, from 1 on.
    number: u64,
}

impl ThreadPart {
    fn pages(self, lines: &ThreadLines) -> Option<ThreadPages<'_>> {
        lines.pages(self.root, THREAD_PAGE)
    }

    /// The positions of the comments on the page; none if there is no such page.
    fn shown(self, lines: &ThreadLines) -> Vec<usize> {
        self.pages(lines).and_then(|pages| pages.shown(self.number)).unwrap_or_default()
    }

    /// The address of a page of the same thread or branch.
    fn address(self, number: u64) -> String {
        let base = match self.root {
            None => news_address(self.news),
            Some(comment) => comment_address(CommentAddress { news: self.news, comment }),
        };
        if number == 1 { base } else { format!("{base}?page={number}") }
    }
}

/// A page of a thread.
struct ThreadPage<'a> {
    part: ThreadPart,
    thread: &'a Thread,
    pages: ThreadPages<'a>,
    /// The positions of its comments.
    shown: &'a [usize],
}

impl<'a> ThreadPage<'a> {
    /// The page with these comments, or why there is none.
    fn new(part: ThreadPart, thread: &'a Thread, shown: &'a [usize]) -> Result<Self, RequestError> {
        let pages = part.pages(&thread.lines).ok_or(Refusal::NoSuchComment)?;
        let exists = (1..=pages.count()).any(|number| u64::try_from(number) == Ok(part.number));
        if exists { Ok(Self { part, thread, pages, shown }) } else { Err(RequestError::NotFound) }
    }

    fn render(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        let title = if news.deleted { "[deleted story]" } else { &news.title };
        let content = written(|html| {
            self.head(frame).render_to(html);
            self.continuation().render_to(html);
            self.comments(frame).render_to(html);
            self.paging().render_to(html);
        });
        let title = match (self.part.root, self.part.number) {
            (None, 1) => title.to_owned(),
            (None, number) => format!("{title} (page {number})"),
            (Some(_), _) => format!("Comment on {title}"),
        };
        let canonical = html! { link rel="canonical" href=(self.part.address(self.part.number)); };
        frame.page_with(&title, &canonical, &content)
    }

    /// What is above the comments.
    fn head(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        let pages = self.pages.count();
        html! {
            @match (self.part.root, self.part.number) {
                (None, 1) => {
                    (news_head(frame, &self.thread.news))
                    div.under {
                        (subscription_button(frame, self.thread))
                        (self.comment_form(frame))
                    }
                    h2.hidden { (counted(news.comments, "comment", "comments")) }
                }
                (None, number) => {
                    h1 { "Comments, page " (number) " of " (pages) }
                    p.about-what { "On " (thread_link(news)) }
                }
                (Some(root), number) => {
                    h1 { "Comment and replies" @if number > 1 { ", page " (number) " of " (pages) } }
                    p.about-what { "On " (link_to_thread(news, &self.place_in_thread(root))) }
                }
            }
        }
    }

    /// The address of the page of the whole thread that shows a comment, or else one above it.
    fn place_in_thread(&self, id: CommentId) -> String {
        let lines = &self.thread.lines;
        let whole = ThreadPart { root: None, number: 1, ..self.part };
        match whole.pages(lines).and_then(|pages| pages.nearest_shown(id)) {
            Some((number, shown)) if number > 1 => {
                format!("{}#comment-{shown}", whole.address(number as u64))
            }
            _ => whole.address(1),
        }
    }

    fn comment_form(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        html! {
            @if news.deleted {
                p.empty { "This story has been deleted. Its comments can still be read." }
            } @else if frame.viewer.is_some() {
                (CommentEditor::new(news.id, None, "Your comment", "Add comment").render(frame, true))
            } @else {
                p { a.action href=(login_address(&frame.way_back)) { "Log in to comment" } }
            }
        }
    }

    /// Says which comment the first one of a later page replies to.
    fn continuation(&self) -> Markup {
        let places = self.thread.lines.places();
        let first = self.shown.first().filter(|_| self.part.number > 1);
        let parent = first.and_then(|position| places.get(*position)?.parent);
        let parent = parent.and_then(|parent| places.iter().find(|place| place.id == parent));
        html! {
            @if let Some(parent) = parent {
                @let address = CommentAddress { news: self.part.news, comment: parent.id };
                p.about-what {
                    "Continues the replies to "
                    a href=(comment_address(address)) {
                        "the comment by " (parent.username.as_deref().unwrap_or(DELETED_USER))
                    }
                }
            }
        }
    }

    fn comments(&self, frame: &Frame<'_>) -> impl Render {
        static LIST: LazyLock<[Fragment<ContentPlaceholder>; 2]> = LazyLock::new(|| {
            [false, true].map(|is_complete| {
                Fragment::new(|slots| {
                    html! {
                        // The script finds comments that are not on an incomplete page.
                        ol.thread role="list" data-incomplete[!is_complete] {
                            (slots.at(ContentPlaceholder::Content))
                        }
                    }
                })
            })
        });
        let [incomplete, complete] = &*LIST;
        let is_complete = self.part.root.is_none() && self.pages.is_complete();
        let list = if is_complete { complete } else { incomplete };
        let fragments = self.fragments(frame);
        written(move |html| {
            let lines = self.shown.iter().filter_map(|position| self.thread.line(*position));
            html.reserve(lines.map(|line| line.comment.body.len() + USUAL_MARKUP_BYTES).sum());
            list.fill(html, |ContentPlaceholder::Content, html| {
                for (index, position) in self.shown.iter().enumerate() {
                    let fragment = fragments.as_ref().and_then(|fragments| fragments.get(index));
                    self.write_line(html, frame, *position, fragment);
                }
            });
        })
    }

    /// The cached markup of the comments on a page of a whole thread.
    fn fragments(&self, frame: &Frame<'_>) -> Option<Shared<PageFragments>> {
        let lines = Some(&self.thread.lines).filter(|lines| self.part.root.is_none() && lines.is_whole())?;
        frame.derived_part::<ThreadFragments, _>(lines, self.part.number, page_fragments)
    }

    fn write_line(
        &self,
        html: &mut String,
        frame: &Frame<'_>,
        position: usize,
        fragment: Option<&Fragment<CommentPlaceholder>>,
    ) {
        let Some(line) = self.thread.line(position) else { return };
        let context = CommentContext::alone(&self.thread.news.news);
        let level = self.pages.level(position);
        write_comment(html, frame, context, line, (level, fragment));
        if self.pages.has_hidden_replies(position) {
            let address = CommentAddress { news: self.part.news, comment: line.comment.id };
            let link = html! {
                li class={ "continue depth-" (level) } {
                    a.action href=(comment_address(address)) { "continue this thread" }
                }
            };
            link.render_to(html);
        }
    }

    /// The links to the pages before and after this one.
    fn paging(&self) -> Markup {
        let (number, count) = (self.part.number, self.pages.count() as u64);
        html! {
            @if count > 1 {
                nav.more aria-label="Pages" {
                    @if number > 1 { a href=(self.part.address(number - 1)) rel="prev" { "back" } }
                    @if number < count {
                        a href=(self.part.address(number + 1)) rel="next" { "more comments" }
                    }
                }
            }
        }
    }
}

/// The markup of the comments on a page.
type PageFragments = Box<[Fragment<CommentPlaceholder>]>;

tidings_domain::cache_kind! {
    /// The markup of the comments of threads, by page.
    struct ThreadFragments: PartKey => PageFragments, "thread_fragments",
        COMMENT_CACHE_BYTES, |_, fragments| fragments.iter().map(Fragment::size).sum();
}

fn page_fragments(lines: &ThreadLines, number: u64, links: LinkTarget) -> PageFragments {
    let part = ThreadPart { news: lines.news(), root: None, number };
    let fragment =
        |line: ThreadLine<'_>| Fragment::new(|slots| comment_markup(part.news, line, links, slots));
    part.shown(lines).into_iter().filter_map(|position| lines.line(position)).map(fragment).collect()
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
                    div.text dir="auto" { (autolink(size::shown(text), frame.link_target())) }
                }
            }
        }
    }
}

/// A story's title as a link to its thread.
#[must_use]
pub fn thread_link(news: &News) -> Markup {
    link_to_thread(news, &news_address(news.id))
}

/// A story's title as a link to a page of its thread.
fn link_to_thread(news: &News, address: &str) -> Markup {
    title_link(address, Some(news.title.as_str()).filter(|_| !news.deleted))
}

/// The title of a story as a link; `None` for a deleted story.
#[must_use]
pub fn title_link(address: &str, title: Option<&str>) -> Markup {
    html! { a href=(address) dir="auto" { (title.unwrap_or("[deleted story]")) } }
}

/// The address of a page that shows a comment: of the whole thread, or of a branch. If those
/// do not show it, its own page. Rounds: 2.
pub async fn address_of(visit: &mut Visit, address: CommentAddress, root: Option<CommentId>) -> String {
    let CommentAddress { news, comment } = address;
    let own = format!("{}#comment-{comment}", comment_address(address));
    let Ok(thread) = threads::get(visit, news, |_| Vec::new()).await else {
        return own;
    };
    let part = ThreadPart { news, root, number: 1 };
    if thread.lines.position(comment).is_none() {
        // It was deleted.
        return format!("{}#comment-{comment}", news_address(news));
    }
    match part.pages(&thread.lines).and_then(|pages| pages.number_of(comment)) {
        Some(number) => format!("{}#comment-{comment}", part.address(number as u64)),
        None => own,
    }
}

/// GET /news/:id?page=N.
pub async fn thread(
    PathOf(news): PathOf<NewsId>,
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(query): Form<PageNumberQuery>,
) -> Result<Markup, RequestError> {
    show(&app, visit, &here, ThreadPart { news, root: None, number: query.page.get() }).await
}

/// GET /comment/:news/:comment?page=N.
pub async fn one_comment(
    PathOf((news, comment)): PathOf<(NewsId, CommentId)>,
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(query): Form<PageNumberQuery>,
) -> Result<Markup, RequestError> {
    show(&app, visit, &here, ThreadPart { news, root: Some(comment), number: query.page.get() }).await
}

async fn show(
    app: &App,
    mut visit: Visit,
    here: &LocalPath,
    part: ThreadPart,
) -> Result<Markup, RequestError> {
    let thread = threads::get(&mut visit, part.news, |lines| part.shown(lines)).await?;
    let shown = part.shown(&thread.lines);
    let page = ThreadPage::new(part, &thread, &shown)?;
    let frame = Frame::of(app, &mut visit, here).await?;
    Ok(page.render(&frame))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::test_support::{framed, line, news, user};
    use super::*;
    use tidings_domain::comments::comment::Comment;

    /// A comment with its depth, and the name of its author.
    type Written<'a> = (usize, Comment, Option<&'a str>);

    fn written_line(depth: usize, deleted: bool, username: Option<&str>) -> Written<'_> {
        let json = serde_json::json!({
            "body": "see http://a.com/ <script>", "ctime": 999_000, "user_id": 2,
            "parent_id": -1, "up": [2, 3], "down": [4], "del": i64::from(deleted),
        });
        (depth, Comment::from_field("7", &json.to_string()).unwrap(), username)
    }

    fn page(viewer: Option<(&str, &str)>, deleted_news: bool, lines: Vec<Written<'_>>) -> String {
        let viewer = viewer.map(|(id, flags)| user(id, "viewer", flags));
        let news = line(news("The title", "text://the <i>text</i>", deleted_news), None);
        let name = lines.iter().find_map(|(_, _, name)| *name).map(Into::into);
        let arranged = lines.into_iter().map(|(depth, comment, _)| (depth, comment)).collect();
        let thread = Thread::whole(news, ThreadLines::new(NewsId(5), arranged, |_| name.clone()));
        let part = ThreadPart { news: NewsId(5), root: None, number: 1 };
        let shown = part.shown(&thread.lines);
        let page = ThreadPage::new(part, &thread, &shown).unwrap();
        framed(viewer.as_ref(), |frame| page.render(frame)).into_string()
    }

    #[test]
    fn a_thread_shows_its_text_and_comments_escaped_and_linked() {
        let html = page(Some(("3", "")), false, vec![written_line(0, false, Some("bob"))]);
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
    fn a_branch_is_shown_for_eight_levels() {
        let html = page(None, false, (0..9).map(|depth| written_line(depth, false, None)).collect());
        assert!(html.contains("depth-0") && html.contains("depth-7") && !html.contains("depth-8"), "{html}");
        assert!(html.contains(r#"<a class="action" href="/comment/5/7">continue this thread</a>"#), "{html}");
        assert!(html.contains("[deleted user]") && html.contains("data-incomplete"), "{html}");
    }

    #[test]
    fn a_deleted_comment_shows_neither_body_nor_author_nor_buttons() {
        let html = page(Some(("2", "")), true, vec![written_line(0, true, Some("bob"))]);
        assert!(html.contains("[deleted comment]"), "{html}");
        for part in ["a.com", "bob", ">up<", "/reply/", "/editcomment/"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn the_thread_of_a_deleted_story_is_read_only() {
        let html = page(Some(("9", "")), true, vec![written_line(0, false, Some("bob"))]);
        assert!(html.contains("[deleted story]") && html.contains("http://a.com/"), "{html}");
        for part in ["The title", "the &lt;i&gt;", "<button class=\"up\"", "/postcomment", "/reply/"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn authors_may_edit_and_administrators_may_delete() {
        let lines = || vec![written_line(0, false, Some("bob"))];
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
