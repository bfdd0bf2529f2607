//! A long thread while people vote on other stories: what is cached of it must not depend
//! on these votes.

use super::requests::{Request, write_list};
use super::rows::long_thread;
use super::run::measured;
use super::server::Server;
use super::store::Filled;
use super::votes::vote;
use std::time::Duration;
use tidings_testing::load::Connection;
use tidings_testing::wrk::Load;

/// How long the thread is read, each time.
const READING: Duration = Duration::from_secs(5);
/// The time between two votes: 116 in a second.
const BETWEEN_VOTES: Duration = Duration::from_micros(8_620);
/// The first of these votes: after those that are measured by themselves.
const FIRST_VOTE: u64 = 210_000;
/// Connections that read.
const CONNECTIONS: u32 = 16;

/// How often a long thread is read in a second.
pub struct Elsewhere {
    /// While nobody writes.
    pub quiet: f64,
    /// While others vote on other stories.
    pub beside_votes: f64,
    /// Votes in a second meanwhile.
    pub votes: f64,
}

/// Measures a thread of 500 comments, for readers who are logged in.
pub async fn measure(filled: &Filled, server: &Server, quick: bool) -> Elsewhere {
    let list = filled.folder.join("thread.txt");
    write_list(&list, &long_thread(&filled.plan));
    let reading = if quick { Duration::from_secs(1) } else { READING };
    let read = async || {
        let load = Load {
            list: &list,
            first: 0,
            threads: 1,
            connections: CONNECTIONS,
            duration: reading,
            checks_answers: false,
        };
        measured(server.address, load).await.per_second
    };
    read().await;
    let quiet = read().await;
    let votes: Vec<Request> = (0..2_000).map(|number| vote(filled, FIRST_VOTE + number)).collect();
    let mut connection = Connection::open(server.address).await;
    let mut cast = 0_u32;
    let mut ticks = tokio::time::interval(BETWEEN_VOTES);
    let voting = async {
        for vote in &votes {
            ticks.tick().await;
            connection.exchange(&vote.text()).await;
            assert_eq!(connection.body, br#"{"status":"ok"}"#, "a vote was refused");
            cast += 1;
        }
    };
    let beside_votes = tokio::select! {
        beside_votes = read() => beside_votes,
        () = voting => panic!("more votes are needed"),
    };
    Elsewhere { quiet, beside_votes, votes: f64::from(cast) / reading.as_secs_f64() }
}
