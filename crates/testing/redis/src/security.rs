//! TLS and passwords of servers, Sentinels and nodes of a cluster.

use crate::free_port;
use std::path::PathBuf;

/// The password of the servers and of the nodes.
pub(crate) const PASSWORD: &str = "secret";
/// The password of the Sentinels.
pub(crate) const SENTINEL_PASSWORD: &str = "swordfish";

/// The files, in PEM, with which servers prove who they are. The test itself talks to them without TLS, on
/// ports of their own.
#[derive(Debug, Clone)]
pub struct Security {
    /// The certificate of the authority that all believe.
    pub authority: PathBuf,
    /// The certificate of all servers, for 127.0.0.1.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Security {
    /// The settings of a server, a Sentinel or a node that takes connections with TLS on a free port, and
    /// reaches the others that way.
    pub(crate) fn tls(&self) -> Vec<(&'static str, String)> {
        let file = |path: &PathBuf| path.to_str().expect("a path in UTF-8").to_owned();
        vec![
            ("tls-port", free_port().to_string()),
            ("tls-ca-cert-file", file(&self.authority)),
            ("tls-cert-file", file(&self.certificate)),
            ("tls-key-file", file(&self.key)),
            ("tls-auth-clients", "no".to_owned()),
            ("tls-replication", "yes".to_owned()),
        ]
    }

    /// The options of a server or a node: TLS, and the password for all who connect.
    pub(crate) fn server_options(&self) -> Vec<String> {
        let passwords = ["requirepass", "masterauth"].map(|name| (name, PASSWORD.to_owned()));
        let settings = self.tls().into_iter().chain(passwords);
        settings.flat_map(|(name, value)| [format!("--{name}"), value]).collect()
    }
}
