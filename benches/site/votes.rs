//! Votes: of many at a time, and of one user alone beside what the disk takes.

use super::load::Connection;
use super::requests::{Request, write_list};
use super::rows::VOTERS;
use super::server::Server;
use super::store::Filled;
use super::wrk::{self, Load, median};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long many vote at the same time.
const CROWD: Duration = Duration::from_secs(5);
/// Votes of one alone, and flushes of a file, in turn.
const BLOCKS: u64 = 6;
const BLOCK: u64 = 50;
/// More votes than a crowd casts in its time.
const PREPARED: u64 = 200_000;

/// How fast votes are.
pub struct Votes {
    /// From so many connections, each of another user.
    pub per_second: f64,
    /// One vote, when nobody else votes.
    pub alone: Duration,
    /// Bringing 4 KiB onto the disk, in the same folder; unless the store is elsewhere.
    pub flush: Option<Duration>,
}

/// The vote of one of the voters, none twice.
fn vote(filled: &Filled, number: u64) -> Request {
    let size = &filled.plan.size;
    let user = size.active_users() + 1 + number % VOTERS;
    let news = size.news - number / VOTERS - number % VOTERS * (size.news / VOTERS / 2);
    Request::post("/api/votenews", user, &format!("news_id={news}&vote_type=up"))
}

/// Measures votes. Each voter is a newcomer who has voted on nothing.
pub async fn measure(filled: &Filled, server: &Server, quick: bool) -> Votes {
    let votes: Vec<Request> = (0..PREPARED).map(|number| vote(filled, number)).collect();
    let list = filled.folder.join("votes.txt");
    write_list(&list, &votes);
    let duration = if quick { Duration::from_secs(1) } else { CROWD };
    let connections = u32::try_from(VOTERS).unwrap();
    let load = Load { list: &list, first: 0, threads: 2, connections, duration, checks_answers: true };
    let crowd = match wrk::run(server.address, load).await {
        Ok(crowd) => crowd,
        Err(error) => panic!("votes: {error}"),
    };
    // From behind: the crowd has not come so far.
    let (alone, flush) = alone(filled, server, votes.iter().rev()).await;
    let flush = (!filled.is_redis()).then_some(flush);
    Votes { per_second: crowd.per_second, alone, flush }
}

/// The median times of a vote and of a flush.
async fn alone(
    filled: &Filled,
    server: &Server,
    mut votes: impl Iterator<Item = &Request>,
) -> (Duration, Duration) {
    let mut connection = Connection::open(server.address).await;
    let (mut of_votes, mut of_flushes) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS {
        for _ in 0..BLOCK {
            let request = votes.next().unwrap().text();
            let began = Instant::now();
            connection.exchange(&request).await;
            of_votes.push(began.elapsed());
            assert_eq!(connection.body, br#"{"status":"ok"}"#, "a vote was refused");
        }
        of_flushes.extend(flushes(&filled.folder));
    }
    (median(of_votes.into_iter()), median(of_flushes.into_iter()))
}

/// How long it takes to bring another 4 KiB of a file onto the disk.
fn flushes(folder: &Path) -> Vec<Duration> {
    let path = folder.join("flushed");
    let mut file = File::create(&path).unwrap();
    let times = (0..BLOCK).map(|_| {
        let began = Instant::now();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        began.elapsed()
    });
    let times = times.collect();
    std::fs::remove_file(path).unwrap();
    times
}
