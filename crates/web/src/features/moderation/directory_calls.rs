//! The directory of accounts for programs.

use super::directory::{DirectoryForm, DirectoryPart, DirectoryQuery, act, find};
use crate::App;
use crate::error::RequestError;
use crate::markup::page::{Member, Page};
use crate::request::answers::Status;
use crate::request::description::FORM;
use crate::request::form::Form;
use crate::request::values;
use crate::request::viewer::SignedFields;
use axum::Json;
use serde::Serialize;
use tidings_domain::moderation::directory::{AccountRow, AccountState};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::ModerationId;
use utoipa::ToSchema;

/// A part of the directory of accounts.
#[derive(Serialize, ToSchema)]
#[schema(as = Directory)]
pub struct DirectoryResponse {
    status: Status,
    people: Vec<PersonEntry>,
    /// The value of `before` for the next part; null at the end. A part can be shorter than asked for before the end.
    #[schema(required = true)]
    next: Option<u64>,
}

/// An account as moderators see it.
#[derive(Serialize, ToSchema)]
#[schema(as = DirectoryEntry)]
pub struct PersonEntry {
    /// The username; null after a deactivation.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    username: Option<String>,
    /// The e-mail address; only for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    email: Option<String>,
    /// When the account was made, in Unix seconds.
    #[schema(value_type = u64)]
    created: Timestamp,
    /// The inviter; null if there is none.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    invited_by: Option<String>,
    karma: i64,
    /// The stories that the person has posted.
    stories: u64,
    /// The comments that the person has written.
    comments: u64,
    /// How many of the person's last flags a moderator has found right.
    flags_upheld: u64,
    /// The state; null if nothing is to be said.
    #[schema(value_type = Option<values::AccountState>, required = true)]
    state: Option<&'static str>,
    /// The day of the last visit; null if there is none on record.
    #[schema(value_type = Option<values::Date>, required = true)]
    last_seen: Option<String>,
    /// The tag of the network of the last post; null if there was none in the last 30 days.
    #[schema(value_type = Option<values::NetworkTag>, required = true)]
    network: Option<String>,
}

impl From<AccountRow> for PersonEntry {
    fn from(row: AccountRow) -> Self {
        Self {
            username: row.username,
            email: row.email,
            created: row.created,
            invited_by: row.invited_by,
            karma: row.karma,
            stories: row.stories,
            comments: row.comments,
            flags_upheld: row.flags_upheld,
            state: row.state.map(AccountState::name),
            last_seen: row.last_seen.map(|day| day.to_string()),
            network: row.network.map(|tag| tag.to_string()),
        }
    }
}

impl From<DirectoryPart> for DirectoryResponse {
    fn from(DirectoryPart { rows, next, .. }: DirectoryPart) -> Self {
        Self { status: Status::Ok, people: rows.into_iter().map(PersonEntry::from).collect(), next }
    }
}

impl From<Vec<AccountRow>> for DirectoryResponse {
    fn from(rows: Vec<AccountRow>) -> Self {
        Self { status: Status::Ok, people: rows.into_iter().map(PersonEntry::from).collect(), next: None }
    }
}

/// Find people (moderators only).
#[utoipa::path(
    get,
    path = "/api/moderate/people",
    params(DirectoryQuery),
    responses((status = 200, body = DirectoryResponse)),
    security(("session" = [])),
)]
pub async fn list(
    Page { app, mut visit, .. }: Page<Member>,
    Form(query): Form<DirectoryQuery>,
) -> Result<Json<DirectoryResponse>, RequestError> {
    Ok(Json(find(&app, &mut visit, &query).await?.into()))
}

/// The outcome of an action on several people.
#[derive(Serialize, ToSchema)]
#[schema(as = ModeratedPeople)]
pub struct ActedResponse {
    status: Status,
    /// The line in the log that stands for all: that of the batch, or the only one; null if nothing was to be done.
    /// Its undo undoes all.
    #[schema(value_type = Option<u64>, required = true)]
    moderation_id: Option<ModerationId>,
    /// The line of each action.
    #[schema(value_type = Vec<u64>)]
    moderation_ids: Vec<ModerationId>,
}

/// Ban or silence several people, or write a note on them, for one reason (moderators only).
#[utoipa::path(
    post,
    path = "/api/moderate/people",
    request_body(content = inline(DirectoryForm), content_type = FORM),
    responses((status = 200, body = ActedResponse)),
    security(("session" = [])),
)]
pub async fn change(app: App, mut form: SignedFields) -> Result<Json<ActedResponse>, RequestError> {
    let asked: DirectoryForm = form.fields.read()?;
    let done = act(&app, (&mut form.visit, &form.user), &asked).await?;
    let (moderation_id, moderation_ids) = (done.line, done.parts);
    Ok(Json(ActedResponse { status: Status::Ok, moderation_id, moderation_ids }))
}
