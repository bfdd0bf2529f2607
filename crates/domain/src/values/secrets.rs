//! Session tokens, form secrets and reset tokens: made at random, compared in
//! constant time, and masked for pages.

use crate::values::text_forms::shown;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Bytes of randomness in a token: 160 bits, as in the original.
const TOKEN_BYTES: usize = 20;
/// Bytes of randomness in a masked secret.
const SALT_BYTES: usize = 16;
/// Bytes of the hash in a masked secret.
const MASK_BYTES: usize = 20;
/// The hexadecimal digits of a masked secret.
pub const MASKED_DIGITS: usize = 2 * (SALT_BYTES + MASK_BYTES);

/// The operating system returned no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct NoRandomness(#[from] getrandom::Error);

/// A new token: 160 random bits as 40 lower-case hexadecimal digits.
///
/// # Errors
/// [`NoRandomness`] when the operating system's generator fails.
pub fn random_token() -> Result<String, NoRandomness> {
    random_hex::<TOKEN_BYTES>()
}

/// Random bytes as lower-case hexadecimal digits.
///
/// # Errors
/// [`NoRandomness`] when the operating system's generator fails.
pub fn random_hex<const BYTES: usize>() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// A keyed hash of a text, as hexadecimal digits. The secret has always the same length.
pub(super) fn keyed_hash(secret: &str, text: &str) -> String {
    hex::encode(Sha256::new().chain_update(secret).chain_update([0]).chain_update(text).finalize())
}

/// A name that somebody typed to log in, as keys name it: a keyed hash. People type passwords
/// there, so the text itself is stored nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedName(String);

/// The hexadecimal digits of it: 128 bits, so that no two names are counted as one.
const NAME_DIGITS: usize = 32;

impl TypedName {
    /// The hash of a name. Case makes no difference, as in names.
    pub fn of(name: &str, secret: &str) -> Self {
        let mut hash = keyed_hash(secret, &format!("name {}", name.to_lowercase()));
        hash.truncate(NAME_DIGITS);
        Self(hash)
    }
}

shown!(TypedName: |name| name.0);

/// Whether two secrets are the same, in a time that reveals only their lengths.
///
/// An absent secret is often an empty text, so an empty one never equals anything.
pub fn same_secret(left: &str, right: &str) -> bool {
    !left.is_empty() && bool::from(left.as_bytes().ct_eq(right.as_bytes()))
}

/// A secret as pages show it: different each time, so that the sizes of compressed pages
/// reveal nothing about it (BREACH). It is a random salt and a hash of the salt and the
/// secret, so it does not reveal the secret either.
///
/// # Errors
/// [`NoRandomness`] when the operating system's generator fails.
pub fn mask(secret: &str) -> Result<String, NoRandomness> {
    let mut salt = [0_u8; SALT_BYTES];
    getrandom::fill(&mut salt)?;
    Ok(hex::encode(salt) + &hex::encode(masked_hash(&salt, secret)))
}

/// Whether `given` is a result of [`mask`] for a secret. An empty secret matches nothing.
pub fn is_masked(secret: &str, given: &str) -> bool {
    let mut bytes = [0_u8; SALT_BYTES + MASK_BYTES];
    if secret.is_empty() || hex::decode_to_slice(given, &mut bytes).is_err() {
        return false;
    }
    let (salt, hash) = bytes.split_at(SALT_BYTES);
    masked_hash(salt, secret).ct_eq(hash).into()
}

fn masked_hash(salt: &[u8], secret: &str) -> [u8; MASK_BYTES] {
    let digest = Sha256::new().chain_update(salt).chain_update(secret).finalize();
    let mut hash = [0; MASK_BYTES];
    hash.copy_from_slice(&digest[..MASK_BYTES]);
    hash
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn tokens_are_forty_lower_case_hexadecimal_digits_and_differ() {
        let token = random_token().unwrap();
        assert_eq!(token.len(), 40);
        assert!(token.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{token}");
        let tokens: HashSet<String> = (0..1000).map(|_| random_token().unwrap()).collect();
        assert_eq!(tokens.len(), 1000);
    }

    #[test]
    fn only_equal_and_present_secrets_are_the_same() {
        let table = [
            ("abc", "abc", true),
            ("abc", "abd", false),
            ("abc", "abcd", false),
            ("abc", "", false),
            ("", "abc", false),
            ("", "", false),
        ];
        for (left, right, expected) in table {
            assert_eq!(same_secret(left, right), expected, "{left:?} and {right:?}");
        }
    }
    #[test]
    fn a_secret_is_masked_differently_each_time_and_nothing_else_is_taken_for_it() {
        for secret in [random_token().unwrap().as_str(), "secret", "é"] {
            let (one, other) = (mask(secret).unwrap(), mask(secret).unwrap());
            assert_ne!(one, other);
            assert!(one.len() == MASKED_DIGITS && !one.contains(secret), "{one}");
            assert!(is_masked(secret, &one) && is_masked(secret, &other));
            assert!(!is_masked("another", &one) && !is_masked("", &one));
            for position in 0..MASKED_DIGITS {
                let mut tampered = one.clone().into_bytes();
                tampered[position] = if tampered[position] == b'0' { b'1' } else { b'0' };
                assert!(!is_masked(secret, &String::from_utf8(tampered).unwrap()), "digit {position}");
            }
            for wrong in ["", secret, &one[1..], &one[2..], &format!("{one}00")] {
                assert!(!is_masked(secret, wrong), "{wrong}");
            }
        }
        assert!(!is_masked("", &mask("").unwrap()));
    }
}
