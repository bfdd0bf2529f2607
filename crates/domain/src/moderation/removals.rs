//! Removing stories, comments and tweets, and putting them back.

use super::{Case, ChangedFact, Effect, log};
use crate::values::{ModerationId, RemovedBy, Withheld};
use crate::{Contribution, Error, News, NothingToDo, Refusal, Result};

/// Removes a contribution. Readers see that a story or a comment is removed, and why.
pub(super) async fn remove(case: &Case<'_>) -> Result<Effect> {
    let contribution = case.contribution().await?;
    contribution.demand_not_removed()?;
    withdraw(case, contribution, Withheld::removed(case.reason.as_str())).await
}

/// Takes a contribution out of all lists, for a reason that is its new state.
pub(super) async fn withdraw(case: &Case<'_>, contribution: Contribution, state: Withheld) -> Result<Effect> {
    let mut effect = Effect::default();
    let states = (contribution.withheld(), Some(&state));
    effect.changed.extend(ChangedFact::of_state(case.thing, None, states));
    effect.changed.extend(ChangedFact::of_removal(case.thing, None, case.id));
    contribution.remove((case.site, case.now), &mut effect.batch, (case.id, state)).await?;
    Ok(effect)
}

/// Puts a removed contribution back.
pub(super) async fn restore(case: &Case<'_>) -> Result<Effect> {
    let contribution = case.contribution().await?;
    let removed = contribution.removal()?.clone();
    if let Contribution::Tweet(tweet) = &contribution
        && let Some(news) = tweet.news_id
    {
        // A tweet that announces a removed story comes back with the story.
        let news = case.site.store.fetch(News::by_id(news)).await?;
        news.map_or(Ok(()), |news| news.state().demand_open(case.moderator))?;
    }
    put_back(case, &contribution, &removed).await
}

/// Puts a contribution back into all lists, as it was before it was taken out.
pub(super) async fn put_back(case: &Case<'_>, post: &Contribution, removed: &RemovedBy) -> Result<Effect> {
    let ends = ended_by(case, removed.line).await?;
    let mut effect = Effect { ends, ..Effect::default() };
    let states = (post.withheld(), removed.earlier.as_ref());
    effect.changed.extend(ChangedFact::of_state(case.thing, None, states));
    let delivery = post.put_back((case.site, case.now), &mut effect.batch).await?;
    effect.starts(delivery, case.now);
    Ok(effect)
}

/// The line that ends if something comes back that another line removed: that one, if it is about this
/// alone. Rounds: 1.
///
/// # Errors
/// [`Refusal::NothingToModerate`] if it is asked for as the undo of another line.
pub(super) async fn ended_by(case: &Case<'_>, removed_by: ModerationId) -> Result<Option<ModerationId>> {
    if case.undoes.is_some_and(|line| line.id != removed_by) {
        return Err(Refusal::NothingToModerate(NothingToDo::RemovedAgain).into());
    }
    match log::read_line(case.site, removed_by).await {
        Ok(line) => {
            if case.undoes.is_none() {
                case.demand_may_end(&line).await?;
            }
            Ok((line.thing == *case.thing && line.undone_by.is_none()).then_some(removed_by))
        }
        Err(Error::Refused(Refusal::NoSuchModeration)) => Ok(None),
        Err(error) => Err(error),
    }
}
