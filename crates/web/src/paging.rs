//! The requested part of a list ordered by time, parsed strictly.

use super::error::Failure;
use super::form::Fields;
use tidings_domain::values::cursor::{Cursor, Window};
use tidings_domain::values::limits::MAX_PAGE;

/// Entries on a page, and by default in a response of the API.
pub const PAGE: usize = 50;

/// The optional fields `before`, `since` and `count` of an API call.
///
/// # Errors
/// A failure that names the field.
pub fn window(fields: &Fields) -> Result<Window, Failure> {
    let count = match fields.get("count") {
        None => PAGE,
        Some(text) => {
            text.parse().ok().filter(|count| (1..=MAX_PAGE).contains(count) && is_plain(text)).ok_or(
                Failure::Field { name: "count", expected: "it must be a whole number from 1 to 100" },
            )?
        }
    };
    Ok(Window { before: cursor(fields, "before")?, since: cursor(fields, "since")?, count })
}

/// The optional field `before` of a page.
///
/// # Errors
/// A failure that names the field.
pub fn page_window(fields: &Fields) -> Result<Window, Failure> {
    Ok(Window { before: cursor(fields, "before")?, since: None, count: PAGE })
}

/// A cursor in an optional field.
///
/// # Errors
/// A failure that names the field.
pub fn cursor(fields: &Fields, name: &'static str) -> Result<Option<Cursor>, Failure> {
    fields.parsed_if_there(name, "it must be a cursor like 1401267618.123-45")
}

/// Whether a number is written with digits only, and without leading zeros.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Window, Failure> {
        window(&Fields::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn a_window_is_read_and_may_be_left_to_us() {
        assert_eq!(read("").unwrap(), Window { before: None, since: None, count: 50 });
        let asked = read("count=100&before=2.5-7&since=1-3").unwrap();
        let (before, since) = (Cursor { score: 2.5, id: 7 }, Cursor { score: 1.0, id: 3 });
        assert_eq!(asked, Window { before: Some(before), since: Some(since), count: 100 });
    }

    #[test]
    fn what_is_out_of_range_names_its_field() {
        for (query, field) in [
            ("count=0", "count"),
            ("count=101", "count"),
            ("count=", "count"),
            ("count=-1", "count"),
            ("count=%2B5", "count"),
            ("count=05", "count"),
            ("count=1.0", "count"),
            ("before=", "before"),
            ("before=5", "before"),
            ("since=now", "since"),
        ] {
            let message = read(query).unwrap_err().message();
            assert!(message.starts_with(&format!("The field {field} is wrong")), "{query}: {message}");
        }
    }
}
