//! Mails that tell the owner of an account about a change of it. They wait in the outbox
//! ([`crate::accounts::outbox`]), where the batch of the change puts them.

/// A message to the owner of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The password was changed.
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
    RecoveryCodesReplaced,
}

impl Notice {
    /// All notices with their names in the store.
    const ALL: [(Self, &'static str); 8] = [
        (Self::PasswordChanged, "password"),
        (Self::EmailChanging, "email_changing"),
        (Self::EmailLeft, "email_left"),
        (Self::TotpAdded, "totp_added"),
        (Self::TotpRemoved, "totp_removed"),
        (Self::PasskeyAdded, "passkey_added"),
        (Self::PasskeyRemoved, "passkey_removed"),
        (Self::RecoveryCodesReplaced, "recovery_codes"),
    ];

    /// The name in the store.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(notice, _)| *notice == self).map_or("", |(_, name)| name)
    }

    /// The notice with a name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(notice, _)| *notice)
    }
}
