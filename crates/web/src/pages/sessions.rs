//! Logging in and out, and signing up.

use super::fields::{Field, RefusedForm, summary};
use super::layout::Frame;
use super::login_address;
use crate::App;
use crate::actions::{open_account, open_session};
use crate::cookies;
use crate::error::RequestError;
use crate::form::{Fields, Form};
use crate::forms::Next;
use crate::local_path::LocalPath;
use crate::viewer::{ClientDevice, SignedFields};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
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
    /// Where to go after logging in.
    next: &'a LocalPath,
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
            (summary(self.refused))
            form.form.narrow method="post" action=(action) {
                input type="hidden" name="next" value=(self.next);
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
                    p { "New here? " a href=(register_address(self.next)) { "Sign up" } }
                    p { a href="/reset-password" { "Forgot your password?" } }
                }
                Purpose::Register => {
                    p { "Already have an account? " a href=(login_address(self.next.as_str())) { "Log in" } }
                }
            }
        }
    }
}

fn register_address(next: &LocalPath) -> String {
    login_address(next.as_str()).replacen("/login", "/register", 1)
}

async fn form(
    app: &App,
    mut visit: Visit,
    here: &LocalPath,
    purpose: Purpose,
    next: &LocalPath,
) -> Result<Markup, RequestError> {
    let frame = Frame::of(app, &mut visit, here).await?;
    Ok(CredentialsForm { purpose, username: "", next, refused: None }.render(&frame))
}

/// Redirects with the new session, or shows the form again.
fn enter(
    app: &App,
    here: &LocalPath,
    purpose: Purpose,
    fields: &Fields,
    outcome: Result<Session, RequestError>,
) -> Result<Response, RequestError> {
    let Next { next } = fields.read()?;
    match outcome {
        Ok(session) => {
            let cookie = [(header::SET_COOKIE, cookies::session_cookie(app, session.auth.expose()))];
            Ok((cookie, Redirect::to(next.as_str())).into_response())
        }
        Err(failure) => {
            let refused = RefusedForm::from_failure(failure)?.beside(&["username", "password"]);
            let username = fields.text("username");
            let form = CredentialsForm { purpose, username, next: &next, refused: Some(&refused) };
            let frame = Frame::anonymous(app, here);
            Ok(refused.response(form.render(&frame)))
        }
    }
}

/// GET /login.
pub async fn login_form(
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(Next { next }): Form<Next>,
) -> Result<Markup, RequestError> {
    form(&app, visit, &here, Purpose::LogIn, &next).await
}

/// POST /login: username, password, next.
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
    enter(&app, &here, Purpose::LogIn, &fields, outcome)
}

/// GET /register.
pub async fn register_form(
    State(app): State<App>,
    visit: Visit,
    here: LocalPath,
    Form(Next { next }): Form<Next>,
) -> Result<Markup, RequestError> {
    form(&app, visit, &here, Purpose::Register, &next).await
}

/// POST /register: username, password, next.
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
    enter(&app, &here, Purpose::Register, &fields, outcome)
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
        let next = LocalPath::parse("/news/1");
        let refused = refused("no", Some("password"));
        let (purpose, username) = (Purpose::LogIn, "\"><b>");
        let form = CredentialsForm { purpose, username, next: &next, refused: Some(&refused) };
        let html = framed(None, |frame| form.render(frame)).into_string();
        for part in [
            r#"value="&quot;&gt;&lt;b&gt;""#,
            r#"role="alert">no<"#,
            r#"name="next" value="/news/1""#,
            r#"autocomplete="current-password""#,
            r#"href="/register?next=%2Fnews%2F1""#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let password = html.split("<input").find(|input| input.contains(r#"type="password""#));
        assert!(password.is_some_and(|input| !input.contains("value=")), "{html}");
    }
}
