//! Rules of tweets, timelines and follows.

use crate::accounts::users::DEACTIVATED;
use crate::error::Error;
use crate::keys::{self, families};
use crate::site::Site;
use crate::store_rules::claims::{
    Claims, Fault, Found, Mend, count_in, field_in, fields, is_absent, score, score_fault, score_in,
};
use crate::store_rules::entries;
use crate::store_rules::source::Source;
use crate::store_rules::subject::{Subject, SubjectItem};
use crate::store_rules::{CHECKS_AT_ONCE, Rule};
use crate::timelines::check::{HomeCheck, HomeDifference};
use crate::timelines::tweets::Tweet;
use crate::values::clock::Moment;
use crate::values::ids::{TweetId, UserId};
use crate::values::removed_by::REMOVED;
use crate::values::withheld::WITHHELD;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use tidings_keyspace::{Batch, Hash, Order, Read, read};

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(
        &families::TWEET,
        "a tweet has its form and an author, and is in the author's timeline, or in the list of unseen posts",
        tweet,
    ),
    Rule::claims(
        &families::USER_USER_TIMELINE,
        "a user's own timeline has only shown tweets of that user",
        listed,
    ),
    Rule::claims(
        &families::GLOBAL_TIMELINE,
        "the timeline of everyone has only tweets that are shown",
        listed,
    ),
    Rule::claims(&families::USER_MENTIONS, "the mentions of a user are tweets", mentions),
    Rule::rounds(&families::USER, HOME, homes),
    Rule::claims(&families::USER_FOLLOWINGS, FOLLOWS, following),
    Rule::claims(&families::USER_FOLLOWERS, FOLLOWS, follower),
    Rule::claims(
        &families::USER_FOLLOWERS,
        "the number of a user's followers is the number by which users are listed",
        followers,
    ),
    Rule::claims(
        &families::MOST_FOLLOWED,
        "the number of a user's followers is the number by which users are listed",
        by_followers,
    ),
    Rule::claims(
        &families::HOME_FLOORS,
        "floors of timelines and authors whose tweets are not delivered are users who exist",
        user_exists,
    ),
    Rule::claims(
        &families::PULLED_AUTHORS,
        "floors of timelines and authors whose tweets are not delivered are users who exist",
        user_exists,
    ),
];

/// The rule of home timelines that are on servers of their own.
pub(crate) static APART: &[Rule] = &[Rule::rounds(&families::USER, HOME, homes_apart)];

const HOME: &str = "a home timeline has the tweets that it should have, and no others";
const NOBODY: Mend = Mend::Person("restore the user from a backup, or remove the member");
const LOST_FOLLOWERS: Mend = Mend::Person(
    "restore the user's followers from a backup; if they are lost, and nobody names the user in user:<user id>:followings, set the score to 0",
);
const FOLLOWS: &str = "whoever follows somebody is among their followers";

fn tweet(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<TweetId>()) else { return };
    let Some(tweet) = Tweet::from_hash(id, hash) else {
        return claims.malformed("a hash without text or user_id", "a tweet");
    };
    if hash.get("created_at").is_none_or(|time| time.parse::<f64>().is_err()) {
        claims.of("created_at").malformed("no time in created_at", "a time in created_at");
    }
    claims.of(WITHHELD).state(hash.get(WITHHELD));
    claims.of(REMOVED).removal(
        "the tweet",
        (tweet.removed.as_deref(), tweet.withheld.as_ref()),
        tweet.unseen,
    );
    let mend = Mend::Person("restore the user from a backup, or delete the tweet");
    let author = tweet.user_id;
    claims.of("user_id").refers(format!("the author {author}"), keys::user(author), mend);
    let mut guard = Batch::new();
    guard.key_present(&subject.key);
    guard.field_unchanged(&subject.key, WITHHELD, hash.get(WITHHELD));
    guard.field_unchanged(&subject.key, "created_at", hash.get("created_at"));
    entries::demand(claims, None, &tweet, &guard);
}

fn listed(subject: &Subject, claims: &mut Claims) {
    let id = subject.member_id::<TweetId>();
    let tweet = id.map(|id| (keys::tweet(id), move |hash: &Hash| Tweet::from_hash(id, hash)));
    entries::is_entry(subject, claims, "tweets that are shown", tweet);
}

/// Some may be removed or deleted: nobody is shown those.
fn mentions(_: &Subject, claims: &mut Claims) {
    claims.member::<TweetId>("tweets");
}

fn homes<'a>(
    site: &'a Site,
    now: Moment,
    subjects: &'a [&'a Subject],
) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>> {
    Box::pin(home_differences(site, now, subjects, true))
}

fn homes_apart<'a>(
    site: &'a Site,
    now: Moment,
    subjects: &'a [&'a Subject],
) -> BoxFuture<'a, Result<Vec<Option<Found>>, Error>> {
    Box::pin(home_differences(site, now, subjects, false))
}

/// Finds the differences of home timelines that are in the store or, without `in_store`, on servers of their own.
async fn home_differences(
    site: &Site,
    now: Moment,
    subjects: &[&Subject],
    in_store: bool,
) -> Result<Vec<Option<Found>>, Error> {
    let users = subjects.iter().map(|subject| subject.id::<UserId>().filter(|_| subject.hash().is_some()));
    let users: Vec<Option<UserId>> = users.collect();
    if users.iter().all(Option::is_none) || site.home_server().is_none() != in_store {
        return Ok(users.iter().map(|_| None).collect());
    }
    let check = HomeCheck::begin(site, now).await?;
    let found = stream::iter(users).map(|user| home_difference(site, &check, user));
    found.buffered(CHECKS_AT_ONCE).try_collect().await
}

async fn home_difference(
    site: &Site,
    check: &HomeCheck<'_>,
    user: Option<UserId>,
) -> Result<Option<Found>, Error> {
    let Some(id) = user else { return Ok(None) };
    let Some(difference) = check.home_difference(id).await? else { return Ok(None) };
    let fault = Fault {
        key: keys::home_timeline(id),
        found: match difference {
            HomeDifference::Lost => "nothing, because its server has lost it".to_owned(),
            HomeDifference::Stranger(tweet) => format!("the tweet {tweet}, which does not belong there"),
            HomeDifference::Lacks(tweet) => format!("no tweet {tweet}"),
            HomeDifference::FloorTooLow(tweet) => {
                format!("no tweet {tweet}, and a place in {} below it", keys::HOME_FLOORS)
            }
        },
        expected: "the newest tweets of the user and of those whom the user follows".to_owned(),
        mend: Mend::Home(id),
    };
    Ok(Some(Found::of(fault, home_rests_on(site, id).await?)))
}

/// The sources that decide which tweets belong in a home timeline: the list of followed users, their
/// timelines and the user's own, and the tweets in it. Rounds: 1.
async fn home_rests_on(site: &Site, user: UserId) -> Result<Vec<Source>, Error> {
    let lists = [keys::followings(user), keys::home_timeline(user)];
    let lists = lists.map(|list| read::sorted_range(list, Order::Ascending, 0, u64::MAX));
    let [followed, tweets] = site.store.fetch(lists).await?;
    let authors = followed.into_iter().filter_map(|(id, _)| id.parse::<UserId>().ok());
    let timelines = authors.chain([user]).map(keys::user_timeline);
    let tweets = tweets.into_iter().filter_map(|(id, _)| id.parse::<TweetId>().ok());
    let keys = timelines.chain(tweets.map(keys::tweet)).chain([keys::followings(user)]);
    Ok(keys.map(Source::all).collect())
}

/// The other user whom a member names, if it is an id.
fn other(subject: &Subject, claims: &mut Claims) -> Option<UserId> {
    let Some(other) = subject.member_id::<UserId>() else {
        claims.malformed("a member that is no id", "ids of users");
        return None;
    };
    claims.refers(format!("the user {other}"), keys::user(other), NOBODY);
    Some(other)
}

fn following(subject: &Subject, claims: &mut Claims) {
    let (Some(user), Some((_, since))) = (subject.id::<UserId>(), subject.member()) else { return };
    let Some(author) = other(subject, claims) else { return };
    let (key, list) = (subject.key.clone(), keys::followers(author));
    claims.add(vec![score(&list, user)], move |answers| {
        let mut batch = Batch::new();
        batch.sorted_member_present(&key, author.to_string());
        batch.sorted_member_absent(&list, user.to_string());
        batch.sorted_add(&list, user.to_string(), since);
        batch.sorted_increment(keys::MOST_FOLLOWED, author.to_string(), 1.0);
        score_in(answers, 0).is_none().then(|| Fault {
            key: list.clone(),
            found: format!("no member {user}"),
            expected: format!("the member {user}, who follows this user"),
            mend: Mend::write(batch, "add the member with its score"),
        })
    });
    claims.besides(Source::existence(keys::user(author)));
}

fn follower(subject: &Subject, claims: &mut Claims) {
    let (Some(author), Some((_, since))) = (subject.id::<UserId>(), subject.member()) else { return };
    let Some(user) = other(subject, claims) else { return };
    let (key, list) = (subject.key.clone(), keys::followings(user));
    claims.add(vec![score(&list, author), Read::Expiry(list.clone())], move |answers| {
        let mut batch = Batch::new();
        batch.sorted_member_absent(&list, author.to_string());
        batch.sorted_member_present(&key, user.to_string());
        if is_absent(answers, 1) {
            // All of it was lost.
            batch.sorted_add(&list, author.to_string(), since);
            return Some(Fault {
                key: list.clone(),
                found: format!("no member {author}"),
                expected: format!("the member {author}, whom this user follows"),
                mend: Mend::write(batch, "add the member with its score"),
            });
        }
        batch.sorted_remove(&key, user.to_string());
        batch.sorted_increment(keys::MOST_FOLLOWED, author.to_string(), -1.0);
        score_in(answers, 0).is_none().then(|| Fault {
            key: key.clone(),
            found: format!("the member {user}, who does not follow this user"),
            expected: "people who follow the user".to_owned(),
            mend: Mend::write(batch, "remove the member"),
        })
    });
    claims.besides(Source::existence(keys::user(user)));
}

/// Claims that the list of users by their followers has the right number for one of them.
fn number_of_followers(claims: &mut Claims, user: UserId) {
    let reads = vec![
        Read::SortedCount(keys::followers(user)),
        score(keys::MOST_FOLLOWED, user),
        fields(keys::user(user), ["id"]),
    ];
    claims.add(reads, move |answers| {
        let (count, stored) = (count_in(answers, 0), score_in(answers, 1));
        let is_user = field_in(answers, 2, 0).is_some();
        let fault = |found: String, expected: &str, mend| {
            Some(Fault { key: keys::MOST_FOLLOWED.to_owned(), found, expected: expected.to_owned(), mend })
        };
        if !is_user && count == 0 && stored.is_some() {
            let mut batch = Batch::new();
            batch.key_absent(keys::user(user));
            batch.sorted_remove(keys::MOST_FOLLOWED, user.to_string());
            let mend = Mend::write(batch, "remove the member");
            return fault(format!("the member {user}, who does not exist"), "users who exist", mend);
        }
        if let Some(lost) = stored.filter(|stored| count == 0 && *stored > 0.0) {
            let found = format!("{lost} followers of the user {user}, of whom none is known");
            return fault(found, "users with the numbers of their followers", LOST_FOLLOWERS);
        }
        let expected = count as f64;
        let fault = score_fault(keys::MOST_FOLLOWED, &user.to_string(), stored, expected);
        fault.filter(|_| is_user)
    });
    claims.besides(Source::existence(keys::user(user)));
    // Once those whom others name are followers again, the number is corrected.
    claims.place_at(keys::MOST_FOLLOWED.to_owned(), format!("lost {user}"));
}

fn followers(subject: &Subject, claims: &mut Claims) {
    if let (SubjectItem::Whole, Some(user)) = (&subject.item, subject.id()) {
        number_of_followers(claims, user);
    }
}

fn by_followers(subject: &Subject, claims: &mut Claims) {
    if let Some(user) = subject.member_id() {
        number_of_followers(claims, user);
    }
}

fn user_exists(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let user = member.parse::<UserId>().ok();
    let (member, reads) = (member.to_owned(), user.map(|id| fields(keys::user(id), ["id", DEACTIVATED])));
    claims.belongs("users who exist", reads.into_iter().collect(), move |answers, _| {
        field_in(answers, 0, 0).is_none().then(|| format!("the user {member}, who does not exist"))
    });
}
