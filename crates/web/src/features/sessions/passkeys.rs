//! Passkeys in the settings: adding and removing them. Both need the password; adding also needs
//! the script, because only scripts can talk to an authenticator.

use super::second_factors::{NewTotpForm, password_field, recovery_codes_page, to_overview};
use crate::markup::parts::page_with_form;
use crate::markup::{Field, Frame, Member, Notice, Page};
use crate::request::{Fields, LocalPath, ShownAgain, SignedFields};
use crate::{App, Result};
use axum::Extension;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::accounts::two_factor::passkeys::{self, NewPasskey};
use tidings_domain::accounts::two_factor::{RelyingParty, setup};
use tidings_domain::values::MAX_PASSKEY_NAME;
use tidings_domain::{Refusal, User};
use tidings_language::t;

/// Whether passkeys work at the address of the site: it must have a host name.
pub fn has_passkeys(app: &App) -> bool {
    RelyingParty::new(&app.site.address, "").is_some()
}

/// The site as passkeys know it.
///
/// # Errors
/// [`Refusal::PasskeysUnavailable`].
pub async fn relying_party(app: &App) -> Result<RelyingParty> {
    let brand = app.brand().await;
    Ok(RelyingParty::new(&app.site.address, &brand.site.name).ok_or(Refusal::PasskeysUnavailable)?)
}

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
        p.prose { (t!("Your browser will now ask where to save the passkey “{name}”.", name)) }
        (form.render(&html! {
            (frame.signed_fields())
            input type="hidden" name="name" value=(name);
        }))
        p { a.action href="/settings/two-factor" { (t!("Cancel")) } }
    };
    frame.headed(heading, &content)
}

/// The address of the first step: a name, and the password.
const PASSKEYS: &str = "/settings/two-factor/passkeys";

/// GET /settings/two-factor/passkeys.
pub async fn add_form(mut page: Page<Member>, again: Option<Extension<ShownAgain>>) -> Result<Markup> {
    let name = again.as_ref().map_or("", |again| again.fields.text("name"));
    let most = MAX_PASSKEY_NAME.to_string();
    let hint = t!("A name you’ll recognise, such as “My phone”.");
    let name = Field::new("name", t!("Name")).value(name).hint(hint).with("maxlength", &most).required();
    let frame = page.frame().await?;
    let fields = html! { (name.input()) (password_field(&frame)) button.button { (t!("Continue")) } };
    Ok(page_with_form(&frame, (t!("Add a passkey"), &html! {}), (PASSKEYS, &fields), to_overview()))
}

/// POST /settings/two-factor/passkeys: name, current_password, apisecret.
pub async fn begin(app: App, here: LocalPath, form: SignedFields) -> Result<Markup> {
    let name = form.fields.required("name")?;
    let NewTotpForm { current_password } = form.fields.read()?;
    let party = relying_party(&app).await?;
    let at = (&*app.site, app.now());
    let options = passkeys::begin(at, form.owner()?, &current_password, &party).await?;
    Ok(create_page(&Frame::for_user(&app, &here, &form.user), name, &options))
}

/// POST /settings/two-factor/passkeys/confirm: name, passkey (JSON), apisecret.
pub async fn confirm(app: App, here: LocalPath, form: SignedFields) -> Result<Response> {
    let [name, credential] = [form.fields.required("name")?, form.fields.required("passkey")?];
    let party = relying_party(&app).await?;
    let new = NewPasskey { name, credential };
    let Some(codes) = passkeys::add((&app.site, app.now()), form.owner()?, &new, &party).await? else {
        return Ok(changed(&app, &form.user).await?.into_response());
    };
    let frame = Frame::for_user(&app, &here, &form.user);
    Ok(recovery_codes_page(&frame, t!("Your recovery codes"), &codes).into_response())
}

/// Redirects to the overview, which says that it is done.
pub(super) async fn changed(app: &App, user: &User) -> Result<Redirect> {
    Notice::FactorsChanged.redirect_anew(app, user.id, "/settings/two-factor").await
}

/// GET /settings/two-factor/passkeys/remove: passkey.
pub async fn remove_form(mut page: Page<Member>, fields: Fields) -> Result<Markup> {
    let id = fields.required("passkey")?;
    let passkeys = setup::state(&page.app.site, &page.user).await?.passkeys;
    let passkey = passkeys.into_iter().find(|passkey| passkey.id == id).ok_or(Refusal::NoSuchPasskey)?;
    let frame = page.frame().await?;
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
pub async fn remove(app: App, form: SignedFields) -> Result<Redirect> {
    let NewTotpForm { current_password } = form.fields.read()?;
    let id = form.fields.required("passkey")?;
    let removing = passkeys::remove((&app.site, app.now()), form.owner()?, &current_password, id);
    form.user.once(&app.site, removing).await?;
    changed(&app, &form.user).await
}
