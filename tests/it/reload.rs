//! SIGHUP: the settings are read again.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::client::{Client, PASSWORD, ok, refused_saying};
use crate::pages::page;
use crate::program::{Program, wait_until};

/// A program whose settings are in a file.
fn start(file: &Path) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", "redb::memory:", "--config"]).arg(file);
    command.stdin(Stdio::null());
    Program::start_command(command)
}

async fn sign_up(client: &Client, name: &str) -> serde_json::Value {
    client.call(&format!("/api/create_account?username={name}&password={PASSWORD}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_change_while_the_site_runs_and_what_needs_a_restart_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidings.toml");
    let catalogue = folder.path().join("en.po");
    std::fs::write(&catalogue, "").unwrap();
    let with_translations = |settings: &str| {
        let translations = format!("site.translations = {:?}\n", folder.path());
        std::fs::write(&file, translations + settings).unwrap();
    };
    with_translations("");
    let program = start(&file);
    let visitor = Client::new(reqwest::Client::new(), program.address);
    ok(sign_up(&visitor, "alice").await);
    refused_saying(sign_up(&visitor, "bob").await, "recently");

    let settings =
        "site.name = \"Gazette\"\n[limits]\naccount_creation_seconds = 0\n[mail]\npassword = \"secret\"\n";
    with_translations(settings);
    std::fs::write(&catalogue, "msgid \"Log in\"\nmsgstr \"Come in\"\n").unwrap();
    program.signal("-HUP");
    let line = program.wait_for_log("read the settings again");
    assert!(line.contains("limits.account_creation_seconds"), "{line}");
    let line = program.wait_for_log("need a restart");
    assert!(line.contains("mail.password, site.name, site.translations"), "{line}");
    assert!(!program.log().contains("secret"));
    ok(sign_up(&visitor, "bob").await);
    assert!(page(&visitor, "/").await.text().contains("Tidings"));

    // Settings that were taken over are not new again, and those that need a restart are named again.
    program.signal("-HUP");
    let restarts = || program.log().matches("need a restart").count();
    wait_until("the second reload", || (restarts() == 2).then_some(()));
    assert_eq!(program.log().matches("read the settings again").count(), 1, "{}", program.log());

    // A wrong file changes nothing.
    with_translations("[limits]\naccount_creation_seconds = \"never\"\n");
    program.signal("-HUP");
    let line = program.wait_for_log("the settings are wrong");
    assert!(line.contains("limits.account_creation_seconds"), "{line}");
    ok(sign_up(&visitor, "carol").await);

    // The file of the start.
    std::fs::write(&catalogue, "").unwrap();
    with_translations("[limits]\naccount_creation_seconds = 0\n");
    program.signal("-HUP");
    program.wait_for_log("read the settings again: nothing has changed");
    assert!(!program.log().contains("changed=\"\""), "{}", program.log());
}
