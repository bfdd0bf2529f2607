//! Switching mails off with the address that they carry, without a session.

use super::letters::name_of;
use crate::App;
use crate::error::RequestError;
use crate::markup::addresses::MAIL_SETTINGS;
use crate::markup::frame::Frame;
use crate::request::local_path::LocalPath;
use crate::request::path::PathOf;
use maud::{Markup, html};
use tidings_domain::accounts::unsubscribing::{self, Subscriber};

const HEADING: &str = "Unsubscribe";

async fn subscriber(app: &App, token: &str) -> Result<Subscriber, RequestError> {
    unsubscribing::subscriber(&app.site, token).await?.ok_or(RequestError::NotFound)
}

/// GET /unsubscribe/:token: asks. Programs that look at the links of a mail change nothing.
pub async fn form(PathOf(token): PathOf<String>, app: App, here: LocalPath) -> Result<Markup, RequestError> {
    let subscriber = subscriber(&app, &token).await?;
    let frame = Frame::anonymous(&app, &here).await;
    let content = html! {
        h1 { (HEADING) }
        p {
            "Stop getting " (name_of(subscriber.kind)) " from " (frame.site().name)
            "? You can turn this on again in your settings."
        }
        // Sent to the page's own address, the only place that has the token.
        form.form.narrow method="post" {
            button.button { "Unsubscribe" }
        }
    };
    Ok(frame.page(HEADING, &content))
}

/// POST /unsubscribe/:token: switches the mails off, for people and for mail programs
/// (RFC 8058). Nothing else is needed: the token names whose mails they are, and of which kind.
pub async fn unsubscribe(
    PathOf(token): PathOf<String>,
    app: App,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let subscriber = subscriber(&app, &token).await?;
    unsubscribing::unsubscribe(&app.site, app.now(), &subscriber).await?;
    let content = html! {
        h1 { "Unsubscribed" }
        p.notice role="status" {
            "You will no longer get " (name_of(subscriber.kind)) ". You can turn this on again in your "
            a href=(MAIL_SETTINGS) { "settings" } "."
        }
    };
    Ok(Frame::anonymous(&app, &here).await.page("Unsubscribed", &content))
}
