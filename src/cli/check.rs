//! `tidings check`: compares derived data with its source and repairs it on
//! request, and looks for vote rings. One file for each.

mod articles;
mod timelines;
mod votes;

use crate::config::Config;
use clap::Subcommand;

/// What can be checked.
#[derive(Debug, Subcommand)]
pub enum CheckCommand {
    /// Compare articles and topics with the stories.
    ///
    /// A database from Lamer News has no articles yet: --repair creates them. You can
    /// stop the command at any time and run it again. On Redis the site may keep
    /// running; on the embedded store, stop the server first.
    Articles(articles::CheckArticles),
    /// Compare timelines with the tweets and follows.
    ///
    /// Without --repair, nothing is written. On Redis the site may keep running; on the
    /// embedded store, stop the server first.
    Timelines(timelines::CheckTimelines),
    /// Look for groups of accounts that vote for each other far more than chance would have it.
    ///
    /// Reads the votes of the last 90 days and writes nothing. What to do about a group is up to
    /// you: see docs/vote-rings.md. On Redis the site may keep running; on the embedded store,
    /// stop the server first.
    Votes(votes::CheckVotes),
}

impl CheckCommand {
    /// Checks, and repairs on request.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not repaired.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        match self {
            Self::Articles(articles) => articles.run(config).await,
            Self::Timelines(timelines) => timelines.run(config).await,
            Self::Votes(votes) => votes.run(config).await,
        }
    }
}
