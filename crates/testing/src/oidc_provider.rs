//! A sign-in service for one test: `oidc-provider` of npm, which the `OpenID` Foundation has certified, with accounts and
//! mistakes that the test chooses (`tests/oidc/provider.mjs`).

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::server::{START, http_client};
use crate::skips::skip;

const CLIENT_ID: &str = "tidings";
/// Has characters that HTTP Basic needs encoded (RFC 6749, section 2.3.1).
const CLIENT_SECRET: &str = "a secret: 100% + more/less";

/// A running sign-in service. Dropping it ends it.
pub struct OidcProvider {
    process: Child,
    /// Closing it ends the service.
    pipe: Option<ChildStdin>,
    /// The address of the service.
    pub issuer: String,
    control: String,
    site: String,
    secret_file: String,
    folder: TempDir,
}

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    Right,
    /// By a key that is not the one that the token names.
    OtherKey,
    /// By a key that the service does not publish.
    UnknownKey,
    /// The algorithm `none`.
    None,
    /// HS256 with the client's secret.
    Secret,
    /// HS256 with the public key of the service as the secret.
    PublicKey,
}

impl Signature {
    const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::OtherKey => "other key",
            Self::UnknownKey => "unknown key",
            Self::None => "none",
            Self::Secret => "secret",
            Self::PublicKey => "public key",
        }
    }
}

/// What is wrong with the answers at a path.
#[derive(Debug, Clone)]
pub enum Fault {
    /// They have a status and nothing else.
    Status(u16),
    /// They send the client elsewhere.
    Redirect(String),
    /// The connection is closed.
    Reset,
    /// They begin and never end.
    Hang,
    /// They come late.
    Delay(Duration),
    /// They are right, and so many bytes longer.
    Padding(usize),
}

impl Fault {
    fn describe(&self) -> Value {
        match self {
            Self::Status(status) => json!({ "status": status }),
            Self::Redirect(location) => json!({ "status": 307, "headers": { "location": location } }),
            Self::Reset => json!({ "reset": true }),
            Self::Hang => json!({ "hang": true }),
            Self::Delay(time) => json!({ "delayMilliseconds": u64::try_from(time.as_millis()).unwrap() }),
            Self::Padding(bytes) => json!({ "padding": bytes }),
        }
    }
}

impl OidcProvider {
    /// Starts a service for the site at an address such as `http://news.example.com`. Nothing if Node.js or the package
    /// is missing: the test is skipped.
    #[track_caller]
    pub fn start(site: &str) -> Option<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oidc");
        if !folder.join("node_modules/oidc-provider").exists() {
            skip("oidc-provider");
            return None;
        }
        let spawned = Command::new("node")
            .arg(folder.join("provider.mjs"))
            .args([&format!("{site}/oidc/callback"), CLIENT_ID, CLIENT_SECRET, &START.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut process) = spawned else {
            skip("node");
            return None;
        };
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (issuer, control) = lines.next().zip(lines.next()).expect("the sign-in service starts");
        let folder = tempfile::tempdir().unwrap();
        let secret_file = folder.path().join("secret");
        fs::write(&secret_file, format!("{CLIENT_SECRET}\n")).unwrap();
        let secret_file = secret_file.to_str().unwrap().to_owned();
        let pipe = process.stdin.take();
        Some(Self { process, pipe, issuer, control, site: site.to_owned(), secret_file, folder })
    }

    /// The settings of a site that uses this service.
    pub fn settings(&self) -> [(&str, &str); 4] {
        [
            ("site.url", &self.site),
            ("oidc.issuer", &self.issuer),
            ("oidc.client_id", CLIENT_ID),
            ("oidc.client_secret_file", &self.secret_file),
        ]
    }

    /// The path of a file with another secret than the right one.
    pub fn wrong_secret_file(&self) -> String {
        let path = self.folder.path().join("wrong-secret");
        fs::write(&path, "another secret").unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The secret of the site.
    pub const fn secret(&self) -> &'static str {
        CLIENT_SECRET
    }

    /// Gives an account its claims: `sub`, by which the site knows it, and others. Its owner types `name`.
    pub async fn set_account(&self, name: &str, claims: Value) {
        self.change(json!({ "accounts": { name: claims } })).await;
    }

    /// Sets the clock of the service, in Unix seconds.
    pub async fn set_clock(&self, seconds: u64) {
        self.change(json!({ "seconds": seconds })).await;
    }

    /// Sets what the header `Date` adds to the clock of the service.
    pub async fn set_date_skew(&self, seconds: i64) {
        self.change(json!({ "dateSkewSeconds": seconds })).await;
    }

    /// Has the claims in the ID token, or at the userinfo endpoint alone.
    pub async fn put_claims_in_id_token(&self, yes: bool) {
        self.change(json!({ "claimsInIdToken": yes })).await;
    }

    /// Signs with a new key of an algorithm: `RS256`, `ES256` or `EdDSA`.
    pub async fn set_algorithm(&self, algorithm: &str) {
        self.change(json!({ "algorithm": algorithm })).await;
    }

    /// Replaces the keys.
    pub async fn replace_keys(&self) {
        self.change(json!({ "newKeys": true })).await;
    }

    /// Replaces claims of ID tokens; a `null` leaves one out. The signature is that of the changed token.
    pub async fn change_id_tokens(&self, claims: Value, signature: Signature) {
        self.change(json!({ "idToken": claims, "signature": signature.name() })).await;
    }

    /// Replaces members of the answers of the userinfo endpoint.
    pub async fn change_userinfo(&self, members: Value) {
        self.change(json!({ "userinfo": members })).await;
    }

    /// Replaces members of the description of the service.
    pub async fn change_discovery(&self, members: Value) {
        self.change(json!({ "discovery": members })).await;
    }

    /// Makes the answers at these paths wrong, and no others. `*` is all paths.
    pub async fn set_faults(&self, faults: &[(&str, Fault)]) {
        let faults: Map<String, Value> =
            faults.iter().map(|(path, fault)| ((*path).to_owned(), fault.describe())).collect();
        self.change(json!({ "faults": faults })).await;
    }

    /// A token that ends the sessions of a subject, with changed claims. Each call makes another one.
    pub async fn logout_token(&self, subject: &str, claims: Value, signature: Signature) -> String {
        let logout = json!({ "sub": subject, "claims": claims, "signature": signature.name() });
        self.change(json!({ "logout": logout })).await["token"].as_str().unwrap().to_owned()
    }

    /// How many requests each path has had.
    pub async fn requests(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.change(json!({})).await["requests"].clone()).unwrap()
    }

    async fn change(&self, change: Value) -> Value {
        let answer = http_client().post(&self.control).body(change.to_string()).send().await.unwrap();
        assert!(answer.status().is_success(), "{change}");
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        self.pipe.take();
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
