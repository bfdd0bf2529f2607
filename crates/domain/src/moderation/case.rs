//! Requests of moderators: the request, the case that is decided, and its effect.

use super::row::ActedRow;
use super::{ChangedFact, Line};
use crate::jobs::{Job, Jobs};
use crate::values::{
    Deed, FlagVerdict, Hours, ModerationId, Moment, Reason, Restriction, Thing, Timestamp, UserId, Withheld,
};
use crate::{Contribution, Refusal, Result, Role, Site, User};
use std::fmt::Display;
use tidings_keyspace::Batch;

/// A moderator's request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModerationRequest {
    /// The action to take.
    pub deed: Deed,
    /// The thing that it applies to.
    pub thing: Thing,
    /// Why.
    pub reason: Reason,
    /// Whether the log names "a moderator" to all but administrators.
    pub anonymous: bool,
    /// The row of the review queue that the moderator saw, if they acted on one.
    pub seen: Option<SeenRow>,
}

impl ModerationRequest {
    /// A request by somebody who acts by name, and on no row.
    pub const fn new(deed: Deed, thing: Thing, reason: Reason) -> Self {
        Self { deed, thing, reason, anonymous: false, seen: None }
    }
}

/// A row of the review queue as a moderator saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRow {
    /// The thing that the row is about; `None` if it is the thing of the action.
    pub thing: Option<Thing>,
    /// When it had last changed.
    pub since: Timestamp,
}

/// An action that is about to be decided.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) site: &'a Site,
    pub(super) now: Moment,
    /// The acting moderator.
    pub(super) moderator: &'a User,
    /// The number of its line in the log.
    pub(super) id: ModerationId,
    pub(super) deed: &'a Deed,
    pub(super) thing: &'a Thing,
    pub(super) reason: &'a Reason,
    /// Whether the moderator does not want to be named.
    pub(super) anonymous: bool,
    /// The line that it undoes, if it was asked for as an undo.
    pub(super) undoes: Option<&'a Line>,
    /// The row of the thing in the review queue, as far as there is one.
    pub(super) row: &'a ActedRow,
}

impl Case<'_> {
    /// Refuses a moderator who must not act on a person, or on something of theirs.
    pub(super) fn demand_power_over(&self, person: &User) -> Result<(), Refusal> {
        demand_power(self.moderator, person)
    }

    /// Refuses a moderator who must not act on what somebody has written. An account that is gone protects
    /// nothing. Rounds: 1.
    pub(super) async fn demand_power_over_author(&self, author: UserId) -> Result<()> {
        match self.site.store.fetch(User::by_id(author)).await? {
            Some(author) => Ok(self.demand_power_over(&author)?),
            None => Ok(()),
        }
    }

    /// A restriction by this line that begins now and lasts so long.
    pub(super) fn restriction(&self, hours: Hours) -> Restriction {
        let until = hours.map(|hours| self.now.timestamp().after_hours(hours));
        Restriction { until, moderation: self.id, reason: self.reason.as_str().into() }
    }

    /// Reads what the action is about, which the moderator may moderate. Rounds: 2.
    pub(super) async fn contribution(&self) -> Result<Contribution> {
        let found = Contribution::read(self.site, self.thing).await?;
        self.demand_power_over_author(found.author()).await?;
        Ok(found)
    }

    /// The effect of a move to another state. The line knows the state before, and the batch fails if that has changed.
    pub(super) fn move_to(&self, subject: &Contribution, state: Option<Withheld>) -> Effect {
        let mut effect = Effect::default();
        let states = (subject.withheld(), state.as_ref());
        effect.changed.extend(ChangedFact::of_state(self.thing, Some(subject.author()), states));
        if subject.withheld() != state.as_ref() {
            subject.withhold(&mut effect.batch, self.site, self.now.timestamp(), state);
        }
        effect
    }

    /// Why a post that stays is withheld after the action: flags no longer hide it, because a moderator has looked at it.
    /// The undo of that lets them hide it again.
    pub(super) fn state_of_kept(&self, state: Option<&Withheld>) -> Option<Withheld> {
        let lets_stay = [Some(FlagVerdict::Closed), Some(FlagVerdict::Rejected)];
        let was_hidden = self.undoes.and_then(|line| line.row).is_some_and(|row| row.is_hidden);
        match state {
            Some(state) if state.is_flagged() && lets_stay.contains(&self.deed.action().facts().verdict) => {
                None
            }
            None if was_hidden && self.deed.action().facts().verdict.is_none() => Some(Withheld::Flagged),
            state => state.cloned(),
        }
    }

    /// Whether it may end whatever anybody has decided: an administrator may, and the answer to an appeal,
    /// which is the way to have somebody else look at a decision.
    pub(super) fn may_end_all(&self) -> bool {
        self.moderator.role() == Role::Administrator || matches!(self.thing, Thing::Appeal(_))
    }

    /// Refuses a moderator who would end what an administrator has decided. Rounds: 1, none for
    /// administrators and for their own decisions.
    pub(super) async fn demand_may_end(&self, decision: &Line) -> Result<()> {
        if self.may_end_all() || decision.moderator == self.moderator.id {
            return Ok(());
        }
        let by = self.site.store.fetch(User::by_id(decision.moderator)).await?;
        match by.map(|by| by.given_role()) {
            Some(Role::Administrator) => Err(Refusal::DecidedByAdministrator.into()),
            _ => Ok(()),
        }
    }

    /// That the kind of thing does not take the action.
    pub(super) fn does_not_apply(&self) -> Refusal {
        Refusal::ActionDoesNotApply { action: self.deed.action(), thing: self.thing.clone() }
    }
}

/// Refuses a moderator who must not act on a person, or on something of theirs.
pub(super) fn demand_power(moderator: &User, person: &User) -> Result<(), Refusal> {
    match person {
        _ if person.id == moderator.id => Err(Refusal::OwnThing),
        _ if person.given_role() > moderator.role() => Err(Refusal::HigherRole),
        _ => Ok(()),
    }
}

/// Work that follows the batch of an action, such as starting a job.
type Then = Box<dyn FnOnce(&Site) + Send>;

/// The part of an action in its batch and in its line.
#[derive(Default)]
pub(super) struct Effect {
    /// The checks and writes.
    pub(super) batch: Batch,
    /// The person whom it concerns, if it is not the author of its thing.
    pub(super) concerns: Option<UserId>,
    /// The message to that person's inbox, if it is not the sentence of the action.
    pub(super) message: Option<String>,
    /// The line whose action it ends: that line says so.
    pub(super) ends: Option<ModerationId>,
    /// The reason in the line, if it is not the moderator's.
    pub(super) reason: Option<String>,
    /// When it ends by itself.
    pub(super) until: Option<Timestamp>,
    /// How many posts it is about.
    pub(super) count: Option<u64>,
    /// Whether a job does the rest of it: the line says so until the job deletes [`super::log::IN_PROGRESS`].
    pub(super) in_progress: bool,
    /// A note for its undo, beside the facts.
    pub(super) before: Option<String>,
    /// The facts that it changes, and that its undo compares.
    pub(super) changed: Vec<ChangedFact>,
    /// The work that follows.
    pub(super) then: Vec<Then>,
}

impl Effect {
    /// Tells the person whom it concerns.
    pub(super) fn tells(&mut self, text: impl Display) {
        self.message = Some(text.to_string());
    }

    /// Starts a job afterwards.
    pub(super) fn starts(&mut self, job: Option<Job>, now: Moment) {
        if let Some(job) = job {
            self.then.push(Box::new(move |site| site.of::<Jobs>().start_soon(job, now)));
        }
    }
}
