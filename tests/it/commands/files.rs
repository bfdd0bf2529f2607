//! The files, pipes and folders of a command are those of the person who has typed it, also when it runs in
//! a server; and it ends with its command line, or with the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Place, Ran, start, stories};

const ARCHIVE: &str = r#"{"id": 1, "type": "story", "by": "jo", "time": 1400000000, "title": "From a pipe", "url": "https://example.com/pipe"}
{"id": 2, "type": "comment", "by": "bo", "time": 1400000001, "parent": 1, "text": "Hello"}
"#;

#[tokio::test]
async fn relative_names_and_pipes_are_those_of_the_command_line() {
    for is_served in [true, false] {
        let place = Place::embedded().created();
        let program = is_served.then(|| start(&place));
        let folder = tempfile::tempdir().unwrap();
        let run = |words: &[&str], input: &str| {
            let mut process = place.command(words).current_dir(&folder).spawn().unwrap();
            process.stdin.take().unwrap().write_all(input.as_bytes()).ok();
            Ran::from(process.wait_with_output().unwrap())
        };
        let path = |name: &str| folder.path().join(name);

        std::fs::write(path("stories.csv"), stories(1..=3)).unwrap();
        assert!(run(&["import", "links", "stories.csv"], "").good().starts_with("imported 3 stories"));
        assert!(
            run(&["import", "links", "/dev/stdin"], &stories(1..=4)).good().starts_with("imported 1 story")
        );
        let imported = run(&["import", "hn", "-"], ARCHIVE).good();
        assert!(imported.starts_with("imported 1 story, 1 comment"), "{imported}");
        let absent = run(&["import", "links", "absent.csv"], "").failed(1);
        assert!(absent.contains("cannot read absent.csv: No such file"), "{absent}");

        let exported = run(&["export", "site", "all.zip"], "").good();
        let length = path("all.zip").metadata().unwrap().len();
        assert!(exported.ends_with("bytes: all.zip\n") && length > 500, "{exported}");
        let again = run(&["import", "hn", "all.zip", "--source", "again"], "").good();
        assert!(again.contains("imported 5 stories, 1 comment"), "{again}");

        let said = run(&["backup", "site.backup"], "").good();
        assert!(said.starts_with("backed up ") && said.ends_with("bytes: site.backup\n"), "{said}");
        let checked = run(&["check", "backup", "site.backup"], "").good();
        assert!(checked.contains("no differences"), "{checked}");
        for words in [["backup", "site.backup"].as_slice(), &["export", "site", "all.zip"]] {
            let exists = run(words, "").failed(1);
            assert!(exists.contains(&format!("{} exists already", words.last().unwrap())), "{exists}");
        }
        let output = place.command(&["backup", "-"]).output().unwrap();
        std::fs::write(path("piped.backup"), &output.stdout).unwrap();
        assert!(String::from_utf8(output.stderr).unwrap().contains("backed up "));
        assert!(run(&["check", "backup", "piped.backup"], "").good().contains("no differences"));
        let mut names: Vec<_> =
            folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["all.zip", "piped.backup", "site.backup", "stories.csv"]);
        drop(program);
    }
}

#[tokio::test]
async fn a_command_ends_with_its_command_line() {
    let place = Place::embedded();
    let program = start(&place);
    let file = place.file("stories.csv", &stories(1..=20_000));
    let mut running = place.command(&["import", "links", file.to_str().unwrap()]).spawn().unwrap();
    tidings_testing::until(async || !program.visitor().list("latest").await.is_empty()).await;
    running.kill().unwrap();
    running.wait().unwrap();
    // The first stories are there, and the last are not.
    for (numbers, words) in [(1..=1, "imported 0 stories"), (19_900..=20_000, "imported 101 stories")] {
        let file = place.file("part.csv", &stories(numbers));
        let again = place.run(&["import", "links", file.to_str().unwrap()]).good();
        assert!(again.starts_with(words), "{again}");
    }
}

#[tokio::test]
async fn a_command_that_waits_does_not_hold_the_servers_stop() {
    let place = Place::embedded();
    let program = start(&place);
    // It waits for standard input, which never ends.
    let mut running = place.command(&["import", "hn", "-"]).spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    input.write_all(ARCHIVE.as_bytes()).unwrap();
    place.run(&["status"]).good();
    let began = Instant::now();
    program.stop();
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    // It is not told before it says something.
    drop(input);
    let message = Ran::from(running.wait_with_output().unwrap()).failed(1);
    assert!(message.contains("the connection to the running server is lost"), "{message}");
    place.run(&["status"]).good();
}

#[tokio::test]
async fn output_that_nobody_takes_holds_only_its_command() {
    let place = Place::embedded();
    let program = start(&place);
    let file = place.file("stories.csv", &stories(1..=3_000));
    place.run(&["import", "links", file.to_str().unwrap()]).good();
    let mut backup = place.command(&["backup", "-"]).stderr(Stdio::null()).spawn().unwrap();
    let mut output = BufReader::new(backup.stdout.take().unwrap());
    assert!(!output.fill_buf().unwrap().is_empty());
    let alice = program.visitor().register("alice").await;
    alice.submit_text("A story", "text").await;
    place.run(&["user", "promote", "alice"]).good();
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert!(backup.wait().unwrap().success());
    let copy = place.folder.path().join("piped.backup");
    std::fs::write(&copy, rest).unwrap();
    assert!(place.run(&["check", "backup", copy.to_str().unwrap()]).good().contains("no differences"));
}
