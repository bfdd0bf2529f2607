//! Signing up: with a form that asks for what the site wants to know, an invitation or an
//! application.

use super::form::{Registration, welcome_token};
use super::mails;
use crate::App;
use crate::error::{Result, refusals};
use crate::features::sessions::connection::provider_name;
use crate::features::sessions::login::{WantedPage, credentials_page, enter};
use crate::markup::addresses::profile_address;
use crate::markup::{Field, Frame, Page};
use crate::request::viewer::IsLocal;
use crate::request::{Fields, LocalPath, ShownAgain, answer};
use crate::route::LoginReason;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use maud::{Markup, html};
use tidings_domain::accounts::first_administrator;
use tidings_domain::accounts::session_store::Device;
use tidings_domain::accounts::signup::{self, Admittance, SignUp, SignedUp, SignupFacts};
use tidings_domain::accounts::single_sign_on::ProviderLogin;
use tidings_domain::moderation::group_roles;
use tidings_domain::values::{
    Email, InvitationCode, MAX_APPLICATION, PASSWORD_MIN, Restriction, STAFF_PASSWORD_MIN, SignupMode,
    USERNAME_MAX, USERNAME_MIN, Username, WelcomeToken,
};
use tidings_language::spans::every;
use tidings_language::{n, t};

/// The ways to sign up, in sentences.
pub fn ways_in(frame: &Frame<'_>) -> String {
    let rules = frame.rules;
    if let Some(stopped) = frame.brand.signups_stopped(frame.now) {
        return refusals::signups_stopped(stopped).to_string();
    }
    let who = match frame.accounts().signup {
        SignupMode::Open => t!("Anyone can sign up."),
        SignupMode::Invite => t!("People can sign up if a member invites them."),
        SignupMode::Apply => t!(
            "People can sign up if a member invites them, or apply and wait for a moderator to accept them."
        ),
        SignupMode::Closed => return t!("Nobody can sign up at the moment.").to_owned(),
    };
    let mut ways = vec![who.to_owned()];
    let seconds = rules.limits.account_creation_seconds;
    if seconds > 0 {
        ways.push(
            t!("Each network address can create one account {every}.", every = every(seconds)).to_string(),
        );
    }
    let most = rules.limits.signups_per_network;
    if most > 0 {
        let limit = n!(
            most,
            "Each network can create {count} account a day.",
            "Each network can create {count} accounts a day."
        );
        ways.push(limit.to_string());
    }
    if rules.accounts.confirm_email {
        ways.push(t!("New members can write once they have confirmed their e-mail address.").to_owned());
    }
    ways.join(" ")
}

/// That somebody can read without an account, where that is so.
fn still_read(frame: &Frame<'_>) -> Markup {
    html! { @if !frame.is_shut() { " " (t!("You can still read everything here.")) } }
}

/// The notice that moderators have stopped sign-ups, where somebody wants to sign up.
fn stopped_notice(frame: &Frame<'_>, stopped: &Restriction, is_invited: bool) -> Markup {
    html! {
        p.notice role="status" {
            (refusals::signups_stopped(stopped)) (still_read(frame))
            @if is_invited { " " (t!("Your invitation can be used afterwards, until it expires.")) }
        }
    }
}

/// The page.
struct RegisterPage<'a> {
    /// The invitation in the address; may be empty.
    invitation: &'a str,
    /// The page and the action that the visitor wanted.
    wanted: &'a WantedPage,
    /// The token of the link for the first administrator.
    token: Option<&'a WelcomeToken>,
    facts: &'a SignupFacts,
    /// Whether the site sends mail.
    has_mail: bool,
    /// The person as the provider knows them, who needs no password.
    person: Option<&'a NewPerson>,
}

/// Somebody whom the provider knows, and who has no account yet.
pub struct NewPerson {
    ticket: String,
    /// A name that they might like.
    username: String,
    /// Their address, if the provider has verified it.
    email: Option<Email>,
}

impl NewPerson {
    /// The person of a login with its ticket.
    pub fn of(login: &ProviderLogin, ticket: String) -> Self {
        // Some providers take the address for a name.
        let preferred = login.username.split('@').next().unwrap_or_default();
        let fitting = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let mut username: String = preferred.chars().take(USERNAME_MAX).map(fitting).collect();
        if Username::parse(&username).is_err() {
            username.clear();
        }
        Self { ticket, username, email: login.verified_email() }
    }
}

impl RegisterPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        // The first administrator is let in always.
        let mode = if self.facts.is_administrator { SignupMode::Open } else { frame.accounts().signup };
        let stopped = frame.brand.signups_stopped(frame.now).filter(|_| !self.facts.is_administrator);
        let content = html! {
            @if self.person.is_some() {
                p {
                    (t!("You are logged in with {provider}. Choose your username on {site}.",
                        provider = provider_name(frame), site = &frame.site().name))
                }
            }
            (self.wanted.notice(LoginReason::sign_up))
            @if let Some(stopped) = stopped {
                (self.invited())
                (stopped_notice(frame, stopped, self.facts.inviter.is_some()))
            } @else if mode == SignupMode::Closed {
                p.notice { (t!("Sign-up is closed.")) (still_read(frame)) }
            } @else {
                (self.invited())
                (self.form(frame, mode))
            }
            @let log_in = html! { a href=(self.wanted.login_address()) { (t!("Log in")) } };
            @if self.person.is_some() && !frame.rules.oidc.only {
                p { (t!("Already have an account? {log_in} and connect it in your settings.", log_in)) }
            } @else if self.person.is_none() {
                p { (t!("Already have an account? {log_in}", log_in)) }
            }
        };
        frame.headed(t!("Sign up"), &content)
    }

    fn invited(&self) -> Markup {
        html! {
            @if let Some(inviter) = &self.facts.inviter {
                @let inviter = html! { a href=(profile_address(inviter, "")) { (inviter) } };
                p.notice { (t!("{inviter} invites you.", inviter)) }
            }
            @if self.facts.is_administrator {
                p.notice { (t!("This account will be the site’s administrator.")) }
            }
        }
    }

    fn form(&self, frame: &Frame<'_>, mode: SignupMode) -> Markup {
        let proposed = self.person.map_or("", |person| &person.username);
        let username = Field::new("username", t!("Username")).value(proposed);
        let username = username.with("autocomplete", "username").required().exact().rule(t!(
            "{least} to {most} letters (a-z), digits, _ and -. Start with a letter.",
            least = USERNAME_MIN,
            most = USERNAME_MAX
        ));
        let password = Field::new("password", t!("Password")).with("autocomplete", "new-password").required();
        let least = if self.facts.is_administrator { STAFF_PASSWORD_MIN } else { PASSWORD_MIN };
        let password =
            password.rule(n!(least, "At least {count} character.", "At least {count} characters."));
        let is_invited = self.facts.inviter.is_some();
        let applies = mode == SignupMode::Apply && !is_invited;
        let confirms = frame.rules.accounts.confirm_email && !self.facts.is_administrator;
        let button = if applies { t!("membership" => "Apply") } else { t!("Sign up") };
        html! {
            form.form.narrow method="post" action="/register" {
                (self.wanted.fields())
                @if let Some(token) = self.token {
                    input type="hidden" name="token" value=(token.expose());
                }
                (self.invitation(mode))
                (username.input())
                @match self.person {
                    Some(person) => input type="hidden" name="ticket" value=(person.ticket);,
                    None => (password.password()),
                }
                @if let Some(email) = self.person.and_then(|person| person.email.as_ref()) {
                    p.hint {
                        (t!("Your e-mail address is {email}, as {provider} knows it.",
                            email = email.as_str(), provider = provider_name(frame)))
                    }
                } @else if confirms || applies || self.has_mail {
                    (email_field(confirms, applies))
                }
                @if applies { (application_field()) }
                @if !is_invited && !self.facts.is_administrator { (question(frame)) }
                button.button { (button) }
            }
        }
    }

    /// The field for the invitation: hidden if it is a good one, and absent if none is needed.
    fn invitation(&self, mode: SignupMode) -> Markup {
        let typed = self.invitation;
        if self.facts.inviter.is_some() {
            return html! { input type="hidden" name="invitation" value=(typed); };
        }
        if mode == SignupMode::Open && typed.is_empty() {
            return html! {};
        }
        let hint = match mode {
            SignupMode::Invite => {
                t!(
                    "You need an invitation from a member to sign up. Paste the link or the code you were sent."
                )
            }
            SignupMode::Apply => t!("Only if a member has invited you."),
            SignupMode::Open | SignupMode::Closed => t!("Optional. You don’t need an invitation to sign up."),
        };
        let mut field = Field::new("invitation", t!("Invitation")).value(typed).hint(hint).exact();
        field = field.with("autocomplete", "off");
        if mode == SignupMode::Invite {
            field = field.required();
        }
        html! {
            @if self.facts.is_invitation_invalid {
                p.alert role="alert" {
                    (t!("This invitation is no longer valid. It was used or withdrawn, or it has expired."))
                }
            }
            (field.input())
        }
    }
}

fn email_field(is_required: bool, applies: bool) -> Markup {
    let hint = if is_required {
        t!("Never shown. You can write here once you open the link we mail you.")
    } else if applies {
        t!("Optional, never shown. We'll use it to answer your application.")
    } else {
        t!("Optional. To reset your password; never shown.")
    };
    let field = Field::new("email", t!("E-mail address")).hint(hint);
    let field = field.with("inputmode", "email").with("autocomplete", "email").exact();
    if is_required { field.required().input() } else { field.input() }
}

/// The question of the site, if it has one. An invitation that is typed into the form may take the
/// place of an answer, so browsers do not demand it.
fn question(frame: &Frame<'_>) -> Markup {
    let question = frame.accounts().signup_question;
    let field = Field::new("answer", &question).exact().with("autocomplete", "off");
    html! { @if !question.is_empty() { (field.input()) } }
}

fn application_field() -> Markup {
    let hint = html! {
        (t!("A moderator reads it and decides. Only moderators see it.")) " "
        (n!(MAX_APPLICATION, "Up to {count} character.", "Up to {count} characters."))
    };
    // A good invitation may take its place, so browsers do not demand it.
    Field::new("application", t!("Why would you like to join?")).hint(hint).text_area()
}

/// The page for somebody whom the provider knows.
pub async fn register_page(page: &mut Page, wanted: &WantedPage, person: NewPerson) -> Result<Markup> {
    let facts = signup::facts(&mut page.visit, Admittance::default()).await?;
    let has_mail = page.app.mailer.is_some();
    let shown =
        RegisterPage { invitation: "", wanted, token: None, facts: &facts, has_mail, person: Some(&person) };
    Ok(shown.render(&page.frame().await?))
}

/// The page with these fields. What a refused form says itself is wrong with an invitation; and without the token, once that
/// is not good any more, the form is the one for everybody.
async fn shown(
    Page { app, mut visit, here, .. }: Page,
    is_local: bool,
    fields: &Fields,
    is_again: bool,
) -> Result<Markup> {
    let wanted: WantedPage = fields.read()?;
    let mut token =
        welcome_token(fields).or_else(|failure| if is_again { Ok(None) } else { Err(failure) })?;
    if is_again
        && let Some(given) = &token
        && first_administrator::demand_token(&mut visit, given).await.is_err()
    {
        token = None;
    }
    let invitation = fields.text("invitation");
    let code = InvitationCode::parse(invitation);
    let is_unreadable = code.is_none() && !invitation.trim().is_empty();
    let brought = Admittance { invitation: code.as_ref(), token: token.as_ref(), is_local };
    let mut facts = signup::facts(&mut visit, brought).await?;
    facts.is_invitation_invalid = !is_again && (facts.is_invitation_invalid || is_unreadable);
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let has_mail = app.mailer.is_some();
    let token = token.as_ref();
    let person = person_of(&app, fields).await?.map(|(login, ticket)| NewPerson::of(&login, ticket));
    let person = person.as_ref();
    if person.is_none() && frame.rules.oidc.only {
        return Ok(credentials_page(&app, &frame, &wanted));
    }
    let page = RegisterPage { invitation, wanted: &wanted, token, facts: &facts, has_mail, person };
    Ok(page.render(&frame))
}

/// GET /register: next, reason, invitation, token.
pub async fn form(page: Page, IsLocal(is_local): IsLocal, fields: Fields) -> Result<Markup> {
    shown(page, is_local, &fields, false).await
}

/// The page of a refused form.
pub async fn again(page: Page, local: IsLocal, Extension(again): Extension<ShownAgain>) -> Result<Markup> {
    shown(page, local.0, &again.fields, true).await
}

/// The answer to an application.
fn applied_page(frame: &Frame<'_>) -> Markup {
    let content = html! {
        div.prose {
            p.notice role="status" { (t!("Your application has been sent to the moderators.")) }
            p {
                (t!("Once one of them accepts it, you can log in with the username and password you chose. If \
                     you entered an e-mail address, we'll write to you. Otherwise, try to log in from time to \
                     time: the page will tell you what they decided."))
            }
        }
        p { a.action href="/" { (t!("Go to the front page")) } }
    };
    frame.headed(t!("Your application"), &content)
}

/// The person of the ticket of a form, if it has one.
async fn person_of(app: &App, fields: &Fields) -> Result<Option<(ProviderLogin, String)>> {
    match fields.text("ticket") {
        "" => Ok(None),
        ticket => {
            let login = ProviderLogin::open(&app.site, app.now(), ticket).await?;
            Ok(Some((login, ticket.to_owned())))
        }
    }
}

/// POST /register: username, password or ticket, email, invitation, application, answer, token, next, reason. Which are
/// needed depends on the site. Redirects with the new session.
pub async fn register(app: App, device: Device, here: LocalPath, fields: Fields) -> Result<Response> {
    let wanted: WantedPage = fields.read()?;
    let login = person_of(&app, &fields).await?.map(|(login, _)| login);
    let opened = open_account(&app, &fields.read()?, login.as_ref(), &device).await?;
    if let Some(login) = login.filter(|_| opened.session.is_some()) {
        group_roles::follow((&app.site, app.now()), opened.user_id, login.role).await?;
    }
    match opened.session {
        Some(session) => Ok(enter(&app, &session, &wanted.after_sign_up(app.routes))),
        // An applicant has no session that could prove it to another page.
        None => {
            let mut visit = app.visitor();
            Ok(applied_page(&Frame::of(&app, &mut visit, &here).await?).into_response())
        }
    }
}

/// Creates an account, for both the form and the API, for somebody whom the provider knows or not.
pub(crate) async fn open_account(
    app: &App,
    form: &Registration,
    provider: Option<&ProviderLogin>,
    device: &Device,
) -> Result<SignedUp> {
    let Registration { username, password, email, invitation, application, answer, token } = form;
    let verified = provider.and_then(ProviderLogin::verified_email);
    let sign_up = SignUp {
        username,
        password: password.as_ref(),
        provider,
        email: verified.as_ref().or(email.as_ref()),
        invitation: invitation.as_ref(),
        application: application.as_ref(),
        answer,
        token: token.as_ref(),
    };
    let signed_up = signup::create_account(&app.site, app.now(), sign_up, device).await?;
    if signed_up.begins_burst {
        mails::tell_of_burst(app);
    }
    Ok(signed_up)
}

answer! {
    /// A new account: the secrets of its session, or that its application waits.
    pub struct NewAccountResponse as NewAccount from (new: SignedUp) {
        status;
        /// The session token. Send it as the cookie `auth`. Missing while the application waits.
        auth?: String = new.session.as_ref().map(|session| session.auth.expose().to_owned()), Option<values::Secret>;
        /// The secret that every POST of the session must send as the field `apisecret`. Missing
        /// while the application waits.
        apisecret?: String = new.session.as_ref().map(|session| session.apisecret.clone()), Option<values::Secret>;
        /// Whether a moderator must accept the application before the user can log in; missing
        /// otherwise.
        pending?: bool = new.session.is_none().then_some(true), Option<bool>;
    }
}

/// POST /api/create_account.
pub async fn create_account(app: App, device: Device, fields: Fields) -> Result<Json<NewAccountResponse>> {
    Ok(Json(open_account(&app, &fields.read()?, None, &device).await?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::framed_with;
    use strum::IntoEnumIterator;
    use tidings_domain::values::Rules;

    fn page(mode: SignupMode, facts: &SignupFacts) -> String {
        let wanted = &WantedPage::leading_to("/news/1");
        let page =
            RegisterPage { invitation: "<i>", wanted, token: None, facts, has_mail: false, person: None };
        framed_with(&rules(mode), None, |frame| page.render(frame)).into_string()
    }

    fn rules(signup: SignupMode) -> Rules {
        let mut rules = Rules::default();
        rules.accounts.signup = signup;
        rules
    }

    #[test]
    fn the_form_asks_for_what_the_mode_needs() {
        let invited = SignupFacts { inviter: Some("al<ice".to_owned()), ..SignupFacts::default() };
        let first = SignupFacts { is_administrator: true, ..SignupFacts::default() };
        let none = SignupFacts::default();
        for (mode, facts, application, closed) in [
            (SignupMode::Open, &none, false, false),
            (SignupMode::Invite, &none, false, false),
            (SignupMode::Apply, &none, true, false),
            (SignupMode::Apply, &invited, false, false),
            (SignupMode::Apply, &first, false, false),
            (SignupMode::Closed, &none, false, true),
            (SignupMode::Closed, &first, false, false),
        ] {
            let html = page(mode, facts);
            assert_eq!(html.contains(r#"name="application""#), application, "{mode}");
            assert_eq!(html.contains(r#"action="/register""#), !closed, "{mode}");
            assert_eq!(html.contains("al&lt;ice"), facts.inviter.is_some(), "{mode}");
            assert!(!html.contains("<i>") && !html.contains("al<ice"), "{html}");
        }
    }

    #[test]
    fn every_mode_is_said_in_a_sentence() {
        for mode in SignupMode::iter() {
            let said = framed_with(&rules(mode), None, ways_in);
            assert!(said.ends_with('.') && said.contains("sign up"), "{said}");
        }
    }
}
