//! The effects of answering a message to the moderators, of closing its thread, and of undoing that.

use super::{Case, Effect, told};
use crate::accounts::message_threads::{CLOSED_BY, MessageThread, WAITING};
use crate::accounts::{Delivery, EntryId};
use crate::values::{MESSAGES_IN_THREAD, MessageText, MessageThreadId, StoredMessage};
use crate::{NothingToDo, Refusal, Result, User, keys, review};
use tidings_language::t;

/// A thread that the moderator may answer or close. Rounds: 2.
async fn thread_to_moderate(case: &Case<'_>, id: MessageThreadId) -> Result<MessageThread> {
    let thread = case.site.store.fetch(MessageThread::by_id(id)).await?.ok_or(Refusal::NoSuchMessages)?;
    let member = case.site.store.fetch(User::by_id(thread.user_id)).await?;
    case.demand_power_over(&member.ok_or(Refusal::NoSuchUser)?)?;
    Ok(thread)
}

/// Answers a member. It cannot be undone: the member may have read it.
pub(super) async fn answer(
    case: &Case<'_>,
    id: MessageThreadId,
    (text, after): (&MessageText, Option<u64>),
) -> Result<Effect> {
    let thread = thread_to_moderate(case, id).await?;
    Refusal::RowChanged.when(after.is_some_and(|after| after != thread.count))?;
    Refusal::ThreadIsFull { limit: MESSAGES_IN_THREAD }.when(thread.count >= MESSAGES_IN_THREAD)?;
    let address = thread.next();
    let delivery = Delivery::read(case.site, None, &[(thread.user_id, EntryId::Answer(address))]).await?;
    let mut effect = Effect { concerns: Some(thread.user_id), ..Effect::default() };
    // The answer gives its number to its writer.
    effect.before = Some(address.message.to_string());
    let message = StoredMessage {
        time: case.now.timestamp(),
        from: case.moderator.id,
        line: Some(case.id),
        anonymous: case.anonymous,
        text: text.as_str().to_owned(),
    };
    thread.write(&mut effect.batch, case.now, &message);
    delivery.write(&mut effect.batch, case.now.as_score());
    Ok(effect)
}

/// Closes a thread whose member waits, without an answer.
pub(super) async fn close(case: &Case<'_>, id: MessageThreadId) -> Result<Effect> {
    let thread = thread_to_moderate(case, id).await?;
    let waiting = thread.waiting.ok_or(Refusal::NothingToModerate(NothingToDo::NobodyWaits))?;
    let mut effect = Effect { concerns: Some(thread.user_id), ..Effect::default() };
    let key = keys::message_thread(id);
    effect.batch.field_equals(&key, WAITING, waiting.to_string());
    effect.batch.delete_field(&key, WAITING);
    effect.change(
        &key,
        CLOSED_BY,
        (thread.closed_by.map(|by| by.to_string()).as_deref(), Some(&case.id.to_string())),
    );
    review::settle(&mut effect.batch, case.thing);
    let text = told(t!("The moderators have closed what you wrote to them, without an answer."), case.reason);
    let again =
        t!("You can write again: {address}", address = format!("{}/messages/{id}", case.site.address));
    effect.message = Some(format!("{text}\n\n{again}"));
    Ok(effect)
}

/// Undoes the closing of a thread: the member waits again.
pub(super) async fn reopen(case: &Case<'_>, id: MessageThreadId) -> Result<Effect> {
    let thread = thread_to_moderate(case, id).await?;
    let key = keys::message_thread(id);
    let Some(line) = case.undoes.filter(|line| thread.closed_by == Some(line.id)) else {
        return Err(Refusal::NothingToModerate(NothingToDo::ReopenedAlready).into());
    };
    let since = line.row.map_or(thread.changed, |row| row.place.since);
    let mut effect = Effect { concerns: Some(thread.user_id), ..Effect::default() };
    effect.batch.field_equals(&key, CLOSED_BY, line.id.to_string());
    effect.batch.delete_field(&key, CLOSED_BY);
    effect.batch.set_field(&key, WAITING, since.to_string());
    review::enqueue(&mut effect.batch, case.thing, since);
    effect.tells(told(t!("The moderators will look again at what you wrote to them."), case.reason));
    Ok(effect)
}
