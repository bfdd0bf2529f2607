//! Editing and deleting stories.

use super::url_guards::{self, UrlGuards};
use super::{Submission, SubmissionContent, Submitted};
use crate::accounts::users::User;
use crate::accounts::{admission, trust};
use crate::action::Decision;
use crate::activity::ActionCounters;
use crate::articles::article::{self, ArticleChange};
use crate::articles::topics::KnownTopics;
use crate::audit::AUDIT;
use crate::counts::CountedAction;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::entries::StoryEntries;
use crate::news::item::{DEL, EDITED_AT, News, linked_site};
use crate::review;
use crate::site::Site;
use crate::timelines::tweets::{self, Tweet};
use crate::values::clock::Moment;
use crate::values::ids::NewsId;
use crate::values::moderation::Thing;
use crate::values::topic::Topics;
use crate::values::urls::NewsUrl;
use crate::values::withheld::Withheld;
use std::time::Duration;
use tidings_keyspace::Batch;

/// Changes title, content and topics of an item.
///
/// # Errors
/// [`Refusal::Silenced`], [`Refusal::NoSuchNews`], the refusals of [`News::may_change`],
/// [`Refusal::UrlAndText`], [`Refusal::UrlPostedRecently`],
/// [`Refusal::NewTopicNeedsKarma`], [`Refusal::RefusedByRule`],
/// [`Refusal::EditNeedsApproval`], or the store's.
pub async fn edit_news(
    site: &Site,
    now: Moment,
    viewer: &User,
    id: NewsId,
    submission: &Submission,
) -> Result<(), Error> {
    viewer.demand_may_post(now.timestamp())?;
    viewer.demand_confirmed(site)?;
    submission.check_edit()?;
    let url = submission.content.stored_url();
    site.act(&keys::news(id), || async {
        let (news, article) = read_changeable(site, now, viewer, id).await?;
        let is_held = matches!(news.withheld, Some(Withheld::Held(_)));
        admission::admit_edit(site, now.timestamp(), viewer, (submission.checked(), is_held)).await?;
        let topics = submission.topics.as_ref().unwrap_or(&news.topics);
        let to = StoryText { title: submission.title.as_str(), url: &url, topics };
        let change = StoryChange::read(site, now, &news, article).await?;
        let mut batch = Batch::new();
        change.write(&mut batch, viewer, to, None).await?;
        if to.title != news.title || to.url != news.url || *to.topics != news.topics {
            batch.set_field(keys::news(id), EDITED_AT, now.timestamp().to_string());
        }
        Decision::commit(batch, ()).once(viewer.request.as_ref(), &Submitted::New(id))
    })
    .await
}

/// The parts of a story that can be edited.
#[derive(Clone, Copy)]
pub(crate) struct StoryText<'a> {
    pub(crate) title: &'a str,
    /// As it is stored.
    pub(crate) url: &'a str,
    pub(crate) topics: &'a Topics,
}

/// A story that is about to be edited, with what was read for it.
pub(crate) struct StoryChange<'a> {
    site: &'a Site,
    now: Moment,
    news: &'a News,
    article: ArticleChange,
    /// The guards of its URL.
    pub(crate) guards: UrlGuards,
    announcement: Option<Tweet>,
}

impl<'a> StoryChange<'a> {
    /// Reads what an edit needs. Rounds: at most 2.
    pub(crate) async fn read(
        site: &'a Site,
        now: Moment,
        news: &'a News,
        article: ArticleChange,
    ) -> Result<Self, Error> {
        let guards = url_guards::own(site, now, news).await?;
        let announcement = read_announcement(site, news).await?;
        Ok(Self { site, now, news, article, guards, announcement })
    }

    /// Adds the edit to a batch. `former` are the guards of an URL that comes back, which end
    /// when they would have; another URL is guarded from now on. Rounds: at most 3.
    pub(crate) async fn write(
        &self,
        batch: &mut Batch,
        viewer: &User,
        to: StoryText<'_>,
        former: Option<&UrlGuards>,
    ) -> Result<(), Error> {
        let Self { site, news, .. } = self;
        unchanged_since(batch, news);
        if to.url != news.url {
            match former {
                Some(former) => self.put_guards_back(batch, former).await?,
                None => self.guard_anew(batch, viewer, to.url).await?,
            }
        }
        let key = keys::news(news.id);
        if !news.is_unlisted() {
            let host = linked_site(to.url);
            let before = StoryEntries::of(news);
            before.move_to(batch, StoryEntries { host: host.as_ref(), ..before });
        }
        batch.set_fields(&key, [("title", to.title), ("url", to.url)]);
        let is_trusted = trust::is_trusted(site, self.now.timestamp(), viewer);
        change_topics(site, (viewer, is_trusted), news, to.topics, batch).await?;
        let link = article::link(site, news.id, NewsUrl::parse_imported(to.url).ok().as_ref());
        self.article.edit(batch, to.title, &link, &news.topics, to.topics);
        if let Some(tweet) = &self.announcement {
            tweets::rename_announcement(batch, tweet, to.title);
        }
        Ok(())
    }

    async fn guard_anew(&self, batch: &mut Batch, viewer: &User, url: &str) -> Result<(), Error> {
        let url = NewsUrl::parse_imported(url).ok();
        let new = url.as_ref().map(|url| url_guards::keys_of(self.site, url)).unwrap_or_default();
        let holders = url_guards::refuse_url_of_others(self.site, viewer, &new, &self.guards).await?;
        for key in new.iter().filter(|key| !self.guards.has(key)) {
            holders.demand_free(batch, key);
        }
        self.guards.lift(batch, self.news.id);
        let life = Duration::from_secs(self.site.rules.limits.repost_seconds);
        if let Some(url) = url.filter(|_| !life.is_zero()) {
            url_guards::hold(batch, &url, self.news.id, life);
        }
        Ok(())
    }

    async fn put_guards_back(&self, batch: &mut Batch, former: &UrlGuards) -> Result<(), Error> {
        let free = former.clone().free(self.site, self.now, self.news.id).await?;
        free.demand_free(batch, &self.guards);
        self.guards.lift(batch, self.news.id);
        free.put_back(batch, self.now, self.news.id);
        Ok(())
    }
}

/// Deletes an item: it is removed from the lists, and its thread stays readable. The tweet
/// that announced it is deleted.
///
/// # Errors
/// [`Refusal::NoSuchNews`], the refusals of [`News::may_change`], or the store's.
pub async fn delete_news(site: &Site, now: Moment, viewer: &User, id: NewsId) -> Result<(), Error> {
    let key = keys::news(id);
    let deleted = site.act(&key, || async {
        let (news, article) = read_changeable(site, now, viewer, id).await?;
        let mut batch = Batch::new();
        unchanged_since(&mut batch, &news);
        if let Some(tweet) = read_announcement(site, &news).await? {
            tweets::delete(&mut batch, &tweet);
        }
        url_guards::own(site, now, &news).await?.lift(&mut batch, id);
        batch.set_field(&key, DEL, "1");
        // A flagged story still needs a decision, so only the row of a held one is settled.
        if matches!(news.withheld, Some(Withheld::Held(_))) {
            review::settle(&mut batch, &Thing::Story(id));
        }
        batch.delete_field(&key, "topics");
        article.delete(&mut batch, &news.topics);
        StoryEntries::of(&news).leave(&mut batch);
        Decision::commit(batch, ()).once(viewer.request.as_ref(), &())
    });
    deleted.await?;
    site.of::<ActionCounters>().count(CountedAction::Deletion);
    tracing::info!(target: AUDIT, by = viewer.username, story = %id, "deleted a story");
    Ok(())
}

/// The tweet that announced an item, if it still exists.
pub(crate) async fn read_announcement(site: &Site, news: &News) -> Result<Option<Tweet>, Error> {
    let Some(id) = news.tweet_id else {
        return Ok(None);
    };
    let tweet = site.store.fetch(Tweet::by_id(id)).await?;
    // Another program may have written another tweet's id.
    Ok(tweet.filter(|tweet| tweet.news_id == Some(news.id)))
}

/// Changes the topics of an item, if the viewer may use those that are new to it.
async fn change_topics(
    site: &Site,
    viewer: (&User, bool),
    news: &News,
    topics: &Topics,
    batch: &mut Batch,
) -> Result<(), Error> {
    if *topics == news.topics {
        return Ok(());
    }
    let added = topics.without(&news.topics);
    let known = site.store.fetch(KnownTopics::among(&added)).await?;
    known.demand(site, viewer, batch)?;
    if topics.is_empty() {
        batch.delete_field(keys::news(news.id), "topics");
    } else {
        batch.set_field(keys::news(news.id), "topics", topics.stored());
    }
    Ok(())
}

/// An item that the viewer may change now, and the pending change of its article. Rounds: 1.
async fn read_changeable(
    site: &Site,
    now: Moment,
    viewer: &User,
    id: NewsId,
) -> Result<(News, ArticleChange), Error> {
    let (news, article) = site.store.fetch((News::by_id(id), ArticleChange::of(id))).await?;
    let news = news.ok_or(Refusal::NoSuchNews)?;
    news.may_change(viewer, now.timestamp(), site.rules.limits.news_edit_seconds)?;
    Ok((news, article))
}

/// Makes a batch fail if the item has been edited, withheld or deleted meanwhile.
pub(crate) fn unchanged_since(batch: &mut Batch, news: &News) {
    let key = keys::news(news.id);
    news.check_state(batch);
    batch.field_equals(&key, "url", &news.url);
    batch.field_unchanged(&key, "topics", news.stored_topics.as_ref());
}

impl SubmissionContent {
    /// The keys that guard against reposts. None for a text, or when that limit is off.
    pub(super) fn guard_keys(&self, site: &Site) -> Vec<String> {
        self.link().map(|url| url_guards::keys_of(site, url)).unwrap_or_default()
    }
}
