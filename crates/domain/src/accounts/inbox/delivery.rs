//! Adding entries to inboxes.

use super::{BADGE, EntryId, forget_messages};
use crate::accounts::avoidance::Avoidance;
use crate::accounts::outbox;
use crate::accounts::users::{CONFIRMED_EMAIL, DEACTIVATED};
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::ids::{NewsId, UserId};
use crate::values::limits::{INBOX_OVERFLOW, INBOX_SIZE};
use tidings_keyspace::{Answers, Asked, Batch, Handle, Order, Query};

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
    badge: i64,
    /// Whether the user wants it by mail and has a confirmed address.
    is_mailed: bool,
    /// When the newest entry of the inbox arrived.
    newest: Option<f64>,
    /// The oldest entries of a full inbox, which leave it.
    leaving: Vec<String>,
    /// Those of them that are unread.
    unread: Vec<String>,
}

impl Delivery {
    /// Reads what is needed to add entries about what `actor` does, who is nobody for the
    /// messages of moderators. The candidates are in order of preference: of two
    /// for the same user the first that may be added is. None is added to the inbox of an
    /// account that does not exist or is deactivated, of somebody who has muted or blocked the
    /// actor, about a comment that the inbox has an entry about, or for a reply in a thread that
    /// the user has left. Rounds: 1, none without candidates; 2 more if an inbox is full.
    pub(crate) async fn read(
        site: &Site,
        actor: Option<UserId>,
        candidates: &[(UserId, EntryId)],
    ) -> Result<Self, Error> {
        if candidates.is_empty() {
            return Ok(Self::default());
        }
        let mut query = Query::new();
        let ask = |(user, entry): &(UserId, EntryId)| CandidateRead::ask(&mut query, (*user, actor), *entry);
        let reads: Vec<_> = candidates.iter().map(ask).collect();
        let mut answers = site.store.query(query).await?;
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut blocking = Vec::new();
        let mut full = Vec::new();
        for read in reads {
            let Some((arrival, size)) = read.take(&mut answers, &mut blocking) else { continue };
            if arrivals.iter().all(|other| other.user != arrival.user) {
                if size >= INBOX_SIZE {
                    full.push((arrivals.len(), (size - INBOX_SIZE + 1).min(INBOX_OVERFLOW)));
                }
                arrivals.push(arrival);
            }
        }
        if !full.is_empty() {
            make_room(site, &mut arrivals, &full).await?;
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
        for Arrival { user, entry, badge, is_mailed, newest, leaving, unread } in &self.arrivals {
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
            for member in leaving {
                batch.sorted_remove(&inbox, member);
            }
            forget_messages(batch, *user, leaving);
            for member in unread {
                batch.sorted_member_present(&key, member);
                batch.sorted_remove(&key, member);
            }
            // Another program may have reset the badge.
            let change = (1 - i64::try_from(unread.len()).unwrap_or(0)).max(-badge);
            if change < 0 {
                batch.field_at_least(keys::user(*user), BADGE, -change);
            }
            if change != 0 {
                batch.increment_field(keys::user(*user), BADGE, change);
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

/// A pending read: whether an entry may be added to an inbox.
struct CandidateRead {
    user: UserId,
    entry: EntryId,
    fields: Handle<Vec<Option<String>>>,
    size: Handle<u64>,
    newest: Handle<Vec<(String, f64)>>,
    /// Whether there are entries about the same comment.
    known: Option<Handle<Vec<Option<f64>>>>,
    /// Whether the user has left the thread.
    left: Option<Handle<Vec<Option<f64>>>>,
    /// How the user stands to the actor.
    avoidance: Option<Asked<'static, Avoidance>>,
}

impl CandidateRead {
    fn ask(query: &mut Query, (user, actor): (UserId, Option<UserId>), entry: EntryId) -> Self {
        let inbox = keys::user_inbox(user);
        let fields = query.hash_fields(
            keys::user(user),
            ["id", DEACTIVATED, BADGE, "mail_replies", "email", CONFIRMED_EMAIL],
        );
        let size = query.sorted_count(&inbox);
        let newest = query.sorted_range(&inbox, Order::Descending, 0, 1);
        let known = entry.comment().map(|address| {
            let about = [EntryId::Reply(address), EntryId::Mention(address)];
            query.scores(&inbox, about.map(|entry| entry.to_string()))
        });
        let left =
            thread_of(entry).map(|news| query.scores(keys::user_unsubscribed(user), [news.to_string()]));
        let avoidance = actor.map(|actor| query.ask(Avoidance::of(user, actor)));
        Self { user, entry, fields, size, newest, known, left, avoidance }
    }

    /// The entry and the size of the inbox, if the entry may be added. Adds the user to
    /// `blocking` if the user has blocked the actor.
    fn take(self, answers: &mut Answers, blocking: &mut Vec<UserId>) -> Option<(Arrival, u64)> {
        let Self { user, entry, fields: read, size, newest, known, left, avoidance } = self;
        let avoidance = avoidance.map(|avoidance| answers.of(avoidance)).unwrap_or_default();
        if avoidance.blocks {
            blocking.push(user);
        }
        let [id, deactivated, badge, mail_replies, email, confirmed] = fields::each(answers.take(read));
        let size = answers.take(size);
        let newest = answers.take(newest).first().map(|(_, score)| *score);
        let mut is_any = |read: Option<Handle<Vec<Option<f64>>>>| {
            read.is_some_and(|read| answers.take(read).into_iter().any(|score| score.is_some()))
        };
        let (is_known, has_left) = (is_any(known), is_any(left));
        let is_avoided = avoidance.mutes || avoidance.blocks;
        if id.is_none() || deactivated.is_some() || is_known || has_left || is_avoided {
            return None;
        }
        let badge = fields::count(badge.as_deref(), || keys::user(user), BADGE);
        let badge = i64::try_from(badge).unwrap_or(0);
        let is_confirmed = email.as_ref().is_some_and(|email| !email.is_empty()) && email == confirmed;
        let is_mailed = mail_replies.as_deref() == Some("1") && is_confirmed;
        let (leaving, unread) = (Vec::new(), Vec::new());
        Some((Arrival { user, entry, badge, is_mailed, newest, leaving, unread }, size))
    }
}

/// Finds the entries that leave full inboxes, given as positions and numbers. Rounds: 2.
async fn make_room(site: &Site, arrivals: &mut [Arrival], full: &[(usize, u64)]) -> Result<(), Error> {
    let mut query = Query::new();
    let mut reads = Vec::new();
    for (position, count) in full {
        let Some(arrival) = arrivals.get(*position) else { continue };
        let inbox = keys::user_inbox(arrival.user);
        reads.push((*position, query.sorted_range(inbox, Order::Ascending, 0, *count)));
    }
    let mut answers = site.store.query(query).await?;
    let mut query = Query::new();
    let mut scores = Vec::new();
    for (position, read) in reads {
        let Some(arrival) = arrivals.get_mut(position) else { continue };
        arrival.leaving = answers.take(read).into_iter().map(|(member, _)| member).collect();
        let unread = query.scores(keys::user_unread(arrival.user), arrival.leaving.iter().cloned());
        scores.push((position, unread));
    }
    let mut answers = site.store.query(query).await?;
    for (position, read) in scores {
        let Some(arrival) = arrivals.get_mut(position) else { continue };
        let members = arrival.leaving.iter().zip(answers.take(read));
        arrival.unread =
            members.filter(|(_, score)| score.is_some()).map(|(member, _)| member.clone()).collect();
    }
    Ok(())
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
