//! The results of moderators' work on the page of a story: the note of an edit, and the comments of stories that were
//! merged into it.

use crate::error::capitalized;
use crate::features::comments::comment_item::{CommentContext, comment_item};
use crate::limits::THREAD_PAGE;
use crate::markup::Frame;
use crate::markup::addresses::{line_address, news_address};
use crate::markup::fragments::written;
use maud::{Markup, Render, html};
use tidings_domain::Error;
use tidings_domain::accounts::reader::Perspective;
use tidings_domain::accounts::seen::ShownIn;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::comments::merged::{self, MergedThread};
use tidings_domain::comments::threads::Thread;
use tidings_domain::news::item::News;
use tidings_domain::values::Closed;
use tidings_language::{n, t};

/// Says what a moderator has edited of a story, and why.
pub fn edit_note(news: &News) -> Markup {
    html! {
        @if let Some(note) = &news.edited {
            p.hint.edit-note dir="auto" {
                @let edited = html! {
                    a href=(line_address(note.moderation)) { (t!("edited by a moderator")) }
                };
                @let reason = html! { bdi { (note.reason) } };
                (t!("{parts} {edited}: {reason}", parts = capitalized(&note.in_words()), edited, reason))
            }
        }
    }
}

/// The threads of the stories that were merged into one, with as many comments as fit below
/// those that its page shows. Rounds: 2, none without merged stories.
pub async fn read_merged(
    visit: &mut Visit,
    thread: &Thread,
    shown: &[usize],
) -> Result<Vec<MergedThread>, Error> {
    let mut room = THREAD_PAGE;
    thread.outline().leave_room(shown, &mut room);
    merged::of_stories(visit, &thread.news.news.merged.0, room).await
}

/// The element of a story that was merged into another, on the page of that story.
fn merged_anchor(news: &News) -> String {
    format!("merged-{}", news.id)
}

/// Where the address of a merged story leads.
pub fn merged_address(news: &News) -> Option<String> {
    let Some(Closed::Merged(into)) = news.state().closed() else { return None };
    Some(format!("{}#{}", news_address(into), merged_anchor(news)))
}

/// The comments of merged stories, each with a heading.
pub fn merged_threads(frame: &Frame<'_>, perspective: Perspective<'_>, threads: &[MergedThread]) -> Markup {
    html! {
        @for thread in threads {
            @let news = &thread.news.news;
            @let whole = format!("{}?page=1", news_address(news.id));
            section.merged-thread #(merged_anchor(news)) {
                h2 dir="auto" { (t!("From “{story}”", story = html! { a href=(whole) { (news.title) } })) }
                p.hint { (t!("A moderator has merged this story with the one above.")) }
                ol.thread role="list" data-incomplete {
                    (written(|html| {
                        let place = CommentContext {
                            news: news.id, news_deleted: true, is_open: false, among_others: true,
                        };
                        for line in thread.shown() {
                            let view = perspective.view(line, ShownIn::Thread { has_replies: false });
                            comment_item(frame, place, view, line.depth.min(1)).render_to(html);
                        }
                    }))
                }
                @if thread.shown < thread.lines.places().len() {
                    @let count = thread.lines.places().len();
                    p { a.action href=(whole) { (n!(count, "All {count} comment", "All {count} comments")) } }
                }
            }
        }
    }
}
