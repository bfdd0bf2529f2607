//! Session tokens, form secrets and reset tokens: made at random, compared in
//! constant time.

use subtle::ConstantTimeEq;

/// Bytes of randomness in a token: 160 bits, as in the original.
const TOKEN_BYTES: usize = 20;

/// The operating system returned no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct NoRandomness(#[from] getrandom::Error);

/// A new token: 160 random bits as 40 lower-case hexadecimal digits.
///
/// # Errors
/// [`NoRandomness`] when the operating system's generator fails.
pub fn random_token() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// Whether two secrets are the same, in a time that reveals only their lengths.
///
/// An absent secret is often an empty text, so an empty one never equals anything.
#[must_use]
pub fn same_secret(left: &str, right: &str) -> bool {
    !left.is_empty() && bool::from(left.as_bytes().ct_eq(right.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_token_is_forty_lower_case_hexadecimal_digits() {
        let token = random_token().unwrap();
        assert_eq!(token.len(), 40);
        assert!(token.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{token}");
    }

    #[test]
    fn tokens_differ() {
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
}
