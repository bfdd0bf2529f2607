//! Rules that must hold in any store that the site has written, whatever happened:
//! counters equal what they count, and nothing is half there.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use tidings_domain::values::lookalikes::folded;
use tidings_keyspace::Value;

use crate::server::Server;

mod comments;

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
        check_news(dump, id, &hash(dump, key));
    }
    for (key, id) in ids_of(dump, "user:") {
        check_user(dump, id, &hash(dump, key));
    }
    for list in ["news.top", "news.cron"] {
        for id in members(dump, list) {
            let news = hash(dump, &format!("news:{id}"));
            assert_eq!(news.get("id"), Some(&id), "{list}");
            assert!(is_listed(&news), "{list} has the item {id}, which is deleted or withheld");
        }
    }
    check_articles(dump);
    check_moderation(dump);
    for (key, value) in dump {
        if let (Some(name), Value::String(id)) = (key.strip_prefix("username.to.id:"), value) {
            let user = hash(dump, &format!("user:{id}"));
            // The name of an account that was given up stays taken.
            let is_gone = user.contains_key("deactivated");
            assert!(is_gone || user["username"].to_lowercase() == name, "{key} points to {id}");
        }
        if let (Some(name), Value::String(id)) = (key.strip_prefix("username.folded:"), value) {
            let user = hash(dump, &format!("user:{id}"));
            let is_gone = user.contains_key("deactivated");
            assert!(is_gone || folded(&user["username"]) == name, "{key} points to {id}");
        }
        if let (Some(token), Value::String(id)) = (key.strip_prefix("auth:"), value) {
            assert_eq!(hash(dump, &format!("user:{id}"))["auth"], token);
        }
        if let Some(session) = key.strip_prefix("session:") {
            let user = &hash(dump, key)["user_id"];
            let listed = members(dump, &format!("user:{user}:sessions"));
            assert!(listed.iter().any(|hash| hash == session), "{key} is not on the list of user {user}");
        }
        if let (Some(_), Value::String(id)) = (key.strip_prefix("url:"), value) {
            assert!(dump.contains_key(&format!("news:{id}")), "{key} points to {id}");
        }
    }
    check_invitations(dump);
    check_sites(dump);
}

/// Everybody who was invited is in the list of who invited them, and the tree begins with those
/// who were not.
fn check_invitations(dump: &Dump) {
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut roots = BTreeSet::new();
    for (key, id) in ids_of(dump, "user:") {
        let Some(by) = hash(dump, key).get("invited_by").cloned() else { continue };
        expected.entry(format!("invites:by:{by}")).or_default().insert(id.to_string());
        if !hash(dump, &format!("user:{by}")).contains_key("invited_by") {
            roots.insert(by);
        }
    }
    let lists = dump.keys().filter(|key| key.starts_with("invites:by:"));
    let found: BTreeMap<String, BTreeSet<String>> =
        lists.map(|key| (key.clone(), members(dump, key))).collect();
    assert_eq!(found, expected);
    assert_eq!(members(dump, "invites:roots"), roots);
    for (key, user) in dump.keys().filter_map(|key| Some((key, key.strip_prefix("invites:open:")?))) {
        for code in members(dump, key) {
            // It may have expired.
            let invitation = hash(dump, &format!("invites:code:{code}"));
            assert!(invitation.get("user_id").is_none_or(|by| by == user), "{key} has {code}");
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
    assert!(dump.keys().all(
        |key| match key.strip_prefix("link:").and_then(|key| key.strip_suffix(":origins")) {
            Some(host) => dump.contains_key(&format!("link:{host}:votes")),
            None => true,
        }
    ));
    // A figure of 0 may be stored or not.
    expected.retain(|_, figure| *figure != 0);
    found.retain(|_, figure| *figure != 0);
    assert_eq!(found, expected, "figures of sites");
    check_voters(dump, &stored);
    check_news_of_sites(dump);
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

fn check_news_of_sites(dump: &Dump) {
    let mut expected = BTreeSet::new();
    for (key, id) in ids_of(dump, "news:") {
        let news = hash(dump, key);
        let host = url::Url::parse(&news["url"]).ok().filter(|url| url.scheme() != "text");
        let host = host.and_then(|url| url.domain().map(str::to_owned)).filter(|host| host.contains('.'));
        if let Some(host) = host.filter(|_| is_listed(&news)) {
            expected.insert((format!("host.news:{host}"), id.to_string()));
        }
    }
    let lists = dump.keys().filter(|key| key.starts_with("host.news:"));
    let found = lists.flat_map(|key| members(dump, key).into_iter().map(move |id| (key.clone(), id)));
    assert_eq!(found.collect::<BTreeSet<_>>(), expected, "news of sites");
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

fn check_news(dump: &Dump, id: u64, news: &BTreeMap<String, String>) {
    let (ups, downs) = (members(dump, &format!("news.up:{id}")), members(dump, &format!("news.down:{id}")));
    // A story that waits, or was rejected, was never shown: its author's vote is in the counter alone.
    let state = news.get("withheld").map_or("", String::as_str);
    let is_hidden =
        ups.is_empty() && ["held:", "removed:", "erased:"].iter().any(|hidden| state.starts_with(hidden));
    assert_eq!(number(news, "up"), ups.len() + usize::from(is_hidden), "votes up on {id}");
    assert_eq!(number(news, "down"), downs.len(), "votes down on {id}");
    assert!(ups.is_disjoint(&downs), "item {id} is voted up and down by the same user");
    for voter in &ups {
        let saved = members(dump, &format!("user.saved:{voter}"));
        assert!(saved.contains(&id.to_string()), "item {id} is not saved by {voter}");
    }
    let author = &news["user_id"];
    let is_posted = members(dump, &format!("user.posted:{author}")).contains(&id.to_string());
    assert_eq!(is_posted, !is_hidden, "item {id}");
    for list in ["news.top", "news.cron"] {
        let listed = members(dump, list).contains(&id.to_string());
        assert_eq!(listed, is_listed(news), "item {id} in {list}");
    }
    comments::check_thread(dump, id, number(news, "comments"));
    check_discounted(dump, id);
}

/// A vote that does not count is in no list of voters.
fn check_discounted(dump: &Dump, id: u64) {
    let thread = hash(dump, &format!("thread:comment:{id}"));
    for (user, json) in hash(dump, &format!("news.discounted:{id}")) {
        let votes: serde_json::Value = serde_json::from_str(&json).unwrap();
        if votes.get("story").is_some() {
            for list in ["news.up", "news.down"] {
                assert!(!members(dump, &format!("{list}:{id}")).contains(&user), "{list}:{id} has {user}");
            }
        }
        for (comment, _) in votes["comments"].as_object().into_iter().flatten() {
            let comment: serde_json::Value = serde_json::from_str(&thread[comment]).unwrap();
            let voters = ["up", "down"].map(|field| comment[field].as_array().unwrap());
            let user: u64 = user.parse().unwrap();
            assert!(!voters.into_iter().flatten().any(|voter| *voter == user), "{id}: {comment}");
        }
    }
}

/// Whether an item is in lists: it is neither deleted nor withheld by moderators.
fn is_listed(news: &BTreeMap<String, String>) -> bool {
    !news.contains_key("del") && news.get("withheld").is_none_or(|state| state == "flagged:")
}

/// The lines of the log have no gaps, and what a story has lost by being withheld is known
/// exactly as long as it is.
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
    for (key, id) in ids_of(dump, "news:") {
        let mut news = hash(dump, key);
        let state = news.remove("withheld").unwrap_or_default();
        let by_moderator = state.starts_with("removed:") || state.starts_with("merged:");
        // A story that was never shown has lost nothing: it has a record if it was removed, and none if it
        // was rejected.
        let posted = news.remove("user_id").map(|author| members(dump, &format!("user.posted:{author}")));
        let was_shown = posted.is_none_or(|posted| posted.contains(&id.to_string()));
        let record = hash(dump, &format!("withdrawn:story:{id}"));
        let is_right =
            if was_shown { record.is_empty() != by_moderator } else { record.is_empty() || by_moderator };
        assert!(is_right, "the record of {key}, {state}");
        if let Some(line) = record.get("moderation") {
            let line = hash(dump, &format!("moderation:{line}"));
            assert_eq!(line.get("undone_by"), None, "{key} is {state} by a line that was undone");
        }
    }
}

/// Every article has its story and the position that follows from its time and votes;
/// every topic has the articles whose news name it.
fn check_articles(dump: &Dump) {
    let articles: BTreeSet<String> = ids_of(dump, "article:").map(|(key, _)| key.to_owned()).collect();
    let is_there = |key: &&String| is_listed(&hash(dump, &key.replace("article:", "news:")));
    let listed: BTreeSet<String> = articles.iter().filter(is_there).cloned().collect();
    for list in ["time:", "score:"] {
        assert_eq!(members(dump, list), listed, "{list}");
    }
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (key, id) in ids_of(dump, "article:") {
        let (article, news) = (hash(dump, key), hash(dump, &format!("news:{id}")));
        assert_eq!(article.len(), 5, "{key} has {article:?}");
        assert_eq!(article["title"], news["title"], "{key}");
        assert_eq!(article["time"], news["ctime"], "{key}");
        assert_eq!(article["poster"], format!("user:{}", news["user_id"]), "{key}");
        if !news["url"].starts_with("text://") {
            assert_eq!(article["link"], news["url"], "{key}");
        }
        let is_removed = news.get("withheld").is_some_and(|state| state.starts_with("removed:"));
        assert!(is_removed || !news.contains_key("del"), "{key} is of a deleted item");
        let (time, votes) = (number(&article, "time"), number(&article, "votes"));
        assert!(votes <= number(&news, "up"), "{key} has {votes} votes");
        #[allow(clippy::cast_precision_loss)]
        let expected = [("time:", time as f64), ("score:", (time + 432 * votes) as f64)];
        for (list, score) in expected.into_iter().filter(|_| listed.contains(key)) {
            assert_eq!(scores(dump, list).get(key), Some(&score), "{key} in {list}");
        }
        if let Some(Value::Set(voters)) = dump.get(&format!("voted:{id}")) {
            assert_eq!(voters.len(), votes, "who voted for {key}");
            let ups = members(dump, &format!("news.up:{id}"));
            assert!(voters.iter().all(|voter| ups.contains(voter.strip_prefix("user:").unwrap())), "{key}");
        }
        for topic in news.get("topics").into_iter().flat_map(|topics| topics.split(',')) {
            let group = if listed.contains(key) { "group" } else { "group.withheld" };
            groups.entry(format!("{group}:{topic}")).or_default().insert(key.to_owned());
        }
    }
    for (key, expected) in &groups {
        let Some(Value::Set(members)) = dump.get(key) else { panic!("{key} is absent") };
        assert_eq!(&members.iter().cloned().collect::<BTreeSet<_>>(), expected, "{key}");
    }
    for (key, _) in dump.iter().filter(|(key, _)| key.starts_with("group") || key.starts_with("voted:")) {
        let of_article = key.replace("voted:", "article:");
        assert!(groups.contains_key(key) || articles.contains(&of_article), "{key} belongs to nothing");
    }
    let counted: BTreeMap<String, f64> =
        scores(dump, "topics").into_iter().filter(|(_, articles)| *articles != 0.0).collect();
    #[allow(clippy::cast_precision_loss)]
    let expected: BTreeMap<String, f64> = groups
        .iter()
        .filter_map(|(key, members)| Some((key.strip_prefix("group:")?.to_owned(), members.len() as f64)))
        .collect();
    assert_eq!(counted, expected, "topics");
    assert!(hash(dump, "topic.moves").is_empty(), "a move is not finished");
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
    for (list, hashes) in [("user.posted", "news"), ("user.saved", "news")] {
        for news in members(dump, &format!("{list}:{id}")) {
            assert!(dump.contains_key(&format!("{hashes}:{news}")), "{list}:{id} has {news}");
        }
    }
    let saved = members(dump, &format!("user:{id}:saved"));
    let listed = members(dump, &format!("user.saved:{id}"));
    assert!(saved.is_subset(&listed), "user {id} saved {saved:?} of {listed:?}");
    let [followed, muted] =
        ["followed", "muted"].map(|stance| members(dump, &format!("user:{id}:topics_{stance}")));
    assert!(followed.iter().all(|topic| !muted.contains(topic)), "user {id} follows and mutes a topic");
    comments::check_lists(dump, id);
}

/// Of an account that was given up nothing is left but what it wrote, its
/// votes and its name, which stays taken.
fn check_deactivated(dump: &Dump, id: u64, user: &BTreeMap<String, String>) {
    assert_eq!(user["username"], "[deleted user]");
    assert!(!user["salt"].is_empty());
    for secret in ["auth", "apisecret", "password", "email", "fullname", "about"] {
        assert_eq!(user[secret], "", "{secret} of user {id}");
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
