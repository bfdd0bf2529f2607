//! Commands of the program beside a running server, as an operator runs them: the same words and
//! the same outcome with and without the server, on every engine.

mod audit;
mod command_line;
mod files;
mod status;

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::client::{PASSWORD, has_members};
use crate::program::{Program, Ran, tidings};
use crate::redis_server::RedisServer;
use crate::skips::skip;
use crate::smtp_server::SmtpServer;
use tidings_testing::until;

/// A store, and a folder for what a test needs besides.
pub struct Place {
    pub url: String,
    pub folder: tempfile::TempDir,
    _redis: Option<RedisServer>,
}

impl Place {
    pub fn embedded() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("redb:{}", folder.path().join("site.redb").display());
        Self { url, folder, _redis: None }
    }

    pub fn redis() -> Self {
        let redis = RedisServer::start();
        let place = Self::at(redis.url());
        Self { _redis: Some(redis), ..place }.created()
    }

    /// A store that the test keeps.
    pub fn at(url: String) -> Self {
        Self { url, folder: tempfile::tempdir().unwrap(), _redis: None }
    }

    /// The same with an empty site.
    pub fn created(self) -> Self {
        self.run(&["create"]).good();
        self
    }

    pub fn each() -> [Self; 2] {
        [Self::embedded(), Self::redis()]
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Where the server of an embedded store listens for commands.
    fn socket(&self) -> PathBuf {
        self.folder.path().join("site.redb-control")
    }

    /// Runs a command on the store.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "", &[])
    }

    pub fn run_with(&self, arguments: &[&str], input: &str, settings: &[(&str, &str)]) -> Ran {
        let mut process = self.command(arguments).envs(settings.iter().copied()).spawn().unwrap();
        // A command that reads nothing may have ended.
        process.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        process.wait_with_output().unwrap().into()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(arguments).args(["--store", &self.url]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The program on a store, on which one address can sign up often.
pub fn start(place: &Place) -> Program {
    Program::start_with(&place.url, &[("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0")])
}

/// Stories as a file to import, numbered from one.
fn stories(numbers: std::ops::RangeInclusive<u64>) -> String {
    let mut text = "id,title,url,num_points,author,created_at\n".to_owned();
    for number in numbers {
        text += &format!(
            "{number},Story {number},https://example.com/{number},2,jo,{}\n",
            1_470_000_000 + number
        );
    }
    text
}

/// Some of every command. Returns what they say.
fn every_command(place: &Place) -> Vec<Ran> {
    let file = place.file("stories.csv", &stories(1..=3));
    let file = file.to_str().unwrap();
    let sites = place.file("sites.csv", "host,votes\nexample.com,5\n");
    let as_bob = ["--as", "bob", "--reason", "off topic"];
    let mut said = vec![place.run_with(&["user", "add", "bob"], "swordfish 12\n", &[])];
    for arguments in [
        &["user", "add", "BOB"][..],
        &["user", "promote", "bob"],
        &["user", "promote", "nobody"],
        &["user", "moderator", "alice"],
        &["user", "harden"],
        &["user", "remove-two-factor", "alice"],
        &["import", "links", file],
        &["import", "links", file],
        &["import", "sites", sites.to_str().unwrap(), "--day", "2026-01-01"],
        &["check", "articles"],
        &["check", "timelines"],
        &["check", "timelines", "--repair"],
        &["check", "votes", "--json"],
        &[&["moderate", "remove", "story", "2"], &as_bob[..]].concat(),
        &[&["moderate", "remove", "story", "2"], &as_bob[..]].concat(),
        &[&["moderate", "undo", "1"], &as_bob[..]].concat(),
        &[&["moderate", "undo", "99"], &as_bob[..]].concat(),
        &[&["moderate", "silence", "user", "jo", "--hours", "2", "--anonymous"], &as_bob[..]].concat(),
        &["moderate", "edit", "story", "3", "--title", "Renamed", "--as", "alice", "--reason", "clearer"],
        &["moderate", "merge", "story", "3", "--into", "1", "--as", "alice", "--reason", "the same"],
        &["moderate", "remove_all", "user", "alice", "--days", "3", "--as", "bob", "--reason", "spam"],
        &["moderate", "lock", "story", "1", "--as", "jo", "--reason", "not a moderator"],
        &["moderate", "lock", "story", "1", "--as", "nobody", "--reason", "not there"],
    ] {
        said.push(place.run_with(arguments, "another password\n", &[]));
    }
    said
}

#[tokio::test]
async fn every_command_says_the_same_with_and_without_a_running_server() {
    let mut expected: Option<Vec<Ran>> = None;
    for running in [true, false] {
        for place in Place::each() {
            let mut program = start(&place);
            program.visitor().register("alice").await;
            if !running {
                program.kill();
            }
            println!("on {} with a server: {running}", place.url);
            // Lines of the log are not the same: they have times.
            let said: Vec<Ran> = every_command(&place)
                .into_iter()
                .map(|ran| Ran { err: last_line(&ran.err), ..ran })
                .collect();
            let expected = expected.get_or_insert_with(|| said.clone());
            for (said, expected) in said.iter().zip(expected) {
                assert_eq!(said, expected);
            }
        }
    }
    let expected = expected.unwrap();
    let good = expected.iter().filter(|ran| ran.code == Some(0)).count();
    assert_eq!(good, 18, "{expected:#?}");
    let results = "created the account bob (user 2)|bob is now an administrator|alice is now a moderator|\
        imported 3 stories with 6 votes; 0 already existed; 0 rows were refused|\
        imported 0 stories with 0 votes; 3 already existed; 0 rows were refused|\
        keys checked, no differences|entry 1 of the moderation log|entry 6 of the moderation log";
    for words in results.split('|') {
        assert!(expected.iter().any(|ran| ran.out.contains(words)), "{words} in {expected:#?}");
    }
}

/// The last error message of the program; lines of the log have other beginnings.
fn last_line(text: &str) -> String {
    text.lines().rfind(|line| line.starts_with("tidings: ")).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_a_command_changes_is_seen_at_once() {
    for place in Place::each() {
        let program = start(&place);
        let alice = program.visitor().register("alice").await;
        let bob = program.visitor().register("bob").await;
        bob.submit_text("A story", "with a text").await;
        assert!(alice.is_logged_in().await && bob.is_logged_in().await);
        assert_eq!(bob.get("/admin").await.status, 403);
        place.run(&["user", "promote", "bob"]).good();
        assert_eq!(bob.get("/admin").await.status, 200);

        place.run(&["moderate", "silence", "user", "bob", "--as", "alice", "--reason", "noise"]).good();
        assert_eq!(bob.try_comment(1, None, "Hello").await["status"], "err");
        place.run(&["moderate", "undo", "1", "--as", "alice", "--reason", "quiet now"]).good();
        bob.comment(1, "Hello").await;
        has_members(&alice.log("").await[1], serde_json::json!({"moderator": "alice", "reason": "noise"}));

        place.run_with(&["user", "password", "bob"], "swordfish 12\n", &[]).good();
        assert!(!bob.is_logged_in().await);
        assert_eq!(bob.try_log_in("bob", PASSWORD).await["status"], "err");
        bob.log_in("bob", "swordfish 12").await;

        // The page is cached, for everybody.
        let page = async || program.visitor().text("/latest").await;
        assert!(page().await.contains("A story"));
        let file = place.file("stories.csv", &stories(1..=3));
        place.run(&["import", "links", file.to_str().unwrap()]).good();
        assert_eq!(alice.list("latest").await.len(), 4);
        place.run(&["moderate", "remove", "story", "1", "--as", "alice", "--reason", "spam"]).good();
        assert!(!page().await.contains("A story"));
    }
}

#[tokio::test]
async fn jobs_that_a_command_leaves_are_done_by_the_server() {
    for place in Place::each() {
        let program = start(&place);
        program.visitor().register("alice").await;
        let bob = program.visitor().register("bob").await;
        for number in 0..3 {
            bob.submit_text(&format!("Story {number}"), "text").await;
        }
        let removal =
            ["moderate", "remove_all", "user", "bob", "--days", "1", "--as", "alice", "--reason", "spam"];
        place.run(&removal).good();
        until(async || program.visitor().list("latest").await.is_empty()).await;
    }
}

#[tokio::test]
async fn two_commands_and_the_site_work_at_once_and_a_backup_has_all_of_it() {
    for place in Place::each() {
        let program = start(&place);
        let alice = program.visitor().register("alice").await;
        let files = [("one.csv", 1..=400), ("two.csv", 401..=800)];
        let files = files.map(|(name, numbers)| place.file(name, &stories(numbers)));
        let imports: Vec<_> = files
            .iter()
            .map(|file| place.command(&["import", "links", file.to_str().unwrap()]).spawn().unwrap())
            .collect();
        for number in 0..10 {
            alice.submit_text(&format!("Mine {number}"), "text").await;
        }
        for import in imports {
            Ran::from(import.wait_with_output().unwrap()).good();
        }
        let articles = place.run(&["check", "articles"]).good();
        assert!(articles.contains("keys checked, no differences"), "{articles}");
        // The running store is backed up whole.
        let backup = place.folder.path().join("site.backup");
        let backup = backup.to_str().unwrap();
        let said = place.run(&["backup", backup]).good();
        assert!(said.starts_with("backed up "), "{said}");
        let refused = place.run(&["restore", backup]).failed(1);
        assert!(
            refused.contains("not empty") || refused.contains("another process has it open"),
            "{refused}"
        );
        let restored = Place::embedded();
        restored.run(&["restore", backup]).good();
        assert!(restored.run(&["check", "articles"]).good().contains("keys checked, no differences"));
        restored.run(&["user", "promote", "alice"]).good();
        let list = start(&restored).visitor().api_get("/api/getnews/latest/0/1").await;
        assert_eq!(list["count"], 810, "{list}");
    }
}

#[tokio::test]
async fn a_command_whose_server_is_killed_says_so_and_can_be_run_again() {
    let place = Place::embedded();
    let mut program = start(&place);
    let file = place.file("stories.csv", &stories(1..=6_000));
    let import = ["import", "links", file.to_str().unwrap()];
    let running = place.command(&import).spawn().unwrap();
    until(async || !program.visitor().list("latest").await.is_empty()).await;
    program.kill();
    let message = Ran::from(running.wait_with_output().unwrap()).failed(1);
    assert!(message.contains("running server"), "{message}");
    // The socket of the killed server is in nobody's way.
    assert!(place.socket().exists());
    let again = place.run(&import).good();
    assert!(again.starts_with("imported ") && !again.contains(" 0 already existed"), "{again}");
    assert!(place.run(&["check", "articles"]).good().contains("keys checked, no differences"));
    let program = start(&place);
    place.run(&["user", "add", "alice"]).good();
    assert_eq!(program.visitor().list("latest").await.len(), 32);
}

#[test]
fn an_administrator_is_demoted_and_a_generated_password_is_printed_only_for_a_new_account() {
    let place = Place::embedded().created();
    for name in ["alice", "bob"] {
        place.run_with(&["user", "add", name], "swordfish 12\n", &[]).good();
    }
    place.run(&["user", "promote", "bob"]).good();
    let said = ["bob is no longer an administrator\n", "bob is not an administrator\n"];
    for said in said {
        assert_eq!(place.run(&["user", "demote", "bob"]).good(), said);
    }
    let last = place.run(&["user", "demote", "alice"]).failed(1);
    assert_eq!(last, place.run(&["user", "promote", "alice", "--end"]).failed(1));
    let added = place.run_with(&["user", "add", "carol"], "\n", &[]).good();
    assert!(added.starts_with("password: "), "{added}");
    let taken = place.run_with(&["user", "add", "CAROL"], "\n", &[]);
    assert!(taken.code == Some(1) && taken.out.is_empty(), "{taken:?}");
}

#[test]
fn a_new_site_that_commands_have_made_is_not_migrated_at_its_first_start() {
    for place in Place::each() {
        place.run(&["create"]).good();
        place.run_with(&["user", "add", "alice", "--create"], "swordfish 12\n", &[]).good();
        let program = start(&place);
        let log = program.log();
        program.stop();
        assert!(!log.contains("migrat"), "{log}");
    }
}

#[test]
fn an_import_that_refuses_a_row_imports_the_others_and_ends_with_1() {
    let place = Place::embedded().created();
    let stories = place.file("stories.csv", &(stories(1..=2) + "3,No host,http://,1,jo,1470000000\n"));
    let sites = place.file("sites.csv", "host,votes\nexample.com,5\nlocalhost,5\n");
    for (kind, file, words) in
        [("links", stories, "imported 2 stories"), ("sites", sites, "changed 5 votes on 1 site")]
    {
        let ran = place.run(&["import", kind, file.to_str().unwrap()]);
        assert!(ran.out.contains(words), "{ran:?}");
        let message = ran.failed(1);
        assert!(message.contains(&format!("1 row of {} was refused", file.display())), "{message}");
    }
}

/// A user that is not the one of the tests, if this is root, who may do anything.
const OTHER_USER: u32 = 65_534;

#[test]
fn commands_name_the_user_of_the_server_only_if_a_server_runs() {
    let place = Place::embedded();
    let is_root = place.folder.path().metadata().unwrap().uid() == 0;
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        if is_root {
            command.uid(OTHER_USER).gid(OTHER_USER);
        }
        command.output()
    };
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(place.folder.path(), 0o777);
    match run(&["create"]) {
        Ok(created) => _ = Ran::from(created).good(),
        // The program is in a folder that others may not enter.
        Err(_) => return skip("another-user"),
    }
    // A killed server has left a socket, which belongs to another user or may not be opened.
    drop(std::os::unix::net::UnixListener::bind(place.socket()).unwrap());
    open(&place.socket(), 0);
    let status: Ran = run(&["status"]).unwrap().into();
    assert!(status.out.contains("no running server was found"), "{status:?}");
    std::fs::remove_file(place.socket()).unwrap();
    let _program = start(&place);
    open(&place.socket(), 0);
    let refused = Ran::from(run(&["status"]).unwrap()).failed(1);
    assert!(refused.contains("run the command as the user that runs the server"), "{refused}");
}

#[tokio::test]
async fn only_the_owner_may_use_the_socket_and_it_goes_with_the_server() {
    let place = Place::embedded();
    let program = start(&place);
    assert_eq!(place.socket().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    place.run(&["user", "add", "alice"]).good();
    program.stop();
    assert!(!place.socket().exists());
    place.run(&["user", "promote", "alice"]).good();
}

#[tokio::test]
async fn a_store_that_is_open_elsewhere_is_refused_by_commands_that_need_all_of_it() {
    let place = Place::embedded();
    let _program = start(&place);
    let other = Place::embedded();
    drop(start(&other));
    let refused = tidings(&["copy", &other.url, &place.url]).failed(1);
    assert!(refused.contains("another process has it open"), "{refused}");
    // A server that does not listen, or not there.
    std::fs::remove_file(place.socket()).unwrap();
    let refused = place.run(&["user", "promote", "alice"]).failed(1);
    assert!(refused.contains("what has the store open does not listen for commands on"), "{refused}");
    assert!(refused.contains("another process has it open"), "{refused}");
}

#[tokio::test]
async fn a_socket_that_cannot_be_made_is_made_later() {
    let place = Place::embedded();
    // Something is in its way.
    std::fs::create_dir(place.socket()).unwrap();
    let program = start(&place);
    let ready = async || program.visitor().get("/health/ready").await.json();
    program.wait_for_log("commands such as tidings status cannot reach this server");
    assert_eq!(status::names(&ready().await), ["control_socket_missing"]);
    let refused = place.run(&["status"]).failed(1);
    assert!(
        refused.contains("does not listen for commands on") && refused.contains("its log says why"),
        "{refused}"
    );
    std::fs::remove_dir(place.socket()).unwrap();
    program.wait_for_log("commands can reach this server again");
    place.run(&["status"]).good();
    assert_eq!(status::names(&ready().await), [""; 0]);
}

#[tokio::test]
async fn a_running_store_is_copied() {
    let place = Place::embedded();
    let program = start(&place);
    program.visitor().register("alice").await;
    let copy = Place::embedded();
    assert!(tidings(&["copy", &place.url, &copy.url]).good().starts_with("copied "));
    place.run(&["user", "promote", "alice"]).good();
    copy.run(&["user", "promote", "alice"]).good();
}

/// The keys of the status; the first nine are promised.
const STATUS_KEYS: &str = "version store uptime_seconds requests_per_second p99_ms memory_bytes \
    jobs_waiting mails_waiting mails_oldest_seconds read_only last_backup state cause failed_backup \
    conditions home_timelines";

#[track_caller]
fn status_of(ran: &Ran) -> Value {
    let status: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let keys = status.as_object().unwrap().keys();
    assert!(keys.eq(STATUS_KEYS.split(' ')), "{status}");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_mail_tells_what_the_relay_says() {
    let place = Place::embedded();
    let test = |settings: &[(&str, &str)]| place.run_with(&["mail", "test", "bob@example.org"], "", settings);
    let said = test(&[]).failed(1);
    assert!(said.contains("mail.relay is not set, so this site sends no mail"), "{said}");

    let mut relay = SmtpServer::start().await;
    let address = relay.relay();
    let in_clear = [("TIDINGS_MAIL__RELAY", &*address), ("TIDINGS_MAIL__TLS", "none")];
    let said = test(&in_clear).good();
    assert!(said.contains(&format!("the mail relay {address} has accepted a mail from ")), "{said}");
    assert_eq!(relay.next_message().await.to, ["bob@example.org"]);
    let wrong = place.run_with(&["mail", "test", "bob"], "", &in_clear).failed(1);
    assert!(wrong.contains("not a mail address"), "{wrong}");
    for (answer, sentence) in [
        (
            "550 5.1.1 no such user",
            "says that there is no mailbox bob@example.org (5.1.1 no such user); check the address",
        ),
        ("550 5.7.1 relaying denied", "refuses this mail for good (5.7.1 relaying denied); check mail.from"),
        ("451 later", "does not accept this mail now (451 later); try again later"),
    ] {
        relay.refuse_with(answer);
        let said = test(&in_clear).failed(1);
        assert!(said.contains(sentence), "{said}");
    }

    // TLS: none is offered, another authority, a port that does not begin with TLS.
    let said = test(&in_clear[..1]).failed(1);
    assert!(said.contains("offers no TLS (STARTTLS), and this mail is not sent without it"), "{said}");
    let with_tls = SmtpServer::start_with_tls().await;
    let said = test(&[("TIDINGS_MAIL__RELAY", &with_tls.relay())]).failed(1);
    assert!(said.contains("has a certificate of an authority that this machine does not trust"), "{said}");
    assert!(said.contains("; install the certificate of the authority in the system"), "{said}");
    assert_eq!(with_tls.waiting(), 0);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let said = test(&[("TIDINGS_MAIL__RELAY", &nobody)]).failed(1);
    assert!(said.contains(&format!("the mail relay {nobody} refuses the connection")), "{said}");
    assert!(
        said.contains("check the host and the port in mail.relay") && !said.contains("os error"),
        "{said}"
    );
}

#[tokio::test]
async fn the_status_tells_how_a_running_and_a_stopped_site_are() {
    for place in Place::each() {
        let socket = place.folder.path().join("chosen");
        let control = [("TIDINGS_SERVER__CONTROL", socket.to_str().unwrap())];
        let program = Program::start_with(&place.url, &control);
        program.visitor().register("alice").await;
        let status = |settings| place.run_with(&["status", "--json"], "", settings);
        let running = status(&control);
        assert_eq!(running.code, Some(0), "{running:?}");
        let running = status_of(&running);
        assert!(running["uptime_seconds"].is_u64(), "{running}");
        assert!(running["memory_bytes"].as_u64().unwrap() > 1_000_000, "{running}");
        assert_eq!((&running["read_only"], &running["store"]), (&false.into(), &place.url.as_str().into()));
        assert!(running["jobs_waiting"].is_u64(), "{running}");
        let screen = place.run_with(&["status"], "", &control).good();
        assert!(screen.contains(": running for ") && screen.contains("(read and write)"), "{screen}");

        // Another store that is said to be the server's.
        let other = Place::redis();
        let wrong = other.run_with(&["status"], "", &control).failed(2);
        assert!(wrong.contains(" serves ") && wrong.contains("correct server.control"), "{wrong}");

        program.stop();
        let stopped = status(&control);
        assert_eq!(stopped.code, Some(0), "{stopped:?}");
        let stopped = status_of(&stopped);
        assert!(stopped["uptime_seconds"].is_null() && stopped["memory_bytes"].is_null(), "{stopped}");
        assert!(stopped["jobs_waiting"].is_u64() && stopped["read_only"] == false, "{stopped}");
    }
}

#[test]
fn a_socket_that_cannot_be_had_stops_the_start_only_if_it_was_chosen() {
    let place = Place::embedded();
    let taken = place.file("taken", "a file");
    let control = [("TIDINGS_SERVER__CONTROL", taken.to_str().unwrap())];
    drop(start(&place));
    let refused = place.run_with(&["serve", "--listen", "127.0.0.1:0"], "", &control).failed(2);
    assert!(refused.contains("server.control") && refused.contains("is not a socket"), "{refused}");
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "a file");
    // Beside the store the site works without.
    std::fs::remove_file(place.socket()).unwrap();
    std::fs::write(place.socket(), "a file").unwrap();
    drop(start(&place));
    assert!(Path::new(&place.socket()).exists());
}
