//! The audit lines of commands: one line each, in the log of the server that they go through, and
//! otherwise in their own, the same in both.

use super::Place;
use crate::program::Program;

/// The lines about who did what, without their times.
fn audit_lines(log: &str) -> Vec<String> {
    let lines = log.lines().filter(|line| line.contains(" audit: ") || line.contains(r#""target":"audit""#));
    let without_time = |line: &str| match serde_json::from_str(line) {
        Ok(serde_json::Value::Object(mut line)) => {
            assert!(line.remove("timestamp").is_some(), "{line:?}");
            serde_json::to_string(&line).unwrap()
        }
        _ => line.split_once("Z ").unwrap().1.trim().to_owned(),
    };
    lines.map(without_time).collect()
}

/// Runs commands with and without a running server. Returns the line of each.
async fn lines_of_commands(format: &str, is_served: bool) -> Vec<String> {
    let place = Place::embedded();
    let format = ("TIDINGS_LOG__FORMAT", format);
    let settings = [("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"), format];
    let mut program = Program::start_with(&place.url, &settings);
    program.visitor().register("alice").await;
    program.visitor().register("jo").await.submit_text("A story", "text").await;
    if !is_served {
        program.kill();
    }
    let commands = [
        &["user", "add", "bob"][..],
        &["user", "promote", "bob"],
        &["user", "moderator", "BOB"],
        &["user", "promote", "bob", "--end"],
        &["user", "password", "bob"],
        &["moderate", "lock", "story", "1", "--as", "alice", "--reason", "too heated"],
    ];
    let mut lines = Vec::new();
    for command in commands {
        let before = audit_lines(&program.log()).len();
        let ran = place.run_with(command, "swordfish 12\n", &[format]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let in_the_log = audit_lines(&program.log()).split_off(before);
        let on_stderr = audit_lines(&ran.err);
        let (written, elsewhere) = if is_served { (in_the_log, on_stderr) } else { (on_stderr, in_the_log) };
        assert_eq!((written.len(), elsewhere.len()), (1, 0), "{command:?}: {written:?} {elsewhere:?}");
        lines.extend(written);
        // A command that changes nothing writes no line.
        if command.contains(&"moderator") {
            let again = place.run_with(command, "", &[format]);
            assert!(again.out.contains("already") && audit_lines(&again.err).is_empty(), "{again:?}");
        }
    }
    assert_eq!(audit_lines(&program.log()).len(), if is_served { commands.len() } else { 0 });
    lines
}

/// The lines of [`lines_of_commands`] as text.
fn lines_as_text() -> [String; 6] {
    let operator = r#"by="the command line" account="bob" user=3"#;
    [
        format!("INFO audit: created an account {operator} administrator=false"),
        format!(r#"INFO audit: changed a role {operator} role="administrator" has=true"#),
        format!(r#"INFO audit: changed a role {operator} role="moderator" has=true"#),
        format!(r#"INFO audit: changed a role {operator} role="administrator" has=false"#),
        format!("INFO audit: set a password {operator}"),
        r#"INFO audit: moderated by="alice" through="the command line" action="lock" thing="story:1" line=1"#
            .to_owned(),
    ]
}

#[tokio::test]
async fn each_command_is_one_line_where_the_store_is_open() {
    for is_served in [true, false] {
        let lines = lines_of_commands("text", is_served).await;
        assert_eq!(lines, lines_as_text(), "with a server: {is_served}");
    }
}

#[tokio::test]
async fn a_server_that_logs_json_writes_objects_and_commands_always_write_text() {
    assert_eq!(lines_of_commands("json", false).await, lines_as_text());
    let served = lines_of_commands("json", true).await;
    let line: serde_json::Value = serde_json::from_str(&served[1]).unwrap();
    let expected = serde_json::json!({
        "level": "INFO", "target": "audit", "message": "changed a role",
        "by": "the command line", "account": "bob", "user": 3, "role": "administrator", "has": true,
    });
    assert_eq!(line, expected);
}

#[tokio::test]
async fn the_first_account_of_a_site_is_said_to_be_the_administrators() {
    let said = "alice is the site's administrator, because this is the first account";
    for is_served in [true, false] {
        for place in Place::each() {
            let program = is_served.then(|| Program::start(&place.url));
            let first = place.run_with(&["user", "add", "alice", "--create"], "swordfish 12\n", &[]);
            assert_eq!(first.good(), format!("created the account alice (user 1)\n{said}\n"));
            let second = place.run_with(&["user", "add", "bob"], "swordfish 12\n", &[]);
            assert_eq!(second.good(), "created the account bob (user 2)\n");
            assert!(place.run(&["user", "promote", "alice"]).good().contains("already"));
            drop(program);
        }
    }
}
