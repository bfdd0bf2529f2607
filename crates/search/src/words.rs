//! Words of texts and of searches: without case and accents.
//!
//! A word is a run of letters and digits. Each character of a script without blanks is a word. An apostrophe within
//! a word is skipped. Names of programming languages and the like keep their signs: `C++`, `C#` and `.NET` are words
//! of their own, beside the plain one at the same position, so that a search for either finds what it should.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The longest word in characters; longer ones are no words of any language, and are cut off.
const LONGEST: usize = 64;

/// A word in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word without case and accents.
    pub text: String,
    /// Its number among the words; a word with signs has that of the plain one.
    pub position: usize,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
}

/// The words of a text, in their order.
pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut position = 0;
    let mut rest = text.char_indices().peekable();
    let mut before = None;
    while let Some((start, first)) = rest.next() {
        let earlier = before.replace(first);
        if !is_letter(first) {
            continue;
        }
        let mut end = start + first.len_utf8();
        if !stands_alone(first) {
            while let Some((at, next)) = rest.peek().copied() {
                let after = at + next.len_utf8();
                let joins =
                    is_apostrophe(next) && text[after..].starts_with(|c| is_letter(c) && !stands_alone(c));
                if !(is_letter(next) && !stands_alone(next) || is_combining_mark(next) || joins) {
                    break;
                }
                end = after;
                before = Some(next);
                rest.next();
            }
        }
        let plain = folded(&text[start..end]);
        if plain.is_empty() {
            continue;
        }
        let with_signs = |start: usize, end: usize, text: String| Word { text, position, start, end };
        words.push(with_signs(start, end, plain.clone()));
        let signs = text[end..].chars().take_while(|c| matches!(c, '+' | '#')).count();
        let is_joined = text[end + signs..].starts_with(is_letter);
        if (1..=2).contains(&signs) && !is_joined {
            words.push(with_signs(start, end + signs, format!("{plain}{}", &text[end..end + signs])));
        }
        if earlier == Some('.') && !text[..start - 1].ends_with(|c: char| is_letter(c) || c == '.') {
            words.push(with_signs(start - 1, end, format!(".{plain}")));
        }
        position += 1;
    }
    words
}

/// The words to look for: of those at one position the one with signs, which says most.
pub fn asked(text: &str) -> Vec<String> {
    let mut asked: Vec<String> = Vec::new();
    for word in words(text) {
        if word.position < asked.len() {
            asked.pop();
        }
        asked.push(word.text);
    }
    asked
}

/// The letters of a text, without case and accents.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.nfkd().filter(|c| is_letter(*c)).take(LONGEST) {
        match c {
            'ß' | 'ẞ' => folded.push_str("ss"),
            'ø' | 'Ø' => folded.push('o'),
            'ł' | 'Ł' => folded.push('l'),
            'đ' | 'Đ' => folded.push('d'),
            'ı' => folded.push('i'),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            c => folded.extend(c.to_lowercase().filter(|c| is_letter(*c))),
        }
    }
    folded
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
}

const fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// Whether a character is one of a script that puts no blanks between words.
const fn stands_alone(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{20000}'..='\u{3134F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn case_and_accents_are_dropped() {
        assert_eq!(texts("Crème BRÛLÉE, Straße don’t"), ["creme", "brulee", "strasse", "dont"]);
        assert_eq!(texts("e\u{301}te\u{301} ﬁn İstanbul Øre"), ["ete", "fin", "istanbul", "ore"]);
    }

    #[test]
    fn names_keep_their_signs() {
        assert_eq!(texts("C++ and C#"), ["c", "c++", "and", "c", "c#"]);
        assert_eq!(texts(".NET node.js a++b"), ["net", ".net", "node", "js", "a", "b"]);
        assert_eq!(asked("C++"), ["c++"]);
        assert_eq!(asked(".NET"), [".net"]);
        assert_eq!(asked("node.js"), ["node", "js"]);
        assert_eq!(asked("fs::read_to_string"), ["fs", "read", "to", "string"]);
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "«Été» in C++!";
        let found: Vec<&str> = words(text).iter().map(|word| &text[word.start..word.end]).collect();
        assert_eq!(found, ["Été", "in", "C", "C++"]);
        let positions: Vec<usize> = words(text).iter().map(|word| word.position).collect();
        assert_eq!(positions, [0, 1, 2, 2]);
    }

    #[test]
    fn scripts_without_blanks_are_found_by_their_parts() {
        assert_eq!(texts("東京都 2020年"), ["東", "京", "都", "2020", "年"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_words_within_it(text in ".*") {
            for word in words(&text) {
                proptest::prop_assert!(text.get(word.start..word.end).is_some());
                proptest::prop_assert!(!word.text.is_empty());
            }
        }

        #[test]
        fn a_word_is_its_own_word(text in "[a-zA-Z0-9äöÉßøŁœ.+# '’_-]*") {
            for word in words(&text).into_iter().filter(|word| word.text.chars().count() < LONGEST) {
                let again = asked(&word.text);
                proptest::prop_assert_eq!(again.concat(), word.text);
            }
        }
    }
}
