//! Stories that wait for a moderator: stored, and in no list, count, timeline or feed until they
//! are published. A first comment waits with its story.

use super::{enter_lists, new_article_of, write_story};
use crate::accounts::users::User;
use crate::articles::article;
use crate::articles::topics::KnownTopics;
use crate::comments::comment::Comment;
use crate::comments::held::write_published;
use crate::comments::notify::CommentNotice;
use crate::error::Error;
use crate::hooks::{self, Event};
use crate::keys;
use crate::news::entries::StoryEntries;
use crate::news::item::{News, write_state};
use crate::records::AsRead;
use crate::review;
use crate::site::Site;
use crate::submissions::Submission;
use crate::timelines::tweets::TweetDraft;
use crate::unseen;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::{CommentAddress, CommentId, NewsId};
use crate::values::moderation::Thing;
use crate::values::topic::Topic;
use crate::values::withheld::Withheld;
use tidings_keyspace::Batch;

/// The comment that waits with its story.
const FIRST: CommentId = CommentId(1);

/// Adds a story that waits to a batch.
pub(super) fn write(
    batch: &mut Batch,
    now: Timestamp,
    (author, id): (&User, NewsId),
    submission: &Submission,
    mut first: Option<Comment>,
    reason: &str,
) {
    let state = Withheld::Held(reason.into());
    if let Some(first) = &mut first {
        first.withheld = Some(state.clone());
    }
    write_story(batch, now, (author.id, id), submission, first.as_ref());
    write_state(batch, id, Some(&state));
    if let Some(topics) = submission.topics.as_ref().filter(|topics| !topics.is_empty()) {
        batch.set_field(keys::news(id), "topics", topics.stored());
    }
    unseen::add(batch, author.id, &Thing::Story(id), now.as_score());
    review::enqueue(batch, &Thing::Story(id), now);
}

/// A held story that is about to be published, with what was read for it.
pub(crate) struct Publication {
    news: News,
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
        (news, author): (News, Option<&User>),
    ) -> Result<Self, Error> {
        let address = CommentAddress { news: news.id, comment: FIRST };
        let known = site.store.fetch(KnownTopics::among(&news.topics)).await?.existing();
        // An author who has left announces nothing.
        let announces = |author: &&User| site.rules.features.timelines && author.tweet_news;
        let tweet = match author.filter(announces) {
            Some(author) => Some(TweetDraft::draw(site, now, author.id).await?),
            None => None,
        };
        let first = site.store.fetch(Comment::as_read(address)).await?;
        let waits =
            |first: &AsRead<Comment>| !first.deleted && matches!(first.withheld, Some(Withheld::Held(_)));
        let first = match first.filter(waits) {
            Some(held) => {
                let announcement = CommentNotice::of_first_comment(site, now, &held).await?;
                Some((held, announcement))
            }
            None => None,
        };
        Ok(Self { news, tweet, first, known })
    }

    /// Adds the publication to a batch: the story is as new as one that is posted now.
    pub(crate) fn write(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let (id, time) = (self.news.id, now.timestamp());
        let key = keys::news(id);
        batch.field_equals(&key, "url", &self.news.url);
        batch.field_unchanged(&key, "topics", self.news.stored_topics.as_deref());
        self.news.write_state(batch, None);
        batch.set_field(&key, "ctime", time.to_string());
        hooks::write(batch, &Event::Story(id));
        unseen::remove(batch, self.news.user_id, &Thing::Story(id));
        batch.key_absent(keys::article(id));
        let entries = StoryEntries { posted: time, ..StoryEntries::of(&self.news) };
        enter_lists(batch, site, self.news.user_id, entries);
        let article = new_article_of(site, time, &self.news);
        for topic in &self.known {
            batch.sorted_member_present(keys::TOPICS, topic.as_str());
        }
        article::write_new(batch, time, id, &article, [self.news.user_id].iter(), &self.news.topics);
        if let Some((held, announcement)) = &self.first {
            write_published(batch, held, time);
            announcement.write(batch);
        }
        if let Some(tweet) = &self.tweet {
            tweet.write(batch, site, &self.news.title, Some(id));
            batch.set_field(&key, "tweet_id", tweet.id.to_string());
        }
    }

    /// Starts the delivery of the tweet, once the batch is applied.
    pub(crate) fn begin(self, site: &Site) {
        if let Some(tweet) = self.tweet {
            tweet.begin(site);
        }
    }
}
