//! `tidings check store` through the socket of a running server, while people use the site.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};
use tidings_keyspace::Batch;
use tokio::task::JoinHandle;

use crate::client::{Client, ok};
use crate::program::{Program, open_again};

/// All people of the test have one address.
pub(super) const SETTINGS: &[(&str, &str)] = &[
    ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"),
    ("TIDINGS_LIMITS__NEW_VOTERS_PER_DAY", "0"),
    ("TIDINGS_LIMITS__SITE_VOTES_PER_NETWORK", "0"),
];
const PEOPLE: usize = 4;
const STORIES: u64 = 12;

/// A site on which everybody can vote as often as they like.
pub(super) async fn prepared(path: &Path) -> Vec<Client> {
    let url = format!("redb:{}", path.display());
    let settings =
        [("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"), ("TIDINGS_LIMITS__SIGNUPS_PER_NETWORK", "0")];
    let program = Program::start_with(&url, &settings);
    let mut people = Vec::new();
    for number in 0..PEOPLE {
        let visitor = program.visitor();
        people.push(visitor.register(&format!("person-{number}")).await);
    }
    for number in 0..STORIES {
        people[0].submit_text(&format!("Story {number}"), "text").await;
    }
    program.stop();
    change(path, |batch| {
        (1..=PEOPLE).for_each(|id| batch.set_field(format!("user:{id}"), "karma", "1000000"));
    })
    .await;
    people
}

/// Changes the store of a program that does not run.
async fn change(path: &Path, fill: impl FnOnce(&mut Batch)) {
    let store = open_again(path).await;
    let mut batch = Batch::new();
    fill(&mut batch);
    store.commit(batch).await.unwrap();
    store.close().await;
}

/// Votes, takes votes back, comments and follows until it is told to stop.
async fn use_the_site(person: Client, number: usize, is_over: Arc<AtomicBool>, done: Arc<AtomicU64>) {
    let other = format!("person-{}", (number + 1) % PEOPLE);
    for turn in number as u64.. {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        let story = turn % STORIES + 1;
        // A vote on one's own story, or a second one, is refused.
        person.vote(story, "up").await;
        person.vote(story, "none").await;
        ok(person.api_post("/api/sites/vote", &[("link", "example.com"), ("vote", "1")]).await);
        ok(person.api_post("/api/sites/vote", &[("link", "example.com"), ("vote", "0")]).await);
        if turn % 4 == 0 {
            person.comment(story, "words").await;
            person.tweet(&format!("words for @{other}")).await;
            person.api_post("/api/follow", &[("username", &other)]).await;
        }
        assert_eq!(person.get("/").await.status, 200);
        done.fetch_add(1, Ordering::SeqCst);
    }
}

/// People who use a site until they are stopped.
pub(super) struct Load {
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    users: Vec<JoinHandle<()>>,
}

impl Load {
    pub(super) fn start(program: &Program, people: Vec<Client>) -> Self {
        let (is_over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let start = |(number, person): (usize, Client)| {
            let person = person.at(program.address);
            tokio::spawn(use_the_site(person, number, is_over.clone(), done.clone()))
        };
        let users = people.into_iter().enumerate().map(start).collect();
        Self { is_over, done, users }
    }

    /// How many rounds of their actions they have done together.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// Stops them. Returns what they had done before.
    pub(super) async fn stop(self) -> u64 {
        let done = self.done();
        self.is_over.store(true, Ordering::SeqCst);
        for user in self.users {
            user.await.unwrap();
        }
        done
    }
}

/// `tidings check store` beside the running server.
pub(super) async fn check_store(path: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["check", "store", "--store", &format!("redb:{}", path.display())]).args(options);
    command.stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[track_caller]
pub(super) fn demand_nothing_found(output: &Output) {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(report, json!({"differences": []}));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_beside_a_server_under_load_finds_only_what_differs_and_the_site_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let people = prepared(&path).await;
    // Something that really differs, and something that needs a person.
    change(&path, |batch| {
        batch.sorted_remove("news.cron", "1");
        batch.sorted_add("user:1:hidden", "777", 5.0);
    })
    .await;
    let program = Program::start_with(&format!("redb:{}", path.display()), SETTINGS);
    let load = Load::start(&program, people);

    let looked = check_store(&path, &[]).await;
    let text = String::from_utf8(looked.stdout).unwrap();
    let totals = "2 differences, of which 1 will be mended with --repair, 1 needs a person";
    assert!(text.contains(totals), "{text}");
    assert_eq!(looked.status.code(), Some(1));
    let mended = check_store(&path, &["--repair"]).await;
    let text = String::from_utf8(mended.stdout).unwrap();
    assert!(text.contains("2 differences, of which 1 mended, 1 needs a person"), "{text}");
    assert_eq!(mended.status.code(), Some(1));
    let again = check_store(&path, &["--repair", "--json"]).await;
    let report: Value = serde_json::from_slice(&again.stdout).unwrap();
    let differences = report["differences"].as_array().unwrap();
    assert_eq!((differences.len(), &differences[0]["key"]), (1, &"user:1:hidden".into()), "{report}");
    let repair = differences[0]["repair"].as_str().unwrap();
    assert!(repair.starts_with("needs a person: remove the member"), "{repair}");

    assert!(load.stop().await > 0, "the site was served during the checks");
    program.stop();
    change(&path, |batch| batch.sorted_remove("user:1:hidden", "777")).await;
    demand_nothing_found(&check_store(&path, &["--json"]).await);
}
