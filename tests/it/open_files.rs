//! The process has no file descriptors left.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::program::Program;

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How many connections wait for room.
const WAITING: usize = 5;

/// Sets how many files a process may open; returns the limit before.
fn limit_files(program: &Program, soft: u64) {
    let status = Command::new("prlimit")
        .args(["--pid", &program.id().to_string(), &format!("--nofile={soft}:")])
        .status()
        .unwrap();
    assert!(status.success());
}

fn open_files(program: &Program) -> u64 {
    let folder = format!("/proc/{}/fd", program.id());
    u64::try_from(std::fs::read_dir(folder).unwrap().count()).unwrap()
}

fn ask(stream: &mut TcpStream) {
    ask_for(stream, "/api/getnews/top/0/1");
}

fn ask_for(stream: &mut TcpStream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
}

/// Whether a response begins.
fn is_answered(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 4_096];
    let read = stream.read(&mut bytes).unwrap();
    bytes[..read].starts_with(b"HTTP/1.1 200 OK")
}

#[test]
fn established_readers_go_on_and_others_wait_until_there_is_room() {
    let program = Program::start("redb::memory:");
    let connect = || {
        let stream = TcpStream::connect(program.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    };
    let mut reader = connect();
    ask(&mut reader);
    assert!(is_answered(&mut reader));
    limit_files(&program, open_files(&program));
    let mut waiting: Vec<TcpStream> = (0..WAITING).map(|_| connect()).collect();
    waiting.iter_mut().for_each(ask);
    program.wait_for_log("cannot accept connections");
    for _ in 0..100 {
        ask(&mut reader);
        assert!(is_answered(&mut reader));
    }
    // A monitor that is connected hears that the site works.
    ask_for(&mut reader, "/health/ready");
    assert!(is_answered(&mut reader));
    limit_files(&program, 1_000);
    for stream in &mut waiting {
        assert!(is_answered(stream));
    }
    ask_for(&mut reader, "/health/ready");
    assert!(is_answered(&mut reader));
    // Many attempts, and one line.
    assert_eq!(program.log().matches("cannot accept connections").count(), 1);
}
