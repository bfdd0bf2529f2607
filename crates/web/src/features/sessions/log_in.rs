//! Logging in, for both the form and the API.

use crate::App;
use crate::error::RequestError;
use crate::features::accounts::form::Credentials;
use crate::markup::addresses::ACCOUNT_SETTINGS;
use tidings_domain::accounts::log_in::{self, LogIn};
use tidings_domain::accounts::login;
use tidings_domain::accounts::session_store::Device;
use tidings_domain::values::ids::UserId;
use tidings_domain::values::limits::FAILED_ADDRESSES;

/// Logs in, for both the form and the API.
pub(crate) async fn log_in(app: &App, form: &Credentials, device: &Device) -> Result<LogIn, RequestError> {
    let Credentials { username, password, code } = form;
    let typed = log_in::Credentials { username, password, code: code.as_deref() };
    let outcome = log_in::log_in(&app.site, app.now(), &typed, device).await;
    for id in app.site.take_attacked() {
        tell_owner(app, id);
    }
    Ok(outcome?)
}

/// Tells the owner of an account by mail, in the background, that many addresses try to log
/// in to it.
fn tell_owner(app: &App, id: UserId) {
    let Some(mailer) = app.mailer.clone() else {
        return;
    };
    let app = app.clone();
    tokio::spawn(async move {
        let owner = match login::owner_to_tell(&app.site, id).await {
            Ok(Some(owner)) => owner,
            Ok(None) => return,
            Err(error) => return tracing::warn!(user = %id, %error, "owner of an attacked account not read"),
        };
        let brand = app.brand().await;
        let site = &brand.site;
        let subject = format!("Failed logins to your account at {}", site.name);
        let body = format!(
            "Hello {},\n\nsomeone is trying to guess the password of your account at {}: logins from \
             {FAILED_ADDRESSES} different addresses failed within an hour.\n\nYour account is not locked, and you can log in as \
             usual. If your password is short or you use it elsewhere, choose a new one:\n\n{}\n",
            owner.username,
            site.name,
            site.link(ACCOUNT_SETTINGS)
        );
        if let Err(error) = mailer.send_notice(&owner.email, &subject, &body).await {
            tracing::error!(user = %id, %error, "mail about failed logins not sent");
        }
    });
}
