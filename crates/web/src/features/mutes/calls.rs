//! Muting and blocking.

use crate::error::RequestError;
use crate::markup::page::{Member, Page};
use crate::request::answers::Status;
use crate::request::values;
use axum::Json;
use serde::Serialize;
use tidings_domain::accounts::mutes::{self, Avoided, Block, Mute};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::UserId;
use utoipa::ToSchema;

/// The mutes and blocks of the caller, the latest first.
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
    /// The kind of thing.
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

    /// Reads the mutes and blocks of a user.
    pub async fn of(visit: &mut Visit, user: UserId) -> Result<Self, RequestError> {
        Ok(Self::new(mutes::avoided(visit, user).await?))
    }
}

/// List what the caller has muted and whom they have blocked.
#[utoipa::path(
    get,
    path = "/api/mutes",
    responses((status = 200, body = MutesResponse)),
    security(("session" = [])),
)]
pub async fn list(Page { mut visit, user, .. }: Page<Member>) -> Result<Json<MutesResponse>, RequestError> {
    Ok(Json(MutesResponse::of(&mut visit, user.id).await?))
}
