//! Certificates of an authority that only the system knows, by `SSL_CERT_FILE`: of Redis, of Sentinels and a
//! cluster, and of the mail relay.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use tidings_testing::certificates::Authority;

use crate::client::{PASSWORD, ok};
use crate::program::{Program, Ran, wait_until};
use crate::redis_server::{RedisCluster, RedisServer, ReplicatedRedis, Security};
use crate::smtp_server::SmtpServer;

/// Runs a command on a store.
fn run(store: &str, arguments: &[&str], authority: Option<&Path>) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["--store", store]).args(arguments).env_remove("SSL_CERT_FILE");
    if let Some(authority) = authority {
        command.env("SSL_CERT_FILE", authority);
    }
    command.output().unwrap().into()
}

fn add_user(store: &str, authority: Option<&Path>) -> Ran {
    run(store, &["user", "add", "alice", "--create"], authority)
}

/// Asserts that a command does not trust a store.
fn assert_distrusted(store: &str) {
    let stranger = add_user(store, None);
    let reason = stranger.err.to_lowercase();
    assert!(stranger.code != Some(0) && reason.contains("certificate"), "{stranger:?}");
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
    assert_distrusted(&store);
    add_user(&store, Some(&authority.file())).good();
    assert!(redis.send(b"HGET user:1 username").contains("alice"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_a_cluster_may_have_certificates_and_passwords() {
    let authority = Authority::new();
    let (identity, file) = (authority.identity(), authority.file());
    let security = Security { authority: file.clone(), certificate: identity.certificate, key: identity.key };
    let (mut redis, mut cluster) =
        (ReplicatedRedis::start_secured(&security), RedisCluster::start_secured(&security));
    let (store, timelines) = (redis.url(), cluster.url());
    assert_distrusted(&store);

    let settings = [
        ("TIDINGS_TIMELINES__STORE", &*timelines),
        ("TIDINGS_SERVER__STORE_REPLICAS", "1"),
        ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"),
        ("SSL_CERT_FILE", file.to_str().unwrap()),
    ];
    let program = Program::start_with(&store, &settings);
    let visitor = program.visitor();
    let (alice, bob) = (visitor.register("alice").await, visitor.register("bob").await);
    bob.follow("alice").await;
    let demand_delivery = async |cluster: &RedisCluster| {
        // Until another server has taken over, it says that it may or may not have been done.
        tidings_testing::until(async || alice.try_tweet("Hello").await["status"] == "ok").await;
        let checked = wait_until("a delivery", || {
            let checked = run(&store, &["check", "timelines"], Some(&file));
            (checked.code == Some(0) && checked.out.contains("no differences")).then_some(checked.out)
        });
        assert!(cluster.keys() > 0, "{checked}");
    };
    demand_delivery(&cluster).await;
    let killed = cluster.kill_master();
    cluster.wait_for_failover(killed);
    demand_delivery(&cluster).await;
    let killed = redis.kill_primary();
    redis.wait_for_failover(killed);
    demand_delivery(&cluster).await;
    for secret in ["secret", "swordfish"] {
        assert!(!program.log().contains(secret), "{}", program.log());
    }
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
    let visitor = program.visitor();
    let fields = [("username", "alice"), ("password", PASSWORD), ("email", "alice@example.org")];
    ok(visitor.api_post("/api/create_account", &fields).await);
    ok(visitor.call("/api/reset-password?username=alice&email=alice@example.org").await);
    assert!(relay.next_message().await.over_tls);
}
