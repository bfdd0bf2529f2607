//! Taking a story out of all lists without losing anything of it, and putting it back as if it
//! had never been away.
//!
//! The story keeps its text, its votes and its topics, and its article keeps its votes. The things
//! that the withdrawal has taken away are in the record `withdrawn:story:<id>`. While a story is
//! away, nobody can vote on it or edit it, so it comes back as it was. Only the topics can
//! change: `group.withheld:<topic>` has the withdrawn articles, so that a topic that moves takes
//! them along.

use super::editing::read_announcement;
use super::url_guards::{self, UrlGuards};
use crate::accounts::inbox::{Returning, Withdrawing, Withdrawn};
use crate::articles::article::{self, ArticleChange, Placed};
use crate::error::{Error, Refusal};
use crate::jobs::Job;
use crate::keys;
use crate::news::entries::StoryEntries;
use crate::news::item::News;
use crate::site::Site;
use crate::timelines::withdrawal::{TweetReturn, TweetWithdrawal};
use crate::values::clock::Moment;
use crate::values::ids::ModerationId;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use tidings_keyspace::Batch;

/// The field of the record with the place of the article in the lists of all articles.
pub(crate) const ARTICLE: &str = "article";
/// The field of the record with the guards against reposts.
pub(super) const GUARDS: &str = "guards";

/// A story that is about to be withdrawn, with what was read for it.
pub(crate) struct StoryWithdrawal {
    news: News,
    state: Withheld,
    article: ArticleChange,
    guards: UrlGuards,
    tweet: Option<TweetWithdrawal>,
}

impl StoryWithdrawal {
    /// Reads what withdrawing a story needs. `state` says why it is withdrawn; a story that is
    /// merged into another keeps its guards against reposts. Rounds: at most 5.
    pub(crate) async fn read(site: &Site, now: Moment, news: News, state: Withheld) -> Result<Self, Error> {
        let article = site.store.fetch(ArticleChange::of(news.id)).await?;
        let guards = match state {
            Withheld::Merged(_) => UrlGuards::default(),
            _ => url_guards::own(site, now, &news).await?,
        };
        let mut tweet = None;
        if let Some(found) = read_announcement(site, &news).await?
            && !news.is_unlisted()
            && !found.withheld.as_ref().is_some_and(Withheld::is_unlisted)
        {
            let reason = match state.reason() {
                Some(reason) => reason.into(),
                None => "its story was merged into another".into(),
            };
            tweet = Some(TweetWithdrawal { tweet: found, state: Withheld::Removed(reason) });
        }
        Ok(Self { news, state, article, guards, tweet })
    }
}

impl Withdrawing for StoryWithdrawal {
    fn write(&self, batch: &mut Batch, line: ModerationId) {
        let (key, news) = (keys::news(self.news.id), &self.news);
        let earlier = news.withheld.as_ref();
        batch.field_equals(&key, "url", &news.url);
        batch.field_unchanged(&key, "topics", news.stored_topics.as_ref());
        news.write_state(batch, Some(&self.state));
        let mut rest = Vec::new();
        if !news.is_unlisted() {
            StoryEntries::of(news).leave(batch);
            let placed = self.article.withdraw(batch, &news.topics);
            rest.extend(placed.map(|placed| (ARTICLE, placed.to_string())));
            self.guards.lift(batch, news.id);
            rest.extend((!self.guards.is_empty()).then(|| (GUARDS, self.guards.to_string())));
            if let Some(tweet) = &self.tweet {
                tweet.write(batch, line);
            }
        }
        Withdrawn::write(batch, &Thing::Story(news.id), (line, earlier), rest);
    }
}

/// A story that is about to come back, with what was read for it.
pub(crate) struct StoryReturn {
    news: News,
    record: Withdrawn,
    article: Option<Placed>,
    guards: UrlGuards,
    tweet: Option<TweetReturn>,
}

impl StoryReturn {
    /// Reads what putting a story back needs. Rounds: at most 5.
    ///
    /// # Errors
    /// [`Refusal::NothingToModerate`] if another has put it back meanwhile, or the store's.
    pub(crate) async fn read(site: &Site, now: Moment, news: News) -> Result<Self, Error> {
        let record = site.store.fetch(Withdrawn::of(Thing::Story(news.id))).await?;
        let record = record.ok_or(Refusal::NothingToModerate("this has not been removed"))?;
        let guards = record.rest::<UrlGuards>(GUARDS).unwrap_or_default().free(site, now, news.id).await?;
        let tweet = match news.tweet_id {
            Some(tweet) => TweetReturn::of_line(site, tweet, record.line).await?,
            None => None,
        };
        let article = record.rest(ARTICLE);
        Ok(Self { news, record, article, guards, tweet })
    }

    fn enter_lists(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let news = &self.news;
        let rules = &site.rules.ranking;
        let [up, down] = &news.stored_votes;
        batch.field_unchanged(keys::news(news.id), "up", up.as_ref());
        batch.field_unchanged(keys::news(news.id), "down", down.as_ref());
        StoryEntries::of(news).enter(batch, (news.score(rules), news.rank(now.timestamp(), rules)));
        if let Some(article) = self.article {
            article::reinstate(batch, news.id, article, &news.topics);
        }
        self.guards.demand_free(batch, &UrlGuards::default());
        self.guards.put_back(batch, now, news.id);
        if let Some(tweet) = &self.tweet {
            tweet.write(batch, site, now);
        }
    }
}

impl Returning for StoryReturn {
    fn write(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let (key, news) = (keys::news(self.news.id), &self.news);
        batch.field_unchanged(&key, "topics", news.stored_topics.as_ref());
        self.record.forget(batch);
        news.write_state(batch, self.record.earlier.as_ref());
        if !self.record.earlier.as_ref().is_some_and(Withheld::is_unlisted) {
            self.enter_lists(batch, site, now);
        }
    }

    fn jobs(&self, site: &Site) -> Vec<Job> {
        self.tweet.as_ref().map(|tweet| tweet.jobs(site)).unwrap_or_default()
    }
}
