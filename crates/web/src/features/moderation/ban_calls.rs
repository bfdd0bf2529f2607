//! Bans of networks and e-mail domains.

use super::ban_form::BanForm;
use super::bans::add_ban;
use crate::App;
use crate::error::RequestError;
use crate::markup::page::{Member, Page};
use crate::request::answers::Status;
use crate::request::description::FORM;
use crate::request::values;
use crate::request::viewer::SignedForm;
use axum::Json;
use serde::Serialize;
use tidings_domain::moderation::origins::{self, ListedBan};
use tidings_domain::values::ids::{ModerationId, OriginBanId};
use utoipa::ToSchema;

/// The bans of networks and e-mail domains, by number.
#[derive(Serialize, ToSchema)]
#[schema(as = OriginBans)]
pub struct BansResponse {
    status: Status,
    bans: Vec<BanEntry>,
}

/// A ban of a network or an e-mail domain.
#[derive(Serialize, ToSchema)]
#[schema(as = OriginBan)]
pub struct BanEntry {
    /// Its number.
    #[schema(value_type = u64)]
    ban_id: OriginBanId,
    /// The kind of the value.
    #[schema(value_type = values::OriginKind)]
    what: &'static str,
    /// The network or the domain.
    value: String,
    /// The actions that are forbidden to people from there.
    #[schema(value_type = values::BanScope)]
    scope: &'static str,
    /// Why.
    reason: String,
    /// When it ends, in Unix seconds; null if it does not end by itself.
    until: Option<u64>,
    /// The sign-ups and posts that it has stopped.
    stopped: u64,
}

impl From<ListedBan> for BanEntry {
    fn from(ListedBan { ban, stopped }: ListedBan) -> Self {
        Self {
            ban_id: ban.id,
            what: ban.origin.kind().name(),
            value: ban.origin.to_string(),
            scope: ban.scope.name(),
            reason: ban.reason.to_string(),
            until: ban.until.map(|until| until.0),
            stopped,
        }
    }
}

/// The outcome of a ban, or of a trial.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = OriginBanOutcome)]
pub enum BanResponse {
    /// It is banned.
    Added(BanAddedResponse),
    /// It was tried.
    Tried(BanTriedResponse),
}

/// A network or a domain was banned.
#[derive(Serialize, ToSchema)]
#[schema(as = OriginBanAdded)]
pub struct BanAddedResponse {
    status: Status,
    /// The ban.
    #[schema(value_type = u64)]
    ban_id: OriginBanId,
    /// The line in the log.
    #[schema(value_type = u64)]
    moderation_id: ModerationId,
}

/// The number of members that a ban would stop.
#[derive(Serialize, ToSchema)]
#[schema(as = OriginBanTried)]
pub struct BanTriedResponse {
    status: Status,
    /// The members who were active in the last week and whom the ban would stop; null if that cannot be counted.
    stops: Option<u64>,
}

/// The bans of networks and e-mail domains (administrators only).
#[utoipa::path(
    get,
    path = "/api/moderate/bans",
    responses((status = 200, body = BansResponse)),
    security(("session" = [])),
)]
pub async fn list(Page { app, user, .. }: Page<Member>) -> Result<Json<BansResponse>, RequestError> {
    let bans = origins::all(&app.site, app.now(), &user).await?;
    Ok(Json(BansResponse { status: Status::Ok, bans: bans.into_iter().map(BanEntry::from).collect() }))
}

/// Ban a network or an e-mail domain, or try it (administrators only).
#[utoipa::path(
    post,
    path = "/api/moderate/bans",
    request_body(content = inline(BanForm), content_type = FORM),
    responses((status = 200, body = BanResponse)),
    security(("session" = [])),
)]
pub async fn add(
    app: App,
    SignedForm { user, form }: SignedForm<BanForm>,
) -> Result<Json<BanResponse>, RequestError> {
    if form.dry_run {
        let stops = origins::stops(&app.site, app.now(), &user, &form.value).await?;
        return Ok(Json(BanResponse::Tried(BanTriedResponse { status: Status::Ok, stops })));
    }
    let (ban_id, moderation_id) = add_ban(&app, &user, &form.into()).await?;
    Ok(Json(BanResponse::Added(BanAddedResponse { status: Status::Ok, ban_id, moderation_id })))
}
