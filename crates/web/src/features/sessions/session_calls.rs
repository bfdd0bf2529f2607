//! The sessions of an account.

use super::open_sessions::end_session;
use crate::App;
use crate::error::RequestError;
use crate::features::accounts::form::EndedSessionForm;
use crate::markup::page::{Member, Page};
use crate::request::answers::{DONE, DoneResponse, Status};
use crate::request::description::FORM;
use crate::request::values;
use crate::request::viewer::SignedFields;
use axum::Json;
use serde::Serialize;
use tidings_domain::accounts::session_store::OpenSession;
use tidings_domain::accounts::sessions;
use tidings_domain::values::clock::Timestamp;
use utoipa::ToSchema;

/// The open sessions of the user, the newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = SessionList)]
pub struct SessionsResponse {
    status: Status,
    sessions: Vec<SessionEntry>,
}

/// A session.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionEntry {
    /// The id, to end the session.
    #[schema(value_type = values::SessionId)]
    id: String,
    /// When the user logged in; null if it is not known.
    #[schema(value_type = Option<u64>)]
    since: Option<Timestamp>,
    /// The last visit, to the hour; null if it is not known.
    #[schema(value_type = Option<u64>)]
    last_seen: Option<Timestamp>,
    /// The browser or program of the login.
    #[schema(value_type = values::Agent)]
    agent: String,
    /// The network address of the login.
    #[schema(value_type = values::NetworkAddress)]
    address: String,
    /// Whether the request comes from this session.
    current: bool,
}

impl From<OpenSession> for SessionEntry {
    fn from(session: OpenSession) -> Self {
        let OpenSession { id, since, last_seen, agent, address, current, .. } = session;
        Self { id, since, last_seen, agent, address, current }
    }
}

/// List the user's sessions.
#[utoipa::path(
    get,
    path = "/api/sessions",
    responses((status = 200, body = SessionsResponse)),
    security(("session" = [])),
)]
pub async fn list(Page { app, visit, .. }: Page<Member>) -> Result<Json<SessionsResponse>, RequestError> {
    let session = visit.session().ok_or(RequestError::LoginRequired)?;
    let sessions = sessions::list(&app.site, session).await?.into_iter().map(Into::into).collect();
    Ok(Json(SessionsResponse { status: Status::Ok, sessions }))
}

/// End one session, or all others.
#[utoipa::path(
    post,
    path = "/api/endsession",
    request_body(content = inline(EndedSessionForm), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
    security(("session" = [])),
)]
pub async fn end(app: App, form: SignedFields) -> Result<Json<DoneResponse>, RequestError> {
    end_session(&app, &form).await?;
    Ok(Json(DONE))
}
