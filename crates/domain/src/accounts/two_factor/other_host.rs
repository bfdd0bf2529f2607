//! The owners of passkeys when the site moves to another host. A passkey belongs to a host: none that was made
//! for the old one works at the new one.

use crate::accounts::outbox;
use crate::accounts::users::account_chunks;
use crate::audit::{AUDIT, COMMAND_LINE};
use crate::values::{Hostname, STAFF_CHUNK, Timestamp, UserId};
use crate::{Result, Site, User};
use std::ops::RangeInclusive;
use tidings_keyspace::Batch;

/// The hosts of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMove {
    /// The one that passkeys were made for.
    pub from: Hostname,
    /// The one that the site will have.
    pub to: Hostname,
}

/// The owners of passkeys that were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PasskeyOwners {
    /// Accounts that were looked at.
    pub checked: u64,
    /// How many of them have passkeys.
    pub owners: u64,
    /// How many of those have an e-mail address to write to.
    pub reachable: u64,
}

/// Counts the owners of passkeys, and with `told` puts a mail to each of them into the outbox that says what
/// happens to their passkeys. Reports after each chunk. Rounds: 1, and for each 500 accounts 1, or 2 with
/// mails.
pub async fn visit_owners(
    site: &Site,
    told: Option<(&HostMove, Timestamp)>,
    report: impl Fn(PasskeyOwners),
) -> Result<PasskeyOwners> {
    let mut found = PasskeyOwners::default();
    for ids in account_chunks(site, STAFF_CHUNK).await? {
        found.checked = *ids.end();
        visit_some(site, told, (&mut found, ids)).await?;
        report(found);
    }
    if let Some((HostMove { from, to }, _)) = told {
        let (from, to) = (from.to_string(), to.to_string());
        let (by, accounts) = (COMMAND_LINE, found.reachable);
        tracing::info!(target: AUDIT, by, from, to, accounts, "told owners of passkeys of a move");
    }
    Ok(found)
}

/// Does that for some accounts.
async fn visit_some(
    site: &Site,
    told: Option<(&HostMove, Timestamp)>,
    (found, ids): (&mut PasskeyOwners, RangeInclusive<u64>),
) -> Result<()> {
    let users: Vec<_> = ids.map(UserId).map(User::by_id).collect();
    let users = site.store.fetch(users).await?.into_iter().flatten();
    let mut batch = Batch::new();
    for user in users.filter(|user| user.second_factors.passkeys) {
        found.owners += 1;
        if user.email.is_empty() {
            continue;
        }
        found.reachable += 1;
        if let Some((hosts, now)) = told {
            outbox::write_host_move(&mut batch, now, user.id, hosts);
        }
    }
    if !batch.writes().is_empty() {
        site.apply(batch).await?;
    }
    Ok(())
}
