//! Messages between a member and the moderators.

use crate::values::clock::Timestamp;
use crate::values::ids::{ModerationId, UserId};
use crate::values::limits::MAX_MESSAGE;
use crate::values::text::{InputError, lines, printable_lines};
use std::fmt;
use std::str::FromStr;

/// The text of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageText(Box<str>);

impl MessageText {
    /// Trims and checks a text.
    ///
    /// # Errors
    /// When it is empty, has more than [`MAX_MESSAGE`] characters, or control characters other than
    /// line breaks.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        Ok(Self(lines("text", input.trim(), MAX_MESSAGE, 1)?.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A message as it is stored: `<time>:<user id>:<line of the log, or 0>:<1 if anonymous>:<text>`. The member's
/// have no line; an answer of the moderators has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredMessage {
    pub(crate) time: Timestamp,
    pub(crate) from: UserId,
    pub(crate) line: Option<ModerationId>,
    pub(crate) anonymous: bool,
    pub(crate) text: String,
}

/// A stored text that is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a message")]
pub(crate) struct NotAMessage;

impl fmt::Display for StoredMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, from, line, anonymous, text } = self;
        let line = line.map_or(0, |line| line.0);
        write!(formatter, "{time}:{from}:{line}:{}:{text}", u8::from(*anonymous))
    }
}

impl FromStr for StoredMessage {
    type Err = NotAMessage;

    fn from_str(stored: &str) -> Result<Self, NotAMessage> {
        let mut parts = stored.splitn(5, ':');
        let mut part = || parts.next().ok_or(NotAMessage);
        let time = Timestamp(part()?.parse().map_err(|_| NotAMessage)?);
        let from = part()?.parse().map_err(|_| NotAMessage)?;
        let line = match part()? {
            "0" => None,
            line => Some(line.parse().map_err(|_| NotAMessage)?),
        };
        let anonymous = match part()? {
            "0" => false,
            "1" => true,
            _ => return Err(NotAMessage),
        };
        Ok(Self { time, from, line, anonymous, text: printable_lines(part()?).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_stored_and_read_back() {
        for stored in ["1800000000:2:0:0:Why: this?\nAnd that?", "1:2:7:1:Because."] {
            assert_eq!(
                stored.parse::<StoredMessage>().map(|message| message.to_string()),
                Ok(stored.to_owned())
            );
        }
        for stored in ["", "1:2:0:0", "x:2:0:0:a", "1:0:0:0:a", "1:2:a:0:a", "1:2:0:2:a"] {
            assert_eq!(stored.parse::<StoredMessage>(), Err(NotAMessage), "{stored}");
        }
    }

    #[test]
    fn a_text_is_bounded() {
        assert!(MessageText::parse(&"x".repeat(MAX_MESSAGE)).is_ok());
        for text in [&"x".repeat(MAX_MESSAGE + 1), " \n", "a\u{1b}"] {
            assert!(MessageText::parse(text).is_err());
        }
    }
}
