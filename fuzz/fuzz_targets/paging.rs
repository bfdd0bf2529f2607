//! Any text as a position in a list: a cursor, a start, a page's query. An accepted position is
//! written back as it was read, and orders like its numbers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidings_domain::values::{Cursor, Window};
use tidings_web::request::form::Fields;
use tidings_web::request::paging::{PageQuery, WindowQuery, cursor};
use tidings_web::request::path::Start;

/// Entries that one call may ask for.
const MAX_COUNT: usize = 100;

fuzz_target!(|texts: (&str, &str)| {
    let (left, right) = texts;
    let cursors = (left.parse::<Cursor>(), right.parse::<Cursor>());
    if let Ok(cursor) = cursors.0 {
        assert!(cursor.score.is_finite() && cursor.score >= 0.0, "{cursor:?}");
        assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
    }
    if let (Ok(left), Ok(right)) = cursors {
        assert_eq!(left.order(&right), right.order(&left).reverse());
        let window = Window { before: Some(left), since: Some(right), count: 1 };
        assert!(!window.has(&left) && !window.has(&right));
    }
    if let Ok(Start(start)) = Start::try_from(left.to_owned()) {
        assert_eq!(left.trim_start_matches('0').parse::<u64>().unwrap_or(0), start);
    }
    check_query(left);
});

fn check_query(query: &str) {
    let Ok(fields) = Fields::parse(query.as_bytes()) else {
        return;
    };
    if let Ok(window) = fields.read::<WindowQuery>() {
        assert!((1..=MAX_COUNT).contains(&window.count), "{} entries", window.count);
        assert_eq!(window.before.is_some(), fields.get("before").is_some());
        assert_eq!(window.since.is_some(), fields.get("since").is_some());
    }
    if let Ok(page) = fields.read::<PageQuery>() {
        assert_eq!(page.before.is_some(), fields.get("before").is_some());
    }
    if let Ok(since) = cursor(&fields, "since") {
        assert_eq!(since.is_some(), fields.get("since").is_some());
    }
}
