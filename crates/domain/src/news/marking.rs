//! Hiding stories, and saving them without a vote.
//!
//! A user marks stories for nobody else: no count, no score and no karma changes. A saved story is
//! also in the list of stories that the user voted up, where Lamer News has it.

use crate::news::discounted::DiscountedVotes;
use crate::values::{MAX_HIDDEN, MAX_SAVED, NewsId, Timestamp, UserId};
use crate::{Decision, News, Refusal, Result, Site, User, keys};
use tidings_keyspace::{Batch, read};

/// How a user marks a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The story leaves the user's lists. Beyond [`MAX_HIDDEN`], the ones that were hidden
    /// first are listed again.
    Hidden,
    /// The story is on the user's list of saved stories.
    Saved,
}

impl Mark {
    fn key(self, user: &User) -> String {
        match self {
            Self::Hidden => keys::user_hidden(user.id),
            Self::Saved => keys::user_saved(user.id),
        }
    }
}

/// Marks a story. A story that is marked already becomes the latest. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchNews`], those of [`PostState::demand_open`](crate::values::withheld::PostState::demand_open), [`Refusal::TooManySaved`],
/// [`Refusal::SessionEnded`], or the store's.
pub async fn mark(site: &Site, now: Timestamp, user: &User, mark: Mark, id: NewsId) -> Result<()> {
    let (key, member) = (mark.key(user), id.to_string());
    site.act(&key, || async {
        let reads = (News::by_id(id), read::score(&key, member.as_str()), read::sorted_count(&key));
        let (news, marked, count) = site.store.fetch(reads).await?;
        news.ok_or(Refusal::NoSuchNews)?.state().demand_open(user)?;
        let is_marked = marked.is_some();
        if mark == Mark::Saved && !is_marked && count >= MAX_SAVED {
            return Err(Refusal::TooManySaved { limit: MAX_SAVED }.into());
        }
        let mut batch = Batch::new();
        batch.sorted_add(&key, &member, now.as_score());
        match mark {
            Mark::Hidden => batch.sorted_trim(&key, MAX_HIDDEN),
            Mark::Saved => add_upvoted(&mut batch, user.id, id, now.as_score()),
        }
        user.decide(batch, (), &())
    })
    .await
}

/// Removes a mark. Does nothing for a story without it. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchNews`], or the store's.
pub async fn unmark(site: &Site, user: &User, mark: Mark, id: NewsId) -> Result<()> {
    let (key, member) = (mark.key(user), id.to_string());
    site.act(&key, || async {
        let reads = (
            News::by_id(id),
            read::score(&key, member.as_str()),
            read::score(keys::news_up(id), user.id.to_string()),
            read::field(keys::news_discounted(id), user.id.to_string()),
        );
        let (news, marked, voted, discounted) = site.store.fetch(reads).await?;
        if marked.is_none() {
            let is_seen = news.is_some_and(|news| news.state().is_known_to(user));
            return if is_seen { Ok(Decision::Done(())) } else { Err(Refusal::NoSuchNews.into()) };
        }
        let mut batch = Batch::new();
        batch.sorted_remove(&key, &member);
        let has_vote =
            voted.is_some() || DiscountedVotes::read(id, user.id, discounted.as_deref()).story.is_some();
        if mark == Mark::Saved && !has_vote {
            batch.sorted_member_absent(keys::news_up(id), user.id.to_string());
            remove_upvoted(&mut batch, user.id, id);
        }
        Decision::commit(batch, ()).once(user.request.as_ref(), &())
    })
    .await
}

/// Adds a story to the list of those that somebody has voted up or saved.
pub(crate) fn add_upvoted(batch: &mut Batch, user: UserId, id: NewsId, time: f64) {
    batch.sorted_add(keys::user_upvoted(user), id.to_string(), time);
}

/// Takes a story off that list.
pub(crate) fn remove_upvoted(batch: &mut Batch, user: UserId, id: NewsId) {
    batch.sorted_remove(keys::user_upvoted(user), id.to_string());
}
