//! Flags of readers, and the review queue.

use super::flag_form::QueueQuery;
use crate::error::RequestError;
use crate::markup::page::{Member, Page};
use crate::request::answers::Status;
use crate::request::form::Form;
use crate::request::values;
use axum::Json;
use serde::Serialize;
use tidings_domain::moderation::queue::{self, Row};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::flag::FlagReason;
use utoipa::ToSchema;

/// A part of the review queue, the worst first.
#[derive(Serialize, ToSchema)]
#[schema(as = ReviewQueue)]
pub struct QueueResponse {
    status: Status,
    items: Vec<QueueItem>,
    /// The value of `before` for the next part; null at the end.
    #[schema(value_type = Option<values::QueueCursor>, required = true)]
    next: Option<String>,
}

/// Something that waits for a moderator.
#[derive(Serialize, ToSchema)]
#[schema(as = ReviewItem)]
pub struct QueueItem {
    /// The kind of thing.
    #[schema(value_type = values::ThingKind)]
    kind: &'static str,
    /// Which: a number; `7-3` for comment 3 of story 7; a username; for an appeal, the line of
    /// the log.
    #[schema(value_type = values::ThingId)]
    id: String,
    /// Its content as plain text; for a long text only the beginning.
    #[schema(value_type = values::QueueText)]
    text: String,
    /// The author, or the person who applies or appeals; null after a deactivation.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    author: Option<String>,
    /// When it last changed, in Unix seconds.
    #[schema(value_type = u64)]
    since: Timestamp,
    /// Why it waits.
    #[schema(value_type = values::ReviewCause)]
    why: &'static str,
    /// True for what its author has deleted since it was flagged; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    deleted: Option<bool>,
    /// The readers' reasons, the most frequent first; empty for what is not flagged.
    flags: Vec<FlagCount>,
}

/// How many readers gave a reason.
#[derive(Serialize, ToSchema)]
struct FlagCount {
    /// The reason.
    #[schema(value_type = values::FlagReason)]
    reason: &'static str,
    /// How many flags give it.
    count: u64,
}

impl From<Row> for QueueItem {
    fn from(row: Row) -> Self {
        let flag = |(reason, count): (FlagReason, u64)| FlagCount { reason: reason.name(), count };
        Self {
            kind: row.thing.kind(),
            id: row.thing.id(),
            text: row.text,
            author: row.author.map(|author| author.username),
            since: row.since,
            why: row.why.name(),
            deleted: row.is_deleted.then_some(true),
            flags: row.flags.into_iter().map(flag).collect(),
        }
    }
}

/// List what waits for a moderator (moderators only).
#[utoipa::path(
    get,
    path = "/api/moderate/queue",
    params(QueueQuery),
    responses((status = 200, body = QueueResponse)),
    security(("session" = [])),
)]
pub async fn list(
    Page { mut visit, .. }: Page<Member>,
    Form(query): Form<QueueQuery>,
) -> Result<Json<QueueResponse>, RequestError> {
    let page = queue::page(&mut visit, query.before.as_ref(), query.count).await?;
    let items = page.rows.into_iter().map(QueueItem::from).collect();
    let next = page.next.map(|next| next.to_string());
    Ok(Json(QueueResponse { status: Status::Ok, items, next }))
}
