//! Messages to the moderators: a member writes, moderators answer as "the moderators" or by name. There is one
//! thread for each matter. A decision is a matter of its own.
//!
//! A thread whose member waits has a row in the review queue. An answer, and closing the thread, are actions with
//! a line in the log, which says neither what was written nor by whom. The member's next message opens the thread
//! again.
//!
//! Members who are silenced or banned may write, too: somebody must be able to answer them. How much anybody writes
//! is bounded by [`MESSAGES_A_DAY`], [`MESSAGES_IN_THREAD`] and [`MESSAGE_THREADS`].
//!
//! Keys: `messages:count` and `limit:messages:<user id>`; the others belong to
//! [`accounts::message_threads`](crate::accounts::message_threads).

pub mod reading;

use super::log::read_line;
use super::{Line, ModerationRequest, moderate};
use crate::accounts::log_in::{self, Credentials, Identified};
use crate::accounts::message_threads::{MessageThread, THREAD};
use crate::accounts::two_factor::second_step::Proof;
use crate::rates::counted::Limited;
use crate::review::WaitingRows;
use crate::values::{
    Deed, MESSAGE_THREADS, MESSAGES_A_DAY, MESSAGES_IN_THREAD, MessageAddress, MessageText, MessageThreadId,
    ModerationId, Moment, Reason, StoredMessage, Thing,
};
use crate::{Refusal, Result, Role, Site, User, draws, fields, keys};
use std::net::IpAddr;
use tidings_keyspace::{Batch, read};

/// Which matter somebody writes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    /// Something new.
    New,
    /// A decision about them: in the thread about it, if there is one.
    Decision(ModerationId),
    /// That of a thread.
    Thread(MessageThreadId),
}

/// A message that is about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// About what.
    pub matter: Matter,
    /// The text.
    pub text: MessageText,
    /// Whether a moderator answers as "the moderators".
    pub anonymous: bool,
    /// For an answer, the last message that the moderator saw, if that matters.
    pub after: Option<u64>,
}

/// Writes a message: in a thread of somebody else, the answer of the moderators; otherwise one to them. Rounds: 5;
/// for an answer those of [`moderate`], and 2.
///
/// # Errors
/// [`Refusal::NoSuchMessages`]; [`Refusal::NoSuchModeration`] and [`Refusal::NotAboutYou`];
/// [`Refusal::TooManyMessages`], [`Refusal::ThreadIsFull`], [`Refusal::TooManyMessageThreads`]; for an answer,
/// those of [`moderate`]; or the store's.
pub async fn write(site: &Site, now: Moment, writer: &User, message: &NewMessage) -> Result<MessageAddress> {
    if let Matter::Thread(id) = message.matter {
        let thread = site.store.fetch(MessageThread::by_id(id)).await?.ok_or(Refusal::NoSuchMessages)?;
        if thread.user_id != writer.id {
            return answer_in(site, now, writer, (id, message)).await;
        }
    }
    writer.once(site, write_to_moderators(site, now, (writer, None), message)).await
}

/// The same for somebody who cannot log in because they are banned, with what a login takes: the password, and a
/// code if the account has a second factor. A wrong one counts as a failed login. Returns the writer, too.
///
/// # Errors
/// As [`write()`], those of a login, [`Refusal::CodeRequired`], and [`Refusal::SessionEnded`] for who can log in.
pub async fn write_without_session(
    site: &Site,
    now: Moment,
    (typed, address): (&Credentials<'_>, IpAddr),
    message: &NewMessage,
) -> Result<(User, MessageAddress)> {
    let Identified { user, proof } = log_in::identify((site, now.timestamp()), typed, address).await?;
    Refusal::SessionEnded.when(user.demand_may_log_in(now.timestamp()).is_ok())?;
    let written = write_to_moderators(site, now, (&user, Some(&proof)), message).await?;
    Ok((user, written))
}

/// A member's message. The proof of one without a session is used up in the same batch. Rounds: 4.
async fn write_to_moderators(
    site: &Site,
    now: Moment,
    (member, proof): (&User, Option<&Proof>),
    message: &NewMessage,
) -> Result<MessageAddress> {
    let home = keys::user_message_threads(member.id);
    let written = site.act(&home, || async {
        let thread = thread_of(site, now, member, message.matter).await?;
        let sent = Limited::Messages(member.id).counted(&site.rules);
        let (sent, threads) = site.store.fetch((sent, read::sorted_count(&home))).await?;
        sent.demand(|_| Refusal::TooManyMessages { limit: MESSAGES_A_DAY })?;
        let mut batch = Batch::new();
        // Two messages of one member change the same number, so one of them reads again what there is.
        sent.add(&mut batch);
        if thread.count == 0 && threads >= MESSAGE_THREADS {
            return Err(Refusal::TooManyMessageThreads { limit: MESSAGE_THREADS }.into());
        }
        // The last place is kept for the answer.
        if thread.next().message >= MESSAGES_IN_THREAD {
            return Err(Refusal::ThreadIsFull { limit: MESSAGES_IN_THREAD }.into());
        }
        let stored = StoredMessage {
            time: now.timestamp(),
            from: member.id,
            line: None,
            anonymous: false,
            text: message.text.as_str().to_owned(),
        };
        thread.write(&mut batch, now, &stored);
        if let Some(proof) = proof {
            proof.write(&mut batch, member.id);
        }
        let address = thread.next();
        member.decide(batch, address, &address)
    });
    let written = written.await?;
    site.of::<WaitingRows>().forget();
    Ok(written)
}

/// The thread about a matter, or a new one. Rounds: at most 2.
async fn thread_of(site: &Site, now: Moment, member: &User, matter: Matter) -> Result<MessageThread> {
    let (found, about) = match matter {
        Matter::New => (None, None),
        Matter::Thread(id) => (Some(id), None),
        Matter::Decision(id) => {
            let hash = site.store.fetch(read::hash(keys::moderation(id))).await?;
            let line = Line::from_hash(id, &hash).ok_or(Refusal::NoSuchModeration)?;
            Refusal::NotAboutYou.when(line.concerns != Some(member.id))?;
            (fields::read(hash.get(THREAD), || keys::moderation(id), THREAD), Some(id))
        }
    };
    if let Some(id) = found {
        let thread = site.store.fetch(MessageThread::by_id(id)).await?;
        let thread = thread.filter(|thread| thread.user_id == member.id);
        return Ok(thread.ok_or(Refusal::NoSuchMessages)?);
    }
    let id = draws::next_id(site, keys::MESSAGES_COUNT).await?;
    Ok(MessageThread::new(id, (member.id, about), now.timestamp()))
}

/// The answer of a moderator.
async fn answer_in(
    site: &Site,
    now: Moment,
    moderator: &User,
    (id, message): (MessageThreadId, &NewMessage),
) -> Result<MessageAddress> {
    // Nobody else is told that there is such a thread.
    Refusal::NoSuchMessages.when(moderator.role() < Role::Moderator)?;
    let NewMessage { text, anonymous, after, .. } = message;
    let deed = Deed::Answer(text.clone(), *after);
    let request = ModerationRequest::new(deed, Thing::Message(id), Reason::default());
    let request = ModerationRequest { anonymous: *anonymous, ..request };
    let line = moderator.once(site, moderate(site, now, moderator, &request)).await?;
    let number = read_line(site, line).await?.before.and_then(|number| number.parse().ok());
    Ok(MessageAddress { thread: id, message: number.unwrap_or(1) })
}

/// The member to tell by mail that the moderators have answered; `None` if no mail is needed. This is only a
/// member who is banned, and so cannot look into the inbox, who gets no mail about the entry, and who has an
/// address. Rounds: 2.
pub async fn member_to_mail(site: &Site, now: Moment, id: MessageThreadId) -> Result<Option<User>> {
    let Some(thread) = site.store.fetch(MessageThread::by_id(id)).await? else { return Ok(None) };
    let member = site.store.fetch(User::by_id(thread.user_id)).await?;
    Ok(member.filter(|member| {
        let is_banned = member.demand_may_log_in(now.timestamp()).is_err();
        is_banned && member.notice_address().is_some() && !member.gets_replies_by_mail()
    }))
}
