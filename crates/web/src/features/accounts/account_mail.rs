//! The mails that tell the owner of an account about changes of it. They contain no secrets.

use crate::markup::addresses::MAIL_SETTINGS;
use crate::settings::SiteSettings;
use tidings_domain::accounts::notices::Notice;
use tidings_domain::accounts::two_factor::HostMove;

/// The subject and the text of the mail about a change. The name is empty for an account that has
/// been deactivated since.
pub fn notice(site: &SiteSettings, notice: Notice, username: &str) -> (String, String) {
    let hello = if username.is_empty() { "Hello,".to_owned() } else { format!("Hello {username},") };
    let (change, advice) = (change(notice, &site.name), advice(site, notice));
    (subject(notice, &site.name), format!("{hello}\n\n{change}\n\n{advice}"))
}

/// The subject and the text of the mail about a move of the site, to the owner of passkeys.
pub fn host_move(site: &SiteSettings, HostMove { from, to }: &HostMove, username: &str) -> (String, String) {
    let body = format!(
        "Hello {username},\n\n{} moves from {from} to {to}. Your passkeys for {from} will not work there.\n\n\
         Before the move, make sure that you know your password, and that you have recovery codes:\n\n{}\n\n\
         After the move, log in with them and add a passkey again.\n",
        site.name,
        site.link("/settings/two-factor")
    );
    (format!("Your passkeys, when {} moves", site.name), body)
}

fn subject(notice: Notice, site: &str) -> String {
    match notice {
        Notice::PasswordChanged => format!("Your password for {site} was changed"),
        Notice::EmailChanging => format!("A new e-mail address was entered for {site}"),
        Notice::EmailLeft => format!("Your e-mail address for {site} was changed"),
        Notice::TotpAdded
        | Notice::TotpRemoved
        | Notice::PasskeyAdded
        | Notice::PasskeyRemoved
        | Notice::RecoveryCodesReplaced => format!("Your two-step login for {site} was changed"),
    }
}

/// The change, in a sentence or two.
fn change(notice: Notice, site: &str) -> String {
    let account = format!("your account at {site}");
    match notice {
        Notice::PasswordChanged => {
            format!("The password of {account} was changed, and all other sessions were ended.")
        }
        Notice::EmailChanging => format!(
            "A new e-mail address was entered for {account}. We'll write to this one until the new one is \
             confirmed."
        ),
        Notice::EmailLeft => {
            format!("The e-mail address of {account} was changed. We no longer write to this one.")
        }
        Notice::TotpAdded => {
            format!("An authenticator app was added to {account}. You need its codes to log in.")
        }
        Notice::TotpRemoved => format!("The authenticator app was removed from {account}."),
        Notice::PasskeyAdded => format!("A passkey was added to {account}."),
        Notice::PasskeyRemoved => format!("A passkey was removed from {account}."),
        Notice::RecoveryCodesReplaced => {
            format!("New recovery codes were made for {account}. The old ones no longer work.")
        }
    }
}

fn advice(site: &SiteSettings, notice: Notice) -> String {
    match notice {
        Notice::PasswordChanged => {
            format!("If this wasn't you, reset your password:\n\n{}\n", site.link("/reset-password"))
        }
        Notice::EmailChanging | Notice::EmailLeft => format!(
            "If this wasn't you, someone knows your password. Log in, change your password and e-mail\n\
             address, and end all other sessions. If you can't log in, write to the site's\n\
             administrator.\n\n{}\n",
            site.link(MAIL_SETTINGS)
        ),
        Notice::TotpAdded
        | Notice::TotpRemoved
        | Notice::PasskeyAdded
        | Notice::PasskeyRemoved
        | Notice::RecoveryCodesReplaced => format!(
            "If this wasn't you, someone knows your password. Log in, change it to end all other\n\
             sessions, and check your two-step login. If you can't log in, write to the site's\n\
             administrator.\n\n{}\n",
            site.link("/settings/two-factor")
        ),
    }
}
