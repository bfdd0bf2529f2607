//! Wrong values: those that only a person can correct, and those that were not mended because they
//! follow from one. A repair does not change anything that rests on any of them.

use crate::store_rules::source::{Source, SourcePart};
use std::collections::BTreeMap;

/// Wrong parts of keys that are remembered one by one. With more of them nothing is mended.
const MAX_WRONG: usize = 100_000;

/// Everything that is called wrong.
#[derive(Debug, Default)]
pub(super) struct Wrong {
    /// Keys with a wrong part, or `None` for all of the key, each with the key that must be corrected first.
    parts: BTreeMap<(String, Option<String>), String>,
    /// Parts of the store between two keys that cannot be read, so that nobody knows which keys
    /// are there.
    damaged: Vec<(String, String)>,
    /// The cause of the first wrong value that is not remembered, if there are too many.
    first_of_many: Option<String>,
}

impl Wrong {
    /// Adds a key, or one part of it. `cause` is the key that must be corrected first.
    pub(super) fn add(&mut self, key: &str, part: Option<&str>, cause: &str) {
        if self.parts.len() >= MAX_WRONG {
            self.first_of_many.get_or_insert_with(|| cause.to_owned());
            return;
        }
        let place = (key.to_owned(), part.map(str::to_owned));
        self.parts.entry(place).or_insert_with(|| cause.to_owned());
    }

    /// Adds a part of the store between two keys that cannot be read; without a first or a last
    /// key, from the beginning or to the end.
    pub(super) fn add_damage(&mut self, before: &str, after: &str) {
        let range = (before.to_owned(), after.to_owned());
        if !self.damaged.contains(&range) && self.damaged.len() < MAX_WRONG {
            self.damaged.push(range);
        }
    }

    /// How much is called wrong: it grows when something is added that was not known.
    pub(super) fn count(&self) -> usize {
        self.parts.len() + self.damaged.len()
    }

    /// The key that must be corrected before something is mended that rests on these sources.
    pub(super) fn cause<'a>(&'a self, sources: &'a [Source]) -> Option<&'a str> {
        if let Some(first) = &self.first_of_many {
            return Some(first);
        }
        sources.iter().find_map(|source| self.cause_of(source))
    }

    fn cause_of<'a>(&'a self, source: &'a Source) -> Option<&'a str> {
        let is_inside = |(before, after): &(String, String)| {
            source.key > *before && (after.is_empty() || source.key < *after)
        };
        if self.damaged.iter().any(is_inside) {
            return Some(&source.key);
        }
        let of_part = |part: Option<&str>| self.parts.get(&(source.key.clone(), part.map(str::to_owned)));
        let cause = of_part(None).or_else(|| match &source.part {
            SourcePart::Existence => None,
            SourcePart::Some(parts) => parts.iter().find_map(|part| of_part(Some(part))),
            SourcePart::All => {
                let mut later = self.parts.range((source.key.clone(), None)..);
                later.next().filter(|((key, _), _)| *key == source.key).map(|(_, cause)| cause)
            }
        });
        cause.map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rests_on_a_wrong_part_has_a_cause_and_the_rest_has_none() {
        let mut wrong = Wrong::default();
        wrong.add("news:2", Some("user_id"), "news:2");
        wrong.add("user:999", None, "news:2");
        wrong.add_damage("tweet:1", "tweet:9");
        let part = |key: &str, part: &str| Source::part(key, part);
        for (source, cause) in [
            (part("news:2", "user_id"), Some("news:2")),
            (Source::all("news:2"), Some("news:2")),
            (part("news:2", "up"), None),
            (Source::existence("news:2"), None),
            (Source::all("news:3"), None),
            (Source::existence("user:999"), Some("news:2")),
            (part("user:999", "id"), Some("news:2")),
            (Source::existence("tweet:5"), Some("tweet:5")),
            (Source::existence("tweet:9"), None),
        ] {
            assert_eq!(wrong.cause(std::slice::from_ref(&source)), cause, "{source:?}");
        }
        let known = wrong.count();
        wrong.add("news:2", Some("user_id"), "news:2");
        assert_eq!(wrong.count(), known);
        wrong.add("news:2", Some("ctime"), "news:2");
        assert!(wrong.count() > known);
    }

    #[test]
    fn with_too_much_that_is_wrong_nothing_is_mended() {
        let mut wrong = Wrong::default();
        for number in 0..=MAX_WRONG {
            wrong.add(&format!("news:{number}"), None, &format!("news:{number}"));
        }
        assert_eq!(wrong.cause(&[Source::all("other")]), Some("news:100000"));
    }
}
