//! `tidings backup FILE`: writes everything into one file.

use super::{WrongUse, reach_existing_store};
use crate::backup::disk::SystemDisk;
use crate::backup::take::{self, Progress};
use crate::backup::time_text;
use crate::config::Config;
use crate::control;
use crate::progress::progress_bar;
use clap::Args;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::words::{counted, grouped};

/// The file name that stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// Write a backup of the store to a new file.
///
/// The file has the keys as of one moment, except for what expires and no restored site needs; the
/// site may be in use. It appears under its name
/// when it is whole and on disk. `tidings restore` reads it, and docs/backup-format.md describes
/// it. It contains everything that is secret, so keep it safe: only its owner can read the file.
/// After -, set umask 077 first, because the shell creates the file.
#[derive(Debug, Args)]
pub struct BackupCommand {
    /// The file to write, or - for standard output. It must not exist.
    file: PathBuf,
}

impl BackupCommand {
    /// Writes the backup.
    ///
    /// # Errors
    /// When the file exists or cannot be written, or the store cannot be read.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        let to_stdout = self.file.as_os_str() == STANDARD_OUTPUT;
        if to_stdout && io::stdout().is_terminal() {
            return Err(
                WrongUse("a backup is not text; pass it on to a file or to a program".to_owned()).into()
            );
        }
        let store = reach_existing_store(config).await?;
        let bar = progress_bar(0, "writing keys");
        let progress: Progress = {
            let bar = bar.clone();
            Box::new(move |written, total| {
                bar.set_length(total.max(written));
                bar.set_position(written);
            })
        };
        let taken = if to_stdout {
            take::to_stdout(&store, progress).await
        } else {
            take::to_file(&store, SystemDisk, self.file.clone(), progress).await
        };
        bar.finish_and_clear();
        // Nobody here knows what becomes of what is passed on.
        if let (Ok(summary), false) = (&taken, to_stdout) {
            control::tell_of_backup(&store, Timestamp(summary.header.taken_at_ms / 1_000)).await;
        }
        store.close().await;
        let summary = taken?;
        let line = format!(
            "backed up {} as of {} in {} bytes",
            counted(summary.keys, "key", "keys"),
            time_text(summary.header.taken_at_ms),
            grouped(summary.bytes)
        );
        if to_stdout {
            eprintln!("{line}")
        } else {
            say!("{line}: {}", self.file.display())
        }
        Ok(())
    }
}
