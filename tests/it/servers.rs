//! Three servers behind haproxy, as `packaging/haproxy.cfg` has it. The long form is
//! `cargo bench --bench rolling`.

use std::net::IpAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tidings_testing::certificates::Authority;

use crate::client::{Client, PASSWORD};
use crate::rolling::{People, Traffic, run};
use crate::server::http_client;
use crate::topology::{CONFIGURATION, SERVERS, Topology, haproxy, is_ready};

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_tidings");
const PEOPLE: People = People { readers: 3, writers: 3 };
/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

fn start(settings: &[(&str, &str)]) -> Topology {
    tokio::task::block_in_place(|| Topology::start(EXECUTABLE, settings))
}

/// Waits until so many more requests have been answered.
fn wait_for_more(traffic: &Traffic, requests: usize) {
    let (until, deadline) = (traffic.answered() + requests, Instant::now() + TIMEOUT);
    while traffic.answered() < until {
        assert!(Instant::now() < deadline, "{} of {until} answers", traffic.answered());
        #[allow(clippy::disallowed_methods)] // A poll of other threads, on one that may wait.
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_request_and_loses_no_write() {
    let mut topology = start(&[]);
    let outcome = run(&mut topology, PEOPLE, |topology, traffic| {
        for number in 0..SERVERS {
            wait_for_more(traffic, 100);
            topology.restart(number);
        }
        topology.wait_until_used(SERVERS - 1);
        wait_for_more(traffic, 100);
    })
    .await;
    println!("{} answers, {} writes, {:?}", outcome.answered, outcome.writes, outcome.longest_pause);
    assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    assert!(outcome.lost.is_empty(), "{:?}", outcome.lost);
    assert!(outcome.writes > 10, "{}", outcome.writes);
    assert!(topology.haproxy_runs());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_costs_the_requests_that_it_was_answering_and_no_acknowledged_write() {
    let mut topology = start(&[]);
    let mut connections = 0;
    let outcome = run(&mut topology, PEOPLE, |topology, traffic| {
        wait_for_more(traffic, 100);
        connections = topology.connections(1);
        topology.kill(1);
        wait_for_more(traffic, 100);
        topology.start_again(1);
        topology.wait_until_used(1);
        wait_for_more(traffic, 100);
    })
    .await;
    println!("{} answers, {:?}", outcome.answered, outcome.failed);
    // A connection has one request under way at a time, and a server that has died opens none. It dies
    // one connection after another, so who has lost a request may lose the next on another connection.
    // Each person may have opened one after they were counted.
    let bound = connections + PEOPLE.readers + PEOPLE.writers;
    assert!(outcome.failed.len() <= bound, "{connections} connections, {:?}", outcome.failed);
    assert!(outcome.lost.is_empty(), "{:?}", outcome.lost);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_serves_until_haproxy_has_left_it_out() {
    let mut topology = start(&[]);
    let direct = Client::new(http_client(), topology.server(0));
    topology.tell_to_stop(0);
    tidings_testing::until(async || {
        let is_used = topology.is_used(0);
        assert!(!is_used || direct.get("/").await.status == StatusCode::OK, "it still serves");
        !is_used
    })
    .await;
    let ready = direct.get("/health/ready").await;
    assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.json()["status"], "stopping");
    tokio::task::block_in_place(|| topology.wait_for_end(0));
    assert!(topology.log(0).contains("stopped"), "{}", topology.log(0));
    assert!(!is_ready(topology.server(0)) && is_ready(topology.server(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visitors_have_addresses_of_their_own_and_cannot_invent_others() {
    let topology = start(&[("rates.failed_login_per_address", "2/1h")]);
    let from = |address: &str| {
        let address: IpAddr = address.parse().unwrap();
        let http = reqwest::Client::builder().no_proxy().local_address(address).build().unwrap();
        Client::new(http, topology.address())
    };
    let status = async |client: Client| {
        client.answer_to(&format!("/api/login?username=nobody&password={PASSWORD}")).await.status
    };
    let (one, other) = (from("127.77.0.1"), from("127.77.0.2"));
    for number in 0..2 {
        let invented = one.clone().forwarded_for(&format!("192.0.2.{number}"));
        assert_ne!(status(invented).await, StatusCode::TOO_MANY_REQUESTS);
    }
    // Whichever server is asked.
    for number in 2..6 {
        let invented = one.clone().forwarded_for(&format!("192.0.2.{number}"));
        assert_eq!(status(invented).await, StatusCode::TOO_MANY_REQUESTS);
    }
    assert_ne!(status(other).await, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_without_its_store_tells_so_itself() {
    let topology = start(&[("server.store_timeout_seconds", "1")]);
    topology.redis().pause();
    let visitor = Client::new(http_client(), topology.address());
    tidings_testing::until(async || !(0..SERVERS).any(|number| topology.is_used(number))).await;
    let page = visitor.get("/latest/0").await;
    let text = page.text();
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE, "{text}");
    assert!(text.contains("The site cannot reach its database at the moment"), "{text}");
    topology.redis().resume();
    tokio::task::block_in_place(|| (0..SERVERS).for_each(|number| topology.wait_until_used(number)));
    assert_eq!(visitor.get("/latest/0").await.status, StatusCode::OK);
}

/// Lets haproxy check a configuration.
fn demand_valid(file: &str) {
    let run: Command = haproxy(&["-c", "-f", file]);
    let checked = { run }.output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && !said.contains("[WARNING]"), "{said}");
}

#[test]
fn haproxy_accepts_the_shipped_configuration_and_what_can_be_switched_on_in_it() {
    demand_valid(CONFIGURATION);
    let folder = tempfile::tempdir().unwrap();
    let (file, certificate) = (folder.path().join("haproxy.cfg"), folder.path().join("site.pem"));
    let authority = Authority::new();
    let identity = authority.identity();
    let pem = [identity.certificate, identity.key].map(|part| std::fs::read_to_string(part).unwrap());
    std::fs::write(&certificate, pem.concat()).unwrap();
    let text = std::fs::read_to_string(CONFIGURATION).unwrap();
    let switched = text.lines().map(|line| {
        let directive =
            line.trim_start().strip_prefix('#').filter(|rest| rest.starts_with(char::is_alphabetic));
        directive.unwrap_or(line).replace("/etc/haproxy/site.pem", certificate.to_str().unwrap()) + "\n"
    });
    let switched: String = switched.collect();
    assert!(switched.contains("\nbind :443 ssl crt /"), "{switched}");
    std::fs::write(&file, switched).unwrap();
    demand_valid(file.to_str().unwrap());
}
