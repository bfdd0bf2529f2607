//! The announcement of the site and the pinned stories, which administrators change.

use super::{ModerationRequest, moderate};
use crate::accounts::users::DISMISSED;
use crate::values::{Announcement, Deed, ModerationId, Moment, Reason, SitePart, Thing, Timestamp};
use crate::{Result, Site, User, Visit, keys};
use tidings_keyspace::Batch;
use tidings_language::t;

/// Replaces the announcement and the pinned stories, if the last one was made when `seen` says. The text is the
/// reason in the log. Returns the number of the line.
///
/// # Errors
/// [`crate::Refusal::AdministratorsOnly`], [`crate::Refusal::NoSuchNews`] for a story that is not shown,
/// [`crate::Refusal::RowChanged`] if somebody has changed them meanwhile, or those of
/// [`moderate`].
pub async fn change(
    site: &Site,
    now: Moment,
    administrator: &User,
    (announcement, seen): (Announcement, Option<Timestamp>),
) -> Result<ModerationId> {
    administrator.require_admin()?;
    let reason = match (announcement.text(), announcement.stories()) {
        ("", []) => t!("the announcement has ended"),
        ("", _) => t!("pinned stories"),
        (text, _) => text,
    };
    let reason = Reason::parse(reason)?;
    let deed = Deed::Announce(announcement, seen);
    let request = ModerationRequest::new(deed, Thing::Site(SitePart::Announcement), reason);
    moderate(site, now, administrator, &request).await
}

/// The announcement of the site, and the pinned stories, also what has ended. Rounds: those of
/// [`Visit::identity`].
pub async fn current(visit: &mut Visit) -> Announcement {
    visit.identity().await.announcement.clone().unwrap_or_default()
}

/// Notes that a member does not want to see an announcement again. Rounds: 1.
pub async fn dismiss(site: &Site, member: &User, made: Timestamp) -> Result<()> {
    let batch = Batch::of(|batch| batch.set_field(keys::user(member.id), DISMISSED, made.to_string()));
    site.store.commit(batch).await?;
    Ok(())
}
