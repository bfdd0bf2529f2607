//! Mutes: the kinds, the words and phrases, and how a text is searched for them.
//!
//! A text is split into tokens: words, and characters that belong to no word. Each token is the
//! hash of its lower-case form, so a text is compared with any number of muted phrases in one
//! pass, and a title is split only once for all readers.

use crate::values::hostname::Hostname;
use crate::values::limits::{MAX_MUTED_WORD, MAX_MUTED_WORD_TOKENS};
use crate::values::text::{InputError, line};
use strum::{EnumIter, EnumString, IntoStaticStr};

/// A kind of thing that can be muted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum MuteKind {
    /// A person.
    User,
    /// A site with its subdomains.
    Domain,
    /// A topic.
    Topic,
    /// A word or a phrase.
    Word,
}

impl MuteKind {
    /// The name in the API and in the store.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A muted site as it was typed: an address counts as its host, and `www.` as left out.
///
/// # Errors
/// When it is not the name of a site.
pub fn muted_domain(typed: &str) -> Result<Hostname, crate::values::hostname::HostnameError> {
    let typed = typed.trim();
    let rest = typed.split_once("://").map_or(typed, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = Hostname::parse(host)?;
    let bare = name.as_str().strip_prefix("www.").and_then(|bare| Hostname::parse(bare).ok());
    Ok(bare.unwrap_or(name))
}

/// A muted word or phrase, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutedWord(String);

impl MutedWord {
    /// Trims and checks a word or a phrase. Blanks between words become one.
    ///
    /// # Errors
    /// When it is empty or too long, or has line breaks, control or direction characters.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        const FIELD: &str = "value";
        let text = line(FIELD, input, MAX_MUTED_WORD)?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        if tokens(&text).next().is_none() {
            return Err(InputError::Empty { field: FIELD });
        }
        if tokens(&text).count() > MAX_MUTED_WORD_TOKENS {
            return Err(InputError::TooLong { field: FIELD, most: MAX_MUTED_WORD });
        }
        Ok(Self(text))
    }
}

text_values!(MutedWord);

/// The hash of a token.
pub type Token = u64;

/// Whether a character is written without blanks around its words, so that it counts as a word
/// of its own.
const fn is_unspaced(character: char) -> bool {
    matches!(
        character,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{3040}'..='\u{30FF}'
            | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}'
    )
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() && !is_unspaced(character)
}

/// The tokens of a text, in order. Blanks are none.
pub fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut characters = text.chars().peekable();
    std::iter::from_fn(move || {
        let first = characters.by_ref().find(|character| !character.is_whitespace())?;
        let mut hash = Hash::new().with(first);
        if is_of_word(first) {
            while let Some(next) = characters.next_if(|next| is_of_word(*next)) {
                hash = hash.with(next);
            }
        }
        Some(hash.0)
    })
}

/// FNV-1a of the lower-case form of characters. It needs to be fast, and a collision would only
/// mute a word too many for one reader.
struct Hash(u64);

impl Hash {
    const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    fn with(self, character: char) -> Self {
        // Typographic apostrophes are the plain one.
        let character = if character == '\u{2019}' { '\'' } else { character };
        if character.is_ascii() {
            return self.with_code(u32::from(character.to_ascii_lowercase()));
        }
        character.to_lowercase().fold(self, |hash, lower| hash.with_code(u32::from(lower)))
    }

    const fn with_code(self, code: u32) -> Self {
        Self((self.0 ^ code as u64).wrapping_mul(0x0000_0100_0000_01B3))
    }
}

/// A set of tokens. Most tokens that are not in it are rejected by one bit.
#[derive(Debug, Default)]
struct TokenSet {
    /// A bit for each value of the lowest bits of a token; empty without tokens.
    bits: Box<[u64]>,
    sorted: Box<[Token]>,
}

/// The words of [`TokenSet::bits`]: eight bits for each of 500 tokens.
const BIT_WORDS: usize = 64;

impl TokenSet {
    fn new(tokens: impl IntoIterator<Item = Token>) -> Self {
        let mut sorted: Vec<Token> = tokens.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut bits = vec![0; if sorted.is_empty() { 0 } else { BIT_WORDS }];
        for token in &sorted {
            let (word, bit) = Self::place(*token);
            if let Some(word) = bits.get_mut(word) {
                *word |= bit;
            }
        }
        Self { bits: bits.into(), sorted: sorted.into() }
    }

    /// The word of a token among the bits, and its bit there.
    fn place(token: Token) -> (usize, u64) {
        let word = usize::try_from(token / 64 % BIT_WORDS as u64).unwrap_or(0);
        (word, 1 << (token % 64))
    }

    fn has(&self, token: Token) -> bool {
        let (word, bit) = Self::place(token);
        self.bits.get(word).is_some_and(|word| word & bit != 0) && self.sorted.binary_search(&token).is_ok()
    }

    const fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    fn size(&self) -> usize {
        size_of_val(&*self.bits) + size_of_val(&*self.sorted)
    }
}

/// A set of sites, each with its subdomains.
#[derive(Debug, Default)]
pub struct Domains(TokenSet);

impl Domains {
    /// A set of these, in lower case.
    pub fn new<'a>(domains: impl IntoIterator<Item = &'a str>) -> Self {
        Self(TokenSet::new(domains.into_iter().map(|domain| backwards(domain, |_| false))))
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a site is one of them, or a subdomain of one.
    pub fn cover(&self, site: &Hostname) -> bool {
        let mut is_covered = false;
        let whole = backwards(site.as_str(), |parent| {
            is_covered |= self.0.has(parent);
            is_covered
        });
        is_covered || self.0.has(whole)
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.size()
    }
}

/// The hash of a name from its end on. `is_enough` gets the hash of each of its parents, the
/// shortest first, and may end it.
fn backwards(name: &str, mut is_enough: impl FnMut(Token) -> bool) -> Token {
    let mut hash = Hash::new();
    for byte in name.bytes().rev() {
        if byte == b'.' && is_enough(hash.0) {
            break;
        }
        hash = hash.with_code(u32::from(byte));
    }
    hash.0
}

/// A set of words and phrases to search for.
#[derive(Debug, Default)]
pub struct Phrases {
    /// The first token of each.
    firsts: TokenSet,
    /// The tokens of each, in the order of the first token.
    sorted: Box<[Box<[Token]>]>,
}

impl Phrases {
    /// A set of these.
    pub fn new<'a>(phrases: impl IntoIterator<Item = &'a str>) -> Self {
        let phrases = phrases.into_iter().map(|phrase| tokens(phrase).collect::<Box<[Token]>>());
        let mut sorted: Vec<Box<[Token]>> = phrases.filter(|phrase| !phrase.is_empty()).collect();
        sorted.sort_unstable();
        let firsts = TokenSet::new(sorted.iter().filter_map(|phrase| phrase.first().copied()));
        Self { firsts, sorted: sorted.into() }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Whether one of them is in a text that was split before.
    pub fn are_in_tokens(&self, text: &[Token]) -> bool {
        (0..text.len()).any(|start| text.get(start..).is_some_and(|rest| self.begins(rest)))
    }

    /// Whether one of them is in a text.
    pub fn are_in(&self, text: &str) -> bool {
        !self.is_empty() && self.are_in_tokens(&tokens(text).collect::<Vec<_>>())
    }

    /// Whether a text begins with one of them.
    fn begins(&self, text: &[Token]) -> bool {
        let Some(first) = text.first().filter(|first| self.firsts.has(**first)) else { return false };
        let start = self.sorted.partition_point(|phrase| phrase.first() < Some(first));
        let rest = self.sorted.get(start..).unwrap_or_default().iter();
        rest.take_while(|phrase| phrase.first() == Some(first)).any(|phrase| text.starts_with(phrase))
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.firsts.size()
            + size_of_val(&*self.sorted)
            + self.sorted.iter().map(|phrase| size_of_val(&**phrase)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn whole_words_and_phrases_are_found_in_any_case() {
        let phrases = |list: &[&str]| {
            let parsed: Vec<MutedWord> = list.iter().map(|word| MutedWord::parse(word).unwrap()).collect();
            Phrases::new(parsed.iter().map(MutedWord::as_str))
        };
        for (muted, text, found) in [
            (&["rust"][..], "Rust is here", true),
            (&["rust"], "RUST", true),
            (&["rust"], "trust and rusty things", false),
            (&["rust"], "(rust)", true),
            (&["rust"], "a-rust-thing", true),
            (&["new york"], "in New  York today", true),
            (&["new york"], "New Jersey and York", false),
            (&["new york", "new jersey"], "New Jersey and York", true),
            (&["don't"], "I don\u{2019}t know", true),
            (&["c++"], "the C++ book", true),
            (&["c++"], "the C book", false),
            (&["größe"], "DIE GRÖSSE, die GRÖßE", true),
            (&["選挙"], "明日の選挙について", true),
            (&["選挙"], "明日の選", false),
            (&["🦀"], "crabs 🦀🦀", true),
            (&["a", "b", "c"], "d e f", false),
            (&[], "anything", false),
        ] {
            assert_eq!(phrases(muted).are_in(text), found, "{muted:?} in {text}");
        }
    }

    #[test]
    fn a_site_covers_its_subdomains() {
        let domains = Domains::new(["example.com", "co.uk"]);
        for (site, covered) in [
            ("example.com", true),
            ("a.b.example.com", true),
            ("notexample.com", false),
            ("example.com.net", false),
            ("shop.co.uk", true),
            ("uk.net", false),
        ] {
            assert_eq!(domains.cover(&Hostname::parse(site).unwrap()), covered, "{site}");
        }
        assert!(Domains::default().is_empty() && !Domains::default().cover(&Hostname::parse("a.b").unwrap()));
    }

    #[test]
    fn a_word_is_kept_in_lower_case_with_single_blanks() {
        assert_eq!(MutedWord::parse("  New \u{a0} York ").unwrap().as_str(), "new york");
        for bad in ["", "   ", "\u{200b}", "a\nb", &"x".repeat(MAX_MUTED_WORD + 1)] {
            assert!(MutedWord::parse(bad).is_err(), "{bad:?}");
        }
        assert!(MutedWord::parse(&"x".repeat(MAX_MUTED_WORD)).is_ok());
        assert!(MutedWord::parse(&"!".repeat(MAX_MUTED_WORD_TOKENS)).is_ok());
        assert!(MutedWord::parse(&"!".repeat(MAX_MUTED_WORD_TOKENS + 1)).is_err());
    }

    #[test]
    fn an_address_counts_as_its_host() {
        for (typed, host) in [
            ("example.com", Some("example.com")),
            (" https://www.Example.com/a?b#c ", Some("example.com")),
            ("www.com", Some("www.com")),
            ("news.example.com", Some("news.example.com")),
            ("", None),
            ("localhost", None),
        ] {
            assert_eq!(muted_domain(typed).ok().as_ref().map(Hostname::as_str), host, "{typed}");
        }
    }

    #[test]
    fn kinds_have_names() {
        for kind in MuteKind::iter() {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("people".parse::<MuteKind>().is_err());
    }
}
