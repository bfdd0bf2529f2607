//! Numbers and spans of time as people read them: "15,020", "15 hours".

use tidings_language::Tag;

pub use tidings_language::spans::{age, every, span, wait};

/// A whole number with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The same for a number that may be negative.
pub fn grouped_signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// "1 story", "15,020 stories".
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A text with a small first letter, for the middle of a sentence. In other languages than English, nouns may begin with a
/// capital letter.
pub fn decapitalized(text: &str) -> String {
    if *tidings_language::tag() != Tag::ENGLISH {
        return text.to_owned();
    }
    let mut rest = text.chars();
    rest.next().into_iter().flat_map(char::to_lowercase).chain(rest).collect()
}

/// The first eight words of a text, or less if those are long.
pub fn first_words(text: &str) -> String {
    const WORDS: usize = 8;
    const CHARACTERS: usize = 80;
    let mut words = text.split_whitespace();
    let mut first = words.by_ref().take(WORDS).collect::<Vec<_>>().join(" ");
    let long = first.char_indices().nth(CHARACTERS);
    if let Some((end, _)) = long {
        first.truncate(end);
    }
    if long.is_some() || words.next().is_some() {
        first.push('…');
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_first_words() {
        assert_eq!(first_words(" one  two\nthree "), "one two three");
        assert_eq!(first_words("1 2 3 4 5 6 7 8"), "1 2 3 4 5 6 7 8");
        assert_eq!(first_words("1 2 3 4 5 6 7 8 9"), "1 2 3 4 5 6 7 8…");
        assert_eq!(first_words(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
        assert_eq!(first_words(""), "");
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (15_020, "15,020"),
            (123_456, "123,456"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped_signed(-1_234), "-1,234");
        assert_eq!(grouped_signed(i64::MIN), "-9,223,372,036,854,775,808");
    }
}
