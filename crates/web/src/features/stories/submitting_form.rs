//! What helps while a story is written.

use crate::error::RequestError;
use crate::request::form::{Fields, FromFields, form, valid};
use crate::request::values;
use tidings_domain::Error;
use tidings_domain::values::urls::{NewsUrl, completed};
use utoipa::IntoParams;

form! {
    /// A page whose title is wanted.
    pub struct FetchTitleForm {
        /// The address of the page.
        pub url: NewsUrl = valid(NewsUrl::parse), values::Url;
    }
}

/// A URL that somebody is about to submit.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DuplicateQuery {
    /// The URL, with or without `https://`.
    #[param(value_type = values::Url)]
    pub url: NewsUrl,
}

impl FromFields for DuplicateQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { url: NewsUrl::parse(&completed(fields.required("url")?)).map_err(Error::from)? })
    }
}
