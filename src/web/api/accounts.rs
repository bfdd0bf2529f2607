//! Accounts and sessions.

use super::ok;
use crate::domain::accounts;
use crate::domain::sessions::{self, Session};
use crate::web::error::Failure;
use crate::web::form::Fields;
use crate::web::viewer::{ClientAddress, SignedForm};
use crate::web::{App, actions, cookies};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

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
    let session = accounts::update_profile(&app.site, &form.user, &change).await?;
    let mut response = ok([]).into_response();
    if let Some(session) = session {
        response.headers_mut().insert(header::SET_COOKIE, cookies::session_cookie(&app, &session.auth));
    }
    Ok(response)
}
