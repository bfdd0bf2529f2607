//! Editing and deleting stories.

use super::{Submission, Submitted, url_guards};
use crate::accounts::{admission, trust};
use crate::articles::stories::StoredStory;
use crate::articles::topics::KnownTopics;
use crate::records::AsRead;
use crate::timelines::stored as tweets;
use crate::values::{Moment, NewsId, Thing, Topics, Withheld};
use crate::{AUDIT, CountedAction, Decision, News, Refusal, Result, Site, Tweet, User, keys, review};
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
) -> Result<()> {
    viewer.demand_may_post(now.timestamp())?;
    viewer.demand_confirmed(site)?;
    submission.check_edit()?;
    let url = submission.content.stored_url();
    site.act(&keys::news(id), || async {
        let story = read_changeable(site, now, viewer, id).await?;
        let is_held = story.withheld.as_ref().is_some_and(Withheld::is_held);
        trust::refuse_many_links(site, now.timestamp(), viewer, submission.text())?;
        admission::admit_edit(site, now.timestamp(), viewer, (submission.checked(), is_held)).await?;
        let mut news = News::clone(&story);
        news.edit(submission.title.as_str(), &url);
        news.topics = submission.topics.clone().unwrap_or(news.topics);
        if (&news.title, &news.url, &news.topics) != (&story.title, &story.url, &story.topics) {
            news.edited_at = Some(now.timestamp());
        }
        let mut batch = Batch::new();
        write_edit((site, now), viewer, (&story, news), false, &mut batch).await?;
        Decision::commit(batch, ()).once(viewer.request.as_ref(), &Submitted::New(id))
    })
    .await
}

/// Adds to a batch that a story reads otherwise. `comes_back` says whether it has had that text before. Rounds: at most 5.
///
/// # Errors
/// [`Refusal::UrlPostedRecently`], [`Refusal::NewTopicNeedsKarma`], or the store's.
pub(crate) async fn write_edit(
    (site, now): (&Site, Moment),
    viewer: &User,
    (story, after): (&StoredStory, News),
    comes_back: bool,
    batch: &mut Batch,
) -> Result<()> {
    if after.url != story.url {
        let people = (viewer, &**story);
        url_guards::move_to((site, now.timestamp()), people, (&after.url, comes_back), batch).await?;
    }
    let added = after.topics.without(&story.topics);
    if !added.is_empty() {
        let known = site.store.fetch(KnownTopics::among(&added)).await?;
        known.demand(site, (viewer, trust::is_trusted(site, now.timestamp(), viewer)), batch)?;
    }
    if let Some(tweet) = read_announcement(site, story).await? {
        tweets::change(batch, &tweet, &Tweet { text: after.title.clone(), ..Tweet::clone(&tweet) });
    }
    story.change(batch, site, now.timestamp(), after);
    Ok(())
}

/// Deletes an item: it is removed from the lists, and its thread stays readable. The tweet
/// that announced it is deleted.
///
/// # Errors
/// [`Refusal::NoSuchNews`], the refusals of [`News::may_change`], or the store's.
pub async fn delete_news(site: &Site, now: Moment, viewer: &User, id: NewsId) -> Result<()> {
    let key = keys::news(id);
    let deleted = site.act(&key, || async {
        let story = read_changeable(site, now, viewer, id).await?;
        let mut batch = Batch::new();
        if let Some(tweet) = read_announcement(site, &story).await? {
            tweets::delete(&mut batch, &tweet);
        }
        url_guards::forget(site, &mut batch, &story).await?;
        // A flagged story still needs a decision, so only the row of a held one is settled.
        if story.withheld.as_ref().is_some_and(Withheld::is_held) {
            review::settle(&mut batch, &Thing::Story(id));
        }
        story.change_with(&mut batch, (site, now.timestamp()), |news| {
            (news.deleted, news.topics) = (true, Topics::default());
        });
        Decision::commit(batch, ()).once(viewer.request.as_ref(), &())
    });
    deleted.await?;
    site.count(CountedAction::Deletion);
    tracing::info!(target: AUDIT, by = viewer.username, story = %id, "deleted a story");
    Ok(())
}

/// The tweet that announced an item, if it still exists.
pub(crate) async fn read_announcement(site: &Site, news: &News) -> Result<Option<AsRead<Tweet>>> {
    let Some(id) = news.tweet_id else { return Ok(None) };
    let tweet = site.store.fetch(tweets::by_id(id)).await?;
    // Another program may have written another tweet's id.
    Ok(tweet.filter(|tweet| tweet.news_id == Some(news.id)))
}

/// An item that the viewer may change now. Rounds: 1.
async fn read_changeable(site: &Site, now: Moment, viewer: &User, id: NewsId) -> Result<StoredStory> {
    let story = site.store.fetch(StoredStory::by_id(id)).await?.ok_or(Refusal::NoSuchNews)?;
    story.may_change(viewer, now.timestamp(), site.rules.limits.news_edit_seconds)?;
    Ok(story)
}
