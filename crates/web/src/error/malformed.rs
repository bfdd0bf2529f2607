//! Bodies that are no forms.

use super::english::{ended, escaped};
use crate::limits::MAX_FIELDS;
use tidings_language::{Phrase, n, p};

/// Why a body is not a valid form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Malformed {
    /// A name or a value is not UTF-8 after decoding.
    NotUtf8,
    /// The field appears more than once.
    Repeated(String),
    /// The field's name has brackets.
    Array(String),
    /// The form has more fields than any form of the site.
    TooManyFields,
    /// The content type is not that of a form.
    NotAForm,
    /// The body is not a form with files, as it must be.
    NotMultipart,
    /// The body does not come whole, or not as HTTP says.
    Unreadable,
    /// The body is not JSON, as it must be.
    NotJson(String),
}

impl Malformed {
    /// The sentence about it.
    pub(super) fn sentence(&self) -> Phrase<'_> {
        match self {
            Self::NotUtf8 => p!("The fields are not UTF-8."),
            Self::Repeated(field) => {
                p!("The field \"{field}\" appears more than once.", field = escaped(field))
            }
            Self::Array(field) => p!(
                "The field \"{field}\" has brackets in its name, which are not allowed.",
                field = escaped(field)
            ),
            Self::TooManyFields => {
                n!(MAX_FIELDS, "There is more than {count} field.", "There are more than {count} fields.")
            }
            Self::NotAForm => p!("The body must be application/x-www-form-urlencoded."),
            Self::NotMultipart => p!("The body must be multipart/form-data."),
            Self::Unreadable => p!("The body of the request cannot be read."),
            Self::NotJson(error) => p!("The body is not JSON: {error}", error = ended(error)),
        }
    }
}
