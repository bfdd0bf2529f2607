//! Tweets, follows, and the timelines that result from both.

use super::people::username;
use super::plan::{Plan, Tweet};
use super::random::Random;
use super::words;
use super::writer::{Writer, hash};
use super::{news, plan};
use std::collections::{BTreeMap, BTreeSet};
use tidings_domain::keys;
use tidings_domain::values::{GLOBAL_TIMELINE_SIZE, Moment, TimelineRules, TweetId, UserId};
use tidings_keyspace::Value;

/// The percentage of tweets with a mention.
const MENTIONS: u64 = 5;
/// Users who are followed most are so by this much.
const FOLLOW_SKEW: f64 = 1.5;

pub async fn write(writer: &mut Writer<'_>, plan: &Plan) {
    write_tweets(writer, plan).await;
    let followings = followings(plan);
    write_follows(writer, plan, &followings).await;
    write_timelines(writer, plan, &followings).await;
}

fn entry(id: u64, tweet: &Tweet) -> (String, f64) {
    (id.to_string(), Moment(tweet.time_ms).as_score())
}

async fn write_tweets(writer: &mut Writer<'_>, plan: &Plan) {
    writer.write(keys::TWEET_IDS, Value::String(plan.tweets.len().to_string())).await;
    let mut mentions: BTreeMap<u64, Vec<(String, f64)>> = BTreeMap::new();
    for (id, tweet) in (1..).zip(&plan.tweets) {
        let mut random = Random::of("tweet text", id);
        let text = match tweet.news {
            Some(news) => news::title(news),
            None => {
                let length = 30 + random.below(200);
                words::body(&mut random, length)
            }
        };
        let mentioned = (tweet.news.is_none() && random.chance(MENTIONS))
            .then(|| plan::active_user(&mut random, &plan.size))
            .filter(|user| *user != tweet.author);
        let text = mentioned.map_or(text.clone(), |user| format!("@{} {text}", username(user)));
        if let Some(user) = mentioned {
            mentions.entry(user).or_default().push(entry(id, tweet));
        }
        let mut fields = vec![
            ("text", text),
            ("created_at", Moment(tweet.time_ms).to_string()),
            ("user_id", tweet.author.to_string()),
        ];
        fields.extend(tweet.news.map(|news| ("news_id", news.to_string())));
        writer.write(keys::tweet(TweetId(id)), hash(fields)).await;
    }
    for (user, tweets) in mentions {
        writer.write(keys::user_mentions(UserId(user)), Value::SortedSet(tweets)).await;
    }
    let newest = plan.tweets.len().saturating_sub(GLOBAL_TIMELINE_SIZE as usize);
    let everyone = (1_u64..).zip(&plan.tweets).skip(newest).map(|(id, tweet)| entry(id, tweet));
    writer.write(keys::GLOBAL_TIMELINE, Value::SortedSet(everyone.collect())).await;
}

/// The users that each user follows, by the follower's id.
fn followings(plan: &Plan) -> Vec<BTreeSet<u64>> {
    let users = plan.size.users;
    let mut followings = vec![BTreeSet::new(); users as usize + 1];
    let mut random = Random::of("follows", 0);
    let mut left = plan.size.follows;
    while left > 0 {
        let (follower, author) = (1 + random.below(users), 1 + random.skewed(users, FOLLOW_SKEW));
        if follower != author && followings[follower as usize].insert(author) {
            left -= 1;
        }
    }
    followings
}

async fn write_follows(writer: &mut Writer<'_>, plan: &Plan, followings: &[BTreeSet<u64>]) {
    let mut followers: BTreeMap<u64, Vec<(String, f64)>> = BTreeMap::new();
    for (follower, authors) in (0_u64..).zip(followings).filter(|(_, authors)| !authors.is_empty()) {
        let mut random = Random::of("followings", follower);
        let mut members = Vec::new();
        for author in authors {
            let since = (plan.now.0 - 1 - random.below(plan::AGE_SECONDS)) as f64;
            members.push((author.to_string(), since));
            followers.entry(*author).or_default().push((follower.to_string(), since));
        }
        writer.write(keys::followings(UserId(follower)), Value::SortedSet(members)).await;
    }
    let counts = followers.iter().map(|(user, followers)| (user.to_string(), followers.len() as f64));
    writer.write(keys::MOST_FOLLOWED, Value::SortedSet(counts.collect())).await;
    for (user, followers) in followers {
        writer.write(keys::followers(UserId(user)), Value::SortedSet(followers)).await;
    }
}

async fn write_timelines(writer: &mut Writer<'_>, plan: &Plan, followings: &[BTreeSet<u64>]) {
    let mut of_users = vec![Vec::new(); followings.len()];
    for (id, tweet) in (1_u64..).zip(&plan.tweets) {
        of_users[tweet.author as usize].push(id);
    }
    let entries = |ids: &[u64]| {
        Value::SortedSet(ids.iter().map(|id| entry(*id, &plan.tweets[*id as usize - 1])).collect())
    };
    let home_size = TimelineRules::default().home_size as usize;
    let mut floors = Vec::new();
    for user in 1..=plan.size.users {
        let own = &of_users[user as usize];
        if !own.is_empty() {
            writer.write(keys::user_timeline(UserId(user)), entries(own)).await;
        }
        let authors = followings[user as usize].iter().chain([&user]);
        let mut home: Vec<u64> =
            authors.flat_map(|author| of_users[*author as usize].iter().copied()).collect();
        // Later tweets have higher ids.
        home.sort_unstable_by(|left, right| right.cmp(left));
        if let Some(left_out) = home.get(home_size) {
            floors.push((user.to_string(), entry(*left_out, &plan.tweets[*left_out as usize - 1]).1));
        }
        home.truncate(home_size);
        if !home.is_empty() {
            writer.write(keys::home_timeline(UserId(user)), entries(&home)).await;
        }
    }
    if !floors.is_empty() {
        writer.write(keys::HOME_FLOORS, Value::SortedSet(floors)).await;
    }
}
