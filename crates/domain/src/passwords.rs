//! Passwords: hashed with Argon2id, and verified against every form that an older site may
//! have stored.
//!
//! Hashing is slow on purpose, so it runs off the async threads, a few at a time
//! ([`PasswordWorker`]): logins cannot starve the site. Every wrong password costs one
//! Argon2id verification, whatever is stored and whether or not the user exists, so the
//! time reveals nothing.

use std::fmt;
use std::sync::Arc;
use std::thread::available_parallelism;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::values::limits::{MAX_HASH_MEMORY_KIBIBYTES, MAX_HASH_PASSES, MAX_WAITING_PASSWORDS};

/// The least memory that OWASP recommends for Argon2id with two passes.
const MEMORY_KIBIBYTES: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// The iterations that Lamer News has used since 2012.
const PBKDF2_ITERATIONS: u32 = 1000;
/// The length of a SHA-1 digest, which is also that of the PBKDF2 hashes.
const DIGEST_BYTES: usize = 20;

/// Why a password could not be hashed or verified.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// The queue is full; try again later.
    #[error("too many passwords are being checked already")]
    Busy,
    /// The hashing itself failed: no memory, or no randomness.
    #[error("the password could not be hashed: {0}")]
    Failed(String),
}

/// What is stored about a user's password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoredPassword {
    /// The field `password`: a PHC string, or 40 hexadecimal digits.
    pub hash: String,
    /// The field `salt`, which only accounts of the original have.
    pub salt: Option<String>,
}

impl fmt::Debug for StoredPassword {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoredPassword(***)")
    }
}

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
/// - Anything else verifies nothing.
#[must_use]
pub fn verify_password(stored: &StoredPassword, legacy_salt: &str, password: &str) -> Verification {
    let outcome = match legacy_digest(&stored.hash) {
        Some(digest) => verify_legacy(&digest, stored.salt.as_deref(), legacy_salt, password),
        None => return verify_argon2(&stored.hash, password),
    };
    if outcome == Verification::Wrong {
        spend_a_verification(password);
    }
    outcome
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

/// Hashes and verifies passwords off the async threads, on at most half of the
/// processors, with a bounded queue. Clones share both.
#[derive(Clone, Debug)]
pub struct PasswordWorker {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
}

impl Default for PasswordWorker {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, std::num::NonZero::get);
        Self::new((processors / 2).max(1), MAX_WAITING_PASSWORDS)
    }
}

impl PasswordWorker {
    /// A worker that runs at most `running` at once, while `waiting` others queue.
    #[must_use]
    pub fn new(running: usize, waiting: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(running)),
            admitted: Arc::new(Semaphore::new(running.saturating_add(waiting).min(Semaphore::MAX_PERMITS))),
        }
    }

    /// [`hash_password`], off the async threads.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when the queue is full; otherwise as [`hash_password`].
    pub async fn hash(&self, password: String) -> Result<String, PasswordError> {
        self.run(move || hash_password(&password)).await?
    }

    /// [`verify_password`], off the async threads.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when the queue is full.
    pub async fn verify(
        &self,
        stored: StoredPassword,
        legacy_salt: String,
        password: String,
    ) -> Result<Verification, PasswordError> {
        self.run(move || verify_password(&stored, &legacy_salt, &password)).await
    }

    /// [`spend_a_verification`], off the async threads.
    ///
    /// # Errors
    /// [`PasswordError::Busy`] when the queue is full, as for a user that exists.
    pub async fn spend(&self, password: String) -> Result<(), PasswordError> {
        self.run(move || spend_a_verification(&password)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PasswordError> {
        let admitted = Arc::clone(&self.admitted).try_acquire_owned().map_err(|_| PasswordError::Busy)?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(failed)?;
        // The work holds its permits, because it continues when the caller is cancelled and
        // must be counted until it is done.
        let held: [OwnedSemaphorePermit; 2] = [running, admitted];
        let task = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(held);
            outcome
        });
        task.await.map_err(failed)
    }
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

fn legacy_digest(stored: &str) -> Option<[u8; DIGEST_BYTES]> {
    let mut digest = [0_u8; DIGEST_BYTES];
    hex::decode_to_slice(stored, &mut digest).ok()?;
    Some(digest)
}

fn verify_legacy(
    digest: &[u8; DIGEST_BYTES],
    salt: Option<&str>,
    legacy_salt: &str,
    password: &str,
) -> Verification {
    let right = match salt {
        Some(salt) => {
            let mut derived = [0_u8; DIGEST_BYTES];
            pbkdf2::pbkdf2_hmac::<Sha1>(
                password.as_bytes(),
                salt.as_bytes(),
                PBKDF2_ITERATIONS,
                &mut derived,
            );
            derived.ct_eq(digest) | salted_sha1(salt, password).ct_eq(digest)
        }
        None => salted_sha1(legacy_salt, password).ct_eq(digest),
    };
    if bool::from(right) { Verification::RightButOld } else { Verification::Wrong }
}

fn salted_sha1(salt: &str, password: &str) -> [u8; DIGEST_BYTES] {
    Sha1::new().chain_update(salt).chain_update(password).finalize().into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn stored(hash: &str, salt: Option<&str>) -> StoredPassword {
        StoredPassword { hash: hash.to_owned(), salt: salt.map(str::to_owned) }
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
    }

    #[test]
    fn a_leftover_salt_field_does_not_matter_to_a_new_hash() {
        let stored = stored(&hash_password("correct horse").unwrap(), Some("abc"));
        assert_eq!(verify_password(&stored, "", "correct horse"), Verification::Right);
    }

    #[test]
    fn weaker_argon2_parameters_are_right_but_old() {
        let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(64, 1, 1, None).unwrap());
        let hash = weak.hash_password(b"correct horse").unwrap().to_string();
        let stored = stored(&hash, None);
        assert_eq!(verify_password(&stored, "", "correct horse"), Verification::RightButOld);
        assert_eq!(verify_password(&stored, "", "wrong horse"), Verification::Wrong);
    }

    /// Digests made with Python's hashlib.
    #[test]
    fn hashes_of_the_original_verify_and_are_old() {
        let table = [
            // hashlib.pbkdf2_hmac("sha1", b"secret pass", b"5f4dcc3b5aa765d6", 1000, 20)
            ("afe16dd135bfe62436b0954762592896644d6929", Some("5f4dcc3b5aa765d6"), "", "secret pass"),
            // hashlib.sha1(b"5f4dcc3b5aa765d6" + b"secret pass")
            ("d54c6892a02ba233fb9ca17d9da8a6840a4eef94", Some("5f4dcc3b5aa765d6"), "", "secret pass"),
            // hashlib.sha1(b"*LAMER*news*" + b"secret pass")
            ("23c6be14c013eb2a30de025dbb381ef608190f0e", None, "*LAMER*news*", "secret pass"),
        ];
        for (hash, salt, legacy_salt, password) in table {
            for hash in [hash.to_owned(), hash.to_uppercase()] {
                let stored = stored(&hash, salt);
                assert_eq!(
                    verify_password(&stored, legacy_salt, password),
                    Verification::RightButOld,
                    "{hash}"
                );
                assert_eq!(verify_password(&stored, legacy_salt, "secret pasT"), Verification::Wrong);
                let other = StoredPassword { salt: Some("another".to_owned()), ..stored };
                assert_eq!(verify_password(&other, legacy_salt, password), Verification::Wrong);
            }
        }
        let unsalted = stored("23c6be14c013eb2a30de025dbb381ef608190f0e", None);
        assert_eq!(verify_password(&unsalted, "another", "secret pass"), Verification::Wrong);
    }

    #[test]
    fn nothing_usable_verifies_nothing() {
        let valid = hash_password("x").unwrap();
        let table = [
            "",
            "x",
            "garbage",
            "afe16dd135bfe62436b0954762592896644d692",
            "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
            "$argon2id$",
            "$argon2id$v=19$m=19456,t=2,p=1$",
            "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA",
            "$argon2id$v=19$m=4294967295,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$c29tZXNhbHRzb21lc2FsdA",
            "$argon2id$v=19$m=19456,t=4294967295,p=1$c29tZXNhbHRzb21lc2FsdA$c29tZXNhbHRzb21lc2FsdA",
            "$pbkdf2-sha256$i=1000,l=32$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA",
            "$2b$12$abcdefghijklmnopqrstuv",
            &valid[..valid.len() - 1],
        ];
        for hash in table {
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

    #[tokio::test]
    async fn the_worker_hashes_verifies_and_spends() {
        let worker = PasswordWorker::default();
        let hash = worker.hash("correct horse".to_owned()).await.unwrap();
        let verified = worker.verify(stored(&hash, None), String::new(), "correct horse".to_owned()).await;
        assert_eq!(verified.unwrap(), Verification::Right);
        let wrong = worker.verify(stored(&hash, None), String::new(), "wrong".to_owned()).await;
        assert_eq!(wrong.unwrap(), Verification::Wrong);
        worker.spend("x".to_owned()).await.unwrap();
    }

    #[tokio::test]
    async fn the_worker_rejects_passwords_when_its_queue_is_full() {
        let worker = PasswordWorker::new(1, 1);
        let (started, is_started) = tokio::sync::oneshot::channel::<()>();
        let (release, released) = mpsc::channel::<()>();
        let first = tokio::spawn({
            let worker = worker.clone();
            async move {
                let work = move || {
                    started.send(()).unwrap();
                    released.recv().unwrap();
                };
                worker.run(work).await
            }
        });
        is_started.await.unwrap();
        let mut second = Box::pin(worker.run(|| 2));
        // Polled once, the second has its place in the queue.
        tokio::select! {
            biased;
            _ = &mut second => panic!("the second ran beside the first"),
            () = std::future::ready(()) => {}
        }
        assert!(matches!(worker.run(|| 3).await, Err(PasswordError::Busy)));
        release.send(()).unwrap();
        assert_eq!(second.await.unwrap(), 2);
        first.await.unwrap().unwrap();
        assert_eq!(worker.run(|| 4).await.unwrap(), 4);
    }

    #[tokio::test]
    async fn work_is_counted_until_it_is_done_even_if_its_caller_is_cancelled() {
        let worker = PasswordWorker::new(1, 0);
        let (started, is_started) = tokio::sync::oneshot::channel::<()>();
        let (release, released) = mpsc::channel::<()>();
        let abandoned = tokio::spawn({
            let worker = worker.clone();
            async move {
                let work = move || {
                    started.send(()).unwrap();
                    released.recv().unwrap();
                };
                worker.run(work).await
            }
        });
        is_started.await.unwrap();
        abandoned.abort();
        assert!(abandoned.await.unwrap_err().is_cancelled());
        assert!(matches!(worker.run(|| 1).await, Err(PasswordError::Busy)));
        release.send(()).unwrap();
        let permit = worker.admitted.acquire().await.unwrap();
        drop(permit);
        assert_eq!(worker.run(|| 2).await.unwrap(), 2);
    }
}
