//! Families of keys: their facts, and the family that a key belongs to.

use super::DAY;
use super::families::{ALL, PASSKEY_USED, REQUEST, STORE_NUMBER, USER, USER_RECENT_VOTES};
use super::kept::{ADDRESSES, Class, LIMITS};
use crate::values::UserId;
use crate::values::text_forms::named;
use crate::values::words::grouped;
use std::sync::LazyLock;
use strum::IntoStaticStr;
use tidings_language::spans::span;

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Holds {
    /// One text.
    String,
    /// Fields with values.
    Hash,
    /// Members.
    Set,
    /// Members with scores.
    #[strum(serialize = "sorted set")]
    SortedSet,
}

named!(Holds);

/// Which program has keys of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrigin {
    /// Lamer News, and this one.
    LamerNews,
    /// This one only.
    Ours,
}

/// The effect of one more member on a key that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The oldest member leaves it.
    OldestLeaves,
    /// It is refused.
    Refuses,
}

/// The most members of a key.
#[derive(Debug, Clone, Copy)]
pub struct Cap {
    /// So many.
    pub most: u64,
    /// The effect of one more member.
    pub full: Full,
}

/// All keys of one form.
#[derive(Debug)]
pub struct Family {
    /// The form, with `<...>` where it varies.
    pub name: &'static str,
    /// The type of its keys' values.
    pub holds: Holds,
    /// The seconds after which its keys expire by default; 0 if they never do.
    pub seconds: u64,
    /// More about when they expire; may be empty.
    pub note: &'static str,
    /// Which program has them.
    pub origin: KeyOrigin,
    /// How long they are kept.
    pub class: &'static Class,
    /// How many members it may have; `None` if it is not capped, or a rule of its own says it.
    pub cap: Option<Cap>,
    /// The meaning of the value, in a sentence.
    pub what: &'static str,
}

/// No two families have the same form.
impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Family {}

/// Of what expires within a day, what a restored site needs: what must not be done twice, and what
/// people may still take back.
const NEEDED: [&Family; 3] = [&REQUEST, &PASSKEY_USED, &USER_RECENT_VOTES];

impl Family {
    /// The meaning of the value, with the most members.
    pub fn meaning(&self) -> String {
        let Some(Cap { most, full }) = self.cap else { return self.what.trim().to_owned() };
        let limit = match full {
            Full::OldestLeaves => "the newest",
            Full::Refuses => "at most",
        };
        format!("{}; {limit} {}.", self.what.trim().trim_end_matches('.'), grouped(most))
    }

    /// When its keys expire, in words.
    pub fn lifetime(&self) -> String {
        let duration = match self.seconds {
            0 => "never".to_owned(),
            seconds => span(seconds).in_english(),
        };
        format!("{duration} {}", self.note).trim_end().to_owned()
    }

    /// Whether backups leave its keys out: the number of the store, and what expires of limits and rates, which say
    /// who tried what from where, and of whatever else is gone or made anew within a day.
    pub fn is_left_out_of_backups(&self) -> bool {
        let is_limit = self.name.starts_with("limit:") || self.name.starts_with("rate:");
        is_limit || *self == STORE_NUMBER || (1..=DAY).contains(&self.seconds) && !NEEDED.contains(&self)
    }

    /// Whether its keys count or remember something for a while, so that nobody does too much of it.
    pub fn is_limit(&self) -> bool {
        std::ptr::eq(self.class, &LIMITS) && self.seconds > 0
    }

    /// Whether each of its keys is something of one user, and goes with the user. Limits and addresses stay until
    /// they expire, also those of a rejected applicant.
    pub fn is_owned_by_user(&self) -> bool {
        let first_part = self.name.split(['<', '>']).nth(1);
        let stays = self.is_limit() || std::ptr::eq(self.class, &ADDRESSES);
        first_part == Some("user id") && !stays && *self != USER
    }

    /// The family of a key, with the parts that vary; `None` if the key is none of ours.
    pub fn of(key: &str) -> Option<(&'static Self, Vec<&str>)> {
        let mut parts = Vec::new();
        let (_, family) = BEGINNINGS.iter().find(|(beginning, family)| {
            parts.clear();
            key.starts_with(beginning) && matches(family.name, key, &mut parts)
        })?;
        Some((family, parts))
    }
}

/// The families with what their forms begin with. Most keys are told apart by that.
static BEGINNINGS: LazyLock<Vec<(&str, &Family)>> = LazyLock::new(|| {
    let beginning = |family: &&'static Family| family.name.split('<').next().unwrap_or_default();
    ALL.iter().map(|family| (beginning(family), *family)).collect()
});

/// Whether a key has a form. The parts that vary are added to `parts`.
fn matches<'k>(form: &str, key: &'k str, parts: &mut Vec<&'k str>) -> bool {
    let Some((before, rest)) = form.split_once('<') else {
        return form == key;
    };
    let (Some(key), Some((kind, rest))) = (key.strip_prefix(before), rest.split_once('>')) else {
        return false;
    };
    if rest.is_empty() {
        parts.push(key);
        return fits(kind, key);
    }
    let next = rest.split('<').next().unwrap_or(rest);
    let known = parts.len();
    key.match_indices(next).any(|(end, _)| {
        let (part, key) = key.split_at(end);
        parts.truncate(known);
        parts.push(part);
        fits(kind, part) && matches(rest, key, parts)
    })
}

/// Whether a text can be a part of a kind.
fn fits(kind: &str, part: &str) -> bool {
    let is_one_part = !part.is_empty() && !part.contains(':');
    match kind {
        "user id" | "news id" | "tweet id" | "moderation id" | "thread id" => part.parse::<UserId>().is_ok(),
        "date" => is_one_part && part.len() == "2027-01-15".len(),
        "host" | "topic" | "uuid" | "action" | "4 hex digits" | "tag" | "comment" => is_one_part,
        "thing" => part.split_once(':').is_some_and(|(_, id)| !id.is_empty() && !id.contains(':')),
        _ => !part.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::families::*;

    #[test]
    fn backups_leave_out_limits_and_what_is_gone_within_a_day() {
        let left_out = |key| Family::of(key).is_some_and(|(family, _)| family.is_left_out_of_backups());
        let keys = "limit:failed_login:pair:192.0.2.1:0123456789abcdef0123456789abcdef limit:new_voters_of_site \
            rate:vote:address:192.0.2.1 password_reset:abc user:7:new_totp past:2027-01-15 store.number";
        for key in keys.split(' ') {
            assert!(left_out(key), "{key}");
        }
        for key in
            ["user:7", "user:7:networks", "session:abc", "url:http://a.example/", "request:7:abc", "other"]
        {
            assert!(!left_out(key), "{key}");
        }
    }

    #[test]
    fn a_key_belongs_to_one_family() {
        for (key, family, parts) in [
            ("user:7", &USER, vec!["7"]),
            ("user:7:inbox", &USER_INBOX, vec!["7"]),
            ("user:7:notified:2027-01-15", &USER_NOTIFIED, vec!["7", "2027-01-15"]),
            ("score:", &ARTICLES_BY_SCORE, vec![]),
            ("score:rust", &SCORE_OF, vec!["rust"]),
            ("built:score:rust", &BUILT, vec!["score:rust"]),
            ("link:example.com", &LINK, vec!["example.com"]),
            ("link:example.com:votes", &LINK_VOTES, vec!["example.com"]),
            ("moderation:log", &MODERATION_LOG, vec![]),
            ("moderation:12", &MODERATION, vec!["12"]),
            ("moderation:12:posts", &MODERATION_POSTS, vec!["12"]),
            ("flags:comment:7-3", &FLAGS, vec!["comment:7-3"]),
            ("limit:create_user:2001:db8::", &LIMIT_CREATE_USER, vec!["2001:db8::"]),
            (
                "limit:site_votes:2001:db8:1::/48:a.example",
                &LIMIT_SITE_VOTES,
                vec!["2001:db8:1::/48", "a.example"],
            ),
            ("timeline:job:clear:1:2", &TIMELINE_JOB, vec!["clear:1:2"]),
            ("url:http://a.example/?b:c", &URL, vec!["http://a.example/?b:c"]),
        ] {
            let (found, variable) = Family::of(key).unwrap();
            assert_eq!((found, variable), (family, parts), "{key}");
        }
        for key in
            ["", "user:", "user:07", "user:x:inbox", "news", "user:7:other", "day:soon:links:sum", "lock"]
        {
            assert_eq!(Family::of(key), None, "{key}");
        }
    }
}
