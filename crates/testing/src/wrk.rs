//! The program `wrk`, which makes the load: run, and read what it measured.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The load on a server.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// The requests, one a line; see `wrk.lua`.
    pub list: &'a Path,
    /// Where in the list to begin.
    pub first: u64,
    pub threads: u32,
    pub connections: u32,
    pub duration: Duration,
    /// Whether answers are JSON that may say no.
    pub checks_answers: bool,
}

/// The measured figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    pub requests: u64,
    pub per_second: f64,
    pub p50: Duration,
    pub p99: Duration,
}

/// Why a figure is none.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    #[error("wrk cannot be run ({0}); install it: apt-get install wrk")]
    Missing(String),
    #[error("wrk printed no figures: {0}")]
    NoFigures(String),
    #[error("{0}")]
    Answers(String),
}

/// Checks that there is a `wrk`.
///
/// # Errors
/// [`LoadError::Missing`].
pub fn demand() -> Result<(), LoadError> {
    Command::new("wrk").arg("--version").output().map_err(|error| LoadError::Missing(error.to_string()))?;
    Ok(())
}

/// Loads a server.
///
/// # Errors
/// When an answer was not as it must be, or nothing was measured.
pub async fn run(address: SocketAddr, load: Load<'_>) -> Result<Measured, LoadError> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/wrk.lua");
    let mut command = Command::new("wrk");
    command
        .args(["--threads", &load.threads.to_string()])
        .args(["--connections", &load.connections.to_string()])
        .args(["--duration", &format!("{}s", load.duration.as_secs().max(1)), "--timeout", "10s"])
        .args(["--script", script, &format!("http://{address}"), "--"])
        .arg(load.list)
        .args([load.first.to_string(), load.threads.to_string()])
        .args(load.checks_answers.then_some("answers"));
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.map_err(|error| LoadError::NoFigures(error.to_string()))?;
    let output = output.map_err(|error| LoadError::Missing(error.to_string()))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    read(&printed).map_err(|error| match error {
        LoadError::NoFigures(_) => {
            LoadError::NoFigures(format!("{printed}{}", String::from_utf8_lossy(&output.stderr)))
        }
        other => other,
    })
}

/// Reads what the script prints.
///
/// # Errors
/// As [`run`].
pub fn read(printed: &str) -> Result<Measured, LoadError> {
    let line = printed.lines().find_map(|line| line.strip_prefix("measured "));
    let no_figures = || LoadError::NoFigures(printed.to_owned());
    let line = line.ok_or_else(no_figures)?;
    let figure = |name: &str| -> Result<u64, LoadError> {
        let value = line.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse().ok()).ok_or_else(no_figures)
    };
    for (name, what) in [
        ("status", "answers were errors"),
        ("broken", "connections broke"),
        ("timeout", "requests got no answer"),
        ("refused", "requests were refused"),
    ] {
        let count = figure(name)?;
        if count > 0 {
            return Err(LoadError::Answers(format!("{count} of {} {what}", figure("requests")?)));
        }
    }
    let requests = figure("requests")?;
    let seconds = Duration::from_micros(figure("microseconds")?).as_secs_f64();
    Ok(Measured {
        requests,
        per_second: requests as f64 / seconds,
        p50: Duration::from_micros(figure("p50")?),
        p99: Duration::from_micros(figure("p99")?),
    })
}

/// The medians of several runs.
pub fn medians(runs: &[Measured]) -> Measured {
    Measured {
        requests: runs.iter().map(|run| run.requests).sum(),
        per_second: median(runs.iter().map(|run| run.per_second)),
        p50: median(runs.iter().map(|run| run.p50)),
        p99: median(runs.iter().map(|run| run.p99)),
    }
}

/// The value in the middle; of an even number the higher of the two.
pub fn median<T: PartialOrd + Copy>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|left, right| left.partial_cmp(right).unwrap());
    values[values.len() / 2]
}
