//! Roles on a site that wants a second factor of everybody with a role.

use crate::accounts::users::{Flags, User};
use crate::error::Refusal;
use crate::values::rules::Rules;

impl User {
    /// The user as the viewer of a page. On a site that wants a second factor of everybody with a
    /// role (`accounts.staff_two_factor`), the role of a user without one does not count.
    pub(crate) fn into_viewer(mut self, rules: &Rules) -> Self {
        let needs_one = rules.accounts.staff_two_factor && self.flags.has_role();
        if needs_one && !self.second_factors.any() {
            self.flags = self.flags.without_role();
            self.role_suspended = true;
        }
        self
    }

    /// Whether the user is an administrator.
    ///
    /// # Errors
    /// [`Refusal::AdministratorsOnly`], or [`Refusal::RoleNeedsTwoFactor`] for somebody whose
    /// role does not count yet.
    pub const fn require_admin(&self) -> Result<(), Refusal> {
        match (self.flags.admin, self.role_suspended) {
            (true, _) => Ok(()),
            (false, true) => Err(Refusal::RoleNeedsTwoFactor),
            (false, false) => Err(Refusal::AdministratorsOnly),
        }
    }

    /// Whether the user is a moderator or an administrator.
    ///
    /// # Errors
    /// [`Refusal::ModeratorsOnly`], or [`Refusal::RoleNeedsTwoFactor`] for somebody whose role
    /// does not count yet.
    pub const fn require_moderator(&self) -> Result<(), Refusal> {
        match (self.flags.has_role(), self.role_suspended) {
            (true, _) => Ok(()),
            (false, true) => Err(Refusal::RoleNeedsTwoFactor),
            (false, false) => Err(Refusal::ModeratorsOnly),
        }
    }
}

impl Flags {
    /// Whether one of them is a role.
    const fn has_role(self) -> bool {
        self.admin || self.moderator
    }

    /// The same without roles.
    const fn without_role(self) -> Self {
        Self { admin: false, moderator: false, ..self }
    }
}
