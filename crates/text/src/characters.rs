//! Characters that no document may have, and those that can be seen.

use std::borrow::Cow;

/// Whether the character overrides, embeds or isolates a direction of writing.
/// The plain marks U+200E and U+200F are not among them: Arabic and Hebrew need them.
pub fn turns_direction(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character must not be in any document: a control character, or one of the two
/// noncharacters that XML forbids.
pub fn is_unprintable(character: char) -> bool {
    character.is_control() || matches!(character, '\u{FFFE}' | '\u{FFFF}')
}

/// The bytes of a text that [`printable_lines`] looks at together.
const LOOKED_AT: usize = 64;

/// A document, or a stored text of several lines, without what must not be in any document:
/// of the control characters only line breaks, as `\n`, and tabs stay. The usual text, which
/// has nothing of the kind, costs one look at each byte and is not copied.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    if !has_unprintable(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(text.replace(|c| is_unprintable(c) && !matches!(c, '\n' | '\t'), ""))
}

/// Whether a text has a character that [`printable_lines`] removes or replaces: a control character or a noncharacter.
/// Without a branch for each byte, the compiler compares many at once. Most chunks are plain ASCII on one line, which
/// takes the fewest comparisons.
fn has_unprintable(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    // The beginning of such a character and the two bytes after it.
    while let Some(chunk) = rest.first_chunk::<{ LOOKED_AT + 2 }>() {
        let (first, _) = chunk.split_at(LOOKED_AT);
        if first.iter().fold(false, |found, byte| found | !matches!(byte, 0x20..0x7F)) {
            let second = chunk.get(1..).unwrap_or_default();
            let third = chunk.get(2..).unwrap_or_default();
            let places = first.iter().zip(second).zip(third);
            if places.fold(false, |found, ((a, b), c)| found | begins_unprintable(*a, *b, *c)) {
                return true;
            }
        }
        rest = rest.get(LOOKED_AT..).unwrap_or_default();
    }
    let after = |bytes| rest.iter().skip(bytes).chain(&[0; 2]);
    rest.iter().zip(after(1)).zip(after(2)).any(|((a, b), c)| begins_unprintable(*a, *b, *c))
}

/// Whether a text that begins with these bytes begins with such a character.
const fn begins_unprintable(a: u8, b: u8, c: u8) -> bool {
    ((a < 0x20) & (a != b'\n') & (a != b'\t'))
        | (a == 0x7F)
        | ((a == 0xC2) & (b < 0xA0))
        | ((a == 0xEF) & (b == 0xBF) & (c >= 0xBE))
}

/// Whether the character is visible: a title of zero-width characters would be a
/// link that nobody can click.
pub fn is_visible(character: char) -> bool {
    !character.is_whitespace()
        && !character.is_control()
        && !turns_direction(character)
        && !matches!(
            character,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'
                ..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}'
                | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_texts_become_printable_wherever_the_character_is() {
        for (stored, shown) in [
            ("a\u{0}\tb\r\n\u{1B}[31mc\rd\n", "a\tb\n[31mc\nd\n"),
            ("\u{FFFE}a\u{FFFF}\u{80}\u{9F}\u{7F}", "a"),
        ] {
            assert_eq!(printable_lines(stored), shown);
        }
        for code in 0..=0xFFFF {
            let Some(character) = char::from_u32(code) else { continue };
            let is_kept = !is_unprintable(character) || "\n\t".contains(character);
            for before in [0, LOOKED_AT - 2, LOOKED_AT - 1] {
                for after in [0, LOOKED_AT] {
                    let text = format!("{}{character}{}", "x".repeat(before), "x".repeat(after));
                    let is_unchanged = matches!(printable_lines(&text), Cow::Borrowed(same) if same == text);
                    assert_eq!(is_unchanged, is_kept, "U+{code:04X} after {before}, before {after}");
                }
            }
        }
    }
}
