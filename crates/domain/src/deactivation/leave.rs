//! Removing a deactivated account from everything that it is in: its followings, its
//! followers, its tweets, its inbox and its subscriptions.

use crate::accounts::invitations;
use crate::accounts::message_threads;
use crate::action::Decision;
use crate::error::Error;
use crate::jobs::{Job, JobKind, Step, StepOutcome, members};
use crate::keys;
use crate::news::subscriptions;
use crate::review;
use crate::site::Site;
use crate::timelines::follows;
use crate::timelines::held;
use crate::timelines::homes;
use crate::timelines::place::{HomePlace, SETTLE};
use crate::timelines::tweets::Tweet;
use crate::timelines::versions;
use crate::timelines::{entries, floors};
use crate::unseen;
use crate::values::ids::{TweetId, UserId};
use crate::values::limits::{DEACTIVATION_PEOPLE_CHUNK, DEACTIVATION_TWEETS_CHUNK};
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use std::collections::HashMap;
use tidings_keyspace::{Batch, Order, read};

/// Unseen posts of a deactivated account that one step looks at.
const UNSEEN_CHUNK: usize = 200;

/// The jobs `leave:<user id>`.
pub(crate) const KIND: JobKind = JobKind { name: "leave", step: |current| Box::pin(step(current)) };

/// The job that removes a deactivated account from everything.
pub(crate) fn job(user: UserId) -> Job {
    Job::new(KIND.name, user)
}

/// One step: some of the followings, else some of the followers, else some of the tweets.
/// The tweets are last, because they show which entries of the followers' timelines are the
/// account's.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>, Error> {
    let Some(user) = current.subject::<UserId>() else {
        return Ok(current.skip());
    };
    let site = current.site;
    let people = [keys::followings(user), keys::followers(user)]
        .map(|list| read::sorted_range(list, Order::Ascending, 0, DEACTIVATION_PEOPLE_CHUNK));
    let tweets =
        read::sorted_range(keys::user_timeline(user), Order::Descending, 0, DEACTIVATION_TWEETS_CHUNK);
    let unseen = members::some_of(current, keys::user_unseen(user), (f64::INFINITY, UNSEEN_CHUNK));
    let reads = (people, tweets, unseen, HomePlace::of(site));
    let (people, tweets, (unseen, next_unseen), place) = site.store.fetch(reads).await?;
    let place = place?;
    let [followings, followers] = people.map(ids::<UserId>);
    let tweets: Vec<TweetId> = ids(tweets);

    let mut batch = current.batch();
    place.guard(&mut batch);
    if place.apart().is_some() && !current.was_put_off() {
        // A delivery that has begun ends first.
        return Ok(current.put_off(batch, SETTLE));
    }
    if !followings.is_empty() {
        for followed in followings {
            follows::write_unfollow(&mut batch, user, followed);
            versions::note_lost_follower(&mut batch, followed);
        }
        return Ok(current.advance(batch, &[]));
    }
    if !followers.is_empty() {
        remove_from_homes(current, &place, &mut batch, &followers, user).await?;
        for follower in followers {
            follows::write_unfollow(&mut batch, follower, user);
            versions::note_followings_change(&mut batch, follower);
        }
        versions::note_lost_follower(&mut batch, user);
        return Ok(current.advance(batch, &[]));
    }
    if !tweets.is_empty() {
        for tweet in tweets {
            batch.delete(keys::tweet(tweet));
            entries::leave_with_author(&mut batch, user, tweet);
            unseen::remove(&mut batch, user, &Thing::Tweet(tweet));
        }
        return Ok(current.advance(batch, &[]));
    }
    delete_held(site, &mut batch, user, unseen).await?;
    if let Some(next) = next_unseen {
        return Ok(current.advance(batch, &next));
    }
    if let Some(apart) = place.apart() {
        apart.delete(&[user]).await?;
    }
    batch.delete(keys::home_timeline(user));
    batch.delete(keys::user_mentions(user));
    batch.delete(keys::user_inbox(user));
    batch.delete(keys::user_unread(user));
    batch.delete(keys::user_marked_read(user));
    batch.delete(keys::user_hidden(user));
    batch.delete(keys::user_saved(user));
    batch.delete(keys::topics_followed(user));
    batch.delete(keys::topics_muted(user));
    batch.delete(keys::user_mutes(user));
    batch.delete(keys::user_blocks(user));
    batch.delete(keys::user_recent_votes(user));
    batch.delete(keys::user_visits(user));
    batch.delete(keys::user_messages(user));
    batch.delete(keys::user_notes(user));
    batch.delete(keys::user_flags(user));
    batch.delete(keys::user_flag_outcomes(user));
    invitations::forget_all(site, &mut batch, user).await?;
    batch.delete(keys::withdrawn(&Thing::User(user.to_string().into())));
    message_threads::forget_all(site, &mut batch, user).await?;
    subscriptions::forget_all(site, &mut batch, user).await?;
    floors::set_floor(&mut batch, user, None);
    batch.sorted_remove(keys::MOST_FOLLOWED, user.to_string());
    batch.remove_member(keys::PULLED_AUTHORS, user.to_string());
    Ok(current.finish(batch))
}

fn ids<T: std::str::FromStr>(members: Vec<(String, f64)>) -> Vec<T> {
    members.into_iter().filter_map(|(member, _)| member.parse().ok()).collect()
}

/// Adds to a batch that tweets which wait for approval are deleted. Those that moderators have removed stay for
/// them. Rounds: 1.
async fn delete_held(
    site: &Site,
    batch: &mut Batch,
    user: UserId,
    unseen: Vec<(String, f64)>,
) -> Result<(), Error> {
    let tweets = unseen.iter().filter_map(|(member, _)| match member.parse() {
        Ok(Thing::Tweet(id)) => Some(Tweet::by_id(id)),
        _ => None,
    });
    let tweets = site.store.fetch(tweets.collect::<Vec<_>>()).await?;
    for tweet in tweets.into_iter().flatten() {
        if matches!(tweet.withheld, Some(Withheld::Held(_))) && tweet.user_id == user {
            held::guard(batch, &tweet);
            batch.delete(keys::tweet(tweet.id));
            let thing = Thing::Tweet(tweet.id);
            unseen::remove(batch, user, &thing);
            review::settle(batch, &thing);
        }
    }
    Ok(())
}

/// Removes the tweets of an author from the home timelines of readers, and deleted tweets,
/// whose sweep no longer reaches these readers.
async fn remove_from_homes(
    current: &Step<'_>,
    place: &HomePlace,
    batch: &mut Batch,
    readers: &[UserId],
    author: UserId,
) -> Result<(), Error> {
    let site = current.site;
    let homes = homes::read_homes(site, place, readers).await?;
    let mut entries = Vec::new();
    for (reader, home) in readers.iter().zip(homes) {
        entries.extend(home.entries.into_iter().map(|(tweet, _)| (*reader, tweet)));
    }
    let authors: Vec<_> =
        entries.iter().map(|(_, tweet)| read::field(keys::tweet(*tweet), "user_id")).collect();
    let authors = site.store.fetch(authors).await?;
    let mut removals: HashMap<UserId, Vec<TweetId>> = HashMap::new();
    for ((reader, tweet), user_id) in entries.into_iter().zip(authors) {
        if user_id.is_none_or(|id| id == author.to_string()) {
            removals.entry(reader).or_default().push(tweet);
        }
    }
    homes::remove(site, place, batch, removals.into_iter().collect()).await
}
