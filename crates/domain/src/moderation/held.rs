//! Contributions that wait for a moderator: approving and rejecting them, and taking a rejection back.

use super::{Case, ChangedFact, Effect};
use crate::comments::held::CommentPublication;
use crate::contributions::erasing::ERASE_ALL;
use crate::jobs::{self, Job};
use crate::post_state::Moderated;
use crate::submissions::held::Publication;
use crate::timelines::tweets::{NewTweet, TweetDraft};
use crate::values::Withheld;
use crate::{Contribution, NothingToDo, Refusal, Result, Tweet, User, review};

/// Publishes it.
pub(super) async fn approve(case: &Case<'_>) -> Result<Effect> {
    let contribution = case.contribution().await?;
    contribution.demand_held()?;
    let (site, now) = (case.site, case.now);
    let mut effect = Effect::default();
    review::settle(&mut effect.batch, case.thing);
    effect.changed.extend(ChangedFact::of_state(case.thing, None, (contribution.withheld(), None)));
    let erasure = Job::new(ERASE_ALL, contribution.author());
    if site.store.fetch(jobs::is_waiting(&erasure)).await? {
        return Err(Refusal::NothingToModerate(NothingToDo::AuthorErases).into());
    }
    // The job may have passed the list that the post enters.
    jobs::demand_none(&mut effect.batch, &erasure);
    match contribution {
        Contribution::Story(story) => {
            let author = site.store.fetch(User::by_id(story.user_id)).await?;
            let publication = Publication::read(site, now, (*story, author.as_ref())).await?;
            publication.write(&mut effect.batch, site, now);
            effect.then.push(Box::new(|site| publication.begin(site)));
        }
        Contribution::Comment(stored) => {
            let publication = CommentPublication::read(site, now, case.moderator, *stored).await?;
            publication.write(&mut effect.batch, now);
            effect.then.push(Box::new(|site| publication.begin(site)));
        }
        Contribution::Tweet(tweet) => {
            let mut published = Tweet::clone(&tweet);
            published.withhold(None);
            published.created_at = now.as_score();
            let draft = TweetDraft::of_stored(site, now, (*tweet, published)).await?;
            let text = draft.tweet.text.clone();
            let new = NewTweet::read(site, draft, &text).await?;
            new.write(&mut effect.batch, site, &text);
            effect.then.push(Box::new(move |site| new.draft.begin(site)));
        }
        Contribution::Profile(_) => return Err(case.does_not_apply().into()),
    }
    Ok(effect)
}

/// Rejects it: it is as if it were removed.
pub(super) async fn reject(case: &Case<'_>) -> Result<Effect> {
    let contribution = case.contribution().await?;
    contribution.demand_held()?;
    let mut effect = case.move_to(&contribution, Some(Withheld::removed(case.reason.as_str())));
    review::settle(&mut effect.batch, case.thing);
    Ok(effect)
}

/// Lets what was rejected wait again: the undo of a rejection.
pub(super) async fn reopen(case: &Case<'_>) -> Result<Effect> {
    let line = case.undoes.ok_or(Refusal::CannotBeUndone)?;
    let state = line.state_before().ok_or(Refusal::CannotBeUndone)?;
    let contribution = case.contribution().await?;
    let mut effect = Effect::default();
    contribution.withhold(&mut effect.batch, case.site, case.now.timestamp(), Some(state));
    review::enqueue(&mut effect.batch, case.thing, case.now.timestamp());
    Ok(effect)
}
