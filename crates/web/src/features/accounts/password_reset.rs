//! Setting a new password with a mailed link: both pages.

use super::form::ResetRequest;
use super::settings::new_password_field;
use crate::features::guide::about::contact_link;
use crate::markup::{Field, Frame, Page};
use crate::request::{ClientAddress, DONE, DoneResponse, Fields, LocalPath, PathOf};
use crate::{App, Result};
use axum::Json;
use maud::{Markup, html};
use std::net::IpAddr;
use tidings_domain::accounts::password_reset;
use tidings_domain::values::{MAX_RUNNING_RESETS, NewPassword, RatedAction};
use tidings_domain::{Error, Refusal, rates};
use tidings_language::{Message, m, t};
use tokio::sync::Semaphore;

static HEADING: &Message = m!("Reset your password");

/// GET /reset-password.
pub async fn request_form(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let username = Field::new("username", t!("Username")).with("autocomplete", "username");
    let email =
        Field::new("email", t!("E-mail address")).with("inputmode", "email").with("autocomplete", "email");
    let content = html! {
        @if app.mailer.is_some() {
            p { (t!("We will send a link to the e-mail address in your profile. It works once, within an hour.")) }
            form.form.narrow method="post" action="/reset-password" {
                (username.required().exact().input())
                (email.required().exact().input())
                button.button { (t!("Send the link")) }
            }
        } @else {
            p.notice { (t!("This site can't send mail. Ask {helper} for a new password.", helper = helper(&frame))) }
        }
    };
    Ok(frame.headed(HEADING.text(), &content))
}

/// POST /reset-password: username, email.
pub async fn request(app: App, client: ClientAddress, here: LocalPath, fields: Fields) -> Result<Markup> {
    send_reset_link(&app, fields.read()?, client.0).await?;
    let frame = Frame::anonymous(&app, &here).await;
    let content = html! {
        h1 { (t!("Check your mail")) }
        p.notice role="status" {
            (t!("If there is an account with this username and address, a link is on its way. \
                 It works once, within an hour."))
        }
        p {
            (t!("No mail? The account may have another address, or none. Then ask {helper} for a new password.",
                helper = helper(&frame)))
        }
    };
    Ok(frame.page(HEADING.text(), &content))
}

/// The person to ask for help.
fn helper(frame: &Frame<'_>) -> Markup {
    let contact = &frame.site().contact;
    html! {
        @if contact.is_empty() {
            (t!("one of the {administrators}", administrators = html! { a href="/moderators" { (t!("administrators")) } }))
        }
        @else { a href=(contact_link(contact)) { (contact) } }
    }
}

fn password_form(frame: &Frame<'_>, username: &str) -> Markup {
    let content = html! {
        // Sent to the page's own address, the only place that has the token.
        form.form.narrow method="post" {
            // Tells a password manager whose password it is.
            input type="text" name="username" value=(username) autocomplete="username" hidden;
            (new_password_field("").required().password())
            button.button { (t!("Set password")) }
        }
    };
    frame.headed(t!("Set a new password"), &content)
}

/// GET /reset-password/:token.
pub async fn new_password_form(PathOf(token): PathOf<String>, app: App, here: LocalPath) -> Result<Markup> {
    let username = password_reset::check_link(&app.site, &token).await?;
    Ok(password_form(&Frame::anonymous(&app, &here).await, &username))
}

/// POST /reset-password/:token: password. A refused password leaves the link as it is.
pub async fn set_password(
    PathOf(token): PathOf<String>,
    app: App,
    here: LocalPath,
    fields: Fields,
) -> Result<Markup> {
    let password = NewPassword::parse(fields.required("password")?).map_err(Error::from)?;
    password_reset::set_new_password(&app.site, app.now(), &token, &password).await?;
    let content = html! {
        h1 { (t!("Your password has been changed")) }
        p.notice role="status" { (t!("You have been logged out everywhere.")) }
        p { a.action href="/login" { (t!("Log in")) } }
    };
    Ok(Frame::anonymous(&app, &here).await.page(HEADING.text(), &content))
}

/// Sends the link if a user with this name has this address. All of that happens after the
/// response, so that neither the response nor its time reveals whether one has.
///
/// # Errors
/// [`Refusal::MailIsOff`], [`Refusal::TooManyRequests`], [`Error::Busy`] while too many requests
/// are handled, or the store's.
pub(crate) async fn send_reset_link(app: &App, form: ResetRequest, address: IpAddr) -> Result<()> {
    static RUNNING: Semaphore = Semaphore::const_new(MAX_RUNNING_RESETS);
    if app.mailer.is_none() {
        return Err(Refusal::MailIsOff.into());
    }
    let place = RUNNING.try_acquire().map_err(|_| Error::Busy)?;
    rates::spend(&app.site, app.moment(), RatedAction::Reset, address).await?;
    let app = app.clone();
    tokio::spawn(async move {
        let _place = place;
        if let Err(error) = mail_reset_link(&app, &form).await {
            tracing::error!(%error, "password reset failed");
        }
    });
    Ok(())
}

async fn mail_reset_link(app: &App, form: &ResetRequest) -> Result<(), Error> {
    let mail = password_reset::request_reset(&app.site, app.now(), &form.username, &form.email).await?;
    let (Some(mail), Some(mailer)) = (mail, &app.mailer) else {
        return Ok(());
    };
    let brand = app.brand().await;
    let site = &brand.site;
    let link = site.link(&format!("/reset-password/{}", mail.token));
    let subject = t!("Set a new password for {site}", site = &site.name).to_string();
    let body = format!(
        "{}\n\n{}\n\n{link}\n\n{}\n",
        t!("Hello {username},", username = &mail.username),
        t!(
            "To set a new password for your account at {site}, open this link within an hour:",
            site = &site.name
        ),
        t!("If you did not request this, ignore this message. Your password has not changed."),
    );
    if let Err(error) = mailer.send(&mail.email, &subject, &body).await {
        tracing::error!(username = mail.username, %error, "password reset mail not sent");
        password_reset::withdraw_reset(&app.site, &mail).await?;
    }
    Ok(())
}

/// GET and POST /api/reset-password.
pub async fn request_by_call(app: App, client: ClientAddress, fields: Fields) -> Result<Json<DoneResponse>> {
    send_reset_link(&app, fields.read()?, client.0).await?;
    Ok(Json(DONE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::framed;

    #[test]
    fn the_form_for_the_password_carries_no_secret() {
        let html = framed(None, |frame| password_form(frame, "alice")).into_string();
        assert!(html.contains(r#"value="alice" autocomplete="username""#), "{html}");
        assert!(!html.contains(r#"type="hidden""#) && !html.contains("action="), "{html}");
    }
}
