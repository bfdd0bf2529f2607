//! A user who does something, with the address that the request comes from.

use crate::accounts::trust;
use crate::accounts::users::DEACTIVATED;
use crate::rates::{self, RatedAccount};
use crate::values::{Moment, RatedAction};
use crate::{Decision, Error, KeptAnswer, Refusal, Result, Site, User, keys, repeats};
use std::net::IpAddr;
use std::ops::Deref;
use tidings_keyspace::Batch;

/// A user who does something. The rates count the account and the address.
#[derive(Debug, Clone, Copy)]
pub struct Actor<'a> {
    /// The user.
    pub user: &'a User,
    /// Where the request comes from.
    pub address: IpAddr,
}

impl Deref for Actor<'_> {
    type Target = User;

    fn deref(&self) -> &User {
        self.user
    }
}

impl Actor<'_> {
    /// Takes a token for an action from the account and from the address. Administrators
    /// need none. Rounds: 2 on a shared store, and those of `trust::of_acting`.
    ///
    /// # Errors
    /// [`Refusal::EmailNotConfirmed`](crate::Refusal::EmailNotConfirmed),
    /// [`Refusal::TooManyRequests`](crate::Refusal::TooManyRequests), or the store's.
    pub(crate) async fn spend(&self, site: &Site, now: Moment, action: RatedAction) -> Result<()> {
        match self.rated(site, now).await? {
            Some(account) => rates::spend_for(site, now, action, Some(account), self.address).await,
            None => Ok(()),
        }
    }

    /// Whether there is a token for an action that [`Actor::spend`] takes later. Rounds: 1 on a
    /// shared store, and those of `trust::of_acting`.
    ///
    /// # Errors
    /// Those of [`Actor::spend`].
    pub(crate) async fn look(&self, site: &Site, now: Moment, action: RatedAction) -> Result<()> {
        match self.rated(site, now).await? {
            Some(account) => rates::look_for(site, now, action, account, self.address).await,
            None => Ok(()),
        }
    }

    /// The account as the rates count it; `None` if they do not.
    async fn rated(&self, site: &Site, now: Moment) -> Result<Option<RatedAccount>> {
        self.demand_confirmed(site)?;
        if self.is_administrator() {
            return Ok(None);
        }
        let lacking = trust::of_acting(site, now.timestamp(), self.user).await?;
        Ok(Some(RatedAccount { id: self.id, lacking }))
    }
}

impl User {
    /// Runs an action of the user, unless it repeats one of the last hour: see [`repeats`]. `T`
    /// is the answer that the action notes.
    ///
    /// # Errors
    /// Those of the action, or the store's.
    pub async fn once<T, E>(&self, site: &Site, action: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        T: KeptAnswer,
        E: From<Error>,
    {
        repeats::once(site, self.request.as_ref(), action).await
    }

    /// Decides to commit a batch, unless the account has been deactivated meanwhile. `noted` answers a repeat of
    /// the request.
    pub(crate) fn decide<T>(
        &self,
        mut batch: Batch,
        answer: T,
        noted: &impl KeptAnswer,
    ) -> Result<Decision<T>> {
        let account_there = batch.field_absent(keys::user(self.id), DEACTIVATED);
        Decision::commit(batch, answer)
            .if_rejected_by(account_there, Err(Refusal::SessionEnded.into()))
            .once(self.request.as_ref(), noted)
    }

    /// Commits a batch that needs no decision.
    pub(crate) async fn commit(&self, site: &Site, mut batch: Batch) -> Result<()> {
        repeats::note(self.request.as_ref(), &mut batch, &())?;
        site.store.commit(batch).await?;
        Ok(())
    }
}
