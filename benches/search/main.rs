//! Search on the data of the benchmarks: 20,000 stories and 150,000 comments, of natural length and with
//! natural frequencies of words; beside a table of SQLite FTS5 with the same texts and the same searches.
//!
//! Then the directory of a million accounts.
//!
//! `cargo bench --bench search`. SQLite is built by a crate outside the workspace, in `benches/search/sqlite`.

#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]

mod accounts;
mod corpus;

use corpus::{Corpus, Query};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tidings_domain::Site;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::values::{Rules, Timestamp};
use tidings_keyspace::{Batch, Store, StoreOptions};
use tidings_search::asking::Question;
use tidings_search::index::Kind;
use tidings_search::language::Search;
use tidings_web::features::search::following;
use tidings_web::features::search::searching::Searching;
use tidings_web::settings::SearchSettings;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NOW: i64 = 1_800_000_000;
/// Threads that search.
const THREADS: usize = 2;
/// How long they search.
const SEARCHING: Duration = Duration::from_secs(10);
/// The cache of the store in bytes: small, because the memory of the index is measured.
const STORE_CACHE: usize = 4 << 20;
/// Stories that are written in one batch.
const STORIES_AT_ONCE: usize = 200;
/// The longest time of a search: see `limits::SEARCH_PATIENCE` of the web crate.
const PATIENCE: Duration = Duration::from_millis(50);

/// The figures of one engine.
struct Figures {
    build: Duration,
    bytes: u64,
    memory: u64,
    searches: u64,
    half: Duration,
    most: Duration,
    slowest: Duration,
    cut: usize,
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let corpus = Corpus::generate();
    let texts = corpus.bytes();
    println!("{} documents, {} of text\n", corpus.documents(), mebibytes(texts));
    println!(
        "{:<12} {:>9} {:>10} {:>10} {:>11} {:>9} {:>9} {:>9} {:>5}",
        "", "built", "size", "memory", "searches/s", "half", "99%", "slowest", "cut"
    );
    print("Tidings", &runtime.block_on(tidings(folder.path(), &corpus)));
    match sqlite(folder.path(), &corpus) {
        Some(figures) => print("SQLite FTS5", &figures),
        None => println!("SQLite FTS5  could not be built"),
    }
    runtime.block_on(accounts::measure(folder.path()));
}

fn print(name: &str, figures: &Figures) {
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1_000.0);
    println!(
        "{name:<12} {:>9} {:>10} {:>10} {:>11} {:>9} {:>9} {:>9} {:>5}",
        seconds(figures.build),
        mebibytes(figures.bytes),
        mebibytes(figures.memory),
        figures.searches,
        milliseconds(figures.half),
        milliseconds(figures.most),
        milliseconds(figures.slowest),
        figures.cut,
    );
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
}

/// The resident memory of this process that is its own, in bytes.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

async fn tidings(folder: &Path, corpus: &Corpus) -> Figures {
    let url = format!("redb:{}/site.redb", folder.display());
    let options = StoreOptions { create: true, cache_bytes: STORE_CACHE, ..StoreOptions::default() };
    let store = Store::open(&url, &options).await.unwrap();
    fill(&store, corpus).await;
    let site = Site::new(store, Rules::default(), PasswordWorker::default());
    let settings =
        SearchSettings { is_on: true, folder: Some(folder.join("index")), ..SearchSettings::default() };
    let before = own_memory();
    let searching = Searching::open(&settings).unwrap();
    let began = Instant::now();
    following::make(&site, &searching, Timestamp(NOW as u64)).await.unwrap();
    let build = began.elapsed();
    searching.index.merge_all().unwrap();
    let cut = Arc::new(AtomicUsize::new(0));
    let search = {
        let (searching, cut) = (searching.clone(), cut.clone());
        move |query: &Query| {
            let search = Search::parse(&query.typed, NOW).unwrap();
            let question = Question {
                kind: Some(if query.is_for_comments { Kind::Comment } else { Kind::Story }),
                page: (0, 40),
                ..Question::of(&search, NOW, Instant::now() + PATIENCE)
            };
            let found = searching.index.view.find(&question).unwrap();
            if found.total == 0 {
                searching.index.view.instead(&question).unwrap();
            }
            cut.fetch_add(usize::from(found.is_cut), Ordering::Relaxed);
        }
    };
    let times = measured(&corpus.queries(), search);
    let memory = own_memory().saturating_sub(before);
    figures(build, (searching.index.view.bytes(), memory), times, cut.load(Ordering::Relaxed))
}

/// The times of searches on all threads together.
fn measured(queries: &[Query], search: impl Fn(&Query) + Send + Sync) -> Vec<Duration> {
    // Once, so that nothing is read for the first time.
    queries.iter().for_each(&search);
    let until = Instant::now() + SEARCHING;
    let run = |thread: usize| {
        let mut times = Vec::new();
        for query in queries.iter().cycle().skip(thread * queries.len() / THREADS) {
            let began = Instant::now();
            if began > until {
                break;
            }
            search(query);
            times.push(began.elapsed());
        }
        times
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

fn figures(build: Duration, (bytes, memory): (u64, u64), mut times: Vec<Duration>, cut: usize) -> Figures {
    times.sort_unstable();
    Figures {
        build,
        bytes,
        memory,
        searches: times.len() as u64 / SEARCHING.as_secs(),
        half: times[times.len() / 2],
        most: times[times.len() * 99 / 100],
        slowest: *times.last().unwrap(),
        cut,
    }
}

/// Writes the site as the program stores it, as far as search reads it.
async fn fill(store: &Store, corpus: &Corpus) {
    for stories in corpus.stories.chunks(STORIES_AT_ONCE) {
        let mut batch = Batch::new();
        for story in stories {
            let key = format!("news:{}", story.id);
            let (time, url) = (NOW as u64 - story.age, story.url.clone());
            let fields = [
                ("id", story.id.to_string()),
                ("title", story.title.clone()),
                ("url", url),
                ("user_id", "1".to_owned()),
                ("ctime", time.to_string()),
                ("score", story.votes.to_string()),
                ("rank", "1".to_owned()),
                ("up", story.votes.to_string()),
                ("down", "0".to_owned()),
                ("comments", story.comments.len().to_string()),
            ];
            fields.iter().for_each(|(field, value)| batch.set_field(&key, *field, value));
            for (id, body) in (1..).zip(&story.comments) {
                let body = serde_json::to_string(body).unwrap();
                let comment = format!(
                    r#"{{"body":{body},"ctime":{time},"user_id":1,"parent_id":-1,"score":1,"up":[1],"down":[]}}"#
                );
                batch.set_field(format!("thread:comment:{}", story.id), id.to_string(), comment);
            }
        }
        batch.set("news.count", stories.last().unwrap().id.to_string());
        batch.set("users.count", "0");
        store.commit(batch).await.unwrap();
    }
}

/// The same of SQLite, by a program of its own.
fn sqlite(folder: &Path, corpus: &Corpus) -> Option<Figures> {
    let (texts, queries) = (folder.join("texts"), folder.join("queries"));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&texts).unwrap());
    for story in &corpus.stories {
        writeln!(file, "story\t{}\t{}", story.title, story.text()).unwrap();
        story.comments.iter().for_each(|body| writeln!(file, "comment\t\t{body}").unwrap());
    }
    file.flush().unwrap();
    let lines: Vec<String> = corpus.queries().iter().map(Query::for_sqlite).collect();
    std::fs::write(&queries, lines.join("\n")).unwrap();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/search/sqlite/Cargo.toml");
    let database = folder.join("search.sqlite");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--locked", "--manifest-path", manifest, "--target-dir"])
        .arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/sqlite"))
        .arg("--")
        .args([&texts, &queries, &database])
        .arg(SEARCHING.as_secs().to_string())
        .stderr(std::process::Stdio::inherit())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let output = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = output.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [build, bytes, memory, searches, half, most, slowest] = numbers[..] else { panic!("{output}") };
    let time = Duration::from_micros;
    Some(Figures {
        build: time(build),
        bytes,
        memory,
        searches,
        half: time(half),
        most: time(most),
        slowest: time(slowest),
        cut: 0,
    })
}
