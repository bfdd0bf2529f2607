//! Nobody is sent what belongs to somebody else. Two people and visitors load every address of
//! the site, in every order, cached or not, compressed or not. An answer to one person never
//! contains a secret, the e-mail address, the network address, the browser or the name of
//! another, and does not depend on how others have voted.
//!
//! The addresses come from the router, from the pages of the tests and from the description of
//! the API, so a new page is covered as soon as it exists.

use crate::client::{Client, HttpResponse, ok};
use crate::community::{Community, PAGES};
use crate::export::unpacked;
use crate::filtered::{GONE_SETTINGS, GoneSite, told};
use crate::routes::{filled, get_routes};
use crate::server::{Engine, Server, each_engine, in_memory};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RANGE};
use reqwest::{Method, StatusCode};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// The stream of a home page does not end. `tests/it/live.rs` checks it.
const ENDLESS: &str = "/home/events";

/// Reads that need a query to say anything, and pages of people.
const WITH_QUERIES: &str = "/api/v1/search?query=story /api/v1/search_by_date?tags=comment \
    /api/v1/users/zelda /v0/newstories.json /v0/updates.json?print=pretty /v0/user/zelda.json \
    /scores?for=example.com \
    /v1/scores?from=%7B%22links%22%3A%5B%7B%22hostname%22%3A%22example.com%22%7D%5D%7D /news/1?page=1 \
    /api/duplicate?url=example.com /api/getcomments/1?count=1 /everyone?before=1900000000-1 \
    /api/timeline/everyone?count=5 /login?next=%2Fnews%2F1 /submit?u=http%3A%2F%2Fexample.com%2F&t=A \
    /search?q=story&kind=all /search?q=example&kind=people /api/search?q=a&kind=all /search.atom?q=story \
    /api/search/suggest?q=exa /api/search/similar?title=A+story /@zelda /@yannick /user/zelda \
    /usernews/yannick/0";

/// Pages that suggest people to follow: names are public there.
const LISTS_OF_PEOPLE: [&str; 2] = ["/home", "/suggestions"];

/// Public fields of an account. Every other field must stay its owner's, also one that is
/// added later.
const PUBLIC_FIELDS: [&str; 6] = ["id", "username", "about", "fullname", "flags", "karma"];

/// Characters of a field that could only be one person's.
const SHORTEST_FACT: usize = 8;

/// An address of every read of the site.
pub fn addresses() -> BTreeSet<String> {
    let mut addresses: BTreeSet<String> = get_routes().iter().map(|route| filled(route)).collect();
    addresses.extend(PAGES.iter().map(|(path, _)| (*path).to_owned()));
    addresses.extend(WITH_QUERIES.split(' ').map(str::to_owned));
    addresses.remove(ENDLESS);
    addresses
}

/// Somebody who looks at pages.
struct Person {
    client: Client,
    /// The facts that nobody else may be sent, each with a name for messages.
    facts: BTreeMap<String, String>,
    /// Secrets that a page may contain in masked form.
    secrets: Vec<String>,
}

impl Person {
    fn visitor(server: &Server) -> Self {
        Self { client: server.visitor(), facts: BTreeMap::new(), secrets: Vec::new() }
    }

    /// Somebody with an account, a password and an e-mail address of their own, who reads and
    /// votes but never writes: their name is nobody's business either.
    async fn reader(server: &Server, name: &str, network: &str) -> Self {
        let browser = format!("Browser of {name}");
        let visitor = server.visitor().forwarded_for(network).with_header("user-agent", &browser);
        let mut client = visitor.register(name).await;
        client.user_id = server.string(&format!("username.to.id:{name}")).await.unwrap().parse().unwrap();
        let email = format!("{name}-post@private.example");
        server.set_field(&format!("user:{}", client.user_id), "email", &email).await;
        let mut person = Self::of(server, client).await;
        for (what, fact) in [("name", name), ("network", network), ("browser", &browser)] {
            person.facts.insert(what.to_owned(), fact.to_owned());
        }
        person
    }

    /// Somebody whose name is public.
    async fn of(server: &Server, client: Client) -> Self {
        let mut person = Self { client, facts: BTreeMap::new(), secrets: Vec::new() };
        person.learn(server).await;
        person
    }

    /// Reads what is private from the store: every field but the public ones. Numbers and short
    /// words are times, counters and switches, and could be anybody's.
    async fn learn(&mut self, server: &Server) {
        for (field, value) in server.hash(&format!("user:{}", self.client.user_id)).await {
            let is_telling = value.len() >= SHORTEST_FACT && !value.bytes().all(|byte| byte.is_ascii_digit());
            if !PUBLIC_FIELDS.contains(&field.as_str()) && is_telling {
                // The part before the @ survives any escaping.
                let fact = value.split('@').next().unwrap_or_default();
                self.facts.insert(field, fact.to_owned());
            }
        }
        for (name, secret) in [("token", &self.client.auth), ("apisecret", &self.client.apisecret)] {
            let secret = secret.clone().unwrap();
            self.facts.insert(format!("hash of the {name}"), hex::encode(Sha256::digest(&secret)));
            self.facts.insert(name.to_owned(), secret.clone());
            self.secrets.push(secret);
        }
    }

    /// Whether everyone may know something of this person at an address.
    fn is_public(&self, what: &str, address: &str) -> bool {
        // An answer repeats the address that it was asked about, and a story names those that were merged into it.
        let is_told = address.starts_with("/api/duplicate") || what == "waymerged" && address == "/news/2";
        if what.starts_with("way") {
            return is_told;
        }
        let is_listed = LISTS_OF_PEOPLE.iter().any(|list| address.starts_with(list));
        what == "name" && (is_listed || address.to_lowercase().contains(&self.client.username))
    }

    /// Checks what somebody else was sent.
    fn check_absent(&self, answer: &Answered, address: &str, told: &str) {
        for (what, fact) in &self.facts {
            let found = answer.text.contains(fact.as_str()) && !self.is_public(what, address);
            assert!(!found, "{told} is sent the {what} of {}: {}", self.client.username, answer.text);
        }
        for secret in &self.secrets {
            let forms = [Some(secret.as_bytes().to_vec()), hex::decode(secret).ok()];
            let found = forms.iter().flatten().any(|form| answer.unmasked.contains(form));
            assert!(!found, "{told} is sent a masked secret: {}", answer.text);
        }
    }
}

/// The content of an answer.
struct Answered {
    /// The head, and the body unpacked.
    text: String,
    /// The bytes that may be hidden in it: one half of each text of hexadecimal digits masks the other.
    unmasked: BTreeSet<Vec<u8>>,
}

/// Fewer digits than any masked secret has.
const SHORTEST_MASKED: usize = 32;

impl Answered {
    fn of(answer: &HttpResponse) -> Self {
        let text = text(answer);
        let runs = text.as_bytes().split(|byte| !byte.is_ascii_hexdigit());
        let unmasked = runs.filter(|run| run.len() >= SHORTEST_MASKED).filter_map(|run| {
            let bytes = hex::decode(run).ok()?;
            let (mask, masked) = bytes.split_at(bytes.len() / 2);
            Some(mask.iter().zip(masked).map(|(mask, masked)| mask ^ masked).collect())
        });
        Self { unmasked: unmasked.collect(), text }
    }
}

/// How an address is asked for.
#[derive(Debug, Clone, Copy)]
struct Way {
    encoding: &'static str,
    is_head: bool,
    has_range: bool,
}

const WAYS: [Way; 5] = [
    Way { encoding: "identity", is_head: false, has_range: false },
    Way { encoding: "gzip", is_head: false, has_range: false },
    Way { encoding: "br", is_head: false, has_range: false },
    Way { encoding: "identity", is_head: true, has_range: false },
    Way { encoding: "identity", is_head: false, has_range: true },
];

async fn ask(person: &Person, address: &str, way: Way, version: Option<&str>) -> HttpResponse {
    let method = if way.is_head { Method::HEAD } else { Method::GET };
    let mut request = person.client.request(method, address).header(ACCEPT_ENCODING, way.encoding);
    if way.has_range {
        request = request.header(RANGE, "bytes=0-");
    }
    if let Some(version) = version {
        request = request.header(IF_NONE_MATCH, version);
    }
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    HttpResponse { status, headers, body: answer.bytes().await.unwrap().to_vec() }
}

/// Everything that an answer says: the head and the body, unpacked.
fn text(answer: &HttpResponse) -> String {
    let encoding = answer.headers.get(CONTENT_ENCODING).map(|encoding| encoding.to_str().unwrap());
    let mut reader: Box<dyn Read + '_> = match encoding {
        Some("gzip") if !answer.body.is_empty() => Box::new(flate2::read::GzDecoder::new(&*answer.body)),
        Some("br") if !answer.body.is_empty() => Box::new(brotli::Decompressor::new(&*answer.body, 4_096)),
        _ => Box::new(&*answer.body),
    };
    let mut body = Vec::new();
    reader.read_to_end(&mut body).unwrap();
    let is_archive = answer.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/zip");
    if is_archive && !body.is_empty() {
        return format!("{:?}\n{:?}", answer.headers, unpacked(&body));
    }
    format!("{:?}\n{}", answer.headers, String::from_utf8_lossy(&body))
}

/// The orders in which three people look at something.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// People ask for an address, each twice, and none is sent what belongs to another.
async fn check_order(people: &[&Person], others: &[&Person], address: &str, way: Way) {
    let mut versions: BTreeMap<String, &str> = BTreeMap::new();
    for person in people.iter().flat_map(|person| [person, person]) {
        let name = person.client.username.as_str();
        let told = format!("{address} {way:?}: {name:?}");
        let answer = ask(person, address, way, None).await;
        // The calls of the original extension report every mistake with 500.
        assert!(!answer.status.is_server_error() || address.starts_with("/v1/"), "{told}: {answer:?}");
        let answered = Answered::of(&answer);
        for other in people.iter().chain(others).filter(|other| other.client.username != name) {
            other.check_absent(&answered, address, &told);
        }
        let version = answer.headers.get(ETAG).map(|tag| tag.to_str().unwrap().to_owned());
        // The version of another's answer is not this person's, unless it is the same answer.
        for known in versions.iter().filter(|(_, owner)| **owner != name).map(|(version, _)| version) {
            let again = ask(person, address, way, Some(known)).await;
            let same = version.as_ref() == Some(known);
            assert_eq!(again.status == StatusCode::NOT_MODIFIED, same, "{told}: {known}");
        }
        versions.extend(version.map(|version| (version, name)));
    }
}

/// Two readers who have voted and saved on the site of others.
async fn readers(server: &Server) -> [Person; 2] {
    let zelda = Person::reader(server, "zelda", "198.51.100.77").await;
    let yannick = Person::reader(server, "yannick", "203.0.113.88").await;
    for (reader, vote, site_vote) in [(&zelda, "up", "1"), (&yannick, "down", "-1")] {
        server.set_karma(&reader.client, 100).await;
        ok(reader.client.vote(2, vote).await);
        ok(reader.client.vote_comment(1, 1, vote).await);
        ok(reader.client.call(&format!("/api/sites/vote?link=example.com&vote={site_vote}")).await);
    }
    let mut readers = [zelda, yannick];
    for reader in &mut readers {
        // A vote on a site has made a voter.
        reader.learn(server).await;
        assert!(reader.facts.contains_key("voter") && reader.facts.contains_key("password"));
        assert!(reader.facts.contains_key("email"), "{:?}", reader.facts.keys());
    }
    readers
}

const BEHIND_A_PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.0/8");

#[each_engine("caches", &[BEHIND_A_PROXY, ("search.enabled", "true")])]
async fn nobody_is_sent_what_belongs_to_another(server: Server) {
    let Community { server, alice, bob } = Community::on(server).await;
    let [zelda, yannick] = readers(&server).await;
    let visitor = Person::visitor(&server);
    let bob = Person::of(&server, bob).await;
    let alice = Person::of(&server, alice).await;
    let people = [&visitor, &zelda, &yannick];
    // On Redis, a server learns of writes in another way; the orders of readers say nothing more about that.
    let orders = if server.store().is_shared() { &ORDERS[..2] } else { &ORDERS[..] };
    for address in addresses() {
        for (order, way) in orders.iter().zip(WAYS.into_iter().cycle()) {
            server.clear_caches().await;
            check_order(&order.map(|index| people[index]), &[&alice, &bob], &address, way).await;
        }
        // An author's and an administrator's pages are about the same things.
        check_order(&[&alice, &bob, &visitor], &[], &address, WAYS[0]).await;
    }
    // An administrator may see voters and names, and in the directory of accounts e-mail addresses, but no other
    // secret.
    for address in addresses().into_iter().filter(|address| !address.ends_with("/people")) {
        let answer = text(&ask(&alice, &address, WAYS[0], None).await);
        for reader in [&zelda, &yannick] {
            for what in ["email", "password", "token", "apisecret"] {
                assert!(!answer.contains(&reader.facts[what]), "{address} tells administrators the {what}");
            }
        }
    }
}

#[in_memory(&GONE_SETTINGS)]
async fn nobody_is_sent_what_is_gone_whoever_of_those_who_see_it_has_read_before(server: Server) {
    let site = GoneSite::on(server, async |_, _| {}).await;
    let server = &site.community.server;
    let visitor = Person::visitor(server);
    let mut authors: Vec<Person> = Vec::new();
    for gone in site.gone.iter().filter(|gone| gone.way != "wayleft") {
        let name = &gone.author.username;
        if !authors.iter().any(|author| author.client.username == *name) {
            let client = gone.author.clone();
            authors.push(Person { client, facts: BTreeMap::new(), secrets: Vec::new() });
        }
        let author = authors.iter_mut().find(|author| author.client.username == *name).unwrap();
        author.facts.insert(gone.way.to_owned(), told(gone.way));
    }
    let rita = Person { client: site.rita.clone(), facts: BTreeMap::new(), secrets: Vec::new() };
    let [dave, heidi] = authors.as_slice() else { panic!("{} authors", authors.len()) };
    for (order, address) in [[dave, heidi, &visitor, &rita], [&rita, &visitor, heidi, dave]]
        .iter()
        .cycle()
        .zip(site.addresses.iter().filter(|address| !address.contains("hidden=1")))
    {
        // A moderator fills the caches, too.
        site.community.alice.get(address).await;
        check_order(order, &[], address, WAYS[0]).await;
    }
}

/// A site on which two readers have each voted on one of two stories, comments and sites.
async fn voted(is_swapped: bool) -> (Community, [Client; 2]) {
    let community = Community::new(Engine::Memory, &[]).await;
    let server = &community.server;
    let news = community.alice.submit_text("Another text", "Text").await;
    let comment = community.alice.comment(2, "Another comment").await;
    let readers = [server.member("zelda").await, server.member("yannick").await];
    for reader in &readers {
        server.set_karma(reader, 100).await;
    }
    // The first votes are on the same things in both worlds, and each thing has as many votes in both.
    let voters = if is_swapped { [&readers[1], &readers[0]] } else { [&readers[0], &readers[1]] };
    for (voter, news, comment, site) in
        [(voters[0], 2, (1, 1), "example.com"), (voters[1], news, (2, comment), "example.net")]
    {
        ok(voter.vote(news, "up").await);
        ok(voter.vote_comment(comment.0, comment.1, "up").await);
        ok(voter.api_post("/api/sites/vote", &[("link", site), ("vote", "1")]).await);
    }
    (community, readers)
}

/// The answers to a visitor, by address. Answers that say nothing of the site are left out.
async fn seen(server: &Server) -> BTreeMap<String, String> {
    let visitor = server.visitor();
    let mut seen = BTreeMap::new();
    for address in addresses().into_iter().filter(|address| address != "/random") {
        let answer = visitor.get(&address).await;
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        // The site's own address is another one on each server, and the id for each request.
        let body = body.replace(&server.address.to_string(), "SITE");
        seen.insert(address, body.replace(answer.headers["x-request-id"].to_str().unwrap(), "ID"));
    }
    seen
}

#[tokio::test]
async fn visitors_cannot_tell_who_has_voted() {
    let (one, _) = voted(false).await;
    let (other, _) = voted(true).await;
    let (one, other) = (seen(&one.server).await, seen(&other.server).await);
    assert!(one["/news/1"].contains("A first comment"), "{}", one["/news/1"]);
    for (address, answer) in &one {
        assert_eq!(answer, &other[address], "{address} depends on who voted");
    }
}

#[tokio::test]
async fn a_member_is_told_only_about_votes_of_their_own() {
    let (Community { server, .. }, [zelda, yannick]) = voted(false).await;
    let idle = server.member("idle").await;
    for (reader, mine) in [(&zelda, Some(2)), (&yannick, Some(4)), (&idle, None)] {
        for item in reader.list("latest").await {
            let is_mine = item["id"].as_u64() == mine;
            assert_eq!(item["voted"] == "up", is_mine, "{}: {item}", reader.username);
        }
    }
    // The page of a site says how its reader has voted.
    let site = async |reader: &Client| text(&reader.get("/site/example.com").await);
    let nobody = site(&idle).await.replace("idle", "NAME");
    assert_ne!(site(&zelda).await.replace("zelda", "NAME"), nobody);
}

#[test]
fn every_read_of_the_router_and_the_api_is_among_the_addresses() {
    let routes = get_routes();
    assert!(routes.len() > 70, "only {} routes were found", routes.len());
    for known in ["/", "/news/{id}", "/api/getcomments/{news_id}", "/settings", "/scores", "/login"] {
        assert!(routes.contains(known), "{known}");
    }
    assert!(!routes.contains("/votenews"));
    let document = tidings_web::openapi::description();
    for (path, item) in document["paths"].as_object().unwrap() {
        assert!(item.get("get").is_none() || routes.contains(path), "{path} is not in the router");
    }
}
