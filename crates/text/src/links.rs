//! Bare addresses in a text: those that begin with `http://`, `https://` or `www.`, and hosts without any of these,
//! which pages do not link but readers see.

use crate::address::{WWW, begins_with, is_web_address, link_address};
use crate::words::stands_alone;
use std::borrow::Cow;
use std::ops::Range;

/// A part of a text in which only bare addresses are links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Plain text.
    Text(&'a str),
    /// An http or https URL, or a host that begins with `www.` and what follows it: see
    /// [`link_address`].
    Link(&'a str),
}

/// Splits a text into links and the rest. Joined again, the pieces are the text.
///
/// An address ends at white space, quotation marks, and the punctuation of Chinese and Japanese. Punctuation that ends
/// a sentence is not part of it, nor is a closing bracket that was not opened within it.
pub fn text_and_links(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while let Some(link) = next_link(text, start, false) {
        pieces.extend(text.get(start..link.start).filter(|part| !part.is_empty()).map(Piece::Text));
        pieces.extend(text.get(link.clone()).map(Piece::Link));
        start = link.end;
    }
    pieces.extend(text.get(start..).filter(|part| !part.is_empty()).map(Piece::Text));
    pieces
}

/// The next bare address from a place on. `has_escapes` tells whether a backslash before punctuation
/// makes it an ordinary character.
pub(crate) fn next_link(text: &str, from: usize, has_escapes: bool) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    for found in memchr::memchr2_iter(b':', b'.', bytes.get(from..)?) {
        let at = from + found;
        let start = match bytes.get(at) {
            Some(b':') => start_of_scheme(text, from, at),
            _ => start_of_www(text, from, at),
        };
        let Some((start, authority)) = start else { continue };
        let is_link = |end: usize| {
            let link = text.get(start..end).unwrap_or_default();
            let link = if has_escapes { unescaped(link) } else { Cow::Borrowed(link) };
            is_web_address(&link_address(&link)) && (!begins_with(&link, WWW) || is_long_host(&link))
        };
        // The path is read once there is a host, so that reading takes time in proportion to the text.
        if is_link(end_of_authority(text, authority, has_escapes)) {
            let end = end_of_address(text, authority, has_escapes);
            if is_link(end) {
                return Some(start..end);
            }
        }
    }
    None
}

/// Whether a host that begins with `www.` has a last label of letters.
fn is_long_host(link: &str) -> bool {
    let host = link.split(['/', '?', '#', ':', '\\']).next().unwrap_or_default();
    host.get(WWW.len()..).is_some_and(|host| is_host(host.trim_end_matches('.'), 1))
}

/// The end of the host of an address, or of its port, without the punctuation after it.
fn end_of_authority(text: &str, authority: usize, has_escapes: bool) -> usize {
    let rest = text.get(authority..).unwrap_or_default();
    let ip = ip_length(rest);
    let escapes = |c: char| has_escapes && c == '\\';
    let after = rest.get(ip..).unwrap_or_default();
    let length = after.find(|c: char| !is_of_authority(c) && !escapes(c)).unwrap_or(after.len());
    let host = after.get(..length).unwrap_or_default().trim_end_matches(['.', ':', '!', '\\']);
    authority + ip + host.len()
}

/// The length of the IPv6 address, with its brackets, that a text begins with.
fn ip_length(text: &str) -> usize {
    let inner = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(inner, _)| inner);
    let is_ip = |inner: &&str| inner.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
    inner.filter(is_ip).map_or(0, |inner| inner.len() + 2)
}

/// Whether a text is labels with dots between them, at least so many, and the last one is no number or letter.
fn is_host(host: &str, labels: usize) -> bool {
    let is_last = |label: &str| label.chars().nth(1).is_some() && label.contains(char::is_alphabetic);
    host.split('.').all(|label| !label.is_empty())
        && host.split('.').count() >= labels
        && host.rsplit('.').next().is_some_and(is_last)
}

/// The beginnings of the scheme before a colon, and of what follows the slashes after it.
fn start_of_scheme(text: &str, from: usize, colon: usize) -> Option<(usize, usize)> {
    let rest = text.get(colon..)?.strip_prefix("://")?;
    // Without a host, a browser would take the path for one.
    if rest.starts_with(['/', '\\', '?', '#']) {
        return None;
    }
    let before = text.get(from..colon)?;
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let scheme = before.get(before.trim_end_matches(is_of_scheme).len()..)?;
    let scheme = scheme.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let is_known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    is_known.then(|| (colon - scheme.len(), colon + "://".len()))
}

/// The beginning of a `www` before a dot, and of what follows the dot.
fn start_of_www(text: &str, from: usize, dot: usize) -> Option<(usize, usize)> {
    let start = (dot + 1).checked_sub(WWW.len()).filter(|start| *start >= from)?;
    if !begins_with(text.get(start..)?, WWW) {
        return None;
    }
    let before = text.get(..start)?.chars().next_back();
    let joins =
        |c: char| c.is_alphanumeric() && !stands_alone(c) || matches!(c, '.' | '-' | '_' | '@' | '/' | ':');
    (!before.is_some_and(joins)).then_some((start, dot + 1))
}

/// Brackets that are part of an address if both are.
const BRACKETS: [(char, char); 16] = [
    ('(', ')'),
    ('[', ']'),
    ('{', '}'),
    ('（', '）'),
    ('［', '］'),
    ('｛', '｝'),
    ('「', '」'),
    ('『', '』'),
    ('【', '】'),
    ('〈', '〉'),
    ('《', '》'),
    ('〔', '〕'),
    ('〖', '〗'),
    ('〘', '〙'),
    ('〚', '〛'),
    ('｢', '｣'),
];

/// Whether no address has a character as it is: white space, an invisible character, a quotation mark, an angle
/// bracket, or punctuation of Chinese and Japanese.
fn ends_address(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || "\"<>`“”„‟«»‹›〝〞〟＂⟨⟩⟪⟫。、，！？：；｡､".contains(character)
        || matches!(character, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
        || matches!(character, '\u{FFF9}'..='\u{FFFF}')
}

/// Whether a character can be in the host of an address, before it or in its port.
fn is_of_authority(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || "-._~%:@".contains(character);
    }
    !ends_address(character)
        && !BRACKETS.iter().any(|(open, close)| [*open, *close].contains(&character))
        && !matches!(character, '\u{2010}'..='\u{206F}' | '\u{3000}'..='\u{3003}' | '\u{3008}'..='\u{3020}')
        && (character == '．' || !matches!(character, '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}'))
        && !matches!(character, '\u{FF3B}'..='\u{FF40}' | '\u{FF5B}'..='\u{FF65}')
}

/// Where an address ends whose authority begins at a place; that place if it has none.
fn end_of_address(text: &str, authority: usize, has_escapes: bool) -> usize {
    let mut end = authority;
    let mut open = [0_u16; BRACKETS.len()];
    let mut quotes = 0_u16;
    let mut is_in_authority = true;
    let mut is_escaped = false;
    let rest = text.get(authority..).unwrap_or_default();
    let skipped = ip_length(rest);
    end += skipped;
    for (at, character) in rest.get(skipped..).unwrap_or_default().char_indices() {
        let at = authority + skipped + at;
        let after = at + character.len_utf8();
        if ends_address(character) {
            break;
        }
        let escapes = |next: char| next.is_ascii_punctuation() && !ends_address(next);
        if has_escapes && !is_escaped && character == '\\' {
            if text.get(after..).is_some_and(|rest| rest.starts_with(escapes)) {
                is_escaped = true;
                continue;
            }
            // A character that no address has ends it, also after a backslash.
            if text.get(after..).is_some_and(|rest| rest.starts_with(ends_address)) {
                break;
            }
        }
        let was_escaped = std::mem::take(&mut is_escaped);
        if is_in_authority && !matches!(character, '/' | '?' | '#' | '\\') {
            if !is_of_authority(character) {
                break;
            }
        } else {
            is_in_authority = false;
        }
        let bracket = BRACKETS
            .iter()
            .zip(&mut open)
            .find(|((open, close), _)| character == *open || character == *close);
        let can_be_last = match (bracket, character) {
            (Some(_), _) if was_escaped => true,
            (Some(((first, _), count)), _) if character == *first => {
                *count += 1;
                false
            }
            (Some((_, 0)), _) => break,
            (Some((_, count)), _) => {
                *count -= 1;
                true
            }
            (None, '\'') => {
                quotes += 1;
                quotes.is_multiple_of(2)
            }
            (
                None,
                '?' | '!' | '.' | ',' | ':' | ';' | '*' | '\\' | '‘' | '’' | '‚' | '‛' | '…' | '‥' | '—'
                | '–',
            ) => was_escaped && character != '\\',
            (None, _) => true,
        };
        if can_be_last {
            end = after;
        }
    }
    end
}

/// A part of a formatted text without the backslashes that make the punctuation after them ordinary.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = characters.next_if(|next| character == '\\' && next.is_ascii_punctuation());
        plain.push(escaped.unwrap_or(character));
    }
    Cow::Owned(plain)
}

/// The hosts in a text without links, each with what follows it up to the end of the address. Beside letters of a
/// script without blanks, a host is given with them and without them.
pub(crate) fn bare_hosts(text: &str) -> Vec<&str> {
    let mut found = bare_hosts_of(text, |c| c.is_alphanumeric() || c == '-' || c == '_');
    if text.contains(stands_alone) {
        found
            .extend(bare_hosts_of(text, |c| c.is_alphanumeric() && !stands_alone(c) || c == '-' || c == '_'));
    }
    found
}

fn bare_hosts_of(text: &str, is_of_label: impl Fn(char) -> bool) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    for dot in memchr::memchr_iter(b'.', text.as_bytes()) {
        if dot < from {
            continue;
        }
        let before = text.get(from..dot).unwrap_or_default();
        let start = from + before.trim_end_matches(&is_of_label).len();
        if start == dot {
            continue;
        }
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.find(|c: char| c != '.' && !is_of_label(c)).unwrap_or(rest.len());
        let host = rest.get(..length).unwrap_or_default();
        let host = host.split("..").next().unwrap_or_default().trim_end_matches('.');
        from = start + host.len();
        let after = text.get(from..).unwrap_or_default();
        let is_followed = after.starts_with(['/', '?', '#', ':']);
        let is_of_mail =
            after.starts_with('@') || !is_followed && text.get(..start).is_some_and(|b| b.ends_with('@'));
        if !is_host(host, 2) || is_of_mail {
            continue;
        }
        let end = if is_followed { end_of_address(text, start, false).max(from) } else { from };
        found.extend(text.get(start..end));
        from = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn links(text: &str) -> Vec<&str> {
        let link = |piece| match piece {
            Piece::Link(link) => Some(link),
            Piece::Text(_) => None,
        };
        text_and_links(text).into_iter().filter_map(link).collect()
    }

    #[test]
    fn addresses_are_found_with_all_that_belongs_to_them() {
        let same: [&str; 16] = [
            "http://example.com/a",
            "HTTPS://Example.com",
            "https://example.com#frag",
            "http://example.com?a=b#c/d",
            "http://президент.рф",
            "https://例子.中国/x",
            "http://हिन्दी.भारत/",
            "http://a_b.example.com/x",
            "http://xn--bcher-kva.example:8080/ü",
            "http://[2001:db8::1]:80/x",
            "http://127.0.0.1:8080/",
            "http://user:secret@example.com/",
            "http://example.com/wiki_(x)/【y】",
            "http://example.com/a|b",
            "http://example.com/a_'so'",
            "www.a.com:8080/x?b=c#d",
        ];
        for address in same {
            assert_eq!(links(address), [address]);
            // White space, quotation marks, brackets and punctuation of all scripts are around it.
            let around = [
                ("", "\u{3000}後"),
                ("", "\u{a0}x"),
                ("", "\u{2003}x"),
                ("", "\u{2028}x"),
                ("", "\u{200b}x"),
                ("「", "」という"),
                ("«", "» dit-il"),
                ("»", "« sagt sie"),
                ("“", "”x"),
                ("„", "“x"),
                ("（", "）と"),
                ("見て", "。次"),
                ("看，", "，然后"),
                ("", "、x"),
                ("", "！真的"),
                ("", "?"),
                ("", "...\n"),
                ("(", ")."),
                ("\"", "\"x"),
                ("", ": x"),
                ("‘", "’ x"),
                ("", "…"),
                ("【", "】x"),
                ("<", ">x"),
            ];
            for (before, after) in around {
                assert_eq!(links(&format!("{before}{address}{after}")), [address], "{before} {after}");
            }
        }
        for (text, expected) in [
            ("http://www.example.com www.a.com", vec!["http://www.example.com", "www.a.com"]),
            ("www.a.com:8080/x, www.b.com", vec!["www.a.com:8080/x", "www.b.com"]),
            ("(WWW.Example.com)", vec!["WWW.Example.com"]),
            ("spam.example/?u=http://x", vec!["http://x"]),
            ("www.spam.example/a?b=http://c", vec!["www.spam.example/a?b=http://c"]),
            ("http://a.com(the site) http://b.com*", vec!["http://a.com", "http://b.com"]),
            ("http://a.com!x http://", vec!["http://a.com"]),
            ("请看www.example.com/a吧", vec!["www.example.com/a吧"]),
        ] {
            assert_eq!(links(text), expected, "{text}");
        }
        for text in [
            "example.com a.www.example.com bob@www.example.com ftp://www.example.com",
            "www www. www.. www.a www.1.2 xwww.example.com",
            "xhttp://example.com/a javascript://a.com/%0aalert(1) http:///path http://?a",
            "http://%/ http://[::zz]/",
        ] {
            assert_eq!(links(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn hosts_without_a_scheme_are_seen() {
        for (text, expected) in [
            ("see spam.example/a?b=http://c, it", vec!["spam.example/a?b=http://c"]),
            ("Spam.Example, b.example.", vec!["Spam.Example", "b.example"]),
            ("..spam.example..b.example", vec!["spam.example", "b.example"]),
            ("spam.example:8080/x (b.example)", vec!["spam.example:8080/x", "b.example"]),
            ("bob@spam.example spam.example@x e.g. 1.95 v1.2.3 a.", vec![]),
            ("x@spam.example/a xhttp://b.example/c", vec!["spam.example/a", "b.example/c"]),
        ] {
            assert_eq!(bare_hosts(text), expected, "{text}");
        }
        assert!(bare_hosts("看spam.example吧").contains(&"spam.example"));
    }

    #[test]
    fn reading_takes_time_in_proportion_to_the_text() {
        for part in [
            "http://",
            "http://%/",
            "http://a",
            "www.",
            "www.a",
            "www.a.b(",
            "a.b",
            "http://u:p@!",
            "\\(http://a/",
            "。www.",
        ] {
            let text = part.repeat(400_000 / part.len());
            assert!(text_and_links(&text).len() < text.len() && bare_hosts(&text).len() < text.len());
        }
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(text in "([a@ w.:/h\\\\(\\-éB1\n」。\u{3000}]|http://|www\\.){0,40}") {
            let whole: String = text_and_links(&text).into_iter().map(|piece| match piece {
                Piece::Text(text) | Piece::Link(text) => text,
            }).collect();
            prop_assert_eq!(whole, text.clone());
            let mut from = 0;
            while let Some(link) = next_link(&text, from, true) {
                prop_assert!(link.start >= from && link.end > link.start);
                from = link.end;
            }
            for host in bare_hosts(&text) {
                prop_assert!(text.contains(host));
            }
        }
    }
}
