//! Adding entries to inboxes.

use super::{BADGE, EntryId, forget_messages};
use crate::accounts::users::{CONFIRMED_EMAIL, DEACTIVATED};
use crate::accounts::{Avoidance, outbox};
use crate::values::{INBOX_OVERFLOW, INBOX_SIZE, NewsId, UserId};
use crate::{Result, Site, keys};
use tidings_keyspace::{Batch, Fetch, Order, read};

/// The difference in time that keeps the order of two entries in the same second, in seconds:
/// about a microsecond, which a score can still hold.
const ORDER_STEP: f64 = 1.0 / 1_048_576.0;

/// New entries for inboxes, with what was read for them. **Every new entry goes through
/// here**, so this is also where the mail about it gets into the outbox.
#[derive(Default)]
pub(crate) struct Delivery {
    arrivals: Vec<Arrival>,
    /// The candidates who have blocked the one who does it.
    blocking: Vec<UserId>,
    /// Whether the site sends mail.
    sends_mail: bool,
}

/// A new entry for one inbox.
struct Arrival {
    user: UserId,
    entry: EntryId,
    /// Whether the user wants it by mail and has a confirmed address.
    is_mailed: bool,
    /// When the newest entry of the inbox arrived.
    newest: Option<f64>,
    /// How many entries leave the inbox, because it is full.
    surplus: u64,
    /// Those that leave it: the oldest.
    leaving: Vec<String>,
    /// Those of them that are unread.
    unread: Vec<String>,
}

impl Delivery {
    /// Reads what is needed to add entries about what `actor` does, who is nobody for the
    /// messages of moderators. The candidates are in order of preference: of two
    /// for the same user the first that may be added is. None is added to the inbox of an
    /// account that does not exist or is deactivated, of somebody who has muted or blocked the
    /// actor, about a comment that the inbox has an entry about, about a follower whose entry is unread, or for a reply
    /// in a thread that the user has left. Rounds: 1, none without candidates; 2 more if an inbox is full.
    pub(crate) async fn read(
        site: &Site,
        actor: Option<UserId>,
        candidates: &[(UserId, EntryId)],
    ) -> Result<Self> {
        if candidates.is_empty() {
            return Ok(Self::default());
        }
        let candidate = |(user, entry): &(UserId, EntryId)| Candidate::of((*user, actor), *entry);
        let found = site.store.fetch(candidates.iter().map(candidate).collect::<Vec<_>>()).await?;
        let blocking =
            found.iter().filter(|candidate| candidate.blocks).map(|candidate| candidate.user).collect();
        let mut arrivals: Vec<Arrival> = Vec::new();
        for arrival in found.into_iter().filter_map(|candidate| candidate.arrival) {
            if arrivals.iter().all(|other| other.user != arrival.user) {
                arrivals.push(arrival);
            }
        }
        if arrivals.iter().any(|arrival| arrival.surplus > 0) {
            make_room(site, &mut arrivals).await?;
        }
        Ok(Self { arrivals, blocking, sends_mail: site.sends_mail })
    }

    /// Whether one of the candidates has blocked the actor.
    pub(crate) fn is_blocked_by(&self, candidate: UserId) -> bool {
        self.blocking.contains(&candidate)
    }

    /// Whether nothing is added.
    pub(crate) fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// Adds the entries to a batch, with the time as a score. The batch is rejected if an entry
    /// that leaves a full inbox has been marked as read meanwhile, or if a user has left the
    /// thread.
    pub(crate) fn write(&self, batch: &mut Batch, score: f64) {
        for Arrival { user, entry, is_mailed, newest, leaving, unread, .. } in &self.arrivals {
            let score = after(*newest, score);
            let (inbox, key) = (keys::user_inbox(*user), keys::user_unread(*user));
            if let Some(news) = thread_of(*entry) {
                batch.sorted_member_absent(keys::user_unsubscribed(*user), news.to_string());
            }
            batch.sorted_add(&inbox, entry.to_string(), score);
            batch.sorted_add(&key, entry.to_string(), score);
            if self.sends_mail && *is_mailed {
                outbox::write_entry(batch, *user, *entry, score);
            }
            leaving.iter().for_each(|member| batch.sorted_remove(&inbox, member));
            forget_messages(batch, *user, leaving);
            for member in unread {
                batch.sorted_member_present(&key, member);
                batch.sorted_remove(&key, member);
            }
            match unread.len() as u64 {
                0 => batch.increment_field(keys::user(*user), BADGE, 1),
                1 => {}
                // Another program may have reset the badge.
                more => batch.lower_field(keys::user(*user), BADGE, more - 1),
            }
        }
    }
}

/// The score of an entry that arrives after another one: of two in the same second, the later
/// one comes first in the inbox.
fn after(newest: Option<f64>, score: f64) -> f64 {
    match newest {
        Some(newest) if (score..score + 1.0).contains(&newest) => newest + ORDER_STEP,
        _ => score,
    }
}

/// The thread whose replies a user may have left.
const fn thread_of(entry: EntryId) -> Option<NewsId> {
    match entry {
        EntryId::Reply(address) => Some(address.news),
        _ => None,
    }
}

/// Whether an entry may be added to an inbox.
struct Candidate {
    user: UserId,
    /// Whether the user has blocked the actor.
    blocks: bool,
    /// The entry, if it may be added.
    arrival: Option<Arrival>,
}

impl Candidate {
    fn of((user, actor): (UserId, Option<UserId>), entry: EntryId) -> impl Fetch<Value = Self> {
        let inbox = keys::user_inbox(user);
        let account = ["id", DEACTIVATED, "mail_replies", "email", CONFIRMED_EMAIL];
        let account = read::fields(keys::user(user), account);
        let newest = read::sorted_range(&inbox, Order::Descending, 0, 1);
        // Whether there are entries about the same, and whether the user has left the thread.
        let known = match entry {
            EntryId::Reply(address) | EntryId::Mention(address) => {
                let about = [EntryId::Reply(address), EntryId::Mention(address)];
                Some(read::scores(&inbox, about.map(|entry| entry.to_string())))
            }
            EntryId::Follow(_) => Some(read::scores(keys::user_unread(user), [entry.to_string()])),
            EntryId::Tweet(_) | EntryId::Moderation(_) | EntryId::Answer(_) => None,
        };
        let left = thread_of(entry).map(|news| read::score(keys::user_unsubscribed(user), news.to_string()));
        let avoidance = actor.map(|actor| Avoidance::of(user, actor));
        let reads = (account, read::sorted_count(inbox), newest, known, left, avoidance);
        reads.map(move |(account, size, newest, known, left, avoidance)| {
            let [id, deactivated, mail_replies, email, confirmed] = account;
            let avoidance = avoidance.unwrap_or_default();
            let is_known = known.into_iter().flatten().any(|score| score.is_some());
            let has_left = left.flatten().is_some();
            let is_avoided = avoidance.mutes || avoidance.blocks;
            let is_refused = id.is_none() || deactivated.is_some() || is_known || has_left || is_avoided;
            let is_confirmed = email.as_ref().is_some_and(|email| !email.is_empty()) && email == confirmed;
            let arrival = Arrival {
                user,
                entry,
                is_mailed: mail_replies.as_deref() == Some("1") && is_confirmed,
                newest: newest.first().map(|(_, score)| *score),
                surplus: (size + 1).saturating_sub(INBOX_SIZE).min(INBOX_OVERFLOW),
                leaving: Vec::new(),
                unread: Vec::new(),
            };
            Self { user, blocks: avoidance.blocks, arrival: (!is_refused).then_some(arrival) }
        })
    }
}

/// Finds the entries that leave full inboxes. Rounds: 2.
async fn make_room(site: &Site, arrivals: &mut [Arrival]) -> Result<()> {
    let oldest = |Arrival { user, surplus, .. }: &Arrival| {
        (*surplus > 0).then(|| read::sorted_range(keys::user_inbox(*user), Order::Ascending, 0, *surplus))
    };
    let oldest = site.store.fetch(arrivals.iter().map(oldest).collect::<Vec<_>>()).await?;
    for (arrival, oldest) in arrivals.iter_mut().zip(oldest) {
        arrival.leaving = oldest.into_iter().flatten().map(|(member, _)| member).collect();
    }
    let unread = |Arrival { user, leaving, .. }: &Arrival| {
        (!leaving.is_empty()).then(|| read::scores(keys::user_unread(*user), leaving.iter().cloned()))
    };
    let unread = site.store.fetch(arrivals.iter().map(unread).collect::<Vec<_>>()).await?;
    for (arrival, scores) in arrivals.iter_mut().zip(unread) {
        let members = arrival.leaving.iter().zip(scores.into_iter().flatten());
        arrival.unread =
            members.filter(|(_, score)| score.is_some()).map(|(member, _)| member.clone()).collect();
    }
    Ok(())
}

/// Adds to a batch that an entry leaves an inbox, which may be among the unread ones.
pub(crate) fn forget(batch: &mut Batch, user: UserId, member: &str, is_unread: bool) {
    let unread = keys::user_unread(user);
    batch.sorted_remove(keys::user_inbox(user), member);
    if is_unread {
        batch.sorted_member_present(&unread, member);
        batch.sorted_remove(unread, member);
        batch.lower_field(keys::user(user), BADGE, 1);
    } else {
        batch.sorted_member_absent(unread, member);
    }
}

/// Removes the oldest entries of an inbox that is longer than it may be. Rounds: 3.
pub(crate) async fn end_surplus(site: &Site, user: UserId) -> Result<()> {
    let inbox = keys::user_inbox(user);
    let oldest = read::sorted_range(inbox, Order::Descending, INBOX_SIZE, u64::MAX);
    let members: Vec<String> =
        site.store.fetch(oldest).await?.into_iter().map(|(member, _)| member).collect();
    let unread = site.store.fetch(read::scores(keys::user_unread(user), members.clone())).await?;
    let mut batch = Batch::new();
    for (member, unread) in members.iter().zip(unread) {
        forget(&mut batch, user, member, unread.is_some());
    }
    forget_messages(&mut batch, user, &members);
    site.apply(batch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_entry_of_the_same_second_comes_first() {
        let now = 1_800_000_000.0;
        assert!(after(None, now).total_cmp(&now).is_eq());
        assert!(after(Some(now - 0.001), now).total_cmp(&now).is_eq());
        // An entry of the background may be older than what has arrived meanwhile.
        assert!(after(Some(now + 1.0), now).total_cmp(&now).is_eq());
        let mut newest = now;
        for _ in 0..1_000 {
            let next = after(Some(newest), now);
            assert!(next > newest && next < now + 0.01, "{next}");
            newest = next;
        }
    }
}
