//! Signing up: who may, and what people send to be let in.

use crate::values::secrets::{random_token, same_secret};
use crate::values::text::{line_or_nothing, lines};
use crate::values::text_forms::{never_logged, shown};
use crate::values::{Choice, InputError, MAX_APPLICATION, MAX_SIGNUP_ANSWER, NoRandomness};
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

/// The people who can sign up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SignupMode {
    /// Anyone.
    #[default]
    Open,
    /// People whom a member invites.
    Invite,
    /// People whom a moderator accepts, after reading why they would like to join; and people
    /// whom a member invites.
    Apply,
    /// Nobody.
    Closed,
}

impl Choice for SignupMode {}

/// Hexadecimal digits of an invitation: as many as of other tokens.
pub const INVITATION_DIGITS: usize = 40;

/// The secret code of an invitation. Anyone who knows it can use it, once.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct InvitationCode(String);

impl InvitationCode {
    /// A new code.
    ///
    /// # Errors
    /// [`NoRandomness`] when the operating system's generator fails.
    pub fn random() -> Result<Self, NoRandomness> {
        random_token().map(Self)
    }

    /// A code as it was typed, or the whole link with it; `None` for what cannot be one.
    pub fn parse(typed: &str) -> Option<Self> {
        let typed = typed.trim();
        let code = typed.rsplit_once("invitation=").map_or(typed, |(_, code)| code);
        is_token(code).then(|| Self(code.to_owned()))
    }

    /// The code itself, for its link and its key.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

never_logged!(InvitationCode);

/// The secret of the link that makes somebody the first administrator.
#[derive(Clone)]
pub struct WelcomeToken(String);

impl WelcomeToken {
    /// A token as a link carries it; `None` for what cannot be one.
    pub fn parse(given: &str) -> Option<Self> {
        let given = given.trim();
        is_token(given).then(|| Self(given.to_owned()))
    }

    /// The token that a site has derived.
    pub(crate) fn derived(bytes: &[u8]) -> Self {
        Self(hex::encode(bytes).chars().take(INVITATION_DIGITS).collect())
    }

    /// The token itself, for its link.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is the same, in a time that does not depend on where they differ.
    pub(crate) fn matches(&self, given: &Self) -> bool {
        same_secret(&self.0, &given.0)
    }
}

never_logged!(WelcomeToken);

/// Whether a text has the form of a token: so many lower-case hexadecimal digits.
fn is_token(text: &str) -> bool {
    text.len() == INVITATION_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Why somebody would like to join: a text of several lines for moderators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationText(String);

impl ApplicationText {
    /// Checks a text of at most [`MAX_APPLICATION`] characters.
    ///
    /// # Errors
    /// When it is empty, too long, or has control characters.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        lines("application", input.trim(), MAX_APPLICATION, 1).map(Self)
    }
}

text_values!(ApplicationText);

/// The answer to the question at sign-up, as somebody typed it; may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignupAnswer(String);

impl SignupAnswer {
    /// Checks a line of at most [`MAX_SIGNUP_ANSWER`] characters.
    ///
    /// # Errors
    /// When it is too long, or has control characters.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        line_or_nothing("answer", input, MAX_SIGNUP_ANSWER).map(Self)
    }

    /// Whether nothing was answered.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }
}

/// The answers to the question at sign-up that the operator accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignupAnswers(String);

impl SignupAnswers {
    /// Answers with commas between them.
    pub fn parse(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.answers().next().is_none()
    }

    /// Whether an answer is one of them, in capitals or not.
    pub fn accept(&self, given: &SignupAnswer) -> bool {
        let given = words(&given.0);
        self.answers().any(|answer| answer == given)
    }

    fn answers(&self) -> impl Iterator<Item = String> {
        self.0.split(',').map(words).filter(|answer| !answer.is_empty())
    }
}

shown!(SignupAnswers: |answers| answers.0);

/// The words of an answer, in lower case, with single spaces between them.
fn words(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn an_answer_is_accepted_in_capitals_or_not() {
        let accepted = SignupAnswers::parse("Salvatore Sanfilippo, antirez,");
        for (answer, is_accepted) in [
            ("antirez", true),
            (" ANTIREZ ", true),
            ("salvatore  sanfilippo", true),
            ("sanfilippo", false),
            ("antirez, salvatore sanfilippo", false),
            ("", false),
        ] {
            assert_eq!(accepted.accept(&SignupAnswer::parse(answer).unwrap()), is_accepted, "{answer}");
        }
        assert!(!accepted.is_empty() && SignupAnswers::parse(" , ").is_empty());
        assert!(SignupAnswer::parse(&"x".repeat(MAX_SIGNUP_ANSWER + 1)).is_err());
    }

    #[test]
    fn a_code_is_found_in_its_link() {
        let code = InvitationCode::random().unwrap();
        let text = code.expose();
        for typed in [
            text.to_owned(),
            format!(" {text}\n"),
            format!("https://news.example.com/register?invitation={text}"),
        ] {
            assert_eq!(InvitationCode::parse(&typed), Some(code.clone()));
        }
        for bad in ["", "invitation=", &text[1..], &format!("{text}0"), &"A".repeat(40), &"é".repeat(20)] {
            assert_eq!(InvitationCode::parse(bad), None, "{bad:?}");
        }
        assert_eq!(format!("{code:?}"), "InvitationCode(***)");
    }

    #[test]
    fn an_application_is_asked_for_and_bounded() {
        assert_eq!(ApplicationText::parse(" a\r\nb ").unwrap().as_str(), "a\nb");
        let refused = |input: &str| ApplicationText::parse(input).unwrap_err();
        assert_eq!(refused(" \n"), InputError::Empty { field: "application" });
        assert_eq!(refused(&"x".repeat(2_001)), InputError::TooLong { field: "application", most: 2_000 });
        assert!(ApplicationText::parse(&"é".repeat(2_000)).is_ok());
        assert!(ApplicationText::parse("a\u{0}").is_err());
    }

    #[test]
    fn modes_have_names() {
        assert_eq!(
            SignupMode::iter().map(Choice::name).collect::<Vec<_>>(),
            ["open", "invite", "apply", "closed"]
        );
        assert_eq!(
            (SignupMode::parse("apply"), SignupMode::Apply.to_string()),
            (Some(SignupMode::Apply), "apply".to_owned())
        );
        assert_eq!(SignupMode::parse("Open"), None);
    }
}
