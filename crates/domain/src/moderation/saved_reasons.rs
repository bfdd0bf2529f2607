//! The reasons that the fields for reasons offer, which moderators change.

use super::act::moderate;
use super::case::ModerationRequest;
use crate::accounts::users::User;
use crate::accounts::visit::Visit;
use crate::error::{Error, Refusal};
use crate::identity::REASONS;
use crate::keys;
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::ModerationId;
use crate::values::limits::MAX_SAVED_REASONS;
use crate::values::moderation::{Deed, Reason, SitePart, Thing};
use crate::values::saved_reason::{SavedReason, SavedReasons};
use tidings_keyspace::read;

/// A change of the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReasonChange {
    /// One more, whose number does not matter.
    Add(SavedReason),
    /// Another in place of the one with its number.
    Replace(SavedReason),
    /// One less.
    Remove(u64),
}

/// Changes the reasons. Returns the number of the reason, and that of the line in the log.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`], [`Refusal::NoSuchSavedReason`], [`Refusal::TooManySavedReasons`], those of
/// [`moderate`], or the store's.
pub async fn change(
    site: &Site,
    now: Moment,
    moderator: &User,
    change: &ReasonChange,
) -> Result<(u64, ModerationId), Error> {
    moderator.demand_may_moderate(now)?;
    let present = stored(site).await?;
    let named = |id: u64| {
        let reason = present.all().iter().find(|reason| reason.id == id);
        reason.map(|reason| reason.title.clone()).ok_or(Refusal::NoSuchSavedReason)
    };
    let (id, reasons, what) = match change {
        ReasonChange::Add(reason) => {
            let id = present.next_id();
            (id, present.with(SavedReason { id, ..reason.clone() }), format!("added: {}", reason.title))
        }
        ReasonChange::Replace(reason) => {
            (reason.id, present.with(reason.clone()), format!("changed: {}", named(reason.id)?))
        }
        ReasonChange::Remove(id) => (*id, present.without(*id), format!("removed: {}", named(*id)?)),
    };
    if reasons.all().len() > MAX_SAVED_REASONS {
        return Err(Refusal::TooManySavedReasons { limit: MAX_SAVED_REASONS }.into());
    }
    let request = ModerationRequest {
        deed: Deed::SetReasons(reasons),
        thing: Thing::Site(SitePart::Reasons),
        reason: Reason::parse(&what)?,
        anonymous: false,
        seen: None,
    };
    Ok((id, moderate(site, now, moderator, &request).await?))
}

async fn stored(site: &Site) -> Result<SavedReasons, Error> {
    let [json] = site.store.fetch(read::fields(keys::SITE, [REASONS])).await?;
    Ok(json.as_deref().and_then(SavedReasons::from_json).unwrap_or_default())
}

/// The reasons, for moderators. Rounds: those of [`Visit::identity`], and of the viewer.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`], or the store's.
pub async fn all(visit: &mut Visit) -> Result<SavedReasons, Error> {
    visit.demand_moderator().await?;
    Ok(visit.identity().await.reasons.clone().unwrap_or_default())
}
