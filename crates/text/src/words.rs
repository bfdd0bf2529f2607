//! The words of a text, without case and accents: the same for search, mutes and phrase rules.
//!
//! Texts are divided as Unicode says (UAX 29), and further at every sign within what that leaves together, so that
//! `node.js` and `read_to_string` are found by their parts. Scripts that put no blanks between words (Han, kana, Thai
//! and their kin), and Hangul, whose endings stick to their words, are divided into their characters, so that a word is
//! a phrase of them. A word with apostrophes is one word without them; the part behind each apostrophe is a word at the
//! same position, so that `ordinateur` finds `l'ordinateur`. Names of programming languages keep their signs: `C++`,
//! `C#` and `.NET` are words beside the plain one. An emoji is a word.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// A number for how words are made. Whatever keeps words of texts must read the texts again when it changes.
pub const VERSION: u32 = 1;

/// The longest word in characters; longer ones are no words of any language, and are cut off.
const LONGEST: usize = 64;
/// The most parts behind apostrophes that are words too.
const MOST_PARTS: usize = 3;
/// The marks of kana that make another letter.
const VOICED: [char; 2] = ['\u{3099}', '\u{309A}'];

/// A word in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word without case and accents.
    pub text: String,
    /// Its number among the words. A part behind an apostrophe, and a word with signs, have that of the plain one.
    pub position: usize,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// How it belongs to its position.
    pub form: Form,
}

/// How a word belongs to its position, where there may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// All of it, without apostrophes and signs.
    Plain,
    /// The part behind an apostrophe.
    Part,
    /// The plain word with its signs.
    Signed,
}

/// The words of a text, in their order.
pub fn words(text: &str) -> Vec<Word> {
    let mut found = Found { text, words: Vec::new(), position: 0 };
    let mut start = 0;
    // Most texts are ASCII, where the rules of Unicode leave together what this finds itself.
    while start < text.len() {
        let rest = &text[start..];
        let end = rest.find(|c: char| !c.is_ascii()).map_or(text.len(), |at| begin_of_run(text, start + at));
        found.runs(start, end);
        let other = text[end..].find(|c: char| c.is_ascii() && !is_joined_to_neighbours(c));
        let until = other.map_or(text.len(), |at| end + at);
        for (at, segment) in text[end..until].split_word_bound_indices() {
            found.segment(end + at, segment);
        }
        start = until;
    }
    found.words
}

/// The words to look for: of those at one position the one with signs, which says most, or the plain one.
pub fn asked(text: &str) -> Vec<String> {
    let mut asked: Vec<String> = Vec::new();
    for word in words(text) {
        match word.form {
            Form::Plain => asked.push(word.text),
            Form::Part => {}
            Form::Signed => {
                asked.pop();
                asked.push(word.text);
            }
        }
    }
    asked
}

/// A word as a number, to compare many: two words have the same with a chance of 2⁻⁶⁴.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The number of the word.
    pub word: u64,
    /// Its position, as in [`Word::position`].
    pub position: u32,
}

/// The words of a text as numbers, in their order.
pub fn tokens(text: &str) -> Vec<Token> {
    let token = |word: Word| Token {
        word: hash(&word.text),
        position: u32::try_from(word.position).unwrap_or(u32::MAX),
    };
    words(text).into_iter().map(token).collect()
}

/// The numbers of the words to look for in [`tokens`].
pub fn asked_tokens(text: &str) -> Vec<u64> {
    asked(text).iter().map(|word| hash(word)).collect()
}

/// FNV-1a.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// The words that were found so far.
struct Found<'a> {
    text: &'a str,
    words: Vec<Word>,
    position: usize,
}

impl Found<'_> {
    /// Adds the words of a part of the text that Unicode leaves together.
    fn segment(&mut self, start: usize, segment: &str) {
        if segment.contains(stands_alone) {
            let mut run = start;
            for (at, cluster) in segment.grapheme_indices(true) {
                if cluster.starts_with(stands_alone) {
                    self.runs(run, start + at);
                    self.word(start + at, start + at + cluster.len());
                    run = start + at + cluster.len();
                }
            }
            self.runs(run, start + segment.len());
        } else if segment.contains(is_pictograph) && !segment.contains(is_letter) {
            let text: String = segment.chars().filter(|c| !is_variation(*c)).collect();
            self.add(start, start + segment.len(), text, Form::Plain);
            self.position += 1;
        } else {
            self.runs(start, start + segment.len());
        }
    }

    /// Adds the words of a part of the text without scripts that have no blanks: runs of letters, digits, and what
    /// stands within words.
    fn runs(&mut self, start: usize, end: usize) {
        let part = &self.text[start..end];
        let mut characters = part.char_indices().peekable();
        while let Some((first, c)) = characters.next() {
            if !is_letter(c) || is_apostrophe(c) {
                continue;
            }
            let mut last = first + c.len_utf8();
            while let Some((at, next)) = characters.peek().copied() {
                let after = at + next.len_utf8();
                let joins = is_apostrophe(next) || is_joiner(next);
                let joins = joins && part[after..].starts_with(|c| is_letter(c) && !is_apostrophe(c));
                if !(is_letter(next) && !is_apostrophe(next) || is_within(next) || joins) {
                    break;
                }
                last = after;
                characters.next();
            }
            self.word(start + first, start + last);
        }
    }

    /// Adds a word with its other forms.
    fn word(&mut self, start: usize, end: usize) {
        let text = self.text;
        let plain = folded(&text[start..end]);
        if plain.is_empty() {
            return;
        }
        self.add(start, end, plain.clone(), Form::Plain);
        for (at, apostrophe) in text[start..end].match_indices(is_apostrophe).take(MOST_PARTS) {
            let part = start + at + apostrophe.len();
            self.add(part, end, folded(&text[part..end]), Form::Part);
        }
        let signs = text[end..].chars().take_while(|c| matches!(c, '+' | '#')).count();
        let is_joined = text[end + signs..].starts_with(is_letter);
        if (1..=2).contains(&signs) && !is_joined {
            let signed = format!("{plain}{}", &text[end..end + signs]);
            self.add(start, end + signs, signed, Form::Signed);
        }
        if let Some(before) = text[..start].strip_suffix('.')
            && !before.ends_with(|c: char| is_letter(c) || c == '.')
        {
            self.add(start - 1, end, format!(".{plain}"), Form::Signed);
        }
        self.position += 1;
    }

    fn add(&mut self, start: usize, end: usize, text: String, form: Form) {
        if !text.is_empty() {
            self.words.push(Word { text, position: self.position, start, end, form });
        }
    }
}

/// Where the run begins that a character other than ASCII continues.
fn begin_of_run(text: &str, at: usize) -> usize {
    let before = text[..at].trim_end_matches(|c: char| c.is_ascii() && is_joined_to_neighbours(c));
    before.len()
}

/// Whether a character of ASCII may be in one word with another that is not.
const fn is_joined_to_neighbours(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '\'' | '"' | '.' | '_' | ':' | ',' | ';')
}

/// The letters of a text, without case and accents.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        return letters.take(LONGEST).map(|c| c.to_ascii_lowercase()).collect();
    }
    let mut folded = String::with_capacity(text.len());
    let is_kept = |c: &char| is_letter(*c) && !is_apostrophe(*c) || VOICED.contains(c);
    for c in text.nfkd().filter(is_kept).take(LONGEST) {
        match c {
            'ß' | 'ẞ' => folded.push_str("ss"),
            'ø' | 'Ø' => folded.push('o'),
            'ł' | 'Ł' => folded.push('l'),
            'đ' | 'Đ' => folded.push('d'),
            'ı' => folded.push('i'),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            'ς' => folded.push('σ'),
            c => folded.extend(c.to_lowercase().filter(is_kept)),
        }
    }
    // A mark that has lost its letter is no word.
    folded.trim_start_matches(VOICED).to_owned()
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
}

/// Whether a character stands between the parts of a word. U+02BC is a letter for Unicode.
const fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{02BC}' | '\u{FF07}')
}

/// Whether a character between letters is part of their word: the middle dot of Catalan, and the signs of
/// Hebrew abbreviations.
const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{00B7}' | '\u{05F3}' | '\u{05F4}')
}

/// Whether a character never ends a word: marks, soft hyphens, and characters that join or part letters.
fn is_within(c: char) -> bool {
    is_combining_mark(c) || matches!(c, '\u{00AD}' | '\u{200C}' | '\u{200D}' | '\u{2060}' | '\u{FEFF}')
}

const fn is_variation(c: char) -> bool {
    matches!(c, '\u{FE0E}' | '\u{FE0F}')
}

const fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27BF}' | '\u{2B50}' | '\u{2B55}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Whether a character is one of a script that puts no blanks between words, or a syllable of Hangul.
pub(crate) const fn stands_alone(c: char) -> bool {
    matches!(
        c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1100}'..='\u{11FF}' | '\u{1780}'..='\u{17FF}'
            | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312F}' | '\u{3131}'..='\u{318F}'
            | '\u{31A0}'..='\u{31BF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{9FFF}'
            | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}'
            | '\u{FF66}'..='\u{FFDC}' | '\u{1B000}'..='\u{1B16F}' | '\u{20000}'..='\u{3FFFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    /// Whether a search for words finds them one after the other in a text.
    fn finds(typed: &str, text: &str) -> bool {
        let (asked, words) = (asked(typed), words(text));
        let is_at = |position: usize, text: &String| {
            words.iter().any(|word| word.position == position && word.text == *text)
        };
        !asked.is_empty()
            && (0..words.len())
                .any(|start| asked.iter().enumerate().all(|(at, text)| is_at(start + at, text)))
    }

    #[test]
    fn case_and_accents_are_dropped() {
        assert_eq!(texts("Crème BRÛLÉE, Straße"), ["creme", "brulee", "strasse"]);
        assert_eq!(texts("e\u{301}te\u{301} ﬁn İstanbul Øre"), ["ete", "fin", "istanbul", "ore"]);
        assert_eq!(texts("ΛΌΓΟΣ λόγος"), ["λογοσ", "λογοσ"]);
    }

    #[test]
    fn names_keep_their_signs() {
        assert_eq!(texts("C++ and C#"), ["c", "c++", "and", "c", "c#"]);
        assert_eq!(texts(".NET node.js a++b"), ["net", ".net", "node", "js", "a", "b"]);
        assert_eq!(asked("C++"), ["c++"]);
        assert_eq!(asked(".NET"), [".net"]);
        assert_eq!(asked("node.js"), ["node", "js"]);
        assert_eq!(asked("fs::read_to_string"), ["fs", "read", "to", "string"]);
        assert_eq!(texts("été.js café_crème naïve::öl"), ["ete", "js", "cafe", "creme", "naive", "ol"]);
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "«Été» in C++! l'eau";
        let found: Vec<&str> = words(text).iter().map(|word| &text[word.start..word.end]).collect();
        assert_eq!(found, ["Été", "in", "C", "C++", "l'eau", "eau"]);
        let positions: Vec<usize> = words(text).iter().map(|word| word.position).collect();
        assert_eq!(positions, [0, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_word_is_found_whole_and_behind_its_apostrophe() {
        for (text, found) in [
            ("l'ordinateur", &["l'ordinateur", "lordinateur", "ordinateur", "L’Ordinateur"][..]),
            ("d’été", &["été", "d'ete", "ETE"]),
            ("O'Reilly", &["o'reilly", "oreilly", "reilly", "OʼReilly"]),
            ("l'ordinateur portable", &["ordinateur portable", "l'ordinateur portable"]),
            ("qu'aujourd'hui", &["aujourd'hui", "hui"]),
            ("об'єкт", &["єкт", "об’єкт"]),
            ("don't", &["dont", "don’t"]),
            ("'quoted' words'", &["quoted words"]),
        ] {
            for typed in found {
                assert!(finds(typed, text), "{typed} in {text}: {:?}", words(text));
            }
        }
        assert!(!finds("ordinateurs", "l'ordinateur") && !finds("l ordinateur", "l'ordinateur"));
    }

    #[test]
    fn scripts_without_blanks_and_hangul_are_found_by_their_parts() {
        assert_eq!(texts("東京都 2020年"), ["東", "京", "都", "2020", "年"]);
        for (typed, text) in [
            ("選挙", "明日の選挙について"),
            ("컴퓨터", "새컴퓨터는 빠르다"),
            ("Rust", "Rust는 좋다"),
            ("ประเทศ", "ในประเทศไทย"),
            ("カタカナ", "ｶﾀｶﾅ"),
            ("ｶﾞｰﾃﾞﾝ", "ガーデンの花"),
            ("ガーデン", "その ｶﾞｰﾃﾞﾝ"),
            ("ﾊﾟｿｺﾝ", "新しいパソコン"),
            ("ラーメン", "味噌ラーメン屋"),
        ] {
            assert!(finds(typed, text), "{typed} in {text}: {:?}", words(text));
        }
        assert!(!finds("カ", "ガ") && !finds("選挙", "明日の選"));
    }

    #[test]
    fn what_stands_within_a_word_does_not_divide_it() {
        assert_eq!(texts("co\u{ad}op\u{ad}eration"), ["cooperation"]);
        assert_eq!(texts("col·lecció"), ["colleccio"]);
        assert_eq!(texts("می‌خواهم").len(), 1);
        assert_eq!(texts("🦀🦀 ❤️ a"), ["🦀", "🦀", "❤", "a"]);
    }

    #[test]
    fn ascii_beside_other_letters_is_read_as_one() {
        assert_eq!(texts("ab'é a.é é_b"), ["abe", "e", "a", "e", "e", "b"]);
        assert_eq!(texts(&format!("{}é", "a".repeat(70))), ["a".repeat(64)]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_words_within_it(text in ".*") {
            let mut before = (0, 0);
            for word in words(&text) {
                proptest::prop_assert!(text.get(word.start..word.end).is_some());
                proptest::prop_assert!(!word.text.is_empty());
                proptest::prop_assert!(word.position == before.0 || word.position == before.0 + 1);
                before = (word.position, word.start);
            }
        }

        #[test]
        fn a_word_is_its_own_word(text in "[a-zA-Z0-9äöÉßøŁœ.+# '’_가나東カｶﾞ-]*") {
            for word in words(&text).into_iter().filter(|word| word.text.chars().count() < LONGEST) {
                let again = asked(&word.text);
                proptest::prop_assert_eq!(again.concat(), word.text);
            }
        }

        /// The shortcut for ASCII divides texts as the rules of Unicode do.
        #[test]
        fn ascii_within_other_text_has_the_same_words(text in "[a-c1.'\"_:,; +#-]{0,20}") {
            let (alone, beside) = (texts(&text), texts(&format!("é {text} é")));
            proptest::prop_assert_eq!(&alone[..], &beside[1..beside.len() - 1]);
        }
    }
}
