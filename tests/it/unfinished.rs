//! A job that is not finished says so, is not served, and can be begun again: commands that are killed before each of some
//! of their writes, on both engines.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tidings::backup::{restore, take};
use tidings_domain::migrations;
use tidings_domain::supervision::steps::ENDS_BEFORE;
use tidings_keyspace::{Store, StoreOptions, Value};

use crate::community::Community;
use crate::original;
use crate::program::{Program, serve_command, serve_existing_command, succeed};
use crate::redis_commands::RedisCommands;
use crate::redis_server::RedisServer;
use crate::server::{Engine, Server, dump, http_client};

/// How many of the writes of a command it is killed before.
const KILLS: u64 = 20;
/// The signal that a process ends with that is killed.
const ABORTED: i32 = 6;

/// Where commands work: a folder, and a Redis database.
struct Bench {
    folder: tempfile::TempDir,
    redis: RedisServer,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), redis: RedisServer::start() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// An empty place for a store on each engine, the file with this name.
    fn fresh(&self, engine: Engine, name: u64) -> String {
        match engine {
            Engine::Memory | Engine::File => {
                let folder = self.folder.path().join(name.to_string());
                std::fs::create_dir(&folder).unwrap();
                format!("redb:{}", folder.join("site.redb").display())
            }
            Engine::Redis => {
                assert_eq!(self.redis.send(b"FLUSHALL").trim(), "+OK");
                self.redis.url()
            }
        }
    }

    /// A backup of a small community.
    async fn backup(&self) -> String {
        let server = Server::start(Engine::Memory, &[]).await;
        migrations::begin_new(server.store()).await.unwrap();
        let Community { server, .. } = Community::on(server).await;
        server.finish_jobs().await;
        let file = self.path("site.backup");
        take::to_file(server.store(), file.clone().into(), Box::new(|_, _| {})).await.unwrap();
        server.stop().await;
        file
    }
}

/// The program with these words, killed before a step or never.
fn command(words: &[&str], before: Option<u64>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(words).stdin(Stdio::null());
    kill_before(&mut command, before);
    command
}

fn kill_before(command: &mut Command, before: Option<u64>) {
    before.into_iter().for_each(|step| {
        command.env(ENDS_BEFORE, step.to_string());
    });
}

fn tidings(words: &[&str], before: Option<u64>) -> Output {
    command(words, before).output().unwrap()
}

fn was_killed(output: &Output) -> bool {
    output.status.signal() == Some(ABORTED)
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// Runs something until it is not killed, then spreads twenty kills over its steps. `run` gets a number of its own,
/// and the step, and says whether it was killed.
async fn at_twenty_moments(mut run: impl AsyncFnMut(u64, u64) -> bool) {
    let (mut number, mut last) = (0, 1);
    let mut steps = BTreeSet::new();
    loop {
        let killed = run(number, last).await;
        steps.insert(last);
        number += 1;
        if !killed {
            break;
        }
        last *= 2;
    }
    assert!(number > 3, "it has no steps");
    // All of few; else a different remainder for each, so that they do not fall on the same kind of step.
    let spread = (1..KILLS).map(|part| part * (last / 2) / KILLS + part % 3);
    let others: BTreeSet<u64> = if last < 2 * KILLS { (1..last).collect() } else { spread.collect() };
    for step in others.into_iter().filter(|step| *step > 0 && !steps.contains(step)) {
        run(number, step).await;
        number += 1;
    }
    assert!(number >= KILLS.min(last), "only {number} moments of {last}");
}

async fn content(url: &str) -> BTreeMap<String, Value> {
    let store = Store::open(url, &StoreOptions::default()).await.unwrap();
    let content = dump(&store).await;
    store.close().await;
    content
}

/// After a kill: nobody uses the store, and the message names the command; or nothing is there yet, or all is.
async fn demand_refused_or_whole(url: &str, names: &str, whole: &BTreeMap<String, Value>) -> bool {
    let listed = tidings(&["user", "list", "--store", url], None);
    if listed.status.success() {
        assert_eq!(content(url).await, *whole);
        return true;
    }
    let refusals = [names, "there is no store at", "there is no site in", "no such file"];
    for output in [listed, serve_existing_command(url, &[]).output().unwrap()] {
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(refusals.iter().any(|refusal| said.contains(refusal)), "{said}");
        assert!(!said.contains("damaged"), "{said}");
    }
    false
}

const ENGINES: [Engine; 2] = [Engine::File, Engine::Redis];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_that_is_killed_is_not_served_and_begins_again() {
    let bench = Bench::new();
    let file = bench.backup().await;
    let whole = content_of_backup(&file).await;
    for engine in ENGINES {
        at_twenty_moments(async |number, step| {
            let url = bench.fresh(engine, number + 100 * u64::from(matches!(engine, Engine::Redis)));
            let words = ["restore", &file, "--store", &url];
            let killed = was_killed(&tidings(&words, Some(step)));
            if !demand_refused_or_whole(&url, "`tidings restore", &whole).await {
                succeed(&words);
            }
            assert_eq!(content(&url).await, whole, "step {step}");
            killed
        })
        .await;
    }
}

async fn content_of_backup(file: &str) -> BTreeMap<String, Value> {
    let store = Store::in_memory().await.unwrap();
    restore::write_unverified(&store, Path::new(file), 0, |_, _| {}).await.unwrap();
    dump(&store).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_killed_is_not_served_and_begins_again_without_overwrite() {
    let bench = Bench::new();
    let from = format!("redb:{}", bench.path("from.redb"));
    succeed(&["restore", &bench.backup().await, "--store", &from]);
    let whole = content(&from).await;
    for engine in ENGINES {
        at_twenty_moments(async |number, step| {
            let url = bench.fresh(engine, number);
            let words = ["copy", &from, &url];
            let killed = was_killed(&tidings(&words, Some(step)));
            if !demand_refused_or_whole(&url, "`tidings copy", &whole).await {
                // The second store keeps nothing that the first no longer has.
                succeed(&words);
            }
            assert_eq!(content(&url).await, whole, "step {step}");
            killed
        })
        .await;
    }
}

#[tokio::test]
async fn a_copy_that_begins_again_leaves_nothing_of_the_first_attempt() {
    let bench = Bench::new();
    let from = format!("redb:{}", bench.path("from.redb"));
    succeed(&["restore", &bench.backup().await, "--store", &from]);
    for engine in ENGINES {
        // Killed when it has written keys, and not ended.
        let mut step = 1;
        let url = loop {
            let url = bench.fresh(engine, step);
            if was_killed(&tidings(&["copy", &from, &url], Some(step)))
                && content(&url).await.len() > 1
                && content(&url).await.contains_key("restore:unfinished")
            {
                break url;
            }
            step += 1;
            assert!(step < 200);
        };
        let words = ["copy", &*from, &url];
        let store = Store::open(&url, &StoreOptions::default()).await.unwrap();
        let mut batch = tidings_keyspace::Batch::new();
        batch.set("news.count", "77");
        batch.set("left.over", "x");
        store.commit(batch).await.unwrap();
        store.close().await;
        drop(store);
        succeed(&words);
        assert_eq!(content(&url).await, content(&from).await);
    }
}

/// An archive with people, stories and comments.
fn archive() -> String {
    let time = 1_400_000_000;
    let line = |number: u64| {
        let person = number % 9;
        format!(
            "{{\"id\": {number}, \"type\": \"story\", \"by\": \"person{person}\", \"time\": {}, \"title\": \"Story {number}\", \
             \"url\": \"https://site{person}.example/{number}\", \"score\": {person}}}\n\
             {{\"id\": {}, \"type\": \"comment\", \"by\": \"other{person}\", \"time\": {}, \"parent\": {number}, \"text\": \"Text\"}}\n",
            time + number,
            number + 10_000,
            time + number + 1,
        )
    };
    (1..=200).map(line).collect()
}

/// The parts of an import that are alike each time: how many keys of each kind there are, and the titles. Numbers that were
/// drawn for what was not written are not drawn again, and secrets are drawn anew, when they are needed.
async fn imported(url: &str) -> (BTreeMap<String, usize>, BTreeSet<String>) {
    let (mut kinds, mut titles) = (BTreeMap::new(), BTreeSet::new());
    for (key, value) in content(url).await {
        let kind = key.split(':').next().unwrap();
        if let (Value::Hash(fields), "news") = (&value, kind) {
            titles
                .extend(fields.iter().filter(|(field, _)| field == "title").map(|(_, title)| title.clone()));
        }
        if !["changes", "networks", "signing.key", "usernames.folded"].contains(&kind) {
            *kinds.entry(kind.to_owned()).or_insert(0) += 1;
        }
    }
    (kinds, titles)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_that_is_killed_is_not_served_and_goes_on() {
    let bench = Bench::new();
    let file = bench.path("items.jsonl");
    std::fs::write(&file, archive()).unwrap();
    for engine in ENGINES {
        let url = bench.fresh(engine, 1_000);
        succeed(&["import", "hn", &file, "--create", "--store", &url]);
        let whole = imported(&url).await;
        at_twenty_moments(async |number, step| {
            let url = bench.fresh(engine, number);
            let words = ["import", "hn", &file, "--create", "--store", &url];
            let killed = was_killed(&tidings(&words, Some(step)));
            let listed = tidings(&["user", "list", "--store", &url], None);
            if !listed.status.success() {
                let said = said(&listed);
                let refusals = ["`tidings import hn", "there is no store at", "there is no site in"];
                assert!(refusals.iter().any(|refusal| said.contains(refusal)), "{said}");
                let served = serve_existing_command(&url, &[]).output().unwrap();
                assert_eq!(served.status.code(), Some(1), "{served:?}");
                succeed(&words);
            }
            assert_eq!(imported(&url).await, whole, "step {step}");
            succeed(&["check", "store", "--store", &url]);
            killed
        })
        .await;
    }
}

/// A database of Lamer News on an engine.
async fn lamer_news(bench: &Bench, engine: Engine, number: u64) -> String {
    let url = bench.fresh(engine, number);
    match engine {
        Engine::Redis => original::fill(&mut RedisCommands::connect(&bench.redis).await).await,
        Engine::Memory | Engine::File => {
            let template = bench.path("original.redb");
            if !Path::new(&template).exists() {
                let database = original::database().await;
                succeed(&["copy", &database.url(), &format!("redb:{template}")]);
            }
            std::fs::copy(template, url.strip_prefix("redb:").unwrap()).unwrap();
        }
    }
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_is_killed_goes_on_and_ends_with_a_clean_check() {
    let bench = Bench::new();
    for engine in ENGINES {
        at_twenty_moments(async |number, step| {
            let url = lamer_news(&bench, engine, number).await;
            let words = ["check", "store", "--store", &url];
            let killed = was_killed(&tidings(&words, Some(step)));
            assert!(succeed(&words).contains("no differences"), "step {step}");
            let content = content(&url).await;
            assert!(content.contains_key("host.news:example.com"), "step {step}: {:?}", content.keys());
            killed
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_killed_leaves_no_file_of_its_name_and_begins_again() {
    let bench = Bench::new();
    let backup = bench.backup().await;
    for engine in ENGINES {
        let url = bench.fresh(engine, 1_000);
        succeed(&["restore", &backup, "--store", &url]);
        let whole = content(&url).await;
        at_twenty_moments(async |number, step| {
            let file = bench.path(&format!("{number}-{}.backup", url.len()));
            let words = ["backup", &file, "--store", &url];
            let killed = was_killed(&tidings(&words, Some(step)));
            if !Path::new(&file).exists() {
                succeed(&words);
            }
            restore::verify(Path::new(&file), |_| {}).unwrap();
            assert_eq!(content_of_backup(&file).await, whole, "step {step}");
            killed
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_index_whose_making_is_killed_is_made_by_the_next_start() {
    let bench = Bench::new();
    let backup = bench.backup().await;
    for engine in ENGINES {
        let url = bench.fresh(engine, 1_000);
        succeed(&["restore", &backup, "--store", &url]);
        at_twenty_moments(async |number, step| {
            let folder = bench.path(&format!("index-{}-{number}", url.len()));
            let settings = [("TIDINGS_SEARCH__ENABLED", "true"), ("TIDINGS_SEARCH__FOLDER", &*folder)];
            let killed = {
                let mut killed = serve_command(&url, &settings);
                kill_before(&mut killed, Some(step));
                let mut process = killed.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
                // It is killed, or is ready, which a step far away is enough for.
                let log = std::io::BufReader::new(process.stderr.take().unwrap());
                let mut lines = std::io::BufRead::lines(log).map_while(Result::ok);
                let is_ready = lines.any(|line| line.contains("the search index is complete"));
                if is_ready {
                    process.kill().unwrap();
                }
                process.wait().unwrap();
                !is_ready
            };
            let program = Program::start_with(&url, &settings);
            let site = format!("http://{}/api/search?q=answer&kind=comments", program.address);
            crate::program::wait_until("a result", || {
                let site = site.clone();
                let found = tokio::task::block_in_place(|| {
                    tokio::runtime::Handle::current().block_on(async {
                        http_client().get(&site).send().await.unwrap().text().await.unwrap()
                    })
                });
                found.contains("An answer").then_some(())
            });
            killed
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_whose_creation_is_killed_is_none_or_a_new_one() {
    let bench = Bench::new();
    at_twenty_moments(async |number, step| {
        let url = bench.fresh(Engine::File, number);
        let words = ["create", "--store", &url];
        let killed = was_killed(&tidings(&words, Some(step)));
        succeed(&words);
        assert_eq!(content(&url).await.len(), 1, "step {step}");
        killed
    })
    .await;
    // As earlier versions left it, killed when they had just made the file.
    let url = bench.fresh(Engine::File, 1_000);
    std::fs::write(url.strip_prefix("redb:").unwrap(), "").unwrap();
    let refused = tidings(&["user", "list", "--store", &url], None);
    assert!(
        said(&refused).contains("there is no store") || said(&refused).contains("no such file"),
        "{refused:?}"
    );
    succeed(&["restore", &bench.backup().await, "--store", &url]);
}

/// Commands on a store that has never been served, and whether they bring it to the present layout. `FILE` is a file
/// that there is not yet.
const COMMANDS: &[(&[&str], bool)] = &[
    (&["import", "hn", "ITEMS"], true),
    (&["import", "links", "LINKS"], true),
    (&["import", "sites", "SITES"], true),
    (&["export", "site", "FILE"], true),
    (&["compact"], false),
    (&["backup", "FILE"], false),
    (&["check", "store"], true),
    (&["check", "articles"], true),
    (&["check", "timelines"], true),
    (&["check", "votes"], true),
    (&["site", "move", "old.example.com", "news.example.org"], true),
    (&["user", "add", "dave"], true),
    (&["user", "list"], true),
    (&["user", "promote", "Bob"], true),
    (&["user", "demote", "Bob"], true),
    (&["user", "moderator", "Bob"], true),
    (&["user", "harden"], true),
    (&["user", "remove-two-factor", "Bob"], true),
    (&["user", "password", "Bob"], true),
    (&["moderate", "remove", "story", "1", "--as", "Antirez", "--reason", "Spam."], true),
    (&["status"], false),
    (&["search", "status"], true),
    (&["create"], false),
];
/// Commands that have no store, or make their own, or have tests of their own here: serve, copy, restore.
const OTHERS: [&str; 9] = ["serve", "demo", "config", "copy", "erase", "restore", "mail", "help", "generate"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_brings_a_store_of_lamer_news_to_the_present_layout_or_leaves_it_as_it_is() {
    let bench = Bench::new();
    std::fs::write(bench.path("ITEMS"), archive().lines().next().unwrap()).unwrap();
    std::fs::write(
        bench.path("LINKS"),
        "id,title,url,num_points,author,created_at\n1,One,http://a.example/,3,jo,1470325920\n",
    )
    .unwrap();
    std::fs::write(bench.path("SITES"), "host,votes\nexample.org,3\n").unwrap();
    let help = succeed(&["--help"]);
    let listed = help.split_once("Commands:").unwrap().1.split_once("Options:").unwrap().0;
    let listed: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    for name in listed.into_iter().filter(|name| !name.is_empty()) {
        assert!(OTHERS.contains(&name) || COMMANDS.iter().any(|(words, _)| words[0] == name), "{name}");
    }
    for engine in ENGINES {
        for ((words, brings), number) in COMMANDS.iter().zip(0..) {
            let url = lamer_news(&bench, engine, number).await;
            let before = content(&url).await;
            let file = bench.path(&format!("{}-{number}", url.len()));
            let paths = words.iter().map(|word| match *word {
                "FILE" => file.clone(),
                "ITEMS" | "LINKS" | "SITES" => bench.path(word),
                word => word.to_owned(),
            });
            let mut process = Command::new(env!("CARGO_BIN_EXE_tidings"))
                .args(paths)
                .args(["--store", &url])
                .env("TIDINGS_SITE__URL", "https://old.example.com")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            std::io::Write::write_all(&mut process.stdin.take().unwrap(), b"swordfish and more 12\n").ok();
            let output = process.wait_with_output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {}", said(&output));
            let after = content(&url).await;
            if !brings {
                assert_eq!(after, before, "{words:?}: {}", said(&output));
                continue;
            }
            let layout = Value::String(migrations::LAYOUT_VERSION.to_string());
            assert_eq!(after.get("layout:version"), Some(&layout), "{words:?}: {}", said(&output));
            let Some(Value::Hash(site)) = after.get("site") else { panic!("{words:?}: {}", said(&output)) };
            assert!(site.iter().all(|(field, _)| field != "incomplete"), "{words:?}: {}", said(&output));
            if words[0] == "export" {
                let zip = std::fs::read(&file).unwrap();
                assert!(zip.len() > 500 && said(&output).contains("lines"), "{}", said(&output));
                assert!(!said(&output).contains("exported 0 lines"), "{}", said(&output));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_move_of_a_lamer_news_database_ends_with_a_clean_check() {
    let bench = Bench::new();
    let database = original::database().await;
    let moved = format!("redb:{}", bench.path("tidings.redb"));
    succeed(&["copy", &database.url(), &moved]);
    for url in [moved, database.url()] {
        let mut program = Program::start(&url);
        program.wait_for_log("making the lists that Lamer News did not have");
        program.wait_for_log("the site has all lists that Lamer News did not have");
        let stories = format!("http://{}/site/example.com/stories/0", program.address);
        let page = http_client().get(&stories).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("An original link"), "{page}");
        let checked = succeed(&["check", "store", "--store", &url]);
        assert!(checked.contains("no differences"), "{checked}");
        program.signal("-TERM");
        assert!(program.wait().success());
        assert!(succeed(&["check", "store", "--store", &url]).contains("no differences"));
        // It is done once.
        let again = Program::start(&url);
        again.wait_for_log("serving");
        assert!(!again.log().contains("making the lists"), "{}", again.log());
    }
}
