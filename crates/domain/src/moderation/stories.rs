//! Removing stories, and putting them back.

use super::case::{Case, Effect};
use super::log;
use super::threads::read_story;
use crate::error::{Error, Refusal};
use crate::news::item::News;
use crate::submissions::withdrawal::{Return, Withdrawal};
use crate::values::ids::{ModerationId, NewsId};
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;

/// Removes a story: readers see that and why, and it is in no list.
pub(super) async fn remove(case: &Case<'_>, id: NewsId) -> Result<Effect, Error> {
    let news = read_story(case, id).await?;
    match news.withheld {
        Some(Withheld::Removed(_)) => {
            return Err(Refusal::NothingToModerate("the story is removed already").into());
        }
        Some(Withheld::Merged(into)) => return Err(Refusal::NewsMerged(into).into()),
        Some(Withheld::Held(_) | Withheld::Flagged | Withheld::Unreadable(_)) | None => {}
    }
    let title = news.title.clone();
    let mut effect = withdraw(case, news, Withheld::removed(case.reason.as_str())).await?;
    effect.message =
        Some(format!("A moderator has removed your story “{title}” (/news/{id}): {}", case.reason));
    Ok(effect)
}

/// Puts a removed story back.
pub(super) async fn restore(case: &Case<'_>, id: NewsId) -> Result<Effect, Error> {
    let news = read_story(case, id).await?;
    if !matches!(news.withheld, Some(Withheld::Removed(_))) {
        return Err(Refusal::NothingToModerate("the story is not removed").into());
    }
    let mut effect = put_back(case, &news).await?;
    let title = &news.title;
    effect.message =
        Some(format!("Your story “{title}” (/news/{id}), which was removed, is back: {}", case.reason));
    Ok(effect)
}

/// Takes a story out of all lists, for a reason that is its new state.
pub(super) async fn withdraw(case: &Case<'_>, news: News, state: Withheld) -> Result<Effect, Error> {
    let mut effect = Effect { concerns: Some(news.user_id), ..Effect::default() };
    let withdrawal = Withdrawal::read(case.site, case.now, news, state).await?;
    withdrawal.write(&mut effect.batch, case.now, case.id);
    effect.starts(withdrawal.job(), case.now);
    Ok(effect)
}

/// Puts a story back into all lists, as it was before it was withdrawn.
pub(super) async fn put_back(case: &Case<'_>, news: &News) -> Result<Effect, Error> {
    let back = Return::read(case.site, case.now, news.id).await?;
    if case.undoes.is_some_and(|line| line.id != back.line()) {
        return Err(Refusal::NothingToModerate("the story was restored and removed again since").into());
    }
    let ends = ended_by(case, news.id, back.line()).await?;
    let mut effect = Effect { concerns: Some(news.user_id), ends, ..Effect::default() };
    back.write(&mut effect.batch, case.site, case.now);
    effect.starts(back.job(case.site), case.now);
    Ok(effect)
}

/// The line that ends if a story comes back: the one that is about this story alone.
async fn ended_by(case: &Case<'_>, id: NewsId, line: ModerationId) -> Result<Option<ModerationId>, Error> {
    match log::read_line(case.site, line).await {
        Ok(found) => {
            if case.undoes.is_none() {
                case.demand_may_end(&found).await?;
            }
            Ok((found.thing == Thing::Story(id) && found.undone_by.is_none()).then_some(line))
        }
        Err(Error::Refused(Refusal::NoSuchModeration)) => Ok(None),
        Err(error) => Err(error),
    }
}
