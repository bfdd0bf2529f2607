//! Signatures of tokens, checked by `ring`, which makes the TLS connections of this server too.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature as of_ring;

/// The algorithms that are accepted. Anybody who knows the secret of the client could sign with HS256.
pub(super) const ALGORITHMS: [Algorithm; 3] = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Lets `jsonwebtoken` check signatures. Only the first call counts.
pub(super) fn install() {
    PROVIDER.install_default().ok();
}

/// A key, for one algorithm.
struct Key(Algorithm, DecodingKeyKind);

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if ALGORITHMS.contains(algorithm) && algorithm.family() == key.family() {
        Ok(Box::new(Key(*algorithm, key.kind().clone())))
    } else {
        Err(ErrorKind::InvalidAlgorithm.into())
    }
}

impl Verifier<Vec<u8>> for Key {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let with = |algorithm: &'static dyn of_ring::VerificationAlgorithm, key: &[u8]| {
            of_ring::UnparsedPublicKey::new(algorithm, key).verify(message, signature)
        };
        let verified = match (self.0, &self.1) {
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = of_ring::RsaPublicKeyComponents { n, e };
                key.verify(&of_ring::RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::ES256, DecodingKeyKind::SecretOrDer(key)) => {
                with(&of_ring::ECDSA_P256_SHA256_FIXED, key)
            }
            (Algorithm::EdDSA, DecodingKeyKind::SecretOrDer(key)) => with(&of_ring::ED25519, key),
            _ => return Err(Error::new()),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for Key {
    fn algorithm(&self) -> Algorithm {
        self.0
    }
}
