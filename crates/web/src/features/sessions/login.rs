//! Logging in and out.

use super::connection::provider_name;
use super::passkeys::has_passkeys;
use super::second_step::second_step_page;
use crate::features::accounts::form::Credentials;
use crate::features::moderation::appeals::{Stranger, banned_page};
use crate::markup::addresses::{ACCOUNT_SETTINGS, login_to};
use crate::markup::parts::ButtonForm;
use crate::markup::{Field, Frame, Page};
use crate::request::{
    DONE, DoneResponse, Fields, Form, FromFields, LocalPath, Next, ShownAgain, SignedFields, answer, cookies,
};
use crate::route::{LoginReason, Routes};
use crate::server::headers::without_secret;
use crate::{App, RequestError, Result};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Json};
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidings_domain::Refusal;
use tidings_domain::accounts::log_in::{self, LogIn};
use tidings_domain::accounts::session_store::{Device, Session};
use tidings_domain::accounts::{login, sessions};
use tidings_domain::values::{FAILED_ADDRESSES, UserId};
use tidings_language::{Message, m, n, t};

/// Logs in, for both the form and the API.
pub(crate) async fn begin(app: &App, form: &Credentials, device: &Device) -> Result<LogIn> {
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
        let subject = t!("Failed logins to your account at {site}", site = &site.name).to_string();
        let body = format!(
            "{}\n\n{}\n\n{}\n\n{}\n",
            t!("Hello {username},", username = &owner.username),
            n!(
                FAILED_ADDRESSES,
                "someone is trying to guess the password of your account at {site}: logins from {count} address \
                 failed within an hour.",
                "someone is trying to guess the password of your account at {site}: logins from {count} different \
                 addresses failed within an hour.",
                site = &site.name,
            ),
            t!(
                "Your account is not locked, and you can log in as usual. If your password is short or you use it \
                 elsewhere, choose a new one:"
            ),
            site.link(ACCOUNT_SETTINGS)
        );
        if let Err(error) = mailer.send_notice(&owner.email, &subject, &body).await {
            tracing::error!(user = %id, %error, "mail about failed logins not sent");
        }
    });
}

/// The page of a login through the provider that was refused, or that cannot begin.
pub(super) async fn refused_page(
    app: &App,
    here: &LocalPath,
    wanted: &WantedPage,
    failure: &RequestError,
) -> Response {
    let page = login_page(app, &Frame::anonymous(app, here).await, wanted, Some(failure));
    (failure.status(), page).into_response()
}

/// The page that asks for name and password, or leads to the provider.
pub(crate) fn credentials_page(app: &App, frame: &Frame<'_>, wanted: &WantedPage) -> Markup {
    login_page(app, frame, wanted, None)
}

fn login_page(app: &App, frame: &Frame<'_>, wanted: &WantedPage, failure: Option<&RequestError>) -> Markup {
    let has_provider = app.provider.is_known();
    let content = html! {
        @if let Some(failure) = failure { p.alert role="alert" { (failure.message()) } }
        (wanted.notice(LoginReason::login))
        @if frame.is_shut() { p { (t!("Only members can read {site}.", site = &frame.site().name)) } }
        @if has_provider {
            p {
                a.button href=(wanted.address_of("/oidc/login")) {
                    (t!("Log in with {provider}", provider = provider_name(frame)))
                }
            }
        }
        @if frame.rules.oidc.only {
            @if !has_provider {
                p.notice { (t!("The sign-in service can't be reached at the moment. Try again in a few minutes.")) }
            }
        } @else {
            @if has_provider { h2 { (t!("Or with a password")) } }
            (password_form(app, wanted))
        }
    };
    frame.headed(HEADING.text(), &content)
}

static HEADING: &Message = m!("Log in");

/// The ways to log in that need nobody else.
fn password_form(app: &App, wanted: &WantedPage) -> Markup {
    let username = Field::new("username", t!("Username")).with("autocomplete", "username").required().exact();
    let password = Field::new("password", t!("Password")).with("autocomplete", "current-password").required();
    html! {
        form.form.narrow method="post" action="/login" {
            (wanted.fields())
            (username.input())
            (password.password())
            button.button { (HEADING.text()) }
        }
        // Passkeys may not work at the address of the site.
        @if has_passkeys(app) {
            p { a href=(wanted.address_of("/login/passkey")) { (t!("Log in with a passkey")) } }
        }
        p {
            (t!("New here? {sign_up}", sign_up = html! { a href=(wanted.address_of("/register")) { (t!("Sign up")) } }))
        }
        p { a href="/reset-password" { (t!("Forgot your password?")) } }
    }
}

/// The page and the action that a visitor wanted before the login page. Only pages send these fields.
pub struct WantedPage {
    /// Where to go after logging in.
    pub next: LocalPath,
    /// Why the visitor must log in, if a page has sent them here.
    reason: Option<LoginReason>,
}

impl FromFields for WantedPage {
    fn from_fields(fields: &Fields) -> Result<Self> {
        let Next { next } = fields.read()?;
        Ok(Self { next, reason: fields.text("reason").parse().ok() })
    }
}

impl WantedPage {
    /// The action for which the visitor has to log in or sign up, in a sentence.
    pub fn notice(&self, sentence: fn(LoginReason) -> &'static str) -> Markup {
        html! { @if let Some(reason) = self.reason { p.notice { (sentence(reason)) } } }
    }

    /// The hidden fields with which a form remembers it.
    pub fn fields(&self) -> Markup {
        html! {
            input type="hidden" name="next" value=(self.next);
            @if let Some(reason) = self.reason {
                input type="hidden" name="reason" value=(reason.name());
            }
        }
    }

    /// Somebody who was on a page and wanted nothing in particular.
    pub fn leading_to(next: &str) -> Self {
        Self { next: LocalPath::parse(next), reason: None }
    }

    /// The login page that leads there. No link repeats a secret.
    pub fn login_address(&self) -> String {
        let next = self.next.as_str();
        login_to(self.reason, if without_secret(next).is_some() { "/" } else { next })
    }

    /// The page at this path that leads there, too.
    fn address_of(&self, path: &str) -> String {
        self.login_address().replacen("/login", path, 1)
    }

    /// Where somebody goes who has just signed up: on with what they wanted to do, or to the
    /// page that welcomes them, which leads back to what they were reading.
    pub fn after_sign_up(&self, routes: &'static Routes) -> String {
        let wanted = routes.find(&Method::GET, self.next.path()).login;
        if self.reason.or(wanted).is_some() {
            return self.next.to_string();
        }
        match self.next.as_str() {
            "/" => "/welcome".to_owned(),
            next => format!("/welcome?next={}", utf8_percent_encode(next, NON_ALPHANUMERIC)),
        }
    }
}

/// GET /login: next, reason.
pub async fn login_form(mut page: Page, Form(wanted): Form<WantedPage>) -> Result<Markup> {
    Ok(credentials_page(&page.app, &Frame::of(&page.app, &mut page.visit, &page.here).await?, &wanted))
}

/// POST /login: username, password, next, reason. Redirects with the new session, or asks for the second factor.
pub async fn log_in(app: App, device: Device, here: LocalPath, fields: Fields) -> Result<Response> {
    let credentials = fields.read()?;
    let wanted: WantedPage = fields.read()?;
    match begin(&app, &credentials, &device).await? {
        LogIn::Done(session) => Ok(enter(&app, &session, wanted.next.as_str())),
        LogIn::SecondStep(step) => Ok(second_step_page(&app, &here, &step, &wanted).await?.into_response()),
    }
}

/// The page of a refused login: the form again; for somebody who has shown what a login takes but is banned, what they
/// can do. With a second factor, the ban is told after the second step.
pub async fn again(app: App, here: LocalPath, Extension(again): Extension<ShownAgain>) -> Result<Markup> {
    let ShownAgain { fields, failure } = again;
    if let Some(id) = failure.and_then(|failure| failure.decision()) {
        let stranger = Stranger { username: fields.text("username"), has_second_factor: false, ticket: None };
        return Ok(banned_page(&app, &here, id, stranger).await);
    }
    Ok(credentials_page(&app, &Frame::anonymous(&app, &here).await, &fields.read()?))
}

/// Redirects with a new session.
pub fn enter(app: &App, session: &Session, next: &str) -> Response {
    let cookie = [(header::SET_COOKIE, cookies::session_cookie(app, session.auth.expose()))];
    (cookie, Redirect::to(next)).into_response()
}

/// GET /logout: a button; a link alone logs nobody out.
pub async fn logout_form(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let heading = t!("Log out");
    let content = html! {
        @if frame.viewer.is_some() {
            p {
                (t!("This logs you out of this browser. In your settings you can {end}.",
                    end = html! { a href="/settings/sessions" { (t!("end other sessions")) } }))
            }
            (ButtonForm { class: "form", action: "/logout", fields: &[], button: "button" }.render(&frame, heading))
        } @else {
            p { (t!("You are not logged in.")) }
        }
    };
    Ok(frame.headed(heading, &content))
}

/// POST /logout: apisecret.
pub async fn log_out(app: App, form: SignedFields) -> Result<Response> {
    sessions::log_out(&app.site, form.session()?).await?;
    Ok((cookies::farewell(&app), Redirect::to("/")).into_response())
}

answer! {
    /// The secrets of a session.
    pub struct SecretsResponse as Secrets from (session: Session) {
        status;
        /// The session token. Send it as the cookie `auth`.
        auth: String = session.auth.expose().to_owned(), values::Secret;
        /// The secret that every POST of the session must send as the field `apisecret`.
        apisecret: String = session.apisecret, values::Secret;
    }
}

/// GET and POST /api/login.
pub async fn log_in_by_call(app: App, device: Device, fields: Fields) -> Result<Json<SecretsResponse>> {
    match begin(&app, &fields.read()?, &device).await? {
        LogIn::Done(session) => Ok(Json(session.into())),
        LogIn::SecondStep(_) => Err(Refusal::CodeRequired.into()),
    }
}

/// POST /api/logout.
pub async fn log_out_by_call(app: App, form: SignedFields) -> Result<Json<DoneResponse>> {
    sessions::log_out(&app.site, form.session()?).await?;
    Ok(Json(DONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wish_is_kept_on_the_way() {
        let wanted = WantedPage { next: LocalPath::parse("/news/1"), reason: Some(LoginReason::Vote) };
        assert_eq!(wanted.address_of("/register"), "/register?next=%2Fnews%2F1&reason=vote");
        assert_eq!(wanted.address_of("/login/passkey"), "/login/passkey?next=%2Fnews%2F1&reason=vote");
        assert!(wanted.notice(LoginReason::login).into_string().contains("Log in to vote."));
        let fields = wanted.fields().into_string();
        assert!(
            fields.contains(r#"name="next" value="/news/1""#) && fields.contains(r#"value="vote""#),
            "{fields}"
        );
    }

    #[test]
    fn who_signs_up_goes_on_or_is_welcomed() {
        let after = |next: &str, reason| {
            WantedPage { next: LocalPath::parse(next), reason }.after_sign_up(crate::router::routes())
        };
        assert_eq!(after("/", None), "/welcome");
        assert_eq!(after("/news/1", None), "/welcome?next=%2Fnews%2F1");
        assert_eq!(after("/news/1#news-1", Some(LoginReason::Vote)), "/news/1#news-1");
        assert_eq!(after("/submit?t=a", None), "/submit?t=a");
    }
}
