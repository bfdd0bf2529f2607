//! `tidings restore FILE --store URL`: fills an empty store from a backup.

use super::{now, progress_bar, store_options};
use crate::WrongUse;
use crate::backup::{restore, time_text};
use crate::config::Config;
use anyhow::{Context, bail};
use clap::Args;
use std::path::PathBuf;
use tidings_domain::values::words::counted;
use tidings_keyspace::{EngineClock, Store, StoreOptions, without_password};

/// Fill an empty store from a backup.
///
/// First reads the whole file: a file that is cut off or changed is refused, and the message
/// says where. Then writes its keys into the store that --store names, of any engine; a store
/// file is created. After an interruption, run the same command again. Keys that have expired
/// since the backup are left out.
#[derive(Debug, Args)]
pub struct RestoreCommand {
    /// The backup to read.
    file: PathBuf,
}

impl RestoreCommand {
    /// Verifies the file, then restores it.
    ///
    /// # Errors
    /// When the file is not a whole backup, the store is not empty, or it fails.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        if config.is_default("server.store") {
            bail!(WrongUse::new("name the store to restore into: tidings restore FILE --store URL"));
        }
        let named = || format!("cannot restore {}", self.file.display());
        let length = std::fs::metadata(&self.file).with_context(named)?;
        if !length.is_file() {
            bail!("{} is not a file; it is read twice, so copy it into one first", self.file.display());
        }
        let bar = progress_bar(length.len(), "verifying");
        let path = self.file.clone();
        let verifying = move || restore::verify(&path, |position| bar.set_position(position));
        let verified = tokio::task::spawn_blocking(verifying).await.context("the reader has failed")?;
        let summary = verified.with_context(named)?;
        restore::demand_known_layout(summary.header).with_context(named)?;

        let url = config.server.store.as_str();
        let filling = restore::filling(&summary, now());
        let options = StoreOptions { create: true, first: Some(filling.first()), ..store_options(config) };
        let store = Store::open(url, &options).await?;
        restore::begin(&store, &filling)
            .await
            .with_context(|| format!("cannot restore into {}", without_password(url)))?;
        let bar = progress_bar(length.len(), "restoring");
        let now_ms = EngineClock::System.now_ms();
        let shown = move |position| bar.set_position(position);
        let written = restore::write_keys(&store, &self.file, summary, now_ms, shown)
            .await
            .context("the store has only a part of the data; run the same command again to restore the rest");
        let keys = store.count_keys().await;
        store.close().await;
        written?;
        say!(
            "restored {} as of {}; the store has {}",
            counted(summary.keys, "key", "keys"),
            time_text(summary.header.taken_at_ms),
            counted(keys?, "key", "keys")
        );
        Ok(())
    }
}
