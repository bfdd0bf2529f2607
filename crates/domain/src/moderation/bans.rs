//! The effects of a ban beside the field of the user: it ends the sessions, and takes the votes on
//! sites out of the scores. The decision that votes do not count does the same to those votes.
//!
//! The votes follow in a background job, which makes the voter's ban agree with the account's.
//! A ban or a decision with an end is also in `bans:ending`. When the end has passed, a server of the
//! store finds it there within some seconds and adds the job again. The right to log in does not wait
//! for that: it only compares the clock. Nor does the first vote on a site after the ban: it puts
//! the other votes back first.

use super::{Case, Effect, discounts};
use crate::accounts::AllSessions;
use crate::jobs::{self, Job, JobKind, Jobs, Step, StepOutcome};
use crate::values::{ENDED_BANS_CHUNK, Moment, Restriction, RestrictionKind, UserId, VoterId, random_token};
use crate::{Applied, Decision, Result, Site, User, fields, keys, sites};
use std::time::Duration;
use tidings_keyspace::{Batch, Order, Store, read};

/// The jobs `siteban:<user id>`.
pub(crate) const KIND: JobKind = JobKind { name: "siteban", step: |current| Box::pin(step(current)) };

/// The restrictions that take the votes on sites out of the scores.
const KINDS: [RestrictionKind; 2] = [RestrictionKind::Ban, RestrictionKind::Discount];

/// How often a server looks for bans that have ended.
pub(crate) const EVERY: (Duration, Duration) = (Duration::ZERO, Duration::from_secs(2));

fn job(user: UserId) -> Job {
    Job::new(KIND.name, user)
}

/// Adds to the batch of a ban that all sessions of the user end. Rounds: 1.
pub(super) async fn end_sessions(site: &Site, batch: &mut Batch, user: UserId) -> Result<()> {
    AllSessions::read(site, user).await?.end(batch, None);
    batch.set_field(keys::user(user), "apisecret", random_token()?);
    Ok(())
}

/// Adds to the effect of a ban, or of lifting it, that the votes on sites follow.
pub(super) fn follow_with_votes(
    case: &Case<'_>,
    effect: &mut Effect,
    user: &User,
    (kind, restriction): (RestrictionKind, Option<&Restriction>),
) {
    let now = case.now;
    let of_kind = |other| match other == kind {
        true => restriction,
        false => user.restrictions.in_force(other, now.timestamp()),
    };
    write_end(&mut effect.batch, user.id, KINDS.into_iter().filter_map(of_kind));
    jobs::add(&mut effect.batch, &job(user.id), now, user.id);
    effect.starts(Some(job(user.id)), now);
    if kind == RestrictionKind::Discount {
        let job = discounts::follow(&mut effect.batch, user.id, now);
        effect.starts(Some(job), now);
    }
}

/// Adds to a batch when the first of the restrictions ends that are in force.
fn write_end<'a>(batch: &mut Batch, user: UserId, in_force: impl Iterator<Item = &'a Restriction>) {
    match in_force.filter_map(|restriction| restriction.until).min() {
        Some(end) => batch.sorted_add(keys::BANS_ENDING, user.to_string(), end.as_score()),
        None => batch.sorted_remove(keys::BANS_ENDING, user.to_string()),
    }
}

/// Makes the ban of the voter agree with the restrictions of its account, and puts the other votes
/// back if they count again by themselves. If the account changes meanwhile,
/// that has added the job anew, and this step does not count.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let Some(user) = current.subject::<UserId>() else { return Ok(current.skip()) };
    let [ban, discount] = KINDS.map(RestrictionKind::field);
    let [ban, discount, voter] =
        current.site.store.fetch(read::fields(keys::user(user), [ban, discount, "voter"])).await?;
    let was_discounted = discount.is_some();
    let in_force = |stored: Option<String>, kind: RestrictionKind| {
        let stored: Option<Restriction> = fields::read(stored.as_deref(), || keys::user(user), kind.field());
        stored.filter(|restriction| restriction.is_in_force(current.now.timestamp()))
    };
    let ban = in_force(ban, RestrictionKind::Ban);
    let discount = in_force(discount, RestrictionKind::Discount);
    let is_banned = ban.is_some() || discount.is_some();
    if let Some(voter) = fields::read::<VoterId>(voter.as_deref(), || keys::user(user), "voter") {
        sites::set_account_ban(current.site, voter, is_banned).await?;
    }
    let mut batch = current.batch();
    write_end(&mut batch, user, ban.iter().chain(&discount));
    if was_discounted && discount.is_none() {
        current.starts([discounts::follow(&mut batch, user, current.now)]);
    }
    Ok(current.finish(batch))
}

/// Adds the jobs of the bans that have ended. Rounds: 1, and 1 for each such ban.
pub(crate) async fn follow_ended(site: &Site, store: &Store, now: Moment) -> Result<()> {
    let scores = (f64::NEG_INFINITY, now.as_score());
    let ended = store
        .fetch(read::sorted_by_score(keys::BANS_ENDING, Order::Ascending, scores, ENDED_BANS_CHUNK))
        .await?;
    for user in fields::members(ended, keys::BANS_ENDING, |(user, _)| user.parse::<UserId>().ok()) {
        let mut batch = Batch::new();
        batch.sorted_member_present(keys::BANS_ENDING, user.to_string());
        batch.sorted_remove(keys::BANS_ENDING, user.to_string());
        jobs::add(&mut batch, &job(user), now, user);
        if let Applied::Yes(_) = site.apply(batch).await? {
            site.of::<Jobs>().start_soon(job(user), now);
        }
    }
    Ok(())
}
