//! Rules that must hold in any store that the site has written, whatever happened:
//! counters equal what they count, and nothing is half there.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use tidings_domain::deactivation::{EMPTIED, REMOVED};
use tidings_domain::values::lookalikes::folded;
use tidings_keyspace::Value;

use crate::server::Server;

mod comments;
mod stories;
mod tweets;

/// Everything that a store holds.
pub type Dump = BTreeMap<String, Value>;

/// Checks the whole store of a site, also with `tidings check store`.
pub async fn check_site(server: &Server) {
    check(&server.dump().await);
    let found = crate::store_check::report(server, false).await;
    assert!(found.differences.is_empty(), "{:#?}", found.differences);
    assert_eq!(found.strangers, 0, "{:?}", found.named_strangers);
}

/// Checks a whole store.
pub fn check(dump: &Dump) {
    for (key, id) in ids_of(dump, "news:") {
        stories::check_story(dump, id, &hash(dump, key));
    }
    for (key, id) in ids_of(dump, "user:") {
        check_user(dump, id, &hash(dump, key));
    }
    for (key, id) in ids_of(dump, "tweet:") {
        tweets::check_tweet(dump, id, &hash(dump, key));
    }
    tweets::check_lists(dump);
    stories::check_lists(dump);
    stories::check_articles(dump);
    check_moderation(dump);
    for (key, value) in dump {
        check_reference(dump, key, value);
    }
    check_invitations(dump);
    check_sites(dump);
}

/// What a key leads to exists, and is of the name in the key.
fn check_reference(dump: &Dump, key: &str, value: &Value) {
    if let Some(session) = key.strip_prefix("session:") {
        let list = format!("user:{}:sessions", hash(dump, key)["user_id"]);
        assert!(members(dump, &list).contains(session), "{key} is not in {list}");
    }
    if let Some(host) = key.strip_prefix("link:").and_then(|rest| rest.strip_suffix(":origins")) {
        assert!(dump.contains_key(&format!("link:{host}:votes")), "{key} is of no votes");
    }
    let Value::String(id) = value else { return };
    let user = hash(dump, &format!("user:{id}"));
    // The name of an account that was given up stays taken.
    let is_called = |spelled: &dyn Fn(&str) -> String, name: &str| {
        user.contains_key("deactivated")
            || user.get("username").map(|it| spelled(it)).as_deref() == Some(name)
    };
    if let Some(name) = key.strip_prefix("username.to.id:") {
        assert!(is_called(&|it| it.to_lowercase(), name), "{key} leads to {id}");
    }
    if let Some(name) = key.strip_prefix("username.folded:") {
        assert!(is_called(&folded, name), "{key} leads to {id}");
    }
    if let Some(token) = key.strip_prefix("auth:") {
        assert_eq!(user["auth"], token);
    }
    assert!(!key.starts_with("url:") || dump.contains_key(&format!("news:{id}")), "{key} leads to {id}");
}

/// Everybody who was invited is in the list of who invited them, and the tree begins with those who were not.
fn check_invitations(dump: &Dump) {
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut roots = BTreeSet::new();
    for (key, id) in ids_of(dump, "user:") {
        let Some(by) = hash(dump, key).remove("invited_by") else { continue };
        expected.entry(format!("invites:by:{by}")).or_default().insert(id.to_string());
        if !hash(dump, &format!("user:{by}")).contains_key("invited_by") {
            roots.insert(by);
        }
    }
    let lists = dump.keys().filter(|key| key.starts_with("invites:by:"));
    let found: BTreeMap<_, _> = lists.map(|key| (key.clone(), members(dump, key))).collect();
    assert_eq!(found, expected);
    assert_eq!(members(dump, "invites:roots"), roots);
    for (key, user) in ids_of(dump, "invites:open:") {
        for code in members(dump, key) {
            // It may have expired.
            let by = hash(dump, &format!("invites:code:{code}")).remove("user_id");
            assert!(by.is_none_or(|by| by == user.to_string()), "{key} has {code}");
        }
    }
}

/// Recomputes every figure about sites from the stored votes.
fn check_sites(dump: &Dump) {
    let mut expected: BTreeMap<(String, String), i64> = BTreeMap::new();
    let mut stored = BTreeSet::new();
    let out = moved_out(dump);
    for (host, votes) in dump.keys().filter_map(|key| votes_of(dump, key)) {
        let origins = hash(dump, &format!("link:{host}:origins"));
        assert!(origins.keys().all(|voter| votes.contains_key(voter)), "link:{host}:origins");
        for (voter, vote) in votes {
            let (value, time) = vote.split_once(' ').unwrap();
            let (value, day): (i64, &str) = (value.parse().unwrap(), time.split('T').next().unwrap());
            let seconds = time.parse::<jiff::Timestamp>().unwrap().as_second();
            stored.insert((voter.clone(), host.clone(), seconds));
            let prefix = format!("prefix:{}", &hex::encode(Sha256::digest(&host))[..4]);
            if out.contains(&(voter.as_str(), host.as_str())) {
                continue;
            }
            assert!(set(dump, &prefix).contains(&host), "{host} in {prefix}");
            for (key, member, by) in [
                (format!("link:{host}"), "sum_of_votes", value),
                (format!("link:{host}"), "count_of_votes", 1),
                ("links:sum".to_owned(), &host, value),
                ("links:count".to_owned(), &host, 1),
                (format!("day:{day}:links:sum"), &host, value),
                (format!("day:{day}:links:count"), &host, 1),
                (format!("day:{day}:voters:sum"), &voter, value),
                (format!("day:{day}:voters:count"), &voter, 1),
            ] {
                *expected.entry((key, member.to_owned())).or_default() += by;
            }
            let Some(origin) = origins.get(&voter) else { continue };
            let (network, is_account) = match origin.strip_suffix(" account") {
                Some(network) => (network, 1),
                None => (origin.as_str(), 0),
            };
            let of_network = (format!("link:{host}:networks"), network.to_owned());
            let same_network = i64::from(expected.contains_key(&of_network));
            *expected.entry(of_network).or_default() += 1;
            for (field, by) in [("same_network_votes", same_network), ("account_votes", is_account)] {
                *expected.entry((format!("link:{host}"), field.to_owned())).or_default() += by;
            }
        }
    }
    expected.extend(counted_twice(dump, &out));
    let is_figure = |key: &str| {
        key.starts_with("links:")
            || key.starts_with("day:")
            || key.starts_with("link:") && !key.ends_with(":votes") && !key.ends_with(":origins")
    };
    let mut found: BTreeMap<(String, String), i64> = BTreeMap::new();
    for (key, value) in dump.iter().filter(|(key, _)| is_figure(key)) {
        let figures: Vec<(String, i64)> = match value {
            Value::Hash(fields) => fields.iter().map(|(f, v)| (f.clone(), v.parse().unwrap())).collect(),
            Value::SortedSet(members) => members.iter().map(|(m, s)| (m.clone(), whole(*s))).collect(),
            other => panic!("{key} holds {other:?}"),
        };
        found.extend(figures.into_iter().map(|(member, figure)| ((key.clone(), member), figure)));
    }
    // A figure of 0 may be stored or not.
    expected.retain(|_, figure| *figure != 0);
    found.retain(|_, figure| *figure != 0);
    assert_eq!(found, expected, "figures of sites");
    check_voters(dump, &stored);
}

/// The time and the value of a vote, and its network with whether it is of an account.
type TimedVote = (String, i64, Option<(String, bool)>);

/// The figures of votes on both names of a site, with `www.` and without, that are more than those of people.
fn counted_twice(dump: &Dump, out: &BTreeSet<(&str, &str)>) -> BTreeMap<(String, String), i64> {
    let mut twice: BTreeMap<(String, String), i64> = BTreeMap::new();
    for (www, of_www) in dump.keys().filter_map(|key| votes_of(dump, key)) {
        let Some(bare) = www.strip_prefix("www.") else { continue };
        let names =
            [(bare, votes_of(dump, &format!("link:{bare}:votes"))), (&*www, Some((www.clone(), of_www)))];
        let mut votes: BTreeMap<String, BTreeMap<&str, TimedVote>> = BTreeMap::new();
        for (name, found) in names {
            let origins = hash(dump, &format!("link:{name}:origins"));
            for (voter, vote) in found.into_iter().flat_map(|(_, votes)| votes) {
                if out.contains(&(voter.as_str(), name)) {
                    continue;
                }
                let (value, time) = vote.split_once(' ').unwrap();
                let origin = origins.get(&voter).map(|origin| match origin.strip_suffix(" account") {
                    Some(network) => (network.to_owned(), true),
                    None => (origin.clone(), false),
                });
                let vote = (time.to_owned(), value.parse().unwrap(), origin);
                votes.entry(voter).or_default().insert(name, vote);
            }
        }
        // By network: the votes of each name, and of people.
        let mut networks: BTreeMap<String, (BTreeMap<&str, i64>, i64)> = BTreeMap::new();
        for names in votes.values() {
            let newest =
                names.iter().max_by_key(|(name, (time, ..))| (time.clone(), name.starts_with("www.")));
            for (name, (time, value, origin)) in names {
                let is_counted = newest.is_some_and(|(newest, _)| newest == name);
                if let Some((network, _)) = origin {
                    let (of_names, of_people) = networks.entry(network.clone()).or_default();
                    *of_names.entry(name).or_default() += 1;
                    *of_people += i64::from(is_counted);
                }
                if is_counted {
                    continue;
                }
                let day = time.split('T').next().unwrap();
                let (link, rest) = (format!("link:{bare}"), format!("link:{bare}:twice"));
                let is_account = origin.as_ref().is_some_and(|(_, is_account)| *is_account);
                for (key, field, by) in [
                    (&link, "twice_sum_of_votes".to_owned(), *value),
                    (&link, "twice_count_of_votes".to_owned(), 1),
                    (&link, "twice_account_votes".to_owned(), i64::from(is_account)),
                    (&rest, format!("sum:{day}"), *value),
                    (&rest, format!("count:{day}"), 1),
                ] {
                    *twice.entry((key.clone(), field)).or_default() += by;
                }
                if let Some((network, _)) = origin {
                    *twice.entry((rest, network.clone())).or_default() += 1;
                }
            }
        }
        let beyond_the_first = |votes: i64| (votes - 1).max(0);
        let same_network = networks.values().map(|(of_names, of_people)| {
            of_names.values().map(|votes| beyond_the_first(*votes)).sum::<i64>()
                - beyond_the_first(*of_people)
        });
        let field = (format!("link:{bare}"), "twice_same_network_votes".to_owned());
        twice.insert(field, same_network.sum());
    }
    twice
}

/// The votes on a host, by voter, if the key holds such.
fn votes_of(dump: &Dump, key: &str) -> Option<(String, BTreeMap<String, String>)> {
    let host = key.strip_prefix("link:")?.strip_suffix(":votes")?;
    Some((host.to_owned(), hash(dump, key)))
}

/// The votes that bans have taken out of the figures, by voter and host.
fn moved_out(dump: &Dump) -> BTreeSet<(&str, &str)> {
    let mut out = BTreeSet::new();
    for (key, value) in dump {
        let voter = key.strip_prefix("voter:").and_then(|rest| rest.strip_suffix(":votes"));
        let (Some(voter), Value::SortedSet(votes)) = (voter, value) else { continue };
        let details = hash(dump, &format!("voter:{voter}"));
        let moved = details.get("ban_moved").map_or(0, |moved| moved.parse().unwrap());
        let mut votes: Vec<(f64, &str)> = votes.iter().map(|(host, time)| (*time, host.as_str())).collect();
        votes.sort_by(|left, right| left.partial_cmp(right).unwrap());
        out.extend(votes.into_iter().take(moved).map(|(_, host)| (voter, host)));
    }
    out
}

fn check_voters(dump: &Dump, stored: &BTreeSet<(String, String, i64)>) {
    let mut of_voters = BTreeSet::new();
    for (key, value) in dump.iter().filter(|(key, _)| key.starts_with("voter:")) {
        let name = key.strip_prefix("voter:").unwrap();
        match (name.split_once(':'), value) {
            (Some((voter, "votes")), Value::SortedSet(votes)) => {
                assert!(dump.contains_key(&format!("voter:{voter}")), "{key}");
                of_voters
                    .extend(votes.iter().map(|(host, time)| (voter.to_owned(), host.clone(), whole(*time))));
            }
            (Some((voter, "new")), Value::Hash(fields)) => {
                let hosts: Vec<&String> = fields.iter().map(|(f, _)| f).filter(|f| f.contains('.')).collect();
                assert_eq!(hash(dump, key)["count"], hosts.len().to_string(), "{key}");
                for host in hosts {
                    let votes = hash(dump, &format!("link:{host}:votes"));
                    assert!(votes.contains_key(voter), "{key} has {host}");
                }
            }
            (None, Value::Hash(_)) => {
                if let Some(user) = hash(dump, key).get("user_id") {
                    assert_eq!(hash(dump, &format!("user:{user}")).get("voter").unwrap(), name);
                }
            }
            other => panic!("{key} holds {other:?}"),
        }
    }
    assert_eq!(&of_voters, stored, "the votes of voters and those on hosts");
}

/// A score that is a whole number.
#[allow(clippy::cast_possible_truncation)]
fn whole(score: f64) -> i64 {
    assert_eq!(score.fract(), 0.0, "{score}");
    score as i64
}

/// The members of a set; empty when absent.
fn set(dump: &Dump, key: &str) -> BTreeSet<String> {
    match dump.get(key) {
        Some(Value::Set(members)) => members.iter().cloned().collect(),
        None => BTreeSet::new(),
        Some(other) => panic!("{key} holds {other:?}"),
    }
}

/// The lines of the log have no gaps.
fn check_moderation(dump: &Dump) {
    let lines: BTreeSet<u64> = ids_of(dump, "moderation:").map(|(_, id)| id).collect();
    let last = match dump.get("moderation:count") {
        Some(Value::String(count)) => count.parse().unwrap(),
        _ => 0,
    };
    assert_eq!(lines, (1..=last).collect(), "the lines of the log");
    let listed: BTreeSet<u64> =
        members(dump, "moderation:log").iter().map(|id| id.parse().unwrap()).collect();
    assert_eq!(listed, lines, "moderation:log");
}

fn check_user(dump: &Dump, id: u64, user: &BTreeMap<String, String>) {
    assert_eq!(user["id"], id.to_string());
    let waits =
        members(dump, "review:queue").contains(&format!("application:{}", user["username"].to_lowercase()));
    assert_eq!(user.contains_key("pending"), waits, "user {id}");
    if user.contains_key("pending") || user.contains_key("rejected") {
        assert!(user.contains_key("deactivated"), "user {id}");
        assert!(members(dump, &format!("user:{id}:sessions")).is_empty(), "user {id} has no session");
    } else if user.contains_key("deactivated") {
        check_deactivated(dump, id, user);
    } else {
        let name_key = format!("username.to.id:{}", user["username"].to_lowercase());
        assert_eq!(dump.get(&name_key), Some(&Value::String(id.to_string())));
    }
    for story in members(dump, &format!("user.saved:{id}")) {
        assert!(dump.contains_key(&format!("news:{story}")), "user.saved:{id} has {story}");
    }
    let [followed, muted] =
        ["followed", "muted"].map(|stance| members(dump, &format!("user:{id}:topics_{stance}")));
    assert!(followed.is_disjoint(&muted), "user {id} follows and mutes a topic");
    let saved = members(dump, &format!("user:{id}:saved"));
    let listed = members(dump, &format!("user.saved:{id}"));
    assert!(saved.is_subset(&listed), "user {id} saved {saved:?} of {listed:?}");
    comments::check_lists(dump, id);
}

/// Of an account that was given up nothing is left but what it wrote, its
/// votes and its name, which stays taken.
fn check_deactivated(dump: &Dump, id: u64, user: &BTreeMap<String, String>) {
    assert_eq!(user["username"], "[deleted user]");
    assert!(!user["salt"].is_empty());
    for field in EMPTIED {
        assert_eq!(user.get(field).map_or("", String::as_str), "", "{field} of user {id}");
    }
    for field in REMOVED {
        assert!(!user.contains_key(field), "{field} of user {id}");
    }
    for list in ["followers", "followings", "user_timeline"] {
        assert!(members(dump, &format!("user:{id}:{list}")).is_empty(), "{list} of user {id}");
    }
    let points_here = |value: &Value| *value == Value::String(id.to_string());
    let names = dump.iter().filter(|(key, value)| key.starts_with("username.to.id:") && points_here(value));
    assert_eq!(names.count(), 1, "the name of user {id} is taken");
    let sessions = dump.iter().filter(|(key, value)| key.starts_with("auth:") && points_here(value));
    assert_eq!(sessions.count(), 0, "user {id} has no session");
    assert!(members(dump, &format!("user:{id}:sessions")).is_empty(), "user {id} has no session");
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

/// The members of a sorted set with their scores; empty when absent.
pub fn scores(dump: &Dump, key: &str) -> BTreeMap<String, f64> {
    match dump.get(key) {
        Some(Value::SortedSet(members)) => members.iter().cloned().collect(),
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
