//! The effects of banning an origin and of lifting the ban.

use super::{Case, Effect};
use crate::values::{BanScope, BannedOrigin, Hours, MAX_ORIGIN_BANS, OriginBan, OriginBanId};
use crate::{Refusal, Result, keys};
use tidings_keyspace::{Batch, Fetch, read};

/// The effect of a ban.
pub(super) async fn ban(
    case: &Case<'_>,
    id: OriginBanId,
    (origin, scope, hours): (&BannedOrigin, BanScope, Hours),
) -> Result<Effect> {
    let until = hours.map(|hours| case.now.timestamp().after_hours(hours));
    let mut effect = Effect { until, ..Effect::default() };
    let reason = case.reason.clone();
    let ban = OriginBan { id, origin: origin.clone(), scope, reason, until };
    demand_room_for(case, &mut effect.batch, &ban).await?;
    effect.change(keys::ORIGIN_BANS, id.to_string(), (None, Some(&ban.to_json())));
    Ok(effect)
}

/// Refuses a ban that cannot come back, because another has taken its place.
pub(super) async fn demand_admissible(
    case: &Case<'_>,
    batch: &mut Batch,
    (id, json): (&str, &str),
) -> Result<()> {
    let ban = id.parse().ok().and_then(|id| OriginBan::from_json(id, json));
    demand_room_for(case, batch, &ban.ok_or(Refusal::CannotBeUndone)?).await
}

/// Refuses a ban too many, and a second one of the same origin. Bans that have ended make room. Rounds: 1.
async fn demand_room_for(case: &Case<'_>, batch: &mut Batch, new: &OriginBan) -> Result<()> {
    let stored = case.site.store.fetch(read::hash(keys::ORIGIN_BANS).or_absent()).await?;
    let now = case.now.timestamp();
    let mut count = stored.0.len();
    for (field, json) in &stored.0 {
        let Some(ban) = field.parse().ok().and_then(|id| OriginBan::from_json(id, json)) else { continue };
        if !ban.is_in_force(now) {
            batch.delete_field(keys::ORIGIN_BANS, field);
            batch.delete_field(keys::ORIGIN_BANS_STOPPED, field);
            count -= 1;
        } else if ban.origin == new.origin {
            return Err(Refusal::BannedAlready(ban.id).into());
        }
    }
    Refusal::TooManyOriginBans { limit: MAX_ORIGIN_BANS as u64 }.when(count >= MAX_ORIGIN_BANS)?;
    Ok(())
}

/// The effect of lifting a ban.
pub(super) async fn lift(case: &Case<'_>, id: OriginBanId) -> Result<Effect> {
    let field = id.to_string();
    let stored = case.site.store.fetch(read::field(keys::ORIGIN_BANS, &field)).await?;
    let stored = stored.ok_or(Refusal::NoSuchOriginBan)?;
    let mut effect = Effect::default();
    effect.change(keys::ORIGIN_BANS, field, (Some(&stored), None));
    Ok(effect)
}
