//! A comment as a page shows it.

use crate::markup::Frame;
use crate::markup::addresses::comment_address;
use crate::markup::dates::ago;
use crate::markup::fragments::{Fragment, Slots, placeholders, written};
use crate::markup::markdown::markdown;
use crate::markup::moderation_tools::{is_moderator, menu_link};
use crate::markup::parts::{age, age_as, author, vote_counts};
use crate::markup::vote_buttons::{ButtonPair, NO_BUTTONS, VoteTarget, vote_buttons};
use crate::markup::withheld::{Kind, insider_words, show_link, stand_in};
use maud::{Markup, Render, html};
use tidings_domain::accounts::reader::Collapsed;
use tidings_domain::accounts::seen::{Seen, Viewed};
use tidings_domain::comments::comment::Comment;
use tidings_domain::comments::outline::ThreadLine;
use tidings_domain::news::item::News;
use tidings_domain::values::{CommentAddress, CommentId, NewsId, Thing};
use tidings_language::t;

placeholders! {
    /// The parts of a comment that depend on the viewer, the story or the time.
    pub enum CommentPlaceholder {
        /// The class of one that is new.
        New,
        /// The buttons to vote.
        Buttons,
        /// Whether it is new, and by the author of the story.
        Marks,
        /// How old it is.
        Age,
        /// How long ago it was edited.
        EditAge,
        /// The one vote that it has, which is its author's own.
        OwnVote,
        /// Links to the actions that the viewer may take.
        Links,
    }
}

/// The special marks of a comment on a page.
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
            html! { " " span.tag { (t!("author")) } }.render_to(html);
        }
        if self.is_new {
            html! { " " span.tag.new { (t!("comment" => "new")) } }.render_to(html);
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
        let jumps = [
            (t!("comment" => "root"), &self.root),
            (t!("comment" => "parent"), &self.parent),
            (t!("comment" => "prev"), &self.previous),
            (t!("comment" => "next"), &self.next),
        ];
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
    /// Whether the thread is open: otherwise nobody answers or edits its comments.
    pub is_open: bool,
    /// Whether the page also shows comments on other stories, so that the ids of comments
    /// alone are not unique.
    pub among_others: bool,
}

impl CommentContext {
    /// For a page about one story.
    pub fn alone(news: &News) -> Self {
        let news_deleted = !news.state().is_open();
        let is_open = !news_deleted && news.locked.is_none();
        Self { news: news.id, news_deleted, is_open, among_others: false }
    }

    /// For a page with comments on several stories.
    pub fn among_others(news: &News) -> Self {
        Self { among_others: true, ..Self::alone(news) }
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
pub fn comment_item<'a>(
    frame: &'a Frame<'_>,
    place: CommentContext,
    view: Viewed<ThreadLine<'a>>,
    level: usize,
) -> impl Render + 'a {
    written(move |html| {
        let Some(comment) = view.line().map(|line| line.comment) else { return };
        let addresses = CommentAddresses::alone(place.news, comment);
        let item = viewed_comment(frame, (place, CommentMarks::default()), view, &addresses);
        html! { li class={ "depth-" (level) } id=(place.anchor(comment.id)) { (item) } }.render_to(html);
    })
}

/// A comment as the viewer sees it, with the addresses of those around it.
pub fn viewed_comment(
    frame: &Frame<'_>,
    (place, marks): (CommentContext, CommentMarks),
    view: Viewed<ThreadLine<'_>>,
    addresses: &CommentAddresses,
) -> Markup {
    match view {
        Viewed::Whole(line) => CommentItem { place, line, marks }.render(frame, addresses),
        Viewed::Line(line, why) => html! {
            article.item.comment data-item {
                (NO_BUTTONS)
                (collapsed_markup(frame, (place, line.comment), why, addresses))
            }
        },
        Viewed::Nothing => html! {},
    }
}

/// A comment with its vote buttons.
pub struct CommentItem<'a> {
    /// Where it is shown.
    pub place: CommentContext,
    /// The comment.
    pub line: Seen<ThreadLine<'a>>,
    /// Its special marks.
    pub marks: CommentMarks,
}

impl CommentItem<'_> {
    /// The comment, with the addresses of those around it.
    pub fn render(&self, frame: &Frame<'_>, addresses: &CommentAddresses) -> Markup {
        let Self { place, line, .. } = self;
        let fill = self.filling(frame);
        comment_markup(frame, (place.news, *line), addresses, &Slots::filled_by(&fill))
    }

    /// Writes the cached markup of a comment that is shown.
    pub fn fill(&self, html: &mut String, frame: &Frame<'_>, fragment: &Fragment<CommentPlaceholder>) {
        let Self { place, line, .. } = self;
        let comment = line.comment;
        let is_usual = frame.viewer.is_some_and(|viewer| {
            let has_part = viewer.id == comment.user_id || comment.vote_of(viewer.id).is_some();
            !has_part && !is_moderator(frame) && place.is_open && comment.withheld.is_none()
        });
        if is_usual {
            frame.note_item_button();
            fragment.fill_usual(html, self.filling(frame));
        } else {
            fragment.fill(html, self.filling(frame));
        }
    }

    /// The function that fills the placeholders.
    fn filling(&self, frame: &Frame<'_>) -> impl Fn(CommentPlaceholder, &mut String) {
        let Self { place, line, marks, .. } = self;
        let comment = line.comment;
        move |placeholder, html| match placeholder {
            CommentPlaceholder::New if marks.is_new => html.push_str(" is-new"),
            CommentPlaceholder::New => {}
            CommentPlaceholder::Buttons if place.news_deleted => NO_BUTTONS.render_to(html),
            CommentPlaceholder::Buttons => {
                let my_vote = frame.viewer.and_then(|viewer| comment.vote_of(viewer.id));
                let address = CommentAddress { news: place.news, comment: comment.id };
                vote_buttons(frame, VoteTarget::Comment(address, line.username), my_vote).render_to(html);
            }
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
            CommentPlaceholder::EditAge => {
                ago(frame.now, comment.edited_at.unwrap_or_default()).render_to(html);
            }
            CommentPlaceholder::Links => {
                CommentLinks::of(frame, *place, comment).on(place.news, comment.id).render_to(html);
                let thing = Thing::Comment(CommentAddress { news: place.news, comment: comment.id });
                menu_link(frame, &thing, comment.user_id).render_to(html);
            }
        }
    }
}
/// The replacement for a comment that the viewer does not see: when it was written, and why it is
/// not shown.
fn collapsed_markup(
    frame: &Frame<'_>,
    (place, comment): (CommentContext, &Comment),
    why: Collapsed,
    addresses: &CommentAddresses,
) -> Markup {
    let anchor = place.anchor(comment.id).render().into_string();
    html! {
        div #{ (place.news.0) "-" (comment.id.0) } {
            div.meta { a.permalink href=(addresses.permalink) data-open { (age(frame, comment.ctime)) } }
            (addresses.jumps())
            p.gone { (stand_in(why, comment.withheld.as_ref(), Kind::Comment)) (show_link(frame, why, &anchor)) }
        }
    }
}

/// A comment with its vote buttons. The usual content of the placeholders is for most members. Without the
/// others, it depends on the settings of the frame, on [`ButtonPair::of_members`] and on where links open.
pub fn comment_markup(
    frame: &Frame<'_>,
    (news, line): (NewsId, Seen<ThreadLine<'_>>),
    addresses: &CommentAddresses,
    slots: &Slots<'_, CommentPlaceholder>,
) -> Markup {
    let comment = line.comment;
    let buttons = ButtonPair::of_members(frame);
    let address = CommentAddress { news, comment: comment.id };
    html! {
        article class={ "item comment" (slots.at(CommentPlaceholder::New)) } data-item {
            @if comment.state().is_open() {
                (slots.usually(CommentPlaceholder::Buttons, buttons.on(frame, VoteTarget::Comment(address, line.username))))
            } @else {
                (NO_BUTTONS)
            }
            (text_markup(frame, (news, line), addresses, slots))
        }
    }
}

/// A comment without its vote buttons.
fn text_markup(
    frame: &Frame<'_>,
    (news, line): (NewsId, Seen<ThreadLine<'_>>),
    addresses: &CommentAddresses,
    slots: &Slots<'_, CommentPlaceholder>,
) -> Markup {
    let ThreadLine { comment, username, .. } = *line;
    let age = age_as(comment.ctime, slots.at(CommentPlaceholder::Age));
    let body = frame.settings.site.with_moved_links(line.body());
    let usual_links = CommentLinks { reply: true, flag: true, edit: false, delete: false };
    html! {
        // The original's id of a comment, so that links to it find it here.
        div #{ (news.0) "-" (comment.id.0) } {
            div.meta {
                h3 { (author(username)) }
                @if comment.speaks_as_moderator { " " span.tag.staff { (t!("moderator")) } }
                (slots.at(CommentPlaceholder::Marks)) " · "
                a.permalink href=(addresses.permalink) data-open { (age) }
                @if let Some(edited) = comment.edited_at {
                    @let age = age_as(edited, slots.at(CommentPlaceholder::EditAge));
                    " · " (t!("edited {age}", age))
                }
                @let [up, down] = comment.votes();
                @if [up, down] == [1, 0] {
                    (slots.usually(CommentPlaceholder::OwnVote, own_vote(false)))
                } @else {
                    " · " (vote_counts(up, down))
                }
            }
            (addresses.jumps())
            div.text.formatted dir="auto" { (markdown(&body, frame.link_target())) }
            div.actions { (slots.usually(CommentPlaceholder::Links, usual_links.on(news, comment.id))) }
        }
    }
}

/// The one vote on a comment, which tells others than its author nothing. The script shows the count
/// when there is another vote.
fn own_vote(is_author: bool) -> impl Render {
    let count = vote_counts(1, 0);
    written(move |html| {
        if is_author {
            html.push_str(" · ");
            count.render_to(html);
        } else {
            html.push_str("<span hidden> · ");
            count.render_to(html);
            html.push_str("</span>");
        }
    })
}

/// The actions on a comment that a viewer has links to.
#[derive(Clone, Copy)]
struct CommentLinks {
    reply: bool,
    flag: bool,
    edit: bool,
    delete: bool,
}

impl CommentLinks {
    fn of(frame: &Frame<'_>, place: CommentContext, comment: &Comment) -> Self {
        let window = frame.rules.limits.comment_edit_seconds;
        let viewer = frame.viewer.filter(|_| !comment.deleted);
        Self {
            reply: comment.state().is_open() && place.is_open,
            flag: comment.state().is_open() && viewer.is_some_and(|viewer| viewer.id != comment.user_id),
            edit: place.is_open
                && viewer.is_some_and(|viewer| comment.may_edit(viewer, frame.now, window).is_ok()),
            delete: viewer.is_some_and(|viewer| comment.may_delete(viewer, frame.now, window).is_ok()),
        }
    }

    fn on(self, news: NewsId, id: CommentId) -> Markup {
        html! {
            @if self.reply { " " a href={ "/reply/" (news.0) "/" (id.0) } rel="nofollow" { (t!("verb" => "reply")) } }
            @if self.flag { " " a href={ "/flag/comment/" (news.0) "-" (id.0) } rel="nofollow" { (t!("verb" => "flag")) } }
            @if self.edit { " " a href={ "/editcomment/" (news.0) "/" (id.0) } { (t!("edit")) } }
            @if self.delete { " " a href={ "/editcomment/" (news.0) "/" (id.0) "#delete" } { (t!("delete")) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{COMMENT_IDS, COMMENT_MARKUP_BYTES, COMMENT_NAMES, LISTED_COMMENT_BYTES};
    use crate::markup::test_support::{NOW, framed, user};
    use tidings_domain::accounts::seen::ShownIn;
    use tidings_domain::values::{LONGEST_STORED_USERNAME, size};

    /// The bytes of a comment with this id, on a story with this id, in its thread and alone. User
    /// 1 has voted, user 2 can vote.
    fn bytes_of(id: &str, viewer: &str, name: &str) -> (usize, usize) {
        let json = serde_json::json!({
            "body": "", "ctime": NOW.0, "user_id": 1, "parent_id": id.parse::<u64>().unwrap(),
            "up": vec![1; 10_000], "down": vec![1; 10_000], "as": "moderator", "edited_at": NOW.0,
        });
        let comment = Comment::from_field(NewsId(12), id, &json.to_string()).unwrap();
        let news = NewsId(id.parse().unwrap());
        let place = CommentContext { news, news_deleted: false, is_open: true, among_others: true };
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
            let item = CommentItem { place, line: Seen::by_visitors(line, ShownIn::List).unwrap(), marks };
            let mut html = item.render(frame, &addresses).into_string();
            // The branch in the list, with the name of its author. Its text has its own room.
            name.render_to(&mut html);
            html
        });
        let branch = 200;
        // A button that takes a vote back has some attributes more.
        let longer = 80;
        let alone = framed(Some(&admin), |frame| {
            comment_item(frame, place, Viewed::Whole(Seen::by_visitors(line, ShownIn::List).unwrap()), 7)
                .render()
        });
        (html.len() + branch + longer, alone.into_string().len() + longer)
    }

    #[test]
    fn cached_markup_is_what_each_viewer_sees() {
        let [author, voter, other] = ["1", "2", "3"].map(|id| user(id, "viewer", ""));
        for (up, news_deleted) in [(vec![1], false), (vec![1, 2], false), (vec![1, 2], true)] {
            let json = serde_json::json!({
                "body": "text", "ctime": NOW.0, "user_id": 1, "parent_id": -1, "up": up,
            });
            let comment = Comment::from_field(NewsId(12), "7", &json.to_string()).unwrap();
            let place =
                CommentContext { news: NewsId(5), news_deleted, is_open: !news_deleted, among_others: false };
            let line = ThreadLine { comment: &comment, depth: 0, username: Some("alice") };
            let line = Seen::by_visitors(line, ShownIn::List).unwrap();
            for viewer in [None, Some(&author), Some(&voter), Some(&other)] {
                for is_new in [false, true] {
                    let marks = CommentMarks { is_new, by_story_author: is_new };
                    let item = CommentItem { place, line, marks };
                    let addresses = CommentAddresses::alone(place.news, &comment);
                    let (cached, made) = framed(viewer, |frame| {
                        let fragment = Fragment::new(|slots| {
                            comment_markup(frame, (place.news, line), &addresses, slots)
                        });
                        let mut html = String::new();
                        item.fill(&mut html, frame, &fragment);
                        (html, item.render(frame, &addresses).into_string())
                    });
                    assert_eq!(cached, made);
                }
            }
        }
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
