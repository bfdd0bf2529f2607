//! The variable parts of an address. If one cannot be parsed, the response is a 404.

use crate::error::{RequestError, Result};
use crate::limits::MAX_START;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The variable parts of an address, as a value or a tuple of values.
pub struct PathOf<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathOf<T> {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Path(value) = Path::from_request_parts(parts, state).await.map_err(|_| RequestError::NotFound)?;
        Ok(Self(value))
    }
}

/// A username in an address, written with an `@`. Without it, the address does
/// not exist.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AtName(pub String);

impl TryFrom<String> for AtName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.strip_prefix('@').map(|name| Self(name.to_owned())).ok_or("not a username with @")
    }
}

/// The address of a list: the number of entries before the page may be at its end. Without it, the page is the first.
#[derive(Deserialize)]
pub struct ListPath {
    /// The number.
    #[serde(default)]
    pub start: Start,
}

/// The number of entries in a list before the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Start(pub u64);

impl TryFrom<String> for Start {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.parse::<u64>() {
            // Without leading zeros, so that a page of a list has one address.
            Ok(start) if start <= MAX_START && start.to_string() == text => Ok(Self(start)),
            _ => Err("not a position in a list"),
        }
    }
}
