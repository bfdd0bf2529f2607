//! Whether a post is accepted at once, has to wait for a moderator, or is refused: by the rules
//! for posts, and because a moderator has decided that what the author posts waits, or what young accounts post.
//!
//! Moderators and administrators are trusted: nothing of theirs is checked.

use crate::post_rules::{self, CheckedPost};
use crate::values::{RestrictionKind, Timestamp};
use crate::{Refusal, Result, Role, Site, User, identity};

/// Why a new post has to wait for a moderator; `None` if it need not. Rounds: none once the
/// rules and the identity of the site are cached.
///
/// # Errors
/// [`Refusal::RefusedByRule`], or the store's.
pub(crate) async fn admit(
    site: &Site,
    now: Timestamp,
    author: &User,
    post: CheckedPost<'_>,
) -> Result<Option<Box<str>>> {
    if author.role() > Role::Member {
        return Ok(None);
    }
    let by_rule = post_rules::check(site, now, post).await?;
    let identity = identity::of_site(site, now).await?;
    let of_young = identity.young_held.as_ref().filter(|held| held.covers(author.ctime, now));
    let of_author = author.restrictions.in_force(RestrictionKind::Hold, now);
    let waits = of_author.or(of_young.map(|held| &held.restriction));
    Ok(by_rule.or_else(|| waits.map(|restriction| restriction.reason.clone())))
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
) -> Result<()> {
    match admit(site, now, author, post).await? {
        Some(reason) if !is_held => Err(Refusal::EditNeedsApproval { reason }.into()),
        _ => Ok(()),
    }
}
