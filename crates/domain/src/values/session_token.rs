//! The token of a session, and the hash under which the session is stored.

use crate::values::NoRandomness;
use crate::values::secrets::random_token;
use crate::values::text_forms::{never_logged, shown};
use sha2::{Digest, Sha256};

/// The hexadecimal digits of a session token.
pub const TOKEN_DIGITS: usize = 40;
/// The hexadecimal digits of the hash of a token.
const HASH_DIGITS: usize = 64;
/// The digits of the hash that name a session to its owner. They do not reveal the rest.
pub const SESSION_ID_DIGITS: usize = 16;

/// A session token: what a browser holds in its cookie. Never logged.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionToken(String);

impl SessionToken {
    /// A new token.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub fn random() -> Result<Self, NoRandomness> {
        random_token().map(Self)
    }

    /// Reads a token: 40 hexadecimal digits, in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        is_hexadecimal(text, TOKEN_DIGITS).then(|| Self(text.to_ascii_lowercase()))
    }

    /// The token itself, for the cookie.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The hash of the token. The store holds no more than this.
    pub fn hash(&self) -> SessionHash {
        SessionHash(hex::encode(Sha256::digest(&self.0)))
    }
}

never_logged!(SessionToken);

/// The SHA-256 of a session token, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionHash(String);

impl SessionHash {
    /// Reads a hash as it is stored.
    pub fn parse(text: &str) -> Option<Self> {
        is_hexadecimal(text, HASH_DIGITS).then(|| Self(text.to_owned()))
    }

    /// The first digits, which name the session on pages and in the API.
    pub fn id(&self) -> &str {
        self.0.get(..SESSION_ID_DIGITS).unwrap_or_default()
    }
}

shown!(SessionHash: |hash| hash.0);

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_40_hexadecimal_digits() {
        let token = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(SessionToken::parse(token).unwrap().expose(), token);
        assert_eq!(SessionToken::parse(&token.to_uppercase()).unwrap().expose(), token);
        for wrong in
            ["", &token[1..], &format!("{token}0"), &token.replace('0', "g"), &token.replace('0', "é")]
        {
            assert_eq!(SessionToken::parse(wrong), None, "{wrong}");
        }
        assert_eq!(SessionToken::random().unwrap().expose().len(), TOKEN_DIGITS);
    }

    /// Compared with `sha256sum`.
    #[test]
    fn the_hash_is_of_the_digits_and_its_beginning_is_the_id() {
        let token = SessionToken::parse("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
        let hash = token.hash();
        assert_eq!(hash.to_string(), EXPECTED);
        assert_eq!(SessionHash::parse(EXPECTED).as_ref(), Some(&hash));
        assert_eq!(hash.id(), &EXPECTED[..16]);
        assert!(!format!("{token:?}").contains("aaaa"));
    }

    const EXPECTED: &str = "e33cdf9c7f7120b98e8c78408953e07f2ecd183006b5606df349b4c212acf43e";
}
