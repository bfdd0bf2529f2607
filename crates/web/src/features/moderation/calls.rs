//! Moderation: acting, undoing, and the public log.

use super::flag_calls::QueueItem;
use super::form::{AppealForm, LogQuery, ModerationForm};
use crate::App;
use crate::error::{RequestError, unknown_name};
use crate::markup::page::{Member, Page};
use crate::request::answers::{DONE, DoneResponse, ErrorResponse, ErrorStatus, Status};
use crate::request::description::FORM;
use crate::request::form::{Fields, Form};
use crate::request::path::PathOf;
use crate::request::values;
use crate::request::viewer::{Call, SignedFields};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::net::IpAddr;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::moderation::log::{self, LogEntry, ShownModerator};
use tidings_domain::moderation::networks::{self, Neighbourhood};
use tidings_domain::moderation::queue;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::ModerationId;
use tidings_domain::{Error, Refusal};
use utoipa::ToSchema;

/// The name in the log for a moderator who chose not to be named.
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
pub struct LogLine {
    #[schema(value_type = u64)]
    id: ModerationId,
    /// When, in Unix seconds.
    #[schema(value_type = u64)]
    time: Timestamp,
    /// The moderator: a username, or `a moderator` for one who chose not to be named; null after a
    /// deactivation.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    moderator: Option<String>,
    /// The action.
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
    /// True if the caller moderates and could undo it now; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    can_be_undone: Option<bool>,
    /// The line that it undid; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    undoes: Option<ModerationId>,
    /// When it ends by itself, in Unix seconds; missing if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    until: Option<Timestamp>,
    /// How many posts, or for a batch how many people, it was about; missing for a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// True while the count still grows; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    in_progress: Option<bool>,
    /// How many lines it has as its parts, if it is a batch; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<u64>,
    /// The batch that it is a part of; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    part_of: Option<ModerationId>,
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
            can_be_undone: entry.can_be_undone.then_some(true),
            undoes: entry.undoes,
            until: entry.until,
            count: entry.count,
            in_progress: entry.in_progress.then_some(true),
            parts: entry.parts,
            part_of: entry.part_of,
        }
    }
}

/// Moderate a story, a comment, a tweet, a person, or what waits in the queue (moderators only).
#[utoipa::path(
    post,
    path = "/api/moderate",
    request_body(content = inline(ModerationForm), content_type = FORM),
    responses(
        (status = 200, body = ModeratedResponse),
        (status = 409, body = RowChangedResponse, description = "The row has changed since"),
    ),
    security(("session" = [])),
)]
pub async fn moderate(app: App, mut form: SignedFields) -> Result<Response, RequestError> {
    let mut requests = form.fields.read::<ModerationForm>()?.requests()?;
    match super::acting::moderate(&app, &form.user, &requests).await {
        Ok(id) => Ok(Json(ModeratedResponse::from(id)).into_response()),
        Err(RequestError::Domain(error)) if matches!(*error, Error::Refused(Refusal::RowChanged)) => {
            let seen = requests.swap_remove(0);
            let seen = seen.seen.and_then(|seen| seen.thing).unwrap_or(seen.thing);
            let row = queue::row_of(&mut form.visit, &seen).await?.map(QueueItem::from);
            let error = RequestError::Domain(error).message();
            let changed = RowChangedResponse { status: ErrorStatus::Err, error, row };
            Ok((StatusCode::CONFLICT, Json(changed)).into_response())
        }
        Err(error) => Err(error),
    }
}

/// The refusal of an action on a row of the review queue that has changed since it was seen.
#[derive(Serialize, ToSchema)]
#[schema(as = RowChanged)]
pub struct RowChangedResponse {
    status: ErrorStatus,
    /// A sentence to show to a person.
    #[schema(value_type = values::Message)]
    error: String,
    /// The row as it is now; null if it waits no longer.
    #[schema(required = true)]
    row: Option<QueueItem>,
}

/// Appeal against a decision about oneself, once: in a session, or with username and password.
#[utoipa::path(
    post,
    path = "/api/appeal",
    request_body(content = inline(AppealForm), content_type = FORM),
    responses(
        (status = 200, body = DoneResponse),
        (status = 401, description = "A session is needed, or a code besides the password", body = ErrorResponse),
    ),
    security((), ("session" = [])),
)]
pub async fn appeal(
    Page { app, visit, .. }: Page,
    call: Call,
    fields: Fields,
) -> Result<Json<DoneResponse>, RequestError> {
    super::appeals::appeal(&app, visit, fields, &call).await?;
    Ok(Json(DONE))
}

/// Where somebody has signed up and posted from.
#[derive(Serialize, ToSchema)]
#[schema(as = Neighbourhood)]
pub struct NetworkResponse {
    status: Status,
    /// The tag of the network that was used last; null if nothing is known. The same network
    /// always has the same tag, which tells nothing else about it.
    #[schema(value_type = Option<String>, required = true)]
    tag: Option<String>,
    /// Others who have signed up or posted from the same networks.
    #[schema(value_type = Vec<values::StoredUsername>)]
    others: Vec<String>,
    /// The addresses, the last one first: for administrators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<UsedAddress>, required = false)]
    addresses: Option<Vec<UsedAddress>>,
}

/// An address that somebody has used.
#[derive(Serialize, ToSchema)]
pub struct UsedAddress {
    /// The address; for IPv6 the network of the subscriber.
    address: String,
    /// When it was used last, in Unix seconds.
    #[schema(value_type = u64)]
    last_used: Timestamp,
}

impl From<Neighbourhood> for NetworkResponse {
    fn from(Neighbourhood { tag, others, addresses }: Neighbourhood) -> Self {
        let used = |(address, last_used): (IpAddr, Timestamp)| UsedAddress {
            address: address.to_string(),
            last_used,
        };
        let addresses = addresses.map(|addresses| addresses.into_iter().map(used).collect());
        Self { status: Status::Ok, tag: tag.map(|tag| tag.to_string()), others, addresses }
    }
}

/// See who has come from the same networks as somebody in the last days (moderators only).
#[utoipa::path(
    get,
    path = "/api/moderate/network/{username}",
    params(("username" = inline(values::StoredUsername), Path)),
    responses((status = 200, body = NetworkResponse)),
    security(("session" = [])),
)]
pub async fn network(
    PathOf(name): PathOf<String>,
    Page { mut visit, .. }: Page<Member>,
) -> Result<Json<NetworkResponse>, RequestError> {
    let found = networks::neighbourhood_of(&mut visit, &name).await.map_err(unknown_name)?;
    Ok(Json(found.into()))
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
