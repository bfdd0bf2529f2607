//! How much of a text is read, and how large it may become on a page: upper bounds, in bytes, and cheap, because
//! they only look at each byte.

/// The most bytes of a text that are shown whatever is in it: those of the longest comment or story, with
/// characters of four bytes. Imports may have longer ones, and other programs store them.
pub const MAX_SHOWN_TEXT_BYTES: usize = 4 * 4096;
/// The most bytes of a text that are shown if it has not too much markup: those of the longest import.
const MAX_LONG_TEXT_BYTES: usize = 64 * 1024;
/// Levels of quotes and lists in each other, and of emphasis, that a text has. Deeper ones
/// are shown as part of the level above.
pub const MAX_MARKUP_LEVELS: usize = 8;
/// The most bytes of a text on a page with its markup. A text that could take more, which only
/// one made for that purpose does, is shown without markup.
pub const MAX_MARKED_BYTES: usize = 6 * MAX_SHOWN_TEXT_BYTES;

/// The markup of a link, also within JSON, with room for `mailto:` before its address.
const LINK_MARKUP: usize = 80;

/// The part of a text that is shown: all of it, unless another program stored more than people may write or import
/// here, or a long text is nearly all markup. Then it ends before a word, and pages show [`CUT`] behind it.
pub fn shown(text: &str) -> &str {
    let is_short = text.len() <= MAX_SHOWN_TEXT_BYTES;
    if is_short || (text.len() <= MAX_LONG_TEXT_BYTES && is_marked(text)) {
        return text;
    }
    let start = text.get(..text.floor_char_boundary(MAX_SHOWN_TEXT_BYTES)).unwrap_or(text);
    match start.rfind(char::is_whitespace) {
        Some(end) if end > MAX_SHOWN_TEXT_BYTES / 2 => start.get(..end).unwrap_or(start),
        _ => start,
    }
}

/// The paragraph behind a text of which only the beginning is shown.
pub const CUT: &str = "<p>[…]</p>";

/// The bytes of an escaped quotation mark, the longest escape.
const ESCAPED_QUOTE: usize = 6;
/// The bytes of an escaped `&`.
const ESCAPED_AMPERSAND: usize = 5;
/// The bytes of an escaped `<` or `>`.
const ESCAPED_ANGLE: usize = 4;

/// The bytes of a text once it is escaped for a page or a feed.
pub fn escaped_bytes(text: &str) -> usize {
    let added = |byte: u8| match byte {
        b'"' => ESCAPED_QUOTE - 1,
        b'&' => ESCAPED_AMPERSAND - 1,
        b'<' | b'>' => ESCAPED_ANGLE - 1,
        _ => 0,
    };
    text.len() + text.bytes().map(added).sum::<usize>()
}

/// The most bytes of a comment or the text of a story on a page, or in the JSON of a page.
pub fn marked_bytes(text: &str) -> usize {
    match bytes_with_markup(text) {
        bytes if bytes <= MAX_MARKED_BYTES => bytes,
        _ => PARAGRAPH_MARKUP + CUT.len() + ESCAPED_QUOTE * text.len(),
    }
}

/// Whether the markup of a text becomes HTML. If not, it is shown as it was typed.
pub fn is_marked(text: &str) -> bool {
    bytes_with_markup(text) <= MAX_MARKED_BYTES
}

// The bytes that the tags of a page may take, also within JSON. A test of the web crate compares them with what it
// writes.

/// The tags of a paragraph.
const PARAGRAPH_MARKUP: usize = 7;
/// The tags of a block of code, with a line break, for each line.
const LINE_MARKUP: usize = 30;
/// The tags of a quotation.
const QUOTE_MARKUP: usize = 25;
/// The tags of a list and of its item.
const ITEM_MARKUP: usize = 18;
/// The same of a list with numbers, and the first of them.
const NUMBER_MARKUP: usize = 29;
/// Half of the tags of `_text_`: each tag has a character.
const EMPHASIS_MARKUP: usize = 5;
/// The same of a code span.
const CODE_MARKUP: usize = 7;

/// The most bytes of a text as HTML with markup: of each character that may be part of markup,
/// the share that the tags may have. A word with an address may be there twice.
fn bytes_with_markup(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut escaped, mut markup, mut links) = (0, LINE_MARKUP + CUT.len(), 0);
    let (mut twice, mut word, mut is_linked) = (0, 0, false);
    for (at, byte) in bytes.iter().enumerate() {
        let is_blank = byte.is_ascii_whitespace();
        if is_blank {
            twice += if is_linked { word } else { 0 };
            (word, is_linked) = (0, false);
        }
        if matches!(byte, b' ' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80..) {
            escaped += 1;
            word += usize::from(!is_blank);
            continue;
        }
        let before = || at.checked_sub(1).and_then(|before| bytes.get(before));
        let after = || bytes.get(at + 1);
        let bytes_of_it = match byte {
            b'"' | b'&' => ESCAPED_QUOTE,
            b'<' | b'>' | b'\t' => ESCAPED_ANGLE,
            // Three bytes in an address, and one in a text.
            b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'[' | b']' => 2,
            _ => 1,
        };
        escaped += bytes_of_it;
        word += if is_blank { 0 } else { bytes_of_it };
        markup += match byte {
            b'\n' => LINE_MARKUP,
            b'>' => QUOTE_MARKUP,
            b'-' | b'+' | b'*' if after().is_none_or(u8::is_ascii_whitespace) => ITEM_MARKUP,
            b'.' | b')' if before().is_some_and(u8::is_ascii_digit) => NUMBER_MARKUP,
            b'*' | b'_' => EMPHASIS_MARKUP,
            b'`' => CODE_MARKUP,
            _ => 0,
        };
        let may_link = match byte {
            b']' | b'@' => true,
            b':' => bytes.get(at..).is_some_and(|rest| rest.starts_with(b"://")),
            b'.' => {
                let www = at.checked_sub(3).and_then(|start| bytes.get(start..at));
                www.is_some_and(|www| www.eq_ignore_ascii_case(b"www"))
            }
            _ => false,
        };
        links += usize::from(may_link);
        is_linked |= may_link;
    }
    twice += if is_linked { word } else { 0 };
    escaped + twice + links * LINK_MARKUP + markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_up_to_a_bound_and_never_cut_within_a_character() {
        for longest in
            [">".repeat(MAX_SHOWN_TEXT_BYTES), "words of an import ".repeat(MAX_LONG_TEXT_BYTES / 19)]
        {
            assert_eq!(shown(&longest), longest);
        }
        let marked = ">".repeat(MAX_SHOWN_TEXT_BYTES);
        assert_eq!(shown(&format!("{marked}>")), marked);
        let words = "a word ".repeat(MAX_LONG_TEXT_BYTES / 7 + 1);
        let start = shown(&words);
        assert!(
            start.len() > MAX_SHOWN_TEXT_BYTES - 7 && (start.ends_with("word") || start.ends_with(" a")),
            "{start}"
        );
        assert_eq!(shown(start), start);
        let long = format!("x{}", "é".repeat(MAX_LONG_TEXT_BYTES / 2));
        assert_eq!(shown(&long).len(), MAX_SHOWN_TEXT_BYTES - 1);
    }

    #[test]
    fn markup_counts_where_it_may_be() {
        let plain = |text: &str| escaped_bytes(text) + LINE_MARKUP + CUT.len();
        for text in ["", "a <b>c</b", "well-known + 2*", "1986"] {
            let quotes = text.matches('>').count() * QUOTE_MARKUP;
            let marks = text.matches(['*', '+']).count() * ITEM_MARKUP;
            assert_eq!(marked_bytes(text), plain(text) + quotes + marks, "{text}");
        }
        let link = "HTTP://a.b".len();
        let always = LINE_MARKUP + CUT.len();
        assert_eq!(marked_bytes("see HTTP://a.b it"), 7 + 2 * link + LINK_MARKUP + always);
        assert_eq!(marked_bytes("WWW.a.b"), 2 * "WWW.a.b".len() + LINK_MARKUP + always);
        assert_eq!(marked_bytes("1. a\n- b"), 8 + always + LINE_MARKUP + NUMBER_MARKUP + ITEM_MARKUP);
    }

    #[test]
    fn a_text_with_too_much_markup_has_none() {
        let quotes = ">".repeat(MAX_SHOWN_TEXT_BYTES);
        assert!(!is_marked(&quotes) && marked_bytes(&quotes) <= MAX_MARKED_BYTES + 7 + CUT.len());
        let written = "> A **bold** claim, see <https://example.com/>\n\n- no\n".repeat(80);
        assert!(is_marked(&written));
    }
}
