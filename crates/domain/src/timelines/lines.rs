//! Tweets as shown: with their authors, the news that they announce, and the users whom they
//! mention.

use super::tweets::Tweet;
use crate::accounts::{Collapsed, People, Reader, Seen, SharedVisit, ShownIn, Visible};
use crate::cache::{MEBIBYTE, Shared};
use crate::values::{Cursor, NewsId, PostState, Timestamp, TweetId, UserId};
use crate::{News, Result, Visit, keys};
use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Deref;
use tidings_keyspace::{Fetch, Reads, Tracked, read};

crate::cache_kind! {
    /// Tweets, the same for all viewers.
    pub(crate) struct Tweets: TweetId => TweetSummary, "tweets", 16 * MEBIBYTE, |_, summary| summary.size();
}

/// A tweet, the same for all viewers.
#[derive(Debug, Clone, PartialEq)]
pub struct TweetSummary {
    /// The tweet.
    pub tweet: Tweet,
    /// The author's name; `None` if the account was deactivated while the tweet waited for approval.
    pub username: Option<String>,
    /// The author's full name; may be empty.
    pub fullname: String,
    /// The item that it announces.
    pub news: Option<News>,
    /// The users whom its text mentions.
    pub mentions: Mentions,
}

/// The approximate bytes of a mention.
const MENTION: usize = 150;

impl TweetSummary {
    /// The approximate size in bytes.
    fn size(&self) -> usize {
        let names = self.username.as_ref().map_or(0, String::len)
            + self.fullname.len()
            + MENTION * self.mentions.0.len();
        let news = self.news.as_ref().map_or(0, News::size);
        size_of::<Self>() + names + news + self.tweet.text.len()
    }
}

/// A tweet in a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TweetLine {
    /// The summary, the same for all viewers.
    pub summary: Shared<TweetSummary>,
    /// Its place in timelines.
    pub cursor: Cursor,
}

impl Deref for TweetLine {
    type Target = TweetSummary;

    fn deref(&self) -> &TweetSummary {
        &self.summary
    }
}

impl<T: Borrow<TweetLine>> Seen<T> {
    /// The text of the tweet; for an announcement, the title of the item.
    pub fn text(&self) -> &str {
        &T::borrow(self).tweet.text
    }
}

impl Visible for TweetLine {
    fn state(&self) -> PostState<'_> {
        self.tweet.state()
    }

    fn state_of_story(&self) -> Option<PostState<'_>> {
        self.news.as_ref().map(News::state)
    }

    fn unwanted_by(&self, reader: &Reader, place: ShownIn) -> Option<Collapsed> {
        // An announcement of a story that its reader has hidden stays, as the story does among those of its author.
        let of_story = || self.news.as_ref()?.unwanted_by(reader, ShownIn::Posted);
        self.tweet.unwanted_by(reader, place).or_else(of_story)
    }
}

/// The names in a text that are users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions(HashMap<String, String>);

impl Mentions {
    /// The username as it was registered, for a name as it was written,
    /// without the `@`; `None` when there is no such user.
    pub fn username(&self, written: &str) -> Option<&str> {
        self.0.get(&written.to_ascii_lowercase()).map(String::as_str)
    }
}

/// Makes lines of entries. It leaves out what cannot be shown: deleted tweets, tweets from before
/// their authors' accounts were deactivated, and in a reader's home timeline tweets of people who are not
/// followed, and removed ones. Rounds: 2, and one for mentions; none if all tweets are cached and there is no
/// `reader`.
pub(crate) async fn hydrate(
    visit: &mut Visit,
    entries: &[Cursor],
    reader: Option<UserId>,
) -> Result<Vec<TweetLine>> {
    let site = visit.site_too();
    let cache = site.caches.of::<Tweets>();
    let mut summaries: HashMap<u64, Shared<TweetSummary>> = HashMap::new();
    let mut lines = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(summary) = cache.get(visit.view(), &TweetId(entry.id)) {
            lines.push(TweetLine { summary, cursor: *entry });
        }
    }
    if reader.is_none() && lines.len() == entries.len() {
        return Ok(lines);
    }
    summaries.extend(lines.into_iter().map(|line| (line.cursor.id, line.summary)));
    let missing: Vec<TweetId> = entries
        .iter()
        .filter(|entry| !summaries.contains_key(&entry.id))
        .map(|entry| TweetId(entry.id))
        .collect();
    let mut followed = HashSet::new();
    let known: BTreeSet<UserId> = summaries.values().map(|summary| summary.tweet.user_id).collect();
    let known = reader.map(|reader| (reader, known));
    for (summary, second) in read_summaries(&mut visit.shared(), missing, known, &mut followed).await? {
        let id = summary.peek().tweet.id;
        summaries.insert(id.0, cache.insert(visit.view(), id, summary, second));
    }
    let is_shown = |summary: &TweetSummary| {
        let author = summary.tweet.user_id;
        let is_followed = |reader| author == reader || followed.contains(&author);
        reader.is_none_or(|reader| is_followed(reader) && summary.tweet.state().is_listed())
    };
    let line = |entry: &Cursor| {
        let summary = summaries.get(&entry.id).filter(|summary| is_shown(summary))?;
        Some(TweetLine { summary: summary.clone(), cursor: *entry })
    };
    Ok(entries.iter().filter_map(line).collect())
}

/// Reads tweets with their authors, news and mentions, each with the second for which it is valid, if it depends on the
/// time. With a reader, `followed` gets those
/// authors of these tweets, and of the given others, whom the reader follows. Rounds: 2,
/// and one for mentions.
async fn read_summaries(
    visit: &mut SharedVisit<'_>,
    ids: Vec<TweetId>,
    reader: Option<(UserId, BTreeSet<UserId>)>,
    followed: &mut HashSet<UserId>,
) -> Result<Vec<(Tracked<TweetSummary>, Option<Timestamp>)>> {
    let tweet = |id| Tweet::by_id(id).or_absent().tracked();
    let tweets = visit.fetch(ids.into_iter().map(tweet).collect::<Vec<_>>()).await?;
    let tweets: Vec<Tracked<Tweet>> = tweets.into_iter().filter_map(Tracked::transpose).collect();

    let authors: BTreeSet<UserId> = tweets.iter().map(|tweet| tweet.peek().user_id).collect();
    let follows = reader.map(|(reader, others)| {
        let authors: Vec<UserId> = authors.union(&others).copied().collect();
        let since = read::scores(keys::followings(reader), authors.iter().map(ToString::to_string));
        since.or_absent().map(|since| authors.into_iter().zip(since).collect::<Vec<_>>())
    });
    let announced: BTreeSet<NewsId> = tweets.iter().filter_map(|tweet| tweet.peek().news_id).collect();
    let news = |id| News::by_id(id).or_absent().tracked().map(move |news| (id, news));
    let announced = announced.into_iter().map(news).collect::<Vec<_>>();
    let names: BTreeSet<String> = tweets.iter().flat_map(|tweet| tweet.peek().mentioned_names()).collect();
    let mentioned = |name: String| {
        let id = read::string(keys::username_to_id(&name)).or_absent().tracked();
        id.map(|id| (name, id.map(|id| id?.parse().ok())))
    };
    let mentioned = names.into_iter().map(mentioned).collect::<Vec<_>>();
    let reads = (People::of(authors.iter().copied()), follows, announced, mentioned);
    let (people, follows, announced, mentioned) = visit.fetch(reads).await?;
    let follows = follows.into_iter().flatten();
    followed.extend(follows.filter(|(_, since)| since.is_some()).map(|(author, _)| author));
    let announced: HashMap<NewsId, Tracked<Option<News>>> = announced.into_iter().collect();
    let mentioned = Mentioned::with_names(visit, mentioned.into_iter().collect()).await?;

    let now = visit.now();
    let summary = |tweet: Tracked<Tweet>| {
        let mut reads = Reads::default();
        let tweet = tweet.collect_into(&mut reads);
        let author = people.collect_into(tweet.user_id, &mut reads);
        // The tweets of an account go with it, except for those that were published afterwards.
        if author.is_none() && !people.has_left_before(tweet.user_id, tweet.created_at) {
            return None;
        }
        let news = match tweet.news_id {
            Some(id) => {
                let news = announced.get(&id)?.clone().collect_into(&mut reads);
                Some(news.filter(|news| !news.deleted)?)
            }
            None => None,
        };
        let mentions = mentioned.among(tweet.mentioned_names(), &mut reads);
        let second = author.as_ref().and_then(|author| author.second(now));
        let (username, fullname) = author.map(|author| author.at(now)).unzip();
        let fullname = fullname.unwrap_or_default();
        Some((Tracked::new(TweetSummary { tweet, username, fullname, news, mentions }, reads), second))
    };
    Ok(tweets.into_iter().filter_map(summary).collect())
}

/// The users whose names are mentioned. Deactivated accounts have no names.
struct Mentioned {
    ids: HashMap<String, Tracked<Option<UserId>>>,
    people: People,
}

impl Mentioned {
    /// Those whose ids were found by their names. Rounds: 1, none if no name is a user's.
    async fn with_names(
        visit: &mut SharedVisit<'_>,
        ids: HashMap<String, Tracked<Option<UserId>>>,
    ) -> Result<Self> {
        let people = People::of(ids.values().filter_map(|id| *id.peek()));
        let people = visit.fetch_if_needed(people).await?;
        Ok(Self { ids, people })
    }

    fn among(&self, names: Vec<String>, reads: &mut Reads) -> Mentions {
        let username = |name: String| {
            let id = self.ids.get(&name)?.clone().collect_into(reads)?;
            Some((name, self.people.collect_into(id, reads)?.username))
        };
        Mentions(names.into_iter().filter_map(username).collect())
    }
}
