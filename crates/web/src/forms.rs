//! The forms and queries of the site as typed values. The page and the API
//! call of one action read the same type.
//!
//! The documentation comments are also the descriptions in the OpenAPI
//! document; what only concerns the code is in other comments.

pub mod accounts;
pub mod comments;
pub mod flags;
pub mod identity;
pub mod inbox;
pub mod moderation;
pub mod mutes;
pub mod news;
pub mod rules;
pub mod sites;
pub mod submitting;
pub mod timelines;
pub mod topics;
pub mod two_factor;

use crate::error::RequestError;
use crate::form::{Fields, FromFields};
use crate::local_path::LocalPath;

/// A field that is an id, or -1 for none.
///
/// # Errors
/// A failure that names the field.
pub fn id_or_none<T: std::str::FromStr>(
    fields: &Fields,
    name: &'static str,
) -> Result<Option<T>, RequestError> {
    match fields.required(name)? {
        "-1" => Ok(None),
        _ => fields.parsed(name, "it must be a number, or -1 for none").map(Some),
    }
}

/// The page to redirect to after a form. Only pages send this field.
pub struct Next {
    /// The page; the front page by default.
    pub next: LocalPath,
}

impl FromFields for Next {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { next: LocalPath::parse(fields.text("next")) })
    }
}
