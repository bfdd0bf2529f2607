//! The tools of moderators on the pages of what they moderate: the forms, and the line that says what was done,
//! with a button that undoes it.
//!
//! Posts have a [`menu_link`] where they stand. Its page has [`ActionForms`], which redirect to the page of the post, or with
//! the script to the page that had the link; the layout shows [`done_line`] there.

use super::addresses::{comment_address, news_address, profile_address, tweet_address};
use super::frame::Frame;
use crate::request::local_path::LocalPath;
use maud::{Markup, html};
use tidings_domain::Error;
use tidings_domain::accounts::users::Role;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::moderation::log::{self, LogEntry};
use tidings_domain::values::words::counted;
use tidings_domain::values::{
    Action, FlagVerdict, MAX_REASON, ModerationId, NewsId, SitePart, Thing, UserId,
};

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
            " " a href={ "/moderate/menu/" (thing.kind()) "/" (thing.id()) } rel="nofollow" data-menu { "moderate" }
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
                        summary { (action.facts().button) }
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
                    (reason_field(if is_private { "Note (for moderators only)" } else { "Reason (public)" }, ""))
                }
                (anonymous_box())
                div.buttons {
                    @for action in actions {
                        @let facts = action.facts();
                        @let is_grave = facts.verdict == Some(FlagVerdict::Upheld) && facts.can_be_appealed;
                        button.button.grave[is_grave] name="action" value=(facts.name) formnovalidate[facts.needs_no_reason] {
                            (facts.button)
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

/// An action as a sentence: after the name of the moderator, or before it if the thing is the subject.
pub fn sentence(action: Action, moderator: Option<&Markup>, thing: &Markup) -> Markup {
    let past = action.facts().past;
    html! {
        @match past.split_once("{}").unwrap_or((past, "")) {
            ("", after) => { (thing) (after) @if let Some(moderator) = moderator { ", by " (moderator) } }
            (before, after) => { @if let Some(moderator) = moderator { (moderator) " " } (before) (thing) (after) }
        }
    }
}

/// The thing of an entry of the log, with a link.
pub fn target(entry: &LogEntry) -> Markup {
    let story = |id: NewsId, title: Option<&str>| {
        html! {
            @match title {
                Some(title) => { "“" a href=(news_address(id)) dir="auto" { (title) } "”" }
                None => { "story " a href=(news_address(id)) { (id) } }
            }
        }
    };
    html! {
        @match &entry.thing {
            Thing::Story(id) => {
                (story(*id, entry.title.as_deref())) (author_of(entry))
                @if let Some((into, title)) = &entry.into { " into " (story(*into, title.as_deref())) }
            }
            Thing::Comment(address) => {
                a href=(comment_address(*address)) { "comment " (address.comment) } (author_of(entry)) " on "
                @match &entry.title {
                    Some(title) => { "“" bdi { (title) } "”" }
                    None => { "story " (address.news) }
                }
            }
            Thing::Tweet(id) => { a href=(tweet_address(*id)) { "post " (id) } (author_of(entry)) },
            Thing::User(name) => a.author href=(profile_address(name, "")) { (name) },
            Thing::Appeal(id) => { "the appeal against " (line_link(*id, "")) },
            Thing::Application(_) | Thing::Message(_) | Thing::Rule(_) | Thing::Origin(_) | Thing::Site(_) => {
                (target_name(entry))
            }
        }
    }
}

fn author_of(entry: &LogEntry) -> Markup {
    html! {
        @if let Some(author) = &entry.author { " by " a.author href=(profile_address(author, "")) { (author) } }
    }
}

/// The line at the top of a page to which a form for moderators has redirected: what was done is
/// in the log, and how to undo it.
pub fn done_line(frame: &Frame<'_>) -> Markup {
    html! {
        @if let Some(done) = &frame.done {
            div.notice.undo role="status" {
                span {
                    @if done.undoes.is_some() {
                        "Undone: " (target(done)) " is as it was before"
                    } @else {
                        "Done: " (sentence(done.action, None, &target(done)))
                    }
                    ". See " (line_link(done.id, " of the log")) "."
                    @if let (Action::Ban, Thing::User(banned)) = (done.action, &done.thing) {
                        " " a href=(profile_address(banned, "/invited")) { "See who they invited" } "."
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
        Thing::Story(id) => format!("story {id}"),
        Thing::Comment(address) => format!("comment {} of story {}", address.comment, address.news),
        Thing::Tweet(id) => format!("post {id}"),
        Thing::User(name) => name.to_string(),
        Thing::Application(name) => format!("the application of {name}"),
        Thing::Appeal(id) => format!("the appeal against entry {id}"),
        Thing::Message(id) => format!("messages {id} to the moderators"),
        Thing::Rule(id) => format!("rule {id}"),
        Thing::Origin(id) => format!("ban {id} of a network or a domain"),
        Thing::Site(SitePart::Announcement) => "the announcement".to_owned(),
        Thing::Site(SitePart::Reasons) => "the saved reasons".to_owned(),
        Thing::Site(SitePart::Hooks) => "the webhooks".to_owned(),
        Thing::Site(SitePart::Readers) => "who can read the site".to_owned(),
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
            (reason_field("Why undo it?", "A mistake"))
            button.button.small { "Undo" }
        }
    }
}

/// A link to an entry of the log, with more words behind its number.
pub fn line_link(id: ModerationId, more: &str) -> Markup {
    let before = id.0.saturating_add(1);
    html! { a href={ "/moderations?before=" (before) "#line-" (id) } { "entry " (id) (more) } }
}
