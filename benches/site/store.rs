//! The filled stores that are measured.

use super::options::{Engine, Options};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tidings_domain::values::Timestamp;
use tidings_keyspace::{EngineClock, Store, StoreOptions};
use tidings_testing::dataset::{self, Plan, Size};
use tidings_testing::redis_server::RedisServer;

/// Memory of the embedded engine while a store is filled.
const FILLING_CACHE_BYTES: usize = 512 * 1024 * 1024;

/// A filled store. Dropping it removes temporary files.
pub struct Filled {
    pub url: String,
    /// The folder of its file and of files of the bench.
    pub folder: PathBuf,
    pub plan: Plan,
    /// The time to fill it; `None` if it already existed.
    pub filling: Option<Duration>,
    redis: Option<RedisServer>,
    _temporary: TempDir,
}

impl Filled {
    /// Fills a store of an engine.
    pub async fn new(engine: Engine, options: &Options, times: u64) -> Self {
        // Next to the build, which is on a disk; the system's temporary folder may be in memory.
        let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let size = Size::times(times);
        let now = Timestamp::now(&EngineClock::System);
        let began = Instant::now();
        if engine == Engine::Redis {
            let redis = RedisServer::start();
            let plan = Plan::new(size, now);
            fill(&redis.url(), &plan).await;
            let folder = temporary.path().to_owned();
            let (url, filling) = (redis.url(), Some(began.elapsed()));
            return Self { url, folder, plan, filling, redis: Some(redis), _temporary: temporary };
        }
        let folder = options.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("site-{times}.redb"));
        let made = file.with_extension("made");
        let (plan, filling) = match read_time(&made) {
            Some(then) => (Plan::new(size, then), None),
            None => {
                remove(&file);
                let plan = Plan::new(size, now);
                fill(&format!("redb:{}", file.display()), &plan).await;
                std::fs::write(&made, now.to_string()).unwrap();
                (plan, Some(began.elapsed()))
            }
        };
        let url = format!("redb:{}", measured(&file, options).display());
        Self { url, folder, plan, filling, redis: None, _temporary: temporary }
    }

    /// Reads the file of an embedded store into the page cache of the system, so that the disk
    /// is not measured.
    pub fn read_through(&self) {
        if let Some(file) = self.url.strip_prefix("redb:") {
            std::io::copy(&mut File::open(file).unwrap(), &mut std::io::sink()).unwrap();
        }
    }

    /// Whether the store is a process of its own.
    pub const fn is_redis(&self) -> bool {
        self.redis.is_some()
    }
}

/// The file to measure: a copy if the store is reused, because the bench casts votes in it.
fn measured(file: &Path, options: &Options) -> PathBuf {
    if options.keep.is_none() {
        return file.to_owned();
    }
    let copy = file.with_extension("measured");
    remove(&copy);
    std::fs::copy(file, &copy).unwrap();
    copy
}

/// Removes a store, and the journal that an interrupted bench has left beside it.
fn remove(file: &Path) {
    let journal = format!("{}-journal", file.display());
    for path in [file, Path::new(&journal)] {
        if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// When a reused store was created. The file is written when the store is complete.
fn read_time(path: &Path) -> Option<Timestamp> {
    std::fs::read_to_string(path).ok()?.parse().ok()
}

async fn fill(url: &str, plan: &Plan) {
    let options = StoreOptions {
        timeout: Duration::from_secs(60),
        cache_bytes: FILLING_CACHE_BYTES,
        ..StoreOptions::default()
    };
    let store = Store::open(url, &options).await.unwrap();
    dataset::write(&store, plan).await;
    store.close().await;
}
