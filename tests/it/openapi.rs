//! Makes every call of the OpenAPI document with valid and with invalid input; the sweep `malformed` makes those of
//! its table. The client compares all answers with the document.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::addresses::{self, REQUIRED};
use crate::api_document::{Call, DOCUMENT};
use crate::authenticator::code;
use crate::client::{Client, Fields, HttpResponse, PASSWORD, ok};
use crate::page_server::{PageServer, Reply};
use crate::server::{START, Server, http_client, in_memory};

const VOTER: &str = "beda0000-0822-4342-0990-b92d94d9489a";

/// The schema of the form of a call.
fn form_of((method, path): &Call) -> Option<&'static Value> {
    let place = format!("/paths/{}/{method}/requestBody", path.replace('/', "~1"));
    let (body, _) = DOCUMENT.resolved(place)?;
    body["content"].get("application/x-www-form-urlencoded")?.get("schema")
}

/// Checks that the document describes all fields of a form and requires no
/// other.
#[track_caller]
fn check_form(call: &Call, sent: &BTreeSet<&str>) {
    let form = form_of(call).unwrap();
    let described: BTreeSet<&str> =
        form["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let demanded: BTreeSet<&str> =
        form["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(sent.is_subset(&described), "{call:?}: of {sent:?} only {described:?} are described");
    assert!(demanded.is_subset(sent), "{call:?}: of {demanded:?} only {sent:?} were sent");
}

/// Whether the form of a call has a field.
fn takes(call: &Call, field: &str) -> bool {
    form_of(call).is_some_and(|form| !form["properties"][field].is_null())
}

/// Whether the document says that a call takes anything that could be wrong.
fn takes_input(call: &Call) -> bool {
    let described = DOCUMENT.call(call);
    ["parameters", "requestBody", "security"].iter().any(|part| described.get(part).is_some())
}

/// Makes calls, and records which succeeded and which were refused.
#[derive(Default)]
struct Asker {
    answered: BTreeSet<Call>,
    refused: BTreeSet<Call>,
}

impl Asker {
    fn note(&mut self, (method, address): (&'static str, &str), answer: &HttpResponse, is_good: bool) {
        let path = address.split('?').next().unwrap_or_default();
        let call = (method, DOCUMENT.path_of(path).unwrap_or_else(|| panic!("{address}")).to_owned());
        // Exports are no JSON, and neither is an answer without a body.
        let is_refusal = answer.body.starts_with(b"{") && answer.json()["status"] == "err";
        assert_eq!(answer.status.is_success() && !is_refusal, is_good, "{call:?} {address}: {answer:?}");
        if is_good {
            self.answered.insert(call)
        } else {
            self.refused.insert(call)
        };
    }

    /// Gets an address.
    async fn get(&mut self, client: &Client, address: &str, is_good: bool) {
        self.note(("get", address), &client.get(address).await, is_good);
    }

    /// Sends a form, first with what is refused. One that may have a name for the request is sent twice with the
    /// same one: the answers are equal.
    async fn form(&mut self, client: &Client, path: &str, good: Fields<'_>, bad: Fields<'_>) -> Value {
        let call = ("post", path.to_owned());
        self.note(("post", path), &client.post(path, bad).await, false);
        let takes_request = takes(&call, "request");
        let named = [("request", path)];
        let fields = [good, if takes_request { &named[..] } else { &[] }].concat();
        let secret = client.apisecret.as_ref().map(|_| "apisecret");
        check_form(&call, &fields.iter().map(|(name, _)| *name).chain(secret).collect());
        let answer = client.post(path, &fields).await;
        self.note(("post", path), &answer, true);
        if takes_request {
            assert_eq!(client.post(path, &fields).await.json(), answer.json(), "{path}");
        }
        answer.json()
    }

    /// Sends JSON, and other JSON that is refused.
    async fn json(&mut self, client: &Client, path: &str, good: &Value, bad: &Value) {
        for (sent, is_good) in [(bad, false), (good, true)] {
            let answer = client.post_bytes(path, "text/plain", sent.to_string().into_bytes()).await;
            self.note(("post", path), &answer, is_good);
        }
    }
}

/// Lets alice, who is an administrator, bob and others do what makes the answers long.
async fn community(alice: &Client, bob: &Client, visitor: &Client) {
    let book = "https://doc.rust-lang.org/book/";
    ok(alice.call(&format!("/api/submit?news_id=-1&title=The Rust Book&url={book}&topics=rust,go")).await);
    alice.submit_text("A text", "The text").await;
    ok(bob.vote(1, "up").await);
    bob.comment(2, "Top").await;
    bob.reply(2, 1, "Reply").await;
    ok(bob.edit_comment(2, 1, "").await);
    ok(alice.vote_comment(2, 2, "down").await);
    alice.tweet("Hello @bob").await;
    bob.follow("alice").await;
    ok(alice.api_post("/api/flag", &[("kind", "user"), ("id", "bob"), ("reason", "spam")]).await);
    ok(alice.moderate("silence", ("user", "bob"), &[("hours", "1")]).await);
    ok(bob.api_post("/api/appeal", &[("moderation_id", "1"), ("text", "No")]).await);
    ok(alice.undo(1).await);
    ok(alice.call("/api/moderate/bans?what=network&value=192.0.2.0/24&scope=both&reason=spam").await);
    ok(bob.api_post("/api/messages", &[("text", "Why?")]).await);
    ok(alice.call("/api/admin/announcement?text=We move&url=/about&hours=2&pinned=1").await);
    ok(alice
        .call("/api/admin/hooks?address=https://hooks.example.com/1&secret=correct horse&kinds=story")
        .await);
    ok(visitor.call(&format!("/api/create_account?username=carol&password={PASSWORD}")).await);
}

async fn read(asker: &mut Asker, [alice, bob, visitor]: [&Client; 3]) {
    let long = format!("/api/search/similar?title={}", "a".repeat(81));
    let prefix = format!("/api/sites/prefix/{}", &hex::encode(Sha256::digest("example.com"))[..4]);
    let voter = format!("/api/sites/admin/voter/{VOTER}");
    let votes = format!("{voter}/votes?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z");
    let not_votes = format!("{voter}/votes?from=now");
    let from = "/v1/scores?from=%7B%22links%22%3A%5B%7B%22hostname%22%3A%22Example.com%22%7D%5D%7D";
    for (client, good, bad) in [
        (bob, "/api/duplicate?url=doc.rust-lang.org/book/", "/api/duplicate?url="),
        (bob, "/api/duplicate?url=example.com", "/api/duplicate?url="),
        (bob, "/api/votes?of=1", "/api/votes?of=x"),
        (bob, "/api/search?q=rust+-go+votes:x", "/api/search?page=0"),
        (bob, "/api/search/suggest?q=rus", "/api/search/suggest?q=a&q=b"),
        (bob, "/api/search/similar?title=rust", &long),
        (bob, "/api/v1/search?query=a&tags=story", "/api/v1/search?tags=("),
        (bob, "/api/v1/search_by_date", "/api/v1/search_by_date?page=x"),
        (bob, "/api/v1/items/2", "/api/v1/items/99"),
        (bob, "/api/v1/users/bob", "/api/v1/users/nobody"),
        (bob, "/api/past/2027-01/0/32", "/api/past/2027/0/32"),
        (bob, "/api/getnews/latest/0/32", "/api/getnews/latest/0/33"),
        (visitor, "/api/getnews/top/0/1", "/api/getnews/latest/0/33"),
        (bob, "/api/articles/score/1", "/api/articles/score/0"),
        (bob, "/api/topic/rust/time/1", "/api/topic/-/time/1"),
        (alice, "/api/getcomments/2", "/api/getcomments/0"),
        (bob, "/api/timeline/home?count=2", "/api/timeline/home?count=0"),
        (visitor, "/api/timeline/everyone", "/api/timeline/everyone?before=now"),
        (visitor, "/api/timeline/user/alice?count=1", "/api/timeline/user/nobody"),
        (visitor, "/api/followers/alice?count=100", "/api/followers/alice?count=101"),
        (visitor, "/api/followings/bob", "/api/followings/nobody"),
        (bob, "/api/inbox", "/api/inbox?before=1"),
        (alice, "/api/inbox?count=1", "/api/inbox?count=0"),
        (alice, "/api/moderate/queue", "/api/moderate/queue?before=x"),
        (visitor, "/api/moderations", "/api/moderations?kind=host"),
        (visitor, "/api/moderations?count=1&action=silence", "/api/moderations?kind=host"),
        (alice, "/api/moderate/network/bob", "/api/moderate/network/nobody"),
        (alice, "/api/moderate/people?q=bob", "/api/moderate/people?q=bob&state=sad"),
        (bob, "/api/messages", "/api/messages?thread=99"),
        (visitor, "/scores?for=example.com,example.org", "/scores"),
        (visitor, from, "/v1/scores?from=%7B%7D"),
        (visitor, "/api/sites/history/example.com?days=7", "/api/sites/history/example.com?days=0"),
        (visitor, "/api/sites/leaderboard/best/week", "/api/sites/leaderboard/best/year"),
        (visitor, &prefix, "/api/sites/prefix/xyz"),
        (alice, &voter, "/api/sites/admin/voter/1"),
        (alice, &votes, &not_votes),
        (alice, "/api/sites/admin/top_voters/2027-01-15", "/api/sites/admin/top_voters/today"),
    ] {
        asker.get(client, bad, false).await;
        asker.get(client, good, true).await;
    }
    // Answers that only some may read.
    for (client, address, other) in [
        (bob, "/api/sessions", visitor),
        (bob, "/api/export", visitor),
        (bob, "/api/mutes", visitor),
        (bob, "/api/timeline/home", visitor),
        (alice, "/api/moderate/network/bob", visitor),
        (alice, "/api/moderate/bans", bob),
        (alice, "/api/moderate/reasons", bob),
        (alice, "/api/admin/announcement", bob),
        (alice, "/api/admin/hooks", bob),
        (alice, &voter, bob),
    ] {
        asker.get(other, address, false).await;
        asker.get(client, address, true).await;
    }
    asker.get(bob, "/api/topics", true).await;
    let bans = ok(alice.api_get("/api/moderate/bans").await);
    assert_eq!(bans["bans"][0]["value"], "192.0.2.0/24", "{bans}");
}

/// The calls that act and that the sweep `malformed` does not send.
async fn act(asker: &mut Asker, alice: &Client, visitor: &Client, page: &str) {
    asker.form(alice, "/api/fetchtitle", &[("url", page)], &[("url", "http://127.0.0.1/")]).await;
    let carol = visitor.log_in("carol", PASSWORD).await;
    let current = ("current_password", PASSWORD);
    let begun = asker.form(&carol, "/api/totp/begin", &[current], &[("current_password", "wrong")]).await;
    let code = code(begun["secret"].as_str().unwrap(), START);
    let confirmed = asker.form(&carol, "/api/totp/confirm", &[("code", &code)], &[("code", "no")]).await;
    let recovery = confirmed["recovery_codes"][1].as_str().unwrap();
    asker.form(&carol, "/api/totp/end", &[current, ("code", recovery)], &[current, ("code", "no")]).await;
    let vote = |link: &str| json!({"link": link, "vote": 1, "user_id": VOTER});
    asker.json(visitor, "/vote", &vote("example.com"), &vote("localhost")).await;
    let vote = |value: i64| json!({"link": {"hostname": "example.org"}, "value": value, "user_id": VOTER});
    asker.json(visitor, "/v1/vote", &vote(-1), &vote(0)).await;
    let links = |links: &[&str]| json!({"user_id": VOTER, "links": links});
    asker.json(visitor, "/api/sites/own", &links(&["example.com", "example.net"]), &links(&[])).await;
}

#[tokio::test]
async fn every_call_of_the_document_is_answered_and_refused() {
    let pages = PageServer::start(|_| Reply::html("<title>A page</title>")).await;
    let network = pages.network();
    let settings = [("search.enabled", "true")];
    let server = Server::start_adjusted(&settings, |settings| settings.titles.network = network).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let visitor = server.visitor();
    server.set_field(&format!("user:{}", alice.user_id), "flags", "a").await;
    server.set_karma(&alice, 100).await;
    let mut asker = Asker::default();
    community(&alice, &bob, &visitor).await;
    act(&mut asker, &alice, &visitor, &pages.url("/")).await;
    read(&mut asker, [&alice, &bob, &visitor]).await;
    for path in ["/api/sites/admin/ban", "/api/sites/admin/unban"] {
        asker.form(&alice, path, &[("user_id", VOTER)], &[("user_id", "1")]).await;
    }
    asker.get(&visitor, "/api/openapi.json", true).await;
    assert_eq!(visitor.api_get("/api/openapi.json").await, tidings_web::openapi::description());

    let calls = DOCUMENT.calls();
    assert!(calls.len() > 40, "only {} calls are described", calls.len());
    // The sweep `malformed` sends these.
    let swept: BTreeSet<Call> = addresses::calls()
        .flat_map(|call| [Some("post"), call.takes_get.then_some("get")].map(|method| (method, call.path)))
        .filter_map(|(method, path)| Some((method?, path.to_owned())))
        .collect();
    let not_asked: Vec<&Call> =
        calls.difference(&asker.answered).filter(|call| !swept.contains(call)).collect();
    assert!(not_asked.is_empty(), "not asked: {not_asked:?}");
    let refusable = calls.iter().filter(|call| takes_input(call) && !swept.contains(call));
    let not_refused: Vec<&Call> = refusable.filter(|call| !asker.refused.contains(call)).collect();
    assert!(not_refused.is_empty(), "not asked for what they refuse: {not_refused:?}");
}

#[test]
fn the_document_describes_the_fields_of_each_form() {
    for addresses::Address { path, fields, .. } in addresses::calls() {
        let call = ("post", path.to_owned());
        let secret = takes(&call, "apisecret").then_some("apisecret");
        let demanded = fields.iter().filter(|(.., optional)| *optional == REQUIRED).map(|(name, ..)| *name);
        check_form(&call, &demanded.chain(secret).collect());
        check_form(&call, &fields.iter().map(|(name, ..)| *name).chain(secret).collect());
    }
}

#[in_memory]
async fn an_answer_with_more_or_less_than_the_document_says_is_noticed(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("A text", "The text").await;
    let path = "/api/getnews/latest/0/1";
    let answer = alice.get(path).await;
    let json = ok(answer.json());
    let faults = |status: StatusCode, body: &[u8]| {
        let answer = HttpResponse { status, headers: answer.headers.clone(), body: body.to_vec() };
        DOCUMENT.faults("GET", path, &answer)
    };
    assert_eq!(faults(StatusCode::OK, json.to_string().as_bytes()), Vec::<String>::new());

    let spoiled = |spoil: &dyn Fn(&mut Value)| {
        let mut spoiled = json.clone();
        spoil(&mut spoiled);
        assert!(
            !faults(StatusCode::OK, spoiled.to_string().as_bytes()).is_empty(),
            "{spoiled} is not noticed"
        );
    };
    spoiled(&|answer| answer["more"] = 1.into());
    spoiled(&|answer| answer["news"][0]["more"] = 1.into());
    spoiled(&|answer| drop(answer["news"][0].as_object_mut().unwrap().remove("title")));
    spoiled(&|answer| drop(answer.as_object_mut().unwrap().remove("status")));
    spoiled(&|answer| answer["news"][0]["up"] = "1".into());
    spoiled(&|answer| answer["news"][0]["title"] = Value::Null);
    spoiled(&|answer| answer["news"] = vec![answer["news"][0].clone(); 33].into());
    assert!(!faults(StatusCode::IM_A_TEAPOT, b"").is_empty());
}

#[tokio::test]
async fn the_client_of_the_tests_takes_no_answer_that_differs_from_the_document() {
    let json = |body: &str| Reply::with("200 OK", "content-type: application/json", body.as_bytes());
    let pages = PageServer::start(move |path| match path {
        "/api/topics" => json(r#"{"status": "ok", "topics": []}"#),
        "/api/hide" => json(r#"{"status": "ok", "more": 1}"#),
        _ => json(r#"{"status": "ok"}"#),
    })
    .await;
    let client = Client::new(http_client(), pages.address);
    ok(client.api_get("/api/topics").await);
    let taken = async |method: &'static str, path: &'static str| {
        let client = client.clone();
        let asked = async move {
            if method == "GET" {
                client.get(path).await
            } else {
                client.post(path, &[]).await
            };
        };
        tokio::spawn(asked).await.is_ok()
    };
    assert!(taken("POST", "/api/unhide").await);
    assert!(!taken("POST", "/api/hide").await);
    assert!(!taken("GET", "/api/getnews/latest/0/1").await);
    assert!(!taken("GET", "/scores?for=example.com").await);
    assert!(!taken("GET", "/api/no-such-call").await);
}
