//! Messages to the moderators: what is written, which threads are asked for, and the calls.

use super::form::switch;
use super::messages::{self, THE_MODERATORS};
use crate::error::{RequestError, Result};
use crate::limits::{API_ENTRY_BYTES, API_LIST_BYTES, API_THREADS, MAX_START};
use crate::markup::parts::fitting;
use crate::markup::{Member, Page};
use crate::request::form::{filled, form, optional, parsed, text, valid};
use crate::request::{Call, Fields, Form, answer};
use axum::Json;
use tidings_domain::moderation::messages::reading::{
    self, Sender, ShownMessage, ShownThread, ThreadList, ThreadState, ThreadWindow,
};
use tidings_domain::moderation::messages::{Matter, NewMessage};
use tidings_domain::values::{
    MESSAGES_SHOWN, MessageAddress, MessageText, MessageThreadId, ModerationId, size,
};
use tidings_language::{Message, m};

form! {
    /// A message to the moderators, or their answer.
    pub struct MessageForm as NewMessage {
        /// The text.
        pub text: MessageText = valid(MessageText::parse), values::MessageText;
        /// The thread to write in; missing to begin one.
        pub thread: Option<MessageThreadId> = filled(parsed(THREAD)), values::Id, required = false;
        /// The line of the log with a decision about the writer, to write in the thread about it.
        pub moderation_id: Option<ModerationId> = filled(line), values::Id, required = false;
        /// `1` for a moderator to answer as "the moderators". Administrators see who did.
        pub anonymous: bool = switch, values::Switch, required = false;
        /// For an answer, the last message that the moderator saw. If there are later ones, the answer is refused.
        pub after: Option<u64> = filled(number), values::Id, required = false;
        /// The username, without a session: for who is banned.
        pub username: Option<String> = optional(text), values::StoredUsername, required = false;
        /// The password that goes with it.
        pub password: Option<String> = optional(text), String, required = false;
        /// A code of the authenticator app, or a recovery code, if the account has a second factor.
        pub code: Option<String> = optional(text), String, required = false;
    }

    /// The threads that a call of the API asks for.
    #[derive(Debug)]
    pub struct MessagesQuery {
        /// Only this thread.
        pub thread: Option<MessageThreadId> = optional(parsed(THREAD)), values::Id, required = false;
        /// With `thread`: only messages before this one.
        pub before: Option<u64> = optional(number), values::Id, required = false;
        /// How many threads to skip.
        pub start: u64 = start, u64, required = false;
    }
}

const THREAD: &Message = m!("it must be the number of a thread of messages");

impl From<MessageForm> for NewMessage {
    fn from(form: MessageForm) -> Self {
        let MessageForm { text, thread, moderation_id, anonymous, after, .. } = form;
        let matter = match (thread, moderation_id) {
            (Some(thread), _) => Matter::Thread(thread),
            (None, Some(line)) => Matter::Decision(line),
            (None, None) => Matter::New,
        };
        Self { matter, text, anonymous, after }
    }
}

/// The line of the log that somebody wants to write about; not where they name a thread.
pub(super) fn line(fields: &Fields, name: &'static str) -> Result<ModerationId> {
    RequestError::field(name, m!("leave it out where you name a thread"))
        .when(fields.filled("thread").is_some())?;
    fields.parsed(name, m!("it must be the number of an entry of the log"))
}

/// The number of a message. It has the same form as other ids.
pub(super) fn number(fields: &Fields, name: &'static str) -> Result<u64> {
    Ok(fields.parsed::<MessageThreadId>(name, m!("it must be the number of a message"))?.0)
}

/// How many threads to skip.
pub(super) fn start(fields: &Fields, name: &'static str) -> Result<u64> {
    let Some(text) = fields.get(name) else { return Ok(0) };
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let start = text.parse().ok().filter(|start| is_plain && *start <= MAX_START);
    start.ok_or(RequestError::field(name, m!("it must be a whole number, 0 or more")))
}

answer! {
    /// A message that was written.
    pub struct WrittenResponse as MessageWritten from (written: MessageAddress) {
        status;
        /// The thread.
        thread_id: u64 = written.thread.0;
        /// The number of the message in the thread.
        message_id: u64 = written.message;
    }

    /// Some threads of messages with the moderators, the last one changed first.
    pub struct ThreadsResponse as MessageThreads from (list: (Vec<ShownThread>, Option<u64>)) {
        status;
        threads: Vec<ThreadEntry> = list.0.into_iter().map(ThreadEntry::from).collect();
        /// The value of `start` for the next part; null at the end.
        next: Option<u64> = list.1;
    }

    /// A thread of messages with the moderators.
    struct ThreadEntry as MessageThread from (thread: ShownThread) {
        thread_id: u64 = thread.id.0;
        /// The member; null after a deactivation.
        username: Option<String> = thread.username, Option<values::StoredUsername>;
        /// The line of the log with the decision that it is about; otherwise missing.
        moderation_id?: u64 = thread.about.map(|(line, ..)| line.0);
        /// Where it stands.
        state: &'static str = match thread.state {
            ThreadState::Waiting(_) => "waiting",
            ThreadState::Answered => "answered",
            ThreadState::Closed(_) => "closed",
        }, values::ThreadState;
        /// The newest messages, or those before the one that was asked for; the oldest first.
        messages: Vec<MessageEntry> = thread.messages.into_iter().map(MessageEntry::from).collect();
        /// The value of `before` for earlier messages; null if there are none.
        earlier: Option<u64> = thread.earlier;
    }

    /// A message to or from the moderators.
    struct MessageEntry as ModeratorsMessage from (message: ShownMessage) {
        /// Its number in the thread.
        message_id: u64 = message.number;
        /// The sender: a username, or `the moderators`; null after a deactivation.
        from: Option<String> = match &message.from {
            Sender::Member(name) | Sender::Moderator(name) => name.clone(),
            Sender::Moderators(_) => Some(THE_MODERATORS.to_owned()),
        }, Option<values::StoredUsername>;
        /// For administrators: who wrote as the moderators; otherwise missing.
        by?: String = match message.from {
            Sender::Moderators(by) => by,
            _ => None,
        }, values::StoredUsername;
        /// The text.
        text: String = message.text, values::EntryText;
        /// When, in Unix seconds.
        time: u64 = message.time.0;
    }
}

/// POST /api/messages.
pub async fn write(page: Page, call: Call, fields: Fields) -> Result<Json<WrittenResponse>> {
    let (_, written) = messages::write(&page.app, page.visit, fields, &call).await?;
    Ok(Json(written.into()))
}

/// GET /api/messages.
pub async fn list(mut page: Page<Member>, Form(query): Form<MessagesQuery>) -> Result<Json<ThreadsResponse>> {
    let MessagesQuery { thread, before, start } = query;
    let ThreadList { mut threads, is_more } = match thread {
        Some(id) => {
            let thread = reading::thread(&mut page.visit, &page.user, (id, before)).await?;
            ThreadList { threads: vec![thread], is_more: false }
        }
        None => {
            let window = ThreadWindow { start, threads: API_THREADS, messages: MESSAGES_SHOWN };
            reading::list(&mut page.visit, &page.user, &window).await?
        }
    };
    let fits = fitting(&threads, API_LIST_BYTES, bytes);
    let next = (is_more || fits < threads.len()).then(|| start + fits as u64);
    threads.truncate(fits);
    Ok(Json((threads, next).into()))
}

/// The most bytes of a thread in a response.
fn bytes(thread: &ShownThread) -> usize {
    let message = |message: &ShownMessage| API_ENTRY_BYTES + size::json_bytes(&message.text);
    API_ENTRY_BYTES + thread.messages.iter().map(message).sum::<usize>()
}
