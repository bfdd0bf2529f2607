//! Articles: every news item under a second, simple rule.
//!
//! The score of an article is the time of its posting and [`VOTE_SCORE`] for
//! each vote. Votes count for a week; then the score is fixed and the list of voters expires.
//! The keys and numbers are those of the first chapter of "Redis in Action", so programs
//! written for it work beside the site.

use crate::accounts::ArticleEffect;
use crate::fields::StoredFields;
use crate::records::{self, AsRead, Fields, RecordEntries, Stored};
use crate::values::{DecimalSeconds, NewsId, NewsUrl, Timestamp, Topic, Topics, UserId, printable};
use crate::{News, Site, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, CheckId, Expiry, Fetch, Hash, read};

/// Seconds that one vote is worth: 200 votes keep an article up for a day more.
pub const VOTE_SCORE: u32 = 86_400 / 200;
/// How long votes on an article count, in seconds after its posting.
pub const OPEN_SECONDS: u64 = 7 * 86_400;

/// The score of an article posted at a time with some votes.
pub fn score(posted: Timestamp, votes: i64) -> f64 {
    posted.as_score() + f64::from(VOTE_SCORE) * votes as f64
}

/// How much longer votes on an article count; `None` when they no longer do.
pub fn open_for(posted: Timestamp, now: Timestamp) -> Option<Duration> {
    let left = posted.0.saturating_add(OPEN_SECONDS).checked_sub(now.0)?;
    (left > 0).then(|| Duration::from_secs(left))
}

/// An article: the hash `article:<news id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Article {
    /// The title of the item.
    pub title: String,
    /// The URL that it leads to.
    pub link: String,
    /// The poster, as `user:<id>`.
    pub poster: String,
    /// When it was posted. Other programs store a fraction of a second, which is not kept.
    pub time: Timestamp,
    /// The votes that count.
    pub votes: i64,
}

impl Article {
    /// Reads an article; `None` when the hash is absent or lacks one of its
    /// fields.
    #[must_use]
    pub(crate) fn from_hash(id: NewsId, hash: &Hash) -> Option<Self> {
        let fields = StoredFields::new(hash, || keys::article(id));
        Some(Self {
            title: printable(fields.text("title")?.to_owned()),
            link: fields.text("link")?.to_owned(),
            poster: fields.text("poster")?.to_owned(),
            time: fields.read::<DecimalSeconds>("time")?.0,
            votes: fields.read("votes")?,
        })
    }

    /// The article of a news item, with some votes.
    pub(crate) fn of(address: &str, news: &News, votes: i64) -> Self {
        Self {
            title: news.title.clone(),
            link: link(address, news.id, NewsUrl::parse_imported(&news.url).ok().as_ref()),
            poster: keys::user(news.user_id),
            time: news.ctime,
            votes,
        }
    }

    /// The five fields of the hash.
    pub(crate) fn fields(&self) -> [(&'static str, String); 5] {
        [
            ("title", self.title.clone()),
            ("link", self.link.clone()),
            ("poster", self.poster.clone()),
            ("time", self.time.to_string()),
            ("votes", self.votes.to_string()),
        ]
    }

    /// The score that follows from time and votes.
    pub fn score(&self) -> f64 {
        score(self.time, self.votes)
    }
}

/// The URL of an article: that of the item, or the address of the item's own page.
pub(crate) fn link(address: &str, id: NewsId, url: Option<&NewsUrl>) -> String {
    url.map_or_else(|| format!("{address}/news/{id}"), |url| url.as_str().to_owned())
}

/// An article as it follows from its news item.
#[derive(Debug, Clone)]
pub(crate) struct StoredArticle {
    id: NewsId,
    article: Article,
    topics: Topics,
    /// Whether readers see the item.
    is_listed: bool,
}

impl StoredArticle {
    /// The article of a news item, which knows who has posted it, when, and the votes that count.
    pub(crate) fn of(news: &News, article: Article) -> Self {
        Self { id: news.id, article, topics: news.topics.clone(), is_listed: news.state().is_listed() }
    }

    /// Whether a list or a topic has the article of a news item.
    pub(crate) fn is_in(news: &News, list: &str) -> bool {
        let (title, link, poster) = Default::default();
        let article = Self::of(news, Article { title, link, poster, time: news.ctime, votes: 0 });
        RecordEntries::of([&article]).has(list, &article.key())
    }

    /// Whether lists have it.
    pub(crate) const fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// The same article after a change of the item.
    pub(crate) fn after(&self, site: &Site, news: &News) -> Self {
        Self::of(
            news,
            Article { time: self.article.time, ..Article::of(&site.address, news, self.article.votes) },
        )
    }

    /// Adds a new article to a batch, with the votes of all `voters`, who are all different. Returns the check that there
    /// is none yet.
    pub(crate) fn add<'a>(
        &self,
        batch: &mut Batch,
        now: Timestamp,
        voters: impl Iterator<Item = &'a UserId>,
    ) -> Option<CheckId> {
        let unused = records::add(batch, [self]);
        if let Some(left) = open_for(self.article.time, now) {
            let voted = keys::voted(self.id);
            voters.for_each(|voter| batch.add_member(&voted, keys::user(*voter)));
            batch.expire(voted, left);
        }
        unused
    }
}

/// Adds to a batch that an article is deleted, with who has voted for it.
pub(super) fn delete(batch: &mut Batch, article: &AsRead<StoredArticle>) {
    records::delete(batch, article);
    batch.delete(keys::voted(article.id));
}

impl Stored for StoredArticle {
    const IS_WHOLE_HASH: bool = true;

    fn key(&self) -> String {
        keys::article(self.id)
    }

    fn fields(&self) -> Fields {
        self.article.fields().map(|(field, value)| (field.to_owned(), Some(value))).into()
    }

    fn decides(field: &str) -> bool {
        field == "time"
    }

    fn entries(&self, entries: &mut RecordEntries) {
        let (name, article) = (self.key(), &self.article);
        if !self.is_listed {
            self.topics.iter().for_each(|topic| entries.grouped(keys::withheld_group(topic), &name));
            return;
        }
        entries.listed(keys::ARTICLES_BY_TIME, &name, article.time.as_score());
        entries.ranked(keys::ARTICLES_BY_SCORE, &name, article.score());
        for topic in &self.topics {
            entries.grouped(keys::group(topic), &name);
            entries.counted_member(keys::TOPICS, topic.as_str());
            let [by_score, by_time] = lists_of(topic);
            entries.ranked_if_built(by_score, &name, article.score());
            entries.ranked_if_built(by_time, &name, article.time.as_score());
        }
    }
}

/// The lists of a topic, by score and by time.
pub(crate) fn lists_of(topic: &Topic) -> [String; 2] {
    [keys::articles_of_topic_by_score(topic), keys::articles_of_topic_by_time(topic)]
}

/// The facts behind a vote on an article: whether there is one, whether its list of voters has the voter, and when that
/// expires.
pub(crate) type ArticleState = (bool, bool, Expiry);

/// The facts behind the vote of a user on the article of a news item.
pub(crate) fn article_state(id: NewsId, voter: UserId) -> impl Fetch<Value = ArticleState> {
    let voted = keys::voted(id);
    let votes = read::field(keys::article(id), "votes");
    let exists = votes.map(|votes: Option<String>| votes.is_some());
    (exists, read::has_member(&voted, keys::user(voter)), read::expiry(voted))
}

/// A vote up on the article of a news item. A database of an older site has no articles before
/// `tidings check articles --repair`.
pub(crate) struct ArticleVote {
    id: NewsId,
    /// Whether there is one.
    exists: bool,
    /// Whether lists have it, as they have its story.
    is_listed: bool,
    voter: UserId,
    /// Whether the list of voters has the voter.
    voted: bool,
    /// How much longer votes count; `None` when this one does not.
    open_for: Option<Duration>,
    /// When the list of voters expires.
    expiry: Expiry,
}

impl ArticleVote {
    pub(crate) fn new(
        (exists, voted, expiry): ArticleState,
        now: Timestamp,
        news: &News,
        voter: UserId,
    ) -> Self {
        let open_for = open_for(news.ctime, now).filter(|_| exists && !voted);
        Self { id: news.id, exists, is_listed: news.state().is_listed(), voter, voted, open_for, expiry }
    }

    /// Checks that what was read is still true: a vote must not miss an article that has just been made.
    fn guard(&self, batch: &mut Batch) {
        let article = keys::article(self.id);
        _ = if self.exists { batch.key_present(article) } else { batch.key_absent(article) };
    }

    /// Adds the vote to a batch, if it counts.
    pub(crate) fn write(&self, batch: &mut Batch) {
        self.guard(batch);
        let Some(open_for) = self.open_for else {
            return;
        };
        let voter = keys::user(self.voter);
        let voted = keys::voted(self.id);
        batch.member_absent(&voted, &voter);
        batch.add_member(&voted, voter);
        match self.expiry {
            // A vote never extends the life of the list, and makes none that lives for ever.
            Expiry::In(_) => _ = batch.key_present(&voted),
            Expiry::Absent => {
                batch.key_absent(&voted);
                batch.expire(voted, open_for);
            }
            Expiry::Never => batch.expire(voted, open_for),
        }
        self.count(batch, 1);
    }

    /// Adds to the votes of the article, and to its score where lists have it.
    fn count(&self, batch: &mut Batch, by: i8) {
        let name = keys::article(self.id);
        if self.is_listed {
            batch.sorted_increment(keys::ARTICLES_BY_SCORE, &name, f64::from(by) * f64::from(VOTE_SCORE));
        }
        batch.increment_field(name, "votes", i64::from(by));
    }

    /// Whether there is an article.
    pub(crate) const fn exists(&self) -> bool {
        self.exists
    }

    /// Whether the list of voters has the voter.
    pub(crate) const fn is_in_list(&self) -> bool {
        self.voted
    }

    /// Takes the vote of somebody whose votes do not count out of an article that exists (`by` is -1), or puts
    /// it back (1). After the week the list of voters stays as it is.
    pub(crate) fn write_moved(&self, batch: &mut Batch, (now, posted): (Timestamp, Timestamp), by: i8) {
        self.guard(batch);
        let (voter, voted) = (keys::user(self.voter), keys::voted(self.id));
        if by < 0 {
            batch.remove_member(voted, voter);
        } else if let Some(open_for) = open_for(posted, now) {
            batch.add_member(&voted, voter);
            if self.expiry == Expiry::Absent {
                batch.key_absent(&voted);
                batch.expire(voted, open_for);
            }
        }
        self.count(batch, by);
    }

    /// The effect of [`ArticleVote::write`], for the record of the vote.
    pub(crate) const fn effect(&self) -> ArticleEffect {
        match (self.open_for, self.voted) {
            (Some(_), _) => ArticleEffect::Counted,
            (None, true) => ArticleEffect::CountedBefore,
            (None, false) => ArticleEffect::None,
        }
    }

    /// Undoes the vote in a batch, if it counts. Its effect is undone even if the list of
    /// voters has expired since. A vote without an effect counts after all if the article was
    /// made later, by a repair, with the votes on the item.
    pub(crate) fn write_taken_back(&self, batch: &mut Batch, effect: ArticleEffect) {
        self.guard(batch);
        let counts = match effect {
            ArticleEffect::Counted => true,
            ArticleEffect::CountedBefore => false,
            ArticleEffect::None => self.voted,
        };
        let (voter, voted) = (keys::user(self.voter), keys::voted(self.id));
        if !self.voted {
            batch.member_absent(&voted, &voter);
        }
        if counts && self.exists {
            batch.remove_member(voted, voter);
            self.count(batch, -1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_numbers_are_those_of_the_book() {
        assert_eq!((VOTE_SCORE, OPEN_SECONDS), (432, 604_800));
        assert_eq!(score(Timestamp(1_332_065_417), 528), 1_332_293_513.0);
    }

    #[test]
    fn votes_count_for_a_week() {
        let posted = Timestamp(1_800_000_000);
        for (age, left) in [(0, Some(604_800)), (604_799, Some(1)), (604_800, None), (700_000, None)] {
            let now = Timestamp(posted.0 + age);
            assert_eq!(open_for(posted, now), left.map(Duration::from_secs), "{age}");
        }
        // A clock that went back.
        assert_eq!(open_for(posted, Timestamp(posted.0 - 10)), Some(Duration::from_secs(604_810)));
    }

    proptest! {
        #[test]
        fn each_vote_is_432_seconds_and_200_are_a_day(posted in 0..4_000_000_000_u64, votes in 0..1_000_000_i64) {
            let posted = Timestamp(posted);
            prop_assert_eq!(score(posted, votes + 1) - score(posted, votes), 432.0);
            prop_assert_eq!(score(posted, votes + 200), score(Timestamp(posted.0 + 86_400), votes));
        }
    }
}
