//! The export of everything of one's own: what is in it, what is not, and what it costs.

use std::io::{Cursor, Read};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Value, json};
use tidings_domain::accounts::inbox::send_message;
use tidings_domain::values::{EXPORT_CHUNK, EXPORT_LIST, UserId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use zip::ZipArchive;

use crate::client::{Client, HttpResponse, has_members, ok, refused};
use crate::pages::page;
use crate::server::{Batch, Engine, Server, each_engine, in_memory};

/// The content of a zip file: its files one after the other, each with its name.
pub fn unpacked(archive: &[u8]) -> Vec<(String, String)> {
    let mut zip = ZipArchive::new(Cursor::new(archive)).unwrap();
    let files = (0..zip.len()).map(|index| {
        let mut file = zip.by_index(index).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        (file.name().unwrap().into_owned(), text)
    });
    files.collect()
}

/// The two files of an export.
pub struct Exported {
    pub data: Value,
    page: String,
}

impl Exported {
    fn of(answer: &HttpResponse) -> Self {
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(answer.headers[CONTENT_TYPE], "application/zip", "{answer:?}");
        let files = unpacked(&answer.body);
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["data.json", "index.html"]);
        Self { data: serde_json::from_str(&files[0].1).unwrap(), page: files[1].1.clone() }
    }

    fn list(&self, name: &str) -> &[Value] {
        self.data[name].as_array().unwrap_or_else(|| panic!("no list {name} in {}", self.data))
    }

    /// The members of this name, in the order of a list.
    fn each(&self, list: &str, member: &str) -> Vec<Value> {
        self.list(list).iter().map(|entry| entry[member].clone()).collect()
    }

    /// Everything that it says.
    fn text(&self) -> String {
        format!("{}\n{}", self.data, self.page)
    }
}

pub async fn export(client: &Client) -> Exported {
    Exported::of(&client.get("/api/export").await)
}

/// Alice with something of each kind; what she exports.
async fn alice_with_everything(server: &Server) -> (Client, Exported) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    for user in [&alice, &bob] {
        server.set_karma(user, 100).await;
    }
    let key = format!("user:{}", alice.user_id);
    for (field, value) in [
        ("about", "About me"),
        ("email", "alice@private.example"),
        ("confirmed_email", "alice@private.example"),
        ("new_email", "alice@waiting.example"),
        ("mail_refused", "2"),
        ("fullname", "Alice A"),
    ] {
        server.set_field(&key, field, value).await;
    }
    server.set_field(&format!("user:{}", bob.user_id), "email", "bob@private.example").await;
    let story = alice.submit_link("My <b>story</b>", "http://example.com/mine").await;
    let gone = alice.submit_text("A deleted title", "A deleted text").await;
    ok(alice.delete(gone).await);
    let withheld = alice.submit_text("A removed title", "A removed text").await;
    server.set_field(&format!("news:{withheld}"), "withheld", "removed:off topic").await;
    let good = bob.submit_link("A good story", "http://example.com/good").await;
    let bad = bob.submit_link("A bad story", "http://example.com/bad").await;
    server.advance(60);
    ok(alice.vote(good, "up").await);
    ok(alice.api_post("/api/save", &[("news_id", &good.to_string())]).await);
    ok(alice.vote(bad, "down").await);
    let comment = bob.comment(good, "What bob wrote").await;
    alice.reply(good, comment, "What alice answered").await;
    let comment_gone = alice.comment(good, "What alice deleted").await;
    ok(alice.edit_comment(good, comment_gone, "").await);
    ok(alice.vote_comment(good, comment, "up").await);
    ok(alice.api_post("/api/sites/vote", &[("link", "example.com"), ("vote", "-1")]).await);
    alice.tweet("A tweet\nof alice").await;
    for (path, news) in [("hide", bad), ("subscribe", bad), ("unsubscribe", good)] {
        ok(alice.api_post(&format!("/api/{path}"), &[("news_id", &news.to_string())]).await);
    }
    bob.submit_on("rust, go", "On topics").await;
    for (path, topic) in [("followtopic", "rust"), ("mutetopic", "go")] {
        ok(alice.api_post(&format!("/api/{path}"), &[("topic", topic)]).await);
    }
    let id = |user: &Client| user.user_id.to_string();
    server
        .write(|batch| {
            let key = format!("user:{}:mutes", id(&alice));
            for (field, time) in [(format!("user:{}", id(&bob)), "30"), ("word:a: word".to_owned(), "20")] {
                batch.set_field(&key, field, time);
            }
        })
        .await;
    alice.follow("carol").await;
    bob.follow("alice").await;
    carol.comment(story, "A reply by carol").await;
    let (blocks, time) = (format!("user:{}:blocks", alice.user_id), server.now().to_string());
    server.set_field(&blocks, &id(&carol), &time).await;
    server.set_field(&key, "silenced", "0:7:Unkind words").await;
    let mut batch = Batch::new();
    batch.sorted_add(format!("user:{}:flags", id(&alice)), format!("story:{good}"), 40.0);
    batch.set_field(format!("flags:story:{good}"), id(&alice), "spam:40:100:0:Sells chairs");
    batch.sorted_add(format!("invites:by:{}", id(&alice)), id(&carol), 50.0);
    server.commit(batch).await;
    let user = UserId(alice.user_id);
    send_message(&server.app.site, server.app.moment(), user, "A message for alice").await.unwrap();
    let exported = export(&alice).await;
    assert_eq!(exported.each("stories", "id"), [json!(withheld), json!(gone), json!(story)]);
    (alice, exported)
}

#[each_engine("one of its kind")]
async fn an_export_has_everything_of_ones_own_and_nothing_that_is_deleted(server: Server) {
    let (alice, exported) = alice_with_everything(&server).await;
    let account = &exported.data["account"];
    assert_eq!(account["username"], "alice");
    assert_eq!((&account["about"], &account["fullname"]), (&json!("About me"), &json!("Alice A")));
    assert_eq!(account["email"], "alice@private.example");
    assert_eq!(account["confirmed_email"], "alice@private.example");
    has_members(account, json!({"new_email": "alice@waiting.example", "mail_refused": 2}));
    assert_eq!(account["settings"]["sort_comments"], "score");

    let [withheld, deleted, story] = exported.list("stories") else { panic!("{}", exported.data) };
    has_members(withheld, json!({"withheld": "removed:off topic", "text": "A removed text"}));
    has_members(story, json!({"title": "My <b>story</b>", "url": "http://example.com/mine"}));
    assert_eq!((&deleted["title"], &deleted["text"]), (&Value::Null, &Value::Null));
    assert_eq!(exported.each("comments", "text"), [Value::Null, json!("What alice answered")]);
    assert_eq!(exported.list("comments")[1]["title"], "A good story");
    assert_eq!(exported.list("tweets")[0]["text"], "A tweet\nof alice");
    let votes: Vec<String> = exported
        .list("votes")
        .iter()
        .map(|vote| [&vote["kind"], &vote["id"], &vote["vote"]].map(|part| part.as_str().unwrap()).join(" "))
        .collect();
    // Her own stories have her vote; the rest is what she voted on.
    let expected = [
        "story 5 down",
        "story 4 up",
        "story 3 up",
        "story 2 up",
        "story 1 up",
        "comment 4-1 up",
        "site example.com down",
    ];
    assert_eq!(votes, expected);
    assert_eq!(exported.list("votes")[1]["title"], "A good story");
    assert_eq!(exported.each("saved", "news_id"), [4]);
    assert_eq!(exported.each("hidden", "title"), ["A bad story"]);
    assert_eq!(exported.each("subscriptions", "title"), ["A bad story"]);
    assert_eq!(exported.each("unsubscribed", "title"), ["A good story"]);
    assert_eq!(exported.each("topics_followed", "topic"), ["rust"]);
    assert_eq!(exported.each("topics_muted", "topic"), ["go"]);
    assert_eq!(exported.each("followings", "username"), ["carol"]);
    assert_eq!(exported.each("followers", "username"), ["bob"]);
    assert_eq!(exported.each("blocks", "username"), ["carol"]);
    let muted = [
        json!({"what": "user", "value": "bob", "since": 30}),
        json!({"what": "word", "value": "a: word", "since": 20}),
    ];
    assert_eq!(exported.list("mutes"), muted);
    let restriction = json!({"kind": "silenced", "reason": "Unkind words", "moderation_id": 7});
    assert_eq!(account["restrictions"], json!([restriction]));
    let flag = json!({"kind": "story", "id": "4", "reason": "spam", "note": "Sells chairs", "time": 40});
    assert_eq!(exported.list("flags"), [flag]);
    assert_eq!(exported.each("invited", "username"), ["carol"]);
    let inbox = exported.list("inbox");
    assert_eq!((&inbox[0]["kind"], &inbox[0]["text"]), (&"moderation".into(), &"A message for alice".into()));
    assert!(inbox[1..].iter().all(|entry| entry["text"].is_null()), "{inbox:?}");
    assert_eq!(exported.list("sessions").len(), 1);
    assert_eq!(exported.data["left_out"], json!({}));

    let text = exported.text();
    for absent in ["A deleted title", "A deleted text", "What alice deleted", "A reply by carol"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
    for present in ["What alice answered", "A removed text", "A message for alice", "About me"] {
        assert!(exported.page.contains(present), "{present} in {}", exported.page);
    }
    check_no_secret(&server, &alice, &text).await;
}

/// Of the account, only what is named in the export is in it: no secret, also none that is added
/// to the account later.
async fn check_no_secret(server: &Server, alice: &Client, text: &str) {
    const EXPORTED: [&str; 6] = ["username", "about", "fullname", "email", "confirmed_email", "new_email"];
    let mut secrets = 0;
    for (field, value) in server.hash(&format!("user:{}", alice.user_id)).await {
        // Numbers and switches could be anybody's.
        if !EXPORTED.contains(&field.as_str()) && value.len() >= 16 {
            assert!(!text.contains(&value), "the field {field} is exported");
            secrets += 1;
        }
    }
    assert!(secrets >= 3, "only {secrets} secrets were found");
    for secret in [&alice.auth, &alice.apisecret] {
        assert!(!text.contains(secret.as_deref().unwrap()));
    }
    assert!(!text.contains("bob@private.example") && !text.contains("What bob wrote"), "{text}");
}

#[in_memory]
async fn only_the_owner_gets_an_export_a_file_that_nobody_stores(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let answer = alice.clone().with_header("accept-encoding", "gzip, br").get("/api/export").await;
    assert_eq!(answer.headers[CONTENT_DISPOSITION], "attachment; filename=\"alice-2027-01-15.zip\"");
    assert_eq!(answer.headers[CACHE_CONTROL], "no-store");
    assert!(!answer.headers.contains_key(CONTENT_ENCODING), "{answer:?}");
    assert!(page(&alice, "/settings/account").await.content().contains("export all your data"));
    alice.submit_text("Of alice", "text").await;
    assert_eq!(refused(server.visitor().api_get("/api/export").await), "You must be logged in.");
    // Nothing in the address chooses another account.
    for address in ["/api/export?username=alice", "/api/export?id=1&user_id=1"] {
        let exported = Exported::of(&bob.get(address).await);
        assert_eq!(exported.data["account"]["username"], "bob");
        assert!(!exported.text().contains("Of alice"));
    }
    assert!(export(&alice).await.text().contains("Of alice"));
    // A session that has ended exports nothing.
    ok(alice.api_post("/api/logout", &[]).await);
    assert_eq!(refused(alice.api_get("/api/export").await), "You must be logged in.");
}

#[in_memory]
async fn what_people_wrote_is_text_in_the_page(server: Server) {
    let alice = server.member("alice").await;
    let news = alice.submit_text("</title><script>alert(1)</script>", "<img src=x onerror=alert(2)>").await;
    alice.comment(news, "</li></ul></section></main><script>alert(3)</script>").await;
    alice.tweet("\"'><svg onload=alert(4)>").await;
    // Other programs store addresses of any kind.
    server.set_field(&format!("news:{news}"), "title", "\u{1b}[2J\u{202e}title").await;
    let link = alice.submit_link("A link", "http://example.com/").await;
    server.set_field(&format!("news:{link}"), "url", "javascript:alert(5)").await;
    let Exported { page, .. } = export(&alice).await;
    for markup in ["<script", "<img", "<svg", "href=\"javascript", "\u{1b}"] {
        assert!(!page.contains(markup), "{markup} in {page}");
    }
    for tag in ["section", "ul", "li", "main"] {
        let begun = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(begun, page.matches(&format!("</{tag}>")).count(), "{tag} in {page}");
    }
}

#[in_memory(&[("rates.read_per_address", "1000/1m")])]
async fn an_account_exports_three_times_an_hour(server: Server) {
    let [admin, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    for _ in 0..3 {
        export(&bob).await;
    }
    let answer = bob.get("/api/export").await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers[RETRY_AFTER], "1200");
    let told = "Too many exports in a short time. Try again in 20 minutes.";
    assert_eq!(refused(answer.json()), told);
    // Others may, and administrators are not counted.
    export(&carol).await;
    server.set_field(&format!("user:{}", admin.user_id), "flags", "a").await;
    for _ in 0..4 {
        export(&admin).await;
    }
    server.advance(1_200);
    export(&bob).await;
    assert_eq!(bob.get("/api/export").await.status, StatusCode::TOO_MANY_REQUESTS);
}

/// Stores comments of a user on item 1 that can hardly be compressed: more than the system buffers
/// between a server and a client that does not read.
async fn store_noise(server: &Server, user: u64) {
    let mut state = 7_u64;
    let mut noise = || -> String {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
        };
        (0..4_000).map(|_| next()).collect()
    };
    for first in (0..800_u64).step_by(200) {
        let comments: Vec<(String, String)> = (first + 1..=first + 200)
            .map(|id| {
                let comment = json!({"body": noise(), "ctime": id, "user_id": user, "parent_id": -1, "up": [user], "down": []});
                (id.to_string(), comment.to_string())
            })
            .collect();
        let mut batch = Batch::new();
        for (id, _) in &comments {
            batch.sorted_add(format!("user.comments:{user}"), format!("1-{id}"), 1_000_000_000.0);
        }
        batch.set_fields("thread:comment:1", comments);
        server.commit(batch).await;
    }
}

/// Asks for an export and reads its first bytes.
async fn begin_export(server: &Server, client: &Client) -> (TcpStream, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let auth = client.auth.as_deref().unwrap();
    let request = format!(
        "GET /api/export HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: auth={auth}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = vec![0; 1_000];
    let read = stream.read(&mut received).await.unwrap();
    received.truncate(read);
    assert!(received.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&received));
    (stream, received)
}

#[in_memory(&[("rates.read_per_address", "1000/1m")])]
async fn an_export_that_is_not_taken_to_its_end_does_not_count_and_two_are_made_at_once(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    store_noise(&server, alice.user_id).await;
    for _ in 0..5 {
        drop(begin_export(&server, &alice).await);
        // Two may be under way; these end when the server notices that the client has gone.
        wait_until_ended(&server).await;
    }
    for _ in 0..3 {
        let Exported { data, .. } = export(&alice).await;
        assert!(data["comments"].as_array().unwrap().len() > 100);
    }
    assert_eq!(alice.get("/api/export").await.status, StatusCode::TOO_MANY_REQUESTS);
    // No more than two of one account are made at once.
    server.advance(3_600);
    let under_way = [begin_export(&server, &alice).await, begin_export(&server, &alice).await];
    let refused = alice.get("/api/export").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers[RETRY_AFTER], "60");
    drop(under_way);
    wait_until_ended(&server).await;
    export(&alice).await;
}

/// Waits until no export is under way.
async fn wait_until_ended(server: &Server) {
    while server.app.site.exports_under_way() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn only_the_first_byte_of_an_export_has_the_time_limit_of_requests() {
    let settings = [("rates.read_per_address", "0"), ("server.request_timeout_seconds", "1")];
    let server = Server::start(Engine::Memory, &settings).await;
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    store_noise(&server, alice.user_id).await;
    let (mut stream, mut received) = begin_export(&server, &alice).await;
    // Longer than a request may take.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(server.app.site.exports_under_way(), 1, "it waits for its reader");
    stream.read_to_end(&mut received).await.unwrap();
    assert!(received.ends_with(b"0\r\n\r\n"), "the last chunk");
    assert_eq!(server.app.site.exports_under_way(), 0);
}

#[in_memory]
async fn a_long_list_is_cut_and_the_export_says_so(server: Server) {
    let alice = server.member("alice").await;
    let key = format!("user:{}:saved", alice.user_id);
    for first in (0..EXPORT_LIST + 10).step_by(1_000) {
        let mut batch = Batch::new();
        for id in first..(first + 1_000).min(EXPORT_LIST + 10) {
            batch.sorted_add(&key, (id + 1).to_string(), 1_000_000_000.0 + id as f64);
        }
        server.commit(batch).await;
    }
    let exported = export(&alice).await;
    assert_eq!(exported.list("saved").len() as u64, EXPORT_LIST);
    assert_eq!(exported.list("saved")[0]["news_id"], EXPORT_LIST + 10);
    assert_eq!(exported.data["left_out"], json!({"saved": 10}));
    assert!(exported.page.contains("10 entries are left out"));
}

#[each_engine("rounds")]
async fn an_export_takes_no_round_for_each_entry(server: Server) {
    let [alice, bob, _] = server.people(["alice", "bob", "carol"]).await;
    server.set_karma(&alice, 1_000).await;
    let rounds = async || server.least_rounds_during(async || export(&alice).await).await;
    let fill = async || {
        let news = bob.submit_text("A story", "text").await;
        ok(alice.vote(news, "up").await);
        let comment = bob.comment(news, "A comment").await;
        alice.comment(news, "Another").await;
        ok(alice.vote_comment(news, comment, "up").await);
        alice.tweet("A tweet").await;
    };
    fill().await;
    let few = rounds().await;
    for _ in 0..20 {
        fill().await;
    }
    assert_eq!(rounds().await, few);
    assert!(few < 60 && 2 * 20 < EXPORT_CHUNK, "{few}");
}
