//! The inbox: parts of it, and marking entries as read.

use crate::error::RequestError;
use crate::limits::INBOX_ENTRIES;
use crate::request::form::{Fields, FromFields, form, parse};
use crate::request::paging::count;
use crate::request::values;
use tidings_domain::accounts::inbox::{EntryId, InboxCursor, Kind, Marking};
use tidings_domain::inbox::InboxWindow;
use utoipa::ToSchema;

form! {
    /// The part of the inbox that a call of the API asks for.
    #[derive(Debug)]
    pub query InboxQuery {
        /// The maximum number of entries; 50 by default.
        pub count: usize = count, values::PageSize, required = false;
        /// Only older entries than this.
        pub before: Option<InboxCursor> = |fields: &Fields, _| before(fields), values::InboxCursor, required = false;
    }
}

impl From<InboxQuery> for InboxWindow {
    fn from(InboxQuery { count, before }: InboxQuery) -> Self {
        Self { before, ..Self::newest(count) }
    }
}

/// The entries that a page of the inbox shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filter {
    /// Everything.
    #[default]
    All,
    /// Unread entries.
    Unread,
    /// Entries of one kind.
    Kind(Kind),
}

impl Filter {
    /// The filters of the page.
    pub const SHOWN: [Self; 5] = [
        Self::All,
        Self::Unread,
        Self::Kind(Kind::Reply),
        Self::Kind(Kind::Mention),
        Self::Kind(Kind::Follow),
    ];

    /// The value of the parameter `kind`; `None` for everything.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Unread => Some("unread"),
            Self::Kind(kind) => Some(kind.name()),
        }
    }
}

/// The part of the inbox that a page shows.
pub struct InboxPageQuery {
    /// The entries that it shows.
    pub filter: Filter,
    /// Only older entries than this.
    pub before: Option<InboxCursor>,
    /// Up to which entry everything was just marked as read.
    pub marked: Option<EntryId>,
}

impl FromFields for InboxPageQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let filter = match fields.filled("kind") {
            None => Filter::All,
            Some("unread") => Filter::Unread,
            Some(name) => {
                Filter::Kind(parse(name, "kind", "it must be unread, reply, mention, follow or moderation")?)
            }
        };
        let marked = fields.parsed_optional("marked", ENTRY)?;
        Ok(Self { filter, before: before(fields)?, marked })
    }
}

impl From<&InboxPageQuery> for InboxWindow {
    fn from(InboxPageQuery { filter, before, .. }: &InboxPageQuery) -> Self {
        let kind = match filter {
            Filter::Kind(kind) => Some(*kind),
            Filter::All | Filter::Unread => None,
        };
        Self { before: *before, kind, unread: *filter == Filter::Unread, count: INBOX_ENTRIES }
    }
}

/// The error message for a field that is not the id of an entry.
pub(super) const ENTRY: &str = "it must be the id of an entry";

fn before(fields: &Fields) -> Result<Option<InboxCursor>, RequestError> {
    fields.parsed_optional("before", "it must be a cursor like 1401267618-reply:12-3")
}

// The field `all` with the value 1 means the same as the id `all`.
/// Entries of the inbox to mark as read.
#[derive(ToSchema)]
pub struct ReadInboxForm {
    /// The entry, or `all`.
    #[schema(value_type = values::EntryChoice)]
    id: Marking,
    /// With `all`: the id of the newest entry that was shown. Newer entries stay unread.
    #[schema(value_type = values::EntryId, required = false)]
    until: Option<EntryId>,
}

impl ReadInboxForm {
    /// The entries to mark.
    pub fn marking(&self) -> Marking {
        self.until.map_or(self.id, Marking::Until)
    }
}

impl FromFields for ReadInboxForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let until = fields.parsed_optional("until", ENTRY)?;
        let id = match (fields.get("id"), fields.get("all")) {
            (Some("all"), _) | (None, Some("1")) => Marking::All,
            (None, Some(_)) => return Err(RequestError::field("all", "it must be 1")),
            (_, _) => Marking::One(fields.parsed("id", "it must be the id of an entry, or all")?),
        };
        if until.is_some() && id != Marking::All {
            return Err(RequestError::field("until", "it goes with all, not with an entry"));
        }
        Ok(Self { id, until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marking(form: &str) -> Result<Marking, RequestError> {
        Ok(Fields::parse(form.as_bytes()).unwrap().read::<ReadInboxForm>()?.marking())
    }

    #[test]
    fn all_or_one_entry_is_marked() {
        for all in ["id=all", "all=1", "id=all&all=1"] {
            assert_eq!(marking(all).unwrap(), Marking::All, "{all}");
        }
        assert_eq!(marking("id=reply:1-2").unwrap(), Marking::One("reply:1-2".parse().unwrap()));
        for until in ["id=all&until=reply:1-2", "all=1&until=reply:1-2"] {
            assert_eq!(marking(until).unwrap(), Marking::Until("reply:1-2".parse().unwrap()), "{until}");
        }
        for (wrong, field) in [
            ("", "id"),
            ("id=", "id"),
            ("id=1", "id"),
            ("all=", "all"),
            ("all=0", "all"),
            ("id=all&until=x", "until"),
            ("id=reply:1-2&until=reply:1-3", "until"),
            ("until=reply:1-3", "id"),
        ] {
            let message = marking(wrong).unwrap_err().message();
            assert!(message.starts_with(&format!("The field {field} is wrong")), "{wrong}: {message}");
        }
    }
}
