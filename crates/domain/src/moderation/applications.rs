//! Decisions about applications for accounts.

use super::{Case, ChangedFact, Effect};
use crate::accounts::applications::{self, Application, REJECTED};
use crate::accounts::users::DEACTIVATED;
use crate::{Result, keys};

/// Accepts an application: its owner can log in.
pub(super) async fn approve(case: &Case<'_>, name: &str) -> Result<Effect> {
    let mut effect = Effect::default();
    let decided = applications::write_approval(case.site, &mut effect.batch, name).await?;
    let account = keys::user(decided.user_id);
    effect.changed.push(ChangedFact::of_field(account, DEACTIVATED, (None, None)));
    Ok(concerning(effect, &decided))
}

/// Rejects an application: its owner is told why at the login.
pub(super) async fn reject(case: &Case<'_>, name: &str) -> Result<Effect> {
    let (mut effect, now) = (Effect::default(), case.now.timestamp());
    let decision = (name, case.reason.as_str());
    let decided = applications::write_rejection(case.site, &mut effect.batch, now, decision).await?;
    let account = keys::user(decided.user_id);
    effect.changed.push(ChangedFact::of_field(account, REJECTED, (None, Some(&now.to_string()))));
    Ok(concerning(effect, &decided))
}

/// Takes the answer to an application back: it waits again.
pub(super) async fn reopen(case: &Case<'_>, name: &str) -> Result<Effect> {
    let mut effect = Effect::default();
    let reopened = applications::write_reopening(case.site, &mut effect.batch, name).await?;
    Ok(concerning(effect, &reopened))
}

fn concerning(effect: Effect, application: &Application) -> Effect {
    Effect { concerns: Some(application.user_id), ..effect }
}
