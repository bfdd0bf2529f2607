//! Following: who follows whom, and the effects on home timelines.

use crate::accounts::mentioned::user_named;
use crate::accounts::users::DEACTIVATED;
use crate::accounts::{Delivery, EntryId, People};
use crate::jobs::{self, Job, JobKind, Jobs};
use crate::rates::counted::Limited;
use crate::timelines::apart::Apart;
use crate::timelines::floors;
use crate::timelines::home_jobs::{clear, rebuild};
use crate::timelines::homes::{Home, add_to_home};
use crate::timelines::merge::Merge;
use crate::timelines::versions::{TIMELINE_VERSION, note_followings_change, note_lost_follower};
use crate::values::{Cursor, FOLLOW_BACKFILL, MAX_FOLLOWINGS, Moment, RatedAction, TweetId, UserId, Window};
use crate::{Actor, CountedAction, Decision, Refusal, Result, Site, Visit, keys};
use tidings_keyspace::{Batch, Fetch, Order, read};

/// Follows a user, and adds the user's newest tweets to the follower's home timeline.
/// Following twice changes nothing. The user is told in the inbox, at most once a day. Rounds:
/// 5.
///
/// # Errors
/// [`Refusal::Silenced`], [`Refusal::NoSuchUser`], [`Refusal::FollowingOneself`], [`Refusal::BlockedBy`],
/// [`Refusal::TooManyFollowings`], [`Refusal::SessionEnded`],
/// [`Refusal::TooManyRequests`], or the store's.
pub async fn follow(site: &Site, now: Moment, follower: Actor<'_>, name: &str) -> Result<()> {
    follower.demand_may_post(now.timestamp())?;
    follower.spend(site, now, RatedAction::Follow).await?;
    let author = user_named(site, name).await?;
    Refusal::FollowingOneself.when(author == follower.id)?;
    let author_key = keys::user(author);
    let followings = keys::followings(follower.id);
    let notice = Limited::FollowNotices(author, follower.id);
    let request = follower.user.request.as_ref();
    let followed = site.act(&author_key, || async {
        // The version is read before the tweets, so that later changes are noticed.
        let fields = read::fields(&author_key, ["username", DEACTIVATED, TIMELINE_VERSION]);
        let timeline = keys::user_timeline(author);
        let tweets = read::sorted_range(timeline, Order::Descending, 0, FOLLOW_BACKFILL + 1);
        let known = (read::score(&followings, author.to_string()), read::sorted_count(&followings));
        let blocked = read::field(keys::user_blocks(author), follower.id.to_string());
        let reads = (fields, tweets, known, notice.counted(&site.rules), blocked, Home::of(follower.id));
        let (fields, tweets, (since, count), told, blocked, home) = site.store.fetch(reads).await?;
        let [Some(_), None, version] = fields else { return Err(Refusal::NoSuchUser.into()) };
        Refusal::BlockedBy.when(blocked.is_some())?;
        if since.is_some() {
            return Decision::Done(None).once(request, &());
        }
        Refusal::TooManyFollowings { limit: MAX_FOLLOWINGS }.when(count >= MAX_FOLLOWINGS)?;
        let is_told = told.is_reached();
        let entry = (!is_told).then_some((author, EntryId::Follow(follower.id)));
        let delivery = Delivery::read(site, Some(follower.id), entry.as_slice()).await?;

        let mut batch = Batch::new();
        batch.sorted_member_absent(&followings, author.to_string());
        batch.field_absent(&author_key, DEACTIVATED);
        batch.field_absent(keys::user_blocks(author), follower.id.to_string());
        batch.field_unchanged(&author_key, TIMELINE_VERSION, version);
        batch.sorted_add(&followings, author.to_string(), now.as_score());
        batch.sorted_add(keys::followers(author), follower.id.to_string(), now.as_score());
        batch.sorted_increment(keys::MOST_FOLLOWED, author.to_string(), 1.0);
        note_followings_change(&mut batch, follower.id);
        let job = backfill(&mut batch, site, &home, (follower.id, now), &tweets);
        if !is_told {
            delivery.write(&mut batch, now.as_score());
            told.add(&mut batch);
        }
        follower.decide(batch, job, &())
    });
    if let Some(job) = followed.await? {
        site.of::<Jobs>().start_soon(job, now);
    }
    site.count(CountedAction::Follow);
    Ok(())
}

/// Adds the newest tweets of an author to a follower's home timeline. If there are more, the
/// timeline is complete only down to the first one that is left out.
///
/// If it is apart from the store, the job that is returned makes it anew.
fn backfill(
    batch: &mut Batch,
    site: &Site,
    home: &Home,
    (follower, now): (UserId, Moment),
    tweets: &[(String, f64)],
) -> Option<Job> {
    if Apart::of(site).is_some() {
        return Some(rebuild::renew(batch, follower, now));
    }
    if !home.is_in_store() {
        home.end(batch);
        return None;
    }
    home.guard(batch);
    let (new, left_out) = tweets.split_at(tweets.len().min(usize::try_from(FOLLOW_BACKFILL).unwrap_or(0)));
    if let Some((_, score)) = left_out.first() {
        floors::raise_floor(batch, follower, *score);
    }
    for (tweet, score) in new {
        if let Ok(tweet) = tweet.parse::<TweetId>() {
            add_to_home(batch, &site.rules.timelines, follower, tweet, *score);
        }
    }
    None
}

/// Stops following a user, and removes the user's tweets from the home timeline. Does nothing for a user who is not followed.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::TooManyRequests`], or the store's.
pub async fn unfollow(site: &Site, now: Moment, follower: Actor<'_>, name: &str) -> Result<()> {
    follower.spend(site, now, RatedAction::Follow).await?;
    let author = user_named(site, name).await?;
    let author_key = keys::user(author);
    let request = follower.user.request.as_ref();
    let unfollowed = site.act(&author_key, || async {
        let mut batch = Batch::new();
        let followed = batch.sorted_member_present(keys::followings(follower.id), author.to_string());
        write_unfollow(&mut batch, follower.id, author);
        note_followings_change(&mut batch, follower.id);
        note_lost_follower(&mut batch, author);
        let job = write_clearing(&mut batch, site, (follower.id, author), now);
        Decision::commit(batch, Some(job)).if_rejected_by(followed, Ok(None)).once(request, &())
    });
    if let Some(job) = unfollowed.await? {
        clear(site, now, &job).await;
    }
    Ok(())
}

/// Adds to a batch that the tweets of an author leave the home timeline of a reader who no longer follows the
/// author. Returns the job for [`clear`].
pub(crate) fn write_clearing(
    batch: &mut Batch,
    site: &Site,
    (reader, author): (UserId, UserId),
    now: Moment,
) -> Job {
    if Apart::of(site).is_some() {
        return rebuild::renew(batch, reader, now);
    }
    let job = clear::job(reader, author);
    jobs::add(batch, &job, now, author);
    job
}

/// Does the job of [`write_clearing`]. No more tweets of the author can arrive, so one pass is enough.
pub(crate) async fn clear(site: &Site, now: Moment, job: &Job) {
    let kind: &JobKind = if Apart::of(site).is_some() { &rebuild::KIND } else { &clear::KIND };
    if let Err(error) = jobs::work_on(site, now, kind, job).await {
        // That the author is no longer followed is committed, and the job is queued.
        tracing::warn!(%job, %error, "unfollow not finished; a background job will finish it");
    }
}

/// Adds an unfollow to a batch. The caller notes who has changed
/// ([`note_followings_change`], [`note_lost_follower`]), each user once.
pub(crate) fn write_unfollow(batch: &mut Batch, follower: UserId, author: UserId) {
    batch.sorted_remove(keys::followings(follower), author.to_string());
    batch.sorted_remove(keys::followers(author), follower.to_string());
    batch.sorted_increment(keys::MOST_FOLLOWED, author.to_string(), -1.0);
}

/// One of the two lists of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The user's followers.
    Followers,
    /// The people the user follows.
    Followings,
}

/// A user in a list of people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The account.
    pub id: UserId,
    /// The name.
    pub username: String,
    /// The full name; may be empty.
    pub fullname: String,
    /// Whether the viewer follows the user.
    pub followed: bool,
}

/// A page of a list of people.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PeoplePage {
    /// The number of people in the whole list.
    pub count: u64,
    /// The people, the latest first.
    pub people: Vec<Person>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Cursor>,
}

/// The followers of a user, or the people whom a user follows. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's.
pub async fn people(visit: &mut Visit, name: &str, side: Side, window: &Window) -> Result<PeoplePage> {
    let user = crate::accounts::people::id_of(visit, name).await?;
    let list = match side {
        Side::Followers => keys::followers(user),
        Side::Followings => keys::followings(user),
    };
    let wanted = Window { count: window.count + 1, ..*window };
    let mut merge = Merge::new(vec![list.clone()], wanted, None, f64::INFINITY);
    let first = (People::of([user]), read::sorted_count(&list), merge.next_round());
    let (owner, count, entries) = visit.fetch(first).await?;
    Refusal::NoSuchUser.when(owner.get(user).is_none())?;
    merge.add(entries);
    while !merge.is_done() {
        merge.add(visit.fetch(merge.next_round()).await?);
    }
    let mut entries = merge.into_entries();
    let is_more = entries.len() > window.count;
    entries.truncate(window.count);
    let next = entries.last().filter(|_| is_more).copied();
    let people = persons(visit, entries.iter().map(|entry| UserId(entry.id)).collect()).await?;
    Ok(PeoplePage { count, people, next })
}

/// The people with these ids, in order, without deactivated accounts. Rounds: 1.
pub(crate) async fn persons(visit: &mut Visit, ids: Vec<UserId>) -> Result<Vec<Person>> {
    let followed = visit.viewer_id().map(|viewer| {
        read::scores(keys::followings(viewer), ids.iter().map(ToString::to_string)).or_absent()
    });
    let (mut people, followed) = visit.fetch((People::of(ids.iter().copied()), followed)).await?;
    let followed = followed.unwrap_or_else(|| vec![None; ids.len()]);
    let now = visit.now();
    let person = |(id, since): (UserId, Option<f64>)| {
        let (username, fullname) = people.remove(id)?.at(now);
        Some(Person { id, username, fullname, followed: since.is_some() })
    };
    Ok(ids.into_iter().zip(followed).filter_map(person).collect())
}
