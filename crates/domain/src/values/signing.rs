//! Signatures of the site: for what browsers carry from one step of a login, or of adding a passkey,
//! to the next. So strangers who begin a login store nothing.

use crate::values::secrets::random_token;
use crate::values::text_forms::{named, never_logged};
use crate::values::{NoRandomness, SECOND_STEP_SECONDS, Timestamp};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use strum::IntoStaticStr;
use subtle::ConstantTimeEq;

const NONCE_BYTES: usize = 16;
const TIME_BYTES: usize = 8;
const SIGNATURE_BYTES: usize = 32;
/// Bytes of a hashed key, and of a block of SHA-256.
const KEY_BYTES: usize = 32;
const BLOCK_BYTES: usize = 64;

/// The bytes of a challenge: a nonce, the time and a signature of both.
pub(crate) const CHALLENGE_BYTES: usize = NONCE_BYTES + TIME_BYTES + SIGNATURE_BYTES;

/// The key of the site's signatures. Never logged.
#[derive(Clone)]
pub(crate) struct SigningKey(String);

never_logged!(SigningKey);

impl SigningKey {
    /// A key that has been drawn, as it is stored.
    pub(crate) const fn new(key: String) -> Self {
        Self(key)
    }

    /// A new key.
    pub(crate) fn random() -> Result<Self, NoRandomness> {
        random_token().map(Self)
    }

    /// The key itself, to store it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The signature of these texts for one purpose.
    pub(crate) fn sign(&self, purpose: Purpose, parts: &[&[u8]]) -> [u8; SIGNATURE_BYTES] {
        // Hashed to a fixed length, with which nothing can fail.
        let key: [u8; KEY_BYTES] = Sha256::digest(&self.0).into();
        let mut block = [0; BLOCK_BYTES];
        block[..KEY_BYTES].copy_from_slice(&key);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        for part in [purpose.name().as_bytes()].iter().chain(parts) {
            // With its length, so that no two lists of parts are the same bytes.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// A challenge for a passkey, which nobody else can make. It holds for `bound_to` only.
    pub(crate) fn challenge(
        &self,
        purpose: Purpose,
        now: Timestamp,
        bound_to: &[u8],
    ) -> Result<[u8; CHALLENGE_BYTES], NoRandomness> {
        let mut challenge = [0; CHALLENGE_BYTES];
        let (nonce, rest) = challenge.split_at_mut(NONCE_BYTES);
        getrandom::fill(nonce)?;
        let (time, signature) = rest.split_at_mut(TIME_BYTES);
        time.copy_from_slice(&now.0.to_be_bytes());
        signature.copy_from_slice(&self.sign(purpose, &[nonce, time, bound_to]));
        Ok(challenge)
    }

    /// Whether a challenge is of this site, for this purpose and recent.
    pub(crate) fn is_challenge(
        &self,
        purpose: Purpose,
        now: Timestamp,
        (challenge, bound_to): (&[u8], &[u8]),
    ) -> bool {
        if challenge.len() != CHALLENGE_BYTES {
            return false;
        }
        let (nonce, rest) = challenge.split_at(NONCE_BYTES);
        let (time, signature) = rest.split_at(TIME_BYTES);
        let is_signed = self.sign(purpose, &[nonce, time, bound_to]).ct_eq(signature);
        let made = time.try_into().map(u64::from_be_bytes).unwrap_or_default();
        bool::from(is_signed) && is_recent(Timestamp(made), now)
    }
}

/// The purpose of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Purpose {
    /// The first step of a login: the password was right.
    Password,
    /// The challenge for a login with a passkey.
    #[strum(serialize = "log in")]
    LogIn,
    /// The challenge for a new passkey.
    #[strum(serialize = "add passkey")]
    AddPasskey,
    /// The link that makes somebody the first administrator.
    #[strum(serialize = "first administrator")]
    FirstAdministrator,
    /// A sentence that a page says once, after an action of its viewer.
    Notice,
    /// The browser that begins a login through a provider.
    #[strum(serialize = "oidc browser")]
    OidcBrowser,
    /// A login through a provider, on its way.
    #[strum(serialize = "oidc state")]
    OidcState,
    /// The nonce of one.
    #[strum(serialize = "oidc nonce")]
    OidcNonce,
    /// The code verifier of one.
    #[strum(serialize = "oidc verifier")]
    OidcVerifier,
    /// Somebody whom the provider knows, before they have an account.
    #[strum(serialize = "oidc login")]
    OidcLogin,
    /// The link with which an administrator logs in.
    #[strum(serialize = "login link")]
    LoginLink,
}

named!(Purpose);

/// Whether what was signed at a time still holds.
pub(crate) fn is_recent(made: Timestamp, now: Timestamp) -> bool {
    made <= now && now.seconds_since(made) <= SECOND_STEP_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn new_key() -> SigningKey {
        SigningKey::random().unwrap()
    }

    #[test]
    fn a_challenge_holds_for_its_purpose_and_a_few_minutes() {
        let key = new_key();
        let challenge = key.challenge(Purpose::LogIn, NOW, b"alice").unwrap();
        let is = |key: &SigningKey, purpose, seconds: u64, bound: &[u8]| {
            key.is_challenge(purpose, Timestamp(seconds), (&challenge, bound))
        };
        assert!(is(&key, Purpose::LogIn, NOW.0, b"alice"));
        assert!(is(&key, Purpose::LogIn, NOW.0 + SECOND_STEP_SECONDS, b"alice"));
        assert!(!is(&key, Purpose::LogIn, NOW.0 + SECOND_STEP_SECONDS + 1, b"alice"));
        assert!(!is(&key, Purpose::LogIn, NOW.0 - 1, b"alice"), "made in the future");
        assert!(!is(&key, Purpose::AddPasskey, NOW.0, b"alice"));
        assert!(!is(&key, Purpose::LogIn, NOW.0, b"bob"));
        assert!(!is(&new_key(), Purpose::LogIn, NOW.0, b"alice"));
        assert_ne!(challenge, key.challenge(Purpose::LogIn, NOW, b"alice").unwrap());
    }

    #[test]
    fn a_challenge_that_was_changed_or_cut_is_none() {
        let key = new_key();
        let challenge = key.challenge(Purpose::LogIn, NOW, b"").unwrap();
        for position in 0..CHALLENGE_BYTES {
            let mut changed = challenge;
            changed[position] ^= 1;
            assert!(!key.is_challenge(Purpose::LogIn, NOW, (&changed, b"")), "byte {position}");
        }
        for part in [&challenge[..0], &challenge[1..], &challenge[..CHALLENGE_BYTES - 1]] {
            assert!(!key.is_challenge(Purpose::LogIn, NOW, (part, b"")));
        }
    }

    #[test]
    fn parts_cannot_be_moved_from_one_to_the_next() {
        let key = new_key();
        let sign = |parts: &[&[u8]]| key.sign(Purpose::Password, parts);
        assert_ne!(sign(&[b"ab", b"c"]), sign(&[b"a", b"bc"]));
        assert_ne!(sign(&[b"ab"]), sign(&[b"ab", b""]));
    }

    #[test]
    fn a_key_is_never_logged() {
        let key = new_key();
        assert!(!format!("{key:?}").contains(key.expose()));
    }
}
