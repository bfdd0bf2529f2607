//! Accounts and sessions.

use super::ok;
use crate::error::Failure;
use crate::form::Fields;
use crate::openapi::{Answer, Call, Input, Method, Needs, Shape, TOKEN};
use crate::viewer::{ClientAddress, SignedForm};
use crate::{App, actions, cookies};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tidings_domain::accounts::account;
use tidings_domain::accounts::sessions::{self, Session};

/// What this file answers.
pub const CALLS: &[Call] = &[
    Call {
        method: Method::Post,
        path: "/api/create_account",
        summary: "Creates an account and logs it in.",
        needs: Needs::Nothing,
        inputs: CREDENTIALS,
        answer: SECRETS,
    },
    Call {
        method: Method::Post,
        path: "/api/login",
        summary: "Logs in.",
        needs: Needs::Nothing,
        inputs: CREDENTIALS,
        answer: SECRETS,
    },
    Call {
        method: Method::Get,
        path: "/api/login",
        summary: "Logs in; prefer POST.",
        needs: Needs::Nothing,
        inputs: &[Input::query("username", NAME), Input::query("password", PASSWORD)],
        answer: SECRETS,
    },
    Call {
        method: Method::Post,
        path: "/api/logout",
        summary: "Ends the session everywhere.",
        needs: Needs::Secret,
        inputs: &[],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Post,
        path: "/api/reset-password",
        summary: "Mails a link for setting a new password.",
        needs: Needs::Nothing,
        inputs: &[Input::form("username", NAME), Input::form("email", EMAIL)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Get,
        path: "/api/reset-password",
        summary: "Mails a link for setting a new password; prefer POST.",
        needs: Needs::Nothing,
        inputs: &[Input::query("username", NAME), Input::query("email", EMAIL)],
        answer: Answer::Ours(&[]),
    },
    Call {
        method: Method::Post,
        path: "/api/updateprofile",
        summary: "Changes what users say about themselves, the e-mail address and the password.",
        needs: Needs::Secret,
        inputs: &[
            Input::form("about", Shape::Text { least: 0, most: 4_096 }),
            Input::form("email", EMAIL),
            Input::form("password", Shape::Text { least: 0, most: 1_024 }).optional(),
            Input::form("fullname", Shape::Text { least: 0, most: 50 }).optional(),
            Input::form("tweet_news", Shape::Choice(&["1", "0"])).optional(),
        ],
        answer: Answer::Ours(&[]),
    },
];

/// A username.
pub(super) const NAME: Shape = Shape::Pattern("^[A-Za-z][A-Za-z0-9_-]{1,31}$", "alice");
const PASSWORD: Shape = Shape::Text { least: 8, most: 1_024 };
const EMAIL: Shape = Shape::Text { least: 0, most: 255 };
const CREDENTIALS: &[Input] = &[Input::form("username", NAME), Input::form("password", PASSWORD)];
const SECRETS: Answer = Answer::Ours(&[("auth", TOKEN), ("apisecret", TOKEN)]);

fn session_members(session: Session) -> Json<Value> {
    ok([("auth", session.auth.into()), ("apisecret", session.apisecret.into())])
}

/// POST /api/create_account: username, password.
pub async fn create_account(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    Ok(session_members(actions::open_account(&app, &fields, address).await?))
}

/// GET or POST /api/login: username, password.
pub async fn log_in(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    Ok(session_members(actions::open_session(&app, &fields, address).await?))
}

/// POST /api/logout: apisecret.
pub async fn log_out(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    sessions::log_out(&app.site, form.user.id).await?;
    Ok(ok([]))
}

/// GET or POST /api/reset-password: username, email.
pub async fn reset_password(State(app): State<App>, fields: Fields) -> Result<Json<Value>, Failure> {
    let (username, email) = (fields.required("username")?, fields.required("email")?);
    actions::send_reset_link(&app, username, email).await?;
    Ok(ok([]))
}

/// POST /api/updateprofile: about, email, password (may be empty), apisecret.
/// With a new password the answer carries the cookie of the new session.
pub async fn update_profile(State(app): State<App>, form: SignedForm) -> Result<Response, Failure> {
    let change = actions::profile_change(&form.fields)?;
    let session = account::update_profile(&app.site, &form.user, &change).await?;
    let mut response = ok([]).into_response();
    if let Some(session) = session {
        response.headers_mut().insert(header::SET_COOKIE, cookies::session_cookie(&app, &session.auth));
    }
    Ok(response)
}
