//! The pages of a thread: a story with its comments, or a branch that is too deep for them.

use super::thread_list::jump_address;
use super::thread_part::{Sorting, ThreadPart, ThreadQuery};
use super::writing::CommentEditor;
use crate::error::{RequestError, Result};
use crate::features::moderation::flagging::flag_address;
use crate::features::stories::item::{leading_story, news_buttons};
use crate::features::stories::marks::story_button;
use crate::features::stories::story_tools::{edit_note, merged_address, merged_threads, read_merged};
use crate::markup::addresses::{login_to, news_address};
use crate::markup::fragments::written;
use crate::markup::head::{PageKind, excerpt};
use crate::markup::markdown::markdown;
use crate::markup::moderation_tools::menu_link;
use crate::markup::parts::{deleted_user, news_anchor};
use crate::markup::withheld::{lock_notice, shown_title};
use crate::markup::{FeedKind, Frame, Page, PageHead};
use crate::request::{Form, PathOf};
use crate::route::LoginReason;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, Render, html};
use tidings_domain::Refusal;
use tidings_domain::accounts::reader::{Collapsed, Sight};
use tidings_domain::accounts::seen::{ShownIn, Viewed};
use tidings_domain::comments::merged::MergedThread;
use tidings_domain::comments::outline::{ThreadLines, ThreadPages};
use tidings_domain::comments::threads::{self, NewComments, Thread};
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::news::subscriptions::Subscription;
use tidings_domain::values::{Closed, CommentId, CommentOrder, NewsId, Thing};
use tidings_language::{n, t};

/// A page of a thread.
pub struct ThreadPage<'a> {
    /// Which page it is.
    pub part: ThreadPart,
    /// The thread.
    pub thread: &'a Thread,
    /// The pages of the same thread or branch.
    pub pages: ThreadPages<'a>,
    /// The positions of its comments.
    pub shown: &'a [usize],
    /// The comment that its address names, and whether the viewer has just posted it.
    pub at: Option<(CommentId, bool)>,
    /// Which comments are new for the viewer.
    pub new: Option<NewComments>,
    /// The threads of the stories that were merged into this one.
    pub merged: Vec<MergedThread>,
}

impl<'a> ThreadPage<'a> {
    /// The page with these comments, or why there is none.
    fn new(part: ThreadPart, thread: &'a Thread, shown: &'a [usize]) -> Result<Self> {
        let pages = part.pages(thread.outline()).ok_or(Refusal::NoSuchComment)?;
        let exists = (1..=pages.count()).any(|number| u64::try_from(number) == Ok(part.number));
        if exists {
            Ok(Self { part, thread, pages, shown, at: None, new: None, merged: Vec::new() })
        } else {
            Err(RequestError::NotFound)
        }
    }

    fn render(&self, frame: &Frame<'_>) -> Markup {
        let title = shown_title(&self.thread.news);
        let content = written(|html| {
            self.head(frame).render_to(html);
            self.continuation().render_to(html);
            self.paging(t!("Pages")).render_to(html);
            self.tools().render_to(html);
            self.list(frame).render_to(html);
            self.paging(t!("Pages, again")).render_to(html);
            merged_threads(frame, self.thread.perspective(), &self.merged).render_to(html);
        });
        let title = match (self.part.branch, self.part.number) {
            (None, 1) => title,
            (None, number) => t!("{title} (page {number})", title, number).to_string(),
            (Some(_), _) => t!("Replies on {title}", title).to_string(),
        };
        let head = match self.is_unlisted() {
            true => PageHead::default().with(html! { meta name="robots" content="noindex"; }),
            false => PageHead::of(self.part.canonical_address()).feeds(self.feed()),
        };
        frame.page_with(&title, &head.about(PageKind::Article, self.description(frame)), &content)
    }

    /// The feed of the comments, unless only some people see the story.
    fn feed(&self) -> Option<FeedKind> {
        let news = &self.thread.news.news;
        let is_public = news.state().is_public();
        is_public.then(|| FeedKind::Story(news.id, news.title.clone()))
    }

    /// Whether a moderator has removed the story, and the reader is neither its author nor a moderator.
    fn is_removed(&self) -> bool {
        self.thread.news.marks.sight == Sight::Collapsed(Collapsed::Removed)
    }

    /// Whether search engines leave the page out: no list has the story, and the reader is neither its author nor a moderator. A
    /// deleted story keeps its page.
    fn is_unlisted(&self) -> bool {
        let state = self.thread.news.news.state();
        !state.is_listed() && !state.deleted && !self.thread.perspective().is_insider(state.author)
    }

    /// The description of the page: the text of the story or the comment, or else a sentence with the
    /// site that the story leads to.
    fn description(&self, frame: &Frame<'_>) -> String {
        let NewsSummary { news, username, .. } = &*self.thread.news;
        let comment = self.at.and_then(|(at, _)| self.thread.line_of(at));
        let perspective = self.thread.perspective();
        let comment = comment.and_then(|line| perspective.see(line, ShownIn::List));
        if let Some(line) = comment {
            let name = line.username.unwrap_or(deleted_user());
            return t!("{name}: {value}", name, value = excerpt(line.body())).to_string();
        }
        if !perspective.may_act_on(&self.thread.news) {
            return String::new();
        }
        if let Some(text) = news.text() {
            return excerpt(text);
        }
        let comments = n!(news.comments, "{count} comment", "{count} comments");
        let site = &frame.site().name;
        let author = username.as_deref().unwrap_or(deleted_user());
        let words = match news.link().map(|link| &link.host) {
            Some(host) => t!(
                "{comments} on {site} about a story from {host} submitted by {author}.",
                comments,
                site,
                host,
                author
            ),
            None => t!("{comments} on {site} about a story submitted by {author}.", comments, site, author),
        };
        words.to_string()
    }

    /// The content above the comments.
    fn head(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        let pages = self.pages.count();
        html! {
            @match (self.part.branch, self.part.number) {
                (None, 1) => {
                    (news_head(frame, self.thread))
                    div.under { (self.comment_form(frame)) }
                }
                (None, number) => {
                    h1 { (t!("Comments, page {number} of {pages}", number, pages)) }
                    p.about-what { (t!("On {story}", story = thread_link(&self.thread.news))) }
                    (lock_notice(news))
                }
                (Some(branch), number) => {
                    h1 {
                        @if number > 1 { (t!("Further replies, page {number} of {pages}", number, pages)) }
                        @else { (t!("Further replies")) }
                    }
                    @let story = link_to_thread(&self.thread.news, &self.part.address_of(branch.root));
                    p.about-what { (t!("On {story}", story)) }
                    (lock_notice(news))
                }
            }
        }
    }

    fn comment_form(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        html! {
            @if let Some(why) = news.state().closed() {
                p.empty { (why_closed(why)) }
            } @else if news.locked.is_some() {
                // The notice below the title says so.
            } @else if frame.viewer.is_some() {
                (CommentEditor::in_thread(news.id, t!("Your comment"), t!("Add comment")).render(frame))
            } @else {
                @let login = login_to(Some(LoginReason::Comment), &format!("{}#comment", frame.way_back));
                p { a.action href=(login) { (t!("Log in to comment")) } }
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
                @let author = parent.username.as_deref().unwrap_or(deleted_user());
                @let comment = html! {
                    a href=(self.part.address_of(parent.id)) { (t!("the comment by {author}", author)) }
                };
                p.about-what { (t!("Continues the replies to {comment}", comment)) }
            }
        }
    }

    /// How many comments there are and how many of them are new, and their order. The script adds a button that collapses all.
    fn tools(&self) -> Markup {
        let places = self.thread.outline().places();
        let orders = [
            (CommentOrder::Score, t!("order" => "Best")),
            (CommentOrder::Newest, t!("order" => "New")),
            (CommentOrder::Oldest, t!("order" => "Old")),
        ];
        let count = self.thread.news.news.comments;
        html! {
            @if places.is_empty() { h2.hidden { (t!("No comments")) } } @else {
                div.thread-tools data-tools {
                    h2 { (n!(count, "{count} comment", "{count} comments")) }
                    (self.news_of_thread())
                    @if places.len() > 1 {
                        nav.sort aria-label=(t!("Order of the comments")) {
                            span { (t!("Sort by:")) }
                            @for (order, name) in orders {
                                " "
                                @if order == self.part.sorting.order {
                                    a aria-current="true" { (name) }
                                } @else {
                                    a href=(self.part.sorted_address(order)) rel="nofollow" { (name) }
                                }
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
            @if let (None, Some((first, _))) = (self.part.branch, new.next()) {
                @let count = 1 + new.count();
                p.new-comments #new {
                    a href=(jump_address(self.part, self.thread.outline(), &self.pages, first)) data-first-new {
                        (n!(count, "{count} new comment", "{count} new comments"))
                    }
                    span { " " (t!("since your last visit")) }
                }
            }
        }
    }

    /// Which comments are on this page, and links to the others.
    fn paging(&self, label: &str) -> Markup {
        let (number, count) = (self.part.number, self.pages.count() as u64);
        let span = self.pages.span(number).filter(|_| count > 1);
        let is_near = |page: u64| page == 1 || page == count || page.abs_diff(number) <= NEAR_PAGES;
        html! {
            @if let Some([first, last, all]) = span {
                nav.pages aria-label=(label) {
                    span { (t!("{first}–{last} of {all}", first, last, all)) " · " (t!("pages")) }
                    @for page in (1..=count).filter(|page| is_near(*page)) {
                        @if page > 1 && !is_near(page - 1) { " …" }
                        " "
                        @if page == number {
                            strong aria-current="page" { (page) }
                        } @else {
                            a href=(self.part.address(page)) rel=[rel_of(page, number)] { (page) }
                        }
                    }
                }
            }
        }
    }
}

/// Why nobody comments on a story.
fn why_closed(why: Closed) -> Markup {
    html! {
        @match why {
            Closed::Deleted => (t!("This story has been deleted. Its comments can still be read.")),
            Closed::Erased => (t!("This story has been erased. Its comments can still be read.")),
            Closed::Removed => (t!("A moderator has removed this story. Its comments can still be read.")),
            Closed::Held => (t!("Only you and moderators see this story until a moderator approves it.")),
            Closed::Merged(into) => {
                @let story = html! { a href=(news_address(into)) { (t!("another one")) } };
                (t!("A moderator has merged this story into {story}. Please comment there.", story))
            }
        }
    }
}

/// How far the pages are from a page that it links to besides the first and the last.
const NEAR_PAGES: u64 = 3;

/// How a page is related to the one that links to it.
fn rel_of(page: u64, linking: u64) -> Option<&'static str> {
    match (page + 1 == linking, page == linking + 1) {
        (true, _) => Some("prev"),
        (_, true) => Some("next"),
        _ => None,
    }
}

/// The story at the head of its thread.
fn news_head(frame: &Frame<'_>, thread: &Thread) -> Markup {
    let line = &thread.news;
    let news = &line.news;
    let anchor = news_anchor(news.id);
    let is_shown = line.marks.sight.is_shown();
    let words = html! {
        @if let Some(viewer) = frame.viewer {
            @let is_author = viewer.id == news.user_id;
            @let is_open = news.state().is_open();
            @if is_open { (subscription_button(news.id, thread.subscription, is_author)) }
            @if !is_author && is_open {
                " " a href=(flag_address(&Thing::Story(news.id))) rel="nofollow" { (t!("verb" => "flag")) }
            }
        }
        (menu_link(frame, &Thing::Story(news.id), news.user_id))
    };
    html! {
        article.item.lead #(anchor) data-item {
            (news_buttons(frame, line))
            div.story {
                (leading_story(frame, line, &words))
                @if let (true, Some(text)) = (is_shown, news.text()) {
                    div.text.formatted dir="auto" { (markdown(&frame.site().with_moved_links(text), frame.link_target())) }
                }
                (edit_note(news))
                // A story that is not shown has no other tools.
                @if !is_shown { p { (menu_link(frame, &Thing::Story(news.id), news.user_id)) } }
            }
        }
    }
}

/// The button that subscribes to a thread or leaves it.
fn subscription_button(news: NewsId, subscription: Subscription, is_author: bool) -> impl Render {
    let is_told = match subscription {
        Subscription::Subscribed => true,
        Subscription::Left => false,
        Subscription::Unset => is_author,
    };
    match is_told {
        true => {
            let title = t!("Stop telling me about new comments");
            story_button(news, "/unsubscribe", (title, t!("button" => "unsubscribe")))
        }
        false => {
            let title = t!("Tell me about new comments");
            story_button(news, "/subscribe", (title, t!("button" => "subscribe")))
        }
    }
}

/// A story's title as a link to its thread.
pub fn thread_link(line: &NewsLine) -> Markup {
    link_to_thread(line, &news_address(line.news.id))
}

/// A story's title as a link to a page of its thread.
fn link_to_thread(line: &NewsLine, address: &str) -> Markup {
    title_link(address, Some(&shown_title(line)))
}

/// The title of a story as a link; `None` for a deleted story.
pub fn title_link(address: &str, title: Option<&str>) -> Markup {
    html! { a href=(address) dir="auto" { (title.unwrap_or_else(|| t!("[deleted story]"))) } }
}

/// GET /comment/:news/:comment?sort=O: leads to the comment in its thread.
pub async fn one_comment(
    PathOf((news, comment)): PathOf<(NewsId, CommentId)>,
    Form(ThreadQuery { sort, .. }): Form<ThreadQuery>,
) -> Redirect {
    let sorting = sort.map(|order| Sorting { order, is_asked: true }).unwrap_or_default();
    Redirect::to(&ThreadPart { news, branch: None, number: 1, sorting }.address_of(comment))
}

/// GET /news/:id?page=N&at=C&posted=C&sort=O.
pub async fn thread(
    PathOf(news): PathOf<NewsId>,
    Page { app, mut visit, here, .. }: Page,
    Form(query): Form<ThreadQuery>,
) -> Result<Response> {
    // Which comments are on a page does not depend on the links of the page.
    let wanted = |lines: &ThreadLines| {
        query.part(lines, CommentOrder::Score).map(|part| part.shown(lines)).unwrap_or_default()
    };
    let thread = threads::get(&mut visit, news, query.arrangement(), wanted).await?;
    let is_plain = query.at.is_none() && query.page.is_none();
    if let Some(address) = merged_address(&thread.news.news).filter(|_| is_plain) {
        return Ok((StatusCode::FOUND, [(header::LOCATION, address)]).into_response());
    }
    let part = query.part(thread.outline(), thread.order).ok_or(Refusal::NoSuchComment)?;
    let at = query.at.and_then(|at| thread.outline().position(at));
    // A comment that the viewer may not know of is not there.
    if at.is_some_and(|at| thread.line(at).is_some() && matches!(thread.view(at), Viewed::Nothing)) {
        return Err(Refusal::NoSuchComment.into());
    }
    let shown = part.shown(thread.outline());
    let mut page = ThreadPage::new(part, &thread, &shown)?;
    page.at = query.at.map(|at| (at, query.is_posted));
    let now = visit.now();
    let is_first = part.number == 1;
    // Only the pages of the whole thread count as visits: a branch shows little of it.
    page.new = match part.branch {
        None => thread.note_visit(visit.site(), now, is_first),
        Some(_) => thread.new_comments(now, false),
    };
    if part.branch.is_none() && is_first {
        page.merged = read_merged(&mut visit, &thread, &shown).await?;
    }
    let frame = Frame::of(&app, &mut visit, &here).await?;
    // The page says why the story is gone.
    let status = if part.branch.is_none() && page.is_removed() { StatusCode::GONE } else { StatusCode::OK };
    Ok((status, page.render(&frame)).into_response())
}
