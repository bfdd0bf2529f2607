//! The public key of a passkey as it is stored, and as the crate that checks its use wants it.

use crate::{Error, Refusal, Result};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_cbor_2::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use webauthn_rs::prelude::{
    AttestationFormat, AuthenticationResult, COSEAlgorithm, COSEEC2Key, COSEKey, COSEKeyType, COSEOKPKey,
    COSERSAKey, Credential, ECDSACurve, EDDSACurve, ParsedAttestation, Passkey, PublicKeyCredential,
};
use webauthn_rs_proto::{
    AuthenticatorTransport, CredentialProtectionPolicy, ExtnState, RegisteredExtensions,
    UserVerificationPolicy,
};

/// The fields of a key of COSE (RFC 9052 and 9053).
const KEY_TYPE: i128 = 1;
const ALGORITHM: i128 = 3;
/// The curve of an elliptic key, and the modulus of an RSA key.
const FIRST: i128 = -1;
/// The coordinate x, and the exponent.
const SECOND: i128 = -2;
/// The coordinate y.
const THIRD: i128 = -3;
/// The types of keys.
const OKP: i128 = 1;
const EC2: i128 = 2;
const RSA: i128 = 3;
/// The curve of Ed25519.
const ED25519_CURVE: i128 = 6;
/// Where the counter is in the data of an authenticator, after the hash of the host and the flags.
const COUNTER: std::ops::Range<usize> = 33..37;

/// The public key of a passkey, and what belongs to it. The form is ours and does not change with the crates; it is
/// the one that all versions have written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredKey {
    /// The name that the authenticator has for the passkey.
    pub(crate) credential_id: Vec<u8>,
    /// The key in the form of COSE.
    pub(crate) public_key: Vec<u8>,
    /// How often the authenticator says that it was used; 0 if it does not count.
    pub(crate) counter: u32,
    /// The algorithm by its number in COSE, as in the key.
    algorithm: i32,
    /// How the browser reached the authenticator.
    #[serde(default)]
    transports: Vec<AuthenticatorTransport>,
    /// The protection that the authenticator gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cred_protect: Option<CredentialProtectionPolicy>,
    /// Whether it can be on several devices.
    #[serde(default)]
    be: bool,
    /// Whether it is.
    #[serde(default)]
    bs: bool,
}

impl StoredKey {
    /// A new one; `None` if its kind cannot be stored.
    pub(crate) fn new(credential: &Credential, transports: Vec<AuthenticatorTransport>) -> Option<Self> {
        let protection = match &credential.extensions.cred_protect {
            ExtnState::Set(policy) | ExtnState::Unsolicited(policy) => Some(*policy),
            _ => None,
        };
        Some(Self {
            credential_id: credential.cred_id.clone(),
            public_key: encode(&credential.cred)?,
            counter: credential.counter,
            algorithm: credential.cred.type_ as i32,
            transports,
            cred_protect: protection,
            be: credential.backup_eligible,
            bs: credential.backup_state,
        })
    }

    /// Whether its authenticator never lets it be used without a PIN or a finger.
    pub(crate) fn demands_verification(&self) -> bool {
        self.cred_protect == Some(CredentialProtectionPolicy::UserVerificationRequired)
    }

    /// The passkey for the crate that checks its use; `None` if the key cannot be read.
    pub(crate) fn passkey(&self) -> Option<Passkey> {
        let credential = Credential {
            cred_id: self.credential_id.clone(),
            cred: decode(&self.public_key)?,
            counter: self.counter,
            transports: (!self.transports.is_empty()).then(|| self.transports.clone()),
            // Each ceremony says itself whether it wants a PIN or a finger.
            user_verified: false,
            registration_policy: UserVerificationPolicy::Preferred,
            backup_eligible: self.be,
            backup_state: self.bs,
            extensions: RegisteredExtensions::none(),
            attestation: ParsedAttestation::default(),
            attestation_format: AttestationFormat::None,
        };
        Some(credential.into())
    }

    /// The key after a use.
    pub(crate) fn after(&self, result: &AuthenticationResult) -> Self {
        let (counter, be, bs) = (result.counter(), result.backup_eligible(), result.backup_state());
        Self { counter, be, bs, ..self.clone() }
    }

    /// Checks the signature and the counter of a use of a key of Ed25519, whose signatures the crate does not know,
    /// and returns the key after it. Earlier versions made such keys.
    pub(crate) fn check_ed25519(&self, used: &PublicKeyCredential) -> Result<Self> {
        let refused = || Error::from(Refusal::PasskeyRefused);
        let Some(COSEKey { key: COSEKeyType::EC_OKP(key), .. }) = decode(&self.public_key) else {
            return Err(refused());
        };
        let data = &used.response.authenticator_data;
        let mut signed = data.clone();
        signed.extend(Sha256::digest(&used.response.client_data_json));
        let key = UnparsedPublicKey::new(&ED25519, &key.x);
        key.verify(&signed, &used.response.signature).map_err(|_| refused())?;
        let counter = data.get(COUNTER).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        let counter = counter.ok_or_else(refused)?;
        if (counter > 0 || self.counter > 0) && counter <= self.counter {
            return Err(refused());
        }
        Ok(Self { counter, ..self.clone() })
    }
}

fn decode(cose: &[u8]) -> Option<COSEKey> {
    let Value::Map(fields) = serde_cbor_2::from_slice(cose).ok()? else { return None };
    let number = |field| match fields.get(&Value::Integer(field))? {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    let bytes = |field| match fields.get(&Value::Integer(field))? {
        Value::Bytes(bytes) => Some(bytes.clone()),
        _ => None,
    };
    let type_ = COSEAlgorithm::try_from(number(ALGORITHM)?).ok()?;
    let key = match (number(KEY_TYPE)?, type_) {
        (EC2, COSEAlgorithm::ES256 | COSEAlgorithm::ES384) => COSEKeyType::EC_EC2(COSEEC2Key {
            curve: ECDSACurve::try_from(number(FIRST)?).ok()?,
            x: bytes(SECOND)?,
            y: bytes(THIRD)?,
        }),
        (RSA, COSEAlgorithm::RS256) => {
            COSEKeyType::RSA(COSERSAKey { n: bytes(FIRST)?, e: bytes(SECOND)?.try_into().ok()? })
        }
        (OKP, COSEAlgorithm::EDDSA) if number(FIRST)? == ED25519_CURVE => {
            COSEKeyType::EC_OKP(COSEOKPKey { curve: EDDSACurve::ED25519, x: bytes(SECOND)? })
        }
        _ => return None,
    };
    Some(COSEKey { type_, key })
}

fn encode(key: &COSEKey) -> Option<Vec<u8>> {
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let algorithm = Value::Integer(key.type_ as i128);
    let fields = match &key.key {
        COSEKeyType::EC_EC2(key) => vec![
            (KEY_TYPE, Value::Integer(EC2)),
            (ALGORITHM, algorithm),
            (FIRST, Value::Integer(key.curve.clone() as i128)),
            (SECOND, bytes(&key.x)),
            (THIRD, bytes(&key.y)),
        ],
        COSEKeyType::RSA(key) => vec![
            (KEY_TYPE, Value::Integer(RSA)),
            (ALGORITHM, algorithm),
            (FIRST, bytes(&key.n)),
            (SECOND, bytes(&key.e)),
        ],
        COSEKeyType::EC_OKP(_) => return None,
    };
    let fields: BTreeMap<_, _> =
        fields.into_iter().map(|(field, value)| (Value::Integer(field), value)).collect();
    serde_cbor_2::to_vec(&Value::Map(fields)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let elliptic =
            COSEKeyType::EC_EC2(COSEEC2Key { curve: ECDSACurve::SECP256R1, x: vec![1; 32], y: vec![2; 32] });
        let rsa = COSEKeyType::RSA(COSERSAKey { n: vec![3; 256], e: [1, 0, 1] });
        for key in [
            COSEKey { type_: COSEAlgorithm::ES256, key: elliptic.clone() },
            COSEKey { type_: COSEAlgorithm::RS256, key: rsa },
        ] {
            let cose = encode(&key).unwrap();
            assert_eq!(decode(&cose), Some(key));
            for length in 0..cose.len() {
                assert_eq!(decode(&cose[..length]), None, "{length}");
            }
        }
        let mixed = encode(&COSEKey { type_: COSEAlgorithm::RS256, key: elliptic }).unwrap();
        assert_eq!(decode(&mixed), None);
        for nothing in ["", "\u{0}", "\u{1}{}"] {
            assert_eq!(decode(nothing.as_bytes()), None);
        }
    }
}
