//! The reputation of sites: the leaderboards, the page of a site, and its vote.

use super::form::SiteVoteForm;
use crate::App;
use crate::error::RequestError;
use crate::features::action::{Action, ActionEntry};
use crate::features::mutes::site_form;
use crate::features::stories::item::news_list;
use crate::features::stories::lists::{ListAddress, NewsListPage, list_page};
use crate::features::stories::marks::{JustHidden, unlisted_note};
use crate::limits::SITE_DAYS;
use crate::markup::addresses::{login_to, site_address};
use crate::markup::charts::{votes_bar, votes_per_day, votes_text};
use crate::markup::feed_links::FeedKind;
use crate::markup::fields::Field;
use crate::markup::frame::Frame;
use crate::markup::head::{PageHead, PageKind};
use crate::markup::page::Page;
use crate::markup::parts::{empty_but, number, paging, search_within, site_badge, tab};
use crate::markup::refilled::Sent;
use crate::request::form::Fields;
use crate::request::local_path::LocalPath;
use crate::request::path::{PathOf, Start};
use crate::route::{LoginReason, SHORT, Wing};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use strum::IntoEnumIterator;
use tidings_domain::Error;
use tidings_domain::accounts::reader::Reader;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::news::lists;
use tidings_domain::news::site_page;
use tidings_domain::sites::{
    self, Board, CastVote, Score, Shortage, SiteLine, SiteVote, Span, Verdict, VoteTotals,
};
use tidings_domain::values::hostname::{Hostname, HostnameError};
use tidings_domain::values::limits::{SITE_NEWS, SITE_SCORE_ACCOUNTS};
use tidings_domain::values::urls::NewsUrl;
use tidings_domain::values::words::{counted, grouped, grouped_signed};

const fn board_title(board: Board) -> &'static str {
    match board {
        Board::Best => "Best sites",
        Board::Worst => "Worst sites",
        Board::Controversial => "Controversial sites",
        Board::Voted => "Most voted sites",
    }
}

const fn board_name(board: Board) -> &'static str {
    match board {
        Board::Best => "Best",
        Board::Worst => "Worst",
        Board::Controversial => "Controversial",
        Board::Voted => "Most voted",
    }
}

const fn span_name(span: Span) -> &'static str {
    match span {
        Span::Day => "Today",
        Span::Week => "7 days",
        Span::Month => "30 days",
        Span::All => "All time",
    }
}

/// A leaderboard, with links to the others and a form to look up any site.
struct BoardPage<'a> {
    board: Board,
    span: Span,
    lines: &'a [SiteLine],
}

impl BoardPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let title = board_title(self.board);
        let content = html! {
            h1 { (title) }
            (self.tabs())
            @if self.lines.is_empty() {
                p.empty { "No sites yet. " a href="#host" { "Look one up and vote" } "." }
            } @else {
                (self.list())
            }
            (search())
        };
        frame.page(title, &content)
    }

    fn tabs(&self) -> Markup {
        let address = |board: Board, span: Span| format!("/sites/{}/{}", board.name(), span.name());
        html! {
            nav.tabs aria-label="Lists" {
                ul {
                    @for board in Board::iter() {
                        (tab(&address(board, self.span), board_name(board), board == self.board))
                    }
                }
                ul {
                    @for span in Span::iter() {
                        (tab(&address(self.board, span), span_name(span), span == self.span))
                    }
                }
            }
        }
    }

    fn list(&self) -> Markup {
        let most = self.lines.iter().map(|line| line.totals.count).max().unwrap_or(1);
        html! {
            ol.board role="list" {
                @for (number, line) in (1..).zip(self.lines) {
                    li {
                        span.rank aria-hidden="true" { (number) }
                        div.story {
                            h2 { a href=(site_address(&line.host)) { (line.host) } " " (site_badge(line.score)) }
                            (votes_bar(line.totals, most))
                            div.meta { (votes_text(line.totals)) }
                        }
                    }
                }
            }
        }
    }
}

fn search() -> Markup {
    let host = Field::new("host", "Look up a site").with("placeholder", "example.com");
    let host = host.with("inputmode", "url").with("autocomplete", "off").required().exact();
    html! {
        form.form.narrow action="/sites" {
            (host.input())
            button.button { "Look up" }
        }
    }
}

/// GET /sites: the best sites of all time. With `host`, redirects to the page of that site.
pub async fn sites(
    Page { app, mut visit, here, .. }: Page,
    fields: Fields,
) -> Result<Response, RequestError> {
    let sought = fields.text("host");
    let not_found = match (sought, find_host(sought)) {
        ("", _) => None,
        (_, Ok(host)) => return Ok(Redirect::to(&site_address(&host)).into_response()),
        (_, Err(error)) => Some(Error::from(error).into()),
    };
    let (board, span) = (Board::Best, Span::All);
    let lines = sites::leaderboard_of_sites(&mut visit, board, span).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let page = BoardPage { board, span, lines: &lines }.render(&frame);
    match not_found {
        Some(failure) => Sent { is_post: false, action: "/sites", fields: &fields }.page(&page, failure),
        None => Ok(page.into_response()),
    }
}

/// The host in a lookup, given by name or by the address of a page on it.
fn find_host(sought: &str) -> Result<Hostname, HostnameError> {
    let sought = sought.trim();
    let host = NewsUrl::parse(sought).map_or_else(|_| sought.to_owned(), |url| url.host());
    Hostname::parse(&host)
}

/// GET /sites/:list/:span.
pub async fn board(
    PathOf((board, span)): PathOf<(String, String)>,
    Page { app, mut visit, here, .. }: Page,
) -> Result<Markup, RequestError> {
    let (Ok(board), Ok(span)) = (board.parse::<Board>(), span.parse::<Span>()) else {
        return Err(RequestError::NotFound);
    };
    let lines = sites::leaderboard_of_sites(&mut visit, board, span).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(BoardPage { board, span, lines: &lines }.render(&frame))
}

/// The page of a site.
struct SiteReputationPage<'a> {
    host: &'a Hostname,
    page: &'a site_page::SitePage,
    /// The viewer's choices; `None` for a visitor.
    reader: Option<&'a Reader>,
    just_hidden: Option<&'a JustHidden>,
}

impl SiteReputationPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let history = &self.page.history;
        let totals = history.votes.totals;
        let content = html! {
            h1 { (self.host) " " (site_badge(history.score)) }
            p {
                (standing(history.score))
                @if let Some(shortage) = history.shortage.filter(|_| totals.count > 0) {
                    " " (too_few_networks(shortage))
                }
            }
            (vote_form(frame, self.host, self.page.my_vote))
            (facts(totals))
            (votes_per_day(&history.days))
            h2 #stories { "Stories from this site" }
            @if let Some(reader) = self.reader { (site_form(frame, self.host, reader)) }
            (search_within(frame, "Search its stories", ("stories", &format!("site:{}", self.host.bare()))))
            @if let Some(hidden) = self.just_hidden { (hidden.render(frame)) }
            @if self.page.news.lines.is_empty() && self.page.news.unlisted > 0 {
                p.empty { "You have hidden or muted all stories on this page." }
            } @else if self.page.news.lines.is_empty() {
                (empty_but("No stories from this site yet.", ("/submit", "Submit one")))
            } @else {
                (news_list(frame, &self.page.news.lines, 0))
            }
            (unlisted_note(frame, self.page.news.unlisted))
            (paging(&|start| stories_address(self.host, start), 0, (SITE_NEWS, SITE_NEWS), self.page.news.total))
        };
        let description = format!(
            "What people on {} think of {}, and its stories. {}",
            frame.site().name,
            self.host,
            standing(history.score)
        );
        let head = PageHead::of(site_address(self.host)).about(PageKind::Website, description);
        let head = head.feeds([FeedKind::Site(self.host.clone())]);
        frame.page_with(self.host.as_str(), &head, &content)
    }
}

/// The vote of the viewer on a host.
fn vote_form(frame: &Frame<'_>, host: &Hostname, mine: Option<CastVote>) -> Markup {
    let mine = mine.map(|vote| vote.verdict);
    let pressed = |verdict| if mine == Some(verdict) { "true" } else { "false" };
    html! {
        @if frame.viewer.is_some() {
            form.verdict method="post" action="/votesite" aria-label={ "Your vote on " (host) } {
                input type="hidden" name="link" value=(host);
                (frame.signed_fields())
                input type="hidden" name="next" value=(frame.way_back);
                button.button name="vote" value="1" aria-pressed=(pressed(Verdict::Good)) { "Good site" }
                button.button name="vote" value="-1" aria-pressed=(pressed(Verdict::Bad)) { "Bad site" }
                @if mine.is_some() {
                    button.button.plain name="vote" value="0" { "Take back my vote" }
                }
            }
        } @else {
            p { a.action href=(login_to(Some(LoginReason::Vote), &frame.way_back)) { "Log in to vote on this site" } }
        }
    }
}

/// The votes on a host in numbers.
fn facts(totals: VoteTotals) -> Markup {
    html! {
        dl.facts {
            div { dt { "good votes" } dd { (number(totals.good())) } }
            div { dt { "bad votes" } dd { (number(totals.bad())) } }
            div { dt { "sum" } dd { (signed(totals.sum)) } }
            div { dt { "votes" } dd { (number(totals.count)) } }
        }
    }
}

/// A sum with its sign.
fn signed(sum: i64) -> String {
    if sum > 0 { format!("+{}", grouped_signed(sum)) } else { grouped_signed(sum) }
}

/// A score in words.
const fn standing(score: Score) -> &'static str {
    match score {
        Score::Good => "People here trust this site.",
        Score::Bad => "People here distrust this site.",
        Score::Controversial => "Opinion on this site is divided.",
        Score::NoScore => "Not enough votes yet.",
    }
}

/// Why there is no score, if the votes are of too few networks.
fn too_few_networks(shortage: Shortage) -> String {
    format!(
        "People on {} have voted so far. A score needs votes from {} networks or {SITE_SCORE_ACCOUNTS} accounts.",
        counted(shortage.networks, "network", "networks"),
        grouped(shortage.needed),
    )
}

/// GET /site/:host.
pub async fn site(
    PathOf(host): PathOf<String>,
    Page { app, visit, here, .. }: Page,
) -> Result<Response, RequestError> {
    let asked = Hostname::parse(&host).map_err(|_| RequestError::NotFound)?;
    let host = asked.bare();
    if asked != host {
        return Ok(Redirect::to(&site_address(&host)).into_response());
    }
    if !app.site.rules.features.sites {
        return stories_from(&app, visit, &here, (&host, 0)).await;
    }
    let mut visit = visit.showing_hidden(here.shows_hidden());
    let page = site_page::site_page(&mut visit, &host, SITE_DAYS, SITE_NEWS).await?;
    let just_hidden = JustHidden::read(&mut visit, &here).await?;
    let reader = visit.reader().await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let just_hidden = just_hidden.as_ref();
    let reader = reader.as_deref();
    let page = SiteReputationPage { host: &host, page: &page, reader, just_hidden }.render(&frame);
    Ok(page.into_response())
}

fn stories_address(host: &Hostname, start: u64) -> String {
    format!("{}/stories/{start}", site_address(host))
}

/// GET /site/:host/stories/:start: the stories that link to a site.
pub async fn stories(
    PathOf((host, Start(start))): PathOf<(String, Start)>,
    Page { app, visit, here, .. }: Page,
) -> Result<Response, RequestError> {
    let asked = Hostname::parse(&host).map_err(|_| RequestError::NotFound)?;
    let host = asked.bare();
    if asked != host {
        return Ok(Redirect::to(&stories_address(&host, start)).into_response());
    }
    stories_from(&app, visit, &here, (&host, start)).await
}

async fn stories_from(
    app: &App,
    visit: Visit,
    here: &LocalPath,
    (host, start): (&Hostname, u64),
) -> Result<Response, RequestError> {
    let mut visit = visit.showing_hidden(here.shows_hidden());
    let page = lists::from_host(&mut visit, host, start, SITE_NEWS).await?;
    let heading = format!("Stories from {host}");
    let (first, more) = (stories_address(host, 0), format!("{}/stories/", site_address(host)));
    let address = ListAddress { first: &first, more: &more, size: SITE_NEWS };
    let list = NewsListPage {
        before: html! {
            @if app.site.rules.features.sites {
                p { a.action href=(site_address(host)) { "Votes on this site" } }
            }
        },
        empty: ("No stories from this site yet.", ("/submit", "Submit one")),
        feed: Some(FeedKind::Site(host.clone())),
        ..NewsListPage::new(&heading, &page, start, address)
    };
    Ok(list_page(app, &mut visit, here, list).await?.into_response())
}

/// The actions on the page of a site.
pub fn actions() -> Vec<ActionEntry> {
    const PATH: &str = "/votesite";
    const SUMMARY: &str = "Vote on a site, change the vote, or take it back with 0.";
    let ballot = |form: &SiteVoteForm| SiteVote { host: form.link.clone(), verdict: form.vote };
    let on_page = Action::setting(PATH, SUMMARY, move |app, by, form: &SiteVoteForm| {
        let ballot = ballot(form);
        Box::pin(async move { sites::vote_on_page(&app.site, app.now(), by, &ballot).await })
    });
    // Programs vote on the very host that they name.
    let call = Action::setting(PATH, SUMMARY, move |app, by, form: &SiteVoteForm| {
        let ballot = ballot(form);
        Box::pin(async move { sites::vote_as(&app.site, app.now(), by, &ballot).await })
    });
    let facts = SHORT.of(Wing::Sites).asking(LoginReason::Vote);
    vec![ActionEntry { page: on_page.back(facts).page, ..call.called("/api/sites/vote").back(facts) }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed, user};
    use tidings_domain::news::lists::NewsPage;
    use tidings_domain::sites::{History, SiteVotes};
    use tidings_domain::values::clock::Timestamp;

    fn site_page(my_vote: Option<CastVote>) -> site_page::SitePage {
        let votes = SiteVotes { totals: VoteTotals { sum: 20, count: 24 }, networks: 3, accounts: 0 };
        let history = History { votes, score: Score::Good, shortage: None, days: Vec::new() };
        site_page::SitePage { history, my_vote, news: NewsPage::default() }
    }

    #[test]
    fn a_site_without_a_score_says_what_is_missing() {
        let (host, mut page) = (Hostname::parse("a.com").unwrap(), site_page(None));
        page.history.score = Score::NoScore;
        for (networks, text) in
            [(1, "People on 1 network have voted so far"), (2, "People on 2 networks have voted so far")]
        {
            page.history.shortage = Some(Shortage { networks, needed: 3 });
            let site = SiteReputationPage { host: &host, page: &page, reader: None, just_hidden: None };
            let html = framed(None, |frame| site.render(frame)).into_string();
            assert!(
                html.contains(text) && html.contains("A score needs votes from 3 networks or 5 accounts."),
                "{html}"
            );
        }
        page.history.votes = SiteVotes::default();
        let site = SiteReputationPage { host: &host, page: &page, reader: None, just_hidden: None };
        let html = framed(None, |frame| site.render(frame)).into_string();
        assert!(!html.contains("so far"), "{html}");
    }

    #[test]
    fn the_page_of_a_site_shows_its_score_and_the_viewers_vote() {
        let (host, bob) = (Hostname::parse("a.com").unwrap(), user("2", "bob", ""));
        let page = site_page(Some(CastVote { verdict: Verdict::Bad, time: Timestamp(1) }));
        let site = SiteReputationPage { host: &host, page: &page, reader: None, just_hidden: None };
        let html = framed(Some(&bob), |frame| site.render(frame)).into_string();
        for part in [
            "<dd>22</dd>",
            "<dd>2</dd>",
            "<dd>+20</dd>",
            r#"value="1" aria-pressed="false""#,
            r#"value="-1" aria-pressed="true""#,
            "Take back my vote",
            "trust this site",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let (html, page) = (framed(None, |frame| site.render(frame)).into_string(), site_page(None));
        assert!(html.contains("Log in to vote") && !html.contains("/votesite"), "{html}");
        let site = SiteReputationPage { host: &host, page: &page, reader: None, just_hidden: None };
        let html = framed(Some(&bob), |frame| site.render(frame)).into_string();
        assert!(!html.contains("Take back my vote"), "{html}");
    }

    #[test]
    fn a_site_is_looked_up_by_name_and_by_address() {
        for sought in ["a.com", " A.com ", "https://a.com/page?x=1"] {
            assert_eq!(find_host(sought).unwrap().as_str(), "a.com", "{sought:?}");
        }
        assert!(find_host("http://localhost/").unwrap_err().to_string().contains("localhost"));
    }

    #[test]
    fn a_leaderboard_marks_the_current_tabs() {
        let host = Hostname::parse("a.com").unwrap();
        let lines = [SiteLine { host, score: Score::Good, totals: VoteTotals { sum: 1, count: 3 } }];
        let page = BoardPage { board: Board::Voted, span: Span::Week, lines: &lines };
        let html = framed(None, |frame| page.render(frame)).into_string();
        for part in [
            r#"<a href="/sites/voted/week" aria-current="page">Most voted</a>"#,
            r#"<a href="/sites/voted/day">Today</a>"#,
            r#"<a href="/site/a.com">a.com</a>"#,
            "2 good votes and 1 bad vote",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
