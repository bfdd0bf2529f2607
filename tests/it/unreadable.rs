//! One stored value that cannot be read, because it has another type, is that item's 503 and a
//! line in the log. Lists, feeds and calls that have the item among others do without it.

use std::collections::{BTreeMap, BTreeSet};

use tidings_keyspace::{Entry, Value};
use tidings_web::route::ErrorFormat;

use crate::client::{Client, ok};
use crate::community::{Community, PAGES};
use crate::routes::shared_reads;
use crate::server::{Server, each_engine};

/// The lists beside those that say so of themselves.
const LISTS: &str = "/v0/topstories.json /v0/newstories.json /v0/beststories.json /v0/updates.json \
    /api/getnews/top/0/30 /sitemap.xml /moderations /people/tree";

/// The lists with many items, which must never fail because of one of them. That of a person fails with the person.
fn never_fail() -> BTreeSet<String> {
    let is_of_person = |path: &String| ["alice", "bob"].iter().any(|name| path.contains(name));
    let lists = shared_reads(|facts| facts.listed.is_some()).into_iter().filter(|path| !is_of_person(path));
    lists.chain(LISTS.split(' ').map(str::to_owned)).collect()
}

/// The keys of items, and a page and a call about the item that answer 503.
const ITEMS: [(&str, &str); 10] = [
    ("thread:comment:1", "/api/v1/items/1"),
    ("news:1", "/v0/item/1.json"),
    ("user:2", "/v0/user/bob.json"),
    ("news:1", "/news/1"),
    ("news:2", "/news/2"),
    ("thread:comment:1", "/news/1"),
    ("thread:comment:1", "/api/getcomments/1"),
    ("tweet:1", "/tweet/1"),
    ("user:2", "/user/bob"),
    ("user:2:user_timeline", "/@bob"),
];

/// The keys whose loss takes a list with it: they are the list.
const LIST_KEYS: &str = "news.votes: host.news: items built: news.top news.cron time: score: topics \
    group: global_timeline moderation:log invites:roots past: score:links time:links";

/// A value of another type.
fn other_type(value: &Value) -> Value {
    match value {
        Value::Set(_) => Value::String("of another type".to_owned()),
        _ => Value::Set(vec!["of another type".to_owned()]),
    }
}

/// A key without the parts that vary, as in `user:*:inbox`.
fn family(key: &str) -> String {
    let is_variable = |part: &str| {
        part.bytes().any(|byte| byte.is_ascii_digit())
            || ["alice", "bob", "links", "examples"].contains(&part)
    };
    key.split(':').map(|part| if is_variable(part) { "*" } else { part }).collect::<Vec<_>>().join(":")
}

async fn replace(server: &Server, key: &str, value: Value) {
    let entry = Entry { key: key.to_owned(), value, time_to_live: None };
    server.store().restore(vec![entry]).await.unwrap();
}

/// A community with something of everything that lists show.
async fn community(server: Server) -> Community {
    let community = Community::on(server).await;
    let Community { alice, bob, server } = &community;
    bob.tweet("Hello @alice").await;
    alice.follow("bob").await;
    ok(bob.vote(1, "up").await);
    ok(alice.moderate("lock", ("story", "2"), &[]).await);
    ok(alice.moderate("note", ("user", "bob"), &[]).await);
    server.advance(1);
    community
}

/// The statuses of what a client reads: a visitor also of what is the same for everybody, such as feeds.
async fn statuses(client: &Client) -> BTreeMap<String, u16> {
    let mut statuses = BTreeMap::new();
    let known = PAGES.iter().map(|(path, _)| *path).chain(LISTS.split(' ')).map(str::to_owned);
    // The calls of the original extension report every failure with 500.
    let shared = shared_reads(|facts| facts.errors != ErrorFormat::Deployed);
    let shared = shared.into_iter().filter(|_| client.auth.is_none());
    for path in known.chain(["/api/inbox".to_owned()]).chain(shared) {
        let status = client.get(&path).await.status.as_u16();
        statuses.insert(path, status);
    }
    statuses
}

#[each_engine("damage")]
async fn a_value_of_another_type_is_one_items_503_and_no_lists_failure(server: Server) {
    let Community { server, alice, .. } = community(server).await;
    let visitor = server.visitor();
    let (as_alice, as_visitor) = (statuses(&alice).await, statuses(&visitor).await);
    let (mut seen, mut wrong, never_fail) = (BTreeSet::new(), Vec::new(), never_fail());
    for (key, value) in server.dump().await {
        // One key of each family, and those of the items that lists show.
        let is_item = ITEMS.iter().any(|(item, _)| *item == key);
        if !seen.insert(family(&key)) && !is_item {
            continue;
        }
        replace(&server, &key, other_type(&value)).await;
        let readers = [(&alice, &as_alice), (&visitor, &as_visitor)];
        // The engines differ in how a read fails, not in who reads.
        let count = if server.store().is_shared() { 1 } else { readers.len() };
        for (client, before) in readers.into_iter().take(count) {
            for (path, status) in statuses(client).await {
                let told = format!("{path} for {:?} while {key} cannot be read", client.username);
                // The calls of the original extension answer every fault so.
                if status == 500 && before[&path] != 500 {
                    wrong.push(format!("500: {told}"));
                }
                let may_fail = LIST_KEYS.split(' ').any(|list| key.starts_with(list));
                let must_work = before[&path] == 200 && never_fail.contains(&path) && !may_fail;
                if must_work && status != 200 {
                    wrong.push(format!("{status}: {told}"));
                }
            }
        }
        for (_, path) in ITEMS.iter().filter(|(item, _)| *item == key) {
            let answer = visitor.get(path).await;
            let text = answer.text();
            if answer.status != 503 || !text.contains("cannot be read") {
                wrong.push(format!("{}: {path} while {key} cannot be read: {text:.300}", answer.status));
            }
        }
        replace(&server, &key, value).await;
        assert_eq!(visitor.get("/").await.status, 200);
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((statuses(&alice).await, statuses(&visitor).await), (as_alice, as_visitor));
}

#[each_engine("damage")]
async fn a_write_to_what_cannot_be_read_is_refused_and_changes_nothing(server: Server) {
    let Community { server, alice, bob } = community(server).await;
    for key in ["news:2", "news.up:2", "thread:comment:2", "user.saved:2", "user.comments:2"] {
        // Nobody has commented on this story, or saved it.
        let value = server.dump().await.remove(key).unwrap_or_else(|| Value::Hash(Vec::new()));
        replace(&server, key, other_type(&value)).await;
        for path in ["/api/votenews", "/api/postcomment"] {
            let id = [("news_id", "2"), ("comment_id", "-1"), ("parent_id", "-1")];
            let fields = [&id[..], &[("vote_type", "up"), ("comment", "words")]].concat();
            let client = if path == "/api/votenews" { &alice } else { &bob };
            let before = server.dump().await;
            let answer = client.post(path, &fields).await;
            assert!(answer.status != 500, "{path} while {key} cannot be read: {answer:?}");
            let json = answer.json();
            assert!(
                answer.status == 503 || json["status"] != "ok" || server.dump().await != before,
                "{json}"
            );
            if answer.status == 503 {
                assert!(json["error"].as_str().unwrap().contains("cannot be read"), "{json}");
                assert_eq!(server.dump().await, before, "{path} while {key} cannot be read");
            }
        }
        replace(&server, key, value).await;
    }
}
