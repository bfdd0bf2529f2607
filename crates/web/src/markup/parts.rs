//! Parts that several pages share: ages, vote counts, authors, stories in lists.

use super::addresses::{ABOUT_TRUST, news_address, profile_address, site_address};
use super::dates::{ago, moment};
use super::fragments::{LinkTarget, written};
use super::frame::Frame;
use crate::limits::PAGE_ROWS;
use maud::{Markup, Render, html};
use tidings_domain::News;
use tidings_domain::accounts::trust;
use tidings_domain::articles::lists::PageNumber;
use tidings_domain::sites::Score;
use tidings_domain::values::words::grouped_signed;
use tidings_domain::values::{MAX_LINKS_OF_NEW, NewsId, Timestamp};
use tidings_language::{Argument, Phrase, n, t};

/// The `rel` attribute of links in user content.
pub const OUTSIDE: &str = "nofollow ugc noopener";

/// Stands for the name of a deactivated account, for programs. No username has brackets.
pub const DELETED_USER: &str = "[deleted user]";

/// The same for people.
pub fn deleted_user() -> &'static str {
    t!("[deleted user]")
}

/// The age of something in words, with the exact time as an attribute. The script shows that as a tooltip.
pub fn age(frame: &Frame<'_>, time: Timestamp) -> Markup {
    age_as(time, ago(frame.now, time))
}

/// Like [`age`], with a given text.
pub fn age_as(time: Timestamp, text: impl Render) -> Markup {
    html! { time datetime=(moment(time)) { (text) } }
}

/// The author's name as a link to the profile.
pub fn author(username: Option<&str>) -> Markup {
    html! {
        @match username {
            Some(name) => { a.author href=(profile_address(name, "")) { (name) } }
            None => { span { (deleted_user()) } }
        }
    }
}

/// A number with thousands separators.
pub fn number(number: impl TryInto<i64>) -> impl Render + Copy {
    let number = number.try_into().unwrap_or(i64::MAX);
    written(move |html| match number {
        -999..=999 => number.render_to(html),
        _ => html.push_str(&grouped_signed(number)),
    })
}

/// How many votes up, as "12 votes", and how many down if there are any. The script changes both.
pub fn vote_counts(up: impl TryInto<i64>, down: impl TryInto<i64>) -> impl Render {
    let [up, down] = [up.try_into().unwrap_or(i64::MAX), down.try_into().unwrap_or(i64::MAX)];
    written(move |html| {
        html.push_str(VOTES);
        votes_up(up, count("up", up)).render_to(html);
        html.push_str(VOTES_END);
        if down > 0 {
            html.push_str(" · ");
            html.push_str(VOTES);
            votes_down(down, count("down", down)).render_to(html);
            html.push_str(VOTES_END);
        }
    })
}

const VOTES: &str = r#"<span class="votes">"#;
const VOTES_END: &str = "</span>";

/// A number that the script counts up and down.
fn count(name: &str, votes: i64) -> Markup {
    html! { span data-count=(name) { (number(votes)) } }
}

/// So many votes up, with the number as it is to be shown.
pub fn votes_up<'a>(votes: i64, number: impl Into<Argument<'a>>) -> Phrase<'a> {
    n!(votes, "{number} vote", "{number} votes", number)
}

/// So many votes down, with the number as it is to be shown.
pub fn votes_down<'a>(votes: i64, number: impl Into<Argument<'a>>) -> Phrase<'a> {
    n!(votes, "{number} down", "{number} down", number)
}

/// The title of a story as a link, with its site and the score of the site.
pub fn title_link(links: LinkTarget, news: &News, score: Score) -> Markup {
    titled_link(links, news, score, &html! { (news.title) })
}

/// The same with another markup of the title.
pub fn titled_link(links: LinkTarget, news: &News, score: Score, title: &Markup) -> Markup {
    html! {
        @if news.deleted {
            span.gone { (deleted_title(news)) }
        } @else if let Some((link, address)) = news.link().zip(news.link_address()) {
            a href=(address) rel=(OUTSIDE) target=[links.attribute()] data-open { (title) }
            " "
            @match &link.site {
                Some(site) => {
                    span.host { "(" a.host href=(site_address(site)) { (site.bare()) } ")" }
                    @if let Some(words) = site_words(score) { " " a.host href=(site_address(site)) { (words) } }
                }
                None => { span.host { "(" (link.host) ")" } }
            }
        } @else {
            a href=(news_address(news.id)) data-open { (title) }
        }
    }
}

/// The colour of a score of a site, and the score in a word; nothing without enough votes.
fn score_words(score: Score) -> Option<(&'static str, &'static str)> {
    match score {
        Score::Good => Some(("good", t!("score of a site" => "good"))),
        Score::Bad => Some(("bad", t!("score of a site" => "distrusted"))),
        Score::Controversial => Some(("mixed", t!("score of a site" => "controversial"))),
        Score::NoScore => None,
    }
}

/// A site with its score, behind its name.
fn site_words(score: Score) -> Option<&'static str> {
    match score {
        Score::Good => Some(t!("good site")),
        Score::Bad => Some(t!("distrusted site")),
        Score::Controversial => Some(t!("controversial site")),
        Score::NoScore => None,
    }
}

/// The score of a site in a word.
pub fn site_badge(score: Score) -> Markup {
    html! {
        @if let Some((class, word)) = score_words(score) {
            span class={ "site-score " (class) } { span.hidden { (t!("site:")) " " } (word) }
        }
    }
}

/// The text for an empty page of a list: on a later page, that there is no more, with the address of the first page; or else
/// that there is nothing, with a link to the first step.
pub fn empty_page(later: Option<(&str, &str)>, text: &str, step: (&str, &str)) -> Markup {
    later
        .map_or_else(|| empty_but(text, step), |(no_more_here, first_page)| no_more(no_more_here, first_page))
}

/// The text for a page after the last one of a list, such as "No more stories."
pub fn no_more(text: &str, first_page: &str) -> Markup {
    empty_but(text, (first_page, t!("Go to the first page")))
}

/// The text for an empty list, with a link to the first step.
pub fn empty_but(text: &str, (address, step): (&str, &str)) -> Markup {
    html! { p.empty { (t!("{text} {step}.", text, step = html! { a href=(address) { (step) } })) } }
}

/// The links to the pages of a list of articles before and after this one, with or without
/// what the viewer has hidden.
pub fn page_links(list: &str, page: PageNumber, total: u64, shows_hidden: bool) -> Markup {
    let hidden = if shows_hidden { "&hidden=1" } else { "" };
    let part = page.of(PAGE_ROWS);
    let (number, has_more) = (page.get(), part.start.saturating_add(part.count) < total);
    let address = |number: u64| format!("{list}?page={number}{hidden}");
    before_and_after((number > 1).then(|| address(number - 1)), has_more.then(|| address(number + 1)))
}

/// The links to the pages of a list before and after this one. `address` is that of the page
/// that begins at a position, `size` the number of entries on a full page, `shown` how many of
/// them fit on this one.
pub fn paging(address: &dyn Fn(u64) -> String, start: u64, (size, shown): (u64, u64), total: u64) -> Markup {
    let next = start.saturating_add(shown);
    let back = (start > 0).then(|| address(start.saturating_sub(size)));
    before_and_after(back, (next < total).then(|| address(next)))
}

fn before_and_after(back: Option<String>, more: Option<String>) -> Markup {
    html! {
        @if back.is_some() || more.is_some() {
            nav.more aria-label=(t!("Pages")) {
                @if let Some(address) = back { a href=(address) rel="prev" { (t!("page" => "back")) } }
                @if let Some(address) = more { a href=(address) rel="next" { (t!("page" => "more")) } }
            }
        }
    }
}

/// A form with one small button that comes back to the page, with these hidden fields.
pub fn small_form(frame: &Frame<'_>, action: &str, fields: &[(&str, &str)], label: impl Render) -> Markup {
    let fields = [fields, &[("next", &frame.way_back)]].concat();
    ButtonForm { class: "", action, fields: &fields, button: SMALL_BUTTON }.render(frame, label)
}

/// The classes of a small button that is not the main one.
pub const SMALL_BUTTON: &str = "button small quiet";

/// A form with one button.
pub struct ButtonForm<'a> {
    /// The classes of the form.
    pub class: &'a str,
    /// Where it is sent.
    pub action: &'a str,
    /// The names and values of its hidden fields.
    pub fields: &'a [(&'a str, &'a str)],
    /// The classes of the button.
    pub button: &'a str,
}

impl ButtonForm<'_> {
    /// The form, with a label for its button.
    pub fn render(&self, frame: &Frame<'_>, label: impl Render) -> Markup {
        html! {
            form class=[(!self.class.is_empty()).then_some(self.class)] method="post" action=(self.action) {
                (frame.signed_fields())
                @for (name, value) in self.fields { input type="hidden" name=(name) value=(value); }
                button class=(self.button) { (label) }
            }
        }
    }
}

/// The label of a button, with more words for screen readers: they say what the button is about.
pub fn label_of(label: &str, more: impl Render) -> Markup {
    html! { (label) span.hidden { " " (more) } }
}

/// A row of tabs: the address and the name of each, and whether the viewer is there.
pub fn tabs(
    label: impl Render,
    tabs: impl IntoIterator<Item = (impl AsRef<str>, impl Render, bool)>,
) -> Markup {
    html! {
        nav.tabs aria-label=(label) {
            ul { @for (address, name, is_here) in tabs { (tab(address.as_ref(), name, is_here)) } }
        }
    }
}

/// A link in a row of tabs. `is_here` says that the viewer is there.
pub fn tab(address: &str, name: impl Render, is_here: bool) -> Markup {
    html! { li { (here_or_link(address, name, is_here)) } }
}

/// A link, which leads nowhere on its own page.
pub fn here_or_link(address: &str, name: impl Render, is_here: bool) -> Markup {
    html! {
        @if is_here { a aria-current="page" { (name) } } @else { a href=(address) { (name) } }
    }
}

/// A column of a table, with its heading.
pub enum Column<'a> {
    /// A column of words.
    Words(&'a str),
    /// A column of numbers.
    Numbers(&'a str),
}

/// A table that scrolls by itself.
pub fn table(label: &str, columns: &[Column<'_>], rows: &Markup) -> Markup {
    table_of_class("scroll", label, columns, rows)
}

/// One that is wider than the text.
pub fn wide_table(label: &str, columns: &[Column<'_>], rows: &Markup) -> Markup {
    table_of_class("scroll wide", label, columns, rows)
}

fn table_of_class(class: &str, label: &str, columns: &[Column<'_>], rows: &Markup) -> Markup {
    html! {
        div class=(class) tabindex="0" role="region" aria-label=(label) {
            table {
                thead {
                    tr {
                        @for column in columns {
                            @match column {
                                Column::Words(heading) => th scope="col" { (heading) },
                                Column::Numbers(heading) => th.number scope="col" { (heading) },
                            }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

/// The link to the next page of a list, if there is one.
pub fn more_link(next: Option<String>) -> Markup {
    before_and_after(None, next)
}

/// How many items, from the first on, fit into a number of bytes: at least one, if there is
/// one. `cost` is the most bytes that an item takes.
pub fn fitting<T>(items: &[T], bytes: usize, cost: impl Fn(&T) -> usize) -> usize {
    let mut room = bytes;
    let fits = |item: &&T| match room.checked_sub(cost(item)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    items.iter().take_while(fits).count().max(items.len().min(1))
}

/// A search for some kind of things within something: `filter`, such as `by:alice`, goes with what is typed. Nothing if search
/// is off.
pub fn search_within(frame: &Frame<'_>, label: &str, (kind, filter): (&str, &str)) -> Markup {
    html! {
        @if frame.settings.search.is_on {
            form.search.within action="/search" role="search" aria-label=(label) {
                input type="search" name="q" aria-label=(label) placeholder=(label) maxlength="200" autocomplete="off";
                input type="hidden" name="within" value=(filter);
                input type="hidden" name="kind" value=(kind);
                button.button.small.quiet { (t!("button" => "Search")) }
            }
        }
    }
}

/// Whether the viewer is not trusted yet.
pub fn is_new_member(frame: &Frame<'_>) -> bool {
    frame.viewer.is_some_and(|viewer| trust::lacking(&frame.rules.trust, frame.now, viewer).is_some())
}

/// The limit for a new member who writes a text, with a link to the reason. Nothing for others.
pub fn hint_for_new(frame: &Frame<'_>) -> Markup {
    html! {
        @if is_new_member(frame) {
            " · " a href=(ABOUT_TRUST) {
                (n!(MAX_LINKS_OF_NEW, "New members can add {count} link", "New members can add {count} links"))
            }
        }
    }
}

/// The link to the page about trust.
pub fn about_trust() -> Markup {
    html! { a href=(ABOUT_TRUST) { (t!("When accounts are trusted")) } }
}

/// The error message of a form.
pub fn alert(message: &Markup) -> Markup {
    html! { p.alert role="alert" { (message) } }
}

/// The id of the element that shows a story.
pub fn news_anchor(id: NewsId) -> impl Render + Copy {
    written(move |html| {
        html.push_str("news-");
        id.0.render_to(html);
    })
}

/// The text in place of the title of a deleted story.
pub fn deleted_title(news: &News) -> &'static str {
    if news.is_erased() { t!("[erased]") } else { t!("[deleted story]") }
}

/// A page with one form: its heading, which is also its title, the purpose, the target of the form with its fields and its
/// button, and a link to where one goes instead.
pub fn page_with_form(
    frame: &Frame<'_>,
    (heading, about): (&str, &Markup),
    (action, fields): (&str, &Markup),
    (instead, words): (&str, &str),
) -> Markup {
    let content = html! {
        (about)
        form.form.narrow method="post" action=(action) {
            (frame.signed_fields())
            (fields)
        }
        p { a.action href=(instead) { (words) } }
    };
    frame.headed(heading, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_within_a_week_and_then_days() {
        const NOW: u64 = 1_795_478_400;
        for (seconds, text) in [
            (0, "just now"),
            (60, "1 minute ago"),
            (7_199, "1 hour ago"),
            (7_200, "2 hours ago"),
            (86_400 * 7 - 1, "6 days ago"),
            (86_400 * 7, "17 Nov 2026"),
            (86_400 * 800, "15 Sep 2024"),
        ] {
            assert_eq!(ago(Timestamp(NOW), Timestamp(NOW - seconds)).render().into_string(), text);
        }
    }

    #[test]
    fn a_time_out_of_range_becomes_1970() {
        assert_eq!(moment(Timestamp(0)).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(moment(Timestamp(u64::MAX)).to_string(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn votes_down_are_counted_only_where_there_are_any() {
        let counts = |up: i64, down: i64| vote_counts(up, down).render().into_string();
        assert_eq!(
            counts(1_200, 0),
            r#"<span class="votes"><span data-count="up">1,200</span> votes</span>"#
        );
        assert!(
            counts(5, 1)
                .ends_with(r#"</span> · <span class="votes"><span data-count="down">1</span> down</span>"#)
        );
        assert!(!counts(5, -1).contains("down"), "a counter that another program has broken");
    }

    #[test]
    fn pages_of_a_list_link_to_the_previous_and_next_page() {
        let address = |start| format!("/latest/{start}");
        let links = |start, total| paging(&address, start, (100, 100), total).into_string();
        assert_eq!(links(0, 100), "");
        assert!(links(0, 101).contains(r#"href="/latest/100""#) && !links(0, 101).contains("prev"));
        assert!(links(150, 151).contains(r#"href="/latest/50""#) && !links(150, 151).contains("next"));
    }
}
