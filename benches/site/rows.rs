//! The measured rows: one for each kind of page, and the mix of all.

use super::requests::Request;
use std::collections::HashSet;
use tidings_domain::values::{RankingRules, Timestamp, ranking};
use tidings_testing::dataset::{Plan, Random, host, people, site};

/// Sessions that logged-in rows rotate over.
const SESSIONS: u64 = 500;
/// Users and hosts whose pages are requested in turn.
const NAMES: u64 = 50;
/// Threads that are read most, and those that are read occasionally.
const HOT_THREADS: usize = 300;
const OTHER_THREADS: u64 = 1_700;
/// The percentage of thread requests that go to the hot threads.
const HOT_SHARE: u64 = 75;
/// Requests of rows that draw at random.
const DRAWN: u64 = 20_000;
/// Requests in the list of the mix: more than a row or a part of the soak sends, so that votes
/// are not repeated.
pub const MIXED: usize = 240_000;
/// New users who vote when votes are measured; the others take part in the mix.
pub const VOTERS: u64 = 64;

/// A row of the table.
pub struct Row {
    pub name: &'static str,
    pub requests: Vec<Request>,
    /// The minimum share of the bare route's throughput.
    pub required: Option<f64>,
    /// The most processor time, as a multiple of the bare route's.
    pub most: Option<f64>,
    /// The responses that the bare route returns.
    pub samples: usize,
}

impl Row {
    fn taking(self, most: f64) -> Self {
        Self { most: Some(most), ..self }
    }
}

fn row(name: &'static str, required: f64, requests: Vec<Request>) -> Row {
    Row { name, requests, required: Some(required), most: None, samples: 20 }
}

/// A row of pages whose sizes differ much: the mean of a few is not that of all.
fn varied(name: &'static str, required: f64, requests: Vec<Request>) -> Row {
    Row { samples: 2_000, ..row(name, required, requests) }
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
        row("/site/:host anonymous", 0.6, names("/site/", site)),
        varied("other threads, anonymous", 0.85, other_threads(plan)).taking(1.5),
        varied("other threads, logged in", 0.6, by_members(plan, other_threads(plan))).taking(3.0),
        row("/ of one member", 0.65, vec![Request::get("/").by(1)]),
        row("/ logged in", 0.6, each("/")).taking(2.5),
        row("thread of 500, logged in", 0.15, each(&long)),
        row("/home logged in", 0.6, each("/home")).taking(2.5),
        row("/api/getnews/top/0/30", 0.93, one("/api/getnews/top/0/30")),
        row("/scores of 100 hosts", 0.4, scores(plan)),
        Row {
            required: None,
            ..row("leaderboard of a month", 0.0, one("/api/sites/leaderboard/best/month"))
        },
    ];
    rows.push(varied(MIX, 0.55, Mix::new(plan).take(MIXED).collect()).taking(2.5));
    rows
}

/// The long thread, for each session in turn.
pub fn long_thread(plan: &Plan) -> Vec<Request> {
    let path = format!("/news/{}", plan.long_thread());
    (1..=SESSIONS.min(plan.size.active_users())).map(|user| Request::get(path.as_str()).by(user)).collect()
}

/// The name of the mixed row.
pub const MIX: &str = "mix";

/// The hot threads: alternately high ranks and new stories.
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

/// A random thread: mostly a hot one, sometimes any of `others`.
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

/// The same requests, each by the next session.
fn by_members(plan: &Plan, requests: Vec<Request>) -> Vec<Request> {
    let members = (1..=SESSIONS.min(plan.size.active_users())).cycle();
    requests.into_iter().zip(members).map(|(request, member)| request.by(member)).collect()
}

fn scores(plan: &Plan) -> Vec<Request> {
    (0..200).map(|number| scores_request(plan, number)).collect()
}

/// A request for the scores of a hundred sites.
pub fn scores_request(plan: &Plan, number: u64) -> Request {
    let mut random = Random::of("scores", number);
    let hosts: Vec<String> = (0..100).map(|_| host(random.skewed(plan.size.sites, 2.0))).collect();
    Request::get(format!("/scores?for={}", hosts.join(",")))
}

/// Typical traffic of a site: threads, the front page, profiles, and occasionally a vote or a
/// comment. Half of the readers are logged in. No vote is repeated, however long it runs.
pub struct Mix<'a> {
    plan: &'a Plan,
    hot: Vec<u64>,
    random: Random,
    /// The votes cast on stories and on their first comments.
    voted: HashSet<(u64, u64)>,
    comments: u64,
}

impl<'a> Mix<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        let random = Random::of("mix", 0);
        Self { plan, hot: hot_threads(plan), random, voted: HashSet::new(), comments: 0 }
    }

    /// A vote or a comment of a new user, on a new story.
    fn write(&mut self) -> Request {
        let size = &self.plan.size;
        let first = size.active_users() + 1 + VOTERS.min(size.newcomers() / 2);
        let user = first + self.random.below(size.users + 1 - first);
        if self.random.chance(25) {
            let news = self.new_item();
            self.comments += 1;
            let comment = format!("A+remark+of+the+usual+length+with+the+number+{}", self.comments);
            let fields = format!("news_id={news}&comment_id=-1&parent_id=-1&comment={comment}");
            return Request::post("/api/postcomment", user, &fields);
        }
        let news = loop {
            let news = self.new_item();
            if self.voted.insert((user, news)) {
                break news;
            }
        };
        if self.random.below(3) == 0 {
            Request::post("/api/votecomment", user, &format!("comment_id={news}-1&vote_type=up"))
        } else {
            Request::post("/api/votenews", user, &format!("news_id={news}&vote_type=up"))
        }
    }

    /// A story with comments, mostly a new one.
    fn new_item(&mut self) -> u64 {
        loop {
            let news = self.plan.size.news - self.random.skewed(self.plan.size.news, 3.0);
            if self.plan.items[usize::try_from(news).unwrap() - 1].comments > 0 {
                return news;
            }
        }
    }
}

impl Iterator for Mix<'_> {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let kind = self.random.below(100);
        if kind < 2 {
            return Some(self.write());
        }
        let (plan, random) = (self.plan, &mut self.random);
        let name = people::username(1 + random.skewed(plan.size.active_users(), 2.0));
        let request = match kind {
            2..58 => Request::get(format!("/news/{}", thread(random, &self.hot, plan, plan.size.news))),
            58..88 => Request::get("/"),
            88..95 => Request::get(format!("/@{name}")),
            _ => Request::get(format!("/usercomments/{name}/0")),
        };
        let reader = 1 + random.below(SESSIONS.min(plan.size.active_users()));
        Some(if random.chance(50) { request.by(reader) } else { request })
    }
}
