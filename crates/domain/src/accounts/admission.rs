//! Whether a post is accepted at once, has to wait for a moderator, or is refused: by the rules
//! for posts, and because a moderator has decided that what the author posts waits.
//!
//! Moderators and administrators are trusted: nothing of theirs is checked.

use crate::accounts::users::{Role, User};
use crate::error::{Error, Refusal};
use crate::post_rules::{self, CheckedPost};
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::restriction::RestrictionKind;

/// Why a new post has to wait for a moderator; `None` if it need not. Rounds: none once the
/// rules are cached.
///
/// # Errors
/// [`Refusal::RefusedByRule`], or the store's.
pub(crate) async fn admit(
    site: &Site,
    now: Timestamp,
    author: &User,
    post: CheckedPost<'_>,
) -> Result<Option<Box<str>>, Error> {
    if author.role() > Role::Member {
        return Ok(None);
    }
    let by_rule = post_rules::check(site, now, post).await?;
    let of_author = author.restrictions.in_force(RestrictionKind::Hold, now);
    Ok(by_rule.or_else(|| of_author.map(|restriction| restriction.reason.clone())))
}

/// Refuses a change of a post that readers already see, if the change would have to wait as a new
/// post. A post that itself waits may be changed.
///
/// # Errors
/// [`Refusal::RefusedByRule`], [`Refusal::EditNeedsApproval`], or the store's.
pub(crate) async fn admit_edit(
    site: &Site,
    now: Timestamp,
    author: &User,
    (post, is_held): (CheckedPost<'_>, bool),
) -> Result<(), Error> {
    match admit(site, now, author, post).await? {
        Some(reason) if !is_held => Err(Refusal::EditNeedsApproval { reason }.into()),
        _ => Ok(()),
    }
}
