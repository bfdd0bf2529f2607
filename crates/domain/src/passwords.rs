//! Passwords: hashed with Argon2id, and verified against every form that an older site may
//! have stored.
//!
//! Hashing is slow on purpose, so it runs off the async threads, a few at a time
//! ([`PasswordWorker`]): logins cannot starve the site. Every wrong password costs one
//! Argon2id verification, whatever is stored and whether or not the user exists, so the
//! time reveals nothing. The one exception is a wrapped hash ([`wrap_digest`]): it costs one
//! for each digest that the original could have stored.

mod legacy;
mod lines;
mod places;
mod worker;

pub(crate) use worker::Comparison;
pub use worker::PasswordWorker;

pub(crate) use lines::{HashingSource, Turn};

use legacy::{Digest20, without_blanks};
use std::fmt;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use subtle::{Choice, ConstantTimeEq};

use crate::values::{MAX_HASH_MEMORY_KIBIBYTES, MAX_HASH_PASSES, never_logged};

/// The least memory that OWASP recommends for Argon2id with two passes.
const MEMORY_KIBIBYTES: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// The prefix of a wrapped digest of the original. An Argon2id PHC string of the
/// digest's 40 lower-case hexadecimal digits follows.
const WRAPPED: &str = "old-digest:";

/// Why a password could not be hashed or verified.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// The queue is full; try again later.
    #[error("too many passwords are being checked already")]
    Busy,
    /// The queue of this address or account is full; the others are not affected.
    #[error("too many passwords of this address or account are being checked already")]
    Crowded,
    /// The hashing itself failed: no memory, or no randomness.
    #[error("the password could not be hashed: {0}")]
    Failed(String),
}

/// The stored fields about a user's password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoredPassword {
    /// The field `password`: a PHC string, 40 hexadecimal digits, or a wrapped digest.
    pub hash: String,
    /// The field `salt`, which counts for digests of the original only.
    pub salt: Option<String>,
    /// The field `password_trimmed`: the hash is of the password without the blanks around
    /// it, because Lamer News registered it.
    pub trimmed: bool,
}

impl StoredPassword {
    /// The part of a typed password that counts: for an account that Lamer News made, all but
    /// the blanks around it, as there.
    pub fn counting<'a>(&self, typed: &'a str) -> &'a str {
        if self.ignores_blanks() { without_blanks(typed) } else { typed }
    }

    /// Whether blanks around the password do not matter: for accounts that Lamer News made.
    pub fn ignores_blanks(&self) -> bool {
        self.trimmed || is_weak(&self.hash) || self.hash.starts_with(WRAPPED)
    }
}

never_logged!(StoredPassword);

/// The outcome of comparing a password with the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Not the password, or nothing usable is stored.
    Wrong,
    /// The password.
    Right,
    /// The password, but its hash is of an older form: store a new one.
    RightButOld,
}

/// Hashes a new password: an Argon2id PHC string with a random salt.
///
/// # Errors
/// [`PasswordError::Failed`] when there is no memory or no randomness.
pub fn hash_password(password: &str) -> Result<String, PasswordError> {
    let hash = current_argon2()?.hash_password(password.as_bytes()).map_err(failed)?;
    Ok(hash.to_string())
}

/// Compares a password with the stored one; the comparison takes the same time
/// wherever they differ.
///
/// - A PHC string of the Argon2 family is verified with the parameters it names.
/// - 40 hexadecimal digits with a salt are PBKDF2-HMAC-SHA1 (1000 iterations,
///   20 bytes), or else SHA1(salt|password).
/// - 40 hexadecimal digits without one are SHA1(`legacy_salt`|password).
/// - A digest wrapped by [`wrap_digest`] is compared with each of the same digests.
/// - Anything else verifies nothing.
///
/// The original removed blanks around passwords. So its digests are also compared with the
/// password without them, and a hash that replaced a digest is of that.
pub fn verify_password(stored: &StoredPassword, legacy_salt: &str, password: &str) -> Verification {
    let digests = || legacy::digests(stored.salt.as_deref(), legacy_salt, password);
    if let Some(wrapped) = stored.hash.strip_prefix(WRAPPED) {
        return verify_wrapped(wrapped, digests());
    }
    let Some(digest) = legacy::parse(&stored.hash) else {
        return verify_argon2(&stored.hash, stored.counting(password));
    };
    let equal = digests().iter().fold(Choice::from(0), |equal, other| equal | other.ct_eq(&digest));
    if bool::from(equal) {
        return Verification::RightButOld;
    }
    spend_a_verification(password);
    Verification::Wrong
}

/// Whether this is a digest of the original as it stored it: weak, and not wrapped yet.
pub fn is_weak(hash: &str) -> bool {
    legacy::parse(hash).is_some()
}

/// Protects a digest of the original until its owner logs in: Argon2id of the digest's
/// hexadecimal digits, marked as such. The salt of the digest must be kept.
///
/// # Errors
/// [`PasswordError::Failed`] when there is no memory or no randomness, or this is no digest.
pub fn wrap_digest(hash: &str) -> Result<String, PasswordError> {
    let digest = legacy::parse(hash).ok_or_else(|| failed("not a digest of the original"))?;
    Ok(format!("{WRAPPED}{}", hash_password(&hex::encode(digest))?))
}

/// The value of the field `salt` beside an Argon2id hash, which has its own. Lamer News, which
/// may run on the same Redis, hashes every typed password with this field: without it, a login
/// fails there with a 500 instead of a refusal.
pub fn salt_beside(hash: &str) -> String {
    hex::encode(hash.split('$').nth(4).unwrap_or_default())
}

/// Whether an account needs a random field `salt` for the same reason. An earlier version of
/// Tidings did not write one. A digest of 2011 without its own salt has that of the site, so
/// it must not get another.
pub fn lacks_salt(hash: Option<&str>, salt: Option<&str>) -> bool {
    salt.is_none() && !hash.is_some_and(|hash| is_weak(hash) || hash.starts_with(WRAPPED))
}

/// Takes as long as verifying a password, for users without one.
pub fn spend_a_verification(password: &str) {
    let mut digest = [0_u8; 32];
    if let Ok(argon2) = current_argon2() {
        // The result does not matter, only the time does.
        let _ = argon2.hash_password_into(password.as_bytes(), b"no user, no salt", &mut digest);
    }
    std::hint::black_box(digest);
}

fn failed(error: impl fmt::Display) -> PasswordError {
    PasswordError::Failed(error.to_string())
}

fn current_argon2() -> Result<Argon2<'static>, PasswordError> {
    let params = Params::new(MEMORY_KIBIBYTES, PASSES, LANES, None).map_err(failed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// A hash that cannot be verified costs a verification without use, so that the time is the
/// same.
fn verify_argon2(stored: &str, password: &str) -> Verification {
    let Some((hash, params)) = bounded_phc(stored) else {
        spend_a_verification(password);
        return Verification::Wrong;
    };
    if Argon2::default().verify_password(password.as_bytes(), &hash).is_err() {
        return Verification::Wrong;
    }
    let current = hash.algorithm.as_str() == Algorithm::Argon2id.as_str()
        && hash.version == Some(Version::V0x13.into())
        && (params.m_cost(), params.t_cost(), params.p_cost()) == (MEMORY_KIBIBYTES, PASSES, LANES);
    if current { Verification::Right } else { Verification::RightButOld }
}

/// The stored PHC string, if it is of the Argon2 family and affordable.
fn bounded_phc(stored: &str) -> Option<(PasswordHash, Params)> {
    let hash = PasswordHash::new(stored).ok()?;
    Algorithm::try_from(hash.algorithm.as_str()).ok()?;
    let params = Params::try_from(&hash).ok()?;
    let affordable = params.m_cost() <= MAX_HASH_MEMORY_KIBIBYTES && params.t_cost() <= MAX_HASH_PASSES;
    (affordable && hash.salt.is_some() && hash.hash.is_some()).then_some((hash, params))
}

/// Compares a wrapped digest with each digest that the password could have.
fn verify_wrapped(wrapped: &str, mut digests: Vec<Digest20>) -> Verification {
    digests.dedup();
    let is_right = |digest: &Digest20| verify_argon2(wrapped, &hex::encode(digest)) != Verification::Wrong;
    if digests.iter().any(is_right) { Verification::RightButOld } else { Verification::Wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(hash: &str, salt: Option<&str>) -> StoredPassword {
        StoredPassword { hash: hash.to_owned(), salt: salt.map(str::to_owned), trimmed: false }
    }

    #[test]
    fn a_new_hash_is_argon2id_with_the_recommended_parameters_and_verifies() {
        let hash = hash_password("correct horse").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, hash_password("correct horse").unwrap());
        let stored = stored(&hash, None);
        assert_eq!(verify_password(&stored, "", "correct horse"), Verification::Right);
        assert_eq!(verify_password(&stored, "", "correct horsf"), Verification::Wrong);
        assert_eq!(verify_password(&stored, "", ""), Verification::Wrong);
        // A leftover salt does not matter.
        let salted = StoredPassword { salt: Some("abc".to_owned()), ..stored };
        assert_eq!(verify_password(&salted, "", "correct horse"), Verification::Right);
    }

    #[test]
    fn weaker_argon2_parameters_are_right_but_old() {
        let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(64, 1, 1, None).unwrap());
        let hash = weak.hash_password(b"correct horse").unwrap().to_string();
        let stored = stored(&hash, None);
        assert_eq!(verify_password(&stored, "", "correct horse"), Verification::RightButOld);
        assert_eq!(verify_password(&stored, "", "wrong horse"), Verification::Wrong);
    }

    /// One digest of each form, all of `secret pass`, with its salts. Made with Python's hashlib.
    const DIGESTS: [(&str, Option<&str>, &str); 3] = [
        // hashlib.pbkdf2_hmac("sha1", b"secret pass", b"5f4dcc3b5aa765d6", 1000, 20)
        ("afe16dd135bfe62436b0954762592896644d6929", Some("5f4dcc3b5aa765d6"), ""),
        // hashlib.sha1(b"5f4dcc3b5aa765d6" + b"secret pass")
        ("d54c6892a02ba233fb9ca17d9da8a6840a4eef94", Some("5f4dcc3b5aa765d6"), ""),
        // hashlib.sha1(b"*LAMER*news*" + b"secret pass")
        ("23c6be14c013eb2a30de025dbb381ef608190f0e", None, "*LAMER*news*"),
    ];

    #[test]
    fn hashes_of_the_original_verify_and_are_old() {
        for (hash, salt, legacy_salt) in DIGESTS {
            for hash in [hash.to_owned(), hash.to_uppercase()] {
                let stored = stored(&hash, salt);
                let verify =
                    |stored: &StoredPassword, password: &str| verify_password(stored, legacy_salt, password);
                assert_eq!(verify(&stored, "secret pass"), Verification::RightButOld, "{hash}");
                assert_eq!(verify(&stored, "secret pasT"), Verification::Wrong);
                let other = StoredPassword { salt: Some("another".to_owned()), ..stored };
                assert_eq!(verify(&other, "secret pass"), Verification::Wrong);
            }
        }
        let unsalted = stored("23c6be14c013eb2a30de025dbb381ef608190f0e", None);
        assert_eq!(verify_password(&unsalted, "another", "secret pass"), Verification::Wrong);
    }

    #[test]
    fn nothing_usable_verifies_nothing() {
        let valid = hash_password("x").unwrap();
        let unusable = "|x|garbage|afe16dd135bfe62436b0954762592896644d692|\
            zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz|$argon2id$|$argon2id$v=19$m=19456,t=2,p=1$|\
            $argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA|\
            $argon2id$v=19$m=4294967295,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$c29tZXNhbHRzb21lc2FsdA|\
            $argon2id$v=19$m=19456,t=4294967295,p=1$c29tZXNhbHRzb21lc2FsdA$c29tZXNhbHRzb21lc2FsdA|\
            $pbkdf2-sha256$i=1000,l=32$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA|$2b$12$abcdefghijklmnopqrstuv";
        for hash in unusable.split('|').chain([&valid[..valid.len() - 1]]) {
            for salt in [None, Some(""), Some("salt")] {
                assert_eq!(verify_password(&stored(hash, salt), "", "x"), Verification::Wrong, "{hash:?}");
                assert_eq!(verify_password(&stored(hash, salt), "", ""), Verification::Wrong, "{hash:?}");
            }
        }
    }

    #[test]
    fn a_stored_password_is_not_in_its_debug_form() {
        let shown = format!("{:?}", stored("0123abcd", Some("pepper")));
        assert!(!shown.contains("0123abcd") && !shown.contains("pepper"), "{shown}");
    }

    #[test]
    fn a_wrapped_digest_of_any_form_verifies_and_is_old() {
        for (digest, salt, legacy_salt) in DIGESTS {
            for digest in [digest.to_owned(), digest.to_uppercase()] {
                assert!(is_weak(&digest));
                let wrapped = wrap_digest(&digest).unwrap();
                assert!(wrapped.starts_with("old-digest:$argon2id$v=19$m=19456,t=2,p=1$"), "{wrapped}");
                assert!(!wrapped.to_lowercase().contains(&digest.to_lowercase()));
                assert!(!is_weak(&wrapped) && wrap_digest(&wrapped).is_err());
                let stored = stored(&wrapped, salt);
                let verify = |password| verify_password(&stored, legacy_salt, password);
                assert_eq!(verify("secret pass"), Verification::RightButOld, "{digest}");
                assert_eq!(verify(" secret pass\n"), Verification::RightButOld, "{digest}");
                // The digest itself is not a password.
                for wrong in ["secret pasT", "", &digest, &wrapped] {
                    assert_eq!(verify(wrong), Verification::Wrong, "{digest}");
                }
            }
        }
    }

    #[test]
    fn blanks_around_a_password_do_not_count_for_digests_of_the_original_only() {
        for (digest, salt, legacy_salt) in DIGESTS {
            for typed in [" secret pass", "secret pass \t\r\n", "\u{b}\u{c}\0 secret pass\0"] {
                let stored = stored(digest, salt);
                let verification = verify_password(&stored, legacy_salt, typed);
                assert_eq!(verification, Verification::RightButOld, "{typed:?}");
            }
            for typed in ["secretpass", "secret  pass", "\u{a0}secret pass"] {
                let stored = stored(digest, salt);
                assert_eq!(verify_password(&stored, legacy_salt, typed), Verification::Wrong, "{typed:?}");
            }
        }
        // hashlib.sha1(b"*LAMER*news*" + b" secret pass ")
        let with_blanks = hex::encode(<sha1::Sha1 as sha1::Digest>::digest("*LAMER*news* secret pass "));
        let stored_with_blanks = stored(&with_blanks, None);
        let typed = |password| verify_password(&stored_with_blanks, "*LAMER*news*", password);
        assert_eq!(typed(" secret pass "), Verification::RightButOld);
        assert_eq!(typed("secret pass"), Verification::Wrong);
        let ours = stored(&hash_password("correct horse").unwrap(), Some("5f4dcc3b5aa765d6"));
        assert_eq!(verify_password(&ours, "", " correct horse"), Verification::Wrong);
        let replaced = StoredPassword { trimmed: true, ..ours };
        assert_eq!(verify_password(&replaced, "", " correct horse"), Verification::Right);
        assert_eq!(verify_password(&replaced, "", "correct horse"), Verification::Right);
    }

    #[test]
    fn the_salt_beside_a_hash_is_hexadecimal_and_different_each_time() {
        let salts = [(); 2].map(|()| salt_beside(&hash_password("correct horse").unwrap()));
        assert_ne!(salts[0], salts[1]);
        assert!(salts.iter().all(|salt| salt.len() >= 32 && salt.bytes().all(|b| b.is_ascii_hexdigit())));
    }
}
