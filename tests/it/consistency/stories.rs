//! The lists and counts of stories and their articles, by rules of their own: the program derives them from each story, and so
//! does its check of a store, which cannot see what that forgets.

use std::collections::{BTreeMap, BTreeSet};

use tidings_domain::keys::families::{self, Family, Holds};
use tidings_keyspace::Value;

use super::{Dump, hash, ids_of, members, number, scores};

/// The fields of a story.
type Story = BTreeMap<String, String>;

/// Whether a story is in a list.
type Belongs = fn(&Story) -> bool;

/// The lists of stories by their times, and that by their ranks: the family of the keys, and which stories are there.
const LISTS: [(&str, Belongs); 5] = [
    ("news.cron", is_listed),
    ("news.top", is_listed),
    ("host.news:<host>", is_listed),
    ("user.posted:<user id>", was_shown),
    ("user:<user id>:gone_stories", |story| {
        was_shown(story) && !is_listed(story) && story.contains_key("withheld")
    }),
];

/// The lists that have something else, other scores, or rules of their own.
const OTHER_LISTS: &str = "items, changes, hub:lost, time:, score:, topics, news.votes:<age>, unseen:<user id>, \
    user.comments:<user id>, user:<user id>:gone_comments, user:<user id>:user_timeline, global_timeline, \
    imported:<source>";

/// Checks that each of [`LISTS`] has its stories, and nothing else.
pub fn check_lists(dump: &Dump) {
    let mut expected = BTreeMap::new();
    for (key, id) in ids_of(dump, "news:") {
        let story = hash(dump, key);
        for (form, _) in LISTS.into_iter().filter(|(_, has)| has(&story)) {
            let host = site_of(&story).or((!form.contains("<host>")).then(String::new));
            let Some(host) = host else { continue };
            let list = form.replace("<host>", &host).replace("<user id>", &story["user_id"]);
            let posted: f64 = story["ctime"].parse().unwrap();
            expected.insert((list, id.to_string()), (form != "news.top").then_some(posted));
        }
    }
    let is_ours = |name: &str| LISTS.iter().any(|(list, _)| *list == name);
    let is_list = |key: &&String| Family::of(key).is_some_and(|(family, _)| is_ours(family.name));
    let mut found = BTreeMap::new();
    for list in dump.keys().filter(is_list) {
        let of_list = scores(dump, list).into_iter();
        found.extend(of_list.map(|(id, score)| ((list.clone(), id), (list != "news.top").then_some(score))));
    }
    assert_eq!(found, expected, "lists of stories");
}

/// The site of a story that links to one.
fn site_of(story: &Story) -> Option<String> {
    let url = url::Url::parse(&story["url"]).ok().filter(|url| url.scheme() != "text")?;
    url.domain().filter(|host| host.contains('.')).map(str::to_owned)
}

/// Whether a story was ever in the lists: it does not wait, and was not taken away while it waited.
fn was_shown(story: &Story) -> bool {
    !story.contains_key("unseen") && !story.get("withheld").is_some_and(|state| state.starts_with("held:"))
}

/// Checks a story, with its counts; [`check_lists`] has its lists.
pub fn check_story(dump: &Dump, id: u64, news: &Story) {
    let (ups, downs) = (members(dump, &format!("news.up:{id}")), members(dump, &format!("news.down:{id}")));
    let state = news.get("withheld").map_or("", String::as_str);
    // One that waits, or was taken away while it waited, was never shown: its author's vote is in the counter alone.
    let is_hidden = !was_shown(news);
    assert_eq!(number(news, "up"), ups.len() + usize::from(is_hidden), "votes up on {id}");
    assert_eq!(number(news, "down"), downs.len(), "votes down on {id}");
    assert!(ups.is_disjoint(&downs), "item {id} is voted up and down by the same user");
    for voter in &ups {
        let saved = members(dump, &format!("user.saved:{voter}"));
        assert!(saved.contains(&id.to_string()), "item {id} is not saved by {voter}");
    }
    let (author, posted) = (&news["user_id"], news["ctime"].parse::<f64>().unwrap());
    let unseen = scores(dump, &format!("unseen:{author}")).get(&format!("story:{id}")).copied();
    let is_erased = state.starts_with("erased:");
    assert_eq!(unseen, (is_hidden && !is_erased).then_some(posted), "item {id}");
    check_removal(dump, &format!("item {id}"), news);
    super::comments::check_thread(dump, id, number(news, "comments"));
    check_discounted(dump, id);
}

/// A post that moderators have removed or merged, and no other, names the line of the log that says so.
pub fn check_removal(dump: &Dump, post: &str, news: &Story) {
    let state = news.get("withheld").map_or("", String::as_str);
    let is_removed = state.starts_with("removed:") || state.starts_with("merged:");
    let removed_by = news.get("removed").map(|removed| removed.split(' ').next().unwrap());
    assert!(removed_by.is_none() || is_removed, "{post}: {news:?}");
    assert!(removed_by.is_some() || !is_removed || news.contains_key("unseen"), "{post}: {news:?}");
    if let Some(line) = removed_by {
        let line = hash(dump, &format!("moderation:{line}"));
        assert!(["remove", "remove_all", "merge"].contains(&&*line["action"]), "{post} by {line:?}");
        // A post that announced a story does not come back with it if its author has left.
        let has_left = hash(dump, &format!("user:{}", news["user_id"])).contains_key("deactivated");
        let is_undone = line.contains_key("undone_by") && !(has_left && post.starts_with("tweet"));
        assert!(!is_undone, "{post} is {state} by a line that was undone");
    }
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
fn is_listed(news: &Story) -> bool {
    !news.contains_key("del") && news.get("withheld").is_none_or(|state| state == "flagged:")
}

/// Every article has its story and the position that follows from its time and votes;
/// every topic has the articles whose news name it.
pub fn check_articles(dump: &Dump) {
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

#[test]
fn each_list_of_posts_has_its_own_rule() {
    let class = families::NEWS_TOP.class;
    let lists = families::ALL.iter().filter(|family| family.holds == Holds::SortedSet && family.seconds == 0);
    let found: BTreeSet<&str> =
        lists.filter(|list| std::ptr::eq(list.class, class)).map(|list| list.name).collect();
    let with_rule = LISTS.iter().map(|(list, _)| *list).chain(OTHER_LISTS.split(", "));
    assert_eq!(found, with_rule.collect(), "add a rule to LISTS, or the name to OTHER_LISTS");
}
