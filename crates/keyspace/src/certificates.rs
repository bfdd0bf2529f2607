//! The authorities whose certificates are believed: those of the system, and those of Mozilla,
//! which are part of the program, so that a container without certificates works too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

/// The certificates of the authorities that the system trusts, in DER: of its own store, or of
/// the file in the variable `SSL_CERT_FILE` and the folder in `SSL_CERT_DIR`. Those that cannot be
/// read are logged and left out.
pub fn of_system() -> Vec<Vec<u8>> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some certificates of the system cannot be read");
    }
    found.certs.into_iter().filter(is_usable).map(|certificate| certificate.to_vec()).collect()
}

/// Whether certificates can be checked with it.
fn is_usable(certificate: &CertificateDer<'static>) -> bool {
    RootCertStore::empty().add(certificate.clone()).is_ok()
}

/// All authorities that are believed, in PEM.
pub(crate) fn all() -> Vec<u8> {
    let bundled = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|certificate| certificate.to_vec());
    let all: Vec<String> = bundled.chain(of_system()).map(|certificate| pem(&certificate)).collect();
    all.concat().into_bytes()
}

fn pem(certificate: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::pem::PemObject;

    #[test]
    fn the_bundled_authorities_are_believed_whatever_the_system_has() {
        let all = all();
        let mut store = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&all) {
            store.add(certificate.expect("PEM")).expect("a certificate of an authority");
        }
        assert!(store.len() >= webpki_root_certs::TLS_SERVER_ROOT_CERTS.len(), "{}", store.len());
    }
}
