//! Which role counts. A role does not count while its holder is banned or has a password that is too short for
//! it; nor on a site that wants a second factor of everybody with a role, while the holder has none.

use crate::accounts::SecondFactors;
use crate::values::{Moment, Rules};
use crate::{Refusal, Role, User};

impl Role {
    /// The role that counts of one that was given. **Nothing else decides that.** It depends on
    /// rules that a reload may change, so what it answers is asked for at each request.
    pub(crate) const fn counting(
        given: Self,
        factors: SecondFactors,
        is_barred: bool,
        rules: &Rules,
    ) -> Self {
        let is_suspended = rules.accounts.staff_two_factor && !factors.any();
        if is_barred || is_suspended { Self::Member } else { given }
    }
}

impl User {
    /// Whether the user has a role that does not count, because it needs a second factor or a longer password.
    pub fn role_suspended(&self) -> bool {
        self.role() < self.given_role()
    }

    /// Whether the user is an administrator.
    ///
    /// # Errors
    /// [`Refusal::AdministratorsOnly`], [`Refusal::RoleNeedsPassword`] or [`Refusal::RoleNeedsTwoFactor`] for somebody whose
    /// role does not count yet.
    pub fn require_admin(&self) -> Result<(), Refusal> {
        self.require(Role::Administrator, Refusal::AdministratorsOnly)
    }

    /// Whether the user is a moderator or an administrator.
    ///
    /// # Errors
    /// [`Refusal::ModeratorsOnly`], [`Refusal::RoleNeedsPassword`] or [`Refusal::RoleNeedsTwoFactor`] for somebody whose role
    /// does not count yet.
    pub fn require_moderator(&self) -> Result<(), Refusal> {
        self.require(Role::Moderator, Refusal::ModeratorsOnly)
    }

    /// Refuses anybody who does not moderate, and moderators who are banned or silenced. A ban ends the
    /// session, but the request may have been under way.
    pub(crate) fn demand_may_moderate(&self, now: Moment) -> Result<(), Refusal> {
        self.demand_may_log_in(now.timestamp())?;
        self.require_moderator()?;
        self.demand_may_post(now.timestamp())
    }

    fn require(&self, role: Role, refusal: Refusal) -> Result<(), Refusal> {
        if self.role() >= role {
            Ok(())
        } else if self.has_short_password && self.given_role() >= role {
            Err(Refusal::RoleNeedsPassword)
        } else if self.role_suspended() {
            Err(Refusal::RoleNeedsTwoFactor)
        } else {
            Err(refusal)
        }
    }
}
