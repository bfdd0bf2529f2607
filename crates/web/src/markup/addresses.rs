//! Addresses of pages.

use crate::request::login_reason::LoginReason;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters to encode in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The address of the login page, which then redirects to `back`.
#[must_use]
pub fn login_address(back: &str) -> String {
    format!("/login?next={}", utf8_percent_encode(back, NON_ALPHANUMERIC))
}

/// The address of a profile, `/@<name>`, followed by `rest`. Imported names can contain any
/// character.
#[must_use]
pub fn profile_address(username: &str, rest: &str) -> String {
    format!("/@{}{rest}", utf8_percent_encode(username, SEGMENT))
}

/// Another page of a user: `/<family>/<name>`, followed by `rest`.
#[must_use]
pub fn user_address(family: &str, username: &str, rest: &str) -> String {
    format!("/{family}/{}{rest}", utf8_percent_encode(username, SEGMENT))
}

/// The address of the login page that says why, and then redirects to `back`.
#[must_use]
pub fn login_to(reason: Option<LoginReason>, back: &str) -> String {
    let address = login_address(back);
    reason.map_or(address.clone(), |reason| format!("{address}&reason={}", reason.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encoded() {
        assert_eq!(login_address("/submit?u=a&t=b"), "/login?next=%2Fsubmit%3Fu%3Da%26t%3Db");
        assert_eq!(user_address("usernews", "a_b-c", "/0"), "/usernews/a_b-c/0");
        assert_eq!(user_address("user", "../\"><script>", ""), "/user/..%2F%22%3E%3Cscript%3E");
        assert_eq!(profile_address("a/b@c", "/feed"), "/@a%2Fb%40c/feed");
    }
}
