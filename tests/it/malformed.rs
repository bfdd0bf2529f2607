//! Requests that no form of ours would send: answered as documented, and never written.

use proptest::strategy::{Just, Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use reqwest::{Method, StatusCode};
use tidings_keyspace::Entry;
use tidings_web::limits::SHORT_BODY_BYTES;
use tidings_web::route::BodySize;
use tidings_web::router::routes;
use tokio::sync::OnceCell;

use crate::addresses::{Address, REQUIRED, calls, forms};
use crate::client::{Client, FORM, HttpResponse, encoded, ok, refused};
use crate::consistency::Dump;
use crate::html::Page;
use crate::mails::send_all;
use crate::server::{Engine, Server, in_memory};
use crate::smtp_server::SmtpServer;

/// A site with alice, who is about to be misused, an item of hers, one of
/// bob's, and a comment of bob's. Alice is the administrator.
pub struct Target {
    pub server: Server,
    alice: Client,
    _relay: SmtpServer,
}

impl Target {
    /// A copy of a site that is made once.
    pub async fn new() -> Self {
        static MADE: OnceCell<Vec<Entry>> = OnceCell::const_new();
        let entries = MADE
            .get_or_init(async || {
                let target = Self::make().await;
                let page = target.server.store().scan(None, 10_000).await.unwrap();
                assert_eq!(page.next, None);
                page.entries
            })
            .await;
        let (server, relay) = Self::start().await;
        server.store().restore(entries.clone()).await.unwrap();
        let alice = server.client_of(1).await;
        Self { server, alice, _relay: relay }
    }

    async fn start() -> (Server, SmtpServer) {
        let relay = SmtpServer::start().await;
        (Server::start(Engine::Memory, &[("mail.relay", &relay.relay())]).await, relay)
    }

    async fn make() -> Self {
        let (server, relay) = Self::start().await;
        let alice = server.register("alice").await;
        ok(alice.update_profile("", "alice@example.org", "").await);
        send_all(&server).await;
        let bob = with_password(&server, "bob").await;
        alice.submit_on("rust, go", "Alice's").await;
        bob.submit_text("Bob's", "text").await;
        bob.comment(1, "text").await;
        ok(alice.moderate("hold", ("user", "bob"), &[("reason", "new")]).await);
        ok(alice.call("/api/moderate/rule?what=phrase&pattern=nonsense&effect=refuse&reason=new").await);
        ok(alice.call("/api/moderate/bans?what=domain&value=spam.example&scope=both&reason=spam").await);
        ok(alice.call("/api/flag?kind=comment&id=1-1&reason=spam").await);
        // So that alice may leave.
        server.set_field("user:2", "flags", "a").await;
        Self { server, alice, _relay: relay }
    }

    pub async fn dump(&self) -> Dump {
        self.server.dump().await
    }

    /// The client that makes a call.
    pub fn client(&self, call: &Address) -> Client {
        if call.signed { self.alice.clone() } else { self.server.visitor() }
    }

    /// The good fields of a call, as a form, without one field.
    pub fn form_without(&self, call: &Address, left_out: &str) -> String {
        let mut fields: Vec<(&str, &str)> =
            call.fields.iter().map(|(name, value, _)| (*name, *value)).collect();
        if call.signed {
            fields.push(("apisecret", self.alice.apisecret.as_deref().unwrap()));
        }
        fields.retain(|(name, _)| *name != left_out);
        encoded(&fields)
    }

    /// The names of all fields of a call.
    pub fn names(call: &Address) -> Vec<&'static str> {
        let secret = call.signed.then_some("apisecret");
        call.fields.iter().map(|(name, _, _)| *name).chain(secret).collect()
    }

    /// Sends a form; by GET too where that is taken.
    pub async fn send(&self, call: &Address, form: &str) -> Vec<HttpResponse> {
        let client = self.client(call);
        let mut answers = vec![client.post_bytes(call.path, FORM, form.as_bytes().to_vec()).await];
        if call.takes_get && form.len() < 8_000 {
            answers.push(client.get(&format!("{}?{form}", call.path)).await);
        }
        answers
    }
}

/// A member whose password is the usual one. The hash is the first account's: hashing is slow.
async fn with_password(server: &Server, name: &str) -> Client {
    let member = server.member(name).await;
    let password = server.field("user:1", "password").await.unwrap();
    server.set_field(&format!("user:{}", member.user_id), "password", &password).await;
    member
}

/// The calls and the forms of pages. Pages get the same as calls, and answer with a page that says so.
fn addresses() -> impl Iterator<Item = Address> {
    calls().chain(forms())
}

/// Checks that an answer refuses a call with a status, as JSON, or a form with one of these; returns the reason.
#[track_caller]
fn check_refused(answer: &HttpResponse, (call, forms): (StatusCode, &[u16]), what: &str) -> String {
    if answer.headers["content-type"] == "application/json" {
        assert_eq!(answer.status, call, "{what}: {}", answer.text());
        return refused(answer.json());
    }
    assert!(forms.contains(&answer.status.as_u16()), "{what}: {}", answer.status);
    assert!(!answer.headers.contains_key("set-cookie"), "{what}");
    Page::of(answer).alert().unwrap_or_else(|| panic!("a message: {what}")).to_owned()
}

const BAD_REQUEST: (StatusCode, &[u16]) = (StatusCode::BAD_REQUEST, &[400]);

#[tokio::test]
async fn good_calls_and_forms_are_accepted_so_that_the_others_could_be() {
    for address in addresses() {
        let target = Target::new().await;
        for answer in target.send(&address, &target.form_without(&address, "")).await {
            let is_one_of_two = address.path.starts_with("/settings/two-factor/");
            let stays = ["/reset-password", "/appeal"].contains(&address.path) || is_one_of_two;
            if address.path.starts_with("/api/") {
                ok(answer.json());
            } else {
                let expected = if stays { StatusCode::OK } else { StatusCode::SEE_OTHER };
                assert_eq!(answer.status, expected, "{}", address.path);
            }
        }
    }
}

#[tokio::test]
async fn a_missing_field_is_refused_and_named() {
    let target = Target::new().await;
    let before = target.dump().await;
    for address in addresses() {
        for (name, _, _) in address.fields.iter().filter(|(_, _, optional)| *optional == REQUIRED) {
            for answer in target.send(&address, &target.form_without(&address, name)).await {
                let told = check_refused(&answer, (StatusCode::OK, &[400]), address.path);
                // Pages name no fields.
                let is_call = address.path.starts_with("/api/");
                let is_named = told == format!("The field {name} is wrong: it is missing.");
                assert_eq!(is_named, is_call, "{}: {told}", address.path);
            }
        }
        if address.signed {
            let answers = target.send(&address, &target.form_without(&address, "apisecret")).await;
            check_refused(&answers[0], (StatusCode::OK, &[403]), address.path);
        }
        // A call without fields is whole when it is empty.
        if address.signed || !address.fields.is_empty() {
            for body in ["", "unknown=1"] {
                for answer in target.send(&address, body).await {
                    let of_form: &[u16] = if address.signed { &[403] } else { &[400] };
                    check_refused(&answer, (StatusCode::OK, of_form), address.path);
                }
            }
        }
    }
    assert_eq!(target.dump().await, before);
}

/// Bodies that are no plain forms because of one field: given the whole form
/// and the form without the field.
fn no_forms(whole: &str, others: &str, name: &str) -> [String; 11] {
    [
        format!("{whole}&{name}=1&{name}=2"),
        format!("{whole}&{name}=1&{name}=1"),
        format!("{whole}&{name}[]=1"),
        format!("{others}&{name}[]=1"),
        format!("{others}&{name}[a]=1"),
        format!("{others}&{name}%5B%5D=1"),
        format!("{whole}&user[flags]=a"),
        format!("{others}&{name}=%FF%FE"),
        format!("{others}&{name}=%C0%80"),
        format!("{others}&{name}=%ED%A0%80"),
        format!("{whole}&%FF=1"),
    ]
}

/// Bodies that are not UTF-8.
const NOT_UTF_8: [&[u8]; 3] = [b"\xff\xfe\xfd", b"\x80=\x80", b"a=1&\xc3\x28=2"];

/// Content types of bodies that are no forms, with bars between them.
const NO_FORM_TYPES: &str = "application/json|text/plain|multipart/form-data; boundary=x|\
    application/x-www-form-urlencodedx|x/y; application/x-www-form-urlencoded||;|\u{fc}";

#[tokio::test]
async fn what_is_no_form_is_a_bad_request() {
    let target = Target::new().await;
    let before = target.dump().await;
    for address in addresses() {
        let whole = target.form_without(&address, "");
        let next = (!address.path.starts_with("/api/")).then_some("next");
        for name in Target::names(&address).into_iter().chain(next).chain(["unknown"]) {
            for form in no_forms(&whole, &target.form_without(&address, name), name) {
                for answer in target.send(&address, &form).await {
                    check_refused(&answer, BAD_REQUEST, &format!("{} {form}", address.path));
                }
            }
        }
        let many: String = (0..70).map(|number| format!("&f{number}=1")).collect();
        for answer in target.send(&address, &format!("{whole}{many}")).await {
            check_refused(&answer, BAD_REQUEST, address.path);
        }
        for bytes in NOT_UTF_8 {
            let answer = target.client(&address).post_bytes(address.path, FORM, bytes.to_vec()).await;
            check_refused(&answer, BAD_REQUEST, address.path);
        }
        for content_type in NO_FORM_TYPES.split('|') {
            let body = whole.clone().into_bytes();
            let answer = target.client(&address).post_bytes(address.path, content_type, body).await;
            check_refused(&answer, BAD_REQUEST, &format!("{} {content_type:?}", address.path));
        }
        let large = format!("{whole}&unknown={}", "x".repeat(1_000_000));
        for answer in target.send(&address, &large).await {
            check_refused(&answer, (StatusCode::PAYLOAD_TOO_LARGE, &[413]), address.path);
        }
    }
    assert_eq!(target.dump().await, before);
}

#[tokio::test]
async fn a_form_may_name_its_type_in_any_case_and_with_parameters() {
    let target = Target::new().await;
    let call = calls().find(|call| call.path == "/api/votenews").unwrap();
    let form = target.form_without(&call, "").into_bytes();
    let content_type = "Application/X-WWW-Form-URLEncoded; charset=utf-8";
    ok(target.alice.post_bytes(call.path, content_type, form).await.json());
}

/// Texts that are no topics, with bars between them.
const BAD_TOPICS: &str = "\0|a|Rust|c++|a b|rust\u{202e}|ржа|group:rust|../rust|<script>|rust,go,*|\
    a-name-that-is-longer-than-thirty-one";

/// A field, and what must never be accepted in it, with bars between.
const BAD_VALUES: &[(&str, &str)] = &[
    ("topics", BAD_TOPICS),
    ("topic", BAD_TOPICS),
    ("name", BAD_TOPICS),
    ("into", BAD_TOPICS),
    (
        "news_id",
        "|0|-2|--1|+1|01|1.0|1e0| 1|1 |1\n|1\0|one|nextid|1;2|1,2|١|9223372036854775807|\
        9223372036854775808|-9223372036854775808|99999999999999999999999999999999999999|NaN|Infinity|\
        1-1|*|../1|' or 1=1 --",
    ),
    (
        "comment_id",
        "|1|1-|-1-1|1-0|1--1|1-nextid|0-1|1-1-1|1:1|99999999999999999999-1|1-99999999999999999999|\
        1-1\0|1-1 |nextid",
    ),
    ("tweet_id", "|0|-1|+1|01|1.0|1 |1\0|one|ids|999|99999999999999999999|1-1"),
    ("id", "|1|ALL|all |reply|reply:1|reply:1-0|reply:1-1\0|follow:|mention:tweet:0|x:1"),
    ("feed", "|NEW|on|new |off\0"),
    ("shortcuts", "|ON|1|off |off\0"),
    ("digest", "|monthly|0|daily |daily\0"),
    ("mail_replies", "|2|-1|01|on|yes|1 |1\0"),
    ("sort_comments", "|best|0|newest |newest\0"),
    ("theme", "|black|0|dark |dark\0"),
    ("text_size", "|huge|0|large |large\0"),
    ("tweet_news", "|2|-1|01|on|yes|1 |1\0"),
    (
        "fullname",
        "\0|a\0b|a\nb|a\r\nSet-Cookie: x=y|a\u{202e}b|a\u{2028}b|\
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ),
    ("speaking_as", "member|Moderator|1"),
    ("parent_id", "|0|-2|nextid|1.0|1-1|99999999999999999999|1\0"),
    ("vote_type", "|UP|up |up\0|sideways|1|down\n|updown|<script>"),
    (
        "url",
        "javascript:alert(1)|JAVASCRIPT://example.com/%0aalert(1)|data:text/html,x|vbscript:x|\
        file:///etc/passwd|text://x|//example.com|http:|http://|http://?|http://#|http://\0|\
        http://a b|http://[::1|http://example.com:99999/|\u{1}javascript:alert(1)|\
        java\nscript:alert(1)|http://example.com/\u{202e}gpj|http://exa\0mple.com/",
    ),
    ("title", "| |\0|a\0b|a\nb|a\r\nSet-Cookie: x=y|\u{202e}|\u{feff}|a\u{7f}"),
];

#[tokio::test]
async fn ids_directions_and_urls_out_of_this_world_are_refused_and_write_nothing() {
    let target = Target::new().await;
    let before = target.dump().await;
    let mut tried = 0;
    for address in addresses() {
        for &(name, values) in BAD_VALUES {
            if address.fields.iter().all(|(known, _, _)| *known != name) {
                continue;
            }
            let others = target.form_without(&address, name);
            for value in values.split('|') {
                // An empty id of a comment is no address, but one number alone is an edit of that comment.
                if address.path.ends_with("/postcomment") && (name, value) == ("comment_id", "1") {
                    continue;
                }
                // Without a URL the text is the item.
                let form = format!("{others}&{}", encoded(&[(name, value)]));
                for answer in target.send(&address, &form).await {
                    // An id that could be one is of nothing that is there.
                    let statuses = (StatusCode::OK, &[400, 403, 404, 422][..]);
                    check_refused(&answer, statuses, &format!("{} {name}={value:?}", address.path));
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(target.dump().await, before);
    assert!(tried > 300, "{tried}");
}

#[tokio::test]
async fn long_values_and_control_characters_never_make_an_error_of_ours() {
    let (long, short) = ("x".repeat(60_000), "x".repeat(7_000));
    let four_bytes = "%F0%9F%A6%80".repeat(5_000);
    let values = "%00 a%00b %1B%5B31m %0D%0A %E2%80%AE %F0%9F%A6%80 %2A %7B%7D";
    for address in addresses() {
        // Some of these are harmless in some fields: a new site for each address.
        let target = Target::new().await;
        let is_call = address.path.starts_with("/api/");
        let next = (!is_call).then_some("next");
        for name in Target::names(&address).into_iter().chain(next) {
            let others = target.form_without(&address, name);
            for value in values.split(' ').chain([&*long, &short, &four_bytes]) {
                let form = format!("{others}&{name}={value}");
                for answer in target.send(&address, &form).await {
                    if is_call {
                        check_answered(&answer, (address.path, name), form.len());
                        continue;
                    }
                    assert!(!answer.status.is_server_error(), "{} {name}={value:.9}", address.path);
                    if answer.status != StatusCode::SEE_OTHER {
                        Page::of(&answer);
                    }
                }
            }
        }
        crate::consistency::check(&target.dump().await);
    }
}

/// Checks that a call has an answer, whether it does something or not.
#[track_caller]
fn check_answered(answer: &HttpResponse, (path, name): (&str, &str), length: usize) {
    let route = routes().find(&Method::POST, path);
    let is_large = length > SHORT_BODY_BYTES && route.body == BodySize::Short;
    // A name that nobody has.
    let is_unknown = name == "username" && ["follow", "block"].iter().any(|end| path.ends_with(end));
    let expected = match answer.status {
        // A GET has no body.
        StatusCode::PAYLOAD_TOO_LARGE if is_large => StatusCode::PAYLOAD_TOO_LARGE,
        _ if is_unknown => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    };
    assert_eq!(answer.status, expected, "{path} {name}");
    let answer = answer.json();
    assert!(["ok", "err"].contains(&answer["status"].as_str().unwrap()), "{answer}");
}

/// Bodies that look a little like forms.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let name = |call: Address| Target::names(&call);
    let names: Vec<&'static str> = calls().flat_map(name).chain(["", "a[]", "nextid"]).collect();
    let values =
        vec!["", "-1", "0", "1", "2", "1-1", "up", "down", "%00", "%FF", "alice", "x", "a=b", "%", "%4", "+"];
    let pair = (proptest::sample::select(names), proptest::sample::select(values))
        .prop_map(|(name, value)| format!("{name}={value}").into_bytes());
    let part = proptest::prop_oneof![
        4 => pair,
        1 => proptest::collection::vec(proptest::num::u8::ANY, 0..12),
        1 => Just(b"&&".to_vec()),
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.join(&b'&'))
}

#[tokio::test]
async fn random_bodies_without_the_secret_write_nothing_and_fail_nothing() {
    let target = Target::new().await;
    let before = target.dump().await;
    let mut runner = TestRunner::deterministic();
    for round in 0..60 {
        for call in calls() {
            let body = bodies().new_tree(&mut runner).unwrap().current();
            let answer = target.client(&call).post_bytes(call.path, FORM, body.clone()).await;
            let shown = format!("round {round} {}: {}", call.path, body.escape_ascii());
            assert!([StatusCode::OK, StatusCode::BAD_REQUEST].contains(&answer.status), "{shown}");
            let answer = answer.json();
            // An unknown pair of user and address gets an answer like a known one, and any text
            // has a preview.
            if !["/api/reset-password", "/api/preview"].contains(&call.path) {
                assert_eq!(answer["status"], "err", "{shown}");
            }
        }
    }
    assert_eq!(target.dump().await, before);
}

#[tokio::test]
async fn malformed_cookies_are_ignored() {
    let target = Target::new().await;
    let before = target.dump().await;
    let auth = target.alice.auth.clone().unwrap();
    let cookies = "auth|auth=|=|;;;|auth=;auth=|auth=%00|auth=../../etc/passwd|auth=*|\
        AUTH=0000000000000000000000000000000000000000|auth=0000000000000000000000000000000000000000|\
        auth=zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz|auth[]=0000000000000000000000000000000000000000|\
        auth=\u{fc}\u{1f980}";
    for cookie in cookies.split('|').chain([
        &*format!("auth={auth}0"),
        &format!("auth={}", &auth[1..]),
        &format!("notauth={auth}"),
        &format!("auth = nonsense; xauth={auth}"),
        &format!("a={}", "x".repeat(8_000)),
    ]) {
        let client = target.server.visitor().with_header("cookie", cookie);
        ok(client.api_get("/api/getnews/top/0/30").await);
        let secret = target.alice.apisecret.as_deref().unwrap();
        assert_eq!(
            refused(client.call(&format!("/api/votenews?news_id=2&vote_type=up&apisecret={secret}")).await),
            "You must be logged in.",
            "{cookie}"
        );
    }
    assert_eq!(target.dump().await, before);
}

#[tokio::test]
async fn unusual_requests_get_a_response() {
    let target = Target::new().await;
    let before = target.dump().await;
    let visitor = target.server.visitor();
    for (request, status) in [
        ("GET /api/getnews/top/0/30 HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n", 400),
        ("GET /api/getnews/top/0/30 HTTP/1.0\r\n\r\n", 400),
        ("GET /api/getnews/top/0/30 HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
        ("GET /api/getnews/top/0/30 HTTP/1.1\r\nHost: evil\"><script>\r\nConnection: close\r\n\r\n", 400),
        (
            "GET http://evil.example/api/getnews/top/0/30 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            400,
        ),
        (
            "GET /api/login?username=%zz&password=%q HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            200,
        ),
        ("GET /api//getnews/top/0/30 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        ("GET /api/getnews/top/0/30/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        ("GET /api/../api/getnews HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        ("OPTIONS /api/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
        ("BREW /api/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
        (
            "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            200,
        ),
    ] {
        let answer = visitor.send_raw(request.as_bytes()).await;
        assert_eq!(answer.status.as_u16(), status, "{request}");
        let text = answer.text();
        assert!(text.contains(r#""status":"#), "{request}: {text}");
    }
    for request in
        [&b"GET /api/\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"[..], b"nonsense\r\n\r\n"]
    {
        let status = visitor.send_raw(request).await.status;
        assert!(status.is_client_error(), "{status}");
    }
    assert_eq!(target.dump().await, before);
}

#[in_memory]
async fn a_call_is_told_of_no_form(server: Server) {
    let alice = server.member("alice").await;
    let many: String = (0..70).map(|number| format!("f{number}=1&")).collect();
    let without = server.visitor().with_secrets(alice.auth.as_deref(), None);
    let elsewhere = alice.clone().with_header("sec-fetch-site", "cross-site");
    for answer in [
        without.post("/api/votenews", &[("news_id", "1"), ("vote_type", "up")]).await,
        elsewhere.post("/api/votenews", &[("news_id", "1"), ("vote_type", "up")]).await,
        alice.get(&format!("/api/moderations?{many}")).await,
        alice.get("/api/moderations?count=%FF").await,
    ] {
        let message = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(!message.contains("form") && !message.contains("page and try again"), "{message}");
    }
    // A page has one.
    let page = without.post("/votenews", &[("news_id", "1"), ("vote_type", "up")]).await;
    assert!(page.text().contains("This form belongs to an earlier session."));
}
