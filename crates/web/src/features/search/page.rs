//! The page of a search.

use super::searching::{Asked, NoResults, Results, find};
use crate::error::{RequestError, Result, inputs};
use crate::features::stories::item::found_story;
use crate::features::timelines::tweets::tweet_list;
use crate::limits::{SEARCH_PAGES, SEARCH_RESULTS};
use crate::markup::addresses::{comment_address, profile_address, site_address};
use crate::markup::parts::{age, author, no_more, number, tabs};
use crate::markup::{FeedKind, Frame, Page, PageHead};
use crate::request::{ClientAddress, Fields, FromFields, cookies};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::net::IpAddr;
use std::ops::Range;
use std::time::Instant;
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};
use tidings_domain::found::Finding;
use tidings_language::lists::enumerated;
use tidings_language::numbers::decimal;
use tidings_language::{Argument, Message, Phrase, m, n, p, t};
use tidings_search::asking::{Hit, Relevance, Sort};
use tidings_search::excerpts::Matcher;
use tidings_search::index::Kind;
use tidings_search::language::MAX_CHARACTERS;

/// The kind of things that a search is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumString, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Wanted {
    /// Stories.
    #[default]
    Stories,
    /// Comments.
    Comments,
    /// Posts.
    Posts,
    /// People.
    People,
    /// Sites.
    Sites,
    /// Everything.
    All,
}

impl Wanted {
    /// The kind to look for; `None` for all.
    pub const fn kind(self) -> Option<Kind> {
        match self {
            Self::Stories => Some(Kind::Story),
            Self::Comments => Some(Kind::Comment),
            Self::Posts => Some(Kind::Post),
            Self::People => Some(Kind::Person),
            Self::Sites => Some(Kind::Site),
            Self::All => None,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Stories => t!("Stories"),
            Self::Comments => t!("Comments"),
            Self::Posts => t!("Posts"),
            Self::People => t!("People"),
            Self::Sites => t!("Sites"),
            Self::All => t!("tab" => "All"),
        }
    }

    /// So many of this kind.
    fn counted(self, count: u64) -> Phrase<'static> {
        match self {
            Self::Stories => n!(count, "{count} story", "{count} stories"),
            Self::Comments => n!(count, "{count} comment", "{count} comments"),
            Self::Posts => n!(count, "{count} post", "{count} posts"),
            Self::People => n!(count, "{count} person", "{count} people"),
            Self::Sites => n!(count, "{count} site", "{count} sites"),
            Self::All => n!(count, "{count} result", "{count} results"),
        }
    }

    /// That nothing of this kind was found.
    fn none(self) -> &'static str {
        match self {
            Self::Stories => t!("No stories."),
            Self::Comments => t!("No comments."),
            Self::Posts => t!("No posts."),
            Self::People => t!("No people."),
            Self::Sites => t!("No sites."),
            Self::All => t!("No results."),
        }
    }

    /// The text above results that have some of the words.
    fn partial(self) -> &'static str {
        match self {
            Self::Stories => t!("No story has all of these words. These have some of them:"),
            Self::Comments => t!("No comment has all of these words. These have some of them:"),
            Self::Posts => t!("No post has all of these words. These have some of them:"),
            Self::People => t!("No person has all of these words. These have some of them:"),
            Self::Sites => t!("No site has all of these words. These have some of them:"),
            Self::All => t!("No result has all of these words. These have some of them:"),
        }
    }

    /// The choice that looks for this kind.
    pub fn of(kind: Kind) -> Self {
        Self::iter().find(|wanted| wanted.kind() == Some(kind)).unwrap_or(Self::All)
    }

    /// The name in addresses.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The parameters of a search.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub struct SearchQuery {
    /// The search, at most 200 characters and 16 terms.
    #[cfg_attr(test, param(rename = "q", max_length = 200))]
    pub typed: String,
    /// The kind to find: stories (by default), comments, posts, people, sites or all.
    #[cfg_attr(test, param(rename = "kind", value_type = String, required = false))]
    pub wanted: Wanted,
    /// The order: relevance (by default), new, votes or comments.
    #[cfg_attr(test, param(value_type = String, required = false))]
    pub sort: Sort,
    /// Where to search: `by:alice`, `site:lwn.net` or `topic:rust`; everywhere by default.
    #[cfg_attr(test, param(value_type = String, required = false))]
    pub within: String,
    /// The page, from 1 to 100. A page has 30 results.
    #[cfg_attr(test, param(value_type = u64, required = false, minimum = 1, maximum = 100))]
    pub page: usize,
}

impl FromFields for SearchQuery {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let page = fields.parsed_optional("page", PAGE)?.unwrap_or(1);
        if !(1..=SEARCH_PAGES).contains(&page) {
            return Err(RequestError::field("page", PAGE));
        }
        let within = fields.text("within").to_owned();
        if !within.is_empty() && (place_of(&within).is_none() || within.contains(char::is_whitespace)) {
            return Err(RequestError::field("within", WITHIN));
        }
        Ok(Self {
            typed: fields.text("q").trim().to_owned(),
            within,
            wanted: fields.parsed_optional("kind", KIND)?.unwrap_or_default(),
            sort: fields.parsed_optional("sort", SORT)?.unwrap_or_default(),
            page,
        })
    }
}

const PAGE: &Message = m!("it must be a number from 1 to 100");
const WITHIN: &Message = m!("it must be by:, site: or topic: and a name");
const KIND: &Message = m!("it must be stories, comments, posts, people, sites or all");
const SORT: &Message = m!("it must be relevance, new, votes or comments");

impl SearchQuery {
    /// The search and where it is from.
    pub fn asked(&self, from: IpAddr) -> Asked {
        let typed = format!("{} {}", self.typed, self.within).trim().to_owned();
        Asked { from, typed, kind: self.wanted.kind(), sort: self.sort, page: self.page }
    }

    /// The feed of this search; `None` for people and sites, which have no time.
    pub fn feed(&self) -> Option<FeedKind> {
        let query = &self.typed;
        let heading = match self.wanted {
            Wanted::People | Wanted::Sites => return None,
            Wanted::Stories => t!("Search: {query}", query),
            Wanted::Comments => t!("Search: {query} (comments)", query),
            Wanted::Posts => t!("Search: {query} (posts)", query),
            Wanted::All => t!("Search: {query} (all)", query),
        };
        let query = Self { page: 1, ..self.clone() }.address("");
        Some(FeedKind::Search { heading: heading.into(), query })
    }

    /// Whether it asks for nothing yet.
    fn is_empty(&self) -> bool {
        self.typed.is_empty() && self.within.is_empty()
    }

    /// The address of a page with this search, below `path`.
    pub fn address(&self, path: &str) -> String {
        let mut address = format!("{path}?q={}", utf8_percent_encode(&self.typed, NON_ALPHANUMERIC));
        if !self.within.is_empty() {
            address.push_str(&format!("&within={}", utf8_percent_encode(&self.within, NON_ALPHANUMERIC)));
        }
        // Without a kind, a page shows the one that was asked for last.
        if self.wanted != Wanted::default() || !path.is_empty() {
            address.push_str(&format!("&kind={}", self.wanted.name()));
        }
        if self.sort != Sort::default() {
            address.push_str(&format!("&sort={}", <&str>::from(self.sort)));
        }
        if self.page > 1 {
            address.push_str(&format!("&page={}", self.page));
        }
        address
    }
}

/// GET /search. Without a kind, it shows the one that was asked for last.
pub async fn page(
    Page { app, mut visit, here, .. }: Page,
    ClientAddress(from): ClientAddress,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    let mut query: SearchQuery = fields.read()?;
    let last = cookies::search_kind(&headers);
    let is_kind_asked = fields.get("kind").is_some();
    if !is_kind_asked && query.within.is_empty() {
        query.wanted = last.as_deref().and_then(|kind| kind.parse().ok()).unwrap_or_default();
    }
    let searching = app.searching()?;
    let began = Instant::now();
    let results = match find(&app, &mut visit, &query.asked(from)).await {
        Ok(results) => Ok(results),
        Err(NoResults::TooLong(error)) => Err(error),
        Err(NoResults::Failed(error)) => return Err(error),
    };
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let title = if query.typed.is_empty() {
        p!("noun" => "Search")
    } else {
        p!("Search: {query}", query = &query.typed)
    };
    let title = title.to_string();
    let body = match &results {
        Ok(results) => {
            let mut matcher = searching.answering().matcher(&results.search);
            let seconds = began.elapsed().as_secs_f64();
            shown(&frame, &query, results, &mut matcher, seconds)
        }
        Err(error) => html! { p.error role="alert" { (inputs::search(*error)) } },
    };
    let content = html! {
        h1.hidden { (title) }
        (search_box(&query))
        @if let Some(done) = searching.preparing() {
            @let percent = decimal(done * 100.0, 0);
            p.notice role="status" { (t!("Search is being prepared: {percent}% done.", percent)) }
        }
        (body)
    };
    let feed = query.feed().filter(|_| !query.is_empty() && results.is_ok());
    let head = PageHead::default().with(html! { meta name="robots" content="noindex"; });
    let head = head.feeds(feed);
    let status = if results.is_ok() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let mut response = (status, frame.page_with(&title, &head, &content)).into_response();
    if is_kind_asked && query.within.is_empty() && last.as_deref() != Some(query.wanted.name()) {
        let cookie = cookies::search_kind_cookie(&app, query.wanted.name());
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The box with the search, and the help below it.
fn search_box(query: &SearchQuery) -> Markup {
    html! {
        form.search action="/search" role="search" {
            @let place = place_of(&query.within);
            label.hidden[place.is_none()] for="search-words" { (place.clone().unwrap_or_else(|| p!("noun" => "Search"))) }
            input #search-words type="search" name="q" value=(query.typed) maxlength=(MAX_CHARACTERS) autofocus[query.is_empty()];
            @if place.is_some() { input type="hidden" name="within" value=(query.within); }
            input type="hidden" name="kind" value=(query.wanted.name());
            @if query.sort != Sort::default() { input type="hidden" name="sort" value=(<&str>::from(query.sort)); }
            button.button { (t!("button" => "Search")) }
        }
        @if !query.within.is_empty() {
            p { a.action href=(SearchQuery { within: String::new(), page: 1, ..query.clone() }.address("/search")) { (t!("Search the whole site")) } }
        }
        details.help open[query.is_empty()] {
            summary { (t!("Search tips")) }
            dl {
                @for (example, meaning) in TIPS {
                    dt { code { (example) } }
                    dd { (meaning.text()) }
                }
            }
        }
    }
}

/// The name of a search in some part of the site.
fn place_of(within: &str) -> Option<Phrase<'_>> {
    let (part, name) = within.split_once(':').filter(|(_, name)| !name.is_empty())?;
    match part {
        "by" => Some(t!("Search what {name} wrote", name)),
        "site" => Some(t!("Search stories from {site}", site = name)),
        "topic" => Some(t!("Search stories about {topic}", topic = name)),
        _ => None,
    }
}

/// Examples of the language with what they find.
static TIPS: [(&str, &Message); 10] = [
    ("rust async", m!("both words, in any form")),
    ("\"exact phrase\"", m!("these words in this order")),
    ("rust OR go", m!("one of the words")),
    ("-crypto", m!("without this word")),
    ("data*", m!("a word that begins with data (at most eight such words)")),
    ("title:kernel", m!("this word in the title")),
    ("by:alice", m!("by this person")),
    ("site:lwn.net topic:rust", m!("stories on this topic that link to this site")),
    ("votes:>10 comments:>=5", m!("more than 10 votes and at least 5 comments")),
    ("after:2026-01-01 age:<7d is:ask", m!("questions posted in that time. Also is:show, is:text, is:link")),
];

/// The tabs, the order, and the results.
fn shown(
    frame: &Frame<'_>,
    query: &SearchQuery,
    results: &Results,
    matcher: &mut Matcher,
    seconds: f64,
) -> Markup {
    let searched = !results.search.is_empty();
    html! {
        @for ignored in &results.search.ignored {
            p.notice {
                (t!("{name}: {value}.", name = html! { code { (ignored.part) } }, value = ignored.why.text()))
                @if searched { " " (t!("Searched for the rest.")) }
            }
        }
        @if searched {
            (kinds_and_orders(query, results))
            @if results.found.is_empty() {
                (nothing(frame, query, results, matcher))
            } @else {
                @let time = decimal((seconds * 1000.0).max(1.0), 0);
                @let found = if results.is_exact {
                    n!(results.total, "{count} result in {time} ms", "{count} results in {time} ms", time)
                } else {
                    n!(results.total, "about {count} result in {time} ms", "about {count} results in {time} ms", time)
                };
                p.count role="status" {
                    @if results.is_cut {
                        (t!("{results}. The search took too long, so these are the first results only.", results = found))
                    } @else {
                        (found)
                    }
                }
                p.show-why {
                    label { input type="checkbox" autocomplete="off"; " " (t!("Show why each result is where it is")) }
                    a href="/ranking#search" { (t!("How results are ordered")) }
                }
                (list(frame, (query.page - 1) * SEARCH_RESULTS, &results.found, matcher))
            }
            (pages(query, results))
        }
    }
}

fn kinds_and_orders(query: &SearchQuery, results: &Results) -> Markup {
    let count = |wanted: Wanted| {
        results.kinds.iter().find(|(kind, _)| Some(*kind) == wanted.kind()).map(|(_, count)| *count)
    };
    let kinds = Wanted::iter().map(|wanted| {
        let address = SearchQuery { wanted, page: 1, ..query.clone() }.address("/search");
        let name = html! {
            (wanted.title())
            @if let Some(count) = count(wanted) { " (" (number(count)) ")" }
        };
        (address, name, wanted == query.wanted)
    });
    let orders = orders(query.wanted).map(|(sort, name)| {
        let address = SearchQuery { sort, page: 1, ..query.clone() }.address("/search");
        (address, name, sort == query.sort)
    });
    html! {
        (tabs(t!("What to search"), kinds))
        (tabs(t!("noun" => "Order"), orders))
    }
}

fn nothing(frame: &Frame<'_>, query: &SearchQuery, results: &Results, matcher: &mut Matcher) -> Markup {
    let elsewhere = results.kinds.iter().map(|(kind, count)| (Wanted::of(*kind), *count));
    html! {
        @if query.page > 1 {
            (no_more(t!("No more results."), &SearchQuery { page: 1, ..query.clone() }.address("/search")))
        } @else {
            p.empty role="status" {
                @if results.kinds.is_empty() && results.partial.is_empty() {
                    (t!("Nothing found."))
                } @else {
                    (query.wanted.none())
                    @if !results.kinds.is_empty() {
                        " "
                        (enumerated(elsewhere.map(|(wanted, count)| {
                            let address = SearchQuery { wanted, page: 1, ..query.clone() }.address("/search");
                            html! { a href=(address) { (wanted.counted(count)) } }
                        })))
                    }
                }
            }
            @let suggested = results.suggestions.iter().map(|typed| {
                let address = SearchQuery { typed: typed.clone(), page: 1, ..query.clone() }.address("/search");
                Argument::from(html! { a href=(address) { (typed) } })
            });
            @if let Some(searches) = suggested.reduce(|first, second| t!("{first} or {second}", first, second).into()) {
                p { (t!("Did you mean {searches}?", searches)) }
            }
            @if !results.partial.is_empty() {
                p { (query.wanted.partial()) }
                (list(frame, 0, &results.partial, matcher))
            }
        }
    }
}

/// All results of a page. They fit, because each shows an excerpt of its text.
fn list(frame: &Frame<'_>, before: usize, found: &[(Hit, Finding)], matcher: &mut Matcher) -> Markup {
    let rows = found.iter().zip(before + 1..).map(|((hit, finding), place)| {
        html! {
            (row(frame, place, finding, matcher))
            (why(&hit.relevance))
        }
    });
    html! {
        ol.news.results role="list" { @for row in rows { li { (row) } } }
    }
}

/// The orders of results. Comments have no comments.
fn orders(wanted: Wanted) -> impl Iterator<Item = (Sort, &'static str)> {
    let all = [
        (Sort::Relevance, t!("Best match")),
        (Sort::New, t!("order" => "New")),
        (Sort::Votes, t!("order" => "Votes")),
        (Sort::Comments, t!("Most comments")),
    ];
    all.into_iter().filter(move |(sort, _)| *sort != Sort::Comments || wanted != Wanted::Comments)
}

fn row(frame: &Frame<'_>, place: usize, finding: &Finding, matcher: &mut Matcher) -> Markup {
    match finding {
        Finding::Story(line) => {
            let title = marked(&line.news.title, &matcher.marks(&line.news.title));
            let excerpt = line.news.text().and_then(|text| matcher.excerpt(text));
            html! {
                (found_story(frame, place, line, &title))
                @if let Some(excerpt) = excerpt { p.excerpt dir="auto" { (marked(&excerpt.text, &excerpt.marks)) } }
            }
        }
        Finding::Comment(comment) => {
            let excerpt = matcher.excerpt_or_beginning(comment.line().body());
            html! {
                p.about-what { (t!("A comment on {title}", title = html! { a href=(comment_address(comment.address())) { (comment.news.title) } })) }
                p.excerpt dir="auto" { (marked(&excerpt.text, &excerpt.marks)) }
                p.meta {
                    (t!(
                        "{link} by {author}",
                        link = html! { a href=(comment_address(comment.address())) { (t!("Go to the comment")) } },
                        author = author(comment.line().username),
                    ))
                    " · " (age(frame, comment.line().comment.ctime))
                }
            }
        }
        Finding::Tweet(line) => html! { (tweet_list(frame, std::slice::from_ref(line))) },
        Finding::Person(user) => {
            let excerpt = matcher.excerpt(&user.about);
            html! {
                p { a href=(profile_address(&user.username, "")) { (marked(&user.username, &matcher.marks(&user.username))) } " " (user.fullname) }
                @if let Some(excerpt) = excerpt { p.excerpt dir="auto" { (marked(&excerpt.text, &excerpt.marks)) } }
            }
        }
        Finding::Site(host) => html! { p { a href=(site_address(host)) { (**host) } } },
    }
}

/// A text with the words that were looked for.
fn marked(text: &str, marks: &[Range<usize>]) -> Markup {
    let ends = std::iter::once(0).chain(marks.iter().map(|mark| mark.end));
    html! {
        @for (mark, end) in marks.iter().zip(ends) {
            (text[end..mark.start]) mark { (text[mark.clone()]) }
        }
        (text[marks.last().map_or(0, |mark| mark.end)..])
    }
}

/// Why a result is where it is.
fn why(relevance: &Relevance) -> Markup {
    let sum = t!(
        "Text {text} × votes {votes} × age {age} = {score}",
        text = decimal(relevance.text, 1),
        votes = decimal(relevance.votes, 2),
        age = decimal(relevance.age, 2),
        score = decimal(relevance.score(), 1),
    );
    html! {
        p.why {
            @if relevance.is_title {
                (t!("{sum}, first because the title has every word", sum))
            } @else {
                (sum)
            }
        }
    }
}

fn pages(query: &SearchQuery, results: &Results) -> Markup {
    let ends = query.page * SEARCH_RESULTS;
    let has_more = (ends as u64) < results.total && query.page < SEARCH_PAGES;
    html! {
        @if query.page > 1 || has_more {
            nav.more aria-label=(t!("Pages")) {
                @if query.page > 1 {
                    a href=(SearchQuery { page: query.page - 1, ..query.clone() }.address("/search")) rel="prev" { (t!("page" => "previous")) } " "
                }
                @if has_more {
                    a href=(SearchQuery { page: query.page + 1, ..query.clone() }.address("/search")) rel="next" { (t!("page" => "more")) }
                }
            }
        }
    }
}
