//! Appeals against decisions of moderators, and what somebody reads who is banned.

use super::form::AppealForm;
use super::messages;
use crate::features::sessions::second_factors::code_field;
use crate::markup::addresses::appeal_address;
use crate::markup::dates::to_the_minute;
use crate::markup::moderation_tools::line_link;
use crate::markup::parts::age;
use crate::markup::{Field, Frame, Member, Page};
use crate::request::{Call, DONE, DoneResponse, Fields, LocalPath, PathOf, ShownAgain, SignedFields};
use crate::{App, RequestError, Result};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Json};
use maud::{Markup, html};
use tidings_domain::Visit;
use tidings_domain::accounts::log_in::Credentials;
use tidings_domain::moderation::appeals::{self, Appeal, DecisionFacts};
use tidings_domain::values::{MAX_APPEAL, ModerationId, Timestamp};
use tidings_language::{Message, Phrase, m, t};

const HEADING: &Message = m!("heading" => "Appeal");

/// The form of an appeal, for somebody in a session, or for a stranger, who also enters what a login takes.
fn appeal_form(frame: &Frame<'_>, id: ModerationId, stranger: Option<Stranger<'_>>) -> Markup {
    let most = MAX_APPEAL.to_string();
    let text = Field::new("text", t!("What should we reconsider, and why?")).required();
    let text = text
        .with("rows", "6")
        .with("maxlength", &most)
        .with("dir", "auto")
        .hint(t!("You can appeal against a decision once. Another moderator will read what you write."));
    html! {
        form.form method="post" action="/appeal" {
            (frame.signed_fields())
            (frame.form_page())
            input type="hidden" name="moderation_id" value=(id);
            (text.text_area())
            @if let Some(stranger) = stranger { (login_fields(stranger)) }
            button.button { (t!("Send appeal")) }
        }
    }
}

/// Somebody without a session, who is banned.
#[derive(Clone, Copy)]
pub struct Stranger<'a> {
    /// The name.
    pub username: &'a str,
    /// Whether the account has a second factor.
    pub has_second_factor: bool,
    /// The ticket of somebody who comes from the provider, in place of a password.
    pub ticket: Option<&'a str>,
}

impl<'a> Stranger<'a> {
    /// The sender of a refused form, if it was sent without a session.
    pub(super) fn of_form(ShownAgain { fields, failure }: &'a ShownAgain) -> Option<Self> {
        let needs_code = failure.as_ref().is_some_and(RequestError::needs_code);
        let has_second_factor = fields.get("code").is_some() || needs_code;
        fields.get("username").map(|username| Self { username, has_second_factor, ticket: None })
    }
}

/// The fields with which somebody without a session proves who they are.
pub(super) fn login_fields(stranger: Stranger<'_>) -> Markup {
    let password = Field::new("password", t!("Your password")).with("autocomplete", "current-password");
    html! {
        input type="hidden" name="username" value=(stranger.username);
        @match stranger.ticket {
            Some(ticket) => input type="hidden" name="password" value=(ticket);,
            None => (password.required().password()),
        }
        @if stranger.has_second_factor {
            (code_field(
                t!("A new code"),
                html! { (t!("The six digits that your authenticator app shows now, or a recovery code.")) },
            ))
        }
    }
}

/// GET /appeal/:id: the decision, and the form or the appeal.
pub async fn form(PathOf(id): PathOf<ModerationId>, mut page: Page<Member>) -> Result<Markup> {
    let decision = appeals::decision_about(&mut page.visit, page.user.id, id).await?;
    let frame = page.frame().await?;
    Ok(decision_page(&frame, &decision))
}

fn decision_page(frame: &Frame<'_>, decision: &DecisionFacts) -> Markup {
    let deed = (decision.action.facts().told)(&decision.thing).unwrap_or_default();
    let content = html! {
        p { (t!("{deed} {age}.", deed, age = age(frame, decision.time))) }
        @if !decision.reason.is_empty() { blockquote.text dir="auto" { p { (decision.reason) } } }
        @if let Some(until) = decision.until { p { (ends(until, frame.now)) } }
        p.hint { (t!("This is {entry}.", entry = decision_link(decision.id))) }
        @match (&decision.appeal, &decision.refusal) {
            (Some(appeal), _) => (sent(frame, appeal)),
            (None, Some(refusal)) => p.notice { (crate::error::refusals::refusal(refusal)) },
            (None, None) => (appeal_form(frame, decision.id, None)),
        }
        p { a.action href={ "/moderators?moderation_id=" (decision.id) } { (t!("Write to the moderators about it")) } }
    };
    frame.headed(HEADING.text(), &content)
}

fn ends(until: Timestamp, now: Timestamp) -> Phrase<'static> {
    let time = to_the_minute(until);
    if until > now { t!("It ends {time}.", time) } else { t!("It ended {time}.", time) }
}

/// A link to the line of a decision in the log.
pub(super) fn decision_link(id: ModerationId) -> Markup {
    line_link(id, " of the moderation log")
}

/// An appeal that was sent, for who has sent it.
fn sent(frame: &Frame<'_>, appeal: &Appeal) -> Markup {
    let outcome = match (appeal.decided_by, appeal.granted) {
        (None, _) => t!("appeal" => "It is waiting for a moderator. You will get the answer in your inbox."),
        (Some(_), true) => t!("appeal" => "It was granted."),
        (Some(_), false) => t!("appeal" => "It was rejected."),
    };
    html! {
        h2 { (t!("Your appeal")) }
        p { (t!("You have appealed {age}.", age = age(frame, appeal.time))) " " (outcome) }
        blockquote.text dir="auto" { p.log-reason { (appeal.text) } }
        @if let Some(by) = appeal.decided_by { p.hint { (t!("Decided by {entry}.", entry = decision_link(by))) } }
    }
}

/// POST /appeal: moderation_id, text, and apisecret or username, password and code.
pub async fn send(Page { app, visit, here, .. }: Page, call: Call, fields: Fields) -> Result<Response> {
    let is_stranger = fields.get("username").is_some();
    let id = appeal(&app, visit, fields, &call).await?;
    if is_stranger {
        return Ok(sent_without_session(&app, &here).await);
    }
    Ok(Redirect::to(&appeal_address(id)).into_response())
}

/// The page of a refused appeal of somebody without a session.
pub async fn again(app: App, here: LocalPath, Extension(again): Extension<ShownAgain>) -> Result<Markup> {
    let stranger = Some(Stranger::of_form(&again).ok_or(RequestError::NotFound)?);
    let id = again.fields.parsed("moderation_id", m!("it must be the number of an entry of the log"))?;
    let frame = Frame::anonymous(&app, &here).await;
    let content = html! {
        p { (t!("The decision is {entry}.", entry = decision_link(id))) }
        (appeal_form(&frame, id, stranger))
    };
    Ok(frame.headed(HEADING.text(), &content))
}

/// The page after an appeal from somebody who cannot log in.
async fn sent_without_session(app: &App, here: &LocalPath) -> Response {
    let frame = Frame::anonymous(app, here).await;
    let content = html! {
        p.notice role="status" {
            (t!("Another moderator will read it. If your account has an e-mail address, we'll mail you the answer."))
        }
        p { (t!("If the ban is lifted, you can log in again.")) }
        p { a.action href="/" { (t!("Go to the front page")) } }
    };
    frame.headed(t!("Your appeal has been sent"), &content).into_response()
}

/// The page for somebody who has shown what a login takes but is banned, with the form to appeal. The refusal, which is
/// shown above it, says why, and until when.
pub async fn banned_page(app: &App, here: &LocalPath, id: ModerationId, stranger: Stranger<'_>) -> Markup {
    let thread = messages::newest_of_banned(app, stranger.username).await;
    let frame = Frame::anonymous(app, here).await;
    let messages = messages::for_banned(&frame, stranger, thread.as_ref());
    let content = html! {
        @if !frame.is_shut() {
            p { (t!("You can still read without logging in. This is {entry}.", entry = decision_link(id))) }
        }
        h2 { (HEADING.text()) }
        (appeal_form(&frame, id, Some(stranger)))
        (messages)
    };
    frame.headed(t!("You can't log in"), &content)
}

/// Appeals against a decision, for both the form and the API: in a session, or with what a login takes for who cannot
/// have one.
pub(crate) async fn appeal(app: &App, mut visit: Visit, fields: Fields, call: &Call) -> Result<ModerationId> {
    let form: AppealForm = fields.read()?;
    let (site, now, id) = (&app.site, app.moment(), form.moderation_id);
    if visit.recognise().await?.is_some() {
        let SignedFields { user, .. } = SignedFields::sign(visit, fields, call).await?;
        user.once(site, appeals::appeal(site, now, &user, id, &form.text)).await?;
    } else {
        let who = (&credentials(&fields)?, call.device.address);
        appeals::appeal_without_session(site, now, who, (id, &form.text)).await?;
    }
    Ok(id)
}

/// The credentials of a login, as they were typed into a form without a session.
pub(super) fn credentials(fields: &Fields) -> Result<Credentials<'_>> {
    let [username, password] = ["username", "password"].map(|name| fields.get(name));
    let (username, password) = username.zip(password).ok_or(RequestError::LoginRequired)?;
    Ok(Credentials { username, password, code: fields.get("code") })
}

/// POST /api/appeal.
pub async fn call(Page { app, visit, .. }: Page, call: Call, fields: Fields) -> Result<Json<DoneResponse>> {
    appeal(&app, visit, fields, &call).await?;
    Ok(Json(DONE))
}
