//! Lists of stories: the front page, the latest, those of a user, a random one.

use super::layout::Frame;
use super::parts::{empty_but, fitting, listed_story_bytes, news_address, news_list, paging};
use super::user_address;
use crate::App;
use crate::error::RequestError;
use crate::limits::{FRONT_PAGE_STORIES, LATEST_STORIES, PAGE_LIST_BYTES, USER_STORIES};
use crate::local_path::LocalPath;
use crate::path::{PathOf, Start};
use crate::viewer::SignedIn;
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::users;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::news::lists::{self, NewsPage};

/// The text for a list of all stories when there are none.
const NONE_YET: (&str, Step) = ("No stories yet.", ("/submit", "Submit the first one"));

/// The first step that an empty list leads to: an address, and what to do there.
type Step = (&'static str, &'static str);

/// One page of a list of stories.
struct NewsListPage<'a> {
    /// The title of the page; empty for the front page.
    title: &'a str,
    /// The heading, hidden where the navigation shows the same.
    heading: &'a str,
    heading_hidden: bool,
    page: &'a NewsPage,
    start: u64,
    /// Stories on a full page, and the address to which a start is added; `None`
    /// for a list of one page.
    paged: Option<(u64, &'a str)>,
    /// The text for an empty list, and the first step.
    empty: (&'a str, Step),
}

impl NewsListPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let lines = &self.page.lines;
        let fits = fitting(lines, PAGE_LIST_BYTES, listed_story_bytes);
        let content = html! {
            h1.hidden[self.heading_hidden] { (self.heading) }
            @if lines.is_empty() {
                (empty_but(self.empty.0, self.empty.1))
            } @else {
                (news_list(frame, lines.get(..fits).unwrap_or_default(), self.start))
            }
            @if let Some((size, base)) = self.paged {
                // A page may also have fewer stories because some are missing.
                @let shown = if fits < lines.len() { fits as u64 } else { size };
                (paging(base, self.start, (size, shown), self.page.total))
            }
        };
        frame.page(self.title, &content)
    }
}

/// GET /.
pub async fn top(State(app): State<App>, mut visit: Visit, here: LocalPath) -> Result<Markup, RequestError> {
    let page = lists::top(&mut visit, 0, FRONT_PAGE_STORIES).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let list = NewsListPage {
        title: "",
        heading: "Top stories",
        heading_hidden: true,
        page: &page,
        start: 0,
        paged: None,
        empty: NONE_YET,
    };
    Ok(list.render(&frame))
}

/// GET /latest.
pub async fn latest_from_start(
    app: State<App>,
    visit: Visit,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    latest(PathOf(Start(0)), app, visit, here).await
}

/// GET /latest/:start.
pub async fn latest(
    PathOf(Start(start)): PathOf<Start>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let page = lists::latest(&mut visit, start, LATEST_STORIES).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let list = NewsListPage {
        title: "Latest stories",
        heading: "Latest stories",
        heading_hidden: true,
        page: &page,
        start,
        paged: Some((LATEST_STORIES, "/latest/")),
        empty: if start == 0 { NONE_YET } else { ("No more stories.", ("/latest/0", "Go to the latest")) },
    };
    Ok(list.render(&frame))
}

/// GET /saved/:start: the stories that the viewer voted up.
pub async fn saved(
    PathOf(Start(start)): PathOf<Start>,
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let page = lists::saved(&mut visit, user.id, start, USER_STORIES).await?;
    let list = NewsListPage {
        title: "Saved stories",
        heading: "Your saved stories",
        heading_hidden: false,
        page: &page,
        start,
        paged: Some((USER_STORIES, "/saved/")),
        empty: ("Stories you vote up appear here.", ("/latest/0", "Read the latest stories")),
    };
    Ok(list.render(&Frame::for_user(&app, &here, &user)))
}

/// GET /usernews/:name/:start.
pub async fn of_user(
    PathOf((name, Start(start))): PathOf<(String, Start)>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let user = users::profile(&mut visit, &name).await?.user.clone();
    let page = lists::posted(&mut visit, user.id, start, USER_STORIES).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let heading = format!("Stories by {}", user.username);
    let base = user_address("usernews", &user.username, "/");
    let list = NewsListPage {
        title: &heading,
        heading: &heading,
        heading_hidden: false,
        page: &page,
        start,
        paged: Some((USER_STORIES, &base)),
        empty: ("No stories here yet.", ("/submit", "Submit a story")),
    };
    Ok(list.render(&frame))
}

/// GET /random: redirects to a random story.
pub async fn random(mut visit: Visit) -> Result<Redirect, RequestError> {
    // If the system has no randomness, the clock is good enough here.
    let dice = getrandom::u64().unwrap_or(visit.now().0);
    let drawn = lists::random(&mut visit, dice).await?;
    Ok(Redirect::to(&drawn.map_or_else(|| "/".to_owned(), news_address)))
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{framed, line, news};
    use super::*;

    #[test]
    fn a_list_has_one_heading_and_a_link_to_the_next_page() {
        let page = NewsPage { lines: vec![line(news("t", "http://a.com/", false), None)], total: 11 };
        let list = NewsListPage {
            title: "Stories by <x>",
            heading: "Stories by <x>",
            heading_hidden: false,
            page: &page,
            start: 0,
            paged: Some((10, "/usernews/x/")),
            empty: ("nothing", ("/", "go on")),
        };
        let html = framed(None, |frame| list.render(frame)).into_string();
        assert_eq!(html.matches("<h1").count(), 1, "{html}");
        assert!(html.contains("Stories by &lt;x&gt;"), "{html}");
        assert!(html.contains(r#"<a href="/usernews/x/10" rel="next">more</a>"#), "{html}");
        assert!(!html.contains("nothing"), "{html}");
    }
}
