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
    let lock = Lock { moderation: case.id, reason: case.reason.as_str().into() };
    let mut effect = Effect { concerns: Some(news.user_id), ..Effect::default() };
    news.check_state(&mut effect.batch);
    effect.batch.field_absent(keys::news(id), LOCKED);
    effect.batch.set_field(keys::news(id), LOCKED, lock.to_string());
    Ok(effect)
}

/// Opens the thread of a story again.
pub(super) async fn unlock(case: &Case<'_>, id: NewsId) -> Result<Effect, Error> {
    let news = read_story(case, id).await?;
    let lock = news.locked.ok_or(Refusal::NothingToModerate("the thread is not locked"))?;
    let mut effect = Effect { concerns: Some(news.user_id), ..Effect::default() };
    effect.batch.field_equals(keys::news(id), LOCKED, lock.to_string());
    effect.batch.delete_field(keys::news(id), LOCKED);
    effect.ends = Some(lock.moderation);
    Ok(effect)
}
