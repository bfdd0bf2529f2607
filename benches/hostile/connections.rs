//! Attacks with connections that are held.

use super::attack::{Attack, Check, Tally, addresses};
use super::connection::{Address, Connection, get};
use super::target::Target;
use futures_util::future::join_all;
use std::time::{Duration, Instant};
use tokio::time::{sleep_until, timeout};

/// Memory of one connection, in KiB.
const CONNECTION_KIBIBYTES: f64 = 128.0;
/// Connections of one address.
const CONNECTIONS_PER_ADDRESS: f64 = 64.0;
/// Open streams of one account, and of one address.
const STREAMS_PER_ACCOUNT: f64 = 5.0;
const STREAMS_PER_ADDRESS: f64 = 20.0;
/// Bytes in the head of a request: just below the bound, and above it.
const HEAD_BYTES: usize = 31 * 1024;
const LARGE_HEAD_BYTES: usize = 40 * 1024;
/// Bytes of a body: just below what such a head leaves.
const BODY_BYTES: usize = 18_000;
/// The first users of the site who ask for streams.
const READER: u64 = 60;

pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "slow-readers",
            sends: "400 connections of 50 addresses ask for the large thread, each with another query, and read nothing",
            run: |target, lasting| Box::pin(slow_readers(target, lasting)),
        },
        Attack {
            name: "unfinished-heads",
            sends: "1,000 connections of 20 addresses send 31 KiB of a head that does not end",
            run: |target, lasting| Box::pin(unfinished_heads(target, lasting)),
        },
        Attack {
            name: "unfinished-bodies",
            sends: "500 connections of 10 addresses send a head of 30 KiB and 18,000 bytes of a body that does not end, half of them byte by byte in chunks",
            run: |target, lasting| Box::pin(unfinished_bodies(target, lasting)),
        },
        Attack {
            name: "idle-connections",
            sends: "5,000 connections of 100 addresses and 200 of one send nothing",
            run: |target, lasting| Box::pin(idle_connections(target, lasting)),
        },
        Attack {
            name: "event-streams",
            sends: "one account opens 60 streams from 3 addresses; 60 accounts open one each from one address",
            run: |target, lasting| Box::pin(event_streams(target, lasting)),
        },
    ]
}

/// Opens connections and sends something on each. They are held by the caller.
async fn open_all(
    target: &Target<'_>,
    from: Vec<Address>,
    sent: impl Fn(usize) -> String,
) -> Vec<Connection> {
    let open = from.into_iter().enumerate().map(|(number, address)| {
        let bytes = sent(number);
        async move {
            let mut connection = Connection::open_slow(target.site(), address).await.ok()?;
            connection.send(bytes.as_bytes()).await.ok()?;
            Some(connection)
        }
    });
    join_all(open).await.into_iter().flatten().collect()
}

/// Waits for the end of the attack, and counts what is still open then.
async fn hold(began: Instant, lasting: Duration, connections: &mut [Connection]) -> usize {
    sleep_until((began + lasting).into()).await;
    connections.iter_mut().map(|connection| usize::from(!connection.is_closed())).sum()
}

/// Bounds what the memory has grown by, for each of so many connections.
fn memory_of_each(before: f64, most: f64, connections: usize) -> Check {
    let each = (most - before).max(0.0) * 1_024.0 / connections.max(1) as f64;
    Check::at_most("memory of a connection", each, CONNECTION_KIBIBYTES, " KiB")
}

/// Counts open connections as answered, and those that the site has closed as refused.
fn tally(opened: usize, open: usize) -> Tally {
    Tally { answered: open as u64, refused: (opened - open) as u64, ..Tally::default() }
}

async fn slow_readers(target: &Target<'_>, lasting: Duration) -> Tally {
    let began = Instant::now();
    let thread = target.filled.plan.long_thread();
    let path = |number: usize| match number % 2 {
        0 => format!("/news/{thread}?{number}"),
        _ => format!("/api/getcomments/{thread}?{number}"),
    };
    let from = addresses(1_000, 50, 8);
    let opened = from.len();
    let connections = open_all(target, from, |number| get(&path(number), None)).await;
    // They must not be looked at, because that would read.
    sleep_until((began + lasting).into()).await;
    tally(opened, connections.len())
}

async fn unfinished_heads(target: &Target<'_>, lasting: Duration) -> Tally {
    let began = Instant::now();
    let before = target.program.memory().resident;
    let head = |bytes: usize| format!("GET / HTTP/1.1\r\nhost: localhost\r\nx-long: {}", "a".repeat(bytes));
    let from = addresses(2_000, 20, 50);
    let opened = from.len();
    let mut connections = open_all(target, from, |_| head(HEAD_BYTES)).await;
    let open = hold(began, lasting, &mut connections).await;
    let memory = memory_of_each(before, target.program.memory().resident, connections.len());
    let mut other = Connection::open(target.site(), Address(2_100)).await.unwrap();
    let reply = other.ask(&format!("{}\r\n\r\n", head(LARGE_HEAD_BYTES))).await;
    let accepted = f64::from(reply.is_ok_and(|reply| reply.status < 400));
    tally(opened, open).with(memory).with(Check::at_most("heads of 40 KiB accepted", accepted, 0.0, ""))
}

async fn unfinished_bodies(target: &Target<'_>, lasting: Duration) -> Tally {
    let began = Instant::now();
    let before = target.program.memory().resident;
    let head = format!(
        "POST /api/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         x-long: {}\r\n",
        "a".repeat(HEAD_BYTES - 1_024)
    );
    let whole = format!("{head}content-length: {}\r\n\r\n{}", BODY_BYTES + 1, "a".repeat(BODY_BYTES));
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{}", "1\r\na\r\n".repeat(BODY_BYTES));
    let from = addresses(2_200, 10, 50);
    let opened = from.len();
    let sent = |number: usize| if number.is_multiple_of(2) { whole.clone() } else { chunked.clone() };
    let mut connections = open_all(target, from, sent).await;
    // Before the site stops waiting for the bodies.
    let most = target.program.memory().resident;
    let open = hold(began, lasting, &mut connections).await;
    tally(opened, open).with(memory_of_each(before, most, connections.len()))
}

async fn idle_connections(target: &Target<'_>, lasting: Duration) -> Tally {
    let began = Instant::now();
    let before = target.program.memory().resident;
    let mut many = open_all(target, addresses(3_000, 100, 50), |_| String::new()).await;
    let mut of_one = open_all(target, addresses(3_200, 1, 200), |_| String::new()).await;
    let opened = many.len() + of_one.len();
    let open = hold(began, lasting, &mut many).await;
    let of_one = hold(began, lasting, &mut of_one).await;
    tally(opened, open + of_one)
        .with(memory_of_each(before, target.program.memory().resident, opened))
        .with(Check::at_most("open of one address", of_one as f64, CONNECTIONS_PER_ADDRESS, ""))
}

async fn event_streams(target: &Target<'_>, lasting: Duration) -> Tally {
    let end = Instant::now() + lasting;
    let of_account = addresses(4_000, 3, 20).into_iter().map(|address| (address, READER));
    let of_account: Vec<_> = of_account.collect();
    let of_address: Vec<_> = (0..60).map(|number| (Address(4_100), READER + 1 + number)).collect();
    let opened = of_account.len() + of_address.len();
    // One after another, so that the first ones are open when the last one asks.
    let (of_account, of_address) =
        tokio::join!(streams(target, of_account, end), streams(target, of_address, end));
    sleep_until(end.into()).await;
    let open = |mut streams: Vec<Connection>| {
        streams.iter_mut().map(|stream| usize::from(!stream.is_closed())).sum::<usize>()
    };
    let (of_account, of_address) = (open(of_account), open(of_address));
    tally(opened, of_account + of_address)
        .with(Check::at_most("open of one account", of_account as f64, STREAMS_PER_ACCOUNT, ""))
        .with(Check::at_most("open of one address", of_address as f64, STREAMS_PER_ADDRESS, ""))
}

/// The streams that the site opens.
async fn streams(target: &Target<'_>, asked: Vec<(Address, u64)>, end: Instant) -> Vec<Connection> {
    let mut open = Vec::new();
    for (address, user) in asked {
        let Ok(mut connection) = Connection::open(target.site(), address).await else {
            continue;
        };
        let asked = async {
            connection.send(get("/home/events", Some(user)).as_bytes()).await?;
            connection.head().await
        };
        if matches!(timeout(end - Instant::now().min(end), asked).await, Ok(Ok(head)) if head.contains(" 200 "))
        {
            open.push(connection);
        }
    }
    open
}
