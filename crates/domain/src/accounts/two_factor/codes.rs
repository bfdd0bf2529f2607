//! Codes: those of an authenticator app, and recovery codes.

use crate::values::{NoRandomness, RECOVERY_CODES, never_logged};
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use totp_rs::{Algorithm, Builder, Secret, Totp};

/// Digits of a code. Every authenticator app supports six digits, 30 seconds and SHA-1.
const DIGITS: u8 = 6;
const STEP_SECONDS: u64 = 30;
/// Steps by which the clock of a phone may be off, in either direction.
const SKEW: u16 = 1;
/// Bytes of a secret: 160 bits, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;

/// Letters and digits of recovery codes: none that look alike.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Characters of a recovery code: 80 bits, so that its hash needs no salt and no slow hashing.
const RECOVERY_LENGTH: usize = 16;
/// Characters between two hyphens.
const GROUP: usize = 4;

/// The secret that an authenticator app shares with the site. Never logged.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TotpSecret(Secret);

impl TotpSecret {
    /// A new secret.
    pub(crate) fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0_u8; SECRET_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(Secret::from(bytes.to_vec())))
    }

    /// Reads a secret in base 32, as it is stored.
    pub(crate) fn parse(base32: &str) -> Option<Self> {
        let secret = Secret::try_from_base32(base32).ok()?;
        (secret.as_bytes().len() >= SECRET_BYTES).then_some(Self(secret))
    }

    /// The secret in base 32, as people type it.
    pub(crate) fn base32(&self) -> String {
        self.0.to_base32()
    }

    /// The address from which an app takes the secret, usually as a QR code.
    pub(crate) fn uri(&self, site_name: &str, username: &str) -> Result<String> {
        // A colon separates the two names in the address.
        let issuer = site_name.replace(':', " ");
        let totp = self.builder().with_issuer(Some(issuer)).with_account_name(username).build();
        totp.and_then(|totp| totp.to_url()).map_err(|error| Error::Internal(error.to_string()))
    }

    /// The time step of a code: that of the time, the one before or the one after. `None` if it
    /// is a code of none of them.
    pub(crate) fn step_of(&self, code: &str, seconds: u64) -> Option<u64> {
        self.totp().check(code, seconds)
    }

    fn builder(&self) -> Builder {
        let builder = Builder::new().with_algorithm(Algorithm::SHA1).with_digits(DIGITS);
        builder.with_skew(SKEW).with_step_duration(STEP_SECONDS).with_secret(self.0.clone())
    }

    fn totp(&self) -> Totp {
        self.builder().build_noncompliant()
    }
}

never_logged!(TotpSecret);

/// A code as somebody typed it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum TypedCode {
    /// Six digits: of an authenticator app.
    Totp(String),
    /// A recovery code, without blanks and hyphens and in lower case.
    Recovery(String),
}

impl TypedCode {
    /// Reads what was typed; `None` if it cannot be a code.
    pub(crate) fn parse(typed: &str) -> Option<Self> {
        // Nothing longer can be one with blanks and hyphens between its characters.
        if typed.len() > 4 * RECOVERY_LENGTH {
            return None;
        }
        let code: String = typed.chars().filter(|letter| !letter.is_whitespace() && *letter != '-').collect();
        let code = code.to_ascii_lowercase();
        if code.len() == usize::from(DIGITS) && code.bytes().all(|digit| digit.is_ascii_digit()) {
            Some(Self::Totp(code))
        } else if code.len() == RECOVERY_LENGTH && code.bytes().all(|letter| ALPHABET.contains(&letter)) {
            Some(Self::Recovery(code))
        } else {
            None
        }
    }
}

/// Ten new recovery codes, for their owner.
pub(crate) fn new_recovery_codes() -> Result<Vec<String>, NoRandomness> {
    (0..RECOVERY_CODES).map(|_| new_recovery_code()).collect()
}

fn new_recovery_code() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; RECOVERY_LENGTH];
    getrandom::fill(&mut bytes)?;
    // 256 is a multiple of the size of the alphabet, so each letter is as likely as any other.
    let letter = |byte: u8| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]);
    let groups = bytes.chunks(GROUP).map(|group| group.iter().map(|byte| letter(*byte)).collect::<String>());
    Ok(groups.collect::<Vec<_>>().join("-"))
}

/// The hash under which a recovery code is stored, hexadecimal. `code` is as [`TypedCode`]
/// reads it.
pub(crate) fn recovery_hash(code: &str) -> String {
    hex::encode(Sha256::digest(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// RFC 6238, appendix B, for SHA-1. The vectors have eight digits; six digits are the last
    /// six of them.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let secret = TotpSecret(Secret::from(b"12345678901234567890".to_vec()));
        for (seconds, code) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            let eight = secret.builder().with_digits(8).build_noncompliant().generate(seconds).to_string();
            assert_eq!(eight, code);
            assert_eq!(secret.step_of(&code[2..], seconds), Some(seconds / 30), "{seconds}");
        }
    }

    #[test]
    fn a_code_holds_for_its_step_and_the_ones_beside_it() {
        let secret = TotpSecret(Secret::from(b"12345678901234567890".to_vec()));
        let now = 1_234_567_890;
        let (step, code) = (now / 30, secret.totp().generate(now).to_string());
        for (offset, expected) in
            [(-60_i64, None), (-30, Some(step)), (0, Some(step)), (30, Some(step)), (60, None)]
        {
            assert_eq!(secret.step_of(&code, now.checked_add_signed(offset).unwrap()), expected, "{offset}");
        }
        assert_eq!(secret.step_of("", now), None);
        assert_eq!(secret.step_of("005 924", now), None);
    }

    #[test]
    fn a_secret_is_stored_in_base_32_and_never_logged() {
        let secret = TotpSecret::random().unwrap();
        let text = secret.base32();
        assert_eq!(text.len(), 32);
        assert_eq!(TotpSecret::parse(&text).unwrap().0.as_bytes(), secret.0.as_bytes());
        assert!(TotpSecret::parse("").is_none() && TotpSecret::parse("!").is_none());
        assert!(!format!("{secret:?}").contains(&text));
        let uri = secret.uri("Site: news & more", "alice").unwrap();
        assert!(uri.starts_with("otpauth://totp/") && uri.contains(&format!("secret={text}")), "{uri}");
        assert!(uri.contains("alice") && !uri.contains("news &"), "{uri}");
    }

    #[test]
    fn recovery_codes_are_all_different_and_read_as_people_type_them() {
        let codes = new_recovery_codes().unwrap();
        assert_eq!(codes.iter().collect::<HashSet<_>>().len(), 10);
        for code in &codes {
            assert_eq!(code.len(), 19, "{code}");
            let plain = code.replace('-', "");
            let read = |typed: &str| match TypedCode::parse(typed) {
                Some(TypedCode::Recovery(code)) => code,
                _ => String::new(),
            };
            for typed in [code.clone(), code.to_uppercase(), format!(" {plain} "), code.replace('-', " ")] {
                assert_eq!(read(&typed), plain, "{typed}");
            }
        }
    }

    #[test]
    fn six_digits_are_a_code_of_an_app_and_other_texts_are_no_code() {
        for typed in ["123456", " 123 456 ", "123-456"] {
            assert!(
                matches!(TypedCode::parse(typed), Some(TypedCode::Totp(code)) if code == "123456"),
                "{typed}"
            );
        }
        let long = "a".repeat(100_000);
        for typed in
            ["", "12345", "1234567", "12345a", "abcdefghijkmnpq", "abcdefghijkmnpq0", "１２３４５６", &long]
        {
            assert!(TypedCode::parse(typed).is_none(), "{typed:.20}");
        }
    }
}
