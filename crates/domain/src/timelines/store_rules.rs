//! Rules of tweets, timelines and follows.

use crate::keys::{self, families};
use crate::records::AsRead;
use crate::store_rules::claims::score_fault;
use crate::store_rules::entries::demand;
use crate::store_rules::{
    Claims, Fault, Form, Found, Location, Mend, NameIn, Noun, Person, RemoveAny, STATE, Source, Subject,
    SubjectItem, USER, claims, form, is, refers, rounds, rules,
};
use crate::timelines::check::HomeCheck;
use crate::values::{REMOVED, TweetId, UserId, WITHHELD, Withheld};
use crate::{Result, Site, Tweet};
use futures_util::future::BoxFuture;
use tidings_keyspace::{Batch, Expiry, read};

rules! { pub(crate) RULES:
    "a tweet has its form and an author, and is in the author's timeline, or in the list of unseen posts" =>
        TWEET: form(Form::Has(&["created_at"], is::<f64>), "a time");
        TWEET: refers(NameIn::Field("user_id"), "the author", USER,
            Person("restore the user from a backup, or delete the tweet"));
        TWEET: form(Form::MayHave(&[WITHHELD], is::<Withheld>), STATE);
        TWEET: claims(tweet);
    "the mentions of a user are tweets" =>
        USER_MENTIONS: form(Form::Member(is::<TweetId>), "tweets");
    "whoever follows somebody is among their followers" =>
        USER_FOLLOWINGS, USER_FOLLOWERS: refers(NameIn::Member, "the user", USER,
            Person("restore the user from a backup, or remove the member"));
        USER_FOLLOWINGS: claims(following);
        USER_FOLLOWERS: claims(follower);
    "the number of a user's followers is the number by which users are listed" =>
        USER_FOLLOWERS: claims(followers);
        MOST_FOLLOWED: claims(by_followers);
    "floors of timelines and authors whose tweets are not delivered are users who exist" =>
        HOME_FLOORS, PULLED_AUTHORS:
            refers(NameIn::Member, "the user {}, who does not exist", ACCOUNT, RemoveAny);
}

rules! {
    /// The rule of home timelines.
    pub(crate) HOMES:
    "a home timeline has the tweets that it should have, and no others" => USER: rounds(home);
}

const LOST_FOLLOWERS: Mend = Mend::Person(
    "restore the user's followers from a backup; if they are lost, and nobody names the user in user:<user id>:followings, set the score to 0",
);

/// Users, but not those of whom nothing but some fields is left.
const ACCOUNT: Noun =
    Noun("users who exist", |_, id| Some(Location::Field(keys::user(id.parse().ok()?), "id".to_owned())));

fn tweet(subject: &Subject, claims: &mut Claims) {
    let (Some(hash), Some(id)) = (subject.hash(), subject.id::<TweetId>()) else { return };
    let Some(tweet) = Tweet::from_hash(id, hash) else {
        return claims.malformed("a hash without text or user_id", "a tweet");
    };
    claims.of(REMOVED).removal("the tweet", tweet.removed.as_deref(), tweet.state());
    demand(claims, None, &AsRead::of_hash(tweet, hash));
}

fn home<'a>(site: &'a Site, subject: &'a Subject) -> BoxFuture<'a, Result<Option<Found>>> {
    Box::pin(async move {
        let (Some(id), Some(_)) = (subject.id::<UserId>(), subject.hash()) else { return Ok(None) };
        let check = HomeCheck::begin(site, subject.site.now).await?;
        let Some((found, rests_on)) = check.home_difference(id).await? else { return Ok(None) };
        let expected = "the newest tweets of the user and of those whom the user follows";
        let fault = Fault::new(keys::home_timeline(id), found, expected, Mend::Home(id));
        Ok(Some(Found::of(fault, rests_on.into_iter().map(Source::all).collect())))
    })
}

/// A follow, as one of its two lists has it: the list, its owner, the other person and the time.
fn follow(subject: &Subject) -> Option<(String, UserId, UserId, f64)> {
    let (_, since) = subject.member()?;
    Some((subject.key.clone(), subject.id()?, subject.member_id()?, since))
}

fn following(subject: &Subject, claims: &mut Claims) {
    let Some((followings, user, author, since)) = follow(subject) else { return };
    let key = keys::followers(author);
    claims.add(read::score(&key, user.to_string()), move |listed| {
        let mut batch = Batch::new();
        batch.sorted_member_present(followings, author.to_string());
        batch.sorted_member_absent(&key, user.to_string());
        batch.sorted_add(&key, user.to_string(), since);
        batch.sorted_increment(keys::MOST_FOLLOWED, author.to_string(), 1.0);
        let mend = Mend::write(batch, "add the member with its score");
        listed.is_none().then(|| Fault::lacks(key, user, mend))
    });
    claims.besides(Source::existence(keys::user(author)));
}

fn follower(subject: &Subject, claims: &mut Claims) {
    let Some((followers, author, user, since)) = follow(subject) else { return };
    let list = keys::followings(user);
    claims.add((read::score(&list, author.to_string()), read::expiry(&list)), move |(listed, expiry)| {
        let mut batch = Batch::new();
        batch.sorted_member_absent(&list, author.to_string());
        batch.sorted_member_present(&followers, user.to_string());
        if expiry == Expiry::Absent {
            // All of it was lost.
            batch.sorted_add(&list, author.to_string(), since);
            return Some(Fault::lacks(list, author, Mend::write(batch, "add the member with its score")));
        }
        batch.sorted_remove(&followers, user.to_string());
        batch.sorted_increment(keys::MOST_FOLLOWED, author.to_string(), -1.0);
        let found = format!("the member {user}, who does not follow this user");
        let mend = Mend::write(batch, "remove the member");
        listed.is_none().then(|| Fault::new(followers, found, "people who follow the user", mend))
    });
    claims.besides(Source::existence(keys::user(user)));
}

/// Claims that the list of users by their followers has the right number for one of them.
fn number_of_followers(claims: &mut Claims, user: UserId) {
    let name = user.to_string();
    let reads = (
        read::sorted_count(keys::followers(user)),
        read::score(keys::MOST_FOLLOWED, &name),
        read::field(keys::user(user), "id"),
    );
    claims.add(reads, move |(count, stored, id)| {
        let fault =
            |found: String, expected, mend| Some(Fault::new(keys::MOST_FOLLOWED, found, expected, mend));
        match (count, stored) {
            (0, Some(_)) if id.is_none() => {
                let mut batch = Batch::new();
                batch.key_absent(keys::user(user));
                batch.sorted_remove(keys::MOST_FOLLOWED, name);
                let mend = Mend::write(batch, "remove the member");
                fault(format!("the member {user}, who does not exist"), "users who exist", mend)
            }
            (0, Some(lost)) if lost > 0.0 => {
                let found = format!("{lost} followers of the user {user}, of whom none is known");
                fault(found, "users with the numbers of their followers", LOST_FOLLOWERS)
            }
            _ if id.is_none() => None,
            _ => score_fault(keys::MOST_FOLLOWED, &name, stored, count as f64),
        }
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
