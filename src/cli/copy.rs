//! `tidings copy FROM TO`: copies a store, key by key, to a store of any engine.

use super::terminal::{Call, Local, progress_bar};
use super::{PROGRAM, now, open_existing_store, store_options};
use crate::WrongUse;
use crate::backup::restore;
use crate::config::Config;
use crate::control::{self, RunningServer};
use anyhow::{Context, bail};
use clap::Args;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use tidings_domain::keys;
use tidings_domain::migrations::unfinished::{self, Begun, FilledBy, Filling};
use tidings_domain::values::words::{counted, grouped};
use tidings_keyspace::{Batch, EngineClock, Entry, Store, StoreOptions, without_password};

/// Keys read and written at a time.
const PAGE: usize = 200;

/// Copy all data from one store to another.
///
/// The server of the first store may run, but changes made during the copy may be missed. If it has an embedded
/// store open, a backup of that is written into a folder for temporary files (TMPDIR) first. Nothing else
/// may use the second store meanwhile: commands and servers refuse it until the copy is complete. After an interruption,
/// run the same command again.
#[derive(Debug, Args)]
pub struct CopyCommand {
    /// The store to read, as for --store.
    from: String,
    /// The store to write, as for --store.
    to: String,
    /// Copy into a store that is not empty, replacing keys of the same names.
    #[arg(long)]
    overwrite: bool,
}

impl CopyCommand {
    /// Copies, then compares the number of keys.
    ///
    /// # Errors
    /// When a store cannot be opened, the target is not empty, or the counts differ.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        if self.from == self.to {
            bail!(WrongUse::new(format!("the two stores are the same: {}", without_password(&self.from))));
        }
        let from = Source::open(&self.from, config).await?;
        let by = if self.overwrite { FilledBy::Overwrite } else { FilledBy::Copy };
        let now = now();
        let filling = Filling::begun(by, without_password(&self.from), now);
        let options = StoreOptions { first: Some(filling.first()), ..store_options(config) };
        let to = Store::open(&self.to, &options).await?;
        let (by, present) = self.begin(&to, &filling).await?;
        let (copied, expiring) = copy_all(&from, &to, by == FilledBy::Copy).await?;
        // Without the mark.
        let found = to.count_keys().await?.saturating_sub(1);
        compare(copied, expiring, present, found)?;
        unfinished::end(&to).await?;
        to.close().await;
        if let Source::Store(from) = from {
            from.close().await;
        }
        say!(
            "copied {}, {} of which expire; the target has {}",
            counted(copied, "key", "keys"),
            grouped(expiring),
            counted(found, "key", "keys")
        );
        Ok(())
    }

    /// Marks the second store. Returns how it is filled, and how many keys it has that no copy has written.
    async fn begin(&self, to: &Store, filling: &Filling) -> anyhow::Result<(FilledBy, u64)> {
        Ok(match unfinished::begin(to, filling).await? {
            Begun::Anew => (FilledBy::Copy, 0),
            Begun::Again(earlier) => {
                tracing::info!("an earlier copy of this store was interrupted; it starts over");
                let keys = to.count_keys().await?.saturating_sub(1);
                (earlier.by, if earlier.by == FilledBy::Copy { 0 } else { keys })
            }
            Begun::Other(other) => bail!("{other}"),
            Begun::Filled(keys) if self.overwrite => {
                unfinished::mark(to, filling).await?;
                (FilledBy::Overwrite, keys)
            }
            Begun::Filled(keys) => bail!(
                "{} is not empty ({} keys); choose another store, or copy into it with --overwrite",
                without_password(&self.to),
                grouped(keys)
            ),
        })
    }
}

/// Checks how many keys the second store has, of which so many were there before; those that expire may be gone.
fn compare(copied: u64, expiring: u64, before: u64, found: u64) -> anyhow::Result<()> {
    let fewest = before.max(copied).saturating_sub(expiring);
    if !(fewest..=before + copied).contains(&found) {
        bail!(
            "copied {} keys, but the target has {}: the copy is incomplete",
            grouped(copied),
            grouped(found)
        );
    }
    Ok(())
}

/// The first store.
enum Source {
    Store(Store),
    Server(RunningServer),
}

impl Source {
    async fn open(url: &str, config: &Config) -> anyhow::Result<Self> {
        Ok(match control::find_at(url, config).await? {
            Some(server) => Self::Server(server),
            None => Self::Store(open_existing_store(url, config).await?),
        })
    }
}

/// The keys that were copied, and whether they expire.
pub(super) type Seen = HashMap<String, bool>;

fn note(seen: &mut Seen, entries: &[Entry]) {
    // A scan of Redis may return a key twice.
    seen.extend(entries.iter().map(|entry| (entry.key.clone(), entry.time_to_live.is_some())));
}

/// Copies all keys. Returns how many, and how many of them expire. If nothing else is to be in the second store, what an interrupted copy has left there and the
/// first has no longer is removed.
async fn copy_all(from: &Source, to: &Store, is_alone: bool) -> anyhow::Result<(u64, u64)> {
    let seen = match from {
        Source::Store(from) => copy_store(from, to).await?,
        Source::Server(from) => copy_server(from, to).await?,
    };
    if is_alone {
        remove_others(to, &seen).await.context("writing failed")?;
    }
    let expiring = seen.values().filter(|expires| **expires).count();
    Ok((u64::try_from(seen.len())?, u64::try_from(expiring)?))
}

pub(super) async fn copy_store(from: &Store, to: &Store) -> anyhow::Result<Seen> {
    let bar = progress_bar(from.count_keys().await?, "copying keys");
    let (mut seen, mut cursor) = (Seen::new(), None);
    loop {
        let page = from.scan(cursor, PAGE).await.context("reading failed")?;
        note(&mut seen, &page.entries);
        to.restore(page.entries).await.context("writing failed")?;
        bar.set_position(u64::try_from(seen.len())?);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(seen);
        }
    }
}

/// By way of a backup that has everything.
async fn copy_server(from: &RunningServer, to: &Store) -> anyhow::Result<Seen> {
    let mut local = Local::default();
    let mut backup = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
    let command = [PROGRAM, "backup", "-", "--everything"].map(OsString::from);
    from.run(command, local.surroundings(), |call| match call {
        Call::Write(bytes) => backup.write_all(&bytes).map(|()| Vec::new()),
        // The last line is about the backup.
        Call::Complain(text) if text.starts_with(b"backed up") => Ok(Vec::new()),
        call => local.answer(call),
    })
    .context("reading failed")?;
    let bar = progress_bar(backup.as_file().metadata()?.len(), "copying keys");
    let mut seen = Seen::new();
    restore::write_unverified(to, backup.path(), EngineClock::System.now_ms(), |position, entries| {
        bar.set_position(position);
        note(&mut seen, entries);
    })
    .await?;
    Ok(seen)
}

/// Removes all keys but these and the mark.
async fn remove_others(store: &Store, kept: &HashMap<String, bool>) -> anyhow::Result<()> {
    let mut cursor = None;
    loop {
        let page = store.scan_keys(cursor, PAGE).await?;
        let mut batch = Batch::new();
        let others = page.keys.iter().filter(|key| !kept.contains_key(*key) && *key != keys::UNFINISHED);
        others.for_each(|key| {
            batch.delete(key);
        });
        if !batch.writes().is_empty() {
            store.commit(batch).await?;
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}
