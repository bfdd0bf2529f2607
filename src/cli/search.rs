//! `tidings search`: inspects the search index, or rebuilds it.

use super::terminal::progress_bar;
use super::{Here, now};
use anyhow::{Context, bail};
use clap::Subcommand;
use indicatif::ProgressBar;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::values::words::{age, counted, grouped};
use tidings_domain::{Site, changes};
use tidings_search::index;
use tidings_web::features::search::following;
use tidings_web::features::search::searching::{SearchState, Searching};
use tidings_web::settings::SearchSettings;

/// Inspect or rebuild the search index.
#[derive(Debug, Subcommand)]
pub enum SearchCommand {
    /// Print the documents and the size of the index, and how far it is behind.
    Status,
    /// Rebuild the index. Until the new one is complete, the old one answers.
    Rebuild,
}

/// How often to look how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The parts of a whole in the progress bar.
const WHOLE: u64 = 1_000;

impl SearchCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When search is off, or the store or the index cannot be used.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        if !here.config.search.enabled {
            bail!("search is off; set search.enabled = true");
        }
        let site = here.site().await?;
        match self {
            Self::Status => status(&site, here).await,
            Self::Rebuild => rebuild(&site, here).await,
        }
    }
}

async fn status(site: &Site, here: &Here) -> anyhow::Result<()> {
    let Some(searching) = of_server(here)? else {
        let settings = here.config.search_settings();
        let folder = settings.folder.context("the index of a store in memory is in its server")?;
        let Some(state) = index::look(&folder, settings.language)? else {
            bail!("there is no search index in {}; the server makes it when it starts", folder.display());
        };
        let last = site.store.fetch(changes::last()).await?;
        let how = match last.0.saturating_sub(state.progress.place) {
            0 => "up to date".to_owned(),
            behind => format!("behind by {}", counted(behind, "change", "changes")),
        };
        return say_state(state.documents, state.bytes, &how);
    };
    let state = searching.state();
    let how = match state.made {
        Some(part) => format!("being made: {:.0}% done", part * 100.0),
        None if state.behind_seconds < 2 => "up to date".to_owned(),
        None => format!("behind by {}", age(state.behind_seconds).in_english()),
    };
    say_state(state.documents, state.bytes, &how)
}

fn say_state(documents: u64, bytes: u64, how: &str) -> anyhow::Result<()> {
    say!("{}, {} bytes; {how}", counted(documents, "document", "documents"), grouped(bytes));
    Ok(())
}

async fn rebuild(site: &Site, here: &Here) -> anyhow::Result<()> {
    let bar = progress_bar(WHOLE, "making the index");
    let state = match of_server(here)? {
        Some(searching) => {
            searching.rebuild();
            loop {
                let state = searching.state();
                let Some(part) = state.made else { break state };
                show(&bar, part);
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        None => make(site, here, &bar).await?,
    };
    drop(bar);
    let documents = counted(state.documents, "document", "documents");
    say!("the search index is new: {documents}, {} bytes", grouped(state.bytes));
    Ok(())
}

/// Opens an index that no server uses.
pub(super) fn open_unused(settings: &SearchSettings) -> anyhow::Result<Arc<Searching>> {
    let searching = Searching::open(settings)?;
    if searching.index.folder() != settings.folder.as_deref() {
        let own = searching.index.folder().map(Path::to_owned).unwrap_or_default();
        drop(searching);
        std::fs::remove_dir_all(own).ok();
        bail!("a server uses the search index, and this command does not reach it; set server.control");
    }
    Ok(searching)
}

/// Makes the index here.
async fn make(site: &Site, here: &Here, bar: &ProgressBar) -> anyhow::Result<SearchState> {
    let settings = here.config.search_settings();
    if settings.folder.is_none() {
        bail!("the index of a store in memory is in its server");
    }
    let searching = open_unused(&settings)?;
    let making = following::make(site, &searching, now());
    let mut making = std::pin::pin!(making);
    loop {
        tokio::select! {
            made = &mut making => {
                made?;
                let index = searching.clone();
                tokio::task::spawn_blocking(move || index.index.merge_all()).await??;
                return Ok(searching.state());
            }
            () = tokio::time::sleep(LOOK_EVERY) => show(bar, searching.state().made.unwrap_or(1.0)),
        }
    }
}

/// The search of the server, if this runs in one.
fn of_server(here: &Here) -> anyhow::Result<Option<Arc<Searching>>> {
    let Some(app) = &here.server else { return Ok(None) };
    let searching = app.search.get();
    searching.map(Some).context("the running server has no search index yet; if that lasts, its log says why")
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn show(bar: &ProgressBar, part: f64) {
    bar.set_position((part * WHOLE as f64) as u64);
}
