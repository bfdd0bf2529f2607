//! Accounts and sessions.

use super::ok;
use crate::domain::Error;
use crate::domain::accounts::{self, ProfileChange};
use crate::domain::sessions::{self, Session};
use crate::domain::text::{About, Email, NewPassword, Username};
use crate::web::error::Failure;
use crate::web::form::Fields;
use crate::web::viewer::{ClientAddress, SignedForm};
use crate::web::{App, cookies, pages};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::net::IpAddr;

fn session_members(session: Session) -> Json<Value> {
    ok([("auth", session.auth.into()), ("apisecret", session.apisecret.into())])
}

/// POST /api/create_account: username, password.
pub async fn create_account(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    Ok(session_members(open_account(&app, &fields, address).await?))
}

/// What both faces of the registration do.
pub(in crate::web) async fn open_account(
    app: &App,
    fields: &Fields,
    address: IpAddr,
) -> Result<Session, Failure> {
    let username = Username::parse(fields.required("username")?).map_err(Error::from)?;
    let password = NewPassword::parse(fields.required("password")?).map_err(Error::from)?;
    Ok(accounts::create_account(&app.site, app.now(), &username, &password, address).await?)
}

/// GET or POST /api/login: username, password.
pub async fn log_in(
    State(app): State<App>,
    ClientAddress(address): ClientAddress,
    fields: Fields,
) -> Result<Json<Value>, Failure> {
    Ok(session_members(open_session(&app, &fields, address).await?))
}

/// What both faces of the login do.
pub(in crate::web) async fn open_session(
    app: &App,
    fields: &Fields,
    address: IpAddr,
) -> Result<Session, Failure> {
    let (username, password) = (fields.required("username")?, fields.required("password")?);
    Ok(sessions::log_in(&app.site, username, password, address).await?)
}

/// POST /api/logout: apisecret.
pub async fn log_out(State(app): State<App>, form: SignedForm) -> Result<Json<Value>, Failure> {
    sessions::log_out(&app.site, form.user.id).await?;
    Ok(ok([]))
}

/// GET or POST /api/reset-password: username, email.
pub async fn reset_password(State(app): State<App>, fields: Fields) -> Result<Json<Value>, Failure> {
    let (username, email) = (fields.required("username")?, fields.required("email")?);
    pages::password_reset::send_link(&app, username, email).await?;
    Ok(ok([]))
}

/// POST /api/updateprofile: about, email, password (may be empty), apisecret.
/// With a new password the answer carries the cookie of the new session.
pub async fn update_profile(State(app): State<App>, form: SignedForm) -> Result<Response, Failure> {
    let change = profile_change(&form.fields)?;
    let session = accounts::update_profile(&app.site, &form.user, &change).await?;
    let mut response = ok([]).into_response();
    if let Some(session) = session {
        response.headers_mut().insert(header::SET_COOKIE, cookies::session_cookie(&app, &session.auth));
    }
    Ok(response)
}

/// Reads what a user wants to change about themself.
pub(in crate::web) fn profile_change(fields: &Fields) -> Result<ProfileChange, Failure> {
    let password = fields.text("password");
    Ok(ProfileChange {
        about: About::parse(fields.required("about")?).map_err(Error::from)?,
        email: Email::parse_optional(fields.required("email")?).map_err(Error::from)?,
        password: match password {
            "" => None,
            password => Some(NewPassword::parse(password).map_err(Error::from)?),
        },
    })
}
