//! Merging a story into another, and splitting it off again.
//!
//! A merged story leaves the lists like a removed one. Its comments stay in its own thread,
//! which the page of the other story shows below its own.

use super::removals::{put_back, withdraw};
use super::{Case, Effect, read_story};
use crate::articles::stories::StoredStory;
use crate::contributions::erasing::place_of;
use crate::news::item::MERGED;
use crate::values::{MAX_MERGED_STORIES, NewsId, Thing, Withheld};
use crate::{Contribution, News, NothingToDo, Refusal, Result, keys};
use tidings_language::t;

/// Merges a story into another.
pub(super) async fn merge(case: &Case<'_>, id: NewsId, into: NewsId) -> Result<Effect> {
    Refusal::NothingToModerate(NothingToDo::MergedIntoItself).when(id == into)?;
    let news = read_story(case, id).await?;
    news.state().demand_open(case.moderator)?;
    Refusal::HasMergedStories.when(!news.merged.0.is_empty())?;
    let target = read_story(case, into).await?;
    target.state().demand_open(case.moderator)?;
    if target.merged.0.len() >= MAX_MERGED_STORIES {
        let limit = u64::try_from(MAX_MERGED_STORIES).unwrap_or(u64::MAX);
        return Err(Refusal::TooManyMerged { limit }.into());
    }
    let title = news.title.clone();
    let mut effect = withdraw(case, Contribution::Story(news.into()), Withheld::Merged(into)).await?;
    // Nobody has merged anything into this story meanwhile.
    effect.batch.field_absent(keys::news(id), MERGED);
    target.change_with(&mut effect.batch, (case.site, case.now.timestamp()), |news| news.merged.0.push(id));
    effect.before = Some(into.to_string());
    effect.tells(t!(
        "A moderator has merged your story “{title}” {place} into another {other}: {reason}",
        title,
        place = place_of(case.thing),
        other = place_of(&Thing::Story(into)),
        reason = case.reason.as_str(),
    ));
    Ok(effect)
}

/// Makes a merged story one of its own again.
pub(super) async fn split(case: &Case<'_>, id: NewsId) -> Result<Effect> {
    let news = read_story(case, id).await?;
    let Some(into) = news.withheld.as_ref().and_then(Withheld::merged_into) else {
        return Err(Refusal::NothingToModerate(NothingToDo::NotMerged).into());
    };
    let merged_by = news.removed.as_deref().cloned();
    let merged_by = merged_by.ok_or(Refusal::NothingToModerate(NothingToDo::NotMerged))?;
    let title = news.title.clone();
    let mut effect = put_back(case, &Contribution::Story(news.into()), &merged_by).await?;
    if let Some(target) = case.site.store.fetch(StoredStory::by_id(into)).await? {
        let split = |news: &mut News| news.merged.0.retain(|other| *other != id);
        target.change_with(&mut effect.batch, (case.site, case.now.timestamp()), split);
    }
    effect.tells(t!(
        "Your story “{title}” {place} is no longer merged into {other}: {reason}",
        title,
        place = place_of(case.thing),
        other = format!("/news/{into}"),
        reason = case.reason.as_str(),
    ));
    Ok(effect)
}
