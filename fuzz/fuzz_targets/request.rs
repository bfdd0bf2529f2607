//! Any request to the whole site, by a visitor or by a member: it is answered, never with a
//! 500, and within the bound on the size of answers.

#![no_main]

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::net::SocketAddr;
use tidings_testing::client::Client;
use tidings_testing::server::{Engine, Server};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;

/// The most bytes in an answer: those of an answer of the API.
const ANSWER_BYTES: usize = 2 * 1024 * 1024;
/// Requests to one site. Then the next site is started, so that memory does not grow.
const REQUESTS: u32 = 5_000;

/// A stream of events, which does not end.
const ENDLESS: &str = "/home/events";

/// Beginnings of addresses, so that the rest of them is not spent on finding routes.
const PLACES: &[&str] = &[
    "/",
    "/latest/",
    "/topic/",
    "/news/",
    "/comment/",
    "/@",
    "/user/",
    "/usernews/",
    "/usercomments/",
    "/tweet/",
    "/site/",
    "/sites/",
    "/home?",
    "/everyone?",
    "/submit?",
    "/login?",
    "/reset-password/",
    "/saved/",
    "/reply/",
    "/editcomment/",
    "/api/getnews/",
    "/api/articles/",
    "/api/topic/",
    "/api/getcomments/",
    "/api/timeline/everyone?",
    "/api/timeline/user/",
    "/api/followers/",
    "/api/sites/history/",
    "/api/sites/leaderboard/",
    "/api/sites/prefix/",
    "/api/sites/admin/voter/",
    "/api/sites/admin/top_voters/",
    "/scores?for=",
    "/v1/scores?from=",
    "/api/submit",
    "/api/postcomment",
    "/api/votenews",
    "/api/votecomment",
    "/api/tweet",
    "/api/follow",
    "/api/updateprofile",
    "/api/sites/vote",
    "/postcomment",
    "/submit",
    "/settings",
    "/vote",
    "/v1/vote",
    "/api/sites/own",
    "/votesite",
    "/votenews",
    "/admin/sites/settings",
];

#[derive(Debug, Arbitrary)]
struct Sent<'a> {
    is_post: bool,
    is_member: bool,
    place: u8,
    rest: &'a str,
    headers: Vec<(u8, &'a [u8])>,
    is_json: bool,
    body: &'a [u8],
}

/// Headers that the site reads.
const HEADERS: [HeaderName; 9] = [
    header::HOST,
    header::COOKIE,
    header::USER_AGENT,
    header::ORIGIN,
    header::ACCEPT_ENCODING,
    header::IF_NONE_MATCH,
    header::RANGE,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("sec-fetch-site"),
];

struct Site {
    /// Stops when it is dropped.
    _server: Server,
    router: Router,
    member: Client,
    answered: u32,
}

struct Rig {
    runtime: Runtime,
    site: Option<Site>,
}

thread_local! {
    static RIG: RefCell<Rig> = RefCell::new(Rig {
        runtime: Builder::new_current_thread().enable_all().build().expect("a runtime"),
        site: None,
    });
}

fuzz_target!(|sent: Sent| {
    let Some(request) = sent.path().parse::<Uri>().ok().map(|uri| sent.request(uri)) else {
        return;
    };
    RIG.with_borrow_mut(|Rig { runtime, site }| {
        if site.as_ref().is_none_or(|site| site.answered >= REQUESTS) {
            *site = None;
            *site = Some(runtime.block_on(Site::new()));
        }
        let site = site.as_mut().expect("a site was just started");
        site.answered += 1;
        runtime.block_on(site.ask(&sent, request));
    });
});

impl Sent<'_> {
    fn path(&self) -> String {
        let place = PLACES[usize::from(self.place) % PLACES.len()];
        // Bytes that a URI cannot hold are percent-encoded, as every client does.
        let rest: String = self
            .rest
            .bytes()
            .map(|byte| match byte {
                b'!'..=b'~' if byte != b'#' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect();
        format!("{place}{rest}")
    }

    fn request(&self, uri: Uri) -> Request<Body> {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = if self.is_post { Method::POST } else { Method::GET };
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1"));
        for (number, value) in &self.headers {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.append(HEADERS[usize::from(*number) % HEADERS.len()].clone(), value);
            }
        }
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 9))));
        request
    }
}

impl Site {
    async fn new() -> Self {
        let server = Server::start(Engine::Memory, &[]).await;
        let member = server.member("alice").await;
        server.set_field("user:1", "flags", "a").await;
        let news = member.submit_text("A title", "A text").await;
        let comment = member.comment(news, "A comment").await;
        member.reply(news, comment, "A reply").await;
        member.tweet("A tweet").await;
        let router = tidings_web::router::router(server.app.clone(), std::sync::Arc::default());
        Self { _server: server, router, member, answered: 0 }
    }

    async fn ask(&mut self, sent: &Sent<'_>, mut request: Request<Body>) {
        let path = request.uri().path().to_owned();
        if path == ENDLESS {
            return;
        }
        let mut body = sent.body.to_vec();
        if sent.is_member {
            let secret = self.member.apisecret.as_deref().unwrap_or_default();
            let cookie = format!("auth={}", self.member.auth.as_deref().unwrap_or_default());
            request.headers_mut().insert(header::COOKIE, cookie.parse().expect("a cookie"));
            body = [format!("apisecret={secret}&").as_bytes(), &body].concat();
        }
        if !sent.is_json {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers_mut().insert(header::CONTENT_TYPE, form);
        } else {
            body = sent.body.to_vec();
        }
        *request.body_mut() = Body::from(body);
        let answer = self.router.call(request).await;
        let (parts, body) = answer.expect("the router always answers").into_parts();
        // The calls of the original extension answer every mistake with 500 and a fixed text.
        if !path.starts_with("/v1/") {
            assert_ne!(parts.status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        }
        to_bytes(body, ANSWER_BYTES).await.expect("an answer within the bound");
    }
}
