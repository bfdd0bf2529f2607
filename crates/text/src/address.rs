//! Addresses of the web, read as a browser reads them.

use std::borrow::Cow;
use std::fmt::Write;
use url::{Position, Url};

/// The prefix of a host that is an address without a scheme.
pub(crate) const WWW: &str = "www.";
const MAILTO: &str = "mailto:";

/// The place that an address leads to, in the form in which places are compared: as the URL Standard reads it, with
/// unreserved characters decoded, and with one slash for several in the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    path: String,
}

impl Address {
    /// Reads an address, which may lack its scheme; `None` if no browser opens it.
    pub fn parse(text: &str) -> Option<Self> {
        let has_scheme = begins_with(text, "http:") || begins_with(text, "https:");
        let with_scheme = if has_scheme { Cow::Borrowed(text) } else { Cow::Owned(format!("http://{text}")) };
        let url = Url::parse(&with_scheme).ok()?;
        let host = url.host_str()?.trim_end_matches('.').to_owned();
        let path = folded_slashes(&uniform(url.path())) + &uniform(&url[Position::AfterPath..]);
        (!host.is_empty()).then_some(Self { host, path })
    }

    /// The addresses that a link leads to: one of the web, or those of the hosts of mailboxes.
    pub fn all_of(link: &str) -> Vec<Self> {
        if !begins_with(link, MAILTO) {
            return Self::parse(link).into_iter().collect();
        }
        let boxes = link.split([':', ',', ';', '?', '&', '=']).flat_map(|part| {
            let part = uniform(part).replace("%40", "@").replace("%2C", ",");
            part.split(',').map(str::to_owned).collect::<Vec<_>>()
        });
        boxes.filter_map(|mailbox| Self::parse(mailbox.rsplit_once('@')?.1)).collect()
    }

    /// The host in its ASCII form, without a dot at its end.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path, with the query and the fragment.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Whether a text begins with a prefix, in any case of letters.
pub(crate) fn begins_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// An encoded part of a URL in one form: what needs no encoding is decoded, and the digits of the rest are in capitals.
pub fn uniform(part: &str) -> String {
    let mut uniform = String::with_capacity(part.len());
    let mut rest = part;
    while let Some((before, encoded)) = rest.split_once('%') {
        uniform.push_str(before);
        let digits = encoded.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let digits = digits.unwrap_or_default();
        match u8::from_str_radix(digits, 16) {
            Ok(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                uniform.push(char::from(byte));
            }
            // It stands for itself.
            Err(_) => uniform.push_str("%25"),
            Ok(_) => {
                uniform.push('%');
                uniform.push_str(&digits.to_ascii_uppercase());
            }
        }
        rest = encoded.get(digits.len()..).unwrap_or_default();
    }
    uniform.push_str(rest);
    uniform
}

fn folded_slashes(path: &str) -> String {
    let mut folded = String::with_capacity(path.len());
    for character in path.chars() {
        if character != '/' || !folded.ends_with('/') {
            folded.push(character);
        }
    }
    folded
}

/// The address that a link of a text leads to. One without a scheme, which begins with
/// `www.`, leads to the `http` address, as in the original; sites that have `https` redirect.
pub fn link_address(link: &str) -> Cow<'_, str> {
    if begins_with(link, WWW) { Cow::Owned(format!("http://{link}")) } else { Cow::Borrowed(link) }
}

/// Whether a browser would open it as an address of the web.
pub fn is_web_address(link: &str) -> bool {
    Url::parse(link).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.trim_end_matches('.').is_empty())
    })
}

/// The address that a link with this target leads to: http, https or mailto. It is valid in an attribute.
pub(crate) fn allowed(target: &str) -> Option<String> {
    if begins_with(target, MAILTO) {
        let is_mailbox = target.contains('@') && !target.contains(char::is_whitespace);
        return is_mailbox.then(|| valid_address(target).into_owned());
    }
    let address = link_address(target);
    // Without a scheme, or with part of one, it would be an address within this site.
    let has_scheme = begins_with(&address, "http://") || begins_with(&address, "https://");
    let address = valid_address(&address);
    (has_scheme && is_web_address(&address)).then(|| address.into_owned())
}

/// Whether no URL has this character, so that some programs end a link at it.
pub fn is_unsafe_in_links(character: char) -> bool {
    character.is_whitespace() || character.is_control() || r#""<>\^`{|}"#.contains(character)
}

/// An address as an attribute may have it, with what no URL has percent-encoded. A backslash in a path is
/// a slash, as browsers read it.
pub fn valid_address(address: &str) -> Cow<'_, str> {
    let is_unsafe = |character: char| is_unsafe_in_links(character) || matches!(character, '[' | ']');
    if !address.contains(is_unsafe) {
        return Cow::Borrowed(address);
    }
    let start = address.find("://").map_or(0, |colon| colon + "://".len());
    let path = address
        .get(start..)
        .and_then(|rest| rest.find(['/', '?', '#', '\\']))
        .map_or(address.len(), |at| start + at);
    let query = address.find(['?', '#']).unwrap_or(address.len());
    let mut valid = String::with_capacity(address.len() + 16);
    for (at, character) in address.char_indices() {
        // An IPv6 address has brackets around it.
        if !is_unsafe(character) || at < path && matches!(character, '[' | ']') {
            valid.push(character);
        } else if character == '\\' && at < query {
            valid.push('/');
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a String cannot fail.
                let _ = write!(valid, "%{byte:02X}");
            }
        }
    }
    Cow::Owned(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_uniform_stays_so() {
        for (part, expected) in
            [("%61%2f%c3", "a%2F%C3"), ("%%361", "%2561"), ("%", "%25"), ("%é%4", "%25é%254")]
        {
            assert_eq!(uniform(part), expected);
            assert_eq!(uniform(&uniform(part)), uniform(part));
        }
    }

    #[test]
    fn addresses_are_read_as_browsers_read_them() {
        for (text, host, path) in [
            ("http://example.com", "example.com", "/"),
            ("HTTPS://%73pam.Example.:80/a//b///c?d//e#f", "spam.example", "/a/b/c?d//e#f"),
            ("https:///spam.example", "spam.example", "/"),
            ("http:spam.example/a", "spam.example", "/a"),
            ("http:\\\\spam.example\\a", "spam.example", "/a"),
            ("http://ham.example:x@spam.example/", "spam.example", "/"),
            ("spam.example/?u=http://x", "spam.example", "/?u=http://x"),
            ("spam.example:8080/%73pammer/%2e./%7euser", "spam.example", "/~user"),
            ("http://b\u{fc}cher.example/\u{fc}%c3%bc", "xn--bcher-kva.example", "/%C3%BC%C3%BC"),
            ("http://\u{ff53}pam\u{ff0e}example/%2573%4", "spam.example", "/%2573%254"),
        ] {
            let read = Address::parse(text).unwrap();
            assert_eq!((read.host(), read.path()), (host, path), "{text}");
        }
        for text in ["http://", "", "http://a b/"] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
        let hosts = |link| Address::all_of(link).into_iter().map(|found| found.host).collect::<Vec<_>>();
        assert_eq!(
            hosts("mailto:a@b.example,c%40d.example?cc=e@f.example"),
            ["b.example", "d.example", "f.example"]
        );
        assert_eq!(hosts("https://b.example/a@c.example"), ["b.example"]);
    }
}
