//! Reading the parts of an export: first a list of what there is, then its entries, some at a
//! time.

use super::records::{
    CommentRecord, FlagRecord, InboxRecord, ListedRecord, MessageRecord, MuteRecord, PersonRecord, Record,
    TopicRecord, VoteRecord, VotedKind,
};
use super::{Export, Section};
use crate::accounts::inbox::{EntryId, entries_of, message};
use crate::accounts::message_threads::{self, MessageThread};
use crate::accounts::{People, PersonNames, session_store};
use crate::marks::ThreadMark;
use crate::news::item::{Direction, vote_of};
use crate::sites::{Verdict, votes_on};
use crate::values::{
    CommentAddress, EXPORT_LIST, EXPORT_SCANNED_COMMENTS, EXPORT_SCANNED_STORIES, EXPORT_THREADS, Flag,
    Hostname, MessageThreadId, NewsId, StoredMessage, Thing, Timestamp, TweetId, UserId, WITHHELD, printable,
};
use crate::{Comment, News, Result, Site, Tweet, User, fields, keys};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::str::FromStr;
use tidings_keyspace::{Fetch, Order, read};

/// An entry of a list that is still to be read.
#[derive(Debug)]
pub(super) struct PendingEntry {
    /// The member of the list.
    member: String,
    /// When it got onto the list; 0 where that is not known.
    time: f64,
    /// Whether it is read, for entries of an inbox.
    is_read: bool,
    /// The cost of reading it: 1, or the number of comments in its thread.
    pub(super) cost: u64,
}

impl PendingEntry {
    fn new((member, time): (String, f64)) -> Self {
        Self { member, time, is_read: false, cost: 1 }
    }

    fn number(id: u64) -> Self {
        Self::new((id.to_string(), 0.0))
    }

    /// The member as an id; `None` if it is none.
    fn id<T: FromStr>(&self) -> Option<T> {
        self.member.parse().ok()
    }
}

/// How the entries of a step are found.
#[derive(Clone, Copy)]
enum EntryList {
    /// They are in a sorted set, and posts that nobody was shown in another one.
    Posts(fn(UserId) -> String),
    /// They are in a sorted set.
    Sorted(fn(UserId) -> String),
    /// They are the fields of a hash with times.
    Fields(fn(UserId) -> String),
    /// They are the sites on which the voter of the account has voted.
    VotedSites,
    StoriesToScan,
    ThreadsToScan,
    Visits,
    Inbox,
    Messages,
    /// They are read without a list.
    Nothing,
}

/// The kind of the entries of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Stories,
    Comments,
    Tweets,
    StoryVotes,
    CommentVotes,
    SiteVotes,
    Flags,
    Listed,
    Topics,
    People,
    Mutes,
    Inbox,
    Messages,
    Sessions,
}

/// The steps of an export, which are read one after the other: several may belong to one section.
const STEPS: [(Section, EntryList, EntryKind); 22] = [
    (Section::Stories, EntryList::Posts(keys::user_posted), EntryKind::Stories),
    (Section::Comments, EntryList::Posts(keys::user_comments), EntryKind::Comments),
    (Section::Tweets, EntryList::Posts(keys::user_timeline), EntryKind::Tweets),
    (Section::Votes, EntryList::StoriesToScan, EntryKind::StoryVotes),
    (Section::Votes, EntryList::ThreadsToScan, EntryKind::CommentVotes),
    (Section::Votes, EntryList::VotedSites, EntryKind::SiteVotes),
    (Section::Flags, EntryList::Sorted(keys::user_flags), EntryKind::Flags),
    (Section::Saved, EntryList::Sorted(keys::user_saved), EntryKind::Listed),
    (Section::Hidden, EntryList::Sorted(keys::user_hidden), EntryKind::Listed),
    (Section::FollowedTopics, EntryList::Sorted(keys::topics_followed), EntryKind::Topics),
    (Section::MutedTopics, EntryList::Sorted(keys::topics_muted), EntryKind::Topics),
    (Section::Followings, EntryList::Sorted(keys::followings), EntryKind::People),
    (Section::Followers, EntryList::Sorted(keys::followers), EntryKind::People),
    (Section::Invited, EntryList::Sorted(keys::invites_by), EntryKind::People),
    (Section::Subscriptions, EntryList::Sorted(keys::user_subscriptions), EntryKind::Listed),
    (Section::Unsubscribed, EntryList::Sorted(keys::user_unsubscribed), EntryKind::Listed),
    (Section::Mutes, EntryList::Fields(keys::user_mutes), EntryKind::Mutes),
    (Section::Blocks, EntryList::Fields(keys::user_blocks), EntryKind::People),
    (Section::Visits, EntryList::Visits, EntryKind::Listed),
    (Section::Inbox, EntryList::Inbox, EntryKind::Inbox),
    (Section::Messages, EntryList::Messages, EntryKind::Messages),
    (Section::Sessions, EntryList::Nothing, EntryKind::Sessions),
];

/// A step of an export.
#[derive(Clone, Copy)]
pub(super) struct ReadStep {
    pub(super) section: Section,
    list: EntryList,
    kind: EntryKind,
}

impl ReadStep {
    /// All steps, the last one first.
    pub(super) fn all_last_first() -> Vec<Self> {
        STEPS.into_iter().rev().map(|(section, list, kind)| Self { section, list, kind }).collect()
    }

    /// The entries, newest first, and how many there are too many. Rounds: at most 4.
    pub(super) async fn list(self, site: &Site, user: &User) -> Result<(Vec<PendingEntry>, u64)> {
        let entries = match (self.list, user.voter) {
            (EntryList::Posts(key), _) => return self.posts(site, user, key(user.id)).await,
            (EntryList::Sorted(key), _) => return newest(site, &key(user.id)).await,
            (EntryList::VotedSites, Some(voter)) => return newest(site, &keys::voter_votes(voter)).await,
            (EntryList::Fields(key), _) => chosen(site, &key(user.id)).await?,
            (EntryList::StoriesToScan, _) => stories_to_scan(site, user.id).await?,
            (EntryList::ThreadsToScan, _) => threads_to_scan(site, user.id).await?,
            (EntryList::Visits, _) => visited(site, user.id).await?,
            (EntryList::Inbox, _) => inbox(site, user.id).await?,
            (EntryList::Messages, _) => threads_with_moderators(site, user.id).await?,
            (EntryList::VotedSites | EntryList::Nothing, _) => Vec::new(),
        };
        Ok((entries, 0))
    }

    /// The posts of a kind in a list, and those that nobody was shown. Rounds: 2.
    async fn posts(self, site: &Site, user: &User, key: String) -> Result<(Vec<PendingEntry>, u64)> {
        let (mut entries, left_out) = newest(site, &key).await?;
        let unseen = read::sorted_range(keys::user_unseen(user.id), Order::Descending, 0, EXPORT_LIST);
        let unseen = site.store.fetch(unseen.large()).await?.into_iter().filter_map(|(thing, time)| {
            let id = match (self.kind, thing.parse().ok()?) {
                (EntryKind::Stories, Thing::Story(id)) => id.to_string(),
                (EntryKind::Comments, Thing::Comment(address)) => address.to_string(),
                (EntryKind::Tweets, Thing::Tweet(id)) => id.to_string(),
                _ => return None,
            };
            Some(PendingEntry::new((id, time)))
        });
        entries.extend(unseen);
        entries.sort_by(|one, other| other.time.total_cmp(&one.time));
        Ok((entries, left_out))
    }

    /// Reads the records of some entries. Rounds: at most 2.
    pub(super) async fn read(self, export: &Export<'_>, entries: Vec<PendingEntry>) -> Result<Vec<Record>> {
        let (site, user) = (export.site, &export.user);
        match self.kind {
            EntryKind::Stories => read_stories(site, &entries).await,
            EntryKind::Comments => read_comments(site, &entries).await,
            EntryKind::Tweets => read_tweets(site, &entries).await,
            EntryKind::StoryVotes => read_story_votes(site, user.id, &entries).await,
            EntryKind::CommentVotes => read_comment_votes(site, user.id, &entries).await,
            EntryKind::SiteVotes => read_site_votes(site, user, &entries).await,
            EntryKind::Flags => read_flags(site, user.id, &entries).await,
            EntryKind::Listed => read_listed(site, &entries).await,
            EntryKind::People => read_people(site, &entries).await,
            EntryKind::Mutes => read_mutes(site, &entries).await,
            EntryKind::Inbox => read_inbox(site, user.id, entries).await,
            EntryKind::Messages => read_messages(site, &entries).await,
            EntryKind::Topics => {
                let topic = |PendingEntry { member: topic, time, .. }| TopicRecord {
                    topic,
                    since: Timestamp::from_score(time),
                };
                Ok(entries.into_iter().map(topic).map(Record::Topic).collect())
            }
            EntryKind::Sessions => {
                let sessions = session_store::list(site, export.session).await?;
                Ok(sessions.into_iter().map(Record::Session).collect())
            }
        }
    }
}

/// The newest entries of a sorted set, and how many older ones there are. Rounds: 1.
async fn newest(site: &Site, key: &str) -> Result<(Vec<PendingEntry>, u64)> {
    let entries = read::sorted_range(key, Order::Descending, 0, EXPORT_LIST);
    let (entries, count) = site.store.fetch((entries, read::sorted_count(key)).large()).await?;
    Ok((entries.into_iter().map(PendingEntry::new).collect(), count.saturating_sub(EXPORT_LIST)))
}

/// The newest stories of the site, and older ones that the user voted up or saved. Rounds: 1.
async fn stories_to_scan(site: &Site, user: UserId) -> Result<Vec<PendingEntry>> {
    let voted = read::sorted_range(keys::user_upvoted(user), Order::Descending, 0, EXPORT_LIST);
    let (drawn, voted) = site.store.fetch((fields::counter(keys::NEWS_COUNT), voted).large()).await?;
    let oldest = drawn.saturating_sub(EXPORT_SCANNED_STORIES) + 1;
    let voted = voted.into_iter().filter_map(|(id, _)| id.parse::<NewsId>().ok());
    let older: BTreeSet<u64> = voted.map(|id| id.0).filter(|id| *id < oldest).collect();
    let scanned = (oldest..=drawn).rev().map(PendingEntry::number);
    Ok(scanned.chain(older.into_iter().rev().map(PendingEntry::number)).collect())
}

/// The newest threads that have to do with the user: of stories that the user submitted, voted
/// up, saved, read or wrote in. Rounds: 2.
async fn threads_to_scan(site: &Site, user: UserId) -> Result<Vec<PendingEntry>> {
    let lists = [keys::user_posted(user), keys::user_upvoted(user), keys::user_comments(user)];
    let lists = lists.map(|list| read::sorted_range(list, Order::Descending, 0, EXPORT_LIST));
    let (lists, visits) = site.store.fetch((lists, read::hash(keys::user_visits(user))).large()).await?;
    let mut threads: BTreeSet<NewsId> = BTreeSet::new();
    for list in lists {
        // A comment is `<news id>-<comment id>`.
        let news = |member: &str| member.split('-').next().and_then(|id| id.parse::<NewsId>().ok());
        threads.extend(list.iter().filter_map(|(member, _)| news(member)));
    }
    threads.extend(visits.0.iter().filter_map(|(news, _)| news.parse::<NewsId>().ok()));

    let threads: Vec<NewsId> = threads.into_iter().rev().take(EXPORT_THREADS).collect();
    let counts: Vec<_> = threads.iter().map(|id| read::field(keys::news(*id), "comments")).collect();
    let counts = site.store.fetch(counts.or_absent()).await?;
    let mut room = EXPORT_SCANNED_COMMENTS;
    let mut entries = Vec::new();
    for (id, count) in threads.into_iter().zip(counts) {
        let comments = fields::count(count.as_deref(), || keys::news(id), "comments");
        if comments > 0 && comments <= room {
            room -= comments;
            entries.push(PendingEntry { cost: comments, ..PendingEntry::number(id.0) });
        }
    }
    Ok(entries)
}

/// The threads that the user has read lately, the last one first. Rounds: 1.
async fn visited(site: &Site, user: UserId) -> Result<Vec<PendingEntry>> {
    let visits = site.store.fetch(read::hash(keys::user_visits(user))).await?;
    let time = |mark: &str| Some(mark.parse::<ThreadMark>().ok()?.time.as_score());
    let mut entries: Vec<PendingEntry> = visits
        .0
        .into_iter()
        .filter_map(|(news, mark)| Some(PendingEntry::new((news, time(&mark)?))))
        .collect();
    entries.sort_by(|one, other| other.time.total_cmp(&one.time));
    Ok(entries)
}

/// The fields of a hash with times, the latest first. Rounds: 1.
async fn chosen(site: &Site, key: &str) -> Result<Vec<PendingEntry>> {
    let chosen = site.store.fetch(read::hash(key)).await?;
    let entry = |(member, time): (String, String)| {
        let since: u64 = fields::read(Some(time.as_str()), || key.to_owned(), &member)?;
        Some(PendingEntry::new((member, Timestamp(since).as_score())))
    };
    let mut entries: Vec<PendingEntry> = chosen.0.into_iter().filter_map(entry).collect();
    entries.sort_by(|one, other| other.time.total_cmp(&one.time));
    Ok(entries)
}

/// The entries of the inbox. Rounds: 1.
async fn inbox(site: &Site, user: UserId) -> Result<Vec<PendingEntry>> {
    let entries = site.store.fetch(entries_of(user)).await?;
    let entry = |entry: crate::accounts::inbox::Entry| PendingEntry {
        is_read: entry.read,
        ..PendingEntry::new((entry.place.id.to_string(), entry.place.time))
    };
    Ok(entries.into_iter().map(entry).collect())
}

/// The threads of messages with the moderators. Each costs as much as it has messages. Rounds: 2.
async fn threads_with_moderators(site: &Site, user: UserId) -> Result<Vec<PendingEntry>> {
    let (ids, _) = newest(site, &keys::user_message_threads(user)).await?;
    let threads: Vec<_> = ids.iter().filter_map(PendingEntry::id).map(MessageThread::by_id).collect();
    let threads = site.store.fetch(threads).await?.into_iter().flatten();
    Ok(threads
        .map(|thread| PendingEntry { cost: thread.count.max(1), ..PendingEntry::number(thread.id.0) })
        .collect())
}

/// The title of a story, if everybody may see it.
fn title_of(id: NewsId) -> impl Fetch<Value = Option<String>> {
    let fields = read::fields(keys::news(id), ["title", "del", WITHHELD]).or_absent();
    fields.map(|[title, deleted, withheld]| {
        title.filter(|_| deleted.is_none() && withheld.is_none()).map(printable)
    })
}

async fn read_stories(site: &Site, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let ids = entries.iter().filter_map(PendingEntry::id::<NewsId>);
    let reads: Vec<_> = ids.map(News::by_id).collect();
    let stories = site.store.fetch(reads.or_absent().large()).await?.into_iter().flatten();
    Ok(stories.map(|news| Record::Story(news.into())).collect())
}

async fn read_comments(site: &Site, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let addresses = entries.iter().filter_map(PendingEntry::id::<CommentAddress>);
    let record = |address: CommentAddress| {
        (title_of(address.news), Comment::at(address)).map(move |(title, comment)| {
            comment.map(|comment| Record::Comment(CommentRecord::new(address, comment, title)))
        })
    };
    let records = site.store.fetch(addresses.map(record).collect::<Vec<_>>().large()).await?;
    Ok(records.into_iter().flatten().collect())
}

async fn read_tweets(site: &Site, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let tweets: Vec<_> = entries.iter().filter_map(PendingEntry::id::<TweetId>).map(Tweet::by_id).collect();
    let tweets = site.store.fetch(tweets.large()).await?.into_iter().flatten();
    Ok(tweets.map(|tweet| Record::Tweet(tweet.into())).collect())
}

async fn read_story_votes(site: &Site, user: UserId, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let ids = entries.iter().filter_map(PendingEntry::id::<NewsId>);
    let votes = ids.map(|id| vote_of(id, user).map(move |vote| Some((id, vote?)))).collect::<Vec<_>>();
    let votes = site.store.fetch(votes.large()).await?.into_iter().flatten();
    let record = |(id, (direction, time)): (NewsId, (Direction, f64))| {
        title_of(id).map(move |title| VoteRecord {
            kind: VotedKind::Story,
            id: id.to_string(),
            vote: direction,
            time: Some(Timestamp::from_score(time)),
            title,
        })
    };
    let records = site.store.fetch(votes.map(record).collect::<Vec<_>>()).await?;
    Ok(records.into_iter().map(Record::Vote).collect())
}

async fn read_comment_votes(site: &Site, user: UserId, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let threads: Vec<_> = entries.iter().filter_map(PendingEntry::id).map(Comment::of_story).collect();
    let comments = site.store.fetch(threads.large()).await?.into_iter().flatten();
    let vote = |comment: Comment| {
        let vote = VoteRecord::on_comment(comment.address(), comment.vote_of(user)?);
        Some(((Reverse(comment.news), comment.id), vote))
    };
    // The first vote on what one writes is the author's own.
    let mut votes: Vec<_> = comments.filter(|comment| comment.user_id != user).filter_map(vote).collect();
    votes.sort_by_key(|(place, _)| *place);
    Ok(votes.into_iter().map(|(_, vote)| Record::Vote(vote)).collect())
}

async fn read_site_votes(site: &Site, user: &User, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let Some(voter) = user.voter else { return Ok(Vec::new()) };
    let hosts = entries.iter().filter_map(|entry| Hostname::parse(&entry.member).ok());
    let hosts: Vec<Hostname> = hosts.collect();
    let votes = site.store.fetch(votes_on(&hosts, voter).or_absent()).await?;
    let votes = hosts.iter().zip(votes).filter_map(|(host, vote)| {
        let vote = vote?;
        let choice = if vote.verdict == Verdict::Good { Direction::Up } else { Direction::Down };
        Some(Record::Vote(VoteRecord::on_site(host, choice, vote.time)))
    });
    Ok(votes.collect())
}

async fn read_flags(site: &Site, user: UserId, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let things = entries.iter().filter_map(|entry| Some((entry.id::<Thing>()?, entry.time)));
    let things: Vec<(Thing, f64)> = things.collect();
    let flags: Vec<_> =
        things.iter().map(|(thing, _)| read::field(keys::flags(thing), user.to_string())).collect();
    let flags = things.into_iter().zip(site.store.fetch(flags).await?);
    let flags = flags.filter_map(|((thing, time), flag)| {
        let flag: Flag = flag?.parse().ok()?;
        Some(Record::Flag(FlagRecord {
            kind: thing.kind(),
            id: thing.id(),
            reason: flag.reason.name(),
            note: Some(flag.note.to_string()).filter(|note| !note.is_empty()),
            time: Timestamp::from_score(time),
        }))
    });
    Ok(flags.collect())
}

async fn read_listed(site: &Site, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let stories = entries.iter().filter_map(|entry| Some((entry.id::<NewsId>()?, entry.time)));
    let record = |(news_id, time)| {
        title_of(news_id).map(move |title| ListedRecord { news_id, time: Timestamp::from_score(time), title })
    };
    let listed = site.store.fetch(stories.map(record).collect::<Vec<_>>()).await?;
    Ok(listed.into_iter().map(Record::Listed).collect())
}

/// The people on a list, without those whose account is deactivated.
async fn read_people(site: &Site, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let people: Vec<(UserId, f64)> =
        entries.iter().filter_map(|entry| Some((entry.id()?, entry.time))).collect();
    let names = site.store.fetch(People::of(people.iter().map(|(id, _)| *id))).await?;
    let person = |(id, since): (UserId, f64)| {
        let username = names.get(id)?.username.clone();
        Some(Record::Person(PersonRecord { username, since: Timestamp::from_score(since) }))
    };
    Ok(people.into_iter().filter_map(person).collect())
}

/// Reads the mutes: `<what>:<value>`, where the value of a person is the id.
async fn read_mutes(site: &Site, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    const PERSON: &str = "user";
    let mutes: Vec<(&str, &str, f64)> = entries
        .iter()
        .filter_map(|entry| {
            let (what, value) = entry.member.split_once(':')?;
            Some((what, value, entry.time))
        })
        .collect();
    let people = mutes.iter().filter(|(what, ..)| *what == PERSON);
    let names = People::of(people.filter_map(|(_, id, _)| id.parse().ok()));
    let names = site.store.fetch(names).await?;
    let mute = |(what, value, since): (&str, &str, f64)| {
        let value = if what == PERSON { &names.get(value.parse().ok()?)?.username } else { value };
        let (what, value) = (what.to_owned(), value.to_owned());
        Some(Record::Mute(MuteRecord { what, value, since: Timestamp::from_score(since) }))
    };
    Ok(mutes.into_iter().filter_map(mute).collect())
}

/// The messages of some threads. Rounds: 2.
async fn read_messages(site: &Site, entries: &[PendingEntry]) -> Result<Vec<Record>> {
    let threads = entries.iter().filter_map(|entry| Some((entry.id::<MessageThreadId>()?, entry.cost)));
    let threads: Vec<_> = threads
        .map(|(id, count)| message_threads::texts(id, 1..=count).map(move |messages| (id, messages)))
        .collect();
    let threads = site.store.fetch(threads.large()).await?;
    let writers = threads.iter().flat_map(|(_, messages)| messages).map(|(_, message)| message.from);
    let names = site.store.fetch(People::of(writers)).await?;
    let messages = threads.into_iter().flat_map(|(thread_id, messages)| {
        messages.into_iter().map(move |(number, message)| (thread_id, number, message))
    });
    let record = |(thread_id, message_id, message): (MessageThreadId, u64, StoredMessage)| {
        let named = |names: &PersonNames| names.username.clone();
        let from = if message.anonymous { None } else { names.get(message.from).map(named) };
        Record::Message(MessageRecord { thread_id, message_id, from, time: message.time, text: message.text })
    };
    Ok(messages.map(record).collect())
}

async fn read_inbox(site: &Site, user: UserId, entries: Vec<PendingEntry>) -> Result<Vec<Record>> {
    let records = entries.into_iter().filter_map(|entry| {
        let id: EntryId = entry.id()?;
        let text = match id {
            EntryId::Moderation(number) => Some(message(user, number)),
            _ => None,
        };
        Some(Fetch::map(text, move |text| InboxRecord {
            kind: id.kind().name(),
            id: entry.member,
            time: Timestamp::from_score(entry.time),
            read: entry.is_read,
            text: text.flatten(),
        }))
    });
    let records = site.store.fetch(records.collect::<Vec<_>>()).await?;
    Ok(records.into_iter().map(Record::Inbox).collect())
}
