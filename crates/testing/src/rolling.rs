//! Readers and writers behind haproxy while servers are restarted or killed: what was not
//! answered, and what was acknowledged and is not there afterwards.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tidings_keyspace::{Batch, Store, StoreOptions, Value};
use tokio::task::JoinSet;

use crate::client::{FORM, Fields, encoded};
use crate::load::Connection;
use crate::server::dump;
use crate::topology::Topology;

/// The pages that readers read, besides the newest story.
const PAGES: [&str; 5] = ["/", "/latest/0", "/api/getnews/top/0/30", "/everyone", "/best"];
/// After so many comments a writer begins a new story, so that threads stay short.
const COMMENTS_PER_STORY: usize = 30;
/// How long a request may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many people read and write, each on one connection.
#[derive(Debug, Clone, Copy)]
pub struct People {
    pub readers: usize,
    pub writers: usize,
}

/// The findings of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Requests that were answered as they should be.
    pub answered: usize,
    /// Those of them that wrote.
    pub writes: usize,
    /// The others, with what went wrong, by who sent them.
    pub failed: Vec<Failure>,
    /// Writes that were acknowledged and are not in the store.
    pub lost: Vec<Write>,
    /// The time that half of the answers took at most.
    pub p50: Duration,
    /// The time that 99 of 100 took at most.
    pub p99: Duration,
    /// The time of the slowest answer.
    pub slowest: Duration,
    /// The longest time without any answer.
    pub longest_pause: Duration,
}

/// A request that was not answered as it should be.
#[derive(Debug)]
pub struct Failure {
    /// The number of the person who sent it: readers first, then writers.
    pub person: usize,
    pub request: String,
    pub cause: String,
}

/// A write that was acknowledged.
#[derive(Debug, Clone)]
pub enum Write {
    Story { id: u64, title: String },
    Comment { story: u64, id: u64, text: String },
    Vote { story: u64, voter: u64 },
}

/// The state that people share while they read and write.
#[derive(Default)]
pub struct Traffic {
    stop: AtomicBool,
    answered: AtomicUsize,
    stories: Mutex<Vec<Story>>,
}

#[derive(Debug, Clone, Copy)]
struct Story {
    id: u64,
    author: u64,
}

impl Traffic {
    /// How many requests have been answered so far.
    pub fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// A story by its number, counted from the oldest.
    fn story(&self, number: usize) -> Option<Story> {
        self.stories.lock().unwrap().get(number).copied()
    }

    fn newest(&self) -> Option<Story> {
        self.stories.lock().unwrap().last().copied()
    }
}

/// Lets people read and write until `disturb` returns, which runs on a thread of its own. Needs a
/// runtime of several threads.
pub async fn run(
    topology: &mut Topology,
    people: People,
    disturb: impl FnOnce(&mut Topology, &Traffic),
) -> Outcome {
    let count = u64::try_from(people.readers + people.writers).unwrap();
    add_accounts(&topology.redis().url(), count).await;
    let traffic = Arc::new(Traffic::default());
    let mut sessions = JoinSet::new();
    for number in 0..people.readers + people.writers {
        let (person, traffic) = (Person::new(topology, number), traffic.clone());
        let is_writer = number >= people.readers;
        sessions.spawn(async move {
            if is_writer { write(person, &traffic).await } else { read(person, &traffic).await }
        });
    }
    tokio::task::block_in_place(|| disturb(topology, &traffic));
    traffic.stop.store(true, Ordering::SeqCst);
    outcome(topology, sessions.join_all().await).await
}

/// Makes accounts in a store, without the cost of passwords. Each may vote as often as it likes.
pub async fn add_accounts(url: &str, count: u64) {
    let store = Store::open(url, &StoreOptions::default()).await.unwrap();
    let mut batch = Batch::new();
    batch.set("users.count", count.to_string());
    for id in 1..=count {
        let (name, secret) = (format!("user-{id}"), secret_of(id));
        let fields = [
            ("id", id.to_string()),
            ("username", name.clone()),
            ("password", String::new()),
            // Votes cost karma, and visits give some.
            ("karma", "1000000".to_owned()),
            ("karma_incr_time", "4000000000".to_owned()),
            ("auth", secret.clone()),
            ("apisecret", secret.clone()),
        ];
        batch.set_fields(format!("user:{id}"), fields);
        batch.set(format!("username.to.id:{name}"), id.to_string());
        batch.set(format!("auth:{secret}"), id.to_string());
    }
    store.commit(batch).await.unwrap();
    store.close().await;
}

/// The secret of an account, for its session and its forms.
pub fn secret_of(id: u64) -> String {
    format!("{id:040}")
}

/// Somebody with a connection that is kept.
struct Person {
    number: usize,
    id: u64,
    site: std::net::SocketAddr,
    connection: Option<Connection>,
    /// When each answer had come, and what it took.
    answers: Vec<(Instant, Duration)>,
    failed: Vec<Failure>,
    acknowledged: Vec<Write>,
}

impl Person {
    fn new(topology: &Topology, number: usize) -> Self {
        let id = u64::try_from(number + 1).unwrap();
        let (site, connection) = (topology.address(), None);
        let (answers, failed, acknowledged) = Default::default();
        Self { number, id, site, connection, answers, failed, acknowledged }
    }

    fn secret(&self) -> String {
        secret_of(self.id)
    }

    /// Gets a page, with a session or without.
    async fn get(&mut self, path: &str, has_session: bool, traffic: &Traffic) {
        let cookie = if has_session { format!("cookie: auth={}\r\n", self.secret()) } else { String::new() };
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{cookie}\r\n");
        self.send(&request, traffic, |_| Some(())).await;
    }

    /// Calls the API; `None` when that failed.
    async fn call(&mut self, path: &str, fields: Fields<'_>, traffic: &Traffic) -> Option<Json> {
        let secret = self.secret();
        let body = encoded(&[fields, &[("apisecret", &*secret)]].concat());
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncookie: auth={secret}\r\ncontent-type: {FORM}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let done = |body: &[u8]| {
            let answer: Json = serde_json::from_slice(body).ok()?;
            (answer["status"] == "ok").then_some(answer)
        };
        self.send(&request, traffic, done).await
    }

    /// Sends a request, once. A failure is recorded.
    async fn send<T>(
        &mut self,
        request: &str,
        traffic: &Traffic,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let began = Instant::now();
        let cause = match tokio::time::timeout(PATIENCE, self.exchange(request)).await {
            Ok(Ok((head, body))) => {
                let answer = if head.starts_with("HTTP/1.1 200 ") { read(&body) } else { None };
                if let Some(answer) = answer {
                    self.answers.push((Instant::now(), began.elapsed()));
                    traffic.answered.fetch_add(1, Ordering::SeqCst);
                    return Some(answer);
                }
                format!("{head} {}", String::from_utf8_lossy(&body))
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {PATIENCE:?}"),
        };
        self.connection = None;
        let request = request.lines().next().unwrap_or_default().to_owned();
        self.failed.push(Failure { person: self.number, request, cause });
        None
    }

    async fn exchange(&mut self, request: &str) -> std::io::Result<(String, Vec<u8>)> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(Connection::try_open(self.site).await?),
        };
        let head = connection.try_exchange(request).await?;
        Ok((head, std::mem::take(&mut connection.body)))
    }
}

/// Reads pages in turn. Every other reader is logged in.
async fn read(mut person: Person, traffic: &Traffic) -> Person {
    let has_session = person.number.is_multiple_of(2);
    for number in person.number.. {
        if traffic.is_stopped() {
            break;
        }
        match (PAGES.get(number % (PAGES.len() + 1)), traffic.newest()) {
            (Some(page), _) => person.get(page, has_session, traffic).await,
            (None, Some(story)) => {
                person.get(&format!("/news/{}", story.id), has_session, traffic).await;
            }
            (None, None) => {}
        }
    }
    person
}

/// Submits stories, comments on them, and votes on those of others.
async fn write(mut person: Person, traffic: &Traffic) -> Person {
    let (mut own, mut next) = (None, 0);
    for number in 0.. {
        if traffic.is_stopped() {
            break;
        }
        if number % COMMENTS_PER_STORY == 0 {
            own = submit(&mut person, number, traffic).await;
        }
        if let Some(story) = own {
            comment(&mut person, story, number, traffic).await;
        }
        if let Some(story) = traffic.story(next) {
            next += 1;
            if story.author != person.id {
                vote(&mut person, story.id, traffic).await;
            }
        }
    }
    person
}

async fn submit(person: &mut Person, number: usize, traffic: &Traffic) -> Option<u64> {
    let title = format!("Story {number} of {}", person.id);
    let fields = [("news_id", "-1"), ("title", &*title), ("url", ""), ("text", "A text")];
    let id = person.call("/api/submit", &fields, traffic).await?["news_id"].as_u64()?;
    person.acknowledged.push(Write::Story { id, title });
    traffic.stories.lock().unwrap().push(Story { id, author: person.id });
    Some(id)
}

async fn comment(person: &mut Person, story: u64, number: usize, traffic: &Traffic) {
    let text = format!("Comment {number} of {}", person.id);
    let news = story.to_string();
    let fields = [("news_id", &*news), ("comment_id", "-1"), ("parent_id", "-1"), ("comment", &*text)];
    let Some(answer) = person.call("/api/postcomment", &fields, traffic).await else { return };
    if let Some(id) = answer["comment_id"].as_u64() {
        person.acknowledged.push(Write::Comment { story, id, text });
    }
}

async fn vote(person: &mut Person, story: u64, traffic: &Traffic) {
    let fields = [("news_id", &*story.to_string()), ("vote_type", "up")];
    if person.call("/api/votenews", &fields, traffic).await.is_some() {
        person.acknowledged.push(Write::Vote { story, voter: person.id });
    }
}

/// Puts together what people saw, and compares it with the store.
async fn outcome(topology: &Topology, people: Vec<Person>) -> Outcome {
    let store = Store::open(&topology.redis().url(), &StoreOptions::default()).await.unwrap();
    let stored = dump(&store).await;
    store.close().await;
    let (mut outcome, mut moments, mut times) = (Outcome::default(), Vec::new(), Vec::new());
    for person in people {
        outcome.writes += person.acknowledged.len();
        outcome.failed.extend(person.failed);
        outcome.lost.extend(person.acknowledged.into_iter().filter(|write| !is_stored(&stored, write)));
        moments.extend(person.answers.iter().map(|(moment, _)| *moment));
        times.extend(person.answers.iter().map(|(_, took)| *took));
    }
    moments.sort_unstable();
    times.sort_unstable();
    outcome.answered = times.len();
    outcome.p50 = times[times.len() / 2];
    outcome.p99 = times[times.len() * 99 / 100];
    outcome.slowest = times[times.len() - 1];
    let pauses = moments.windows(2).map(|pair| pair[1] - pair[0]);
    outcome.longest_pause = pauses.max().unwrap_or_default();
    outcome
}

/// Whether a write is in the store.
fn is_stored(stored: &BTreeMap<String, Value>, write: &Write) -> bool {
    let field = |key: String, field: &str| match stored.get(&key) {
        Some(Value::Hash(fields)) => {
            fields.iter().find(|(name, _)| name == field).map(|(_, value)| value.clone())
        }
        _ => None,
    };
    match write {
        Write::Story { id, title } => field(format!("news:{id}"), "title").as_ref() == Some(title),
        Write::Comment { story, id, text } => {
            let comment = field(format!("thread:comment:{story}"), &id.to_string());
            let comment = comment.and_then(|json| serde_json::from_str::<Json>(&json).ok());
            comment.is_some_and(|comment| comment["body"] == **text)
        }
        Write::Vote { story, voter } => {
            let voter = voter.to_string();
            matches!(
                stored.get(&format!("news.up:{story}")),
                Some(Value::SortedSet(voters)) if voters.iter().any(|(id, _)| *id == voter)
            )
        }
    }
}
