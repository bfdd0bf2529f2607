//! The reasons that the fields for reasons offer, which moderators change.

use crate::values::SavedReasons;
use crate::{Result, Visit};

/// The reasons, for moderators. Rounds: those of [`Visit::identity`], and of the viewer.
///
/// # Errors
/// [`crate::Refusal::ModeratorsOnly`], or the store's.
pub async fn all(visit: &mut Visit) -> Result<SavedReasons> {
    visit.demand_moderator().await?;
    Ok(visit.identity().await.reasons.clone().unwrap_or_default())
}
