//! The embedded store when the program is killed: what was acknowledged is
//! there, and nothing is half there.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tidings_domain::Site;
use tidings_domain::accounts::signup::add_account;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::values::{Rules, Timestamp, Username};
use tidings_keyspace::Batch;
use tokio::sync::watch;

use crate::client::{Client, Fields, ok};
use crate::consistency::{self, Dump, hash, members};
use crate::deliveries::client;
use crate::program::{Program, dump_of, open_again};
use crate::rolling::add_accounts;
use crate::server::{dump, http_client};

const KILLS: usize = 20;
const CLIENTS: u64 = 6;
/// How long to wait for something that must happen.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A write that the site has acknowledged.
#[derive(Debug)]
enum Acknowledged {
    News(u64, String),
    Vote(u64, u64),
    Comment(u64, u64, String),
    Edit(u64, u64, String),
    Deletion(u64),
}

/// One client's stream of writes, until the connection breaks; answers what
/// was acknowledged, in order.
async fn write_until_killed(client: Client, round: usize, count: Arc<AtomicUsize>) -> Vec<Acknowledged> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let text = format!("round {round} user {} number {number}", client.user_id);
        let Some(item) = submit(&client, &text).await else { return acknowledged };
        acknowledged.push(Acknowledged::News(item, text.clone()));
        // A story of another client, so that clients conflict; story 1 always exists.
        let votes = [("news_id", "1"), ("vote_type", "up")];
        if number == 0
            && try_post(&client, "/api/votenews", &votes).await.is_some_and(|vote| vote["status"] == "ok")
        {
            acknowledged.push(Acknowledged::Vote(1, client.user_id));
        }
        let Some(comment) = post_comment(&client, 1, "-1", &text).await else { return acknowledged };
        acknowledged.push(Acknowledged::Comment(1, comment, text.clone()));
        let edited = format!("{text}, edited");
        if post_comment(&client, 1, &comment.to_string(), &edited).await.is_none() {
            // It may have been written all the same: nothing was promised.
            return acknowledged;
        }
        acknowledged.push(Acknowledged::Edit(1, comment, edited));
        if number % 5 == 4 {
            let deletion = [("news_id", &*item.to_string())];
            if try_post(&client, "/api/delnews", &deletion).await.is_none() {
                return acknowledged;
            }
            acknowledged.push(Acknowledged::Deletion(item));
        }
        count.fetch_add(1, Ordering::SeqCst);
    }
    acknowledged
}

/// The answer to a form; `None` when the site is gone.
async fn try_post(client: &Client, path: &str, fields: Fields<'_>) -> Option<Value> {
    let answer = client.try_post(path, fields).await?;
    Some(answer.json())
}

async fn submit(client: &Client, text: &str) -> Option<u64> {
    let answer =
        try_post(client, "/api/submit", &[("news_id", "-1"), ("title", text), ("text", text)]).await?;
    ok(answer)["news_id"].as_u64()
}

async fn post_comment(client: &Client, news: u64, comment: &str, text: &str) -> Option<u64> {
    let news = news.to_string();
    let fields = [("news_id", &*news), ("comment_id", comment), ("parent_id", "-1"), ("comment", text)];
    ok(try_post(client, "/api/postcomment", &fields).await?)["comment_id"].as_u64()
}

/// Everything that was acknowledged must be in the store.
fn check_acknowledged(dump: &Dump, acknowledged: &[Acknowledged]) {
    for write in acknowledged {
        match write {
            Acknowledged::News(id, text) => {
                let news = hash(dump, &format!("news:{id}"));
                assert_eq!(news.get("title"), Some(text), "{write:?}");
                assert_eq!(news.get("url"), Some(&format!("text://{text}")), "{write:?}");
            }
            Acknowledged::Vote(id, voter) => {
                assert!(members(dump, &format!("news.up:{id}")).contains(&voter.to_string()), "{write:?}");
            }
            // Its edit may have been written without an answer.
            Acknowledged::Comment(news, id, text) => {
                let body = body_of(dump, *news, *id);
                assert!(body.starts_with(text), "{write:?}: {body}");
            }
            Acknowledged::Edit(news, id, text) => assert_eq!(body_of(dump, *news, *id), *text),
            Acknowledged::Deletion(id) => {
                assert_eq!(hash(dump, &format!("news:{id}"))["del"], "1", "{write:?}");
            }
        }
    }
}

/// The text of a comment that must be there.
fn body_of(dump: &Dump, news: u64, comment: u64) -> String {
    let thread = hash(dump, &format!("thread:comment:{news}"));
    let json = thread.get(&comment.to_string()).unwrap_or_else(|| panic!("no comment {news}-{comment}"));
    let comment: Value = serde_json::from_str(json).unwrap();
    comment["body"].as_str().unwrap().to_owned()
}

/// How many writes to let pass before each kill, and how many microseconds more.
fn moments() -> Vec<(usize, u64)> {
    let moment = (1..40_usize, 0..20_000_u64);
    proptest::collection::vec(moment, KILLS).new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_kill_during_a_stream_of_writes_every_acknowledged_write_is_there_and_none_is_half_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let url = format!("redb:{}", path.display());
    add_accounts(&url, CLIENTS).await;
    let mut acknowledged = Vec::new();
    for (round, (writes, microseconds)) in moments().into_iter().enumerate() {
        let mut program = Program::start(&url);
        let clients: Vec<Client> = (1..=CLIENTS).map(|id| client(&program, id)).collect();
        if round == 0 {
            assert_eq!(submit(&clients[0], "The first").await, Some(1));
            acknowledged.push(Acknowledged::News(1, "The first".to_owned()));
        }
        let count = Arc::new(AtomicUsize::new(0));
        let streams: Vec<_> = clients
            .into_iter()
            .map(|client| tokio::spawn(write_until_killed(client, round, count.clone())))
            .collect();
        let deadline = Instant::now() + TIMEOUT;
        while count.load(Ordering::SeqCst) < writes {
            assert!(Instant::now() < deadline, "no {writes} writes within {TIMEOUT:?}");
            tokio::task::yield_now().await;
        }
        // Not synchronisation: a moment of its own for every kill.
        tokio::time::sleep(Duration::from_micros(microseconds)).await;
        program.kill();
        for stream in streams {
            acknowledged.extend(stream.await.unwrap());
        }

        let dump = dump_of(&path).await;
        check_acknowledged(&dump, &acknowledged);
        consistency::check(&dump);
    }
    assert!(acknowledged.len() > KILLS * 10, "{}", acknowledged.len());
}

/// A moderator's stream of actions on the stories 1 to 6, until the connection breaks; answers the
/// last line of the log that was acknowledged, and tells of each.
async fn moderate_until_killed(moderator: Client, round: u64, told: watch::Sender<u64>) -> u64 {
    let (mut last, mut number) = (0, round);
    loop {
        told.send(last).ok();
        number += 1;
        let (story, into) = ((number % 5 + 1).to_string(), (number % 6 + 1).to_string());
        let action = ["remove", "merge", "split", "restore", "lock", "unlock"]
            [usize::try_from(number * 7 / 3 % 6).unwrap()];
        let fields =
            [("action", action), ("kind", "story"), ("id", &*story), ("reason", "r"), ("into", &*into)];
        let Some(answer) = try_post(&moderator, "/api/moderate", &fields).await else { return last };
        last = answer["moderation_id"].as_u64().unwrap_or(last);
        if number % 3 == 0 {
            let undo = [("moderation_id", &*last.to_string()), ("reason", "r")];
            let Some(answer) = try_post(&moderator, "/api/moderate/undo", &undo).await else { return last };
            last = answer["moderation_id"].as_u64().unwrap_or(last);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_of_a_moderator_that_is_killed_has_its_line_and_its_effect_or_neither() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let url = format!("redb:{}", path.display());
    add_accounts(&url, CLIENTS).await;
    let store = open_again(&path).await;
    store.commit(Batch::of(|batch| batch.set_field("user:1", "flags", "m"))).await.unwrap();
    store.close().await;
    let mut acted = 0;
    for round in 0..10_u64 {
        let mut program = Program::start(&url);
        if round == 0 {
            for author in [2, 3, 4, 5, 6, 2] {
                let title = format!("Story of {author}");
                let fields = [("news_id", "-1"), ("title", &*title), ("text", "text"), ("topics", "rust")];
                let answer = client(&program, author).api_post("/api/submit", &fields).await;
                // Some may only submit once in a while.
                assert!(answer["status"] == "ok" || author == 2, "{answer}");
            }
        }
        let (told, mut lines) = watch::channel(0);
        let moderating = tokio::spawn(moderate_until_killed(client(&program, 1), round, told));
        lines.wait_for(|last| *last > acted).await.unwrap();
        // Not synchronisation: a moment of its own for every kill.
        tokio::time::sleep(Duration::from_millis(round * 23)).await;
        program.kill();
        let last = moderating.await.unwrap();
        let dump = dump_of(&path).await;
        consistency::check(&dump);
        assert!(last == 0 || dump.contains_key(&format!("moderation:{last}")), "line {last}");
        acted = acted.max(last);
    }
    assert!(acted >= 10, "only {acted} lines");
}

/// A store file with an administrator's session and a voter of 3000 votes.
async fn prepare_ban(path: &Path) -> Client {
    let store = open_again(path).await;
    let site = Site::new(store.clone(), Rules::default(), PasswordWorker::default());
    let name = Username::parse("admin").unwrap();
    let id = add_account(&site, Timestamp(1_800_000_000), &name).await.unwrap();
    let mut batch = Batch::new();
    let token = "a".repeat(40);
    // A session of Lamer News does not expire by the clock of the servers to come.
    batch.set_fields(format!("user:{id}"), [("flags", "a"), ("auth", &token)]);
    batch.set(format!("auth:{token}"), id.to_string());
    batch.set_fields(format!("voter:{VOTER}"), [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
    for key in ["day:2027-01-15:voters:sum", "day:2027-01-15:voters:count"] {
        batch.sorted_add(key, VOTER, 3_000.0);
    }
    for number in 0..3_000 {
        let host = format!("site{number}.example");
        batch.set_fields(format!("link:{host}"), [("sum_of_votes", "1"), ("count_of_votes", "1")]);
        batch.set_field(format!("link:{host}:votes"), VOTER, "+1 2027-01-15T08:00:00Z");
        // Half of the votes are older than networks.
        if number % 2 == 0 {
            batch.set_field(format!("link:{host}:origins"), VOTER, "192.0.2.0/24");
            batch.set_field(format!("link:{host}:networks"), "192.0.2.0/24", "1");
        }
        batch.sorted_add(format!("voter:{VOTER}:votes"), &host, 1_800_000_000.0);
        batch.add_member(format!("prefix:{}", &hex::encode(Sha256::digest(&host))[..4]), &host);
        for key in ["links:sum", "links:count", "day:2027-01-15:links:sum", "day:2027-01-15:links:count"] {
            batch.sorted_add(key, &host, 1.0);
        }
    }
    store.commit(batch).await.unwrap();
    let prepared = dump(&store).await;
    consistency::check(&prepared);
    let user = hash(&prepared, &format!("user:{id}"));
    store.close().await;
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
    Client::new(http_client(), nowhere).with_secrets(Some(&user["auth"]), Some(&user["apisecret"]))
}

const VOTER: &str = "01010101-0101-4101-8101-010101010101";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ban_that_is_killed_is_exact_at_every_moment_and_is_finished_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let url = format!("redb:{}", path.display());
    let admin = prepare_ban(&path).await;
    let mut interrupted = 0;
    for kill in 0..40_u64 {
        let mut program = Program::start(&url);
        let client = admin.at(program.address);
        let call = if kill % 2 == 0 { "/api/sites/admin/ban" } else { "/api/sites/admin/unban" };
        let asked = tokio::spawn(async move { client.try_post(call, &[("user_id", VOTER)]).await.is_some() });
        // Not synchronisation: a moment of its own for every kill.
        tokio::time::sleep(Duration::from_millis(15 + kill * 12)).await;
        program.kill();
        asked.await.unwrap();

        let killed = dump_of(&path).await;
        consistency::check(&killed);
        interrupted += usize::from(killed.contains_key("sites:unfinished"));
        if interrupted == 4 {
            break;
        }
    }
    assert!(interrupted > 0, "no kill hit a ban");
    let program = Program::start(&url);
    let client = admin.at(program.address);
    ok(client.api_post("/api/sites/admin/unban", &[("user_id", VOTER)]).await);
    let path_of_voter = format!("/api/sites/admin/voter/{VOTER}");
    tidings_testing::until(async || client.api_get(&path_of_voter).await["voter"]["is_banned"] == false)
        .await;
    drop(program);
    let dump = dump_of(&path).await;
    consistency::check(&dump);
    assert_eq!(members(&dump, "links:sum").len(), 3_000);
    assert!(!dump.contains_key("sites:unfinished"));
}
