//! Lists of stories: the front page, the latest, those of a user, a random one.

use super::item::{listed_story_bytes, news_list};
use super::marks::JustHidden;
use crate::Result;
use crate::limits::{PAGE_LIST_BYTES, PAGE_ROWS};
use crate::markup::addresses::{news_address, user_address};
use crate::markup::feed_links::Written;
use crate::markup::fragments::written;
use crate::markup::page::Audience;
use crate::markup::parts::{empty_page, fitting, paging, tab};
use crate::markup::withheld::{Kind, unlisted_note};
use crate::markup::{FeedKind, Frame, Member, Page, PageHead};
use crate::request::{ListPath, PathOf, Start};
use crate::site_lists::{ListFacts, SiteList};
use axum::response::Redirect;
use maud::{Markup, Render, html};
use strum::IntoEnumIterator;
use tidings_domain::Visit;
use tidings_domain::accounts::first_administrator::{self, Vacancy};
use tidings_domain::accounts::profiles;
use tidings_domain::moderation::announcing;
use tidings_domain::news::lists::{self, NewsPage};
use tidings_language::t;

/// Where the pages of a list are.
#[derive(Debug, Clone, Copy)]
pub struct ListAddress<'a> {
    /// The address of the first page.
    pub first: &'a str,
    /// The address to which the start of another page is added.
    pub more: &'a str,
    /// The stories on a full page.
    pub size: u64,
}

impl ListAddress<'_> {
    /// The page that begins at a position.
    fn page(&self, start: u64, shows_hidden: bool) -> String {
        let hidden = if shows_hidden { "?hidden=1" } else { "" };
        if start == 0 { format!("{}{hidden}", self.first) } else { format!("{}{start}{hidden}", self.more) }
    }
}

/// The text for a list of all stories when there are none.
fn none_yet() -> (&'static str, Step) {
    (t!("No stories yet."), ("/submit", t!("Submit the first one")))
}

/// The first step that an empty list leads to: an address, and what to do there.
pub type Step = (&'static str, &'static str);

/// One page of a list of stories.
pub struct NewsListPage<'a> {
    /// The title of the page; empty for the front page.
    pub title: &'a str,
    /// The heading, hidden where the navigation shows the same.
    pub heading: &'a str,
    /// Whether the heading is for screen readers only.
    pub heading_hidden: bool,
    /// The markup between the heading and the list.
    pub before: Markup,
    /// The stories.
    pub page: &'a NewsPage,
    /// How many stories are on the pages before.
    pub start: u64,
    /// Where the pages are.
    pub address: ListAddress<'a>,
    /// The text of an empty list, and the first step.
    pub empty: (&'a str, Step),
    /// The feed of the list, if it has one besides that of the newest stories.
    pub feed: Option<FeedKind>,
}

impl<'a> NewsListPage<'a> {
    /// A page whose heading is its title, with nothing between that and the list.
    pub fn new(title: &'a str, page: &'a NewsPage, start: u64, address: ListAddress<'a>) -> Self {
        Self {
            title,
            heading: title,
            heading_hidden: false,
            before: html! {},
            page,
            start,
            address,
            empty: none_yet(),
            feed: None,
        }
    }

    fn render(&self, frame: &Frame<'_>, just_hidden: Option<&JustHidden>) -> Markup {
        let lines = &self.page.lines;
        let fits = fitting(lines, PAGE_LIST_BYTES, listed_story_bytes);
        let before = html! {
            h1.hidden[self.heading_hidden] { (self.heading) }
            (self.before)
            @if let Some(hidden) = just_hidden { (hidden.render(frame)) }
            @if lines.is_empty() {
                @if self.page.unlisted > 0 {
                    p.empty { (t!("You have hidden or muted all stories on this page.")) }
                } @else {
                    @let later = (self.start > 0).then_some((t!("No more stories."), self.address.first));
                    (empty_page(later, self.empty.0, self.empty.1))
                }
            }
        };
        let after = html! {
            (unlisted_note(frame, self.page.unlisted, Kind::Story))
            // A page may also have fewer stories because some are missing or hidden.
            @let shown = if fits < lines.len() { fits as u64 } else { self.address.size };
            @let shows_hidden = frame.here.shows_hidden();
            @let address = |start| self.address.page(start, shows_hidden);
            (paging(&address, self.start, (self.address.size, shown), self.page.total))
        };
        let content = written(|html| {
            before.render_to(html);
            if !lines.is_empty() {
                news_list(frame, lines.get(..fits).unwrap_or_default(), self.start).render_to(html);
            }
            after.render_to(html);
        });
        // Only the front page has no title.
        let head = if self.title.is_empty() { PageHead::of("/") } else { PageHead::default() };
        frame.page_with(self.title, &head.feeds(self.feed.clone()), &content)
    }
}

/// The page of a list for any visitor, after the list was read.
pub async fn list_page<R: Audience>(page: &mut Page<R>, list: NewsListPage<'_>) -> Result<Markup> {
    let just_hidden = JustHidden::read(&mut page.visit, &page.here).await?;
    Ok(list.render(&page.frame().await?, just_hidden.as_ref()))
}

/// The tabs of the front page. From a later page of a list, its tab leads to the first.
fn spans(here: SiteList, is_first: bool) -> Markup {
    let tabs = SiteList::iter().map(|list| (list, list.facts())).filter(|(_, facts)| !facts.tab.is_empty());
    html! {
        nav.tabs.spans aria-label=(t!("Top stories")) {
            ul {
                @for (list, facts) in tabs {
                    @if list == here && !is_first {
                        li { a href=(facts.first) aria-current="true" { (facts.tab) } }
                    } @else {
                        (tab(facts.first, facts.tab, list == here))
                    }
                }
            }
        }
    }
}

/// The greeting on a site that has had no administrator yet.
fn greeting(vacancy: Option<Vacancy>) -> Markup {
    html! {
        @match vacancy {
            Some(Vacancy::FirstAccount) => {
                @let link = html! { a href="/register" { (t!("Create the administrator’s account")) } };
                p.notice { (t!("This site is new. {link}.", link)) }
            }
            Some(Vacancy::LinkInLog) => {
                p.notice { (t!("This site is new. Its owner finds the link in the log.")) }
            }
            None => {}
        }
    }
}

/// Puts the stories that are pinned at the beginning of the front page, and not in their own places. Rounds: 2 while
/// any are, else none.
async fn pin(visit: &mut Visit, page: &mut NewsPage) -> Result<()> {
    let (announcement, now) = (announcing::current(visit).await, visit.now());
    let ids = announcement.pinned(now);
    if ids.is_empty() {
        return Ok(());
    }
    page.lines.retain(|line| !ids.contains(&line.news.id));
    page.lines.splice(..0, lists::chosen(visit, ids).await?);
    Ok(())
}

/// GET the page of a list of all stories. The front page is the first one of the top.
pub async fn of_all(
    list: SiteList,
    PathOf(ListPath { start: Start(start) }): PathOf<ListPath>,
    mut page: Page,
) -> Result<Markup> {
    let ListFacts { title, first, more, tab, .. } = *list.facts();
    let mut stories = list.read(&mut page.visit, start, PAGE_ROWS).await?;
    let is_front = first == "/" && start == 0;
    let is_empty = is_front && stories.lines.is_empty() && stories.unlisted == 0;
    let vacancy = if is_empty { first_administrator::vacancy(&mut page.visit).await? } else { None };
    if is_front {
        pin(&mut page.visit, &mut stories).await?;
    }
    let list = NewsListPage {
        title: if is_front { "" } else { title },
        heading_hidden: true,
        before: html! { @if !tab.is_empty() { (spans(list, start == 0)) } (greeting(vacancy)) },
        feed: Some(FeedKind::Stories(list)).filter(|feed| *feed != FeedKind::LATEST),
        ..NewsListPage::new(title, &stories, start, ListAddress { first, more, size: PAGE_ROWS })
    };
    list_page(&mut page, list).await
}

/// GET /saved and /saved/:start: the stories that the viewer saved.
pub async fn saved(PathOf(ListPath { start }): PathOf<ListPath>, mut page: Page<Member>) -> Result<Markup> {
    let stories = lists::saved(&mut page.visit, page.user.id, start.0, PAGE_ROWS).await?;
    let address = ListAddress { first: "/saved", more: "/saved/", size: PAGE_ROWS };
    let list = NewsListPage {
        heading: t!("Your saved stories"),
        before: html! { p { a href="/upvoted" { (t!("Stories you voted up")) } } },
        empty: (t!("Stories you save appear here."), ("/latest/0", t!("Read new stories"))),
        ..NewsListPage::new(t!("Saved stories"), &stories, start.0, address)
    };
    list_page(&mut page, list).await
}

/// GET /upvoted and /upvoted/:start: the stories that the viewer voted up.
pub async fn upvoted(PathOf(ListPath { start }): PathOf<ListPath>, mut page: Page<Member>) -> Result<Markup> {
    let stories = lists::upvoted(&mut page.visit, page.user.id, start.0, PAGE_ROWS).await?;
    let address = ListAddress { first: "/upvoted", more: "/upvoted/", size: PAGE_ROWS };
    let list = NewsListPage {
        before: html! { p { (t!("Only you see this list.")) " " a href="/saved" { (t!("Saved stories")) } } },
        empty: (t!("Stories you vote up appear here."), ("/latest/0", t!("Read new stories"))),
        ..NewsListPage::new(t!("Stories you voted up"), &stories, start.0, address)
    };
    list_page(&mut page, list).await
}

/// GET /hidden/:start: the stories that the viewer has hidden.
pub async fn hidden(PathOf(ListPath { start }): PathOf<ListPath>, mut page: Page<Member>) -> Result<Markup> {
    let stories = lists::hidden(&mut page.visit, page.user.id, start.0, PAGE_ROWS).await?;
    let address = ListAddress { first: "/hidden/0", more: "/hidden/", size: PAGE_ROWS };
    let list = NewsListPage {
        heading: t!("Your hidden stories"),
        empty: (
            t!("Stories you hide appear here, and you can show them again."),
            ("/", t!("Go to the front page")),
        ),
        ..NewsListPage::new(t!("Hidden stories"), &stories, start.0, address)
    };
    list_page(&mut page, list).await
}

/// GET /usernews/:name/:start.
pub async fn of_user(PathOf((name, start)): PathOf<(String, Start)>, mut page: Page) -> Result<Markup> {
    let user = profiles::profile(&mut page.visit, &name).await?.user.clone();
    let stories = lists::posted(&mut page.visit, user.id, start.0, PAGE_ROWS).await?;
    let heading = t!("Stories by {author}", author = &user.username).to_string();
    let base = user_address("usernews", &user.username, "/");
    let first = format!("{base}0");
    let address = ListAddress { first: &first, more: &base, size: PAGE_ROWS };
    let list = NewsListPage {
        empty: (t!("No stories here yet."), ("/submit", t!("Submit a story"))),
        feed: Some(FeedKind::Person(Written::Stories, user.username.clone())),
        ..NewsListPage::new(&heading, &stories, start.0, address)
    };
    list_page(&mut page, list).await
}

/// GET /random: redirects to a random story.
pub async fn random(mut visit: Visit) -> Result<Redirect> {
    // If the system has no randomness, the clock is good enough here.
    let dice = getrandom::u64().unwrap_or(visit.now().0);
    let drawn = lists::random(&mut visit, dice).await?;
    Ok(Redirect::to(&drawn.map_or_else(|| "/".to_owned(), news_address)))
}
