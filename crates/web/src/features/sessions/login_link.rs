//! The link with which an administrator logs in, made by `tidings user login-link`.

use super::login::enter;
use crate::App;
use crate::error::Result;
use crate::markup::{Frame, Page};
use crate::request::PathOf;
use axum::response::Response;
use maud::{Markup, html};
use tidings_domain::accounts::login_link;
use tidings_domain::accounts::session_store::Device;
use tidings_language::t;

/// The path of a link.
pub fn login_link_path(token: &str) -> String {
    format!("/login/link/{token}")
}

/// GET /login/link/:token: a button. Programs that look at links before people do use none up.
pub async fn form(PathOf(token): PathOf<String>, Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let user = login_link::owner(&app.site, app.now(), &token).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        form.form method="post" action=(login_link_path(&token)) {
            button.button { (t!("Log in as {username}", username = &user.username)) }
        }
        p.hint { (t!("This link works once.")) }
    };
    Ok(frame.headed(t!("Log in"), &content))
}

/// POST /login/link/:token.
pub async fn log_in(PathOf(token): PathOf<String>, app: App, device: Device) -> Result<Response> {
    let session = login_link::log_in((&app.site, app.now()), &token, &device).await?;
    Ok(enter(&app, &session, "/"))
}
