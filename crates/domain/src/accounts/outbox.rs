//! The outbox: mails that people have asked for and that wait to be sent. New entries of the
//! inbox get here in the batch that adds them, digests once a day or week.
//!
//! Keys: `mail:outbox` (by when a mail is due), `mail:lease:<mail>` (a server is sending it),
//! `mail:digest:daily` and `mail:digest:weekly` (who gets digests, by the last one),
//! `mail:digest:turn`, `limit:mailed_entries:<user id>`, and the field `mail_secret` of a user.
//!
//! A mail leaves the outbox after the relay has accepted it. So no mail is lost, and one is
//! sent again only if a server is killed between the two.

use crate::accounts::inbox::EntryId;
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use crate::values::limits::{DIGEST_CHUNK, MAIL_CHUNK, MAIL_PATIENCE_SECONDS, MAX_DAILY_MAILS};
use crate::values::preferences::Digest;
use crate::values::secrets::{random_token, same_secret};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tidings_keyspace::{Batch, Order, Query, Store, read};

/// The field of a user with the secret that addresses for unsubscribing are made from.
pub(crate) const MAIL_SECRET: &str = "mail_secret";

/// How long other servers leave a mail to the one that is sending it: longer than that takes.
const LEASE: Duration = Duration::from_secs(60);
/// How long mails to one user are counted, from the first one.
const WINDOW: Duration = Duration::from_secs(86_400);
/// The shortest wait before a mail is tried again, in seconds. Later waits double.
const LEAST_WAIT_SECONDS: u64 = 60;
/// The digits of a token after the kind and the user.
const TOKEN_DIGITS: usize = 40;

/// The kinds of mails that people switch on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailKind {
    /// Entries of the inbox.
    Replies,
    /// Digests.
    Digest,
}

impl MailKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Replies => "replies",
            Self::Digest => "digest",
        }
    }
}

/// A mail that waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// To whom.
    pub user: UserId,
    /// What it is about.
    pub subject: MailSubject,
}

/// What a waiting mail is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailSubject {
    /// An entry of the inbox.
    Entry(EntryId),
    /// The stories between two times.
    Digest {
        /// When the last digest was made.
        since: Timestamp,
        /// When this one became due.
        until: Timestamp,
    },
}

impl Waiting {
    /// The kind of the mail.
    #[must_use]
    pub const fn kind(&self) -> MailKind {
        match self.subject {
            MailSubject::Entry(_) => MailKind::Replies,
            MailSubject::Digest { .. } => MailKind::Digest,
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, user) = (self.kind().name(), self.user);
        match self.subject {
            MailSubject::Entry(entry) => write!(formatter, "{kind}:{user}:{entry}"),
            MailSubject::Digest { since, until } => write!(formatter, "{kind}:{user}:{since}-{until}"),
        }
    }
}

/// The text is not the name of a waiting mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a waiting mail")]
pub struct NotAMail;

impl FromStr for Waiting {
    type Err = NotAMail;

    fn from_str(text: &str) -> Result<Self, NotAMail> {
        let mut parts = text.splitn(3, ':');
        let (Some(kind), Some(user), Some(about)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NotAMail);
        };
        let user = user.parse().map_err(|_| NotAMail)?;
        let subject = if kind == MailKind::Replies.name() {
            MailSubject::Entry(about.parse().map_err(|_| NotAMail)?)
        } else if kind == MailKind::Digest.name() {
            let (since, until) = about.split_once('-').ok_or(NotAMail)?;
            let time = |text: &str| text.parse().map(Timestamp).map_err(|_| NotAMail);
            MailSubject::Digest { since: time(since)?, until: time(until)? }
        } else {
            return Err(NotAMail);
        };
        Ok(Self { user, subject })
    }
}

/// Adds to a batch that a new entry of an inbox is mailed. Followers are not.
pub(crate) fn write_entry(batch: &mut Batch, user: UserId, entry: EntryId, score: f64) {
    if !matches!(entry, EntryId::Follow(_)) {
        let mail = Waiting { user, subject: MailSubject::Entry(entry) };
        batch.sorted_add(keys::MAIL_OUTBOX, mail.to_string(), score);
    }
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

/// The mails that are due. Puts digests that are due into the outbox; the next look finds them.
/// Rounds: 1, and 1 with digests. At most 40 mails, and 200 digests.
///
/// # Errors
/// When the store fails.
pub async fn look(store: &Store, now: Timestamp, due: DigestsDue) -> Result<Vec<Waiting>, Error> {
    let mut query = Query::new();
    let up_to = |time: Timestamp| (f64::NEG_INFINITY, time.as_score());
    // The outbox holds times with fractions.
    let mails = (f64::NEG_INFINITY, now.as_score() + 1.0);
    let mails = query.sorted_by_score(keys::MAIL_OUTBOX, Order::Ascending, mails, MAIL_CHUNK);
    // No attempt is put off for so long: these are from before the clock was set back.
    let ahead = (now.as_score() + Timestamp(MAIL_PATIENCE_SECONDS / 2 + 1).as_score(), f64::INFINITY);
    let ahead = query.sorted_by_score(keys::MAIL_OUTBOX, Order::Ascending, ahead, MAIL_CHUNK);
    let turn = query.string(keys::DIGEST_TURN);
    let lists = [(keys::DIGEST_DAILY, due.daily), (keys::DIGEST_WEEKLY, due.weekly)].map(|(key, due)| {
        let last = Timestamp(due.0.saturating_sub(1));
        (key, query.sorted_by_score(key, Order::Ascending, up_to(last), DIGEST_CHUNK))
    });
    let mut answers = store.query(query).await?;
    let found = answers.take(mails).into_iter().chain(answers.take(ahead));
    let mails = fields::members(found, keys::MAIL_OUTBOX, |(mail, _)| mail.parse().ok());
    let turn = answers.take(turn);
    let mut batch = Batch::new();
    for (key, list) in lists {
        for (user, since) in fields::members(answers.take(list), key, |(user, since)| {
            Some((user.parse::<UserId>().ok()?, Timestamp::from_score(since)))
        }) {
            let mail = Waiting { user, subject: MailSubject::Digest { since, until: now } };
            batch.sorted_add_if_present(key, user.to_string(), now.as_score());
            batch.sorted_add(keys::MAIL_OUTBOX, mail.to_string(), now.as_score());
        }
    }
    if !batch.writes().is_empty() {
        // Of several servers, one puts these digests into the outbox.
        match &turn {
            Some(turn) => batch.string_equals(keys::DIGEST_TURN, turn),
            None => batch.key_absent(keys::DIGEST_TURN),
        };
        batch.increment(keys::DIGEST_TURN, 1);
        crate::site::apply(store, batch).await?;
    }
    Ok(mails)
}

/// A mail that this server is to send.
#[derive(Debug, PartialEq, Eq)]
pub struct Claim {
    /// What the address for unsubscribing ends with; a secret.
    pub token: String,
    /// Whether it is the last one for some hours: it says so instead of what it is about.
    pub is_last: bool,
}

/// Takes a waiting mail to send it. `None` if another server sends it or has sent it, or too
/// many were sent to the user; then it is dropped. Rounds: 2.
///
/// # Errors
/// When the store fails.
pub async fn claim(site: &Site, now: Timestamp, mail: &Waiting) -> Result<Option<Claim>, Error> {
    let member = mail.to_string();
    let (lease, user, counter) =
        (keys::mail_lease(&member), keys::user(mail.user), keys::mailed_entries(mail.user));
    let new_secret = random_token()?;
    site.act(&lease, || async {
        let (secret, sent) =
            site.store.fetch((read::field(&user, MAIL_SECRET), read::string(&counter))).await?;
        let secret = secret.filter(|secret| !secret.is_empty());
        let sent = sent.filter(|_| mail.kind() == MailKind::Replies);
        let count: u64 = fields::read_string(sent.as_deref(), || counter.clone()).unwrap_or(0);

        let mut batch = Batch::new();
        let waits = batch.sorted_member_present(keys::MAIL_OUTBOX, &member);
        let free = batch.key_absent(&lease);
        if count > MAX_DAILY_MAILS {
            batch.sorted_remove(keys::MAIL_OUTBOX, &member);
            return Ok(Decision::commit(batch, None)
                .if_rejected_by(waits, Ok(None))
                .if_rejected_by(free, Ok(None)));
        }
        batch.set_expiring(&lease, now.to_string(), LEASE);
        if secret.is_none() {
            batch.set_field(&user, MAIL_SECRET, &new_secret);
        }
        match sent {
            _ if mail.kind() != MailKind::Replies => {}
            Some(sent) => {
                batch.string_equals(&counter, sent);
                batch.increment(&counter, 1);
            }
            None => {
                batch.key_absent(&counter);
                batch.set_expiring(&counter, "1", WINDOW);
            }
        }
        batch.field_unchanged(&user, MAIL_SECRET, secret.as_deref());
        let secret = secret.unwrap_or_else(|| new_secret.clone());
        let token = token_for(mail.kind(), mail.user, &secret);
        let claim = Claim { token, is_last: count == MAX_DAILY_MAILS };
        Ok(Decision::commit(batch, Some(claim))
            .if_rejected_by(waits, Ok(None))
            .if_rejected_by(free, Ok(None)))
    })
    .await
}

/// Removes a mail from the outbox, because it is sent or no longer wanted. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn remove(site: &Site, mail: &Waiting) -> Result<(), Error> {
    let member = mail.to_string();
    let mut batch = Batch::new();
    batch.sorted_remove(keys::MAIL_OUTBOX, &member);
    batch.delete(keys::mail_lease(&member));
    site.apply(batch).await?;
    Ok(())
}

/// What becomes of a mail that could not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Postponed {
    /// It is tried again after so many seconds.
    For(u64),
    /// It is dropped.
    GivenUp,
}

/// Puts a claimed mail that could not be sent back, or drops it when it is a day old. `since` is
/// when it was first due. Rounds: at most 2.
///
/// # Errors
/// When the store fails.
pub async fn postpone(
    site: &Site,
    now: Timestamp,
    mail: &Waiting,
    since: Timestamp,
) -> Result<Postponed, Error> {
    if mail.kind() == MailKind::Replies {
        let counter = keys::mailed_entries(mail.user);
        let mut batch = Batch::new();
        batch.key_present(&counter);
        batch.increment(&counter, -1);
        // If the count has expired meanwhile, there is nothing to correct.
        site.apply(batch).await?;
    }
    let age = now.seconds_since(since);
    if age >= MAIL_PATIENCE_SECONDS {
        remove(site, mail).await?;
        return Ok(Postponed::GivenUp);
    }
    // The last attempt is when the patience ends.
    let wait = age.min(MAIL_PATIENCE_SECONDS - age).max(LEAST_WAIT_SECONDS);
    let member = mail.to_string();
    let mut batch = Batch::new();
    batch.sorted_add_if_present(keys::MAIL_OUTBOX, &member, Timestamp(now.0.saturating_add(wait)).as_score());
    batch.delete(keys::mail_lease(&member));
    site.apply(batch).await?;
    Ok(Postponed::For(wait))
}

/// What the address for unsubscribing from a kind of mails ends with.
fn token_for(kind: MailKind, user: UserId, secret: &str) -> String {
    let kind = kind.name();
    let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(secret).finalize();
    let digits: String = hex::encode(digest).chars().take(TOKEN_DIGITS).collect();
    format!("{kind}-{user}-{digits}")
}

/// Somebody who may unsubscribe from a kind of mails.
#[derive(Debug)]
pub struct Subscriber {
    /// From which mails.
    pub kind: MailKind,
    user: UserId,
    secret: String,
}

/// Whom a token of a mail names. Rounds: 1, none for what cannot be a token.
///
/// # Errors
/// When the store fails.
pub async fn subscriber(site: &Site, token: &str) -> Result<Option<Subscriber>, Error> {
    let mut parts = token.splitn(3, '-');
    let name = parts.next().unwrap_or_default();
    let kind = [MailKind::Replies, MailKind::Digest].into_iter().find(|kind| kind.name() == name);
    let user = parts.next().and_then(|user| user.parse::<UserId>().ok());
    let (Some(kind), Some(user)) = (kind, user) else {
        return Ok(None);
    };
    let secret = site.store.fetch(read::field(keys::user(user), MAIL_SECRET)).await?.unwrap_or_default();
    // An empty secret matches nothing.
    let is_theirs = !secret.is_empty() && same_secret(&token_for(kind, user, &secret), token);
    Ok(is_theirs.then_some(Subscriber { kind, user, secret }))
}

/// Switches a kind of mails off. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn unsubscribe(site: &Site, now: Timestamp, subscriber: &Subscriber) -> Result<(), Error> {
    let key = keys::user(subscriber.user);
    let mut batch = Batch::new();
    // Fails if the account has been deactivated meanwhile; then there are no mails either.
    batch.field_equals(&key, MAIL_SECRET, &subscriber.secret);
    match subscriber.kind {
        MailKind::Replies => batch.set_field(&key, "mail_replies", "0"),
        MailKind::Digest => {
            batch.set_field(&key, "digest", "off");
            write_digest_choice(&mut batch, subscriber.user, Digest::Off, now);
        }
    }
    match site.apply(batch).await? {
        Applied::Yes(_) | Applied::No(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_mail_is_its_name() {
        for text in ["replies:1:reply:3-14", "replies:7:mention:tweet:5", "digest:2:1800000000-1800086400"] {
            assert_eq!(text.parse::<Waiting>().map(|mail| mail.to_string()), Ok(text.to_owned()));
        }
        for bad in
            ["", "replies", "replies:1", "replies:x:reply:1-1", "digest:2:1", "digest:2:a-b", "x:1:follow:2"]
        {
            assert_eq!(bad.parse::<Waiting>(), Err(NotAMail), "{bad}");
        }
    }

    #[tokio::test]
    async fn mails_from_before_the_clock_was_set_back_are_due() {
        let store = Store::in_memory().await.expect("a store");
        let (now, hour) = (Timestamp(1_800_000_000), 3_600);
        let due = DigestsDue { daily: now, weekly: now };
        let mut batch = Batch::new();
        for (mail, at) in [("digest:1:1-2", now.0 + hour), ("digest:2:1-2", now.0 + 24 * hour)] {
            batch.sorted_add(keys::MAIL_OUTBOX, mail, Timestamp(at).as_score());
        }
        store.commit(batch).await.expect("a commit");
        let found = look(&store, now, due).await.expect("an answer");
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), ["digest:2:1-2"]);
    }

    #[test]
    fn a_token_is_for_one_user_and_one_kind() {
        let secret = "0123456789";
        let tokens = [
            token_for(MailKind::Replies, UserId(1), secret),
            token_for(MailKind::Digest, UserId(1), secret),
            token_for(MailKind::Replies, UserId(1), "another"),
        ];
        let ends = tokens.map(|token| token.rsplit('-').next().map(str::to_owned));
        assert!(ends[0] != ends[1] && ends[0] != ends[2] && ends[1] != ends[2], "{ends:?}");
    }
}
