//! The feed of an inbox: whoever knows its private address may read it.

use crate::accounts::users::{INBOX_FEED, set_secret};
use crate::values::{UserId, random_token};
use crate::{Result, Site, User, Visit};

/// The end of the address of a user's feed; `None` without a feed.
pub fn secret_of(user: &User) -> Option<String> {
    let secret = user.inbox_feed.expose();
    (!secret.is_empty()).then(|| format!("{}-{secret}", user.id))
}

/// Gives the feed of a user a new address, so that the earlier one is no longer valid, or none.
/// Rounds: 2.
///
/// # Errors
/// [`Refusal::SessionEnded`](crate::Refusal::SessionEnded) when the account has been deactivated meanwhile, or the store's.
pub async fn change_address(site: &Site, user: UserId, has_feed: bool) -> Result<()> {
    let secret = if has_feed { random_token()? } else { String::new() };
    set_secret(site, user, (INBOX_FEED, &secret)).await
}

/// The user whose feed has an address that ends with this, unless the user is banned: then it does
/// not answer, as the site does not. Rounds: 1, none for what cannot be the end of one.
pub async fn owner_of(visit: &mut Visit, secret: &str) -> Result<Option<User>> {
    let Some((id, given)) = secret.split_once('-') else { return Ok(None) };
    let Ok(id) = id.parse::<UserId>() else { return Ok(None) };
    let user = visit.fetch(User::by_id(id)).await?;
    // An empty secret matches nothing.
    Ok(user.filter(|user| user.inbox_feed.is(given) && user.demand_may_log_in(visit.now()).is_ok()))
}
