//! What must hold in any store that the site has written, whatever happened:
//! counters equal what they count, and nothing is half there.

use std::collections::{BTreeMap, BTreeSet};

use tidings::keyspace::Value;

/// Everything that a store holds.
pub type Dump = BTreeMap<String, Value>;

/// Checks a whole store.
pub fn check(dump: &Dump) {
    for (key, id) in ids_of(dump, "news:") {
        check_news(dump, id, &hash(dump, key));
    }
    for (key, id) in ids_of(dump, "user:") {
        check_user(dump, id, &hash(dump, key));
    }
    for list in ["news.top", "news.cron"] {
        for id in members(dump, list) {
            let news = hash(dump, &format!("news:{id}"));
            assert_eq!(news.get("id"), Some(&id), "{list}");
            assert_eq!(news.get("del"), None, "{list} has the deleted item {id}");
        }
    }
    for (key, value) in dump {
        if let (Some(name), Value::String(id)) = (key.strip_prefix("username.to.id:"), value) {
            assert_eq!(hash(dump, &format!("user:{id}"))["username"].to_lowercase(), name);
        }
        if let (Some(token), Value::String(id)) = (key.strip_prefix("auth:"), value) {
            assert_eq!(hash(dump, &format!("user:{id}"))["auth"], token);
        }
        if let (Some(_), Value::String(id)) = (key.strip_prefix("url:"), value) {
            assert!(dump.contains_key(&format!("news:{id}")), "{key} points to {id}");
        }
    }
}

fn check_news(dump: &Dump, id: u64, news: &BTreeMap<String, String>) {
    let (ups, downs) = (members(dump, &format!("news.up:{id}")), members(dump, &format!("news.down:{id}")));
    assert_eq!(number(news, "up"), ups.len(), "votes up on {id}");
    assert_eq!(number(news, "down"), downs.len(), "votes down on {id}");
    assert!(ups.is_disjoint(&downs), "item {id} is voted up and down by the same user");
    for voter in &ups {
        let saved = members(dump, &format!("user.saved:{voter}"));
        assert!(saved.contains(&id.to_string()), "item {id} is not saved by {voter}");
    }
    let author = &news["user_id"];
    assert!(members(dump, &format!("user.posted:{author}")).contains(&id.to_string()), "item {id}");
    for list in ["news.top", "news.cron"] {
        let listed = members(dump, list).contains(&id.to_string());
        assert_eq!(listed, !news.contains_key("del"), "item {id} in {list}");
    }
    check_thread(dump, id, number(news, "comments"));
}

fn check_thread(dump: &Dump, id: u64, counted: usize) {
    let mut thread = hash(dump, &format!("thread:comment:{id}"));
    let drawn: u64 = thread.remove("nextid").map_or(0, |nextid| nextid.parse().unwrap());
    let mut alive = 0;
    for (comment, json) in &thread {
        assert!(comment.parse::<u64>().unwrap() <= drawn, "comment {id}-{comment}");
        let comment_json: serde_json::Value = serde_json::from_str(json).unwrap();
        let author = &comment_json["user_id"];
        let listed = members(dump, &format!("user.comments:{author}"));
        assert!(listed.contains(&format!("{id}-{comment}")), "comment {id}-{comment}");
        let voters = |field: &str| -> Vec<u64> {
            comment_json[field].as_array().into_iter().flatten().map(|id| id.as_u64().unwrap()).collect()
        };
        let all: Vec<u64> = [voters("up"), voters("down")].concat();
        let different: BTreeSet<&u64> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "comment {id}-{comment} is voted on twice by a user");
        alive += usize::from(comment_json["del"] != 1);
    }
    assert_eq!(counted, alive, "comments of item {id}");
}

fn check_user(dump: &Dump, id: u64, user: &BTreeMap<String, String>) {
    assert_eq!(user["id"], id.to_string());
    let name_key = format!("username.to.id:{}", user["username"].to_lowercase());
    assert_eq!(dump.get(&name_key), Some(&Value::String(id.to_string())));
    let session_key = format!("auth:{}", user["auth"]);
    assert_eq!(dump.get(&session_key), Some(&Value::String(id.to_string())));
    for (list, hashes) in [("user.posted", "news"), ("user.saved", "news")] {
        for news in members(dump, &format!("{list}:{id}")) {
            assert!(dump.contains_key(&format!("{hashes}:{news}")), "{list}:{id} has {news}");
        }
    }
    for news in members(dump, &format!("user.saved:{id}")) {
        assert!(members(dump, &format!("news.up:{news}")).contains(&id.to_string()), "saved {news} by {id}");
    }
    for address in members(dump, &format!("user.comments:{id}")) {
        let (news, comment) = address.split_once('-').unwrap();
        let thread = hash(dump, &format!("thread:comment:{news}"));
        assert!(thread.contains_key(comment), "user.comments:{id} has {address}");
    }
}

/// The keys `prefix<id>`, with their ids.
fn ids_of<'a>(dump: &'a Dump, prefix: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
    dump.keys().filter_map(move |key| Some((key.as_str(), key.strip_prefix(prefix)?.parse().ok()?)))
}

/// A hash by field; empty when absent.
pub fn hash(dump: &Dump, key: &str) -> BTreeMap<String, String> {
    match dump.get(key) {
        Some(Value::Hash(fields)) => fields.iter().cloned().collect(),
        None => BTreeMap::new(),
        Some(other) => panic!("{key} holds {other:?}"),
    }
}

/// The members of a sorted set; empty when absent.
pub fn members(dump: &Dump, key: &str) -> BTreeSet<String> {
    match dump.get(key) {
        Some(Value::SortedSet(members)) => members.iter().map(|(member, _)| member.clone()).collect(),
        None => BTreeSet::new(),
        Some(other) => panic!("{key} holds {other:?}"),
    }
}

fn number(hash: &BTreeMap<String, String>, field: &str) -> usize {
    hash[field].parse().unwrap()
}
