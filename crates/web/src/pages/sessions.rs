//! Logging in and out, and signing up.

use super::appeals::banned_page;
use super::fields::{Field, RefusedForm, summary};
use super::layout::Frame;
use super::login_to;
use crate::App;
use crate::actions::{open_account, open_session};
use crate::cookies;
use crate::error::RequestError;
use crate::form::{Fields, Form, FromFields};
use crate::forms::Next;
use crate::local_path::LocalPath;
use crate::login_reason::LoginReason;
use crate::viewer::{ClientDevice, SignedFields};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidings_domain::accounts::sessions::{self, Session};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::values::limits::{PASSWORD_MIN, USERNAME_MAX, USERNAME_MIN};

/// Which of the two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    LogIn,
    Register,
}

/// The form that asks for name and password.
struct CredentialsForm<'a> {
    purpose: Purpose,
    username: &'a str,
    /// What the visitor wanted to do.
    wanted: &'a WantedPage,
    refused: Option<&'a RefusedForm>,
}

impl CredentialsForm<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let (heading, action, autocomplete) = match self.purpose {
            Purpose::LogIn => ("Log in", "/login", "current-password"),
            Purpose::Register => ("Sign up", "/register", "new-password"),
        };
        let mut username = Field::new("username", "Username").value(self.username);
        username = username.with("autocomplete", "username").required().exact();
        let mut password = Field::new("password", "Password");
        if self.purpose == Purpose::Register {
            username = username.hint(html! {
                (USERNAME_MIN) " to " (USERNAME_MAX) " letters (a-z), digits, _ and -. Start with a letter."
            });
            password = password.hint(html! { "At least " (PASSWORD_MIN) " characters." });
        }
        let content = html! {
            h1 { (heading) }
            @if let Some(reason) = self.wanted.reason {
                p.notice { (heading) " to " (reason.wish()) "." }
            }
            (summary(self.refused))
            form.form.narrow method="post" action=(action) {
                input type="hidden" name="next" value=(self.wanted.next);
                @if let Some(reason) = self.wanted.reason {
                    input type="hidden" name="reason" value=(reason.name());
                }
                (username.input(self.refused))
                (password.with("autocomplete", autocomplete).required().password(self.refused))
                button.button { (heading) }
            }
            (self.elsewhere())
        };
        frame.page(heading, &content)
    }

    fn elsewhere(&self) -> Markup {
        html! {
            @match self.purpose {
                Purpose::LogIn => {
                    p { "New here? " a href=(self.wanted.register_address()) { "Sign up" } }
                    p { a href="/reset-password" { "Forgot your password?" } }
                }
                Purpose::Register => {
                    p { "Already have an account? " a href=(self.wanted.login_address()) { "Log in" } }
                }
            }
        }
    }
}

/// What a visitor wanted to do before the login page. Only pages send these fields.
pub struct WantedPage {
    /// Where to go after logging in.
    next: LocalPath,
    /// Why the visitor must log in, if a page has sent them here.
    reason: Option<LoginReason>,
}

impl FromFields for WantedPage {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let Next { next } = fields.read()?;
        Ok(Self { next, reason: LoginReason::parse(fields.text("reason")) })
    }
}

impl WantedPage {
    fn login_address(&self) -> String {
        login_to(self.reason, self.next.as_str())
    }

    fn register_address(&self) -> String {
        self.login_address().replacen("/login", "/register", 1)
    }

    /// Where somebody goes who has just signed up: on with what they wanted to do, or to the
    /// page that welcomes them, which leads back to what they were reading.
    fn after_sign_up(&self) -> String {
        if self.reason.is_some() || LoginReason::of_path(self.next.path()).is_some() {
            return self.next.to_string();
        }
        match self.next.as_str() {
            "/" => "/welcome".to_owned(),
            next => format!("/welcome?next={}", utf8_percent_encode(next, NON_ALPHANUMERIC)),
        }
    }
}

async fn form(
    app: &App,
    mut visit: Visit,
    here: &LocalPath,
    purpose: Purpose,
    wanted: &WantedPage,
) -> Result<Markup, RequestError> {
    let frame = Frame::of(app, &mut visit, here).await?;
    Ok(CredentialsForm { purpose, username: "", wanted, refused: None }.render(&frame))
}

/// Redirects with the new session, or shows the form again.
async fn enter(
    app: &App,
    here: &LocalPath,
    purpose: Purpose,
    fields: &Fields,
    outcome: Result<Session, RequestError>,
) -> Result<Response, RequestError> {
    let wanted: WantedPage = fields.read()?;
    match outcome {
        Ok(session) => {
            let cookie = [(header::SET_COOKIE, cookies::session_cookie(app, session.auth.expose()))];
            let next = match purpose {
                Purpose::LogIn => wanted.next.to_string(),
                Purpose::Register => wanted.after_sign_up(),
            };
            Ok((cookie, Redirect::to(&next)).into_response())
        }
        Err(failure) => {
            if let Some(id) = failure.decision() {
                let name = fields.text("username");
                return Ok(banned_page(app, here, (&failure.message(), id), name).await);
            }
            let refused = RefusedForm::from_failure(failure)?.beside(&["username", "password"]);
            let username = fields.text("username");
            let form = CredentialsForm { purpose, username, wanted: &wanted, refused: Some(&refused) };
            let frame = Frame::anonymous(app, here).await;
            Ok(refused.response(form.render(&frame)))
        }
    }
}

/// GET /login: next, reason.
pub async fn login_form(
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(wanted): Form<WantedPage>,
) -> Result<Markup, RequestError> {
    form(&app, visit, &here, Purpose::LogIn, &wanted).await
}

/// POST /login: username, password, next, reason.
pub async fn log_in(
    State(app): State<App>,
    ClientDevice(device): ClientDevice,
    here: LocalPath,
    fields: Fields,
) -> Result<Response, RequestError> {
    let outcome = match fields.read() {
        Ok(credentials) => open_session(&app, &credentials, &device).await,
        Err(failure) => Err(failure),
    };
    enter(&app, &here, Purpose::LogIn, &fields, outcome).await
}

/// GET /register: next, reason.
pub async fn register_form(
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(wanted): Form<WantedPage>,
) -> Result<Markup, RequestError> {
    form(&app, visit, &here, Purpose::Register, &wanted).await
}

/// POST /register: username, password, next, reason.
pub async fn register(
    State(app): State<App>,
    ClientDevice(device): ClientDevice,
    here: LocalPath,
    fields: Fields,
) -> Result<Response, RequestError> {
    let outcome = match fields.read() {
        Ok(registration) => open_account(&app, &registration, &device).await,
        Err(failure) => Err(failure),
    };
    enter(&app, &here, Purpose::Register, &fields, outcome).await
}

/// GET /logout: a button; a link alone logs nobody out.
pub async fn logout_form(
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { "Log out" }
        @if frame.viewer.is_some() {
            p {
                "This logs you out of this browser. In your settings you can "
                a href="/settings/sessions" { "end other sessions" } "."
            }
            form.form method="post" action="/logout" {
                (frame.secret_field())
                button.button { "Log out" }
            }
        } @else {
            p { "You are not logged in." }
        }
    };
    Ok(frame.page("Log out", &content))
}

/// POST /logout: apisecret.
pub async fn log_out(State(app): State<App>, form: SignedFields) -> Result<Response, RequestError> {
    sessions::log_out(&app.site, form.session()?).await?;
    let cookie = [(header::SET_COOKIE, cookies::no_session_cookie(&app))];
    Ok((cookie, Redirect::to("/")).into_response())
}

#[cfg(test)]
mod tests {
    use super::super::fields::test_support::refused;
    use super::super::test_support::framed;
    use super::*;

    #[test]
    fn a_refused_form_keeps_the_name_but_no_password() {
        let wanted = WantedPage { next: LocalPath::parse("/news/1"), reason: Some(LoginReason::Vote) };
        let refused = refused("no", Some("password"));
        let (purpose, username) = (Purpose::LogIn, "\"><b>");
        let form = CredentialsForm { purpose, username, wanted: &wanted, refused: Some(&refused) };
        let html = framed(None, |frame| form.render(frame)).into_string();
        for part in [
            r#"value="&quot;&gt;&lt;b&gt;""#,
            r#"role="alert">no<"#,
            r#"name="next" value="/news/1""#,
            r#"autocomplete="current-password""#,
            r#"href="/register?next=%2Fnews%2F1&amp;reason=vote""#,
            r#"name="reason" value="vote""#,
            "Log in to vote.",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let password = html.split("<input").find(|input| input.contains(r#"type="password""#));
        assert!(password.is_some_and(|input| !input.contains("value=")), "{html}");
    }

    #[test]
    fn who_signs_up_goes_on_or_is_welcomed() {
        let after = |next: &str, reason| WantedPage { next: LocalPath::parse(next), reason }.after_sign_up();
        assert_eq!(after("/", None), "/welcome");
        assert_eq!(after("/news/1", None), "/welcome?next=%2Fnews%2F1");
        assert_eq!(after("/news/1#news-1", Some(LoginReason::Vote)), "/news/1#news-1");
        assert_eq!(after("/submit?t=a", None), "/submit?t=a");
    }
}
