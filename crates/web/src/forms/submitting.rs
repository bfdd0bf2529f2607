//! What helps while a story is written.

use crate::error::RequestError;
use crate::form::{Fields, FromFields};
use crate::openapi::values;
use tidings_domain::Error;
use tidings_domain::values::urls::{NewsUrl, completed};
use utoipa::{IntoParams, ToSchema};

/// A page whose title is wanted.
#[derive(ToSchema)]
pub struct FetchTitleForm {
    /// The address of the page.
    #[schema(value_type = values::Url)]
    pub url: NewsUrl,
}

impl FromFields for FetchTitleForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { url: NewsUrl::parse(fields.required("url")?).map_err(Error::from)? })
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
