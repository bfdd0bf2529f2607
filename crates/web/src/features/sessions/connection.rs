//! The connection of an account to the OpenID provider, and what proves that its owner is there.

use super::single_sign_on::{demand_provider, way_there};
use crate::markup::addresses::{ACCOUNT_SETTINGS, SIGN_IN_SERVICE_SETTINGS};
use crate::markup::parts::ButtonForm;
use crate::markup::{Field, Frame, Member, Notice, Page};
use crate::request::SignedFields;
use crate::request::form::FORM_PAGE;
use crate::{App, Result};
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::User;
use tidings_domain::accounts::single_sign_on::{self, ProviderLogin};
use tidings_domain::moderation::group_roles;
use tidings_language::t;

/// The name of the provider; empty without one.
pub fn provider_name<'a>(frame: &'a Frame<'_>) -> &'a str {
    frame.settings.oidc.as_ref().map_or("", |provider| &provider.name)
}

/// The field for the password of the viewer. An account without one is confirmed at the provider instead.
pub fn proof(frame: &Frame<'_>, password: Field<'_>) -> Markup {
    const CONFIRMED: &str = "confirmed";
    if frame.viewer.is_none_or(|viewer| viewer.has_password) {
        return password.password();
    }
    let provider = provider_name(frame);
    html! {
        // The session knows whether it is so.
        input type="hidden" name=(password.name()) value=(CONFIRMED);
        @if frame.is_confirmed {
            p.hint { (t!("You have confirmed with {provider} that it is you.", provider)) }
        } @else if provider.is_empty() {
            p.hint {
                (t!("Your account has no password. Set one with {link} first.",
                    link = html! { a href="/reset-password" { (t!("a link by mail")) } }))
            }
        } @else {
            p {
                a.button.quiet href=(way_there("confirm", frame.here.as_str())) { (t!("Confirm with {provider}", provider)) }
            }
            p.hint { (t!("Your account has no password, so {provider} asks who you are first.", provider)) }
        }
    }
}

/// The page about the connection.
fn shown(frame: &Frame<'_>, user: &User, can_disconnect: bool) -> Markup {
    let provider = provider_name(frame);
    let content = html! {
        @if user.identity.is_some() {
            p { (t!("Your account is connected to {provider}. You log in with “Log in with {provider}”.", provider)) }
            @if can_disconnect {
                @let of_page = [(FORM_PAGE, frame.here.as_str())];
                (ButtonForm { class: "form", action: "/oidc/disconnect", fields: &of_page, button: "button grave" }.render(frame, t!("Disconnect")))
                p.hint {
                    (t!("After that, you log in without {provider}. You can connect your account again later.", provider))
                }
            } @else if frame.rules.oidc.only {
                p.hint { (t!("This is the only way to log in here.")) }
            } @else {
                p.hint {
                    (t!("To disconnect, set a {password} first.",
                        password = html! { a href=(ACCOUNT_SETTINGS) { (t!("password")) } }))
                }
            }
        } @else {
            p { (t!("Connect your account, and you can log in with {provider} instead of your password.", provider)) }
            p {
                a.button href=(way_there("connect", SIGN_IN_SERVICE_SETTINGS)) { (t!("Connect to {provider}", provider)) }
            }
        }
        p { a.action href=(ACCOUNT_SETTINGS) { (t!("Account settings")) } }
    };
    frame.headed(t!("Sign-in service"), &content)
}

/// GET /settings/sign-in.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    demand_provider(&app)?;
    let can_disconnect = user.can_log_in_without_provider(&app.site);
    Ok(shown(&Frame::of(&app, &mut visit, &here).await?, &user, can_disconnect))
}

/// The page that asks somebody who has come back whether this is the account to connect.
pub(super) async fn connect_page(page: &mut Page, (login, ticket): (&ProviderLogin, &str)) -> Result<Markup> {
    let frame = page.frame().await?;
    let provider = provider_name(&frame);
    let known_as = Some(&*login.username).filter(|name| !name.is_empty()).or(login.email.as_deref());
    let content = html! {
        @if let Some(viewer) = frame.viewer {
            p {
                @let username = html! { strong { (viewer.username) } };
                @if let Some(name) = known_as {
                    (t!("At {provider}, you are {name}. You can then log in here as {username} by logging in there.",
                        provider, name = html! { strong dir="auto" { (name) } }, username))
                } @else {
                    (t!("At {provider}, you are logged in. You can then log in here as {username} by logging in there.",
                        provider, username))
                }
            }
            @let label = t!("Connect {username}", username = &viewer.username);
            (ButtonForm { class: "form", action: "/oidc/connect", fields: &[("ticket", ticket)], button: "button" }.render(&frame, label))
        }
        p { a.action href=(SIGN_IN_SERVICE_SETTINGS) { (t!("Cancel")) } }
    };
    Ok(frame.headed(t!("Connect your account"), &content))
}

/// POST /oidc/connect: ticket, apisecret.
pub async fn connect(app: App, form: SignedFields) -> Result<Redirect> {
    demand_provider(&app)?;
    let ticket = form.fields.required("ticket")?;
    let connecting = single_sign_on::connect((&app.site, app.now()), form.owner()?, ticket);
    form.user.once(&app.site, connecting).await?;
    Notice::Connected.redirect_anew(&app, form.user.id, SIGN_IN_SERVICE_SETTINGS).await
}

/// POST /oidc/disconnect: apisecret.
pub async fn disconnect(app: App, form: SignedFields) -> Result<Redirect> {
    demand_provider(&app)?;
    let disconnecting = single_sign_on::disconnect(&app.site, form.owner()?);
    form.user.once(&app.site, disconnecting).await?;
    // Groups that nobody looks at any more give no role.
    group_roles::follow((&app.site, app.now()), form.user.id, None).await?;
    Notice::Disconnected.redirect_anew(&app, form.user.id, SIGN_IN_SERVICE_SETTINGS).await
}
