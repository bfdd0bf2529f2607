//! The mails that tell the owner of an account about changes of it. They contain no secrets.

use super::settings::SiteSettings;
use tidings_domain::accounts::notices::Notice;

/// The subject and the text of the mail about a change. The name is empty for an account that has
/// been deactivated since.
#[must_use]
pub fn notice(site: &SiteSettings, notice: Notice, username: &str) -> (String, String) {
    let hello = if username.is_empty() { "Hello,".to_owned() } else { format!("Hello {username},") };
    let (what, advice) = (what(notice), advice(site, notice));
    (subject(notice, &site.name), format!("{hello}\n\nYour account at {} {what}.\n\n{advice}", site.name))
}

fn subject(notice: Notice, site: &str) -> String {
    match notice {
        Notice::PasswordChanged => format!("Your password for {site} was changed"),
        Notice::EmailChanging => format!("Your e-mail address for {site} is to be changed"),
        Notice::EmailLeft => format!("Your e-mail address for {site} was changed"),
        Notice::TotpAdded
        | Notice::TotpRemoved
        | Notice::PasskeyAdded
        | Notice::PasskeyRemoved
        | Notice::RecoveryCodesReplaced => format!("Your two-step login for {site} was changed"),
    }
}

const fn what(notice: Notice) -> &'static str {
    match notice {
        Notice::PasswordChanged => "was given a new password, and all its other sessions were ended",
        Notice::EmailChanging => {
            "is to get another e-mail address. Mail about it comes here until the other address is confirmed"
        }
        Notice::EmailLeft => "was given another e-mail address. Mail about it no longer comes here",
        Notice::TotpAdded => "was given an authenticator app, whose codes it now takes to log in",
        Notice::TotpRemoved => "no longer has an authenticator app",
        Notice::PasskeyAdded => "was given a passkey, which logs in to it",
        Notice::PasskeyRemoved => "has a passkey less",
        Notice::RecoveryCodesReplaced => "was given new recovery codes. The earlier ones have ended",
    }
}

fn advice(site: &SiteSettings, notice: Notice) -> String {
    match notice {
        Notice::PasswordChanged => format!(
            "If you did not do this, set a new password with a link by mail:\n\n{}\n",
            site.link("/reset-password")
        ),
        Notice::EmailChanging | Notice::EmailLeft => format!(
            "If you did not do this, somebody knows your password. Log in, change both, and end\n\
             the other sessions. If you cannot log in, write to the administrator of the site.\n\n{}\n",
            site.link("/settings")
        ),
        Notice::TotpAdded
        | Notice::TotpRemoved
        | Notice::PasskeyAdded
        | Notice::PasskeyRemoved
        | Notice::RecoveryCodesReplaced => format!(
            "If you did not do this, somebody knows your password. Log in, change it, which ends all\n\
             other sessions, and look at your two-step login. If you cannot log in, write to the\n\
             administrator of the site.\n\n{}\n",
            site.link("/settings/two-factor")
        ),
    }
}
