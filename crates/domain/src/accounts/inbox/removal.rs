//! Taking entries away from inboxes, because what they are about is deleted or removed.

use super::taken::{Taken, TakenEntry};
use super::{BADGE, EntryId};
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::ids::UserId;
use std::collections::{BTreeMap, BTreeSet};
use tidings_keyspace::{Batch, read};

/// Entries that leave inboxes, and what the badges lose.
#[derive(Default)]
pub(crate) struct Removal(Vec<Departure>);

/// Entries that leave one inbox.
struct Departure {
    user: UserId,
    members: Vec<String>,
    /// Since when each of them is in the inbox, and among the unread ones.
    scores: Vec<[Option<f64>; 2]>,
    /// Those of them that are unread.
    unread: Vec<String>,
    /// The number that the badge loses. It is less than the number of unread entries if another
    /// program has reset the badge.
    count: i64,
}

impl Removal {
    /// Reads which of these are unread. Rounds: 1, none without any.
    pub(crate) async fn read(
        site: &Site,
        entries: impl IntoIterator<Item = (UserId, EntryId)>,
    ) -> Result<Self, Error> {
        // Each entry once: somebody may be the author of a story and of a comment on it.
        let mut by_user: BTreeMap<UserId, BTreeSet<String>> = BTreeMap::new();
        for (user, entry) in entries {
            by_user.entry(user).or_default().extend(entry.members());
        }
        if by_user.is_empty() {
            return Ok(Self::default());
        }
        let reads = |(user, members): (&UserId, &BTreeSet<String>)| {
            let sets = [keys::user_inbox(*user), keys::user_unread(*user)];
            let scores = sets.map(|set| read::scores(set, members.iter().cloned()));
            (scores, read::field(keys::user(*user), BADGE))
        };
        let read = site.store.fetch(by_user.iter().map(reads).collect::<Vec<_>>()).await?;
        let mut departures = Vec::new();
        for ((user, members), ([inbox, unread], badge)) in by_user.into_iter().zip(read) {
            let members: Vec<String> = members.into_iter().collect();
            let scores: Vec<_> =
                inbox.into_iter().zip(unread).map(|(inbox, unread)| [inbox, unread]).collect();
            let unread = members.iter().zip(&scores).filter(|(_, [_, unread])| unread.is_some());
            let unread: Vec<String> = unread.map(|(member, _)| member.clone()).collect();
            let badge = fields::count(badge.as_deref(), || keys::user(user), BADGE);
            let count = i64::try_from(badge.min(unread.len() as u64)).unwrap_or(0);
            departures.push(Departure { user, members, scores, unread, count });
        }
        Ok(Self(departures))
    }

    /// The entries that it takes away, so that they can be put back.
    pub(crate) fn taken(&self) -> Taken {
        let mut taken = Vec::new();
        for departure in &self.0 {
            let mut counted = departure.count;
            for (member, [inbox, unread]) in departure.members.iter().zip(&departure.scores) {
                if inbox.is_none() && unread.is_none() {
                    continue;
                }
                let is_counted = unread.is_some() && counted > 0;
                counted -= i64::from(is_counted);
                let (user, member) = (departure.user, member.clone());
                taken.push(TakenEntry { user, member, inbox: *inbox, unread: *unread, is_counted });
            }
        }
        Taken(taken)
    }

    /// Adds the removal of the entries to a batch, which is rejected if one of them has been
    /// marked as read meanwhile.
    pub(crate) fn write(&self, batch: &mut Batch) {
        for Departure { user, members, .. } in &self.0 {
            for member in members {
                batch.sorted_remove(keys::user_inbox(*user), member);
            }
        }
        for Departure { user, unread, count, .. } in &self.0 {
            for member in unread {
                batch.sorted_member_present(keys::user_unread(*user), member);
                batch.sorted_remove(keys::user_unread(*user), member);
            }
            if *count > 0 {
                batch.field_at_least(keys::user(*user), BADGE, *count);
                batch.increment_field(keys::user(*user), BADGE, -count);
            }
        }
    }
}
