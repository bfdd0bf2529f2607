//! Locked threads: everybody reads, nobody writes.

use super::{Case, ChangedFact, Effect};
use crate::articles::stories::StoredStory;
use crate::news::item::{LOCKED, Lock};
use crate::post_state::Moderated;
use crate::values::{Closed, NewsId, PostKind};
use crate::{News, NothingToDo, Refusal, Result, keys};

/// A story that the moderator may moderate. An account that is gone protects nothing. Rounds: 2.
pub(super) async fn read_story(case: &Case<'_>, id: NewsId) -> Result<StoredStory> {
    let news = case.site.store.fetch(StoredStory::by_id(id)).await?.ok_or(Refusal::NoSuchNews)?;
    Refusal::Closed(PostKind::Story, Closed::Deleted).when(news.deleted)?;
    case.demand_power_over_author(news.user_id).await?;
    Ok(news)
}

/// Locks the thread of a story.
pub(super) async fn lock(case: &Case<'_>, id: NewsId) -> Result<Effect> {
    let news = read_story(case, id).await?;
    Refusal::NothingToModerate(NothingToDo::LockedAlready).when(news.locked.is_some())?;
    // The undo of an unlocking locks for the reason that there was.
    let former = case.undoes.and_then(|line| line.changed_from(LOCKED)??.parse::<Lock>().ok());
    let reason = former.map_or_else(|| case.reason.as_str().into(), |former| former.reason);
    Ok(write(case, &news, Some(Lock { moderation: case.id, reason })))
}

/// Opens the thread of a story again.
pub(super) async fn unlock(case: &Case<'_>, id: NewsId) -> Result<Effect> {
    let news = read_story(case, id).await?;
    let lock = news.locked.as_ref().ok_or(Refusal::NothingToModerate(NothingToDo::NotLocked))?;
    Ok(Effect { ends: Some(lock.moderation), ..write(case, &news, None) })
}

/// Gives the thread of a story another lock, or none.
fn write(case: &Case<'_>, story: &StoredStory, lock: Option<Lock>) -> Effect {
    let mut effect = Effect::default();
    let locks = [&story.locked, &lock].map(|lock| lock.as_ref().map(ToString::to_string));
    let change = (locks[0].as_deref(), locks[1].as_deref());
    effect.changed.push(ChangedFact::of_field(keys::news(story.id), LOCKED, change));
    let mut news = News::clone(story);
    news.locked = lock;
    news.withhold(case.state_of_kept(story.withheld.as_ref()));
    story.change(&mut effect.batch, case.site, case.now.timestamp(), news);
    effect
}
