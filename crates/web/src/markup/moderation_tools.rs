//! The tools of moderators on the pages of what they moderate: the forms, and the line that says what was done,
//! with a button that undoes it.
//!
//! Posts have a [`menu_link`] where they stand. Its page has [`ActionForms`], which redirect to the page of the post, or with
//! the script to the page that had the link; the layout shows [`done_line`] there.

use super::addresses::{comment_address, line_address, news_address, profile_address, tweet_address};
use super::frame::Frame;
use crate::request::LocalPath;
use maud::{Markup, Render, html};
use tidings_domain::moderation::log::{self, LogEntry};
use tidings_domain::values::{
    Action, CommentAddress, FlagVerdict, MAX_REASON, ModerationId, NewsId, SitePart, Thing, UserId,
};
use tidings_domain::{Error, Role, Visit};
use tidings_language::{n, t};

/// The parameter of a page that names the line of the log that was just written. The words come from the line.
pub const DONE: &str = "moderated";

/// Whether the viewer is a moderator or an administrator.
pub fn is_moderator(frame: &Frame<'_>) -> bool {
    frame.viewer.is_some_and(|viewer| viewer.role() >= Role::Moderator)
}

/// Whether the viewer may have tools for something by this author. Whether the author has a
/// higher role is known when the form is sent.
pub fn may_moderate(frame: &Frame<'_>, author: UserId) -> bool {
    is_moderator(frame) && frame.viewer.is_some_and(|viewer| viewer.id != author)
}

/// The link of a moderator to the menu of a post by this author. Administrators can erase their own posts.
pub fn menu_link(frame: &Frame<'_>, thing: &Thing, author: UserId) -> Markup {
    let is_administrator = frame.viewer.is_some_and(|viewer| viewer.role() == Role::Administrator);
    html! {
        @if is_administrator || may_moderate(frame, author) {
            " " a href={ "/moderate/menu/" (thing.kind()) "/" (thing.id()) } rel="nofollow" data-menu { (t!("moderate")) }
        }
    }
}

/// The forms that do one of some actions to a thing: a button for each, and a form of its own for each that takes more than
/// what all take.
pub struct ActionForms<'a> {
    /// The actions.
    pub actions: &'a [Action],
    /// The fields that an action takes beside a reason, if it has a form of its own.
    pub own: &'a dyn Fn(Action) -> Option<Markup>,
    /// The fields that all others take.
    pub common: Markup,
    /// The address to go to afterwards.
    pub next: &'a str,
}

impl ActionForms<'_> {
    /// The forms.
    pub fn render(&self, frame: &Frame<'_>, thing: &Thing) -> Markup {
        let plain: Vec<Action> =
            self.actions.iter().copied().filter(|action| (self.own)(*action).is_none()).collect();
        html! {
            @if !plain.is_empty() { (self.form(frame, thing, (&plain, &self.common))) }
            @for action in self.actions {
                @if let Some(fields) = (self.own)(*action) {
                    details.tools {
                        summary { (action.button()) }
                        (self.form(frame, thing, (&[*action], &fields)))
                    }
                }
            }
        }
    }

    fn form(&self, frame: &Frame<'_>, thing: &Thing, (actions, fields): (&[Action], &Markup)) -> Markup {
        let is_private = actions.iter().any(|action| action.facts().is_private);
        let needs_none = |action: &Action| action.facts().needs_no_reason;
        html! {
            form.form.moderation-form method="post" action="/moderate" {
                (thing_fields(frame, thing))
                (frame.form_page())
                input type="hidden" name="next" value=(self.next);
                (fields)
                @if !actions.iter().all(needs_none) {
                    (reason_field(if is_private { t!("Note (for moderators only)") } else { t!("Reason (public)") }, ""))
                }
                (anonymous_box())
                div.buttons {
                    @for action in actions {
                        @let facts = action.facts();
                        @let is_grave = facts.verdict == Some(FlagVerdict::Upheld) && facts.can_be_appealed;
                        button.button.grave[is_grave] name="action" value=(facts.name) formnovalidate[facts.needs_no_reason] {
                            (action.button())
                        }
                        " "
                    }
                }
            }
        }
    }
}

/// The hidden fields of a form about a thing.
pub fn thing_fields(frame: &Frame<'_>, thing: &Thing) -> Markup {
    html! {
        (frame.signed_fields())
        input type="hidden" name="kind" value=(thing.kind());
        input type="hidden" name="id" value=(thing.id());
    }
}

/// A field of a form for moderators, inside its label.
pub fn field(label: &str, (name, value): (&str, &str), hint: Option<&str>) -> Markup {
    html! {
        label {
            span { (label) }
            input type="text" name=(name) value=(value);
            @if let Some(hint) = hint { span.hint { (hint) } }
        }
    }
}

/// The field for a reason, with the reasons that moderators have at hand.
pub fn reason_field(label: &str, value: &str) -> Markup {
    html! {
        label {
            span { (label) }
            input type="text" name="reason" value=(value) maxlength=(MAX_REASON) list=(REASONS) required;
        }
    }
}

/// The box with which moderators are not named.
pub fn anonymous_box() -> Markup {
    html! {
        label.choice {
            input type="checkbox" name="anonymous" value="1";
            " " (t!("Sign as “a moderator” in the moderation log"))
        }
    }
}

/// The id of the reasons that fields for reasons offer, for their attribute `list`.
pub const REASONS: &str = "reasons";

/// The reasons that fields for reasons offer to moderators; nothing for others.
pub fn saved_reasons(frame: &Frame<'_>) -> Markup {
    html! {
        @if is_moderator(frame) {
            datalist id=(REASONS) {
                @for reason in frame.brand.reasons.all() { option value=(reason.text) label=(reason.title) {} }
            }
        }
    }
}

/// The thing of an entry of the log, with a link.
pub fn target(entry: &LogEntry) -> Markup {
    let story = |id: NewsId, title: Option<&str>| {
        html! {
            @match title {
                Some(title) => {
                    (t!("“{title}”", title = html! { a href=(news_address(id)) dir="auto" { (title) } }))
                }
                None => (t!("story {id}", id = html! { a href=(news_address(id)) { (id) } })),
            }
        }
    };
    html! {
        @match &entry.thing {
            Thing::Story(id) => {
                @let from = by_author(story(*id, entry.title.as_deref()), entry);
                @match &entry.into {
                    Some((into, title)) => (t!("{story} into {other}", story = from, other = story(*into, title.as_deref()))),
                    None => (from),
                }
            }
            Thing::Comment(address) => {
                @let link = html! {
                    a href=(comment_address(*address)) { (t!("comment {id}", id = address.comment.to_string())) }
                };
                @let story = match &entry.title {
                    Some(title) => t!("“{title}”", title = html! { bdi { (title) } }),
                    None => t!("story {id}", id = address.news.to_string()),
                };
                (t!("{comment} on {story}", comment = by_author(link, entry), story))
            }
            Thing::Tweet(id) => {
                (by_author(html! { a href=(tweet_address(*id)) { (t!("post {id}", id = id.to_string())) } }, entry))
            },
            Thing::User(name) => a.author href=(profile_address(name, "")) { (name) },
            Thing::Appeal(id) => (t!("the appeal against {entry}", entry = line_link(*id, ""))),
            Thing::Application(_) | Thing::Message(_) | Thing::Rule(_) | Thing::Origin(_) | Thing::Site(_) => {
                (target_name(entry))
            }
        }
    }
}

/// A thing with its author, if the entry names them.
fn by_author(thing: Markup, entry: &LogEntry) -> Markup {
    let Some(author) = &entry.author else { return thing };
    let author = html! { a.author href=(profile_address(author, "")) { (author) } };
    t!("{thing} by {author}", thing, author).render()
}

/// The line at the top of a page to which a form for moderators has redirected: what was done is
/// in the log, and how to undo it.
pub fn done_line(frame: &Frame<'_>) -> Markup {
    html! {
        @if let Some(done) = &frame.done {
            div.notice.undo role="status" {
                span {
                    @let entry = line_link(done.id, " of the log");
                    @if done.undoes.is_some() {
                        (t!("Undone: {thing} is as it was before. See {entry}.", thing = target(done), entry))
                    } @else {
                        (t!("Done: {deed}. See {entry}.", deed = done.action.sentence(None::<&str>, target(done)), entry))
                    }
                    @if let (Action::Ban, Thing::User(banned)) = (done.action, &done.thing) {
                        @let step = html! {
                            a href=(profile_address(banned, "/invited")) { (t!("See who they invited")) }
                        };
                        " " (t!("{step}.", step))
                    }
                }
                // Undoing an undo is for the log: here it would do again what somebody has just taken back.
                @if done.can_be_undone && done.undoes.is_none() { (undo_form(frame, done.id)) }
            }
        }
    }
}

/// The line of the log that a page names, if its viewer has just written it.
///
/// # Errors
/// The store's.
pub async fn line_just_written(visit: &mut Visit, here: &LocalPath) -> Result<Option<LogEntry>, Error> {
    match here.parameter(DONE).and_then(|id| id.parse().ok()) {
        Some(id) => log::just_written(visit, id).await,
        None => Ok(None),
    }
}

/// The name of a thing where its title is not known.
pub fn thing_name(thing: &Thing) -> String {
    match thing {
        Thing::Story(id) => t!("story {id}", id = id.to_string()).into(),
        Thing::Comment(CommentAddress { news, comment }) => {
            t!("comment {comment} of story {news}", comment = comment.to_string(), news = news.to_string())
                .into()
        }
        Thing::Tweet(id) => t!("post {id}", id = id.to_string()).into(),
        Thing::User(name) => name.to_string(),
        Thing::Application(name) => t!("the application of {name}", name = name.to_string()).into(),
        Thing::Appeal(id) => t!("the appeal against entry {id}", id = id.to_string()).into(),
        Thing::Message(id) => t!("messages {id} to the moderators", id = id.to_string()).into(),
        Thing::Rule(id) => t!("rule {id}", id = id.to_string()).into(),
        Thing::Origin(id) => t!("ban {id} of a network or a domain", id = id.to_string()).into(),
        Thing::Site(SitePart::Announcement) => t!("the announcement").into(),
        Thing::Site(SitePart::Reasons) => t!("the saved reasons").into(),
        Thing::Site(SitePart::Hooks) => t!("the webhooks").into(),
        Thing::Site(SitePart::Readers) => t!("who can read the site").into(),
        Thing::Site(SitePart::Signups) => t!("sign-ups").into(),
        Thing::Site(SitePart::YoungPosts) => t!("the posts of young accounts").into(),
        Thing::Site(SitePart::People) => t!("several people").into(),
    }
}

/// The same for the thing of a line of the log, which knows how many people a batch is about.
pub fn target_name(entry: &LogEntry) -> String {
    match (&entry.thing, entry.count) {
        (Thing::Site(SitePart::People), Some(count)) => n!(count, "{count} person", "{count} people").into(),
        (thing, _) => thing_name(thing),
    }
}

/// The form that undoes a line of the log.
pub fn undo_form(frame: &Frame<'_>, id: ModerationId) -> Markup {
    html! {
        form.inline method="post" action="/moderate/undo" {
            (frame.signed_fields())
            (frame.form_page())
            input type="hidden" name="next" value=(frame.way_back);
            input type="hidden" name="moderation_id" value=(id);
            (reason_field(t!("Why undo it?"), t!("A mistake")))
            button.button.small { (t!("button" => "Undo")) }
        }
    }
}

/// A link to an entry of the log, with more words behind its number.
pub fn line_link(id: ModerationId, more: &str) -> Markup {
    let number = id.to_string();
    let words = match more {
        " of the log" => t!("entry {number} of the log", number),
        " of the moderation log" => t!("entry {number} of the moderation log", number),
        _ => t!("entry {number}", number),
    };
    html! { a href=(line_address(id)) { (words) } }
}
