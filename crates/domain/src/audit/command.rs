//! Audit lines for actions from the command line. A command that uses the store through a running
//! server has its line in the log of that server; one that opens the store itself, in its own.

use super::AUDIT;
use crate::keys;
use crate::site::Site;
use crate::values::ids::UserId;
use serde::{Deserialize, Serialize};
use tidings_keyspace::read;

/// The actor if no account acts, and the place of a moderator's action that is not made on the site.
const COMMAND_LINE: &str = "the command line";
/// The prefix of a question that asks the server to write a line.
const QUESTION: &str = "audit ";
/// The server's answer when the line is written.
pub const WRITTEN: &str = "written";
/// Stands for the name of an account that cannot be read.
const UNKNOWN: &str = "unknown";

/// A line about what was done from the command line, on its way to the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEntry {
    /// Something was done to an account.
    Account {
        /// Its name.
        account: String,
        /// Its id.
        user: u64,
        /// The action.
        deed: AccountDeed,
    },
    /// Weak password hashes were wrapped.
    HardenedPasswords {
        /// Of how many accounts.
        accounts: u64,
    },
    /// Home timelines are being moved.
    MovedTimelines {
        /// Where to, without a password.
        to: String,
    },
    /// The owners of passkeys were told that the site moves.
    ToldOfHostMove {
        /// The present host.
        from: String,
        /// The next one.
        to: String,
        /// How many they are.
        accounts: u64,
    },
    /// A moderator has acted.
    Moderated(Moderated),
}

/// An action of the operator on an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountDeed {
    /// It was created.
    Created {
        /// Whether it became the first administrator.
        is_administrator: bool,
    },
    /// It was given a role, or no longer has it.
    ChangedRole {
        /// The name of the role.
        role: String,
        /// Whether it has the role now.
        has: bool,
    },
    /// It has a new password.
    SetPassword,
    /// It has no second factor any more.
    RemovedSecondFactors,
}

/// An action of a moderator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moderated {
    /// The name of the moderator.
    pub by: String,
    /// The name of the action.
    pub action: String,
    /// The thing that it was done to.
    pub thing: String,
    /// The number in the public log.
    pub line: u64,
    /// Whether it was done from the command line, and not on the site.
    pub is_by_command: bool,
}

impl CommandEntry {
    /// The line that a question asks the server to write, if it is such a question.
    pub fn of_question(question: &str) -> Option<Self> {
        serde_json::from_str(question.strip_prefix(QUESTION)?).ok()
    }

    /// Writes the line into the log of this process.
    pub fn log(&self) {
        match self {
            Self::Account { account, user, deed } => log_account(account, *user, deed),
            Self::HardenedPasswords { accounts } => {
                tracing::info!(target: AUDIT, by = COMMAND_LINE, accounts, "protected weak passwords");
            }
            Self::MovedTimelines { to } => {
                tracing::info!(target: AUDIT, by = COMMAND_LINE, to, "began to move home timelines");
            }
            Self::ToldOfHostMove { from, to, accounts } => {
                tracing::info!(target: AUDIT, by = COMMAND_LINE, from, to, accounts, "told owners of passkeys of a move");
            }
            Self::Moderated(Moderated { by, action, thing, line, is_by_command }) => {
                let through = is_by_command.then_some(COMMAND_LINE);
                tracing::info!(target: AUDIT, by, through, action, thing, line, "moderated");
            }
        }
    }

    /// Writes the line into the log of the server, if the store is that of a running server, and
    /// otherwise into that of this process.
    pub(crate) async fn write(&self, site: &Site) {
        if site.store.served_as().is_some()
            && let Ok(entry) = serde_json::to_string(self)
        {
            match site.store.ask_server(&format!("{QUESTION}{entry}")).await {
                Ok(Some(answer)) if answer == WRITTEN => return,
                Ok(_) => tracing::warn!("the running server has not written the next line into its log"),
                Err(error) => {
                    tracing::warn!(%error, "the running server has not written the next line into its log");
                }
            }
        }
        self.log();
    }
}

/// Writes the line about what the operator has done to an account. Rounds: 1, for its name.
pub(crate) async fn write_account(site: &Site, id: UserId, deed: AccountDeed) {
    let name = site.store.fetch(read::field(keys::user(id), "username")).await;
    // It has been done, so the line is written without the name rather than not at all.
    let account = name.ok().flatten().unwrap_or_else(|| UNKNOWN.to_owned());
    CommandEntry::Account { account, user: id.0, deed }.write(site).await;
}

fn log_account(account: &str, user: u64, deed: &AccountDeed) {
    let by = COMMAND_LINE;
    match deed {
        AccountDeed::Created { is_administrator: administrator } => {
            tracing::info!(target: AUDIT, by, account, user, administrator, "created an account");
        }
        AccountDeed::ChangedRole { role, has } => {
            tracing::info!(target: AUDIT, by, account, user, role, has, "changed a role");
        }
        AccountDeed::SetPassword => {
            tracing::info!(target: AUDIT, by, account, user, "set a password");
        }
        AccountDeed::RemovedSecondFactors => {
            tracing::info!(target: AUDIT, by, account, user, "removed the second factors");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_what_was_asked() {
        let deed = AccountDeed::ChangedRole { role: "moderator".to_owned(), has: true };
        let entry = CommandEntry::Account { account: "a \"b\"\n".to_owned(), user: 7, deed };
        let question = format!("{QUESTION}{}", serde_json::to_string(&entry).unwrap());
        assert_eq!(CommandEntry::of_question(&question), Some(entry));
        for other in ["status", "audit ", "audit {}", ""] {
            assert_eq!(CommandEntry::of_question(other), None, "{other}");
        }
    }
}
