//! The mails about accounts: signing up, and changes that their owners are told of.

use crate::App;
use crate::features::inbox::letters::unlinked;
use crate::markup::addresses::{MAIL_SETTINGS, invitation_address};
use crate::settings::SiteSettings;
use tidings_domain::accounts::confirmation::{self, ConfirmationMail};
use tidings_domain::accounts::notices::Notice;
use tidings_domain::accounts::two_factor::HostMove;
use tidings_domain::accounts::{applications, staff};
use tidings_domain::values::{
    CONFIRMATION_SECONDS, Email, INVITATION_SECONDS, InvitationCode, SIGNUP_BURST_SECONDS, UserId,
};
use tidings_domain::{Error, Role};
use tidings_language::spans::span;
use tidings_language::{Message, Phrase, m, n, p, t};

/// How a mail begins. Some mails do not know a name.
fn hello(username: &str) -> Phrase<'_> {
    if username.is_empty() { p!("Hello,") } else { t!("Hello {username},", username) }
}

/// Mails an invitation of a user.
pub fn mail_invitation(app: &App, inviter: &str, email: Email, code: InvitationCode) {
    let Some(mailer) = app.mailer.clone() else { return };
    let (app, inviter) = (app.clone(), inviter.to_owned());
    tokio::spawn(async move {
        let brand = app.brand().await;
        let SiteSettings { name: site_name, description, .. } = &brand.site;
        let inviter = &unlinked(&inviter);
        let subject = t!("{inviter} invites you to {site}", inviter, site = site_name).to_string();
        let body = format!(
            "{}\n\n{}\n\n{}\n\n{}\n\n{}\n",
            hello(""),
            if description.is_empty() {
                t!("{inviter} invites you to {site}.", inviter, site = site_name)
            } else {
                t!("{inviter} invites you to {site}: {description}", inviter, site = site_name, description)
            },
            t!("To sign up, open this link within {span}. It works once:", span = span(INVITATION_SECONDS)),
            brand.site.link(&invitation_address(&code)),
            t!("If you don't want an account, ignore this message."),
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
    tokio::spawn(async move {
        let Some(mailer) = &app.mailer else { return };
        let brand = app.brand().await;
        let (subject, body) = link_to_confirm(&brand.site, &mail);
        if let Err(error) = mailer.send(&mail.email, &subject, &body).await {
            tracing::error!(%user, %error, "link to confirm an address not sent");
        }
    });
    Ok(true)
}

/// The subject and the text of the mail with a link that confirms an address.
pub fn link_to_confirm(site: &SiteSettings, mail: &ConfirmationMail) -> (String, String) {
    let subject = t!("Confirm your e-mail address for {site}", site = &site.name).to_string();
    let body = format!(
        "{}\n\n{}\n\n{}\n\n{}\n",
        hello(&mail.username),
        t!(
            "To confirm this e-mail address for your account at {site}, open this link within {span}:",
            site = &site.name,
            span = span(CONFIRMATION_SECONDS),
        ),
        site.link(&format!("/confirm-email/{}", mail.token)),
        t!("If this is not your account, ignore this message."),
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
            t!("Your application at {site}", site = &site.name),
            format!(
                "{}\n\n{reason}\n\n{}\n\n{apply}",
                t!("your application was rejected:"),
                t!("You can apply again:"),
            ),
        )
    } else {
        let login = site.link("/login");
        (
            t!("Welcome to {site}", site = &site.name),
            format!("{}\n\n{login}", t!("your application was accepted. You can log in:")),
        )
    };
    let body = format!("{}\n\n{what}\n", hello(&application.username));
    if let Err(error) = mailer.send_notice(&application.email, &subject.to_string(), &body).await {
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
        let text = n!(
            limit,
            "{count} account were created within {span}. For the next {span}, new accounts wait for your approval, \
             like applications. People with an invitation don't have to wait, nor does the first account from \
             each network.",
            "{count} accounts were created within {span}. For the next {span}, new accounts wait for your approval, \
             like applications. People with an invitation don't have to wait, nor does the first account from \
             each network.",
            span = span(SIGNUP_BURST_SECONDS),
        )
        .to_string();
        if let Err(error) = tell_administrators(&app, &text).await {
            tracing::error!(%error, "administrators not told that new accounts wait");
        }
    });
}

async fn tell_administrators(app: &App, text: &str) -> Result<(), Error> {
    let to_mail = staff::tell(&app.site, app.moment(), Role::Administrator, text).await?;
    let Some(mailer) = &app.mailer else { return Ok(()) };
    let brand = app.brand().await;
    let site = &brand.site;
    let subject = t!("New accounts need approval at {site}", site = &site.name).to_string();
    for user in to_mail {
        let body = format!("{}\n\n{text}\n\n{}\n", hello(&user.username), site.link("/admin"));
        if let Err(error) = mailer.send_notice(&user.email, &subject, &body).await {
            tracing::error!(user = %user.id, %error, "mail about sign-ups not sent");
        }
    }
    Ok(())
}

/// The subject and the text of the mail about a change. The name is empty for an account that has
/// been deactivated since.
pub fn notice(site: &SiteSettings, notice: Notice, username: &str) -> (String, String) {
    let (subject, change, (advice, address)) = words(notice);
    let [subject, change] = [subject, change].map(|words| Phrase::new(words).with("site", &site.name));
    let body = format!("{}\n\n{change}\n\n{advice}\n\n{}\n", hello(username), site.link(address));
    (subject.to_string(), body)
}

/// The words of a mail: its subject, the change in a sentence or two, and what to do if it was somebody else, with the
/// address for that.
type Words = (&'static Message, &'static Message, (&'static str, &'static str));

fn words(notice: Notice) -> Words {
    let of_email = |subject, change| {
        let advice =
            t!("If this wasn't you, someone knows your password. Log in, change your password and e-mail\n\
             address, and end all other sessions. If you can't log in, write to the site's\n\
             administrator.");
        (subject, change, (advice, MAIL_SETTINGS))
    };
    let of_login = |change| {
        let advice =
            t!("If this wasn't you, someone knows your password. Log in, change it to end all other\n\
             sessions, and check your two-step login. If you can't log in, write to the site's\n\
             administrator.");
        (m!("Your two-step login for {site} was changed"), change, (advice, "/settings/two-factor"))
    };
    match notice {
        Notice::PasswordChanged => (
            m!("Your password for {site} was changed"),
            m!("The password of your account at {site} was changed, and all other sessions were ended."),
            (t!("If this wasn't you, reset your password:"), "/reset-password"),
        ),
        Notice::EmailChanging => of_email(
            m!("A new e-mail address was entered for {site}"),
            m!(
                "A new e-mail address was entered for your account at {site}. We'll write to this one until the new one \
                 is confirmed."
            ),
        ),
        Notice::EmailLeft => of_email(
            m!("Your e-mail address for {site} was changed"),
            m!("The e-mail address of your account at {site} was changed. We no longer write to this one."),
        ),
        Notice::TotpAdded => of_login(m!(
            "An authenticator app was added to your account at {site}. You need its codes to log in."
        )),
        Notice::TotpRemoved => of_login(m!("The authenticator app was removed from your account at {site}.")),
        Notice::PasskeyAdded => of_login(m!("A passkey was added to your account at {site}.")),
        Notice::PasskeyRemoved => of_login(m!("A passkey was removed from your account at {site}.")),
        Notice::RecoveryCodesReplaced => of_login(m!(
            "New recovery codes were made for your account at {site}. The old ones no longer work."
        )),
    }
}

/// The subject and the text of the mail about a move of the site, to the owner of passkeys.
pub fn host_move(site: &SiteSettings, HostMove { from, to }: &HostMove, username: &str) -> (String, String) {
    let subject = t!("Your passkeys: {site} is moving", site = &site.name).to_string();
    let body = format!(
        "{}\n\n{}\n\n{}\n\n{}\n\n{}\n",
        hello(username),
        t!(
            "{site} is moving from {from} to {to}. Your passkeys for {from} will not work there.",
            site = &site.name,
            from = from.as_str(),
            to = to.as_str(),
        ),
        t!("Before the move, make sure that you know your password, and that you have recovery codes:"),
        site.link("/settings/two-factor"),
        t!("After the move, log in with them and add a passkey again."),
    );
    (subject, body)
}
