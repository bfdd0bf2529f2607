//! `tidings check`: compares what is derived with what it is derived from, one
//! file for each kind, and mends it when asked to.

mod articles;
mod timelines;

use crate::config::Config;
use clap::Subcommand;

/// What can be checked.
#[derive(Debug, Subcommand)]
pub enum Check {
    /// Compare articles and topics with the news.
    Articles(articles::Articles),
    /// Compare timelines with the tweets and with who follows whom.
    Timelines(timelines::Timelines),
}

impl Check {
    /// Checks, and mends when asked to.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not mended.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        match self {
            Self::Articles(articles) => articles.run(config).await,
            Self::Timelines(timelines) => timelines.run(config).await,
        }
    }
}
