//! The effects of banning an origin and of lifting the ban.

use super::case::{Case, Effect};
use crate::error::{Error, Refusal};
use crate::keys;
use crate::values::clock::Timestamp;
use crate::values::ids::OriginBanId;
use crate::values::limits::MAX_ORIGIN_BANS;
use crate::values::moderation::Hours;
use crate::values::origin_ban::{BanScope, BannedOrigin, OriginBan};
use tidings_keyspace::{Fetch, read};

/// The effect of a ban. Bans that have ended make room.
pub(super) async fn ban(
    case: &Case<'_>,
    id: OriginBanId,
    (origin, scope, hours): (&BannedOrigin, BanScope, Hours),
) -> Result<Effect, Error> {
    case.demand_administrator()?;
    let stored = case.site.store.fetch(read::hash(keys::ORIGIN_BANS).or_absent()).await?;
    let now = case.now.timestamp();
    let mut effect = Effect::default();
    let mut count = stored.0.len();
    for (field, json) in &stored.0 {
        let ban = field.parse().ok().and_then(|id| OriginBan::from_json(id, json));
        if ban.is_some_and(|ban| !ban.is_in_force(now)) {
            effect.batch.delete_field(keys::ORIGIN_BANS, field);
            effect.batch.delete_field(keys::ORIGIN_BANS_STOPPED, field);
            count -= 1;
        }
    }
    if count >= MAX_ORIGIN_BANS {
        return Err(Refusal::TooManyOriginBans { limit: MAX_ORIGIN_BANS as u64 }.into());
    }
    effect.until = hours.map(|hours| Timestamp(now.0.saturating_add(hours.saturating_mul(3_600))));
    let reason = case.reason.clone();
    let ban = OriginBan { id, origin: origin.clone(), scope, reason, until: effect.until };
    effect.batch.field_absent(keys::ORIGIN_BANS, id.to_string());
    effect.batch.set_field(keys::ORIGIN_BANS, id.to_string(), ban.to_json());
    Ok(effect)
}

/// The effect of lifting a ban.
pub(super) async fn lift(case: &Case<'_>, id: OriginBanId) -> Result<Effect, Error> {
    case.demand_administrator()?;
    let field = id.to_string();
    let stored = case.site.store.fetch(read::field(keys::ORIGIN_BANS, &field)).await?;
    let stored = stored.ok_or(Refusal::NoSuchOriginBan)?;
    let mut effect = Effect::default();
    effect.batch.field_equals(keys::ORIGIN_BANS, &field, &stored);
    effect.batch.delete_field(keys::ORIGIN_BANS, &field);
    effect.before = Some(stored);
    Ok(effect)
}
