//! Threads of messages as their member, and moderators, read them.

use crate::accounts::OnPage;
use crate::accounts::message_threads::{MessageThread, texts};
use crate::accounts::people::{People, holder};
use crate::moderation::log::Line;
use crate::values::{
    Action, MESSAGES_SHOWN, MessageThreadId, ModerationId, StoredMessage, Thing, Timestamp, UserId, size,
};
use crate::{Refusal, Result, Role, Site, User, Visit, fields, keys};
use std::ops::RangeInclusive;
use tidings_keyspace::{Fetch, Order, Store, read};

/// Threads of one member on a page for moderators.
const THREADS_OF_MEMBER: usize = 10;

/// A thread as a viewer may see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownThread {
    /// Its number.
    pub id: MessageThreadId,
    /// The member.
    pub member: UserId,
    /// The member's name; `None` if the account is gone.
    pub username: Option<String>,
    /// The decision that it is about: its line in the log, what was done, and to what.
    pub about: Option<(ModerationId, Action, Thing)>,
    /// When the last message was written.
    pub changed: Timestamp,
    /// How many messages it has.
    pub count: u64,
    /// Where it stands.
    pub state: ThreadState,
    /// Some messages, the oldest first.
    pub messages: Vec<ShownMessage>,
    /// The number of the first of them, if there are earlier ones.
    pub earlier: Option<u64>,
}

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    /// The member has waited for an answer since then.
    Waiting(Timestamp),
    /// The moderators have answered last.
    Answered,
    /// The moderators have closed it without an answer, by this line of the log.
    Closed(ModerationId),
}

/// A message as a viewer may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMessage {
    /// Its number in the thread.
    pub number: u64,
    /// The sender.
    pub from: Sender,
    /// When.
    pub time: Timestamp,
    /// The text.
    pub text: String,
}

/// The writer of a message. A name is `None` if the account is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// The member.
    Member(Option<String>),
    /// A moderator, by name.
    Moderator(Option<String>),
    /// The moderators together. Administrators see which one.
    Moderators(Option<String>),
}

/// A part of the threads, the last one changed first.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadList {
    /// The threads.
    pub threads: Vec<ShownThread>,
    /// Whether there are more.
    pub is_more: bool,
}

/// A thread, with the messages before a number: the newest [`MESSAGES_SHOWN`] of them. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchMessages`] for a thread of somebody else, unless the viewer is a moderator;
/// [`Refusal::RoleNeedsTwoFactor`]; or the store's.
pub async fn thread(
    visit: &mut Visit,
    viewer: &User,
    (id, before): (MessageThreadId, Option<u64>),
) -> Result<ShownThread> {
    let found = visit.fetch(MessageThread::by_id(id)).await?.ok_or(Refusal::NoSuchMessages)?;
    if found.user_id != viewer.id {
        Refusal::NoSuchMessages.when(viewer.given_role() < Role::Moderator)?;
        viewer.require_moderator()?;
    } else if before.is_none() {
        visit.note_seen(|_| [OnPage::MessageThread(id)]).await?;
    }
    let site = visit.site_too();
    let threads = show(&site.store, viewer.role(), vec![(found, before)], MESSAGES_SHOWN).await?;
    Ok(threads.into_iter().next().ok_or(Refusal::NoSuchMessages)?)
}

/// Which threads are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadWindow {
    /// How many to skip.
    pub start: u64,
    /// The most threads.
    pub threads: usize,
    /// The newest messages of each, at most [`MESSAGES_SHOWN`].
    pub messages: u64,
}

/// Some threads: for moderators those of all members, for others their own. Rounds: 4.
///
/// # Errors
/// [`Refusal::RoleNeedsTwoFactor`], or the store's.
pub async fn list(visit: &mut Visit, viewer: &User, window: &ThreadWindow) -> Result<ThreadList> {
    let key = if viewer.given_role() < Role::Moderator {
        keys::user_message_threads(viewer.id)
    } else {
        viewer.require_moderator()?;
        keys::MESSAGES_ALL.to_owned()
    };
    let site = visit.site_too();
    newest(&site, viewer.role(), (&key, window)).await
}

/// The newest threads of a member, each with its last message, for moderators. Rounds: 4.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`], [`Refusal::RoleNeedsTwoFactor`], or the store's.
pub async fn of_member(visit: &mut Visit, viewer: &User, member: UserId) -> Result<Vec<ShownThread>> {
    viewer.require_moderator()?;
    let site = visit.site_too();
    let window = ThreadWindow { start: 0, threads: THREADS_OF_MEMBER, messages: 1 };
    let list = newest(&site, viewer.role(), (&keys::user_message_threads(member), &window)).await?;
    Ok(list.threads)
}

/// The newest thread of somebody who has typed the password, but is banned. Nothing with a second factor, which
/// was not asked for. Rounds: 6.
pub async fn newest_of(site: &Site, username: &str) -> Result<Option<ShownThread>> {
    let Some(id) = site.store.fetch(holder(username)).await? else { return Ok(None) };
    let user = site.store.fetch(User::by_id(id)).await?;
    if user.is_none_or(|user| user.second_factors.any()) {
        return Ok(None);
    }
    let window = ThreadWindow { start: 0, threads: 1, messages: MESSAGES_SHOWN };
    let list = newest(site, Role::Member, (&keys::user_message_threads(id), &window)).await?;
    Ok(list.threads.into_iter().next())
}

/// Some threads of a list. Rounds: 4.
async fn newest(site: &Site, role: Role, (key, window): (&str, &ThreadWindow)) -> Result<ThreadList> {
    let ThreadWindow { start, threads: count, messages } = *window;
    let most = count as u64 + 1;
    let ids = site.store.fetch(read::sorted_range(key, Order::Descending, start, most)).await?;
    let mut ids: Vec<MessageThreadId> = fields::members(ids, key, |(id, _)| id.parse().ok());
    let is_more = ids.len() > count;
    ids.truncate(count);
    if ids.is_empty() {
        return Ok(ThreadList { threads: Vec::new(), is_more });
    }
    let threads: Vec<_> = ids.into_iter().map(MessageThread::by_id).collect();
    let threads = site.store.fetch(threads.or_absent()).await?.into_iter().flatten();
    let threads = show(&site.store, role, threads.map(|thread| (thread, None)).collect(), messages).await?;
    Ok(ThreadList { threads, is_more })
}

/// The numbers of the newest messages before one, at most so many.
fn shown_numbers(thread: &MessageThread, before: Option<u64>, most: u64) -> RangeInclusive<u64> {
    let last = before.map_or(thread.count, |before| before.saturating_sub(1).min(thread.count));
    last.saturating_sub(most.clamp(1, MESSAGES_SHOWN) - 1).max(1)..=last
}

/// Threads with some messages and all names. Rounds: 2.
async fn show(
    store: &Store,
    role: Role,
    threads: Vec<(MessageThread, Option<u64>)>,
    most: u64,
) -> Result<Vec<ShownThread>> {
    let read = |(thread, before): (MessageThread, Option<u64>)| {
        let numbers = shown_numbers(&thread, before, most);
        let first = *numbers.start();
        let reads = (texts(thread.id, numbers), thread.about.map(|line| Line::by_id(line).or_absent()));
        reads.map(move |(messages, line)| (thread, first, messages, line.flatten()))
    };
    let found = store.fetch(threads.into_iter().map(read).collect::<Vec<_>>().large()).await?;
    let writers = found.iter().flat_map(|(thread, _, messages, _)| {
        messages.iter().map(|(_, message)| message.from).chain([thread.user_id])
    });
    let people = store.fetch(People::of(writers)).await?;
    let name = |id: UserId| people.get(id).map(|names| names.username.clone());
    let shown = found.into_iter().map(|(thread, first, messages, line)| {
        let message = |(number, message): (u64, StoredMessage)| {
            let StoredMessage { time, from, line, anonymous, text } = message;
            let from = match line {
                None => Sender::Member(name(from)),
                Some(_) if !anonymous => Sender::Moderator(name(from)),
                Some(_) => Sender::Moderators(name(from).filter(|_| role == Role::Administrator)),
            };
            ShownMessage { number, from, time, text: size::shown_message(&text).to_owned() }
        };
        let state = match (thread.waiting, thread.closed_by) {
            (Some(since), _) => ThreadState::Waiting(since),
            (None, Some(line)) => ThreadState::Closed(line),
            (None, None) => ThreadState::Answered,
        };
        ShownThread {
            id: thread.id,
            member: thread.user_id,
            username: name(thread.user_id),
            about: line.map(|line| (line.id, line.action, line.thing)),
            changed: thread.changed,
            count: thread.count,
            state,
            messages: messages.into_iter().map(message).collect(),
            earlier: (first > 1).then_some(first),
        }
    });
    Ok(shown.collect())
}
