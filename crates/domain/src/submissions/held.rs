//! Stories that wait for a moderator: stored, and in no list, count, timeline or feed until they
//! are published. A first comment waits with its story.

use super::write_first;
use crate::articles::stories::{self as stored, StoredStory};
use crate::articles::topics::KnownTopics;
use crate::comments::held::write_published;
use crate::comments::notify::CommentNotice;
use crate::post_state::Moderated;
use crate::records::AsRead;
use crate::timelines::tweets::TweetDraft;
use crate::values::{CommentAddress, CommentId, Moment, Thing, Topic, Withheld};
use crate::{Comment, News, Result, Site, User, hooks, keys, review};
use tidings_keyspace::{Batch, CheckId};

/// The comment that waits with its story.
const FIRST: CommentId = CommentId(1);

/// Adds a story that waits to a batch. Returns the check that its number is unused.
pub(super) fn write(
    batch: &mut Batch,
    mut news: News,
    first: Option<Comment>,
    reason: &str,
) -> Option<CheckId> {
    let state = Withheld::Held(reason.into());
    news.withheld = Some(state.clone());
    let unused = stored::add(batch, &news);
    if let Some(mut first) = first {
        first.withheld = Some(state);
        write_first(batch, &first);
    }
    review::enqueue(batch, &Thing::Story(news.id), news.ctime);
    unused
}

/// A held story that is about to be published, with what was read for it.
pub(crate) struct Publication {
    story: StoredStory,
    tweet: Option<TweetDraft>,
    first: Option<(AsRead<Comment>, CommentNotice)>,
    /// Those of its topics that exist.
    known: Vec<Topic>,
}

impl Publication {
    /// Reads what publishing a story needs. Rounds: 2, 2 more if a tweet announces it, and those
    /// of the announcement of its first comment.
    pub(crate) async fn read(
        site: &Site,
        now: Moment,
        (story, author): (StoredStory, Option<&User>),
    ) -> Result<Self> {
        let address = CommentAddress { news: story.id, comment: FIRST };
        let known = site.store.fetch(KnownTopics::among(&story.topics)).await?.existing();
        // An author who has left announces nothing.
        let announces = |author: &&User| site.rules.features.timelines && author.tweet_news;
        let tweet = match author.filter(announces) {
            Some(author) => Some(TweetDraft::draw(site, now, author.id).await?),
            None => None,
        };
        let first = site.store.fetch(Comment::as_read(address)).await?;
        let waits = |first: &AsRead<Comment>| {
            !first.deleted && first.withheld.as_ref().is_some_and(Withheld::is_held)
        };
        let first = match first.filter(waits) {
            Some(held) => {
                let announcement = CommentNotice::of_first_comment(site, now, &held).await?;
                Some((held, announcement))
            }
            None => None,
        };
        Ok(Self { story, tweet, first, known })
    }

    /// Adds the publication to a batch: the story is as new as one that is posted now.
    pub(crate) fn write(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let time = now.timestamp();
        let mut news = News::clone(&self.story);
        news.withhold(None);
        news.ctime = time;
        if let Some(tweet) = &self.tweet {
            tweet.write(batch, site, &news.title, Some(news.id));
            news.tweet_id = Some(tweet.tweet.id);
        }
        for topic in &self.known {
            batch.sorted_member_present(keys::TOPICS, topic.as_str());
        }
        hooks::write(batch, &hooks::Event::Story(news.id));
        stored::publish(batch, (site, time), &news, &[(news.user_id, time)]);
        self.story.change(batch, site, time, news);
        if let Some((held, announcement)) = &self.first {
            write_published(batch, held, time);
            announcement.write(batch);
        }
    }

    /// Starts the delivery of the tweet, once the batch is applied.
    pub(crate) fn begin(self, site: &Site) {
        if let Some(tweet) = self.tweet {
            tweet.begin(site);
        }
    }
}
