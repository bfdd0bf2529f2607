//! The real site in this process: its own store, clock, settings and port.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidings::config::Config;
use tidings::mail::Mailer;
use tidings_domain::accounts::signup::add_account;
use tidings_domain::cache::MEBIBYTE;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::values::{SESSION_SECONDS, SessionToken, Timestamp, UserId, Username};
use tidings_domain::{Actor, Site, User, background, keys, migrations};
pub use tidings_keyspace::Batch;
use tidings_keyspace::{EngineClock, Expiry, Order, Store, StoreOptions, Value, read};
pub use tidings_testing_macros::{each_engine, in_memory};
use tidings_web::App;
use tidings_web::mail::SendMail;
use tidings_web::settings::Settings as WebSettings;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::redis_server::RedisServer;

/// Where every clock starts: some day in 2027, in Unix seconds.
pub const START: u64 = 1_800_000_000;

/// Limits that would disturb tests about something else.
const TEST_SETTINGS: [(&str, &str); 18] = [
    // A busy machine confirms a write late.
    ("server.store_timeout_seconds", "20"),
    // Only the tests of search need an index.
    ("search.enabled", "false"),
    // Most tests that count karma count the prices of Lamer News.
    ("karma.economy", "lamer"),
    // Everybody is new in most tests, and trusted.
    ("trust.days", "0"),
    ("trust.karma", "0"),
    // Only the tests of reminders look.
    ("moderation.remind_after", "0"),
    // All clients of a test have one address.
    ("server.connections_per_address", "0"),
    ("limits.account_creation_seconds", "0"),
    ("limits.submission_seconds", "0"),
    ("limits.new_voters_per_day", "0"),
    ("limits.new_voters_of_site_per_day", "0"),
    ("limits.new_hosts_of_site_per_day", "0"),
    // In most tests all votes come from one address.
    ("limits.site_votes_per_network", "0"),
    ("limits.site_account_votes_per_network", "0"),
    ("limits.site_score_networks", "0"),
    ("limits.signups_per_network", "0"),
    ("limits.signup_burst", "0"),
    // The relay of most tests has no TLS.
    ("mail.tls", "none"),
];

/// The environment variables that switch all rates off. Benches, and tests about something
/// else, send more in a second than people do in an hour.
pub fn without_rates() -> Vec<(String, String)> {
    let defaults = Config::from_variables::<&str, &str>([]).unwrap();
    let is_rate = |name: &str| name.starts_with("rates.") && name.contains("_per_");
    let rates = defaults.describe().into_iter().map(|line| line.name).filter(|name| is_rate(name));
    rates.chain(["limits.mentions_per_day"]).map(|name| (variable_of(name), "0".to_owned())).collect()
}

/// A user who does something on this machine.
pub fn actor(user: &User) -> Actor<'_> {
    Actor { user, address: IpAddr::V4(Ipv4Addr::LOCALHOST) }
}

/// The environment variable of a setting.
fn variable_of(name: &str) -> String {
    format!("TIDINGS_{}", name.replace('.', "__").to_uppercase())
}

/// Settings by their names, as in `limits.submission_seconds`.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// The engine of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// `redb::memory:`
    Memory,
    /// `redb:PATH` in a temporary folder.
    File,
    /// A `redis-server` started by the test.
    Redis,
}

/// A running site. Dropping it stops the site.
pub struct Server {
    pub app: App,
    /// The server below the store, on [`Engine::Redis`].
    pub redis: Option<RedisServer>,
    clock: Arc<AtomicU64>,
    pub address: SocketAddr,
    http: reqwest::Client,
    shutdown: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    _folder: Option<TempDir>,
}

/// The resources that a server owns.
#[derive(Default)]
struct Kept {
    redis: Option<RedisServer>,
    folder: Option<TempDir>,
}

fn start_clock() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(START * 1_000))
}

/// Runs a test on the embedded engine, in memory.
pub async fn in_memory(settings: Settings<'_>, test: impl AsyncFnOnce(Server)) {
    test(Server::start(Engine::Memory, settings).await).await;
}

/// Runs a test on the embedded engine and on Redis.
pub async fn each_engine(settings: Settings<'_>, test: impl AsyncFn(Server)) {
    for engine in [Engine::Memory, Engine::Redis] {
        println!("on {engine:?}");
        test(Server::start(engine, settings).await).await;
    }
}

/// The environment variables of the settings that a server starts with.
pub fn variables(settings: Settings<'_>) -> BTreeMap<String, String> {
    let given = TEST_SETTINGS.iter().chain(settings);
    let given = given.map(|(name, value)| (variable_of(name), (*value).to_owned()));
    let mut variables: BTreeMap<String, String> = without_rates().into_iter().collect();
    variables.extend(given);
    variables
}

/// The settings that a server starts with, read as the program reads them.
pub fn config(settings: Settings<'_>) -> Config {
    Config::from_variables(variables(settings)).unwrap()
}

impl Server {
    /// Starts a site on a fresh store.
    pub async fn start(engine: Engine, settings: Settings<'_>) -> Self {
        match engine {
            Engine::Memory => Self::open("redb::memory:", settings, Kept::default()).await,
            Engine::File => {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("redb:{}", folder.path().join("site.redb").display());
                Self::open(&url, settings, Kept { folder: Some(folder), ..Kept::default() }).await
            }
            Engine::Redis => Self::on_redis(RedisServer::start(), settings).await,
        }
    }

    /// Starts a site on the data of a Redis server.
    pub async fn on_redis(redis: RedisServer, settings: Settings<'_>) -> Self {
        let url = redis.url();
        Self::open(&url, settings, Kept { redis: Some(redis), ..Kept::default() }).await
    }

    /// Starts a site on a store that somebody else keeps.
    pub async fn at(url: &str, settings: Settings<'_>) -> Self {
        Self::open(url, settings, Kept::default()).await
    }

    /// Starts a site in memory, with settings that an operator cannot change.
    pub async fn start_adjusted(settings: Settings<'_>, adjust: impl FnOnce(&mut WebSettings)) -> Self {
        Self::start_adjusted_on(Engine::Memory, settings, adjust).await
    }

    /// The same on an engine, in memory or on Redis.
    pub async fn start_adjusted_on(
        engine: Engine,
        settings: Settings<'_>,
        adjust: impl FnOnce(&mut WebSettings),
    ) -> Self {
        let redis = (engine == Engine::Redis).then(RedisServer::start);
        let url = redis.as_ref().map_or("redb::memory:".to_owned(), RedisServer::url);
        Self::open_at(start_clock(), &url, settings, adjust, Kept { redis, ..Kept::default() }).await
    }

    async fn open(url: &str, settings: Settings<'_>, kept: Kept) -> Self {
        Self::open_at(start_clock(), url, settings, |_| {}, kept).await
    }

    /// Starts another server on the same store, with the same clock.
    pub async fn beside(url: &str, other: &Self) -> Self {
        Self::beside_with(url, other, &[]).await
    }

    /// The same with settings.
    pub async fn beside_with(url: &str, other: &Self, settings: Settings<'_>) -> Self {
        Self::open_at(other.clock.clone(), url, settings, |_| {}, Kept::default()).await
    }

    /// The same with settings that an operator cannot change.
    pub async fn beside_adjusted(url: &str, other: &Self, adjust: impl FnOnce(&mut WebSettings)) -> Self {
        Self::open_at(other.clock.clone(), url, &[], adjust, Kept::default()).await
    }

    async fn open_at(
        clock: Arc<AtomicU64>,
        url: &str,
        settings: Settings<'_>,
        adjust: impl FnOnce(&mut WebSettings),
        kept: Kept,
    ) -> Self {
        let config = config(settings);
        let engine_clock = EngineClock::Manual(clock.clone());
        let options = StoreOptions {
            timeout: Duration::from_secs(config.server.store_timeout_seconds),
            cache_bytes: 8 * 1024 * 1024,
            clock: engine_clock.clone(),
            replicas: u32::try_from(config.server.store_replicas).unwrap(),
            ..StoreOptions::default()
        };
        let store = Store::open(url, &options).await.unwrap();
        let mailer = Mailer::from_config(&config.mail).unwrap();
        let mut web_settings = config.web_settings();
        // Tests compare what is stored.
        web_settings.keep_figures_every = Duration::from_secs(86_400);
        if settings.iter().all(|(name, _)| *name != "server.request_timeout_seconds") {
            // With many tests at once, a request takes long; and so does a search, below.
            web_settings.request_timeout = Duration::from_secs(60);
        }
        web_settings.search.patience = Duration::from_secs(60);
        if config.search.folder.is_empty() {
            // Nothing to clean up.
            web_settings.search.folder = None;
        }
        adjust(&mut web_settings);
        let site = Site::new(store, config.rules.clone(), PasswordWorker::new(2, 1_000))
            .reached_at(config.site.url.as_str())
            .called(&config.site.name)
            .listening_on(config.server.listen.ip())
            .sending_mail(mailer.is_some())
            .with_cache_bytes(config.server.site_cache_mebibytes * MEBIBYTE);
        let mailer = mailer.map(|mailer| Arc::new(mailer) as Arc<dyn SendMail>);
        let app = App::new(site, web_settings, mailer, engine_clock);
        app.brand().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, stopped) = oneshot::channel::<()>();
        let served = tidings_web::serve(app.clone(), listener, async {
            // The sender is dropped with the server; that is the signal.
            stopped.await.ok();
        });
        let serving = tokio::spawn(served);
        let Kept { redis, folder } = kept;
        Self { app, redis, clock, address, http: http_client(), shutdown, serving, _folder: folder }
    }

    /// Stops the server. Nothing is answered when this returns.
    pub async fn stop(self) {
        drop(self.shutdown);
        self.serving.await.unwrap();
    }

    /// The store below the site.
    pub fn store(&self) -> &Store {
        &self.app.site.store
    }

    /// The time of the site, in Unix seconds.
    pub fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst) / 1_000
    }

    /// Advances the clock.
    pub fn advance(&self, seconds: u64) {
        self.clock.fetch_add(seconds * 1_000, Ordering::SeqCst);
    }

    /// Sets the clock back.
    pub fn set_back(&self, seconds: u64) {
        self.clock.fetch_sub(seconds * 1_000, Ordering::SeqCst);
    }

    /// How many rounds of reads a page takes.
    pub async fn rounds_of(&self, client: &Client, path: &str) -> u64 {
        self.rounds_during(async { assert_eq!(client.get(path).await.status, 200, "{path}") }).await
    }

    /// How many rounds of reads something takes.
    pub async fn rounds_during<T>(&self, act: impl Future<Output = T>) -> u64 {
        let before = self.store().rounds();
        act.await;
        self.store().rounds() - before
    }

    /// The fewest of some counts: the background looks for work now and then, which only adds.
    pub async fn least_rounds_during<T>(&self, act: impl AsyncFn() -> T) -> u64 {
        let mut least = u64::MAX;
        for _ in 0..5 {
            least = least.min(self.rounds_during(act()).await);
        }
        least
    }

    /// The same with empty caches.
    pub async fn cold_rounds_of(&self, client: &Client, path: &str) -> u64 {
        self.clear_caches().await;
        self.rounds_of(client, path).await
    }

    /// Clears all caches of the server.
    pub async fn clear_caches(&self) {
        // A restore invalidates everything.
        self.store().restore(Vec::new()).await.unwrap();
    }

    /// Runs the migrations that the store needs, as a start does.
    pub async fn migrate(&self) {
        let state = migrations::state_of(self.store()).await.unwrap();
        migrations::migrate(&self.app.site, &state, &migrations::MIGRATIONS, &|_, _| {}).await.unwrap();
    }

    /// Does the jobs of the background, until none is left. While one is in the middle, the server
    /// itself works on it.
    pub async fn finish_jobs(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            background::finish_waiting(&self.app.site, self.app.moment()).await.unwrap();
            let left = self.sorted("timeline:jobs").await;
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "jobs are left: {left:?}");
            crate::pause().await;
        }
    }

    /// A client without a session.
    pub fn visitor(&self) -> Client {
        Client::new(self.http.clone(), self.address)
    }

    /// Registers an account over the API.
    pub async fn register(&self, username: &str) -> Client {
        self.visitor().register(username).await
    }

    /// A client of a new account with a password that nobody can type: costs no hashing.
    pub async fn member(&self, username: &str) -> Client {
        let name = Username::parse(username).unwrap();
        let id = add_account(&self.app.site, self.app.now(), &name).await.unwrap();
        self.set_field(&format!("user:{id}"), "password", "-").await;
        self.client_of(id.0).await
    }

    /// A client of a new administrator.
    pub async fn administrator(&self, username: &str) -> Client {
        self.member_with_flags(username, "a").await
    }

    /// A client of a new moderator.
    pub async fn moderator(&self, username: &str) -> Client {
        self.member_with_flags(username, "m").await
    }

    async fn member_with_flags(&self, username: &str, flags: &str) -> Client {
        let client = self.member(username).await;
        self.set_field(&format!("user:{}", client.user_id), "flags", flags).await;
        client
    }

    /// Clients of new accounts with these names, in their order.
    pub async fn people<const N: usize>(&self, usernames: [&str; N]) -> [Client; N] {
        let mut people = Vec::with_capacity(N);
        for username in usernames {
            people.push(self.member(username).await);
        }
        people.try_into().unwrap_or_else(|_| unreachable!())
    }

    /// As many members as asked for.
    pub async fn members(&self, count: usize) -> Vec<Client> {
        let mut members = Vec::with_capacity(count);
        for number in 0..count {
            members.push(self.member(&format!("member-{number}")).await);
        }
        members
    }

    /// A client with a new session of an account.
    pub async fn client_of(&self, user: u64) -> Client {
        let key = format!("user:{user}");
        let mut client = self.visitor();
        let token = SessionToken::random().unwrap();
        let (session, sessions) = (keys::session(&token.hash()), keys::user_sessions(UserId(user)));
        let now = self.now().to_string();
        client.apisecret = self.field(&key, "apisecret").await;
        let secret = client.apisecret.clone().unwrap_or_default();
        let fields = [
            ("user_id", user.to_string()),
            ("since", now.clone()),
            ("last_seen", now),
            ("apisecret", secret),
        ];
        self.write(|batch| {
            batch.set_fields(&session, fields);
            batch.expire(&session, Duration::from_secs(SESSION_SECONDS));
            batch.sorted_add(&sessions, token.hash().to_string(), Timestamp(self.now()).as_score());
            batch.expire(&sessions, Duration::from_secs(SESSION_SECONDS));
        })
        .await;
        client.user_id = user;
        client.username = self.field(&key, "username").await.unwrap();
        client.auth = Some(token.expose().to_owned());
        client
    }

    /// The string at a key.
    pub async fn string(&self, key: &str) -> Option<String> {
        self.store().fetch(read::string(key)).await.unwrap()
    }

    /// A hash, by field.
    pub async fn hash(&self, key: &str) -> BTreeMap<String, String> {
        self.store().fetch(read::hash(key)).await.unwrap().0.into_iter().collect()
    }

    /// One field of a hash.
    pub async fn field(&self, key: &str, field: &str) -> Option<String> {
        self.hash(key).await.remove(field)
    }

    /// One field of a hash, as a number; absent is 0.
    pub async fn number(&self, key: &str, field: &str) -> i64 {
        self.field(key, field).await.map_or(0, |text| text.parse().unwrap())
    }

    /// The karma of a user.
    pub async fn karma(&self, user: &Client) -> i64 {
        self.number(&format!("user:{}", user.user_id), "karma").await
    }

    /// Gives a user some karma.
    pub async fn set_karma(&self, user: &Client, karma: i64) {
        self.set_field(&format!("user:{}", user.user_id), "karma", &karma.to_string()).await;
    }

    /// Writes a field of a hash.
    pub async fn set_field(&self, key: &str, field: &str, value: &str) {
        self.write(|batch| batch.set_field(key, field, value)).await;
    }

    /// Writes to the store behind the site's back.
    pub async fn write(&self, fill: impl FnOnce(&mut Batch)) {
        let mut batch = Batch::new();
        fill(&mut batch);
        self.commit(batch).await;
    }

    /// Writes a batch to the store behind the site's back.
    pub async fn commit(&self, batch: Batch) {
        self.store().commit(batch).await.unwrap();
    }

    /// The members of a sorted set, lowest score first.
    pub async fn sorted(&self, key: &str) -> Vec<(String, f64)> {
        self.store().fetch(read::sorted_range(key, Order::Ascending, 0, 1_000_000)).await.unwrap()
    }

    /// The members of a sorted set that holds ids, in no particular order.
    pub async fn ids(&self, key: &str) -> Vec<u64> {
        let mut ids: Vec<u64> =
            self.sorted(key).await.into_iter().map(|(id, _)| id.parse().unwrap()).collect();
        ids.sort_unstable();
        ids
    }

    /// Whether and when a key expires.
    pub async fn expiry(&self, key: &str) -> Expiry {
        self.store().fetch(read::expiry(key)).await.unwrap()
    }

    /// Everything that is stored, in a form that can be compared.
    pub async fn dump(&self) -> BTreeMap<String, Value> {
        dump(self.store()).await
    }
}

/// Everything that a store holds, in a form that can be compared: without the feed of changes and the events for webhooks,
/// which change with each of them.
pub async fn dump(store: &Store) -> BTreeMap<String, Value> {
    let mut dump = BTreeMap::new();
    let mut cursor = None;
    loop {
        let page = store.scan(cursor, 500).await.unwrap();
        for mut entry in page.entries {
            match &mut entry.value {
                Value::String(_) => {}
                Value::Hash(fields) => fields.sort(),
                Value::Set(members) => members.sort(),
                Value::SortedSet(members) => members.sort_by(|left, right| left.0.cmp(&right.0)),
            }
            if ![keys::CHANGES, keys::HOOK_EVENTS].contains(&entry.key.as_str()) {
                dump.insert(entry.key, entry.value);
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            return dump;
        }
    }
}

/// The HTTP client that all clients of a server share.
pub fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(120))
        .build()
        .unwrap()
}
