//! The reasons that moderators have at hand: the list, and changing it.

use super::form::switch;
use crate::error::{RequestError, Result};
use crate::features::action::{Action, ActionEntry};
use crate::markup::moderation_tools::field;
use crate::markup::{Frame, Moderator, Page};
use crate::request::form::{form, optional, parsed, text_or_empty};
use crate::request::{Fields, answer};
use crate::route::LONG;
use axum::Json;
use maud::{Markup, html};
use tidings_domain::moderation::{ModerationRequest, moderate, saved_reasons};
use tidings_domain::values::{
    Deed, MAX_REASON, MAX_SAVED_REASONS, ModerationId, Reason, ReasonChange, SavedReason, SavedReasons,
    SitePart, Thing,
};
use tidings_domain::{Error, Visit};
use tidings_language::{m, t};

/// The address of the page.
const ADDRESS: &str = "/moderate/reasons";

form! {
    /// A reason to add; with a number, one to change or to remove.
    pub struct ReasonForm as ReasonChange, check {
        /// The number of the reason to change or to remove; missing to add one.
        pub reason_id: Option<u64> = optional(parsed(m!("it must be the number of a reason"))), values::Id, required = false;
        /// `1` to remove it.
        pub remove: bool = switch, values::Switch, required = false;
        /// Its name in the list; required, except to remove one.
        pub title: String = text_or_empty, values::ReasonTitle, required = false;
        /// The text; required, except to remove one.
        pub text: String = text_or_empty, values::Reason, required = false;
        /// The rule of the site that it is about, as the log names it with a link to the rules; may be empty.
        pub rule: String = text_or_empty, values::ReasonRule, required = false;
    }
}

impl ReasonForm {
    fn check(&self, fields: &Fields) -> Result<()> {
        if !self.remove {
            fields.required("title")?;
            fields.required("text")?;
        }
        self.change().map(drop)
    }

    fn change(&self) -> Result<ReasonChange> {
        let Self { reason_id, remove, title, text, rule } = self;
        if *remove {
            return Ok(ReasonChange::Remove(reason_id.ok_or(RequestError::missing("reason_id"))?));
        }
        let reason = SavedReason::parse(reason_id.unwrap_or(0), title, text, rule).map_err(Error::from)?;
        Ok(if reason_id.is_some() { ReasonChange::Replace(reason) } else { ReasonChange::Add(reason) })
    }
}

answer! {
    /// The reasons that moderators have at hand.
    pub struct ReasonsResponse as SavedReasons from (reasons: &SavedReasons) {
        status;
        reasons: Vec<ReasonEntry> = reasons.all().iter().cloned().map(ReasonEntry::from).collect();
    }

    /// A reason that moderators have at hand.
    pub struct ReasonEntry as SavedReason from (reason: SavedReason) {
        /// Its number.
        reason_id: u64 = reason.id;
        /// Its name in the list.
        title: String = reason.title;
        /// The text.
        text: String = reason.text;
        /// The rule of the site that it is about; may be empty.
        rule: String = reason.rule;
    }

    /// A change of the reasons.
    pub struct ReasonChangedResponse as ReasonChanged from (id: ModerationId) {
        status;
        /// The line in the log.
        moderation_id: u64 = id.0;
    }
}

/// GET /api/moderate/reasons.
pub async fn list(mut visit: Visit) -> Result<Json<ReasonsResponse>> {
    Ok(Json(ReasonsResponse::from(&saved_reasons::all(&mut visit).await?)))
}

/// GET /moderate/reasons: reason_id, the reason whose form is open.
pub async fn page(Page { app, mut visit, here, .. }: Page<Moderator>, fields: Fields) -> Result<Markup> {
    let open: Option<u64> = optional(parsed(m!("it must be the number of a reason")))(&fields, "reason_id")?;
    let reasons = saved_reasons::all(&mut visit).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let open = reasons.all().iter().find(|reason| Some(reason.id) == open);
    let content = html! {
        p {
            (t!(
                "These texts are suggested wherever moderators give a reason. They can be changed before they are sent. The log names the rule, with a link to the {rules}.",
                rules = html! { a href="/about#rules" { (t!("rules")) } },
            ))
        }
        @if !reasons.all().is_empty() { (table(reasons.all())) }
        @if let Some(reason) = open {
            h2 #edit { (t!("Change “{title}”", title = html! { bdi { (reason.title) } })) }
            (reason_form(&frame, open))
            p { a.action href=(ADDRESS) { (t!("Cancel")) } }
        } @else if reasons.all().len() < MAX_SAVED_REASONS {
            h2 { (t!("Add a reason")) }
            (reason_form(&frame, None))
        }
    };
    Ok(frame.headed(t!("Saved reasons"), &content))
}

fn table(reasons: &[SavedReason]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(t!("Saved reasons")) {
            table.reasons {
                thead { tr { th scope="col" { (t!("column" => "title")) } th scope="col" { (t!("column" => "text")) } th scope="col" { (t!("column" => "rule")) } th { span.hidden { (t!("column" => "change")) } } } }
                tbody {
                    @for reason in reasons {
                        tr {
                            th scope="row" dir="auto" { (reason.title) }
                            td dir="auto" { (reason.text) }
                            td dir="auto" { (reason.rule) }
                            td { a href={ (ADDRESS) "?reason_id=" (reason.id) "#edit" } { (t!("link" => "Change")) span.hidden { " " (reason.title) } } }
                        }
                    }
                }
            }
        }
    }
}

/// The form of a reason, or of a new one.
fn reason_form(frame: &Frame<'_>, reason: Option<&SavedReason>) -> Markup {
    let text = |part: fn(&SavedReason) -> &String| reason.map(part).map_or("", String::as_str);
    html! {
        form.form.narrow method="post" action=(ADDRESS) {
            (frame.signed_fields())
            (frame.form_page())
            @if let Some(reason) = reason { input type="hidden" name="reason_id" value=(reason.id); }
            (field(t!("Title"), ("title", text(|reason| &reason.title)), None))
            label {
                span { (t!("Text")) }
                textarea name="text" rows="3" maxlength=(MAX_REASON) { (text(|reason| &reason.text)) }
            }
            (field(t!("Rule (optional)"), ("rule", text(|reason| &reason.rule)), None))
            div.buttons {
                button.button { @if reason.is_some() { (t!("Save the reason")) } @else { (t!("Add the reason")) } }
                @if reason.is_some() { " " button.button.grave name="remove" value="1" { (t!("Remove the reason")) } }
            }
        }
    }
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once("/moderate/reasons", m!("Manage the saved reasons."), |app, by, form: &ReasonForm| {
            Box::pin(async move {
                let (deed, thing) = (Deed::SetReasons(form.change()?), Thing::Site(SitePart::Reasons));
                // The line of the log gets its reason from the effect: what has changed.
                let request = ModerationRequest::new(deed, thing, Reason::default());
                let changing = moderate(&app.site, app.moment(), by.user, &request);
                changing.await.map_err(RequestError::from)
            })
        })
        .described("Add, change or remove a reason that moderators have at hand (moderators only).")
        .answering(async |_, id| Ok(ReasonChangedResponse::from(id)))
        .then(LONG, |_, ()| ADDRESS.to_owned()),
    ]
}
