//! What an action does, before it is committed with its line in the log.

use super::row::Row;
use super::{
    appeals, applications, held, keep, merging, notes, people, posts, profiles, remove_all, rules, stories,
    story_edits, threads,
};
use crate::accounts::users::User;
use crate::error::{Error, Refusal};
use crate::jobs::Job;
use crate::moderation::log::Line;
use crate::site::Site;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::{ModerationId, UserId};
use crate::values::moderation::{Action, Deed, Reason, Thing};
use crate::values::restriction::RestrictionKind;
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
        if person.role() > self.moderator.role() {
            return Err(Refusal::HigherRole);
        }
        Ok(())
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
            self.then.push(Box::new(move |site| site.jobs.start_soon(job, now)));
        }
    }
}

/// Decides what an action does.
pub(super) async fn effect_of(case: &Case<'_>) -> Result<Effect, Error> {
    match (case.deed, case.thing) {
        (Deed::Remove, Thing::Comment(address)) => posts::remove_comment(case, *address).await,
        (Deed::Restore, Thing::Comment(address)) => posts::restore_comment(case, *address).await,
        (Deed::Remove, Thing::Tweet(id)) => posts::remove_tweet(case, *id).await,
        (Deed::Restore, Thing::Tweet(id)) => posts::restore_tweet(case, *id).await,
        (Deed::Remove, Thing::User(name)) => profiles::remove(case, name).await,
        (Deed::Restore, Thing::User(name)) => profiles::restore(case, name).await,
        (Deed::RemoveAll(days), Thing::User(name)) => remove_all::remove(case, name, *days).await,
        (Deed::Remove, Thing::Story(id)) => stories::remove(case, *id).await,
        (Deed::Restore, Thing::Story(id)) => stories::restore(case, *id).await,
        (Deed::Edit { title, topics, url }, Thing::Story(id)) => {
            let edit = (title.as_ref(), topics.as_ref(), url.as_ref());
            story_edits::edit(case, *id, edit).await
        }
        (Deed::Merge(into), Thing::Story(id)) => merging::merge(case, *id, *into).await,
        (Deed::Split, Thing::Story(id)) => merging::split(case, *id).await,
        (Deed::Lock, Thing::Story(id)) => threads::lock(case, *id).await,
        (Deed::Unlock, Thing::Story(id)) => threads::unlock(case, *id).await,
        (Deed::Silence(hours), Thing::User(name)) => {
            people::restrict(case, name, RestrictionKind::Silence, *hours).await
        }
        (Deed::Unsilence, Thing::User(name)) => people::lift(case, name, RestrictionKind::Silence).await,
        (Deed::Hold(hours), Thing::User(name)) => {
            people::restrict(case, name, RestrictionKind::Hold, *hours).await
        }
        (Deed::Ban(hours), Thing::User(name)) => {
            people::restrict(case, name, RestrictionKind::Ban, *hours).await
        }
        (Deed::Unban, Thing::User(name)) => people::lift(case, name, RestrictionKind::Ban).await,
        (Deed::Warn, Thing::User(name)) => people::warn(case, name).await,
        (Deed::Note, Thing::User(name)) => notes::add(case, name).await,
        (Deed::Unnote, Thing::User(name)) => notes::delete(case, name).await,
        (Deed::Approve, Thing::Appeal(id)) => appeals::grant(case, *id).await,
        (Deed::Reject, Thing::Appeal(id)) => appeals::reject(case, *id).await,
        (Deed::Reopen, Thing::Appeal(id)) => appeals::reopen(case, *id).await,
        (Deed::MakeModerator, Thing::User(name)) => people::set_moderator(case, name, true).await,
        (Deed::UnmakeModerator, Thing::User(name)) => people::set_moderator(case, name, false).await,
        (Deed::Unhold, Thing::User(name)) => people::lift(case, name, RestrictionKind::Hold).await,
        (Deed::Keep, _) => keep::keep(case).await,
        (Deed::Reopen, _) if keep::is_undone(case) => keep::reopen(case).await,
        (Deed::Approve, Thing::Story(id)) => held::approve_story(case, *id).await,
        (Deed::Approve, Thing::Comment(address)) => held::approve_comment(case, *address).await,
        (Deed::Approve, Thing::Tweet(id)) => held::approve_tweet(case, *id).await,
        (Deed::Reject, Thing::Story(id)) => held::reject_story(case, *id).await,
        (Deed::Reject, Thing::Comment(address)) => held::reject_comment(case, *address).await,
        (Deed::Reject, Thing::Tweet(id)) => held::reject_tweet(case, *id).await,
        (Deed::Reopen, Thing::Story(_) | Thing::Comment(_) | Thing::Tweet(_))
            if case.undoes.is_some_and(|line| line.action == Action::Reject) =>
        {
            held::reopen(case).await
        }
        (Deed::Rule(pattern, effect), Thing::Rule(id)) => rules::add(case, *id, (pattern, *effect)).await,
        (Deed::Unrule, Thing::Rule(id)) => rules::lift(case, *id).await,
        (Deed::Approve, Thing::Application(name)) => applications::approve(case, name).await,
        (Deed::Reject, Thing::Application(name)) => applications::reject(case, name).await,
        (Deed::Reopen, Thing::Application(name)) => applications::reopen(case, name).await,
        _ => Err(case.does_not_apply().into()),
    }
}
