//! `tidings status` when something is wrong: what it says is what `/health/ready` says, and what
//! became of the backups.

use serde_json::Value;

use super::{Place, Ran, status_of};
use crate::client::{Client, ok};
use crate::program::Program;
use crate::redis_server::RedisServer;
use crate::server::http_client;

/// Waits until the site is in a state. Returns what `/health/ready` says is wrong.
async fn cause_in_state(program: &Program, state: &str) -> String {
    let said = tidings_testing::until_ok(async || {
        let said = program.visitor().get("/health/ready").await.json();
        if said["status"] == state { Ok(said) } else { Err(said) }
    });
    let said = said.await;
    let parts = ["store", "writer", "disk"].map(|part| said[part].as_str().unwrap());
    parts.into_iter().find(|part| *part != "ok").unwrap().to_owned()
}

/// Asserts that the status tells a state and its cause, in text and in JSON.
fn assert_told(status: impl Fn(&[&str]) -> Ran, state: &str, cause: &str) {
    let json = status(&["status", "--json"]);
    let told = status_of(&json);
    assert_eq!((&told["state"], &told["cause"]), (&state.into(), &cause.into()), "{told}");
    let (sentence, shown) = match state {
        "read_only" => ("the store is read only", "READ ONLY"),
        _ => ("the store cannot be reached", "CANNOT BE REACHED"),
    };
    let said = json.failed(1);
    assert!(said.contains(&format!("{sentence}: {cause}")), "{said}");
    let screen = status(&["status"]);
    assert!(screen.out.contains(&format!("({shown}: {cause})")), "{screen:?}");
}

#[tokio::test]
async fn the_status_tells_why_the_site_is_read_only_or_unavailable() {
    let mut redis = RedisServer::start();
    let place = Place::at(redis.url());
    let socket = place.folder.path().join("chosen");
    let index = place.folder.path().join("index");
    let control = [
        ("TIDINGS_SERVER__CONTROL", socket.to_str().unwrap()),
        ("TIDINGS_SEARCH__ENABLED", "true"),
        ("TIDINGS_SEARCH__FOLDER", index.to_str().unwrap()),
    ];
    let program = Program::start_with(&place.url, &control);
    let through_the_server = |arguments: &[&str]| place.run_with(arguments, "", &control);
    let told = status_of(&through_the_server(&["status", "--json"]));
    assert_eq!((&told["state"], told["cause"].is_null()), (&"ok".into(), true), "{told}");

    assert!(redis.send(b"REPLICAOF 127.0.0.1 1\r\n").starts_with("+OK"));
    let cause = cause_in_state(&program, "read_only").await;
    assert!(cause.contains("replica"), "{cause}");
    assert_told(through_the_server, "read_only", &cause);
    // A replica is refused when it is opened.
    let alone = place.run(&["status"]);
    assert!(alone.out.contains("(CANNOT BE REACHED: ") && alone.out.contains("replica"), "{alone:?}");

    redis.stop();
    let cause = cause_in_state(&program, "unavailable").await;
    assert_told(through_the_server, "unavailable", &cause);
    // The search, which has looked meanwhile, has nothing to add to this.
    assert!(!program.log().contains("search index is not up to date"), "{}", program.log());
}

#[test]
fn a_server_whose_store_is_away_is_alive_and_one_that_does_not_run_is_not() {
    let mut redis = RedisServer::start();
    let place = Place::at(redis.url());
    let mut program = Program::start(&place.url);
    let address = program.address.to_string();
    let live = || place.run_with(&["status", "--live"], "", &[("TIDINGS_SERVER__LISTEN", &address)]);
    assert!(live().good().contains("answers"));
    redis.stop();
    place.run(&["status"]).failed(1);
    live().good();
    // A socket that listens and says nothing of HTTP is not the program.
    program.signal("-STOP");
    assert!(live().failed(1).contains("did not answer within 5 seconds"));
    program.kill();
    assert!(live().failed(1).contains("does not answer"));
}

#[test]
fn without_a_server_the_status_tells_why_the_store_cannot_be_opened() {
    let mut redis = RedisServer::start();
    let place = Place::at(redis.url());
    redis.stop();
    let ran = place.run(&["status", "--json"]);
    let told = status_of(&ran);
    assert!(ran.failed(1).contains("tidings: "));
    assert!(told["jobs_waiting"].is_null() && told["read_only"].is_null(), "{told}");
    let cause = told["cause"].as_str().unwrap();
    assert!(told["state"] == "unavailable" && cause.contains("Connection refused"), "{told}");
    let screen = place.run(&["status"]);
    assert!(screen.out.contains(&format!("(CANNOT BE REACHED: {cause})")), "{screen:?}");
    assert_eq!(screen.code, Some(1));
}

#[tokio::test]
async fn the_status_tells_that_scheduled_backups_fail() {
    let place = Place::embedded();
    let backups = place.folder.path().join("missing").join("backups");
    let settings = [("TIDINGS_BACKUP__FOLDER", backups.to_str().unwrap()), ("TIDINGS_BACKUP__EVERY", "1d")];
    let program = Program::start_with(&place.url, &settings);
    program.wait_for_log("the last backup failed");
    let failed = |status: &Value| {
        let [failed] = &status["conditions"].as_array().unwrap()[..] else { panic!("{status}") };
        assert_eq!(failed["name"], "backup_failed");
        assert!(failed["detail"].as_str().unwrap().contains("cannot create the folder"), "{status}");
        assert!(failed["since"].as_str().unwrap().ends_with('Z'), "{status}");
    };
    let json = place.run(&["status", "--json"]);
    let status = status_of(&json);
    failed(&status);
    assert!(status["last_backup"].is_null() && json.code == Some(0), "{status}");
    let screen = place.run(&["status"]).good();
    for part in ["backup_failed, since ", " ago:", "cannot create the folder", "missing"] {
        assert!(screen.contains(part), "{part} in {screen}");
    }
    // A backup by hand is a good one, and mends nothing.
    let file = place.folder.path().join("a.backup");
    place.run(&["backup", file.to_str().unwrap()]).good();
    let status = status_of(&place.run(&["status", "--json"]));
    failed(&status);
    assert!(status["last_backup"].is_string(), "{status}");
}

/// A figure by `/metrics`.
async fn measured(metrics: &Client, name: &str) -> f64 {
    let text = metrics.text("/metrics").await;
    let figure = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    figure.unwrap_or_else(|| panic!("{name} in {text}"))
}

const LAST_BACKUP: &str = "tidings_backup_last_success_timestamp_seconds ";

/// The address of the metrics of a program.
fn metrics_of(program: &Program) -> Client {
    let line = program.wait_for_log("metrics are at /metrics");
    let (_, address) = line.rsplit_once("address=").unwrap();
    Client::new(http_client(), address.trim().parse().unwrap())
}

#[tokio::test]
async fn the_status_and_the_metrics_tell_how_long_mails_wait_for_a_relay_that_is_away() {
    for place in Place::each() {
        let control = place.folder.path().join("control");
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let settings = [
            ("TIDINGS_METRICS__LISTEN", "127.0.0.1:0"),
            ("TIDINGS_SERVER__CONTROL", control.to_str().unwrap()),
            ("TIDINGS_MAIL__RELAY", &nobody),
            ("TIDINGS_MAIL__TLS", "none"),
        ];
        let status = || status_of(&place.run_with(&["status", "--json"], "", &settings));
        let program = Program::start_with(&place.url, &settings);
        let told = status();
        assert_eq!((&told["mails_waiting"], &told["mails_oldest_seconds"]), (&0.into(), &0.into()));
        let alice = program.visitor().register("alice").await;
        ok(alice.update_profile("", "alice@example.org", "").await);
        program.wait_for_log("mail not sent; it will be tried again");
        // Each attempt puts off when the mail is due.
        let is_late = |told: &Value| told["mails_oldest_seconds"].as_u64().unwrap() >= 2;
        tidings_testing::until(async || is_late(&status())).await;
        let told = status();
        assert_eq!(told["mails_waiting"], 1, "{told}");
        let metrics = metrics_of(&program);
        assert_eq!(measured(&metrics, "tidings_mails_waiting ").await, 1.0);
        assert!(measured(&metrics, "tidings_mails_oldest_seconds ").await >= 2.0);
        assert!(measured(&metrics, "tidings_mails_total{result=\"failed\"} ").await >= 1.0);
        for result in ["sent", "refused"] {
            let name = format!("tidings_mails_total{{result=\"{result}\"}} ");
            assert_eq!(measured(&metrics, &name).await, 0.0);
        }
        let screen = place.run_with(&["status"], "", &settings).good();
        assert!(screen.contains("Mails        1 waiting, the oldest for "), "{screen}");
    }
}

/// The names of the conditions in some JSON.
pub fn names(said: &Value) -> Vec<&str> {
    said["conditions"].as_array().unwrap().iter().map(|there| there["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_condition_is_in_every_view_while_it_lasts() {
    let redis = RedisServer::start();
    let place = Place::at(redis.url());
    let socket = place.folder.path().join("control");
    let settings =
        [("TIDINGS_METRICS__LISTEN", "127.0.0.1:0"), ("TIDINGS_SERVER__CONTROL", socket.to_str().unwrap())];
    let program = Program::start_with(&place.url, &settings);
    let metrics = metrics_of(&program);
    let alice = program.visitor().register("alice").await;
    let layout = redis.send(b"GET layout:version").lines().nth(1).unwrap().trim().to_owned();
    let with_layout = |layout: &str| format!("SET layout:version {layout}");
    let set = |command: &str| assert!(redis.send(command.as_bytes()).starts_with("+OK"), "{command}");
    set("CONFIG SET maxmemory 100mb");
    for (name, begin, end, meaning, is_over) in [
        (
            "redis_evicts",
            "CONFIG SET maxmemory-policy allkeys-lru".to_owned(),
            "CONFIG SET maxmemory-policy noeviction".to_owned(),
            "Redis deletes data of the site when its memory is full",
            "Redis deletes no data any more",
        ),
        (
            "layout_changed",
            with_layout("99"),
            with_layout(&layout),
            "another version of the program has changed the layout of the store",
            "the store has the layout of this version again",
        ),
    ] {
        set(&begin);
        let line = program.wait_for_log(meaning);
        assert!(line.contains(name) && line.contains("what_to_do="), "{line}");
        let ready = program.visitor().get("/health/ready").await.json();
        assert!(names(&ready).contains(&name), "{ready}");
        let there =
            ready["conditions"].as_array().unwrap().iter().find(|there| there["name"] == name).unwrap();
        for field in ["severity", "since", "meaning", "what_to_do"] {
            assert!(!there[field].as_str().unwrap().is_empty(), "{there}");
        }
        assert!(!there["detail"].as_str().unwrap().is_empty(), "{there}");
        let status = place.run_with(&["status", "--json"], "", &settings);
        assert!(names(&status_of(&status)).contains(&name), "{status:?}");
        let screen = place.run_with(&["status"], "", &settings).out;
        assert!(screen.contains(&format!("{name}, since ")) && screen.contains(&meaning[1..]), "{screen}");
        let page = alice.text("/admin").await;
        assert!(page.contains(&meaning[1..]), "{page}");
        let gauge = format!("tidings_condition{{condition=\"{name}\"}} ");
        assert_eq!(measured(&metrics, &gauge).await, 1.0, "{name}");
        // Readers notice nothing of a layout that has changed, and writers are told.
        assert_eq!(alice.get("/").await.status, 200);
        let posted = alice.answer_to("/api/submit?news_id=-1&title=A title&text=text").await;
        assert_eq!(posted.status == 503, name == "layout_changed", "{}", posted.json());

        set(&end);
        program.wait_for_log(is_over);
        let ready = program.visitor().get("/health/ready").await.json();
        assert!(!names(&ready).contains(&name), "{ready}");
        assert_eq!(measured(&metrics, &gauge).await, 0.0, "{name}");
        assert_eq!(program.log().matches(meaning).count(), 1, "{}", program.log());
    }
    ok(alice.submit("Another title", "", "text").await);
}

#[tokio::test]
async fn an_index_that_fails_is_told_once() {
    let place = Place::embedded();
    let file = place.folder.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    let settings = [("TIDINGS_SEARCH__ENABLED", "true"), ("TIDINGS_SEARCH__FOLDER", file.to_str().unwrap())];
    let program = Program::start_with(&place.url, &settings);
    program.wait_for_log("the search index is not up to date");
    let ready = program.visitor().get("/health/ready").await.json();
    assert_eq!((names(&ready), &ready["status"]), (vec!["search_failing"], &"ok".into()));
    assert!(ready["conditions"][0]["detail"].is_null(), "strangers are told of no folders: {ready}");
    assert_eq!(names(&status_of(&place.run(&["status", "--json"]))), ["search_failing"]);
    assert_eq!(program.log().matches("the search index is not up to date").count(), 1, "{}", program.log());
}

#[tokio::test]
async fn a_backup_of_a_command_counts_as_the_last_good_one() {
    let place = Place::embedded();
    let program = Program::start_with(&place.url, &[("TIDINGS_METRICS__LISTEN", "127.0.0.1:0")]);
    let metrics = metrics_of(&program);
    let last_backup = || status_of(&place.run(&["status", "--json"]))["last_backup"].clone();
    assert!(last_backup().is_null());
    assert_eq!(measured(&metrics, LAST_BACKUP).await, 0.0);

    // The outcome of a backup to standard output is not known.
    assert_eq!(place.command(&["backup", "-"]).output().unwrap().status.code(), Some(0));
    assert!(last_backup().is_null());

    let file = place.folder.path().join("a.backup");
    place.run(&["backup", file.to_str().unwrap()]).good();
    let told = last_backup();
    assert!(told.as_str().is_some_and(|time| time.ends_with('Z')), "{told}");
    assert!(measured(&metrics, LAST_BACKUP).await > 0.0);
    // One that fails does not.
    place.run(&["backup", file.to_str().unwrap()]).failed(1);
    assert_eq!(last_backup(), told);
}
