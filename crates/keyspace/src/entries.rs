//! Whole keys, for copies and checks.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The whole value of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A string.
    String(String),
    /// A hash: fields and values, in no particular order.
    Hash(Vec<(String, String)>),
    /// A set: members, in no particular order.
    Set(Vec<String>),
    /// A sorted set: members and scores, lowest first.
    SortedSet(Vec<(String, f64)>),
}

/// A key with its whole value, for copying between stores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The time until the key expires, in whole milliseconds; `None` if it does not.
    pub time_to_live: Option<Duration>,
}

/// One page of [`Store::scan`](crate::Store::scan).
#[derive(Debug)]
pub struct ScanPage {
    /// The entries of this page. A page may be empty although more follow. On Redis, a
    /// key may appear on more than one page.
    pub entries: Vec<Entry>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<String>,
}

/// One page of [`Store::scan_keys`](crate::Store::scan_keys).
#[derive(Debug, Default)]
pub struct KeyPage {
    /// The keys of this page. On Redis, a key may appear on more than one page.
    pub keys: Vec<String>,
    /// Keys that are not UTF-8, as they can be shown.
    pub not_text: Vec<String>,
    /// The keys between which nothing can be read, because the file is damaged there; empty for
    /// its beginning or its end.
    pub damaged: Option<(String, String)>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<String>,
}
