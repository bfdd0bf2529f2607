//! Mails to the owner of an account about changes of it. They contain no secrets.

use super::App;
use super::mail::SendMail;
use super::settings::SiteSettings;
use std::sync::Arc;
use tidings_domain::accounts::notices::{self, Correspondent};

/// What the owner of an account is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The password was changed.
    PasswordChanged,
    /// The account has another e-mail address now: to the one before.
    EmailLeft,
    /// The account has this e-mail address now.
    EmailJoined,
    /// An authenticator app was set up.
    TotpAdded,
    /// The authenticator app was removed.
    TotpRemoved,
    /// A passkey was added.
    PasskeyAdded,
    /// A passkey was removed.
    PasskeyRemoved,
    /// The recovery codes were replaced.
    RecoveryCodesReplaced,
}

impl Notice {
    fn subject(self, site: &str) -> String {
        match self {
            Self::PasswordChanged => format!("Your password for {site} was changed"),
            Self::EmailLeft | Self::EmailJoined => format!("Your e-mail address for {site} was changed"),
            Self::TotpAdded
            | Self::TotpRemoved
            | Self::PasskeyAdded
            | Self::PasskeyRemoved
            | Self::RecoveryCodesReplaced => format!("Your two-step login for {site} was changed"),
        }
    }

    fn text(self, site: &SiteSettings, username: &str) -> String {
        let what = match self {
            Self::PasswordChanged => "was given a new password, and all its other sessions were ended",
            Self::EmailLeft => "was given another e-mail address. Mail about it no longer comes here",
            Self::EmailJoined => "was given this e-mail address",
            Self::TotpAdded => "was given an authenticator app, whose codes it now takes to log in",
            Self::TotpRemoved => "no longer has an authenticator app",
            Self::PasskeyAdded => "was given a passkey, which logs in to it",
            Self::PasskeyRemoved => "has a passkey less",
            Self::RecoveryCodesReplaced => "was given new recovery codes. The earlier ones have ended",
        };
        let advice = match self {
            Self::PasswordChanged => format!(
                "If you did not do this, set a new password with a link by mail:\n\n{}\n",
                site.link("/reset-password")
            ),
            Self::EmailLeft => format!(
                "If you did not do this, somebody knows your password. Log in, change both, and end\n\
                 the other sessions. If you cannot log in, write to the administrator of the site.\n\n{}\n",
                site.link("/settings")
            ),
            Self::EmailJoined => "If this is not your account, ignore this message.\n".to_owned(),
            Self::TotpAdded
            | Self::TotpRemoved
            | Self::PasskeyAdded
            | Self::PasskeyRemoved
            | Self::RecoveryCodesReplaced => format!(
                "If you did not do this, somebody knows your password. Log in, change it, which ends all\n\
                 other sessions, and look at your two-step login. If you cannot log in, write to the\n\
                 administrator of the site.\n\n{}\n",
                site.link("/settings/two-factor")
            ),
        };
        format!("Hello {username},\n\nYour account at {} {what}.\n\n{advice}", site.name)
    }
}

/// Sends notices in the background, if mail is configured. Who has no address gets none.
pub fn send_notices(app: &App, to: Vec<(Correspondent, Notice)>) {
    let Some(mailer) = app.mailer.clone() else {
        return;
    };
    let app = app.clone();
    tokio::spawn(async move {
        for (correspondent, notice) in to {
            send_notice(&app, &mailer, &correspondent, notice).await;
        }
    });
}

async fn send_notice(app: &App, mailer: &Arc<dyn SendMail>, to: &Correspondent, notice: Notice) {
    if to.email.is_empty() {
        return;
    }
    match notices::may_send(&app.site, to.user_id).await {
        Ok(true) => {}
        Ok(false) => {
            tracing::warn!(user = %to.user_id, ?notice, "no notice sent: too many today");
            return;
        }
        Err(error) => tracing::warn!(user = %to.user_id, %error, "cannot count the notices of today"),
    }
    let brand = app.brand().await;
    let (subject, text) = (notice.subject(&brand.site.name), notice.text(&brand.site, &to.username));
    if let Err(error) = mailer.send_notice(&to.email, &subject, &text).await {
        tracing::error!(user = %to.user_id, ?notice, %error, "notice not sent");
    }
}
