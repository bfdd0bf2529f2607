//! The key with which feed readers and other programs of a member read a site that only members read. The store has its hash.
//!
//! Keys: the field `reading_key` of a user.

use crate::accounts::users::set_secret;
use crate::values::{UserId, never_logged, random_hex, same_secret};
use crate::{Result, Site, User};
use sha2::{Digest, Sha256};

/// The field of a user with the hash of their key; empty or absent without one.
pub(crate) const READING_KEY: &str = "reading_key";

/// The random bytes of a key.
const BYTES: usize = 16;

/// A key as it stands in addresses: the number of the account and 32 hexadecimal digits. Never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadingKey {
    pub(crate) owner: UserId,
    digits: String,
}

impl ReadingKey {
    /// Reads a key.
    pub fn parse(text: &str) -> Option<Self> {
        let (owner, digits) = text.split_once('-')?;
        let is_whole = digits.len() == 2 * BYTES && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self { owner: owner.parse().ok().filter(|_| is_whole)?, digits: digits.to_ascii_lowercase() })
    }

    /// The key itself, for addresses.
    pub fn expose(&self) -> String {
        format!("{}-{}", self.owner, self.digits)
    }

    /// Whether this is the key of a user, in a time that does not depend on where it differs.
    pub(crate) fn opens(&self, user: &User) -> bool {
        self.owner == user.id && same_secret(&user.reading_key, &self.hash())
    }

    fn hash(&self) -> String {
        hex::encode(Sha256::digest(&self.digits))
    }
}

never_logged!(ReadingKey);

/// Gives a user a new key, so that the earlier one is no longer valid. Rounds: 2.
///
/// # Errors
/// As for [`withdraw`].
pub async fn replace(site: &Site, owner: UserId) -> Result<ReadingKey> {
    let key = ReadingKey { owner, digits: random_hex::<BYTES>()? };
    set_secret(site, owner, (READING_KEY, &key.hash())).await?;
    Ok(key)
}

/// Takes the key of a user away. Rounds: 2.
///
/// # Errors
/// [`Refusal::SessionEnded`](crate::Refusal::SessionEnded) when the account has been deactivated meanwhile, or the store's.
pub async fn withdraw(site: &Site, owner: UserId) -> Result<()> {
    set_secret(site, owner, (READING_KEY, "")).await
}
