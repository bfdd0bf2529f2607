//! Taking a story out of all lists without losing anything of it, and putting it back as if it
//! had never been away.
//!
//! The story keeps its text, its votes and its topics, and its article keeps its votes. What
//! else the withdrawal has taken away is in the field `withdrawn` of the story, as JSON.
//! While it is away, nobody can vote on it or edit it, so it comes back as it was. Only the
//! topics can change: `group.withheld:<topic>` has the withdrawn articles, so that a topic that
//! moves takes them along.

use super::editing::{leave_lists, read_announcement};
use super::url_guards::{self, UrlGuard};
use crate::articles::article::{self, ArticleChange, PlaceRead, Placed};
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::news::item::News;
use crate::news::ranks::write_rank;
use crate::site::Site;
use crate::timelines::announcements;
use crate::values::clock::Moment;
use crate::values::ids::{ModerationId, NewsId};
use crate::values::withheld::{WITHHELD, Withheld};
use serde::{Deserialize, Serialize};
use tidings_keyspace::{Batch, Query};

/// The field of a story with what its withdrawal has taken away.
const WITHDRAWN: &str = "withdrawn";

/// What a withdrawal has taken away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Taken {
    /// The line of the log that says who did it.
    line: u64,
    /// The field `withheld` before.
    before: Option<String>,
    /// Whether the story was in the lists.
    listed: bool,
    /// Where its article was in the lists of all articles.
    article: Option<[String; 2]>,
    /// The guards against reposts.
    guards: Vec<UrlGuard>,
    /// Whether its tweet left the timelines with it.
    tweet: bool,
    /// The field `withheld` of that tweet before.
    tweet_before: Option<String>,
}

/// A story that is about to be withdrawn, with what was read for it.
pub(crate) struct Withdrawal {
    news: News,
    before: Option<String>,
    article: ArticleChange,
    guards: Vec<UrlGuard>,
    tweet: Option<announcements::Withdrawal>,
}

/// Why a story is withdrawn, and the line of the log that says who did it.
#[derive(Clone, Copy)]
pub(crate) struct Cause<'a> {
    pub(crate) state: &'a Withheld,
    pub(crate) line: ModerationId,
}

impl Withdrawal {
    /// Reads what withdrawing a story needs. A story that is merged into another keeps its
    /// guards against reposts. Rounds: at most 4.
    pub(crate) async fn read(site: &Site, now: Moment, news: News, merges: bool) -> Result<Self, Error> {
        let mut query = Query::new();
        let before = query.hash_fields(keys::news(news.id), [WITHHELD]);
        let place = PlaceRead::ask(&mut query, news.id);
        let mut answers = site.store.query(query).await?;
        let (before, article) = (fields::only(answers.take(before)), place.take(&mut answers));
        let guards = if merges { Vec::new() } else { url_guards::own(site, now, &news).await? };
        let tweet = match read_announcement(site, &news).await? {
            Some(tweet) => announcements::Withdrawal::read(site, tweet).await?,
            None => None,
        };
        Ok(Self { news, before, article, guards, tweet })
    }

    /// Adds the withdrawal to a batch.
    pub(crate) fn write(&self, batch: &mut Batch, now: Moment, cause: Cause<'_>) {
        let (key, news) = (keys::news(self.news.id), &self.news);
        batch.field_absent(&key, "del");
        batch.field_equals(&key, "url", &news.url);
        batch.field_unchanged(&key, "topics", news.stored_topics.as_ref());
        batch.field_unchanged(&key, WITHHELD, self.before.as_deref());
        batch.field_absent(&key, WITHDRAWN);
        let listed = !news.is_unlisted();
        let mut taken = Taken {
            line: cause.line.0,
            before: self.before.clone(),
            listed,
            article: None,
            guards: Vec::new(),
            tweet: false,
            tweet_before: None,
        };
        if listed {
            leave_lists(batch, news);
            taken.article = self.article.withdraw(batch, &news.topics).map(Placed::stored);
            url_guards::lift(batch, news.id, &self.guards);
            taken.guards.clone_from(&self.guards);
            if let Some(tweet) = &self.tweet {
                tweet.write(batch, now, cause.state);
                taken.tweet = true;
                taken.tweet_before.clone_from(&tweet.before);
            }
        }
        // Numbers and texts can be written as JSON.
        let taken = serde_json::to_string(&taken).unwrap_or_default();
        batch.set_fields(&key, [(WITHHELD, cause.state.to_string()), (WITHDRAWN, taken)]);
    }

    /// Starts the job for the tweet, once the batch is applied.
    pub(crate) fn begin(&self, site: &Site, now: Moment) {
        if let Some(tweet) = self.tweet.as_ref().filter(|_| !self.news.is_unlisted()) {
            tweet.begin(site, now);
        }
    }
}

/// A story that is about to come back, with what was read for it.
pub(crate) struct Reinstatement {
    /// The story.
    pub(crate) news: News,
    stored: [Option<String>; 2],
    taken: Taken,
    article: Option<Placed>,
    guards: Vec<UrlGuard>,
    tweet: Option<announcements::Reinstatement>,
}

impl Reinstatement {
    /// Reads what putting a story back needs. `None` if it was not withdrawn. Rounds: at most 4.
    pub(crate) async fn read(site: &Site, now: Moment, id: NewsId) -> Result<Option<Self>, Error> {
        let mut query = Query::new();
        let hash = query.hash(keys::news(id));
        let hash = site.store.query(query).await?.take(hash);
        let news = News::from_hash(&hash).ok_or(Refusal::NoSuchNews)?;
        if news.deleted {
            return Err(Refusal::NewsDeleted.into());
        }
        let stored = [WITHHELD, WITHDRAWN].map(|field| hash.get(field).map(str::to_owned));
        let taken = stored[1].as_deref().and_then(|taken| serde_json::from_str::<Taken>(taken).ok());
        let Some(taken) = taken else {
            return Ok(None);
        };
        let guards = url_guards::free(site, now, &taken.guards, id).await?;
        let tweet = match read_announcement(site, &news).await?.filter(|_| taken.tweet) {
            Some(tweet) => announcements::Reinstatement::read(site, tweet).await?,
            None => None,
        };
        let article = taken.article.as_ref().and_then(Placed::from_stored);
        Ok(Some(Self { news, stored, taken, article, guards, tweet }))
    }

    /// The line of the log that says who withdrew it.
    pub(crate) const fn line(&self) -> ModerationId {
        ModerationId(self.taken.line)
    }

    /// Adds it to a batch that the story is back.
    pub(crate) fn write(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let (key, news) = (keys::news(self.news.id), &self.news);
        let [withheld, withdrawn] = &self.stored;
        batch.field_absent(&key, "del");
        batch.field_unchanged(&key, WITHHELD, withheld.as_deref());
        batch.field_unchanged(&key, WITHDRAWN, withdrawn.as_deref());
        batch.field_unchanged(&key, "topics", news.stored_topics.as_ref());
        batch.delete_field(&key, WITHDRAWN);
        match &self.taken.before {
            Some(before) => batch.set_field(&key, WITHHELD, before),
            None => batch.delete_field(&key, WITHHELD),
        }
        if self.taken.listed {
            self.enter_lists(batch, site, now);
        }
    }

    fn enter_lists(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let (news, member) = (&self.news, self.news.id.to_string());
        let rules = &site.rules.ranking;
        let rank = news.rank(now.timestamp(), rules);
        write_rank(batch, (news.id, news.ctime), news.score(rules), rank);
        batch.sorted_add(keys::NEWS_CRON, &member, news.ctime.as_score());
        if let Some(host) = news.site() {
            batch.sorted_add(keys::host_news(host), &member, news.ctime.as_score());
        }
        if let Some(article) = self.article {
            article::reinstate(batch, news.id, article, &news.topics);
        }
        url_guards::demand_free(batch, self.guards.iter());
        url_guards::put_back(batch, now, news.id, &self.guards);
        if let Some(tweet) = &self.tweet {
            tweet.write(batch, site, now, self.taken.tweet_before.as_deref());
        }
    }

    /// Starts the delivery of the tweet, once the batch is applied.
    pub(crate) fn begin(&self, site: &Site, now: Moment) {
        if let Some(tweet) = self.tweet.as_ref().filter(|_| self.taken.listed) {
            tweet.begin(site, now);
        }
    }
}
