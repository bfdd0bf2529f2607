//! A simulated phone or security key: codes of an authenticator app, and passkeys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use p256::elliptic_curve::Generate;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use totp_rs::{Builder, Secret};

/// The code that an app with this secret shows.
pub fn code(secret: &str, seconds: u64) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    Builder::new().with_secret(secret).build_noncompliant().generate(seconds).to_string()
}

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const HAS_CREDENTIAL: u8 = 0x40;

/// The private key of a passkey.
#[derive(Clone)]
pub enum Key {
    /// Of most phones and computers.
    Es256(SigningKey),
    /// Of some security keys.
    Ed25519(Arc<Ed25519KeyPair>),
    /// Of some computers with Windows.
    Rs256(Arc<RsaKeyPair>),
}

impl Key {
    /// The public key in the form of COSE.
    fn cose(&self) -> Vec<u8> {
        match self {
            Self::Es256(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                [
                    &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20],
                    &**point.x().unwrap(),
                    &[0x22, 0x58, 0x20],
                    point.y().unwrap(),
                ]
                .concat()
            }
            Self::Ed25519(key) => {
                let start = [0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20];
                [&start, key.public_key().as_ref()].concat()
            }
            Self::Rs256(key) => {
                let modulus = PublicKeyComponents::<Vec<u8>>::from(key.public()).n;
                let start = [0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59, 0x01, 0x00];
                [&start[..], &modulus, &[0x21, 0x43, 0x01, 0x00, 0x01]].concat()
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Es256(key) => {
                let signature: Signature = key.sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
                signature
            }
        }
    }
}

/// An authenticator with one passkey.
#[derive(Clone)]
pub struct Authenticator {
    key: Key,
    id: Vec<u8>,
    handle: String,
    /// Whether somebody touches it.
    pub is_present: bool,
    /// Whether the page of the site is within one of another site.
    pub is_framed: bool,
    /// Whether it asks for a PIN or a finger.
    pub verifies: bool,
    /// How often it was used; 0 if it does not count.
    pub counter: u32,
    /// The site that it thinks it is at.
    pub origin: String,
    /// The host of the site.
    pub host: String,
}

impl Authenticator {
    /// An authenticator of a browser at a site.
    pub fn new(origin: &str, host: &str) -> Self {
        let mut id = vec![0; 32];
        getrandom::fill(&mut id).unwrap();
        Self::with_key(Key::Es256(SigningKey::generate()), id, (origin, host))
    }

    /// An authenticator with a key and the id of its passkey.
    pub fn with_key(key: Key, id: Vec<u8>, (origin, host): (&str, &str)) -> Self {
        Self {
            key,
            id,
            handle: String::new(),
            is_present: true,
            is_framed: false,
            verifies: true,
            counter: 0,
            origin: origin.to_owned(),
            host: host.to_owned(),
        }
    }

    /// Signs with the key of another one.
    pub fn take_key_of(&mut self, other: &Self) {
        self.key = other.key.clone();
    }

    /// Signs with another key.
    pub fn take_key(&mut self, key: Key) {
        self.key = key;
    }

    /// Says that the passkey is of the user with a number.
    pub fn take_user(&mut self, user_id: u64) {
        self.handle = encode(&[&b"tidings:"[..], &user_id.to_be_bytes()].concat());
    }

    /// Forgets whose passkey it is, as a key does that is only a second factor.
    pub fn forget_user(&mut self) {
        self.handle = String::new();
    }

    /// Says that the passkey is of somebody else.
    pub fn take_handle_of(&mut self, other: &Self) {
        self.handle.clone_from(&other.handle);
    }

    fn client_data(&self, kind: &str, options: &Value) -> String {
        json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": self.is_framed })
            .to_string()
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        let verified = if self.verifies { VERIFIED } else { 0 };
        let mut data = Sha256::digest(&self.host).to_vec();
        data.push(flags | verified | if self.is_present { PRESENT } else { 0 });
        data.extend(self.counter.to_be_bytes());
        data
    }

    /// Makes a passkey, as `navigator.credentials.create` does.
    pub fn create(&mut self, options: &Value) -> String {
        options["user"]["id"].as_str().unwrap().clone_into(&mut self.handle);
        let mut data = self.data(HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend(&self.id);
        data.extend(self.key.cose());
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".to_vec();
        object.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        object.extend(data);
        let client_data = self.client_data("webauthn.create", options);
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": encode(client_data.as_bytes()),
                "attestationObject": encode(&object),
                "transports": ["internal"],
            },
            "clientExtensionResults": {},
        })
        .to_string()
    }

    /// Uses the passkey, as `navigator.credentials.get` does.
    pub fn get(&mut self, options: &Value) -> String {
        if self.counter > 0 {
            self.counter += 1;
        }
        let client_data = self.client_data("webauthn.get", options);
        let mut signed = self.data(0);
        let data = encode(&signed);
        signed.extend(Sha256::digest(&client_data));
        let signature = self.key.sign(&signed);
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": encode(client_data.as_bytes()),
                "authenticatorData": data,
                "signature": encode(&signature),
                "userHandle": if self.handle.is_empty() { Value::Null } else { self.handle.clone().into() },
            },
            "clientExtensionResults": {},
        })
        .to_string()
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
