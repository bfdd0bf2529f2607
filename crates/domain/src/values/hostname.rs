//! The name of a web site: what can be voted on, and when two names are the same.

use crate::values::limits::{
    MAX_HASH_PREFIX, MAX_HOSTNAME, MAX_HOSTNAME_LABEL, MAX_SHOWN_HOSTNAME, MAX_TYPED_HOSTNAME,
};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// A hostname that can be voted on: lower case, in its ASCII form, without a
/// trailing dot, of two or more labels as RFC 1123 allows them, and no address
/// of a machine. `www.` is part of the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hostname(String);

/// Why a text is not the name of a site. Users see the message as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} {fault}")]
pub struct HostnameError {
    given: String,
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("is not a site name. Enter one, such as example.com")]
    Empty,
    #[error("is too long for a site name ({MAX_HOSTNAME} characters at most)")]
    TooLong,
    #[error("is not a site name")]
    NotAHostname,
    #[error("is not a full site name. Enter one, such as example.com")]
    SingleLabel,
    #[error("is an address. Enter a site name, such as example.com")]
    Address,
}

impl HostnameError {
    /// Whether it is a hostname, but not of a web site, so that it cannot have votes.
    #[must_use]
    pub const fn is_some_hostname(&self) -> bool {
        matches!(self.fault, Fault::SingleLabel | Fault::Address)
    }
}

impl Hostname {
    /// Reads a hostname in any case, with or without a trailing dot, in ASCII
    /// or in any script (IDNA, as browsers read it).
    ///
    /// # Errors
    /// When it is not a hostname, or is a single label or an IP address.
    pub fn parse(given: &str) -> Result<Self, HostnameError> {
        read(given).map(Self).map_err(|fault| HostnameError { given: shown(given), fault })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hash by which clients look up the name without revealing it.
    #[must_use]
    pub fn hash(&self) -> HashPrefix {
        HashPrefix(hex::encode(Sha256::digest(self.0.as_bytes())))
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn read(given: &str) -> Result<String, Fault> {
    if given.is_empty() {
        return Err(Fault::Empty);
    }
    if given.chars().count() > MAX_TYPED_HOSTNAME {
        return Err(Fault::TooLong);
    }
    let mut name = idna::domain_to_ascii(given).map_err(|_| Fault::NotAHostname)?;
    if name.ends_with('.') {
        name.pop();
    }
    if !name.split('.').all(is_label) {
        return Err(Fault::NotAHostname);
    }
    if name.len() > MAX_HOSTNAME {
        return Err(Fault::TooLong);
    }
    match name.rsplit_once('.') {
        None => Err(Fault::SingleLabel),
        Some((_, last)) if is_number(last) => Err(Fault::Address),
        Some(_) => Ok(name),
    }
}

fn is_label(label: &str) -> bool {
    (1..=MAX_HOSTNAME_LABEL).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether a last label makes the whole an IPv4 address, as browsers see it:
/// decimal digits, or hexadecimal ones after `0x`.
fn is_number(label: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits(label) || label.strip_prefix("0x").is_some_and(hexadecimal)
}

/// A name from outside, short enough for an error message.
fn shown(given: &str) -> String {
    given.chars().take(MAX_SHOWN_HOSTNAME).collect()
}

/// The beginning of the SHA-256 of a hostname: 4 or more lower-case
/// hexadecimal digits, the whole at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashPrefix(String);

/// The text is not a valid beginning of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not 4 to 8 hexadecimal digits")]
pub struct NotAHashPrefix;

/// Hexadecimal digits by which hosts are grouped in the store.
const SHELF_DIGITS: usize = 4;

impl HashPrefix {
    /// The digits that the hosts of a `prefix:` key have in common.
    #[must_use]
    pub fn shelf(&self) -> &str {
        self.0.get(..SHELF_DIGITS).unwrap_or(&self.0)
    }

    /// Whether the hash of a host begins so.
    #[must_use]
    pub fn begins(&self, host: &Hostname) -> bool {
        host.hash().0.starts_with(&self.0)
    }
}

impl FromStr for HashPrefix {
    type Err = NotAHashPrefix;

    /// Reads what a client asks for: 4 to 8 digits, in either case.
    fn from_str(text: &str) -> Result<Self, NotAHashPrefix> {
        let fits = (SHELF_DIGITS..=MAX_HASH_PREFIX).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(NotAHashPrefix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_web_sites_are_read_into_one_form() {
        let long = format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61));
        assert_eq!(long.len(), 253);
        for (given, expected) in [
            ("a.com", "a.com"),
            ("A.COM", "a.com"),
            ("www.A.com.", "www.a.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER.example", "xn--bcher-kva.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
            ("3com.com", "3com.com"),
            ("r3---sn-a5.googlevideo.com", "r3---sn-a5.googlevideo.com"),
            ("1.2.3.4.example", "1.2.3.4.example"),
            (&long, &long),
        ] {
            assert_eq!(Hostname::parse(given).unwrap().as_str(), expected, "{given:?}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_their_name() {
        let long = format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(62));
        for given in [
            "",
            ".",
            "..",
            "localhost",
            "com.",
            ".com",
            "a..com",
            "-a.com",
            "a-.com",
            "a_b.com",
            "a b.com",
            " a.com",
            "a.com ",
            "a.com:80",
            "http://a.com",
            "a.com/",
            "user@a.com",
            "a.com\0",
            "a%2e.com",
            "127.0.0.1",
            "127.1",
            "1.2.3",
            "a.1",
            "0x7f.0x1",
            "[::1]",
            "::1",
            "2001:db8::1",
            "xn--.com",
            "a;b.com",
            "a'b.com",
            &"x".repeat(5_000),
            &long,
            &format!("{}.com", "a".repeat(64)),
        ] {
            let error = Hostname::parse(given).unwrap_err().to_string();
            let start: String = given.chars().take(20).collect();
            assert!(error.contains(format!("{start:?}").trim_matches('"')), "{error} for {given:?}");
        }
    }

    #[test]
    fn hostnames_that_are_not_web_sites_are_recognised() {
        for (given, hostname) in [("localhost", true), ("123.456", true), ("10.0.0.1", true), ("a;b", false)]
        {
            assert_eq!(Hostname::parse(given).unwrap_err().is_some_hostname(), hostname, "{given}");
        }
    }

    #[test]
    fn hosts_are_found_by_the_beginning_of_their_hash() {
        // printf a.com | sha256sum
        let host = Hostname::parse("a.com").unwrap();
        let hash = hex::encode(Sha256::digest(b"a.com"));
        assert_eq!(host.hash().shelf(), &hash[..4]);
        for digits in 4..=8 {
            assert!(hash[..digits].to_uppercase().parse::<HashPrefix>().unwrap().begins(&host));
        }
        for bad in ["", "abc", "abcdef012", "abcg", "ab d"] {
            assert_eq!(bad.parse::<HashPrefix>(), Err(NotAHashPrefix), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_input_is_answered_and_reading_twice_changes_nothing(given in "\\PC{0,40}|[a-zA-ZüÜ0-9.-]{1,30}") {
            if let Ok(host) = Hostname::parse(&given) {
                prop_assert!(host.as_str().contains('.'));
                prop_assert!(host.as_str().len() <= MAX_HOSTNAME);
                prop_assert_eq!(Hostname::parse(host.as_str()).unwrap(), host);
            }
        }
    }
}
