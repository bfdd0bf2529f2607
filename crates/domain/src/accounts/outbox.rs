//! The outbox: mails that wait to be sent. New entries of the inbox get here in the batch that adds
//! them, notices and links that confirm an address in the batch of the change that they are about,
//! digests once a day or week.
//!
//! Keys: `mail:outbox` (by when a mail is due), `mail:written` (by when it was written),
//! `mail:digest:daily` and `mail:digest:weekly` (who gets digests, by the last one),
//! `limit:mailed_entries:<user id>`, `limit:account_notices:<user id>`, and the field
//! `mail_refused` of a user.
//!
//! A server sends mails in its turn ([`crate::queue`]). A mail leaves the outbox after the relay has
//! accepted it. So no mail is lost, and one is sent again only if a server is killed between the two.
//! A mail whose address does not exist, as the relay says, is not tried again. After three such mails
//! the address gets no more, until it is changed.

mod waiting_mail;

pub use waiting_mail::{MailKind, MailSubject, WaitingMail};

use crate::accounts::unsubscribing::{MAIL_SECRET, token_for};
use crate::accounts::users::MAIL_REFUSED;
use crate::accounts::{EntryId, HostMove, Notice};
use crate::queue::{Fate, Lane, Lease, ORDER_STEP, SendingTurn};
use crate::values::{DIGEST_CHUNK, Digest, MAIL_CHUNK, Moment, Timestamp, UserId, random_token};
use crate::{Applied, Decision, Result, Site, User, fields, keys};
use tidings_keyspace::{Batch, Fetch, Order, read};

/// The name of the lane in leases.
const MAILS: &str = "mails";

/// Adds to a batch that a new entry of an inbox is mailed. Followers are not.
pub(crate) fn write_entry(batch: &mut Batch, user: UserId, entry: EntryId, score: f64) {
    if !matches!(entry, EntryId::Follow(_)) {
        write_mail(batch, &WaitingMail { user, subject: MailSubject::Entry(entry) }, score);
    }
}

/// Adds to a batch that the owner of an account is told of what else it does, in this order, unless the address is empty
/// or the site sends no mail.
pub(crate) fn write_notices(
    batch: &mut Batch,
    (site, now): (&Site, Timestamp),
    (user, address): (UserId, &str),
    notices: &[Notice],
) {
    let mut score = now.as_score();
    for notice in notices.iter().filter(|_| site.sends_mail && !address.is_empty()) {
        let subject = MailSubject::Notice { notice: *notice, at: now, address: address.to_owned() };
        write_mail(batch, &WaitingMail { user, subject }, score);
        score += ORDER_STEP;
    }
}

/// Adds to a batch that a link is mailed that confirms the e-mail address of an account.
pub(crate) fn write_confirmation(batch: &mut Batch, now: Timestamp, user: UserId) {
    let mail = WaitingMail { user, subject: MailSubject::Confirmation { at: now } };
    // After the notices of the same batch.
    write_mail(batch, &mail, now.as_score() + 0.5);
}

/// Adds to a batch a mail that tells the owner of passkeys about a move of the site.
pub(crate) fn write_host_move(batch: &mut Batch, now: Timestamp, user: UserId, hosts: &HostMove) {
    let mail = WaitingMail { user, subject: MailSubject::HostMove { at: now, hosts: hosts.clone() } };
    write_mail(batch, &mail, now.as_score());
}

fn write_mail(batch: &mut Batch, mail: &WaitingMail, score: f64) {
    Lane::MAILS.write(batch, &mail.to_string(), score);
}

/// The account that a mail is for; `None` if it is deactivated. Rounds: 1.
pub async fn account(site: &Site, user: UserId) -> Result<Option<User>> {
    Ok(site.store.fetch(User::by_id(user)).await?)
}

/// Adds to a batch how often a user gets digests from now on. The first one has what is new
/// since now.
pub(crate) fn write_digest_choice(batch: &mut Batch, user: UserId, digest: Digest, now: Timestamp) {
    for (kind, key) in [(Digest::Daily, keys::DIGEST_DAILY), (Digest::Weekly, keys::DIGEST_WEEKLY)] {
        if kind == digest {
            batch.sorted_add(key, user.to_string(), now.as_score());
        } else {
            batch.sorted_remove(key, user.to_string());
        }
    }
}

/// When digests became due the last time.
#[derive(Debug, Clone, Copy)]
pub struct DigestsDue {
    /// The daily ones.
    pub daily: Timestamp,
    /// The weekly ones.
    pub weekly: Timestamp,
}

/// Some mails that this server is to send.
#[derive(Debug)]
pub struct MailTurn {
    /// The mails, the oldest first.
    pub mails: Vec<WaitingMail>,
    /// Ends when they are sent, or late.
    pub turn: SendingTurn,
}

/// Takes the turn to send mails, if some are due and no other server has it. Puts digests that are due into the outbox;
/// the next turn finds them. Rounds: 1 without mails, 2 with some, and 1 for digests. At most 40 mails, and 200 digests.
pub async fn begin(site: &Site, now: Timestamp, due: DigestsDue) -> Result<Option<MailTurn>> {
    let lists = [(keys::DIGEST_DAILY, due.daily), (keys::DIGEST_WEEKLY, due.weekly)].map(|(key, due)| {
        let last = Timestamp(due.0.saturating_sub(1));
        let scores = (f64::NEG_INFINITY, last.as_score());
        let list = read::sorted_by_score(key, Order::Ascending, scores, DIGEST_CHUNK);
        list.map(move |list| (key, list))
    });
    // These rounds are not those of any request.
    let store = site.store.counted_apart();
    let reads = (Lease::of(MAILS), Lane::MAILS.due(now, MAIL_CHUNK), lists);
    let (free, mails, lists) = store.fetch(reads).await?;
    if mails.is_empty() && lists.iter().all(|(_, list)| list.is_empty()) {
        return Ok(None);
    }
    let Some(turn) = free.take(site, Moment::from_timestamp(now), Batch::new()).await? else {
        return Ok(None);
    };
    let mut digests = Batch::new();
    for (key, list) in lists {
        for (user, since) in fields::members(list, key, |(user, since)| {
            Some((user.parse::<UserId>().ok()?, Timestamp::from_score(since)))
        }) {
            let mail = WaitingMail { user, subject: MailSubject::Digest { since, until: now } };
            digests.sorted_add_if_present(key, user.to_string(), now.as_score());
            write_mail(&mut digests, &mail, now.as_score());
        }
    }
    if !digests.writes().is_empty() {
        turn.demand(&mut digests);
        site.apply(digests).await?;
    }
    let mails = fields::members(mails, keys::MAIL_OUTBOX, |(mail, _)| mail.parse().ok());
    Ok(Some(MailTurn { mails, turn }))
}

/// A mail that this server is to send.
#[derive(Debug, PartialEq, Eq)]
pub struct ClaimedMail {
    /// The end of the address for unsubscribing; a secret. Empty for a mail that nobody
    /// subscribes to.
    pub token: String,
    /// Whether it is the last one for some hours: it says so instead of what it is about.
    pub is_last: bool,
}

/// Counts a mail before it is sent. `None` if it no longer waits, the turn has ended, or too many were sent to the user;
/// then it is dropped. Rounds: 2.
pub async fn claim(site: &Site, turn: &SendingTurn, mail: &WaitingMail) -> Result<Option<ClaimedMail>> {
    let member = mail.to_string();
    let user = keys::user(mail.user);
    let limit = mail.limit();
    let new_secret = random_token()?;
    site.act(&user, || async {
        let sent = limit.as_ref().map(|limit| limit.counted(&site.rules));
        let (secret, sent) = site.store.fetch((read::field(&user, MAIL_SECRET), sent)).await?;
        let secret = secret.filter(|secret| !secret.is_empty());
        let mut batch = Batch::new();
        let is_ours = turn.demand(&mut batch);
        let waits = batch.sorted_member_present(keys::MAIL_OUTBOX, &member);
        if let Some(sent) = &sent {
            sent.add(&mut batch);
            if sent.is_reached() {
                if mail.kind().is_none() {
                    tracing::warn!(user = %mail.user, "no mail about the account sent: too many today");
                }
                let mut batch = Batch::new();
                Lane::MAILS.write_removal(&mut batch, &member);
                return Ok(Decision::commit(batch, None));
            }
        }
        let mut token = String::new();
        if let Some(kind) = mail.kind() {
            if secret.is_none() {
                batch.set_field(&user, MAIL_SECRET, &new_secret);
            }
            batch.field_unchanged(&user, MAIL_SECRET, secret.as_deref());
            token = token_for(kind, mail.user, secret.as_deref().unwrap_or(&new_secret));
        }
        let claim = ClaimedMail {
            token,
            is_last: mail.kind() == Some(MailKind::Replies) && sent.is_some_and(|sent| sent.is_last()),
        };
        Ok(Decision::commit(batch, Some(claim))
            .if_rejected_by(is_ours, Ok(None))
            .if_rejected_by(waits, Ok(None)))
    })
    .await
}

/// The outcome of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailOutcome<'a> {
    /// The relay has accepted it; also to an address that has refused mails before.
    Accepted {
        /// Whether it has.
        had_refused: bool,
    },
    /// It is no longer wanted, or the relay never takes it.
    Dropped,
    /// The relay says that this address does not exist.
    NoMailbox(&'a str),
    /// The relay may take it later.
    Failed,
}

/// Ends an attempt to send a mail: it leaves the outbox, or waits on. Rounds: at most 3.
pub async fn finish(
    site: &Site,
    now: Timestamp,
    mail: &WaitingMail,
    outcome: MailOutcome<'_>,
) -> Result<Fate> {
    let (member, user) = (mail.to_string(), keys::user(mail.user));
    let mut fate = Fate::Over;
    let mut batch = Batch::new();
    match outcome {
        MailOutcome::Accepted { had_refused: true } => batch.delete_field(&user, MAIL_REFUSED),
        MailOutcome::Accepted { had_refused: false } | MailOutcome::Dropped => {}
        MailOutcome::NoMailbox(address) => {
            batch.field_equals(&user, "email", address);
            batch.increment_field(&user, MAIL_REFUSED, 1);
        }
        MailOutcome::Failed => {
            let written = site.store.fetch(read::score(keys::MAIL_WRITTEN, &member)).await?;
            fate = Fate::after_failure(now, written.map_or(now, Timestamp::from_score));
            if let Some(limit) = mail.limit() {
                limit.limit(&site.rules).take_back(&mut batch);
            }
        }
    }
    Lane::MAILS.write_fate(&mut batch, now, &member, fate);
    if let Applied::No(_) = site.apply(batch).await? {
        // The account has another address by now, or the count has expired: there is nothing to correct.
        let mut batch = Batch::new();
        Lane::MAILS.write_fate(&mut batch, now, &member, fate);
        site.apply(batch).await?;
    }
    Ok(fate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn mails_from_before_the_clock_was_set_back_are_due() {
        let site = Site::in_memory().await;
        let (now, hour) = (Timestamp(1_800_000_000), 3_600);
        let due = DigestsDue { daily: now, weekly: now };
        let mut batch = Batch::new();
        for (mail, at) in [("digest:1:1-2", now.0 + hour), ("digest:2:1-2", now.0 + 24 * hour)] {
            batch.sorted_add(keys::MAIL_OUTBOX, mail, Timestamp(at).as_score());
        }
        site.store.commit(batch).await.expect("a commit");
        let turn = begin(&site, now, due).await.expect("an answer").expect("a turn");
        assert_eq!(turn.mails.iter().map(ToString::to_string).collect::<Vec<_>>(), ["digest:2:1-2"]);
        assert!(begin(&site, now, due).await.expect("an answer").is_none());
    }
}
