//! The effect of an action on the review queue: it settles the row of its thing, with the flags, in
//! its own batch; an undo brings both back.

use super::log::{self, SettledRow};
use super::{Case, ModerationRequest, SeenRow};
use crate::flags::ThingFlags;
use crate::values::{Deed, FlagVerdict, ModerationId, Thing, Withheld};
use crate::{Contribution, Refusal, Result, Site};
use tidings_keyspace::Batch;

/// The row of the thing that an action is about, and the row on which the moderator acted.
pub(super) struct ActedRow {
    /// The row of the thing itself, with its flags.
    flags: ThingFlags,
    /// The thing, if it can be flagged and is still there.
    subject: Option<Contribution>,
    /// The row of another thing, such as the story whose author is warned.
    other: Option<ThingFlags>,
}

impl ActedRow {
    /// Reads them, and refuses an action on a row that has changed since it was seen. Rounds: 2, 3
    /// for a person.
    pub(super) async fn read(site: &Site, request: &ModerationRequest) -> Result<Self> {
        let ModerationRequest { thing, seen, .. } = request;
        let other = seen.as_ref().and_then(|seen| seen.thing.as_ref()).filter(|other| *other != thing);
        let other = other.cloned().map(ThingFlags::on);
        let (flags, other) = site.store.fetch((ThingFlags::on(thing.clone()), other)).await?;
        if let Some(SeenRow { since, .. }) = seen {
            let place = other.as_ref().unwrap_or(&flags).place();
            Refusal::RowChanged.when(place.is_none_or(|place| place.since != *since))?;
        }
        Ok(Self { flags, subject: Contribution::find(site, thing).await?, other })
    }

    /// The thing, if it can be flagged and is still there.
    pub(super) const fn subject(&self) -> Option<&Contribution> {
        self.subject.as_ref()
    }

    /// Whether it waits for a moderator: it has a row, or flags hide it.
    pub(super) fn waits(&self) -> bool {
        self.flags.place().is_some() || self.is_hidden()
    }

    /// Whether readers have flagged it and its author has deleted it since, so that nothing is left to
    /// decide but whether they were right.
    pub(super) fn is_deleted(&self, thing: &Thing) -> bool {
        let can_be_flagged = thing.is_post() || matches!(thing, Thing::User(_));
        can_be_flagged && self.subject.is_none() && self.flags.place().is_some()
    }

    /// Whether it waits for approval.
    fn is_held(&self) -> bool {
        self.subject.as_ref().and_then(Contribution::withheld).is_some_and(Withheld::is_held)
    }

    /// Whether it was removed, merged or erased, or cannot be read.
    fn is_taken_away(&self) -> bool {
        self.subject.as_ref().is_some_and(|subject| !subject.state().is_open()) && !self.is_held()
    }

    /// Whether flags hide it.
    fn is_hidden(&self) -> bool {
        self.subject.as_ref().is_some_and(|subject| subject.withheld().is_some_and(Withheld::is_flagged))
    }

    /// Adds to the batch of an action what it does to the queue and to flags. Returns the row
    /// that it settles. Rounds: at most 2, none unless it ends an earlier action.
    pub(super) async fn write(
        &self,
        batch: &mut Batch,
        case: &Case<'_>,
        ends: Option<ModerationId>,
    ) -> Result<Option<SettledRow>> {
        let now = case.now.timestamp();
        if let Some(mut other) = self.other.clone() {
            // Somebody who looks at the same row must look again.
            other.touch(batch, now);
        }
        // A post that waits for approval waits on, until somebody approves or rejects it.
        let decides = |verdict: &FlagVerdict| *verdict != FlagVerdict::Closed || !self.is_held();
        let is_new = !matches!(case.deed, Deed::PutBack(_));
        let verdict = case.deed.action().facts().verdict.filter(|_| is_new);
        let Some(verdict) = verdict.filter(decides) else {
            if let Some(ended) = ends {
                self.reopen(batch, case, ended).await?;
            }
            return Ok(None);
        };
        if let Some(place) = self.flags.place() {
            self.flags.decide(batch, verdict, case.id);
            return Ok(Some(SettledRow { place, is_hidden: self.is_hidden() }));
        }
        Ok(None)
    }

    /// Brings back the row and the flags that the action of an ended line had settled. An appeal
    /// that is granted ends a line about something else. Rounds: at most 2.
    async fn reopen(&self, batch: &mut Batch, case: &Case<'_>, ended: ModerationId) -> Result<()> {
        let read = match case.undoes {
            Some(_) => None,
            None => Some(log::read_line(case.site, ended).await?),
        };
        let Some(line) = case.undoes.or(read.as_ref()) else { return Ok(()) };
        // Nothing is left to decide about what was removed since, unless this brings it back.
        if matches!(case.deed, Deed::Unlock | Deed::Edit { .. }) && self.is_taken_away() {
            return Ok(());
        }
        let mut flags = if line.thing.key() == case.thing.key() {
            self.flags.clone()
        } else {
            case.site.store.fetch(ThingFlags::on(line.thing.clone())).await?
        };
        flags.reopen(batch, ended, line.row.map(|row| row.place), case.now.timestamp());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settled_row_is_stored_and_read_back() {
        for stored in ["100:1700000000:0", "520:5:1"] {
            assert_eq!(stored.parse::<SettledRow>().unwrap().to_string(), stored);
        }
        for stored in ["", "100", "100:5", "100:5:2", "a:5:0", "1:2:0:0"] {
            assert!(stored.parse::<SettledRow>().is_err(), "{stored}");
        }
    }
}
