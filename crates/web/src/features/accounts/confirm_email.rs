//! Confirming the e-mail address of an account with the link that was mailed to it, and having
//! that link sent again.

use super::mails::mail_link_again;
use crate::markup::addresses::MAIL_SETTINGS;
use crate::markup::parts::ButtonForm;
use crate::markup::{Frame, Notice};
use crate::request::{LocalPath, PathOf, SignedFields};
use crate::{App, Result};
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::confirmation::{self, ConfirmationLink};
use tidings_domain::values::{Digest, MAX_REFUSED_MAILS};
use tidings_language::{Message, m, n, t};

static HEADING: &Message = m!("Confirm your e-mail address");

/// The notice for a viewer whose address is not confirmed: the action to take, and the button that
/// sends the link again. Empty for everybody else, and on a site that does not require a confirmation.
pub fn reminder(frame: &Frame<'_>) -> Markup {
    let unconfirmed = frame.viewer.filter(|viewer| viewer.unconfirmed && frame.rules.accounts.confirm_email);
    html! {
        @if let Some((viewer, email)) = unconfirmed.map(|viewer| (viewer, viewer.typed_email())) {
            (section("confirm-email", HEADING.text(), &html! {
                @let settings = html! { a href=(MAIL_SETTINGS) { (t!("settings")) } };
                @if email.is_empty() {
                    p {
                        (t!("You can read, but not write or vote yet. Enter your e-mail address in your {settings}, and \
                             we'll send you a link to confirm it.", settings))
                    }
                } @else {
                    p {
                        (t!("You can read, but not write or vote yet. Open the link we mailed to {email}. If that is \
                             not your address, change it in your {settings}.", email = html! { strong { (email) } }, settings))
                    }
                    @if viewer.email_to_confirm().is_some() { (send_again_form(frame)) }
                }
            }))
        }
    }
}

/// A notice with a heading.
fn section(id: &str, heading: &str, content: &Markup) -> Markup {
    html! {
        section.notice #(id) aria-labelledby={ (id) "-heading" } {
            h2 #{ (id) "-heading" } { (heading) }
            (content)
        }
    }
}

/// The button that sends the link again.
fn send_again_form(frame: &Frame<'_>) -> Markup {
    let form =
        ButtonForm { class: "", action: "/settings/confirm-email", fields: &[], button: "button small" };
    form.render(frame, t!("Send the link again"))
}

/// Notices about a person's mail that does not arrive: it waits until an address is confirmed, or
/// is stopped because the address refuses it. For the settings page of a site that sends mail.
pub fn state_of_mail(frame: &Frame<'_>) -> Markup {
    let Some(viewer) = frame.viewer else { return Markup::default() };
    let subscribes = viewer.preferences.mail_replies || viewer.preferences.digest != Digest::Off;
    let is_asked = viewer.unconfirmed && frame.rules.accounts.confirm_email;
    let waiting =
        viewer.email_to_confirm().filter(|_| !is_asked && (subscribes || !viewer.new_email.is_empty()));
    html! {
        @if let Some(email) = waiting {
            (section("confirm-email", HEADING.text(), &html! {
                p {
                    @let address = html! { strong { (email) } };
                    @if viewer.new_email.is_empty() {
                        (t!("We won't mail replies and digests to {address} until you open the link we sent there.", address))
                    } @else if viewer.is_mail_stopped() {
                        (t!("You won't get any mail until you open the link we mailed to {address}.", address))
                    } @else {
                        (t!("Your mail still goes to {old} until you open the link we mailed to {new}.",
                            old = html! { strong { (viewer.email) } }, new = address))
                    }
                }
                (send_again_form(frame))
            }))
        }
        @if viewer.is_mail_stopped() {
            (section("mail-stopped", t!("Your mail is bouncing"), &html! {
                p {
                    (n!(
                        MAX_REFUSED_MAILS,
                        "The mailbox {mailbox} doesn't seem to exist: our last e-mail was refused, so \
                         we've stopped sending any.",
                        "The mailbox {mailbox} doesn't seem to exist: our last {count} e-mails were refused, so \
                         we've stopped sending any.",
                        mailbox = html! { strong { (viewer.email) } },
                    ))
                    @if viewer.new_email.is_empty() { " " (t!("Enter another address below.")) }
                }
            }))
        }
    }
}

/// POST /settings/confirm-email: apisecret.
pub async fn send_again(app: App, form: SignedFields) -> Result<Redirect> {
    let is_sent = form.user.once(&app.site, mail_link_again(&app, form.user.id)).await?;
    let sent = || Notice::LinkSent.redirect(&app, &form.user, MAIL_SETTINGS);
    Ok(if is_sent { sent() } else { Redirect::to(MAIL_SETTINGS) })
}

/// GET /confirm-email/:token: asks. Programs that look at the links of a mail confirm nothing.
pub async fn form(PathOf(token): PathOf<String>, app: App, here: LocalPath) -> Result<Markup> {
    let link = confirmation::check_link(&app.site, &token).await?;
    Ok(page(&Frame::anonymous(&app, &here).await, &link))
}

/// POST /confirm-email/:token. The token says whose address it is; nothing else is needed.
pub async fn confirm(PathOf(token): PathOf<String>, app: App, here: LocalPath) -> Result<Markup> {
    let link = confirmation::confirm(&app.site, app.now(), &token).await?;
    Ok(page(&Frame::anonymous(&app, &here).await, &link))
}

fn page(frame: &Frame<'_>, link: &ConfirmationLink) -> Markup {
    let content = html! {
        @if link.is_confirmed {
            h1 { (t!("Your e-mail address is confirmed")) }
            p.notice role="status" {
                (t!("{email} is the address of {username}.", email = html! { strong { (link.email) } }, username = &link.user.username))
            }
            p { a.action href="/" { (t!("Go to the front page")) } }
        } @else {
            h1 { (HEADING.text()) }
            p {
                (t!("Is {email} your address, and {username} your account?",
                    email = html! { strong { (link.email) } }, username = html! { strong { (link.user.username) } }))
            }
            // Sent to the page's own address, the only place that has the token.
            form.form.narrow method="post" { button.button { (t!("Yes, confirm it")) } }
            p.hint { (t!("Otherwise just close this page.")) }
        }
    };
    frame.page(HEADING.text(), &content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed_with, user};
    use tidings_domain::User;
    use tidings_domain::values::Rules;

    #[test]
    fn only_who_must_confirm_is_reminded() {
        let mut alice = user("1", "alice", "");
        "a@<b>.example".clone_into(&mut alice.email);
        let html = |viewer: &User, is_on: bool| {
            let mut rules = Rules::default();
            rules.accounts.confirm_email = is_on;
            framed_with(&rules, Some(viewer), reminder).into_string()
        };
        assert_eq!(html(&alice, true), "");
        alice.unconfirmed = true;
        assert_eq!(html(&alice, false), "");
        let shown = html(&alice, true);
        assert!(shown.contains("a@&lt;b&gt;.example") && shown.contains("apisecret"), "{shown}");
        alice.email.clear();
        assert!(!html(&alice, true).contains("<form"));
    }
}
