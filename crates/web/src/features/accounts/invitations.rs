//! The invitations of a user: making one, withdrawing one, and who came.

use super::form::InviteForm;
use super::mails;
use super::people_tree::person_with_age;
use crate::App;
use crate::error::{RequestError, Result, refusals};
use crate::features::action::{Action, ActionEntry, SentForm};
use crate::markup::addresses::{ACCOUNT_SETTINGS, invitation_address};
use crate::markup::parts::{ButtonForm, SMALL_BUTTON, age, label_of};
use crate::markup::{Field, Frame, Member, Notice, Page};
use crate::request::{SignedFields, answer};
use crate::route::SHORT;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::invitations::{self, OpenInvitation, OwnInvitations};
use tidings_domain::values::{INVITATION_SECONDS, InvitationCode};
use tidings_domain::{Error, Refusal, User};
use tidings_language::spans::{span, wait};
use tidings_language::{m, n, t};

const PAGE: &str = "/settings/invitations";
const WITHDRAW: &str = "/settings/invitations/withdraw";

/// The page. `has_mail` says whether the site sends mail.
fn shown(frame: &Frame<'_>, own: &OwnInvitations, has_mail: bool) -> Markup {
    let content = html! {
        p {
            (t!("Everyone can see who you invited, in the {tree} and on their profiles.",
                tree = html! { a href="/people/tree" { (t!("tree of invitations")) } }))
        }
        @if let Some(stopped) = frame.brand.signups_stopped(frame.now) {
            p.notice role="status" {
                (refusals::signups_stopped(stopped)) " " (t!("Invitations cannot be used until then."))
            }
        }
        @match &own.allowance {
            Ok(left) => (form(frame, *left, has_mail)),
            Err(refusal) => p.hint { (refusals::refusal(refusal)) },
        }
        @if !own.open.is_empty() {
            h2 { (t!("Not used yet")) }
            ul.people role="list" { @for open in &own.open { li.session { (open_item(frame, open)) } } }
        }
        @if !own.invited.is_empty() {
            h2 { (t!("People who joined")) }
            ul.plain-list { @for person in &own.invited { li { (person_with_age(frame, person.username.as_deref(), person.since)) } } }
            @if own.invited_count > own.invited.len() as u64 {
                p.hint { (t!("These are the most recent of {count}.", count = own.invited_count)) }
            }
        }
        p { a.action href=(ACCOUNT_SETTINGS) { (t!("Account settings")) } }
    };
    frame.headed(t!("Invitations"), &content)
}

fn form(frame: &Frame<'_>, left: Option<u64>, has_mail: bool) -> Markup {
    let email = Field::new("email", t!("E-mail address"));
    let email = email.with("inputmode", "email").with("autocomplete", "off").exact();
    let email = email.hint(t!("Optional. We mail the link there. Without one, send it yourself."));
    html! {
        form.form.narrow method="post" action=(PAGE) {
            (frame.signed_fields())
            @if has_mail { (email.input()) }
            button.button { (t!("Make an invitation")) }
            p.hint {
                @if let Some(left) = left {
                    (n!(left, "You have {count} invitation left.", "You have {count} invitations left.")) " "
                }
                (t!("An invitation works once and expires after {span}.", span = span(INVITATION_SECONDS)))
            }
        }
    }
}

fn open_item(frame: &Frame<'_>, open: &OpenInvitation) -> Markup {
    let link = frame.settings.site.link(&invitation_address(&open.code));
    let (made, left) = (age(frame, open.since), wait(open.ends().seconds_since(frame.now)));
    html! {
        div {
            code { (link) }
            p.hint {
                @if open.email.is_empty() {
                    (t!("Made {made}, valid for {left}", made = &made, left))
                } @else {
                    (t!("Made {made}, valid for {left}, for {email}", made = &made, left, email = &open.email))
                }
            }
        }
        @let label = label_of(t!("Withdraw"), t!("the invitation made {made}", made));
        (ButtonForm { class: "", action: WITHDRAW, fields: &[("invitation", open.code.expose())], button: SMALL_BUTTON }.render(frame, label))
    }
}

/// GET /settings/invitations.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let own = invitations::own_invitations(&app.site, app.now(), &user).await?;
    let has_mail = app.mailer.is_some();
    Ok(shown(&Frame::of(&app, &mut visit, &here).await?, &own, has_mail))
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once(
            PAGE,
            m!("Invite somebody, by mail if an address is given."),
            |app, by, form: &InviteForm| Box::pin(invite(app, by.user, form)),
        )
        .called("/api/invite")
        .answering(async |sent, code| Ok(InvitationResponse::from((&sent.app, &code))))
        .page(SHORT, async |SentForm { app, form }, invite, _| {
            let is_mailed = invite.email.is_some() && app.mailer.is_some();
            let notice = if is_mailed { Notice::InvitationMailed } else { Notice::InvitationMade };
            Ok::<_, RequestError>(notice.redirect(&app, &form.user, PAGE))
        }),
    ]
}

/// POST /settings/invitations/withdraw: invitation, apisecret.
pub async fn withdraw(app: App, SignedFields { user, fields, .. }: SignedFields) -> Result<Redirect> {
    let code = InvitationCode::parse(fields.required("invitation")?).ok_or(Refusal::NoSuchInvitation)?;
    user.once(&app.site, invitations::withdraw(&app.site, &user, &code)).await?;
    Ok(Notice::InvitationWithdrawn.redirect(&app, &user, PAGE))
}

/// Makes an invitation, and mails it if there is an address and the site sends mail.
pub(crate) async fn invite(app: &App, user: &User, form: &InviteForm) -> Result<InvitationCode, Error> {
    let email = form.email.as_ref();
    let is_mailed = email.is_some() && app.mailer.is_some();
    if is_mailed {
        invitations::admit_mail(&app.site, app.now(), user).await?;
    }
    let code = invitations::invite(&app.site, app.now(), user, email).await?;
    if let Some(email) = email.filter(|_| is_mailed) {
        mails::mail_invitation(app, &user.username, email.clone(), code.clone());
    }
    Ok(code)
}

answer! {
    /// An invitation.
    pub struct InvitationResponse as NewInvitation from (made: (&App, &InvitationCode)) {
        status;
        /// The code. It can be used once.
        invitation: String = made.1.expose().to_owned(), values::Invitation;
        /// The address at which the person who is invited signs up.
        url: String = made.0.settings.site.link(&invitation_address(made.1)), values::Address;
    }
}
