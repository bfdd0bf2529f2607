//! Switching mails off with the address that they carry, without a session.

use crate::App;
use crate::error::{RequestError, Result};
use crate::markup::Frame;
use crate::markup::addresses::MAIL_SETTINGS;
use crate::request::{LocalPath, PathOf};
use maud::{Markup, html};
use tidings_domain::accounts::outbox::MailKind;
use tidings_domain::accounts::unsubscribing::{self, Subscriber};
use tidings_language::t;

async fn subscriber(app: &App, token: &str) -> Result<Subscriber> {
    unsubscribing::subscriber(&app.site, token).await?.ok_or(RequestError::NotFound)
}

/// GET /unsubscribe/:token: asks. Programs that look at the links of a mail change nothing.
pub async fn form(PathOf(token): PathOf<String>, app: App, here: LocalPath) -> Result<Markup> {
    let subscriber = subscriber(&app, &token).await?;
    let frame = Frame::anonymous(&app, &here).await;
    let site = &frame.site().name;
    let question = match subscriber.kind {
        MailKind::Replies => t!(
            "Stop getting mail about replies, mentions and messages from moderators from {site}? You can turn this on again in your settings.",
            site,
        ),
        MailKind::Digest => t!(
            "Stop getting digests of the best stories from {site}? You can turn this on again in your settings.",
            site,
        ),
    };
    let content = html! {
        p { (question) }
        // Sent to the page's own address, the only place that has the token.
        form.form.narrow method="post" {
            button.button { (t!("Unsubscribe")) }
        }
    };
    Ok(frame.headed(t!("Unsubscribe"), &content))
}

/// POST /unsubscribe/:token: switches the mails off, for people and for mail programs
/// (RFC 8058). Nothing else is needed: the token names whose mails they are, and of which kind.
pub async fn unsubscribe(PathOf(token): PathOf<String>, app: App, here: LocalPath) -> Result<Markup> {
    let subscriber = subscriber(&app, &token).await?;
    unsubscribing::unsubscribe(&app.site, app.now(), &subscriber).await?;
    let settings = html! { a href=(MAIL_SETTINGS) { (t!("settings")) } };
    let done = match subscriber.kind {
        MailKind::Replies => t!(
            "You will no longer get mail about replies, mentions and messages from moderators. You can turn this on again in your {settings}.",
            settings,
        ),
        MailKind::Digest => t!(
            "You will no longer get digests of the best stories. You can turn this on again in your {settings}.",
            settings,
        ),
    };
    let content = html! {
        p.notice role="status" { (done) }
    };
    Ok(Frame::anonymous(&app, &here).await.headed(t!("Unsubscribed"), &content))
}
