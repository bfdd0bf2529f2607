//! Votes: of many at a time, and of one user alone beside what the disk takes.
//!
//! Votes and flushes take turns, one by one. A disk that does nothing but flush
//! in a loop was seen to take twenty times as long for each as between votes
//! (4 ms and 0.2 ms, on a virtual machine): measured apart, a vote seemed to take
//! less than the flush that is part of it.

use super::requests::{Request, write_list};
use super::rows::VOTERS;
use super::run::measured;
use super::server::Server;
use super::store::Filled;
use std::fs::File;
use std::io::{Seek, Write};
use std::time::{Duration, Instant};
use tidings_testing::load::Connection;
use tidings_testing::wrk::Load;

/// How long many vote at the same time.
const CROWD: Duration = Duration::from_secs(5);
/// Votes of one alone, each with one flush of either kind.
const ALONE: u64 = 400;
/// The bytes of each flush.
const BYTES: usize = 4096;
/// More votes than a crowd casts in its time.
const PREPARED: u64 = 200_000;

/// How fast votes are.
pub struct Votes {
    /// From so many connections, each of another user.
    pub per_second: f64,
    /// One vote, when nobody else votes.
    pub alone: Times,
    /// The times of flushes in the same folder; `None` if the store is elsewhere.
    pub flushes: Option<Flushes>,
}

/// How long something takes.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub median: Duration,
    /// The 10th percentile: the time when nothing is in the way.
    pub fast: Duration,
}

/// How long 4 KiB take until they are on the disk.
pub struct Flushes {
    /// At the end of a file, which grows: its length has to be written, too.
    pub append: Times,
    /// Within a file that stays as long as it is.
    pub overwrite: Times,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { median: times[times.len() / 2], fast: times[times.len() / 10] }
    }
}

/// The vote of one of the voters, none twice.
pub fn vote(filled: &Filled, number: u64) -> Request {
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
    let crowd = measured(server.address, load).await;
    // From behind: the crowd has not come so far.
    let (alone, flushes) = alone(filled, server, votes.iter().rev()).await;
    let flushes = (!filled.is_redis()).then_some(flushes);
    Votes { per_second: crowd.per_second, alone, flushes }
}

/// The times of votes and of flushes, which take turns.
async fn alone(filled: &Filled, server: &Server, votes: impl Iterator<Item = &Request>) -> (Times, Flushes) {
    let paths = ["growing", "full"].map(|name| filled.folder.join(name));
    let mut growing = File::create(&paths[0]).unwrap();
    let mut full = File::create(&paths[1]).unwrap();
    full.write_all(&vec![1; BYTES * usize::try_from(ALONE).unwrap()]).unwrap();
    full.sync_all().unwrap();
    full.rewind().unwrap();
    let mut connection = Connection::open(server.address).await;
    let (mut of_votes, mut appends, mut overwrites) = (Vec::new(), Vec::new(), Vec::new());
    for (number, vote) in (0..2 * ALONE).zip(votes) {
        let request = vote.text();
        let began = Instant::now();
        connection.exchange(&request).await;
        of_votes.push(began.elapsed());
        assert_eq!(connection.body, br#"{"status":"ok"}"#, "a vote was refused");
        if number % 2 == 0 {
            appends.push(flush(&mut growing));
        } else {
            overwrites.push(flush(&mut full));
        }
    }
    for path in paths {
        std::fs::remove_file(path).unwrap();
    }
    let flushes = Flushes { append: Times::of(appends), overwrite: Times::of(overwrites) };
    (Times::of(of_votes), flushes)
}

/// How long it takes to bring the next 4 KiB of a file onto the disk.
fn flush(file: &mut File) -> Duration {
    let began = Instant::now();
    file.write_all(&[7; BYTES]).unwrap();
    file.sync_data().unwrap();
    began.elapsed()
}
