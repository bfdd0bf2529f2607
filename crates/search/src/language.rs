//! The language of searches: what a person typed, as terms that all must match.
//!
//! Only a search that is too long is an error. Parts that cannot be understood are left out and named, and
//! everything that is no operator is a word.

use crate::index::Kind;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use strum::{EnumString, IntoStaticStr};
use tidings_language::{Message, m};
use tidings_text::words::asked;

/// The longest search, in characters.
pub const MAX_CHARACTERS: usize = 200;
/// The most terms of a search.
pub const MAX_TERMS: usize = 16;
/// The maximum number of words with a star: what they find is the most that a search holds in memory.
const MAX_PREFIXES: usize = 8;
/// The maximum number of words of all terms. A term can have several: `well-known`, or a phrase.
const MAX_WORDS: usize = 24;
/// A search with more words than this looks for stems only, not also for each word as it was typed.
const MAX_EXACT_WORDS: usize = 12;
/// The fewest letters before the star of a prefix.
pub const MIN_PREFIX: usize = 3;

const DAY: i64 = 86_400;

/// Too much was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum TooLong {
    /// More than [`MAX_CHARACTERS`].
    Characters,
    /// More than [`MAX_TERMS`].
    Terms,
}

/// A search that was understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Search {
    /// The terms. All of them must match; of those in one group, one.
    pub groups: Vec<Vec<Term>>,
    /// The part that was left out.
    pub ignored: Vec<Ignored>,
}

/// A part of a search that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The part, as it was typed.
    pub part: String,
    /// Why, as the rest of a sentence.
    pub why: &'static Message,
}

/// A term of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The term as it was typed, without its field and its minus.
    pub text: String,
    /// The field that it names, if it does; `url` for a URL.
    pub field: Option<&'static str>,
    /// Whether it must not match.
    pub is_excluded: bool,
    /// The things that it asks for.
    pub what: What,
}

/// The things that a term asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// These words or others with their stems, one after the other.
    Words(Vec<String>),
    /// These words exactly, one after the other.
    Phrase(Vec<String>),
    /// A word that begins like this.
    Prefix(String),
    /// These words in the title.
    Title(Vec<String>),
    /// Texts by this person.
    By(String),
    /// Links to this host or one below it.
    Site(String),
    /// Stories about this topic.
    Topic(String),
    /// Things with so many votes.
    Votes(Bounds),
    /// Things with so many comments.
    Comments(Bounds),
    /// Things posted in this time: Unix seconds.
    Time(Bounds),
    /// Stories of this kind.
    Is(StoryKind),
    /// The stories of this URL.
    Url(String),
    /// Documents of this kind.
    Of(Kind),
    /// The story with this number, and what belongs to it.
    In(u64),
    /// The documents with these ids.
    Ids(Vec<String>),
}

/// A kind of story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum StoryKind {
    /// A text.
    Text,
    /// A link.
    Link,
    /// A question: "Ask" begins the title.
    Ask,
    /// Something of the author's: "Show" begins the title.
    Show,
}

impl StoryKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Numbers from `least` to `most`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The lowest.
    pub least: i64,
    /// The highest.
    pub most: i64,
}

impl Bounds {
    /// Numbers from this one on.
    pub const fn from(least: i64) -> Self {
        Self { least, most: i64::MAX }
    }

    /// Numbers up to this one.
    pub const fn until(most: i64) -> Self {
        Self { least: i64::MIN, most }
    }

    /// `>10`, `>=10`, `<6`, `<=5`, `20`, `=20` or `5..20`.
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<i64>().ok().filter(|_| !text.starts_with('+'));
        if let Some((least, most)) = text.split_once("..") {
            return Some(Self { least: number(least)?, most: number(most)? });
        }
        Some(match text.as_bytes() {
            [b'>', b'=', ..] => Self::from(number(&text[2..])?),
            [b'<', b'=', ..] => Self::until(number(&text[2..])?),
            [b'>', ..] => Self::from(number(&text[1..])?.checked_add(1)?),
            [b'<', ..] => Self::until(number(&text[1..])?.checked_sub(1)?),
            _ => {
                let exactly = number(text.strip_prefix('=').unwrap_or(text))?;
                Self { least: exactly, most: exactly }
            }
        })
    }
}

impl Term {
    /// A term that nobody typed.
    pub const fn of(what: What) -> Self {
        Self { text: String::new(), field: None, is_excluded: false, what }
    }

    /// The term as it would be typed.
    fn typed(&self) -> String {
        let minus = if self.is_excluded { "-" } else { "" };
        let marks = if matches!(self.what, What::Phrase(_)) || self.text.contains(' ') { "\"" } else { "" };
        let field = match (&self.what, self.field) {
            (What::Url(_), _) | (_, None) => String::new(),
            (_, Some(field)) => format!("{field}:"),
        };
        format!("{minus}{field}{marks}{}{marks}", self.text)
    }

    /// The words that it looks for in texts.
    pub fn words(&self) -> &[String] {
        match &self.what {
            What::Words(words) | What::Phrase(words) | What::Title(words) => words,
            What::Prefix(word) => std::slice::from_ref(word),
            _ => &[],
        }
    }
}

impl Search {
    /// A search for words that begin with a text in lower case, however short it is.
    pub fn beginning(text: &str) -> Self {
        let what = What::Prefix(text.to_owned());
        Self {
            groups: vec![vec![Term { what, text: text.to_owned(), field: None, is_excluded: false }]],
            ..Self::default()
        }
    }

    /// Reads what was typed. `now`, in Unix seconds, is for ages.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn parse(typed: &str, now: i64) -> Result<Self, TooLong> {
        if typed.chars().count() > MAX_CHARACTERS {
            return Err(TooLong::Characters);
        }
        let parts = parts(typed);
        let mut search = Self::default();
        let (mut follows_term, mut joins, mut prefixes, mut words) = (false, false, 0, 0);
        for (index, part) in parts.iter().enumerate() {
            if *part == "OR" && follows_term && index + 1 < parts.len() {
                (follows_term, joins) = (false, true);
                continue;
            }
            let mut term = term(part, now);
            if matches!(term, Ok(Term { what: What::Prefix(_), .. })) {
                prefixes += 1;
                if prefixes > MAX_PREFIXES {
                    term = Err(m!("at most eight words can have a star"));
                }
            }
            if let Ok(found) = &term {
                words += found.words().len();
                if words > MAX_WORDS {
                    words -= found.words().len();
                    term = Err(m!("a search has at most 24 words"));
                }
            }
            follows_term = term.is_ok();
            match (term, search.groups.last_mut()) {
                (Ok(term), Some(group)) if joins => group.push(term),
                (Ok(term), _) => search.groups.push(vec![term]),
                (Err(why), _) => search.ignored.push(Ignored { part: (*part).to_owned(), why }),
            }
            joins = false;
        }
        if search.terms().count() > MAX_TERMS {
            return Err(TooLong::Terms);
        }
        Ok(search)
    }

    /// All terms.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.groups.iter().flatten()
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds a word that begins like this, however short that is.
    #[must_use]
    pub fn and_beginning(mut self, text: &str) -> Self {
        self.groups.extend(Self::beginning(text).groups);
        self
    }

    /// The terms that are one word, with the numbers of their groups and terms.
    pub fn single_words(&self) -> Vec<((usize, usize), &str)> {
        let mut found = Vec::new();
        for (group, terms) in self.groups.iter().enumerate() {
            for (number, term) in terms.iter().enumerate().filter(|(_, term)| !term.is_excluded) {
                if let What::Words(words) = &term.what
                    && let [word] = &words[..]
                {
                    found.push(((group, number), word.as_str()));
                }
            }
        }
        found
    }

    /// The search as it would be typed, with words in place of some terms, by the numbers of group and term.
    pub fn with_words(&self, words: &[((usize, usize), &str)]) -> String {
        let group = |(group, terms): (usize, &Vec<Term>)| {
            let typed = |(number, term): (usize, &Term)| {
                let word = words.iter().find(|(place, _)| *place == (group, number));
                word.map_or_else(|| term.typed(), |(_, word)| (*word).to_owned())
            };
            terms.iter().enumerate().map(typed).collect::<Vec<_>>().join(" OR ")
        };
        self.groups.iter().enumerate().map(group).collect::<Vec<_>>().join(" ")
    }

    /// Whether it looks for its words as they were typed, and not by their stems alone.
    pub fn is_exact(&self) -> bool {
        self.terms().map(|term| term.words().len()).sum::<usize>() <= MAX_EXACT_WORDS
    }

    /// Whether it looks for words, and not only by filters.
    pub fn has_words(&self) -> bool {
        self.terms().any(|term| !term.is_excluded && !term.words().is_empty())
    }
}

/// The parts of a search: runs without blanks, except within quotation marks.
fn parts(typed: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = typed.trim_start();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let end = match rest[..end].find('"') {
            // The closing mark, and what follows it up to the blank.
            Some(opening) => match rest[opening + 1..].find('"') {
                Some(length) => opening + length + 2,
                None => end,
            },
            None => end,
        };
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    parts
}

/// One term, or why it is left out.
fn term(part: &str, now: i64) -> Result<Term, &'static Message> {
    let (is_excluded, rest) = match part.strip_prefix('-') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, part),
    };
    let (field, text, what) = match field(rest, now)? {
        Some((field, value, what)) => (Some(field), value, what),
        None => (None, rest, plain(rest)?),
    };
    Ok(Term { text: text.trim_matches('"').to_owned(), field, is_excluded, what })
}

/// A term with a field; `None` if it has none.
fn field(text: &str, now: i64) -> Result<Option<(&'static str, &str, What)>, &'static Message> {
    let Some((name, value)) = text.split_once(':') else { return Ok(None) };
    // Phones write the first letter large.
    let name = name.to_ascii_lowercase();
    if matches!(&*name, "http" | "https") && value.starts_with("//") && value.len() > 2 {
        return Ok(Some(("url", text, What::Url(text.to_owned()))));
    }
    let unquoted = value.trim_matches('"');
    let lowercase = unquoted.to_lowercase();
    let (field, what) = match &*name {
        "title" => ("title", What::Title(some_words(value)?)),
        "by" | "author" => {
            ("by", What::By(named(unquoted.trim_start_matches('@'), m!("a username is missing"))?))
        }
        "site" => ("site", What::Site(named(host(&lowercase), m!("a host is missing"))?)),
        "topic" | "tag" => ("topic", What::Topic(named(&lowercase, m!("a topic is missing"))?)),
        "votes" => ("votes", What::Votes(Bounds::parse(value).ok_or(m!("a number is missing"))?)),
        "comments" => ("comments", What::Comments(Bounds::parse(value).ok_or(m!("a number is missing"))?)),
        "after" => ("after", What::Time(Bounds::from(start_of(value).ok_or(NO_DATE)?))),
        "before" => ("before", What::Time(Bounds::until(start_of(value).ok_or(NO_DATE)?.saturating_sub(1)))),
        "age" => ("age", What::Time(age(value, now).ok_or(m!("an age is missing, such as <7d"))?)),
        "is" => ("is", What::Is(lowercase.parse().map_err(|_| m!("it is text, link, ask or show"))?)),
        _ => return Ok(None),
    };
    Ok(Some((field, value, what)))
}

const NO_DATE: &Message = m!("a date is missing, such as 2026-01-31, 2026-01 or 2026");

/// A term without a field.
fn plain(text: &str) -> Result<What, &'static Message> {
    if let Some(phrase) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok(What::Phrase(some_words(phrase)?));
    }
    if let Some(prefix) = text.strip_suffix('*') {
        let mut words = asked(prefix);
        if let (Some(word), true) = (words.pop(), words.is_empty()) {
            if word.chars().count() < MIN_PREFIX {
                return Err(m!("a star needs at least three letters before it"));
            }
            return Ok(What::Prefix(word));
        }
    }
    some_words(text).map(What::Words)
}

fn some_words(text: &str) -> Result<Vec<String>, &'static Message> {
    let words = asked(text);
    if words.is_empty() { Err(m!("there is no word in it")) } else { Ok(words) }
}

fn named(text: &str, missing: &'static Message) -> Result<String, &'static Message> {
    if text.is_empty() { Err(missing) } else { Ok(text.to_owned()) }
}

/// The host of what was typed as one: without scheme, path and `www.`.
fn host(typed: &str) -> &str {
    let rest = typed.split_once("://").map_or(typed, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host).trim_end_matches('.')
}

/// The first second of a day, a month or a year, in UTC.
fn start_of(text: &str) -> Option<i64> {
    let mut numbers = text.split('-').map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse::<i16>().ok() } else { None }
    });
    let year = numbers.next()??;
    let mut next = || numbers.next().unwrap_or(Some(1)).and_then(|number| i8::try_from(number).ok());
    let (month, day) = (next()?, next()?);
    if numbers.next().is_some() || text.split('-').next()?.len() != 4 {
        return None;
    }
    Some(Date::new(year, month, day).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

/// `<7d`, posted in the last seven days, or `>7d`, before them.
fn age(text: &str, now: i64) -> Option<Bounds> {
    let (sign, length) = text.split_at_checked(1)?;
    let (number, unit) = length.split_at_checked(length.len().checked_sub(1)?)?;
    let seconds = match unit {
        "h" => DAY / 24,
        "d" => DAY,
        "w" => 7 * DAY,
        "m" => 30 * DAY,
        "y" => 365 * DAY,
        _ => return None,
    };
    let then = now.checked_sub(i64::from(number.parse::<u32>().ok()?).checked_mul(seconds)?)?;
    match sign {
        "<" => Some(Bounds::from(then.checked_add(1)?)),
        ">" => Some(Bounds::until(then.checked_sub(1)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn search(typed: &str) -> Search {
        Search::parse(typed, NOW).unwrap()
    }

    fn only(typed: &str) -> What {
        let search = search(typed);
        assert!(search.ignored.is_empty(), "{search:?}");
        assert_eq!(search.terms().count(), 1, "{search:?}");
        search.groups[0][0].what.clone()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_word_is_replaced_and_the_rest_stays_as_it_was_typed() {
        let typed = r#"title:"two words" -by:bob rsut OR go "a phrase" -"x y" votes:>5 age:<7d"#;
        let search = Search::parse(typed, 0).unwrap();
        assert_eq!(search.with_words(&[((2, 0), "rust")]), typed.replace("rsut", "rust"));
    }

    #[test]
    fn words_phrases_and_prefixes() {
        assert_eq!(only("Rust"), What::Words(words(&["rust"])));
        assert_eq!(only("read_to_string"), What::Words(words(&["read", "to", "string"])));
        assert_eq!(only("\"a phrase\""), What::Phrase(words(&["a", "phrase"])));
        assert_eq!(only("data*"), What::Prefix("data".to_owned()));
        assert_eq!(only("\"open"), What::Words(words(&["open"])));
        assert_eq!(search("a b").groups.len(), 2);
    }

    #[test]
    fn a_minus_excludes() {
        let search = search("-x -\"a b\" -site:x.org - a-b");
        let excluded: Vec<bool> = search.terms().map(|term| term.is_excluded).collect();
        assert_eq!(excluded, [true, true, true, false]);
        assert_eq!(search.ignored[0].part, "-");
    }

    #[test]
    fn eight_words_can_have_a_star() {
        let typed = (0..9).map(|number| format!("abc{number}* ")).collect::<String>();
        let search = Search::parse(&typed, NOW).unwrap();
        assert_eq!(search.terms().count(), 8);
        assert_eq!(search.ignored[0].part, "abc8*");
    }

    #[test]
    fn all_terms_have_24_words_together() {
        let search = Search::parse(&format!("\"{}\" a-b c by:alice", "a ".repeat(23)), NOW).unwrap();
        assert_eq!(search.terms().count(), 3);
        assert_eq!(search.ignored[0].part, "a-b");
    }

    #[test]
    fn or_binds_tighter_than_and() {
        let groups = |typed: &str| -> Vec<usize> { search(typed).groups.iter().map(Vec::len).collect() };
        assert_eq!(groups("a OR b c"), [2, 1]);
        assert_eq!(groups("x a OR b OR c"), [1, 3]);
        assert_eq!(groups("OR a"), [1, 1], "at an end it is a word");
        assert_eq!(groups("a OR"), [1, 1]);
        assert_eq!(groups("a or b"), [1, 1, 1]);
        assert_eq!(groups("a OR OR b"), [2, 1]);
    }

    #[test]
    fn fields() {
        assert_eq!(only("by:@Alice"), What::By("Alice".to_owned()));
        assert_eq!(only("site:https://WWW.lwn.net/a"), What::Site("lwn.net".to_owned()));
        assert_eq!(only("topic:Rust"), What::Topic("rust".to_owned()));
        assert_eq!(only("author:alice"), only("BY:alice"));
        assert_eq!(only("Tag:Rust"), only("topic:rust"));
        assert_eq!(only("HTTPS://LWN.net:443/a"), What::Url("HTTPS://LWN.net:443/a".to_owned()));
        assert_eq!(only("title:\"two words\""), What::Title(words(&["two", "words"])));
        assert_eq!(only("is:ask"), What::Is(StoryKind::Ask));
        assert_eq!(only("https://lwn.net/a?b"), What::Url("https://lwn.net/a?b".to_owned()));
        assert_eq!(only("std::fs"), What::Words(words(&["std", "fs"])));
    }

    #[test]
    fn numbers() {
        let of = |least, most| What::Votes(Bounds { least, most });
        assert_eq!(only("votes:>10"), of(11, i64::MAX));
        assert_eq!(only("votes:>=10"), of(10, i64::MAX));
        assert_eq!(only("votes:<6"), of(i64::MIN, 5));
        assert_eq!(only("votes:<=5"), of(i64::MIN, 5));
        assert_eq!(only("votes:20"), of(20, 20));
        assert_eq!(only("votes:=20"), of(20, 20));
        assert_eq!(only("votes:5..20"), of(5, 20));
        assert_eq!(only("comments:0"), What::Comments(Bounds { least: 0, most: 0 }));
    }

    #[test]
    fn times() {
        let from = |least| What::Time(Bounds::from(least));
        assert_eq!(only("after:2026-01-01"), from(1_767_225_600));
        assert_eq!(only("after:2026"), from(1_767_225_600));
        assert_eq!(only("before:2026-02"), What::Time(Bounds::until(1_769_903_999)));
        assert_eq!(only("age:<7d"), from(NOW - 7 * DAY + 1));
        assert_eq!(only("age:>2h"), What::Time(Bounds::until(NOW - 7_201)));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for part in [
            "votes:>abc",
            "votes:",
            "comments:..",
            "after:soon",
            "after:26",
            "after:2026-13",
            "age:7d",
            "age:<",
            "age:<é",
            "is:nice",
            "by:",
            "site:",
            "da*",
            "!!!",
            "\"\"",
            "title:?",
            "votes:+5",
        ] {
            let search = search(&format!("rust {part}"));
            assert_eq!(search.groups.len(), 1, "{part}: {search:?}");
            assert_eq!(search.ignored[0].part, part);
        }
    }

    #[test]
    fn too_much_is_refused() {
        assert_eq!(Search::parse(&"é".repeat(201), NOW), Err(TooLong::Characters));
        assert_eq!(Search::parse(&"a ".repeat(17), NOW), Err(TooLong::Terms));
        assert_eq!(search(&"a ".repeat(16)).groups.len(), 16);
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_typed_is_an_error(typed in "[-:\"*<>=. a-c0-9éO(R)]{0,200}", more in ".{0,100}") {
            for typed in [typed.as_str(), more.as_str()] {
                if let Ok(search) = Search::parse(typed, NOW) {
                    proptest::prop_assert!(search.terms().count() + search.ignored.len() <= typed.len());
                    proptest::prop_assert!(search.groups.iter().all(|group| !group.is_empty()));
                }
            }
        }
    }
}
