//! Takes a backup of a store.

use super::disk::{NewFile, demand_absent};
use super::format::{Header, Record, Summary};
use super::writer::BackupWriter;
use crate::config::folder_of;
use anyhow::{Context, anyhow, bail};
use indicatif::ProgressBar;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tidings_disk::RealFolder;
use tidings_domain::keys::families::Family;
use tidings_domain::migrations;
use tidings_keyspace::{Entry, Snapshot, Store, give_way};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The bytes that are passed to the file at a time.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// Told how many keys were written and about how many there are.
pub type Progress = Box<dyn Fn(u64, u64) + Send>;

/// Shows the progress on a bar.
pub fn shown_on(bar: &ProgressBar) -> Progress {
    let bar = bar.clone();
    Box::new(move |written, total| {
        bar.set_length(total.max(written));
        bar.set_position(written);
    })
}

/// Writes a backup of a store to a new file, which appears under its name when it is whole.
/// The store may be in use. Dropping the future ends the backup soon, without a file.
///
/// # Errors
/// When the file exists or cannot be written, or the store cannot be read.
pub async fn to_file(store: &Store, path: PathBuf, progress: Progress) -> anyhow::Result<Summary> {
    demand_absent(&RealFolder::of(&path), &path)?;
    let source = Source::begin(store, &folder_of(&path), false, progress).await?;
    on_own_thread("backup", move |is_wanted, runtime| {
        let mut new = NewFile::create(&path)?;
        let written = source.write_to(&mut new, is_wanted, &runtime);
        let summary = written.with_context(|| format!("cannot write {}", path.display()))?;
        new.finish()?;
        Ok(summary)
    })
    .await
}

/// Writes a backup of a store somewhere, with what expires if everything is wanted. `folder` has room for a
/// temporary file of the Redis engine.
///
/// # Errors
/// When it cannot be written, or the store cannot be read.
pub async fn to_writer(
    store: &Store,
    folder: &Path,
    out: impl Write + Send + 'static,
    everything: bool,
    progress: Progress,
) -> anyhow::Result<Summary> {
    let source = Source::begin(store, folder, everything, progress).await?;
    on_own_thread("backup", move |is_wanted, runtime| {
        source.write_to(out, is_wanted, &runtime).context("cannot write the backup")
    })
    .await
}

/// Runs blocking work on a thread that gives way to others. It is told whether its outcome is
/// still wanted.
pub async fn on_own_thread<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce(&dyn Fn() -> bool, Handle) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let (reply, outcome) = oneshot::channel();
    let runtime = Handle::current();
    let run = move || {
        give_way();
        let result = work(&|| !reply.is_closed(), runtime);
        // This fails if nobody waits any more.
        let _ = reply.send(result);
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(run).context("cannot start a thread")?;
    outcome.await.map_err(|_| anyhow!("the thread of the {name} has failed"))?
}

/// Whether a key is not written: it expires, and no restored site needs it.
fn is_left_out(entry: &Entry) -> bool {
    let is_of = |(family, _): (&Family, _)| family.is_left_out_of_backups();
    entry.time_to_live.is_some() && Family::of(&entry.key).is_some_and(is_of)
}

/// A snapshot to write.
struct Source {
    snapshot: Snapshot,
    header: Header,
    /// Whether what expires is written, too.
    everything: bool,
    progress: Progress,
}

impl Source {
    async fn begin(
        store: &Store,
        folder: &Path,
        everything: bool,
        progress: Progress,
    ) -> anyhow::Result<Self> {
        let state = migrations::state_of(store).await?;
        let snapshot = store.snapshot_by_way_of(folder).await.context("cannot read the store")?;
        let layout =
            u32::try_from(state.demand_version()?).context("the layout of the store has no such version")?;
        let header = Header { layout, taken_at_ms: snapshot.taken_at_ms() };
        Ok(Self { snapshot, header, everything, progress })
    }

    fn write_to(
        mut self,
        out: impl Write,
        is_wanted: &dyn Fn() -> bool,
        runtime: &Handle,
    ) -> anyhow::Result<Summary> {
        let out = BufWriter::with_capacity(WRITE_BUFFER_BYTES, out);
        let mut writer = BackupWriter::create(out, self.header)?;
        let (mut written, total) = (0, self.snapshot.keys());
        while let Some(page) = runtime.block_on(self.snapshot.next_page()).context("cannot read the store")? {
            if !is_wanted() {
                bail!("the backup was interrupted");
            }
            for entry in page {
                written += 1;
                if self.everything || !is_left_out(&entry) {
                    writer.add(&Record::of(entry, self.header.taken_at_ms))?;
                }
            }
            (self.progress)(written, total);
        }
        let (_, summary) = writer.finish()?;
        Ok(summary)
    }
}
