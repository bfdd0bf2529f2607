//! Where a page of a list by time begins and ends.
//!
//! A list is read from its newest entry down. Entries are ordered by score,
//! those of equal score by id, as a number. (Redis orders them by the bytes of
//! the member, where 9 comes after 10.) A cursor names an entry, so that a page
//! is the same whatever is added above it meanwhile.

use crate::values::Positive;
use crate::values::text_forms::{codec_of, record_text};
use std::cmp::Ordering;

/// An entry of a list by time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cursor {
    /// When: Unix seconds with a fraction.
    pub score: f64,
    /// Which of those with this score.
    pub id: u64,
}

impl Cursor {
    /// The order of entries, oldest first.
    pub fn order(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(self.id.cmp(&other.id))
    }

    /// An entry of a sorted set; `None` for a member that is not an id.
    pub fn of_member(member: &str, score: f64) -> Option<Self> {
        Some(Self { score, id: parse_id(member)? })
    }
}

/// The text is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor like 1401267618.123-45")]
pub struct NotACursor;

codec_of! {
    /// A time as digits, perhaps with a fraction.
    pub(crate) PlainTime for f64: |time| *time,
        |text| plain_time(text)
}

record_text!(Cursor or NotACursor: {score PlainTime} "-" {id Positive});

/// A time as digits, perhaps with a fraction.
pub(crate) fn plain_time(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit());
    text.parse().ok().filter(|time: &f64| is_plain && time.is_finite())
}

fn parse_id(text: &str) -> Option<u64> {
    text.parse::<crate::values::ids::TweetId>().ok().map(u64::from)
}

/// Which part of a list is wanted: at most `count` entries, newest first,
/// older than `before` and newer than `since`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Only entries that come after this one on the way down.
    pub before: Option<Cursor>,
    /// Only entries above this one.
    pub since: Option<Cursor>,
    /// The most entries.
    pub count: usize,
}

impl Window {
    /// The newest entries of a list.
    pub const fn newest(count: usize) -> Self {
        Self { before: None, since: None, count }
    }

    /// Whether an entry is within the two cursors.
    pub fn has(&self, entry: &Cursor) -> bool {
        self.before.is_none_or(|before| entry.order(&before).is_lt())
            && self.since.is_none_or(|since| entry.order(&since).is_gt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_written_and_read() {
        for text in ["1401267618.123-45", "1401267618-1", "0-1", "0.5-1000000000000000"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
        let exact = Cursor { score: 1.0 / 3.0, id: 7 };
        assert_eq!(exact.to_string().parse(), Ok(exact));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "", "-", "1", "1-", "-1", "1-0", "1-01", "1--1", "1-1-", "a-1", "1.-1", ".1-1", "1.2.3-1",
            "1e3-1", "inf-1", "NaN-1", "+1-1", "1-+1", " 1-1", "1-1 ",
        ] {
            assert_eq!(text.parse::<Cursor>(), Err(NotACursor), "{text:?}");
        }
        let endless = format!("{}-1", "9".repeat(400));
        assert_eq!(endless.parse::<Cursor>(), Err(NotACursor));
    }

    #[test]
    fn equal_scores_are_ordered_by_the_id_as_a_number() {
        let cursor = |score, id| Cursor { score, id };
        assert!(cursor(1.0, 10).order(&cursor(1.0, 9)).is_gt());
        assert!(cursor(1.0, 10).order(&cursor(1.5, 9)).is_lt());
        let window = Window { before: Some(cursor(2.0, 10)), since: Some(cursor(1.0, 9)), count: 9 };
        for (entry, inside) in [
            (cursor(2.0, 10), false),
            (cursor(2.0, 9), true),
            (cursor(1.0, 10), true),
            (cursor(1.0, 9), false),
            (cursor(3.0, 1), false),
        ] {
            assert_eq!(window.has(&entry), inside, "{entry}");
        }
    }
}
