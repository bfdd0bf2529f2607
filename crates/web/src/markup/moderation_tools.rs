//! The tools of moderators on the pages of what they moderate: the forms, and the line that says what was done,
//! with a button that undoes it.
//!
//! A page offers [`tools`] with an [`ActionForm`] for each action. The form redirects to the page
//! that it was on, and the layout shows [`done_line`] there.

use super::addresses::profile_address;
use super::frame::Frame;
use maud::{Markup, html};
use tidings_domain::accounts::users::Role;
use tidings_domain::values::ids::{ModerationId, UserId};
use tidings_domain::values::limits::MAX_REASON;
use tidings_domain::values::moderation::{Action, Thing};

/// The parameter of a page that names the line of the log that was just written.
pub const DONE: &str = "moderated";

/// The parameter of a page that names the person who was just banned.
pub const BANNED: &str = "banned";

/// Whether the viewer is a moderator or an administrator.
#[must_use]
pub fn is_moderator(frame: &Frame<'_>) -> bool {
    frame.viewer.is_some_and(|viewer| viewer.role() >= Role::Moderator)
}

/// Whether the viewer may have tools for something by this author. Whether the author has a
/// higher role is known when the form is sent.
#[must_use]
pub fn may_moderate(frame: &Frame<'_>, author: UserId) -> bool {
    is_moderator(frame) && frame.viewer.is_some_and(|viewer| viewer.id != author)
}

/// The tools for a thing: forms that a moderator can open. Nothing for other viewers.
pub fn tools(frame: &Frame<'_>, summary: &str, forms: &Markup) -> Markup {
    html! {
        @if is_moderator(frame) {
            details.tools.moderation-tools {
                summary { (summary) }
                (forms)
            }
        }
    }
}

/// A form that does something to a thing.
pub struct ActionForm<'a> {
    /// What it does.
    pub action: Action,
    /// What it does, in words, for the heading and the button.
    pub label: &'a str,
    /// Whether it takes something away: then the button says so by its colour.
    pub grave: bool,
    /// What the action takes besides a reason.
    pub fields: Markup,
}

impl ActionForm<'_> {
    /// The form.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>, thing: &Thing) -> Markup {
        let (kind, id) = (thing.kind(), thing.id());
        html! {
            form.form.moderation-form method="post" action="/moderate" {
                fieldset {
                    legend { (self.label) }
                    (frame.signed_fields())
                    input type="hidden" name="kind" value=(kind);
                    input type="hidden" name="id" value=(id);
                    input type="hidden" name="next" value=(frame.way_back);
                    (self.fields)
                    (reason_field("Reason, which everybody can read", ""))
                    label.choice {
                        input type="checkbox" name="anonymous" value="1";
                        " Sign as “a moderator” in the public log"
                    }
                    button.button.grave[self.grave] name="action" value=(self.action.name()) { (self.label) }
                }
            }
        }
    }
}

/// A field of a form for moderators, inside its label.
#[must_use]
pub fn field(label: &str, (name, value): (&str, &str), hint: Option<&str>) -> Markup {
    html! {
        label {
            span { (label) }
            input type="text" name=(name) value=(value);
            @if let Some(hint) = hint { span.hint { (hint) } }
        }
    }
}

fn reason_field(label: &str, value: &str) -> Markup {
    html! {
        label {
            span { (label) }
            input type="text" name="reason" value=(value) maxlength=(MAX_REASON) required;
        }
    }
}

/// The line at the top of a page to which a form for moderators has redirected: what was done is
/// in the log, and how to undo it.
#[must_use]
pub fn done_line(frame: &Frame<'_>) -> Markup {
    let id: Option<ModerationId> = frame.here.parameter(DONE).and_then(|id| id.parse().ok());
    html! {
        @if let Some(id) = id.filter(|_| is_moderator(frame)) {
            div.notice.undo role="status" {
                span {
                    "Done: " (log_link(id)) " of the moderation log."
                    @if let Some(banned) = frame.here.parameter(BANNED).filter(|name| !name.is_empty()) {
                        " " a href=(profile_address(banned, "/invited")) { "Check whom they invited" } "."
                    }
                }
                (undo_form(frame, id))
            }
        }
    }
}

/// The form that undoes a line of the log.
#[must_use]
pub fn undo_form(frame: &Frame<'_>, id: ModerationId) -> Markup {
    html! {
        form.inline method="post" action="/moderate/undo" {
            (frame.signed_fields())
            input type="hidden" name="next" value=(frame.way_back);
            input type="hidden" name="moderation_id" value=(id);
            (reason_field("Reason to undo it", "A mistake"))
            button.button.small { "Undo" }
        }
    }
}

fn log_link(id: ModerationId) -> Markup {
    let before = id.0.saturating_add(1);
    html! { a href={ "/moderations?before=" (before) "#line-" (id) } { "line " (id) } }
}
