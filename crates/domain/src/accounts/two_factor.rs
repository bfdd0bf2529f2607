//! Second factors: what a login needs besides the password.
//!
//! There are two kinds: an authenticator app, whose codes change every 30 seconds (TOTP,
//! RFC 6238), and passkeys (WebAuthn). An account with one of them also has recovery codes, each of
//! which takes the place of a code once. A passkey also logs in without the password.
//!
//! The factors of an account are in the hash `user:<id>:two_factor`. The field `two_factor` of the user
//! says which kinds it has, so that a login without one reads nothing more. Nothing is stored
//! about a login that is under way: what its second step needs to know is signed
//! (`signing_key`), so strangers store nothing.

mod attestation;
mod codes;
mod other_host;
pub mod passkeys;
pub(crate) mod public_key;
pub(crate) mod relying_party;
pub(crate) mod second_step;
pub mod setup;
pub(crate) mod signing_key;
mod staff;
pub(crate) mod stored;

pub use other_host::{HostMove, PasskeyOwners, visit_owners};
pub use relying_party::RelyingParty;
pub use second_step::Answer;

use crate::values::shown;

/// The field of a user that says which second factors the account has: `totp`, `passkeys`, both
/// with a blank between them, or absent.
pub(crate) const TWO_FACTOR: &str = "two_factor";

const TOTP: &str = "totp";
const PASSKEYS: &str = "passkeys";

/// The kinds of second factors that an account has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecondFactors {
    /// An authenticator app.
    pub totp: bool,
    /// At least one passkey.
    pub passkeys: bool,
}

impl SecondFactors {
    /// Reads the field of a user.
    pub(crate) fn read(field: Option<&str>) -> Self {
        let has = |kind| field.is_some_and(|field| field.split(' ').any(|word| word == kind));
        Self { totp: has(TOTP), passkeys: has(PASSKEYS) }
    }

    /// Whether there is one.
    pub const fn any(self) -> bool {
        self.totp || self.passkeys
    }
}

shown!(SecondFactors: |factors| match (factors.totp, factors.passkeys) {
    (true, true) => "totp passkeys",
    (true, false) => TOTP,
    (false, true) => PASSKEYS,
    (false, false) => "",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_of_a_user_says_which_kinds_there_are() {
        for (totp, passkeys) in [(false, false), (true, false), (false, true), (true, true)] {
            let factors = SecondFactors { totp, passkeys };
            assert_eq!(SecondFactors::read(Some(&factors.to_string())), factors);
            assert_eq!(factors.any(), totp || passkeys);
        }
        assert!(!SecondFactors::read(None).any() && !SecondFactors::read(Some("totps other")).any());
    }
}
