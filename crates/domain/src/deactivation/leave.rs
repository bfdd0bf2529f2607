//! Removing a deactivated account from everything that it is in: its followings, its
//! followers, its tweets, its inbox and its subscriptions.

use crate::accounts::users::forget_removed;
use crate::accounts::{invitations, message_threads};
use crate::jobs::{Job, JobKind, Step, StepOutcome, members};
use crate::news::subscriptions;
use crate::timelines::apart::Apart;
use crate::timelines::homes::{self, HOME_AT, Home};
use crate::timelines::{floors, follows, stored, versions};
use crate::values::{DEACTIVATION_PEOPLE_CHUNK, DEACTIVATION_TWEETS_CHUNK, Thing, TweetId, UserId, Withheld};
use crate::{Decision, Result, Site, flags, keys};
use tidings_keyspace::{Batch, Fetch, Order, read};

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
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let Some(user) = current.subject::<UserId>() else { return Ok(current.skip()) };
    let site = current.site;
    let people = [keys::followings(user), keys::followers(user)]
        .map(|list| read::sorted_range(list, Order::Ascending, 0, DEACTIVATION_PEOPLE_CHUNK));
    let tweets =
        read::sorted_range(keys::user_timeline(user), Order::Descending, 0, DEACTIVATION_TWEETS_CHUNK);
    let unseen = members::some_of(current, keys::user_unseen(user), (f64::INFINITY, UNSEEN_CHUNK));
    let (people, tweets, (unseen, next_unseen)) = site.store.fetch((people, tweets, unseen)).await?;
    let [followings, followers] = people.map(ids::<UserId>);
    let tweets: Vec<TweetId> = ids(tweets);

    let mut batch = current.batch();
    if !followings.is_empty() {
        for followed in followings {
            follows::write_unfollow(&mut batch, user, followed);
            versions::note_lost_follower(&mut batch, followed);
        }
        return Ok(current.advance(batch, &[]));
    }
    if !followers.is_empty() {
        remove_from_homes(site, &mut batch, &followers, user).await?;
        for follower in followers {
            follows::write_unfollow(&mut batch, follower, user);
            versions::note_followings_change(&mut batch, follower);
        }
        versions::note_lost_follower(&mut batch, user);
        return Ok(current.advance(batch, &[]));
    }
    if !tweets.is_empty() {
        let reads = tweets.iter().map(|tweet| stored::by_id(*tweet)).collect::<Vec<_>>();
        for (id, tweet) in tweets.into_iter().zip(site.store.fetch(reads).await?) {
            match tweet.filter(|tweet| tweet.user_id == user) {
                Some(tweet) => stored::delete(&mut batch, &tweet),
                None => batch.sorted_remove(keys::user_timeline(user), id.to_string()),
            }
        }
        return Ok(current.advance(batch, &[]));
    }
    delete_held(site, &mut batch, user, unseen).await?;
    if let Some(next) = next_unseen {
        return Ok(current.advance(batch, &next));
    }
    if let Some(apart) = Apart::of(site) {
        apart.delete(&[user]).await?;
    }
    homes::delete_home(&mut batch, user);
    batch.delete_field(keys::user(user), HOME_AT);
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
    flags::forget_person(&mut batch, user);
    invitations::forget_all(site, &mut batch, user).await?;
    forget_removed(&mut batch, user);
    message_threads::forget_all(site, &mut batch, user).await?;
    subscriptions::forget_all(site, &mut batch, user).await?;
    floors::set_floor(&mut batch, user, None);
    batch.sorted_remove(keys::MOST_FOLLOWED, user.to_string());
    homes::set_pulled(&mut batch, user, false);
    Ok(current.finish(batch))
}

fn ids<T: std::str::FromStr>(members: Vec<(String, f64)>) -> Vec<T> {
    members.into_iter().filter_map(|(member, _)| member.parse().ok()).collect()
}

/// Adds to a batch that tweets which wait for approval are deleted. Those that moderators have removed stay for
/// them. Rounds: 1.
async fn delete_held(site: &Site, batch: &mut Batch, user: UserId, unseen: Vec<(String, f64)>) -> Result<()> {
    let tweets = unseen.iter().filter_map(|(member, _)| match member.parse() {
        Ok(Thing::Tweet(id)) => Some(stored::by_id(id)),
        _ => None,
    });
    let tweets = site.store.fetch(tweets.collect::<Vec<_>>()).await?;
    for tweet in tweets.into_iter().flatten() {
        if tweet.withheld.as_ref().is_some_and(Withheld::is_held) && tweet.user_id == user {
            stored::delete(batch, &tweet);
        }
    }
    Ok(())
}

/// Removes the tweets of an author from the home timelines of readers, and deleted tweets. Apart from the store, the timelines are made anew when
/// they are read. Rounds: 2.
async fn remove_from_homes(site: &Site, batch: &mut Batch, readers: &[UserId], author: UserId) -> Result<()> {
    if Apart::of(site).is_some() {
        let homes: Vec<_> = readers.iter().copied().map(Home::of).collect();
        site.store.fetch(homes).await?.iter().for_each(|home| home.end(batch));
        return Ok(());
    }
    let home = |reader: &UserId| {
        let (key, reader) = (keys::home_timeline(*reader), *reader);
        let entries = read::sorted_range(key, Order::Descending, 0, u64::MAX);
        entries.map(move |entries| (reader, ids::<TweetId>(entries)))
    };
    let homes = site.store.fetch(readers.iter().map(home).collect::<Vec<_>>()).await?;
    let entries =
        homes.into_iter().flat_map(|(reader, tweets)| tweets.into_iter().map(move |tweet| (reader, tweet)));
    let entries: Vec<_> = entries.collect();
    let authors: Vec<_> =
        entries.iter().map(|(_, tweet)| read::field(keys::tweet(*tweet), "user_id")).collect();
    for ((reader, tweet), user_id) in entries.into_iter().zip(site.store.fetch(authors).await?) {
        if user_id.is_none_or(|id| id == author.to_string()) {
            homes::remove_from_home(batch, reader, tweet);
        }
    }
    Ok(())
}
