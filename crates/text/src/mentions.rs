//! The `@name`s in a text.

use crate::words::stands_alone;

/// The fewest characters in a username.
pub const USERNAME_MIN: usize = 2;
/// The most characters in a username.
pub const USERNAME_MAX: usize = 32;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamePiece<'a> {
    /// Plain text.
    Text(&'a str),
    /// The name of an `@name`, without the `@`. There may be no such user.
    Mention(&'a str),
}

/// Gives the pieces of a text in which nothing is a link. Joined again, they are the text.
///
/// A mention is not within a word (`mail@name` is none), but it may stand beside letters of a script that has no blanks
/// between words. `is_plain` tells of which `@`, by its place, no mention begins.
pub(crate) fn split_mentions<'a>(
    text: &'a str,
    is_plain: impl Fn(usize) -> bool,
    mut each: impl FnMut(NamePiece<'a>),
) {
    let mut start = 0;
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        let (before, rest) = text.split_at(at);
        let name = name_at_start(rest.get(1..).unwrap_or_default());
        if name.is_empty() || before.chars().next_back().is_some_and(joins) || is_plain(at) {
            continue;
        }
        if let Some(text) = text.get(start..at).filter(|text| !text.is_empty()) {
            each(NamePiece::Text(text));
        }
        each(NamePiece::Mention(name));
        start = at + 1 + name.len();
    }
    if let Some(text) = text.get(start..).filter(|text| !text.is_empty()) {
        each(NamePiece::Text(text));
    }
}

/// Whether a character before an `@` makes it part of a word or an address.
fn joins(character: char) -> bool {
    is_of_word(character) || matches!(character, '_' | '-' | '@' | '/')
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() && !stands_alone(character)
}

/// The username that a text begins with; empty when it begins with none.
fn name_at_start(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_name = (USERNAME_MIN..=USERNAME_MAX).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        // `@name@example.org` is an address elsewhere, and `@nämlich` is no name.
        && !rest.starts_with(|next: char| next == '@' || is_of_word(next));
    if is_name { name } else { "" }
}
