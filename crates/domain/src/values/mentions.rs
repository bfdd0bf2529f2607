//! The parts of a text: links, `@name`s, and the rest.

use crate::values::limits::{USERNAME_MAX, USERNAME_MIN};
use linkify::{LinkFinder, LinkKind};
use std::borrow::Cow;
use url::Url;

/// The prefix of a host that is a link without a scheme.
const WWW: &str = "www.";

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Plain text.
    Text(&'a str),
    /// An http or https URL, or a host that begins with `www.` and what follows it: see
    /// [`link_address`].
    Link(&'a str),
    /// The name of an `@name`, without the `@`. There may be no such
    /// user.
    Mention(&'a str),
}

/// Splits a text into pieces. Joined again, the pieces are the text.
///
/// Punctuation that ends a sentence is not part of a link, nor is a closing
/// parenthesis that was not opened within it. A mention is not within a word
/// (`mail@name` is none) nor within a link.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for piece in text_and_links(text) {
        match piece {
            Piece::Text(text) => split_mentions(text, &mut pieces),
            other => pieces.push(other),
        }
    }
    pieces
}

/// Splits a text without links into mentions and the rest.
pub fn text_and_mentions(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    split_mentions(text, &mut pieces);
    pieces
}

/// Splits a text into links and the rest.
pub fn text_and_links(text: &str) -> Vec<Piece<'_>> {
    let mut finder = LinkFinder::new();
    let has_www = text.as_bytes().windows(WWW.len()).any(|start| start.eq_ignore_ascii_case(WWW.as_bytes()));
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(!has_www);
    let mut pieces = Vec::new();
    // Neighbouring spans that are no links are one text: a mention's
    // surroundings must be seen.
    let mut start = 0;
    for link in finder.links(text).filter(|link| is_web_address(&link_address(link.as_str()))) {
        push_text(text, start, link.start(), &mut pieces);
        pieces.push(Piece::Link(link.as_str()));
        start = link.end();
    }
    push_text(text, start, text.len(), &mut pieces);
    pieces
}

/// The address that a link of a text leads to. One without a scheme, which begins with
/// `www.`, leads to the `http` address, as in the original; sites that have `https` redirect.
pub fn link_address(link: &str) -> Cow<'_, str> {
    if link.get(..WWW.len()).is_some_and(|start| start.eq_ignore_ascii_case(WWW)) {
        Cow::Owned(format!("http://{link}"))
    } else {
        Cow::Borrowed(link)
    }
}

/// Whether a browser would open it: the finder also knows other schemes, hosts without any,
/// and hosts that no browser accepts.
pub fn is_web_address(link: &str) -> bool {
    Url::parse(link).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty())
    })
}

fn push_text<'a>(text: &'a str, start: usize, end: usize, pieces: &mut Vec<Piece<'a>>) {
    if let Some(part) = text.get(start..end).filter(|part| !part.is_empty()) {
        pieces.push(Piece::Text(part));
    }
}

fn split_mentions<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) {
    let mut start = 0;
    for (at, _) in text.match_indices('@') {
        let (before, rest) = text.split_at(at);
        let name = name_at_start(rest.get(1..).unwrap_or_default());
        if name.is_empty() || before.chars().next_back().is_some_and(joins) {
            continue;
        }
        push_text(text, start, at, pieces);
        pieces.push(Piece::Mention(name));
        start = at + 1 + name.len();
    }
    push_text(text, start, text.len(), pieces);
}

/// Whether a character before an `@` makes it part of a word or an address.
fn joins(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '@' | '/')
}

/// The username that a text begins with; empty when it begins with none.
fn name_at_start(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_name = (USERNAME_MIN..=USERNAME_MAX).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        // `@name@example.org` is an address elsewhere, and `@nämlich` is no name.
        && !rest.starts_with(|next: char| next == '@' || next.is_alphanumeric());
    if is_name { name } else { "" }
}

/// The names that a text mentions, in lower case, each once, in their order.
pub fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for piece in pieces(text) {
        if let Piece::Mention(name) = piece {
            let name = name.to_ascii_lowercase();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mentions_are_found() {
        for (text, expected) in [
            ("@bob", vec!["bob"]),
            ("hello @bob, and (@Carol-x)!", vec!["bob", "carol-x"]),
            ("@bob @BOB @bob", vec!["bob"]),
            ("\"@bob\" '@bo_b' @bob's", vec!["bob", "bo_b"]),
            ("line\n@bob\n@carol", vec!["bob", "carol"]),
            ("a,@bob;@carol", vec!["bob", "carol"]),
            ("mail@bob a.b@bob x+y@bob _@bob", vec![]),
            (".@bob says", vec!["bob"]),
            ("@bob@example.org", vec![]),
            ("@@bob", vec![]),
            ("@ bob @1bob @_bob @b @", vec![]),
            ("é@bob @bobé", vec![]),
            ("日本語 @bob 日本語", vec!["bob"]),
            ("https://example.com/@bob http://a.com/?u=@bob", vec![]),
            ("https://example.com/ @bob", vec!["bob"]),
            ("twitter.com/@bob", vec![]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
        assert_eq!(names(&format!("@{} @{}", "a".repeat(32), "b".repeat(33))), ["a".repeat(32)]);
    }

    #[test]
    fn hosts_that_begin_with_www_are_links() {
        let links = |text| {
            let pieces = pieces(text);
            let link = |piece| match piece {
                Piece::Link(link) => Some(link),
                _ => None,
            };
            pieces.into_iter().filter_map(link).collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("www.example.com", vec!["www.example.com"]),
            ("see www.example.com/a?b=c#d.", vec!["www.example.com/a?b=c#d"]),
            ("(WWW.Example.com)", vec!["WWW.Example.com"]),
            ("http://www.example.com www.a.com", vec!["http://www.example.com", "www.a.com"]),
            ("www.a.com:8080/x, www.b.com", vec!["www.a.com:8080/x", "www.b.com"]),
            ("example.com a.www.example.com bob@www.example.com", vec![]),
            ("www www. www.. xwww.example.com", vec![]),
        ] {
            assert_eq!(links(text), expected, "{text}");
        }
        assert_eq!(link_address("Www.a.com/b"), "http://Www.a.com/b");
        assert_eq!(link_address("https://www.a.com"), "https://www.a.com");
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(text in "[a@ w.:/h\\-éB1\n]{0,40}") {
            let whole: String = pieces(&text).into_iter().map(|piece| match piece {
                Piece::Text(text) | Piece::Link(text) => text.to_owned(),
                Piece::Mention(name) => format!("@{name}"),
            }).collect();
            prop_assert_eq!(whole, text);
        }
    }
}
