//! The digests of passwords that Lamer News stores: weak, because they are fast to compute.

use sha1::{Digest, Sha1};

/// The iterations that Lamer News has used since 2012.
const PBKDF2_ITERATIONS: u32 = 1000;
/// The length of a SHA-1 digest, which is also that of the PBKDF2 hashes.
const DIGEST_BYTES: usize = 20;
/// The characters that Ruby's `strip`, which Lamer News applies to typed text, removes at both ends.
const BLANKS: [char; 7] = ['\0', '\t', '\n', '\u{b}', '\u{c}', '\r', ' '];

/// A digest of either kind.
pub(super) type Digest20 = [u8; DIGEST_BYTES];

/// The digest in the field `password`; `None` for any other form.
pub(super) fn parse(stored: &str) -> Option<Digest20> {
    let mut digest = [0_u8; DIGEST_BYTES];
    hex::decode_to_slice(stored, &mut digest).ok()?;
    Some(digest)
}

/// The digests that the original may have stored for a password: of what was typed, and of
/// that without the blanks around it. As many are computed for any password. Equal ones
/// are neighbours.
pub(super) fn digests(salt: Option<&str>, legacy_salt: &str, password: &str) -> Vec<Digest20> {
    let typed = [password, without_blanks(password)];
    match salt {
        Some(salt) => {
            let strong = typed.map(|password| pbkdf2_sha1(salt, password));
            let simple = typed.map(|password| salted_sha1(salt, password));
            [strong, simple].concat()
        }
        None => typed.map(|password| salted_sha1(legacy_salt, password)).to_vec(),
    }
}

/// A typed password without the blanks around it, as Lamer News hashes it.
pub(super) fn without_blanks(typed: &str) -> &str {
    typed.trim_matches(BLANKS)
}

fn pbkdf2_sha1(salt: &str, password: &str) -> Digest20 {
    let mut derived = [0_u8; DIGEST_BYTES];
    pbkdf2::pbkdf2_hmac::<Sha1>(password.as_bytes(), salt.as_bytes(), PBKDF2_ITERATIONS, &mut derived);
    derived
}

fn salted_sha1(salt: &str, password: &str) -> Digest20 {
    Sha1::new().chain_update(salt).chain_update(password).finalize().into()
}
