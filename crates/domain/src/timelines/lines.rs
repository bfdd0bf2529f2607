//! Tweets as they are shown: with their authors, what they announce and whom
//! they mention.

use crate::accounts::users::{NAMES, all_names, read_people};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::news::item::News;
use crate::shown::Shown;
use crate::timelines::tweets::Tweet;
use crate::values::cursor::Cursor;
use crate::values::ids::{TweetId, UserId};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tidings_keyspace::{Footprint, Part, Query, Store};

/// A tweet as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct TweetLine {
    /// The tweet.
    pub tweet: Arc<Tweet>,
    /// Its place in timelines.
    pub cursor: Cursor,
    /// The author's name.
    pub username: Arc<str>,
    /// The author's full name; may be empty.
    pub fullname: Arc<str>,
    /// The item that it announces.
    pub news: Option<Arc<News>>,
    /// The users whom its text mentions.
    pub mentions: Arc<Mentions>,
    /// What is shown of it to everybody alike.
    pub shown: Arc<Shown>,
}

/// Bytes of a tweet as it is shown, without its texts and with what is escaped in them.
const SHOWN: usize = 550;
/// About how many bytes a name in a tweet takes.
const MENTION: usize = 150;

impl TweetLine {
    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let names = self.username.len() + self.fullname.len() + MENTION * self.mentions.0.len();
        let news = self.news.as_ref().map_or(0, |news| news.size());
        let tweet = size_of::<Tweet>() + self.tweet.text.len();
        size_of::<Self>() + names + news + tweet + room(&self.tweet, self.news.as_deref())
    }
}

/// Bytes for a tweet as it is shown.
fn room(tweet: &Tweet, news: Option<&News>) -> usize {
    SHOWN + tweet.text.len() + news.map_or(0, News::listed_len)
}

/// The names in a text that are users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions(HashMap<String, String>);

impl Mentions {
    /// The username as it was registered, for a name as it was written,
    /// without the `@`; `None` when there is no such user.
    #[must_use]
    pub fn username(&self, written: &str) -> Option<&str> {
        self.0.get(&written.to_ascii_lowercase()).map(String::as_str)
    }
}

/// Makes lines of entries. What cannot be shown is left out: tweets that are
/// gone, those of accounts that are gone, and at a reader's home those of
/// people who are not followed. Rounds: 2, and one for mentions; none where all are
/// kept and it does not matter who reads.
pub(crate) async fn hydrate(
    visit: &mut Visit,
    entries: &[Cursor],
    reader: Option<UserId>,
) -> Result<Vec<TweetLine>, Error> {
    if reader.is_none()
        && let Some(lines) = kept(visit, entries)
    {
        return Ok(lines);
    }
    let site = visit.site_too();
    let mut lines: HashMap<u64, TweetLine> = entries
        .iter()
        .filter_map(|entry| Some((entry.id, site.kept.tweets.get(visit, &TweetId(entry.id))?)))
        .collect();
    let missing: Vec<TweetId> = entries
        .iter()
        .filter(|entry| !lines.contains_key(&entry.id))
        .map(|entry| TweetId(entry.id))
        .collect();
    let known: BTreeSet<UserId> = lines.values().map(|line| line.tweet.user_id).collect();
    let mut followed = HashSet::new();
    let known = reader.map(|reader| (reader, known));
    for (line, footprint) in read_lines(visit, missing, known, &mut followed).await? {
        let id = line.tweet.id;
        site.kept.tweets.put(visit, id, line.clone(), footprint, None);
        lines.insert(id.0, line);
    }
    let is_shown = |line: &TweetLine| {
        let author = line.tweet.user_id;
        reader.is_none_or(|reader| author == reader || followed.contains(&author))
    };
    let placed = |entry: &Cursor| {
        let line = lines.get(&entry.id).filter(|line| is_shown(line))?;
        Some(TweetLine { cursor: *entry, ..line.clone() })
    };
    Ok(entries.iter().filter_map(placed).collect())
}

/// The lines of entries, if all of them are kept.
fn kept(visit: &Visit, entries: &[Cursor]) -> Option<Vec<TweetLine>> {
    let tweets = &visit.site().kept.tweets;
    let line = |entry: &Cursor| Some(TweetLine { cursor: *entry, ..tweets.get(visit, &TweetId(entry.id))? });
    entries.iter().map(line).collect()
}

/// What a line is made from beside its tweet, and is about to be read. Whoever gets or
/// loses a name that is mentioned, has it written to a user.
fn footprint_beside(store: &Store, tweet: &Tweet, names: &[String]) -> Footprint {
    let author = keys::user(tweet.user_id);
    let news = tweet.news_id.map(keys::news);
    let mentioned = (!names.is_empty()).then(|| all_names(&author));
    let parts = [Part::Fields(&author, &NAMES)].into_iter().chain(mentioned);
    store.footprint_of(parts.chain(news.as_deref().map(Part::Key)))
}

/// A tweet on the way to its line.
struct TweetRead {
    tweet: Tweet,
    names: Vec<String>,
    footprint: Footprint,
}

/// Reads lines from scratch, and tells what each was made from. Of a reader it is
/// told who of the authors of these lines, and of others, is followed. Rounds: 2, and
/// one for mentions.
async fn read_lines(
    visit: &mut Visit,
    ids: Vec<TweetId>,
    reader: Option<(UserId, BTreeSet<UserId>)>,
    followed: &mut HashSet<UserId>,
) -> Result<Vec<(TweetLine, Footprint)>, Error> {
    let store = &visit.site_too().store;
    let mut query = Query::new();
    let mut ask = |id: TweetId| {
        let key = keys::tweet(id);
        (id, store.footprint_of([Part::Key(&key)]), query.hash(key))
    };
    let asked: Vec<_> = ids.into_iter().map(&mut ask).collect();
    let mut answers = visit.run(query).await?;
    let tweet = |(id, footprint, hash): (TweetId, Footprint, _)| {
        let tweet = Tweet::from_hash(id, &answers.take(hash))?;
        let names = tweet.mentioned_names();
        let footprint = footprint.and(footprint_beside(store, &tweet, &names));
        Some(TweetRead { tweet, names, footprint })
    };
    let tweets: Vec<TweetRead> = asked.into_iter().filter_map(tweet).collect();

    let authors: BTreeSet<UserId> = tweets.iter().map(|read| read.tweet.user_id).collect();
    let names: BTreeSet<&String> = tweets.iter().flat_map(|read| &read.names).collect();
    let mut query = Query::new();
    let people = read_people(&mut query, authors.iter().copied());
    let follows = reader.map(|(reader, others)| {
        let authors: Vec<UserId> = authors.union(&others).copied().collect();
        let since = query.scores(keys::followings(reader), authors.iter().map(ToString::to_string));
        (authors, since)
    });
    let news: Vec<_> = tweets
        .iter()
        .filter_map(|read| read.tweet.news_id)
        .map(|id| (id, query.hash(keys::news(id))))
        .collect();
    let mentioned: Vec<_> =
        names.into_iter().map(|name| (query.string(keys::username_to_id(name)), name.clone())).collect();
    let mut answers = visit.run(query).await?;
    let people = people.take(&mut answers);
    if let Some((authors, since)) = follows {
        let since = answers.take(since);
        followed
            .extend(authors.into_iter().zip(since).filter(|(_, since)| since.is_some()).map(|(id, _)| id));
    }
    let news: HashMap<_, _> = news
        .into_iter()
        .filter_map(|(id, hash)| Some((id, News::from_hash(&answers.take(hash))?)))
        .filter(|(_, news)| !news.deleted)
        .map(|(id, news)| (id, Arc::new(news)))
        .collect();
    let mentioned: Vec<(String, UserId)> = mentioned
        .into_iter()
        .filter_map(|(id, name)| Some((name, answers.take(id)?.parse().ok()?)))
        .collect();
    let mentioned = existing(visit, mentioned).await?;

    let line = |TweetRead { tweet, names, footprint }: TweetRead| {
        let (username, fullname) = people.get(&tweet.user_id)?;
        let announced = match tweet.news_id {
            Some(id) => Some(news.get(&id)?.clone()),
            None => None,
        };
        let mentions = names.into_iter().filter_map(|name| {
            let username = mentioned.get(&name)?.clone();
            Some((name, username))
        });
        let line = TweetLine {
            mentions: Arc::new(Mentions(mentions.collect())),
            shown: Arc::new(Shown::with_room(room(&tweet, announced.as_deref()))),
            username: username.as_str().into(),
            fullname: fullname.as_str().into(),
            news: announced,
            cursor: Cursor { score: tweet.created_at, id: tweet.id.0 },
            tweet: Arc::new(tweet),
        };
        Some((line, footprint))
    };
    Ok(tweets.into_iter().filter_map(line).collect())
}

/// The usernames of those who are mentioned; accounts that are gone have none.
async fn existing(
    visit: &mut Visit,
    mentioned: Vec<(String, UserId)>,
) -> Result<HashMap<String, String>, Error> {
    if mentioned.is_empty() {
        return Ok(HashMap::new());
    }
    let mut query = Query::new();
    let people = read_people(&mut query, mentioned.iter().map(|(_, id)| *id));
    let people = people.take(&mut visit.run(query).await?);
    let found = mentioned.into_iter().filter_map(|(name, id)| Some((name, people.get(&id)?.0.clone())));
    Ok(found.collect())
}
