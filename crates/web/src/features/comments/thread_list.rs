//! The comments on a page of a thread: nested lists, so that each level has one unbroken rail.
//! Each comment is in a `details` element with those below it, which collapses the branch
//! without a script.

use super::comment_item::{
    CommentAddresses, CommentContext, CommentItem, CommentMarks, CommentPlaceholder, comment_markup,
    viewed_comment,
};
use super::thread::ThreadPage;
use super::thread_part::ThreadPart;
use crate::limits::COMMENT_CACHE_BYTES;
use crate::markup::Frame;
use crate::markup::dates::ago;
use crate::markup::fragments::{Fragment, PartKey, Slots, written};
use crate::markup::parts::deleted_user;
use crate::markup::vote_buttons::ButtonPair;
use maud::{Markup, PreEscaped, Render, html};
use std::cell::LazyCell;
use tidings_domain::accounts::reader::Collapsed;
use tidings_domain::accounts::seen::{Seen, ShownIn, Viewed};
use tidings_domain::cache::Shared;
use tidings_domain::comments::orders::OrderedLines;
use tidings_domain::comments::outline::{ThreadLine, ThreadLines, ThreadPages};
use tidings_domain::comments::relatives::{Relatives, relatives};
use tidings_domain::values::CommentId;
use tidings_domain::values::words::first_words;
use tidings_language::{n, t};

/// The usual size of a comment's markup without its text, in bytes.
const USUAL_MARKUP_BYTES: usize = 1_500;
/// The usual bytes of what fills its placeholders.
const PLACEHOLDER_BYTES: usize = 50;
/// The usual bytes of a page behind its comments.
const AFTER_COMMENTS_BYTES: usize = 4_000;

/// An element of a list whose end is not written yet.
struct OpenItem {
    /// Whether it has a list of replies.
    has_list: bool,
    /// Whether it is a comment, and not only stands for one on an earlier page.
    is_comment: bool,
}

impl ThreadPage<'_> {
    /// The list of its comments. It is marked if the script cannot find all comments of the story in it.
    pub fn list(&self, frame: &Frame<'_>) -> impl Render {
        let is_complete = self.part.branch.is_none() && self.pages.is_complete();
        let fragments = self.fragments(frame);
        // Cached markup needs none of it.
        let relatives = LazyCell::new(|| relatives(self.thread.outline().places()));
        let relatives = move |position: usize| relatives.get(position).copied().unwrap_or_default();
        written(move |html| {
            html.reserve(self.usual_bytes(fragments.as_deref()));
            html.push_str(r#"<ol class="thread" role="list""#);
            if !is_complete {
                html.push_str(" data-incomplete");
            }
            if let Some(viewer) = frame.viewer.filter(|_| self.thread.news.news.state().is_open()) {
                // The script says at which comments the viewer has drafts of replies.
                html.push_str(" data-drafts=\"");
                viewer.id.0.render_to(html);
                html.push('"');
            }
            html.push('>');
            let mut open = Vec::new();
            for (index, position) in self.shown.iter().enumerate() {
                let of_comment = fragments.as_ref().and_then(|fragments| fragments.get(index)?.as_ref());
                close(html, &mut open, self.pages.level(*position));
                self.write_comment(html, frame, &mut open, (*position, &relatives, of_comment));
            }
            close(html, &mut open, 0);
            html.push_str("</ol>");
        })
    }

    /// About how many bytes the comments take, with what follows them on the page.
    fn usual_bytes(&self, fragments: Option<&PageFragments>) -> usize {
        let lines = self.shown.iter().filter_map(|position| self.thread.view(*position).whole());
        let comments = match fragments {
            Some(fragments) => {
                fragments.iter().flatten().map(|fragment| fragment.size() + PLACEHOLDER_BYTES).sum()
            }
            None => lines.map(|line| line.body().len() + USUAL_MARKUP_BYTES).sum::<usize>(),
        };
        comments + AFTER_COMMENTS_BYTES
    }

    /// The cached markup of the comments on a page of a whole thread.
    fn fragments(&self, frame: &Frame<'_>) -> Option<Shared<PageFragments>> {
        let is_posted = self.at.is_some_and(|(_, is_posted)| is_posted);
        let is_usual = self.part.branch.is_none() && !is_posted;
        let lines = Some(&self.thread.lines).filter(|lines| is_usual && lines.is_whole())?;
        let key = fragments_key(self.part, ButtonPair::of_members(frame));
        frame.derived::<ThreadFragments, _>(lines, key, |lines, _| page_fragments(frame, lines, self.part))
    }

    /// Writes a comment and leaves its element open for the replies.
    fn write_comment(
        &self,
        html: &mut String,
        frame: &Frame<'_>,
        open: &mut Vec<OpenItem>,
        (position, relatives, fragment): (usize, &dyn Fn(usize) -> Relatives, Option<&CommentFragment>),
    ) {
        let view = self.thread.view(position);
        // Where nothing is shown, nothing is below it.
        let Some(comment) = view.line().map(|line| line.comment) else { return };
        let level = self.pages.level(position);
        // Comments on an earlier page that this one is below.
        while open.len() < level {
            open_list(html, open);
            html.push_str("<li>");
            open.push(OpenItem { has_list: false, is_comment: false });
        }
        open_list(html, open);
        let place = CommentContext::alone(&self.thread.news.news);
        let places = self.thread.outline().places();
        let is_new = self.new.zip(places.get(position)).is_some_and(|(new, place)| new.has(place));
        let by_story_author = comment.user_id == self.thread.news.news.user_id;
        let marks = CommentMarks { is_new, by_story_author };
        match (view, fragment) {
            (Viewed::Whole(line), Some(fragment)) => {
                CommentItem { place, line, marks }.fill(html, frame, fragment);
            }
            (view, _) => {
                let relatives = relatives(position);
                let addresses =
                    addresses(self.part, self.thread.outline(), &self.pages, (position, relatives));
                let summary = summary(view, relatives, ago(frame.now, comment.ctime));
                let item = viewed_comment(frame, (place, marks), view, &addresses);
                branch((comment.id, level), &summary, &item).render_to(html);
            }
        }
        open.push(OpenItem { has_list: false, is_comment: true });
        if self.pages.has_hidden_replies(position)
            && let Some(reply) = places.get(position + 1)
        {
            open_list(html, open);
            let address = self.part.address_of(reply.id);
            html! { li.continue { a.action href=(address) { (t!("continue this thread")) } } }
                .render_to(html);
        }
    }
}

/// The element of a comment, without its end, which comes after the replies.
fn branch((id, level): (CommentId, usize), summary: &Markup, item: &Markup) -> Markup {
    html! {
        (PreEscaped("<li id=\"comment-")) (id.0) (PreEscaped("\" class=\"depth-")) (level)
        (PreEscaped("\"><details class=\"branch\" open>"))
        (summary)
        (item)
    }
}

/// The summary of a collapsed branch: the author of its comment, its age, its replies and its first words.
fn summary(view: Viewed<ThreadLine<'_>>, relatives: Relatives, age: impl Render) -> Markup {
    let name = match &view {
        Viewed::Whole(line) => line.username.unwrap_or(deleted_user()),
        Viewed::Line(_, Collapsed::Deleted) => t!("[deleted comment]"),
        Viewed::Line(..) | Viewed::Nothing => t!("[hidden comment]"),
    };
    let replies = relatives.branch.saturating_sub(1);
    html! {
        summary {
            // While the branch is open, only the name is read, as that of the switch.
            span { (name) }
            span {
                " · " (age) " · " (n!(replies, "{count} reply", "{count} replies"))
                @if let Viewed::Whole(line) = view { " · " (first_words(line.body())) }
            }
        }
    }
}

/// Opens the list of replies of the last open element, if it has none yet.
fn open_list(html: &mut String, open: &mut [OpenItem]) {
    if let Some(above) = open.last_mut().filter(|above| !above.has_list) {
        html.push_str(r#"<ol class="replies" role="list">"#);
        above.has_list = true;
    }
}

/// Writes the ends of elements until so many are open.
fn close(html: &mut String, open: &mut Vec<OpenItem>, level: usize) {
    while open.len() > level {
        let Some(item) = open.pop() else { return };
        if item.has_list {
            html.push_str("</ol>");
        }
        html.push_str(if item.is_comment { "</details></li>" } else { "</li>" });
    }
}

/// The address of the comment at a position: on the same page if it is there.
pub fn jump_address(
    part: ThreadPart,
    lines: &ThreadLines,
    pages: &ThreadPages<'_>,
    position: usize,
) -> String {
    let Some(id) = lines.places().get(position).map(|place| place.id) else { return String::new() };
    match pages.page_of(position) {
        Some(number) if u64::try_from(number) == Ok(part.number) => format!("#comment-{id}"),
        _ => part.address_of(id),
    }
}

/// The addresses of a comment and of those around it.
fn addresses(
    part: ThreadPart,
    lines: &ThreadLines,
    pages: &ThreadPages<'_>,
    (position, relatives): (usize, Relatives),
) -> CommentAddresses {
    let Relatives { root, parent, previous, next, .. } = relatives;
    let jump = |position| jump_address(part, lines, pages, position);
    CommentAddresses {
        permalink: lines.places().get(position).map(|place| part.address_of(place.id)).unwrap_or_default(),
        root: root.filter(|_| root != parent).map(jump),
        parent: parent.map(jump),
        previous: previous.map(jump),
        next: next.map(jump),
    }
}

/// The markup of a comment on a page, without the end of its element.
type CommentFragment = Fragment<CommentPlaceholder>;

/// The markup of the comments on a page that visitors see.
type PageFragments = Box<[Option<CommentFragment>]>;

tidings_domain::cache_kind! {
    /// The markup of the comments of threads, by page, order, and the buttons that viewers usually have.
    struct ThreadFragments: PartKey => PageFragments, "thread_fragments",
        COMMENT_CACHE_BYTES, |_, fragments| fragments.iter().flatten().map(CommentFragment::size).sum();
}

/// The number of a page, its order, and the usual buttons as one number.
fn fragments_key(ThreadPart { number, sorting, .. }: ThreadPart, buttons: ButtonPair) -> u64 {
    let order = sorting.order as u64;
    let page = (number * 4 + order) * 2 + u64::from(sorting.is_asked);
    page * ButtonPair::COUNT as u64 + buttons.index() as u64
}

/// Makes the markup. It depends on the frame only as [`comment_markup`] does.
fn page_fragments(frame: &Frame<'_>, lines: &ThreadLines, part: ThreadPart) -> PageFragments {
    let ordered = OrderedLines::new(lines, part.sorting.order);
    let outline = ordered.outline();
    let relatives = relatives(outline.places());
    let Some(pages) = part.pages(outline) else { return PageFragments::default() };
    let fragment = |(position, line): (usize, ThreadLine<'_>)| {
        let line = Seen::by_visitors(line, ShownIn::List)?;
        let relatives = relatives.get(position).copied().unwrap_or_default();
        let addresses = addresses(part, outline, &pages, (position, relatives));
        Some(CommentFragment::new(|slots: &Slots<'_, CommentPlaceholder>| {
            let summary = summary(Viewed::Whole(line), relatives, slots.at(CommentPlaceholder::Age));
            let item = comment_markup(frame, (part.news, line), &addresses, slots);
            branch((line.comment.id, pages.level(position)), &summary, &item)
        }))
    };
    let shown = pages.shown(part.number).unwrap_or_default().into_iter();
    shown.filter_map(|position| Some((position, ordered.line(position)?))).map(fragment).collect()
}

#[cfg(test)]
mod tests {
    use super::super::thread_part::Sorting;
    use super::*;
    use crate::markup::test_support::{framed, user};
    use std::collections::HashSet;
    use strum::IntoEnumIterator;
    use tidings_domain::values::{CommentOrder, NewsId};

    #[test]
    fn each_page_order_and_pair_of_buttons_has_a_key_of_its_own() {
        let member = user("2", "bob", "");
        let moderator = user("3", "carol", "a");
        let mut keys = HashSet::new();
        for viewer in [&member, &moderator] {
            let buttons = framed(Some(viewer), ButtonPair::of_members);
            for number in [1, 2, 1_000_000_000] {
                for order in CommentOrder::iter() {
                    for is_asked in [false, true] {
                        let sorting = Sorting { order, is_asked };
                        let part = ThreadPart { news: NewsId(5), branch: None, number, sorting };
                        keys.insert(fragments_key(part, buttons));
                    }
                }
            }
        }
        assert_eq!(keys.len(), 2 * 3 * CommentOrder::iter().count() * 2);
    }
}
