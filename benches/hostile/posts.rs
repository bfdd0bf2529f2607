//! Attacks by people with accounts.

use super::attack::{Attack, Tally, addresses, flood};
use super::connection::form;
use super::target::Target;
use std::time::Duration;

/// Comments in ten minutes, of one account and of one address.
const COMMENTS_PER_ACCOUNT: f64 = 10.0;
const COMMENTS_PER_ADDRESS: f64 = 60.0;
/// Votes in a minute, of one account.
const VOTES_PER_ACCOUNT: f64 = 120.0;
/// Users who have neither voted nor posted.
const COMMENTER: u64 = 380;
const VOTER: u64 = 381;
const CROWD: u64 = 390;

pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "comments-of-an-account",
            sends: "one account comments from 8 addresses",
            run: |target, lasting| Box::pin(comments_of_an_account(target, lasting)),
        },
        Attack {
            name: "comments-of-an-address",
            sends: "40 accounts comment from one address",
            run: |target, lasting| Box::pin(comments_of_an_address(target, lasting)),
        },
        Attack {
            name: "votes-of-an-account",
            sends: "one account votes on one story after another, from 4 addresses",
            run: |target, lasting| Box::pin(votes_of_an_account(target, lasting)),
        },
    ]
}

/// The number of requests that a bucket lets through in a time span.
pub fn allowed(count: f64, period_seconds: f64, lasting: Duration) -> f64 {
    (count * (1.0 + lasting.as_secs_f64() / period_seconds)).ceil()
}

fn comment(user: u64, news: u64, number: u64) -> String {
    let text = format!("Buy+things+{number}");
    let fields = format!("news_id={news}&comment_id=-1&parent_id=-1&comment={text}");
    form("/api/postcomment", Some(user), &fields)
}

async fn comments_of_an_account(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client: u64, sent: u64| comment(COMMENTER, 1 + (client * 97 + sent) % 1_900, sent);
    let tally = flood(target, addresses(8_000, 8, 1), lasting, requests).await;
    tally.with_answered("comments", allowed(COMMENTS_PER_ACCOUNT, 600.0, lasting))
}

async fn comments_of_an_address(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client: u64, sent: u64| comment(CROWD + client, 1 + (client * 31 + sent) % 1_900, sent);
    let tally = flood(target, addresses(8_100, 1, 40), lasting, requests).await;
    tally.with_answered("comments", allowed(COMMENTS_PER_ADDRESS, 600.0, lasting))
}

async fn votes_of_an_account(target: &Target<'_>, lasting: Duration) -> Tally {
    let requests = |client: u64, sent: u64| {
        let news = 1 + (client + 4 * sent) % 1_900;
        form("/api/votenews", Some(VOTER), &format!("news_id={news}&vote_type=up"))
    };
    let tally = flood(target, addresses(8_200, 4, 1), lasting, requests).await;
    tally.with_answered("votes", allowed(VOTES_PER_ACCOUNT, 60.0, lasting))
}
