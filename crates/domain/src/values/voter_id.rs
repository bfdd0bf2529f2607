//! Voters on sites: a UUID that the voter's program has generated, or that was generated for
//! an account.

use crate::values::NoRandomness;
use crate::values::text_forms::{read_text, shown};
use std::fmt;
use uuid::Uuid;

/// A voter. Anyone who knows the UUID can vote with it, so it is shown to its owner and to
/// administrators only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VoterId(Uuid);

/// A text is not a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID")]
pub struct NotAVoterId;

impl VoterId {
    /// A new voter, of 122 random bits.
    ///
    /// # Errors
    /// [`NoRandomness`] when the operating system's generator fails.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self::from_bytes(bytes))
    }

    /// A voter from random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

read_text!(VoterId or NotAVoterId: |text| Uuid::try_parse(text).ok().map(Self));

shown!(VoterId: |voter| voter.0.hyphenated());

impl fmt::Debug for VoterId {
    /// Never in logs: it is a secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_voter_is_a_uuid_of_any_kind() {
        let canonical = "beda0000-0822-4342-0990-b92d94d9489a";
        for given in [canonical, "BEDA0000-0822-4342-0990-B92D94D9489A", "beda0000082243420990b92d94d9489a"] {
            assert_eq!(given.parse::<VoterId>().unwrap().to_string(), canonical);
        }
        for bad in ["", "1", "beda0000-0822-4342-0990-b92d94d9489", "beda0000-0822-4342-0990-b92d94d9489g"] {
            assert_eq!(bad.parse::<VoterId>(), Err(NotAVoterId), "{bad:?}");
        }
    }

    #[test]
    fn generated_voters_differ_and_do_not_show_in_logs() {
        let (one, other) = (VoterId::random().unwrap(), VoterId::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.to_string().len(), 36);
        assert_eq!(format!("{one:?}"), "***");
    }
}
