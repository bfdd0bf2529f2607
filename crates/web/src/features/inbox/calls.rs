//! The inbox and subscriptions to threads.

use super::form::InboxQuery;
use crate::error::RequestError;
use crate::limits::{API_ENTRY_BYTES, API_LIST_BYTES};
use crate::markup::page::{Member, Page};
use crate::markup::parts::fitting;
use crate::request::answers::Status;
use crate::request::form::Form;
use crate::request::values;
use axum::Json;
use serde::Serialize;
use tidings_domain::inbox::{self, InboxEntry, InboxEvent, InboxPage};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::{CommentId, NewsId, TweetId};
use tidings_domain::values::size;
use utoipa::ToSchema;

/// A part of the inbox, newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = Inbox)]
pub struct InboxResponse {
    status: Status,
    entries: Vec<EntryResponse>,
    /// The number of unread entries in the whole inbox.
    unread: u64,
    /// The value of `before` for the next part; null at the end.
    #[schema(value_type = Option<values::InboxCursor>, required = true)]
    next: Option<String>,
}

/// An entry of the inbox.
#[derive(Serialize, ToSchema)]
#[schema(as = InboxEntry)]
struct EntryResponse {
    /// The id of the entry.
    #[schema(value_type = values::EntryId)]
    id: String,
    /// Why it is in the inbox.
    #[schema(value_type = values::EntryKind)]
    kind: &'static str,
    /// The person who did it; missing for a moderator who is not named and after a deactivation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::StoredUsername, required = false)]
    username: Option<String>,
    /// When, in Unix seconds.
    #[schema(value_type = u64)]
    time: Timestamp,
    /// Whether it is read.
    read: bool,
    /// The story that the comment is on; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    news_id: Option<NewsId>,
    /// The comment; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    comment_id: Option<CommentId>,
    /// The tweet; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    tweet_id: Option<TweetId>,
    /// The text of the comment, the tweet or the message; missing for a follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::EntryText, required = false)]
    text: Option<String>,
}

/// List the entries of the caller's inbox.
#[utoipa::path(
    get,
    path = "/api/inbox",
    params(InboxQuery),
    responses((status = 200, body = InboxResponse)),
    security(("session" = [])),
)]
pub async fn list(
    Page { mut visit, user, .. }: Page<Member>,
    Form(query): Form<InboxQuery>,
) -> Result<Json<InboxResponse>, RequestError> {
    let page = inbox::page(&mut visit, user.id, &query.into()).await?;
    visit.learn_badge().await;
    let unread = visit.viewer().await?.map_or(0, |viewer| viewer.replies);
    Ok(Json(InboxResponse::new(page, unread)))
}

impl InboxResponse {
    /// A part of an inbox, as much of it as fits into a response.
    fn new(page: InboxPage, unread: u64) -> Self {
        let InboxPage { entries, next, .. } = page;
        let cost = |entry: &InboxEntry| API_ENTRY_BYTES + entry.text().map_or(0, size::json_bytes);
        let fits = fitting(&entries, API_LIST_BYTES, cost);
        let next = if fits < entries.len() {
            entries.get(..fits).and_then(|shown| shown.last()).map(|entry| entry.place)
        } else {
            next
        };
        Self {
            status: Status::Ok,
            entries: entries.iter().take(fits).map(EntryResponse::from).collect(),
            unread,
            next: next.map(|next| next.to_string()),
        }
    }
}

impl From<&InboxEntry> for EntryResponse {
    fn from(entry: &InboxEntry) -> Self {
        let id = entry.place.id;
        let tweet_id = match entry.event {
            InboxEvent::Tweet { id, .. } => Some(id),
            _ => None,
        };
        Self {
            id: id.to_string(),
            kind: id.kind().name(),
            username: entry.username.as_deref().map(str::to_owned),
            time: entry.time(),
            read: entry.read,
            news_id: id.comment().map(|address| address.news),
            comment_id: id.comment().map(|address| address.comment),
            tweet_id,
            text: entry.text().map(str::to_owned),
        }
    }
}
