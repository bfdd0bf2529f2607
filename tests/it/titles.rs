//! Titles that are fetched from other sites: what is found, what is refused, and what it may
//! cost.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use tidings_web::limits::{
    MAX_TITLE_FETCHES, TITLE_BYTES, TITLE_FETCHES_OF_ACCOUNT, TITLE_HEAD_BYTES, TITLE_REDIRECTS,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::client::{Client, FORM, encoded, ok, refused, refused_saying};
use crate::page_server::{PAGES_NAME, PageServer, Reply};
use crate::server::{Engine, Server, Settings, each_engine};

const NOT_PUBLIC: &str = "This address is not on the public internet.";
const HTML: &str = "content-type: text/html";
/// A time limit for pages that never come.
const SOON: Duration = Duration::from_millis(300);

/// A site that can reach the pages.
async fn site(pages: &PageServer, settings: Settings<'_>) -> (Server, Client) {
    let network = pages.network();
    let server = Server::start_adjusted(settings, |settings| settings.titles.network = network).await;
    let alice = server.member("alice").await;
    (server, alice)
}

async fn fetched(client: &Client, url: &str) -> String {
    let answer = ok(client.api_post("/api/fetchtitle", &[("url", url)]).await);
    assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
    answer["title"].as_str().unwrap().to_owned()
}

async fn refusal(client: &Client, url: &str) -> String {
    let answer = client.post("/api/fetchtitle", &[("url", url)]).await;
    assert_eq!(answer.status, StatusCode::OK, "{url}");
    refused(answer.json())
}

fn pages(path: &str) -> Reply {
    let large = |head: &str, size: usize| Reply::html(&format!("{head}{}", "x".repeat(size)));
    match path {
        "/plain" => Reply::html("<!DOCTYPE html><title> A\n title &amp; more </title>"),
        "/query?a=1" => Reply::html("<title>With a query</title>"),
        "/social" => {
            Reply::html("<title>Site</title><meta property='og:title' content='The &quot;text&quot;'>")
        }
        "/latin" => {
            let body = b"<title>caf\xE9</title>";
            Reply::with("200 OK", "Content-Type: Text/HTML;Charset=\"ISO-8859-1\"", body)
        }
        "/xhtml" => Reply::with("200 OK", "content-type: application/xhtml+xml", b"<title>X</title>"),
        "/large" => large("<title>Early</title>", 4 * TITLE_BYTES),
        "/late" => Reply::html(&format!("{}<title>Late</title>", " ".repeat(TITLE_BYTES))),
        "/just-in-time" => {
            let title = "<title>In time</title>";
            large(&format!("{}{title}", " ".repeat(TITLE_BYTES - title.len())), 10)
        }
        "/chunked" => {
            let head = format!("HTTP/1.1 200 OK\r\n{HTML}\r\ntransfer-encoding: chunked\r\n\r\n");
            Reply::Bytes(format!("{head}9\r\n<title>Ch\r\nd\r\nunked</title>\r\n0\r\n\r\n").into_bytes())
        }
        "/broken" => {
            let head = format!("HTTP/1.1 200 OK\r\n{HTML}\r\ncontent-length: 1000\r\n\r\n");
            Reply::Bytes(format!("{head}<title>Broken off</title>").into_bytes())
        }
        "/endless" => {
            let head = format!("HTTP/1.1 200 OK\r\n{HTML}\r\ncontent-length: 1000\r\n\r\n<title>Never");
            Reply::Hang(head.into_bytes())
        }
        "/none" => Reply::html("<h1>No title</h1>"),
        "/picture" => Reply::with("200 OK", "content-type: image/png", b"<title>No</title>"),
        "/no-type" => Reply::with("200 OK", "x: y", b"<title>No</title>"),
        "/packed" => {
            Reply::with("200 OK", &format!("{HTML}\r\ncontent-encoding: gzip"), b"<title>No</title>")
        }
        "/missing" => Reply::with("404 Not Found", HTML, b"<title>secret text</title>"),
        "/failing" => Reply::with("500 secret reason", HTML, b"<title>secret text</title>"),
        "/garbage" => Reply::Bytes(b"220 secret greeting\r\n".to_vec()),
        "/long-head" => {
            Reply::with("200 OK", &format!("{HTML}\r\nx: {}", "y".repeat(4 * TITLE_HEAD_BYTES)), b"")
        }
        "/silent" => Reply::silence(),
        "/again" => Reply::redirect("/again"),
        "/relative" => Reply::redirect("plain"),
        "/to-private" => Reply::redirect("http://private.test/secret"),
        "/to-loopback" => Reply::redirect("http://127.0.0.1/secret"),
        "/to-mapped" => Reply::redirect("http://[::ffff:127.0.0.1]/"),
        "/to-metadata" => Reply::redirect("http://169.254.169.254/latest/meta-data/"),
        "/to-ssh" => Reply::redirect("http://127.0.0.1:22/"),
        "/to-file" => Reply::redirect("file:///etc/passwd"),
        "/to-gopher" => Reply::redirect("gopher://127.0.0.1/"),
        "/to-nowhere" => Reply::with("301 Moved", "x: y", b""),
        path => match path.strip_prefix("/step/").and_then(|left| left.parse::<usize>().ok()) {
            Some(0) => Reply::html("<title>The last step</title>"),
            Some(left) => Reply::redirect(&format!("/step/{}", left - 1)),
            None => Reply::with("404 Not Found", HTML, b""),
        },
    }
}

#[tokio::test]
async fn titles_are_fetched() {
    let pages = PageServer::start(pages).await;
    let (_server, alice) = site(&pages, &[("site.url", "https://news.example.com")]).await;
    let last_step = format!("/step/{TITLE_REDIRECTS}");
    for (path, title) in [
        ("/plain", "A title & more"),
        ("/query?a=1#b", "With a query"),
        ("/social", "The \"text\""),
        ("/latin", "café"),
        ("/xhtml", "X"),
        ("/large", "Early"),
        ("/just-in-time", "In time"),
        ("/chunked", "Chunked"),
        ("/broken", "Broken off"),
        ("/relative", "A title & more"),
        (&*last_step, "The last step"),
    ] {
        assert_eq!(fetched(&alice, &pages.url(path)).await, title, "{path}");
    }
    let head = pages.requests().remove(0).to_ascii_lowercase();
    let host = format!("host: {PAGES_NAME}:{}\r\n", pages.address.port());
    for line in ["get /plain http/1.1\r\n", &host, "accept-encoding: identity\r\n", "connection: close\r\n"] {
        assert!(head.contains(line), "{line} in {head}");
    }
    assert!(head.contains("user-agent: tidings/") && head.contains("(+https://news.example.com/)"), "{head}");
    for private in ["cookie", "referer", "authorization", "apisecret", "forwarded"] {
        assert!(!head.contains(private), "{head}");
    }
}

#[tokio::test]
async fn pages_without_a_title_are_refused_in_words_of_ours() {
    let pages = PageServer::start(pages).await;
    let (_server, alice) = site(&pages, &[]).await;
    let too_many = format!("/step/{}", TITLE_REDIRECTS + 1);
    for (path, message) in [
        ("/none", "This page has no title."),
        ("/late", "This page has no title."),
        ("/picture", "There is no web page at this address."),
        ("/no-type", "There is no web page at this address."),
        ("/packed", "There is no web page at this address."),
        ("/missing", "The site did not return this page (status 404)."),
        ("/failing", "The site did not return this page (status 500)."),
        ("/garbage", "The site could not be reached."),
        ("/long-head", "The site could not be reached."),
        ("/again", "This page redirects too many times."),
        (&*too_many, "This page redirects too many times."),
        ("/to-file", "This page redirects to something that is not a web page."),
        ("/to-gopher", "This page redirects to something that is not a web page."),
        ("/to-nowhere", "This page redirects to something that is not a web page."),
    ] {
        assert_eq!(refusal(&alice, &pages.url(path)).await, message, "{path}");
    }
    refused_saying(alice.api_post("/api/fetchtitle", &[]).await, "The field url is wrong: it is missing.");
    for url in ["", "example.com/foo", "ftp://example.com/", "http://user:pass@example.com/"] {
        refusal(&alice, url).await;
    }
    let heads = pages.requests();
    assert_eq!(heads.iter().filter(|head| head.starts_with("GET /again ")).count(), TITLE_REDIRECTS + 1);
}

#[tokio::test]
async fn only_public_addresses_are_connected_to_also_after_redirects() {
    let pages = PageServer::start(pages).await;
    // Another server of the machine, on the port that is let through.
    let neighbour = SocketAddr::new("127.0.0.2".parse().unwrap(), pages.address.port());
    let neighbour = PageServer::start_at(neighbour, |_| Reply::html("<title>Secret</title>")).await;
    let (_server, alice) = site(&pages, &[]).await;
    let port = pages.address.port();
    let private = "http://127.0.0.1/ https://127.0.0.1/ http://2130706433/ http://0x7f000001/ \
        http://0x7f.1/ http://017700000001/ http://127.1/ http://127.0.0.1./ http://%31%32%37.0.0.1/ \
        http://0/ http://localhost/ http://[::1]/ http://[::]/ http://[::ffff:127.0.0.1]/ \
        http://[::ffff:7f00:1]/ http://[::127.0.0.1]/ http://[64:ff9b::7f00:1]/ http://[2002:7f00:1::]/ \
        http://[fe80::1]/ http://[fd00::1]/ http://10.0.0.1/ http://100.64.0.1/ \
        http://169.254.169.254/latest/meta-data/ http://172.16.0.1/ http://192.168.0.1/ http://192.0.2.1/ \
        http://198.18.0.1/ http://224.0.0.1/ http://255.255.255.255/ http://private.test/ \
        http://mixed.test/ http://nowhere.test/";
    let here = [
        format!("http://mixed.test:{port}/"),
        format!("http://127.0.0.2:{port}/"),
        format!("http://[::1]:{port}/"),
    ];
    let redirects = ["/to-private", "/to-loopback", "/to-mapped", "/to-metadata"].map(|path| pages.url(path));
    for url in private.split(' ').chain(here.iter().chain(&redirects).map(String::as_str)) {
        assert_eq!(refusal(&alice, url).await, NOT_PUBLIC, "{url}");
    }
    const PORTS: &str = "Titles can be fetched only from ports 80 and 443.";
    for url in
        ["http://127.0.0.1:22/", "http://example.com:8080/", "https://[::1]:6379/", &pages.url("/to-ssh")]
    {
        assert_eq!(refusal(&alice, url).await, PORTS, "{url}");
    }
    assert_eq!(neighbour.requests(), Vec::<String>::new());
    assert_eq!(pages.requests().len(), 5);
}

#[tokio::test]
async fn the_program_reaches_no_server_of_its_own_machine() {
    let pages = PageServer::start(pages).await;
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    let url = format!("http://{}/plain", pages.address);
    refusal(&alice, &url).await;
    assert_eq!(refusal(&alice, "http://localhost/").await, NOT_PUBLIC);
    assert_eq!(pages.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_site_that_does_not_answer_is_given_up() {
    let pages = PageServer::start(pages).await;
    let network = pages.network();
    let server = Server::start_adjusted(&[], |settings| {
        settings.titles.network = network;
        settings.titles.timeout = SOON;
    })
    .await;
    let alice = server.member("alice").await;
    for path in ["/silent", "/endless"] {
        assert_eq!(refusal(&alice, &pages.url(path)).await, "The site did not answer in time.", "{path}");
    }
}

#[tokio::test]
async fn a_certificate_must_be_valid() {
    let pages = PageServer::start_with_tls(|_| Reply::html("<title>Over TLS</title>")).await;
    let url = format!("https://{}/", pages.address);
    let (_server, alice) = site(&pages, &[]).await;
    assert_eq!(refusal(&alice, &url).await, "The site has no valid certificate.");
    assert_eq!(pages.requests(), Vec::<String>::new());
    let mut network = pages.network();
    network.certificate = Some(CertificateDer::from_pem_slice(&pages.certificate()).unwrap().to_vec());
    let server = Server::start_adjusted(&[], |settings| settings.titles.network = network).await;
    let alice = server.member("alice").await;
    assert_eq!(fetched(&alice, &url).await, "Over TLS");
    // It is valid for the address only.
    let by_name = format!("https://{PAGES_NAME}:{}/", pages.address.port());
    assert_eq!(refusal(&alice, &by_name).await, "The site has no valid certificate.");
}

#[tokio::test]
async fn one_person_fetches_one_title_in_ten_seconds_and_an_address_30_a_minute() {
    const RATES: Settings<'_> =
        &[("rates.fetch_title_per_account", "1/10s"), ("rates.fetch_title_per_address", "30/1m")];
    // A name has to be looked up before it can be refused.
    const LOOKED_UP: &str = "http://localhost/";
    each_engine(RATES, async |server| {
        let admin = server.administrator("admin").await;
        let bob = server.member("bob").await;
        for client in [&admin, &bob] {
            assert_eq!(refusal(client, LOOKED_UP).await, NOT_PUBLIC);
            let too_early = client.post("/api/fetchtitle", &[("url", LOOKED_UP)]).await;
            assert_eq!(too_early.status, StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(too_early.headers[RETRY_AFTER], "10");
            assert!(refused(too_early.json()).starts_with("Too many fetched titles"));
        }
        server.advance(10);
        // A URL that needs no look-up costs nothing.
        refusal(&bob, "example.com").await;
        assert_eq!(refusal(&bob, "http://127.0.0.1/").await, NOT_PUBLIC);
        refusal(&bob, "http://example.com:8080/").await;
        assert_eq!(refusal(&bob, LOOKED_UP).await, NOT_PUBLIC);
        let many = server.members(31).await;
        for member in &many[..27] {
            refusal(member, LOOKED_UP).await;
        }
        let mut last = StatusCode::OK;
        for member in &many[27..] {
            last = member.post("/api/fetchtitle", &[("url", LOOKED_UP)]).await.status;
        }
        assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    })
    .await;
}

#[tokio::test]
async fn the_default_rate_is_one_in_ten_seconds() {
    let rates = tidings_domain::values::rules::RateRules::default();
    let rate = rates.fetch_title_per_account;
    assert_eq!((rate.count(), rate.period()), (1, Duration::from_secs(10)));
    assert_eq!(rate.share(rates.new_account_share), rate);
}

#[tokio::test]
async fn so_many_titles_are_fetched_at_the_same_time() {
    let pages = PageServer::start(pages).await;
    let (server, alice) = site(&pages, &[("web.trusted_proxies", "127.0.0.0/8")]).await;
    let (slow, url) = (pages.url("/silent"), pages.url("/plain"));
    // Each account has two of them, and each network four.
    let people = server.members(MAX_TITLE_FETCHES / TITLE_FETCHES_OF_ACCOUNT).await;
    let mut waiting = Vec::new();
    for (number, person) in people.iter().enumerate() {
        let person = person.clone().forwarded_for(&format!("203.0.{number}.1"));
        for _ in 0..TITLE_FETCHES_OF_ACCOUNT {
            let (person, slow) = (person.clone(), slow.clone());
            waiting
                .push(tokio::spawn(async move { person.post("/api/fetchtitle", &[("url", &slow)]).await }));
        }
    }
    pages.wait_for_requests(MAX_TITLE_FETCHES).await;
    let busy = alice.post("/api/fetchtitle", &[("url", &url)]).await;
    assert_eq!(busy.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(busy.headers.contains_key(RETRY_AFTER));
    assert_eq!(pages.requests().len(), MAX_TITLE_FETCHES);
    // Other calls are answered meanwhile.
    ok(server.visitor().api_get("/api/getnews/top/0/1").await);
    for task in waiting {
        assert_eq!(refused(task.await.unwrap().json()), "The site did not answer in time.");
    }
    assert_eq!(fetched(&alice, &url).await, "A title & more");
}

#[tokio::test]
async fn an_operator_switches_it_off() {
    let pages = PageServer::start(pages).await;
    let (server, alice) = site(&pages, &[("web.fetch_titles", "false")]).await;
    let off = "This site does not fetch titles. Enter one yourself.";
    assert_eq!(refusal(&alice, &pages.url("/plain")).await, off);
    assert_eq!(pages.requests(), Vec::<String>::new());
    let page = crate::pages::page(&alice, "/submit").await;
    assert!(page.find("button", &[("value", "fetch_title")]).is_empty());
    assert_eq!(refused(server.visitor().call("/api/fetchtitle?url=x").await), "You must be logged in.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_client_has_gone_is_finished_before_the_server_stops() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let pages = PageServer::start(move |_| {
        // The page comes when the test says so.
        held.lock().unwrap().recv().ok();
        Reply::html("<title>A page</title>")
    })
    .await;
    let (server, alice) = site(&pages, &[]).await;
    let secret = alice.apisecret.as_deref().unwrap();
    let body = encoded(&[("apisecret", secret), ("url", &pages.url("/"))]);
    let request = format!(
        "POST /api/fetchtitle HTTP/1.1\r\nHost: localhost\r\nCookie: auth={}\r\nContent-Type: {FORM}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        alice.auth.as_deref().unwrap(),
        body.len()
    );
    let mut client = TcpStream::connect(server.address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    pages.wait_for_requests(1).await;
    drop(client);
    let mut stopping = tokio::spawn(server.stop());
    assert!(timeout(SOON, &mut stopping).await.is_err(), "the server did not wait");
    release.send(()).unwrap();
    stopping.await.unwrap();
}
