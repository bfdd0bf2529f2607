//! Articles: every news item under a second, simple rule.
//!
//! The score of an article is the time of its posting and [`VOTE_SCORE`] for
//! each vote. Votes count for a week; then the score is fixed and the list of voters expires.
//! The keys and numbers are those of the first chapter of "Redis in Action", so programs
//! written for it work beside the site.

use crate::accounts::recent_votes::ArticleEffect;
use crate::fields::StoredFields;
use crate::keys;
use crate::news::item::News;
use crate::site::Site;
use crate::values::clock::{DecimalSeconds, NotSeconds, Timestamp};
use crate::values::ids::{NewsId, UserId};
use crate::values::text::printable;
use crate::values::text_forms::record_text;
use crate::values::topic::{Topic, Topics};
use crate::values::urls::NewsUrl;
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Fetch, Hash, read};

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
    pub(crate) fn of(site: &Site, news: &News, votes: i64) -> Self {
        Self {
            title: news.title.clone(),
            link: link(site, news.id, NewsUrl::parse_imported(&news.url).ok().as_ref()),
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
pub(crate) fn link(site: &Site, id: NewsId, url: Option<&NewsUrl>) -> String {
    url.map_or_else(|| format!("{}/news/{id}", site.address), |url| url.as_str().to_owned())
}

/// Adds a new article to a batch, with the votes of all `voters`, who are all different.
pub(crate) fn write_new<'a>(
    batch: &mut Batch,
    now: Timestamp,
    id: NewsId,
    article: &Article,
    voters: impl Iterator<Item = &'a UserId>,
    topics: &Topics,
) {
    let name = keys::article(id);
    batch.set_fields(&name, article.fields());
    batch.sorted_add(keys::ARTICLES_BY_TIME, &name, article.time.as_score());
    batch.sorted_add(keys::ARTICLES_BY_SCORE, &name, article.score());
    if let Some(left) = open_for(article.time, now) {
        let voted = keys::voted(id);
        for voter in voters {
            batch.add_member(&voted, keys::user(*voter));
        }
        batch.expire(voted, left);
    }
    if !topics.is_empty() {
        batch.set_field(keys::news(id), "topics", topics.stored());
    }
    let placed = Placed { time: article.time.as_score(), score: article.score() };
    for topic in topics {
        placed.enter(batch, &name, topic);
    }
}

/// The scores of an article in the two lists of all articles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Placed {
    time: f64,
    score: f64,
}

record_text!(Placed or NotSeconds: {time} " " {score});

impl Placed {
    /// Adds the article to a topic, and to the lists of the topic that are stored.
    fn enter(self, batch: &mut Batch, name: &str, topic: &Topic) {
        batch.add_member(keys::group(topic), name);
        batch.sorted_increment(keys::TOPICS, topic.as_str(), 1.0);
        let [by_score, by_time] = lists_of(topic);
        batch.sorted_add_if_present(&by_score, name, self.score);
        batch.sorted_add_if_present(&by_time, name, self.time);
        // A list that was empty is built again.
        batch.delete(keys::built(&by_score));
        batch.delete(keys::built(&by_time));
    }

    /// Removes the article from a topic and from its lists.
    fn leave(batch: &mut Batch, name: &str, topic: &Topic) {
        batch.remove_member(keys::group(topic), name);
        batch.sorted_increment(keys::TOPICS, topic.as_str(), -1.0);
        for list in lists_of(topic) {
            batch.sorted_remove(list, name);
        }
    }
}

/// The lists of a topic, by score and by time.
pub(crate) fn lists_of(topic: &Topic) -> [String; 2] {
    [keys::articles_of_topic_by_score(topic), keys::articles_of_topic_by_time(topic)]
}

/// A change of the article of a news item, if there is one. A database of an older site
/// has no articles before `tidings check articles --repair`.
pub(crate) struct ArticleChange {
    id: NewsId,
    placed: Option<Placed>,
}

impl ArticleChange {
    /// That of a news item.
    pub(crate) fn of(id: NewsId) -> impl Fetch<Value = Self> {
        let lists = [keys::ARTICLES_BY_TIME, keys::ARTICLES_BY_SCORE];
        Fetch::map(lists.map(|list| read::score(list, keys::article(id))), move |[time, score]| Self {
            id,
            placed: time.zip(score).map(|(time, score)| Placed { time, score }),
        })
    }

    /// Checks that what was read is still true: a batch that changes the news item must
    /// not miss an article that has just been made.
    fn guard(&self, batch: &mut Batch) {
        let name = keys::article(self.id);
        match self.placed {
            Some(_) => {
                batch.key_present(&name);
                batch.sorted_member_present(keys::ARTICLES_BY_SCORE, name);
            }
            None => {
                batch.sorted_member_absent(keys::ARTICLES_BY_SCORE, name);
            }
        }
    }

    /// Applies an edit of the news item, whose topics change from `before` to `after`.
    pub(crate) fn edit(&self, batch: &mut Batch, title: &str, link: &str, before: &Topics, after: &Topics) {
        self.guard(batch);
        let Some(placed) = self.placed else {
            return;
        };
        let name = keys::article(self.id);
        batch.set_fields(&name, [("title", title), ("link", link)]);
        for topic in before.iter().filter(|topic| !after.contains(topic)) {
            Placed::leave(batch, &name, topic);
        }
        for topic in after.iter().filter(|topic| !before.contains(topic)) {
            placed.enter(batch, &name, topic);
        }
    }

    /// Removes the article with its news item.
    pub(crate) fn delete(&self, batch: &mut Batch, topics: &Topics) {
        self.guard(batch);
        if self.placed.is_none() {
            return;
        }
        let name = keys::article(self.id);
        leave_lists(batch, &name, topics);
        batch.delete(name);
        batch.delete(keys::voted(self.id));
    }

    /// Removes the article with its news item, also one that was withdrawn.
    pub(crate) fn erase(&self, batch: &mut Batch, topics: &Topics) {
        if self.placed.is_some() {
            return self.delete(batch, topics);
        }
        self.guard(batch);
        let name = keys::article(self.id);
        for topic in topics {
            batch.remove_member(keys::withheld_group(topic), &name);
        }
        batch.delete(name);
        batch.delete(keys::voted(self.id));
    }

    /// Takes the article out of all lists with its news item. The article and its votes stay,
    /// and [`reinstate`] puts it back where this says it was.
    pub(crate) fn withdraw(&self, batch: &mut Batch, topics: &Topics) -> Option<Placed> {
        self.guard(batch);
        let placed = self.placed?;
        let name = keys::article(self.id);
        leave_lists(batch, &name, topics);
        for topic in topics {
            batch.add_member(keys::withheld_group(topic), &name);
        }
        Some(placed)
    }
}

/// Removes an article from all lists.
fn leave_lists(batch: &mut Batch, name: &str, topics: &Topics) {
    for topic in topics {
        Placed::leave(batch, name, topic);
    }
    batch.sorted_remove(keys::ARTICLES_BY_TIME, name);
    batch.sorted_remove(keys::ARTICLES_BY_SCORE, name);
}

/// Puts an article that was withdrawn back into the lists.
pub(crate) fn reinstate(batch: &mut Batch, id: NewsId, placed: Placed, topics: &Topics) {
    let name = keys::article(id);
    batch.key_present(&name);
    batch.sorted_member_absent(keys::ARTICLES_BY_SCORE, &name);
    batch.sorted_add(keys::ARTICLES_BY_TIME, &name, placed.time);
    batch.sorted_add(keys::ARTICLES_BY_SCORE, &name, placed.score);
    for topic in topics {
        batch.remove_member(keys::withheld_group(topic), &name);
        placed.enter(batch, &name, topic);
    }
}

/// The facts behind a vote on an article: the article, whether its list of voters has the voter, and when that
/// expires.
pub(crate) type ArticleState = (ArticleChange, bool, Expiry);

/// The facts behind the vote of a user on the article of a news item.
pub(crate) fn article_state(id: NewsId, voter: UserId) -> impl Fetch<Value = ArticleState> {
    let voted = keys::voted(id);
    (ArticleChange::of(id), read::has_member(&voted, keys::user(voter)), read::expiry(voted))
}

/// A vote up on the article of a news item.
pub(crate) struct ArticleVote {
    article: ArticleChange,
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
        (article, voted, expiry): ArticleState,
        now: Timestamp,
        news: &News,
        voter: UserId,
    ) -> Self {
        let open_for = open_for(news.ctime, now).filter(|_| article.placed.is_some() && !voted);
        Self { article, voter, voted, open_for, expiry }
    }

    /// Adds the vote to a batch, if it counts.
    pub(crate) fn write(&self, batch: &mut Batch) {
        self.article.guard(batch);
        let Some(open_for) = self.open_for else {
            return;
        };
        let (name, voter) = (keys::article(self.article.id), keys::user(self.voter));
        let voted = keys::voted(self.article.id);
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
        batch.sorted_increment(keys::ARTICLES_BY_SCORE, &name, f64::from(VOTE_SCORE));
        batch.increment_field(name, "votes", 1);
    }

    /// Whether the list of voters has the voter.
    pub(crate) const fn is_in_list(&self) -> bool {
        self.voted
    }

    /// Takes the vote of somebody whose votes do not count out of the article (`by` is -1), or puts
    /// it back (1). After the week the list of voters stays as it is. `withdrawn` is where the
    /// article was when its story was withdrawn; returns where it belongs then.
    pub(crate) fn write_moved(
        &self,
        batch: &mut Batch,
        (now, posted): (Timestamp, Timestamp),
        by: i8,
        withdrawn: Option<Placed>,
    ) -> Option<Placed> {
        self.article.guard(batch);
        if self.article.placed.is_none() && withdrawn.is_none() {
            return None;
        }
        let (name, voter) = (keys::article(self.article.id), keys::user(self.voter));
        let voted = keys::voted(self.article.id);
        if by < 0 {
            batch.remove_member(voted, voter);
        } else if let Some(open_for) = open_for(posted, now) {
            batch.add_member(&voted, voter);
            if self.expiry == Expiry::Absent {
                batch.key_absent(&voted);
                batch.expire(voted, open_for);
            }
        }
        batch.increment_field(&name, "votes", i64::from(by));
        let shift = f64::from(by) * f64::from(VOTE_SCORE);
        if self.article.placed.is_some() {
            batch.sorted_increment(keys::ARTICLES_BY_SCORE, name, shift);
            return None;
        }
        withdrawn.map(|placed| Placed { score: placed.score + shift, ..placed })
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
        self.article.guard(batch);
        let counts = match effect {
            ArticleEffect::Counted => true,
            ArticleEffect::CountedBefore => false,
            ArticleEffect::None => self.voted,
        };
        let (name, voter) = (keys::article(self.article.id), keys::user(self.voter));
        let voted = keys::voted(self.article.id);
        if !self.voted {
            batch.member_absent(&voted, &voter);
        }
        if !counts || self.article.placed.is_none() {
            return;
        }
        batch.remove_member(voted, voter);
        batch.sorted_increment(keys::ARTICLES_BY_SCORE, &name, -f64::from(VOTE_SCORE));
        batch.increment_field(name, "votes", -1);
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
