//! Erasing what somebody has written: title, address and text are gone at once, and the place stays, so that
//! threads hold. It cannot be taken back.
//!
//! The batch of an erasure writes the post, all lists, its author's messages, and what was kept for putting
//! it back. A job, `erase:<thing>`, goes through the log of moderation for what else was kept of it.

use super::{Contribution, excerpt};
use crate::accounts::inbox::erase_messages;
use crate::error::Erasure;
use crate::jobs::{self, Job};
use crate::submissions::{read_announcement, url_guards};
use crate::timelines::stored as tweets;
use crate::values::{CommentAddress, Moment, Thing, UserId};
use crate::{Comment, News, Refusal, Result, Site, keys, records, review};
use std::time::Duration;
use tidings_keyspace::Batch;

/// The name of the jobs `erase:<thing>`.
pub(crate) const TRACES: &str = "erase";
/// The name of the jobs `erase_all:<user id>`.
pub(crate) const ERASE_ALL: &str = "erase_all";
/// The field of such a job with the name that the user had.
pub(crate) const NAME: &str = "name";
/// How long the time of the last erasure is kept.
const LAST_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// Something that is erased with a batch.
pub(crate) struct Erased {
    /// Its author.
    pub(crate) author: UserId,
    /// The job to start once the batch is applied: it erases what the log has kept.
    pub(crate) job: Job,
}

/// Adds to a batch that a story, a comment or a tweet is erased, whatever its state. Rounds: at most 8, and
/// those of mentions.
///
/// # Errors
/// The refusal for a missing item; [`Refusal::ErasedAlready`]; [`Refusal::CannotBeFlagged`] for other
/// kinds; or the store's.
pub(crate) async fn erase(site: &Site, now: Moment, thing: &Thing, batch: &mut Batch) -> Result<Erased> {
    let (post, place) = (read_unerased(site, thing).await?, place_of(thing));
    let quote = match &post {
        Contribution::Story(story) => {
            url_guards::forget(site, batch, story).await?;
            // The tweet that announces it goes along.
            if let Some(tweet) = read_announcement(site, story).await? {
                tweets::delete(batch, &tweet);
            }
            story.change_with(batch, (site, now.timestamp()), News::erase);
            place.clone()
        }
        Contribution::Comment(stored) => {
            records::change(batch, &stored.comment, &stored.comment.changed(Comment::erase));
            format!("comment “{}”", excerpt(&stored.comment.body))
        }
        Contribution::Tweet(tweet) => {
            tweets::delete(batch, tweet);
            format!("post “{}”", excerpt(&tweet.text))
        }
        Contribution::Profile(_) => return Err(Refusal::CannotBeFlagged(thing.clone()).into()),
    };
    let author = post.author();
    erase_messages(site, batch, author, |text| text.contains(&quote) || text.contains(&place)).await?;
    review::settle(batch, thing);
    let traces = Job::new(TRACES, thing);
    jobs::add(batch, &traces, now, author);
    // Files hold its bytes until they are compacted.
    batch.set_expiring(keys::ERASED_LAST, now.timestamp().to_string(), LAST_KEPT);
    Ok(Erased { author, job: traces })
}

/// All that erasing something takes away. Rounds: 1.
///
/// # Errors
/// Those of [`erase`].
pub(crate) async fn loss(site: &Site, thing: &Thing) -> Result<Erasure> {
    let place = place_of(thing);
    Ok(match read_unerased(site, thing).await? {
        Contribution::Story(news) => {
            Erasure::Story { title: news.title.clone(), place, comments: news.comments }
        }
        Contribution::Comment(stored) => Erasure::Comment { excerpt: excerpt(&stored.comment.body), place },
        Contribution::Tweet(tweet) => Erasure::Tweet { excerpt: excerpt(&tweet.text), place },
        Contribution::Profile(_) => return Err(Refusal::CannotBeFlagged(thing.clone()).into()),
    })
}

/// A post, whatever its state, unless it was erased. Rounds: 1.
async fn read_unerased(site: &Site, thing: &Thing) -> Result<Contribution> {
    let post = site.store.fetch(Contribution::of_post(thing)).await??;
    let is_erased = match &post {
        Contribution::Story(story) => story.is_erased(),
        Contribution::Comment(stored) => stored.comment.is_erased(),
        Contribution::Tweet(_) | Contribution::Profile(_) => false,
    };
    if is_erased { Err(Refusal::ErasedAlready.into()) } else { Ok(post) }
}

/// The address of a comment, as messages name it.
pub(crate) fn place_of_comment(CommentAddress { news, comment }: CommentAddress) -> String {
    format!("/comment/{news}/{comment}")
}

/// The address of a post in brackets, as messages name it.
pub(crate) fn place_of(thing: &Thing) -> String {
    match thing {
        Thing::Comment(address) => format!("({})", place_of_comment(*address)),
        Thing::Tweet(id) => format!("(/tweet/{id})"),
        other => format!("(/news/{})", other.id()),
    }
}
