//! Makes every call of the OpenAPI document with valid and with invalid input. The client compares
//! all answers with the document.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::addresses::{self, REQUIRED};
use crate::api_document::{Call, DOCUMENT, matches};
use crate::authenticator::code;
use crate::client::{Client, Fields, HttpResponse, PASSWORD, ok};
use crate::page_server::{PageServer, Reply};
use crate::server::{START, Server, http_client, in_memory};
use crate::smtp_server::SmtpServer;

const VOTER: &str = "beda0000-0822-4342-0990-b92d94d9489a";

/// The content of a request: an address to get, the fields of a form, or JSON.
enum Sent<'a> {
    Address(&'a str),
    Form(Fields<'a>),
    Json(Value),
}
use Sent::{Address, Form, Json};

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

/// Whether a body is a zip file.
fn is_archive(body: &[u8]) -> bool {
    body.starts_with(b"PK")
}

/// Makes calls, and records which succeeded and which were refused.
#[derive(Default)]
struct Asker {
    answered: BTreeSet<Call>,
    refused: BTreeSet<Call>,
    /// How many requests had names.
    requests: u64,
}

impl Asker {
    async fn send(client: &Client, call: &Call, sent: &Sent<'_>) -> HttpResponse {
        match sent {
            Address(address) => {
                assert_eq!(call.0, "get");
                assert!(matches(&call.1, address), "{address} is no {}", call.1);
                client.get(address).await
            }
            Form(fields) => client.post(&call.1, fields).await,
            Json(body) => client.post_bytes(&call.1, "text/plain", body.to_string().into_bytes()).await,
        }
    }

    /// Asks what is answered. A form that may have a name for the request is sent twice with the same
    /// one: the answers are equal.
    async fn good(&mut self, client: &Client, method: &'static str, path: &str, sent: Sent<'_>) -> Value {
        let call = (method, path.to_owned());
        if let Form(fields) = &sent
            && takes(&call, "request")
            && fields.iter().all(|(name, _)| *name != "request")
        {
            let request = format!("request {}", self.requests);
            self.requests += 1;
            let fields = [*fields, &[("request", &*request)]].concat();
            let first = Box::pin(self.good(client, method, path, Form(&fields))).await;
            let again = Self::send(client, &call, &Form(&fields)).await;
            assert_eq!(again.json(), first, "{call:?} {fields:?}");
            return first;
        }
        if let Form(fields) = &sent {
            let secret = client.apisecret.as_ref().map(|_| "apisecret");
            let names = fields.iter().map(|(name, _)| *name).chain(secret).collect();
            check_form(&call, &names);
        }
        let answer = Self::send(client, &call, &sent).await;
        assert!(answer.status.is_success(), "{call:?}: {answer:?}");
        self.answered.insert(call);
        if answer.body.is_empty() || is_archive(&answer.body) {
            return Value::Null;
        }
        let json = answer.json();
        assert_ne!(json["status"], "err", "{method} {path}: {json}");
        json
    }

    /// Asks what is refused.
    async fn bad(&mut self, client: &Client, method: &'static str, path: &str, sent: Sent<'_>) {
        let call = (method, path.to_owned());
        let answer = Self::send(client, &call, &sent).await;
        let json = answer.json();
        assert!(json["status"] == "err" || !answer.status.is_success(), "{call:?}: {json}");
        self.refused.insert(call);
    }

    /// Sends a form as an authorized user, and again with invalid fields.
    async fn form(&mut self, client: &Client, path: &str, good: Fields<'_>, bad: Fields<'_>) -> Value {
        self.bad(client, "post", path, Form(bad)).await;
        self.good(client, "post", path, Form(good)).await
    }

    /// Gets an address, and another one that is refused.
    async fn get(&mut self, client: &Client, path: &str, good: &str, bad: &str) -> Value {
        self.bad(client, "get", path, Address(bad)).await;
        self.good(client, "get", path, Address(good)).await
    }

    /// Sends JSON, and other JSON that is refused.
    async fn json(&mut self, client: &Client, path: &str, good: Value, bad: Value) -> Value {
        self.bad(client, "post", path, Json(bad)).await;
        self.good(client, "post", path, Json(good)).await
    }
}

async fn ask_about_accounts(asker: &mut Asker, visitor: &Client) {
    let account = [("username", "carol"), ("password", PASSWORD)];
    asker.form(visitor, "/api/create_account", &account, &[("username", "-"), ("password", PASSWORD)]).await;
    let carol = visitor.log_in("carol", PASSWORD).await;
    asker.good(&carol, "get", "/api/sessions", Address("/api/sessions")).await;
    asker.bad(visitor, "get", "/api/sessions", Address("/api/sessions")).await;
    asker.good(&carol, "get", "/api/export", Address("/api/export")).await;
    asker.bad(visitor, "get", "/api/export", Address("/api/export")).await;
    ask_about_second_factors(asker, &carol).await;
}

async fn ask_about_second_factors(asker: &mut Asker, carol: &Client) {
    let current = ("current_password", PASSWORD);
    let begun = asker.form(carol, "/api/totp/begin", &[current], &[("current_password", "wrong")]).await;
    let code = code(begun["secret"].as_str().unwrap(), START);
    let confirmed = asker.form(carol, "/api/totp/confirm", &[("code", &code)], &[("code", "no")]).await;
    let credentials = [("username", "carol"), ("password", PASSWORD)];
    asker.bad(carol, "post", "/api/login", Form(&credentials)).await;
    let recovery = confirmed["recovery_codes"][0].as_str().unwrap();
    let with_code = [credentials[0], credentials[1], ("code", recovery)];
    asker.good(&carol.with_secrets(None, None), "post", "/api/login", Form(&with_code)).await;
    let recovery = confirmed["recovery_codes"][1].as_str().unwrap();
    asker.form(carol, "/api/totp/end", &[current, ("code", recovery)], &[current, ("code", "no")]).await;
}

async fn ask_about_invitations(asker: &mut Asker, alice: &Client, visitor: &Client) {
    let address = [("email", "dave@example.org")];
    let made = asker.form(alice, "/api/invite", &address, &[("email", "no address")]).await;
    let account = [
        ("username", "dave"),
        ("password", PASSWORD),
        ("email", "dave@example.org"),
        ("invitation", made["invitation"].as_str().unwrap()),
        ("application", "I was invited."),
        ("answer", "blue"),
    ];
    asker.form(visitor, "/api/create_account", &account, &[("username", "erin"), ("password", "")]).await;
}

async fn ask_about_news(asker: &mut Asker, alice: &Client, bob: &Client, pages: &PageServer) {
    let link = [
        ("news_id", "-1"),
        ("title", "The Rust Book"),
        ("url", "https://doc.rust-lang.org/book/"),
        ("text", "Chapter 4 is the one to read."),
        ("topics", "rust,go"),
    ];
    asker.form(alice, "/api/submit", &link, &[("news_id", "-1"), ("title", "")]).await;
    let page = [("url", &*pages.url("/"))];
    asker.form(alice, "/api/fetchtitle", &page, &[("url", "http://127.0.0.1/")]).await;
    let path = "/api/duplicate";
    for address in ["/api/duplicate?url=doc.rust-lang.org/book/", "/api/duplicate?url=example.com"] {
        asker.get(alice, path, address, "/api/duplicate?url=").await;
    }
    let text = [("news_id", "-1"), ("title", "A text"), ("text", "The text")];
    asker.good(alice, "post", "/api/submit", Form(&text)).await;
    let vote = [("news_id", "1"), ("vote_type", "up")];
    asker.form(bob, "/api/votenews", &vote, &[("news_id", "1"), ("vote_type", "sideways")]).await;
    asker.get(bob, "/api/votes", "/api/votes?of=1", "/api/votes?of=x").await;
    let taken_back = [("news_id", "1"), ("vote_type", "none")];
    asker.good(bob, "post", "/api/votenews", Form(&taken_back)).await;
    asker.bad(bob, "post", "/api/votenews", Form(&taken_back)).await;
    asker.good(bob, "post", "/api/votenews", Form(&vote)).await;
    let words = "q=rust+-go+votes:x";
    asker.get(bob, "/api/search", &format!("/api/search?{words}"), "/api/search?page=0").await;
    let path = "/api/search/suggest";
    asker.get(bob, path, "/api/search/suggest?q=rus", "/api/search/suggest?q=a&q=b").await;
    let (path, long) = ("/api/search/similar", "a".repeat(81));
    let bad = format!("/api/search/similar?title={long}");
    asker.get(bob, path, "/api/search/similar?title=rust", &bad).await;
    for (path, good, bad) in [
        ("/api/v1/search", "/api/v1/search?query=a&tags=story", "/api/v1/search?tags=("),
        ("/api/v1/search_by_date", "/api/v1/search_by_date", "/api/v1/search_by_date?page=x"),
        ("/api/v1/items/{number}", "/api/v1/items/2", "/api/v1/items/99"),
        ("/api/v1/users/{name}", "/api/v1/users/bob", "/api/v1/users/nobody"),
    ] {
        asker.get(bob, path, good, bad).await;
    }
    asker.get(bob, "/api/past/{day}/{start}/{count}", "/api/past/2027-01/0/32", "/api/past/2027/0/32").await;
    let path = "/api/getnews/{sort}/{start}/{count}";
    for client in [bob, &bob.with_secrets(None, None)] {
        asker.get(client, path, "/api/getnews/latest/0/32", "/api/getnews/latest/0/33").await;
    }
    let listed = asker.good(bob, "get", path, Address("/api/getnews/top/0/1")).await;
    assert_eq!(listed["news"][0]["voted"], "up", "{listed}");

    asker.get(bob, "/api/articles/{order}/{page}", "/api/articles/score/1", "/api/articles/score/0").await;
    let path = "/api/topic/{name}/{order}/{page}";
    asker.get(bob, path, "/api/topic/rust/time/1", "/api/topic/-/time/1").await;
    asker.good(bob, "get", "/api/mutes", Address("/api/mutes")).await;
    let visitor = bob.with_secrets(None, None);
    asker.bad(&visitor, "get", "/api/mutes", Address("/api/mutes")).await;
    asker.good(bob, "get", "/api/topics", Address("/api/topics")).await;
}

async fn ask_about_comments(asker: &mut Asker, alice: &Client, bob: &Client) {
    let post = |comment, parent, text| {
        [("news_id", "2"), ("comment_id", comment), ("parent_id", parent), ("comment", text)]
    };
    for sent in
        [post("-1", "-1", "Top"), post("-1", "1", "Reply"), post("2", "-1", "Reply!"), post("1", "1", "")]
    {
        asker.form(bob, "/api/postcomment", &sent, &post("-1", "1", "")).await;
    }
    let vote = [("comment_id", "2-2"), ("vote_type", "down")];
    asker.form(alice, "/api/votecomment", &vote, &[("comment_id", "2"), ("vote_type", "down")]).await;
    let path = "/api/getcomments/{news_id}";
    let thread = asker.get(alice, path, "/api/getcomments/2", "/api/getcomments/0").await;
    let top = &thread["comments"][0];
    assert_eq!((&top["deleted"], &top["replies"][0]["voted"]), (&json!(true), &json!("down")), "{thread}");
}

async fn ask_about_timelines(asker: &mut Asker, alice: &Client, bob: &Client) {
    let visitor = bob.with_secrets(None, None);
    let text = [("text", "Hello @bob")];
    asker.good(alice, "post", "/api/tweet", Form(&text)).await;
    bob.follow("alice").await;
    asker.bad(&visitor, "get", "/api/timeline/home", Address("/api/timeline/home")).await;
    let path = "/api/timeline/home";
    let home = asker.get(bob, path, "/api/timeline/home?count=2", "/api/timeline/home?count=0").await;
    assert!(home["next"].is_string() && home["tweets"][1]["news_id"].is_u64(), "{home}");
    let path = "/api/timeline/everyone";
    asker.get(&visitor, path, path, "/api/timeline/everyone?before=now").await;
    let path = "/api/timeline/user/{name}";
    asker.get(&visitor, path, "/api/timeline/user/alice?count=1", "/api/timeline/user/nobody").await;
    let path = "/api/followers/{name}";
    asker.get(&visitor, path, "/api/followers/alice?count=100", "/api/followers/alice?count=101").await;
    let path = "/api/followings/{name}";
    asker.get(&visitor, path, "/api/followings/bob", "/api/followings/nobody").await;
    ask_about_the_inbox(asker, alice, bob).await;
    ask_about_moderation(asker, alice, bob, &visitor).await;
}

async fn ask_about_the_inbox(asker: &mut Asker, alice: &Client, bob: &Client) {
    // A mention in a tweet, and the comments on her stories; a follower.
    asker.get(bob, "/api/inbox", "/api/inbox", "/api/inbox?before=1").await;
    let inbox = asker.get(alice, "/api/inbox", "/api/inbox?count=1", "/api/inbox?count=0").await;
    assert!(inbox["next"].is_string() && inbox["entries"][0]["kind"] == "follow", "{inbox}");
    let before = format!("/api/inbox?before={}", inbox["next"].as_str().unwrap());
    let rest = asker.good(alice, "get", "/api/inbox", Address(&before)).await;
    assert!(rest["next"].is_null() && rest["entries"][0]["comment_id"].is_u64(), "{rest}");
}

async fn ask_about_moderation(asker: &mut Asker, alice: &Client, bob: &Client, visitor: &Client) {
    let flag = |id| [("kind", "user"), ("id", id), ("reason", "spam")];
    asker.form(alice, "/api/flag", &flag("bob"), &flag("alice")).await;
    let queue = "/api/moderate/queue";
    let waiting = asker.get(alice, queue, queue, "/api/moderate/queue?before=x").await;
    assert_eq!(
        (&waiting["items"][0]["why"], &waiting["next"]),
        (&json!("flagged"), &Value::Null),
        "{waiting}"
    );
    let silence =
        |id| [("action", "silence"), ("kind", "user"), ("id", id), ("reason", "spam"), ("hours", "1")];
    asker.form(alice, "/api/moderate", &silence("bob"), &silence("alice")).await;
    let appeal = [("moderation_id", "1"), ("text", "No")];
    asker.good(bob, "post", "/api/appeal", Form(&appeal)).await;
    asker.bad(bob, "post", "/api/appeal", Form(&appeal)).await;
    let log = asker.get(visitor, "/api/moderations", "/api/moderations", "/api/moderations?kind=host").await;
    assert_eq!((&log["entries"][0]["undone_by"], &log["next"]), (&Value::Null, &Value::Null), "{log}");
    let undo = [("moderation_id", "1"), ("reason", "a mistake")];
    asker.good(alice, "post", "/api/moderate/undo", Form(&undo)).await;
    asker.bad(alice, "post", "/api/moderate/undo", Form(&undo)).await;
    let path = "/api/moderate/network/{username}";
    let network = asker.get(alice, path, "/api/moderate/network/bob", "/api/moderate/network/nobody").await;
    assert!(network["tag"].is_string() && network["addresses"][0]["last_used"].is_u64(), "{network}");
    asker.bad(visitor, "get", path, Address("/api/moderate/network/bob")).await;
    let rule = |pattern| [("what", "domain"), ("pattern", pattern), ("effect", "hold"), ("reason", "spam")];
    let trial: Vec<_> = rule("spam.example").into_iter().chain([("dry_run", "1")]).collect();
    asker.good(alice, "post", "/api/moderate/rule", Form(&trial)).await;
    let people = "/api/moderate/people";
    let found =
        asker.get(alice, people, "/api/moderate/people?q=bob", "/api/moderate/people?q=bob&state=sad").await;
    assert_eq!(found["people"][0]["username"], "bob", "{found}");
    let ban = |value| {
        [("what", "network"), ("value", value), ("scope", "both"), ("reason", "spam"), ("hours", "1")]
    };
    asker.form(alice, "/api/moderate/bans", &ban("192.0.2.0/24"), &ban("10.0.0.0/8")).await;
    let trial: Vec<_> = ban("198.51.100.0/24").into_iter().chain([("dry_run", "1")]).collect();
    let tried = asker.good(alice, "post", "/api/moderate/bans", Form(&trial)).await;
    assert_eq!(tried["stops"], 0, "{tried}");
    let list = asker.good(alice, "get", "/api/moderate/bans", Address("/api/moderate/bans")).await;
    assert_eq!(list["bans"][0]["value"], "192.0.2.0/24", "{list}");
    asker.bad(bob, "get", "/api/moderate/bans", Address("/api/moderate/bans")).await;
    asker.form(bob, "/api/messages", &[("text", "Why?")], &[("text", "")]).await;
    let path = "/api/messages";
    let list = asker.get(bob, path, path, "/api/messages?thread=99").await;
    assert_eq!((&list["threads"][0]["state"], &list["next"]), (&json!("waiting"), &Value::Null), "{list}");
    let reason = |title| [("title", title), ("text", "No politics here."), ("rule", "Rule 3")];
    asker.form(alice, "/api/moderate/reasons", &reason("Politics"), &reason("")).await;
    let list = asker.good(alice, "get", "/api/moderate/reasons", Address("/api/moderate/reasons")).await;
    assert_eq!(
        (&list["reasons"][6]["reason_id"], &list["reasons"][6]["rule"]),
        (&json!(7), &json!("Rule 3")),
        "{list}"
    );
    asker.bad(bob, "get", "/api/moderate/reasons", Address("/api/moderate/reasons")).await;
    let announcement = |pinned| {
        [("text", "We move"), ("url", "/about"), ("hours", "2"), ("pinned", pinned), ("pinned_hours", "1")]
    };
    asker.form(alice, "/api/admin/announcement", &announcement("1"), &announcement("1, 2, 3")).await;
    let path = "/api/admin/announcement";
    let current = asker.good(alice, "get", path, Address(path)).await;
    assert_eq!((&current["hours"], &current["pinned"]), (&json!(2), &json!([1])), "{current}");
    asker.bad(bob, "get", path, Address(path)).await;
    let hook = |kinds| {
        [
            ("address", "https://hooks.example.com/1"),
            ("secret", "correct horse"),
            ("kinds", kinds),
            ("format", "full"),
        ]
    };
    let made = asker.form(alice, "/api/admin/hooks", &hook("story, queue"), &hook("votes")).await;
    let path = "/api/admin/hooks";
    let hooks = asker.good(alice, "get", path, Address(path)).await;
    assert_eq!(
        (&hooks["hooks"][0]["hook_id"], &hooks["hooks"][0]["signed"]),
        (&made["hook_id"], &json!(true))
    );
    asker.bad(bob, "get", path, Address(path)).await;
    let log = asker
        .good(visitor, "get", "/api/moderations", Address("/api/moderations?count=1&action=silence"))
        .await;
    assert_eq!((&log["entries"][0]["undone_by"], &log["next"]), (&json!(2), &Value::Null), "{log}");
}

async fn ask_about_sites(asker: &mut Asker, visitor: &Client) {
    let vote = |link: &str| json!({"link": link, "vote": 1, "user_id": VOTER});
    asker.json(visitor, "/vote", vote("example.com"), vote("localhost")).await;
    let scores = "/scores?for=example.com,example.org";
    asker.get(visitor, "/scores", scores, "/scores").await;
    let from = "/v1/scores?from=%7B%22links%22%3A%5B%7B%22hostname%22%3A%22Example.com%22%7D%5D%7D";
    asker.get(visitor, "/v1/scores", from, "/v1/scores?from=%7B%7D").await;
    let vote = |value: i64| json!({"link": {"hostname": "example.org"}, "value": value, "user_id": VOTER});
    asker.json(visitor, "/v1/vote", vote(-1), vote(0)).await;

    let links = |links: &[&str]| json!({"user_id": VOTER, "links": links});
    asker.json(visitor, "/api/sites/own", links(&["example.com", "example.net"]), links(&[])).await;
    let path = "/api/sites/history/{host}";
    let history = "/api/sites/history/example.com?days=7";
    asker.get(visitor, path, history, "/api/sites/history/example.com?days=0").await;
    let path = "/api/sites/leaderboard/{list}/{span}";
    let best = "/api/sites/leaderboard/best/week";
    asker.get(visitor, path, best, "/api/sites/leaderboard/best/year").await;

    let path = "/api/sites/prefix/{hex}";
    let address = format!("/api/sites/prefix/{}", &hex::encode(Sha256::digest("example.com"))[..4]);
    asker.get(visitor, path, &address, "/api/sites/prefix/xyz").await;
    let unchanged = visitor.clone().with_header("if-none-match", "*");
    let answer = Asker::send(&unchanged, &("get", path.to_owned()), &Address(&address)).await;
    assert_eq!(answer.status, StatusCode::NOT_MODIFIED);
}

async fn ask_about_voters(asker: &mut Asker, alice: &Client, bob: &Client) {
    let path = "/api/sites/admin/voter/{uuid}";
    let voter = format!("/api/sites/admin/voter/{VOTER}");
    asker.bad(bob, "get", path, Address(&voter)).await;
    asker.get(alice, path, &voter, "/api/sites/admin/voter/1").await;
    let (path, votes) = ("/api/sites/admin/voter/{uuid}/votes", format!("{voter}/votes"));
    let period = format!("{votes}?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z");
    let listed = asker.get(alice, path, &period, &format!("{votes}?from=now")).await;
    assert_eq!(listed["votes"].as_array().map(Vec::len), Some(2), "{listed}");
    let path = "/api/sites/admin/top_voters/{date}";
    let day = "/api/sites/admin/top_voters/2027-01-15";
    let voters = asker.get(alice, path, day, "/api/sites/admin/top_voters/today").await;
    assert_ne!(voters["voters"], json!([]));
    for path in ["/api/sites/admin/ban", "/api/sites/admin/unban"] {
        asker.form(alice, path, &[("user_id", VOTER)], &[("user_id", "1")]).await;
    }
}

#[tokio::test]
async fn every_call_of_the_document_is_answered_and_refused() {
    let relay = SmtpServer::start().await;
    let mail =
        [("mail.relay", &*relay.relay()), ("mail.from", "news@example.com"), ("search.enabled", "true")];
    let pages = PageServer::start(|_| Reply::html("<title>A page</title>")).await;
    let network = pages.network();
    let server = Server::start_adjusted(&mail, |settings| settings.titles.network = network).await;
    let (alice, bob) = (server.member("alice").await, server.member("bob").await);
    let visitor = server.visitor();
    server.set_field(&format!("user:{}", alice.user_id), "flags", "a").await;
    server.set_karma(&alice, 100).await;
    let mut asker = Asker::default();

    ask_about_accounts(&mut asker, &visitor).await;
    ask_about_invitations(&mut asker, &alice, &visitor).await;
    ask_about_news(&mut asker, &alice, &bob, &pages).await;
    ask_about_comments(&mut asker, &alice, &bob).await;
    ask_about_timelines(&mut asker, &alice, &bob).await;
    ask_about_sites(&mut asker, &visitor).await;
    ask_about_voters(&mut asker, &alice, &bob).await;
    let served = asker.good(&visitor, "get", "/api/openapi.json", Address("/api/openapi.json")).await;
    assert_eq!(served, tidings_web::openapi::description());

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
