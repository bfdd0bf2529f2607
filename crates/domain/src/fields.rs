//! Typed reads of stored fields and strings.
//!
//! Other programs write to the same store, and imported data may be malformed. A value
//! that cannot be parsed counts as absent, as documented for each field; it is also logged,
//! so that it does not silently become a zero. The log names the key and the field, never
//! the value, which may be a secret. Reading a good value allocates nothing: the key is
//! built for the log only.

use crate::values::{WITHHELD, Withheld};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tidings_keyspace::{Expiry, Fetch, Hash, read};

/// A whole hash that is read field by field. `key` builds its key for the log.
pub(crate) struct StoredFields<'a, K> {
    hash: &'a Hash,
    key: K,
}

impl<'a, K: Fn() -> String> StoredFields<'a, K> {
    /// The fields of a hash.
    pub(crate) const fn new(hash: &'a Hash, key: K) -> Self {
        Self { hash, key }
    }

    /// A field as it is stored; `None` when it is absent.
    pub(crate) fn text(&self, field: &str) -> Option<&'a str> {
        self.hash.get(field)
    }

    /// A field as a `T`; `None` when it is absent or cannot be read.
    pub(crate) fn read<T: FromStr>(&self, field: &str) -> Option<T> {
        read(self.text(field), &self.key, field)
    }

    /// The same with another parser.
    pub(crate) fn parsed<T>(&self, field: &str, parse: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        parsed(self.text(field), &self.key, field, parse)
    }

    /// A field as a count; 0 when it is absent, cannot be read or is negative.
    pub(crate) fn count(&self, field: &str) -> u64 {
        count(self.text(field), &self.key, field)
    }
}

/// The value of a field as a `T`; `None` when it is absent or cannot be read.
pub(crate) fn read<T: FromStr>(value: Option<&str>, key: impl FnOnce() -> String, field: &str) -> Option<T> {
    parsed(value, key, field, |value| value.parse().ok())
}

/// The same with another parser.
pub(crate) fn parsed<'a, T>(
    value: Option<&'a str>,
    key: impl FnOnce() -> String,
    field: &str,
    parse: impl FnOnce(&'a str) -> Option<T>,
) -> Option<T> {
    let read = parse(value?);
    if read.is_none() {
        report(&key(), Some(field));
    }
    read
}

/// The value of a field as a count; 0 when it is absent, cannot be read or is negative.
/// (Other programs have decremented counters too often.)
pub(crate) fn count(value: Option<&str>, key: impl FnOnce() -> String, field: &str) -> u64 {
    read::<i64>(value, key, field).map_or(0, |count| u64::try_from(count).unwrap_or(0))
}

/// The seconds until a key expires, rounded up; at least 1.
pub(crate) fn seconds_left(expiry: Expiry) -> u64 {
    match expiry {
        Expiry::In(left) => u64::try_from(left.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).max(1),
        Expiry::Absent | Expiry::Never => 1,
    }
}

/// Why something is withheld, by the field `withheld` of `key`. A state that cannot be read is
/// logged, and withholds it.
pub(crate) fn withheld(stored: Option<&str>, key: impl FnOnce() -> String) -> Option<Withheld> {
    let state = Withheld::stored(stored?);
    if state.is_unreadable() {
        report_state(&key());
    }
    Some(state)
}

/// Logs that why something is withheld cannot be read.
#[cold]
pub(crate) fn report_state(key: &str) {
    tracing::warn!(key, field = WITHHELD, "this state cannot be read; readers do not see what it is about");
}

/// The string at a key as a `T`; `None` when it is absent or cannot be read.
pub(crate) fn read_string<T: FromStr>(value: Option<&str>, key: impl FnOnce() -> String) -> Option<T> {
    let read = value?.parse().ok();
    if read.is_none() {
        report(&key(), None);
    }
    read
}

/// The read of the string at a key as a `T`; `None` when it is absent or cannot be read.
pub(crate) fn string<T: FromStr>(key: String) -> impl Fetch<Value = Option<T>> {
    read::string(key.clone()).map(move |stored| read_string(stored.as_deref(), || key))
}

/// The read of a counter; 0 when it is absent or cannot be read.
pub(crate) fn counter(key: &'static str) -> impl Fetch<Value = u64, Asked: Send> {
    read::string(key).map(|stored| read_string(stored.as_deref(), || key.to_owned()).unwrap_or(0))
}

/// The members of the set at `key` as `T`s, without those that cannot be read. A set that has
/// such members is logged, at most once a minute.
pub(crate) fn members<M, T>(
    members: impl IntoIterator<Item = M>,
    key: &str,
    read: impl Fn(M) -> Option<T>,
) -> Vec<T> {
    let mut unreadable = 0_u64;
    let readable = members.into_iter().filter_map(|member| {
        let value = read(member);
        unreadable += u64::from(value.is_none());
        value
    });
    let readable = readable.collect();
    if unreadable > 0 {
        report_members(key, unreadable);
    }
    readable
}

/// How long a set with unreadable members is not logged again.
const MEMBERS_REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// The most sets whose reports are remembered.
const MAX_REPORTED_SETS: usize = 1_000;

#[cold]
fn report_members(key: &str, unreadable: u64) {
    static REPORTED: LazyLock<Mutex<HashMap<String, Instant>>> = LazyLock::new(Mutex::default);
    let now = Instant::now();
    let mut reported = REPORTED.lock();
    if reported.get(key).is_some_and(|last| now.duration_since(*last) < MEMBERS_REPORT_INTERVAL) {
        return;
    }
    if reported.len() >= MAX_REPORTED_SETS {
        reported.clear();
    }
    reported.insert(key.to_owned(), now);
    tracing::warn!(key, unreadable, "members of this set cannot be read; they are skipped");
}

/// The values of `N` fields that were read, in their order.
pub(crate) fn each<T, const N: usize>(values: Vec<Option<T>>) -> [Option<T>; N] {
    let mut values = values.into_iter();
    std::array::from_fn(|_| values.next().flatten())
}

/// Logs that a stored value cannot be read, for callers with their own parser.
#[cold]
pub(crate) fn report(key: &str, field: Option<&str>) {
    tracing::warn!(key, field, "this stored value cannot be read; it counts as absent");
}

/// Collects what is logged, for tests.
#[cfg(test)]
pub(crate) mod log {
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::{Event, Metadata, Subscriber, span};

    /// Collects the fields of what is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<String>>);

    impl Visit for Log {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            write!(self.0.lock().unwrap(), "{}={value:?} ", field.name()).unwrap();
        }
    }

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    /// The log that is written while `act` runs.
    pub(crate) fn logged(act: impl FnOnce()) -> String {
        let log = Log::default();
        tracing::subscriber::with_default(log.clone(), act);
        log.0.lock().unwrap().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::log::logged;
    use super::*;

    fn hash() -> Hash {
        let fields = [("up", "3"), ("down", "a secret"), ("comments", "-2"), ("replies", "")];
        Hash(fields.map(|(field, value)| (field.to_owned(), value.to_owned())).to_vec())
    }

    #[test]
    fn a_value_that_cannot_be_read_is_logged_with_its_key_and_field_only() {
        let log = logged(|| {
            let hash = hash();
            let fields = StoredFields::new(&hash, || "item:7".to_owned());
            assert_eq!(fields.read::<i64>("down"), None);
        });
        assert!(log.contains("key=\"item:7\"") && log.contains("field=\"down\""), "{log}");
        assert!(!log.contains("a secret"), "{log}");
        let log = logged(|| {
            let hash = hash();
            assert_eq!(StoredFields::new(&hash, || "item:8".to_owned()).count("replies"), 0);
        });
        assert!(log.contains("key=\"item:8\"") && log.contains("field=\"replies\""), "{log}");
        let log = logged(|| assert_eq!(read_string::<u64>(Some("x"), || "items".to_owned()), None));
        assert!(log.contains("key=\"items\"") && !log.contains("field"), "{log}");
    }

    #[test]
    fn a_damaged_state_is_logged_and_withholds() {
        let mut state = None;
        let log = logged(|| state = withheld(Some("remvoed:a secret"), || "item:7".to_owned()));
        assert_eq!(state, Some(Withheld::Unreadable("remvoed:a secret".into())));
        assert!(log.contains("key=\"item:7\"") && log.contains("field=\"withheld\""), "{log}");
        assert!(!log.contains("a secret"), "{log}");
        let log = logged(|| {
            state = withheld(Some("flagged:"), || unreachable!("the key is for the log"));
            assert_eq!(withheld(None, || unreachable!("the key is for the log")), None);
        });
        assert_eq!((state, log.as_str()), (Some(Withheld::Flagged), ""));
    }

    #[test]
    fn members_that_cannot_be_read_are_logged_once_a_minute_for_each_set() {
        let read = |key| {
            let mut read = Vec::new();
            let log = logged(|| {
                read = members(["1", "a secret", "", "3"], key, |member| member.parse::<u64>().ok());
            });
            assert_eq!(read, [1, 3]);
            log
        };
        for key in ["ids:1", "ids:2"] {
            let log = read(key);
            assert!(log.contains(&format!("key=\"{key}\" unreadable=2")) && !log.contains("secret"), "{log}");
            assert_eq!(read(key), "");
        }
        let log = logged(|| {
            assert_eq!(members(["1"], "ids:3", |member| member.parse::<u64>().ok()), [1]);
        });
        assert_eq!(log, "");
    }

    #[test]
    fn what_can_be_read_and_what_is_absent_is_not_logged() {
        let log = logged(|| {
            let hash = hash();
            let fields = StoredFields::new(&hash, || unreachable!("the key is for the log"));
            assert_eq!(fields.read::<i64>("up"), Some(3));
            assert_eq!(fields.count("up"), 3);
            assert_eq!(fields.count("comments"), 0);
            assert_eq!((fields.read::<i64>("rank"), fields.count("rank")), (None, 0));
            assert_eq!(fields.text("down"), Some("a secret"));
            assert_eq!(read_string::<u64>(Some("5"), || unreachable!("the key is for the log")), Some(5));
        });
        assert_eq!(log, "");
    }

    #[test]
    fn answers_are_taken_apart() {
        assert_eq!(each(vec![Some(1), None, Some(3)]), [Some(1), None, Some(3)]);
        assert_eq!(each(Vec::<Option<i64>>::new()), [None, None]);
    }
}
