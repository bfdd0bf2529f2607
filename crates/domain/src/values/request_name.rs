//! What a client calls a request that it may send again.

use sha2::{Digest, Sha256};

/// The most characters of a name.
pub const MAX_REQUEST_NAME: usize = 64;
/// Bytes of the hash that stands for a name in the store.
const HASH_BYTES: usize = 16;

/// The name of a request: any 1 to 64 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestName(String);

impl RequestName {
    /// Reads a name; `None` if it is empty or too long.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (1..=MAX_REQUEST_NAME).contains(&text.chars().count()).then(|| Self(text.to_owned()))
    }

    /// The name in keys of the store, where its length must be bounded.
    #[must_use]
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(&self.0);
        hex::encode(digest.get(..HASH_BYTES).unwrap_or(&digest))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_1_to_64_characters_of_any_kind() {
        for name in ["a", " ", "\u{1F980}", "a\u{0}b", &"é".repeat(64)] {
            assert_eq!(RequestName::parse(name).unwrap().hash().len(), 32, "{name:?}");
        }
        assert_eq!(RequestName::parse(""), None);
        assert_eq!(RequestName::parse(&"é".repeat(65)), None);
    }

    #[test]
    fn names_that_differ_have_different_hashes() {
        let hash = |name: &str| RequestName::parse(name).unwrap().hash();
        assert_eq!(hash("a"), hash("a"));
        assert_ne!(hash("a"), hash("A"));
        assert_ne!(hash("a"), hash("a "));
    }
}
