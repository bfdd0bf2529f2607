//! The page for moderators about one person: the latest activity, flags by and against the person, the
//! decisions about them, and the people whom they invited. Notes and networks are in modules of their own.

use super::log::{self, LogEntry, LogWindow};
use crate::accounts::People;
use crate::contributions::excerpt;
use crate::flags::{ThingFlags, decided_flags};
use crate::values::{FlagReason, OVERVIEW_DECISIONS, OVERVIEW_LISTED, Thing, Timestamp, UserId, Withheld};
use crate::{Comment, News, Result, Tweet, Visit, keys};
use std::cmp::Reverse;
use tidings_keyspace::{Fetch, Order, read};

/// The latest doings of a person, and the decisions about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Their newest stories, comments and tweets, the newest first.
    pub posts: Vec<LatestPost>,
    /// The flags on their profile.
    pub profile_flags: FlagCounts,
    /// Their flags on things of others.
    pub flags: FlagsBy,
    /// The newest people whom they invited.
    pub invited: Vec<String>,
    /// Decisions about them among the last lines of the log, the newest first.
    pub decisions: Vec<LogEntry>,
}

/// A post of the person.
#[derive(Debug, Clone, PartialEq)]
pub struct LatestPost {
    /// The post.
    pub thing: Thing,
    /// When it was posted.
    pub time: Timestamp,
    /// The title, or the beginning of the text; nothing once it is deleted.
    pub text: String,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<Withheld>,
    /// Whether it is deleted.
    pub is_deleted: bool,
    /// The flags on it.
    pub flags: FlagCounts,
}

/// The flags on one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlagCounts {
    /// How many there are, decided or not.
    pub all: u64,
    /// The reasons of those that wait.
    pub waiting: Vec<(FlagReason, u64)>,
}

/// The flags of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlagsBy {
    /// Of the last that were decided, those with which moderators agreed.
    pub upheld: u64,
    /// Those with which they did not.
    pub rejected: u64,
    /// The last flags by the person.
    pub latest: Vec<(Thing, Timestamp)>,
}

impl From<ThingFlags> for FlagCounts {
    fn from(flags: ThingFlags) -> Self {
        Self { all: flags.count() as u64, waiting: flags.reasons() }
    }
}

/// The latest doings of the person with a name. Rounds: 2, and those of [`log::page`] with a filter.
///
/// # Errors
/// [`Refusal::ModeratorsOnly`](crate::Refusal::ModeratorsOnly), [`Refusal::RoleNeedsTwoFactor`](crate::Refusal::RoleNeedsTwoFactor), or the store's.
pub async fn overview(visit: &mut Visit, (person, username): (UserId, &str)) -> Result<Overview> {
    visit.demand_moderator().await?;
    let newest = |key: String| read::sorted_range(key, Order::Descending, 0, OVERVIEW_LISTED).or_absent();
    let lists = [
        keys::user_posted(person),
        keys::user_comments(person),
        keys::user_timeline(person),
        keys::invites_by(person),
        keys::user_flags(person),
        keys::user_unseen(person),
    ];
    let (lists, (upheld, rejected)) = visit.fetch((lists.map(newest), decided_flags(person))).await?;
    let [stories, comments, tweets, invited, flagged, unseen] = lists;
    let listed = ids(stories).map(Thing::Story).chain(ids(comments).map(Thing::Comment));
    let mut listed: Vec<Thing> = listed.chain(ids(tweets).map(Thing::Tweet)).chain(ids(unseen)).collect();
    // Of posts of the same second, stories come first, then comments.
    listed.sort_by_key(|thing| match thing {
        Thing::Story(_) => 0,
        Thing::Comment(_) => 1,
        _ => 2,
    });
    let invited: Vec<UserId> = ids(invited).collect();
    let profile_flags = ThingFlags::on(Thing::User(username.into()));
    let reads = (
        listed.into_iter().map(latest_post).collect::<Vec<_>>(),
        profile_flags,
        People::of(invited.iter().copied()),
    );
    let (posts, profile_flags, people) = visit.fetch(reads).await?;
    let mut posts: Vec<LatestPost> = posts.into_iter().flatten().collect();
    posts.sort_by_key(|post| Reverse(post.time));
    posts.truncate(usize::try_from(OVERVIEW_LISTED).unwrap_or(usize::MAX));
    let flagged = flagged
        .into_iter()
        .filter_map(|(thing, time)| Some((thing.parse::<Thing>().ok()?, Timestamp::from_score(time))));
    let window = LogWindow { count: OVERVIEW_DECISIONS, concerns: Some(person), ..LogWindow::default() };
    Ok(Overview {
        posts,
        profile_flags: profile_flags.into(),
        flags: FlagsBy { upheld, rejected, latest: flagged.collect() },
        invited: invited.iter().filter_map(|id| Some(people.get(*id)?.username.clone())).collect(),
        decisions: log::page(visit, &window).await?.entries,
    })
}

fn ids<T: std::str::FromStr>(members: Vec<(String, f64)>) -> impl Iterator<Item = T> {
    members.into_iter().filter_map(|(member, _)| member.parse().ok())
}

fn latest_post(thing: Thing) -> impl Fetch<Value = Option<LatestPost>> {
    let story = |story: News| (story.ctime, story.title, story.withheld, story.deleted);
    let comment = |comment: Comment| (comment.ctime, comment.body, comment.withheld, comment.deleted);
    let tweet = |tweet: Tweet| (Timestamp::from_score(tweet.created_at), tweet.text, tweet.withheld, false);
    let post = match &thing {
        Thing::Story(id) => News::by_id(*id).map(move |found| found.map(story)).boxed(),
        Thing::Comment(address) => Comment::at(*address).map(move |found| found.map(comment)).boxed(),
        Thing::Tweet(id) => Tweet::by_id(*id).map(move |found| found.map(tweet)).boxed(),
        _ => read::known(None).boxed(),
    };
    (post, ThingFlags::on(thing.clone())).or_absent().map(move |(post, flags)| {
        let (time, text, withheld, is_deleted) = post?;
        let text = if is_deleted { String::new() } else { excerpt(&text) };
        Some(LatestPost { thing, time, text, withheld, is_deleted, flags: flags.into() })
    })
}
