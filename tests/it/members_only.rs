//! A site that only members read: nobody else finds a word of it, at any address.

use reqwest::StatusCode;
use tidings_domain::accounts::access::Access;
use tidings_web::route::{ErrorFormat, Facts};
use tidings_web::router::routes;

use crate::client::{Client, HttpResponse, PASSWORD, ok};
use crate::community::Community;
use crate::hacker_news::Events;
use crate::html::Page;
use crate::pages::{page, redirects_to};
use crate::routes::filled;
use crate::server::{Engine, Server, each_engine, in_memory};
use crate::signups::sign_up;

const MEMBERS: [(&str, &str); 2] = [("site.readers", "members"), ("search.enabled", "true")];

/// Words of the community, and names of those in it.
const WORDS: [&str; 9] =
    ["A link", "A text", "Some text", "/one", "A first", "An answer", "examples", "alice", "bob"];

/// An address at which nothing is, and those of all routes with the facts of their methods.
fn addresses() -> Vec<(&'static str, String, Facts)> {
    let declared = routes().iter().flat_map(|route| {
        let methods = [("GET", route.get), ("POST", route.post)];
        methods.into_iter().filter_map(|(method, facts)| Some((method, filled(&route.pattern), facts?)))
    });
    let nothing =
        ["/nothing", "/news/99", "/api/nothing", "/v0/nothing.json", "/v1/nothing", "/api/v1/items/99"];
    let nothing = nothing.map(|path| ("GET", path.to_owned(), *routes().find(&reqwest::Method::GET, path)));
    declared.chain(nothing).collect()
}

async fn ask(client: &Client, method: &str, address: &str) -> HttpResponse {
    if method == "GET" { client.get(address).await } else { client.post(address, &[]).await }
}

/// A text without the address that was asked for, which may be in the link to the login page.
fn without(text: &str, address: &str) -> String {
    let escaped: String = url::form_urlencoded::byte_serialize(address.as_bytes()).collect();
    text.replace(address, "").replace(&escaped, "")
}

/// Checks that an answer says nothing of the community, and that nobody keeps it.
fn assert_silent(answer: &HttpResponse, (method, address, facts): &(&str, String, Facts), what: &str) {
    let shown = format!("{what}: {method} {address}: {answer:?}");
    let text = String::from_utf8_lossy(&answer.body);
    let text = without(&text, address);
    let told: Vec<_> = WORDS.iter().filter(|word| text.contains(**word)).collect();
    assert!(told.is_empty(), "{told:?} in {shown}");
    if facts.access != Access::Everyone {
        let is_led = facts.errors == ErrorFormat::Page && !facts.is_for_programs;
        let expected = if is_led { StatusCode::SEE_OTHER } else { StatusCode::UNAUTHORIZED };
        assert_eq!(answer.status, expected, "{shown}");
        if is_led {
            assert!(redirects_to(answer).starts_with("/login?next="), "{shown}");
        }
    }
    if !facts.is_open_file() {
        assert_eq!(answer.headers["cache-control"], "no-store", "{shown}");
        assert_eq!(answer.headers["x-robots-tag"], "noindex", "{shown}");
        assert!(["last-modified", "etag"].iter().all(|name| !answer.headers.contains_key(*name)), "{shown}");
    }
}

#[tokio::test]
async fn nobody_but_members_finds_a_word_at_any_address() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &MEMBERS).await;
    ok(alice.call("/api/admin/announcement?text=An announcement for examples&url=&hours=0").await);
    let carol = server.register("carol").await;
    let key = new_key(&carol).await;
    ok(carol.api_post("/api/logout", &[]).await);
    ok(alice.moderate("ban", ("user", "bob"), &[]).await);
    let withdrawn = new_key(&alice).await;
    assert_eq!(redirects_to(&alice.post("/feeds/key", &[("key", "off")]).await), "/feeds#key");
    // What members have read is in no cache for others.
    for (method, address, _) in addresses().iter().filter(|(method, ..)| *method == "GET") {
        if address != "/home/events" {
            ask(&alice, method, address).await;
        }
    }
    let visitor = server.visitor();
    let forged = visitor.with_secrets(Some("0123456789abcdef0123456789abcdef01234567"), None);
    for asked in &addresses() {
        let (method, address, facts) = asked;
        for (what, client) in
            [("a visitor", &visitor), ("a banned person", &bob), ("a forged session", &forged)]
        {
            assert_silent(&ask(client, method, address).await, asked, what);
        }
        assert_silent(&ask(&carol, method, address).await, asked, "a session that has ended");
        let parameter = if address.contains('?') { '&' } else { '?' };
        let with = async |key: &str| ask(&visitor, method, &format!("{address}{parameter}key={key}")).await;
        for bad in [&*withdrawn, "1-00000000000000000000000000000000", "1-", "x"] {
            assert_silent(&with(bad).await, asked, "a bad key");
        }
        if !facts.takes_key {
            let answer = with(&key).await;
            assert_silent(&answer, asked, "a key where none is taken");
            let led = answer.headers.get("location").map_or("", |location| location.to_str().unwrap());
            assert!(!led.contains("key%3D") && !led.contains("key="), "{led}");
        }
    }
}

/// Makes a key on the page, and takes it from there.
async fn new_key(member: &Client) -> String {
    let answer = member.post("/feeds/key", &[("key", "new")]).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let shown = Page::of(&answer);
    let address =
        shown.all("a").filter_map(|link| link.attribute("href")).find(|to| to.starts_with("/rss?key="));
    address.unwrap().strip_prefix("/rss?key=").unwrap().to_owned()
}

#[each_engine("one of its kind", &MEMBERS)]
async fn a_key_reads_as_its_member_and_ends_when_it_is_replaced(server: Server) {
    let Community { server, alice, bob } = Community::on(server).await;
    let visitor = server.visitor();
    let key = new_key(&bob).await;
    assert!(key.starts_with("2-") && key.len() == 34, "{key}");
    let stored = server.field("user:2", "reading_key").await.unwrap();
    assert!(stored.len() == 64 && !stored.contains(&key[2..]), "{stored}");
    let read = async |address: &str, key: &str| {
        let parameter = if address.contains('?') { '&' } else { '?' };
        visitor.get(&format!("{address}{parameter}key={key}")).await
    };
    let addresses =
        "/rss /top/atom /news/1/json /api/getnews/top/0/30 /api/getcomments/1 /v0/topstories.json";
    for address in addresses.split(' ') {
        let answer = read(address, &key).await;
        assert_eq!(answer.status, StatusCode::OK, "{address}: {answer:?}");
        assert_eq!(answer.headers["cache-control"], "private, no-cache", "{address}");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer", "{address}");
        assert_eq!(visitor.get(address).await.status, StatusCode::UNAUTHORIZED, "{address}");
    }
    let opml = read("/feeds.opml", &key).await;
    assert!(opml.text().contains(&format!("/atom?key={key}")));
    // Hidden stories are hidden from the member's programs too.
    ok(bob.api_post("/api/hide", &[("news_id", "1")]).await);
    let listed = read("/api/getnews/latest/0/30", &key).await.json();
    let own = bob.api_get("/api/getnews/latest/0/30").await;
    assert_eq!(listed["news"].as_array().map(Vec::len), own["news"].as_array().map(Vec::len));

    let newer = new_key(&bob).await;
    assert_eq!(read("/rss", &key).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(read("/rss", &newer).await.status, StatusCode::OK);
    ok(alice.moderate("ban", ("user", "bob"), &[]).await);
    assert_eq!(read("/rss", &newer).await.status, StatusCode::UNAUTHORIZED);
    ok(alice.moderate("unban", ("user", "bob"), &[]).await);
    assert_eq!(read("/rss", &newer).await.status, StatusCode::OK);
}

#[in_memory(&MEMBERS)]
async fn a_stream_tells_nothing_more_to_somebody_who_was_banned(server: Server) {
    let Community { server, alice, bob } = Community::on(server).await;
    let key = new_key(&bob).await;
    let mut by_session = Events::open(&bob, "/v0/maxitem.json").await;
    let mut by_key = Events::open(&server.visitor(), &format!("/v0/maxitem.json?key={key}")).await;
    let mut of_alice = Events::open(&alice, "/v0/maxitem.json").await;
    for stream in [&mut by_session, &mut by_key, &mut of_alice] {
        stream.put().await;
    }
    ok(alice.moderate("ban", ("user", "bob"), &[]).await);
    alice.submit_text("After the ban", "text").await;
    of_alice.put().await;
    for stream in [&mut by_session, &mut by_key] {
        assert_eq!(stream.next().await, None);
    }
}

#[in_memory(&MEMBERS)]
async fn a_refused_form_shows_nothing_of_the_page_that_it_names(server: Server) {
    let Community { server, .. } = Community::on(server).await;
    for page in ["/news/1", "/", "/@alice"] {
        let fields = [("username", "zoe"), ("password", "wrong one"), ("form_page", page), ("next", page)];
        let answer = server.visitor().post("/login", &fields).await;
        let text = without(&answer.text(), page);
        assert!(WORDS.iter().all(|word| !text.contains(word)), "{page}: {text}");
    }
}

#[each_engine("races")]
async fn administrators_set_who_reads_which_counts_at_once_and_is_in_the_log(server: Server) {
    let Community { server, alice, .. } = Community::on(server).await;
    let visitor = server.visitor();
    let read =
        async || [visitor.get("/news/1").await.status, visitor.get("/api/getnews/top/0/30").await.status];
    assert_eq!(read().await, [StatusCode::OK; 2]);
    let set = async |readers: &str| {
        let set = alice.post("/admin/site", &[("readers", readers)]).await;
        assert!(redirects_to(&set).starts_with("/admin/site"), "{set:?}");
    };
    set("members").await;
    assert_eq!(read().await, [StatusCode::SEE_OTHER, StatusCode::UNAUTHORIZED]);
    let log = page(&alice, "/moderations").await;
    assert!(log.content().contains("changed who can read the site"), "{}", log.content());
    // A form without the choice does not open the site.
    assert!(redirects_to(&alice.post("/admin/site", &[("name", "Club")]).await).starts_with("/admin/site"));
    assert_eq!(read().await, [StatusCode::SEE_OTHER, StatusCode::UNAUTHORIZED]);
    set("everyone").await;
    assert_eq!(read().await, [StatusCode::OK; 2]);
    assert_eq!(alice.log("?action=set_readers").await.len(), 2);
}

#[in_memory(&MEMBERS)]
async fn members_read_and_the_open_pages_say_only_what_the_site_is(server: Server) {
    let Community { server, alice, .. } = Community::on(server).await;
    let answer = alice.get("/news/1").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["cache-control"], "private, no-cache");
    let visitor = server.visitor();
    let about = page(&visitor, "/about").await;
    assert!(about.content().contains("Only members can read this site."), "{}", about.content());
    assert!(!about.links_to("/ranking") && !about.links_to("/comments") && about.links_to("/register"));
    assert!(page(&alice, "/about").await.content().contains("Members can read."));
    let robots = visitor.text("/robots.txt").await;
    assert_eq!(robots, "User-agent: *\nDisallow: /\n");
    assert_eq!(visitor.get("/.well-known/missing").await.status, StatusCode::NOT_FOUND);
    server.register("carol").await;
    let login =
        visitor.post("/login", &[("username", "carol"), ("password", PASSWORD), ("next", "/news/1")]).await;
    assert_eq!(redirects_to(&login), "/news/1");
}

#[tokio::test]
async fn an_address_that_waits_to_be_confirmed_reads_nothing_but_its_settings() {
    let relay = crate::smtp_server::SmtpServer::start().await;
    let settings =
        [("site.readers", "members"), ("mail.relay", &*relay.relay()), ("accounts.confirm_email", "true")];
    let Community { server, .. } = Community::new(Engine::Memory, &settings).await;
    ok(sign_up(&server.visitor(), "carol", &[("email", "carol@example.org")]).await);
    let carol = server.client_of(3).await;
    for address in ["/", "/news/1", "/rss", "/@alice"] {
        let answer = carol.get(address).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{address}");
        let text = answer.text();
        assert!(text.contains("onfirm your e-mail address first") && !text.contains("A link"), "{text}");
    }
    assert_eq!(carol.get("/settings/account").await.status, StatusCode::OK);
    assert_eq!(carol.get("/logout").await.status, StatusCode::OK);
}
