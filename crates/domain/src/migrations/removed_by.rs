//! Puts back into inboxes and mentions what removals have taken away from them, and lets each removed comment and tweet
//! itself name the line of the log that removed it. Before that, a record of its own did, with all that was taken away.

use super::withdrawn::{Withdrawn, thing_of};
use crate::accounts::inbox::BADGE;
use crate::accounts::users::{DEACTIVATED, REMOVED_TEXTS};
use crate::comments::notify::NOTIFY;
use crate::jobs::{self, Job};
use crate::key_walk::KeyWalk;
use crate::report::Advance;
use crate::site::apply;
use crate::values::{CommentAddress, Moment, NewsId, REMOVED, Thing, TweetId, UserId, Withheld};
use crate::{Comment, News, Result, Site, Tweet, keys};
use tidings_keyspace::{Batch, Order, read};

/// Entries that are put back in one batch.
const ENTRIES_AT_ONCE: u64 = 500;
/// The end of the keys with what a removed comment took from the subscribers of its thread.
const FROM_SUBSCRIBERS: &str = ":subscribers";
/// Jobs that took entries away or put them back. There are none of these any more.
const JOBS: [&str; 4] = ["withdraw", "return", "retract", "sweep"];

/// Goes over all keys. Rounds: 1 for each 1,000 keys, and at most 4 for each removed comment and tweet and for each 500
/// subscribers.
pub(super) async fn move_all(site: &Site, advance: Advance<'_>) -> Result<()> {
    let waiting =
        site.store.fetch(read::sorted_range(keys::TIMELINE_JOBS, Order::Ascending, 0, u64::MAX)).await?;
    let mut batch = Batch::new();
    for (name, _) in waiting {
        if let Some((kind, subject)) = name.split_once(':')
            && JOBS.contains(&kind)
        {
            jobs::remove(&mut batch, &Job::new(kind, subject));
        }
    }
    apply(&site.store, batch).await?;
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        for key in &keys {
            let record = key.strip_suffix(FROM_SUBSCRIBERS).unwrap_or(key);
            match thing_of(record) {
                Some(Thing::Comment(_)) if record != key => put_back_subscribers(site, key).await?,
                Some(Thing::Comment(address)) => of_comment(site, address).await?,
                Some(Thing::Tweet(id)) => of_tweet(site, id).await?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// The same for stories and profiles. Rounds: 1 for each 1,000 keys, and 2 for each of them that is removed or merged.
pub(super) async fn move_the_rest(site: &Site, advance: Advance<'_>) -> Result<()> {
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        for key in &keys {
            match thing_of(key) {
                Some(Thing::Story(id)) => of_story(site, id).await?,
                Some(thing @ Thing::User(_)) => of_profile(site, &thing).await?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// The place of its article, and what guards its URL, need no record: the one follows from the article, and the other gives
/// way while the story is removed.
async fn of_story(site: &Site, id: NewsId) -> Result<()> {
    let (record, news) = site.store.fetch((Withdrawn::of(&Thing::Story(id)), News::by_id(id))).await?;
    let Some(record) = record else { return Ok(()) };
    let mut batch = Batch::new();
    if let Some(news) = news
        && news.withheld.as_ref().is_some_and(|state| state.is_removed() || state.is_merged())
    {
        news.check_state(&mut batch);
        batch.set_field(keys::news(id), REMOVED, record.removed.to_string());
    }
    record.forget(&mut batch);
    apply(&site.store, batch).await.map(drop)
}

/// Nobody puts back the profile of an account that is gone.
async fn of_profile(site: &Site, thing: &Thing) -> Result<()> {
    let Ok(id) = thing.id().parse::<UserId>() else { return Ok(()) };
    let account = read::fields(keys::user(id), ["id", DEACTIVATED]);
    let (record, account) = site.store.fetch((Withdrawn::of(thing), account)).await?;
    let Some(record) = record else { return Ok(()) };
    let mut batch = Batch::new();
    if matches!(account, [Some(_), None]) {
        batch.set_field(keys::user(id), REMOVED, record.removed.to_string());
        for (field, kept) in REMOVED_TEXTS {
            if let Some(text) = record.rest::<String>(field) {
                batch.set_field(keys::user(id), kept, text);
            }
        }
    }
    record.forget(&mut batch);
    apply(&site.store, batch).await.map(drop)
}

async fn of_comment(site: &Site, address: CommentAddress) -> Result<()> {
    let thing = Thing::Comment(address);
    let reads = (Withdrawn::of(&thing), Comment::as_read(address));
    let (Some(record), stored) = site.store.fetch(reads).await? else { return Ok(()) };
    let mut batch = Batch::new();
    if let Some(stored) = stored
        && stored.withheld.as_ref().is_some_and(Withheld::is_removed)
    {
        let mut comment = Comment::clone(&stored);
        comment.removed = Some(Box::new(record.removed.clone()));
        stored.rewrite(&mut batch, &comment);
        // The job that tells the subscribers goes on.
        if let Some(progress) = record.rest::<String>("notifying") {
            let job = Job::new(NOTIFY.name, address);
            jobs::add(&mut batch, &job, Moment::from_timestamp(comment.ctime), comment.user_id);
            batch.set_fields(
                keys::timeline_job(&job.to_string()),
                progress.lines().filter_map(|line| line.split_once(' ')),
            );
        }
    }
    put_back(site, &mut batch, &record.rest::<String>("entries").unwrap_or_default()).await?;
    record.forget(&mut batch);
    apply(&site.store, batch).await.map(drop)
}

async fn of_tweet(site: &Site, id: TweetId) -> Result<()> {
    let (record, tweet) = site.store.fetch((Withdrawn::of(&Thing::Tweet(id)), Tweet::by_id(id))).await?;
    let Some(record) = record else { return Ok(()) };
    let mut batch = Batch::new();
    if let Some(tweet) = tweet
        && tweet.withheld.as_ref().is_some_and(Withheld::is_removed)
    {
        batch.key_present(keys::tweet(id));
        batch.set_field(keys::tweet(id), REMOVED, record.removed.to_string());
        let mentions = record.rest::<String>("mentions").unwrap_or_default();
        let mentions = mentions.lines().filter_map(|line| {
            let (user, time) = line.split_once(' ')?;
            Some((user.parse::<UserId>().ok()?, time.parse::<f64>().ok()?))
        });
        let mentions: Vec<_> = mentions.collect();
        let present = present(site, mentions.iter().map(|(user, _)| *user)).await?;
        for (user, time) in mentions.into_iter().filter(|(user, _)| present.contains(user)) {
            batch.sorted_add(keys::user_mentions(user), id.to_string(), time);
        }
    }
    put_back(site, &mut batch, &record.rest::<String>("entries").unwrap_or_default()).await?;
    record.forget(&mut batch);
    apply(&site.store, batch).await.map(drop)
}

async fn put_back_subscribers(site: &Site, key: &str) -> Result<()> {
    loop {
        let some = site.store.fetch(read::sorted_range(key, Order::Ascending, 0, ENTRIES_AT_ONCE)).await?;
        if some.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        let members: Vec<&str> = some.iter().map(|(member, _)| &**member).collect();
        for member in &members {
            batch.sorted_member_present(key, *member);
            batch.sorted_remove(key, *member);
        }
        put_back(site, &mut batch, &members.join("\n")).await?;
        apply(&site.store, batch).await?;
    }
}

/// Adds to a batch that entries are in inboxes again. Each is a line, `<user id> <entry> <time in the inbox> <time among
/// the unread ones> <1 if the badge counted it, else 0>`, with `-` for no time. Rounds: 1, none without entries.
async fn put_back(site: &Site, batch: &mut Batch, entries: &str) -> Result<()> {
    let entry = |line: &str| {
        let mut parts = line.split(' ').map(str::to_owned);
        let (user, member) = (parts.next()?.parse::<UserId>().ok()?, parts.next()?);
        let times = [parts.next()?, parts.next()?]
            .map(|time| time.parse::<f64>().ok().filter(|time| time.is_finite()));
        Some((user, member, times, parts.next()? == "1"))
    };
    let entries: Vec<_> = entries.lines().filter_map(entry).collect();
    let present = present(site, entries.iter().map(|(user, ..)| *user)).await?;
    for (user, member, [inbox, unread], is_counted) in
        entries.into_iter().filter(|entry| present.contains(&entry.0))
    {
        if let Some(time) = inbox {
            batch.sorted_add(keys::user_inbox(user), &member, time);
        }
        if let Some(time) = unread {
            batch.sorted_add(keys::user_unread(user), &member, time);
        }
        if is_counted {
            batch.increment_field(keys::user(user), BADGE, 1);
        }
    }
    Ok(())
}

/// The people among these whose accounts are still there. Rounds: 1, none without people.
async fn present(site: &Site, users: impl Iterator<Item = UserId>) -> Result<Vec<UserId>> {
    let users: Vec<UserId> = users.collect();
    let accounts = users.iter().map(|user| read::fields(keys::user(*user), ["id", DEACTIVATED]));
    let accounts = site.store.fetch(accounts.collect::<Vec<_>>()).await?;
    let present = users.into_iter().zip(accounts).filter(|(_, account)| matches!(account, [Some(_), None]));
    Ok(present.map(|(user, _)| user).collect())
}
