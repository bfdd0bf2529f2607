//! Attacks by strangers who only read.

use super::attack::{Attack, Check, Tally, addresses, flood};
use super::connection::{Address, Connection, get};
use super::target::Target;
use std::time::Duration;
use tidings_testing::dataset::{Random, TOPICS};

/// Bytes of an answer: of a page or a feed, and of the API.
const PAGE_MEBIBYTES: f64 = 1.0;
const API_MEBIBYTES: f64 = 2.0;
/// Reads that an address is allowed at once, and in each second.
const READS_AT_ONCE: f64 = 200.0;
const READS_PER_SECOND: f64 = 50.0;

/// Words of many texts.
const SEARCHED: [&str; 6] = ["about", "another", "because", "between", "common", "compiler"];
/// Terms of a search, beside the first.
const SEARCHED_TERMS: usize = 11;

pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "dearest-page",
            sends: "8 readers, each of an address of its own, ask for a thread of 2,000 comments of 4,096 characters",
            run: |target, lasting| Box::pin(dearest_page(target, lasting)),
        },
        Attack {
            name: "large-answers",
            sends: "64 addresses ask for that thread as JSON and as a page, and for feeds",
            run: |target, lasting| Box::pin(large_answers(target, lasting)),
        },
        Attack {
            name: "dearest-items",
            sends: "32 addresses ask for that thread as programs for Hacker News do: nested, its items, its feed",
            run: |target, lasting| Box::pin(dearest_items(target, lasting)),
        },
        Attack {
            name: "read-flood",
            sends: "8 connections of one address ask for `/`",
            run: |target, lasting| Box::pin(read_flood(target, lasting)),
        },
        Attack {
            name: "topic-combinations",
            sends: "16 addresses ask for `/topic/a,b,c,d,e`, each time five other topics",
            run: |target, lasting| Box::pin(topic_combinations(target, lasting)),
        },
        Attack {
            name: "odd-hosts",
            sends: "16 addresses send foreign `Host` headers, and `/scores` for 100 hosts that nobody knows",
            run: |target, lasting| Box::pin(odd_hosts(target, lasting)),
        },
        Attack {
            name: "long-queries",
            sends: "16 addresses add 6,000 characters to the address of a list or the thread, which forms repeat",
            run: |target, lasting| Box::pin(long_queries(target, lasting)),
        },
        Attack {
            name: "dear-searches",
            sends: "32 addresses search for 12 terms: frequent words, beginnings, phrases and what is not there",
            run: |target, lasting| Box::pin(dear_searches(target, lasting)),
        },
    ]
}

async fn dearest_page(target: &Target<'_>, lasting: Duration) -> Tally {
    let request = get(&format!("/news/{}", target.filled.plan.long_thread()), None);
    let tally = flood(target, addresses(0, 8, 1), lasting, move |_, _| request.clone()).await;
    tally.with_largest(PAGE_MEBIBYTES)
}

async fn large_answers(target: &Target<'_>, lasting: Duration) -> Tally {
    let thread = target.filled.plan.long_thread();
    let paths =
        [format!("/api/getcomments/{thread}"), format!("/news/{thread}"), "/rss".into(), "/atom".into()];
    let requests = move |client: u64, sent: u64| {
        get(&format!("{}?{}", paths[(client + sent) as usize % paths.len()], sent % 3), None)
    };
    let tally = flood(target, addresses(100, 64, 1), lasting, requests).await;
    tally.with_largest(API_MEBIBYTES)
}

async fn dearest_items(target: &Target<'_>, lasting: Duration) -> Tally {
    let thread = target.filled.plan.long_thread();
    let mut connection = Connection::open(target.site(), Address(690)).await.unwrap();
    let story = &target.filled.plan.items[thread as usize - 1];
    let number = item_of(&mut connection, story.ctime, story.comments).await;
    let requests = move |client: u64, sent: u64| match (client + sent) % 4 {
        0 => get(&format!("/api/v1/items/{number}?{}", sent % 3), None),
        // The kids of the story, and items one after the other.
        1 => get(&format!("/v0/item/{number}.json"), None),
        2 => get(&format!("/v0/item/{}.json", number + sent % 2_000), None),
        _ => get(&format!("/news/{thread}/atom?page={}", 1 + sent % 5), None),
    };
    let tally = flood(target, addresses(700, 32, 1), lasting, requests).await;
    tally.with_largest(API_MEBIBYTES)
}

/// The number of a story among the items, which are in the order of their times.
async fn item_of(connection: &mut Connection, time: u64, comments: u64) -> u64 {
    let (mut low, mut high) = (1, number_in(&ask(connection, "/v0/maxitem.json").await));
    while low < high {
        let middle = u64::midpoint(low, high);
        let item = ask(connection, &format!("/v0/item/{middle}.json")).await;
        if number_in(&item["time"]) < time { low = middle + 1 } else { high = middle }
    }
    while number_in(&ask(connection, &format!("/v0/item/{low}.json")).await["descendants"]) != comments {
        low += 1;
        assert!(low < high + 1_000, "no item has the comments of that story");
    }
    low
}

fn number_in(value: &serde_json::Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

async fn ask(connection: &mut Connection, path: &str) -> serde_json::Value {
    serde_json::from_slice(&connection.ask(&get(path, None)).await.unwrap().body).unwrap()
}

async fn read_flood(target: &Target<'_>, lasting: Duration) -> Tally {
    let tally = flood(target, addresses(200, 1, 8), lasting, |_, _| get("/", None)).await;
    let most = READS_AT_ONCE + READS_PER_SECOND * (lasting.as_secs_f64() + 0.5);
    tally.with_answered("answered", most.round())
}

async fn topic_combinations(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client: u64, sent: u64| {
        let mut random = Random::of("combination", client * 1_000_000 + sent);
        let places = random.shuffled(TOPICS.len() as u64);
        let chosen: Vec<&str> = places.iter().take(5).map(|place| TOPICS[*place as usize]).collect();
        get(&format!("/topic/{}", chosen.join(",")), None)
    };
    flood(target, addresses(300, 16, 1), lasting, requests).await
}

async fn odd_hosts(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client: u64, sent: u64| {
        if sent.is_multiple_of(2) {
            let host = format!("evil-{client}-{sent}.example");
            return get("/", None).replace("host: localhost", &format!("host: {host}"));
        }
        let hosts: Vec<String> =
            (0..100).map(|number| format!("h{client}-{sent}-{number}.example")).collect();
        get(&format!("/scores?for={}", hosts.join(",")), None)
    };
    let tally = flood(target, addresses(400, 16, 1), lasting, requests).await;
    let mut accepted = 0.0;
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
        let request = get("/", None).replace("host: localhost", &format!("host: {host}"));
        let mut connection = Connection::open(target.site(), Address(450)).await.unwrap();
        accepted += f64::from(connection.ask(&request).await.is_ok_and(|reply| reply.status != 400));
    }
    tally.with(Check::at_most("foreign hosts not refused", accepted, 0.0, ""))
}

async fn long_queries(target: &Target<'_>, lasting: Duration) -> Tally {
    let thread = target.filled.plan.long_thread();
    let paths = ["/latest/0".to_owned(), "/".to_owned(), format!("/news/{thread}")];
    let requests = move |client: u64, sent: u64| {
        let path = &paths[sent as usize % paths.len()];
        get(&format!("{path}?{client}-{sent}-{}", "q".repeat(6_000)), None)
    };
    let tally = flood(target, addresses(500, 16, 1), lasting, requests).await;
    tally.with_largest(PAGE_MEBIBYTES)
}

async fn dear_searches(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client: u64, sent: u64| {
        let mut random = Random::of("search", client * 1_000_000 + sent);
        let terms = (0..SEARCHED_TERMS).map(|_| {
            let word = SEARCHED[random.below(SEARCHED.len() as u64) as usize];
            match random.below(5) {
                0 => format!("{}*", &word[..3]),
                1 => format!("%22{word}+about%22"),
                2 => format!("OR+{word}"),
                3 => format!("-{word}{sent}"),
                _ => word.to_owned(),
            }
        });
        let terms: Vec<String> = terms.collect();
        get(&format!("/search?kind=all&q=about+{}", terms.join("+")), None)
    };
    target.wait_for_search().await;
    let tally = flood(target, addresses(600, 32, 1), lasting, requests).await;
    tally.with_largest(PAGE_MEBIBYTES)
}
