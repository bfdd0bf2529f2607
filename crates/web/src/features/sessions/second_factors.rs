//! Second factors in the settings: what there is, authenticator apps and recovery codes.
//! Passkeys are in `passkeys.rs`.

use super::passkeys::changed;
use super::two_factor;
use crate::App;
use crate::error::RequestError;
use crate::markup::addresses::ACCOUNT_SETTINGS;
use crate::markup::fields::Field;
use crate::markup::frame::Frame;
use crate::markup::page::{Member, Page};
use crate::markup::parts::age;
use crate::markup::qr_code::qr_code;
use crate::request::local_path::LocalPath;
use crate::request::viewer::SignedFields;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::two_factor::setup::{self, NewTotp, PasskeyFacts, TwoFactorState};
use tidings_domain::values::limits::RECOVERY_CODES;

/// The overview.
struct TwoFactorPage<'a> {
    state: &'a TwoFactorState,
    /// Whether passkeys work at the address of the site.
    has_passkeys: bool,
}

impl TwoFactorPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Two-step login" }
            p.prose {
                "With a second step, your password alone is not enough to log in. Set up an app on your phone"
                @if self.has_passkeys { ", or a passkey" } "."
            }
            (self.app_section())
            @if self.has_passkeys || !self.state.passkeys.is_empty() { (self.passkey_section(frame)) }
            @if self.state.factors.any() { (self.recovery_section()) }
            p { a.action href=(ACCOUNT_SETTINGS) { "Account settings" } }
        };
        frame.page("Two-step login", &content)
    }

    fn app_section(&self) -> Markup {
        html! {
            h2 { "Authenticator app" }
            @if self.state.factors.totp {
                p { "Your app shows the code that you need to log in." }
                p { a.action href="/settings/two-factor/app" { "Remove the authenticator app" } }
            } @else {
                p { "An app on your phone shows a new code every 30 seconds. You need one to log in." }
                p { a.action href="/settings/two-factor/app" { "Set up an authenticator app" } }
            }
        }
    }

    fn passkey_section(&self, frame: &Frame<'_>) -> Markup {
        html! {
            h2 { "Passkeys" }
            p {
                "Your phone, your computer or a security key proves that it is you. \
                 A passkey can also replace your password."
            }
            @if !self.state.passkeys.is_empty() {
                ul.people { @for passkey in &self.state.passkeys { li.session { (passkey_item(frame, passkey)) } } }
            }
            @if self.has_passkeys {
                p { a.action href="/settings/two-factor/passkeys" { "Add a passkey" } }
            }
        }
    }

    fn recovery_section(&self) -> Markup {
        let left = self.state.recovery_codes;
        html! {
            h2 { "Recovery codes" }
            p {
                "Each code logs you in once if you lose your phone. You have " (left) " of "
                (RECOVERY_CODES) " left."
            }
            p { a.action href="/settings/two-factor/codes" { "Make new recovery codes" } }
        }
    }
}

fn passkey_item(frame: &Frame<'_>, passkey: &PasskeyFacts) -> Markup {
    html! {
        div {
            strong { (passkey.name) }
            p.hint {
                "Added " (age(frame, passkey.since))
                @match passkey.used {
                    Some(used) => { ", last used " (age(frame, used)) }
                    None => { ", not used yet" }
                }
            }
        }
        a.button.small.quiet href={ "/settings/two-factor/passkeys/remove?passkey=" (passkey.id) } {
            "Remove" span.hidden { " the passkey " (passkey.name) }
        }
    }
}

/// A field for the user's password. `frame` tells a password manager whose it is.
pub(super) fn password_field(frame: &Frame<'_>) -> Markup {
    let password = Field::new("current_password", "Your password").with("autocomplete", "current-password");
    html! {
        @if let Some(viewer) = frame.viewer {
            input type="text" name="username" value=(viewer.username) autocomplete="username" hidden;
        }
        (password.required().password())
    }
}

/// A field for a code.
pub(crate) fn code_field(label: &str, hint: Markup) -> Markup {
    let code = Field::new("code", label).hint(hint).with("autocomplete", "one-time-code");
    code.required().exact().input()
}

/// New recovery codes, which are shown once.
pub(super) fn recovery_codes_page(frame: &Frame<'_>, heading: &str, codes: &[String]) -> Markup {
    let content = html! {
        h1 { (heading) }
        p.notice role="status" { "Done. Keep these recovery codes in a safe place: they won't be shown again." }
        p.prose { "Each code logs you in once, together with your password, if you lose your phone or key." }
        ol.codes { @for code in codes { li { code { (code) } } } }
        p { a.action href="/settings/two-factor" { "I have saved them" } }
    };
    frame.page(heading, &content)
}

/// GET /settings/two-factor.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup, RequestError> {
    let state = setup::state(&app.site, &user).await?;
    let page = TwoFactorPage { state: &state, has_passkeys: two_factor::has_passkeys(&app) };
    Ok(page.render(&Frame::of(&app, &mut visit, &here).await?))
}

/// The page that sets up an authenticator app, or removes it.
fn app_page(frame: &Frame<'_>, has_app: bool) -> Markup {
    let heading = if has_app { "Remove the authenticator app" } else { "Set up an authenticator app" };
    let content = html! {
        h1 { (heading) }
        @if has_app {
            p.prose { "Without it, and without a passkey, your password alone logs you in." }
            form.form.narrow method="post" action="/settings/two-factor/app/remove" {
                (frame.signed_fields())
                (frame.form_page())
                (password_field(frame))
                (code_field("Code", html! { "From the app, or a recovery code." }))
                button.button.grave { "Remove the app" }
            }
        } @else {
            p.prose { "You need an authenticator app on your phone, such as Aegis, 2FAS or Google Authenticator." }
            form.form.narrow method="post" action="/settings/two-factor/app" {
                (frame.signed_fields())
                (password_field(frame))
                button.button { "Continue" }
            }
        }
        p { a.action href="/settings/two-factor" { "Back to two-step login" } }
    };
    frame.page(heading, &content)
}

/// The page with the secret of a new app.
fn confirm_page(frame: &Frame<'_>, new: &NewTotp) -> Markup {
    let heading = "Set up an authenticator app";
    let groups: Vec<&str> = (0..new.secret.len())
        .step_by(4)
        .filter_map(|at| new.secret.get(at..new.secret.len().min(at + 4)))
        .collect();
    let content = html! {
        h1 { (heading) }
        p.prose { "Scan this with your app." }
        @if let Some(picture) = qr_code(&new.uri, "QR code for your authenticator app") { div.qr { (picture) } }
        p.prose { "Or open " a href=(new.uri) { "your app on this device" } ", or type this key into it:" }
        p { code.totp-key { (groups.join(" ")) } }
        form.form.narrow method="post" action="/settings/two-factor/app/confirm" {
            (frame.signed_fields())
            (code_field("Code", html! { "The six digits that the app shows now." }))
            button.button { "Turn on" }
        }
        p { a.action href="/settings/two-factor" { "Cancel" } }
    };
    frame.page(heading, &content)
}

/// GET /settings/two-factor/app.
pub async fn app_form(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup, RequestError> {
    Ok(app_page(&Frame::of(&app, &mut visit, &here).await?, user.second_factors.totp))
}

/// POST /settings/two-factor/app: current_password, apisecret.
pub async fn begin_app(app: App, here: LocalPath, form: SignedFields) -> Result<Markup, RequestError> {
    let new = two_factor::begin_totp(&app, &form).await?;
    Ok(confirm_page(&Frame::for_user(&app, &here, &form.user), &new))
}

/// The page of a refused code: the secret again, as long as it waits for one.
pub async fn confirm_form(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup, RequestError> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(match setup::new_totp(&app.site, &user, &frame.site().name).await? {
        Some(new) => confirm_page(&frame, &new),
        None => app_page(&frame, user.second_factors.totp),
    })
}

/// POST /settings/two-factor/app/confirm: code, apisecret.
pub async fn confirm_app(app: App, here: LocalPath, form: SignedFields) -> Result<Markup, RequestError> {
    let codes = two_factor::confirm_totp(&app, &form).await?;
    let frame = Frame::for_user(&app, &here, &form.user);
    Ok(recovery_codes_page(&frame, "Your recovery codes", &codes))
}

/// POST /settings/two-factor/app/remove: current_password, code, apisecret.
pub async fn remove_app(app: App, form: SignedFields) -> Result<Redirect, RequestError> {
    two_factor::end_totp(&app, &form).await?;
    changed(&app, &form.user).await
}

fn codes_page(frame: &Frame<'_>) -> Markup {
    let heading = "Make new recovery codes";
    let content = html! {
        h1 { (heading) }
        p.prose { "Your current recovery codes will stop working." }
        form.form.narrow method="post" action="/settings/two-factor/codes" {
            (frame.signed_fields())
            (password_field(frame))
            button.button { "Make new codes" }
        }
        p { a.action href="/settings/two-factor" { "Keep the current ones" } }
    };
    frame.page(heading, &content)
}

/// GET /settings/two-factor/codes.
pub async fn codes_form(Page { app, mut visit, here, .. }: Page<Member>) -> Result<Markup, RequestError> {
    Ok(codes_page(&Frame::of(&app, &mut visit, &here).await?))
}

/// POST /settings/two-factor/codes: current_password, apisecret.
pub async fn renew_codes(app: App, here: LocalPath, form: SignedFields) -> Result<Markup, RequestError> {
    let codes = two_factor::renew_recovery_codes(&app, &form).await?;
    let frame = Frame::for_user(&app, &here, &form.user);
    Ok(recovery_codes_page(&frame, "Your new recovery codes", &codes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{NOW, framed, user};
    use tidings_domain::accounts::two_factor::SecondFactors;

    fn render(state: &TwoFactorState, has_passkeys: bool) -> String {
        let alice = user("1", "alice", "");
        let page = TwoFactorPage { state, has_passkeys };
        framed(Some(&alice), |frame| page.render(frame)).into_string()
    }

    #[test]
    fn the_overview_says_what_there_is_and_what_can_be_added() {
        let mut state =
            TwoFactorState { factors: SecondFactors::default(), recovery_codes: 0, passkeys: Vec::new() };
        let html = render(&state, true);
        assert!(html.contains("Set up an authenticator app") && html.contains("Add a passkey"), "{html}");
        assert!(!html.contains("Recovery codes"), "{html}");
        assert!(!render(&state, false).contains("Passkeys"));

        state.factors = SecondFactors { totp: true, passkeys: true };
        state.recovery_codes = 7;
        let (id, name) = ("00ff".to_owned(), "\"><b>".to_owned());
        state.passkeys = vec![PasskeyFacts { id, name, since: NOW, used: None }];
        let html = render(&state, true);
        for part in [
            "Remove the authenticator app",
            "7 of 10 left",
            "&quot;&gt;&lt;b&gt;",
            "not used yet",
            "passkey=00ff",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        // A passkey can be removed even where none can be added.
        assert!(render(&state, false).contains("passkey=00ff"));
    }
}
