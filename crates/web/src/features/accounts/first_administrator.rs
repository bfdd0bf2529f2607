//! The link in the server's log that makes somebody the first administrator: it leads to the
//! sign-up page, or asks whoever is logged in.

use super::form::welcome_token;
use crate::markup::Frame;
use crate::markup::addresses::login_to;
use crate::markup::parts::ButtonForm;
use crate::request::{LocalPath, SignedFields};
use crate::{App, Result};
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::first_administrator;
use tidings_domain::values::WelcomeToken;
use tidings_domain::{Refusal, Visit};
use tidings_language::t;

/// The page of the link.
///
/// # Errors
/// When the token is not the right one, somebody is the administrator already, or the store fails.
pub async fn show(app: &App, mut visit: Visit, here: &LocalPath, token: &WelcomeToken) -> Result<Markup> {
    first_administrator::demand_token(&mut visit, token).await?;
    let frame = Frame::of(app, &mut visit, here).await?;
    Ok(page(&frame, token))
}

fn page(frame: &Frame<'_>, token: &WelcomeToken) -> Markup {
    let (heading, token) = (t!("Become the administrator"), token.expose());
    let content = html! {
        div.prose {
            p {
                (t!("{site} has no administrator yet. This link makes you its administrator. It works once.",
                    site = &frame.site().name))
            }
            @if let Some(viewer) = frame.viewer {
                @let label = t!("Make {username} the administrator", username = &viewer.username);
                (ButtonForm { class: "form", action: "/welcome", fields: &[("token", token)], button: "button" }.render(frame, label))
            } @else {
                p { a.button href={ "/register?token=" (token) } { (t!("Sign up as the administrator")) } }
                p {
                    @let login = login_to(None, &format!("/welcome?token={token}"));
                    (t!("Already have an account? {log_in}, and make that account the administrator.",
                        log_in = html! { a href=(login) { (t!("Log in")) } }))
                }
            }
        }
    };
    frame.headed(heading, &content)
}

/// POST /welcome: token, apisecret.
pub async fn confirm(app: App, form: SignedFields) -> Result<Redirect> {
    form.fields.required("token")?;
    let token = welcome_token(&form.fields)?.ok_or(Refusal::WelcomeLinkInvalid)?;
    let becoming = first_administrator::become_administrator(&app.site, &form.user, &token);
    form.user.once(&app.site, becoming).await?;
    Ok(Redirect::to("/welcome"))
}
