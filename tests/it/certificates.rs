//! Certificates of an authority that only the system knows, by `SSL_CERT_FILE`: of Redis and of
//! the mail relay.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use tidings_testing::certificates::Authority;

use crate::client::{Client, PASSWORD, ok};
use crate::program::Program;
use crate::redis_server::RedisServer;
use crate::server::http_client;
use crate::smtp_server::SmtpServer;

fn add_user(store: &str, name: &str, authority: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["--store", store, "user", "add", name]).env_remove("SSL_CERT_FILE");
    if let Some(authority) = authority {
        command.env("SSL_CERT_FILE", authority);
    }
    command.output().unwrap()
}

#[test]
fn redis_may_have_a_certificate_of_an_authority_of_the_system() {
    let authority = Authority::new();
    let identity = authority.identity();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let redis = RedisServer::start_with(&[
        "--tls-port",
        &port,
        "--tls-cert-file",
        identity.certificate.to_str().unwrap(),
        "--tls-key-file",
        identity.key.to_str().unwrap(),
        "--tls-auth-clients",
        "no",
    ]);
    let store = format!("rediss://127.0.0.1:{port}");
    let stranger = add_user(&store, "alice", None);
    let reason = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert!(!stranger.status.success() && reason.to_lowercase().contains("certificate"), "{reason}");
    let trusted = add_user(&store, "alice", Some(&authority.file()));
    assert!(trusted.status.success(), "{trusted:?}");
    assert!(redis.send(b"HGET user:1 username").contains("alice"));
}

#[tokio::test]
async fn the_mail_relay_may_have_a_certificate_of_an_authority_of_the_system() {
    let authority = Authority::new();
    let mut relay = SmtpServer::start_with_identity(&authority.identity()).await;
    let (address, file) = (relay.relay(), authority.file());
    let settings = [
        ("TIDINGS_MAIL__RELAY", &*address),
        ("TIDINGS_MAIL__TLS", "required"),
        ("SSL_CERT_FILE", file.to_str().unwrap()),
    ];
    let program = Program::start_with("redb::memory:", &settings);
    let visitor = Client::new(http_client(), program.address);
    let fields = [("username", "alice"), ("password", PASSWORD), ("email", "alice@example.org")];
    ok(visitor.api_post("/api/create_account", &fields).await);
    let fields = [("username", "alice"), ("email", "alice@example.org")];
    ok(visitor.api_post("/api/reset-password", &fields).await);
    assert!(relay.next_message().await.over_tls);
}
