//! How much room a stored text takes in a response, known before the response is made.
//!
//! Pages and lists are cut where their response would become too large. These are upper
//! bounds, in bytes, and cheap: they only look at each byte.

use super::limits::{MAX_SHOWN_FULL_NAME, MAX_SHOWN_TEXT_BYTES};

/// The markup of a link around its address, with room for `http://` before it.
const LINK_MARKUP: usize = 80;

/// The part of a text that is shown: all of it, unless another program stored more than
/// people may write here.
#[must_use]
pub fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_SHOWN_TEXT_BYTES)).unwrap_or(text)
}

/// The part of a full name that is shown.
#[must_use]
pub fn shown_name(name: &str) -> &str {
    name.char_indices().nth(MAX_SHOWN_FULL_NAME).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

/// The bytes of a text in HTML or XML, once escaped.
#[must_use]
pub fn escaped_bytes(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' => "&quot;".len(),
        b'&' => "&amp;".len(),
        b'<' | b'>' => "&lt;".len(),
        _ => 1,
    });
    bytes.sum()
}

/// The most bytes of a text in HTML when its addresses are links: each of them is there
/// twice.
#[must_use]
pub fn linked_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let before = |at: &usize| at.checked_sub(3).and_then(|start| bytes.get(start..*at));
    let is_www = |at: &usize| before(at).is_some_and(|part| part.eq_ignore_ascii_case(b"www"));
    let is_scheme = |at: &usize| bytes.get(*at..).is_some_and(|rest| rest.starts_with(b"://"));
    let schemes = memchr::memchr_iter(b':', bytes).filter(is_scheme).count();
    match schemes + memchr::memchr_iter(b'.', bytes).filter(is_www).count() {
        0 => escaped_bytes(text),
        links => 2 * escaped_bytes(text) + links * LINK_MARKUP,
    }
}

/// The bytes of a text in JSON, once escaped.
#[must_use]
pub fn json_bytes(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => "\\u0000".len(),
        _ => 1,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_up_to_a_bound_and_never_cut_within_a_character() {
        let longest = "x".repeat(MAX_SHOWN_TEXT_BYTES);
        assert_eq!(shown(&longest), longest);
        assert_eq!(shown(&format!("{longest}y")), longest);
        let long = format!("x{}", "é".repeat(MAX_SHOWN_TEXT_BYTES / 2));
        assert_eq!(shown(&long).len(), MAX_SHOWN_TEXT_BYTES - 1);
        let name = "é".repeat(MAX_SHOWN_FULL_NAME);
        assert_eq!(shown_name(&name), name);
        assert_eq!(shown_name(&format!("{name}x")), name);
    }

    #[test]
    fn text_in_json_is_as_long_as_the_bound_says() {
        for text in ["", "plain é", "\"quoted\" \\ \n\r\t", "\u{1}\u{1f}\u{7f}"] {
            assert_eq!(json_bytes(text) + 2, serde_json::json!(text).to_string().len(), "{text:?}");
        }
    }

    #[test]
    fn links_count_twice_and_with_their_markup() {
        assert_eq!(linked_bytes("a & \"b\" <c>"), "a &amp; &quot;b&quot; &lt;c&gt;".len());
        assert_eq!(linked_bytes("see HTTP://a.b"), 2 * "see HTTP://a.b".len() + LINK_MARKUP);
        assert_eq!(linked_bytes("WWW.a.b"), 2 * "WWW.a.b".len() + LINK_MARKUP);
    }
}
