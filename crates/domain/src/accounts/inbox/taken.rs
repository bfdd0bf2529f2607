//! Entries that were taken away from inboxes because what they are about is withheld, and putting
//! them back exactly as they were.

use super::BADGE;
use crate::accounts::users::DEACTIVATED;
use crate::error::Error;
use crate::keys;
use crate::site::Site;
use crate::values::ids::UserId;
use crate::values::text_forms::{Bit, codec_of, list_text, record_text};
use std::collections::{BTreeMap, BTreeSet};
use tidings_keyspace::{Batch, read};

/// The placeholder for a time that an entry does not have.
const NONE: &str = "-";

/// An entry as it was in an inbox. Stored as `<user id> <entry> <time in the inbox> <time among the
/// unread ones> <1 if the badge counted it, else 0>`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TakenEntry {
    pub(crate) user: UserId,
    /// The entry as it was stored.
    pub(super) member: String,
    pub(super) inbox: Option<f64>,
    pub(super) unread: Option<f64>,
    pub(super) is_counted: bool,
}

/// A stored text that is not an entry that was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an entry that was taken away")]
pub(crate) struct NotTaken;

codec_of! {
    /// A time with all its digits, or [`NONE`].
    Time for Option<f64>: |time| time.map_or_else(|| NONE.to_owned(), |time| format!("{time:?}")),
        |text| match text {
            NONE => Some(None),
            time => time.parse().ok().filter(|time: &f64| time.is_finite()).map(Some),
        }
}

record_text!(TakenEntry or NotTaken: {user} " " {member} " " {inbox Time} " " {unread Time} " " {is_counted Bit});

/// Entries that were taken away; stored as a line for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Taken(pub(crate) Vec<TakenEntry>);

list_text!(Taken or NotTaken: "\n" lines());

/// Entries that are about to be put back, with what was read for it.
#[derive(Default)]
pub(crate) struct Replacement(BTreeMap<UserId, Vec<TakenEntry>>);

impl Replacement {
    /// Reads whose accounts are still there: the others get nothing back. Rounds: 1, none without
    /// entries.
    pub(crate) async fn read(site: &Site, taken: Taken) -> Result<Self, Error> {
        let mut by_user: BTreeMap<UserId, Vec<TakenEntry>> = BTreeMap::new();
        for entry in taken.0 {
            by_user.entry(entry.user).or_default().push(entry);
        }
        let present = present(site, by_user.keys().copied().collect()).await?;
        by_user.retain(|user, _| present.contains(user));
        Ok(Self(by_user))
    }

    /// Adds the entries to a batch. It is rejected if one of the accounts is deactivated meanwhile.
    pub(crate) fn write(&self, batch: &mut Batch) {
        for (user, entries) in &self.0 {
            batch.field_absent(keys::user(*user), DEACTIVATED);
            let mut badge = 0;
            for entry in entries {
                badge += i64::from(entry.is_counted);
                if let Some(time) = entry.inbox {
                    batch.sorted_add(keys::user_inbox(*user), &entry.member, time);
                }
                if let Some(time) = entry.unread {
                    batch.sorted_add(keys::user_unread(*user), &entry.member, time);
                }
            }
            if badge > 0 {
                batch.increment_field(keys::user(*user), BADGE, badge);
            }
        }
    }
}

/// The people among these whose accounts are still there. Rounds: 1, none without people.
pub(crate) async fn present(site: &Site, users: Vec<UserId>) -> Result<BTreeSet<UserId>, Error> {
    let accounts = users.iter().map(|user| read::fields(keys::user(*user), ["id", DEACTIVATED]));
    let accounts = match accounts.collect::<Vec<_>>() {
        accounts if accounts.is_empty() => Vec::new(),
        accounts => site.store.fetch(accounts).await?,
    };
    let present = users.into_iter().zip(accounts).filter(|(_, account)| matches!(account, [Some(_), None]));
    Ok(present.map(|(user, _)| user).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_away_is_stored_and_read_back() {
        let stored = "3 reply:7-3 1401267618.25 - 0\n4 mention:tweet:9 1.0 1.0 1\n5 7-3 - 2.5 1";
        let taken: Taken = stored.parse().unwrap();
        assert_eq!(taken.to_string(), stored);
        assert_eq!(taken.0.len(), 3);
        assert_eq!("".parse::<Taken>().unwrap(), Taken::default());
        for bad in ["3", "x reply:7-3 1 - 0", "3 reply:7-3 1 -", "3 reply:7-3 inf - 0", "3 a b 1 - 0"] {
            assert_eq!(bad.parse::<Taken>(), Err(NotTaken), "{bad}");
        }
    }
}
