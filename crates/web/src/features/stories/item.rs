//! A story as lists and its own page show it.

use super::marks::{mark_buttons, marks_form};
use crate::limits::{LISTED_STORY_BYTES, STORY_CACHE_BYTES};
use crate::markup::addresses::{news_address, topic_link};
use crate::markup::fragments::{
    ContentPlaceholder, DerivedKey, Fragment, LinkTarget, Slots, placeholders, written,
};
use crate::markup::frame::Frame;
use crate::markup::parts::{age_as, ago, author, news_anchor, number, title_link, titled_link, vote_counts};
use crate::markup::vote_buttons::{NO_BUTTONS, VoteTarget, vote_buttons};
use crate::markup::withheld::{insider_notice, show_link, title_stand_in};
use maud::{Markup, Render, html};
use std::sync::LazyLock;
use tidings_domain::accounts::reader::Sight;
use tidings_domain::news::item::News;
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::news::listing::Marks;
use tidings_domain::values::ids::NewsId;
use tidings_domain::values::size;
use tidings_domain::values::words::counted;

/// The votes on a story as an article.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// The votes that count.
    pub votes: i64,
    /// Whether further votes count.
    pub is_open: bool,
}

impl Render for Standing {
    fn render(&self) -> Markup {
        let counted = self.is_open.then_some("up");
        let word = if self.votes == 1 { " vote" } else { " votes" };
        html! { span { span data-count=[counted] { (number(self.votes)) } (word) } }
    }
}

placeholders! {
    /// The parts of a listed story that depend on the viewer or the time.
    pub enum StoryPlaceholder {
        /// The votes: up and down, or those that count for an article.
        Votes,
        /// How old it is.
        Age,
        /// A link to the comments that are new for the viewer.
        NewComments,
        /// Links to the actions that the viewer may take.
        Links,
    }
}

tidings_domain::cache_kind! {
    /// The markup of listed stories.
    struct StoryFragments: DerivedKey => Fragment<StoryPlaceholder>, "story_fragments", STORY_CACHE_BYTES,
        |_, fragment| fragment.size();
}

/// The title of a story and the line below it: votes (up and down, or those that count for an
/// article), author, age, comments, topics, links to edit and delete.
fn listed_story(frame: &Frame<'_>, line: &NewsLine, standing: Option<Standing>) -> impl Render {
    written(move |html| {
        let fill = story_filling(frame, line, standing, None);
        let fragment = frame.derived::<StoryFragments, _>(&line.summary, |summary, links| {
            Fragment::new(|slots| listed_story_markup(summary, links, slots))
        });
        match fragment {
            Some(fragment) => fragment.fill(html, fill),
            None => listed_story_markup(&line.summary, frame.link_target(), &Slots::filled_by(&fill))
                .render_to(html),
        }
    })
}

/// Like `listed_story`, for the head of the story's own page, which has more `words` for what can be done. The page of a story that is not
/// shown has no forms; what its reader has hidden or saved can be changed on the lists of those.
pub fn leading_story(frame: &Frame<'_>, line: &NewsLine, words: &Markup) -> Markup {
    // The page itself says what is new.
    let mut shown = NewsLine { new_comments: 0, ..line.clone() };
    let stand_in = title_stand_in(line.marks.sight, &line.news);
    let is_shown = stand_in.is_none();
    if !is_shown {
        shown.marks = Marks::default();
    }
    let fill = story_filling(frame, &shown, None, is_shown.then_some(words));
    let links = frame.link_target();
    let title = html! {
        h1 dir="auto" {
            @match &stand_in {
                Some(text) => {
                    span.gone { (text) }
                    @if let Sight::Collapsed(why) = line.marks.sight { (show_link(frame, why, "")) }
                }
                None => { (title_link(links, &line.news, line.site_score)) }
            }
        }
    };
    html! {
        (story_markup(&line.summary, &title, &Slots::filled_by(&fill)))
        @if is_shown {
            (insider_notice(line.news.withheld.as_ref()))
            (marks_form(frame))
        }
    }
}

fn listed_story_markup(
    summary: &NewsSummary,
    links: LinkTarget,
    slots: &Slots<'_, StoryPlaceholder>,
) -> Markup {
    let title = html! { h2 dir="auto" { (title_link(links, &summary.news, summary.site_score)) } };
    story_markup(summary, &title, slots)
}

fn story_markup(summary: &NewsSummary, title: &Markup, slots: &Slots<'_, StoryPlaceholder>) -> Markup {
    let NewsSummary { news, username, .. } = summary;
    html! {
        (title)
        @for topic in &news.topics { " " (topic_link(topic)) }
        div.meta {
            (slots.at(StoryPlaceholder::Votes)) " · "
            (author(username.as_deref())) " · "
            (age_as(news.ctime, slots.at(StoryPlaceholder::Age))) " · "
            a.discuss href=(news_address(news.id)) {
                @if news.comments == 0 { "discuss" } @else { (counted(news.comments, "comment", "comments")) }
            }
            (slots.at(StoryPlaceholder::NewComments))
            (slots.at(StoryPlaceholder::Links))
        }
    }
}

/// The beginning of the viewer's actions on a story. Wide pages show them when the story has the pointer or
/// the focus, others in a menu.
const TOOLS: &str = r#" <details class="row-tools"><summary aria-label="More actions">…</summary>"#;

/// The function that fills the placeholders of a story.
fn story_filling(
    frame: &Frame<'_>,
    line: &NewsLine,
    standing: Option<Standing>,
    words: Option<&Markup>,
) -> impl Fn(StoryPlaceholder, &mut String) {
    let news = &line.news;
    move |placeholder, html| match (placeholder, &standing) {
        (StoryPlaceholder::Votes, Some(standing)) => standing.render_to(html),
        (StoryPlaceholder::Votes, None) => {
            let [up, down] = news.votes();
            vote_counts(up, down).render_to(html);
        }
        (StoryPlaceholder::Age, _) => ago(frame.now, news.ctime).render_to(html),
        (StoryPlaceholder::NewComments, _) => new_comments_link(line).render_to(html),
        (StoryPlaceholder::Links, _) => {
            let start = html.len();
            html.push_str(TOOLS);
            let empty = html.len();
            news_links(frame, news).render_to(html);
            mark_buttons(frame, line).render_to(html);
            if let Some(words) = words {
                words.render_to(html);
            }
            if html.len() == empty {
                html.truncate(start);
            } else {
                html.push_str("</details>");
            }
        }
    }
}

/// How many comments are new for the viewer, as a link to the page that names the first one.
fn new_comments_link(line: &NewsLine) -> impl Render {
    let (news, count) = (line.news.id, line.new_comments);
    written(move |html| {
        if count > 0 {
            let link = html! {
                " " a.new-count href={ (news_address(news)) "#new" } {
                    (number(count)) " new" span.hidden { (if count == 1 { " comment" } else { " comments" }) }
                }
            };
            link.render_to(html);
        }
    })
}

/// The links to the actions that the viewer may take.
fn news_links(frame: &Frame<'_>, news: &News) -> impl Render {
    let window = frame.rules.limits.news_edit_seconds;
    let may_change = frame.viewer.is_some_and(|viewer| news.may_change(viewer, frame.now, window).is_ok());
    written(move |html| {
        if may_change {
            let links = html! {
                " " a href={ "/editnews/" (news.id) } { "edit" }
                " " a href={ "/delnews/" (news.id) } { "delete" }
            };
            links.render_to(html);
        }
    })
}

/// The mark of a story that is pinned.
const PINNED: &str = r#"<span class="pinned">Pinned</span> "#;
/// The usual size of a story in a list, in bytes.
const USUAL_STORY_BYTES: usize = 2_000;

/// A list of stories, numbered from `start` + 1. On the front page, those that are pinned have no number.
pub fn news_list(frame: &Frame<'_>, lines: &[NewsLine], start: u64) -> impl Render {
    static LIST: LazyLock<Fragment<ContentPlaceholder>> = LazyLock::new(|| {
        Fragment::new(|slots| html! { ol.news role="list" { (slots.at(ContentPlaceholder::Content)) } })
    });
    written(move |html| {
        html.reserve(lines.len() * USUAL_STORY_BYTES);
        marks_form(frame).render_to(html);
        LIST.fill(html, |ContentPlaceholder::Content, html| {
            let pinned: &[NewsId] =
                if frame.here.path() == "/" { frame.brand.announcement.pinned(frame.now) } else { &[] };
            let (pinned, others): (Vec<_>, Vec<_>) =
                lines.iter().partition(|line| pinned.contains(&line.news.id));
            for line in pinned {
                news_item(frame, None, line, None).render_to(html);
            }
            for (number, line) in (start + 1..).zip(others) {
                news_item(frame, Some(number), line, None).render_to(html);
            }
        });
    })
}

/// A story in a list, with its number; `None` if it is pinned.
pub fn news_item(
    frame: &Frame<'_>,
    number: Option<u64>,
    line: &NewsLine,
    standing: Option<Standing>,
) -> impl Render {
    placeholders! {
        enum NewsItemPart {
            Anchor,
            Number,
            Buttons,
            Story,
        }
    }
    static ITEM: LazyLock<Fragment<NewsItemPart>> = LazyLock::new(|| {
        Fragment::new(|slots| {
            html! {
                li.item #(slots.at(NewsItemPart::Anchor)) data-item {
                    span.rank aria-hidden="true" { (slots.at(NewsItemPart::Number)) }
                    (slots.at(NewsItemPart::Buttons))
                    div.story { (slots.at(NewsItemPart::Story)) }
                }
            }
        })
    });
    written(move |html| {
        let anchor = news_anchor(line.news.id);
        ITEM.fill(html, |placeholder, html| match placeholder {
            NewsItemPart::Anchor => anchor.render_to(html),
            NewsItemPart::Number => number.iter().for_each(|number| number.render_to(html)),
            NewsItemPart::Buttons => news_buttons(frame, line, anchor).render_to(html),
            NewsItemPart::Story => {
                if number.is_none() {
                    html.push_str(PINNED);
                }
                listed_story(frame, line, standing).render_to(html);
            }
        });
    })
}

/// A story that a search has found, with its title as given.
pub fn found_story<'a>(
    frame: &'a Frame<'_>,
    number: usize,
    line: &'a NewsLine,
    title: &'a Markup,
) -> impl Render + 'a {
    written(move |html| {
        let anchor = news_anchor(line.news.id);
        let fill = story_filling(frame, line, None, None);
        let heading = html! { h2 dir="auto" { (titled_link(frame.link_target(), &line.news, line.site_score, title)) } };
        let row = html! {
            div.item #(anchor) data-item {
                span.rank aria-hidden="true" { (number) }
                (news_buttons(frame, line, anchor))
                div.story { (story_markup(&line.summary, &heading, &Slots::filled_by(&fill))) }
            }
        };
        row.render_to(html);
    })
}

/// The most bytes of a story that a search has found: each letter of its title may be marked.
#[must_use]
pub fn found_story_bytes(line: &NewsLine) -> usize {
    listed_story_bytes(line) + line.news.title.len() * "<mark></mark>".len() + FOUND_EXCERPT_BYTES
}

/// The most bytes of an excerpt of 200 characters.
const FOUND_EXCERPT_BYTES: usize = 5_000;

/// The vote buttons of a story, or an empty element if the story is gone or not shown.
pub fn news_buttons<'a>(
    frame: &'a Frame<'_>,
    line: &'a NewsLine,
    anchor: impl Render + Copy + 'a,
) -> impl Render + 'a {
    written(move |html| {
        if line.news.is_gone() || !line.marks.sight.is_shown() {
            NO_BUTTONS.render_to(html);
        } else {
            vote_buttons(frame, VoteTarget::News(&line.news), line.my_vote, anchor).render_to(html);
        }
    })
}

/// The most bytes of a story in a list.
#[must_use]
pub fn listed_story_bytes(line: &NewsLine) -> usize {
    let news = &line.news;
    // Blanks in an address are encoded, which triples them.
    let url = news.link().map_or(0, |_| size::escaped_bytes(&news.url) + 2 * news.url.len());
    LISTED_STORY_BYTES + size::escaped_bytes(&news.title) + url
}
