//! Passkeys in the settings: adding and removing them. Both need the password; adding also needs
//! the script, because only scripts can talk to an authenticator.

use super::second_factors::{back, password_field, recovery_codes_page};
use super::two_factor;
use crate::App;
use crate::error::RequestError;
use crate::markup::fields::Field;
use crate::markup::frame::Frame;
use crate::markup::notices::Notice;
use crate::markup::page::{Member, Page};
use crate::markup::parts::page_with_form;
use crate::request::form::{Fields, ShownAgain};
use crate::request::local_path::LocalPath;
use crate::request::viewer::SignedFields;
use axum::Extension;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::Refusal;
use tidings_domain::accounts::two_factor::setup::{self, PasskeyFacts};
use tidings_domain::accounts::users::User;
use tidings_domain::values::MAX_PASSKEY_NAME;
use tidings_language::t;

/// A form that is sent with a passkey. The script shows it; without the script there is a line
/// that says so.
pub(super) struct PasskeyForm<'a> {
    /// Whether the script makes a passkey, or uses one.
    pub creates: bool,
    pub action: &'a str,
    /// The options for the browser, as JSON; `None` if the script has to ask for them, at the address of the
    /// form and `/options`.
    pub options: Option<&'a str>,
    pub button: &'a str,
    /// Whether the browser asks for the passkey as soon as the page is open.
    pub starts: bool,
}

impl PasskeyForm<'_> {
    /// The form with hidden fields.
    pub(super) fn render(&self, hidden_fields: &Markup) -> Markup {
        html! {
            p.hint data-no-passkeys {
                (t!("Passkeys need JavaScript, a recent browser and a secure connection (HTTPS)."))
            }
            form.form.narrow method="post" action=(self.action) hidden data-passkey=(if self.creates { "create" } else { "get" })
                data-options=[self.options] data-start[self.starts]
            {
                (hidden_fields)
                input type="hidden" name="passkey";
                p.error role="alert" hidden {}
                button.button { (self.button) }
            }
        }
    }
}

/// The second step: the browser makes the passkey.
fn create_page(frame: &Frame<'_>, name: &str, options: &str) -> Markup {
    let action = "/settings/two-factor/passkeys/confirm";
    let (heading, button) = (t!("Add a passkey"), t!("Create the passkey"));
    let form = PasskeyForm { creates: true, action, options: Some(options), button, starts: false };
    let content = html! {
        h1 { (heading) }
        p.prose { (t!("Your browser will now ask where to save the passkey “{name}”.", name)) }
        (form.render(&html! {
            (frame.signed_fields())
            input type="hidden" name="name" value=(name);
        }))
        p { a.action href="/settings/two-factor" { (t!("Cancel")) } }
    };
    frame.page(heading, &content)
}

/// The address of the first step: a name, and the password.
const PASSKEYS: &str = "/settings/two-factor/passkeys";

/// GET /settings/two-factor/passkeys.
pub async fn add_form(
    Page { app, mut visit, here, .. }: Page<Member>,
    again: Option<Extension<ShownAgain>>,
) -> Result<Markup, RequestError> {
    let name = again.as_ref().map_or("", |again| again.fields.text("name"));
    let most = MAX_PASSKEY_NAME.to_string();
    let hint = html! { (t!("A name you’ll recognise, such as “My phone”.")) };
    let name = Field::new("name", t!("Name")).value(name).hint(hint).with("maxlength", &most).required();
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let fields = html! { (name.input()) (password_field(&frame)) button.button { (t!("Continue")) } };
    Ok(page_with_form(&frame, (t!("Add a passkey"), &html! {}), (PASSKEYS, &fields), back()))
}

/// POST /settings/two-factor/passkeys: name, current_password, apisecret.
pub async fn begin(app: App, here: LocalPath, form: SignedFields) -> Result<Markup, RequestError> {
    let options = two_factor::begin_passkey(&app, &form).await?;
    Ok(create_page(&Frame::for_user(&app, &here, &form.user), form.fields.text("name"), &options))
}

/// POST /settings/two-factor/passkeys/confirm: name, passkey (JSON), apisecret.
pub async fn confirm(app: App, here: LocalPath, form: SignedFields) -> Result<Response, RequestError> {
    let Some(codes) = two_factor::add_passkey(&app, &form).await? else {
        return Ok(changed(&app, &form.user).await?.into_response());
    };
    let frame = Frame::for_user(&app, &here, &form.user);
    Ok(recovery_codes_page(&frame, t!("Your recovery codes"), &codes).into_response())
}

/// Redirects to the overview, which says that it is done.
pub(super) async fn changed(app: &App, user: &User) -> Result<Redirect, RequestError> {
    Notice::FactorsChanged.redirect_anew(app, user.id, "/settings/two-factor").await
}

async fn find(app: &App, user: &User, id: &str) -> Result<PasskeyFacts, RequestError> {
    let state = setup::state(&app.site, user).await?;
    let found = state.passkeys.into_iter().find(|passkey| passkey.id == id);
    Ok(found.ok_or(Refusal::NoSuchPasskey)?)
}

/// GET /settings/two-factor/passkeys/remove: passkey.
pub async fn remove_form(
    Page { app, mut visit, user, here }: Page<Member>,
    fields: Fields,
) -> Result<Markup, RequestError> {
    let passkey = find(&app, &user, fields.required("passkey")?).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let about = html! {
        p.prose {
            (t!("The passkey “{name}” will no longer log you in. Remove it from your device too, or your device will \
                 keep offering it.", name = &passkey.name))
        }
    };
    let fields = html! {
        (frame.form_page())
        input type="hidden" name="passkey" value=(passkey.id);
        (password_field(&frame))
        button.button.grave { (t!("Remove the passkey")) }
    };
    let form = ("/settings/two-factor/passkeys/remove", &fields);
    Ok(page_with_form(
        &frame,
        (t!("Remove a passkey"), &about),
        form,
        ("/settings/two-factor", t!("Keep it")),
    ))
}

/// POST /settings/two-factor/passkeys/remove: passkey, current_password, apisecret.
pub async fn remove(app: App, form: SignedFields) -> Result<Redirect, RequestError> {
    two_factor::remove_passkey(&app, &form).await?;
    changed(&app, &form.user).await
}
