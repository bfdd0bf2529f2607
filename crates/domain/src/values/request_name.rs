//! The name that a client gives to a request that it may send again.

use crate::values::text_forms::shown;
use sha2::{Digest, Sha256};

/// The most characters of a name.
pub const MAX_REQUEST_NAME: usize = 64;
/// Bytes of the hash that stands for a request in the store.
const HASH_BYTES: usize = 16;

/// The name of a request: any 1 to 64 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestName(String);

impl RequestName {
    /// Reads a name; `None` if it is empty or too long.
    pub fn parse(text: &str) -> Option<Self> {
        (1..=MAX_REQUEST_NAME).contains(&text.chars().count()).then(|| Self(text.to_owned()))
    }
}

text_values!(RequestName);

/// A request in keys of the store: the same for the same name, address and fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHash(String);

impl RequestHash {
    /// The hash of a request. The order of the fields does not matter.
    pub fn of(name: &RequestName, address: &str, fields: &[(&str, &str)]) -> Self {
        let mut fields = fields.to_vec();
        fields.sort_unstable();
        let mut hasher = Sha256::new();
        let parts = fields.iter().flat_map(|(name, value)| [*name, *value]);
        for part in [name.as_str(), address].into_iter().chain(parts) {
            // With its length, no part can look like the end of one and the beginning of the next.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let digest = hasher.finalize();
        Self(hex::encode(digest.get(..HASH_BYTES).unwrap_or(&digest)))
    }
}

shown!(RequestHash: |hash| hash.0);

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(name: &str, address: &str, fields: &[(&str, &str)]) -> String {
        RequestHash::of(&RequestName::parse(name).unwrap(), address, fields).to_string()
    }

    #[test]
    fn a_name_has_1_to_64_characters_of_any_kind() {
        for name in ["a", " ", "\u{1F980}", "a\u{0}b", &"é".repeat(64)] {
            assert_eq!(hash(name, "/", &[]).len(), 32, "{name:?}");
        }
        assert_eq!(RequestName::parse(""), None);
        assert_eq!(RequestName::parse(&"é".repeat(65)), None);
    }

    #[test]
    fn requests_that_differ_have_different_hashes() {
        let hashes = [
            hash("a", "/", &[]),
            hash("A", "/", &[]),
            hash("a ", "/", &[]),
            hash("a/", "", &[]),
            hash("a", "/b", &[]),
            hash("a", "/", &[("b", "")]),
            hash("a", "/", &[("b", "c")]),
            hash("a", "/", &[("bc", "")]),
            hash("a", "/", &[("b", "c"), ("d", "e")]),
            hash("a", "/", &[("b", "e"), ("d", "c")]),
        ];
        for (number, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..number].contains(hash), "{number}");
        }
        assert_eq!(hash("a", "/", &[("d", "e"), ("b", "c")]), hashes[8]);
    }
}
