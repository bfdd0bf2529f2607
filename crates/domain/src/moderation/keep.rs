//! Keeping what readers flagged, and opening the case again.

use super::{Case, Effect, Line};
use crate::contributions::author_of;
use crate::values::{Action, Thing, Withheld};
use crate::{Refusal, Result};

/// Keeps what readers flagged: it is shown again, and the flags count as wrong. Rounds: 1.
pub(super) async fn keep(case: &Case<'_>) -> Result<Effect> {
    let subject = case.row.subject().ok_or(Refusal::NothingWaits)?;
    case.demand_power_over_author(subject.author()).await?;
    Refusal::NothingWaits.when(!case.row.waits())?;
    subject.demand_not_removed()?;
    if !subject.state().is_open() {
        // A post that waits for approval is approved or rejected.
        return Err(case.does_not_apply().into());
    }
    Ok(case.move_to(subject, case.state_of_kept(subject.withheld())))
}

/// Whether a decision to keep something is taken back, and not the answer to a held post.
pub(super) fn is_undone(case: &Case<'_>) -> bool {
    case.undoes.is_some_and(|line| line.action == Action::Keep)
}

/// Takes a decision to keep something back: it waits again, and is hidden again if it was.
/// Rounds: 1.
pub(super) async fn reopen(case: &Case<'_>) -> Result<Effect> {
    let subject = case.row.subject().ok_or(Refusal::CannotBeUndone)?;
    case.demand_power_over_author(subject.author()).await?;
    let mut effect = Effect::default();
    if was_hidden(case.undoes) && subject.withheld().is_none() {
        let state = Some(Withheld::Flagged);
        subject.withhold(&mut effect.batch, case.site, case.now.timestamp(), state);
    }
    Ok(effect)
}

fn was_hidden(line: Option<&Line>) -> bool {
    line.and_then(Line::state_before).is_some_and(|state| state.is_flagged())
}

/// The mark of a line that decided about something deleted.
pub(super) const DELETED: &str = "deleted";

/// Whether an undo is that of a decision about flags on something that was deleted already.
pub(super) fn was_deleted(case: &Case<'_>) -> bool {
    case.undoes.is_some_and(|line| line.before.as_deref() == Some(DELETED))
}

/// Decides whether readers were right to flag something that its author has deleted since, or takes
/// that back: its row does the rest. Of a tweet or a profile nothing is left, not even whose it was. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchNews`] and [`Refusal::NoSuchComment`] if the author cannot be found; those of
/// [`Case::demand_power_over_author`].
pub(super) async fn decide_deleted(case: &Case<'_>) -> Result<Effect> {
    let author = author_of(case.site, case.thing).await?;
    match (author, case.thing) {
        (Some(author), _) => case.demand_power_over_author(author).await?,
        (None, Thing::Story(_)) => return Err(Refusal::NoSuchNews.into()),
        (None, Thing::Comment(_)) => return Err(Refusal::NoSuchComment.into()),
        (None, _) => {}
    }
    Ok(Effect { before: Some(DELETED.to_owned()), concerns: author, ..Effect::default() })
}
