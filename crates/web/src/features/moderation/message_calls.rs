//! Messages to the moderators: writing them, and reading threads.

use super::message_form::{MessageForm, MessagesQuery};
use super::messages::{self, THE_MODERATORS};
use crate::error::RequestError;
use crate::limits::{API_ENTRY_BYTES, API_LIST_BYTES, API_THREADS};
use crate::markup::page::{Member, Page};
use crate::markup::parts::fitting;
use crate::request::answers::{ErrorResponse, Status};
use crate::request::description::FORM;
use crate::request::form::{Fields, Form};
use crate::request::values;
use crate::request::viewer::Call;
use axum::Json;
use serde::Serialize;
use tidings_domain::moderation::messages::reading::{
    self, Sender, ShownMessage, ShownThread, ThreadList, ThreadState, ThreadWindow,
};
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::{MessageAddress, MessageThreadId, ModerationId};
use tidings_domain::values::limits::MESSAGES_SHOWN;
use tidings_domain::values::size;
use utoipa::ToSchema;

/// A message that was written.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageWritten)]
pub struct WrittenResponse {
    status: Status,
    /// The thread.
    #[schema(value_type = u64)]
    thread_id: MessageThreadId,
    /// The number of the message in the thread.
    message_id: u64,
}

/// Some threads of messages with the moderators, the last one changed first.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageThreads)]
pub struct ThreadsResponse {
    status: Status,
    threads: Vec<ThreadEntry>,
    /// The value of `start` for the next part; null at the end.
    #[schema(required = true)]
    next: Option<u64>,
}

/// A thread of messages with the moderators.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageThread)]
struct ThreadEntry {
    #[schema(value_type = u64)]
    thread_id: MessageThreadId,
    /// The member; null after a deactivation.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    username: Option<String>,
    /// The line of the log with the decision that it is about; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    moderation_id: Option<ModerationId>,
    /// Where it stands.
    #[schema(value_type = values::ThreadState)]
    state: &'static str,
    /// The newest messages, or those before the one that was asked for; the oldest first.
    messages: Vec<MessageEntry>,
    /// The value of `before` for earlier messages; null if there are none.
    #[schema(required = true)]
    earlier: Option<u64>,
}

/// A message to or from the moderators.
#[derive(Serialize, ToSchema)]
#[schema(as = ModeratorsMessage)]
struct MessageEntry {
    /// Its number in the thread.
    message_id: u64,
    /// The sender: a username, or `the moderators`; null after a deactivation.
    #[schema(value_type = Option<values::StoredUsername>, required = true)]
    from: Option<String>,
    /// For administrators: who wrote as the moderators; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = values::StoredUsername, required = false)]
    by: Option<String>,
    /// The text.
    #[schema(value_type = values::EntryText)]
    text: String,
    /// When, in Unix seconds.
    #[schema(value_type = u64)]
    time: Timestamp,
}

impl From<ShownMessage> for MessageEntry {
    fn from(ShownMessage { number, from, time, text }: ShownMessage) -> Self {
        let (from, by) = match from {
            Sender::Member(name) | Sender::Moderator(name) => (name, None),
            Sender::Moderators(by) => (Some(THE_MODERATORS.to_owned()), by),
        };
        Self { message_id: number, from, by, text, time }
    }
}

impl From<ShownThread> for ThreadEntry {
    fn from(thread: ShownThread) -> Self {
        Self {
            thread_id: thread.id,
            username: thread.username,
            moderation_id: thread.about.map(|(line, ..)| line),
            state: match thread.state {
                ThreadState::Waiting(_) => "waiting",
                ThreadState::Answered => "answered",
                ThreadState::Closed(_) => "closed",
            },
            messages: thread.messages.into_iter().map(MessageEntry::from).collect(),
            earlier: thread.earlier,
        }
    }
}

/// Write to the moderators, or answer as one of them: in a session, or with username and password.
#[utoipa::path(
    post,
    path = "/api/messages",
    request_body(content = inline(MessageForm), content_type = FORM),
    responses(
        (status = 200, body = WrittenResponse),
        (status = 401, description = "A session is needed, or a code besides the password", body = ErrorResponse),
    ),
    security((), ("session" = [])),
)]
pub async fn write(
    Page { app, visit, .. }: Page,
    call: Call,
    fields: Fields,
) -> Result<Json<WrittenResponse>, RequestError> {
    let (_, written) = messages::write(&app, visit, fields, &call).await?;
    let MessageAddress { thread: thread_id, message: message_id } = written;
    Ok(Json(WrittenResponse { status: Status::Ok, thread_id, message_id }))
}

/// List one's threads of messages with the moderators; for moderators, those of all members.
#[utoipa::path(
    get,
    path = "/api/messages",
    params(MessagesQuery),
    responses((status = 200, body = ThreadsResponse)),
    security(("session" = [])),
)]
pub async fn list(
    Page { mut visit, user, .. }: Page<Member>,
    Form(query): Form<MessagesQuery>,
) -> Result<Json<ThreadsResponse>, RequestError> {
    let MessagesQuery { thread, before, start } = query;
    let ThreadList { mut threads, is_more } = match thread {
        Some(id) => {
            let thread = reading::thread(&mut visit, &user, (id, before)).await?;
            ThreadList { threads: vec![thread], is_more: false }
        }
        None => {
            let window = ThreadWindow { start, threads: API_THREADS, messages: MESSAGES_SHOWN };
            reading::list(&mut visit, &user, &window).await?
        }
    };
    let fits = fitting(&threads, API_LIST_BYTES, bytes);
    let next = (is_more || fits < threads.len()).then(|| start + fits as u64);
    threads.truncate(fits);
    let threads = threads.into_iter().map(ThreadEntry::from).collect();
    Ok(Json(ThreadsResponse { status: Status::Ok, threads, next }))
}

/// The most bytes of a thread in a response.
fn bytes(thread: &ShownThread) -> usize {
    let message = |message: &ShownMessage| API_ENTRY_BYTES + size::json_bytes(&message.text);
    API_ENTRY_BYTES + thread.messages.iter().map(message).sum::<usize>()
}
