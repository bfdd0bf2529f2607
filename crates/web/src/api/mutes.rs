//! Muting and blocking.

use super::{DONE, DoneResponse, Status};
use crate::error::RequestError;
use crate::forms::mutes::{BlockForm, MuteFields, MuteForm};
use crate::openapi::{FORM, values};
use crate::viewer::{SignedFields, SignedIn};
use crate::{App, actions};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tidings_domain::accounts::mutes::{self, Avoided, Block, Mute};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::UserId;
use utoipa::ToSchema;

/// What the caller has muted and whom they have blocked, the latest first.
#[derive(Serialize, ToSchema)]
#[schema(as = Mutes)]
pub struct MutesResponse {
    status: Status,
    /// At most 500 people, sites and words, and 100 topics.
    mutes: Vec<MuteEntry>,
    /// The blocked people; at most 500.
    blocks: Vec<BlockEntry>,
}

/// Something muted.
#[derive(Serialize, ToSchema)]
struct MuteEntry {
    /// What kind of thing it is.
    #[schema(value_type = values::MuteKind)]
    what: &'static str,
    /// The username, the site, the topic, or the word or phrase.
    #[schema(value_type = values::StoredMute)]
    value: String,
    /// When it was muted.
    #[schema(value_type = u64)]
    since: Timestamp,
}

/// Somebody blocked.
#[derive(Serialize, ToSchema)]
struct BlockEntry {
    #[schema(value_type = values::StoredUsername)]
    username: String,
    /// When the person was blocked.
    #[schema(value_type = u64)]
    since: Timestamp,
}

impl MutesResponse {
    fn new(Avoided { mutes, blocks }: Avoided) -> Self {
        let mute = |Mute { kind, value, since }| MuteEntry { what: kind.name(), value, since };
        let block = |Block { username, since }| BlockEntry { username, since };
        Self {
            status: Status::Ok,
            mutes: mutes.into_iter().map(mute).collect(),
            blocks: blocks.into_iter().map(block).collect(),
        }
    }

    async fn of(visit: &mut Visit, user: UserId) -> Result<Json<Self>, RequestError> {
        Ok(Json(Self::new(mutes::avoided(visit, user).await?)))
    }
}

/// List what the caller has muted and whom they have blocked.
#[utoipa::path(
    get,
    path = "/api/mutes",
    responses((status = 200, body = MutesResponse)),
    security(("session" = [])),
)]
pub async fn list(SignedIn { mut visit, user }: SignedIn) -> Result<Json<MutesResponse>, RequestError> {
    MutesResponse::of(&mut visit, user.id).await
}

/// Mute a person, a site, a topic or a word.
#[utoipa::path(
    post,
    path = "/api/mute",
    request_body(content = inline(MuteFields), content_type = FORM),
    responses((status = 200, body = MutesResponse)),
    security(("session" = [])),
)]
pub async fn mute(State(app): State<App>, form: SignedFields) -> Result<Json<MutesResponse>, RequestError> {
    change_mute(&app, form, true).await
}

/// Unmute a person, a site, a topic or a word.
#[utoipa::path(
    post,
    path = "/api/unmute",
    request_body(content = inline(MuteFields), content_type = FORM),
    responses((status = 200, body = MutesResponse)),
    security(("session" = [])),
)]
pub async fn unmute(State(app): State<App>, form: SignedFields) -> Result<Json<MutesResponse>, RequestError> {
    change_mute(&app, form, false).await
}

async fn change_mute(
    app: &App,
    mut form: SignedFields,
    mutes: bool,
) -> Result<Json<MutesResponse>, RequestError> {
    let MuteForm { target } = form.fields.read()?;
    actions::set_mute(app, form.actor(), &target, mutes).await?;
    MutesResponse::of(&mut form.visit, form.user.id).await
}

/// Block a person.
#[utoipa::path(
    post,
    path = "/api/block",
    request_body(content = inline(BlockForm), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
    security(("session" = [])),
)]
pub async fn block(State(app): State<App>, form: SignedFields) -> Result<Json<DoneResponse>, RequestError> {
    change_block(&app, &form, true).await
}

/// Unblock a person. Whether they followed the caller before does not come back.
#[utoipa::path(
    post,
    path = "/api/unblock",
    request_body(content = inline(BlockForm), content_type = FORM),
    responses((status = 200, body = DoneResponse)),
    security(("session" = [])),
)]
pub async fn unblock(State(app): State<App>, form: SignedFields) -> Result<Json<DoneResponse>, RequestError> {
    change_block(&app, &form, false).await
}

async fn change_block(
    app: &App,
    form: &SignedFields,
    blocks: bool,
) -> Result<Json<DoneResponse>, RequestError> {
    let BlockForm { username } = form.fields.read()?;
    actions::set_block(app, form.actor(), &username, blocks).await?;
    Ok(Json(DONE))
}
