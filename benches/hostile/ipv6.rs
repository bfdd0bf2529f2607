//! Attacks from one /48 of IPv6, which has 65,536 networks of the size /64. The machine has no such
//! addresses, so the attackers come through a proxy that the site trusts.

use super::accounts::{beside_right_logins, login};
use super::attack::{Attack, Check, Tally, addresses, flood};
use super::connection::{Address, get};
use super::posts::allowed;
use super::store::{ATTACKER, OWNER, PASSWORD};
use super::target::Target;
use std::time::Duration;

/// The number of the first proxy as an attacker.
const PROXY: u32 = 199 * 256;

/// The allowance of a /48 by the defaults: four times that of an address.
const GUESSES_AT_AN_ACCOUNT: f64 = 4.0 * 10.0;
/// A /48 has four turns in the line for passwords: when the last guess that it is allowed is counted, three
/// others may be under way.
const UNDER_WAY: f64 = 3.0;
const LARGE_READS: f64 = 4.0 * 60.0;
const NEW_VOTERS: f64 = 4.0 * 5.0;

pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "ipv6-hashing",
            sends: "320 connections of one IPv6 /48, each of a /64 of its own, log in with the right password",
            run: |target, lasting| Box::pin(hashing(target, lasting)),
        },
        Attack {
            name: "ipv6-guesses",
            sends: "320 such connections try passwords of one account, each from a new /64",
            run: |target, lasting| Box::pin(guesses(target, lasting)),
        },
        Attack {
            name: "ipv6-large-pages",
            sends: "64 such connections ask for a thread of 2,000 comments",
            run: |target, lasting| Box::pin(large_pages(target, lasting)),
        },
        Attack {
            name: "ipv6-votes",
            sends: "64 such connections vote as new voters on new sites",
            run: |target, lasting| Box::pin(votes(target, lasting)),
        },
    ]
}

/// A request that a proxy passes on for a client in a /64 of the /48.
fn passed_on(request: &str, network: u64) -> String {
    let client = format!("x-forwarded-for: 2001:db8:1:{:x}::1\r\n", network % 65_536);
    request.replacen("\r\n", &format!("\r\n{client}"), 1)
}

/// The /64 of a request: another for each.
const fn of_request(client: u64, sent: u64) -> u64 {
    client * 97 + sent * 31
}

async fn hashing(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client, _| passed_on(&login(ATTACKER, PASSWORD), client);
    let attack = flood(target, addresses(PROXY, 1, 320), lasting, requests);
    beside_right_logins(target, OWNER, Address(9_000), lasting, attack).await
}

async fn guesses(target: &Target<'_>, lasting: Duration) -> Tally {
    let attack = async {
        let requests = |client: u64, sent: u64| {
            let guess = login(OWNER, &format!("guess {client} {sent}"));
            passed_on(&guess, of_request(client, sent))
        };
        let tally = flood(target, addresses(PROXY, 1, 320), lasting, requests).await;
        // A wrong password is a refusal; one that was not looked at is a 429.
        let looked_at = tally.refused as f64;
        let most = allowed(GUESSES_AT_AN_ACCOUNT, 600.0, lasting) + UNDER_WAY;
        tally.with(Check::at_most("passwords that were compared", looked_at, most, ""))
    };
    beside_right_logins(target, OWNER, Address(9_100), lasting, attack).await
}

async fn large_pages(target: &Target<'_>, lasting: Duration) -> Tally {
    let page = get(&format!("/news/{}", target.filled.plan.long_thread()), None);
    let requests = move |client: u64, sent: u64| passed_on(&page, of_request(client, sent));
    let tally = flood(target, addresses(PROXY, 1, 64), lasting, requests).await;
    tally.with_answered("answered", allowed(LARGE_READS, 3.0, lasting))
}

async fn votes(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client: u64, sent: u64| {
        let voter = format!("beda0000-0822-4342-{client:04x}-{sent:012x}");
        let body = format!(r#"{{"link": "new-{client}-{sent}.example", "vote": -1, "user_id": "{voter}"}}"#);
        let length = body.len();
        let request =
            format!("POST /vote HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
        passed_on(&request, of_request(client, sent))
    };
    let tally = flood(target, addresses(PROXY, 1, 64), lasting, requests).await;
    tally.with_answered("votes that counted", NEW_VOTERS)
}
