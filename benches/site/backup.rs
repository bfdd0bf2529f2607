//! Backups and restores of the whole data, and what a backup takes from those who vote.

use super::options::{Engine, Options};
use super::requests::write_list;
use super::rows::VOTERS;
use super::run::measured;
use super::server;
use super::store::Filled;
use super::votes::vote;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tidings_testing::redis_server::RedisServer;
use tidings_testing::wrk::{Load, median};

/// Runs of each command.
const RUNS: usize = 3;
/// Pairs of runs of votes: without backups, and with one after the other.
const PAIRS: usize = 5;
const RUN: Duration = Duration::from_secs(4);
/// Votes that may be under way when a run ends.
const UNDER_WAY: u64 = 1_000;
/// More votes than are cast in all runs.
const PREPARED: u64 = 300_000;

/// Measures an engine, and prints the figures.
pub async fn measure(engine: Engine, options: &Options) {
    let filled = Filled::new(engine, options, 1).await;
    let runs = if options.quick { 1 } else { RUNS };
    let file = filled.folder.join("measured.backup");
    let mut figures = Vec::new();
    let mut backups = Vec::new();
    for _ in 0..runs {
        std::fs::remove_file(&file).ok();
        backups.push(run(&["backup", file.to_str().unwrap(), "--store", &filled.url]));
    }
    figures.push(("a backup of the idle store, seconds".to_owned(), seconds(backups)));
    let mebibytes = |path: &Path| std::fs::metadata(path).unwrap().len() as f64 / f64::from(1 << 20);
    figures.push(("its size, MiB".to_owned(), format!("{:.1}", mebibytes(&file))));
    if let Some(store) = filled.url.strip_prefix("redb:") {
        figures.push((
            "the size of the store file, MiB".to_owned(),
            format!("{:.1}", mebibytes(store.as_ref())),
        ));
    }
    let (mut to_redb, mut to_redis) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let target = filled.folder.join("restored.redb");
        std::fs::remove_file(&target).ok();
        let url = format!("redb:{}", target.display());
        to_redb.push(run(&["restore", file.to_str().unwrap(), "--store", &url]));
        let redis = RedisServer::start();
        to_redis.push(run(&["restore", file.to_str().unwrap(), "--store", &redis.url()]));
    }
    figures.push(("restored into a new store file, seconds".to_owned(), seconds(to_redb)));
    figures.push(("restored into an empty Redis, seconds".to_owned(), seconds(to_redis)));
    figures.extend(votes(&filled, options).await);
    println!("\n| {} | |\n| --- | ---: |", engine.name());
    for (name, figure) in figures {
        println!("| {name} | {figure} |");
    }
}

/// Runs the program to its end. Returns how long it took.
fn run(arguments: &[&str]) -> Duration {
    let began = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_tidings")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    began.elapsed()
}

fn seconds(times: Vec<Duration>) -> String {
    format!("{:.2}", median(times.iter().map(Duration::as_secs_f64)))
}

/// Votes a second without backups and while the server makes one after the other, in turn.
async fn votes(filled: &Filled, options: &Options) -> Vec<(String, String)> {
    let list = filled.folder.join("votes.txt");
    write_list(&list, &(0..PREPARED).map(|number| vote(filled, number)).collect::<Vec<_>>());
    let log = filled.folder.join("server.log");
    let folder = filled.folder.join("backups");
    let on = [
        ("TIDINGS_BACKUP__FOLDER", folder.to_str().unwrap()),
        ("TIDINGS_BACKUP__EVERY", "1s"),
        ("TIDINGS_BACKUP__KEEP", "1000"),
    ];
    let (mut without, mut with, mut made) = (Vec::new(), Vec::new(), 0);
    let mut first = 0;
    let pairs = if options.quick { 1 } else { PAIRS };
    // The first pair warms up.
    for pair in 0..=pairs {
        for is_on in [false, true] {
            let server = server::start_with(&filled.url, &log, if is_on { &on } else { &[] }).await;
            let connections = u32::try_from(VOTERS).unwrap();
            // One thread: several do not go through the list at the same pace, and no vote may be cast twice.
            let load =
                Load { list: &list, first, threads: 1, connections, duration: RUN, checks_answers: true };
            let measured = measured(server.address, load).await;
            first += measured.requests + UNDER_WAY;
            drop(server);
            if pair > 0 {
                let figures = if is_on { &mut with } else { &mut without };
                figures.push(measured.per_second);
            }
        }
        made = std::fs::read_dir(&folder).unwrap().count();
    }
    let losses = without.iter().zip(&with).map(|(without, with)| (1.0 - with / without) * 100.0);
    let loss = format!("{:.1} %", median(losses));
    let per_second = |runs: Vec<f64>| format!("{:.0}", median(runs.into_iter()));
    vec![
        ("votes a second without a backup, median".to_owned(), per_second(without)),
        ("votes a second while backups are made one after the other".to_owned(), per_second(with)),
        (format!("loss, median of {pairs} pairs (at most 10)"), loss),
        ("backups made meanwhile".to_owned(), made.to_string()),
    ]
}
