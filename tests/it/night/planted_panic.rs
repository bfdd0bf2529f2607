//! A panic in a part that the site cannot do without ends the program, so that a service manager
//! starts it again.
//!
//! Nothing in the program serves to plant a panic. The program runs in a process of this test
//! binary, with what subscribes to the spans of workers; see `supervised.rs`.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tidings::cli::serve;
use tidings::config::{CommandLineSettings, Config, environment};
use tidings_domain::supervision::FAILED;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;

use super::{assert_nothing_is_lost, assert_readers_see, lasting_redis, post, url_of, wait_for_health};
use crate::program::{Program, serve_command};
use crate::server::http_client;
use crate::supervised::Plant;

/// The test that is the program, in a process of its own.
const PROGRAM: &str = "night::planted_panic::a_program_with_a_worker_that_panics";
/// The variables with the name of the worker, and with the file whose presence lets it panic.
const WORKER: &str = "PLANTED_WORKER";
const ARMED: &str = "PLANTED_ARMED";
/// A second, and what a busy machine takes to find the names of a backtrace in a debug build.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn a_program_with_a_worker_that_panics() {
    let (Ok(worker), Some(armed)) = (std::env::var(WORKER), std::env::var_os(ARMED)) else { return };
    let log = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(std::io::stderr);
    let plant = Plant::armed_by(&worker, Path::new(&armed));
    let subscriber = tracing_subscriber::registry().with(plant).with(log.with_filter(LevelFilter::INFO));
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let load = || Config::load(None, environment(), &CommandLineSettings::default());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(serve::run(load().unwrap(), load, |_| Ok(()))).unwrap();
}

/// The program on a store, with a worker that panics once the file is there.
fn start_planted(store: &str, worker: &str, armed: &Path) -> Program {
    let like = serve_command(store, &[]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", PROGRAM, "--nocapture"])
        .envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("TIDINGS_SERVER__LISTEN", "127.0.0.1:0")
        .env("TIDINGS_SERVER__STORE", store)
        .env("TIDINGS_SERVER__CREATE", "true")
        .env(WORKER, worker)
        .env(ARMED, armed);
    Program::start_command(command)
}

async fn check_panic(store: &str, worker: &str) {
    let folder = tempfile::tempdir().unwrap();
    let armed = folder.path().join("armed");
    let mut program = start_planted(store, worker, &armed);
    let alice = program.visitor().register("alice").await;
    let mut posted = Vec::new();
    for number in 0..20 {
        post(&alice, &mut posted, &format!("Story {number}")).await;
    }
    assert_readers_see(&program, posted.last().unwrap()).await;
    wait_for_health(&program, 200, "ok").await;
    std::fs::write(&armed, "").unwrap();
    let began = Instant::now();
    let fields = [("news_id", "-1"), ("title", "During"), ("text", "text")];
    // On a new connection, which must be accepted.
    let writer = program.visitor().with_secrets(alice.auth.as_deref(), alice.apisecret.as_deref());
    match writer.try_post("/api/submit", &fields).await {
        Some(answer) if answer.status == 200 => posted.push("During".to_owned()),
        Some(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
        None => {}
    }
    // The worker may have been going on already when the file came. Then it goes on again with the next connection.
    let _ = TcpStream::connect(program.address);
    assert_eq!(program.wait().code(), Some(FAILED), "{}", program.log());
    assert!(began.elapsed() < ENDS_WITHIN, "{:?}", began.elapsed());
    let panic = program.wait_for_log("a panic: this is a mistake in the program");
    assert!(panic.contains("reason=\"planted\"") && panic.contains("backtrace="), "{panic}");
    let end = program.wait_for_log("a worker has failed that the server cannot do without");
    assert!(end.contains(&format!("worker={worker:?} status={FAILED}")), "{end}");
    // Nobody is left who could say that the site is ready.
    let health = format!("http://{}/health/ready", program.address);
    assert!(http_client().get(health).send().await.is_err());

    let program = Program::start(store);
    wait_for_health(&program, 200, "ok").await;
    assert_readers_see(&program, posted.last().unwrap()).await;
    assert_nothing_is_lost(&program, store, &posted).await;
    post(&alice.at(program.address), &mut posted, "After").await;
    assert_nothing_is_lost(&program, store, &posted).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panic_in_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    check_panic(&url_of(folder.path()), "store writer").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panic_in_what_accepts_connections() {
    let folder = tempfile::tempdir().unwrap();
    check_panic(&url_of(folder.path()), "server").await;
    let redis = lasting_redis();
    check_panic(&redis.url(), "server").await;
}
