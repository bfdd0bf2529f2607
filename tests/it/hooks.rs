//! Webhooks: what they are told, signed, again after a failure, and never at a private address; and nothing that is no
//! longer public.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tidings_domain::values::HookSecret;
use tidings_testing::{until, until_ok};

use crate::client::{Client, each, has_members, line_of, ok, refused, refused_saying};
use crate::html::Page;
use crate::page_server::{PageServer, Reply};
use crate::pages::{page, redirects_to};
use crate::server::{Engine, Server, Settings, in_memory};

const SECRET: &str = "correct horse battery";
const ALL_KINDS: &str = "story,comment,flag,signup,queue,decision";

/// A server that is told, and the site.
struct Told {
    receiver: PageServer,
    /// The status of the answers.
    status: Arc<AtomicU16>,
    server: Server,
    alice: Client,
}

/// A message as it came.
#[derive(Debug)]
struct Came {
    path: String,
    head: String,
    body: String,
}

impl Came {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Told {
    async fn on(engine: Engine, settings: Settings<'_>) -> Self {
        let status = Arc::new(AtomicU16::new(204));
        let answered = status.clone();
        let receiver = PageServer::start(move |path| match path {
            "/elsewhere" => Reply::redirect("/stolen"),
            _ => Reply::with(&format!("{} X", answered.load(Ordering::Relaxed)), "x: y", b""),
        })
        .await;
        let network = receiver.network();
        let server =
            Server::start_adjusted_on(engine, settings, |settings| settings.titles.network = network).await;
        let alice = server.register("alice").await;
        Self { receiver, status, server, alice }
    }

    /// Adds a hook at a path. Returns its number.
    async fn add(&self, path: &str, kinds: &str, format: &str) -> String {
        let address = self.receiver.url(path);
        let fields = [("address", &*address), ("secret", SECRET), ("kinds", kinds), ("format", format)];
        ok(self.alice.api_post("/api/admin/hooks", &fields).await)["hook_id"].to_string()
    }

    fn came(&self) -> Vec<Came> {
        let split = |request: String| {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            Came { path, head: head.to_owned(), body: body.to_owned() }
        };
        self.receiver.requests().into_iter().map(split).collect()
    }

    /// Waits for so many messages.
    async fn wait(&self, count: usize) -> Vec<Came> {
        tokio::time::timeout(Duration::from_secs(30), self.receiver.wait_for_requests(count))
            .await
            .unwrap_or_else(|_| panic!("{:?}", self.came()));
        self.came()
    }

    async fn hook(&self, id: &str) -> Value {
        let hooks = ok(self.alice.api_get("/api/admin/hooks").await);
        let hooks = hooks["hooks"].as_array().unwrap();
        let id: u64 = id.parse().unwrap();
        hooks.iter().find(|hook| hook["hook_id"] == id).cloned().unwrap_or_default()
    }

    /// Waits until a hook has so many results and nothing more happens to it now.
    async fn results(&self, id: &str, count: usize) -> Vec<Value> {
        let place = format!("hook:{id}");
        until_ok(async || {
            let hook = self.hook(id).await;
            let results = hook["results"].as_array().unwrap().clone();
            let held = self.server.field("queue:leases", &place).await;
            let is_free = held.is_none_or(|held| held.ends_with(':'));
            if results.len() >= count && is_free { Ok(results) } else { Err(hook) }
        })
        .await
    }

    /// Waits until all events are noted and nothing is due.
    async fn settled(&self, id: &str) {
        let outbox = format!("hooks:outbox:{id}");
        until(async || {
            let now = self.server.now() as f64;
            let waiting = self.server.sorted(&outbox).await;
            self.server.sorted("hooks:events").await.is_empty()
                && waiting.iter().all(|(_, due)| *due > now + 0.5)
        })
        .await;
    }
}

#[tokio::test]
async fn a_hook_is_told_what_happens_and_can_check_who_tells_it() {
    for engine in [Engine::Memory, Engine::Redis] {
        let told = Told::on(engine, &[]).await;
        // Events from before the hook are not sent to it.
        told.alice.submit_text("Before", "text").await;
        let id = told.add("/all?token=1", ALL_KINDS, "full").await;
        let bob = told.server.register("bob").await;
        let news = bob.submit_text("A <story>", "text").await;
        told.alice.comment(news, "A comment").await;
        let flagged = format!("kind=story&id={news}&reason=spam&note=secret note");
        ok(told.alice.call(&format!("/api/flag?{flagged}")).await);
        let mut came = told.wait(5).await;
        // The clock stands still, so messages of several looks are in any order.
        let order = ["signup", "story", "comment", "queue", "flag"];
        let place = |came: &Came| order.iter().position(|kind| came.json()["kind"] == *kind);
        came.sort_by_key(place);
        assert!(came.iter().map(place).eq((0..5).map(Some)), "{came:?}");
        for came in &came {
            assert!(came.head.starts_with("POST /all?token=1 HTTP/1.1\r\n"), "{came:?}");
            let secret = HookSecret::parse(SECRET).unwrap();
            let expected = format!("sha256={}", secret.sign(came.body.as_bytes()).unwrap());
            assert_eq!(came.header("x-tidings-signature"), Some(&*expected));
            assert_eq!(came.header("x-tidings-delivery"), came.json()["id"].as_str());
            assert_eq!(came.header("content-type"), Some("application/json"));
        }
        assert_eq!(came[0].json()["user"]["username"], "bob");
        assert_eq!(came[1].json()["story"]["title"], "A <story>");
        assert!(came[1].json()["link"].as_str().unwrap().ends_with(&format!("/news/{news}")));
        assert_eq!(came[2].json()["comment"]["body"], "A comment");
        assert_eq!(came[3].json()["thing"], json!({"kind": "story", "target": news.to_string()}));
        assert_eq!((&came[4].json()["flags"], &came[4].json()["reasons"]), (&json!(1), &json!(["spam"])));
        // Not who flagged, nor with which words.
        assert!(!came[4].body.contains("alice") && !came[4].body.contains("secret note"), "{came:?}");
        let story = ("story", &*news.to_string());
        ok(told.alice.moderate("keep", story, &[("reason", "fine")]).await);
        let came = told.wait(6).await;
        let decision = came[5].json()["decision"].clone();
        assert_eq!((&decision["action"], &decision["reason"]), (&json!("keep"), &json!("fine")));
        // Edits and votes are nothing new.
        ok(bob.edit(news, "Another title", "", "text").await);
        ok(told.alice.api_post("/api/admin/hooks", &[("hook_id", &*id), ("test", "1")]).await);
        let came = told.wait(7).await;
        assert_eq!(came[6].json()["kind"], "test", "{came:?}");
        let results = told.results(&id, 7).await;
        assert_eq!((&results[0]["status"], &results[0]["id"]), (&json!(204), &came[6].json()["id"]));
        assert_eq!(told.hook(&id).await["waiting"], 0);
        crate::store_check::demand_clean(&told.server).await;
        // Once it is removed, nothing of it is left.
        ok(told.alice.api_post("/api/admin/hooks", &[("hook_id", &*id), ("remove", "1")]).await);
        for key in ["hooks:outbox:1", "hooks:results:1"] {
            assert!(told.server.sorted(key).await.is_empty(), "{key}");
        }
        assert!(told.server.hash("hooks:all").await.is_empty());
        crate::store_check::demand_clean(&told.server).await;
    }
}

#[tokio::test]
async fn a_chat_gets_a_line_that_calls_nobody() {
    let told = Told::on(Engine::Memory, &[]).await;
    let address = told.receiver.url("/chat");
    ok(told.alice.call(&format!("/api/admin/hooks?address={address}&kinds=story&format=chat")).await);
    told.alice.submit_text("<!channel> @everyone", "text").await;
    let came = told.wait(1).await;
    let body = came[0].json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("New story by alice: &lt;!channel&gt; @\u{200B}everyone http"), "{text}");
    assert_eq!(came[0].header("x-tidings-kind"), Some("story"));
    assert_eq!(came[0].header("x-tidings-signature"), None);
}

#[tokio::test]
async fn a_message_is_sent_again_after_a_failure_and_dropped_after_a_day() {
    for engine in [Engine::Memory, Engine::Redis] {
        let told = Told::on(engine, &[]).await;
        let id = told.add("/fails", "story", "full").await;
        told.status.store(500, Ordering::Relaxed);
        told.alice.submit_text("A story", "text").await;
        let results = told.results(&id, 1).await;
        assert_eq!(results[0]["status"], 500);
        let outbox = format!("hooks:outbox:{id}");
        assert_eq!(told.server.sorted(&outbox).await[0].1, (told.server.now() + 60) as f64);
        told.server.advance(61);
        told.results(&id, 2).await;
        let came = told.came();
        // The same message.
        assert_eq!(came[0].json(), came[1].json());
        assert_eq!(told.server.sorted(&outbox).await[0].1, (told.server.now() + 300) as f64);
        told.status.store(200, Ordering::Relaxed);
        told.server.advance(301);
        let results = told.results(&id, 3).await;
        assert_eq!(results[0]["status"], 200);
        assert!(told.server.sorted(&outbox).await.is_empty());
        assert_eq!(told.server.field("queue:leases", &format!("hook:{id}")).await, None);
        // A day later it is enough.
        told.status.store(503, Ordering::Relaxed);
        told.alice.submit_text("Another story", "text").await;
        told.results(&id, 4).await;
        told.server.advance(24 * 60 * 60 + 1);
        let results = told.results(&id, 5).await;
        assert_eq!(results[0]["status"], 503);
        assert!(told.server.sorted(&outbox).await.is_empty());
    }
}

#[tokio::test]
async fn what_is_not_public_is_not_told() {
    let told = Told::on(Engine::Memory, &[]).await;
    let [bob, carol] = told.server.people(["bob", "carol"]).await;
    let id = told.add("/posts", "story,comment,queue,decision", "full").await;
    // A post that waits for a moderator is reported as posted once it is approved.
    ok(told.alice.moderate("hold", ("user", "bob"), &[("reason", "new")]).await);
    let story = ok(bob.submit("Waits", "", "hidden words").await)["news_id"].to_string();
    let came = told.wait(2).await;
    assert_eq!(came.iter().filter(|came| came.json()["kind"] == "queue").count(), 1, "{came:?}");
    told.settled(&id).await;
    assert_eq!(told.came().len(), 2);
    assert!(
        !told.came().iter().any(|came| came.body.contains("hidden words") || came.body.contains("Waits"))
    );
    ok(told.alice.call(&format!("/api/moderate?action=approve&kind=story&id={story}")).await);
    let came = told.wait(4).await;
    let mut kinds: Vec<String> =
        came[2..].iter().map(|came| came.json()["kind"].as_str().unwrap().to_owned()).collect();
    kinds.sort();
    assert_eq!(kinds, ["decision", "story"]);
    // A post that is removed before it is sent is not sent.
    told.status.store(500, Ordering::Relaxed);
    let removed = carol.submit_text("Removed", "gone words").await.to_string();
    until(async || told.came().iter().any(|came| came.body.contains("gone words"))).await;
    told.settled(&id).await;
    let count = told.came().len();
    let removal = ok(told.alice.moderate("remove", ("story", &removed), &[]).await);
    told.status.store(200, Ordering::Relaxed);
    told.server.advance(120);
    let came = told.wait(count + 1).await;
    told.settled(&id).await;
    let later: Vec<Value> = told.came()[count..].iter().map(Came::json).collect();
    assert!(later.iter().all(|body| body["kind"] == "decision"), "{came:?}");
    assert!(!told.came()[count..].iter().any(|came| came.body.contains("gone words")), "{later:?}");
    // A story that comes back is not new.
    ok(told.alice.undo(line_of(removal)).await);
    told.settled(&id).await;
    assert!(told.came()[count..].iter().all(|came| came.json()["kind"] == "decision"));
}

#[tokio::test]
async fn private_networks_and_redirects_lead_nowhere() {
    let told = Told::on(Engine::Memory, &[]).await;
    let port = told.receiver.address.port();
    let add = async |address: &str| {
        told.alice.call(&format!("/api/admin/hooks?address={address}&secret={SECRET}&kinds=story")).await
    };
    for address in
        ["http://10.0.0.1/", "http://[::1]:8080/", "http://169.254.169.254/latest", "http://127.0.0.1/x"]
    {
        let refusal = refused(add(address).await);
        assert!(refusal.contains("not on the public internet"), "{address}: {refusal}");
    }
    let mut hooks = Vec::new();
    for name in ["private.test", "mixed.test", "nowhere.test"] {
        hooks.push(ok(add(&format!("http://{name}:{port}/")).await)["hook_id"].to_string());
    }
    let redirected = told.add("/elsewhere", "story", "full").await;
    told.alice.submit_text("A story", "text").await;
    for id in &hooks {
        let results = told.results(id, 1).await;
        assert_eq!(results[0]["outcome"], "not on the public internet");
        assert_eq!(results[0]["status"], Value::Null);
    }
    let results = told.results(&redirected, 1).await;
    has_members(&results[0], json!({"status": 302, "outcome": "redirects are not followed"}));
    let paths: Vec<String> = told.came().into_iter().map(|came| came.path).collect();
    assert_eq!(paths, ["/elsewhere"]);
}

#[tokio::test]
async fn of_several_servers_one_tells_a_hook() {
    let told = Told::on(Engine::Redis, &[]).await;
    let network = told.receiver.network();
    let url = told.server.redis.as_ref().unwrap().url();
    let _others = [
        Server::beside_adjusted(&url, &told.server, |settings| settings.titles.network = network.clone())
            .await,
        Server::beside_adjusted(&url, &told.server, |settings| settings.titles.network = network).await,
    ];
    let id = told.add("/once", "comment", "full").await;
    let news = told.alice.submit_text("A story", "text").await;
    for number in 0..30 {
        told.alice.comment(news, &format!("Comment {number}")).await;
    }
    let came = told.wait(30).await;
    told.settled(&id).await;
    let mut ids: Vec<String> = came.iter().map(|came| came.json()["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), told.came().len()), (30, 30));
}

#[tokio::test]
async fn administrators_edit_hooks_and_nobody_sees_a_secret() {
    let told = Told::on(Engine::Memory, &[]).await;
    let bob = told.server.moderator("bob").await;
    let good = [("address", "https://hooks.example.com:8443/x"), ("secret", SECRET), ("kinds", "story")];
    refused_saying(bob.api_post("/api/admin/hooks", &good).await, "administrator");
    assert_eq!(bob.get("/admin/hooks").await.status, 403);
    refused(bob.api_get("/api/admin/hooks").await);
    for (fields, expected) in [
        ("kinds=story&secret=SECRET", "address"),
        ("address=ftp://example.com/&kinds=story&secret=SECRET", "http://"),
        ("address=https://a:b@example.com/&kinds=story&secret=SECRET", "http://"),
        ("address=https://example.com/&kinds=votes&secret=SECRET", "There is no kind votes"),
        ("address=https://example.com/&kinds= ,&secret=SECRET", "Choose at least one"),
        ("address=https://example.com/&kinds=story&secret=short", "secret"),
        ("address=https://example.com/&kinds=story", "secret"),
        ("test=1", "hook_id"),
        ("remove=1&hook_id=99", "no such webhook"),
    ] {
        let fields = fields.replace("SECRET", SECRET);
        let error = refused(told.alice.call(&format!("/api/admin/hooks?{fields}")).await);
        assert!(error.contains(expected), "{fields}: {error}");
    }
    for _ in 0..5 {
        ok(told.alice.api_post("/api/admin/hooks", &good).await);
    }
    refused_saying(told.alice.api_post("/api/admin/hooks", &good).await, "5 webhooks");
    ok(told.alice.api_post("/api/admin/hooks", &[("hook_id", "4"), ("kinds", "flag")]).await);
    ok(told.alice.api_post("/api/admin/hooks", &[("hook_id", "4"), ("test", "1")]).await);
    ok(told.alice.api_post("/api/admin/hooks", &[("hook_id", "4"), ("remove", "1")]).await);
    // The log says so, and not where they are.
    let log = Value::from(told.server.visitor().log("?action=set_hooks").await);
    let added =
        ["added webhook 5", "added webhook 4", "added webhook 3", "added webhook 2", "added webhook 1"];
    assert_eq!(each(&log, "reason"), [&["removed webhook 4", "changed webhook 4"][..], &added].concat());
    assert!(!log.to_string().contains("hooks.example.com"), "{log}");
    let shown = told.server.visitor().text("/moderations").await;
    assert!(shown.contains("changed") && shown.contains("the webhooks"), "{shown}");
    refused_saying(told.alice.undo(1).await, "undo");
    ok(told.alice.api_post("/api/admin/hooks", &good).await);
    // By the page: what is left empty or as it was stays.
    let form_of = async |hook: &str| {
        let forms = page(&told.alice, "/admin/hooks").await.forms().into_iter();
        let mut forms = forms.filter(|form| form.value("address").is_some());
        forms.find(|form| form.value("hook_id") == Some(hook)).unwrap()
    };
    let form = form_of("2").await;
    assert_eq!(form.value("secret").unwrap_or_default(), "");
    let sent = form
        .with("address", "https://hooks.example.com/changed")
        .with("kinds", "queue")
        .send(&told.alice)
        .await;
    assert_eq!(redirects_to(&sent), "/admin/hooks");
    let stored = told.server.field("hooks:all", "2").await.unwrap();
    assert!(stored.contains(SECRET) && stored.contains("/changed"), "{stored}");
    assert_eq!(told.hook("2").await["kinds"], json!(["story", "queue"]));
    let shown = told.alice.text("/admin/hooks").await;
    let listed = told.alice.get("/api/admin/hooks").await;
    assert!(!shown.contains(SECRET) && !listed.text().contains(SECRET));
    // A mistake keeps what was typed.
    let again = form_of("3").await.with("address", "nonsense").send(&told.alice).await;
    assert_eq!(again.status, 422);
    assert!(again.text().contains("nonsense"));
    crate::store_check::demand_clean(&told.server).await;
}

#[in_memory]
async fn a_webhook_without_events_is_refused_at_its_boxes(server: Server) {
    let alice = server.register("alice").await;
    let form = page(&alice, "/admin/hooks").await.form("/admin/hooks");
    let form = form.with("address", "https://hooks.example.com/x").with("secret", SECRET);
    let back = Page::of(&form.send(&alice).await);
    let [error] = back.find("p", &[("class", "error")])[..] else { panic!("{}", back.content()) };
    assert_eq!(error.text(), "Choose at least one kind of event.");
    let [box_of_stories] = back.find("input", &[("name", "story")])[..] else { panic!("{}", back.content()) };
    assert!(box_of_stories.attribute("autofocus").is_some(), "{}", back.content());
}
