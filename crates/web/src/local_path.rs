//! Addresses within this site, to redirect to after a form.

use crate::limits::LOCAL_PATH_BYTES;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::fmt;

/// An address within this site: a path, with or without query and fragment.
/// Anything else becomes the front page, so that no form redirects to another site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalPath(String);

impl LocalPath {
    /// Parses an address from a request.
    ///
    /// It must start with exactly one slash and contain only printable ASCII characters.
    /// Browsers treat backslashes as slashes and remove tabs and line ends, so these are not
    /// allowed.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        if plain && text.len() <= LOCAL_PATH_BYTES && text.starts_with('/') && !text.starts_with("//") {
            Self(text.to_owned())
        } else {
            Self("/".to_owned())
        }
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address without query and fragment.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.split(['?', '#']).next().unwrap_or_default()
    }
}

impl fmt::Display for LocalPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Extracts the address of the request.
impl<S: Send + Sync> FromRequestParts<S> for LocalPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(parts.uri.path_and_query().map_or("/", |path| path.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_site_are_accepted() {
        for good in [
            "/",
            "/news/1",
            "/news/1#comment-2",
            "/submit?u=http%3A%2F%2Fa.com&t=x",
            "/latest/0?next=//a.com",
        ] {
            assert_eq!(LocalPath::parse(good).as_str(), good);
        }
        for bad in [
            "",
            "news",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "/a\r\nSet-Cookie: a=b",
            " /",
            "/ü",
            "/a b",
            "/\u{202e}",
            "http://evil.example",
            "javascript:alert(1)",
        ] {
            assert_eq!(LocalPath::parse(bad).as_str(), "/", "{bad:?}");
        }
        assert_eq!(LocalPath::parse(&format!("/{}", "a".repeat(LOCAL_PATH_BYTES))).as_str(), "/");
    }

    #[test]
    fn a_path_ends_where_the_query_begins() {
        for (address, path) in [("/latest/0?a=b#c", "/latest/0"), ("/news/1#c?", "/news/1"), ("/", "/")] {
            assert_eq!(LocalPath::parse(address).path(), path);
        }
    }
}
