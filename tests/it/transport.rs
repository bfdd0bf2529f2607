//! The limits on the cost of a client: connections, heads of requests, slow readers and their memory.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use tidings_web::limits::{
    ADDRESS_BYTES, BODY_BYTES, BODY_START, CONNECTIONS_PER_ADDRESS, HEAD_BYTES, REQUEST_BYTES,
    SEND_LEAST_BYTES, SHORT_BODY_BYTES, SOCKET_BUFFER_BYTES,
};
use tidings_web::panics;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::client::{Client, PASSWORD, ok};
use crate::headers::check_protection;
use crate::pages::{error_message, page};
use crate::server::{Engine, Server, in_memory};

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
/// A short time for what the site waits for.
const SOON: Duration = Duration::from_millis(100);
/// A call whose answer is short.
const SHORT: &str = "/api/getnews/top/0/1";
/// The comments of [`large_thread`].
const COMMENTS: usize = 100;

/// A connection from one of the addresses of this machine, with a small buffer.
async fn connect_from(last: u8, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(u32::try_from(SOCKET_BUFFER_BYTES).unwrap()).unwrap();
    socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0)).unwrap();
    socket.connect(server).await.unwrap()
}

async fn send(stream: &mut TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).await.is_ok()
}

/// The first bytes of what comes; none if the connection is closed.
async fn receive(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 4_096];
    let read = tokio::time::timeout(TIMEOUT, stream.read(&mut bytes)).await.expect("something in time");
    String::from_utf8_lossy(&bytes[..read.unwrap_or(0)]).into_owned()
}

/// Everything that comes until the connection is closed.
async fn receive_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset ends it too.
    tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut bytes)).await.expect("an end in time").ok();
    bytes
}

/// A request without a body.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// Whether a request on this connection is answered.
async fn is_answered(stream: &mut TcpStream) -> bool {
    send(stream, &get(SHORT)).await && receive(stream).await.starts_with("HTTP/1.1 200 OK")
}

/// Begins a request that the site waits for: its body does not come.
async fn begin_request(stream: &mut TcpStream) {
    let head =
        "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n";
    assert!(send(stream, head).await);
    // The site asks for the body, so it has begun to answer.
    assert!(receive(stream).await.starts_with("HTTP/1.1 100 Continue"));
}

/// A connection with a request that the site waits for.
async fn connect_busily(last: u8, server: &Server) -> TcpStream {
    let mut stream = connect_from(last, server.address).await;
    begin_request(&mut stream).await;
    stream
}

/// The body of the request that [`begin_request`] began.
async fn finish_request(stream: &mut TcpStream) {
    assert!(send(stream, "password").await);
    assert!(receive(stream).await.starts_with("HTTP/1.1 200 OK"));
}

/// Writes a thread whose page and answer of the API have some 400 KB.
async fn large_thread(author: &Client) -> String {
    let news = author.submit_text("A large thread", "text").await;
    for _ in 0..COMMENTS {
        author.comment(news, &"x".repeat(4_000)).await;
    }
    format!("/api/getcomments/{news}")
}

/// A personal request for an answer, on a connection that nobody reads from.
async fn request_unread(server: &Server, reader: &Client, path: &str) -> TcpStream {
    let mut stream = connect_from(1, server.address).await;
    let auth = reader.auth.as_deref().unwrap();
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: auth={auth}\r\nConnection: close\r\n\r\n");
    assert!(send(&mut stream, &head).await);
    stream
}

#[tokio::test]
async fn an_address_has_64_connections_and_idle_ones_make_room() {
    let limit = CONNECTIONS_PER_ADDRESS.to_string();
    let server = Server::start(Engine::Memory, &[("server.connections_per_address", &limit)]).await;
    let mut first = connect_from(1, server.address).await;
    assert!(is_answered(&mut first).await);
    let mut busy = Vec::new();
    for _ in 0..CONNECTIONS_PER_ADDRESS {
        busy.push(connect_busily(1, &server).await);
    }
    // The idle one has made room for the last.
    assert_eq!(receive(&mut first).await, "");
    for _ in 0..10 {
        assert_eq!(receive(&mut connect_from(1, server.address).await).await, "");
    }
    // Others do not wait.
    assert!(is_answered(&mut connect_from(2, server.address).await).await);
    // The requests of the 64 have not suffered. Once one is answered, it is idle.
    for stream in &mut busy {
        finish_request(stream).await;
    }
    assert!(is_answered(&mut connect_from(1, server.address).await).await);
    assert_eq!(receive(&mut busy[0]).await, "");
    assert!(is_answered(busy.last_mut().unwrap()).await);
}

#[tokio::test]
async fn proxies_have_as_many_connections_as_they_need() {
    for (setting, value) in [("web.trusted_proxies", "127.0.0.0/8"), ("server.connections_per_address", "0")]
    {
        let server = Server::start(Engine::Memory, &[(setting, value)]).await;
        let mut busy = Vec::new();
        for _ in 0..=CONNECTIONS_PER_ADDRESS {
            busy.push(connect_busily(1, &server).await);
        }
        for stream in &mut busy {
            finish_request(stream).await;
        }
    }
}

#[tokio::test]
async fn when_all_places_are_taken_the_longest_idle_connection_makes_room() {
    let server = Server::start_adjusted(&[], |settings| settings.transport.connections = 2).await;
    let mut idle = connect_from(1, server.address).await;
    assert!(is_answered(&mut idle).await);
    let mut busy = connect_busily(2, &server).await;
    let mut third = connect_from(3, server.address).await;
    assert!(is_answered(&mut third).await);
    assert_eq!(receive(&mut idle).await, "");
    begin_request(&mut third).await;
    assert_eq!(receive(&mut connect_from(4, server.address).await).await, "");
    finish_request(&mut busy).await;
    assert!(is_answered(&mut connect_from(4, server.address).await).await);
}

/// A head of this many bytes.
fn head_of(bytes: usize, path: &str) -> String {
    let begin = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: ");
    format!("{begin}{}\r\n\r\n", "x".repeat(bytes - begin.len() - 4))
}

#[in_memory]
async fn a_head_has_32_kibibytes(server: Server) {
    let visitor = server.visitor();
    for (bytes, status) in [(HEAD_BYTES - 1, 200), (HEAD_BYTES, 200), (HEAD_BYTES + 1, 431), (300_000, 431)] {
        let answer = visitor.send_raw(head_of(bytes, SHORT).as_bytes()).await;
        assert_eq!(answer.status, status, "{bytes}");
        if status == 431 {
            assert_eq!(answer.json()["error"], "The request headers are too large.");
            let page = visitor.send_raw(head_of(bytes, "/latest/0").as_bytes()).await;
            assert_eq!(error_message(&page, page.status), "The request headers are too large.");
        }
    }
    let many = "x: y\r\n".repeat(101);
    let request = format!("GET {SHORT} HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    assert_eq!(visitor.send_raw(request.as_bytes()).await.status, 431);
}

#[in_memory]
async fn an_address_that_is_too_long_is_a_414_in_the_form_of_the_address(server: Server) {
    let visitor = server.visitor();
    let long = |path: &str, bytes: usize| format!("{path}?{}", "x".repeat(bytes - path.len() - 1));
    let most = visitor.get(&long("/latest/0", ADDRESS_BYTES)).await;
    assert_ne!(most.status, 414);
    // The HTTP library refuses an address that is longer than a head before the site sees it.
    for bytes in [ADDRESS_BYTES + 1, HEAD_BYTES + 1, 70_000, 300_000] {
        let refused = async |path: &str| {
            let head =
                format!("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", long(path, bytes));
            visitor.send_raw(head.as_bytes()).await
        };
        let page = refused("/latest/0").await;
        assert_eq!(error_message(&page, StatusCode::URI_TOO_LONG), "The address is too long.", "{bytes}");
        for (path, status, error) in [
            (SHORT, 414, "The address is too long."),
            ("/scores", 414, "invalid"),
            ("/v1/scores", 500, "The address is too long."),
        ] {
            let answer = refused(path).await;
            assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (status, &error.into()), "{path}");
        }
    }
}

#[in_memory]
async fn what_is_not_http_gets_a_page_with_the_headers_of_every_page(server: Server) {
    for request in [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        let answer = server.visitor().send_raw(request.as_bytes()).await;
        assert_eq!(answer.status, 400, "{request}");
        assert_eq!(error_message(&answer, answer.status), "The request headers are not valid HTTP.");
        check_protection(&answer, request);
        assert!(answer.headers.contains_key("date"), "{:?}", answer.headers);
    }
    let call = "GET /api/x HTTP/1.1\r\nHost localhost\r\n\r\n";
    assert_eq!(server.visitor().send_raw(call.as_bytes()).await.json()["status"], "err");
    // On a connection that has been used too.
    let mut stream = connect_from(1, server.address).await;
    assert!(is_answered(&mut stream).await);
    assert!(send(&mut stream, "GET /api/x HTTP/1.1\r\nHost localhost\r\n\r\n").await);
    let answer = String::from_utf8(receive_all(&mut stream).await).unwrap();
    let told = r#"{"status":"err","error":"The request headers are not valid HTTP.","message":"#;
    assert!(answer.contains(told), "{answer}");
}

#[tokio::test]
async fn requests_for_other_hosts_are_refused() {
    let settings =
        [("site.url", "https://news.example.com"), ("server.hosts", "other.example.org, B.example")];
    let server = Server::start(Engine::Memory, &settings).await;
    let visitor = server.visitor();
    let with = async |lines: &str, path: &str, version: &str| {
        let request = format!("GET {path} HTTP/{version}\r\n{lines}Connection: close\r\n\r\n");
        visitor.send_raw(request.as_bytes()).await
    };
    // The page is in the cache from the first request on.
    let hosts = "news.example.com NEWS.example.com.:443 other.example.org b.example 127.0.0.1:1 [::1]";
    for host in hosts.split(' ') {
        assert_eq!(with(&format!("Host: {host}\r\n"), "/latest/0", "1.1").await.status, 200, "{host}");
    }
    for lines in ["", "Host: evil.example\r\n", "Host: b.example\r\nHost: b.example\r\n", "Host:\r\n"] {
        for version in ["1.0", "1.1"] {
            let answer = with(lines, "/latest/0", version).await;
            assert!(error_message(&answer, answer.status).contains("server.hosts"), "{lines}");
            let call = with(lines, SHORT, version).await;
            assert_eq!((answer.status.as_u16(), call.status.as_u16()), (400, 400), "{lines}");
            assert_eq!(call.json()["status"], "err");
            assert_eq!(with(lines, "/scores?for=a.example", version).await.json()["error"], "invalid");
        }
    }
}

#[tokio::test]
async fn a_head_that_does_not_end_is_not_waited_for() {
    let server = Server::start_adjusted(&[], |settings| settings.transport.head_timeout = SOON).await;
    let mut idle = connect_from(1, server.address).await;
    let mut used = connect_from(1, server.address).await;
    assert!(is_answered(&mut used).await);
    let mut slow = connect_from(1, server.address).await;
    for stream in [&mut used, &mut slow] {
        assert!(send(stream, "GET / HTTP/1.1\r\nHost: loc").await);
        assert_eq!(receive(stream).await, "");
    }
    // The time begins with the first byte.
    assert!(is_answered(&mut idle).await);
}

/// A POST with a body in chunks of one byte.
fn in_tiny_chunks(path: &str, body: &str, further_field: &str) -> String {
    let chunks: String = body.chars().map(|byte| format!("1\r\n{byte}\r\n")).collect();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Transfer-Encoding: chunked\r\n{further_field}\r\n{chunks}0\r\n\r\n"
    )
}

#[in_memory]
async fn a_body_in_chunks_has_the_same_limit_however_small_they_are(server: Server) {
    server.register("alice").await;
    let fields = format!("username=alice&password={}&more=", PASSWORD.replace(' ', "+"));
    let long_field = format!("X-Long: {}\r\n", "x".repeat(30 * 1024));
    // The second takes a text. Its name is taken, so nothing is created.
    let (short, long) = ("/api/login", "/api/create_account");
    for (path, length, further_field, status) in [
        (short, SHORT_BODY_BYTES, "", "200 OK"),
        (short, SHORT_BODY_BYTES + 1, "", "413 Payload Too Large"),
        (long, BODY_BYTES, "", "200 OK"),
        (long, BODY_BYTES + 1, "", "413 Payload Too Large"),
        // A longer head leaves less for the body.
        (long, REQUEST_BYTES - 62 * 1024, &*long_field, "200 OK"),
        (long, REQUEST_BYTES - 60 * 1024, &*long_field, "413 Payload Too Large"),
    ] {
        let mut stream = connect_from(1, server.address).await;
        let body = format!("{fields}{}", "x".repeat(length - fields.len()));
        // A refused client may be cut off before it has sent everything.
        send(&mut stream, &in_tiny_chunks(path, &body, further_field)).await;
        assert!(receive(&mut stream).await.starts_with(&format!("HTTP/1.1 {status}")), "{path} {length}");
    }
}

#[tokio::test]
async fn of_large_bodies_under_way_the_oldest_is_dropped_when_there_are_too_many() {
    let server = Server::start_adjusted(&[], |settings| settings.transport.answers_bytes = 100 * 1024).await;
    let begin = async |last: u8| {
        let mut stream = connect_from(last, server.address).await;
        let head = format!(
            "POST /api/submit HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
        );
        assert!(send(&mut stream, &format!("{head}title={}", "x".repeat(20 * 1024))).await);
        stream
    };
    // Each takes 32 KiB or less, and no four have room.
    let mut oldest = begin(1).await;
    let mut others = Vec::new();
    for last in 2..10 {
        others.push(begin(last).await);
    }
    assert_eq!(receive(&mut oldest).await, "");
    // The newest goes on.
    let mut newest = others.pop().unwrap();
    assert!(send(&mut newest, &"x".repeat(BODY_BYTES - 20 * 1024 - "title=".len())).await);
    assert!(receive(&mut newest).await.starts_with("HTTP/1.1 200 OK"));
}

#[in_memory]
async fn a_body_that_arrives_too_slowly_is_refused_after_five_seconds(server: Server) {
    let began = Instant::now();
    let mut stream = connect_busily(1, &server).await;
    assert!(receive(&mut stream).await.starts_with("HTTP/1.1 408 Request Timeout"));
    assert!((BODY_START..Duration::from_secs(9)).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[in_memory]
async fn a_body_that_is_not_http_is_a_bad_request_and_not_too_large(server: Server) {
    let mut stream = connect_from(1, server.address).await;
    let request =
        in_tiny_chunks("/api/login", "username=alice", "").replace("1\r\nu\r\n", "no length\r\nu\r\n");
    send(&mut stream, &request).await;
    let answer = receive(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request"), "{answer}");
    assert!(answer.contains("The body of the request cannot be read"), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_end_is_not_waited_for() {
    let server = Server::start_adjusted(&[], |settings| settings.request_timeout = SOON).await;
    let mut stream = connect_busily(1, &server).await;
    assert!(receive(&mut stream).await.starts_with("HTTP/1.1 503 Service Unavailable"));
}

#[tokio::test]
async fn a_reader_that_takes_too_little_is_dropped() {
    let server = Server::start_adjusted(&[("server.connections_per_address", "1")], |settings| {
        settings.transport.send_window = SOON;
    })
    .await;
    let alice = server.member("alice").await;
    let path = large_thread(&alice).await;
    let whole = alice.get(&path).await.body;
    assert!(whole.len() > 400_000);
    let mut stream = request_unread(&server, &alice, &path).await;
    // The only place is taken until the reader is dropped.
    tidings_testing::until(async || is_answered(&mut connect_from(1, server.address).await).await).await;
    let received = receive_all(&mut stream).await;
    assert!(received.len() < whole.len(), "{}", received.len());
}

#[tokio::test]
async fn a_reader_that_takes_enough_gets_everything_however_long_it_takes() {
    let window = SOON * 4;
    let server = Server::start_adjusted(&[], |settings| settings.transport.send_window = window).await;
    let alice = server.member("alice").await;
    let path = large_thread(&alice).await;
    let whole = alice.get(&path).await.body;
    let mut stream = request_unread(&server, &alice, &path).await;
    // The reader's pace, several times the least: it needs three windows.
    let mut pace = tokio::time::interval(SOON / 2);
    let mut received = Vec::new();
    loop {
        pace.tick().await;
        let mut chunk = vec![0; 2 * SEND_LEAST_BYTES];
        match stream.read(&mut chunk).await.unwrap() {
            0 => break,
            read => received.extend_from_slice(&chunk[..read]),
        }
    }
    assert!(received.ends_with(&whole), "{} of {}", received.len(), whole.len());
}

/// Bytes of this process in memory.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

#[tokio::test]
async fn slow_readers_share_a_bounded_memory() {
    const READERS: usize = 150;
    let mebibytes = 4;
    let server = Server::start(Engine::Memory, &[("server.answers_mebibytes", &mebibytes.to_string())]).await;
    let alice = server.member("alice").await;
    let path = large_thread(&alice).await;
    let whole = alice.get(&path).await.body;
    let before = resident_bytes();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let mut stream = request_unread(&server, &alice, &path).await;
        // The answer has been made: this is its beginning.
        let beginning = receive(&mut stream).await;
        assert!(beginning.starts_with("HTTP/1.1 200 OK"));
        readers.push((stream, beginning.len()));
    }
    let grown = resident_bytes().saturating_sub(before);
    // All of them would need 60 MB; some buffers and fragments are not counted.
    assert!(grown < 30_000_000, "{grown}");
    let mut complete = 0;
    for (mut stream, received) in readers {
        complete += usize::from(received + receive_all(&mut stream).await.len() > whole.len());
    }
    let most = mebibytes * 1024 * 1024 / whole.len();
    assert!((1..=most).contains(&complete), "{complete} of {most}");
}

#[in_memory]
async fn answers_to_members_are_compressed_and_head_says_what_get_would(server: Server) {
    let alice = server.member("alice").await;
    let path = large_thread(&alice).await;
    for path in [&*path, "/", "/about", "/rss", "/nothing"] {
        for client in [&alice, &server.visitor()] {
            for encoding in ["br", "gzip", "identity"] {
                let answer = client.clone().with_header("accept-encoding", encoding).get(path).await;
                let applied = answer.headers.get("content-encoding").map(|value| value.to_str().unwrap());
                assert_eq!(applied.unwrap_or("identity"), encoding, "{path}");
                let length = answer.body.len().to_string();
                assert_eq!(answer.headers["content-length"], length, "{path} {encoding}");
                let head = client.request(Method::HEAD, path).header("accept-encoding", encoding);
                let head = head.send().await.unwrap();
                assert_eq!(head.status(), answer.status);
                for name in ["content-encoding", "vary", "content-type", "etag"] {
                    let values = [head.headers().get(name), answer.headers.get(name)];
                    assert_eq!(values[0], values[1], "{path} {encoding} {name}");
                }
                // The form secret, or the id of a request that failed, may compress better or worse.
                let has_same_text = client.auth.is_none() && answer.status.is_success();
                if has_same_text || encoding == "identity" {
                    assert_eq!(head.headers()["content-length"], answer.headers["content-length"], "{path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn panics_anywhere_are_counted_for_the_administrator() {
    panics::watch();
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.administrator("alice").await;
    assert!(!page(&alice, "/admin").await.text().contains("panics"));
    tokio::spawn(async { panic!("planted in a task") }).await.unwrap_err();
    tokio::task::spawn_blocking(|| panic!("planted in a blocking task")).await.unwrap_err();
    std::thread::spawn(|| panic!("planted in a thread")).join().unwrap_err();
    assert_eq!(panics::count(), 3);
    let admin = page(&alice, "/admin").await;
    let text = admin.text();
    assert!(text.contains("3 panics on this server"), "{text}");
    ok(alice.api_get(SHORT).await);
}
