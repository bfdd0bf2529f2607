//! The reasons that the fields for reasons offer, which moderators change.

use super::act::moderate;
use super::case::ModerationRequest;
use crate::accounts::users::User;
use crate::accounts::visit::Visit;
use crate::values::{Deed, ModerationId, Moment, Reason, ReasonChange, SavedReasons, SitePart, Thing};
use crate::{Result, Site};

/// Changes the reasons. Returns the number of the line in the log.
///
/// # Errors
/// [`crate::Refusal::ModeratorsOnly`], [`crate::Refusal::NoSuchSavedReason`],
/// [`crate::Refusal::TooManySavedReasons`], those of [`moderate`], or the store's.
pub async fn change(
    site: &Site,
    now: Moment,
    moderator: &User,
    change: &ReasonChange,
) -> Result<ModerationId> {
    // The effect says the reason.
    let (deed, reason) = (Deed::SetReasons(change.clone()), Reason::default());
    let request = ModerationRequest::new(deed, Thing::Site(SitePart::Reasons), reason);
    moderate(site, now, moderator, &request).await
}

/// The reasons, for moderators. Rounds: those of [`Visit::identity`], and of the viewer.
///
/// # Errors
/// [`crate::Refusal::ModeratorsOnly`], or the store's.
pub async fn all(visit: &mut Visit) -> Result<SavedReasons> {
    visit.demand_moderator().await?;
    Ok(visit.identity().await.reasons.clone().unwrap_or_default())
}
