//! A comment as a page shows it.

use crate::markup::addresses::comment_address;
use crate::markup::fragments::{Fragment, LinkTarget, Slots, placeholders, written};
use crate::markup::frame::Frame;
use crate::markup::markdown::markdown;
use crate::markup::parts::{ERASED, age, age_as, ago, author, vote_counts};
use crate::markup::vote_buttons::{NO_BUTTONS, VoteTarget, vote_buttons};
use crate::markup::withheld::{insider_words, reason, show_link};
use crate::settings::SiteSettings;
use maud::{Markup, Render, html};
use std::sync::LazyLock;
use tidings_domain::accounts::reader::Sight;
use tidings_domain::comments::comment::Comment;
use tidings_domain::comments::outline::ThreadLine;
use tidings_domain::news::item::News;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId};

placeholders! {
    /// The parts of a comment that depend on the viewer, the story or the time.
    pub enum CommentPlaceholder {
        /// Whether it is new, and by the author of the story.
        Marks,
        /// How old it is.
        Age,
        /// The one vote that it has, which is its author's own.
        OwnVote,
        /// Links to the actions that the viewer may take.
        Links,
    }
}

/// What is special about a comment on a page.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommentMarks {
    /// It is new since the viewer's last visit.
    pub is_new: bool,
    /// It is by the author of the story.
    pub by_story_author: bool,
}

impl Render for CommentMarks {
    fn render_to(&self, html: &mut String) {
        if self.by_story_author {
            html.push_str(r#" <span class="tag">author</span>"#);
        }
        if self.is_new {
            html.push_str(r#" <span class="tag new">new</span>"#);
        }
    }
}

/// The addresses of a comment and of those around it in its thread.
#[derive(Debug, Default)]
pub struct CommentAddresses {
    /// Its own page.
    pub permalink: String,
    /// The comment on the story that it is below, if that is not its parent.
    pub root: Option<String>,
    /// The comment that it replies to.
    pub parent: Option<String>,
    /// The comment before it that replies to the same.
    pub previous: Option<String>,
    /// The comment after it that replies to the same.
    pub next: Option<String>,
}

impl CommentAddresses {
    /// For a comment without its thread.
    fn alone(news: NewsId, comment: &Comment) -> Self {
        let page = |comment| comment_address(CommentAddress { news, comment });
        Self { permalink: page(comment.id), parent: comment.parent_id.map(page), ..Self::default() }
    }

    /// The links to the comments around it.
    fn jumps(&self) -> Markup {
        let jumps =
            [("root", &self.root), ("parent", &self.parent), ("prev", &self.previous), ("next", &self.next)];
        html! {
            div.jumps {
                @for (name, address) in jumps {
                    @if let Some(address) = address { " " a href=(address) { (name) } }
                }
            }
        }
    }
}

/// Where a comment is shown: its story, and whether the page has others.
#[derive(Debug, Clone, Copy)]
pub struct CommentContext {
    /// The story.
    pub news: NewsId,
    /// Whether the story is deleted or withheld: then its comments are read-only.
    pub news_deleted: bool,
    /// Whether the page also shows comments on other stories, so that the ids of comments
    /// alone are not unique.
    pub among_others: bool,
}

impl CommentContext {
    /// For a page about one story.
    #[must_use]
    pub fn alone(news: &News) -> Self {
        Self { news: news.id, news_deleted: news.is_gone(), among_others: false }
    }

    /// The id of the element that shows a comment.
    pub fn anchor(self, comment: CommentId) -> impl Render + Copy {
        written(move |html| {
            html.push_str("comment-");
            if self.among_others {
                self.news.0.render_to(html);
                html.push('-');
            }
            comment.0.render_to(html);
        })
    }
}

/// A comment in a list, as the viewer sees it, indented by `level`.
pub fn comment_item(
    frame: &Frame<'_>,
    place: CommentContext,
    (line, sight): (ThreadLine<'_>, Sight),
    level: usize,
) -> impl Render {
    written(move |html| {
        let addresses = CommentAddresses::alone(place.news, line.comment);
        let marks = CommentMarks::default();
        let markup = CommentSource::Addresses(addresses);
        let item = CommentItem { place, line, marks, markup, sight };
        let anchor = place.anchor(line.comment.id);
        let opened =
            html! { li class={ "depth-" (level) } id=(anchor) { (written(|html| item.write(html, frame))) } };
        opened.render_to(html);
    })
}

/// Where the markup of a comment that is the same for all viewers comes from.
pub enum CommentSource<'a> {
    /// It is cached.
    Fragment(&'a Fragment<CommentPlaceholder>),
    /// It is made, with these links.
    Addresses(CommentAddresses),
}

/// A comment with its vote buttons.
pub struct CommentItem<'a> {
    /// Where it is shown.
    pub place: CommentContext,
    /// The comment.
    pub line: ThreadLine<'a>,
    /// What is special about it.
    pub marks: CommentMarks,
    /// Its markup.
    pub markup: CommentSource<'a>,
    /// How the viewer sees it. One that is not shown has no cached markup.
    pub sight: Sight,
}

impl CommentItem<'_> {
    /// Writes the comment.
    pub fn write(&self, html: &mut String, frame: &Frame<'_>) {
        placeholders! {
            enum CommentItemPart {
                New,
                Buttons,
                Comment,
            }
        }
        static ITEM: LazyLock<Fragment<CommentItemPart>> = LazyLock::new(|| {
            Fragment::new(|slots| {
                html! {
                    div class={ "item comment" (slots.at(CommentItemPart::New)) } data-item {
                        (slots.at(CommentItemPart::Buttons))
                        (slots.at(CommentItemPart::Comment))
                    }
                }
            })
        });
        let Self { place, line, marks, markup, sight } = self;
        let comment = line.comment;
        let is_shown = sight.is_shown();
        let CommentContext { news, news_deleted, .. } = *place;
        let fill = |placeholder, html: &mut String| match placeholder {
            CommentPlaceholder::Marks => {
                marks.render_to(html);
                if let Some(withheld) = &comment.withheld {
                    html! { " " span.tag { (insider_words(withheld)) } }.render_to(html);
                }
            }
            CommentPlaceholder::OwnVote => {
                let is_author = frame.viewer.is_some_and(|viewer| viewer.id == comment.user_id);
                own_vote(is_author).render_to(html);
            }
            CommentPlaceholder::Age => ago(frame.now, comment.ctime).render_to(html),
            CommentPlaceholder::Links => comment_links(frame, *place, comment).render_to(html),
        };
        ITEM.fill(html, |placeholder, html| match placeholder {
            CommentItemPart::New if marks.is_new && is_shown => html.push_str(" is-new"),
            CommentItemPart::New => {}
            CommentItemPart::Buttons if comment.is_gone() || news_deleted || !is_shown => {
                NO_BUTTONS.render_to(html);
            }
            CommentItemPart::Buttons => {
                let address = CommentAddress { news, comment: comment.id };
                let target = VoteTarget::Comment(address, line.username);
                let my_vote = frame.viewer.and_then(|viewer| comment.vote_of(viewer.id));
                vote_buttons(frame, target, my_vote).render_to(html);
            }
            CommentItemPart::Comment => match markup {
                CommentSource::Fragment(fragment) => fragment.fill(html, fill),
                CommentSource::Addresses(addresses) if !is_shown => {
                    collapsed_markup(frame, (*place, comment), (*sight, addresses)).render_to(html);
                }
                CommentSource::Addresses(addresses) => {
                    let links = (&frame.settings.site, frame.link_target(), addresses);
                    comment_markup(news, *line, links, &Slots::filled_by(&fill)).render_to(html);
                }
            },
        });
    }
}

/// What stands in the place of a comment that the viewer does not see: when it was written, and
/// why it is not shown.
fn collapsed_markup(
    frame: &Frame<'_>,
    (place, comment): (CommentContext, &Comment),
    (sight, addresses): (Sight, &CommentAddresses),
) -> Markup {
    let anchor = place.anchor(comment.id).render().into_string();
    let text = html! {
        @if let Sight::Collapsed(why) = sight {
            "[" bdi { (reason(why, comment.withheld.as_ref(), "a comment")) } "]"
            (show_link(frame, why, &anchor))
        }
    };
    gone_markup((place.news, comment), addresses, age(frame, comment.ctime), &text)
}

/// The markup of a comment without its text, and what stands there instead.
fn gone_markup(
    (news, comment): (NewsId, &Comment),
    addresses: &CommentAddresses,
    age: Markup,
    text: &Markup,
) -> Markup {
    html! {
        div #{ (news.0) "-" (comment.id.0) } {
            div.meta { a.permalink href=(addresses.permalink) data-open { (age) } }
            (addresses.jumps())
            p.gone { (text) }
        }
    }
}

/// The markup of a comment that is the same for all viewers.
pub fn comment_markup(
    news: NewsId,
    ThreadLine { comment, username, .. }: ThreadLine<'_>,
    (site, links, addresses): (&SiteSettings, LinkTarget, &CommentAddresses),
    slots: &Slots<'_, CommentPlaceholder>,
) -> Markup {
    let age = age_as(comment.ctime, slots.at(CommentPlaceholder::Age));
    if comment.deleted {
        let stand_in = if comment.is_erased() { ERASED } else { "[deleted comment]" };
        return gone_markup((news, comment), addresses, age, &html! { (stand_in) });
    }
    html! {
        // The original's id of a comment, so that links to it find it here.
        div #{ (news.0) "-" (comment.id.0) } {
            div.meta {
                (author(username))
                @if comment.speaks_as_moderator { " " span.tag.staff { "moderator" } }
                (slots.at(CommentPlaceholder::Marks)) " "
                a.permalink href=(addresses.permalink) data-open { (age) } " "
                @let [up, down] = comment.votes();
                @if [up, down] == [1, 0] {
                    (slots.at(CommentPlaceholder::OwnVote))
                } @else {
                    (vote_counts(up, down))
                }
            }
            (addresses.jumps())
            div.text.formatted dir="auto" { (markdown(&site.with_moved_links(&comment.body), links)) }
            div.actions { (slots.at(CommentPlaceholder::Links)) }
        }
    }
}

/// The one vote on a comment, which tells others than its author nothing. The script shows the count
/// when there is another vote.
fn own_vote(is_author: bool) -> impl Render {
    let count = vote_counts(1, 0);
    written(move |html| {
        if is_author {
            count.render_to(html);
        } else {
            html.push_str("<span hidden>");
            count.render_to(html);
            html.push_str("</span>");
        }
    })
}

/// The links to reply to a comment, and to edit and delete it if the viewer may.
fn comment_links(frame: &Frame<'_>, place: CommentContext, comment: &Comment) -> impl Render {
    placeholders! {
        enum ReplyLinkPart {
            News,
            Comment,
        }
    }
    static REPLY: LazyLock<Fragment<ReplyLinkPart>> = LazyLock::new(|| {
        Fragment::new(|slots| {
            let (news, comment) = (slots.at(ReplyLinkPart::News), slots.at(ReplyLinkPart::Comment));
            html! { " " a href={ "/reply/" (news) "/" (comment) } rel="nofollow" { "reply" } }
        })
    });
    let (news, id) = (place.news, comment.id);
    let may_reply = !comment.is_gone() && !place.news_deleted;
    let window = frame.rules.limits.comment_edit_seconds;
    let viewer = frame.viewer.filter(|_| !comment.deleted);
    let may_edit = viewer.is_some_and(|viewer| comment.may_edit(viewer, frame.now, window).is_ok());
    let may_flag = viewer.is_some_and(|viewer| viewer.id != comment.user_id);
    let may_delete = viewer.is_some_and(|viewer| comment.may_delete(viewer, frame.now, window).is_ok());
    written(move |html| {
        if may_reply {
            REPLY.fill(html, |placeholder, html| match placeholder {
                ReplyLinkPart::News => news.0.render_to(html),
                ReplyLinkPart::Comment => id.0.render_to(html),
            });
        }
        if may_flag {
            html! { " " a href={ "/flag/comment/" (news) "-" (id) } rel="nofollow" { "flag" } }
                .render_to(html);
        }
        if may_edit {
            html! { " " a href={ "/editcomment/" (news) "/" (id) } { "edit" } }.render_to(html);
        }
        if may_delete {
            html! { " " a href={ "/editcomment/" (news) "/" (id) "#delete" } { "delete" } }.render_to(html);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{COMMENT_IDS, COMMENT_MARKUP_BYTES, COMMENT_NAMES, LISTED_COMMENT_BYTES};
    use crate::markup::test_support::{NOW, framed, user};
    use tidings_domain::values::limits::LONGEST_STORED_USERNAME;
    use tidings_domain::values::size;

    /// The bytes of a comment with this id, on a story with this id, in its thread and alone. User
    /// 1 has voted, user 2 can vote.
    fn bytes_of(id: &str, viewer: &str, name: &str) -> (usize, usize) {
        let json = serde_json::json!({
            "body": "", "ctime": NOW.0, "user_id": 1, "parent_id": id.parse::<u64>().unwrap(),
            "up": vec![1; 10_000], "down": vec![1; 10_000], "as": "moderator",
        });
        let comment = Comment::from_field(id, &json.to_string()).unwrap();
        let news = NewsId(id.parse().unwrap());
        let place = CommentContext { news, news_deleted: false, among_others: true };
        let line = ThreadLine { comment: &comment, depth: 7, username: Some(name) };
        let admin = user(viewer, "admin", "a");
        let html = framed(Some(&admin), |frame| {
            let address = || format!("/news/{id}?at={id}&sort=newest#comment-{id}");
            let jump = || Some(address());
            let addresses = CommentAddresses {
                permalink: address(),
                root: jump(),
                parent: jump(),
                previous: jump(),
                next: jump(),
            };
            let marks = CommentMarks { is_new: true, by_story_author: true };
            let markup = CommentSource::Addresses(addresses);
            let mut html = String::new();
            CommentItem { place, line, marks, markup, sight: Sight::Shown }.write(&mut html, frame);
            // The branch in the list, with the name of its author. Its text has its own room.
            name.render_to(&mut html);
            html
        });
        let branch = 200;
        // A button that takes a vote back has some attributes more.
        let longer = 80;
        let alone =
            framed(Some(&admin), |frame| comment_item(frame, place, (line, Sight::Shown), 7).render());
        (html.len() + branch + longer, alone.into_string().len() + longer)
    }

    #[test]
    fn a_comment_takes_no_more_than_pages_reckon_with() {
        for id in ["1", "4567890", "99999999999999"] {
            for character in ["a", "🦀", "\"", "%"] {
                for name in [character.to_owned(), character.repeat(LONGEST_STORED_USERNAME)] {
                    let reckoned = COMMENT_MARKUP_BYTES
                        + COMMENT_NAMES * size::name_bytes(Some(&name))
                        + COMMENT_IDS * id.len();
                    for viewer in ["1", "2"] {
                        let (bytes, alone) = bytes_of(id, viewer, &name);
                        assert!(bytes <= reckoned, "{bytes} > {reckoned}: {id} {name}");
                        assert!(alone <= LISTED_COMMENT_BYTES, "{alone}");
                    }
                }
            }
        }
        // Nor is it reckoned much larger than it is.
        let (bytes, _) = bytes_of("12345", "2", "alice");
        let reckoned = COMMENT_MARKUP_BYTES + COMMENT_NAMES * "alice".len() + COMMENT_IDS * 5;
        assert!(reckoned < bytes + 100, "{reckoned} for {bytes}");
    }
}
