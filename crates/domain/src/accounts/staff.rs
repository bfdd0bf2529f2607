//! Messages about the site to its moderators and administrators.

use crate::accounts::Flags;
use crate::accounts::inbox::send_message;
use crate::accounts::users::{DEACTIVATED, account_chunks};
use crate::values::{MAX_TOLD_ADMINISTRATORS, Moment, STAFF_CHUNK, UserId};
use crate::{Error, Refusal, Result, Role, Site, User, keys};
use tidings_keyspace::{Fetch, read};

/// Adds a message to the inboxes of all who have a role or a higher one. Returns those who are not told by the
/// mail about that entry and have an address, so that the caller can. The flags of accounts are
/// not indexed, since they may be set by hand: all accounts are looked at, 500 in a round. So
/// this is for what happens rarely.
pub async fn tell(site: &Site, now: Moment, role: Role, text: &str) -> Result<Vec<User>> {
    let mut to_mail = Vec::new();
    for user in staff(site, role).await? {
        match send_message(site, now, user.id, text).await {
            // Somebody who has left meanwhile.
            Ok(()) | Err(Error::Refused(Refusal::NoSuchUser)) => {}
            Err(error) => return Err(error),
        }
        if user.notice_address().is_some() && !user.gets_replies_by_mail() {
            to_mail.push(user);
        }
    }
    Ok(to_mail)
}

/// Those who have a role or a higher one; the first hundred.
async fn staff(site: &Site, role: Role) -> Result<Vec<User>> {
    let has_role = |flags: &str| Flags::parse(flags).given_role >= role;
    let mut ids = Vec::new();
    for chunk in account_chunks(site, STAFF_CHUNK).await? {
        let chunk = chunk.map(UserId);
        let users: Vec<_> =
            chunk.clone().map(|id| read::fields(keys::user(id), ["flags", DEACTIVATED])).collect();
        for (id, [flags, deactivated]) in chunk.zip(site.store.fetch(users.or_absent()).await?) {
            if deactivated.is_none() && flags.is_some_and(|flags| has_role(&flags)) {
                ids.push(id);
            }
        }
        if ids.len() >= MAX_TOLD_ADMINISTRATORS {
            break;
        }
    }
    ids.truncate(MAX_TOLD_ADMINISTRATORS);
    let users: Vec<_> = ids.into_iter().map(User::by_id).collect();
    Ok(site.store.fetch(users.or_absent()).await?.into_iter().flatten().collect())
}
