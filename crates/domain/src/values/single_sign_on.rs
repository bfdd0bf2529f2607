//! Single sign-on: the rules for it, and the identity of a person at an OpenID provider.

use crate::values::text_forms::shown;
use crate::values::{Choice, email};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

/// The rules for logging in through a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OidcRules {
    /// The domains of verified e-mail addresses that may log in; empty = all, and those without an address.
    pub allowed_domains: NameList,
    /// The groups at the provider whose members are moderators.
    pub moderators: NameList,
    /// The groups at the provider whose members are administrators.
    pub administrators: NameList,
    /// Whether there are no passwords and no other way to sign up.
    pub only: bool,
    /// Where the second step of a login is.
    pub mfa: SecondStepAt,
}

impl OidcRules {
    /// Whether an address is of an allowed domain. Subdomains are other domains.
    pub fn allows(&self, address: Option<&str>) -> bool {
        let domain = || address.and_then(email::domain_of);
        let is_listed = |domain: String| {
            self.allowed_domains
                .names()
                .any(|listed| listed.trim_start_matches('@').eq_ignore_ascii_case(&domain))
        };
        self.allowed_domains.is_empty() || domain().is_some_and(is_listed)
    }
}

/// Where the second step of a login through a provider is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SecondStepAt {
    /// Here, unless the provider says that it has asked for a second factor.
    #[default]
    Site,
    /// At the provider, whatever it says.
    Provider,
}

impl Choice for SecondStepAt {}

/// Names with commas between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameList(String);

impl NameList {
    /// Reads it.
    pub fn parse(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether it has no name.
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }

    /// Whether it has a name, as it is written.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|listed| listed == name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split(',').map(str::trim).filter(|name| !name.is_empty())
    }
}

shown!(NameList: |names| names.0);

/// The identity of a person at a provider: the SHA-256 of its issuer and of the subject there, as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderIdentity(String);

impl ProviderIdentity {
    /// The identity of a subject.
    pub fn new(issuer: &str, subject: &str) -> Self {
        Self(hex::encode(Sha256::digest(format!("{issuer}\n{subject}"))))
    }

    /// An identity as it is stored.
    pub(crate) fn stored(text: &str) -> Option<Self> {
        let is_whole = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_whole.then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_allowed_as_a_whole() {
        let rules =
            OidcRules { allowed_domains: NameList::parse("@example.com, B.example"), ..OidcRules::default() };
        for (address, is_allowed) in [
            (Some("a@example.com"), true),
            (Some("a@EXAMPLE.com"), true),
            (Some("a@b.example"), true),
            (Some("a@sub.example.com"), false),
            (Some("a@notexample.com"), false),
            (Some("a@example.com@evil.example"), false),
            (None, false),
        ] {
            assert_eq!(rules.allows(address), is_allowed, "{address:?}");
        }
        assert!(OidcRules::default().allows(None));
    }

    #[test]
    fn issuer_and_subject_are_kept_apart() {
        let identities = [("https://a", "b"), ("https://ab", ""), ("https://a", "c")];
        let identities = identities.map(|(issuer, subject)| ProviderIdentity::new(issuer, subject));
        assert!(identities[0] != identities[1] && identities[0] != identities[2]);
        assert_eq!(ProviderIdentity::stored(identities[0].as_str()).as_ref(), Some(&identities[0]));
        assert_eq!(ProviderIdentity::stored("x"), None);
    }
}
