//! Messages to the moderators: what is written, and which threads are asked for.

use super::form::{Password, switch};
use crate::error::RequestError;
use crate::limits::MAX_START;
use crate::request::form::{Fields, FromFields, parse};
use crate::request::values;
use tidings_domain::Error;
use tidings_domain::moderation::messages::{Matter, NewMessage};
use tidings_domain::values::ids::{MessageThreadId, ModerationId};
use tidings_domain::values::message::MessageText;
use utoipa::{IntoParams, ToSchema};

/// A message to the moderators, or their answer.
#[derive(ToSchema)]
#[schema(as = NewMessage)]
pub struct MessageForm {
    /// The text.
    #[schema(value_type = values::MessageText)]
    pub text: MessageText,
    /// The thread to write in; missing to begin one.
    #[schema(value_type = values::Id, required = false)]
    pub thread: Option<MessageThreadId>,
    /// The line of the log with a decision about the writer, to write in the thread about it.
    #[schema(value_type = values::Id, required = false)]
    pub moderation_id: Option<ModerationId>,
    /// `1` for a moderator to answer as "the moderators". Administrators see who did.
    #[schema(value_type = values::Switch, required = false)]
    pub anonymous: bool,
    /// For an answer, the last message that the moderator saw. If there are later ones, the answer is refused.
    #[schema(value_type = values::Id, required = false)]
    pub after: Option<u64>,
    /// The username, without a session: for who is banned.
    #[schema(value_type = values::StoredUsername, required = false)]
    pub username: Option<String>,
    /// The password that goes with it.
    #[schema(value_type = String, required = false)]
    pub password: Option<Password>,
    /// A code of the authenticator app, or a recovery code, if the account has a second factor.
    #[schema(value_type = String, required = false)]
    pub code: Option<Password>,
}

impl FromFields for MessageForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let text = MessageText::parse(fields.required("text")?).map_err(Error::from)?;
        let form = Self {
            text,
            thread: fields.filled("thread").map(thread).transpose()?,
            moderation_id: fields.filled("moderation_id").map(line).transpose()?,
            anonymous: switch(fields, "anonymous")?,
            after: fields.filled("after").map(|text| number("after", text)).transpose()?,
            username: fields.get("username").map(str::to_owned),
            password: fields.get("password").map(|password| Password(password.to_owned())),
            code: fields.get("code").map(|code| Password(code.to_owned())),
        };
        if form.thread.is_some() && form.moderation_id.is_some() {
            return Err(RequestError::field("moderation_id", "leave it out where you name a thread"));
        }
        Ok(form)
    }
}

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

/// The threads that a call of the API asks for.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MessagesQuery {
    /// Only this thread.
    #[param(value_type = values::Id, required = false)]
    pub thread: Option<MessageThreadId>,
    /// With `thread`: only messages before this one.
    #[param(value_type = values::Id, required = false)]
    pub before: Option<u64>,
    /// How many threads to skip.
    #[param(value_type = u64, required = false)]
    pub start: u64,
}

impl FromFields for MessagesQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self {
            thread: fields.get("thread").map(thread).transpose()?,
            before: before(fields)?,
            start: start(fields)?,
        })
    }
}

fn thread(text: &str) -> Result<MessageThreadId, RequestError> {
    parse(text, "thread", "it must be the number of a thread of messages")
}

/// The line of the log that somebody wants to write about.
pub(super) fn line(text: &str) -> Result<ModerationId, RequestError> {
    parse(text, "moderation_id", "it must be the number of a line of the log")
}

/// The number of a message.
fn number(name: &'static str, text: &str) -> Result<u64, RequestError> {
    // The same form as other ids.
    text.parse::<MessageThreadId>()
        .map(|id| id.0)
        .map_err(|_| RequestError::field(name, "it must be the number of a message"))
}

/// The message before which those that are asked for are.
pub(super) fn before(fields: &Fields) -> Result<Option<u64>, RequestError> {
    fields.get("before").map(|text| number("before", text)).transpose()
}

/// How many threads to skip.
pub(super) fn start(fields: &Fields) -> Result<u64, RequestError> {
    let Some(text) = fields.get("start") else { return Ok(0) };
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let start = text.parse().ok().filter(|start| is_plain && *start <= MAX_START);
    start.ok_or(RequestError::field("start", "it must be a whole number, 0 or more"))
}
