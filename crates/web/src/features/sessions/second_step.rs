//! Logging in with more or with less than a password: the second step, and passkeys alone.

use super::login::{WantedPage, credentials_page, enter};
use super::passkeys::{PasskeyForm, relying_party};
use super::second_factors::code_field;
use crate::App;
use crate::error::{RequestError, Result};
use crate::features::moderation::appeals::{Stranger, banned_page};
use crate::markup::{Frame, Page};
use crate::request::{Fields, Form, LocalPath, ShownAgain};
use axum::Extension;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::Refusal;
use tidings_domain::accounts::log_in::{self, SecondStep};
use tidings_domain::accounts::session_store::Device;
use tidings_domain::accounts::two_factor::{Answer, passkeys};
use tidings_language::t;

/// The page that asks for the second factor.
pub(super) async fn second_step_page(
    app: &App,
    here: &LocalPath,
    step: &SecondStep,
    wanted: &WantedPage,
) -> Result<Markup> {
    let options = match relying_party(app).await {
        Ok(party) => log_in::passkey_options(&app.site, app.now(), step, &party).await?,
        Err(_) => None,
    };
    let hidden_fields = html! {
        input type="hidden" name="ticket" value=(step.ticket);
        (wanted.fields())
    };
    let (label, hint) = if step.factors.totp {
        (
            t!("code to type" => "Code"),
            t!("The six digits that your authenticator app shows, or a recovery code."),
        )
    } else {
        (t!("Recovery code"), t!("One of the codes you saved when you added your passkey."))
    };
    let content = html! {
        @if let Some(options) = &options {
            (PasskeyForm {
                creates: false,
                action: "/login/code",
                options: Some(options),
                button: t!("Use your passkey"),
                starts: false,
            }.render(&hidden_fields))
            h2 { (t!("Or with a code")) }
        }
        form.form.narrow method="post" action="/login/code" {
            (hidden_fields)
            (code_field(label, html! { (hint) }))
            button.button { (t!("Log in")) }
        }
        p.hint { (t!("Lost your phone, your key and your recovery codes? Ask the site's administrator.")) }
    };
    Ok(Frame::anonymous(app, here).await.headed(t!("Log in: second step"), &content))
}

/// POST /login/code: ticket, code or passkey (JSON), next, reason.
pub async fn finish(app: App, device: Device, fields: Fields) -> Result<Response> {
    let wanted: WantedPage = fields.read()?;
    let (at, ticket) = ((&*app.site, app.now()), fields.required("ticket")?);
    let session = match fields.get("passkey") {
        Some(passkey) => {
            let party = relying_party(&app).await?;
            log_in::finish(at, ticket, Answer::Passkey(passkey, &party), &device).await?
        }
        None => log_in::finish(at, ticket, Answer::Code(fields.required("code")?), &device).await?,
    };
    Ok(enter(&app, &session, wanted.next.as_str()))
}

/// The page of a refused second step: the step again, the ban that it told of, or the login if that must begin again.
pub async fn again(
    app: App,
    device: Device,
    here: LocalPath,
    Extension(ShownAgain { fields, failure }): Extension<ShownAgain>,
) -> Result<Markup> {
    let wanted: WantedPage = fields.read()?;
    let refusal = failure.as_ref().and_then(RequestError::refusal);
    let (is_over, ban) =
        (matches!(refusal, Some(Refusal::LoginExpired)), refusal.and_then(Refusal::decision));
    let ticket = fields.text("ticket");
    match (log_in::second_step(&app.site, app.now(), ticket, device.address).await, ban) {
        (Ok(step), Some(id)) => {
            let stranger = Stranger { username: &step.username, has_second_factor: true, ticket: None };
            Ok(banned_page(&app, &here, id, stranger).await)
        }
        (Ok(step), None) if !is_over => second_step_page(&app, &here, &step, &wanted).await,
        _ => Ok(credentials_page(&app, &Frame::anonymous(&app, &here).await, &wanted)),
    }
}

/// GET /login/passkey: next, reason. The script asks for the options.
pub async fn passkey_form(
    Page { app, mut visit, here, .. }: Page,
    again: Option<Extension<ShownAgain>>,
    Form(wanted): Form<WantedPage>,
) -> Result<Markup> {
    relying_party(&app).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let form = PasskeyForm {
        creates: false,
        action: "/login/passkey",
        options: None,
        button: t!("Use your passkey"),
        starts: again.is_none(),
    };
    let content = html! {
        (form.render(&html! { (wanted.fields()) (frame.form_page()) }))
        p { a.action href=(wanted.login_address()) { (t!("Log in with your password")) } }
    };
    Ok(frame.headed(t!("Log in with a passkey"), &content))
}

/// POST /login/passkey/options: what the browser needs to log in with a passkey, as JSON.
pub async fn passkey_options(app: App) -> Result<impl IntoResponse> {
    let party = relying_party(&app).await?;
    let options = passkeys::log_in_options(&app.site, app.now(), &party).await?;
    Ok(([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], options))
}

/// POST /login/passkey: passkey (JSON), next, reason.
pub async fn log_in_with_passkey(app: App, device: Device, fields: Fields) -> Result<Response> {
    let wanted: WantedPage = fields.read()?;
    let passkey = fields.required("passkey")?;
    let party = relying_party(&app).await?;
    let session = passkeys::log_in((&app.site, app.now()), passkey, &party, &device).await?;
    Ok(enter(&app, &session, wanted.next.as_str()))
}

/// GET /login/code: next, reason. The second step has no address of its own, so the login begins
/// again.
pub async fn start_again(Form(wanted): Form<WantedPage>) -> Redirect {
    Redirect::to(&wanted.login_address())
}
