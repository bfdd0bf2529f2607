//! The mails about accounts: signing up, and changes that their owners are told of.

use crate::App;
use crate::features::inbox::letters::unlinked;
use crate::markup::addresses::{MAIL_SETTINGS, invitation_address};
use crate::settings::SiteSettings;
use tidings_domain::Error;
use tidings_domain::accounts::confirmation::{self, ConfirmationMail};
use tidings_domain::accounts::notices::Notice;
use tidings_domain::accounts::two_factor::HostMove;
use tidings_domain::accounts::{applications, staff};
use tidings_domain::values::words::{counted, span};
use tidings_domain::values::{
    CONFIRMATION_SECONDS, Email, INVITATION_SECONDS, InvitationCode, SIGNUP_BURST_SECONDS, UserId,
};

/// Mails an invitation of a user.
pub fn mail_invitation(app: &App, inviter: &str, email: Email, code: InvitationCode) {
    let Some(mailer) = app.mailer.clone() else { return };
    let (app, inviter) = (app.clone(), inviter.to_owned());
    tokio::spawn(async move {
        let brand = app.brand().await;
        let site = &brand.site;
        let inviter = unlinked(&inviter);
        let subject = format!("{inviter} invites you to {}", site.name);
        let body = format!(
            "Hello,\n\n{inviter} invites you to {}{}\n\nTo sign up, open this link within {}. It works once:\n\n{}\n\n\
             If you don't want an account, ignore this message.\n",
            site.name,
            if site.description.is_empty() { ".".to_owned() } else { format!(": {}", site.description) },
            span(INVITATION_SECONDS),
            site.link(&invitation_address(&code))
        );
        if let Err(error) = mailer.send(email.as_str(), &subject, &body).await {
            tracing::error!(inviter, %error, "invitation not sent");
        }
    });
}

/// Mails the link again, because the owner has asked for it. Returns whether there is anything
/// to confirm.
///
/// # Errors
/// Those of [`confirmation::make_link`].
pub async fn mail_link_again(app: &App, user: UserId) -> Result<bool, Error> {
    let Some(mail) = confirmation::make_link(&app.site, user).await? else {
        return Ok(false);
    };
    let app = app.clone();
    tokio::spawn(async move { send_link(&app, user, &mail).await });
    Ok(true)
}

async fn send_link(app: &App, user: UserId, mail: &ConfirmationMail) {
    let Some(mailer) = &app.mailer else { return };
    let brand = app.brand().await;
    let (subject, body) = link_to_confirm(&brand.site, mail);
    if let Err(error) = mailer.send(&mail.email, &subject, &body).await {
        tracing::error!(%user, %error, "link to confirm an address not sent");
    }
}

/// The subject and the text of the mail with a link that confirms an address.
pub fn link_to_confirm(site: &SiteSettings, mail: &ConfirmationMail) -> (String, String) {
    let subject = format!("Confirm your e-mail address for {}", site.name);
    let body = format!(
        "Hello {},\n\nTo confirm this e-mail address for your account at {}, open this link within {}:\n\n{}\n\n\
         If this is not your account, ignore this message.\n",
        mail.username,
        site.name,
        span(CONFIRMATION_SECONDS),
        site.link(&format!("/confirm-email/{}", mail.token))
    );
    (subject, body)
}

/// Tells an applicant by mail that the application is accepted, or that it is rejected and why,
/// if there is an address and mail is configured.
pub async fn mail_answer(app: &App, username: &str, reason: &str) {
    let Some(mailer) = app.mailer.clone() else { return };
    let application = match applications::application(&app.site, username).await {
        Ok(application) if !application.email.is_empty() => application,
        Ok(_) => return,
        Err(error) => return tracing::warn!(username, %error, "answered application not read"),
    };
    let brand = app.brand().await;
    let site = &brand.site;
    let (subject, what) = if application.is_rejected {
        let apply = site.link("/register");
        (
            format!("Your application at {}", site.name),
            format!("your application was rejected:\n\n{reason}\n\nYou can apply again:\n\n{apply}"),
        )
    } else {
        let login = site.link("/login");
        (
            format!("Welcome to {}", site.name),
            format!("your application was accepted. You can log in:\n\n{login}"),
        )
    };
    let body = format!("Hello {},\n\n{what}\n", application.username);
    if let Err(error) = mailer.send_notice(&application.email, &subject, &body).await {
        tracing::error!(username, %error, "answer to an application not sent");
    }
}

/// Tells the administrators that too many accounts were created, and that new ones wait.
pub fn tell_of_burst(app: &App) {
    let limit = app.site.rules.limits.signup_burst;
    tracing::warn!(
        limit,
        "too many accounts were created within an hour; new ones wait for approval for an hour"
    );
    let app = app.clone();
    tokio::spawn(async move {
        let text = format!(
            "{} were created within {}. For the next {}, new accounts wait for your approval, like \
             applications. People with an invitation don't have to wait, nor does the first account from \
             each network.",
            counted(limit, "account", "accounts"),
            span(SIGNUP_BURST_SECONDS),
            span(SIGNUP_BURST_SECONDS)
        );
        if let Err(error) = tell_administrators(&app, &text).await {
            tracing::error!(%error, "administrators not told that new accounts wait");
        }
    });
}

async fn tell_administrators(app: &App, text: &str) -> Result<(), Error> {
    let to_mail = staff::tell_administrators(&app.site, app.moment(), text).await?;
    let Some(mailer) = &app.mailer else { return Ok(()) };
    let brand = app.brand().await;
    let site = &brand.site;
    let subject = format!("New accounts need approval at {}", site.name);
    for user in to_mail {
        let body = format!("Hello {},\n\n{text}\n\n{}\n", user.username, site.link("/admin"));
        if let Err(error) = mailer.send_notice(&user.email, &subject, &body).await {
            tracing::error!(user = %user.id, %error, "mail about sign-ups not sent");
        }
    }
    Ok(())
}

/// The subject and the text of the mail about a change. The name is empty for an account that has
/// been deactivated since.
pub fn notice(site: &SiteSettings, notice: Notice, username: &str) -> (String, String) {
    let hello = if username.is_empty() { "Hello,".to_owned() } else { format!("Hello {username},") };
    let (subject, change, advice) = words(notice, site);
    (subject, format!("{hello}\n\n{change}\n\n{advice}"))
}

/// The subject of the mail about a change, the change in a sentence or two, and what to do if it was somebody else.
fn words(notice: Notice, site: &SiteSettings) -> (String, String, String) {
    let name = &site.name;
    let account = format!("your account at {name}");
    let of_email = |subject, change| {
        let advice = format!(
            "If this wasn't you, someone knows your password. Log in, change your password and e-mail\n\
             address, and end all other sessions. If you can't log in, write to the site's\n\
             administrator.\n\n{}\n",
            site.link(MAIL_SETTINGS)
        );
        (subject, change, advice)
    };
    let of_login = |change| {
        let advice = format!(
            "If this wasn't you, someone knows your password. Log in, change it to end all other\n\
             sessions, and check your two-step login. If you can't log in, write to the site's\n\
             administrator.\n\n{}\n",
            site.link("/settings/two-factor")
        );
        (format!("Your two-step login for {name} was changed"), change, advice)
    };
    match notice {
        Notice::PasswordChanged => (
            format!("Your password for {name} was changed"),
            format!("The password of {account} was changed, and all other sessions were ended."),
            format!("If this wasn't you, reset your password:\n\n{}\n", site.link("/reset-password")),
        ),
        Notice::EmailChanging => of_email(
            format!("A new e-mail address was entered for {name}"),
            format!(
                "A new e-mail address was entered for {account}. We'll write to this one until the new one is \
                 confirmed."
            ),
        ),
        Notice::EmailLeft => of_email(
            format!("Your e-mail address for {name} was changed"),
            format!("The e-mail address of {account} was changed. We no longer write to this one."),
        ),
        Notice::TotpAdded => {
            of_login(format!("An authenticator app was added to {account}. You need its codes to log in."))
        }
        Notice::TotpRemoved => of_login(format!("The authenticator app was removed from {account}.")),
        Notice::PasskeyAdded => of_login(format!("A passkey was added to {account}.")),
        Notice::PasskeyRemoved => of_login(format!("A passkey was removed from {account}.")),
        Notice::RecoveryCodesReplaced => {
            of_login(format!("New recovery codes were made for {account}. The old ones no longer work."))
        }
    }
}

/// The subject and the text of the mail about a move of the site, to the owner of passkeys.
pub fn host_move(site: &SiteSettings, HostMove { from, to }: &HostMove, username: &str) -> (String, String) {
    let body = format!(
        "Hello {username},\n\n{} is moving from {from} to {to}. Your passkeys for {from} will not work there.\n\n\
         Before the move, make sure that you know your password, and that you have recovery codes:\n\n{}\n\n\
         After the move, log in with them and add a passkey again.\n",
        site.name,
        site.link("/settings/two-factor")
    );
    (format!("Your passkeys: {} is moving", site.name), body)
}
