//! The name of a web site: what can be voted on, and when two names are the same.

use crate::values::text_forms::read_text;
use crate::values::{
    MAX_HASH_PREFIX, MAX_HOSTNAME, MAX_HOSTNAME_LABEL, MAX_SHOWN_HOSTNAME, MAX_TYPED_HOSTNAME,
};
use sha2::{Digest, Sha256};
use std::net::Ipv6Addr;

/// A hostname that can be voted on: lower case, in its ASCII form, without a
/// trailing dot, of two or more labels as RFC 1123 allows them, and no address
/// of a machine. `www.` is part of the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hostname(String);

/// Why a text is not the name of a site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub struct HostnameError {
    given: String,
    fault: HostnameFault,
    is_some_hostname: bool,
}

/// The fault of a text that is not the name of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostnameFault {
    /// Nothing is left of it.
    Empty,
    /// More than [`MAX_HOSTNAME`] characters.
    TooLong,
    /// A character or a form that no name of a host has.
    NotAHostname,
    /// One label.
    SingleLabel,
    /// The address of a machine.
    Address,
}

impl HostnameError {
    /// The text, cut short.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Its fault.
    pub const fn fault(&self) -> HostnameFault {
        self.fault
    }

    /// Whether browsers know such hosts, though nobody can vote on them: names with
    /// characters beyond RFC 1123, single labels, addresses of machines.
    pub const fn is_some_hostname(&self) -> bool {
        self.is_some_hostname
    }
}

impl Hostname {
    /// Reads a hostname in any case, with or without a trailing dot, in ASCII
    /// or in any script (IDNA, as browsers read it).
    ///
    /// # Errors
    /// When it is not a hostname, or is a single label or an IP address.
    pub fn parse(given: &str) -> Result<Self, HostnameError> {
        read(given).map(Self).map_err(|fault| HostnameError {
            given: shown(given),
            fault,
            is_some_hostname: is_some_hostname(given),
        })
    }

    /// The name without `www.` and with it, which are one site. `None` if it has no other form.
    pub fn forms(&self) -> Option<[Self; 2]> {
        let bare = self.bare();
        let www = Self::parse(&format!("{WWW}{bare}")).ok()?;
        // A name such as `www.www.www.com` is no form of `www.www.com`, which is one of `www.com`.
        (bare == bare.bare()).then_some([bare, www])
    }

    /// The names of its site: [the two forms](Self::forms), or its own if it has no other.
    pub fn names(&self) -> Vec<Self> {
        self.forms().map_or_else(|| vec![self.clone()], Vec::from)
    }

    /// The same name without `www.`, or with it. `None` if that would be no name.
    pub fn other_form(&self) -> Option<Self> {
        self.forms()?.into_iter().find(|form| form != self)
    }

    /// The name without `www.`, by which pages call the site.
    pub fn bare(&self) -> Self {
        let bare = self.0.strip_prefix(WWW).and_then(|bare| Self::parse(bare).ok());
        bare.unwrap_or_else(|| self.clone())
    }

    /// The hash by which clients look up the name without revealing it.
    pub fn hash(&self) -> HashPrefix {
        HashPrefix(hex::encode(Sha256::digest(self.0.as_bytes())))
    }
}

text_values!(Hostname);

fn read(given: &str) -> Result<String, HostnameFault> {
    if given.is_empty() {
        return Err(HostnameFault::Empty);
    }
    if given.chars().count() > MAX_TYPED_HOSTNAME {
        return Err(HostnameFault::TooLong);
    }
    let mut name = idna::domain_to_ascii(given).map_err(|_| HostnameFault::NotAHostname)?;
    if name.ends_with('.') {
        name.pop();
    }
    if !name.split('.').all(is_label) {
        return Err(HostnameFault::NotAHostname);
    }
    if name.len() > MAX_HOSTNAME {
        return Err(HostnameFault::TooLong);
    }
    match name.rsplit_once('.') {
        None => Err(HostnameFault::SingleLabel),
        Some((_, last)) if is_number(last) => Err(HostnameFault::Address),
        Some(_) => Ok(name),
    }
}

/// The label that many sites have and others leave out.
const WWW: &str = "www.";

/// Whether a text may be the host of an address as a browser names it (`hostname` of the URL
/// Standard), which accepts more than can be voted on.
fn is_some_hostname(given: &str) -> bool {
    if given.len() > MAX_TYPED_HOSTNAME {
        return false;
    }
    if let Some(inner) = given.strip_prefix('[') {
        return inner.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    if given.is_ascii() {
        return !given.is_empty() && !given.bytes().any(is_forbidden_in_domains);
    }
    url::Host::parse(given).is_ok()
}

/// The forbidden domain code points of the URL Standard.
const fn is_forbidden_in_domains(byte: u8) -> bool {
    byte.is_ascii_control()
        || matches!(
            byte,
            b' ' | b'#' | b'%' | b'/' | b':' | b'<' | b'>' | b'?' | b'@' | b'[' | b'\\' | b']' | b'^' | b'|'
        )
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
    pub fn shelf(&self) -> &str {
        self.0.get(..SHELF_DIGITS).unwrap_or(&self.0)
    }

    /// Whether the hash of a host begins so.
    pub fn begins(&self, host: &Hostname) -> bool {
        host.hash().0.starts_with(&self.0)
    }
}

read_text!(HashPrefix or NotAHashPrefix: |text| {
    // A client asks for 4 to 8 digits, in either case.
    let fits = (SHELF_DIGITS..=MAX_HASH_PREFIX).contains(&text.len());
    let is_prefix = fits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_prefix.then(|| Self(text.to_ascii_lowercase()))
});

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
        let others = "|.|..|localhost|com.|.com|a..com|-a.com|a-.com|a_b.com|a b.com| a.com|a.com |a.com:80|\
            http://a.com|a.com/|user@a.com|a.com\0|a%2e.com|127.0.0.1|127.1|1.2.3|a.1|0x7f.0x1|[::1]|::1|\
            2001:db8::1|xn--.com|a;b.com|a'b.com";
        for given in
            others.split('|').chain([&*"x".repeat(5_000), &long, &*format!("{}.com", "a".repeat(64))])
        {
            let error = Hostname::parse(given).unwrap_err();
            let start: String = given.chars().take(20).collect();
            assert!(error.given().starts_with(&start), "{error} for {given:?}");
        }
    }

    #[test]
    fn all_that_browsers_call_a_host_is_recognised() {
        let long = format!("{}.com", "a".repeat(260));
        for (given, is_some_hostname) in [
            ("localhost", true),
            ("10.0.0.1", true),
            ("123.456", true),
            ("[::1]", true),
            ("[2001:db8::1]", true),
            ("a_b.example.com", true),
            ("_dmarc.example.com", true),
            ("-a.com", true),
            ("a..com", true),
            ("a;b", true),
            ("a~b.com", true),
            ("xn--a.com", true),
            ("xn--.com", true),
            ("b\u{fc}_cher.example", true),
            (&long, true),
            ("", false),
            ("::1", false),
            ("[::1", false),
            ("[a]", false),
            ("a b.com", false),
            ("a.com:80", false),
            ("a.com/", false),
            ("http://a.com", false),
            ("user@a.com", false),
            ("a%2eb", false),
            ("a<b>.com", false),
            ("a.com\0", false),
            ("a\\b", false),
            ("\u{fc} .example", false),
            (&"x".repeat(MAX_TYPED_HOSTNAME + 1), false),
        ] {
            assert_eq!(Hostname::parse(given).unwrap_err().is_some_hostname(), is_some_hostname, "{given}");
        }
    }

    #[test]
    fn a_name_has_another_form_with_or_without_www() {
        for (name, other) in [
            ("example.com", "www.example.com"),
            ("www.example.com", "example.com"),
            ("www.com", "www.www.com"),
            ("www.www.com", "www.com"),
            ("a.b.example", "www.a.b.example"),
        ] {
            let name = Hostname::parse(name).unwrap();
            assert_eq!(name.other_form().unwrap().as_str(), other);
            assert_eq!(name.other_form().unwrap().other_form().unwrap(), name);
        }
        let longest = format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(58));
        assert_eq!(Hostname::parse(&longest).unwrap().other_form(), None);
        assert_eq!(Hostname::parse("www.www.www.com").unwrap().forms(), None);
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
