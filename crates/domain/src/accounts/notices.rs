//! Mails that tell the owner of an account about a change of it. They wait in the outbox
//! ([`crate::accounts::outbox`]), where the batch of the change puts them.

use crate::values::named;
use strum::{EnumString, IntoStaticStr};

/// A message to the owner of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Notice {
    /// The password was changed.
    #[strum(serialize = "password")]
    PasswordChanged,
    /// The account is to have another e-mail address, once that is confirmed: to the present one.
    EmailChanging,
    /// The account has another e-mail address now: to the one before.
    EmailLeft,
    /// An authenticator app was set up.
    TotpAdded,
    /// The authenticator app was removed.
    TotpRemoved,
    /// A passkey was added.
    PasskeyAdded,
    /// A passkey was removed.
    PasskeyRemoved,
    /// The recovery codes were replaced.
    #[strum(serialize = "recovery_codes")]
    RecoveryCodesReplaced,
}

named!(Notice);
