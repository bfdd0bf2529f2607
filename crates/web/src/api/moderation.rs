//! Moderation: acting, undoing, and the public log.

use super::{DONE, DoneResponse, Status};
use crate::error::RequestError;
use crate::form::{Fields, Form};
use crate::forms::moderation::{AppealForm, LogQuery, ModerationForm, UndoForm};
use crate::openapi::{FORM, values};
use crate::viewer::{ClientAddress, SignedForm};
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::moderation::log::{self, LogEntry, ShownModerator};
use tidings_domain::moderation::{self};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::ModerationId;
use utoipa::ToSchema;

/// What the log calls a moderator who chose not to be named.
pub const UNNAMED: &str = "a moderator";

/// The outcome of an action.
#[derive(Serialize, ToSchema)]
#[schema(as = Moderated)]
pub struct ModeratedResponse {
    status: Status,
    /// The line in the log.
    #[schema(value_type = u64)]
    moderation_id: ModerationId,
}

impl From<ModerationId> for ModeratedResponse {
    fn from(moderation_id: ModerationId) -> Self {
        Self { status: Status::Ok, moderation_id }
    }
}

/// A part of the moderation log, newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = ModerationLog)]
pub struct LogResponse {
    status: Status,
    entries: Vec<LogLine>,
    /// The value of `before` for the next part; null at the end. With a filter a part can be
    /// shorter than asked for before the end.
    #[schema(value_type = Option<u64>, required = true)]
    next: Option<ModerationId>,
}

/// A line of the moderation log.
#[derive(Serialize, ToSchema)]
#[schema(as = ModerationLine)]
struct LogLine {
    #[schema(value_type = u64)]
    id: ModerationId,
    /// When, in Unix seconds.
    #[schema(value_type = u64)]
    time: Timestamp,
    /// Who: a username, or `a moderator` for one who chose not to be named; null after a
    /// deactivation.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    moderator: Option<String>,
    /// What was done.
    #[schema(value_type = values::ModerationAction)]
    action: &'static str,
    /// The kind of thing.
    #[schema(value_type = values::ThingKind)]
    kind: &'static str,
    /// Which: a number; `7-3` for comment 3 of story 7; a username for a person.
    #[schema(value_type = values::ThingId)]
    target: String,
    /// Why; may be empty.
    #[schema(value_type = values::Reason)]
    reason: String,
    /// The line by which it was undone; null if it was not.
    #[schema(value_type = Option<u64>, required = true)]
    undone_by: Option<ModerationId>,
    /// The line that it undid; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    undoes: Option<ModerationId>,
    /// When it ends by itself, in Unix seconds; missing if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    until: Option<Timestamp>,
    /// How many posts it was about; missing for a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

impl From<LogEntry> for LogLine {
    fn from(entry: LogEntry) -> Self {
        let moderator = match entry.moderator {
            ShownModerator::Named(name) => Some(name),
            ShownModerator::Unnamed => Some(UNNAMED.to_owned()),
            ShownModerator::Left => None,
        };
        Self {
            id: entry.id,
            time: entry.time,
            moderator,
            action: entry.action.name(),
            kind: entry.thing.kind(),
            target: entry.thing.id(),
            reason: entry.reason,
            undone_by: entry.undone_by,
            undoes: entry.undoes,
            until: entry.until,
            count: entry.count,
        }
    }
}

/// Moderate a story, a comment, a tweet, a person, or what waits in the queue (moderators only).
#[utoipa::path(
    post,
    path = "/api/moderate",
    request_body(content = inline(ModerationForm), content_type = FORM),
    responses((status = 200, body = ModeratedResponse)),
    security(("session" = [])),
)]
pub async fn moderate(
    State(app): State<App>,
    SignedForm { user, form }: SignedForm<ModerationForm>,
) -> Result<Json<ModeratedResponse>, RequestError> {
    Ok(Json(actions::moderate(&app, &user, &form.try_into()?).await?.into()))
}

/// Undo an action (moderators only).
#[utoipa::path(
    post,
    path = "/api/moderate/undo",
    request_body(content = inline(UndoForm), content_type = FORM),
    responses((status = 200, body = ModeratedResponse)),
    security(("session" = [])),
)]
pub async fn undo(
    State(app): State<App>,
    SignedForm { user, form }: SignedForm<UndoForm>,
) -> Result<Json<ModeratedResponse>, RequestError> {
    let how = (form.moderation_id, &form.reason, form.anonymous);
    Ok(Json(moderation::undo(&app.site, app.moment(), &user, how).await?.into()))
}

/// Appeal against a decision about oneself, once: in a session, or with username and password.
#[utoipa::path(
    post,
    path = "/api/appeal",
    request_body(content = inline(AppealForm), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
    security((), ("session" = [])),
)]
pub async fn appeal(
    State(app): State<App>,
    visit: Visit,
    ClientAddress(address): ClientAddress,
    fields: Fields,
) -> Result<Json<DoneResponse>, RequestError> {
    actions::appeal(&app, visit, fields, address).await?;
    Ok(Json(DONE))
}

/// List what moderators did.
#[utoipa::path(
    get,
    path = "/api/moderations",
    params(LogQuery),
    responses((status = 200, body = LogResponse)),
)]
pub async fn log(mut visit: Visit, Form(query): Form<LogQuery>) -> Result<Json<LogResponse>, RequestError> {
    let page = log::page(&mut visit, &query.into()).await?;
    let entries = page.entries.into_iter().map(LogLine::from).collect();
    Ok(Json(LogResponse { status: Status::Ok, entries, next: page.next }))
}
