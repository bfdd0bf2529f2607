//! The pages of a thread: a story with its comments, or one comment with those below it.

use super::thread_list::{ThreadList, jump_address};
use super::writing::CommentEditor;
use crate::App;
use crate::error::RequestError;
use crate::features::inbox::page::subscription_button;
use crate::features::moderation::flagging::flag_link;
use crate::features::moderation::post_tools::comment_tools;
use crate::features::stories::item::{leading_story, news_buttons};
use crate::features::stories::story_tools::{
    edit_note, merged_address, merged_threads, read_merged, story_tools,
};
use crate::features::topics::articles::PageNumberQuery;
use crate::limits::THREAD_PAGE;
use crate::markup::addresses::{comment_address, login_to, news_address};
use crate::markup::fragments::written;
use crate::markup::frame::Frame;
use crate::markup::head::{PageHead, PageKind, excerpt};
use crate::markup::markdown::markdown;
use crate::markup::parts::{DELETED_STORY, DELETED_USER, news_anchor};
use crate::markup::withheld::shown_title;
use crate::request::form::{Fields, Form, FromFields};
use crate::request::local_path::LocalPath;
use crate::request::login_reason::LoginReason;
use crate::request::path::PathOf;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, Render, html};
use tidings_domain::Refusal;
use tidings_domain::accounts::reader::{Collapsed, Sight};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::comments::comment::Comment;
use tidings_domain::comments::merged::MergedThread;
use tidings_domain::comments::outline::{ThreadLines, ThreadPages};
use tidings_domain::comments::threads::{self, NewComments, Thread};
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId};
use tidings_domain::values::moderation::Thing;
use tidings_domain::values::preferences::{Choice, CommentOrder};
use tidings_domain::values::withheld::Withheld;
use tidings_domain::values::words::counted;

/// The order of the comments on a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sorting {
    /// The order.
    pub order: CommentOrder,
    /// Whether the address asks for it: then the links of the page do too. Otherwise it is the
    /// viewer's own.
    pub is_asked: bool,
}

/// Which page of a thread is asked for.
#[derive(Debug, Clone, Copy)]
pub struct ThreadPart {
    /// The story.
    pub news: NewsId,
    /// The comment that is shown with those below it; `None` for the whole thread.
    pub root: Option<CommentId>,
    /// The number of the page, from 1 on.
    pub number: u64,
    /// The order of the comments.
    pub sorting: Sorting,
}

impl ThreadPart {
    /// The pages of the same thread or branch. `None` if there is no such comment.
    #[must_use]
    pub fn pages(self, lines: &ThreadLines) -> Option<ThreadPages<'_>> {
        lines.pages(self.root, THREAD_PAGE)
    }

    /// The positions of the comments on the page; none if there is no such page.
    #[must_use]
    pub fn shown(self, lines: &ThreadLines) -> Vec<usize> {
        self.pages(lines).and_then(|pages| pages.shown(self.number)).unwrap_or_default()
    }

    /// The same page of the whole thread, or of the branch of a comment.
    #[must_use]
    pub const fn below(self, root: Option<CommentId>) -> Self {
        Self { root, ..self }
    }

    /// The address of a page of the same thread or branch.
    #[must_use]
    pub fn address(self, number: u64) -> String {
        let mut address = match self.root {
            None => news_address(self.news),
            Some(comment) => comment_address(CommentAddress { news: self.news, comment }),
        };
        let mut separator = '?';
        let sort = self.sorting.is_asked.then(|| self.sorting.order.name());
        let number = (number > 1).then(|| number.to_string());
        for (name, value) in [("page", number.as_deref()), ("sort", sort)] {
            if let Some(value) = value {
                address.extend([&separator.to_string(), name, "=", value]);
                separator = '&';
            }
        }
        address
    }

    /// The address of the first page in another order.
    fn sorted_address(self, order: CommentOrder) -> String {
        Self { sorting: Sorting { order, is_asked: true }, ..self }.address(1)
    }

    /// The address for search engines: without the order.
    fn canonical_address(self) -> String {
        Self { sorting: Sorting::default(), ..self }.address(self.number)
    }
}

/// A page of a thread.
struct ThreadPage<'a> {
    part: ThreadPart,
    thread: &'a Thread,
    pages: ThreadPages<'a>,
    /// The positions of its comments.
    shown: &'a [usize],
    /// Which comments are new for the viewer.
    new: Option<NewComments>,
    /// The threads of the stories that were merged into this one.
    merged: Vec<MergedThread>,
}

impl<'a> ThreadPage<'a> {
    /// The page with these comments, or why there is none.
    fn new(part: ThreadPart, thread: &'a Thread, shown: &'a [usize]) -> Result<Self, RequestError> {
        let pages = part.pages(thread.outline()).ok_or(Refusal::NoSuchComment)?;
        let exists = (1..=pages.count()).any(|number| u64::try_from(number) == Ok(part.number));
        if exists {
            Ok(Self { part, thread, pages, shown, new: None, merged: Vec::new() })
        } else {
            Err(RequestError::NotFound)
        }
    }

    fn render(&self, frame: &Frame<'_>) -> Markup {
        let title = shown_title(&self.thread.news);
        let list = ThreadList {
            part: self.part,
            thread: self.thread,
            pages: &self.pages,
            shown: self.shown,
            new: self.new,
        };
        let content = written(|html| {
            self.head(frame).render_to(html);
            self.continuation().render_to(html);
            html! { div.with-tools { (self.tools()) (list.render(frame)) } }.render_to(html);
            self.paging().render_to(html);
            if let Some(line) = self.part.root.and_then(|root| self.thread.line_of(root)) {
                comment_tools(frame, self.part.news, line.comment).render_to(html);
            }
            merged_threads(frame, self.thread.perspective(), &self.merged).render_to(html);
        });
        let title = match (self.part.root, self.part.number) {
            (None, 1) => title,
            (None, number) => format!("{title} (page {number})"),
            (Some(_), _) => format!("Comment on {title}"),
        };
        let head = match self.is_removed() {
            true => PageHead::default().with(html! { meta name="robots" content="noindex"; }),
            false => PageHead::of(self.part.canonical_address()),
        };
        frame.page_with(&title, &head.about(PageKind::Article, self.description(frame)), &content)
    }

    /// Whether a moderator has removed the story, and the reader is neither its author nor a moderator.
    fn is_removed(&self) -> bool {
        self.thread.news.marks.sight == Sight::Collapsed(Collapsed::Removed)
    }

    /// What the page is about: the text of the story or the comment, or else where the story
    /// leads to.
    fn description(&self, frame: &Frame<'_>) -> String {
        let NewsSummary { news, username, .. } = &*self.thread.news;
        let comment = self.part.root.and_then(|root| self.thread.line(self.thread.lines.position(root)?));
        let perspective = self.thread.perspective();
        let is_shown = |comment: &Comment| !comment.deleted && comment.sight(perspective).is_shown();
        let comment = comment.filter(|line| is_shown(line.comment));
        let is_withheld = news.deleted || !self.thread.news.marks.sight.is_shown();
        match (comment, is_withheld) {
            (Some(line), _) => {
                format!("{}: {}", line.username.unwrap_or(DELETED_USER), excerpt(&line.comment.body))
            }
            (None, true) => String::new(),
            (None, false) => match (news.text(), news.link()) {
                (Some(text), _) => excerpt(text),
                (None, link) => format!(
                    "{} on {} about a story{} submitted by {}.",
                    counted(news.comments, "comment", "comments"),
                    frame.site().name,
                    link.map(|link| format!(" from {}", link.host)).unwrap_or_default(),
                    username.as_deref().unwrap_or(DELETED_USER),
                ),
            },
        }
    }

    /// What is above the comments.
    fn head(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        let pages = self.pages.count();
        html! {
            @match (self.part.root, self.part.number) {
                (None, 1) => {
                    (news_head(frame, &self.thread.news))
                    (story_tools(frame, news))
                    div.under {
                        (subscription_button(frame, self.thread))
                        (flag_link(frame, &Thing::Story(news.id), (news.user_id, !news.deleted)))
                        (self.comment_form(frame))
                    }
                    h2.hidden { (counted(news.comments, "comment", "comments")) }
                }
                (None, number) => {
                    h1 { "Comments, page " (number) " of " (pages) }
                    p.about-what { "On " (thread_link(&self.thread.news)) }
                }
                (Some(root), number) => {
                    h1 { "Comment and replies" @if number > 1 { ", page " (number) " of " (pages) } }
                    p.about-what { "On " (link_to_thread(&self.thread.news, &self.place_in_thread(root))) }
                }
            }
        }
    }

    /// The address of the page of the whole thread that shows a comment, or else one above it.
    fn place_in_thread(&self, id: CommentId) -> String {
        let lines = self.thread.outline();
        let whole = self.part.below(None);
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
            } @else if let Some(Withheld::Removed(_)) = news.withheld {
                p.empty { "A moderator has removed this story. Its comments can still be read." }
            } @else if let Some(Withheld::Merged(into)) = news.withheld {
                p.empty {
                    "A moderator has merged this story into "
                    a href=(news_address(into)) { "another one" } ". Please comment there."
                }
            } @else if let Some(Withheld::Held(_) | Withheld::Unreadable(_)) = news.withheld {
                p.empty { "Only you and moderators see this story until a moderator approves it." }
            } @else if frame.viewer.is_some() {
                (CommentEditor::in_thread(news.id, "Your comment", "Add comment").render(frame))
            } @else {
                p { a.action href=(login_to(Some(LoginReason::Comment), &frame.way_back)) { "Log in to comment" } }
            }
        }
    }

    /// Says which comment the first one of a later page replies to.
    fn continuation(&self) -> Markup {
        let places = self.thread.outline().places();
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

    /// The order of the comments, and those that are new. The script adds a button that
    /// collapses all.
    fn tools(&self) -> Markup {
        let places = self.thread.outline().places();
        let orders = [
            (CommentOrder::Score, "score"),
            (CommentOrder::Newest, "newest"),
            (CommentOrder::Oldest, "oldest"),
        ];
        html! {
            @if !places.is_empty() {
                aside.thread-tools aria-label="Comments" data-tools {
                    (self.news_of_thread())
                    @if places.len() > 1 {
                        nav.sort aria-label="Order of the comments" {
                            span { "Sort by" }
                            @for (order, name) in orders {
                                @let is_here = order == self.part.sorting.order;
                                " "
                                a href=(self.part.sorted_address(order)) rel="nofollow"
                                    aria-current=[is_here.then_some("true")] { (name) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// How many comments of the whole thread are new, as a link to the first one.
    fn news_of_thread(&self) -> Markup {
        let places = self.thread.outline().places().iter().enumerate();
        let mut new = places.filter(|(_, place)| self.new.is_some_and(|new| new.has(place)));
        html! {
            @if let (None, Some((first, _))) = (self.part.root, new.next()) {
                @let count = 1 + new.count() as u64;
                p.new-comments #new {
                    a href=(jump_address(self.part, self.thread.outline(), &self.pages, first)) data-first-new {
                        (counted(count, "new comment", "new comments"))
                    }
                    span { " since your last visit" }
                }
            }
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

/// A story at the head of its thread.
#[must_use]
pub fn news_head(frame: &Frame<'_>, line: &NewsLine) -> Markup {
    let news = &line.news;
    let anchor = news_anchor(news.id);
    let is_shown = !news.deleted && line.marks.sight.is_shown();
    html! {
        article.item.lead #(anchor) data-item {
            (news_buttons(frame, line, anchor))
            div.story {
                (leading_story(frame, line))
                @if let (true, Some(text)) = (is_shown, news.text()) {
                    div.text.formatted dir="auto" { (markdown(text, frame.link_target())) }
                }
                (edit_note(news))
            }
        }
    }
}

/// A story's title as a link to its thread.
#[must_use]
pub fn thread_link(line: &NewsLine) -> Markup {
    link_to_thread(line, &news_address(line.news.id))
}

/// A story's title as a link to a page of its thread.
fn link_to_thread(line: &NewsLine, address: &str) -> Markup {
    title_link(address, Some(&shown_title(line)))
}

/// The title of a story as a link; `None` for a deleted story.
#[must_use]
pub fn title_link(address: &str, title: Option<&str>) -> Markup {
    html! { a href=(address) dir="auto" { (title.unwrap_or(DELETED_STORY)) } }
}

/// The address of a page that shows a comment: of the whole thread, or of a branch, in the
/// viewer's own order. If those do not show it, its own page. Rounds: 2.
pub async fn address_of(visit: &mut Visit, address: CommentAddress, root: Option<CommentId>) -> String {
    let CommentAddress { news, comment } = address;
    let own = format!("{}#comment-{comment}", comment_address(address));
    let Ok(thread) = threads::get(visit, news, None, |_| Vec::new()).await else {
        return own;
    };
    let lines = thread.outline();
    let part = ThreadPart { news, root, number: 1, sorting: Sorting::default() };
    if lines.position(comment).is_none() {
        // It was deleted.
        return format!("{}#comment-{comment}", news_address(news));
    }
    match part.pages(lines).and_then(|pages| pages.number_of(comment)) {
        Some(number) => format!("{}#comment-{comment}", part.address(number as u64)),
        None => own,
    }
}

/// The requested page of a thread, and its order.
pub struct ThreadQuery {
    page: PageNumberQuery,
    /// Whether a page is asked for by its number.
    is_paged: bool,
    sort: Option<CommentOrder>,
}

impl FromFields for ThreadQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let page = PageNumberQuery::from_fields(fields)?;
        Ok(Self { page, is_paged: fields.get("page").is_some(), sort: sort_field(fields)? })
    }
}

/// The field `sort`, the order of comments.
///
/// # Errors
/// A failure that names the field if there is no such order.
pub fn sort_field(fields: &Fields) -> Result<Option<CommentOrder>, RequestError> {
    let unknown = RequestError::Field { name: "sort", expected: "it must be score, newest or oldest" };
    fields.get("sort").map(|name| CommentOrder::parse(name).ok_or(unknown)).transpose()
}

/// GET /news/:id?page=N&sort=O.
pub async fn thread(
    PathOf(news): PathOf<NewsId>,
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(query): Form<ThreadQuery>,
) -> Result<Response, RequestError> {
    show(&app, visit, &here, (news, None, query)).await
}

/// GET /comment/:news/:comment?page=N&sort=O.
pub async fn one_comment(
    PathOf((news, comment)): PathOf<(NewsId, CommentId)>,
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(query): Form<ThreadQuery>,
) -> Result<Response, RequestError> {
    show(&app, visit, &here, (news, Some(comment), query)).await
}

async fn show(
    app: &App,
    visit: Visit,
    here: &LocalPath,
    (news, root, query): (NewsId, Option<CommentId>, ThreadQuery),
) -> Result<Response, RequestError> {
    let mut visit = visit.showing_hidden(here.shows_hidden());
    let number = query.page.page.get();
    let sorted = |order| Sorting { order, is_asked: query.sort.is_some() };
    let part = |order| ThreadPart { news, root, number, sorting: sorted(order) };
    // Which comments are on a page does not depend on the links of the page.
    let wanted = |lines: &ThreadLines| part(CommentOrder::Score).shown(lines);
    let thread = threads::get(&mut visit, news, query.sort, wanted).await?;
    if let Some(address) = merged_address(&thread.news.news).filter(|_| root.is_none() && !query.is_paged) {
        return Ok((StatusCode::FOUND, [(header::LOCATION, address)]).into_response());
    }
    let part = part(thread.order);
    let shown = part.shown(thread.outline());
    let mut page = ThreadPage::new(part, &thread, &shown)?;
    let now = visit.now();
    // Only the pages of the whole thread count as visits: a branch shows little of it.
    page.new = match root {
        None => thread.note_visit(visit.site(), now, number == 1),
        Some(_) => thread.new_while_reading(now),
    };
    if root.is_none() && number == 1 {
        page.merged = read_merged(&mut visit, &thread, &shown).await?;
    }
    let frame = Frame::of(app, &mut visit, here).await?;
    // The page says why the story is gone.
    let status = if root.is_none() && page.is_removed() { StatusCode::GONE } else { StatusCode::OK };
    Ok((status, page.render(&frame)).into_response())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed, line, news, user};

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
        let part = ThreadPart { news: NewsId(5), root: None, number: 1, sorting: Sorting::default() };
        let shown = part.shown(thread.outline());
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
    fn only_authors_see_links_to_edit_and_delete() {
        let lines = || vec![written_line(0, false, Some("bob"))];
        let links = |viewer| {
            let html = page(Some(viewer), false, lines());
            (
                html.contains(r#"href="/editcomment/5/7""#),
                html.contains(r##"href="/editcomment/5/7#delete""##),
            )
        };
        assert_eq!(links(("2", "")), (true, true));
        assert_eq!(links(("1", "a")), (false, false));
        assert_eq!(links(("3", "")), (false, false));
    }
}
