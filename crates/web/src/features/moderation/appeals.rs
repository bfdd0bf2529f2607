//! Appeals against decisions of moderators, and what somebody reads who is banned.

use super::form::AppealForm;
use super::messages;
use crate::App;
use crate::error::RequestError;
use crate::features::sessions::second_factors::code_field;
use crate::markup::addresses::appeal_address;
use crate::markup::fields::{Field, RefusedForm, summary};
use crate::markup::frame::Frame;
use crate::markup::parts::age;
use crate::request::form::Fields;
use crate::request::local_path::LocalPath;
use crate::request::path::PathOf;
use crate::request::viewer::{Call, SignedFields, SignedIn};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::accounts::log_in::Credentials;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::moderation::appeals::{self, Appeal, DecisionFacts};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::day;
use tidings_domain::values::ids::ModerationId;
use tidings_domain::values::limits::MAX_APPEAL;

const HEADING: &str = "Appeal";

/// The form of an appeal.
struct AppealFields<'a> {
    id: ModerationId,
    text: &'a str,
    /// Somebody without a session, who also enters what a login takes.
    stranger: Option<Stranger<'a>>,
    refused: Option<&'a RefusedForm>,
}

impl AppealFields<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let most = MAX_APPEAL.to_string();
        let text = Field::new("text", "What should be looked at again, and why?").value(self.text).required();
        let text = text.with("rows", "6").with("maxlength", &most).with("dir", "auto").hint(html! {
            "You can appeal against a decision once. Another moderator will read what you write."
        });
        html! {
            form.form method="post" action="/appeal" {
                (frame.signed_fields())
                input type="hidden" name="moderation_id" value=(self.id);
                (text.text_area(self.refused))
                @if let Some(stranger) = self.stranger { (login_fields(stranger, self.refused)) }
                button.button { "Send" }
            }
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
}

impl<'a> Stranger<'a> {
    /// The sender of a form, if it was sent without a session.
    pub(super) fn of_form(fields: &'a Fields, failure: &RequestError) -> Option<Self> {
        let has_second_factor = fields.get("code").is_some() || failure.needs_code();
        fields.get("username").map(|username| Self { username, has_second_factor })
    }
}

/// The fields with which somebody without a session proves who they are.
pub(super) fn login_fields(stranger: Stranger<'_>, refused: Option<&RefusedForm>) -> Markup {
    let password = Field::new("password", "Your password").with("autocomplete", "current-password");
    html! {
        input type="hidden" name="username" value=(stranger.username);
        (password.required().password(refused))
        @if stranger.has_second_factor {
            (code_field(
                "A new code",
                html! { "The six digits that your authenticator app shows now, or a recovery code." },
                refused,
            ))
        }
    }
}

/// GET /appeal/:id: the decision, and the form or the appeal.
pub async fn form(
    PathOf(id): PathOf<ModerationId>,
    app: App,
    SignedIn { mut visit, user, here }: SignedIn,
) -> Result<Markup, RequestError> {
    let decision = appeals::decision_about(&mut visit, user.id, id).await?;
    let frame = Frame::for_user(&app, &here, &user);
    Ok(decision_page(&frame, &decision))
}

fn decision_page(frame: &Frame<'_>, decision: &DecisionFacts) -> Markup {
    let content = html! {
        h1 { (HEADING) }
        p { (what_was_done(decision)) " " (age(frame, decision.time)) "." }
        @if !decision.reason.is_empty() { blockquote.text dir="auto" { p { (decision.reason) } } }
        @if let Some(until) = decision.until { p { (ends(until, frame.now)) } }
        p.hint { "This is " (line_link(decision.id)) "." }
        @match (&decision.appeal, &decision.refusal) {
            (Some(appeal), _) => (sent(frame, appeal)),
            (None, Some(refusal)) => p.notice { (crate::error::sentence(&refusal.to_string())) },
            (None, None) => {
                (AppealFields { id: decision.id, text: "", stranger: None, refused: None }.render(frame))
            }
        }
        p { a.action href={ "/moderators?moderation_id=" (decision.id) } { "Write to the moderators about it" } }
    };
    frame.page(HEADING, &content)
}

fn ends(until: Timestamp, now: Timestamp) -> Markup {
    html! { @if until > now { "It ends " } @else { "It ended " } (day::to_the_minute(until)) "." }
}

/// A link to the line of a decision in the log.
pub(super) fn line_link(id: ModerationId) -> Markup {
    let before = ModerationId(id.0.saturating_add(1));
    html! { a href={ "/moderations?before=" (before) "#line-" (id) } { "line " (id) " of the moderation log" } }
}

/// The action in words, addressed to the person whom it concerns.
fn what_was_done(decision: &DecisionFacts) -> String {
    let noun = match decision.thing.kind() {
        "user" => "profile text",
        "tweet" => "post",
        kind => kind,
    };
    decision.action.facts().told.unwrap_or_default().replace("{}", noun)
}

/// An appeal that was sent, for who has sent it.
fn sent(frame: &Frame<'_>, appeal: &Appeal) -> Markup {
    let outcome = match (appeal.decided_by, appeal.granted) {
        (None, _) => "It is waiting for a moderator. You will get the answer in your inbox.",
        (Some(_), true) => "It was granted.",
        (Some(_), false) => "It was rejected.",
    };
    html! {
        h2 { "Your appeal" }
        p { "You have appealed " (age(frame, appeal.time)) ". " (outcome) }
        blockquote.text dir="auto" { p.log-reason { (appeal.text) } }
        @if let Some(by) = appeal.decided_by { p.hint { "Decided by " (line_link(by)) "." } }
    }
}

/// POST /appeal: moderation_id, text, and apisecret or username, password and code.
pub async fn send(
    app: App,
    visit: Visit,
    here: LocalPath,
    call: Call,
    fields: Fields,
) -> Result<Response, RequestError> {
    let id: ModerationId = fields.parsed("moderation_id", "it must be the number of a line of the log")?;
    let failure = match appeal(&app, visit, fields.clone(), &call).await {
        Ok(_) if fields.get("username").is_some() => return Ok(sent_without_session(&app, &here).await),
        Ok(id) => return Ok(Redirect::to(&appeal_address(id)).into_response()),
        Err(failure) => failure,
    };
    let stranger = Stranger::of_form(&fields, &failure);
    let refused = RefusedForm::from_failure(failure)?.beside(&["text", "password", "code"]);
    let form = AppealFields { id, text: fields.text("text"), stranger, refused: Some(&refused) };
    let mut again = Visit::new(app.site.clone(), app.now(), call.session_token.as_deref());
    let frame = Frame::of(&app, &mut again, &here).await?.keeping_request(&fields);
    let content = html! {
        h1 { (HEADING) }
        (summary(Some(&refused)))
        p { "The decision is " (line_link(id)) "." }
        (form.render(&frame))
    };
    Ok(refused.response(frame.page(HEADING, &content)))
}

/// The page after an appeal from somebody who cannot log in.
async fn sent_without_session(app: &App, here: &LocalPath) -> Response {
    let frame = Frame::anonymous(app, here).await;
    let content = html! {
        h1 { "Your appeal has been sent" }
        p.notice role="status" {
            "Another moderator will read it. If your account has an e-mail address, we'll mail you the \
             answer."
        }
        p { "If the ban is lifted, you can log in again." }
        p { a.action href="/" { "Go to the front page" } }
    };
    frame.page("Your appeal has been sent", &content).into_response()
}

/// The page for somebody who has shown what a login takes but is banned: why, until when, and the form to appeal.
pub async fn banned_page(
    app: &App,
    here: &LocalPath,
    (message, id): (&str, ModerationId),
    stranger: Stranger<'_>,
) -> Response {
    let thread = messages::newest_of_banned(app, stranger.username).await;
    let frame = Frame::anonymous(app, here).await;
    let form = AppealFields { id, text: "", stranger: Some(stranger), refused: None };
    let messages = messages::for_banned(&frame, stranger, thread.as_ref());
    let content = html! {
        h1 { "You can't log in" }
        p.alert role="alert" { (message) }
        p { "You can still read without logging in. This is " (line_link(id)) "." }
        h2 { (HEADING) }
        (form.render(&frame))
        (messages)
    };
    (StatusCode::FORBIDDEN, frame.page("You can't log in", &content)).into_response()
}

/// Appeals against a decision, for both the form and the API: in a session, or with what a login takes for who cannot
/// have one.
pub(crate) async fn appeal(
    app: &App,
    mut visit: Visit,
    fields: Fields,
    call: &Call,
) -> Result<ModerationId, RequestError> {
    let form: AppealForm = fields.read()?;
    let (site, now, id) = (&app.site, app.moment(), form.moderation_id);
    if visit.recognise().await?.is_some() {
        let sender = SignedFields::sign(visit, fields, call).await?;
        let user = &sender.user;
        user.once(site, appeals::appeal(site, now, user, id, &form.text)).await?;
    } else if let (Some(username), Some(password)) = (&form.username, &form.password) {
        let code = form.code.as_ref().map(|code| &*code.0);
        let typed = Credentials { username, password: &password.0, code };
        appeals::appeal_without_session(site, now, (&typed, call.device.address), (id, &form.text)).await?;
    } else {
        return Err(RequestError::LoginRequired);
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::fields::test_support::refused;
    use crate::markup::test_support::{framed, user};
    use tidings_domain::Refusal;
    use tidings_domain::values::actions::Action;
    use tidings_domain::values::moderation::Thing;

    fn decision(appeal: Option<Appeal>, refusal: Option<Refusal>) -> DecisionFacts {
        DecisionFacts {
            id: ModerationId(7),
            time: Timestamp(999_000),
            action: Action::Silence,
            thing: Thing::User("bob".into()),
            reason: "shouts <b>".to_owned(),
            until: Some(Timestamp(1_003_600)),
            appeal,
            refusal,
        }
    }

    #[test]
    fn a_decision_has_a_form_until_there_is_an_appeal() {
        let bob = user("2", "bob", "");
        let page = |decision: DecisionFacts| {
            framed(Some(&bob), |frame| decision_page(frame, &decision)).into_string()
        };
        let html = page(decision(None, None));
        for part in [
            "A moderator silenced you",
            "shouts &lt;b&gt;",
            "It ends 12 Jan 1970, 14:46 UTC.",
            r#"name="moderation_id" value="7""#,
            "<textarea",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains(r#"name="password""#), "{html}");
        let sent = Appeal {
            user_id: bob.id,
            time: Timestamp(999_500),
            text: "I was <i>right</i>".to_owned(),
            decided_by: None,
            granted: false,
        };
        let html = page(decision(Some(sent), Some(Refusal::AppealedAlready)));
        assert!(html.contains("I was &lt;i&gt;") && html.contains("is waiting for a moderator"), "{html}");
        assert!(!html.contains("<textarea"), "{html}");
        let html = page(decision(None, Some(Refusal::NotYourDecision)));
        assert!(html.contains("You can appeal only") && !html.contains("<textarea"), "{html}");
    }

    #[test]
    fn a_refused_appeal_keeps_the_text_but_no_password() {
        let refused = refused("wrong", Some("password"));
        let form = AppealFields {
            id: ModerationId(7),
            text: "typed <text>",
            stranger: Some(Stranger { username: "b\"ob", has_second_factor: true }),
            refused: Some(&refused),
        };
        let html = framed(None, |frame| form.render(frame)).into_string();
        for part in ["typed &lt;text&gt;", r#"value="b&quot;ob""#, r#"role="alert">wrong<"#] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let password = html.split("<input").find(|input| input.contains(r#"type="password""#));
        assert!(password.is_some_and(|input| !input.contains("value=")), "{html}");
    }
}
