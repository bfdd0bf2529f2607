//! `tidings demo`: a site to try, which leaves nothing behind.

use crate::program::{Program, Ran};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A command of the program with a folder for temporary files.
fn tidings(temporary: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(words).env("TMPDIR", temporary.path()).stdin(Stdio::null());
    command
}

/// The folder of the demo in a folder for temporary files.
fn folder_in(temporary: &Path) -> Option<PathBuf> {
    std::fs::read_dir(temporary).unwrap().next().map(|entry| entry.unwrap().path())
}

/// Searches that a reader would make there, with the result that they would want first.
const SEARCHES: [(&str, &str); 20] = [
    ("write-ahead log", "How a write-ahead log survives a power cut"),
    ("vacuum", "We forgot to vacuum for a year. Here is the bill"),
    ("b-tree", "B-trees are older than most of us and still win"),
    ("borrow checker", "A mental model for the borrow checker"),
    ("build time", "Halving our build times by deleting code"),
    ("fuzzing bugs", "A weekend of fuzzing found eleven bugs"),
    ("estimate promise", "Estimates are not promises"),
    ("cookie banners", "We removed the cookie banner by removing the cookies"),
    ("IO_uring", "io_uring for ordinary programs"),
    ("\"page cache\"", "The page cache is not your enemy"),
    ("ipv6", "IPv6 at home without tears"),
    ("dns", "It was DNS, and here is the packet"),
    ("kuiper belt", "A very slow tour of the Kuiper belt"),
    ("antikythera", "What the Antikythera mechanism computed"),
    ("memory flips bits", "How often does memory really flip bits?"),
    ("hosting mail", "Ten years of hosting my own mail"),
    ("libraries lend tools", "The library that lends tools"),
    ("regular expressions topic:programming", "The regular expression that took down a bakery"),
    ("telescop*", "A telescope mirror ground in a garage"),
    ("whale songs", "Whale songs travel like fashion"),
];

async fn check_searches(site: &str) {
    let client = reqwest::Client::new();
    let first = async |typed: &str| {
        let request = client
            .get(reqwest::Url::parse_with_params(&format!("{site}/api/search"), [("q", typed)]).unwrap());
        let found: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
        found["results"][0]["story"]["title"].as_str().map(str::to_owned)
    };
    while first(SEARCHES[0].0).await.is_none() {
        // Not so often that the searches of a minute are used up.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    for (typed, expected) in SEARCHES {
        assert_eq!(first(typed).await.as_deref(), Some(expected), "{typed}");
    }
}

#[tokio::test]
async fn the_demo_speaks_the_language_that_it_is_asked_for() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = Program::start_command(tidings(&temporary, &["demo", "--language", "it"]));
    let front = reqwest::get(format!("http://localhost:{}/", demo.address.port()))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(front.contains("<html lang=\"it\"") && front.contains("Accedi"), "{front}");
}

#[tokio::test]
async fn the_demo_is_a_whole_site_and_is_gone_at_its_end() {
    let temporary = tempfile::tempdir().unwrap();
    let mut demo = Program::start_command(tidings(&temporary, &["demo"]));
    let folder = folder_in(temporary.path()).unwrap();
    let site = format!("http://localhost:{}", demo.address.port());
    for (page, text) in [
        ("/", ".example"),
        ("/latest", "Ask: "),
        ("/news/1", "comments"),
        ("/sites", ".example"),
        ("/everyone", "@"),
        ("/topics", "databases"),
        ("/moderations", "Attacks other members."),
    ] {
        let answer = reqwest::get(format!("{site}{page}")).await.unwrap();
        assert_eq!(answer.status(), 200, "{page}");
        assert!(answer.text().await.unwrap().contains(text), "{page}");
    }
    check_searches(&site).await;
    let store = format!("redb:{}", folder.join("demo.redb").display());
    let mut check = tidings(&temporary, &["check", "store", "--store", &store]);
    let said = Ran::from(check.env("TIDINGS_SITE__URL", &site).output().unwrap()).good();
    assert!(said.contains("no differences"), "{said}");
    demo.signal("-INT");
    assert!(demo.wait().success());
    assert_eq!(folder_in(temporary.path()), None);
}

#[tokio::test]
async fn the_demo_listens_where_it_is_told_and_its_last_lines_are_the_accounts() {
    let temporary = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| Ran::from(tidings(&temporary, words).output().unwrap());
    let help = run(&["demo", "--help"]).good();
    assert!(help.contains("--listen") && !help.contains("--store") && !help.contains("--config"), "{help}");
    for words in [["demo", "--store", "redb::memory:"], ["demo", "--config", "none.toml"]] {
        run(&words).failed(2);
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = temporary.path().join("said");
    let file = std::fs::File::create(&said).unwrap();
    let mut command = tidings(&temporary, &["demo", "--listen", &free.to_string()]);
    command.stdout(file.try_clone().unwrap()).stderr(file);
    let mut demo = command.spawn().unwrap();
    let text = || std::fs::read_to_string(&said).unwrap();
    let site = format!("http://localhost:{}", free.port());
    let accounts = || {
        let text = text();
        let lines: Vec<Vec<String>> =
            text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
        let last = lines.get(lines.len().checked_sub(3)?..)?.to_vec();
        (text.contains("Three accounts") && last.iter().all(|words| words.len() == 3)).then_some(last)
    };
    let accounts = crate::program::wait_until("the accounts", accounts);
    // By then it would have logged all that it logs at a start.
    check_searches(&site).await;
    let text = text();
    assert!(text.contains(&format!("Tidings demo: {site}/\n")), "{text}");
    // The accounts are the last lines, and each link logs in.
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (account, name) in accounts.iter().zip(["administrator", "moderator", "reader"]) {
        let [shown, _, link] = &account[..] else { panic!("{text}") };
        assert_eq!(shown, name, "{text}");
        let answer = browser.get(link).send().await.unwrap();
        assert_eq!(answer.headers()["location"].to_str().unwrap(), format!("{site}/"));
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let page = browser.get(format!("{site}/settings")).header("cookie", cookie).send().await.unwrap();
        assert_eq!(page.status(), 200, "{name}");
        assert!(page.text().await.unwrap().contains(&format!("/@{name}")));
    }
    let wrong = accounts[0][2].rsplit_once('/').unwrap().0.to_owned() + "/x";
    assert!(!browser.get(wrong).send().await.unwrap().headers().contains_key("set-cookie"));
    demo.kill().unwrap();
    demo.wait().unwrap();
}
