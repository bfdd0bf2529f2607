//! The site as passkeys know it, and the two ceremonies with them: making one and using one.
//!
//! The challenges are signed by the site, so nothing is stored between the two
//! steps of a ceremony.

use crate::accounts::two_factor::attestation;
use crate::accounts::two_factor::public_key::StoredKey;
use crate::accounts::two_factor::signing_key::{signing_key, signing_key_for_strangers};
use crate::accounts::two_factor::stored::StoredFactors;
use crate::values::{
    MAX_CREDENTIAL_ID_BYTES, MAX_PUBLIC_KEY_BYTES, Purpose, SECOND_STEP_SECONDS, Timestamp, UserId,
};
use crate::{Error, Refusal, Result, Site};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::time::Duration;
use url::{Host, Url};
use webauthn_rs::prelude::{
    Credential, Passkey, PublicKeyCredential, RegisterPublicKeyCredential, Uuid, Webauthn, WebauthnBuilder,
    WebauthnError,
};
use webauthn_rs_proto::{
    AuthenticatorSelectionCriteria, CollectedClientData, ResidentKeyRequirement, UserVerificationPolicy,
};

/// The prefix of a user's number in the handle that authenticators store with a passkey.
const HANDLE: [u8; 8] = *b"tidings:";

/// The site as passkeys know it.
pub struct RelyingParty(Webauthn);

impl RelyingParty {
    /// The site at an address. `None` if it has no name: passkeys do not work for a network
    /// address.
    pub fn new(address: &str, name: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        let Some(Host::Domain(host)) = url.host() else { return None };
        let timeout = Duration::from_secs(SECOND_STEP_SECONDS);
        let party = WebauthnBuilder::new(host, &url).ok()?.rp_name(name).timeout(timeout).build();
        party.ok().map(Self)
    }

    /// The options that a browser needs to use a passkey, as JSON. Without `factors` it may be anybody's.
    pub(crate) async fn authentication_options(
        &self,
        site: &Site,
        now: Timestamp,
        factors: Option<&StoredFactors>,
    ) -> Result<String> {
        let passkeys: Vec<Passkey> = factors.map(passkeys_of).unwrap_or_default();
        let (options, _) = self.0.start_passkey_authentication(&passkeys).map_err(internal)?;
        let mut options = options.public_key;
        let key = signing_key_for_strangers(site).await?;
        options.challenge = key.challenge(Purpose::LogIn, now, b"")?.to_vec();
        options.user_verification = match factors {
            // The password was right already.
            Some(_) => UserVerificationPolicy::Preferred,
            None => UserVerificationPolicy::Required,
        };
        serde_json::to_string(&options).map_err(internal)
    }

    /// Checks a use of a passkey, in which the person must show that it is them, with a PIN or a finger, or may. Returns the
    /// signed challenge, which must not be used again, and the key with what its authenticator counts.
    pub(crate) async fn check_use(
        &self,
        (site, now): (&Site, Timestamp),
        used: &PublicKeyCredential,
        (key, verification): (&StoredKey, UserVerificationPolicy),
    ) -> Result<(Vec<u8>, StoredKey)> {
        let challenge = challenge_of(&used.response.client_data_json)?;
        if !signing_key_for_strangers(site).await?.is_challenge(Purpose::LogIn, now, (&challenge, b"")) {
            return Err(Refusal::LoginExpired.into());
        }
        let verification =
            if key.demands_verification() { UserVerificationPolicy::Required } else { verification };
        let passkey = key.passkey().ok_or(Refusal::PasskeyRefused)?;
        let (_, state) = self.0.start_passkey_authentication(&[passkey]).map_err(internal)?;
        let state = with_challenge(&state, "/ast", (&challenge, verification))?;
        let key = match self.0.finish_passkey_authentication(used, &state) {
            Ok(result) => key.after(&result),
            // The crate looks at the signature last, and does not know this kind. The test of mistakes is made
            // with such a key, too.
            Err(WebauthnError::SshPublicKeyEDUnsupported) => key.check_ed25519(used)?,
            Err(error) => return Err(refused(&error)),
        };
        Ok((challenge, key))
    }

    /// The options that a browser needs to make a passkey, as JSON.
    pub(crate) async fn registration_options(
        &self,
        (site, now): (&Site, Timestamp),
        (user_id, username): (UserId, &str),
        factors: &StoredFactors,
    ) -> Result<String> {
        let known = passkeys_of(factors).iter().map(|passkey| passkey.cred_id().clone()).collect();
        let handle = handle(user_id);
        let started =
            self.0.start_passkey_registration(Uuid::from_bytes(handle), username, username, Some(known));
        let (options, _) = started.map_err(internal)?;
        let mut options = options.public_key;
        options.challenge = signing_key(site).await?.challenge(Purpose::AddPasskey, now, &handle)?.to_vec();
        options.extensions = None;
        options.authenticator_selection = Some(AuthenticatorSelectionCriteria {
            // Preferred, so that a key without a PIN can be a second factor.
            resident_key: Some(ResidentKeyRequirement::Preferred),
            user_verification: UserVerificationPolicy::Preferred,
            ..AuthenticatorSelectionCriteria::default()
        });
        serde_json::to_string(&options).map_err(internal)
    }

    /// Checks a new passkey of a user.
    pub(crate) async fn check_new(
        &self,
        (site, now): (&Site, Timestamp),
        user_id: UserId,
        credential: &str,
    ) -> Result<StoredKey> {
        let new: RegisterPublicKeyCredential =
            serde_json::from_str(credential).map_err(|_| Refusal::PasskeyRefused)?;
        let challenge = challenge_of(&new.response.client_data_json)?;
        let handle = handle(user_id);
        if !signing_key(site).await?.is_challenge(Purpose::AddPasskey, now, (&challenge, &handle)) {
            return Err(Refusal::SetupExpired.into());
        }
        Refusal::PasskeyRefused.when(!attestation::is_accepted(&new.response.attestation_object))?;
        // The names are only for the browser.
        let started = self.0.start_passkey_registration(Uuid::from_bytes(handle), "-", "-", None);
        let (_, state) = started.map_err(internal)?;
        let state = with_challenge(&state, "/rs", (&challenge, UserVerificationPolicy::Preferred))?;
        let passkey = self.0.finish_passkey_registration(&new, &state).map_err(|error| refused(&error))?;
        let key = StoredKey::new(&Credential::from(passkey), new.response.transports.unwrap_or_default());
        let key = key.filter(|key| {
            key.credential_id.len() <= MAX_CREDENTIAL_ID_BYTES && key.public_key.len() <= MAX_PUBLIC_KEY_BYTES
        });
        key.ok_or_else(|| Refusal::PasskeyRefused.into())
    }
}

/// Reads what a browser sends after a passkey was used.
pub(crate) fn parse_use(credential: &str) -> Result<PublicKeyCredential> {
    serde_json::from_str(credential).map_err(|_| Refusal::PasskeyRefused.into())
}

/// The number of the user whose passkey was used, if the authenticator says so.
pub(crate) fn user_of(used: &PublicKeyCredential) -> Option<UserId> {
    let number = used.get_user_unique_id()?.strip_prefix(&HANDLE)?.try_into().ok()?;
    Some(UserId(u64::from_be_bytes(number)))
}

fn handle(user_id: UserId) -> [u8; 16] {
    let mut handle = [0; 16];
    let (prefix, number) = handle.split_at_mut(HANDLE.len());
    prefix.copy_from_slice(&HANDLE);
    number.copy_from_slice(&user_id.0.to_be_bytes());
    handle
}

fn passkeys_of(factors: &StoredFactors) -> Vec<Passkey> {
    factors.passkeys().iter().filter_map(|(_, passkey)| passkey.passkey.passkey()).collect()
}

/// The challenge that a browser has answered, from a page of the site itself and not within one of another site.
fn challenge_of(client_data: &[u8]) -> Result<Vec<u8>> {
    let client_data: CollectedClientData =
        serde_json::from_slice(client_data).map_err(|_| Refusal::PasskeyRefused)?;
    Refusal::PasskeyRefused.when(client_data.cross_origin == Some(true))?;
    Ok(client_data.challenge)
}

/// The state of a ceremony whose challenge the site has signed, instead of one that was stored.
fn with_challenge<T: Serialize + DeserializeOwned>(
    state: &T,
    part: &str,
    (challenge, verification): (&[u8], UserVerificationPolicy),
) -> Result<T> {
    let mut state = serde_json::to_value(state).map_err(internal)?;
    let Some(Value::Object(fields)) = state.pointer_mut(part) else {
        return Err(Error::Internal(format!("the state of a ceremony has no {part}")));
    };
    fields.insert("challenge".to_owned(), BASE64_URL_SAFE_NO_PAD.encode(challenge).into());
    fields.insert("policy".to_owned(), serde_json::to_value(verification).map_err(internal)?);
    serde_json::from_value(state).map_err(internal)
}

/// A failure that the browser or the authenticator has caused. The reason holds no secret.
fn refused(error: &WebauthnError) -> Error {
    tracing::debug!(%error, "passkey refused");
    Refusal::PasskeyRefused.into()
}

fn internal(error: impl Display) -> Error {
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
            let (options, _) = party.0.start_passkey_authentication(&[]).unwrap();
            let origins = party.0.get_allowed_origins().iter().map(|url| url.origin().ascii_serialization());
            assert_eq!(
                (&*options.public_key.rp_id, origins.collect::<Vec<_>>()),
                (id, vec![origin.to_owned()])
            );
        }
        for address in ["http://127.0.0.1:8080", "http://[::1]/", "", "localhost"] {
            assert!(RelyingParty::new(address, "News").is_none(), "{address}");
        }
    }

    #[test]
    fn a_handle_has_the_number_of_its_user() {
        let handle = handle(UserId(0x0102_0304));
        assert_eq!(&handle, b"tidings:\0\0\0\0\x01\x02\x03\x04");
    }
}
