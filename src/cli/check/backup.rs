//! `tidings check backup`: whether a backup is complete, can be restored, and has no inconsistencies.

use super::store::{check_site, tell};
use crate::backup::temporary::{self, RestoredBackup};
use crate::backup::time_text;
use crate::config::Config;
use clap::Args;
use std::path::PathBuf;
use tidings_domain::store_check::Part;
use tidings_domain::values::words::counted;
use tidings_keyspace::EngineClock;

/// The options of `tidings check backup`.
#[derive(Debug, Args)]
pub struct CheckBackup {
    /// The backup to check.
    file: PathBuf,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

impl CheckBackup {
    /// Reads the whole file, restores it into a temporary folder, and checks what is there.
    ///
    /// # Errors
    /// When the file is not a whole backup, when it cannot be restored, or when something differs.
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let RestoredBackup { site, summary, .. } =
            &temporary::restored(&self.file, config, Some(EngineClock::System)).await?;
        // Its file was written a moment ago.
        let report = check_site(site, Part::Keys, false).await;
        site.store.close().await;
        if !self.json {
            let taken = time_text(summary.header.taken_at_ms);
            say!("backup: {} of {taken}, whole", counted(summary.keys, "key", "keys"));
        }
        tell(&report?, self.json)
    }
}
