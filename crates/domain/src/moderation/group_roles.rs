//! Roles by groups: what a person is at the provider decides at each login what they are here. Roles that were given by hand
//! stay as they are.
//!
//! Keys: the field `oidc_role` of a user, and lines of the log by nobody.

use super::log::next_id;
use super::{ChangedFact, Line};
use crate::accounts::Device;
use crate::accounts::roles::{self, GivenRole};
use crate::accounts::single_sign_on::{self, ProviderLogin, SignedOn};
use crate::accounts::users::{DEACTIVATED, OIDC_ROLE};
use crate::values::{Action, Thing, Timestamp, UserId};
use crate::{Decision, Error, Refusal, Result, Site, keys};
use tidings_keyspace::{Batch, read};

/// The moderator of lines that no person has caused.
pub(super) const SIGN_IN_SERVICE: UserId = UserId(0);

/// Logs in somebody who has come back from the provider, with the role of their groups.
///
/// # Errors
/// Those of [`single_sign_on::log_in`].
pub async fn log_in(
    (site, now): (&Site, Timestamp),
    login: &ProviderLogin,
    device: &Device,
) -> Result<SignedOn> {
    login.demand_allowed(&site.rules.oidc)?;
    if let Some(id) = single_sign_on::connected(site, &login.identity).await? {
        follow((site, now), id, login.role).await?;
    }
    single_sign_on::log_in((site, now), login, device).await
}

/// Takes the role that the groups gave somebody if they have it no more, and gives the one that they have. The last
/// administrator keeps the role, with a warning in the log of the server. Rounds: 1 if nothing changes.
///
/// # Errors
/// The store's.
pub async fn follow((site, now): (&Site, Timestamp), id: UserId, wanted: Option<GivenRole>) -> Result<()> {
    loop {
        match change(site, now, id, wanted).await {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(Error::Refused(Refusal::LastAdministrator)) => {
                tracing::warn!(
                    user = id.0,
                    "the last administrator keeps the role, which the groups no longer give"
                );
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}

/// Changes one role. Returns whether it did.
async fn change(site: &Site, now: Timestamp, id: UserId, wanted: Option<GivenRole>) -> Result<bool> {
    let key = keys::user(id);
    site.act(&key, || async {
        let fields = ["username", DEACTIVATED, "flags", OIDC_ROLE];
        let reads = (read::fields(&key, fields), next_id());
        let ([username, deactivated, flags, given], line) = site.store.fetch(reads).await?;
        let (Some(username), None) = (username, deactivated) else { return Ok(Decision::Done(false)) };
        let given_role = given.as_deref().and_then(|given| given.parse::<GivenRole>().ok());
        let (role, has) = match (given_role, wanted) {
            (Some(role), wanted) if wanted != Some(role) => (role, false),
            (None, Some(role)) if !flags.as_deref().unwrap_or_default().contains(role.flag()) => (role, true),
            _ => return Ok(Decision::Done(false)),
        };
        let mut batch = Batch::new();
        batch.field_absent(&key, DEACTIVATED);
        batch.field_unchanged(&key, OIDC_ROLE, given);
        roles::write_role((site, now), &mut batch, (id, flags.as_deref()), (role, has)).await?;
        if has {
            batch.set_field(&key, OIDC_ROLE, role.name());
        } else {
            batch.delete_field(&key, OIDC_ROLE);
        }
        let action = match (role, has) {
            (GivenRole::Administrator, true) => Action::MakeAdministrator,
            (GivenRole::Administrator, false) => Action::UnmakeAdministrator,
            (GivenRole::Moderator, true) => Action::MakeModerator,
            (GivenRole::Moderator, false) => Action::UnmakeModerator,
        };
        let thing = Thing::User(username.into());
        let mut line = Line::new(line, (now, SIGN_IN_SERVICE), (action, thing, String::new()));
        line.concerns = Some(id);
        if role == GivenRole::Moderator {
            line.changed.push(ChangedFact::of_letter(&key, "flags", role.flag(), has));
        }
        line.write(&mut batch);
        Ok(Decision::commit(batch, true))
    })
    .await
}
