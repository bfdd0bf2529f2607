#![deny(warnings)]
#![allow(dead_code)]
#![warn(unused_extern_crates)]
// Enable some groups of clippy lints.
#![deny(clippy::suspicious)]
#![deny(clippy::perf)]
// Specific lints to enforce.
#![deny(clippy::todo)]
#![deny(clippy::unimplemented)]
#![deny(clippy::unwrap_used)]
#![deny(clippy::expect_used)]
#![deny(clippy::panic)]
#![deny(clippy::await_holding_lock)]
#![deny(clippy::needless_pass_by_value)]
#![deny(clippy::trivially_copy_pass_by_ref)]
#![deny(clippy::disallowed_types)]
#![deny(clippy::manual_let_else)]
#![allow(clippy::unreachable)]

pub use der;

pub mod traits {
    pub use crypto_common::{Generate, KeyInit, OutputSizeUser};
    pub use der::{
        Decode as DecodeDer, DecodePem, Encode as EncodeDer, EncodePem,
        pem::LineEnding as LineEndingPem, referenced::OwnedToRef,
    };
    pub use elliptic_curve::sec1::{FromSec1Point, ToSec1Point};
    pub use hmac::{Hmac, Mac};
    pub use rsa::signature::Verifier;
    pub use sha2::Digest;
    pub mod hazmat {
        //! This is a “Hazardous Materials” module. You should ONLY use it if you’re 100% absolutely sure that you know what you’re doing because this module is full of land mines, dragons, and dinosaurs with laser guns.

        pub use rsa::signature::hazmat::PrehashVerifier;
    }
}

pub mod x509;

pub mod s256 {
    use hybrid_array::{Array, sizes::U32};

    pub use sha2::Sha256;

    pub type Sha256Output = Array<u8, U32>;
}

pub mod hmac_s256 {
    use crypto_common::Key;
    use crypto_common::Output;

    use hmac::Hmac;
    use hmac::Mac;
    use sha2::Sha256;
    use sha2::digest::CtOutput;
    use zeroize::Zeroizing;

    pub type HmacSha256 = Hmac<Sha256>;

    pub type HmacSha256Key = Zeroizing<Key<Hmac<Sha256>>>;

    pub type HmacSha256Output = CtOutput<HmacSha256>;

    pub type HmacSha256Bytes = Output<HmacSha256>;

    pub fn new_key() -> HmacSha256Key {
        use crypto_common::Generate;
        Key::<HmacSha256>::generate().into()
    }

    pub fn oneshot(key: &HmacSha256Key, data: &[u8]) -> HmacSha256Output {
        use crypto_common::KeyInit;

        let mut hmac = HmacSha256::new(key);
        hmac.update(data);
        hmac.finalize()
    }

    #[allow(clippy::needless_pass_by_value)]
    pub fn key_from_vec(bytes: Vec<u8>) -> Option<HmacSha256Key> {
        key_from_slice(&bytes)
    }

    pub fn key_from_slice(bytes: &[u8]) -> Option<HmacSha256Key> {
        use crypto_common::KeySizeUser;
        // Key too short - too long.
        if bytes.len() < 16 || bytes.len() > Hmac::<Sha256>::key_size() {
            None
        } else {
            let mut key = Key::<Hmac<Sha256>>::default();
            let key_ref = &mut key.as_mut_slice()[..bytes.len()];
            key_ref.copy_from_slice(bytes);
            Some(key.into())
        }
    }

    pub fn key_from_bytes(bytes: [u8; 64]) -> HmacSha256Key {
        Key::<Hmac<Sha256>>::from(bytes).into()
    }

    pub fn key_size() -> usize {
        use crypto_common::KeySizeUser;
        Hmac::<Sha256>::key_size()
    }
}

pub mod rsa {
    use rsa::PublicKey as RsaPublicKey;
    use rsa::pkcs1v15::{Signature, VerifyingKey};

    pub use rsa::BoxedUint as BigUint;
    pub use sha2::{Sha256, Sha384};

    pub type RS256PublicKey = RsaPublicKey;
    pub type RS256Signature = Signature;
    pub type RS256Digest = Sha256;
    pub type RS256VerifyingKey = VerifyingKey<Sha256>;

    pub type RS384Digest = Sha384;
    pub type RS384VerifyingKey = VerifyingKey<Sha384>;
}

pub mod ecdsa_p256 {
    use ecdsa::DigestAlgorithm;
    use ecdsa::{Signature, SignatureBytes, SigningKey, VerifyingKey};
    use elliptic_curve::point::AffinePoint;
    use elliptic_curve::scalar::NonZeroScalar;
    use elliptic_curve::sec1::FromSec1Point;
    use elliptic_curve::sec1::Sec1Point;
    use elliptic_curve::{FieldBytes, PublicKey, SecretKey};
    use hybrid_array::{Array, sizes::U32};
    use p256::{NistP256, ecdsa::DerSignature};

    pub type EcdsaP256Digest = <NistP256 as DigestAlgorithm>::Digest;

    pub type EcdsaP256PrivateKey = SecretKey<NistP256>;
    pub type EcdsaP256NonZeroScalar = NonZeroScalar<NistP256>;

    pub type EcdsaP256FieldBytes = FieldBytes<NistP256>;
    pub type EcdsaP256AffinePoint = AffinePoint<NistP256>;

    pub type EcdsaP256PublicKey = PublicKey<NistP256>;

    pub type EcdsaP256PublicCoordinate = Array<u8, U32>;
    pub type EcdsaP256PublicSec1Point = Sec1Point<NistP256>;

    pub type EcdsaP256SigningKey = SigningKey<NistP256>;
    pub type EcdsaP256VerifyingKey = VerifyingKey<NistP256>;

    pub type EcdsaP256Signature = Signature<NistP256>;
    pub type EcdsaP256DerSignature = DerSignature;
    pub type EcdsaP256SignatureBytes = SignatureBytes<NistP256>;

    pub fn new_key() -> EcdsaP256PrivateKey {
        use crypto_common::Generate;

        EcdsaP256PrivateKey::generate()
    }

    pub fn from_coords_raw(x: &[u8], y: &[u8]) -> Option<EcdsaP256PublicKey> {
        let mut field_x = EcdsaP256FieldBytes::default();
        if x.len() != field_x.len() {
            return None;
        }

        let mut field_y = EcdsaP256FieldBytes::default();
        if y.len() != field_y.len() {
            return None;
        }

        field_x.copy_from_slice(x);
        field_y.copy_from_slice(y);

        let ep = EcdsaP256PublicSec1Point::from_affine_coordinates(&field_x, &field_y, false);

        EcdsaP256PublicKey::from_sec1_point(&ep).into_option()
    }
}

pub mod ecdsa_p384 {
    use ecdsa::DigestAlgorithm;
    use ecdsa::{Signature, SignatureBytes, SigningKey, VerifyingKey};
    use elliptic_curve::point::AffinePoint;
    use elliptic_curve::sec1::FromSec1Point;
    use elliptic_curve::sec1::Sec1Point;
    use elliptic_curve::{FieldBytes, PublicKey, SecretKey};
    use p384::{NistP384, ecdsa::DerSignature};
    // use sha2::digest::consts::U32;

    pub type EcdsaP384Digest = <NistP384 as DigestAlgorithm>::Digest;

    pub type EcdsaP384PrivateKey = SecretKey<NistP384>;

    pub type EcdsaP384FieldBytes = FieldBytes<NistP384>;
    pub type EcdsaP384AffinePoint = AffinePoint<NistP384>;

    pub type EcdsaP384PublicKey = PublicKey<NistP384>;

    // pub type EcdsaP384PublicCoordinate = GenericArray<u8, U32>;
    pub type EcdsaP384PublicSec1Point = Sec1Point<NistP384>;

    pub type EcdsaP384SigningKey = SigningKey<NistP384>;
    pub type EcdsaP384VerifyingKey = VerifyingKey<NistP384>;

    pub type EcdsaP384Signature = Signature<NistP384>;
    pub type EcdsaP384DerSignature = DerSignature;
    pub type EcdsaP384SignatureBytes = SignatureBytes<NistP384>;

    pub fn new_key() -> EcdsaP384PrivateKey {
        use crypto_common::Generate;
        EcdsaP384PrivateKey::generate()
    }

    pub fn from_coords_raw(x: &[u8], y: &[u8]) -> Option<EcdsaP384PublicKey> {
        let mut field_x = EcdsaP384FieldBytes::default();
        if x.len() != field_x.len() {
            return None;
        }

        let mut field_y = EcdsaP384FieldBytes::default();
        if y.len() != field_y.len() {
            return None;
        }

        field_x.copy_from_slice(x);
        field_y.copy_from_slice(y);

        let ep = EcdsaP384PublicSec1Point::from_affine_coordinates(&field_x, &field_y, false);

        EcdsaP384PublicKey::from_sec1_point(&ep).into_option()
    }
}

pub mod ecdsa_p521 {
    use ecdsa::DigestAlgorithm;
    use ecdsa::{Signature, SignatureBytes, SigningKey, VerifyingKey};
    use elliptic_curve::point::AffinePoint;
    use elliptic_curve::sec1::FromSec1Point;
    use elliptic_curve::sec1::Sec1Point;
    use elliptic_curve::{FieldBytes, PublicKey, SecretKey};
    use p521::{NistP521, ecdsa::DerSignature};

    pub type EcdsaP521Digest = <NistP521 as DigestAlgorithm>::Digest;

    pub type EcdsaP521PrivateKey = SecretKey<NistP521>;

    pub type EcdsaP521FieldBytes = FieldBytes<NistP521>;
    pub type EcdsaP521AffinePoint = AffinePoint<NistP521>;

    pub type EcdsaP521PublicKey = PublicKey<NistP521>;

    // pub type EcdsaP521PublicCoordinate = GenericArray<u8, U32>;
    pub type EcdsaP521PublicSec1Point = Sec1Point<NistP521>;

    pub type EcdsaP521SigningKey = SigningKey<NistP521>;
    pub type EcdsaP521VerifyingKey = VerifyingKey<NistP521>;

    pub type EcdsaP521Signature = Signature<NistP521>;
    pub type EcdsaP521DerSignature = DerSignature;
    pub type EcdsaP521SignatureBytes = SignatureBytes<NistP521>;

    pub fn new_key() -> EcdsaP521PrivateKey {
        use crypto_common::Generate;
        EcdsaP521PrivateKey::generate()
    }

    pub fn from_coords_raw(x: &[u8], y: &[u8]) -> Option<EcdsaP521PublicKey> {
        let mut field_x = EcdsaP521FieldBytes::default();
        if x.len() != field_x.len() {
            return None;
        }

        let mut field_y = EcdsaP521FieldBytes::default();
        if y.len() != field_y.len() {
            return None;
        }

        field_x.copy_from_slice(x);
        field_y.copy_from_slice(y);

        let ep = EcdsaP521PublicSec1Point::from_affine_coordinates(&field_x, &field_y, false);

        EcdsaP521PublicKey::from_sec1_point(&ep).into_option()
    }
}
