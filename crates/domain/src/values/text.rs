//! The text that people type, checked once where it comes in: a [`Title`] is always valid.
//!
//! Input that is too long is refused, never cut. Texts and comments can have line
//! breaks; other control characters are refused everywhere. Titles and usernames
//! cannot have characters that change the direction of the text, because these
//! affect the text around them.

use crate::values::text_forms::never_logged;
use crate::values::{
    MAX_ABOUT, MAX_COMMENT, MAX_FULL_NAME, MAX_IMPORTED_TEXT_BYTES, MAX_TEXT, MAX_TITLE, MAX_TOPIC_SENTENCE,
    MAX_TWEET, MAX_TWEET_BYTES, PASSWORD_MAX_BYTES, PASSWORD_MIN, STAFF_PASSWORD_MIN, USERNAME_MAX,
    USERNAME_MIN, lookalikes,
};
use unicode_segmentation::UnicodeSegmentation;

pub use tidings_text::characters::{is_unprintable, is_visible, printable_lines, turns_direction};

/// Why something that was typed is refused. `field` is the one that was being parsed.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum InputError {
    /// Nothing was typed, or nothing visible.
    Empty { field: &'static str },
    /// Fewer characters than the least that are allowed.
    TooShort { field: &'static str, least: usize },
    /// More characters than the most that are allowed.
    TooLong { field: &'static str, most: usize },
    /// More bytes than the most that are allowed.
    TooManyBytes { field: &'static str, most: usize },
    /// A control character, or one that changes the direction of the text, by its number.
    Control { field: &'static str, code: u32 },
    /// Letters of several scripts, some of which look the same.
    MixedScripts { field: &'static str },
    /// The first character of a username is not a letter.
    UsernameStart,
    /// A character that is not allowed in usernames.
    UsernameCharacter,
    /// A character that is not allowed in topics; `shown` is the name, cut short.
    TopicCharacter { field: &'static str, shown: String },
    /// More topics than the most that are allowed.
    TooManyTopics { field: &'static str, most: usize },
    /// The password is one of the most common.
    CommonPassword,
    /// The password is a name that everybody knows.
    NamePassword(KnownName),
    /// Not the form of an e-mail address.
    EmailForm,
    /// No mail can be sent to the part of an e-mail address before the `@`.
    EmailName,
    /// The part of an e-mail address after the `@`, cut short here, is not the name of a host.
    EmailDomain { shown: String },
}

/// A name that everybody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownName {
    /// The own username.
    Username,
    /// The name of the site, or its host.
    Site,
}

impl InputError {
    /// The field that was being parsed: usually its name, and `tweet` for a tweet.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Empty { field }
            | Self::TooShort { field, .. }
            | Self::TooLong { field, .. }
            | Self::TooManyBytes { field, .. }
            | Self::Control { field, .. }
            | Self::MixedScripts { field }
            | Self::TopicCharacter { field, .. }
            | Self::TooManyTopics { field, .. } => field,
            Self::UsernameStart | Self::UsernameCharacter => "username",
            Self::CommonPassword | Self::NamePassword(_) => "password",
            Self::EmailForm | Self::EmailName | Self::EmailDomain { .. } => "email",
        }
    }
}

/// The title of a story: one line of 1 to 80 visible characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Title(String);

impl Title {
    /// Trims and checks a title.
    ///
    /// # Errors
    /// When it is empty, too long, or has control or direction characters.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        line("title", input, MAX_TITLE).map(Self)
    }

    /// A title for a story that links to a page with this title: spaces and line breaks
    /// folded, without the characters that no title may have, and cut to [`MAX_TITLE`]
    /// characters. `None` if nothing visible is left.
    pub fn of_page(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let title = words.join(" ").replace(|c| is_unprintable(c) || turns_direction(c), "");
        let mut room = MAX_TITLE;
        let fitting = title.graphemes(true).take_while(|cluster| {
            let length = cluster.chars().count();
            let fits = length <= room;
            room = room.saturating_sub(length);
            fits
        });
        Self::parse(&fitting.collect::<String>()).ok()
    }
}

/// The text of a story or a comment: not empty, of limited length, with `\n` as line
/// break.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Body(String);

impl Body {
    /// Checks the text of a story, at most [`MAX_TEXT`] characters.
    ///
    /// # Errors
    /// When it is empty, too long, or has control characters.
    pub fn parse_text(input: &str) -> Result<Self, InputError> {
        lines("text", input, MAX_TEXT, 1).map(Self)
    }

    /// Checks a comment, at most [`MAX_COMMENT`] characters.
    ///
    /// # Errors
    /// When it is empty ([`InputError::Empty`], which in an edit means delete),
    /// too long, or has control characters.
    pub fn parse_comment(input: &str) -> Result<Self, InputError> {
        lines("comment", input, MAX_COMMENT, 1).map(Self)
    }

    /// Checks a text of another site, at most [`MAX_IMPORTED_TEXT_BYTES`] bytes.
    ///
    /// # Errors
    /// When it is empty, too long, or has control characters.
    pub fn parse_imported(input: &str) -> Result<Self, InputError> {
        const FIELD: &str = "text";
        let text = lines(FIELD, input, MAX_IMPORTED_TEXT_BYTES, 1)?;
        if text.len() > MAX_IMPORTED_TEXT_BYTES {
            return Err(InputError::TooManyBytes { field: FIELD, most: MAX_IMPORTED_TEXT_BYTES });
        }
        Ok(Self(text))
    }
}

/// The text of a user's profile. It can be empty or have several lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct About(String);

impl About {
    /// Checks the text of a profile, at most [`MAX_ABOUT`] characters.
    ///
    /// # Errors
    /// When it is too long or has control characters.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        lines("about", input, MAX_ABOUT, 0).map(Self)
    }
}

/// The text of a tweet: 1 to 280 characters, as a person counts them. It can have
/// several lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TweetText(String);

impl TweetText {
    /// Trims and checks a tweet. Its length is counted in grapheme clusters: an emoji
    /// with a skin tone is one. A cluster can have any number of bytes, so bytes are
    /// limited too, to [`MAX_TWEET_BYTES`].
    ///
    /// # Errors
    /// When it is empty, too long, or has control characters.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        const FIELD: &str = "tweet";
        // A shortcut for texts that are far too long.
        if input.len() > MAX_TWEET_BYTES * 2 {
            return Err(InputError::TooLong { field: FIELD, most: MAX_TWEET });
        }
        let text = lines(FIELD, input.trim(), MAX_TWEET_BYTES, 1)?;
        if text.graphemes(true).count() > MAX_TWEET {
            return Err(InputError::TooLong { field: FIELD, most: MAX_TWEET });
        }
        if text.len() > MAX_TWEET_BYTES {
            return Err(InputError::TooManyBytes { field: FIELD, most: MAX_TWEET_BYTES });
        }
        Ok(Self(text))
    }
}

/// The name that is shown beside a username: one line, possibly empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FullName(String);

impl FullName {
    /// Trims and checks a name of at most [`MAX_FULL_NAME`] characters.
    ///
    /// # Errors
    /// When it is too long, has control or direction characters, or mixes scripts.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        const FIELD: &str = "fullname";
        let name = line_or_nothing(FIELD, input, MAX_FULL_NAME)?;
        if !name.is_empty() && !lookalikes::has_one_script(&name) {
            return Err(InputError::MixedScripts { field: FIELD });
        }
        Ok(Self(name))
    }
}

/// The subject of a topic, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopicSentence(String);

impl TopicSentence {
    /// Trims and checks a sentence of at most [`MAX_TOPIC_SENTENCE`] characters. `None` for an
    /// empty one.
    ///
    /// # Errors
    /// When it is too long, or has line breaks, control or direction characters.
    pub fn parse(input: &str) -> Result<Option<Self>, InputError> {
        const FIELD: &str = "about";
        let text = input.trim();
        refuse_characters(FIELD, text, is_unfit_for_line)?;
        refuse_longer(FIELD, text, MAX_TOPIC_SENTENCE)?;
        Ok(text.chars().any(is_visible).then(|| Self(text.to_owned())))
    }
}

/// A username: a letter, then letters, digits, `_` and `-`, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Username(String);

impl Username {
    /// Checks a username. Nothing is trimmed: the whole input is the name.
    ///
    /// # Errors
    /// When its length or a character of it is not allowed.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        const FIELD: &str = "username";
        let Some(first) = input.chars().next() else {
            return Err(InputError::Empty { field: FIELD });
        };
        refuse_characters(FIELD, input, |c| c.is_control() || turns_direction(c))?;
        if !first.is_ascii_alphabetic() {
            return Err(InputError::UsernameStart);
        }
        if !input.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return Err(InputError::UsernameCharacter);
        }
        refuse_shorter(FIELD, input, USERNAME_MIN)?;
        refuse_longer(FIELD, input, USERNAME_MAX)?;
        Ok(Self(input.to_owned()))
    }
}

/// The name of the field of a password.
const PASSWORD: &str = "password";

/// Those of the 10,000 most common passwords that are long enough, or would be with digits after them, one a line, in
/// order and in lower case. They are from zxcvbn (MIT licence).
const COMMON_PASSWORDS: &str = include_str!("common_passwords.txt");

/// A new password: long enough, and not so long that hashing it is an attack.
/// Passwords that are only compared need no such check.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPassword(String);

impl NewPassword {
    /// Checks a password. Nothing is trimmed.
    ///
    /// # Errors
    /// When it has fewer than [`PASSWORD_MIN`] characters or more than
    /// [`PASSWORD_MAX_BYTES`] bytes, or is one of the most common, in any case, also with digits after it.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        refuse_shorter(PASSWORD, input, PASSWORD_MIN)?;
        if input.len() > PASSWORD_MAX_BYTES {
            return Err(InputError::TooManyBytes { field: PASSWORD, most: PASSWORD_MAX_BYTES });
        }
        let lower = input.to_lowercase();
        let word = without_digits(&lower);
        if COMMON_PASSWORDS.lines().any(|common| common == lower || common == word) {
            return Err(InputError::CommonPassword);
        }
        Ok(Self(input.to_owned()))
    }

    /// Refuses a password that is one of some names, in any case, with or without its blanks, also with digits after
    /// it.
    ///
    /// # Errors
    /// [`InputError::NamePassword`].
    pub fn demand_unlike(&self, names: &[(&str, KnownName)]) -> Result<(), InputError> {
        let folded = |text: &str| text.to_lowercase().split_whitespace().collect::<String>();
        let password = folded(&self.0);
        let is_name = |name: &str| {
            let name = folded(name);
            !name.is_empty() && (password == name || without_digits(&password) == name)
        };
        match names.iter().find(|(name, _)| is_name(name)) {
            Some((_, known)) => Err(InputError::NamePassword(*known)),
            None => Ok(()),
        }
    }

    /// Whether it is long enough for somebody with a role.
    ///
    /// # Errors
    /// When it has fewer than [`STAFF_PASSWORD_MIN`] characters.
    pub fn demand_of_staff(&self) -> Result<(), InputError> {
        refuse_shorter(PASSWORD, &self.0, STAFF_PASSWORD_MIN)
    }

    /// The password in clear, to be hashed.
    pub fn clear_text(&self) -> &str {
        &self.0
    }
}

/// A text without the digits at its end.
fn without_digits(text: &str) -> &str {
    text.trim_end_matches(|end: char| end.is_ascii_digit())
}

never_logged!(NewPassword);

text_values!(Title, Body, About, Username, TweetText, FullName, TopicSentence);

/// One line of visible text, trimmed.
pub(super) fn line(field: &'static str, input: &str, most: usize) -> Result<String, InputError> {
    let text = input.trim();
    refuse_characters(field, text, is_unfit_for_line)?;
    if !text.chars().any(is_visible) {
        return Err(InputError::Empty { field });
    }
    refuse_longer(field, text, most)?;
    Ok(text.to_owned())
}

/// A line of text, trimmed; empty if nothing in it is visible.
pub(super) fn line_or_nothing(field: &'static str, input: &str, most: usize) -> Result<String, InputError> {
    let text = input.trim();
    refuse_characters(field, text, |c| is_unfit_for_line(c) || is_direction_mark(c))?;
    refuse_longer(field, text, most)?;
    Ok(if text.chars().any(is_visible) { text.to_owned() } else { String::new() })
}

/// Text of several lines, with all line breaks changed to `\n`, without the blank lines around it: blanks at the start
/// of its first line may mean something.
pub(super) fn lines(
    field: &'static str,
    input: &str,
    most: usize,
    least: usize,
) -> Result<String, InputError> {
    let text = input.trim_end().replace("\r\n", "\n").replace('\r', "\n");
    let blank = text.len() - text.trim_start().len();
    let blank_lines = text.get(..blank).and_then(|blank| blank.rfind('\n')).map_or(0, |end| end + 1);
    let text = text.get(blank_lines..).unwrap_or_default().to_owned();
    refuse_characters(field, &text, |c| is_unprintable(c) && c != '\n' && c != '\t')?;
    if least > 0 && !text.chars().any(is_visible) {
        return Err(InputError::Empty { field });
    }
    refuse_longer(field, &text, most)?;
    Ok(text)
}

pub(super) fn refuse_characters(
    field: &'static str,
    text: &str,
    refused: impl Fn(char) -> bool,
) -> Result<(), InputError> {
    match text.chars().find(|c| refused(*c)) {
        Some(found) => Err(InputError::Control { field, code: u32::from(found) }),
        None => Ok(()),
    }
}

pub(super) fn refuse_longer(field: &'static str, text: &str, most: usize) -> Result<(), InputError> {
    if text.chars().count() > most { Err(InputError::TooLong { field, most }) } else { Ok(()) }
}

pub(super) fn refuse_shorter(field: &'static str, text: &str, least: usize) -> Result<(), InputError> {
    if text.chars().count() < least { Err(InputError::TooShort { field, least }) } else { Ok(()) }
}

/// Whether a character must not be in one line of text, such as a title: it is unprintable, ends a
/// line, or turns the direction of what follows.
pub fn is_unfit_for_line(character: char) -> bool {
    is_unprintable(character) || is_line_separator(character) || turns_direction(character)
}

/// A stored line of text, such as an imported title, without what must not be in any
/// document.
pub fn printable(text: String) -> String {
    if !text.contains(is_unprintable) {
        return text;
    }
    text.replace(is_unprintable, "")
}

/// A text of one or several lines as one line, of which [`printable`] removes nothing. So it is read
/// back exactly as it was stored.
pub fn one_line(text: &str) -> String {
    printable(text.replace(['\n', '\t'], " "))
}

/// Whether the character is an invisible mark of a direction.
pub(super) const fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{200E}' | '\u{200F}' | '\u{61C}')
}

pub(super) fn is_line_separator(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_passwords_are_refused_in_any_case_and_others_are_not() {
        assert!((3_000..10_000).contains(&COMMON_PASSWORDS.lines().count()));
        assert!(COMMON_PASSWORDS.lines().all(|common| common == common.to_lowercase()));
        let passwords = "password1 PassWord1 12345678 baseball password1234 Password20262026 dragon123456";
        for common in passwords.split(' ') {
            assert_eq!(NewPassword::parse(common), Err(InputError::CommonPassword), "{common}");
        }
        for other in ["correct horse", "passwords of mine 1", "1234-5678-90", "dragons in may 12"] {
            NewPassword::parse(other).unwrap();
        }
        let short = NewPassword::parse("password2-x").unwrap();
        assert_eq!(
            short.demand_of_staff(),
            Err(InputError::TooShort { field: "password", least: STAFF_PASSWORD_MIN })
        );
        NewPassword::parse("password2-xy").unwrap().demand_of_staff().unwrap();
    }

    #[test]
    fn the_sentence_of_a_topic_is_one_line() {
        let sentence = |text: &str| TopicSentence::parse(text).map(|sentence| sentence.map(|s| s.0));
        assert_eq!(sentence("  A <b> language. "), Ok(Some("A <b> language.".to_owned())));
        assert_eq!(sentence(" "), Ok(None));
        assert!(sentence(&"x".repeat(200)).is_ok());
        let too_long = InputError::TooLong { field: "about", most: 200 };
        assert_eq!(sentence(&"x".repeat(201)), Err(too_long));
        for bad in ["two\nlines", "a\u{2028}b", "a\u{202e}b", "a\u{0}b"] {
            assert!(sentence(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn titles_of_pages_are_folded_cleaned_and_cut() {
        let long = "é".repeat(100);
        // Two characters each, of which one is not cut off.
        let accents = format!("a{}", "e\u{301}".repeat(60));
        for (input, expected) in [
            ("A title", Some("A title")),
            (" A\n  title\u{2028}\tof\u{A0}three lines ", Some("A title of three lines")),
            ("a\u{202E}b\u{0}c\u{FFFE}d", Some("abcd")),
            ("", None),
            (" \n ", None),
            ("\u{200B}\u{0}", None),
            (&long, Some(&*"é".repeat(80))),
            (&accents, Some(&*format!("a{}", "e\u{301}".repeat(39)))),
        ] {
            let title = Title::of_page(input);
            assert_eq!(title.as_ref().map(Title::as_str), expected, "{input:?}");
        }
    }

    #[test]
    fn titles_are_trimmed_and_bounded() {
        let eighty = "é".repeat(80);
        let table: &[(&str, Result<&str, InputError>)] = &[
            ("  A title\n", Ok("A title")),
            ("<b>&amp;", Ok("<b>&amp;")),
            (&eighty, Ok(&eighty)),
            ("", Err(InputError::Empty { field: "title" })),
            (" \t\n ", Err(InputError::Empty { field: "title" })),
            ("\u{200B}\u{200D}", Err(InputError::Empty { field: "title" })),
            ("a\u{0}b", Err(InputError::Control { field: "title", code: 0x0000 })),
            ("a\nb", Err(InputError::Control { field: "title", code: 0x000A })),
            ("a\u{85}b", Err(InputError::Control { field: "title", code: 0x0085 })),
            ("a\u{FFFE}b", Err(InputError::Control { field: "title", code: 0xFFFE })),
            ("a\u{FFFF}b", Err(InputError::Control { field: "title", code: 0xFFFF })),
            ("a\u{FFFD}b", Ok("a\u{FFFD}b")),
            ("a\u{2028}b", Err(InputError::Control { field: "title", code: 0x2028 })),
            ("a\u{202E}b", Err(InputError::Control { field: "title", code: 0x202E })),
            ("a\u{2069}b", Err(InputError::Control { field: "title", code: 0x2069 })),
            ("שלום\u{200F}!", Ok("שלום\u{200F}!")),
        ];
        for (input, expected) in table {
            let parsed = Title::parse(input);
            let shown = parsed.as_ref().map(Title::as_str);
            assert_eq!(shown, expected.as_ref().map(|text| *text), "{input:?}");
        }
        let long = Title::parse(&"é".repeat(81)).unwrap_err();
        assert_eq!(long, InputError::TooLong { field: "title", most: 80 });
        assert!(Title::parse(&format!("  {eighty}  ")).is_ok());
    }

    #[test]
    fn stored_lines_become_printable() {
        for (stored, shown) in [
            ("plain é \u{202E}", "plain é \u{202E}"),
            ("a\u{0}b\u{1B}[31mc", "ab[31mc"),
            ("\u{FFFE}a\u{FFFF}\u{85}\n", "a"),
        ] {
            assert_eq!(printable(stored.to_owned()), shown);
        }
    }

    #[test]
    fn bodies_keep_their_lines() {
        let table: &[(&str, Result<&str, InputError>)] = &[
            ("one\r\ntwo\rthree\nfour", Ok("one\ntwo\nthree\nfour")),
            // Blanks of the first line may make it code.
            ("\n  a\n\n\tb \n", Ok("  a\n\n\tb")),
            (" \r\n\u{3000}\n\t\r\n    a\n    b\n\n ", Ok("    a\n    b")),
            ("\u{3000}a", Ok("\u{3000}a")),
            ("", Err(InputError::Empty { field: "comment" })),
            ("\r\n \t", Err(InputError::Empty { field: "comment" })),
            ("\u{200B}", Err(InputError::Empty { field: "comment" })),
            ("a\u{7}b", Err(InputError::Control { field: "comment", code: 0x0007 })),
            ("a\u{7F}b", Err(InputError::Control { field: "comment", code: 0x007F })),
            ("a\u{FFFF}b", Err(InputError::Control { field: "comment", code: 0xFFFF })),
        ];
        for (input, expected) in table {
            let parsed = Body::parse_comment(input);
            let shown = parsed.as_ref().map(Body::as_str);
            assert_eq!(shown, expected.as_ref().map(|text| *text), "{input:?}");
        }
    }

    #[test]
    fn bodies_are_bounded_in_characters_after_line_breaks_are_made_one() {
        let most = "é\r\n".repeat(2047) + "éé";
        assert_eq!(Body::parse_text(&most).unwrap().as_str().chars().count(), 4096);
        let text = Body::parse_text(&"é".repeat(4097)).unwrap_err();
        assert_eq!(text, InputError::TooLong { field: "text", most: 4_096 });
        let comment = Body::parse_comment(&"é".repeat(4097)).unwrap_err();
        assert_eq!(comment, InputError::TooLong { field: "comment", most: 4_096 });
    }

    #[test]
    fn tweets_are_counted_as_a_person_counts() {
        // A family of four, a flag, a letter with two accents, a line break.
        for cluster in ["👨‍👩‍👧‍👦", "🇩🇪", "e\u{301}\u{323}", "🧑🏽"] {
            let longest = cluster.repeat(4096 / cluster.len()).chars().collect::<String>();
            let count = longest.graphemes(true).count().min(280);
            let text = cluster.repeat(count);
            assert_eq!(TweetText::parse(&text).unwrap().as_str(), text, "{cluster}");
        }
        assert!(TweetText::parse(&"é".repeat(280)).is_ok());
        let long = TweetText::parse(&"é".repeat(281)).unwrap_err();
        assert_eq!(long, InputError::TooLong { field: "tweet", most: 280 });
        let heavy = format!("e{}", "\u{301}".repeat(2048));
        assert_eq!(
            TweetText::parse(&heavy).unwrap_err(),
            InputError::TooManyBytes { field: "tweet", most: 4_096 }
        );
        let huge = "\u{301}".repeat(100_000);
        assert_eq!(TweetText::parse(&huge).unwrap_err(), InputError::TooLong { field: "tweet", most: 280 });
        assert_eq!(TweetText::parse(" a\r\n\r\nb \n").unwrap().as_str(), "a\n\nb");
        for empty in ["", " \n ", "\u{200B}"] {
            assert_eq!(TweetText::parse(empty).unwrap_err(), InputError::Empty { field: "tweet" });
        }
        assert!(TweetText::parse("a\u{0}").is_err());
    }

    #[test]
    fn a_full_name_is_one_line_or_none() {
        for (input, name) in [(" Bob  Marley ", "Bob  Marley"), ("", ""), ("\u{200B}", ""), ("鈴木", "鈴木")]
        {
            assert_eq!(FullName::parse(input).unwrap().as_str(), name);
        }
        assert!(FullName::parse(&"é".repeat(50)).is_ok());
        let long = FullName::parse(&"é".repeat(51)).unwrap_err();
        assert_eq!(long, InputError::TooLong { field: "fullname", most: 50 });
        for input in ["a\nb", "a\u{202E}b"] {
            assert!(FullName::parse(input).is_err(), "{input:?}");
        }
    }

    #[test]
    fn about_may_be_empty() {
        assert_eq!(About::parse("  ").unwrap().as_str(), "");
        assert_eq!(About::parse("a\r\nb").unwrap().as_str(), "a\nb");
        let long = About::parse(&"x".repeat(4097)).unwrap_err();
        assert_eq!(long, InputError::TooLong { field: "about", most: 4_096 });
        assert!(About::parse("a\u{1}").is_err());
    }

    #[test]
    fn usernames_are_a_letter_then_letters_digits_and_two_signs() {
        for name in ["ab", "Ab-9_", "a".repeat(32).as_str()] {
            assert_eq!(Username::parse(name).unwrap().as_str(), name);
        }
        let table = [
            ("", InputError::Empty { field: "username" }),
            ("a", InputError::TooShort { field: "username", least: 2 }),
            ("9a", InputError::UsernameStart),
            ("_a", InputError::UsernameStart),
            ("-a", InputError::UsernameStart),
            ("éa", InputError::UsernameStart),
            ("aé", InputError::UsernameCharacter),
            ("a b", InputError::UsernameCharacter),
            ("ab ", InputError::UsernameCharacter),
            ("a:b", InputError::UsernameCharacter),
            ("ab\n", InputError::Control { field: "username", code: 0x000A }),
            ("ab\ncd", InputError::Control { field: "username", code: 0x000A }),
            ("ab\u{202E}", InputError::Control { field: "username", code: 0x202E }),
        ];
        for (input, expected) in table {
            assert_eq!(Username::parse(input).unwrap_err(), expected, "{input:?}");
        }
        let long = Username::parse(&"a".repeat(33)).unwrap_err();
        assert_eq!(long, InputError::TooLong { field: "username", most: 32 });
    }

    #[test]
    fn new_passwords_are_bounded_below_in_characters_and_above_in_bytes() {
        assert_eq!(
            NewPassword::parse("ééééééé").unwrap_err(),
            InputError::TooShort { field: "password", least: 8 }
        );
        assert_eq!(NewPassword::parse("éééééééé").unwrap().clear_text(), "éééééééé");
        assert!(NewPassword::parse(&"é".repeat(512)).is_ok());
        let long = NewPassword::parse(&("é".repeat(512) + "x")).unwrap_err();
        assert_eq!(long, InputError::TooManyBytes { field: "password", most: 1_024 });
    }

    #[test]
    fn a_password_is_no_name() {
        let names =
            [("gardener", KnownName::Username), ("The Garden Site", KnownName::Site), ("", KnownName::Site)];
        for password in ["gardener", "GARDENER", "gardener2026", "the garden site", "TheGardenSite1"] {
            let refused = NewPassword::parse(password).unwrap().demand_unlike(&names);
            assert!(matches!(refused, Err(InputError::NamePassword(_))), "{password}");
        }
        for password in ["gardeners", "my gardener", "gardener-x"] {
            assert_eq!(NewPassword::parse(password).unwrap().demand_unlike(&names), Ok(()), "{password}");
        }
    }

    #[test]
    fn a_password_is_not_in_its_debug_form() {
        let password = NewPassword::parse("correct horse").unwrap();
        assert_eq!(format!("{password:?}"), "NewPassword(***)");
    }
}
