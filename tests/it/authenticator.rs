//! A simulated phone or security key: codes of an authenticator app, and passkeys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use p256::elliptic_curve::Generate;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Secret};

/// The code that an app with this secret shows.
pub fn code(secret: &str, seconds: u64) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    Builder::new().with_secret(secret).build_noncompliant().generate(seconds).to_string()
}

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const HAS_CREDENTIAL: u8 = 0x40;

/// An authenticator with one passkey.
#[derive(Clone)]
pub struct Authenticator {
    key: SigningKey,
    id: Vec<u8>,
    handle: String,
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
        Self {
            key: SigningKey::generate(),
            id,
            handle: String::new(),
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

    /// Says that the passkey is of somebody else.
    pub fn take_handle_of(&mut self, other: &Self) {
        self.handle.clone_from(&other.handle);
    }

    fn client_data(&self, kind: &str, options: &Value) -> String {
        json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false })
            .to_string()
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        let verified = if self.verifies { VERIFIED } else { 0 };
        let mut data = Sha256::digest(&self.host).to_vec();
        data.push(flags | verified | PRESENT);
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
        // A COSE key: ES256 with its two coordinates.
        let point = self.key.verifying_key().to_sec1_point(false);
        data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        data.extend(point.x().unwrap());
        data.extend([0x22, 0x58, 0x20]);
        data.extend(point.y().unwrap());
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
        let signature: Signature = self.key.sign(&signed);
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": encode(client_data.as_bytes()),
                "authenticatorData": data,
                "signature": encode(signature.to_der().as_bytes()),
                "userHandle": self.handle,
            },
            "clientExtensionResults": {},
        })
        .to_string()
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
