//! The command line of the program: options, exit statuses, and its output.

use std::process::Command;

use super::{Place, Ran};

#[test]
fn wrong_use_has_the_exit_status_2() {
    let place = Place::redis();
    let reason = ["--as", "alice", "--reason", "why"];
    for arguments in [
        &["nonsense"][..],
        &["status", "--nonsense"],
        &["user", "add"],
        &["moderate", "remove", "story", "1", "--reason", "why"],
        &["moderate", "remove", "story", "1", "--as", "alice"],
        &[&["moderate", "remove", "1"], &reason[..]].concat(),
        &[&["moderate", "undo", "story", "1"], &reason[..]].concat(),
        &[&["moderate", "destroy", "story", "1"], &reason[..]].concat(),
        &[&["moderate", "remove", "planet", "1"], &reason[..]].concat(),
        &[&["moderate", "remove", "story", "one"], &reason[..]].concat(),
        &[&["moderate", "silence", "user", "bob", "--hours", "long"], &reason[..]].concat(),
        &[&["moderate", "merge", "story", "1"], &reason[..]].concat(),
        &[&["moderate", "rule", "rule", "1"], &reason[..]].concat(),
    ] {
        assert!(!place.run(arguments).failed(2).is_empty(), "{arguments:?}");
    }
    for arguments in [
        &["user", "add", "not a name"][..],
        &["user", "promote", "alice", "--create"],
        &["status", "--listen", "127.0.0.1:0"],
        &["import", "links", "stories.csv", "--time-zone", "Nowhere/Land"],
        &["copy", "nonsense", "redb::memory:"],
        &["copy", "redb::memory:", "redb::memory:"],
    ] {
        assert!(!place.run(arguments).failed(2).is_empty(), "{arguments:?}");
    }
    for (variable, words) in [
        ("TIDINGS_SERVER__NONSENSE", "unknown setting"),
        ("TIDINGS_SERVER__LISTEN", "expected an address with a port"),
        ("TIDINGS_LOG", "TIDINGS_LOG has \"x=nope\", expected"),
    ] {
        for command in ["status", "serve"] {
            let wrong = place.run_with(&[command], "", &[(variable, "x=nope")]).failed(2);
            assert!(wrong.contains(words), "{wrong}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_moderation_names_the_option() {
    let place = Place::redis();
    let reason = ["--as", "alice", "--reason", "why"];
    let edit = "edit needs --title, --topics or --url";
    let long = "x".repeat(1_000);
    for (arguments, message) in [
        (&["remove", "planet", "1"][..], "KIND: it must be story, comment"),
        (&["remove", "story", "one"], "ID: it must be a number"),
        (&["remove", "1"], "KIND is missing"),
        (&["silence", "user", "bob", "--hours", "long"], "--hours: it must be a whole number of hours"),
        (&["remove_all", "user", "bob", "--days", "many"], "--days: it must be a whole number"),
        (&["remove_all", "user", "bob"], "--days is missing"),
        (&["merge", "story", "1"], "--into is missing"),
        (&["merge", "story", "1", "--into", "x"], "--into: it must be the number"),
        (&["edit", "story", "1"], edit),
        (&["edit", "story", "1", "--title", &long], "--title: your title is too long"),
        (&["edit", "story", "1", "--url", "nonsense"], "--url: "),
        (&["undo", "story", "1"], "KIND: undo takes only the number"),
        (&["undo", "x"], "ID: it must be the number of an entry"),
    ] {
        let said = place.run(&[&["moderate"], arguments, &reason].concat()).failed(2);
        assert!(said.contains(&format!("tidings: {message}")), "{message}: {said}");
    }
    let silent = place.run(&["moderate", "remove", "story", "1", "--as", "alice"]).failed(2);
    assert!(silent.contains("tidings: --reason is missing"), "{silent}");
}

#[test]
fn options_of_the_server_before_a_command_are_its_own_or_refused() {
    let program = env!("CARGO_BIN_EXE_tidings");
    let run = |arguments: &[&str]| Ran::from(Command::new(program).args(arguments).output().unwrap());
    let shown = run(&["--listen", "127.0.0.1:7", "--create", "config"]).good();
    assert!(shown.contains("(flag --listen)\nlisten = \"127.0.0.1:7\"\n"), "{shown}");
    assert!(shown.contains("(flag --create)\ncreate = true\n"), "{shown}");
    let refused = run(&["--listen", "127.0.0.1:7", "status"]).failed(2);
    assert!(refused.contains("--listen and --create belong after"), "{refused}");
}

#[test]
fn each_command_offers_the_options_that_have_an_effect() {
    let help = |command: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tidings"));
        Ran::from(program.args(command.split(' ')).arg("--help").output().unwrap()).good()
    };
    for (command, offers) in [
        ("serve", ["--config", "--store", "--listen", "--create"].as_slice()),
        ("config", &["--config", "--store", "--listen", "--create"]),
        ("user add", &["--config", "--store", "--create"]),
        ("import hn", &["--config", "--store", "--create"]),
        ("import links", &["--config", "--store", "--create"]),
        ("export site", &["--config", "--store"]),
        ("import sites", &["--config", "--store", "--create"]),
        ("create", &["--config", "--store"]),
        ("user promote", &["--config", "--store"]),
        ("check store", &["--config", "--store"]),
        ("backup", &["--config", "--store"]),
        ("restore", &["--config", "--store"]),
        ("moderate", &["--config", "--store"]),
        ("status", &["--config", "--store"]),
    ] {
        let text = help(command);
        for option in ["--config", "--store", "--listen", "--create"] {
            // As an option, and not within a sentence about another one.
            let is_offered = text.lines().any(|line| line.trim_start().starts_with(option));
            assert_eq!(is_offered, offers.contains(&option), "{command} {option}: {text}");
        }
    }
    assert!(help("serve").starts_with("Serve the site"), "{}", help("serve"));
    assert!(help("user add").starts_with("Create an account"), "{}", help("user add"));
    assert!(!help("check").contains("derived"), "{}", help("check"));
}

#[test]
fn a_settings_file_that_is_missing_is_named_once() {
    let place = Place::embedded();
    for command in ["serve", "status"] {
        let error = place.run(&[command, "--config", "/no/such.toml"]).failed(2);
        let expected = "tidings: cannot read the configuration file /no/such.toml: No such file or directory \
                        (os error 2)\n";
        assert_eq!(error, expected);
    }
}

#[test]
fn a_command_whose_output_nobody_takes_does_not_panic() {
    let place = Place::embedded().created();
    for arguments in [&["status"][..], &["status", "--json"], &["config"], &["user", "add", "alice"]] {
        let mut process = place.command(arguments).spawn().unwrap();
        // The reader has gone.
        drop(process.stdout.take());
        Ran::from(process.wait_with_output().unwrap()).good();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let failed = place.command(arguments).stdout(full).output().unwrap();
        let message = Ran::from(failed).failed(1);
        assert!(message.starts_with("tidings: "), "{message}");
    }
}
