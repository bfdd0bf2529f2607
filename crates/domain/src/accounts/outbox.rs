//! The outbox: mails that wait to be sent. New entries of the inbox get here in the batch that adds
//! them, notices and links that confirm an address in the batch of the change that they are about,
//! digests once a day or week.
//!
//! Keys: `mail:outbox` (by when a mail is due), `mail:written` (by when it was written),
//! `mail:lease:<mail>` (a server is sending it),
//! `mail:digest:daily` and `mail:digest:weekly` (who gets digests, by the last one),
//! `mail:digest:turn`, `limit:mailed_entries:<user id>`, `limit:account_notices:<user id>`, and the
//! fields `mail_secret` and `mail_refused` of a user.
//!
//! A mail leaves the outbox after the relay has accepted it. So no mail is lost, and one is
//! sent again only if a server is killed between the two. A mail whose address does not exist, as
//! the relay says, is not tried again. After three such mails the address gets no more, until it
//! is changed.

use crate::accounts::inbox::EntryId;
use crate::accounts::notices::{self, Notice};
use crate::accounts::two_factor::HostMove;
use crate::accounts::users::{MAIL_REFUSED, User};
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use crate::values::hostname::Hostname;
use crate::values::ids::UserId;
use crate::values::limits::{
    DIGEST_CHUNK, MAIL_CHUNK, MAIL_PATIENCE_SECONDS, MAX_DAILY_CONFIRMATIONS, MAX_DAILY_MAILS,
    MAX_DAILY_NOTICES,
};
use crate::values::preferences::Digest;
use crate::values::secrets::{random_token, same_secret};
use crate::values::text_forms::read_text;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Order, Store, read};

/// The field of a user with the secret that addresses for unsubscribing are made from.
pub(crate) const MAIL_SECRET: &str = "mail_secret";

/// The names of the kinds of mails that nobody switches on or off.
const NOTICE: &str = "notice";
const CONFIRMATION: &str = "confirm";
const HOST_MOVE: &str = "host_move";
/// The distance between mails of one batch, which keeps their order, in seconds: about a microsecond,
/// which a score can still hold.
const ORDER_STEP: f64 = 1.0 / 1_048_576.0;

/// How long other servers leave a mail to the one that is sending it: longer than that takes.
const LEASE: Duration = Duration::from_secs(60);
/// The shortest wait before a mail is tried again, in seconds. Later waits double.
const LEAST_WAIT_SECONDS: u64 = 60;
/// The longest, so that mails go soon after a relay is back.
const MOST_WAIT_SECONDS: u64 = 3_600;
/// Mails of an earlier version that are noted in one batch.
const NOTED_AT_ONCE: u64 = 500;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingMail {
    /// To whom.
    pub user: UserId,
    /// The subject.
    pub subject: MailSubject,
}

/// The subject of a waiting mail.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// A change of the account, for its owner.
    Notice {
        /// The message.
        notice: Notice,
        /// When the change was made.
        at: Timestamp,
        /// The address that is told. The account may have another one by now.
        address: String,
    },
    /// The link that confirms the e-mail address of the account.
    Confirmation {
        /// When it was asked for.
        at: Timestamp,
    },
    /// The site moves to another host, where the passkeys of the account do not work.
    HostMove {
        /// When the mail was asked for.
        at: Timestamp,
        /// From where to where.
        hosts: HostMove,
    },
}

impl WaitingMail {
    /// The kind of the mail; `None` if nobody switches it on or off.
    pub const fn kind(&self) -> Option<MailKind> {
        match self.subject {
            MailSubject::Entry(_) => Some(MailKind::Replies),
            MailSubject::Digest { .. } => Some(MailKind::Digest),
            MailSubject::Notice { .. } | MailSubject::Confirmation { .. } | MailSubject::HostMove { .. } => {
                None
            }
        }
    }

    /// The key that counts such mails to one user, and how many there may be in a day.
    fn limit(&self) -> Option<(String, u64)> {
        match self.subject {
            // One more says that there is more.
            MailSubject::Entry(_) => Some((keys::mailed_entries(self.user), MAX_DAILY_MAILS + 1)),
            MailSubject::Digest { .. } => None,
            MailSubject::Notice { .. } | MailSubject::HostMove { .. } => {
                Some((keys::account_notices(self.user), MAX_DAILY_NOTICES))
            }
            MailSubject::Confirmation { .. } => {
                Some((keys::confirmation_mails(self.user), MAX_DAILY_CONFIRMATIONS))
            }
        }
    }
}

impl fmt::Display for WaitingMail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().map(MailKind::name);
        let user = self.user;
        match &self.subject {
            MailSubject::Entry(entry) => write!(formatter, "{}:{user}:{entry}", kind.unwrap_or_default()),
            MailSubject::Digest { since, until } => {
                write!(formatter, "{}:{user}:{since}-{until}", kind.unwrap_or_default())
            }
            MailSubject::Notice { notice, at, address } => {
                write!(formatter, "{NOTICE}:{user}:{}-{at}-{address}", notice.name())
            }
            MailSubject::Confirmation { at } => write!(formatter, "{CONFIRMATION}:{user}:{at}"),
            MailSubject::HostMove { at, hosts: HostMove { from, to } } => {
                write!(formatter, "{HOST_MOVE}:{user}:{at}/{from}/{to}")
            }
        }
    }
}

/// The text is not the name of a waiting mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a waiting mail")]
pub struct NotAMail;

read_text!(WaitingMail or NotAMail: |text| {
    let mut parts = text.splitn(3, ':');
    let (kind, user, about) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    let time = |text: &str| text.parse().ok().map(Timestamp);
    let subject = if kind == MailKind::Replies.name() {
        MailSubject::Entry(about.parse().ok()?)
    } else if kind == MailKind::Digest.name() {
        let (since, until) = about.split_once('-')?;
        MailSubject::Digest { since: time(since)?, until: time(until)? }
    } else if kind == NOTICE {
        let (notice, rest) = about.split_once('-')?;
        let (at, address) = rest.split_once('-')?;
        MailSubject::Notice { notice: Notice::parse(notice)?, at: time(at)?, address: address.to_owned() }
    } else if kind == CONFIRMATION {
        MailSubject::Confirmation { at: time(about)? }
    } else if kind == HOST_MOVE {
        let mut parts = about.split('/');
        let at = time(parts.next()?)?;
        let mut host = || Hostname::parse(parts.next()?).ok();
        MailSubject::HostMove { at, hosts: HostMove { from: host()?, to: host()? } }
    } else {
        return None;
    };
    Some(Self { user, subject })
});

/// Adds to a batch that a new entry of an inbox is mailed. Followers are not.
pub(crate) fn write_entry(batch: &mut Batch, user: UserId, entry: EntryId, score: f64) {
    if !matches!(entry, EntryId::Follow(_)) {
        write_mail(batch, &WaitingMail { user, subject: MailSubject::Entry(entry) }, score);
    }
}

/// Adds to a batch that the owner of an account is told of what else it does, at these addresses
/// and in this order. Empty addresses are left out, and all where the site sends no mail.
pub(crate) fn write_notices(
    batch: &mut Batch,
    (site, now): (&Site, Timestamp),
    user: UserId,
    notices: &[(Notice, &str)],
) {
    let mut score = now.as_score();
    for (notice, address) in notices.iter().filter(|(_, address)| site.sends_mail && !address.is_empty()) {
        let subject = MailSubject::Notice { notice: *notice, at: now, address: (*address).to_owned() };
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
    let member = mail.to_string();
    batch.sorted_add(keys::MAIL_OUTBOX, &member, score);
    batch.sorted_add(keys::MAIL_WRITTEN, member, score);
}

/// Adds to a batch that a mail no longer waits.
fn write_removal(batch: &mut Batch, member: &str) {
    batch.sorted_remove(keys::MAIL_OUTBOX, member);
    batch.sorted_remove(keys::MAIL_WRITTEN, member);
    batch.delete(keys::mail_lease(member));
}

/// The mails that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailStatus {
    /// How many.
    pub waiting: u64,
    /// When the oldest was written.
    pub oldest: Option<Timestamp>,
}

impl MailStatus {
    pub(crate) fn read() -> impl Fetch<Value = Self> {
        let oldest = read::sorted_range(keys::MAIL_WRITTEN, Order::Ascending, 0, 1);
        (read::sorted_count(keys::MAIL_OUTBOX), oldest).map(|(waiting, oldest)| Self {
            waiting,
            oldest: oldest.first().map(|(_, written)| Timestamp::from_score(*written)),
        })
    }
}

/// The mails that wait. Rounds: 1.
pub async fn status(site: &Site) -> Result<MailStatus, Error> {
    Ok(site.store.fetch(MailStatus::read()).await?)
}

/// Notes when the mails were written that waited in a store of an earlier version: as far as is
/// known, when they are due. Rounds: 1, and 2 for each 500 mails.
pub(crate) async fn note_written(site: &Site) -> Result<(), Error> {
    let mut start = 0;
    while note_some_written(site, start).await? {
        start += NOTED_AT_ONCE;
    }
    Ok(())
}

/// Does that for some mails. Returns whether there were any.
async fn note_some_written(site: &Site, start: u64) -> Result<bool, Error> {
    let mails = site
        .store
        .fetch(read::sorted_range(keys::MAIL_OUTBOX, Order::Ascending, start, NOTED_AT_ONCE))
        .await?;
    if mails.is_empty() {
        return Ok(false);
    }
    let mut batch = Batch::new();
    for (member, due) in mails {
        batch.sorted_add(keys::MAIL_WRITTEN, member, due);
    }
    site.apply(batch).await?;
    Ok(true)
}

/// The account that a mail is for; `None` if it is deactivated. Rounds: 1.
pub async fn account(site: &Site, user: UserId) -> Result<Option<User>, Error> {
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

/// The mails that are due. Puts digests that are due into the outbox; the next look finds them.
/// Rounds: 1, 1 with digests, and 3 after a server of an earlier version has sent mails. At most 40
/// mails, and 200 digests.
pub async fn look(store: &Store, now: Timestamp, due: DigestsDue) -> Result<Vec<WaitingMail>, Error> {
    let up_to = |time: Timestamp| (f64::NEG_INFINITY, time.as_score());
    let mails = now
        .scores_that_have_come(MAIL_PATIENCE_SECONDS / 2)
        .map(|scores| read::sorted_by_score(keys::MAIL_OUTBOX, Order::Ascending, scores, MAIL_CHUNK));
    let counts = [keys::MAIL_OUTBOX, keys::MAIL_WRITTEN].map(read::sorted_count);
    let lists = [(keys::DIGEST_DAILY, due.daily), (keys::DIGEST_WEEKLY, due.weekly)].map(|(key, due)| {
        let last = Timestamp(due.0.saturating_sub(1));
        let list = read::sorted_by_score(key, Order::Ascending, up_to(last), DIGEST_CHUNK);
        list.map(move |list| (key, list))
    });
    let reads = (mails, read::string(keys::DIGEST_TURN), counts, lists);
    let (mails, turn, [waiting, written], lists) = store.fetch(reads).await?;
    if written > waiting {
        forget_sent(store).await?;
    }
    let found: Vec<(String, f64)> = mails.into_iter().flatten().collect();
    let mails = fields::members(found, keys::MAIL_OUTBOX, |(mail, _)| mail.parse().ok());
    let mut batch = Batch::new();
    for (key, list) in lists {
        for (user, since) in fields::members(list, key, |(user, since)| {
            Some((user.parse::<UserId>().ok()?, Timestamp::from_score(since)))
        }) {
            let mail = WaitingMail { user, subject: MailSubject::Digest { since, until: now } };
            batch.sorted_add_if_present(key, user.to_string(), now.as_score());
            write_mail(&mut batch, &mail, now.as_score());
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

/// Forgets when mails were written that no longer wait: a server of an earlier version that uses the
/// same store has sent them. Rounds: 3.
async fn forget_sent(store: &Store) -> Result<(), Error> {
    let oldest =
        store.fetch(read::sorted_range(keys::MAIL_WRITTEN, Order::Ascending, 0, NOTED_AT_ONCE)).await?;
    let due = store.fetch(read::scores(keys::MAIL_OUTBOX, oldest.iter().map(|(mail, _)| mail))).await?;
    let mut batch = Batch::new();
    for ((mail, _), _) in oldest.iter().zip(due).filter(|(_, due)| due.is_none()) {
        batch.sorted_member_absent(keys::MAIL_OUTBOX, mail);
        batch.sorted_remove(keys::MAIL_WRITTEN, mail);
    }
    if !batch.writes().is_empty() {
        crate::site::apply(store, batch).await?;
    }
    Ok(())
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

/// Takes a waiting mail to send it. `None` if another server sends it or has sent it, or too
/// many were sent to the user; then it is dropped. Rounds: 2.
pub async fn claim(site: &Site, now: Timestamp, mail: &WaitingMail) -> Result<Option<ClaimedMail>, Error> {
    let member = mail.to_string();
    let (lease, user) = (keys::mail_lease(&member), keys::user(mail.user));
    let limit = mail.limit();
    let new_secret = random_token()?;
    site.act(&lease, || async {
        let sent = limit.as_ref().map(|(counter, _)| read::string(counter));
        let (secret, sent) = site.store.fetch((read::field(&user, MAIL_SECRET), sent)).await?;
        let (secret, sent) = (secret.filter(|secret| !secret.is_empty()), sent.flatten());
        let mut batch = Batch::new();
        let waits = batch.sorted_member_present(keys::MAIL_OUTBOX, &member);
        let free = batch.key_absent(&lease);
        let mut count = 0;
        if let Some((counter, most)) = &limit {
            count = notices::count_sent(&mut batch, counter, sent.as_deref());
            if count >= *most {
                if mail.kind().is_none() {
                    tracing::warn!(user = %mail.user, "no mail about the account sent: too many today");
                }
                let mut batch = Batch::new();
                let free = batch.key_absent(&lease);
                write_removal(&mut batch, &member);
                return Ok(Decision::commit(batch, None).if_rejected_by(free, Ok(None)));
            }
        }
        batch.set_expiring(&lease, now.to_string(), LEASE);
        let mut token = String::new();
        if let Some(kind) = mail.kind() {
            if secret.is_none() {
                batch.set_field(&user, MAIL_SECRET, &new_secret);
            }
            batch.field_unchanged(&user, MAIL_SECRET, secret.as_deref());
            token = token_for(kind, mail.user, secret.as_deref().unwrap_or(&new_secret));
        }
        let claim = ClaimedMail { token, is_last: count == MAX_DAILY_MAILS };
        Ok(Decision::commit(batch, Some(claim))
            .if_rejected_by(waits, Ok(None))
            .if_rejected_by(free, Ok(None)))
    })
    .await
}

/// Removes a mail from the outbox that is no longer wanted. Rounds: 1.
pub async fn remove(site: &Site, mail: &WaitingMail) -> Result<(), Error> {
    let mut batch = Batch::new();
    write_removal(&mut batch, &mail.to_string());
    site.apply(batch).await?;
    Ok(())
}

/// Removes a mail from the outbox that the relay has accepted. `works_again` says that the address
/// of the account has refused mails before. Rounds: 1.
pub async fn accepted(site: &Site, mail: &WaitingMail, works_again: bool) -> Result<(), Error> {
    let mut batch = Batch::new();
    write_removal(&mut batch, &mail.to_string());
    if works_again {
        batch.delete_field(keys::user(mail.user), MAIL_REFUSED);
    }
    site.apply(batch).await?;
    Ok(())
}

/// Removes a mail from the outbox whose address does not exist, and counts that for the account if
/// it has this address. Rounds: at most 2.
pub async fn refused(site: &Site, mail: &WaitingMail, address: &str) -> Result<(), Error> {
    let user = keys::user(mail.user);
    let mut batch = Batch::new();
    batch.field_equals(&user, "email", address);
    batch.increment_field(&user, MAIL_REFUSED, 1);
    write_removal(&mut batch, &mail.to_string());
    match site.apply(batch).await? {
        Applied::Yes(_) => Ok(()),
        Applied::No(_) => remove(site, mail).await,
    }
}

/// The outcome for a mail that could not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Postponed {
    /// It is tried again after so many seconds.
    For(u64),
    /// It is dropped.
    GivenUp,
}

/// Puts a claimed mail that could not be sent back, or drops it when it is a day old. `since` is
/// when it was first due. Rounds: at most 2.
pub async fn postpone(
    site: &Site,
    now: Timestamp,
    mail: &WaitingMail,
    since: Timestamp,
) -> Result<Postponed, Error> {
    if let Some((counter, _)) = mail.limit() {
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
    let wait = age.min(MOST_WAIT_SECONDS).min(MAIL_PATIENCE_SECONDS - age).max(LEAST_WAIT_SECONDS);
    let member = mail.to_string();
    let mut batch = Batch::new();
    batch.sorted_add_if_present(keys::MAIL_OUTBOX, &member, Timestamp(now.0.saturating_add(wait)).as_score());
    batch.delete(keys::mail_lease(&member));
    site.apply(batch).await?;
    Ok(Postponed::For(wait))
}

/// The end of the address for unsubscribing from a kind of mails.
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

/// The subscriber whom a token of a mail names. Rounds: 1, none for a text that cannot be a token.
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
        for text in [
            "replies:1:reply:3-14",
            "replies:7:mention:tweet:5",
            "digest:2:1800000000-1800086400",
            "notice:3:email_left-1800000000-a-b:c@d-e.example",
            "confirm:4:1800000000",
        ] {
            assert_eq!(text.parse::<WaitingMail>().map(|mail| mail.to_string()), Ok(text.to_owned()));
        }
        for bad in [
            "",
            "replies",
            "replies:1",
            "replies:x:reply:1-1",
            "digest:2:1",
            "digest:2:a-b",
            "x:1:follow:2",
            "notice:3:password-1800000000",
            "notice:3:other-1800000000-a@b",
            "confirm:4:x",
        ] {
            assert_eq!(bad.parse::<WaitingMail>(), Err(NotAMail), "{bad}");
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

    #[tokio::test]
    async fn a_mail_that_a_server_of_an_earlier_version_has_sent_does_not_wait() {
        let store = Store::in_memory().await.expect("a store");
        let now = Timestamp(1_800_000_000);
        let mut batch = Batch::new();
        batch.sorted_add(keys::MAIL_WRITTEN, "digest:1:1-2", 1.0);
        batch.sorted_add(keys::MAIL_WRITTEN, "digest:2:1-2", 2.0);
        batch.sorted_add(keys::MAIL_OUTBOX, "digest:2:1-2", 3.0);
        store.commit(batch).await.expect("a commit");
        look(&store, now, DigestsDue { daily: now, weekly: now }).await.expect("an answer");
        let written = read::sorted_range(keys::MAIL_WRITTEN, Order::Ascending, 0, 10);
        let written = store.fetch(written).await.expect("an answer");
        assert_eq!(written, [("digest:2:1-2".to_owned(), 2.0)]);
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
