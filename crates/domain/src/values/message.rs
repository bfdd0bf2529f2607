//! Messages between a member and the moderators.

use crate::values::text::{lines, printable_lines};
use crate::values::text_forms::{codec_of, record_text};
use crate::values::{Bit, InputError, MAX_MESSAGE, ModerationId, OrZero, Timestamp, UserId};

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
}

text_values!(MessageText);

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

codec_of! {
    /// Several lines, of which [`printable_lines`] are read.
    Lines for String: |text| text,
        |text| Some(printable_lines(text).into_owned())
}

record_text!(StoredMessage or NotAMessage: {time} ":" {from} ":" {line OrZero} ":" {anonymous Bit} ":" {text Lines});

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
