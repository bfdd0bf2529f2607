//! Mutes: the kinds, the words and phrases, and how a text is searched for them.
//!
//! Words are those of search (`tidings_text::words`). Each is compared as a number, so a text is compared with any
//! number of muted phrases in one pass, and a title is split only once for all readers.

use crate::values::text::line;
use crate::values::text_forms::named;
use crate::values::{Hostname, InputError, MAX_MUTED_WORD, MAX_MUTED_WORD_TOKENS};
use strum::{EnumIter, EnumString, IntoStaticStr};
use tidings_text::words::{Token, asked_tokens, tokens};

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

named!(MuteKind);

/// A muted site as it was typed: an address counts as its host, and `www.` as left out.
///
/// # Errors
/// When it is not the name of a site.
pub fn muted_domain(typed: &str) -> Result<Hostname, crate::values::hostname::HostnameError> {
    let typed = typed.trim();
    let rest = typed.split_once("://").map_or(typed, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    Ok(Hostname::parse(host)?.bare())
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
        let words = asked_tokens(&text).len();
        if words == 0 {
            return Err(InputError::Empty { field: FIELD });
        }
        if words > MAX_MUTED_WORD_TOKENS {
            return Err(InputError::TooLong { field: FIELD, most: MAX_MUTED_WORD });
        }
        Ok(Self(text))
    }
}

text_values!(MutedWord);

/// A set of hashes. Most hashes that are not in it are rejected by one bit.
#[derive(Debug, Default)]
struct HashSet {
    /// A bit for each value of the lowest bits of a hash; empty without hashes.
    bits: Box<[u64]>,
    sorted: Box<[u64]>,
}

/// The words of [`HashSet::bits`]: eight bits for each of 500 hashes.
const BIT_WORDS: usize = 64;

impl HashSet {
    fn new(hashes: impl IntoIterator<Item = u64>) -> Self {
        let mut sorted: Vec<u64> = hashes.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut bits = vec![0; if sorted.is_empty() { 0 } else { BIT_WORDS }];
        for hash in &sorted {
            let (word, bit) = Self::place(*hash);
            if let Some(word) = bits.get_mut(word) {
                *word |= bit;
            }
        }
        Self { bits: bits.into(), sorted: sorted.into() }
    }

    /// The word of a hash among the bits, and its bit there.
    fn place(hash: u64) -> (usize, u64) {
        let word = usize::try_from(hash / 64 % BIT_WORDS as u64).unwrap_or(0);
        (word, 1 << (hash % 64))
    }

    fn has(&self, hash: u64) -> bool {
        let (word, bit) = Self::place(hash);
        self.bits.get(word).is_some_and(|word| word & bit != 0) && self.sorted.binary_search(&hash).is_ok()
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
pub struct Domains(HashSet);

impl Domains {
    /// A set of these, in lower case.
    pub fn new<'a>(domains: impl IntoIterator<Item = &'a str>) -> Self {
        Self(HashSet::new(domains.into_iter().map(|domain| backwards(domain, |_| false))))
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

/// The hash of a name from its end on (FNV-1a). `is_enough` gets the hash of each of its parents, the
/// shortest first, and may end it. A collision would only mute a site too many for one reader.
fn backwards(name: &str, mut is_enough: impl FnMut(u64) -> bool) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325;
    for byte in name.bytes().rev() {
        if byte == b'.' && is_enough(hash) {
            break;
        }
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    hash
}

/// A set of words and phrases to search for.
#[derive(Debug, Default)]
pub struct Phrases {
    /// The first word of each.
    firsts: HashSet,
    /// The words of each with its number among those that were given, in the order of the words.
    sorted: Box<[(Box<[u64]>, usize)]>,
}

impl Phrases {
    /// A set of these. Those without a word are in no text.
    pub fn new<'a>(phrases: impl IntoIterator<Item = &'a str>) -> Self {
        let phrases = phrases.into_iter().map(|phrase| asked_tokens(phrase).into_boxed_slice());
        let mut sorted: Vec<(Box<[u64]>, usize)> = phrases.zip(0..).collect();
        sorted.retain(|(words, _)| !words.is_empty());
        sorted.sort_unstable();
        let firsts = HashSet::new(sorted.iter().filter_map(|(words, _)| words.first().copied()));
        Self { firsts, sorted: sorted.into() }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The numbers of those that are in a text.
    pub fn found_in<'a>(&'a self, text: &'a [Token]) -> impl Iterator<Item = usize> + 'a {
        (0..text.len()).filter_map(|start| text.get(start..)).flat_map(|rest| self.at(rest))
    }

    /// Whether one of them is in a text that was split before.
    pub fn are_in_tokens(&self, text: &[Token]) -> bool {
        self.found_in(text).next().is_some()
    }

    /// Whether one of them is in a text.
    pub fn are_in(&self, text: &str) -> bool {
        !self.is_empty() && self.are_in_tokens(&tokens(text))
    }

    /// The numbers of those that a text begins with.
    fn at<'a>(&'a self, text: &'a [Token]) -> impl Iterator<Item = usize> + 'a {
        let first = text.first().copied().filter(|first| self.firsts.has(first.word));
        first.into_iter().flat_map(move |first| {
            let begins = move |(words, _): &&(Box<[u64]>, usize)| words.first() == Some(&first.word);
            let start = self.sorted.partition_point(|(words, _)| words.first() < Some(&first.word));
            let candidates = self.sorted.get(start..).unwrap_or_default().iter().take_while(begins);
            candidates
                .filter(move |(words, _)| follow(first.position, words, text))
                .map(|(_, number)| *number)
        })
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.firsts.size()
            + size_of_val(&*self.sorted)
            + self.sorted.iter().map(|(words, _)| size_of_val(&**words)).sum::<usize>()
    }
}

/// Whether words are in a text from a position on, one after the other. There may be several at one position.
fn follow(position: u32, words: &[u64], text: &[Token]) -> bool {
    (position..).zip(words).all(|(position, word)| {
        let there = text.iter().skip_while(|token| token.position < position);
        there.take_while(|token| token.position == position).any(|token| token.word == *word)
    })
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
            (&["café"], "the CAFE there", true),
            (&["cafe"], "un cafe\u{301} noir", true),
            (&["ordinateur portable"], "l\u{2019}ordinateur portable", true),
            (&["컴퓨터"], "새컴퓨터는", true),
            (&["ประเทศ"], "ในประเทศไทย", true),
            (&["ｶﾅ"], "カナ", true),
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
        for bad in ["", "   ", "!!!", "\u{200b}", "a\nb", &"x".repeat(MAX_MUTED_WORD + 1)] {
            assert!(MutedWord::parse(bad).is_err(), "{bad:?}");
        }
        assert!(MutedWord::parse(&"x".repeat(MAX_MUTED_WORD)).is_ok());
        assert!(MutedWord::parse(&"字".repeat(MAX_MUTED_WORD_TOKENS)).is_ok());
        assert!(MutedWord::parse(&"字".repeat(MAX_MUTED_WORD_TOKENS + 1)).is_err());
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
