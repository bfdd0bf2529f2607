//! Rules that new posts are checked with: banned domains, addresses, phrases and regular
//! expressions. Moderators add them (`moderation/rules.rs`); every action that posts or edits a
//! text asks here.
//!
//! All rules together are one cached value, compiled once until a rule is added or lifted. So a
//! check costs no round, and time in proportion to the text: all patterns are matched at once
//! by automata of bounded size.
//!
//! Keys: `rules:all` and `rules:count`.

use crate::cache::{MEBIBYTE, Shared, View};
use crate::values::{
    MAX_RULES_BYTES, Phrases, PostRule, RuleEffect, RuleId, RuleKind, Timestamp, lookalikes, without_www,
};
use crate::{Error, Refusal, Result, Site, fields, keys};
use regex::{RegexSet, RegexSetBuilder};
use std::collections::HashMap;
use tidings_keyspace::{Fetch, Reads, Tracked, read};
use tidings_text::address::Address;
use tidings_text::stored_text::StoredText;
use tidings_text::words;

crate::cache_kind! {
    /// The rules of the site. Their automata are bounded apart, by the number of rules.
    struct Compiled: () => PostRules, "post_rules", MEBIBYTE, |(), rules| rules.size();
}

/// The rules of a site, compiled.
#[derive(Debug, Default)]
pub struct PostRules {
    /// All rules, by number.
    all: Vec<PostRule>,
    /// Positions in `all`.
    domains: HashMap<Box<str>, usize>,
    urls: Vec<usize>,
    phrases: RulePhrases,
    regexes: Expressions,
}

/// Some expressions that are matched at once.
#[derive(Debug, Default)]
struct Expressions {
    set: Option<RegexSet>,
    rules: Vec<usize>,
}

impl Expressions {
    /// Compiles expressions; those that do not compile together match nothing, which is logged.
    fn new(expressions: Vec<(usize, String)>) -> Self {
        if expressions.is_empty() {
            return Self::default();
        }
        let (rules, texts): (Vec<usize>, Vec<String>) = expressions.into_iter().unzip();
        let limit = MAX_RULES_BYTES;
        let set = RegexSetBuilder::new(texts).size_limit(limit).build();
        if let Err(error) = &set {
            tracing::error!(%error, "rules for posts cannot be compiled together");
        }
        Self { set: set.ok(), rules }
    }

    fn matches(&self, text: &str) -> impl Iterator<Item = usize> {
        let matches = self.set.as_ref().map(|set| set.matches(text));
        matches.into_iter().flatten().filter_map(|index| self.rules.get(index).copied())
    }
}

/// The phrases of rules, which are looked for in [`lookalikes::readings`].
#[derive(Debug, Default)]
struct RulePhrases {
    phrases: Phrases,
    rules: Vec<usize>,
    /// Phrases without a word, such as `---`, as they are.
    signs: Vec<(usize, String)>,
}

impl RulePhrases {
    fn new<'a>(phrases: impl Iterator<Item = (usize, &'a str)>) -> Self {
        let plain = phrases.map(|(rule, text)| (rule, lookalikes::plain(&text.to_lowercase())));
        let (signs, words): (Vec<_>, Vec<_>) = plain.partition(|(_, text)| words::asked(text).is_empty());
        let phrases = Phrases::new(words.iter().map(|(_, text)| text.as_str()));
        Self { phrases, rules: words.into_iter().map(|(rule, _)| rule).collect(), signs }
    }

    fn matches(&self, text: &str) -> Vec<usize> {
        let tokens = if self.phrases.is_empty() { Vec::new() } else { words::tokens(text) };
        let found = self.phrases.found_in(&tokens).filter_map(|number| self.rules.get(number).copied());
        let signs =
            self.signs.iter().filter(|(_, signs)| text.contains(signs.as_str())).map(|(rule, _)| *rule);
        found.chain(signs).collect()
    }

    const fn is_empty(&self) -> bool {
        self.phrases.is_empty() && self.signs.is_empty()
    }
}

/// The parts of a post that are checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedPost<'a> {
    /// The title and the texts.
    pub(crate) texts: [StoredText<'a>; 2],
    /// The URL of a story.
    pub(crate) url: Option<&'a str>,
}

impl<'a> CheckedPost<'a> {
    /// A post that is one text.
    pub(crate) const fn of(text: StoredText<'a>) -> Self {
        Self { texts: [text, StoredText::Line("")], url: None }
    }
}

impl PostRules {
    /// Compiles rules.
    pub fn new(mut all: Vec<PostRule>) -> Self {
        all.sort_by_key(|rule| rule.id);
        let positions = |kind: RuleKind| {
            let of_kind = all.iter().enumerate().filter(move |(_, rule)| rule.pattern.kind == kind);
            of_kind.map(|(position, rule)| (position, rule.pattern.as_str()))
        };
        let domains =
            positions(RuleKind::Domain).map(|(position, domain)| (domain.into(), position)).collect();
        let urls = positions(RuleKind::Url).map(|(position, _)| position).collect();
        let phrases = RulePhrases::new(positions(RuleKind::Phrase));
        let regexes = positions(RuleKind::Regex);
        let regexes = Expressions::new(regexes.map(|(at, text)| (at, text.to_owned())).collect());
        Self { domains, urls, phrases, regexes, all }
    }

    /// Whether all of them are in force: their automata are within the bound.
    pub(crate) const fn is_complete(&self) -> bool {
        self.regexes.set.is_some() || self.regexes.rules.is_empty()
    }

    /// All rules, by number.
    pub fn all(&self) -> &[PostRule] {
        &self.all
    }

    fn size(&self) -> usize {
        let texts = self.all.iter().map(|rule| rule.pattern.as_str().len() + rule.reason.as_str().len());
        size_of_val(&*self.all) + texts.sum::<usize>()
    }

    /// The first rule that matches a post; one that refuses goes before one that holds.
    pub(crate) fn first_match(&self, post: CheckedPost<'_>) -> Option<&PostRule> {
        if self.all.is_empty() {
            return None;
        }
        let mut found: Vec<usize> = Vec::new();
        if let Some(url) = post.url {
            found.extend(Address::parse(url).iter().flat_map(|address| self.matching_address(address)));
            found.extend(self.matching_text(url));
        }
        for text in post.texts {
            found.extend(self.matching_text(text.as_str()));
            if !(self.domains.is_empty() && self.urls.is_empty()) {
                found.extend(text.judged().addresses().flat_map(|address| self.matching_address(&address)));
            }
        }
        let rules = found.into_iter().filter_map(|position| self.all.get(position));
        rules.min_by_key(|rule| (rule.effect == RuleEffect::Hold, rule.id))
    }

    fn matching_text(&self, text: &str) -> Vec<usize> {
        let mut found: Vec<usize> = self.regexes.matches(text).collect();
        if !self.phrases.is_empty() {
            lookalikes::readings(text).iter().for_each(|reading| found.extend(self.phrases.matches(reading)));
        }
        found
    }

    /// The rules that match an address.
    fn matching_address(&self, address: &Address) -> Vec<usize> {
        let host = without_www(address.host());
        let mut found: Vec<usize> =
            domains_of(host).filter_map(|domain| self.domains.get(domain)).copied().collect();
        let path = [host, address.path()].concat();
        let is_inside = |position: &&usize| {
            self.all.get(**position).is_some_and(|rule| path.starts_with(rule.pattern.as_str()))
        };
        found.extend(self.urls.iter().filter(is_inside));
        found
    }
}

/// A host and the domains that it is in, the longest first.
fn domains_of(host: &str) -> impl Iterator<Item = &str> {
    let inner = host.match_indices('.').map(|(at, dot)| &host[at + dot.len()..]);
    std::iter::once(host).chain(inner)
}

/// The rules of the site. Rounds: 1; none once they are cached.
pub async fn of_site(site: &Site, now: Timestamp) -> Result<Shared<PostRules>> {
    let cache = site.caches.of::<Compiled>();
    let view = View { store: &site.store, now, is_current: true };
    if let Some(rules) = cache.get(view, &()) {
        return Ok(rules);
    }
    let mut reads = Reads::default();
    let stored = site.store.fetch(read::hash(keys::RULES).tracked()).await?.collect_into(&mut reads);
    let read = |(id, json): (String, String)| {
        let rule = id.parse().ok().and_then(|id: RuleId| PostRule::from_json(id, &json));
        if rule.is_none() {
            fields::report(keys::RULES, Some(&id));
        }
        rule
    };
    let rules: Vec<PostRule> = stored.0.into_iter().filter_map(read).collect();
    // Compiling many expressions takes milliseconds, too long for a thread that serves others.
    let compiled = tokio::task::spawn_blocking(|| PostRules::new(rules)).await;
    let compiled = compiled.map_err(|error| Error::Internal(error.to_string()))?;
    Ok(cache.insert(view, (), Tracked::new(compiled, reads), None))
}

/// Refuses a post that a rule refuses. Returns the reason if it is to wait for a moderator.
/// Rounds: those of [`of_site`].
///
/// # Errors
/// [`Refusal::RefusedByRule`], or the store's.
pub(crate) async fn check(site: &Site, now: Timestamp, post: CheckedPost<'_>) -> Result<Option<Box<str>>> {
    let rules = of_site(site, now).await?;
    match rules.first_match(post) {
        None => Ok(None),
        Some(rule) => {
            let reason: Box<str> = rule.reason.as_str().into();
            match rule.effect {
                RuleEffect::Refuse => Err(Refusal::RefusedByRule { reason }.into()),
                RuleEffect::Hold => Ok(Some(reason)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{MAX_RULES, Pattern, Reason};

    fn rules(patterns: &[(RuleKind, &str, RuleEffect)]) -> PostRules {
        let rule = |(number, (kind, pattern, effect)): (u64, &(RuleKind, &str, RuleEffect))| PostRule {
            id: RuleId(number),
            pattern: Pattern::parse(*kind, pattern).unwrap(),
            effect: *effect,
            reason: Reason::parse("a reason").unwrap(),
        };
        PostRules::new((1..).zip(patterns).map(rule).collect())
    }

    fn check_one(kind: RuleKind, pattern: &str, matched: &[&str], unmatched: &[&str]) {
        let rules = rules(&[(kind, pattern, RuleEffect::Refuse)]);
        let is_matched =
            |text: &str| rules.first_match(CheckedPost::of(StoredText::Formatted(text))).is_some();
        for text in matched {
            assert!(is_matched(text), "{pattern} matches {text:?}");
        }
        for text in unmatched {
            assert!(!is_matched(text), "{pattern} does not match {text:?}");
        }
    }

    #[test]
    fn a_domain_covers_its_subdomains_and_links_in_texts() {
        check_one(
            RuleKind::Domain,
            "example.com",
            &["see https://example.com/a", "www.EXAMPLE.com", "http://a.b.example.com:81/", "example.com/x"],
            &["https://notexample.com", "https://example.com.evil.org", "example com", ""],
        );
    }

    #[test]
    fn links_are_judged_as_the_page_shows_them_and_browsers_read_them() {
        let in_code =
            ["`https://spam-shop.example/`", "    https://spam-shop.example/", "bob@spam-shop.example"];
        check_one(
            RuleKind::Domain,
            "spam-shop.example",
            &[
                "[x](https://spam-shop\\.example/)",
                "[x](https\\://spam-shop.example/)",
                "[x](https://%73pam-shop.example/)",
                "[x](https:///spam-shop.example)",
                "[x](mailto:sales@spam-shop.example)",
                "www.spam-shop.example/a?b=http://c",
                "spam-shop.example/?u=http://x",
                "http://\u{ff53}pam-shop\u{ff0e}example/",
                "看spam-shop.example/a吧",
            ],
            &in_code,
        );
        check_one(
            RuleKind::Url,
            "github.com/%73pammer/",
            &[
                "https://github.com/%73pammer/x",
                "https://github.com//spammer//x",
                "github.com/./spammer/?a=http://b",
            ],
            &["https://github.com/spammers/", "`github.com/spammer/`", "https://github.com/?/spammer/"],
        );
        let rules = rules(&[(RuleKind::Url, "github.com/spammer/", RuleEffect::Refuse)]);
        for url in ["https://github.com/%73pammer/x", "https://github.com//spammer/x"] {
            let title = StoredText::Line("t");
            assert!(rules.first_match(CheckedPost { texts: [title; 2], url: Some(url) }).is_some(), "{url}");
        }
        for text in ["spam at github.com//spammer/x", "https://www.github.com/%73pammer/"] {
            for written in [StoredText::Plain(text), StoredText::Post(text), StoredText::Line(text)] {
                assert!(rules.first_match(CheckedPost::of(written)).is_some(), "{written:?}");
            }
        }
    }

    #[test]
    fn a_url_is_a_prefix_of_host_and_path() {
        check_one(
            RuleKind::Url,
            "Example.com/shop/",
            &["https://www.example.com/shop/1", "http://example.com/shop/?a"],
            &["https://example.com/shop", "https://example.com/Shop/1", "https://a.example.com/shop/1"],
        );
    }

    #[test]
    fn a_phrase_is_whole_words_in_any_case() {
        check_one(
            RuleKind::Phrase,
            "buy NOW",
            &["Buy now", "(buy\n now!)", "so buy now, please"],
            &["buy nowhere", "abuy now", "buynow", "now buy"],
        );
        check_one(RuleKind::Phrase, "---", &["a --- b"], &["", "a", "a b"]);
        check_one(RuleKind::Phrase, "c++", &["I like C++", "c++, they say"], &["c", "c+"]);
        check_one(RuleKind::Phrase, "größe", &["die GRÖßE"], &["größer"]);
        check_one(RuleKind::Phrase, "cafe", &["Café", "un cafe\u{301}"], &["cafes"]);
        check_one(RuleKind::Phrase, "café", &["CAFE"], &["decafe"]);
    }

    #[test]
    fn a_phrase_is_found_within_texts_that_have_no_blanks() {
        for (phrase, text) in [
            ("選挙", "明日の選挙について"),
            ("ラーメン", "味噌ﾗｰﾒﾝ屋"),
            ("ประเทศ", "ในประเทศไทย"),
            ("컴퓨터", "새컴퓨터는 빠르다"),
            ("ordinateur", "l\u{2019}ordinateur"),
        ] {
            check_one(RuleKind::Phrase, phrase, &[text], &["別の話", ""]);
        }
    }

    #[test]
    fn a_phrase_is_found_behind_separators_invisible_characters_and_lookalikes() {
        for phrase in ["cheap pills", "Cheap-Pills"] {
            check_one(
                RuleKind::Phrase,
                phrase,
                &[
                    "cheap pills",
                    "CHEAP PILLS",
                    "cheap-pills",
                    "cheap_pills",
                    "cheap.pills",
                    "the cheap -- pills!",
                    // Zero-width space: within a word, and in place of a blank.
                    "ch\u{200b}eap pills",
                    "cheap\u{200b}pills",
                    "ch\u{ad}eap\u{2014}pi\u{200d}lls",
                    // Cyrillic, fullwidth, digits, and a capital I.
                    "che\u{430}p \u{440}ills",
                    "\u{ff43}heap pills",
                    "cheap pi11s",
                    "cheap piIIs",
                ],
                &["cheappills", "cheap spills", "cheap and pills", "pills cheap"],
            );
        }
        check_one(RuleKind::Phrase, "modern art", &["rnodern_art", "modem art"], &[]);
    }

    #[test]
    fn a_regular_expression_is_used_as_it_is() {
        check_one(RuleKind::Regex, r"v[i1]agra\d", &["v1agra9"], &["V1agra9", "viagra"]);
    }

    #[test]
    fn a_refusal_goes_before_a_hold() {
        let rules = rules(&[
            (RuleKind::Phrase, "one", RuleEffect::Hold),
            (RuleKind::Domain, "example.com", RuleEffect::Refuse),
            (RuleKind::Phrase, "two", RuleEffect::Refuse),
        ]);
        let first = |texts: [&'static str; 2], url| {
            let post = CheckedPost { texts: texts.map(StoredText::Formatted), url };
            rules.first_match(post).map(|rule| rule.id.0)
        };
        assert_eq!(first(["one two", ""], None), Some(3));
        assert_eq!(first(["one", ""], None), Some(1));
        assert_eq!(first(["", "one"], Some("https://example.com/")), Some(2));
        assert_eq!(first(["none", ""], Some("https://example.org/")), None);
        assert!(PostRules::default().first_match(CheckedPost::of(StoredText::Line(""))).is_none());
    }

    #[test]
    fn as_many_rules_as_there_may_be_compile() {
        let patterns: Vec<String> =
            (0..MAX_RULES).map(|number| format!(r"(?i)spam{number}\s[a-z]{{1,20}}")).collect();
        let patterns: Vec<_> =
            patterns.iter().map(|text| (RuleKind::Regex, text.as_str(), RuleEffect::Hold)).collect();
        let rules = rules(&patterns);
        assert!(rules.is_complete());
        let last = format!("SPAM{} now", MAX_RULES - 1);
        assert!(rules.first_match(CheckedPost::of(StoredText::Post(&last))).is_some());
    }
}
