//! The tools of moderators on the pages of what they moderate: the forms, and the line that says what was done,
//! with a button that undoes it.
//!
//! A page offers [`tools`] with an [`ActionForm`] for each action. The form redirects to the page
//! that it was on, and the layout shows [`done_line`] there.

use super::addresses::{address_of_thing, profile_address};
use super::frame::Frame;
use crate::request::local_path::LocalPath;
use maud::{Markup, html};
use tidings_domain::Error;
use tidings_domain::accounts::users::Role;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::moderation::log::{self, LogEntry};
use tidings_domain::values::words::counted;
use tidings_domain::values::{Action, MAX_REASON, ModerationId, SitePart, Thing, UserId};

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

/// The tools for a thing: forms that a moderator can open. Nothing for other viewers, and without forms.
pub fn tools(frame: &Frame<'_>, summary: &str, forms: &Markup) -> Markup {
    html! {
        @if is_moderator(frame) && !forms.0.is_empty() {
            details.tools.moderation-tools {
                summary { (summary) }
                (forms)
            }
        }
    }
}

/// A form that does one of some actions to a thing.
pub struct ActionForm<'a> {
    /// The actions with their words, the most usual first.
    pub actions: &'a [(Action, &'a str)],
    /// The fields of the actions besides a reason. A field that only some of them take is in an element
    /// with their names in `data-for`.
    pub fields: Markup,
}

impl ActionForm<'_> {
    /// The form.
    pub fn render(&self, frame: &Frame<'_>, thing: &Thing) -> Markup {
        html! {
            form.form.moderation-form method="post" action="/moderate" {
                (thing_fields(frame, thing))
                input type="hidden" name="next" value=(frame.way_back);
                @if self.actions.len() > 1 {
                    label {
                        span { "Action" }
                        select name="action" {
                            @for (action, words) in self.actions { option value=(action.name()) { (words) } }
                        }
                    }
                }
                (self.fields)
                @let is_noted = self.actions.iter().any(|(action, _)| *action == Action::Note);
                (reason_field(if is_noted { "Reason (public), or the note" } else { "Reason (public)" }, ""))
                (anonymous_box())
                @match self.actions {
                    [(action, words)] => button.button name="action" value=(action.name()) { (words) },
                    _ => button.button { "Do this" },
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
            " Sign as “a moderator” in the moderation log"
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

/// The line at the top of a page to which a form for moderators has redirected: what was done is
/// in the log, and how to undo it.
pub fn done_line(frame: &Frame<'_>) -> Markup {
    html! {
        @if let Some(done) = &frame.done {
            div.notice.undo role="status" {
                span {
                    "Done: " (done.action.facts().past) " "
                    a href=(address_of_thing(&done.thing)) {
                        @match &done.thing {
                            Thing::User(name) => (name),
                            _ => (target_name(done)),
                        }
                    }
                    " (" (line_link(done.id, "")) " of the moderation log)."
                    @if let (Action::Ban, Thing::User(banned)) = (done.action, &done.thing) {
                        " " a href=(profile_address(banned, "/invited")) { "Check whom they invited" } "."
                    }
                }
                @if done.can_be_undone { (undo_form(frame, done.id)) }
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
        Thing::Story(id) => format!("story {id}"),
        Thing::Comment(address) => format!("comment {} of story {}", address.comment, address.news),
        Thing::Tweet(id) => format!("post {id}"),
        Thing::User(name) => format!("profile of {name}"),
        Thing::Application(name) => name.to_string(),
        Thing::Appeal(id) => format!("against line {id}"),
        Thing::Message(id) => format!("messages {id} to the moderators"),
        Thing::Rule(id) => format!("rule {id}"),
        Thing::Origin(id) => format!("ban {id} of a network or a domain"),
        Thing::Site(SitePart::Announcement) => "the announcement".to_owned(),
        Thing::Site(SitePart::Reasons) => "the saved reasons".to_owned(),
        Thing::Site(SitePart::Hooks) => "the webhooks".to_owned(),
        Thing::Site(SitePart::Signups) => "sign-ups".to_owned(),
        Thing::Site(SitePart::YoungPosts) => "the posts of young accounts".to_owned(),
        Thing::Site(SitePart::People) => "several people".to_owned(),
    }
}

/// The same for the thing of a line of the log, which knows how many people a batch is about.
pub fn target_name(entry: &LogEntry) -> String {
    match (&entry.thing, entry.count) {
        (Thing::Site(SitePart::People), Some(count)) => counted(count, "person", "people"),
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
            (reason_field("Reason to undo it", "A mistake"))
            button.button.small { "Undo" }
        }
    }
}

/// A link to a line of the log, with more words behind its number.
pub fn line_link(id: ModerationId, more: &str) -> Markup {
    let before = id.0.saturating_add(1);
    html! { a href={ "/moderations?before=" (before) "#line-" (id) } { "line " (id) (more) } }
}
