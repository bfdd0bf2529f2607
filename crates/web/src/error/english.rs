//! English for programs and for the command line, whatever the language of the site is; and what sentences quote.

use super::{inputs, refusals, sentence_of};
use std::borrow::Cow;
use tidings_domain::values::{
    HostnameError, IdentityError, InputError, LogoError, NotAHook, NotBannable, PatternError, UrlError,
};
use tidings_domain::{Error, Refusal};
use tidings_language::Phrase;

/// An error in English, for the middle of a sentence: without a capital letter and a full stop. Errors of other kinds,
/// and those of the store, say it themselves.
pub fn in_english(error: &(dyn std::error::Error + 'static)) -> String {
    let known: [Option<Phrase<'_>>; 10] = [
        error.downcast_ref::<Error>().filter(|error| is_told(error)).map(sentence_of),
        error.downcast_ref::<Refusal>().map(refusals::refusal),
        error.downcast_ref::<InputError>().map(inputs::input),
        error.downcast_ref::<UrlError>().map(|error| inputs::url(*error)),
        error.downcast_ref::<HostnameError>().map(inputs::hostname),
        error.downcast_ref::<PatternError>().map(inputs::pattern),
        error.downcast_ref::<NotAHook>().map(inputs::hook),
        error.downcast_ref::<NotBannable>().map(|error| inputs::origin(*error)),
        error.downcast_ref::<IdentityError>().map(inputs::identity),
        error.downcast_ref::<LogoError>().map(|error| inputs::logo(*error)),
    ];
    known.into_iter().flatten().next().map_or_else(|| error.to_string(), |phrase| clause(&phrase))
}

/// Whether people read about an error on a page what operators read on the command line.
const fn is_told(error: &Error) -> bool {
    !matches!(error, Error::Store(_) | Error::Internal(_))
}

/// A sentence in English as a part of another one: with a small letter, unless it begins with an abbreviation, and
/// without the full stop.
fn clause(phrase: &Phrase<'_>) -> String {
    let sentence = phrase.in_english();
    let sentence = sentence.strip_suffix('.').unwrap_or(&sentence);
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), second) if !second.is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// A text of somebody at the end of a sentence, with a full stop if it has none.
pub(super) fn ended(text: &str) -> Cow<'_, str> {
    if text.ends_with(['.', '!', '?']) { text.into() } else { format!("{text}.").into() }
}

/// A typed text as it stands between quotation marks: without characters that cannot be shown.
pub(super) fn escaped(text: &str) -> String {
    let quoted = format!("{text:?}");
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_told_to_operators_as_a_clause() {
        for (error, clause) in [
            (&Error::Busy as &(dyn std::error::Error + 'static), "the site is very busy. Please try again"),
            (&Refusal::UsernameTaken, "this username is taken. Choose another"),
            (&Error::from(Refusal::SignupClosed), "sign-up is closed on this site"),
            (&Refusal::NoSuchTopic("a\n\"b".into()), r#"there is no topic "a\n\"b""#),
            (
                &LogoError::Svg,
                "SVG files are not accepted, because they can contain scripts. Use PNG, JPEG, WebP or GIF",
            ),
            (&Error::Internal("no hash".into()), "internal error: no hash"),
            (&std::fmt::Error, "an error occurred when formatting an argument"),
        ] {
            assert_eq!(in_english(error), clause);
        }
    }

    #[test]
    fn a_text_ends_with_one_full_stop() {
        for (text, expected) in [("spam", "spam."), ("spam.", "spam."), ("why?", "why?"), ("", ".")] {
            assert_eq!(ended(text), expected);
        }
    }
}
