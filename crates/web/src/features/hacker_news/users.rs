//! People.

use super::text::plain_html;
use serde::Serialize;
use tidings_domain::numbered::NumberedPerson;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::ids::ItemNumber;

/// A person. Fields without a value are missing.
#[derive(Debug, Serialize)]
pub(super) struct UserEntry {
    /// Their text about themselves, as HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// When the account was made, in Unix seconds.
    created: Timestamp,
    /// The name.
    id: String,
    karma: i64,
    /// Their newest stories and comments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    submitted: Vec<ItemNumber>,
}

impl UserEntry {
    pub(super) fn of(person: NumberedPerson) -> Self {
        let NumberedPerson { username, ctime, karma, about, submitted, .. } = person;
        let about = (!about.trim().is_empty()).then(|| plain_html(&about));
        Self { about, created: ctime, id: username, karma, submitted }
    }
}
