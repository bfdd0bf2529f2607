//! The index follows the store: votes, other programs, kills, and the commands of the operator.

use super::{ON, finds, names, search};
use crate::client::{Client, ok};
use crate::program::{Program, serve_command};
use crate::server::{Engine, Server, each_engine, in_memory};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

#[each_engine("change feed", &ON)]
async fn votes_and_comments_count_in_searches_soon_after_they_are_cast(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    let story = alice.submit_text("A needle", "hay").await;
    alice.submit_text("Another needle", "hay").await;
    ok(bob.vote(story, "up").await);
    let comment = alice.comment(story, "needlework").await;
    ok(bob.vote_comment(story, comment, "up").await);
    ok(bob.api_post("/api/sites/vote", &[("link", "needle.example"), ("vote", "1")]).await);
    let visitor = server.visitor();
    finds(&visitor, "q=needle+votes:2", &["A needle"]).await;
    finds(&visitor, "q=needle+comments:1", &["A needle"]).await;
    finds(&visitor, "q=needlework+votes:2&kind=comments", &["needlework"]).await;
    finds(&visitor, "q=needle&kind=sites", &["needle.example"]).await;
    assert_eq!(names(&search(&visitor, "q=needle&sort=votes").await), ["A needle", "Another needle"]);
}

#[tokio::test]
async fn what_another_program_writes_is_found() {
    let server = Server::start(Engine::Redis, &ON).await;
    server.register("alice").await.submit_text("A story", "text").await;
    finds(&server.visitor(), "q=story", &["A story"]).await;
    let client = redis::Client::open(server.redis.as_ref().unwrap().url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    // As Lamer News writes a story and a comment.
    let comment =
        r#"{"body":"Its needle","ctime":1500000000,"user_id":1,"parent_id":-1,"score":0,"up":[1],"down":[]}"#;
    for words in [
        "HSET news:2 id 2 title Needles url http://lamer.example/ user_id 1 ctime 1500000000 score 0 rank 0 up 0 down 0 comments 1",
        "SET news.count 2",
        "ZADD news.cron 1500000000 2",
    ] {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().unwrap());
        words.for_each(|word| _ = command.arg(word));
        command.query_async::<redis::Value>(&mut connection).await.unwrap();
    }
    let mut command = redis::cmd("HSET");
    command.arg("thread:comment:2").arg("1").arg(comment).arg("nextid").arg("1");
    command.query_async::<redis::Value>(&mut connection).await.unwrap();
    finds(&server.visitor(), "q=needle", &["Needles"]).await;
    finds(&server.visitor(), "q=needle&kind=comments", &["Its needle"]).await;
}

#[in_memory(&ON)]
async fn a_ban_that_ends_by_itself_ends_in_the_index_too(server: Server) {
    let alice = server.register("alice").await;
    server.member("bob").await;
    finds(&alice, "q=bob&kind=people", &["bob"]).await;
    ok(alice.moderate("ban", ("user", "bob"), &[("hours", "2")]).await);
    let banned = async |expected: usize| {
        let found = async || ok(alice.api_get("/api/moderate/people?state=banned").await);
        let is_so = async || found().await["people"].as_array().unwrap().len() == expected;
        tidings_testing::until(is_so).await;
    };
    banned(1).await;
    finds(&alice, "q=bob&kind=people", &[]).await;
    // Everything that was written until now has been compared: only the end of the ban can change the index.
    server.set_field("user:2", "karma", "9999").await;
    let first =
        async || ok(alice.api_get("/api/moderate/people?sort=karma&count=1").await)["people"][0].clone();
    tidings_testing::until(async || first().await["username"] == "bob").await;
    server.advance(2 * 3_600);
    finds(&alice, "q=bob&kind=people", &["bob"]).await;
    banned(0).await;
}

#[tokio::test]
async fn the_index_of_another_store_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index").display().to_string();
    let settings = [ON[0], ("search.folder", path.as_str())];
    let first = Server::start(Engine::Redis, &settings).await;
    let alice = first.register("alice").await;
    alice.submit_text("A story", "hay").await;
    alice.submit_text("A needle", "hay").await;
    finds(&first.visitor(), "q=needle", &["A needle"]).await;
    first.stop().await;
    // The other one has no second story, and has changed more often.
    let posting = Server::start(Engine::Redis, &[]).await;
    let alice = posting.register("alice").await;
    alice.submit_text("Another story", "hay").await;
    for number in 0..20 {
        alice.tweet(&format!("The post {number}")).await;
    }
    let second = Server::beside_with(&posting.redis.as_ref().unwrap().url(), &posting, &settings).await;
    finds(&second.visitor(), "q=story", &["Another story"]).await;
    assert_eq!(search(&second.visitor(), "q=needle").await["total"], 0);
    assert_eq!(search(&second.visitor(), "q=needel").await["suggestions"], serde_json::json!([]));
}

/// Milliseconds after which the server is killed.
const KILLED_AFTER: [u64; 6] = [30, 120, 400, 60, 800, 200];

/// Submits stories until the server is gone.
async fn submit_until_killed(client: Client, round: usize) {
    for number in 0.. {
        let title = format!("Needle {round} {number}");
        let story = [("news_id", "-1"), ("title", &*title), ("text", "text")];
        let Some(answer) = client.try_post("/api/submit", &story).await else { return };
        if number % 4 == 3 {
            let story = ok(answer.json())["news_id"].to_string();
            if client.try_post("/api/delnews", &[("news_id", &*story)]).await.is_none() {
                return;
            }
        }
    }
}

/// A store in a folder, with its index.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn store(&self) -> String {
        format!("redb:{}", self.0.path().join("site.redb").display())
    }

    fn index(&self) -> std::path::PathBuf {
        self.0.path().join("site.redb.search")
    }

    fn start(&self) -> Program {
        Program::start_command(serve_command(&self.store(), &[("TIDINGS_SEARCH__ENABLED", "true")]))
    }

    fn run(&self, command: &str) -> Output {
        let mut tidings = Command::new(env!("CARGO_BIN_EXE_tidings"));
        tidings.args(["search", command, "--store", &self.store()]).output().unwrap()
    }

    /// The output of `tidings search`.
    fn command(&self, command: &str) -> String {
        let ran = self.run(command);
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    }

    /// Waits until the index of a server has everything.
    async fn is_up_to_date(&self) -> String {
        loop {
            // There may be no index yet.
            let said = String::from_utf8(self.run("status").stdout).unwrap();
            if said.contains("up to date") {
                return said;
            }
            tidings_testing::pause().await;
        }
    }
}

/// The titles of all that a program finds.
async fn all_found(program: &Program) -> Vec<String> {
    let visitor = program.visitor();
    let mut found = Vec::new();
    for page in 1.. {
        let answer = search(&visitor, &format!("q=needle&page={page}")).await;
        found.extend(names(&answer));
        if page >= answer["pages"].as_u64().unwrap() {
            break;
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn an_index_that_was_killed_at_any_moment_catches_up_to_what_a_new_one_has() {
    let place = Place::new();
    let mut secrets: Option<(String, String)> = None;
    for (round, milliseconds) in KILLED_AFTER.into_iter().enumerate() {
        let mut program = place.start();
        let mut client = program.visitor();
        client = match &secrets {
            Some((auth, apisecret)) => client.with_secrets(Some(auth), Some(apisecret)),
            None => client.register("alice").await,
        };
        secrets = client.auth.clone().zip(client.apisecret.clone());
        let writing = tokio::spawn(submit_until_killed(client, round));
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        program.kill();
        writing.await.unwrap();
    }
    let mut program = place.start();
    place.is_up_to_date().await;
    // The status is that of the last look at the feed, which may have been before the last story.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let caught_up = all_found(&program).await;
    program.kill();
    std::fs::remove_dir_all(place.index()).unwrap();
    let program = place.start();
    place.is_up_to_date().await;
    assert_eq!(caught_up, all_found(&program).await);
    assert!(!caught_up.is_empty());
}

#[tokio::test]
async fn the_operator_sees_how_the_index_is_and_makes_it_anew() {
    let place = Place::new();
    let mut program = place.start();
    let alice = program.visitor().register("alice").await;
    alice.submit_text("A needle", "hay").await;
    finds(&alice, "q=needle", &["A needle"]).await;
    let said = place.command("rebuild");
    assert!(said.starts_with("the search index is new: 2 documents, "), "{said}");
    assert!(place.is_up_to_date().await.starts_with("2 documents, "));
    assert_eq!(names(&search(&alice, "q=needle").await), ["A needle"]);
    program.kill();
    // Without a server.
    let said = place.command("status");
    assert!(said.starts_with("2 documents, ") && said.ends_with("up to date\n"), "{said}");
    std::fs::remove_dir_all(place.index()).unwrap();
    let said = place.command("rebuild");
    assert!(said.starts_with("the search index is new: 2 documents, "), "{said}");
    demand_private(place.0.path());
    let shared = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.index(), shared).unwrap();
    let program = place.start();
    finds(&alice.at(program.address), "q=needle", &["A needle"]).await;
    demand_private(place.0.path());
}

/// Overwrites the middle of all files of an index with this ending. Returns whether there are some.
fn damage(folder: &Path, ending: &str) -> bool {
    let mut is_damaged = false;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            is_damaged |= damage(&path, ending);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            let length = file.metadata().unwrap().len();
            // The end says what kind of file it is.
            let (start, end) = (length / 8, length.saturating_sub(length / 8 + 120));
            std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(start)).unwrap();
            let bytes = vec![0xD5; usize::try_from(end.saturating_sub(start)).unwrap()];
            std::io::Write::write_all(&mut file, &bytes).unwrap();
            is_damaged |= !bytes.is_empty();
        }
    }
    is_damaged
}

#[tokio::test]
async fn a_damaged_index_is_made_anew_and_searches_say_so_meanwhile() {
    let place = Place::new();
    let mut program = place.start();
    let alice = program.visitor().register("alice").await;
    for number in 0..300 {
        alice
            .submit_text(&format!("Needle {number}"), &format!("hay of word{number} {}", "straw ".repeat(20)))
            .await;
    }
    place.is_up_to_date().await;
    let (mut damaged, mut rebuilt) = (0, 0);
    for ending in ["term", "idx", "pos", "store", "fast", "fieldnorm"] {
        for is_served in [true, false] {
            if !is_served {
                program.kill();
            }
            damaged += usize::from(damage(&place.index(), ending));
            if !is_served {
                program = place.start();
            }
            let visitor = program.visitor();
            let deadline = Instant::now() + Duration::from_secs(20);
            let mut good = 0;
            // Until it has found everything for a while.
            while good < 3 {
                assert!(Instant::now() < deadline, "{ending}: {}", program.log());
                let answer = visitor.get("/api/search?q=straw+needle&sort=votes").await;
                let text = String::from_utf8(answer.body.clone()).unwrap();
                let is_all = answer.status == 200 && text.contains("\"total\":300");
                good = if is_all { good + 1 } else { 0 };
                // 500 for a search that stumbles over the damage first.
                let is_said = matches!(answer.status.as_u16(), 200 | 429 | 500)
                    || text.contains("earch index is being made")
                    || text.contains("earch doesn't work");
                assert!(is_said, "{ending}: {} {text}", answer.status);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            rebuilt += program.log().matches("the search index is damaged; it is made anew").count();
        }
    }
    assert!(damaged >= 8 && rebuilt >= 4, "{damaged} {rebuilt}");
    drop(program);
}

/// Checks that nobody else may read what the program has made in a folder.
fn demand_private(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", entry.path().display());
        if entry.path().is_dir() {
            demand_private(&entry.path());
        }
    }
}
