//! The texts of what can be found: as a search index needs them. What flags have hidden says who finds it all the same.
//! A person whom readers do not see has no text, and is found by moderators.
//!
//! Nothing here is about one viewer. Things that a reader has muted, blocked or hidden are left out when
//! somebody searches.

use crate::accounts::users::DEACTIVATED;
use crate::changes::Findable;
use crate::values::{Hostname, NewsId, NewsUrl, RestrictionKind, Timestamp, TweetId, UserId, Withheld};
use crate::{Comment, News, Result, Role, Site, Tweet, User, fields, keys};
use tidings_keyspace::{Fetch, Hash, Order, read};

/// Stories whose comments are read in one round.
const STORIES_AT_ONCE: u64 = 10;
/// The same for the threads among some keys.
const THREADS_AT_ONCE: usize = 10;
/// Other things that are read in one round.
const AT_ONCE: u64 = 500;

/// The text of one thing, as it can be found.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// The thing.
    pub of: Findable,
    /// The title of a story, or the name of a person or a site; empty for the others.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its author; for a person, the person.
    pub author: Option<UserId>,
    /// The author of the story that a comment is on.
    pub story_author: Option<UserId>,
    /// The URL of a story, in the form in which URLs are compared.
    pub url: Option<String>,
    /// The site that a story links to, or the story that a comment is on.
    pub host: Option<Hostname>,
    /// The topics of a story, or of the story that a comment is on.
    pub topics: Vec<String>,
    /// When it was posted.
    pub time: Timestamp,
    /// Votes up less votes down.
    pub votes: i64,
    /// Comments of a story.
    pub comments: u64,
    /// The people who find it.
    pub audience: TextAudience,
    /// For a person: the data by which moderators find them.
    pub account: Option<AccountTags>,
}

/// The people who find a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextAudience {
    /// Everybody.
    #[default]
    Everybody,
    /// This person, moderators, and readers who have asked for what flags have hidden.
    Only(UserId),
    /// Only those others.
    Insiders,
}

impl TextAudience {
    /// The audience of a text that somebody wrote, in a state that does not withhold it from all.
    const fn of(author: UserId, withheld: Option<&Withheld>) -> Self {
        if withheld.is_some() { Self::Only(author) } else { Self::Everybody }
    }

    /// Those who are in both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everybody, one) | (one, Self::Everybody) => one,
            (one, other) if one == other => one,
            _ => Self::Insiders,
        }
    }
}

/// The data by which moderators find a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountTags {
    /// Names of what is true of the account: `staff`, `established`, `deactivated`, `banned`, `silenced`, `held`,
    /// `name:<the beginning of a name>`, `email:<address>`, `invited_by:<user id>`; in lower case.
    pub tags: Vec<String>,
    /// Whether only moderators may find the person.
    pub is_hidden: bool,
    /// Their karma.
    pub karma: i64,
    /// The day of their last visit, counted from the beginning of Unix time.
    pub seen: u64,
    /// When the first of their restrictions ends by itself, which changes this.
    pub ends: Option<Timestamp>,
}

impl AccountTags {
    pub(crate) fn of(user: &User, now: Timestamp) -> Self {
        // A restriction ends when the clock says so, and nothing is written then: see `ends`.
        let in_force = |kind: RestrictionKind| user.restrictions.in_force(kind, now).is_some();
        let is_banned = in_force(RestrictionKind::Ban);
        let states = [
            ("staff", user.given_role() > Role::Member),
            ("established", user.is_established),
            ("banned", is_banned),
            ("silenced", in_force(RestrictionKind::Silence)),
            ("held", in_force(RestrictionKind::Hold)),
        ];
        let mut tags: Vec<String> =
            states.into_iter().filter(|(_, is)| *is).map(|(tag, _)| tag.to_owned()).collect();
        let (username, fullname) = (user.username.to_lowercase(), user.fullname.to_lowercase());
        let names = fullname.match_indices(' ').filter_map(|(blank, _)| fullname.get(blank + 1..));
        let names = [&*username, &*fullname].into_iter().chain(names).map(str::trim);
        tags.extend(names.filter(|name| !name.is_empty()).map(|name| format!("name:{name}")));
        if !user.email.is_empty() {
            tags.push(format!("email:{}", user.email.to_lowercase()));
        }
        tags.extend(user.invited_by.map(|inviter| format!("invited_by:{inviter}")));
        let ends =
            RestrictionKind::ALL.into_iter().filter_map(|kind| user.restrictions.in_force(kind, now)?.until);
        Self {
            ends: ends.min(),
            tags,
            is_hidden: is_banned || user.withheld.is_some(),
            karma: user.karma,
            seen: user.seen_time.unwrap_or_default().0 / 86_400,
        }
    }
}

impl Text {
    fn of_story(news: &News) -> Option<Self> {
        news.state().is_listed().then(|| Self {
            title: news.title.clone(),
            body: news.text().unwrap_or_default().to_owned(),
            author: Some(news.user_id),
            url: NewsUrl::parse_imported(&news.url).ok().map(|url| url.normalised()),
            host: news.site().cloned(),
            topics: topics_of(news),
            votes: news.points(),
            comments: news.comments,
            audience: TextAudience::of(news.user_id, news.withheld.as_ref()),
            ..Self::at(Findable::Story(news.id), news.ctime)
        })
    }

    fn of_comment(news: &News, comment: &Comment) -> Option<Self> {
        let address = comment.address();
        let audience = TextAudience::of(comment.user_id, comment.withheld.as_ref());
        (news.state().is_listed() && comment.state().is_listed()).then(|| Self {
            body: comment.body.clone(),
            author: Some(comment.user_id),
            story_author: Some(news.user_id),
            host: news.site().cloned(),
            topics: topics_of(news),
            votes: comment.score(),
            audience: audience.and(TextAudience::of(news.user_id, news.withheld.as_ref())),
            ..Self::at(Findable::Comment(address), comment.ctime)
        })
    }

    /// An announcement is found as its story.
    fn of_tweet(tweet: &Tweet) -> Option<Self> {
        (tweet.state().is_listed() && tweet.news_id.is_none()).then(|| Self {
            body: tweet.text.clone(),
            author: Some(tweet.user_id),
            audience: TextAudience::of(tweet.user_id, tweet.withheld.as_ref()),
            ..Self::at(Findable::Tweet(tweet.id), Timestamp::from_score(tweet.created_at))
        })
    }

    /// A person, whom perhaps only moderators find.
    fn of_account(id: UserId, hash: &Hash, now: Timestamp) -> Option<Self> {
        let Some(user) = User::from_hash(hash) else {
            let tags = ["deactivated".to_owned()];
            let account = AccountTags { tags: tags.into(), is_hidden: true, ..AccountTags::default() };
            let ctime = fields::read(hash.get("ctime"), || keys::user(id), "ctime").unwrap_or(0);
            let text = Self::at(Findable::Person(id), Timestamp(ctime));
            let text = Self { author: Some(id), account: Some(account), ..text };
            return hash.get(DEACTIVATED).map(|_| text);
        };
        let account = AccountTags::of(&user, now);
        let text = |text: String| if account.is_hidden { String::new() } else { text };
        Some(Self {
            title: text(user.username.clone()),
            body: text([&*user.fullname, &*user.about].join("\n")),
            author: Some(user.id),
            account: Some(account),
            ..Self::at(Findable::Person(user.id), user.ctime)
        })
    }

    fn of_site(host: Hostname) -> Self {
        Self {
            title: host.to_string(),
            host: Some(host.clone()),
            ..Self::at(Findable::Site(host), Timestamp::default())
        }
    }

    fn at(of: Findable, time: Timestamp) -> Self {
        Self {
            of,
            title: String::new(),
            body: String::new(),
            author: None,
            story_author: None,
            url: None,
            host: None,
            topics: Vec::new(),
            time,
            votes: 0,
            comments: 0,
            audience: TextAudience::default(),
            account: None,
        }
    }
}

fn topics_of(news: &News) -> Vec<String> {
    news.topics.iter().map(|topic| topic.as_str().to_owned()).collect()
}

/// The present texts of some things, in their order; `None` for what nobody may find. Rounds: 1.
pub async fn of(site: &Site, now: Timestamp, things: &[Findable]) -> Result<Vec<Option<Text>>> {
    let text = |thing: &Findable| match thing {
        Findable::Story(id) => {
            News::by_id(*id).or_absent().map(|news| news.as_ref().and_then(Text::of_story)).boxed()
        }
        Findable::Comment(address) => {
            let read = (News::by_id(address.news).or_absent(), Comment::at(*address).or_absent());
            read.map(|(news, comment)| Text::of_comment(&news?, &comment?)).boxed()
        }
        Findable::Tweet(id) => {
            Tweet::by_id(*id).or_absent().map(|tweet| tweet.as_ref().and_then(Text::of_tweet)).boxed()
        }
        Findable::Person(id) => {
            let id = *id;
            let account = read::hash(keys::user(id)).or_absent();
            account.map(move |hash| Text::of_account(id, &hash, now)).boxed()
        }
        Findable::Site(host) => read::known(Some(Text::of_site(host.clone()))).boxed(),
    };
    Ok(site.store.fetch(things.iter().map(text).collect::<Vec<_>>()).await?)
}

/// The texts of the comments of a story. Rounds: 1.
pub async fn of_thread(site: &Site, id: NewsId) -> Result<Vec<Text>> {
    let (news, comments) = site.store.fetch(Comment::with_story(id).large()).await?;
    let Some(news) = news else { return Ok(Vec::new()) };
    Ok(comments.iter().filter_map(|comment| Text::of_comment(&news, comment)).collect())
}

/// The things whose text or counts a key has.
enum TextsOf {
    Thing(Findable),
    CommentsOf(NewsId),
}

fn holds(key: &str) -> Option<TextsOf> {
    let found = if let Some(news) = keys::news_of_thread(key) {
        TextsOf::CommentsOf(news)
    } else if let Some(host) = keys::host_of_votes(key) {
        TextsOf::Thing(Findable::Site(host))
    } else {
        // A story, a tweet and a user are written as their keys; comments and sites are not keys.
        TextsOf::Thing(key.parse().ok().filter(|thing| !matches!(thing, Findable::Site(_)))?)
    };
    Some(found)
}

/// Whether a key has the text or the counts of something that can be found.
pub fn are_in(key: &str) -> bool {
    holds(key).is_some()
}

/// The texts of the things of some keys. Rounds: 1, and 1 for each 10 threads among them.
pub async fn of_keys(site: &Site, now: Timestamp, keys: &[String]) -> Result<Vec<Text>> {
    let (mut things, mut threads) = (Vec::new(), Vec::new());
    for held in keys.iter().filter_map(|key| holds(key)) {
        match held {
            TextsOf::Thing(thing) => things.push(thing),
            TextsOf::CommentsOf(news) => threads.push(news),
        }
    }
    let mut texts: Vec<Text> = of(site, now, &things).await?.into_iter().flatten().collect();
    for ids in threads.chunks(THREADS_AT_ONCE) {
        texts.extend(stories(site, ids).await?.into_iter().flatten());
    }
    Ok(texts)
}

/// A walk over everything that can be found, by ids from 1 up.
#[derive(Debug)]
pub struct TextWalk {
    /// The highest ids of stories, tweets and people when the walk began.
    ends: [u64; 3],
    /// Which of them it is at; after the last come the sites.
    stage: usize,
    /// The last id that it has passed.
    passed: u64,
}

impl TextWalk {
    /// A walk from the beginning. Rounds: 1.
    pub async fn begin(site: &Site) -> Result<Self> {
        let counters = [keys::NEWS_COUNT, keys::TWEET_IDS, keys::USERS_COUNT];
        let ends = site.store.fetch(counters.map(|key| fields::counter(key).or_absent())).await?;
        Ok(Self { ends, stage: 0, passed: 0 })
    }

    /// How many rounds it takes.
    pub fn rounds(&self) -> u64 {
        let of_stage = |(stage, end): (usize, &u64)| (weight(stage) * end).div_ceil(AT_ONCE);
        self.ends.iter().enumerate().map(of_stage).sum::<u64>() + 1
    }

    /// How much of the walk is done, from 0 to 1.
    pub fn done(&self) -> f64 {
        // Each story counts for the comments that are read with it.
        let weighed = |ids: &[u64]| ids.iter().enumerate().map(|(stage, id)| weight(stage) * id).sum::<u64>();
        let passed = weighed(&self.ends[..self.stage.min(3)]) + weight(self.stage) * self.passed;
        passed as f64 / weighed(&self.ends).max(1) as f64
    }

    /// The next texts; `None` at the end. Rounds: 1.
    ///
    /// # Errors
    /// When the store fails. The same texts are read again then.
    pub async fn next(&mut self, site: &Site, now: Timestamp) -> Result<Option<Vec<Text>>> {
        let Some(end) = self.ends.get(self.stage) else {
            let is_over = self.stage > self.ends.len();
            let sites = if is_over { None } else { Some(sites(site).await?) };
            self.stage = self.ends.len() + 1;
            return Ok(sites);
        };
        let last = (self.passed + AT_ONCE / weight(self.stage)).min(*end);
        let ids = self.passed + 1..=last;
        let texts = match self.stage {
            0 => stories(site, &ids.map(NewsId).collect::<Vec<_>>()).await?,
            1 => of(site, now, &ids.map(|id| Findable::Tweet(TweetId(id))).collect::<Vec<_>>()).await?,
            _ => of(site, now, &ids.map(|id| Findable::Person(UserId(id))).collect::<Vec<_>>()).await?,
        };
        (self.stage, self.passed) = if last == *end { (self.stage + 1, 0) } else { (self.stage, last) };
        Ok(Some(texts.into_iter().flatten().collect()))
    }
}

/// How many things are read with one id of a stage.
const fn weight(stage: usize) -> u64 {
    if stage == 0 { AT_ONCE / STORIES_AT_ONCE } else { 1 }
}

/// Stories with their comments.
async fn stories(site: &Site, ids: &[NewsId]) -> Result<Vec<Option<Text>>> {
    let read = ids.iter().copied().map(Comment::with_story).collect::<Vec<_>>();
    let mut texts = Vec::new();
    for (news, comments) in site.store.fetch(read.large()).await? {
        let Some(news) = news else { continue };
        texts.push(Text::of_story(&news));
        texts.extend(comments.iter().map(|comment| Text::of_comment(&news, comment)));
    }
    Ok(texts)
}

/// The sites that were voted on.
async fn sites(site: &Site) -> Result<Vec<Text>> {
    let all = read::sorted_range(keys::LINKS_COUNT, Order::Ascending, 0, u64::MAX).or_absent().large();
    let hosts = site.store.fetch(all).await?;
    Ok(hosts.iter().filter_map(|(host, _)| Hostname::parse(host).ok()).map(Text::of_site).collect())
}
