//! Messages to the moderators: what is written, and which threads are asked for.

use super::form::{Password, password, switch};
use crate::error::RequestError;
use crate::limits::MAX_START;
use crate::request::form::{Fields, filled, form, optional, parsed, text, valid};
use crate::request::values;
use tidings_domain::moderation::messages::{Matter, NewMessage};
use tidings_domain::values::ids::{MessageThreadId, ModerationId};
use tidings_domain::values::message::MessageText;

form! {
    /// A message to the moderators, or their answer.
    #[schema(as = NewMessage)]
    pub struct MessageForm {
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
        pub password: Option<Password> = optional(password), String, required = false;
        /// A code of the authenticator app, or a recovery code, if the account has a second factor.
        pub code: Option<Password> = optional(password), String, required = false;
    }
}

const THREAD: &str = "it must be the number of a thread of messages";

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

form! {
    /// The threads that a call of the API asks for.
    #[derive(Debug)]
    pub query MessagesQuery {
        /// Only this thread.
        pub thread: Option<MessageThreadId> = optional(parsed(THREAD)), values::Id, required = false;
        /// With `thread`: only messages before this one.
        pub before: Option<u64> = optional(number), values::Id, required = false;
        /// How many threads to skip.
        pub start: u64 = start, u64, required = false;
    }
}

/// The line of the log that somebody wants to write about; not where they name a thread.
pub(super) fn line(fields: &Fields, name: &'static str) -> Result<ModerationId, RequestError> {
    if fields.filled("thread").is_some() {
        return Err(RequestError::field(name, "leave it out where you name a thread"));
    }
    fields.parsed(name, "it must be the number of a line of the log")
}

/// The number of a message. It has the same form as other ids.
pub(super) fn number(fields: &Fields, name: &'static str) -> Result<u64, RequestError> {
    Ok(fields.parsed::<MessageThreadId>(name, "it must be the number of a message")?.0)
}

/// How many threads to skip.
pub(super) fn start(fields: &Fields, name: &'static str) -> Result<u64, RequestError> {
    let Some(text) = fields.get(name) else { return Ok(0) };
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let start = text.parse().ok().filter(|start| is_plain && *start <= MAX_START);
    start.ok_or(RequestError::field(name, "it must be a whole number, 0 or more"))
}
