//! `tidings erase`: writes a copy of a backup without a post.

use super::progress_bar;
use crate::backup::{take, temporary};
use crate::config::Config;
use anyhow::{Context, bail};
use clap::Args;
use std::path::PathBuf;
use tidings_domain::moderation::erasing;
use tidings_domain::values::words::{counted, grouped};
use tidings_domain::values::{Moment, Thing};

/// Write a copy of an old backup without a post that was erased.
///
/// On the site itself, use `tidings moderate erase`, which says what would go. The copy has the time of the backup
/// and the layout of this version. Delete the old file yourself.
#[derive(Debug, Args)]
pub struct EraseCommand {
    /// The backup to read.
    #[arg(long, value_name = "FILE")]
    from_backup: PathBuf,
    /// The post: story:7, comment:7-3 or tweet:9.
    thing: String,
    /// The file to write. It must not exist.
    out: PathBuf,
}

impl EraseCommand {
    /// Writes the copy.
    ///
    /// # Errors
    /// When the file is not a whole backup, has no such post, or the copy cannot be written.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        let Ok(thing) = self.thing.parse::<Thing>() else {
            bail!("{:?} names no post; write story:7, comment:7-3 or tweet:9", self.thing);
        };
        let backup = temporary::restored(&self.from_backup, config, None).await?;
        let site = &backup.site;
        let now = Moment(backup.summary.header.taken_at_ms);
        let written = async {
            let erased = erasing::erase_in_copy(site, now, &thing).await;
            erased.with_context(|| format!("cannot erase {thing} from the backup"))?;
            let shown = take::shown_on(&progress_bar(0, "writing keys"));
            take::to_file(&site.store, self.out.clone(), shown).await
        };
        let written = written.await;
        site.store.close().await;
        let summary = written?;
        say!(
            "wrote {} without {thing} in {} bytes: {}. Delete {} yourself",
            counted(summary.keys, "key", "keys"),
            grouped(summary.bytes),
            self.out.display(),
            self.from_backup.display()
        );
        Ok(())
    }
}
