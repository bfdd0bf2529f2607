//! Attacks on logins and sign-ups.

use super::attack::{Attack, Check, Tally, addresses, flood};
use super::connection::{Address, Connection, form};
use super::store::{ATTACKER, NEIGHBOUR, OWNER, PASSWORD};
use super::target::Target;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a login of somebody else may take: a hash, and the turn of one other.
pub const LOGIN: Duration = Duration::from_secs(1);

pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "login-convoy",
            sends: "600 connections of one address log in: half to the attacker's own account, then half to as many others",
            run: login_convoy,
        },
        Attack {
            name: "password-flood",
            sends: "200 addresses try passwords of one account",
            run: password_flood,
        },
        Attack {
            name: "sign-up-flood",
            sends: "16 connections of one address sign up, each time with another name",
            run: sign_up_flood,
        },
    ]
}

pub fn login(username: &str, password: &str) -> String {
    form("/api/login", None, &format!("username={username}&password={}", password.replace(' ', "+")))
}

/// How often somebody with the right password logs in during an attack.
const RIGHT_LOGINS: u32 = 6;

/// Logs in with the right password, each time from another address, none of which has ever
/// failed; answers how long the slowest login took.
pub async fn right_logins(
    target: &Target<'_>,
    username: &str,
    first: Address,
    lasting: Duration,
) -> Option<Duration> {
    let mut slowest = Duration::ZERO;
    for number in 0..RIGHT_LOGINS {
        sleep(lasting / (RIGHT_LOGINS + 1)).await;
        let began = Instant::now();
        let mut connection = Connection::open(target.site(), Address(first.0 + number)).await.ok()?;
        let reply = connection.ask(&login(username, PASSWORD)).await.ok()?;
        if !reply.body_text().contains("\"ok\"") {
            return None;
        }
        slowest = slowest.max(began.elapsed());
    }
    Some(slowest)
}

fn login_convoy<'a>(target: &'a Target<'a>, lasting: Duration) -> BoxFuture<'a, Tally> {
    Box::pin(async move {
        // The logins of the first half are right, so no limit of failed logins stops them. Those of
        // the second half come behind them, and must hold nothing while they wait.
        let right = Arc::new(|_, _| login(ATTACKER, PASSWORD));
        let wrong = |client: u64, sent: u64| login(&format!("somebody-{client}"), &format!("wrong {sent}"));
        let site = target.site();
        let attack = async {
            let first = flood(site, addresses(5_000, 1, 300), lasting, right);
            let second = async {
                sleep(lasting / 20).await;
                flood(site, addresses(5_000, 1, 300), lasting - lasting / 20, Arc::new(wrong)).await
            };
            let (mut first, second) = tokio::join!(first, second);
            first.add(second);
            first
        };
        let other = right_logins(target, NEIGHBOUR, Address(5_100), lasting);
        let (tally, other) = tokio::join!(attack, other);
        tally.with(Check::within("slowest login of another", other, LOGIN))
    })
}

fn password_flood<'a>(target: &'a Target<'a>, lasting: Duration) -> BoxFuture<'a, Tally> {
    Box::pin(async move {
        let requests = |client: u64, sent: u64| login(OWNER, &format!("guess {client} {sent}"));
        let attack = flood(target.site(), addresses(6_000, 200, 1), lasting, Arc::new(requests));
        let owner = right_logins(target, OWNER, Address(6_500), lasting);
        let (tally, owner) = tokio::join!(attack, owner);
        tally.with(Check::within("slowest login of the owner", owner, LOGIN))
    })
}

fn sign_up_flood<'a>(target: &'a Target<'a>, lasting: Duration) -> BoxFuture<'a, Tally> {
    Box::pin(async move {
        let requests = |client: u64, sent: u64| {
            let name = format!("newcomer-{client}-{sent}");
            form("/api/create_account", None, &format!("username={name}&password=a+long+password"))
        };
        let tally = flood(target.site(), addresses(7_000, 1, 16), lasting, Arc::new(requests)).await;
        let created = tally.answered as f64;
        tally.with(Check::at_most("accounts created", created, 1.0, ""))
    })
}
