//! The requested part of a list ordered by time, parsed strictly.

use super::form::{Fields, form};
use crate::error::{RequestError, Result};
use crate::limits::TIMELINE_ENTRIES;
#[cfg(test)]
use crate::request::description::values;
use tidings_domain::values::{Cursor, MAX_PAGE, Window};
use tidings_language::{Message, m};

form! {
    /// The part of a list that a call of the API asks for.
    #[derive(Debug)]
    pub struct WindowQuery {
        /// The maximum number of entries; 50 by default.
        pub count: usize = count, values::PageSize, required = false;
        /// Only older entries than this.
        pub before: Option<Cursor> = cursor, values::Cursor, required = false;
        /// Only newer entries than this.
        pub since: Option<Cursor> = cursor, values::Cursor, required = false;
    }

    /// The part of a list that a page shows.
    pub struct PageQuery {
        /// Only older entries than this.
        pub before: Option<Cursor> = cursor, values::Cursor, required = false;
    }
}

impl From<WindowQuery> for Window {
    fn from(WindowQuery { count, before, since }: WindowQuery) -> Self {
        Self { before, since, count }
    }
}

impl From<PageQuery> for Window {
    fn from(PageQuery { before }: PageQuery) -> Self {
        Self { before, since: None, count: TIMELINE_ENTRIES }
    }
}

/// The field `count`: the most entries of a response.
pub fn count(fields: &Fields, _: &str) -> Result<usize> {
    let count = count_up_to(MAX_PAGE, fields, m!("it must be a whole number from 1 to 100"))?;
    Ok(count.unwrap_or(TIMELINE_ENTRIES))
}

/// The field `count`, if it is there: a number from 1 to `most`.
pub fn count_up_to(most: usize, fields: &Fields, expected: &'static Message) -> Result<Option<usize>> {
    let Some(text) = fields.get("count") else { return Ok(None) };
    let count = text.parse().ok().filter(|count| (1..=most).contains(count) && is_plain(text));
    count.map(Some).ok_or(RequestError::field("count", expected))
}

/// A cursor in a field, which may be missing.
pub fn cursor(fields: &Fields, name: &'static str) -> Result<Option<Cursor>> {
    fields.parsed_optional(name, m!("it must be a cursor like 1401267618.123-45"))
}

/// Whether a number is written with digits only, and without leading zeros.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Window> {
        Ok(Fields::parse(query.as_bytes()).unwrap().read::<WindowQuery>()?.into())
    }

    #[test]
    fn a_window_has_defaults() {
        assert_eq!(read("").unwrap(), Window { before: None, since: None, count: 50 });
        let window = read("count=100&before=2.5-7&since=1-3").unwrap();
        let (before, since) = (Cursor { score: 2.5, id: 7 }, Cursor { score: 1.0, id: 3 });
        assert_eq!(window, Window { before: Some(before), since: Some(since), count: 100 });
    }

    #[test]
    fn an_invalid_value_names_its_field() {
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
            let message = read(query).unwrap_err().message_for_program();
            assert!(message.starts_with(&format!("The field {field} is wrong")), "{query}: {message}");
        }
    }
}
