//! Logging in with more or with less than a password: the second step, and passkeys alone.

use super::login::{WantedPage, credentials_again, enter};
use super::passkeys::{Ceremony, PasskeyForm};
use super::second_factors::code_field;
use super::two_factor;
use crate::App;
use crate::error::RequestError;
use crate::features::moderation::appeals::{Stranger, banned_page};
use crate::markup::fields::{RefusedForm, summary};
use crate::markup::frame::Frame;
use crate::request::form::{Fields, Form};
use crate::request::local_path::LocalPath;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use std::net::IpAddr;
use tidings_domain::accounts::log_in::{self, SecondStep};
use tidings_domain::accounts::session_store::{Device, Session};
use tidings_domain::accounts::two_factor::{Answer, passkeys};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::{Error, Refusal};

const HEADING: &str = "Log in: second step";

/// The page of the second step.
struct SecondStepPage<'a> {
    step: &'a SecondStep,
    /// The options with which the browser uses a passkey, if the account has one.
    passkey_options: Option<&'a str>,
    wanted: &'a WantedPage,
    refused: Option<&'a RefusedForm>,
}

impl SecondStepPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let hidden_fields = html! {
            input type="hidden" name="ticket" value=(self.step.ticket);
            (self.wanted.fields())
        };
        let (label, hint) = if self.step.factors.totp {
            ("Code", "The six digits that your authenticator app shows, or a recovery code.")
        } else {
            ("Recovery code", "One of the codes you saved when you added your passkey.")
        };
        let content = html! {
            h1 { (HEADING) }
            (summary(self.refused))
            @if let Some(options) = self.passkey_options {
                (PasskeyForm {
                    ceremony: Ceremony::Get,
                    action: "/login/code",
                    options: Some(options),
                    button: "Use your passkey",
                    starts: false,
                }.render(&hidden_fields))
                h2 { "Or with a code" }
            }
            form.form.narrow method="post" action="/login/code" {
                (hidden_fields)
                (code_field(label, html! { (hint) }, self.refused))
                button.button { "Log in" }
            }
            p.hint {
                "Lost your phone, your key and your recovery codes? Ask the site's administrator."
            }
        };
        frame.page(HEADING, &content)
    }
}

/// The page that asks for the second factor.
pub(super) async fn second_step_page(
    app: &App,
    here: &LocalPath,
    step: &SecondStep,
    (wanted, refused): (&WantedPage, Option<&RefusedForm>),
) -> Result<Markup, RequestError> {
    let options = match two_factor::relying_party(app).await {
        Ok(party) => log_in::passkey_options(&app.site, app.now(), step, &party).await?,
        Err(_) => None,
    };
    let frame = Frame::anonymous(app, here).await;
    let page = SecondStepPage { step, passkey_options: options.as_deref(), wanted, refused };
    Ok(page.render(&frame))
}

/// POST /login/code: ticket, code or passkey (JSON), next, reason.
pub async fn finish(
    app: App,
    device: Device,
    here: LocalPath,
    fields: Fields,
) -> Result<Response, RequestError> {
    let wanted: WantedPage = fields.read()?;
    let failure = match try_finish(&app, &fields, &device).await {
        Ok(session) => return Ok(enter(&app, &session, wanted.next.as_str())),
        Err(failure) => failure,
    };
    let (is_over, decision) = (is_expired(&failure), failure.decision());
    let message = failure.message();
    let refused = RefusedForm::from_failure(failure)?;
    if is_over {
        return credentials_again(&app, &here, &wanted, ("", refused)).await;
    }
    match (step_again(&app, &fields, device.address).await, decision) {
        (Ok(step), Some(id)) => {
            let stranger = Stranger { username: &step.username, has_second_factor: true };
            Ok(banned_page(&app, &here, (&message, id), stranger).await)
        }
        (Ok(step), None) => {
            let refused = refused.beside(&["code"]);
            Ok(refused.response(second_step_page(&app, &here, &step, (&wanted, Some(&refused))).await?))
        }
        (Err(_), _) => credentials_again(&app, &here, &wanted, ("", refused)).await,
    }
}

async fn try_finish(app: &App, fields: &Fields, device: &Device) -> Result<Session, RequestError> {
    let (at, ticket) = ((&*app.site, app.now()), fields.required("ticket")?);
    Ok(match fields.get("passkey") {
        Some(passkey) => {
            let party = two_factor::relying_party(app).await?;
            log_in::finish(at, ticket, Answer::Passkey(passkey, &party), device).await?
        }
        None => log_in::finish(at, ticket, Answer::Code(fields.required("code")?), device).await?,
    })
}

async fn step_again(app: &App, fields: &Fields, address: IpAddr) -> Result<SecondStep, RequestError> {
    Ok(log_in::second_step(&app.site, app.now(), fields.text("ticket"), address).await?)
}

/// Whether the login must begin again.
fn is_expired(failure: &RequestError) -> bool {
    let RequestError::Domain(error) = failure else {
        return false;
    };
    matches!(**error, Error::Refused(Refusal::LoginExpired))
}

/// The page that logs in with a passkey. The script asks for the options.
fn passkey_page(frame: &Frame<'_>, (wanted, refused): (&WantedPage, Option<&RefusedForm>)) -> Markup {
    let form = PasskeyForm {
        ceremony: Ceremony::Get,
        action: "/login/passkey",
        options: None,
        button: "Use your passkey",
        starts: refused.is_none(),
    };
    let content = html! {
        h1 { "Log in with a passkey" }
        (summary(refused))
        (form.render(&wanted.fields()))
        p { a.action href=(wanted.login_address()) { "Log in with your password" } }
    };
    frame.page("Log in with a passkey", &content)
}

/// GET /login/passkey: next, reason.
pub async fn passkey_form(
    app: App,
    mut visit: Visit,
    here: LocalPath,
    Form(wanted): Form<WantedPage>,
) -> Result<Markup, RequestError> {
    two_factor::relying_party(&app).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(passkey_page(&frame, (&wanted, None)))
}

/// POST /login/passkey/options: what the browser needs to log in with a passkey, as JSON.
pub async fn passkey_options(app: App) -> Result<impl IntoResponse, RequestError> {
    let party = two_factor::relying_party(&app).await?;
    let options = passkeys::log_in_options(&app.site, app.now(), &party).await?;
    Ok(([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], options))
}

/// POST /login/passkey: passkey (JSON), next, reason.
pub async fn log_in_with_passkey(
    app: App,
    device: Device,
    here: LocalPath,
    fields: Fields,
) -> Result<Response, RequestError> {
    let wanted: WantedPage = fields.read()?;
    match try_passkey(&app, &fields, &device).await {
        Ok(session) => Ok(enter(&app, &session, wanted.next.as_str())),
        Err(failure) => {
            let refused = RefusedForm::from_failure(failure)?;
            let frame = Frame::anonymous(&app, &here).await;
            Ok(refused.response(passkey_page(&frame, (&wanted, Some(&refused)))))
        }
    }
}

async fn try_passkey(app: &App, fields: &Fields, device: &Device) -> Result<Session, RequestError> {
    let passkey = fields.required("passkey")?;
    let party = two_factor::relying_party(app).await?;
    Ok(passkeys::log_in((&app.site, app.now()), passkey, &party, device).await?)
}

/// GET /login/code: next, reason. The second step has no address of its own, so the login begins
/// again.
pub async fn start_again(Form(wanted): Form<WantedPage>) -> Redirect {
    Redirect::to(&wanted.login_address())
}
