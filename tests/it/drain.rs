//! SIGTERM: everything that was sent is answered before the program ends.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::program::{Program, dump_of, wait_until};
use crate::transport::get;

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Requests that are sent at once.
const PIPELINED: usize = 12;
/// A request that takes some time: the password of nobody is hashed too.
const LOGIN: &str = "username=nobody&password=wrong-password";

fn short() -> String {
    get("/api/getnews/top/0/1")
}

/// The head of a POST with the length of its body.
fn login_head(more: &str) -> String {
    let length = LOGIN.len();
    format!(
        "POST /api/login HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n{more}\r\n"
    )
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
}

/// Everything until the end, and how many responses it begins.
fn receive_all(stream: &mut TcpStream) -> (String, usize) {
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(ended.is_ok(), "{ended:?} after {text}");
    let responses = text.matches("HTTP/1.1 200 OK").count();
    (text, responses)
}

/// Waits until the program accepts no connections any more.
fn wait_until_stopping(program: &Program) {
    wait_until("the end of the listener", || {
        let refused = TcpStream::connect(program.address).err()?;
        (refused.kind() == ErrorKind::ConnectionRefused).then_some(())
    });
}

fn program() -> Program {
    Program::start("redb::memory:")
}

#[test]
fn pipelined_requests_are_all_answered() {
    let mut program = program();
    let mut stream = connect(program.address);
    send(&mut stream, &[login_head(""), LOGIN.to_owned(), short().repeat(PIPELINED - 1)].concat());
    program.signal("-TERM");
    let (text, responses) = receive_all(&mut stream);
    assert_eq!(responses, PIPELINED, "{text}");
    assert!(program.wait().success());
    assert!(program.log().contains("stopped"), "{}", program.log());
}

#[test]
fn requests_that_come_while_the_program_stops_are_answered_too() {
    let mut program = program();
    let mut stream = connect(program.address);
    send(&mut stream, &login_head("Expect: 100-continue\r\n"));
    let mut bytes = [0; 25];
    stream.read_exact(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"HTTP/1.1 100 Continue"));
    program.signal("-TERM");
    wait_until_stopping(&program);
    send(&mut stream, &[LOGIN.to_owned(), short().repeat(PIPELINED - 1)].concat());
    let (text, responses) = receive_all(&mut stream);
    assert_eq!(responses, PIPELINED, "{text}");
    // Only the last one says that it is the last.
    assert_eq!(text.matches("connection: close").count(), 1, "{text}");
    assert!(program.wait().success());
}

#[test]
fn half_a_head_and_half_a_body_are_waited_for() {
    let mut program = program();
    let (mut head, mut body) = (connect(program.address), connect(program.address));
    let mut second = connect(program.address);
    let request = short();
    let (first_half, second_half) = request.split_at(20);
    send(&mut head, first_half);
    send(&mut second, &[&short(), first_half].concat());
    let (first_body, second_body) = LOGIN.split_at(10);
    send(&mut body, &[&login_head(""), first_body].concat());
    program.signal("-TERM");
    wait_until_stopping(&program);
    send(&mut head, second_half);
    send(&mut second, second_half);
    send(&mut body, second_body);
    for (stream, expected) in [(&mut head, 1), (&mut second, 2), (&mut body, 1)] {
        let (text, responses) = receive_all(stream);
        assert_eq!(responses, expected, "{text}");
    }
    assert!(program.wait().success());
}

#[test]
fn connections_that_the_system_has_accepted_are_answered() {
    let mut program = program();
    // The program cannot accept these before it learns that it must stop.
    program.signal("-STOP");
    let mut waiting: Vec<TcpStream> = (0..50).map(|_| connect(program.address)).collect();
    waiting.iter_mut().for_each(|stream| send(stream, &short()));
    program.signal("-TERM");
    program.signal("-CONT");
    for stream in &mut waiting {
        let (text, responses) = receive_all(stream);
        assert_eq!(responses, 1, "{text}");
    }
    assert!(program.wait().success());
}

#[test]
fn idle_connections_do_not_keep_the_program() {
    let mut program = program();
    let mut idle = connect(program.address);
    let mut used = connect(program.address);
    send(&mut used, &short());
    let mut bytes = [0; 15];
    used.read_exact(&mut bytes).unwrap();
    let began = Instant::now();
    program.signal("-TERM");
    assert_eq!(receive_all(&mut idle), (String::new(), 0));
    receive_all(&mut used);
    assert!(program.wait().success());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn requests_one_after_another_go_on_until_the_last_response_says_so() {
    let mut program = program();
    let address = program.address;
    let clients: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let mut stream = connect(address);
                // Each response is read whole before the next request.
                let mut received = Vec::new();
                loop {
                    send(&mut stream, &short());
                    let response = read_response(&mut stream, &mut received);
                    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
                    if response.contains("connection: close") {
                        return;
                    }
                }
            })
        })
        .collect();
    program.signal("-TERM");
    for client in clients {
        client.join().unwrap();
    }
    assert!(program.wait().success());
}

/// Reads one response with a `content-length`; returns its head.
fn read_response(stream: &mut TcpStream, received: &mut Vec<u8>) -> String {
    loop {
        let text = String::from_utf8_lossy(received).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let length: usize = length.parse().unwrap();
            if body.len() >= length {
                received.drain(..head.len() + 4 + length);
                return head.to_owned();
            }
        }
        let mut bytes = [0; 4_096];
        let read = stream.read(&mut bytes).unwrap();
        assert_ne!(read, 0, "cut after {text}");
        received.extend_from_slice(&bytes[..read]);
    }
}

#[test]
fn a_program_that_drains_serves_new_connections_and_says_that_it_stops() {
    let mut program = Program::start_with("redb::memory:", &[("TIDINGS_SERVER__DRAIN_SECONDS", "3")]);
    let answer = |path: &str| {
        let mut stream = connect(program.address);
        send(&mut stream, &get(path).replacen("Host:", "Connection: close\r\nHost:", 1));
        receive_all(&mut stream).0
    };
    assert!(answer("/health/ready").starts_with("HTTP/1.1 200 "));
    let began = Instant::now();
    program.signal("-TERM");
    wait_until("that it is not ready", || answer("/health/ready").starts_with("HTTP/1.1 503 ").then_some(()));
    assert!(answer("/health/ready").contains(r#""status":"stopping""#));
    assert!(answer("/").starts_with("HTTP/1.1 200 "));
    assert!(program.wait().success());
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn a_request_that_never_ends_keeps_the_program_for_ten_seconds_at_most() {
    let program = program();
    let mut stream = connect(program.address);
    send(&mut stream, &login_head(""));
    let began = Instant::now();
    program.stop();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_client_that_never_ends_costs_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let mut program = Program::start(&format!("redb:{}", path.display()));
    let mut quick = connect(program.address);
    send(&mut quick, &get("/").replacen("Host:", "Connection: close\r\nHost:", 1));
    assert_eq!(receive_all(&mut quick).1, 1);
    let mut slow = connect(program.address);
    // So much of a body may take longer to arrive than a stop waits.
    let (sent, length) = ("x".repeat(7 * 1024), 8_000);
    let head = login_head("").replace(&format!("Length: {}", LOGIN.len()), &format!("Length: {length}"));
    send(&mut slow, &format!("{head}{sent}"));
    program.signal("-TERM");
    assert!(program.wait().success());
    assert!(program.log().contains("some connections were still open"), "{}", program.log());
    let dump = dump_of(&path).await;
    assert!(dump.keys().any(|key| key.starts_with("statistics:hour:")), "{:?}", dump.keys());
}
