//! What is measured: one row for each kind of page, and the mix of all.

use super::dataset::{Plan, Random, people};
use super::requests::Request;
use std::collections::HashSet;
use tidings::domain::clock::Timestamp;
use tidings::domain::ranking;
use tidings::domain::rules::RankingRules;

/// Sessions that logged-in rows rotate over.
const SESSIONS: u64 = 500;
/// Pages of users and of hosts that are asked for in turn.
const NAMES: u64 = 50;
/// Threads that most readers are in, and those that somebody finds once in a while.
const HOT_THREADS: usize = 300;
const OTHER_THREADS: u64 = 1_700;
/// Out of a hundred readers of threads so many are in the hot ones.
const HOT_SHARE: u64 = 75;
/// Requests of rows that draw at random, and of the mix.
const DRAWN: u64 = 20_000;
/// More than are sent while the mix is measured, so that votes are not repeated.
const MIXED: u64 = 240_000;
/// Newcomers who vote when votes are measured; the others take part in the mix.
pub const VOTERS: u64 = 64;

/// A row of the table.
pub struct Row {
    pub name: &'static str,
    pub requests: Vec<Request>,
    /// The least share of what a bare route does.
    pub required: Option<f64>,
    /// Answers that the bare route knows.
    pub samples: usize,
}

fn row(name: &'static str, required: f64, requests: Vec<Request>) -> Row {
    Row { name, requests, required: Some(required), samples: 20 }
}

/// All rows, the mix last: it writes.
pub fn rows(plan: &Plan) -> Vec<Row> {
    let long = format!("/news/{}", plan.long_thread());
    let one = |path: &str| vec![Request::get(path)];
    let each = |path: &str| {
        let users = 1..=SESSIONS.min(plan.size.active_users());
        users.map(|user| Request::get(path).by(user)).collect::<Vec<_>>()
    };
    let names = |prefix: &str, name: fn(u64) -> String| {
        (1..=NAMES).map(|number| Request::get(format!("{prefix}{}", name(number)))).collect::<Vec<_>>()
    };
    let mut rows = vec![
        row("/ anonymous", 0.8, one("/")),
        row("/latest/0 anonymous", 0.6, one("/latest/0")),
        row("/best anonymous", 0.6, one("/best")),
        row("thread of 500, anonymous", 0.6, one(&long)),
        row("/rss", 0.6, one("/rss")),
        row("/@name anonymous", 0.6, names("/@", people::username)),
        row("/site/:host anonymous", 0.6, names("/site/", super::dataset::host)),
        Row { required: None, ..row("other threads, anonymous", 0.0, other_threads(plan)) },
        row("/ logged in", 0.25, each("/")),
        row("thread of 500, logged in", 0.15, each(&long)),
        row("/home logged in", 0.25, each("/home")),
        row("/api/getnews/top/0/30", 0.5, one("/api/getnews/top/0/30")),
        row("/scores of 100 hosts", 0.4, scores(plan)),
        Row {
            required: None,
            ..row("leaderboard of a month", 0.0, one("/api/sites/leaderboard/best/month"))
        },
    ];
    rows.push(Row { samples: 400, ..row(MIX, 0.3, mix(plan)) });
    rows
}

/// The name of the row that is a bit of everything.
pub const MIX: &str = "mix";

/// The threads that are read most: high ranks and new items, in turn.
fn hot_threads(plan: &Plan) -> Vec<u64> {
    let rules = RankingRules::default();
    let mut ranked: Vec<(f64, u64)> = (1..)
        .zip(&plan.items)
        .map(|(id, item)| {
            let score = ranking::score(item.votes.cast_signed(), 0, &rules);
            (ranking::rank(score, Timestamp(item.ctime), plan.now, &rules), id)
        })
        .collect();
    ranked.sort_by(|left, right| right.partial_cmp(left).unwrap());
    let newest = (1..=plan.size.news).rev();
    let mut seen = HashSet::new();
    ranked
        .into_iter()
        .map(|(_, id)| id)
        .zip(newest)
        .flat_map(|(ranked, new)| [ranked, new])
        .filter(|id| seen.insert(*id) && *id != plan.long_thread())
        .take(HOT_THREADS)
        .collect()
}

/// Somebody's thread: mostly a hot one, sometimes any among `others`.
fn thread(random: &mut Random, hot: &[u64], plan: &Plan, others: u64) -> u64 {
    if random.chance(HOT_SHARE) {
        hot[usize::try_from(random.skewed(hot.len() as u64, 3.0)).unwrap()]
    } else {
        1 + random.below(others) * (plan.size.news / others)
    }
}

fn other_threads(plan: &Plan) -> Vec<Request> {
    let hot = hot_threads(plan);
    let mut random = Random::of("other threads", 0);
    let others = OTHER_THREADS.min(plan.size.news);
    (0..DRAWN).map(|_| Request::get(format!("/news/{}", thread(&mut random, &hot, plan, others)))).collect()
}

fn scores(plan: &Plan) -> Vec<Request> {
    let list = |number| {
        let mut random = Random::of("scores", number);
        let hosts: Vec<String> =
            (0..100).map(|_| super::dataset::host(random.skewed(plan.size.sites, 2.0))).collect();
        Request::get(format!("/scores?for={}", hosts.join(",")))
    };
    (0..200).map(list).collect()
}

/// What a site is asked all day: threads, the front page, people, and now and
/// then somebody who votes or comments. Half of the readers are logged in.
pub fn mix(plan: &Plan) -> Vec<Request> {
    let hot = hot_threads(plan);
    let mut random = Random::of("mix", 0);
    let mut voted = HashSet::new();
    (0..MIXED)
        .map(|number| {
            let kind = random.below(100);
            if kind < 2 {
                return write(plan, &mut random, &mut voted, number);
            }
            let name = people::username(1 + random.skewed(plan.size.active_users(), 2.0));
            let request = match kind {
                2..58 => Request::get(format!("/news/{}", thread(&mut random, &hot, plan, plan.size.news))),
                58..88 => Request::get("/"),
                88..95 => Request::get(format!("/@{name}")),
                _ => Request::get(format!("/usercomments/{name}/0")),
            };
            let reader = 1 + random.below(SESSIONS.min(plan.size.active_users()));
            if random.chance(50) { request.by(reader) } else { request }
        })
        .collect()
}

/// A vote or a comment of a newcomer, who has not voted there.
fn write(plan: &Plan, random: &mut Random, voted: &mut HashSet<(u64, u64)>, number: u64) -> Request {
    let first = plan.size.active_users() + 1 + VOTERS.min(plan.size.newcomers() / 2);
    let user = first + random.below(plan.size.users + 1 - first);
    let news = loop {
        let news = plan.size.news - random.skewed(plan.size.news, 3.0);
        if plan.items[usize::try_from(news).unwrap() - 1].comments > 0 && voted.insert((user, news)) {
            break news;
        }
    };
    match random.below(4) {
        0 => Request::post(
            "/api/postcomment",
            user,
            &format!(
                "news_id={news}&comment_id=-1&parent_id=-1&comment=A+remark+of+the+usual+length+with+the+number+{number}"
            ),
        ),
        1 => Request::post("/api/votecomment", user, &format!("comment_id={news}-1&vote_type=up")),
        _ => Request::post("/api/votenews", user, &format!("news_id={news}&vote_type=up")),
    }
}
