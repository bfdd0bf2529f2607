//! What the second step of a login, or of adding a passkey, must know of the first: signed by
//! the site and carried by the browser. So strangers who begin a login store nothing.
//!
//! The key of the signatures is drawn once, is in the store, and is the same for all servers of it.

use crate::error::Error;
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use crate::values::limits::SECOND_STEP_SECONDS;
use crate::values::secrets::{NoRandomness, random_token};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt::{self, Debug, Formatter};
use subtle::ConstantTimeEq;
use tidings_keyspace::{Batch, Query};

const NONCE_BYTES: usize = 16;
const TIME_BYTES: usize = 8;
const SIGNATURE_BYTES: usize = 32;

/// The bytes of a challenge: a nonce, the time and a signature of both.
pub(crate) const CHALLENGE_BYTES: usize = NONCE_BYTES + TIME_BYTES + SIGNATURE_BYTES;

/// The key of the site's signatures. Never logged.
pub(crate) struct SigningKey(String);

impl Debug for SigningKey {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey(***)")
    }
}

impl SigningKey {
    /// The key of the site. Rounds: none once this server knows it; 1 before, and 2 more if no
    /// server has drawn it yet.
    pub(crate) async fn of(site: &Site) -> Result<&Self, Error> {
        site.signing_key.get_or_try_init(|| read_or_draw(site)).await
    }

    /// The signature of these texts for one purpose.
    pub(crate) fn sign(&self, purpose: Purpose, parts: &[&[u8]]) -> Result<[u8; SIGNATURE_BYTES], Error> {
        let key = Hmac::<Sha256>::new_from_slice(self.0.as_bytes());
        let mut mac = key.map_err(|error| Error::Internal(error.to_string()))?;
        for part in [purpose.name().as_bytes()].iter().chain(parts) {
            // With its length, so that no two lists of parts are the same bytes.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Ok(mac.finalize().into_bytes().into())
    }

    /// A challenge for a passkey, which nobody else can make. `bound_to` is what it holds for.
    pub(crate) fn challenge(
        &self,
        purpose: Purpose,
        now: Timestamp,
        bound_to: &[u8],
    ) -> Result<[u8; CHALLENGE_BYTES], Error> {
        let mut challenge = [0; CHALLENGE_BYTES];
        let (nonce, rest) = challenge.split_at_mut(NONCE_BYTES);
        getrandom::fill(nonce).map_err(NoRandomness::from)?;
        let (time, signature) = rest.split_at_mut(TIME_BYTES);
        time.copy_from_slice(&now.0.to_be_bytes());
        signature.copy_from_slice(&self.sign(purpose, &[nonce, time, bound_to])?);
        Ok(challenge)
    }

    /// Whether a challenge is of this site, for this purpose and recent.
    pub(crate) fn is_challenge(
        &self,
        purpose: Purpose,
        now: Timestamp,
        (challenge, bound_to): (&[u8], &[u8]),
    ) -> Result<bool, Error> {
        if challenge.len() != CHALLENGE_BYTES {
            return Ok(false);
        }
        let (nonce, rest) = challenge.split_at(NONCE_BYTES);
        let (time, signature) = rest.split_at(TIME_BYTES);
        let is_signed = self.sign(purpose, &[nonce, time, bound_to])?.ct_eq(signature);
        let made = time.try_into().map(u64::from_be_bytes).unwrap_or_default();
        Ok(bool::from(is_signed) && is_recent(Timestamp(made), now))
    }
}

/// What is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The first step of a login: the password was right.
    Password,
    /// The challenge for a login with a passkey.
    LogIn,
    /// The challenge for a new passkey.
    AddPasskey,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::LogIn => "log in",
            Self::AddPasskey => "add passkey",
        }
    }
}

/// Whether what was signed at a time still holds.
pub(crate) fn is_recent(made: Timestamp, now: Timestamp) -> bool {
    made <= now && now.seconds_since(made) <= SECOND_STEP_SECONDS
}

async fn read_or_draw(site: &Site) -> Result<SigningKey, Error> {
    if let Some(key) = read(site).await? {
        return Ok(key);
    }
    let drawn = random_token()?;
    let mut batch = Batch::new();
    batch.key_absent(keys::SIGNING_KEY);
    batch.set(keys::SIGNING_KEY, &drawn);
    if let Applied::Yes(_) = site.apply(batch).await? {
        return Ok(SigningKey(drawn));
    }
    // Another server was faster.
    read(site).await?.ok_or(Error::Busy)
}

async fn read(site: &Site) -> Result<Option<SigningKey>, Error> {
    let mut query = Query::new();
    let key = query.string(keys::SIGNING_KEY);
    let key = site.store.query(query).await?.take(key);
    Ok(key.filter(|key| !key.is_empty()).map(SigningKey))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::passwords::PasswordWorker;
    use crate::values::rules::Rules;
    use tidings_keyspace::Store;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn key() -> SigningKey {
        SigningKey(random_token().unwrap())
    }

    #[test]
    fn a_challenge_holds_for_its_purpose_and_a_few_minutes() {
        let key = key();
        let challenge = key.challenge(Purpose::LogIn, NOW, b"alice").unwrap();
        let is = |key: &SigningKey, purpose, seconds: u64, bound: &[u8]| {
            key.is_challenge(purpose, Timestamp(seconds), (&challenge, bound)).unwrap()
        };
        assert!(is(&key, Purpose::LogIn, NOW.0, b"alice"));
        assert!(is(&key, Purpose::LogIn, NOW.0 + SECOND_STEP_SECONDS, b"alice"));
        assert!(!is(&key, Purpose::LogIn, NOW.0 + SECOND_STEP_SECONDS + 1, b"alice"));
        assert!(!is(&key, Purpose::LogIn, NOW.0 - 1, b"alice"), "made in the future");
        assert!(!is(&key, Purpose::AddPasskey, NOW.0, b"alice"));
        assert!(!is(&key, Purpose::LogIn, NOW.0, b"bob"));
        assert!(!is(&SigningKey(random_token().unwrap()), Purpose::LogIn, NOW.0, b"alice"));
        assert_ne!(challenge, key.challenge(Purpose::LogIn, NOW, b"alice").unwrap());
    }

    #[test]
    fn a_challenge_that_was_changed_or_cut_is_none() {
        let key = key();
        let challenge = key.challenge(Purpose::LogIn, NOW, b"").unwrap();
        for position in 0..CHALLENGE_BYTES {
            let mut changed = challenge;
            changed[position] ^= 1;
            assert!(!key.is_challenge(Purpose::LogIn, NOW, (&changed, b"")).unwrap(), "byte {position}");
        }
        for part in [&challenge[..0], &challenge[1..], &challenge[..CHALLENGE_BYTES - 1]] {
            assert!(!key.is_challenge(Purpose::LogIn, NOW, (part, b"")).unwrap());
        }
    }

    #[test]
    fn parts_cannot_be_moved_from_one_to_the_next() {
        let key = key();
        let sign = |parts: &[&[u8]]| key.sign(Purpose::Password, parts).unwrap();
        assert_ne!(sign(&[b"ab", b"c"]), sign(&[b"a", b"bc"]));
        assert_ne!(sign(&[b"ab"]), sign(&[b"ab", b""]));
    }

    #[tokio::test]
    async fn all_servers_of_a_store_have_the_same_key() {
        let store = Store::in_memory().await.unwrap();
        let site = |store: &Store| Site::new(store.clone(), Rules::default(), PasswordWorker::default());
        let (one, other) = (site(&store), site(&store));
        let key = SigningKey::of(&one).await.unwrap().0.clone();
        assert_eq!(SigningKey::of(&other).await.unwrap().0, key);
        assert_eq!(SigningKey::of(&one).await.unwrap().0, key);
        assert!(!format!("{:?}", SigningKey(key.clone())).contains(&key));
    }
}
