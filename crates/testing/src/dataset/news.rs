//! The news with their votes, articles and topics.

use super::people::Lists;
use super::plan::{Item, Plan, active_user};
use super::random::Random;
use super::sites;
use super::words;
use super::writer::{Writer, hash};
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;
use std::time::Duration;
use tidings_domain::articles::article::{self, OPEN_SECONDS};
use tidings_domain::keys;
use tidings_domain::news::by_votes;
use tidings_domain::values::{
    Age, Hostname, LimitRules, NewsId, NewsUrl, RankingRules, Timestamp, Topic, UserId, ranking,
};
use tidings_keyspace::Value;

/// Where the site is reached, as its setting says by default.
const ADDRESS: &str = "http://localhost:8080";
/// Votes come within this time, most of them soon.
const VOTING_SECONDS: u64 = 3 * 86_400;
const DOWN_VOTES: u64 = 5;
/// Topics of articles.
pub static TOPICS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "programming science rust databases web hardware history security games culture linux networks math space privacy \
     design art law health energy books music retro maps"
        .split(' ')
        .collect()
});

/// The title of an item.
pub fn title(id: u64) -> String {
    words::title(&mut Random::of("title", id))
}

/// Lists of all items, collected while the items are written.
#[derive(Default)]
struct Collected {
    /// The sorted sets by their keys.
    listed: BTreeMap<String, Vec<(String, f64)>>,
    groups: BTreeMap<Topic, Vec<String>>,
}

impl Collected {
    fn list(&mut self, list: impl Into<String>, member: impl ToString, score: f64) {
        self.listed.entry(list.into()).or_default().push((member.to_string(), score));
    }
}

pub async fn write(writer: &mut Writer<'_>, plan: &Plan, lists: &mut Lists) {
    writer.write(keys::NEWS_COUNT, Value::String(plan.size.news.to_string())).await;
    let mut collected = Collected::default();
    for (id, item) in (1..).zip(&plan.items) {
        write_item(writer, plan, lists, &mut collected, id, item).await;
    }
    for (list, members) in collected.listed {
        writer.write(list, Value::SortedSet(members)).await;
    }
    let sizes = collected.groups.iter().map(|(topic, group)| (topic.to_string(), group.len() as f64));
    writer.write(keys::TOPICS, Value::SortedSet(sizes.collect())).await;
    for (topic, group) in collected.groups {
        writer.write(keys::group(&topic), Value::Set(group)).await;
    }
}

async fn write_item(
    writer: &mut Writer<'_>,
    plan: &Plan,
    lists: &mut Lists,
    collected: &mut Collected,
    id: u64,
    item: &Item,
) {
    let (news, title, posted) = (NewsId(id), title(id), Timestamp(item.ctime));
    let mut random = Random::of("content", id);
    let url = content(&mut random, id, item);
    let (ups, downs) = votes(plan, id, item);
    let rules = RankingRules::default();
    let score = ranking::score(ups.len() as i64, downs.len() as i64, &rules);
    let rank = ranking::rank(score, posted, plan.now, &rules);
    let topics = topics(&mut random);
    let mut fields = vec![
        ("id", id.to_string()),
        ("title", title.clone()),
        ("url", url.clone()),
        ("user_id", item.author.to_string()),
        ("ctime", item.ctime.to_string()),
        ("score", score.to_string()),
        ("rank", rank.to_string()),
        ("up", ups.len().to_string()),
        ("down", downs.len().to_string()),
        ("comments", item.comments.to_string()),
    ];
    if !topics.is_empty() {
        let names: Vec<&str> = topics.iter().map(Topic::as_str).collect();
        fields.push(("topics", names.join(",")));
    }
    fields.extend(item.tweet.map(|tweet| ("tweet_id", tweet.to_string())));
    writer.write(keys::news(news), hash(fields)).await;
    write_article(writer, plan, collected, news, item, [title, url.clone()], &ups).await;
    for (key, votes) in [(keys::news_up(news), &ups), (keys::news_down(news), &downs)] {
        if !votes.is_empty() {
            let members = votes.iter().map(|(user, time)| (user.to_string(), *time as f64));
            writer.write(key, Value::SortedSet(members.collect())).await;
        }
    }
    for (user, time) in &ups {
        lists.saved[*user as usize].push((id, *time));
    }
    lists.posted[item.author as usize].push((id, item.ctime));
    collected.list(keys::NEWS_TOP, id, rank);
    collected.list(keys::NEWS_CRON, id, posted.as_score());
    let age = Age::of(posted, plan.now);
    let (_, list, member) = by_votes::places(news, posted).find(|(list, ..)| *list == age).unwrap();
    collected.list(list, member, ups.len() as f64 - downs.len() as f64);
    if let Some(host) = item.host {
        let host = Hostname::parse(&sites::host(host)).unwrap();
        collected.list(keys::host_news(&host), id, posted.as_score());
    }
    for topic in topics {
        collected.groups.entry(topic).or_default().push(keys::article(news));
    }
    guard_against_reposts(writer, plan, item, &url, id).await;
}

/// The value of the field `url`.
fn content(random: &mut Random, id: u64, item: &Item) -> String {
    match item.host {
        Some(host) => {
            let host = sites::host(host);
            format!(
                "https://{host}/{}/{}-{}-{id}.html",
                words::noun(random),
                words::noun(random),
                words::noun(random)
            )
        }
        None => {
            let length = 80 + random.below(1_500);
            format!("text://{}", words::body(random, length))
        }
    }
}

fn topics(random: &mut Random) -> Vec<Topic> {
    let wanted = if random.chance(40) { 1 + random.below(3) } else { 0 };
    let mut topics: Vec<Topic> = Vec::new();
    for _ in 0..wanted {
        let name = TOPICS[random.skewed(TOPICS.len() as u64, 2.0) as usize];
        let topic = Topic::parse("topic", name).unwrap();
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    topics
}

/// Users and times of votes.
type Votes = Vec<(u64, u64)>;

/// The votes on a story with their voters and times: up (the author first) and down.
fn votes(plan: &Plan, id: u64, item: &Item) -> (Votes, Votes) {
    let mut random = Random::of("votes", id);
    let time_left = (plan.now.0 - item.ctime).min(VOTING_SECONDS) as f64;
    let mut seen = HashSet::from([item.author]);
    let (mut ups, mut downs) = (vec![(item.author, item.ctime)], Vec::new());
    while (seen.len() as u64) < item.votes {
        let voter = active_user(&mut random, &plan.size);
        if !seen.insert(voter) {
            continue;
        }
        let time = item.ctime + (random.unit().powi(3) * time_left) as u64;
        let list = if random.chance(DOWN_VOTES) { &mut downs } else { &mut ups };
        list.push((voter, time));
    }
    (ups, downs)
}

async fn write_article(
    writer: &mut Writer<'_>,
    plan: &Plan,
    collected: &mut Collected,
    news: NewsId,
    item: &Item,
    [title, url]: [String; 2],
    ups: &Votes,
) {
    // All votes come within the week in which they count.
    const { assert!(VOTING_SECONDS < OPEN_SECONDS) };
    let (name, posted) = (keys::article(news), Timestamp(item.ctime));
    let link = if item.host.is_some() { url } else { format!("{ADDRESS}/news/{news}") };
    let fields = hash([
        ("title", title),
        ("link", link),
        ("poster", keys::user(UserId(item.author))),
        ("time", item.ctime.to_string()),
        ("votes", ups.len().to_string()),
    ]);
    writer.write(&name, fields).await;
    collected.list(keys::ARTICLES_BY_TIME, &name, posted.as_score());
    collected.list(keys::ARTICLES_BY_SCORE, name, article::score(posted, ups.len() as i64));
    if let Some(left) = article::open_for(posted, plan.now) {
        let value = Value::Set(ups.iter().map(|(user, _)| keys::user(UserId(*user))).collect());
        writer.write_expiring(keys::voted(news), value, left).await;
    }
}

async fn guard_against_reposts(writer: &mut Writer<'_>, plan: &Plan, item: &Item, url: &str, id: u64) {
    let age = plan.now.0 - item.ctime;
    let left = LimitRules::default().repost_seconds.saturating_sub(age);
    if left > 0 && item.host.is_some() {
        let key = keys::url(&NewsUrl::parse(url).unwrap().normalised());
        writer.write_expiring(key, Value::String(id.to_string()), Duration::from_secs(left)).await;
    }
}
