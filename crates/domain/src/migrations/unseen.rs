//! Lists what people wrote that no list of theirs had, so that an erasure finds it: posts that nobody was shown,
//! removed tweets, and flags beyond the newest 1,000. Of people who have left, what was left behind is deleted.

use super::withdrawn::thing_of;
use super::{KEYS_AT_ONCE, STORIES_AT_ONCE};
use crate::accounts::users::{DEACTIVATED, DELETED_USERNAME};
use crate::contributions::erasing::ERASE_ALL;
use crate::deactivation::leave;
use crate::jobs::{self, Job};
use crate::key_walk::KeyWalk;
use crate::keys::families::{self, Family};
use crate::post_state::may_be_unseen;
use crate::report::Advance;
use crate::values::{Flag, InvitationCode, Moment, NewsId, Thing, Timestamp, TweetId, UserId};
use crate::{Comment, Tweet, keys};
use crate::{Result, Site};
use std::collections::BTreeMap;
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// A post that may be in no list of its author, and the list that may have it.
struct UnlistedPost {
    author: UserId,
    thing: Thing,
    time: f64,
    /// The list and its member; `None` for tweets, which leave theirs.
    place: Option<(String, String)>,
}

/// Goes over all keys. Rounds: 1 for each 1,000 keys, and at most 2 for each ten stories, tweets or flagged things.
pub(super) async fn list_all(site: &Site, advance: Advance<'_>) -> Result<()> {
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        let (mut stories, mut tweets, mut flagged) = (vec![], vec![], vec![]);
        let (mut profiles, mut invitations) = (vec![], vec![]);
        for key in &keys {
            if let Some(Thing::User(id)) = thing_of(key) {
                profiles.extend(id.parse::<UserId>());
            }
            let Some((family, parts)) = Family::of(key) else { continue };
            let part = parts.first().copied().unwrap_or_default();
            if *family == families::NEWS {
                stories.extend(part.parse::<NewsId>());
            } else if *family == families::TWEET {
                tweets.extend(part.parse::<TweetId>());
            } else if *family == families::FLAGS {
                flagged.extend(part.parse::<Thing>());
            } else if *family == families::INVITES_CODE {
                invitations.extend(InvitationCode::parse(part));
            }
        }
        for stories in stories.chunks(STORIES_AT_ONCE) {
            list(site, of_stories(site, stories).await?).await?;
        }
        for tweets in tweets.chunks(KEYS_AT_ONCE) {
            list(site, of_tweets(site, tweets).await?).await?;
        }
        for flagged in flagged.chunks(STORIES_AT_ONCE) {
            list_flags(site, flagged).await?;
        }
        leave_again(site, profiles, invitations).await?;
    }
    Ok(())
}

/// The posts of some stories and their threads. Rounds: 1.
async fn of_stories(site: &Site, stories: &[NewsId]) -> Result<Vec<UnlistedPost>> {
    let read = stories.iter().copied().map(Comment::with_story).collect::<Vec<_>>();
    let mut found = Vec::new();
    for (news, comments) in site.store.fetch(read).await? {
        if let Some(news) = news.filter(|news| may_be_unseen(news.withheld.as_ref())) {
            let place = Some((keys::user_posted(news.user_id), news.id.to_string()));
            let time = news.ctime.as_score();
            found.push(UnlistedPost { author: news.user_id, thing: Thing::Story(news.id), time, place });
        }
        for comment in comments.iter().filter(|comment| may_be_unseen(comment.withheld.as_ref())) {
            let address = comment.address();
            let place = Some((keys::user_comments(comment.user_id), address.to_string()));
            let (author, time) = (comment.user_id, comment.ctime.as_score());
            found.push(UnlistedPost { author, thing: Thing::Comment(address), time, place });
        }
    }
    Ok(found)
}

/// Those of some tweets that are in no timeline. Rounds: 1.
async fn of_tweets(site: &Site, tweets: &[TweetId]) -> Result<Vec<UnlistedPost>> {
    let read: Vec<_> = tweets.iter().map(|id| Tweet::by_id(*id).or_absent()).collect();
    let tweets = site.store.fetch(read).await?.into_iter().flatten();
    let gone = tweets.filter(|tweet| may_be_unseen(tweet.withheld.as_ref()));
    let candidate = |tweet: Tweet| {
        let thing = Thing::Tweet(tweet.id);
        UnlistedPost { author: tweet.user_id, thing, time: tweet.created_at, place: None }
    };
    Ok(gone.map(candidate).collect())
}

/// Lists those of some posts that are in no other list of their authors. Rounds: 1, and 1 to write.
async fn list(site: &Site, candidates: Vec<UnlistedPost>) -> Result<()> {
    let places = candidates.iter().map(|UnlistedPost { place, .. }| {
        place.as_ref().map(|(list, member)| read::score(list, member).or_absent())
    });
    let scores = site.store.fetch(places.collect::<Vec<_>>()).await?;
    let mut batch = Batch::new();
    for (UnlistedPost { author, thing, time, .. }, score) in candidates.into_iter().zip(scores) {
        if score.flatten().is_none() {
            batch.sorted_add(keys::user_unseen(author), thing.key(), time);
        }
    }
    commit(site, batch).await
}

/// Lists the flags of some things with the people who still have accounts. Rounds: 2, and 1 to write.
async fn list_flags(site: &Site, flagged: &[Thing]) -> Result<()> {
    let read: Vec<_> = flagged.iter().map(|thing| read::hash(keys::flags(thing)).or_absent()).collect();
    let found = site.store.fetch(read).await?;
    let flags_of = |(thing, flags): (&Thing, Hash)| {
        let flags = flags.0.into_iter().filter_map(|(person, flag)| {
            Some((person.parse::<UserId>().ok()?, flag.parse::<Flag>().ok()?.time.as_score()))
        });
        flags.map(|(person, time)| (person, thing.key(), time)).collect::<Vec<_>>()
    };
    let flags: Vec<_> = flagged.iter().zip(found).flat_map(flags_of).collect();
    let left = flags.iter().map(|(person, ..)| read::field(keys::user(*person), DEACTIVATED).or_absent());
    let left = site.store.fetch(left.collect::<Vec<_>>()).await?;
    let mut batch = Batch::new();
    for ((person, thing, time), left) in flags.into_iter().zip(left) {
        if left.is_none() {
            batch.sorted_add(keys::user_flags(person), thing, time);
        }
    }
    commit(site, batch).await
}

/// Adds the jobs that delete what people who have left have left behind, of whom a removed profile or an invitation is
/// there. The job finds invitations in their list. Rounds: 2, and 1 to write.
async fn leave_again(site: &Site, profiles: Vec<UserId>, invitations: Vec<InvitationCode>) -> Result<()> {
    let owner = |code: &InvitationCode| read::field(keys::invitation(code), "user_id").or_absent();
    let owners = site.store.fetch(invitations.iter().map(owner).collect::<Vec<_>>()).await?;
    let mut people: BTreeMap<UserId, Vec<InvitationCode>> =
        profiles.into_iter().map(|person| (person, Vec::new())).collect();
    for (code, owner) in invitations.into_iter().zip(owners) {
        if let Some(owner) = owner.and_then(|owner| owner.parse().ok()) {
            people.entry(owner).or_default().push(code);
        }
    }
    let read = |person: &UserId| {
        let names = read::fields(keys::user(*person), [DEACTIVATED, "username"]).or_absent();
        (names, jobs::is_waiting(&Job::new(ERASE_ALL, person)))
    };
    let left = site.store.fetch(people.keys().map(read).collect::<Vec<_>>()).await?;
    let mut batch = Batch::new();
    for ((person, codes), ([left, name], is_erased)) in people.into_iter().zip(left) {
        // An application that waits has the first field too. The job that erases adds the other one.
        if let Some(left) = left
            && name.as_deref() == Some(DELETED_USERNAME)
            && !is_erased
        {
            let since = Timestamp(left.parse().unwrap_or(0));
            for code in codes {
                batch.sorted_add(keys::invites_open(person), code.expose(), since.as_score());
            }
            jobs::add(&mut batch, &leave::job(person), Moment::from_timestamp(since), person);
        }
    }
    commit(site, batch).await
}

async fn commit(site: &Site, batch: Batch) -> Result<()> {
    if !batch.writes().is_empty() {
        site.store.commit(batch).await?;
    }
    Ok(())
}
