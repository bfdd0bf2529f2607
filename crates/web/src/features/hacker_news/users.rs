//! People.

use super::text::plain_html;
use tidings_domain::imports::lines::{Id, WholeNumber, WrittenLine};
use tidings_domain::numbered::NumberedPerson;

/// A person as they are written.
pub(super) fn person_line(person: NumberedPerson) -> WrittenLine {
    let NumberedPerson { username, ctime, karma, about, submitted, .. } = person;
    WrittenLine {
        about: (!about.trim().is_empty()).then(|| plain_html(&about)),
        created: Some(ctime.0.into()),
        id: Id::Name(username),
        karma: Some(WholeNumber(karma)),
        submitted: (!submitted.is_empty()).then_some(submitted),
        ..WrittenLine::default()
    }
}
