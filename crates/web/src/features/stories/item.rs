//! A story as lists and its own page show it.

use super::marks::{has_mark_buttons, mark_buttons};
use crate::limits::{LISTED_STORY_BYTES, STORY_CACHE_BYTES};
use crate::markup::Frame;
use crate::markup::addresses::{news_address, topic_link};
use crate::markup::dates::ago;
use crate::markup::fragments::{
    ContentPlaceholder, Fragment, LinkTarget, PartKey, Slots, placeholders, written,
};
use crate::markup::parts::{
    age_as, author, news_anchor, number, title_link, titled_link, vote_counts, votes_up,
};
use crate::markup::vote_buttons::{ButtonPair, NO_BUTTONS, VoteTarget, vote_buttons};
use crate::markup::withheld::{insider_notice, lock_notice, show_link, title_stand_in};
use maud::{Markup, PreEscaped, Render, html};
use std::sync::LazyLock;
use tidings_domain::News;
use tidings_domain::accounts::reader::Sight;
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::news::listing::Marks;
use tidings_domain::values::{NewsId, size};
use tidings_language::{PerLanguage, n, t};

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
        let number = html! { span data-count=[counted] { (number(self.votes)) } };
        html! { span { (votes_up(self.votes, &number)) } }
    }
}

placeholders! {
    /// The parts of a listed story that differ between viewers, lists or times.
    pub enum StoryPlaceholder {
        /// Its number in the list.
        Number,
        /// The mark of one that is pinned.
        Pinned,
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
    struct StoryFragments: PartKey => Fragment<StoryPlaceholder>, "story_fragments", STORY_CACHE_BYTES,
        |_, fragment| fragment.size();
}

/// A story at the head of its own page, which has more `words` for what can be done. The page of a story that is
/// not shown has no forms; what its reader has hidden or saved can be changed on the lists of those.
pub fn leading_story(frame: &Frame<'_>, line: &NewsLine, words: &Markup) -> Markup {
    // The page itself says what is new.
    let mut shown = NewsLine { new_comments: 0, ..line.clone() };
    let stand_in = title_stand_in(line.marks.sight, &line.news);
    let is_shown = stand_in.is_none();
    if !is_shown {
        shown.marks = Marks::default();
    }
    let tools = tools(frame, &shown, is_shown.then_some(words));
    let fill = story_filling(frame, &shown, None, None);
    let links = frame.link_target();
    let title = html! {
        h1 dir="auto" {
            @match &stand_in {
                Some(text) => {
                    span.gone { (text) }
                    @if let Sight::Collapsed(why) = line.marks.sight { (show_link(frame, why, "")) }
                }
                // It is its own page.
                None if line.news.link().is_none() => { (line.news.title) }
                None => { (title_link(links, &line.news, line.site_score)) }
            }
        }
    };
    html! {
        (story_markup(&line.summary, (&title, true), &tools, &Slots::filled_by(&fill)))
        @if is_shown {
            (insider_notice(frame, line.news.user_id, line.news.withheld.as_ref()))
        }
        (lock_notice(&line.news))
    }
}

/// The title of a story and the line below it: votes (up and down, or those that count for an
/// article), author, age, comments, topics, and what the viewer can do. The page of the story does not link to itself.
fn story_markup(
    summary: &NewsSummary,
    (title, is_own_page): (&Markup, bool),
    tools: &dyn Render,
    slots: &Slots<'_, StoryPlaceholder>,
) -> Markup {
    let NewsSummary { news, username, .. } = summary;
    html! {
        (title)
        @if news.locked.is_some() { " " span.tag { (t!("story" => "locked")) } }
        @for topic in &news.topics { " " (topic_link(topic)) }
        div.meta {
            (slots.at(StoryPlaceholder::Votes)) " · "
            (author(username.as_deref())) " · "
            (age_as(news.ctime, slots.at(StoryPlaceholder::Age)))
            @if !is_own_page {
                " · "
                a.discuss href=(news_address(news.id)) {
                    @if news.comments == 0 { (t!("discuss")) }
                    @else { (n!(news.comments, "{count} comment", "{count} comments")) }
                }
            }
            (slots.at(StoryPlaceholder::NewComments))
            (tools)
        }
    }
}

/// The beginning of the viewer's actions on a story. Wide pages show them when the story has the pointer or
/// the focus, others in a menu.
static TOOLS: PerLanguage<String> = PerLanguage::new(|| {
    let summary = html! { summary aria-label=(t!("More actions")) { "…" } };
    format!(" <details class=\"row-tools\">{}", summary.into_string())
});
/// Their end.
const TOOLS_END: &str = "</details>";

/// The viewer's actions on a story, with more `words` on its own page.
fn tools<'a>(frame: &'a Frame<'_>, line: &'a NewsLine, words: Option<&'a Markup>) -> impl Render + 'a {
    written(move |html| {
        let start = html.len();
        html.push_str(&TOOLS);
        let empty = html.len();
        news_links(frame, &line.news).render_to(html);
        if frame.viewer.is_some() && has_mark_buttons(&line.news, line.marks) {
            frame.note_item_button();
            mark_buttons(&line.news, line.marks).render_to(html);
        }
        if let Some(words) = words {
            words.render_to(html);
        }
        if html.len() == empty {
            html.truncate(start);
        } else {
            html.push_str(TOOLS_END);
        }
    })
}

/// The function that fills the placeholders of a story, which has a number in a list, or is pinned.
fn story_filling(
    frame: &Frame<'_>,
    line: &NewsLine,
    standing: Option<Standing>,
    number: Option<u64>,
) -> impl Fn(StoryPlaceholder, &mut String) {
    let news = &line.news;
    move |placeholder, html| match (placeholder, &standing) {
        (StoryPlaceholder::Number, _) => number.iter().for_each(|number| number.render_to(html)),
        (StoryPlaceholder::Pinned, _) if number.is_none() => {
            html! { span.pinned { (t!("story" => "Pinned")) } " " }.render_to(html);
        }
        (StoryPlaceholder::Pinned, _) => {}
        (StoryPlaceholder::Votes, Some(standing)) => standing.render_to(html),
        (StoryPlaceholder::Votes, None) => {
            let [up, down] = news.votes();
            vote_counts(up, down).render_to(html);
        }
        (StoryPlaceholder::Age, _) => ago(frame.now, news.ctime).render_to(html),
        (StoryPlaceholder::NewComments, _) => new_comments_link(line).render_to(html),
        (StoryPlaceholder::Links, _) => news_links(frame, news).render_to(html),
    }
}

/// How many comments are new for the viewer, as a link to the page that names the first one.
fn new_comments_link(line: &NewsLine) -> impl Render {
    let (news, count) = (line.news.id, line.new_comments);
    written(move |html| {
        if count > 0 {
            let link = html! {
                " " a.new-count href={ (news_address(news)) "#new" } {
                    (n!(count, "{count} new", "{count} new")) span.hidden { " " (n!(count, "comment", "comments")) }
                }
            };
            link.render_to(html);
        }
    })
}

/// The links to the actions that the viewer may take.
fn news_links(frame: &Frame<'_>, news: &News) -> impl Render {
    let may_change = may_change(frame, news);
    written(move |html| {
        if may_change {
            let links = html! {
                " " a href={ "/editnews/" (news.id) } { (t!("edit")) }
                " " a href={ "/delnews/" (news.id) } { (t!("delete")) }
            };
            links.render_to(html);
        }
    })
}

fn may_change(frame: &Frame<'_>, news: &News) -> bool {
    let window = frame.rules.limits.news_edit_seconds;
    frame.viewer.is_some_and(|viewer| news.may_change(viewer, frame.now, window).is_ok())
}

/// The usual size of a story in a list, in bytes.
const USUAL_STORY_BYTES: usize = 1_000;

/// A list of stories, numbered from `start` + 1. On the front page, those that are pinned have no number.
pub fn news_list(frame: &Frame<'_>, lines: &[NewsLine], start: u64) -> impl Render {
    static LIST: LazyLock<Fragment<ContentPlaceholder>> = LazyLock::new(|| {
        Fragment::new(|slots| html! { ol.news role="list" { (slots.at(ContentPlaceholder::Content)) } })
    });
    written(move |html| {
        html.reserve(lines.len() * USUAL_STORY_BYTES);
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
    written(move |html| {
        let own = RowOfViewer::of(frame, line);
        let fill = story_filling(frame, line, standing, number);
        let fragment = frame.derived::<StoryFragments, _>(&line.summary, own.key(), |summary, links| {
            Fragment::new(|slots| row_markup(frame, (summary, links), own, slots))
        });
        match fragment {
            Some(fragment) => fragment.fill(html, fill),
            None => {
                let slots = Slots::filled_by(&fill);
                row_markup(frame, (&line.summary, frame.link_target()), own, &slots).render_to(html);
            }
        }
    })
}

/// The part of a story's row that depends on the viewer but is the same for many. The cached markup has it.
#[derive(Clone, Copy)]
struct RowOfViewer {
    /// The vote buttons, if the story has them.
    buttons: Option<ButtonPair>,
    /// The viewer's marks, if there are buttons for them.
    marks: Option<Marks>,
    /// Whether the viewer may change the story.
    may_change: bool,
}

impl RowOfViewer {
    fn of(frame: &Frame<'_>, line: &NewsLine) -> Self {
        let target = VoteTarget::News(&line.news);
        let buttons = has_buttons(line).then(|| ButtonPair::of(frame, target, line.my_vote));
        let marks = frame.viewer.map(|_| line.marks).filter(|marks| has_mark_buttons(&line.news, *marks));
        if marks.is_some() {
            frame.note_item_button();
        }
        Self { buttons, marks, may_change: may_change(frame, &line.news) }
    }

    /// A number for each combination.
    fn key(self) -> u64 {
        let buttons = self.buttons.map_or(0, |pair| 1 + pair.index());
        let marks =
            self.marks.map_or(0, |marks| 1 + usize::from(marks.hidden) + 2 * usize::from(marks.saved));
        ((buttons * 5 + marks) * 2 + usize::from(self.may_change)) as u64
    }

    /// Whether there is anything that the viewer can do, besides voting.
    const fn has_tools(self) -> bool {
        self.may_change || self.marks.is_some()
    }
}

/// The row of a story in a list. Of the frame, it depends on the settings alone.
fn row_markup(
    frame: &Frame<'_>,
    (summary, links): (&NewsSummary, LinkTarget),
    own: RowOfViewer,
    slots: &Slots<'_, StoryPlaceholder>,
) -> Markup {
    let news = &summary.news;
    let title = html! {
        (slots.at(StoryPlaceholder::Pinned))
        h2 dir="auto" { (title_link(links, news, summary.site_score)) }
    };
    let tools = html! {
        @if own.has_tools() {
            (PreEscaped(&*TOOLS))
            (slots.at(StoryPlaceholder::Links))
            @if let Some(marks) = own.marks { (mark_buttons(news, marks)) }
            (PreEscaped(TOOLS_END))
        }
    };
    html! {
        li.item #(news_anchor(news.id)) data-item {
            span.rank aria-hidden="true" { (slots.at(StoryPlaceholder::Number)) }
            @match own.buttons {
                Some(pair) => (pair.on(frame, VoteTarget::News(news))),
                None => (NO_BUTTONS),
            }
            div.story { (story_markup(summary, (&title, false), &tools, slots)) }
        }
    }
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
        let tools = tools(frame, line, None);
        let heading = html! { h2 dir="auto" { (titled_link(frame.link_target(), &line.news, line.site_score, title)) } };
        let row = html! {
            div.item #(anchor) data-item {
                span.rank aria-hidden="true" { (number) }
                (news_buttons(frame, line))
                div.story { (story_markup(&line.summary, (&heading, false), &tools, &Slots::filled_by(&fill))) }
            }
        };
        row.render_to(html);
    })
}

/// The vote buttons of a story, or an empty element if the story is gone or not shown.
pub fn news_buttons<'a>(frame: &'a Frame<'_>, line: &'a NewsLine) -> impl Render + 'a {
    written(move |html| {
        if has_buttons(line) {
            vote_buttons(frame, VoteTarget::News(&line.news), line.my_vote).render_to(html);
        } else {
            NO_BUTTONS.render_to(html);
        }
    })
}

fn has_buttons(line: &NewsLine) -> bool {
    line.news.state().is_open() && line.marks.sight.is_shown()
}

/// The most bytes of a story in a list.
pub fn listed_story_bytes(line: &NewsLine) -> usize {
    let news = &line.news;
    // Blanks in an address are encoded, which triples them.
    let url = news.link().map_or(0, |_| size::escaped_bytes(&news.url) + 2 * news.url.len());
    LISTED_STORY_BYTES + size::escaped_bytes(&news.title) + url
}
