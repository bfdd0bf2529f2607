//! Locked threads: everybody reads, nobody writes.

use super::case::{Case, Effect};
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::item::{LOCKED, Lock, News};
use crate::values::ids::NewsId;
use tidings_keyspace::read;

/// A story that the moderator may moderate. An account that is gone protects nothing. Rounds: 2.
pub(super) async fn read_story(case: &Case<'_>, id: NewsId) -> Result<News, Error> {
    let hash = case.site.store.fetch(read::hash(keys::news(id))).await?;
    let news = News::from_hash(&hash).ok_or(Refusal::NoSuchNews)?;
    if news.deleted {
        return Err(Refusal::NewsDeleted.into());
    }
    case.demand_power_over_author(news.user_id).await?;
    Ok(news)
}

/// Locks the thread of a story.
pub(super) async fn lock(case: &Case<'_>, id: NewsId) -> Result<Effect, Error> {
    let news = read_story(case, id).await?;
    if news.locked.is_some() {
        return Err(Refusal::NothingToModerate("the thread is already locked").into());
    }
    // The undo of an unlocking locks for the reason that there was.
    let former = case.undoes.and_then(|line| line.changed_from(LOCKED)??.parse::<Lock>().ok());
    let reason = former.map_or_else(|| case.reason.as_str().into(), |former| former.reason);
    let lock = Lock { moderation: case.id, reason };
    let mut effect = Effect { concerns: Some(news.user_id), ..Effect::default() };
    news.check_state(&mut effect.batch);
    effect.change(keys::news(id), LOCKED, (None, Some(&lock.to_string())));
    Ok(effect)
}

/// Opens the thread of a story again.
pub(super) async fn unlock(case: &Case<'_>, id: NewsId) -> Result<Effect, Error> {
    let news = read_story(case, id).await?;
    let lock = news.locked.ok_or(Refusal::NothingToModerate("the thread is not locked"))?;
    let mut effect = Effect { concerns: Some(news.user_id), ..Effect::default() };
    effect.change(keys::news(id), LOCKED, (Some(&lock.to_string()), None));
    effect.ends = Some(lock.moderation);
    Ok(effect)
}
