//! Setting a new password with a link sent by mail: both pages and the mail.

use crate::domain::{Refusal, password_reset};
use crate::web::App;
use crate::web::error::Failure;

/// Sends the link, if a user with this name has this address. Who asks learns
/// nothing: neither from the answer nor, the mail going out in the
/// background, from the time it takes.
///
/// # Errors
/// [`Refusal::MailIsOff`], or the store's.
pub async fn send_link(app: &App, username: &str, email: &str) -> Result<(), Failure> {
    let mailer = app.mailer.clone().ok_or(Refusal::MailIsOff)?;
    let Some(mail) = password_reset::request_reset(&app.site, app.now(), username, email).await? else {
        return Ok(());
    };
    let site = app.config.site.clone();
    let link = site.link(&format!("/reset-password/{}", mail.token));
    let body = format!(
        "Hello {},\n\nto set a new password for your account at {}, open this link within an hour:\n\n{link}\n\n\
         If you did not ask for this, ignore this message: nothing has changed.\n",
        mail.username, site.name
    );
    tokio::spawn(async move {
        let subject = format!("A new password for {}", site.name);
        if let Err(error) = mailer.send(&mail.email, &subject, &body).await {
            tracing::error!(%error, "password reset mail not sent");
        }
    });
    Ok(())
}
