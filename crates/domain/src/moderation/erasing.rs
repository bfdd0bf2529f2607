//! Erasing a post for good, by administrators, and all posts of somebody who leaves and asks for that.

use super::{Case, Effect, PHASE, Phase, traces};
use crate::contributions::erasing::{self, ERASE_ALL, Erased};
use crate::error::Erasure;
use crate::jobs::{self, JobKind, Step, StepOutcome, members};
use crate::values::{Moment, Thing, Timestamp, UserId};
use crate::{Decision, Error, Refusal, Result, Site, User, fields, flags, keys};
use std::time::Duration;
use tidings_keyspace::Batch;
use tidings_language::t;

/// The jobs `erase_all:<user id>`.
pub(crate) const KIND: JobKind = JobKind { name: ERASE_ALL, step: |current| Box::pin(erase_next(current)) };

/// How long an action waits for the job that erases the traces in the log.
const PATIENCE: Duration = Duration::from_secs(2);

/// All that erasing a post takes away. Rounds: 1.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], the refusal for a missing item, [`Refusal::ErasedAlready`], or the
/// store's.
pub async fn loss(site: &Site, viewer: &User, thing: &Thing) -> Result<Erasure> {
    viewer.require_admin()?;
    erasing::loss(site, thing).await
}

/// Erases a post. Nobody is too high for it, and an administrator can erase what they have written themselves.
pub(super) async fn erase(case: &Case<'_>, confirmed: Option<&str>) -> Result<Effect> {
    let (site, now, id) = (case.site, case.now, case.thing.id());
    if confirmed != Some(id.as_str()) {
        let what = erasing::loss(site, case.thing).await?;
        return Err(Refusal::ErasureUnconfirmed { what, confirm: id.into() }.into());
    }
    let mut effect = Effect::default();
    let Erased { author, job } = erasing::erase(site, now, case.thing, &mut effect.batch).await?;
    effect.concerns = Some(author);
    let reason = case.reason.as_str();
    effect.tells(match case.thing {
        Thing::Tweet(_) => t!("An administrator has erased your post: {reason}", reason),
        Thing::Comment(_) => t!("An administrator has erased your comment: {reason}", reason),
        _ => t!("An administrator has erased your story: {reason}", reason),
    });
    effect.starts(Some(job), now);
    Ok(effect)
}

/// Erases a post without a line in the log: in a copy of a store. Rounds: those of the erasure.
///
/// # Errors
/// The refusal for a missing item, or the store's.
pub async fn erase_in_copy(site: &Site, now: Moment, thing: &Thing) -> Result<()> {
    let erased = site.act(keys::MODERATION_LOG, || async {
        let mut batch = Batch::new();
        drop(erasing::erase(site, now, thing, &mut batch).await?);
        Ok(Decision::commit(batch, ()))
    });
    erased.await?;
    traces::erase(site, now, thing).await
}

/// Waits a little for the job that erases what the log has kept of a post. It goes on afterwards.
pub async fn wait_for_traces(site: &Site, now: Moment, thing: &Thing) {
    if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, traces::erase(site, now, thing)).await {
        tracing::warn!(%thing, %error, "traces of an erasure not erased; a background job will go on");
    }
}

/// When something was erased last, unless that is long ago or forgotten. Rounds: 1.
pub async fn last(site: &Site) -> Result<Option<Timestamp>> {
    Ok(site.store.fetch(fields::string(keys::ERASED_LAST.to_owned())).await?.map(Timestamp))
}

/// Forgets when something was erased last, unless something has been erased since. Rounds: 1.
pub async fn forget_last(site: &Site, time: Option<Timestamp>) -> Result<()> {
    let Some(time) = time else { return Ok(()) };
    let mut batch = Batch::new();
    batch.string_equals(keys::ERASED_LAST, time.to_string());
    batch.delete(keys::ERASED_LAST);
    site.apply(batch).await.map(drop)
}

/// One step: erases the next post, the note of the next flag, or what the log has kept of some posts.
async fn erase_next(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let Some(author) = current.subject::<UserId>() else { return Ok(current.skip()) };
    let phase = current.field(PHASE).unwrap_or(Phase::Stories);
    let Some(list) = phase.list(author) else {
        return traces::step(current, &traces::TracesOf::Person(author)).await;
    };
    let posts = members::some_of(current, list, (f64::INFINITY, 1));
    let (found, place) = current.site.store.fetch(posts).await?;
    let mut batch = current.batch();
    let thing = found.first().and_then(|(member, _)| phase.thing(member));
    match (thing, phase) {
        (Some(thing), Phase::Flags) => flags::erase_note(current.site, &mut batch, &thing, author).await?,
        (Some(thing), _) => batch = erase_post(current, &thing, author).await?,
        (None, _) => {}
    }
    if let Some(place) = place {
        return Ok(current.advance(batch, &place));
    }
    let [score, member, tied] = members::before(f64::MIN);
    Ok(current.advance(batch, &[(PHASE, phase.next().name().to_owned()), score, member, tied]))
}

/// The batch of a step that erases a post of a person. Posts of others, and what is gone, are skipped.
async fn erase_post(current: &Step<'_>, thing: &Thing, author: UserId) -> Result<Batch> {
    let mut batch = current.batch();
    match erasing::erase(current.site, current.now, thing, &mut batch).await {
        Ok(Erased { author: wrote, job }) if wrote == author => {
            flags::erase(current.site, &mut batch, thing).await?;
            // The last phase looks for the traces of all posts at once.
            jobs::remove(&mut batch, &job);
            Ok(batch)
        }
        // It is gone already, or another program has listed a post of somebody else.
        Ok(_) | Err(Error::Refused(_)) => Ok(current.batch()),
        Err(error) => Err(error),
    }
}
