//! What an action does, before it is committed with its line in the log.

use super::row::Row;
use super::{
    appeals, applications, held, keep, merging, notes, people, posts, profiles, remove_all, rules, stories,
    story_edits, threads,
};
use crate::accounts::users::{Role, User};
use crate::error::{Error, Refusal};
use crate::jobs::{Job, Jobs};
use crate::moderation::log::Line;
use crate::site::Site;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::{ModerationId, UserId};
use crate::values::moderation::{Deed, Reason, Thing};
use crate::values::restriction::RestrictionKind;
use futures_util::future::{BoxFuture, ready};
use tidings_keyspace::{Batch, CheckId};

/// An action that is about to be decided.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) site: &'a Site,
    pub(super) now: Moment,
    /// Who acts.
    pub(super) moderator: &'a User,
    /// The number of its line in the log.
    pub(super) id: ModerationId,
    pub(super) deed: &'a Deed,
    pub(super) thing: &'a Thing,
    pub(super) reason: &'a Reason,
    /// The line that it undoes, if it was asked for as an undo.
    pub(super) undoes: Option<&'a Line>,
    /// The row of the thing in the review queue, as far as there is one.
    pub(super) row: &'a Row,
}

impl Case<'_> {
    /// Refuses a moderator who must not act on a person, or on something of theirs.
    pub(super) fn demand_power_over(&self, person: &User) -> Result<(), Refusal> {
        if person.id == self.moderator.id {
            return Err(Refusal::OwnThing);
        }
        if person.given_role() > self.moderator.role() {
            return Err(Refusal::HigherRole);
        }
        Ok(())
    }

    /// Whether it may end whatever anybody has decided: an administrator may, and the answer to an appeal,
    /// which is the way to have somebody else look at a decision.
    pub(super) fn may_end_all(&self) -> bool {
        self.moderator.role() == Role::Administrator || matches!(self.thing, Thing::Appeal(_))
    }

    /// Refuses a moderator who would end what an administrator has decided. Rounds: 1, none for
    /// administrators and for their own decisions.
    pub(super) async fn demand_may_end(&self, decision: &Line) -> Result<(), Error> {
        if self.may_end_all() || decision.moderator == self.moderator.id {
            return Ok(());
        }
        let by = self.site.store.fetch(User::by_id(decision.moderator)).await?;
        match by.map(|by| by.given_role()) {
            Some(Role::Administrator) => Err(Refusal::DecidedByAdministrator.into()),
            _ => Ok(()),
        }
    }

    /// Refuses everybody but administrators.
    pub(super) fn demand_administrator(&self) -> Result<(), Refusal> {
        self.moderator.require_admin()
    }

    /// That the kind of thing does not take the action.
    pub(super) fn does_not_apply(&self) -> Refusal {
        Refusal::ActionDoesNotApply { action: self.deed.action().name(), kind: self.thing.kind() }
    }
}

/// What is done after the batch of an action is applied, such as starting a job.
type Then = Box<dyn FnOnce(&Site) + Send>;

/// What an action adds to its batch, and what its line says of it.
#[derive(Default)]
pub(super) struct Effect {
    /// The checks and writes.
    pub(super) batch: Batch,
    /// Why a check of them failed, other than by a race.
    pub(super) rejections: Vec<(CheckId, Refusal)>,
    /// The person whom it concerns.
    pub(super) concerns: Option<UserId>,
    /// What that person is told in the inbox.
    pub(super) message: Option<String>,
    /// The line whose action it ends: that line says so.
    pub(super) ends: Option<ModerationId>,
    /// When it ends by itself.
    pub(super) until: Option<Timestamp>,
    /// How many posts it is about.
    pub(super) count: Option<u64>,
    /// Whether a job does the rest of it: the line says so until the job deletes [`super::log::IN_PROGRESS`].
    pub(super) in_progress: bool,
    /// What undoing it needs.
    pub(super) before: Option<String>,
    /// What is done afterwards.
    pub(super) then: Vec<Then>,
}

impl Effect {
    /// Starts a job afterwards.
    pub(super) fn starts(&mut self, job: Option<Job>, now: Moment) {
        if let Some(job) = job {
            self.then.push(Box::new(move |site| site.of::<Jobs>().start_soon(job, now)));
        }
    }
}

/// Decides what an action does. On the heap: together, the futures would be too large for the stack.
pub(super) fn effect_of<'a>(case: &'a Case<'_>) -> BoxFuture<'a, Result<Effect, Error>> {
    match (case.deed, case.thing) {
        (Deed::Keep | Deed::Remove, _) if case.row.is_deleted(case.thing) => {
            Box::pin(keep::decide_deleted(case))
        }
        (Deed::Restore | Deed::Reopen, _) if keep::was_deleted(case) => Box::pin(keep::decide_deleted(case)),
        (Deed::Remove, Thing::Comment(address)) => Box::pin(posts::remove_comment(case, *address)),
        (Deed::Restore, Thing::Comment(address)) => Box::pin(posts::restore_comment(case, *address)),
        (Deed::Remove, Thing::Tweet(id)) => Box::pin(posts::remove_tweet(case, *id)),
        (Deed::Restore, Thing::Tweet(id)) => Box::pin(posts::restore_tweet(case, *id)),
        (Deed::Remove, Thing::User(name)) => Box::pin(profiles::remove(case, name)),
        (Deed::Restore, Thing::User(name)) => Box::pin(profiles::restore(case, name)),
        (Deed::RemoveAll(days), Thing::User(name)) => Box::pin(remove_all::remove(case, name, *days)),
        (Deed::Remove, Thing::Story(id)) => Box::pin(stories::remove(case, *id)),
        (Deed::Restore, Thing::Story(id)) => Box::pin(stories::restore(case, *id)),
        (Deed::Edit { title, topics, url, text }, Thing::Story(id)) => {
            let content = (url.as_ref(), text.as_ref());
            Box::pin(story_edits::edit(case, *id, (title.as_ref(), topics.as_ref()), content))
        }
        (Deed::Edit { title: None, topics: None, url: None, text }, Thing::Comment(address)) => {
            Box::pin(posts::edit_comment(case, *address, text.as_ref()))
        }
        (Deed::Merge(into), Thing::Story(id)) => Box::pin(merging::merge(case, *id, *into)),
        (Deed::Split, Thing::Story(id)) => Box::pin(merging::split(case, *id)),
        (Deed::Lock, Thing::Story(id)) => Box::pin(threads::lock(case, *id)),
        (Deed::Unlock, Thing::Story(id)) => Box::pin(threads::unlock(case, *id)),
        (Deed::Silence(hours), Thing::User(name)) => {
            Box::pin(people::restrict(case, name, RestrictionKind::Silence, *hours))
        }
        (Deed::Unsilence, Thing::User(name)) => Box::pin(people::lift(case, name, RestrictionKind::Silence)),
        (Deed::Hold(hours), Thing::User(name)) => {
            Box::pin(people::restrict(case, name, RestrictionKind::Hold, *hours))
        }
        (Deed::Discount(hours), Thing::User(name)) => {
            Box::pin(people::restrict(case, name, RestrictionKind::Discount, *hours))
        }
        (Deed::Recount, Thing::User(name)) => Box::pin(people::lift(case, name, RestrictionKind::Discount)),
        (Deed::Ban(hours), Thing::User(name)) => {
            Box::pin(people::restrict(case, name, RestrictionKind::Ban, *hours))
        }
        (Deed::Unban, Thing::User(name)) => Box::pin(people::lift(case, name, RestrictionKind::Ban)),
        (Deed::Warn, Thing::User(name)) => Box::pin(people::warn(case, name)),
        (Deed::Note, Thing::User(name)) => Box::pin(notes::add(case, name)),
        (Deed::Unnote, Thing::User(name)) => Box::pin(notes::delete(case, name)),
        (Deed::Approve, Thing::Appeal(id)) => Box::pin(appeals::grant(case, *id)),
        (Deed::Reject, Thing::Appeal(id)) => Box::pin(appeals::reject(case, *id)),
        (Deed::Reopen, Thing::Appeal(id)) => Box::pin(appeals::reopen(case, *id)),
        (Deed::MakeModerator, Thing::User(name)) => Box::pin(people::set_moderator(case, name, true)),
        (Deed::UnmakeModerator, Thing::User(name)) => Box::pin(people::set_moderator(case, name, false)),
        (Deed::Unhold, Thing::User(name)) => Box::pin(people::lift(case, name, RestrictionKind::Hold)),
        (Deed::Keep, _) => Box::pin(keep::keep(case)),
        (Deed::Reopen, _) if keep::is_undone(case) => Box::pin(keep::reopen(case)),
        (Deed::Approve, Thing::Story(id)) => Box::pin(held::approve_story(case, *id)),
        (Deed::Approve, Thing::Comment(address)) => Box::pin(held::approve_comment(case, *address)),
        (Deed::Approve, Thing::Tweet(id)) => Box::pin(held::approve_tweet(case, *id)),
        (Deed::Reject, Thing::Story(id)) => Box::pin(held::reject_story(case, *id)),
        (Deed::Reject, Thing::Comment(address)) => Box::pin(held::reject_comment(case, *address)),
        (Deed::Reject, Thing::Tweet(id)) => Box::pin(held::reject_tweet(case, *id)),
        (Deed::Reopen, Thing::Story(_) | Thing::Comment(_) | Thing::Tweet(_)) => Box::pin(held::reopen(case)),
        (Deed::Rule(pattern, effect), Thing::Rule(id)) => Box::pin(rules::add(case, *id, (pattern, *effect))),
        (Deed::Unrule, Thing::Rule(id)) => Box::pin(rules::lift(case, *id)),
        (Deed::Approve, Thing::Application(name)) => Box::pin(applications::approve(case, name)),
        (Deed::Reject, Thing::Application(name)) => Box::pin(applications::reject(case, name)),
        (Deed::Reopen, Thing::Application(name)) => Box::pin(applications::reopen(case, name)),
        _ => Box::pin(ready(Err(case.does_not_apply().into()))),
    }
}
