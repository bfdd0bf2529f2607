//! `tidings backup FILE`: writes everything into one file.

use super::Here;
use super::terminal::{self, Need, Terminal, progress_bar};
use crate::WrongUse;
use crate::backup::{take, time_text};
use crate::config::folder_of;
use anyhow::{Context, bail};
use clap::Args;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use tidings_domain::report::BackupReport;
use tidings_domain::values::Timestamp;
use tidings_domain::values::words::{counted, grouped};

/// The file name that stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// Write a backup of the store to a new file.
///
/// The file has the keys as of one moment, without those that expire and that no restored site needs. The site may be in
/// use. The file gets its name once it is complete and on disk. `tidings restore` reads it, and docs/backup-format.md
/// describes it. It contains all secrets, so keep it safe: only its owner can read the file.
/// After -, set umask 077 first, because the shell creates the file.
#[derive(Debug, Args)]
pub struct BackupCommand {
    /// The file to write, or - for standard output. It must not exist.
    file: PathBuf,
    /// Write what expires, too, for `tidings copy`.
    #[arg(long, hide = true)]
    everything: bool,
}

impl BackupCommand {
    fn is_to_stdout(&self) -> bool {
        self.file.as_os_str() == STANDARD_OUTPUT
    }

    /// The file, or standard output, which must not be a terminal.
    pub(super) fn need(&self) -> anyhow::Result<Need> {
        if !self.is_to_stdout() {
            return Ok(Need::NewFile(self.file.clone()));
        }
        if io::stdout().is_terminal() {
            bail!(WrongUse::new("a backup is not text; pass it on to a file or to a program"));
        }
        Ok(Need::Nothing)
    }

    /// Writes the backup.
    ///
    /// # Errors
    /// When the file exists or cannot be written, or the store cannot be read.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let (terminal, is_to_stdout, shown) = (Terminal::current(), self.is_to_stdout(), self.file.display());
        let store = here.store().await?;
        let bar = progress_bar(0, "writing keys");
        // A folder of the person's is none of the server's.
        let is_here = here.server.is_none() && !is_to_stdout;
        let folder = if is_here { folder_of(&self.file) } else { std::env::temp_dir() };
        let taken =
            take::to_writer(&store, &folder, terminal.output(), self.everything, take::shown_on(&bar)).await;
        drop(bar);
        let summary = taken?;
        terminal.finish().with_context(|| format!("cannot write {shown}"))?;
        // Nobody here knows what becomes of what is passed on.
        if let (Some(app), false) = (&here.server, is_to_stdout) {
            let taken_at = Timestamp(summary.header.taken_at_ms / 1_000);
            tracing::info!(taken_at = taken_at.0, "a command has made a backup");
            // The clock may have been set back since.
            app.site.of::<BackupReport>().made_by_command(taken_at.min(app.now()));
        }
        let line = format!(
            "backed up {} as of {} in {} bytes",
            counted(summary.keys, "key", "keys"),
            time_text(summary.header.taken_at_ms),
            grouped(summary.bytes)
        );
        if is_to_stdout {
            terminal::complain(&line);
        } else {
            say!("{line}: {shown}");
        }
        Ok(())
    }
}
