//! Rules that new posts are checked with: what they look for, and what they do.

use crate::values::text::{is_unprintable, is_visible, refuse_characters, refuse_longer};
use crate::values::text_forms::{named, shown};
use crate::values::{Hostname, InputError, MAX_PATTERN, MAX_REGEX_BYTES, Reason, RuleId};
use regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoStaticStr};
use tidings_text::address::Address;

/// The kind of thing that a rule looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// Links to a domain or its subdomains.
    Domain,
    /// Links that begin with a host and a path.
    Url,
    /// Words that follow each other, in any case.
    Phrase,
    /// A regular expression.
    Regex,
}

named!(RuleKind);

/// The effect of a rule on a post that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "lowercase")]
pub enum RuleEffect {
    /// It is refused, with the reason.
    Refuse,
    /// It waits for a moderator.
    Hold,
}

named!(RuleEffect);

/// Why a pattern is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum PatternError {
    /// The text is refused.
    Text(#[from] InputError),
    /// Not a domain.
    Domain,
    /// Not the start of an address.
    Url,
    /// Not a regular expression, or too large.
    Regex(String),
    /// Too large together with the other rules.
    TooLargeTogether,
    /// Matches every post.
    Everything,
}

/// The pattern that a rule looks for, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// How it is read.
    pub kind: RuleKind,
    text: Box<str>,
}

impl Pattern {
    /// Trims and checks a pattern.
    ///
    /// # Errors
    /// When it is empty, too long, or not of its kind.
    pub fn parse(kind: RuleKind, input: &str) -> Result<Self, PatternError> {
        const FIELD: &str = "pattern";
        let text = input.trim();
        refuse_characters(FIELD, text, is_unprintable)?;
        if !text.chars().any(is_visible) {
            return Err(InputError::Empty { field: FIELD }.into());
        }
        refuse_longer(FIELD, text, MAX_PATTERN)?;
        let text = match kind {
            RuleKind::Domain => domain_of(text).ok_or(PatternError::Domain)?,
            RuleKind::Url => prefix_of(text).ok_or(PatternError::Url)?,
            RuleKind::Phrase => text.split_whitespace().collect::<Vec<_>>().join(" "),
            RuleKind::Regex => {
                let regex = RegexBuilder::new(text).size_limit(MAX_REGEX_BYTES).build();
                let regex = regex.map_err(|error| PatternError::Regex(one_line(&error)))?;
                if regex.is_match("") {
                    return Err(PatternError::Everything);
                }
                text.to_owned()
            }
        };
        Ok(Self { kind, text: text.into() })
    }

    /// The text, in the form in which it is compared.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The last line of what the library says: which part is wrong, without the drawing of it.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

/// A domain without `www.`, in the form of [`Hostname`].
fn domain_of(text: &str) -> Option<String> {
    let host = Hostname::parse(text).ok()?;
    Some(without_www(host.as_str()).to_owned())
}

/// A host without `www.` and a path, as a browser reads them.
fn prefix_of(text: &str) -> Option<String> {
    let rest = ["https://", "http://"].into_iter().find_map(|scheme| {
        text.get(..scheme.len())
            .filter(|start| start.eq_ignore_ascii_case(scheme))
            .map(|_| &text[scheme.len()..])
    });
    let rest = rest.unwrap_or(text);
    let (host, _) = rest.split_once('/')?;
    Some(domain_of(host)? + Address::parse(&format!("http://{rest}"))?.path())
}

/// A host without `www.` at its start.
pub fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// A rule as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostRule {
    /// Its number.
    pub id: RuleId,
    /// The pattern that it looks for.
    pub pattern: Pattern,
    /// Its effect.
    pub effect: RuleEffect,
    /// Why. Authors of refused posts read it.
    pub reason: Reason,
}

/// The stored form of a rule.
#[derive(Serialize, Deserialize)]
struct StoredRule {
    what: RuleKind,
    pattern: String,
    effect: RuleEffect,
    reason: String,
}

impl PostRule {
    /// The rule as JSON.
    pub fn to_json(&self) -> String {
        let stored = StoredRule {
            what: self.pattern.kind,
            pattern: self.pattern.as_str().to_owned(),
            effect: self.effect,
            reason: self.reason.to_string(),
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// A rule from its JSON; `None` if it cannot be read.
    pub fn from_json(id: RuleId, json: &str) -> Option<Self> {
        let StoredRule { what, pattern, effect, reason } = serde_json::from_str(json).ok()?;
        Some(Self {
            id,
            pattern: Pattern::parse(what, &pattern).ok()?,
            effect,
            reason: Reason::parse(&reason).ok()?,
        })
    }
}

shown!(Pattern: |pattern| pattern.text);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_brought_into_the_form_in_which_they_are_compared() {
        for (kind, given, expected) in [
            (RuleKind::Domain, " WWW.Example.com ", "example.com"),
            (RuleKind::Url, "https://www.Example.com/Shop/", "example.com/Shop/"),
            (RuleKind::Url, "example.com/", "example.com/"),
            (RuleKind::Url, "example.com//%73hop/%c3%bc", "example.com/shop/%C3%BC"),
            (RuleKind::Phrase, "Buy   now", "Buy now"),
            (RuleKind::Regex, r"(?i)v[i1]agra\d+", r"(?i)v[i1]agra\d+"),
        ] {
            assert_eq!(Pattern::parse(kind, given).unwrap().as_str(), expected, "{given}");
        }
    }

    #[test]
    fn bad_patterns_are_refused() {
        let too_long = "x".repeat(MAX_PATTERN + 1);
        for (kind, given) in [
            (RuleKind::Domain, "example"),
            (RuleKind::Domain, "https://example.com"),
            (RuleKind::Url, "example.com"),
            (RuleKind::Url, "/shop"),
            (RuleKind::Phrase, "  "),
            (RuleKind::Phrase, too_long.as_str()),
            (RuleKind::Phrase, "a\u{1b}"),
            (RuleKind::Regex, "("),
            (RuleKind::Regex, "a*"),
            (RuleKind::Regex, "(a{1000}){1000}"),
        ] {
            assert!(Pattern::parse(kind, given).is_err(), "{kind:?} {given}");
        }
        assert!(Pattern::parse(RuleKind::Phrase, &"x".repeat(MAX_PATTERN)).is_ok());
    }

    #[test]
    fn a_rule_is_stored_and_read_back() {
        let pattern = Pattern::parse(RuleKind::Url, "example.com/shop").unwrap();
        let reason = Reason::parse("a shop").unwrap();
        let rule = PostRule { id: RuleId(3), pattern, effect: RuleEffect::Hold, reason };
        assert_eq!(PostRule::from_json(RuleId(3), &rule.to_json()), Some(rule));
        assert_eq!(PostRule::from_json(RuleId(3), "{}"), None);
    }
}
