//! Removing all that a person has posted in some days, and putting it back.
//!
//! A background job removes one post in each of its steps, so it goes on where it was after a
//! crash, and two servers never remove the same post twice. Its line in the log counts along.
//! `moderation:<id>:posts` has what was removed; another job puts back exactly that.

use super::log::{COUNT, IN_PROGRESS};
use super::profiles::lines_of;
use super::{Case, Effect, Line, PHASE, Phase, StoredPerson, read_person};
use crate::contributions::{Contribution, unless_refused};
use crate::flags::ThingFlags;
use crate::jobs::{self, Job, JobKind, Step, StepOutcome, members};
use crate::values::{FlagVerdict, MAX_REMOVALS_OF_ALL, ModerationId, Thing, UserId, Withheld};
use crate::{Decision, NothingToDo, Refusal, Result, keys};
use tidings_keyspace::{Batch, Hash, Order, read};
use tidings_language::{n, t};

/// The jobs `remove_all:<moderation id>`.
pub(crate) const KIND: JobKind =
    JobKind { name: "remove_all", step: |current| Box::pin(remove_next(current)) };
/// The jobs `restore_all:<moderation id>`.
pub(crate) const RESTORE: JobKind =
    JobKind { name: "restore_all", step: |current| Box::pin(restore_next(current)) };

/// The earlier state in a line that restores posts.
pub(super) const POSTS: &str = "posts";
/// The field of a user with the lines that removed all posts of some days and are not undone.
const REMOVED_ALL: &str = "removed_all";
/// The fields of the jobs: the times of the first and last post; the line that removed what is put back.
const SINCE: &str = "since";
const UNTIL: &str = "until";
const ORIGIN: &str = "origin";

/// The lines that removed all posts of some days and are not undone, from the hash of the user.
pub(super) fn not_undone(user: &Hash) -> Vec<ModerationId> {
    lines_of(user.get(REMOVED_ALL).unwrap_or_default())
}

/// Adds to a batch which of these lines are not undone.
fn store_not_undone(batch: &mut Batch, person: &StoredPerson, lines: &[ModerationId]) {
    let key = keys::user(person.user.id);
    batch.field_unchanged(&key, REMOVED_ALL, person.hash.get(REMOVED_ALL));
    if lines.is_empty() {
        batch.delete_field(key, REMOVED_ALL);
    } else {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        batch.set_field(key, REMOVED_ALL, lines.join(" "));
    }
}

/// Begins to remove all that a person has posted in the last days.
pub(super) async fn remove(case: &Case<'_>, name: &str, days: u64) -> Result<Effect> {
    let person = read_person(case, name).await?;
    let mut lines = not_undone(&person.hash);
    Refusal::NothingToModerate(NothingToDo::RemovedTooOften).when(lines.len() >= MAX_REMOVALS_OF_ALL)?;
    lines.push(case.id);
    let mut effect = Effect { count: Some(0), in_progress: true, ..Effect::default() };
    store_not_undone(&mut effect.batch, &person, &lines);
    let (job, now, until) = (Job::new(KIND.name, case.id), case.now, case.now.as_score());
    let since = until - days.saturating_mul(86_400) as f64;
    jobs::add(&mut effect.batch, &job, now, person.user.id);
    let fields = [
        (PHASE, Phase::Stories.name().to_owned()),
        (SINCE, format!("{since:?}")),
        (UNTIL, format!("{until:?}")),
    ];
    jobs::add_fields(&mut effect.batch, &job, fields.into_iter().chain(members::before(since)));
    effect.starts(Some(job), now);
    effect.tells(n!(
        days,
        "A moderator has removed what you posted in the last day: {reason}",
        "A moderator has removed what you posted in the last {days} days: {reason}",
        days = days.to_string(),
        reason = case.reason.as_str(),
    ));
    Ok(effect)
}

/// Begins to put back what a line removed. If that removal is not done yet, it ends.
pub(super) fn restore(case: &Case<'_>, person: &StoredPerson, origin: ModerationId) -> Result<Effect> {
    let mut lines = not_undone(&person.hash);
    let before = lines.len();
    lines.retain(|line| *line != origin);
    Refusal::NothingToModerate(NothingToDo::PostsRestored).when(lines.len() == before)?;
    let mut effect = Effect { count: Some(0), in_progress: true, ..Effect::default() };
    effect.ends = Some(origin);
    effect.before = Some(POSTS.to_owned());
    store_not_undone(&mut effect.batch, person, &lines);
    jobs::remove(&mut effect.batch, &Job::new(KIND.name, origin));
    effect.batch.delete_field(keys::moderation(origin), IN_PROGRESS);
    let (job, now) = (Job::new(RESTORE.name, case.id), case.now);
    jobs::add(&mut effect.batch, &job, now, person.user.id);
    jobs::add_fields(&mut effect.batch, &job, [(ORIGIN, origin.to_string())]);
    effect.starts(Some(job), now);
    let reason = case.reason.as_str();
    effect.tells(t!("Your removed posts have been restored: {reason}", reason));
    Ok(effect)
}

/// One step: removes the next post, or goes on to the next kind of posts.
async fn remove_next(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let fields = (current.author(), current.field(PHASE), current.field(UNTIL), current.field(SINCE));
    let (Some(line), (Some(author), Some(phase), Some(until), Some(since))) =
        (current.subject::<ModerationId>(), fields)
    else {
        return Ok(current.skip());
    };
    let phase: Phase = phase;
    let Some(list) = phase.list(author) else { return Ok(current.skip()) };
    let posts = members::some_of(current, list, (until, 1));
    let (found_line, (found, place)) = current.site.store.fetch((Line::by_id(line), posts)).await?;
    let Some(Line { reason, .. }) = found_line else { return Ok(current.skip()) };
    let mut batch = current.batch();
    if let Some((member, time)) = found.first()
        && let Some(thing) = phase.thing(member)
        && remove_post(current, &mut batch, &thing, (author, line, &reason)).await?
    {
        batch.increment_field(keys::moderation(line), COUNT, 1);
        batch.sorted_add(keys::moderation_posts(line), thing.to_string(), *time);
        let flags = current.site.store.fetch(ThingFlags::on(thing)).await?;
        flags.decide(&mut batch, FlagVerdict::Upheld, line);
    }
    if let Some(place) = place {
        return Ok(current.advance(batch, &place));
    }
    if phase == Phase::Tweets {
        batch.delete_field(keys::moderation(line), IN_PROGRESS);
        return Ok(current.finish(batch));
    }
    let [score, member, tied] = members::before(since);
    Ok(current.advance(batch, &[(PHASE, phase.next().name().to_owned()), score, member, tied]))
}

/// Adds to a batch that a post of a person is removed. Returns whether it is: others, and those that
/// are removed or deleted already, are skipped.
async fn remove_post(
    current: &Step<'_>,
    batch: &mut Batch,
    thing: &Thing,
    (author, line, reason): (UserId, ModerationId, &str),
) -> Result<bool> {
    let (site, now) = (current.site, current.now);
    let post = Contribution::find(site, thing).await?;
    let post = post.filter(|post| post.author() == author && post.demand_not_removed().is_ok());
    let Some(post) = post else { return Ok(false) };
    // Another server may be at this step too, and have taken the tweet that announces a story: then the
    // batch fails, and the step is decided again.
    let removed = post.remove((site, now), batch, (line, Withheld::removed(reason))).await;
    Ok(unless_refused(removed)?.is_some())
}

/// One step: puts back the next post that a line removed.
async fn restore_next(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let (Some(line), Some(origin)) =
        (current.subject::<ModerationId>(), current.field::<ModerationId>(ORIGIN))
    else {
        return Ok(current.skip());
    };
    let posts = keys::moderation_posts(origin);
    let first = current.site.store.fetch(read::sorted_range(&posts, Order::Ascending, 0, 1)).await?;
    let mut batch = current.batch();
    let Some((member, _)) = first.first() else {
        batch.delete_field(keys::moderation(line), IN_PROGRESS);
        return Ok(current.finish(batch));
    };
    batch.sorted_remove(posts, member);
    if let Ok(thing) = member.parse()
        && restore_post(current, &mut batch, &thing, origin).await?
    {
        batch.increment_field(keys::moderation(line), COUNT, 1);
        let mut flags = current.site.store.fetch(ThingFlags::on(thing)).await?;
        flags.reopen(&mut batch, origin, None, current.now.timestamp());
    }
    Ok(current.advance(batch, &[]))
}

/// Adds to a batch that a post is put back, if it was removed by a line. Returns whether it is: it
/// may have been put back, removed again or deleted since.
async fn restore_post(step: &Step<'_>, batch: &mut Batch, thing: &Thing, line: ModerationId) -> Result<bool> {
    let (site, now) = (step.site, step.now);
    let Some(post) = Contribution::find(site, thing).await? else { return Ok(false) };
    if post.removal().is_ok_and(|removed| removed.line == line)
        && let Some(delivery) = unless_refused(post.put_back((site, now), batch).await)?
    {
        step.starts(delivery);
        return Ok(true);
    }
    Ok(false)
}
