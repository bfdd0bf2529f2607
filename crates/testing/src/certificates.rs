//! An authority that nobody knows, and certificates that it has signed, made by openssl.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const CONFIGURATION: &str = "[req]\ndistinguished_name = name\nprompt = no\n[name]\nCN = A test\n\
    [authority]\nbasicConstraints = critical,CA:TRUE\nkeyUsage = keyCertSign\n\
    [server]\nsubjectAltName = IP:127.0.0.1\nbasicConstraints = CA:FALSE\n";

/// An authority. Its files are gone when it is dropped.
pub struct Authority {
    folder: TempDir,
}

/// The files of a server's certificate, in PEM.
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    /// A new authority.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("openssl.cnf"), CONFIGURATION).unwrap();
        let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
            -config openssl.cnf -extensions authority -keyout authority.key -out authority.pem";
        openssl(folder.path(), arguments);
        Self { folder }
    }

    /// The file with its certificate, for `SSL_CERT_FILE`.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// Its certificate.
    pub fn pem(&self) -> Vec<u8> {
        std::fs::read(self.file()).unwrap()
    }

    /// A certificate for 127.0.0.1.
    pub fn identity(&self) -> Identity {
        let folder = self.folder.path();
        let request = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -config openssl.cnf \
            -subj /CN=127.0.0.1 -keyout server.key -out server.csr";
        openssl(folder, request);
        let signing = "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -set_serial 2 -days 2 \
            -extfile openssl.cnf -extensions server -out server.pem";
        openssl(folder, signing);
        Identity { certificate: folder.join("server.pem"), key: folder.join("server.key") }
    }
}

impl Identity {
    /// Accepts connections of clients over TLS with this certificate.
    pub fn acceptor(&self) -> TlsAcceptor {
        let chain = vec![CertificateDer::from_pem_file(&self.certificate).unwrap()];
        let key = PrivateKeyDer::from_pem_file(&self.key).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let made =
        Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}
