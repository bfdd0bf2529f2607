//! The reputation of sites: the leaderboards, the page of a site, and its vote.

use super::form::SiteVoteForm;
use crate::error::{RequestError, Result};
use crate::features::action::{Action, ActionEntry};
use crate::features::mutes::site_form;
use crate::features::stories::item::news_list;
use crate::features::stories::lists::{ListAddress, NewsListPage, list_page};
use crate::features::stories::marks::JustHidden;
use crate::limits::SITE_DAYS;
use crate::markup::addresses::{login_to, site_address};
use crate::markup::charts::{votes_bar, votes_per_day, votes_text};
use crate::markup::head::PageKind;
use crate::markup::parts::{empty_but, number, paging, search_within, site_badge, tab};
use crate::markup::refilled::Sent;
use crate::markup::withheld::{Kind, unlisted_note};
use crate::markup::{FeedKind, Field, Frame, Page, PageHead};
use crate::request::{Fields, PathOf, Start};
use crate::route::{LoginReason, SHORT, Wing};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use strum::IntoEnumIterator;
use tidings_domain::Error;
use tidings_domain::accounts::reader::Reader;
use tidings_domain::news::{lists, site_page};
use tidings_domain::sites::{
    self, Board, CastVote, Score, Shortage, SiteLine, SiteVote, Span, Verdict, VoteTotals,
};
use tidings_domain::values::{Hostname, HostnameError, NewsUrl, SITE_NEWS, SITE_SCORE_ACCOUNTS};
use tidings_language::{Message, Phrase, m, n, numbers, t};

/// The title of a list of sites, and its name among others.
fn board_names(board: Board) -> (&'static str, &'static str) {
    match board {
        Board::Best => (t!("Best sites"), t!("sites" => "Best")),
        Board::Worst => (t!("Worst sites"), t!("sites" => "Worst")),
        Board::Controversial => (t!("Controversial sites"), t!("sites" => "Controversial")),
        Board::Voted => (t!("Most voted sites"), t!("sites" => "Most voted")),
    }
}

fn span_name(span: Span) -> &'static str {
    match span {
        Span::Day => t!("Today"),
        Span::Week => t!("7 days"),
        Span::Month => t!("30 days"),
        Span::All => t!("All time"),
    }
}

/// A leaderboard, with links to the others and a form to look up any site.
fn board_page(frame: &Frame<'_>, (board, span): (Board, Span), lines: &[SiteLine]) -> Markup {
    let (title, _) = board_names(board);
    let content = html! {
        (tabs((board, span)))
        @if lines.is_empty() {
            p.empty { (t!("No sites yet. {link}.", link = html! { a href="#host" { (t!("Look one up and vote")) } })) }
        } @else {
            (list(lines))
        }
        (search())
    };
    frame.headed(title, &content)
}

fn tabs(shown: (Board, Span)) -> Markup {
    let address = |board: Board, span: Span| format!("/sites/{}/{}", board.name(), span.name());
    html! {
        nav.tabs aria-label=(t!("Lists")) {
            ul {
                @for board in Board::iter() {
                    (tab(&address(board, shown.1), board_names(board).1, board == shown.0))
                }
            }
            ul {
                @for span in Span::iter() {
                    (tab(&address(shown.0, span), span_name(span), span == shown.1))
                }
            }
        }
    }
}

fn list(lines: &[SiteLine]) -> Markup {
    let most = lines.iter().map(|line| line.totals.count).max().unwrap_or(1);
    html! {
        ol.board role="list" {
            @for (number, line) in (1..).zip(lines) {
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
fn search() -> Markup {
    let host = Field::new("host", t!("Look up a site")).with("placeholder", "example.com");
    let host = host.with("inputmode", "url").with("autocomplete", "off").required().exact();
    html! {
        form.form.narrow action="/sites" {
            (host.input())
            button.button { (t!("Look up")) }
        }
    }
}

/// GET /sites: the best sites of all time. With `host`, redirects to the page of that site.
pub async fn sites(Page { app, mut visit, here, .. }: Page, fields: Fields) -> Result<Response> {
    let sought = fields.text("host");
    let not_found = match (sought, find_host(sought)) {
        ("", _) => None,
        (_, Ok(host)) => return Ok(Redirect::to(&site_address(&host)).into_response()),
        (_, Err(error)) => Some(Error::from(error).into()),
    };
    let (board, span) = (Board::Best, Span::All);
    let lines = sites::leaderboard_of_sites(&mut visit, board, span).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let page = board_page(&frame, (board, span), &lines);
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
) -> Result<Markup> {
    let (Ok(board), Ok(span)) = (board.parse::<Board>(), span.parse::<Span>()) else {
        return Err(RequestError::NotFound);
    };
    let lines = sites::leaderboard_of_sites(&mut visit, board, span).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(board_page(&frame, (board, span), &lines))
}

/// The vote of the viewer on a host.
fn vote_form(frame: &Frame<'_>, host: &Hostname, mine: Option<CastVote>) -> Markup {
    let mine = mine.map(|vote| vote.verdict);
    let pressed = |verdict| if mine == Some(verdict) { "true" } else { "false" };
    html! {
        @if frame.viewer.is_some() {
            form.verdict method="post" action="/votesite" aria-label=(t!("Your vote on {host}", host = host.as_str())) {
                input type="hidden" name="link" value=(host);
                (frame.signed_fields())
                input type="hidden" name="next" value=(frame.way_back);
                button.button name="vote" value="1" aria-pressed=(pressed(Verdict::Good)) { (t!("Good site")) }
                button.button name="vote" value="-1" aria-pressed=(pressed(Verdict::Bad)) { (t!("Bad site")) }
                @if mine.is_some() {
                    button.button.plain name="vote" value="0" { (t!("Take back my vote")) }
                }
            }
        } @else {
            p { a.action href=(login_to(Some(LoginReason::Vote), &frame.way_back)) { (t!("Log in to vote on this site")) } }
        }
    }
}

/// The votes on a host in numbers.
fn facts(totals: VoteTotals) -> Markup {
    html! {
        dl.facts {
            div { dt { (t!("good votes")) } dd { (number(totals.good())) } }
            div { dt { (t!("bad votes")) } dd { (number(totals.bad())) } }
            div { dt { (t!("sum")) } dd { (signed(totals.sum)) } }
            div { dt { (t!("votes")) } dd { (number(totals.count)) } }
        }
    }
}

/// A sum with its sign.
fn signed(sum: i64) -> String {
    format!("{}{}", if sum > 0 { "+" } else { "" }, numbers::number(sum))
}

/// A score in words.
fn standing(score: Score) -> &'static str {
    match score {
        Score::Good => t!("People here trust this site."),
        Score::Bad => t!("People here distrust this site."),
        Score::Controversial => t!("Opinion on this site is divided."),
        Score::NoScore => t!("Not enough votes yet."),
    }
}

/// Why there is no score, if the votes are of too few networks.
fn too_few_networks(shortage: Shortage) -> Phrase<'static> {
    n!(
        shortage.networks,
        "People on {count} network have voted so far. A score needs votes from {networks} networks or {accounts} accounts.",
        "People on {count} networks have voted so far. A score needs votes from {networks} networks or {accounts} accounts.",
        networks = shortage.needed,
        accounts = SITE_SCORE_ACCOUNTS,
    )
}

/// The page of a site.
fn site_markup(
    frame: &Frame<'_>,
    (host, page): (&Hostname, &site_page::SitePage),
    reader: Option<&Reader>,
    just_hidden: Option<&JustHidden>,
) -> Markup {
    let history = &page.history;
    let totals = history.votes.totals;
    let bare = host.bare();
    let content = html! {
        h1 { (host) " " (site_badge(history.score)) }
        p {
            (standing(history.score))
            @if let Some(shortage) = history.shortage.filter(|_| totals.count > 0) {
                " " (too_few_networks(shortage))
            }
        }
        (vote_form(frame, host, page.my_vote))
        (facts(totals))
        (votes_per_day(&history.days))
        h2 #stories { (t!("Stories from this site")) }
        @if let Some(reader) = reader { (site_form(frame, host, reader)) }
        (search_within(frame, &t!("Search stories from {site}", site = bare.as_str()).to_string(), ("stories", &format!("site:{bare}"))))
        @if let Some(hidden) = just_hidden { (hidden.render(frame)) }
        @if page.news.lines.is_empty() && page.news.unlisted > 0 {
            p.empty { (t!("You have hidden or muted all stories on this page.")) }
        } @else if page.news.lines.is_empty() {
            (empty_but(t!("No stories from this site yet."), ("/submit", t!("Submit one"))))
        } @else {
            (news_list(frame, &page.news.lines, 0))
        }
        (unlisted_note(frame, page.news.unlisted, Kind::Story))
        (paging(&|start| stories_address(host, start), 0, (SITE_NEWS, SITE_NEWS), page.news.total))
    };
    let description = t!(
        "How people on {site} rate {host}, and its stories. {standing}",
        site = &frame.site().name,
        host = host.as_str(),
        standing = standing(history.score),
    );
    let head = PageHead::of(site_address(host)).about(PageKind::Website, description.to_string());
    let head = head.feeds([FeedKind::Site(host.clone())]);
    frame.page_with(host.as_str(), &head, &content)
}

/// GET /site/:host.
pub async fn site(PathOf(host): PathOf<String>, page: Page) -> Result<Response> {
    let asked = Hostname::parse(&host).map_err(|_| RequestError::NotFound)?;
    let host = asked.bare();
    if asked != host {
        return Ok(Redirect::to(&site_address(&host)).into_response());
    }
    if !page.app.site.rules.features.sites {
        return stories_from(page, (&host, 0)).await;
    }
    let Page { app, mut visit, here, .. } = page;
    let page = site_page::site_page(&mut visit, &host, SITE_DAYS, SITE_NEWS).await?;
    let just_hidden = JustHidden::read(&mut visit, &here).await?;
    let reader = visit.reader().await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(site_markup(&frame, (&host, &page), reader.as_deref(), just_hidden.as_ref()).into_response())
}

fn stories_address(host: &Hostname, start: u64) -> String {
    format!("{}/stories/{start}", site_address(host))
}

/// GET /site/:host/stories/:start: the stories that link to a site.
pub async fn stories(PathOf((host, Start(start))): PathOf<(String, Start)>, page: Page) -> Result<Response> {
    let asked = Hostname::parse(&host).map_err(|_| RequestError::NotFound)?;
    let host = asked.bare();
    if asked != host {
        return Ok(Redirect::to(&stories_address(&host, start)).into_response());
    }
    stories_from(page, (&host, start)).await
}

async fn stories_from(mut page: Page, (host, start): (&Hostname, u64)) -> Result<Response> {
    let stories = lists::from_host(&mut page.visit, host, start, SITE_NEWS).await?;
    let heading = t!("Stories from {site}", site = host.as_str()).to_string();
    let (first, more) = (stories_address(host, 0), format!("{}/stories/", site_address(host)));
    let address = ListAddress { first: &first, more: &more, size: SITE_NEWS };
    let list = NewsListPage {
        before: html! {
            @if page.app.site.rules.features.sites {
                p { a.action href=(site_address(host)) { (t!("Votes on this site")) } }
            }
        },
        empty: (t!("No stories from this site yet."), ("/submit", t!("Submit one"))),
        feed: Some(FeedKind::Site(host.clone())),
        ..NewsListPage::new(&heading, &stories, start, address)
    };
    Ok(list_page(&mut page, list).await?.into_response())
}

/// The actions on the page of a site.
pub fn actions() -> Vec<ActionEntry> {
    const PATH: &str = "/votesite";
    const SUMMARY: &Message = m!("Vote on a site, change the vote, or take it back with 0.");
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

    #[test]
    fn a_site_is_looked_up_by_name_and_by_address() {
        for sought in ["a.com", " A.com ", "https://a.com/page?x=1"] {
            assert_eq!(find_host(sought).unwrap().as_str(), "a.com", "{sought:?}");
        }
        assert!(find_host("http://localhost/").unwrap_err().given() == "localhost");
    }
}
