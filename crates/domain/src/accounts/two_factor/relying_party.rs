//! The site as passkeys know it, and the two ceremonies with them: making one and using one.
//!
//! The challenges are signed by the site, so nothing is stored between the two
//! steps of a ceremony.

use crate::accounts::two_factor::attestation;
use crate::accounts::two_factor::signing_key::{signing_key, signing_key_for_strangers};
use crate::accounts::two_factor::stored::StoredFactors;
use crate::error::{Error, Refusal};
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use crate::values::limits::{MAX_CREDENTIAL_ID_BYTES, MAX_PUBLIC_KEY_BYTES, SECOND_STEP_SECONDS};
use crate::values::signing::Purpose;
use passki::{
    AuthenticationCredential, AuthenticationOptions, ClientData, Passki, PasskiError, RegistrationCredential,
    RegistrationOptions, ResidentKeyRequirement, StoredPasskey, UserVerificationRequirement,
};
use serde::Serialize;
use url::{Host, Url};

/// The prefix of a user's number in the handle that authenticators store with a passkey. The
/// handle has at least 16 bytes.
const HANDLE: &[u8; 8] = b"tidings:";

/// The site as passkeys know it.
pub struct RelyingParty(Passki);

/// Whether the person must show that it is them, with a PIN or a finger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserVerification {
    /// Yes: the passkey takes the place of the password too.
    Required,
    /// If the authenticator can: the password was right already.
    Preferred,
}

impl UserVerification {
    const fn requirement(self) -> UserVerificationRequirement {
        match self {
            Self::Required => UserVerificationRequirement::Required,
            Self::Preferred => UserVerificationRequirement::Preferred,
        }
    }
}

/// A use of a passkey that was checked.
pub(crate) struct Used {
    /// The signed challenge, which must not be used again.
    pub(crate) challenge: Vec<u8>,
    /// The counter of the authenticator.
    pub(crate) counter: u32,
}

impl RelyingParty {
    /// The site at an address. `None` if it has no name: passkeys do not work for a network
    /// address.
    pub fn new(address: &str, name: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        let Some(Host::Domain(host)) = url.host() else {
            return None;
        };
        Some(Self(Passki::new(host, &[url.origin().ascii_serialization()], name)))
    }

    /// The options that a browser needs to use a passkey, as JSON. Without `factors` it may be anybody's.
    pub(crate) async fn authentication_options(
        &self,
        site: &Site,
        now: Timestamp,
        factors: Option<&StoredFactors>,
    ) -> Result<String, Error> {
        let passkeys: Vec<StoredPasskey> = factors.map(passkeys_of).unwrap_or_default();
        let verification =
            if factors.is_some() { UserVerification::Preferred } else { UserVerification::Required };
        let (mut options, _) =
            self.0.start_passkey_authentication(&passkeys, authentication(verification)).map_err(internal)?;
        let challenge = signing_key_for_strangers(site).await?.challenge(Purpose::LogIn, now, b"")?;
        options.challenge = Passki::base64_encode(&challenge);
        json(&options)
    }

    /// Checks a use of a passkey.
    pub(crate) async fn check_use(
        &self,
        (site, now): (&Site, Timestamp),
        credential: &AuthenticationCredential,
        (passkey, verification): (&StoredPasskey, UserVerification),
    ) -> Result<Used, Error> {
        let challenge = challenge_of(&credential.response.client_data_json)?;
        if !signing_key_for_strangers(site).await?.is_challenge(Purpose::LogIn, now, (&challenge, b"")) {
            return Err(Refusal::LoginExpired.into());
        }
        let options = authentication(verification);
        let (_, mut state) = self.0.start_passkey_authentication(&[], options).map_err(internal)?;
        state.challenge.clone_from(&challenge);
        let used = self.0.finish_passkey_authentication(credential, &state, passkey).map_err(refused)?;
        Ok(Used { challenge, counter: used.counter })
    }

    /// The options that a browser needs to make a passkey, as JSON.
    pub(crate) async fn registration_options(
        &self,
        (site, now): (&Site, Timestamp),
        (user_id, username): (UserId, &str),
        factors: &StoredFactors,
    ) -> Result<String, Error> {
        let known = passkeys_of(factors);
        let mut options = registration();
        options.exclude_credentials = Some(&known);
        let handle = handle(user_id);
        let started = self.0.start_passkey_registration(&handle, username, username, options);
        let (mut options, _) = started.map_err(internal)?;
        let challenge = signing_key(site).await?.challenge(Purpose::AddPasskey, now, &handle)?;
        options.challenge = Passki::base64_encode(&challenge);
        json(&options)
    }

    /// Checks a new passkey of a user.
    pub(crate) async fn check_new(
        &self,
        (site, now): (&Site, Timestamp),
        user_id: UserId,
        credential: &str,
    ) -> Result<StoredPasskey, Error> {
        let credential: RegistrationCredential =
            serde_json::from_str(credential).map_err(|_| Refusal::PasskeyRefused)?;
        let challenge = challenge_of(&credential.response.client_data_json)?;
        let handle = handle(user_id);
        if !signing_key(site).await?.is_challenge(Purpose::AddPasskey, now, (&challenge, &handle)) {
            return Err(Refusal::SetupExpired.into());
        }
        let object = Passki::base64_decode(&credential.response.attestation_object).map_err(refused)?;
        if !attestation::is_accepted(&object) {
            return Err(Refusal::PasskeyRefused.into());
        }
        let started = self.0.start_passkey_registration(&handle, "", "", registration());
        let (_, mut state) = started.map_err(internal)?;
        state.challenge = challenge;
        let passkey = self.0.finish_passkey_registration(&credential, &state).map_err(refused)?;
        let is_bounded = passkey.credential_id.len() <= MAX_CREDENTIAL_ID_BYTES
            && passkey.public_key.len() <= MAX_PUBLIC_KEY_BYTES;
        if is_bounded { Ok(passkey) } else { Err(Refusal::PasskeyRefused.into()) }
    }
}

/// Reads what a browser sends after a passkey was used.
pub(crate) fn parse_use(credential: &str) -> Result<AuthenticationCredential, Error> {
    serde_json::from_str(credential).map_err(|_| Refusal::PasskeyRefused.into())
}

/// The number of the user whose passkey was used, if the authenticator says so.
pub(crate) fn user_of(credential: &AuthenticationCredential) -> Option<UserId> {
    let handle = Passki::base64_decode(credential.response.user_handle.as_deref()?).ok()?;
    let number = handle.strip_prefix(HANDLE)?.try_into().ok()?;
    Some(UserId(u64::from_be_bytes(number)))
}

/// The credential id of a passkey that was used.
pub(crate) fn credential_id(credential: &AuthenticationCredential) -> Result<Vec<u8>, Error> {
    Passki::base64_decode(&credential.raw_id).map_err(refused)
}

fn handle(user_id: UserId) -> Vec<u8> {
    [&HANDLE[..], &user_id.0.to_be_bytes()].concat()
}

fn passkeys_of(factors: &StoredFactors) -> Vec<StoredPasskey> {
    factors.passkeys().into_iter().map(|(_, passkey)| passkey.passkey).collect()
}

fn authentication(verification: UserVerification) -> AuthenticationOptions {
    let mut options = AuthenticationOptions::default();
    options.timeout = SECOND_STEP_SECONDS * 1_000;
    options.user_verification = verification.requirement();
    options
}

fn registration<'a>() -> RegistrationOptions<'a> {
    let mut options = RegistrationOptions::default();
    options.timeout = SECOND_STEP_SECONDS * 1_000;
    // Preferred, so that a key without a PIN can be a second factor.
    options.resident_key = ResidentKeyRequirement::Preferred;
    options.user_verification = UserVerificationRequirement::Preferred;
    options
}

fn challenge_of(client_data: &str) -> Result<Vec<u8>, Error> {
    let client_data = ClientData::from_base64(client_data).map_err(refused)?;
    Passki::base64_decode(&client_data.challenge).map_err(refused)
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Internal(error.to_string()))
}

/// A failure that the browser or the authenticator has caused. The reason holds no secret.
fn refused(error: PasskiError) -> Error {
    tracing::debug!(%error, "passkey refused");
    Refusal::PasskeyRefused.into()
}

fn internal(error: PasskiError) -> Error {
    Error::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_needs_a_name_for_passkeys() {
        for (address, id, origin) in [
            ("https://news.example.com", "news.example.com", "https://news.example.com"),
            ("http://localhost:8080", "localhost", "http://localhost:8080"),
            ("https://EXAMPLE.com:443/", "example.com", "https://example.com"),
        ] {
            let party = RelyingParty::new(address, "News").unwrap();
            assert_eq!((party.0.rp_id.as_str(), party.0.rp_origins), (id, vec![origin.to_owned()]));
        }
        for address in ["http://127.0.0.1:8080", "http://[::1]/", "", "localhost"] {
            assert!(RelyingParty::new(address, "News").is_none(), "{address}");
        }
    }
}
