//! The searches of `cargo bench --bench search` in a table of SQLite FTS5. Arguments: a file of texts, a file of
//! searches, the database to make, and how many seconds to search. Prints the time to build it in microseconds,
//! its bytes, the memory it takes, searches per second, and the median, 99th percentile and slowest time.

#![allow(clippy::unwrap_used, clippy::panic)]

use rusqlite::{Connection, OpenFlags};
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

const THREADS: usize = 2;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [texts, queries, database, seconds] = &arguments[..] else { panic!("four arguments are needed") };
    let before = own_memory();
    let began = Instant::now();
    build(texts, database);
    let build = began.elapsed();
    let queries: Vec<(String, String)> = std::fs::read_to_string(queries)
        .unwrap()
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(kind, matched)| (kind.to_owned(), matched.to_owned()))
        .collect();
    let searching = Duration::from_secs(seconds.parse().unwrap());
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let queries = &queries;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || search(database, queries, thread, searching))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let memory = own_memory().saturating_sub(before);
    times.sort_unstable();
    let bytes = std::fs::metadata(database).unwrap().len();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_micros();
    println!(
        "{} {bytes} {memory} {} {} {} {}",
        build.as_micros(),
        times.len() as u64 / searching.as_secs(),
        at(50),
        at(99),
        at(100)
    );
}

fn build(texts: &str, database: &str) {
    let mut connection = Connection::open(database).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE VIRTUAL TABLE texts USING fts5(kind UNINDEXED, title, body, tokenize = 'porter unicode61');",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    {
        let mut insert = transaction.prepare("INSERT INTO texts VALUES (?, ?, ?)").unwrap();
        for line in BufReader::new(std::fs::File::open(texts).unwrap()).lines() {
            let line = line.unwrap();
            let parts: Vec<&str> = line.split('\t').collect();
            insert.execute((parts[0], parts[1], parts[2])).unwrap();
        }
    }
    transaction.commit().unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

fn search(database: &str, queries: &[(String, String)], thread: usize, searching: Duration) -> Vec<Duration> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut best = connection
        .prepare(
            "SELECT rowid FROM texts WHERE texts MATCH ?1 AND kind = ?2
             ORDER BY bm25(texts, 0, 4, 1) LIMIT 40",
        )
        .unwrap();
    let mut count =
        connection.prepare("SELECT count(*) FROM texts WHERE texts MATCH ?1 AND kind = ?2").unwrap();
    let mut ask = |(kind, matched): &(String, String)| {
        let mut rows = best.query((matched, kind)).unwrap();
        while rows.next().unwrap().is_some() {}
        count.query_row((matched, kind), |row| row.get::<_, i64>(0)).unwrap();
    };
    queries.iter().for_each(&mut ask);
    let until = Instant::now() + searching;
    let mut times = Vec::new();
    for query in queries.iter().cycle().skip(thread * queries.len() / THREADS) {
        let began = Instant::now();
        if began > until {
            break;
        }
        ask(query);
        times.push(began.elapsed());
    }
    times
}

/// The resident memory of this process that is its own, in bytes.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}
