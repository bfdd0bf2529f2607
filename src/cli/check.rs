//! `tidings check`: compares what is stored with what it should be and repairs it on request, and
//! looks for vote rings. One file for each.

mod backup;
mod store;
mod votes;

use super::Here;
use clap::Subcommand;
use tidings_domain::store_check::Part;

/// The subcommands of `tidings check`.
#[derive(Debug, Subcommand)]
pub enum CheckCommand {
    /// Check the stored data for inconsistencies: formats, lists, counters and references.
    ///
    /// Prints what differs and how to repair it. --repair repairs lists, counters and indexes, and
    /// deletes nothing that people have done. It includes the checks of articles and timelines.
    /// The site may keep running.
    Store(store::CheckStore),
    /// Check that a backup is complete, can be restored, and has no inconsistencies.
    ///
    /// Reads no store: it restores the file into a folder for temporary files (TMPDIR), and removes that afterwards.
    /// The folder needs about as much space as the store.
    Backup(backup::CheckBackup),
    /// Compare articles and topics with the stories.
    ///
    /// A database from Lamer News has no articles yet: --repair creates them. You can
    /// stop the command at any time and run it again. The site may keep running.
    Articles(store::CheckPart),
    /// Compare timelines with the posts and follows.
    ///
    /// Without --repair, nothing is written. The site may keep running.
    Timelines(store::CheckPart),
    /// Look for groups of accounts that vote for each other far more than would be likely by chance.
    ///
    /// Reads the votes of the last 90 days and writes nothing. You decide about each group:
    /// see docs/vote-rings.md. The site may keep running.
    Votes(votes::CheckVotes),
}

impl CheckCommand {
    /// Whether it works on the configured store.
    pub(super) const fn is_of_store(&self) -> bool {
        !matches!(self, Self::Backup(_))
    }

    /// Checks, and repairs on request.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not repaired.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        match self {
            Self::Store(store) => store.run(here).await,
            Self::Backup(backup) => backup.run(&here.config).await,
            Self::Articles(articles) => articles.run(here, Part::Articles).await,
            Self::Timelines(timelines) => timelines.run(here, Part::Timelines).await,
            Self::Votes(votes) => votes.run(here).await,
        }
    }
}
