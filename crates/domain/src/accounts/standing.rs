//! The bans and silences of a user: each action that others see asks here whether a moderator has
//! silenced the user, and each login and each visit whether the user is banned.

use crate::values::{Restriction, RestrictionKind, Timestamp};
use crate::{Refusal, User};

impl User {
    /// The ban that is in force.
    pub fn ban(&self, now: Timestamp) -> Option<&Restriction> {
        self.restrictions.in_force(RestrictionKind::Ban, now)
    }

    /// The silence that is in force.
    pub fn silence(&self, now: Timestamp) -> Option<&Restriction> {
        self.restrictions.in_force(RestrictionKind::Silence, now)
    }

    /// Refuses a user who is silenced. All actions that show others something call it; reading,
    /// voting, private choices, and taking back what one has posted do not.
    ///
    /// # Errors
    /// [`Refusal::Silenced`].
    pub fn demand_may_post(&self, now: Timestamp) -> Result<(), Refusal> {
        self.silence(now).map_or(Ok(()), |silence| Err(Refusal::Silenced(silence.clone())))
    }

    /// Refuses a user who is banned.
    ///
    /// # Errors
    /// [`Refusal::Banned`].
    pub fn demand_may_log_in(&self, now: Timestamp) -> Result<(), Refusal> {
        self.ban(now).map_or(Ok(()), |ban| Err(Refusal::Banned(ban.clone())))
    }
}
