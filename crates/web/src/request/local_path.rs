//! Addresses within this site, to redirect to after a form.

use crate::limits::{LOCAL_PATH_BYTES, WAY_BACK_BYTES, WAY_BACK_VALUE_BYTES};
use crate::server::headers::without_secret;
use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::fmt;

/// An address within this site: a path, with or without query and fragment.
/// Anything else becomes the front page, so that no form redirects to another site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalPath {
    address: String,
    /// Whether it is that of a request whose address went on with a secret.
    is_cut: bool,
    /// Whether the browser shows it as the address of the page.
    is_of_page: bool,
}

impl LocalPath {
    /// Parses an address from a request.
    ///
    /// It must start with exactly one slash and contain only printable ASCII characters.
    /// Browsers treat backslashes as slashes and remove tabs and line ends, so these are not
    /// allowed.
    pub fn parse(text: &str) -> Self {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let is_local = plain && text.starts_with('/') && !text.starts_with("//");
        let address = if is_local && text.len() <= LOCAL_PATH_BYTES { text } else { "/" };
        Self { address: address.to_owned(), is_cut: false, is_of_page: false }
    }

    /// The address of a request, for the links and forms of its page: without its secret, if it has one.
    pub fn of_request(address: &str) -> Self {
        match without_secret(address) {
            Some(address) => Self { is_cut: true, ..Self::parse(address) },
            None => Self::parse(address),
        }
    }

    /// Whether the address of the request goes on with a secret.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the browser shows it as the address of the page, as it does not for what answers a form.
    pub const fn is_of_page(&self) -> bool {
        self.is_of_page
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.address
    }

    /// The address for the forms of each item on a page: the path with the parameters that
    /// choose a part of a list. It is in a page many times, so a request must not make it
    /// long: a longer one than any page has becomes the front page.
    pub fn way_back(&self) -> String {
        self.with_parameters(&["page", "sort", "before", HIDDEN])
    }

    /// The same for a list without what its viewer has hidden.
    pub fn without_hidden(&self) -> String {
        self.with_parameters(&["page", "sort", "before"])
    }

    /// The same for a list with what its viewer has hidden.
    pub fn with_hidden(&self) -> String {
        let mut address = self.without_hidden();
        add_parameter(&mut address, HIDDEN, "1");
        address
    }

    /// The address of another part of the same list: with what its viewer has hidden, if this
    /// one has it.
    pub fn keeping_hidden(&self, mut address: String) -> String {
        if self.shows_hidden() {
            add_parameter(&mut address, HIDDEN, "1");
        }
        address
    }

    /// Whether it asks for what the viewer of a list has hidden.
    pub fn shows_hidden(&self) -> bool {
        self.parameter(HIDDEN) == Some("1")
    }

    fn with_parameters(&self, names: &[&str]) -> String {
        let path = self.path();
        if path.len() > WAY_BACK_BYTES {
            return "/".to_owned();
        }
        let mut address = path.to_owned();
        for name in names {
            if let Some(value) = self.parameter(name) {
                add_parameter(&mut address, name, value);
            }
        }
        address
    }

    /// The value of a parameter, if it is short and plain.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.field(name).filter(|value| is_short(value))
    }

    /// The value of a parameter as it is in the address.
    pub fn field(&self, name: &str) -> Option<&str> {
        let query = self.address.split('#').next()?.split_once('?')?.1;
        let mut fields = query.split('&').filter_map(|field| field.split_once('='));
        fields.find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The address without query and fragment.
    pub fn path(&self) -> &str {
        self.address.split(['?', '#']).next().unwrap_or_default()
    }
}

/// The parameter of a list that shows what its viewer has hidden.
const HIDDEN: &str = "hidden";

/// Adds a parameter to an address without a fragment.
pub fn add_parameter(address: &mut String, name: &str, value: &str) {
    address.push(if address.contains('?') { '&' } else { '?' });
    address.push_str(name);
    address.push('=');
    address.push_str(value);
}

/// Whether a value of a parameter may be part of a way back.
fn is_short(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    value.len() <= WAY_BACK_VALUE_BYTES && value.bytes().all(is_plain)
}

impl fmt::Display for LocalPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.address)
    }
}

/// Extracts the address of the request, without its secret.
impl<S: Send + Sync> FromRequestParts<S> for LocalPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let address = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let here = Self::of_request(address);
        let is_of_page = [Method::GET, Method::HEAD].contains(&parts.method) && here.address == address;
        Ok(Self { is_of_page, ..here })
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
        let invalid = "|news|//evil.example|///evil.example|/\\evil.example|\\/evil.example|/\t/evil.example|\
            /\n/evil.example|/a\r\nSet-Cookie: a=b| /|/ü|/a b|/\u{202e}|http://evil.example|\
            javascript:alert(1)";
        for bad in invalid.split('|') {
            assert_eq!(LocalPath::parse(bad).as_str(), "/", "{bad:?}");
        }
        assert_eq!(LocalPath::parse(&format!("/{}", "a".repeat(LOCAL_PATH_BYTES))).as_str(), "/");
    }

    #[test]
    fn a_way_back_has_a_short_path_and_the_parameters_of_a_list() {
        let longest = format!("/{}", "a".repeat(WAY_BACK_BYTES - 1));
        let number = "1".repeat(WAY_BACK_VALUE_BYTES);
        for (address, way_back) in [
            ("/news/1", "/news/1"),
            ("/news/1?page=2&utm_source=x", "/news/1?page=2"),
            ("/home?x&before=1.5-3&page=2#a?page=3", "/home?page=2&before=1.5-3"),
            ("/news/1?sort=newest&page=2", "/news/1?page=2&sort=newest"),
            ("/news/1#a?page=2", "/news/1"),
            ("/news/1?page=%32&before=<x", "/news/1"),
            (&longest, &longest),
            (&format!("{longest}a?page=2"), "/"),
            (&format!("/?page={number}"), &format!("/?page={number}")),
            (&format!("/?page={number}1"), "/"),
        ] {
            assert_eq!(LocalPath::parse(address).way_back(), way_back, "{address}");
        }
    }

    #[test]
    fn a_list_is_asked_for_with_and_without_what_is_hidden() {
        for (address, shows, without, with) in [
            ("/", false, "/", "/?hidden=1"),
            ("/best?page=2", false, "/best?page=2", "/best?page=2&hidden=1"),
            ("/best?hidden=1&page=2#x", true, "/best?page=2", "/best?page=2&hidden=1"),
            ("/top/30?hidden=1&hid=5", true, "/top/30", "/top/30?hidden=1"),
            ("/?hidden=10", false, "/", "/?hidden=1"),
            ("/#a?hidden=1", false, "/", "/?hidden=1"),
        ] {
            let path = LocalPath::parse(address);
            assert_eq!(path.shows_hidden(), shows, "{address}");
            assert_eq!((path.without_hidden().as_str(), path.with_hidden().as_str()), (without, with));
        }
    }

    #[test]
    fn a_path_ends_where_the_query_begins() {
        for (address, path) in [("/latest/0?a=b#c", "/latest/0"), ("/news/1#c?", "/news/1"), ("/", "/")] {
            assert_eq!(LocalPath::parse(address).path(), path);
        }
    }
}
