//! Second factors in the settings: what there is, authenticator apps and recovery codes, for pages and calls.
//! Passkeys are in `passkeys.rs`: they need a browser, so they have pages only.

use super::connection::proof;
use super::passkeys::{changed, has_passkeys};
use crate::markup::addresses::ACCOUNT_SETTINGS;
use crate::markup::parts::{age, page_with_form};
use crate::markup::qr_code::qr_code;
use crate::markup::{Field, Frame, Member, Page};
use crate::request::form::{form, text};
use crate::request::{DONE, DoneResponse, Fields, LocalPath, SignedFields, answer};
use crate::{App, Result};
use axum::Json;
use axum::response::Redirect;
use maud::{Markup, Render, html};
use tidings_domain::accounts::account::CurrentPassword;
use tidings_domain::accounts::two_factor::setup::{self, NewTotp, PasskeyFacts, TwoFactorState};
use tidings_domain::values::RECOVERY_CODES;
use tidings_language::{Message, m, t};

fn current_password(fields: &Fields, name: &'static str) -> Result<CurrentPassword> {
    Ok(CurrentPassword(Some(text(fields, name)?)))
}

form! {
    /// The beginning of the setup of an authenticator app.
    pub struct NewTotpForm as NewTotpRequest {
        /// The user's password.
        pub current_password: CurrentPassword = current_password, values::Password;
    }

    /// The end of the setup of an authenticator app.
    pub struct ConfirmedTotpForm as ConfirmedTotp {
        /// A code that the app shows.
        pub code: String = text, values::TotpCode;
    }

    /// The removal of an authenticator app.
    pub struct EndedTotpForm as EndedTotp {
        /// The user's password.
        pub current_password: CurrentPassword = current_password, values::Password;
        /// A code that the app shows, or a recovery code.
        pub code: String = text, values::LoginCode;
    }
}

/// The overview. `has_passkeys` says whether passkeys work at the address of the site.
fn overview(frame: &Frame<'_>, state: &TwoFactorState, has_passkeys: bool) -> Markup {
    let content = html! {
        p.prose {
            @if has_passkeys {
                (t!("With a second step, your password alone is not enough to log in. Set up an app on your phone, or a \
                     passkey."))
            } @else {
                (t!("With a second step, your password alone is not enough to log in. Set up an app on your phone."))
            }
        }
        h2 { (t!("Authenticator app")) }
        @if state.factors.totp {
            p { (t!("Your app shows the code that you need to log in.")) }
            p { a.action href="/settings/two-factor/app" { (t!("Remove the authenticator app")) } }
        } @else {
            p { (t!("An app on your phone shows a new code every 30 seconds. You need one to log in.")) }
            p { a.action href="/settings/two-factor/app" { (SET_UP.text()) } }
        }
        @if has_passkeys || !state.passkeys.is_empty() {
            h2 { (t!("Passkeys")) }
            p {
                (t!("Your phone, your computer or a security key proves that it is you. \
                     A passkey can also replace your password."))
            }
            @if !state.passkeys.is_empty() {
                ul.people { @for passkey in &state.passkeys { li.session { (passkey_item(frame, passkey)) } } }
            }
            @if has_passkeys { p { a.action href="/settings/two-factor/passkeys" { (t!("Add a passkey")) } } }
        }
        @if state.factors.any() {
            h2 { (t!("Recovery codes")) }
            p {
                (t!("Each code logs you in once if you lose your phone. You have {left} of {all} left.",
                    left = state.recovery_codes, all = RECOVERY_CODES))
            }
            p { a.action href="/settings/two-factor/codes" { (t!("Make new recovery codes")) } }
        }
        p { a.action href=(ACCOUNT_SETTINGS) { (t!("Account settings")) } }
    };
    frame.headed(t!("Two-step login"), &content)
}

fn passkey_item(frame: &Frame<'_>, passkey: &PasskeyFacts) -> Markup {
    html! {
        div {
            strong { (passkey.name) }
            p.hint {
                @let added = age(frame, passkey.since);
                @match passkey.used {
                    Some(used) => (t!("Added {added}, last used {used}", added, used = age(frame, used))),
                    None => (t!("Added {added}, not used yet", added)),
                }
            }
        }
        a.button.small.quiet href={ "/settings/two-factor/passkeys/remove?passkey=" (passkey.id) } {
            (t!("passkey" => "Remove")) span.hidden { " " (t!("the passkey {name}", name = &passkey.name)) }
        }
    }
}

/// Tells a password manager whose password a form asks for.
pub(crate) fn whose_password(frame: &Frame<'_>) -> Markup {
    html! {
        @if let Some(viewer) = frame.viewer {
            input type="text" name="username" value=(viewer.username) autocomplete="username" hidden;
        }
    }
}

/// A field for the user's password.
pub(super) fn password_field(frame: &Frame<'_>) -> Markup {
    let password =
        Field::new("current_password", t!("Your password")).with("autocomplete", "current-password");
    html! { (whose_password(frame)) (proof(frame, password.required())) }
}

/// A field for a code.
pub(crate) fn code_field(label: &str, hint: impl Render) -> Markup {
    let code = Field::new("code", label).hint(hint).with("autocomplete", "one-time-code");
    code.required().exact().input()
}

/// New recovery codes, which are shown once.
pub(super) fn recovery_codes_page(frame: &Frame<'_>, heading: &str, codes: &[String]) -> Markup {
    let content = html! {
        p.notice role="status" { (t!("Done. Keep these recovery codes in a safe place: they won't be shown again.")) }
        p.prose { (t!("Each code logs you in once, together with your password, if you lose your phone or key.")) }
        ol.codes { @for code in codes { li { code { (code) } } } }
        p { a.action href="/settings/two-factor" { (t!("I have saved them")) } }
    };
    frame.headed(heading, &content)
}

/// GET /settings/two-factor.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let state = setup::state(&app.site, &user).await?;
    let has_passkeys = has_passkeys(&app);
    Ok(overview(&Frame::of(&app, &mut visit, &here).await?, &state, has_passkeys))
}

/// The link back to the overview: its address and its words.
pub(super) fn to_overview() -> (&'static str, &'static str) {
    ("/settings/two-factor", t!("Back to two-step login"))
}

/// The page that sets up an authenticator app, or removes it.
fn app_page(frame: &Frame<'_>, has_app: bool) -> Markup {
    if has_app {
        let about =
            html! { p.prose { (t!("Without it, and without a passkey, your password alone logs you in.")) } };
        let fields = html! {
            (frame.form_page())
            (password_field(frame))
            (code_field(t!("code to type" => "Code"), t!("From the app, or a recovery code.")))
            button.button.grave { (t!("Remove the app")) }
        };
        let form = ("/settings/two-factor/app/remove", &fields);
        return page_with_form(frame, (t!("Remove the authenticator app"), &about), form, to_overview());
    }
    let about = html! {
        p.prose {
            (t!("You need an authenticator app on your phone, such as Aegis, 2FAS or Google Authenticator."))
        }
    };
    let fields = html! { (password_field(frame)) button.button { (t!("Continue")) } };
    page_with_form(frame, (SET_UP.text(), &about), ("/settings/two-factor/app", &fields), to_overview())
}

static SET_UP: &Message = m!("Set up an authenticator app");

/// The page with the secret of a new app.
fn confirm_page(frame: &Frame<'_>, new: &NewTotp) -> Markup {
    let groups: Vec<&str> = (0..new.secret.len())
        .step_by(4)
        .filter_map(|at| new.secret.get(at..new.secret.len().min(at + 4)))
        .collect();
    let about = html! {
        p.prose { (t!("Scan this with your app.")) }
        @if let Some(picture) = qr_code(&new.uri, t!("QR code for your authenticator app")) { div.qr { (picture) } }
        p.prose {
            (t!("Or open {app}, or type this key into it:", app = html! { a href=(new.uri) { (t!("your app on this device")) } }))
        }
        p { code.totp-key { (groups.join(" ")) } }
    };
    let fields = html! {
        (code_field(t!("code to type" => "Code"), t!("The six digits that the app shows now.")))
        button.button { (t!("Turn on")) }
    };
    let form = ("/settings/two-factor/app/confirm", &fields);
    page_with_form(frame, (SET_UP.text(), &about), form, ("/settings/two-factor", t!("Cancel")))
}

/// GET /settings/two-factor/app.
pub async fn app_form(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    Ok(app_page(&Frame::of(&app, &mut visit, &here).await?, user.second_factors.totp))
}

/// POST /settings/two-factor/app: current_password, apisecret.
pub async fn begin_app(app: App, here: LocalPath, form: SignedFields) -> Result<Markup> {
    let new = begin_totp(&app, &form).await?;
    Ok(confirm_page(&Frame::for_user(&app, &here, &form.user), &new))
}

/// The page of a refused code: the secret again, as long as it waits for one.
pub async fn confirm_form(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(match setup::new_totp(&app.site, &user, &frame.site().name).await? {
        Some(new) => confirm_page(&frame, &new),
        None => app_page(&frame, user.second_factors.totp),
    })
}

/// POST /settings/two-factor/app/confirm: code, apisecret.
pub async fn confirm_app(app: App, here: LocalPath, form: SignedFields) -> Result<Markup> {
    let codes = confirm_totp(&app, &form).await?;
    let frame = Frame::for_user(&app, &here, &form.user);
    Ok(recovery_codes_page(&frame, t!("Your recovery codes"), &codes))
}

/// POST /settings/two-factor/app/remove: current_password, code, apisecret.
pub async fn remove_app(app: App, form: SignedFields) -> Result<Redirect> {
    end_totp(&app, &form).await?;
    changed(&app, &form.user).await
}

/// GET /settings/two-factor/codes.
pub async fn codes_form(Page { app, mut visit, here, .. }: Page<Member>) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let about = html! { p.prose { (t!("Your current recovery codes will stop working.")) } };
    let fields = html! { (password_field(&frame)) button.button { (t!("Make new codes")) } };
    let form = ("/settings/two-factor/codes", &fields);
    let instead = ("/settings/two-factor", t!("Keep the current ones"));
    Ok(page_with_form(&frame, (t!("Make new recovery codes"), &about), form, instead))
}

/// POST /settings/two-factor/codes: current_password, apisecret.
pub async fn renew_codes(app: App, here: LocalPath, form: SignedFields) -> Result<Markup> {
    let NewTotpForm { current_password } = form.fields.read()?;
    let at = (&*app.site, app.now());
    let codes = setup::renew_recovery_codes(at, form.owner()?, &current_password).await?;
    let frame = Frame::for_user(&app, &here, &form.user);
    Ok(recovery_codes_page(&frame, t!("Your new recovery codes"), &codes))
}

/// Draws a secret for an authenticator app.
async fn begin_totp(app: &App, form: &SignedFields) -> Result<NewTotp> {
    let NewTotpForm { current_password } = form.fields.read()?;
    let brand = app.brand().await;
    let begin = setup::begin_totp((&app.site, app.now()), form.owner()?, &current_password, &brand.site.name);
    Ok(form.user.once(&app.site, begin).await?)
}

/// Sets the authenticator app whose code was typed. Returns recovery codes.
async fn confirm_totp(app: &App, form: &SignedFields) -> Result<Vec<String>> {
    let ConfirmedTotpForm { code } = form.fields.read()?;
    Ok(setup::confirm_totp(&app.site, app.now(), form.owner()?, &code).await?)
}

/// Removes the authenticator app.
async fn end_totp(app: &App, form: &SignedFields) -> Result<()> {
    let EndedTotpForm { current_password, code } = form.fields.read()?;
    let ending = setup::end_totp((&app.site, app.now()), form.owner()?, &current_password, &code);
    Ok(form.user.once(&app.site, ending).await?)
}

answer! {
    /// A new secret for an authenticator app.
    pub struct NewTotpResponse as NewTotp from (new: NewTotp) {
        status;
        /// The secret in base 32, to type into an app.
        secret: String = new.secret, values::TotpSecret;
        /// The same as an address, for a QR code.
        uri: String = new.uri, values::TotpAddress;
    }

    /// Recovery codes, each of which takes the place of a code once.
    pub struct RecoveryCodesResponse as RecoveryCodes from (codes: Vec<String>) {
        status;
        /// The codes. They are shown once and stored as hashes.
        recovery_codes: Vec<String> = codes, Vec<values::RecoveryCode>;
    }
}

/// POST /api/totp/begin.
pub async fn begin_app_by_call(app: App, form: SignedFields) -> Result<Json<NewTotpResponse>> {
    Ok(Json(begin_totp(&app, &form).await?.into()))
}

/// POST /api/totp/confirm.
pub async fn confirm_app_by_call(app: App, form: SignedFields) -> Result<Json<RecoveryCodesResponse>> {
    Ok(Json(confirm_totp(&app, &form).await?.into()))
}

/// POST /api/totp/end.
pub async fn remove_app_by_call(app: App, form: SignedFields) -> Result<Json<DoneResponse>> {
    end_totp(&app, &form).await?;
    Ok(Json(DONE))
}
