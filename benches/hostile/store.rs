//! The store of the site that is attacked: a small community with one thread that is as large
//! as threads can be. It is filled before the site starts, because its limits would be in the way.

use super::connection::{Address, Connection, Reply, form};
use super::target::EXECUTABLE;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tidings_domain::keys;
use tidings_domain::values::{NewsId, Timestamp};
use tidings_keyspace::{Batch, EngineClock, Store, StoreOptions};
use tidings_testing::dataset::{self, Plan, Size};
use tidings_testing::program::{Program, Start, StoreEngine};
use tidings_testing::redis_server::RedisServer;

const SIZE: Size = Size {
    users: 500,
    news: 2_000,
    news_votes: 20_000,
    comments: 6_000,
    long_thread: COMMENTS,
    tweets: 1_000,
    follows: 2_000,
    hosts: 100,
    sites: 500,
    site_votes: 5_000,
};
/// The comments of the large thread.
const COMMENTS: u64 = 2_000;
/// The characters of each: the most that a comment may have.
const CHARACTERS: usize = 4_096;
/// Comments in one batch of writes.
const BATCH: usize = 100;
/// Entries that are read at once to count keys.
const SCANNED: usize = 500;

/// Accounts with a password, for attacks on the login.
pub const OWNER: &str = "ownerofaccount";
pub const NEIGHBOUR: &str = "neighbour";
pub const ATTACKER: &str = "attacker";
pub const PASSWORD: &str = "correct horse battery staple";

/// Settings with which accounts can be made one after another.
const FILLING: &[(&str, &str)] = &[
    ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"),
    ("TIDINGS_LIMITS__SIGNUPS_PER_NETWORK", "0"),
    ("TIDINGS_LIMITS__SIGNUP_BURST", "0"),
    ("TIDINGS_LOG", "warn"),
];

/// How large a store is.
#[derive(Debug, Clone, Copy)]
pub struct StoreSize {
    /// Bytes: of the file and its journal, or of the data in the server's memory.
    pub bytes: u64,
    pub keys: u64,
}

impl StoreSize {
    /// How many MiB it has grown by.
    pub fn mebibytes_since(self, before: Self) -> f64 {
        (self.bytes as f64 - before.bytes as f64) / f64::from(1 << 20)
    }

    /// How many keys are new. Others may have expired.
    pub const fn keys_since(self, before: Self) -> i64 {
        self.keys as i64 - before.keys as i64
    }
}

/// A filled store. Dropping it removes it.
pub struct Filled {
    pub url: String,
    /// The folder of its file and of the log.
    pub folder: PathBuf,
    pub plan: Plan,
    redis: Option<RedisServer>,
    _temporary: TempDir,
}

impl Filled {
    /// Fills a store of an engine.
    pub async fn new(engine: StoreEngine) -> Self {
        // Next to the build, which is on a disk; the system's temporary folder may be in memory.
        let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let folder = temporary.path().to_owned();
        let redis = (engine == StoreEngine::Redis).then(RedisServer::start);
        let url = match &redis {
            Some(redis) => redis.url(),
            None => format!("redb:{}", folder.join("site.redb").display()),
        };
        let plan = Plan::new(SIZE, Timestamp::now(&EngineClock::System));
        let options = StoreOptions { timeout: Duration::from_secs(60), ..StoreOptions::default() };
        let store = Store::open(&url, &options).await.unwrap();
        dataset::write(&store, &plan).await;
        lengthen(&store, &plan).await;
        store.close().await;
        let filled = Self { url, folder, plan, redis, _temporary: temporary };
        filled.add_accounts().await;
        filled
    }

    /// The file that the site logs to.
    pub fn log(&self) -> PathBuf {
        self.folder.join("site.log")
    }

    /// How large the store is, while no site has it open.
    pub async fn size(&self) -> StoreSize {
        let Some(redis) = &self.redis else {
            let bytes = |name: &str| std::fs::metadata(self.folder.join(name)).map_or(0, |file| file.len());
            let bytes = bytes("site.redb") + bytes("site.redb-journal");
            return StoreSize { bytes, keys: self.count_keys().await };
        };
        let number = |text: &str| text.trim().trim_start_matches(':').parse().unwrap();
        let memory = redis.send(b"INFO memory");
        let bytes = memory.lines().find_map(|line| line.strip_prefix("used_memory_dataset:")).unwrap();
        StoreSize { bytes: number(bytes), keys: number(&redis.send(b"DBSIZE")) }
    }

    async fn count_keys(&self) -> u64 {
        let store = Store::open(&self.url, &StoreOptions::default()).await.unwrap();
        let (mut keys, mut cursor) = (0, None);
        loop {
            let page = store.scan(cursor, SCANNED).await.unwrap();
            keys += page.entries.len() as u64;
            cursor = page.next;
            if cursor.is_none() {
                store.close().await;
                return keys;
            }
        }
    }

    /// Accounts are made over the API, as everybody makes them.
    async fn add_accounts(&self) {
        let log = self.log();
        let start = Start { executable: EXECUTABLE, store: &self.url, log: &log, settings: FILLING };
        let program = Program::start(start).await;
        for name in [OWNER, NEIGHBOUR, ATTACKER] {
            let reply = sign_up(program.address, name).await;
            assert!(reply.body_text().contains("\"ok\""), "{}", reply.body_text());
        }
    }
}

async fn sign_up(site: SocketAddr, name: &str) -> Reply {
    let body = format!("username={name}&password={}", PASSWORD.replace(' ', "+"));
    let mut connection = Connection::open(site, Address(1)).await.unwrap();
    connection.ask(&form("/api/create_account", None, &body)).await.unwrap()
}

/// Gives every comment of the long thread as many characters as comments may have.
async fn lengthen(store: &Store, plan: &Plan) {
    let key = keys::thread(NewsId(plan.long_thread()));
    let fields = dataset::comments::long_thread(plan);
    let comments: Vec<_> = fields.into_iter().filter(|(field, _)| field != "nextid").collect();
    for chunk in comments.chunks(BATCH) {
        let mut batch = Batch::new();
        for (number, comment) in chunk {
            let mut comment: serde_json::Value = serde_json::from_str(comment).unwrap();
            // Text that compresses badly, with characters that are escaped in a page.
            let mut random = dataset::Random::of("hostile", number.parse().unwrap());
            let mut body = String::new();
            while body.chars().count() < CHARACTERS {
                body.push_str(&dataset::words::body(&mut random, 500));
                body.push_str(" <&\"> ");
            }
            comment["body"] = body.chars().take(CHARACTERS).collect::<String>().into();
            batch.set_field(&key, number, comment.to_string());
        }
        store.commit(batch).await.unwrap();
    }
}
