//! Attacks on logins and sign-ups.

use super::attack::{Attack, Check, Tally, addresses, flood};
use super::connection::{Address, Connection, form};
use super::store::{ATTACKER, NEIGHBOUR, OWNER, PASSWORD};
use super::target::Target;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a login of somebody else may take: a hash, and the turn of one other.
const LOGIN: Duration = Duration::from_secs(1);

pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "login-convoy",
            sends: "600 connections of one address log in: half to the attacker's own account, then half to as many others",
            run: |target, lasting| Box::pin(login_convoy(target, lasting)),
        },
        Attack {
            name: "password-flood",
            sends: "200 addresses try passwords of one account",
            run: |target, lasting| Box::pin(password_flood(target, lasting)),
        },
        Attack {
            name: "sign-up-flood",
            sends: "16 connections of one address sign up, each time with another name",
            run: |target, lasting| Box::pin(sign_up_flood(target, lasting)),
        },
    ]
}

pub fn login(username: &str, password: &str) -> String {
    form("/api/login", None, &format!("username={username}&password={}", password.replace(' ', "+")))
}

/// How often somebody with the right password logs in during an attack.
const RIGHT_LOGINS: u32 = 6;

/// Makes an attack while somebody logs in with the right password, each time from another address, none of which has
/// ever failed. Bounds how long the slowest login takes.
pub async fn beside_right_logins(
    target: &Target<'_>,
    username: &str,
    first: Address,
    lasting: Duration,
    attack: impl Future<Output = Tally>,
) -> Tally {
    let logins = async {
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
    };
    let (tally, slowest) = tokio::join!(attack, logins);
    let whose = if username == OWNER { "the owner" } else { "another" };
    tally.with(Check::within(&format!("slowest login of {whose}"), slowest, LOGIN))
}

async fn login_convoy(target: &Target<'_>, lasting: Duration) -> Tally {
    // The logins of the first half are right, so no limit of failed logins stops them. Those of
    // the second half come behind them, and must hold nothing while they wait.
    let attack = async {
        let first = flood(target, addresses(5_000, 1, 300), lasting, |_, _| login(ATTACKER, PASSWORD));
        let second = async {
            sleep(lasting / 20).await;
            let wrong =
                |client: u64, sent: u64| login(&format!("somebody-{client}"), &format!("wrong {sent}"));
            flood(target, addresses(5_000, 1, 300), lasting - lasting / 20, wrong).await
        };
        let (mut first, second) = tokio::join!(first, second);
        first.add(second);
        first
    };
    beside_right_logins(target, NEIGHBOUR, Address(5_100), lasting, attack).await
}

async fn password_flood(target: &Target<'_>, lasting: Duration) -> Tally {
    let guess = |client: u64, sent: u64| login(OWNER, &format!("guess {client} {sent}"));
    let attack = flood(target, addresses(6_000, 200, 1), lasting, guess);
    beside_right_logins(target, OWNER, Address(6_500), lasting, attack).await
}

async fn sign_up_flood(target: &Target<'_>, lasting: Duration) -> Tally {
    let sign_up = |client: u64, sent: u64| {
        let name = format!("newcomer-{client}-{sent}");
        form("/api/create_account", None, &format!("username={name}&password=a+long+password"))
    };
    let tally = flood(target, addresses(7_000, 1, 16), lasting, sign_up).await;
    tally.with_answered("accounts created", 1.0)
}
