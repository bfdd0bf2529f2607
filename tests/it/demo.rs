//! `tidings demo`: a site to try, which leaves nothing behind.

use crate::program::Program;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the demo in a folder for temporary files.
fn folder_in(temporary: &Path) -> Option<PathBuf> {
    std::fs::read_dir(temporary).unwrap().next().map(|entry| entry.unwrap().path())
}

#[tokio::test]
async fn the_demo_is_a_whole_site_and_is_gone_at_its_end() {
    let temporary = tempfile::tempdir().unwrap();
    let tidings = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.env("TMPDIR", temporary.path()).stdin(Stdio::null());
        command
    };
    let mut command = tidings();
    command.arg("demo");
    let mut demo = Program::start_command(command);
    let folder = folder_in(temporary.path()).unwrap();
    let site = format!("http://localhost:{}", demo.address.port());
    for (page, text) in [
        ("/", ".example"),
        ("/latest", "Ask: "),
        ("/news/1", "comments"),
        ("/sites", ".example"),
        ("/everyone", "@"),
        ("/topics", "databases"),
        ("/moderations", "It attacks everybody here."),
    ] {
        let answer = reqwest::get(format!("{site}{page}")).await.unwrap();
        assert_eq!(answer.status(), 200, "{page}");
        assert!(answer.text().await.unwrap().contains(text), "{page}");
    }
    let store = format!("redb:{}", folder.join("demo.redb").display());
    let checked = tidings()
        .args(["check", "store", "--store", &store])
        .env("TIDINGS_SITE__URL", &site)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && said.contains("no differences"), "{said}");
    demo.signal("-INT");
    assert!(demo.wait().success());
    assert_eq!(folder_in(temporary.path()), None);
}
