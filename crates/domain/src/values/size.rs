//! How much room a stored text takes in a response, known before the response is made.
//!
//! Pages and lists are cut where their response would become too large. These are upper
//! bounds, in bytes, and cheap: they only look at each byte.

use super::limits::{MAX_MESSAGE, MAX_SHOWN_FULL_NAME};

pub use tidings_text::bounds::{escaped_bytes, is_marked, marked_bytes, shown};

/// The same of a message to or from the moderators, which may be longer.
pub fn shown_message(text: &str) -> &str {
    text.get(..text.floor_char_boundary(4 * MAX_MESSAGE)).unwrap_or(text)
}

/// The part of a full name that is shown.
pub fn shown_name(name: &str) -> &str {
    name.char_indices().nth(MAX_SHOWN_FULL_NAME).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

/// The most bytes of the name of an author, or of what stands for that of a deactivated account,
/// where a page has it: escaped, or encoded in an address.
pub fn name_bytes(name: Option<&str>) -> usize {
    let Some(name) = name else { return "[deleted user]".len() };
    let encoded =
        |byte: u8| if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) { 1 } else { "%20".len() };
    escaped_bytes(name).max(name.bytes().map(encoded).sum())
}

/// The bytes of a text in JSON, once escaped.
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
    fn a_name_is_shown_up_to_a_bound() {
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
}
